/* The driver's own handles out of each object, and objects of somebody's context, module, function and memory; what
 * is wrapped stays its owner's. */
#include <cujit/cujit.h>

#include <string.h>

#include "cuda/table.h"
#include "tests/tap.h"

enum { N = 256 };
static const char text[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n.visible .global .u32 v = 7;\n"
    ".visible .entry add(.param .u64 p, .param .u32 n, .param .u32 x)\n{\n  .reg .u64 %a;\n"
    "  .reg .u32 %i, %n, %x, %y;\n  .reg .pred %out;\n"
    "  ld.param.u64 %a, [p];\n  ld.param.u32 %n, [n];\n  ld.param.u32 %x, [x];\n  mov.u32 %i, %tid.x;\n"
    "  setp.ge.u32 %out, %i, %n;\n  @%out ret;\n"
    "  cvta.to.global.u64 %a, %a;\n  mad.wide.u32 %a, %i, 4, %a;\n  ld.global.u32 %y, [%a];\n  add.u32 %y, %y, %x;\n"
    "  st.global.u32 [%a], %y;\n  ret;\n}\n";

static cj_driver *drv;

/* Entry points by their exported names, as a program that uses the driver itself has them. */
#define ENTRY(name, export) \
    cji_PFN_##name name; \
    do { \
        void *fn_ = cj_driver_symbol(drv, export); \
        if (!fn_) tap_bail("no %s", export); \
        memcpy(&name, &fn_, sizeof fn_); \
    } while (0)

static void is(CUresult r, const char *what) { tap_is_int(r, CUDA_SUCCESS, "%s", what); }

/* Work in every part of a device that was made from a context: 2 + 3 in all elements. */
static void works(cj_device *dev, cj_kernel *add, const char *what)
{
    static uint32_t out[N];
    memset(out, 0, sizeof out);
    cj_stream *s = cj_stream_create(dev, NULL);
    cj_dptr d = cj_alloc(s, 4 * N);
    cj_fill32(s, d, 2, N);
    cj_launch(s, add, cj_grid(1, N), d, N, 3);
    cj_copy_to_host(s, out, d, sizeof out);
    cj_free(dev, d);
    tap_is_int(cj_stream_sync(s), CJ_OK, "%s: work succeeds: %s", what, cj_error_of(s)->message);
    tap_ok(out[0] == 5 && out[N - 1] == 5, "%s: and is right", what);
    cj_stream_free(s);
}

static void modules(cj_device *dev, const char *what)
{
    ENTRY(cuCtxPushCurrent, "cuCtxPushCurrent_v2");
    ENTRY(cuCtxPopCurrent, "cuCtxPopCurrent_v2");
    ENTRY(cuModuleLoadData, "cuModuleLoadData");
    ENTRY(cuModuleUnload, "cuModuleUnload");
    ENTRY(cuModuleGetFunction, "cuModuleGetFunction");
    CUmodule raw = NULL;
    CUfunction fn = NULL;
    CUcontext popped;
    size_t bytes = 0;
    is(cuCtxPushCurrent(cj_device_context(dev)), "the context can be pushed");
    is(cuModuleLoadData(&raw, text), "somebody loads a module in it");
    is(cuModuleGetFunction(&fn, raw, "add"), "and gets a function");
    is(cuCtxPopCurrent(&popped), "popped");

    cj_module *mod = cj_module_wrap(dev, raw);
    tap_is_int(cj_error_of(mod)->status, CJ_OK, "%s: a module is wrapped", what);
    tap_ok(cj_module_raw(mod) == raw && cj_module_device(mod) == dev, "its handle and device");
    tap_ok(cj_module_var(mod, "v", &bytes).addr && bytes == 4, "its variable is found");
    cj_kernel *k = cj_module_kernel(mod, "add"), *absent = cj_module_kernel(mod, "absent");
    tap_is_int(cj_error_of(absent)->status, CJ_ENOTFOUND, "a kernel that it has not");
    tap_ok(cj_kernel_raw(k) == fn, "a kernel of it has the driver's handle");
    works(dev, k, "a kernel of a wrapped module");
    cj_kernel_free(absent);
    cj_module_free(mod);
    works(dev, k, "a kernel that outlives its wrapped module");
    cj_kernel_free(k);

    k = cj_kernel_wrap(dev, fn);
    tap_is_int(cj_error_of(k)->status, CJ_OK, "%s: a function is wrapped", what);
    tap_ok(cj_kernel_raw(k) == fn && cj_module_raw(cj_kernel_module(k)) == raw, "its handle, and its module's");
    tap_is_str(cj_kernel_name(k), "add", "its name");
    tap_is_int(cj_kernel_params(k), 3, "its parameters");
    works(dev, k, "a wrapped function");
    cj_stream *s = cj_stream_create(dev, NULL);
    tap_is_int(cj_launch(s, k, cj_grid(1, N), 1), CJ_EINVAL, "its arguments are checked");
    cj_stream_free(s);
    cj_kernel_free(k);
    cj_device_collect(dev);

    is(cuCtxPushCurrent(cj_device_context(dev)), "pushed");
    is(cuModuleGetFunction(&fn, raw, "add"), "the module is still loaded");
    is(cuModuleUnload(raw), "its owner unloads it");
    is(cuCtxPopCurrent(&popped), "popped");
}

static void contexts(void)
{
    ENTRY(cuCtxCreate, "cuCtxCreate_v2");
    ENTRY(cuCtxDestroy, "cuCtxDestroy_v2");
    ENTRY(cuCtxPopCurrent, "cuCtxPopCurrent_v2");
    ENTRY(cuCtxGetCurrent, "cuCtxGetCurrent");
    CUcontext ctx = NULL, now = NULL;
    is(cuCtxCreate(&ctx, 0, 0), "somebody creates a context");
    is(cuCtxPopCurrent(&now), "and pops it");
    cj_device *dev = cj_device_wrap(drv, ctx), *again = cj_device_wrap(drv, ctx),
              *primary = cj_device_open(drv, 0, NULL);
    tap_is_int(cj_error_of(dev)->status, CJ_OK, "a context is wrapped: %s", cj_error_of(dev)->message);
    tap_ok(again == dev, "once only");
    tap_ok(primary != dev && cj_device_context(primary) != ctx, "the primary context is another device");
    tap_ok(cj_device_context(dev) == ctx && cj_device_raw(dev) == cj_device_raw(primary) && cj_device_ordinal(dev) == 0,
           "its handles");
    is(cuCtxGetCurrent(&now), "the current context can be asked");
    tap_ok(now == NULL, "the caller's context is as it was");
    cj_device *same = cj_device_wrap(drv, cj_device_context(primary));
    tap_ok(same == primary, "an open device's context gives that device");
    cj_device_close(same);
    modules(dev, "in somebody's context");
    modules(primary, "in the primary context");

    cj_kernel *k;
    cj_ptx *m = cj_ptx_create();
    cj_fn *f = cj_ptx_kernel(m, "add");
    cj_val p = cj_param_ptr(f, "p", CJ_U32), n = cj_param(f, "n", CJ_U32), x = cj_param(f, "x", CJ_U32),
           i = cj_global_id(f, CJ_X);
    cj_if(f, cj_lt(f, i, n));
    cj_set(f, p, i, cj_add(f, cj_get(f, p, i), x));
    cj_end(f);
    k = cj_kernel_load(dev, m, "add", NULL);
    works(dev, k, "a builder's kernel in somebody's context");
    cj_kernel_free(k);
    cj_ptx_free(m);
    cj_device_close(primary);
    cj_device_close(again);
    cj_device_close(dev);
    is(cuCtxDestroy(ctx), "the context is there until its owner destroys it");
}

static void ranges(void)
{
    ENTRY(cuCtxPushCurrent, "cuCtxPushCurrent_v2");
    ENTRY(cuCtxPopCurrent, "cuCtxPopCurrent_v2");
    ENTRY(cuMemAlloc, "cuMemAlloc_v2");
    ENTRY(cuMemFree, "cuMemFree_v2");
    static uint32_t out[N];
    CUcontext popped;
    CUdeviceptr raw = 0;
    cj_device *dev = cj_device_open(drv, 0, NULL);
    cj_stream *s = cj_stream_create(dev, NULL);
    is(cuCtxPushCurrent(cj_device_context(dev)), "pushed");
    is(cuMemAlloc(&raw, 4 * N), "somebody allocates memory");
    cj_dptr d = { raw };
    tap_is_int(cj_copy_to_host(s, out, d, 4), CJ_OK, "memory that the device does not know can be used");
    cj_stream_sync(s);
    cj_error_clear(s);
    tap_is_int(cj_mem_wrap(s, d, 4 * N), CJ_OK, "a range is wrapped");
    tap_is_int(cj_mem_wrap(s, cj_offset(d, 4), 4), CJ_ESTATE, "once only");
    tap_is_int(cj_mem_wrap(s, cj_offset(d, -4), 8), CJ_ESTATE, "also where it only overlaps");
    tap_is_int(cj_mem_wrap(s, (cj_dptr){ 0 }, 4), CJ_EINVAL, "no address");
    tap_is_int(cj_mem_wrap(s, (cj_dptr){ 64 }, 0), CJ_EINVAL, "no bytes");
    tap_is_int(cj_mem_wrap(s, (cj_dptr){ UINT64_MAX - 3 }, 8), CJ_EINVAL, "bytes beyond all memory");
    cj_stream_sync(s);
    cj_error_clear(s);
    tap_is_int(cj_fill32(s, d, 9, N), CJ_OK, "it is used");
    tap_is_int(cj_copy_to_host(s, out, d, sizeof out), CJ_OK, "and read");
    tap_is_int(cj_stream_sync(s), CJ_OK, "done");
    tap_ok(out[0] == 9 && out[N - 1] == 9, "right");
    tap_is_int(cj_copy_to_host(s, out, cj_offset(d, 4), sizeof out), CJ_EINVAL, "its end is known");
    tap_is_int(cj_free(dev, d), CJ_OK, "it is forgotten");
    tap_is_int(cj_free(dev, d), CJ_ENOTFOUND, "once");
    cj_stream_sync(s);
    tap_is_int((int)cj_device_collect(dev), 0, "nothing waits");
    is(cuMemFree(raw), "its owner frees it");
    is(cuCtxPopCurrent(&popped), "popped");
    cj_stream_free(s);
    cj_device_close(dev);
}

static void wrong(void)
{
    cj_device *dev = cj_device_open(drv, 0, NULL), *bad = cj_device_wrap(drv, NULL);
    cj_module *mod = cj_module_wrap(dev, NULL), *of_bad = cj_module_wrap(bad, &mod);
    cj_kernel *k = cj_kernel_wrap(dev, NULL), *k_of_bad = cj_kernel_wrap(bad, &mod);
    tap_is_int(cj_error_of(bad)->status, CJ_EINVAL, "no context");
    tap_is_int(cj_error_of(mod)->status, CJ_EINVAL, "no module");
    tap_is_int(cj_error_of(k)->status, CJ_EINVAL, "no function");
    if (!strcmp(cj_driver_kind(drv), "sim")) { /* a GPU's driver dereferences it */
        cj_kernel *other = cj_kernel_wrap(dev, &mod);
        tap_is_int(cj_error_of(other)->status, CJ_EINVAL, "a function that is none");
        tap_has_str(cj_error_of(other)->message, "cj_kernel_wrap: the CUfunction is none of device 0's context",
                    "and the message");
        cj_kernel_free(other);
    }
    tap_is_int(cj_error_of(of_bad)->status, CJ_EINVAL, "a module on a failed device");
    tap_is_int(cj_error_of(k_of_bad)->status, CJ_EINVAL, "a function on a failed device");
    tap_ok(!cj_device_context(bad) && cj_device_raw(bad) == -1 && !cj_module_raw(mod) && !cj_kernel_raw(k) &&
               !cj_driver_raw(NULL),
           "failed objects have no handles");
    tap_ok(!cj_driver_symbol(NULL, "cuInit") && !cj_driver_symbol(drv, NULL) && !cj_driver_symbol(drv, "cuNothing"),
           "symbols that are none");
    tap_ok(cj_driver_raw(drv) != NULL, "an opened library has its handle");
    cj_kernel_free(k), cj_kernel_free(k_of_bad), cj_module_free(mod), cj_module_free(of_bad), cj_device_close(bad),
        cj_device_close(dev);
}

int main(void)
{
    tap_need_device(1);
    tap_plan(0);
    drv = cj_driver_open(NULL);
    contexts();
    ranges();
    wrong();
    cj_driver_close(drv);
    return tap_done();
}
