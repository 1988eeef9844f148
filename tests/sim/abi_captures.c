/* Capture: what is recorded, and what each mistake answers (semantics 47 - 59, as measured on an H100). */
#include "tests/conformance/driver_abi.h"

static CUmodule module;

static CUstreamCaptureStatus status_of(CUstream s)
{
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    cu.cuStreamIsCapturing(s, &status);
    return status;
}

#define NONE CU_STREAM_CAPTURE_STATUS_NONE
#define ACTIVE CU_STREAM_CAPTURE_STATUS_ACTIVE
#define INVALIDATED CU_STREAM_CAPTURE_STATUS_INVALIDATED

static size_t nodes_of(CUgraph g)
{
    size_t n = 99;
    cu.cuGraphGetNodes(g, NULL, &n);
    return n;
}

static void captured_work_does_not_run(void)
{
    CUfunction append = abi_kernel(&module, "append");
    CUstream s = abi_stream(), t = abi_stream();
    CUevent fork = abi_event(), join = abi_event();
    CUdeviceptr p = abi_word(0);
    CUgraph g = NULL;
    CUgraphExec x = NULL;
    abi_is(cu.cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL), CUDA_SUCCESS, "begin");
    tap_is_int(status_of(s), ACTIVE, "the stream captures");
    abi_launch(append, 1, 1, s, p, 1);
    abi_is(cu.cuEventRecord(fork, s), CUDA_SUCCESS, "record in it");
    abi_is(cu.cuStreamWaitEvent(t, fork, 0), CUDA_SUCCESS, "another stream's wait joins the capture");
    tap_is_int(status_of(t), ACTIVE, "it captures too");
    abi_launch(append, 1, 1, t, p, 2);
    cu.cuEventRecord(join, t);
    abi_is(cu.cuStreamWaitEvent(s, join, 0), CUDA_SUCCESS, "joined back");
    abi_launch(append, 1, 1, s, p, 3);
    abi_is(cu.cuStreamEndCapture(s, &g), CUDA_SUCCESS, "end");
    tap_is_int(status_of(s), NONE, "the stream is ordinary again");
    tap_is_int(status_of(t), NONE, "so is the forked one");
    tap_is_uint(nodes_of(g), 3, "three nodes");
    tap_is_uint(abi_read(p), 0, "nothing has run");
    abi_is(cu.cuGraphInstantiateWithFlags(&x, g, 0), CUDA_SUCCESS, "instantiate");
    abi_is(cu.cuGraphDestroy(g), CUDA_SUCCESS, "the graph may go");
    abi_is(cu.cuGraphLaunch(x, s), CUDA_SUCCESS, "launch");
    abi_is(cu.cuGraphLaunch(x, s), CUDA_SUCCESS, "and again");
    cu.cuStreamSynchronize(s);
    tap_is_uint(abi_read(p), 123123, "in the order of the capture, twice");
    cu.cuGraphExecDestroy(x);
    cu.cuEventDestroy(fork);
    cu.cuEventDestroy(join);
    cu.cuStreamDestroy(s);
    cu.cuStreamDestroy(t);
    cu.cuMemFree(p);
}

static void beginning_and_ending(void)
{
    CUstream s = abi_stream();
    CUgraph g = (CUgraph)1;
    abi_is(cu.cuStreamBeginCapture(CU_STREAM_LEGACY, CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "the legacy stream cannot capture");
    abi_is(cu.cuStreamBeginCapture(CU_STREAM_PER_THREAD, CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_SUCCESS, "the per-thread stream can");
    abi_is(cu.cuStreamEndCapture(CU_STREAM_PER_THREAD, &g), CUDA_SUCCESS, "and end it");
    tap_is_uint(nodes_of(g), 0, "an empty capture is an empty graph");
    cu.cuGraphDestroy(g);
    abi_is(cu.cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_SUCCESS, "begin");
    abi_is(cu.cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_ERROR_ILLEGAL_STATE, "twice");
    tap_is_int(status_of(s), ACTIVE, "does no harm");
    abi_is(cu.cuStreamEndCapture(s, &g), CUDA_SUCCESS, "the first goes on to its end");
    cu.cuGraphDestroy(g);
    abi_is(cu.cuStreamEndCapture(s, &g), CUDA_ERROR_ILLEGAL_STATE, "an end without a beginning");
    cu.cuStreamDestroy(s);
}

/* ---- Mistakes: what they answer, what becomes of the capture ----------------------------------------------------- */

typedef struct scene { CUstream s, t; CUevent e, other; CUdeviceptr p; } scene;

static int query_captured_stream(scene *c) { return cu.cuStreamQuery(c->s); }
static int sync_captured_stream(scene *c) { return cu.cuStreamSynchronize(c->s); }
static int flags_of_captured_stream(scene *c) { unsigned f; return cu.cuStreamGetFlags(c->s, &f); }
static int query_captured_event(scene *c) { cu.cuEventRecord(c->e, c->s); return cu.cuEventQuery(c->e); }
static int sync_captured_event(scene *c) { cu.cuEventRecord(c->e, c->s); return cu.cuEventSynchronize(c->e); }
static int wait_for_uncaptured(scene *c) { cu.cuEventRecord(c->other, c->t); return cu.cuStreamWaitEvent(c->s, c->other, 0); }
static int wait_for_never_recorded(scene *c) { return cu.cuStreamWaitEvent(c->s, c->other, 0); }
static int end_on_the_fork(scene *c)
{
    CUgraph g;
    cu.cuEventRecord(c->e, c->s);
    cu.cuStreamWaitEvent(c->t, c->e, 0);
    return cu.cuStreamEndCapture(c->t, &g);
}
static int sync_the_context(scene *c) { (void)c; return cu.cuCtxSynchronize(); }
static int free_memory(scene *c) { (void)c; CUdeviceptr p; return cu.cuMemAlloc(&p, 4); }
static int query_another_stream(scene *c) { return cu.cuStreamQuery(c->t); }
static int make_a_stream(scene *c) { (void)c; CUstream s; int r = cu.cuStreamCreate(&s, 1); cu.cuStreamDestroy(s); return r; }
static int add_callback(scene *c) { return cu.cuStreamAddCallback(c->s, (CUstreamCallback)(void (*)(void))abi_latch_block, NULL, 0); }

static const struct mistake {
    const char *name;
    int (*call)(scene *c);
    int mode, answer, status, end;
} mistakes[] = {
    { "query of the captured stream", query_captured_stream, 2, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, INVALIDATED, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED },
    { "synchronization of the captured stream", sync_captured_stream, 2, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, INVALIDATED, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED },
    { "flags of the captured stream", flags_of_captured_stream, 2, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, INVALIDATED, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED },
    { "query of a captured event", query_captured_event, 2, CUDA_ERROR_CAPTURED_EVENT, INVALIDATED, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED },
    { "synchronization of a captured event", sync_captured_event, 2, CUDA_ERROR_CAPTURED_EVENT, INVALIDATED, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED },
    { "wait for an uncaptured event", wait_for_uncaptured, 2, CUDA_ERROR_STREAM_CAPTURE_ISOLATION, INVALIDATED, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED },
    { "wait for a never-recorded event", wait_for_never_recorded, 2, CUDA_SUCCESS, ACTIVE, CUDA_SUCCESS },
    { "end on the forked stream", end_on_the_fork, 2, CUDA_ERROR_STREAM_CAPTURE_UNMATCHED, INVALIDATED, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED },
    { "a callback", add_callback, 2, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, INVALIDATED, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED },
    { "global: allocation", free_memory, 0, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, INVALIDATED, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED },
    { "thread-local: allocation", free_memory, 1, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, INVALIDATED, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED },
    { "relaxed: query of another stream", query_another_stream, 2, CUDA_SUCCESS, ACTIVE, CUDA_SUCCESS },
    { "global: query of another stream", query_another_stream, 0, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, INVALIDATED, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED },
    { "global: a new stream", make_a_stream, 0, CUDA_SUCCESS, ACTIVE, CUDA_SUCCESS },
    { "relaxed: synchronization of the context", sync_the_context, 2, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, INVALIDATED, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED },
};

static void mistakes_are_answered(void)
{
    CUfunction append = abi_kernel(&module, "append");
    for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
        const struct mistake *m = &mistakes[i];
        scene c = { abi_stream(), abi_stream(), abi_event(), abi_event(), abi_word(0) };
        CUgraph g = (CUgraph)1;
        abi_is(cu.cuStreamBeginCapture(c.s, (CUstreamCaptureMode)m->mode), CUDA_SUCCESS, "%s: begin", m->name);
        abi_is(m->call(&c), m->answer, "%s: its answer", m->name);
        tap_is_int(status_of(c.s), m->status, "%s: the capture's status", m->name);
        abi_is(abi_launch(append, 1, 1, c.s, c.p, 1), m->end, "%s: a launch behind it", m->name);
        abi_is(cu.cuStreamEndCapture(c.s, &g), m->end, "%s: the end", m->name);
        if (m->end) tap_ok(g == NULL, "%s: no graph", m->name);
        else cu.cuGraphDestroy(g);
        tap_is_int(status_of(c.t), NONE, "%s: the other stream is free", m->name);
        abi_is(abi_launch(append, 1, 1, c.s, c.p, 7), CUDA_SUCCESS, "%s: the stream works again", m->name);
        abi_is(cu.cuStreamSynchronize(c.s), CUDA_SUCCESS, "%s: and can be waited for", m->name);
        tap_is_uint(abi_read(c.p), 7, "%s: only that has run", m->name);
        cu.cuStreamDestroy(c.s);
        cu.cuStreamDestroy(c.t);
        cu.cuEventDestroy(c.e);
        cu.cuEventDestroy(c.other);
        cu.cuMemFree(c.p);
    }
}

static void two_captures_do_not_merge(void)
{
    CUstream s = abi_stream(), t = abi_stream();
    CUevent e = abi_event();
    CUgraph g;
    cu.cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_RELAXED);
    cu.cuStreamBeginCapture(t, CU_STREAM_CAPTURE_MODE_RELAXED);
    cu.cuEventRecord(e, t);
    abi_is(cu.cuStreamWaitEvent(s, e, 0), CUDA_ERROR_STREAM_CAPTURE_MERGE, "a wait for another capture's event");
    abi_is(cu.cuStreamEndCapture(s, &g), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, "invalidates this one");
    abi_is(cu.cuStreamEndCapture(t, &g), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, "and the other");
    cu.cuEventDestroy(e);
    cu.cuStreamDestroy(s);
    cu.cuStreamDestroy(t);
}

static void a_fork_must_be_joined(void)
{
    CUfunction append = abi_kernel(&module, "append");
    CUstream s = abi_stream(), t = abi_stream();
    CUevent e = abi_event();
    CUdeviceptr p = abi_word(0);
    CUgraph g = (CUgraph)1;
    cu.cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_RELAXED);
    cu.cuEventRecord(e, s);
    cu.cuStreamWaitEvent(t, e, 0);
    abi_launch(append, 1, 1, t, p, 1);
    abi_is(cu.cuStreamEndCapture(s, &g), CUDA_ERROR_STREAM_CAPTURE_UNJOINED, "a fork that was not joined");
    tap_ok(g == NULL, "no graph");
    tap_is_int(status_of(t), NONE, "the forked stream is free");
    cu.cuEventDestroy(e);
    cu.cuStreamDestroy(s);
    cu.cuStreamDestroy(t);
    cu.cuMemFree(p);
}

static void blocking_streams_and_the_legacy_stream(void)
{
    CUstream s = NULL;
    CUstreamCaptureStatus status;
    CUgraph g;
    CUdeviceptr p = abi_word(0);
    cu.cuStreamCreate(&s, CU_STREAM_DEFAULT);
    cu.cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_RELAXED);
    abi_is(cu.cuStreamIsCapturing(CU_STREAM_LEGACY, &status), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, "the legacy stream would join it");
    tap_is_int(status_of(s), ACTIVE, "asking does no harm");
    abi_is(cu.cuMemsetD32Async(p, 1, 1, CU_STREAM_LEGACY), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, "using it is refused");
    cu.cuStreamEndCapture(s, &g);
    cu.cuStreamDestroy(s);
    cu.cuMemFree(p);
}

/* ---- Information ------------------------------------------------------------------------------------------------- */

static void what_is_being_captured(void)
{
    CUfunction append = abi_kernel(&module, "append");
    CUstream s = abi_stream();
    CUdeviceptr p = abi_word(0);
    CUstreamCaptureStatus status;
    cuuint64_t id = 0, again = 0;
    CUgraph g = NULL, end = NULL;
    const CUgraphNode *dep = NULL;
    size_t n = 9;
    cu.cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_RELAXED);
    abi_is(cu.cuStreamGetCaptureInfo(s, &status, &id, &g, &dep, &n), CUDA_SUCCESS, "information");
    tap_is_uint(n, 0, "nothing captured yet");
    abi_launch(append, 1, 1, s, p, 1);
    abi_is(cu.cuStreamGetCaptureInfo(s, &status, &again, &g, &dep, &n), CUDA_SUCCESS, "information again");
    tap_ok(id && id == again, "the capture keeps its id");
    tap_is_uint(n, 1, "the next node comes after one");
    CUgraphNode first = n ? dep[0] : NULL;
    abi_is(cu.cuStreamUpdateCaptureDependencies(s, NULL, 0, CU_STREAM_SET_CAPTURE_DEPENDENCIES), CUDA_SUCCESS, "after nothing instead");
    abi_launch(append, 1, 1, s, p, 2);
    abi_is(cu.cuStreamUpdateCaptureDependencies(s, &first, 1, CU_STREAM_ADD_CAPTURE_DEPENDENCIES), CUDA_SUCCESS, "after the first one too");
    abi_launch(append, 1, 1, s, p, 3);
    abi_is(cu.cuStreamEndCapture(s, &end), CUDA_SUCCESS, "end");
    tap_ok(end == g, "the graph that the information named");
    size_t edges = 9;
    abi_is(cu.cuGraphGetEdges(end, NULL, NULL, &edges), CUDA_SUCCESS, "edges");
    tap_is_uint(edges, 2, "both to the last node");
    abi_is(cu.cuStreamUpdateCaptureDependencies(s, NULL, 0, 0), CUDA_ERROR_ILLEGAL_STATE, "not outside of a capture");
    cu.cuGraphDestroy(end);
    cu.cuStreamDestroy(s);
    cu.cuMemFree(p);
}

/* ---- Threads ----------------------------------------------------------------------------------------------------- */

typedef struct helper { CUstream s; int mode, query, end; bool ends; } helper;

static void *other_thread(void *arg)
{
    helper *h = arg;
    CUstream t = NULL;
    CUgraph g;
    CUstreamCaptureMode mode = (CUstreamCaptureMode)h->mode;
    cu.cuCtxSetCurrent(abi_ctx);
    cu.cuThreadExchangeStreamCaptureMode(&mode);
    cu.cuStreamCreate(&t, CU_STREAM_NON_BLOCKING);
    if (h->ends) h->end = cu.cuStreamEndCapture(h->s, &g);
    if (h->ends && h->end == CUDA_SUCCESS) cu.cuGraphDestroy(g);
    if (!h->ends) h->query = cu.cuStreamQuery(t);
    cu.cuStreamDestroy(t);
    cu.cuCtxSetCurrent(NULL);
    return NULL;
}

static helper beside_capture(CUstream s, int capture, int thread_mode, bool ends)
{
    pthread_t thread;
    helper h = { s, thread_mode, -1, -1, ends };
    cu.cuStreamBeginCapture(s, (CUstreamCaptureMode)capture);
    pthread_create(&thread, NULL, other_thread, &h);
    pthread_join(thread, NULL);
    return h;
}

static void other_threads(void)
{
    static const struct { const char *name; int capture, thread, query, end; } cases[] = {
        { "global capture, global thread", 0, 0, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED },
        { "global capture, relaxed thread", 0, 2, CUDA_SUCCESS, CUDA_SUCCESS },
        { "thread-local capture, global thread", 1, 0, CUDA_SUCCESS, CUDA_SUCCESS },
        { "relaxed capture, global thread", 2, 0, CUDA_SUCCESS, CUDA_SUCCESS },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CUgraph g = NULL;
        CUstream s = abi_stream();
        helper h = beside_capture(s, cases[i].capture, cases[i].thread, false);
        tap_is_int(h.query, cases[i].query, "%s: a query of another stream", cases[i].name);
        abi_is(cu.cuStreamEndCapture(s, &g), cases[i].end, "%s: the end", cases[i].name);
        if (g) cu.cuGraphDestroy(g);
        /* Only a relaxed capture may be ended in another thread; what that thread is does not matter.  The others are over then too. */
        g = NULL;
        h = beside_capture(s, cases[i].capture, cases[i].thread, true);
        tap_is_int(h.end, cases[i].capture == 2 ? CUDA_SUCCESS : CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD, "%s: an end in another thread", cases[i].name);
        tap_is_int(status_of(s), NONE, "%s: ends it", cases[i].name);
        abi_is(cu.cuStreamEndCapture(s, &g), CUDA_ERROR_ILLEGAL_STATE, "%s: there is nothing left to end", cases[i].name);
        cu.cuStreamDestroy(s);
    }
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    abi_is(cu.cuThreadExchangeStreamCaptureMode(&mode), CUDA_SUCCESS, "exchange");
    tap_is_int(mode, CU_STREAM_CAPTURE_MODE_GLOBAL, "the default mode is global");
    abi_is(cu.cuThreadExchangeStreamCaptureMode(&mode), CUDA_SUCCESS, "exchange back");
    tap_is_int(mode, CU_STREAM_CAPTURE_MODE_RELAXED, "what was set");
}

int main(void)
{
    abi_open();
    captured_work_does_not_run();
    beginning_and_ending();
    mistakes_are_answered();
    two_captures_do_not_merge();
    a_fork_must_be_joined();
    blocking_streams_and_the_legacy_stream();
    what_is_being_captured();
    other_threads();
    cu.cuModuleUnload(module);
    return abi_close();
}
