/* Graphs: nodes and edges, snapshots, launches, updates (semantics 61 - 67, 69). */
#include "tests/conformance/driver_abi.h"

static CUmodule module;

static CUDA_KERNEL_NODE_PARAMS_v2 kernel_node(const char *name, CUdeviceptr *p, unsigned *n, void **params)
{
    params[0] = p;
    params[1] = n;
    return (CUDA_KERNEL_NODE_PARAMS_v2){ .func = abi_kernel(&module, name), .gridDimX = 1, .gridDimY = 1, .gridDimZ = 1, .blockDimX = 1, .blockDimY = 1,
                                         .blockDimZ = 1, .kernelParams = params };
}

static CUgraphNode append_node(CUgraph g, const CUgraphNode *dep, size_t ndep, CUdeviceptr p, unsigned n)
{
    void *params[2];
    CUgraphNode node = NULL;
    CUDA_KERNEL_NODE_PARAMS_v2 k = kernel_node("append", &p, &n, params);
    abi_is(cu.cuGraphAddKernelNode(&node, g, dep, ndep, &k), CUDA_SUCCESS, "kernel node %u", n);
    return node;
}

static unsigned run(CUgraphExec x, CUdeviceptr p)
{
    CUstream s = abi_stream();
    cu.cuMemsetD32(p, 0, 1);
    cu.cuStreamSynchronize(NULL);
    abi_is(cu.cuGraphLaunch(x, s), CUDA_SUCCESS, "launch");
    abi_is(cu.cuStreamSynchronize(s), CUDA_SUCCESS, "and wait");
    cu.cuStreamDestroy(s);
    return abi_read(p);
}

static void edges_order_nodes(void)
{
    CUgraph g, clone;
    CUgraphExec x = NULL;
    CUdeviceptr p = abi_word(0);
    CUgraphNode from[3], to[3], node[8];
    size_t n;
    abi_is(cu.cuGraphCreate(&g, 0), CUDA_SUCCESS, "create");
    CUgraphNode three = append_node(g, NULL, 0, p, 3), two = append_node(g, NULL, 0, p, 2), one = append_node(g, NULL, 0, p, 1);
    from[0] = one, to[0] = two, from[1] = two, to[1] = three;
    abi_is(cu.cuGraphAddDependencies(g, from, to, 2), CUDA_SUCCESS, "edges");
    abi_is(cu.cuGraphAddDependencies(g, from, to, 1), CUDA_ERROR_INVALID_VALUE, "an edge that is there");
    n = 8;
    abi_is(cu.cuGraphGetNodes(g, node, &n), CUDA_SUCCESS, "nodes");
    tap_is_uint(n, 3, "three");
    n = 8;
    abi_is(cu.cuGraphGetRootNodes(g, node, &n), CUDA_SUCCESS, "roots");
    tap_ok(n == 1 && node[0] == one, "the first");
    n = 8;
    abi_is(cu.cuGraphNodeGetDependentNodes(two, node, &n), CUDA_SUCCESS, "dependents");
    tap_ok(n == 1 && node[0] == three, "the third");
    abi_is(cu.cuGraphClone(&clone, g), CUDA_SUCCESS, "clone");
    abi_is(cu.cuGraphInstantiateWithFlags(&x, g, 0), CUDA_SUCCESS, "instantiate");
    tap_is_uint(run(x, p), 123, "in the order of the edges");
    abi_is(cu.cuGraphDestroyNode(two), CUDA_SUCCESS, "a node is destroyed");
    abi_is(cu.cuGraphDestroy(g), CUDA_SUCCESS, "and then the graph");
    tap_is_uint(run(x, p), 123, "the executable is a snapshot");
    cu.cuGraphExecDestroy(x);
    abi_is(cu.cuGraphInstantiateWithFlags(&x, clone, 0), CUDA_SUCCESS, "the clone");
    tap_is_uint(run(x, p), 123, "is independent");
    cu.cuGraphExecDestroy(x);
    cu.cuGraphDestroy(clone);
    cu.cuMemFree(p);
}

static void cycles_are_refused(void)
{
    CUgraph g;
    CUgraphExec x;
    CUDA_GRAPH_INSTANTIATE_PARAMS params = { 0 };
    CUgraphNode a, b;
    cu.cuGraphCreate(&g, 0);
    abi_is(cu.cuGraphAddEmptyNode(&a, g, NULL, 0), CUDA_SUCCESS, "a node");
    abi_is(cu.cuGraphAddEmptyNode(&b, g, &a, 1), CUDA_SUCCESS, "one behind it");
    CUgraphNode twice[2] = { a, a };
    CUgraphNode c;
    abi_is(cu.cuGraphAddEmptyNode(&c, g, twice, 2), CUDA_ERROR_INVALID_VALUE, "the same predecessor twice");
    CUresult r = cu.cuGraphAddDependencies(g, &b, &a, 1);   /* a driver may refuse it here already */
    if (!r) {
        abi_is(cu.cuGraphInstantiateWithParams(&x, g, &params), CUDA_ERROR_INVALID_VALUE, "a cycle");
        tap_is_int(params.result_out, CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE, "is an invalid structure");
    }
    cu.cuGraphDestroy(g);
}

static void child_graphs_are_copied(void)
{
    CUgraph child, g, inner;
    CUgraphExec x;
    CUgraphNode node;
    CUgraphNodeType type;
    CUdeviceptr p = abi_word(0);
    cu.cuGraphCreate(&child, 0);
    cu.cuGraphCreate(&g, 0);
    CUgraphNode two = append_node(child, NULL, 0, p, 2);
    append_node(child, &two, 1, p, 3);
    CUgraphNode one = append_node(g, NULL, 0, p, 1);
    abi_is(cu.cuGraphAddChildGraphNode(&node, g, &one, 1, child), CUDA_SUCCESS, "child node");
    append_node(g, &node, 1, p, 4);
    append_node(child, NULL, 0, p, 9);
    cu.cuGraphDestroy(child);
    abi_is(cu.cuGraphNodeGetType(node, &type), CUDA_SUCCESS, "its type");
    tap_is_int(type, CU_GRAPH_NODE_TYPE_GRAPH, "a graph");
    abi_is(cu.cuGraphChildGraphNodeGetGraph(node, &inner), CUDA_SUCCESS, "the copy");
    size_t n = 0;
    cu.cuGraphGetNodes(inner, NULL, &n);
    tap_is_uint(n, 2, "was taken when the node was made");
    abi_is(cu.cuGraphInstantiateWithFlags(&x, g, 0), CUDA_SUCCESS, "instantiate");
    tap_is_uint(run(x, p), 1234, "its nodes run between those around it");
    CUgraph other;
    cu.cuGraphCreate(&other, 0);
    two = append_node(other, NULL, 0, p, 6);
    abi_is(cu.cuGraphExecChildGraphNodeSetParams(x, node, other), CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE, "a child of another shape");
    append_node(other, &two, 1, p, 7);
    abi_is(cu.cuGraphExecChildGraphNodeSetParams(x, node, other), CUDA_SUCCESS, "one of the same shape");
    tap_is_uint(run(x, p), 1674, "takes its place");
    cu.cuGraphDestroy(other);
    cu.cuGraphExecDestroy(x);
    cu.cuGraphDestroy(g);
    cu.cuMemFree(p);
}

static int host_funcs;
static void count_call(void *user) { (void)user; host_funcs++; }

static void every_kind_of_node(void)
{
    CUgraph g;
    CUgraphExec x;
    CUgraphNode set, copy, host, record;
    CUevent e = abi_event();
    CUdeviceptr p = abi_word(0), q = abi_word(0);
    CUDA_MEMSET_NODE_PARAMS m = { .dst = q, .value = 77, .elementSize = 4, .width = 1, .height = 1 }, mm;
    CUDA_MEMCPY3D c = { .srcMemoryType = CU_MEMORYTYPE_DEVICE, .srcDevice = q, .dstMemoryType = CU_MEMORYTYPE_DEVICE, .dstDevice = p, .WidthInBytes = 4, .Height = 1, .Depth = 1 };
    CUDA_HOST_NODE_PARAMS h = { count_call, NULL };
    cu.cuGraphCreate(&g, 0);
    abi_is(cu.cuGraphAddMemsetNode(&set, g, NULL, 0, &m, abi_ctx), CUDA_SUCCESS, "memset node");
    abi_is(cu.cuGraphAddMemcpyNode(&copy, g, &set, 1, &c, abi_ctx), CUDA_SUCCESS, "memcpy node");
    abi_is(cu.cuGraphAddHostNode(&host, g, &copy, 1, &h), CUDA_SUCCESS, "host node");
    abi_is(cu.cuGraphAddEventRecordNode(&record, g, &host, 1, e), CUDA_SUCCESS, "record node");
    abi_is(cu.cuGraphMemsetNodeGetParams(set, &mm), CUDA_SUCCESS, "memset parameters");
    tap_ok(mm.dst == q && mm.value == 77 && mm.width == 1, "as given");
    abi_is(cu.cuGraphInstantiateWithFlags(&x, g, 0), CUDA_SUCCESS, "instantiate");
    tap_is_uint(run(x, p), 77, "set, then copied");
    tap_is_int(host_funcs, 1, "the host function was called once");
    abi_is(cu.cuEventQuery(e), CUDA_SUCCESS, "the event was recorded and is done");
    run(x, p);
    tap_is_int(host_funcs, 2, "once for each launch");
    abi_is(cu.cuGraphNodeSetEnabled(x, copy, 0), CUDA_SUCCESS, "the copy is switched off");
    tap_is_uint(run(x, p), 0, "and does not run");
    abi_is(cu.cuGraphNodeSetEnabled(x, host, 0), CUDA_ERROR_INVALID_VALUE, "a host node cannot be");
    cu.cuGraphExecDestroy(x);
    cu.cuGraphDestroy(g);
    cu.cuEventDestroy(e);
    cu.cuMemFree(p);
    cu.cuMemFree(q);
}

static void parameters_change_for_later_launches(void)
{
    abi_latch latch;
    CUgraph g;
    CUgraphExec x;
    CUstream s = abi_stream();
    CUdeviceptr p = abi_word(0);
    unsigned five = 5;
    void *params[2];
    cu.cuGraphCreate(&g, 0);
    CUgraphNode node = append_node(g, NULL, 0, p, 1);
    cu.cuGraphInstantiateWithFlags(&x, g, 0);
    abi_latch_put(&latch, s);
    cu.cuGraphLaunch(x, s);
    CUDA_KERNEL_NODE_PARAMS_v2 k = kernel_node("append", &p, &five, params), got;
    abi_is(cu.cuGraphExecKernelNodeSetParams(x, node, &k), CUDA_SUCCESS, "other parameters while a launch waits");
    cu.cuGraphLaunch(x, s);
    abi_latch_open(&latch);
    cu.cuStreamSynchronize(s);
    tap_is_uint(abi_read(p), 15, "the waiting launch kept its own");
    abi_is(cu.cuGraphKernelNodeGetParams(node, &got), CUDA_SUCCESS, "the node's parameters");
    tap_is_uint(*(unsigned *)got.kernelParams[1], 1, "are those of the graph");
    cu.cuGraphExecDestroy(x);
    cu.cuGraphDestroy(g);
    cu.cuStreamDestroy(s);
    cu.cuMemFree(p);
}

static void updates(void)
{
    CUgraph g, same, other;
    CUgraphExec x;
    CUgraphNode bad;
    CUgraphExecUpdateResult result;
    CUdeviceptr p = abi_word(0);
    cu.cuGraphCreate(&g, 0);
    cu.cuGraphCreate(&same, 0);
    cu.cuGraphCreate(&other, 0);
    CUgraphNode a = append_node(g, NULL, 0, p, 1);
    append_node(g, &a, 1, p, 2);
    a = append_node(same, NULL, 0, p, 3);
    append_node(same, &a, 1, p, 4);
    append_node(other, NULL, 0, p, 5);
    cu.cuGraphInstantiateWithFlags(&x, g, 0);
    abi_is(cu.cuGraphExecUpdate(x, same, &bad, &result), CUDA_SUCCESS, "a graph of the same shape");
    tap_is_uint(run(x, p), 34, "replaces the parameters");
    abi_is(cu.cuGraphExecUpdate(x, other, &bad, &result), CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE, "one of another shape");
    tap_is_int(result, CU_GRAPH_EXEC_UPDATE_ERROR_NOT_SUPPORTED, "is told");
    if (cu.cuGraphExecUpdate_v2) {
        CUgraphExecUpdateResultInfo info;
        memset(&info, 0, sizeof info);
        abi_is(cu.cuGraphExecUpdate_v2(x, other, &info), CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE, "the newer call says so too");
        tap_is_int(info.result, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, "and why");
    }
    tap_is_uint(run(x, p), 34, "and the executable is as it was");
    cu.cuGraphExecDestroy(x);
    cu.cuGraphDestroy(g);
    cu.cuGraphDestroy(same);
    cu.cuGraphDestroy(other);
    cu.cuMemFree(p);
}

static void launches_are_ordered(void)
{
    abi_latch latch;
    CUgraph g;
    CUgraphExec x;
    CUstream s = abi_stream(), t = abi_stream();
    CUdeviceptr p = abi_word(0);
    CUfunction append = abi_kernel(&module, "append");
    CUevent e = abi_event();
    cu.cuGraphCreate(&g, 0);
    append_node(g, NULL, 0, p, 2);
    cu.cuGraphInstantiateWithFlags(&x, g, 0);
    abi_latch_put(&latch, s);
    abi_launch(append, 1, 1, s, p, 1);
    cu.cuGraphLaunch(x, s);
    abi_is(cu.cuGraphLaunch(x, t), CUDA_SUCCESS, "the same executable in another stream");
    abi_is(cu.cuStreamQuery(t), CUDA_ERROR_NOT_READY, "waits for its launch before");
    cu.cuEventRecord(e, t);
    cu.cuStreamWaitEvent(s, e, 0);
    abi_launch(append, 1, 1, s, p, 3);
    abi_is(cu.cuGraphExecDestroy(x), CUDA_SUCCESS, "destroyed while in flight");
    abi_is(cu.cuGraphDestroy(g), CUDA_SUCCESS, "the graph too");
    abi_latch_open(&latch);
    cu.cuStreamSynchronize(s);
    tap_is_uint(abi_read(p), 1223, "all of it ran, in its order");
    cu.cuEventDestroy(e);
    cu.cuStreamDestroy(s);
    cu.cuStreamDestroy(t);
    cu.cuMemFree(p);
}

static void a_launch_cannot_be_captured(void)
{
    CUgraph inner, outer = NULL;
    CUgraphExec x;
    CUstream s = abi_stream();
    CUdeviceptr p = abi_word(0);
    cu.cuGraphCreate(&inner, 0);
    append_node(inner, NULL, 0, p, 2);
    cu.cuGraphInstantiateWithFlags(&x, inner, 0);
    abi_is(cu.cuGraphUpload(x, s), CUDA_SUCCESS, "uploaded before");
    cu.cuStreamSynchronize(s);
    cu.cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_RELAXED);
    abi_launch(abi_kernel(&module, "append"), 1, 1, s, p, 1);
    abi_is(cu.cuGraphLaunch(x, s), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "launched into a capture");
    abi_is(cu.cuStreamEndCapture(s, &outer), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, "which is broken then");
    tap_ok(!outer, "and gives no graph");
    abi_is(cu.cuGraphLaunch(x, s), CUDA_SUCCESS, "behind it");
    abi_is(cu.cuStreamSynchronize(s), CUDA_SUCCESS, "it is launched");
    tap_is_uint(abi_read(p), 2, "and nothing of the capture was");
    cu.cuGraphExecDestroy(x);
    cu.cuGraphDestroy(inner);
    cu.cuStreamDestroy(s);
    cu.cuMemFree(p);
}

int main(void)
{
    abi_open();
    edges_order_nodes();
    cycles_are_refused();
    child_graphs_are_copied();
    every_kind_of_node();
    parameters_change_for_later_launches();
    updates();
    launches_are_ordered();
    a_launch_cannot_be_captured();
    cu.cuModuleUnload(module);
    return abi_close();
}
