/* Nodes: made, known by the driver's handles, listed. */
#include "stream/graph/stream_graph.h"

#include <string.h>

/* -- The table ------------------------------------------------------------------------------------------------------- */

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

/* -- Making ---------------------------------------------------------------------------------------------------------- */

/* A node that no graph can own: failed as the thread's latest record says. */
static cj_node *node_ownerless(void)
{
    static cj_node bad = { .obj = { .magic = CJI_MAGIC, .tag = CJI_TAG_NODE, .flags = CJI_OBJ_FAILED | CJI_OBJ_IMMORTAL | CJI_OBJ_OF_THREAD } };
    cji_fail_orphan();
    return &bad;
}

/* In the graph's list, and with room for it in the table; NULL without memory, which is recorded in the graph.  With the lock held. */
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
    for (size_t i = 0; i < g->nmade; i++) cji_obj_delete(g->made[i], sizeof(cj_node));
    cji_free(g->made, g->made_cap * sizeof(cj_node *));
    cji_free(g->table.slot, g->table.cap * sizeof(cj_node *));
    cji_free(g->all.node, g->all.cap * sizeof(cj_node *));
    cji_free(g->leaves.node, g->leaves.cap * sizeof(cj_node *));
}

/* -- Adding ---------------------------------------------------------------------------------------------------------- */

cj_status cji_nodes_take(cj_graph *g, const cj_nodes *after, CUgraphNode **dep, size_t *cap, size_t *n, void *into, const char *call)
{
    *n = 0;
    if (!after || !after->count) return CJ_OK;
    if (!after->node) return cji_fail(into, CJ_EINVAL, call, "%zu nodes at NULL", after->count);
    if (!cji_grow(dep, cap, after->count, sizeof(CUgraphNode))) return cji_fail(into, CJ_ENOMEM, call, "no memory for %zu nodes", after->count);
    uint64_t search = ++cji_graph_root(g)->searches;
    for (size_t i = 0; i < after->count; i++) {
        cj_node *node = after->node[i];
        cj_status st = cji_check_arg(into, node, CJI_TAG_NODE, call, "a node to come after");
        if (st != CJ_OK) return st;
        if (node->graph != g) return cji_fail(into, CJ_EINVAL, call, "node %zu to come after belongs to another graph", i + 1);
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
    if (cji_graph_enter(g, g, call) != CJ_OK) {
        pthread_mutex_lock(&cji_graph_root(g)->lock);
        cji_graph_incomplete(g);
        cji_graph_leave(g);
        return false;
    }
    a->g = g;
    a->failed = false;
    a->node = node_make(g, call);
    if (!a->node || cji_nodes_take(g, after, &a->dep, &a->dep_cap, &a->ndep, a->node, call) != CJ_OK || cji_ctx_begin_calm(a->node, g->dev, &a->ctx, call) != CJ_OK) {
        adding_failed(a);
        return false;
    }
    a->entered = true;
    return true;
}

bool cji_adding_did(cji_adding *a, CUresult r, const char *cu_call)
{
    if (r == CUDA_SUCCESS) return true;
    cji_rejected(a->node, a->g->dev, r, a->call, cu_call);
    return false;
}

cj_node *cji_adding_end(cji_adding *a)
{
    if (!a->g) return node_ownerless();
    cj_node *n = a->node;
    if (a->entered) cji_ctx_leave(a->g->dev, &a->ctx);
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

cj_status cj_node_depend(cj_node *n, const cj_nodes *after)
{
    static const char call[] = "cj_node_depend";
    cj_status st = cji_check(n, CJI_TAG_NODE, call);
    if (st != CJ_OK) return st;
    cj_graph *g = n->graph;
    CUgraphNode *dep = NULL, *to = NULL, *old = NULL;
    size_t ndep = 0, cap = 0, to_cap = 0, old_cap = 0, nold = 0, fresh = 0;
    cji_ctx ctx;
    CUresult r = CUDA_SUCCESS;
    if ((st = cji_graph_enter(g, n, call)) != CJ_OK) return st;
    const cji_cu *cu = g->queue->cu;
    st = cji_nodes_take(g, after, &dep, &cap, &ndep, n, call);
    if (st == CJ_OK && ndep) st = cji_ctx_begin_calm(n, g->dev, &ctx, call);
    if (st == CJ_OK && ndep) {
        const char *cu_call = "cuGraphNodeGetDependencies";
        r = cu->cuGraphNodeGetDependencies(n->raw, NULL, &nold);
        if (!cji_grow(&to, &to_cap, ndep, sizeof *to) || !cji_grow(&old, &old_cap, nold + 1, sizeof *old))
            st = cji_fail(n, CJ_ENOMEM, call, "no memory for %zu nodes", ndep);
        if (st == CJ_OK && r == CUDA_SUCCESS && nold) r = cu->cuGraphNodeGetDependencies(n->raw, old, &nold);
        for (size_t i = 0; st == CJ_OK && r == CUDA_SUCCESS && i < ndep; i++) {
            bool known = false;
            for (size_t j = 0; j < nold; j++) known |= old[j] == dep[i];
            if (dep[i] == n->raw) st = cji_fail(n, CJ_EINVAL, call, "node %zu to come after is the node itself", i + 1);
            if (known) continue;
            to[fresh] = n->raw;
            dep[fresh++] = dep[i];
        }
        if (st == CJ_OK && r == CUDA_SUCCESS && fresh) cu_call = "cuGraphAddDependencies", r = cu->cuGraphAddDependencies(g->raw, dep, to, fresh);
        if (st == CJ_OK && r != CUDA_SUCCESS) st = cji_rejected(n, g->dev, r, call, cu_call);
        cji_ctx_leave(g->dev, &ctx);
    }
    if (st != CJ_OK) cji_graph_incomplete(g); /* an edge is missing, which is as bad */
    cji_graph_leave(g);
    cji_free(dep, cap * sizeof *dep);
    cji_free(to, to_cap * sizeof *to);
    cji_free(old, old_cap * sizeof *old);
    return st;
}

/* -- Lists ----------------------------------------------------------------------------------------------------------- */

size_t cj_graph_count(cj_graph *g)
{
    static const char call[] = "cj_graph_count";
    size_t n = 0;
    cji_ctx ctx;
    if (cji_check(g, CJI_TAG_GRAPH, call) != CJ_OK || cji_graph_enter(g, g, call) != CJ_OK) return 0;
    if (cji_ctx_begin_calm(g, g->dev, &ctx, call) == CJ_OK) {
        CUresult r = g->queue->cu->cuGraphGetNodes(g->raw, NULL, &n);
        cji_ctx_leave(g->dev, &ctx);
        if (r != CUDA_SUCCESS) cji_rejected(g, g->dev, r, call, "cuGraphGetNodes"), n = 0;
    }
    cji_graph_leave(g);
    return n;
}

/* The graph's nodes, or those that none comes after; with the lock held, context current. */
static cj_status node_list_fill(cj_graph *g, cji_node_list *l, bool leaves, const char *call)
{
    cji_shape sh;
    cj_status st = cji_shape_read(&sh, g->dev, g->raw, g, call);
    bool *followed = st == CJ_OK ? cji_zalloc(sh.nodes + 1) : NULL;
    size_t n = 0;
    if (st == CJ_OK && (!followed || !cji_grow(&l->node, &l->cap, sh.nodes + 1, sizeof(cj_node *))))
        st = cji_fail(g, CJ_ENOMEM, call, "no memory for %zu nodes", sh.nodes);
    for (size_t i = 0; leaves && st == CJ_OK && i < sh.edges; i++) followed[sh.from[i]] = true;
    for (size_t i = 0; st == CJ_OK && i < sh.nodes; i++) {
        if (followed[i]) continue;
        l->node[n] = cji_node_for(g, sh.node[i], sh.type[i]);
        if (!l->node[n++]) st = CJ_ENOMEM;
    }
    cji_free(followed, sh.nodes + 1);
    cji_shape_free(&sh);
    l->list = (cj_nodes){ l->node, st == CJ_OK ? n : 0 };
    return st;
}

static const cj_nodes *node_list(cj_graph *g, bool leaves, const char *call)
{
    cji_ctx ctx;
    if (cji_check(g, CJI_TAG_GRAPH, call) != CJ_OK || cji_graph_enter(g, g, call) != CJ_OK) return NULL;
    cji_node_list *l = leaves ? &g->leaves : &g->all;
    l->list.count = 0;
    cj_status st = cji_ctx_begin_calm(g, g->dev, &ctx, call);
    if (st == CJ_OK) {
        st = node_list_fill(g, l, leaves, call);
        cji_ctx_leave(g->dev, &ctx);
    }
    if (st != CJ_OK) cji_graph_incomplete(g); /* what would come after them would come after nothing */
    cji_graph_leave(g);
    return &l->list;
}

const cj_nodes *cj_graph_nodes(cj_graph *g) { return node_list(g, false, "cj_graph_nodes"); }
const cj_nodes *cj_graph_leaves(cj_graph *g) { return node_list(g, true, "cj_graph_leaves"); }

/* -- What a node is -------------------------------------------------------------------------------------------------- */

static bool node_is_live(const cj_node *n, const char *call) { return cji_check(n, CJI_TAG_NODE, call) == CJ_OK; }

cj_graph *cj_node_graph(const cj_node *n) { return node_is_live(n, "cj_node_graph") ? n->graph : NULL; }
void *cj_node_raw(const cj_node *n) { return node_is_live(n, "cj_node_raw") ? n->raw : NULL; }

cj_node_kind cj_node_kind_of(const cj_node *n)
{
    if (!node_is_live(n, "cj_node_kind_of")) return CJ_NODE_OTHER;
    switch (n->type) {
    case CU_GRAPH_NODE_TYPE_KERNEL: return CJ_NODE_KERNEL;
    case CU_GRAPH_NODE_TYPE_MEMCPY: return CJ_NODE_COPY;
    case CU_GRAPH_NODE_TYPE_MEMSET: return CJ_NODE_FILL;
    case CU_GRAPH_NODE_TYPE_HOST: return CJ_NODE_HOST_FUNC;
    case CU_GRAPH_NODE_TYPE_GRAPH: return CJ_NODE_CHILD;
    case CU_GRAPH_NODE_TYPE_EMPTY: return CJ_NODE_EMPTY;
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT: return CJ_NODE_EVENT_WAIT;
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD: return CJ_NODE_EVENT_RECORD;
    case CU_GRAPH_NODE_TYPE_CONDITIONAL: return CJ_NODE_CONDITIONAL;
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP: return CJ_NODE_MEM_OPS;
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC: return CJ_NODE_MEM_ALLOC;
    case CU_GRAPH_NODE_TYPE_MEM_FREE: return CJ_NODE_MEM_FREE;
    default: return CJ_NODE_OTHER;
    }
}
