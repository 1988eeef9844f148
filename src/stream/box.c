/* Copies of rows and boxes, between host and device and between devices.
 *
 * A copy is first measured: both ends checked, and what lies without gaps joined, slices into rows and rows into one.  Then it is given to the driver in the
 * smallest form that says it: a plain copy, rows, a box.  Pageable host memory goes through staging memory slice by slice. */
#include <stdio.h>

#include "stream/streams.h"

/* -- Measuring --------------------------------------------------------------------------------------------------------- */

void cj_box_defaults(cj_box *box)
{
    if (box) *box = (cj_box){ .size = sizeof *box };
}

/* Fills one end; `what` names it. */
static cj_status box_measure_end(cj_stream *s, const cji_box *b, cji_box_end *e, const char *what, const char *call)
{
    size_t slices, rows;
    char name[64];
    snprintf(name, sizeof name, "%s%s", b->which, what);
    what = name;
    if (!e->addr == !e->host)
        return cji_fail(s, CJ_EINVAL, call, "%s: %s is %s; set one of device memory and host memory", call, what, e->host ? "in both memories" : "NULL");
    if (!e->pitch || (b->height == 1 && b->depth == 1)) e->pitch = b->width;
    if (!e->rows || b->depth == 1) e->rows = b->height;
    if (e->pitch < b->width)
        return cji_fail(s, CJ_EINVAL, call, "%s: %s has %zu bytes from row to row, the rows have %zu", call, what, e->pitch, b->width);
    if (e->rows < b->height)
        return cji_fail(s, CJ_EINVAL, call, "%s: %s has %zu rows from slice to slice, the slices have %zu", call, what, e->rows, b->height);
    if (__builtin_mul_overflow(e->pitch, e->rows, &e->slice) || __builtin_mul_overflow(e->slice, b->depth - 1, &slices) ||
        __builtin_mul_overflow(e->pitch, b->height - 1, &rows) || __builtin_add_overflow(slices, rows, &e->reach) ||
        __builtin_add_overflow(e->reach, b->width, &e->reach))
        return cji_fail(s, CJ_EINVAL, call, "%s: %s is beyond any memory", call, what);
    if (e->host) return (uintptr_t)e->host + e->reach >= e->reach ? CJ_OK : cji_fail(s, CJ_EINVAL, call, "%s: %s is beyond any memory", call, what);
    return cji_mem_use_at(s, e->dev, e->addr, e->reach, call, what);
}

static void box_join(cji_box *b)
{
    if (b->dst.rows == b->height && b->src.rows == b->height) {
        b->height *= b->depth;
        b->depth = 1;
    }
    if (b->depth == 1 && b->dst.pitch == b->width && b->src.pitch == b->width) {
        b->width *= b->height;
        b->height = 1;
    }
}

cj_status cji_box_measure(cj_stream *s, cji_box *b, const char *call)
{
    if (b->dst.host && b->src.host) return cji_fail(s, CJ_EINVAL, call, "%s: %sboth ends are host memory; copy with memcpy in a cj_host_call", call, b->which);
    b->bytes = 0;
    if (!b->width || !b->height || !b->depth) return CJ_OK;
    cj_status st = box_measure_end(s, b, &b->dst, "the destination", call);
    if (st == CJ_OK) st = box_measure_end(s, b, &b->src, "the source", call);
    if (st != CJ_OK) return st;
    const bool host = b->dst.host || b->src.host;
    b->peer = (!b->dst.host && b->dst.dev != s->dev) || (!b->src.host && b->src.dev != s->dev);
    if (host && b->peer) return cji_fail(s, CJ_EINVAL, call, "%s: host memory is copied on a stream of the device that has the other end", call);
    if (__builtin_mul_overflow(b->width, b->height, &b->bytes) || __builtin_mul_overflow(b->bytes, b->depth, &b->bytes))
        return cji_fail(s, CJ_EINVAL, call, "%s: %sthat is beyond any memory", call, b->which);
    box_join(b);
    if (!host && b->height == 1 && b->depth == 1 && b->dst.dev == b->src.dev &&
        (b->dst.addr - b->src.addr < b->width || b->src.addr - b->dst.addr < b->width))
        return cji_fail(s, CJ_EINVAL, call, "%s: %ssource and destination overlap", call, b->which);
    return CJ_OK;
}

/* -- Giving; context current --------------------------------------------------------------------------------------------- */

static CUresult box_give_plain(cj_stream *s, const cji_box *b, bool captured, const char **doing)
{
    if (b->dst.host) return *doing = "cuMemcpyDtoHAsync", s->cu->cuMemcpyDtoHAsync(b->dst.host, b->src.addr, b->width, s->raw);
    if (b->src.host) return *doing = "cuMemcpyHtoDAsync", s->cu->cuMemcpyHtoDAsync(b->dst.addr, b->src.host, b->width, s->raw);
    if (!b->peer) return *doing = "cuMemcpyDtoDAsync", s->cu->cuMemcpyDtoDAsync(b->dst.addr, b->src.addr, b->width, s->raw);
    if (captured) return *doing = "cuMemcpyAsync", s->cu->cuMemcpyAsync(b->dst.addr, b->src.addr, b->width, s->raw);
    *doing = "cuMemcpyPeerAsync";
    return s->cu->cuMemcpyPeerAsync(b->dst.addr, b->dst.dev->ctx, b->src.addr, b->src.dev->ctx, b->width, s->raw);
}

static CUresult box_give_peer(cj_stream *s, const cji_box *b, const char **doing)
{
    const CUDA_MEMCPY3D_PEER p = {
        .srcMemoryType = CU_MEMORYTYPE_DEVICE, .srcDevice = b->src.addr, .srcContext = b->src.dev->ctx, .srcPitch = b->src.pitch, .srcHeight = b->src.rows,
        .dstMemoryType = CU_MEMORYTYPE_DEVICE, .dstDevice = b->dst.addr, .dstContext = b->dst.dev->ctx, .dstPitch = b->dst.pitch, .dstHeight = b->dst.rows,
        .WidthInBytes = b->width, .Height = b->height, .Depth = b->depth,
    };
    *doing = "cuMemcpy3DPeerAsync";
    return s->cu->cuMemcpy3DPeerAsync(&p, s->raw);
}

/* Between devices, captured: the driver finds out whose memory it is. */
static CUmemorytype box_type(const cji_box *b, const cji_box_end *e)
{
    return b->peer ? CU_MEMORYTYPE_UNIFIED : e->host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
}

static CUresult box_give_rows(cj_stream *s, const cji_box *b, const char **doing)
{
    const CUDA_MEMCPY2D p = {
        .srcMemoryType = box_type(b, &b->src), .srcHost = b->src.host, .srcDevice = b->src.addr, .srcPitch = b->src.pitch,
        .dstMemoryType = box_type(b, &b->dst), .dstHost = b->dst.host, .dstDevice = b->dst.addr, .dstPitch = b->dst.pitch,
        .WidthInBytes = b->width, .Height = b->height,
    };
    *doing = "cuMemcpy2DAsync";
    return s->cu->cuMemcpy2DAsync(&p, s->raw);
}

static CUresult box_give_slices(cj_stream *s, const cji_box *b, const char **doing)
{
    const CUDA_MEMCPY3D p = {
        .srcMemoryType = box_type(b, &b->src), .srcHost = b->src.host, .srcDevice = b->src.addr, .srcPitch = b->src.pitch, .srcHeight = b->src.rows,
        .dstMemoryType = box_type(b, &b->dst), .dstHost = b->dst.host, .dstDevice = b->dst.addr, .dstPitch = b->dst.pitch, .dstHeight = b->dst.rows,
        .WidthInBytes = b->width, .Height = b->height, .Depth = b->depth,
    };
    *doing = "cuMemcpy3DAsync";
    return s->cu->cuMemcpy3DAsync(&p, s->raw);
}

static cj_status box_give_staged(cj_stream *s, const cji_box *b, const char *call)
{
    cji_staging *staging = &cji_side_of(s->dev)->staging; /* made when the range was checked */
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

static cj_status box_give(cj_stream *s, const cji_box *b, const char *call)
{
    const char *doing;
    CUresult r;
    const cji_box_end *host = b->dst.host ? &b->dst : b->src.host ? &b->src : NULL;
    cji_host_kind kind = host ? cji_host_kind_of(s->cu, host->host, host->reach) : CJI_HOST_PINNED;
    if (kind == CJI_HOST_DEVICE) return cji_fail(s, CJ_EINVAL, call, "%s: %sthe host's side is device memory; name it as such", call, b->which);
    if (kind == CJI_HOST_PAGEABLE) return box_give_staged(s, b, call);
    const bool captured = atomic_load(&s->capturing) || (b->peer && cji_stream_captures(s->hub, s->raw));
    if (b->height == 1 && b->depth == 1) r = box_give_plain(s, b, captured, &doing);
    else if (b->peer && !captured) r = box_give_peer(s, b, &doing);
    else r = b->depth == 1 ? box_give_rows(s, b, &doing) : box_give_slices(s, b, &doing);
    return r == CUDA_SUCCESS ? CJ_OK : cji_refused(s, s->dev, r, call, doing);
}

static void box_count(cj_stream *s, const cji_box *b)
{
    cji_count_one(s);
    cji_count(s, b->dst.host ? &s->counts.to_host : b->src.host ? &s->counts.to_device : &s->counts.on_device, b->bytes);
}

/* Memory of other devices learns that it is used. */
static cj_status box_visit(cj_stream *s, const cji_box *b, const char *call)
{
    if (!b->peer) return CJ_OK;
    cj_status st = cji_mem_visit(s, b->dst.dev, b->dst.addr, s, call);
    if (st == CJ_OK) st = cji_mem_visit(s, b->src.dev, b->src.addr, s, call);
    return st;
}

cj_status cji_box_run(cj_stream *s, const cji_box *b, const char *call)
{
    cji_ctx ctx;
    if (!b->bytes) return CJ_OK;
    cj_status st = cji_ctx_begin(s, s->dev, &ctx, call);
    if (st != CJ_OK) return st;
    st = box_give(s, b, call);
    cji_ctx_leave(s->dev, &ctx);
    if (st != CJ_OK) return st;
    box_count(s, b);
    return box_visit(s, b, call);
}

static cj_status box_copy(cj_stream *s, cji_box *b, const char *call)
{
    cj_status st = cji_box_measure(s, b, call);
    if (st == CJ_OK) st = cji_box_run(s, b, call);
    return st == CJ_OK ? CJ_OK : cji_stream_failed(s, st);
}

/* -- The calls ----------------------------------------------------------------------------------------------------------- */

/* A device of a copy of `s`: NULL is the stream's own. */
static cj_status box_device(cj_stream *s, cj_device *dev, cji_box_end *e, const char *what, const char *call)
{
    e->dev = dev ? dev : s->dev;
    if (!dev || dev == s->dev) return CJ_OK;
    cj_status st = cji_check_arg(s, dev, CJI_TAG_DEVICE, call, what);
    if (st != CJ_OK) return st;
    return dev->drv == s->dev->drv ? CJ_OK : cji_fail(s, CJ_EINVAL, call, "%s: %s is of another driver than the stream", call, what);
}

cj_status cj_copy_box(cj_stream *s, const cj_box *box)
{
    static const char call[] = "cj_copy_box";
    cj_box o;
    cji_box b = { 0 };
    cj_status st = cji_check(s, CJI_TAG_STREAM, call);
    if (st != CJ_OK) return st;
    if (!box) return cji_stream_failed(s, cji_fail(s, CJ_EINVAL, call, "%s: the box is NULL", call));
    cj_box_defaults(&o);
    if (!cji_opts_take(&o, sizeof o, box, s, call, "cj_box")) return cji_stream_failed(s, CJ_EINVAL);
    b.width = o.width, b.height = o.height, b.depth = o.depth;
    b.dst = (cji_box_end){ .addr = o.dst.addr, .host = o.dst_host, .pitch = o.dst_pitch, .rows = o.dst_rows };
    b.src = (cji_box_end){ .addr = o.src.addr, .host = (void *)(uintptr_t)o.src_host, .pitch = o.src_pitch, .rows = o.src_rows };
    st = box_device(s, o.dst_device, &b.dst, "dst_device", call);
    if (st == CJ_OK) st = box_device(s, o.src_device, &b.src, "src_device", call);
    return st == CJ_OK ? box_copy(s, &b, call) : cji_stream_failed(s, st);
}

static cj_status box_copy_2d(cj_stream *s, cji_box_end dst, cji_box_end src, size_t width, size_t height, const char *call)
{
    cji_box b = { .width = width, .height = height, .depth = 1, .dst = dst, .src = src };
    cj_status st = cji_check(s, CJI_TAG_STREAM, call);
    if (st != CJ_OK) return st;
    b.dst.dev = b.src.dev = s->dev;
    return box_copy(s, &b, call);
}

cj_status cj_copy_2d(cj_stream *s, cj_dptr dst, size_t dst_pitch, cj_dptr src, size_t src_pitch, size_t width, size_t height)
{
    return box_copy_2d(s, (cji_box_end){ .addr = dst.addr, .pitch = dst_pitch }, (cji_box_end){ .addr = src.addr, .pitch = src_pitch }, width, height,
                       "cj_copy_2d");
}

cj_status cj_copy_2d_to_device(cj_stream *s, cj_dptr dst, size_t dst_pitch, const void *src, size_t src_pitch, size_t width, size_t height)
{
    return box_copy_2d(s, (cji_box_end){ .addr = dst.addr, .pitch = dst_pitch }, (cji_box_end){ .host = (void *)(uintptr_t)src, .pitch = src_pitch }, width, height,
                       "cj_copy_2d_to_device");
}

cj_status cj_copy_2d_to_host(cj_stream *s, void *dst, size_t dst_pitch, cj_dptr src, size_t src_pitch, size_t width, size_t height)
{
    return box_copy_2d(s, (cji_box_end){ .host = dst, .pitch = dst_pitch }, (cji_box_end){ .addr = src.addr, .pitch = src_pitch }, width, height,
                       "cj_copy_2d_to_host");
}

cj_status cj_copy_peer(cj_stream *s, cj_device *dst_device, cj_dptr dst, cj_device *src_device, cj_dptr src, size_t bytes)
{
    static const char call[] = "cj_copy_peer";
    cji_box b = { .width = bytes, .height = 1, .depth = 1, .dst = { .addr = dst.addr }, .src = { .addr = src.addr } };
    cj_status st = cji_check(s, CJI_TAG_STREAM, call);
    if (st != CJ_OK) return st;
    if (st == CJ_OK) st = cji_check_arg(s, dst_device, CJI_TAG_DEVICE, call, "the destination's device");
    if (st == CJ_OK) st = cji_check_arg(s, src_device, CJI_TAG_DEVICE, call, "the source's device");
    if (st == CJ_OK) st = box_device(s, dst_device, &b.dst, "the destination's device", call);
    if (st == CJ_OK) st = box_device(s, src_device, &b.src, "the source's device", call);
    return st == CJ_OK ? box_copy(s, &b, call) : cji_stream_failed(s, st);
}
