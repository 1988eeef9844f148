/* What cj_launch itself costs: 4 checked arguments over a table of stub functions, beside the stub called as bare as
 * can be. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cujit/cujit.h>

#include "cuda/abi.h"

enum { ROUNDS = 41, LAUNCHES = 20000 };

/* -- A driver of stubs --------------------------------------------------------------------------------------------- */

static char here;

/* Results that opening a driver, a device, a stream and a module needs; everything else answers SUCCESS and does
 * nothing. */
static CUresult stub_result(const char *name, void *out0, void *out1)
{
    if (!strcmp(name, "cuDriverGetVersion")) *(int *)out0 = 12080;
    else if (!strcmp(name, "cuDeviceGetCount")) *(int *)out0 = 1;
    else if (!strcmp(name, "cuDeviceGetName")) strcpy(out0, "stub");
    else if (!strcmp(name, "cuDeviceGetAttribute"))
        *(int *)out0 = out1 == (void *)75 ? 9 : out1 == (void *)76 ? 0 : 1024;
    else if (!strcmp(name, "cuFuncGetAttribute")) *(int *)out0 = out1 ? 0 : 1024;
    else if (!strcmp(name, "cuDevicePrimaryCtxRetain") || !strcmp(name, "cuModuleLoadDataEx") ||
             !strcmp(name, "cuModuleGetFunction") || !strcmp(name, "cuStreamCreateWithPriority") ||
             !strcmp(name, "cuEventCreate"))
        *(void **)out0 = &here;
    else if (!strcmp(name, "cuFuncGetParamInfo")) return CUDA_ERROR_NOT_SUPPORTED;
    return CUDA_SUCCESS;
}

/* Each row's stub: the two first arguments, NULL where there are fewer. */
#define FIRST(T, a) (void *)(uintptr_t)(a),
#define CU(name, export, version, need, count, list)                        \
    static CUresult slow_##name(CJI_CU_DECL(count, list))                   \
    {                                                                       \
        void *const arg[14] = { CJI_CU_EACH(count, FIRST, list) NULL, NULL }; \
        return stub_result(#name, arg[0], arg[1]);                          \
    }
#include "cuda/symbols.def"

/* Those that a launch calls do nothing slowly. */
static CUresult quick_current(CUcontext *ctx)
{
    *ctx = (CUcontext)(void *)&here;
    return CUDA_SUCCESS;
}
static unsigned long launched;
static CUresult quick_launch(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                             unsigned shared, CUstream s, void **params, void **extra)
{
    (void)f, (void)gy, (void)gz, (void)bx, (void)by, (void)bz, (void)shared, (void)s, (void)params, (void)extra;
    launched += gx;
    return CUDA_SUCCESS;
}

static void *stub_symbol(void *user, const char *symbol)
{
    static const struct { const char *symbol; void (*fn)(void); } stubs[] = {
#define CU(name, export, version, need, count, list) { #export, (void (*)(void))slow_##name },
#include "cuda/symbols.def"
    };
    (void)user;
    if (!strcmp(symbol, "cuCtxGetCurrent")) return (void *)(uintptr_t)quick_current;
    if (!strcmp(symbol, "cuLaunchKernel")) return (void *)(uintptr_t)quick_launch;
    for (size_t i = 0; i < sizeof stubs / sizeof *stubs; i++)
        if (!strcmp(stubs[i].symbol, symbol)) return (void *)(uintptr_t)stubs[i].fn;
    return NULL;
}

/* -- Measuring ----------------------------------------------------------------------------------------------------- */

static double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static double median(double *v)
{
    qsort(v, ROUNDS, sizeof *v, ascending);
    return v[ROUNDS / 2];
}

int main(void)
{
    static const char text[] =
        ".version 8.0\n.target sm_80\n.address_size 64\n"
        ".visible .entry k(.param .u64 .ptr p, .param .u64 .ptr q, .param .f32 a, .param .u32 n)\n{\n ret;\n}\n";
    cj_driver *drv = cj_driver_open_resolver(stub_symbol, NULL);
    cj_device *dev = cj_device_open(drv, 0, NULL);
    cj_stream *s = cj_stream_create(dev, NULL);
    cj_module *mod = cj_module_load_text(dev, text, NULL);
    cj_kernel *k = cj_module_kernel(mod, "k");
    cj_dptr d = { 4096 };
    double checked[ROUNDS], bare[ROUNDS];
    CUresult (*volatile launch)(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                                CUstream, void **, void **) = quick_launch;
    for (int r = 0; r < ROUNDS; r++) {
        double t0 = now_ns();
        for (unsigned i = 0; i < LAUNCHES; i++) cj_launch(s, k, cj_grid(1, 256), d, d, 2.0f, i);
        double t1 = now_ns();
        for (unsigned i = 0; i < LAUNCHES; i++) {
            uint64_t p = d.addr, q = d.addr;
            float a = 2.0f;
            void *params[] = { &p, &q, &a, &i };
            launch(NULL, 1, 1, 1, 256, 1, 1, 0, NULL, params, NULL);
        }
        checked[r] = (t1 - t0) / LAUNCHES;
        bare[r] = (now_ns() - t1) / LAUNCHES;
    }
    cj_status st = cj_stream_sync(s);
    if (st != CJ_OK || launched != 2ul * ROUNDS * LAUNCHES) {
        fprintf(stderr, "launch: %s\n", st != CJ_OK ? cj_error_of(s)->message : "launches were lost");
        return 1;
    }
    printf("launch.stub_ns %.1f ns\n", median(checked));
    printf("launch.bare_stub_ns %.1f ns\n", median(bare));
    cj_kernel_free(k);
    cj_module_free(mod);
    cj_stream_free(s);
    cj_device_close(dev);
    cj_driver_close(drv);
    return 0;
}
