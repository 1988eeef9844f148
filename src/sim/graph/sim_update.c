/* Updates of executable graphs: by a graph of the same shape, one node's parameters, switching nodes off. Launches
 * in flight keep what they have: a step's work is replaced, never changed. */
#include "sim/graph/sim_graph.h"

#include <string.h>

/* ---- Update ------------------------------------------------------------------------------------------------------ */

/* What two steps do; not where they stand. */
static CUgraphExecUpdateResult sim_compare_steps(const sim_graph_step *a, const sim_graph_step *b)
{
    if (a->type != b->type) return CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED;
    if (!a->work != !b->work) return CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
    if (!a->work) return CU_GRAPH_EXEC_UPDATE_SUCCESS;
    if (a->work->kind != b->work->kind) return CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED;
    if (a->work->kind->alike) return a->work->kind->alike(a->work, b->work);
    return a->work->ctx == b->work->ctx ? CU_GRAPH_EXEC_UPDATE_SUCCESS : CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED;
}

CUgraphExecUpdateResult cji_sim_graph_exec_compare(const sim_graph_exec *x, const sim_graph_exec *y, size_t *at)
{
    *at = SIZE_MAX;
    if (x->nstep != y->nstep) return CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
    for (size_t i = 0; i < x->nstep; i++) {
        const sim_graph_step *a = &x->step[i], *b = &y->step[i];
        *at = i;
        if (a->nbefore != b->nbefore || (a->nbefore && memcmp(a->before, b->before, a->nbefore * sizeof *a->before)))
            return CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
        CUgraphExecUpdateResult r = sim_compare_steps(a, b);
        if (r) return r;
    }
    *at = SIZE_MAX;
    return CU_GRAPH_EXEC_UPDATE_SUCCESS;
}

static CUgraphNode sim_node_with(const sim_graph *g, uint64_t id)
{
    for (size_t i = 0; i < g->nnode; i++) {
        if (g->node[i]->id == id) return (CUgraphNode)g->node[i];
        const sim_graph *child = cji_sim_child_graph(g->node[i]);
        CUgraphNode inner = child ? sim_node_with(child, id) : NULL;
        if (inner) return inner;
    }
    return NULL;
}

static void sim_swap_works(sim_graph_step *a, sim_graph_step *b)
{
    sim_work *w = a->work;
    a->work = b->work;
    b->work = w;
}

/* All or nothing: a graph of another shape leaves the executable as it was. */
static CUresult sim_graph_exec_update(sim_graph_exec *x, sim_graph *g, CUgraphExecUpdateResultInfo *info)
{
    CUresult r;
    size_t at;
    sim_graph_exec *y = cji_sim_graph_exec_make(g, &r);
    info->result = r == CUDA_ERROR_INVALID_VALUE ? CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED
                                                 : CU_GRAPH_EXEC_UPDATE_ERROR; /* a cycle is another shape */
    if (!y) return r == CUDA_ERROR_INVALID_VALUE ? CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE : r;
    info->result = cji_sim_graph_exec_compare(x, y, &at);
    if (info->result) {
        if (at != SIZE_MAX) info->errorNode = sim_node_with(g, y->step[at].node);
        cji_sim_graph_exec_drop(y);
        return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
    }
    y->ctx = x->ctx;
    r = cji_sim_cond_begin(y, &y->begin);
    if (!r) {
        for (size_t i = 0; i < x->nstep; i++) sim_swap_works(&x->step[i], &y->step[i]);
        sim_work *begin = x->begin;
        x->begin = y->begin;
        y->begin = begin;
        sim_objects *objects = x->objects;   /* launches in flight hold their own */
        x->objects = y->objects;
        y->objects = objects;
    }
    cji_sim_graph_exec_drop(y);
    return r;
}

CUresult cji_sim_cuGraphExecUpdate_v2(CUgraphExec h, CUgraph hg, CUgraphExecUpdateResultInfo *info)
{
    sim_graph_exec *x;
    sim_graph *g;
    if (!info) return CUDA_ERROR_INVALID_VALUE;
    memset(info, 0, sizeof *info);
    sim_lock();
    CUresult r = cji_sim_graph_exec_get(h, &x);
    if (!r) r = cji_sim_graph_get(hg, &g);
    if (!r) r = sim_graph_exec_update(x, g, info);
    sim_unlock();
    return r;
}

CUresult cji_sim_cuGraphExecUpdate(CUgraphExec h, CUgraph hg, CUgraphNode *node, CUgraphExecUpdateResult *result)
{
    CUgraphExecUpdateResultInfo info;
    CUresult r = cji_sim_cuGraphExecUpdate_v2(h, hg, &info);
    if (node) *node = info.errorNode;
    /* Another number of nodes: the newer call returns "topology changed", this one "not supported" (as measured). */
    bool count = info.result == CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED && !info.errorNode;
    if (result) *result = count ? CU_GRAPH_EXEC_UPDATE_ERROR_NOT_SUPPORTED : info.result;
    return r;
}

/* ---- One node's parameters; launches in flight keep theirs ------------------------------------------------------- */

static CUresult sim_step_of(CUgraphExec h, CUgraphNode hn, CUgraphNodeType type, sim_graph_step **out)
{
    sim_graph_exec *x;
    sim_node *n;
    CUresult r = cji_sim_graph_exec_get(h, &x);
    if (!r) r = cji_sim_node_get(hn, &n);
    if (r) return r;
    for (size_t i = 0; i < x->nstep; i++) {
        sim_graph_step *s = &x->step[i];
        if (s->node != n->id) continue;
        *out = s;
        return s->type == type ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_ERROR_INVALID_VALUE;
}

static CUresult sim_step_set(CUgraphExec h, CUgraphNode hn, CUgraphNodeParams *p)
{
    sim_graph_step *s;
    sim_work *w;
    sim_lock();
    CUresult r = sim_step_of(h, hn, p->type, &s);
    if (!r) r = cji_sim_node_work(p, NULL, &w);
    if (!r && w->kind->replaces && !w->kind->replaces(s->work, w)) {
        cji_sim_work_drop(w);
        r = CUDA_ERROR_INVALID_VALUE;
    }
    if (!r) {
        cji_sim_work_drop(s->work);
        s->work = w;
    }
    sim_unlock();
    return r;
}

CUresult cji_sim_cuGraphExecKernelNodeSetParams(CUgraphExec h, CUgraphNode hn, const CUDA_KERNEL_NODE_PARAMS_v2 *p)
{
    return p ? sim_step_set(h, hn, &(CUgraphNodeParams){ .type = CU_GRAPH_NODE_TYPE_KERNEL, .kernel = *p })
             : CUDA_ERROR_INVALID_VALUE;
}

CUresult cji_sim_cuGraphExecMemcpyNodeSetParams(CUgraphExec h, CUgraphNode hn, const CUDA_MEMCPY3D *p, CUcontext c)
{
    if (!p) return CUDA_ERROR_INVALID_VALUE;
    return sim_step_set(
        h, hn, &(CUgraphNodeParams){ .type = CU_GRAPH_NODE_TYPE_MEMCPY, .memcpy = { .copyCtx = c, .copyParams = *p } });
}

CUresult cji_sim_cuGraphExecMemsetNodeSetParams(CUgraphExec h, CUgraphNode hn, const CUDA_MEMSET_NODE_PARAMS *p,
                                                CUcontext c)
{
    if (!p) return CUDA_ERROR_INVALID_VALUE;
    CUgraphNodeParams q = cji_sim_fill_block(p, c);
    return sim_step_set(h, hn, &q);
}

CUresult cji_sim_cuGraphExecHostNodeSetParams(CUgraphExec h, CUgraphNode hn, const CUDA_HOST_NODE_PARAMS *p)
{
    return p ? sim_step_set(h, hn, &(CUgraphNodeParams){ .type = CU_GRAPH_NODE_TYPE_HOST, .host = *p })
             : CUDA_ERROR_INVALID_VALUE;
}

CUresult cji_sim_cuGraphExecEventRecordNodeSetEvent(CUgraphExec h, CUgraphNode hn, CUevent e)
{
    return sim_step_set(h, hn, &(CUgraphNodeParams){ .type = CU_GRAPH_NODE_TYPE_EVENT_RECORD, .eventRecord = { e } });
}

CUresult cji_sim_cuGraphExecEventWaitNodeSetEvent(CUgraphExec h, CUgraphNode hn, CUevent e)
{
    return sim_step_set(h, hn, &(CUgraphNodeParams){ .type = CU_GRAPH_NODE_TYPE_WAIT_EVENT, .eventWait = { e } });
}

CUresult cji_sim_cuGraphExecBatchMemOpNodeSetParams(CUgraphExec h, CUgraphNode hn,
                                                    const CUDA_BATCH_MEM_OP_NODE_PARAMS *p)
{
    if (!p) return CUDA_ERROR_INVALID_VALUE;
    CUgraphNodeParams all = { .type = CU_GRAPH_NODE_TYPE_BATCH_MEM_OP };
    all.memOp = *p;
    return sim_step_set(h, hn, &all);
}

/* Whether the steps between the two marks of a child are those of `y`; its roots come after the first mark. */
static bool sim_child_fits(const sim_graph_exec *x, size_t first, size_t last, const sim_graph_exec *y)
{
    if (last - first - 1 != y->nstep) return false;
    for (size_t i = 0; i < y->nstep; i++) {
        const sim_graph_step *a = &x->step[first + 1 + i], *b = &y->step[i];
        if (a->nbefore != (b->nbefore ? b->nbefore : 1) || sim_compare_steps(a, b)) return false;
        if (!b->nbefore && a->before[0] != first) return false;
        for (size_t k = 0; k < b->nbefore; k++)
            if (a->before[k] != b->before[k] + first + 1) return false;
    }
    return true;
}

CUresult cji_sim_cuGraphExecChildGraphNodeSetParams(CUgraphExec h, CUgraphNode hn, CUgraph child)
{
    sim_graph_step *s;
    sim_graph *g;
    sim_lock();
    CUresult r = sim_step_of(h, hn, CU_GRAPH_NODE_TYPE_GRAPH, &s);
    if (!r) r = cji_sim_graph_get(child, &g);
    sim_graph_exec *x = (sim_graph_exec *)h, *y = r ? NULL : cji_sim_graph_exec_make(g, &r);
    if (!r && !sim_child_fits(x, s->first, (size_t)(s - x->step), y)) r = CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
    for (size_t i = 0; !r && i < y->nstep; i++) sim_swap_works(&x->step[s->first + 1 + i], &y->step[i]);
    cji_sim_graph_exec_drop(y);
    sim_unlock();
    return r;
}

CUresult cji_sim_cuGraphExecNodeSetParams(CUgraphExec h, CUgraphNode hn, CUgraphNodeParams *p)
{
    if (!p) return CUDA_ERROR_INVALID_VALUE;
    switch (p->type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
    case CU_GRAPH_NODE_TYPE_MEMCPY:
    case CU_GRAPH_NODE_TYPE_MEMSET:
    case CU_GRAPH_NODE_TYPE_HOST:
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP: return sim_step_set(h, hn, p);
    case CU_GRAPH_NODE_TYPE_GRAPH: return cji_sim_cuGraphExecChildGraphNodeSetParams(h, hn, p->graph.graph);
    default: return CUDA_ERROR_NOT_SUPPORTED;
    }
}

/* ---- Switching nodes off ----------------------------------------------------------------------------------------- */

static CUresult sim_step_switched(CUgraphExec h, CUgraphNode hn, sim_graph_step **out)
{
    sim_node *n;
    CUresult r = cji_sim_node_get(hn, &n);
    if (r) return r;
    if (n->type != CU_GRAPH_NODE_TYPE_KERNEL && n->type != CU_GRAPH_NODE_TYPE_MEMCPY &&
        n->type != CU_GRAPH_NODE_TYPE_MEMSET)
        return CUDA_ERROR_INVALID_VALUE;
    return sim_step_of(h, hn, n->type, out);
}

CUresult cji_sim_cuGraphNodeSetEnabled(CUgraphExec h, CUgraphNode hn, unsigned on)
{
    sim_graph_step *s;
    sim_lock();
    CUresult r = sim_step_switched(h, hn, &s);
    if (!r) s->enabled = on != 0;
    sim_unlock();
    return r;
}

CUresult cji_sim_cuGraphNodeGetEnabled(CUgraphExec h, CUgraphNode hn, unsigned *on)
{
    sim_graph_step *s;
    if (!on) return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    CUresult r = sim_step_switched(h, hn, &s);
    if (!r) *on = s->enabled;
    sim_unlock();
    return r;
}
