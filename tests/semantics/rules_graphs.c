/* Rules 61 - 73: graphs. */
#include <time.h>

#include "rules.h"

static CUgraph graph_new(void)
{
    CUgraph g = NULL;
    if (cu.cuGraphCreate(&g, 0)) tap_bail("no graph");
    return g;
}

static CUDA_KERNEL_NODE_PARAMS_v2 node_of(const char *name, CUdeviceptr *p, unsigned *n, void **params)
{
    params[0] = p;
    params[1] = n;
    return (CUDA_KERNEL_NODE_PARAMS_v2){ .func = rule_kernel(name), .gridDimX = 1, .gridDimY = 1, .gridDimZ = 1, .blockDimX = 1, .blockDimY = 1, .blockDimZ = 1,
                                         .kernelParams = params };
}

static CUgraphNode add_kernel(CUgraph g, const char *name, CUgraphNode after, CUdeviceptr p, unsigned n)
{
    void *params[2];
    CUgraphNode node = NULL;
    CUDA_KERNEL_NODE_PARAMS_v2 k = node_of(name, &p, &n, params);
    R_IS(cu.cuGraphAddKernelNode(&node, g, &after, after ? 1 : 0, &k), CUDA_SUCCESS);
    return node;
}

static CUgraphNode add_append(CUgraph g, CUgraphNode after, CUdeviceptr p, unsigned n) { return add_kernel(g, "append", after, p, n); }

static CUgraphExec executable(CUgraph g)
{
    CUgraphExec x = NULL;
    R_IS(cu.cuGraphInstantiateWithFlags(&x, g, 0), CUDA_SUCCESS);
    return x;
}

/* What p, 0 before, is after a launch. */
static unsigned run_once(CUgraphExec x, CUdeviceptr p)
{
    CUstream s = abi_stream();
    R_IS(cu.cuMemsetD32Async(p, 0, 1, s), CUDA_SUCCESS);
    R_IS(cu.cuGraphLaunch(x, s), CUDA_SUCCESS);
    R_IS(cu.cuStreamSynchronize(s), CUDA_SUCCESS);
    cu.cuStreamDestroy(s);
    return abi_read(p);
}

static CUDA_MEM_ALLOC_NODE_PARAMS alloc_params(size_t bytes)
{
    return (CUDA_MEM_ALLOC_NODE_PARAMS){ .poolProps = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED, .location = { CU_MEM_LOCATION_TYPE_DEVICE, 0 } }, .bytesize = bytes };
}

static void rule_61(void)
{
    CUdeviceptr p = abi_word(0);
    CUgraph g = graph_new(), clone = NULL, child = graph_new(), inner = NULL, found_in = NULL;
    CUgraphNode node = NULL, found = NULL;
    CUgraphNode one = add_append(g, NULL, p, 1);
    R_IS(cu.cuGraphClone(&clone, g), CUDA_SUCCESS);
    R_IS(cu.cuGraphNodeFindInClone(&found, one, clone), CUDA_SUCCESS);
    R_TRUE(found && found != one);
    add_append(g, one, p, 2);
    CUgraphExec x = executable(clone);
    R_IS(run_once(x, p), 1);
    cu.cuGraphExecDestroy(x);
    cu.cuGraphDestroy(clone);
    CUgraphNode two = add_append(child, NULL, p, 5);
    R_IS(cu.cuGraphAddChildGraphNode(&node, g, NULL, 0, child), CUDA_SUCCESS);
    add_append(child, two, p, 6);
    R_IS(cu.cuGraphDestroy(child), CUDA_SUCCESS);
    R_IS(cu.cuGraphChildGraphNodeGetGraph(node, &inner), CUDA_SUCCESS);
    size_t n = 0;
    R_IS(cu.cuGraphGetNodes(inner, NULL, &n), CUDA_SUCCESS);
    R_IS(n, 1);
    cu.cuGraphDestroy(g);
    if (cu.cuGraphAddMemAllocNode) {
        CUDA_MEM_ALLOC_NODE_PARAMS a = alloc_params(4096);
        g = graph_new();
        R_IS(cu.cuGraphAddMemAllocNode(&node, g, NULL, 0, &a), CUDA_SUCCESS);
        R_IS(cu.cuGraphClone(&found_in, g), CUDA_ERROR_NOT_SUPPORTED);
        cu.cuGraphDestroy(g);
    } else {
        rule_seen("not asked here: a graph with an allocation (the device has no graph memory)");
    }
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
    R_IS(cu.cuGraphAddDependencies(g, &b, &a, 1), CUDA_SUCCESS);    /* the edge that closes a cycle; told by the instantiation */
    R_IS(cu.cuGraphInstantiateWithParams(&x, g, &params), CUDA_ERROR_INVALID_VALUE);
    R_IS(params.result_out, CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE);
    cu.cuGraphDestroy(g);
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
    cu.cuMemFree(p);
}

static void rule_64(void)
{
    CUdeviceptr p = abi_word(0), q = abi_word(0);
    CUgraph g = graph_new(), held = graph_new();
    CUstream s = abi_stream(), t = abi_stream();
    rule_gate gate = gate_make();
    CUgraphNode node = add_kernel(held, "hold", NULL, gate.at, 8000000);
    add_append(held, node, p, 1);
    add_append(g, NULL, q, 2);
    CUgraphExec x = executable(held), y = executable(g);
    R_IS(cu.cuGraphUpload(x, s), CUDA_SUCCESS);
    R_IS(cu.cuGraphUpload(y, t), CUDA_SUCCESS);
    R_IS(cu.cuCtxSynchronize(), CUDA_SUCCESS);
    R_IS(cu.cuGraphLaunch(x, s), CUDA_SUCCESS);
    R_IS(cu.cuGraphLaunch(y, t), CUDA_SUCCESS);
    R_IS(cu.cuStreamSynchronize(t), CUDA_SUCCESS);      /* another executable runs beside it */
    R_IS(cu.cuGraphLaunch(x, t), CUDA_SUCCESS);
    R_IS(cu.cuStreamQuery(s), CUDA_ERROR_NOT_READY);
    R_IS(cu.cuStreamQuery(t), CUDA_ERROR_NOT_READY);    /* the same one does not */
    gate_open(&gate);
    R_IS(cu.cuStreamSynchronize(t), CUDA_SUCCESS);
    R_IS(cu.cuStreamQuery(s), CUDA_SUCCESS);            /* the launch before it is done */
    R_IS(abi_read(p), 11);
    R_IS(abi_read(q), 2);
    cu.cuGraphExecDestroy(x);
    cu.cuGraphExecDestroy(y);
    cu.cuGraphDestroy(g);
    cu.cuGraphDestroy(held);
    cu.cuStreamDestroy(s);
    cu.cuStreamDestroy(t);
    cu.cuMemFree(p);
    cu.cuMemFree(q);
    gate_free(&gate);
}

static void rule_65(void)
{
    abi_latch latch;
    CUdeviceptr p = abi_word(0);
    CUgraph g = graph_new();
    CUstream s = abi_stream();
    add_append(g, NULL, p, 2);
    CUgraphExec x = executable(g);
    abi_latch_put(&latch, s);
    abi_launch(rule_kernel("append"), 1, 1, s, p, 1);
    R_IS(cu.cuGraphLaunch(x, s), CUDA_SUCCESS);
    abi_launch(rule_kernel("append"), 1, 1, s, p, 3);
    R_IS(cu.cuStreamQuery(s), CUDA_ERROR_NOT_READY);
    abi_latch_open(&latch);
    R_IS(cu.cuStreamSynchronize(s), CUDA_SUCCESS);
    R_IS(abi_read(p), 123);
    cu.cuGraphExecDestroy(x);
    cu.cuGraphDestroy(g);
    cu.cuStreamDestroy(s);
    cu.cuMemFree(p);
}

enum { LARGE_FILL = 4096 }; /* words: a driver (580) loses the order of smaller fills that are switched off */

static void count_one(void *user) { ++*(int *)user; }

/* Whether what follows a fill of `bytes`, switched off, still waits for the kernel before it; a look of 20 ms. */
static bool order_behind_fill(size_t bytes)
{
    static const struct timespec pause = { .tv_sec = 0, .tv_nsec = 100000 };
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
    for (int i = 0; i < 200 && waits; i++) {
        nanosleep(&pause, NULL);
        waits = cu.cuEventQuery(e) == CUDA_ERROR_NOT_READY;
    }
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

static void rule_66(void)
{
    abi_latch latch;
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
    abi_latch_put(&latch, s);
    R_IS(cu.cuGraphLaunch(x, s), CUDA_SUCCESS);
    CUDA_KERNEL_NODE_PARAMS_v2 k = node_of("append", &p, &five, params), got;
    R_IS(cu.cuGraphExecKernelNodeSetParams(x, node, &k), CUDA_SUCCESS);
    R_IS(cu.cuGraphLaunch(x, s), CUDA_SUCCESS);
    abi_latch_open(&latch);
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
        rule_seen("what follows a fill of 4 bytes that is switched off %s", order_behind_fill(4) ? "waits for the kernel before it"
                  : "does not wait for the kernel before it (a larger one keeps the order; cujit never switches fills off)");
    }
    cu.cuGraphDestroy(g);
    cu.cuStreamDestroy(s);
    cu.cuMemFree(p);
}

/* ---- Updates (rule 67) ------------------------------------------------------------------------------------------- */

/* Graphs to update an executable with: kernel 1, then kernel 2. */
static void with_same_shape(CUgraph g, CUdeviceptr p) { add_append(g, add_append(g, NULL, p, 3), p, 4); }
static void with_more_nodes(CUgraph g, CUdeviceptr p) { add_append(g, add_append(g, add_append(g, NULL, p, 3), p, 4), p, 5); }
static void with_fewer_nodes(CUgraph g, CUdeviceptr p) { add_append(g, NULL, p, 3); }
static void with_another_kind(CUgraph g, CUdeviceptr p)
{
    CUgraphNode node = NULL, first = add_append(g, NULL, p, 3);
    CUDA_MEMSET_NODE_PARAMS m = { .dst = p, .value = 7, .elementSize = 4, .width = 1, .height = 1 };
    R_IS(cu.cuGraphAddMemsetNode(&node, g, &first, 1, &m, abi_ctx), CUDA_SUCCESS);
}
static void with_no_edge(CUgraph g, CUdeviceptr p) { add_append(g, NULL, p, 3), add_append(g, NULL, p, 4); }
static void with_another_kernel(CUgraph g, CUdeviceptr p) { add_kernel(g, "add", add_append(g, NULL, p, 3), p, 4); }

/* Where the number of nodes differs, an H100 gives the older call "not supported" and the newer one "topology changed". */
static const struct { const char *name; void (*fill)(CUgraph g, CUdeviceptr p); int result, newer; unsigned after; } update_rows[] = {
    { "the same shape", with_same_shape, CU_GRAPH_EXEC_UPDATE_SUCCESS, CU_GRAPH_EXEC_UPDATE_SUCCESS, 34 },
    { "more nodes", with_more_nodes, CU_GRAPH_EXEC_UPDATE_ERROR_NOT_SUPPORTED, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, 12 },
    { "fewer nodes", with_fewer_nodes, CU_GRAPH_EXEC_UPDATE_ERROR_NOT_SUPPORTED, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, 12 },
    { "another kind of node", with_another_kind, CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED, CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED, 12 },
    { "an edge less", with_no_edge, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, 12 },
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
    CUDA_MEMCPY3D c = { .srcMemoryType = CU_MEMORYTYPE_DEVICE, .srcDevice = q, .dstMemoryType = CU_MEMORYTYPE_DEVICE, .dstDevice = p, .WidthInBytes = 4, .Height = 1, .Depth = 1 };
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

static void rule_68(void)
{
    CUstream s = abi_stream();
    CUgraph g = graph_new();
    CUgraphExec x = NULL, y = NULL;
    CUgraphNode node = NULL, fill = NULL;
    CUDA_MEM_ALLOC_NODE_PARAMS a = alloc_params(4096);
    R_NEED(cuGraphAddMemAllocNode);
    R_IS(cu.cuGraphAddMemAllocNode(&node, g, NULL, 0, &a), CUDA_SUCCESS);
    R_TRUE(a.dptr != 0);
    CUDA_MEMSET_NODE_PARAMS m = { .dst = a.dptr, .value = 7, .elementSize = 4, .width = 1024, .height = 1 };
    R_IS(cu.cuGraphAddMemsetNode(&fill, g, &node, 1, &m, abi_ctx), CUDA_SUCCESS);
    R_IS(cu.cuGraphInstantiateWithFlags(&x, g, 0), CUDA_SUCCESS);
    R_IS(cu.cuGraphInstantiateWithFlags(&y, g, 0), CUDA_ERROR_NOT_SUPPORTED);       /* a second one */
    for (int i = 0; i < 2; i++) {
        R_IS(cu.cuGraphLaunch(x, s), CUDA_SUCCESS);
        R_IS(cu.cuStreamSynchronize(s), CUDA_SUCCESS);
        R_IS(abi_read(a.dptr + 4092), 7);
        R_IS(cu.cuGraphLaunch(x, s), CUDA_ERROR_INVALID_VALUE);     /* its memory is still there */
        R_IS(cu.cuMemFreeAsync(a.dptr, s), CUDA_SUCCESS);
    }
    R_IS(cu.cuStreamSynchronize(s), CUDA_SUCCESS);
    R_IS(cu.cuGraphExecDestroy(x), CUDA_SUCCESS);
    R_IS(cu.cuGraphInstantiateWithFlags(&x, g, CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH), CUDA_SUCCESS);
    for (int i = 0; i < 2; i++) R_IS(cu.cuGraphLaunch(x, s), CUDA_SUCCESS);
    R_IS(cu.cuStreamSynchronize(s), CUDA_SUCCESS);
    R_IS(abi_read(a.dptr), 7);
    R_IS(cu.cuMemFreeAsync(a.dptr, s), CUDA_SUCCESS);
    R_IS(cu.cuStreamSynchronize(s), CUDA_SUCCESS);
    cu.cuGraphExecDestroy(x);
    cu.cuGraphDestroy(g);
    cu.cuStreamDestroy(s);
}

static void rule_69(void)
{
    abi_latch latch;
    CUdeviceptr p = abi_word(0);
    CUgraph g = graph_new();
    CUstream s = abi_stream();
    add_append(g, add_append(g, NULL, p, 1), p, 2);
    CUgraphExec x = executable(g);
    abi_latch_put(&latch, s);
    R_IS(cu.cuGraphLaunch(x, s), CUDA_SUCCESS);
    R_IS(cu.cuGraphExecDestroy(x), CUDA_SUCCESS);
    R_IS(cu.cuGraphDestroy(g), CUDA_SUCCESS);
    R_IS(cu.cuStreamQuery(s), CUDA_ERROR_NOT_READY);
    abi_latch_open(&latch);
    R_IS(cu.cuStreamSynchronize(s), CUDA_SUCCESS);
    R_IS(abi_read(p), 12);
    cu.cuStreamDestroy(s);
    cu.cuMemFree(p);
}

typedef struct witness { int calls; pthread_t thread; } witness;

static void bear_witness(void *user)
{
    witness *w = user;
    w->thread = pthread_self();
    __atomic_fetch_add(&w->calls, 1, __ATOMIC_ACQ_REL);
}

static int witnessed(witness *w) { return __atomic_load_n(&w->calls, __ATOMIC_ACQUIRE); }

static void rule_70(void)
{
    abi_latch latch;
    witness w = { 0, pthread_self() };
    CUuserObject object = NULL;
    CUdeviceptr p = abi_word(0);
    CUstream s = abi_stream();
    R_NEED(cuUserObjectCreate);
    R_NEED(cuGraphRetainUserObject);
    CUgraph g = graph_new();
    add_append(g, NULL, p, 1);
    R_IS(cu.cuUserObjectCreate(&object, &w, bear_witness, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC), CUDA_SUCCESS);
    R_IS(cu.cuGraphRetainUserObject(g, object, 1, CU_GRAPH_USER_OBJECT_MOVE), CUDA_SUCCESS);
    CUgraphExec x = executable(g);
    R_IS(cu.cuGraphDestroy(g), CUDA_SUCCESS);
    abi_latch_put(&latch, s);
    R_IS(cu.cuGraphLaunch(x, s), CUDA_SUCCESS);
    R_IS(cu.cuGraphExecDestroy(x), CUDA_SUCCESS);
    R_IS(witnessed(&w), 0);                             /* a launch still holds it */
    abi_latch_open(&latch);
    R_IS(cu.cuStreamSynchronize(s), CUDA_SUCCESS);
    R_IS(cu.cuCtxSynchronize(), CUDA_SUCCESS);
    for (int i = 0; i < 5000 && !witnessed(&w); i++) nanosleep(&(struct timespec){ 0, 1000000 }, NULL);
    R_IS(witnessed(&w), 1);
    R_TRUE(!pthread_equal(w.thread, pthread_self()));
    cu.cuStreamDestroy(s);
    cu.cuMemFree(p);
}

/* ---- Conditional nodes (rule 71) --------------------------------------------------------------------------------- */

/* countdown: --*p, and the condition is whether it is not 0. */
static const char countdown_ptx[] =
    ".version 8.3\n.target sm_70\n.address_size 64\n"
    ".extern .func cudaGraphSetConditional(.param .b64 h, .param .b32 v);\n"
    ".visible .entry countdown(.param .u64 p, .param .u64 handle)\n"
    "{\n"
    "  .reg .b64 %a, %h; .reg .b32 %v;\n"
    "  ld.param.u64 %a, [p];\n"
    "  ld.param.u64 %h, [handle];\n"
    "  cvta.to.global.u64 %a, %a;\n"
    "  ld.global.u32 %v, [%a];\n"
    "  sub.u32 %v, %v, 1;\n"
    "  st.global.u32 [%a], %v;\n"
    "  {\n"
    "    .param .b64 ph; .param .b32 pv;\n"
    "    st.param.b64 [ph], %h;\n"
    "    st.param.b32 [pv], %v;\n"
    "    call.uni cudaGraphSetConditional, (ph, pv);\n"
    "  }\n"
    "  ret;\n"
    "}\n";

/* A conditional node and its graphs. */
static bool condition(CUgraph g, CUgraphConditionalNodeType type, unsigned value, unsigned size, CUgraphConditionalHandle *h, CUgraph *bodies)
{
    CUgraphNodeParams params = { .type = CU_GRAPH_NODE_TYPE_CONDITIONAL };
    CUgraphNode node = NULL;
    if (!R_TRUE(cu.cuGraphConditionalHandleCreate(h, g, abi_ctx, value, CU_GRAPH_COND_ASSIGN_DEFAULT) == CUDA_SUCCESS)) return false;
    params.conditional.handle = *h;
    params.conditional.type = type;
    params.conditional.size = size;
    params.conditional.ctx = abi_ctx;
    CUresult r = cu.cuGraphAddNode(&node, g, NULL, 0, &params);
    if (r) rule_seen("a conditional node of type %d with %u graphs: %d", (int)type, size, (int)r);
    if (!R_TRUE(r == CUDA_SUCCESS)) return false;
    for (unsigned i = 0; i < size; i++) bodies[i] = params.conditional.phGraph_out[i];
    return true;
}

static void rule_71(void)
{
    CUdeviceptr p = abi_word(10);
    CUmodule m = NULL;
    CUfunction countdown = NULL;
    CUgraphConditionalHandle h = 0;
    CUgraph body[3] = { NULL, NULL, NULL };
    CUgraphNode node = NULL;
    CUstream s = abi_stream();
    int version = 0;
    R_NEED(cuGraphConditionalHandleCreate);
    R_NEED(cuGraphAddNode);
    cu.cuDriverGetVersion(&version);
    R_IS(cu.cuModuleLoadData(&m, countdown_ptx), CUDA_SUCCESS);
    R_IS(cu.cuModuleGetFunction(&countdown, m, "countdown"), CUDA_SUCCESS);
    CUgraph g = graph_new();
    if (countdown && condition(g, CU_GRAPH_COND_TYPE_WHILE, 1, 1, &h, body)) {
        void *params[] = { &p, &h };
        CUDA_KERNEL_NODE_PARAMS_v2 k = { .func = countdown, .gridDimX = 1, .gridDimY = 1, .gridDimZ = 1, .blockDimX = 1, .blockDimY = 1, .blockDimZ = 1, .kernelParams = params };
        R_IS(cu.cuGraphAddKernelNode(&node, body[0], NULL, 0, &k), CUDA_SUCCESS);
        CUgraphExec x = executable(g);
        for (unsigned from = 10; from > 4; from -= 5) {     /* the default value comes back for each launch */
            R_IS(cu.cuMemsetD32Async(p, from, 1, s), CUDA_SUCCESS);
            R_IS(cu.cuGraphLaunch(x, s), CUDA_SUCCESS);
            R_IS(cu.cuStreamSynchronize(s), CUDA_SUCCESS);
            R_IS(abi_read(p), 0);
        }
        cu.cuGraphExecDestroy(x);
    }
    cu.cuGraphDestroy(g);
    for (unsigned value = 0; value < 2; value++) {          /* IF: its graph runs, or nothing */
        g = graph_new();
        if (condition(g, CU_GRAPH_COND_TYPE_IF, value, 1, &h, body)) {
            add_append(body[0], NULL, p, 6);
            CUgraphExec x = executable(g);
            R_IS(run_once(x, p), value ? 6 : 0);
            R_IS(run_once(x, p), value ? 6 : 0);
            cu.cuGraphExecDestroy(x);
        }
        cu.cuGraphDestroy(g);
    }
    for (unsigned value = 0; value < 2 && version >= 12080; value++) {      /* IF with ELSE */
        g = graph_new();
        if (condition(g, CU_GRAPH_COND_TYPE_IF, value, 2, &h, body)) {
            add_append(body[0], NULL, p, 6);
            add_append(body[1], NULL, p, 5);
            CUgraphExec x = executable(g);
            R_IS(run_once(x, p), value ? 6 : 5);
            cu.cuGraphExecDestroy(x);
        }
        cu.cuGraphDestroy(g);
    }
    for (unsigned value = 0; value < 4 && version >= 12080; value++) {      /* SWITCH: one of three, or none */
        g = graph_new();
        if (condition(g, CU_GRAPH_COND_TYPE_SWITCH, value, 3, &h, body)) {
            for (unsigned i = 0; i < 3; i++) add_append(body[i], NULL, p, i + 1);
            CUgraphExec x = executable(g);
            R_IS(run_once(x, p), value < 3 ? value + 1 : 0);
            cu.cuGraphExecDestroy(x);
        }
        cu.cuGraphDestroy(g);
    }
    if (version < 12080) rule_seen("not asked here: ELSE and SWITCH (the driver is older than CUDA 12.8)");
    cu.cuModuleUnload(m);
    cu.cuStreamDestroy(s);
    cu.cuMemFree(p);
}

static void rule_72(void)
{
    CUgraph g = graph_new();
    CUgraphExec x = NULL;
    CUgraphNode host = NULL;
    int calls = 0;
    CUdeviceptr p = abi_word(0);
    CUDA_HOST_NODE_PARAMS h = { count_one, &calls };
    if (!tap_on_gpu()) {
        rule_skip("graphs are launched from a device by a GPU only");
    } else {
        add_append(g, NULL, p, 1);
        R_IS(cu.cuGraphInstantiateWithFlags(&x, g, CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH), CUDA_SUCCESS);
        if (x) cu.cuGraphExecDestroy(x);
        x = NULL;
        R_IS(cu.cuGraphAddHostNode(&host, g, NULL, 0, &h), CUDA_SUCCESS);
        R_IS(cu.cuGraphInstantiateWithFlags(&x, g, CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH), CUDA_ERROR_INVALID_VALUE);
        CUresult r = cu.cuGraphInstantiateWithFlags(&x, g, CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH | CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH);
        R_TRUE(r != CUDA_SUCCESS);
    }
    cu.cuGraphDestroy(g);
    cu.cuMemFree(p);
}

typedef struct shared_graph { pthread_mutex_t lock; CUgraph g; int wrong; } shared_graph;

static void *shared_graph_thread(void *arg)
{
    shared_graph *sg = arg;
    CUgraphNode node = NULL;
    cu.cuCtxSetCurrent(abi_ctx);
    for (int i = 0; i < 50; i++) {
        pthread_mutex_lock(&sg->lock);
        sg->wrong += cu.cuGraphAddEmptyNode(&node, sg->g, &node, i ? 1 : 0) != CUDA_SUCCESS;
        pthread_mutex_unlock(&sg->lock);
    }
    cu.cuCtxSetCurrent(NULL);
    return NULL;
}

/* What a caller who locks may rely on; without a lock nothing is promised, so nothing is asked. */
static void rule_73(void)
{
    shared_graph sg = { PTHREAD_MUTEX_INITIALIZER, graph_new(), 0 };
    pthread_t thread[2];
    size_t nodes = 0, edges = 0;
    for (int i = 0; i < 2; i++) pthread_create(&thread[i], NULL, shared_graph_thread, &sg);
    for (int i = 0; i < 2; i++) pthread_join(thread[i], NULL);
    R_IS(sg.wrong, 0);
    R_IS(cu.cuGraphGetNodes(sg.g, NULL, &nodes), CUDA_SUCCESS);
    R_IS(nodes, 100);
    R_IS(cu.cuGraphGetEdges(sg.g, NULL, NULL, &edges), CUDA_SUCCESS);
    R_IS(edges, 98);
    cu.cuGraphDestroy(sg.g);
}

static const rule rules[] = {
    { 61, "a clone is independent; a child graph is copied when it is added; a graph with memory of its own cannot be cloned", rule_61, 0 },
    { 62, "the same edge twice is refused at once, a cycle when the graph is instantiated", rule_62, 0 },
    { 63, "an executable is a snapshot of its graph", rule_63, 0 },
    { 64, "launches of one executable wait for each other, those of two do not", rule_64, 0 },
    { 65, "a launch comes after the stream's work before it and before the work behind it", rule_65, 0 },
    { 66, "changed parameters and switched-off nodes are for later launches; only kernels, copies and fills can be switched off", rule_66, 0 },
    { 67, "an update with another shape is refused and leaves the executable as it was", rule_67, 0 },
    { 68, "a graph's memory has a fixed address, one executable, and must be freed before the next launch", rule_68, 0 },
    { 69, "an executable may be destroyed while it runs", rule_69, 0 },
    { 70, "a user object is destroyed once, when the last launch that needs it is done, in a thread of the driver", rule_70, 0 },
    { 71, "conditional nodes: if, else, while and switch; the default value comes back for each launch", rule_71, 0 },
    { 72, "a graph for launches by the device has kernels, copies and fills only", rule_72, 0 },
    { 73, "threads may share a graph that they lock", rule_73, 0 },
};
RULES_MAIN(rules)
