/* A barrier over streams holds all of them until the last has arrived, again and again, also in a capture; its time
 * says on whose clock it was taken. */
#include "tests/device_bench.h"

enum { STREAMS = 4, N = 64 };
static cj_stream *stream[STREAMS];
static cj_stream_barrier *meeting;

static cj_stream_barrier_time took(cj_status want)
{
    cj_stream_barrier_time time;
    cj_stream_barrier_time_defaults(&time);
    tap_is_int(cj_stream_barrier_elapsed(meeting, &time), want, "the time of the latest barrier");
    return time;
}

/* Each stream in its turn is the last; what is behind the barrier must not have begun before. */
static void on_the_device(void)
{
    tap_is_int(took(CJ_OK).clock, CJ_STREAM_BARRIER_CLOCK_NONE, "a new barrier has no time");
    for (int last = 0; last < STREAMS; last++) {
        struct latch l = LATCH_CLOSED;
        uint32_t out[N] = { 0 };
        cj_fill32(stream[last], d, 0, N);
        bench_hold(stream[last], &l);
        cj_launch(stream[last], add, cj_threads(N, 32), d, N, 5);
        tap_is_int(cj_stream_barrier_enqueue(meeting, stream, STREAMS), CJ_OK, "a barrier, stream %d is the last",
                   last);
        took(CJ_ENOTREADY);
        for (int i = 0; i < STREAMS; i++)
            tap_is_int(cj_stream_query(stream[i]), CJ_ENOTREADY, "... holds stream %d", i);
        cj_stream *after = stream[(last + 1) % STREAMS];
        cj_launch(after, add, cj_threads(N, 32), d, N, 100);
        cj_copy_to_host(after, out, d, sizeof out);
        latch_open(&l);
        for (int i = 0; i < STREAMS; i++) tap_is_int(cj_stream_sync(stream[i]), CJ_OK, "... then stream %d goes on", i);
        tap_ok(out[0] == 105 && out[N - 1] == 105, "... and sees what the last one did: %u", out[0]);
        cj_stream_barrier_time time = took(CJ_OK);
        tap_ok(time.clock == CJ_STREAM_BARRIER_CLOCK_DEVICE && time.streams == STREAMS && time.ms >= 0,
               "... measured on the device: %g ms", time.ms);
    }
    cj_stream *const twice[] = { stream[0], stream[0], stream[1] };
    tap_is_int(cj_stream_barrier_enqueue(meeting, twice, 3), CJ_OK, "a stream may be named twice");
    tap_is_int(cj_stream_sync(stream[0]), CJ_OK, "which waits for nothing of its own");
}

/* Barriers that are given one behind the other while none can pass. */
static void many_under_way(void)
{
    struct latch l = LATCH_CLOSED;
    uint32_t out[N] = { 0 };
    cj_fill32(stream[0], d, 0, N);
    bench_hold(stream[0], &l);
    for (int round = 0; round < 20; round++) {
        cj_launch(stream[round % STREAMS], add, cj_threads(N, 32), d, N, 1);
        cj_stream_barrier_enqueue(meeting, stream, STREAMS);
    }
    cj_copy_to_host(stream[3], out, d, sizeof out);
    tap_is_int(cj_stream_query(stream[3]), CJ_ENOTREADY, "twenty barriers wait for one latch");
    latch_open(&l);
    tap_is_int(cj_stream_sync(stream[3]), CJ_OK, "and pass");
    tap_is_uint(out[N / 2], 20, "in order");
}

static void on_the_host(void)
{
    struct latch l = LATCH_CLOSED;
    bench_hold(stream[2], &l);
    tap_is_int(cj_stream_barrier_sync_for(meeting, stream, STREAMS, 1), CJ_ETIMEOUT, "the host's barrier gives up");
    tap_has_str(cj_error_last()->message, "stream 2 is not complete after 1 ms", "and names the stream that is late");
    cj_stream_barrier_time time = took(CJ_OK);
    tap_ok(time.clock == CJ_STREAM_BARRIER_CLOCK_HOST && time.ms >= 1, "its time is the host's");
    tap_is_int(cj_error_of(meeting)->status, CJ_OK, "a timeout is no failure of the barrier");
    tap_is_int(cj_stream_query(stream[0]), CJ_OK, "it holds no stream");
    latch_open(&l);
    tap_is_int(cj_stream_barrier_sync_for(meeting, stream, STREAMS, 10000), CJ_OK, "then all have arrived");
    time = took(CJ_OK);
    tap_ok(time.clock == CJ_STREAM_BARRIER_CLOCK_HOST && time.streams == STREAMS && time.ms >= 0,
           "and it is measured: %g ms", time.ms);
    cj_fill16(stream[1], cj_offset(d, 1), 0, 1);
    tap_is_int(cj_stream_barrier_sync_for(meeting, stream, STREAMS, 10000), CJ_OK, "a failure that a stream keeps");
    tap_is_int(cj_stream_sync(stream[1]), CJ_EINVAL, "stays with it");
}

static void in_a_capture(void)
{
    uint32_t out[N] = { 0 };
    cj_fill32(stream[0], d, 0, N);
    cj_capture_begin(stream[0], CJ_CAPTURE_THREAD);
    cj_launch(stream[0], add, cj_threads(N, 32), d, N, 1);
    tap_is_int(cj_stream_barrier_enqueue(meeting, stream, 2), CJ_OK, "a barrier in a capture");
    tap_ok(cj_stream_is_capturing(stream[1]), "draws the other stream in");
    cj_launch(stream[1], add, cj_threads(N, 32), d, N, 10);
    tap_is_int(cj_stream_barrier_enqueue(meeting, stream, 2), CJ_OK, "another one joins it");
    took(CJ_ESTATE);
    tap_is_int(cj_stream_barrier_sync_for(meeting, stream, 2, 0), CJ_ESTATE,
               "the host does not wait for captured streams");
    cj_graph *g = cj_capture_end(stream[0]);
    tap_is_int(cj_error_of(g)->status, CJ_OK, "the capture ends well: %s", cj_error_of(g)->message);
    cj_graph_exec *x = cj_graph_instantiate(g, NULL);
    cj_graph_launch(stream[0], x);
    cj_graph_launch(stream[0], x);
    cj_copy_to_host(stream[0], out, d, sizeof out);
    tap_is_int(cj_stream_sync(stream[0]), CJ_OK, "the graph runs");
    tap_is_uint(out[0], 22, "in order, twice");
    tap_is_int(cj_stream_barrier_enqueue(meeting, stream, STREAMS), CJ_OK, "the barrier is usable after it");
    for (int i = 0; i < STREAMS; i++) cj_stream_sync(stream[i]);
    tap_is_int(took(CJ_OK).clock, CJ_STREAM_BARRIER_CLOCK_DEVICE, "with a time again");
    cj_graph_exec_free(x);
    cj_graph_free(g);
}

static void refusals(void)
{
    cj_stream_barrier_time time = { 0 };
    tap_is_int(cj_stream_barrier_enqueue(meeting, NULL, 2), CJ_EINVAL, "no streams");
    tap_is_int(cj_stream_barrier_enqueue(meeting, stream, 0), CJ_EINVAL, "an empty list");
    tap_is_int(cj_stream_barrier_sync_for(meeting, stream, 0, 0), CJ_EINVAL, "for the host too");
    tap_is_int(cj_stream_barrier_elapsed(meeting, NULL), CJ_EINVAL, "no place for a time");
    tap_is_int(cj_stream_barrier_elapsed(meeting, &time), CJ_EINVAL, "one without its size");
    cj_stream *const lists[][2] = { { stream[0], NULL }, { NULL, stream[0] } };
    for (int i = 0; i < 2; i++) {
        cj_capture_begin(stream[0], CJ_CAPTURE_THREAD);
        tap_is_int(cj_stream_barrier_enqueue(meeting, lists[i], 2), CJ_EHANDLE, "a list with a stream that is none");
        cj_graph *g = cj_capture_end(stream[0]);
        tap_is_int(cj_error_of(g)->status, CJ_EHANDLE, "... leaves a hole in a capture: %s", cj_error_of(g)->message);
        cj_graph_free(g);
        cj_stream_sync(stream[0]);
    }
    cj_error_clear(meeting);
}

int main(void)
{
    bench_open(N * 4);
    stream[0] = s, stream[1] = t;
    for (int i = 2; i < STREAMS; i++) stream[i] = cj_stream_create(dev, NULL);
    meeting = cj_stream_barrier_create(dev);
    if (cj_error_of(meeting)->status) tap_bail("%s", cj_error_last()->message);
    for (int i = 1; i < STREAMS; i++) cj_stream_use(stream[i], d);
    on_the_device();
    many_under_way();
    on_the_host();
    in_a_capture();
    refusals();
    for (int i = 0; i < STREAMS; i++) tap_is_int(cj_stream_sync(stream[i]), CJ_OK, "nothing failed on stream %d", i);
    cj_stream_barrier_free(meeting);
    for (int i = 2; i < STREAMS; i++) cj_stream_free(stream[i]);
    return bench_close();
}
