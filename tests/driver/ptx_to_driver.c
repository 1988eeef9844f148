/* The README's words about PTX text: what cj_ptx_print writes goes straight to cuModuleLoadData, here to that of a driver that the program has opened by itself, and
 * the kernel in it runs. */
#include <cujit/cujit.h>

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "cuda/abi.h"
#include "tests/tap.h"

static CUresult (*cuModuleLoadData)(CUmodule *module, const void *image);
static CUresult (*cuModuleGetFunction)(CUfunction *fn, CUmodule module, const char *name);
static CUresult (*cuModuleUnload)(CUmodule module);
static CUresult (*cuLaunchKernel)(CUfunction fn, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared, CUstream s,
                                  void **params, void **extra);
static CUresult (*cuDevicePrimaryCtxRetain)(CUcontext *ctx, CUdevice dev);
static CUresult (*cuDevicePrimaryCtxRelease)(CUdevice dev);
static CUresult (*cuCtxPushCurrent)(CUcontext ctx);
static CUresult (*cuCtxPopCurrent)(CUcontext *ctx);

static void find(void *library, void *pointer, const char *name)
{
    void *entry = dlsym(library, name);
    if (!entry) tap_bail("%s: %s", name, dlerror());
    memcpy(pointer, &entry, sizeof entry);
}

static void find_all(const cj_driver *drv)
{
    void *library = dlopen(cj_driver_path(drv), RTLD_NOW);
    if (!library) tap_bail("%s", dlerror());
    find(library, &cuModuleLoadData, "cuModuleLoadData");
    find(library, &cuModuleGetFunction, "cuModuleGetFunction");
    find(library, &cuModuleUnload, "cuModuleUnload");
    find(library, &cuLaunchKernel, "cuLaunchKernel");
    find(library, &cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain");
    find(library, &cuDevicePrimaryCtxRelease, "cuDevicePrimaryCtxRelease_v2");
    find(library, &cuCtxPushCurrent, "cuCtxPushCurrent_v2");
    find(library, &cuCtxPopCurrent, "cuCtxPopCurrent_v2");
}

/* p[0] = 42 */
static cj_ptx *make_kernel(void)
{
    cj_ptx *m = cj_ptx_create();
    cj_fn *f = cj_ptx_kernel(m, "answer");
    cj_val p = cj_param_ptr(f, "p", CJ_U32);
    cj_set(f, p, cj_imm(f, 0u), cj_imm(f, 42u));
    return m;
}

static int load_and_launch(cj_ptx *m, cj_stream *s, cj_dptr d)
{
    const char *ptx;
    if (cj_ptx_print(m, 0, &ptx, NULL) != CJ_OK) return fprintf(stderr, "%s\n", cj_error_of(m)->message), 1;
    CUmodule module;
    CUresult r = cuModuleLoadData(&module, ptx);
    tap_is_int(r, CUDA_SUCCESS, "cuModuleLoadData takes the text");
    if (r != CUDA_SUCCESS) return 1;

    CUfunction fn = NULL;
    void *params[] = { &d.addr };
    uint32_t got = 0;
    tap_is_int(cuModuleGetFunction(&fn, module, "answer"), CUDA_SUCCESS, "the kernel is in it");
    tap_is_int(cuLaunchKernel(fn, 1, 1, 1, 1, 1, 1, 0, cj_stream_raw(s), params, NULL), CUDA_SUCCESS, "it is launched on a stream of cujit");
    cj_copy_to_host(s, &got, d, sizeof got);
    tap_is_int(cj_stream_sync(s), CJ_OK, "the stream has done it");
    tap_is_uint(got, 42, "it has run");
    tap_is_int(cuModuleUnload(module), CUDA_SUCCESS, "the module is unloaded");
    return 0;
}

int main(void)
{
    CUcontext ctx = NULL;
    tap_plan(0);
    tap_need_device(1);
    cj_driver *drv = cj_driver_open(NULL);
    cj_device *dev = cj_device_open(drv, 0, NULL);
    cj_stream *s = cj_stream_create(dev, NULL);
    cj_dptr d = cj_alloc(s, 4);
    cj_fill32(s, d, 0, 1);
    if (cj_stream_sync(s) != CJ_OK) tap_bail("%s", cj_error_of(s)->message);
    find_all(drv);
    if (cuDevicePrimaryCtxRetain(&ctx, 0) != CUDA_SUCCESS || cuCtxPushCurrent(ctx) != CUDA_SUCCESS) tap_bail("no context");

    cj_ptx *m = make_kernel();
    tap_is_int(load_and_launch(m, s, d), 0, "the README's lines");
    cj_ptx_free(m);

    cuCtxPopCurrent(&ctx);
    cuDevicePrimaryCtxRelease(0);
    cj_free(dev, d);
    cj_stream_free(s);
    cj_device_close(dev);
    cj_driver_close(drv);
    return tap_done();
}
