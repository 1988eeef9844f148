/* What annex F of C says of zeros, infinities, NaN and arguments outside a function's domain: each call of math.h on
 * f32 and f64, with a device and on numbers.
 *
 * special_values table     prints the rows for docs/mathematics.md: see math_document.awk */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <cujit/cujit.h>

#include "tests/tap.h"

#define INF INFINITY
#define PI 3.14159265358979323846

/* A call by its kind: of one or two operands, with a whole number as second operand or second result. */
typedef cj_val of_one(cj_fn *f, cj_val x);
typedef cj_val of_two(cj_fn *f, cj_val x, cj_val y);
typedef cj_val pair_of_one(cj_fn *f, cj_val x, cj_val *second);
typedef cj_val pair_of_two(cj_fn *f, cj_val x, cj_val y, cj_val *second);
enum { WHOLE_FIRST = 1, WHOLE_SECOND = 2, WHOLE_OPERAND = 4 };

typedef struct special { double x, y, want, second; } special;
#define LISTED(...) (const special[]){ __VA_ARGS__ }, sizeof((const special[]){ __VA_ARGS__ }) / sizeof(special)
#define AT(x_, want_) { .x = x_, .want = want_ }
#define AT2(x_, y_, want_) { .x = x_, .y = y_, .want = want_ }
#define PAIR(x_, want_, second_) { .x = x_, .want = want_, .second = second_ }
#define PAIR2(x_, y_, want_, second_) { .x = x_, .y = y_, .want = want_, .second = second_ }
/* odd, with a limit at infinity */
#define ODD(limit) AT(0.0, 0.0), AT(-0.0, -0.0), AT(INF, limit), AT(-INF, -(limit)), AT(NAN, NAN)

static const struct call {
    const char *name;
    of_one *one;
    of_two *two;
    pair_of_one *pair;
    pair_of_two *pair_two;
    unsigned kind;
    const special *at;
    size_t count;
} calls[] = {
#define ONE(name, ...) { #name, cj_math_##name, NULL, NULL, NULL, 0, LISTED(__VA_ARGS__) },
#define TWO(name, ...) { #name, NULL, cj_math_##name, NULL, NULL, 0, LISTED(__VA_ARGS__) },
    ONE(exp, AT(0.0, 1), AT(-0.0, 1), AT(INF, INF), AT(-INF, 0.0), AT(NAN, NAN), AT(1e30, INF), AT(-1e30, 0.0))
    ONE(exp2, AT(0.0, 1), AT(-0.0, 1), AT(INF, INF), AT(-INF, 0.0), AT(NAN, NAN), AT(10, 1024), AT(-1e30, 0.0))
    ONE(exp10, AT(0.0, 1), AT(-0.0, 1), AT(INF, INF), AT(-INF, 0.0), AT(NAN, NAN), AT(1e30, INF), AT(-1e30, 0.0))
    ONE(expm1, AT(0.0, 0.0), AT(-0.0, -0.0), AT(INF, INF), AT(-INF, -1), AT(NAN, NAN), AT(-1e30, -1), AT(1e30, INF))
    ONE(log, AT(0.0, -INF), AT(-0.0, -INF), AT(1, 0.0), AT(INF, INF), AT(-1, NAN), AT(-INF, NAN), AT(NAN, NAN))
    ONE(log2, AT(0.0, -INF), AT(-0.0, -INF), AT(1, 0.0), AT(8, 3), AT(INF, INF), AT(-1, NAN), AT(-INF, NAN),
        AT(NAN, NAN))
    ONE(log10, AT(0.0, -INF), AT(-0.0, -INF), AT(1, 0.0), AT(INF, INF), AT(-1, NAN), AT(-INF, NAN), AT(NAN, NAN))
    ONE(log1p, AT(0.0, 0.0), AT(-0.0, -0.0), AT(-1, -INF), AT(INF, INF), AT(-2, NAN), AT(-INF, NAN), AT(NAN, NAN))
    ONE(sin, AT(0.0, 0.0), AT(-0.0, -0.0), AT(INF, NAN), AT(-INF, NAN), AT(NAN, NAN))
    ONE(cos, AT(0.0, 1), AT(-0.0, 1), AT(INF, NAN), AT(-INF, NAN), AT(NAN, NAN))
    ONE(tan, AT(0.0, 0.0), AT(-0.0, -0.0), AT(INF, NAN), AT(-INF, NAN), AT(NAN, NAN))
    ONE(sinpi, AT(0.0, 0.0), AT(-0.0, -0.0), AT(1, 0.0), AT(-1, -0.0), AT(2, 0.0), AT(-2, -0.0), AT(0.5, 1),
        AT(-0.5, -1), AT(1.5, -1), AT(1e30, 0.0), AT(INF, NAN), AT(-INF, NAN), AT(NAN, NAN))
    ONE(cospi, AT(0.0, 1), AT(-0.0, 1), AT(1, -1), AT(-1, -1), AT(0.5, 0.0), AT(-0.5, 0.0), AT(1.5, 0.0), AT(2.5, 0.0),
        AT(1e30, 1), AT(INF, NAN), AT(-INF, NAN), AT(NAN, NAN))
    ONE(tanpi, AT(0.0, 0.0), AT(-0.0, -0.0), AT(1, -0.0), AT(-1, 0.0), AT(2, 0.0), AT(-2, -0.0), AT(0.5, INF),
        AT(-0.5, -INF), AT(1.5, -INF), AT(-1.5, INF), AT(2.5, INF), AT(INF, NAN), AT(-INF, NAN), AT(NAN, NAN))
    ONE(asin, AT(0.0, 0.0), AT(-0.0, -0.0), AT(1, PI / 2), AT(-1, -PI / 2), AT(1.5, NAN), AT(-2, NAN), AT(INF, NAN),
        AT(NAN, NAN))
    ONE(acos, AT(1, 0.0), AT(-1, PI), AT(0.0, PI / 2), AT(1.5, NAN), AT(-2, NAN), AT(INF, NAN), AT(NAN, NAN))
    ONE(atan, ODD(PI / 2))
    ONE(sinh, ODD(INF), AT(1e30, INF), AT(-1e30, -INF))
    ONE(cosh, AT(0.0, 1), AT(-0.0, 1), AT(INF, INF), AT(-INF, INF), AT(NAN, NAN), AT(-1e30, INF))
    ONE(tanh, ODD(1.0), AT(1e30, 1), AT(-1e30, -1))
    ONE(asinh, ODD(INF))
    ONE(acosh, AT(1, 0.0), AT(0.5, NAN), AT(-1, NAN), AT(INF, INF), AT(-INF, NAN), AT(NAN, NAN))
    ONE(atanh, AT(0.0, 0.0), AT(-0.0, -0.0), AT(1, INF), AT(-1, -INF), AT(1.5, NAN), AT(-2, NAN), AT(INF, NAN),
        AT(NAN, NAN))
    ONE(erf, ODD(1.0), AT(1e30, 1), AT(-1e30, -1))
    ONE(erfc, AT(0.0, 1), AT(-0.0, 1), AT(INF, 0.0), AT(-INF, 2), AT(NAN, NAN), AT(1e30, 0.0), AT(-1e30, 2))
    ONE(erfcx, AT(0.0, 1), AT(-0.0, 1), AT(INF, 0.0), AT(-INF, INF), AT(NAN, NAN), AT(-1e30, INF))
    ONE(normcdf, AT(0.0, 0.5), AT(-0.0, 0.5), AT(INF, 1), AT(-INF, 0.0), AT(NAN, NAN), AT(1e30, 1), AT(-1e30, 0.0))
    ONE(erfinv, AT(0.0, 0.0), AT(-0.0, -0.0), AT(1, INF), AT(-1, -INF), AT(1.5, NAN), AT(-1.5, NAN), AT(-1e30, NAN),
        AT(INF, NAN), AT(-INF, NAN), AT(NAN, NAN))
    ONE(erfcinv, AT(0.0, INF), AT(-0.0, INF), AT(1, 0.0), AT(2, -INF), AT(2.5, NAN), AT(-1, NAN), AT(-1e-30, NAN),
        AT(1e30, NAN), AT(INF, NAN), AT(-INF, NAN), AT(NAN, NAN))
    ONE(normcdfinv, AT(0.0, -INF), AT(-0.0, -INF), AT(0.5, 0.0), AT(1, INF), AT(1.5, NAN), AT(-1, NAN),
        AT(-1e-30, NAN), AT(1e30, NAN), AT(INF, NAN), AT(-INF, NAN), AT(NAN, NAN))
    ONE(lgamma, AT(0.0, INF), AT(-0.0, INF), AT(1, 0.0), AT(2, 0.0), AT(-1, INF), AT(-2, INF), AT(-50, INF),
        AT(-1e30, INF), AT(INF, INF), AT(-INF, INF), AT(NAN, NAN))
    ONE(tgamma, AT(0.0, INF), AT(-0.0, -INF), AT(1, 1), AT(2, 1), AT(3, 2), AT(-1, NAN), AT(-2, NAN), AT(-50, NAN),
        AT(-1e30, NAN), AT(1e30, INF), AT(-200.5, -0.0), AT(-201.5, 0.0), AT(INF, INF), AT(-INF, NAN), AT(NAN, NAN))
    ONE(cbrt, ODD(INF), AT(27, 3), AT(-8, -2))
    ONE(rcbrt, AT(0.0, INF), AT(-0.0, -INF), AT(INF, 0.0), AT(-INF, -0.0), AT(NAN, NAN), AT(8, 0.5))
    ONE(rsqrt, AT(0.0, INF), AT(-0.0, -INF), AT(4, 0.5), AT(INF, 0.0), AT(-1, NAN), AT(-INF, NAN), AT(NAN, NAN))
    TWO(hypot, AT2(0.0, -0.0, 0.0), AT2(3, 4, 5), AT2(INF, NAN, INF), AT2(NAN, -INF, INF), AT2(-INF, 1, INF),
        AT2(NAN, 1, NAN), AT2(-0.0, -7, 7))
    TWO(rhypot, AT2(0.0, -0.0, INF), AT2(3, 4, 0.2), AT2(INF, NAN, 0.0), AT2(NAN, -INF, 0.0), AT2(NAN, 1, NAN))
    TWO(pow, AT2(1, NAN, 1), AT2(NAN, 0.0, 1), AT2(NAN, -0.0, 1), AT2(-1, INF, 1), AT2(-1, -INF, 1), AT2(0.0, 3, 0.0),
        AT2(-0.0, 3, -0.0), AT2(-0.0, 2, 0.0), AT2(-0.0, 0.5, 0.0), AT2(0.0, -3, INF), AT2(-0.0, -3, -INF),
        AT2(-0.0, -2, INF), AT2(-0.0, -INF, INF), AT2(0.0, INF, 0.0), AT2(-8, 3, -512), AT2(-8, 2, 64),
        AT2(-8, 0.5, NAN), AT2(0.5, INF, 0.0), AT2(2, INF, INF), AT2(0.5, -INF, INF), AT2(2, -INF, 0.0),
        AT2(-2, INF, INF), AT2(INF, 2, INF), AT2(INF, -2, 0.0), AT2(-INF, 3, -INF), AT2(-INF, 2, INF),
        AT2(-INF, -3, -0.0), AT2(-INF, -2, 0.0), AT2(-INF, 0.5, INF), AT2(NAN, 1, NAN), AT2(2, NAN, NAN),
        AT2(-INF, INF, INF), AT2(-INF, -INF, 0.0))
    TWO(atan2, AT2(0.0, 0.0, 0.0), AT2(-0.0, 0.0, -0.0), AT2(0.0, -0.0, PI), AT2(-0.0, -0.0, -PI), AT2(0.0, -1, PI),
        AT2(-0.0, -1, -PI), AT2(0.0, 1, 0.0), AT2(-0.0, 1, -0.0), AT2(-1, 0.0, -PI / 2), AT2(1, -0.0, PI / 2),
        AT2(1, INF, 0.0), AT2(-1, INF, -0.0), AT2(1, -INF, PI), AT2(-1, -INF, -PI), AT2(INF, 1, PI / 2),
        AT2(-INF, 1, -PI / 2), AT2(INF, -INF, 3 * PI / 4), AT2(-INF, -INF, -3 * PI / 4), AT2(INF, INF, PI / 4),
        AT2(-INF, INF, -PI / 4), AT2(NAN, 1, NAN), AT2(1, NAN, NAN))
    TWO(fmod, AT2(0.0, 1, 0.0), AT2(-0.0, 1, -0.0), AT2(5, 3, 2), AT2(-5, 3, -2), AT2(-6, 3, -0.0), AT2(INF, 1, NAN),
        AT2(1, 0.0, NAN), AT2(1, INF, 1), AT2(-0.0, -INF, -0.0), AT2(NAN, 1, NAN), AT2(1, NAN, NAN))
    TWO(remainder, AT2(0.0, 1, 0.0), AT2(-0.0, 1, -0.0), AT2(5, 3, -1), AT2(-5, 3, 1), AT2(-6, 3, -0.0), AT2(3, 2, -1),
        AT2(1, 2, 1), AT2(INF, 1, NAN), AT2(1, 0.0, NAN), AT2(1, INF, 1), AT2(NAN, 1, NAN), AT2(1, NAN, NAN))
    TWO(fdim, AT2(3, 1, 2), AT2(1, 3, 0.0), AT2(INF, INF, 0.0), AT2(INF, 1, INF), AT2(-INF, INF, 0.0), AT2(NAN, 1, NAN),
        AT2(1, NAN, NAN))
    TWO(copysign, AT2(3, -0.0, -3), AT2(-3, 0.0, 3), AT2(INF, -1, -INF), AT2(-0.0, INF, 0.0))
    TWO(nextafter, AT2(0.0, -0.0, -0.0), AT2(-0.0, 0.0, 0.0), AT2(1, 1, 1), AT2(INF, INF, INF), AT2(NAN, 1, NAN),
        AT2(1, NAN, NAN))
    ONE(round, ODD(INF), AT(0.5, 1), AT(-0.5, -1), AT(2.5, 3), AT(-0.25, -0.0))
    ONE(rint, ODD(INF), AT(0.5, 0.0), AT(-0.5, -0.0), AT(2.5, 2), AT(1.5, 2))
    ONE(logb, AT(0.0, -INF), AT(-0.0, -INF), AT(INF, INF), AT(-INF, INF), AT(NAN, NAN), AT(8, 3), AT(-0.75, -1))
    { "ilogb", cj_math_ilogb, NULL, NULL, NULL, WHOLE_FIRST,
      LISTED(AT(0.0, -2147483648.0), AT(-0.0, -2147483648.0), AT(INF, 2147483647), AT(-INF, 2147483647),
             AT(NAN, -2147483648.0), AT(8, 3), AT(-0.75, -1)) },
    { "pown", NULL, cj_math_pown, NULL, NULL, WHOLE_OPERAND,
      LISTED(AT2(NAN, 0, 1), AT2(INF, 0, 1), AT2(0.0, 0, 1), AT2(0.0, -3, INF), AT2(-0.0, -3, -INF), AT2(-0.0, -2, INF),
             AT2(-0.0, 3, -0.0), AT2(-0.0, 2, 0.0), AT2(-2, 3, -8), AT2(-INF, 3, -INF), AT2(-INF, -3, -0.0),
             AT2(NAN, 1, NAN), AT2(2, -2147483648.0, 0.0), AT2(-1, 2147483647, -1)) },
    { "ldexp", NULL, cj_math_ldexp, NULL, NULL, WHOLE_OPERAND,
      LISTED(AT2(0.0, 5, 0.0), AT2(-0.0, -5, -0.0), AT2(INF, -2147483648.0, INF), AT2(-INF, 3, -INF), AT2(NAN, 3, NAN),
             AT2(3, 2, 12), AT2(1, 2147483647, INF), AT2(-1, -2147483648.0, -0.0)) },
    { "sincos", NULL, NULL, cj_math_sincos, NULL, 0,
      LISTED(PAIR(0.0, 0.0, 1), PAIR(-0.0, -0.0, 1), PAIR(INF, NAN, NAN), PAIR(-INF, NAN, NAN), PAIR(NAN, NAN, NAN)) },
    { "sincospi", NULL, NULL, cj_math_sincospi, NULL, 0,
      LISTED(PAIR(0.0, 0.0, 1), PAIR(-0.0, -0.0, 1), PAIR(0.5, 1, 0.0), PAIR(-1, -0.0, -1), PAIR(INF, NAN, NAN),
             PAIR(NAN, NAN, NAN)) },
    { "modf", NULL, NULL, cj_math_modf, NULL, 0,
      LISTED(PAIR(0.0, 0.0, 0.0), PAIR(-0.0, -0.0, -0.0), PAIR(INF, 0.0, INF), PAIR(-INF, -0.0, -INF),
             PAIR(NAN, NAN, NAN), PAIR(-2.5, -0.5, -2), PAIR(3, 0.0, 3)) },
    { "frexp", NULL, NULL, cj_math_frexp, NULL, WHOLE_SECOND,
      LISTED(PAIR(0.0, 0.0, 0), PAIR(-0.0, -0.0, 0), PAIR(INF, INF, 0), PAIR(-INF, -INF, 0), PAIR(NAN, NAN, 0),
             PAIR(-6, -0.75, 3), PAIR(1, 0.5, 1)) },
    { "remquo", NULL, NULL, NULL, cj_math_remquo, WHOLE_SECOND,
      LISTED(PAIR2(5, 3, -1, 2), PAIR2(-5, 3, 1, -2), PAIR2(-0.0, 3, -0.0, 0), PAIR2(1, INF, 1, 0),
             PAIR2(INF, 1, NAN, 0), PAIR2(1, 0.0, NAN, 0), PAIR2(NAN, 1, NAN, 0)) },
    ONE(sigmoid, AT(0.0, 0.5), AT(INF, 1), AT(-INF, 0.0), AT(NAN, NAN), AT(1e30, 1), AT(-1e30, 0.0))
    ONE(silu, AT(0.0, 0.0), AT(INF, INF), AT(NAN, NAN), AT(0x1p100, 0x1p100))
    ONE(gelu, AT(0.0, 0.0), AT(INF, INF), AT(NAN, NAN), AT(0x1p100, 0x1p100))
    ONE(gelu_tanh, AT(0.0, 0.0), AT(INF, INF), AT(NAN, NAN), AT(0x1p100, 0x1p100))
    ONE(softplus, AT(INF, INF), AT(-INF, 0.0), AT(NAN, NAN), AT(0x1p100, 0x1p100), AT(-1e30, 0.0))
#undef ONE
#undef TWO
};

enum { MOST = 64 };

static cj_val applied(const struct call *c, cj_fn *f, cj_val x, cj_val y, cj_val *second)
{
    if (c->one) return c->one(f, x);
    if (c->two) return c->two(f, x, y);
    return c->pair ? c->pair(f, x, second) : c->pair_two(f, x, y, second);
}

/* Zeros, infinities and whole numbers are exact; others are nearly so. */
static bool nearly(double got, double want, double epsilon)
{
    if (want != want) return got != got;
    if (want == 0 || isinf(want) || want == rint(want)) return got == want && !signbit(got) == !signbit(want);
    return fabs(got - want) <= epsilon * fabs(want);
}

static void judge(const struct call *c, const char *how, const special *s, double got, double second, double epsilon)
{
    const bool two = c->pair || c->pair_two, same = nearly(got, s->want, epsilon);
    tap_ok(same && (!two || nearly(second, s->second, epsilon)), "%s%s(%g, %g) = %g, %g: wants %g, %g", c->name, how,
           s->x, s->y, got, two ? second : 0, s->want, s->second);
}

/* ---- On the device: results are stored as f64 ---- */

static cj_kernel *kernel_of(cj_device *dev, const struct call *c, cj_type type, cj_ptx *p)
{
    cj_fn *f = cj_ptx_kernel(p, "k");
    cj_val in = cj_param_ptr(f, "in", CJ_F64), out = cj_param_ptr(f, "out", CJ_F64);
    cj_val i = cj_mul(f, cj_thread_id(f, CJ_X), 2), second = { 0 };
    cj_val x = cj_cvt(f, type, cj_get(f, in, i)), y = cj_get(f, in, cj_add(f, i, 1));
    y = c->kind & WHOLE_OPERAND ? cj_cvt(f, CJ_S32, y) : cj_cvt(f, type, y);
    cj_val r = applied(c, f, x, y, &second);
    cj_set(f, out, i, cj_cvt(f, CJ_F64, r));
    if (c->pair || c->pair_two) cj_set(f, out, cj_add(f, i, 1), cj_cvt(f, CJ_F64, second));
    return cj_kernel_load(dev, p, "k", NULL);
}

static void on_device(cj_device *dev, cj_stream *s, const struct call *c, cj_type type)
{
    double in[2 * MOST] = { 0 }, out[2 * MOST] = { 0 };
    cj_ptx *p = cj_ptx_create();
    cj_kernel *k = kernel_of(dev, c, type, p);
    for (size_t i = 0; i < c->count; i++) {
        in[2 * i] = c->at[i].x;
        in[2 * i + 1] = c->at[i].y;
    }
    cj_dptr a = cj_alloc(s, sizeof in), b = cj_alloc(s, sizeof out);
    cj_copy_to_device(s, a, in, sizeof in);
    cj_launch(s, k, cj_grid(1, (unsigned)c->count), a, b);
    cj_copy_to_host(s, out, b, 2 * c->count * sizeof *out);
    const bool done = k && !cj_stream_sync(s);
    if (!done) tap_fail("%s: %s", c->name, cj_error_of(k ? (void *)s : (void *)p)->message);
    for (size_t i = 0; done && i < c->count; i++)
        judge(c, type == CJ_F32 ? " of f32" : " of f64", &c->at[i], out[2 * i], out[2 * i + 1],
              type == CJ_F32 ? 0x1p-21 : 0x1p-50);
    cj_free(dev, a);
    cj_free(dev, b);
    cj_kernel_free(k);
    cj_ptx_free(p);
}

/* ---- On numbers: the kernel only stores ---- */

static cj_kernel *stores_of(cj_device *dev, const struct call *c, cj_ptx *p)
{
    cj_fn *f = cj_ptx_kernel(p, "k");
    cj_val out = cj_param_ptr(f, "out", CJ_F64);
    for (size_t i = 0; i < c->count; i++) {
        cj_val second = { 0 }, x = cj_imm_f64(f, c->at[i].x);
        cj_val y = c->kind & WHOLE_OPERAND ? cj_imm_i(f, (int64_t)c->at[i].y) : cj_imm_f64(f, c->at[i].y);
        cj_set(f, out, (unsigned)(2 * i), applied(c, f, x, y, &second));
        if (c->pair || c->pair_two) cj_set(f, out, (unsigned)(2 * i + 1), second);
    }
    return cj_kernel_load(dev, p, "k", NULL);
}

static void on_numbers(cj_device *dev, cj_stream *s, const struct call *c)
{
    double out[2 * MOST] = { 0 };
    const char *text = "";
    cj_ptx *p = cj_ptx_create();
    cj_kernel *k = stores_of(dev, c, p);
    cj_dptr b = cj_alloc(s, sizeof out);
    cj_launch(s, k, cj_grid(1, 1), b);
    cj_copy_to_host(s, out, b, 2 * c->count * sizeof *out);
    const bool done = k && !cj_stream_sync(s);
    if (!done) tap_fail("%s of numbers: %s", c->name, cj_error_of(k ? (void *)s : (void *)p)->message);
    for (size_t i = 0; done && i < c->count; i++)
        judge(c, " of numbers", &c->at[i], out[2 * i], out[2 * i + 1], 0x1p-50);
    cj_ptx_print(p, 0, &text, NULL);
    tap_ok(!strstr(text, "fma") && !strstr(text, "call"), "%s of numbers is a number", c->name);
    cj_free(dev, b);
    cj_kernel_free(k);
    cj_ptx_free(p);
}

/* ---- For the document ---- */

static const char *word_of(double x, char *out, size_t size)
{
    if (x != x) return "NaN";
    if (isinf(x)) return x > 0 ? "∞" : "-∞";
    if (x == 0) return signbit(x) ? "-0" : "0";
    snprintf(out, size, fabs(x) == rint(fabs(x)) && fabs(x) < 1e10 ? "%.0f" : "%.6g", x);
    return out;
}

/* Function and its values: "exp 0 -> 1; -0 -> 1". */
static void print_rows(void)
{
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        const struct call *c = &calls[i];
        char x[32], y[32], r[32], second[32];
        printf("special %s", c->name);
        for (size_t k = 0; k < c->count; k++) {
            const special *s = &c->at[k];
            printf("%s %s", k ? ";" : "", word_of(s->x, x, sizeof x));
            if (c->two || c->pair_two) printf(", %s", word_of(s->y, y, sizeof y));
            printf(" → %s", word_of(s->want, r, sizeof r));
            if (c->pair || c->pair_two) printf(", %s", word_of(s->second, second, sizeof second));
        }
        putchar('\n');
    }
}

int main(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "table")) return print_rows(), 0;
    tap_need_device(1);
    tap_plan(0);
    cj_driver *drv = cj_driver_open(NULL);
    cj_device *dev = cj_device_open(drv, 0, NULL);
    cj_stream *s = cj_stream_create(dev, NULL);
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        on_device(dev, s, &calls[i], CJ_F32);
        on_device(dev, s, &calls[i], CJ_F64);
        on_numbers(dev, s, &calls[i]);
    }
    cj_stream_free(s);
    cj_device_close(dev);
    cj_driver_close(drv);
    return tap_done();
}
