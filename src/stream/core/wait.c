/* Waiting on the host: until a stream or an event is complete, with and without a timeout.
 *
 * The driver has no wait with a timeout, so that one queries: some times at once, for what is nearly complete, then
 * with pauses that grow up to half a millisecond.  All of it happens in relaxed capture mode, so that it harms no
 * capture of this thread or another.  A passed deadline is a result, not a failure: it is left in the thread and not
 * in the object, and the work goes on.  So is the CJ_ESTATE of a stream that is capturing: no work is lost by it. */
#include <time.h>

#include "base/cancel.h"
#include "stream/core/stream_core.h"

/* -- Queries until a deadline -------------------------------------------------------------------------------------- */

enum { WAIT_ROUNDS = 64, WAIT_FIRST_NS = 5000, WAIT_LONGEST_NS = 500000 };

uint64_t cji_deadline(uint32_t ms) { return cji_now() + (uint64_t)ms * 1000000; }

/* The driver's result for a stream, or for an event where there is none. */
static CUresult wait_query(const cji_cu *cu, CUstream stream, CUevent event)
{
    return stream ? cu->cuStreamQuery(stream) : cu->cuEventQuery(event);
}

bool cji_pause_until(cji_pause *p, uint64_t deadline)
{
    const uint64_t now = cji_now();
    if (now >= deadline) return false;
    if (p->rounds++ < WAIT_ROUNDS) return true;
    if (!p->ns) p->ns = WAIT_FIRST_NS;
    const uint64_t ns = p->ns < deadline - now ? p->ns : deadline - now;
    nanosleep(&(struct timespec){ .tv_nsec = (int64_t)ns }, NULL);
    if (p->ns < WAIT_LONGEST_NS) p->ns *= 2;
    return true;
}

static CUresult wait_until(const cji_cu *cu, CUstream stream, CUevent event, uint64_t deadline)
{
    cji_pause pause = { 0, 0 };
    CUresult r = wait_query(cu, stream, event);
    while (r == CUDA_ERROR_NOT_READY && cji_pause_until(&pause, deadline)) r = wait_query(cu, stream, event);
    return r;
}

/* The stream is complete: so is all that was enqueued when the call began. */
static void wait_done(cj_stream *s, uint64_t enqueued)
{
    cji_seen_done(s, enqueued);
    cji_recent_clear(s->slot);
}

CUresult cji_wait_stream(cj_stream *s, uint64_t deadline)
{
    CJI_NO_CANCEL;
    cji_scope scope;
    CUresult r = CUDA_SUCCESS;
    if (cji_stream_needs_context(s)) r = cji_scope_enter(&scope, s->cu, s->queue->ctx);
    else cji_scope_relax(&scope, s->cu);
    if (r == CUDA_SUCCESS) r = wait_until(s->cu, s->raw, NULL, deadline);
    cji_scope_leave(&scope);
    return r;
}

CUresult cji_wait_event(cj_event *e, uint64_t deadline)
{
    CJI_NO_CANCEL;
    cji_scope scope;
    cji_scope_relax(&scope, e->cu);
    CUresult r = wait_until(e->cu, NULL, e->raw, deadline);
    cji_scope_leave(&scope);
    return r;
}

/* Work that cj_device_reset has dropped is at its end, and not done. */
static CUresult wait_result(const cj_device *dev, CUresult r)
{
    return r == CUDA_SUCCESS && cji_device_was_reset(dev) ? CUDA_ERROR_CONTEXT_IS_DESTROYED : r;
}

/* -- Streams ------------------------------------------------------------------------------------------------------- */

cj_status cji_stream_not_captured(cj_stream *s, const char *call)
{
    if (!atomic_load(&s->capturing)) return CJ_OK;
    return cji_fail(
        NULL, CJ_ESTATE, call,
        "the stream is being captured, so nothing of it runs yet; end the capture and launch the graph first");
}

/* The stream's work is complete, or has failed: deferred releases run, and the first failure is taken. */
static cj_status wait_take(cj_stream *s)
{
    cj_error first;
    cji_deferred_poll(s->queue, CJI_DEFERRED_STEP);
    cji_err_take(s, &first);
    return (cj_status)first.status;
}

cj_status cj_stream_sync(cj_stream *s)
{
    static const char call[] = "cj_stream_sync";
    CJI_NO_CANCEL;
    cj_status st = cji_check(s, CJI_TAG_STREAM, call);
    if (st == CJ_OK) st = cji_stream_not_captured(s, call);
    if (st != CJ_OK) return st;
    cji_scope scope;
    if (cji_stream_scope_relaxed(s, s, &scope, call) != CJ_OK) return wait_take(s);
    const uint64_t enqueued = cji_enqueued(s);
    CUresult r = wait_result(s->dev, s->cu->cuStreamSynchronize(s->raw));
    if (r != CUDA_SUCCESS) cji_rejected(s, s->dev, r, call, "cuStreamSynchronize");
    else wait_done(s, enqueued);
    st = wait_take(s);
    cji_scope_leave(&scope);
    return st;
}

cj_status cj_stream_sync_for(cj_stream *s, uint32_t ms)
{
    static const char call[] = "cj_stream_sync_for";
    const uint64_t deadline = cji_deadline(ms);
    cj_status st = cji_check(s, CJI_TAG_STREAM, call);
    if (st == CJ_OK) st = cji_stream_not_captured(s, call);
    if (st != CJ_OK) return st;
    const uint64_t enqueued = cji_enqueued(s);
    CUresult r = wait_result(s->dev, cji_wait_stream(s, deadline));
    if (r == CUDA_ERROR_NOT_READY)
        return cji_fail(NULL, CJ_ETIMEOUT, call, "the stream is not complete after %u ms; it goes on", ms);
    if (r != CUDA_SUCCESS) cji_rejected(s, s->dev, r, call, "cuStreamQuery");
    else wait_done(s, enqueued);
    return wait_take(s);
}

cj_status cj_stream_query(cj_stream *s)
{
    static const char call[] = "cj_stream_query";
    cj_status st = cji_check(s, CJI_TAG_STREAM, call);
    if (st == CJ_OK) st = cji_stream_not_captured(s, call);
    if (st != CJ_OK) return st;
    cji_scope scope;
    st = cji_stream_scope_relaxed(s, s, &scope, call);
    if (st != CJ_OK) return st;
    const uint64_t enqueued = cji_enqueued(s);
    CUresult r = wait_result(s->dev, s->cu->cuStreamQuery(s->raw));
    cji_scope_leave(&scope);
    if (r == CUDA_SUCCESS) return cji_seen_done(s, enqueued), CJ_OK;
    return r == CUDA_ERROR_NOT_READY ? CJ_ENOTREADY : cji_rejected(s, s->dev, r, call, "cuStreamQuery");
}

/* -- Events -------------------------------------------------------------------------------------------------------- */

cj_status cj_event_query(cj_event *e)
{
    static const char call[] = "cj_event_query";
    cji_scope scope;
    cj_status st = cji_event_may_query(e, call);
    if (st != CJ_OK) return st;
    cji_scope_relax(&scope, e->cu);
    CUresult r = wait_result(e->dev, e->cu->cuEventQuery(e->raw));
    cji_scope_leave(&scope);
    if (r == CUDA_ERROR_NOT_READY) return CJ_ENOTREADY;
    return r == CUDA_SUCCESS ? CJ_OK : cji_event_rejected(e, e, r, call, "cuEventQuery");
}

cj_status cj_event_sync(cj_event *e)
{
    static const char call[] = "cj_event_sync";
    CJI_NO_CANCEL;
    cji_scope scope;
    cj_status st = cji_event_may_query(e, call);
    if (st != CJ_OK) return st;
    cji_scope_relax(&scope, e->cu);
    CUresult r = wait_result(e->dev, e->cu->cuEventSynchronize(e->raw));
    cji_scope_leave(&scope);
    return r == CUDA_SUCCESS ? CJ_OK : cji_event_rejected(e, e, r, call, "cuEventSynchronize");
}

cj_status cj_event_sync_for(cj_event *e, uint32_t ms)
{
    static const char call[] = "cj_event_sync_for";
    const uint64_t deadline = cji_deadline(ms);
    cj_status st = cji_event_may_query(e, call);
    if (st != CJ_OK) return st;
    CUresult r = wait_result(e->dev, cji_wait_event(e, deadline));
    if (r == CUDA_ERROR_NOT_READY)
        return cji_fail(NULL, CJ_ETIMEOUT, call, "the event is not complete after %u ms", ms);
    return r == CUDA_SUCCESS ? CJ_OK : cji_event_rejected(e, e, r, call, "cuEventQuery");
}
