/* A CUresult becomes a record: status, the driver's code and name for it, a sentence. */
#include <stdio.h>
#include <string.h>

#include "driver/driver.h"

const char *cji_cu_name(const cj_driver *drv, CUresult r)
{
    const char *name = NULL;
    if (drv && drv->cu.cuGetErrorName && drv->cu.cuGetErrorName(r, &name) == CUDA_SUCCESS && name) return name;
    name = cji_cu_error_name(r);
    return name ? name : "CUDA_ERROR_?";
}

const char *cji_cu_text(const cj_driver *drv, CUresult r)
{
    const char *text = NULL;
    if (drv && drv->cu.cuGetErrorString && drv->cu.cuGetErrorString(r, &text) == CUDA_SUCCESS && text) return text;
    text = cji_cu_error_text(r);
    return text ? text : "an error that this version of cujit does not know";
}

/* The row of `cu_call` where the driver lacks it, else NULL. */
static const cji_cu_row *missing_row(const cj_driver *drv, const char *cu_call)
{
    for (int i = 0; drv && i < CJI_CU_COUNT; i++)
        if (drv->missing[i] && strcmp(cji_cu_rows[i].name, cu_call) == 0) return &cji_cu_rows[i];
    return NULL;
}

static cj_status status_of_result(CUresult r)
{
    switch ((int)r) {
    case CUDA_ERROR_OUT_OF_MEMORY: return CJ_ENOMEM;
    case CUDA_ERROR_NOT_SUPPORTED: return CJ_ENOTSUP;
    case CUDA_ERROR_NO_DEVICE:
    case CUDA_ERROR_INVALID_DEVICE: return CJ_ENODEVICE;
    case CUDA_ERROR_STUB_LIBRARY:
    case CUDA_ERROR_SYSTEM_DRIVER_MISMATCH:
    case CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE: return CJ_ENODRIVER;
    default: return CJ_EDRIVER;
    }
}

/* After these every call in the context fails with the same result, whatever it asks for. */
static bool breaks_context(CUresult r)
{
    switch ((int)r) {
    case CUDA_ERROR_ILLEGAL_ADDRESS:
    case CUDA_ERROR_LAUNCH_TIMEOUT:
    case CUDA_ERROR_ASSERT:
    case CUDA_ERROR_HARDWARE_STACK_ERROR:
    case CUDA_ERROR_ILLEGAL_INSTRUCTION:
    case CUDA_ERROR_MISALIGNED_ADDRESS:
    case CUDA_ERROR_INVALID_ADDRESS_SPACE:
    case CUDA_ERROR_INVALID_PC:
    case CUDA_ERROR_LAUNCH_FAILED: return true;
    default: return false;
    }
}

static cj_status record_result(void *obj, const cj_driver *drv, CUresult r, cj_status status, const char *cu_call, const char *call,
                               const char *sentence)
{
    cj_error e;
    const cji_cu_row *lacks = r == CUDA_ERROR_NOT_SUPPORTED ? missing_row(drv, cu_call) : NULL;
    memset(&e, 0, sizeof e);
    e.status = status != CJ_OK ? status : status_of_result(r);
    e.driver_code = r;
    snprintf(e.driver_name, sizeof e.driver_name, "%s", cji_cu_name(drv, r));
    snprintf(e.call, sizeof e.call, "%s", call);
    if (!*sentence) sentence = call;
    if (lacks)
        snprintf(e.message, sizeof e.message, "%s: %s has no %s (needs driver %d or newer)", sentence,
                 drv->path[0] ? drv->path : "the driver", lacks->name, cji_cu_driver_branch(lacks->version));
    else
        snprintf(e.message, sizeof e.message, "%s: %s: %s (%s)%s", sentence, cu_call, e.driver_name, cji_cu_text(drv, r),
                 breaks_context(r) ? "; a kernel given to the device before went wrong, and nothing more runs on it in this process: the CPU device "
                                     "(CUJIT_DRIVER=sim CUJIT_LOG=error) names the instruction" : "");
    return cji_fail_with(obj, &e);
}

cj_status cji_cu_fail(void *obj, const cj_driver *drv, CUresult r, const char *cu_call, const char *call)
{
    return record_result(obj, drv, r, CJ_OK, cu_call, call, "");
}

cj_status cji_cu_fail_as(void *obj, const cj_driver *drv, CUresult r, cj_status status, const char *cu_call, const char *call,
                         const char *fmt, ...)
{
    char sentence[400];
    va_list args;
    va_start(args, fmt);
    vsnprintf(sentence, sizeof sentence, fmt, args);
    va_end(args);
    return record_result(obj, drv, r, status, cu_call, call, sentence);
}
