/* Captures: work that is enqueued on a stream becomes nodes of a graph instead of operations. What they forbid is
 * in sim_capture_rule.c. */
#include "sim/graph/sim_graph.h"

#include <string.h>

/* Calls `f` for every stream of every context. */
static void sim_each_stream(void (*f)(sim_stream *s, void *user), void *user)
{
    for (unsigned d = 0; d < sim.set.devices; d++) {
        for (sim_stream *s = sim.device[d]->primary.streams; s; s = s->next) f(s, user);
        for (sim_ctx *c = sim.device[d]->contexts; c; c = c->next)
            for (sim_stream *s = c->streams; s; s = s->next) f(s, user);
    }
}

static void sim_stream_close_capture(sim_stream *s, void *capture)
{
    if (s->capture == capture) cji_sim_capture_uncapture(s);
}

/* The capture is over: its streams are ordinary again. */
static void sim_capture_close(sim_capture *k)
{
    sim_each_stream(sim_stream_close_capture, k);
    for (sim_capture **q = &sim_captures; *q; q = &(*q)->next)
        if (*q == k) {
            *q = k->next;
            break;
        }
    cji_sim_graph_drop(k->graph);
    cji_sim_deps_free(&k->left, &k->nleft, &k->left_cap);
    cji_free(k, sizeof *k);
}

void cji_sim_capture_abandon(sim_capture *k)
{
    if (cji_sim_handle_is(SIM_GRAPH, k->graph)) cji_sim_graph_forget(k->graph);
    sim_capture_close(k);
}

/* What a capture continues; the same node twice is one. */
static bool sim_deps_once(sim_stream *s, sim_node *const *dep, size_t n)
{
    s->ndep = 0;
    for (size_t i = 0; i < n; i++)
        if (!cji_sim_deps_add(&s->dep, &s->ndep, &s->dep_cap, dep[i])) return false;
    return true;
}

static CUresult sim_capture_begin(CUstream h, CUstreamCaptureMode mode, sim_graph *into, sim_node *const *dep,
                                  size_t ndep)
{
    sim_stream *s;
    if (mode < CU_STREAM_CAPTURE_MODE_GLOBAL || mode > CU_STREAM_CAPTURE_MODE_RELAXED) return CUDA_ERROR_INVALID_VALUE;
    CUresult r = cji_sim_stream_to_capture(h, &s);
    if (r) return r;
    if (s->legacy) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    if (s->capture) return CUDA_ERROR_ILLEGAL_STATE;
    for (sim_capture *o = sim_captures; o; o = o->next)
        if (into && o->graph == into) return CUDA_ERROR_ILLEGAL_STATE;
    sim_capture *k = cji_zalloc(sizeof *k);
    sim_graph *g = into ? into : cji_sim_graph_new();
    if (!k || !g || (!into && !cji_sim_handle_add(SIM_GRAPH, g)) || !sim_deps_once(s, dep, ndep)) {
        if (g && !into) {
            cji_sim_handle_drop(g);
            cji_sim_graph_drop(g);
        }
        cji_free(k, sizeof *k);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    k->id = ++sim.next_id;
    k->origin = s;
    k->thread = cji_sim_thread();
    k->mode = mode;
    k->to_graph = into != NULL;
    k->graph = g;
    g->refs++;
    k->next = sim_captures;
    sim_captures = k;
    s->capture = k;
    return CUDA_SUCCESS;
}

CUresult cji_sim_cuStreamBeginCapture(CUstream h, CUstreamCaptureMode mode)
{
    sim_lock();
    CUresult r = sim_capture_begin(h, mode, NULL, NULL, 0);
    sim_unlock();
    return r;
}

CUresult cji_sim_cuStreamBeginCaptureToGraph(CUstream h, CUgraph hg, const CUgraphNode *dep,
                                             const CUgraphEdgeData *data, size_t n, CUstreamCaptureMode mode)
{
    sim_graph *g;
    sim_lock();
    CUresult r = cji_sim_graph_get(hg, &g);
    if (!r && n && !dep) r = CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; !r && i < n; i++) r = cji_sim_nodes_of(g, &dep[i], 1);   /* one may stand there twice */
    if (!r && !cji_sim_edges_plain(data, n)) r = CUDA_ERROR_NOT_SUPPORTED;
    if (!r) r = sim_capture_begin(h, mode, g, (sim_node *const *)dep, n);
    sim_unlock();
    return r;
}

/* ---- The end ----------------------------------------------------------------------------------------------------- */

struct sim_join { sim_capture *capture; bool unjoined; };

static void sim_stream_joined(sim_stream *s, void *user)
{
    struct sim_join *j = user;
    if (s->capture != j->capture || s == j->capture->origin) return;
    for (size_t i = 0; i < s->ndep; i++)
        if (s->dep[i]->mark != 1) j->unjoined = true;
}

/* Whether the origin comes after everything that the forked streams were given. */
static bool sim_capture_joined(sim_capture *k)
{
    struct sim_join j = { k, false };
    for (size_t i = 0; i < k->graph->nnode; i++) k->graph->node[i]->mark = 0;
    /* In the order of their making each node comes after its predecessors, so one pass backwards marks them all. */
    for (size_t i = 0; i < k->origin->ndep; i++) k->origin->dep[i]->mark = 1;
    for (size_t i = k->graph->nnode; i-- > 0;) {
        sim_node *n = k->graph->node[i];
        for (size_t b = 0; n->mark == 1 && b < n->nbefore; b++) n->before[b]->mark = 1;
    }
    sim_each_stream(sim_stream_joined, &j);
    for (size_t i = 0; i < k->nleft; i++)
        if (k->left[i]->mark != 1) j.unjoined = true;
    return !j.unjoined;
}

static CUresult sim_capture_end(CUstream h, CUgraph *out)
{
    sim_stream *s;
    CUgraph none;
    if (!out) out = &none;   /* it ends all the same */
    *out = NULL;
    CUresult r = cji_sim_stream_to_capture(h, &s);
    if (r) return r;
    sim_capture *k = s->capture;
    if (!k) return CUDA_ERROR_ILLEGAL_STATE;
    if (s != k->origin) {
        k->invalid = true;
        return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
    }
    /* An end in a wrong thread ends it too, without a graph (as measured); the caller's graph is destroyed too. */
    if (k->invalid) r = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    else if (k->mode != CU_STREAM_CAPTURE_MODE_RELAXED && k->thread != cji_sim_thread())
        r = CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
    else if (!sim_capture_joined(k)) r = CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
    if (!r) *out = (CUgraph)k->graph;
    else if (cji_sim_handle_is(SIM_GRAPH, k->graph)) cji_sim_graph_forget(k->graph);
    sim_capture_close(k);
    return r;
}

CUresult cji_sim_cuStreamEndCapture(CUstream h, CUgraph *out)
{
    sim_lock();
    CUresult r = sim_capture_end(h, out);
    sim_unlock();
    return r;
}

/* ---- Work inside -------------------------------------------------------------------------------------- */

CUresult cji_sim_capture_add(sim_stream *s, sim_work *w)
{
    sim_node *n = cji_sim_node_new(s->capture->graph, w, w->kind->node_type, s->dep, s->ndep);
    if (!n || !cji_sim_deps_set(&s->dep, &s->ndep, &s->dep_cap, &n, 1)) {
        if (!n) cji_sim_work_drop(w);
        s->capture->invalid = true;
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    return CUDA_SUCCESS;
}

/* ---- Information ------------------------------------------------------------------------------------------------- */

CUresult cji_sim_cuStreamGetCaptureInfo(CUstream h, CUstreamCaptureStatus *status, cuuint64_t *id, CUgraph *graph,
                                        const CUgraphNode **dep, size_t *ndep)
{
    sim_stream *s;
    if (!status) return CUDA_ERROR_INVALID_VALUE;
    CUresult r = cji_sim_cuStreamIsCapturing(h, status);
    if (r) return r;
    sim_lock();
    r = cji_sim_stream_get(h, &s);
    if (!r && s->capture && !s->capture->invalid) {
        if (id) *id = s->capture->id;
        if (graph) *graph = (CUgraph)s->capture->graph;
        if (dep) *dep = (const CUgraphNode *)s->dep;
        if (ndep) *ndep = s->ndep;
    }
    sim_unlock();
    return r;
}

CUresult cji_sim_cuStreamGetCaptureInfo_v3(CUstream h, CUstreamCaptureStatus *status, cuuint64_t *id, CUgraph *graph,
                                           const CUgraphNode **dep, const CUgraphEdgeData **edge, size_t *ndep)
{
    if (edge) *edge = NULL;   /* all edges are ordinary ones */
    return cji_sim_cuStreamGetCaptureInfo(h, status, id, graph, dep, ndep);
}

CUresult cji_sim_cuStreamUpdateCaptureDependencies(CUstream h, CUgraphNode *dep, size_t n, unsigned flags)
{
    sim_stream *s;
    sim_lock();
    CUresult r = cji_sim_stream_to_capture(h, &s);
    if (!r && !s->capture) r = CUDA_ERROR_ILLEGAL_STATE;
    if (!r && s->capture->invalid) r = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    if (!r && (flags > CU_STREAM_SET_CAPTURE_DEPENDENCIES || (n && !dep))) r = CUDA_ERROR_INVALID_VALUE;
    if (!r) r = cji_sim_nodes_of(s->capture->graph, dep, n);
    if (!r && flags == CU_STREAM_SET_CAPTURE_DEPENDENCIES) s->ndep = 0;
    for (size_t i = 0; !r && i < n; i++)
        if (!cji_sim_deps_add(&s->dep, &s->ndep, &s->dep_cap, (sim_node *)dep[i])) r = CUDA_ERROR_OUT_OF_MEMORY;
    sim_unlock();
    return r;
}

CUresult cji_sim_cuStreamUpdateCaptureDependencies_v2(CUstream h, CUgraphNode *dep, const CUgraphEdgeData *data,
                                                      size_t n, unsigned flags)
{
    if (!cji_sim_edges_plain(data, n)) return CUDA_ERROR_NOT_SUPPORTED;
    return cji_sim_cuStreamUpdateCaptureDependencies(h, dep, n, flags);
}
