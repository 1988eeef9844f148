/* Waiting on the host with a deadline.
 *
 * The driver has no wait with a timeout, so this asks: some times at once, for what is nearly done, then with pauses that grow up to half a
 * millisecond.  Asking happens in relaxed capture mode, so that it harms no capture of this thread or another.  A passed deadline is an answer,
 * not a failure: it is left in the thread and not in the object, and what was waited for goes on. */
#include <time.h>

#include "stream/core/stream_core.h"

enum { WAIT_ROUNDS = 64, WAIT_FIRST_NS = 5000, WAIT_LONGEST_NS = 500000 };

uint64_t cji_deadline(uint32_t ms) { return cji_now() + (uint64_t)ms * 1000000; }

/* The driver's answer for a stream, or for an event where there is none. */
static CUresult wait_query(const cji_cu *cu, CUstream stream, CUevent event) { return stream ? cu->cuStreamQuery(stream) : cu->cuEventQuery(event); }

static CUresult wait_until(const cji_release_queue *queue, CUstream stream, CUevent event, uint64_t deadline)
{
    uint64_t pause = WAIT_FIRST_NS;
    CUstreamCaptureMode mode = cji_relax(queue);
    CUresult r = wait_query(queue->cu, stream, event);
    for (unsigned round = 0; r == CUDA_ERROR_NOT_READY; round++) {
        uint64_t now = cji_now();
        if (now >= deadline) break;
        if (round >= WAIT_ROUNDS) {
            uint64_t ns = pause < deadline - now ? pause : deadline - now;
            nanosleep(&(struct timespec){ .tv_nsec = (int64_t)ns }, NULL);
            if (pause < WAIT_LONGEST_NS) pause *= 2;
        }
        r = wait_query(queue->cu, stream, event);
    }
    cji_unrelax(queue, mode);
    return r;
}

CUresult cji_wait_stream(cj_stream *s, uint64_t deadline) { return wait_until(s->queue, s->raw, NULL, deadline); }
CUresult cji_wait_event(cj_event *e, uint64_t deadline) { return wait_until(e->queue, NULL, e->raw, deadline); }

cj_status cj_stream_sync_for(cj_stream *s, uint32_t ms)
{
    static const char call[] = "cj_stream_sync_for";
    const uint64_t deadline = cji_deadline(ms);
    cj_status st = cji_check(s, CJI_TAG_STREAM, call);
    if (st == CJ_OK) st = cji_stream_not_captured(s, call);
    if (st != CJ_OK) return st;
    cji_ctx ctx;
    if (cji_ctx_begin(s, s->dev, &ctx, call) == CJ_OK) {
        CUresult r = cji_wait_stream(s, deadline);
        cji_ctx_leave(s->dev, &ctx);
        if (r == CUDA_ERROR_NOT_READY) return cji_fail(NULL, CJ_ETIMEOUT, call, "the stream is not done after %u ms; it goes on", ms);
        if (r != CUDA_SUCCESS) cji_rejected(s, s->dev, r, call, "cuStreamQuery");
    }
    cji_deferred_poll(s->queue, CJI_DEFERRED_STEP);
    cj_error first;
    cji_err_take(s, &first);
    return (cj_status)first.status;
}

cj_status cj_event_sync_for(cj_event *e, uint32_t ms)
{
    static const char call[] = "cj_event_sync_for";
    const uint64_t deadline = cji_deadline(ms);
    cji_ctx ctx;
    cj_status st = cji_event_may_query(e, call);
    if (st == CJ_OK) st = cji_ctx_begin(e, e->dev, &ctx, call);
    if (st != CJ_OK) return st;
    CUresult r = cji_wait_event(e, deadline);
    cji_ctx_leave(e->dev, &ctx);
    if (r == CUDA_ERROR_NOT_READY) return cji_fail(NULL, CJ_ETIMEOUT, call, "the event is not reached after %u ms", ms);
    return r == CUDA_SUCCESS ? CJ_OK : cji_rejected(e, e->dev, r, call, "cuEventQuery");
}
