/* Streams: made, wrapped, released, and what they are. */
#include "base/log.h"
#include "base/process.h"
#include "stream/core/work_hooks.h"

/* -- Making -------------------------------------------------------------------------------------------------------- */

void cj_stream_defaults(cj_stream_opts *opts)
{
    if (opts) *opts = (cj_stream_opts){ .size = sizeof *opts, .priority = CJ_PRIORITY_NORMAL };
}

/* The driver's number for a priority: the range goes from `least` urgent (the greater number) to `greatest`. */
static int stream_priority_number(const cj_stream_opts *o, int least, int greatest)
{
    switch (o->priority) {
    case CJ_PRIORITY_HIGH: case CJ_PRIORITY_CRITICAL: return greatest;
    case CJ_PRIORITY_LOW: case CJ_PRIORITY_CLEANUP: return least;
    case CJ_PRIORITY_RAW: return o->raw_priority;
    default: return least - (least - greatest) / 2;
    }
}

/* Reads what the stream is; context current. */
static CUresult stream_read(cj_stream *s, const char **cu_call)
{
    static atomic_uint_fast64_t numbers;
    unsigned long long id = 0;
    *cu_call = "cuStreamGetPriority";
    CUresult r = s->cu->cuStreamGetPriority(s->raw, &s->priority);
    if (r != CUDA_SUCCESS) return r;
    *cu_call = "cuStreamGetFlags";
    r = s->cu->cuStreamGetFlags(s->raw, &s->flags);
    if (r != CUDA_SUCCESS) return r;
    /* Drivers before CUDA 12.0 do not number streams; the library's own numbers lie where theirs never do. */
    if (s->cu->cuStreamGetId(s->raw, &id) == CUDA_SUCCESS) s->id = id;
    else s->id = UINT64_C(1) << 63 | (atomic_fetch_add(&numbers, 1) + 1);
    return CUDA_SUCCESS;
}

/* A stream that was not there when peer access failed begins with that failure: cj_device_enable_peer in peer.c. */
static void stream_take_peer_failure(cj_stream *s)
{
    cji_lock(&s->queue->lock, CJI_LOCK_QUEUE);
    if (s->dev->peer_failed) cji_fail_with(s, &s->dev->peer_why);
    cji_unlock(&s->queue->lock, CJI_LOCK_QUEUE);
}

/* The part of making that is common: what it is, its slot. */
static bool stream_finish(cj_stream *s, const char *call)
{
    const char *cu_call;
    CUresult r = stream_read(s, &cu_call);
    if (r != CUDA_SUCCESS) {
        cji_rejected(s, s->dev, r, call, cu_call);
        return false;
    }
    if (s->raw == CU_STREAM_PER_THREAD) {
        r = cji_proxy_open(s, &cu_call);
        if (r != CUDA_SUCCESS) {
            cji_rejected(s, s->dev, r, call, cu_call);
            return false;
        }
    }
    s->slot = cji_slot_open(s->queue, s->proxy ? s->proxy : s->raw, s);
    if (!s->slot) {
        cji_fail(s, CJ_ENOMEM, call, "no memory to note the uses of the stream");
        return false;
    }
    s->bit = s->slot->bit;
    stream_take_peer_failure(s);
    cji_rooms_stream_made();
    return true;
}

static cj_stream *stream_new(cj_device *dev, const char *call)
{
    cj_stream *s = cji_obj_new(sizeof *s, CJI_TAG_STREAM, CJI_OBJ_KEEPS_FIRST, call);
    if (cji_obj_failed(s)) return s;
    pthread_mutex_init(&s->lock, NULL);
    if (cji_check_arg(s, dev, CJI_TAG_DEVICE, call, "the device") != CJ_OK) {
        cji_obj_set_failed(s);
        return s;
    }
    s->dev = cji_obj_retain(dev);
    s->queue = &dev->queue;
    s->cu = s->queue->cu;
    cji_deferred_poll(s->queue, CJI_DEFERRED_STEP);
    return s;
}

static void stream_create_raw(cj_stream *s, const cj_stream_opts *o, const char *call)
{
    int least = 0, greatest = 0;
    CUresult r = s->cu->cuCtxGetStreamPriorityRange(&least, &greatest);
    if (r != CUDA_SUCCESS) {
        cji_rejected(s, s->dev, r, call, "cuCtxGetStreamPriorityRange");
        return;
    }
    r = s->cu->cuStreamCreateWithPriority(&s->raw, o->legacy_order ? CU_STREAM_DEFAULT : CU_STREAM_NON_BLOCKING,
                                          stream_priority_number(o, least, greatest));
    if (r != CUDA_SUCCESS) {
        cji_rejected(s, s->dev, r, call, "cuStreamCreateWithPriority");
        return;
    }
    if (stream_finish(s, call)) return;
    s->cu->cuStreamDestroy(s->raw);
    s->raw = NULL;
}

cj_stream *cj_stream_create(cj_device *dev, const cj_stream_opts *opts)
{
    static const char call[] = "cj_stream_create";
    cj_stream_opts o;
    cj_stream *s = stream_new(dev, call);
    if (cji_obj_failed(s)) return s;
    cj_stream_defaults(&o);
    if (!cji_opts_take(&o, sizeof o, opts, s, call, "cj_stream")) {
        cji_obj_set_failed(s);
        return s;
    }
    if (o.priority < CJ_PRIORITY_NORMAL || o.priority > CJ_PRIORITY_CLEANUP) {
        cji_fail(s, CJ_EINVAL, call,
                 "priority %d is none of CJ_PRIORITY_NORMAL, _HIGH, _LOW, _RAW, _CRITICAL, _CLEANUP", o.priority);
        cji_obj_set_failed(s);
        return s;
    }
    cji_scope scope;
    if (cji_scope_begin_relaxed(s, dev, &scope, call) == CJ_OK) {
        stream_create_raw(s, &o, call);
        cji_scope_leave(&scope);
    }
    if (!s->slot) cji_obj_set_failed(s);
    return s;
}

/* Whether a foreign stream can be wrapped; context current. */
static bool stream_may_wrap(cj_stream *s, const char *call)
{
    CUcontext ctx = NULL;
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    CUresult r = s->cu->cuStreamIsCapturing(s->raw, &status);
    if (r == CUDA_ERROR_INVALID_HANDLE || r == CUDA_ERROR_INVALID_VALUE)
        return cji_cu_fail_as(s, s->dev, r, CJ_EINVAL, "cuStreamIsCapturing", call,
                              "%s: %p is no stream of device %d's context", call, (void *)s->raw, s->dev->ordinal),
               false;
    if (r != CUDA_SUCCESS) return cji_rejected(s, s->dev, r, call, "cuStreamIsCapturing"), false;
    if (status != CU_STREAM_CAPTURE_STATUS_NONE)
        return cji_fail(s, CJ_ESTATE, call,
                        "the stream is being captured, and asking what it is would break the capture; wrap it before"),
               false;
    r = s->cu->cuStreamGetCtx(s->raw, &ctx);
    if (r != CUDA_SUCCESS) return cji_rejected(s, s->dev, r, call, "cuStreamGetCtx"), false;
    if (ctx != s->queue->ctx)
        return cji_fail(s, CJ_EINVAL, call, "the stream belongs to another context than the device's primary context"),
               false;
    return true;
}

cj_stream *cj_stream_wrap(cj_device *dev, void *raw)
{
    static const char call[] = "cj_stream_wrap";
    cj_stream *s = stream_new(dev, call);
    if (cji_obj_failed(s)) return s;
    s->raw = raw;
    atomic_store(&s->borrowed, true);
    atomic_store(&dev->drv->exposed, true);
    if (!raw) {
        cji_fail(s, CJ_EINVAL, call,
                 "the stream is NULL, the legacy default stream; pass CJ_STREAM_LEGACY where that is really meant");
    } else {
        cji_scope scope;
        if (s->raw == CU_STREAM_PER_THREAD) cji_obj_bind(s);
        if (cji_scope_begin_relaxed(s, dev, &scope, call) == CJ_OK) {
            if (stream_may_wrap(s, call) && !stream_finish(s, call)) cji_proxy_close(s);
            cji_scope_leave(&scope);
        }
    }
    if (!s->slot) {
        s->raw = NULL;
        cji_obj_unbind(s);
        cji_obj_set_failed(s);
    }
    return s;
}

/* -- Releasing ----------------------------------------------------------------------------------------------------- */

static void stream_delete(cj_stream *s)
{
    cj_device *dev = s->dev;
    cji_timing_drop(atomic_load(&s->timing));
    pthread_mutex_destroy(&s->lock);
    cji_obj_delete(s, sizeof *s);
    cji_device_drop(dev);
}

/* Destroys the CUstream, which is not being captured; in a scope. */
static void stream_close(cj_stream *s)
{
    if (s->order) s->cu->cuEventDestroy(s->order);
    cji_slot_close(s->queue, s->slot);
    if (!atomic_load(&s->borrowed)) s->cu->cuStreamDestroy(s->raw);
    cji_proxy_close(s);
    stream_delete(s);
}

static void stream_close_deferred(cji_deferred *deferred)
{
    stream_close((cj_stream *)((char *)deferred - offsetof(cj_stream, deferred)));
}

void cji_stream_drop(cj_stream *s)
{
    if (!cji_obj_release(s)) return;
    if (!s->slot) { /* failed */
        stream_delete(s);
        return;
    }
    cj_device *dev = cji_obj_retain(s->dev);
    cji_release_queue *queue = s->queue;
    cji_scope scope;
    cji_queue_scope(queue, &scope);
    /* During a capture, also one that somebody else began on the stream, it stays until that is over.  A wrapped
     * stream must not be touched later; a proxy may. */
    if ((!atomic_load(&s->borrowed) || s->proxy) &&
        (atomic_load(&queue->captures) || cji_stream_captures(queue, s->slot->raw))) {
        s->deferred.run = stream_close_deferred;
        cji_defer(queue, &s->deferred, s->bit);
    } else {
        stream_close(s);
    }
    cji_scope_leave(&scope);
    cji_deferred_poll(queue, CJI_DEFERRED_STEP);
    cji_device_drop(dev);
}

void cj_stream_free(cj_stream *s)
{
    static const char call[] = "cj_stream_free";
    if (!cji_check_free(s, CJI_TAG_STREAM, call)) return;
    if (s->place) {
        cji_fail(NULL, CJ_ESTATE, call, "the stream belongs to a stream pool; release it with cj_stream_pool_release");
        cji_log(CJ_LOG_ERROR, "%s", cj_error_last()->message);
        return;
    }
    if (cji_capture_abandon(s)) cji_stream_drop(s);
}

/* -- Failures of the device's work --------------------------------------------------------------------------------- */

/* A reference, unless the last one was dropped already: such a stream waits for its release. */
static bool stream_retain_live(cj_stream *s)
{
    unsigned refs = atomic_load(&s->obj.refs);
    while (refs && !atomic_compare_exchange_weak(&s->obj.refs, &refs, refs + 1)) {}
    return refs != 0;
}

void cji_slot_fail(cji_release_queue *queue, const cji_slot *slot, const cj_error *why)
{
    cji_lock(&queue->lock, CJI_LOCK_QUEUE);
    cj_stream *s = slot->live && slot->owner && stream_retain_live(slot->owner) ? slot->owner : NULL;
    cji_unlock(&queue->lock, CJI_LOCK_QUEUE);
    if (!s) return;
    cji_stream_fail_with(s, why);
    cji_stream_drop(s);
}

/* The live stream of the device with the least serial above `after`, retained; NULL: there is none. */
static cj_stream *stream_next(cji_release_queue *queue, uint64_t after)
{
    cj_stream *next = NULL;
    cji_lock(&queue->lock, CJI_LOCK_QUEUE);
    for (;;) {
        next = NULL;
        for (const cji_slot *slot = queue->slots; slot; slot = slot->next) {
            cj_stream *s = slot->owner;
            if (s && s->obj.serial > after && (!next || s->obj.serial < next->obj.serial)) next = s;
        }
        if (!next || stream_retain_live(next)) break;
        after = next->obj.serial;
    }
    cji_unlock(&queue->lock, CJI_LOCK_QUEUE);
    return next;
}

void cji_streams_fail(cji_release_queue *queue, const cj_error *why)
{
    for (cj_stream *s = stream_next(queue, 0), *next; s; s = next) {
        cji_stream_fail_with(s, why);
        next = stream_next(queue, s->obj.serial);
        cji_stream_drop(s);
    }
}

/* -- What a stream is ---------------------------------------------------------------------------------------------- */

static bool stream_is_live(const cj_stream *s) { return cji_check_read(s, CJI_TAG_STREAM, "cj_stream") == CJ_OK; }

void *cj_stream_raw(const cj_stream *s)
{
    if (!stream_is_live(s)) return NULL;
    atomic_store(&s->dev->drv->exposed, true);
    return s->raw;
}
uint64_t cj_stream_id(const cj_stream *s) { return stream_is_live(s) ? s->id : 0; }
cj_device *cj_stream_device(const cj_stream *s) { return stream_is_live(s) ? s->dev : NULL; }
int cj_stream_priority(const cj_stream *s) { return stream_is_live(s) ? s->priority : 0; }
unsigned cj_stream_flags(const cj_stream *s) { return stream_is_live(s) ? s->flags : 0; }
