/* Copies of rows and boxes on streams, between host and device and between devices.
 *
 * A copy that was measured (box_shape.c) is given to the driver in the smallest form that says it: a plain copy, rows, a box.  Pageable host memory goes
 * through staging memory slice by slice. */
#include <stdio.h>

#include "stream/core/stream_core.h"

/* -- Giving; context current --------------------------------------------------------------------------------------------- */

static CUresult copy_enqueue_plain(cj_stream *s, const cji_copy_job *b, bool captured, const char **cu_call)
{
    if (b->dst.host) return *cu_call = "cuMemcpyDtoHAsync", s->cu->cuMemcpyDtoHAsync(b->dst.host, b->src.addr, b->width, s->raw);
    if (b->src.host) return *cu_call = "cuMemcpyHtoDAsync", s->cu->cuMemcpyHtoDAsync(b->dst.addr, b->src.host, b->width, s->raw);
    if (!b->peer) return *cu_call = "cuMemcpyDtoDAsync", s->cu->cuMemcpyDtoDAsync(b->dst.addr, b->src.addr, b->width, s->raw);
    if (captured) return *cu_call = "cuMemcpyAsync", s->cu->cuMemcpyAsync(b->dst.addr, b->src.addr, b->width, s->raw);
    *cu_call = "cuMemcpyPeerAsync";
    return s->cu->cuMemcpyPeerAsync(b->dst.addr, b->dst.dev->ctx, b->src.addr, b->src.dev->ctx, b->width, s->raw);
}

static CUresult copy_enqueue_peer(cj_stream *s, const cji_copy_job *b, const char **cu_call)
{
    const CUDA_MEMCPY3D_PEER p = {
        .srcMemoryType = CU_MEMORYTYPE_DEVICE, .srcDevice = b->src.addr, .srcContext = b->src.dev->ctx, .srcPitch = b->src.pitch, .srcHeight = b->src.rows,
        .dstMemoryType = CU_MEMORYTYPE_DEVICE, .dstDevice = b->dst.addr, .dstContext = b->dst.dev->ctx, .dstPitch = b->dst.pitch, .dstHeight = b->dst.rows,
        .WidthInBytes = b->width, .Height = b->height, .Depth = b->depth,
    };
    *cu_call = "cuMemcpy3DPeerAsync";
    return s->cu->cuMemcpy3DPeerAsync(&p, s->raw);
}

/* Between devices, captured: the driver finds out whose memory it is. */
static CUmemorytype copy_memory_type(const cji_copy_job *b, const cji_copy_end *e)
{
    return b->peer ? CU_MEMORYTYPE_UNIFIED : e->host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
}

static CUresult copy_enqueue_rows(cj_stream *s, const cji_copy_job *b, const char **cu_call)
{
    const CUDA_MEMCPY2D p = {
        .srcMemoryType = copy_memory_type(b, &b->src), .srcHost = b->src.host, .srcDevice = b->src.addr, .srcPitch = b->src.pitch,
        .dstMemoryType = copy_memory_type(b, &b->dst), .dstHost = b->dst.host, .dstDevice = b->dst.addr, .dstPitch = b->dst.pitch,
        .WidthInBytes = b->width, .Height = b->height,
    };
    *cu_call = "cuMemcpy2DAsync";
    return s->cu->cuMemcpy2DAsync(&p, s->raw);
}

static CUresult copy_enqueue_slices(cj_stream *s, const cji_copy_job *b, const char **cu_call)
{
    const CUDA_MEMCPY3D p = {
        .srcMemoryType = copy_memory_type(b, &b->src), .srcHost = b->src.host, .srcDevice = b->src.addr, .srcPitch = b->src.pitch, .srcHeight = b->src.rows,
        .dstMemoryType = copy_memory_type(b, &b->dst), .dstHost = b->dst.host, .dstDevice = b->dst.addr, .dstPitch = b->dst.pitch, .dstHeight = b->dst.rows,
        .WidthInBytes = b->width, .Height = b->height, .Depth = b->depth,
    };
    *cu_call = "cuMemcpy3DAsync";
    return s->cu->cuMemcpy3DAsync(&p, s->raw);
}

static cj_status copy_enqueue_staged(cj_stream *s, const cji_copy_job *b, const char *call)
{
    cji_staging *staging = &cji_mem_state_of(s->dev)->staging; /* made when the range was checked */
    cj_status st = CJ_OK;
    for (size_t z = 0; z < b->depth && st == CJ_OK; z++) {
        const cji_rows rows = {
            .dev = b->dst.host ? b->src.addr + z * b->src.slice : b->dst.addr + z * b->dst.slice,
            .to = b->dst.host ? (char *)b->dst.host + z * b->dst.slice : NULL,
            .from = b->src.host ? (const char *)b->src.host + z * b->src.slice : NULL,
            .dev_pitch = b->dst.host ? b->src.pitch : b->dst.pitch,
            .host_pitch = b->dst.host ? b->dst.pitch : b->src.pitch,
            .width = b->width,
            .rows = b->height,
        };
        st = cji_staged_rows(s, staging, &rows, call);
    }
    return st;
}

static cj_status copy_enqueue_any(cj_stream *s, const cji_copy_job *b, const char *call)
{
    const char *cu_call;
    CUresult r;
    const cji_copy_end *host = b->dst.host ? &b->dst : b->src.host ? &b->src : NULL;
    cji_host_kind kind = host ? cji_host_kind_of(s, host->host, host->reach) : CJI_HOST_PINNED;
    if (kind == CJI_HOST_DEVICE) return cji_fail(s, CJ_EINVAL, call, "%sthe host's side is device memory; name it as such", b->which);
    if (kind == CJI_HOST_PAGEABLE) return copy_enqueue_staged(s, b, call);
    const bool captured = atomic_load(&s->capturing) || (b->peer && cji_stream_captures(s->queue, s->raw));
    if (captured && b->peer) {
        cj_status st = cji_peer_in_graph(s, s->dev, b->dst.dev, call);
        if (st == CJ_OK) st = cji_peer_in_graph(s, s->dev, b->src.dev, call);
        if (st != CJ_OK) return st;
    }
    if (b->height == 1 && b->depth == 1) r = copy_enqueue_plain(s, b, captured, &cu_call);
    else if (b->peer && !captured) r = copy_enqueue_peer(s, b, &cu_call);
    else r = b->depth == 1 ? copy_enqueue_rows(s, b, &cu_call) : copy_enqueue_slices(s, b, &cu_call);
    return r == CUDA_SUCCESS ? CJ_OK : cji_rejected(s, s->dev, r, call, cu_call);
}

static void copy_count(cj_stream *s, const cji_copy_job *b)
{
    cji_count_one(s);
    cji_count(s, b->dst.host ? &s->counts.to_host : b->src.host ? &s->counts.to_device : &s->counts.on_device, b->bytes);
}

/* Memory of other devices learns that it is used. */
static cj_status copy_peer_use(cj_stream *s, const cji_copy_job *b, const char *call)
{
    if (!b->peer) return CJ_OK;
    cj_status st = cji_mem_peer_use(s, b->dst.dev, b->dst.addr, s, call);
    if (st == CJ_OK) st = cji_mem_peer_use(s, b->src.dev, b->src.addr, s, call);
    return st;
}

cj_status cji_copy_run(cj_stream *s, const cji_copy_job *b, const char *call)
{
    cji_ctx ctx;
    if (!b->bytes) return CJ_OK;
    cj_status st = cji_ctx_begin(s, s->dev, &ctx, call);
    if (st != CJ_OK) return st;
    st = copy_enqueue_any(s, b, call);
    cji_ctx_leave(s->dev, &ctx);
    if (st != CJ_OK) return st;
    copy_count(s, b);
    return copy_peer_use(s, b, call);
}

static cj_status copy_use_end(cj_stream *s, const cji_copy_job *b, const cji_copy_end *e, const char *what, const char *call)
{
    char name[64];
    snprintf(name, sizeof name, "%s%s", b->which, what);
    return e->host ? CJ_OK : cji_mem_use_at(s, e->dev, e->addr, e->reach, call, name);
}

cj_status cji_copy_use(cj_stream *s, cji_copy_job *b, const char *call)
{
    cj_status st = cji_copy_measure(s, s->dev, b, call);
    if (st != CJ_OK || !b->bytes) return st;
    st = copy_use_end(s, b, &b->dst, "the destination", call);
    return st == CJ_OK ? copy_use_end(s, b, &b->src, "the source", call) : st;
}

static cj_status copy_run_checked(cj_stream *s, cji_copy_job *b, const char *call)
{
    cj_status st = cji_copy_use(s, b, call);
    if (st == CJ_OK) st = cji_copy_run(s, b, call);
    return st == CJ_OK ? CJ_OK : cji_stream_failed(s, st);
}

/* -- The calls ----------------------------------------------------------------------------------------------------------- */

cj_status cj_copy_3d(cj_stream *s, const cj_copy_3d_params *box)
{
    static const char call[] = "cj_copy_3d";
    cji_copy_job b;
    cj_status st = cji_check(s, CJI_TAG_STREAM, call);
    if (st != CJ_OK) return st;
    st = cji_copy_of_params(s, s->dev, box, &b, call);
    return st == CJ_OK ? copy_run_checked(s, &b, call) : cji_stream_failed(s, st);
}

static cj_status copy_2d(cj_stream *s, cji_copy_end dst, cji_copy_end src, size_t width, size_t height, const char *call)
{
    cji_copy_job b = { .width = width, .height = height, .depth = 1, .dst = dst, .src = src };
    cj_status st = cji_check(s, CJI_TAG_STREAM, call);
    if (st != CJ_OK) return st;
    b.dst.dev = b.src.dev = s->dev;
    return copy_run_checked(s, &b, call);
}

cj_status cj_copy_2d(cj_stream *s, cj_dptr dst, size_t dst_pitch, cj_dptr src, size_t src_pitch, size_t width, size_t height)
{
    return copy_2d(s, (cji_copy_end){ .addr = dst.addr, .pitch = dst_pitch }, (cji_copy_end){ .addr = src.addr, .pitch = src_pitch }, width, height,
                       "cj_copy_2d");
}

cj_status cj_copy_2d_to_device(cj_stream *s, cj_dptr dst, size_t dst_pitch, const void *src, size_t src_pitch, size_t width, size_t height)
{
    return copy_2d(s, (cji_copy_end){ .addr = dst.addr, .pitch = dst_pitch }, (cji_copy_end){ .host = (void *)(uintptr_t)src, .pitch = src_pitch }, width, height,
                       "cj_copy_2d_to_device");
}

cj_status cj_copy_2d_to_host(cj_stream *s, void *dst, size_t dst_pitch, cj_dptr src, size_t src_pitch, size_t width, size_t height)
{
    return copy_2d(s, (cji_copy_end){ .host = dst, .pitch = dst_pitch }, (cji_copy_end){ .addr = src.addr, .pitch = src_pitch }, width, height,
                       "cj_copy_2d_to_host");
}

cj_status cj_copy_peer(cj_stream *s, cj_device *dst_device, cj_dptr dst, cj_device *src_device, cj_dptr src, size_t bytes)
{
    static const char call[] = "cj_copy_peer";
    cji_copy_job b;
    cj_status st = cji_check(s, CJI_TAG_STREAM, call);
    if (st != CJ_OK) return st;
    st = cji_copy_between(s, s->dev, dst_device, dst, src_device, src, bytes, &b, call);
    return st == CJ_OK ? copy_run_checked(s, &b, call) : cji_stream_failed(s, st);
}
