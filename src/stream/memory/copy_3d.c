/* A measured copy (copy_shape.c) enqueued on a stream, in the smallest form that the driver has for it: one range
 * (copy_span.c), rows, slices.  Pageable host memory passes through staging memory, slice by slice. */
#include <stdio.h>

#include "stream/core/work_hooks.h"
#include "stream/memory/stream_memory.h"

/* -- Enqueuing; context current ------------------------------------------------------------------------------------ */

static CUresult copy_enqueue_peer_range(cj_stream *s, const cji_copy *b, bool captured, const char **cu_call)
{
    if (captured) return *cu_call = "cuMemcpyAsync", s->cu->cuMemcpyAsync(b->dst.addr, b->src.addr, b->width, s->raw);
    *cu_call = "cuMemcpyPeerAsync";
    return s->cu->cuMemcpyPeerAsync(b->dst.addr, b->dst.dev->ctx, b->src.addr, b->src.dev->ctx, b->width, s->raw);
}

static CUresult copy_enqueue_peer(cj_stream *s, const cji_copy *b, const char **cu_call)
{
    const CUDA_MEMCPY3D_PEER p = {
        .srcMemoryType = CU_MEMORYTYPE_DEVICE,
        .srcDevice = b->src.addr,
        .srcContext = b->src.dev->ctx,
        .srcPitch = b->src.pitch,
        .srcHeight = b->src.rows,
        .dstMemoryType = CU_MEMORYTYPE_DEVICE,
        .dstDevice = b->dst.addr,
        .dstContext = b->dst.dev->ctx,
        .dstPitch = b->dst.pitch,
        .dstHeight = b->dst.rows,
        .WidthInBytes = b->width,
        .Height = b->height,
        .Depth = b->depth,
    };
    *cu_call = "cuMemcpy3DPeerAsync";
    return s->cu->cuMemcpy3DPeerAsync(&p, s->raw);
}

static CUresult copy_enqueue_rows(cj_stream *s, const cji_copy *b, const char **cu_call)
{
    const CUDA_MEMCPY3D all = cji_copy_params(b);
    const CUDA_MEMCPY2D p = {
        .srcMemoryType = all.srcMemoryType,
        .srcHost = all.srcHost,
        .srcDevice = all.srcDevice,
        .srcPitch = all.srcPitch,
        .dstMemoryType = all.dstMemoryType,
        .dstHost = all.dstHost,
        .dstDevice = all.dstDevice,
        .dstPitch = all.dstPitch,
        .WidthInBytes = b->width,
        .Height = b->height,
    };
    *cu_call = "cuMemcpy2DAsync";
    return s->cu->cuMemcpy2DAsync(&p, s->raw);
}

static CUresult copy_enqueue_slices(cj_stream *s, const cji_copy *b, const char **cu_call)
{
    const CUDA_MEMCPY3D p = cji_copy_params(b);
    *cu_call = "cuMemcpy3DAsync";
    return s->cu->cuMemcpy3DAsync(&p, s->raw);
}

static cj_status copy_enqueue_staged(cj_stream *s, const cji_copy *b, const char *call)
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
        st = cji_staging_copy(s, staging, &rows, call);
    }
    return st;
}

/* A graph that copies between devices needs access. */
static cj_status copy_capture_peer(cj_stream *s, const cji_copy *b, const char *call)
{
    cj_status st = cji_peer_in_graph(s, s->dev, b->dst.dev, call);
    return st == CJ_OK ? cji_peer_in_graph(s, s->dev, b->src.dev, call) : st;
}

static cj_status copy_enqueue_shape(cj_stream *s, const cji_copy *b, const char *call)
{
    const char *cu_call;
    CUresult r;
    const bool captured = atomic_load(&s->capturing) || (b->peer && cji_stream_captures(s->queue, s->raw));
    if (captured && b->peer) {
        cj_status st = copy_capture_peer(s, b, call);
        if (st != CJ_OK) return st;
    }
    if (b->height == 1 && b->depth == 1) r = copy_enqueue_peer_range(s, b, captured, &cu_call);
    else if (b->peer && !captured) r = copy_enqueue_peer(s, b, &cu_call);
    else r = b->depth == 1 ? copy_enqueue_rows(s, b, &cu_call) : copy_enqueue_slices(s, b, &cu_call);
    return r == CUDA_SUCCESS ? CJ_OK : cji_rejected(s, s->dev, r, call, cu_call);
}

static cj_status copy_enqueue(cj_stream *s, const cji_copy *b, const char *call)
{
    const cji_copy_end *host = b->dst.host ? &b->dst : b->src.host ? &b->src : NULL;
    const cji_host_kind kind = host ? cji_host_kind_of(s, host->host, host->reach, b->which, call) : CJI_HOST_PINNED;
    if (kind == CJI_HOST_INVALID) return CJ_EINVAL;
    return kind == CJI_HOST_PAGEABLE ? copy_enqueue_staged(s, b, call) : copy_enqueue_shape(s, b, call);
}

static CJI_COLD cj_status copy_measured(cj_stream *s, const cji_copy *b, const char *call)
{
    cji_work w;
    cji_work_begin(&w, s);
    cj_status st = copy_enqueue(s, b, call);
    cji_work_end(&w, s, st == CJ_OK,
                 &(cji_work_info){ .kind = cji_copy_kind(b->dst.host, b->src.host), .name = "", .bytes = b->bytes });
    return st;
}

cj_status cji_copy_run(cj_stream *s, const cji_copy *b, const char *call)
{
    cji_scope scope;
    if (!b->bytes) return CJ_OK;
    cj_status st = cji_scope_begin(s, s->dev, &scope, call);
    if (st != CJ_OK) return st;
    if (b->height == 1 && b->depth == 1 && !b->peer) {
        const cji_span span = { b->dst.addr, b->src.addr, b->dst.host, b->src.host, b->width, b->which };
        st = cji_copy_span(s, &span, call);
    } else {
        st = cji_work_measured() ? copy_measured(s, b, call) : copy_enqueue(s, b, call);
        if (st == CJ_OK) cji_copy_count(s, b->dst.host, b->src.host, b->bytes);
    }
    /* Memory of other devices learns that it is used. */
    if (st == CJ_OK && b->peer) st = cji_mem_peer_use(s, b->dst.dev, b->dst.addr, call);
    if (st == CJ_OK && b->peer) st = cji_mem_peer_use(s, b->src.dev, b->src.addr, call);
    cji_scope_leave(&scope);
    return st;
}

/* -- Before -------------------------------------------------------------------------------------------------------- */

/* An end of an item of a batch. */
static cj_status copy_use_item(cj_stream *s, const char *which, const cji_copy_end *e, const char *what,
                               const char *call)
{
    char name[64];
    snprintf(name, sizeof name, "%s%s", which, what);
    return cji_mem_use(s, e->dev, &(cji_range){ e->addr, e->reach, name }, call);
}

static cj_status copy_use_end(cj_stream *s, const cji_copy *b, const cji_copy_end *e, const char *what,
                              const char *call)
{
    if (e->host) return CJ_OK;
    if (*b->which) return copy_use_item(s, b->which, e, what, call);
    return cji_mem_use(s, e->dev, &(cji_range){ e->addr, e->reach, what }, call);
}

cj_status cji_copy_use(cj_stream *s, cji_copy *b, const char *call)
{
    cj_status st = cji_copy_measure(s, s->dev, b, call);
    if (st != CJ_OK || !b->bytes) return st;
    st = copy_use_end(s, b, &b->dst, "the destination", call);
    return st == CJ_OK ? copy_use_end(s, b, &b->src, "the source", call) : st;
}
