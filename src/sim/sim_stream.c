/* Streams: their handles, their attributes, query and synchronization. */
#include "sim/simcore.h"
#include "sim/sim_capture.h"
#include "sim/sim_device.h"
#include "sim/sim_memory.h"
#include "sim/sim_queue.h"
#include "sim/sim_stream.h"

/* ---- Life -------------------------------------------------------------------------------------------------------- */

sd_stream *cji_sd_stream_new(sd_ctx *c, unsigned flags, int priority)
{
    sd_stream *s = cji_zalloc(sizeof *s);
    if (!s) return NULL;
    s->ctx = c;
    s->refs = 1;
    s->id = ++sd.next_id;
    s->flags = flags;
    s->priority = priority > 0 ? 0 : priority < 1 - SD_PRIORITIES ? 1 - SD_PRIORITIES : priority;
    s->policy = CU_SYNC_POLICY_AUTO;
    s->next = c->streams;
    if (s->next) s->next->prev = s;
    c->streams = s;
    return s;
}

void cji_sd_stream_drop(sd_stream *s)
{
    if (!s || --s->refs) return;
    if (s->prev) s->prev->next = s->next;
    else s->ctx->streams = s->next;
    if (s->next) s->next->prev = s->prev;
    cji_sd_op_drop(s->tail);
    cji_sd_deps_free(&s->dep, &s->ndep, &s->dep_cap);
    cji_free(s, sizeof *s);
}

/* Its pending work goes on: the stream itself stays until that is done. */
void cji_sd_stream_forget(sd_stream *s)
{
    if (!s) return;
    cji_sd_handle_drop(s);
    cji_sd_capture_leave(s);
    cji_sd_stream_drop(s);
}

/* ---- Handles ----------------------------------------------------------------------------------------------------- */

static CUresult sd_stream_own(sd_ctx *c, sd_stream **out)
{
    sd_thread *t = cji_sd_thread();
    for (sd_stream *s = t->own; s; s = s->own_next)
        if (s->ctx == c) {
            *out = s;
            return CUDA_SUCCESS;
        }
    sd_stream *s = cji_sd_stream_new(c, CU_STREAM_DEFAULT, 0);
    if (!s) return CUDA_ERROR_OUT_OF_MEMORY;
    s->per_thread = true;
    s->own_next = t->own;
    *out = t->own = s;
    return CUDA_SUCCESS;
}

static CUresult sd_stream_any(CUstream h, sd_stream **out)
{
    if (h && h != CU_STREAM_LEGACY && h != CU_STREAM_PER_THREAD) {
        if (!cji_sd_handle_is(SD_STREAM, h)) return CUDA_ERROR_INVALID_HANDLE;
        *out = (sd_stream *)h;
        return CUDA_SUCCESS;
    }
    sd_ctx *c;
    CUresult r = cji_sd_ctx_any(&c);
    if (r) return r;
    if (h == CU_STREAM_PER_THREAD) return sd_stream_own(c, out);
    *out = c->legacy;
    return CUDA_SUCCESS;
}

CUresult cji_sd_stream(CUstream h, sd_stream **out)
{
    CUresult r = sd_stream_any(h, out);
    return r ? r : (*out)->ctx->fault;
}

/* An open capture that the legacy stream would join: one of a blocking stream of its context. */
static sd_capture *sd_capture_implied(const sd_ctx *c)
{
    for (sd_stream *s = c->streams; s; s = s->next)
        if (s->capture && !s->capture->invalid && !(s->flags & CU_STREAM_NON_BLOCKING)) return s->capture;
    return NULL;
}

static CUresult sd_legacy_check(const sd_stream *s)
{
    CUresult r = CUDA_SUCCESS;
    sd_capture *k;
    while (s->legacy && (k = sd_capture_implied(s->ctx))) {
        cji_sd_capture_invalidate(k);
        r = CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    }
    return r;
}

CUresult cji_sd_stream_for_work(CUstream h, sd_stream **out)
{
    CUresult r = cji_sd_stream(h, out);
    if (!r && (*out)->capture && (*out)->capture->invalid) r = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    if (!r && !(*out)->capture) r = sd_legacy_check(*out);
    return r;
}

CUresult cji_sd_cuStreamIsCapturing(CUstream h, CUstreamCaptureStatus *status)
{
    sd_stream *s;
    if (!status) return CUDA_ERROR_INVALID_VALUE;
    sd_lock();
    CUresult r = cji_sd_stream(h, &s);
    if (!r && s->legacy && sd_capture_implied(s->ctx)) r = CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    if (!r)
        *status = !s->capture ? CU_STREAM_CAPTURE_STATUS_NONE : s->capture->invalid ? CU_STREAM_CAPTURE_STATUS_INVALIDATED : CU_STREAM_CAPTURE_STATUS_ACTIVE;
    sd_unlock();
    return r;
}

/* ---- Create and destroy ------------------------------------------------------------------------------------------ */

CUresult cji_sd_cuStreamCreateWithPriority(CUstream *out, unsigned flags, int priority)
{
    sd_ctx *c;
    if (!out || flags & ~(unsigned)CU_STREAM_NON_BLOCKING) return CUDA_ERROR_INVALID_VALUE;
    sd_lock();
    CUresult r = cji_sd_ctx(&c);
    if (!r) {
        sd_stream *s = cji_sd_stream_new(c, flags, priority);
        if (!s || !cji_sd_handle_add(SD_STREAM, s)) {
            cji_sd_stream_drop(s);
            r = CUDA_ERROR_OUT_OF_MEMORY;
        } else {
            *out = (CUstream)s;
        }
    }
    sd_unlock();
    return r;
}

CUresult cji_sd_cuStreamCreate(CUstream *out, unsigned flags) { return cji_sd_cuStreamCreateWithPriority(out, flags, 0); }

CUresult cji_sd_cuStreamDestroy(CUstream h)
{
    sd_lock();
    CUresult r = CUDA_ERROR_INVALID_HANDLE;
    if (cji_sd_handle_is(SD_STREAM, h)) {
        r = ((sd_stream *)h)->ctx->fault;
        cji_sd_stream_forget((sd_stream *)h);
    }
    sd_unlock();
    return r;
}

/* ---- Query and synchronization ----------------------------------------------------------------------------------- */

/* Whether what the stream's next operation would come after is done. */
static bool sd_stream_idle(const sd_stream *s)
{
    if (s->tail && !s->tail->done) return false;
    if (!s->legacy) return true;
    for (sd_stream *t = s->ctx->streams; t; t = t->next)
        if (!(t->flags & CU_STREAM_NON_BLOCKING) && t->tail && !t->tail->done) return false;
    return true;
}

/* The stream for a query or a synchronization: not one that captures, and not while a capture forbids it. */
static CUresult sd_stream_to_ask(CUstream h, sd_stream **out)
{
    CUresult r = cji_sd_stream(h, out);
    if (!r && (*out)->capture) r = cji_sd_capture_refuses(*out);
    if (!r) r = sd_legacy_check(*out);
    if (!r) r = cji_sd_unsafe();
    return r;
}

CUresult cji_sd_cuStreamQuery(CUstream h)
{
    sd_stream *s;
    sd_lock();
    CUresult r = sd_stream_to_ask(h, &s);
    if (!r && !sd_stream_idle(s)) r = CUDA_ERROR_NOT_READY;
    sd_unlock();
    return r;
}

CUresult cji_sd_stream_sync(sd_stream *s)
{
    sd_ctx *c = s->ctx;
    CUresult r = CUDA_SUCCESS;
    s->refs++;
    if (s->legacy && !sd_stream_idle(s)) {   /* a mark behind everything that it joins */
        sd_op *mark;
        r = cji_sd_enqueue(s, NULL, NULL, &mark);
        if (!r) r = cji_sd_wait(mark);
        if (!r) cji_sd_op_drop(mark);
    } else {
        r = cji_sd_wait(s->tail);
    }
    cji_sd_stream_drop(s);
    cji_sd_pool_settle(c->dev);
    return r ? r : c->fault;
}

CUresult cji_sd_cuStreamSynchronize(CUstream h)
{
    sd_stream *s;
    sd_lock();
    CUresult r = sd_stream_any(h, &s);
    /* After a fault too what is pending comes to its end, without its work, before the fault is told. */
    if (!r && !s->ctx->fault) r = sd_stream_to_ask(h, &s);
    if (!r) r = cji_sd_stream_sync(s);
    sd_unlock();
    return r;
}

/* ---- What it is; a captured stream refuses these, and they end its capture --------------------------------------- */

static CUresult sd_stream_to_read(CUstream h, sd_stream **out)
{
    CUresult r = cji_sd_stream(h, out);
    if (!r && (*out)->capture) r = cji_sd_capture_refuses(*out);
    return r;
}

/* These two a capture allows, as measured, unless it is invalid. */
static CUresult sd_stream_to_tell(CUstream h, sd_stream **out)
{
    CUresult r = cji_sd_stream(h, out);
    return !r && (*out)->capture && (*out)->capture->invalid ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED : r;
}

CUresult cji_sd_cuStreamGetPriority(CUstream h, int *priority)
{
    sd_stream *s;
    if (!priority) return CUDA_ERROR_INVALID_VALUE;
    sd_lock();
    CUresult r = sd_stream_to_tell(h, &s);
    if (!r) *priority = s->priority;
    sd_unlock();
    return r;
}

CUresult cji_sd_cuStreamGetFlags(CUstream h, unsigned *flags)
{
    sd_stream *s;
    if (!flags) return CUDA_ERROR_INVALID_VALUE;
    sd_lock();
    CUresult r = sd_stream_to_read(h, &s);
    if (!r) *flags = s->flags;
    sd_unlock();
    return r;
}

CUresult cji_sd_cuStreamGetCtx(CUstream h, CUcontext *ctx)
{
    sd_stream *s;
    if (!ctx) return CUDA_ERROR_INVALID_VALUE;
    sd_lock();
    CUresult r = sd_stream_to_tell(h, &s);
    if (!r) *ctx = (CUcontext)s->ctx;
    sd_unlock();
    return r;
}

CUresult cji_sd_cuStreamGetId(CUstream h, unsigned long long *id)
{
    sd_stream *s;
    if (!id) return CUDA_ERROR_INVALID_VALUE;
    sd_lock();
    CUresult r = sd_stream_to_read(h, &s);
    if (!r) *id = s->id;
    sd_unlock();
    return r;
}

CUresult cji_sd_cuStreamGetDevice(CUstream h, CUdevice *device)
{
    sd_stream *s;
    if (!device) return CUDA_ERROR_INVALID_VALUE;
    sd_lock();
    CUresult r = sd_stream_to_read(h, &s);
    if (!r) *device = s->ctx->dev->ordinal;
    sd_unlock();
    return r;
}

/* ---- Attributes: of those that the ABI has, the two that mean something here are kept ---------------------------- */

CUresult cji_sd_cuStreamGetAttribute(CUstream h, CUstreamAttrID attribute, CUstreamAttrValue *value)
{
    sd_stream *s;
    if (!value) return CUDA_ERROR_INVALID_VALUE;
    sd_lock();
    CUresult r = sd_stream_to_read(h, &s);
    if (!r && attribute == CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY) value->syncPolicy = s->policy;
    else if (!r && attribute == CU_LAUNCH_ATTRIBUTE_PRIORITY) value->priority = s->priority;
    else if (!r) r = CUDA_ERROR_INVALID_VALUE;
    sd_unlock();
    return r;
}

CUresult cji_sd_cuStreamSetAttribute(CUstream h, CUstreamAttrID attribute, const CUstreamAttrValue *value)
{
    sd_stream *s;
    if (!value) return CUDA_ERROR_INVALID_VALUE;
    sd_lock();
    CUresult r = sd_stream_to_read(h, &s);
    if (!r && attribute == CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY && value->syncPolicy >= CU_SYNC_POLICY_AUTO
        && value->syncPolicy <= CU_SYNC_POLICY_BLOCKING_SYNC)
        s->policy = value->syncPolicy;
    else if (!r && attribute == CU_LAUNCH_ATTRIBUTE_PRIORITY && value->priority <= 0 && value->priority > -SD_PRIORITIES)
        s->priority = value->priority;
    else if (!r)
        r = CUDA_ERROR_INVALID_VALUE;
    sd_unlock();
    return r;
}

CUresult cji_sd_cuStreamCopyAttributes(CUstream to, CUstream from)
{
    sd_stream *a, *b;
    sd_lock();
    CUresult r = sd_stream_to_read(to, &a);
    if (!r) r = sd_stream_to_read(from, &b);
    if (!r) {
        a->policy = b->policy;
        a->priority = b->priority;
    }
    sd_unlock();
    return r;
}
