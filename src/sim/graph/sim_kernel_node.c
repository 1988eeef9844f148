/* Kernel nodes: what is read of them, and their attributes. */
#include "sim/graph/sim_graph.h"

#include <string.h>

/* kernelParams points at places that belong to the node, until it is changed or destroyed. */
CUresult cji_sim_cuGraphKernelNodeGetParams(CUgraphNode h, CUDA_KERNEL_NODE_PARAMS_v2 *p)
{
    sim_node *n;
    if (!p) return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    CUresult r = cji_sim_node_typed(h, CU_GRAPH_NODE_TYPE_KERNEL, &n);
    if (!r) {
        sim_launch *w = (sim_launch *)n->work;
        const cji_exec_kernel *k = w->func->kernel;
        CUgraphNodeParams all;
        if (!n->param && k->nparam) {
            n->param = cji_zalloc(k->nparam * sizeof *n->param);
            n->nparam = n->param ? k->nparam : 0;
        }
        for (size_t i = 0; i < n->nparam; i++) n->param[i] = w->params + k->param[i].offset;
        if (k->nparam && !n->param) r = CUDA_ERROR_OUT_OF_MEMORY;
        n->work->kind->write_params(n->work, &all);
        *p = all.kernel;
        p->kernelParams = n->param;
    }
    sim_unlock();
    return r;
}

static CUresult sim_node_attribute(const sim_launch *w, CUkernelNodeAttrID id, CUkernelNodeAttrValue *v)
{
    memset(v, 0, sizeof *v);
    switch (id) {
    case CU_LAUNCH_ATTRIBUTE_COOPERATIVE: v->cooperative = w->shape.cooperative; return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_PRIORITY: v->priority = w->shape.priority; return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
        if (w->shape.cluster[0] * w->shape.cluster[1] * w->shape.cluster[2] == 1) return CUDA_SUCCESS; /* none: zeros */
        v->clusterDim.x = w->shape.cluster[0];
        v->clusterDim.y = w->shape.cluster[1];
        v->clusterDim.z = w->shape.cluster[2];
        return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN: v->memSyncDomain = w->shape.domain; return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP: v->memSyncDomainMap.remote = 1; return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
    case CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT: return CUDA_SUCCESS;
    default: return CUDA_ERROR_INVALID_VALUE;
    }
}

CUresult cji_sim_cuGraphKernelNodeGetAttribute(CUgraphNode h, CUkernelNodeAttrID id, CUkernelNodeAttrValue *v)
{
    sim_node *n;
    if (!v) return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    CUresult r = cji_sim_node_typed(h, CU_GRAPH_NODE_TYPE_KERNEL, &n);
    if (!r) r = sim_node_attribute((const sim_launch *)n->work, id, v);
    sim_unlock();
    return r;
}

/* The node gets a work of its own with another shape and the same arguments. */
static CUresult sim_node_reshape(sim_node *n, const sim_shape *s)
{
    sim_launch *old = (sim_launch *)n->work;
    sim_work *w;
    size_t bytes = old->func->kernel->param_bytes;
    void *extra[] = { CU_LAUNCH_PARAM_BUFFER_POINTER, old->params, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes,
                      CU_LAUNCH_PARAM_END };
    CUresult r = cji_sim_launch_work(old->func, s, NULL, extra, &w);
    if (!r) cji_sim_node_change(n, w);
    return r;
}

static sim_shape sim_shape_of(const sim_work *w) { return ((const sim_launch *)w)->shape; }

CUresult cji_sim_cuGraphKernelNodeSetAttribute(CUgraphNode h, CUkernelNodeAttrID id, const CUkernelNodeAttrValue *v)
{
    sim_node *n;
    if (!v) return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    CUresult r = cji_sim_node_typed(h, CU_GRAPH_NODE_TYPE_KERNEL, &n);
    if (!r) {
        sim_shape s = sim_shape_of(n->work);
        r = cji_sim_launch_attribute(id, v, &s);
        if (!r) r = sim_node_reshape(n, &s);
    }
    sim_unlock();
    return r;
}

CUresult cji_sim_cuGraphKernelNodeCopyAttributes(CUgraphNode to, CUgraphNode from)
{
    sim_node *a, *b;
    sim_lock();
    CUresult r = cji_sim_node_typed(to, CU_GRAPH_NODE_TYPE_KERNEL, &a);
    if (!r) r = cji_sim_node_typed(from, CU_GRAPH_NODE_TYPE_KERNEL, &b);
    if (!r) {
        sim_shape s = sim_shape_of(a->work), t = sim_shape_of(b->work);
        memcpy(s.cluster, t.cluster, sizeof s.cluster);
        s.cooperative = t.cooperative;
        s.has_priority = t.has_priority;
        s.priority = t.priority;
        s.domain = t.domain;
        r = sim_node_reshape(a, &s);
    }
    sim_unlock();
    return r;
}
