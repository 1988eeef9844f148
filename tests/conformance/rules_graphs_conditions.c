/* Rules 71 - 73: conditional nodes; graphs for launches by the device; graphs that threads share. */
#include "rules_graphs.h"

/* ---- Conditional nodes (rule 71) --------------------------------------------------------------------------------- */

/* set: the condition becomes n; count: *p += 1, and the condition becomes whether *p is below n; append: *p = *p * 10 +
 * n. */
#define SET_CONDITION \
    "  { .param .b64 h; .param .b32 v; st.param.b64 [h], %h; st.param.b32 [v], %v; " \
    "call.uni cudaGraphSetConditional, (h, v); }\n"
#define ENTRY(name, body)                                                                             \
    ".visible .entry " name "(.param .u64 p, .param .u32 n, .param .u64 c)\n{\n"                       \
    "  .reg .b64 %a, %h; .reg .b32 %n, %v; .reg .pred %q;\n"                                           \
    "  ld.param.u64 %a, [p]; ld.param.u32 %n, [n]; ld.param.u64 %h, [c]; cvta.to.global.u64 %a, %a;\n" \
    body "  ret;\n}\n"

static const char kernels[] = ".version 8.3\n.target sm_70\n.address_size 64\n"
    ".extern .func cudaGraphSetConditional(.param .b64 h, .param .b32 v);\n"
    ENTRY("set", "  mov.u32 %v, %n;\n" SET_CONDITION)
    ENTRY("count", "  ld.global.u32 %v, [%a]; add.u32 %v, %v, 1; st.global.u32 [%a], %v;\n"
                   "  setp.lt.u32 %q, %v, %n; selp.u32 %v, 1, 0, %q;\n" SET_CONDITION)
    ENTRY("append", "  ld.global.u32 %v, [%a]; mul.lo.u32 %v, %v, 10; add.u32 %v, %v, %n; st.global.u32 [%a], %v;\n");

static CUmodule conditions;
static CUdeviceptr word;

static CUgraphNode kernel(CUgraph g, const CUgraphNode *dep, size_t ndep, const char *name, unsigned n,
                          CUgraphConditionalHandle c)
{
    CUfunction f;
    CUgraphNode node = NULL;
    if (!conditions && cu.cuModuleLoadData(&conditions, kernels)) tap_bail("the kernels of the test do not load");
    if (cu.cuModuleGetFunction(&f, conditions, name)) tap_bail("no kernel %s", name);
    void *params[] = { &word, &n, &c };
    CUDA_KERNEL_NODE_PARAMS_v2 k = { .func = f,
                                     .gridDimX = 1,
                                     .gridDimY = 1,
                                     .gridDimZ = 1,
                                     .blockDimX = 1,
                                     .blockDimY = 1,
                                     .blockDimZ = 1,
                                     .kernelParams = params };
    if (cu.cuGraphAddKernelNode(&node, g, dep, ndep, &k)) tap_bail("no kernel node %s %u", name, n);
    return node;
}

static CUgraphConditionalHandle handle(CUgraph g, unsigned start, unsigned flags)
{
    CUgraphConditionalHandle c = 0;
    R_IS(cu.cuGraphConditionalHandleCreate(&c, g, abi_ctx, start, flags), CUDA_SUCCESS);
    return c;
}

static CUgraphNode conditional(CUgraph g, const CUgraphNode *dep, size_t ndep, CUgraphConditionalHandle c,
                               CUgraphConditionalNodeType type, unsigned size, CUgraph *body)
{
    CUgraphNodeParams p;
    CUgraphNode node = NULL;
    memset(&p, 0, sizeof p);
    p.type = CU_GRAPH_NODE_TYPE_CONDITIONAL;
    p.conditional.handle = c;
    p.conditional.type = type;
    p.conditional.size = size;
    p.conditional.ctx = abi_ctx;
    R_IS(cu.cuGraphAddNode(&node, g, dep, ndep, &p), CUDA_SUCCESS);
    for (unsigned i = 0; node && i < size; i++) body[i] = p.conditional.phGraph_out[i];
    return node;
}


static unsigned launch_once(CUgraphExec x)
{
    CUstream s = abi_stream();
    cu.cuMemsetD32Async(word, 0, 1, s);
    if (cu.cuGraphLaunch(x, s) || cu.cuStreamSynchronize(s)) tap_bail("no launch");
    cu.cuStreamDestroy(s);
    return abi_read(word);
}

/* 1, the conditional node over `size` bodies that append 2, 3 ..., then 9; the kernel `set` before it where set >= 0.
 * */
static const struct {
    const char *name;
    CUgraphConditionalNodeType type;
    unsigned size;
    unsigned start;
    int set;
    unsigned want;
} cases[] = {
    { "if, by default true", CU_GRAPH_COND_TYPE_IF, 1, 1, -1, 129 },
    { "if, by default false", CU_GRAPH_COND_TYPE_IF, 1, 0, -1, 19 },
    { "if, set to true", CU_GRAPH_COND_TYPE_IF, 1, 0, 5, 129 },
    { "if, set to false", CU_GRAPH_COND_TYPE_IF, 1, 1, 0, 19 },
    { "else", CU_GRAPH_COND_TYPE_IF, 2, 0, -1, 139 },
    { "not else", CU_GRAPH_COND_TYPE_IF, 2, 0, 1, 129 },
    { "switch to the first", CU_GRAPH_COND_TYPE_SWITCH, 3, 0, -1, 129 },
    { "switch to the last", CU_GRAPH_COND_TYPE_SWITCH, 3, 0, 2, 149 },
    { "switch past the last", CU_GRAPH_COND_TYPE_SWITCH, 3, 0, 3, 19 },
};

static void one_of_several(void)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CUgraph g, body[3];
        if (cases[i].type != CU_GRAPH_COND_TYPE_IF || cases[i].size > 1) {
            int version = 0;
            cu.cuDriverGetVersion(&version);
            if (version < 12080) {
                rule_seen("not queried here: %s (the driver is older than CUDA 12.8)", cases[i].name);
                continue;
            }
        }
        cu.cuGraphCreate(&g, 0);
        CUgraphConditionalHandle c = handle(g, cases[i].start, CU_GRAPH_COND_ASSIGN_DEFAULT);
        CUgraphNode before = kernel(g, NULL, 0, "append", 1, c);
        if (cases[i].set >= 0) before = kernel(g, &before, 1, "set", (unsigned)cases[i].set, c);
        CUgraphNode node = conditional(g, &before, 1, c, cases[i].type, cases[i].size, body);
        kernel(g, &node, 1, "append", 9, c);
        for (unsigned b = 0; b < cases[i].size; b++) kernel(body[b], NULL, 0, "append", b + 2, c);
        CUgraphExec x = executable(g);
        R_ROW(cases[i].name, launch_once(x), cases[i].want);
        R_ROW(cases[i].name, launch_once(x), cases[i].want);     /* the default value comes back */
        cu.cuGraphExecDestroy(x);
        cu.cuGraphDestroy(g);
    }
}

static void loops(void)
{
    CUgraph g, body, inner;
    cu.cuGraphCreate(&g, 0);
    CUgraphConditionalHandle c = handle(g, 1, CU_GRAPH_COND_ASSIGN_DEFAULT);
    conditional(g, NULL, 0, c, CU_GRAPH_COND_TYPE_WHILE, 1, &body);
    CUgraphNode count = kernel(body, NULL, 0, "count", 10, c);
    CUgraphExec x = executable(g);
    R_IS(launch_once(x), 10);                           /* its body ends the loop */
    R_IS(launch_once(x), 10);                           /* the default value comes back */
    CUstream s = abi_stream();
    cu.cuMemsetD32Async(word, 0, 1, s);
    R_IS(cu.cuGraphLaunch(x, s), CUDA_SUCCESS);
    R_IS(cu.cuGraphLaunch(x, s), CUDA_SUCCESS);
    R_IS(cu.cuGraphExecDestroy(x), CUDA_SUCCESS);       /* with two launches in flight */
    R_IS(cu.cuStreamSynchronize(s), CUDA_SUCCESS);
    R_IS(abi_read(word), 11);                           /* the second iterates once more */

    /* An IF in the loop: 1, 10, 11, 110. */
    CUgraphConditionalHandle d = handle(body, 0, CU_GRAPH_COND_ASSIGN_DEFAULT);
    CUgraphNode raise = kernel(body, &count, 1, "set", 1, d);
    conditional(body, &raise, 1, d, CU_GRAPH_COND_TYPE_IF, 1, &inner);
    kernel(inner, NULL, 0, "append", 0, d);
    x = executable(g);
    R_IS(launch_once(x), 110);
    cu.cuGraphExecDestroy(x);
    cu.cuGraphDestroy(g);
    cu.cuStreamDestroy(s);
}

static void captured_bodies(void)
{
    CUgraph g, body, again = NULL;
    CUstream s = abi_stream();
    if (!cu.cuStreamBeginCaptureToGraph) {
        rule_seen("not queried here: a capture into a body (the driver does not capture into a graph)");
        return;
    }
    cu.cuGraphCreate(&g, 0);
    CUgraphConditionalHandle c = handle(g, 1, CU_GRAPH_COND_ASSIGN_DEFAULT);
    conditional(g, NULL, 0, c, CU_GRAPH_COND_TYPE_WHILE, 1, &body);
    R_IS(cu.cuStreamBeginCaptureToGraph(s, body, NULL, NULL, 0, CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_SUCCESS);
    unsigned n = 4;
    CUfunction f;
    cu.cuModuleGetFunction(&f, conditions, "count");
    void *params[] = { &word, &n, &c };
    R_IS(cu.cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, s, params, NULL), CUDA_SUCCESS);
    R_IS(cu.cuStreamEndCapture(s, &again), CUDA_SUCCESS);
    R_TRUE(again == body);
    CUgraphExec x = executable(g);
    R_IS(launch_once(x), 4);
    cu.cuGraphExecDestroy(x);
    cu.cuGraphDestroy(g);
    cu.cuStreamDestroy(s);
}

static int called;
static void call(void *user) { (void)user; called++; }

static void rejected_conditions(void)
{
    CUgraph g, body, clone = NULL, outer;
    CUgraphExec x, y = NULL;
    CUgraphNode node = NULL;
    CUgraphConditionalHandle c = 0;
    CUDA_GRAPH_INSTANTIATE_PARAMS params;
    CUgraphNodeParams p;
    cu.cuGraphCreate(&g, 0);
    R_IS(cu.cuGraphConditionalHandleCreate(&c, g, abi_ctx, 0, 8), CUDA_ERROR_INVALID_VALUE);   /* an unknown flag */
    c = handle(g, 0, CU_GRAPH_COND_ASSIGN_DEFAULT);
    memset(&params, 0, sizeof params);
    R_TRUE(cu.cuGraphInstantiateWithParams(&y, g, &params) != CUDA_SUCCESS);
    R_IS(params.result_out, CUDA_GRAPH_INSTANTIATE_CONDITIONAL_HANDLE_UNUSED);
    memset(&p, 0, sizeof p);
    p.type = CU_GRAPH_NODE_TYPE_CONDITIONAL;
    p.conditional.handle = c;
    p.conditional.type = CU_GRAPH_COND_TYPE_WHILE;
    p.conditional.size = 2;
    p.conditional.ctx = abi_ctx;
    R_IS(cu.cuGraphAddNode(&node, g, NULL, 0, &p), CUDA_ERROR_INVALID_VALUE);     /* a loop with two bodies */
    conditional(g, NULL, 0, c, CU_GRAPH_COND_TYPE_IF, 1, &body);
    kernel(body, NULL, 0, "append", 1, c);
    x = executable(g);
    R_TRUE(cu.cuGraphClone(&clone, g) != CUDA_SUCCESS);
    cu.cuGraphCreate(&outer, 0);
    R_TRUE(cu.cuGraphAddChildGraphNode(&node, outer, NULL, 0, g) != CUDA_SUCCESS);
    R_IS(launch_once(x), 0);
    cu.cuGraphExecDestroy(x);
    CUDA_HOST_NODE_PARAMS h = { call, NULL };
    CUresult r = cu.cuGraphAddHostNode(&node, body, NULL, 0, &h);
    if (!r) r = cu.cuGraphInstantiateWithFlags(&y, g, 0);
    R_TRUE(r != CUDA_SUCCESS && !called);               /* a body has no host functions */
    cu.cuGraphDestroy(outer);
    cu.cuGraphDestroy(g);
}

static void updated_conditions(void)
{
    CUgraph g[2], body = NULL;
    CUgraphExecUpdateResultInfo info;
    if (!cu.cuGraphExecUpdate_v2) return;
    for (int i = 0; i < 2; i++) {
        cu.cuGraphCreate(&g[i], 0);
        CUgraphConditionalHandle c = handle(g[i], 1, CU_GRAPH_COND_ASSIGN_DEFAULT);
        conditional(g[i], NULL, 0, c, CU_GRAPH_COND_TYPE_IF, 1, &body);
        kernel(body, NULL, 0, "append", i ? 7 : 3, c);
    }
    CUgraphExec x = executable(g[0]);
    R_IS(launch_once(x), 3);
    memset(&info, 0, sizeof info);
    R_IS(cu.cuGraphExecUpdate_v2(x, g[1], &info), CUDA_SUCCESS);
    R_IS(launch_once(x), 7);
    cu.cuGraphExecDestroy(x);
    cu.cuGraphDestroy(g[0]);
    cu.cuGraphDestroy(g[1]);
}

/* Graphs that nobody destroys end with the process, each body once: their node owns it. */
static void left_at_the_end(void)
{
    CUgraph g, child, body[2];
    CUcontext kept;
    R_IS(cu.cuDevicePrimaryCtxRetain(&kept, 0), CUDA_SUCCESS);
    for (int i = 0; i < 40; i++) {
        cu.cuGraphCreate(&g, 0);
        if (i % 2) conditional(g, NULL, 0, handle(g, 1, CU_GRAPH_COND_ASSIGN_DEFAULT), CU_GRAPH_COND_TYPE_IF, 2, body);
        cu.cuGraphCreate(&child, 0);
        R_IS(cu.cuGraphAddChildGraphNode(&(CUgraphNode){ NULL }, g, NULL, 0, child), CUDA_SUCCESS);
    }
}

static void rule_71(void)
{
    R_NEED(cuGraphConditionalHandleCreate);
    R_NEED(cuGraphAddNode);
    word = abi_word(0);
    one_of_several();
    loops();
    captured_bodies();
    rejected_conditions();
    updated_conditions();
    left_at_the_end();
    cu.cuMemFree(word);
    cu.cuModuleUnload(conditions);
}

/* ---- For the device; shared by threads --------------------------------------------------------------------------- */

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
        R_IS(cu.cuGraphInstantiateWithFlags(&x, g, CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH),
             CUDA_ERROR_INVALID_VALUE);
        CUresult r = cu.cuGraphInstantiateWithFlags(
            &x, g, CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH | CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH);
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
    { 71, "conditional nodes: if, else, while and switch; the default value comes back for each launch", rule_71, 0 },
    { 72, "a graph for launches by the device has kernels, copies and fills only", rule_72, 0 },
    { 73, "threads may share a graph that they lock", rule_73, 0 },
};
RULES_MAIN(rules)
