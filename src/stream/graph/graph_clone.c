/* Copies of graphs: clones, and children in other graphs. */
#include "stream/graph/stream_graph.h"

/* -- Copies -------------------------------------------------------------------------------------------------------- */

/* A copy of the driver's graph and what it needs alive. */
typedef struct part_copy {
    CUgraph raw;
    cji_refset *refset;
} part_copy;

/* With the lock held. */
static cj_status part_copy_locked(part_copy *p, cj_graph *from, void *into, const char *call)
{
    cji_scope scope;
    if (from->root)
        return cji_fail(into, CJ_EINVAL, call, "a body belongs to its conditional node and cannot be copied");
    if (from->incomplete) return cji_fail_with(into, &from->why);
    if (from->conditionals)
        return cji_fail(
            into, CJ_ENOTSUP, call,
            "the graph has conditional nodes, and the driver copies none of these; build that part in place");
    if (from->nmemory)
        return cji_fail(
            into, CJ_ENOTSUP, call,
            "the graph allocates or frees memory, and the driver copies none of these; build that part in place");
    cj_status st = cji_scope_begin_relaxed(into, from->dev, &scope, call);
    if (st != CJ_OK) return st;
    p->refset = cji_graph_snapshot(from);
    CUresult r = p->refset ? from->queue->cu->cuGraphClone(&p->raw, from->raw) : CUDA_SUCCESS;
    cji_scope_leave(&scope);
    if (!p->refset)
        return cji_fail(into, CJ_ENOMEM, call, "no memory to keep the graph's resources alive for another one");
    if (r == CUDA_SUCCESS) return CJ_OK;
    p->raw = NULL;
    return cji_rejected(into, from->dev, r, call, "cuGraphClone");
}

static cj_status part_copy_make(part_copy *p, cj_graph *from, void *into, const char *call)
{
    cj_status st = cji_graph_enter(from, into, call);
    if (st != CJ_OK) return st;
    st = part_copy_locked(p, from, into, call);
    cji_graph_leave(from);
    return st;
}

static void part_copy_free(part_copy *p, const cji_release_queue *queue)
{
    cji_scope scope;
    cji_refset_drop(p->refset);
    if (!p->raw) return;
    cji_queue_scope(queue, &scope);
    queue->cu->cuGraphDestroy(p->raw);
    cji_scope_leave(&scope);
}

cj_graph *cj_graph_clone(cj_graph *g)
{
    static const char call[] = "cj_graph_clone";
    part_copy p = { NULL, NULL };
    cj_graph *c = cji_obj_new(sizeof *c, CJI_TAG_GRAPH, 0, call);
    if (cji_obj_failed(c)) return c;
    pthread_mutex_init(&c->lock, NULL);
    if (cji_check_arg(c, g, CJI_TAG_GRAPH, call, "the graph") != CJ_OK || part_copy_make(&p, g, c, call) != CJ_OK) {
        cji_refset_drop(p.refset);
        cji_obj_set_failed(c);
        return c;
    }
    /* What the copy retains may grow, so that it has a set of its own. */
    bool had = false;
    cji_refset *own = cji_refset_new();
    if (own && cji_refset_add(own, &cji_ref_set, p.refset, &had)) {
        if (cji_graph_init(c, g->dev, p.raw, own, call)) return c;
        p.refset = NULL;
    }
    if (p.refset) cji_fail(c, CJ_ENOMEM, call, "no memory to keep the graph's resources alive for another one");
    cji_refset_drop(own);
    part_copy_free(&p, g->queue);
    cji_obj_set_failed(c);
    return c;
}

cj_node *cj_node_in_clone(cj_graph *clone, cj_node *n)
{
    static const char call[] = "cj_node_in_clone";
    CUgraphNode raw = NULL;
    cji_scope scope;
    cj_node *found = NULL;
    if (cji_check(clone, CJI_TAG_GRAPH, call) != CJ_OK ||
        cji_check_arg(clone, n, CJI_TAG_NODE, call, "the node") != CJ_OK)
        return NULL;
    if (cji_graph_enter(clone, clone, call) != CJ_OK) return NULL;
    if (cji_scope_begin_relaxed(clone, clone->dev, &scope, call) == CJ_OK) {
        CUresult r = clone->queue->cu->cuGraphNodeFindInClone(&raw, n->raw, clone->raw);
        cji_scope_leave(&scope);
        if (r == CUDA_SUCCESS) found = cji_node_for(clone, raw, n->type);
        else if (r == CUDA_ERROR_INVALID_VALUE || r == CUDA_ERROR_NOT_FOUND)
            cji_fail(clone, CJ_ENOTFOUND, call, "the graph was not cloned from the node's, or the node was made later");
        else cji_rejected(clone, clone->dev, r, call, "cuGraphNodeFindInClone");
    }
    cji_graph_leave(clone);
    return found;
}

/* A graph is copied under its own lock alone, and then the copy is given: two graphs are never locked together. */
cj_node *cj_graph_child(cj_graph *g, const cj_nodes *after, cj_graph *child)
{
    static const char call[] = "cj_graph_child";
    part_copy p = { NULL, NULL };
    cji_adding a;
    cj_error why = { .status = CJ_OK };
    cj_status st = cji_check(g, CJI_TAG_GRAPH, call);
    if (st == CJ_OK) st = cji_check_arg(NULL, child, CJI_TAG_GRAPH, call, "the child");
    if (st == CJ_OK && !cji_same_device(child->queue, g->queue))
        st = cji_cu_fail_apart(NULL, child->dev, g->dev, call, "the child is for device %d, the graph for device %d",
                               cj_device_ordinal(child->dev), cj_device_ordinal(g->dev));
    if (st == CJ_OK) st = part_copy_make(&p, child, NULL, call);
    if (st != CJ_OK) why = *cj_error_last();
    if (cji_adding_begin(&a, g, after, call)) {
        bool had = false;
        if (why.status != CJ_OK) {
            cji_fail_with(a.node, &why);
        } else if (!cji_refset_add(cji_graph_root(g)->refset, &cji_ref_set, cji_refset_retain(p.refset), &had)) {
            cji_refset_drop(p.refset);
            cji_fail(a.node, CJ_ENOMEM, call, "no memory to keep the child's resources alive");
        } else {
            if (had) cji_refset_drop(p.refset);
            cji_adding_did(&a, a.cu->cuGraphAddChildGraphNode(&a.raw, g->raw, a.dep, a.ndep, p.raw),
                           CU_GRAPH_NODE_TYPE_GRAPH, "cuGraphAddChildGraphNode");
        }
    }
    cj_node *n = cji_adding_end(&a);
    if (p.refset) part_copy_free(&p, child->queue);
    return n;
}
