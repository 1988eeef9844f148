/* Events: made, wrapped, recorded, released; the time between two. */
#include "base/cancel.h"
#include "base/handover.h"
#include "base/log.h"
#include "stream/core/work_hooks.h"

/* -- Making and releasing ------------------------------------------------------------------------------------------ */

void cj_event_defaults(cj_event_opts *opts)
{
    if (opts) *opts = (cj_event_opts){ .size = sizeof *opts };
}

static void event_create_raw(cj_event *e, const cj_event_opts *o, const char *call)
{
    unsigned flags = (o->timing ? 0 : CU_EVENT_DISABLE_TIMING) | (o->blocking ? CU_EVENT_BLOCKING_SYNC : 0) |
                     (o->ipc ? CU_EVENT_INTERPROCESS : 0);
    cji_scope scope;
    if (cji_scope_begin_relaxed(e, e->dev, &scope, call) != CJ_OK) return;
    CUresult r = e->cu->cuEventCreate(&e->raw, flags);
    cji_scope_leave(&scope);
    e->owned = r == CUDA_SUCCESS;
    if (e->owned) return;
    e->raw = NULL;
    cji_rejected(e, e->dev, r, call, "cuEventCreate");
}

cj_event *cji_event_new(cj_device *dev, const char *call)
{
    cj_event *e = cji_obj_new(sizeof *e, CJI_TAG_EVENT, 0, call);
    if (cji_obj_failed(e)) return e;
    pthread_mutex_init(&e->lock, NULL);
    cji_handover_flag(&e->on, sizeof e->on + sizeof e->before + sizeof e->behind);
    if (cji_check_arg(e, dev, CJI_TAG_DEVICE, call, "the device") != CJ_OK) {
        cji_obj_set_failed(e);
        return e;
    }
    e->dev = cji_obj_retain(dev);
    e->queue = &dev->queue;
    e->cu = e->queue->cu;
    return e;
}

cj_event *cji_event_make(cj_device *dev, const cj_event_opts *opts, const char *call)
{
    cj_event_opts o;
    cj_event *e = cji_event_new(dev, call);
    if (cji_obj_failed(e)) return e;
    cj_event_defaults(&o);
    if (cji_opts_take(&o, sizeof o, opts, e, call, "cj_event")) {
        e->timing = o.timing;
        e->ipc = o.ipc;
        if (o.timing && o.ipc)
            cji_fail(e, CJ_EINVAL, call, "an event between processes has no timing; set one of .timing and .ipc");
        else event_create_raw(e, &o, call);
    }
    if (!e->raw) cji_obj_set_failed(e);
    return e;
}

cj_event *cj_event_create(cj_device *dev, const cj_event_opts *opts)
{
    return cji_event_make(dev, opts, "cj_event_create");
}

cj_event *cj_event_wrap(cj_device *dev, void *raw)
{
    static const char call[] = "cj_event_wrap";
    cj_event *e = cji_event_new(dev, call);
    if (cji_obj_failed(e)) return e;
    if (!raw) {
        cji_fail(e, CJ_EINVAL, call, "the event is NULL");
        cji_obj_set_failed(e);
        return e;
    }
    e->raw = raw;
    atomic_store(&dev->drv->exposed, true);
    e->timing = e->recorded = true; /* the driver knows, and rejects what is not so */
    return e;
}

/* In a scope, or there is no event. */
static void event_delete(cj_event *e)
{
    cj_device *dev = e->dev;
    if (e->raw && e->owned) e->cu->cuEventDestroy(e->raw);
    cji_capture_drop(e->capture);
    pthread_mutex_destroy(&e->lock);
    cji_obj_delete(e, sizeof *e);
    cji_device_drop(dev);
}

static void event_delete_deferred(cji_deferred *deferred)
{
    event_delete((cj_event *)((char *)deferred - offsetof(cj_event, deferred)));
}

void cj_event_free(cj_event *e)
{
    static const char call[] = "cj_event_free";
    if (!cji_check_free(e, CJI_TAG_EVENT, call)) return;
    if (e->cell) {
        cji_fail(NULL, CJ_ESTATE, call, "the event belongs to an event pool; release it with cj_event_pool_release");
        cji_log(CJ_LOG_ERROR, "%s", cj_error_last()->message);
        return;
    }
    cji_event_drop(e);
}

/* -- In a pool ----------------------------------------------------------------------------------------------------- */

cj_event *cji_event_retain(cj_event *e)
{
    cji_lock(&e->lock, CJI_LOCK_EVENT);
    if (e->cell) atomic_store_explicit(&e->cell->note, CJI_NOTE_HELD, memory_order_relaxed);
    cji_unlock(&e->lock, CJI_LOCK_EVENT);
    return cji_obj_retain(e);
}

void cji_event_leave_pool(cj_event *e)
{
    cji_lock(&e->lock, CJI_LOCK_EVENT);
    e->cell = NULL;
    cji_unlock(&e->lock, CJI_LOCK_EVENT);
}

void cji_event_drop(cj_event *e)
{
    cji_handover_give(&e->obj.refs); /* what was done with it, to the thread that deletes it */
    if (!cji_obj_release(e)) return;
    cji_handover_take(&e->obj.refs);
    if (!e->raw) {
        event_delete(e);
        return;
    }
    cj_device *dev = cji_obj_retain(e->dev);
    cji_scope scope;
    if (atomic_load(&dev->queue.captures)) {
        e->deferred.run = event_delete_deferred;
        cji_defer(&dev->queue, &e->deferred, 0);
    } else {
        cji_queue_scope(&dev->queue, &scope);
        event_delete(e);
        cji_scope_leave(&scope);
    }
    cji_deferred_poll(&dev->queue, CJI_DEFERRED_STEP);
    cji_device_drop(dev);
}

static void event_release(void *what) { cji_event_drop(what); }
const cji_ref_type cji_ref_event = { event_release };

void *cj_event_raw(const cj_event *e)
{
    if (cji_check(e, CJI_TAG_EVENT, "cj_event_raw") != CJ_OK) return NULL;
    if (e->dev) atomic_store(&e->dev->drv->exposed, true);
    return e->raw;
}
cj_device *cj_event_device(const cj_event *e)
{
    return cji_check(e, CJI_TAG_EVENT, "cj_event_device") == CJ_OK ? e->dev : NULL;
}

/* -- Recording ----------------------------------------------------------------------------------------------------- */

/* A failure that is left in both, event and stream: the thread's latest record goes to the stream too. */
static cj_status event_fail_both(cj_stream *s, cj_status st)
{
    cji_fail_with(s, cj_error_last());
    return cji_stream_failed(s, st);
}

static cj_status event_record_rejected(cj_event *e, cj_stream *s, CUresult r, const char *call)
{
    return event_fail_both(s, cji_rejected(e, e->dev, r, call, "cuEventRecord"));
}

/* Whether a record changes nothing that the event's lock guards: the event is in no capture, and none is concerned.
 * This is looked at again behind the driver's call.  Where a record in a capture has come in between, this one is
 * repeated with the lock held, and is the later one for library and driver alike. */
static inline bool event_is_plain(const cj_event *e, const cj_stream *s)
{
    return atomic_load(&e->plain) && !atomic_load_explicit(&s->capturing, memory_order_relaxed);
}

/* Notes a record outside captures: where it is among the operations of the stream tells the order of two points. */
static inline void event_note_order(cj_event *e, const cj_stream *s, uint64_t before, uint64_t behind)
{
    atomic_store_explicit(&e->on, s->id, memory_order_relaxed);
    atomic_store_explicit(&e->before, before, memory_order_relaxed);
    atomic_store_explicit(&e->behind, behind, memory_order_relaxed);
}

/* A record without the lock is counted before the driver's call.  Behind it, an atomic read-modify-write would wait for
 * the driver's last store, which goes to the device.
 *
 * Both numbers have the record itself: `before` is what this returns, `behind` is one more than what is counted behind
 * the call.  So where `behind` of a record M is at most `before` of a record P, P was counted after M had read the
 * number, and M read it when it had the driver's lock of the stream.  P takes that lock later. */
static inline uint64_t event_count(cj_stream *s) { return atomic_fetch_add(&s->counts.others, 1) + 1; }
static inline uint64_t event_counted(const cj_stream *s)
{
    return atomic_load_explicit(&s->counts.others, memory_order_acquire) + 1;
}
static inline void event_uncount(cj_stream *s) { atomic_fetch_add(&s->counts.rejected, 1); }

static CJI_APART cj_status event_record_locked(cj_event *e, cj_stream *s, const char *call)
{
    CJI_NO_CANCEL;
    cji_scope scope;
    const uint64_t before = atomic_load_explicit(&s->counts.others, memory_order_relaxed);
    cj_status st = cji_stream_scope(e, s, &scope, call);
    if (st != CJ_OK) return event_fail_both(s, st);
    cji_lock(&e->lock, CJI_LOCK_EVENT);
    atomic_store(&e->plain, false); /* before the driver may take it into a capture */
    if (e->point) cji_event_point_move(e);
    CUresult r = e->cu->cuEventRecord(e->raw, s->raw);
    cji_capture *old = NULL;
    if (r == CUDA_SUCCESS) {
        old = e->capture;
        e->capture = cji_capture_of(s);
        e->recorded = true;
        atomic_store(&e->plain, !e->capture);
        if (e->cell) cji_note_record(e->cell, e->capture ? CJI_NOTE_HELD : s->bit);
        if (!e->capture) event_note_order(e, s, before, event_count(s));
    }
    cji_unlock(&e->lock, CJI_LOCK_EVENT);
    cji_scope_leave(&scope);
    cji_capture_drop(old);
    if (r == CUDA_SUCCESS && s->proxy) cji_proxy_follow(s);
    return r == CUDA_SUCCESS ? CJ_OK : event_record_rejected(e, s, r, call);
}

static CJI_COLD cj_status event_of_another_device(cj_event *e, cj_stream *s, const char *call)
{
    return event_fail_both(
        s, cji_cu_fail_apart(e, e->dev, s->dev, call,
                             "the event is of device %d, the stream of device %d; make an event for each device",
                             cj_device_ordinal(e->dev), cj_device_ordinal(s->dev)));
}

/* Where `e` is no live event: the failure is left in the stream too. */
static CJI_COLD cj_status event_is_dead(cj_event *e, cj_stream *s, cj_status st, const char *call)
{
    return cji_check(s, CJI_TAG_STREAM, call) == CJ_OK
               ? cji_stream_failed(s, cji_check_arg(s, e, CJI_TAG_EVENT, call, "the event"))
               : st;
}

cj_status cj_event_record(cj_event *e, cj_stream *s)
{
    static const char call[] = "cj_event_record";
    cj_status st = cji_is_live(e, CJI_TAG_EVENT) ? CJ_OK : cji_check(e, CJI_TAG_EVENT, call);
    if (st != CJ_OK) return event_is_dead(e, s, st, call);
    if (!cji_is_live(s, CJI_TAG_STREAM)) st = cji_check_arg(e, s, CJI_TAG_STREAM, call, "the stream");
    if (st != CJ_OK) return st;
    if (!cji_same_device(e->queue, s->queue)) return event_of_another_device(e, s, call);
    if (event_is_plain(e, s) && !cji_stream_needs_context(s)) {
        const uint64_t before = event_count(s);
        CUresult r = e->cu->cuEventRecord(e->raw, s->raw);
        if (r == CUDA_SUCCESS && event_is_plain(e, s)) {
            event_note_order(e, s, before, event_counted(s));
            if (s->proxy) cji_proxy_follow(s);
            return CJ_OK;
        }
        event_uncount(s);
        if (r != CUDA_SUCCESS) return event_record_rejected(e, s, r, call);
    }
    return event_record_locked(e, s, call);
}

/* -- Queries ------------------------------------------------------------------------------------------------------- */

/* A query of an event of an open capture would break the capture. */
cj_status cji_event_may_query(cj_event *e, const char *call)
{
    cj_status st = cji_check(e, CJI_TAG_EVENT, call);
    if (st != CJ_OK) return st;
    cji_lock(&e->lock, CJI_LOCK_EVENT);
    bool captured = e->capture && cji_capture_open(e->capture);
    cji_unlock(&e->lock, CJI_LOCK_EVENT);
    if (!captured) return CJ_OK;
    return cji_fail(
        e, CJ_ESTATE, call,
        "the event was recorded in a capture that is still open; it will never be reached outside the graph");
}

cj_status cji_event_rejected(void *obj, cj_event *e, CUresult r, const char *call, const char *cu_call)
{
    cji_lock(&e->lock, CJI_LOCK_EVENT);
    bool captured = e->capture && !cji_capture_open(e->capture);
    cji_unlock(&e->lock, CJI_LOCK_EVENT);
    if (r != CUDA_ERROR_INVALID_VALUE || !captured) return cji_rejected(obj, e->dev, r, call, cu_call);
    return cji_cu_fail_as(
        obj, e->dev, r, CJ_ESTATE, cu_call, call,
        "%s: the event was last recorded in a capture, which is over, so that no stream reaches it; record it on a "
        "stream first",
        call);
}

/* What keeps one of two events from telling a time. */
static cj_status event_may_measure(cj_event *from, cj_event *e, const char *which, const char *call)
{
    if (!e->timing)
        return cji_fail(from, CJ_EINVAL, call, "the %s event has no timing; make it with CJ_EVENT(.timing = 1)", which);
    cji_lock(&e->lock, CJI_LOCK_EVENT);
    bool recorded = e->recorded;
    cji_unlock(&e->lock, CJI_LOCK_EVENT);
    return recorded ? CJ_OK : cji_fail(from, CJ_ESTATE, call, "the %s event was never recorded", which);
}

cj_status cj_event_elapsed(cj_event *from, cj_event *to, float *ms)
{
    static const char call[] = "cj_event_elapsed";
    cji_scope scope;
    cj_status st = cji_event_may_query(from, call);
    if (st != CJ_OK) return st;
    st = cji_check_arg(from, to, CJI_TAG_EVENT, call, "the second event");
    if (st == CJ_OK) st = cji_event_may_query(to, call);
    if (st != CJ_OK) return st;
    if (!ms) return cji_fail(from, CJ_EINVAL, call, "`ms` is NULL, there is no place for the result");
    if (!cji_same_device(from->queue, to->queue))
        return cji_cu_fail_apart(from, from->dev, to->dev, call, "the events are of two devices, whose clocks differ");
    st = event_may_measure(from, from, "first", call);
    if (st == CJ_OK) st = event_may_measure(from, to, "second", call);
    if (st == CJ_OK) st = cji_scope_begin_relaxed(from, from->dev, &scope, call);
    if (st != CJ_OK) return st;
    CUresult r = from->cu->cuEventElapsedTime(ms, from->raw, to->raw);
    cji_scope_leave(&scope);
    if (r == CUDA_ERROR_NOT_READY) return CJ_ENOTREADY;
    return r == CUDA_SUCCESS ? CJ_OK : cji_rejected(from, from->dev, r, call, "cuEventElapsedTime");
}
