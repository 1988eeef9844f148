/* Nodes: made, read and changed. Each call comes down to a parameter block, which the kind of work reads and
 * writes. */
#include "sim/graph/sim_graph.h"

#include <string.h>

/* ---- By a parameter block: what all the calls come down to ------------------------------------------------------ */

CUgraphNodeParams cji_sim_fill_block(const CUDA_MEMSET_NODE_PARAMS *p, CUcontext h)
{
    return (CUgraphNodeParams){ .type = CU_GRAPH_NODE_TYPE_MEMSET,
                                .memset = { p->dst, p->pitch, p->value, p->elementSize, p->width, p->height, h } };
}

CUresult cji_sim_node_work(CUgraphNodeParams *p, sim_graph *g, sim_work **out)
{
    *out = NULL;
    if (p->type == CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL || p->type == CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT)
        return CUDA_ERROR_NOT_SUPPORTED;
    if (p->type == CU_GRAPH_NODE_TYPE_EMPTY) return g ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    const sim_work_kind *kind = cji_sim_work_kind(p->type);
    return kind && (g || !kind->fixed) ? kind->read_params(p, g, out) : CUDA_ERROR_INVALID_VALUE;
}

static CUresult sim_node_add(CUgraphNode *out, CUgraph h, const CUgraphNode *dep, size_t n, CUgraphNodeParams *p)
{
    sim_graph *g;
    sim_work *w;
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    CUresult r = cji_sim_graph_get(h, &g);
    if (!r) r = cji_sim_nodes_of(g, dep, n);
    if (!r) r = cji_sim_node_work(p, g, &w);
    if (!r) {
        sim_node *node =
            cji_sim_node_new(g, w, w ? w->kind->node_type : CU_GRAPH_NODE_TYPE_EMPTY, (sim_node *const *)dep, n);
        if (node) {
            *out = (CUgraphNode)node;
        } else {
            cji_sim_work_drop(w);
            r = CUDA_ERROR_OUT_OF_MEMORY;
        }
    }
    sim_unlock();
    return r;
}

static CUresult sim_node_set(CUgraphNode h, CUgraphNodeParams *p)
{
    sim_node *n;
    sim_work *w;
    sim_lock();
    CUresult r = cji_sim_node_typed(h, p->type, &n);
    if (!r) r = cji_sim_node_work(p, NULL, &w);
    if (!r) cji_sim_node_change(n, w);
    sim_unlock();
    return r;
}

/* Of a node of that type. */
static CUresult sim_node_params(CUgraphNode h, CUgraphNodeType type, CUgraphNodeParams *out)
{
    sim_node *n;
    memset(out, 0, sizeof *out);
    sim_lock();
    CUresult r = cji_sim_node_typed(h, type, &n);
    if (!r) n->work->kind->write_params(n->work, out);
    sim_unlock();
    return r;
}

CUresult cji_sim_cuGraphAddNode(CUgraphNode *out, CUgraph h, const CUgraphNode *dep, size_t n, CUgraphNodeParams *p)
{
    return p && !p->reserved2 ? sim_node_add(out, h, dep, n, p) : CUDA_ERROR_INVALID_VALUE;
}

CUresult cji_sim_cuGraphAddNode_v2(CUgraphNode *out, CUgraph h, const CUgraphNode *dep, const CUgraphEdgeData *data,
                                   size_t n, CUgraphNodeParams *p)
{
    return cji_sim_edges_plain(data, n) ? cji_sim_cuGraphAddNode(out, h, dep, n, p) : CUDA_ERROR_NOT_SUPPORTED;
}

CUresult cji_sim_cuGraphNodeSetParams(CUgraphNode h, CUgraphNodeParams *p)
{
    return p ? sim_node_set(h, p) : CUDA_ERROR_INVALID_VALUE;
}

/* ---- Kernels ----------------------------------------------------------------------------------------------------- */

CUresult cji_sim_cuGraphAddKernelNode(CUgraphNode *out, CUgraph h, const CUgraphNode *dep, size_t n,
                                      const CUDA_KERNEL_NODE_PARAMS_v2 *p)
{
    if (!p) return CUDA_ERROR_INVALID_VALUE;
    return sim_node_add(out, h, dep, n, &(CUgraphNodeParams){ .type = CU_GRAPH_NODE_TYPE_KERNEL, .kernel = *p });
}

CUresult cji_sim_cuGraphKernelNodeSetParams(CUgraphNode h, const CUDA_KERNEL_NODE_PARAMS_v2 *p)
{
    return p ? sim_node_set(h, &(CUgraphNodeParams){ .type = CU_GRAPH_NODE_TYPE_KERNEL, .kernel = *p })
             : CUDA_ERROR_INVALID_VALUE;
}

/* ---- Copies and fills -------------------------------------------------------------------------------------------- */

CUresult cji_sim_cuGraphAddMemcpyNode(CUgraphNode *out, CUgraph h, const CUgraphNode *dep, size_t n,
                                      const CUDA_MEMCPY3D *p, CUcontext c)
{
    if (!p) return CUDA_ERROR_INVALID_VALUE;
    return sim_node_add(
        out, h, dep, n,
        &(CUgraphNodeParams){ .type = CU_GRAPH_NODE_TYPE_MEMCPY, .memcpy = { .copyCtx = c, .copyParams = *p } });
}

CUresult cji_sim_cuGraphMemcpyNodeGetParams(CUgraphNode h, CUDA_MEMCPY3D *p)
{
    CUgraphNodeParams all;
    if (!p) return CUDA_ERROR_INVALID_VALUE;
    CUresult r = sim_node_params(h, CU_GRAPH_NODE_TYPE_MEMCPY, &all);
    if (!r) *p = all.memcpy.copyParams;
    return r;
}

CUresult cji_sim_cuGraphMemcpyNodeSetParams(CUgraphNode h, const CUDA_MEMCPY3D *p)
{
    sim_node *n;
    sim_work *w;
    if (!p) return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    CUresult r = cji_sim_node_typed(h, CU_GRAPH_NODE_TYPE_MEMCPY, &n);
    if (!r) r = cji_sim_copy_node_work(p, n->work->ctx, &w);
    if (!r) cji_sim_node_change(n, w);
    sim_unlock();
    return r;
}

CUresult cji_sim_cuGraphAddMemsetNode(CUgraphNode *out, CUgraph h, const CUgraphNode *dep, size_t n,
                                      const CUDA_MEMSET_NODE_PARAMS *p, CUcontext c)
{
    if (!p) return CUDA_ERROR_INVALID_VALUE;
    CUgraphNodeParams q = cji_sim_fill_block(p, c);
    return sim_node_add(out, h, dep, n, &q);
}

CUresult cji_sim_cuGraphMemsetNodeGetParams(CUgraphNode h, CUDA_MEMSET_NODE_PARAMS *p)
{
    CUgraphNodeParams all;
    if (!p) return CUDA_ERROR_INVALID_VALUE;
    CUresult r = sim_node_params(h, CU_GRAPH_NODE_TYPE_MEMSET, &all);
    if (!r)
        *p = (CUDA_MEMSET_NODE_PARAMS){ all.memset.dst,         all.memset.pitch, all.memset.value,
                                        all.memset.elementSize, all.memset.width, all.memset.height };
    return r;
}

CUresult cji_sim_cuGraphMemsetNodeSetParams(CUgraphNode h, const CUDA_MEMSET_NODE_PARAMS *p)
{
    sim_node *n;
    sim_work *w;
    if (!p) return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    CUresult r = cji_sim_node_typed(h, CU_GRAPH_NODE_TYPE_MEMSET, &n);
    if (!r) r = cji_sim_fill_work(p, n->work->ctx, &w);
    if (!r) cji_sim_node_change(n, w);
    sim_unlock();
    return r;
}

/* ---- Host functions ---------------------------------------------------------------------------------------------- */

CUresult cji_sim_cuGraphAddHostNode(CUgraphNode *out, CUgraph h, const CUgraphNode *dep, size_t n,
                                    const CUDA_HOST_NODE_PARAMS *p)
{
    if (!p) return CUDA_ERROR_INVALID_VALUE;
    return sim_node_add(out, h, dep, n, &(CUgraphNodeParams){ .type = CU_GRAPH_NODE_TYPE_HOST, .host = *p });
}

CUresult cji_sim_cuGraphHostNodeGetParams(CUgraphNode h, CUDA_HOST_NODE_PARAMS *p)
{
    CUgraphNodeParams all;
    if (!p) return CUDA_ERROR_INVALID_VALUE;
    CUresult r = sim_node_params(h, CU_GRAPH_NODE_TYPE_HOST, &all);
    if (!r) *p = (CUDA_HOST_NODE_PARAMS){ all.host.fn, all.host.userData };
    return r;
}

CUresult cji_sim_cuGraphHostNodeSetParams(CUgraphNode h, const CUDA_HOST_NODE_PARAMS *p)
{
    return p ? sim_node_set(h, &(CUgraphNodeParams){ .type = CU_GRAPH_NODE_TYPE_HOST, .host = *p })
             : CUDA_ERROR_INVALID_VALUE;
}

/* ---- Child graphs, empty nodes, events --------------------------------------------------------------------------- */

CUresult cji_sim_cuGraphAddChildGraphNode(CUgraphNode *out, CUgraph h, const CUgraphNode *dep, size_t n, CUgraph child)
{
    if (child == h) return CUDA_ERROR_INVALID_VALUE;
    return sim_node_add(out, h, dep, n,
                        &(CUgraphNodeParams){ .type = CU_GRAPH_NODE_TYPE_GRAPH,
                                              .graph = { child, CU_GRAPH_CHILD_GRAPH_OWNERSHIP_CLONE } });
}

CUresult cji_sim_cuGraphChildGraphNodeGetGraph(CUgraphNode h, CUgraph *out)
{
    CUgraphNodeParams all;
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    CUresult r = sim_node_params(h, CU_GRAPH_NODE_TYPE_GRAPH, &all);
    if (!r) *out = all.graph.graph;
    return r;
}

CUresult cji_sim_cuGraphAddEmptyNode(CUgraphNode *out, CUgraph h, const CUgraphNode *dep, size_t n)
{
    return sim_node_add(out, h, dep, n, &(CUgraphNodeParams){ .type = CU_GRAPH_NODE_TYPE_EMPTY });
}

CUresult cji_sim_cuGraphAddEventRecordNode(CUgraphNode *out, CUgraph h, const CUgraphNode *dep, size_t n, CUevent e)
{
    return sim_node_add(out, h, dep, n,
                        &(CUgraphNodeParams){ .type = CU_GRAPH_NODE_TYPE_EVENT_RECORD, .eventRecord = { e } });
}

CUresult cji_sim_cuGraphAddEventWaitNode(CUgraphNode *out, CUgraph h, const CUgraphNode *dep, size_t n, CUevent e)
{
    return sim_node_add(out, h, dep, n,
                        &(CUgraphNodeParams){ .type = CU_GRAPH_NODE_TYPE_WAIT_EVENT, .eventWait = { e } });
}

CUresult cji_sim_cuGraphEventRecordNodeGetEvent(CUgraphNode h, CUevent *out)
{
    CUgraphNodeParams all;
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    CUresult r = sim_node_params(h, CU_GRAPH_NODE_TYPE_EVENT_RECORD, &all);
    if (!r) *out = all.eventRecord.event;
    return r;
}

CUresult cji_sim_cuGraphEventWaitNodeGetEvent(CUgraphNode h, CUevent *out)
{
    CUgraphNodeParams all;
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    CUresult r = sim_node_params(h, CU_GRAPH_NODE_TYPE_WAIT_EVENT, &all);
    if (!r) *out = all.eventWait.event;
    return r;
}

CUresult cji_sim_cuGraphEventRecordNodeSetEvent(CUgraphNode h, CUevent e)
{
    return sim_node_set(h, &(CUgraphNodeParams){ .type = CU_GRAPH_NODE_TYPE_EVENT_RECORD, .eventRecord = { e } });
}

CUresult cji_sim_cuGraphEventWaitNodeSetEvent(CUgraphNode h, CUevent e)
{
    return sim_node_set(h, &(CUgraphNodeParams){ .type = CU_GRAPH_NODE_TYPE_WAIT_EVENT, .eventWait = { e } });
}

/* ---- Memory operations ------------------------------------------------------------------------------------------- */

CUresult cji_sim_cuGraphAddBatchMemOpNode(CUgraphNode *out, CUgraph h, const CUgraphNode *dep, size_t n,
                                          const CUDA_BATCH_MEM_OP_NODE_PARAMS *p)
{
    if (!p) return CUDA_ERROR_INVALID_VALUE;
    CUgraphNodeParams all = { .type = CU_GRAPH_NODE_TYPE_BATCH_MEM_OP };
    all.memOp = *p;
    return sim_node_add(out, h, dep, n, &all);
}

/* paramArray points at what belongs to the node, until it is changed or destroyed. */
CUresult cji_sim_cuGraphBatchMemOpNodeGetParams(CUgraphNode h, CUDA_BATCH_MEM_OP_NODE_PARAMS *p)
{
    CUgraphNodeParams all;
    if (!p) return CUDA_ERROR_INVALID_VALUE;
    CUresult r = sim_node_params(h, CU_GRAPH_NODE_TYPE_BATCH_MEM_OP, &all);
    if (!r) *p = all.memOp;
    return r;
}

CUresult cji_sim_cuGraphBatchMemOpNodeSetParams(CUgraphNode h, const CUDA_BATCH_MEM_OP_NODE_PARAMS *p)
{
    if (!p) return CUDA_ERROR_INVALID_VALUE;
    CUgraphNodeParams all = { .type = CU_GRAPH_NODE_TYPE_BATCH_MEM_OP };
    all.memOp = *p;
    return cji_sim_cuGraphNodeSetParams(h, &all);
}
