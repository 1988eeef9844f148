/* Nodes: made, read and changed, one pair of functions for each kind of work. */
#include "sim/sim_core.h"
#include "sim/sim_device.h"
#include "sim/sim_graph_exec.h"
#include "sim/sim_graph.h"
#include "sim/sim_module.h"
#include "sim/sim_queue.h"
#include "sim/sim_stream.h"

#include <string.h>

/* ---- Common parts ------------------------------------------------------------------------------------------------ */

static CUresult sim_node_typed(CUgraphNode h, CUgraphNodeType type, sim_node **out)
{
    CUresult r = cji_sim_node_get(h, out);
    return r ? r : (*out)->type == type ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static void sim_node_change(sim_node *n, sim_work *w)
{
    cji_sim_work_drop(n->work);
    n->work = w;
    cji_free(n->param, n->nparam * sizeof *n->param);
    n->param = NULL;
    n->nparam = 0;
}

CUresult cji_sim_ctx_for(CUcontext h, sim_ctx **out)
{
    if (!h) return cji_sim_ctx_current(out);
    if (!cji_sim_handle_is(SIM_CTX, h)) return CUDA_ERROR_INVALID_CONTEXT;
    *out = (sim_ctx *)h;
    return (*out)->alive ? (*out)->fault : CUDA_ERROR_CONTEXT_IS_DESTROYED;
}

/* ---- Works from parameters --------------------------------------------------------------------------------------- */

static CUresult sim_kernel_work(const CUDA_KERNEL_NODE_PARAMS_v2 *p, sim_work **out)
{
    sim_func *f;
    if (!p->func) return p->kern ? CUDA_ERROR_NOT_SUPPORTED : CUDA_ERROR_INVALID_VALUE;
    CUresult r = cji_sim_func_get(p->func, &f);
    sim_shape s = { .grid = { p->gridDimX, p->gridDimY, p->gridDimZ }, .block = { p->blockDimX, p->blockDimY, p->blockDimZ }, .shared = p->sharedMemBytes };
    return r ? r : cji_sim_launch_work(f, &s, p->kernelParams, p->extra, out);
}

static CUresult sim_host_work(const CUDA_HOST_NODE_PARAMS *p, sim_work **out)
{
    sim_ctx *c;
    if (!p->fn) return CUDA_ERROR_INVALID_VALUE;
    CUresult r = cji_sim_ctx_current(&c);
    if (r) return r;
    sim_work *w = *out = cji_sim_work_new(SIM_HOST, c, 0);
    if (!w) return CUDA_ERROR_OUT_OF_MEMORY;
    w->host.fn = p->fn;
    w->host.user = p->userData;
    return CUDA_SUCCESS;
}

static CUresult sim_event_work(sim_verb verb, CUevent h, sim_work **out)
{
    sim_event *e;
    if (!h) return CUDA_ERROR_INVALID_VALUE;
    CUresult r = cji_sim_event_get(h, &e);
    if (r) return r;
    sim_work *w = *out = cji_sim_work_new(verb, e->ctx, 0);
    if (!w) return CUDA_ERROR_OUT_OF_MEMORY;
    w->event = e;
    e->refs++;
    return CUDA_SUCCESS;
}

static CUresult sim_clone_work(CUgraph h, sim_work **out)
{
    sim_graph *g;
    CUresult r = cji_sim_graph_get(h, &g);
    if (!r && g->once) r = CUDA_ERROR_NOT_SUPPORTED;
    if (r) return r;
    *out = cji_sim_child_work(g);
    return *out ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

static CUresult sim_memcpy_work(const CUDA_MEMCPY3D *p, CUcontext h, sim_work **out)
{
    sim_ctx *c;
    CUresult r = cji_sim_ctx_for(h, &c);
    if (!r && (!p->WidthInBytes || !p->Height || !p->Depth)) r = CUDA_ERROR_INVALID_VALUE;   /* a call copies nothing, a node does not */
    return r ? r : cji_sim_copy_node_work(p, c, out);
}

static CUresult sim_memset_work(const CUDA_MEMSET_NODE_PARAMS *p, CUcontext h, sim_work **out)
{
    sim_ctx *c;
    CUresult r = cji_sim_ctx_for(h, &c);
    if (!r && (!p->width || !p->height)) r = CUDA_ERROR_INVALID_VALUE;
    return r ? r : cji_sim_fill_work(p, c, out);
}

/* ---- By a parameter block: what all the calls come down to -------------------------------------------------------- */

CUgraphNodeParams cji_sim_fill_block(const CUDA_MEMSET_NODE_PARAMS *p, CUcontext h)
{
    return (CUgraphNodeParams){ .type = CU_GRAPH_NODE_TYPE_MEMSET, .memset = { p->dst, p->pitch, p->value, p->elementSize, p->width, p->height, h } };
}

CUresult cji_sim_node_work(CUgraphNodeParams *p, sim_graph *g, sim_work **out)
{
    *out = NULL;
    switch (p->type) {
    case CU_GRAPH_NODE_TYPE_KERNEL: return sim_kernel_work(&p->kernel, out);
    case CU_GRAPH_NODE_TYPE_MEMCPY: return sim_memcpy_work(&p->memcpy.copyParams, p->memcpy.copyCtx, out);
    case CU_GRAPH_NODE_TYPE_MEMSET: {
        CUDA_MEMSET_NODE_PARAMS m = { p->memset.dst, p->memset.pitch, p->memset.value, p->memset.elementSize, p->memset.width, p->memset.height };
        return sim_memset_work(&m, p->memset.ctx, out);
    }
    case CU_GRAPH_NODE_TYPE_HOST: return sim_host_work(&p->host, out);
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD: return sim_event_work(SIM_RECORD, p->eventRecord.event, out);
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT: return sim_event_work(SIM_WAIT, p->eventWait.event, out);
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP: return cji_sim_mem_ops_params(&p->memOp, out);
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL:
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT: return CUDA_ERROR_NOT_SUPPORTED;
    default: break;
    }
    if (!g) return CUDA_ERROR_INVALID_VALUE;
    CUresult r;
    switch (p->type) {
    case CU_GRAPH_NODE_TYPE_EMPTY: return CUDA_SUCCESS;
    case CU_GRAPH_NODE_TYPE_GRAPH: return p->graph.ownership == CU_GRAPH_CHILD_GRAPH_OWNERSHIP_CLONE ? sim_clone_work(p->graph.graph, out) : CUDA_ERROR_NOT_SUPPORTED;
    case CU_GRAPH_NODE_TYPE_CONDITIONAL: return cji_sim_cond_params(&p->conditional, out);
    case CU_GRAPH_NODE_TYPE_MEM_FREE:
        r = cji_sim_graph_mem_free_work(g, p->free.dptr, out);
        g->memory = g->once = true;   /* refused too, as measured */
        return r;
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
        r = cji_sim_graph_mem_params(g, &p->alloc, out);
        if (!r) p->alloc.dptr = (*out)->graph_mem.mem->at;
        return r;
    default: return CUDA_ERROR_INVALID_VALUE;
    }
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
        sim_node *node = cji_sim_node_new(g, w, cji_sim_work_node_type(w), (sim_node *const *)dep, n);
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
    CUresult r = sim_node_typed(h, p->type, &n);
    if (!r) r = cji_sim_node_work(p, NULL, &w);
    if (!r) sim_node_change(n, w);
    sim_unlock();
    return r;
}

CUresult cji_sim_cuGraphAddNode(CUgraphNode *out, CUgraph h, const CUgraphNode *dep, size_t n, CUgraphNodeParams *p)
{
    return p && !p->reserved2 ? sim_node_add(out, h, dep, n, p) : CUDA_ERROR_INVALID_VALUE;
}

CUresult cji_sim_cuGraphAddNode_v2(CUgraphNode *out, CUgraph h, const CUgraphNode *dep, const CUgraphEdgeData *data, size_t n, CUgraphNodeParams *p)
{
    return cji_sim_edges_plain(data, n) ? cji_sim_cuGraphAddNode(out, h, dep, n, p) : CUDA_ERROR_NOT_SUPPORTED;
}

CUresult cji_sim_cuGraphNodeSetParams(CUgraphNode h, CUgraphNodeParams *p) { return p ? sim_node_set(h, p) : CUDA_ERROR_INVALID_VALUE; }

/* ---- Kernels ----------------------------------------------------------------------------------------------------- */

CUresult cji_sim_cuGraphAddKernelNode(CUgraphNode *out, CUgraph h, const CUgraphNode *dep, size_t n, const CUDA_KERNEL_NODE_PARAMS_v2 *p)
{
    if (!p) return CUDA_ERROR_INVALID_VALUE;
    return sim_node_add(out, h, dep, n, &(CUgraphNodeParams){ .type = CU_GRAPH_NODE_TYPE_KERNEL, .kernel = *p });
}

/* kernelParams points at places that belong to the node, until it is changed or destroyed. */
CUresult cji_sim_cuGraphKernelNodeGetParams(CUgraphNode h, CUDA_KERNEL_NODE_PARAMS_v2 *p)
{
    sim_node *n;
    if (!p) return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    CUresult r = sim_node_typed(h, CU_GRAPH_NODE_TYPE_KERNEL, &n);
    if (!r) {
        sim_work *w = n->work;
        const cji_exec_kernel *k = w->launch.func->kernel;
        if (!n->param && k->nparam) {
            n->param = cji_zalloc(k->nparam * sizeof *n->param);
            n->nparam = n->param ? k->nparam : 0;
        }
        for (size_t i = 0; i < n->nparam; i++) n->param[i] = w->launch.params + k->param[i].offset;
        if (k->nparam && !n->param) r = CUDA_ERROR_OUT_OF_MEMORY;
        *p = (CUDA_KERNEL_NODE_PARAMS_v2){ .func = (CUfunction)w->launch.func, .gridDimX = w->launch.grid[0], .gridDimY = w->launch.grid[1], .gridDimZ = w->launch.grid[2],
                                           .blockDimX = w->launch.block[0], .blockDimY = w->launch.block[1], .blockDimZ = w->launch.block[2],
                                           .sharedMemBytes = w->launch.shared, .kernelParams = n->param, .ctx = (CUcontext)w->ctx };
    }
    sim_unlock();
    return r;
}

CUresult cji_sim_cuGraphKernelNodeSetParams(CUgraphNode h, const CUDA_KERNEL_NODE_PARAMS_v2 *p)
{
    return p ? sim_node_set(h, &(CUgraphNodeParams){ .type = CU_GRAPH_NODE_TYPE_KERNEL, .kernel = *p }) : CUDA_ERROR_INVALID_VALUE;
}

static CUresult sim_node_attribute(const sim_work *w, CUkernelNodeAttrID id, CUkernelNodeAttrValue *v)
{
    memset(v, 0, sizeof *v);
    switch (id) {
    case CU_LAUNCH_ATTRIBUTE_COOPERATIVE: v->cooperative = w->launch.cooperative; return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_PRIORITY: v->priority = w->launch.priority; return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
        if (w->launch.cluster[0] * w->launch.cluster[1] * w->launch.cluster[2] == 1) return CUDA_SUCCESS;   /* none: zeros */
        v->clusterDim.x = w->launch.cluster[0];
        v->clusterDim.y = w->launch.cluster[1];
        v->clusterDim.z = w->launch.cluster[2];
        return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN: v->memSyncDomain = w->launch.domain; return CUDA_SUCCESS;
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
    CUresult r = sim_node_typed(h, CU_GRAPH_NODE_TYPE_KERNEL, &n);
    if (!r) r = sim_node_attribute(n->work, id, v);
    sim_unlock();
    return r;
}

/* The node gets a work of its own with another shape and the same arguments. */
static CUresult sim_node_reshape(sim_node *n, const sim_shape *s)
{
    sim_work *old = n->work, *w;
    const cji_exec_kernel *k = old->launch.func->kernel;
    size_t bytes = k->param_bytes;
    void *extra[] = { CU_LAUNCH_PARAM_BUFFER_POINTER, old->launch.params, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes, CU_LAUNCH_PARAM_END };
    CUresult r = cji_sim_launch_work(old->launch.func, s, NULL, extra, &w);
    if (!r) sim_node_change(n, w);
    return r;
}

static sim_shape sim_shape_of(const sim_work *w)
{
    sim_shape s = { .shared = w->launch.shared, .cooperative = w->launch.cooperative, .has_priority = w->launch.has_priority, .priority = w->launch.priority,
                   .domain = w->launch.domain };
    memcpy(s.grid, w->launch.grid, sizeof s.grid);
    memcpy(s.block, w->launch.block, sizeof s.block);
    memcpy(s.cluster, w->launch.cluster, sizeof s.cluster);
    return s;
}

CUresult cji_sim_cuGraphKernelNodeSetAttribute(CUgraphNode h, CUkernelNodeAttrID id, const CUkernelNodeAttrValue *v)
{
    sim_node *n;
    if (!v) return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    CUresult r = sim_node_typed(h, CU_GRAPH_NODE_TYPE_KERNEL, &n);
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
    CUresult r = sim_node_typed(to, CU_GRAPH_NODE_TYPE_KERNEL, &a);
    if (!r) r = sim_node_typed(from, CU_GRAPH_NODE_TYPE_KERNEL, &b);
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

/* ---- Copies and fills -------------------------------------------------------------------------------------------- */

CUresult cji_sim_cuGraphAddMemcpyNode(CUgraphNode *out, CUgraph h, const CUgraphNode *dep, size_t n, const CUDA_MEMCPY3D *p, CUcontext c)
{
    if (!p) return CUDA_ERROR_INVALID_VALUE;
    return sim_node_add(out, h, dep, n, &(CUgraphNodeParams){ .type = CU_GRAPH_NODE_TYPE_MEMCPY, .memcpy = { .copyCtx = c, .copyParams = *p } });
}

CUresult cji_sim_cuGraphMemcpyNodeGetParams(CUgraphNode h, CUDA_MEMCPY3D *p)
{
    sim_node *n;
    if (!p) return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    CUresult r = sim_node_typed(h, CU_GRAPH_NODE_TYPE_MEMCPY, &n);
    if (!r) *p = n->work->copy.raw;
    sim_unlock();
    return r;
}

CUresult cji_sim_cuGraphMemcpyNodeSetParams(CUgraphNode h, const CUDA_MEMCPY3D *p)
{
    sim_node *n;
    sim_work *w;
    if (!p) return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    CUresult r = sim_node_typed(h, CU_GRAPH_NODE_TYPE_MEMCPY, &n);
    if (!r) r = cji_sim_copy_node_work(p, n->work->ctx, &w);
    if (!r) sim_node_change(n, w);
    sim_unlock();
    return r;
}

CUresult cji_sim_cuGraphAddMemsetNode(CUgraphNode *out, CUgraph h, const CUgraphNode *dep, size_t n, const CUDA_MEMSET_NODE_PARAMS *p, CUcontext c)
{
    if (!p) return CUDA_ERROR_INVALID_VALUE;
    CUgraphNodeParams q = cji_sim_fill_block(p, c);
    return sim_node_add(out, h, dep, n, &q);
}

CUresult cji_sim_cuGraphMemsetNodeGetParams(CUgraphNode h, CUDA_MEMSET_NODE_PARAMS *p)
{
    sim_node *n;
    if (!p) return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    CUresult r = sim_node_typed(h, CU_GRAPH_NODE_TYPE_MEMSET, &n);
    if (!r) {
        const sim_work *w = n->work;
        *p = (CUDA_MEMSET_NODE_PARAMS){ .dst = w->fill.dst, .pitch = w->fill.pitch, .value = w->fill.value, .elementSize = w->fill.element,
                                        .width = w->fill.width, .height = w->fill.height };
    }
    sim_unlock();
    return r;
}

CUresult cji_sim_cuGraphMemsetNodeSetParams(CUgraphNode h, const CUDA_MEMSET_NODE_PARAMS *p)
{
    sim_node *n;
    sim_work *w;
    if (!p) return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    CUresult r = sim_node_typed(h, CU_GRAPH_NODE_TYPE_MEMSET, &n);
    if (!r) r = cji_sim_fill_work(p, n->work->ctx, &w);
    if (!r) sim_node_change(n, w);
    sim_unlock();
    return r;
}

/* ---- Host functions ---------------------------------------------------------------------------------------------- */

CUresult cji_sim_cuGraphAddHostNode(CUgraphNode *out, CUgraph h, const CUgraphNode *dep, size_t n, const CUDA_HOST_NODE_PARAMS *p)
{
    if (!p) return CUDA_ERROR_INVALID_VALUE;
    return sim_node_add(out, h, dep, n, &(CUgraphNodeParams){ .type = CU_GRAPH_NODE_TYPE_HOST, .host = *p });
}

CUresult cji_sim_cuGraphHostNodeGetParams(CUgraphNode h, CUDA_HOST_NODE_PARAMS *p)
{
    sim_node *n;
    if (!p) return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    CUresult r = sim_node_typed(h, CU_GRAPH_NODE_TYPE_HOST, &n);
    if (!r) *p = (CUDA_HOST_NODE_PARAMS){ n->work->host.fn, n->work->host.user };
    sim_unlock();
    return r;
}

CUresult cji_sim_cuGraphHostNodeSetParams(CUgraphNode h, const CUDA_HOST_NODE_PARAMS *p)
{
    return p ? sim_node_set(h, &(CUgraphNodeParams){ .type = CU_GRAPH_NODE_TYPE_HOST, .host = *p }) : CUDA_ERROR_INVALID_VALUE;
}

/* ---- Child graphs, empty nodes, events --------------------------------------------------------------------------- */

CUresult cji_sim_cuGraphAddChildGraphNode(CUgraphNode *out, CUgraph h, const CUgraphNode *dep, size_t n, CUgraph child)
{
    if (child == h) return CUDA_ERROR_INVALID_VALUE;
    return sim_node_add(out, h, dep, n, &(CUgraphNodeParams){ .type = CU_GRAPH_NODE_TYPE_GRAPH, .graph = { child, CU_GRAPH_CHILD_GRAPH_OWNERSHIP_CLONE } });
}

CUresult cji_sim_cuGraphChildGraphNodeGetGraph(CUgraphNode h, CUgraph *out)
{
    sim_node *n;
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    CUresult r = sim_node_typed(h, CU_GRAPH_NODE_TYPE_GRAPH, &n);
    if (!r) *out = (CUgraph)n->work->child;
    sim_unlock();
    return r;
}

CUresult cji_sim_cuGraphAddEmptyNode(CUgraphNode *out, CUgraph h, const CUgraphNode *dep, size_t n)
{
    return sim_node_add(out, h, dep, n, &(CUgraphNodeParams){ .type = CU_GRAPH_NODE_TYPE_EMPTY });
}

static CUresult sim_get_event(CUgraphNode h, CUgraphNodeType type, CUevent *out)
{
    sim_node *n;
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    CUresult r = sim_node_typed(h, type, &n);
    if (!r) *out = (CUevent)n->work->event;
    sim_unlock();
    return r;
}

CUresult cji_sim_cuGraphAddEventRecordNode(CUgraphNode *out, CUgraph h, const CUgraphNode *dep, size_t n, CUevent e)
{
    return sim_node_add(out, h, dep, n, &(CUgraphNodeParams){ .type = CU_GRAPH_NODE_TYPE_EVENT_RECORD, .eventRecord = { e } });
}

CUresult cji_sim_cuGraphAddEventWaitNode(CUgraphNode *out, CUgraph h, const CUgraphNode *dep, size_t n, CUevent e)
{
    return sim_node_add(out, h, dep, n, &(CUgraphNodeParams){ .type = CU_GRAPH_NODE_TYPE_WAIT_EVENT, .eventWait = { e } });
}

CUresult cji_sim_cuGraphEventRecordNodeGetEvent(CUgraphNode h, CUevent *out) { return sim_get_event(h, CU_GRAPH_NODE_TYPE_EVENT_RECORD, out); }
CUresult cji_sim_cuGraphEventWaitNodeGetEvent(CUgraphNode h, CUevent *out) { return sim_get_event(h, CU_GRAPH_NODE_TYPE_WAIT_EVENT, out); }

CUresult cji_sim_cuGraphEventRecordNodeSetEvent(CUgraphNode h, CUevent e)
{
    return sim_node_set(h, &(CUgraphNodeParams){ .type = CU_GRAPH_NODE_TYPE_EVENT_RECORD, .eventRecord = { e } });
}

CUresult cji_sim_cuGraphEventWaitNodeSetEvent(CUgraphNode h, CUevent e)
{
    return sim_node_set(h, &(CUgraphNodeParams){ .type = CU_GRAPH_NODE_TYPE_WAIT_EVENT, .eventWait = { e } });
}
