/* Which stream a task gets where all streams are busy: that of what it depends on, unless that one is far busier than
 * another; and what is measured of functions. */
#include <time.h>

#include "tests/device_bench.h"

static cj_coord *c;
static struct latch l[2] = { LATCH_CLOSED, LATCH_CLOSED };

static cj_status run_hold(void *user, cj_stream *on) { return bench_hold(on, user), CJ_OK; }
static cj_status run_nothing(void *user, cj_stream *on) { return (void)user, (void)on, CJ_OK; }

static uint64_t stream_of(cj_task task)
{
    cj_task_info k = { .size = sizeof k };
    return cj_coord_get_task(c, task, &k) == CJ_OK ? k.stream : 0;
}

/* A task that is enqueued at once, behind another one; 0: behind none. */
static cj_task put(cj_task after)
{
    const cj_task task = cj_coord_add(c, CJ_TASK(.run = run_nothing, .after = { &after, after != 0 }));
    cj_coord_poll(c);
    return task;
}

static uint64_t waits(void)
{
    cj_coord_counts k = { .size = sizeof k };
    cj_coord_get_counts(c, &k);
    return k.waits;
}

static void busy(void)
{
    cj_task first[2], on[4];
    c = cj_coord_create(dev, CJ_COORD(.streams = 2));
    for (int i = 0; i < 2; i++) {
        first[i] = cj_coord_add(c, CJ_TASK(.run = run_hold, .user = &l[i]));
        cj_coord_poll(c);
    }
    tap_ok(stream_of(first[0]) != stream_of(first[1]), "two streams are held");
    for (int i = 0; i < 4; i++) on[i] = put(0);
    for (int i = 0; i < 4; i++)
        tap_is_uint(stream_of(on[i]), stream_of(first[i % 2]), "a task is on the stream with the least work: %d", i);
    const cj_task near = put(on[1]);
    tap_is_uint(stream_of(near), stream_of(on[1]), "one behind another is on its stream, where both have the same");
    tap_is_uint(waits(), 0, "... and waits for no event");
    const cj_task more = put(near);
    tap_is_uint(stream_of(more), stream_of(near), "one behind the last of a stream is there too");
    const cj_task far = put(on[1]);
    tap_is_uint(stream_of(far), stream_of(first[0]), "but not where that stream has much more work");
    tap_is_uint(waits(), 1, "... and waits for an event");
    for (int i = 0; i < 2; i++) latch_open(&l[i]);
    tap_is_int(cj_coord_run(c, 20000), CJ_OK, "all end");
    cj_coord_free(c);
}

/* -- Time ---------------------------------------------------------------------------------------------------------- */

enum { TAKES_MS = 20 };

static uint64_t now(void)
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return (uint64_t)at.tv_sec * 1000000000 + (uint64_t)at.tv_nsec;
}

static cj_status run_long(void *user, cj_stream *on)
{
    (void)user, (void)on;
    for (const uint64_t end = now() + (uint64_t)TAKES_MS * 1000000; now() < end;) {}
    return CJ_OK;
}

static void functions(void)
{
    cj_coord_counts k = { .size = sizeof k };
    c = cj_coord_create(dev, NULL);
    cj_coord_add(c, CJ_TASK(.run = run_long));
    const uint64_t begun = now();
    tap_is_int(cj_coord_run(c, 20000), CJ_OK, "a function takes long");
    const uint64_t took = now() - begun;
    cj_coord_get_counts(c, &k);
    tap_ok(k.coordinate_ns && k.coordinate_ns <= took - (uint64_t)TAKES_MS * 1000000,
           "its time is not the coordinator's: %d us of %d", (int)(k.coordinate_ns / 1000), (int)(took / 1000));
    cj_coord_free(c);
}

int main(void)
{
    bench_open(4096);
    busy();
    functions();
    return bench_close();
}
