/* What a graph consists of: how many nodes of each kind, edges, depth. */
#include "stream/graph/stream_graph.h"

#include <string.h>

static void info_count(cj_graph_info *info, CUgraphNodeType type)
{
    switch (type) {
#define N(cu, kind, counter, colour, label) case CU_GRAPH_NODE_TYPE_##cu: info->counter++; break;
#include "stream/graph/node_kinds.def"
    default: info->others++; break;
    }
}

/* Roots, leaves, and the longest chain: nodes are visited when all before them were.  Nodes of a cycle are never
 * visited. */
static bool info_order(const cji_shape *sh, cj_graph_info *info)
{
    size_t n = sh->nodes, ready = 0, done = 0;
    /* For each node: edges in, its place in the chain, where its edges out begin; and the nodes that are ready. */
    uint32_t *in = cji_zalloc((n + 1) * sizeof *in), *level = cji_zalloc((n + 1) * sizeof *level),
             *start = cji_zalloc((n + 2) * sizeof *start);
    uint32_t *out = cji_zalloc((sh->edges + 1) * sizeof *out), *queue = cji_zalloc((n + 1) * sizeof *queue);
    bool memory = in && level && start && out && queue;
    if (memory) {
        for (size_t i = 0; i < sh->edges; i++) in[sh->to[i]]++, start[sh->from[i] + 2]++;
        for (size_t i = 0; i < n; i++) {
            if (!in[i]) queue[ready++] = (uint32_t)i;
            if (!start[i + 2]) info->leaves++;
        }
        info->roots = ready;
        for (size_t i = 2; i < n + 2; i++) start[i] += start[i - 1];
        for (size_t i = 0; i < sh->edges; i++) out[start[sh->from[i] + 1]++] = sh->to[i];
        while (done < ready) {
            uint32_t at = queue[done++];
            if (level[at] + 1 > info->depth) info->depth = level[at] + 1;
            for (uint32_t e = start[at]; e < start[at + 1]; e++) {
                if (level[out[e]] <= level[at]) level[out[e]] = level[at] + 1;
                if (!--in[out[e]]) queue[ready++] = out[e];
            }
        }
    }
    cji_free(in, (n + 1) * sizeof *in);
    cji_free(level, (n + 1) * sizeof *level);
    cji_free(start, (n + 2) * sizeof *start);
    cji_free(out, (sh->edges + 1) * sizeof *out);
    cji_free(queue, (n + 1) * sizeof *queue);
    return memory;
}

/* With the lock held, context current. */
static cj_status info_fill(cj_graph *g, cj_graph_info *info, const char *call)
{
    cji_shape sh;
    uint64_t hash;
    cj_status st = cji_shape_read(&sh, g->dev, g->raw, g, call);
    if (st != CJ_OK) return st;
    info->nodes = sh.nodes;
    info->edges = sh.edges;
    for (size_t i = 0; i < sh.nodes; i++) info_count(info, sh.type[i]);
    if (!info_order(&sh, info)) st = cji_fail(g, CJ_ENOMEM, call, "no memory to walk over %zu nodes", sh.nodes);
    cji_shape_free(&sh);
    return st == CJ_OK ? cji_shape_hash(g, &hash, &info->all, g, call) : st;
}

void cj_graph_info_defaults(cj_graph_info *info)
{
    if (info) *info = (cj_graph_info){ .size = sizeof *info };
}

cj_status cj_graph_get_info(cj_graph *g, cj_graph_info *info)
{
    static const char call[] = "cj_graph_get_info";
    cj_graph_info all = { .size = sizeof all };
    cji_scope scope;
    cj_status st = cji_check(g, CJI_TAG_GRAPH, call);
    if (st != CJ_OK) return st;
    if (!info || info->size < sizeof info->size)
        return cji_fail(g, CJ_EINVAL, call, "info is NULL, or info->size is not sizeof(cj_graph_info)");
    st = cji_graph_enter(g, g, call);
    if (st != CJ_OK) return st;
    st = cji_scope_begin_relaxed(g, g->dev, &scope, call);
    if (st == CJ_OK) {
        st = info_fill(g, &all, call);
        cji_scope_leave(&scope);
    }
    cji_graph_leave(g);
    if (st != CJ_OK) return st;
    size_t size = info->size;
    memcpy(info, &all, size < sizeof all ? size : sizeof all);
    info->size = size;
    return CJ_OK;
}
