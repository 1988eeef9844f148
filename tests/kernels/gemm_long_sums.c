/* Long sums of cj_gemm: how far products of random numbers are from those in f64 at a K of 8192, by the norm,
 * ||x - r|| / ||r||.  The product rounds elements of f32 to tf32, which is an error of it.  Tensor cores add products
 * of e4m3 with fewer bits than f32 has, unless sums are promoted. */
#include "tests/kernels/gemm_products.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { M = 16, N = 16, K = 8192, K_SLOW = 1024, ON_CPU = 4 };

static const struct { const char *name; int32_t path; } paths[] = {
    { "mma", CJ_GEMM_MMA }, { "wgmma", CJ_GEMM_WGMMA }, { "auto", CJ_GEMM_AUTO }, { "scalar", CJ_GEMM_SCALAR },
};

/* `most`: of the norm.  The last two are for a GPU only.  Rounding a result to bf16 makes 1.7e-3. */
static const struct { const char *name; gp_kind t; double most; } sums[] = {
    { "e4m3", { "", CJ_U8, CJ_U8, CJ_BF16, CJ_GEMM_ELEMENTS_E4M3, 0 }, 3e-3 },
    { "e4m3 promoted", { "", CJ_U8, CJ_U8, CJ_BF16, CJ_GEMM_ELEMENTS_E4M3, 1 }, 1.8e-3 },
    { "e4m3 promoted, to f32", { "", CJ_U8, CJ_U8, CJ_F32, CJ_GEMM_ELEMENTS_E4M3, 1 }, 5e-4 },
    { "tf32", { "", CJ_F32, CJ_F32, CJ_F32, CJ_GEMM_ELEMENTS_TF32, 0 }, 3.5e-4 },
    { "f16 to f32", { "", CJ_F16, CJ_F16, CJ_F32, 0, 0 }, 1e-4 },
    { "bf16", { "", CJ_BF16, CJ_BF16, CJ_BF16, 0, 0 }, 1.8e-3 },
};

/* Sums of uniform ones, which are nearly normal. */
static void draw(kb_memory *x, const gp_kind *t, size_t n)
{
    for (size_t i = 0; i < n; i++)
        gp_set(t, t->a, (char *)x->host + i * kb_size(t->a), kb_uniform() + kb_uniform() + kb_uniform());
    kb_put(x);
}

static double norm_of_error(const gp_kind *t, const kb_memory *a, const kb_memory *b, const kb_memory *out, size_t k)
{
    const size_t size = kb_size(t->a);
    double *x = malloc(k * sizeof *x), *y = malloc(N * k * sizeof *y), error = 0, all = 0;
    const gp_kind given = { "", t->a, t->b, t->out, t->elements == CJ_GEMM_ELEMENTS_TF32 ? 0 : t->elements, 0 };
    if (!x || !y) tap_bail("no memory");
    for (size_t i = 0; i < N * k; i++) y[i] = gp_value(&given, t->b, (const char *)b->host + i * size);
    for (size_t r = 0; r < M; r++) {
        for (size_t i = 0; i < k; i++) x[i] = gp_value(&given, t->a, (const char *)a->host + (r * k + i) * size);
        for (size_t c = 0; c < N; c++) {
            double sum = 0;
            for (size_t i = 0; i < k; i++) sum += x[i] * y[c * k + i];
            double d = kb_value((const char *)out->host + (r * N + c) * kb_size(t->out), t->out) - sum;
            error += d * d, all += sum * sum;
        }
    }
    free(x), free(y);
    return sqrt(error / all);
}

int main(void)
{
    kb_open();
    tap_timeout(100);
    const size_t k = tap_is_slow() ? K_SLOW : K;
    const bool few = !strcmp(cj_driver_kind(kb_drv), "sim") && !getenv("CUJIT_TEST_ALL");
    kb_memory a = kb_take(M * k * 4), b = kb_take(N * k * 4), out = kb_take(M * N * 4);
    for (size_t i = 0; i < sizeof sums / sizeof *sums; i++) {
        const gp_kind *t = &sums[i].t;
        draw(&a, t, M * k), draw(&b, t, N * k);
        for (size_t p = 0; p < sizeof paths / sizeof *paths; p++) {
            if (few && (p >= 2 || i >= ON_CPU)) continue; /* other paths have the same kernels, or add in f32 */
            cj_gemm *g = cj_gemm_create(kb_dev, CJ_GEMM(.type = t->a, .out_type = t->out, .path = paths[p].path,
                                                        .elements = t->elements, .promote = t->promote, .m = M, .n = N,
                                                        .k = k, .a_order = CJ_GEMM_ORDER_ROWS,
                                                        .b_order = CJ_GEMM_ORDER_COLUMNS));
            cj_gemm_args x = { .a = { a.data, (int64_t)k, 1 }, .b = { b.data, 1, (int64_t)k },
                               .out = { out.data, 0, 0 }, .m = M, .n = N, .k = k };
            if (cj_error_of(g)->status == CJ_ENOTSUP) {
                tap_skip(1, "this device has no path %s", paths[p].name);
                cj_gemm_free(g);
                continue;
            }
            kb_blank(&out);
            bool ok = kb_is_ok(kb_s[0], cj_gemm_launch(kb_s[0], g, &x), "launch");
            ok = kb_get(&out) && ok;
            double error = norm_of_error(t, &a, &b, &out, k);
            tap_ok(ok && error <= sums[i].most, "path %s, %s: %.3g of the norm, %.3g are allowed", paths[p].name,
                   sums[i].name, error, sums[i].most);
            cj_gemm_free(g);
        }
    }
    kb_drop(&a), kb_drop(&b), kb_drop(&out);
    return kb_close();
}
