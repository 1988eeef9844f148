/* Executable graphs: made of graphs, launched, released. */
#include "base/cancel.h"
#include "stream/core/work_hooks.h"
#include "stream/graph/stream_graph.h"

void cj_graph_exec_defaults(cj_graph_exec_opts *opts)
{
    if (opts) *opts = (cj_graph_exec_opts){ .size = sizeof *opts };
}

/* Asks the driver once more, this time for the reason; where it works now, that is the exec. */
static CUresult exec_reason(cj_graph_exec *x, CUgraph raw, unsigned long long flags, const char **reason)
{
    static const char *const reasons[] = {
        "",
        "",
        "its dependencies form a cycle, or its structure is not allowed",
        "a body of a conditional node has a node that is not allowed there, as host functions and events",
        "its nodes are of several contexts",
        "it has a condition without a conditional node"
    };
    CUDA_GRAPH_INSTANTIATE_PARAMS p = { .flags = flags };
    x->raw = NULL;
    CUresult r = x->queue->cu->cuGraphInstantiateWithParams(&x->raw, raw, &p);
    *reason =
        r != CUDA_SUCCESS && (unsigned)p.result_out < sizeof reasons / sizeof *reasons ? reasons[p.result_out] : "";
    return r;
}

/* With the graph's lock held. */
static void exec_instantiate_locked(cj_graph_exec *x, cj_graph *g, const cj_graph_exec_opts *o, const char *call)
{
    unsigned long long flags = (o->node_priorities ? CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY : 0) |
                               (o->auto_free ? CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH : 0);
    const char *reason = "";
    cji_scope scope;
    if (g->incomplete) {
        cji_fail_with(x, &g->why);
        return;
    }
    if (!(x->refset = cji_graph_snapshot(g))) {
        cji_fail(x, CJ_ENOMEM, call, "no memory to keep the graph's resources alive");
        return;
    }
    if (!cji_graph_memory_copy(g, &x->memory)) {
        cji_fail(x, CJ_ENOMEM, call, "no memory for what the graph allocates and frees");
        return;
    }
    x->nmemory = g->nmemory;
    x->auto_free = o->auto_free != 0;
    if (cji_scope_begin_relaxed(x, x->dev, &scope, call) != CJ_OK) return;
    const bool once = g->nmemory || g->conditionals;          /* it has one exec at a time */
    if (once) cji_deferred_drain(x->queue, CJI_DEFERRED_ALL); /* an exec that was freed may still be there */
    CUresult r = x->queue->cu->cuGraphInstantiateWithFlags(&x->raw, g->raw, flags);
    if (r == CUDA_ERROR_INVALID_VALUE && !x->dev->drv->missing[CJI_CU_ID_cuGraphInstantiateWithParams])
        r = exec_reason(x, g->raw, flags, &reason);
    cji_scope_leave(&scope);
    if (r == CUDA_SUCCESS) {
        cji_graph_memory_seal(g);
        return;
    }
    x->raw = NULL;
    if (r == CUDA_ERROR_NOT_SUPPORTED && once)
        cji_cu_fail_as(
            x, x->dev, r, CJ_ESTATE, "cuGraphInstantiateWithFlags", call,
            "%s: the graph has nodes of memory or conditions, and an exec; there is one at a time: free that one, "
            "and wait for its launches, first",
            call);
    else if (*reason)
        cji_cu_fail_as(x, x->dev, r, CJ_EINVAL, "cuGraphInstantiateWithFlags", call,
                       "%s: the graph cannot be launched: %s", call, reason);
    else cji_rejected(x, x->dev, r, call, "cuGraphInstantiateWithFlags");
}

static void exec_instantiate(cj_graph_exec *x, cj_graph *g, const cj_graph_exec_opts *o, const char *call)
{
    if (g->root) {
        cji_fail(x, CJ_EINVAL, call,
                 "a body is launched by its conditional node; instantiate the graph that it belongs to");
        return;
    }
    if (cji_graph_enter(g, x, call) != CJ_OK) return;
    exec_instantiate_locked(x, g, o, call);
    cji_graph_leave(g);
}

cj_graph_exec *cj_graph_instantiate(cj_graph *g, const cj_graph_exec_opts *opts)
{
    static const char call[] = "cj_graph_instantiate";
    cj_graph_exec_opts o;
    cj_graph_exec *x = cji_obj_new(sizeof *x, CJI_TAG_GRAPH_EXEC, 0, call);
    if (cji_obj_failed(x)) return x;
    pthread_mutex_init(&x->lock, NULL);
    cj_graph_exec_defaults(&o);
    if (cji_check_arg(x, g, CJI_TAG_GRAPH, call, "the graph") == CJ_OK &&
        cji_opts_take(&o, sizeof o, opts, x, call, "cj_graph_exec")) {
        x->dev = cji_obj_retain(g->dev);
        x->queue = g->queue;
        x->source = g->obj.serial;
        cji_deferred_poll(x->queue, CJI_DEFERRED_STEP);
        exec_instantiate(x, g, &o, call);
    }
    if (!x->raw) cji_obj_set_failed(x);
    return x;
}

void *cj_graph_exec_raw(const cj_graph_exec *x)
{
    return cji_check(x, CJI_TAG_GRAPH_EXEC, "cj_graph_exec_raw") == CJ_OK ? x->raw : NULL;
}

/* A failure that is left in both, exec and stream. */
static cj_status exec_fail_both(cj_stream *s, cj_status st)
{
    cji_fail_with(s, cj_error_last());
    return cji_stream_failed(s, st);
}

/* Enqueues the launch or the upload.  *wrong: memory that forbids the launch. */
static CUresult exec_enqueue(cj_graph_exec *x, cj_stream *s, bool launch, cji_mem_wrong *wrong)
{
    CJI_NO_CANCEL;
    cji_lock(&x->lock, CJI_LOCK_GRAPH_EXEC);
    *wrong = launch && x->nmemory ? cji_graph_exec_memory_ready(x, s) : (cji_mem_wrong){ 0, 0 };
    CUresult r = wrong->addr ? CUDA_ERROR_INVALID_VALUE
                 : launch    ? s->cu->cuGraphLaunch(x->raw, s->raw)
                             : s->cu->cuGraphUpload(x->raw, s->raw);
    if (launch && r == CUDA_SUCCESS && x->nmemory) cji_graph_exec_memory_launched(x, s);
    cji_unlock(&x->lock, CJI_LOCK_GRAPH_EXEC);
    return r;
}

static cj_status exec_start(cj_graph_exec *x, cj_stream *s, bool launch, const char *call);

static CJI_COLD cj_status exec_measured(cj_graph_exec *x, cj_stream *s, const char *call)
{
    cji_work w;
    cji_work_begin(&w, s);
    cj_status st = exec_start(x, s, true, call);
    cji_work_end(&w, s, st == CJ_OK, &(cji_work_info){ .kind = CJ_PROFILE_GRAPH, .name = "" });
    return st;
}

static cj_status exec_start(cj_graph_exec *x, cj_stream *s, bool launch, const char *call)
{
    cj_status st = cji_check(x, CJI_TAG_GRAPH_EXEC, call);
    if (st != CJ_OK)
        return cji_check(s, CJI_TAG_STREAM, call) == CJ_OK
                   ? cji_stream_failed(s, cji_check_arg(s, x, CJI_TAG_GRAPH_EXEC, call, "the exec"))
                   : st;
    st = cji_check_arg(x, s, CJI_TAG_STREAM, call, "the stream");
    if (st != CJ_OK) return st;
    if (launch && cji_work_measured()) return exec_measured(x, s, call);
    if (!cji_same_device(x->queue, s->queue))
        return exec_fail_both(s, cji_cu_fail_apart(x, x->dev, s->dev, call,
                                                   "the graph was captured on device %d, the stream is of device %d",
                                                   cj_device_ordinal(x->dev), cj_device_ordinal(s->dev)));
    if (atomic_load(&s->capturing)) /* the driver would refuse and break the capture */
        return exec_fail_both(
            s, cji_fail(
                   x, CJ_ESTATE, call,
                   "the stream is being captured; %s on another one, or put the graph into another with cj_graph_child",
                   launch ? "launch" : "upload"));
    if (launch && x->nmemory) cji_graph_exec_memory_wait(x);
    cji_used(&x->used, s->bit);
    cji_mem_wrong wrong = { 0, 0 };
    const bool tried = cji_may_try(s);
    CUresult r = tried ? exec_enqueue(x, s, launch, &wrong) : CUDA_SUCCESS;
    if (!tried || (r != CUDA_SUCCESS && !wrong.addr)) {
        cji_scope scope;
        st = cji_scope_begin(x, x->dev, &scope, call);
        if (st != CJ_OK) return exec_fail_both(s, st);
        cji_note_context(s, &scope);
        if (!tried || cji_try_again(r, &scope)) r = exec_enqueue(x, s, launch, &wrong);
        cji_scope_leave(&scope);
    }
    cji_deferred_poll(s->queue, 1);
    if (r == CUDA_SUCCESS && launch) cji_count_one(s);
    if (s->proxy) cji_proxy_follow(s);
    if (wrong.addr) return exec_fail_both(s, cji_graph_exec_memory_rejected(x, &wrong, call));
    return r == CUDA_SUCCESS
               ? CJ_OK
               : exec_fail_both(s, cji_rejected(x, x->dev, r, call, launch ? "cuGraphLaunch" : "cuGraphUpload"));
}

cj_status cj_graph_launch(cj_stream *s, cj_graph_exec *x) { return exec_start(x, s, true, "cj_graph_launch"); }
cj_status cj_graph_upload(cj_stream *s, cj_graph_exec *x) { return exec_start(x, s, false, "cj_graph_upload"); }

static void exec_delete(cj_graph_exec *x)
{
    cj_device *dev = x->dev;
    if (x->raw) x->queue->cu->cuGraphExecDestroy(x->raw);
    cji_refset_drop(x->refset);
    cji_refset_drop(x->own);
    cji_graph_exec_fills_forget(x);
    cji_free(x->memory, x->nmemory * sizeof *x->memory);
    pthread_mutex_destroy(&x->lock);
    cji_obj_delete(x, sizeof *x);
    cji_device_drop(dev);
}

static void exec_delete_deferred(cji_deferred *deferred)
{
    exec_delete((cj_graph_exec *)((char *)deferred - offsetof(cj_graph_exec, deferred)));
}

void cj_graph_exec_free(cj_graph_exec *x)
{
    if (!cji_check_free(x, CJI_TAG_GRAPH_EXEC, "cj_graph_exec_free") || !cji_obj_release(x)) return;
    if (!x->raw) {
        exec_delete(x);
        return;
    }
    cj_device *dev = cji_obj_retain(x->dev);
    x->deferred.run = exec_delete_deferred;
    cji_defer(&dev->queue, &x->deferred, atomic_load(&x->used));
    cji_deferred_poll(&dev->queue, CJI_DEFERRED_STEP);
    cji_device_drop(dev);
}
