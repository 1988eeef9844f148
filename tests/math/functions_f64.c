/* Each part of src/ptx/math that is a function of f64: on the CPU device beside a reference in long double, and beside
 * the same function on numbers, bit for bit.  The greatest error, the number of results that are not the nearest and a
 * digest of all results are recorded: a change of one coefficient changes them.
 *
 * functions_f64 record     prints the recorded columns anew, in the order of the rows
 * functions_f64 table      prints the rows for docs/mathematics.md: see math_document.awk
 * functions_f64 mutants    puts faults into the kernels, one at a time, each of which the digest must show
 * Names behind the word choose rows. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cujit/cujit.h>

#include "ptx/math/math.h"
#include "tests/math/text_mutants.h"
#include "tests/math/wanted.h"
#include "tests/tap.h"

typedef long double wide;

/* ---- The functions ---- */

/* How the second operand is chosen, and how a result is judged. */
enum { ANY, NEAR = 1, POWER = 2, WHOLE = 4, ABSOLUTE = 8, TURNS = 16 };

static const struct row {
    const char *name;
    cji_math_part part;
    const char *wants;           /* the reference */
    double least, most;          /* an interval that half of the operands come from */
    unsigned how;
    int64_t limit;               /* CUDA's table; 0: exact */
    /* recorded: distance from the nearest, or error in 2^-63; results not the nearest; digest of the results */
    int64_t worst, count;
    uint32_t digest;
} rows[] = {
#define F1(name, least, most, how, limit, worst, count, digest) \
    { #name, CJI_MATH_##name##_f64, #name, least, most, how, limit, worst, count, digest },
    F1(exp, -750, 715, ANY, 1, 1, 3104, 0x4d943ba1)
    F1(exp2, -1080, 1030, ANY, 1, 1, 3366, 0x6ed1cca5)
    F1(exp10, -325, 310, ANY, 1, 1, 3704, 0x3bb4bc67)
    F1(expm1, -45, 710, ANY, 1, 1, 7312, 0x493c9428)
    F1(log, 0, 4, ANY, 1, 1, 4015, 0x41099c46)
    F1(log2, 0, 4, ANY, 1, 1, 4056, 0xa76bb27a)
    F1(log10, 0, 4, ANY, 1, 1, 6081, 0xbbc3c78b)
    F1(log1p, -1, 3, ANY, 1, 1, 3994, 0x619a57b6)
    F1(sin, -1e6, 1e6, TURNS, 2, 1, 11433, 0xe0898fda)
    F1(cos, -1e6, 1e6, TURNS, 2, 1, 11339, 0xf92c78cb)
    F1(tan, -1e4, 1e4, TURNS, 2, 1, 4510, 0x1b1a8148)
    F1(sincos, -1e3, 1e3, TURNS, 2, 1, 21614, 0xcea299a6)
    F1(sinpi, -4, 4, ANY, 2, 1, 2849, 0x8da0dd41)
    F1(cospi, -4, 4, ANY, 2, 1, 2777, 0x2b44437a)
    F1(sincospi, -4, 4, ANY, 2, 1, 3670, 0x0d39066f)
    F1(tanpi, -4, 4, ANY, 2, 1, 3968, 0x5ca81628)
    F1(asin, -1, 1, ANY, 2, 2, 12498, 0x5ccf70c5)
    F1(acos, -1, 1, ANY, 2, 1, 6792, 0xc891143b)
    F1(atan, -4, 4, ANY, 2, 2, 8838, 0xb6286153)
    F1(atan2, 0, 0, NEAR, 2, 2, 21634, 0xa3c4afeb)
    F1(sinh, -5, 5, ANY, 2, 2, 11453, 0xf3c3647f)
    F1(cosh, -711, 711, ANY, 1, 1, 5325, 0x999cf336)
    F1(tanh, -3, 3, ANY, 1, 1, 2261, 0x6dce2630)
    F1(asinh, -3, 3, ANY, 3, 2, 13233, 0x3ff0f860)
    F1(acosh, 1, 4, ANY, 3, 2, 8995, 0xee61c926)
    F1(atanh, -1, 1, ANY, 2, 2, 12242, 0xadb036a4)
    F1(erf, -6, 6, ANY, 2, 1, 9107, 0x395e0bf9)
    F1(erfc, -2, 27.5, ANY, 5, 4, 28891, 0x6782c00f)
    F1(erfcx, -26, 27, ANY, 4, 3, 25068, 0xff92567b)
    F1(normcdf, -38, 5, ANY, 5, 4, 28419, 0x2d1146b9)
    F1(cbrt, -8, 8, ANY, 1, 1, 11860, 0xded29533)
    F1(rcbrt, -8, 8, ANY, 1, 1, 11341, 0xa3b231bd)
    F1(rsqrt, 0, 8, ANY, 1, 1, 39, 0x913a263d)
    F1(hypot, 0, 0, NEAR, 2, 1, 4562, 0x59e5600d)
    F1(rhypot, 0, 0, NEAR, 1, 1, 12387, 0x45ed3e93)
    F1(pow, 0, 0, POWER, 2, 1, 6353, 0xc7d30e2b)
    F1(pown, 0, 0, WHOLE, 2, 1, 1251, 0x63528002)
    F1(fmod, 0, 0, NEAR, 0, 0, 0, 0x54c4632b)
    F1(remainder, 0, 0, NEAR, 0, 0, 0, 0x054eb1f0)
    F1(remquo, 0, 0, NEAR, 0, 0, 0, 0xae57f551)
    F1(round, -9, 9, ANY, 0, 0, 0, 0xfe3aa6a8)
    F1(rint, -9, 9, ANY, 0, 0, 0, 0xa480b23a)
    F1(modf, -99, 99, ANY, 0, 0, 0, 0x7f12ae86)
    F1(frexp, -9, 9, ANY, 0, 0, 0, 0x76c4aa51)
    F1(ldexp, 0, 0, WHOLE, 0, 0, 0, 0xe1013f3b)
    F1(logb, -9, 9, ANY, 0, 0, 0, 0x4df4db4f)
    F1(ilogb, -9, 9, ANY, 0, 0, 0, 0x57683fea)
    F1(nextafter, 0, 0, NEAR, 0, 0, 0, 0xac641538)
    F1(fdim, 0, 0, NEAR, 0, 0, 0, 0xa47a1ed3)
    F1(copysign, 0, 0, NEAR, 0, 0, 0, 0xdd123372)
    F1(sigmoid, -40, 40, ABSOLUTE, 0, 1535, 0, 0x27c642b5)
    F1(silu, -40, 40, ABSOLUTE, 0, 2496, 0, 0x8118ab39)
    F1(gelu, -10, 10, ABSOLUTE, 0, 1928, 0, 0x17938c29)
    F1(gelu_tanh, -6, 6, ABSOLUTE, 0, 2791, 0, 0x225234ca)
    F1(softplus, -40, 40, ABSOLUTE, 0, 1719, 0, 0x877443ba)
    F1(erfinv, -1, 1, ANY, 5, 2, 20397, 0x1d27dcd1)
    F1(erfcinv, 0, 2, ANY, 6, 3, 18333, 0x019fb7b4)
    F1(normcdfinv, 0, 1, ANY, 8, 4, 28811, 0x849d21c9)
    F1(lgamma, -20, 20, ANY, 4, 2, 2821, 0x04f3d89d)
    { "lgamma near its zeros", CJI_MATH_lgamma_f64, "lgamma", -10.0001, -2.264, ABSOLUTE, 0, 2088, 0,
      0x57a2c603 },
    F1(tgamma, -190, 180, ANY, 10, 3, 15775, 0x00db376f)
#undef F1
};

/* Zeros, subnormals, thresholds, halves, and those next to multiples of pi/2. */
static const uint64_t hard[] = {
    0, 1, 2, 0xfffffffffffffu, 0x10000000000000u, 0x3ff0000000000000u, 0x3fefffffffffffffu, 0x3ff0000000000001u,
    0x7fefffffffffffffu, 0x7ff0000000000000u, 0x7ff8000000000000u, 0x4000000000000000u, 0x3fe0000000000000u,
    0x3fdfffffffffffffu, 0x4008000000000000u, 0x3ff8000000000000u, 0x4004000000000000u, 0x4330000000000000u,
    0x4330000000000001u, 0x432ffffffffffffeu, 0x4340000000000000u, 0x4350000000000000u, 0x4340000000000001u,
    0x3fd0000000000000u, 0x4086232bdd7abcd2u, 0x40862e42fefa39efu, 0x40862e42fefa39f0u, 0x7506ac5b262ca1ffu,
    0x3ff921fb54442d18u, 0x400921fb54442d18u, 0x41d921fb54442d18u, 0x41e0000000000000u, 0x41e0000000000001u,
    0x6ce6ac5b262ca1ffu, 0x4024000000000000u, 0x7fe0000000000000u, 0x5fe0000000000000u, 0x1fe0000000000000u
};
static const int32_t hard_whole[] = {
    0, 1, -1, 2, -2, 3, 1023, 1024, -1022, -1023, -1074, -1075, 2098, -2098, 2097, -2097, 52, 53, -53, INT32_MAX,
    INT32_MIN, INT32_MAX - 1, INT32_MIN + 1, 0x1000001, -0x1000001, 255, 216, 217, -216, -217, -218, 1 << 30, 7, -7,
    1000, -1000, 5000, -5000
};
/* Operands with the greatest errors among 8.4 million: they come last. */
static const struct { const char *name; double x, y; } far_off[] = {
    { "atan", -0x1.0bed1b5b8688cp0, 0 }, { "sinh", 0x1.9d2e558e2dd24p-2, 0 }, { "erfc", 0x1.82af86b7b13abp4, 0 },
    { "erfcx", 0x1.35be372d2f4aep10, 0 }, { "erfcx", 0x1.23b5adf89be0fp+11, 0 }, { "normcdf", -0x1.023e82acc4dfp5, 0 },
    { "normcdf", -0x1.50125fdb6d4e1p-15, 0 }, { "rhypot", 0x1.6c9a9659a2ef6p-643, -0x1.6ce53386df358p-643 },
    { "normcdfinv", 0x1.c36d69fe7cd6ap-15, 0 }, { "tgamma", -0x1.b1f1402bc8918p6, 0 },
    { "lgamma", 0x1.836f7a80bf549p-2, 0 }, { "sigmoid", 0x1.091da7edcaf0ap4, 0 }, { "silu", 0x1.4e8146a5e8c08p0, 0 },
    { "gelu", 0x1.2ca19e6390832p0, 0 }, { "gelu_tanh", 0x1.3025be060baa8p0, 0 },
    { "softplus", 0x1.29c62624c27ap-1, 0 }
};

enum { HARD = sizeof hard / sizeof *hard, MANY = 100000, SLOW = 2000 };
enum { DOUBTFUL = 100 };      /* references that are nearly between two doubles: C libraries differ in their last bit */
_Static_assert(sizeof hard_whole / sizeof *hard_whole == HARD, "one for each hard operand");

/* ---- Operands ---- */

static uint64_t state;

static uint64_t draw(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state * 2685821657736338717u;
}

static double unit(void) { return (double)(draw() >> 11) * 0x1p-53; }

static double f64_of(uint64_t u)
{
    double x;
    memcpy(&x, &u, sizeof x);
    return x;
}

static uint64_t bits_of(double x)
{
    uint64_t u;
    memcpy(&u, &x, sizeof u);
    return u;
}

/* The double next to a multiple of pi/2 below 2^31: its reduction cancels most bits. */
static double near_multiple(void)
{
    const double k = (double)(draw() % 1367130551u);
    return fma(k, 0x1.921fb54442d18p0, k * 0x1.1a62633145c07p-54);
}

/* Hard ones with both signs, each exponent, the interval, exponents around 1, all bit patterns. */
static uint64_t single_operand(const struct row *t, size_t i, size_t n)
{
    const uint64_t u = draw(), tail = u & 0x800fffffffffffffu;
    if (i < 2 * HARD) return hard[i / 2] | (uint64_t)(i & 1) << 63;
    if (t->how & TURNS && i % 16 == 5) return bits_of(near_multiple()) | (u & (uint64_t)1 << 63);
    if (i < n / 8) return tail | (uint64_t)(i % 2047) << 52;
    if (i & 1) return bits_of(t->least + (t->most - t->least) * unit());
    return i & 2 ? tail | (993 + draw() % 44) << 52 : u;
}

/* About the logarithm of |x| to the base 2, with the same bits everywhere. */
static double about_log2(double x)
{
    return (double)((int64_t)(bits_of(x) & INT64_MAX) - 0x3ff0000000000000) * 0x1p-52;
}

/* Whole exponents: some are near the limits of the result. */
static void whole_operands(const struct row *t, size_t i, uint64_t *x, uint64_t *y)
{
    *y = (uint32_t)((int)(draw() % 4400) - 2200);
    if (i % 8 == 1) *x = bits_of(1 + (unit() - 0.5) * 0x1p-8);
    if (i % 8 == 2 && t->part == CJI_MATH_ldexp_f64) /* the result is subnormal, or nearly */
        *y = (uint32_t)(-1060 - (int)(*x >> 52 & 2047) + 1023 + (int)(draw() % 40));
    if (i % 8 == 3 && t->part == CJI_MATH_pown_f64)
        *y = (uint32_t)(int32_t)((2 * unit() - 1) * 1080 / fmax(1, fabs(about_log2(f64_of(*x)))));
}

/* The power's result is mostly finite. */
static void power_operands(size_t i, uint64_t *x, uint64_t *y)
{
    *x = i & 1 ? 0x3ff0000000000000u - (*x & 0x3fffffffffffffu) : *x & INT64_MAX;
    if (i % 8 == 2) *x = 0x3ff0000000000000u + (draw() >> 30) - (1u << 31);
    *y = bits_of(i % 8 == 6 ? (double)(int)(draw() % 61) - 30 : (2 * unit() - 1) * 1080 / about_log2(f64_of(*x)));
    if (i % 8 == 6) *x |= draw() & (uint64_t)1 << 63;
}

static void pair_of_operands(const struct row *t, size_t i, uint64_t *x, uint64_t *y)
{
    const size_t k = i / 2 / HARD;
    *x = draw();
    *y = draw();
    if (i < 4 * HARD * HARD) {
        *x = hard[i / 2 % HARD] | (uint64_t)(i & 1) << 63;
        *y = t->how & WHOLE ? (uint32_t)hard_whole[k / 2] : hard[k / 2] | (uint64_t)(k & 1) << 63;
    } else if (t->how & WHOLE) whole_operands(t, i, x, y);
    else if (t->how & POWER) power_operands(i, x, y);
    else if (i & 1) { /* exponents near each other */
        const uint64_t wide_apart = i & 2 ? 7 : 127, apart = draw() & wide_apart;
        *y = (*x & 0x7ff0000000000000u) + ((apart - wide_apart / 2) << 52) + (*y & 0x800fffffffffffffu);
    }
}

/* ---- Judging ---- */

typedef struct found { int64_t worst, count; uint64_t digest; size_t wrong, folded; double at[2]; } found;

static int64_t place(uint64_t u) { return u >> 63 ? -(int64_t)(u & INT64_MAX) : (int64_t)u; }
static double number(char letter, uint64_t u) { return letter == 'S' ? (double)(int32_t)(uint32_t)u : f64_of(u); }
static bool same_f64(uint64_t a, uint64_t b) { return a == b || (f64_of(a) != f64_of(a) && f64_of(b) != f64_of(b)); }

static bool both_special(uint64_t got, double want, bool *same)
{
    const double g = f64_of(got);
    if (g != g || want != want) return *same = (g == g) == (want == want), true;
    if ((g != 0 || want != 0) && !(isinf(g) && isinf(want))) return false;
    return *same = got == bits_of(want), true;
}

/* Near its zeros lgamma's error is absolute, as in CUDA's table: the interval that has many, and others near poles. */
static bool promised_of(const struct row *t, double x, wide want)
{
    if (t->part != CJI_MATH_lgamma_f64 || t->how & ABSOLUTE) return true;
    return !(x > -10.0001 && x < -2.264) && (x > 0 || fabsl(want) > 0x1p-6L);
}

static void judge(const struct row *t, char letter, double x, double y, uint64_t got, wide want, found *r)
{
    bool same = true;
    int64_t e = 0;
    if (t->how & ABSOLUTE && isinf(f64_of(got)) != isinf((double)want)) {
        r->wrong++;
        return;
    }
    if (letter == 'S') {
        if (number('S', got) != (double)want) r->wrong++;
        return;
    }
    if (t->how & ABSOLUTE && f64_of(got) == 0) got = bits_of(copysign(0, (double)want)); /* of either sign */
    if (both_special(got, (double)want, &same)) {
        if (!same && !r->wrong++) tap_diag("%s(%a, %a) = %a, wants %La", t->name, x, y, f64_of(got), want);
        return;
    }
    if (!promised_of(t, x, want)) return;
    if (t->how & ABSOLUTE) e = (int64_t)ceill(fabsl(f64_of(got) - want) / fmaxl(1, fabsl(want)) * 0x1p63L);
    else {
        e = llabs(place(got) - place(bits_of((double)want)));
        r->count += e != 0;
    }
    if (e > r->worst) {
        r->worst = e;
        r->at[0] = x;
        r->at[1] = y;
    }
}

/* Of the bits, which are those of one NaN for all. */
static uint64_t digested(uint64_t digest, char letter, uint64_t u)
{
    if (letter == 'D' && f64_of(u) != f64_of(u)) u = 0x7ff8000000000000u;
    return (digest ^ u) * 0x9e3779b97f4a7c15u ^ digest >> 29;
}

/* ---- On the device ---- */

/* What memory has 64 bits of is a register of a part, and back. */
static cj_val register_of(cj_fn *f, char letter, cj_val v)
{
    return letter == 'D' ? v : cj_bits(f, CJ_B32, cj_cvt(f, CJ_U32, cj_bits(f, CJ_U64, v)));
}

static cj_val element_of(cj_fn *f, char letter, cj_val v)
{
    return letter == 'D' ? v : cj_bits(f, CJ_B64, cj_cvt(f, CJ_U64, cj_bits(f, CJ_U32, v)));
}

static void write_kernel(const struct row *t, cj_ptx *p)
{
    const char *letters = cji_math_results(t->part), *kinds = cji_math_arguments(t->part);
    cj_val a[CJI_MATH_ARGS], r[CJI_MATH_ARGS];
    cj_fn *f = cj_ptx_kernel(p, "k");
    cj_val x = cj_param_ptr(f, "x", CJ_B64), y = cj_param_ptr(f, "y", CJ_B64);
    cj_val r0 = cj_param_ptr(f, "r0", CJ_B64), r1 = cj_param_ptr(f, "r1", CJ_B64);
    cj_val n = cj_param(f, "n", CJ_U32), i = cj_global_id(f, 0);
    cj_if(f, cj_lt(f, i, n));
    a[0] = cj_get(f, x, i);
    if (kinds[1]) a[1] = register_of(f, kinds[1], cj_get(f, y, i));
    cji_math m = cji_math_begin(f, "functions_f64");
    cji_math_use(&m, t->part, a, r);
    cj_set(f, r0, i, element_of(f, letters[0], r[0]));
    if (letters[1]) cj_set(f, r1, i, element_of(f, letters[1], r[1]));
    cj_end(f);
}

static uint64_t x[MANY], y[MANY], result[2][MANY];

/* The results of all operands by the kernel of p; false: the failure is in p or in s. */
static bool executed(cj_device *dev, cj_stream *s, cj_ptx *p, size_t n)
{
    cj_kernel *k = cj_kernel_load(dev, p, "k", NULL);
    if (!k) return false;
    cj_dptr d[4];
    for (size_t i = 0; i < 4; i++) d[i] = cj_alloc(s, 8 * n);
    cj_copy_to_device(s, d[0], x, 8 * n);
    cj_copy_to_device(s, d[1], y, 8 * n);
    cj_launch(s, k, cj_grid((unsigned)((n + 127) / 128), 128), d[0], d[1], d[2], d[3], (uint32_t)n);
    cj_copy_to_host(s, result[0], d[2], 8 * n);
    cj_copy_to_host(s, result[1], d[3], 8 * n);
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
        const uint64_t device = result[q][i];
        if (letters[q] == 'S' ? (uint32_t)out[q] != (uint32_t)device : !same_f64(out[q], device)) return true;
    }
    return false;
}

static void choose_operands(const struct row *t, size_t n)
{
    state = UINT64_C(88172645463325252) + (size_t)(t - rows);
    for (size_t i = 0; i < n; i++) {
        if (cji_math_arguments(t->part)[1]) pair_of_operands(t, i, &x[i], &y[i]);
        else x[i] = single_operand(t, i, n);
    }
    for (size_t k = 0, last = n; k < sizeof far_off / sizeof *far_off; k++) {
        if (strcmp(far_off[k].name, t->name) != 0) continue;
        x[--last] = bits_of(far_off[k].x);
        y[last] = bits_of(far_off[k].y);
    }
}

static void compare(cj_device *dev, cj_stream *s, const struct row *t, bool record)
{
    const char *letters = cji_math_results(t->part), *kinds = cji_math_arguments(t->part);
    const bool slow = tap_is_slow(), compared = !tap_under_valgrind(); /* whose long double has 53 bits */
    const size_t n = slow ? SLOW : MANY;
    wanted_f64_of *wants = wanted_f64(t->wants);
    found r = { 0 };
    choose_operands(t, n);
    cj_ptx *p = cj_ptx_create();
    write_kernel(t, p);
    const bool done = executed(dev, s, p, n);
    if (!done) tap_fail("%s: %s", t->name, cj_ptx_status(p) ? cj_error_of(p)->message : cj_error_of(s)->message);
    cj_ptx_free(p);
    if (!done) return;
    for (size_t i = 0; i < n; i++) {
        const double a = f64_of(x[i]), b = kinds[1] ? number(kinds[1], y[i]) : 0;
        wide want[2];
        if (compared) wants(a, b, want);
        for (size_t q = 0; letters[q]; q++) {
            if (compared) judge(t, letters[q], a, b, result[q][i], want[q], &r);
            r.digest = digested(r.digest, letters[q], result[q][i]);
        }
        if (i % 8 == 0) r.folded += fold_differs(t, i);
    }
    if (record) tap_diag("%s, %lld, %lld, 0x%08x", t->name, (long long)r.worst, (long long)r.count,
                         (unsigned)(r.digest >> 32));
    tap_ok(r.folded == 0, "%s: the same bits on numbers (%zu differ)", t->name, r.folded);
    if (!slow) tap_is_uint(r.digest >> 32, t->digest, "%s: the results are those recorded", t->name);
    if (!compared) return;
    tap_ok(r.wrong == 0, "%s: special values (%zu wrong)", t->name, r.wrong);
    const bool allowed = t->how & ABSOLUTE ? r.worst <= 4 << 10 : r.worst <= t->limit;
    tap_ok(allowed && (slow || (r.worst <= t->worst && llabs(r.count - t->count) <= DOUBTFUL)),
           "%s: greatest error %lld (recorded %lld) at %a %a, %lld results not the nearest (recorded %lld)", t->name,
           (long long)r.worst, (long long)t->worst, r.at[0], r.at[1], (long long)r.count, (long long)t->count);
}

/* ---- Faults: a result, and so the digest, is another one ---- */

typedef struct faults { cj_driver *drv; const struct row *t; } faults;

static uint64_t right[2][MANY];

/* Each fault has a device of its own: it may end in a memory error. */
static bool executed_apart(cj_driver *drv, cj_ptx *p, size_t n)
{
    cj_device *dev = cj_device_open(drv, 0, NULL);
    cj_stream *s = cj_stream_create(dev, NULL);
    const bool done = executed(dev, s, p, n);
    cj_stream_free(s);
    if (!done) cj_device_close(cj_device_reset(dev));
    cj_device_close(dev);
    return done;
}

/* Most faults show in the first operands. */
static bool shows(cj_ptx *p, void *context)
{
    const faults *c = context;
    const char *letters = cji_math_results(c->t->part);
    for (size_t n = MANY / 20, from = 0; from < MANY; from = n, n = MANY) {
        if (!executed_apart(c->drv, p, n)) return true;
        for (size_t q = 0; letters[q]; q++)
            for (size_t i = from; i < n; i++) {
                const uint64_t got = result[q][i], want = right[q][i];
                if (letters[q] == 'S' ? got != want : !same_f64(got, want)) return true;
            }
    }
    return false;
}

static void try_faults(cj_driver *drv, const struct row *t)
{
    faults c = { drv, t };
    choose_operands(t, MANY);
    cj_ptx *p = cj_ptx_create();
    write_kernel(t, p);
    tap_ok(executed_apart(drv, p, MANY), "%s: without a fault", t->name);
    memcpy(right, result, sizeof right);
    text_mutants(p, t->name, strchr(t->name, ' '), shows, &c); /* a second row has few operands for some */
    cj_ptx_free(p);
}

/* Function, type, form, unit, greatest error, CUDA's, number of arguments; absolute errors are in 2^-53. */
static void print_rows(void)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct row *t = &rows[i];
        const char *near = strchr(t->name, ' '); /* lgamma near its zeros: not its own row */
        if (near) continue;
        printf("%s f64 accurate %s ", t->name, t->how & ABSOLUTE ? "abs" : "ulp");
        if (t->how & ABSOLUTE) printf("%.2f - %d\n", (double)t->worst / 1024, MANY);
        else printf("%lld %lld %d\n", (long long)t->worst, (long long)t->limit, MANY);
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
