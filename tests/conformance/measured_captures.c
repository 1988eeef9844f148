/* What calls answer in and beside captures that are invalid, over, or of a blocking stream; each line was asked of an
 * H100 (tests/conformance/same_answers). */
#include "tests/conformance/driver_abi.h"

static CUmodule module;

typedef struct stage { CUstream s, t; CUevent e, f; CUdeviceptr p; CUgraph g; } stage;

static int status_of(CUstream s)
{
    CUstreamCaptureStatus status = (CUstreamCaptureStatus)9;
    int r = (int)cu.cuStreamIsCapturing(s, &status);
    return r ? r : (int)status;
}

static void begin(stage *x, CUstreamCaptureMode mode)
{
    if (cu.cuStreamBeginCapture(x->s, mode)) tap_fail("begin");
}

/* A capture of x->s that is invalid: a query of the captured stream. */
static void spoil(stage *x, CUstreamCaptureMode mode)
{
    begin(x, mode);
    if (cu.cuStreamQuery(x->s) != CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED) tap_fail("a query of the captured stream");
}

/* x->s is a blocking stream. */
static void block(stage *x)
{
    cu.cuStreamDestroy(x->s);
    if (cu.cuStreamCreate(&x->s, CU_STREAM_DEFAULT)) tap_bail("no stream");
}

/* ---- Invalid captures -------------------------------------------------------------------------------------------- */

static int query_again(stage *x) { spoil(x, CU_STREAM_CAPTURE_MODE_RELAXED); return cu.cuStreamQuery(x->s); }
static int id_again(stage *x)
{
    unsigned long long id;
    spoil(x, CU_STREAM_CAPTURE_MODE_RELAXED);
    return cu.cuStreamGetId ? cu.cuStreamGetId(x->s, &id) : CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}
static int priority_again(stage *x)
{
    int n;
    spoil(x, CU_STREAM_CAPTURE_MODE_RELAXED);
    return cu.cuStreamGetPriority(x->s, &n);
}
static int callback_again(stage *x)
{
    spoil(x, CU_STREAM_CAPTURE_MODE_RELAXED);
    return cu.cuStreamAddCallback(x->s, (CUstreamCallback)(void (*)(void))latch_wait, NULL, 0);
}
static int graph_again(stage *x)
{
    CUgraphExec exec = NULL;
    if (cu.cuGraphInstantiateWithFlags(&exec, x->g, 0)) tap_fail("no executable");
    spoil(x, CU_STREAM_CAPTURE_MODE_RELAXED);
    int r = cu.cuGraphLaunch(exec, x->s);
    cu.cuGraphExecDestroy(exec);
    return r;
}
static int other_query(stage *x) { spoil(x, CU_STREAM_CAPTURE_MODE_GLOBAL); return cu.cuStreamQuery(x->t); }
static int other_event(stage *x) { spoil(x, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL); return cu.cuEventQuery(x->e); }
static int context_again(stage *x) { spoil(x, CU_STREAM_CAPTURE_MODE_RELAXED); return cu.cuCtxSynchronize(); }
static int record_flags(stage *x)
{
    spoil(x, CU_STREAM_CAPTURE_MODE_RELAXED);
    return cu.cuEventRecordWithFlags(x->e, x->s, 2);
}
static int wait_flags(stage *x)
{
    spoil(x, CU_STREAM_CAPTURE_MODE_RELAXED);
    return cu.cuStreamWaitEvent(x->s, x->e, 2);
}
static int update_flags(stage *x) { return cu.cuStreamUpdateCaptureDependencies(x->s, NULL, 0, 2); }
static void *ends(void *user)
{
    stage *x = user;
    CUgraph g = NULL;
    cu.cuCtxSetCurrent(abi_ctx);
    return (void *)(uintptr_t)cu.cuStreamEndCapture(x->s, &g);
}
static int end_elsewhere(stage *x)
{
    pthread_t thread;
    void *r = NULL;
    spoil(x, CU_STREAM_CAPTURE_MODE_GLOBAL);
    if (pthread_create(&thread, NULL, ends, x)) tap_bail("no thread");
    pthread_join(thread, &r);
    return (int)(uintptr_t)r;
}

/* ---- Blocking streams and the legacy one ------------------------------------------------------------------------- */

static int legacy_status(stage *x)
{
    block(x);
    spoil(x, CU_STREAM_CAPTURE_MODE_RELAXED);
    return status_of(CU_STREAM_LEGACY);
}
static int legacy_begin(stage *x)
{
    block(x);
    begin(x, CU_STREAM_CAPTURE_MODE_RELAXED);
    return cu.cuStreamBeginCapture(CU_STREAM_LEGACY, CU_STREAM_CAPTURE_MODE_RELAXED);
}
static int legacy_end(stage *x)
{
    CUgraph g;
    block(x);
    begin(x, CU_STREAM_CAPTURE_MODE_RELAXED);
    return cu.cuStreamEndCapture(CU_STREAM_LEGACY, &g);
}
static int legacy_priority(stage *x)
{
    int n;
    block(x);
    begin(x, CU_STREAM_CAPTURE_MODE_RELAXED);
    return cu.cuStreamGetPriority(CU_STREAM_LEGACY, &n);
}
static int module_status(stage *x)
{
    CUmodule m = NULL;
    block(x);
    begin(x, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
    if (cu.cuModuleLoadData(&m, ABI_HEAD
                            ".visible .global .align 4 .u32 counter = 5;\n.visible .const .align 8 .b8 fixed[24];\n"))
        tap_fail("a module beside a blocking stream's capture");
    int r = status_of(x->s);
    cu.cuModuleUnload(m);
    return r;
}

/* ---- Beside a capture -------------------------------------------------------------------------------------------- */

static int copy_beside(stage *x)
{
    unsigned v = 0;
    begin(x, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
    return cu.cuMemcpyHtoD(x->p, &v, 4);
}
static int trim_beside(stage *x)
{
    CUmemoryPool pool = NULL;
    begin(x, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
    cu.cuDeviceGetDefaultMemPool(&pool, 0);
    return cu.cuMemPoolTrimTo(pool, 0);
}
static int free_beside(stage *x)
{
    CUdeviceptr p = 0;
    if (cu.cuMemAllocAsync(&p, 64, x->t)) tap_fail("memory");
    begin(x, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
    int r = cu.cuMemFreeAsync(p, x->t);
    CUgraph g = NULL;
    cu.cuStreamEndCapture(x->s, &g);
    cu.cuMemFreeAsync(p, x->t);
    return r;
}
static int attribute_status(stage *x)
{
    CUlaunchAttributeValue v;
    begin(x, CU_STREAM_CAPTURE_MODE_GLOBAL);
    if (cu.cuStreamGetAttribute(x->s, CU_LAUNCH_ATTRIBUTE_PRIORITY, &v) || cu.cuStreamCopyAttributes(x->s, x->t))
        tap_fail("attributes of the captured stream");
    return status_of(x->s);
}
static int launch_status(stage *x)
{
    begin(x, CU_STREAM_CAPTURE_MODE_RELAXED);
    if (abi_launch(abi_kernel(&module, "add"), 1, 4096, x->s, x->p, 1) != CUDA_ERROR_INVALID_VALUE)
        tap_fail("too large a block");
    return status_of(x->s);
}
static int empty_nodes(stage *x)
{
    CUgraph g = NULL;
    size_t n = 9;
    begin(x, CU_STREAM_CAPTURE_MODE_RELAXED);
    if (cu.cuMemsetD32Async(x->p, 1, 0, x->s) || cu.cuMemcpyDtoDAsync(x->p, x->p, 0, x->s)) tap_fail("empty work");
    if (!cu.cuStreamEndCapture(x->s, &g)) cu.cuGraphGetNodes(g, NULL, &n);
    if (g) cu.cuGraphDestroy(g);
    return (int)n;
}
static int mode_three(stage *x)
{
    CUstreamCaptureMode mode = (CUstreamCaptureMode)3;
    (void)x;
    int r = cu.cuThreadExchangeStreamCaptureMode(&mode);
    cu.cuThreadExchangeStreamCaptureMode(&mode);
    return r ? r : (int)mode;
}

/* ---- Events of captures ------------------------------------------------------------------------------------------ */

/* x->e was recorded in a capture that is over; x->f in one of x->t that is not. */
static void events_of(stage *x)
{
    CUgraph g = NULL;
    begin(x, CU_STREAM_CAPTURE_MODE_RELAXED);
    cu.cuEventRecord(x->e, x->s);
    cu.cuStreamEndCapture(x->s, &g);
    cu.cuGraphDestroy(g);
    cu.cuStreamBeginCapture(x->t, CU_STREAM_CAPTURE_MODE_RELAXED);
    cu.cuEventRecord(x->f, x->t);
}
static int over_query(stage *x) { events_of(x); return cu.cuEventQuery(x->e); }
static int over_sync(stage *x) { events_of(x); return cu.cuEventSynchronize(x->e); }
static int over_time(stage *x) { float ms; events_of(x); return cu.cuEventElapsedTime(&ms, x->e, x->e); }
static int over_wait(stage *x) { events_of(x); return cu.cuStreamWaitEvent(x->t, x->e, 0); }
static int over_wait_status(stage *x) { over_wait(x); return status_of(x->t); }
static int open_time(stage *x) { float ms; events_of(x); return cu.cuEventElapsedTime(&ms, x->f, x->f); }
static int open_time_status(stage *x) { open_time(x); return status_of(x->t); }

/* ---- Beginnings and ends ----------------------------------------------------------------------------------------- */

static int end_to_nothing(stage *x)
{
    begin(x, CU_STREAM_CAPTURE_MODE_RELAXED);
    return cu.cuStreamEndCapture(x->s, NULL);
}
static int end_to_nothing_status(stage *x) { end_to_nothing(x); return status_of(x->s); }
static int no_end_to_nothing(stage *x) { return cu.cuStreamEndCapture(x->s, NULL); }
static int into_twice(stage *x)
{
    if (!cu.cuStreamBeginCaptureToGraph) return CUDA_ERROR_ILLEGAL_STATE;
    if (cu.cuStreamBeginCaptureToGraph(x->t, x->g, NULL, NULL, 0, CU_STREAM_CAPTURE_MODE_RELAXED))
        tap_fail("into a graph");
    return cu.cuStreamBeginCaptureToGraph(x->s, x->g, NULL, NULL, 0, CU_STREAM_CAPTURE_MODE_RELAXED);
}
static int after_one_twice(stage *x)
{
    CUgraphNode n[2];
    if (!cu.cuStreamBeginCaptureToGraph) return CUDA_SUCCESS;
    cu.cuGraphAddEmptyNode(&n[0], x->g, NULL, 0);
    n[1] = n[0];
    return cu.cuStreamBeginCaptureToGraph(x->s, x->g, n, NULL, 2, CU_STREAM_CAPTURE_MODE_RELAXED);
}
static int destroyed_fork(stage *x)
{
    CUgraph g = NULL;
    begin(x, CU_STREAM_CAPTURE_MODE_RELAXED);
    cu.cuEventRecord(x->e, x->s);
    cu.cuStreamWaitEvent(x->t, x->e, 0);
    cu.cuMemsetD32Async(x->p, 1, 1, x->t);
    cu.cuStreamDestroy(x->t);
    x->t = abi_stream();
    return cu.cuStreamEndCapture(x->s, &g);
}

/* often: an H100 does so most times, not always. */
static const struct { const char *name; int (*ask)(stage *x); int want; bool often;
} rows[] = {
    { "invalid: a query of its stream", query_again, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, false },
    { "invalid: the id of its stream", id_again, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, false },
    { "invalid: the priority of its stream", priority_again, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, false },
    { "invalid: a callback", callback_again, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, false },
    { "invalid: a graph", graph_again, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, false },
    { "invalid: another stream is still not to be asked", other_query, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, false },
    { "invalid: an event is still not to be asked", other_event, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, false },
    { "invalid: the context is still not to be waited for", context_again, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
      false },
    { "invalid: a record with a wrong flag", record_flags, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, false },
    { "invalid: a wait with a wrong flag", wait_flags, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, false },
    { "invalid: an end in another thread", end_elsewhere, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, false },
    { "no capture: dependencies with a wrong flag", update_flags, CUDA_ERROR_ILLEGAL_STATE, false },
    { "blocking and invalid: the legacy stream's status", legacy_status, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, false },
    { "blocking: a beginning on the legacy stream", legacy_begin, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, false },
    { "blocking: an end on the legacy stream", legacy_end, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, false },
    { "blocking: the legacy stream's priority", legacy_priority, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, false },
    { "blocking: loading a module that has variables invalidates it without a word", module_status,
      CU_STREAM_CAPTURE_STATUS_INVALIDATED, true },
    { "beside: a copy that waits is allowed", copy_beside, CUDA_SUCCESS, false },
    { "beside: trimming a pool is not", trim_beside, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, false },
    { "beside: freeing stream-ordered memory is not", free_beside, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, false },
    { "attributes of the captured stream do no harm", attribute_status, CU_STREAM_CAPTURE_STATUS_ACTIVE, false },
    { "a refused launch invalidates the capture", launch_status, CU_STREAM_CAPTURE_STATUS_INVALIDATED, false },
    { "empty fills and copies make no nodes", empty_nodes, 0, false },
    { "a thread's mode may be any number", mode_three, 3, false },
    { "an event of a capture that is over: query", over_query, CUDA_ERROR_INVALID_VALUE, false },
    { "an event of a capture that is over: synchronize", over_sync, CUDA_ERROR_INVALID_VALUE, false },
    { "an event of a capture that is over: time", over_time, CUDA_ERROR_INVALID_VALUE, false },
    { "an event of a capture that is over: a wait in another", over_wait, CUDA_ERROR_INVALID_VALUE, false },
    { "which invalidates that one", over_wait_status, CU_STREAM_CAPTURE_STATUS_INVALIDATED, false },
    { "an event of an open capture: time", open_time, CUDA_ERROR_CAPTURED_EVENT, false },
    { "which does no harm", open_time_status, CU_STREAM_CAPTURE_STATUS_ACTIVE, false },
    { "an end into nothing", end_to_nothing, CUDA_SUCCESS, false },
    { "ends it", end_to_nothing_status, CU_STREAM_CAPTURE_STATUS_NONE, false },
    { "an end into nothing of nothing", no_end_to_nothing, CUDA_ERROR_ILLEGAL_STATE, false },
    { "two captures into one graph at a time", into_twice, CUDA_ERROR_ILLEGAL_STATE, false },
    { "a capture after one node twice", after_one_twice, CUDA_SUCCESS, false },
    { "a forked stream that is destroyed stays unjoined", destroyed_fork, CUDA_ERROR_STREAM_CAPTURE_UNJOINED, false },
};

/* What a failed capture was to continue is gone with it.  A GPU's driver is not asked for a graph that is gone. */
static void failed_capture_takes_its_graph(void)
{
    CUstream s = abi_stream();
    CUgraph g = NULL, end = NULL;
    size_t n = 9;
    if (tap_on_gpu() || !cu.cuStreamBeginCaptureToGraph || cu.cuGraphCreate(&g, 0)) return;
    cu.cuStreamBeginCaptureToGraph(s, g, NULL, NULL, 0, CU_STREAM_CAPTURE_MODE_RELAXED);
    cu.cuStreamQuery(s);
    abi_is(cu.cuStreamEndCapture(s, &end), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, "a capture into a graph fails");
    abi_is(cu.cuGraphGetNodes(g, NULL, &n), CUDA_ERROR_INVALID_VALUE, "and takes the graph along");
    cu.cuStreamDestroy(s);
}

int main(void)
{
    abi_open();
    abi_kernel(&module, "add");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        stage x = { abi_stream(), abi_stream(), abi_event(), abi_event(), abi_word(0), NULL };
        CUgraph g = NULL;
        cu.cuGraphCreate(&x.g, 0);
        int got = rows[i].ask(&x);
        if (rows[i].often && tap_on_gpu()) tap_diag("%s: %d", rows[i].name, got);
        else tap_is_int(got, rows[i].want, "%s", rows[i].name);
        if (!cu.cuStreamEndCapture(x.t, &g) && g && g != x.g) cu.cuGraphDestroy(g);
        g = NULL;
        if (!cu.cuStreamEndCapture(x.s, &g) && g && g != x.g) cu.cuGraphDestroy(g);
        cu.cuGraphDestroy(x.g);
        cu.cuStreamDestroy(x.s);
        cu.cuStreamDestroy(x.t);
        cu.cuEventDestroy(x.e);
        cu.cuEventDestroy(x.f);
        cu.cuMemFree(x.p);
    }
    failed_capture_takes_its_graph();
    cu.cuModuleUnload(module);
    return abi_close();
}
