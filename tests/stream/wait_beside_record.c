/* A query of the thread that watches is under way while its event is recorded in a capture: it must not be about the
 * captured event, which would invalidate the capture.  The query is held at the driver, by a latch, at the last moment
 * before the device has it. */
#include <string.h>

#include "stream/core/stream_core.h"
#include "tests/latch.h"
#include "tests/stream/watched.h"
#include "tests/stream/waits.h"
#include "tests/tap.h"

static cji_PFN_cuEventQuery query_below;
static _Atomic(CUevent) gated; /* its next query is held */
static struct latch reached, go_on;

static CUresult query_gated(CUevent raw)
{
    CUevent is = raw;
    if (raw && atomic_compare_exchange_strong(&gated, &is, NULL)) {
        latch_open(&reached);
        latch_wait(&go_on);
    }
    return query_below(raw);
}

static void *gate_symbol(void *user, const char *symbol)
{
    void *const below = watch_symbol(user, symbol);
    if (strcmp(symbol, "cuEventQuery") != 0) return below;
    query_below = (cji_PFN_cuEventQuery)(uintptr_t)below;
    return (void *)(uintptr_t)query_gated;
}

typedef struct record { cj_stream *s; cj_event *e; cj_status st; } record;

/* Records where no query can be held up by it: the record that comes first wins. */
static void *record_captured(void *user)
{
    record *r = user;
    r->st = cj_event_record(r->e, r->s);
    return NULL;
}

/* What the record does meanwhile depends on who has the event's lock: with the query it waits until that has returned.
 * Where nobody has it, nothing keeps the record from coming first, and the latch lets it. */
static void recorded_beside_a_query(watch_bench *b)
{
    seen n = SEEN_NONE;
    pthread_t thread;
    cj_waiter *w = cj_waiter_create(b->dev, NULL);
    cj_event *e = cj_event_create(b->dev, NULL);
    record r = { b->s, e, CJ_EINVAL };
    latch_close(&reached), latch_close(&go_on);
    watch_hold(cj_stream_raw(b->t));
    cj_event_record(e, b->t);
    cj_capture_begin(b->s, CJ_CAPTURE_RELAXED);
    atomic_store(&gated, (CUevent)cj_event_raw(e));
    cj_waiter_add(w, e, CJ_WAIT_FOREVER, seen_call, &n);
    latch_wait(&reached);
    const bool guarded = pthread_mutex_trylock(&e->lock) != 0;
    if (!guarded) pthread_mutex_unlock(&e->lock);
    pthread_create(&thread, NULL, record_captured, &r);
    if (!guarded) pthread_join(thread, NULL);
    latch_open(&go_on);
    if (guarded) pthread_join(thread, NULL);
    tap_is_int(r.st, CJ_OK, "an event is recorded in a capture while a waiter queries it");
    watch_release(cj_stream_raw(b->t));
    tap_is_int(seen_wait(&n, 1), CJ_WAIT_DONE, "... the wait is done when its point is reached");
    cj_graph *g = cj_capture_end(b->s);
    tap_is_int(cj_error_of(g)->status, CJ_OK, "... and the capture stays valid");
    tap_is_int(cj_error_of(w)->status, CJ_OK, "... no query has failed");
    cj_graph_free(g);
    cj_waiter_free(w);
    cj_event_free(e);
}

int main(void)
{
    watch_bench b;
    tap_plan(0);
    cj_driver_close(watch_open());
    b.drv = cj_driver_open_resolver(gate_symbol, NULL);
    b.dev = cj_device_open(b.drv, 0, NULL);
    b.s = cj_stream_create(b.dev, NULL);
    b.t = cj_stream_create(b.dev, NULL);
    for (int i = 0; i < 3; i++) recorded_beside_a_query(&b);
    watch_settle();
    watch_teardown(&b);
    return tap_done();
}
