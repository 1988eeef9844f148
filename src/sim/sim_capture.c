/* Capture: what a stream is given becomes nodes of a graph instead of operations.
 *
 * A capturing stream knows the nodes that its next one comes after (dep).  An event recorded in it takes a copy of those; a stream that waits
 * for the event joins the capture with them.  The answers to what is not allowed are the driver's, as measured on an H100. */
#include "sim/simcore.h"
#include "sim/sim_capture.h"
#include "sim/sim_device.h"
#include "sim/sim_graph.h"
#include "sim/sim_queue.h"
#include "sim/sim_shared.h"
#include "sim/sim_stream.h"

#include <string.h>

/* ---- Lists of nodes that come before ----------------------------------------------------------------------------- */

bool cji_sd_deps_add(sd_node ***dep, size_t *n, size_t *cap, sd_node *node)
{
    for (size_t i = 0; i < *n; i++)
        if ((*dep)[i] == node) return true;
    if (!cji_grow(dep, cap, *n + 1, sizeof **dep)) return false;
    (*dep)[(*n)++] = node;
    return true;
}

bool cji_sd_deps_set(sd_node ***dep, size_t *n, size_t *cap, sd_node *const *from, size_t count)
{
    if (count && !cji_grow(dep, cap, count, sizeof **dep)) return false;
    if (count) memmove(*dep, from, count * sizeof **dep);
    *n = count;
    return true;
}

void cji_sd_deps_free(sd_node ***dep, size_t *n, size_t *cap)
{
    cji_free(*dep, *cap * sizeof **dep);
    *dep = NULL;
    *n = *cap = 0;
}

/* ---- Captures and their streams ---------------------------------------------------------------------------------- */

sd_capture *cji_sd_capture_by_id(uint64_t id)
{
    for (sd_capture *k = sd.captures; k; k = k->next)
        if (k->id == id) return k;
    return NULL;
}

void cji_sd_capture_invalidate(sd_capture *k) { k->invalid = true; }

/* Calls `f` for every stream of every context. */
static void sd_each_stream(void (*f)(sd_stream *s, void *user), void *user)
{
    for (unsigned d = 0; d < sd.set.devices; d++) {
        for (sd_stream *s = sd.device[d]->primary.streams; s; s = s->next) f(s, user);
        for (sd_ctx *c = sd.device[d]->contexts; c; c = c->next)
            for (sd_stream *s = c->streams; s; s = s->next) f(s, user);
    }
}

static void sd_stream_uncapture(sd_stream *s, void *capture)
{
    if (s->capture != capture) return;
    s->capture = NULL;
    s->ndep = 0;
}

/* The capture is over: its streams are ordinary again. */
static void sd_capture_close(sd_capture *k)
{
    sd_each_stream(sd_stream_uncapture, k);
    for (sd_capture **q = &sd.captures; *q; q = &(*q)->next)
        if (*q == k) {
            *q = k->next;
            break;
        }
    cji_sd_graph_drop(k->graph);
    cji_sd_deps_free(&k->left, &k->nleft, &k->left_cap);
    cji_free(k, sizeof *k);
}

void cji_sd_capture_leave(sd_stream *s)
{
    sd_capture *k = s->capture;
    if (!k) return;
    if (s != k->origin) {   /* what it was given must have been joined already */
        for (size_t i = 0; i < s->ndep; i++)
            if (!cji_sd_deps_add(&k->left, &k->nleft, &k->left_cap, s->dep[i])) k->invalid = true;
        sd_stream_uncapture(s, k);
        return;
    }
    if (cji_sd_handle_is(SD_GRAPH, k->graph)) cji_sd_graph_forget(k->graph);
    sd_capture_close(k);
}

/* What a capture continues; the same node twice is one. */
static bool sd_deps_once(sd_stream *s, sd_node *const *dep, size_t n)
{
    s->ndep = 0;
    for (size_t i = 0; i < n; i++)
        if (!cji_sd_deps_add(&s->dep, &s->ndep, &s->dep_cap, dep[i])) return false;
    return true;
}

static CUresult sd_capture_begin(CUstream h, CUstreamCaptureMode mode, sd_graph *into, sd_node *const *dep, size_t ndep)
{
    sd_stream *s;
    if (mode < CU_STREAM_CAPTURE_MODE_GLOBAL || mode > CU_STREAM_CAPTURE_MODE_RELAXED) return CUDA_ERROR_INVALID_VALUE;
    CUresult r = cji_sd_stream_to_capture(h, &s);
    if (r) return r;
    if (s->legacy) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    if (s->capture) return CUDA_ERROR_ILLEGAL_STATE;
    for (sd_capture *o = sd.captures; o; o = o->next)
        if (into && o->graph == into) return CUDA_ERROR_ILLEGAL_STATE;
    sd_capture *k = cji_zalloc(sizeof *k);
    sd_graph *g = into ? into : cji_sd_graph_new();
    if (!k || !g || (!into && !cji_sd_handle_add(SD_GRAPH, g)) || !sd_deps_once(s, dep, ndep)) {
        if (g && !into) {
            cji_sd_handle_drop(g);
            cji_sd_graph_drop(g);
        }
        cji_free(k, sizeof *k);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    k->id = ++sd.next_id;
    k->origin = s;
    k->thread = cji_sd_thread();
    k->mode = mode;
    k->to_graph = into != NULL;
    k->graph = g;
    g->refs++;
    k->next = sd.captures;
    sd.captures = k;
    s->capture = k;
    return CUDA_SUCCESS;
}

CUresult cji_sd_cuStreamBeginCapture(CUstream h, CUstreamCaptureMode mode)
{
    sd_lock();
    CUresult r = sd_capture_begin(h, mode, NULL, NULL, 0);
    sd_unlock();
    return r;
}

CUresult cji_sd_cuStreamBeginCaptureToGraph(CUstream h, CUgraph hg, const CUgraphNode *dep, const CUgraphEdgeData *data, size_t n, CUstreamCaptureMode mode)
{
    sd_graph *g;
    sd_lock();
    CUresult r = cji_sd_graph_get(hg, &g);
    if (!r && n && !dep) r = CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; !r && i < n; i++) r = cji_sd_nodes_of(g, &dep[i], 1);   /* one may stand there twice */
    if (!r && !cji_sd_edges_plain(data, n)) r = CUDA_ERROR_NOT_SUPPORTED;
    if (!r) r = sd_capture_begin(h, mode, g, (sd_node *const *)dep, n);
    sd_unlock();
    return r;
}

/* ---- The end ----------------------------------------------------------------------------------------------------- */

struct sd_join { sd_capture *capture; bool unjoined; };

static void sd_stream_joined(sd_stream *s, void *user)
{
    struct sd_join *j = user;
    if (s->capture != j->capture || s == j->capture->origin) return;
    for (size_t i = 0; i < s->ndep; i++)
        if (s->dep[i]->mark != 1) j->unjoined = true;
}

/* Whether the origin comes after everything that the forked streams were given. */
static bool sd_capture_joined(sd_capture *k)
{
    struct sd_join j = { k, false };
    for (size_t i = 0; i < k->graph->nnode; i++) k->graph->node[i]->mark = 0;
    /* In the order of their making each node comes after its predecessors, so one pass backwards marks them all. */
    for (size_t i = 0; i < k->origin->ndep; i++) k->origin->dep[i]->mark = 1;
    for (size_t i = k->graph->nnode; i-- > 0;) {
        sd_node *n = k->graph->node[i];
        for (size_t b = 0; n->mark == 1 && b < n->nbefore; b++) n->before[b]->mark = 1;
    }
    sd_each_stream(sd_stream_joined, &j);
    for (size_t i = 0; i < k->nleft; i++)
        if (k->left[i]->mark != 1) j.unjoined = true;
    return !j.unjoined;
}

static CUresult sd_capture_end(CUstream h, CUgraph *out)
{
    sd_stream *s;
    CUgraph none;
    if (!out) out = &none;   /* it ends all the same */
    *out = NULL;
    CUresult r = cji_sd_stream_to_capture(h, &s);
    if (r) return r;
    sd_capture *k = s->capture;
    if (!k) return CUDA_ERROR_ILLEGAL_STATE;
    if (s != k->origin) {
        k->invalid = true;
        return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
    }
    /* An end in a wrong thread ends it too, without a graph (as measured); so goes the graph that the caller gave. */
    if (k->invalid) r = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    else if (k->mode != CU_STREAM_CAPTURE_MODE_RELAXED && k->thread != cji_sd_thread()) r = CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
    else if (!sd_capture_joined(k)) r = CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
    if (!r) *out = (CUgraph)k->graph;
    else if (cji_sd_handle_is(SD_GRAPH, k->graph)) cji_sd_graph_forget(k->graph);
    sd_capture_close(k);
    return r;
}

CUresult cji_sd_cuStreamEndCapture(CUstream h, CUgraph *out)
{
    sd_lock();
    CUresult r = sd_capture_end(h, out);
    sd_unlock();
    return r;
}

/* ---- Work and events inside -------------------------------------------------------------------------------------- */

CUresult cji_sd_capture_add(sd_stream *s, sd_work *w)
{
    sd_node *n = cji_sd_node_new(s->capture->graph, w, cji_sd_verb_type(w), s->dep, s->ndep);
    if (!n || !cji_sd_deps_set(&s->dep, &s->ndep, &s->dep_cap, &n, 1)) {
        if (!n) cji_sd_work_drop(w);
        s->capture->invalid = true;
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    return CUDA_SUCCESS;
}

CUresult cji_sd_capture_record(sd_stream *s, sd_event *e)
{
    if (!cji_sd_deps_set(&e->dep, &e->ndep, &e->dep_cap, s->dep, s->ndep)) return CUDA_ERROR_OUT_OF_MEMORY;
    cji_sd_op_drop(e->point);
    e->point = NULL;
    e->capture = s->capture->id;
    e->recorded = true;
    return CUDA_SUCCESS;
}

CUresult cji_sd_capture_wait(sd_stream *s, sd_event *e)
{
    if (!cji_sd_event_recorded(e)) return CUDA_SUCCESS;
    sd_capture *k = e->capture ? cji_sd_capture_by_id(e->capture) : NULL;
    if (!e->capture || !k || k->invalid) {   /* recorded outside, or in a capture that is over or invalid */
        if (s->capture) s->capture->invalid = true;
        return e->capture ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
    }
    if (s->capture && s->capture != k) {
        s->capture->invalid = k->invalid = true;
        return CUDA_ERROR_STREAM_CAPTURE_MERGE;
    }
    if (s->legacy) {
        k->invalid = true;
        return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    }
    s->capture = k;
    for (size_t i = 0; i < e->ndep; i++)
        if (cji_sd_handle_is(SD_NODE, e->dep[i]) && !cji_sd_deps_add(&s->dep, &s->ndep, &s->dep_cap, e->dep[i])) {
            k->invalid = true;
            return CUDA_ERROR_OUT_OF_MEMORY;
        }
    return CUDA_SUCCESS;
}

/* ---- What a capture forbids -------------------------------------------------------------------------------------- */

CUresult cji_sd_capture_refuses(sd_stream *s)
{
    if (!s->capture) return CUDA_SUCCESS;
    s->capture->invalid = true;
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}

/* A thread in relaxed mode harms nobody.  Else its own captures forbid such calls unless they were begun relaxed, and those of other
 * threads where both capture and thread are in global mode; an invalid one no less, until its end.  Captures of another device are not concerned. */
static CUresult sd_unsafe(bool blocking_only)
{
    if (!sd.captures) return CUDA_SUCCESS;
    sd_thread *t = cji_sd_thread();
    sd_ctx *c = NULL;
    CUresult r = CUDA_SUCCESS;
    if (t->mode == CU_STREAM_CAPTURE_MODE_RELAXED) return CUDA_SUCCESS;
    if (cji_sd_ctx_any(&c)) c = NULL;
    for (sd_capture *k = sd.captures; k; k = k->next) {
        if (c && k->origin->ctx->dev != c->dev) continue;
        if (blocking_only && k->origin->flags & CU_STREAM_NON_BLOCKING) continue;
        bool forbids = k->thread == t ? k->mode != CU_STREAM_CAPTURE_MODE_RELAXED
                                      : k->mode == CU_STREAM_CAPTURE_MODE_GLOBAL && t->mode == CU_STREAM_CAPTURE_MODE_GLOBAL;
        if (!forbids) continue;
        k->invalid = true;
        r = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    }
    return r;
}

CUresult cji_sd_unsafe(void) { return sd_unsafe(false); }

void cji_sd_unsafe_load(void) { (void)sd_unsafe(true); }

CUresult cji_sd_unsafe_ctx(sd_ctx *c)
{
    CUresult r = CUDA_SUCCESS;
    for (sd_capture *k = sd.captures; k; k = k->next) {
        if (k->origin->ctx != c) continue;
        k->invalid = true;
        r = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    }
    return r;
}

CUresult cji_sd_cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode)
{
    if (!mode) return CUDA_ERROR_INVALID_VALUE;   /* a GPU's driver crashes; it takes any number */
    sd_thread *t = cji_sd_thread();
    CUstreamCaptureMode old = t->mode;
    t->mode = *mode;
    *mode = old;
    return CUDA_SUCCESS;
}

/* ---- Information ------------------------------------------------------------------------------------------------- */

CUresult cji_sd_cuStreamGetCaptureInfo(CUstream h, CUstreamCaptureStatus *status, cuuint64_t *id, CUgraph *graph, const CUgraphNode **dep, size_t *ndep)
{
    sd_stream *s;
    if (!status) return CUDA_ERROR_INVALID_VALUE;
    CUresult r = cji_sd_cuStreamIsCapturing(h, status);
    if (r) return r;
    sd_lock();
    r = cji_sd_stream(h, &s);
    if (!r && s->capture && !s->capture->invalid) {
        if (id) *id = s->capture->id;
        if (graph) *graph = (CUgraph)s->capture->graph;
        if (dep) *dep = (const CUgraphNode *)s->dep;
        if (ndep) *ndep = s->ndep;
    }
    sd_unlock();
    return r;
}

CUresult cji_sd_cuStreamGetCaptureInfo_v3(CUstream h, CUstreamCaptureStatus *status, cuuint64_t *id, CUgraph *graph, const CUgraphNode **dep,
                                          const CUgraphEdgeData **edge, size_t *ndep)
{
    if (edge) *edge = NULL;   /* all edges are ordinary ones */
    return cji_sd_cuStreamGetCaptureInfo(h, status, id, graph, dep, ndep);
}

CUresult cji_sd_cuStreamUpdateCaptureDependencies(CUstream h, CUgraphNode *dep, size_t n, unsigned flags)
{
    sd_stream *s;
    sd_lock();
    CUresult r = cji_sd_stream_to_capture(h, &s);
    if (!r && !s->capture) r = CUDA_ERROR_ILLEGAL_STATE;
    if (!r && s->capture->invalid) r = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    if (!r && (flags > CU_STREAM_SET_CAPTURE_DEPENDENCIES || (n && !dep))) r = CUDA_ERROR_INVALID_VALUE;
    if (!r) r = cji_sd_nodes_of(s->capture->graph, dep, n);
    if (!r && flags == CU_STREAM_SET_CAPTURE_DEPENDENCIES) s->ndep = 0;
    for (size_t i = 0; !r && i < n; i++)
        if (!cji_sd_deps_add(&s->dep, &s->ndep, &s->dep_cap, (sd_node *)dep[i])) r = CUDA_ERROR_OUT_OF_MEMORY;
    sd_unlock();
    return r;
}

CUresult cji_sd_cuStreamUpdateCaptureDependencies_v2(CUstream h, CUgraphNode *dep, const CUgraphEdgeData *data, size_t n, unsigned flags)
{
    if (!cji_sd_edges_plain(data, n)) return CUDA_ERROR_NOT_SUPPORTED;
    return cji_sd_cuStreamUpdateCaptureDependencies(h, dep, n, flags);
}
