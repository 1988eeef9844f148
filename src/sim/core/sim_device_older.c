/* What older programs read of a device. */
#include "sim/core/sim_core.h"

#include <limits.h>

CUresult cji_sim_cuDeviceComputeCapability(int *major, int *minor, CUdevice d)
{
    if (!major || !minor) return CUDA_ERROR_INVALID_VALUE;
    if (!cji_sim_device(d)) return CUDA_ERROR_INVALID_DEVICE;
    *major = (int)(sim.set.sm / 10);
    *minor = (int)(sim.set.sm % 10);
    return CUDA_SUCCESS;
}

CUresult cji_sim_cuDeviceGetProperties(CUdevprop *p, CUdevice d)
{
    sim_device *dev = cji_sim_device(d);
    if (!p) return CUDA_ERROR_INVALID_VALUE;
    if (!dev) return CUDA_ERROR_INVALID_DEVICE;
    const struct { CUdevice_attribute from; int *to; } field[] = {
        { CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, &p->maxThreadsPerBlock },
        { CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, &p->maxThreadsDim[0] },
        { CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y, &p->maxThreadsDim[1] },
        { CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z, &p->maxThreadsDim[2] },
        { CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, &p->maxGridSize[0] },
        { CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y, &p->maxGridSize[1] },
        { CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z, &p->maxGridSize[2] },
        { CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, &p->sharedMemPerBlock },
        { CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY, &p->totalConstantMemory },
        { CU_DEVICE_ATTRIBUTE_WARP_SIZE, &p->SIMDWidth },
        { CU_DEVICE_ATTRIBUTE_MAX_PITCH, &p->memPitch },
        { CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK, &p->regsPerBlock },
        { CU_DEVICE_ATTRIBUTE_CLOCK_RATE, &p->clockRate },
        { CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT, &p->textureAlign },
    };
    CUresult r = CUDA_SUCCESS;
    for (size_t i = 0; i < sizeof field / sizeof *field && !r; i++)
        r = cji_sim_device_attribute(field[i].to, (int)field[i].from, dev);
    return r;
}

/* 32 bits: as much as they can say. */
CUresult cji_sim_cuDeviceTotalMem_v1(unsigned *bytes, CUdevice d)
{
    size_t all = 0;
    CUresult r = cji_sim_cuDeviceTotalMem(bytes ? &all : NULL, d);
    if (!r) *bytes = all < UINT_MAX ? (unsigned)all : UINT_MAX;
    return r;
}

/* There are no multiprocessors to divide. */
CUresult cji_sim_cuDeviceGetExecAffinitySupport(int *value, CUexecAffinityType type, CUdevice d)
{
    if (!value || type != CU_EXEC_AFFINITY_TYPE_SM_COUNT) return CUDA_ERROR_INVALID_VALUE;
    if (!cji_sim_device(d)) return CUDA_ERROR_INVALID_DEVICE;
    *value = 0;
    return CUDA_SUCCESS;
}
