/* Conditional nodes: if, while, switch over graphs of their own.
 *
 * A condition is a word that kernels set by cudaGraphSetConditional.  A launch makes of a conditional node one operation, the branch, which reads the
 * word when its turn comes, submits the body's steps and stays unfinished until the last of them; an "again" behind them ends it, or, in a
 * loop, lets it look at the word once more. */
#include "sim/sim_core.h"
#include "sim/sim_device.h"
#include "sim/sim_graph_exec.h"
#include "sim/sim_graph.h"
#include "sim/sim_queue.h"
#include "sim/sim_stream.h"

void cji_sim_cond_drop(sim_cond *c)
{
    if (!c || --c->refs) return;
    cji_sim_handle_drop(c);
    cji_free(c, sizeof *c);
}

CUresult cji_sim_cuGraphConditionalHandleCreate(CUgraphConditionalHandle *out, CUgraph hg, CUcontext hc, unsigned start, unsigned flags)
{
    sim_graph *g;
    sim_ctx *c;
    if (!out || flags & ~(unsigned)CU_GRAPH_COND_ASSIGN_DEFAULT) return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    CUresult r = cji_sim_graph_get(hg, &g);
    if (!r) r = cji_sim_ctx_for(hc, &c);
    sim_cond *k = r ? NULL : cji_zalloc(sizeof *k);
    if (!r && (!k || !cji_grow(&g->cond, &g->cond_cap, g->ncond + 1, sizeof *g->cond) || !cji_sim_handle_add(SIM_CONDITION, k))) {
        cji_free(k, sizeof *k);
        r = CUDA_ERROR_OUT_OF_MEMORY;
    }
    if (!r) {
        *k = (sim_cond){ .refs = 1, .ctx = c, .value = start, .start = start, .starts = (flags & CU_GRAPH_COND_ASSIGN_DEFAULT) != 0 };
        g->cond[g->ncond++] = k;
        *out = (CUgraphConditionalHandle)(uintptr_t)k;
    }
    sim_unlock();
    return r;
}

/* cudaGraphSetConditional, from a kernel. */
bool cji_sim_condition_set(void *ctx, uint64_t handle, uint32_t value)
{
    sim_lock();
    sim_cond *c = (sim_cond *)(uintptr_t)handle;
    bool ok = cji_sim_handle_is(SIM_CONDITION, c) && c->ctx == ctx;
    if (ok) c->value = value;
    sim_unlock();
    return ok;
}

/* ---- Nodes ------------------------------------------------------------------------------------------------------- */

CUresult cji_sim_cond_params(CUDA_CONDITIONAL_NODE_PARAMS *p, sim_work **out)
{
    sim_ctx *c;
    sim_cond *k = (sim_cond *)(uintptr_t)p->handle;
    unsigned most = p->type == CU_GRAPH_COND_TYPE_IF ? 2 : p->type == CU_GRAPH_COND_TYPE_WHILE ? 1 : p->type == CU_GRAPH_COND_TYPE_SWITCH ? 65536 : 0;
    if (!p->size || p->size > most || !cji_sim_handle_is(SIM_CONDITION, k) || k->used) return CUDA_ERROR_INVALID_VALUE;
    CUresult r = cji_sim_ctx_for(p->ctx, &c);
    if (r || c != k->ctx) return r ? r : CUDA_ERROR_INVALID_VALUE;
    sim_work *w = cji_sim_work_new(SIM_CONDITIONAL, c, 0);
    if (!w) return CUDA_ERROR_OUT_OF_MEMORY;
    w->branch.type = p->type;
    w->branch.cond = k;
    k->refs++;
    w->branch.body = cji_zalloc(p->size * sizeof *w->branch.body);
    for (; w->branch.body && w->branch.n < p->size; w->branch.n++) {
        sim_graph *g = cji_sim_graph_new();
        if (!g || !cji_sim_handle_add(SIM_GRAPH, g)) {
            cji_sim_graph_drop(g);
            break;
        }
        w->branch.body[w->branch.n] = g;
    }
    if (w->branch.n < p->size) {
        if (w->branch.body) w->branch.body = cji_realloc(w->branch.body, p->size * sizeof *w->branch.body, w->branch.n * sizeof *w->branch.body);
        cji_sim_work_drop(w);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    p->phGraph_out = (CUgraph *)(void *)w->branch.body;
    *out = w;
    return CUDA_SUCCESS;
}

void cji_sim_cond_node(sim_work *w, sim_node *node)
{
    w->branch.cond->used = node != NULL;
    for (unsigned i = 0; i < w->branch.n; i++) {
        w->branch.body[i]->parent = node;
        if (!node) cji_sim_handle_drop(w->branch.body[i]);
    }
}

void cji_sim_cond_free(sim_work *w)
{
    for (unsigned i = 0; i < w->branch.n; i++) {
        if (w->verb == SIM_CONDITIONAL) {
            cji_sim_handle_drop(w->branch.body[i]);
            cji_sim_graph_drop(w->branch.body[i]);
        } else {
            cji_sim_graph_exec_drop(w->branch.exec[i]);
        }
    }
    if (w->branch.body) cji_free(w->branch.body, w->branch.n * sizeof *w->branch.body);
    if (w->branch.exec) cji_free(w->branch.exec, w->branch.n * sizeof *w->branch.exec);
    cji_sim_cond_drop(w->branch.cond);
}

/* ---- Snapshots --------------------------------------------------------------------------------------------------- */

/* Bodies have kernels, copies, fills, empty nodes, child graphs and conditional nodes. */
static bool sim_body_fits(const sim_graph *g)
{
    for (size_t i = 0; i < g->nnode; i++) {
        const sim_node *n = g->node[i];
        switch (n->type) {
        case CU_GRAPH_NODE_TYPE_KERNEL:
        case CU_GRAPH_NODE_TYPE_MEMCPY:
        case CU_GRAPH_NODE_TYPE_MEMSET:
        case CU_GRAPH_NODE_TYPE_EMPTY:
        case CU_GRAPH_NODE_TYPE_CONDITIONAL: break;
        case CU_GRAPH_NODE_TYPE_GRAPH:
            if (!sim_body_fits(n->work->child)) return false;
            break;
        default: return false;
        }
    }
    return true;
}

/* The bodies of one node, not those inside them. */
static bool sim_bodies_fit(const sim_work *w)
{
    for (unsigned i = 0; i < w->branch.n; i++)
        if (!sim_body_fits(w->branch.body[i])) return false;
    return true;
}

const sim_node *cji_sim_cond_misfit(const sim_graph *g)
{
    const sim_node *inside = NULL;
    for (size_t i = 0; i < g->nnode && !inside; i++) {
        const sim_node *n = g->node[i];
        if (n->type == CU_GRAPH_NODE_TYPE_GRAPH) inside = cji_sim_cond_misfit(n->work->child);
        if (n->type != CU_GRAPH_NODE_TYPE_CONDITIONAL) continue;
        if (!sim_bodies_fit(n->work)) return n;
        for (unsigned b = 0; b < n->work->branch.n && !inside; b++) inside = cji_sim_cond_misfit(n->work->branch.body[b]);
    }
    return inside;
}

CUresult cji_sim_cond_branch(const sim_work *from, sim_work **out)
{
    if (!sim_bodies_fit(from)) return CUDA_ERROR_INVALID_VALUE;
    sim_work *w = cji_sim_work_new(SIM_BRANCH, from->ctx, 0);
    if (!w) return CUDA_ERROR_OUT_OF_MEMORY;
    w->branch.type = from->branch.type;
    w->branch.cond = from->branch.cond;
    w->branch.cond->refs++;
    w->branch.exec = cji_zalloc(from->branch.n * sizeof *w->branch.exec);
    CUresult r = w->branch.exec ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
    if (!r) w->branch.n = from->branch.n;
    for (unsigned i = 0; !r && i < from->branch.n; i++) {
        sim_graph_exec *x = cji_sim_graph_exec_make(from->branch.body[i], &r);
        if (x) x->ctx = from->ctx;
        w->branch.exec[i] = x;
    }
    if (r) cji_sim_work_drop(w);
    else *out = w;
    return r;
}

/* Conditions of `x` and its bodies that begin with a value of their own; into `to` where that is not NULL. */
static size_t sim_conditions(const sim_graph_exec *x, sim_cond **to)
{
    size_t n = 0;
    for (size_t i = 0; i < x->nstep; i++) {
        const sim_work *w = x->step[i].work;
        if (!w || w->verb != SIM_BRANCH) continue;
        if (w->branch.cond->starts) {
            if (to) to[n] = w->branch.cond;
            n++;
        }
        for (unsigned b = 0; b < w->branch.n; b++) n += sim_conditions(w->branch.exec[b], to ? to + n : NULL);
    }
    return n;
}

CUresult cji_sim_cond_begin(const sim_graph_exec *x, sim_work **out)
{
    size_t n = sim_conditions(x, NULL);
    *out = NULL;
    if (!n) return CUDA_SUCCESS;
    sim_work *w = cji_sim_work_new(SIM_BEGIN, x->ctx, 0);
    if (w) w->begin.cond = cji_alloc(n * sizeof *w->begin.cond);
    if (!w || !w->begin.cond) {
        cji_sim_work_drop(w);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    w->begin.n = sim_conditions(x, w->begin.cond);
    for (size_t i = 0; i < n; i++) w->begin.cond[i]->refs++;
    *out = w;
    return CUDA_SUCCESS;
}

/* ---- Running ----------------------------------------------------------------------------------------------------- */

void cji_sim_condition_reset(const sim_work *w)
{
    sim_lock();
    for (size_t i = 0; i < w->begin.n; i++) w->begin.cond[i]->value = w->begin.cond[i]->start;
    sim_unlock();
}

static sim_graph_exec *sim_branch_body(const sim_op *op)
{
    const sim_work *w = op->work;
    uint32_t v = w->branch.cond->value;
    if (op->ctx->fault || atomic_load(&sim.exiting)) return NULL;
    switch (w->branch.type) {
    case CU_GRAPH_COND_TYPE_IF: return v ? w->branch.exec[0] : w->branch.n > 1 ? w->branch.exec[1] : NULL;
    case CU_GRAPH_COND_TYPE_WHILE: return v ? w->branch.exec[0] : NULL;
    case CU_GRAPH_COND_TYPE_SWITCH: return v < w->branch.n ? w->branch.exec[v] : NULL;
    }
    return NULL;
}

void cji_sim_branch_begin(sim_op *op)
{
    sim_graph_exec *x = sim_branch_body(op);
    if (!x) {
        cji_sim_op_finish(op);
        return;
    }
    sim_work *w = cji_sim_work_new(SIM_AGAIN, op->ctx, 0);
    sim_op *begin = cji_sim_op_new(op->ctx, op->stream, NULL), *end = w ? cji_sim_op_new(op->ctx, op->stream, w) : NULL;
    cji_sim_work_drop(w);
    CUresult r = begin && end ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
    if (begin) cji_sim_op_submit(begin);
    if (!r) {
        end->branch = op;
        op->refs++;
        r = cji_sim_graph_exec_steps(x, op->stream, begin, end);
        cji_sim_op_submit(end);
    }
    if (r) cji_sim_op_fails(op, CUDA_ERROR_OUT_OF_MEMORY, "no memory to run the body of a conditional node");
    if (!end) cji_sim_op_finish(op);
    if (end && !begin) cji_sim_op_abandon(end);
    else cji_sim_op_drop(end);
    if (end && !begin) cji_sim_op_finish(op);
    cji_sim_op_drop(begin);
}

void cji_sim_branch_again(sim_op *again)
{
    sim_op *op = again->branch;
    bool loop = op->work->branch.type == CU_GRAPH_COND_TYPE_WHILE;
    op->refs++;
    cji_sim_op_finish(again);
    if (loop) cji_sim_branch_begin(op);
    else cji_sim_op_finish(op);
    cji_sim_op_drop(op);
}
