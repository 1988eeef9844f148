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

static CUDA_KERNEL_NODE_PARAMS_v2 sim_params_of(const CUDA_KERNEL_NODE_PARAMS_v1 *p)
{
    return (CUDA_KERNEL_NODE_PARAMS_v2){ .func = p->func,
                                         .gridDimX = p->gridDimX,
                                         .gridDimY = p->gridDimY,
                                         .gridDimZ = p->gridDimZ,
                                         .blockDimX = p->blockDimX,
                                         .blockDimY = p->blockDimY,
                                         .blockDimZ = p->blockDimZ,
                                         .sharedMemBytes = p->sharedMemBytes,
                                         .kernelParams = p->kernelParams,
                                         .extra = p->extra };
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
    if (r) return r;
    *out = (CUDA_KERNEL_NODE_PARAMS_v1){ .func = p.func,
                                         .gridDimX = p.gridDimX,
                                         .gridDimY = p.gridDimY,
                                         .gridDimZ = p.gridDimZ,
                                         .blockDimX = p.blockDimX,
                                         .blockDimY = p.blockDimY,
                                         .blockDimZ = p.blockDimZ,
                                         .sharedMemBytes = p.sharedMemBytes,
                                         .kernelParams = p.kernelParams,
                                         .extra = p.extra };
    return CUDA_SUCCESS;
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

CUresult cji_sim_cuGraphNodeGetDependencies_v2(CUgraphNode h, CUgraphNode *nodes, CUgraphEdgeData *data, size_t *count)
{
    if (data && !nodes) return CUDA_ERROR_INVALID_VALUE;
    CUresult r = cji_sim_cuGraphNodeGetDependencies(h, nodes, count);
    if (!r && data) memset(data, 0, *count * sizeof *data);
    return r;
}

CUresult cji_sim_cuGraphNodeGetDependentNodes_v2(CUgraphNode h, CUgraphNode *nodes, CUgraphEdgeData *data,
                                                 size_t *count)
{
    if (data && !nodes) return CUDA_ERROR_INVALID_VALUE;
    CUresult r = cji_sim_cuGraphNodeGetDependentNodes(h, nodes, count);
    if (!r && data) memset(data, 0, *count * sizeof *data);
    return r;
}

CUresult cji_sim_cuGraphRemoveDependencies_v2(CUgraph g, const CUgraphNode *from, const CUgraphNode *to,
                                              const CUgraphEdgeData *data, size_t n)
{
    return cji_sim_edges_plain(data, n) ? cji_sim_cuGraphRemoveDependencies(g, from, to, n)
                                        : CUDA_ERROR_INVALID_VALUE;
}
