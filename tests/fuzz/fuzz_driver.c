/* The CPU device's driver: an input is a list of calls, a few bytes each, on objects that earlier ones made or freed.
 * No call crashes or hangs, whatever its arguments; host pointers alone are right. An odd first byte makes allocations
 * fail, each as many as the second byte says. With --threads, threads share contexts, streams, events, modules and
 * graphs, but no device memory, which would be a race of the caller. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/fuzz/fuzz_driver.h"

const char cji_fuzz_name[] = "driver";
const bool cji_fuzz_is_text = false, cji_fuzz_has_threads = true;

enum { SLOTS = 8, HOST = 1 << 16, MEMORY = 1 << 14 };

typedef enum kind { CTX, STREAM, EVENT, MODULE, FUNC, GRAPH, NODE, EXEC, POOL, LINKER, KINDS } kind;

/* Handles of all threads. A slot keeps a handle that was freed, so that calls get stale ones. */
static void *slot[KINDS][SLOTS];
static pthread_mutex_t slots = PTHREAD_MUTEX_INITIALIZER;

/* What belongs to one thread: the rest of the input, memory. */
typedef struct calls {
    const uint8_t *at, *end;
    CUdeviceptr memory[SLOTS];
    void *pinned[SLOTS];
    unsigned char *host;
} calls;

static _Thread_local unsigned countdown, every;
static _Thread_local CUcontext own_ctx; /* where the thread's inputs begin; another one after a fault */

static void *allocate(void *user, void *old, size_t old_bytes, size_t bytes)
{
    (void)user;
    (void)old_bytes;
    if (!bytes) return free(old), NULL;
    if (every && !--countdown) return countdown = every, NULL;
    return realloc(old, bytes);
}

static const char text[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n.global .align 4 .b32 g[16];\n"
    ".visible .entry nothing() { ret; }\n"
    ".visible .entry write(.param .u64 p, .param .u32 v) { .reg .u64 a; .reg .u32 x;\n"
    "ld.param.u64 a, [p]; ld.param.u32 x, [v]; st.global.u32 [a], x; ret; }\n"
    ".visible .entry stop() { trap; }\n";

void cji_fuzz_begin(void)
{
    cj_status (*setup)(uint32_t, const char *, cj_realloc_fn, void *, cj_log_fn, void *) = cujit_sim_setup;
    char build[64];
    snprintf(build, sizeof build, CUJIT_SIM_BUILD_FORMAT, cj_version(), (unsigned long long)cj_table_hash());
    if (setup(CUJIT_SIM_ABI, build, allocate, NULL, NULL, NULL))
        cji_fuzz_fail("the allocator is not taken: %s", cujit_sim_complaint());
    fuzz_open();
    CUmodule m;
    if (cu.cuModuleLoadData(&m, text)) cji_fuzz_fail("the module is not loaded");
    cu.cuModuleUnload(m);
}

/* Lists of calls that make sense, one of each group, and some at random. */
void cji_fuzz_seeds(void)
{
    cji_fuzz_random r = { 88172645463325252u };
    for (int i = 0; i < 24; i++) {
        uint8_t data[512];
        for (size_t k = 0; k < sizeof data; k++) data[k] = (uint8_t)cji_fuzz_below(&r, 256);
        data[0] = (uint8_t)(i % 4 == 3);
        cji_fuzz_add(data, sizeof data);
    }
}

/* ---- Arguments --------------------------------------------------------------------------------------------------- */

static unsigned byte(calls *c) { return c->at < c->end ? *c->at++ : 0; }

/* A handle of the kind, live or stale; at times NULL, one of another kind, or none at all. */
static void *get(calls *c, kind k)
{
    unsigned b = byte(c);
    if (b >= 252) return b == 252 ? NULL : b == 253 ? (void *)(uintptr_t)(byte(c) * 8 + 8) : (void *)c->host;
    if (b >= 246) k = (kind)(b % KINDS);
    pthread_mutex_lock(&slots);
    void *h = slot[k][b % SLOTS];
    pthread_mutex_unlock(&slots);
    return h;
}

static void destroy(kind k, void *h)
{
    switch (k) {
    case CTX: cu.cuCtxDestroy(h); break;
    case STREAM: cu.cuStreamDestroy(h); break;
    case EVENT: cu.cuEventDestroy(h); break;
    case MODULE: cu.cuModuleUnload(h); break;
    case GRAPH: cu.cuGraphDestroy(h); break;
    case EXEC: cu.cuGraphExecDestroy(h); break;
    case POOL: cu.cuMemPoolDestroy(h); break;
    case LINKER: cu.cuLinkDestroy(h); break;
    default: break; /* belongs to another object */
    }
}

/* What was in the slot is destroyed, so that objects do not heap up. */
static void put(calls *c, kind k, void *h)
{
    unsigned b = byte(c);
    pthread_mutex_lock(&slots);
    void *old = slot[k][b % SLOTS];
    slot[k][b % SLOTS] = h;
    pthread_mutex_unlock(&slots);
    if (old != h) destroy(k, old);
}

static CUstream stream(calls *c)
{
    unsigned b = byte(c);
    if (b < 32) return (CUstream)(uintptr_t)(b % 3);
    return get(c, STREAM);
}

/* Some bytes of device memory, live or freed, in bounds or beyond. */
static CUdeviceptr device(calls *c)
{
    unsigned b = byte(c);
    CUdeviceptr d = c->memory[b % SLOTS];
    return d ? d + (b >> 3) * 512 * (b % 16 != 15) : 0;
}

static size_t size(calls *c)
{
    static const size_t sizes[] = { 0, 1, 3, 4, 16, 100, 1024, 4096, 8192, MEMORY, MEMORY + 1, HOST / 2 };
    return sizes[byte(c) % (sizeof sizes / sizeof *sizes)];
}

/* Host memory: pageable, or pinned where there is some. */
static unsigned char *host(calls *c)
{
    unsigned b = byte(c);
    unsigned char *p = b & 1 ? c->pinned[b / 2 % SLOTS] : NULL;
    return p ? p : c->host + b % 64;
}

/* ---- Calls ------------------------------------------------------------------------------------------------------- */

static void call_context(calls *c)
{
    CUcontext h = NULL;
    switch (byte(c) % 9) {
    case 0:
        if (!cu.cuCtxCreate(&h, byte(c) % 4, 0)) put(c, CTX, h);
        break;
    case 1: cu.cuCtxDestroy(get(c, CTX)); break;
    case 2: cu.cuCtxSetCurrent(get(c, CTX)); break;
    case 3: cu.cuCtxPushCurrent(get(c, CTX)); break;
    case 4: cu.cuCtxPopCurrent(&h); break;
    case 5: cu.cuCtxSynchronize(); break;
    case 6:
        if (!cu.cuCtxGetCurrent(&h)) put(c, CTX, h);
        break;
    case 7: cu.cuCtxSetLimit((CUlimit)(byte(c) % 8), size(c)); break;
    default: cu.cuCtxSetCurrent(own_ctx);
    }
}

static void call_stream(calls *c)
{
    CUstream s = NULL;
    CUgraph g = NULL;
    CUstreamCaptureStatus status;
    switch (byte(c) % 9) {
    case 0:
        if (!cu.cuStreamCreate(&s, byte(c) % 3)) put(c, STREAM, s);
        break;
    case 1: cu.cuStreamDestroy(get(c, STREAM)); break;
    case 2: cu.cuStreamSynchronize(stream(c)); break;
    case 3: cu.cuStreamQuery(stream(c)); break;
    case 4: cu.cuStreamWaitEvent(stream(c), get(c, EVENT), byte(c) % 3); break;
    case 5: cu.cuStreamBeginCapture(stream(c), (CUstreamCaptureMode)(byte(c) % 4)); break;
    case 6:
        if (!cu.cuStreamEndCapture(stream(c), &g)) put(c, GRAPH, g);
        break;
    case 7: cu.cuStreamIsCapturing(stream(c), &status); break;
    default:
        if (!cu.cuStreamCreateWithPriority(&s, byte(c) % 3, (int)byte(c) - 128)) put(c, STREAM, s);
    }
}

static void call_event(calls *c)
{
    CUevent e = NULL;
    float ms;
    switch (byte(c) % 6) {
    case 0:
        if (!cu.cuEventCreate(&e, byte(c) % 8)) put(c, EVENT, e);
        break;
    case 1: cu.cuEventDestroy(get(c, EVENT)); break;
    case 2: cu.cuEventRecord(get(c, EVENT), stream(c)); break;
    case 3: cu.cuEventQuery(get(c, EVENT)); break;
    case 4: cu.cuEventSynchronize(get(c, EVENT)); break;
    default: e = get(c, EVENT); cu.cuEventElapsedTime(&ms, e, get(c, EVENT));
    }
}

static void call_memory(calls *c)
{
    unsigned op = byte(c) % 10, at = byte(c) % SLOTS;
    CUdeviceptr d = 0;
    CUcontext left;
    void *p = NULL;
    switch (op) {
    case 0:
        if (!cu.cuMemAlloc(&d, size(c))) c->memory[at] = d;
        break;
    case 1: cu.cuMemFree(device(c)); break;
    case 2:
        if (!cu.cuMemAllocAsync(&d, size(c), stream(c))) c->memory[at] = d;
        break;
    case 3:
        d = device(c);
        cu.cuMemFreeAsync(d, stream(c));
        break;
    case 4: /* of the primary context, since an input may destroy any other, and its host memory with it */
        if (c->pinned[at] || cu.cuCtxPushCurrent(fuzz_ctx)) break;
        if (!cu.cuMemHostAlloc(&p, HOST, byte(c) % 8)) c->pinned[at] = p;
        cu.cuCtxPopCurrent(&left);
        break;
    case 5: /* the slot is emptied: nobody may use freed host memory in a call */
        cu.cuMemFreeHost(c->pinned[at]);
        c->pinned[at] = NULL;
        break;
    case 6:
        d = device(c);
        cu.cuMemGetAddressRange(&d, NULL, d);
        break;
    case 7: {
        CUmemPoolProps props = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                                 .location = { CU_MEM_LOCATION_TYPE_DEVICE, 0 } };
        CUmemoryPool pool = NULL;
        if (!cu.cuMemPoolCreate(&pool, &props)) put(c, POOL, pool);
        break;
    }
    case 8: cu.cuMemPoolDestroy(get(c, POOL)); break;
    default: {
        size_t n = size(c);
        CUmemoryPool pool = get(c, POOL);
        if (!cu.cuMemAllocFromPoolAsync(&d, n, pool, stream(c))) c->memory[at] = d;
    }
    }
}

static void call_copy(calls *c)
{
    unsigned op = byte(c) % 10;
    CUdeviceptr d = device(c), e = device(c);
    unsigned char *h = host(c);
    size_t n = size(c);
    CUstream s = stream(c);
    if (n > HOST / 2) n = HOST / 2;
    switch (op) {
    case 0: cu.cuMemcpyHtoD(d, h, n); break;
    case 1: cu.cuMemcpyDtoH(h, d, n); break;
    case 2: cu.cuMemcpyDtoD(d, e, n); break;
    case 3: cu.cuMemcpyHtoDAsync(d, h, n, s); break;
    case 4: cu.cuMemcpyDtoHAsync(h, d, n, s); break;
    case 5: cu.cuMemcpyDtoDAsync(d, e, n, s); break;
    case 6: cu.cuMemsetD8(d, 7, n); break;
    case 7: cu.cuMemsetD32Async(d, 7, n / 4, s); break;
    case 8: cu.cuMemsetD2D16Async(d, size(c), 5, size(c), size(c), s); break;
    default: {
        CUDA_MEMCPY3D q = { .srcMemoryType = CU_MEMORYTYPE_DEVICE,
                            .srcDevice = d,
                            .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                            .dstDevice = e,
                            .srcPitch = size(c),
                            .dstPitch = size(c),
                            .srcHeight = size(c) << byte(c) % 56,
                            .dstHeight = size(c) << byte(c) % 56,
                            .WidthInBytes = size(c),
                            .Height = byte(c) % 4,
                            .Depth = (size_t)byte(c) << byte(c) % 60,
                            .srcXInBytes = size(c),
                            .dstZ = byte(c) % 3 };
        cu.cuMemcpy3DAsync(&q, s);
    }
    }
}

static void call_module(calls *c)
{
    static const char *const names[] = { "nothing", "write", "stop", "none" };
    CUmodule m = NULL;
    CUfunction f = NULL;
    CUdeviceptr d;
    size_t n;
    int value;
    switch (byte(c) % 5) {
    case 0:
        if (!cu.cuModuleLoadData(&m, text)) put(c, MODULE, m);
        break;
    case 1: cu.cuModuleUnload(get(c, MODULE)); break;
    case 2:
        m = get(c, MODULE);
        if (!cu.cuModuleGetFunction(&f, m, names[byte(c) % 4])) put(c, FUNC, f);
        break;
    case 3: cu.cuModuleGetGlobal(&d, &n, get(c, MODULE), "g"); break;
    default: f = get(c, FUNC); cu.cuFuncGetAttribute(&value, (CUfunction_attribute)(byte(c) % 20), f);
    }
}

static void call_launch(calls *c)
{
    CUfunction f = get(c, FUNC);
    CUdeviceptr d = device(c);
    unsigned v = byte(c), grid = byte(c) % 4, block = byte(c) % 65;
    void *params[] = { &d, &v };
    cu.cuLaunchKernel(f, grid, 1, 1, block, 1, 1, (unsigned)size(c), stream(c), params, NULL);
}

/* A graph of few nodes without child graphs. Others are not nested: slots outlive their input, and a child graph is
 * copied, so that graphs that become children of each other would double with each call. */
static bool is_small(CUgraph g)
{
    CUgraphNode nodes[17];
    CUgraphNodeType type;
    size_t n = sizeof nodes / sizeof *nodes;
    if (cu.cuGraphGetNodes(g, nodes, &n)) return true; /* no graph: the call is rejected */
    if (n == sizeof nodes / sizeof *nodes) return false;
    for (size_t i = 0; i < n; i++)
        if (!cu.cuGraphNodeGetType(nodes[i], &type) && type == CU_GRAPH_NODE_TYPE_GRAPH) return false;
    return true;
}

static void call_graph(calls *c)
{
    CUgraph g = NULL, other;
    CUgraphNode n = NULL, from;
    CUgraphExec x = NULL;
    switch (byte(c) % 14) {
    case 0:
        if (!cu.cuGraphCreate(&g, 0)) put(c, GRAPH, g);
        break;
    case 1: cu.cuGraphDestroy(get(c, GRAPH)); break;
    case 2:
        if (!cu.cuGraphClone(&g, get(c, GRAPH))) put(c, GRAPH, g);
        break;
    case 3:
        from = get(c, NODE);
        if (!cu.cuGraphAddEmptyNode(&n, get(c, GRAPH), &from, byte(c) % 2)) put(c, NODE, n);
        break;
    case 4: {
        unsigned v = byte(c);
        CUdeviceptr d = device(c);
        void *params[] = { &d, &v };
        CUDA_KERNEL_NODE_PARAMS_v2 k = { .func = get(c, FUNC),
                                         .gridDimX = 1,
                                         .gridDimY = 1,
                                         .gridDimZ = 1,
                                         .blockDimX = 32,
                                         .blockDimY = 1,
                                         .blockDimZ = 1,
                                         .kernelParams = params };
        from = get(c, NODE);
        if (!cu.cuGraphAddKernelNode(&n, get(c, GRAPH), &from, byte(c) % 2, &k)) put(c, NODE, n);
        break;
    }
    case 5: {
        CUDA_MEMSET_NODE_PARAMS k = { .dst = device(c),
                                      .pitch = size(c),
                                      .value = 1,
                                      .elementSize = byte(c) % 5,
                                      .width = size(c),
                                      .height = byte(c) % 3 };
        if (!cu.cuGraphAddMemsetNode(&n, get(c, GRAPH), NULL, 0, &k, own_ctx)) put(c, NODE, n);
        break;
    }
    case 6:
        other = get(c, GRAPH);
        if (is_small(other) && !cu.cuGraphAddChildGraphNode(&n, get(c, GRAPH), NULL, 0, other)) put(c, NODE, n);
        break;
    case 7:
        from = get(c, NODE);
        n = get(c, NODE);
        cu.cuGraphAddDependencies_v2(get(c, GRAPH), &from, &n, NULL, 1);
        break;
    case 8: cu.cuGraphDestroyNode(get(c, NODE)); break;
    case 9:
        if (!cu.cuGraphInstantiateWithFlags(&x, get(c, GRAPH), byte(c) % 2)) put(c, EXEC, x);
        break;
    case 10:
        x = get(c, EXEC);
        cu.cuGraphLaunch(x, stream(c));
        break;
    case 11: cu.cuGraphExecDestroy(get(c, EXEC)); break;
    case 12: {
        CUgraphExecUpdateResultInfo info;
        x = get(c, EXEC);
        cu.cuGraphExecUpdate_v2(x, get(c, GRAPH), &info);
        break;
    }
    default: {
        CUgraphNode nodes[4];
        size_t count = 4;
        if (!cu.cuGraphGetNodes(get(c, GRAPH), nodes, &count) && count) put(c, NODE, nodes[0]);
    }
    }
}

static void call_link(calls *c)
{
    CUlinkState l = NULL;
    void *image;
    size_t n;
    switch (byte(c) % 4) {
    case 0:
        if (!cu.cuLinkCreate(0, NULL, NULL, &l)) put(c, LINKER, l);
        break;
    case 1: cu.cuLinkDestroy(get(c, LINKER)); break;
    case 2: cu.cuLinkAddData(get(c, LINKER), CU_JIT_INPUT_PTX, (void *)text, sizeof text, NULL, 0, NULL, NULL); break;
    default: cu.cuLinkComplete(get(c, LINKER), &image, &n);
    }
}

static void (*const groups[])(calls *) = { call_context, call_stream, call_stream, call_event,  call_memory,
                                           call_memory,  call_copy,   call_copy,   call_module, call_launch,
                                           call_launch,  call_graph,  call_graph,  call_link };
enum { GROUPS = sizeof groups / sizeof *groups };

int cji_fuzz_one(const uint8_t *data, size_t n)
{
    static unsigned char whole[2 * HOST];
    static _Thread_local unsigned char own[2 * HOST];
    calls c = { .at = data, .end = data + n, .host = whole };
    (void)own;
    c.host = own;
    unsigned fail = byte(&c), rate = byte(&c);
    if (!own_ctx || cu.cuCtxSetCurrent(own_ctx) || cu.cuCtxSynchronize()) {
        if (own_ctx) cu.cuCtxDestroy(own_ctx);
        if (cu.cuCtxCreate(&own_ctx, 0, 0)) cji_fuzz_fail("no context");
    }
    every = countdown = fail & 1 ? rate + 1 : 0;
    while (c.at < c.end) groups[byte(&c) % GROUPS](&c);
    every = 0;
    for (CUcontext left; !cu.cuCtxPopCurrent(&left);) continue;
    if (!cu.cuCtxSetCurrent(own_ctx)) cu.cuCtxSynchronize();
    for (int i = 0; i < SLOTS; i++) {
        cu.cuMemFree(c.memory[i]);
        if (c.pinned[i]) cu.cuMemFreeHost(c.pinned[i]);
    }
    return 1;
}
