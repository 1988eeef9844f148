/* A captured graph runs when it is launched and not before, as often as it is launched, in the order of its stream,
 * with what it needs alive. */
#include <string.h>

#include "tests/stream/graph_runs.h"

static int called;
static void call_counts(void *user) { called += *(int *)user; }

static void forked(void)
{
    cj_kernel *k = cj_kernel_load(dev, module, "add", NULL);
    cj_dptr other = cj_alloc(s, 4 * N);
    int one = 1;
    cj_fill32(s, d, 0, N);
    cj_stream_sync(s);
    cj_capture_begin(s, CJ_CAPTURE_THREAD);
    cj_launch(s, k, cj_threads(N, 32), d, N, 1);
    cj_stream_fork(s, t);
    cj_launch(t, k, cj_threads(N / 2, 32), d, N / 2, 10);
    cj_launch(s, k, cj_threads(N / 2, 32), cj_offset(d, 2 * N), N / 2, 20);
    cj_fill32(t, other, 7, N);
    cj_stream_join(s, t);
    cj_launch(s, k, cj_threads(N, 32), d, N, 100);
    cj_copy(s, other, d, 4);
    cj_host_func(s, call_counts, &one);
    cj_graph *g = cj_capture_end(s);
    tap_is_int(cj_error_of(g)->status, CJ_OK, "fork and join over two streams are captured: %s",
               cj_error_of(g)->message);
    tap_is_uint(cj_graph_count(g), 7, "seven nodes");
    tap_is_uint(now_at(0), 0, "nothing has run");
    cj_graph_exec *x = cj_graph_instantiate(g, NULL);
    cj_graph_free(g);
    cj_kernel_free(k);
    cj_free(dev, other);
    for (int i = 0; i < 3; i++) cj_graph_launch(i == 1 ? t : s, x), cj_stream_join(s, t), cj_stream_fork(s, t);
    tap_is_uint(now_at(0), 3 * 111, "three launches did the left half three times");
    tap_is_uint(now_at(N - 1), 3 * 121, "and the right half");
    tap_is_int(called, 3, "and called the host function three times");
    cj_graph_exec_free(x);
    tap_is_int(cj_stream_sync(t), CJ_OK, "the other stream saw no failure");
}

static void ordered(void)
{
    struct latch l = LATCH_CLOSED;
    cj_kernel *k = cj_kernel_load(dev, module, "add", NULL);
    cj_fill32(s, d, 1, N);
    cj_capture_begin(s, CJ_CAPTURE_RELAXED);
    cj_launch(s, k, cj_threads(N, 32), d, N, 5);
    cj_graph *g = cj_capture_end(s);
    cj_graph_exec *x = cj_graph_instantiate(g, NULL);
    bench_hold(s, &l);
    cj_fill32(s, d, 2, N);
    cj_graph_launch(s, x);
    cj_launch(s, k, cj_threads(N, 32), d, N, 30);
    cj_graph_exec_free(x);
    cj_graph_free(g);
    cj_kernel_free(k);
    tap_is_int(cj_stream_query(s), CJ_ENOTREADY,
               "a graph launched behind a struct latch waits, though everything of it was freed");
    latch_open(&l);
    tap_is_uint(now_at(3), 37, "then it runs between what was enqueued before and after it");
}

static void host_memory(void)
{
    char in[32], out[32] = "";
    strcpy(in, "one");
    cj_capture_begin(s, CJ_CAPTURE_THREAD);
    cj_copy_to_device(s, d, in, 32);
    cj_copy_to_host(s, out, d, 32);
    cj_graph *g = cj_capture_end(s);
    cj_graph_exec *x = cj_graph_instantiate(g, NULL);
    cj_graph_launch(s, x);
    cj_stream_sync(s);
    tap_is_str(out, "one", "captured copies read and write host memory");
    strcpy(in, "two");
    cj_graph_launch(s, x);
    cj_stream_sync(s);
    tap_is_str(out, "two", "at each launch");
    cj_graph_exec_free(x);
    cj_graph_free(g);
}

static void refusals(void)
{
    cj_event *e = cj_event_create(dev, NULL);
    cj_event_record(e, t);
    cj_capture_begin(s, CJ_CAPTURE_GLOBAL);
    tap_is_int(cj_stream_sync(s), CJ_ESTATE, "a captured stream cannot be waited for");
    tap_is_int(cj_error_last()->status, CJ_ESTATE, "which the thread's record has");
    tap_is_int(cj_stream_sync_for(s, 1), CJ_ESTATE, "nor with a timeout");
    tap_is_int(cj_stream_query(s), CJ_ESTATE, "or asked");
    cj_fault fault;
    cj_fault_defaults(&fault);
    tap_is_int(cj_stream_get_fault(s, &fault), CJ_ESTATE, "nor has it a fault");
    tap_is_int(cj_error_of(s)->status, CJ_OK, "none of them is left in the stream");
    cj_dptr more = cj_alloc(t, 64);
    tap_ok(more.addr != 0, "another stream can allocate");
    cj_free(dev, more);
    cj_fill32(s, d, 3, 1);
    cj_graph *g = cj_capture_end(s);
    tap_is_int(cj_error_of(g)->status, CJ_OK, "and the capture is unharmed: %s", cj_error_of(g)->message);
    cj_graph_free(g);
    tap_is_int(cj_stream_sync(s), CJ_OK, "and the next sync has nothing to return");

    tap_is_int(cj_host_func(s, NULL, NULL), CJ_EINVAL, "a failure before a capture");
    cj_capture_begin(s, CJ_CAPTURE_GLOBAL);
    tap_is_int(cj_stream_sync(s), CJ_ESTATE, "is not returned during it");
    cj_graph_free(cj_capture_end(s));
    tap_is_int(cj_stream_sync(s), CJ_EINVAL, "but by the first sync after it");
    tap_is_int(cj_error_of(s)->status, CJ_EINVAL, "and its record can still be read");
    tap_is_int(cj_stream_sync(s), CJ_OK, "and the sync after that does not return it again");

    cj_capture_begin(s, CJ_CAPTURE_THREAD);
    tap_is_int(cj_stream_wait(s, e), CJ_ESTATE, "a point outside cannot be waited for inside");
    g = cj_capture_end(s);
    tap_is_int(cj_error_of(g)->status, CJ_ESTATE, "and the graph fails with that");
    tap_has_str(cj_error_of(g)->driver_name, "ISOLATION", "by the driver's name for it");
    cj_graph_free(g);
    cj_stream_sync(s);

    cj_capture_begin(s, CJ_CAPTURE_THREAD);
    cj_stream_fork(s, t);
    cj_fill32(t, d, 3, 1);
    g = cj_capture_end(s);
    tap_is_int(cj_error_of(g)->status, CJ_ESTATE, "a fork that is not joined makes no graph");
    tap_has_str(cj_error_of(g)->message, "not joined", "and the message says so");
    cj_graph_free(g);
    cj_stream_sync(s);
    cj_stream_sync(t);
    cj_fill32(s, d, 77, 1);
    tap_is_uint(now_at(0), 77, "the stream works after all that");

    cj_event *inside = cj_event_create(dev, NULL);
    cj_capture_begin(s, CJ_CAPTURE_THREAD);
    cj_event_record(inside, s);
    cj_graph_free(cj_capture_end(s));
    tap_is_int(cj_stream_wait(t, inside), CJ_ESTATE, "no stream waits for an event of a capture that is over");
    tap_has_str(cj_error_of(t)->message, "in a capture, which is over", "and the message says why");
    cj_stream_sync(t);
    cj_event_record(inside, s);
    tap_is_int(cj_stream_wait(t, inside), CJ_OK, "recorded on a stream it is an event as any other");
    cj_event_free(inside);
    cj_fill32(t, d, 78, 1);
    tap_is_int(cj_stream_sync(t), CJ_OK, "and the other one");
    cj_event_free(e);
}

int main(void)
{
    bench_open(4 * N);
    forked();
    ordered();
    host_memory();
    refusals();
    return bench_close();
}
