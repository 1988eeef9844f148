/* Capture: begun and ended on a stream, joined by others through forks and events.
 *
 * A cji_capture is what the library knows of a capture under way.  Invariants: its members are the streams that it was seen to draw in, the
 * origin first; each is retained and has `capture` set to it; each member's device counts it in hub->captures, so that no release runs there.
 * Events recorded in it hold a reference and ask it whether it is open.  The first failure of a call given to a member is kept: the graph
 * would lack a node.  Closing it takes all that back, whatever the driver said. */
#include "stream/streams.h"

struct cji_capture {
    atomic_uint refs;
    atomic_bool open;
    cj_capture_mode mode;
    pthread_t thread;     /* that began it */
    cj_stream *origin;    /* member[0]; for comparison only once it is closed */
    cji_keep *keep;       /* goes to the graph */
    pthread_mutex_t lock; /* guards what follows */
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
    cji_keep_drop(c->keep);
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
cji_keep *cji_capture_keep(cji_capture *c) { return c->keep; }

bool cj_stream_is_capturing(const cj_stream *s)
{
    return cji_check(s, CJI_TAG_STREAM, "cj_stream_is_capturing") == CJ_OK && atomic_load(&s->capturing);
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
    cji_hub_captures(s->hub, 1);
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
        cji_hub_captures(s->hub, -1);
        cji_capture_drop(c); /* the stream's reference; the caller has one too */
    }
    for (size_t i = 0; i < count; i++) cji_stream_drop(c->member[i]);
}

/* -- Begin ----------------------------------------------------------------------------------------------------------- */

static cji_capture *capture_new(cj_stream *s, cj_capture_mode mode)
{
    cji_capture *c = cji_zalloc(sizeof *c);
    if (!c) return NULL;
    atomic_init(&c->refs, 1);
    atomic_init(&c->open, true);
    pthread_mutex_init(&c->lock, NULL);
    c->mode = mode;
    c->thread = pthread_self();
    c->origin = s;
    c->keep = cji_keep_new();
    if (c->keep && cji_grow(&c->member, &c->cap, 4, sizeof *c->member)) return c;
    cji_capture_drop(c);
    return NULL;
}

cj_status cj_capture_begin(cj_stream *s, cj_capture_mode mode)
{
    static const char call[] = "cj_capture_begin";
    cj_status st = cji_check(s, CJI_TAG_STREAM, call);
    if (st != CJ_OK) return st;
    if ((int)mode < CJ_CAPTURE_GLOBAL || mode > CJ_CAPTURE_RELAXED)
        return cji_fail(s, CJ_EINVAL, call, "%s: mode %d is none of CJ_CAPTURE_GLOBAL, _THREAD, _RELAXED", call, (int)mode);
    if (s->raw == CU_STREAM_LEGACY) return cji_fail(s, CJ_ESTATE, call, "%s: the legacy default stream cannot be captured; use a stream of cj_stream_create", call);
    if (atomic_load(&s->capturing)) return cji_fail(s, CJ_ESTATE, call, "%s: the stream is being captured already; that capture goes on", call);
    cji_capture *c = capture_new(s, mode);
    if (!c) return cji_fail(s, CJ_ENOMEM, call, "%s: no memory for the capture", call);
    cji_ctx ctx;
    st = cji_ctx_begin(s, s->dev, &ctx, call);
    if (st == CJ_OK) {
        /* The count goes up before the driver begins, so that no release starts in between. */
        cji_hub_captures(s->hub, 1);
        CUresult r = s->cu->cuStreamBeginCapture(s->raw, (CUstreamCaptureMode)mode);
        cji_ctx_leave(s->dev, &ctx);
        if (r == CUDA_SUCCESS)
            cji_capture_join(c, s);
        else
            st = cji_refused(s, s->dev, r, call, "cuStreamBeginCapture");
        cji_hub_captures(s->hub, -1);
    }
    cji_capture_drop(c);
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
    if (r != CUDA_SUCCESS && cji_stream_captures(s->hub, s->raw)) again = s->cu->cuStreamEndCapture(s->raw, raw);
    if (again != CUDA_SUCCESS) *raw = NULL;
    if (st != CJ_OK) return st;
    cji_ctx_leave(s->dev, &ctx);
    return r == CUDA_SUCCESS ? CJ_OK : cji_refused(s, s->dev, r, call, "cuStreamEndCapture");
}

static void capture_destroy_raw(cj_stream *s, CUgraph raw)
{
    cji_calm calm;
    if (!raw) return;
    cji_calm_begin(s->hub, &calm);
    s->cu->cuGraphDestroy(raw);
    cji_calm_end(s->hub, &calm);
}

/* Whether `s` may end its capture here and now; the record is left in the stream. */
static cj_status capture_may_end(cj_stream *s, const cji_capture *c, const char *call)
{
    if (!c) return cji_fail(s, CJ_ESTATE, call, "%s: the stream is not being captured; begin with cj_capture_begin", call);
    if (c->origin != s) return cji_fail(s, CJ_ESTATE, call, "%s: the capture was begun on another stream, and ends there; join this stream to it", call);
    if (c->mode != CJ_CAPTURE_RELAXED && !pthread_equal(c->thread, pthread_self()))
        return cji_fail(s, CJ_ESTATE, call, "%s: the capture ends on the thread that began it, unless its mode is CJ_CAPTURE_RELAXED", call);
    return CJ_OK;
}

/* Ends the capture and fills the graph; a failure is the thread's latest record. */
static cj_status capture_into(cj_stream *s, cji_capture *c, cj_graph *g, const char *call)
{
    CUgraph raw;
    cj_status st = capture_end_raw(s, &raw, call);
    capture_close(c);
    if (c->failed) st = cji_fail_with(s, &c->first);
    if (st != CJ_OK) {
        capture_destroy_raw(s, raw);
        return st;
    }
    g->dev = cji_obj_retain(s->dev);
    g->hub = s->hub;
    g->raw = raw;
    g->keep = cji_keep_retain(c->keep);
    return CJ_OK;
}

cj_graph *cj_capture_end(cj_stream *s)
{
    static const char call[] = "cj_capture_end";
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
    if (st == CJ_OK) st = capture_into(s, c, g, call);
    if (st != CJ_OK) {
        cji_fail_with(g, cj_error_last());
        cji_obj_set_failed(g);
    }
    cji_capture_drop(c);
    cji_late_poll(&dev->hub, CJI_LATE_STEP);
    cji_device_drop(dev);
    return g;
}

void cji_capture_abandon(cj_stream *s)
{
    CUgraph raw = NULL;
    cji_capture *c = cji_capture_of(s);
    if (c && c->origin == s) {
        cji_obj_retain(s);
        capture_end_raw(s, &raw, "cj_stream_free");
        capture_close(c);
        capture_destroy_raw(s, raw);
        cji_stream_drop(s);
    }
    cji_capture_drop(c);
}
