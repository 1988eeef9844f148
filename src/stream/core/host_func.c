/* Host functions: called by the driver when the stream reaches them. */
#include "stream/core/work_hooks.h"

static CJI_COLD cj_status host_func_measured(cj_stream *s, void (*fn)(void *user), void *user)
{
    cji_work w;
    cji_work_begin(&w, s);
    cj_status st = cj_host_func(s, fn, user);
    cji_work_end(&w, s, st == CJ_OK, &(cji_work_info){ .kind = CJ_PROFILE_HOST_FUNC, .name = "" });
    return st;
}

cj_status cj_host_func(cj_stream *s, void (*fn)(void *user), void *user)
{
    static const char call[] = "cj_host_func";
    cj_status st = cji_check(s, CJI_TAG_STREAM, call);
    if (st != CJ_OK) return st;
    if (cji_work_measured()) return host_func_measured(s, fn, user);
    if (!fn) return cji_stream_failed(s, cji_fail(s, CJ_EINVAL, call, "the function is NULL"));
    cji_scope scope;
    st = cji_scope_begin(s, s->dev, &scope, call);
    if (st != CJ_OK) return cji_stream_failed(s, st);
    CUresult r = s->cu->cuLaunchHostFunc(s->raw, fn, user);
    cji_scope_leave(&scope);
    if (r == CUDA_SUCCESS) cji_count_one(s);
    return r == CUDA_SUCCESS ? CJ_OK : cji_stream_rejected(s, r, call, "cuLaunchHostFunc");
}
