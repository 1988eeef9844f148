/* Events between processes: their handles, given out and taken in. */
#include <string.h>

#include "stream/core/stream_core.h"

_Static_assert(CJ_IPC_EVENT_BYTES == sizeof(CUipcEventHandle), "the driver's handle has that many bytes");

cj_status cj_event_export(cj_event *e, void *handle, size_t bytes)
{
    static const char call[] = "cj_event_export";
    CUipcEventHandle h;
    cji_scope scope;
    cj_status st = cji_check(e, CJI_TAG_EVENT, call);
    if (st != CJ_OK) return st;
    if (!handle || bytes < sizeof h)
        return cji_fail(e, CJ_EINVAL, call, "the buffer has %zu bytes, a handle needs %zu (CJ_IPC_EVENT_BYTES)",
                        handle ? bytes : 0, sizeof h);
    if (!e->ipc)
        return cji_fail(e, CJ_EINVAL, call, "the event is of this process only; make it with CJ_EVENT(.ipc = 1)");
    st = cji_scope_begin_relaxed(e, e->dev, &scope, call);
    if (st != CJ_OK) return st;
    CUresult r = e->cu->cuIpcGetEventHandle(&h, e->raw);
    cji_scope_leave(&scope);
    if (r != CUDA_SUCCESS) return cji_rejected(e, e->dev, r, call, "cuIpcGetEventHandle");
    memcpy(handle, &h, sizeof h);
    return CJ_OK;
}

static void ipc_event_import(cj_event *e, const void *handle, const char *call)
{
    CUipcEventHandle h;
    cji_scope scope;
    const cji_PFN_cuIpcOpenEventHandle open = e->dev->drv->by_value.cuIpcOpenEventHandle;
    memcpy(&h, handle, sizeof h);
    if (!open) {
        cji_fail(e, CJ_ENOTSUP, call, "this driver has no events between processes");
        return;
    }
    if (cji_scope_begin_relaxed(e, e->dev, &scope, call) != CJ_OK) return;
    CUresult r = open(&e->raw, h);
    cji_scope_leave(&scope);
    e->owned = r == CUDA_SUCCESS;
    if (e->owned) return;
    e->raw = NULL;
    if (r == CUDA_ERROR_INVALID_CONTEXT)
        cji_cu_fail_as(e, e->dev, r, CJ_EINVAL, "cuIpcOpenEventHandle", call,
                       "%s: the handle is of this process, which has the event: use that one", call);
    else cji_rejected(e, e->dev, r, call, "cuIpcOpenEventHandle");
}

cj_event *cj_event_import(cj_device *dev, const void *handle, size_t bytes)
{
    static const char call[] = "cj_event_import";
    cj_event *e = cji_event_new(dev, call);
    if (cji_obj_failed(e)) return e;
    if (!handle || bytes < sizeof(CUipcEventHandle))
        cji_fail(e, CJ_EINVAL, call, "a handle has %zu bytes, not %zu", sizeof(CUipcEventHandle), handle ? bytes : 0);
    else ipc_event_import(e, handle, call);
    e->recorded = e->ipc = true; /* by another process: the driver knows when */
    if (!e->raw) cji_obj_set_failed(e);
    return e;
}
