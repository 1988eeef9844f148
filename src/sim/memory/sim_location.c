/* Calls that name a place as a CUmemLocation, and older forms of others. */
#include "sim/memory/sim_memory.h"

#include <limits.h>

/* The device of a place; the processor, whichever node of it, is CU_DEVICE_CPU. */
static CUresult sim_location_device(const CUmemLocation *at, CUdevice *out)
{
    switch (at->type) {
    case CU_MEM_LOCATION_TYPE_DEVICE:
        *out = at->id;
        return cji_sim_device(at->id) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
    case CU_MEM_LOCATION_TYPE_HOST_NUMA:
        if (at->id < 0) return CUDA_ERROR_INVALID_VALUE;
        *out = CU_DEVICE_CPU;
        return CUDA_SUCCESS;
    case CU_MEM_LOCATION_TYPE_HOST:
    case CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT: *out = CU_DEVICE_CPU; return CUDA_SUCCESS;
    default: return CUDA_ERROR_INVALID_VALUE;
    }
}

CUresult cji_sim_cuMemPrefetchAsync_v2(CUdeviceptr at, size_t bytes, CUmemLocation to, unsigned flags, CUstream s)
{
    CUdevice d;
    CUresult r = flags ? CUDA_ERROR_INVALID_VALUE : sim_location_device(&to, &d);
    return r ? r : cji_sim_cuMemPrefetchAsync(at, bytes, d, s);
}

/* Advice about reads, and a preference that is withdrawn, have no place. */
CUresult cji_sim_cuMemAdvise_v2(CUdeviceptr at, size_t bytes, CUmem_advise advice, CUmemLocation where)
{
    CUdevice d = CU_DEVICE_CPU;
    bool placed = advice == CU_MEM_ADVISE_SET_PREFERRED_LOCATION || advice == CU_MEM_ADVISE_SET_ACCESSED_BY ||
                  advice == CU_MEM_ADVISE_UNSET_ACCESSED_BY;
    CUresult r = placed ? sim_location_device(&where, &d) : CUDA_SUCCESS;
    if (r == CUDA_ERROR_INVALID_DEVICE) r = CUDA_ERROR_INVALID_VALUE; /* as an H100 answers, here alone */
    return r ? r : cji_sim_cuMemAdvise(at, bytes, advice, d);
}

CUresult cji_sim_cuMemRangeGetAttributes(void **data, size_t *size, CUmem_range_attribute *attribute, size_t n,
                                         CUdeviceptr at, size_t bytes)
{
    if (!data || !size || !attribute || !n) return CUDA_ERROR_INVALID_VALUE;
    CUresult r = CUDA_SUCCESS;
    for (size_t i = 0; i < n && !r; i++) r = cji_sim_cuMemRangeGetAttribute(data[i], size[i], attribute[i], at, bytes);
    return r;
}

/* ---- The pools of a place: devices have pools, of pinned memory -------------------------------------------------- */

static CUresult sim_pool_place(const CUmemLocation *at, CUmemAllocationType type, CUdevice *out)
{
    if (!at || type < CU_MEM_ALLOCATION_TYPE_PINNED || type > CU_MEM_ALLOCATION_TYPE_MANAGED)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult r = sim_location_device(at, out);
    if (r) return r;
    return type == CU_MEM_ALLOCATION_TYPE_PINNED && *out != CU_DEVICE_CPU ? CUDA_SUCCESS : CUDA_ERROR_NOT_SUPPORTED;
}

CUresult cji_sim_cuMemGetDefaultMemPool(CUmemoryPool *out, CUmemLocation *at, CUmemAllocationType type)
{
    CUdevice d;
    CUresult r = out ? sim_pool_place(at, type, &d) : CUDA_ERROR_INVALID_VALUE;
    return r ? r : cji_sim_cuDeviceGetDefaultMemPool(out, d);
}

CUresult cji_sim_cuMemGetMemPool(CUmemoryPool *out, CUmemLocation *at, CUmemAllocationType type)
{
    CUdevice d;
    CUresult r = out ? sim_pool_place(at, type, &d) : CUDA_ERROR_INVALID_VALUE;
    return r ? r : cji_sim_cuDeviceGetMemPool(out, d);
}

CUresult cji_sim_cuMemSetMemPool(CUmemLocation *at, CUmemAllocationType type, CUmemoryPool pool)
{
    CUdevice d;
    CUresult r = sim_pool_place(at, type, &d);
    return r ? r : cji_sim_cuDeviceSetMemPool(d, pool);
}
