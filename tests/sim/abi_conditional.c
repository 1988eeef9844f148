/* Conditional nodes: if, else, while, switch, nested; first values, and what is refused (semantics 71). */
#include "tests/conformance/driver_abi.h"

/* set: the condition becomes n; count: *p += 1, and the condition becomes whether *p is below n; append: *p = *p * 10 + n. */
#define SET_CONDITION "  { .param .b64 h; .param .b32 v; st.param.b64 [h], %h; st.param.b32 [v], %v; call.uni cudaGraphSetConditional, (h, v); }\n"
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

static CUmodule module;
static CUdeviceptr word;

static CUgraphNode kernel(CUgraph g, const CUgraphNode *dep, size_t ndep, const char *name, unsigned n, CUgraphConditionalHandle c)
{
    CUfunction f;
    CUgraphNode node = NULL;
    if (!module && cu.cuModuleLoadData(&module, kernels)) tap_bail("the kernels of the test do not load");
    if (cu.cuModuleGetFunction(&f, module, name)) tap_bail("no kernel %s", name);
    void *params[] = { &word, &n, &c };
    CUDA_KERNEL_NODE_PARAMS_v2 k = { .func = f, .gridDimX = 1, .gridDimY = 1, .gridDimZ = 1, .blockDimX = 1, .blockDimY = 1, .blockDimZ = 1, .kernelParams = params };
    if (cu.cuGraphAddKernelNode(&node, g, dep, ndep, &k)) tap_fail("kernel node %s %u", name, n);
    return node;
}

static CUgraphConditionalHandle handle(CUgraph g, unsigned start, unsigned flags)
{
    CUgraphConditionalHandle c = 0;
    abi_is(cu.cuGraphConditionalHandleCreate(&c, g, abi_ctx, start, flags), CUDA_SUCCESS, "a handle");
    return c;
}

static CUgraphNode conditional(CUgraph g, const CUgraphNode *dep, size_t ndep, CUgraphConditionalHandle c, CUgraphConditionalNodeType type, unsigned size, CUgraph *body)
{
    CUgraphNodeParams p;
    CUgraphNode node = NULL;
    memset(&p, 0, sizeof p);
    p.type = CU_GRAPH_NODE_TYPE_CONDITIONAL;
    p.conditional.handle = c;
    p.conditional.type = type;
    p.conditional.size = size;
    p.conditional.ctx = abi_ctx;
    abi_is(cu.cuGraphAddNode(&node, g, dep, ndep, &p), CUDA_SUCCESS, "a conditional node");
    for (unsigned i = 0; node && i < size; i++) body[i] = p.conditional.phGraph_out[i];
    return node;
}

static CUgraphExec instance(CUgraph g)
{
    CUgraphExec x = NULL;
    abi_is(cu.cuGraphInstantiateWithFlags(&x, g, 0), CUDA_SUCCESS, "instantiate");
    return x;
}

static unsigned run(CUgraphExec x)
{
    CUstream s = abi_stream();
    cu.cuMemsetD32Async(word, 0, 1, s);
    if (cu.cuGraphLaunch(x, s) || cu.cuStreamSynchronize(s)) tap_fail("launch");
    cu.cuStreamDestroy(s);
    return abi_read(word);
}

/* 1, the conditional node over `size` bodies that append 2, 3 ..., then 9; the kernel `set` before it where set >= 0. */
static const struct { const char *name; CUgraphConditionalNodeType type; unsigned size; unsigned start; int set; unsigned want; } cases[] = {
    { "if, by default true", CU_GRAPH_COND_TYPE_IF, 1, 1, -1, 129 },
    { "if, by default false", CU_GRAPH_COND_TYPE_IF, 1, 0, -1, 19 },
    { "if, made true", CU_GRAPH_COND_TYPE_IF, 1, 0, 5, 129 },
    { "if, made false", CU_GRAPH_COND_TYPE_IF, 1, 1, 0, 19 },
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
                tap_skip(1, "%s: this driver has no else and no switch", cases[i].name);
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
        CUgraphExec x = instance(g);
        tap_is_uint(run(x), cases[i].want, "%s", cases[i].name);
        tap_is_uint(run(x), cases[i].want, "%s: again", cases[i].name);
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
    CUgraphExec x = instance(g);
    tap_is_uint(run(x), 10, "a loop whose body ends it");
    tap_is_uint(run(x), 10, "each launch begins with the default");
    CUstream s = abi_stream();
    cu.cuMemsetD32Async(word, 0, 1, s);
    cu.cuGraphLaunch(x, s);
    cu.cuGraphLaunch(x, s);
    abi_is(cu.cuGraphExecDestroy(x), CUDA_SUCCESS, "destroyed with two launches in flight");
    cu.cuStreamSynchronize(s);
    tap_is_uint(abi_read(word), 11, "which end: the second has nothing left to count but one");

    /* An if in the loop: 10 for every round but the last, in which the condition is down. */
    CUgraphConditionalHandle d = handle(body, 0, CU_GRAPH_COND_ASSIGN_DEFAULT);
    CUgraphNode raise = kernel(body, &count, 1, "set", 1, d);
    conditional(body, &raise, 1, d, CU_GRAPH_COND_TYPE_IF, 1, &inner);
    kernel(inner, NULL, 0, "append", 0, d);
    x = instance(g);
    tap_is_uint(run(x), 110, "a conditional node inside of a loop: 1, 10, 11, 110");
    cu.cuGraphExecDestroy(x);
    cu.cuGraphDestroy(g);
    cu.cuStreamDestroy(s);
}

static void captured_bodies(void)
{
    CUgraph g, body, again = NULL;
    CUstream s = abi_stream();
    if (!cu.cuStreamBeginCaptureToGraph) {
        tap_skip(1, "this driver does not capture into a graph");
        return;
    }
    cu.cuGraphCreate(&g, 0);
    CUgraphConditionalHandle c = handle(g, 1, CU_GRAPH_COND_ASSIGN_DEFAULT);
    conditional(g, NULL, 0, c, CU_GRAPH_COND_TYPE_WHILE, 1, &body);
    abi_is(cu.cuStreamBeginCaptureToGraph(s, body, NULL, NULL, 0, CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_SUCCESS, "capture into the body");
    unsigned n = 4;
    CUfunction f;
    cu.cuModuleGetFunction(&f, module, "count");
    void *params[] = { &word, &n, &c };
    abi_is(cu.cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, s, params, NULL), CUDA_SUCCESS, "a kernel");
    abi_is(cu.cuStreamEndCapture(s, &again), CUDA_SUCCESS, "end");
    tap_ok(again == body, "the body itself");
    CUgraphExec x = instance(g);
    tap_is_uint(run(x), 4, "and it runs");
    cu.cuGraphExecDestroy(x);
    cu.cuGraphDestroy(g);
    cu.cuStreamDestroy(s);
}

static int called;
static void call(void *user) { (void)user; called++; }

static void what_is_refused(void)
{
    CUgraph g, body, clone = NULL, outer;
    CUgraphExec x, y = NULL;
    CUgraphNode node = NULL;
    CUgraphConditionalHandle c = 0;
    CUDA_GRAPH_INSTANTIATE_PARAMS params;
    CUgraphNodeParams p;
    cu.cuGraphCreate(&g, 0);
    abi_is(cu.cuGraphConditionalHandleCreate(&c, g, abi_ctx, 0, 8), CUDA_ERROR_INVALID_VALUE, "an unknown flag");
    c = handle(g, 0, CU_GRAPH_COND_ASSIGN_DEFAULT);
    memset(&params, 0, sizeof params);
    tap_ok(cu.cuGraphInstantiateWithParams(&y, g, &params) != CUDA_SUCCESS, "a handle without a node");
    tap_is_int(params.result_out, CUDA_GRAPH_INSTANTIATE_CONDITIONAL_HANDLE_UNUSED, "is said to be unused");
    memset(&p, 0, sizeof p);
    p.type = CU_GRAPH_NODE_TYPE_CONDITIONAL;
    p.conditional.handle = c;
    p.conditional.type = CU_GRAPH_COND_TYPE_WHILE;
    p.conditional.size = 2;
    p.conditional.ctx = abi_ctx;
    abi_is(cu.cuGraphAddNode(&node, g, NULL, 0, &p), CUDA_ERROR_INVALID_VALUE, "a loop with two bodies");
    conditional(g, NULL, 0, c, CU_GRAPH_COND_TYPE_IF, 1, &body);
    kernel(body, NULL, 0, "append", 1, c);
    x = instance(g);
    tap_ok(cu.cuGraphClone(&clone, g) != CUDA_SUCCESS, "a graph with a conditional node is not cloned");
    cu.cuGraphCreate(&outer, 0);
    tap_ok(cu.cuGraphAddChildGraphNode(&node, outer, NULL, 0, g) != CUDA_SUCCESS, "and is no child");
    tap_is_uint(run(x), 0, "the condition is down");
    cu.cuGraphExecDestroy(x);
    CUDA_HOST_NODE_PARAMS h = { call, NULL };
    CUresult r = cu.cuGraphAddHostNode(&node, body, NULL, 0, &h);
    if (!r) r = cu.cuGraphInstantiateWithFlags(&y, g, 0);
    tap_ok(r != CUDA_SUCCESS && !called, "a body has no host functions");
    cu.cuGraphDestroy(outer);
    cu.cuGraphDestroy(g);
}

static void updates(void)
{
    CUgraph g[2], body = NULL;
    CUgraphExecUpdateResultInfo info;
    for (int i = 0; i < 2; i++) {
        cu.cuGraphCreate(&g[i], 0);
        CUgraphConditionalHandle c = handle(g[i], 1, CU_GRAPH_COND_ASSIGN_DEFAULT);
        conditional(g[i], NULL, 0, c, CU_GRAPH_COND_TYPE_IF, 1, &body);
        kernel(body, NULL, 0, "append", i ? 7 : 3, c);
    }
    CUgraphExec x = instance(g[0]);
    tap_is_uint(run(x), 3, "before");
    memset(&info, 0, sizeof info);
    abi_is(cu.cuGraphExecUpdate_v2(x, g[1], &info), CUDA_SUCCESS, "a body with other parameters");
    tap_is_uint(run(x), 7, "takes their place");
    cu.cuGraphExecDestroy(x);
    cu.cuGraphDestroy(g[0]);
    cu.cuGraphDestroy(g[1]);
}

/* They end with the process, each body once: their node has it. */
static void left_at_the_end(void)
{
    CUgraph g, child, body[2];
    CUcontext kept;
    abi_is(cu.cuDevicePrimaryCtxRetain(&kept, 0), CUDA_SUCCESS, "the context stays to the end");
    for (int i = 0; i < 40; i++) {
        cu.cuGraphCreate(&g, 0);
        if (i % 2) conditional(g, NULL, 0, handle(g, 1, CU_GRAPH_COND_ASSIGN_DEFAULT), CU_GRAPH_COND_TYPE_IF, 2, body);
        cu.cuGraphCreate(&child, 0);
        abi_is(cu.cuGraphAddChildGraphNode(&(CUgraphNode){ NULL }, g, NULL, 0, child), CUDA_SUCCESS, "a child of a graph that nobody destroys");
    }
}

int main(void)
{
    abi_open();
    if (!cu.cuGraphConditionalHandleCreate || !cu.cuGraphAddNode) {
        tap_skip(1, "this driver has no conditional nodes");
        return abi_close();
    }
    word = abi_word(0);
    one_of_several();
    loops();
    captured_bodies();
    what_is_refused();
    updates();
    left_at_the_end();
    cu.cuMemFree(word);
    cu.cuModuleUnload(module);
    return abi_close();
}
