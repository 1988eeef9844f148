/* Graphs and what is launched of them. */
#include "stream/streams.h"

/* -- Graphs ---------------------------------------------------------------------------------------------------------- */

size_t cj_graph_count(cj_graph *g)
{
    static const char call[] = "cj_graph_count";
    size_t n = 0;
    cji_ctx ctx;
    if (cji_check(g, CJI_TAG_GRAPH, call) != CJ_OK || cji_ctx_begin(g, g->dev, &ctx, call) != CJ_OK) return 0;
    pthread_mutex_lock(&g->lock);
    CUresult r = g->hub->cu->cuGraphGetNodes(g->raw, NULL, &n);
    pthread_mutex_unlock(&g->lock);
    cji_ctx_leave(g->dev, &ctx);
    if (r == CUDA_SUCCESS) return n;
    cji_refused(g, g->dev, r, call, "cuGraphGetNodes");
    return 0;
}

void *cj_graph_raw(const cj_graph *g) { return cji_check(g, CJI_TAG_GRAPH, "cj_graph_raw") == CJ_OK ? g->raw : NULL; }

static void graph_delete(cj_graph *g)
{
    cj_device *dev = g->dev;
    if (g->raw) g->hub->cu->cuGraphDestroy(g->raw);
    cji_keep_drop(g->keep);
    pthread_mutex_destroy(&g->lock);
    cji_obj_delete(g, sizeof *g);
    cji_device_drop(dev);
}

static void graph_delete_late(cji_late *late) { graph_delete((cj_graph *)((char *)late - offsetof(cj_graph, late))); }

void cj_graph_free(cj_graph *g)
{
    if (!cji_check_free(g, CJI_TAG_GRAPH, "cj_graph_free") || !cji_obj_release(g)) return;
    if (!g->raw) {
        graph_delete(g);
        return;
    }
    cj_device *dev = cji_obj_retain(g->dev);
    g->late.run = graph_delete_late;
    cji_late_put(&dev->hub, &g->late, 0);
    cji_late_poll(&dev->hub, CJI_LATE_STEP);
    cji_device_drop(dev);
}

/* -- Execs ----------------------------------------------------------------------------------------------------------- */

void cj_exec_defaults(cj_exec_opts *opts)
{
    if (opts) *opts = (cj_exec_opts){ .size = sizeof *opts };
}

static void exec_instantiate(cj_exec *x, cj_graph *g, const cj_exec_opts *o, const char *call)
{
    unsigned long long flags = o->node_priorities ? CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY : 0;
    cji_ctx ctx;
    if (cji_ctx_begin(x, x->dev, &ctx, call) != CJ_OK) return;
    CUstreamCaptureMode mode = cji_relax(x->hub);
    pthread_mutex_lock(&g->lock);
    CUresult r = x->hub->cu->cuGraphInstantiateWithFlags(&x->raw, g->raw, flags);
    pthread_mutex_unlock(&g->lock);
    cji_unrelax(x->hub, mode);
    cji_ctx_leave(x->dev, &ctx);
    if (r == CUDA_SUCCESS) return;
    x->raw = NULL;
    cji_refused(x, x->dev, r, call, "cuGraphInstantiateWithFlags");
}

cj_exec *cj_graph_instantiate(cj_graph *g, const cj_exec_opts *opts)
{
    static const char call[] = "cj_graph_instantiate";
    cj_exec_opts o;
    cj_exec *x = cji_obj_new(sizeof *x, CJI_TAG_EXEC, 0, call);
    if (cji_obj_failed(x)) return x;
    pthread_mutex_init(&x->lock, NULL);
    cj_exec_defaults(&o);
    if (cji_check_arg(x, g, CJI_TAG_GRAPH, call, "the graph") == CJ_OK && cji_opts_take(&o, sizeof o, opts, x, call, "cj_exec")) {
        x->dev = cji_obj_retain(g->dev);
        x->hub = g->hub;
        x->keep = cji_keep_retain(g->keep);
        cji_late_poll(x->hub, CJI_LATE_STEP);
        exec_instantiate(x, g, &o, call);
    }
    if (!x->raw) cji_obj_set_failed(x);
    return x;
}

void *cj_exec_raw(const cj_exec *x) { return cji_check(x, CJI_TAG_EXEC, "cj_exec_raw") == CJ_OK ? x->raw : NULL; }

/* A failure that is left in both, exec and stream. */
static cj_status exec_fail_both(cj_stream *s, cj_status st)
{
    cji_fail_with(s, cj_error_last());
    return cji_stream_failed(s, st);
}

/* Launched inside a capture, the exec's graph becomes a part of another one, which keeps what it keeps. */
static cj_status exec_keep(cj_exec *x, cj_stream *s, const char *call)
{
    cji_capture *c = cji_capture_of(s);
    if (!c) return CJ_OK;
    bool had = false;
    bool kept = cji_keep_add(cji_capture_keep(c), CJI_KEPT_KEEP, cji_keep_retain(x->keep), &had);
    if (!kept || had) cji_keep_drop(x->keep);
    cji_capture_drop(c);
    return kept ? CJ_OK : cji_fail(x, CJ_ENOMEM, call, "%s: no memory to keep the graph's resources alive for another graph", call);
}

static CUresult exec_give(cj_exec *x, cj_stream *s)
{
    pthread_mutex_lock(&x->lock);
    CUresult r = s->cu->cuGraphLaunch(x->raw, s->raw);
    pthread_mutex_unlock(&x->lock);
    return r;
}

cj_status cj_exec_launch(cj_exec *x, cj_stream *s)
{
    static const char call[] = "cj_exec_launch";
    cj_status st = cji_check(x, CJI_TAG_EXEC, call);
    if (st != CJ_OK) return cji_check(s, CJI_TAG_STREAM, call) == CJ_OK ? cji_stream_failed(s, cji_check_arg(s, x, CJI_TAG_EXEC, call, "the exec")) : st;
    st = cji_check_arg(x, s, CJI_TAG_STREAM, call, "the stream");
    if (st != CJ_OK) return st;
    if (!cji_same_device(x->hub, s->hub))
        return exec_fail_both(s, cji_fail(x, CJ_EINVAL, call, "%s: the graph was captured on device %d, the stream is of device %d", call,
                                          cj_device_ordinal(x->dev), cj_device_ordinal(s->dev)));
    st = exec_keep(x, s, call);
    if (st != CJ_OK) return exec_fail_both(s, st);
    bool tried = cji_may_try(s);
    cji_used(&x->used, s->bit);
    CUresult r = tried ? exec_give(x, s) : CUDA_SUCCESS;
    if (!tried || r != CUDA_SUCCESS) {
        cji_ctx ctx;
        st = cji_ctx_begin(x, x->dev, &ctx, call);
        if (st != CJ_OK) return exec_fail_both(s, st);
        cji_note_current(s, &ctx);
        if (!tried || ctx.pushed) r = exec_give(x, s);
        cji_ctx_leave(x->dev, &ctx);
    }
    cji_late_poll(s->hub, 1);
    if (r == CUDA_SUCCESS) cji_count_one(s);
    return r == CUDA_SUCCESS ? CJ_OK : exec_fail_both(s, cji_refused(x, x->dev, r, call, "cuGraphLaunch"));
}

static void exec_delete(cj_exec *x)
{
    cj_device *dev = x->dev;
    if (x->raw) x->hub->cu->cuGraphExecDestroy(x->raw);
    cji_keep_drop(x->keep);
    pthread_mutex_destroy(&x->lock);
    cji_obj_delete(x, sizeof *x);
    cji_device_drop(dev);
}

static void exec_delete_late(cji_late *late) { exec_delete((cj_exec *)((char *)late - offsetof(cj_exec, late))); }

void cj_exec_free(cj_exec *x)
{
    if (!cji_check_free(x, CJI_TAG_EXEC, "cj_exec_free") || !cji_obj_release(x)) return;
    if (!x->raw) {
        exec_delete(x);
        return;
    }
    cj_device *dev = cji_obj_retain(x->dev);
    x->late.run = exec_delete_late;
    cji_late_put(&dev->hub, &x->late, atomic_load(&x->used));
    cji_late_poll(&dev->hub, CJI_LATE_STEP);
    cji_device_drop(dev);
}
