/* Copies from and to arrays, enqueued on a stream.  The driver has one call for all copies on a device, and one for
 * those between devices.  Pageable host memory passes through device memory of cj_alloc, since the pieces of staging
 * memory are copied from and to addresses. */
#include "stream/array/stream_array.h"

enum { ARRAY_PIECE = 8 << 20 }; /* bytes of that device memory; a row of an array has less */

/* -- Uses ---------------------------------------------------------------------------------------------------------- */

static cj_status array_end_use(cj_stream *s, const cji_array_end *e, const char *what, const char *call)
{
    if (e->array) return e->dev == s->dev ? cji_array_use(s, e->array, call) : CJ_OK;
    return e->host ? CJ_OK : cji_mem_use(s, e->dev, &(cji_range){ e->addr, e->reach, what }, call);
}

/* What is of another device learns that it is used, behind the copy. */
static cj_status array_end_peer_use(cj_stream *s, const cji_array_end *e, const char *call)
{
    if (e->dev == s->dev) return CJ_OK;
    return e->array ? cji_array_peer_use(s, e->array, call) : cji_mem_peer_use(s, e->dev, e->addr, call);
}

/* The driver has no node that copies arrays between devices. */
static cj_status array_copy_allowed(cj_stream *s, const cji_array_copy *c, const char *call)
{
    if (!c->peer || !(atomic_load(&s->capturing) || cji_stream_captures(s->queue, s->raw))) return CJ_OK;
    return cji_fail(s, CJ_ENOTSUP, call,
                    "an array of another device is copied while the stream is capturing, and a graph has no such node; "
                    "copy outside of the capture, or capture a copy to device memory and a cj_copy_peer");
}

/* -- Enqueuing; context current ------------------------------------------------------------------------------------ */

static CUresult array_enqueue_peer(cj_stream *s, const cji_array_copy *c)
{
    const CUDA_MEMCPY3D all = cji_array_copy_params(c);
    const CUDA_MEMCPY3D_PEER p = {
        .srcXInBytes = all.srcXInBytes,
        .srcY = all.srcY,
        .srcZ = all.srcZ,
        .srcMemoryType = all.srcMemoryType,
        .srcDevice = all.srcDevice,
        .srcArray = all.srcArray,
        .srcContext = c->src.dev->ctx,
        .srcPitch = all.srcPitch,
        .srcHeight = all.srcHeight,
        .dstXInBytes = all.dstXInBytes,
        .dstY = all.dstY,
        .dstZ = all.dstZ,
        .dstMemoryType = all.dstMemoryType,
        .dstDevice = all.dstDevice,
        .dstArray = all.dstArray,
        .dstContext = c->dst.dev->ctx,
        .dstPitch = all.dstPitch,
        .dstHeight = all.dstHeight,
        .WidthInBytes = all.WidthInBytes,
        .Height = all.Height,
        .Depth = all.Depth,
    };
    return s->cu->cuMemcpy3DPeerAsync(&p, s->raw);
}

static CUresult array_enqueue_here(cj_stream *s, const cji_array_copy *c)
{
    const CUDA_MEMCPY3D p = cji_array_copy_params(c);
    return s->cu->cuMemcpy3DAsync(&p, s->raw);
}

static cj_status array_copy_plain(cj_stream *s, const cji_array_copy *c, const char *call)
{
    const CUresult r = c->peer ? array_enqueue_peer(s, c) : array_enqueue_here(s, c);
    if (r != CUDA_SUCCESS) return cji_rejected(s, s->dev, r, call, c->peer ? "cuMemcpy3DPeerAsync" : "cuMemcpy3DAsync");
    cji_copy_count(s, c->dst.host, c->src.host, c->row * c->height * c->depth);
    return CJ_OK;
}

static CJI_COLD cj_status array_copy_measured(cj_stream *s, const cji_array_copy *c, const char *call)
{
    cji_work w;
    cji_work_begin(&w, s);
    cj_status st = array_copy_plain(s, c, call);
    cji_work_end(&w, s, st == CJ_OK,
                 &(cji_work_info){ .kind = cji_copy_kind(c->dst.host, c->src.host),
                                   .name = "array",
                                   .bytes = c->row * c->height * c->depth });
    return st;
}

static cj_status array_copy_enqueue(cj_stream *s, const cji_array_copy *c, const char *call)
{
    return cji_work_measured() ? array_copy_measured(s, c, call) : array_copy_plain(s, c, call);
}

/* -- Pageable host memory ------------------------------------------------------------------------------------------ */

/* An end of a part that begins `y` rows and `z` slices further on. */
static cji_array_end array_end_at(const cji_array_end *e, size_t y, size_t z)
{
    cji_array_end part = *e;
    const size_t bytes = e->array ? 0 : (z * e->rows + y) * e->pitch;
    part.y += y;
    part.z += z;
    if (e->addr) part.addr += bytes;
    if (e->host) part.host = (char *)e->host + bytes;
    return part;
}

/* A part of a copy through device memory at `d`, which it fits into. */
static cj_status array_copy_part(cj_stream *s, cji_array_copy *part, cj_dptr d, const char *call)
{
    const bool down = part->dst.host;
    cji_array_end *host = down ? &part->dst : &part->src;
    const cji_copy_end there = { .dev = s->dev, .addr = d.addr };
    const cji_copy_end here = { .dev = s->dev, .host = host->host, .pitch = host->pitch, .rows = host->rows };
    cji_copy rows = { .width = part->row,
                      .height = part->height,
                      .depth = part->depth,
                      .dst = down ? here : there,
                      .src = down ? there : here,
                      .which = "" };
    *host = (cji_array_end){ .addr = d.addr, .pitch = part->row, .rows = part->height };
    cj_status st = cji_copy_use(s, &rows, call);
    if (st == CJ_OK && !down) st = cji_copy_run(s, &rows, call);
    if (st == CJ_OK) st = array_copy_enqueue(s, part, call);
    return st == CJ_OK && down ? cji_copy_run(s, &rows, call) : st;
}

/* In parts of as many slices, else rows, as the memory holds; the stream's order lets each use the same. */
static cj_status array_copy_staged(cj_stream *s, const cji_array_copy *c, const char *call)
{
    const size_t all = c->row * c->height, slices = all <= ARRAY_PIECE ? ARRAY_PIECE / all : 1;
    const size_t nz = slices < c->depth ? slices : c->depth, fit = ARRAY_PIECE / c->row;
    const size_t ny = all <= ARRAY_PIECE ? c->height : fit ? fit : 1;
    const cj_dptr d = cj_alloc(s, c->row * ny * nz);
    cj_status st = d.addr ? CJ_OK : cji_err_latest();
    for (size_t z = 0; z < c->depth && st == CJ_OK; z += nz)
        for (size_t y = 0; y < c->height && st == CJ_OK; y += ny) {
            cji_array_copy part = { .width = c->width,
                                .height = c->height - y < ny ? c->height - y : ny,
                                .depth = c->depth - z < nz ? c->depth - z : nz,
                                .row = c->row,
                                .dst = array_end_at(&c->dst, y, z),
                                .src = array_end_at(&c->src, y, z) };
            st = array_copy_part(s, &part, d, call);
        }
    if (!d.addr) return st;
    const cj_status freed = cj_free(s->dev, d);
    return st == CJ_OK ? freed : st;
}

static cj_status array_copy_run(cj_stream *s, const cji_array_copy *c, const char *call)
{
    const cji_array_end *host = c->dst.host ? &c->dst : c->src.host ? &c->src : NULL;
    const cji_host_kind kind = host ? cji_host_kind_of(s, host->host, host->reach, "", call) : CJI_HOST_PINNED;
    if (kind == CJI_HOST_INVALID) return CJ_EINVAL;
    return kind == CJI_HOST_PAGEABLE ? array_copy_staged(s, c, call) : array_copy_enqueue(s, c, call);
}

cj_status cj_copy_array(cj_stream *s, const cj_copy_array_params *params)
{
    static const char call[] = "cj_copy_array";
    cji_scope scope;
    cji_array_copy c;
    cj_status st = cji_check(s, CJI_TAG_STREAM, call);
    if (st != CJ_OK) return st;
    st = cji_array_copy_of_params(s, s->dev, params, &c, call);
    if (st == CJ_OK) st = array_copy_allowed(s, &c, call);
    if (st == CJ_OK) st = array_end_use(s, &c.dst, "the destination", call);
    if (st == CJ_OK) st = array_end_use(s, &c.src, "the source", call);
    if (st == CJ_OK) st = cji_scope_begin(s, s->dev, &scope, call);
    if (st != CJ_OK) return cji_stream_failed(s, st);
    st = array_copy_run(s, &c, call);
    if (st == CJ_OK && c.peer) st = array_end_peer_use(s, &c.dst, call);
    if (st == CJ_OK && c.peer) st = array_end_peer_use(s, &c.src, call);
    cji_scope_leave(&scope);
    return st == CJ_OK ? CJ_OK : cji_stream_failed(s, st);
}
