/* The first launch of a kernel that no cache has, beside NVRTC.
 *
 * cold.first_launch_us      in a fresh process with its device open: from cj_ptx_create to the return of the launch
 * cold.nvrtc_us             the same of the same kernel in CUDA C: from dlopen of libnvrtc to the return of the launch
 * cold.first_launch_ratio   the one over the other; medians of alternating processes, whose files are in memory */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/driver_bench.h"

enum { PROCESSES = 21 };
static const char cuda_source[] =
    "extern \"C\" __global__ void saxpy(float *x, float *y, float a, unsigned n)\n"
    "{\n    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;\n    if (i < n) y[i] = a * x[i] + y[i];\n}\n";

static cj_ptx *saxpy_module(void)
{
    cj_ptx *m = cj_ptx_create();
    cj_fn *f = cj_ptx_kernel(m, "saxpy");
    cj_val x = cj_param_ptr(f, "x", CJ_F32), y = cj_param_ptr(f, "y", CJ_F32), a = cj_param(f, "a", CJ_F32),
           n = cj_param(f, "n", CJ_U32), i = cj_global_id(f, CJ_X);
    cj_if(f, cj_lt(f, i, n));
        cj_set(f, y, i, cj_fma(f, a, cj_get(f, x, i), cj_get(f, y, i)));
    cj_end(f);
    return m;
}

static double our_first(driver_bench *b, cj_stream *s, cj_dptr d)
{
    const double t = driver_now_us();
    cj_ptx *m = saxpy_module();
    cj_kernel *k = cj_kernel_load(b->dev, m, "saxpy", NULL);
    cj_launch(s, k, cj_grid(1, 32), d, d, 2.0f, 32u);
    const double us = driver_now_us() - t;
    driver_need_object(b, k);
    driver_need(b, cj_stream_sync(s));
    cj_kernel_free(k);
    cj_ptx_free(m);
    return us;
}

/* -- NVRTC --------------------------------------------------------------------------------------------------------- */

typedef struct nvrtc {
    int (*create)(void **prog, const char *src, const char *name, int n, const char *const *h, const char *const *i);
    int (*compile)(void *prog, int n, const char *const *options);
    int (*size)(void *prog, size_t *bytes);   /* of what this device loads */
    int (*get)(void *prog, char *out);
} nvrtc;

static void *nvrtc_library(void)
{
    static const char *const names[] = { "libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2", "libnvrtc.so" };
    void *lib = NULL;
    for (size_t i = 0; i < sizeof names / sizeof *names && !lib; i++) lib = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    return lib;
}

/* A GPU gets code, the CPU device gets PTX. */
static bool open_nvrtc(const driver_bench *b, nvrtc *n)
{
    void *lib = nvrtc_library(), *p[4];
    if (!lib) return false;
    p[0] = dlsym(lib, "nvrtcCreateProgram");
    p[1] = dlsym(lib, "nvrtcCompileProgram");
    p[2] = dlsym(lib, b->gpu ? "nvrtcGetCUBINSize" : "nvrtcGetPTXSize");
    p[3] = dlsym(lib, b->gpu ? "nvrtcGetCUBIN" : "nvrtcGetPTX");
    memcpy(&n->create, &p[0], sizeof p[0]);
    memcpy(&n->compile, &p[1], sizeof p[1]);
    memcpy(&n->size, &p[2], sizeof p[2]);
    memcpy(&n->get, &p[3], sizeof p[3]);
    return p[0] && p[1] && p[2] && p[3];
}

/* What the device loads; NULL: it cannot be compiled. */
static char *nvrtc_image(driver_bench *b)
{
    nvrtc n;
    void *prog = NULL;
    size_t bytes = 0;
    char target[60];
    const char *sm = cj_device_sm(b->dev), *digits = strchr(sm, '_');
    snprintf(target, sizeof target, "--gpu-architecture=%s%s", b->gpu ? "sm" : "compute", digits ? digits : "");
    const char *const options[] = { target };
    if (!open_nvrtc(b, &n)) return driver_fail(b, "libnvrtc lacks a function"), NULL;
    if (n.create(&prog, cuda_source, "saxpy.cu", 0, NULL, NULL) || n.compile(prog, 1, options) || n.size(prog, &bytes))
        return driver_fail(b, "NVRTC does not compile the kernel"), NULL;
    char *image = malloc(bytes + 1);
    if (!image || n.get(prog, image)) driver_fail(b, "NVRTC returns no code");
    if (image) image[bytes] = 0;
    return image;
}

static double nvrtc_first(driver_bench *b, cj_stream *s, cj_dptr d)
{
    uint64_t x = d.addr, y = d.addr;
    float a = 2;
    unsigned n = 32;
    void *params[] = { &x, &y, &a, &n };
    const double t = driver_now_us();
    char *image = nvrtc_image(b);
    const CUmodule mod = driver_first_launch(b, s, image, "saxpy", 32, params);
    const double us = driver_now_us() - t;
    driver_need(b, cj_stream_sync(s));
    if (mod) b->cu.cuModuleUnload(mod);
    free(image);
    return us;
}

/* -- Both ---------------------------------------------------------------------------------------------------------- */

double driver_fresh_cold(driver_bench *b, const char *side)
{
    cj_stream *s = cj_stream_create(b->dev, NULL);
    cj_dptr d = cj_alloc(s, 128);
    cj_fill32(s, d, 0, 32);
    driver_need(b, cj_stream_sync(s));
    const double us = b->failed ? -1 : !strcmp(side, "nvrtc") ? nvrtc_first(b, s, d) : our_first(b, s, d);
    cj_free(b->dev, d);
    cj_stream_free(s);
    return us;
}

void driver_cold(driver_bench *b)
{
    static const char *const words[2][3] = { { "cold", "nvrtc", NULL }, { "cold", "ours", NULL } };
    double us[2][PROCESSES];
    void *lib = nvrtc_library();
    const bool has = lib != NULL;
    if (!has) printf("cold.first_launch_ratio: skipped, there is no NVRTC: %s\n", dlerror());
    if (lib) dlclose(lib);
    driver_fresh_sides(b, has ? words[0] : NULL, NULL, words[1], PROCESSES, (double *const[]){ us[0], us[1] });
    if (b->failed) return;
    const double ours = bench_median(us[1], PROCESSES);
    driver_report(b, "cold.first_launch_us", ours, "us");
    if (!has) return;
    const double theirs = bench_median(us[0], PROCESSES);
    driver_report(b, "cold.nvrtc_us", theirs, "us");
    driver_report(b, "cold.first_launch_ratio", ours / theirs, "ratio");
}
