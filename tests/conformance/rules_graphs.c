/* Rules 61 - 67: graphs, their launches and what may be changed of executable ones. */
#include "rules_graphs.h"

static void child_graphs_are_copied(CUdeviceptr p)
{
    CUgraph g = graph_new(), child = graph_new(), other = graph_new(), inner = NULL;
    CUgraphNode node = NULL;
    CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
    size_t n = 0;
    CUgraphNode one = add_append(g, NULL, p, 1), two = add_append(child, NULL, p, 2);
    add_append(child, two, p, 3);
    R_IS(cu.cuGraphAddChildGraphNode(&node, g, &one, 1, child), CUDA_SUCCESS);
    add_append(g, node, p, 4);
    add_append(child, NULL, p, 9);
    R_IS(cu.cuGraphDestroy(child), CUDA_SUCCESS);
    R_IS(cu.cuGraphNodeGetType(node, &type), CUDA_SUCCESS);
    R_IS(type, CU_GRAPH_NODE_TYPE_GRAPH);
    R_IS(cu.cuGraphChildGraphNodeGetGraph(node, &inner), CUDA_SUCCESS);
    R_IS(cu.cuGraphGetNodes(inner, NULL, &n), CUDA_SUCCESS);
    R_IS(n, 2);                                         /* as it was when the node was made */
    CUgraphExec x = executable(g);
    R_IS(run_once(x, p), 1234);
    two = add_append(other, NULL, p, 6);
    /* of another shape */
    R_IS(cu.cuGraphExecChildGraphNodeSetParams(x, node, other), CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
    add_append(other, two, p, 7);
    R_IS(cu.cuGraphExecChildGraphNodeSetParams(x, node, other), CUDA_SUCCESS);
    R_IS(run_once(x, p), 1674);
    cu.cuGraphExecDestroy(x);
    cu.cuGraphDestroy(other);
    cu.cuGraphDestroy(g);
}

static void rule_61(void)
{
    CUdeviceptr p = abi_word(0);
    CUgraph g = graph_new(), clone = NULL, found_in = NULL;
    CUgraphNode node = NULL, found = NULL;
    CUgraphNode two = add_append(g, NULL, p, 2), one = add_append(g, NULL, p, 1);
    R_IS(cu.cuGraphAddDependencies(g, &one, &two, 1), CUDA_SUCCESS);
    R_IS(cu.cuGraphClone(&clone, g), CUDA_SUCCESS);
    R_IS(cu.cuGraphNodeFindInClone(&found, one, clone), CUDA_SUCCESS);
    R_TRUE(found && found != one);
    add_append(g, two, p, 3);
    CUgraphExec x = executable(clone);
    R_IS(run_once(x, p), 12);                           /* its edges too */
    cu.cuGraphExecDestroy(x);
    cu.cuGraphDestroy(clone);
    cu.cuGraphDestroy(g);
    if (cu.cuGraphAddMemAllocNode) {
        CUDA_MEM_ALLOC_NODE_PARAMS a = alloc_params(4096);
        g = graph_new();
        R_IS(cu.cuGraphAddMemAllocNode(&node, g, NULL, 0, &a), CUDA_SUCCESS);
        R_IS(cu.cuGraphClone(&found_in, g), CUDA_ERROR_NOT_SUPPORTED);
        cu.cuGraphDestroy(g);
    } else {
        rule_seen("not queried here: a graph with an allocation (the device has no graph memory)");
    }
    child_graphs_are_copied(p);
    cu.cuMemFree(p);
}

static void rule_62(void)
{
    CUgraph g = graph_new();
    CUgraphNode a = NULL, b = NULL, c = NULL;
    CUgraphExec x = NULL;
    CUDA_GRAPH_INSTANTIATE_PARAMS params = { 0 };
    R_IS(cu.cuGraphAddEmptyNode(&a, g, NULL, 0), CUDA_SUCCESS);
    R_IS(cu.cuGraphAddEmptyNode(&b, g, &a, 1), CUDA_SUCCESS);
    CUgraphNode twice[2] = { a, a };
    R_IS(cu.cuGraphAddEmptyNode(&c, g, twice, 2), CUDA_ERROR_INVALID_VALUE);
    R_IS(cu.cuGraphAddDependencies(g, &a, &b, 1), CUDA_ERROR_INVALID_VALUE);
    R_NEED(cuGraphInstantiateWithParams);
    /* the edge that closes a cycle; told by the instantiation */
    R_IS(cu.cuGraphAddDependencies(g, &b, &a, 1), CUDA_SUCCESS);
    R_IS(cu.cuGraphInstantiateWithParams(&x, g, &params), CUDA_ERROR_INVALID_VALUE);
    R_IS(params.result_out, CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE);
    cu.cuGraphDestroy(g);
}

/* Edges that are added later; the executable outlives a node and then the whole graph. */
static void edges_order_nodes(CUdeviceptr p)
{
    CUgraph g = graph_new();
    CUgraphNode node[8];
    size_t n = 8;
    CUgraphNode three = add_append(g, NULL, p, 3), two = add_append(g, NULL, p, 2), one = add_append(g, NULL, p, 1);
    const CUgraphNode from[] = { one, two }, to[] = { two, three };
    R_IS(cu.cuGraphAddDependencies(g, from, to, 2), CUDA_SUCCESS);
    R_IS(cu.cuGraphGetNodes(g, node, &n), CUDA_SUCCESS);
    R_IS(n, 3);
    n = 8;
    R_IS(cu.cuGraphGetRootNodes(g, node, &n), CUDA_SUCCESS);
    R_TRUE(n == 1 && node[0] == one);
    n = 8;
    R_IS(cu.cuGraphNodeGetDependentNodes(two, node, &n), CUDA_SUCCESS);
    R_TRUE(n == 1 && node[0] == three);
    CUgraphExec x = executable(g);
    R_IS(run_once(x, p), 123);
    R_IS(cu.cuGraphDestroyNode(two), CUDA_SUCCESS);
    R_IS(cu.cuGraphDestroy(g), CUDA_SUCCESS);
    R_IS(run_once(x, p), 123);
    cu.cuGraphExecDestroy(x);
}

static void rule_63(void)
{
    void *params[2];
    unsigned nine = 9;
    CUdeviceptr p = abi_word(0);
    CUgraph g = graph_new();
    CUgraphNode one = add_append(g, NULL, p, 1), two = add_append(g, one, p, 2);
    CUgraphExec x = executable(g);
    CUDA_KERNEL_NODE_PARAMS_v2 k = node_of("append", &p, &nine, params);
    R_IS(cu.cuGraphKernelNodeSetParams(one, &k), CUDA_SUCCESS);
    add_append(g, two, p, 3);
    R_IS(run_once(x, p), 12);
    R_IS(cu.cuGraphDestroy(g), CUDA_SUCCESS);
    R_IS(run_once(x, p), 12);
    cu.cuGraphExecDestroy(x);
    edges_order_nodes(p);
    cu.cuMemFree(p);
}

static void rule_64(void)
{
    CUdeviceptr p = abi_word(0), q = abi_word(0);
    CUgraph g = graph_new(), held = graph_new();
    CUstream s = abi_stream(), t = abi_stream(), u = abi_stream();
    rule_gate gate = gate_make();
    CUgraphNode node = add_kernel(held, "hold", add_append(held, NULL, p, 1), gate.at, 8000000);
    add_append(held, node, p, 3);
    add_append(g, NULL, q, 2);
    CUgraphExec x = executable(held), y = executable(g);
    R_IS(cu.cuGraphUpload(x, s), CUDA_SUCCESS);
    R_IS(cu.cuGraphUpload(y, t), CUDA_SUCCESS);
    R_IS(cu.cuCtxSynchronize(), CUDA_SUCCESS);
    R_IS(cu.cuGraphLaunch(x, s), CUDA_SUCCESS);
    R_IS(cu.cuGraphLaunch(y, t), CUDA_SUCCESS);
    R_IS(cu.cuStreamSynchronize(t), CUDA_SUCCESS);      /* another executable runs beside it */
    R_IS(cu.cuGraphLaunch(x, t), CUDA_SUCCESS);
    R_IS(cu.cuGraphLaunch(y, u), CUDA_SUCCESS);         /* meanwhile the launch before it could begin */
    R_IS(cu.cuStreamSynchronize(u), CUDA_SUCCESS);
    R_IS(cu.cuStreamQuery(s), CUDA_ERROR_NOT_READY);
    R_IS(cu.cuStreamQuery(t), CUDA_ERROR_NOT_READY);    /* the same one does not */
    gate_open(&gate);
    R_IS(cu.cuStreamSynchronize(t), CUDA_SUCCESS);
    R_IS(cu.cuStreamQuery(s), CUDA_SUCCESS);            /* the launch before it is done */
    R_IS(abi_read(p), 1313);                            /* not 1133: the second began when the first had ended */
    R_IS(abi_read(q), 22);
    cu.cuGraphExecDestroy(x);
    cu.cuGraphExecDestroy(y);
    cu.cuGraphDestroy(g);
    cu.cuGraphDestroy(held);
    cu.cuStreamDestroy(s);
    cu.cuStreamDestroy(t);
    cu.cuStreamDestroy(u);
    cu.cuMemFree(p);
    cu.cuMemFree(q);
    gate_free(&gate);
}

static void rule_65(void)
{
    struct latch latch;
    CUdeviceptr p = abi_word(0);
    CUgraph g = graph_new();
    CUstream s = abi_stream();
    add_append(g, NULL, p, 2);
    CUgraphExec x = executable(g);
    abi_hold(&latch, s);
    abi_launch(rule_kernel("append"), 1, 1, s, p, 1);
    R_IS(cu.cuGraphLaunch(x, s), CUDA_SUCCESS);
    abi_launch(rule_kernel("append"), 1, 1, s, p, 3);
    R_IS(cu.cuStreamQuery(s), CUDA_ERROR_NOT_READY);
    latch_open(&latch);
    R_IS(cu.cuStreamSynchronize(s), CUDA_SUCCESS);
    R_IS(abi_read(p), 123);
    cu.cuGraphExecDestroy(x);
    cu.cuGraphDestroy(g);
    cu.cuStreamDestroy(s);
    cu.cuMemFree(p);
}

enum { LARGE_FILL = 4096 }; /* words: a driver (580) loses the order of smaller fills that are switched off */

enum { QUERIES = 20000 }; /* so many find an event that has nothing to wait for */

/* Whether what follows a fill of `bytes`, switched off, still waits for the kernel before it. */
static bool order_behind_fill(size_t bytes)
{
    rule_gate gate = gate_make();
    CUdeviceptr p = 0;
    CUgraph g = graph_new();
    CUgraphNode hold = NULL, fill = NULL;
    CUstream s = abi_stream();
    CUevent e = abi_event();
    void *params[2];
    unsigned turns = GATE_TURNS;
    R_IS(cu.cuMemAlloc(&p, bytes), CUDA_SUCCESS);
    CUDA_KERNEL_NODE_PARAMS_v2 k = node_of("hold", &gate.at, &turns, params);
    CUDA_MEMSET_NODE_PARAMS m = { .dst = p, .value = 7, .elementSize = 1, .width = bytes, .height = 1 };
    R_IS(cu.cuGraphAddKernelNode(&hold, g, NULL, 0, &k), CUDA_SUCCESS);
    R_IS(cu.cuGraphAddMemsetNode(&fill, g, &hold, 1, &m, abi_ctx), CUDA_SUCCESS);
    CUgraphExec x = executable(g);
    R_IS(cu.cuGraphNodeSetEnabled(x, fill, 0), CUDA_SUCCESS);
    R_IS(cu.cuGraphLaunch(x, s), CUDA_SUCCESS);
    R_IS(cu.cuEventRecord(e, s), CUDA_SUCCESS);
    bool waits = true;
    for (int i = 0; i < QUERIES && waits; i++) waits = cu.cuEventQuery(e) == CUDA_ERROR_NOT_READY;
    gate_open(&gate);
    R_IS(cu.cuStreamSynchronize(s), CUDA_SUCCESS);
    cu.cuGraphExecDestroy(x);
    cu.cuGraphDestroy(g);
    cu.cuEventDestroy(e);
    cu.cuStreamDestroy(s);
    gate_free(&gate);
    cu.cuMemFree(p);
    return waits;
}

/* A fill, a copy, a host function and a record, in a row; the copy can be switched off. */
static void every_kind_of_node(CUdeviceptr p)
{
    int calls = 0;
    CUgraph g = graph_new();
    CUgraphNode fill = NULL, copy = NULL, host = NULL, record = NULL;
    CUevent e = abi_event();
    CUdeviceptr q = abi_word(0);
    CUDA_MEMSET_NODE_PARAMS m = { .dst = q, .value = 77, .elementSize = 4, .width = 1, .height = 1 }, got;
    CUDA_MEMCPY3D c = { .srcMemoryType = CU_MEMORYTYPE_DEVICE,
                        .srcDevice = q,
                        .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                        .dstDevice = p,
                        .WidthInBytes = 4,
                        .Height = 1,
                        .Depth = 1 };
    CUDA_HOST_NODE_PARAMS h = { count_one, &calls };
    R_IS(cu.cuGraphAddMemsetNode(&fill, g, NULL, 0, &m, abi_ctx), CUDA_SUCCESS);
    R_IS(cu.cuGraphAddMemcpyNode(&copy, g, &fill, 1, &c, abi_ctx), CUDA_SUCCESS);
    R_IS(cu.cuGraphAddHostNode(&host, g, &copy, 1, &h), CUDA_SUCCESS);
    R_IS(cu.cuGraphAddEventRecordNode(&record, g, &host, 1, e), CUDA_SUCCESS);
    R_IS(cu.cuGraphMemsetNodeGetParams(fill, &got), CUDA_SUCCESS);
    R_TRUE(got.dst == q && got.value == 77 && got.width == 1);
    CUgraphExec x = executable(g);
    R_IS(run_once(x, p), 77);
    R_IS(calls, 1);
    R_IS(cu.cuEventQuery(e), CUDA_SUCCESS);
    R_IS(run_once(x, p), 77);
    R_IS(calls, 2);
    R_IS(cu.cuGraphNodeSetEnabled(x, copy, 0), CUDA_SUCCESS);
    R_IS(run_once(x, p), 0);
    R_IS(calls, 3);
    cu.cuGraphExecDestroy(x);
    cu.cuGraphDestroy(g);
    cu.cuEventDestroy(e);
    cu.cuMemFree(q);
}

static void rule_66(void)
{
    struct latch latch;
    void *params[2];
    unsigned five = 5, enabled = 9;
    int calls = 0;
    CUdeviceptr p = abi_word(0);
    CUgraph g = graph_new();
    CUgraphNode host = NULL, fill = NULL;
    CUDA_HOST_NODE_PARAMS h = { count_one, &calls };
    CUDA_MEMSET_NODE_PARAMS m = { .dst = p, .value = 7, .elementSize = 4, .width = 1, .height = 1 };
    CUstream s = abi_stream();
    CUgraphNode node = add_append(g, NULL, p, 1);
    R_IS(cu.cuGraphAddHostNode(&host, g, &node, 1, &h), CUDA_SUCCESS);
    CUgraphExec x = executable(g);
    abi_hold(&latch, s);
    R_IS(cu.cuGraphLaunch(x, s), CUDA_SUCCESS);
    CUDA_KERNEL_NODE_PARAMS_v2 k = node_of("append", &p, &five, params), got;
    R_IS(cu.cuGraphExecKernelNodeSetParams(x, node, &k), CUDA_SUCCESS);
    R_IS(cu.cuGraphLaunch(x, s), CUDA_SUCCESS);
    latch_open(&latch);
    R_IS(cu.cuStreamSynchronize(s), CUDA_SUCCESS);
    R_IS(abi_read(p), 15);
    R_IS(calls, 2);
    R_IS(cu.cuGraphKernelNodeGetParams(node, &got), CUDA_SUCCESS);
    R_IS(*(unsigned *)got.kernelParams[1], 1);          /* the graph's own node is as it was */
    if (cu.cuGraphNodeSetEnabled) {
        R_IS(cu.cuGraphNodeSetEnabled(x, host, 0), CUDA_ERROR_INVALID_VALUE);
        R_IS(cu.cuGraphNodeSetEnabled(x, node, 0), CUDA_SUCCESS);
        R_IS(cu.cuGraphNodeGetEnabled(x, node, &enabled), CUDA_SUCCESS);
        R_IS(enabled, 0);
        R_IS(run_once(x, p), 0);
        R_IS(cu.cuGraphNodeSetEnabled(x, node, 1), CUDA_SUCCESS);
        R_IS(run_once(x, p), 5);
    }
    cu.cuGraphExecDestroy(x);
    if (cu.cuGraphNodeSetEnabled) {
        CUdeviceptr large = 0;
        R_IS(cu.cuMemAlloc(&large, 4 * LARGE_FILL), CUDA_SUCCESS);
        m.dst = large;
        m.width = LARGE_FILL;
        CUgraph filled = graph_new();
        node = add_append(filled, NULL, large, 1);
        R_IS(cu.cuGraphAddMemsetNode(&fill, filled, &node, 1, &m, abi_ctx), CUDA_SUCCESS);
        x = executable(filled);
        R_IS(run_once(x, large), 7);
        R_IS(cu.cuGraphNodeSetEnabled(x, fill, 0), CUDA_SUCCESS);
        R_IS(run_once(x, large), 1);
        cu.cuGraphExecDestroy(x);
        cu.cuGraphDestroy(filled);
        cu.cuMemFree(large);
        R_TRUE(order_behind_fill(4 * LARGE_FILL));
        every_kind_of_node(p);
        rule_seen(
            "what follows a fill of 4 bytes that is switched off %s",
            order_behind_fill(4)
                ? "waits for the kernel before it"
                : "does not wait for the kernel before it (a larger one keeps the order; cujit never switches fills "
                  "off)");
    }
    cu.cuGraphDestroy(g);
    cu.cuStreamDestroy(s);
    cu.cuMemFree(p);
}

/* ---- Updates (rule 67) ------------------------------------------------------------------------------------------- */

/* Graphs to update an executable with: kernel 1, then kernel 2. */
static void with_same_shape(CUgraph g, CUdeviceptr p) { add_append(g, add_append(g, NULL, p, 3), p, 4); }
static void with_more_nodes(CUgraph g, CUdeviceptr p)
{
    add_append(g, add_append(g, add_append(g, NULL, p, 3), p, 4), p, 5);
}
static void with_fewer_nodes(CUgraph g, CUdeviceptr p) { add_append(g, NULL, p, 3); }
static void with_another_kind(CUgraph g, CUdeviceptr p)
{
    CUgraphNode node = NULL, first = add_append(g, NULL, p, 3);
    CUDA_MEMSET_NODE_PARAMS m = { .dst = p, .value = 7, .elementSize = 4, .width = 1, .height = 1 };
    R_IS(cu.cuGraphAddMemsetNode(&node, g, &first, 1, &m, abi_ctx), CUDA_SUCCESS);
}
static void with_no_edge(CUgraph g, CUdeviceptr p) { add_append(g, NULL, p, 3), add_append(g, NULL, p, 4); }
static void with_another_kernel(CUgraph g, CUdeviceptr p) { add_kernel(g, "add", add_append(g, NULL, p, 3), p, 4); }

/* Where the number of nodes differs, an H100 gives the older call "not supported" and the newer one "topology changed".
 * */
static const struct {
    const char *name;
    void (*fill)(CUgraph g, CUdeviceptr p);
    int result, newer;
    unsigned after;
} update_rows[] = {
    { "the same shape", with_same_shape, CU_GRAPH_EXEC_UPDATE_SUCCESS, CU_GRAPH_EXEC_UPDATE_SUCCESS, 34 },
    { "more nodes", with_more_nodes, CU_GRAPH_EXEC_UPDATE_ERROR_NOT_SUPPORTED,
      CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, 12 },
    { "fewer nodes", with_fewer_nodes, CU_GRAPH_EXEC_UPDATE_ERROR_NOT_SUPPORTED,
      CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, 12 },
    { "another kind of node", with_another_kind, CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED,
      CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED, 12 },
    { "an edge less", with_no_edge, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED,
      CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, 12 },
    { "another kernel", with_another_kernel, CU_GRAPH_EXEC_UPDATE_SUCCESS, CU_GRAPH_EXEC_UPDATE_SUCCESS, 7 },
};

static void rule_67(void)
{
    CUdeviceptr p = abi_word(0), q = abi_word(0);
    R_NEED(cuGraphExecUpdate);
    for (size_t i = 0; i < sizeof update_rows / sizeof *update_rows; i++) {
        CUgraph g = graph_new(), other = graph_new();
        CUgraphNode bad = NULL;
        CUgraphExecUpdateResult result = CU_GRAPH_EXEC_UPDATE_SUCCESS;
        CUgraphExecUpdateResultInfo info = { CU_GRAPH_EXEC_UPDATE_SUCCESS, NULL, NULL };
        add_append(g, add_append(g, NULL, p, 1), p, 2);
        update_rows[i].fill(other, p);
        CUgraphExec x = executable(g), y = executable(g);
        const char *name = update_rows[i].name;
        int answer = update_rows[i].result ? CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE : CUDA_SUCCESS;
        R_ROW(name, cu.cuGraphExecUpdate(x, other, &bad, &result), answer);
        R_ROW(name, result, update_rows[i].result);
        R_ROW(name, run_once(x, p), update_rows[i].after);      /* changed, or as it was */
        if (cu.cuGraphExecUpdate_v2) {
            R_ROW(name, cu.cuGraphExecUpdate_v2(y, other, &info), answer);
            R_ROW(name, info.result, update_rows[i].newer);
            R_ROW(name, run_once(y, p), update_rows[i].after);
        }
        cu.cuGraphExecDestroy(x);
        cu.cuGraphExecDestroy(y);
        cu.cuGraphDestroy(g);
        cu.cuGraphDestroy(other);
    }
    /* A copy may get other addresses, not other kinds of memory. */
    unsigned word = 5;
    CUDA_MEMCPY3D c = { .srcMemoryType = CU_MEMORYTYPE_DEVICE,
                        .srcDevice = q,
                        .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                        .dstDevice = p,
                        .WidthInBytes = 4,
                        .Height = 1,
                        .Depth = 1 };
    CUgraph g = graph_new(), other = graph_new();
    CUgraphNode node = NULL;
    CUgraphExecUpdateResult result = CU_GRAPH_EXEC_UPDATE_SUCCESS;
    R_IS(cu.cuGraphAddMemcpyNode(&node, g, NULL, 0, &c, abi_ctx), CUDA_SUCCESS);
    c.srcMemoryType = CU_MEMORYTYPE_HOST, c.srcHost = &word, c.srcDevice = 0;
    R_IS(cu.cuGraphAddMemcpyNode(&node, other, NULL, 0, &c, abi_ctx), CUDA_SUCCESS);
    CUgraphExec x = executable(g);
    R_IS(cu.cuGraphExecUpdate(x, other, &node, &result), CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
    R_IS(result, CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED);
    R_IS(cu.cuMemsetD32(q, 6, 1), CUDA_SUCCESS);
    R_IS(cu.cuCtxSynchronize(), CUDA_SUCCESS);
    R_IS(run_once(x, p), 6);
    cu.cuGraphExecDestroy(x);
    cu.cuGraphDestroy(g);
    cu.cuGraphDestroy(other);
    cu.cuMemFree(p);
    cu.cuMemFree(q);
}

static const rule rules[] = {
    { 61,
      "a clone is independent; a child graph is copied when it is added; a graph with memory of its own cannot be "
      "cloned",
      rule_61, 0 },
    { 62, "the same edge twice is rejected at once, a cycle at instantiation", rule_62, 0 },
    { 63, "an executable is a snapshot of its graph", rule_63, 0 },
    { 64, "launches of one executable wait for each other, those of two do not", rule_64, 0 },
    { 65, "a launch comes after the stream's work before it and before the work behind it", rule_65, 0 },
    { 66,
      "changed parameters and switched-off nodes are for later launches; only kernels, copies and fills can be "
      "switched off",
      rule_66, 0 },
    { 67, "an update with another shape fails and leaves the executable unchanged", rule_67, 0 },
};
RULES_MAIN(rules)
