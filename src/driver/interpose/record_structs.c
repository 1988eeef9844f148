/* Structs that arguments point to: their bytes, and what is in them that is not plain. */
#include "driver/interpose/record_file.h"

enum { STRUCT_PARAMS = 1024, STRUCT_EXTRA = 5 }; /* parameters of a kernel; entries of a launch's extra array */

static uint64_t bits(const void *p) { return (uint64_t)(uintptr_t)p; }

static void struct_handle(cji_rec_build *b, size_t at, size_t offset, unsigned class, const void *handle)
{
    cji_rec_put_in(b, at, CJI_REC_HANDLE, class, bits(handle), 0, offset, NULL, 0);
}

static void struct_address(cji_rec_build *b, size_t at, size_t offset, uint64_t address)
{
    cji_rec_put_in(b, at, CJI_REC_ADDRESS, 0, address, 0, offset, NULL, 0);
}

/* A pointer at `offset` of the argument at `parent`, or an argument of its own. */
static size_t struct_memory(cji_rec_build *b, size_t parent, size_t offset, unsigned about, const void *p, size_t n)
{
    if (parent == SIZE_MAX) return cji_rec_put(b, CJI_REC_MEMORY, about, 0, 0, 0, p, n);
    return cji_rec_put_in(b, parent, CJI_REC_MEMORY, about, 0, 0, offset, p, n);
}

/* -- Launches ------------------------------------------------------------------------------------------------------ */

void cji_rec_launch_params(cji_rec_build *b, size_t parent, size_t offset, CUfunction fn, void **params)
{
    size_t at[STRUCT_PARAMS], size[STRUCT_PARAMS], n = 0;
    if (!params) {
        if (parent == SIZE_MAX) cji_rec_put(b, CJI_REC_VALUE, 0, 0, 0, 0, NULL, 0);
        return;
    }
    CUresult r = CUDA_SUCCESS;
    while (n < STRUCT_PARAMS && (r = b->cu->cuFuncGetParamInfo(fn, n, &at[n], &size[n])) == CUDA_SUCCESS) n++;
    if (r != CUDA_ERROR_INVALID_VALUE) { /* behind the last one */
        b->unknown = "the driver does not tell the parameters of kernels (CUDA 12.4 does)";
        return;
    }
    const size_t array = struct_memory(b, parent, offset, 0, params, n * sizeof *params);
    for (size_t i = 0; i < n; i++) struct_memory(b, array, i * 8, size[i] >= 8, params[i], size[i]);
}

void cji_rec_launch_extra(cji_rec_build *b, size_t parent, size_t offset, void **extra)
{
    void *packed[STRUCT_EXTRA] = { CU_LAUNCH_PARAM_BUFFER_POINTER, NULL, CU_LAUNCH_PARAM_BUFFER_SIZE, NULL,
                                   CU_LAUNCH_PARAM_END };
    const size_t *size = NULL;
    const void *buffer = NULL;
    for (int i = 0; extra && i < 4 && extra[i] != CU_LAUNCH_PARAM_END; i += 2) {
        if (extra[i] == CU_LAUNCH_PARAM_BUFFER_POINTER) buffer = extra[i + 1];
        if (extra[i] == CU_LAUNCH_PARAM_BUFFER_SIZE) size = extra[i + 1];
    }
    if (!buffer || !size) {
        if (parent == SIZE_MAX) cji_rec_put(b, CJI_REC_VALUE, 0, 0, 0, 0, NULL, 0);
        return;
    }
    const size_t array = struct_memory(b, parent, offset, 0, packed, sizeof packed);
    struct_memory(b, array, 8, 1, buffer, *size);
    struct_memory(b, array, 24, 0, size, sizeof *size);
}

/* A value of an attribute; the bytes of unions that an attribute has not are not the program's. */
static void attribute_fields(cji_rec_build *b, size_t at, size_t offset, CUlaunchAttributeID id,
                             const CUlaunchAttributeValue *v)
{
    switch ((int)id) {
    case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
        struct_address(b, at, offset, bits(v->accessPolicyWindow.base_ptr));
        break;
    case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT:
        struct_handle(b, at, offset, CJI_HANDLE_EVENT, v->programmaticEvent.event);
        break;
    case CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT:
        struct_handle(b, at, offset, CJI_HANDLE_EVENT, v->launchCompletionEvent.event);
        break;
    case CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE:
        b->unknown = "a node that kernels update";
        break;
    default: break;
    }
}

static void put_launch_config(cji_rec_build *b, const void *p)
{
    const CUlaunchConfig *c = p;
    const size_t at = struct_memory(b, SIZE_MAX, 0, 0, c, sizeof *c);
    struct_handle(b, at, offsetof(CUlaunchConfig, hStream), CJI_HANDLE_STREAM, c->hStream);
    if (!c->numAttrs || !c->attrs) return;
    const size_t attrs =
        struct_memory(b, at, offsetof(CUlaunchConfig, attrs), 0, c->attrs, c->numAttrs * sizeof *c->attrs);
    for (unsigned i = 0; i < c->numAttrs; i++)
        attribute_fields(b, attrs, i * sizeof *c->attrs + offsetof(CUlaunchAttribute, value), c->attrs[i].id,
                         &c->attrs[i].value);
}

static void put_attribute(cji_rec_build *b, const void *p)
{
    const cji_cu_row *row = &cji_cu_rows[b->id];
    const size_t at = struct_memory(b, SIZE_MAX, 0, 0, p, sizeof(CUlaunchAttributeValue));
    for (int i = 0; i < row->count; i++)
        if (!strcmp(row->param[i].name, "attr")) attribute_fields(b, at, 0, (CUlaunchAttributeID)b->value[i], p);
}

/* -- Nodes: a part at `base` of what the argument at `at` points to ------------------------------------------------ */

static void kernel_fields(cji_rec_build *b, size_t at, size_t base, const CUDA_KERNEL_NODE_PARAMS_v2 *k)
{
    if (!k->func) {
        b->unknown = "a node of a CUkernel";
        return;
    }
    struct_handle(b, at, base + offsetof(CUDA_KERNEL_NODE_PARAMS_v2, func), CJI_HANDLE_FUNCTION, k->func);
    struct_handle(b, at, base + offsetof(CUDA_KERNEL_NODE_PARAMS_v2, ctx), CJI_HANDLE_CONTEXT, k->kern ? k->ctx : NULL);
    cji_rec_launch_params(b, at, base + offsetof(CUDA_KERNEL_NODE_PARAMS_v2, kernelParams), k->func, k->kernelParams);
    if (!k->kernelParams)
        cji_rec_launch_extra(b, at, base + offsetof(CUDA_KERNEL_NODE_PARAMS_v2, extra), k->extra);
}

static void copy_fields(cji_rec_build *b, size_t at, size_t base, const CUDA_MEMCPY3D *c)
{
    const size_t from = cji_rec_extent(c->srcPitch, c->srcHeight, c->srcXInBytes + c->WidthInBytes,
                                       c->srcY + c->Height, c->srcZ + c->Depth);
    const size_t to = cji_rec_extent(c->dstPitch, c->dstHeight, c->dstXInBytes + c->WidthInBytes,
                                     c->dstY + c->Height, c->dstZ + c->Depth);
    if (c->srcMemoryType == CU_MEMORYTYPE_HOST)
        cji_rec_put_in(b, at, CJI_REC_REGION, 0, bits(c->srcHost), from, base + offsetof(CUDA_MEMCPY3D, srcHost), NULL,
                       0);
    else if (c->srcMemoryType == CU_MEMORYTYPE_ARRAY)
        struct_handle(b, at, base + offsetof(CUDA_MEMCPY3D, srcArray), CJI_HANDLE_ARRAY, c->srcArray);
    else if (cji_rec_is_host(b->cu, c->srcDevice, NULL))
        cji_rec_put_in(b, at, CJI_REC_REGION, 0, c->srcDevice, from, base + offsetof(CUDA_MEMCPY3D, srcDevice), NULL,
                       0);
    else
        struct_address(b, at, base + offsetof(CUDA_MEMCPY3D, srcDevice), c->srcDevice);
    if (c->dstMemoryType == CU_MEMORYTYPE_HOST)
        cji_rec_put_in(b, at, CJI_REC_REGION, 0, bits(c->dstHost), to, base + offsetof(CUDA_MEMCPY3D, dstHost), NULL,
                       0);
    else if (c->dstMemoryType == CU_MEMORYTYPE_ARRAY)
        struct_handle(b, at, base + offsetof(CUDA_MEMCPY3D, dstArray), CJI_HANDLE_ARRAY, c->dstArray);
    else if (cji_rec_is_host(b->cu, c->dstDevice, NULL))
        cji_rec_put_in(b, at, CJI_REC_REGION, 0, c->dstDevice, to, base + offsetof(CUDA_MEMCPY3D, dstDevice), NULL, 0);
    else
        struct_address(b, at, base + offsetof(CUDA_MEMCPY3D, dstDevice), c->dstDevice);
}

void cji_rec_wait_place(cji_rec_build *b, uint64_t address)
{
    if (cji_rec_is_host(b->cu, address, NULL)) b->unknown = "it waits for host memory, which the host may write";
}

static void mem_op_fields(cji_rec_build *b, size_t at, size_t base, const CUstreamBatchMemOpParams *op, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        const size_t here = base + i * sizeof *op;
        if (op[i].operation == CU_STREAM_MEM_OP_WAIT_VALUE_32 || op[i].operation == CU_STREAM_MEM_OP_WAIT_VALUE_64)
            cji_rec_wait_place(b, op[i].waitValue.address);
        if (op[i].operation == CU_STREAM_MEM_OP_WAIT_VALUE_32 || op[i].operation == CU_STREAM_MEM_OP_WAIT_VALUE_64 ||
            op[i].operation == CU_STREAM_MEM_OP_WRITE_VALUE_32 || op[i].operation == CU_STREAM_MEM_OP_WRITE_VALUE_64)
            struct_address(b, at, here + offsetof(CUstreamBatchMemOpParams, waitValue.address),
                           op[i].waitValue.address);
    }
}

static void batch_fields(cji_rec_build *b, size_t at, size_t base, const CUDA_BATCH_MEM_OP_NODE_PARAMS *m)
{
    struct_handle(b, at, base + offsetof(CUDA_BATCH_MEM_OP_NODE_PARAMS, ctx), CJI_HANDLE_CONTEXT, m->ctx);
    const size_t ops = struct_memory(b, at, base + offsetof(CUDA_BATCH_MEM_OP_NODE_PARAMS, paramArray), 0,
                                     m->paramArray, m->count * sizeof *m->paramArray);
    mem_op_fields(b, ops, 0, m->paramArray, m->count);
}

static void alloc_fields(cji_rec_build *b, size_t at, size_t base, const CUDA_MEM_ALLOC_NODE_PARAMS *m)
{
    if (m->accessDescs && m->accessDescCount)
        struct_memory(b, at, base + offsetof(CUDA_MEM_ALLOC_NODE_PARAMS, accessDescs), 0, m->accessDescs,
                      m->accessDescCount * sizeof *m->accessDescs);
    if (b->result == CUDA_SUCCESS)
        cji_rec_put_in(b, at, CJI_REC_NEW_ADDRESS, 0, m->dptr, m->bytesize,
                       base + offsetof(CUDA_MEM_ALLOC_NODE_PARAMS, dptr), NULL, 0);
}

static void host_fields(cji_rec_build *b, size_t at, size_t base, const CUDA_HOST_NODE_PARAMS *h)
{
    cji_rec_put_in(b, at, CJI_REC_FUNCTION, CJI_REC_HOST_FN, bits((void *)(uintptr_t)h->fn), 0,
                   base + offsetof(CUDA_HOST_NODE_PARAMS, fn), NULL, 0);
}

static void conditional_fields(cji_rec_build *b, size_t at, size_t base, const CUDA_CONDITIONAL_NODE_PARAMS *c)
{
    cji_rec_put_in(b, at, CJI_REC_HANDLE, CJI_HANDLE_CONDITION, c->handle, 0,
                   base + offsetof(CUDA_CONDITIONAL_NODE_PARAMS, handle), NULL, 0);
    struct_handle(b, at, base + offsetof(CUDA_CONDITIONAL_NODE_PARAMS, ctx), CJI_HANDLE_CONTEXT, c->ctx);
    if (b->result == CUDA_SUCCESS && c->phGraph_out)
        cji_rec_put_in(b, at, CJI_REC_NEW_HANDLES, CJI_HANDLE_GRAPH, 0, c->size,
                       base + offsetof(CUDA_CONDITIONAL_NODE_PARAMS, phGraph_out), c->phGraph_out, c->size * 8);
}

static void put_node(cji_rec_build *b, const void *p)
{
    const CUgraphNodeParams *n = p;
    const size_t at = struct_memory(b, SIZE_MAX, 0, 0, n, sizeof *n);
    switch (n->type) {
    case CU_GRAPH_NODE_TYPE_KERNEL: kernel_fields(b, at, offsetof(CUgraphNodeParams, kernel), &n->kernel); break;
    case CU_GRAPH_NODE_TYPE_MEMCPY:
        struct_handle(b, at, offsetof(CUgraphNodeParams, memcpy.copyCtx), CJI_HANDLE_CONTEXT, n->memcpy.copyCtx);
        copy_fields(b, at, offsetof(CUgraphNodeParams, memcpy.copyParams), &n->memcpy.copyParams);
        break;
    case CU_GRAPH_NODE_TYPE_MEMSET:
        struct_address(b, at, offsetof(CUgraphNodeParams, memset.dst), n->memset.dst);
        struct_handle(b, at, offsetof(CUgraphNodeParams, memset.ctx), CJI_HANDLE_CONTEXT, n->memset.ctx);
        break;
    case CU_GRAPH_NODE_TYPE_HOST: host_fields(b, at, offsetof(CUgraphNodeParams, host), &n->host); break;
    case CU_GRAPH_NODE_TYPE_GRAPH:
        struct_handle(b, at, offsetof(CUgraphNodeParams, graph.graph), CJI_HANDLE_GRAPH, n->graph.graph);
        break;
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
        struct_handle(b, at, offsetof(CUgraphNodeParams, eventWait.event), CJI_HANDLE_EVENT, n->eventWait.event);
        break;
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
        struct_handle(b, at, offsetof(CUgraphNodeParams, eventRecord.event), CJI_HANDLE_EVENT, n->eventRecord.event);
        break;
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC: alloc_fields(b, at, offsetof(CUgraphNodeParams, alloc), &n->alloc); break;
    case CU_GRAPH_NODE_TYPE_MEM_FREE:
        struct_address(b, at, offsetof(CUgraphNodeParams, free.dptr), n->free.dptr);
        break;
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP: batch_fields(b, at, offsetof(CUgraphNodeParams, memOp), &n->memOp); break;
    case CU_GRAPH_NODE_TYPE_CONDITIONAL:
        conditional_fields(b, at, offsetof(CUgraphNodeParams, conditional), &n->conditional);
        break;
    case CU_GRAPH_NODE_TYPE_EMPTY: break;
    default: b->unknown = "a node of a type that recordings do not know"; break;
    }
}

static void put_kernel_node(cji_rec_build *b, const void *p)
{
    kernel_fields(b, struct_memory(b, SIZE_MAX, 0, 0, p, sizeof(CUDA_KERNEL_NODE_PARAMS_v2)), 0, p);
}

static void put_copy_node(cji_rec_build *b, const void *p)
{
    copy_fields(b, struct_memory(b, SIZE_MAX, 0, 0, p, sizeof(CUDA_MEMCPY3D)), 0, p);
}

static void put_memset_node(cji_rec_build *b, const void *p)
{
    struct_address(b, struct_memory(b, SIZE_MAX, 0, 0, p, sizeof(CUDA_MEMSET_NODE_PARAMS)), 0,
                   ((const CUDA_MEMSET_NODE_PARAMS *)p)->dst);
}

static void put_host_node(cji_rec_build *b, const void *p)
{
    host_fields(b, struct_memory(b, SIZE_MAX, 0, 0, p, sizeof(CUDA_HOST_NODE_PARAMS)), 0, p);
}

static void put_batch_node(cji_rec_build *b, const void *p)
{
    batch_fields(b, struct_memory(b, SIZE_MAX, 0, 0, p, sizeof(CUDA_BATCH_MEM_OP_NODE_PARAMS)), 0, p);
}

static void put_alloc_node(cji_rec_build *b, const void *p)
{
    alloc_fields(b, struct_memory(b, SIZE_MAX, 0, 0, p, sizeof(CUDA_MEM_ALLOC_NODE_PARAMS)), 0, p);
}

static void put_mem_ops(cji_rec_build *b, const void *p)
{
    const unsigned n = (unsigned)b->value[1]; /* cuStreamBatchMemOp */
    mem_op_fields(b, struct_memory(b, SIZE_MAX, 0, 0, p, n * sizeof(CUstreamBatchMemOpParams)), 0, p, n);
}

static void put_instantiate(cji_rec_build *b, const void *p)
{
    const CUDA_GRAPH_INSTANTIATE_PARAMS *i = p;
    const size_t at = struct_memory(b, SIZE_MAX, 0, 0, i, sizeof *i);
    struct_handle(b, at, offsetof(CUDA_GRAPH_INSTANTIATE_PARAMS, hUploadStream), CJI_HANDLE_STREAM, i->hUploadStream);
}

/* Without what is between and behind its fields. */
static void put_array(cji_rec_build *b, const void *p)
{
    const CUDA_ARRAY3D_DESCRIPTOR *from = p;
    CUDA_ARRAY3D_DESCRIPTOR a;
    memset(&a, 0, sizeof a);
    a.Width = from->Width, a.Height = from->Height, a.Depth = from->Depth;
    a.Format = from->Format, a.NumChannels = from->NumChannels, a.Flags = from->Flags;
    struct_memory(b, SIZE_MAX, 0, 0, &a, sizeof a);
}

static void put_resource(cji_rec_build *b, const void *p)
{
    const CUDA_RESOURCE_DESC *r = p;
    const size_t at = struct_memory(b, SIZE_MAX, 0, 0, r, sizeof *r), field = offsetof(CUDA_RESOURCE_DESC, res);
    if (r->resType == CU_RESOURCE_TYPE_ARRAY) struct_handle(b, at, field, CJI_HANDLE_ARRAY, r->res.array.hArray);
    else if (r->resType == CU_RESOURCE_TYPE_MIPMAPPED_ARRAY)
        struct_handle(b, at, field, CJI_HANDLE_MIPMAP, r->res.mipmap.hMipmappedArray);
    else struct_address(b, at, field, r->res.linear.devPtr); /* pitch2D begins with it too */
}

/* Copies between devices alone; those with a host side are record_copies.c's. */
static void put_copy_2d(cji_rec_build *b, const void *p)
{
    const CUDA_MEMCPY2D *c = p;
    const size_t at = struct_memory(b, SIZE_MAX, 0, 0, c, sizeof *c);
    struct_address(b, at, offsetof(CUDA_MEMCPY2D, srcDevice),
                   c->srcMemoryType == CU_MEMORYTYPE_ARRAY ? 0 : c->srcDevice);
    struct_address(b, at, offsetof(CUDA_MEMCPY2D, dstDevice),
                   c->dstMemoryType == CU_MEMORYTYPE_ARRAY ? 0 : c->dstDevice);
    if (c->srcMemoryType == CU_MEMORYTYPE_ARRAY)
        struct_handle(b, at, offsetof(CUDA_MEMCPY2D, srcArray), CJI_HANDLE_ARRAY, c->srcArray);
    if (c->dstMemoryType == CU_MEMORYTYPE_ARRAY)
        struct_handle(b, at, offsetof(CUDA_MEMCPY2D, dstArray), CJI_HANDLE_ARRAY, c->dstArray);
}

static void put_copy_peer(cji_rec_build *b, const void *p)
{
    const CUDA_MEMCPY3D_PEER *c = p;
    const size_t at = struct_memory(b, SIZE_MAX, 0, 0, c, sizeof *c);
    struct_address(b, at, offsetof(CUDA_MEMCPY3D_PEER, srcDevice),
                   c->srcMemoryType == CU_MEMORYTYPE_ARRAY ? 0 : c->srcDevice);
    struct_address(b, at, offsetof(CUDA_MEMCPY3D_PEER, dstDevice),
                   c->dstMemoryType == CU_MEMORYTYPE_ARRAY ? 0 : c->dstDevice);
    struct_handle(b, at, offsetof(CUDA_MEMCPY3D_PEER, srcContext), CJI_HANDLE_CONTEXT, c->srcContext);
    struct_handle(b, at, offsetof(CUDA_MEMCPY3D_PEER, dstContext), CJI_HANDLE_CONTEXT, c->dstContext);
    if (c->srcMemoryType == CU_MEMORYTYPE_ARRAY)
        struct_handle(b, at, offsetof(CUDA_MEMCPY3D_PEER, srcArray), CJI_HANDLE_ARRAY, c->srcArray);
    if (c->dstMemoryType == CU_MEMORYTYPE_ARRAY)
        struct_handle(b, at, offsetof(CUDA_MEMCPY3D_PEER, dstArray), CJI_HANDLE_ARRAY, c->dstArray);
}

/* -- All ----------------------------------------------------------------------------------------------------------- */

static const struct {
    const char *type;
    void (*put)(cji_rec_build *b, const void *p);
    size_t plain; /* bytes of a struct without anything special; `put` is NULL */
} struct_types[] = {
    { "CUlaunchConfig", put_launch_config, 0 },
    { "CUstreamAttrValue", put_attribute, 0 },
    { "CUkernelNodeAttrValue", put_attribute, 0 },
    { "CUgraphNodeParams", put_node, 0 },
    { "CUDA_KERNEL_NODE_PARAMS_v2", put_kernel_node, 0 },
    { "CUDA_MEMCPY3D", put_copy_node, 0 },
    { "CUDA_MEMCPY2D", put_copy_2d, 0 },
    { "CUDA_MEMCPY3D_PEER", put_copy_peer, 0 },
    { "CUDA_MEMSET_NODE_PARAMS", put_memset_node, 0 },
    { "CUDA_HOST_NODE_PARAMS", put_host_node, 0 },
    { "CUDA_BATCH_MEM_OP_NODE_PARAMS", put_batch_node, 0 },
    { "CUDA_MEM_ALLOC_NODE_PARAMS", put_alloc_node, 0 },
    { "CUstreamBatchMemOpParams", put_mem_ops, 0 },
    { "CUDA_GRAPH_INSTANTIATE_PARAMS", put_instantiate, 0 },
    { "CUDA_RESOURCE_DESC", put_resource, 0 },
    { "CUDA_ARRAY3D_DESCRIPTOR", put_array, 0 },
    { "CUDA_TEXTURE_DESC", NULL, sizeof(CUDA_TEXTURE_DESC) },
    { "CUDA_RESOURCE_VIEW_DESC", NULL, sizeof(CUDA_RESOURCE_VIEW_DESC) },
    { "CUmemPoolProps", NULL, sizeof(CUmemPoolProps) },
    { "CUmemAllocationProp", NULL, sizeof(CUmemAllocationProp) },
    { "CUmemLocation", NULL, sizeof(CUmemLocation) },
};

bool cji_rec_struct(cji_rec_build *b, const char *type, size_t n, uint64_t pointer)
{
    for (size_t i = 0; i < sizeof struct_types / sizeof *struct_types; i++) {
        if (strlen(struct_types[i].type) != n || memcmp(struct_types[i].type, type, n)) continue;
        const void *p = (const void *)(uintptr_t)pointer;
        if (!p) cji_rec_put(b, CJI_REC_VALUE, 0, 0, 0, 0, NULL, 0);
        else if (struct_types[i].put) struct_types[i].put(b, p);
        else struct_memory(b, SIZE_MAX, 0, 0, p, struct_types[i].plain);
        return true;
    }
    return false;
}
