/* Conditional nodes: if, while, switch over graphs of their own.
 *
 * A condition is a word that kernels set by cudaGraphSetConditional.  A launch makes of a conditional node one operation, the branch, which reads the
 * word when its turn comes, submits the body's steps and stays unfinished until the last of them; an "again" behind them ends it, or, in a
 * loop, lets it look at the word once more. */
#include "sim/simcore.h"
#include "sim/sim_device.h"
#include "sim/sim_exec.h"
#include "sim/sim_graph.h"
#include "sim/sim_queue.h"

void cji_sd_cond_drop(sd_cond *c)
{
    if (!c || --c->refs) return;
    cji_sd_handle_drop(c);
    cji_free(c, sizeof *c);
}

CUresult cji_sd_cuGraphConditionalHandleCreate(CUgraphConditionalHandle *out, CUgraph hg, CUcontext hc, unsigned start, unsigned flags)
{
    sd_graph *g;
    sd_ctx *c;
    if (!out || flags & ~(unsigned)CU_GRAPH_COND_ASSIGN_DEFAULT) return CUDA_ERROR_INVALID_VALUE;
    sd_lock();
    CUresult r = cji_sd_graph_get(hg, &g);
    if (!r) r = cji_sd_ctx_for(hc, &c);
    sd_cond *k = r ? NULL : cji_zalloc(sizeof *k);
    if (!r && (!k || !cji_grow(&g->cond, &g->cond_cap, g->ncond + 1, sizeof *g->cond) || !cji_sd_handle_add(SD_CONDITION, k))) {
        cji_free(k, sizeof *k);
        r = CUDA_ERROR_OUT_OF_MEMORY;
    }
    if (!r) {
        *k = (sd_cond){ .refs = 1, .ctx = c, .value = start, .start = start, .starts = (flags & CU_GRAPH_COND_ASSIGN_DEFAULT) != 0 };
        g->cond[g->ncond++] = k;
        *out = (CUgraphConditionalHandle)(uintptr_t)k;
    }
    sd_unlock();
    return r;
}

/* cudaGraphSetConditional, from a kernel. */
bool cji_sd_exec_condition(void *ctx, uint64_t handle, uint32_t value)
{
    sd_lock();
    sd_cond *c = (sd_cond *)(uintptr_t)handle;
    bool ok = cji_sd_handle_is(SD_CONDITION, c) && c->ctx == ctx;
    if (ok) c->value = value;
    sd_unlock();
    return ok;
}

/* ---- Nodes ------------------------------------------------------------------------------------------------------- */

CUresult cji_sd_cond_params(CUDA_CONDITIONAL_NODE_PARAMS *p, sd_work **out)
{
    sd_ctx *c;
    sd_cond *k = (sd_cond *)(uintptr_t)p->handle;
    unsigned most = p->type == CU_GRAPH_COND_TYPE_IF ? 2 : p->type == CU_GRAPH_COND_TYPE_WHILE ? 1 : p->type == CU_GRAPH_COND_TYPE_SWITCH ? 65536 : 0;
    if (!p->size || p->size > most || !cji_sd_handle_is(SD_CONDITION, k) || k->used) return CUDA_ERROR_INVALID_VALUE;
    CUresult r = cji_sd_ctx_for(p->ctx, &c);
    if (r || c != k->ctx) return r ? r : CUDA_ERROR_INVALID_VALUE;
    sd_work *w = cji_sd_work_new(SD_CONDITIONAL, c, 0);
    if (!w) return CUDA_ERROR_OUT_OF_MEMORY;
    w->branch.type = p->type;
    w->branch.cond = k;
    k->refs++;
    w->branch.body = cji_zalloc(p->size * sizeof *w->branch.body);
    for (; w->branch.body && w->branch.n < p->size; w->branch.n++) {
        sd_graph *g = cji_sd_graph_new();
        if (!g || !cji_sd_handle_add(SD_GRAPH, g)) {
            cji_sd_graph_drop(g);
            break;
        }
        w->branch.body[w->branch.n] = g;
    }
    if (w->branch.n < p->size) {
        if (w->branch.body) w->branch.body = cji_realloc(w->branch.body, p->size * sizeof *w->branch.body, w->branch.n * sizeof *w->branch.body);
        cji_sd_work_drop(w);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    p->phGraph_out = (CUgraph *)(void *)w->branch.body;
    *out = w;
    return CUDA_SUCCESS;
}

void cji_sd_cond_node(sd_work *w, sd_node *node)
{
    w->branch.cond->used = node != NULL;
    for (unsigned i = 0; i < w->branch.n; i++) {
        w->branch.body[i]->parent = node;
        if (!node) cji_sd_handle_drop(w->branch.body[i]);
    }
}

void cji_sd_cond_free(sd_work *w)
{
    for (unsigned i = 0; i < w->branch.n; i++) {
        if (w->verb == SD_CONDITIONAL) {
            cji_sd_handle_drop(w->branch.body[i]);
            cji_sd_graph_drop(w->branch.body[i]);
        } else {
            cji_sd_exec_drop(w->branch.exec[i]);
        }
    }
    if (w->branch.body) cji_free(w->branch.body, w->branch.n * sizeof *w->branch.body);
    if (w->branch.exec) cji_free(w->branch.exec, w->branch.n * sizeof *w->branch.exec);
    cji_sd_cond_drop(w->branch.cond);
}

/* ---- Snapshots --------------------------------------------------------------------------------------------------- */

/* Bodies have kernels, copies, fills, empty nodes, child graphs and conditional nodes. */
static bool sd_body_fits(const sd_graph *g)
{
    for (size_t i = 0; i < g->nnode; i++) {
        const sd_node *n = g->node[i];
        switch (n->type) {
        case CU_GRAPH_NODE_TYPE_KERNEL:
        case CU_GRAPH_NODE_TYPE_MEMCPY:
        case CU_GRAPH_NODE_TYPE_MEMSET:
        case CU_GRAPH_NODE_TYPE_EMPTY:
        case CU_GRAPH_NODE_TYPE_CONDITIONAL: break;
        case CU_GRAPH_NODE_TYPE_GRAPH:
            if (!sd_body_fits(n->work->child)) return false;
            break;
        default: return false;
        }
    }
    return true;
}

/* The bodies of one node, not those inside them. */
static bool sd_bodies_fit(const sd_work *w)
{
    for (unsigned i = 0; i < w->branch.n; i++)
        if (!sd_body_fits(w->branch.body[i])) return false;
    return true;
}

const sd_node *cji_sd_cond_misfit(const sd_graph *g)
{
    const sd_node *inside = NULL;
    for (size_t i = 0; i < g->nnode && !inside; i++) {
        const sd_node *n = g->node[i];
        if (n->type == CU_GRAPH_NODE_TYPE_GRAPH) inside = cji_sd_cond_misfit(n->work->child);
        if (n->type != CU_GRAPH_NODE_TYPE_CONDITIONAL) continue;
        if (!sd_bodies_fit(n->work)) return n;
        for (unsigned b = 0; b < n->work->branch.n && !inside; b++) inside = cji_sd_cond_misfit(n->work->branch.body[b]);
    }
    return inside;
}

CUresult cji_sd_cond_branch(const sd_work *from, sd_work **out)
{
    if (!sd_bodies_fit(from)) return CUDA_ERROR_INVALID_VALUE;
    sd_work *w = cji_sd_work_new(SD_BRANCH, from->ctx, 0);
    if (!w) return CUDA_ERROR_OUT_OF_MEMORY;
    w->branch.type = from->branch.type;
    w->branch.cond = from->branch.cond;
    w->branch.cond->refs++;
    w->branch.exec = cji_zalloc(from->branch.n * sizeof *w->branch.exec);
    CUresult r = w->branch.exec ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
    if (!r) w->branch.n = from->branch.n;
    for (unsigned i = 0; !r && i < from->branch.n; i++) {
        sd_exec *x = cji_sd_exec_make(from->branch.body[i], &r);
        if (x) x->ctx = from->ctx;
        w->branch.exec[i] = x;
    }
    if (r) cji_sd_work_drop(w);
    else *out = w;
    return r;
}

/* Conditions of `x` and its bodies that begin with a value of their own; into `to` where that is not NULL. */
static size_t sd_conditions(const sd_exec *x, sd_cond **to)
{
    size_t n = 0;
    for (size_t i = 0; i < x->nstep; i++) {
        const sd_work *w = x->step[i].work;
        if (!w || w->verb != SD_BRANCH) continue;
        if (w->branch.cond->starts) {
            if (to) to[n] = w->branch.cond;
            n++;
        }
        for (unsigned b = 0; b < w->branch.n; b++) n += sd_conditions(w->branch.exec[b], to ? to + n : NULL);
    }
    return n;
}

CUresult cji_sd_cond_begin(const sd_exec *x, sd_work **out)
{
    size_t n = sd_conditions(x, NULL);
    *out = NULL;
    if (!n) return CUDA_SUCCESS;
    sd_work *w = cji_sd_work_new(SD_BEGIN, x->ctx, 0);
    if (w) w->begin.cond = cji_alloc(n * sizeof *w->begin.cond);
    if (!w || !w->begin.cond) {
        cji_sd_work_drop(w);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    w->begin.n = sd_conditions(x, w->begin.cond);
    for (size_t i = 0; i < n; i++) w->begin.cond[i]->refs++;
    *out = w;
    return CUDA_SUCCESS;
}

/* ---- Running ----------------------------------------------------------------------------------------------------- */

void cji_sd_run_begin(const sd_work *w)
{
    sd_lock();
    for (size_t i = 0; i < w->begin.n; i++) w->begin.cond[i]->value = w->begin.cond[i]->start;
    sd_unlock();
}

static sd_exec *sd_branch_body(const sd_op *op)
{
    const sd_work *w = op->work;
    uint32_t v = w->branch.cond->value;
    if (op->ctx->fault || atomic_load(&sd.exiting)) return NULL;
    switch (w->branch.type) {
    case CU_GRAPH_COND_TYPE_IF: return v ? w->branch.exec[0] : w->branch.n > 1 ? w->branch.exec[1] : NULL;
    case CU_GRAPH_COND_TYPE_WHILE: return v ? w->branch.exec[0] : NULL;
    case CU_GRAPH_COND_TYPE_SWITCH: return v < w->branch.n ? w->branch.exec[v] : NULL;
    }
    return NULL;
}

void cji_sd_branch(sd_op *op)
{
    sd_exec *x = sd_branch_body(op);
    if (!x) {
        cji_sd_op_finish(op);
        return;
    }
    sd_work *w = cji_sd_work_new(SD_AGAIN, op->ctx, 0);
    sd_op *begin = cji_sd_op_new(op->ctx, op->stream, NULL), *end = w ? cji_sd_op_new(op->ctx, op->stream, w) : NULL;
    cji_sd_work_drop(w);
    CUresult r = begin && end ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
    if (begin) cji_sd_op_submit(begin);
    if (!r) {
        end->branch = op;
        op->refs++;
        r = cji_sd_exec_steps(x, op->stream, begin, end);
        cji_sd_op_submit(end);
    }
    if (r) cji_sd_ctx_poison(op->ctx, CUDA_ERROR_OUT_OF_MEMORY, "no memory to run the body of a conditional node");
    if (!end) cji_sd_op_finish(op);
    if (end && !begin) cji_sd_op_abandon(end);
    else cji_sd_op_drop(end);
    if (end && !begin) cji_sd_op_finish(op);
    cji_sd_op_drop(begin);
}

void cji_sd_branch_again(sd_op *again)
{
    sd_op *op = again->branch;
    bool loop = op->work->branch.type == CU_GRAPH_COND_TYPE_WHILE;
    op->refs++;
    cji_sd_op_finish(again);
    if (loop) cji_sd_branch(op);
    else cji_sd_op_finish(op);
    cji_sd_op_drop(op);
}
