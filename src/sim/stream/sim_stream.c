/* Streams: their handles, their attributes, query and synchronization. */
#include "sim/stream/sim_stream.h"

/* ---- Life -------------------------------------------------------------------------------------------------------- */

/* A stream's synchronization policy until it is set, as measured on an H100. */
#define SIM_NO_POLICY ((CUsynchronizationPolicy)-1)

void cji_sim_stream_prefer(sim_stream *s, int priority)
{
    s->priority = priority > 0 ? 0 : priority < 1 - SIM_PRIORITIES ? 1 - SIM_PRIORITIES : priority;
}

static void sim_stream_free(sim_ref *r)
{
    sim_stream *s = (sim_stream *)r;
    if (s->prev) s->prev->next = s->next;
    else s->ctx->streams = s->next;
    if (s->next) s->next->prev = s->prev;
    cji_sim_op_drop(s->tail);
    cji_sim_op_drop(s->last);
    cji_sim_deps_free(&s->dep, &s->ndep, &s->dep_cap);
    cji_free(s, sizeof *s);
}

sim_stream *cji_sim_stream_new(sim_ctx *c, unsigned flags, int priority)
{
    sim_stream *s = cji_zalloc(sizeof *s);
    if (!s) return NULL;
    s->ref = (sim_ref){ 1, sim_stream_free };
    s->ctx = c;
    s->id = ++sim.next_id;
    s->flags = flags;
    cji_sim_stream_prefer(s, priority);
    s->policy = SIM_NO_POLICY;
    s->domains.remote = 1;
    s->next = c->streams;
    if (s->next) s->next->prev = s;
    c->streams = s;
    if (c->begin_after) c->begin_after->refs++;
    s->tail = c->begin_after;
    return s;
}

void cji_sim_stream_drop(sim_stream *s)
{
    if (s) cji_sim_ref_drop(&s->ref);
}

/* Its pending work continues: the stream itself stays until that is done. */
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
    if (h == CU_STREAM_PER_THREAD || (!h && cji_sim_thread()->own_default)) return sim_stream_own(c, out);
    *out = c->legacy;
    return CUDA_SUCCESS;
}

CUresult cji_sim_stream_get(CUstream h, sim_stream **out)
{
    CUresult r = sim_stream_any(h, out);
    return r ? r : (*out)->ctx->fault;
}

/* Whether there is a capture that the legacy stream would join: one of a blocking stream of its context, be it
 * invalid, until its end. */
static bool sim_capture_implied(const sim_ctx *c)
{
    for (sim_stream *s = c->streams; s; s = s->next)
        if (s->capture && !(s->flags & CU_STREAM_NON_BLOCKING)) return true;
    return false;
}

static CUresult sim_implicit(sim_ctx *c)
{
    for (sim_stream *s = c->streams; s; s = s->next)
        if (s->capture && !(s->flags & CU_STREAM_NON_BLOCKING)) s->capture->invalid = true;
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
        *status = !s->capture            ? CU_STREAM_CAPTURE_STATUS_NONE
                  : s->capture->invalid ? CU_STREAM_CAPTURE_STATUS_INVALIDATED
                                        : CU_STREAM_CAPTURE_STATUS_ACTIVE;
    sim_unlock();
    return r;
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

CUresult cji_sim_cuStreamCreate(CUstream *out, unsigned flags)
{
    return cji_sim_cuStreamCreateWithPriority(out, flags, 0);
}

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
    if (s->last && !s->last->done) return false;
    if (!s->legacy) return true;
    for (sim_stream *t = s->ctx->streams; t; t = t->next)
        if (!(t->flags & CU_STREAM_NON_BLOCKING) && t->last && !t->last->done) return false;
    return true;
}

/* The stream for a query or a synchronization: not one that captures, and not while a capture forbids it. */
static CUresult sim_stream_to_query(CUstream h, sim_stream **out)
{
    CUresult r = cji_sim_stream_get(h, out);
    if (!r && (*out)->capture) r = cji_sim_capture_rejects(*out);
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
    s->ref.refs++;
    if (s->legacy && !sim_stream_idle(s)) {   /* a mark behind everything that it joins */
        sim_op *mark;
        r = cji_sim_stream_enqueue(s, NULL, NULL, &mark);
        if (!r) r = cji_sim_queue_wait(mark);
        if (!r) cji_sim_op_drop(mark);
    } else {
        r = cji_sim_queue_wait(s->last);
    }
    cji_sim_stream_drop(s);
    cji_sim_rooms_synchronised(c->dev);
    return r ? r : c->fault;
}

CUresult cji_sim_cuStreamSynchronize(CUstream h)
{
    sim_stream *s;
    sim_lock();
    CUresult r = sim_stream_any(h, &s);
    /* After a fault too what is pending comes to its end, without its work, before the fault is returned. */
    if (!r && !s->ctx->fault) r = sim_stream_to_query(h, &s);
    if (!r) r = cji_sim_stream_sync(s);
    sim_unlock();
    return r;
}

static CUresult sim_ctx_sync(sim_ctx *c)
{
    CUresult r = cji_sim_capture_unsafe_ctx(c);
    if (r) return r;
    cji_sim_queue_wait_ctx(c);
    cji_sim_rooms_synchronised(c->dev);
    return atomic_load(&sim.exiting) ? CUDA_ERROR_DEINITIALIZED : c->fault;
}

CUresult cji_sim_cuCtxSynchronize(void)
{
    sim_ctx *c;
    sim_lock();
    CUresult r = cji_sim_ctx_current_any(&c);
    if (!r) r = sim_ctx_sync(c);
    sim_unlock();
    return r;
}

CUresult cji_sim_cuCtxSynchronize_v2(CUcontext h)
{
    sim_ctx *c;
    sim_lock();
    CUresult r = cji_sim_ctx_named(h, &c);
    if (!r) r = sim_ctx_sync(c);
    sim_unlock();
    return r;
}

/* ---- What it is; a captured stream rejects these, and they end its capture -------------------------------------- */

static CUresult sim_stream_to_read(CUstream h, sim_stream **out)
{
    CUresult r = cji_sim_stream_to_capture(h, out);
    if (!r && (*out)->capture) r = cji_sim_capture_rejects(*out);
    return r;
}

/* Priority, context and attributes a capture allows, as measured, unless it is invalid. */
CUresult cji_sim_stream_to_get(CUstream h, sim_stream **out)
{
    CUresult r = cji_sim_stream_to_capture(h, out);
    return !r && (*out)->capture && (*out)->capture->invalid ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED : r;
}

CUresult cji_sim_cuStreamGetPriority(CUstream h, int *priority)
{
    sim_stream *s;
    if (!priority) return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    CUresult r = cji_sim_stream_to_get(h, &s);
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
    CUresult r = cji_sim_stream_to_get(h, &s);
    if (!r) *ctx = (CUcontext)s->ctx;
    sim_unlock();
    return r;
}

/* There are no green contexts. */
CUresult cji_sim_cuStreamGetCtx_v2(CUstream h, CUcontext *ctx, CUgreenCtx *green)
{
    CUresult r = cji_sim_cuStreamGetCtx(h, ctx);
    if (!r && green) *green = NULL;
    return r;
}

CUresult cji_sim_cuStreamGetGreenCtx(CUstream h, CUgreenCtx *green)
{
    CUcontext ctx;
    return green ? cji_sim_cuStreamGetCtx_v2(h, &ctx, green) : CUDA_ERROR_INVALID_VALUE;
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
