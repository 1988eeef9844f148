/* A wait ends in one of five ways, once, however it is delivered: by callbacks on the waiter's thread, on threads of a
 * pool, on the caller's thread, or as a record. */
#include "tests/device_bench.h"
#include "tests/stream/waits.h"

enum { N = 64, BY_POLL = -1 };

static struct latch hold;
static cj_event *e;

/* What makes a wait end; each returns the wait. `s` is held, and `e` recorded on it. */
typedef cj_wait step(cj_waiter *w, void (*fn)(void *, cj_wait_result), void *user);

static cj_wait event_reached(cj_waiter *w, void (*fn)(void *, cj_wait_result), void *user)
{
    cj_wait a = cj_waiter_add(w, e, 60000, fn, user);
    latch_open(&hold);
    return a;
}
static cj_wait stream_reached(cj_waiter *w, void (*fn)(void *, cj_wait_result), void *user)
{
    cj_wait a = cj_waiter_add_stream(w, s, CJ_WAIT_FOREVER, fn, user);
    latch_open(&hold);
    return a;
}
static cj_wait reached_before(cj_waiter *w, void (*fn)(void *, cj_wait_result), void *user)
{
    latch_open(&hold);
    cj_stream_sync(s);
    return cj_waiter_add(w, e, 0, fn, user);
}
static cj_wait never_recorded(cj_waiter *w, void (*fn)(void *, cj_wait_result), void *user)
{
    cj_event *fresh = cj_event_create(dev, NULL);
    cj_wait a = cj_waiter_add(w, fresh, 0, fn, user);
    cj_event_free(fresh);
    return a;
}
static cj_wait event_late(cj_waiter *w, void (*fn)(void *, cj_wait_result), void *user)
{
    return cj_waiter_add(w, e, 1, fn, user);
}
static cj_wait stream_late(cj_waiter *w, void (*fn)(void *, cj_wait_result), void *user)
{
    return cj_waiter_add_stream(w, s, 0, fn, user);
}
static cj_wait cancelled(cj_waiter *w, void (*fn)(void *, cj_wait_result), void *user)
{
    int32_t runs = -1;
    cj_wait a = cj_waiter_add(w, e, CJ_WAIT_FOREVER, fn, user);
    tap_is_int(cj_waiter_cancel(w, a, &runs), CJ_OK, "a pending wait is cancelled");
    tap_ok(runs == 1 || runs == 0, "... which reports whether it is delivered later");
    return a;
}
static cj_wait shut_down(cj_waiter *w, void (*fn)(void *, cj_wait_result), void *user)
{
    cj_wait a = cj_waiter_add_stream(w, s, CJ_WAIT_FOREVER, fn, user);
    tap_is_int(cj_waiter_shutdown(w), CJ_OK, "a waiter is shut down");
    tap_is_int(cj_waiter_shutdown(w), CJ_OK, "... a second time");
    return a;
}

static const struct { const char *name; step *run; int result; } ends[] = {
    { "an event that is reached", event_reached, CJ_WAIT_DONE },
    { "a stream that is reached", stream_reached, CJ_WAIT_DONE },
    { "an event that was reached before", reached_before, CJ_WAIT_DONE },
    { "an event that was never recorded", never_recorded, CJ_WAIT_DONE },
    { "an event after 1 ms", event_late, CJ_WAIT_TIMEOUT },
    { "a stream after 0 ms", stream_late, CJ_WAIT_TIMEOUT },
    { "a wait that is cancelled", cancelled, CJ_WAIT_CANCELLED },
    { "a waiter that is shut down", shut_down, CJ_WAIT_SHUTDOWN },
};

static const struct { const char *name; int callbacks, threads, spin_us; } kinds[] = {
    { "the waiter's thread", CJ_WAITER_THREAD, 0, 0 },
    { "a pool of three", CJ_WAITER_POOL, 3, 0 },
    { "the caller's thread", CJ_WAITER_CALLER, 0, 0 },
    { "records", BY_POLL, 0, 0 },
    { "the waiter's thread, which never spins", CJ_WAITER_THREAD, 0, -1 },
};

static void try_one(size_t end, size_t kind)
{
    const int callbacks = kinds[kind].callbacks;
    seen n = SEEN_NONE;
    cj_waiter *w = cj_waiter_create(dev, CJ_WAITER(.callbacks = callbacks < 0 ? CJ_WAITER_THREAD : callbacks,
                                                   .threads = kinds[kind].threads, .spin_us = kinds[kind].spin_us));
    latch_close(&hold);
    bench_hold(s, &hold);
    cj_event_record(e, s);
    cj_wait a = ends[end].run(w, callbacks < 0 ? NULL : seen_call, &n);
    tap_ok(a != 0, "%s, %s: a handle", ends[end].name, kinds[kind].name);
    tap_is_int(seen_take(w, callbacks, &n, 1), ends[end].result, "%s, %s", ends[end].name, kinds[kind].name);
    latch_open(&hold);
    cj_stream_sync(s);
    int32_t runs = 1;
    tap_is_int(cj_waiter_cancel(w, a, callbacks == BY_POLL ? &runs : NULL), CJ_ENOTFOUND, "... it is over then");
    if (callbacks == BY_POLL) tap_is_int(runs, 0, "... and its user pointer is not used any more");
    tap_is_int(cj_error_of(w)->status, CJ_OK, "... which is no failure");
    cj_waiter_free(w);
    tap_is_int(seen_calls(&n), callbacks < 0 ? 0 : 1, "... and there is no second completion");
}

/* cj_waiter_free completes what is pending; the callbacks have returned when it returns. */
static void freed_with_waits(int callbacks)
{
    enum { WAITS = 50 };
    seen n = SEEN_NONE;
    cj_waiter *w = cj_waiter_create(dev, CJ_WAITER(.callbacks = callbacks));
    latch_close(&hold);
    bench_hold(s, &hold);
    cj_event_record(e, s);
    for (int i = 0; i < WAITS; i++)
        if (!(i % 2 ? cj_waiter_add(w, e, 60000, seen_call, &n) : cj_waiter_add_stream(w, s, 60000, seen_call, &n)))
            tap_fail("a wait is added");
    cj_waiter_free(w);
    tap_is_int(seen_of(&n, CJ_WAIT_SHUTDOWN), WAITS,
               "callbacks %d: the end of a waiter completes all waits", callbacks);
    tap_is_int(seen_calls(&n), WAITS, "... once each");
    latch_open(&hold);
    cj_stream_sync(s);
}

/* What an earlier wait of another stream holds up is nobody else's. */
static void each_stream_by_itself(void)
{
    seen first = SEEN_NONE, second = SEEN_NONE;
    cj_waiter *w = cj_waiter_create(dev, NULL);
    gate_hold(0, s);
    gate_hold(1, t);
    cj_waiter_add_stream(w, s, CJ_WAIT_FOREVER, seen_call, &first);
    cj_waiter_add_stream(w, t, CJ_WAIT_FOREVER, seen_call, &second);
    gate_open(1);
    tap_is_int(seen_wait(&second, 1), CJ_WAIT_DONE, "a stream is reported");
    tap_is_int(seen_calls(&first), 0, "... while an older wait of another stream is pending");
    gate_open(0);
    tap_is_int(seen_wait(&first, 1), CJ_WAIT_DONE, "... which is reported then");
    cj_waiter_free(w);
}

int main(void)
{
    bench_open(4 * N);
    gates_make(dev);
    e = cj_event_create(dev, NULL);
    for (size_t end = 0; end < sizeof ends / sizeof *ends; end++)
        for (size_t kind = 0; kind < sizeof kinds / sizeof *kinds; kind++) try_one(end, kind);
    for (int callbacks = CJ_WAITER_THREAD; callbacks <= CJ_WAITER_CALLER; callbacks++) freed_with_waits(callbacks);
    each_stream_by_itself();
    cj_event_free(e);
    gates_free();
    return bench_close();
}
