/* Nodes: made, known by the driver's handles, added. */
#include "stream/graph/stream_graph.h"

#include <string.h>

/* -- The table ----------------------------------------------------------------------------------------------------- */

static cj_node **node_slot(cj_node **slot, size_t cap, CUgraphNode raw)
{
    size_t i = (size_t)(((uintptr_t)raw >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> 20);
    while (slot[i & (cap - 1)] && slot[i & (cap - 1)]->raw != raw) i++;
    return &slot[i & (cap - 1)];
}

static bool node_table_room(cji_node_table *t)
{
    if (2 * (t->count + 1) <= t->cap) return true;
    size_t cap = t->cap ? 2 * t->cap : 16;
    cj_node **slot = cji_zalloc(cap * sizeof(cj_node *));
    if (!slot) return false;
    for (size_t i = 0; i < t->cap; i++)
        if (t->slot[i]) *node_slot(slot, cap, t->slot[i]->raw) = t->slot[i];
    cji_free(t->slot, t->cap * sizeof(cj_node *));
    t->slot = slot;
    t->cap = cap;
    return true;
}

/* There is room. */
static void node_table_put(cji_node_table *t, cj_node *n)
{
    *node_slot(t->slot, t->cap, n->raw) = n;
    t->count++;
}

/* -- Making -------------------------------------------------------------------------------------------------------- */

/* A node that no graph can own: failed as the thread's latest record says. */
static cj_node *node_ownerless(void)
{
    static cj_node bad = { .obj = { .magic = CJI_MAGIC,
                                    .tag = CJI_TAG_NODE,
                                    .flags = CJI_OBJ_FAILED | CJI_OBJ_IMMORTAL | CJI_OBJ_OF_THREAD } };
    cji_fail_orphan();
    return &bad;
}

/* In the graph's list, and with room for it in the table; NULL without memory, which is recorded in the graph.  With
 * the lock held. */
static cj_node *node_make(cj_graph *g, const char *call)
{
    cj_node *n = NULL;
    bool room = node_table_room(&g->table) && cji_grow(&g->made, &g->made_cap, g->nmade + 1, sizeof(cj_node *));
    if (room) n = cji_obj_new(sizeof *n, CJI_TAG_NODE, 0, call);
    if (!n || cji_obj_failed(n)) {
        cji_fail(g, CJ_ENOMEM, call, "no memory for a node");
        return NULL;
    }
    n->graph = g;
    g->made[g->nmade++] = n;
    return n;
}

cj_node *cji_node_for(cj_graph *g, CUgraphNode raw, CUgraphNodeType type)
{
    if (g->table.cap) {
        cj_node *n = *node_slot(g->table.slot, g->table.cap, raw);
        if (n) return n;
    }
    cj_node *n = node_make(g, "cj_graph_nodes");
    if (!n) return NULL;
    n->raw = raw;
    n->type = type;
    node_table_put(&g->table, n);
    return n;
}

void cji_nodes_free(cj_graph *g)
{
    for (size_t i = 0; i < g->nmade; i++) {
        cji_free(g->made[i]->launch, sizeof(cji_node_launch));
        cji_obj_delete(g->made[i], sizeof(cj_node));
    }
    cji_free(g->made, g->made_cap * sizeof(cj_node *));
    cji_free(g->table.slot, g->table.cap * sizeof(cj_node *));
    cji_free(g->all.node, g->all.cap * sizeof(cj_node *));
    cji_free(g->leaves.node, g->leaves.cap * sizeof(cj_node *));
}

/* -- Adding -------------------------------------------------------------------------------------------------------- */

cj_status cji_nodes_take(cj_graph *g, const cj_nodes *after, CUgraphNode **dep, size_t *cap, size_t *n, void *into,
                         const char *call)
{
    *n = 0;
    if (!after || !after->count) return CJ_OK;
    if (!after->node) return cji_fail(into, CJ_EINVAL, call, "%zu nodes at NULL", after->count);
    if (!cji_grow(dep, cap, after->count, sizeof(CUgraphNode)))
        return cji_fail(into, CJ_ENOMEM, call, "no memory for %zu nodes", after->count);
    uint64_t search = ++cji_graph_root(g)->searches;
    for (size_t i = 0; i < after->count; i++) {
        cj_node *node = after->node[i];
        cj_status st = cji_check_arg(into, node, CJI_TAG_NODE, call, "a node to come after");
        if (st != CJ_OK) return st;
        if (node->graph != g)
            return cji_fail(into, CJ_EINVAL, call, "node %zu to come after belongs to another graph", i + 1);
        if (node->seen == search) continue; /* named twice */
        node->seen = search;
        (*dep)[(*n)++] = node->raw;
    }
    return CJ_OK;
}

/* The failure, already recorded for the thread, is the node's and the graph's too. */
static void adding_failed(cji_adding *a)
{
    const cj_error e = *cj_error_last();
    a->failed = true;
    cji_fail_with(a->g, &e);
    cji_graph_incomplete(a->g);
    if (a->node) cji_fail_with(a->node, &e);
}

bool cji_adding_begin(cji_adding *a, cj_graph *g, const cj_nodes *after, const char *call)
{
    *a = (cji_adding){ .call = call, .failed = true };
    if (cji_check(g, CJI_TAG_GRAPH, call) != CJ_OK) return false;
    a->cu = g->queue->cu;
    if (cji_graph_enter_needed(g, g, call) != CJ_OK) return false;
    a->g = g;
    a->failed = false;
    a->node = node_make(g, call);
    if (!a->node || cji_nodes_take(g, after, &a->dep, &a->dep_cap, &a->ndep, a->node, call) != CJ_OK ||
        cji_scope_begin_relaxed(a->node, g->dev, &a->scope, call) != CJ_OK) {
        adding_failed(a);
        return false;
    }
    a->entered = true;
    return true;
}

bool cji_adding_did(cji_adding *a, CUresult r, CUgraphNodeType type, const char *cu_call)
{
    if (r == CUDA_SUCCESS) {
        a->node->type = type;
        return true;
    }
    cji_rejected(a->node, a->g->dev, r, a->call, cu_call);
    return false;
}

bool cji_adding_object(cji_adding *a, const void *object, cji_tag tag, const char *what)
{
    return cji_check_arg(a->node, object, tag, a->call, what) == CJ_OK;
}

cj_status cji_adding_retain(cji_adding *a, cj_device *dev, const cji_range *range)
{
    return cji_mem_retain(dev, cji_graph_root(a->g)->refset, a->node, range, a->call);
}

cj_node *cji_adding_end(cji_adding *a)
{
    if (!a->g) return node_ownerless();
    cj_node *n = a->node;
    if (a->entered) cji_scope_leave(&a->scope);
    if (a->raw) {
        n->raw = a->raw;
        node_table_put(&a->g->table, n);
    } else {
        if (!a->failed) adding_failed(a);
        if (n) cji_obj_set_failed(n);
    }
    cji_free(a->dep, a->dep_cap * sizeof(CUgraphNode));
    cji_graph_leave(a->g);
    return n ? n : node_ownerless();
}
