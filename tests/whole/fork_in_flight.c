/* fork() at any moment: with work held on a stream, requests in a compiler, waits in a waiter, a capture that is open,
 * and threads inside the library.  The child releases what it has of the parent, reads the log, and opens a driver
 * that the parent never opened; it ends as a program does.  The parent notices nothing. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/device_bench.h"

enum { N = 64, FORKS = 12, THREADS = 3 /* in the library when the fork comes, where a child can bear that */ };

static cj_compiler *compiler;
static cj_future *future[4];
static cj_waiter *waiter;
static cj_stream *held, *captured;
static cj_event *event;
static cj_profile *profile[CJ_PROFILES_ON]; /* as many as can be on */
static char other_sim[64];
static struct latch gate = LATCH_CLOSED, compile_gate = LATCH_CLOSED;

/* -- The child ----------------------------------------------------------------------------------------------------- */

/* What it found, each a bit; all of them: it is right. */
enum {
    FORKED = 1, RELEASED = 2, BUILDS = 4, LOGS = 8, PROFILES = 16, OPENS = 32, COMPUTES = 64, ALL = 127
};

/* Another copy of the CPU device, which the parent has not loaded. */
static unsigned open_own(void)
{
    unsigned found = 0;
    uint32_t seen[N] = { 0 };
    cj_ptx *m = bench_add_module();
    cj_driver *own = cj_driver_open(other_sim);
    cj_device *on = cj_device_open(own, 0, NULL);
    cj_stream *q = cj_stream_create(on, NULL);
    cj_kernel *k = cj_kernel_load(on, m, "add", NULL);
    if (cj_error_of(k)->status == CJ_OK) found |= OPENS;
    const cj_dptr at = cj_alloc(q, sizeof seen);
    cj_fill32(q, at, 5, N);
    cj_launch(q, k, cj_grid(1, N), at, N, 2u);
    cj_copy_to_host(q, seen, at, sizeof seen);
    if (cj_stream_sync(q) == CJ_OK && seen[0] == 7 && seen[N - 1] == 7) found |= COMPUTES;
    cj_free(on, at);
    cj_kernel_free(k);
    cj_stream_free(q);
    cj_device_close(on);
    cj_driver_close(own);
    cj_ptx_free(m);
    return found;
}

static unsigned release_parents(void)
{
    cj_graph *g = cj_capture_end(captured);
    cj_graph_free(g);
    cj_waiter_free(waiter);
    for (int i = 0; i < 4; i++) cj_future_free(future[i]);
    cj_compiler_free(compiler);
    cj_event_free(event);
    for (int i = 0; i < CJ_PROFILES_ON; i++) cj_profile_free(profile[i]);
    cj_stream_free(held);
    cj_stream_free(captured);
    cj_kernel_free(add);
    cj_device_close(dev);
    cj_driver_close(drv);
    return RELEASED;
}

static unsigned child(void)
{
    char line[200];
    const char *text = "";
    unsigned found = cj_stream_sync(held) == CJ_EFORKED && cj_future_wait(future[0], -1) == CJ_EFORKED ? FORKED : 0;
    found |= release_parents();
    while (cj_log_read(line, sizeof line)) {}
    found |= LOGS;
    cj_ptx *m = bench_add_module();
    if (cj_ptx_print(m, 0, &text, NULL) == CJ_OK && strstr(text, "add")) found |= BUILDS;
    cj_ptx_free(m);
    cj_profile *p = cj_profile_create(NULL);
    if (cj_profile_on(p) == CJ_OK) found |= PROFILES;
    found |= open_own();
    cj_profile_free(p);
    return found;
}

/* -- The parent ---------------------------------------------------------------------------------------------------- */

static atomic_bool stop;

/* Inside the library, whenever the fork comes. */
static void *busy(void *user)
{
    char line[200];
    cj_stream *q = cj_stream_create(dev, NULL);
    while (!atomic_load(&stop)) {
        cj_log_read(line, sizeof line);
        cj_free(dev, (cj_dptr){ 16 }); /* a failure, which takes a record */
        cj_free(dev, cj_alloc(q, 64));
        cj_event_record(event, q);
        cj_ptx_free(bench_add_module());
    }
    cj_stream_free(q);
    return user;
}

/* Progress calls run on the compiler's thread; a callback of a future that is done already would run on this one. */
static void wait_in_compiler(void *user, uint64_t done, uint64_t requests)
{
    (void)user, (void)requests;
    if (done == 1) latch_wait(&compile_gate);
}

static void copy_file(const char *from, const char *to)
{
    char block[65536];
    const int in = open(from, O_RDONLY), out = open(to, O_WRONLY | O_CREAT | O_EXCL, 0700);
    if (in < 0 || out < 0) tap_bail("%s cannot be copied: %s", from, strerror(errno));
    for (ssize_t n; (n = read(in, block, sizeof block)) > 0;)
        if (write(out, block, (size_t)n) != n) tap_bail("%s cannot be written", to);
    close(in), close(out);
}

static void put_in_flight(void)
{
    held = cj_stream_create(dev, NULL);
    captured = cj_stream_create(dev, NULL);
    event = cj_event_create(dev, NULL);
    compiler = cj_compiler_create(dev, CJ_COMPILER(.threads = 1, .progress = wait_in_compiler));
    for (int i = 0; i < 4; i++) {
        cj_ptx *m = bench_add_module();
        future[i] = cj_compiler_kernel(compiler, m, "add", NULL);
        cj_ptx_free(m);
    }
    latch_entered(&compile_gate);
    cj_fill32(s, d, 1, N);
    cj_stream_sync(s);
    for (int i = 0; i < CJ_PROFILES_ON; i++) {
        profile[i] = cj_profile_create(NULL);
        tap_is_int(cj_profile_on(profile[i]), CJ_OK, "profile %d is on", i);
    }
    cj_capture_begin(captured, CJ_CAPTURE_RELAXED);
    cj_launch(captured, add, cj_grid(1, N), d, N, 1u);
    /* last, since a GPU's driver loads no module while a host function holds a stream: not even a profile's */
    bench_hold(held, &gate);
    cj_launch(held, add, cj_grid(1, N), d, N, 1u);
    cj_event_record(event, held);
    waiter = cj_waiter_create(dev, NULL);
    cj_waiter_add_stream(waiter, held, CJ_WAIT_FOREVER, NULL, NULL);
}

static void fork_once(unsigned i)
{
    int ends[2], status = 0;
    unsigned found = 0;
    if (pipe(ends)) tap_bail("no pipe");
    fflush(NULL);
    const pid_t pid = fork();
    if (pid == 0) {
        alarm(tap_is_slow() ? 200 : 20);
        freopen("/dev/null", "w", stdout);
        found = child();
        if (write(ends[1], &found, sizeof found) != sizeof found) _exit(9);
        exit(0);
    }
    close(ends[1]);
    if (read(ends[0], &found, sizeof found) != sizeof found) found = 0;
    close(ends[0]);
    waitpid(pid, &status, 0);
    tap_is_uint(found, ALL, "child %u finds all as it should", i);
    tap_ok(WIFEXITED(status), "child %u ends by itself: status %x", i, (unsigned)status);
}

static void release_all(void)
{
    cj_wait_record record;
    cj_graph *g = cj_capture_end(captured);
    tap_is_int(cj_error_of(g)->status, CJ_OK, "the capture ends");
    cj_graph_free(g);
    latch_open(&gate);
    tap_is_uint(cj_waiter_poll(waiter, &record, 1, 100000), 1, "the wait ends");
    cj_waiter_free(waiter);
    latch_open(&compile_gate);
    for (int i = 0; i < 4; i++) {
        tap_is_int(cj_future_wait(future[i], -1), CJ_OK, "request %d is compiled", i);
        cj_future_free(future[i]);
    }
    cj_compiler_free(compiler);
    uint32_t word = 0;
    cj_copy_to_host(held, &word, d, sizeof word);
    tap_is_int(cj_stream_sync(held), CJ_OK, "the held stream goes on");
    tap_is_uint(word, 2, "and its kernel has run once");
    for (int i = 0; i < CJ_PROFILES_ON; i++) cj_profile_free(profile[i]);
    cj_event_free(event);
    cj_stream_free(held);
    cj_stream_free(captured);
}

int main(void)
{
    pthread_t thread[THREADS];
    bench_open(4 * N);
    snprintf(other_sim, sizeof other_sim, "/tmp/cujit-fork-%ld.so", (long)getpid());
    copy_file(getenv("CUJIT_SIM"), other_sim);
    put_in_flight();
    const int threads = tap_forks_beside_threads() ? THREADS : 0;
    for (int i = 0; i < threads; i++) pthread_create(&thread[i], NULL, busy, NULL);
    for (unsigned i = 0; i < (tap_is_slow() ? 1 : FORKS); i++) fork_once(i);
    atomic_store(&stop, true);
    for (int i = 0; i < threads; i++) pthread_join(thread[i], NULL);
    unlink(other_sim);
    release_all();
    return bench_close();
}
