/* A compiler's queue: what waits while its threads are held by a latch, is cancelled, does not fit, or is there when
 * the compiler is freed; callbacks, descriptors, progress. */
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/device_bench.h"

static cj_ptx *numbered(int i)
{
    cj_ptx *m = cj_ptx_create();
    cj_fn *f = cj_ptx_kernel(m, "k");
    cj_val p = cj_param_ptr(f, "p", CJ_U32);
    cj_set(f, p, 0, cj_imm(f, i));
    return m;
}

static cj_future *image_of(cj_compiler *c, int i)
{
    cj_ptx *m = numbered(i);
    cj_future *f = cj_compiler_image(c, m, NULL);
    cj_ptx_free(m);
    return f;
}

static bool readable(int fd)
{
    struct pollfd p = { .fd = fd, .events = POLLIN };
    return poll(&p, 1, 0) == 1 && p.revents & POLLIN;
}

static void on_count(void *count, cj_future *f)
{
    (void)f;
    __atomic_fetch_add((int *)count, 1, __ATOMIC_SEQ_CST);
}

/* ---- A thread that is held: progress calls run on the compiler's thread, so a latch in one holds it ----- */

static struct latch held = LATCH_CLOSED;
static void on_progress(void *user, uint64_t done, uint64_t requests)
{
    (void)user, (void)requests;
    if (done == 1) latch_wait(&held);
}

static cj_compiler *held_compiler(size_t queue, int full)
{
    latch_close(&held);
    cj_compiler *c = cj_compiler_create(dev, CJ_COMPILER(.threads = 1, .queue = queue, .full = full,
                                                         .progress = on_progress));
    cj_future_free(image_of(c, 0));
    latch_entered(&held);
    return c;
}

static void what_waits(void)
{
    int called = 0;
    cj_compiler *c = held_compiler(2, CJ_COMPILER_BUSY);
    cj_compiler_progress p;
    cj_compiler_progress_defaults(&p);
    cj_future *a = image_of(c, 1), *b = image_of(c, 2), *full = image_of(c, 3);
    tap_is_int(cj_error_of(full)->status, CJ_EBUSY, "a third request does not fit a queue of two");
    tap_has_str(cj_error_of(full)->message, "cj_compiler_image: the compiler's queue is full: 2 requests wait",
                "and why");
    cj_image *none = cj_future_image(full);
    tap_is_int(cj_error_of(none)->status, CJ_EBUSY, "its image is a failed object");
    tap_is_int(cj_compiler_get_progress(c, &p), CJ_OK, "progress is read");
    tap_ok(p.requests == 3 && p.done == 1 && p.waiting == 2 && p.running == 1, "one of three is done, two wait");
    tap_is_int(cj_future_query(a), CJ_ENOTREADY, "the first is not done");
    tap_is_int(cj_future_wait(a, 1), CJ_ETIMEOUT, "nor after a time");
    tap_is_int(cj_error_of(a)->status, CJ_OK, "which is not its failure");
    tap_is_int(cj_compiler_wait(c, 1), CJ_ETIMEOUT, "nor is the batch");
    tap_has_str(cj_error_of(c)->message, "2 requests wait and 1 are being compiled", "and what of it is left");
    int early = cj_future_fd(b), late;
    tap_ok(early >= 0 && !readable(early), "the second has a descriptor that is not readable");
    tap_is_int(cj_future_fd(b), early, "and keeps it");
    tap_is_int(cj_future_callback(a, on_count, &called), CJ_OK, "the first gets a callback");
    tap_is_int(cj_future_callback(a, on_count, &called), CJ_EBUSY, "one only");
    tap_is_int(cj_future_callback(b, NULL, NULL), CJ_EINVAL, "a callback that is NULL");
    tap_is_int(cj_future_cancel(a), CJ_OK, "the first is cancelled");
    tap_is_int(called, 1, "its callback was called");
    tap_is_int(cj_future_cancel(a), CJ_EBUSY, "it cannot be cancelled again");
    tap_is_int(cj_future_wait(a, -1), CJ_ECANCELLED, "it is over");
    cj_image *cancelled = cj_future_image(a);
    tap_is_int(cj_error_of(cancelled)->status, CJ_ECANCELLED, "its image is a failed object");
    cj_future *more = image_of(c, 4);
    tap_is_int(cj_error_of(more)->status, CJ_OK, "there is room for another one");
    latch_open(&held);
    tap_is_int(cj_future_wait(b, -1), CJ_OK, "the second is compiled");
    tap_ok(readable(early), "its descriptor is readable");
    tap_is_int(cj_future_cancel(b), CJ_EBUSY, "it cannot be cancelled any more");
    tap_is_int(cj_future_callback(b, on_count, &called), CJ_OK, "a callback is called at once");
    tap_is_int(called, 2, "by this thread");
    tap_is_int(cj_compiler_wait(c, -1), CJ_OK, "the batch is done");
    late = cj_future_fd(more);
    tap_ok(readable(late), "a descriptor that is made late is readable");
    cj_compiler_get_progress(c, &p);
    tap_ok(p.requests == 4 && p.done == 4 && p.cancelled == 1 && !p.failed && !p.waiting && !p.running,
           "all of it is done, one was cancelled");
    cj_image *img = cj_future_image(b);
    tap_is_int(cj_error_of(img)->status, CJ_OK, "the image is there");
    cj_module *wrong = cj_future_module(b);
    tap_is_int(cj_error_of(wrong)->status, CJ_EHANDLE, "it is no module");
    tap_has_str(cj_error_of(wrong)->message, "the request is for a cj_image, not for a cj_module", "and why");
    cj_compiler_free(c);
    cj_image *again = cj_future_image(b);
    tap_ok(again == img, "a future outlives its compiler");
    cj_image_free(again), cj_image_free(img), cj_image_free(none), cj_image_free(cancelled), cj_module_free(wrong);
    cj_future_free(a), cj_future_free(b), cj_future_free(full), cj_future_free(more);
}

/* ---- Requests that wait for room --------------------------------------------------------------------------------- */

static void *submit(void *c) { return image_of(c, 7); }

static cj_status inside;   /* what a callback's request got */
static void on_done_submit(void *c, cj_future *f)
{
    (void)f;
    cj_future *one = image_of(c, 8), *two = image_of(c, 9);
    inside = cj_error_of(two)->status;
    cj_compiler_wait(c, -1);
    cj_future_free(one), cj_future_free(two);
}

static void waits_for_room(void)
{
    pthread_t thread;
    void *made;
    cj_compiler *c = held_compiler(1, CJ_COMPILER_WAIT);
    cj_future *a = image_of(c, 1);
    pthread_create(&thread, NULL, submit, c);   /* finds the queue full, now or after it is emptied */
    latch_open(&held);
    pthread_join(thread, &made);
    tap_is_int(cj_future_wait(made, -1), CJ_OK, "a request that found the queue full is compiled");
    tap_is_int(cj_future_wait(a, -1), CJ_OK, "as the one before it");
    cj_compiler_wait(c, -1);
    latch_close(&held);
    cj_future *f = image_of(c, 0);              /* done is 1 again: a new batch */
    latch_entered(&held);
    cj_future *g = image_of(c, 2);
    cj_future_callback(g, on_done_submit, c);
    latch_open(&held);
    cj_compiler_wait(c, -1);
    tap_is_int(inside, CJ_EBUSY, "a callback's request does not wait for room that it would have to make");
    cj_compiler_free(c);
    cj_future_free(a), cj_future_free(made), cj_future_free(f), cj_future_free(g);
}

/* ---- Freed with work in the queue -------------------------------------------------------------------------------- */

static void *free_it(void *c)
{
    cj_compiler_free(c);
    return NULL;
}

static void freed_with_work(void)
{
    enum { N = 5 };
    cj_future *f[N];
    pthread_t thread;
    int called = 0, cancelled = 0;
    cj_compiler *c = held_compiler(N, CJ_COMPILER_BUSY);
    for (int i = 0; i < N; i++) {
        f[i] = image_of(c, i);
        cj_future_callback(f[i], on_count, &called);
    }
    pthread_create(&thread, NULL, free_it, c);
    for (int i = 0; i < N; i++) cancelled += cj_future_wait(f[i], -1) == CJ_ECANCELLED;
    tap_is_int(cancelled, N, "what waits is cancelled while a thread is held");
    latch_open(&held);
    pthread_join(thread, NULL);
    tap_is_int(called, N, "each callback was called");
    for (int i = 0; i < N; i++) cj_future_free(f[i]);
}

static struct latch freed = LATCH_CLOSED;
static void on_done_free(void *c, cj_future *f)
{
    (void)f;
    cj_compiler_free(c);
    latch_open(&freed);
}

static void freed_by_a_callback(void)
{
    cj_compiler *c = held_compiler(2, CJ_COMPILER_BUSY);
    cj_future *f = image_of(c, 1), *g = image_of(c, 2);
    cj_future_callback(f, on_done_free, c);
    latch_open(&held);
    latch_wait(&freed);
    tap_is_int(cj_future_wait(f, -1), CJ_OK, "a callback frees its compiler");
    tap_is_int(cj_future_wait(g, -1), CJ_ECANCELLED, "what waited is cancelled");
    cj_future_free(f), cj_future_free(g);
}

/* ---- fork -------------------------------------------------------------------------------------------------------- */

static void after_fork(void)
{
    int said[2];
    char verdict = '-';
    if (pipe(said)) tap_bail("no pipe");
    cj_compiler *c = cj_compiler_create(dev, NULL);
    cj_ptx *m = numbered(1);
    cj_future *f = cj_compiler_image(c, m, NULL);
    cj_future_wait(f, -1);
    pid_t pid = fork();
    if (!pid) {
        cj_future *late = cj_compiler_image(c, m, NULL);
        bool right = cj_error_of(late)->status == CJ_EFORKED && cj_future_wait(f, -1) == CJ_EFORKED &&
                     cj_future_query(f) == CJ_EFORKED && cj_compiler_wait(c, -1) == CJ_EFORKED;
        cj_future_free(late), cj_future_free(f);
        cj_compiler_free(c);
        _exit(write(said[1], right ? "+" : "-", 1) != 1);
    }
    waitpid(pid, NULL, 0);
    tap_ok(read(said[0], &verdict, 1) == 1 && verdict == '+', "in the child of fork() all fail with CJ_EFORKED");
    tap_is_int(cj_future_query(f), CJ_OK, "in the parent all is as it was");
    cj_future_free(f), cj_compiler_free(c), cj_ptx_free(m);
}

/* ---- A callback that waits: the only thread does the request itself ----- */

typedef struct nested { cj_compiler *c; cj_status first, second; int inner; } nested;

static void on_outer(void *user, cj_future *f)
{
    nested *n = user;
    (void)f;
    cj_future *a = image_of(n->c, 41), *b = image_of(n->c, 42), *other = image_of(n->c, 43);
    cj_future_callback(b, on_count, &n->inner);
    n->second = cj_future_wait(b, -1);
    n->first = cj_future_wait(a, 1);
    cj_future_free(a), cj_future_free(b), cj_future_free(other);
}

static void waits_in_a_callback(void)
{
    nested n = { .first = CJ_EBUSY, .second = CJ_EBUSY };
    cj_compiler_progress p;
    cj_compiler_progress_defaults(&p);
    n.c = held_compiler(8, CJ_COMPILER_BUSY);
    cj_future *outer = image_of(n.c, 40);
    cj_future_callback(outer, on_outer, &n);
    latch_open(&held);
    tap_is_int(cj_compiler_wait(n.c, -1), CJ_OK, "a callback waits for requests behind its own, with one thread");
    tap_is_int(n.second, CJ_OK, "for the second of them");
    tap_is_int(n.inner, 1, "whose callback was called");
    tap_is_int(n.first, CJ_OK, "then for the first, whatever the time");
    cj_compiler_get_progress(n.c, &p);
    tap_ok(p.requests == 5 && p.done == 5 && !p.waiting && !p.running, "all requests are done");
    cj_future_free(outer);
    cj_compiler_free(n.c);
}

int main(void)
{
    bench_open(4);
    what_waits();
    waits_for_room();
    waits_in_a_callback();
    freed_with_work();
    freed_by_a_callback();
    after_fork();
    return bench_close();
}
