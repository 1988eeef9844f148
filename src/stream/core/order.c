/* Order and waiting: waits on events, fork and join, synchronising, queries, host functions. */
#include "stream/core/stream_core.h"

/* -- Waiting on the device ------------------------------------------------------------------------------------------- */

/* Around a call that may draw `s` into the capture `c` (NULL: there is none) of a stream of another device: no release of its own device may be looking at it
 * just then, as asking about a captured stream breaks the capture.  On the capture's own device none runs anyway. */
static void order_join_begin(const cji_capture *c, const cji_release_queue *from, const cj_stream *s)
{
    if (c && s->queue != from) cji_release_queue_captures(s->queue, 1);
}
static void order_join_end(const cji_capture *c, const cji_release_queue *from, const cj_stream *s)
{
    if (c && s->queue != from) cji_release_queue_captures(s->queue, -1);
}

cj_status cj_stream_wait(cj_stream *s, cj_event *e)
{
    static const char call[] = "cj_stream_wait";
    cj_status st = cji_check(s, CJI_TAG_STREAM, call);
    if (st != CJ_OK) return st;
    st = cji_check_arg(s, e, CJI_TAG_EVENT, call, "the event");
    if (st != CJ_OK) return cji_stream_failed(s, st);
    if (s->cu != e->cu)
        return cji_stream_failed(s, cji_fail(s, CJ_EINVAL, call, "stream and event belong to two drivers, which cannot wait for each other"));
    cji_ctx ctx;
    st = cji_ctx_begin(s, s->dev, &ctx, call);
    if (st != CJ_OK) return cji_stream_failed(s, st);
    pthread_mutex_lock(&e->lock);
    cji_capture *c = e->capture && cji_capture_open(e->capture) ? cji_capture_retain(e->capture) : NULL;
    order_join_begin(c, e->queue, s);
    CUresult r = s->cu->cuStreamWaitEvent(s->raw, e->raw, 0);
    pthread_mutex_unlock(&e->lock);
    cji_ctx_leave(s->dev, &ctx);
    if (c && r == CUDA_SUCCESS) cji_capture_join(c, s);
    order_join_end(c, e->queue, s);
    cji_capture_drop(c);
    if (r == CUDA_SUCCESS) cji_count_one(s);
    return r == CUDA_SUCCESS ? CJ_OK : cji_stream_failed(s, cji_event_rejected(s, e, r, call, "cuStreamWaitEvent"));
}

/* With the lock of `from` held. */
static CUresult stream_order_locked(cj_stream *from, CUstream to, const char **cu_call)
{
    CUresult r = CUDA_SUCCESS;
    *cu_call = "cuEventCreate";
    if (!from->order) r = from->cu->cuEventCreate(&from->order, CU_EVENT_DISABLE_TIMING);
    if (r != CUDA_SUCCESS) return r;
    *cu_call = "cuEventRecord";
    r = from->cu->cuEventRecord(from->order, from->raw);
    if (r != CUDA_SUCCESS) return r;
    *cu_call = "cuStreamWaitEvent";
    return from->cu->cuStreamWaitEvent(to, from->order, 0);
}

CUresult cji_stream_order_raw(cj_stream *from, CUstream to, const char **cu_call)
{
    pthread_mutex_lock(&from->lock);
    CUresult r = stream_order_locked(from, to, cu_call);
    pthread_mutex_unlock(&from->lock);
    return r;
}

CUresult cji_stream_chain(cj_stream *from, cj_stream *to, const char **cu_call)
{
    cji_capture *c = cji_capture_of(from);
    order_join_begin(c, from->queue, to);
    pthread_mutex_lock(&from->lock);
    CUresult r = stream_order_locked(from, to->raw, cu_call);
    pthread_mutex_unlock(&from->lock);
    if (c && r == CUDA_SUCCESS) cji_capture_join(c, to);
    order_join_end(c, from->queue, to);
    cji_capture_drop(c);
    return r;
}

/* Both directions; a failure is left in `s`, the first argument. */
static cj_status stream_order(cj_stream *s, cj_stream *t, bool fork, const char *call)
{
    cj_status st = cji_check(s, CJI_TAG_STREAM, call);
    if (st != CJ_OK) return st;
    st = cji_check_arg(s, t, CJI_TAG_STREAM, call, "the second stream");
    if (st != CJ_OK) return cji_stream_failed(s, st);
    if (s == t) return CJ_OK;
    if (s->cu != t->cu)
        return cji_stream_failed(s, cji_fail(s, CJ_EINVAL, call, "the streams belong to two drivers, which cannot wait for each other"));
    cj_stream *from = fork ? s : t, *to = fork ? t : s;
    const char *cu_call;
    cji_ctx ctx;
    st = cji_ctx_begin(s, from->dev, &ctx, call);
    if (st != CJ_OK) return cji_stream_failed(s, st);
    CUresult r = cji_stream_chain(from, to, &cu_call);
    cji_ctx_leave(from->dev, &ctx);
    if (r == CUDA_SUCCESS) cji_count_one(from), cji_count_one(to);
    return r == CUDA_SUCCESS ? CJ_OK : cji_stream_rejected(s, r, call, cu_call);
}

cj_status cj_stream_fork(cj_stream *s, cj_stream *t) { return stream_order(s, t, true, "cj_stream_fork"); }
cj_status cj_stream_join(cj_stream *s, cj_stream *t) { return stream_order(s, t, false, "cj_stream_join"); }

/* -- Waiting on the host --------------------------------------------------------------------------------------------- */

cj_status cji_stream_not_captured(cj_stream *s, const char *call)
{
    if (!atomic_load(&s->capturing)) return CJ_OK;
    return cji_fail(s, CJ_ESTATE, call, "the stream is being captured, so nothing of it runs yet; end the capture and launch the graph first");
}

cj_status cj_stream_sync(cj_stream *s)
{
    static const char call[] = "cj_stream_sync";
    cj_status st = cji_check(s, CJI_TAG_STREAM, call);
    if (st == CJ_OK) st = cji_stream_not_captured(s, call);
    if (st != CJ_OK) return st;
    cji_ctx ctx;
    if (cji_ctx_begin_calm(s, s->dev, &ctx, call) == CJ_OK) {
        CUresult r = s->cu->cuStreamSynchronize(s->raw);
        cji_ctx_leave(s->dev, &ctx);
        if (r != CUDA_SUCCESS) cji_rejected(s, s->dev, r, call, "cuStreamSynchronize");
    }
    cji_deferred_poll(s->queue, CJI_DEFERRED_STEP);
    cj_error first;
    cji_err_take(s, &first);
    return (cj_status)first.status;
}

cj_status cj_stream_query(cj_stream *s)
{
    static const char call[] = "cj_stream_query";
    cj_status st = cji_check(s, CJI_TAG_STREAM, call);
    if (st == CJ_OK) st = cji_stream_not_captured(s, call);
    if (st != CJ_OK) return st;
    cji_ctx ctx;
    st = cji_ctx_begin_calm(s, s->dev, &ctx, call);
    if (st != CJ_OK) return st;
    CUresult r = s->cu->cuStreamQuery(s->raw);
    cji_ctx_leave(s->dev, &ctx);
    if (r == CUDA_ERROR_NOT_READY) return CJ_ENOTREADY;
    return r == CUDA_SUCCESS ? CJ_OK : cji_rejected(s, s->dev, r, call, "cuStreamQuery");
}

/* -- Host functions -------------------------------------------------------------------------------------------------- */

cj_status cj_host_func(cj_stream *s, void (*fn)(void *user), void *user)
{
    static const char call[] = "cj_host_func";
    cj_status st = cji_check(s, CJI_TAG_STREAM, call);
    if (st != CJ_OK) return st;
    if (!fn) return cji_stream_failed(s, cji_fail(s, CJ_EINVAL, call, "the function is NULL"));
    cji_ctx ctx;
    st = cji_ctx_begin(s, s->dev, &ctx, call);
    if (st != CJ_OK) return cji_stream_failed(s, st);
    CUresult r = s->cu->cuLaunchHostFunc(s->raw, fn, user);
    cji_ctx_leave(s->dev, &ctx);
    if (r == CUDA_SUCCESS) cji_count_one(s);
    return r == CUDA_SUCCESS ? CJ_OK : cji_stream_rejected(s, r, call, "cuLaunchHostFunc");
}
