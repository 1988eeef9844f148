/* Kernel nodes. */
#include "stream/graph/stream_graph.h"

#include <string.h>

void cji_kernel_params(const cj_kernel *k, const cj_dims *d, void **args, CUDA_KERNEL_NODE_PARAMS_v2 *out)
{
    *out = (CUDA_KERNEL_NODE_PARAMS_v2){ .func = k->fn,
                                         .gridDimX = d->grid[0],
                                         .gridDimY = d->grid[1],
                                         .gridDimZ = d->grid[2],
                                         .blockDimX = d->block[0],
                                         .blockDimY = d->block[1],
                                         .blockDimZ = d->block[2],
                                         .sharedMemBytes = d->shared,
                                         .kernelParams = args };
}

/* The graph retains the kernel, and the memory that its arguments point into. */
static cj_status kernel_node_retain(cji_adding *a, cj_kernel *k, const cj_arg *args, size_t count)
{
    cji_refset *refset = cji_graph_root(a->g)->refset;
    bool had = false;
    bool added = cji_refset_add(refset, &cji_ref_kernel, cji_kernel_retain(k), &had);
    if (!added || had) cji_kernel_drop(k);
    if (!added) return cji_fail(a->node, CJ_ENOMEM, a->call, "no memory to keep the kernel alive for the graph");
    for (size_t i = 0; i < count; i++) {
        cj_status st = args[i].kind == CJ_ARG_PTR
                           ? cji_mem_retain_argument(a->g->dev, refset, a->node, args[i].v.u, a->call)
                           : CJ_OK;
        if (st != CJ_OK) return st;
    }
    return CJ_OK;
}

/* What the node's parameters have no place for. */
static CUresult kernel_node_attributes(cji_adding *a, const cj_dims *d)
{
    CUlaunchAttribute attr[CJI_LAUNCH_ATTRIBUTES];
    CUresult r = CUDA_SUCCESS;
    const unsigned n = cji_launch_config(NULL, d, attr).numAttrs;
    for (unsigned i = 0; i < n && r == CUDA_SUCCESS; i++)
        r = a->cu->cuGraphKernelNodeSetAttribute(a->raw, attr[i].id, &attr[i].value);
    return r;
}

/* Notes what the node launches; false without memory, which is recorded in `into`. */
static bool kernel_node_note(cj_node *n, cj_kernel *k, const cj_dims *dims, void *into, const char *call)
{
    n->launch = cji_alloc(sizeof *n->launch);
    if (!n->launch) return cji_fail(into, CJ_ENOMEM, call, "no memory for a kernel node") == CJ_OK;
    *n->launch = (cji_node_launch){ k, *dims };
    n->launch->dims.opts = NULL; /* the node has them */
    return true;
}

/* With everything checked and the arguments packed. */
static void kernel_node_add(cji_adding *a, cj_kernel *k, const cj_dims *dims, cji_pack *pack)
{
    CUDA_KERNEL_NODE_PARAMS_v2 p;
    if (!kernel_node_note(a->node, k, dims, a->node, a->call)) return;
    cji_kernel_params(k, dims, pack->ptr, &p);
    CUresult r = a->cu->cuGraphAddKernelNode(&a->raw, a->g->raw, a->dep, a->ndep, &p);
    if (!cji_adding_did(a, r, CU_GRAPH_NODE_TYPE_KERNEL, "cuGraphAddKernelNode")) return;
    r = kernel_node_attributes(a, dims);
    if (cji_adding_did(a, r, CU_GRAPH_NODE_TYPE_KERNEL, "cuGraphKernelNodeSetAttribute")) return;
    a->cu->cuGraphDestroyNode(a->raw);
    a->raw = NULL;
}

cj_node *cj_graph_kernel_n(cj_graph *g, const cj_nodes *after, cj_kernel *k, const cj_dims *dims, const cj_arg *args,
                           size_t count)
{
    static const char call[] = "cj_graph_kernel";
    cji_adding a;
    cji_pack pack;
    if (!cji_adding_begin(&a, g, after, call) || !cji_adding_object(&a, k, CJI_TAG_KERNEL, "the kernel"))
        return cji_adding_end(&a);
    cj_status st = CJ_OK;
    if (!dims) st = cji_fail(a.node, CJ_EINVAL, call, "the dimensions are NULL");
    else if (count && !args) st = cji_fail(a.node, CJ_EINVAL, call, "%zu arguments at NULL", count);
    else if (!cji_same_device(&k->dev->queue, g->queue))
        st = cji_cu_fail_apart(a.node, k->dev, g->dev, call,
                               "kernel %s is loaded on device %d, the graph is for device %d", cji_short(k->name),
                               cj_device_ordinal(k->dev), cj_device_ordinal(g->dev));
    if (st == CJ_OK) st = cji_dims_check(a.node, k, dims, call);
    if (st == CJ_OK) st = cji_kernel_pack(a.node, k, args, count, &pack, call);
    if (st != CJ_OK) return cji_adding_end(&a);
    st = kernel_node_retain(&a, k, args, count);
    CUresult r = st == CJ_OK ? cji_kernel_allow_shared(k, dims->shared) : CUDA_SUCCESS;
    if (r != CUDA_SUCCESS) st = cji_kernel_rejected(a.node, k, NULL, r, "cuFuncSetAttribute", dims, call);
    if (st == CJ_OK) kernel_node_add(&a, k, dims, &pack);
    cji_pack_free(&pack);
    return cji_adding_end(&a);
}

cj_status cji_node_read(cj_node *n, void *into, const char *call)
{
    CUDA_KERNEL_NODE_PARAMS_v2 p;
    if (n->type != CU_GRAPH_NODE_TYPE_KERNEL) return cji_fail(into, CJ_EINVAL, call, "the node is not a kernel node");
    if (n->launch) return CJ_OK;
    memset(&p, 0, sizeof p);
    CUresult r = n->graph->queue->cu->cuGraphKernelNodeGetParams(n->raw, &p);
    if (r != CUDA_SUCCESS) return cji_rejected(into, n->graph->dev, r, call, "cuGraphKernelNodeGetParams");
    cj_kernel *k = p.func ? cji_refset_kernel(cji_graph_root(n->graph)->refset, p.func) : NULL;
    if (!k)
        return cji_fail(into, CJ_ENOTFOUND, call,
                        "the node's kernel is none of cujit's, so its parameters are not known");
    const cj_dims dims = { .grid = { p.gridDimX, p.gridDimY, p.gridDimZ },
                           .block = { p.blockDimX, p.blockDimY, p.blockDimZ },
                           .shared = p.sharedMemBytes };
    return kernel_node_note(n, k, &dims, into, call) ? CJ_OK : CJ_ENOMEM;
}
