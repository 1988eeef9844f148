/* Edges of graphs: lists of nodes and dependencies, their changes, and an order that respects them. */
#include "sim/graph/sim_graph.h"

#include <string.h>

bool cji_sim_edges_plain(const CUgraphEdgeData *data, size_t n)
{
    for (size_t i = 0; data && i < n; i++)
        if (data[i].from_port || data[i].to_port || data[i].type != CU_GRAPH_DEPENDENCY_TYPE_DEFAULT) return false;
    return true;
}

/* ---- Lists: a NULL array queries the number; places that are left over get NULL, and the number is the real one - */

typedef struct sim_lister { CUgraphNode *a, *b; size_t room, n; } sim_lister;

static void sim_put(sim_lister *l, const sim_node *a, const sim_node *b)
{
    if (l->n < l->room) {
        if (l->a) l->a[l->n] = (CUgraphNode)a;
        if (l->b) l->b[l->n] = (CUgraphNode)b;
    }
    l->n++;
}

static void sim_list_end(sim_lister *l, size_t *count, bool counting)
{
    for (size_t i = l->n; !counting && i < *count; i++) {
        if (l->a) l->a[i] = NULL;
        if (l->b) l->b[i] = NULL;
    }
    *count = counting || l->n < *count ? l->n : *count;
}

static CUresult sim_list_nodes(CUgraph h, CUgraphNode *nodes, size_t *count, bool roots)
{
    sim_graph *g;
    if (!count) return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    CUresult r = cji_sim_graph_get(h, &g);
    sim_lister l = { .a = nodes, .room = nodes ? *count : 0 };
    for (size_t i = 0; !r && i < g->nnode; i++)
        if (!roots || !g->node[i]->nbefore) sim_put(&l, g->node[i], NULL);
    if (!r) sim_list_end(&l, count, !nodes);
    sim_unlock();
    return r;
}

CUresult cji_sim_cuGraphGetNodes(CUgraph h, CUgraphNode *nodes, size_t *count)
{
    return sim_list_nodes(h, nodes, count, false);
}
CUresult cji_sim_cuGraphGetRootNodes(CUgraph h, CUgraphNode *nodes, size_t *count)
{
    return sim_list_nodes(h, nodes, count, true);
}

CUresult cji_sim_cuGraphGetEdges(CUgraph h, CUgraphNode *from, CUgraphNode *to, size_t *count)
{
    sim_graph *g;
    if (!count || !from != !to) return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    CUresult r = cji_sim_graph_get(h, &g);
    sim_lister l = { .a = from, .b = to, .room = from ? *count : 0 };
    for (size_t i = 0; !r && i < g->nnode; i++)
        for (size_t b = 0; b < g->node[i]->nbefore; b++) sim_put(&l, g->node[i]->before[b], g->node[i]);
    if (!r) sim_list_end(&l, count, !from);
    sim_unlock();
    return r;
}

CUresult cji_sim_cuGraphGetEdges_v2(CUgraph h, CUgraphNode *from, CUgraphNode *to, CUgraphEdgeData *data, size_t *count)
{
    CUresult r = cji_sim_cuGraphGetEdges(h, from, to, count);
    if (!r && from && data) memset(data, 0, *count * sizeof *data);
    return r;
}

CUresult cji_sim_cuGraphNodeGetDependencies(CUgraphNode h, CUgraphNode *nodes, size_t *count)
{
    sim_node *n;
    if (!count) return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    CUresult r = cji_sim_node_get(h, &n);
    sim_lister l = { .a = nodes, .room = nodes ? *count : 0 };
    for (size_t i = 0; !r && i < n->nbefore; i++) sim_put(&l, n->before[i], NULL);
    if (!r) sim_list_end(&l, count, !nodes);
    sim_unlock();
    return r;
}

CUresult cji_sim_cuGraphNodeGetDependentNodes(CUgraphNode h, CUgraphNode *nodes, size_t *count)
{
    sim_node *n;
    if (!count) return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    CUresult r = cji_sim_node_get(h, &n);
    sim_lister l = { .a = nodes, .room = nodes ? *count : 0 };
    for (size_t i = 0; !r && i < n->graph->nnode; i++)
        for (size_t b = 0; b < n->graph->node[i]->nbefore; b++)
            if (n->graph->node[i]->before[b] == n) sim_put(&l, n->graph->node[i], NULL);
    if (!r) sim_list_end(&l, count, !nodes);
    sim_unlock();
    return r;
}

/* ---- Edges ------------------------------------------------------------------------------------------------------- */

static size_t sim_edge_find(const sim_node *from, const sim_node *to)
{
    for (size_t i = 0; i < to->nbefore; i++)
        if (to->before[i] == from) return i;
    return SIZE_MAX;
}

static CUresult sim_edges_check(const sim_graph *g, const CUgraphNode *from, const CUgraphNode *to, size_t n,
                                bool adding)
{
    if (n && (!from || !to)) return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < n; i++) {
        if (cji_sim_nodes_of(g, &from[i], 1) || cji_sim_nodes_of(g, &to[i], 1) || from[i] == to[i])
            return CUDA_ERROR_INVALID_VALUE;
        bool there = sim_edge_find((sim_node *)from[i], (sim_node *)to[i]) != SIZE_MAX;
        if (there == adding) return CUDA_ERROR_INVALID_VALUE;
        for (size_t k = 0; k < i; k++)
            if (from[k] == from[i] && to[k] == to[i]) return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
}

CUresult cji_sim_cuGraphAddDependencies(CUgraph h, const CUgraphNode *from, const CUgraphNode *to, size_t n)
{
    sim_graph *g;
    sim_lock();
    CUresult r = cji_sim_graph_get(h, &g);
    if (!r) r = sim_edges_check(g, from, to, n, true);
    for (size_t i = 0; !r && i < n; i++) {
        sim_node *t = (sim_node *)to[i];
        if (!cji_sim_deps_add(&t->before, &t->nbefore, &t->before_cap, (sim_node *)from[i]))
            r = CUDA_ERROR_OUT_OF_MEMORY;
    }
    sim_unlock();
    return r;
}

/* Programmatic edges leave a kernel, by port 1 to another kernel or by port 2; none of these are here. */
static CUresult sim_edges_reject(CUgraph h, const CUgraphNode *from, const CUgraphNode *to, const CUgraphEdgeData *data,
                                 size_t n)
{
    sim_graph *g;
    sim_lock();
    CUresult r = cji_sim_graph_get(h, &g);
    if (!r) r = sim_edges_check(g, from, to, n, true);
    for (size_t i = 0; !r && i < n; i++) {
        bool kernel = ((const sim_node *)from[i])->type == CU_GRAPH_NODE_TYPE_KERNEL,
             both = kernel && ((const sim_node *)to[i])->type == CU_GRAPH_NODE_TYPE_KERNEL;
        bool early = data[i].from_port == CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC &&
                     data[i].type == CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC && both;
        bool order = data[i].from_port == CU_GRAPH_KERNEL_NODE_PORT_LAUNCH_ORDER &&
                     data[i].type <= CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC && kernel;
        if (!cji_sim_edges_plain(&data[i], 1) && ((!early && !order) || data[i].to_port)) r = CUDA_ERROR_INVALID_VALUE;
    }
    sim_unlock();
    return r ? r : CUDA_ERROR_NOT_SUPPORTED;
}

CUresult cji_sim_cuGraphAddDependencies_v2(CUgraph h, const CUgraphNode *from, const CUgraphNode *to,
                                           const CUgraphEdgeData *data, size_t n)
{
    return cji_sim_edges_plain(data, n) ? cji_sim_cuGraphAddDependencies(h, from, to, n)
                                        : sim_edges_reject(h, from, to, data, n);
}

CUresult cji_sim_cuGraphRemoveDependencies(CUgraph h, const CUgraphNode *from, const CUgraphNode *to, size_t n)
{
    sim_graph *g;
    sim_lock();
    CUresult r = cji_sim_graph_get(h, &g);
    if (!r && g->memory) r = CUDA_ERROR_NOT_SUPPORTED;
    if (!r) r = sim_edges_check(g, from, to, n, false);
    for (size_t i = 0; !r && i < n; i++) {
        sim_node *t = (sim_node *)to[i];
        size_t k = sim_edge_find((sim_node *)from[i], t);
        memmove(&t->before[k], &t->before[k + 1], (t->nbefore - k - 1) * sizeof *t->before);
        t->nbefore--;
    }
    sim_unlock();
    return r;
}

/* Nodes are taken in the order of their making as soon as everything before them has been taken. */
bool cji_sim_graph_order(sim_graph *g, sim_node **order)
{
    size_t n = 0;
    for (size_t i = 0; i < g->nnode; i++) g->node[i]->mark = 0;
    for (bool moved = true; moved && n < g->nnode;) {
        moved = false;
        for (size_t i = 0; i < g->nnode; i++) {
            sim_node *m = g->node[i];
            bool free = !m->mark;
            for (size_t b = 0; free && b < m->nbefore; b++) free = m->before[b]->mark != 0;
            if (!free) continue;
            m->mark = ++n;
            order[n - 1] = m;
            moved = true;
        }
    }
    return n == g->nnode;
}
