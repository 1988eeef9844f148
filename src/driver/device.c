/* cj_device: a context of one GPU, the retained primary one or somebody's.
 *
 * A device that is open already is retained and given again.  The driver's list holds no references; an entry leaves
 * it under the list's lock
 * at the moment its last reference goes. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/cancel.h"
#include "base/opts.h"
#include "driver/cache/memo.h"
#include "driver/driver.h"
#include "driver/image_cache.h"
#include "driver/open.h"

/* -- Opening and closing ------------------------------------------------------------------------------------------- */

/* Retains (true) or releases the primary context; in relaxed capture mode, as somebody may be capturing in it. */
static CUresult primary_context(cj_device *dev, bool retain)
{
    const cji_cu *cu = &dev->api;
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    bool relaxed = cu->cuThreadExchangeStreamCaptureMode(&mode) == CUDA_SUCCESS;
    CUresult r = retain ? cu->cuDevicePrimaryCtxRetain(&dev->ctx, dev->cu) : cu->cuDevicePrimaryCtxRelease(dev->cu);
    if (relaxed) cu->cuThreadExchangeStreamCaptureMode(&mode);
    return r;
}

/* Sets how host threads wait for the primary context, which need not be alive yet. */
static CUresult set_schedule(cj_device *dev)
{
    static const unsigned flags[] = { 0, CU_CTX_SCHED_AUTO, CU_CTX_SCHED_SPIN, CU_CTX_SCHED_YIELD,
                                      CU_CTX_SCHED_BLOCKING_SYNC };
    const cji_cu *cu = &dev->api;
    unsigned now = 0;
    int active = 0;
    if (dev->schedule == CJ_SCHEDULE_DEFAULT) return CUDA_SUCCESS;
    CUresult r = cu->cuDevicePrimaryCtxGetState(dev->cu, &now, &active);
    if (r != CUDA_SUCCESS) return r;
    return cu->cuDevicePrimaryCtxSetFlags(dev->cu, (now & ~(unsigned)CU_CTX_SCHED_MASK) | flags[dev->schedule]);
}

/* Reads what is known of the context alone. */
static cj_status read_context(cj_device *dev, const char *call)
{
    cji_scope scope;
    cj_status status = cji_scope_begin_relaxed(dev, dev, &scope, call);
    if (status != CJ_OK) return status;
    CUresult r = cji_device_read_priorities(dev);
    if (r != CUDA_SUCCESS) status = cji_cu_fail(dev, dev, r, "cuCtxGetStreamPriorityRange", call);
    cji_scope_leave(&scope);
    return status;
}

/* `dev` has a context if it is somebody's. */
static cj_status start_device(cj_device *dev, const char *call)
{
    const cji_cu *cu = &dev->api;
    const char *cu_call = "cuDeviceGet";
    CUresult r = cu->cuDeviceGet(&dev->cu, dev->ordinal);
    if (r == CUDA_SUCCESS) r = cji_device_read_info(dev, &cu_call);
    if (r == CUDA_SUCCESS) r = set_schedule(dev), cu_call = "cuDevicePrimaryCtxSetFlags";
    if (r == CUDA_SUCCESS && !dev->wrapped) r = primary_context(dev, true), cu_call = "cuDevicePrimaryCtxRetain";
    if (r != CUDA_SUCCESS)
        return cji_cu_fail_open(dev, dev->drv, r, CJ_OK, cu_call, call, "device %d cannot be opened", dev->ordinal);
    cj_status status = read_context(dev, call);
    if (status != CJ_OK && !dev->wrapped) primary_context(dev, false);
    return status;
}

/* With the list's lock held: the open device of that context, or, where `ctx` is NULL, the one with the primary
 * context of `ordinal`; retained. */
static cj_device *find_device(const cj_driver *drv, int ordinal, CUcontext ctx)
{
    for (cj_device *d = drv->devices; d; d = d->next) {
        if (ctx ? d->ctx != ctx : d->wrapped || d->ordinal != ordinal) continue;
        atomic_fetch_add(&d->handles, 1);
        return cji_obj_retain(d);
    }
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

void cji_device_open_new(cj_device *dev, cj_driver *drv, const char *call)
{
    atomic_init(&dev->handles, 1);
    dev->drv = drv;
    dev->api = drv->cu;
    if (start_device(dev, call) != CJ_OK) {
        cji_obj_set_failed(dev);
        return;
    }
    cji_obj_retain(drv);
    cji_release_queue_init(&dev->queue, &dev->api, dev->ctx);
    pthread_mutex_init(&dev->modules_lock, NULL);
    pthread_mutex_init(&dev->attributes_lock, NULL);
    pthread_mutex_init(&dev->turns.lock, NULL);
    pthread_cond_init(&dev->modules_cond, NULL);
    cji_image_cache_prepare(dev);
    dev->next = drv->devices;
    drv->devices = dev;
}

cj_device *cj_device_open(cj_driver *drv, int ordinal, const cj_device_opts *opts)
{
    static const char call[] = "cj_device_open";
    CJI_NO_CANCEL;
    cj_device_opts o;
    cj_device *dev = cji_obj_new(sizeof *dev, CJI_TAG_DEVICE, 0, call), *same = NULL;
    if (cji_obj_failed(dev)) return dev;
    cj_device_defaults(&o);
    cj_status status = cji_check_arg(dev, drv, CJI_TAG_DRIVER, call, "the driver");
    if (status == CJ_OK && !cji_opts_take(&o, sizeof o, opts, dev, call, "cj_device")) status = CJ_EINVAL;
    if (status == CJ_OK && (o.schedule < CJ_SCHEDULE_DEFAULT || o.schedule > CJ_SCHEDULE_BLOCKING))
        status = cji_fail(dev, CJ_EINVAL, call, "schedule %d is no cj_schedule", o.schedule);
    if (status == CJ_OK && (ordinal < 0 || ordinal >= drv->device_count))
        status = wrong_ordinal(dev, drv, ordinal, call);
    if (status != CJ_OK) return cji_obj_set_failed(dev), dev;
    dev->ordinal = ordinal;
    dev->schedule = o.schedule;
    cji_opened_lock();
    same = find_device(drv, ordinal, NULL);
    bool other = same && o.schedule != CJ_SCHEDULE_DEFAULT && o.schedule != same->schedule;
    if (!same) cji_device_open_new(dev, drv, call);
    cji_opened_unlock();
    if (other) {
        cji_fail(dev, CJ_ESTATE, call,
                 "device %d is open with another schedule; pass it at the first opening, or leave it out", ordinal);
        cji_obj_set_failed(dev);
        cj_device_close(same);
        return dev;
    }
    if (same) cji_obj_delete(dev, sizeof *dev);
    return same ? same : dev;
}

/* The device of a context, asked in that context. */
static cj_status ordinal_of_context(cj_device *dev, const cj_driver *drv, CUcontext context, const char *call)
{
    const cji_cu *cu = &drv->cu;
    CUdevice device = -1, one = -1;
    CUcontext popped;
    CUresult r = cu->cuCtxPushCurrent(context);
    if (r != CUDA_SUCCESS)
        return cji_cu_fail_open(dev, drv, r, CJ_EINVAL, "cuCtxPushCurrent", call, "the context cannot be made current");
    r = cu->cuCtxGetDevice(&device);
    cu->cuCtxPopCurrent(&popped);
    if (r != CUDA_SUCCESS) return cji_cu_fail_open(dev, drv, r, CJ_OK, "cuCtxGetDevice", call, "%s", call);
    for (dev->ordinal = 0; dev->ordinal < drv->device_count; dev->ordinal++)
        if (cu->cuDeviceGet(&one, dev->ordinal) == CUDA_SUCCESS && one == device) return CJ_OK;
    return cji_fail(dev, CJ_ENODEVICE, call, "the context's device is none of the driver's %d", drv->device_count);
}

cj_device *cj_device_wrap(cj_driver *drv, void *context)
{
    static const char call[] = "cj_device_wrap";
    CJI_NO_CANCEL;
    cj_device *dev = cji_obj_new(sizeof *dev, CJI_TAG_DEVICE, 0, call), *same = NULL;
    if (cji_obj_failed(dev)) return dev;
    cj_status status = cji_check_arg(dev, drv, CJI_TAG_DRIVER, call, "the driver");
    if (status == CJ_OK && !context) status = cji_fail(dev, CJ_EINVAL, call, "the context is NULL");
    if (status == CJ_OK) status = ordinal_of_context(dev, drv, context, call);
    if (status != CJ_OK) return cji_obj_set_failed(dev), dev;
    dev->ctx = context;
    dev->wrapped = true;
    cji_opened_lock();
    same = find_device(drv, dev->ordinal, context);
    if (!same) cji_device_open_new(dev, drv, call);
    cji_opened_unlock();
    if (same) cji_obj_delete(dev, sizeof *dev);
    return same ? same : dev;
}

void cji_device_unlist(cj_device *dev)
{
    cj_device **at = &dev->drv->devices;
    while (*at && *at != dev) at = &(*at)->next;
    if (*at) *at = dev->next;
}

void cji_device_drop(cj_device *dev)
{
    if (cji_obj_failed(dev)) {
        if (cji_obj_release(dev)) cji_obj_delete(dev, sizeof *dev);
        return;
    }
    cj_driver *drv = dev->drv;
    if (cji_obj_release_shared(dev)) return; /* the list's lock is for the last one */
    cji_opened_lock();
    bool last = cji_obj_release(dev);
    if (last) cji_device_unlist(dev);
    cji_opened_unlock();
    if (!last) return;
    cji_scope scope;
    cji_queue_scope(&dev->queue, &scope);
    cji_release_queue_fini(&dev->queue);
    cji_scope_leave(&scope);
    if (!dev->wrapped) primary_context(dev, false);
    cji_memo_free(dev->images);
    cji_image_cache_unprepare(dev);
    cji_text_free(&dev->spare);
    pthread_mutex_destroy(&dev->modules_lock);
    pthread_mutex_destroy(&dev->attributes_lock);
    pthread_mutex_destroy(&dev->turns.lock);
    pthread_cond_destroy(&dev->modules_cond);
    cji_obj_delete(dev, sizeof *dev);
    cji_driver_drop(drv);
}

/* What waits keeps the device, and when nothing is done with it any more nobody looks again.  So work that is about
 * to end - the last frees of a
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
    CJI_NO_CANCEL;
    if (!cji_check_free(dev, CJI_TAG_DEVICE, "cj_device_close")) return;
    if (!cji_obj_failed(dev) && atomic_fetch_sub(&dev->handles, 1) == 1) {
        settle_releases(&dev->queue);
        cji_image_cache_list(dev);
    }
    cji_device_drop(dev);
}

/* -- Getters ------------------------------------------------------------------------------------------------------- */

static bool device_readable(const cj_device *dev) { return cji_readable(dev, CJI_TAG_DEVICE, false); }

const char *cj_device_name(const cj_device *dev) { return device_readable(dev) ? dev->info.name : ""; }
const char *cj_device_sm(const cj_device *dev) { return device_readable(dev) ? dev->sm : ""; }
int cj_device_ordinal(const cj_device *dev) { return device_readable(dev) ? dev->ordinal : -1; }
int cj_device_raw(const cj_device *dev) { return device_readable(dev) ? dev->cu : -1; }
void *cj_device_context(const cj_device *dev) { return device_readable(dev) ? dev->ctx : NULL; }
cj_driver *cj_device_driver(const cj_device *dev) { return device_readable(dev) ? dev->drv : NULL; }

cj_status cj_device_sync(cj_device *dev)
{
    static const char call[] = "cj_device_sync";
    CJI_NO_CANCEL;
    cji_scope scope;
    cj_status status = cji_check(dev, CJI_TAG_DEVICE, call);
    if (status != CJ_OK) return status;
    if (atomic_load(&dev->queue.captures))
        return cji_fail(dev, CJ_ESTATE, call,
                        "a stream of the device is being captured, and waiting for the device would break the capture");
    status = cji_scope_begin(dev, dev, &scope, call);
    if (status != CJ_OK) return status;
    CUresult r = dev->api.cuCtxSynchronize();
    cji_scope_leave(&scope);
    return r == CUDA_SUCCESS && !cji_device_was_reset(dev)
               ? CJ_OK
               : cji_cu_fail_on(dev, dev, NULL, r, "cuCtxSynchronize", call, "%s", call);
}

