/* Order in streams: what an operation comes after, and how work comes into a stream. */
#include "sim/stream/sim_stream.h"

#include <stdio.h>

const sim_graph_hooks *sim_graphs;

sim_op *cji_sim_stream_op(sim_ctx *c, sim_stream *s, sim_work *w)
{
    int priority = s ? s->priority : 0;
    if (w && w->kind->level) priority = w->kind->level(w, priority);
    sim_op *op = cji_sim_op_new(c, w, SIM_PRIORITIES - 1 + priority);
    if (!op || !s) return op;
    op->stream = s;
    cji_sim_op_hold(op, &s->ref);
    return op;
}

/* The legacy stream joins all blocking streams, both ways; a non-blocking stream is ordered with itself only. */
CUresult cji_sim_stream_before(sim_op *op, sim_stream *s)
{
    CUresult r = cji_sim_op_after(op, s->tail);
    if (s->legacy) {
        for (sim_stream *t = s->ctx->streams; t && !r; t = t->next)
            if (t != s && !(t->flags & CU_STREAM_NON_BLOCKING)) r = cji_sim_op_after(op, t->tail);
    } else if (!r && !(s->flags & CU_STREAM_NON_BLOCKING)) {
        r = cji_sim_op_after(op, s->ctx->legacy->tail);
    }
    return r;
}

static void sim_set_op(sim_op **held, sim_op *op)
{
    sim_op *old = *held;
    op->refs++;
    *held = op;
    cji_sim_op_drop(old);
}

void cji_sim_stream_set_tail(sim_stream *s, sim_op *op)
{
    sim_set_op(&s->tail, op);
    sim_set_op(&s->last, op);
}

/* An operation behind everything that `s` orders before it and `extra`, not submitted yet. */
static CUresult sim_stream_op_after(sim_stream *s, sim_work *w, sim_op *extra, sim_op **out)
{
    sim_op *op = cji_sim_stream_op(s->ctx, s, w);
    if (!op) return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult r = cji_sim_stream_before(op, s);
    if (!r) r = cji_sim_op_after(op, extra);
    if (r) cji_sim_op_abandon(op);
    else *out = op;
    return r;
}

CUresult cji_sim_stream_hold_next(sim_stream *s, sim_op *extra)
{
    sim_op *op;
    CUresult r = sim_stream_op_after(s, NULL, extra, &op);
    if (r) return r;
    sim_set_op(&s->tail, op);
    cji_sim_op_submit(op);
    cji_sim_op_drop(op);
    return CUDA_SUCCESS;
}

CUresult cji_sim_stream_enqueue(sim_stream *s, sim_work *w, sim_op *extra, sim_op **out)
{
    sim_op *op;
    CUresult r = sim_stream_op_after(s, w, extra, &op);
    if (r) return r;
    cji_sim_stream_set_tail(s, op);
    cji_sim_op_submit(op);
    if (out) *out = op;
    else cji_sim_op_drop(op);
    return CUDA_SUCCESS;
}

CUresult cji_sim_stream_submit(sim_stream *s, sim_work *w)
{
    if (s->capture) return sim_graphs->add(s, w);
    CUresult r = cji_sim_stream_enqueue(s, w, NULL, NULL);
    cji_sim_work_drop(w);
    if (!r) cji_sim_queue_balance(0);
    return r;
}

CUresult cji_sim_stream_submit_and_wait(sim_stream *s, sim_work *w)
{
    sim_op *op;
    CUresult r = cji_sim_stream_enqueue(s, w, NULL, &op);
    cji_sim_work_drop(w);
    if (r) return r;
    sim_ctx *c = s->ctx;
    cji_sim_queue_balance(op->waits ? 0 : 1);
    r = cji_sim_queue_wait(op);
    cji_sim_op_drop(op);
    return r ? r : c->fault;
}

CUstream cji_sim_stream_handle(const sim_stream *s)
{
    return !s ? NULL : s->legacy ? CU_STREAM_LEGACY : s->per_thread ? CU_STREAM_PER_THREAD : (CUstream)s;
}

void cji_sim_op_fails(const sim_op *op, CUresult code, const char *sentence)
{
    cujit_sim_fault_info info = { .size = sizeof info,
                                  .code = (int)code,
                                  .kind = CUJIT_SIM_FAULT_WORK,
                                  .stream = cji_sim_stream_handle(op->stream) };
    snprintf(info.sentence, sizeof info.sentence, "%s", sentence);
    cji_sim_ctx_poison(op->ctx, &info);
}
