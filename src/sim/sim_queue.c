/* Works and operations: their edges, their order in streams, and their end. */
#include "sim/sim_core.h"
#include "sim/sim_capture.h"
#include "sim/sim_device.h"
#include "sim/sim_graph_exec.h"
#include "sim/sim_graph.h"
#include "sim/sim_module.h"
#include "sim/sim_queue.h"
#include "sim/sim_ipc.h"
#include "sim/sim_stream.h"

#include <stddef.h>
#include <string.h>

/* ---- Works ------------------------------------------------------------------------------------------------------- */

sim_work *cji_sim_work_new(sim_verb verb, sim_ctx *c, size_t extra)
{
    size_t size = sizeof(sim_work), with = offsetof(sim_work, launch.params) + extra;
    if (with > size) size = with;
    sim_work *w = cji_zalloc(size);
    if (!w) return NULL;
    w->refs = 1;
    w->verb = verb;
    w->ctx = c;
    w->size = size;
    return w;
}

sim_work *cji_sim_work_hold(sim_work *w)
{
    if (w) w->refs++;
    return w;
}

void cji_sim_work_drop(sim_work *w)
{
    if (!w || --w->refs) return;
    switch (w->verb) {
    case SIM_LAUNCH: if (w->launch.func) cji_sim_module_drop(w->launch.func->module); break;
    case SIM_COPY: if (w->copy.staged) cji_free(w->copy.staged, w->copy.staged_bytes); break;
    case SIM_RECORD:
    case SIM_WAIT: if (w->event) cji_sim_event_drop(w->event); break;
    case SIM_CHILD: if (w->child) cji_sim_graph_drop(w->child); break;
    case SIM_MEM_OPS:
        for (size_t i = 0; w->mem_ops.item && i < w->mem_ops.n; i++) cji_sim_work_drop(w->mem_ops.item[i]);
        if (w->mem_ops.item) cji_free(w->mem_ops.item, w->mem_ops.n * sizeof *w->mem_ops.item);
        if (w->mem_ops.raw) cji_free(w->mem_ops.raw, w->mem_ops.n * sizeof *w->mem_ops.raw);
        break;
    case SIM_GRAPH_ALLOC:
    case SIM_GRAPH_FREE: if (w->graph_mem.mem) cji_sim_graph_mem_drop(w->graph_mem.mem); break;
    case SIM_CONDITIONAL:
    case SIM_BRANCH: cji_sim_cond_free(w); break;
    case SIM_BEGIN:
        for (size_t i = 0; i < w->begin.n; i++) cji_sim_cond_drop(w->begin.cond[i]);
        if (w->begin.cond) cji_free(w->begin.cond, w->begin.n * sizeof *w->begin.cond);
        break;
    case SIM_IPC_WAIT: cji_sim_ipc_event_drop(w->ipc.event); break;
    default: break;
    }
    cji_free(w, w->size);
}

/* ---- Operations -------------------------------------------------------------------------------------------------- */

static int sim_level_of(const sim_stream *s, const sim_work *w)
{
    int priority = w && w->verb == SIM_LAUNCH && w->launch.has_priority ? w->launch.priority : s ? s->priority : 0;
    return SIM_PRIORITIES - 1 + priority;
}

sim_op *cji_sim_op_new(sim_ctx *c, sim_stream *s, sim_work *w)
{
    sim_op *op = cji_zalloc(sizeof *op);
    if (!op) return NULL;
    op->refs = 1;
    op->waits = 1;
    op->ctx = c;
    op->work = cji_sim_work_hold(w);
    op->level = sim_level_of(s, w);
    op->stream = s;
    if (s) s->refs++;
    return op;
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
    if (!cji_grow(&before->succ, &before->cap, before->nsucc + 1, sizeof *before->succ)) return CUDA_ERROR_OUT_OF_MEMORY;
    before->succ[before->nsucc++] = op;
    op->waits++;
    return CUDA_SUCCESS;
}

static bool sim_is_mark(const sim_op *op) { return !op->work || op->work->verb == SIM_MARK; }

/* Its predecessors are done. */
static void sim_op_begin(sim_op *op)
{
    if (sim_is_mark(op)) cji_sim_op_finish(op);
    else cji_sim_queue_ready(op);
}

void cji_sim_op_submit(sim_op *op)
{
    sim_ctx *c = op->ctx;
    op->refs++;   /* until it is done */
    op->seq = ++sim.next_seq;
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
        if (o->ipc) cji_sim_ipc_event_reach(o);
        sim.ended++;
        sim_op_unlink(o);
        for (size_t i = 0; i < o->nsucc; i++) {
            sim_op *s = o->succ[i];
            if (--s->waits) continue;
            if (sim_is_mark(s)) {
                s->next_ready = list;
                list = s;
            } else {
                cji_sim_queue_ready(s);
            }
        }
        cji_free(o->succ, o->cap * sizeof *o->succ);
        o->succ = NULL;
        o->nsucc = o->cap = 0;
        if (o->waiters || o->ctx->sync_waiters) pthread_cond_broadcast(&sim.done);
        sim_work *w = o->work;
        sim_stream *s = o->stream;
        sim_graph_exec *x = o->exec;
        sim_objects *objects = o->objects;
        sim_op *branch = o->branch;
        o->work = NULL;
        o->stream = NULL;
        o->exec = NULL;
        o->objects = NULL;
        o->branch = NULL;
        cji_sim_op_drop(o);
        cji_sim_work_drop(w);
        if (s) cji_sim_stream_drop(s);
        if (x) cji_sim_graph_exec_drop(x);
        cji_sim_objects_drop(objects);
        cji_sim_op_drop(branch);
    }
}

/* ---- Order in streams -------------------------------------------------------------------------------------------- */

/* The legacy stream joins all blocking streams, both ways; a non-blocking stream is ordered with itself only. */
CUresult cji_sim_op_after_stream(sim_op *op, sim_stream *s)
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

void cji_sim_stream_set_tail(sim_stream *s, sim_op *op)
{
    sim_op *old = s->tail;
    op->refs++;
    s->tail = op;
    cji_sim_op_drop(old);
}

CUresult cji_sim_stream_enqueue(sim_stream *s, sim_work *w, sim_op *extra, sim_op **out)
{
    sim_op *op = cji_sim_op_new(s->ctx, s, w);
    if (!op) return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult r = cji_sim_op_after_stream(op, s);
    if (!r) r = cji_sim_op_after(op, extra);
    if (r) {
        cji_sim_op_abandon(op);
        return r;
    }
    cji_sim_stream_set_tail(s, op);
    cji_sim_op_submit(op);
    if (out) *out = op;
    else cji_sim_op_drop(op);
    return CUDA_SUCCESS;
}

CUresult cji_sim_stream_submit(sim_stream *s, sim_work *w)
{
    if (s->capture) return cji_sim_capture_add(s, w);
    CUresult r = cji_sim_stream_enqueue(s, w, NULL, NULL);
    cji_sim_work_drop(w);
    if (!r) cji_sim_queue_balance(0);
    return r;
}

/* ---- Doing it ---------------------------------------------------------------------------------------------------- */

/* After a context's fault nothing runs in it any more, but callbacks of cuStreamAddCallback, which are told. */
void cji_sim_op_run(sim_op *op)
{
    const sim_work *w = op->work;
    CUresult fault = __atomic_load_n(&op->ctx->fault, __ATOMIC_RELAXED);
    bool exiting = atomic_load(&sim.exiting) != 0;
    if ((fault || exiting) && w->verb != SIM_CALLBACK && w->verb != SIM_FREE && w->verb != SIM_GRAPH_FREE) return;
    switch (w->verb) {
    case SIM_COPY: cji_sim_copy_run(op, w); break;
    case SIM_FILL: cji_sim_fill_run(op, w); break;
    case SIM_MEM_WAIT:
    case SIM_MEM_OPS:
    case SIM_MEM_WRITE: cji_sim_mem_op_run(op, w); break;
    case SIM_BEGIN: cji_sim_condition_reset(w); break;
    case SIM_GRAPH_ALLOC:
    case SIM_GRAPH_FREE: cji_sim_graph_mem_run(w); break;
    case SIM_HOST:
    case SIM_CALLBACK: if (!exiting) cji_sim_host_run(op, w); break;
    case SIM_FREE: cji_sim_free_run(op, w); break;
    case SIM_IPC_WAIT: cji_sim_ipc_event_run(op, w); break;
    default: break;
    }
}
