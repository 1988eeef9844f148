/* Host functions: called by the driver when the stream reaches them. */
#include "stream/core/stream_core.h"

cj_status cj_host_func(cj_stream *s, void (*fn)(void *user), void *user)
{
    static const char call[] = "cj_host_func";
    cj_status st = cji_check(s, CJI_TAG_STREAM, call);
    if (st != CJ_OK) return st;
    if (!fn) return cji_stream_failed(s, cji_fail(s, CJ_EINVAL, call, "the function is NULL"));
    cji_scope scope;
    st = cji_scope_begin(s, s->dev, &scope, call);
    if (st != CJ_OK) return cji_stream_failed(s, st);
    CUresult r = s->cu->cuLaunchHostFunc(s->raw, fn, user);
    cji_scope_leave(&scope);
    if (r == CUDA_SUCCESS) cji_count_one(s);
    return r == CUDA_SUCCESS ? CJ_OK : cji_stream_rejected(s, r, call, "cuLaunchHostFunc");
}
