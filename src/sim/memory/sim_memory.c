/* Device and managed memory: allocation, release, questions about addresses. Stream-ordered memory: sim_pool.c. */
#include "sim/memory/sim_memory.h"

#include <string.h>

enum { SIM_PITCH_GRAIN = 512 };

CUresult cji_sim_cuMemGetInfo(size_t *free_out, size_t *total)
{
    sim_ctx *c;
    sim_lock();
    CUresult r = cji_sim_ctx_current(&c);
    if (!r) {
        if (free_out) *free_out = c->dev->span - c->dev->used;
        if (total) *total = c->dev->span;
    }
    sim_unlock();
    return r;
}

CUresult cji_sim_cuMemAlloc(CUdeviceptr *out, size_t bytes)
{
    sim_ctx *c;
    if (!out || !bytes) return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    CUresult r = cji_sim_ctx_current(&c);
    if (!r) r = cji_sim_capture_unsafe();
    if (!r) r = cji_sim_space_alloc_part(c->dev, c, bytes, -1, NULL, out);
    sim_unlock();
    return r;
}

CUresult cji_sim_cuMemAllocPitch(CUdeviceptr *out, size_t *pitch, size_t width, size_t height, unsigned element)
{
    if (!out || !pitch || !width || !height || (element != 4 && element != 8 && element != 16))
        return CUDA_ERROR_INVALID_VALUE;
    uint64_t row, bytes;
    if (!cji_sim_sum(&row, width, SIM_PITCH_GRAIN - 1) || !cji_sim_product(&bytes, row / SIM_PITCH_GRAIN, height) ||
        !cji_sim_product(&bytes, bytes, SIM_PITCH_GRAIN))
        return CUDA_ERROR_INVALID_VALUE;
    CUresult r = cji_sim_cuMemAlloc(out, bytes);
    if (!r) *pitch = row / SIM_PITCH_GRAIN * SIM_PITCH_GRAIN;
    return r;
}

/* Waits for what is in flight, as the driver does: what a kernel still uses is not pulled from under it.
 * Stream-ordered memory does not wait (semantics: cuMemFree on such a pointer does not synchronize). */
CUresult cji_sim_cuMemFree(CUdeviceptr at)
{
    sim_ctx *c;
    if (!at) return CUDA_SUCCESS;
    sim_lock();
    sim_range range;
    bool known = cji_sim_space_find(at, &range);
    CUresult r = cji_sim_ctx_current_or(known ? range.ctx : NULL, &c);
    if (!r) r = cji_sim_capture_unsafe();
    if (!r && (!known || range.lo != at || range.module || (range.part.opens && !range.pool) || range.leaving ||
               (range.place != SIM_DEVICE && range.place != SIM_MANAGED && !range.pool)))
        r = c->fault ? c->fault : CUDA_ERROR_INVALID_VALUE;
    if (!r) {
        if (range.place == SIM_MANAGED) cji_sim_queue_wait_all();   /* host memory: as cuMemFreeHost */
        else if (!range.pool && range.ctx->alive) cji_sim_queue_wait_ctx(range.ctx);
        /* The lock was given up: another thread may have freed it. */
        if (!cji_sim_space_still(&range) || range.leaving) r = CUDA_ERROR_INVALID_VALUE;
        else r = range.graph ? sim_graphs->release(range.graph, NULL) : cji_sim_space_drop(at, range.place, &range);
        if (!r && range.pool) cji_sim_pool_give(range.pool, range.bytes);
        if (!r) r = c->fault;
    }
    sim_unlock();
    return r;
}

CUresult cji_sim_cuMemGetAddressRange(CUdeviceptr *base, size_t *size, CUdeviceptr at)
{
    sim_ctx *c;
    sim_range range;
    sim_lock();
    CUresult r = cji_sim_ctx_current(&c);
    if (!r && !cji_sim_space_find(at, &range)) r = CUDA_ERROR_NOT_FOUND;
    if (!r && base) *base = range.lo;
    if (!r && size) *size = range.bytes;
    sim_unlock();
    return r;
}

/* ---- Questions about addresses ----------------------------------------------------------------------------------- */

static CUresult sim_pointer_attribute(const sim_ctx *c, void *data, CUpointer_attribute attribute, CUdeviceptr at,
                                      bool many)
{
    sim_range range = { 0 };
    bool known = cji_sim_space_find(at, &range);
    if (!known && !many) return CUDA_ERROR_INVALID_VALUE;
    bool is_host = known && cji_sim_range_is_host(&range), on_device = !is_host, readonly;
    switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
        *(CUcontext *)data = known && !range.pool && !range.chunk ? (CUcontext)range.ctx : NULL;
        break;
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
        *(unsigned *)data = !known                                    ? 0
                            : on_device || range.place == SIM_MANAGED ? CU_MEMORYTYPE_DEVICE
                                                                      : CU_MEMORYTYPE_HOST;
        break;
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER: *(CUdeviceptr *)data = known ? at : 0; break;
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
        if (known && on_device && !many) return CUDA_ERROR_INVALID_VALUE;
        *(void **)data = is_host ? (void *)(uintptr_t)at : NULL;
        break;
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS: *(unsigned *)data = range.sync_memops; break;
    case CU_POINTER_ATTRIBUTE_BUFFER_ID: *(unsigned long long *)data = range.id; break;
    case CU_POINTER_ATTRIBUTE_IS_MANAGED: *(unsigned *)data = range.place == SIM_MANAGED; break;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL: *(int *)data = known ? range.dev->ordinal : -2; break;
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
        *(unsigned *)data = range.part.mapped && !range.part.opens && !range.pool;
        break;
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR: *(CUdeviceptr *)data = range.lo; break;
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE: *(size_t *)data = range.bytes; break;
    case CU_POINTER_ATTRIBUTE_MAPPED: *(unsigned *)data = known; break;
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
        *(unsigned long long *)data =
            range.pool && range.pool->shared ? CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR : CU_MEM_HANDLE_TYPE_NONE;
        break;
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE: *(unsigned *)data = 0; break;
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
        readonly = known && !cji_sim_space_allows(c, at, 1, true);
        *(unsigned *)data = !known || !cji_sim_space_allows(c, at, 1, false) ? CU_MEM_ACCESS_FLAGS_PROT_NONE
                            : readonly                                       ? CU_MEM_ACCESS_FLAGS_PROT_READ
                                                                             : CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
        break;
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE: *(CUmemoryPool *)data = (CUmemoryPool)range.pool; break;
    default: return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
}

CUresult cji_sim_cuPointerGetAttribute(void *data, CUpointer_attribute attribute, CUdeviceptr at)
{
    sim_ctx *c;
    if (!data) return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    CUresult r = cji_sim_ctx_current(&c);
    if (!r) r = sim_pointer_attribute(c, data, attribute, at, false);
    sim_unlock();
    return r;
}

CUresult cji_sim_cuPointerGetAttributes(unsigned n, CUpointer_attribute *attributes, void **data, CUdeviceptr at)
{
    sim_ctx *c;
    if (!n || !attributes || !data) return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    CUresult r = cji_sim_ctx_current(&c);
    for (unsigned i = 0; !r && i < n; i++)
        r = data[i] ? sim_pointer_attribute(c, data[i], attributes[i], at, true) : CUDA_ERROR_INVALID_VALUE;
    sim_unlock();
    return r;
}

static void sim_set_sync_memops(sim_range *r, void *on) { r->sync_memops = *(const unsigned *)on != 0; }

CUresult cji_sim_cuPointerSetAttribute(const void *value, CUpointer_attribute attribute, CUdeviceptr at)
{
    sim_ctx *c;
    sim_range range;
    sim_lock();
    CUresult r = cji_sim_ctx_current(&c);
    if (!r &&
        (!value || attribute != CU_POINTER_ATTRIBUTE_SYNC_MEMOPS || !cji_sim_space_find(at, &range) || range.pool))
        r = CUDA_ERROR_INVALID_VALUE;
    unsigned on = !r && *(const unsigned *)value;
    if (!r) cji_sim_space_change(range.lo, sim_set_sync_memops, &on);   /* kept: copies and fills wait or not as ever */
    sim_unlock();
    return r;
}
