/* Rules 54 - 60: capture: the calls that it bears, and what it tells of itself.  The answers are those of an H100
 * (driver 580) where NVIDIA's text says otherwise or nothing. */
#include "rules_captures.h"

/* ---- Calls beside a capture (rule 54) ---------------------------------------------------------------------------- */

typedef struct beside { CUstream free_one, blocking; CUevent e, f; CUdeviceptr p, stale; } beside;

static int b_query(beside *b) { return cu.cuStreamQuery(b->free_one); }
static int b_query_blocking(beside *b) { return cu.cuStreamQuery(b->blocking); }
static int b_query_legacy(beside *b) { (void)b; return cu.cuStreamQuery(CU_STREAM_LEGACY); }
static int b_sync(beside *b) { return cu.cuStreamSynchronize(b->free_one); }
static int b_sync_legacy(beside *b) { (void)b; return cu.cuStreamSynchronize(CU_STREAM_LEGACY); }
static int b_event_query(beside *b) { return cu.cuEventQuery(b->e); }
static int b_event_sync(beside *b) { return cu.cuEventSynchronize(b->e); }
static int b_ctx_sync(beside *b) { (void)b; return cu.cuCtxSynchronize(); }
static int b_alloc(beside *b)
{
    CUdeviceptr p = 0;
    int r = cu.cuMemAlloc(&p, 4);
    if (!r) b->stale = p;
    return r;
}
static int b_free(beside *b)
{
    int r = cu.cuMemFree(b->p);
    if (!r) b->p = 0;
    return r;
}
static int b_host_alloc(beside *b)
{
    void *h = NULL;
    (void)b;
    /* given back with the context: a release would be another call beside the capture */
    return cu.cuMemHostAlloc(&h, 4, 0);
}
static int b_alloc_async(beside *b)
{
    CUdeviceptr p = 0;
    int r = cu.cuMemAllocAsync(&p, 4, b->free_one);
    return r ? r : (int)cu.cuMemFreeAsync(p, b->free_one);
}
static int b_stream(beside *b)
{
    CUstream s = NULL;
    (void)b;
    int r = cu.cuStreamCreate(&s, CU_STREAM_NON_BLOCKING);
    if (!r) cu.cuStreamDestroy(s);
    return r;
}
static int b_event(beside *b)
{
    CUevent e = NULL;
    (void)b;
    int r = cu.cuEventCreate(&e, CU_EVENT_DISABLE_TIMING);
    if (!r) cu.cuEventDestroy(e);
    return r;
}
static int b_module(beside *b)
{
    CUmodule m = NULL;
    (void)b;
    return cu.cuModuleLoadData(&m, rule_ptx);
}
static int b_info(beside *b)
{
    size_t x, y;
    (void)b;
    return cu.cuMemGetInfo(&x, &y);
}
static int b_launch(beside *b) { return abi_launch(rule_kernel("hold"), 1, 1, b->free_one, b->p, 1); }
static int b_launch_legacy(beside *b) { return abi_launch(rule_kernel("hold"), 1, 1, CU_STREAM_LEGACY, b->p, 1); }
static int b_record(beside *b) { return cu.cuEventRecord(b->f, b->free_one); }

/* Columns: global, thread-local, relaxed capture, the call in the same thread; the same, the call in another thread. */
static const struct beside_row {
    const char *name;
    int (*call)(beside *b);
    const char *harm;
    bool context;
} beside_rows[] = {
    { "cuStreamQuery", b_query, "xx-x--", false },
    { "cuStreamQuery of a blocking stream", b_query_blocking, "xx-x--", false },
    { "cuStreamQuery of the legacy stream", b_query_legacy, "xx-x--", false },
    { "cuStreamSynchronize", b_sync, "xx-x--", false },
    { "cuStreamSynchronize of the legacy stream", b_sync_legacy, "xx-x--", false },
    { "cuEventQuery", b_event_query, "xx-x--", false },
    { "cuEventSynchronize", b_event_sync, "xx-x--", false },
    { "cuCtxSynchronize", b_ctx_sync, "xxxxxx", true },
    { "cuMemAlloc", b_alloc, "xx-x--", false },
    { "cuMemFree", b_free, "xx-x--", false },
    { "cuMemHostAlloc", b_host_alloc, "xx-x--", false },
    { "cuMemAllocAsync on another stream", b_alloc_async, "xx-x--", false },
    { "cuStreamCreate", b_stream, "------", false },
    { "cuEventCreate", b_event, "------", false },
    { "cuModuleLoadData", b_module, "------", false },
    { "cuMemGetInfo", b_info, "------", false },
    { "a launch on another stream", b_launch, "------", false },
    { "a launch on the legacy stream", b_launch_legacy, "------", false },
    { "cuEventRecord on another stream", b_record, "------", false },
};

typedef struct beside_call { const struct beside_row *row; beside *b; bool relaxed; int answer; } beside_call;

static void *beside_thread(void *arg)
{
    beside_call *c = arg;
    CUstreamCaptureMode mode = RELAXED;
    cu.cuCtxSetCurrent(abi_ctx);
    if (c->relaxed) cu.cuThreadExchangeStreamCaptureMode(&mode);
    c->answer = c->row->call(c->b);
    cu.cuCtxSetCurrent(NULL);
    return NULL;
}

static void beside_cell(const struct beside_row *row, int column, bool relaxed)
{
    CUgraph g = NULL;
    char name[120];
    int mode = column % 3;
    bool harm = relaxed ? row->context : row->harm[column] == 'x';
    beside b = { abi_stream(), rule_stream(CU_STREAM_DEFAULT), abi_event(), abi_event(), abi_word(1), 0 };
    beside_call c = { row, &b, relaxed, -1 };
    snprintf(name, sizeof name, "%s, capture mode %d, %s%s thread", row->name, mode, relaxed ? "relaxed " : "",
             column < 3 ? "same" : "other");
    cu.cuEventRecord(b.e, b.free_one);
    cu.cuCtxSynchronize();
    CUstream s = capturing((CUstreamCaptureMode)mode);
    if (column < 3) {
        c.answer = row->call(&b);
    } else {
        pthread_t thread;
        pthread_create(&thread, NULL, beside_thread, &c);
        pthread_join(thread, NULL);
    }
    R_ROW(name, c.answer, harm ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : CUDA_SUCCESS);
    R_ROW(name, capture_status(s), harm ? INVALIDATED : ACTIVE);
    R_ROW(name, cu.cuStreamEndCapture(s, &g), harm ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED : CUDA_SUCCESS);
    if (g) cu.cuGraphDestroy(g);
    cu.cuCtxSynchronize();
    cu.cuStreamDestroy(s);
    cu.cuStreamDestroy(b.free_one);
    cu.cuStreamDestroy(b.blocking);
    cu.cuEventDestroy(b.e);
    cu.cuEventDestroy(b.f);
    if (b.p) cu.cuMemFree(b.p);
    if (b.stale) cu.cuMemFree(b.stale);
}

static void rule_54(void)
{
    for (size_t i = 0; i < sizeof beside_rows / sizeof *beside_rows; i++) {
        for (int column = 0; column < 6; column++) beside_cell(&beside_rows[i], column, false);
        for (int column = 3; column < 6; column++) beside_cell(&beside_rows[i], column, true);
    }
}

static void *fresh_mode_thread(void *arg)
{
    CUstreamCaptureMode mode = RELAXED;
    cu.cuThreadExchangeStreamCaptureMode(&mode);
    *(int *)arg = (int)mode;
    return NULL;
}

static void rule_55(void)
{
    CUstreamCaptureMode mode = RELAXED;
    pthread_t thread;
    int other = -1;
    R_IS(cu.cuThreadExchangeStreamCaptureMode(&mode), CUDA_SUCCESS);
    R_IS(mode, CU_STREAM_CAPTURE_MODE_GLOBAL);
    mode = CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
    R_IS(cu.cuThreadExchangeStreamCaptureMode(&mode), CUDA_SUCCESS);
    R_IS(mode, RELAXED);
    pthread_create(&thread, NULL, fresh_mode_thread, &other);
    pthread_join(thread, NULL);
    R_IS(other, CU_STREAM_CAPTURE_MODE_GLOBAL);     /* each thread begins with its own */
    mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
    R_IS(cu.cuThreadExchangeStreamCaptureMode(&mode), CUDA_SUCCESS);
    R_IS(mode, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
}

static void rule_56(void)
{
    CUfunction append = rule_kernel("append");
    CUdeviceptr p = abi_word(0);
    CUstreamCaptureStatus status = NONE;
    cuuint64_t id = 0, again = 0, forked = 0, next = 0;
    CUgraph g = NULL, end = NULL;
    const CUgraphNode *deps = NULL;
    size_t n = 9, edges = 9;
    CUevent e = abi_event(), f = abi_event();
    CUstream s = capturing(RELAXED), t = abi_stream();
    R_NEED(cuStreamUpdateCaptureDependencies);
    R_IS(cu.cuStreamGetCaptureInfo(s, &status, &id, &g, &deps, &n), CUDA_SUCCESS);
    R_IS(status, ACTIVE);
    R_TRUE(id != 0);
    R_IS(n, 0);
    abi_launch(append, 1, 1, s, p, 1);
    R_IS(cu.cuStreamGetCaptureInfo(s, &status, &again, &g, &deps, &n), CUDA_SUCCESS);
    R_IS(again, id);
    R_IS(n, 1);
    CUgraphNode first = n ? deps[0] : NULL;
    cu.cuEventRecord(e, s);
    cu.cuStreamWaitEvent(t, e, 0);
    R_IS(cu.cuStreamGetCaptureInfo(t, &status, &forked, NULL, NULL, NULL), CUDA_SUCCESS);
    R_IS(forked, id);
    cu.cuEventRecord(f, t);
    cu.cuStreamWaitEvent(s, f, 0);
    R_IS(cu.cuStreamUpdateCaptureDependencies(s, NULL, 0, CU_STREAM_SET_CAPTURE_DEPENDENCIES), CUDA_SUCCESS);
    abi_launch(append, 1, 1, s, p, 2);
    R_IS(cu.cuStreamUpdateCaptureDependencies(s, &first, 1, CU_STREAM_ADD_CAPTURE_DEPENDENCIES), CUDA_SUCCESS);
    abi_launch(append, 1, 1, s, p, 3);
    R_IS(cu.cuStreamEndCapture(s, &end), CUDA_SUCCESS);
    R_TRUE(end == g);
    R_IS(cu.cuGraphGetEdges(end, NULL, NULL, &edges), CUDA_SUCCESS);
    R_IS(edges, 2);     /* the third node comes after both */
    cu.cuGraphDestroy(end);
    R_IS(cu.cuStreamUpdateCaptureDependencies(s, NULL, 0, 0), CUDA_ERROR_ILLEGAL_STATE);
    R_IS(cu.cuStreamBeginCapture(s, RELAXED), CUDA_SUCCESS);
    R_IS(cu.cuStreamGetCaptureInfo(s, &status, &next, NULL, NULL, NULL), CUDA_SUCCESS);
    R_TRUE(next != id);
    ends_valid(s, 0);
    cu.cuEventDestroy(e);
    cu.cuEventDestroy(f);
    cu.cuStreamDestroy(t);
    cu.cuMemFree(p);
}

static void rule_57(void)
{
    CUfunction append = rule_kernel("append");
    CUdeviceptr p = abi_word(0);
    CUgraph g = NULL, end = NULL;
    CUgraphExec x = NULL;
    CUgraphNode first = NULL;
    size_t n = 1, edges = 0;
    R_NEED(cuStreamBeginCaptureToGraph);
    CUstream s = capturing(RELAXED);
    abi_launch(append, 1, 1, s, p, 1);
    R_IS(cu.cuStreamEndCapture(s, &g), CUDA_SUCCESS);
    R_IS(cu.cuGraphGetNodes(g, &first, &n), CUDA_SUCCESS);
    R_IS(cu.cuStreamBeginCaptureToGraph(s, g, &first, NULL, 1, RELAXED), CUDA_SUCCESS);
    abi_launch(append, 1, 1, s, p, 2);
    R_IS(cu.cuStreamEndCapture(s, &end), CUDA_SUCCESS);
    R_TRUE(end == g);
    R_IS(captured_nodes(g), 2);
    R_IS(cu.cuGraphGetEdges(g, NULL, NULL, &edges), CUDA_SUCCESS);
    R_IS(edges, 1);
    R_IS(cu.cuGraphInstantiateWithFlags(&x, g, 0), CUDA_SUCCESS);
    R_IS(cu.cuGraphLaunch(x, s), CUDA_SUCCESS);
    R_IS(cu.cuStreamSynchronize(s), CUDA_SUCCESS);
    R_IS(abi_read(p), 12);
    cu.cuGraphExecDestroy(x);
    cu.cuGraphDestroy(g);
    cu.cuStreamDestroy(s);
    cu.cuMemFree(p);
}

static void rule_58(void)
{
    CUstreamCaptureStatus status = NONE;
    cuuint64_t id = 0;
    unsigned long long sid = 0;
    unsigned flags = 0;
    int priority = 0;
    CUcontext c = NULL;
    CUstream s = capturing(RELAXED), t = abi_stream();
    R_IS(cu.cuStreamIsCapturing(s, &status), CUDA_SUCCESS);
    R_IS(cu.cuStreamGetCaptureInfo(s, &status, &id, NULL, NULL, NULL), CUDA_SUCCESS);
    if (cu.cuStreamGetId) R_IS(cu.cuStreamGetId(t, &sid), CUDA_SUCCESS);    /* of another stream */
    R_IS(status, ACTIVE);
    R_IS(cu.cuStreamGetFlags(s, &flags), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    ends_invalid(s);
    if (cu.cuStreamGetId) {
        s = capturing(RELAXED);
        R_IS(cu.cuStreamGetId(s, &sid), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
        ends_invalid(s);
    }
    s = capturing(RELAXED);
    R_IS(cu.cuStreamGetPriority(s, &priority), CUDA_SUCCESS);
    if (cu.cuStreamGetCtx) R_IS(cu.cuStreamGetCtx(s, &c), CUDA_SUCCESS);
    R_IS(capture_status(s), ACTIVE);
    R_IS(cu.cuStreamQuery(s), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    R_IS(cu.cuStreamGetPriority(s, &priority), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    if (cu.cuStreamGetCtx) R_IS(cu.cuStreamGetCtx(s, &c), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    ends_invalid(s);
    cu.cuStreamDestroy(t);
}

static void rule_59(void)
{
    CUgraph g = NULL;
    CUgraphExec x = NULL;
    CUstream s = capturing(CU_STREAM_CAPTURE_MODE_GLOBAL);
    R_IS(cu.cuStreamEndCapture(s, &g), CUDA_SUCCESS);
    R_TRUE(g != NULL);
    R_IS(captured_nodes(g), 0);
    R_IS(cu.cuGraphInstantiateWithFlags(&x, g, 0), CUDA_SUCCESS);
    R_IS(cu.cuGraphLaunch(x, s), CUDA_SUCCESS);
    R_IS(cu.cuStreamSynchronize(s), CUDA_SUCCESS);
    cu.cuGraphExecDestroy(x);
    cu.cuGraphDestroy(g);
    cu.cuStreamDestroy(s);
}

/* A launch of an executable graph cannot be captured either; the executable works on. */
static void launch_in_a_capture(void)
{
    CUgraph g = NULL;
    CUgraphExec x = NULL;
    CUdeviceptr p = abi_word(0);
    CUstream s = capturing(RELAXED);
    abi_launch(rule_kernel("append"), 1, 1, s, p, 2);
    R_IS(cu.cuStreamEndCapture(s, &g), CUDA_SUCCESS);
    R_IS(cu.cuGraphInstantiateWithFlags(&x, g, 0), CUDA_SUCCESS);
    R_IS(cu.cuGraphUpload(x, s), CUDA_SUCCESS);
    R_IS(cu.cuStreamSynchronize(s), CUDA_SUCCESS);
    R_IS(cu.cuStreamBeginCapture(s, RELAXED), CUDA_SUCCESS);
    abi_launch(rule_kernel("append"), 1, 1, s, p, 1);
    R_IS(cu.cuGraphLaunch(x, s), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    ends_invalid(s);
    R_IS(abi_read(p), 0);
    s = abi_stream();
    R_IS(cu.cuGraphLaunch(x, s), CUDA_SUCCESS);
    R_IS(cu.cuStreamSynchronize(s), CUDA_SUCCESS);
    R_IS(abi_read(p), 2);
    cu.cuGraphExecDestroy(x);
    cu.cuGraphDestroy(g);
    cu.cuStreamDestroy(s);
    cu.cuMemFree(p);
}

static void rule_60(void)
{
    CUdeviceptr p = abi_word(1), q = abi_word(2);
    CUmemoryPool pool = NULL;
    CUmemAccess_flags access;
    CUmemLocation at = { CU_MEM_LOCATION_TYPE_DEVICE, 0 };
    R_NEED(cuMemcpyPeerAsync);
    R_NEED(cuMemPoolGetAccess);
    R_IS(cu.cuDeviceGetDefaultMemPool(&pool, 0), CUDA_SUCCESS);
    for (int mode = 0; mode < 3; mode++) {
        for (int i = 0; i < 2; i++) {
            CUgraph g = NULL;
            CUstream s = capturing((CUstreamCaptureMode)mode);
            CUresult r =
                i ? cu.cuMemPoolGetAccess(&access, pool, &at) : cu.cuMemcpyPeerAsync(p, abi_ctx, q, abi_ctx, 4, s);
            bool harm = i == 0 || mode != RELAXED;
            R_IS(r, harm ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : CUDA_SUCCESS);
            R_IS(capture_status(s), harm ? INVALIDATED : ACTIVE);
            cu.cuStreamEndCapture(s, &g);
            if (g) cu.cuGraphDestroy(g);
            cu.cuStreamDestroy(s);
        }
    }
    launch_in_a_capture();
    cu.cuMemFree(p);
    cu.cuMemFree(q);
}

static const rule rules[] = {
    { 54, "which calls invalidate a capture: by its mode, by the calling thread and by that thread's mode", rule_54,
      0 },
    { 55, "a thread exchanges its own capture mode", rule_55, 0 },
    { 56, "a capture reports its id, its graph and the dependencies of the next node, which can be changed", rule_56,
      0 },
    { 57, "a capture into a graph continues it", rule_57, 0 },
    { 58,
      "the captured stream's state, priority and context may be queried; a query of its flags or its id invalidates "
      "the capture",
      rule_58, 0 },
    { 59, "an empty capture is an empty graph", rule_59, 0 },
    { 60,
      "a peer copy and the launch of a graph cannot be captured; a query of a pool's access invalidates a capture that "
      "is not relaxed",
      rule_60, 0 },
};
RULES_MAIN(rules)
