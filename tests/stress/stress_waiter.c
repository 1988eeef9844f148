/* Waits of events and streams on waiters of each kind: reached, too late, cancelled, shut down, recorded again. */
#include <stddef.h>

#include "tests/stress/stress.h"

enum { KINDS = 4, POLLS = 3 }; /* the fourth one has records */
static cj_waiter *waiters[KINDS];

static void wait_ended(void *user, cj_wait_result result)
{
    stress_entry *e = user;
    if (result == CJ_WAIT_ERROR) stress_failed("a wait", "the device has failed");
    stress_close(e);
}

static void waiter_begin(void)
{
    waiters[0] = cj_waiter_create(stress.dev, NULL);
    waiters[1] = cj_waiter_create(stress.dev, CJ_WAITER(.callbacks = CJ_WAITER_POOL, .threads = 2));
    waiters[2] = cj_waiter_create(stress.dev, CJ_WAITER(.callbacks = CJ_WAITER_CALLER));
    waiters[POLLS] = cj_waiter_create(stress.dev, CJ_WAITER(.spin_us = -1));
    for (int i = 0; i < KINDS; i++) stress_did(cj_error_of(waiters[i])->status, "a waiter is made");
}

static cj_stream *any_stream(stress_thread *t) { return stress.s[stress_random(t, STRESS_STREAMS)]; }

static uint32_t any_timeout(stress_thread *t)
{
    static const uint32_t ms[] = { 0, 1, 2, 50, CJ_WAIT_FOREVER, CJ_WAIT_FOREVER, CJ_WAIT_FOREVER, CJ_WAIT_FOREVER };
    return ms[stress_random(t, sizeof ms / sizeof *ms)];
}

/* Adds a wait of an event, or of a stream without one. */
static cj_wait add_wait(stress_thread *t, cj_waiter *w, bool polled, cj_event *e, stress_entry **entry)
{
    *entry = stress_open();
    if (!*entry) return 0;
    const cj_wait a = e ? cj_waiter_add(w, e, any_timeout(t), polled ? NULL : wait_ended, *entry)
                        : cj_waiter_add_stream(w, any_stream(t), any_timeout(t), polled ? NULL : wait_ended, *entry);
    if (a) return a;
    stress_revoke(*entry);
    stress_failed("a wait is added", cj_error_of(w)->message);
    return 0;
}

static void deliver(void)
{
    cj_wait_record r[32];
    const int n = cj_waiter_poll(waiters[POLLS], r, 32, 0);
    for (int i = 0; i < n; i++) wait_ended(r[i].user, (cj_wait_result)r[i].result);
    cj_waiter_run(waiters[2], 32, 0);
}

static void launch_some(stress_thread *t)
{
    const uint32_t i = stress_random(t, STRESS_STREAMS);
    stress_did(cj_launch(stress.s[i], stress.add, cj_threads(STRESS_WORDS, 64), stress.d[i], STRESS_WORDS, 1),
               "a launch");
}

static void event_step(stress_thread *t)
{
    stress_entry *entry;
    const uint32_t kind = stress_random(t, KINDS);
    cj_event *e = cj_event_create(stress.dev, NULL);
    stress_did(cj_event_record(e, any_stream(t)), "a record");
    for (uint32_t n = stress_random(t, 4); n-- > 0;) {
        add_wait(t, waiters[kind], kind == POLLS, e, &entry);
        if (stress_random(t, 2)) stress_did(cj_event_record(e, any_stream(t)), "a record while it is waited for");
    }
    cj_event_free(e);
}

static void cancel_step(stress_thread *t)
{
    stress_entry *entry;
    const uint32_t kind = stress_random(t, KINDS);
    const cj_wait a = add_wait(t, waiters[kind], kind == POLLS, NULL, &entry);
    const cj_status st = a ? cj_waiter_cancel(waiters[kind], a, NULL) : CJ_OK;
    if (st != CJ_OK && st != CJ_ENOTFOUND) stress_failed("a cancel", cj_error_last()->message);
}

/* A waiter that ends with waits. */
static void short_life(stress_thread *t)
{
    stress_entry *entry;
    cj_waiter *w = cj_waiter_create(stress.dev, CJ_WAITER(.callbacks = (int32_t)stress_random(t, 3), .threads = 1));
    if (!stress_did(cj_error_of(w)->status, "a waiter is made")) return cj_waiter_free(w);
    for (uint32_t n = stress_random(t, 8); n-- > 0;) add_wait(t, w, false, NULL, &entry);
    cj_waiter_free(w);
}

static void waiter_step(stress_thread *t)
{
    stress_entry *entry;
    const uint32_t what = stress_random(t, 100), kind = stress_random(t, KINDS);
    if (what < 30) add_wait(t, waiters[kind], kind == POLLS, NULL, &entry);
    else if (what < 50) event_step(t);
    else if (what < 65) cancel_step(t);
    else if (what < 90) deliver();
    else if (what < 99 || stress_random(t, 8)) launch_some(t);
    else short_life(t);
}

static void waiter_end(void)
{
    for (int i = 0; i < STRESS_STREAMS; i++) stress_did(cj_stream_sync(stress.s[i]), "a stream");
    cj_waiter_shutdown(waiters[POLLS]);
    cj_wait_record r;
    while (cj_waiter_poll(waiters[POLLS], &r, 1, 0) == 1) wait_ended(r.user, (cj_wait_result)r.result);
    for (int i = 0; i < KINDS; i++) {
        stress_did(cj_error_of(waiters[i])->status, "a waiter at the end");
        cj_waiter_free(waiters[i]);
    }
}

const stress_part stress_waiter = { "waiter", waiter_begin, waiter_step, waiter_end };
