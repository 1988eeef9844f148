/* The calls that copy rows and slices on a stream, and between devices; copy_span.c has the plain ones. */
#include "stream/memory/stream_memory.h"

static cj_status copy_any(cj_stream *s, cji_copy *b, const char *call)
{
    cj_status st = cji_copy_use(s, b, call);
    if (st == CJ_OK) st = cji_copy_run(s, b, call);
    return st == CJ_OK ? CJ_OK : cji_stream_failed(s, st);
}

/* Between ends of the stream's device. */
static cj_status copy_here(cj_stream *s, cji_copy *b, const char *call)
{
    cj_status st = cji_check(s, CJI_TAG_STREAM, call);
    if (st != CJ_OK) return st;
    b->dst.dev = b->src.dev = s->dev;
    b->which = "";
    return copy_any(s, b, call);
}

cj_status cj_copy_2d(cj_stream *s, cj_dptr dst, size_t dst_pitch, cj_dptr src, size_t src_pitch, size_t width,
                     size_t height)
{
    cji_copy b = { .width = width,
                   .height = height,
                   .depth = 1,
                   .dst = { .addr = dst.addr, .pitch = dst_pitch },
                   .src = { .addr = src.addr, .pitch = src_pitch } };
    return copy_here(s, &b, "cj_copy_2d");
}

cj_status cj_copy_2d_to_device(cj_stream *s, cj_dptr dst, size_t dst_pitch, const void *src, size_t src_pitch,
                               size_t width, size_t height)
{
    cji_copy b = { .width = width,
                   .height = height,
                   .depth = 1,
                   .dst = { .addr = dst.addr, .pitch = dst_pitch },
                   .src = { .host = (void *)(uintptr_t)src, .pitch = src_pitch } };
    return copy_here(s, &b, "cj_copy_2d_to_device");
}

cj_status cj_copy_2d_to_host(cj_stream *s, void *dst, size_t dst_pitch, cj_dptr src, size_t src_pitch, size_t width,
                             size_t height)
{
    cji_copy b = { .width = width,
                   .height = height,
                   .depth = 1,
                   .dst = { .host = dst, .pitch = dst_pitch },
                   .src = { .addr = src.addr, .pitch = src_pitch } };
    return copy_here(s, &b, "cj_copy_2d_to_host");
}

cj_status cj_copy_3d(cj_stream *s, const cj_copy_3d_params *params)
{
    static const char call[] = "cj_copy_3d";
    cji_copy b;
    cj_status st = cji_check(s, CJI_TAG_STREAM, call);
    if (st != CJ_OK) return st;
    st = cji_copy_of_params(s, s->dev, params, &b, call);
    return st == CJ_OK ? copy_any(s, &b, call) : cji_stream_failed(s, st);
}

cj_status cj_copy_peer(cj_stream *s, cj_device *dst_device, cj_dptr dst, cj_device *src_device, cj_dptr src,
                       size_t bytes)
{
    static const char call[] = "cj_copy_peer";
    cji_copy b;
    cj_status st = cji_check(s, CJI_TAG_STREAM, call);
    if (st != CJ_OK) return st;
    st = cji_copy_between(s, s->dev, dst_device, dst, src_device, src, bytes, &b, call);
    return st == CJ_OK ? copy_any(s, &b, call) : cji_stream_failed(s, st);
}
