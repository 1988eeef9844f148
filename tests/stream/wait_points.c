/* A wait is for the point that was recorded when it was added: the event may be recorded again, on the same stream or
 * on another one, and freed. */
#include "tests/device_bench.h"
#include "tests/stream/waits.h"

static cj_waiter *w;

static cj_event *event(void) { return cj_event_create(dev, NULL); }

/* The event's old point is behind gate 0 on `s`, its new one on `on`, behind gate 1, or behind nothing. */
static void recorded_again(const char *where, cj_stream *on, bool held)
{
    seen old = SEEN_NONE, new = SEEN_NONE;
    cj_event *e = event();
    gate_hold(0, s);
    cj_event_record(e, s);
    cj_waiter_add(w, e, CJ_WAIT_FOREVER, seen_call, &old);
    if (held) gate_hold(1, on);
    tap_is_int(cj_event_record(e, on), CJ_OK, "an event that is waited for is recorded again on %s", where);
    cj_waiter_add(w, e, CJ_WAIT_FOREVER, seen_call, &new);
    cj_event_free(e);
    if (!held && on != s) {
        tap_is_int(seen_wait(&new, 1), CJ_WAIT_DONE, "... its new point is reached");
        tap_is_int(seen_calls(&old), 0, "... while the old one is not");
    }
    gate_open(0);
    tap_is_int(seen_wait(&old, 1), CJ_WAIT_DONE, "... the old point is reached when its stream gets there");
    if (held) {
        tap_is_int(seen_calls(&new), 0, "... while the new one is not");
        gate_open(1);
    }
    tap_is_int(seen_wait(&new, 1), CJ_WAIT_DONE, "... and the new one later");
    cj_stream_sync(s), cj_stream_sync(on);
}

/* Each record moves the point before; they are reached one after another. */
static void recorded_many_times(void)
{
    enum { TIMES = 8 };
    static seen n[TIMES];
    cj_event *e = event();
    for (int i = 0; i < TIMES; i++) {
        n[i] = (seen)SEEN_NONE;
        gate_hold(i, s);
        cj_event_record(e, s);
        cj_waiter_add(w, e, CJ_WAIT_FOREVER, seen_call, &n[i]);
    }
    for (int i = 0; i < TIMES; i++) {
        gate_open(i);
        if (seen_wait(&n[i], 1) != CJ_WAIT_DONE || (i + 1 < TIMES && seen_calls(&n[i + 1])))
            tap_fail("record %d of an event is reached by itself", i);
    }
    tap_pass("%d points of one event are reached one after another", TIMES);
    cj_event_free(e);
}

enum { EVENTS = 6 };

/* One behind the other on the stream, each held by a gate of its own; the waits are added in the reverse order. */
static void wait_for_records(cj_event **e, seen *n)
{
    for (int i = 0; i < EVENTS; i++) {
        e[i] = event();
        n[i] = (seen)SEEN_NONE;
        gate_hold(i, s);
        cj_event_record(e[i], s);
    }
    for (int i = EVENTS; i-- > 0;) cj_waiter_add(w, e[i], CJ_WAIT_FOREVER, seen_call, &n[i]);
}

/* Events that moved in another order than they were recorded: none holds up an earlier one. */
static void moved_backwards(void)
{
    static seen n[EVENTS];
    cj_event *e[EVENTS];
    wait_for_records(e, n);
    for (int i = EVENTS; i-- > 0;) cj_event_record(e[i], t);
    for (int i = 0; i < EVENTS; i++) {
        gate_open(i);
        if (seen_wait(&n[i], 1) != CJ_WAIT_DONE || (i + 1 < EVENTS && seen_calls(&n[i + 1])))
            tap_fail("point %d of a stream is reached by itself", i);
        cj_event_free(e[i]);
    }
    tap_pass("points that moved in the reverse order are reached in theirs");
}

/* Added in the reverse order of their stream: the first ones are reported first. */
static void added_backwards(void)
{
    static seen n[EVENTS];
    cj_event *e[EVENTS];
    wait_for_records(e, n);
    for (int i = 0; i < EVENTS; i++) {
        gate_open(i);
        tap_is_int(seen_wait(&n[i], 1), CJ_WAIT_DONE, "point %d of a stream, added after the later ones", i);
        cj_event_free(e[i]);
    }
}

/* Behind the library's back an event is only what the driver says. */
static void wrapped(void)
{
    seen n = SEEN_NONE;
    cj_event *e = event(), *same = cj_event_wrap(dev, cj_event_raw(e));
    gate_hold(0, s);
    cj_event_record(e, s);
    cj_waiter_add(w, same, CJ_WAIT_FOREVER, seen_call, &n);
    tap_is_int(seen_calls(&n), 0, "a wrapped event that is recorded is not complete");
    gate_open(0);
    tap_is_int(seen_wait(&n, 1), CJ_WAIT_DONE, "... until its point is reached");
    cj_event_free(same);
    cj_event_free(e);
}

/* Several waits, of two waiters, for one point. */
static void shared_point(void)
{
    seen n = SEEN_NONE;
    cj_waiter *other = cj_waiter_create(dev, NULL);
    cj_event *e = event();
    gate_hold(0, s);
    cj_event_record(e, s);
    for (int i = 0; i < 10; i++) cj_waiter_add(i % 2 ? w : other, e, CJ_WAIT_FOREVER, seen_call, &n);
    cj_event_record(e, t);
    cj_stream_sync(t);
    tap_is_int(seen_calls(&n), 0, "ten waits are for one old point");
    gate_open(0);
    seen_wait(&n, 10);
    tap_is_int(seen_of(&n, CJ_WAIT_DONE), 10, "... which is reached for all of them");
    cj_waiter_free(other);
    cj_event_free(e);
}

/* A timeout of a later point, while the first one of its stream is pending, and the other way round. */
static void late_behind_first(void)
{
    seen first = SEEN_NONE, second = SEEN_NONE;
    gate_hold(0, s);
    cj_waiter_add_stream(w, s, CJ_WAIT_FOREVER, seen_call, &first);
    gate_hold(1, s);
    cj_waiter_add_stream(w, s, 1, seen_call, &second);
    tap_is_int(seen_wait(&second, 1), CJ_WAIT_TIMEOUT, "a later point of a stream has a timeout of its own");
    tap_is_int(seen_calls(&first), 0, "... and the earlier one stays");
    gate_open(0);
    tap_is_int(seen_wait(&first, 1), CJ_WAIT_DONE, "... until it is reached");
    gate_open(1);
    cj_stream_sync(s);
}

int main(void)
{
    bench_open(0);
    gates_make(dev);
    w = cj_waiter_create(dev, NULL);
    recorded_again("its stream", s, true);
    recorded_again("another stream", t, true);
    recorded_again("an idle stream", t, false);
    recorded_many_times();
    moved_backwards();
    added_backwards();
    wrapped();
    shared_point();
    late_behind_first();
    tap_is_int(cj_error_of(w)->status, CJ_OK, "no wait failed");
    cj_waiter_free(w);
    cj_stream_sync(s);
    gates_free();
    return bench_close();
}
