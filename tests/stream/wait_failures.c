/* What a wait reports when the device fails, what cannot be waited for, and which queries a waiter makes. */
#include <string.h>

#include "tests/stream/watched.h"
#include "tests/stream/waits.h"
#include "tests/tap.h"

enum { WAITS = 20 };

/* -- A context that fails ------------------------------------------------------------------------------------------ */

/* Every wait ends with the error: also those behind the first of their stream, without a function, and with a timeout
 * that is far away. */
static void context_fails(watch_bench *b, CUresult why)
{
    seen n = SEEN_NONE;
    cj_wait_record r[WAITS];
    cj_waiter *w = cj_waiter_create(b->dev, NULL);
    cj_event *e = cj_event_create(b->dev, NULL);
    watch_hold(cj_stream_raw(b->s));
    cj_event_record(e, b->s);
    for (int i = 0; i < WAITS; i++) {
        cj_waiter_add_stream(w, b->s, i % 2 ? CJ_WAIT_FOREVER : 600000, seen_call, &n);
        cj_waiter_add(w, e, CJ_WAIT_FOREVER, i % 2 ? seen_call : NULL, &n);
    }
    watch_die(why);
    seen_wait(&n, WAITS + WAITS / 2);
    tap_is_int(seen_of(&n, CJ_WAIT_ERROR), WAITS + WAITS / 2, "result %d of the driver ends all waits", (int)why);
    int records = 0, right = 0;
    while (records < WAITS / 2) {
        const int got = cj_waiter_poll(w, r, WAITS, 10000);
        if (got <= 0) break;
        for (int i = 0; i < got; i++) right += r[i].result == CJ_WAIT_ERROR && r[i].driver == (int)why;
        records += got;
    }
    tap_is_int(right, WAITS / 2, "... those without a function too, and each names it");
    tap_is_int(cj_error_of(w)->status, CJ_EDRIVER, "... the waiter has the failure");
    tap_is_int(cj_error_of(w)->driver_code, (int)why, "... with the driver's code");
    tap_ok(!cj_waiter_add_stream(w, b->s, 0, seen_call, &n), "... a later wait for a stream is rejected");
    tap_is_int(cj_error_of(w)->status, CJ_EDRIVER, "... with the driver's failure");
    watch_die(CUDA_SUCCESS);
    watch_release(cj_stream_raw(b->s));
    cj_stream_sync(b->s), cj_stream_sync(b->s);
    cj_waiter_free(w);
    tap_is_int(seen_calls(&n), WAITS + WAITS / 2, "... and no wait ends twice");
    cj_event_free(e);
}

/* A failure of one query that leaves the context alive is that wait's only. */
static void one_query_fails(watch_bench *b)
{
    seen first = SEEN_NONE, second = SEEN_NONE;
    cj_waiter *w = cj_waiter_create(b->dev, NULL);
    watch_hold(cj_stream_raw(b->t));
    cj_waiter_add_stream(w, b->t, CJ_WAIT_FOREVER, seen_call, &second);
    watch_fail(CJI_CU_ID_cuEventQuery, 0, CUDA_ERROR_CAPTURED_EVENT);
    tap_is_int(seen_wait(&second, 1), CJ_WAIT_ERROR, "a query that fails is never taken for not ready");
    cj_waiter_add_stream(w, b->s, CJ_WAIT_FOREVER, seen_call, &first);
    tap_is_int(seen_wait(&first, 1), CJ_WAIT_DONE, "... and the next wait is done");
    watch_fail_none();
    watch_release(cj_stream_raw(b->t));
    cj_waiter_free(w);
}

/* -- What cannot be waited for ------------------------------------------------------------------------------------- */

static bool rejected(cj_waiter *w, cj_wait a, cj_status want, const char *part, const char *name)
{
    const bool right = !a && cj_error_of(w)->status == want && strstr(cj_error_of(w)->message, part);
    return tap_ok(right, "%s: %s", name, cj_error_of(w)->message);
}

static void captures(watch_bench *b)
{
    seen n = SEEN_NONE;
    cj_waiter *w = cj_waiter_create(b->dev, NULL);
    cj_event *e = cj_event_create(b->dev, NULL);
    cj_capture_begin(b->s, CJ_CAPTURE_GLOBAL);
    cj_event_record(e, b->s);
    rejected(w, cj_waiter_add(w, e, 0, seen_call, &n), CJ_ESTATE, "capture", "an event of an open capture");
    rejected(w, cj_waiter_add_stream(w, b->s, 0, seen_call, &n), CJ_ESTATE, "captured", "a stream that is capturing");
    cj_waiter_add_stream(w, b->t, CJ_WAIT_FOREVER, seen_call, &n);
    tap_is_int(seen_wait(&n, 1), CJ_WAIT_DONE, "a wait beside the capture is done");
    cj_graph *g = cj_capture_end(b->s);
    tap_is_int(cj_error_of(g)->status, CJ_OK, "... which is a graph then");
    rejected(w, cj_waiter_add(w, e, 0, seen_call, &n), CJ_ESTATE, "capture", "an event of a capture that is over");
    cj_event_record(e, b->s);
    cj_waiter_add(w, e, CJ_WAIT_FOREVER, seen_call, &n);
    tap_is_int(seen_wait(&n, 2), CJ_WAIT_DONE, "... and recorded on a stream it is waited for");
    cj_graph_free(g);
    watch_capture_foreign(cj_stream_raw(b->t), true);
    rejected(w, cj_waiter_add_stream(w, b->t, 0, seen_call, &n), CJ_ESTATE, "captured", "a capture of others");
    watch_capture_foreign(cj_stream_raw(b->t), false);
    tap_is_int(cj_stream_sync(b->s), CJ_OK, "the streams have no failure");
    cj_waiter_free(w);
    tap_is_int(seen_calls(&n), 2, "nothing that was rejected is reported");
    cj_event_free(e);
}

/* An event with a pending wait is recorded in a capture: the wait is for the point before. */
static void recorded_in_capture(watch_bench *b)
{
    seen n = SEEN_NONE;
    cj_waiter *w = cj_waiter_create(b->dev, NULL);
    cj_event *e = cj_event_create(b->dev, NULL);
    watch_hold(cj_stream_raw(b->t));
    cj_event_record(e, b->t);
    cj_waiter_add(w, e, CJ_WAIT_FOREVER, seen_call, &n);
    cj_capture_begin(b->s, CJ_CAPTURE_GLOBAL);
    tap_is_int(cj_event_record(e, b->s), CJ_OK, "an event that is waited for is recorded in a capture");
    cj_graph *g = cj_capture_end(b->s);
    tap_is_int(cj_error_of(g)->status, CJ_OK, "... which stays valid");
    watch_release(cj_stream_raw(b->t));
    tap_is_int(seen_wait(&n, 1), CJ_WAIT_DONE, "... and the wait is done when its point is reached");
    cj_graph_free(g);
    cj_waiter_free(w);
    cj_event_free(e);
}

static void wrong_arguments(watch_bench *b)
{
    int32_t runs = 7;
    cj_waiter *w = cj_waiter_create(b->dev, NULL);
    cj_event *e = cj_event_create(b->dev, NULL);
    rejected(w, cj_waiter_add(w, NULL, 0, seen_call, NULL), CJ_EHANDLE, "event", "no event");
    rejected(w, cj_waiter_add_stream(w, (cj_stream *)e, 0, seen_call, NULL), CJ_EHANDLE, "stream", "not a stream");
    const cj_wait strange[] = { 0, 1, UINT64_C(1) << 32, UINT64_MAX };
    for (size_t i = 0; i < 4; i++)
        tap_is_int(cj_waiter_cancel(w, strange[i], &runs), CJ_EHANDLE, "%#llx is no wait",
                   (unsigned long long)strange[i]);
    tap_is_int(runs, 0, "... whose callback does not run");
    cj_waiter_shutdown(w);
    rejected(w, cj_waiter_add(w, e, 0, seen_call, NULL), CJ_ESTATE, "shut down", "a waiter that is shut down");
    cj_waiter_free(w);
    cj_event_free(e);
    const struct { const char *name; cj_waiter_opts opts; } wrong[] = {
        { "callbacks", { .size = sizeof(cj_waiter_opts), .callbacks = 3 } },
        { "threads", { .size = sizeof(cj_waiter_opts), .threads = 65 } },
        { "threads", { .size = sizeof(cj_waiter_opts), .threads = -1 } },
        { "spin_us", { .size = sizeof(cj_waiter_opts), .spin_us = -2 } },
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        w = cj_waiter_create(b->dev, &wrong[i].opts);
        tap_has_str(cj_error_of(w)->message, wrong[i].name, "a wrong option is named");
        tap_is_int(cj_waiter_shutdown(w), CJ_EINVAL, "... by each call of the failed waiter");
        cj_waiter_free(w);
    }
}

/* The place of a wait that is over is used again; its handle is not. */
static void handles_of_old(watch_bench *b)
{
    enum { MANY = 600 };
    int cancelled = 0;
    cj_wait_record r[MANY];
    cj_waiter *w = cj_waiter_create(b->dev, NULL);
    cj_event *e = cj_event_create(b->dev, NULL);
    const cj_wait old = cj_waiter_add(w, e, CJ_WAIT_FOREVER, NULL, NULL);
    tap_is_int(cj_waiter_poll(w, r, 1, 10000), 1, "a wait is over");
    watch_hold(cj_stream_raw(b->s));
    cj_event_record(e, b->s);
    for (int i = 0; i < MANY; i++) cj_waiter_add(w, e, CJ_WAIT_FOREVER, NULL, NULL);
    tap_is_int(cj_waiter_cancel(w, old, NULL), CJ_ENOTFOUND, "... its handle cancels none of %d later ones", MANY);
    cj_waiter_shutdown(w);
    for (int n; (n = cj_waiter_poll(w, r, MANY, 0)) > 0;)
        for (int i = 0; i < n; i++) cancelled += r[i].result == CJ_WAIT_CANCELLED;
    tap_is_int(cancelled, 0, "... all of which end otherwise");
    watch_release(cj_stream_raw(b->s));
    cj_waiter_free(w);
    cj_event_free(e);
}

/* -- Queries ------------------------------------------------------------------------------------------------------- */

/* Which of the pending waits of one stream are queried: the first one, and another one at each fourth look. */
static void queries_of_a_stream(watch_bench *b)
{
    enum { EVENTS = 40, LOOKS = 60 };
    static seen n = SEEN_NONE;
    cj_event *e[EVENTS];
    cj_waiter *w = cj_waiter_create(b->dev, NULL);
    watch_hold(cj_stream_raw(b->s));
    for (int i = 0; i < EVENTS; i++) {
        e[i] = cj_event_create(b->dev, NULL);
        cj_event_record(e[i], b->s);
    }
    for (int i = 0; i < EVENTS; i++) cj_waiter_add(w, e[i], CJ_WAIT_FOREVER, seen_call, &n);
    watch_forget();
    for (int i = 0; i < LOOKS; i++) { /* each is late at once, and queried: with the first one of its stream */
        cj_waiter_add(w, e[0], 0, seen_call, &n);
        seen_wait(&n, i + 1);
    }
    cj_waiter_shutdown(w);
    cj_waiter_free(w);
    int first = 0, others = 0, strict = 0;
    for (size_t i = 0; i < watch.count; i++) {
        if (watch.log[i].id != CJI_CU_ID_cuEventQuery) continue;
        const bool is_first = watch.log[i].arg[0] == (uint64_t)(uintptr_t)cj_event_raw(e[0]);
        first += is_first;
        others += !is_first;
        strict += !watch.log[i].relaxed;
    }
    tap_ok(first > 0, "the oldest point of a stream is queried, %d times", first);
    tap_ok(others <= first / 2, "... of the %d others one at each fourth look, %d in all", EVENTS - 1, others);
    tap_is_int(strict, 0, "... in relaxed capture mode");
    tap_is_int(watch_calls(CJI_CU_ID_cuStreamSynchronize) + watch_calls(CJI_CU_ID_cuEventSynchronize), 0,
               "... and nothing is synchronized");
    for (int i = 0; i < EVENTS; i++) cj_event_free(e[i]);
    watch_release(cj_stream_raw(b->s));
}

/* Records of an event that nobody waits for make no other call than before. */
static void records_cost_nothing(watch_bench *b)
{
    seen n = SEEN_NONE;
    cj_waiter *w = cj_waiter_create(b->dev, NULL);
    cj_event *e = cj_event_create(b->dev, NULL);
    cj_event_record(e, b->s);
    cj_waiter_add(w, e, CJ_WAIT_FOREVER, seen_call, &n);
    seen_wait(&n, 1);
    cj_waiter_free(w);
    cj_event_record(e, b->s);
    watch_forget();
    cj_event_record(e, b->s);
    tap_is_int((int)watch.count, 1, "an event that was waited for is recorded by one driver call again");
    cj_event_free(e);
}

/* Waits for streams take their events from the device's pool, where they come back. */
static void events_of_the_pool(watch_bench *b)
{
    enum { ROUNDS = 400 }; /* more than what caches of threads hold */
    seen n = SEEN_NONE;
    cj_event_pool_stats stats = { .size = sizeof stats };
    cj_waiter *w = cj_waiter_create(b->dev, NULL);
    cj_event_pool *pool = cj_event_pool_for_device(b->dev);
    watch_forget();
    for (int i = 0; i < ROUNDS; i++) {
        cj_waiter_add_stream(w, b->s, CJ_WAIT_FOREVER, seen_call, &n);
        seen_wait(&n, i + 1);
    }
    cj_event_pool_get_stats(pool, &stats);
    tap_is_uint(stats.acquired, ROUNDS, "%d waits for a stream have an event of the device's pool each", ROUNDS);
    cj_waiter_free(w);
    tap_ok(watch_calls(CJI_CU_ID_cuEventCreate) <= ROUNDS / 2, "... which made %d of them",
           watch_calls(CJI_CU_ID_cuEventCreate));
    cj_event_pool_get_stats(pool, &stats);
    tap_is_uint(stats.in_use, 0, "... and has all of them back");
    cj_event_pool_free(pool);
}

/* Where the pool has none left, the waits go on with events of their own. */
static void pool_is_empty(watch_bench *b)
{
    seen n = SEEN_NONE;
    cj_waiter *w = cj_waiter_create(b->dev, NULL);
    cj_event_pool *pool = cj_event_pool_for_device(b->dev);
    watch_fail(CJI_CU_ID_cuEventCreate, 0, CUDA_ERROR_OUT_OF_MEMORY);
    cj_waiter_add_stream(w, b->s, CJ_WAIT_FOREVER, seen_call, &n);
    tap_is_int(seen_wait(&n, 1), CJ_WAIT_DONE, "a wait for a stream, while the pool cannot grow");
    tap_is_int(cj_error_of(w)->status, CJ_OK, "... is no failure");
    watch_fail_none();
    cj_waiter_free(w);
    cj_event_pool_free(pool);
}

int main(void)
{
    watch_bench b;
    tap_plan(0);
    watch_setup(&b);
    context_fails(&b, CUDA_ERROR_ILLEGAL_ADDRESS);
    context_fails(&b, CUDA_ERROR_LAUNCH_FAILED);
    one_query_fails(&b);
    captures(&b);
    recorded_in_capture(&b);
    wrong_arguments(&b);
    handles_of_old(&b);
    queries_of_a_stream(&b);
    records_cost_nothing(&b);
    events_of_the_pool(&b);
    pool_is_empty(&b);
    watch_settle();
    watch_teardown(&b);
    return tap_done();
}
