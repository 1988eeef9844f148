/* Copies.
 *
 * Host memory is pageable unless it was pinned, registered or made as managed memory. A copy from pageable memory
 * takes its bytes at the call (staged), so the source may be changed on return; a copy to pageable memory returns
 * when it is done. Copies inside the device return at once. */
#include "sim/kinds/sim_kinds.h"

#include <stdio.h>
#include <string.h>

/* One end of a copy. */
typedef struct sim_copy_end {
    uint64_t at;
    size_t pitch, slice;
    bool host;                      /* not the device's memory */
    bool pageable;                  /* nor pinned, registered or managed: `at` is used as it is, not looked up */
} sim_copy_end;

typedef struct sim_copy {
    sim_work work;
    sim_copy_end dst, src;
    size_t width, height, depth;    /* depth 0: it copies nothing */
    void *staged;                   /* the bytes of a pageable source, NULL none */
    size_t staged_bytes;
    CUDA_MEMCPY3D raw;
} sim_copy;

static const sim_copy *sim_copy_of(const sim_work *w) { return (const sim_copy *)w; }

/* ---- Making the work --------------------------------------------------------------------------------------------- */

/* What a copy of that size reaches of one end. */
static sim_extent sim_copy_extent(const sim_copy_end *s, size_t width, size_t height, size_t depth)
{
    return (sim_extent){ .pitch = s->pitch, .slice = s->slice, .width = width, .height = height, .depth = depth };
}

/* One side of a copy: where it begins, and whether all of it is there. */
static CUresult sim_copy_end_of(CUmemorytype type, const void *host, CUdeviceptr device, size_t pitch, size_t height,
                                size_t x, size_t y, size_t z, const CUDA_MEMCPY3D *p, sim_copy_end *out)
{
    if (type != CU_MEMORYTYPE_HOST && type != CU_MEMORYTYPE_DEVICE && type != CU_MEMORYTYPE_UNIFIED)
        return CUDA_ERROR_INVALID_VALUE;
    uint64_t base = type == CU_MEMORYTYPE_HOST ? (uint64_t)(uintptr_t)host : device, bytes;
    uint64_t row, rows, slice;
    if (!base || !cji_sim_sum(&row, p->WidthInBytes, x) || !cji_sim_sum(&rows, p->Height, y))
        return CUDA_ERROR_INVALID_VALUE;
    if (!pitch) pitch = row;
    if (!height) height = rows;
    if (pitch < row || height < rows || !cji_sim_product(&slice, pitch, height))
        return CUDA_ERROR_INVALID_VALUE; /* of a single row and slice too */
    *out = (sim_copy_end){ .pitch = pitch, .slice = slice };
    sim_extent e = sim_copy_extent(out, p->WidthInBytes, p->Height, p->Depth);
    if (!cji_sim_extent_at(&e, base, x, y, z, &out->at) || !cji_sim_extent_bytes(&e, &bytes))
        return CUDA_ERROR_INVALID_VALUE;
    sim_range range;
    bool known = cji_sim_space_find(out->at, &range);
    out->host = !known || cji_sim_range_is_host(&range);
    out->pageable = !known;
    if (type == CU_MEMORYTYPE_HOST && known && !out->host) return CUDA_ERROR_INVALID_VALUE;
    if (type == CU_MEMORYTYPE_DEVICE && !known) return CUDA_ERROR_INVALID_VALUE;
    if (!known) {
        for (unsigned d = 0; d < sim.set.devices; d++)
            if (out->at - sim.device[d]->lo < sim.device[d]->span) return CUDA_ERROR_INVALID_VALUE;
        return CUDA_SUCCESS;
    }
    return cji_sim_space_at(NULL, out->at, bytes) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static bool sim_copy_end_reached(const sim_copy_end *s, const sim_ctx *c)
{
    sim_range r;
    return s->host || !cji_sim_space_find(s->at, &r) || !r.pool || cji_sim_space_at(c, s->at, 1);
}

static bool sim_copy_end_allowed(const sim_copy_end *s, const CUDA_MEMCPY3D *p, const sim_ctx *c, bool write)
{
    uint64_t bytes;
    sim_extent e = sim_copy_extent(s, p->WidthInBytes, p->Height, p->Depth);
    return s->pageable || (cji_sim_extent_bytes(&e, &bytes) && cji_sim_space_allows(c, s->at, bytes, write));
}

CUresult cji_sim_copy_node_work(const CUDA_MEMCPY3D *p, sim_ctx *c, sim_work **out)
{
    CUresult r = cji_sim_copy_work(p, c, out);
    if (r || !sim_copy_of(*out)->depth ||
        (sim_copy_end_reached(&sim_copy_of(*out)->dst, c) && sim_copy_end_reached(&sim_copy_of(*out)->src, c)))
        return r;
    cji_sim_work_drop(*out);
    return CUDA_ERROR_INVALID_VALUE;
}

CUresult cji_sim_copy_work(const CUDA_MEMCPY3D *p, sim_ctx *c, sim_work **out)
{
    sim_copy_end dst, src;
    bool empty = !p->WidthInBytes || !p->Height || !p->Depth;
    if (p->reserved0 || p->reserved1)
        return CUDA_ERROR_INVALID_VALUE; /* the levels of detail are arrays': not checked */
    if (!empty) {
        CUresult r = sim_copy_end_of(p->dstMemoryType, p->dstHost, p->dstDevice, p->dstPitch, p->dstHeight,
                                     p->dstXInBytes, p->dstY, p->dstZ, p, &dst);
        if (!r && !sim_copy_end_allowed(&dst, p, c, true)) r = CUDA_ERROR_INVALID_VALUE;
        if (!r)
            r = sim_copy_end_of(p->srcMemoryType, p->srcHost, p->srcDevice, p->srcPitch, p->srcHeight, p->srcXInBytes,
                                p->srcY, p->srcZ, p, &src);
        if (!r && !sim_copy_end_allowed(&src, p, c, false)) r = CUDA_ERROR_INVALID_VALUE;
        if (r) return r;
    }
    sim_copy *w = (sim_copy *)cji_sim_work_new(&cji_sim_kind_copy, c, sizeof *w);
    if (!w) return CUDA_ERROR_OUT_OF_MEMORY;
    w->raw = *p;
    if (!empty) {
        w->dst = dst;
        w->src = src;
        w->width = p->WidthInBytes;
        w->height = p->Height;
        w->depth = p->Depth;
    }
    *out = &w->work;
    return CUDA_SUCCESS;
}

/* ---- Doing it ---------------------------------------------------------------------------------------------------- */

/* Memory is looked up again when the copy runs: it may have been freed since the call. */
static unsigned char *sim_copy_end_at(sim_op *op, const sim_copy_end *s, const sim_copy *w, bool write)
{
    if (s->pageable) return (unsigned char *)(uintptr_t)s->at;
    uint64_t bytes = 0;
    sim_extent e = sim_copy_extent(s, w->width, w->height, w->depth);
    cji_sim_extent_bytes(&e, &bytes);
    unsigned char *p = s->host == cji_sim_space_is_host(s->at) ? cji_sim_space_at(NULL, s->at, bytes) : NULL;
    bool allowed = p && cji_sim_space_allows(op->ctx, s->at, bytes, write);
    if (!allowed) {
        char why[160], sentence[260];
        if (p) snprintf(why, sizeof why, "the device may not %s (cuMemSetAccess)", write ? "write" : "read");
        else if (s->host)
            snprintf(why, sizeof why, "was pinned, registered or managed memory at the call and is no longer");
        else cji_sim_space_why(s->at, why, sizeof why);
        snprintf(sentence, sizeof sentence, "a copy of %llu bytes %s 0x%llx, which %s", (unsigned long long)bytes,
                 write ? "to" : "from", (unsigned long long)s->at, why);
        sim_lock();
        cji_sim_op_fails(op, CUDA_ERROR_ILLEGAL_ADDRESS, sentence);
        sim_unlock();
    }
    return allowed ? p : NULL;
}

static void sim_copy_run(sim_op *op)
{
    const sim_copy *w = sim_copy_of(op->work);
    if (!w->depth) return;
    unsigned char *dst = sim_copy_end_at(op, &w->dst, w, true),
                  *src = dst ? sim_copy_end_at(op, &w->src, w, false) : NULL;
    if (!dst || !src) return;
    for (size_t z = 0; z < w->depth; z++)
        for (size_t y = 0; y < w->height; y++)
            memmove(dst + z * w->dst.slice + y * w->dst.pitch, src + z * w->src.slice + y * w->src.pitch, w->width);
}

/* ---- The kind ---------------------------------------------------------------------------------------------------- */

static void sim_copy_drop(sim_work *w)
{
    const sim_copy *c = sim_copy_of(w);
    if (c->staged) cji_free(c->staged, c->staged_bytes);
}

static CUresult sim_copy_read(CUgraphNodeParams *all, sim_graph *g, sim_work **out)
{
    const CUDA_MEMCPY3D *p = &all->memcpy.copyParams;
    sim_ctx *c;
    (void)g;
    CUresult r = cji_sim_ctx_for(all->memcpy.copyCtx, &c);
    if (!r && (!p->WidthInBytes || !p->Height || !p->Depth))
        r = CUDA_ERROR_INVALID_VALUE; /* a call copies nothing, a node does not */
    return r ? r : cji_sim_copy_node_work(p, c, out);
}

static void sim_copy_write(const sim_work *w, CUgraphNodeParams *p)
{
    p->memcpy.copyCtx = (CUcontext)w->ctx;
    p->memcpy.copyParams = sim_copy_of(w)->raw;
}

static bool sim_copy_replaces(const sim_work *old, const sim_work *w)
{
    const sim_copy *a = sim_copy_of(old), *b = sim_copy_of(w);
    return a->dst.host == b->dst.host && a->src.host == b->src.host;
}

static CUgraphExecUpdateResult sim_copy_alike(const sim_work *a, const sim_work *b)
{
    return a->ctx == b->ctx && sim_copy_replaces(a, b) ? CU_GRAPH_EXEC_UPDATE_SUCCESS
                                                       : CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED;
}

const sim_work_kind cji_sim_kind_copy = { .name = "memcpy",
                                          .node_type = CU_GRAPH_NODE_TYPE_MEMCPY,
                                          .traits = SIM_WORK_HELPS | SIM_WORK_WRITES_ANYTHING,
                                          .drop = sim_copy_drop,
                                          .run = sim_copy_run,
                                          .read_params = sim_copy_read,
                                          .write_params = sim_copy_write,
                                          .alike = sim_copy_alike,
                                          .replaces = sim_copy_replaces };

/* ---- Submitting -------------------------------------------------------------------------------------------------- */

/* Takes the bytes of a pageable source now. Without memory for it the copy is waited for instead: false. */
static bool sim_stage(sim_copy *w)
{
    uint64_t bytes;
    bool fits = cji_sim_product(&bytes, w->width, w->height) && cji_sim_product(&bytes, bytes, w->depth);
    unsigned char *to = fits ? cji_alloc(bytes) : NULL;
    if (!to) return false;
    const unsigned char *from = (const unsigned char *)(uintptr_t)w->src.at;
    size_t width = w->width;
    for (size_t z = 0; z < w->depth; z++)
        for (size_t y = 0; y < w->height; y++)
            memcpy(to + (z * w->height + y) * width, from + z * w->src.slice + y * w->src.pitch, width);
    w->staged = to;
    w->staged_bytes = bytes;
    w->src = (sim_copy_end){ .at = (uint64_t)(uintptr_t)to, .pitch = width, .slice = width * w->height,
                              .host = true, .pageable = true };
    return true;
}

/* `sync`: the call without Async in its name, on stream 0. */
static CUresult sim_copy_on(const CUDA_MEMCPY3D *p, CUstream h, bool sync)
{
    sim_stream *s;
    sim_work *w;
    sim_lock();
    CUresult r = cji_sim_stream_for_work(h, &s);
    if (!r && sync && s->capture) r = cji_sim_capture_rejects(s);
    if (!r) r = s->capture ? cji_sim_copy_node_work(p, s->ctx, &w) : cji_sim_copy_work(p, s->ctx, &w);
    if (!r && s->capture && !sim_copy_of(w)->depth) {   /* it makes no node */
        cji_sim_work_drop(w);
        sim_unlock();
        return CUDA_SUCCESS;
    }
    if (!r) {
        bool from_page = sim_copy_of(w)->depth && sim_copy_of(w)->src.host && sim_copy_of(w)->src.pageable,
             to_page = sim_copy_of(w)->depth && sim_copy_of(w)->dst.host && sim_copy_of(w)->dst.pageable;
        bool inside = !sim_copy_of(w)->src.host && !sim_copy_of(w)->dst.host;
        if (s->capture) r = cji_sim_stream_submit(s, w);
        else if (to_page || (sync && !inside) || (from_page && !sim_stage((sim_copy *)w)))
            r = cji_sim_stream_submit_and_wait(s, w);
        else r = cji_sim_stream_submit(s, w);
    }
    sim_unlock();
    return r;
}

static CUDA_MEMCPY3D sim_flat(CUmemorytype dst_type, void *dst_host, CUdeviceptr dst, CUmemorytype src_type,
                              const void *src_host, CUdeviceptr src, size_t bytes)
{
    return (CUDA_MEMCPY3D){ .srcMemoryType = src_type,
                            .srcHost = src_host,
                            .srcDevice = src,
                            .dstMemoryType = dst_type,
                            .dstHost = dst_host,
                            .dstDevice = dst,
                            .srcPitch = bytes,
                            .srcHeight = 1,
                            .dstPitch = bytes,
                            .dstHeight = 1,
                            .WidthInBytes = bytes,
                            .Height = 1,
                            .Depth = 1 };
}

static CUresult sim_copy_any(CUdeviceptr dst, CUdeviceptr src, size_t bytes, CUstream h, bool sync)
{
    CUDA_MEMCPY3D p = sim_flat(CU_MEMORYTYPE_UNIFIED, NULL, dst, CU_MEMORYTYPE_UNIFIED, NULL, src, bytes);
    return sim_copy_on(&p, h, sync);
}

static CUresult sim_copy_in(CUdeviceptr dst, const void *src, size_t bytes, CUstream h, bool sync)
{
    CUDA_MEMCPY3D p = sim_flat(CU_MEMORYTYPE_DEVICE, NULL, dst, CU_MEMORYTYPE_HOST, src, 0, bytes);
    return sim_copy_on(&p, h, sync);
}

static CUresult sim_copy_out(void *dst, CUdeviceptr src, size_t bytes, CUstream h, bool sync)
{
    CUDA_MEMCPY3D p = sim_flat(CU_MEMORYTYPE_HOST, dst, 0, CU_MEMORYTYPE_DEVICE, NULL, src, bytes);
    return sim_copy_on(&p, h, sync);
}

static CUresult sim_copy_inside(CUdeviceptr dst, CUdeviceptr src, size_t bytes, CUstream h, bool sync)
{
    CUDA_MEMCPY3D p = sim_flat(CU_MEMORYTYPE_DEVICE, NULL, dst, CU_MEMORYTYPE_DEVICE, NULL, src, bytes);
    return sim_copy_on(&p, h, sync);
}

CUresult cji_sim_cuMemcpy(CUdeviceptr dst, CUdeviceptr src, size_t n)
{
    return sim_copy_any(dst, src, n, NULL, true);
}
CUresult cji_sim_cuMemcpyAsync(CUdeviceptr dst, CUdeviceptr src, size_t n, CUstream h)
{
    return sim_copy_any(dst, src, n, h, false);
}
CUresult cji_sim_cuMemcpyHtoD(CUdeviceptr dst, const void *src, size_t n)
{
    return sim_copy_in(dst, src, n, NULL, true);
}
CUresult cji_sim_cuMemcpyHtoDAsync(CUdeviceptr dst, const void *src, size_t n, CUstream h)
{
    return sim_copy_in(dst, src, n, h, false);
}
CUresult cji_sim_cuMemcpyDtoH(void *dst, CUdeviceptr src, size_t n)
{
    return sim_copy_out(dst, src, n, NULL, true);
}
CUresult cji_sim_cuMemcpyDtoHAsync(void *dst, CUdeviceptr src, size_t n, CUstream h)
{
    return sim_copy_out(dst, src, n, h, false);
}
CUresult cji_sim_cuMemcpyDtoD(CUdeviceptr dst, CUdeviceptr src, size_t n)
{
    return sim_copy_inside(dst, src, n, NULL, true);
}
CUresult cji_sim_cuMemcpyDtoDAsync(CUdeviceptr dst, CUdeviceptr src, size_t n, CUstream h)
{
    return sim_copy_inside(dst, src, n, h, false);
}

/* ---- Between devices --------------------------------------------------------------------------------------------- */

static CUresult sim_peer_check(CUcontext a, CUcontext b, CUstream h, bool async)
{
    sim_stream *s;
    sim_lock();
    CUresult r =
        cji_sim_handle_is(SIM_CTX, a) && ((sim_ctx *)a)->alive && cji_sim_handle_is(SIM_CTX, b) && ((sim_ctx *)b)->alive
            ? CUDA_SUCCESS
            : CUDA_ERROR_INVALID_CONTEXT;
    if (!r && async) r = cji_sim_stream_for_work(h, &s);
    if (!r && async && s->capture) r = cji_sim_capture_rejects(s);
    sim_unlock();
    return r;
}

CUresult cji_sim_cuMemcpyPeer(CUdeviceptr dst, CUcontext to, CUdeviceptr src, CUcontext from, size_t n)
{
    CUresult r = sim_peer_check(to, from, NULL, false);
    return r ? r : sim_copy_inside(dst, src, n, NULL, true);
}

CUresult cji_sim_cuMemcpyPeerAsync(CUdeviceptr dst, CUcontext to, CUdeviceptr src, CUcontext from, size_t n, CUstream h)
{
    CUresult r = sim_peer_check(to, from, h, true);
    return r ? r : sim_copy_inside(dst, src, n, h, false);
}

static CUDA_MEMCPY3D sim_from_peer(const CUDA_MEMCPY3D_PEER *p)
{
    return (CUDA_MEMCPY3D){ .srcXInBytes = p->srcXInBytes,
                            .srcY = p->srcY,
                            .srcZ = p->srcZ,
                            .srcLOD = p->srcLOD,
                            .srcMemoryType = p->srcMemoryType,
                            .srcHost = p->srcHost,
                            .srcDevice = p->srcDevice,
                            .srcArray = p->srcArray,
                            .srcPitch = p->srcPitch,
                            .srcHeight = p->srcHeight,
                            .dstXInBytes = p->dstXInBytes,
                            .dstY = p->dstY,
                            .dstZ = p->dstZ,
                            .dstLOD = p->dstLOD,
                            .dstMemoryType = p->dstMemoryType,
                            .dstHost = p->dstHost,
                            .dstDevice = p->dstDevice,
                            .dstArray = p->dstArray,
                            .dstPitch = p->dstPitch,
                            .dstHeight = p->dstHeight,
                            .WidthInBytes = p->WidthInBytes,
                            .Height = p->Height,
                            .Depth = p->Depth };
}

CUresult cji_sim_cuMemcpy3DPeer(const CUDA_MEMCPY3D_PEER *p)
{
    if (!p) return CUDA_ERROR_INVALID_VALUE;
    CUDA_MEMCPY3D q = sim_from_peer(p);
    return sim_copy_on(&q, NULL, true);
}

CUresult cji_sim_cuMemcpy3DPeerAsync(const CUDA_MEMCPY3D_PEER *p, CUstream h)
{
    if (!p) return CUDA_ERROR_INVALID_VALUE;
    CUDA_MEMCPY3D q = sim_from_peer(p);
    return sim_copy_on(&q, h, false);
}

/* ---- In two and three dimensions --------------------------------------------------------------------------------- */

static CUDA_MEMCPY3D sim_from_2d(const CUDA_MEMCPY2D *p)
{
    return (CUDA_MEMCPY3D){ .srcXInBytes = p->srcXInBytes,
                            .srcY = p->srcY,
                            .srcMemoryType = p->srcMemoryType,
                            .srcHost = p->srcHost,
                            .srcDevice = p->srcDevice,
                            .srcArray = p->srcArray,
                            .srcPitch = p->srcPitch,
                            .dstXInBytes = p->dstXInBytes,
                            .dstY = p->dstY,
                            .dstMemoryType = p->dstMemoryType,
                            .dstHost = p->dstHost,
                            .dstDevice = p->dstDevice,
                            .dstArray = p->dstArray,
                            .dstPitch = p->dstPitch,
                            .WidthInBytes = p->WidthInBytes,
                            .Height = p->Height,
                            .Depth = 1 };
}

static CUresult sim_copy_2d(const CUDA_MEMCPY2D *p, CUstream h, bool sync)
{
    if (!p) return CUDA_ERROR_INVALID_VALUE;
    CUDA_MEMCPY3D q = sim_from_2d(p);
    return sim_copy_on(&q, h, sync);
}

CUresult cji_sim_cuMemcpy2D(const CUDA_MEMCPY2D *p) { return sim_copy_2d(p, NULL, true); }
CUresult cji_sim_cuMemcpy2DUnaligned(const CUDA_MEMCPY2D *p) { return sim_copy_2d(p, NULL, true); }
CUresult cji_sim_cuMemcpy2DAsync(const CUDA_MEMCPY2D *p, CUstream h) { return sim_copy_2d(p, h, false); }
CUresult cji_sim_cuMemcpy3D(const CUDA_MEMCPY3D *p)
{
    return p ? sim_copy_on(p, NULL, true) : CUDA_ERROR_INVALID_VALUE;
}
CUresult cji_sim_cuMemcpy3DAsync(const CUDA_MEMCPY3D *p, CUstream h)
{
    return p ? sim_copy_on(p, h, false) : CUDA_ERROR_INVALID_VALUE;
}
