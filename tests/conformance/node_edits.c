/* Graphs that are changed after their making: new parameters of nodes, nodes destroyed with their edges. */
#include "tests/conformance/driver_abi.h"

static CUmodule module;

/* *p = *p * 10 + n, or by "add" *p += n. */
static CUgraphNode edit_node(CUgraph g, const CUgraphNode *dep, size_t ndep, const char *name, CUdeviceptr p,
                             unsigned n)
{
    void *params[] = { &p, &n };
    CUDA_KERNEL_NODE_PARAMS_v2 k = { .func = abi_kernel(&module, name),
                                     .gridDimX = 1,
                                     .gridDimY = 1,
                                     .gridDimZ = 1,
                                     .blockDimX = 1,
                                     .blockDimY = 1,
                                     .blockDimZ = 1,
                                     .kernelParams = params };
    CUgraphNode node = NULL;
    if (cu.cuGraphAddKernelNode(&node, g, dep, ndep, &k)) tap_bail("no kernel node");
    return node;
}

/* The word after one launch of the graph as it is now. */
static unsigned edit_run(CUgraph g, CUdeviceptr p)
{
    CUgraphExec x = NULL;
    CUstream s = abi_stream();
    if (cu.cuMemsetD32(p, 0, 1) || cu.cuStreamSynchronize(NULL)) tap_fail("a word is cleared");
    abi_is(cu.cuGraphInstantiateWithFlags(&x, g, 0), CUDA_SUCCESS, "an executable graph of it");
    abi_is(cu.cuGraphLaunch(x, s), CUDA_SUCCESS, "is launched");
    abi_is(cu.cuStreamSynchronize(s), CUDA_SUCCESS, "and waited for");
    cu.cuGraphExecDestroy(x);
    cu.cuStreamDestroy(s);
    return abi_read(p);
}

static void check_params(void)
{
    CUdeviceptr p = abi_word(0);
    unsigned n = 7;
    void *params[] = { &p, &n };
    CUgraph g = NULL;
    CUDA_KERNEL_NODE_PARAMS_v2 k;
    abi_is(cu.cuGraphCreate(&g, 0), CUDA_SUCCESS, "a graph");
    CUgraphNode one = edit_node(g, NULL, 0, "append", p, 1), two = edit_node(g, &one, 1, "append", p, 2);
    tap_is_uint(edit_run(g, p), 12, "its two nodes");
    abi_is(cu.cuGraphKernelNodeGetParams(one, &k), CUDA_SUCCESS, "the first one's parameters");
    k.kernelParams = params;
    abi_is(cu.cuGraphKernelNodeSetParams(one, &k), CUDA_SUCCESS, "are set anew");
    n = 9; /* they were copied */
    tap_is_uint(edit_run(g, p), 72, "the next executable graph has the new ones");
    memset(&k, 0, sizeof k);
    abi_is(cu.cuGraphKernelNodeGetParams(one, &k), CUDA_SUCCESS, "they are reported");
    tap_is_uint(k.kernelParams ? *(unsigned *)k.kernelParams[1] : 0, 7, "as they were set");
    k.func = abi_kernel(&module, "add");
    abi_is(cu.cuGraphKernelNodeSetParams(two, &k), CUDA_SUCCESS, "another kernel for the second node");
    tap_is_uint(edit_run(g, p), 14, "takes its place");
    abi_is(cu.cuGraphDestroy(g), CUDA_SUCCESS, "the graph goes");
    cu.cuMemFree(p);
}

static void check_fill(void)
{
    CUdeviceptr p = abi_word(0);
    CUgraph g = NULL;
    CUgraphNode node = NULL;
    CUDA_MEMSET_NODE_PARAMS fill = { .dst = p, .value = 5, .elementSize = 4, .width = 1, .height = 1 };
    cu.cuGraphCreate(&g, 0);
    abi_is(cu.cuGraphAddMemsetNode(&node, g, NULL, 0, &fill, abi_ctx), CUDA_SUCCESS, "a fill");
    tap_is_uint(edit_run(g, p), 5, "is done");
    fill.value = 6;
    abi_is(cu.cuGraphMemsetNodeSetParams(node, &fill), CUDA_SUCCESS, "with another value");
    tap_is_uint(edit_run(g, p), 6, "it writes that");
    cu.cuGraphDestroy(g);
    cu.cuMemFree(p);
}

/* A node in the middle goes with its edges: what came before and behind it is not ordered any more, and nothing refers
 * to it. */
static void check_destroyed(void)
{
    CUdeviceptr p = abi_word(0);
    CUgraph g = NULL;
    size_t count = 9;
    cu.cuGraphCreate(&g, 0);
    CUgraphNode one = edit_node(g, NULL, 0, "add", p, 1), two = edit_node(g, &one, 1, "add", p, 20),
                three = edit_node(g, &two, 1, "add", p, 300);
    abi_is(cu.cuGraphDestroyNode(two), CUDA_SUCCESS, "the middle one of three nodes is destroyed");
    abi_is(cu.cuGraphGetEdges(g, NULL, NULL, &count), CUDA_SUCCESS, "edges");
    tap_is_uint(count, 0, "none is left");
    count = 9;
    abi_is(cu.cuGraphNodeGetDependencies(three, NULL, &count), CUDA_SUCCESS, "what the third one comes after");
    tap_is_uint(count, 0, "is nothing");
    count = 9;
    abi_is(cu.cuGraphGetRootNodes(g, NULL, &count), CUDA_SUCCESS, "roots");
    tap_is_uint(count, 2, "both are roots now");
    tap_is_uint(edit_run(g, p), 301, "and both run");
    abi_is(cu.cuGraphAddDependencies(g, &three, &one, 1), CUDA_SUCCESS, "an edge the other way round");
    tap_is_uint(edit_run(g, p), 301, "closes no cycle");
    cu.cuGraphDestroy(g);
    cu.cuMemFree(p);
}

int main(void)
{
    abi_open();
    check_params();
    check_fill();
    check_destroyed();
    cu.cuModuleUnload(module);
    return abi_close();
}
