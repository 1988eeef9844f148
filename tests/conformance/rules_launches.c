/* Rules 74 - 80: launches and errors. */
#include "rules.h"

/* Each thread of an accepted launch runs once; a rejected one does nothing and no harm. */
static const struct { const char *name; unsigned grid[3], block[3], shared; int result; } shapes[] = {
    { "one thread", { 1, 1, 1 }, { 1, 1, 1 }, 0, CUDA_SUCCESS },
    { "the largest block", { 1, 1, 1 }, { 1024, 1, 1 }, 0, CUDA_SUCCESS },
    { "all dimensions", { 2, 3, 4 }, { 2, 4, 8 }, 0, CUDA_SUCCESS },
    { "many blocks", { 500, 1, 1 }, { 64, 1, 1 }, 0, CUDA_SUCCESS },
    { "48 KiB of shared memory", { 1, 1, 1 }, { 1, 1, 1 }, 49152, CUDA_SUCCESS },
    { "no blocks", { 0, 1, 1 }, { 1, 1, 1 }, 0, CUDA_ERROR_INVALID_VALUE },
    { "no rows of blocks", { 1, 0, 1 }, { 1, 1, 1 }, 0, CUDA_ERROR_INVALID_VALUE },
    { "no threads", { 1, 1, 1 }, { 1, 0, 1 }, 0, CUDA_ERROR_INVALID_VALUE },
    { "too many rows of blocks", { 1, 65536, 1 }, { 1, 1, 1 }, 0, CUDA_ERROR_INVALID_VALUE },
    { "a block that is too wide", { 1, 1, 1 }, { 1025, 1, 1 }, 0, CUDA_ERROR_INVALID_VALUE },
    { "a block that is too deep", { 1, 1, 1 }, { 1, 1, 65 }, 0, CUDA_ERROR_INVALID_VALUE },
    { "too many threads together", { 1, 1, 1 }, { 64, 64, 1 }, 0, CUDA_ERROR_INVALID_VALUE },
    { "more shared memory than the attribute allows", { 1, 1, 1 }, { 1, 1, 1 }, 49153, CUDA_ERROR_INVALID_VALUE },
};

/* A kernel that keeps 220 words in registers. */
static char *greedy_ptx(void)
{
    enum { WORDS = 220, ROOM = 40000 };
    char *text = malloc(ROOM);
    size_t n;
    if (!text) tap_bail("no memory");
    n = (size_t)snprintf(
        text, ROOM,
        "%s.visible .entry greedy(.param .u64 p)\n{\n  .reg .b64 %%a; .reg .b32 %%v<%d>;\n  ld.param.u64 %%a, [p];\n",
        ABI_HEAD, WORDS);
    for (int i = 0; i < WORDS; i++)
        n += (size_t)snprintf(text + n, ROOM - n, "  ld.volatile.global.u32 %%v%d, [%%a+%d];\n", i, 4 * i);
    for (int i = 0; i < WORDS; i++)
        n +=
            (size_t)snprintf(text + n, ROOM - n, "  st.volatile.global.u32 [%%a+%d], %%v%d;\n", 4 * (WORDS - 1 - i), i);
    snprintf(text + n, ROOM - n, "  ret;\n}\n");
    return text;
}

/* What a kernel's resources allow. */
static void occupancy_of(CUfunction f)
{
    int blocks = 0, threads = 0, grid = 0;
    R_IS(cu.cuFuncGetAttribute(&threads, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, f), CUDA_SUCCESS);
    R_IS(threads, 1024);
    R_IS(cu.cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, f, 256, 0), CUDA_SUCCESS);
    R_IS(blocks, 8);
    R_IS(cu.cuOccupancyMaxPotentialBlockSize(&grid, &threads, f, NULL, 0, 0), CUDA_SUCCESS);
    R_TRUE(threads > 0 && threads <= 1024 && grid > 0);
}

static void rule_74(void)
{
    CUfunction add = rule_kernel("add"), greedy = NULL;
    CUstream s = abi_stream();
    CUdeviceptr p = abi_word(0), words = 0;
    unsigned one = 1;
    void *params[] = { &p, &one };
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        const unsigned *g = shapes[i].grid, *b = shapes[i].block;
        unsigned threads = shapes[i].result ? 0 : 1;
        for (int k = 0; k < 3; k++) threads *= g[k] * b[k];
        R_ROW(shapes[i].name, cu.cuMemsetD32Async(p, 0, 1, s), CUDA_SUCCESS);
        R_ROW(shapes[i].name,
              cu.cuLaunchKernel(add, g[0], g[1], g[2], b[0], b[1], b[2], shapes[i].shared, s, params, NULL),
              shapes[i].result);
        R_ROW(shapes[i].name, cu.cuStreamSynchronize(s), CUDA_SUCCESS);
        R_ROW(shapes[i].name, abi_read(p), threads);
    }
    if (cu.cuLaunchCooperativeKernel) {
        R_IS(cu.cuMemsetD32Async(p, 0, 1, s), CUDA_SUCCESS);
        R_IS(cu.cuLaunchCooperativeKernel(add, 4, 1, 1, 32, 1, 1, 0, s, params), CUDA_SUCCESS);
        R_IS(cu.cuLaunchCooperativeKernel(add, 1 << 20, 1, 1, 1024, 1, 1, 0, s, params),
             CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
        R_IS(cu.cuStreamSynchronize(s), CUDA_SUCCESS);
        R_IS(abi_read(p), 128);
    }
    occupancy_of(add);
    if (tap_on_gpu()) {
        int registers = 0;
        CUmodule m = NULL;
        char *text = greedy_ptx();
        void *greedy_params[] = { &words };
        R_IS(cu.cuMemAlloc(&words, 4096), CUDA_SUCCESS);
        R_IS(cu.cuModuleLoadData(&m, text), CUDA_SUCCESS);
        R_IS(cu.cuModuleGetFunction(&greedy, m, "greedy"), CUDA_SUCCESS);
        R_IS(cu.cuFuncGetAttribute(&registers, CU_FUNC_ATTRIBUTE_NUM_REGS, greedy), CUDA_SUCCESS);
        rule_seen("a kernel with %d registers", registers);
        R_TRUE(registers > 64);
        R_IS(cu.cuLaunchKernel(greedy, 1, 1, 1, 1024, 1, 1, 0, s, greedy_params, NULL),
             CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
        R_IS(cu.cuStreamSynchronize(s), CUDA_SUCCESS);
        cu.cuModuleUnload(m);
        cu.cuMemFree(words);
        free(text);
    } else {
        rule_seen("not queried here: too many registers (the CPU device has as many as a kernel wants)");
    }
    cu.cuMemFree(p);
    cu.cuStreamDestroy(s);
}

static void rule_75(void)
{
    CUmodule m = NULL;
    CUfunction add = abi_kernel(&m, "add");     /* of its own: the attribute stays with the function */
    CUstream s = abi_stream();
    CUdeviceptr p = abi_word(0);
    int most = 0, value = 0;
    unsigned one = 1;
    void *params[] = { &p, &one };
    R_IS(cu.cuDeviceGetAttribute(&most, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 0), CUDA_SUCCESS);
    R_IS(cu.cuLaunchKernel(add, 1, 1, 1, 1, 1, 1, 49152, s, params, NULL), CUDA_SUCCESS);
    R_IS(cu.cuLaunchKernel(add, 1, 1, 1, 1, 1, 1, 49153, s, params, NULL), CUDA_ERROR_INVALID_VALUE);
    R_IS(cu.cuFuncSetAttribute(add, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, most + 1),
         CUDA_ERROR_INVALID_VALUE);
    R_IS(cu.cuFuncSetAttribute(add, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, most), CUDA_SUCCESS);
    R_IS(cu.cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, add), CUDA_SUCCESS);
    R_IS(value, most);
    R_IS(cu.cuLaunchKernel(add, 1, 1, 1, 1, 1, 1, (unsigned)most, s, params, NULL), CUDA_SUCCESS);
    R_IS(cu.cuStreamSynchronize(s), CUDA_SUCCESS);
    R_IS(abi_read(p), 2);
    /* less again */
    R_IS(cu.cuFuncSetAttribute(add, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 49152), CUDA_SUCCESS);
    cu.cuModuleUnload(m);
    cu.cuMemFree(p);
    cu.cuStreamDestroy(s);
}

static const char mixed_ptx[] = ABI_HEAD
    ".visible .entry mixed(.param .u8 a, .param .u64 b, .param .u16 c, .param .align 16 .b8 d[20], .param .f32 e)\n{\n"
    "  ret;\n}\n"
    ".visible .entry empty()\n{\n  ret;\n}\n";

static void rule_76(void)
{
    static const struct { size_t offset, size; } want[] = { { 0, 1 }, { 8, 8 }, { 16, 2 }, { 32, 20 }, { 52, 4 } };
    CUmodule m = NULL;
    CUfunction mixed = NULL, empty = NULL;
    size_t offset = 0, size = 0;
    R_NEED(cuFuncGetParamInfo);
    R_IS(cu.cuModuleLoadData(&m, mixed_ptx), CUDA_SUCCESS);
    R_IS(cu.cuModuleGetFunction(&mixed, m, "mixed"), CUDA_SUCCESS);
    R_IS(cu.cuModuleGetFunction(&empty, m, "empty"), CUDA_SUCCESS);
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        R_IS(cu.cuFuncGetParamInfo(mixed, i, &offset, &size), CUDA_SUCCESS);
        R_IS(offset, want[i].offset);
        R_IS(size, want[i].size);
    }
    R_IS(cu.cuFuncGetParamInfo(mixed, 5, &offset, &size), CUDA_ERROR_INVALID_VALUE);
    R_IS(cu.cuFuncGetParamInfo(empty, 0, &offset, &size), CUDA_ERROR_INVALID_VALUE);
    R_IS(cu.cuFuncGetParamInfo(rule_kernel("add"), 1, &offset, &size), CUDA_SUCCESS);
    R_TRUE(offset == 8 && size == 4);
    R_IS(cu.cuFuncGetParamInfo(rule_kernel("add"), 2, &offset, &size), CUDA_ERROR_INVALID_VALUE);
    cu.cuModuleUnload(m);
}

static void rule_77(void)
{
    struct latch latch;
    CUfunction append = rule_kernel("append");
    CUstream s = abi_stream();
    CUdeviceptr p = abi_word(0), q = abi_word(0), to = p;
    unsigned n = 1;
    void *params[] = { &to, &n };
    struct { CUdeviceptr p; unsigned n; } block = { p, 2 };
    size_t bytes = 12;
    void *extra[] = { CU_LAUNCH_PARAM_BUFFER_POINTER, &block, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes,
                      CU_LAUNCH_PARAM_END };
    CUlaunchConfig config = {
        .gridDimX = 1, .gridDimY = 1, .gridDimZ = 1, .blockDimX = 1, .blockDimY = 1, .blockDimZ = 1, .hStream = s
    };
    void *both[] = { &p, &n };
    abi_hold(&latch, s);
    R_IS(cu.cuLaunchKernel(append, 1, 1, 1, 1, 1, 1, 0, s, params, NULL), CUDA_SUCCESS);
    n = 3;
    if (cu.cuLaunchKernelEx) R_IS(cu.cuLaunchKernelEx(&config, append, params, NULL), CUDA_SUCCESS);
    n = 9, to = q;
    params[0] = params[1] = NULL;
    R_IS(cu.cuLaunchKernel(append, 1, 1, 1, 1, 1, 1, 0, s, NULL, extra), CUDA_SUCCESS);
    block.n = 8, block.p = q;
    /* both forms at once */
    R_IS(cu.cuLaunchKernel(append, 1, 1, 1, 1, 1, 1, 0, s, both, extra), CUDA_ERROR_INVALID_VALUE);
    latch_open(&latch);
    R_IS(cu.cuStreamSynchronize(s), CUDA_SUCCESS);
    R_IS(abi_read(p), cu.cuLaunchKernelEx ? 132 : 12);
    R_IS(abi_read(q), 0);
    cu.cuMemFree(p);
    cu.cuMemFree(q);
    cu.cuStreamDestroy(s);
}

typedef struct fault_waiter { CUstream s; int answer; } fault_waiter;

static void *fault_waiter_thread(void *arg)
{
    fault_waiter *w = arg;
    cu.cuCtxSetCurrent(abi_ctx);
    w->answer = (int)cu.cuStreamSynchronize(w->s);
    return NULL;
}

static void rule_78(void)
{
    struct latch latch;
    CUstream s = abi_stream(), t = abi_stream();
    CUevent e = abi_event(), f = abi_event();
    CUdeviceptr p = abi_word(0), other = 0;
    CUcontext own = NULL;
    fault_waiter w = { s, -1 };
    CUfunction add = rule_kernel("add");
    pthread_t thread;
    size_t a = 0, b = 0;
    if (cu.cuCtxCreate) {
        R_IS(cu.cuCtxCreate(&own, 0, 0), CUDA_SUCCESS);
        R_IS(cu.cuCtxPopCurrent(&own), CUDA_SUCCESS);
    }
    abi_hold(&latch, s);
    R_IS(abi_launch(rule_kernel("wild"), 1, 1, s, 0, 1), CUDA_SUCCESS);
    R_IS(cu.cuEventRecord(e, s), CUDA_SUCCESS);
    pthread_create(&thread, NULL, fault_waiter_thread, &w);
    latch_open(&latch);
    pthread_join(thread, NULL);                     /* whoever waits is let go */
    R_IS(w.answer, CUDA_ERROR_ILLEGAL_ADDRESS);
    R_IS(cu.cuEventSynchronize(e), CUDA_ERROR_ILLEGAL_ADDRESS);
    R_IS(cu.cuStreamSynchronize(s), CUDA_ERROR_ILLEGAL_ADDRESS);
    R_IS(cu.cuStreamQuery(t), CUDA_ERROR_ILLEGAL_ADDRESS);
    R_IS(cu.cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
    R_IS(cu.cuMemAlloc(&other, 4), CUDA_ERROR_ILLEGAL_ADDRESS);
    R_IS(cu.cuMemsetD32(p, 1, 1), CUDA_ERROR_ILLEGAL_ADDRESS);
    R_IS(abi_launch(add, 1, 1, t, p, 1), CUDA_ERROR_ILLEGAL_ADDRESS);
    R_IS(cu.cuEventRecord(f, t), CUDA_ERROR_ILLEGAL_ADDRESS);
    rule_seen("releases: cuEventDestroy %d, cuStreamDestroy %d, cuMemFree %d", (int)cu.cuEventDestroy(f),
              (int)cu.cuStreamDestroy(t), (int)cu.cuMemFree(p));
    if (own) {
        cu.cuCtxPushCurrent(own);
        CUresult r = cu.cuMemAlloc(&other, 4);
        rule_seen("another context of the device: cuMemAlloc %d", (int)r);
        if (!tap_on_gpu()) R_IS(r, CUDA_SUCCESS);
        cu.cuCtxPopCurrent(&own);
    }
    rule_seen("cuMemGetInfo %d", (int)cu.cuMemGetInfo(&a, &b));
}

static void rule_79(void)
{
    struct latch latch;
    CUstream s = abi_stream();
    CUdeviceptr p = abi_word(0), q = 0;
    CUgraph one = NULL, two = NULL;
    CUgraphExec x = NULL;
    CUgraphNode node = NULL;
    CUgraphExecUpdateResult result = CU_GRAPH_EXEC_UPDATE_SUCCESS;
    abi_hold(&latch, s);
    R_IS(cu.cuStreamQuery(s), CUDA_ERROR_NOT_READY);
    R_IS(abi_launch(rule_kernel("add"), 1, 1025, s, p, 1), CUDA_ERROR_INVALID_VALUE);
    latch_open(&latch);
    R_IS(cu.cuStreamSynchronize(s), CUDA_SUCCESS);
    R_IS(cu.cuMemAlloc(&q, (size_t)1 << 50), CUDA_ERROR_OUT_OF_MEMORY);
    if (cu.cuGraphExecUpdate && cu.cuGraphAddEmptyNode) {
        cu.cuGraphCreate(&one, 0);
        cu.cuGraphCreate(&two, 0);
        cu.cuGraphAddEmptyNode(&node, one, NULL, 0);
        cu.cuGraphAddEmptyNode(&node, two, NULL, 0);
        cu.cuGraphAddEmptyNode(&node, two, NULL, 0);
        R_IS(cu.cuGraphInstantiateWithFlags(&x, one, 0), CUDA_SUCCESS);
        R_IS(cu.cuGraphExecUpdate(x, two, &node, &result), CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
        cu.cuGraphExecDestroy(x);
        cu.cuGraphDestroy(one);
        cu.cuGraphDestroy(two);
    }
    R_IS(abi_launch(rule_kernel("add"), 1, 1, s, p, 1), CUDA_SUCCESS);
    R_IS(cu.cuStreamSynchronize(s), CUDA_SUCCESS);
    R_IS(cu.cuCtxSynchronize(), CUDA_SUCCESS);
    R_IS(abi_read(p), 1);
    cu.cuMemFree(p);
    cu.cuStreamDestroy(s);
}

typedef struct unloader { CUmodule m; struct latch begun; int answer; } unloader;

static void *unloader_thread(void *arg)
{
    unloader *u = arg;
    cu.cuCtxSetCurrent(abi_ctx);
    latch_open(&u->begun);
    u->answer = (int)cu.cuModuleUnload(u->m);
    cu.cuCtxSetCurrent(NULL);
    return NULL;
}

/* A kernel of the module runs behind an open gate only when the call of cuModuleUnload is on its way. */
static void rule_80(void)
{
    unloader u = { NULL, LATCH_CLOSED, -1 };
    CUfunction hold = NULL, add = NULL;
    CUstream s = abi_stream();
    CUdeviceptr p = abi_word(0);
    pthread_t thread;
    rule_gate g = gate_make(), h = gate_make();
    if (cu.cuModuleLoadData(&u.m, rule_ptx) || cu.cuModuleGetFunction(&hold, u.m, "hold")) tap_bail("no kernel");
    gate_open(&h);
    abi_launch(hold, 1, 1, s, h.at, 8000000);       /* loaded now, if it was not */
    R_IS(cu.cuStreamSynchronize(s), CUDA_SUCCESS);
    R_IS(abi_launch(hold, 1, 1, s, g.at, 8000000), CUDA_SUCCESS);
    pthread_create(&thread, NULL, unloader_thread, &u);
    latch_wait(&u.begun);
    gate_open(&g);
    pthread_join(thread, NULL);
    R_IS(u.answer, CUDA_SUCCESS);
    R_IS(cu.cuStreamSynchronize(s), CUDA_SUCCESS);
    add = rule_kernel("add");
    R_IS(abi_launch(add, 1, 1, s, p, 1), CUDA_SUCCESS);
    R_IS(cu.cuStreamSynchronize(s), CUDA_SUCCESS);
    R_IS(abi_read(p), 1);
    cu.cuMemFree(p);
    cu.cuStreamDestroy(s);
    gate_free(&g);
    gate_free(&h);
}

static const rule rules[] = {
    { 74,
      "a grid or block of an impossible size is rejected, as is a launch that needs more registers or blocks than the "
      "device has",
      rule_74, 0 },
    { 75, "dynamic shared memory above the default requires its attribute", rule_75, 0 },
    { 76, "the driver reports each parameter's offset and size, as .entry lays them out", rule_76, 0 },
    { 77, "arguments are copied at the launch", rule_77, 0 },
    { 78, "a fault is sticky: every later call of the context returns it, and threads that wait return", rule_78,
      RULE_ALONE },
    { 79, "NOT_READY, rejected launches, rejected updates and out-of-memory errors are not sticky", rule_79, 0 },
    { 80, "unloading a module while a kernel of it runs does no harm to the context", rule_80, RULE_ALONE },
};
RULES_MAIN(rules)
