/* Graphs and their nodes: life and copies. */
#include "sim/graph/sim_graph.h"

#include <string.h>

/* ---- Life -------------------------------------------------------------------------------------------------------- */

sim_graph *cji_sim_graph_new(void)
{
    sim_graph *g = cji_zalloc(sizeof *g);
    if (!g) return NULL;
    g->refs = 1;
    g->id = ++sim.next_id;
    return g;
}

static void sim_node_drop(sim_node *n)
{
    cji_sim_handle_drop(n);
    if (n->work && n->work->kind->attach) n->work->kind->attach(n->work, NULL);
    cji_sim_work_drop(n->work);
    cji_sim_deps_free(&n->before, &n->nbefore, &n->before_cap);
    cji_free(n->param, n->nparam * sizeof *n->param);
    cji_free(n, sizeof *n);
}

void cji_sim_graph_drop(sim_graph *g)
{
    if (!g || --g->refs) return;
    for (size_t i = 0; i < g->nnode; i++) sim_node_drop(g->node[i]);
    cji_free(g->node, g->cap * sizeof *g->node);
    for (size_t i = 0; i < g->ncond; i++) cji_sim_ref_drop(&g->cond[i]->ref);
    cji_free(g->cond, g->cond_cap * sizeof *g->cond);
    cji_sim_objects_drop(g->objects);
    cji_free(g, sizeof *g);
}

void cji_sim_graph_forget(sim_graph *g)
{
    cji_sim_handle_drop(g);
    if (!g->parent) cji_sim_graph_drop(g);   /* else it is its node's, without a handle */
}

CUresult cji_sim_graph_get(CUgraph h, sim_graph **out)
{
    if (!cji_sim_handle_is(SIM_GRAPH, h)) return CUDA_ERROR_INVALID_VALUE;
    *out = (sim_graph *)h;
    return CUDA_SUCCESS;
}

CUresult cji_sim_cuGraphCreate(CUgraph *out, unsigned flags)
{
    if (!out || flags) return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    sim_graph *g = cji_sim_graph_new();
    bool ok = g && cji_sim_handle_add(SIM_GRAPH, g);
    if (!ok) cji_sim_graph_drop(g);
    else *out = (CUgraph)g;
    sim_unlock();
    return ok ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

/* The graph of a child node belongs to that node. */
CUresult cji_sim_cuGraphDestroy(CUgraph h)
{
    sim_graph *g;
    sim_lock();
    CUresult r = cji_sim_graph_get(h, &g);
    if (!r && g->parent) r = CUDA_ERROR_INVALID_VALUE;
    if (!r) cji_sim_graph_forget(g);
    sim_unlock();
    return r;
}

/* ---- Nodes ------------------------------------------------------------------------------------------------------- */

sim_node *cji_sim_node_new(sim_graph *g, sim_work *w, CUgraphNodeType type, sim_node *const *before, size_t n)
{
    sim_node *node = cji_zalloc(sizeof *node);
    if (!node) return NULL;
    if (!cji_sim_deps_set(&node->before, &node->nbefore, &node->before_cap, before, n) ||
        !cji_grow(&g->node, &g->cap, g->nnode + 1, sizeof *g->node) || !cji_sim_handle_add(SIM_NODE, node)) {
        cji_sim_deps_free(&node->before, &node->nbefore, &node->before_cap);
        cji_free(node, sizeof *node);
        return NULL;
    }
    node->graph = g;
    node->id = ++sim.next_id;
    node->work = w;
    node->type = type;
    if (w && w->kind->attach) w->kind->attach(w, node);
    if (type == CU_GRAPH_NODE_TYPE_MEM_ALLOC || type == CU_GRAPH_NODE_TYPE_MEM_FREE) g->memory = true;
    if (g->memory || type == CU_GRAPH_NODE_TYPE_CONDITIONAL) g->once = true;
    g->node[g->nnode++] = node;
    return node;
}

CUresult cji_sim_node_get(CUgraphNode h, sim_node **out)
{
    if (!cji_sim_handle_is(SIM_NODE, h)) return CUDA_ERROR_INVALID_VALUE;
    *out = (sim_node *)h;
    return CUDA_SUCCESS;
}

CUresult cji_sim_node_typed(CUgraphNode h, CUgraphNodeType type, sim_node **out)
{
    CUresult r = cji_sim_node_get(h, out);
    return r ? r : (*out)->type == type ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

void cji_sim_node_change(sim_node *n, sim_work *w)
{
    cji_sim_work_drop(n->work);
    n->work = w;
    cji_free(n->param, n->nparam * sizeof *n->param);
    n->param = NULL;
    n->nparam = 0;
}

CUresult cji_sim_nodes_of(const sim_graph *g, const CUgraphNode *node, size_t n)
{
    if (n && !node) return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < n; i++) {
        if (!cji_sim_handle_is(SIM_NODE, node[i]) || ((sim_node *)node[i])->graph != g) return CUDA_ERROR_INVALID_VALUE;
        for (size_t k = 0; k < i; k++)
            if (node[k] == node[i]) return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
}

CUresult cji_sim_cuGraphDestroyNode(CUgraphNode h)
{
    sim_node *n;
    sim_lock();
    CUresult r = cji_sim_node_get(h, &n);
    if (!r && n->graph->memory) r = CUDA_ERROR_NOT_SUPPORTED;
    if (!r) {
        sim_graph *g = n->graph;
        for (size_t i = 0, k = 0; i < g->nnode; i++) {
            sim_node *m = g->node[i];
            size_t left = 0;
            for (size_t b = 0; b < m->nbefore; b++)
                if (m->before[b] != n) m->before[left++] = m->before[b];
            m->nbefore = left;
            if (m != n) g->node[k++] = m;
        }
        g->nnode--;
        sim_node_drop(n);
    }
    sim_unlock();
    return r;
}

CUresult cji_sim_cuGraphNodeGetType(CUgraphNode h, CUgraphNodeType *type)
{
    sim_node *n;
    if (!type) return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    CUresult r = cji_sim_node_get(h, &n);
    if (!r) *type = n->type;
    sim_unlock();
    return r;
}

/* ---- Copies ------------------------------------------------------------------------------------------------------ */

/* Works without a copy function are shared, since they do not change. */
static sim_work *sim_work_for_copy(sim_work *w, bool *failed)
{
    if (!w || !w->kind->copy) return cji_sim_work_hold(w);
    sim_work *c = w->kind->copy(w);
    *failed = !c;
    return c;
}

sim_graph *cji_sim_graph_copy(const sim_graph *from)
{
    sim_graph *g = cji_sim_graph_new();
    if (!g) return NULL;
    g->origin = from->id;
    bool lost = false;
    g->objects = cji_sim_objects_copy(NULL, from->objects, &lost);
    if (lost) {
        cji_sim_graph_drop(g);
        return NULL;
    }
    for (size_t i = 0; i < from->nnode; i++) from->node[i]->mark = i;
    for (size_t i = 0; i < from->nnode; i++) {
        bool failed = false;
        sim_work *w = sim_work_for_copy(from->node[i]->work, &failed);
        sim_node *n = failed ? NULL : cji_sim_node_new(g, w, from->node[i]->type, NULL, 0);
        if (!n) {
            cji_sim_work_drop(w);
            cji_sim_graph_drop(g);
            return NULL;
        }
        n->origin = from->node[i]->id;
    }
    for (size_t i = 0; i < from->nnode; i++) {
        sim_node *n = g->node[i];
        for (size_t b = 0; b < from->node[i]->nbefore; b++)
            if (!cji_sim_deps_add(&n->before, &n->nbefore, &n->before_cap, g->node[from->node[i]->before[b]->mark])) {
                cji_sim_graph_drop(g);
                return NULL;
            }
    }
    return g;
}

CUresult cji_sim_cuGraphClone(CUgraph *out, CUgraph h)
{
    sim_graph *g;
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    CUresult r = cji_sim_graph_get(h, &g);
    if (!r && g->once) r = CUDA_ERROR_NOT_SUPPORTED;
    if (!r) {
        sim_graph *copy = cji_sim_graph_copy(g);
        if (!copy || !cji_sim_handle_add(SIM_GRAPH, copy)) {
            cji_sim_graph_drop(copy);
            r = CUDA_ERROR_OUT_OF_MEMORY;
        } else {
            *out = (CUgraph)copy;
        }
    }
    sim_unlock();
    return r;
}

CUresult cji_sim_cuGraphNodeFindInClone(CUgraphNode *out, CUgraphNode h, CUgraph hg)
{
    sim_node *n;
    sim_graph *g;
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    CUresult r = cji_sim_node_get(h, &n);
    if (!r) r = cji_sim_graph_get(hg, &g);
    if (!r && g->origin != n->graph->id) r = CUDA_ERROR_INVALID_VALUE;
    if (!r) {
        r = CUDA_ERROR_INVALID_VALUE;
        for (size_t i = 0; i < g->nnode && r; i++)
            if (g->node[i]->origin == n->id) {
                *out = (CUgraphNode)g->node[i];
                r = CUDA_SUCCESS;
            }
    }
    sim_unlock();
    return r;
}

