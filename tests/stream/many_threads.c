/* Many threads, each with streams of its own and all with one kernel, at once: allocation, launches, copies, captures,
 * releases. */
#include <pthread.h>
#include <stdio.h>

#include "tests/device_bench.h"

enum { THREADS = 8, N = 500 };
static int turns = 12;
static char failures[THREADS][512];

static bool turn(unsigned me, unsigned turn_number)
{
    uint32_t h[N];
    cj_stream *own = cj_stream_create(dev, NULL), *other = cj_stream_create(dev, NULL);
    cj_event *e = cj_event_create(dev, NULL);
    cj_dptr mem = cj_alloc(own, sizeof h);
    for (uint32_t i = 0; i < N; i++) h[i] = i;
    cj_copy_to_device(own, mem, h, sizeof h);
    cj_launch(own, add, cj_threads(N, 128), mem, N, me);
    cj_event_record(e, own);
    cj_stream_wait(other, e);
    cj_capture_begin(other, me % 2 ? CJ_CAPTURE_RELAXED : CJ_CAPTURE_THREAD);
    cj_launch(other, add, cj_threads(N, 128), mem, N, turn_number);
    cj_graph *g = cj_capture_end(other);
    cj_graph_exec *x = cj_graph_instantiate(g, NULL);
    cj_graph_launch(other, x);
    cj_event_record(e, s); /* a stream and a device that all threads use */
    cj_stream_join(own, other);
    cj_copy_to_host(own, h, mem, sizeof h);
    cj_stream_use(other, mem);
    if (turn_number % 2) cj_free(dev, mem), cj_graph_exec_free(x), cj_stream_free(other);
    cj_status st = cj_stream_sync(own);
    bool right = st == CJ_OK;
    if (!right) snprintf(failures[me], sizeof failures[me], "turn %u: %.400s", turn_number, cj_error_of(own)->message);
    for (uint32_t i = 0; right && i < N; i++) {
        right = h[i] == i + me + turn_number;
        if (!right) snprintf(failures[me], sizeof failures[me], "turn %u: element %u is %u", turn_number, i, h[i]);
    }
    if (!(turn_number % 2)) cj_stream_free(other), cj_graph_exec_free(x), cj_free(dev, mem);
    cj_stream_free(own);
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
    pthread_t thread[THREADS];
    bench_open(0);
    if (tap_is_slow()) turns = 2;
    for (uintptr_t i = 0; i < THREADS; i++) pthread_create(&thread[i], NULL, work, (void *)i);
    for (size_t i = 0; i < THREADS; i++) pthread_join(thread[i], NULL);
    for (size_t i = 0; i < THREADS; i++)
        tap_is_str(failures[i], "", "thread %zu had its own results, without a failure", i);
    cj_stream_sync(s);
    cj_device_sync(dev);
    return bench_close();
}
