/* Waits between streams of the library and streams of other code, which have numbers. */
#include "stream/interop/stream_interop.h"

/* The handle of a stream's number. */
static void *handle_of_number(int64_t number)
{
    return number == 1 ? (void *)CU_STREAM_LEGACY : number == 2 ? (void *)CU_STREAM_PER_THREAD
                                                                : (void *)(uintptr_t)number;
}

static cj_status no_such_stream(cj_stream *s, int64_t number, const char *call)
{
    return cji_fail(s, CJ_EINVAL, call,
                    "the stream's number is %lld, which is no stream of device %d's context; -1 is none, another "
                    "number a CUstream", (long long)number, s->dev->ordinal);
}

static cj_status order_foreign(cj_stream *s, int64_t number, bool wait, const char *call)
{
    cj_status st = cji_check(s, CJI_TAG_STREAM, call);
    if (st != CJ_OK || number == -1) return st;
    if (!number)
        return cji_stream_failed(s, cji_fail(s, CJ_EINVAL, call,
                                             "the stream's number is 0, which could mean two streams; 1 is the legacy "
                                             "default stream, 2 the per-thread default stream"));
    if (handle_of_number(number) == (void *)s->raw) return CJ_OK;
    if (number < 0) return cji_stream_failed(s, no_such_stream(s, number, call));
    cj_stream *other = cj_stream_wrap(s->dev, handle_of_number(number));
    if (cji_obj_failed(other))
        st = cji_err_status(other) == CJ_EINVAL ? no_such_stream(s, number, call) : cji_fail_from(s, other, call);
    else st = wait ? cj_stream_join(s, other) : cj_stream_fork(s, other);
    cj_stream_free(other);
    return st == CJ_OK ? CJ_OK : cji_stream_failed(s, st);
}

cj_status cj_stream_wait_foreign(cj_stream *s, int64_t number)
{
    return order_foreign(s, number, true, "cj_stream_wait_foreign");
}

cj_status cj_stream_signal_foreign(cj_stream *s, int64_t number)
{
    return order_foreign(s, number, false, "cj_stream_signal_foreign");
}
