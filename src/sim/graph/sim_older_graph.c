/* Calls of captures and graphs in older forms, and those whose edges have data: every edge here is an ordinary one. */
#include "sim/graph/sim_graph.h"

#include <stdio.h>
#include <string.h>

/* ---- Captures ---------------------------------------------------------------------------------------------------- */

CUresult cji_sim_cuStreamBeginCapture_v1(CUstream s)
{
    return cji_sim_cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_GLOBAL);
}

CUresult cji_sim_cuStreamGetCaptureInfo_v1(CUstream s, CUstreamCaptureStatus *status, cuuint64_t *id)
{
    return cji_sim_cuStreamGetCaptureInfo(s, status, id, NULL, NULL, NULL);
}

/* ---- Kernel nodes without a CUkernel ----------------------------------------------------------------------------- */

/* They are the first part of the later ones. */
_Static_assert(sizeof(CUDA_KERNEL_NODE_PARAMS_v1) == offsetof(CUDA_KERNEL_NODE_PARAMS_v2, kern), "v2 continues v1");

static CUDA_KERNEL_NODE_PARAMS_v2 sim_params_of(const CUDA_KERNEL_NODE_PARAMS_v1 *old)
{
    CUDA_KERNEL_NODE_PARAMS_v2 p = { .kern = NULL };
    memcpy(&p, old, sizeof *old);
    return p;
}

CUresult cji_sim_cuGraphAddKernelNode_v1(CUgraphNode *out, CUgraph g, const CUgraphNode *before, size_t n,
                                         const CUDA_KERNEL_NODE_PARAMS_v1 *old)
{
    if (!old) return CUDA_ERROR_INVALID_VALUE;
    CUDA_KERNEL_NODE_PARAMS_v2 p = sim_params_of(old);
    return cji_sim_cuGraphAddKernelNode(out, g, before, n, &p);
}

CUresult cji_sim_cuGraphKernelNodeGetParams_v1(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS_v1 *out)
{
    CUDA_KERNEL_NODE_PARAMS_v2 p;
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    CUresult r = cji_sim_cuGraphKernelNodeGetParams(node, &p);
    if (!r) memcpy(out, &p, sizeof *out);
    return r;
}

CUresult cji_sim_cuGraphKernelNodeSetParams_v1(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v1 *old)
{
    if (!old) return CUDA_ERROR_INVALID_VALUE;
    CUDA_KERNEL_NODE_PARAMS_v2 p = sim_params_of(old);
    return cji_sim_cuGraphKernelNodeSetParams(node, &p);
}

CUresult cji_sim_cuGraphExecKernelNodeSetParams_v1(CUgraphExec exec, CUgraphNode node,
                                                   const CUDA_KERNEL_NODE_PARAMS_v1 *old)
{
    if (!old) return CUDA_ERROR_INVALID_VALUE;
    CUDA_KERNEL_NODE_PARAMS_v2 p = sim_params_of(old);
    return cji_sim_cuGraphExecKernelNodeSetParams(exec, node, &p);
}

/* ---- Instantiation with a log ------------------------------------------------------------------------------------ */

CUresult cji_sim_cuGraphInstantiate_v1(CUgraphExec *out, CUgraph g, CUgraphNode *error_node, char *log, size_t bytes)
{
    CUDA_GRAPH_INSTANTIATE_PARAMS p = { .flags = 0 };
    CUresult r = cji_sim_cuGraphInstantiateWithParams(out, g, &p);
    const char *name = cji_cu_error_name((int)r);
    if (error_node) *error_node = p.hErrNode_out;
    if (log && bytes) snprintf(log, bytes, "%s", !r ? "" : name ? name : "unknown error");
    return r;
}

/* ---- Edges with data --------------------------------------------------------------------------------------------- */

/* The neighbours of a node as `list` gives them, and the data of the edges to them. */
static CUresult sim_list_with_data(CUresult (*list)(CUgraphNode h, CUgraphNode *nodes, size_t *count), CUgraphNode h,
                                   CUgraphNode *nodes, CUgraphEdgeData *data, size_t *count)
{
    if (data && !nodes) return CUDA_ERROR_INVALID_VALUE;
    CUresult r = list(h, nodes, count);
    if (!r && data) memset(data, 0, *count * sizeof *data);
    return r;
}

CUresult cji_sim_cuGraphNodeGetDependencies_v2(CUgraphNode h, CUgraphNode *nodes, CUgraphEdgeData *data, size_t *count)
{
    return sim_list_with_data(cji_sim_cuGraphNodeGetDependencies, h, nodes, data, count);
}

CUresult cji_sim_cuGraphNodeGetDependentNodes_v2(CUgraphNode h, CUgraphNode *nodes, CUgraphEdgeData *data,
                                                 size_t *count)
{
    return sim_list_with_data(cji_sim_cuGraphNodeGetDependentNodes, h, nodes, data, count);
}

CUresult cji_sim_cuGraphRemoveDependencies_v2(CUgraph g, const CUgraphNode *from, const CUgraphNode *to,
                                              const CUgraphEdgeData *data, size_t n)
{
    return cji_sim_edges_plain(data, n) ? cji_sim_cuGraphRemoveDependencies(g, from, to, n)
                                        : CUDA_ERROR_INVALID_VALUE;
}
