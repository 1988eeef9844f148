/* Memory of graphs: a fixed address, one life for each launch, the ways to free it (semantics 46, 68). */
#include "tests/conformance/driver_abi.h"

static CUmodule module;

static CUDA_MEM_ALLOC_NODE_PARAMS want(size_t bytes)
{
    CUDA_MEM_ALLOC_NODE_PARAMS p;
    memset(&p, 0, sizeof p);
    p.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    p.poolProps.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    p.bytesize = bytes;
    return p;
}

/* Allocates, sets to `value`, and appends 1 to it. */
static CUdeviceptr allocating(CUgraph g, unsigned value, CUgraphNode *last)
{
    CUDA_MEM_ALLOC_NODE_PARAMS p = want(1000), q;
    CUgraphNode alloc, set;
    abi_is(cu.cuGraphAddMemAllocNode(&alloc, g, NULL, 0, &p), CUDA_SUCCESS, "allocation node");
    tap_ok(p.dptr != 0, "its address is known at once");
    abi_is(cu.cuGraphMemAllocNodeGetParams(alloc, &q), CUDA_SUCCESS, "its parameters");
    tap_ok(q.dptr == p.dptr && q.bytesize == 1000, "as given");
    CUDA_MEMSET_NODE_PARAMS m = { .dst = p.dptr, .value = value, .elementSize = 4, .width = 1, .height = 1 };
    abi_is(cu.cuGraphAddMemsetNode(&set, g, &alloc, 1, &m, abi_ctx), CUDA_SUCCESS, "a fill of it");
    unsigned one = 1;
    void *params[] = { &p.dptr, &one };
    CUDA_KERNEL_NODE_PARAMS_v2 k = { .func = abi_kernel(&module, "append"), .gridDimX = 1, .gridDimY = 1, .gridDimZ = 1, .blockDimX = 1, .blockDimY = 1,
                                     .blockDimZ = 1, .kernelParams = params };
    abi_is(cu.cuGraphAddKernelNode(last, g, &set, 1, &k), CUDA_SUCCESS, "a kernel on it");
    return p.dptr;
}

static void freed_in_the_graph(void)
{
    CUgraph g, clone, outer;
    CUgraphExec x, y;
    CUgraphNode last, free, copy, child;
    CUstream s = abi_stream();
    CUdeviceptr p = abi_word(0), got = 0;
    cu.cuGraphCreate(&g, 0);
    cu.cuGraphCreate(&outer, 0);
    CUdeviceptr at = allocating(g, 4, &last);
    CUDA_MEMCPY3D c = { .srcMemoryType = CU_MEMORYTYPE_DEVICE, .srcDevice = at, .dstMemoryType = CU_MEMORYTYPE_DEVICE, .dstDevice = p, .WidthInBytes = 4, .Height = 1, .Depth = 1 };
    cu.cuGraphAddMemcpyNode(&copy, g, &last, 1, &c, abi_ctx);
    abi_is(cu.cuGraphAddMemFreeNode(&free, g, &copy, 1, at), CUDA_SUCCESS, "a free node");
    abi_is(cu.cuGraphMemFreeNodeGetParams(free, &got), CUDA_SUCCESS, "its address");
    tap_ok(got == at, "as given");
    abi_is(cu.cuGraphAddMemFreeNode(&free, g, &copy, 1, at), CUDA_ERROR_INVALID_VALUE, "freed twice in one graph");
    abi_is(cu.cuGraphAddMemFreeNode(&free, g, &copy, 1, p), CUDA_ERROR_INVALID_VALUE, "memory of no graph");
    tap_ok(cu.cuGraphDestroyNode(copy) != CUDA_SUCCESS, "such a graph keeps its nodes");
    tap_ok(cu.cuGraphClone(&clone, g) != CUDA_SUCCESS, "is not cloned");
    tap_ok(cu.cuGraphAddChildGraphNode(&child, outer, NULL, 0, g) != CUDA_SUCCESS, "is no child");
    abi_is(cu.cuGraphInstantiateWithFlags(&x, g, 0), CUDA_SUCCESS, "instantiate");
    tap_ok(cu.cuGraphInstantiateWithFlags(&y, g, 0) != CUDA_SUCCESS, "only one at a time");
    for (int i = 0; i < 2; i++) abi_is(cu.cuGraphLaunch(x, s), CUDA_SUCCESS, "launch");
    abi_is(cu.cuStreamSynchronize(s), CUDA_SUCCESS, "and again");
    tap_is_uint(abi_read(p), 41, "the memory was there");
    cu.cuGraphExecDestroy(x);
    abi_is(cu.cuGraphInstantiateWithFlags(&x, g, 0), CUDA_SUCCESS, "another one, later");
    cu.cuGraphExecDestroy(x);
    cu.cuGraphDestroy(g);
    cu.cuGraphDestroy(outer);
    cu.cuStreamDestroy(s);
    cu.cuMemFree(p);
}

static void freed_outside(void)
{
    CUgraph g, freeing;
    CUgraphExec x, y, z;
    CUgraphNode last, free;
    CUstream s = abi_stream();
    cu.cuGraphCreate(&g, 0);
    CUdeviceptr at = allocating(g, 7, &last);
    cu.cuGraphInstantiateWithFlags(&x, g, 0);
    abi_is(cu.cuGraphLaunch(x, s), CUDA_SUCCESS, "launch");
    abi_is(cu.cuGraphLaunch(x, s), CUDA_ERROR_INVALID_VALUE, "not again before it is freed");
    cu.cuStreamSynchronize(s);
    tap_is_uint(abi_read(at), 71, "the memory outlives the launch");
    abi_is(cu.cuMemFreeAsync(at, s), CUDA_SUCCESS, "freed in the stream");
    abi_is(cu.cuGraphLaunch(x, s), CUDA_SUCCESS, "now again");
    cu.cuStreamSynchronize(s);
    abi_is(cu.cuMemFree(at), CUDA_SUCCESS, "freed at once");
    cu.cuGraphCreate(&freeing, 0);
    abi_is(cu.cuGraphAddMemFreeNode(&free, freeing, NULL, 0, at), CUDA_SUCCESS, "a graph that frees another's");
    abi_is(cu.cuGraphInstantiateWithFlags(&y, freeing, 0), CUDA_SUCCESS, "instantiate");
    cu.cuGraphLaunch(x, s);
    abi_is(cu.cuGraphLaunch(y, s), CUDA_SUCCESS, "launched behind it");
    abi_is(cu.cuGraphLaunch(x, s), CUDA_SUCCESS, "a third time");
    abi_is(cu.cuStreamSynchronize(s), CUDA_SUCCESS, "all of it runs");
    cu.cuMemFree(at);
    cu.cuGraphExecDestroy(x);
    abi_is(cu.cuGraphInstantiateWithFlags(&z, g, CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH), CUDA_SUCCESS, "one that frees by itself");
    for (int i = 0; i < 3; i++) abi_is(cu.cuGraphLaunch(z, s), CUDA_SUCCESS, "launched as often as one likes");
    cu.cuStreamSynchronize(s);
    tap_is_uint(abi_read(at), 71, "and the last one's memory stays");
    cu.cuGraphExecDestroy(z);
    cu.cuGraphExecDestroy(y);
    cu.cuGraphDestroy(freeing);
    cu.cuGraphDestroy(g);
    abi_is(cu.cuMemFree(at), CUDA_SUCCESS, "even when the graph is gone");
    cu.cuStreamDestroy(s);
}

static void captured(void)
{
    CUgraph g = NULL;
    CUgraphExec x;
    CUgraphNode node[4];
    CUgraphNodeType type[4] = { CU_GRAPH_NODE_TYPE_EMPTY, CU_GRAPH_NODE_TYPE_EMPTY, CU_GRAPH_NODE_TYPE_EMPTY, CU_GRAPH_NODE_TYPE_EMPTY };
    size_t n = 4;
    CUstream s = abi_stream();
    CUdeviceptr at = 0, p = abi_word(0);
    cu.cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_RELAXED);
    abi_is(cu.cuMemAllocAsync(&at, 4, s), CUDA_SUCCESS, "an allocation in a capture");
    cu.cuMemsetD32Async(at, 9, 1, s);
    cu.cuMemcpyDtoDAsync(p, at, 4, s);
    abi_is(cu.cuMemFreeAsync(at, s), CUDA_SUCCESS, "freed in it");
    abi_is(cu.cuStreamEndCapture(s, &g), CUDA_SUCCESS, "end");
    abi_is(cu.cuGraphGetNodes(g, node, &n), CUDA_SUCCESS, "nodes");
    tap_is_uint(n, 4, "four");
    bool alloc = false, free = false;
    for (size_t i = 0; i < n; i++) {
        cu.cuGraphNodeGetType(node[i], &type[i]);
        alloc |= type[i] == CU_GRAPH_NODE_TYPE_MEM_ALLOC;
        free |= type[i] == CU_GRAPH_NODE_TYPE_MEM_FREE;
    }
    tap_ok(alloc && free, "an allocation and a free among them");
    cu.cuGraphInstantiateWithFlags(&x, g, 0);
    cu.cuGraphLaunch(x, s);
    abi_is(cu.cuStreamSynchronize(s), CUDA_SUCCESS, "runs");
    tap_is_uint(abi_read(p), 9, "with its memory");
    cu.cuGraphExecDestroy(x);
    cu.cuGraphDestroy(g);
    cu.cuStreamDestroy(s);
    cu.cuMemFree(p);
}

static void what_is_used(void)
{
    cuuint64_t used = 9, high = 0, zero = 0;
    abi_is(cu.cuDeviceGetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT, &used), CUDA_SUCCESS, "what graphs use");
    /* A GPU's driver gives it back later than the last exec goes. */
    if (!tap_on_gpu()) tap_is_uint(used, 0, "nothing any more");
    abi_is(cu.cuDeviceGetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_USED_MEM_HIGH, &high), CUDA_SUCCESS, "the most that they used");
    tap_ok(high > 0, "something");
    abi_is(cu.cuDeviceSetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_USED_MEM_HIGH, &zero), CUDA_SUCCESS, "set back");
    abi_is(cu.cuDeviceGraphMemTrim(0), CUDA_SUCCESS, "trim");
    abi_is(cu.cuDeviceGetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT, &used), CUDA_SUCCESS, "what is kept for them");
    tap_is_uint(used, 0, "nothing");
}

int main(void)
{
    abi_open();
    if (!cu.cuGraphAddMemAllocNode) {
        tap_skip(1, "this driver has no memory nodes");
        return abi_close();
    }
    freed_in_the_graph();
    freed_outside();
    captured();
    what_is_used();
    cu.cuModuleUnload(module);
    return abi_close();
}
