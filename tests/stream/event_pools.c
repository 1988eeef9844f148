/* Events of a pool: as new when they are acquired, back when their points are reached, never two holders of one. */
#include <string.h>

#include "stream/core/stream_core.h"
#include "tests/device_bench.h"

enum { N = 64 };

static cj_event_pool_stats stats_of(cj_event_pool *pool)
{
    cj_event_pool_stats now;
    cj_event_pool_stats_defaults(&now);
    tap_is_int(cj_event_pool_get_stats(pool, &now), CJ_OK, "the statistics are read");
    return now;
}

/* What the pool is made with, and what it rejects. */
static void numbers(void)
{
    static const struct { const char *name; cj_event_pool_opts o; const char *message; } wrong[] = {
        { "a number over the bound", { sizeof(cj_event_pool_opts), 9, 0, 0, 8, 0, 0, 0 }, ".regular is 9" },
        { "a bound that is too large", { sizeof(cj_event_pool_opts), 0, 0, 0, 0, 0, 300000, 0 }, ".blocking_max" },
        { "no size", { 0, 0, 0, 0, 0, 0, 0, 0 }, "cj_event_pool_defaults" },
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        cj_event_pool *pool = cj_event_pool_create(dev, &wrong[i].o);
        tap_is_int(cj_error_of(pool)->status, CJ_EINVAL, "%s is rejected", wrong[i].name);
        tap_has_str(cj_error_of(pool)->message, wrong[i].message, "... and named");
        cj_event_pool_free(pool);
    }
    cj_event_pool *pool = cj_event_pool_create(dev, CJ_EVENT_POOL(.regular = 5, .timing = 40, .blocking = 1));
    cj_event_pool_stats now = stats_of(pool);
    tap_is_uint(now.events, 46, "events are created with the pool");
    tap_ok(now.free == 46 && now.free_timing == 40 && !now.in_use && now.utilisation == 0, "... all free");
    tap_ok(cj_event_pool_device(pool) == dev, "... of the device");
    cj_pooled_event e[46];
    for (int i = 0; i < 46; i++)
        e[i] = cj_event_pool_acquire(pool, i < 5 ? CJ_EVENT_REGULAR : i < 45 ? CJ_EVENT_TIMING : CJ_EVENT_BLOCKING);
    now = stats_of(pool);
    tap_ok(now.in_use == 46 && now.utilisation == 1 && !now.grown, "none is created while there are free ones");
    tap_is_int((int)cj_event_pool_acquire(pool, (cj_event_kind)7), 0, "a kind that is none is rejected");
    tap_is_int(cj_error_of(pool)->status, CJ_EINVAL, "... by its error");
    for (int i = 0; i < 46; i++) cj_event_pool_release(pool, e[i]);
    tap_is_uint(stats_of(pool).free, 46, "all return");
    cj_event_pool_free(pool);
}

/* A value that was released is no value any more. */
static void generations(void)
{
    cj_event_pool *pool = cj_event_pool_create(dev, NULL), *other = cj_event_pool_create(dev, NULL);
    cj_pooled_event a = cj_event_pool_acquire(pool, CJ_EVENT_REGULAR), old = a;
    cj_event *e = cj_event_pool_event(pool, a);
    tap_ok(a && e, "an event is acquired");
    tap_is_int(cj_event_pool_release(pool, a), CJ_OK, "and released");
    tap_is_int(cj_event_pool_release(pool, a), CJ_EHANDLE, "a second release is detected");
    tap_has_str(cj_error_of(pool)->message, "was released before", "... and said");
    tap_is_int(cj_event_pool_retain(pool, a), CJ_EHANDLE, "so is a holder of it");
    tap_ok(!cj_event_pool_event(pool, a), "and its event is none");
    a = cj_event_pool_acquire(pool, CJ_EVENT_REGULAR);
    tap_ok(a != old && cj_event_pool_event(pool, a) == e, "the same event comes with another value");
    tap_is_int(cj_event_pool_release(pool, old), CJ_EHANDLE, "the old value does not release it");
    tap_is_int(cj_event_pool_release(other, a), CJ_EHANDLE, "nor does another pool");
    tap_has_str(cj_error_of(other)->message, "of another pool", "... which says so");
    tap_is_int(cj_event_pool_release(pool, 0), CJ_EHANDLE, "0 is none");
    tap_is_int(cj_event_pool_retain(pool, a), CJ_OK, "a second holder");
    tap_is_int(cj_event_pool_release(pool, a), CJ_OK, "... the first release leaves it");
    tap_ok(cj_event_pool_event(pool, a) == e, "... with its event");
    tap_is_int(cj_event_pool_release(pool, a), CJ_OK, "... the second ends it");
    tap_ok(!cj_event_pool_event(pool, a), "... and the value");
    a = cj_event_pool_acquire(pool, CJ_EVENT_REGULAR);
    e = cj_event_pool_event(pool, a);
    cj_event_free(e);
    tap_has_str(cj_error_last()->message, "belongs to an event pool", "cj_event_free is rejected");
    tap_is_int(cj_event_record(e, s), CJ_OK, "... and the event lives");
    cj_event_pool_free(pool);
    cj_event_pool_free(other);
}

/* An event with a point that is not reached is not handed out; one whose point is reached is as new. */
static void points(void)
{
    struct latch l = LATCH_CLOSED;
    cj_event_pool *pool = cj_event_pool_create(dev, CJ_EVENT_POOL(.timing = 1, .timing_max = 2, .growth = 1));
    cj_pooled_event a = cj_event_pool_acquire(pool, CJ_EVENT_TIMING), b;
    cj_event *e = cj_event_pool_event(pool, a);
    float ms;
    bench_hold(s, &l);
    cj_event_record(e, s);
    tap_is_int(cj_stream_wait(t, e), CJ_OK, "a stream waits for a pooled event");
    tap_is_int(cj_event_pool_release(pool, a), CJ_OK, "which is released before its point is reached");
    tap_is_uint(stats_of(pool).pending, 1, "... and is pending");
    b = cj_event_pool_acquire(pool, CJ_EVENT_TIMING);
    tap_ok(cj_event_pool_event(pool, b) != e, "another one is handed out");
    tap_is_int(cj_event_query(cj_event_pool_event(pool, b)), CJ_OK, "... with nothing recorded");
    tap_is_uint(stats_of(pool).grown, 1, "... for which the pool has grown");
    cj_pooled_event c = cj_event_pool_acquire(pool, CJ_EVENT_TIMING);
    tap_ok(c && cj_event_pool_event(pool, c) != cj_event_pool_event(pool, b),
           "the pending one is replaced at the bound");
    tap_is_int(cj_event_query(cj_event_pool_event(pool, c)), CJ_OK, "... by one with nothing recorded");
    tap_is_uint(stats_of(pool).replaced, 1, "... which is counted");
    tap_is_int(cj_stream_query(t), CJ_ENOTREADY, "... and the stream waits all the same");
    tap_is_uint(cj_event_pool_acquire(pool, CJ_EVENT_TIMING), 0, "the bound holds");
    tap_is_int(cj_error_of(pool)->status, CJ_ENOMEM, "... it is CJ_ENOMEM");
    tap_has_str(cj_error_of(pool)->message, "all 2 events", "... that names the bound");
    tap_has_str(cj_error_of(pool)->message, ".timing_max", "... and its option");
    latch_open(&l);
    tap_is_int(cj_stream_sync(t), CJ_OK, "the waiter is released");
    cj_event_record(cj_event_pool_event(pool, b), s);
    cj_stream_sync(s);
    e = cj_event_pool_event(pool, b);
    cj_event_pool_release(pool, b);
    a = cj_event_pool_acquire(pool, CJ_EVENT_TIMING);
    tap_ok(cj_event_pool_event(pool, a) == e, "an event whose point is reached is handed out again");
    tap_is_int(cj_event_elapsed(e, e, &ms), CJ_ESTATE, "... as new: nothing was recorded in it");
    cj_event_pool_release(pool, a);
    a = cj_event_pool_acquire(pool, CJ_EVENT_TIMING);
    tap_ok(cj_event_pool_event(pool, a) == e && cj_error_of(e)->status == CJ_OK, "... and without the failure of that");
    cj_event_pool_stats now = stats_of(pool);
    tap_ok(now.failed == 1 && now.acquired == 5 && now.in_use == 2 && now.events == 2, "everything is counted");
    cj_event_pool_free(pool);
}

/* An event that a graph uses, or that was recorded in a capture, is not handed out. */
static void graphs(void)
{
    cj_event_pool *pool = cj_event_pool_create(dev, CJ_EVENT_POOL(.regular_max = 2, .growth = 1));
    cj_pooled_event a = cj_event_pool_acquire(pool, CJ_EVENT_REGULAR), b;
    cj_event *e = cj_event_pool_event(pool, a);
    cj_graph *g = cj_graph_create(dev);
    cj_graph_event_record(g, NULL, e);
    cj_graph_exec *x = cj_graph_instantiate(g, NULL);
    tap_is_int(cj_error_of(x)->status, CJ_OK, "a graph records a pooled event");
    cj_event_pool_release(pool, a);
    a = cj_event_pool_acquire(pool, CJ_EVENT_REGULAR);
    b = cj_event_pool_acquire(pool, CJ_EVENT_REGULAR);
    tap_ok(a && b && cj_event_pool_event(pool, a) != e && cj_event_pool_event(pool, b) != e,
           "which is not handed out while the graph has it");
    tap_is_int(cj_graph_launch(s, x), CJ_OK, "and the graph runs");
    cj_stream_sync(s);
    cj_graph_exec_free(x);
    cj_graph_free(g);

    e = cj_event_pool_event(pool, a);
    cj_capture_begin(s, CJ_CAPTURE_GLOBAL);
    cj_event_record(e, s);
    tap_is_int(cj_event_pool_release(pool, a), CJ_OK, "an event is released in the capture that it is recorded in");
    a = cj_event_pool_acquire(pool, CJ_EVENT_REGULAR);
    tap_is_int(cj_event_query(cj_event_pool_event(pool, a)), CJ_OK, "another one is created meanwhile");
    cj_fill32(s, d, 1, N);
    g = cj_capture_end(s);
    tap_is_int(cj_error_of(g)->status, CJ_OK, "which harms no capture: %s", cj_error_of(g)->message);
    cj_graph_free(g);
    cj_event_pool_free(pool);
}

static void trimmed(void)
{
    uint32_t freed = 9;
    cj_pooled_event e[100];
    cj_event_pool *pool = cj_event_pool_create(dev, CJ_EVENT_POOL(.regular = 3, .growth = 7));
    for (int i = 0; i < 100; i++) e[i] = cj_event_pool_acquire(pool, CJ_EVENT_REGULAR);
    for (int i = 0; i < 100; i += 2) cj_event_record(cj_event_pool_event(pool, e[i]), s);
    for (int i = 0; i < 100; i++) cj_event_pool_release(pool, e[i]);
    cj_stream_sync(s);
    const uint64_t had = stats_of(pool).events;
    tap_ok(had >= 100, "%d events", (int)had);
    tap_is_int(cj_event_pool_trim(pool, &freed), CJ_OK, "the free ones are freed");
    for (int i = 0; i < 3 && stats_of(pool).pending; i++) { /* so many points are looked at in one call */
        uint32_t more = 0;
        cj_event_pool_trim(pool, &more);
        freed += more;
    }
    tap_is_uint(stats_of(pool).events, 3, "down to the first number");
    tap_is_uint(freed, had - 3, "... and counted");
    e[0] = cj_event_pool_acquire(pool, CJ_EVENT_REGULAR);
    tap_ok(e[0] != 0, "the pool serves on");
    cj_event_pool_free(pool);
    cj_event_pool_free(NULL);
}

/* An event whose point somebody watches is not handed out, whether the point is reached or not; it returns to its pool
 * when the watch has ended. */
static void watched(void)
{
    static const struct { const char *name; bool recorded; } cases[] = { { "recorded", true }, { "new", false } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cj_event_pool *pool = cj_event_pool_create(dev, CJ_EVENT_POOL(.regular_max = 2, .growth = 1));
        cj_pooled_event a = cj_event_pool_acquire(pool, CJ_EVENT_REGULAR);
        cj_event *e = cj_event_pool_event(pool, a);
        if (cases[i].recorded) cj_event_record(e, s);
        cji_event_point *p = cji_event_point_take(e, NULL, "test");
        cj_stream_sync(s);
        tap_is_int(cj_event_pool_release(pool, a), CJ_OK, "a watched event, %s, is released", cases[i].name);
        a = cj_event_pool_acquire(pool, CJ_EVENT_REGULAR);
        tap_ok(a && cj_event_pool_event(pool, a) != e, "... and not handed out");
        tap_is_uint(stats_of(pool).pending, 1, "... while it is watched");
        cji_event_point_drop(p);
        cj_pooled_event b = cj_event_pool_acquire(pool, CJ_EVENT_REGULAR);
        tap_ok(cj_event_pool_event(pool, b) == e, "then it is");
        tap_is_uint(stats_of(pool).replaced, 0, "... and none was replaced");
        tap_is_int(cj_event_query(e), CJ_OK, "... with nothing recorded");
        cj_event_pool_free(pool);
    }
}

/* More events than a thread has in its magazine at a time. */
static void many(void)
{
    enum { MANY = 300 };
    cj_pooled_event e[MANY];
    cj_event_pool *pool = cj_event_pool_create(dev, CJ_EVENT_POOL(.regular = MANY, .regular_max = MANY));
    for (int round = 0; round < 3; round++) {
        int none = 0, wrong = 0;
        for (int i = 0; i < MANY; i++) none += !(e[i] = cj_event_pool_acquire(pool, CJ_EVENT_REGULAR));
        tap_is_int(none, 0, "all %d events of a pool are acquired", MANY);
        tap_is_uint(cj_event_pool_acquire(pool, CJ_EVENT_REGULAR), 0, "... and no more");
        for (int i = 0; i < MANY; i++) wrong += cj_event_pool_release(pool, e[(i * 7 + 3) % MANY]) != CJ_OK;
        tap_is_int(wrong, 0, "and released");
        cj_event_pool_stats now = stats_of(pool);
        tap_ok(now.free == MANY && !now.in_use, "... all are free: %d", (int)now.free);
    }
    uint32_t freed = 1;
    tap_is_int(cj_event_pool_trim(pool, &freed), CJ_OK, "a pool is trimmed");
    tap_is_uint(freed, 0, "... down to its first number");
    cj_event_pool_free(pool);
    pool = cj_event_pool_create(dev, NULL);
    for (int i = 0; i < MANY; i++) e[i] = cj_event_pool_acquire(pool, CJ_EVENT_REGULAR);
    for (int i = 0; i < MANY; i++) cj_event_pool_release(pool, e[i]);
    cj_event_pool_trim(pool, &freed);
    tap_ok(freed >= MANY, "a pool without a first number frees all");
    tap_is_uint(stats_of(pool).events, 0, "... none is left");
    cj_event_pool_free(pool);
}

int main(void)
{
    bench_open(4 * N);
    numbers(), generations(), points(), graphs(), trimmed(), watched(), many();
    return bench_close();
}
