/* What a device is: its properties, read once when it is opened; attributes and free memory, asked each time. */
#include <stdio.h>
#include <string.h>

#include "base/cancel.h"
#include "driver/driver.h"
#include "ptx/isa.h"

/* -- What it is ---------------------------------------------------------------------------------------------------- */

static const struct info_row { size_t at; CUdevice_attribute attribute; bool required; } info_rows[] = {
#define F(field) offsetof(cj_device_info, field)
    { F(sm_major), CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, true },
    { F(sm_minor), CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, true },
    { F(multiprocessors), CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, true },
    { F(warp_size), CU_DEVICE_ATTRIBUTE_WARP_SIZE, true },
    { F(block_threads), CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, true },
    { F(block[0]), CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, true },
    { F(block[1]), CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y, true },
    { F(block[2]), CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z, true },
    { F(grid[0]), CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, true },
    { F(grid[1]), CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y, true },
    { F(grid[2]), CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z, true },
    { F(multiprocessor_threads), CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, false },
    { F(multiprocessor_blocks), CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR, false },
    { F(block_registers), CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK, false },
    { F(multiprocessor_registers), CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR, false },
    { F(block_shared), CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, true },
    { F(block_shared_most), CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, false },
    { F(multiprocessor_shared), CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, false },
    { F(constant_memory), CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY, false },
    { F(l2_cache), CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, false },
    { F(clock_khz), CU_DEVICE_ATTRIBUTE_CLOCK_RATE, false },
    { F(memory_clock_khz), CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, false },
    { F(memory_bus_bits), CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, false },
    { F(copy_engines), CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT, false },
    { F(concurrent_kernels), CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS, false },
    { F(cooperative), CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH, false },
    { F(clusters), CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH, false },
    { F(managed_memory), CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY, false },
    { F(memory_pools), CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, false },
    { F(unified_addressing), CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, false },
    { F(integrated), CU_DEVICE_ATTRIBUTE_INTEGRATED, false },
    { F(ecc), CU_DEVICE_ATTRIBUTE_ECC_ENABLED, false },
    { F(pci_domain), CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID, false },
    { F(pci_bus), CU_DEVICE_ATTRIBUTE_PCI_BUS_ID, false },
    { F(pci_device), CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID, false },
#undef F
};

/* The exact device as a .target: "sm_90a" where the table knows one, else "sm_90". */
static void find_target(cj_device *dev)
{
    char exact[20];
    snprintf(dev->sm, sizeof dev->sm, "sm_%u%u", (unsigned)dev->info.sm_major % 1000,
             (unsigned)dev->info.sm_minor % 10);
    snprintf(exact, sizeof exact, "%sa", dev->sm);
    dev->target = cji_target_find(exact, strlen(exact));
    if (dev->target < 0) dev->target = cji_target_find(dev->sm, strlen(dev->sm));
    dev->runs = dev->target < 0 ? 0 : cji_target_on((uint32_t)dev->target);
}

CUresult cji_device_read_info(cj_device *dev, const char **cu_call)
{
    const cji_cu *cu = &dev->api;
    cj_device_info *info = &dev->info;
    size_t memory = 0;
    CUuuid uuid;
    *cu_call = "cuDeviceGetName";
    CUresult r = cu->cuDeviceGetName(info->name, sizeof info->name, dev->cu);
    if (r != CUDA_SUCCESS) return r;
    info->name[sizeof info->name - 1] = 0;
    *cu_call = "cuDeviceTotalMem";
    if ((r = cu->cuDeviceTotalMem(&memory, dev->cu)) != CUDA_SUCCESS) return r;
    info->memory = memory;
    *cu_call = "cuDeviceGetAttribute";
    for (size_t i = 0; i < sizeof info_rows / sizeof *info_rows; i++) {
        int value = 0;
        r = cu->cuDeviceGetAttribute(&value, info_rows[i].attribute, dev->cu);
        if (r != CUDA_SUCCESS && info_rows[i].required) return r;
        int32_t v = r == CUDA_SUCCESS ? value : 0;
        memcpy((char *)info + info_rows[i].at, &v, sizeof v);
    }
    if (cu->cuDeviceGetUuid(&uuid, dev->cu) == CUDA_SUCCESS) memcpy(info->uuid, uuid.bytes, sizeof info->uuid);
    find_target(dev);
    return CUDA_SUCCESS;
}

CUresult cji_device_read_priorities(cj_device *dev)
{
    int least = 0, greatest = 0;
    CUresult r = dev->api.cuCtxGetStreamPriorityRange(&least, &greatest);
    dev->info.priority_least = least;
    dev->info.priority_greatest = greatest;
    return r;
}

/* -- Public -------------------------------------------------------------------------------------------------------- */

void cj_device_info_defaults(cj_device_info *info)
{
    if (info) *info = (cj_device_info){ .size = sizeof *info };
}

cj_status cj_device_get_info(cj_device *dev, cj_device_info *info)
{
    static const char call[] = "cj_device_get_info";
    cj_status status = cji_check(dev, CJI_TAG_DEVICE, call);
    if (status != CJ_OK) return status;
    if (!info) return cji_fail(dev, CJ_EINVAL, call, "info is NULL");
    size_t size = info->size;
    if (size < sizeof size)
        return cji_fail(dev, CJ_EINVAL, call, "info->size is %zu; set it to sizeof(cj_device_info)", size);
    memcpy(info, &dev->info, size < sizeof *info ? size : sizeof *info);
    info->size = size;
    return CJ_OK;
}

cj_status cj_device_attribute(cj_device *dev, int attribute, int *value)
{
    static const char call[] = "cj_device_attribute";
    CJI_NO_CANCEL;
    cj_status status = cji_check(dev, CJI_TAG_DEVICE, call);
    if (status != CJ_OK) return status;
    if (!value) return cji_fail(dev, CJ_EINVAL, call, "value is NULL");
    CUresult r = dev->api.cuDeviceGetAttribute(value, (CUdevice_attribute)attribute, dev->cu);
    if (r == CUDA_SUCCESS) return CJ_OK;
    return cji_cu_fail_as(dev, dev, r, CJ_OK, "cuDeviceGetAttribute", call, "%s: attribute %d", call, attribute);
}

cj_status cj_device_memory(cj_device *dev, size_t *free_bytes, size_t *total_bytes)
{
    static const char call[] = "cj_device_memory";
    size_t room = 0, total = 0;
    cji_scope scope;
    cj_status status = cji_check(dev, CJI_TAG_DEVICE, call);
    if (status == CJ_OK) status = cji_scope_begin_relaxed(dev, dev, &scope, call);
    if (status != CJ_OK) return status;
    CUresult r = dev->api.cuMemGetInfo(&room, &total);
    cji_scope_leave(&scope);
    if (r != CUDA_SUCCESS) return cji_cu_fail(dev, dev, r, "cuMemGetInfo", call);
    if (free_bytes) *free_bytes = room;
    if (total_bytes) *total_bytes = total;
    return CJ_OK;
}
