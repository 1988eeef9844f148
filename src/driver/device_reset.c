/* cj_device_reset: a new context in place of a lost one.
 *
 * The primary context ends when all who retain it have released it, and a new one begins when it is retained again.
 * Handles of the old context are dangling then.  So the table of entry points that the old device has, which all its
 * objects use, is replaced first: what would use the context returns CUDA_ERROR_CONTEXT_IS_DESTROYED, what releases a
 * thing of the context succeeds, since the thing is gone with it, and what concerns the thread or the device alone
 * stays.  Objects of the old device need not know of it, and may be released at any time.
 *
 * Other threads may wait for work of the old device meanwhile: they read the table at each query, and find either
 * entry.  A driver whose context can be lost for good reports that when the context is retained. */
#include "base/cancel.h"
#include "base/lock.h"
#include "driver/driver.h"
#include "driver/open.h"
#include "driver/symbols.h"

/* -- The entry points of a device that was reset ------------------------------------------------------------------- */

enum fate { FATE_CLOSED, FATE_RELEASED, FATE_STAYS };

static const unsigned char fates[CJI_CU_COUNT] = {
#define RELEASED(name) [CJI_CU_ID_##name] = FATE_RELEASED
#define STAYS(name) [CJI_CU_ID_##name] = FATE_STAYS
    /* What is gone with the context. */
    RELEASED(cuDevicePrimaryCtxRelease),
    RELEASED(cuModuleUnload),
    RELEASED(cuLinkDestroy),
    RELEASED(cuMemFree),
    RELEASED(cuMemFreeAsync),
    RELEASED(cuMemFreeHost),
    RELEASED(cuMemHostUnregister),
    RELEASED(cuMemPoolDestroy),
    RELEASED(cuIpcCloseMemHandle),
    RELEASED(cuStreamDestroy),
    RELEASED(cuEventDestroy),
    RELEASED(cuGraphDestroy),
    RELEASED(cuGraphDestroyNode),
    RELEASED(cuGraphExecDestroy),
    RELEASED(cuGraphReleaseUserObject),
    RELEASED(cuUserObjectRelease),
    RELEASED(cuArrayDestroy),
    RELEASED(cuMipmappedArrayDestroy),
    RELEASED(cuTexObjectDestroy),
    RELEASED(cuSurfObjectDestroy),
    /* What concerns the process, the thread or the device. */
    STAYS(cuGetErrorName),
    STAYS(cuGetErrorString),
    STAYS(cuDriverGetVersion),
    STAYS(cuDeviceGet),
    STAYS(cuDeviceGetCount),
    STAYS(cuDeviceGetName),
    STAYS(cuDeviceGetAttribute),
    STAYS(cuDeviceTotalMem),
    STAYS(cuDeviceCanAccessPeer),
    STAYS(cuDeviceGetP2PAttribute),
    STAYS(cuCtxGetCurrent),
    STAYS(cuCtxPopCurrent),
    STAYS(cuThreadExchangeStreamCaptureMode),
    /* Addresses, and physical memory, which belong to the process. */
    STAYS(cuMemAddressFree),
    STAYS(cuMemUnmap),
    STAYS(cuMemRelease),
#undef RELEASED
#undef STAYS
};

static CUresult closed_result(cji_cu_id id)
{
    return fates[id] == FATE_RELEASED ? CUDA_SUCCESS : CUDA_ERROR_CONTEXT_IS_DESTROYED;
}

#define CLOSED_UNUSED(T, a) (void)a;
#define CU(name, export, version, need, count, list)      \
    static CUresult closed_##name(CJI_CU_DECL(count, list)) \
    {                                                     \
        CJI_CU_EACH(count, CLOSED_UNUSED, list)           \
        return closed_result(CJI_CU_ID_##name);           \
    }
#include "cuda/symbols.def"
#undef CLOSED_UNUSED

static const cji_cu closed_table = {
#define CU(name, export, version, need, count, list) .name = closed_##name,
#include "cuda/symbols.def"
};

/* Replaces entries, each at once, while other threads read them: a thread finds the old one or the new one, and both
 * are right.  Nothing orders the two, and tools that look for races need not see it. */
__attribute__((no_sanitize("thread"))) static void table_put(cji_cu *to, const cji_cu *from)
{
    for (int i = 0; i < CJI_CU_COUNT; i++)
        if (fates[i] != FATE_STAYS) __atomic_store_n((void **)to + i, ((void *const *)from)[i], __ATOMIC_RELEASE);
}

/* -- The context --------------------------------------------------------------------------------------------------- */

/* Ends the context of `old`, whose entry points are closed.  CUDA_SUCCESS with *shared: others retain it too. */
static CUresult end_context(const cj_device *old, bool *shared, const char **cu_call)
{
    const cji_cu *cu = &old->drv->cu;
    unsigned flags = 0;
    int active = 0;
    CUresult r = CUDA_SUCCESS;
    *shared = false;
    if (old->drv->reset) r = (CUresult)old->drv->reset(old->cu), *cu_call = "cujit_sim_reset";
    if (r == CUDA_SUCCESS) r = cu->cuDevicePrimaryCtxRelease(old->cu), *cu_call = "cuDevicePrimaryCtxRelease";
    if (r != CUDA_SUCCESS || old->drv->reset) return r;
    r = cu->cuDevicePrimaryCtxGetState(old->cu, &flags, &active), *cu_call = "cuDevicePrimaryCtxGetState";
    *shared = r == CUDA_SUCCESS && active;
    return r;
}

/* The context is as it was, since others retain it: so is the device. */
static cj_status keep_context(cj_device *dev, cj_device *old, const char *call)
{
    CUcontext ctx = NULL;
    CUresult r = old->drv->cu.cuDevicePrimaryCtxRetain(&ctx, old->cu);
    if (r != CUDA_SUCCESS)
        return cji_cu_fail_open(dev, old->drv, r, CJ_OK, "cuDevicePrimaryCtxRetain", call,
                                "%s: other code of the process retains the context of device %d, and keeps it", call,
                                old->ordinal);
    atomic_store(&old->was_reset, false);
    table_put(&old->api, &old->drv->cu);
    return cji_fail(dev, CJ_ESTATE, call,
                    "other code of the process retains the context of device %d too (the CUDA runtime, PyTorch, "
                    "another cj_driver); it must release it before (cudaDeviceReset()), or a new process begins",
                    old->ordinal);
}

static bool is_wrapped(const cj_device *old)
{
    for (const cj_device *d = old->drv->devices; d; d = d->next)
        if (d != old && d->ctx == old->ctx) return true;
    return false;
}

/* With the list's lock held. */
static cj_status replace_context(cj_device *dev, cj_device *old, const char *call)
{
    bool shared = false;
    const char *cu_call = "";
    if (cji_device_was_reset(old)) return cji_fail(dev, CJ_ESTATE, call, "the device was reset before");
    if (is_wrapped(old))
        return cji_fail(dev, CJ_ESTATE, call,
                        "cj_device_wrap() has made another device of the context of device %d; close that first",
                        old->ordinal);
    atomic_store(&old->was_reset, true);
    table_put(&old->api, &closed_table);
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    bool relaxed = old->api.cuThreadExchangeStreamCaptureMode(&mode) == CUDA_SUCCESS;
    CUresult r = end_context(old, &shared, &cu_call);
    cj_status status = CJ_OK;
    if (r != CUDA_SUCCESS)
        status = cji_cu_fail_open(dev, old->drv, r, CJ_OK, cu_call, call, "%s: the context cannot be ended", call);
    else if (shared) status = keep_context(dev, old, call);
    if (relaxed) old->api.cuThreadExchangeStreamCaptureMode(&mode);
    if (cji_device_was_reset(old)) cji_device_unlist(old);
    if (status == CJ_OK) cji_device_open_new(dev, old->drv, call);
    return cji_obj_failed(dev) ? cji_err_status(dev) : status;
}

static cj_status may_be_reset(cj_device *dev, cj_device *old, const char *call)
{
    cj_status status = cji_check_arg(dev, old, CJI_TAG_DEVICE, call, "the device");
    if (status != CJ_OK) return status;
    if (old->wrapped)
        return cji_fail(dev, CJ_ESTATE, call,
                        "the context of device %d was made by other code, which must destroy it and make another; wrap "
                        "that with cj_device_wrap()",
                        old->ordinal);
    if (atomic_load(&old->queue.captures))
        return cji_fail(dev, CJ_ESTATE, call, "a stream of the device is being captured; end the capture first");
    return CJ_OK;
}

cj_device *cj_device_reset(cj_device *old)
{
    static const char call[] = "cj_device_reset";
    CJI_NO_CANCEL;
    cj_device *dev = cji_obj_new(sizeof *dev, CJI_TAG_DEVICE, 0, call);
    if (cji_obj_failed(dev)) return dev;
    cj_status status = may_be_reset(dev, old, call);
    if (status == CJ_OK) {
        dev->ordinal = old->ordinal;
        dev->schedule = old->schedule;
        cji_lock(&old->queue.running, CJI_LOCK_RUNNING); /* no release is under way */
        cji_opened_lock();
        status = replace_context(dev, old, call);
        cji_opened_unlock();
        cji_unlock(&old->queue.running, CJI_LOCK_RUNNING);
    }
    if (status != CJ_OK && !cji_obj_failed(dev)) cji_obj_set_failed(dev);
    return dev;
}
