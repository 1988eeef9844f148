/* What the driver refused, in words, and what that does to a capture. */
#include "stream/core/stream_core.h"

cj_status cji_stream_failed(cj_stream *s, cj_status st)
{
    if (s->proxy) cji_proxy_follow(s); /* a part of it may have been given */
    if (!atomic_load(&s->capturing)) return st;
    cji_capture *c = cji_capture_of(s);
    if (c) cji_capture_fail(c);
    cji_capture_drop(c);
    return st;
}

cj_status cji_rejected(void *obj, const cj_device *dev, CUresult r, const char *call, const char *cu_call)
{
    if (r == CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD)
        return cji_cu_fail_as(obj, dev->drv, r, CJ_ESTATE, cu_call, call, "a capture ends on the thread that began it, unless its mode is CJ_CAPTURE_RELAXED");
    if (r == CUDA_ERROR_STREAM_CAPTURE_UNJOINED)
        return cji_cu_fail_as(obj, dev->drv, r, CJ_ESTATE, cu_call, call, "a stream that was forked from the capture was not joined: cj_stream_join() before the end");
    if (r == CUDA_ERROR_ILLEGAL_STATE || (r >= CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED && r <= CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD))
        return cji_cu_fail_as(obj, dev->drv, r, CJ_ESTATE, cu_call, call, "a capture does not allow this");
    return cji_cu_fail(obj, dev->drv, r, cu_call, call);
}

cj_status cji_stream_rejected(cj_stream *s, CUresult r, const char *call, const char *cu_call)
{
    return cji_stream_failed(s, cji_rejected(s, s->dev, r, call, cu_call));
}
