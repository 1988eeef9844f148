#include "tests/driver/libfake.h"

#include <stdio.h>
#include <string.h>

libfake lib;
static char context_, cubin_[65536], pinned_[256];
static char *log_buffer_;
static size_t log_size_;

CUcontext libfake_context(void) { return (CUcontext)(void *)&context_; }

void libfake_reset(void)
{
    lib = (libfake){ .version = 13000, .devices = 1, .fail_with = CUDA_SUCCESS, .fail_id = -1, .cubin = 64 };
}

/* Counts a call; what it shall answer. */
static CUresult seen(int id)
{
    lib.calls[id]++;
    return id == lib.fail_id ? lib.fail_with : CUDA_SUCCESS;
}

/* -- The default of each entry point: success ---------------------------------------------------------------------- */

#define IGNORE(T, a) (void)a;
#define CU(name, export, version, need, count, list) \
    static CUresult do_##name(CJI_CU_DECL(count, list)) \
    { \
        CJI_CU_EACH(count, IGNORE, list) return seen(CJI_CU_ID_##name); \
    }
#include "cuda/symbols.def"

/* -- Those that do something --------------------------------------------------------------------------------------- */

#define ENTER(name) do { CUresult r_ = seen(CJI_CU_ID_##name); if (r_ != CUDA_SUCCESS) return r_; } while (0)

static CUresult my_cuGetErrorName(CUresult error, const char **text)
{
    *text = cji_cu_error_name(error);
    return *text ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
static CUresult my_cuGetErrorString(CUresult error, const char **text)
{
    *text = cji_cu_error_text(error);
    return *text ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
static CUresult my_cuDriverGetVersion(int *version)
{
    ENTER(cuDriverGetVersion);
    *version = lib.version;
    return CUDA_SUCCESS;
}
static CUresult my_cuDeviceGetCount(int *count) { ENTER(cuDeviceGetCount); *count = lib.devices; return CUDA_SUCCESS; }
static CUresult my_cuDeviceGet(CUdevice *dev, int ordinal) { ENTER(cuDeviceGet); *dev = ordinal; return CUDA_SUCCESS; }
static CUresult my_cuDeviceGetName(char *name, int len, CUdevice dev)
{
    ENTER(cuDeviceGetName);
    snprintf(name, (size_t)len, "fake %d", dev);
    return CUDA_SUCCESS;
}
static CUresult my_cuDeviceTotalMem(size_t *bytes, CUdevice dev)
{
    (void)dev;
    ENTER(cuDeviceTotalMem);
    *bytes = 1 << 30;
    return CUDA_SUCCESS;
}
static CUresult my_cuDeviceGetAttribute(int *value, CUdevice_attribute which, CUdevice dev)
{
    (void)dev;
    ENTER(cuDeviceGetAttribute);
    switch ((int)which) {
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR: *value = lib.capability ? lib.capability / 10 : 9; break;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR: *value = lib.capability % 10; break;
    case CU_DEVICE_ATTRIBUTE_WARP_SIZE: *value = 32; break;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK: *value = 49152; break;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN: *value = 232448; break;
    case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X: *value = INT32_MAX; break;
    case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y: case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z: *value = 65535; break;
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z: *value = 64; break;
    case CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH: case CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH: *value = 0; break;
    default: *value = 1024; break;
    }
    return CUDA_SUCCESS;
}
static CUresult my_cuDevicePrimaryCtxRetain(CUcontext *ctx, CUdevice dev)
{
    (void)dev;
    ENTER(cuDevicePrimaryCtxRetain);
    *ctx = libfake_context();
    lib.retained++;
    return CUDA_SUCCESS;
}
static CUresult my_cuDevicePrimaryCtxRelease(CUdevice dev)
{
    (void)dev;
    ENTER(cuDevicePrimaryCtxRelease);
    lib.retained--;
    return CUDA_SUCCESS;
}
static CUresult my_cuDevicePrimaryCtxGetState(CUdevice dev, unsigned *flags, int *active)
{
    (void)dev;
    ENTER(cuDevicePrimaryCtxGetState);
    *flags = lib.ctx_flags;
    *active = lib.retained > 0;
    return CUDA_SUCCESS;
}
static CUresult my_cuDevicePrimaryCtxSetFlags(CUdevice dev, unsigned flags)
{
    (void)dev;
    ENTER(cuDevicePrimaryCtxSetFlags);
    lib.ctx_flags = flags;
    return CUDA_SUCCESS;
}
static CUresult my_cuCtxGetCurrent(CUcontext *ctx) { ENTER(cuCtxGetCurrent); *ctx = lib.current; return CUDA_SUCCESS; }
static CUresult my_cuCtxPushCurrent(CUcontext ctx)
{
    ENTER(cuCtxPushCurrent);
    lib.current = ctx;
    lib.depth++;
    return CUDA_SUCCESS;
}
static CUresult my_cuCtxPopCurrent(CUcontext *ctx)
{
    ENTER(cuCtxPopCurrent);
    *ctx = lib.current;
    lib.depth--;
    lib.current = NULL;
    return CUDA_SUCCESS;
}
static CUresult my_cuMemHostAlloc(void **p, size_t bytes, unsigned flags)
{
    ENTER(cuMemHostAlloc);
    lib.host_flags = flags;
    if (bytes > sizeof pinned_) return CUDA_ERROR_OUT_OF_MEMORY;
    *p = pinned_;
    lib.pinned++;
    return CUDA_SUCCESS;
}
static CUresult my_cuMemFreeHost(void *p) { ENTER(cuMemFreeHost); (void)p; lib.pinned--; return CUDA_SUCCESS; }

static void take_log(unsigned n, const CUjit_option *option, void **value)
{
    log_buffer_ = NULL;
    lib.jit_set = 0;
    for (unsigned i = 0; i < n; i++) {
        lib.jit_set |= 1u << option[i];
        lib.jit_value[option[i]] = (uintptr_t)value[i];
        if (option[i] == CU_JIT_ERROR_LOG_BUFFER) log_buffer_ = value[i];
        if (option[i] == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES) log_size_ = (size_t)(uintptr_t)value[i];
    }
}

/* As a driver does: cuts silently. */
static CUresult compile(const char *ptx)
{
    (void)ptx;
    if (lib.log && log_buffer_) snprintf(log_buffer_, log_size_, "%s", lib.log);
    return lib.compiler;
}

static CUresult my_cuLinkCreate(unsigned n, CUjit_option *option, void **value, CUlinkState *state)
{
    ENTER(cuLinkCreate);
    take_log(n, option, value);
    *state = (CUlinkState)(void *)&lib;
    lib.linkers++;
    return CUDA_SUCCESS;
}
static CUresult my_cuLinkAddData(CUlinkState state, CUjitInputType type, void *data, size_t bytes, const char *name,
                                 unsigned n, CUjit_option *option, void **value)
{
    (void)state, (void)type, (void)name, (void)n, (void)option, (void)value;
    ENTER(cuLinkAddData);
    lib.ptx_bytes = bytes;
    snprintf(lib.ptx, sizeof lib.ptx, "%s", (const char *)data);
    return compile(data);
}
static CUresult my_cuLinkComplete(CUlinkState state, void **cubin, size_t *bytes)
{
    (void)state;
    ENTER(cuLinkComplete);
    memset(cubin_, 0x5a, lib.cubin);
    if (lib.cubin) cubin_[lib.cubin - 1] = 0;   /* as short as a text with its NUL */
    *cubin = cubin_;
    *bytes = lib.cubin;
    return CUDA_SUCCESS;
}
static CUresult my_cuLinkDestroy(CUlinkState state)
{
    (void)state;
    if (log_buffer_) log_buffer_[log_size_ - 1] = 0; /* the buffer is still there */
    lib.linkers--;
    return seen(CJI_CU_ID_cuLinkDestroy);
}
static CUresult load(CUmodule *mod) { lib.modules++; *mod = (CUmodule)(void *)&lib.modules; return CUDA_SUCCESS; }
static CUresult my_cuModuleLoadData(CUmodule *mod, const void *image)
{
    ENTER(cuModuleLoadData);
    lib.loaded = image;
    return load(mod);
}
static CUresult my_cuModuleLoadDataEx(CUmodule *mod, const void *image, unsigned n, CUjit_option *option, void **value)
{
    ENTER(cuModuleLoadDataEx);
    take_log(n, option, value);
    snprintf(lib.ptx, sizeof lib.ptx, "%s", (const char *)image);
    CUresult r = compile(image);
    return r == CUDA_SUCCESS ? load(mod) : r;
}
static CUresult my_cuModuleUnload(CUmodule mod)
{
    (void)mod;
    ENTER(cuModuleUnload);
    lib.modules--;
    return CUDA_SUCCESS;
}
static CUresult my_cuModuleGetFunction(CUfunction *fn, CUmodule mod, const char *name)
{
    (void)mod;
    ENTER(cuModuleGetFunction);
    if (strcmp(name, "absent") == 0) return CUDA_ERROR_NOT_FOUND;
    *fn = (CUfunction)(void *)&lib;
    return CUDA_SUCCESS;
}
static CUresult my_cuFuncGetAttribute(int *value, CUfunction_attribute which, CUfunction fn)
{
    (void)fn;
    ENTER(cuFuncGetAttribute);
    *value = which == CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK ? 256 : which == CU_FUNC_ATTRIBUTE_NUM_REGS ? 40 : 0;
    return CUDA_SUCCESS;
}
static CUresult my_cuFuncGetParamInfo(CUfunction fn, size_t i, size_t *offset, size_t *bytes)
{
    (void)fn;
    ENTER(cuFuncGetParamInfo);
    if (i >= 2) return CUDA_ERROR_INVALID_VALUE;
    *offset = i * 8;
    if (bytes) *bytes = i ? 4 : 8;
    return CUDA_SUCCESS;
}

/* -- The resolver -------------------------------------------------------------------------------------------------- */

static const cji_cu defaults = {
#define CU(name, export, version, need, count, list) .name = do_##name,
#include "cuda/symbols.def"
};

static const cji_cu mine = {
#define M(name) .name = my_##name
    M(cuGetErrorName),
    M(cuGetErrorString),
    M(cuDriverGetVersion),
    M(cuDeviceGetCount),
    M(cuDeviceGet),
    M(cuDeviceGetName),
    M(cuDeviceTotalMem),
    M(cuDeviceGetAttribute),
    M(cuDevicePrimaryCtxRetain),
    M(cuDevicePrimaryCtxRelease),
    M(cuDevicePrimaryCtxGetState),
    M(cuDevicePrimaryCtxSetFlags),
    M(cuCtxGetCurrent),
    M(cuCtxPushCurrent),
    M(cuCtxPopCurrent),
    M(cuMemHostAlloc),
    M(cuMemFreeHost),
    M(cuLinkCreate),
    M(cuLinkAddData),
    M(cuLinkComplete),
    M(cuLinkDestroy),
    M(cuModuleLoadData),
    M(cuModuleLoadDataEx),
    M(cuModuleUnload),
    M(cuModuleGetFunction),
    M(cuFuncGetAttribute),
    M(cuFuncGetParamInfo),
#undef M
};

void *libfake_symbol(void *user, const char *symbol)
{
    (void)user;
    int i = cji_cu_find_export(symbol);
    void *fn;
    if (i < 0 || (lib.missing && strcmp(lib.missing, symbol) == 0)) return NULL;
    memcpy(&fn, (const char *)&mine + (size_t)i * sizeof fn, sizeof fn);
    if (!fn) memcpy(&fn, (const char *)&defaults + (size_t)i * sizeof fn, sizeof fn);
    return fn;
}

cj_driver *libfake_open(void) { return cj_driver_open_resolver(libfake_symbol, NULL); }
