/* Captures: begun, ended, paused and resumed, into new graphs and into graphs that are there.
 *
 * A capture into a graph retains that graph's root, marks it as `capturing`, and puts what it retains into the root's
 * set. */
#include "base/cancel.h"
#include "stream/graph/stream_graph.h"

/* -- Begin --------------------------------------------------------------------------------------------------------- */

/* What a capture is to be; `dep` and `ndep` are the driver's nodes. */
typedef struct capture_plan {
    cj_capture_mode mode;
    bool join;
    cj_graph *into;
    CUgraphNode *dep;
    size_t ndep, cap;
} capture_plan;

static void capture_abandon(cj_stream *s, cji_capture *c);

/* The capture is over, and its graph is not its own any more. */
static void capture_drop_graph(cji_capture *c)
{
    cj_graph *into = c->into;
    c->into = NULL;
    if (into) cji_graph_drop(cji_graph_root(into));
}

static const cji_capture_rules capture_rules = { .retain_argument = cji_mem_use_argument,
                                                 .abandon = capture_abandon,
                                                 .release = capture_drop_graph };

/* With the lock of `into` held, where there is one. */
static cji_capture *capture_new(cj_stream *s, const capture_plan *plan)
{
    cji_refset *refset = plan->into ? cji_refset_retain(cji_graph_root(plan->into)->refset) : cji_refset_new();
    cji_capture *c = cji_capture_new(s, &capture_rules, refset);
    if (!c) return NULL;
    c->mode = plan->mode;
    c->join = plan->join;
    c->into = plan->into;
    if (plan->into) cji_obj_retain(cji_graph_root(plan->into));
    return c;
}

/* Context current. */
static cj_status capture_start(cj_stream *s, cji_capture *c, const capture_plan *plan, const char *call)
{
    CUresult r;
    /* The count goes up before the driver begins, so that no release starts in between. */
    cji_release_queue_captures(s->queue, 1);
    if (plan->into)
        r = s->cu->cuStreamBeginCaptureToGraph(s->raw, plan->into->raw, plan->dep, NULL, plan->ndep,
                                               (CUstreamCaptureMode)plan->mode);
    else r = s->cu->cuStreamBeginCapture(s->raw, (CUstreamCaptureMode)plan->mode);
    if (r == CUDA_SUCCESS) {
        if (plan->into) cji_graph_root(plan->into)->capturing = true;
        cji_capture_join(c, s);
    }
    cji_release_queue_captures(s->queue, -1);
    return r == CUDA_SUCCESS
               ? CJ_OK
               : cji_rejected(s, s->dev, r, call, plan->into ? "cuStreamBeginCaptureToGraph" : "cuStreamBeginCapture");
}

/* With the lock of `into` held, where there is one. */
static cj_status capture_begin(cj_stream *s, const capture_plan *plan, const char *call)
{
    cji_scope scope;
    cji_capture *c = capture_new(s, plan);
    if (!c) return cji_fail(s, CJ_ENOMEM, call, "no memory for the capture");
    cj_status st = cji_scope_begin(s, s->dev, &scope, call);
    if (st == CJ_OK) {
        st = capture_start(s, c, plan, call);
        cji_scope_leave(&scope);
    }
    cji_capture_drop(c);
    return st;
}

/* What can be said of the stream and of a graph before the driver is asked. */
static cj_status capture_may_begin(cj_stream *s, const capture_plan *plan, const char *call)
{
    if ((int)plan->mode < CJ_CAPTURE_GLOBAL || plan->mode > CJ_CAPTURE_RELAXED)
        return cji_fail(s, CJ_EINVAL, call, "mode %d is none of CJ_CAPTURE_GLOBAL, _THREAD, _RELAXED", (int)plan->mode);
    if (s->raw == CU_STREAM_LEGACY)
        return cji_fail(s, CJ_ESTATE, call,
                        "the legacy default stream cannot be captured; use a stream of cj_stream_create");
    if (atomic_load(&s->capturing))
        return cji_fail(s, CJ_ESTATE, call, "the stream is being captured already; that capture goes on");
    if (plan->into && !cji_same_device(plan->into->queue, s->queue))
        return cji_cu_fail_apart(s, plan->into->dev, s->dev, call,
                                 "the graph is for device %d, the stream of device %d",
                                 cj_device_ordinal(plan->into->dev), cj_device_ordinal(s->dev));
    return CJ_OK;
}

cj_status cj_capture_begin(cj_stream *s, cj_capture_mode mode)
{
    static const char call[] = "cj_capture_begin";
    const capture_plan plan = { .mode = mode };
    cj_status st = cji_check(s, CJI_TAG_STREAM, call);
    if (st == CJ_OK) st = capture_may_begin(s, &plan, call);
    return st == CJ_OK ? capture_begin(s, &plan, call) : st;
}

/* Where a capture into a graph could not begin, though nothing was wrong with the question, the graph will lack its
 * nodes: a loop without them might never end. */
static void capture_misses(cj_graph *into, cj_status st)
{
    if (st != CJ_OK && st != CJ_EINVAL && st != CJ_ESTATE) cji_graph_incomplete(into);
}

void cj_capture_defaults(cj_capture_opts *opts)
{
    if (opts) *opts = (cj_capture_opts){ .size = sizeof *opts };
}

cj_status cj_capture_begin_opts(cj_stream *s, const cj_capture_opts *opts)
{
    static const char call[] = "cj_capture_begin";
    cj_capture_opts o;
    cj_capture_defaults(&o);
    cj_status st = cji_check(s, CJI_TAG_STREAM, call);
    if (st != CJ_OK) return st;
    if (!cji_opts_take(&o, sizeof o, opts, s, call, "cj_capture")) return CJ_EINVAL;
    capture_plan plan = { .mode = (cj_capture_mode)o.mode, .join = o.join != 0, .into = o.into };
    if (o.into) st = cji_check_arg(s, o.into, CJI_TAG_GRAPH, call, "the graph to add to");
    if (st == CJ_OK) st = capture_may_begin(s, &plan, call);
    if (st != CJ_OK || !o.into) return st == CJ_OK ? capture_begin(s, &plan, call) : st;
    st = cji_graph_enter(o.into, s, call);
    if (st != CJ_OK) return st;
    st = cji_nodes_take(o.into, o.after, &plan.dep, &plan.cap, &plan.ndep, s, call);
    if (st == CJ_OK) st = capture_begin(s, &plan, call);
    capture_misses(o.into, st);
    cji_graph_leave(o.into);
    cji_free(plan.dep, plan.cap * sizeof *plan.dep);
    return st;
}

cj_status cj_capture_resume(cj_stream *s, cj_graph *g)
{
    static const char call[] = "cj_capture_resume";
    cj_status st = cji_check(s, CJI_TAG_STREAM, call);
    if (st == CJ_OK) st = cji_check_arg(s, g, CJI_TAG_GRAPH, call, "the graph");
    if (st == CJ_OK) st = cji_graph_enter(g, s, call);
    if (st != CJ_OK) return st;
    const capture_plan plan = { .mode = g->mode, .join = g->join, .into = g, .dep = g->frontier, .ndep = g->nfrontier };
    st = capture_may_begin(s, &plan, call);
    if (st == CJ_OK && !g->paused)
        st = cji_fail(s, CJ_ESTATE, call,
                      "the graph's capture was not paused; use cj_capture_pause, or CJ_CAPTURE(.into = g)");
    if (st == CJ_OK) st = capture_begin(s, &plan, call);
    if (st == CJ_OK) g->paused = false;
    capture_misses(g, st);
    cji_graph_leave(g);
    return st;
}

/* -- End ----------------------------------------------------------------------------------------------------------- */

/* Ends the driver's capture, in any case: a stream must not stay captured.  *raw is the graph, NULL without one; a
 * failure, which is recorded in the stream, may leave one too. */
static cj_status capture_end_raw(cj_stream *s, CUgraph *raw, const char *call)
{
    cji_scope scope;
    *raw = NULL;
    cj_status st = cji_scope_begin(s, s->dev, &scope, call);
    CUresult r = s->cu->cuStreamEndCapture(s->raw, raw), again = r;
    if (r != CUDA_SUCCESS && cji_stream_captures(s->queue, s->raw)) again = s->cu->cuStreamEndCapture(s->raw, raw);
    if (again != CUDA_SUCCESS) *raw = NULL;
    if (st != CJ_OK) return st;
    cji_scope_leave(&scope);
    return r == CUDA_SUCCESS ? CJ_OK : cji_rejected(s, s->dev, r, call, "cuStreamEndCapture");
}

static void capture_destroy_raw(cj_stream *s, CUgraph raw)
{
    cji_scope scope;
    if (!raw) return;
    cji_queue_scope(s->queue, &scope);
    s->cu->cuGraphDestroy(raw);
    cji_scope_leave(&scope);
}

/* Whether `s` may end its capture here and now; the record is left in the stream. */
static cj_status capture_may_end(cj_stream *s, const cji_capture *c, const char *call)
{
    if (!c) return cji_fail(s, CJ_ESTATE, call, "the stream is not being captured; begin with cj_capture_begin");
    if (c->origin != s)
        return cji_fail(s, CJ_ESTATE, call,
                        "the capture was begun on another stream, and ends there; join this stream to it");
    if (c->mode != CJ_CAPTURE_RELAXED && !pthread_equal(c->thread, pthread_self()))
        return cji_fail(s, CJ_ESTATE, call,
                        "the capture ends on the thread that began it, unless its mode is CJ_CAPTURE_RELAXED");
    return CJ_OK;
}

/* Joins the streams that are still forked; a failure is the capture's. */
static void capture_join_all(cj_stream *s, cji_capture *c)
{
    cj_stream *t;
    for (size_t i = 1; (t = cji_capture_member(c, i)); i++) {
        cj_stream_join(s, t);
        cji_stream_drop(t);
    }
}

/* The capture's frontier: the nodes that its next one would depend on. */
static cj_status capture_frontier(cj_stream *s, cj_graph *g, const char *call)
{
    CJI_NO_CANCEL;
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    const CUgraphNode *dep = NULL;
    size_t n = 0;
    g->nfrontier = 0;
    CUresult r = s->cu->cuStreamGetCaptureInfo(s->raw, &status, NULL, NULL, &dep, &n);
    if (r != CUDA_SUCCESS) return cji_rejected(s, s->dev, r, call, "cuStreamGetCaptureInfo");
    if (status != CU_STREAM_CAPTURE_STATUS_ACTIVE) return CJ_OK; /* the end will tell why */
    if (!cji_grow(&g->frontier, &g->frontier_cap, n + 1, sizeof *g->frontier))
        return cji_fail(s, CJ_ENOMEM, call, "no memory for the capture's frontier");
    for (size_t i = 0; i < n; i++) g->frontier[i] = dep[i];
    g->nfrontier = n;
    return CJ_OK;
}

/* Ends the capture of a graph of its own and fills that; a failure is the thread's latest record. */
static cj_status capture_into_new(cj_stream *s, cji_capture *c, cj_graph *g, cj_status st, const char *call)
{
    CUgraph raw;
    cj_status ended = capture_end_raw(s, &raw, call);
    cji_capture_close(c);
    cji_refset *refset = cji_capture_take_refset(c);
    if (st == CJ_OK) st = ended;
    if (c->failed) st = cji_fail_with(s, &c->first);
    if (st != CJ_OK) {
        capture_destroy_raw(s, raw);
        cji_refset_drop(refset);
        return st;
    }
    cji_graph_init(g, s->dev, raw, refset, call);
    return CJ_OK;
}

/* Ends a capture into a graph, which is incomplete after a failure. */
static cj_status capture_into_old(cj_stream *s, cji_capture *c, cj_status st, const char *call)
{
    CUgraph raw;
    cj_graph *root = cji_graph_root(c->into);
    cj_status ended = capture_end_raw(s, &raw, call);
    cji_capture_close(c);
    if (st == CJ_OK) st = ended;
    if (c->failed) st = cji_fail_with(s, &c->first);
    cji_refset_drop(cji_capture_take_refset(c));
    cji_lock(&root->lock, CJI_LOCK_GRAPH);
    root->capturing = false;
    if (st != CJ_OK) cji_graph_incomplete(root);
    /* the driver destroys what a failed capture was to add to; an outer graph must not lead there any more */
    if (!raw) {
        root->gone = true;
        root->raw = c->into->raw = NULL;
    }
    cji_unlock(&root->lock, CJI_LOCK_GRAPH);
    return st;
}

/* Ends the capture `c`, or pauses it.  The graph it has made, retained; `fresh` is that or is deleted. */
static cj_status capture_finish(cj_stream *s, cji_capture *c, cj_graph **fresh, bool pause, const char *call)
{
    cj_graph *into = c->into, *g = into ? into : *fresh;
    if (c->join) capture_join_all(s, c);
    cj_status st = pause ? capture_frontier(s, g, call) : CJ_OK;
    st = into ? capture_into_old(s, c, st, call) : capture_into_new(s, c, g, st, call);
    if (st != CJ_OK) return st;
    cji_lock(&cji_graph_root(g)->lock, CJI_LOCK_GRAPH);
    g->paused = pause;
    g->join = c->join;
    g->mode = c->mode;
    cji_unlock(&cji_graph_root(g)->lock, CJI_LOCK_GRAPH);
    if (!into) return CJ_OK;
    cji_graph_drop(*fresh);
    *fresh = g->root ? g : cji_obj_retain(g);
    return CJ_OK;
}

static cj_graph *capture_finish_public(cj_stream *s, bool pause, const char *call)
{
    cj_graph *g = cji_obj_new(sizeof *g, CJI_TAG_GRAPH, 0, call);
    if (cji_obj_failed(g)) {
        if (cji_check(s, CJI_TAG_STREAM, call) == CJ_OK) cji_capture_abandon(s);
        return g;
    }
    pthread_mutex_init(&g->lock, NULL);
    if (cji_check_arg(g, s, CJI_TAG_STREAM, call, "the stream") != CJ_OK) {
        cji_obj_set_failed(g);
        return g;
    }
    cj_device *dev = cji_obj_retain(s->dev);
    cji_capture *c = cji_capture_of(s);
    cj_status st = capture_may_end(s, c, call);
    if (st == CJ_OK) st = capture_finish(s, c, &g, pause, call);
    if (st != CJ_OK) {
        cji_fail_with(g, cj_error_last());
        cji_obj_set_failed(g);
    }
    if (c && !atomic_load(&c->open)) capture_drop_graph(c);
    cji_capture_drop(c);
    cji_deferred_poll(&dev->queue, CJI_DEFERRED_STEP);
    cji_device_drop(dev);
    return g;
}

cj_graph *cj_capture_end(cj_stream *s) { return capture_finish_public(s, false, "cj_capture_end"); }
cj_graph *cj_capture_pause(cj_stream *s) { return capture_finish_public(s, true, "cj_capture_pause"); }

/* The stream's handle is freed before the end. */
static void capture_abandon(cj_stream *s, cji_capture *c)
{
    static const char call[] = "cj_stream_free";
    CUgraph raw = NULL;
    cj_status st = cji_fail(NULL, CJ_ESTATE, call, "the stream was freed before its capture was ended");
    if (c->into) {
        capture_into_old(s, c, st, call);
    } else {
        capture_end_raw(s, &raw, call);
        cji_capture_close(c);
        capture_destroy_raw(s, raw);
        cji_refset_drop(cji_capture_take_refset(c));
    }
    capture_drop_graph(c);
}
