/* Captures (see answers.h): begun in every mode in two threads, forked and joined, disturbed by each kind of call; then
 * every graph that came of them is reported, launched once, and its words read.  Each piece of work writes a word of
 * its own and reads the one that its stream wrote before it. */
#include "answers_captures.h"

enum { EVENTS = 4, GRAPHS = 4, KEPT = 3 };

an_captures an_cap;
static an_tools *const tools = &an_cap.tools;
static an_captured *const streams = an_cap.streams;
static struct { CUevent e; bool there, motion; } events[EVENTS];
static CUgraph graphs[GRAPHS];
static struct { CUgraphNode node; cuuint64_t id; } kept[KEPT];
static cuuint64_t ids[32];
static unsigned nids;

CUstream an_cap_handle(unsigned i) { return i >= AN_PER_THREAD ? CU_STREAM_PER_THREAD : streams[i].s; }

unsigned an_cap_stream(void)
{
    for (;;) {
        unsigned i = an_below(12);
        if (i >= 5) i %= AN_OWN;
        if (i == AN_LEGACY && an_chance(50)) continue;
        if (i >= AN_PER_THREAD) i = an_is_elsewhere() ? AN_PER_THREAD + 1 : AN_PER_THREAD;
        if (streams[i].there) return i;
    }
}

static unsigned some_event(void)
{
    for (unsigned tries = 0; tries < 20; tries++) {
        unsigned i = an_below(EVENTS);
        if (events[i].there) return i;
    }
    return EVENTS;
}

static void forget_last(void)
{
    for (unsigned i = 0; i < AN_STREAMS; i++) streams[i].last = AN_UNWRITTEN;
}

static void tell_statuses(void)
{
    for (unsigned i = 0; i < AN_STREAMS; i++) {
        CUstreamCaptureStatus status = (CUstreamCaptureStatus)9;
        if (!streams[i].there || (i >= AN_PER_THREAD && (i != AN_PER_THREAD) != an_is_elsewhere())) continue;
        int st = (int)cu.cuStreamIsCapturing(an_cap_handle(i), &status);
        if (st) an_more(" e%d", st);
        else an_more(" %d", (int)status);
    }
}

/* ---- Begin and end ----------------------------------------------------------------------------------------------- */

static void op_begin(void)
{
    unsigned i = an_cap_stream(), mode = an_chance(4) ? 3 + an_below(2) : an_below(3);
    if (AN(cuStreamBeginCapture(an_cap_handle(i), (CUstreamCaptureMode)mode), "begin %u mode %u", i, mode)) return;
    streams[i].begun_elsewhere = an_is_elsewhere();
    forget_last();
}

static void keep_graph(CUgraph g)
{
    for (unsigned k = 0; k < GRAPHS; k++)
        if (!graphs[k]) {
            graphs[k] = g;
            an_more(" graph %u", k);
            return;
        }
    an_more(" graph");
    cu.cuGraphDestroy(g);
}

/* A capture into a graph that fails takes the graph along. */
static void lose_graph(unsigned i)
{
    if (streams[i].into) graphs[streams[i].into - 1] = NULL;
    streams[i].into = 0;
}

static void is_ended(unsigned i, int st)
{
    if (st == CUDA_ERROR_ILLEGAL_STATE || st == CUDA_ERROR_STREAM_CAPTURE_UNMATCHED ||
        st == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT)
        return;
    if (st) lose_graph(i);
    streams[i].into = 0;
}

static void end_on(unsigned i)
{
    CUgraph g = (CUgraph)tools;
    int st = AN(cuStreamEndCapture(an_cap_handle(i), &g), "end %u", i);
    bool old = false;
    for (unsigned k = 0; k < GRAPHS; k++) old |= !st && g == graphs[k];
    if (g == (CUgraph)tools) an_more(" untouched");
    else if (!g) an_more(" none");
    else if (old) an_more(" that graph");
    else if (!st) keep_graph(g);
    is_ended(i, st);
    forget_last();
}

static void op_end(void)
{
    unsigned i = an_cap_stream();
    if (an_chance(4)) {
        is_ended(i, AN(cuStreamEndCapture(an_cap_handle(i), NULL), "end %u into nothing", i));
        forget_last();
    } else end_on(i);
}

static void op_begin_to_graph(void)
{
    unsigned i = an_cap_stream(), mode = an_below(3), k = an_below(GRAPHS);
    CUgraphNode nodes[64];
    size_t n = 64;
    if (!cu.cuStreamBeginCaptureToGraph) return;
    if (an_chance(5)) {
        AN(cuStreamBeginCaptureToGraph(an_cap_handle(i), NULL, NULL, NULL, 0, (CUstreamCaptureMode)mode),
           "begin %u to no graph", i);
        return;
    }
    if (!graphs[k]) {
        AN(cuGraphCreate(&graphs[k], 0), "graph %u", k);
        if (!graphs[k]) return;
    }
    if (cu.cuGraphGetNodes(graphs[k], nodes, &n) || an_chance(30)) n = 0;
    if (n > 64) n = 64;
    unsigned twice = n && an_chance(10);
    if (twice) nodes[n < 64 ? n : 63] = nodes[0], n = n < 64 ? n + 1 : 64;
    if (AN(cuStreamBeginCaptureToGraph(an_cap_handle(i), graphs[k], nodes, NULL, n, (CUstreamCaptureMode)mode),
           "begin %u to graph %u mode %u after %zu%s", i, k, mode, n, twice ? " with one twice" : ""))
        return;
    streams[i].into = k + 1;
    streams[i].begun_elsewhere = an_is_elsewhere();
    forget_last();
}

static void op_status(void)
{
    an_line("statuses");
    tell_statuses();
    if (an_chance(5)) AN(cuStreamIsCapturing(an_cap_handle(0), NULL), "status into nothing");
}

static unsigned id_number(cuuint64_t id)
{
    for (unsigned i = 0; i < nids; i++)
        if (ids[i] == id) return i;
    if (nids < 32) ids[nids] = id;
    return nids < 32 ? nids++ : 99;
}

static void op_info(void)
{
    unsigned i = an_cap_stream();
    CUstreamCaptureStatus status = (CUstreamCaptureStatus)9;
    cuuint64_t id = 0;
    CUgraph g = NULL;
    const CUgraphNode *deps = NULL;
    const CUgraphEdgeData *data = NULL;
    size_t n = 99;
    int st;
    if (an_chance(15)) {
        an_line("status and id of %u", i);
        st = an_status(
            (int)cu.cuStreamGetCaptureInfo(an_cap_handle(i), &status, an_chance(50) ? &id : NULL, NULL, NULL, NULL));
        if (!st) an_more(" %d", (int)status);
        return;
    }
    if (an_chance(5)) {
        AN(cuStreamGetCaptureInfo(an_cap_handle(i), NULL, NULL, NULL, NULL, NULL), "information of %u into nothing", i);
        return;
    }
    if (cu.cuStreamGetCaptureInfo_v3 && an_chance(50))
        st = AN(cuStreamGetCaptureInfo_v3(an_cap_handle(i), &status, &id, &g, &deps, &data, &n),
                "information of %u with edges", i);
    else st = AN(cuStreamGetCaptureInfo(an_cap_handle(i), &status, &id, &g, &deps, &n), "information of %u", i);
    if (st) return;
    an_more(" %d", (int)status);
    if (status != CU_STREAM_CAPTURE_STATUS_ACTIVE) return;
    an_more(" capture %u%s %zu", id_number(id), g ? "" : " no graph", n);
    an_tell_nodes(tools, deps, n);
    if (n == 1) {
        unsigned k = an_below(KEPT);
        kept[k].node = deps[0];
        kept[k].id = id;
    }
}

static void op_dependencies(void)
{
    unsigned i = an_cap_stream(), k = an_below(KEPT), flags = an_chance(10) ? 2 + an_below(3) : an_below(2);
    CUstreamCaptureStatus status = (CUstreamCaptureStatus)9;
    cuuint64_t id = 0;
    size_t n = an_chance(40) ? 0 : 1;
    CUgraphNode none = NULL;
    if (an_chance(5)) {
        AN(cuStreamUpdateCaptureDependencies(an_cap_handle(i), &none, 1, flags), "%u comes after no node, flags %u", i,
           flags);
        streams[i].last = AN_UNWRITTEN;
        return;
    }
    if (n) {
        int st = (int)cu.cuStreamGetCaptureInfo(an_cap_handle(i), &status, &id, NULL, NULL, NULL);
        if (st || status != CU_STREAM_CAPTURE_STATUS_ACTIVE || kept[k].id != id || !kept[k].node) return;
    }
    if (AN(cuStreamUpdateCaptureDependencies(an_cap_handle(i), n ? &kept[k].node : NULL, n, flags),
           "%u comes after %s, flags %u", i, n ? "a node" : "nothing", flags))
        return;
    if (flags == 1) streams[i].last = AN_UNWRITTEN;
}

/* ---- Events ------------------------------------------------------------------------------------------------------ */

static void op_record(void)
{
    unsigned k = some_event(), i = an_cap_stream(), flags = an_chance(80) ? 0 : 1 + an_below(2);
    if (k == EVENTS) return;
    int st =
        flags ? AN(cuEventRecordWithFlags(events[k].e, an_cap_handle(i), flags), "record %u in %u with %u", k, i, flags)
              : AN(cuEventRecord(events[k].e, an_cap_handle(i)), "record %u in %u", k, i);
    if (!st) events[k].motion = true;
}

static void op_wait(void)
{
    unsigned k = some_event(), i = an_cap_stream(), flags = an_chance(85) ? 0 : 1 + an_below(2);
    if (k == EVENTS) return;
    if (AN(cuStreamWaitEvent(an_cap_handle(i), events[k].e, flags), "%u waits for %u with %u", i, k, flags)) return;
    streams[i].motion = true;
}

/* What most programs do: another stream is forked off, or joined back. */
static void op_fork(void)
{
    unsigned k = some_event(), i = an_cap_stream(), j = an_cap_stream();
    if (k == EVENTS || i == j) return;
    if (AN(cuEventRecord(events[k].e, an_cap_handle(i)), "record %u in %u", k, i)) return;
    events[k].motion = true;
    if (!AN(cuStreamWaitEvent(an_cap_handle(j), events[k].e, 0), "%u waits for %u", j, k)) streams[j].motion = true;
}

static void op_join_all(void)
{
    unsigned k = some_event(), i = an_cap_stream();
    if (k == EVENTS) return;
    for (unsigned j = 0; j < AN_OWN; j++) {
        CUstreamCaptureStatus a = CU_STREAM_CAPTURE_STATUS_NONE, b = a;
        cuuint64_t ida = 0, idb = 1;
        if (j == i || !streams[j].there) continue;
        if (cu.cuStreamGetCaptureInfo(an_cap_handle(i), &a, &ida, NULL, NULL, NULL) ||
            cu.cuStreamGetCaptureInfo(an_cap_handle(j), &b, &idb, NULL, NULL, NULL))
            continue;
        if (a != CU_STREAM_CAPTURE_STATUS_ACTIVE || b != a || ida != idb) continue;
        AN(cuEventRecord(events[k].e, an_cap_handle(j)), "record %u in %u", k, j);
        AN(cuStreamWaitEvent(an_cap_handle(i), events[k].e, 0), "%u waits for %u", i, k);
        events[k].motion = true;
    }
}

static void op_event_query(void)
{
    unsigned k = some_event();
    if (k == EVENTS) return;
    an_line("query of event %u", k);
    an_queried((int)cu.cuEventQuery(events[k].e), !events[k].motion);
}

static void op_event_sync(void)
{
    unsigned k = some_event();
    if (k < EVENTS && !AN(cuEventSynchronize(events[k].e), "event %u is waited for", k)) events[k].motion = false;
}

static void op_event_new(void)
{
    unsigned k = an_below(EVENTS);
    CUevent e = NULL;
    if (events[k].there) {
        AN(cuEventDestroy(events[k].e), "event %u is destroyed", k);
        events[k].there = false;
    } else if (!AN(cuEventCreate(&e, an_chance(50) ? 0 : 2), "event %u", k)) {
        events[k].e = e;
        events[k].there = true;
        events[k].motion = false;
    }
}

static void op_elapsed(void)
{
    unsigned a = some_event(), b = some_event();
    float ms;
    if (a == EVENTS || b == EVENTS) return;
    an_line("time from %u to %u", a, b);
    an_queried((int)cu.cuEventElapsedTime(&ms, events[a].e, events[b].e), !events[a].motion && !events[b].motion);
}

/* ---- What may disturb -------------------------------------------------------------------------------------------- */

static void op_stream_query(void)
{
    unsigned i = an_cap_stream();
    bool motion = false;
    for (unsigned k = 0; k < AN_STREAMS; k++) motion |= streams[k].motion;
    an_line("query of stream %u", i);
    an_queried((int)cu.cuStreamQuery(an_cap_handle(i)), !motion);
}

static void op_stream_sync(void)
{
    unsigned i = an_cap_stream();
    if (!AN(cuStreamSynchronize(an_cap_handle(i)), "stream %u is waited for", i)) streams[i].motion = false;
}

static void op_facts(void)
{
    unsigned i = an_cap_stream(), flags = 99;
    int priority = 99;
    unsigned long long id = 0;
    CUcontext ctx = NULL;
    CUlaunchAttributeValue v;
    CUstream s = an_cap_handle(i);
    memset(&v, 0, sizeof v);
    switch (an_below(8)) {
    case 0: AN(cuStreamGetFlags(s, &flags), "flags of %u", i); break;
    case 1: AN(cuStreamGetPriority(s, &priority), "priority of %u", i); break;
    case 2: AN(cuStreamGetCtx(s, &ctx), "context of %u", i); break;
    case 3: if (cu.cuStreamGetId) AN(cuStreamGetId(s, &id), "id of %u", i); break;
    case 4:
        AN(cuStreamGetAttribute(s, CU_LAUNCH_ATTRIBUTE_PRIORITY, &v), "attribute of %u", i);
        an_more(" %d", v.priority);
        break;
    case 5:
        v.priority = 1;
        AN(cuStreamSetAttribute(s, CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY, &v), "policy of %u", i);
        break;
    case 6: AN(cuStreamCopyAttributes(s, an_cap_handle(an_cap_stream())), "attributes into %u", i); break;
    default: {
        CUdevice d = 99;
        if (cu.cuStreamGetDevice) AN(cuStreamGetDevice(s, &d), "device of %u", i);
    }
    }
}

static void op_disturb(void)
{
    CUdeviceptr p = 0;
    void *h = NULL;
    size_t a = 0, b = 0;
    unsigned value = 0;
    CUmodule m = NULL;
    CUstream s = NULL;
    CUevent e = NULL;
    CUgraph g = NULL;
    CUmemoryPool pool = NULL;
    switch (an_below(22)) {
    case 0: if (!AN(cuMemAlloc(&p, 64), "memory")) cu.cuMemFree(p); break;
    case 1: if (!AN(cuMemHostAlloc(&h, 64, 0), "pinned memory")) cu.cuMemFreeHost(h); break;
    case 2: AN(cuMemGetInfo(&a, &b), "free memory"); break;
    case 3: if (!AN(cuModuleLoadData(&m, an_ptx), "a module")) cu.cuModuleUnload(m); break;
    case 4: if (!AN(cuStreamCreate(&s, an_below(2)), "a stream")) AN(cuStreamDestroy(s), "and back"); break;
    case 5: if (!AN(cuEventCreate(&e, 0), "an event")) AN(cuEventDestroy(e), "and back"); break;
    case 6: if (!AN(cuGraphCreate(&g, 0), "a graph")) AN(cuGraphDestroy(g), "and back"); break;
    case 7: if (!AN(cuCtxSynchronize(), "the context is waited for")) {
            for (unsigned i = 0; i < AN_STREAMS; i++) streams[i].motion = false;
            for (unsigned i = 0; i < EVENTS; i++) events[i].motion = false;
        }
        break;
    case 8: AN(cuMemcpyDtoH(&value, an_word(tools, AN_UNWRITTEN), 4), "a copy to the host"); break;
    case 9: AN(cuMemcpyHtoD(an_word(tools, AN_SCRATCH), &value, 4), "a copy from the host"); break;
    case 10: AN(cuMemsetD32(an_word(tools, AN_SCRATCH), 0, 1), "a fill"); break;
    case 11: AN(cuMemcpyDtoD(an_word(tools, AN_SCRATCH), an_word(tools, AN_UNWRITTEN), 4), "a copy"); break;
    case 12:
        AN(cuDeviceGetDefaultMemPool(&pool, 0), "the pool");
        if (pool) AN(cuMemPoolTrimTo(pool, 0), "is trimmed");
        break;
    case 13: AN(cuMemAllocHost(&h, 64), "host memory"); if (h) AN(cuMemFreeHost(h), "and back"); break;
    case 14:
        AN(cuMemAllocManaged(&p, 64, CU_MEM_ATTACH_GLOBAL), "managed memory");
        if (p) AN(cuMemFree(p), "and back");
        break;
    case 15: AN(cuModuleGetGlobal(&p, &a, tools->module, "counter"), "a variable"); break;
    case 16:
        AN(cuPointerGetAttribute(&value, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, tools->words), "a pointer's attribute");
        break;
    case 17: AN(cuMemGetAddressRange(&p, &a, tools->words), "a range"); break;
    case 18:
        AN(cuFuncGetAttribute((int *)&value, CU_FUNC_ATTRIBUTE_NUM_REGS, tools->step), "a function's attribute");
        break;
    case 19:
        AN(cuFuncSetAttribute(tools->step, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, -1),
           "a function's attribute is set");
        break;
    case 20: AN(cuCtxGetLimit(&a, CU_LIMIT_STACK_SIZE), "a limit"); break;
    default: {
        CUgraphExec x = NULL;
        unsigned k = an_below(GRAPHS);
        CUstreamCaptureStatus status;
        for (unsigned i = 0; i < AN_OWN; i++)   /* a graph that is being captured into is nobody's to instantiate */
            if (streams[i].there && (cu.cuStreamIsCapturing(streams[i].s, &status) || status)) return;
        if (!graphs[k]) return;
        if (!AN(cuGraphInstantiateWithFlags(&x, graphs[k], 0), "graph %u instantiated", k)) cu.cuGraphExecDestroy(x);
    }
    }
}

static void op_mode(void)
{
    CUstreamCaptureMode mode = (CUstreamCaptureMode)(an_chance(5) ? 3 : an_below(3));
    an_line("mode %d", (int)mode);
    an_status((int)cu.cuThreadExchangeStreamCaptureMode(&mode));
    an_more(" was %d", (int)mode);
}

static void op_stream_new(void)
{
    unsigned i = an_below(AN_OWN);
    CUstream s = NULL;
    if (streams[i].there) {
        if (!an_chance(25)) return;
        AN(cuStreamDestroy(streams[i].s), "stream %u is destroyed", i);
        lose_graph(i);
        streams[i].there = false;
        forget_last();
    } else if (!AN(cuStreamCreate(&s, an_chance(70)), "stream %u", i)) {
        streams[i].s = s;
        streams[i].there = true;
        streams[i].motion = false;
        streams[i].last = AN_UNWRITTEN;
    }
}

/* ---- A program --------------------------------------------------------------------------------------------------- */

static const an_op ops[] = {
    { "begin", op_begin, 14 },
    { "end", op_end, 8 },
    { "begin to graph", op_begin_to_graph, 3 },
    { "status", op_status, 8 },
    { "info", op_info, 8 },
    { "dependencies", op_dependencies, 5 },
    { "work", an_cap_work, 36 },
    { "host", an_cap_host, 6 },
    { "memory", an_cap_memory, 5 },
    { "launch", an_cap_graph_launch, 4 },
    { "wrong work", an_cap_wrong_work, 3 },
    { "record", op_record, 7 },
    { "wait", op_wait, 7 },
    { "fork", op_fork, 12 },
    { "join", op_join_all, 10 },
    { "event query", op_event_query, 2 },
    { "event sync", op_event_sync, 1 },
    { "event new", op_event_new, 3 },
    { "elapsed", op_elapsed, 1 },
    { "stream query", op_stream_query, 2 },
    { "stream sync", op_stream_sync, 1 },
    { "facts", op_facts, 3 },
    { "disturb", op_disturb, 6 },
    { "mode", op_mode, 4 },
    { "stream new", op_stream_new, 3 },
};

static void a_call(void) { an_draw(ops, sizeof ops / sizeof *ops); }

/* Whatever this thread can end. */
static void close_captures(void)
{
    for (unsigned i = 0; i < AN_STREAMS; i++) {
        CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
        if (!streams[i].there || i == AN_LEGACY || (i >= AN_PER_THREAD && (i != AN_PER_THREAD) != an_is_elsewhere()))
            continue;
        if (cu.cuStreamIsCapturing(an_cap_handle(i), &status) || !status) continue;
        if (i < AN_OWN && streams[i].begun_elsewhere != an_is_elsewhere()) continue;
        end_on(i);
    }
}

static void run_graph(unsigned k)
{
    CUgraphExec x = NULL;
    an_line("graph %u", k);
    an_tell_graph(tools, graphs[k]);
    if (AN(cuGraphInstantiateWithFlags(&x, graphs[k], 0), "instantiated")) return;
    AN(cuGraphLaunch(x, NULL), "launched");
    AN(cuStreamSynchronize(NULL), "done");
    cu.cuGraphExecDestroy(x);
}

static void make_exec(void)
{
    CUgraph g = NULL;
    CUgraphNode node;
    CUDA_MEMSET_NODE_PARAMS fill = {
        .dst = an_word(tools, AN_PIECES + 1), .value = 77, .elementSize = 4, .width = 1, .height = 1
    };
    if (an_cap.exec) return;
    if (cu.cuGraphCreate(&g, 0) || cu.cuGraphAddMemsetNode(&node, g, NULL, 0, &fill, abi_ctx) ||
        cu.cuGraphInstantiateWithFlags(&an_cap.exec, g, 0))
        tap_bail("no graph");
    cu.cuGraphDestroy(g);
}

void an_program_captures(void)
{
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
    an_attach(tools);
    an_cap_attach();
    make_exec();
    memset(streams, 0, sizeof an_cap.streams);
    memset(events, 0, sizeof events);
    memset(graphs, 0, sizeof graphs);
    memset(kept, 0, sizeof kept);
    an_cap.given = 0;
    an_cap.pieces = nids = 0;
    for (unsigned i = AN_LEGACY; i < AN_STREAMS; i++) streams[i].there = true;
    for (unsigned i = 0; i < AN_OWN; i++) op_stream_new();
    for (unsigned i = 0; i < AN_OWN; i++)
        if (!streams[i].there) streams[i].there = !cu.cuStreamCreate(&streams[i].s, CU_STREAM_NON_BLOCKING);
    for (unsigned i = 0; i < EVENTS; i++) events[i].there = !cu.cuEventCreate(&events[i].e, i & 1 ? 2 : 0);
    forget_last();
    op_begin();
    for (unsigned i = 0, n = 15 + an_below(40); i < n; i++) {
        if (an_chance(12)) an_elsewhere(a_call);
        else a_call();
    }
    for (unsigned turn = 0; turn < 2; turn++) {
        close_captures();
        an_elsewhere(close_captures);
    }
    an_line("statuses");
    tell_statuses();
    AN(cuThreadExchangeStreamCaptureMode(&mode), "mode");
    an_more(" was %d", (int)mode);
    AN(cuCtxSynchronize(), "the end");
    an_tell_words(tools);
    an_tell_notes(true);
    for (unsigned k = 0; k < GRAPHS; k++)
        if (graphs[k]) run_graph(k);
    an_tell_words(tools);
    an_tell_notes(true);
    for (unsigned k = 0; k < GRAPHS; k++)
        if (graphs[k]) cu.cuGraphDestroy(graphs[k]);
    for (unsigned i = 0; i < AN_OWN; i++)
        if (streams[i].there) AN(cuStreamDestroy(streams[i].s), "stream %u goes", i);
    for (unsigned k = 0; k < EVENTS; k++)
        if (events[k].there) AN(cuEventDestroy(events[k].e), "event %u goes", k);
}
