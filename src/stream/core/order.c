/* Order on the device: streams wait for events and for each other. */
#include "base/cancel.h"
#include "stream/core/work_hooks.h"

/* -- Joining a capture --------------------------------------------------------------------------------------------- */

/* Around a call by which `s` may join the capture `c` (NULL: there is none) of a stream of another device: no release
 * of its own device may query it just then, as a query of a captured stream breaks the capture.  On the capture's own
 * device none runs anyway. */
static void order_join_begin(const cji_capture *c, const cji_release_queue *from, const cj_stream *s)
{
    if (c && s->queue != from) cji_release_queue_captures(s->queue, 1);
}

static void order_join_end(const cji_capture *c, const cji_release_queue *from, const cj_stream *s)
{
    if (c && s->queue != from) cji_release_queue_captures(s->queue, -1);
}

/* -- Waiting for an event ------------------------------------------------------------------------------------------ */

static CJI_COLD cj_status wait_measured(cj_stream *s, cj_event *e)
{
    cji_work w;
    const uint64_t from = atomic_load(&e->on);
    cji_work_begin(&w, s);
    cj_status st = cj_stream_wait(s, e);
    cji_work_end(&w, s, st == CJ_OK, &(cji_work_info){ .kind = CJ_PROFILE_WAIT, .name = "", .from = from });
    return st;
}

cj_status cj_stream_wait(cj_stream *s, cj_event *e)
{
    static const char call[] = "cj_stream_wait";
    CJI_NO_CANCEL;
    cj_status st = cji_check(s, CJI_TAG_STREAM, call);
    if (st != CJ_OK) return st;
    st = cji_check_arg(s, e, CJI_TAG_EVENT, call, "the event");
    if (st != CJ_OK) return cji_stream_failed(s, st);
    if (cji_work_measured()) return wait_measured(s, e);
    if (!cji_device_meets(s->dev, e->dev))
        return cji_stream_failed(
            s, cji_cu_fail_apart(s, s->dev, e->dev, call,
                                 "stream and event belong to two drivers, which cannot wait for each other"));
    cji_scope scope;
    st = cji_stream_scope(s, s, &scope, call);
    if (st != CJ_OK) return cji_stream_failed(s, st);
    cji_lock(&e->lock, CJI_LOCK_EVENT);
    cji_capture *c = e->capture && cji_capture_open(e->capture) ? cji_capture_retain(e->capture) : NULL;
    order_join_begin(c, e->queue, s);
    CUresult r = s->cu->cuStreamWaitEvent(s->raw, e->raw, 0);
    cji_unlock(&e->lock, CJI_LOCK_EVENT);
    cji_scope_leave(&scope);
    if (c && r == CUDA_SUCCESS) cji_capture_join(c, s);
    order_join_end(c, e->queue, s);
    cji_capture_drop(c);
    if (r != CUDA_SUCCESS) return cji_stream_failed(s, cji_event_rejected(s, e, r, call, "cuStreamWaitEvent"));
    cji_count(s, &s->counts.waits, 1);
    cji_count_one(s);
    return CJ_OK;
}

/* -- Waiting for a stream ------------------------------------------------------------------------------------------ */

/* The stream's event for forks, made at the first of them; with its lock held. */
static CUresult order_event(cj_stream *from, const char **cu_call)
{
    cji_scope scope;
    if (from->order) return CUDA_SUCCESS;
    *cu_call = "cuCtxPushCurrent";
    CUresult r = cji_scope_context(&scope, from->cu, from->queue->ctx);
    if (r == CUDA_SUCCESS)
        *cu_call = "cuEventCreate", r = from->cu->cuEventCreate(&from->order, CU_EVENT_DISABLE_TIMING);
    cji_scope_leave(&scope);
    if (r != CUDA_SUCCESS) from->order = NULL;
    return r;
}

/* With the lock of `from` held; a scope where one of the streams needs it. */
static CUresult stream_order_locked(cj_stream *from, CUstream to, const char **cu_call)
{
    CJI_NO_CANCEL;
    CUresult r = order_event(from, cu_call);
    if (r != CUDA_SUCCESS) return r;
    *cu_call = "cuEventRecord";
    r = from->cu->cuEventRecord(from->order, from->raw);
    if (r != CUDA_SUCCESS) return r;
    *cu_call = "cuStreamWaitEvent";
    return from->cu->cuStreamWaitEvent(to, from->order, 0);
}

CUresult cji_stream_order_raw(cj_stream *from, CUstream to, const char **cu_call)
{
    cji_scope scope = { .cu = NULL };
    const bool context = cji_stream_needs_context(from) || to == CU_STREAM_LEGACY || to == CU_STREAM_PER_THREAD;
    *cu_call = "cuCtxPushCurrent";
    CUresult r = context ? cji_scope_context(&scope, from->cu, from->queue->ctx) : CUDA_SUCCESS;
    if (r == CUDA_SUCCESS) {
        cji_lock(&from->lock, CJI_LOCK_STREAM);
        r = stream_order_locked(from, to, cu_call);
        cji_unlock(&from->lock, CJI_LOCK_STREAM);
    }
    cji_scope_leave(&scope);
    return r;
}

CUresult cji_stream_chain(cj_stream *from, cj_stream *to, const char **cu_call)
{
    cji_capture *c = cji_capture_of(from);
    order_join_begin(c, from->queue, to);
    CUresult r = cji_stream_order_raw(from, to->raw, cu_call);
    if (c && r == CUDA_SUCCESS) cji_capture_join(c, to);
    order_join_end(c, from->queue, to);
    cji_capture_drop(c);
    return r;
}

/* The thread's latest failure, which is the first stream's, becomes the other's too: it lacks the order. */
static cj_status order_failed(cj_stream *s, cj_stream *t, cj_status st)
{
    const cj_error *why = cj_error_last();
    cji_stream_failed(s, st);
    return cji_stream_fail_with(t, why);
}

static cj_status stream_order(cj_stream *s, cj_stream *t, bool fork, const char *call);

static CJI_COLD cj_status order_measured(cj_stream *s, cj_stream *t, bool fork, const char *call)
{
    cj_stream *from = fork ? s : t, *to = fork ? t : s;
    cji_work w;
    cji_work_begin(&w, to);
    cj_status st = stream_order(s, t, fork, call);
    cji_work_end(&w, to, st == CJ_OK, &(cji_work_info){ .kind = CJ_PROFILE_WAIT, .name = "", .from = from->id });
    return st;
}

/* Both directions. */
static cj_status stream_order(cj_stream *s, cj_stream *t, bool fork, const char *call)
{
    cj_status st = cji_check(s, CJI_TAG_STREAM, call);
    if (st != CJ_OK) return st;
    st = cji_check_arg(s, t, CJI_TAG_STREAM, call, "the second stream");
    if (st != CJ_OK) return cji_stream_failed(s, st);
    if (s == t) return CJ_OK;
    if (cji_work_measured()) return order_measured(s, t, fork, call);
    if (!cji_device_meets(s->dev, t->dev))
        return order_failed(s, t,
                            cji_cu_fail_apart(s, s->dev, t->dev, call,
                                              "the streams belong to two drivers, which cannot wait for each other"));
    cj_stream *from = fork ? s : t, *to = fork ? t : s;
    const char *cu_call;
    CUresult r = cji_stream_chain(from, to, &cu_call);
    if (r != CUDA_SUCCESS) return order_failed(s, t, cji_rejected(s, s->dev, r, call, cu_call));
    cji_count(to, &to->counts.waits, 1);
    cji_count_one(from);
    cji_count_one(to);
    return CJ_OK;
}

cj_status cj_stream_fork(cj_stream *s, cj_stream *t) { return stream_order(s, t, true, "cj_stream_fork"); }
cj_status cj_stream_join(cj_stream *s, cj_stream *t) { return stream_order(s, t, false, "cj_stream_join"); }
