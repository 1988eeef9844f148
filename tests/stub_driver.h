/* A driver of stubs, for what the library itself costs: results that opening a driver, a device, a stream and a module
 * needs; everything else answers SUCCESS and does nothing.  Included by one file of a program. */
#ifndef CUJIT_TESTS_STUB_DRIVER_H
#define CUJIT_TESTS_STUB_DRIVER_H

#include <stdint.h>
#include <string.h>

#include "cuda/abi.h"

static _Alignas(256) char stub_handle[4096]; /* every object's, and the memory */

static CUresult stub_answer(const char *name, void *const *out)
{
    if (!strcmp(name, "cuDriverGetVersion")) *(int *)out[0] = 12080;
    else if (!strcmp(name, "cuDeviceGetCount")) *(int *)out[0] = 1;
    else if (!strcmp(name, "cuDeviceGetName")) strcpy(out[0], "stub");
    else if (!strcmp(name, "cuDeviceGetAttribute"))
        *(int *)out[0] = out[1] == (void *)75 ? 9 : out[1] == (void *)76 ? 0 /* sm_90 */
                         : out[1] == (void *)97 ? 232448 /* bytes of shared memory of a block */ : 1024;
    else if (!strcmp(name, "cuFuncGetAttribute")) *(int *)out[0] = out[1] ? 0 : 1024;
    else if (!strcmp(name, "cuCtxGetCurrent") || !strcmp(name, "cuDevicePrimaryCtxRetain") ||
             !strcmp(name, "cuModuleLoadDataEx") || !strcmp(name, "cuModuleGetFunction") ||
             !strcmp(name, "cuStreamCreateWithPriority") || !strcmp(name, "cuEventCreate") ||
             !strcmp(name, "cuMemAllocAsync"))
        *(void **)out[0] = stub_handle;
    else if (!strcmp(name, "cuLinkComplete")) *(void **)out[1] = stub_handle, *(size_t *)out[2] = 64;
    else if (!strcmp(name, "cuStreamEndCapture")) *(void **)out[1] = stub_handle;
    else if (!strcmp(name, "cuPointerGetAttributes")) **(unsigned **)out[2] = CU_MEMORYTYPE_HOST; /* all is pinned */
    else if (!strcmp(name, "cuFuncGetParamInfo")) return CUDA_ERROR_NOT_SUPPORTED;
    return CUDA_SUCCESS;
}

/* Each row's stub: its arguments, NULL behind them. */
#define FIRST(T, a) (void *)(uintptr_t)(a),
#define CU(name, export, version, need, count, list)                                \
    static CUresult stub_##name(CJI_CU_DECL(count, list))                           \
    {                                                                               \
        void *const arg[18] = { CJI_CU_EACH(count, FIRST, list) NULL, NULL, NULL }; \
        return stub_answer(#name, arg);                                             \
    }
#include "cuda/symbols.def"
#undef FIRST

/* For cj_driver_open_resolver. */
static void *stub_symbol(void *user, const char *symbol)
{
    static const struct { const char *symbol; void (*fn)(void); } stubs[] = {
#define CU(name, export, version, need, count, list) { #export, (void (*)(void))stub_##name },
#include "cuda/symbols.def"
    };
    (void)user;
    for (size_t i = 0; i < sizeof stubs / sizeof *stubs; i++)
        if (!strcmp(stubs[i].symbol, symbol)) return (void *)(uintptr_t)stubs[i].fn;
    return NULL;
}

#endif
