/* Stress of pools: events and leases that 24 threads acquire, record, hand to each other and release, while the pools
 * grow and shrink and change their strategy.  The ledger has an entry for each; a table of holders finds an event or
 * an exclusive stream that two threads have at once. */
#include <stdlib.h>

#include "tests/stress/stress.h"

enum { PLACES = 1 << 18, PROBES = 256, MAILS = 16, EVENTS = 12 };

static cj_event_pool *pooled_events;
static cj_stream_pool *pooled_streams;
static struct { _Atomic(void *) what; atomic_int holders; } holding[PLACES];

/* What one thread has acquired and another one releases. */
typedef struct parcel { uint64_t handle; stress_entry *entry; } parcel;
static _Atomic(parcel *) event_mail[MAILS], lease_mail[MAILS];

/* Each address has a place of its own, for ever; where there is none left it is not watched. */
static atomic_int *holders_of(void *what)
{
    unsigned at = (unsigned)(((uintptr_t)what >> 4) * 2654435761u % PLACES);
    for (int i = 0; i < PROBES; i++, at = (at + 1) % PLACES) {
        void *there = NULL;
        if (atomic_compare_exchange_strong(&holding[at].what, &there, what) || there == what)
            return &holding[at].holders;
    }
    return NULL;
}
static void begin_holding(void *what)
{
    atomic_int *n = holders_of(what);
    if (n && atomic_fetch_add(n, 1)) stress_failed("pools", "an event or an exclusive stream has two holders");
}
static void end_holding(void *what)
{
    atomic_int *n = holders_of(what);
    if (n) atomic_fetch_sub(n, 1);
}

static parcel *parcel_new(uint64_t handle)
{
    parcel *p = malloc(sizeof *p);
    if (!p) abort();
    *p = (parcel){ handle, stress_open() };
    return p;
}
static void parcel_end(parcel *p)
{
    if (p->entry) stress_close(p->entry);
    free(p);
}

static void event_end(parcel *p)
{
    end_holding(cj_event_pool_event(pooled_events, p->handle));
    stress_did(cj_event_pool_release(pooled_events, p->handle), "an event is released");
    if (cj_event_pool_release(pooled_events, p->handle) != CJ_EHANDLE)
        stress_failed("pools", "an event is released twice");
    parcel_end(p);
}
static void lease_end(parcel *p)
{
    end_holding(cj_stream_pool_stream(pooled_streams, p->handle));
    stress_did(cj_stream_pool_release(pooled_streams, p->handle), "a lease is released");
    parcel_end(p);
}

static void use_events(stress_thread *t, cj_stream *on)
{
    parcel *p[EVENTS];
    const uint32_t n = 1 + stress_random(t, EVENTS);
    for (uint32_t i = 0; i < n; i++) {
        const cj_pooled_event e = cj_event_pool_acquire(pooled_events, (cj_event_kind)stress_random(t, 3));
        cj_event *event = cj_event_pool_event(pooled_events, e);
        if (!event) {
            stress_failed("an event is acquired", cj_error_of(pooled_events)->message);
            for (uint32_t k = 0; k < i; k++) event_end(p[k]);
            return;
        }
        p[i] = parcel_new(e);
        begin_holding(event);
        if (cj_event_query(event) != CJ_OK) stress_failed("pools", "an event that is acquired has a point");
        if (stress_random(t, 4) == 0) stress_did(cj_event_record(event, on), "a pooled event is recorded");
    }
    for (uint32_t i = 0; i < n; i++) {
        parcel *mine = p[i];
        if (stress_random(t, 3) == 0) mine = atomic_exchange(&event_mail[stress_random(t, MAILS)], mine);
        if (mine) event_end(mine);
    }
}

static void use_alone(stress_thread *t)
{
    const cj_pooled_stream l = cj_stream_pool_acquire_exclusive(pooled_streams, NULL);
    if (!l) return; /* all streams have leases */
    parcel *mine = parcel_new(l);
    begin_holding(cj_stream_pool_stream(pooled_streams, l));
    if (stress_random(t, 2)) mine = atomic_exchange(&lease_mail[stress_random(t, MAILS)], mine);
    if (mine) lease_end(mine);
}

static void pools_begin(void)
{
    pooled_events = cj_event_pool_create(stress.dev, CJ_EVENT_POOL(.growth = 8));
    pooled_streams = cj_stream_pool_create(stress.dev, CJ_STREAM_POOL(.streams = 2, .high = 1, .streams_max = 40,
                                                                      .sharers = 2, .sample = 7, .idle_ms = 1));
    stress_did(cj_error_of(pooled_events)->status, "a pool of events");
    stress_did(cj_error_of(pooled_streams)->status, "a pool of streams");
}

static void pools_step(stress_thread *t)
{
    const cj_stream_request how = { .size = sizeof how,
                                    .work = (int32_t)stress_random(t, 4),
                                    .priority = (int32_t)stress_random(t, 3) };
    const cj_pooled_stream l = cj_stream_pool_acquire(pooled_streams, &how);
    if (l) use_events(t, cj_stream_pool_stream(pooled_streams, l));
    if (l) stress_did(cj_stream_pool_release(pooled_streams, l), "a lease is released");
    use_alone(t);
    switch (stress_random(t, 64)) {
    case 0: cj_event_pool_trim(pooled_events, NULL); break;
    case 1: cj_stream_pool_trim(pooled_streams, NULL); break;
    case 2: cj_stream_pool_set_strategy(pooled_streams, (cj_pool_strategy)stress_random(t, CJ_POOL_STRATEGIES)); break;
    case 3: cj_stream_pool_optimize(pooled_streams, NULL); break;
    case 4: cj_stream_pool_report(pooled_streams, (cj_work)stress_random(t, 4), 0.01); break;
    default: break;
    }
}

static void pools_end(void)
{
    cj_event_pool_stats events;
    cj_stream_pool_stats leases;
    cj_event_pool_stats_defaults(&events);
    cj_stream_pool_stats_defaults(&leases);
    for (int i = 0; i < MAILS; i++) {
        if (event_mail[i]) event_end(event_mail[i]);
        if (lease_mail[i]) lease_end(lease_mail[i]);
    }
    stress_did(cj_stream_pool_sync(pooled_streams), "the streams of the pool complete");
    cj_event_pool_get_stats(pooled_events, &events);
    cj_stream_pool_get_stats(pooled_streams, &leases);
    if (events.in_use || events.free + events.pending != events.events)
        stress_failed("pools", "an event is lost");
    if (leases.leases || leases.in_use || leases.exclusive) stress_failed("pools", "a lease is lost");
    cj_event_pool_free(pooled_events);
    cj_stream_pool_free(pooled_streams);
}

const stress_part stress_pools = { "pools", pools_begin, pools_step, pools_end };
