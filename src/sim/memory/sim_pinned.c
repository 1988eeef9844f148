/* Host memory that kernels may reach: pinned, registered, managed. Its device address is its host address. */
#include "sim/memory/sim_memory.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static CUresult sim_pinned_alloc(void **out, size_t bytes, unsigned flags)
{
    sim_ctx *c;
    uint64_t at;
    if (!out || flags > (CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_WRITECOMBINED))
        return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    CUresult r = cji_sim_ctx_current(&c);
    if (!r) r = cji_sim_capture_unsafe();
    if (!r) *out = NULL;
    if (!r && bytes) r = cji_sim_space_host(c, bytes, SIM_PINNED, flags | CU_MEMHOSTALLOC_DEVICEMAP, &at);
    if (!r && bytes) *out = (void *)(uintptr_t)at;
    sim_unlock();
    return r;
}

CUresult cji_sim_cuMemAllocHost(void **out, size_t bytes) { return sim_pinned_alloc(out, bytes, 0); }
CUresult cji_sim_cuMemHostAlloc(void **out, size_t bytes, unsigned flags)
{
    return sim_pinned_alloc(out, bytes, flags);
}

/* Frees what begins at `p` when the work of all contexts is done: each of them reaches it, and a copy of the host's
 * bytes in flight would write to freed memory. `none`: no memory that is known lies there. */
static CUresult sim_host_free(void *p, sim_place place, CUresult none)
{
    sim_ctx *c;
    sim_range range;
    sim_lock();
    uint64_t at = (uint64_t)(uintptr_t)p;
    bool known = cji_sim_space_find(at, &range);
    CUresult r = cji_sim_ctx_current_or(known ? range.ctx : NULL, &c);
    if (!r) r = cji_sim_capture_unsafe();
    if (!r && !known) r = none;
    else if (!r && (range.lo != at || range.place != place || range.pool)) r = CUDA_ERROR_INVALID_VALUE;
    if (!r) {
        cji_sim_queue_wait_all();
        r = cji_sim_space_still(&range) ? cji_sim_space_drop(at, place, NULL) : CUDA_ERROR_INVALID_VALUE;
        if (!r) r = c->fault;
    }
    sim_unlock();
    return r;
}

CUresult cji_sim_cuMemFreeHost(void *p)
{
    return p ? sim_host_free(p, SIM_PINNED, CUDA_ERROR_INVALID_VALUE) : CUDA_SUCCESS;
}

static CUresult sim_pinned_of(void *p, sim_range *range)
{
    sim_ctx *c;
    CUresult r = cji_sim_ctx_current(&c);
    if (!r && (!cji_sim_space_find((uint64_t)(uintptr_t)p, range) ||
               (range->place != SIM_PINNED && range->place != SIM_REGISTERED)))
        r = CUDA_ERROR_INVALID_VALUE;
    return r;
}

CUresult cji_sim_cuMemHostGetDevicePointer(CUdeviceptr *out, void *p, unsigned flags)
{
    sim_range range;
    if (!out || flags) return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    CUresult r = sim_pinned_of(p, &range);
    if (!r) *out = (CUdeviceptr)(uintptr_t)p;
    sim_unlock();
    return r;
}

CUresult cji_sim_cuMemHostGetFlags(unsigned *flags, void *p)
{
    sim_range range;
    if (!flags) return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    CUresult r = sim_pinned_of(p, &range);
    if (!r) *flags = range.flags;
    sim_unlock();
    return r;
}

/* Whether all pages from `lo` to `end` are mapped; mincore fails where one is not. */
static bool sim_pages_there(uint64_t lo, uint64_t end, uint64_t page)
{
    unsigned char resident[1024];
    while (lo < end) {
        uint64_t bytes = end - lo < page * sizeof resident ? end - lo : page * sizeof resident;
        if (mincore((void *)(uintptr_t)lo, bytes, resident) != 0) return false;
        lo += bytes;
    }
    return true;
}

/* Memory that the process has, and none of it at a device's addresses. */
static bool sim_host_has(const void *p, size_t bytes)
{
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), lo = (uint64_t)(uintptr_t)p / page * page, end;
    return cji_sim_sum(&end, (uint64_t)(uintptr_t)p, bytes) && !cji_sim_space_hides(lo) &&
           !cji_sim_space_hides(end - 1) && sim_pages_there(lo, end, page);
}

CUresult cji_sim_cuMemHostRegister(void *p, size_t bytes, unsigned flags)
{
    sim_ctx *c;
    unsigned all = CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP | CU_MEMHOSTREGISTER_READ_ONLY;
    if (!p || !bytes || flags & ~all)
        return flags & CU_MEMHOSTREGISTER_IOMEMORY ? CUDA_ERROR_NOT_PERMITTED : CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    CUresult r = cji_sim_ctx_current(&c);
    if (!r) r = cji_sim_capture_unsafe();
    if (!r && !sim_host_has(p, bytes)) r = CUDA_ERROR_INVALID_VALUE;
    if (!r) {
        sim_range range = { .lo = (uint64_t)(uintptr_t)p,
                            .bytes = bytes,
                            .room = bytes,
                            .place = SIM_REGISTERED,
                            .dev = c->dev,
                            .ctx = c,
                            .flags = flags | CU_MEMHOSTREGISTER_DEVICEMAP };
        r = cji_sim_space_add(&range);
    }
    sim_unlock();
    return r;
}

CUresult cji_sim_cuMemHostUnregister(void *p)
{
    return !p ? CUDA_ERROR_INVALID_VALUE : sim_host_free(p, SIM_REGISTERED, CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
}

/* ---- Managed memory: one memory for host and devices, so moving and advising it changes only what queries return.
 * Advice holds for a whole allocation: what was said of a part of it last. ---------------------------------------- */

CUresult cji_sim_cuMemAllocManaged(CUdeviceptr *out, size_t bytes, unsigned flags)
{
    sim_ctx *c;
    uint64_t at;
    if (!out || !bytes || (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST))
        return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    CUresult r = cji_sim_ctx_current(&c);
    if (!r) r = cji_sim_capture_unsafe();
    if (!r) r = cji_sim_space_host(c, bytes, SIM_MANAGED, flags, &at);
    if (!r) *out = at;
    sim_unlock();
    return r;
}

static bool sim_managed(CUdeviceptr at, size_t bytes, sim_range *range)
{
    return bytes && cji_sim_space_find(at, range) && range->place == SIM_MANAGED && bytes <= range->bytes &&
           at - range->lo <= range->bytes - bytes;
}

static void sim_advise(sim_range *r, void *advice) { r->advice = *(const sim_advice *)advice; }

CUresult cji_sim_cuMemPrefetchAsync(CUdeviceptr at, size_t bytes, CUdevice d, CUstream h)
{
    sim_stream *s;
    sim_range range;
    sim_lock();
    CUresult r = cji_sim_stream_for_work(h, &s);
    if (!r && bytes && d != CU_DEVICE_CPU && !cji_sim_device(d)) r = CUDA_ERROR_INVALID_DEVICE;
    if (!r && !sim_managed(at, bytes, &range)) r = CUDA_ERROR_INVALID_VALUE;
    if (!r && d != CU_DEVICE_CPU && !cji_sim_device(d)) r = CUDA_ERROR_INVALID_DEVICE;
    if (!r && s->capture) r = cji_sim_capture_rejects(s);
    if (!r) r = cji_sim_stream_enqueue(s, NULL, NULL, NULL);
    if (!r) {
        range.advice.prefetched = d;
        cji_sim_space_change(range.lo, sim_advise, &range.advice);
    }
    sim_unlock();
    return r;
}

CUresult cji_sim_cuMemAdvise(CUdeviceptr at, size_t bytes, CUmem_advise advice, CUdevice d)
{
    sim_ctx *c;
    sim_range range;
    sim_lock();
    CUresult r = cji_sim_ctx_current(&c);
    /* A device that is not there is seen before memory that is not managed, where the advice has a device. */
    bool placed = advice == CU_MEM_ADVISE_SET_PREFERRED_LOCATION || advice == CU_MEM_ADVISE_SET_ACCESSED_BY ||
                  advice == CU_MEM_ADVISE_UNSET_ACCESSED_BY;
    if (!r && placed && bytes && d != CU_DEVICE_CPU && !cji_sim_device(d)) r = CUDA_ERROR_INVALID_DEVICE;
    if (!r && (!sim_managed(at, bytes, &range) || advice < CU_MEM_ADVISE_SET_READ_MOSTLY ||
               advice > CU_MEM_ADVISE_UNSET_ACCESSED_BY))
        r = CUDA_ERROR_INVALID_VALUE;
    if (!r) {
        sim_advice *v = &range.advice;
        switch (advice) {
        case CU_MEM_ADVISE_SET_READ_MOSTLY: v->read_mostly = true; break;
        case CU_MEM_ADVISE_UNSET_READ_MOSTLY: v->read_mostly = false; break;
        case CU_MEM_ADVISE_SET_PREFERRED_LOCATION: v->preferred = d; break;
        case CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION: v->preferred = CU_DEVICE_INVALID; break;
        case CU_MEM_ADVISE_SET_ACCESSED_BY: v->accessed |= 1u << (d + 1); break;   /* bit 0: the CPU */
        case CU_MEM_ADVISE_UNSET_ACCESSED_BY: v->accessed &= ~(1u << (d + 1)); break;
        default: break;
        }
        cji_sim_space_change(range.lo, sim_advise, v);
    }
    sim_unlock();
    return r;
}

static int sim_place_type(CUdevice d)
{
    return d >= 0               ? CU_MEM_LOCATION_TYPE_DEVICE
           : d == CU_DEVICE_CPU ? CU_MEM_LOCATION_TYPE_HOST
                                : CU_MEM_LOCATION_TYPE_INVALID;
}

static CUresult sim_range_attribute(int *data, size_t count, CUmem_range_attribute attribute, const sim_advice *v)
{
    if (attribute == CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY) {
        size_t n = 0;
        for (CUdevice d = -1; d < SIM_MAX_DEVICES && n < count; d++)
            if (v->accessed >> (d + 1) & 1) data[n++] = d;
        while (n < count) data[n++] = CU_DEVICE_INVALID;
        return CUDA_SUCCESS;
    }
    if (count != 1) return CUDA_ERROR_INVALID_VALUE;
    switch (attribute) {
    case CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY: *data = v->read_mostly; return CUDA_SUCCESS;
    case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION:
    case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_ID: *data = v->preferred; return CUDA_SUCCESS;
    case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION:
    case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_ID: *data = v->prefetched; return CUDA_SUCCESS;
    case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE: *data = sim_place_type(v->preferred); return CUDA_SUCCESS;
    case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_TYPE: *data = sim_place_type(v->prefetched); return CUDA_SUCCESS;
    default: return CUDA_ERROR_INVALID_VALUE;
    }
}

CUresult cji_sim_cuMemRangeGetAttribute(void *data, size_t size, CUmem_range_attribute attribute, CUdeviceptr at,
                                        size_t bytes)
{
    sim_ctx *c;
    sim_range range;
    if (!data || !size || size % sizeof(int)) return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    CUresult r = cji_sim_ctx_current(&c);
    if (!r && !sim_managed(at, bytes, &range)) r = CUDA_ERROR_INVALID_VALUE;
    if (!r) r = sim_range_attribute(data, size / sizeof(int), attribute, &range.advice);
    sim_unlock();
    return r;
}

CUresult cji_sim_cuStreamAttachMemAsync(CUstream h, CUdeviceptr at, size_t bytes, unsigned flags)
{
    sim_stream *s;
    sim_range range;
    sim_lock();
    CUresult r = cji_sim_stream_for_work(h, &s);
    if (!r && (!cji_sim_space_find(at, &range) || range.place != SIM_MANAGED || range.lo != at ||
               (bytes && bytes != range.bytes)))
        r = CUDA_ERROR_INVALID_VALUE;
    if (!r && flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST && flags != CU_MEM_ATTACH_SINGLE)
        r = CUDA_ERROR_INVALID_VALUE;
    if (!r && s->capture) r = cji_sim_capture_rejects(s);
    if (!r) r = cji_sim_stream_enqueue(s, NULL, NULL, NULL);
    sim_unlock();
    return r;
}
