/* What is enqueued on a stream runs in order; events and forks order streams; waits hold on the device and not on the
 * host. */
#include <string.h>

#include "tests/device_bench.h"

enum { N = 100 };
static uint32_t *h; /* pinned */

static void give_add(cj_stream *on, uint32_t v) { cj_launch(on, add, cj_threads(N, 64), d, N, v); }

static char trace[32];
static void trace_put(void *user) { strncat(trace, user, 1); }

static void one_stream(void)
{
    struct latch l = LATCH_CLOSED;
    trace[0] = 0;
    cj_host_func(s, trace_put, "a");
    bench_hold(s, &l);
    cj_host_func(s, trace_put, "b");
    cj_fill32(s, d, 5, N);
    give_add(s, 2);
    cj_fill32(s, d, 9, 1);
    give_add(s, 1);
    memset(h, 0, N * sizeof *h);
    cj_copy_to_host(s, h, d, N * sizeof *h);
    cj_host_func(s, trace_put, "c");
    tap_is_int(cj_stream_query(s), CJ_ENOTREADY, "a stream with a closed latch is not ready");
    tap_is_uint(h[1], 0, "what is behind the latch has not run");
    latch_open(&l);
    tap_is_int(cj_stream_sync(s), CJ_OK, "it is done after the sync");
    tap_ok(h[0] == 10 && h[1] == 8 && h[N - 1] == 8, "fill, kernel, fill, kernel and copy ran in order: %u %u", h[0],
           h[1]);
    tap_is_str(trace, "abc", "so did the host functions, and each once");
    tap_is_int(cj_stream_query(s), CJ_OK, "now it is ready");
}

static void two_streams(void)
{
    struct latch l = LATCH_CLOSED;
    cj_event *e = cj_event_create(dev, NULL), *never = cj_event_create(dev, NULL);
    tap_is_int(cj_event_query(never), CJ_OK, "an event that was never recorded is reached");
    tap_is_int(cj_event_sync(never), CJ_OK, "waits for nothing");
    tap_is_int(cj_stream_wait(t, never), CJ_OK, "and is no wait for a stream");
    cj_fill32(s, d, 1, N);
    cj_stream_sync(s);
    cj_stream_use(t, d);
    bench_hold(s, &l);
    give_add(s, 10);
    cj_event_record(e, s);
    cj_stream_wait(t, e);
    cj_copy_to_host(t, h, d, N * sizeof *h);
    tap_is_int(cj_event_query(e), CJ_ENOTREADY, "an event behind a latch is not reached");
    tap_is_int(cj_stream_query(t), CJ_ENOTREADY, "and holds the stream that waits for it");
    latch_open(&l);
    tap_is_int(cj_stream_sync(t), CJ_OK, "both go on together");
    tap_is_uint(h[N / 2], 11, "the second stream saw what the first one did before the event");
    tap_is_int(cj_event_query(e), CJ_OK, "the event is reached");
    cj_event_free(e);
    cj_event_free(never);
}

/* A wait given before keeps the point that it saw. */
static void moved_event(void)
{
    struct latch l = LATCH_CLOSED;
    cj_event *e = cj_event_create(dev, NULL);
    cj_event_record(e, s);
    cj_stream_wait(t, e);
    bench_hold(s, &l);
    cj_event_record(e, s);
    tap_is_int(cj_stream_sync(t), CJ_OK, "recorded again, an event does not hold those that waited before");
    tap_is_int(cj_event_query(e), CJ_ENOTREADY, "but stands for the new point");
    cj_stream_wait(t, e);
    cj_event_free(e);
    tap_is_int(cj_stream_query(t), CJ_ENOTREADY, "a wait holds though the event was freed");
    latch_open(&l);
    tap_is_int(cj_stream_sync(t), CJ_OK, "until the point is reached");
    cj_stream_sync(s);
}

static void fork_and_join(void)
{
    struct latch l = LATCH_CLOSED;
    cj_fill32(s, d, 0, N);
    bench_hold(s, &l);
    give_add(s, 1);
    cj_stream_fork(s, t);
    give_add(t, 2);
    tap_is_int(cj_stream_query(t), CJ_ENOTREADY, "a fork waits for what was enqueued before");
    cj_stream_join(s, t);
    give_add(s, 4);
    cj_copy_to_host(s, h, d, N * sizeof *h);
    latch_open(&l);
    tap_is_int(cj_stream_sync(s), CJ_OK, "the join brings it back");
    tap_is_uint(h[0], 7, "and all three ran in order");
    tap_is_int(cj_stream_fork(s, s), CJ_OK, "a fork into itself is nothing");
}

static void times(void)
{
    cj_event *from = cj_event_create(dev, CJ_EVENT(.timing = 1)),
             *to = cj_event_create(dev, CJ_EVENT(.timing = 1, .blocking = 1));
    cj_event *plain = cj_event_create(dev, NULL);
    struct latch l = LATCH_CLOSED;
    float ms = -1;
    tap_is_int(cj_event_elapsed(from, to, &ms), CJ_ESTATE, "events that were never recorded have no time between them");
    cj_event_record(from, s);
    cj_event_record(plain, s);
    bench_hold(s, &l);
    cj_event_record(to, s);
    tap_is_int(cj_event_elapsed(from, to, &ms), CJ_ENOTREADY, "nor do those that are not reached");
    latch_open(&l);
    tap_is_int(cj_event_sync(to), CJ_OK, "a blocking event can be waited for");
    tap_ok(cj_event_elapsed(from, to, &ms) == CJ_OK && ms >= 0, "then there is a time, %g ms", ms);
    tap_is_int(cj_event_elapsed(plain, to, &ms), CJ_EINVAL, "an event without timing has none");
    cj_stream_sync(s);
    cj_event_free(from);
    cj_event_free(to);
    cj_event_free(plain);
}

int main(void)
{
    bench_open(N * sizeof *h);
    h = cj_host_alloc(dev, N * sizeof *h, NULL);
    if (!h) tap_bail("%s", cj_error_of(dev)->message);
    one_stream();
    two_streams();
    moved_event();
    fork_and_join();
    times();
    cj_stream_sync(s), cj_stream_sync(t);
    cj_host_free(dev, h);
    return bench_close();
}
