/* The nodes and edges of a graph as arrays, and a number for its shape. */
#include "stream/graph/stream_graph.h"

#include <string.h>

/* -- Reading ------------------------------------------------------------------------------------------------------- */

void cji_shape_free(cji_shape *sh)
{
    cji_free(sh->node, sh->nodes * sizeof *sh->node);
    cji_free(sh->type, sh->nodes * sizeof *sh->type);
    cji_free(sh->from, sh->edges * sizeof *sh->from);
    cji_free(sh->to, sh->edges * sizeof *sh->to);
    memset(sh, 0, sizeof *sh);
}

/* Numbers of nodes by handle: a table of the size of a power of two, at most half full; 0: free, else the number and
 * 1. */
typedef struct shape_index {
    uint32_t *slot;
    size_t cap;
    const CUgraphNode *node;
} shape_index;

static uint32_t *index_at(const shape_index *x, CUgraphNode raw)
{
    size_t i = (size_t)(((uintptr_t)raw >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> 20);
    while (x->slot[i & (x->cap - 1)] && x->node[x->slot[i & (x->cap - 1)] - 1] != raw) i++;
    return &x->slot[i & (x->cap - 1)];
}

static CUresult shape_edges_raw(const cj_device *dev, CUgraph raw, CUgraphNode *from, CUgraphNode *to,
                                CUgraphEdgeData *data, size_t *n)
{
    const cji_cu *cu = &dev->api;
    if (dev->drv->missing[CJI_CU_ID_cuGraphGetEdges_v2]) return cu->cuGraphGetEdges(raw, from, to, n);
    return cu->cuGraphGetEdges_v2(raw, from, to, data, n); /* the older one refuses graphs with programmatic edges */
}

static CUresult shape_nodes(cji_shape *sh, const cj_device *dev, CUgraph raw, const char **cu_call, bool *memory)
{
    const cji_cu *cu = &dev->api;
    size_t n = 0;
    *cu_call = "cuGraphGetNodes";
    CUresult r = cu->cuGraphGetNodes(raw, NULL, &n);
    if (r != CUDA_SUCCESS || !n) return r;
    sh->node = cji_zalloc(n * sizeof *sh->node);
    sh->type = cji_zalloc(n * sizeof *sh->type);
    *memory = sh->node && sh->type;
    if (!*memory) {
        cji_free(sh->node, n * sizeof *sh->node);
        cji_free(sh->type, n * sizeof *sh->type);
        sh->node = NULL;
        sh->type = NULL;
        return CUDA_SUCCESS;
    }
    sh->nodes = n;
    r = cu->cuGraphGetNodes(raw, sh->node, &n);
    *cu_call = "cuGraphNodeGetType";
    for (size_t i = 0; r == CUDA_SUCCESS && i < sh->nodes; i++) r = cu->cuGraphNodeGetType(sh->node[i], &sh->type[i]);
    return r;
}

/* With the nodes known. */
static CUresult shape_edges(cji_shape *sh, const cj_device *dev, CUgraph raw, const char **cu_call, bool *memory)
{
    size_t n = 0, cap = 16;
    *cu_call = "cuGraphGetEdges";
    CUresult r = shape_edges_raw(dev, raw, NULL, NULL, NULL, &n);
    if (r != CUDA_SUCCESS || !n) return r;
    while (cap < 2 * sh->nodes) cap *= 2;
    CUgraphNode *ends = cji_zalloc(2 * n * sizeof *ends);
    CUgraphEdgeData *data = cji_zalloc(n * sizeof *data);
    shape_index x = { cji_zalloc(cap * sizeof *x.slot), cap, sh->node };
    sh->from = cji_zalloc(n * sizeof *sh->from);
    sh->to = cji_zalloc(n * sizeof *sh->to);
    sh->edges = n;
    *memory = ends && data && x.slot && sh->from && sh->to;
    if (*memory) r = shape_edges_raw(dev, raw, ends, ends + n, data, &n);
    if (*memory && r == CUDA_SUCCESS) {
        for (size_t i = 0; i < sh->nodes; i++) *index_at(&x, sh->node[i]) = (uint32_t)i + 1;
        for (size_t i = 0; i < sh->edges; i++) {
            sh->from[i] = *index_at(&x, ends[i]) - 1;
            sh->to[i] = *index_at(&x, ends[i + sh->edges]) - 1;
        }
    }
    cji_free(x.slot, cap * sizeof *x.slot);
    cji_free(data, sh->edges * sizeof *data);
    cji_free(ends, 2 * sh->edges * sizeof *ends);
    return r;
}

cj_status cji_shape_read(cji_shape *sh, const cj_device *dev, CUgraph raw, void *into, const char *call)
{
    const char *cu_call;
    bool memory = true;
    memset(sh, 0, sizeof *sh);
    CUresult r = shape_nodes(sh, dev, raw, &cu_call, &memory);
    if (r == CUDA_SUCCESS && memory && sh->nodes) r = shape_edges(sh, dev, raw, &cu_call, &memory);
    if (r == CUDA_SUCCESS && memory) return CJ_OK;
    cji_shape_free(sh);
    if (!memory) return cji_fail(into, CJ_ENOMEM, call, "no memory for the graph's nodes and edges");
    return cji_rejected(into, dev, r, call, cu_call);
}

/* -- Children and bodies ------------------------------------------------------------------------------------------- */

size_t cji_bodies_of(const cj_graph *g, CUgraphNode raw, size_t *first)
{
    size_t n = 0;
    for (size_t i = 0; i < g->nbody; i++) {
        if (g->body_of[i]->raw != raw) continue;
        if (!n++) *first = i;
    }
    return n;
}

/* What a walk over a graph and all in it gathers. */
typedef struct shape_walk {
    uint64_t hash;
    size_t all;
    void *into;
    const char *call;
} shape_walk;

static void walk_mix(shape_walk *w, uint64_t x)
{
    w->hash = (w->hash ^ x) * UINT64_C(0x9e3779b97f4a7c15);
    w->hash ^= w->hash >> 29;
}

/* `g` is NULL for a child, whose nodes are the driver's own. */
static cj_status shape_walk_graph(shape_walk *w, const cj_device *dev, const cj_graph *g, CUgraph raw, unsigned depth)
{
    cji_shape sh;
    cj_status st = cji_shape_read(&sh, dev, raw, w->into, w->call);
    w->all += sh.nodes;
    walk_mix(w, sh.nodes);
    walk_mix(w, sh.edges);
    for (size_t i = 0; i < sh.edges; i++) walk_mix(w, (uint64_t)sh.from[i] << 32 | sh.to[i]);
    for (size_t i = 0; st == CJ_OK && i < sh.nodes; i++) {
        size_t first = 0, bodies = 0;
        walk_mix(w, (uint64_t)sh.type[i]);
        if (depth == 64) continue; /* deeper ones differ only in what an update sees */
        if (sh.type[i] == CU_GRAPH_NODE_TYPE_GRAPH) {
            CUgraph child = NULL;
            CUresult r = dev->api.cuGraphChildGraphNodeGetGraph(sh.node[i], &child);
            st = r == CUDA_SUCCESS ? shape_walk_graph(w, dev, NULL, child, depth + 1)
                                   : cji_rejected(w->into, dev, r, w->call, "cuGraphChildGraphNodeGetGraph");
        } else if (sh.type[i] == CU_GRAPH_NODE_TYPE_CONDITIONAL && g) {
            bodies = cji_bodies_of(g, sh.node[i], &first);
        }
        for (size_t b = first; st == CJ_OK && b < first + bodies; b++)
            st = shape_walk_graph(w, dev, g->body[b], g->body[b]->raw, depth + 1);
    }
    cji_shape_free(&sh);
    return st;
}

cj_status cji_shape_hash(cj_graph *g, uint64_t *hash, size_t *all, void *into, const char *call)
{
    shape_walk w = { .into = into, .call = call };
    cj_status st = shape_walk_graph(&w, g->dev, g, g->raw, 0);
    *hash = w.hash;
    *all = w.all;
    return st;
}
