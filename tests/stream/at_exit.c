/* A process may end at any moment: with everything alive, with work under way, inside a capture, or releasing from exit
 * handlers. */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/device_parts.h"
#include "tests/tap.h"

enum { N = 64 };
static struct {
    cj_ptx *m;
    cj_driver *drv;
    cj_device *dev;
    cj_stream *s, *t;
    cj_event *e;
    cj_kernel *k;
    cj_dptr d, of_t; /* each stream works on its own */
    cj_graph *g;
    cj_graph_exec *x;
} w;

static void make_all(void)
{
    w.m = bench_add_module();
    w.drv = cj_driver_open(NULL);
    w.dev = cj_device_open(w.drv, 0, NULL);
    w.s = cj_stream_create(w.dev, NULL);
    w.t = cj_stream_create(w.dev, NULL);
    w.e = cj_event_create(w.dev, NULL);
    w.k = cj_kernel_load(w.dev, w.m, "add", NULL);
    w.d = cj_alloc(w.s, 4 * N);
    w.of_t = cj_alloc(w.t, 4 * N);
    cj_capture_begin(w.s, CJ_CAPTURE_THREAD);
    cj_launch(w.s, w.k, cj_threads(N, 32), w.d, N, 1);
    w.g = cj_capture_end(w.s);
    w.x = cj_graph_instantiate(w.g, NULL);
    for (int i = 0; i < 20; i++) cj_graph_launch(w.s, w.x), cj_launch(w.t, w.k, cj_threads(N, 32), w.of_t, N, 1);
    cj_event_record(w.e, w.s);
    if (cj_error_of(w.s)->status != CJ_OK) _exit(9);
}

static void release_all(void)
{
    cj_device_close(w.dev);
    cj_stream_free(w.s);
    cj_graph_exec_free(w.x);
    cj_kernel_free(w.k);
    cj_driver_close(w.drv);
    cj_graph_free(w.g);
    cj_event_free(w.e);
    cj_stream_free(w.t);
    cj_ptx_free(w.m);
}

static void keep_all(void) { make_all(); }
static void in_capture(void)
{
    make_all(), cj_capture_begin(w.s, CJ_CAPTURE_GLOBAL), cj_launch(w.s, w.k, cj_threads(N, 32), w.d, N, 1);
}
static void handler_before(void) { atexit(release_all), make_all(); }
static void handler_after(void) { make_all(), atexit(release_all); }
static void handler_synced(void) { handler_after(), cj_stream_sync(w.s), cj_stream_sync(w.t); }
static void put_off(void) { in_capture(), release_all(); }

/* -- With threads inside ------------------------------------------------------------------------------------------- */

static atomic_int working;

static void *works_on(void *user)
{
    cj_stream *own = cj_stream_create(w.dev, NULL);
    const cj_dptr d = cj_alloc(own, 4 * N);
    atomic_fetch_add(&working, 1);
    for (;;) {
        cj_launch(own, w.k, cj_threads(N, 32), d, N, 1);
        cj_copy(own, d, cj_offset(d, 2 * N), 2 * N);
        cj_event_record(w.e, own);
        cj_stream_sync(own); /* fails, and so do all calls, when the driver has ended */
    }
    return user;
}

static void threads_work(void)
{
    make_all();
    for (int i = 0; i < 3; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, works_on, NULL)) _exit(6);
    }
    while (atomic_load(&working) < 3) sched_yield();
}

/* -- With a waiter ------------------------------------------------------------------------------------------------- */

static cj_waiter *waiter;
static struct latch in_callback = LATCH_CLOSED, for_ever = LATCH_CLOSED;

static void no_result(void *user, cj_wait_result result) { (void)user, (void)result; }
static void blocks(void *user, cj_wait_result result)
{
    (void)user, (void)result;
    latch_open(&in_callback);
    latch_wait(&for_ever);
}
static void ends(void *user, cj_wait_result result)
{
    (void)user, (void)result;
    exit(0);
}

/* The stream never gets there. */
static void add_waits(void)
{
    make_all();
    waiter = cj_waiter_create(w.dev, NULL);
    const cj_dptr never = { (uint64_t)(uintptr_t)cj_host_alloc(w.dev, 64, NULL) };
    cj_stream_wait_value32(w.s, never, 1, CJ_COMPARE_EQ);
    for (int i = 0; i < 20; i++)
        if (!cj_waiter_add_stream(waiter, w.s, i % 2 ? 1 : CJ_WAIT_FOREVER, no_result, NULL)) _exit(7);
}
static void free_waiter(void) { cj_waiter_free(waiter); }
static void waits_at_end(void) { add_waits(); }
static void waiter_in_older_handler(void) { atexit(free_waiter), add_waits(); }
static void waiter_in_younger_handler(void) { add_waits(), atexit(free_waiter); }
static void during_callback(void)
{
    make_all();
    waiter = cj_waiter_create(w.dev, NULL);
    cj_waiter_add_stream(waiter, w.t, CJ_WAIT_FOREVER, blocks, NULL);
    latch_wait(&in_callback);
}
static void by_callback(void)
{
    make_all();
    waiter = cj_waiter_create(w.dev, CJ_WAITER(.callbacks = CJ_WAITER_POOL));
    cj_waiter_add_stream(waiter, w.t, CJ_WAIT_FOREVER, ends, NULL);
    latch_wait(&for_ever);
}

static const struct { const char *name; void (*run)(void); } cases[] = {
    { "with everything alive and work under way", keep_all },
    { "inside a capture", in_capture },
    { "releasing in a handler that is older than the driver", handler_before },
    { "releasing in a handler that is younger than the driver", handler_after },
    { "releasing in a handler, all work done", handler_synced },
    { "with everything released inside a capture", put_off },
    { "with pending waits", waits_at_end },
    { "freeing a waiter in a handler that is older than the driver", waiter_in_older_handler },
    { "freeing a waiter in a handler that is younger than the driver", waiter_in_younger_handler },
    { "while other threads work", threads_work },
    { "during a callback of a waiter", during_callback },
    { "by a callback of a waiter", by_callback },
};

/* The status of a process that ended so, and what it wrote.  It is this program anew: a child of fork() may not use a
 * driver that its parent has looked for. */
static int ended(size_t which, char *said, size_t size)
{
    char number[2] = { (char)('a' + which), 0 };
    int out[2], status = -1;
    if (pipe(out)) return -1;
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        dup2(out[1], 1);
        dup2(out[1], 2);
        execl("/proc/self/exe", "at_exit", number, (char *)NULL);
        _exit(8);
    }
    close(out[1]);
    size_t n = 0;
    for (ssize_t got; n < size - 1 && (got = read(out[0], said + n, size - 1 - n)) > 0;) n += (size_t)got;
    said[n] = 0;
    close(out[0]);
    waitpid(pid, &status, 0);
    return status;
}

int main(int argc, char **argv)
{
    if (argc == 2) {
        alarm(15);
        cases[(argv[1][0] - 'a') % (int)(sizeof cases / sizeof *cases)].run();
        return 0;
    }
    tap_need_device(1);
    if (tap_under_valgrind()) tap_skip_all("a process that ends with everything alive is full of leaks");
    tap_plan(0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char said[2000];
        int status = ended(i, said, sizeof said);
        tap_ok(WIFEXITED(status) && WEXITSTATUS(status) == 0, "a process ends %s: status %x", cases[i].name,
               (unsigned)status);
        tap_is_str(said, "", "... and says nothing");
    }
    return tap_done();
}
