/* Streams: their handles, their attributes, query and synchronization. */
#include "sim/simcore.h"
#include "sim/sim_capture.h"
#include "sim/sim_device.h"
#include "sim/sim_memory.h"
#include "sim/sim_queue.h"
#include "sim/sim_stream.h"

/* ---- Life -------------------------------------------------------------------------------------------------------- */

/* What a stream says of its synchronization until it is told, as measured on an H100. */
#define SD_NO_POLICY ((CUsynchronizationPolicy)-1)

/* Clamped. */
static void sd_stream_prefer(sd_stream *s, int priority)
{
    s->priority = priority > 0 ? 0 : priority < 1 - SD_PRIORITIES ? 1 - SD_PRIORITIES : priority;
}

sd_stream *cji_sd_stream_new(sd_ctx *c, unsigned flags, int priority)
{
    sd_stream *s = cji_zalloc(sizeof *s);
    if (!s) return NULL;
    s->ctx = c;
    s->refs = 1;
    s->id = ++sd.next_id;
    s->flags = flags;
    sd_stream_prefer(s, priority);
    s->policy = SD_NO_POLICY;
    s->domains.remote = 1;
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

/* Whether there is a capture that the legacy stream would join: one of a blocking stream of its context, be it invalid, until its end. */
static bool sd_capture_implied(const sd_ctx *c)
{
    for (sd_stream *s = c->streams; s; s = s->next)
        if (s->capture && !(s->flags & CU_STREAM_NON_BLOCKING)) return true;
    return false;
}

static CUresult sd_implicit(sd_ctx *c)
{
    for (sd_stream *s = c->streams; s; s = s->next)
        if (s->capture && !(s->flags & CU_STREAM_NON_BLOCKING)) cji_sd_capture_invalidate(s->capture);
    return sd_capture_implied(c) ? CUDA_ERROR_STREAM_CAPTURE_IMPLICIT : CUDA_SUCCESS;
}

static CUresult sd_legacy_check(const sd_stream *s) { return s->legacy ? sd_implicit(s->ctx) : CUDA_SUCCESS; }

CUresult cji_sd_stream_to_capture(CUstream h, sd_stream **out)
{
    CUresult r = cji_sd_stream(h, out);
    return r ? r : sd_legacy_check(*out);
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
    CUresult r = cji_sd_stream_to_capture(h, out);
    if (!r && (*out)->capture) r = cji_sd_capture_refuses(*out);
    return r;
}

/* Priority, context and attributes a capture allows, as measured, unless it is invalid. */
static CUresult sd_stream_to_tell(CUstream h, sd_stream **out)
{
    CUresult r = cji_sd_stream_to_capture(h, out);
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

/* ---- Attributes -------------------------------------------------------------------------------------------------- */

/* Those that mean nothing here are kept all the same, as a GPU does. */
static CUresult sd_stream_attribute(const sd_stream *s, CUstreamAttrID attribute, CUstreamAttrValue *value)
{
    switch (attribute) {
    case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW: value->accessPolicyWindow = s->window; break;
    case CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY: value->syncPolicy = s->policy; break;
    case CU_LAUNCH_ATTRIBUTE_PRIORITY: value->priority = s->priority; break;
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP: value->memSyncDomainMap = s->domains; break;
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN: value->memSyncDomain = s->domain; break;
    default: return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
}

static CUresult sd_stream_attribute_set(sd_stream *s, CUstreamAttrID attribute, const CUstreamAttrValue *value)
{
    int domains = cji_sd_limit(CU_DEVICE_ATTRIBUTE_MEM_SYNC_DOMAIN_COUNT);
    switch (attribute) {
    case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW: s->window = value->accessPolicyWindow; break;
    case CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY:
        if (value->syncPolicy < CU_SYNC_POLICY_AUTO || value->syncPolicy > CU_SYNC_POLICY_BLOCKING_SYNC) return CUDA_ERROR_INVALID_VALUE;
        s->policy = value->syncPolicy;
        break;
    case CU_LAUNCH_ATTRIBUTE_PRIORITY: sd_stream_prefer(s, value->priority); break;
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
        if (value->memSyncDomainMap.default_ >= domains || value->memSyncDomainMap.remote >= domains) return CUDA_ERROR_INVALID_VALUE;
        s->domains = value->memSyncDomainMap;
        break;
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
        if ((unsigned)value->memSyncDomain > CU_LAUNCH_MEM_SYNC_DOMAIN_REMOTE) return CUDA_ERROR_INVALID_VALUE;
        s->domain = value->memSyncDomain;
        break;
    default: return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
}

CUresult cji_sd_cuStreamGetAttribute(CUstream h, CUstreamAttrID attribute, CUstreamAttrValue *value)
{
    sd_stream *s;
    if (!value) return CUDA_ERROR_INVALID_VALUE;
    sd_lock();
    CUresult r = sd_stream_to_tell(h, &s);
    if (!r) r = sd_stream_attribute(s, attribute, value);
    sd_unlock();
    return r;
}

CUresult cji_sd_cuStreamSetAttribute(CUstream h, CUstreamAttrID attribute, const CUstreamAttrValue *value)
{
    sd_stream *s;
    if (!value) return CUDA_ERROR_INVALID_VALUE;
    sd_lock();
    CUresult r = sd_stream_to_tell(h, &s);
    if (!r) r = sd_stream_attribute_set(s, attribute, value);
    sd_unlock();
    return r;
}

CUresult cji_sd_cuStreamCopyAttributes(CUstream to, CUstream from)
{
    sd_stream *a, *b;
    sd_lock();
    CUresult r = sd_stream_to_tell(to, &a);
    if (!r) r = sd_stream_to_tell(from, &b);
    if (!r) {
        a->window = b->window;
        a->policy = b->policy;
        a->domains = b->domains;
        a->domain = b->domain;
        sd_stream_prefer(a, b->priority);
    }
    sd_unlock();
    return r;
}
