/* Works and operations: their edges, their order in streams, and their end. */
#include "sim/simcore.h"
#include "sim/sim_capture.h"
#include "sim/sim_device.h"
#include "sim/sim_exec.h"
#include "sim/sim_graph.h"
#include "sim/sim_module.h"
#include "sim/sim_queue.h"
#include "sim/sim_shared.h"
#include "sim/sim_stream.h"

#include <stddef.h>
#include <string.h>

/* ---- Works ------------------------------------------------------------------------------------------------------- */

sd_work *cji_sd_work_new(sd_verb verb, sd_ctx *c, size_t extra)
{
    size_t size = sizeof(sd_work), with = offsetof(sd_work, launch.params) + extra;
    if (with > size) size = with;
    sd_work *w = cji_zalloc(size);
    if (!w) return NULL;
    w->refs = 1;
    w->verb = verb;
    w->ctx = c;
    w->size = size;
    return w;
}

sd_work *cji_sd_work_hold(sd_work *w)
{
    if (w) w->refs++;
    return w;
}

void cji_sd_work_drop(sd_work *w)
{
    if (!w || --w->refs) return;
    switch (w->verb) {
    case SD_LAUNCH: if (w->launch.func) cji_sd_module_drop(w->launch.func->module); break;
    case SD_COPY: if (w->copy.staged) cji_free(w->copy.staged, w->copy.staged_bytes); break;
    case SD_RECORD:
    case SD_WAIT: if (w->event) cji_sd_event_drop(w->event); break;
    case SD_CHILD: if (w->child) cji_sd_graph_drop(w->child); break;
    case SD_BATCH:
        for (size_t i = 0; w->batch.item && i < w->batch.n; i++) cji_sd_work_drop(w->batch.item[i]);
        if (w->batch.item) cji_free(w->batch.item, w->batch.n * sizeof *w->batch.item);
        if (w->batch.raw) cji_free(w->batch.raw, w->batch.n * sizeof *w->batch.raw);
        break;
    case SD_GRAPH_ALLOC:
    case SD_GRAPH_FREE: if (w->gmem.mem) cji_sd_gmem_drop(w->gmem.mem); break;
    case SD_CONDITIONAL:
    case SD_BRANCH: cji_sd_cond_free(w); break;
    case SD_BEGIN:
        for (size_t i = 0; i < w->begin.n; i++) cji_sd_cond_drop(w->begin.cond[i]);
        if (w->begin.cond) cji_free(w->begin.cond, w->begin.n * sizeof *w->begin.cond);
        break;
    case SD_FAR: cji_sd_shared_drop(w->far.shared); break;
    default: break;
    }
    cji_free(w, w->size);
}

/* ---- Operations -------------------------------------------------------------------------------------------------- */

static int sd_level_of(const sd_stream *s, const sd_work *w)
{
    int priority = w && w->verb == SD_LAUNCH && w->launch.has_priority ? w->launch.priority : s ? s->priority : 0;
    return SD_PRIORITIES - 1 + priority;
}

sd_op *cji_sd_op_new(sd_ctx *c, sd_stream *s, sd_work *w)
{
    sd_op *op = cji_zalloc(sizeof *op);
    if (!op) return NULL;
    op->refs = 1;
    op->waits = 1;
    op->ctx = c;
    op->work = cji_sd_work_hold(w);
    op->level = sd_level_of(s, w);
    op->stream = s;
    if (s) s->refs++;
    return op;
}

void cji_sd_op_drop(sd_op *op)
{
    if (!op || --op->refs) return;
    cji_sd_work_drop(op->work);
    cji_free(op->succ, op->cap * sizeof *op->succ);
    cji_free(op, sizeof *op);
}

CUresult cji_sd_op_after(sd_op *op, sd_op *before)
{
    if (!before || before->done || before == op) return CUDA_SUCCESS;
    if (!cji_grow(&before->succ, &before->cap, before->nsucc + 1, sizeof *before->succ)) return CUDA_ERROR_OUT_OF_MEMORY;
    before->succ[before->nsucc++] = op;
    op->waits++;
    return CUDA_SUCCESS;
}

static bool sd_is_mark(const sd_op *op) { return !op->work || op->work->verb == SD_MARK; }

/* Its predecessors are done. */
static void sd_op_begin(sd_op *op)
{
    if (sd_is_mark(op)) cji_sd_op_finish(op);
    else cji_sd_ready(op);
}

void cji_sd_op_submit(sd_op *op)
{
    sd_ctx *c = op->ctx;
    op->refs++;   /* until it is done */
    op->seq = ++sd.next_seq;
    op->prev = c->last;
    if (c->last) c->last->next = op;
    else c->first = op;
    c->last = op;
    if (--op->waits == 0) sd_op_begin(op);
}

void cji_sd_op_abandon(sd_op *op)
{
    cji_sd_work_drop(op->work);
    op->work = NULL;
    cji_sd_op_submit(op);
    cji_sd_op_drop(op);
}

static void sd_op_unlink(sd_op *op)
{
    sd_ctx *c = op->ctx;
    if (op->prev) op->prev->next = op->next;
    else c->first = op->next;
    if (op->next) op->next->prev = op->prev;
    else c->last = op->prev;
    op->next = op->prev = NULL;
}

void cji_sd_op_finish(sd_op *op)
{
    uint64_t now = cji_sd_now();
    sd_op *list = op;   /* marks that end with it, through next_ready */
    op->next_ready = NULL;
    while (list) {
        sd_op *o = list;
        list = o->next_ready;
        o->next_ready = NULL;
        o->done = true;
        o->when = now;
        if (o->shared) cji_sd_shared_reach(o);
        sd.ended++;
        sd_op_unlink(o);
        for (size_t i = 0; i < o->nsucc; i++) {
            sd_op *s = o->succ[i];
            if (--s->waits) continue;
            if (sd_is_mark(s)) {
                s->next_ready = list;
                list = s;
            } else {
                cji_sd_ready(s);
            }
        }
        cji_free(o->succ, o->cap * sizeof *o->succ);
        o->succ = NULL;
        o->nsucc = o->cap = 0;
        if (o->waiters || o->ctx->sync_waiters) pthread_cond_broadcast(&sd.done);
        sd_work *w = o->work;
        sd_stream *s = o->stream;
        sd_exec *x = o->exec;
        sd_bag *bag = o->bag;
        sd_op *branch = o->branch;
        o->work = NULL;
        o->stream = NULL;
        o->exec = NULL;
        o->bag = NULL;
        o->branch = NULL;
        cji_sd_op_drop(o);
        cji_sd_work_drop(w);
        if (s) cji_sd_stream_drop(s);
        if (x) cji_sd_exec_drop(x);
        cji_sd_bag_drop(bag);
        cji_sd_op_drop(branch);
    }
}

/* ---- Order in streams -------------------------------------------------------------------------------------------- */

/* The legacy stream joins all blocking streams, both ways; a non-blocking stream is ordered with itself only. */
CUresult cji_sd_after_stream(sd_op *op, sd_stream *s)
{
    CUresult r = cji_sd_op_after(op, s->tail);
    if (s->legacy) {
        for (sd_stream *t = s->ctx->streams; t && !r; t = t->next)
            if (t != s && !(t->flags & CU_STREAM_NON_BLOCKING)) r = cji_sd_op_after(op, t->tail);
    } else if (!r && !(s->flags & CU_STREAM_NON_BLOCKING)) {
        r = cji_sd_op_after(op, s->ctx->legacy->tail);
    }
    return r;
}

void cji_sd_set_tail(sd_stream *s, sd_op *op)
{
    sd_op *old = s->tail;
    op->refs++;
    s->tail = op;
    cji_sd_op_drop(old);
}

CUresult cji_sd_enqueue(sd_stream *s, sd_work *w, sd_op *extra, sd_op **out)
{
    sd_op *op = cji_sd_op_new(s->ctx, s, w);
    if (!op) return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult r = cji_sd_after_stream(op, s);
    if (!r) r = cji_sd_op_after(op, extra);
    if (r) {
        cji_sd_op_abandon(op);
        return r;
    }
    cji_sd_set_tail(s, op);
    cji_sd_op_submit(op);
    if (out) *out = op;
    else cji_sd_op_drop(op);
    return CUDA_SUCCESS;
}

CUresult cji_sd_submit(sd_stream *s, sd_work *w)
{
    if (s->capture) return cji_sd_capture_add(s, w);
    CUresult r = cji_sd_enqueue(s, w, NULL, NULL);
    cji_sd_work_drop(w);
    if (!r) cji_sd_balance(0);
    return r;
}

/* ---- Doing it ---------------------------------------------------------------------------------------------------- */

/* After a context's fault nothing runs in it any more, but callbacks of cuStreamAddCallback, which are told. */
void cji_sd_run(sd_op *op)
{
    const sd_work *w = op->work;
    CUresult fault = __atomic_load_n(&op->ctx->fault, __ATOMIC_RELAXED);
    bool exiting = atomic_load(&sd.exiting) != 0;
    if ((fault || exiting) && w->verb != SD_CALLBACK && w->verb != SD_FREE && w->verb != SD_GRAPH_FREE) return;
    switch (w->verb) {
    case SD_COPY: cji_sd_run_copy(op, w); break;
    case SD_FILL: cji_sd_run_fill(op, w); break;
    case SD_WAIT_VALUE:
    case SD_BATCH:
    case SD_WRITE_VALUE: cji_sd_run_value(op, w); break;
    case SD_BEGIN: cji_sd_run_begin(w); break;
    case SD_GRAPH_ALLOC:
    case SD_GRAPH_FREE: cji_sd_run_gmem(w); break;
    case SD_HOST:
    case SD_CALLBACK: if (!exiting) cji_sd_run_host(op, w); break;
    case SD_FREE: cji_sd_run_free(op, w); break;
    case SD_FAR: cji_sd_run_far(op, w); break;
    default: break;
    }
}
