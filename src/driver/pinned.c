/* Pinned host memory. */
#include "base/opts.h"
#include "driver/driver.h"

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
    cji_scope scope;
    if (cji_check(dev, CJI_TAG_DEVICE, call) != CJ_OK) return NULL;
    if (!bytes) return cji_fail(dev, CJ_EINVAL, call, "0 bytes of memory"), NULL;
    cj_host_defaults(&o);
    if (!cji_opts_take(&o, sizeof o, opts, dev, call, "cj_host")) return NULL;
    if (o.write_combined) flags |= CU_MEMHOSTALLOC_WRITECOMBINED;
    if (o.mapped) flags |= CU_MEMHOSTALLOC_DEVICEMAP;
    cji_deferred_poll(&dev->queue, 4);
    CUresult r = CUDA_ERROR_INVALID_CONTEXT;
    if (cji_queue_scope(&dev->queue, &scope)) r = dev->api.cuMemHostAlloc(&p, bytes, flags);
    cji_scope_leave(&scope);
    if (r == CUDA_SUCCESS) return p;
    cji_cu_fail_as(dev, dev, r, CJ_OK, "cuMemHostAlloc", call, "%s: %zu bytes of pinned memory", call, bytes);
    return NULL;
}

cj_status cj_host_free(cj_device *dev, void *p)
{
    static const char call[] = "cj_host_free";
    cji_scope scope;
    cj_status status = cji_check(dev, CJI_TAG_DEVICE, call);
    if (status != CJ_OK || !p) return status;
    CUresult r = CUDA_ERROR_INVALID_CONTEXT;
    if (cji_queue_scope(&dev->queue, &scope)) r = dev->api.cuMemFreeHost(p);
    cji_scope_leave(&scope);
    if (r == CUDA_SUCCESS) return CJ_OK;
    return cji_cu_fail_as(
        dev, dev, r, CJ_OK, "cuMemFreeHost", call,
        "%s: %p was not returned by cj_host_alloc, or it has been freed; pass what cj_host_alloc returned, once", call,
        p);
}

/* -- Memory of the caller ------------------------------------------------------------------------------------------ */

/* What the driver answered, left in `dev`. */
static cj_status register_rejected(cj_device *dev, CUresult r, const void *p, size_t bytes, const char *call)
{
    static const char cu_call[] = "cuMemHostRegister";
    if (r == CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED)
        return cji_cu_fail_as(dev, dev, r, CJ_ESTATE, cu_call, call,
                              "%s: a part of the %zu bytes at %p is registered already; call cj_host_unregister first",
                              call, bytes, p);
    return cji_cu_fail_as(dev, dev, r, CJ_OK, cu_call, call, "%s: %zu bytes of host memory at %p", call, bytes, p);
}

cj_status cj_host_register(cj_device *dev, void *p, size_t bytes, int read_only)
{
    static const char call[] = "cj_host_register";
    cji_scope scope;
    cj_status status = cji_check(dev, CJI_TAG_DEVICE, call);
    if (status != CJ_OK) return status;
    if (!p || !bytes || (uintptr_t)p + bytes < (uintptr_t)p)
        return cji_fail(dev, CJ_EINVAL, call, "%zu bytes at %p are no memory", bytes, p);
    if (read_only != 0 && read_only != 1)
        return cji_fail(dev, CJ_EINVAL, call, "read_only is %d, neither 0 nor 1", read_only);
    const unsigned flags = CU_MEMHOSTREGISTER_PORTABLE | (read_only ? CU_MEMHOSTREGISTER_READ_ONLY : 0);
    cji_deferred_poll(&dev->queue, 4);
    CUresult r = CUDA_ERROR_INVALID_CONTEXT;
    if (cji_queue_scope(&dev->queue, &scope)) r = dev->api.cuMemHostRegister(p, bytes, flags);
    cji_scope_leave(&scope);
    return r == CUDA_SUCCESS ? CJ_OK : register_rejected(dev, r, p, bytes, call);
}

cj_status cj_host_unregister(cj_device *dev, void *p)
{
    static const char call[] = "cj_host_unregister";
    cji_scope scope;
    cj_status status = cji_check(dev, CJI_TAG_DEVICE, call);
    if (status != CJ_OK || !p) return status;
    CUresult r = CUDA_ERROR_INVALID_CONTEXT;
    if (cji_queue_scope(&dev->queue, &scope)) r = dev->api.cuMemHostUnregister(p);
    cji_scope_leave(&scope);
    if (r == CUDA_SUCCESS) return CJ_OK;
    return cji_cu_fail_as(
        dev, dev, r, r == CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED ? CJ_ENOTFOUND : CJ_OK, "cuMemHostUnregister",
        call, "%s: %p was not passed to cj_host_register, or it has been unregistered; pass the same address, once",
        call, p);
}
