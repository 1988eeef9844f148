/* Graphs: their life, nodes and edges, copies, order, and a drawing of them. */
#include "sim/simcore.h"
#include "sim/sim_capture.h"
#include "sim/sim_exec.h"
#include "sim/sim_graph.h"
#include "sim/sim_module.h"
#include "sim/sim_queue.h"

#include <stdio.h>
#include <string.h>

/* ---- Life -------------------------------------------------------------------------------------------------------- */

sd_graph *cji_sd_graph_new(void)
{
    sd_graph *g = cji_zalloc(sizeof *g);
    if (!g) return NULL;
    g->refs = 1;
    g->id = ++sd.next_id;
    return g;
}

void cji_sd_graph_drop(sd_graph *g)
{
    if (!g || --g->refs) return;
    for (size_t i = 0; i < g->nnode; i++) cji_sd_node_drop(g->node[i]);
    cji_free(g->node, g->cap * sizeof *g->node);
    for (size_t i = 0; i < g->ncond; i++) cji_sd_cond_drop(g->cond[i]);
    cji_free(g->cond, g->cond_cap * sizeof *g->cond);
    cji_sd_bag_drop(g->bag);
    cji_free(g, sizeof *g);
}

void cji_sd_graph_forget(sd_graph *g)
{
    cji_sd_handle_drop(g);
    if (!g->parent) cji_sd_graph_drop(g);   /* else it is its node's, without a handle */
}

CUresult cji_sd_graph_get(CUgraph h, sd_graph **out)
{
    if (!cji_sd_handle_is(SD_GRAPH, h)) return CUDA_ERROR_INVALID_VALUE;
    *out = (sd_graph *)h;
    return CUDA_SUCCESS;
}

CUresult cji_sd_cuGraphCreate(CUgraph *out, unsigned flags)
{
    if (!out || flags) return CUDA_ERROR_INVALID_VALUE;
    sd_lock();
    sd_graph *g = cji_sd_graph_new();
    bool ok = g && cji_sd_handle_add(SD_GRAPH, g);
    if (!ok) cji_sd_graph_drop(g);
    else *out = (CUgraph)g;
    sd_unlock();
    return ok ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

/* The graph of a child node belongs to that node. */
CUresult cji_sd_cuGraphDestroy(CUgraph h)
{
    sd_graph *g;
    sd_lock();
    CUresult r = cji_sd_graph_get(h, &g);
    if (!r && g->parent) r = CUDA_ERROR_INVALID_VALUE;
    if (!r) cji_sd_graph_forget(g);
    sd_unlock();
    return r;
}

/* ---- Nodes ------------------------------------------------------------------------------------------------------- */

sd_node *cji_sd_node_new(sd_graph *g, sd_work *w, CUgraphNodeType type, sd_node *const *before, size_t n)
{
    sd_node *node = cji_zalloc(sizeof *node);
    if (!node) return NULL;
    if (!cji_sd_deps_set(&node->before, &node->nbefore, &node->before_cap, before, n) || !cji_grow(&g->node, &g->cap, g->nnode + 1, sizeof *g->node)
        || !cji_sd_handle_add(SD_NODE, node)) {
        cji_sd_deps_free(&node->before, &node->nbefore, &node->before_cap);
        cji_free(node, sizeof *node);
        return NULL;
    }
    node->graph = g;
    node->id = ++sd.next_id;
    node->work = w;
    node->type = type;
    if (w && w->verb == SD_CHILD && w->child) w->child->parent = node;
    if (w && w->verb == SD_CONDITIONAL) cji_sd_cond_node(w, node);
    if (type == CU_GRAPH_NODE_TYPE_MEM_ALLOC || type == CU_GRAPH_NODE_TYPE_MEM_FREE) g->memory = true;
    if (g->memory || type == CU_GRAPH_NODE_TYPE_CONDITIONAL) g->once = true;
    g->node[g->nnode++] = node;
    return node;
}

void cji_sd_node_drop(sd_node *n)
{
    cji_sd_handle_drop(n);
    if (n->work && n->work->verb == SD_CHILD && n->work->child->parent == n) {
        n->work->child->parent = NULL;
        cji_sd_handle_drop(n->work->child);
    }
    if (n->work && n->work->verb == SD_CONDITIONAL) cji_sd_cond_node(n->work, NULL);
    cji_sd_work_drop(n->work);
    cji_sd_deps_free(&n->before, &n->nbefore, &n->before_cap);
    cji_free(n->param, n->nparam * sizeof *n->param);
    cji_free(n, sizeof *n);
}

CUresult cji_sd_node_get(CUgraphNode h, sd_node **out)
{
    if (!cji_sd_handle_is(SD_NODE, h)) return CUDA_ERROR_INVALID_VALUE;
    *out = (sd_node *)h;
    return CUDA_SUCCESS;
}

CUgraphNodeType cji_sd_verb_type(const sd_work *w)
{
    if (!w) return CU_GRAPH_NODE_TYPE_EMPTY;
    switch (w->verb) {
    case SD_LAUNCH: return CU_GRAPH_NODE_TYPE_KERNEL;
    case SD_COPY: return CU_GRAPH_NODE_TYPE_MEMCPY;
    case SD_FILL: return CU_GRAPH_NODE_TYPE_MEMSET;
    case SD_HOST:
    case SD_CALLBACK: return CU_GRAPH_NODE_TYPE_HOST;
    case SD_WAIT_VALUE:
    case SD_WRITE_VALUE:
    case SD_BATCH: return CU_GRAPH_NODE_TYPE_BATCH_MEM_OP;
    case SD_FREE:
    case SD_GRAPH_FREE: return CU_GRAPH_NODE_TYPE_MEM_FREE;
    case SD_GRAPH_ALLOC: return CU_GRAPH_NODE_TYPE_MEM_ALLOC;
    case SD_BRANCH:
    case SD_CONDITIONAL: return CU_GRAPH_NODE_TYPE_CONDITIONAL;
    case SD_RECORD: return CU_GRAPH_NODE_TYPE_EVENT_RECORD;
    case SD_WAIT: return CU_GRAPH_NODE_TYPE_WAIT_EVENT;
    case SD_CHILD: return CU_GRAPH_NODE_TYPE_GRAPH;
    case SD_AGAIN:
    case SD_BEGIN:
    case SD_FAR:
    case SD_MARK: break;
    }
    return CU_GRAPH_NODE_TYPE_EMPTY;
}

CUresult cji_sd_nodes_of(const sd_graph *g, const CUgraphNode *node, size_t n)
{
    if (n && !node) return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < n; i++) {
        if (!cji_sd_handle_is(SD_NODE, node[i]) || ((sd_node *)node[i])->graph != g) return CUDA_ERROR_INVALID_VALUE;
        for (size_t k = 0; k < i; k++)
            if (node[k] == node[i]) return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
}

bool cji_sd_edges_plain(const CUgraphEdgeData *data, size_t n)
{
    for (size_t i = 0; data && i < n; i++)
        if (data[i].from_port || data[i].to_port || data[i].type != CU_GRAPH_DEPENDENCY_TYPE_DEFAULT) return false;
    return true;
}

CUresult cji_sd_cuGraphDestroyNode(CUgraphNode h)
{
    sd_node *n;
    sd_lock();
    CUresult r = cji_sd_node_get(h, &n);
    if (!r && n->graph->memory) r = CUDA_ERROR_NOT_SUPPORTED;
    if (!r) {
        sd_graph *g = n->graph;
        for (size_t i = 0, k = 0; i < g->nnode; i++) {
            sd_node *m = g->node[i];
            size_t left = 0;
            for (size_t b = 0; b < m->nbefore; b++)
                if (m->before[b] != n) m->before[left++] = m->before[b];
            m->nbefore = left;
            if (m != n) g->node[k++] = m;
        }
        g->nnode--;
        cji_sd_node_drop(n);
    }
    sd_unlock();
    return r;
}

CUresult cji_sd_cuGraphNodeGetType(CUgraphNode h, CUgraphNodeType *type)
{
    sd_node *n;
    if (!type) return CUDA_ERROR_INVALID_VALUE;
    sd_lock();
    CUresult r = cji_sd_node_get(h, &n);
    if (!r) *type = n->type;
    sd_unlock();
    return r;
}

/* ---- Lists: with a NULL array the number is asked for; places that are left over get NULL, their number the real one --------- */

typedef struct sd_lister { CUgraphNode *a, *b; size_t room, n; } sd_lister;

static void sd_put(sd_lister *l, const sd_node *a, const sd_node *b)
{
    if (l->n < l->room) {
        if (l->a) l->a[l->n] = (CUgraphNode)a;
        if (l->b) l->b[l->n] = (CUgraphNode)b;
    }
    l->n++;
}

static void sd_list_end(sd_lister *l, size_t *count, bool counting)
{
    for (size_t i = l->n; !counting && i < *count; i++) {
        if (l->a) l->a[i] = NULL;
        if (l->b) l->b[i] = NULL;
    }
    *count = counting || l->n < *count ? l->n : *count;
}

static CUresult sd_list_nodes(CUgraph h, CUgraphNode *nodes, size_t *count, bool roots)
{
    sd_graph *g;
    if (!count) return CUDA_ERROR_INVALID_VALUE;
    sd_lock();
    CUresult r = cji_sd_graph_get(h, &g);
    sd_lister l = { .a = nodes, .room = nodes ? *count : 0 };
    for (size_t i = 0; !r && i < g->nnode; i++)
        if (!roots || !g->node[i]->nbefore) sd_put(&l, g->node[i], NULL);
    if (!r) sd_list_end(&l, count, !nodes);
    sd_unlock();
    return r;
}

CUresult cji_sd_cuGraphGetNodes(CUgraph h, CUgraphNode *nodes, size_t *count) { return sd_list_nodes(h, nodes, count, false); }
CUresult cji_sd_cuGraphGetRootNodes(CUgraph h, CUgraphNode *nodes, size_t *count) { return sd_list_nodes(h, nodes, count, true); }

CUresult cji_sd_cuGraphGetEdges(CUgraph h, CUgraphNode *from, CUgraphNode *to, size_t *count)
{
    sd_graph *g;
    if (!count || !from != !to) return CUDA_ERROR_INVALID_VALUE;
    sd_lock();
    CUresult r = cji_sd_graph_get(h, &g);
    sd_lister l = { .a = from, .b = to, .room = from ? *count : 0 };
    for (size_t i = 0; !r && i < g->nnode; i++)
        for (size_t b = 0; b < g->node[i]->nbefore; b++) sd_put(&l, g->node[i]->before[b], g->node[i]);
    if (!r) sd_list_end(&l, count, !from);
    sd_unlock();
    return r;
}

CUresult cji_sd_cuGraphGetEdges_v2(CUgraph h, CUgraphNode *from, CUgraphNode *to, CUgraphEdgeData *data, size_t *count)
{
    CUresult r = cji_sd_cuGraphGetEdges(h, from, to, count);
    if (!r && from && data) memset(data, 0, *count * sizeof *data);
    return r;
}

CUresult cji_sd_cuGraphNodeGetDependencies(CUgraphNode h, CUgraphNode *nodes, size_t *count)
{
    sd_node *n;
    if (!count) return CUDA_ERROR_INVALID_VALUE;
    sd_lock();
    CUresult r = cji_sd_node_get(h, &n);
    sd_lister l = { .a = nodes, .room = nodes ? *count : 0 };
    for (size_t i = 0; !r && i < n->nbefore; i++) sd_put(&l, n->before[i], NULL);
    if (!r) sd_list_end(&l, count, !nodes);
    sd_unlock();
    return r;
}

CUresult cji_sd_cuGraphNodeGetDependentNodes(CUgraphNode h, CUgraphNode *nodes, size_t *count)
{
    sd_node *n;
    if (!count) return CUDA_ERROR_INVALID_VALUE;
    sd_lock();
    CUresult r = cji_sd_node_get(h, &n);
    sd_lister l = { .a = nodes, .room = nodes ? *count : 0 };
    for (size_t i = 0; !r && i < n->graph->nnode; i++)
        for (size_t b = 0; b < n->graph->node[i]->nbefore; b++)
            if (n->graph->node[i]->before[b] == n) sd_put(&l, n->graph->node[i], NULL);
    if (!r) sd_list_end(&l, count, !nodes);
    sd_unlock();
    return r;
}

/* ---- Edges ------------------------------------------------------------------------------------------------------- */

static size_t sd_edge_find(const sd_node *from, const sd_node *to)
{
    for (size_t i = 0; i < to->nbefore; i++)
        if (to->before[i] == from) return i;
    return SIZE_MAX;
}

static CUresult sd_edges_check(const sd_graph *g, const CUgraphNode *from, const CUgraphNode *to, size_t n, bool adding)
{
    if (n && (!from || !to)) return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < n; i++) {
        if (cji_sd_nodes_of(g, &from[i], 1) || cji_sd_nodes_of(g, &to[i], 1) || from[i] == to[i]) return CUDA_ERROR_INVALID_VALUE;
        bool there = sd_edge_find((sd_node *)from[i], (sd_node *)to[i]) != SIZE_MAX;
        if (there == adding) return CUDA_ERROR_INVALID_VALUE;
        for (size_t k = 0; k < i; k++)
            if (from[k] == from[i] && to[k] == to[i]) return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
}

CUresult cji_sd_cuGraphAddDependencies(CUgraph h, const CUgraphNode *from, const CUgraphNode *to, size_t n)
{
    sd_graph *g;
    sd_lock();
    CUresult r = cji_sd_graph_get(h, &g);
    if (!r) r = sd_edges_check(g, from, to, n, true);
    for (size_t i = 0; !r && i < n; i++) {
        sd_node *t = (sd_node *)to[i];
        if (!cji_sd_deps_add(&t->before, &t->nbefore, &t->before_cap, (sd_node *)from[i])) r = CUDA_ERROR_OUT_OF_MEMORY;
    }
    sd_unlock();
    return r;
}

/* Programmatic edges leave a kernel, by port 1 to another kernel or by port 2; none of these are here. */
static CUresult sd_edges_refuse(CUgraph h, const CUgraphNode *from, const CUgraphNode *to, const CUgraphEdgeData *data, size_t n)
{
    sd_graph *g;
    sd_lock();
    CUresult r = cji_sd_graph_get(h, &g);
    if (!r) r = sd_edges_check(g, from, to, n, true);
    for (size_t i = 0; !r && i < n; i++) {
        bool kernel = ((const sd_node *)from[i])->type == CU_GRAPH_NODE_TYPE_KERNEL, both = kernel && ((const sd_node *)to[i])->type == CU_GRAPH_NODE_TYPE_KERNEL;
        bool early = data[i].from_port == CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC && data[i].type == CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC && both;
        bool order = data[i].from_port == CU_GRAPH_KERNEL_NODE_PORT_LAUNCH_ORDER && data[i].type <= CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC && kernel;
        if (!cji_sd_edges_plain(&data[i], 1) && ((!early && !order) || data[i].to_port)) r = CUDA_ERROR_INVALID_VALUE;
    }
    sd_unlock();
    return r ? r : CUDA_ERROR_NOT_SUPPORTED;
}

CUresult cji_sd_cuGraphAddDependencies_v2(CUgraph h, const CUgraphNode *from, const CUgraphNode *to, const CUgraphEdgeData *data, size_t n)
{
    return cji_sd_edges_plain(data, n) ? cji_sd_cuGraphAddDependencies(h, from, to, n) : sd_edges_refuse(h, from, to, data, n);
}

CUresult cji_sd_cuGraphRemoveDependencies(CUgraph h, const CUgraphNode *from, const CUgraphNode *to, size_t n)
{
    sd_graph *g;
    sd_lock();
    CUresult r = cji_sd_graph_get(h, &g);
    if (!r && g->memory) r = CUDA_ERROR_NOT_SUPPORTED;
    if (!r) r = sd_edges_check(g, from, to, n, false);
    for (size_t i = 0; !r && i < n; i++) {
        sd_node *t = (sd_node *)to[i];
        size_t k = sd_edge_find((sd_node *)from[i], t);
        memmove(&t->before[k], &t->before[k + 1], (t->nbefore - k - 1) * sizeof *t->before);
        t->nbefore--;
    }
    sd_unlock();
    return r;
}

/* Nodes are taken in the order of their making as soon as everything before them has been taken. */
bool cji_sd_graph_order(sd_graph *g, sd_node **order)
{
    size_t n = 0;
    for (size_t i = 0; i < g->nnode; i++) g->node[i]->mark = 0;
    for (bool moved = true; moved && n < g->nnode;) {
        moved = false;
        for (size_t i = 0; i < g->nnode; i++) {
            sd_node *m = g->node[i];
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

sd_work *cji_sd_child_work(const sd_graph *from)
{
    sd_work *w = cji_sd_work_new(SD_CHILD, NULL, 0);
    sd_graph *g = w ? cji_sd_graph_copy(from) : NULL;
    if (!g || !cji_sd_handle_add(SD_GRAPH, g)) {
        cji_sd_graph_drop(g);
        cji_sd_work_drop(w);
        return NULL;
    }
    w->child = g;
    return w;
}

/* A child's graph is copied with its node; every other work is shared, since works do not change. */
static sd_work *sd_work_for_copy(sd_work *w, bool *failed)
{
    if (!w || w->verb != SD_CHILD) return cji_sd_work_hold(w);
    sd_work *c = cji_sd_child_work(w->child);
    *failed = !c;
    return c;
}

sd_graph *cji_sd_graph_copy(const sd_graph *from)
{
    sd_graph *g = cji_sd_graph_new();
    if (!g) return NULL;
    g->origin = from->id;
    bool lost = false;
    g->bag = cji_sd_bag_copy(NULL, from->bag, &lost);
    if (lost) {
        cji_sd_graph_drop(g);
        return NULL;
    }
    for (size_t i = 0; i < from->nnode; i++) from->node[i]->mark = i;
    for (size_t i = 0; i < from->nnode; i++) {
        bool failed = false;
        sd_work *w = sd_work_for_copy(from->node[i]->work, &failed);
        sd_node *n = failed ? NULL : cji_sd_node_new(g, w, from->node[i]->type, NULL, 0);
        if (!n) {
            cji_sd_work_drop(w);
            cji_sd_graph_drop(g);
            return NULL;
        }
        n->origin = from->node[i]->id;
    }
    for (size_t i = 0; i < from->nnode; i++) {
        sd_node *n = g->node[i];
        for (size_t b = 0; b < from->node[i]->nbefore; b++)
            if (!cji_sd_deps_add(&n->before, &n->nbefore, &n->before_cap, g->node[from->node[i]->before[b]->mark])) {
                cji_sd_graph_drop(g);
                return NULL;
            }
    }
    return g;
}

CUresult cji_sd_cuGraphClone(CUgraph *out, CUgraph h)
{
    sd_graph *g;
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    sd_lock();
    CUresult r = cji_sd_graph_get(h, &g);
    if (!r && g->once) r = CUDA_ERROR_NOT_SUPPORTED;
    if (!r) {
        sd_graph *copy = cji_sd_graph_copy(g);
        if (!copy || !cji_sd_handle_add(SD_GRAPH, copy)) {
            cji_sd_graph_drop(copy);
            r = CUDA_ERROR_OUT_OF_MEMORY;
        } else {
            *out = (CUgraph)copy;
        }
    }
    sd_unlock();
    return r;
}

CUresult cji_sd_cuGraphNodeFindInClone(CUgraphNode *out, CUgraphNode h, CUgraph hg)
{
    sd_node *n;
    sd_graph *g;
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    sd_lock();
    CUresult r = cji_sd_node_get(h, &n);
    if (!r) r = cji_sd_graph_get(hg, &g);
    if (!r && g->origin != n->graph->id) r = CUDA_ERROR_INVALID_VALUE;
    if (!r) {
        r = CUDA_ERROR_INVALID_VALUE;
        for (size_t i = 0; i < g->nnode && r; i++)
            if (g->node[i]->origin == n->id) {
                *out = (CUgraphNode)g->node[i];
                r = CUDA_SUCCESS;
            }
    }
    sd_unlock();
    return r;
}

/* ---- A drawing --------------------------------------------------------------------------------------------------- */

static const char *const sd_type_names[] = { "kernel", "memcpy", "memset", "host", "graph", "empty", "wait event", "event record", "signal", "wait", "alloc",
                                             "free", "batch mem op", "conditional" };

CUresult cji_sd_cuGraphDebugDotPrint(CUgraph h, const char *path, unsigned flags)
{
    sd_graph *g;
    (void)flags;
    if (!path) return CUDA_ERROR_INVALID_VALUE;
    sd_lock();
    CUresult r = cji_sd_graph_get(h, &g);
    FILE *f = r ? NULL : fopen(path, "w");
    if (!r && !f) r = CUDA_ERROR_OPERATING_SYSTEM;
    if (f) {
        fprintf(f, "digraph graph_%llu {\n", (unsigned long long)g->id);
        for (size_t i = 0; i < g->nnode; i++) {
            const sd_node *n = g->node[i];
            n->graph->node[i]->mark = i;
            const char *name = n->work && n->work->verb == SD_LAUNCH ? n->work->launch.func->kernel->name : sd_type_names[n->type];
            fprintf(f, "  n%zu [shape=box, label=\"%zu\\n%s\"];\n", i, i, name);
        }
        for (size_t i = 0; i < g->nnode; i++)
            for (size_t b = 0; b < g->node[i]->nbefore; b++) fprintf(f, "  n%zu -> n%zu;\n", g->node[i]->before[b]->mark, i);
        fprintf(f, "}\n");
        bool bad = ferror(f) != 0;
        if (fclose(f) != 0 || bad) r = CUDA_ERROR_OPERATING_SYSTEM;
    }
    sd_unlock();
    return r;
}
