/* Streams: their handles, their attributes, query and synchronization. */
#include "sim/sim_core.h"
#include "sim/sim_capture.h"
#include "sim/sim_device.h"
#include "sim/sim_memory.h"
#include "sim/sim_queue.h"
#include "sim/sim_stream.h"

#include <stdio.h>

/* ---- Life -------------------------------------------------------------------------------------------------------- */

/* What a stream says of its synchronization until it is told, as measured on an H100. */
#define SIM_NO_POLICY ((CUsynchronizationPolicy)-1)

/* Clamped. */
static void sim_stream_prefer(sim_stream *s, int priority)
{
    s->priority = priority > 0 ? 0 : priority < 1 - SIM_PRIORITIES ? 1 - SIM_PRIORITIES : priority;
}

sim_stream *cji_sim_stream_new(sim_ctx *c, unsigned flags, int priority)
{
    sim_stream *s = cji_zalloc(sizeof *s);
    if (!s) return NULL;
    s->ctx = c;
    s->refs = 1;
    s->id = ++sim.next_id;
    s->flags = flags;
    sim_stream_prefer(s, priority);
    s->policy = SIM_NO_POLICY;
    s->domains.remote = 1;
    s->next = c->streams;
    if (s->next) s->next->prev = s;
    c->streams = s;
    return s;
}

void cji_sim_stream_drop(sim_stream *s)
{
    if (!s || --s->refs) return;
    if (s->prev) s->prev->next = s->next;
    else s->ctx->streams = s->next;
    if (s->next) s->next->prev = s->prev;
    cji_sim_op_drop(s->tail);
    cji_sim_deps_free(&s->dep, &s->ndep, &s->dep_cap);
    cji_free(s, sizeof *s);
}

/* Its pending work goes on: the stream itself stays until that is done. */
void cji_sim_stream_forget(sim_stream *s)
{
    if (!s) return;
    cji_sim_handle_drop(s);
    cji_sim_capture_leave(s);
    cji_sim_stream_drop(s);
}

/* ---- Handles ----------------------------------------------------------------------------------------------------- */

static CUresult sim_stream_own(sim_ctx *c, sim_stream **out)
{
    sim_thread *t = cji_sim_thread();
    for (sim_stream *s = t->own; s; s = s->own_next)
        if (s->ctx == c) {
            *out = s;
            return CUDA_SUCCESS;
        }
    sim_stream *s = cji_sim_stream_new(c, CU_STREAM_DEFAULT, 0);
    if (!s) return CUDA_ERROR_OUT_OF_MEMORY;
    s->per_thread = true;
    s->own_next = t->own;
    *out = t->own = s;
    return CUDA_SUCCESS;
}

static CUresult sim_stream_any(CUstream h, sim_stream **out)
{
    if (h && h != CU_STREAM_LEGACY && h != CU_STREAM_PER_THREAD) {
        if (!cji_sim_handle_is(SIM_STREAM, h)) return CUDA_ERROR_INVALID_HANDLE;
        *out = (sim_stream *)h;
        return CUDA_SUCCESS;
    }
    sim_ctx *c;
    CUresult r = cji_sim_ctx_current_any(&c);
    if (r) return r;
    if (h == CU_STREAM_PER_THREAD) return sim_stream_own(c, out);
    *out = c->legacy;
    return CUDA_SUCCESS;
}

CUresult cji_sim_stream_get(CUstream h, sim_stream **out)
{
    CUresult r = sim_stream_any(h, out);
    return r ? r : (*out)->ctx->fault;
}

/* Whether there is a capture that the legacy stream would join: one of a blocking stream of its context, be it invalid, until its end. */
static bool sim_capture_implied(const sim_ctx *c)
{
    for (sim_stream *s = c->streams; s; s = s->next)
        if (s->capture && !(s->flags & CU_STREAM_NON_BLOCKING)) return true;
    return false;
}

static CUresult sim_implicit(sim_ctx *c)
{
    for (sim_stream *s = c->streams; s; s = s->next)
        if (s->capture && !(s->flags & CU_STREAM_NON_BLOCKING)) cji_sim_capture_invalidate(s->capture);
    return sim_capture_implied(c) ? CUDA_ERROR_STREAM_CAPTURE_IMPLICIT : CUDA_SUCCESS;
}

static CUresult sim_legacy_check(const sim_stream *s) { return s->legacy ? sim_implicit(s->ctx) : CUDA_SUCCESS; }

CUresult cji_sim_stream_to_capture(CUstream h, sim_stream **out)
{
    CUresult r = cji_sim_stream_get(h, out);
    return r ? r : sim_legacy_check(*out);
}

CUresult cji_sim_stream_for_work(CUstream h, sim_stream **out)
{
    CUresult r = cji_sim_stream_get(h, out);
    if (!r && (*out)->capture && (*out)->capture->invalid) r = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    if (!r && !(*out)->capture) r = sim_legacy_check(*out);
    return r;
}

CUresult cji_sim_cuStreamIsCapturing(CUstream h, CUstreamCaptureStatus *status)
{
    sim_stream *s;
    if (!status) return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    CUresult r = cji_sim_stream_get(h, &s);
    if (!r && s->legacy && sim_capture_implied(s->ctx)) r = CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    if (!r)
        *status = !s->capture ? CU_STREAM_CAPTURE_STATUS_NONE : s->capture->invalid ? CU_STREAM_CAPTURE_STATUS_INVALIDATED : CU_STREAM_CAPTURE_STATUS_ACTIVE;
    sim_unlock();
    return r;
}

CUstream cji_sim_stream_handle(const sim_stream *s) { return !s ? NULL : s->legacy ? CU_STREAM_LEGACY : s->per_thread ? CU_STREAM_PER_THREAD : (CUstream)s; }

void cji_sim_op_fails(const sim_op *op, CUresult code, const char *sentence)
{
    cujit_sim_fault_info info = { .size = sizeof info, .code = (int)code, .kind = CUJIT_SIM_FAULT_WORK, .stream = cji_sim_stream_handle(op->stream) };
    snprintf(info.sentence, sizeof info.sentence, "%s", sentence);
    cji_sim_ctx_poison(op->ctx, &info);
}

/* ---- Create and destroy ------------------------------------------------------------------------------------------ */

CUresult cji_sim_cuStreamCreateWithPriority(CUstream *out, unsigned flags, int priority)
{
    sim_ctx *c;
    if (!out || flags & ~(unsigned)CU_STREAM_NON_BLOCKING) return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    CUresult r = cji_sim_ctx_current(&c);
    if (!r) {
        sim_stream *s = cji_sim_stream_new(c, flags, priority);
        if (!s || !cji_sim_handle_add(SIM_STREAM, s)) {
            cji_sim_stream_drop(s);
            r = CUDA_ERROR_OUT_OF_MEMORY;
        } else {
            *out = (CUstream)s;
        }
    }
    sim_unlock();
    return r;
}

CUresult cji_sim_cuStreamCreate(CUstream *out, unsigned flags) { return cji_sim_cuStreamCreateWithPriority(out, flags, 0); }

CUresult cji_sim_cuStreamDestroy(CUstream h)
{
    sim_lock();
    CUresult r = CUDA_ERROR_INVALID_HANDLE;
    if (cji_sim_handle_is(SIM_STREAM, h)) {
        r = ((sim_stream *)h)->ctx->fault;
        cji_sim_stream_forget((sim_stream *)h);
    }
    sim_unlock();
    return r;
}

/* ---- Query and synchronization ----------------------------------------------------------------------------------- */

/* Whether what the stream's next operation would come after is done. */
static bool sim_stream_idle(const sim_stream *s)
{
    if (s->tail && !s->tail->done) return false;
    if (!s->legacy) return true;
    for (sim_stream *t = s->ctx->streams; t; t = t->next)
        if (!(t->flags & CU_STREAM_NON_BLOCKING) && t->tail && !t->tail->done) return false;
    return true;
}

/* The stream for a query or a synchronization: not one that captures, and not while a capture forbids it. */
static CUresult sim_stream_to_query(CUstream h, sim_stream **out)
{
    CUresult r = cji_sim_stream_get(h, out);
    if (!r && (*out)->capture) r = cji_sim_capture_refuses(*out);
    if (!r) r = sim_legacy_check(*out);
    if (!r) r = cji_sim_capture_unsafe();
    return r;
}

CUresult cji_sim_cuStreamQuery(CUstream h)
{
    sim_stream *s;
    sim_lock();
    CUresult r = sim_stream_to_query(h, &s);
    if (!r && !sim_stream_idle(s)) r = CUDA_ERROR_NOT_READY;
    sim_unlock();
    return r;
}

CUresult cji_sim_stream_sync(sim_stream *s)
{
    sim_ctx *c = s->ctx;
    CUresult r = CUDA_SUCCESS;
    s->refs++;
    if (s->legacy && !sim_stream_idle(s)) {   /* a mark behind everything that it joins */
        sim_op *mark;
        r = cji_sim_stream_enqueue(s, NULL, NULL, &mark);
        if (!r) r = cji_sim_queue_wait(mark);
        if (!r) cji_sim_op_drop(mark);
    } else {
        r = cji_sim_queue_wait(s->tail);
    }
    cji_sim_stream_drop(s);
    cji_sim_pool_settle(c->dev);
    return r ? r : c->fault;
}

CUresult cji_sim_cuStreamSynchronize(CUstream h)
{
    sim_stream *s;
    sim_lock();
    CUresult r = sim_stream_any(h, &s);
    /* After a fault too what is pending comes to its end, without its work, before the fault is told. */
    if (!r && !s->ctx->fault) r = sim_stream_to_query(h, &s);
    if (!r) r = cji_sim_stream_sync(s);
    sim_unlock();
    return r;
}

/* ---- What it is; a captured stream refuses these, and they end its capture --------------------------------------- */

static CUresult sim_stream_to_read(CUstream h, sim_stream **out)
{
    CUresult r = cji_sim_stream_to_capture(h, out);
    if (!r && (*out)->capture) r = cji_sim_capture_refuses(*out);
    return r;
}

/* Priority, context and attributes a capture allows, as measured, unless it is invalid. */
static CUresult sim_stream_to_get(CUstream h, sim_stream **out)
{
    CUresult r = cji_sim_stream_to_capture(h, out);
    return !r && (*out)->capture && (*out)->capture->invalid ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED : r;
}

CUresult cji_sim_cuStreamGetPriority(CUstream h, int *priority)
{
    sim_stream *s;
    if (!priority) return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    CUresult r = sim_stream_to_get(h, &s);
    if (!r) *priority = s->priority;
    sim_unlock();
    return r;
}

CUresult cji_sim_cuStreamGetFlags(CUstream h, unsigned *flags)
{
    sim_stream *s;
    if (!flags) return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    CUresult r = sim_stream_to_read(h, &s);
    if (!r) *flags = s->flags;
    sim_unlock();
    return r;
}

CUresult cji_sim_cuStreamGetCtx(CUstream h, CUcontext *ctx)
{
    sim_stream *s;
    if (!ctx) return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    CUresult r = sim_stream_to_get(h, &s);
    if (!r) *ctx = (CUcontext)s->ctx;
    sim_unlock();
    return r;
}

CUresult cji_sim_cuStreamGetId(CUstream h, unsigned long long *id)
{
    sim_stream *s;
    if (!id) return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    CUresult r = sim_stream_to_read(h, &s);
    if (!r) *id = s->id;
    sim_unlock();
    return r;
}

CUresult cji_sim_cuStreamGetDevice(CUstream h, CUdevice *device)
{
    sim_stream *s;
    if (!device) return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    CUresult r = sim_stream_to_read(h, &s);
    if (!r) *device = s->ctx->dev->ordinal;
    sim_unlock();
    return r;
}

/* ---- Attributes -------------------------------------------------------------------------------------------------- */

/* Those that mean nothing here are kept all the same, as a GPU does. */
static CUresult sim_stream_attribute(const sim_stream *s, CUstreamAttrID attribute, CUstreamAttrValue *value)
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

static CUresult sim_stream_attribute_set(sim_stream *s, CUstreamAttrID attribute, const CUstreamAttrValue *value)
{
    int domains = cji_sim_limit(CU_DEVICE_ATTRIBUTE_MEM_SYNC_DOMAIN_COUNT);
    switch (attribute) {
    case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW: s->window = value->accessPolicyWindow; break;
    case CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY:
        if (value->syncPolicy < CU_SYNC_POLICY_AUTO || value->syncPolicy > CU_SYNC_POLICY_BLOCKING_SYNC) return CUDA_ERROR_INVALID_VALUE;
        s->policy = value->syncPolicy;
        break;
    case CU_LAUNCH_ATTRIBUTE_PRIORITY: sim_stream_prefer(s, value->priority); break;
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

CUresult cji_sim_cuStreamGetAttribute(CUstream h, CUstreamAttrID attribute, CUstreamAttrValue *value)
{
    sim_stream *s;
    if (!value) return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    CUresult r = sim_stream_to_get(h, &s);
    if (!r) r = sim_stream_attribute(s, attribute, value);
    sim_unlock();
    return r;
}

CUresult cji_sim_cuStreamSetAttribute(CUstream h, CUstreamAttrID attribute, const CUstreamAttrValue *value)
{
    sim_stream *s;
    if (!value) return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    CUresult r = sim_stream_to_get(h, &s);
    if (!r) r = sim_stream_attribute_set(s, attribute, value);
    sim_unlock();
    return r;
}

CUresult cji_sim_cuStreamCopyAttributes(CUstream to, CUstream from)
{
    sim_stream *a, *b;
    sim_lock();
    CUresult r = sim_stream_to_get(to, &a);
    if (!r) r = sim_stream_to_get(from, &b);
    if (!r) {
        a->window = b->window;
        a->policy = b->policy;
        a->domains = b->domains;
        a->domain = b->domain;
        sim_stream_prefer(a, b->priority);
    }
    sim_unlock();
    return r;
}
