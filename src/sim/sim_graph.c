/* Graphs: their life, nodes and edges, copies, order, and a drawing of them. */
#include "sim/sim_core.h"
#include "sim/sim_capture.h"
#include "sim/sim_graph_exec.h"
#include "sim/sim_graph.h"
#include "sim/sim_module.h"
#include "sim/sim_queue.h"

#include <stdio.h>
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

void cji_sim_graph_drop(sim_graph *g)
{
    if (!g || --g->refs) return;
    for (size_t i = 0; i < g->nnode; i++) cji_sim_node_drop(g->node[i]);
    cji_free(g->node, g->cap * sizeof *g->node);
    for (size_t i = 0; i < g->ncond; i++) cji_sim_cond_drop(g->cond[i]);
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
    if (!cji_sim_deps_set(&node->before, &node->nbefore, &node->before_cap, before, n) || !cji_grow(&g->node, &g->cap, g->nnode + 1, sizeof *g->node)
        || !cji_sim_handle_add(SIM_NODE, node)) {
        cji_sim_deps_free(&node->before, &node->nbefore, &node->before_cap);
        cji_free(node, sizeof *node);
        return NULL;
    }
    node->graph = g;
    node->id = ++sim.next_id;
    node->work = w;
    node->type = type;
    if (w && w->verb == SIM_CHILD && w->child) w->child->parent = node;
    if (w && w->verb == SIM_CONDITIONAL) cji_sim_cond_node(w, node);
    if (type == CU_GRAPH_NODE_TYPE_MEM_ALLOC || type == CU_GRAPH_NODE_TYPE_MEM_FREE) g->memory = true;
    if (g->memory || type == CU_GRAPH_NODE_TYPE_CONDITIONAL) g->once = true;
    g->node[g->nnode++] = node;
    return node;
}

void cji_sim_node_drop(sim_node *n)
{
    cji_sim_handle_drop(n);
    if (n->work && n->work->verb == SIM_CHILD && n->work->child->parent == n) {
        n->work->child->parent = NULL;
        cji_sim_handle_drop(n->work->child);
    }
    if (n->work && n->work->verb == SIM_CONDITIONAL) cji_sim_cond_node(n->work, NULL);
    cji_sim_work_drop(n->work);
    cji_sim_deps_free(&n->before, &n->nbefore, &n->before_cap);
    cji_free(n->param, n->nparam * sizeof *n->param);
    cji_free(n, sizeof *n);
}

CUresult cji_sim_node_get(CUgraphNode h, sim_node **out)
{
    if (!cji_sim_handle_is(SIM_NODE, h)) return CUDA_ERROR_INVALID_VALUE;
    *out = (sim_node *)h;
    return CUDA_SUCCESS;
}

CUgraphNodeType cji_sim_work_node_type(const sim_work *w)
{
    if (!w) return CU_GRAPH_NODE_TYPE_EMPTY;
    switch (w->verb) {
    case SIM_LAUNCH: return CU_GRAPH_NODE_TYPE_KERNEL;
    case SIM_COPY: return CU_GRAPH_NODE_TYPE_MEMCPY;
    case SIM_FILL: return CU_GRAPH_NODE_TYPE_MEMSET;
    case SIM_HOST:
    case SIM_CALLBACK: return CU_GRAPH_NODE_TYPE_HOST;
    case SIM_MEM_WAIT:
    case SIM_MEM_WRITE:
    case SIM_MEM_OPS: return CU_GRAPH_NODE_TYPE_BATCH_MEM_OP;
    case SIM_FREE:
    case SIM_GRAPH_FREE: return CU_GRAPH_NODE_TYPE_MEM_FREE;
    case SIM_GRAPH_ALLOC: return CU_GRAPH_NODE_TYPE_MEM_ALLOC;
    case SIM_BRANCH:
    case SIM_CONDITIONAL: return CU_GRAPH_NODE_TYPE_CONDITIONAL;
    case SIM_RECORD: return CU_GRAPH_NODE_TYPE_EVENT_RECORD;
    case SIM_WAIT: return CU_GRAPH_NODE_TYPE_WAIT_EVENT;
    case SIM_CHILD: return CU_GRAPH_NODE_TYPE_GRAPH;
    case SIM_AGAIN:
    case SIM_BEGIN:
    case SIM_IPC_WAIT:
    case SIM_MARK: break;
    }
    return CU_GRAPH_NODE_TYPE_EMPTY;
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

bool cji_sim_edges_plain(const CUgraphEdgeData *data, size_t n)
{
    for (size_t i = 0; data && i < n; i++)
        if (data[i].from_port || data[i].to_port || data[i].type != CU_GRAPH_DEPENDENCY_TYPE_DEFAULT) return false;
    return true;
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
        cji_sim_node_drop(n);
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

/* ---- Lists: with a NULL array the number is asked for; places that are left over get NULL, their number the real one --------- */

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

CUresult cji_sim_cuGraphGetNodes(CUgraph h, CUgraphNode *nodes, size_t *count) { return sim_list_nodes(h, nodes, count, false); }
CUresult cji_sim_cuGraphGetRootNodes(CUgraph h, CUgraphNode *nodes, size_t *count) { return sim_list_nodes(h, nodes, count, true); }

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

static CUresult sim_edges_check(const sim_graph *g, const CUgraphNode *from, const CUgraphNode *to, size_t n, bool adding)
{
    if (n && (!from || !to)) return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < n; i++) {
        if (cji_sim_nodes_of(g, &from[i], 1) || cji_sim_nodes_of(g, &to[i], 1) || from[i] == to[i]) return CUDA_ERROR_INVALID_VALUE;
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
        if (!cji_sim_deps_add(&t->before, &t->nbefore, &t->before_cap, (sim_node *)from[i])) r = CUDA_ERROR_OUT_OF_MEMORY;
    }
    sim_unlock();
    return r;
}

/* Programmatic edges leave a kernel, by port 1 to another kernel or by port 2; none of these are here. */
static CUresult sim_edges_reject(CUgraph h, const CUgraphNode *from, const CUgraphNode *to, const CUgraphEdgeData *data, size_t n)
{
    sim_graph *g;
    sim_lock();
    CUresult r = cji_sim_graph_get(h, &g);
    if (!r) r = sim_edges_check(g, from, to, n, true);
    for (size_t i = 0; !r && i < n; i++) {
        bool kernel = ((const sim_node *)from[i])->type == CU_GRAPH_NODE_TYPE_KERNEL, both = kernel && ((const sim_node *)to[i])->type == CU_GRAPH_NODE_TYPE_KERNEL;
        bool early = data[i].from_port == CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC && data[i].type == CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC && both;
        bool order = data[i].from_port == CU_GRAPH_KERNEL_NODE_PORT_LAUNCH_ORDER && data[i].type <= CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC && kernel;
        if (!cji_sim_edges_plain(&data[i], 1) && ((!early && !order) || data[i].to_port)) r = CUDA_ERROR_INVALID_VALUE;
    }
    sim_unlock();
    return r ? r : CUDA_ERROR_NOT_SUPPORTED;
}

CUresult cji_sim_cuGraphAddDependencies_v2(CUgraph h, const CUgraphNode *from, const CUgraphNode *to, const CUgraphEdgeData *data, size_t n)
{
    return cji_sim_edges_plain(data, n) ? cji_sim_cuGraphAddDependencies(h, from, to, n) : sim_edges_reject(h, from, to, data, n);
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

/* ---- Copies ------------------------------------------------------------------------------------------------------ */

sim_work *cji_sim_child_work(const sim_graph *from)
{
    sim_work *w = cji_sim_work_new(SIM_CHILD, NULL, 0);
    sim_graph *g = w ? cji_sim_graph_copy(from) : NULL;
    if (!g || !cji_sim_handle_add(SIM_GRAPH, g)) {
        cji_sim_graph_drop(g);
        cji_sim_work_drop(w);
        return NULL;
    }
    w->child = g;
    return w;
}

/* A child's graph is copied with its node; every other work is shared, since works do not change. */
static sim_work *sim_work_for_copy(sim_work *w, bool *failed)
{
    if (!w || w->verb != SIM_CHILD) return cji_sim_work_hold(w);
    sim_work *c = cji_sim_child_work(w->child);
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

/* ---- A drawing --------------------------------------------------------------------------------------------------- */

static const char *const sim_type_names[] = { "kernel", "memcpy", "memset", "host", "graph", "empty", "wait event", "event record", "signal", "wait", "alloc",
                                             "free", "batch mem op", "conditional" };

CUresult cji_sim_cuGraphDebugDotPrint(CUgraph h, const char *path, unsigned flags)
{
    sim_graph *g;
    (void)flags;
    if (!path) return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    CUresult r = cji_sim_graph_get(h, &g);
    FILE *f = r ? NULL : fopen(path, "w");
    if (!r && !f) r = CUDA_ERROR_OPERATING_SYSTEM;
    if (f) {
        fprintf(f, "digraph graph_%llu {\n", (unsigned long long)g->id);
        for (size_t i = 0; i < g->nnode; i++) {
            const sim_node *n = g->node[i];
            n->graph->node[i]->mark = i;
            const char *name = n->work && n->work->verb == SIM_LAUNCH ? n->work->launch.func->kernel->name : sim_type_names[n->type];
            fprintf(f, "  n%zu [shape=box, label=\"%zu\\n%s\"];\n", i, i, name);
        }
        for (size_t i = 0; i < g->nnode; i++)
            for (size_t b = 0; b < g->node[i]->nbefore; b++) fprintf(f, "  n%zu -> n%zu;\n", g->node[i]->before[b]->mark, i);
        fprintf(f, "}\n");
        bool bad = ferror(f) != 0;
        if (fclose(f) != 0 || bad) r = CUDA_ERROR_OPERATING_SYSTEM;
    }
    sim_unlock();
    return r;
}
