/* Each part of src/ptx/math that is a function of f32: on the CPU device beside a reference in double, and beside the
 * same function on numbers, bit for bit.  The number of results that are not the nearest is recorded: a change of one
 * coefficient changes it.  So is the greatest error, that of check_math over all operands on a GPU: no operand here may
 * have a greater one.
 *
 * functions_f32 record     prints what the operands here have, in the order of the rows
 * functions_f32 table      prints the rows for docs/mathematics.md: see math_document.awk
 * functions_f32 mutants    puts faults into the kernels, one at a time, which the same columns must show
 * Names behind the word choose rows. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cujit/cujit.h>

#include "ptx/math/math.h"
#include "tests/math/wanted.h"
#include "tests/math/text_mutants.h"
#include "tests/tap.h"

/* ---- The functions ---- */

/* How the second operand is chosen, and how a result is judged. ABSOLUTE and RELATIVE: the absolute error, in the
 * interval. */
enum { ANY, NEAR = 1, POWER = 2, WHOLE = 4, ABSOLUTE = 8, RELATIVE = 16, FEW = 32 };

static const struct row {
    const char *name;
    cji_math_part part;
    const char *wants;           /* the reference */
    double least, most;          /* an interval that half of the operands come from; for RELATIVE all that count */
    unsigned how;
    int64_t limit;               /* CUDA's table; 0: exact; -1: what is recorded */
    int64_t worst;               /* recorded, of all operands: distance from the nearest, or error in 2^-34 */
    int64_t count;               /* recorded, of the operands here: results that are not the nearest */
} rows[] = {
#define F1(name, least, most, how, limit, worst, count) \
    { #name, CJI_MATH_##name##_f32, #name, least, most, how, limit, worst, count },
#define FAST(name, least, most, how, worst, count) \
    { #name "_fast", CJI_MATH_##name##_fast_f32, #name, least, most, how, -1, worst, count },
    F1(exp, -110, 95, ANY, 2, 2, 12864)
    F1(exp2, -160, 130, ANY, 2, 2, 19859)
    F1(exp10, -50, 40, ANY, 2, 2, 12620)
    F1(expm1, -20, 90, ANY, 1, 1, 2208)
    F1(log, 0, 4, ANY, 1, 1, 4139)
    F1(log2, 0, 4, ANY, 1, 1, 4108)
    F1(log10, 0, 4, ANY, 2, 2, 2858)
    F1(log1p, -1, 2, ANY, 1, 1, 4079)
    F1(sin, -100, 100, ANY, 2, 2, 10861)
    F1(cos, -100, 100, ANY, 2, 2, 10970)
    F1(tan, -100, 100, ANY, 4, 3, 25386)
    F1(sincos, -100, 100, ANY, 2, 2, 21617)
    F1(sinpi, -4, 4, ANY, 1, 1, 8517)
    F1(cospi, -4, 4, ANY, 1, 1, 8625)
    F1(sincospi, -4, 4, ANY, 1, 1, 17267)
    F1(tanpi, -4, 4, ANY, 4, 2, 15302)
    F1(asin, -1, 1, ANY, 2, 2, 8878)
    F1(acos, -1, 1, ANY, 2, 1, 4294)
    F1(atan, -4, 4, ANY, 2, 2, 4892)
    F1(atan2, 0, 0, NEAR, 3, 2, 17891)
    F1(sinh, -90, 90, ANY, 3, 3, 12416)
    F1(cosh, -90, 90, ANY, 2, 2, 13091)
    F1(tanh, -10, 10, ANY, 2, 2, 2066)
    F1(asinh, -9, 9, ANY, 3, 2, 7797)
    F1(acosh, 1, 9, ANY, 4, 3, 5867)
    F1(atanh, -1, 1, ANY, 3, 2, 9722)
    F1(erf, -4, 4, ANY, 2, 2, 12859)
    F1(erfc, -4, 10.5, ANY, 4, 4, 15000)
    F1(erfinv, -1, 1, FEW, 2, 2, 4436)
    F1(erfcinv, 0, 2, FEW, 4, 3, 3791)
    F1(erfcx, -10, 20, FEW, 4, 4, 3061)
    F1(normcdf, -15, 6, FEW, 5, 5, 3105)
    F1(normcdfinv, 0, 1, FEW, 5, 4, 4073)
    F1(lgamma, -50, 50, ANY, 6, 6, 20474)
    F1(tgamma, -44, 36, ANY, 5, 5, 19098)
    F1(cbrt, -9, 9, ANY, 1, 1, 12083)
    F1(rcbrt, -9, 9, ANY, 1, 1, 11708)
    F1(rsqrt, 0, 9, ANY, 2, 1, 15616)
    F1(hypot, 0, 0, NEAR, 3, 1, 5493)
    F1(rhypot, 0, 0, NEAR, 2, 2, 24727)
    F1(pow, 0, 0, POWER, 4, 3, 19435)
    F1(pown, 0, 0, WHOLE, 4, 3, 16163)
    F1(fmod, 0, 0, NEAR, 0, 0, 0)
    F1(remainder, 0, 0, NEAR, 0, 0, 0)
    F1(remquo, 0, 0, NEAR, 0, 0, 0)
    F1(round, -9, 9, ANY, 0, 0, 0)
    F1(rint, -9, 9, ANY, 0, 0, 0)
    F1(modf, -99, 99, ANY, 0, 0, 0)
    F1(frexp, -9, 9, ANY, 0, 0, 0)
    F1(ldexp, 0, 0, WHOLE, 0, 0, 0)
    F1(logb, -9, 9, ANY, 0, 0, 0)
    F1(ilogb, -9, 9, ANY, 0, 0, 0)
    F1(nextafter, 0, 0, NEAR, 0, 0, 0)
    F1(fdim, 0, 0, NEAR, 0, 0, 0)
    F1(copysign, 0, 0, NEAR, 0, 0, 0)
    F1(sigmoid, -20, 20, ABSOLUTE, 0, 2034, 26778)
    F1(silu, -20, 20, ABSOLUTE, 0, 3223, 24947)
    F1(gelu, -20, 20, ABSOLUTE, 0, 1878, 13789)
    F1(gelu_tanh, -20, 20, ABSOLUTE, 0, 3214, 13959)
    F1(softplus, -20, 20, ABSOLUTE, 0, 2544, 20036)
    F1(exp_rounded, -110, 95, ANY, 0, 0, 0)
    F1(log_rounded, 0, 4, ANY, 0, 0, 0)
    F1(sin_rounded, -100, 100, ANY, 0, 0, 0)
    F1(cos_rounded, -100, 100, ANY, 0, 0, 0)
    FAST(exp, -80, 80, RELATIVE, 64163, 38218)
    FAST(exp10, -35, 35, RELATIVE, 75433, 38235)
    FAST(log, 2, 9, RELATIVE, 3185, 13202)
    FAST(log2, 2, 9, RELATIVE, 2612, 9043)
    FAST(log10, 2, 9, RELATIVE, 4062, 17703)
    FAST(pow, 0, 0, RELATIVE | POWER, 170461, 3535)
    FAST(sin, -3, 3, ABSOLUTE | RELATIVE, 5970, 60036)
    FAST(cos, -1.5, 1.5, RELATIVE, 51830, 31566)
    FAST(sincos, -1.5, 1.5, ABSOLUTE | RELATIVE, 5970, 94314)
    FAST(tan, -1.5, 1.5, ABSOLUTE | RELATIVE, 52206, 64750)
    FAST(tanh, -9, 9, RELATIVE, 191146, 36006)
    FAST(sigmoid, -20, 20, ABSOLUTE, 68584, 33683)
    FAST(silu, -20, 20, ABSOLUTE, 170230, 32635)
    FAST(gelu_tanh, -20, 20, ABSOLUTE, 96402, 16084)
    FAST(softplus, -20, 20, ABSOLUTE, 3475, 23887)
#undef F1
#undef FAST
};

static const uint32_t hard[] = {
    0, 1, 2, 3, 0x7fffff, 0x800000, 0x3f800000, 0x3f7fffff, 0x3f800001, 0x7f7fffff, 0x7f800000, 0x7fc00000, 0x40000000,
    0x3f000000, 0x3effffff, 0x3fc00000, 0x40400000, 0x40200000, 0x4b000000, 0x4b000001, 0x4afffffe, 0x4b800000,
    0x4b800001, 0x3e800000, 0x40a00000, 0x7e000000, 0x00400000, 0x42b0c0a5, 0x478b9f08, 0x478b9f09, 0x7f000000,
    0x5f000000, 0x2f000000, 0x49800000, 0x46199998, 0x5f18b878, 0x6115cb11, 0x3c413d3a, 0x41178feb, 0x4c5d65a5,
    0x65d890d3, 0x6f31a8ec
};
static const int32_t hard_whole[] = {
    0, 1, -1, 2, -2, 3, 149, -149, 150, 126, 127, 128, -126, -127, 277, 278, -277, -278, 1000, INT32_MAX, INT32_MIN,
    INT32_MAX - 1, INT32_MIN + 1, 0x7fffff80, 0x1000001, -0x1000001, 255, 256, 23, 24, -24, 25, 1 << 30, (1 << 30) + 1,
    -206, -229, 254, -254, 252, 102, -102, 7
};
enum { HARD = sizeof hard / sizeof *hard, MANY = 100000, FEWER = 20000, SLOW = 10000 };
_Static_assert(sizeof hard_whole / sizeof *hard_whole == HARD, "one for each hard operand");

/* The hardest to round of many millions: the results are next to the middle of two numbers.  Found with long double. */
static const struct { cji_math_part part; uint32_t x[32]; } hard_to_round[] = {
    { CJI_MATH_tgamma_f32, { /* next to poles, and others where results are subnormal */
        0xc20fffff, 0xc2100001, 0xc213ffff, 0xc2140001, 0xc217ffff, 0xc2180001, 0xc21bffff, 0xc21c0001,
        0xc21bfffe, 0xc21c0002, 0xc21fffff, 0xc2200001, 0xc21ffffe, 0xc2200002, 0xc223ffff, 0xc2240001,
        0xc223fffe, 0xc2240002, 0xc227ffff, 0xc2280001, 0xc20f0000, 0xc2110000, 0xc2120000, 0xc2130000,
        0xc2150000, 0xc2160000, 0xc2170000, 0xc2190000, 0xc21a0000, 0xc21b0000, 0xc21c4000, 0xc21fc000 } },
    { CJI_MATH_exp_rounded_f32, {
      0x3d1a274e, 0x40315b33, 0x4001b249, 0x4288942b, 0x3fe67199, 0x41cbf87b, 0x4034d02b, 0x3c971aaa, 0x3caffe2e,
      0x3c608a0e, 0x40dd70cb, 0x3b18f346, 0x3f5bc24c, 0x3b8c972e, 0x4178966e, 0x4283070f, 0xc16912cd, 0xbbf0edf1,
      0xbae0e25c, 0xbc2a461a, 0xc0781533, 0xbbb70ee8, 0xc13d6631, 0xbcb8f40f, 0xbfbfa14b, 0xbf81eadf, 0xbf76fd92,
      0xbdb393eb, 0xc159fa1e, 0xc0382e72, 0xbee0e6cd, 0xc236e4b4 } },
    { CJI_MATH_log_rounded_f32, {
      0x3fd364d7, 0x3e2b3421, 0x4056ee45, 0x40504cb2, 0x3fc55379, 0x3fdc4750, 0x404dc250, 0x3fa66c0b, 0x3f7ffffe,
      0x3e5c31f6, 0x40e3cdc4, 0x54af989d, 0x7d98b8f4, 0x6e7054f2, 0x736cc271, 0x4bf70db3, 0x4fe4ab24, 0x6be8cf96,
      0x50dfef2e, 0x5a8f8e03, 0x432c2b82, 0x46380ed4, 0x4aabe14f, 0x51e8644f, 0x63525405, 0x60357b5c, 0x482da3a8 } },
    { CJI_MATH_sin_rounded_f32, {
      0x46199998, 0x4371ade3, 0x3ef3830f, 0x45a8abb3, 0x3dcf5597, 0x42d44528, 0x3d0650ea, 0x401f2100, 0x3ef32001,
      0x3fa0fa4e, 0x4605b1c7, 0x45e38b6e, 0x4384f128, 0x439774af, 0x40e70813, 0x3de26fd0, 0x3ca025c6, 0x44c4849f,
      0x3bf2bdfb, 0x477913a9, 0x435d7a02, 0x45c6116d, 0x4376b478, 0x46199998 } },
    { CJI_MATH_cos_rounded_f32, {
      0x3c107fe6, 0x424790ce, 0x42378db8, 0x46f85a22, 0x3e5fa70e, 0x4010a4bf, 0x3fdb3c0e, 0x3faa2672, 0x474d265c,
      0x4475404c, 0x3f8626a5, 0x3dac4fc0, 0x40259f7c, 0x4215bfe0, 0x3d58a0ea, 0x4297114b, 0x3cfcfbff, 0x3ea0e6ef,
      0x466735fa, 0x3efec12e, 0x4577a6d5, 0x46ec2f8d, 0x3f22061d, 0x4179e3a4 } },
};

/* ---- Operands ---- */

static uint64_t state;

static uint64_t draw(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    return state ^= state << 17;
}

static double unit(void) { return (double)(draw() >> 11) * 0x1p-53; }

static float f32_of(uint32_t u)
{
    float x;
    memcpy(&x, &u, sizeof x);
    return x;
}

static uint32_t bits_of(float x)
{
    uint32_t u;
    memcpy(&u, &x, sizeof u);
    return u;
}

/* Operand i of those that are hard; u where there are none. */
static uint32_t hard_operand(const struct row *t, size_t i, uint32_t u)
{
    for (size_t k = 0; k < sizeof hard_to_round / sizeof *hard_to_round; k++)
        if (hard_to_round[k].part == t->part) return hard_to_round[k].x[i];
    return u;
}

/* Hard ones with both signs, each exponent, the interval, all bit patterns. */
static uint32_t single_operand(const struct row *t, size_t i, size_t n)
{
    uint32_t u = (uint32_t)(draw() >> 16);
    if (i < 2 * HARD) return hard[i / 2] | (uint32_t)(i & 1) << 31;
    if (i < 2 * HARD + 32) u = hard_operand(t, i - 2 * HARD, u);
    if (i < 2 * HARD + 32 && (strstr(t->name, "_rounded") || t->part == CJI_MATH_tgamma_f32)) return u;
    if (i < n / 4) return (u & 0x807fffff) | (uint32_t)(i % 255) << 23;
    return i & 1 ? bits_of((float)(t->least + (t->most - t->least) * unit())) : u;
}

/* The power's result is mostly finite: the exponent is about 151 / log2(x) at most. */
static void power_operands(const struct row *t, uint32_t *x, uint32_t *y)
{
    const int kind = (int)(draw() % 8);
    const bool whole = t->how & WHOLE;
    if (kind == 7) return;
    if (kind == 6) {
        int n = (int)(draw() % 600) - 300;
        *y = whole ? (uint32_t)n : bits_of((float)(n / 10));
        return;
    }
    *x = kind & 1 ? 0x3f800000u - (*x & 0x1ffffff) : *x & 0x7fffffff;
    if (kind >= 4) *x = 0x3f800000u + (uint32_t)(draw() >> 46) - 0x20000;
    double v = (2 * unit() - 1) * 151 / log2(f32_of(*x));
    if (!whole) {
        *y = bits_of((float)v);
        return;
    }
    *y = fabs(v) < 2147483647 ? (uint32_t)(int32_t)v : 2147483520 + (uint32_t)(draw() & 127);
    if (t->part == CJI_MATH_ldexp_f32) *y = (uint32_t)((int)(draw() % 600) - 300);
    *x |= (uint32_t)draw() & 0x80000000u;
}

static void pair_of_operands(const struct row *t, size_t i, uint32_t *x, uint32_t *y)
{
    const size_t k = i / 2 / HARD;
    *x = (uint32_t)(draw() >> 16);
    *y = (uint32_t)(draw() >> 16);
    if (i < 4 * HARD * HARD) {
        *x = hard[i / 2 % HARD] | (uint32_t)(i & 1) << 31;
        *y = t->how & WHOLE ? (uint32_t)hard_whole[k / 2] : hard[k / 2] | (uint32_t)(k & 1) << 31;
    } else if (t->how & (POWER | WHOLE)) power_operands(t, x, y);
    else if (draw() & 1) { /* exponents near each other */
        const uint32_t wide = draw() & 1 ? 7 : 63, apart = (uint32_t)draw() & wide;
        *y = (*x & 0x7f800000u) + (apart - wide / 2) * 0x800000u + (*y & 0x807fffffu);
    }
}

/* ---- Judging ---- */

typedef struct found { int64_t worst, count; size_t wrong, folded; double at[2]; } found;

static int64_t place(uint32_t u) { return u >> 31 ? -(int64_t)(u & 0x7fffffff) : (int64_t)u; }
static double number(char letter, uint32_t u) { return letter == 'S' ? (double)(int32_t)u : (double)f32_of(u); }

static bool both_special(uint32_t got, float want, bool *same)
{
    const float g = f32_of(got);
    if (g != g || want != want) return *same = (g == g) == (want == want), true;
    if ((g != 0 || want != 0) && !(isinf(g) && isinf(want))) return false;
    return *same = got == bits_of(want), true;
}

/* What the functions promise nothing of: outside the interval, or lgamma's near its zeros, as CUDA's table has it. */
static bool promised(const struct row *t, double x, double y, double want)
{
    if (t->part == CJI_MATH_lgamma_f32) return !(x > -10.001 && x < -2.264);
    if (!(t->how & RELATIVE)) return true;
    if (t->how & POWER) return x > 0.001 && x < 1000 && fabs(y) < 10 && fabs(want) > 0x1p-100;
    return x >= t->least && x <= t->most;
}

static void judge(const struct row *t, char letter, double x, double y, uint32_t got, double want, found *r)
{
    bool same = true;
    int64_t e = 0;
    if (letter == 'S') {
        if (number('S', got) != want) r->wrong++;
        return;
    }
    if (!promised(t, x, y, want)) return;
    if (t->how & ABSOLUTE && f32_of(got) == 0) got = bits_of(copysignf(0, (float)want)); /* of either sign */
    if (both_special(got, (float)want, &same)) {
        if (!same) r->wrong++;
        return;
    }
    if (t->how & ABSOLUTE && isinf(f32_of(got)) != isinf((float)want)) r->wrong++;
    else if (t->how & (ABSOLUTE | RELATIVE)) {
        double unit_of = t->how & ABSOLUTE ? fmax(1, fabs(want)) : fabs(want);
        e = (int64_t)ceil(fabs(f32_of(got) - want) / unit_of * 0x1p34);
    } else e = llabs(place(got) - place(bits_of((float)want)));
    r->count += got != bits_of((float)want);
    if (e > r->worst) {
        r->worst = e;
        r->at[0] = x;
        r->at[1] = y;
    }
}

static bool same_f32(uint32_t a, uint32_t b) { return a == b || (f32_of(a) != f32_of(a) && f32_of(b) != f32_of(b)); }

/* ---- On the device ---- */

static void write_kernel(const struct row *t, cj_ptx *p)
{
    cj_val a[CJI_MATH_ARGS], r[CJI_MATH_ARGS];
    cj_fn *f = cj_ptx_kernel(p, "k");
    cj_val x = cj_param_ptr(f, "x", CJ_B32), y = cj_param_ptr(f, "y", CJ_B32);
    cj_val r0 = cj_param_ptr(f, "r0", CJ_B32), r1 = cj_param_ptr(f, "r1", CJ_B32);
    cj_val n = cj_param(f, "n", CJ_U32), i = cj_global_id(f, 0);
    cj_if(f, cj_lt(f, i, n));
    a[0] = cj_get(f, x, i);
    a[1] = cj_get(f, y, i);
    cji_math m = cji_math_begin(f, "functions_f32");
    cji_math_use(&m, t->part, a, r);
    cj_set(f, r0, i, r[0]);
    if (cji_math_results(t->part)[1]) cj_set(f, r1, i, r[1]);
    cj_end(f);
}

static uint32_t x[MANY], y[MANY], result[2][MANY];

/* The results of all operands by the kernel of p; false: the failure is in p or in s. */
static bool executed(cj_device *dev, cj_stream *s, cj_ptx *p, size_t n)
{
    cj_kernel *k = cj_kernel_load(dev, p, "k", NULL);
    if (!k) return false;
    cj_dptr d[4];
    for (size_t i = 0; i < 4; i++) d[i] = cj_alloc(s, 4 * n);
    cj_copy_to_device(s, d[0], x, 4 * n);
    cj_copy_to_device(s, d[1], y, 4 * n);
    cj_launch(s, k, cj_grid((unsigned)((n + 127) / 128), 128), d[0], d[1], d[2], d[3], (uint32_t)n);
    cj_copy_to_host(s, result[0], d[2], 4 * n);
    cj_copy_to_host(s, result[1], d[3], 4 * n);
    bool done = !cj_stream_sync(s);
    for (size_t i = 0; i < 4; i++) cj_free(dev, d[i]);
    cj_kernel_free(k);
    return done;
}

static bool fold_differs(const struct row *t, size_t i)
{
    const char *letters = cji_math_results(t->part);
    const uint64_t in[CJI_MATH_ARGS] = { x[i], y[i] };
    uint64_t out[CJI_MATH_ARGS];
    cji_math_bits(t->part, in, out);
    for (size_t q = 0; letters[q]; q++) {
        const uint32_t folded = (uint32_t)out[q];
        if (letters[q] == 'S' ? folded != result[q][i] : !same_f32(folded, result[q][i])) return true;
    }
    return false;
}

static size_t operands_of(const struct row *t)
{
    const size_t n = tap_is_slow() ? SLOW : t->how & FEW ? FEWER : MANY;
    state = UINT64_C(88172645463325252) + (size_t)(t - rows);
    for (size_t i = 0; i < n; i++) {
        if (cji_math_arguments(t->part)[1]) pair_of_operands(t, i, &x[i], &y[i]);
        else x[i] = single_operand(t, i, n);
    }
    return n;
}

static double wanted[MANY][2];

static void choose_wanted(const struct row *t, size_t n)
{
    const char *kinds = cji_math_arguments(t->part);
    wanted_f32_of *wants = wanted_f32(t->wants);
    for (size_t i = 0; i < n; i++)
        wants(number('F', x[i]), kinds[1] ? number(kinds[1], y[i]) : 0, wanted[i]);
}

static found judged(const struct row *t, size_t n)
{
    const char *letters = cji_math_results(t->part), *kinds = cji_math_arguments(t->part);
    found r = { 0 };
    for (size_t i = 0; i < n; i++) {
        const double a = number('F', x[i]), b = kinds[1] ? number(kinds[1], y[i]) : 0;
        for (size_t q = 0; letters[q]; q++) judge(t, letters[q], a, b, result[q][i], wanted[i][q], &r);
    }
    return r;
}

static void compare(cj_device *dev, cj_stream *s, const struct row *t, bool record)
{
    const bool slow = tap_is_slow();
    const size_t n = operands_of(t);
    cj_ptx *p = cj_ptx_create();
    write_kernel(t, p);
    const bool done = executed(dev, s, p, n);
    if (!done) tap_fail("%s: %s", t->name, cj_ptx_status(p) ? cj_error_of(p)->message : cj_error_of(s)->message);
    cj_ptx_free(p);
    if (!done) return;
    choose_wanted(t, n);
    found r = judged(t, n);
    for (size_t i = 0; i < n; i += 8) r.folded += fold_differs(t, i);
    if (record) tap_diag("%s, %lld, %lld", t->name, (long long)r.worst, (long long)r.count);
    tap_ok(r.wrong == 0, "%s: special values (%zu wrong)", t->name, r.wrong);
    tap_ok(r.folded == 0, "%s: the same bits on numbers (%zu differ)", t->name, r.folded);
    /* Valgrind's long double has 53 bits: references in it are rounded twice */
    const int64_t limit = t->how & ABSOLUTE ? 4 << 10 : t->limit + slow;
    const bool allowed = t->limit < 0 || r.worst <= limit;
    tap_ok(allowed && (slow || (r.worst <= t->worst && r.count == t->count)),
           "%s: greatest error %lld (recorded %lld) at %a %a, %lld results not the nearest (recorded %lld)", t->name,
           (long long)r.worst, (long long)t->worst, r.at[0], r.at[1], (long long)r.count, (long long)t->count);
}

/* ---- Faults: a special value is wrong, or another number of results is the nearest ---- */

typedef struct faults { cj_driver *drv; const struct row *t; size_t n; found right; } faults;

/* Each fault has a device of its own: it may end in a memory error. */
static bool shows(cj_ptx *p, void *context)
{
    const faults *c = context;
    cj_device *dev = cj_device_open(c->drv, 0, NULL);
    cj_stream *s = cj_stream_create(dev, NULL);
    const bool done = executed(dev, s, p, c->n);
    bool shown = !done;
    if (done) {
        const found r = judged(c->t, c->n);
        shown = r.wrong != c->right.wrong || r.worst > c->right.worst || r.count != c->right.count;
    }
    cj_stream_free(s);
    if (!done) cj_device_close(cj_device_reset(dev)); /* the fault may have ended the context */
    cj_device_close(dev);
    return shown;
}

static void try_faults(cj_driver *drv, const struct row *t)
{
    faults c = { drv, t, operands_of(t), { t->worst, t->count, 0, 0, { 0 } } };
    cj_ptx *p = cj_ptx_create();
    choose_wanted(t, c.n);
    write_kernel(t, p);
    text_mutants(p, t->name, strstr(t->name, "_rounded"), shows, &c);
    cj_ptx_free(p);
}

/* Where an error of a fast function is promised. */
static const char *interval_of(const struct row *t)
{
    static char text[60];
    if (!(t->how & RELATIVE)) return "all";
    if (t->how & POWER) return "x from 0.001 to 1000, y from -10 to 10, results above 2^-100";
    snprintf(text, sizeof text, "%g to %g", t->least, t->most);
    return text;
}

/* Function, type, form, unit, greatest error, CUDA's, number of arguments, their interval; errors that are relative are
 * in 2^-24. */
static void print_rows(void)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct row *t = &rows[i];
        const char *end = strstr(t->name, "_rounded") ? strstr(t->name, "_rounded") : strstr(t->name, "_fast");
        const int length = (int)(end ? end - t->name : (long)strlen(t->name));
        const bool ulp = !(t->how & (ABSOLUTE | RELATIVE));
        printf("%.*s f32 %s %s ", length, t->name, end ? end + 1 : "accurate",
               ulp ? "ulp" : t->how & ABSOLUTE ? "abs" : "rel");
        if (ulp) printf("%lld %lld %d\n", (long long)t->worst, (long long)t->limit, t->how & FEW ? FEWER : MANY);
        else printf("%.2f - %d %s\n", (double)t->worst / 1024, MANY, interval_of(t));
    }
}

static bool is_named(const char *name, int argc, char **argv)
{
    for (int i = 2; i < argc; i++)
        if (!strcmp(argv[i], name)) return true;
    return argc <= 2;
}

int main(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "table")) return print_rows(), 0;
    const bool faulty = argc > 1 && !strcmp(argv[1], "mutants");
    const bool record = argc > 1 && !strcmp(argv[1], "record");
    tap_plan(0);
    tap_timeout(faulty ? 7200 : 60);
    cj_driver *drv = cj_driver_open("sim");
    cj_device *dev = faulty ? NULL : cj_device_open(drv, 0, NULL);
    cj_stream *s = faulty ? NULL : cj_stream_create(dev, NULL);
    if (!faulty && !tap_ok(!cj_stream_sync(s), "the CPU device is there")) return tap_done();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (!is_named(rows[i].name, argc, argv)) continue;
        if (faulty) try_faults(drv, &rows[i]);
        else compare(dev, s, &rows[i], record);
    }
    if (!faulty) cj_stream_free(s);
    if (!faulty) cj_device_close(dev);
    cj_driver_close(drv);
    return tap_done();
}
