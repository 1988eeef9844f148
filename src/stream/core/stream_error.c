/* Results of the driver as failures of streams, events and graphs. */
#include "stream/core/stream_core.h"

/* What a capture forbids, in words; NULL: the result is about something else. */
static const char *capture_problem(CUresult r)
{
    switch (r) {
    case CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD:
        return "a capture ends on the thread that began it, unless its mode is CJ_CAPTURE_RELAXED";
    case CUDA_ERROR_STREAM_CAPTURE_UNJOINED:
        return "a stream that was forked from the capture was not joined: cj_stream_join() before the end";
    case CUDA_ERROR_STREAM_CAPTURE_INVALIDATED:
        return "the capture is invalidated: an earlier call did what a capture does not allow; end the capture and "
               "begin a new one";
    case CUDA_ERROR_STREAM_CAPTURE_MERGE:
        return "the event was recorded in another capture; a stream takes part in one capture at a time";
    case CUDA_ERROR_STREAM_CAPTURE_UNMATCHED:
        return "the capture was begun on another stream, and ends there; join this stream to it";
    case CUDA_ERROR_STREAM_CAPTURE_ISOLATION:
        return "the event was recorded before the capture; wait for it before the capture begins, or record it in "
               "the capture";
    case CUDA_ERROR_STREAM_CAPTURE_IMPLICIT:
        return "a stream that orders with the legacy default stream is being captured; use streams of "
               "cj_stream_create, or end that capture first";
    case CUDA_ERROR_CAPTURED_EVENT:
        return "the event was recorded in a capture and is never complete outside the graph; record it on a stream "
               "first";
    case CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED:
        return "the driver does not allow this call while a stream is being captured; make it before or after the "
               "capture";
    case CUDA_ERROR_ILLEGAL_STATE:
        return "the stream is in another state than the call wants: it is being captured already, or is not being "
               "captured";
    default: return NULL;
    }
}

cj_status cji_rejected(void *obj, const cj_device *dev, CUresult r, const char *call, const char *cu_call)
{
    const char *problem = capture_problem(r);
    if (problem) return cji_cu_fail_as(obj, dev, r, CJ_ESTATE, cu_call, call, "%s: %s", call, problem);
    const cji_obj *o = obj;
    const cji_slot *slot = o && o->tag == CJI_TAG_STREAM ? ((const cj_stream *)obj)->slot : NULL;
    return cji_cu_fail_on(obj, dev, slot, r, cu_call, call, "%s", call);
}
