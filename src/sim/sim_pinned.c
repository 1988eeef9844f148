/* Host memory that kernels may reach: pinned, registered, managed.  Its device address is its host address. */
#include "sim/simcore.h"
#include "sim/sim_capture.h"
#include "sim/sim_device.h"
#include "sim/sim_memory.h"
#include "sim/sim_queue.h"
#include "sim/sim_stream.h"

#include <string.h>

enum { SD_HOST_PAGE = 4096 };

static CUresult sd_host_block(sd_ctx *c, size_t bytes, sd_place place, unsigned flags, uint64_t *at)
{
    size_t size;
    if (__builtin_add_overflow(bytes, (size_t)SD_HOST_PAGE, &size)) return CUDA_ERROR_OUT_OF_MEMORY;
    void *block = cji_alloc(size);
    if (!block) return CUDA_ERROR_OUT_OF_MEMORY;
    uint64_t lo = ((uint64_t)(uintptr_t)block + SD_HOST_PAGE - 1) / SD_HOST_PAGE * SD_HOST_PAGE;
    sd_range r = { .lo = lo, .bytes = bytes, .room = bytes, .place = place, .dev = c->dev, .ctx = c, .flags = flags, .block = block, .block_bytes = size,
                   .sync_memops = place == SD_MANAGED,
                   .advice = { .preferred = CU_DEVICE_INVALID, .prefetched = CU_DEVICE_INVALID } };
    CUresult result = cji_sd_space_add(&r);
    if (result) cji_free(block, size);
    else *at = lo;
    return result;
}

static CUresult sd_pinned_alloc(void **out, size_t bytes, unsigned flags)
{
    sd_ctx *c;
    uint64_t at;
    if (!out || flags > (CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_WRITECOMBINED)) return CUDA_ERROR_INVALID_VALUE;
    sd_lock();
    CUresult r = cji_sd_ctx(&c);
    if (!r) r = cji_sd_unsafe();
    if (!r) *out = NULL;
    if (!r && bytes) r = sd_host_block(c, bytes, SD_PINNED, flags | CU_MEMHOSTALLOC_DEVICEMAP, &at);
    if (!r && bytes) *out = (void *)(uintptr_t)at;
    sd_unlock();
    return r;
}

CUresult cji_sd_cuMemAllocHost(void **out, size_t bytes) { return sd_pinned_alloc(out, bytes, 0); }
CUresult cji_sd_cuMemHostAlloc(void **out, size_t bytes, unsigned flags) { return sd_pinned_alloc(out, bytes, flags); }

/* What begins at `p` is given back when the work of its context is done; `none`: no memory that is known lies there. */
static CUresult sd_host_give_back(void *p, sd_place place, CUresult none)
{
    sd_ctx *c;
    sd_range range;
    sd_lock();
    CUresult r = cji_sd_ctx_any(&c);
    if (!r) r = cji_sd_unsafe();
    uint64_t at = (uint64_t)(uintptr_t)p;
    if (!r && !cji_sd_space_find(at, &range)) r = none;
    else if (!r && (range.lo != at || range.place != place)) r = CUDA_ERROR_INVALID_VALUE;
    if (!r) {
        if (range.ctx->alive) cji_sd_wait_ctx(range.ctx);
        r = cji_sd_space_drop(at, place, NULL);
        if (!r) r = c->fault;
    }
    sd_unlock();
    return r;
}

CUresult cji_sd_cuMemFreeHost(void *p) { return p ? sd_host_give_back(p, SD_PINNED, CUDA_ERROR_INVALID_VALUE) : CUDA_SUCCESS; }

static CUresult sd_pinned_of(void *p, sd_range *range)
{
    sd_ctx *c;
    CUresult r = cji_sd_ctx(&c);
    if (!r && (!cji_sd_space_find((uint64_t)(uintptr_t)p, range) || (range->place != SD_PINNED && range->place != SD_REGISTERED))) r = CUDA_ERROR_INVALID_VALUE;
    return r;
}

CUresult cji_sd_cuMemHostGetDevicePointer(CUdeviceptr *out, void *p, unsigned flags)
{
    sd_range range;
    if (!out || flags) return CUDA_ERROR_INVALID_VALUE;
    sd_lock();
    CUresult r = sd_pinned_of(p, &range);
    if (!r) *out = (CUdeviceptr)(uintptr_t)p;
    sd_unlock();
    return r;
}

CUresult cji_sd_cuMemHostGetFlags(unsigned *flags, void *p)
{
    sd_range range;
    if (!flags) return CUDA_ERROR_INVALID_VALUE;
    sd_lock();
    CUresult r = sd_pinned_of(p, &range);
    if (!r) *flags = range.flags;
    sd_unlock();
    return r;
}

CUresult cji_sd_cuMemHostRegister(void *p, size_t bytes, unsigned flags)
{
    sd_ctx *c;
    unsigned all = CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP | CU_MEMHOSTREGISTER_READ_ONLY;
    if (!p || !bytes || flags & ~all) return flags & CU_MEMHOSTREGISTER_IOMEMORY ? CUDA_ERROR_NOT_PERMITTED : CUDA_ERROR_INVALID_VALUE;
    sd_lock();
    CUresult r = cji_sd_ctx(&c);
    if (!r) r = cji_sd_unsafe();
    if (!r) {
        sd_range range = { .lo = (uint64_t)(uintptr_t)p, .bytes = bytes, .room = bytes, .place = SD_REGISTERED, .dev = c->dev, .ctx = c,
                           .flags = flags | CU_MEMHOSTREGISTER_DEVICEMAP };
        r = cji_sd_space_add(&range);
    }
    sd_unlock();
    return r;
}

CUresult cji_sd_cuMemHostUnregister(void *p) { return !p ? CUDA_ERROR_INVALID_VALUE : sd_host_give_back(p, SD_REGISTERED, CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED); }

/* ---- Managed memory: one memory for host and devices, so moving and advising it changes nothing but what can be asked for.
 * Advice holds for a whole allocation: what was said of a part of it last. ---------------------------------------- */

CUresult cji_sd_cuMemAllocManaged(CUdeviceptr *out, size_t bytes, unsigned flags)
{
    sd_ctx *c;
    uint64_t at;
    if (!out || !bytes || (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST)) return CUDA_ERROR_INVALID_VALUE;
    sd_lock();
    CUresult r = cji_sd_ctx(&c);
    if (!r) r = cji_sd_unsafe();
    if (!r) r = sd_host_block(c, bytes, SD_MANAGED, flags, &at);
    if (!r) *out = at;
    sd_unlock();
    return r;
}

static bool sd_managed(CUdeviceptr at, size_t bytes, sd_range *range)
{
    return bytes && cji_sd_space_find(at, range) && range->place == SD_MANAGED && bytes <= range->bytes && at - range->lo <= range->bytes - bytes;
}

static void sd_advise(sd_range *r, void *advice) { r->advice = *(const sd_advice *)advice; }

CUresult cji_sd_cuMemPrefetchAsync(CUdeviceptr at, size_t bytes, CUdevice d, CUstream h)
{
    sd_stream *s;
    sd_range range;
    sd_lock();
    CUresult r = cji_sd_stream_for_work(h, &s);
    if (!r && bytes && d != CU_DEVICE_CPU && !cji_sd_device(d)) r = CUDA_ERROR_INVALID_DEVICE;
    if (!r && !sd_managed(at, bytes, &range)) r = CUDA_ERROR_INVALID_VALUE;
    if (!r && d != CU_DEVICE_CPU && !cji_sd_device(d)) r = CUDA_ERROR_INVALID_DEVICE;
    if (!r && s->capture) r = cji_sd_capture_refuses(s);
    if (!r) r = cji_sd_enqueue(s, NULL, NULL, NULL);
    if (!r) {
        range.advice.prefetched = d;
        cji_sd_space_change(range.lo, sd_advise, &range.advice);
    }
    sd_unlock();
    return r;
}

CUresult cji_sd_cuMemAdvise(CUdeviceptr at, size_t bytes, CUmem_advise advice, CUdevice d)
{
    sd_ctx *c;
    sd_range range;
    sd_lock();
    CUresult r = cji_sd_ctx(&c);
    /* A device that is not there is seen before memory that is not managed, where the advice has a device. */
    bool placed = advice == CU_MEM_ADVISE_SET_PREFERRED_LOCATION || advice == CU_MEM_ADVISE_SET_ACCESSED_BY || advice == CU_MEM_ADVISE_UNSET_ACCESSED_BY;
    if (!r && placed && bytes && d != CU_DEVICE_CPU && !cji_sd_device(d)) r = CUDA_ERROR_INVALID_DEVICE;
    if (!r && (!sd_managed(at, bytes, &range) || advice < CU_MEM_ADVISE_SET_READ_MOSTLY || advice > CU_MEM_ADVISE_UNSET_ACCESSED_BY)) r = CUDA_ERROR_INVALID_VALUE;
    if (!r) {
        sd_advice *v = &range.advice;
        switch (advice) {
        case CU_MEM_ADVISE_SET_READ_MOSTLY: v->read_mostly = true; break;
        case CU_MEM_ADVISE_UNSET_READ_MOSTLY: v->read_mostly = false; break;
        case CU_MEM_ADVISE_SET_PREFERRED_LOCATION: v->preferred = d; break;
        case CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION: v->preferred = CU_DEVICE_INVALID; break;
        case CU_MEM_ADVISE_SET_ACCESSED_BY: v->accessed |= 1u << (d + 1); break;   /* bit 0: the CPU */
        case CU_MEM_ADVISE_UNSET_ACCESSED_BY: v->accessed &= ~(1u << (d + 1)); break;
        default: break;
        }
        cji_sd_space_change(range.lo, sd_advise, v);
    }
    sd_unlock();
    return r;
}

static int sd_place_type(CUdevice d) { return d >= 0 ? CU_MEM_LOCATION_TYPE_DEVICE : d == CU_DEVICE_CPU ? CU_MEM_LOCATION_TYPE_HOST : CU_MEM_LOCATION_TYPE_INVALID; }

static CUresult sd_range_attribute(int *data, size_t count, CUmem_range_attribute attribute, const sd_advice *v)
{
    if (attribute == CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY) {
        size_t n = 0;
        for (CUdevice d = -1; d < SD_MAX_DEVICES && n < count; d++)
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
    case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE: *data = sd_place_type(v->preferred); return CUDA_SUCCESS;
    case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_TYPE: *data = sd_place_type(v->prefetched); return CUDA_SUCCESS;
    default: return CUDA_ERROR_INVALID_VALUE;
    }
}

CUresult cji_sd_cuMemRangeGetAttribute(void *data, size_t size, CUmem_range_attribute attribute, CUdeviceptr at, size_t bytes)
{
    sd_ctx *c;
    sd_range range;
    if (!data || !size || size % sizeof(int)) return CUDA_ERROR_INVALID_VALUE;
    sd_lock();
    CUresult r = cji_sd_ctx(&c);
    if (!r && !sd_managed(at, bytes, &range)) r = CUDA_ERROR_INVALID_VALUE;
    if (!r) r = sd_range_attribute(data, size / sizeof(int), attribute, &range.advice);
    sd_unlock();
    return r;
}

CUresult cji_sd_cuStreamAttachMemAsync(CUstream h, CUdeviceptr at, size_t bytes, unsigned flags)
{
    sd_stream *s;
    sd_range range;
    sd_lock();
    CUresult r = cji_sd_stream_for_work(h, &s);
    if (!r && (!cji_sd_space_find(at, &range) || range.place != SD_MANAGED || range.lo != at || (bytes && bytes != range.bytes))) r = CUDA_ERROR_INVALID_VALUE;
    if (!r && flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST && flags != CU_MEM_ATTACH_SINGLE) r = CUDA_ERROR_INVALID_VALUE;
    if (!r && s->capture) r = cji_sd_capture_refuses(s);
    if (!r) r = cji_sd_enqueue(s, NULL, NULL, NULL);
    sd_unlock();
    return r;
}
