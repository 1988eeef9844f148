/* Captures (see answers.h): begun in every mode in two threads, forked and joined, disturbed by each kind of call; then
 * every graph that came of them is reported, launched once, and its words read.  Each piece of work writes a word of
 * its own and reads the one that its stream wrote before it. */
#include "answers_work.h"

enum {
    STREAMS = 6,
    OWN = 3,
    LEGACY = 3,
    PER_THREAD = 4 /* 5 is the other thread's */,
    EVENTS = 4,
    GRAPHS = 4,
    PIECES = 80,
    SPARE = AN_WORDS - 1,
    SCRATCH = PIECES + 3 /* written and never read */,
    KEPT = 3
};

static an_tools tools;
static struct {
    CUstream s;
    bool there, motion, begun_elsewhere;
    unsigned last, into /* the graph that it captures into, from 1; else 0 */;
} streams[STREAMS];
static struct { CUevent e; bool there, motion; } events[EVENTS];
static CUgraph graphs[GRAPHS];
static CUgraphExec exec;
static CUdeviceptr given;             /* by cuMemAllocAsync */
static struct { CUgraphNode node; cuuint64_t id; } kept[KEPT];
static cuuint64_t ids[32];
static unsigned pieces, nids;
static unsigned pageable[AN_WORDS];

static CUstream handle_of(unsigned i) { return i >= PER_THREAD ? CU_STREAM_PER_THREAD : streams[i].s; }

static unsigned some_stream(void)
{
    for (;;) {
        unsigned i = an_below(12);
        if (i >= 5) i %= OWN;
        if (i == LEGACY && an_chance(50)) continue;
        if (i >= PER_THREAD) i = an_is_elsewhere() ? PER_THREAD + 1 : PER_THREAD;
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
    for (unsigned i = 0; i < STREAMS; i++) streams[i].last = SPARE;
}

static void tell_statuses(void)
{
    for (unsigned i = 0; i < STREAMS; i++) {
        CUstreamCaptureStatus status = (CUstreamCaptureStatus)9;
        if (!streams[i].there || (i >= PER_THREAD && (i != PER_THREAD) != an_is_elsewhere())) continue;
        int st = (int)cu.cuStreamIsCapturing(handle_of(i), &status);
        if (st) an_more(" e%d", st);
        else an_more(" %d", (int)status);
    }
}

/* ---- Begin and end ----------------------------------------------------------------------------------------------- */

static void op_begin(void)
{
    unsigned i = some_stream(), mode = an_chance(4) ? 3 + an_below(2) : an_below(3);
    if (AN(cuStreamBeginCapture(handle_of(i), (CUstreamCaptureMode)mode), "begin %u mode %u", i, mode)) return;
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
    CUgraph g = (CUgraph)&tools;
    int st = AN(cuStreamEndCapture(handle_of(i), &g), "end %u", i);
    bool old = false;
    for (unsigned k = 0; k < GRAPHS; k++) old |= !st && g == graphs[k];
    if (g == (CUgraph)&tools) an_more(" untouched");
    else if (!g) an_more(" none");
    else if (old) an_more(" that graph");
    else if (!st) keep_graph(g);
    is_ended(i, st);
    forget_last();
}

static void op_end(void)
{
    unsigned i = some_stream();
    if (an_chance(4)) {
        is_ended(i, AN(cuStreamEndCapture(handle_of(i), NULL), "end %u into nothing", i));
        forget_last();
    } else end_on(i);
}

static void op_begin_to_graph(void)
{
    unsigned i = some_stream(), mode = an_below(3), k = an_below(GRAPHS);
    CUgraphNode nodes[64];
    size_t n = 64;
    if (!cu.cuStreamBeginCaptureToGraph) return;
    if (an_chance(5)) {
        AN(cuStreamBeginCaptureToGraph(handle_of(i), NULL, NULL, NULL, 0, (CUstreamCaptureMode)mode),
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
    if (AN(cuStreamBeginCaptureToGraph(handle_of(i), graphs[k], nodes, NULL, n, (CUstreamCaptureMode)mode),
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
    if (an_chance(5)) AN(cuStreamIsCapturing(handle_of(0), NULL), "status into nothing");
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
    unsigned i = some_stream();
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
            (int)cu.cuStreamGetCaptureInfo(handle_of(i), &status, an_chance(50) ? &id : NULL, NULL, NULL, NULL));
        if (!st) an_more(" %d", (int)status);
        return;
    }
    if (an_chance(5)) {
        AN(cuStreamGetCaptureInfo(handle_of(i), NULL, NULL, NULL, NULL, NULL), "information of %u into nothing", i);
        return;
    }
    if (cu.cuStreamGetCaptureInfo_v3 && an_chance(50))
        st = AN(cuStreamGetCaptureInfo_v3(handle_of(i), &status, &id, &g, &deps, &data, &n),
                "information of %u with edges", i);
    else st = AN(cuStreamGetCaptureInfo(handle_of(i), &status, &id, &g, &deps, &n), "information of %u", i);
    if (st) return;
    an_more(" %d", (int)status);
    if (status != CU_STREAM_CAPTURE_STATUS_ACTIVE) return;
    an_more(" capture %u%s %zu", id_number(id), g ? "" : " no graph", n);
    an_tell_nodes(&tools, deps, n);
    if (n == 1) {
        unsigned k = an_below(KEPT);
        kept[k].node = deps[0];
        kept[k].id = id;
    }
}

static void op_dependencies(void)
{
    unsigned i = some_stream(), k = an_below(KEPT), flags = an_chance(10) ? 2 + an_below(3) : an_below(2);
    CUstreamCaptureStatus status = (CUstreamCaptureStatus)9;
    cuuint64_t id = 0;
    size_t n = an_chance(40) ? 0 : 1;
    CUgraphNode none = NULL;
    if (an_chance(5)) {
        AN(cuStreamUpdateCaptureDependencies(handle_of(i), &none, 1, flags), "%u comes after no node, flags %u", i,
           flags);
        streams[i].last = SPARE;
        return;
    }
    if (n) {
        int st = (int)cu.cuStreamGetCaptureInfo(handle_of(i), &status, &id, NULL, NULL, NULL);
        if (st || status != CU_STREAM_CAPTURE_STATUS_ACTIVE || kept[k].id != id || !kept[k].node) return;
    }
    if (AN(cuStreamUpdateCaptureDependencies(handle_of(i), n ? &kept[k].node : NULL, n, flags),
           "%u comes after %s, flags %u", i, n ? "a node" : "nothing", flags))
        return;
    if (flags == 1) streams[i].last = SPARE;
}

/* ---- Work -------------------------------------------------------------------------------------------------------- */

static void op_work(void)
{
    unsigned i = some_stream(), kind = an_below(15), n = 1 + an_below(1000), me = pieces, from = streams[i].last;
    CUstream s = handle_of(i);
    int st;
    if (pieces >= PIECES) return;
    pieces++;
    pageable[me] = n;
    an_line("work %u in %u:", me, i);
    switch (kind) {
    case 0: an_more(" fill"); st = an_status((int)cu.cuMemsetD32Async(an_word(&tools, me), n, 1, s)); break;
    case 1:
        an_more(" byte fill");
        st = an_status((int)cu.cuMemsetD8Async(an_word(&tools, me), (unsigned char)n, 4, s));
        break;
    case 2:
        an_more(" short fill");
        st = an_status((int)cu.cuMemsetD16Async(an_word(&tools, me), (unsigned short)n, 2, s));
        break;
    case 3: an_more(" fill 2D"); st = an_status((int)cu.cuMemsetD2D32Async(an_word(&tools, me), 4, n, 1, 1, s)); break;
    case 4:
        an_more(" copy from %u", from);
        st = an_status((int)cu.cuMemcpyDtoDAsync(an_word(&tools, me), an_word(&tools, from), 4, s));
        break;
    case 5:
        an_more(" copy to host from %u", from);
        st = an_status((int)cu.cuMemcpyDtoHAsync(&tools.host[me], an_word(&tools, from), 4, s));
        break;
    case 6:
        an_more(" copy from pinned");
        st = an_status((int)cu.cuMemcpyHtoDAsync(an_word(&tools, me), &tools.host[SPARE], 4, s));
        break;
    case 7:
        an_more(" copy from pageable");
        st = an_status((int)cu.cuMemcpyHtoDAsync(an_word(&tools, me), &pageable[me], 4, s));
        break;
    case 8: an_more(" copy 2D from %u", from); st = an_status(an_copy_2d(&tools, s, me, from)); break;
    case 9: an_more(" copy 3D from %u", from); st = an_status(an_copy_3d(&tools, s, me, from)); break;
    case 10:
        an_more(" plain copy from %u", from);
        st = an_status((int)cu.cuMemcpyAsync(an_word(&tools, me), an_word(&tools, from), 4, s));
        break;
    case 11: an_more(" step from %u", from); st = an_launch_with(&tools, s, me, from, n); break;
    default:
        an_more(" step from %u", from);
        st = an_status(
            (int)an_step(kind == 12 ? tools.leap : tools.step, s, an_word(&tools, me), an_word(&tools, from), n));
    }
    if (st) return;
    streams[i].motion = true;
    if (kind != 5) streams[i].last = me;
}

static void no_callback(CUstream s, CUresult st, void *user) { (void)s, (void)st, (void)user; }

static void op_host(void)
{
    unsigned i = some_stream(), n = an_below(1000), wrong = an_below(100);
    CUstream s = handle_of(i);
    if (wrong < 10) { AN(cuStreamAddCallback(s, no_callback, NULL, 0), "callback in %u", i); return; }
    if (wrong < 15) { AN(cuLaunchHostFunc(s, NULL, NULL), "no host function in %u", i); return; }
    if (!AN(cuLaunchHostFunc(s, an_noted, an_note(i, n)), "host function %u in %u", n, i)) streams[i].motion = true;
}

static void op_memory(void)
{
    unsigned i = some_stream();
    CUstream s = handle_of(i);
    CUdeviceptr p = 0;
    if (given && an_chance(60)) {
        if (!AN(cuMemFreeAsync(given, s), "free in %u", i)) given = 0;
    } else if (!given) {
        if (!AN(cuMemAllocAsync(&p, 64, s), "allocation in %u", i)) given = p;
    }
    streams[i].motion = true;
}

static void op_graph_launch(void)
{
    unsigned i = some_stream();
    if (!AN(cuGraphLaunch(exec, handle_of(i)), "graph in %u", i)) streams[i].motion = true;
}

static void op_wrong_work(void)
{
    unsigned i = some_stream();
    CUstream s = handle_of(i);
    const an_stranger *x = an_other_context();
    void *none[3] = { 0 };
    switch (an_below(7)) {
    case 0: an_line("another context's step in %u", i); an_status((int)an_step(x->f, s, x->p, x->p, 1)); break;
    case 1: AN(cuMemcpyDtoDAsync(0, an_word(&tools, SPARE), 4, s), "a copy to nothing in %u", i); break;
    case 2: AN(cuMemsetD32Async(an_word(&tools, 0) + 1, 1, 1, s), "a fill at an odd address in %u", i); break;
    case 3: AN(cuMemsetD32Async(an_word(&tools, SPARE), 1, 0, s), "an empty fill in %u", i); break;
    case 4: AN(cuMemcpyDtoDAsync(an_word(&tools, SPARE), an_word(&tools, 0), 0, s), "an empty copy in %u", i); break;
    case 5: AN(cuLaunchKernel(tools.nothing, 0, 1, 1, 1, 1, 1, 0, s, none, NULL), "an empty grid in %u", i); break;
    default: AN(cuLaunchKernel(tools.nothing, 1, 1, 1, 2048, 1, 1, 0, s, none, NULL), "too large a block in %u", i);
    }
    streams[i].motion = true;
}

/* ---- Events ------------------------------------------------------------------------------------------------------ */

static void op_record(void)
{
    unsigned k = some_event(), i = some_stream(), flags = an_chance(80) ? 0 : 1 + an_below(2);
    if (k == EVENTS) return;
    int st = flags
                 ? AN(cuEventRecordWithFlags(events[k].e, handle_of(i), flags), "record %u in %u with %u", k, i, flags)
                 : AN(cuEventRecord(events[k].e, handle_of(i)), "record %u in %u", k, i);
    if (!st) events[k].motion = true;
}

static void op_wait(void)
{
    unsigned k = some_event(), i = some_stream(), flags = an_chance(85) ? 0 : 1 + an_below(2);
    if (k == EVENTS) return;
    if (AN(cuStreamWaitEvent(handle_of(i), events[k].e, flags), "%u waits for %u with %u", i, k, flags)) return;
    streams[i].motion = true;
}

/* What most programs do: another stream is forked off, or joined back. */
static void op_fork(void)
{
    unsigned k = some_event(), i = some_stream(), j = some_stream();
    if (k == EVENTS || i == j) return;
    if (AN(cuEventRecord(events[k].e, handle_of(i)), "record %u in %u", k, i)) return;
    events[k].motion = true;
    if (!AN(cuStreamWaitEvent(handle_of(j), events[k].e, 0), "%u waits for %u", j, k)) streams[j].motion = true;
}

static void op_join_all(void)
{
    unsigned k = some_event(), i = some_stream();
    if (k == EVENTS) return;
    for (unsigned j = 0; j < OWN; j++) {
        CUstreamCaptureStatus a = CU_STREAM_CAPTURE_STATUS_NONE, b = a;
        cuuint64_t ida = 0, idb = 1;
        if (j == i || !streams[j].there) continue;
        if (cu.cuStreamGetCaptureInfo(handle_of(i), &a, &ida, NULL, NULL, NULL) ||
            cu.cuStreamGetCaptureInfo(handle_of(j), &b, &idb, NULL, NULL, NULL))
            continue;
        if (a != CU_STREAM_CAPTURE_STATUS_ACTIVE || b != a || ida != idb) continue;
        AN(cuEventRecord(events[k].e, handle_of(j)), "record %u in %u", k, j);
        AN(cuStreamWaitEvent(handle_of(i), events[k].e, 0), "%u waits for %u", i, k);
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
    unsigned i = some_stream();
    bool motion = false;
    for (unsigned k = 0; k < STREAMS; k++) motion |= streams[k].motion;
    an_line("query of stream %u", i);
    an_queried((int)cu.cuStreamQuery(handle_of(i)), !motion);
}

static void op_stream_sync(void)
{
    unsigned i = some_stream();
    if (!AN(cuStreamSynchronize(handle_of(i)), "stream %u is waited for", i)) streams[i].motion = false;
}

static void op_facts(void)
{
    unsigned i = some_stream(), flags = 99;
    int priority = 99;
    unsigned long long id = 0;
    CUcontext ctx = NULL;
    CUlaunchAttributeValue v;
    CUstream s = handle_of(i);
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
    case 6: AN(cuStreamCopyAttributes(s, handle_of(some_stream())), "attributes into %u", i); break;
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
            for (unsigned i = 0; i < STREAMS; i++) streams[i].motion = false;
            for (unsigned i = 0; i < EVENTS; i++) events[i].motion = false;
        }
        break;
    case 8: AN(cuMemcpyDtoH(&value, an_word(&tools, SPARE), 4), "a copy to the host"); break;
    case 9: AN(cuMemcpyHtoD(an_word(&tools, SCRATCH), &value, 4), "a copy from the host"); break;
    case 10: AN(cuMemsetD32(an_word(&tools, SCRATCH), 0, 1), "a fill"); break;
    case 11: AN(cuMemcpyDtoD(an_word(&tools, SCRATCH), an_word(&tools, SPARE), 4), "a copy"); break;
    case 12:
        AN(cuDeviceGetDefaultMemPool(&pool, 0), "the pool");
        if (pool) AN(cuMemPoolTrimTo(pool, 0), "is trimmed");
        break;
    case 13: AN(cuMemAllocHost(&h, 64), "host memory"); if (h) AN(cuMemFreeHost(h), "and back"); break;
    case 14:
        AN(cuMemAllocManaged(&p, 64, CU_MEM_ATTACH_GLOBAL), "managed memory");
        if (p) AN(cuMemFree(p), "and back");
        break;
    case 15: AN(cuModuleGetGlobal(&p, &a, tools.module, "counter"), "a variable"); break;
    case 16:
        AN(cuPointerGetAttribute(&value, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, tools.words), "a pointer's attribute");
        break;
    case 17: AN(cuMemGetAddressRange(&p, &a, tools.words), "a range"); break;
    case 18:
        AN(cuFuncGetAttribute((int *)&value, CU_FUNC_ATTRIBUTE_NUM_REGS, tools.step), "a function's attribute");
        break;
    case 19:
        AN(cuFuncSetAttribute(tools.step, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, -1),
           "a function's attribute is set");
        break;
    case 20: AN(cuCtxGetLimit(&a, CU_LIMIT_STACK_SIZE), "a limit"); break;
    default: {
        CUgraphExec x = NULL;
        unsigned k = an_below(GRAPHS);
        CUstreamCaptureStatus status;
        for (unsigned i = 0; i < OWN; i++)   /* a graph that is being captured into is nobody's to instantiate */
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
    unsigned i = an_below(OWN);
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
        streams[i].last = SPARE;
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
    { "work", op_work, 36 },
    { "host", op_host, 6 },
    { "memory", op_memory, 5 },
    { "launch", op_graph_launch, 4 },
    { "wrong work", op_wrong_work, 3 },
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
    for (unsigned i = 0; i < STREAMS; i++) {
        CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
        if (!streams[i].there || i == LEGACY || (i >= PER_THREAD && (i != PER_THREAD) != an_is_elsewhere())) continue;
        if (cu.cuStreamIsCapturing(handle_of(i), &status) || !status) continue;
        if (i < OWN && streams[i].begun_elsewhere != an_is_elsewhere()) continue;
        end_on(i);
    }
}

static void run_graph(unsigned k)
{
    CUgraphExec x = NULL;
    an_line("graph %u", k);
    an_tell_graph(&tools, graphs[k]);
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
        .dst = an_word(&tools, PIECES + 1), .value = 77, .elementSize = 4, .width = 1, .height = 1
    };
    if (exec) return;
    if (cu.cuGraphCreate(&g, 0) || cu.cuGraphAddMemsetNode(&node, g, NULL, 0, &fill, abi_ctx) ||
        cu.cuGraphInstantiateWithFlags(&exec, g, 0))
        tap_bail("no graph");
    cu.cuGraphDestroy(g);
}

void an_program_captures(void)
{
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
    an_attach(&tools);
    make_exec();
    memset(streams, 0, sizeof streams);
    memset(events, 0, sizeof events);
    memset(graphs, 0, sizeof graphs);
    memset(kept, 0, sizeof kept);
    given = 0;
    pieces = nids = 0;
    for (unsigned i = LEGACY; i < STREAMS; i++) streams[i].there = true;
    for (unsigned i = 0; i < OWN; i++) op_stream_new();
    for (unsigned i = 0; i < OWN; i++)
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
    an_tell_words(&tools);
    an_tell_notes(true);
    for (unsigned k = 0; k < GRAPHS; k++)
        if (graphs[k]) run_graph(k);
    an_tell_words(&tools);
    an_tell_notes(true);
    for (unsigned k = 0; k < GRAPHS; k++)
        if (graphs[k]) cu.cuGraphDestroy(graphs[k]);
    for (unsigned i = 0; i < OWN; i++)
        if (streams[i].there) AN(cuStreamDestroy(streams[i].s), "stream %u goes", i);
    for (unsigned k = 0; k < EVENTS; k++)
        if (events[k].there) AN(cuEventDestroy(events[k].e), "event %u goes", k);
}
