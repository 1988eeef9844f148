/* The nodes of a graph: their dependencies, lists of them, what each is. */
#include "stream/graph/stream_graph.h"

/* -- Dependencies -------------------------------------------------------------------------------------------------- */

cj_status cj_node_depend(cj_node *n, const cj_nodes *after)
{
    static const char call[] = "cj_node_depend";
    cj_status st = cji_check(n, CJI_TAG_NODE, call);
    if (st != CJ_OK) return st;
    cj_graph *g = n->graph;
    CUgraphNode *dep = NULL, *to = NULL, *old = NULL;
    size_t ndep = 0, cap = 0, to_cap = 0, old_cap = 0, nold = 0, fresh = 0;
    cji_scope scope;
    CUresult r = CUDA_SUCCESS;
    if ((st = cji_graph_enter_needed(g, n, call)) != CJ_OK) return st;
    const cji_cu *cu = g->queue->cu;
    st = cji_nodes_take(g, after, &dep, &cap, &ndep, n, call);
    if (st == CJ_OK && ndep) st = cji_scope_begin_relaxed(n, g->dev, &scope, call);
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
        if (st == CJ_OK && r == CUDA_SUCCESS && fresh)
            cu_call = "cuGraphAddDependencies", r = cu->cuGraphAddDependencies(g->raw, dep, to, fresh);
        if (st == CJ_OK && r != CUDA_SUCCESS) st = cji_rejected(n, g->dev, r, call, cu_call);
        cji_scope_leave(&scope);
    }
    if (st != CJ_OK) cji_graph_incomplete(g); /* an edge is missing, which is as bad */
    cji_graph_leave(g);
    cji_free(dep, cap * sizeof *dep);
    cji_free(to, to_cap * sizeof *to);
    cji_free(old, old_cap * sizeof *old);
    return st;
}

/* -- Lists --------------------------------------------------------------------------------------------------------- */

size_t cj_graph_count(cj_graph *g)
{
    static const char call[] = "cj_graph_count";
    size_t n = 0;
    cji_scope scope;
    if (cji_check(g, CJI_TAG_GRAPH, call) != CJ_OK || cji_graph_enter(g, g, call) != CJ_OK) return 0;
    if (cji_scope_begin_relaxed(g, g->dev, &scope, call) == CJ_OK) {
        CUresult r = g->queue->cu->cuGraphGetNodes(g->raw, NULL, &n);
        cji_scope_leave(&scope);
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
    cji_scope scope;
    if (cji_check(g, CJI_TAG_GRAPH, call) != CJ_OK || cji_graph_enter_needed(g, g, call) != CJ_OK) return NULL;
    cji_node_list *l = leaves ? &g->leaves : &g->all;
    l->list.count = 0;
    cj_status st = cji_scope_begin_relaxed(g, g->dev, &scope, call);
    if (st == CJ_OK) {
        st = node_list_fill(g, l, leaves, call);
        cji_scope_leave(&scope);
    }
    if (st != CJ_OK) cji_graph_incomplete(g); /* what would come after them would come after nothing */
    cji_graph_leave(g);
    return &l->list;
}

const cj_nodes *cj_graph_nodes(cj_graph *g) { return node_list(g, false, "cj_graph_nodes"); }
const cj_nodes *cj_graph_leaves(cj_graph *g) { return node_list(g, true, "cj_graph_leaves"); }

/* -- What a node is ------------------------------------------------------------------------------------------------ */

static bool node_is_live(const cj_node *n, const char *call) { return cji_check(n, CJI_TAG_NODE, call) == CJ_OK; }

cj_graph *cj_node_graph(const cj_node *n) { return node_is_live(n, "cj_node_graph") ? n->graph : NULL; }
void *cj_node_raw(const cj_node *n) { return node_is_live(n, "cj_node_raw") ? n->raw : NULL; }

cj_node_kind cji_node_kind(CUgraphNodeType type)
{
    switch (type) {
#define N(cu, kind, counter, colour, label) case CU_GRAPH_NODE_TYPE_##cu: return CJ_NODE_##kind;
#include "stream/graph/node_kinds.def"
    default: return CJ_NODE_OTHER;
    }
}

cj_node_kind cj_node_kind_of(const cj_node *n)
{
    return node_is_live(n, "cj_node_kind_of") ? cji_node_kind(n->type) : CJ_NODE_OTHER;
}
