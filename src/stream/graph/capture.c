/* Capture: begun and ended on a stream, joined by others through forks and events.
 *
 * A cji_capture is what the library knows of a capture under way.  Invariants: its members are the streams that it was seen to draw in, the
 * origin first; each is retained and has `capture` set to it; each member's device counts it in hub->captures, so that no release runs there.
 * Events recorded in it hold a reference and ask it whether it is open.  The first failure of a call given to a member is kept: the graph
 * would lack a node.  Closing it takes all that back, whatever the driver said.
 *
 * A capture into a graph keeps that graph's root, marks it as `capturing`, and puts what it keeps into the root's keep. */
#include "base/log.h"
#include "base/process.h"
#include "stream/graph/stream_graph.h"

struct cji_capture {
    atomic_uint refs;
    atomic_bool open;
    cj_capture_mode mode;
    bool join;            /* the end joins what is forked */
    pthread_t thread;     /* that began it */
    cj_stream *origin;    /* member[0]; for comparison only once it is closed */
    cj_graph *into;       /* adds to this one; its root is retained until the end */
    pthread_mutex_t lock; /* guards what follows */
    cji_refset *refset;       /* goes to the graph at the end */
    cj_stream **member;
    size_t count, cap;
    bool failed;
    cj_error first;
};

/* -- References ------------------------------------------------------------------------------------------------------ */

cji_capture *cji_capture_retain(cji_capture *c)
{
    atomic_fetch_add_explicit(&c->refs, 1, memory_order_relaxed);
    return c;
}

void cji_capture_drop(cji_capture *c)
{
    if (!c || atomic_fetch_sub_explicit(&c->refs, 1, memory_order_acq_rel) != 1) return;
    cji_refset_drop(c->refset);
    if (c->into) cji_graph_drop(cji_graph_root(c->into));
    cji_free(c->member, c->cap * sizeof *c->member);
    pthread_mutex_destroy(&c->lock);
    cji_free(c, sizeof *c);
}

cji_capture *cji_capture_of(cj_stream *s)
{
    if (!atomic_load(&s->capturing)) return NULL;
    pthread_mutex_lock(&s->lock);
    cji_capture *c = s->capture ? cji_capture_retain(s->capture) : NULL;
    pthread_mutex_unlock(&s->lock);
    return c;
}

bool cji_capture_open(const cji_capture *c) { return atomic_load(&c->open); }

bool cji_capture_retains(cji_capture *c, cji_ref_kind kind, void *what, bool *had)
{
    pthread_mutex_lock(&c->lock);
    *had = !c->refset;
    bool added = *had || cji_refset_add(c->refset, kind, what, had);
    pthread_mutex_unlock(&c->lock);
    return added;
}

/* The capture is over: what it kept, and what it was for, are its no longer, so that an event that remembers it keeps nothing alive. */
static cji_refset *capture_refset_out(cji_capture *c)
{
    pthread_mutex_lock(&c->lock);
    cji_refset *k = c->refset;
    c->refset = NULL;
    pthread_mutex_unlock(&c->lock);
    return k;
}

int cj_stream_is_capturing(const cj_stream *s)
{
    return cji_check_read(s, CJI_TAG_STREAM, "cj_stream_is_capturing") == CJ_OK && atomic_load(&s->capturing);
}

/* -- Members --------------------------------------------------------------------------------------------------------- */

/* With the capture's lock held. */
static bool capture_add_member(cji_capture *c, cj_stream *s)
{
    if (!cji_grow(&c->member, &c->cap, c->count + 1, sizeof *c->member)) return false;
    pthread_mutex_lock(&s->lock);
    bool fresh = !s->capture;
    if (fresh) {
        s->capture = cji_capture_retain(c);
        atomic_store(&s->capturing, true);
    }
    pthread_mutex_unlock(&s->lock);
    if (!fresh) return true;
    c->member[c->count++] = cji_obj_retain(s);
    cji_release_queue_captures(s->queue, 1);
    return true;
}

void cji_capture_join(cji_capture *c, cj_stream *s)
{
    pthread_mutex_lock(&c->lock);
    bool added = !cji_capture_open(c) || capture_add_member(c, s);
    pthread_mutex_unlock(&c->lock);
    if (added) return;
    cji_fail(s, CJ_ENOMEM, "cj_capture_begin", "no memory to note that a stream was drawn into the capture");
    cji_capture_fail(c);
}

void cji_capture_fail(cji_capture *c)
{
    pthread_mutex_lock(&c->lock);
    if (!c->failed) c->first = *cj_error_last();
    c->failed = true;
    pthread_mutex_unlock(&c->lock);
}

/* Takes everything back; the members may be released by it. */
static void capture_close(cji_capture *c)
{
    pthread_mutex_lock(&c->lock);
    atomic_store(&c->open, false);
    size_t count = c->count;
    c->count = 0;
    pthread_mutex_unlock(&c->lock);
    for (size_t i = 0; i < count; i++) {
        cj_stream *s = c->member[i];
        pthread_mutex_lock(&s->lock);
        atomic_store(&s->capturing, false);
        s->capture = NULL;
        pthread_mutex_unlock(&s->lock);
        cji_release_queue_captures(s->queue, -1);
        cji_capture_drop(c); /* the stream's reference; the caller has one too */
    }
    for (size_t i = 0; i < count; i++) cji_stream_drop(c->member[i]);
}

/* -- Begin ----------------------------------------------------------------------------------------------------------- */

/* What a capture is to be; `dep` and `ndep` are the driver's nodes. */
typedef struct capture_plan {
    cj_capture_mode mode;
    bool join;
    cj_graph *into;
    CUgraphNode *dep;
    size_t ndep, cap;
} capture_plan;

/* With the lock of `into` held, where there is one. */
static cji_capture *capture_new(cj_stream *s, const capture_plan *plan)
{
    cji_capture *c = cji_zalloc(sizeof *c);
    if (!c) return NULL;
    atomic_init(&c->refs, 1);
    atomic_init(&c->open, true);
    pthread_mutex_init(&c->lock, NULL);
    c->mode = plan->mode;
    c->join = plan->join;
    c->thread = pthread_self();
    c->origin = s;
    if (plan->into) {
        cj_graph *root = cji_obj_retain(cji_graph_root(plan->into));
        c->into = plan->into;
        c->refset = cji_refset_retain(root->refset);
    } else {
        c->refset = cji_refset_new();
    }
    if (c->refset && cji_grow(&c->member, &c->cap, 4, sizeof *c->member)) return c;
    cji_capture_drop(c);
    return NULL;
}

/* Context current. */
static cj_status capture_start(cj_stream *s, cji_capture *c, const capture_plan *plan, const char *call)
{
    CUresult r;
    /* The count goes up before the driver begins, so that no release starts in between. */
    cji_release_queue_captures(s->queue, 1);
    if (plan->into)
        r = s->cu->cuStreamBeginCaptureToGraph(s->raw, plan->into->raw, plan->dep, NULL, plan->ndep, (CUstreamCaptureMode)plan->mode);
    else
        r = s->cu->cuStreamBeginCapture(s->raw, (CUstreamCaptureMode)plan->mode);
    if (r == CUDA_SUCCESS) {
        if (plan->into) cji_graph_root(plan->into)->capturing = true;
        cji_capture_join(c, s);
    }
    cji_release_queue_captures(s->queue, -1);
    return r == CUDA_SUCCESS ? CJ_OK : cji_rejected(s, s->dev, r, call, plan->into ? "cuStreamBeginCaptureToGraph" : "cuStreamBeginCapture");
}

/* With the lock of `into` held, where there is one. */
static cj_status capture_begin(cj_stream *s, const capture_plan *plan, const char *call)
{
    cji_ctx ctx;
    cji_capture *c = capture_new(s, plan);
    if (!c) return cji_fail(s, CJ_ENOMEM, call, "no memory for the capture");
    cj_status st = cji_ctx_begin(s, s->dev, &ctx, call);
    if (st == CJ_OK) {
        st = capture_start(s, c, plan, call);
        cji_ctx_leave(s->dev, &ctx);
    }
    cji_capture_drop(c);
    return st;
}

/* What can be said of the stream and of a graph before the driver is asked. */
static cj_status capture_may_begin(cj_stream *s, const capture_plan *plan, const char *call)
{
    if ((int)plan->mode < CJ_CAPTURE_GLOBAL || plan->mode > CJ_CAPTURE_RELAXED)
        return cji_fail(s, CJ_EINVAL, call, "mode %d is none of CJ_CAPTURE_GLOBAL, _THREAD, _RELAXED", (int)plan->mode);
    if (s->raw == CU_STREAM_LEGACY) return cji_fail(s, CJ_ESTATE, call, "the legacy default stream cannot be captured; use a stream of cj_stream_create");
    if (atomic_load(&s->capturing)) return cji_fail(s, CJ_ESTATE, call, "the stream is being captured already; that capture goes on");
    if (plan->into && !cji_same_device(plan->into->queue, s->queue))
        return cji_fail(s, CJ_EINVAL, call, "the graph is for device %d, the stream of device %d", cj_device_ordinal(plan->into->dev), cj_device_ordinal(s->dev));
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

/* Where a capture into a graph could not begin, though nothing was wrong with the question, the graph will lack its nodes: a loop without them might never end. */
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
    if (st == CJ_OK && !g->paused) st = cji_fail(s, CJ_ESTATE, call, "the graph's capture was not paused; use cj_capture_pause, or CJ_CAPTURE(.into = g)");
    if (st == CJ_OK) st = capture_begin(s, &plan, call);
    if (st == CJ_OK) g->paused = false;
    capture_misses(g, st);
    cji_graph_leave(g);
    return st;
}

/* -- End ------------------------------------------------------------------------------------------------------------- */

/* Ends the driver's capture, in any case: a stream must not stay captured.  *raw is the graph, NULL without one; a failure, which is recorded in the
 * stream, may leave one too. */
static cj_status capture_end_raw(cj_stream *s, CUgraph *raw, const char *call)
{
    cji_ctx ctx;
    *raw = NULL;
    cj_status st = cji_ctx_begin(s, s->dev, &ctx, call);
    CUresult r = s->cu->cuStreamEndCapture(s->raw, raw), again = r;
    if (r != CUDA_SUCCESS && cji_stream_captures(s->queue, s->raw)) again = s->cu->cuStreamEndCapture(s->raw, raw);
    if (again != CUDA_SUCCESS) *raw = NULL;
    if (st != CJ_OK) return st;
    cji_ctx_leave(s->dev, &ctx);
    return r == CUDA_SUCCESS ? CJ_OK : cji_rejected(s, s->dev, r, call, "cuStreamEndCapture");
}

static void capture_destroy_raw(cj_stream *s, CUgraph raw)
{
    cji_calm calm;
    if (!raw) return;
    cji_calm_begin(s->queue, &calm);
    s->cu->cuGraphDestroy(raw);
    cji_calm_end(s->queue, &calm);
}

/* Whether `s` may end its capture here and now; the record is left in the stream. */
static cj_status capture_may_end(cj_stream *s, const cji_capture *c, const char *call)
{
    if (!c) return cji_fail(s, CJ_ESTATE, call, "the stream is not being captured; begin with cj_capture_begin");
    if (c->origin != s) return cji_fail(s, CJ_ESTATE, call, "the capture was begun on another stream, and ends there; join this stream to it");
    if (c->mode != CJ_CAPTURE_RELAXED && !pthread_equal(c->thread, pthread_self()))
        return cji_fail(s, CJ_ESTATE, call, "the capture ends on the thread that began it, unless its mode is CJ_CAPTURE_RELAXED");
    return CJ_OK;
}

/* Joins the streams that are still forked; a failure is the capture's. */
static void capture_join_all(cj_stream *s, cji_capture *c)
{
    for (size_t i = 1;; i++) {
        pthread_mutex_lock(&c->lock);
        cj_stream *t = i < c->count ? cji_obj_retain(c->member[i]) : NULL;
        pthread_mutex_unlock(&c->lock);
        if (!t) return;
        cj_stream_join(s, t);
        cji_stream_drop(t);
    }
}

/* Where the stream stands: the nodes that its next one would come after. */
static cj_status capture_frontier(cj_stream *s, cj_graph *g, const char *call)
{
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    const CUgraphNode *dep = NULL;
    size_t n = 0;
    g->nfrontier = 0;
    CUresult r = s->cu->cuStreamGetCaptureInfo(s->raw, &status, NULL, NULL, &dep, &n);
    if (r != CUDA_SUCCESS) return cji_rejected(s, s->dev, r, call, "cuStreamGetCaptureInfo");
    if (status != CU_STREAM_CAPTURE_STATUS_ACTIVE) return CJ_OK; /* the end will tell why */
    if (!cji_grow(&g->frontier, &g->frontier_cap, n + 1, sizeof *g->frontier)) return cji_fail(s, CJ_ENOMEM, call, "no memory for where the capture stands");
    for (size_t i = 0; i < n; i++) g->frontier[i] = dep[i];
    g->nfrontier = n;
    return CJ_OK;
}

/* Ends the capture of a graph of its own and fills that; a failure is the thread's latest record. */
static cj_status capture_into_new(cj_stream *s, cji_capture *c, cj_graph *g, cj_status st, const char *call)
{
    CUgraph raw;
    cj_status ended = capture_end_raw(s, &raw, call);
    capture_close(c);
    cji_refset *refset = capture_refset_out(c);
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

/* Ends a capture into a graph, which has a hole after a failure. */
static cj_status capture_into_old(cj_stream *s, cji_capture *c, cj_status st, const char *call)
{
    CUgraph raw;
    cj_graph *root = cji_graph_root(c->into);
    cj_status ended = capture_end_raw(s, &raw, call);
    capture_close(c);
    if (st == CJ_OK) st = ended;
    if (c->failed) st = cji_fail_with(s, &c->first);
    cji_refset_drop(capture_refset_out(c));
    pthread_mutex_lock(&root->lock);
    root->capturing = false;
    if (st != CJ_OK) cji_graph_incomplete(root);
    if (!raw) { /* the driver destroys what a failed capture was to add to; an outer graph must not lead there any more */
        root->gone = true;
        root->raw = c->into->raw = NULL;
    }
    pthread_mutex_unlock(&root->lock);
    return st;
}

/* The capture is over and lets its graph go. */
static void capture_into_out(cji_capture *c)
{
    cj_graph *into = c->into;
    c->into = NULL;
    if (into) cji_graph_drop(cji_graph_root(into));
}

/* Ends the capture `c`, or pauses it.  The graph it has made, retained; `fresh` is that or is deleted. */
static cj_status capture_finish(cj_stream *s, cji_capture *c, cj_graph **fresh, bool pause, const char *call)
{
    cj_graph *into = c->into, *g = into ? into : *fresh;
    if (c->join) capture_join_all(s, c);
    cj_status st = pause ? capture_frontier(s, g, call) : CJ_OK;
    st = into ? capture_into_old(s, c, st, call) : capture_into_new(s, c, g, st, call);
    if (st != CJ_OK) return st;
    pthread_mutex_lock(&cji_graph_root(g)->lock);
    g->paused = pause;
    g->join = c->join;
    g->mode = c->mode;
    pthread_mutex_unlock(&cji_graph_root(g)->lock);
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
    if (c && !atomic_load(&c->open)) capture_into_out(c);
    cji_capture_drop(c);
    cji_deferred_poll(&dev->queue, CJI_DEFERRED_STEP);
    cji_device_drop(dev);
    return g;
}

cj_graph *cj_capture_end(cj_stream *s) { return capture_finish_public(s, false, "cj_capture_end"); }
cj_graph *cj_capture_pause(cj_stream *s) { return capture_finish_public(s, true, "cj_capture_pause"); }

bool cji_capture_abandon(cj_stream *s)
{
    static const char call[] = "cj_stream_free";
    CUgraph raw = NULL;
    cji_capture *c = cji_capture_of(s);
    const bool began = c && c->origin == s, stays = began && s->obj.thread && s->obj.thread != cji_thread_id();
    if (stays) {
        cji_fail(NULL, CJ_ESTATE, call, "the stream is being captured and stays; end the capture, or free the stream, on the thread that wrapped it");
        cji_log(CJ_LOG_ERROR, "%s", cj_error_last()->message);
    } else if (began) {
        cji_obj_retain(s);
        cj_status st = cji_fail(NULL, CJ_ESTATE, call, "the stream was freed before its capture was ended");
        if (c->into) {
            capture_into_old(s, c, st, call);
        } else {
            capture_end_raw(s, &raw, call);
            capture_close(c);
            capture_destroy_raw(s, raw);
            cji_refset_drop(capture_refset_out(c));
        }
        capture_into_out(c);
        cji_stream_drop(s);
    }
    cji_capture_drop(c);
    return !stays;
}
