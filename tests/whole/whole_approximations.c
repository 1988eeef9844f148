/* Whole ranges of the approximate instructions: a digest of the results of all 2^32 operands, of f16 and bf16 of all
 * 2^16, of f64 of all upper words.
 *
 *     whole_approximations            the device of $CUJIT_DRIVER against tests/oracle/whole_approximations.txt. The
 *                                     CPU device computes a sample, a GPU or CUJIT_TEST_ALL=1 everything
 *     whole_approximations --digests  prints what belongs into that file: of the samples, or of everything
 *     whole_approximations --errors [MNEMONIC]
 *                                     prints the rows of the table in docs/semantics.md: the greatest distance from
 *                                     what the C library gives in double, rounded to the nearest
 *
 * A digest is the sum of the results, each times an odd number made of its operand. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cujit/cujit.h>

#include "tests/tap.h"

enum { SAMPLE_STEP = 32771, SAMPLE = 1 << 17, OTHER_STEP = 4099, PART = 1 << 23, LINE_SIZE = 100 };
enum { EACH = 4, BLOCK = 128 }; /* results of a thread, threads of a block */
#define FACTOR 0x9e3779b1u

typedef double (*reference)(double);
typedef struct form {
    const char *mnemonic;
    unsigned bits;              /* of an operand */
    reference of;
    bool ftz;
} form;

/* The C library takes long for operands whose results are certain. */
static double one_over(double x) { return 1 / x; }
static double root(double x) { return x < 0 ? NAN : sqrt(x); }
static double one_over_root(double x) { return x == 0 ? copysign(INFINITY, x) : x < 0 ? NAN : 1 / sqrt(x); }
static double log_2(double x) { return x == 0 ? -INFINITY : x < 0 ? NAN : log2(x); }
static double exp_2(double x) { return fabs(x) < 0x1p-27 ? 1 : x < -200 ? 0 : x > 200 ? INFINITY : exp2(x); }
static double sine(double x) { return fabs(x) < 0x1p-27 ? x : sin(x); }
static double cosine(double x) { return fabs(x) < 0x1p-27 ? 1 : cos(x); }
static double tangent(double x) { return fabs(x) < 0x1p-14 ? x : fabs(x) > 20 ? copysign(1, x) : tanh(x); }

#define BOTH(op, of) { op ".approx.f32", 32, of, false }, { op ".approx.ftz.f32", 32, of, true }
static const form forms[] = {
    BOTH("rcp", one_over),
    BOTH("sqrt", root),
    BOTH("rsqrt", one_over_root),
    BOTH("lg2", log_2),
    BOTH("ex2", exp_2),
    BOTH("sin", sine),
    BOTH("cos", cosine),
    { "tanh.approx.f32", 32, tangent, false },
    { "rcp.approx.ftz.f64", 64, one_over, true },
    { "rsqrt.approx.ftz.f64", 64, one_over_root, true },
    { "ex2.approx.f16", 16, exp_2, false },
    { "ex2.approx.ftz.bf16", 16, exp_2, true },
    { "tanh.approx.f16", 16, tangent, false },
    { "tanh.approx.bf16", 16, tangent, false },
};

typedef struct machine { cj_driver *drv; cj_device *dev; cj_stream *s; cj_dptr out; uint32_t *host; } machine;

/* -- On the device ------------------------------------------------------------------------------------------------- */

/* The result's bits for the operand's; of f64 the upper words, whose lower ones are zeros. */
static cj_val apply(cj_fn *f, const form *x, cj_val bits)
{
    cj_val u = cj_reg(f, CJ_U32);
    if (x->bits == 32) {
        cj_val a = cj_reg(f, CJ_F32);
        cj_ins(f, "mov.b32", a, bits);
        cj_ins(f, "mov.b32", u, cj_def(f, x->mnemonic, a));
    } else if (x->bits == 64) {
        cj_val a = cj_reg(f, CJ_F64), wide = cj_reg(f, CJ_B64);
        cj_ins(f, "shl.b64", wide, cj_cvt(f, CJ_U64, bits), 32);
        cj_ins(f, "mov.b64", a, wide);
        cj_ins(f, "mov.b64", wide, cj_def(f, x->mnemonic, a));
        cj_ins(f, "shr.b64", wide, wide, 32);
        cj_ins(f, "cvt.u32.u64", u, wide);
    } else {
        cj_val a = cj_reg(f, CJ_B16), r = cj_reg(f, CJ_B16);
        cj_ins(f, "cvt.u16.u32", a, bits);
        cj_ins(f, x->mnemonic, r, a);
        cj_ins(f, "cvt.u32.u16", u, r);
    }
    return u;
}

/* Thread t adds weight(x) f(x) of x = step (t + threads n), n below `rounds`, to the sum. */
static cj_ptx *build_digest(const form *x)
{
    cj_ptx *m = cj_ptx_create();
    cj_fn *f = cj_ptx_kernel(m, "digest");
    cj_val sum = cj_param_ptr(f, "sum", CJ_U64), step = cj_param(f, "step", CJ_U32);
    cj_val rounds = cj_param(f, "rounds", CJ_U32);
    cj_val own = cj_let(f, CJ_U64, 0), at = cj_let(f, CJ_U32, cj_mul(f, cj_global_id(f, CJ_X), step));
    cj_val stride = cj_mul(f, cj_global_size(f, CJ_X), step);
    cj_for(f, 0, rounds, 1);
    cj_val weight = cj_or(f, cj_mul(f, at, FACTOR), 1);
    cj_ins(f, "mad.wide.u32", own, apply(f, x, at), weight, own);
    cj_assign(f, at, cj_add(f, at, stride));
    cj_end(f);
    cj_atomic_add(f, cj_at(f, sum, 0), own);
    return m;
}

/* out[i] = f(first + step i), EACH of a thread */
static cj_ptx *build_results(const form *x)
{
    cj_ptx *m = cj_ptx_create();
    cj_fn *f = cj_ptx_kernel(m, "results");
    cj_val out = cj_param_ptr(f, "out", CJ_U32), first = cj_param(f, "first", CJ_U32);
    cj_val step = cj_param(f, "step", CJ_U32), i = cj_mul(f, cj_global_id(f, CJ_X), EACH), v[EACH];
    for (int j = 0; j < EACH; j++) v[j] = apply(f, x, cj_add(f, first, cj_mul(f, cj_add(f, i, j), step)));
    cj_ins(f, "st.global.v4.u32", cj_at(f, out, i), cj_vec(f, v[0], v[1], v[2], v[3]));
    return m;
}

static cj_kernel *kernel_of(machine *c, cj_ptx *m, const char *name)
{
    cj_kernel *k = cj_kernel_load(c->dev, m, name, NULL);
    cj_ptx_free(m);
    return k;
}

static void wait_for(machine *c)
{
    if (cj_stream_sync(c->s)) tap_bail("%s", cj_error_of(c->s)->message);
}

/* Of `count` operands, at most 2^32; threads and rounds are powers of two, as it is. */
static uint64_t digest(machine *c, const form *x, uint32_t step, uint64_t count)
{
    uint32_t threads = (uint32_t)(count > 1u << 28 ? 1u << 18 : count >> 10);
    cj_kernel *k = kernel_of(c, build_digest(x), "digest");
    uint64_t sum = 0;
    cj_fill8(c->s, c->out, 0, sizeof sum);
    uint32_t block = BLOCK < threads ? BLOCK : threads, rounds = (uint32_t)(count / threads);
    cj_launch(c->s, k, cj_threads(threads, block), c->out, step, rounds);
    cj_copy_to_host(c->s, &sum, c->out, sizeof sum);
    wait_for(c);
    cj_kernel_free(k);
    return sum;
}

static uint64_t operands_of(const form *x) { return UINT64_C(1) << (x->bits == 16 ? 16 : 32); }

/* -- Digests ------------------------------------------------------------------------------------------------------- */

/* "MNEMONIC STEP COUNT", then the digest; compared where something is recorded. */
static void treat(machine *c, const form *x, uint32_t step, uint64_t count, const char *recorded)
{
    char line[LINE_SIZE] = "\n"; /* "sqrt" is in "rsqrt" */
    snprintf(line + 1, sizeof line - 1, "%s %" PRIu32 " %" PRIu64 " %016" PRIx64, x->mnemonic, step, count,
             digest(c, x, step, count));
    if (recorded) tap_ok(strstr(recorded, line) != NULL, "%s is recorded", line + 1);
    else puts(line + 1);
}

static void treat_all(machine *c, const char *recorded, bool whole)
{
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        if (forms[i].bits != 16) treat(c, &forms[i], SAMPLE_STEP, SAMPLE, recorded);
        if (whole || forms[i].bits == 16) treat(c, &forms[i], 1, operands_of(&forms[i]), recorded);
    }
}

/* -- Errors -------------------------------------------------------------------------------------------------------- */

/* What is measured of the forms that begin so: the distance of integers, or the absolute error. The last row is of the
 * forms that have no other. */
static const struct measure {
    const char *begins, *range;
    double least, most;         /* magnitudes of operands that count */
    bool absolute;
} measures[] = {
    { "lg2.", "(0.5, 2)", 0x1.000002p-1, 0x1.fffffep0, true },
    { "lg2.", "at least 2", 2, INFINITY, false },
    { "lg2.", "at most 0.5", 0, 0.5, false },
    { "sin.", "[-pi, pi]", 0, 0x1.921fb6p1, true },
    { "sin.", "[-100 pi, 100 pi]", 0, 0x1.3a28c4p8, true },
    { "cos.", "[-pi, pi]", 0, 0x1.921fb6p1, true },
    { "cos.", "[-100 pi, 100 pi]", 0, 0x1.3a28c4p8, true },
    { "", "all", 0, INFINITY, false },
};
enum { MEASURES = sizeof measures / sizeof *measures };

/* Binades of f32 and f64 of which every operand is measured, by the exponent that is stored; of the others, which have
 * the same errors or less, every OTHER_STEPth one. Where not `both`, negative operands are among the others. Of f16 and
 * bf16 all operands are measured. */
static const struct {
    const char *begins;
    short from, to;
    bool both;
} binades[] = {
    { "rcp.approx.f32", 0, 2, true },
    { "rcp.approx.f32", 126, 128, true },
    { "rcp.approx.f32", 252, 254, true },
    { "rcp.approx.ftz.f32", 0, 2, true },
    { "rcp.approx.ftz.f32", 126, 128, true },
    { "rcp.approx.ftz.f32", 252, 254, true },
    { "sqrt.", 0, 2, false },
    { "sqrt.", 126, 129, false },
    { "sqrt.", 253, 254, false },
    { "rsqrt.approx.f32", 0, 2, false },
    { "rsqrt.approx.f32", 126, 129, false },
    { "rsqrt.approx.ftz.f32", 0, 2, false },
    { "rsqrt.approx.ftz.f32", 126, 129, false },
    { "lg2.", 0, 1, false },
    { "lg2.", 117, 136, false },
    { "lg2.", 253, 254, false },
    { "ex2.", 120, 134, true },
    { "sin.", 117, 135, false },
    { "cos.", 117, 135, false },
    { "tanh.", 112, 131, false },
    { "rcp.approx.ftz.f64", 0, 2, true },
    { "rcp.approx.ftz.f64", 1022, 1025, true },
    { "rcp.approx.ftz.f64", 2044, 2046, true },
    { "rsqrt.approx.ftz.f64", 0, 2, false },
    { "rsqrt.approx.ftz.f64", 1022, 1025, false },
};

static bool begins_so(const form *x, const char *begins) { return !strncmp(x->mnemonic, begins, strlen(begins)); }

static bool is_whole(const form *x, int exponent, bool minus)
{
    for (size_t i = 0; i < sizeof binades / sizeof *binades; i++)
        if (begins_so(x, binades[i].begins) && exponent >= binades[i].from && exponent <= binades[i].to)
            if (!minus || binades[i].both) return true;
    return x->bits == 16;
}

typedef struct greatest { double error; uint32_t at; } greatest;

static bool is_bf(const form *x) { return strstr(x->mnemonic, "bf16") != NULL; }

/* Bits as a number; of f64 an upper word. */
static double value_of(const form *x, uint32_t bits)
{
    uint64_t wide = (uint64_t)bits << 32;
    float f;
    double d;
    if (x->bits == 64) return memcpy(&d, &wide, sizeof d), d;
    if (x->bits == 16 && !is_bf(x)) {
        int e = (int)(bits >> 10 & 31), m = (int)(bits & 1023);
        double v = e == 31 ? m ? NAN : INFINITY : ldexp(e ? m + 1024 : m, (e ? e : 1) - 25);
        return bits >> 15 ? -v : v;
    }
    if (x->bits == 16) bits <<= 16;
    memcpy(&f, &bits, sizeof f);
    return f;
}

/* The bits of the nearest number, by those of f64: `m` of its mantissa, exponents from `least` to `most`. */
static uint32_t narrowed(double v, int m, int least, int most)
{
    double a = fabs(v);
    int e = a > 0 && a < INFINITY ? ilogb(a) : 0;
    if (e < least) e = least;
    double n = a < INFINITY ? nearbyint(ldexp(a, m - e)) : 0;
    uint32_t bits = n >= ldexp(1, m) ? (uint32_t)((e - least) << m) + (uint32_t)n : (uint32_t)n;
    uint32_t inf = (uint32_t)(most - least + 2) << m;
    if (bits > inf || a == INFINITY) bits = inf;
    return bits | (uint32_t)(signbit(v) != 0) << 15;
}

static uint32_t nearest(const form *x, double v)
{
    if (x->bits == 16) return is_bf(x) ? narrowed(v, 7, -126, 127) : narrowed(v, 10, -14, 15);
    float f = (float)v;
    uint32_t bits;
    uint64_t wide;
    memcpy(&bits, &f, sizeof bits);
    memcpy(&wide, &v, sizeof wide);
    return x->bits == 32 ? bits : (uint32_t)((wide + 0x7fffffff + (wide >> 32 & 1)) >> 32);
}

/* Integers in the order of the numbers; with .ftz subnormal numbers are zeros, and the least normal one is next. */
static int64_t place_of(const form *x, uint32_t bits)
{
    uint32_t sign = x->bits == 16 ? 0x8000 : 0x80000000, m = bits & (sign - 1);
    uint32_t least = x->bits == 64 ? 1u << 20 : x->bits == 32 ? 1u << 23 : is_bf(x) ? 1u << 7 : 1u << 10;
    if (x->ftz) m = m < least ? 0 : m - least + 1;
    return bits & sign ? -(int64_t)m : (int64_t)m;
}

static void measure_one(const form *x, uint32_t at, uint32_t got, const bool *counts, greatest *g)
{
    double a = value_of(x, at), mag = fabs(a);
    if (x->ftz && place_of(x, at) == 0) a = copysign(0, a), mag = 0;
    bool any = false;
    for (int i = 0; i < MEASURES; i++) any |= counts[i] && mag >= measures[i].least && mag <= measures[i].most;
    if (!any) return;
    double want = x->of(a), is = value_of(x, got);
    if (isnan(want) || isnan(is)) {
        if (isnan(want) != isnan(is)) tap_bail("%s of %08" PRIx32 ": a NaN on one side", x->mnemonic, at);
        return;
    }
    double distance = fabs((double)(place_of(x, got) - place_of(x, nearest(x, want))));
    for (int i = 0; i < MEASURES; i++) {
        if (!counts[i] || !(mag >= measures[i].least && mag <= measures[i].most)) continue;
        double error = measures[i].absolute ? fabs(is - want) : distance;
        if (error > g[i].error) g[i].error = error, g[i].at = at;
    }
}

/* The results of `count` operands from `first` on are in c->host. */
static void results(machine *c, cj_kernel *k, uint32_t first, uint32_t step, uint32_t count)
{
    cj_launch(c->s, k, cj_threads((count + EACH - 1) / EACH, BLOCK), c->out, first, step);
    cj_copy_to_host(c->s, c->host, c->out, count * sizeof *c->host);
    wait_for(c);
}

static void print_row(const form *x, const struct measure *m, const greatest *g)
{
    char error[40];
    if (m->absolute) snprintf(error, sizeof error, "2^%.2f absolute", log2(g->error));
    else snprintf(error, sizeof error, "%.0f", g->error);
    printf("| `%s` | %s | %s | %0*" PRIx32 " |\n", x->mnemonic, m->range, error, x->bits == 16 ? 4 : 8, g->at);
    fflush(stdout);
}

static void print_errors(machine *c, const form *x)
{
    bool counts[MEASURES] = { 0 }, own = false;
    greatest g[MEASURES] = { 0 };
    for (int i = 0; i < MEASURES; i++) {
        counts[i] = *measures[i].begins ? begins_so(x, measures[i].begins) : !own;
        own |= counts[i];
    }
    uint32_t size = x->bits == 16 ? 1u << 16 : x->bits == 64 ? 1u << 20 : 1u << 23;
    cj_kernel *k = kernel_of(c, build_results(x), "results");
    for (uint64_t first = 0; first < operands_of(x); first += size) {
        int exponent = (int)((first & 0x7fffffff) / size);
        uint32_t step = is_whole(x, exponent, first >> 31) ? 1 : OTHER_STEP, count = (size + step - 1) / step;
        results(c, k, (uint32_t)first, step, count);
        for (uint32_t i = 0; i < count; i++) measure_one(x, (uint32_t)first + i * step, c->host[i], counts, g);
    }
    cj_kernel_free(k);
    for (int i = 0; i < MEASURES; i++)
        if (counts[i]) print_row(x, &measures[i], &g[i]);
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";
    bool testing = argc == 1, whole = tap_on_gpu() || getenv("CUJIT_TEST_ALL");
    if (testing) {
        tap_need_device(1);
        tap_plan(0);
        tap_timeout(whole ? 3600 : 60);
    }
    machine c = { .drv = cj_driver_open(NULL) };
    c.dev = cj_device_open(c.drv, 0, NULL);
    c.s = cj_stream_create(c.dev, NULL);
    c.out = cj_alloc(c.s, (PART + EACH * BLOCK) * sizeof *c.host);
    c.host = malloc(PART * sizeof *c.host);
    char *recorded = tap_slurp(tap_source("tests/oracle/whole_approximations.txt"), NULL);
    if (!c.host || (testing && !recorded)) tap_bail("no memory, or no tests/oracle/whole_approximations.txt");
    if (!strcmp(mode, "--digests")) {
        printf("# Digests of tests/whole/whole_approximations.c by %s\n", cj_device_name(c.dev));
        treat_all(&c, NULL, whole);
    } else if (!strcmp(mode, "--errors")) {
        for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
            if (argc == 2 || !strcmp(argv[2], forms[i].mnemonic)) print_errors(&c, &forms[i]);
    } else {
        treat_all(&c, recorded, whole);
    }
    free(recorded);
    free(c.host);
    cj_free(c.dev, c.out);
    cj_stream_free(c.s);
    cj_device_close(c.dev);
    cj_driver_close(c.drv);
    return testing ? tap_done() : 0;
}
