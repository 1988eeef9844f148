/* What the tests of the driver's ABI share: the table of entry points of the device that the run is for (the CPU
 * device, or libcuda on a GPU run), a context, kernels, streams held by latches (tests/latch.h). */
#ifndef CUJIT_TESTS_CONFORMANCE_DRIVER_ABI_H
#define CUJIT_TESTS_CONFORMANCE_DRIVER_ABI_H

#include <dlfcn.h>
#include <string.h>

#include <cujit/sim.h>

#include "cuda/abi.h"
#include "cuda/table.h"
#include "tests/latch.h"
#include "tests/tap.h"

static cji_cu cu;
static CUcontext abi_ctx;

/* Entry points that libcujit does not use: cx.cuModuleLoad ... */
static struct abi_more {
#define CU(name, export, version, count, list) CUresult (*name)(CJI_CU_DECL(count, list));
#include "cuda/exports.def"
} cx;

/* Any name that the driver exports; NULL: it does not. */
static inline void *abi_symbol(const char *export)
{
    static void *lib;
    if (!tap_on_gpu()) return cujit_sim_get_symbol(NULL, export);
    if (!lib) lib = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    return lib ? dlsym(lib, export) : NULL;
}

/* The entry points by their exported names; one that is not there stays NULL. */
static inline void abi_load(void)
{
    void *p;
#define CU(name, export, version, need, count, list) \
    p = abi_symbol(#export);                         \
    memcpy(&cu.name, &p, sizeof p);
#include "cuda/symbols.def"
#define CU(name, export, version, count, list) \
    p = abi_symbol(#export);                   \
    memcpy(&cx.name, &p, sizeof p);
#include "cuda/exports.def"
}

/* First call of a test: the driver, and the primary context of device 0 as the current one. */
static inline void abi_open(void)
{
    tap_need_device(1);
    tap_plan(0);
    abi_load();
    if (cu.cuInit(0) || cu.cuDevicePrimaryCtxRetain(&abi_ctx, 0) || cu.cuCtxSetCurrent(abi_ctx)) tap_bail("no context");
}

static inline int abi_close(void)
{
    cu.cuCtxSetCurrent(NULL);
    tap_is_int(cu.cuDevicePrimaryCtxRelease(0), CUDA_SUCCESS, "the context is released");
    return tap_done();
}

#define ABI_HEAD ".version 7.0\n.target sm_70\n.address_size 64\n"

/* add: *p += n in every thread; append: *p = *p * 10 + n; spin: until *p is not 0. */
static const char abi_ptx[] = ABI_HEAD
    ".visible .entry add(.param .u64 p, .param .u32 n)\n"
    "{\n"
    "  .reg .b64 %a; .reg .b32 %n;\n"
    "  ld.param.u64 %a, [p];\n"
    "  ld.param.u32 %n, [n];\n"
    "  cvta.to.global.u64 %a, %a;\n"
    "  red.global.add.u32 [%a], %n;\n"
    "  ret;\n"
    "}\n"
    ".visible .entry append(.param .u64 p, .param .u32 n)\n"
    "{\n"
    "  .reg .b64 %a; .reg .b32 %n, %v;\n"
    "  ld.param.u64 %a, [p];\n"
    "  ld.param.u32 %n, [n];\n"
    "  cvta.to.global.u64 %a, %a;\n"
    "  ld.global.u32 %v, [%a];\n"
    "  mul.lo.u32 %v, %v, 10;\n"
    "  add.u32 %v, %v, %n;\n"
    "  st.global.u32 [%a], %v;\n"
    "  ret;\n"
    "}\n"
    ".visible .entry spin(.param .u64 p, .param .u32 n)\n"
    "{\n"
    "  .reg .b64 %a; .reg .b32 %v; .reg .pred %q;\n"
    "  ld.param.u64 %a, [p];\n"
    "  cvta.to.global.u64 %a, %a;\n"
    "again:\n"
    "  ld.volatile.global.u32 %v, [%a];\n"
    "  setp.eq.u32 %q, %v, 0;\n"
    "  @%q bra again;\n"
    "  ret;\n"
    "}\n";

static inline CUfunction abi_kernel(CUmodule *module, const char *name)
{
    CUfunction f = NULL;
    if (!*module && cu.cuModuleLoadData(module, abi_ptx)) tap_bail("the kernels of the test do not load");
    if (cu.cuModuleGetFunction(&f, *module, name)) tap_bail("no kernel %s", name);
    return f;
}

static inline CUresult abi_launch(CUfunction f, unsigned blocks, unsigned threads, CUstream s, CUdeviceptr p,
                                  unsigned n)
{
    void *params[] = { &p, &n };
    return cu.cuLaunchKernel(f, blocks, 1, 1, threads, 1, 1, 0, s, params, NULL);
}

/* Puts a latch into the stream: what follows there waits until latch_open(). */
static inline void abi_hold(struct latch *l, CUstream s)
{
    *l = (struct latch)LATCH_CLOSED;
    if (cu.cuLaunchHostFunc(s, latch_wait, l)) tap_bail("no latch");
}

static inline unsigned abi_read(CUdeviceptr p)
{
    unsigned v = 0xdeadbeef;
    if (cu.cuMemcpyDtoH(&v, p, sizeof v)) tap_fail("reading a word");
    return v;
}

static inline CUstream abi_stream(void)
{
    CUstream s = NULL;
    if (cu.cuStreamCreate(&s, CU_STREAM_NON_BLOCKING)) tap_bail("no stream");
    return s;
}

static inline CUevent abi_event(void)
{
    CUevent e = NULL;
    if (cu.cuEventCreate(&e, CU_EVENT_DISABLE_TIMING)) tap_bail("no event");
    return e;
}

/* A copy of pageable memory may return before it has arrived, and a non-blocking stream would not wait for it: so it is
 * read back. */
static inline CUdeviceptr abi_word(unsigned value)
{
    CUdeviceptr p = 0;
    unsigned back;
    if (cu.cuMemAlloc(&p, sizeof value) || cu.cuMemcpyHtoD(p, &value, sizeof value) ||
        cu.cuMemcpyDtoH(&back, p, sizeof back))
        tap_bail("no memory");
    return p;
}

#define abi_is(call, want, ...) tap_is_int((int)(call), (int)(want), __VA_ARGS__)

#endif
