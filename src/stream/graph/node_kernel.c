/* Nodes that work: kernels, copies, fills, host functions, events. */
#include "stream/graph/stream_graph.h"

#include <string.h>

/* -- Kernels --------------------------------------------------------------------------------------------------------- */

void cji_kernel_params(const cj_kernel *k, const cj_dims *d, void **args, CUDA_KERNEL_NODE_PARAMS_v2 *out)
{
    *out = (CUDA_KERNEL_NODE_PARAMS_v2){ .func = k->fn, .gridDimX = d->grid[0], .gridDimY = d->grid[1], .gridDimZ = d->grid[2],
                                         .blockDimX = d->block[0], .blockDimY = d->block[1], .blockDimZ = d->block[2],
                                         .sharedMemBytes = d->shared, .kernelParams = args };
}

/* The graph keeps the kernel, and the memory that its arguments point into. */
static cj_status kernel_node_retain(cji_adding *a, cj_kernel *k, const cj_arg *args, size_t count)
{
    cji_refset *refset = cji_graph_root(a->g)->refset;
    bool had = false;
    bool added = cji_refset_add(refset, CJI_REF_KERNEL, cji_obj_retain(k), &had);
    if (!added || had) cji_kernel_drop(k);
    if (!added) return cji_fail(a->node, CJ_ENOMEM, a->call, "no memory to keep the kernel alive for the graph");
    for (size_t i = 0; i < count; i++) {
        cj_status st = args[i].kind == CJ_ARG_PTR ? cji_mem_retain_argument(a->g->dev, refset, a->node, args[i].v.u, a->call) : CJ_OK;
        if (st != CJ_OK) return st;
    }
    return CJ_OK;
}

/* What the node's parameters have no place for. */
static CUresult kernel_node_attributes(cji_adding *a, const cj_dims *d)
{
    CUkernelNodeAttrValue value;
    CUresult r = CUDA_SUCCESS;
    memset(&value, 0, sizeof value);
    if (d->cluster[0]) {
        value.clusterDim.x = d->cluster[0];
        value.clusterDim.y = d->cluster[1] ? d->cluster[1] : 1;
        value.clusterDim.z = d->cluster[2] ? d->cluster[2] : 1;
        r = a->cu->cuGraphKernelNodeSetAttribute(a->raw, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, &value);
    }
    if (r == CUDA_SUCCESS && d->cooperative) {
        memset(&value, 0, sizeof value);
        value.cooperative = 1;
        r = a->cu->cuGraphKernelNodeSetAttribute(a->raw, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &value);
    }
    return r;
}

/* With everything checked and the arguments packed. */
static void kernel_node_add(cji_adding *a, cj_kernel *k, const cj_dims *dims, cji_pack *pack)
{
    CUDA_KERNEL_NODE_PARAMS_v2 p;
    cji_kernel_params(k, dims, pack->ptr, &p);
    if (!cji_adding_did(a, a->cu->cuGraphAddKernelNode(&a->raw, a->g->raw, a->dep, a->ndep, &p), "cuGraphAddKernelNode")) return;
    CUresult r = kernel_node_attributes(a, dims);
    if (r == CUDA_SUCCESS) {
        a->node->type = CU_GRAPH_NODE_TYPE_KERNEL;
        a->node->kernel = k;
        a->node->dims = *dims;
        return;
    }
    cji_adding_did(a, r, "cuGraphKernelNodeSetAttribute");
    a->cu->cuGraphDestroyNode(a->raw);
    a->raw = NULL;
}

/* A second argument that is an object of the driver side, checked into the node. */
static bool work_object(cji_adding *a, const void *object, cji_tag tag, const char *what)
{
    return cji_check_arg(a->node, object, tag, a->call, what) == CJ_OK;
}

cj_node *cj_graph_kernel_n(cj_graph *g, const cj_nodes *after, cj_kernel *k, const cj_dims *dims, const cj_arg *args, size_t count)
{
    static const char call[] = "cj_graph_kernel";
    cji_adding a;
    cji_pack pack;
    if (!cji_adding_begin(&a, g, after, call) || !work_object(&a, k, CJI_TAG_KERNEL, "the kernel")) return cji_adding_end(&a);
    cj_status st = CJ_OK;
    if (!dims) st = cji_fail(a.node, CJ_EINVAL, call, "the dimensions are NULL");
    else if (count && !args) st = cji_fail(a.node, CJ_EINVAL, call, "%zu arguments at NULL", count);
    else if (!cji_same_device(&k->dev->queue, g->queue))
        st = cji_fail(a.node, CJ_EINVAL, call, "kernel %s is loaded on device %d, the graph is for device %d", k->name, cj_device_ordinal(k->dev),
                      cj_device_ordinal(g->dev));
    if (st == CJ_OK) st = cji_dims_check(a.node, k, dims, call);
    if (st == CJ_OK) st = cji_kernel_pack(a.node, k, args, count, &pack, call);
    if (st != CJ_OK) return cji_adding_end(&a);
    st = kernel_node_retain(&a, k, args, count);
    CUresult r = st == CJ_OK ? cji_kernel_allow_shared(k, dims->shared) : CUDA_SUCCESS;
    if (r != CUDA_SUCCESS) st = cji_kernel_refused(a.node, k, r, "cuFuncSetAttribute", dims, call);
    if (st == CJ_OK) kernel_node_add(&a, k, dims, &pack);
    cji_pack_free(&pack);
    return cji_adding_end(&a);
}

cj_status cji_node_read(cj_node *n, void *into, const char *call)
{
    CUDA_KERNEL_NODE_PARAMS_v2 p;
    if (n->type != CU_GRAPH_NODE_TYPE_KERNEL) return cji_fail(into, CJ_EINVAL, call, "the node is no kernel");
    if (n->kernel) return CJ_OK;
    memset(&p, 0, sizeof p);
    CUresult r = n->graph->queue->cu->cuGraphKernelNodeGetParams(n->raw, &p);
    if (r != CUDA_SUCCESS) return cji_rejected(into, n->graph->dev, r, call, "cuGraphKernelNodeGetParams");
    n->kernel = p.func ? cji_refset_kernel(cji_graph_root(n->graph)->refset, p.func) : NULL;
    n->dims = (cj_dims){ .grid = { p.gridDimX, p.gridDimY, p.gridDimZ }, .block = { p.blockDimX, p.blockDimY, p.blockDimZ }, .shared = p.sharedMemBytes };
    if (n->kernel) return CJ_OK;
    return cji_fail(into, CJ_ENOTFOUND, call, "the node's kernel is none of cujit's, so its parameters are not known");
}

/* -- Copies ---------------------------------------------------------------------------------------------------------- */

typedef struct copy_ends { void *host_to; const void *host_from; uint64_t to, from; size_t bytes; } copy_ends; /* a host pointer, or an address */

static bool copy_end_retain(cji_adding *a, uint64_t addr, size_t bytes, const char *what)
{
    const cji_range at = { addr, bytes, what };
    return cji_mem_retain_in(a->g->dev, cji_graph_root(a->g)->refset, a->node, &at, a->call) == CJ_OK;
}

static cj_node *copy_node(cj_graph *g, const cj_nodes *after, const copy_ends *e, bool up, bool down, const char *call)
{
    cji_adding a;
    if (!cji_adding_begin(&a, g, after, call)) return cji_adding_end(&a);
    bool good = true;
    if (!e->bytes) good = cji_fail(a.node, CJ_EINVAL, call, "0 bytes; a node copies at least one") == CJ_OK;
    else if ((up && !e->host_from) || (down && !e->host_to)) good = cji_fail(a.node, CJ_EINVAL, call, "the host's address is NULL") == CJ_OK;
    else if (!up && !down && (e->to - e->from < e->bytes || e->from - e->to < e->bytes))
        good = cji_fail(a.node, CJ_EINVAL, call, "source and destination overlap") == CJ_OK;
    if (good && !down) good = copy_end_retain(&a, e->to, e->bytes, "the destination");
    if (good && !up) good = copy_end_retain(&a, e->from, e->bytes, "the source");
    if (!good) return cji_adding_end(&a);
    CUDA_MEMCPY3D p;
    memset(&p, 0, sizeof p);
    p.srcMemoryType = up ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
    p.dstMemoryType = down ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
    p.srcHost = e->host_from;
    p.dstHost = e->host_to;
    p.srcDevice = e->from;
    p.dstDevice = e->to;
    p.WidthInBytes = e->bytes;
    p.Height = p.Depth = 1;
    if (cji_adding_did(&a, a.cu->cuGraphAddMemcpyNode(&a.raw, g->raw, a.dep, a.ndep, &p, g->queue->ctx), "cuGraphAddMemcpyNode"))
        a.node->type = CU_GRAPH_NODE_TYPE_MEMCPY;
    return cji_adding_end(&a);
}

cj_node *cj_graph_copy_to_device(cj_graph *g, const cj_nodes *after, cj_dptr dst, const void *src, size_t bytes)
{
    return copy_node(g, after, &(copy_ends){ .to = dst.addr, .host_from = src, .bytes = bytes }, true, false, "cj_graph_copy_to_device");
}

cj_node *cj_graph_copy_to_host(cj_graph *g, const cj_nodes *after, void *dst, cj_dptr src, size_t bytes)
{
    return copy_node(g, after, &(copy_ends){ .host_to = dst, .from = src.addr, .bytes = bytes }, false, true, "cj_graph_copy_to_host");
}

cj_node *cj_graph_copy(cj_graph *g, const cj_nodes *after, cj_dptr dst, cj_dptr src, size_t bytes)
{
    return copy_node(g, after, &(copy_ends){ .to = dst.addr, .from = src.addr, .bytes = bytes }, false, false, "cj_graph_copy");
}

/* -- Fills ----------------------------------------------------------------------------------------------------------- */

typedef struct fill_job { uint64_t to; uint32_t value; unsigned width; size_t count; } fill_job; /* `width` bytes an element */

static cj_node *fill_node(cj_graph *g, const cj_nodes *after, const fill_job *f, const char *call)
{
    cji_adding a;
    if (!cji_adding_begin(&a, g, after, call)) return cji_adding_end(&a);
    bool good = true;
    if (!f->count) good = cji_fail(a.node, CJ_EINVAL, call, "0 elements; a node fills at least one") == CJ_OK;
    else if (f->to % f->width)
        good = cji_fail(a.node, CJ_EINVAL, call, "0x%llx is not aligned to %u bytes", (unsigned long long)f->to, f->width) == CJ_OK;
    else if (f->count > SIZE_MAX / f->width) good = cji_fail(a.node, CJ_EINVAL, call, "%zu elements are beyond any memory", f->count) == CJ_OK;
    if (!good || !copy_end_retain(&a, f->to, f->count * f->width, "the destination")) return cji_adding_end(&a);
    const CUDA_MEMSET_NODE_PARAMS p = { .dst = f->to, .value = f->value, .elementSize = f->width, .width = f->count, .height = 1 };
    if (cji_adding_did(&a, a.cu->cuGraphAddMemsetNode(&a.raw, g->raw, a.dep, a.ndep, &p, g->queue->ctx), "cuGraphAddMemsetNode"))
        a.node->type = CU_GRAPH_NODE_TYPE_MEMSET;
    return cji_adding_end(&a);
}

cj_node *cj_graph_fill8(cj_graph *g, const cj_nodes *after, cj_dptr d, uint8_t value, size_t count)
{
    return fill_node(g, after, &(fill_job){ d.addr, value, 1, count }, "cj_graph_fill8");
}

cj_node *cj_graph_fill16(cj_graph *g, const cj_nodes *after, cj_dptr d, uint16_t value, size_t count)
{
    return fill_node(g, after, &(fill_job){ d.addr, value, 2, count }, "cj_graph_fill16");
}

cj_node *cj_graph_fill32(cj_graph *g, const cj_nodes *after, cj_dptr d, uint32_t value, size_t count)
{
    return fill_node(g, after, &(fill_job){ d.addr, value, 4, count }, "cj_graph_fill32");
}

/* -- Host functions, events, nothing ---------------------------------------------------------------------------------- */

cj_node *cj_graph_host_func(cj_graph *g, const cj_nodes *after, void (*fn)(void *user), void *user)
{
    static const char call[] = "cj_graph_host_func";
    cji_adding a;
    if (!cji_adding_begin(&a, g, after, call)) return cji_adding_end(&a);
    const CUDA_HOST_NODE_PARAMS p = { fn, user };
    if (!fn) cji_fail(a.node, CJ_EINVAL, call, "the function is NULL");
    else if (cji_adding_did(&a, a.cu->cuGraphAddHostNode(&a.raw, g->raw, a.dep, a.ndep, &p), "cuGraphAddHostNode"))
        a.node->type = CU_GRAPH_NODE_TYPE_HOST;
    return cji_adding_end(&a);
}

/* The graph keeps the event. */
static bool event_node_retain(cji_adding *a, cj_event *e)
{
    bool had = false;
    bool added = cji_refset_add(cji_graph_root(a->g)->refset, CJI_REF_EVENT, cji_obj_retain(e), &had);
    if (!added || had) cji_event_drop(e);
    if (!added) cji_fail(a->node, CJ_ENOMEM, a->call, "no memory to keep the event alive for the graph");
    return added;
}

cj_node *cj_graph_event_record(cj_graph *g, const cj_nodes *after, cj_event *e)
{
    static const char call[] = "cj_graph_event_record";
    cji_adding a;
    if (!cji_adding_begin(&a, g, after, call) || !work_object(&a, e, CJI_TAG_EVENT, "the event")) return cji_adding_end(&a);
    if (!cji_same_device(e->queue, g->queue)) {
        cji_fail(a.node, CJ_EINVAL, call, "the event is of device %d, the graph for device %d; make an event for each device",
                 cj_device_ordinal(e->dev), cj_device_ordinal(g->dev));
    } else if (event_node_retain(&a, e) &&
               cji_adding_did(&a, a.cu->cuGraphAddEventRecordNode(&a.raw, g->raw, a.dep, a.ndep, e->raw), "cuGraphAddEventRecordNode")) {
        a.node->type = CU_GRAPH_NODE_TYPE_EVENT_RECORD;
        pthread_mutex_lock(&e->lock);
        e->recorded = true;
        pthread_mutex_unlock(&e->lock);
    }
    return cji_adding_end(&a);
}

cj_node *cj_graph_event_wait(cj_graph *g, const cj_nodes *after, cj_event *e)
{
    static const char call[] = "cj_graph_event_wait";
    cji_adding a;
    if (!cji_adding_begin(&a, g, after, call) || !work_object(&a, e, CJI_TAG_EVENT, "the event")) return cji_adding_end(&a);
    if (e->cu != a.cu)
        cji_fail(a.node, CJ_EINVAL, call, "graph and event belong to two drivers, which cannot wait for each other");
    else if (event_node_retain(&a, e) && cji_adding_did(&a, a.cu->cuGraphAddEventWaitNode(&a.raw, g->raw, a.dep, a.ndep, e->raw), "cuGraphAddEventWaitNode"))
        a.node->type = CU_GRAPH_NODE_TYPE_WAIT_EVENT;
    return cji_adding_end(&a);
}

cj_node *cj_graph_empty(cj_graph *g, const cj_nodes *after)
{
    cji_adding a;
    if (!cji_adding_begin(&a, g, after, "cj_graph_empty")) return cji_adding_end(&a);
    if (cji_adding_did(&a, a.cu->cuGraphAddEmptyNode(&a.raw, g->raw, a.dep, a.ndep), "cuGraphAddEmptyNode")) a.node->type = CU_GRAPH_NODE_TYPE_EMPTY;
    return cji_adding_end(&a);
}
