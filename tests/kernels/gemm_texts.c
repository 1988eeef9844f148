/* ptxas takes every variant of paths mma and wgmma and those of path scalar by tensor maps, without a warning
 * (serialised wgmma, fences that it adds) and without spills.  Variants are written by the library's own
 * functions, so no device is needed.  With CUJIT_TEST_ALL=1 all of them, else some. */
#include "kernels/gemm_core.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/tap.h"
#include "tests/tap_run.h"

static char folder[] = "/tmp/cujit-gemm.XXXXXX";
static bool all;

static const struct { const char *name; cj_type type, out; int32_t elements, promote; } kinds[] = {
    { "f16", CJ_F16, CJ_F16, 0, 0 },
    { "bf16 to f32", CJ_BF16, CJ_F32, 0, 0 },
    { "tf32", CJ_F32, CJ_F32, CJ_GEMM_ELEMENTS_TF32, 0 },
    { "s8", CJ_S8, CJ_S32, 0, 0 },
    { "e4m3 to bf16", CJ_U8, CJ_BF16, CJ_GEMM_ELEMENTS_E4M3, 0 },
    { "e4m3 promoted", CJ_U8, CJ_F32, CJ_GEMM_ELEMENTS_E4M3, 1 },
    { "u8", CJ_U8, CJ_U32, 0, 0 },
};
enum { KINDS = sizeof kinds / sizeof *kinds };

/* A text for ptxas, as the driver has it compiled: a part of a program that its linker joins, but a whole program with
 * setmaxnreg. */
static void assemble(const char *text, const char *arch, const char *name)
{
    char source[64], result[64], option[24];
    tap_result r;
    snprintf(source, sizeof source, "%s/k.ptx", folder);
    snprintf(result, sizeof result, "%s/k.cubin", folder);
    snprintf(option, sizeof option, "-arch=%s", arch);
    FILE *f = fopen(source, "w");
    if (!f || fputs(text, f) < 0 || fclose(f) != 0) tap_bail("cannot write %s", source);
    const char *const part = strstr(text, "setmaxnreg") ? "--verbose" : "--compile-only";
    const char *const argv[] = { tap_ptxas(), "--verbose", part, option, "-o", result, source, NULL };
    tap_run(&r, argv, NULL);
    bool spills = false;
    for (const char *p = r.err; (p = strstr(p, " bytes spill")); p++) spills = spills || p[-1] != '0' || p[-2] != ' ';
    bool good = r.status == 0 && !spills && !strstr(r.err, "warning") && !strstr(r.err, "error") &&
                !strstr(r.err, "C75") && !strstr(r.err, "C76");
    if (!tap_ok(good, "%s for %s", name, arch)) tap_diag("%.2000s", r.err);
    tap_result_free(&r);
    unlink(source);
    unlink(result);
}

static size_t count_of(const char *text, const char *part)
{
    size_t n = 0;
    while ((text = strstr(text, part))) n++, text++;
    return n;
}

/* Four wgmma of a stage; with promote and two sets of products those of the first stage, and of each set.  Nothing that
 * costs a fence of the device at each stage. */
static void has_shape(const char *text, const cjk_gemm *g, const cjk_gemm_variant *v, const char *name)
{
    size_t wgmmas = g->o.promote && v->columns <= 128 ? 12 : 4;
    tap_is_uint(count_of(text, "wgmma.mma_async"), wgmmas, "%s: %zu wgmma", name, wgmmas);
    const char *wait = strstr(text, "griddepcontrol.wait"), *copy = strstr(text, "cp.async.bulk.tensor.");
    tap_ok(v->split ? wait && copy && wait < copy : !wait, "%s: waits, if split, in front of its copies", name);
    tap_ok(!strstr(text, ".release.cluster.shared::cluster") && !strstr(text, "membar"), "%s: no expensive fence",
           name);
}

static cj_fn *user_function(cj_ptx *m, cj_type wide)
{
    cj_fn *f = cj_ptx_func(m, "finish");
    cj_val v = cj_param(f, "v", wide), row = cj_param(f, "row", CJ_U32);
    cj_param(f, "column", CJ_U32), cj_param(f, "batch", CJ_U32);
    cj_result(f, "r", wide);
    cj_return_value(f, cj_select(f, cj_gt(f, row, 3), cj_max(f, v, 0), v));
    cj_fn_inline(f); /* as each object does */
    return f;
}

/* What happens to a sum: nothing; alpha, beta, C, bias and a function; bias and a function, done to accumulators. */
enum { ENDS = 3 };
static const struct { const char *name; bool fused, scaled; } ends[ENDS] = {
    { "", false, false }, { ", fused", true, true }, { ", fused in registers", true, false },
};

static void each_variant(int kind, cj_gemm_path path, int end, unsigned *turn)
{
    cjk_gemm *g = calloc(1, sizeof *g);
    if (!g) tap_bail("no memory");
    g->o = (cj_gemm_opts){ .size = sizeof g->o, .path = path, .elements = kinds[kind].elements,
                           .promote = kinds[kind].promote, .scaled = ends[end].scaled, .bias = ends[end].fused };
    g->type[CJK_GEMM_A] = g->type[CJK_GEMM_B] = kinds[kind].type;
    g->type[CJK_GEMM_OUT] = kinds[kind].out;
    g->wide = kinds[kind].elements ? CJ_F32 : cjk_wide(kinds[kind].type);
    g->multiprocessors = 132;
    for (int i = 0; i < CJK_SPLIT_SIZES; i++) g->clusters[i] = 132 >> i;
    g->by_map = !ends[end].scaled && (g->wide == CJ_F32 || !ends[end].fused);
    g->code.early = true;
    if (cjk_gemm_types_fail(g)) tap_bail("%s: no types of tensor cores", kinds[kind].name);
    cjk_gemm_list(g, path);
    for (uint32_t i = 0; i < g->variants; i++) {
        const cjk_gemm_variant *v = &g->v[i];
        bool wgmma = v->path == CJ_GEMM_WGMMA;
        char kernel[CJK_GEMM_NAME], name[120];
        const char *text = "";
        if (v->path == CJ_GEMM_SCALAR || (!all && (*turn)++ % 13 != 0)) continue;
        cj_ptx *m = cj_ptx_create();
        cj_fn *function = ends[end].fused ? user_function(m, g->wide) : NULL;
        cjk_gemm_name(v, kernel);
        snprintf(name, sizeof name, "%s of %s%s", kernel, kinds[kind].name, ends[end].name);
        if (wgmma) cjk_gemm_write_wgmma(m, kernel, g, v, function);
        else cjk_gemm_write_mma(m, kernel, g, v, function);
        if (cj_ptx_print(m, 0, &text, NULL) != CJ_OK) tap_diag("%s", cj_error_of(m)->message);
        assemble(text, wgmma ? "sm_90a" : kinds[kind].elements == CJ_GEMM_ELEMENTS_E4M3 ? "sm_89" : "sm_80", name);
        if (wgmma) has_shape(text, g, v, name);
        else if (all) assemble(text, "sm_90a", name);
        cj_ptx_free(m);
    }
    free(g);
}

/* f32 by tensor maps.  Each chunk's multiply-adds are in the loop, and the last ones behind it. */
static void each_scalar_variant(bool fused, unsigned *turn)
{
    cjk_gemm *g = calloc(1, sizeof *g);
    if (!g) tap_bail("no memory");
    g->o = (cj_gemm_opts){ .size = sizeof g->o, .scaled = fused, .bias = fused };
    g->type[CJK_GEMM_A] = g->type[CJK_GEMM_B] = g->type[CJK_GEMM_OUT] = g->wide = CJ_F32;
    g->multiprocessors = 132;
    cjk_gemm_list(g, CJK_GEMM_FMA);
    for (uint32_t i = 0; i < g->variants; i++) {
        const cjk_gemm_variant *v = &g->v[i];
        char kernel[CJK_GEMM_NAME], name[120];
        const char *text = "";
        if (!cjk_gemm_maps_tiles(v) || (!all && (*turn)++ % 7 != 0)) continue;
        cj_ptx *m = cj_ptx_create();
        cj_fn *end = fused ? user_function(m, g->wide) : NULL;
        cjk_gemm_name(v, kernel);
        snprintf(name, sizeof name, "%s%s", kernel, fused ? ", fused" : "");
        cjk_gemm_write_fma(m, kernel, g, v, end);
        if (cj_ptx_print(m, 0, &text, NULL) != CJ_OK) tap_diag("%s", cj_error_of(m)->message);
        assemble(text, "sm_90a", name);
        tap_ok(count_of(text, "fma.rn.f32") >= v->rows * v->columns / (v->threads - 128) * 4,
               "%s: a chunk has four multiply-adds for each sum", name);
        cj_ptx_free(m);
    }
    free(g);
}

int main(void)
{
    unsigned turn = 0;
    tap_need_ptxas();
    tap_plan(0);
    tap_timeout(200);
    all = getenv("CUJIT_TEST_ALL") != NULL;
    if (all) tap_timeout(1800);
    if (!mkdtemp(folder)) tap_bail("no folder");
    for (int end = 0; end < ENDS; end++)
        for (int kind = 0; kind < KINDS; kind++) {
            each_variant(kind, CJ_GEMM_MMA, end, &turn);
            each_variant(kind, CJ_GEMM_WGMMA, end, &turn);
        }
    for (int fused = 0; fused < 2; fused++) each_scalar_variant(fused, &turn);
    rmdir(folder);
    return tap_done();
}
