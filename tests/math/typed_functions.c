/* The calls of math.h by the type of their operands, their options and their failures. */
#include <math.h>
#include <string.h>

#include <cujit/cujit.h>

#include "tests/tap.h"

static cj_device *dev;
static cj_stream *s;

/* Runs a kernel of `p` with one thread, and copies what it has stored. */
static void run_kernel(cj_ptx *p, const char *name, void *out, size_t bytes)
{
    cj_kernel *k = cj_kernel_load(dev, p, name, NULL);
    cj_dptr d = cj_alloc(s, bytes);
    memset(out, 0, bytes);
    cj_launch(s, k, cj_grid(1, 1), d);
    cj_copy_to_host(s, out, d, bytes);
    if (!k || cj_stream_sync(s)) tap_fail("runs: %s", cj_error_of(k ? (void *)s : (void *)p)->message);
    cj_free(dev, d);
    cj_kernel_free(k);
}

static void run(cj_ptx *p, void *out, size_t bytes) { run_kernel(p, "k", out, bytes); }

/* ---- Halves go through f32 ---- */

static const struct half_case {
    const char *name;
    cj_type type, half;
    uint16_t low, high, want_low, want_high;
} halves[] = {
    { "f16", CJ_F16, CJ_VOID, 0x3c00, 0, 0x4170, 0 },                      /* e = 2.719 */
    { "bf16", CJ_BF16, CJ_VOID, 0x3f80, 0, 0x402e, 0 },                    /* 2.719 */
    { "f16x2", CJ_F16X2, CJ_F16, 0x3c00, 0xfc00, 0x4170, 0x0000 },         /* 1, -infinity */
    { "bf16x2", CJ_BF16X2, CJ_BF16, 0x3f80, 0x7f80, 0x402e, 0x7f80 },      /* 1, infinity */
};

static void through_f32(void)
{
    for (size_t i = 0; i < sizeof halves / sizeof *halves; i++) {
        const struct half_case *h = &halves[i];
        const bool two = h->half != CJ_VOID;
        uint32_t got;
        cj_ptx *p = cj_ptx_create();
        cj_fn *f = cj_ptx_kernel(p, "k");
        cj_val out = cj_param_ptr(f, "out", CJ_U32);
        cj_val word = cj_let(f, CJ_U32, h->low | (uint32_t)h->high << 16);
        cj_val x = two ? cj_bits(f, h->type, word) : cj_bits(f, h->type, cj_bits(f, CJ_B16, cj_cvt(f, CJ_U16, word)));
        cj_val y = cj_math_exp(f, x);
        cj_set(f, out, 0, two ? cj_bits(f, CJ_U32, y) : cj_cvt(f, CJ_U32, cj_bits(f, CJ_U16, y)));
        run(p, &got, sizeof got);
        tap_is_uint(got, h->want_low | (uint32_t)h->want_high << 16, "exp of .%s", h->name);
        cj_ptx_free(p);
    }
}

/* ---- Numbers beside registers become their type ---- */

static void numbers_beside_registers(void)
{
    double d[8];
    float g[4];
    cj_ptx *p = cj_ptx_create();
    cj_fn *f = cj_ptx_kernel(p, "k");
    cj_val out = cj_param_ptr(f, "out", CJ_F64), x = cj_let(f, CJ_F64, 3), n = cj_let(f, CJ_S32, 5), e;
    cj_set(f, out, 0, cj_math_pow(f, x, 2));
    cj_set(f, out, 1, cj_math_pow(f, 2, x));
    cj_set(f, out, 2, cj_math_pown(f, x, 3));
    cj_set(f, out, 3, cj_math_ldexp(f, 1.5, n));
    cj_set(f, out, 4, cj_math_frexp(f, x, &e));
    cj_set(f, out, 5, cj_cvt(f, CJ_F64, e));
    cj_set(f, out, 6, cj_math_frexp(f, 6, NULL));
    cj_set(f, out, 7, cj_math_sincos(f, x, NULL));
    run(p, d, sizeof d);
    const double want[] = { 9, 8, 27, 48, 0.75, 2, 0.75, sin(3) };
    for (size_t i = 0; i < 8; i++)
        tap_ok(fabs(d[i] - want[i]) < 1e-15, "f64 beside a number: %g, wants %g", d[i], want[i]);
    cj_ptx_free(p);

    p = cj_ptx_create();
    f = cj_ptx_kernel(p, "k");
    out = cj_param_ptr(f, "out", CJ_F32), x = cj_let(f, CJ_F32, 3);
    cj_set(f, out, 0, cj_math_pow(f, x, 2));
    cj_set(f, out, 1, cj_math_hypot(f, 4, x));
    cj_set(f, out, 2, cj_math_exp(f, 0));
    cj_set(f, out, 3, cj_math_copysign(f, x, -1));
    run(p, g, sizeof g);
    const float single[] = { 9, 5, 1, -3 };
    for (size_t i = 0; i < 4; i++) tap_ok(g[i] == single[i], "f32 beside a number: %g, wants %g", g[i], single[i]);
    cj_ptx_free(p);
}

/* ---- Forms: the same bits inline and in functions, which a module has once ---- */

static size_t occurrences(const char *text, const char *part)
{
    size_t n = 0;
    for (const char *at = text; (at = strstr(at, part)); at++) n++;
    return n;
}

static void bits_of_form(cj_math_form form, uint32_t *out, const char *what, size_t functions)
{
    const char *text = "";
    cj_ptx *p = cj_ptx_create();
    cj_fn *f = cj_ptx_kernel(p, "k");
    cj_val to = cj_param_ptr(f, "out", CJ_F32), c;
    cj_math_set_form(f, form);
    cj_val x = cj_let(f, CJ_F32, 1e30f), y = cj_let(f, CJ_F32, 0.75f);
    cj_set(f, to, 0, cj_math_sincos(f, x, &c));
    cj_set(f, to, 1, c);
    cj_set(f, to, 2, cj_math_sin(f, y));
    cj_set(f, to, 3, cj_math_pow(f, y, x));
    cj_set(f, to, 4, cj_math_pow(f, y, y));
    cj_set(f, to, 5, cj_math_log(f, y));
    run(p, out, 6 * sizeof *out);
    cj_ptx_print(p, 0, &text, NULL);
    tap_is_uint(occurrences(text, ".func"), functions * 2, "%s: its functions, declared and defined", what);
    tap_is_uint(occurrences(text, "cj_math_two_over_pi["), 1, "%s: one table", what);
    cj_ptx_free(p);
}

static void forms(void)
{
    uint32_t automatic[6], inlined[6], called[6];
    bits_of_form(CJ_MATH_AUTO, automatic, "automatic", 2);
    bits_of_form(CJ_MATH_INLINE, inlined, "inline", 0);
    bits_of_form(CJ_MATH_CALLED, called, "called", 6);
    tap_is_mem(inlined, automatic, sizeof inlined, "inline code has the same bits");
    tap_is_mem(called, automatic, sizeof called, "called functions have the same bits");
}

/* Results of 64 bits are returned in memory; some functions have three, or four operands. */
static void wide_bits_of_form(cj_math_form form, uint64_t *out, const char *what, size_t functions)
{
    const char *text = "";
    cj_ptx *p = cj_ptx_create();
    cj_fn *f = cj_ptx_kernel(p, "k");
    cj_val to = cj_param_ptr(f, "out", CJ_U64), second[6], r[6];
    cj_math_set_form(f, form);
    cj_val x = cj_let(f, CJ_F64, 1e30), y = cj_let(f, CJ_F64, 0.75), z = cj_let(f, CJ_F64, -7.3);
    cj_local(f, "cj_call_16", CJ_U8, 4); /* the user's */
    r[0] = cj_math_sincos(f, x, &second[0]);
    r[1] = cj_math_sincos(f, z, &second[1]);
    r[2] = cj_math_complex_div(f, x, y, z, x, &second[2]);
    r[3] = cj_math_modf(f, z, &second[3]);
    r[4] = cj_math_frexp(f, x, &second[4]);
    r[5] = cj_math_remquo(f, x, z, &second[5]);
    for (int i = 0; i < 6; i++) {
        cj_set(f, to, 2 * i, cj_bits(f, CJ_U64, r[i]));
        cj_set(f, to, 2 * i + 1, i < 4 ? cj_bits(f, CJ_U64, second[i]) : cj_cvt(f, CJ_U64, second[i]));
    }
    cj_set(f, to, 12, cj_bits(f, CJ_U64, cj_math_pow(f, y, z)));
    run(p, out, 13 * sizeof *out);
    cj_ptx_print(p, 0, &text, NULL);
    tap_is_uint(occurrences(text, ".func"), functions * 2, "%s, f64: its functions, declared and defined", what);
    cj_ptx_free(p);
}

static void wide_forms(void)
{
    uint64_t automatic[13], inlined[13], called[13];
    wide_bits_of_form(CJ_MATH_AUTO, automatic, "automatic", 3); /* trig_big, complex_div, pow_log */
    wide_bits_of_form(CJ_MATH_INLINE, inlined, "inline", 0);
    wide_bits_of_form(CJ_MATH_CALLED, called, "called", 8);
    tap_is_mem(inlined, automatic, sizeof inlined, "inline code of f64 has the same bits");
    tap_is_mem(called, automatic, sizeof called, "called functions of f64 have the same bits");
    double sine;
    memcpy(&sine, &automatic[2], sizeof sine);
    tap_ok(fabs(sine + sin(7.3)) < 1e-15, "the second sine is that of its operand: %g", sine);
}

/* A kernel that stores the sine of 1e30. */
static void sine_kernel(cj_ptx *p, const char *name)
{
    cj_fn *f = cj_ptx_kernel(p, name);
    cj_val out = cj_param_ptr(f, "out", CJ_F32);
    cj_set(f, out, 0, cj_math_sin(f, cj_let(f, CJ_F32, 1e30f)));
}

/* A name that the user has is left to him; a copy of a module uses the functions that the module had. */
static void names_and_copies(void)
{
    const char *text = "";
    uint32_t first, second;
    cj_ptx *p = cj_ptx_create();
    cj_return(cj_ptx_func(p, "cj_math_trig_big_f32"));
    sine_kernel(p, "k");
    cj_ptx *q = cj_ptx_clone(p);
    sine_kernel(q, "again");
    cj_ptx_print(q, 0, &text, NULL);
    tap_is_uint(occurrences(text, "cj_math_trig_big_f32_2"), 4, "a declaration, a definition and two calls");
    tap_is_uint(occurrences(text, ".func"), 3, "no function is there twice");
    run_kernel(q, "k", &first, sizeof first);
    run_kernel(q, "again", &second, sizeof second);
    tap_is_uint(second, first, "with the same result");
    cj_ptx_free(p);
    cj_ptx_free(q);
}

/* ---- What docs/mathematics.md shows ---- */

static void as_documented(void)
{
    double d[3];
    cj_ptx *p = cj_ptx_create();
    cj_fn *f = cj_ptx_kernel(p, "k");
    cj_val out = cj_param_ptr(f, "out", CJ_F64), x = cj_let(f, CJ_F64, 0.5);
    cj_val c, sine = cj_math_sincos(f, x, &c);  /* the second result goes through a pointer */
    cj_val r = cj_math_pow(f, sine, 2.5);       /* a C number becomes a literal of x's type */
    cj_math_set_accuracy(f, CJ_MATH_FAST);
    cj_val q = cj_math_exp(f, r);               /* approximate instructions from here on */
    cj_set(f, out, 0, c);
    cj_set(f, out, 1, r);
    cj_set(f, out, 2, q);
    run(p, d, sizeof d);
    const double want[] = { cos(0.5), pow(sin(0.5), 2.5), exp(pow(sin(0.5), 2.5)) };
    for (size_t i = 0; i < 3; i++) tap_ok(fabs(d[i] - want[i]) < 1e-15, "documented: %g, wants %g", d[i], want[i]);
    cj_ptx_free(p);
}

/* ---- Accuracies ---- */

static const struct accuracy_case {
    const char *name; cj_math_accuracy accuracy; const char *has, *lacks;
} accuracies[] = {
    { "accurate", CJ_MATH_ACCURATE, "fma.rn.f32", "sin.approx" },
    { "fast", CJ_MATH_FAST, "sin.approx.f32", "fma" },
    { "rounded", CJ_MATH_ROUNDED, "fma.rn.f64", "sin.approx" },
};

static void by_accuracy(void)
{
    for (size_t i = 0; i < sizeof accuracies / sizeof *accuracies; i++) {
        const struct accuracy_case *a = &accuracies[i];
        const char *text = "";
        float got;
        cj_ptx *p = cj_ptx_create();
        cj_fn *f = cj_ptx_kernel(p, "k");
        cj_val out = cj_param_ptr(f, "out", CJ_F32);
        cj_math_set_accuracy(f, a->accuracy);
        cj_set(f, out, 0, cj_math_sin(f, cj_let(f, CJ_F32, 3.125f)));
        run(p, &got, sizeof got);
        cj_ptx_print(p, 0, &text, NULL);
        const float want = (float)sin(3.125);
        tap_ok(fabsf(got - want) <= (a->accuracy == CJ_MATH_FAST ? 0x1p-20f : a->accuracy ? 0 : 0x1p-30f),
               "%s: the sine is %a, wants %a", a->name, got, want);
        tap_has_str(text, a->has, "%s: the code has %s", a->name, a->has);
        tap_ok(!strstr(text, a->lacks), "%s: the code has no %s", a->name, a->lacks);
        cj_ptx_free(p);
    }
}

/* ---- Failures ---- */

static void none_for_words(cj_fn *f) { cj_math_exp(f, cj_let(f, CJ_U32, 1)); }
static void types_differ(cj_fn *f) { cj_math_pow(f, cj_let(f, CJ_F32, 1), cj_let(f, CJ_F64, 1)); }
static void no_half_step(cj_fn *f) { cj_math_nextafter(f, cj_let(f, CJ_F16, 1), 2); }
static void no_packed_exponent(cj_fn *f) { cj_math_frexp(f, cj_bits(f, CJ_F16X2, cj_let(f, CJ_U32, 1)), NULL); }
static void no_accuracy(cj_fn *f) { cj_math_set_accuracy(f, (cj_math_accuracy)3); }
static void no_form(cj_fn *f) { cj_math_set_form(f, (cj_math_form)-1); }

static const struct failure {
    const char *name;
    void (*call)(cj_fn *);
    cj_status status;
    const char *message;
} failures[] = {
    { "words have no exp", none_for_words, CJ_EPTX, "cj_math_exp: the operand is .u32, wants one of .f16" },
    { "types differ", types_differ, CJ_EPTX, "cj_math_pow: operand b is .f64, wants .f32" },
    { "halves have no nextafter", no_half_step, CJ_EPTX,
      "cj_math_nextafter: the operand is .f16, wants one of .f32 .f64" },
    { "packed halves have no frexp", no_packed_exponent, CJ_EPTX,
      "cj_math_frexp: the operand is .f16x2, wants one of" },
    { "no such accuracy", no_accuracy, CJ_EINVAL, "cj_math_set_accuracy: 3 is none of the values" },
    { "no such form", no_form, CJ_EINVAL, "is none of the values of its type, wants 0 to 2" },
};

static void fails(void)
{
    for (size_t i = 0; i < sizeof failures / sizeof *failures; i++) {
        cj_ptx *p = cj_ptx_create();
        cj_fn *f = cj_ptx_kernel(p, "k");
        failures[i].call(f);
        tap_is_int(cj_ptx_status(p), failures[i].status, "%s", failures[i].name);
        tap_has_str(cj_error_of(p)->message, failures[i].message, "%s: the message", failures[i].name);
        cj_ptx_free(p);
    }
}

int main(void)
{
    tap_need_device(1);
    tap_plan(0);
    cj_driver *drv = cj_driver_open(NULL);
    dev = cj_device_open(drv, 0, NULL);
    s = cj_stream_create(dev, NULL);
    through_f32();
    numbers_beside_registers();
    forms();
    wide_forms();
    names_and_copies();
    as_documented();
    by_accuracy();
    fails();
    cj_stream_free(s);
    cj_device_close(dev);
    cj_driver_close(drv);
    return tap_done();
}
