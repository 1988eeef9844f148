/* Nodes from recipes: see answers_recipes.h. */
#include "answers_recipes.h"

const char *const an_kind_names[AN_KINDS] = { "step", "leap",  "fill",  "copy", "host function", "empty", "record",
                                              "wait", "child", "batch", "if",   "allocation",    "free" };

/* ---- Parameters -------------------------------------------------------------------------------------------------- */

CUDA_KERNEL_NODE_PARAMS_v2 an_kernel_params(an_site *site, const an_recipe *r, unsigned i)
{
    site->to = an_word(site->tools, i);
    site->from = an_word(site->tools, r->from);
    site->n = r->n;
    site->params[0] = &site->to;
    site->params[1] = &site->from;
    site->params[2] = &site->n;
    return (CUDA_KERNEL_NODE_PARAMS_v2){ .func = r->kind == AN_LEAP ? site->tools->leap : site->tools->step,
                                         .gridDimX = 1,
                                         .gridDimY = 1,
                                         .gridDimZ = 1,
                                         .blockDimX = 1,
                                         .blockDimY = 1,
                                         .blockDimZ = 1,
                                         .kernelParams = site->params };
}

CUDA_MEMSET_NODE_PARAMS an_fill_params(an_site *site, const an_recipe *r, unsigned i)
{
    return (CUDA_MEMSET_NODE_PARAMS){
        .dst = an_word(site->tools, i), .value = r->n, .elementSize = 4, .width = 1, .height = 1
    };
}

CUDA_MEMCPY3D an_copy_params(an_site *site, const an_recipe *r, unsigned i)
{
    CUDA_MEMCPY3D c;
    memset(&c, 0, sizeof c);
    c.srcMemoryType = c.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    c.srcDevice = an_word(site->tools, r->from);
    c.dstDevice = an_word(site->tools, i);
    if (r->n % 4 == 0) {
        c.dstMemoryType = CU_MEMORYTYPE_HOST;
        c.dstHost = &site->tools->host[i];
    }
    c.WidthInBytes = 4;
    c.Height = c.Depth = 1;
    return c;
}

/* ---- Adding ------------------------------------------------------------------------------------------------------ */

static int an_add_if(an_site *site, CUgraph g, an_recipe *r, unsigned i, const CUgraphNode *deps, size_t n,
                     CUgraphNode *out)
{
    CUgraphConditionalHandle handle = 0;
    CUgraphNodeParams p;
    CUgraphNode inner;
    CUDA_MEMSET_NODE_PARAMS fill = an_fill_params(site, r, i);
    memset(&p, 0, sizeof p);
    int st = (int)cu.cuGraphConditionalHandleCreate(&handle, g, abi_ctx, r->n & 1, CU_GRAPH_COND_ASSIGN_DEFAULT);
    if (st) return st;
    p.type = CU_GRAPH_NODE_TYPE_CONDITIONAL;
    p.conditional =
        (CUDA_CONDITIONAL_NODE_PARAMS){ .handle = handle, .type = CU_GRAPH_COND_TYPE_IF, .size = 1, .ctx = abi_ctx };
    st = (int)cu.cuGraphAddNode(out, g, deps, n, &p);
    if (st) return st;
    return (int)cu.cuGraphAddMemsetNode(&inner, p.conditional.phGraph_out[0], NULL, 0, &fill, abi_ctx);
}

static int an_add_alloc(CUgraph g, an_recipe *r, const CUgraphNode *deps, size_t n, CUgraphNode *out)
{
    CUDA_MEM_ALLOC_NODE_PARAMS a;
    memset(&a, 0, sizeof a);
    a.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    a.poolProps.location = (CUmemLocation){ .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0 };
    a.bytesize = r->n + 1;
    int st = (int)cu.cuGraphAddMemAllocNode(out, g, deps, n, &a);
    if (!st && !r->given) r->given = a.dptr;
    return st;
}

static int an_add_batch(an_site *site, CUgraph g, an_recipe *r, unsigned i, const CUgraphNode *deps, size_t n,
                        CUgraphNode *out)
{
    CUstreamBatchMemOpParams op;
    CUDA_BATCH_MEM_OP_NODE_PARAMS b = { .ctx = abi_ctx, .count = 1, .paramArray = &op };
    memset(&op, 0, sizeof op);
    op.writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
    op.writeValue.address = an_word(site->tools, i);
    op.writeValue.value = r->n;
    return (int)cu.cuGraphAddBatchMemOpNode(out, g, deps, n, &b);
}

int an_add_node(an_site *site, CUgraph g, an_recipe *r, unsigned i, const CUgraphNode *deps, size_t n, CUgraphNode *out)
{
    CUDA_KERNEL_NODE_PARAMS_v2 k = an_kernel_params(site, r, i);
    CUDA_MEMSET_NODE_PARAMS fill = an_fill_params(site, r, i);
    CUDA_MEMCPY3D copy = an_copy_params(site, r, i);
    CUDA_HOST_NODE_PARAMS host = { an_noted, r->note };
    CUgraphNodeParams p;
    memset(&p, 0, sizeof p);
    if (cu.cuGraphAddNode && r->n % 3 == 0) {   /* every third by the general call */
        switch (r->kind) {
        case AN_STEP:
        case AN_LEAP:
            p.type = CU_GRAPH_NODE_TYPE_KERNEL;
            p.kernel = k;
            return (int)cu.cuGraphAddNode(out, g, deps, n, &p);
        case AN_FILL:
            p.type = CU_GRAPH_NODE_TYPE_MEMSET;
            p.memset = (CUDA_MEMSET_NODE_PARAMS_v2){
                .dst = fill.dst, .value = fill.value, .elementSize = 4, .width = 1, .height = 1, .ctx = abi_ctx
            };
            return (int)cu.cuGraphAddNode(out, g, deps, n, &p);
        case AN_COPY:
            p.type = CU_GRAPH_NODE_TYPE_MEMCPY;
            p.memcpy.copyCtx = abi_ctx;
            p.memcpy.copyParams = copy;
            return (int)cu.cuGraphAddNode(out, g, deps, n, &p);
        case AN_EMPTY: p.type = CU_GRAPH_NODE_TYPE_EMPTY; return (int)cu.cuGraphAddNode(out, g, deps, n, &p);
        default: break;
        }
    }
    switch (r->kind) {
    case AN_STEP: case AN_LEAP: return (int)cu.cuGraphAddKernelNode(out, g, deps, n, &k);
    case AN_FILL: return (int)cu.cuGraphAddMemsetNode(out, g, deps, n, &fill, abi_ctx);
    case AN_COPY: return (int)cu.cuGraphAddMemcpyNode(out, g, deps, n, &copy, abi_ctx);
    case AN_HOST: return (int)cu.cuGraphAddHostNode(out, g, deps, n, &host);
    case AN_EMPTY: return (int)cu.cuGraphAddEmptyNode(out, g, deps, n);
    case AN_RECORD: return (int)cu.cuGraphAddEventRecordNode(out, g, deps, n, site->event[r->n & 1]);
    case AN_WAIT: return (int)cu.cuGraphAddEventWaitNode(out, g, deps, n, site->event[r->n & 1]);
    case AN_CHILD: an_small_for(site, i); return (int)cu.cuGraphAddChildGraphNode(out, g, deps, n, site->small);
    case AN_BATCH: return an_add_batch(site, g, r, i, deps, n, out);
    case AN_IF: return an_add_if(site, g, r, i, deps, n, out);
    case AN_ALLOC: return an_add_alloc(g, r, deps, n, out);
    default: return (int)cu.cuGraphAddMemFreeNode(out, g, deps, n, r->given);
    }
}

/* ---- The small graph --------------------------------------------------------------------------------------------- */

static CUDA_KERNEL_NODE_PARAMS_v2 small_params(an_site *site, unsigned i)
{
    CUDA_KERNEL_NODE_PARAMS_v2 k = an_kernel_params(site, &(an_recipe){ .kind = AN_STEP, .n = 3, .from = AN_SPARE }, 0);
    site->to = an_word(site->tools, AN_NODES + i);
    return k;
}

void an_make_small(an_site *site)
{
    CUgraphNode end;
    if (!cu.cuInit) abi_load();
    if (cu.cuCtxGetCurrent(&abi_ctx)) tap_bail("no context");
    CUDA_KERNEL_NODE_PARAMS_v2 k = small_params(site, 0);
    if (cu.cuGraphCreate(&site->small, 0) || cu.cuGraphAddKernelNode(&site->small_step, site->small, NULL, 0, &k) ||
        cu.cuGraphAddEmptyNode(&end, site->small, &site->small_step, 1))
        tap_bail("no graph");
}

void an_small_for(an_site *site, unsigned i)
{
    CUDA_KERNEL_NODE_PARAMS_v2 k = small_params(site, i);
    if (cu.cuGraphKernelNodeSetParams(site->small_step, &k)) tap_bail("the small graph cannot be changed");
}
