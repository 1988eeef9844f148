/* Complex functions on the CPU device: beside references in long double, beside themselves on numbers bit for bit, and
 * annex G's values of zeros, infinities and NaN.  The error is that of the pair, relative to its absolute value.
 *
 * complex_functions record     prints the recorded columns anew, in the order of the rows
 * complex_functions table      prints the rows for docs/mathematics.md: see math_document.awk
 * complex_functions errors    prints lines of tests/oracle/math_errors.txt */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <cujit/cujit.h>

#include "tests/math/error_lines.h"
#include "tests/tap.h"

/* ---- References ---- */
typedef long double wide;
typedef struct pair { wide re, im; } pair;

static pair exp_wants(const double *v)
{
    const wide e = expl(v[0]);
    return (pair){ e * cosl(v[1]), v[1] == 0 ? v[1] : e * sinl(v[1]) };
}

/* Near |z| = 1: log1p of |z|^2 - 1, which has no cancellation but of exact terms. */
static pair log_wants(const double *v)
{
    const wide x = fabs(v[0]), y = fabs(v[1]), most = fmaxl(x, y), least = fminl(x, y);
    const wide near = log1pl((most - 1) * (most + 1) + least * least) / 2;
    return (pair){ most > 0.5L && most < 2 ? near : logl(hypotl(x, y)), atan2l(v[1], v[0]) };
}

static pair sqrt_wants(const double *v)
{
    const wide x = fabs(v[0]), y = fabs(v[1]), t = sqrtl((x + hypotl(x, y)) / 2), q = t == 0 ? 0 : y / (2 * t);
    return signbit(v[0]) ? (pair){ q, copysignl(t, v[1]) } : (pair){ t, copysignl(q, v[1]) };
}

static pair div_wants(const double *v)
{
    const wide a = v[0], b = v[1], c = v[2], d = v[3], square = c * c + d * d;
    return (pair){ (a * c + b * d) / square, (b * c - a * d) / square };
}

/* ---- The functions ---- */

typedef cj_val of_pair(cj_fn *f, cj_val re, cj_val im, cj_val *imaginary);

enum { F32, F64 };
static const struct row {
    const char *name;
    of_pair *call;                  /* NULL: division */
    pair (*wants)(const double *v);
    double most[2];                 /* of the first operand in half of the samples, by type */
    /* recorded: error in thousandths of 2^-24 and 2^-53; digest of the results on the CPU device */
    unsigned worst[2];
    uint32_t digest[2];
} rows[] = {
    { "exp", cj_math_complex_exp, exp_wants, { 100, 740 }, { 1725, 1776 }, { 0xdc400c2d, 0x6f7d3e56 } },
    { "log", cj_math_complex_log, log_wants, { 2, 2 }, { 1956, 2220 }, { 0x16888bf7, 0x7cc59ec0 } },
    { "sqrt", cj_math_complex_sqrt, sqrt_wants, { 2, 2 }, { 2133, 2028 }, { 0x24e60dc1, 0x521fd41e } },
    { "div", NULL, div_wants, { 2, 2 }, { 2683, 2959 }, { 0x15123fdc, 0x098f72dd } },
};

static cj_val applied(const struct row *t, cj_fn *f, const cj_val *v, cj_val *im)
{
    return t->call ? t->call(f, v[0], v[1], im) : cj_math_complex_div(f, v[0], v[1], v[2], v[3], im);
}

enum { MANY = 100000, SLOW = 2000, MOST = 64 };
static double in[4 * MANY], out[2 * MANY];

/* ---- On the device: operands and results are f64 in memory ---- */

static cj_kernel *kernel_of(cj_device *dev, const struct row *t, cj_type type, cj_ptx *p)
{
    cj_fn *f = cj_ptx_kernel(p, "k");
    cj_val from = cj_param_ptr(f, "in", CJ_F64), to = cj_param_ptr(f, "out", CJ_F64), n = cj_param(f, "n", CJ_U32);
    cj_val i = cj_global_id(f, CJ_X), v[4], im;
    cj_if(f, cj_lt(f, i, n));
    for (unsigned k = 0; k < 4; k++) v[k] = cj_cvt(f, type, cj_get(f, from, cj_add(f, cj_mul(f, i, 4), k)));
    cj_val re = applied(t, f, v, &im), at = cj_mul(f, i, 2);
    cj_set(f, to, at, cj_cvt(f, CJ_F64, re));
    cj_set(f, to, cj_add(f, at, 1), cj_cvt(f, CJ_F64, im));
    cj_end(f);
    return cj_kernel_load(dev, p, "k", NULL);
}

static bool executed(cj_device *dev, cj_stream *s, const struct row *t, cj_type type, size_t n)
{
    cj_ptx *p = cj_ptx_create();
    cj_kernel *k = kernel_of(dev, t, type, p);
    cj_dptr a = cj_alloc(s, 4 * n * sizeof *in), b = cj_alloc(s, 2 * n * sizeof *out);
    cj_copy_to_device(s, a, in, 4 * n * sizeof *in);
    cj_launch(s, k, cj_grid((unsigned)((n + 127) / 128), 128), a, b, (uint32_t)n);
    cj_copy_to_host(s, out, b, 2 * n * sizeof *out);
    const bool done = k && !cj_stream_sync(s);
    if (!done) tap_fail("complex %s: %s", t->name, cj_error_of(k ? (void *)s : (void *)p)->message);
    cj_free(dev, a);
    cj_free(dev, b);
    cj_kernel_free(k);
    cj_ptx_free(p);
    return done;
}

/* ---- Errors ---- */

static uint64_t state;

static uint64_t draw(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state * 2685821657736338717u;
}

static double unit(void) { return (double)(draw() >> 11) * 0x1p-53; }

/* Any bits that are a number. */
static double any_number(int type)
{
    for (;;) {
        const uint64_t u = draw();
        double x;
        float y;
        memcpy(&x, &u, sizeof x);
        memcpy(&y, &u, sizeof y);
        if (type == F32) x = y;
        if (isfinite(x)) return x;
    }
}

/* Parts of every size, of like sizes, in the interval, on the unit circle nearly. */
static void operands(const struct row *t, int type, size_t i, double *v)
{
    for (int k = 0; k < 4; k++) v[k] = i & 1 ? t->most[type] * (2 * unit() - 1) : any_number(type);
    if (i % 8 == 2) v[1] = v[0] * (1 + unit()), v[3] = v[2] * (1 + unit());
    if (i % 8 == 3) v[1] = sqrt(fmax(0, 1 - v[0] * v[0])), v[2] = v[0], v[3] = v[1] * (1 + unit() * 0x1p-20);
    if (i % 16 == 4) v[1] *= type == F32 ? 0x1p-100 : 0x1p-900;
    if (i % 16 == 5) v[0] *= 3;
    for (int k = 0; k < 4; k++) {
        if (type == F32) v[k] = (float)v[k];
        if (!isfinite(v[k])) v[k] = 1.5;
    }
}

/* In units of the type's half unit in the last place of 1; what a subnormal number cannot have is no error. */
static double error_of(int type, pair want, const double *got)
{
    const wide largest = type == F32 ? 0x1.fffffep127L : 0x1.fffffffffffffp1023L;
    const wide least = type == F32 ? 0x1p-149L : 0x1p-1074L, one = type == F32 ? 0x1p-24L : 0x1p-53L;
    if (fabsl(want.re) > largest || fabsl(want.im) > largest) { /* one part overflows, or nearly */
        for (int k = 0; k < 2; k++) {
            const wide w = k ? want.im : want.re;
            if (fabsl(w) > largest * (1 + 8 * one) && got[k] != (w > 0 ? INFINITY : -INFINITY)) return INFINITY;
        }
        return 0;
    }
    const wide e = hypotl(got[0] - want.re, got[1] - want.im) - 2 * least, size = hypotl(want.re, want.im);
    return e <= 0 ? 0 : got[0] != got[0] || got[1] != got[1] ? INFINITY : (double)(e / size / one);
}

/* Of the bits, which are those of one NaN for all. */
static uint64_t digested(uint64_t digest, double x)
{
    uint64_t u = 0x7ff8000000000000u;
    if (x == x) memcpy(&u, &x, sizeof u);
    return (digest ^ u) * 0x9e3779b97f4a7c15u ^ digest >> 29;
}

/* The error is that of both parts, over the result's absolute value. */
static void print_pair(const cj_device *dev, const struct row *t, int type, size_t n, double worst, const double *v)
{
    char device[60], name[40], greatest[40], at[200];
    error_device_word(dev, device, sizeof device);
    snprintf(name, sizeof name, "complex_%s", t->name);
    snprintf(greatest, sizeof greatest, "%.3e", worst * (type == F32 ? 0x1p-24 : 0x1p-53));
    if (t->call) snprintf(at, sizeof at, "%a,%a", v[0], v[1]);
    else snprintf(at, sizeof at, "%a,%a,%a,%a", v[0], v[1], v[2], v[3]);
    error_line_print(stdout, &(error_line){
        .function = name, .type = type == F32 ? "f32" : "f64", .form = "accurate", .device = device,
        .reference = "host-long", .values = n, .unit = "rel", .greatest = greatest, .at = at });
}

static void errors(cj_device *dev, cj_stream *s, size_t row, int type, bool record, bool lines)
{
    const struct row *t = &rows[row];
    const size_t n = tap_is_slow() ? SLOW : MANY;
    uint64_t digest = 0;
    double worst = 0;
    size_t at = 0;
    state = UINT64_C(88172645463325252) + row;
    for (size_t i = 0; i < n; i++) operands(t, type, i, in + 4 * i);
    if (!executed(dev, s, t, type == F32 ? CJ_F32 : CJ_F64, n) || tap_under_valgrind()) return;
    for (size_t i = 0; i < n; i++) {
        const double *v = in + 4 * i;
        for (size_t k = 2 * i; k < 2 * i + 2; k++) digest = digested(digest, out[k]);
        if (!t->call && v[2] == 0 && v[3] == 0) continue;
        const double e = error_of(type, t->wants(v), out + 2 * i);
        if (worst == worst && !(e <= worst)) worst = e, at = i; /* NaN stays */
    }
    const unsigned found = worst < 1e6 ? (unsigned)ceil(worst * 1000) : 1000000000;
    if (record) tap_diag("%s, %d: %u, 0x%08x", t->name, type, found, (unsigned)(digest >> 32));
    if (!tap_is_slow() && !tap_on_gpu())
        tap_is_uint(digest >> 32, t->digest[type], "complex %s: the results are those recorded", t->name);
    const double *v = in + 4 * at;
    if (lines) print_pair(dev, t, type, n, worst, v);
    tap_ok(found <= t->worst[type] && found <= 4000,
           "complex %s of %s: error %.3f 2^%d at %a %a, %a %a (recorded %.3f)", t->name, type == F32 ? "f32" : "f64",
           worst, type == F32 ? -24 : -53, v[0], v[1], v[2], v[3], t->worst[type] * 0.001);
}

/* ---- Annex G ---- */

#define INF INFINITY
#define ANY_ZERO 1e-99              /* of either sign */
#define ANY_INF 1e99
#define PI 3.14159265358979323846

static const struct special { const char *name; double v[4], re, im; } specials[] = {
    { "exp", { 0.0, 0.0 }, 1, 0.0 }, { "exp", { -0.0, -0.0 }, 1, -0.0 }, { "exp", { 1e30, INF }, NAN, NAN },
    { "exp", { 1, NAN }, NAN, NAN }, { "exp", { INF, 0.0 }, INF, 0.0 }, { "exp", { INF, -0.0 }, INF, -0.0 },
    { "exp", { -INF, 2 }, -0.0, 0.0 }, { "exp", { -INF, -2 }, -0.0, -0.0 }, { "exp", { INF, 2 }, -INF, INF },
    { "exp", { INF, -2 }, -INF, -INF }, { "exp", { -INF, INF }, ANY_ZERO, ANY_ZERO },
    { "exp", { INF, -INF }, ANY_INF, NAN }, { "exp", { -INF, NAN }, ANY_ZERO, ANY_ZERO },
    { "exp", { INF, NAN }, ANY_INF, NAN }, { "exp", { NAN, 0.0 }, NAN, 0.0 }, { "exp", { NAN, -0.0 }, NAN, -0.0 },
    { "exp", { NAN, 2 }, NAN, NAN }, { "exp", { NAN, NAN }, NAN, NAN }, { "exp", { 1e30, 1 }, INF, INF },
    { "log", { -0.0, 0.0 }, -INF, PI }, { "log", { 0.0, 0.0 }, -INF, 0.0 }, { "log", { 0.0, -0.0 }, -INF, -0.0 },
    { "log", { 1, INF }, INF, PI / 2 }, { "log", { 1, NAN }, NAN, NAN }, { "log", { -INF, 1 }, INF, PI },
    { "log", { INF, 1 }, INF, 0.0 }, { "log", { INF, -1 }, INF, -0.0 }, { "log", { -INF, INF }, INF, 3 * PI / 4 },
    { "log", { INF, -INF }, INF, -PI / 4 }, { "log", { INF, NAN }, INF, NAN }, { "log", { -INF, NAN }, INF, NAN },
    { "log", { NAN, 1 }, NAN, NAN }, { "log", { NAN, INF }, INF, NAN }, { "log", { NAN, NAN }, NAN, NAN },
    { "log", { 1, 0.0 }, 0.0, 0.0 }, { "log", { -1, -0.0 }, 0.0, -PI },
    { "sqrt", { 0.0, 0.0 }, 0.0, 0.0 }, { "sqrt", { -0.0, 0.0 }, 0.0, 0.0 }, { "sqrt", { -0.0, -0.0 }, 0.0, -0.0 },
    { "sqrt", { 1, INF }, INF, INF }, { "sqrt", { -INF, -INF }, INF, -INF }, { "sqrt", { NAN, INF }, INF, INF },
    { "sqrt", { 1, NAN }, NAN, NAN }, { "sqrt", { -INF, 1 }, 0.0, INF }, { "sqrt", { -INF, -1 }, 0.0, -INF },
    { "sqrt", { INF, 1 }, INF, 0.0 }, { "sqrt", { INF, -1 }, INF, -0.0 }, { "sqrt", { -INF, NAN }, NAN, ANY_INF },
    { "sqrt", { INF, NAN }, INF, NAN }, { "sqrt", { NAN, 1 }, NAN, NAN }, { "sqrt", { NAN, NAN }, NAN, NAN },
    { "sqrt", { -4, 0.0 }, 0.0, 2 }, { "sqrt", { -4, -0.0 }, 0.0, -2 }, { "sqrt", { 9, -0.0 }, 3, -0.0 },
    { "div", { 1, 1, 0.0, 0.0 }, INF, INF }, { "div", { 1, -1, -0.0, 0.0 }, -INF, INF },
    { "div", { 0.0, 0.0, 0.0, 0.0 }, NAN, NAN }, { "div", { INF, INF, 1, 0.0 }, INF, INF },
    { "div", { INF, 1, 1, 1 }, INF, -INF }, { "div", { INF, NAN, 1, 2 }, ANY_INF, ANY_INF },
    { "div", { 1, 1, INF, INF }, ANY_ZERO, ANY_ZERO }, { "div", { 1, 1, INF, NAN }, ANY_ZERO, ANY_ZERO },
    { "div", { 1, 2, -INF, 3 }, ANY_ZERO, ANY_ZERO }, { "div", { INF, 1, INF, 1 }, NAN, NAN },
    { "div", { NAN, 1, 1, 1 }, NAN, NAN }, { "div", { 1, 1, NAN, 1 }, NAN, NAN }, { "div", { 1, 2, 0.5, 0.0 }, 2, 4 },
    { "div", { 1e30, 1e30, 1e30, 1e30 }, 1, 0.0 },
};
enum { SPECIALS = sizeof specials / sizeof *specials };

static bool nearly(double got, double want)
{
    if (want != want) return got != got;
    if (want == ANY_ZERO) return got == 0;
    if (want == ANY_INF) return isinf(got) || got != got; /* one infinite part makes an infinity */
    if (want == 0 || isinf(want)) return got == want && !signbit(got) == !signbit(want);
    return fabs(got - want) <= 1e-6 * fabs(want);
}

static void annex_g(cj_device *dev, cj_stream *s, const struct row *t, int type)
{
    size_t n = 0;
    const struct special *of[SPECIALS];
    for (size_t i = 0; i < SPECIALS; i++) {
        if (strcmp(specials[i].name, t->name)) continue;
        memcpy(in + 4 * n, specials[i].v, sizeof specials[i].v);
        of[n++] = &specials[i];
    }
    if (!executed(dev, s, t, type == F32 ? CJ_F32 : CJ_F64, n)) return;
    for (size_t i = 0; i < n; i++) {
        const double *got = out + 2 * i, *v = of[i]->v;
        bool same = nearly(got[0], of[i]->re) && nearly(got[1], of[i]->im);
        if (of[i]->re == ANY_INF && of[i]->im == ANY_INF) same &= isinf(got[0]) || isinf(got[1]);
        if (of[i]->re == ANY_INF && of[i]->im != of[i]->im) same &= isinf(got[0]);
        tap_ok(same, "complex %s of %s(%g, %g; %g, %g) = %g, %g: wants %g, %g", t->name,
               type == F32 ? "f32" : "f64", v[0], v[1], v[2], v[3], got[0], got[1], of[i]->re, of[i]->im);
    }
}

/* ---- On numbers: the bits that f64 has on the device ---- */

static void on_numbers(cj_device *dev, cj_stream *s, const struct row *t)
{
    enum { FEW = 300 };
    static double device[2 * FEW];
    for (size_t i = 0; i < FEW; i++) {
        if (i < SPECIALS) memcpy(in + 4 * i, specials[i].v, sizeof specials[i].v);
        else operands(t, F64, i, in + 4 * i);
    }
    if (!executed(dev, s, t, CJ_F64, FEW)) return;
    memcpy(device, out, sizeof device);
    cj_ptx *p = cj_ptx_create();
    cj_fn *f = cj_ptx_kernel(p, "k");
    cj_val to = cj_param_ptr(f, "to", CJ_F64);
    for (unsigned i = 0; i < FEW; i++) {
        cj_val v[4], im;
        for (int k = 0; k < 4; k++) v[k] = cj_imm_f64(f, in[4 * i + (unsigned)k]);
        cj_set(f, to, 2 * i, applied(t, f, v, &im));
        cj_set(f, to, 2 * i + 1, im);
    }
    cj_kernel *k = cj_kernel_load(dev, p, "k", NULL);
    cj_dptr b = cj_alloc(s, sizeof device);
    cj_launch(s, k, cj_grid(1, 1), b);
    cj_copy_to_host(s, out, b, sizeof device);
    if (!k || cj_stream_sync(s)) tap_fail("complex %s of numbers: %s", t->name, cj_error_of(p)->message);
    size_t differ = 0;
    for (size_t i = 0; i < 2 * FEW; i++)
        if (memcmp(&out[i], &device[i], sizeof *out) && !(out[i] != out[i] && device[i] != device[i]) && !differ++)
            tap_diag("part %zu of (%a, %a; %a, %a): %a, on the device %a", i % 2, in[i / 2 * 4], in[i / 2 * 4 + 1],
                     in[i / 2 * 4 + 2], in[i / 2 * 4 + 3], out[i], device[i]);
    tap_is_uint(differ, 0, "complex %s: the same bits on numbers", t->name);
    cj_free(dev, b);
    cj_kernel_free(k);
    cj_ptx_free(p);
}

static void print_rows(void)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int type = F32; type <= F64; type++)
            printf("complex_%s %s accurate rel %.2f - %d\n", rows[i].name, type == F32 ? "f32" : "f64",
                   rows[i].worst[type] / 1000.0, MANY);
}

int main(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "table")) return print_rows(), 0;
    const bool record = argc > 1 && !strcmp(argv[1], "record"), lines = argc > 1 && !strcmp(argv[1], "errors");
    tap_need_device(1);
    tap_plan(0);
    cj_driver *drv = cj_driver_open(NULL);
    cj_device *dev = cj_device_open(drv, 0, NULL);
    cj_stream *s = cj_stream_create(dev, NULL);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        for (int type = F32; type <= F64; type++) {
            errors(dev, s, i, type, record, lines);
            annex_g(dev, s, &rows[i], type);
        }
        on_numbers(dev, s, &rows[i]);
    }
    cj_stream_free(s);
    cj_device_close(dev);
    cj_driver_close(drv);
    return tap_done();
}
