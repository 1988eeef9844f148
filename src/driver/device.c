/* cj_device: one GPU with its primary context retained; what it is; its memory; pinned host memory.
 *
 * A device that is open already is retained and given again.  The driver's list holds no references; an entry leaves it under the list's lock
 * at the moment its last reference goes. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/opts.h"
#include "driver/driver.h"
#include "driver/open.h"
#include "ptx/isa.h"

/* -- What it is ------------------------------------------------------------------------------------------------------------ */

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
    snprintf(dev->sm, sizeof dev->sm, "sm_%u%u", (unsigned)dev->info.sm_major % 1000, (unsigned)dev->info.sm_minor % 10);
    snprintf(exact, sizeof exact, "%sa", dev->sm);
    dev->target = cji_target_find(exact, strlen(exact));
    if (dev->target < 0) dev->target = cji_target_find(dev->sm, strlen(dev->sm));
}

static CUresult read_info(cj_device *dev, const char **cu_call)
{
    const cji_cu *cu = &dev->drv->cu;
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

/* Of the context, which is current. */
static CUresult read_priorities(cj_device *dev)
{
    int least = 0, greatest = 0;
    CUresult r = dev->drv->cu.cuCtxGetStreamPriorityRange(&least, &greatest);
    dev->info.priority_least = least;
    dev->info.priority_greatest = greatest;
    return r;
}

/* -- Opening and closing --------------------------------------------------------------------------------------------------- */

cj_status cji_ctx_begin(void *obj, const cj_device *dev, cji_ctx *ctx, const char *call)
{
    CUresult r = cji_ctx_enter(dev, ctx);
    return r == CUDA_SUCCESS ? CJ_OK : cji_cu_fail(obj, dev->drv, r, "cuCtxPushCurrent", call);
}

cj_status cji_ctx_begin_calm(void *obj, const cj_device *dev, cji_ctx *ctx, const char *call)
{
    cj_status status = cji_ctx_begin(obj, dev, ctx, call);
    if (status != CJ_OK) return status;
    ctx->mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    ctx->relaxed = dev->drv->cu.cuThreadExchangeStreamCaptureMode(&ctx->mode) == CUDA_SUCCESS;
    return CJ_OK;
}

/* Retains (true) or releases the primary context; in relaxed capture mode, as somebody may be capturing in it. */
static CUresult primary_context(cj_device *dev, bool retain)
{
    const cji_cu *cu = &dev->drv->cu;
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    bool relaxed = cu->cuThreadExchangeStreamCaptureMode(&mode) == CUDA_SUCCESS;
    CUresult r = retain ? cu->cuDevicePrimaryCtxRetain(&dev->ctx, dev->cu) : cu->cuDevicePrimaryCtxRelease(dev->cu);
    if (relaxed) cu->cuThreadExchangeStreamCaptureMode(&mode);
    return r;
}

/* Sets how host threads wait for the primary context, which need not be alive yet. */
static CUresult set_schedule(cj_device *dev)
{
    static const unsigned flags[] = { 0, CU_CTX_SCHED_AUTO, CU_CTX_SCHED_SPIN, CU_CTX_SCHED_YIELD, CU_CTX_SCHED_BLOCKING_SYNC };
    const cji_cu *cu = &dev->drv->cu;
    unsigned now = 0;
    int active = 0;
    if (dev->schedule == CJ_SCHEDULE_DEFAULT) return CUDA_SUCCESS;
    CUresult r = cu->cuDevicePrimaryCtxGetState(dev->cu, &now, &active);
    if (r != CUDA_SUCCESS) return r;
    return cu->cuDevicePrimaryCtxSetFlags(dev->cu, (now & ~(unsigned)CU_CTX_SCHED_MASK) | flags[dev->schedule]);
}

static cj_status start_device(cj_device *dev, const char *call)
{
    const cji_cu *cu = &dev->drv->cu;
    const char *cu_call = "cuDeviceGet";
    CUresult r = cu->cuDeviceGet(&dev->cu, dev->ordinal);
    if (r == CUDA_SUCCESS) r = read_info(dev, &cu_call);
    if (r == CUDA_SUCCESS) r = set_schedule(dev), cu_call = "cuDevicePrimaryCtxSetFlags";
    if (r == CUDA_SUCCESS) r = primary_context(dev, true), cu_call = "cuDevicePrimaryCtxRetain";
    if (r != CUDA_SUCCESS) return cji_cu_fail_as(dev, dev->drv, r, CJ_OK, cu_call, call, "device %d cannot be opened", dev->ordinal);
    cji_ctx ctx;
    cj_status status = cji_ctx_begin_calm(dev, dev, &ctx, call);
    if (status == CJ_OK) {
        r = read_priorities(dev);
        if (r != CUDA_SUCCESS) status = cji_cu_fail(dev, dev->drv, r, "cuCtxGetStreamPriorityRange", call);
        cji_ctx_leave(dev, &ctx);
    }
    if (status != CJ_OK) primary_context(dev, false);
    return status;
}

/* With the list's lock held. */
static cj_device *find_device(const cj_driver *drv, int ordinal)
{
    for (cj_device *d = drv->devices; d; d = d->next)
        if (d->ordinal == ordinal) return cji_obj_retain(d);
    return NULL;
}

void cj_device_defaults(cj_device_opts *opts)
{
    if (opts) *opts = (cj_device_opts){ .size = sizeof *opts, .schedule = CJ_SCHEDULE_DEFAULT };
}

static cj_status wrong_ordinal(cj_device *dev, const cj_driver *drv, int ordinal, const char *call)
{
    if (drv->device_count == 0) return cji_fail(dev, CJ_ENODEVICE, call, "no device %d; the driver has none", ordinal);
    if (drv->device_count == 1) return cji_fail(dev, CJ_ENODEVICE, call, "no device %d; there is one, 0", ordinal);
    return cji_fail(dev, CJ_ENODEVICE, call, "no device %d; there are 0 to %d", ordinal, drv->device_count - 1);
}

/* With the list's lock held: `dev`, started and listed, or failed. */
static void open_new(cj_device *dev, cj_driver *drv, const char *call)
{
    atomic_init(&dev->handles, 1);
    dev->drv = drv;
    if (start_device(dev, call) != CJ_OK) {
        cji_obj_set_failed(dev);
        return;
    }
    cji_obj_retain(drv);
    cji_release_queue_init(&dev->queue, &drv->cu, dev->ctx);
    pthread_mutex_init(&dev->modules_lock, NULL);
    pthread_cond_init(&dev->modules_cond, NULL);
    dev->next = drv->devices;
    drv->devices = dev;
}

cj_device *cj_device_open(cj_driver *drv, int ordinal, const cj_device_opts *opts)
{
    static const char call[] = "cj_device_open";
    cj_device_opts o;
    cj_device *dev = cji_obj_new(sizeof *dev, CJI_TAG_DEVICE, 0, call), *same = NULL;
    if (cji_obj_failed(dev)) return dev;
    cj_device_defaults(&o);
    cj_status status = cji_check_arg(dev, drv, CJI_TAG_DRIVER, call, "the driver");
    if (status == CJ_OK && !cji_opts_take(&o, sizeof o, opts, dev, call, "cj_device")) status = CJ_EINVAL;
    if (status == CJ_OK && (o.schedule < CJ_SCHEDULE_DEFAULT || o.schedule > CJ_SCHEDULE_BLOCKING))
        status = cji_fail(dev, CJ_EINVAL, call, "schedule %d is no cj_schedule", o.schedule);
    if (status == CJ_OK && (ordinal < 0 || ordinal >= drv->device_count)) status = wrong_ordinal(dev, drv, ordinal, call);
    if (status != CJ_OK) return cji_obj_set_failed(dev), dev;
    dev->ordinal = ordinal;
    dev->schedule = o.schedule;
    cji_opened_lock();
    same = find_device(drv, ordinal);
    bool other = same && o.schedule != CJ_SCHEDULE_DEFAULT && o.schedule != same->schedule;
    if (same && !other) atomic_fetch_add(&same->handles, 1);
    if (!same) open_new(dev, drv, call);
    cji_opened_unlock();
    if (other) {
        cji_fail(dev, CJ_ESTATE, call, "device %d is open with another schedule; pass it at the first opening, or leave it out", ordinal);
        cji_obj_set_failed(dev);
        cji_device_drop(same);
        return dev;
    }
    if (same) cji_obj_delete(dev, sizeof *dev);
    return same ? same : dev;
}

void cji_device_drop(cj_device *dev)
{
    if (cji_obj_failed(dev)) {
        if (cji_obj_release(dev)) cji_obj_delete(dev, sizeof *dev);
        return;
    }
    cj_driver *drv = dev->drv;
    cji_opened_lock();
    bool last = cji_obj_release(dev);
    for (cj_device **at = &drv->devices; last && *at; at = &(*at)->next) {
        if (*at != dev) continue;
        *at = dev->next;
        break;
    }
    cji_opened_unlock();
    if (!last) return;
    cji_calm calm;
    cji_calm_begin(&dev->queue, &calm);
    cji_release_queue_fini(&dev->queue);
    cji_calm_end(&dev->queue, &calm);
    primary_context(dev, false);
    pthread_mutex_destroy(&dev->modules_lock);
    pthread_cond_destroy(&dev->modules_cond);
    cji_obj_delete(dev, sizeof *dev);
    cji_driver_drop(drv);
}

/* What waits keeps the device, and when nothing is done with it any more nobody looks again.  So work that is about to end - the last frees of a
 * program that waited for the rest - is given a moment; what takes longer stays. */
static void settle_releases(cji_release_queue *queue)
{
    static const struct timespec pause = { .tv_nsec = 100000 };
    for (int i = 0; i < 2000 && atomic_load(&queue->waiting) && !atomic_load(&queue->captures); i++) {
        if (i) nanosleep(&pause, NULL);
        cji_deferred_drain(queue, CJI_DEFERRED_ALL);
    }
}

void cj_device_close(cj_device *dev)
{
    if (!cji_check_free(dev, CJI_TAG_DEVICE, "cj_device_close")) return;
    if (!cji_obj_failed(dev) && atomic_fetch_sub(&dev->handles, 1) == 1) settle_releases(&dev->queue);
    cji_device_drop(dev);
}

/* -- Getters --------------------------------------------------------------------------------------------------------------- */

static bool device_readable(const cj_device *dev) { return cji_readable(dev, CJI_TAG_DEVICE, false); }

const char *cj_device_name(const cj_device *dev) { return device_readable(dev) ? dev->info.name : ""; }
const char *cj_device_sm(const cj_device *dev) { return device_readable(dev) ? dev->sm : ""; }
int cj_device_ordinal(const cj_device *dev) { return device_readable(dev) ? dev->ordinal : -1; }
cj_driver *cj_device_driver(const cj_device *dev) { return device_readable(dev) ? dev->drv : NULL; }

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
    if (size < sizeof size) return cji_fail(dev, CJ_EINVAL, call, "info->size is %zu; set it to sizeof(cj_device_info)", size);
    memcpy(info, &dev->info, size < sizeof *info ? size : sizeof *info);
    info->size = size;
    return CJ_OK;
}

cj_status cj_device_attribute(cj_device *dev, int attribute, int *value)
{
    static const char call[] = "cj_device_attribute";
    cj_status status = cji_check(dev, CJI_TAG_DEVICE, call);
    if (status != CJ_OK) return status;
    if (!value) return cji_fail(dev, CJ_EINVAL, call, "value is NULL");
    CUresult r = dev->drv->cu.cuDeviceGetAttribute(value, (CUdevice_attribute)attribute, dev->cu);
    if (r == CUDA_SUCCESS) return CJ_OK;
    return cji_cu_fail_as(dev, dev->drv, r, CJ_OK, "cuDeviceGetAttribute", call, "%s: attribute %d", call, attribute);
}

cj_status cj_device_memory(cj_device *dev, size_t *free_bytes, size_t *total_bytes)
{
    static const char call[] = "cj_device_memory";
    size_t room = 0, total = 0;
    cji_ctx ctx;
    cj_status status = cji_check(dev, CJI_TAG_DEVICE, call);
    if (status == CJ_OK) status = cji_ctx_begin_calm(dev, dev, &ctx, call);
    if (status != CJ_OK) return status;
    CUresult r = dev->drv->cu.cuMemGetInfo(&room, &total);
    cji_ctx_leave(dev, &ctx);
    if (r != CUDA_SUCCESS) return cji_cu_fail(dev, dev->drv, r, "cuMemGetInfo", call);
    if (free_bytes) *free_bytes = room;
    if (total_bytes) *total_bytes = total;
    return CJ_OK;
}

cj_status cj_device_sync(cj_device *dev)
{
    static const char call[] = "cj_device_sync";
    cji_ctx ctx;
    cj_status status = cji_check(dev, CJI_TAG_DEVICE, call);
    if (status != CJ_OK) return status;
    if (atomic_load(&dev->queue.captures))
        return cji_fail(dev, CJ_ESTATE, call, "a stream of the device is being captured, and waiting for the device would break the capture");
    status = cji_ctx_begin(dev, dev, &ctx, call);
    if (status != CJ_OK) return status;
    CUresult r = dev->drv->cu.cuCtxSynchronize();
    cji_ctx_leave(dev, &ctx);
    return r == CUDA_SUCCESS ? CJ_OK : cji_cu_fail(dev, dev->drv, r, "cuCtxSynchronize", call);
}

/* -- Pinned host memory ---------------------------------------------------------------------------------------------------- */

void cj_host_defaults(cj_host_opts *opts)
{
    if (opts) *opts = (cj_host_opts){ .size = sizeof *opts };
}

void *cj_host_alloc(cj_device *dev, size_t bytes, const cj_host_opts *opts)
{
    static const char call[] = "cj_host_alloc";
    void *p = NULL;
    cj_host_opts o;
    unsigned flags = CU_MEMHOSTALLOC_PORTABLE;
    cji_calm calm;
    if (cji_check(dev, CJI_TAG_DEVICE, call) != CJ_OK) return NULL;
    if (!bytes) return cji_fail(dev, CJ_EINVAL, call, "0 bytes of memory"), NULL;
    cj_host_defaults(&o);
    if (!cji_opts_take(&o, sizeof o, opts, dev, call, "cj_host")) return NULL;
    if (o.write_combined) flags |= CU_MEMHOSTALLOC_WRITECOMBINED;
    if (o.mapped) flags |= CU_MEMHOSTALLOC_DEVICEMAP;
    cji_deferred_poll(&dev->queue, 4);
    CUresult r = CUDA_ERROR_INVALID_CONTEXT;
    if (cji_calm_begin(&dev->queue, &calm)) r = dev->drv->cu.cuMemHostAlloc(&p, bytes, flags);
    cji_calm_end(&dev->queue, &calm);
    if (r == CUDA_SUCCESS) return p;
    cji_cu_fail_as(dev, dev->drv, r, CJ_OK, "cuMemHostAlloc", call, "%s: %zu bytes of pinned memory", call, bytes);
    return NULL;
}

cj_status cj_host_free(cj_device *dev, void *p)
{
    static const char call[] = "cj_host_free";
    cji_calm calm;
    cj_status status = cji_check(dev, CJI_TAG_DEVICE, call);
    if (status != CJ_OK || !p) return status;
    CUresult r = CUDA_ERROR_INVALID_CONTEXT;
    if (cji_calm_begin(&dev->queue, &calm)) r = dev->drv->cu.cuMemFreeHost(p);
    cji_calm_end(&dev->queue, &calm);
    if (r == CUDA_SUCCESS) return CJ_OK;
    return cji_cu_fail_as(dev, dev->drv, r, CJ_OK, "cuMemFreeHost", call, "%s: %p is no memory of cj_host_alloc, or it was freed before", call, p);
}
