/* Numbers that narrower types do not hold, in products of cj_gemm on path scalar: integers of all their bits, whose
 * sums wrap around; f64 of all bits of its mantissa; sums in a wider type than that of the elements (.wide); alpha,
 * beta, C and a bias of f64 and of 64-bit integers.  Plain C adds in the same order, so all results are compared bit
 * for bit. */
#include "tests/kernels/kernels_bench.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { M = 70, N = 37, K = 21, BATCHES = 2 };

static const struct numbers { const char *name; cj_type a, b, out, wide; double alpha, beta; } cases[] = {
    { "u8", CJ_U8, CJ_U8, CJ_U32, 0, 65537, 3 },
    { "s8", CJ_S8, CJ_S8, CJ_S32, 0, -65537, 3 },
    { "u16", CJ_U16, CJ_U16, CJ_U32, 0, 3, 4294967295.0 },
    { "s16", CJ_S16, CJ_S16, CJ_S32, 0, -3, 2147483647.0 },
    { "u32", CJ_U32, CJ_U32, CJ_U32, 0, 7, 5 },
    { "s32", CJ_S32, CJ_S32, CJ_S32, 0, -7, -5 },
    { "u64", CJ_U64, CJ_U64, CJ_U64, 0, 0x1p40 + 1, 0x1p33 + 5 },
    { "s64", CJ_S64, CJ_S64, CJ_S64, 0, -0x1p40 - 3, 0x1p41 + 7 },
    { "u8 in u64", CJ_U8, CJ_U8, CJ_U64, CJ_U64, 0x1p39 + 1, 3 },
    { "s16 in s64", CJ_S16, CJ_S16, CJ_S64, CJ_S64, 1, -0x1p45 - 1 },
    { "u32 in u64", CJ_U32, CJ_U32, CJ_U64, CJ_U64, 3, 2 },
    { "s32 in s64", CJ_S32, CJ_S32, CJ_S64, CJ_S64, -3, 0x1p35 },
    { "s32 in s64 to s32", CJ_S32, CJ_S32, CJ_S32, CJ_S64, 1, 1 },
    { "u32 by u64", CJ_U32, CJ_U64, CJ_U64, 0, 2, 2 },
    { "u8 by s8 in s64", CJ_U8, CJ_S8, CJ_S64, CJ_S64, 0x1p34, -9 },
    { "f64", CJ_F64, CJ_F64, CJ_F64, 0, 1 + 0x1p-30, 3 * 0x1p-30 },
    { "f32 in f64", CJ_F32, CJ_F32, CJ_F64, CJ_F64, 1 - 0x1p-30, -5 * 0x1p-30 },
    { "f32 by f64", CJ_F32, CJ_F64, CJ_F64, 0, 3, 1 + 0x1p-30 },
    { "f32 in f64 to f32", CJ_F32, CJ_F32, CJ_F32, CJ_F64, 1 - 0x1p-30, 0.5 },
    { "f16 in f64", CJ_F16, CJ_F16, CJ_F64, CJ_F64, 1 + 0x1p-28, 0.25 },
    { "bf16 in f64 to f32", CJ_BF16, CJ_BF16, CJ_F32, CJ_F64, 1 + 0x1p-26, 0.25 },
    { "s32 in f64", CJ_S32, CJ_S32, CJ_F64, CJ_F64, 1 + 0x1p-30, -0x1p-30 },
};

typedef enum way { PLAIN, SCALED, BETA_0, WAYS } way;
static const char *const ways[WAYS] = { "bits of plain C", "with alpha, beta, C and bias",
                                        "with alpha, bias, beta 0 and a C of NaN" };

static kb_memory a, b, c, out, bias;

/* An integer of any type, modulo 2^64. */
static uint64_t integer_at(const kb_memory *x, cj_type t, size_t i)
{
    const size_t size = kb_size(t);
    const bool negative = t == CJ_S8 || t == CJ_S16 || t == CJ_S32 || t == CJ_S64;
    uint64_t v = 0;
    memcpy(&v, (const char *)x->host + i * size, size);
    return negative && size < 8 && v >> (8 * size - 1) ? v | ~UINT64_C(0) << 8 * size : v;
}

static double number_at(const kb_memory *x, cj_type t, size_t i)
{
    return kb_value((const char *)x->host + i * kb_size(t), t);
}

/* All bits of an integer; else whole numbers whose products and sums are exact in f64 and not in f32; `full`: numbers
 * of all bits of f64. */
static void draw(kb_memory *x, cj_type t, size_t n, bool of_floats, bool full)
{
    for (size_t i = 0; i < n; i++) {
        char *at = (char *)x->host + i * kb_size(t);
        const uint64_t bits = (uint64_t)kb_random() << 32 | kb_random();
        const int most = t == CJ_F16 ? 2048 : t == CJ_BF16 ? 256 : 1 << 18;
        if (full && t == CJ_F64) kb_set(at, t, kb_uniform() + 0x1p-31 * kb_uniform());
        else if (of_floats) kb_set(at, t, (double)((int)(bits % (2u * (unsigned)most + 1)) - most));
        else memcpy(at, &bits, kb_size(t));
    }
    kb_put(x);
}

/* What is stored at element `e` of batch z. */
static void set_want(void *want, const struct numbers *x, way w, size_t z, size_t r, size_t col, bool of_floats)
{
    const size_t e = (z * M + r) * N + col;
    double number = 0;
    uint64_t integer = 0;
    for (size_t i = 0; i < K; i++) {
        const size_t at_a = (z * M + r) * K + i, at_b = (z * N + col) * K + i; /* B is stored by columns */
        if (of_floats) number = fma(number_at(&a, x->a, at_a), number_at(&b, x->b, at_b), number);
        else integer += integer_at(&a, x->a, at_a) * integer_at(&b, x->b, at_b);
    }
    if (of_floats && w != PLAIN) {
        number = number * x->alpha + number_at(&bias, x->out, col);
        if (w == SCALED) number += x->beta * number_at(&c, x->out, e);
    } else if (w != PLAIN) {
        integer = integer * (uint64_t)(int64_t)x->alpha + integer_at(&bias, x->out, col);
        if (w == SCALED) integer += integer_at(&c, x->out, e) * (uint64_t)(int64_t)x->beta;
    }
    if (of_floats) kb_set(want, x->out, number);
    else memcpy(want, &integer, kb_size(x->out));
}

static size_t wrong_of(const struct numbers *x, way w, bool of_floats)
{
    const size_t size = kb_size(x->out);
    cj_gemm *g = cj_gemm_create(kb_dev, CJ_GEMM(.type = x->a, .b_type = x->b, .out_type = x->out, .wide = x->wide,
                                                .path = CJ_GEMM_SCALAR, .scaled = w != PLAIN, .bias = w != PLAIN));
    cj_gemm_args args = { .a = { a.data, 0, 0 }, .b = { b.data, 1, K }, .out = { out.data, 0, 0 }, .m = M, .n = N,
                          .k = K, .batches = BATCHES, .a_batch = M * K, .b_batch = K * N, .out_batch = M * N };
    size_t wrong = 0;
    draw(&a, x->a, BATCHES * M * K, of_floats, w == PLAIN), draw(&b, x->b, BATCHES * N * K, of_floats, w == PLAIN);
    draw(&c, x->out, BATCHES * M * N, of_floats, false), draw(&bias, x->out, N, of_floats, false);
    if (w == BETA_0) kb_blank(&c);
    if (w != PLAIN)
        args.alpha = x->alpha, args.beta = w == SCALED ? x->beta : 0, args.c = (cj_rows){ c.data, 0, 0 },
        args.c_batch = M * N, args.bias = bias.data;
    kb_blank(&out);
    if (cj_error_of(g)->status) tap_diag("%s", cj_error_of(g)->message);
    if (!kb_is_ok(kb_s[0], cj_gemm_launch(kb_s[0], g, &args), "launch") || !kb_get(&out)) wrong++;
    for (size_t e = 0; e < BATCHES * M * N; e++) {
        unsigned char want[8];
        set_want(want, x, w, e / (M * N), e / N % M, e % N, of_floats);
        wrong += memcmp((char *)out.host + e * size, want, size) != 0;
    }
    cj_gemm_free(g);
    return wrong;
}

int main(void)
{
    kb_open();
    tap_timeout(60);
    a = kb_take(BATCHES * M * K * 8), b = kb_take(BATCHES * N * K * 8), bias = kb_take(N * 8);
    c = kb_take(BATCHES * M * N * 8), out = kb_take(BATCHES * M * N * 8);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (way w = PLAIN; w < WAYS; w++) {
            const struct numbers *x = &cases[i];
            const bool of_floats = kb_floating(x->a) || kb_floating((cj_type)x->wide);
            if ((!of_floats && w == BETA_0) || (tap_is_slow() && (i + w) % 4)) continue;
            tap_is_uint(wrong_of(x, w, of_floats), 0, "%s %s", x->name, ways[w]);
        }
    kb_drop(&a), kb_drop(&b), kb_drop(&c), kb_drop(&out), kb_drop(&bias);
    return kb_close();
}
