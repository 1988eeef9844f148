/* What a copy is: read from its description and measured, for streams and for nodes of graphs.
 *
 * Both ends are checked, and what has no gaps is joined, slices into rows and rows into one. */
#include "stream/memory/stream_memory.h"

void cj_copy_3d_params_defaults(cj_copy_3d_params *params)
{
    if (params) *params = (cj_copy_3d_params){ .size = sizeof *params };
}

cji_copy cji_copy_row(cj_device *home, cji_copy_end dst, cji_copy_end src, size_t bytes)
{
    dst.dev = src.dev = home;
    return (cji_copy){ .width = bytes, .height = 1, .depth = 1, .dst = dst, .src = src, .which = "" };
}

/* -- Measuring ----------------------------------------------------------------------------------------------------- */

/* Fills one end; `what` names it. */
static cj_status copy_measure_end(void *into, const cji_copy *b, cji_copy_end *e, const char *what, const char *call)
{
    size_t slices, rows;
    if (!e->addr == !e->host)
        return cji_fail(into, CJ_EINVAL, call, "%s%s is %s; set one of device memory and host memory", b->which, what,
                        e->host ? "in both memories" : "NULL");
    if (b->height == 1 && b->depth == 1) { /* one row */
        e->pitch = e->slice = e->reach = b->width;
        e->rows = 1;
        if ((e->host ? (uintptr_t)e->host : e->addr) + e->reach >= e->reach) return CJ_OK;
        return cji_fail(into, CJ_EINVAL, call, "%s%s is beyond any memory", b->which, what);
    }
    if (!e->pitch) e->pitch = b->width;
    if (!e->rows || b->depth == 1) e->rows = b->height;
    if (e->pitch < b->width)
        return cji_fail(into, CJ_EINVAL, call, "%s%s has %zu bytes from row to row, the rows have %zu", b->which, what,
                        e->pitch, b->width);
    if (e->rows < b->height)
        return cji_fail(into, CJ_EINVAL, call, "%s%s has %zu rows from slice to slice, the slices have %zu", b->which,
                        what, e->rows, b->height);
    if (__builtin_mul_overflow(e->pitch, e->rows, &e->slice) ||
        __builtin_mul_overflow(e->slice, b->depth - 1, &slices) ||
        __builtin_mul_overflow(e->pitch, b->height - 1, &rows) || __builtin_add_overflow(slices, rows, &e->reach) ||
        __builtin_add_overflow(e->reach, b->width, &e->reach) || (e->host && (uintptr_t)e->host + e->reach < e->reach))
        return cji_fail(into, CJ_EINVAL, call, "%s%s is beyond any memory", b->which, what);
    return CJ_OK;
}

static void copy_join(cji_copy *b)
{
    if (b->dst.rows == b->height && b->src.rows == b->height) {
        b->height *= b->depth;
        b->depth = 1;
        b->dst.rows = b->src.rows = b->height;
    }
    if (b->depth == 1 && b->dst.pitch == b->width && b->src.pitch == b->width) {
        b->width *= b->height;
        b->height = 1;
        b->dst.pitch = b->src.pitch = b->width;
        b->dst.rows = b->src.rows = 1;
    }
}

static bool copy_overlaps(const cji_copy *b)
{
    return !b->dst.host && !b->src.host && b->height == 1 && b->depth == 1 && b->dst.dev == b->src.dev &&
           (b->dst.addr - b->src.addr < b->width || b->src.addr - b->dst.addr < b->width);
}

cj_status cji_copy_measure(void *into, const cj_device *home, cji_copy *b, const char *call)
{
    if (b->dst.host && b->src.host)
        return cji_fail(into, CJ_EINVAL, call, "%sboth ends are host memory; copy with memcpy in a cj_host_func",
                        b->which);
    b->bytes = 0;
    if (!b->width || !b->height || !b->depth) return CJ_OK;
    cj_status st = copy_measure_end(into, b, &b->dst, "the destination", call);
    if (st == CJ_OK) st = copy_measure_end(into, b, &b->src, "the source", call);
    if (st != CJ_OK) return st;
    b->peer = (!b->dst.host && b->dst.dev != home) || (!b->src.host && b->src.dev != home);
    if ((b->dst.host || b->src.host) && b->peer)
        return cji_fail(into, CJ_EINVAL, call,
                        "%sone end is host memory: copy on a stream or in a graph of the device that has the other end",
                        b->which);
    if (__builtin_mul_overflow(b->width, b->height, &b->bytes) || __builtin_mul_overflow(b->bytes, b->depth, &b->bytes))
        return cji_fail(into, CJ_EINVAL, call, "%sthe copy is beyond any memory", b->which);
    if (b->height > 1 || b->depth > 1) copy_join(b);
    return copy_overlaps(b) ? cji_fail(into, CJ_EINVAL, call, "%ssource and destination overlap", b->which) : CJ_OK;
}

/* -- Descriptions -------------------------------------------------------------------------------------------------- */

/* A device of a copy of `home`: NULL is that itself. */
static cj_status copy_device(void *into, cj_device *home, cj_device *dev, cji_copy_end *e, const char *what,
                             const char *call)
{
    e->dev = dev ? dev : home;
    if (!dev || dev == home) return CJ_OK;
    cj_status st = cji_check_arg(into, dev, CJI_TAG_DEVICE, call, what);
    if (st != CJ_OK) return st;
    if (cji_device_meets(dev, home)) return CJ_OK;
    return dev->drv == home->drv ? cji_cu_fail_apart(into, dev, home, call, "%s", "")
                                 : cji_fail(into, CJ_EINVAL, call, "%s is of another driver", what);
}

cj_status cji_copy_of_params(void *into, cj_device *home, const cj_copy_3d_params *params, cji_copy *b,
                             const char *call)
{
    cj_copy_3d_params o;
    if (!params) return cji_fail(into, CJ_EINVAL, call, "the parameters are NULL");
    cj_copy_3d_params_defaults(&o);
    if (!cji_opts_take(&o, sizeof o, params, into, call, "cj_copy_3d_params")) return CJ_EINVAL;
    *b = (cji_copy){ .width = o.width, .height = o.height, .depth = o.depth, .which = "" };
    b->dst = (cji_copy_end){ .addr = o.dst.addr, .host = o.dst_host, .pitch = o.dst_pitch, .rows = o.dst_rows };
    b->src = (cji_copy_end){
        .addr = o.src.addr, .host = (void *)(uintptr_t)o.src_host, .pitch = o.src_pitch, .rows = o.src_rows
    };
    cj_status st = copy_device(into, home, o.dst_device, &b->dst, "dst_device", call);
    return st == CJ_OK ? copy_device(into, home, o.src_device, &b->src, "src_device", call) : st;
}

cj_status cji_copy_between(void *into, cj_device *home, cj_device *dst_device, cj_dptr dst, cj_device *src_device,
                           cj_dptr src, size_t bytes, cji_copy *b, const char *call)
{
    *b = cji_copy_row(home, (cji_copy_end){ .addr = dst.addr }, (cji_copy_end){ .addr = src.addr }, bytes);
    cj_status st = cji_check_arg(into, dst_device, CJI_TAG_DEVICE, call, "the destination's device");
    if (st == CJ_OK) st = cji_check_arg(into, src_device, CJI_TAG_DEVICE, call, "the source's device");
    if (st == CJ_OK) st = copy_device(into, home, dst_device, &b->dst, "the destination's device", call);
    return st == CJ_OK ? copy_device(into, home, src_device, &b->src, "the source's device", call) : st;
}

/* Between devices the driver finds out whose memory it is. */
static CUmemorytype copy_memory_type(const cji_copy *b, const cji_copy_end *e)
{
    return b->peer ? CU_MEMORYTYPE_UNIFIED : e->host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
}

CUDA_MEMCPY3D cji_copy_params(const cji_copy *b)
{
    return (CUDA_MEMCPY3D){
        .srcMemoryType = copy_memory_type(b, &b->src),
        .srcHost = b->src.host,
        .srcDevice = b->src.addr,
        .srcPitch = b->src.pitch,
        .srcHeight = b->src.rows,
        .dstMemoryType = copy_memory_type(b, &b->dst),
        .dstHost = b->dst.host,
        .dstDevice = b->dst.addr,
        .dstPitch = b->dst.pitch,
        .dstHeight = b->dst.rows,
        .WidthInBytes = b->width,
        .Height = b->height,
        .Depth = b->depth,
    };
}
