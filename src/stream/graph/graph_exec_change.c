/* Executable graphs changed: updated as a whole, one kernel's arguments in place, nodes left out. */
#include "stream/graph/stream_graph.h"

/* -- What was retained until now ----------------------------------------------------------------------------------- */

/* Reference sets that launches under way may still need. */
typedef struct exec_past {
    cji_deferred deferred;
    cj_device *dev;
    cji_refset *refset, *own;
} exec_past;

static void exec_past_deferred(cji_deferred *deferred)
{
    exec_past *p = (exec_past *)((char *)deferred - offsetof(exec_past, deferred));
    cj_device *dev = p->dev;
    cji_refset_drop(p->refset);
    cji_refset_drop(p->own);
    cji_free(p, sizeof *p);
    cji_device_drop(dev);
}

/* The exec retains what `fresh` does from now on; its lock is held. */
static void exec_replace_refset(cj_graph_exec *x, cji_refset *fresh, exec_past *past)
{
    *past = (exec_past){
        .deferred = { .run = exec_past_deferred }, .dev = cji_obj_retain(x->dev), .refset = x->refset, .own = x->own
    };
    x->refset = fresh;
    x->own = NULL;
}

/* The exec allocates and frees from now on what the list says, and the list becomes what it did; its lock is held. */
static void exec_replace_memory(cj_graph_exec *x, cji_graph_mem **list, size_t *n)
{
    cji_graph_mem *old = x->memory;
    const size_t nold = x->nmemory;
    x->memory = *list;
    x->nmemory = *n;
    *list = old;
    *n = nold;
}

/* -- The whole ----------------------------------------------------------------------------------------------------- */

static const char *update_reason(CUgraphExecUpdateResult result)
{
    switch (result) {
    case CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED: return "its nodes and their order differ";
    case CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED: return "a node is of another kind";
    case CU_GRAPH_EXEC_UPDATE_ERROR_FUNCTION_CHANGED:
        return "a node has another kernel, which this driver cannot change";
    case CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED:
        return "a node differs in what an update cannot change, as the device or kind of a copy";
    case CU_GRAPH_EXEC_UPDATE_ERROR_NOT_SUPPORTED: return "a node differs, and nodes like it cannot be updated";
    case CU_GRAPH_EXEC_UPDATE_ERROR_UNSUPPORTED_FUNCTION_CHANGE:
        return "a node has another kernel that uses other features of the device";
    case CU_GRAPH_EXEC_UPDATE_ERROR_ATTRIBUTES_CHANGED:
        return "a kernel's attributes differ, as its priority or cluster";
    default: return "the driver does not say why";
    }
}

/* Locks held, context current. */
static CUresult exec_update_raw(cj_graph_exec *x, CUgraph raw, CUgraphExecUpdateResult *result, const char **cu_call)
{
    const cji_cu *cu = x->queue->cu;
    CUgraphExecUpdateResultInfo info = { .result = CU_GRAPH_EXEC_UPDATE_ERROR };
    CUgraphNode node = NULL;
    CUresult r;
    *result = CU_GRAPH_EXEC_UPDATE_ERROR;
    if (x->dev->drv->missing[CJI_CU_ID_cuGraphExecUpdate_v2]) {
        *cu_call = "cuGraphExecUpdate";
        return cu->cuGraphExecUpdate(x->raw, raw, &node, result);
    }
    *cu_call = "cuGraphExecUpdate_v2";
    r = cu->cuGraphExecUpdate_v2(x->raw, raw, &info);
    *result = info.result;
    return r;
}

/* With the graph's lock held. */
static cj_status exec_update_locked(cj_graph_exec *x, cj_graph *g, const char *call)
{
    CUgraphExecUpdateResult result;
    const char *cu_call;
    cji_scope scope;
    if (g->incomplete) return cji_fail_with(x, &g->why);
    cji_refset *fresh = cji_graph_snapshot(g);
    exec_past *past = cji_alloc(sizeof *past);
    cji_graph_mem *memory = NULL;
    size_t nmemory = g->nmemory;
    cj_status st = fresh && past && cji_graph_memory_copy(g, &memory)
                       ? cji_scope_begin_relaxed(x, x->dev, &scope, call)
                       : cji_fail(x, CJ_ENOMEM, call, "no memory to keep the graph's resources alive");
    bool done = false;
    if (st == CJ_OK) {
        cji_lock(&x->lock, CJI_LOCK_GRAPH_EXEC);
        bool left_out = cji_graph_exec_has_fills_out(x);
        CUresult r = left_out ? CUDA_SUCCESS : exec_update_raw(x, g->raw, &result, &cu_call);
        done = r == CUDA_SUCCESS && !left_out;
        if (done) {
            exec_replace_refset(x, fresh, past);
            exec_replace_memory(x, &memory, &nmemory);
            cji_graph_exec_fills_forget(x);
            x->updated = true;
        }
        cji_unlock(&x->lock, CJI_LOCK_GRAPH_EXEC);
        cji_scope_leave(&scope);
        if (left_out)
            st = cji_fail(x, CJ_ESTATE, call,
                          "fills are left out of the exec; let them be done again with cj_graph_exec_enable first");
        else if (r == CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE)
            st = cji_cu_fail_as(x, x->dev, r, CJ_ENOTSUP, cu_call, call,
                                "%s: the graph cannot update this exec: %s; instantiate it", call,
                                update_reason(result));
        else if (!done) st = cji_rejected(x, x->dev, r, call, cu_call);
    }
    if (done) {
        cji_defer(x->queue, &past->deferred, atomic_load(&x->used));
    } else {
        cji_refset_drop(fresh);
        cji_free(past, sizeof *past);
    }
    cji_free(memory, nmemory * sizeof *memory);
    return st;
}

cj_status cj_graph_exec_update(cj_graph_exec *x, cj_graph *g)
{
    static const char call[] = "cj_graph_exec_update";
    cj_status st = cji_check(x, CJI_TAG_GRAPH_EXEC, call);
    if (st == CJ_OK) st = cji_check_arg(x, g, CJI_TAG_GRAPH, call, "the graph");
    if (st != CJ_OK) return st;
    if (g->root)
        return cji_fail(x, CJ_EINVAL, call,
                        "a body is launched by its conditional node; update from the graph that it belongs to");
    if (!cji_same_device(x->queue, g->queue))
        return cji_cu_fail_apart(x, x->dev, g->dev, call, "the exec is for device %d, the graph for device %d",
                                 cj_device_ordinal(x->dev), cj_device_ordinal(g->dev));
    st = cji_graph_enter(g, x, call);
    if (st != CJ_OK) return st;
    st = exec_update_locked(x, g, call);
    cji_graph_leave(g);
    cji_deferred_poll(x->queue, CJI_DEFERRED_STEP);
    return st;
}

/* -- One node ------------------------------------------------------------------------------------------------------ */

/* The exec knows the nodes of the graph that it was made of. */
static cj_status exec_node_check(cj_graph_exec *x, const cj_node *n, const char *call)
{
    cj_status st = cji_check(x, CJI_TAG_GRAPH_EXEC, call);
    if (st == CJ_OK) st = cji_check_arg(x, n, CJI_TAG_NODE, call, "the node");
    if (st != CJ_OK || n->graph->obj.serial == x->source) return st;
    return cji_fail(x, CJ_EINVAL, call,
                    "the node is of another graph than the one that the exec was instantiated from");
}

/* The exec retains the memory that the arguments point into; its lock is held. */
static cj_status exec_args_retain(cj_graph_exec *x, const cj_arg *args, size_t count, const char *call)
{
    for (size_t i = 0; i < count; i++) {
        if (args[i].kind != CJ_ARG_PTR) continue;
        if (!x->own && !(x->own = cji_refset_new()))
            return cji_fail(x, CJ_ENOMEM, call, "no memory for what the exec keeps alive");
        cj_status st = cji_mem_retain_argument(x->dev, x->own, x, args[i].v.u, call);
        if (st != CJ_OK) return st;
    }
    return CJ_OK;
}

/* The node is known, context current. */
static cj_status exec_kernel_change(cj_graph_exec *x, const cj_node *n, const cj_dims *dims, const cj_arg *args,
                                    size_t count, const char *call)
{
    CUDA_KERNEL_NODE_PARAMS_v2 p;
    cji_pack pack;
    cj_status st = cji_dims_check(x, n->launch->kernel, dims, call);
    if (st == CJ_OK) st = cji_kernel_pack(x, n->launch->kernel, args, count, &pack, call);
    if (st != CJ_OK) return st;
    CUresult r = cji_kernel_allow_shared(n->launch->kernel, dims->shared);
    if (r != CUDA_SUCCESS) st = cji_kernel_rejected(x, n->launch->kernel, NULL, r, "cuFuncSetAttribute", dims, call);
    cji_lock(&x->lock, CJI_LOCK_GRAPH_EXEC);
    if (st == CJ_OK) st = exec_args_retain(x, args, count, call);
    if (st == CJ_OK) {
        cji_kernel_params(n->launch->kernel, dims, pack.ptr, &p);
        r = x->queue->cu->cuGraphExecKernelNodeSetParams(x->raw, n->raw, &p);
        if (r != CUDA_SUCCESS) st = cji_rejected(x, x->dev, r, call, "cuGraphExecKernelNodeSetParams");
    }
    cji_unlock(&x->lock, CJI_LOCK_GRAPH_EXEC);
    cji_pack_free(&pack);
    return st;
}

cj_status cj_graph_exec_set_kernel_n(cj_graph_exec *x, cj_node *n, const cj_dims *dims, const cj_arg *args,
                                     size_t count)
{
    static const char call[] = "cj_exec_set_kernel";
    cji_scope scope;
    cj_status st = exec_node_check(x, n, call);
    if (st != CJ_OK) return st;
    if (count && !args) return cji_fail(x, CJ_EINVAL, call, "%zu arguments at NULL", count);
    st = cji_graph_enter(n->graph, x, call);
    if (st != CJ_OK) return st;
    st = cji_scope_begin_relaxed(x, x->dev, &scope, call);
    if (st == CJ_OK) {
        st = cji_node_read(n, x, call);
        if (st == CJ_OK) st = exec_kernel_change(x, n, dims ? dims : &n->launch->dims, args, count, call);
        cji_scope_leave(&scope);
    }
    cji_graph_leave(n->graph);
    return st;
}

/* What a node does that is to be left out or done again; with the graph's lock held, context current. */
static cj_status exec_fill_ask(cj_graph_exec *x, const cj_node *n, CUDA_MEMSET_NODE_PARAMS *does, const char *call)
{
    CUresult r = x->queue->cu->cuGraphMemsetNodeGetParams(n->raw, does);
    return r == CUDA_SUCCESS ? CJ_OK : cji_rejected(x, x->dev, r, call, "cuGraphMemsetNodeGetParams");
}

static cj_status exec_enable_locked(cj_graph_exec *x, const cj_node *n, const CUDA_MEMSET_NODE_PARAMS *does,
                                    int enabled, const char *call)
{
    if (does->height == 1) return cji_graph_exec_fill_enable(x, n, does, enabled != 0, call);
    CUresult r = x->queue->cu->cuGraphNodeSetEnabled(x->raw, n->raw, enabled != 0);
    return r == CUDA_SUCCESS ? CJ_OK : cji_rejected(x, x->dev, r, call, "cuGraphNodeSetEnabled");
}

cj_status cj_graph_exec_enable(cj_graph_exec *x, cj_node *n, int enabled)
{
    static const char call[] = "cj_graph_exec_enable";
    CUDA_MEMSET_NODE_PARAMS does = { .height = 0 };
    cji_scope scope;
    cj_status st = exec_node_check(x, n, call);
    if (st != CJ_OK) return st;
    if (n->type != CU_GRAPH_NODE_TYPE_KERNEL && n->type != CU_GRAPH_NODE_TYPE_MEMCPY &&
        n->type != CU_GRAPH_NODE_TYPE_MEMSET)
        return cji_fail(x, CJ_EINVAL, call, "the node is no kernel, copy or fill, so it cannot be left out");
    st = cji_graph_enter(n->graph, x, call);
    if (st != CJ_OK) return st;
    st = cji_scope_begin_relaxed(x, x->dev, &scope, call);
    if (st == CJ_OK) {
        if (n->type == CU_GRAPH_NODE_TYPE_MEMSET) st = exec_fill_ask(x, n, &does, call);
        cji_lock(&x->lock, CJI_LOCK_GRAPH_EXEC);
        if (st == CJ_OK) st = exec_enable_locked(x, n, &does, enabled, call);
        cji_unlock(&x->lock, CJI_LOCK_GRAPH_EXEC);
        cji_scope_leave(&scope);
    }
    cji_graph_leave(n->graph);
    return st;
}
