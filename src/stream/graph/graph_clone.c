/* Graphs inside graphs: clones and children, which are copies; conditional nodes and their bodies, which belong to them. */
#include "stream/graph/stream_graph.h"

#include <string.h>

/* -- Copies ---------------------------------------------------------------------------------------------------------- */

/* A copy of the driver's graph and what it needs alive. */
typedef struct part_copy { CUgraph raw; cji_refset *refset; } part_copy;

/* With the lock held. */
static cj_status part_copy_locked(part_copy *p, cj_graph *from, void *into, const char *call)
{
    cji_ctx ctx;
    if (from->root) return cji_fail(into, CJ_EINVAL, call, "a body belongs to its conditional node and cannot be copied");
    if (from->incomplete) return cji_fail_with(into, &from->why);
    if (from->conditionals)
        return cji_fail(into, CJ_ENOTSUP, call, "the graph has conditional nodes, and the driver copies none of these; build that part in place");
    if (from->nmemory)
        return cji_fail(into, CJ_ENOTSUP, call, "the graph allocates or frees memory, and the driver copies none of these; build that part in place");
    cj_status st = cji_ctx_begin_calm(into, from->dev, &ctx, call);
    if (st != CJ_OK) return st;
    p->refset = cji_graph_snapshot(from);
    CUresult r = p->refset ? from->queue->cu->cuGraphClone(&p->raw, from->raw) : CUDA_SUCCESS;
    cji_ctx_leave(from->dev, &ctx);
    if (!p->refset) return cji_fail(into, CJ_ENOMEM, call, "no memory to keep the graph's resources alive for another one");
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
    cji_calm calm;
    cji_refset_drop(p->refset);
    if (!p->raw) return;
    cji_calm_begin(queue, &calm);
    queue->cu->cuGraphDestroy(p->raw);
    cji_calm_end(queue, &calm);
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
    /* What the copy keeps may grow, so that it is a keep of its own. */
    bool had = false;
    cji_refset *own = cji_refset_new();
    if (own && cji_refset_add(own, CJI_REF_SET, p.refset, &had)) {
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
    cji_ctx ctx;
    cj_node *found = NULL;
    if (cji_check(clone, CJI_TAG_GRAPH, call) != CJ_OK || cji_check_arg(clone, n, CJI_TAG_NODE, call, "the node") != CJ_OK) return NULL;
    if (cji_graph_enter(clone, clone, call) != CJ_OK) return NULL;
    if (cji_ctx_begin_calm(clone, clone->dev, &ctx, call) == CJ_OK) {
        CUresult r = clone->queue->cu->cuGraphNodeFindInClone(&raw, n->raw, clone->raw);
        cji_ctx_leave(clone->dev, &ctx);
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
        st = cji_fail(NULL, CJ_EINVAL, call, "the child is for device %d, the graph for device %d", cj_device_ordinal(child->dev), cj_device_ordinal(g->dev));
    if (st == CJ_OK) st = part_copy_make(&p, child, NULL, call);
    if (st != CJ_OK) why = *cj_error_last();
    if (cji_adding_begin(&a, g, after, call)) {
        bool had = false;
        if (why.status != CJ_OK) {
            cji_fail_with(a.node, &why);
        } else if (!cji_refset_add(cji_graph_root(g)->refset, CJI_REF_SET, cji_refset_retain(p.refset), &had)) {
            cji_refset_drop(p.refset);
            cji_fail(a.node, CJ_ENOMEM, call, "no memory to keep the child's resources alive");
        } else {
            if (had) cji_refset_drop(p.refset);
            if (cji_adding_did(&a, a.cu->cuGraphAddChildGraphNode(&a.raw, g->raw, a.dep, a.ndep, p.raw), "cuGraphAddChildGraphNode"))
                a.node->type = CU_GRAPH_NODE_TYPE_GRAPH;
        }
    }
    cj_node *n = cji_adding_end(&a);
    if (p.refset) part_copy_free(&p, child->queue);
    return n;
}

/* -- Conditions ------------------------------------------------------------------------------------------------------ */

uint64_t cj_graph_condition(cj_graph *g, uint32_t at_launch)
{
    static const char call[] = "cj_graph_condition";
    CUgraphConditionalHandle handle = 0;
    cji_ctx ctx;
    if (cji_check(g, CJI_TAG_GRAPH, call) != CJ_OK || cji_graph_enter(g, g, call) != CJ_OK) return 0;
    cj_status st = cji_ctx_begin_calm(g, g->dev, &ctx, call);
    if (st == CJ_OK) {
        CUresult r = g->queue->cu->cuGraphConditionalHandleCreate(&handle, g->raw, g->queue->ctx, at_launch, CU_GRAPH_COND_ASSIGN_DEFAULT);
        cji_ctx_leave(g->dev, &ctx);
        if (r != CUDA_SUCCESS) st = cji_rejected(g, g->dev, r, call, "cuGraphConditionalHandleCreate");
    }
    if (st == CJ_OK) cji_graph_root(g)->conditionals++;
    else cji_graph_incomplete(g);
    cji_graph_leave(g);
    return st == CJ_OK ? handle : 0;
}

/* What must be there before the driver is asked: it cannot be undone. */
static cj_graph *body_make(cj_graph *g, const char *call)
{
    cj_graph *b = cji_obj_new(sizeof *b, CJI_TAG_GRAPH, 0, call);
    if (cji_obj_failed(b)) return NULL;
    pthread_mutex_init(&b->lock, NULL);
    b->root = cji_graph_root(g);
    b->dev = g->dev;
    b->queue = g->queue;
    return b;
}

static bool bodies_make(cji_adding *a, cj_graph **body, size_t count)
{
    cj_graph *g = a->g;
    bool good = cji_grow(&g->body, &g->body_cap, g->nbody + count, sizeof(cj_graph *)) && cji_grow(&g->body_of, &g->body_of_cap, g->nbody + count, sizeof(cj_node *));
    for (size_t i = 0; i < count && good; i++) good = (body[i] = body_make(g, a->call)) != NULL;
    if (!good) cji_fail(a->node, CJ_ENOMEM, a->call, "no memory for %zu bodies", count);
    return good;
}

/* -- Conditional nodes ----------------------------------------------------------------------------------------------- */

/* Hands the bodies over to the graph. */
static void bodies_enter(cji_adding *a, cj_graph **body, const CUDA_CONDITIONAL_NODE_PARAMS *p)
{
    cj_graph *g = a->g;
    a->node->type = CU_GRAPH_NODE_TYPE_CONDITIONAL;
    a->node->condition = (unsigned)p->type;
    for (size_t i = 0; i < p->size; i++) {
        body[i]->raw = p->phGraph_out[i];
        g->body[g->nbody] = body[i];
        g->body_of[g->nbody++] = a->node;
    }
}

static cj_node *conditional_node(cj_graph *g, const cj_nodes *after, CUDA_CONDITIONAL_NODE_PARAMS p, cj_graph **body, const char *call)
{
    cji_adding a;
    size_t count = p.size;
    memset(body, 0, count * sizeof *body);
    if (!cji_adding_begin(&a, g, after, call)) return cji_adding_end(&a);
    if (!p.handle) {
        cji_fail(a.node, CJ_EINVAL, call, "the condition is 0, none; make one with cj_graph_condition");
    } else if (bodies_make(&a, body, count)) {
        CUgraphNodeParams all;
        memset(&all, 0, sizeof all);
        p.ctx = g->queue->ctx;
        all.type = CU_GRAPH_NODE_TYPE_CONDITIONAL;
        all.conditional = p;
        CUresult r = a.cu->cuGraphAddNode(&a.raw, g->raw, a.dep, a.ndep, &all);
        if (r == CUDA_ERROR_INVALID_VALUE && g->dev->drv->version >= 12080)
            cji_cu_fail_as(a.node, g->dev->drv, r, CJ_EINVAL, "cuGraphAddNode", call,
                           "%s: 0x%llx is no condition of this graph, or another node looks at it; make one for each node with cj_graph_condition", call,
                           (unsigned long long)all.conditional.handle);
        else if (cji_adding_did(&a, r, "cuGraphAddNode")) bodies_enter(&a, body, &all.conditional);
    }
    for (size_t i = 0; i < count && !a.raw; i++) {
        if (body[i]) pthread_mutex_destroy(&body[i]->lock);
        cji_obj_delete(body[i], sizeof(cj_graph));
        body[i] = NULL;
    }
    return cji_adding_end(&a);
}

/* A node that fails before it is begun properly: `problem` says why. */
static cj_node *conditional_rejected(cj_graph *g, const cj_nodes *after, const char *call, const char *problem)
{
    cji_adding a;
    if (cji_adding_begin(&a, g, after, call)) cji_fail(a.node, CJ_EINVAL, call, "%s", problem);
    return cji_adding_end(&a);
}

cj_node *cj_graph_if(cj_graph *g, const cj_nodes *after, cj_graph **then, cj_graph **otherwise, uint64_t condition)
{
    static const char call[] = "cj_graph_if";
    cj_graph *body[2] = { NULL, NULL };
    const CUDA_CONDITIONAL_NODE_PARAMS p = { .handle = condition, .type = CU_GRAPH_COND_TYPE_IF, .size = otherwise ? 2 : 1 };
    if (!then) return conditional_rejected(g, after, call, "there is no place for the body");
    cj_node *n = conditional_node(g, after, p, body, call);
    *then = body[0];
    if (otherwise) *otherwise = body[1];
    return n;
}

cj_node *cj_graph_while(cj_graph *g, const cj_nodes *after, cj_graph **body, uint64_t condition)
{
    static const char call[] = "cj_graph_while";
    const CUDA_CONDITIONAL_NODE_PARAMS p = { .handle = condition, .type = CU_GRAPH_COND_TYPE_WHILE, .size = 1 };
    if (!body) return conditional_rejected(g, after, call, "there is no place for the body");
    return conditional_node(g, after, p, body, call);
}

cj_node *cj_graph_switch(cj_graph *g, const cj_nodes *after, cj_graph **bodies, size_t count, uint64_t condition)
{
    static const char call[] = "cj_graph_switch";
    const CUDA_CONDITIONAL_NODE_PARAMS p = { .handle = condition, .type = CU_GRAPH_COND_TYPE_SWITCH, .size = (unsigned)count };
    if (!bodies || !count || count > 65536) return conditional_rejected(g, after, call, "there is no place for the bodies, or their number is not 1 to 65536");
    return conditional_node(g, after, p, bodies, call);
}

/* -- In a kernel ----------------------------------------------------------------------------------------------------- */

void cj_set_condition(cj_fn *f, cj_val handle, cj_val value)
{
    static const char name[] = "cudaGraphSetConditional";
    cj_ptx *m = cj_fn_module(f);
    if (cj_ptx_status(m) != CJ_OK) return; /* it keeps its first failure */
    cj_fn *set = cj_ptx_find(m, name);
    if (cji_obj_failed(set)) {
        set = cj_ptx_extern_func(m, name);
        cj_param(set, "handle", CJ_B64);
        cj_param(set, "value", CJ_B32);
    }
    cj_call_n(f, set, (const cj_val[]){ handle, value }, 2);
}
