/* What a copy of rows and boxes is: read from its description and measured, for streams and for nodes of graphs.
 *
 * Both ends are checked, and what lies without gaps is joined, slices into rows and rows into one. */
#include <stdio.h>

#include "stream/core/stream_core.h"

void cj_copy_3d_params_defaults(cj_copy_3d_params *box)
{
    if (box) *box = (cj_copy_3d_params){ .size = sizeof *box };
}

/* Fills one end; `what` names it. */
static cj_status copy_measure_end(void *into, const cji_copy_job *b, cji_copy_end *e, const char *what, const char *call)
{
    size_t slices, rows;
    char name[64];
    snprintf(name, sizeof name, "%s%s", b->which, what);
    what = name;
    if (!e->addr == !e->host)
        return cji_fail(into, CJ_EINVAL, call, "%s is %s; set one of device memory and host memory", what, e->host ? "in both memories" : "NULL");
    if (!e->pitch || (b->height == 1 && b->depth == 1)) e->pitch = b->width;
    if (!e->rows || b->depth == 1) e->rows = b->height;
    if (e->pitch < b->width)
        return cji_fail(into, CJ_EINVAL, call, "%s has %zu bytes from row to row, the rows have %zu", what, e->pitch, b->width);
    if (e->rows < b->height)
        return cji_fail(into, CJ_EINVAL, call, "%s has %zu rows from slice to slice, the slices have %zu", what, e->rows, b->height);
    if (__builtin_mul_overflow(e->pitch, e->rows, &e->slice) || __builtin_mul_overflow(e->slice, b->depth - 1, &slices) ||
        __builtin_mul_overflow(e->pitch, b->height - 1, &rows) || __builtin_add_overflow(slices, rows, &e->reach) ||
        __builtin_add_overflow(e->reach, b->width, &e->reach))
        return cji_fail(into, CJ_EINVAL, call, "%s is beyond any memory", what);
    if (e->host && (uintptr_t)e->host + e->reach < e->reach) return cji_fail(into, CJ_EINVAL, call, "%s is beyond any memory", what);
    return CJ_OK;
}

static void copy_join(cji_copy_job *b)
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

cj_status cji_copy_measure(void *into, const cj_device *home, cji_copy_job *b, const char *call)
{
    if (b->dst.host && b->src.host) return cji_fail(into, CJ_EINVAL, call, "%sboth ends are host memory; copy with memcpy in a cj_host_func", b->which);
    b->bytes = 0;
    if (!b->width || !b->height || !b->depth) return CJ_OK;
    cj_status st = copy_measure_end(into, b, &b->dst, "the destination", call);
    if (st == CJ_OK) st = copy_measure_end(into, b, &b->src, "the source", call);
    if (st != CJ_OK) return st;
    const bool host = b->dst.host || b->src.host;
    b->peer = (!b->dst.host && b->dst.dev != home) || (!b->src.host && b->src.dev != home);
    if (host && b->peer) return cji_fail(into, CJ_EINVAL, call, "host memory goes by a stream or graph of the device that has the other end");
    if (__builtin_mul_overflow(b->width, b->height, &b->bytes) || __builtin_mul_overflow(b->bytes, b->depth, &b->bytes))
        return cji_fail(into, CJ_EINVAL, call, "%sthat is beyond any memory", b->which);
    copy_join(b);
    if (!host && b->height == 1 && b->depth == 1 && b->dst.dev == b->src.dev &&
        (b->dst.addr - b->src.addr < b->width || b->src.addr - b->dst.addr < b->width))
        return cji_fail(into, CJ_EINVAL, call, "%ssource and destination overlap", b->which);
    return CJ_OK;
}

/* A device of a copy of `home`: NULL is that itself. */
static cj_status copy_device(void *into, cj_device *home, cj_device *dev, cji_copy_end *e, const char *what, const char *call)
{
    e->dev = dev ? dev : home;
    if (!dev || dev == home) return CJ_OK;
    cj_status st = cji_check_arg(into, dev, CJI_TAG_DEVICE, call, what);
    if (st != CJ_OK) return st;
    return dev->drv == home->drv ? CJ_OK : cji_fail(into, CJ_EINVAL, call, "%s is of another driver", what);
}

cj_status cji_copy_of_params(void *into, cj_device *home, const cj_copy_3d_params *box, cji_copy_job *b, const char *call)
{
    cj_copy_3d_params o;
    if (!box) return cji_fail(into, CJ_EINVAL, call, "the box is NULL");
    cj_copy_3d_params_defaults(&o);
    if (!cji_opts_take(&o, sizeof o, box, into, call, "cj_copy_3d_params")) return CJ_EINVAL;
    *b = (cji_copy_job){ .width = o.width, .height = o.height, .depth = o.depth };
    b->dst = (cji_copy_end){ .addr = o.dst.addr, .host = o.dst_host, .pitch = o.dst_pitch, .rows = o.dst_rows };
    b->src = (cji_copy_end){ .addr = o.src.addr, .host = (void *)(uintptr_t)o.src_host, .pitch = o.src_pitch, .rows = o.src_rows };
    cj_status st = copy_device(into, home, o.dst_device, &b->dst, "dst_device", call);
    return st == CJ_OK ? copy_device(into, home, o.src_device, &b->src, "src_device", call) : st;
}

cj_status cji_copy_between(void *into, cj_device *home, cj_device *dst_device, cj_dptr dst, cj_device *src_device, cj_dptr src, size_t bytes, cji_copy_job *b, const char *call)
{
    *b = (cji_copy_job){ .width = bytes, .height = 1, .depth = 1, .dst = { .addr = dst.addr }, .src = { .addr = src.addr } };
    cj_status st = cji_check_arg(into, dst_device, CJI_TAG_DEVICE, call, "the destination's device");
    if (st == CJ_OK) st = cji_check_arg(into, src_device, CJI_TAG_DEVICE, call, "the source's device");
    if (st == CJ_OK) st = copy_device(into, home, dst_device, &b->dst, "the destination's device", call);
    return st == CJ_OK ? copy_device(into, home, src_device, &b->src, "the source's device", call) : st;
}
