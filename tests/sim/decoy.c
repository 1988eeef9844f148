/* The CPU device keeps to itself: in a program that has a libcuda's names already, and beside a libcuda.so.1 that is
 * opened after it. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../tap.h"
#include "decoy_libcuda.h"

/* The same variable in the program and in the library that it opens is what is tested here. */
__attribute__((visibility("default"))) const char *__asan_default_options(void);
const char *__asan_default_options(void) { return "detect_odr_violation=0"; }

static cji_cu own;
static void *lib;

static void load_own(void)
{
    void *p;
#define CU(name, export, version, need, count, list) \
    p = dlsym(lib, #export);                         \
    memcpy(&own.name, &p, sizeof p);
#include "cuda/symbols.def"
}

static const char ptx[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n"
    ".visible .entry set(.param .u64 p)\n{\n  .reg .b64 %a;\n  ld.param.u64 %a, [p];\n  cvta.to.global.u64 %a, %a;\n"
    "  st.global.u32 [%a], 42;\n  ret;\n}\n";

/* A kernel from text to result. */
static unsigned work(void)
{
    CUcontext c;
    CUmodule m;
    CUfunction f;
    CUstream s;
    CUdeviceptr p;
    unsigned v = 0;
    void *params[] = { &p };
    if (own.cuInit(0) || own.cuDevicePrimaryCtxRetain(&c, 0) || own.cuCtxSetCurrent(c) ||
        own.cuModuleLoadData(&m, ptx) || own.cuModuleGetFunction(&f, m, "set") ||
        own.cuStreamCreate(&s, CU_STREAM_NON_BLOCKING) || own.cuMemAlloc(&p, 4) ||
        own.cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, s, params, NULL) || own.cuStreamSynchronize(s) ||
        own.cuMemcpyDtoH(&v, p, 4))
        return 1;
    own.cuMemFree(p);
    own.cuStreamDestroy(s);
    own.cuModuleUnload(m);
    own.cuCtxSetCurrent(NULL);
    own.cuDevicePrimaryCtxRelease(0);
    return v;
}

int main(void)
{
    const char *path = getenv("CUJIT_SIM");
    tap_plan(0);
    if (!path) tap_bail("CUJIT_SIM does not name the CPU device");
    lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!lib) tap_bail("%s", dlerror());
    load_own();
    tap_is_uint(work(), 42, "a kernel runs in a program that has all names of libcuda itself");
    tap_is_int(decoy_calls, 0, "none of those was called");
    void *decoy = dlopen(tap_build("tests/sim/.libs/libdecoy.so"), RTLD_NOW | RTLD_GLOBAL);
    tap_ok(decoy != NULL, "another libcuda is opened, for everybody");
    tap_is_uint(work(), 42, "a kernel runs beside it");
    int *calls = decoy ? dlsym(decoy, "decoy_calls") : &decoy_calls;
    tap_is_int(decoy_calls + *calls, 0, "none of its names was called");
    void *shim = dlopen(tap_build("src/sim/.libs/as-libcuda/libcuda.so.1"), RTLD_NOW | RTLD_LOCAL);
    tap_ok(shim && dlsym(shim, "cuInit") == dlsym(lib, "cuInit"), "the shim named libcuda.so.1 gives the same device");
    if (shim) dlclose(shim);
    if (decoy) dlclose(decoy);
    tap_is_int(dlclose(lib), 0, "the CPU device can be closed");
    return tap_done();
}
