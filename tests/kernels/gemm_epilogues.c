/* What cj_gemm does to a sum before it is stored, on each path, where the types of sums, results and the user's
 * function differ: dequantised integers, functions of each result type, alpha, beta, C and bias with halves behind
 * integer sums, results that are rounded once.  Against plain C, exactly.  Outputs lie between guards and are NaN
 * before. */
#include "tests/kernels/kernels_bench.h"

#include <limits.h>
#include <math.h>
#include <string.h>

enum { M = 21, N = 19, K = 48, BATCHES = 2, ALL = BATCHES * M * N };
static kb_memory a, b, c, out, bias, row_scale, column_scale;

static const struct { const char *name; int32_t path; } paths[] = {
    { "scalar", CJ_GEMM_SCALAR }, { "mma", CJ_GEMM_MMA }, { "wgmma", CJ_GEMM_WGMMA },
};
enum { PATHS = sizeof paths / sizeof *paths };

static void fill(void)
{
    for (size_t i = 0; i < BATCHES * M * K; i++) ((int8_t *)a.host)[i] = (int8_t)(i * 37 % 11) - 5;
    for (size_t i = 0; i < N * K; i++) ((int8_t *)b.host)[i] = (int8_t)(i * 53 % 7) - 3;
    for (size_t i = 0; i < M; i++) ((float *)row_scale.host)[i] = 0.1f + 0.013f * (float)i;
    for (size_t i = 0; i < N; i++) ((float *)column_scale.host)[i] = 0.7f - 0.029f * (float)i;
    kb_put(&a), kb_put(&b), kb_put(&row_scale), kb_put(&column_scale);
}

/* B is stored by columns, and is the same in each batch. */
static int32_t sum_at(size_t z, size_t r, size_t col)
{
    int32_t sum = 0;
    for (size_t i = 0; i < K; i++)
        sum += ((int8_t *)a.host)[(z * M + r) * K + i] * ((int8_t *)b.host)[col * K + i];
    return sum;
}

static cj_gemm_args arguments(void)
{
    return (cj_gemm_args){ .a = { a.data, 0, 0 }, .b = { b.data, 1, K }, .out = { out.data, 0, 0 }, .m = M, .n = N,
                           .k = K, .batches = BATCHES, .a_batch = M * K, .out_batch = M * N };
}

/* Of s8 by s8; NULL: the device has no such path. */
static cj_gemm *make(size_t p, cj_gemm_opts o, const char *name)
{
    o.size = sizeof o, o.type = CJ_S8, o.path = paths[p].path, o.m = M, o.n = N, o.k = K;
    o.a_order = CJ_GEMM_ORDER_ROWS, o.b_order = CJ_GEMM_ORDER_COLUMNS;
    cj_gemm *g = cj_gemm_create(kb_dev, &o);
    const cj_error *e = cj_error_of(g);
    if (e->status == CJ_OK) return g;
    if (e->status == CJ_ENOTSUP) tap_skip(1, "path %s: %s", paths[p].name, e->message);
    else tap_fail("path %s, %s: %s", paths[p].name, name, e->message);
    cj_gemm_free(g);
    return NULL;
}

/* The number of results that differ from `want`. */
static size_t differing(cj_gemm *g, const cj_gemm_args *x, cj_type type, const double *want)
{
    size_t wrong = 0, size = kb_size(type);
    kb_blank(&out);
    if (!kb_is_ok(kb_s[0], cj_gemm_launch(kb_s[0], g, x), "launch") || !kb_get(&out)) return ALL;
    for (size_t i = 0; i < ALL; i++) {
        unsigned char is[8];
        kb_set(is, type, want[i]);
        wrong += memcmp(is, (char *)out.host + i * size, size) != 0;
    }
    return wrong;
}

/* -- Functions of the user's --------------------------------------------------------------------------------------- */

/* `v` in f32 times the scales of row and column, from memory, rounded to `result`. */
static cj_ptx *dequantising(cj_type result)
{
    cj_ptx *m = cj_ptx_create();
    cj_fn *f = cj_ptx_func(m, "dequantise");
    cj_val v = cj_param(f, "v", CJ_S32), row = cj_param(f, "row", CJ_U32), column = cj_param(f, "column", CJ_U32);
    cj_param(f, "batch", CJ_U32);
    cj_val rows = cj_param_ptr(f, "rows", CJ_F32), columns = cj_param_ptr(f, "columns", CJ_F32);
    cj_val scaled = cj_mul(f, cj_cvt(f, CJ_F32, v), cj_get(f, rows, row));
    cj_val r = cj_mul(f, scaled, cj_get(f, columns, column));
    cj_return_value(f, result == CJ_F32 ? r : cj_cvt(f, result, r));
    return m;
}

static void dequantises(size_t p)
{
    static const struct { cj_type function, out; } rows[] = {
        { CJ_F32, CJ_F32 }, { CJ_F32, CJ_BF16 }, { CJ_F32, CJ_F16 }, { CJ_BF16, CJ_BF16 }, { CJ_F16, CJ_F32 },
    };
    static const int32_t pointers[] = { CJ_U64, CJ_U64 };
    const cj_arg user[] = { cj_arg_ptr(row_scale.data), cj_arg_ptr(column_scale.data) };
    for (size_t i = p; i < sizeof rows / sizeof *rows; i += tap_is_slow() ? 3 : 1) {
        double want[ALL];
        cj_ptx *m = dequantising(rows[i].function);
        cj_gemm *g = make(p, (cj_gemm_opts){ .out_type = rows[i].out, .module = m, .function = "dequantise",
                                             .user_types = pointers, .user_count = 2 }, "a function");
        cj_gemm_args x = arguments();
        x.user = user, x.user_count = 2;
        for (size_t e = 0; e < ALL; e++) {
            const size_t r = e / N % M, col = e % N;
            const float scaled = (float)sum_at(e / N / M, r, col) * ((float *)row_scale.host)[r];
            unsigned char rounded[8];
            kb_set(rounded, rows[i].function, scaled * ((float *)column_scale.host)[col]);
            want[e] = kb_value(rounded, rows[i].function);
        }
        if (g) tap_is_uint(differing(g, &x, rows[i].out, want), 0, "path %s: a function from S32 to %s, stored as %s",
                           paths[p].name, kb_name(rows[i].function), kb_name(rows[i].out));
        cj_gemm_free(g);
        cj_ptx_free(m);
    }
}

/* A function may have any type of elements that the builder computes in.  Of what 8 bits do not have, integers lose
 * their high bits, and floating values become the nearest number. */
static void each_result_type(size_t p)
{
    static const struct { cj_type function, out; int times; } rows[] = {
        { CJ_S16, CJ_F32, 1 }, { CJ_U16, CJ_BF16, 1 }, { CJ_S32, CJ_F16, 1 }, { CJ_U32, CJ_F64, 1 },
        { CJ_S64, CJ_S8, 1 },  { CJ_U64, CJ_F32, 1 },  { CJ_F16, CJ_F64, 1 }, { CJ_BF16, CJ_S16, 1 },
        { CJ_F32, CJ_S8, 2 },  { CJ_F64, CJ_U8, 4 },   { CJ_F16, CJ_S8, 2 },  { CJ_S32, CJ_S8, 2 },
        { CJ_F64, CJ_BF16, 1 },
    };
    for (size_t i = p; i < sizeof rows / sizeof *rows; i += PATHS) {
        double want[ALL];
        cj_ptx *m = cj_ptx_create();
        cj_fn *f = cj_ptx_func(m, "count");
        cj_val v = cj_param(f, "v", CJ_S32), row = cj_param(f, "row", CJ_U32), col = cj_param(f, "column", CJ_U32);
        cj_val batch = cj_param(f, "batch", CJ_U32);
        cj_val low = cj_bits(f, CJ_U32, cj_and(f, v, 15));
        cj_val r = cj_mul(f, cj_add(f, cj_mad(f, row, 3, low), cj_add(f, col, batch)), rows[i].times);
        const cj_type t = rows[i].function;
        cj_return_value(f, t == CJ_U32 ? r : cj_cvt(f, t, t == CJ_BF16 ? cj_cvt(f, CJ_F32, r) : r));
        cj_gemm *g = make(p, (cj_gemm_opts){ .out_type = rows[i].out, .module = m, .function = "count" }, kb_name(t));
        const cj_gemm_args x = arguments();
        for (size_t e = 0; e < ALL; e++) {
            const int greatest = rows[i].out == CJ_S8 ? 127 : 255;
            const int most = kb_floating(t) && kb_size(rows[i].out) == 1 ? greatest : INT_MAX;
            const int low_bits = sum_at(e / N / M, e / N % M, e % N) & 15;
            const int r_of_e = rows[i].times * (low_bits + 3 * (int)(e / N % M) + (int)(e % N) + (int)(e / N / M));
            want[e] = r_of_e < most ? r_of_e : most;
        }
        if (g) tap_is_uint(differing(g, &x, rows[i].out, want), 0, "path %s: a function that returns %s, stored as %s",
                           paths[p].name, kb_name(t), kb_name(rows[i].out));
        cj_gemm_free(g);
        cj_ptx_free(m);
    }
}

/* -- alpha, beta, C and bias --------------------------------------------------------------------------------------- */

static cj_ptx *halving(cj_type type)
{
    cj_ptx *m = cj_ptx_create();
    cj_fn *f = cj_ptx_func(m, "half");
    cj_val v = cj_param(f, "v", type);
    cj_param(f, "row", CJ_U32), cj_param(f, "column", CJ_U32), cj_param(f, "batch", CJ_U32);
    cj_return_value(f, cj_mul(f, v, cj_let(f, type, cj_imm_f64(f, 0.5))));
    return m;
}

/* Integer sums with a floating result: all of these have fractions, and the function takes a floating value. */
static void fractions(size_t p)
{
    static const struct { const char *name; cj_type out, wide; bool scaled, with_c, bias; cj_type function; } rows[] = {
        { "a bias of f32", CJ_F32, CJ_S32, false, false, true, 0 },
        { "alpha, beta, C and a bias of f16", CJ_F16, CJ_S32, true, true, true, 0 },
        { "alpha, beta and C of f32", CJ_F32, CJ_S32, true, true, false, 0 },
        { "a bias of f16, a function of f32", CJ_F16, CJ_S32, false, false, true, CJ_F32 },
        { "alpha and a bias of bf16", CJ_BF16, CJ_S32, true, false, true, 0 },
        { "alpha, beta and C of f64, a function of f64", CJ_F64, CJ_S32, true, true, false, CJ_F64 },
        { "unsigned sums and a bias of f32", CJ_F32, CJ_U32, false, false, true, 0 },
        { "sums of 64 bits and all, a function of f64", CJ_F32, CJ_S64, true, true, true, CJ_F64 },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const cj_type t = rows[i].out, wide = rows[i].wide;
        const double alpha = rows[i].scaled ? 0.25 : 1, beta = rows[i].with_c ? -1.5 : 0;
        double want[ALL];
        if (wide == CJ_S64 && paths[p].path != CJ_GEMM_SCALAR) continue;
        if (tap_is_slow() && i % PATHS != p) continue;
        cj_ptx *m = rows[i].function ? halving(rows[i].function) : NULL;
        cj_gemm *g = make(p, (cj_gemm_opts){ .out_type = t, .wide = wide, .scaled = rows[i].scaled,
                                             .bias = rows[i].bias, .module = m, .function = m ? "half" : NULL },
                          rows[i].name);
        cj_gemm_args x = arguments();
        if (rows[i].scaled) x.alpha = alpha, x.beta = beta;
        if (rows[i].with_c) x.c = (cj_rows){ c.data, 0, 0 }, x.c_batch = M * N;
        if (rows[i].bias) x.bias = bias.data;
        for (size_t e = 0; e < ALL; e++) kb_set((char *)c.host + e * kb_size(t), t, (double)(e % 9) / 2 - 1.25);
        for (size_t e = 0; e < N; e++) kb_set((char *)bias.host + e * kb_size(t), t, (double)(e % 5) - 1.5);
        kb_put(&c), kb_put(&bias);
        for (size_t e = 0; e < ALL; e++) {
            const int32_t sum = sum_at(e / N / M, e / N % M, e % N);
            want[e] = alpha * (wide == CJ_U32 ? (double)(float)(uint32_t)sum : sum);
            if (rows[i].with_c) want[e] += beta * ((double)(e % 9) / 2 - 1.25);
            if (rows[i].bias) want[e] = wide == CJ_U32 ? (float)(want[e] + (double)(e % N % 5) - 1.5)
                                                       : want[e] + (double)(e % N % 5) - 1.5;
            if (m) want[e] /= 2;
        }
        if (g) tap_is_uint(differing(g, &x, t, want), 0, "path %s: %s", paths[p].name, rows[i].name);
        cj_gemm_free(g);
        cj_ptx_free(m);
    }
}

/* Integer sums with an integer result: all of it is computed in integers, which wrap. */
static void integers(size_t p)
{
    double want[ALL];
    cj_gemm *g = make(p, (cj_gemm_opts){ .out_type = CJ_S32, .scaled = 1, .bias = 1 }, "integers");
    cj_gemm_args x = arguments();
    x.alpha = -3, x.beta = 2, x.c = (cj_rows){ c.data, 0, 0 }, x.c_batch = M * N, x.bias = bias.data;
    for (size_t e = 0; e < ALL; e++) {
        ((int32_t *)c.host)[e] = INT32_MAX - (int32_t)(e % 3);
        want[e] = (int32_t)(-3u * (uint32_t)sum_at(e / N / M, e / N % M, e % N) +
                            2u * (uint32_t)((int32_t *)c.host)[e] + 7u * (uint32_t)(e % N));
    }
    for (size_t e = 0; e < N; e++) ((int32_t *)bias.host)[e] = 7 * (int32_t)e;
    kb_put(&c), kb_put(&bias);
    if (g) tap_is_uint(differing(g, &x, CJ_S32, want), 0, "path %s: integers wrap", paths[p].name);
    x.alpha = 0.5;
    if (g && tap_is_int(cj_gemm_launch(kb_s[0], g, &x), CJ_EINVAL, "... and alpha is a whole number"))
        tap_has_str(cj_error_of(kb_s[0])->message, "alpha is 0.5, which s32 does not have", "... or is reported");
    cj_error_clear(kb_s[0]);
    cj_gemm_free(g);
}

/* -- Rounding ------------------------------------------------------------------------------------------------------ */

/* A sum: `sign` times an integer of 64 bits, or an f64. */
typedef struct sum { int sign; uint64_t whole; double real; } sum;

/* The nearest number of a floating type, straight from the sum: halves to even. */
static double nearest(cj_type type, const sum *x)
{
    const int bits = type == CJ_F16 ? 11 : type == CJ_BF16 ? 8 : 24, least = type == CJ_F16 ? -14 : -126;
    double y;
    int e;
    if (!x->whole) {
        if (x->real == 0) return 0;
        frexp(x->real, &e);
        const int unit = (e - 1 < least ? least : e - 1) - (bits - 1);
        y = ldexp(rint(ldexp(x->real, -unit)), unit);
    } else {
        const int unit = 64 - __builtin_clzll(x->whole) - bits;
        uint64_t kept = x->whole;
        if (unit > 0) {
            const uint64_t half = (uint64_t)1 << (unit - 1), rest = x->whole & (2 * half - 1);
            kept = x->whole >> unit;
            kept += rest > half || (rest == half && kept % 2);
        }
        y = x->sign * ldexp((double)kept, unit > 0 ? unit : 0);
    }
    return fabs(y) > (type == CJ_F16 ? 65504 : 0x1.fffffep127) ? copysign(INFINITY, y) : y;
}

/* Products of a column by 1: values around halves between two results, where a sum that is rounded to f32 first would
 * be rounded to the other one. */
static void rounded_once(void)
{
    enum { MOST = 132 };
    static const cj_type types[] = { CJ_S32, CJ_U32, CJ_S64, CJ_U64, CJ_F64 }, outs[] = { CJ_BF16, CJ_F16, CJ_F32 };
    for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
        const cj_type type = types[t];
        const size_t size = kb_size(type);
        const bool negates = type != CJ_U32 && type != CJ_U64;
        sum value[MOST];
        size_t n = 0, top = type == CJ_S32 ? 30 : size == 4 ? 31 : 62;
        for (size_t at = 11; at <= top && n + 12 <= MOST; at += at < 23 ? 3 : size == 4 ? 2 : 8)
            for (int i = 0; i < 6; i++) {
                const int k = i % 3 - 1, bits = i < 3 ? 8 : 11; /* of bf16 and f16 */
                const uint64_t half = (UINT64_C(1) << at) + (UINT64_C(1) << ((int)at - bits)), u = half + (uint64_t)k;
                for (int sign = 1; sign >= (negates ? -1 : 1); sign -= 2) {
                    const int64_t v = sign * (int64_t)u;
                    const double d = sign * (double)half * 0x1p-20 * (1 + (at < 40) * k * 0x1p-45);
                    if (type == CJ_F64) memcpy((char *)a.host + 8 * n, &d, 8), value[n++] = (sum){ .real = d };
                    else memcpy((char *)a.host + size * n, &v, size), value[n++] = (sum){ sign, u, 0 };
                }
            }
        for (size_t i = 0; type == CJ_F64 && i < 4; i++) {
            static const double far[] = { 1e300, -3.4e38, 1e-45, 0x1.01p-130 };
            memcpy((char *)a.host + 8 * n, &far[i], 8), value[n++] = (sum){ .real = far[i] };
        }
        kb_set(b.host, type, 1), kb_put(&a), kb_put(&b);
        for (size_t o = 0; o < sizeof outs / sizeof *outs; o++) {
            size_t wrong = 0;
            cj_gemm *g = cj_gemm_create(kb_dev, CJ_GEMM(.type = type, .out_type = outs[o], .path = CJ_GEMM_SCALAR));
            const cj_gemm_args x = { .a = { a.data, 0, 0 }, .b = { b.data, 0, 0 }, .out = { out.data, 0, 0 },
                                     .m = n, .n = 1, .k = 1 };
            kb_blank(&out);
            if (!kb_is_ok(kb_s[0], cj_gemm_launch(kb_s[0], g, &x), "launch") || !kb_get(&out)) wrong = n;
            for (size_t i = 0; i < n; i++) {
                const double is = kb_value((char *)out.host + i * kb_size(outs[o]), outs[o]);
                const double want = nearest(outs[o], &value[i]);
                if (is != want) wrong++, tap_diag("sum %zu became %a, not %a", i, is, want);
            }
            tap_is_uint(wrong, 0, "sums of %s are rounded to %s once", kb_name(type), kb_name(outs[o]));
            cj_gemm_free(g);
        }
    }
}

/* -- Mistakes ------------------------------------------------------------------------------------------------------ */

static void mistakes(void)
{
    static const struct { const char *name; cj_type takes; bool returns; int32_t bias; const char *part; } rows[] = {
        { "a function of f32 for sums of s32", CJ_F32, true, 0, "wants the value in s32, row, column and batch" },
        { "a function of s32 behind a bias of f32", CJ_S32, true, 1, "wants the value in f32" },
        { "a function without a result", CJ_S32, false, 0, "and one result: an integer of 16 to 64 bits, f16" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        cj_ptx *m = cj_ptx_create();
        cj_fn *f = cj_ptx_func(m, "same");
        cj_val v = cj_param(f, "v", rows[i].takes);
        cj_param(f, "row", CJ_U32), cj_param(f, "column", CJ_U32), cj_param(f, "batch", CJ_U32);
        if (rows[i].returns) cj_return_value(f, v);
        else cj_return(f);
        cj_gemm *g = cj_gemm_create(kb_dev, CJ_GEMM(.type = CJ_S8, .out_type = CJ_F32, .path = CJ_GEMM_SCALAR,
                                                    .bias = rows[i].bias, .module = m, .function = "same"));
        tap_is_int(cj_error_of(g)->status, CJ_EPTX, "%s does not fit", rows[i].name);
        tap_has_str(cj_error_of(g)->message, rows[i].part, "... and what fits is named");
        cj_gemm_free(g);
        cj_ptx_free(m);
    }
}

int main(void)
{
    kb_open();
    tap_timeout(60);
    a = kb_take(BATCHES * M * K), b = kb_take(N * K), c = kb_take(ALL * 8), out = kb_take(ALL * 8);
    bias = kb_take(N * 8), row_scale = kb_take(M * 4), column_scale = kb_take(N * 4);
    for (size_t p = 0; p < PATHS; p++) {
        fill();
        dequantises(p);
        each_result_type(p);
        fractions(p);
        integers(p);
    }
    rounded_once();
    mistakes();
    kb_drop(&a), kb_drop(&b), kb_drop(&c), kb_drop(&out), kb_drop(&bias), kb_drop(&row_scale), kb_drop(&column_scale);
    return kb_close();
}
