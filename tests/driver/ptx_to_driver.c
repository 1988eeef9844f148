/* The README's words about PTX text: cuModuleLoadData takes what cj_ptx_print writes, the kernel in it runs, and
 * cj_module_wrap makes a
 * cj_module of it. */
#include <cujit/cujit.h>

#include <stdio.h>
#include <string.h>

#include "cuda/abi.h"
#include "tests/tap.h"

static CUresult (*cuModuleLoadData)(CUmodule *module, const void *image);
static CUresult (*cuModuleGetFunction)(CUfunction *fn, CUmodule module, const char *name);
static CUresult (*cuModuleUnload)(CUmodule module);
static CUresult (*cuLaunchKernel)(CUfunction fn, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                                  unsigned bz, unsigned shared, CUstream s, void **params, void **extra);
static CUresult (*cuCtxPushCurrent)(CUcontext ctx);
static CUresult (*cuCtxPopCurrent)(CUcontext *ctx);

static void find(const cj_driver *drv, void *pointer, const char *name)
{
    void *entry = cj_driver_symbol(drv, name);
    if (!entry) tap_bail("the driver has no %s", name);
    memcpy(pointer, &entry, sizeof entry);
}

static void find_all(const cj_driver *drv)
{
    find(drv, &cuModuleLoadData, "cuModuleLoadData");
    find(drv, &cuModuleGetFunction, "cuModuleGetFunction");
    find(drv, &cuModuleUnload, "cuModuleUnload");
    find(drv, &cuLaunchKernel, "cuLaunchKernel");
    find(drv, &cuCtxPushCurrent, "cuCtxPushCurrent_v2");
    find(drv, &cuCtxPopCurrent, "cuCtxPopCurrent_v2");
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
    tap_is_int(cuLaunchKernel(fn, 1, 1, 1, 1, 1, 1, 0, cj_stream_raw(s), params, NULL), CUDA_SUCCESS,
               "it is launched on a stream of cujit");
    cj_copy_to_host(s, &got, d, sizeof got);
    tap_is_int(cj_stream_sync(s), CJ_OK, "the stream has done it");
    tap_is_uint(got, 42, "it has run");

    cj_module *wrapped = cj_module_wrap(cj_stream_device(s), module);
    cj_kernel *k = cj_module_kernel(wrapped, "answer");
    cj_fill32(s, d, 0, 1);
    cj_launch(s, k, cj_grid(1, 1), d);
    cj_copy_to_host(s, &got, d, sizeof got);
    tap_is_int(cj_stream_sync(s), CJ_OK, "a cj_kernel of the module is launched");
    tap_is_uint(got, 42, "it has run");
    cj_kernel_free(k);
    cj_module_free(wrapped);
    tap_is_int(cuModuleUnload(module), CUDA_SUCCESS, "the module is unloaded");
    return 0;
}

int main(void)
{
    CUcontext before = NULL;
    tap_plan(0);
    tap_need_device(1);
    cj_driver *drv = cj_driver_open(NULL);
    cj_device *dev = cj_device_open(drv, 0, NULL);
    cj_stream *s = cj_stream_create(dev, NULL);
    cj_dptr d = cj_alloc(s, 4);
    cj_fill32(s, d, 0, 1);
    if (cj_stream_sync(s) != CJ_OK) tap_bail("%s", cj_error_of(s)->message);
    find_all(drv);
    if (cuCtxPushCurrent(cj_device_context(dev)) != CUDA_SUCCESS) tap_bail("no context");

    cj_ptx *m = make_kernel();
    tap_is_int(load_and_launch(m, s, d), 0, "the README's lines");
    cj_ptx_free(m);

    cuCtxPopCurrent(&before);
    cj_free(dev, d);
    cj_stream_free(s);
    cj_device_close(dev);
    cj_driver_close(drv);
    return tap_done();
}
