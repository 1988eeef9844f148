/* Conditions, conditional nodes and their bodies. */
#include "stream/graph/stream_graph.h"

#include <string.h>

/* -- Conditions ---------------------------------------------------------------------------------------------------- */

uint64_t cj_graph_condition(cj_graph *g, uint32_t initial)
{
    static const char call[] = "cj_graph_condition";
    CUgraphConditionalHandle handle = 0;
    cji_scope scope;
    if (cji_check(g, CJI_TAG_GRAPH, call) != CJ_OK || cji_graph_enter_needed(g, g, call) != CJ_OK) return 0;
    cj_status st = cji_scope_begin_relaxed(g, g->dev, &scope, call);
    if (st == CJ_OK) {
        CUresult r = g->queue->cu->cuGraphConditionalHandleCreate(&handle, g->raw, g->queue->ctx, initial,
                                                                  CU_GRAPH_COND_ASSIGN_DEFAULT);
        cji_scope_leave(&scope);
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
    bool good = cji_grow(&g->body, &g->body_cap, g->nbody + count, sizeof(cj_graph *)) &&
                cji_grow(&g->body_of, &g->body_of_cap, g->nbody + count, sizeof(cj_node *));
    for (size_t i = 0; i < count && good; i++) good = (body[i] = body_make(g, a->call)) != NULL;
    if (!good) cji_fail(a->node, CJ_ENOMEM, a->call, "no memory for %zu bodies", count);
    return good;
}

/* -- Conditional nodes --------------------------------------------------------------------------------------------- */

/* Hands the bodies over to the graph. */
static void bodies_enter(cji_adding *a, cj_graph **body, const CUDA_CONDITIONAL_NODE_PARAMS *p)
{
    cj_graph *g = a->g;
    a->node->condition = (unsigned)p->type;
    for (size_t i = 0; i < p->size; i++) {
        body[i]->raw = p->phGraph_out[i];
        g->body[g->nbody] = body[i];
        g->body_of[g->nbody++] = a->node;
    }
}

static cj_node *conditional_node(cj_graph *g, const cj_nodes *after, CUDA_CONDITIONAL_NODE_PARAMS p, cj_graph **body,
                                 const char *call)
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
            cji_cu_fail_as(
                a.node, g->dev, r, CJ_EINVAL, "cuGraphAddNode", call,
                "%s: 0x%llx is not a condition of this graph, or another node tests it; make one for each node with "
                "cj_graph_condition",
                call, (unsigned long long)all.conditional.handle);
        else if (cji_adding_did(&a, r, CU_GRAPH_NODE_TYPE_CONDITIONAL, "cuGraphAddNode"))
            bodies_enter(&a, body, &all.conditional);
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
    const CUDA_CONDITIONAL_NODE_PARAMS p = { .handle = condition,
                                             .type = CU_GRAPH_COND_TYPE_IF,
                                             .size = otherwise ? 2 : 1 };
    if (!then) return conditional_rejected(g, after, call, "`then` is NULL, there is no place for the body");
    cj_node *n = conditional_node(g, after, p, body, call);
    *then = body[0];
    if (otherwise) *otherwise = body[1];
    return n;
}

cj_node *cj_graph_while(cj_graph *g, const cj_nodes *after, cj_graph **body, uint64_t condition)
{
    static const char call[] = "cj_graph_while";
    const CUDA_CONDITIONAL_NODE_PARAMS p = { .handle = condition, .type = CU_GRAPH_COND_TYPE_WHILE, .size = 1 };
    if (!body) return conditional_rejected(g, after, call, "`body` is NULL, there is no place for the body");
    return conditional_node(g, after, p, body, call);
}

cj_node *cj_graph_switch(cj_graph *g, const cj_nodes *after, cj_graph **bodies, size_t count, uint64_t condition)
{
    static const char call[] = "cj_graph_switch";
    const CUDA_CONDITIONAL_NODE_PARAMS p = { .handle = condition,
                                             .type = CU_GRAPH_COND_TYPE_SWITCH,
                                             .size = (unsigned)count };
    if (!bodies || !count || count > 65536)
        return conditional_rejected(g, after, call, "`bodies` is NULL, or their number is not 1 to 65536");
    return conditional_node(g, after, p, bodies, call);
}

/* -- In a kernel --------------------------------------------------------------------------------------------------- */

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
