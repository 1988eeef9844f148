/* Pools and threads: what a thread has in its cache returns when it ends; handles are released by other threads; no
 * event has two holders and no exclusive stream has another lease; devices and threads have pools of their own. */
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "tests/device_bench.h"

enum { THREADS = 6, ROUNDS = 300, HELD = 24, N = 64 };

static cj_event_pool *events;
static cj_stream_pool *streams;

static void *acquire_and_end(void *user)
{
    cj_pooled_event e[HELD], *one = user;
    for (int i = 0; i < HELD; i++) e[i] = cj_event_pool_acquire(events, CJ_EVENT_REGULAR);
    for (int i = 1; i < HELD; i++) cj_event_pool_release(events, e[i]);
    *one = e[0]; /* released by another thread */
    return NULL;
}

static void *lease_and_end(void *user)
{
    cj_pooled_stream *one = user;
    for (int i = 0; i < 40; i++) cj_stream_pool_release(streams, cj_stream_pool_acquire(streams, NULL));
    *one = cj_stream_pool_acquire(streams, NULL);
    return NULL;
}

static void in_a_thread(void *(*fn)(void *), void *user)
{
    pthread_t id;
    if (pthread_create(&id, NULL, fn, user) != 0) tap_bail("no thread");
    pthread_join(id, NULL);
}

static void returned(void)
{
    cj_event_pool_stats now;
    cj_stream_pool_stats leased;
    cj_pooled_event one, all[HELD];
    cj_pooled_stream l;
    cj_event_pool_stats_defaults(&now);
    cj_stream_pool_stats_defaults(&leased);
    events = cj_event_pool_create(dev, CJ_EVENT_POOL(.regular = HELD, .regular_max = HELD));
    in_a_thread(acquire_and_end, &one);
    cj_event_pool_get_stats(events, &now);
    tap_ok(now.events == HELD && now.in_use == 1 && now.free == HELD - 1 && now.acquired == HELD,
           "a thread that has ended has left what was in its cache");
    for (int i = 1; i < HELD; i++) all[i] = cj_event_pool_acquire(events, CJ_EVENT_REGULAR);
    tap_ok(all[HELD - 1] != 0, "which another thread can acquire");
    tap_is_uint(cj_event_pool_acquire(events, CJ_EVENT_REGULAR), 0, "all of it");
    tap_is_int(cj_event_pool_release(events, one), CJ_OK, "and what it held is released by another thread");
    cj_event_pool_free(events);

    streams = cj_stream_pool_create(dev, CJ_STREAM_POOL(.streams = 2, .streams_max = 2));
    in_a_thread(lease_and_end, &l);
    cj_stream_pool_get_stats(streams, &leased);
    tap_ok(leased.leases == 1 && leased.acquired == 41 && leased.in_use == 1, "a lease outlives its thread");
    cj_stream *held = cj_stream_pool_stream(streams, l);
    cj_pooled_stream alone = cj_stream_pool_acquire_exclusive(streams, NULL);
    tap_ok(alone && cj_stream_pool_stream(streams, alone) != held, "its stream is not leased exclusively");
    tap_is_uint(cj_stream_pool_acquire_exclusive(streams, NULL), 0, "... by nobody");
    tap_is_int(cj_stream_pool_release(streams, l), CJ_OK, "until another thread releases it");
    alone = cj_stream_pool_acquire_exclusive(streams, NULL);
    tap_ok(cj_stream_pool_stream(streams, alone) == held, "then it is");
    cj_stream_pool_free(streams);
}

/* -- Many threads -------------------------------------------------------------------------------------------------- */

enum { PLACES = 4096 };
static struct { _Atomic(void *) what; atomic_int holders; } ledger[PLACES];
static atomic_int doubled;
static _Atomic uint64_t mailbox[THREADS];
static _Atomic uint64_t leased_mail[THREADS];

static int place_of(void *what) /* each event and stream has a place of its own */
{
    unsigned at = (unsigned)(((uintptr_t)what >> 4) % PLACES);
    for (;; at = (at + 1) % PLACES) {
        void *there = atomic_load(&ledger[at].what);
        if (there == what) return (int)at;
        void *none = NULL;
        if (!there && atomic_compare_exchange_strong(&ledger[at].what, &none, what)) return (int)at;
        if (!there && none == what) return (int)at;
    }
}

static void hold(void *what)
{
    if (atomic_fetch_add(&ledger[place_of(what)].holders, 1) != 0) atomic_fetch_add(&doubled, 1);
}
static void let(void *what) { atomic_fetch_sub(&ledger[place_of(what)].holders, 1); }

static void release_event(uint64_t e)
{
    let(cj_event_pool_event(events, e));
    if (cj_event_pool_release(events, e) != CJ_OK) atomic_fetch_add(&doubled, 1);
}
static void release_alone(uint64_t l)
{
    let(cj_stream_pool_stream(streams, l));
    if (cj_stream_pool_release(streams, l) != CJ_OK) atomic_fetch_add(&doubled, 1);
}

/* Some of what it acquires is released by the next thread. */
static void *use_both(void *user)
{
    const unsigned me = (unsigned)(uintptr_t)user, next = (me + 1) % THREADS;
    for (unsigned r = 0; r < ROUNDS; r++) {
        uint64_t e[HELD], sent = atomic_exchange(&mailbox[me], 0);
        const unsigned n = 1 + (r * 7 + me) % (HELD - 1);
        if (sent) release_event(sent);
        for (unsigned i = 0; i < n; i++) {
            e[i] = cj_event_pool_acquire(events, CJ_EVENT_REGULAR);
            cj_event *event = cj_event_pool_event(events, e[i]);
            if (!event) return tap_fail("an event: %s", cj_error_of(events)->message), NULL;
            hold(event);
        }
        cj_pooled_stream l = cj_stream_pool_acquire(streams, NULL);
        cj_stream *on = cj_stream_pool_stream(streams, l);
        if (!on) return tap_fail("a stream: %s", cj_error_of(streams)->message), NULL;
        if (r % 8 == 0) cj_event_record(cj_event_pool_event(events, e[0]), on);
        cj_stream_pool_release(streams, l);
        for (unsigned i = 0; i < n; i++) {
            uint64_t none = 0;
            if (i || !atomic_compare_exchange_strong(&mailbox[next], &none, e[i])) release_event(e[i]);
        }
        if ((sent = atomic_exchange(&leased_mail[me], 0))) release_alone(sent);
        if ((l = cj_stream_pool_acquire_exclusive(streams, NULL))) {
            uint64_t none = 0;
            hold(cj_stream_pool_stream(streams, l));
            if (!atomic_compare_exchange_strong(&leased_mail[next], &none, l)) release_alone(l);
        }
        if (r % 64 == 63) cj_stream_pool_trim(streams, NULL), cj_event_pool_trim(events, NULL);
    }
    return NULL;
}

static void many_threads(void)
{
    pthread_t id[THREADS];
    cj_event_pool_stats now;
    cj_stream_pool_stats leased;
    cj_event_pool_stats_defaults(&now);
    cj_stream_pool_stats_defaults(&leased);
    events = cj_event_pool_create(dev, CJ_EVENT_POOL(.growth = 8));
    streams = cj_stream_pool_create(dev, CJ_STREAM_POOL(.streams = 2, .streams_max = 24, .sharers = 1));
    for (uintptr_t i = 0; i < THREADS; i++)
        if (pthread_create(&id[i], NULL, use_both, (void *)i) != 0) tap_bail("no thread");
    for (int i = 0; i < THREADS; i++) pthread_join(id[i], NULL);
    for (int i = 0; i < THREADS; i++) {
        if (mailbox[i]) release_event(mailbox[i]);
        if (leased_mail[i]) release_alone(leased_mail[i]);
    }
    tap_is_int(atomic_load(&doubled), 0, "no event and no exclusive stream had two holders");
    cj_stream_pool_sync(streams);
    cj_event_pool_get_stats(events, &now);
    cj_stream_pool_get_stats(streams, &leased);
    tap_ok(now.in_use == 0 && now.free + now.pending == now.events, "every event is back: %d of %d",
           (int)(now.free + now.pending), (int)now.events);
    tap_ok(leased.leases == 0 && leased.in_use == 0 && leased.exclusive == 0, "and every lease");
    cj_stream_pool_free(streams);
    cj_event_pool_free(events);
}

/* -- Pools on request ---------------------------------------------------------------------------------------------- */

static void *pool_of_thread(void *user)
{
    *(cj_stream_pool **)user = cj_stream_pool_for_thread(dev);
    return NULL;
}

static void on_request(void)
{
    cj_event_pool *a = cj_event_pool_for_device(dev), *b = cj_event_pool_for_device(dev);
    tap_ok(a == b && cj_error_of(a)->status == CJ_OK, "a device has one event pool");
    cj_pooled_event e = cj_event_pool_acquire(b, CJ_EVENT_REGULAR);
    cj_event_pool_free(a);
    tap_is_int(cj_event_pool_release(b, e), CJ_OK, "which lives as long as somebody uses it");
    cj_event_pool_free(b);
    cj_stream_pool *p = cj_stream_pool_for_device(dev), *q = cj_stream_pool_for_device(dev),
                   *mine = cj_stream_pool_for_thread(dev), *again = cj_stream_pool_for_thread(dev), *other = NULL;
    tap_ok(p == q && mine == again && p != mine, "a device has one stream pool, a thread has another one");
    in_a_thread(pool_of_thread, &other);
    tap_ok(other != mine && other != p && cj_error_of(other)->status == CJ_OK, "and another thread a third one");
    cj_pooled_stream l = cj_stream_pool_acquire(other, NULL);
    tap_is_int(cj_stream_pool_release(other, l), CJ_OK, "which other threads may use");
    cj_stream_pool *const all[] = { p, q, mine, again, other };
    for (int i = 0; i < 5; i++) cj_stream_pool_free(all[i]);
    p = cj_stream_pool_for_device(NULL);
    tap_is_int(cj_error_of(p)->status, CJ_EHANDLE, "no device has no pool");
    cj_stream_pool_free(p);
}

int main(void)
{
    bench_open(4 * N);
    returned(), many_threads(), on_request();
    return bench_close();
}
