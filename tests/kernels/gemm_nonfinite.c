/* NaN and infinities in matrices that cj_gemm multiplies, on every path and for every type: results are where plain C
 * has them, and nowhere else.  What lies beside the matrices in memory is NaN, so a tile that is cut must not multiply
 * it, not even by 0. */
#include "tests/kernels/gemm_products.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { M = 66, N = 37, K = 45 };

static const struct { const char *name; int32_t path; } paths[] = {
    { "scalar", CJ_GEMM_SCALAR }, { "mma", CJ_GEMM_MMA }, { "wgmma", CJ_GEMM_WGMMA }, { "auto", CJ_GEMM_AUTO },
};

/* Layouts: by units of 16 bytes, and by elements, which path wgmma does not serve. */
static const struct { const char *name; int a, b, out; } ways[] = { { "units", 0, 1, 0 }, { "elements", 3, 2, 1 } };

/* Whole numbers in a matrix; all that lies beside it in memory is NaN. */
static void put_among_nan(kb_memory *x, const gp_kind *t, const gp_layout *l, uint64_t rows, uint64_t columns)
{
    memset(x->host, 0xFF, x->bytes);
    for (uint64_t r = 0; r < rows; r++)
        for (uint64_t c = 0; c < columns; c++)
            gp_set(t, t->a, (char *)x->host + gp_place(l, rows, columns, r, c) * kb_size(t->a),
                   (double)((r * 5 + c * 3) % 7) - 3);
}

/* A row of A and a column of B with NaN make a row and a column of NaN, and nothing else.  Infinities: by 0 they are
 * NaN, and so are their differences; else they stay. */
static size_t nonfinite(cj_gemm *g, const gp_kind *t, size_t w)
{
    static const struct { uint64_t row, i; double x; } in_a[] = { { 3, 1, NAN }, { 65, 44, NAN }, { 5, 44, INFINITY },
                                                                 { 7, 2, -INFINITY }, { 7, 30, INFINITY } };
    static const struct { uint64_t i, column; double x; } in_b[] = { { 44, 36, NAN }, { 0, 20, NAN },
                                                                    { 44, 9, INFINITY }, { 17, 11, -INFINITY } };
    const gp_layout *la = &gp_layouts[ways[w].a], *lb = &gp_layouts[ways[w].b];
    const bool infinite = t->elements != CJ_GEMM_ELEMENTS_E4M3; /* which has no infinities */
    put_among_nan(&gp_a, t, la, M, K), put_among_nan(&gp_b, t, lb, K, N);
    for (size_t i = 0; i < sizeof in_a / sizeof *in_a; i++) {
        char *at = (char *)gp_a.host + gp_place(la, M, K, in_a[i].row, in_a[i].i) * kb_size(t->a);
        if (isnan(in_a[i].x)) memset(at, 0xFF, kb_size(t->a));
        else if (infinite) gp_set(t, t->a, at, in_a[i].x);
    }
    for (size_t i = 0; i < sizeof in_b / sizeof *in_b; i++) {
        char *at = (char *)gp_b.host + gp_place(lb, K, N, in_b[i].i, in_b[i].column) * kb_size(t->b);
        if (isnan(in_b[i].x) || infinite) gp_set(t, t->b, at, in_b[i].x);
    }
    kb_put(&gp_a), kb_put(&gp_b);
    return gp_nonfinite(g, &(const gp_case){ t, la, lb, &gp_layouts[ways[w].out], { M, N, K } });
}

int main(void)
{
    kb_open();
    tap_timeout(60);
    gp_begin(0);
    const bool few = !strcmp(cj_driver_kind(kb_drv), "sim") && !getenv("CUJIT_TEST_ALL");
    for (size_t p = 0; p < sizeof paths / sizeof *paths - few; p++) /* the last one has no kernels of its own */
        for (size_t i = 0; i < GP_KINDS; i++) {
            const gp_kind *t = &gp_kinds[i];
            const bool scalar = paths[p].path == CJ_GEMM_SCALAR || paths[p].path == CJ_GEMM_AUTO;
            if (gp_of_integers(t) || (i == GP_F32 && !scalar) || (tap_is_slow() && (i + p) % 4)) continue;
            cj_gemm *g = cj_gemm_create(kb_dev, CJ_GEMM(.type = t->a, .out_type = t->out, .path = paths[p].path,
                                                        .elements = t->elements, .promote = t->promote,
                                                        .a_order = CJ_GEMM_ORDER_ROWS,
                                                        .b_order = CJ_GEMM_ORDER_COLUMNS));
            bool lacks = cj_error_of(g)->status == CJ_ENOTSUP;
            if (lacks) tap_skip(1, "this device has no path %s of %s", paths[p].name, t->name);
            for (size_t w = 0; w < (paths[p].path == CJ_GEMM_WGMMA ? 1 : 2) && !lacks; w++)
                tap_is_uint(nonfinite(g, t, w), 0, "path %s, %s by %s", paths[p].name, t->name, ways[w].name);
            cj_gemm_free(g);
        }
    gp_end();
    return kb_close();
}
