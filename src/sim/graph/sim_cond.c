/* Conditional nodes: if, while, switch over graphs of their own.
 *
 * A condition is a number that kernels set by cudaGraphSetConditional. A launch makes of a conditional node one
 * operation, the branch, which reads the number when its predecessors are done, submits the body's steps and stays
 * unfinished until the last of them; an operation behind them ends it, or, in a loop, has it read the number once
 * more. */
#include "sim/graph/sim_graph.h"

typedef struct sim_conditional {    /* of a node */
    sim_work work;
    sim_cond *cond;                 /* held */
    CUgraphConditionalNodeType type;
    unsigned n;
    sim_graph **body;               /* n of them, each with a handle */
} sim_conditional;

typedef struct sim_branch {         /* of an executable graph */
    sim_work work;
    sim_cond *cond;                 /* held */
    CUgraphConditionalNodeType type;
    unsigned n;
    sim_graph_exec **exec;          /* n bodies */
} sim_branch;

typedef struct sim_again { sim_work work; sim_op *branch; } sim_again;              /* behind a body; branch: held */
typedef struct sim_cond_reset { sim_work work; size_t n; sim_cond *cond[]; } sim_cond_reset;   /* held */

static sim_conditional *sim_conditional_of(const sim_work *w) { return (sim_conditional *)(uintptr_t)w; }
static const sim_work_kind sim_kind_again, sim_kind_cond_reset;
static const sim_graph_kind sim_kind_branch;

/* NULL: another kind. */
static const sim_branch *sim_branch_of(const sim_work *w)
{
    return w && w->kind == &sim_kind_branch.work ? (const sim_branch *)w : NULL;
}

static void sim_cond_free(sim_ref *r)
{
    sim_cond *c = (sim_cond *)r;
    cji_sim_handle_drop(c);
    cji_free(c, sizeof *c);
}

CUresult cji_sim_cuGraphConditionalHandleCreate(CUgraphConditionalHandle *out, CUgraph hg, CUcontext hc, unsigned start,
                                                unsigned flags)
{
    sim_graph *g;
    sim_ctx *c;
    if (!out || flags & ~(unsigned)CU_GRAPH_COND_ASSIGN_DEFAULT) return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    CUresult r = cji_sim_graph_get(hg, &g);
    if (!r) r = cji_sim_ctx_for(hc, &c);
    sim_cond *k = r ? NULL : cji_zalloc(sizeof *k);
    if (!r && (!k || !cji_grow(&g->cond, &g->cond_cap, g->ncond + 1, sizeof *g->cond) ||
               !cji_sim_handle_add(SIM_CONDITION, k))) {
        cji_free(k, sizeof *k);
        r = CUDA_ERROR_OUT_OF_MEMORY;
    }
    if (!r) {
        bool starts = (flags & CU_GRAPH_COND_ASSIGN_DEFAULT) != 0;
        *k = (sim_cond){ .ref = { 1, sim_cond_free }, .ctx = c, .value = start, .start = start, .starts = starts };
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

static bool sim_conditional_bodies(sim_conditional *w, unsigned n)
{
    w->body = cji_zalloc(n * sizeof *w->body);
    for (; w->body && w->n < n; w->n++) {
        sim_graph *g = cji_sim_graph_new();
        if (!g || !cji_sim_handle_add(SIM_GRAPH, g)) {
            cji_sim_graph_drop(g);
            break;
        }
        w->body[w->n] = g;
    }
    if (w->n == n) return true;
    if (w->body) w->body = cji_realloc(w->body, n * sizeof *w->body, w->n * sizeof *w->body);
    return false;
}

static CUresult sim_conditional_read(CUgraphNodeParams *all, sim_graph *g, sim_work **out)
{
    CUDA_CONDITIONAL_NODE_PARAMS *p = &all->conditional;
    sim_ctx *c;
    sim_cond *k = (sim_cond *)(uintptr_t)p->handle;
    unsigned most = p->type == CU_GRAPH_COND_TYPE_IF       ? 2
                    : p->type == CU_GRAPH_COND_TYPE_WHILE  ? 1
                    : p->type == CU_GRAPH_COND_TYPE_SWITCH ? 65536
                                                           : 0;
    (void)g;
    if (!p->size || p->size > most || !cji_sim_handle_is(SIM_CONDITION, k) || k->used) return CUDA_ERROR_INVALID_VALUE;
    CUresult r = cji_sim_ctx_for(p->ctx, &c);
    if (r || c != k->ctx) return r ? r : CUDA_ERROR_INVALID_VALUE;
    sim_conditional *w = (sim_conditional *)cji_sim_work_new(&cji_sim_kind_conditional.work, c, sizeof *w);
    if (!w) return CUDA_ERROR_OUT_OF_MEMORY;
    w->type = p->type;
    w->cond = k;
    k->ref.refs++;
    if (!sim_conditional_bodies(w, p->size)) {
        cji_sim_work_drop(&w->work);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    p->phGraph_out = (CUgraph *)(void *)w->body;
    *out = &w->work;
    return CUDA_SUCCESS;
}

/* Its bodies belong to the node. */
static void sim_conditional_attach(sim_work *work, sim_node *node)
{
    sim_conditional *w = sim_conditional_of(work);
    w->cond->used = node != NULL;
    for (unsigned i = 0; i < w->n; i++) {
        w->body[i]->parent = node;
        if (!node) cji_sim_handle_drop(w->body[i]);
    }
}

static void sim_conditional_drop(sim_work *work)
{
    sim_conditional *w = sim_conditional_of(work);
    for (unsigned i = 0; i < w->n; i++) {
        cji_sim_handle_drop(w->body[i]);
        cji_sim_graph_drop(w->body[i]);
    }
    if (w->body) cji_free(w->body, w->n * sizeof *w->body);
    cji_sim_ref_drop(&w->cond->ref);
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
            if (!sim_body_fits(cji_sim_child_graph(n))) return false;
            break;
        default: return false;
        }
    }
    return true;
}

/* The bodies of one node, not those inside them. */
static bool sim_bodies_fit(const sim_conditional *w)
{
    for (unsigned i = 0; i < w->n; i++)
        if (!sim_body_fits(w->body[i])) return false;
    return true;
}

const sim_node *cji_sim_cond_misfit(const sim_graph *g)
{
    const sim_node *inside = NULL;
    for (size_t i = 0; i < g->nnode && !inside; i++) {
        const sim_node *n = g->node[i];
        if (n->type == CU_GRAPH_NODE_TYPE_GRAPH) inside = cji_sim_cond_misfit(cji_sim_child_graph(n));
        if (n->type != CU_GRAPH_NODE_TYPE_CONDITIONAL) continue;
        const sim_conditional *w = sim_conditional_of(n->work);
        if (!sim_bodies_fit(w)) return n;
        for (unsigned b = 0; b < w->n && !inside; b++) inside = cji_sim_cond_misfit(w->body[b]);
    }
    return inside;
}

static CUresult sim_branch_work(const sim_conditional *from, sim_work **out)
{
    if (!sim_bodies_fit(from)) return CUDA_ERROR_INVALID_VALUE;
    sim_branch *w = (sim_branch *)cji_sim_work_new(&sim_kind_branch.work, from->work.ctx, sizeof *w);
    if (!w) return CUDA_ERROR_OUT_OF_MEMORY;
    w->type = from->type;
    w->cond = from->cond;
    w->cond->ref.refs++;
    w->exec = cji_zalloc(from->n * sizeof *w->exec);
    CUresult r = w->exec ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
    if (!r) w->n = from->n;
    for (unsigned i = 0; !r && i < from->n; i++) {
        sim_graph_exec *x = cji_sim_graph_exec_make(from->body[i], &r);
        if (x) x->ctx = from->work.ctx;
        w->exec[i] = x;
    }
    if (r) cji_sim_work_drop(&w->work);
    else *out = &w->work;
    return r;
}

/* One step, with its bodies as executable graphs of their own. */
static CUresult sim_conditional_flatten(sim_graph_exec *x, const sim_node *node, const size_t *before, size_t n)
{
    sim_work *w = NULL;
    CUresult r = sim_branch_work(sim_conditional_of(node->work), &w);
    if (r) return r;
    if (!cji_sim_step_put(x, w, node, before, n)) r = CUDA_ERROR_OUT_OF_MEMORY;
    cji_sim_work_drop(w);
    return r;
}

const sim_graph_kind cji_sim_kind_conditional = { .work = { .name = "conditional",
                                                            .node_type = CU_GRAPH_NODE_TYPE_CONDITIONAL,
                                                            .traits = SIM_WORK_OF_GRAPHS,
                                                            .fixed = true,
                                                            .drop = sim_conditional_drop,
                                                            .read_params = sim_conditional_read,
                                                            .attach = sim_conditional_attach },
                                                  .flatten = sim_conditional_flatten };

static void sim_branch_drop(sim_work *work)
{
    const sim_branch *w = sim_branch_of(work);
    for (unsigned i = 0; i < w->n; i++) cji_sim_graph_exec_drop(w->exec[i]);
    if (w->exec) cji_free(w->exec, w->n * sizeof *w->exec);
    cji_sim_ref_drop(&w->cond->ref);
}

static CUgraphExecUpdateResult sim_branch_alike(const sim_work *a, const sim_work *b)
{
    const sim_branch *v = sim_branch_of(a), *w = sim_branch_of(b);
    if (a->ctx != b->ctx || v->type != w->type || v->n != w->n) return CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED;
    CUgraphExecUpdateResult r = CU_GRAPH_EXEC_UPDATE_SUCCESS;
    size_t inner;
    for (unsigned i = 0; i < v->n && !r; i++) r = cji_sim_graph_exec_compare(v->exec[i], w->exec[i], &inner);
    return r;
}

/* ---- The first values -------------------------------------------------------------------------------------------- */

/* Conditions of `x` and its bodies that begin with a value of their own; into `to` where that is not NULL. */
static size_t sim_conditions(const sim_graph_exec *x, sim_cond **to)
{
    size_t n = 0;
    for (size_t i = 0; i < x->nstep; i++) {
        const sim_branch *w = sim_branch_of(x->step[i].work);
        if (!w) continue;
        if (w->cond->starts) {
            if (to) to[n] = w->cond;
            n++;
        }
        for (unsigned b = 0; b < w->n; b++) n += sim_conditions(w->exec[b], to ? to + n : NULL);
    }
    return n;
}

CUresult cji_sim_cond_begin(const sim_graph_exec *x, sim_work **out)
{
    size_t n = sim_conditions(x, NULL);
    *out = NULL;
    if (!n) return CUDA_SUCCESS;
    sim_cond_reset *w =
        (sim_cond_reset *)cji_sim_work_new(&sim_kind_cond_reset, x->ctx, sizeof *w + n * sizeof *w->cond);
    if (!w) return CUDA_ERROR_OUT_OF_MEMORY;
    w->n = sim_conditions(x, w->cond);
    for (size_t i = 0; i < n; i++) w->cond[i]->ref.refs++;
    *out = &w->work;
    return CUDA_SUCCESS;
}

static void sim_cond_reset_run(sim_op *op)
{
    const sim_cond_reset *w = (const sim_cond_reset *)op->work;
    sim_lock();
    for (size_t i = 0; i < w->n; i++) w->cond[i]->value = w->cond[i]->start;
    sim_unlock();
}

static void sim_cond_reset_drop(sim_work *work)
{
    const sim_cond_reset *w = (const sim_cond_reset *)work;
    for (size_t i = 0; i < w->n; i++) cji_sim_ref_drop(&w->cond[i]->ref);
}

static const sim_work_kind sim_kind_cond_reset = {
    .name = "conditions", .node_type = CU_GRAPH_NODE_TYPE_EMPTY, .drop = sim_cond_reset_drop, .run = sim_cond_reset_run
};

/* ---- Running ----------------------------------------------------------------------------------------------------- */

static sim_graph_exec *sim_branch_body(const sim_op *op)
{
    const sim_branch *w = sim_branch_of(op->work);
    uint32_t v = w->cond->value;
    if (op->ctx->fault || atomic_load(&sim.exiting)) return NULL;
    switch (w->type) {
    case CU_GRAPH_COND_TYPE_IF: return v ? w->exec[0] : w->n > 1 ? w->exec[1] : NULL;
    case CU_GRAPH_COND_TYPE_WHILE: return v ? w->exec[0] : NULL;
    case CU_GRAPH_COND_TYPE_SWITCH: return v < w->n ? w->exec[v] : NULL;
    }
    return NULL;
}

static void sim_branch_begin(sim_op *op)
{
    sim_graph_exec *x = sim_branch_body(op);
    if (!x) {
        cji_sim_op_finish(op);
        return;
    }
    sim_again *w = (sim_again *)cji_sim_work_new(&sim_kind_again, op->ctx, sizeof *w);
    sim_op *begin = cji_sim_stream_op(op->ctx, op->stream, NULL),
           *end = w ? cji_sim_stream_op(op->ctx, op->stream, &w->work) : NULL;
    if (w) cji_sim_work_drop(&w->work);
    CUresult r = begin && end ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
    if (begin) cji_sim_op_submit(begin);
    if (!r) {
        w->branch = op;
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

static const sim_graph_kind sim_kind_branch = { .work = { .name = "conditional",
                                                          .node_type = CU_GRAPH_NODE_TYPE_CONDITIONAL,
                                                          .traits = SIM_WORK_OF_GRAPHS | SIM_WORK_WRITES_ANYTHING,
                                                          .drop = sim_branch_drop,
                                                          .begin = sim_branch_begin,
                                                          .alike = sim_branch_alike } };

/* A body has ended. */
static void sim_again_begin(sim_op *again)
{
    sim_op *op = ((const sim_again *)again->work)->branch;
    bool loop = sim_branch_of(op->work)->type == CU_GRAPH_COND_TYPE_WHILE;
    op->refs++;
    cji_sim_op_finish(again);
    if (loop) sim_branch_begin(op);
    else cji_sim_op_finish(op);
    cji_sim_op_drop(op);
}

static void sim_again_drop(sim_work *w) { cji_sim_op_drop(((const sim_again *)w)->branch); }

static const sim_work_kind sim_kind_again = { .name = "conditional",
                                              .node_type = CU_GRAPH_NODE_TYPE_EMPTY,
                                              .traits = SIM_WORK_WRITES_ANYTHING,
                                              .drop = sim_again_drop,
                                              .begin = sim_again_begin };
