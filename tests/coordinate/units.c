/* Streams as units: which stream comes after which, without cycles; a barrier over all, and a stream outside of it that
 * waits for it; one function for each of several streams, with a joined result. */
#include <stdio.h>
#include <string.h>

#include "tests/device_bench.h"

enum { N = 64, STREAMS = 4 };
static cj_coord *c;
static cj_stream *u[STREAMS];

static uint32_t first_of(cj_stream *on)
{
    uint32_t out[N] = { 0 };
    cj_copy_to_host(on, out, d, sizeof out);
    cj_stream_sync(on);
    return out[N - 1];
}

static void chains(void)
{
    char want[200];
    struct latch l = LATCH_CLOSED;
    c = cj_coord_create(dev, NULL);
    for (int i = 1; i < STREAMS; i++)
        tap_is_int(cj_coord_stream_depend(c, u[i], u[i - 1]), CJ_OK, "stream %d after %d", i, i - 1);
    tap_is_int(cj_coord_stream_depend(c, u[2], u[1]), CJ_OK, "the same once more");
    tap_is_int(cj_coord_stream_depend(c, u[0], u[2]), CJ_ESTATE, "a cycle is rejected");
    snprintf(want, sizeof want, "stream %d waits for stream %d waits for stream %d waits for stream %d: a cycle",
             (int)cj_stream_id(u[0]), (int)cj_stream_id(u[2]), (int)cj_stream_id(u[1]), (int)cj_stream_id(u[0]));
    tap_has_str(cj_error_of(c)->message, want, "and spelled");
    tap_has_str(cj_coord_cycles(c), want, "and listed");
    tap_is_int(cj_coord_stream_depend(c, u[0], u[0]), CJ_ESTATE, "a stream after itself is a cycle, too");
    cj_error_clear(c);
    cj_fill32(u[0], d, 0, N);
    bench_hold(u[0], &l);
    for (int i = 0; i < STREAMS; i++) {
        tap_is_int(cj_coord_stream_order(c, u[i]), CJ_OK, "stream %d waits for what it comes after", i);
        cj_launch(u[i], add, cj_threads(N, 32), d, N, 1u << i);
    }
    tap_is_int(cj_stream_query(u[STREAMS - 1]), CJ_ENOTREADY, "on the device");
    latch_open(&l);
    tap_is_uint(first_of(u[STREAMS - 1]), 15, "in their order");
    tap_is_int(cj_coord_stream_forget(c, u[1]), CJ_OK, "a stream is forgotten");
    tap_is_int(cj_coord_stream_forget(c, u[1]), CJ_ENOTFOUND, "once");
    tap_is_int(cj_coord_stream_order(c, u[1]), CJ_ENOTFOUND, "and is not known any more");
    tap_is_int(cj_coord_stream_depend(c, u[0], u[2]), CJ_OK, "so that this is no cycle");
    tap_is_int(cj_coord_stream_depend(c, u[1], u[0]), CJ_OK, "its place is used again");
    tap_is_int(cj_coord_stream_depend(c, u[2], u[1]), CJ_ESTATE, "without what was there before");
    cj_error_clear(c);
    cj_coord_free(c);
}

static void barrier(void)
{
    struct latch l = LATCH_CLOSED;
    cj_stream_barrier_time time;
    cj_stream_barrier_time_defaults(&time);
    c = cj_coord_create(dev, NULL);
    tap_is_int(cj_coord_barrier_wait(c, t), CJ_ESTATE, "there is no barrier to wait for");
    tap_is_int(cj_coord_barrier_elapsed(c, &time), CJ_ESTATE, "nor to measure");
    tap_is_int(cj_coord_barrier(c), CJ_ESTATE, "nor streams for one");
    cj_error_clear(c);
    cj_error_clear(t);
    for (int i = 1; i < STREAMS; i++) cj_coord_stream_depend(c, u[i], u[0]);
    cj_fill32(u[2], d, 0, N);
    bench_hold(u[2], &l);
    cj_launch(u[2], add, cj_threads(N, 32), d, N, 5);
    tap_is_int(cj_coord_barrier(c), CJ_OK, "a barrier over the streams of the coordinator");
    for (int i = 0; i < STREAMS; i++) tap_is_int(cj_stream_query(u[i]), CJ_ENOTREADY, "holds stream %d", i);
    tap_is_int(cj_stream_query(t), CJ_OK, "and no other");
    tap_is_int(cj_coord_barrier_elapsed(c, &time), CJ_ENOTREADY, "it is not over");
    tap_is_int(cj_coord_barrier_wait(c, t), CJ_OK, "a stream outside of it waits for it");
    cj_launch(t, add, cj_threads(N, 32), d, N, 10);
    tap_is_int(cj_stream_sync_for(t, 20), CJ_ETIMEOUT, "on the device");
    latch_open(&l);
    tap_is_uint(first_of(t), 15, "and comes after it");
    for (int i = 0; i < STREAMS; i++) tap_is_int(cj_stream_sync(u[i]), CJ_OK, "stream %d goes on", i);
    tap_is_int(cj_coord_barrier_elapsed(c, &time), CJ_OK, "then it has a time");
    tap_ok(time.clock == CJ_STREAM_BARRIER_CLOCK_DEVICE && time.streams == STREAMS && time.ms >= 0,
           "of the device: %g ms", time.ms);
    cj_coord_free(c);
}

/* The same of a barrier alone. */
static void barrier_alone(void)
{
    cj_stream_barrier *b = cj_stream_barrier_create(dev);
    tap_is_int(cj_stream_barrier_wait(b, t), CJ_ESTATE, "a barrier that never was");
    tap_is_int(cj_stream_sync(t), CJ_ESTATE, "is a failure of the stream, too");
    cj_stream_barrier_sync_for(b, u, STREAMS, 20000);
    tap_is_int(cj_stream_barrier_wait(b, t), CJ_ESTATE, "a barrier of the host is none");
    cj_stream_sync(t);
    cj_stream_barrier_enqueue(b, u, STREAMS);
    tap_is_int(cj_stream_barrier_wait(b, t), CJ_OK, "one of the devices is");
    cj_capture_begin(t, CJ_CAPTURE_THREAD);
    tap_is_int(cj_stream_barrier_wait(b, t), CJ_ESTATE, "not for a stream that is capturing");
    cj_graph *g = cj_capture_end(t);
    tap_is_int(cj_error_of(g)->status, CJ_ESTATE, "whose graph is incomplete then");
    cj_graph_free(g);
    cj_stream_sync(t);
    cj_capture_begin(u[0], CJ_CAPTURE_THREAD);
    cj_stream_barrier_enqueue(b, u, 1);
    cj_graph_free(cj_capture_end(u[0]));
    tap_is_int(cj_stream_barrier_wait(b, t), CJ_ESTATE, "one that was captured is not");
    cj_stream_sync(t);
    cj_stream_barrier_free(b);
}

/* -- Parallel execution -------------------------------------------------------------------------------------------- */

static struct {
    int calls, ends;
    cj_stream *on[8];
    cj_task_state state;
    int fails;
} seen;

static cj_status part(void *user, uint32_t index, cj_stream *on)
{
    seen.calls++;
    seen.on[index] = on;
    if ((int)index == seen.fails) return CJ_ENOTFOUND;
    if (user) bench_hold(on, user);
    return cj_launch(on, add, cj_threads(N / 8, 32), cj_offset(d, index * N / 8 * 4), N / 8, index + 1);
}

static void parallel_ended(void *user, cj_task task, cj_task_state state)
{
    (void)user, (void)task;
    seen.ends++;
    seen.state = state;
}

static void parallel(void)
{
    struct latch l = LATCH_CLOSED;
    uint32_t out[N];
    int streams = 0, right = 0;
    c = cj_coord_create(dev, NULL);
    cj_fill32(s, d, 0, N);
    cj_stream_sync(s);
    memset(&seen, 0, sizeof seen);
    seen.fails = -1;
    const cj_task all = cj_coord_parallel(c, CJ_PARALLEL(.run = part, .user = &l, .done = parallel_ended));
    tap_ok(all != 0, "parallel execution: %s", cj_error_of(c)->message);
    tap_is_int(cj_coord_poll(c), CJ_ENOTREADY, "its parts are enqueued");
    tap_is_int(seen.calls, 8, "once for each stream");
    for (int i = 0; i < 8; i++)
        for (int j = 0; j <= i; j++)
            if (seen.on[i] == seen.on[j]) {
                streams += i == j;
                break;
            }
    tap_is_int(streams, 8, "each on one of its own");
    tap_is_int(cj_coord_wait(c, all, 1), CJ_ETIMEOUT, "the joined result is not there before all have ended");
    latch_open(&l);
    tap_is_int(cj_coord_wait(c, all, 20000), CJ_OK, "then it is: %s", cj_error_last()->message);
    tap_ok(seen.ends == 1 && seen.state == CJ_TASK_DONE, "and its function is called once");
    cj_copy_to_host(s, out, d, sizeof out);
    cj_stream_sync(s);
    for (int i = 0; i < N; i++) right += out[i] == (uint32_t)i / (N / 8) + 1;
    tap_is_int(right, N, "all parts have run");

    seen.fails = 3;
    const cj_task fails =
        cj_coord_parallel(c, CJ_PARALLEL(.count = 5, .run = part, .what = "parts", .done = parallel_ended));
    tap_is_int(cj_coord_wait(c, fails, 20000), CJ_ENOTFOUND, "a part that fails is the joined result");
    tap_has_str(cj_error_of(c)->message, "'parts'", "and named");
    cj_coord_run(c, 20000);
    tap_ok(seen.ends == 2 && seen.state == CJ_TASK_POISONED && seen.calls == 13, "the others have run");
    tap_is_uint(cj_coord_parallel(c, CJ_PARALLEL(.count = 2)), 0, "without a function there is none");
    cj_error_clear(c);
    cj_coord_free(c);
}

int main(void)
{
    bench_open(4 * N);
    for (int i = 0; i < STREAMS; i++) u[i] = cj_stream_create(dev, NULL), cj_stream_use(u[i], d);
    cj_stream_use(t, d);
    chains();
    barrier();
    barrier_alone();
    parallel();
    for (int i = 0; i < STREAMS; i++) cj_stream_free(u[i]);
    return bench_close();
}
