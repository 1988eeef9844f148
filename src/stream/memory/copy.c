/* The calls that copy on a stream: each is a copy of slices of rows, of which a plain one has one. */
#include "stream/memory/stream_memory.h"

static cj_status copy_any(cj_stream *s, cji_copy *b, const char *call)
{
    cj_status st = cji_copy_use(s, b, call);
    if (st == CJ_OK) st = cji_copy_run(s, b, call);
    return st == CJ_OK ? CJ_OK : cji_stream_failed(s, st);
}

static cj_status copy_2d(cj_stream *s, cji_copy_end dst, cji_copy_end src, size_t width, size_t height,
                         const char *call)
{
    cj_status st = cji_check(s, CJI_TAG_STREAM, call);
    if (st != CJ_OK) return st;
    cji_copy b = cji_copy_row(s->dev, dst, src, width);
    b.height = height;
    return copy_any(s, &b, call);
}

static cji_copy_end copy_end_device(cj_dptr d, size_t pitch)
{
    return (cji_copy_end){ .addr = d.addr, .pitch = pitch };
}
static cji_copy_end copy_end_host(const void *p, size_t pitch)
{
    return (cji_copy_end){ .host = (void *)(uintptr_t)p, .pitch = pitch };
}

cj_status cj_copy_to_device(cj_stream *s, cj_dptr dst, const void *src, size_t bytes)
{
    return copy_2d(s, copy_end_device(dst, 0), copy_end_host(src, 0), bytes, 1, "cj_copy_to_device");
}

cj_status cj_copy_to_host(cj_stream *s, void *dst, cj_dptr src, size_t bytes)
{
    return copy_2d(s, copy_end_host(dst, 0), copy_end_device(src, 0), bytes, 1, "cj_copy_to_host");
}

cj_status cj_copy(cj_stream *s, cj_dptr dst, cj_dptr src, size_t bytes)
{
    return copy_2d(s, copy_end_device(dst, 0), copy_end_device(src, 0), bytes, 1, "cj_copy");
}

cj_status cj_copy_2d(cj_stream *s, cj_dptr dst, size_t dst_pitch, cj_dptr src, size_t src_pitch, size_t width,
                     size_t height)
{
    return copy_2d(s, copy_end_device(dst, dst_pitch), copy_end_device(src, src_pitch), width, height, "cj_copy_2d");
}

cj_status cj_copy_2d_to_device(cj_stream *s, cj_dptr dst, size_t dst_pitch, const void *src, size_t src_pitch,
                               size_t width, size_t height)
{
    return copy_2d(s, copy_end_device(dst, dst_pitch), copy_end_host(src, src_pitch), width, height,
                   "cj_copy_2d_to_device");
}

cj_status cj_copy_2d_to_host(cj_stream *s, void *dst, size_t dst_pitch, cj_dptr src, size_t src_pitch, size_t width,
                             size_t height)
{
    return copy_2d(s, copy_end_host(dst, dst_pitch), copy_end_device(src, src_pitch), width, height,
                   "cj_copy_2d_to_host");
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
