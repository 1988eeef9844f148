/* What the library itself costs for a launch with 4 checked arguments, for one by name, for a prepared one, for an
 * event's record, for a captured launch, for a product with the arguments of the launch before, for one with other
 * memory, and for a launch with as many bytes of arguments: over a table of stub functions, beside the stubs called as
 * bare as can be.  Processor time, medians of some rounds. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cujit/kernels.h>

#include "bench/judge.h"
#include "tests/stub_driver.h"

enum { ROUNDS = 41, CALLS = 64 * 300, CAPTURED = 64 };

/* -- A driver of stubs --------------------------------------------------------------------------------------------- */

/* Those that a launch calls do nothing slowly. */
static CUresult quick_current(CUcontext *ctx)
{
    *ctx = (CUcontext)(void *)stub_handle;
    return CUDA_SUCCESS;
}
static unsigned long launched, recorded;
static CUresult quick_launch(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                             unsigned shared, CUstream s, void **params, void **extra)
{
    (void)f, (void)gy, (void)gz, (void)bx, (void)by, (void)bz, (void)shared, (void)s, (void)params, (void)extra;
    launched += gx;
    return CUDA_SUCCESS;
}

static CUresult quick_launch_ex(const CUlaunchConfig *c, CUfunction f, void **params, void **extra)
{
    (void)f, (void)params, (void)extra;
    launched += c->gridDimX;
    return CUDA_SUCCESS;
}

static CUresult quick_record(CUevent e, CUstream s) { return (void)e, (void)s, recorded++, CUDA_SUCCESS; }

static CUresult quick_replace(CUtensorMap *map, void *address)
{
    map->opaque[0] = (cuuint64_t)(uintptr_t)address;
    return CUDA_SUCCESS;
}

static void *quick_symbol(void *user, const char *symbol)
{
    if (!strcmp(symbol, "cuCtxGetCurrent")) return (void *)(uintptr_t)quick_current;
    if (!strcmp(symbol, "cuEventRecord")) return (void *)(uintptr_t)quick_record;
    if (!strcmp(symbol, "cuLaunchKernel")) return (void *)(uintptr_t)quick_launch;
    if (!strcmp(symbol, "cuLaunchKernelEx")) return (void *)(uintptr_t)quick_launch_ex;
    if (!strcmp(symbol, "cuTensorMapReplaceAddress")) return (void *)(uintptr_t)quick_replace;
    return stub_symbol(user, symbol);
}

/* -- Measuring ----------------------------------------------------------------------------------------------------- */

static double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

typedef struct bench {
    cj_module *mod;
    cj_prepared *p;
    cj_stream *s;
    cj_kernel *k, *many;
    cj_event *e;
    cj_dptr d;
    cj_gemm *g;
    cj_gemm_args product;
} bench;

static void our_launches(const bench *b, unsigned n)
{
    for (unsigned i = 0; i < n; i++) cj_launch(b->s, b->k, cj_grid(1, 256), b->d, b->d, 2.0f, i);
}

static void our_named(const bench *b, unsigned n)
{
    for (unsigned i = 0; i < n; i++) cj_launch_name(b->s, b->mod, "k", cj_grid(1, 256), b->d, b->d, 2.0f, i);
}

static void our_prepared(const bench *b, unsigned n)
{
    for (unsigned i = 0; i < n; i++) cj_launch_prepared(b->s, b->p);
}

static void bare_launches(const bench *b, unsigned n)
{
    static CUresult (*volatile launch)(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                                       CUstream, void **, void **) = quick_launch;
    for (unsigned i = 0; i < n; i++) {
        uint64_t p = b->d.addr, q = b->d.addr;
        float a = 2.0f;
        void *params[] = { &p, &q, &a, &i };
        launch(NULL, 1, 1, 1, 256, 1, 1, 0, NULL, params, NULL);
    }
}

/* The arguments lie ready. */
static void bare_prepared(const bench *b, unsigned n)
{
    static CUresult (*volatile launch)(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                                       CUstream, void **, void **) = quick_launch;
    uint64_t p = b->d.addr, q = b->d.addr;
    float a = 2.0f;
    void *params[] = { &p, &q, &a, &n };
    for (unsigned i = 0; i < n; i++) launch(NULL, 1, 1, 1, 256, 1, 1, 0, NULL, params, NULL);
}

static void our_records(const bench *b, unsigned n)
{
    for (unsigned i = 0; i < n; i++) cj_event_record(b->e, b->s);
}

static void bare_records(const bench *b, unsigned n)
{
    static CUresult (*volatile record)(CUevent, CUstream) = quick_record;
    (void)b;
    for (unsigned i = 0; i < n; i++) record(NULL, NULL);
}

/* Launches captured in blocks, with the beginning and the end of each. */
static void our_captures(const bench *b, unsigned n)
{
    for (unsigned i = 0; i < n; i += CAPTURED) {
        cj_capture_begin(b->s, CJ_CAPTURE_THREAD);
        our_launches(b, CAPTURED);
        cj_graph_free(cj_capture_end(b->s));
    }
}

static void our_products(const bench *b, unsigned n)
{
    for (unsigned i = 0; i < n; i++) cj_gemm_launch(b->s, b->g, &b->product);
}

/* More places than launches are noted. */
static void our_moved(const bench *b, unsigned n)
{
    cj_gemm_args args = b->product;
    for (unsigned i = 0; i < n; i++) {
        const cj_dptr at = cj_offset(b->d, i % 64 * 16);
        args.a.data = args.b.data = args.out.data = at;
        cj_gemm_launch(b->s, b->g, &args);
    }
}

/* The parameters of a product on path wgmma. */
static void our_long_launches(const bench *b, unsigned n)
{
    static const cj_tensor_map map;
    for (unsigned i = 0; i < n; i++)
        cj_launch(b->s, b->many, cj_grid(1, 256), b->d, 64, 1, b->d, 1, 64, b->d, 64, 1, 64u, 64u, 64u, 1u, 0, 0, 0,
                  cj_arg_tensor_map(&map), cj_arg_tensor_map(&map), cj_arg_tensor_map(&map), i);
}

static const struct row {
    const char *name;
    void (*ours)(const bench *, unsigned), (*bare)(const bench *, unsigned);
} rows[] = {
    { "launch", our_launches, bare_launches },
    { "named", our_named, bare_launches },
    { "prepared", our_prepared, bare_prepared },
    { "record", our_records, bare_records },
    { "capture", our_captures, bare_launches },
    { "product", our_products, bare_launches },
    { "moved", our_moved, bare_launches },
    { "long_launch", our_long_launches, bare_launches },
};

static void measure(const bench *b, const struct row *row)
{
    double ours[ROUNDS], bare[ROUNDS];
    for (int r = 0; r < ROUNDS; r++) {
        double t0 = now_ns();
        row->ours(b, CALLS);
        double t1 = now_ns();
        row->bare(b, CALLS);
        ours[r] = (t1 - t0) / CALLS;
        bare[r] = (now_ns() - t1) / CALLS;
    }
    printf("%s.stub_ns %.1f ns\n", row->name, bench_median(ours, ROUNDS));
    printf("%s.bare_stub_ns %.1f ns\n", row->name, bench_median(bare, ROUNDS));
}

int main(void)
{
    static const char text[] =
        ".version 8.0\n.target sm_80\n.address_size 64\n"
        ".visible .entry k(.param .u64 .ptr p, .param .u64 .ptr q, .param .f32 a, .param .u32 n)\n{\n ret;\n}\n"
        ".visible .entry many(.param .u64 .ptr a, .param .s64 a1, .param .s64 a2, .param .u64 .ptr b,\n"
        " .param .s64 b1, .param .s64 b2, .param .u64 .ptr c,\n"
        " .param .s64 c1, .param .s64 c2, .param .u32 m, .param .u32 n,\n"
        " .param .u32 k, .param .u32 z, .param .s64 z1, .param .s64 z2, .param .s64 z3,\n"
        " .param .align 64 .b8 ma[128], .param .align 64 .b8 mb[128], .param .align 64 .b8 mc[128],\n"
        " .param .u32 i)\n{\n ret;\n}\n";
    cj_driver *drv = cj_driver_open_resolver(quick_symbol, NULL);
    cj_device *dev = cj_device_open(drv, 0, NULL);
    cj_module *mod = cj_module_load_text(dev, text, NULL);
    bench b = { .s = cj_stream_create(dev, NULL), .k = cj_module_kernel(mod, "k"), .e = cj_event_create(dev, NULL) };
    b.mod = mod;
    b.many = cj_module_kernel(mod, "many");
    b.d = cj_alloc(b.s, 4096);
    b.p = cj_prepare(b.k, cj_grid(1, 256), b.d, b.d, 2.0f, 1u);
    b.g = cj_gemm_create(dev, CJ_GEMM(.type = CJ_BF16, .path = CJ_GEMM_WGMMA, .m = 64, .n = 64, .k = 64));
    b.product = (cj_gemm_args){ .a = { b.d, 0, 0 }, .b = { b.d, 0, 0 }, .out = { b.d, 0, 0 }, .m = 64, .n = 64 };
    b.product.k = 64;
    recorded = 0; /* cj_alloc records too */
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) measure(&b, &rows[i]);
    cj_status st = cj_stream_sync(b.s);
    if (st == CJ_OK) st = cj_error_of(b.g)->status;
    if (st != CJ_OK || launched != 14ul * ROUNDS * CALLS || recorded != 2ul * ROUNDS * CALLS) {
        fprintf(stderr, "launch: %s\n", st != CJ_OK ? cj_error_of(b.s)->message : "calls were lost");
        return 1;
    }
    cj_gemm_free(b.g);
    cj_kernel_free(b.many);
    cj_prepared_free(b.p);
    cj_free(dev, b.d);
    cj_kernel_free(b.k);
    cj_event_free(b.e);
    cj_module_free(mod);
    cj_stream_free(b.s);
    cj_device_close(dev);
    cj_driver_close(drv);
    return 0;
}
