/* Events of whole contexts: a record after all streams, a wait before them. */
#include "sim/stream/sim_stream.h"

/* A capture of one of the context's streams cannot have it. */
static CUresult sim_ctx_uncaptured(sim_ctx *c)
{
    CUresult r = CUDA_SUCCESS;
    for (sim_stream *s = c->streams; s; s = s->next)
        if (s->capture) r = cji_sim_capture_rejects(s);
    return r;
}

static CUresult sim_ctx_record(sim_ctx *c, sim_event *e)
{
    sim_op *op = cji_sim_stream_op(c, NULL, NULL);
    CUresult r = op ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
    for (sim_stream *s = c->streams; s && !r; s = s->next) r = cji_sim_op_after(op, s->tail);
    if (r) {
        if (op) cji_sim_op_abandon(op);
        return r;
    }
    cji_sim_op_submit(op);
    r = cji_sim_event_set(e, op);
    cji_sim_op_drop(op);
    return r;
}

/* The context and the event that a call names. */
static CUresult sim_ctx_and_event(CUcontext h, CUevent he, sim_ctx **c, sim_event **e)
{
    CUresult r = cji_sim_ctx_for(h, c);
    return r ? r : cji_sim_event_get(he, e);
}

CUresult cji_sim_cuCtxRecordEvent(CUcontext h, CUevent he)
{
    sim_ctx *c;
    sim_event *e;
    sim_lock();
    CUresult r = sim_ctx_and_event(h, he, &c, &e);
    if (!r && e->ctx != c) r = CUDA_ERROR_INVALID_HANDLE;
    if (!r) r = sim_ctx_uncaptured(c);
    if (!r) r = sim_ctx_record(c, e);
    sim_unlock();
    return r;
}

/* What all streams of the context, later ones too, come after from now on. */
static CUresult sim_ctx_wait(sim_ctx *c, const sim_event *e)
{
    sim_op *own, *op;
    uint64_t foreign;
    sim_work *w = NULL;
    cji_sim_event_now(e, &own, &foreign);
    if (!own && !foreign) return CUDA_SUCCESS;
    CUresult r = foreign ? cji_sim_ipc_event_work(e, foreign, c, &w) : CUDA_SUCCESS;
    if (r) return r;
    op = cji_sim_stream_op(c, NULL, w);
    cji_sim_work_drop(w);
    if (!op) return CUDA_ERROR_OUT_OF_MEMORY;
    r = cji_sim_op_after(op, own);
    if (!r) r = cji_sim_op_after(op, c->begin_after);
    if (r) {
        cji_sim_op_abandon(op);
        return r;
    }
    sim_op *before = c->begin_after;
    op->refs++;
    c->begin_after = op;
    cji_sim_op_submit(op);
    for (sim_stream *s = c->streams; s && !r; s = s->next) r = cji_sim_stream_hold_next(s, op);
    cji_sim_op_drop(op);
    cji_sim_op_drop(before);
    return r;
}

CUresult cji_sim_cuCtxWaitEvent(CUcontext h, CUevent he)
{
    sim_ctx *c;
    sim_event *e;
    sim_lock();
    CUresult r = sim_ctx_and_event(h, he, &c, &e);
    if (!r) r = sim_ctx_uncaptured(c);
    sim_capture *k = !r && e->capture ? cji_sim_capture_by_id(e->capture) : NULL;
    if (k) k->invalid = true;
    if (k) r = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    if (!r) r = sim_ctx_wait(c, e);
    sim_unlock();
    return r;
}
