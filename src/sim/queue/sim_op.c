/* Operations: their edges, and their end. */
#include "sim/queue/sim_queue.h"

sim_op *cji_sim_op_new(sim_ctx *c, sim_work *w, int level)
{
    sim_op *op = cji_zalloc(sizeof *op);
    if (!op) return NULL;
    op->refs = 1;
    op->waits = 1;
    op->ctx = c;
    op->work = cji_sim_work_hold(w);
    op->level = level;
    return op;
}

void cji_sim_op_hold(sim_op *op, sim_ref *r)
{
    size_t i = 0;
    if (!r) return;
    while (op->held[i]) i++;
    op->held[i] = r;
    r->refs++;
}

void cji_sim_op_drop(sim_op *op)
{
    if (!op || --op->refs) return;
    cji_sim_work_drop(op->work);
    cji_free(op->succ, op->cap * sizeof *op->succ);
    cji_free(op, sizeof *op);
}

CUresult cji_sim_op_after(sim_op *op, sim_op *before)
{
    if (!before || before->done || before == op) return CUDA_SUCCESS;
    if (!cji_grow(&before->succ, &before->cap, before->nsucc + 1, sizeof *before->succ))
        return CUDA_ERROR_OUT_OF_MEMORY;
    before->succ[before->nsucc++] = op;
    op->waits++;
    return CUDA_SUCCESS;
}

/* Its predecessors are done. */
static void sim_op_begin(sim_op *op)
{
    if (!op->work) cji_sim_op_finish(op);
    else cji_sim_serial_ready(op);
}

void cji_sim_op_submit(sim_op *op)
{
    sim_ctx *c = op->ctx;
    op->refs++;   /* until it is done */
    op->seq = ++sim_queue.next_seq;
    op->prev = c->last;
    if (c->last) c->last->next = op;
    else c->first = op;
    c->last = op;
    if (--op->waits == 0) sim_op_begin(op);
}

void cji_sim_op_abandon(sim_op *op)
{
    cji_sim_work_drop(op->work);
    op->work = NULL;
    cji_sim_op_submit(op);
    cji_sim_op_drop(op);
}

static void sim_op_unlink(sim_op *op)
{
    sim_ctx *c = op->ctx;
    if (op->prev) op->prev->next = op->next;
    else c->first = op->next;
    if (op->next) op->next->prev = op->prev;
    else c->last = op->prev;
    op->next = op->prev = NULL;
}

/* A done one: what it held. */
static void sim_op_release(sim_op *op)
{
    sim_work *w = op->work;
    sim_ref *held[SIM_OP_HELD];
    for (size_t i = 0; i < SIM_OP_HELD; i++) {
        held[i] = op->held[i];
        op->held[i] = NULL;
    }
    op->work = NULL;
    op->stream = NULL;
    cji_sim_op_drop(op);
    cji_sim_work_drop(w);
    for (size_t i = 0; i < SIM_OP_HELD; i++) cji_sim_ref_drop(held[i]);
}

void cji_sim_op_finish(sim_op *op)
{
    uint64_t now = cji_now();
    sim_op *list = op;   /* marks that end with it, through next_ready */
    op->next_ready = NULL;
    while (list) {
        sim_op *o = list;
        list = o->next_ready;
        o->next_ready = NULL;
        o->done = true;
        o->when = now;
        if (o->reached) o->reached(o);
        sim_queue.ended++;
        sim_op_unlink(o);
        for (size_t i = 0; i < o->nsucc; i++) {
            sim_op *s = o->succ[i];
            if (--s->waits) continue;
            if (!s->work) {
                s->next_ready = list;
                list = s;
            } else {
                cji_sim_serial_ready(s);
            }
        }
        cji_free(o->succ, o->cap * sizeof *o->succ);
        o->succ = NULL;
        o->nsucc = o->cap = 0;
        if (o->waiters || o->ctx->sync_waiters) pthread_cond_broadcast(&sim_queue.done);
        sim_op_release(o);
    }
}

/* ---- All of them ------------------------------------------------------------------------------------------------- */

static sim_ctx *sim_ctx_after(const sim_ctx *c)
{
    sim_ctx *next = !c ? (sim.set.devices ? &sim.device[0]->primary : NULL) : c->primary ? c->dev->contexts : c->next;
    if (next || !c) return next;
    unsigned d = (unsigned)c->dev->ordinal + 1;
    return d < sim.set.devices ? &sim.device[d]->primary : NULL;
}

sim_op *cji_sim_op_after_all(const sim_op *op)
{
    if (op && op->next) return op->next;
    for (sim_ctx *c = sim_ctx_after(op ? op->ctx : NULL); c; c = sim_ctx_after(c))
        if (c->first) return c->first;
    return NULL;
}

void cji_sim_op_cut_all(void)
{
    for (sim_op *op = NULL; (op = cji_sim_op_after_all(op)) != NULL;) op->nsucc = 0;
}

void cji_sim_op_abort_all(sim_ctx *c)
{
    while (c->first) {
        sim_op *op = c->first;
        if (op->listed) cji_sim_ready_remove(op);
        if (op->queued) cji_sim_serial_unqueue(op);
        if (op->open) op->work->kind->close(op);
        op->open = false;
        op->waits = 0;
        cji_sim_op_finish(op);
    }
}
