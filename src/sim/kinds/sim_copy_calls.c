/* The calls that copy: one range, ranges of other devices, rows and slices, arrays. Batches: sim_copy_batch.c. */
#include "sim/kinds/sim_kinds.h"

#include <string.h>

static sim_copy *sim_copy_in_work(sim_work *w) { return (sim_copy *)w; }

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

CUresult cji_sim_copy_submit(sim_stream *s, sim_copy *w, bool sync, bool now)
{
    bool some = w->depth != 0, inside = !w->src.host && !w->dst.host;
    bool from_page = some && w->src.host && (w->src.pageable || now), to_page = some && w->dst.host && w->dst.pageable;
    if (s->capture) return cji_sim_stream_submit(s, &w->work);
    if (to_page || (sync && !inside) || (from_page && !sim_stage(w)))
        return cji_sim_stream_submit_and_wait(s, &w->work);
    return cji_sim_stream_submit(s, &w->work);
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
    bool no_node = !r && s->capture && !sim_copy_in_work(w)->depth;
    if (no_node) cji_sim_work_drop(w);
    else if (!r) r = cji_sim_copy_submit(s, sim_copy_in_work(w), sync, false);
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

/* The context of an end that is memory of a device; an array has its own. */
static CUresult sim_peer_end(CUcontext h, CUmemorytype type)
{
    if (type != CU_MEMORYTYPE_DEVICE) return CUDA_SUCCESS;
    return cji_sim_handle_is(SIM_CTX, h) && ((sim_ctx *)h)->alive ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

static CUresult sim_peer_copy(const CUDA_MEMCPY3D_PEER *p, CUstream h, bool sync)
{
    if (!p) return CUDA_ERROR_INVALID_VALUE;
    const CUDA_MEMCPY3D q = sim_from_peer(p);
    sim_lock();
    CUresult r = sim_peer_end(p->dstContext, p->dstMemoryType);
    if (!r) r = sim_peer_end(p->srcContext, p->srcMemoryType);
    sim_unlock();
    return r ? r : sim_copy_on(&q, h, sync);
}

CUresult cji_sim_cuMemcpy3DPeer(const CUDA_MEMCPY3D_PEER *p) { return sim_peer_copy(p, NULL, true); }
CUresult cji_sim_cuMemcpy3DPeerAsync(const CUDA_MEMCPY3D_PEER *p, CUstream h) { return sim_peer_copy(p, h, false); }

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

/* ---- One row of an array: offsets and sizes in bytes ------------------------------------------------------------- */

static CUDA_MEMCPY3D sim_row(size_t bytes) { return (CUDA_MEMCPY3D){ .WidthInBytes = bytes, .Height = 1, .Depth = 1 }; }

static CUresult sim_copy_to_array(CUarray dst, size_t offset, CUmemorytype type, const void *host, CUdeviceptr device,
                                  size_t bytes, CUstream h, bool sync)
{
    CUDA_MEMCPY3D p = sim_row(bytes);
    p.dstMemoryType = CU_MEMORYTYPE_ARRAY;
    p.dstArray = dst;
    p.dstXInBytes = offset;
    p.srcMemoryType = type;
    p.srcHost = host;
    p.srcDevice = device;
    return sim_copy_on(&p, h, sync);
}

static CUresult sim_copy_from_array(CUmemorytype type, void *host, CUdeviceptr device, CUarray src, size_t offset,
                                    size_t bytes, CUstream h, bool sync)
{
    CUDA_MEMCPY3D p = sim_row(bytes);
    p.srcMemoryType = CU_MEMORYTYPE_ARRAY;
    p.srcArray = src;
    p.srcXInBytes = offset;
    p.dstMemoryType = type;
    p.dstHost = host;
    p.dstDevice = device;
    return sim_copy_on(&p, h, sync);
}

CUresult cji_sim_cuMemcpyDtoA(CUarray dst, size_t offset, CUdeviceptr src, size_t n)
{
    return sim_copy_to_array(dst, offset, CU_MEMORYTYPE_DEVICE, NULL, src, n, NULL, true);
}
CUresult cji_sim_cuMemcpyAtoD(CUdeviceptr dst, CUarray src, size_t offset, size_t n)
{
    return sim_copy_from_array(CU_MEMORYTYPE_DEVICE, NULL, dst, src, offset, n, NULL, true);
}
CUresult cji_sim_cuMemcpyHtoA(CUarray dst, size_t offset, const void *src, size_t n)
{
    return sim_copy_to_array(dst, offset, CU_MEMORYTYPE_HOST, src, 0, n, NULL, true);
}
CUresult cji_sim_cuMemcpyAtoH(void *dst, CUarray src, size_t offset, size_t n)
{
    return sim_copy_from_array(CU_MEMORYTYPE_HOST, dst, 0, src, offset, n, NULL, true);
}
CUresult cji_sim_cuMemcpyHtoAAsync(CUarray dst, size_t offset, const void *src, size_t n, CUstream h)
{
    return sim_copy_to_array(dst, offset, CU_MEMORYTYPE_HOST, src, 0, n, h, false);
}
CUresult cji_sim_cuMemcpyAtoHAsync(void *dst, CUarray src, size_t offset, size_t n, CUstream h)
{
    return sim_copy_from_array(CU_MEMORYTYPE_HOST, dst, 0, src, offset, n, h, false);
}

CUresult cji_sim_cuMemcpyAtoA(CUarray dst, size_t to, CUarray src, size_t from, size_t n)
{
    CUDA_MEMCPY3D p = sim_row(n);
    p.dstMemoryType = p.srcMemoryType = CU_MEMORYTYPE_ARRAY;
    p.dstArray = dst;
    p.dstXInBytes = to;
    p.srcArray = src;
    p.srcXInBytes = from;
    return sim_copy_on(&p, NULL, true);
}
