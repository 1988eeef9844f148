/* Copies and fills.
 *
 * Host memory is pageable unless it was pinned, registered or made as managed memory.  A copy from pageable memory takes its bytes at the
 * call (staged), so the source may be changed on return; a copy to pageable memory returns when it is done.  Copies inside the device
 * and fills return at once. */
#include "sim/sim_core.h"
#include "sim/sim_capture.h"
#include "sim/sim_device.h"
#include "sim/sim_memory.h"
#include "sim/sim_queue.h"
#include "sim/sim_stream.h"

#include <stdio.h>
#include <string.h>

/* ---- Making the work --------------------------------------------------------------------------------------------- */

static bool sim_copy_reach(const sim_copy_end *s, size_t width, size_t height, size_t depth, uint64_t *bytes)
{
    uint64_t rows, slices;
    return !__builtin_mul_overflow((uint64_t)s->pitch, height - 1, &rows) && !__builtin_mul_overflow((uint64_t)s->slice, depth - 1, &slices)
        && !__builtin_add_overflow(rows, slices, bytes) && !__builtin_add_overflow(*bytes, width, bytes);
}

/* One side of a copy: where it begins, and whether all of it is there. */
static CUresult sim_copy_end_of(CUmemorytype type, const void *host, CUdeviceptr device, size_t pitch, size_t height, size_t x, size_t y, size_t z,
                           const CUDA_MEMCPY3D *p, sim_copy_end *out)
{
    if (type != CU_MEMORYTYPE_HOST && type != CU_MEMORYTYPE_DEVICE && type != CU_MEMORYTYPE_UNIFIED) return CUDA_ERROR_INVALID_VALUE;
    uint64_t base = type == CU_MEMORYTYPE_HOST ? (uint64_t)(uintptr_t)host : device, bytes;
    if (!pitch) pitch = p->WidthInBytes + x;
    if (!height) height = p->Height + y;
    if (pitch < p->WidthInBytes + x || height < p->Height + y) return CUDA_ERROR_INVALID_VALUE;   /* of a single row and slice too */
    out->pitch = pitch;
    out->slice = pitch * height;
    out->at = base + z * out->slice + y * pitch + x;
    if (!base || !sim_copy_reach(out, p->WidthInBytes, p->Height, p->Depth, &bytes)) return CUDA_ERROR_INVALID_VALUE;
    sim_range range;
    bool known = cji_sim_space_find(out->at, &range);
    out->host = !known || range.place != SIM_DEVICE;
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

CUresult cji_sim_copy_node_work(const CUDA_MEMCPY3D *p, sim_ctx *c, sim_work **out)
{
    CUresult r = cji_sim_copy_work(p, c, out);
    if (r || !(*out)->copy.depth || (sim_copy_end_reached(&(*out)->copy.dst, c) && sim_copy_end_reached(&(*out)->copy.src, c))) return r;
    cji_sim_work_drop(*out);
    return CUDA_ERROR_INVALID_VALUE;
}

CUresult cji_sim_copy_work(const CUDA_MEMCPY3D *p, sim_ctx *c, sim_work **out)
{
    sim_copy_end dst, src;
    bool empty = !p->WidthInBytes || !p->Height || !p->Depth;
    if (p->reserved0 || p->reserved1) return CUDA_ERROR_INVALID_VALUE;   /* the levels of detail are arrays': not looked at */
    if (!empty) {
        CUresult r = sim_copy_end_of(p->dstMemoryType, p->dstHost, p->dstDevice, p->dstPitch, p->dstHeight, p->dstXInBytes, p->dstY, p->dstZ, p, &dst);
        sim_range range;
        bool known = !r && cji_sim_space_find(dst.at, &range);
        if (known && range.place == SIM_REGISTERED && range.flags & CU_MEMHOSTREGISTER_READ_ONLY) r = CUDA_ERROR_INVALID_VALUE;
        if (!r) r = sim_copy_end_of(p->srcMemoryType, p->srcHost, p->srcDevice, p->srcPitch, p->srcHeight, p->srcXInBytes, p->srcY, p->srcZ, p, &src);
        if (r) return r;
    }
    sim_work *w = cji_sim_work_new(SIM_COPY, c, 0);
    if (!w) return CUDA_ERROR_OUT_OF_MEMORY;
    w->copy.raw = *p;
    if (!empty) {
        w->copy.dst = dst;
        w->copy.src = src;
        w->copy.width = p->WidthInBytes;
        w->copy.height = p->Height;
        w->copy.depth = p->Depth;
    }
    *out = w;
    return CUDA_SUCCESS;
}

CUresult cji_sim_fill_work(const CUDA_MEMSET_NODE_PARAMS *p, sim_ctx *c, sim_work **out)
{
    size_t width, bytes;
    bool empty = !p->width || !p->height;   /* then nothing else is looked at */
    if ((p->elementSize != 1 && p->elementSize != 2 && p->elementSize != 4) || (!empty && p->dst % p->elementSize)) return CUDA_ERROR_INVALID_VALUE;
    if (__builtin_mul_overflow(p->width, (size_t)p->elementSize, &width)) return CUDA_ERROR_INVALID_VALUE;
    size_t pitch = p->height > 1 ? p->pitch : width;
    if (!empty) {
        if (pitch % p->elementSize || pitch < width || __builtin_mul_overflow(pitch, p->height - 1, &bytes) || __builtin_add_overflow(bytes, width, &bytes))
            return CUDA_ERROR_INVALID_VALUE;
        if (!cji_sim_space_at(c, p->dst, bytes)) return CUDA_ERROR_INVALID_VALUE;
    }
    sim_work *w = cji_sim_work_new(SIM_FILL, c, 0);
    if (!w) return CUDA_ERROR_OUT_OF_MEMORY;
    w->fill.dst = p->dst;
    w->fill.pitch = pitch;
    w->fill.width = p->width;
    w->fill.height = p->width ? p->height : 0;
    w->fill.value = p->value;
    w->fill.element = p->elementSize;
    *out = w;
    return CUDA_SUCCESS;
}

/* ---- Doing it ---------------------------------------------------------------------------------------------------- */

static unsigned char *sim_copy_end_at(sim_op *op, const sim_copy_end *s, const sim_work *w, const char *what)
{
    if (s->host) return (unsigned char *)(uintptr_t)s->at;
    uint64_t bytes = 0;
    sim_copy_reach(s, w->copy.width, w->copy.height, w->copy.depth, &bytes);
    unsigned char *p = cji_sim_space_at(NULL, s->at, bytes);
    if (!p) {
        char why[160], sentence[260];
        cji_sim_space_why(s->at, why, sizeof why);
        snprintf(sentence, sizeof sentence, "a copy of %llu bytes %s 0x%llx, which %s", (unsigned long long)bytes, what, (unsigned long long)s->at, why);
        sim_lock();
        cji_sim_op_fails(op, CUDA_ERROR_ILLEGAL_ADDRESS, sentence);
        sim_unlock();
    }
    return p;
}

void cji_sim_copy_run(sim_op *op, const sim_work *w)
{
    if (!w->copy.depth) return;
    unsigned char *dst = sim_copy_end_at(op, &w->copy.dst, w, "to"), *src = dst ? sim_copy_end_at(op, &w->copy.src, w, "from") : NULL;
    if (!dst || !src) return;
    for (size_t z = 0; z < w->copy.depth; z++)
        for (size_t y = 0; y < w->copy.height; y++)
            memmove(dst + z * w->copy.dst.slice + y * w->copy.dst.pitch, src + z * w->copy.src.slice + y * w->copy.src.pitch, w->copy.width);
}

static void sim_fill_row(unsigned char *p, size_t width, uint32_t value, uint32_t element)
{
    if (element == 1) {
        memset(p, (int)(value & 0xff), width);
        return;
    }
    for (size_t i = 0; i < width; i++) {
        uint16_t half = (uint16_t)value;
        if (element == 2) memcpy(p + 2 * i, &half, 2);
        else memcpy(p + 4 * i, &value, 4);
    }
}

void cji_sim_fill_run(sim_op *op, const sim_work *w)
{
    if (!w->fill.height) return;
    uint64_t bytes = w->fill.pitch * (w->fill.height - 1) + w->fill.width * w->fill.element;
    unsigned char *p = cji_sim_space_at(op->ctx, w->fill.dst, bytes);
    if (!p) {
        char why[160], sentence[260];
        cji_sim_space_why(w->fill.dst, why, sizeof why);
        snprintf(sentence, sizeof sentence, "a fill of %llu bytes at 0x%llx, which %s", (unsigned long long)bytes, (unsigned long long)w->fill.dst, why);
        sim_lock();
        cji_sim_op_fails(op, CUDA_ERROR_ILLEGAL_ADDRESS, sentence);
        sim_unlock();
        return;
    }
    for (size_t y = 0; y < w->fill.height; y++) sim_fill_row(p + y * w->fill.pitch, w->fill.width, w->fill.value, w->fill.element);
}

/* ---- Submitting -------------------------------------------------------------------------------------------------- */

/* Takes the bytes of a pageable source now.  Without memory for it the copy is waited for instead: false. */
static bool sim_stage(sim_work *w)
{
    size_t bytes = w->copy.width * w->copy.height * w->copy.depth;
    unsigned char *to = cji_alloc(bytes);
    if (!to) return false;
    const unsigned char *from = (const unsigned char *)(uintptr_t)w->copy.src.at;
    size_t width = w->copy.width;
    for (size_t z = 0; z < w->copy.depth; z++)
        for (size_t y = 0; y < w->copy.height; y++)
            memcpy(to + (z * w->copy.height + y) * width, from + z * w->copy.src.slice + y * w->copy.src.pitch, width);
    w->copy.staged = to;
    w->copy.staged_bytes = bytes;
    w->copy.src = (sim_copy_end){ .at = (uint64_t)(uintptr_t)to, .pitch = width, .slice = width * w->copy.height, .host = true };
    return true;
}

static CUresult sim_submit_and_wait(sim_stream *s, sim_work *w)
{
    sim_op *op;
    CUresult r = cji_sim_stream_enqueue(s, w, NULL, &op);
    cji_sim_work_drop(w);
    if (r) return r;
    sim_ctx *c = s->ctx;
    cji_sim_queue_balance(op->waits ? 0 : 1);
    r = cji_sim_queue_wait(op);
    cji_sim_op_drop(op);
    return r ? r : c->fault;
}

/* `sync`: the call without Async in its name, on the legacy stream. */
static CUresult sim_copy(const CUDA_MEMCPY3D *p, CUstream h, bool sync)
{
    sim_stream *s;
    sim_work *w;
    sim_lock();
    CUresult r = cji_sim_stream_for_work(h, &s);
    if (!r && sync && s->capture) r = cji_sim_capture_refuses(s);
    if (!r) r = s->capture ? cji_sim_copy_node_work(p, s->ctx, &w) : cji_sim_copy_work(p, s->ctx, &w);
    if (!r && s->capture && !w->copy.depth) {   /* it makes no node */
        cji_sim_work_drop(w);
        sim_unlock();
        return CUDA_SUCCESS;
    }
    if (!r) {
        bool from_page = w->copy.depth && w->copy.src.host && w->copy.src.pageable, to_page = w->copy.depth && w->copy.dst.host && w->copy.dst.pageable;
        bool inside = !w->copy.src.host && !w->copy.dst.host;
        if (s->capture) r = cji_sim_stream_submit(s, w);
        else if (to_page || (sync && !inside) || (from_page && !sim_stage(w))) r = sim_submit_and_wait(s, w);
        else r = cji_sim_stream_submit(s, w);
    }
    sim_unlock();
    return r;
}

static CUDA_MEMCPY3D sim_flat(CUmemorytype dst_type, void *dst_host, CUdeviceptr dst, CUmemorytype src_type, const void *src_host, CUdeviceptr src, size_t bytes)
{
    return (CUDA_MEMCPY3D){ .srcMemoryType = src_type, .srcHost = src_host, .srcDevice = src, .dstMemoryType = dst_type, .dstHost = dst_host, .dstDevice = dst,
                            .srcPitch = bytes, .srcHeight = 1, .dstPitch = bytes, .dstHeight = 1, .WidthInBytes = bytes, .Height = 1, .Depth = 1 };
}

static CUresult sim_copy_any(CUdeviceptr dst, CUdeviceptr src, size_t bytes, CUstream h, bool sync)
{
    CUDA_MEMCPY3D p = sim_flat(CU_MEMORYTYPE_UNIFIED, NULL, dst, CU_MEMORYTYPE_UNIFIED, NULL, src, bytes);
    return sim_copy(&p, h, sync);
}

static CUresult sim_copy_in(CUdeviceptr dst, const void *src, size_t bytes, CUstream h, bool sync)
{
    CUDA_MEMCPY3D p = sim_flat(CU_MEMORYTYPE_DEVICE, NULL, dst, CU_MEMORYTYPE_HOST, src, 0, bytes);
    return sim_copy(&p, h, sync);
}

static CUresult sim_copy_out(void *dst, CUdeviceptr src, size_t bytes, CUstream h, bool sync)
{
    CUDA_MEMCPY3D p = sim_flat(CU_MEMORYTYPE_HOST, dst, 0, CU_MEMORYTYPE_DEVICE, NULL, src, bytes);
    return sim_copy(&p, h, sync);
}

static CUresult sim_copy_inside(CUdeviceptr dst, CUdeviceptr src, size_t bytes, CUstream h, bool sync)
{
    CUDA_MEMCPY3D p = sim_flat(CU_MEMORYTYPE_DEVICE, NULL, dst, CU_MEMORYTYPE_DEVICE, NULL, src, bytes);
    return sim_copy(&p, h, sync);
}

CUresult cji_sim_cuMemcpy(CUdeviceptr dst, CUdeviceptr src, size_t n) { return sim_copy_any(dst, src, n, CU_STREAM_LEGACY, true); }
CUresult cji_sim_cuMemcpyAsync(CUdeviceptr dst, CUdeviceptr src, size_t n, CUstream h) { return sim_copy_any(dst, src, n, h, false); }
CUresult cji_sim_cuMemcpyHtoD(CUdeviceptr dst, const void *src, size_t n) { return sim_copy_in(dst, src, n, CU_STREAM_LEGACY, true); }
CUresult cji_sim_cuMemcpyHtoDAsync(CUdeviceptr dst, const void *src, size_t n, CUstream h) { return sim_copy_in(dst, src, n, h, false); }
CUresult cji_sim_cuMemcpyDtoH(void *dst, CUdeviceptr src, size_t n) { return sim_copy_out(dst, src, n, CU_STREAM_LEGACY, true); }
CUresult cji_sim_cuMemcpyDtoHAsync(void *dst, CUdeviceptr src, size_t n, CUstream h) { return sim_copy_out(dst, src, n, h, false); }
CUresult cji_sim_cuMemcpyDtoD(CUdeviceptr dst, CUdeviceptr src, size_t n) { return sim_copy_inside(dst, src, n, CU_STREAM_LEGACY, true); }
CUresult cji_sim_cuMemcpyDtoDAsync(CUdeviceptr dst, CUdeviceptr src, size_t n, CUstream h) { return sim_copy_inside(dst, src, n, h, false); }

/* ---- Between devices --------------------------------------------------------------------------------------------- */

static CUresult sim_peer_check(CUcontext a, CUcontext b, CUstream h, bool async)
{
    sim_stream *s;
    sim_lock();
    CUresult r = cji_sim_handle_is(SIM_CTX, a) && ((sim_ctx *)a)->alive && cji_sim_handle_is(SIM_CTX, b) && ((sim_ctx *)b)->alive ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
    if (!r && async) r = cji_sim_stream_for_work(h, &s);
    if (!r && async && s->capture) r = cji_sim_capture_refuses(s);
    sim_unlock();
    return r;
}

CUresult cji_sim_cuMemcpyPeer(CUdeviceptr dst, CUcontext to, CUdeviceptr src, CUcontext from, size_t n)
{
    CUresult r = sim_peer_check(to, from, NULL, false);
    return r ? r : sim_copy_inside(dst, src, n, CU_STREAM_LEGACY, true);
}

CUresult cji_sim_cuMemcpyPeerAsync(CUdeviceptr dst, CUcontext to, CUdeviceptr src, CUcontext from, size_t n, CUstream h)
{
    CUresult r = sim_peer_check(to, from, h, true);
    return r ? r : sim_copy_inside(dst, src, n, h, false);
}

static CUDA_MEMCPY3D sim_from_peer(const CUDA_MEMCPY3D_PEER *p)
{
    return (CUDA_MEMCPY3D){ .srcXInBytes = p->srcXInBytes, .srcY = p->srcY, .srcZ = p->srcZ, .srcLOD = p->srcLOD, .srcMemoryType = p->srcMemoryType,
                            .srcHost = p->srcHost, .srcDevice = p->srcDevice, .srcArray = p->srcArray, .srcPitch = p->srcPitch, .srcHeight = p->srcHeight,
                            .dstXInBytes = p->dstXInBytes, .dstY = p->dstY, .dstZ = p->dstZ, .dstLOD = p->dstLOD, .dstMemoryType = p->dstMemoryType,
                            .dstHost = p->dstHost, .dstDevice = p->dstDevice, .dstArray = p->dstArray, .dstPitch = p->dstPitch, .dstHeight = p->dstHeight,
                            .WidthInBytes = p->WidthInBytes, .Height = p->Height, .Depth = p->Depth };
}

CUresult cji_sim_cuMemcpy3DPeer(const CUDA_MEMCPY3D_PEER *p)
{
    if (!p) return CUDA_ERROR_INVALID_VALUE;
    CUDA_MEMCPY3D q = sim_from_peer(p);
    return sim_copy(&q, CU_STREAM_LEGACY, true);
}

CUresult cji_sim_cuMemcpy3DPeerAsync(const CUDA_MEMCPY3D_PEER *p, CUstream h)
{
    if (!p) return CUDA_ERROR_INVALID_VALUE;
    CUDA_MEMCPY3D q = sim_from_peer(p);
    return sim_copy(&q, h, false);
}

/* ---- In two and three dimensions --------------------------------------------------------------------------------- */

static CUDA_MEMCPY3D sim_from_2d(const CUDA_MEMCPY2D *p)
{
    return (CUDA_MEMCPY3D){ .srcXInBytes = p->srcXInBytes, .srcY = p->srcY, .srcMemoryType = p->srcMemoryType, .srcHost = p->srcHost, .srcDevice = p->srcDevice,
                            .srcArray = p->srcArray, .srcPitch = p->srcPitch, .dstXInBytes = p->dstXInBytes, .dstY = p->dstY, .dstMemoryType = p->dstMemoryType,
                            .dstHost = p->dstHost, .dstDevice = p->dstDevice, .dstArray = p->dstArray, .dstPitch = p->dstPitch,
                            .WidthInBytes = p->WidthInBytes, .Height = p->Height, .Depth = 1 };
}

static CUresult sim_copy_2d(const CUDA_MEMCPY2D *p, CUstream h, bool sync)
{
    if (!p) return CUDA_ERROR_INVALID_VALUE;
    CUDA_MEMCPY3D q = sim_from_2d(p);
    return sim_copy(&q, h, sync);
}

CUresult cji_sim_cuMemcpy2D(const CUDA_MEMCPY2D *p) { return sim_copy_2d(p, CU_STREAM_LEGACY, true); }
CUresult cji_sim_cuMemcpy2DUnaligned(const CUDA_MEMCPY2D *p) { return sim_copy_2d(p, CU_STREAM_LEGACY, true); }
CUresult cji_sim_cuMemcpy2DAsync(const CUDA_MEMCPY2D *p, CUstream h) { return sim_copy_2d(p, h, false); }
CUresult cji_sim_cuMemcpy3D(const CUDA_MEMCPY3D *p) { return p ? sim_copy(p, CU_STREAM_LEGACY, true) : CUDA_ERROR_INVALID_VALUE; }
CUresult cji_sim_cuMemcpy3DAsync(const CUDA_MEMCPY3D *p, CUstream h) { return p ? sim_copy(p, h, false) : CUDA_ERROR_INVALID_VALUE; }

/* ---- Fills ------------------------------------------------------------------------------------------------------- */

static CUresult sim_fill(CUdeviceptr dst, size_t pitch, uint32_t value, unsigned element, size_t width, size_t height, CUstream h)
{
    CUDA_MEMSET_NODE_PARAMS p = { .dst = dst, .pitch = pitch, .value = value, .elementSize = element, .width = width, .height = height };
    sim_stream *s;
    sim_work *w;
    sim_lock();
    CUresult r = cji_sim_stream_for_work(h, &s);
    if (!r) r = cji_sim_fill_work(&p, s->ctx, &w);
    if (!r && s->capture && !w->fill.height) {   /* it makes no node */
        cji_sim_work_drop(w);
        sim_unlock();
        return CUDA_SUCCESS;
    }
    if (!r) r = !s->capture && cji_sim_space_is_host(dst) ? sim_submit_and_wait(s, w) : cji_sim_stream_submit(s, w);
    sim_unlock();
    return r;
}

CUresult cji_sim_cuMemsetD8(CUdeviceptr d, unsigned char v, size_t n) { return sim_fill(d, 0, v, 1, n, 1, CU_STREAM_LEGACY); }
CUresult cji_sim_cuMemsetD16(CUdeviceptr d, unsigned short v, size_t n) { return sim_fill(d, 0, v, 2, n, 1, CU_STREAM_LEGACY); }
CUresult cji_sim_cuMemsetD32(CUdeviceptr d, unsigned v, size_t n) { return sim_fill(d, 0, v, 4, n, 1, CU_STREAM_LEGACY); }
CUresult cji_sim_cuMemsetD8Async(CUdeviceptr d, unsigned char v, size_t n, CUstream h) { return sim_fill(d, 0, v, 1, n, 1, h); }
CUresult cji_sim_cuMemsetD16Async(CUdeviceptr d, unsigned short v, size_t n, CUstream h) { return sim_fill(d, 0, v, 2, n, 1, h); }
CUresult cji_sim_cuMemsetD32Async(CUdeviceptr d, unsigned v, size_t n, CUstream h) { return sim_fill(d, 0, v, 4, n, 1, h); }
CUresult cji_sim_cuMemsetD2D8(CUdeviceptr d, size_t p, unsigned char v, size_t w, size_t n) { return sim_fill(d, p, v, 1, w, n, CU_STREAM_LEGACY); }
CUresult cji_sim_cuMemsetD2D16(CUdeviceptr d, size_t p, unsigned short v, size_t w, size_t n) { return sim_fill(d, p, v, 2, w, n, CU_STREAM_LEGACY); }
CUresult cji_sim_cuMemsetD2D32(CUdeviceptr d, size_t p, unsigned v, size_t w, size_t n) { return sim_fill(d, p, v, 4, w, n, CU_STREAM_LEGACY); }
CUresult cji_sim_cuMemsetD2D8Async(CUdeviceptr d, size_t p, unsigned char v, size_t w, size_t n, CUstream h) { return sim_fill(d, p, v, 1, w, n, h); }
CUresult cji_sim_cuMemsetD2D16Async(CUdeviceptr d, size_t p, unsigned short v, size_t w, size_t n, CUstream h) { return sim_fill(d, p, v, 2, w, n, h); }
CUresult cji_sim_cuMemsetD2D32Async(CUdeviceptr d, size_t p, unsigned v, size_t w, size_t n, CUstream h) { return sim_fill(d, p, v, 4, w, n, h); }
