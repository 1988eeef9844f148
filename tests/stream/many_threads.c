/* Many threads, each with streams of its own and all with one kernel, at once: allocation, launches, copies, captures, releases. */
#include <pthread.h>
#include <stdio.h>

#include "tests/device_bench.h"
#include "tests/tap.h"

enum { THREADS = 8, N = 500 };
static cj_device *dev;
static cj_kernel *add;
static cj_stream *shared;
static int turns = 12;
static char failures[THREADS][512];

static bool turn(unsigned me, unsigned turn_number)
{
    uint32_t h[N];
    cj_stream *s = cj_stream_create(dev, NULL), *t = cj_stream_create(dev, NULL);
    cj_event *e = cj_event_create(dev, NULL);
    cj_dptr d = cj_alloc(s, sizeof h);
    for (uint32_t i = 0; i < N; i++) h[i] = i;
    cj_copy_to_device(s, d, h, sizeof h);
    cj_launch(s, add, cj_threads(N, 128), d, N, me);
    cj_event_record(e, s);
    cj_stream_wait(t, e);
    cj_capture_begin(t, me % 2 ? CJ_CAPTURE_RELAXED : CJ_CAPTURE_THREAD);
    cj_launch(t, add, cj_threads(N, 128), d, N, turn_number);
    cj_graph *g = cj_capture_end(t);
    cj_graph_exec *x = cj_graph_instantiate(g, NULL);
    cj_graph_launch(t, x);
    cj_event_record(e, shared); /* a stream and a device that all threads use */
    cj_stream_join(s, t);
    cj_copy_to_host(s, h, d, sizeof h);
    cj_stream_use(t, d);
    if (turn_number % 2) cj_free(dev, d), cj_graph_exec_free(x), cj_stream_free(t);
    cj_status st = cj_stream_sync(s);
    bool right = st == CJ_OK;
    if (!right) snprintf(failures[me], sizeof failures[me], "turn %u: %.400s", turn_number, cj_error_of(s)->message);
    for (uint32_t i = 0; right && i < N; i++) {
        right = h[i] == i + me + turn_number;
        if (!right) snprintf(failures[me], sizeof failures[me], "turn %u: element %u is %u", turn_number, i, h[i]);
    }
    if (!(turn_number % 2)) cj_stream_free(t), cj_graph_exec_free(x), cj_free(dev, d);
    cj_stream_free(s);
    cj_graph_free(g);
    cj_event_free(e);
    return right;
}

static void *work(void *user)
{
    unsigned me = (unsigned)(uintptr_t)user;
    for (int i = 0; i < turns; i++)
        if (!turn(me, (unsigned)i)) break;
    return NULL;
}

int main(void)
{
    tap_need_device(1);
    tap_plan(THREADS + 2);
    if (tap_is_slow()) turns = 2;
    cj_ptx *m = bench_add_module();
    cj_driver *drv = cj_driver_open(NULL);
    pthread_t thread[THREADS];
    dev = cj_device_open(drv, 0, NULL);
    add = cj_kernel_load(dev, m, "add", NULL);
    shared = cj_stream_create(dev, NULL);
    for (uintptr_t i = 0; i < THREADS; i++) pthread_create(&thread[i], NULL, work, (void *)i);
    for (size_t i = 0; i < THREADS; i++) pthread_join(thread[i], NULL);
    for (size_t i = 0; i < THREADS; i++) tap_is_str(failures[i], "", "thread %zu had its own results, without a failure", i);
    tap_is_int(cj_stream_sync(shared), CJ_OK, "the stream of all saw none either");
    cj_device_sync(dev);
    tap_is_uint(cj_device_collect(dev), 0, "and everything goes at the end");
    cj_stream_free(shared);
    cj_kernel_free(add);
    cj_ptx_free(m);
    cj_device_close(dev);
    cj_driver_close(drv);
    return tap_done();
}
