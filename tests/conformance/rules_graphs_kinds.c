/* Rules 68 - 73: graphs with memory, user objects, conditions; for the device; shared by threads. */
#include "rules_graphs.h"

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
    { 68, "a graph's memory has a fixed address, one executable, and must be freed before the next launch", rule_68, 0 },
    { 69, "an executable may be destroyed while it runs", rule_69, 0 },
    { 70, "a user object is destroyed once, when the last launch that needs it is done, in a thread of the driver", rule_70, 0 },
    { 71, "conditional nodes: if, else, while and switch; the default value comes back for each launch", rule_71, 0 },
    { 72, "a graph for launches by the device has kernels, copies and fills only", rule_72, 0 },
    { 73, "threads may share a graph that they lock", rule_73, 0 },
};
RULES_MAIN(rules)
