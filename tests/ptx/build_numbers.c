/* Verbs of numbers only: what C computes on int64_t, uint64_t, float and double, as a number without a type;
 * comparisons as constants; what register a number is put into; what is no number's business. */
#include "../tap.h"
#include "ask_ptxas.h"

#include <cujit/ptx.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "ptx/fold.h"

typedef struct site { cj_ptx *m; cj_fn *f; } site;

static site begin(void)
{
    site s = { .m = cj_ptx_create() };
    s.f = cj_ptx_kernel(s.m, "k");
    cj_line(s.f, "user.lang", 7);
    return s;
}

/* ---- Results: the value as text ---------------------------------------------------------------------------------- */

/* "5", "18446744073709551615", "1.5f", "1.5", "true"; what is no number: its type. */
static const char *value_of(const cj_fn *f, cj_val v, char *out, size_t size)
{
    bool holds;
    if (!v.bits) return "null";
    if (cji_val_kind(v) != CJI_K_IMM) return snprintf(out, size, ".%s", cji_type_word(cji_val_type(v))), out;
    const cji_lit *l = &f->lit[(uint32_t)v.bits];
    if (cji_val_type(v) == CJ_PRED && cji_is_constant(f, v, &holds)) return holds ? "true" : "false";
    if (l->lit == CJI_LIT_INT && l->wide) snprintf(out, size, "%llu", (unsigned long long)l->bits);
    else if (l->lit == CJI_LIT_INT) snprintf(out, size, "%lld", (long long)l->bits);
    else snprintf(out, size, "%.9g%s", cji_lit_value(l), l->lit == CJI_LIT_F32 ? "f" : "");
    return out;
}

#define ROWS(X) \
    X(cj_add(f, 2, 3), "5") X(cj_add(f, -2, 3u), "1") X(cj_add(f, INT64_MAX, 1), "-9223372036854775808") \
    X(cj_add(f, UINT64_MAX, 1), "0") X(cj_add(f, UINT64_MAX, 0), "18446744073709551615") X(cj_add(f, 1.5, 2), "3.5") \
    X(cj_add(f, 1.5f, 2), "3.5f") X(cj_add(f, 1.5f, 0.25), "1.75") X(cj_add(f, (char)3, (short)-5), "-2") \
    X(cj_add(f, 0.1f, 0.2f), "0.300000012f") X(cj_add(f, 0.1, 0.2), "0.3") X(cj_add(f, (bool)1, 1), "2") \
    X(cj_sub(f, 2, 3), "-1") X(cj_sub(f, UINT64_MAX, 1), "18446744073709551614") X(cj_sub(f, 0.5f, 1), "-0.5f") \
    X(cj_mul(f, -4, 5), "-20") X(cj_mul(f, 1ull << 63, 2), "0") X(cj_mul(f, 3, 0.5), "1.5") \
    X(cj_mul_wide(f, 1 << 30, 1 << 30), "1152921504606846976") \
    X(cj_mad(f, 3, 4, 5), "17") X(cj_fma(f, 3, 4, 5.5), "17.5") X(cj_fma(f, 3, 4, 5), "17") \
    X(cj_fma(f, 0.1f, 10.0f, -1.0f), "1.49011612e-08f") X(cj_fma(f, 0.1, 10, -1), "5.55111512e-17") \
    X(cj_div(f, 7, 2), "3") X(cj_div(f, -7, 2), "-3") X(cj_div(f, INT64_MIN, -1), "-9223372036854775808") \
    X(cj_div(f, UINT64_MAX, 2), "9223372036854775807") X(cj_div(f, 7, 2.0), "3.5") X(cj_div(f, 1.0, 0), "inf") \
    X(cj_div(f, -1.0f, 0), "-inff") \
    X(cj_rem(f, 7, 3), "1") X(cj_rem(f, -7, 3), "-1") X(cj_rem(f, INT64_MIN, -1), "0") \
    X(cj_rem(f, UINT64_MAX, 10), "5") \
    X(cj_min(f, -1, 1), "-1") X(cj_max(f, -1, 1), "1") X(cj_min(f, UINT64_MAX, 1), "1") X(cj_max(f, 1, 2.5), "2.5") \
    X(cj_min(f, NAN, 2.0), "2") X(cj_max(f, 2.0f, (float)NAN), "2f") X(cj_min(f, 0.0, -0.0), "-0") \
    X(cj_max(f, -0.0, 0.0), "0") \
    X(cj_neg(f, 5), "-5") X(cj_neg(f, 1ull << 63), "9223372036854775808") X(cj_neg(f, 1.5f), "-1.5f") \
    X(cj_abs(f, -5), "5") X(cj_abs(f, INT64_MIN), "9223372036854775808") X(cj_abs(f, -2.5), "2.5") \
    X(cj_sqrt(f, 2), "1.41421356") X(cj_sqrt(f, 2.0f), "1.41421354f") X(cj_sqrt(f, -1.0), "nan") \
    X(cj_sqrt(f, -0.0), "-0") \
    X(cj_rcp(f, 4), "0.25") X(cj_rcp(f, 3.0f), "0.333333343f") \
    X(cj_floor(f, -1.5), "-2") X(cj_ceil(f, -1.5f), "-1f") X(cj_trunc(f, -1.5), "-1") X(cj_round(f, 2.5), "2") \
    X(cj_round(f, 3.5), "4") X(cj_round(f, -2.5), "-2") X(cj_floor(f, 7), "7") X(cj_ceil(f, -0.5), "-0") \
    X(cj_floor(f, 1e300), "1e+300") \
    X(cj_and(f, 12, 10), "8") X(cj_or(f, 12, 10), "14") X(cj_xor(f, 12, 10), "6") X(cj_inv(f, 0), "-1") \
    X(cj_inv(f, UINT64_MAX), "0") \
    X(cj_shl(f, 1, 40), "1099511627776") X(cj_shl(f, 1, 64), "0") X(cj_shr(f, -8, 1), "-4") \
    X(cj_shr(f, -8, 99), "-1") X(cj_shr(f, -8, 0), "-8") X(cj_shr(f, UINT64_MAX, 60), "15") X(cj_shr(f, 8, 64), "0") \
    X(cj_eq(f, 1, 1.0), "true") X(cj_ne(f, 1, 2), "true") X(cj_lt(f, -1, 1), "true") \
    X(cj_lt(f, -1, UINT64_MAX), "false") X(cj_le(f, 2, 2), "true") X(cj_gt(f, 2, 2), "false") \
    X(cj_ge(f, 2.5f, 2), "true") X(cj_eq(f, NAN, NAN), "false") X(cj_ne(f, NAN, NAN), "true") \
    X(cj_lt(f, NAN, 1), "false") \
    X(cj_not(f, cj_lt(f, 1, 2)), "false") X(cj_not(f, cj_imm(f, 0)), "true") X(cj_inv(f, cj_lt(f, 1, 2)), "false") \
    X(cj_and(f, cj_lt(f, 1, 2), cj_lt(f, 2, 1)), "false") X(cj_or(f, cj_lt(f, 1, 2), cj_lt(f, 2, 1)), "true") \
    X(cj_xor(f, cj_lt(f, 1, 2), cj_lt(f, 1, 2)), "false") \
    X(cj_select(f, cj_lt(f, 1, 2), 3, 4.5), "3") X(cj_select(f, 0, 3, 4.5), "4.5") \
    X(cj_and(f, p, cj_lt(f, 1, 2)), ".pred") X(cj_and(f, p, cj_lt(f, 2, 1)), "false") \
    X(cj_or(f, cj_lt(f, 1, 2), p), "true") X(cj_xor(f, p, cj_lt(f, 1, 2)), ".pred") \
    X(cj_select(f, cj_lt(f, 1, 2), x, 4), ".f32") X(cj_select(f, p, 3, 4), ".u32") X(cj_select(f, p, 3, -4), ".s32") \
    X(cj_select(f, p, 3, 4.5), ".f64") X(cj_select(f, p, 1.5f, 2), ".f32") X(cj_select(f, p, x, 2), ".f32") \
    X(cj_mov(f, 5), ".u32") X(cj_mov(f, -5), ".s32") X(cj_mov(f, 1ll << 32), ".u64") \
    X(cj_mov(f, -(1ll << 40)), ".s64") X(cj_mov(f, 1.5f), ".f32") X(cj_mov(f, 1.5), ".f64") \
    X(cj_mov(f, cj_lt(f, 1, 2)), ".pred") \
    X(cj_cvt(f, CJ_F64, cj_lt(f, 1, 2)), ".f64") X(cj_cvt(f, CJ_PRED, 7), ".pred") \
    X(cj_bits(f, CJ_F32, 0x3f800000), ".f32") X(cj_bits(f, CJ_F64, 1), ".f64") X(cj_bits(f, CJ_U32, 1.5f), ".u32") \
    X(cj_bits(f, CJ_U64, 1.5), ".u64") \
    X(cj_popc(f, 255), ".u32") X(cj_clz(f, 1ll << 40), ".u32") X(cj_brev(f, -1), ".s32") \
    X(cj_mul_hi(f, 1 << 30, 8), ".u32") \
    X(cj_approx_sin(f, 1), ".f32") X(cj_approx_sin(f, 0.5), ".f32") X(cj_approx_rsqrt(f, 2.0), ".f64") \
    X(cj_approx_div(f, 1.0f, 3), ".f32") \
    X(cj_shl(f, 1, n), ".u32") X(cj_shr(f, -1, n), ".s32") \
    X(cj_add(f, n, 1), ".u32") X(cj_sub(f, 1, x), ".f32") \
    X(cj_vote_any(f, cj_lt(f, 1, 2)), ".pred") X(cj_shfl_down(f, 1, 2), ".u32") \
    X(cj_for(f, 0, 10, 1), ".u32") X(cj_for(f, 10, 0, -1), ".s32") X(cj_for(f, -3, 10, 1), ".s32") \
    X(cj_for(f, 0, 1ll << 40, 1), ".u64") X(cj_for(f, 1ll << 40, 0, -1), ".s64") \
    X(cj_let(f, CJ_F16, cj_add(f, 1, 0.5)), ".f16")

static void results(void)
{
    site s = begin();
    cj_fn *f = s.f;
    const char *text;
    char got[64];
    cj_val p = cj_reg(f, CJ_PRED), x = cj_reg(f, CJ_F32), n = cj_reg(f, CJ_U32);
    cj_ptx_set_target(s.m, "sm_80");
#define CHECK(call, want) tap_is_str(value_of(f, call, got, sizeof got), want, "%s", #call);
    ROWS(CHECK)
#undef CHECK
    while (f->nblock) cj_end(f);
    if (!tap_is_int(cj_ptx_print(s.m, 0, &text, NULL), CJ_OK, "all of them print"))
        tap_diag("%s", cj_error_of(s.m)->message);
    ptxas_takes(text, "registers for numbers");
    cj_ptx_free(s.m);
}

/* ---- Mistakes ---------------------------------------------------------------------------------------------------- */

static void by_zero(cj_fn *f) { cj_div(f, 1, 0); }
static void rest_by_zero(cj_fn *f) { cj_rem(f, UINT64_MAX, 0); }
static void float_rest(cj_fn *f) { cj_rem(f, 1.5, 2); }
static void float_bits(cj_fn *f) { cj_and(f, 1.5f, 2); }
static void float_count(cj_fn *f) { cj_shl(f, 1, 1.5); }
static void negative_count(cj_fn *f) { cj_shl(f, 1, -1); }
static void float_for(cj_fn *f) { cj_for(f, 0, 1.5, 1); }
static void standing_for(cj_fn *f) { cj_for(f, 0, 10, 0); }
static void number_of_constant(cj_fn *f) { cj_add(f, cj_lt(f, 1, 2), cj_reg(f, CJ_U32)); }

static const struct { const char *name; void (*make)(cj_fn *f); cj_status want; const char *message; } mistakes[] = {
    { "division by zero", by_zero, CJ_EPTX, "user.lang:7: cj_div: division of a number by 0" },
    { "remainder by zero", rest_by_zero, CJ_EPTX, "user.lang:7: cj_rem: division of a number by 0" },
    { "remainder of a float", float_rest, CJ_EPTX, "cj_rem: 1.5 is a floating-point number, wants an integer" },
    { "bits of a float", float_bits, CJ_EPTX, "cj_and: 1.5 is a floating-point number, wants an integer" },
    { "a count that is a float", float_count, CJ_EPTX, "cj_shl: 1.5 is a floating-point number, wants an integer" },
    { "a negative count", negative_count, CJ_EPTX, "cj_shl: the count -1 is negative" },
    { "a loop of floats", float_for, CJ_EPTX, "cj_for: the counter is .f64, wants an integer" },
    { "a loop that stands still", standing_for, CJ_EINVAL, "cj_for: a step of 0" },
    { "a constant predicate as a number", number_of_constant, CJ_EPTX, "cj_add: operand b is .u32, wants .pred" },
};

static void check_mistakes(void)
{
    for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
        site s = begin();
        mistakes[i].make(s.f);
        tap_is_int(cj_ptx_status(s.m), mistakes[i].want, "%s", mistakes[i].name);
        tap_has_str(cj_error_of(s.m)->message, mistakes[i].message, "%s: message", mistakes[i].name);
        tap_is_int(cj_error_of(s.m)->line, 7, "%s: line", mistakes[i].name);
        cj_ptx_free(s.m);
    }
}

/* ---- Control flow: what is emitted ------------------------------------------------------------------------------- */

static void control_flow(void)
{
    site s = begin();
    cj_fn *f = s.f;
    const char *text;
    cj_if(f, cj_lt(f, 1, 2));                       /* always: no branch */
        cj_if(f, cj_lt(f, 2, 1));                   /* never: over it */
            cj_pragma(f, "nounroll");
        cj_end(f);
    cj_end(f);
    cj_loop(f);
        cj_continue_if(f, 0);
        cj_break_unless(f, cj_eq(f, 1, 2));
        cj_return_if(f, cj_ne(f, 1, 1));
        cj_ins_if(f, 0, "bar.sync", 7);
        cj_ins_unless(f, cj_eq(f, 1, 2), "bar.sync", 3);
    cj_end(f);
    cj_while(f, 0);
        cj_ins(f, "bar.sync", 4);
    cj_end(f);
    cj_while(f, 1);
        cj_break(f);
    cj_end(f);
    if (!tap_is_int(cj_ptx_print(s.m, 0, &text, NULL), CJ_OK, "constant conditions print"))
        tap_bail("%s", cj_error_of(s.m)->message);
    tap_ok(!strstr(text, "setp") && !strchr(text, '@') && !strstr(text, "bar.sync 7"),
           "without a comparison, a predicate, or what never runs by a guard");
    tap_has_str(text, "\tbra $L1;\n\t.pragma \"nounroll\";\n$L1:\n$L0:\n", "an if that never holds is branched over");
    tap_has_str(text, "$L2:\n\tbra $L3;\n\tbar.sync 3;\n\tbra $L2;\n$L3:\n", "a break that always holds is a branch");
    tap_has_str(text, "$L4:\n\tbra $L5;\n\tbar.sync 4;\n\tbra $L4;\n$L5:\n",
                "a while that never holds is branched over");
    tap_has_str(text, "$L6:\n\tbra $L7;\n\tbra $L6;\n$L7:\n\tret;\n", "one that always holds has no condition");
    ptxas_takes(text, "unreachable blocks");
    cj_ptx_free(s.m);
}

/* ---- Nested deep ------------------------------------------------------------------------------------------------- */

static void nested(void)
{
    site s = begin();
    cj_fn *f = s.f;
    char got[64];
    cj_val v = cj_add(
        f, 1,
        cj_mul(f, 2,
               cj_sub(f, 30,
                      cj_add(f, 4, cj_max(f, 5, cj_min(f, 6, cj_add(f, 7, cj_neg(f, cj_abs(f, cj_add(f, 8, -9))))))))));
    tap_is_str(value_of(f, v, got, sizeof got), "41", "ten verbs of numbers inside each other");
    cj_val x = cj_reg(f, CJ_F32);
    v = cj_add(
        f, 1,
        cj_mul(f, 2,
               cj_sub(f, 3,
                      cj_add(f, 4, cj_max(f, 5, cj_min(f, 6, cj_add(f, 7, cj_neg(f, cj_abs(f, cj_add(f, 8, x))))))))));
    tap_is_int(cj_type_of(v), CJ_F32, "ten verbs of one register");
    tap_is_int((int)f->nins, 10, "are ten instructions");
    cj_ptx_free(s.m);
}

/* ---- Arithmetic without libm ------------------------------------------------------------------------------------- */

static uint64_t state = 88172645463325252u;

static uint64_t next_random(void)
{
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return state;
}

/* Any double, often one near others, tiny, huge, infinite or NaN. */
static double any_double(void)
{
    uint64_t b = next_random();
    unsigned how = (unsigned)(next_random() % 8);
    double x;
    if (how < 4) b = (b & 0x800fffffffffffffu) | (uint64_t)(1003 + next_random() % 40) << 52;
    if (how == 4) b &= 0x800fffffffffffffu;
    if (how == 5) b &= 0xfff0000000000000u;
    memcpy(&x, &b, sizeof x);
    return x;
}

static bool same(double a, double b)
{
    return (a != a && b != b) || memcmp(&a, &b, sizeof a) == 0;
}

static void without_libm(void)
{
    size_t wrong[4] = { 0 };
    for (int i = 0; i < (tap_is_slow() ? 2000 : 100000); i++) {
        double a = any_double(), b = any_double(), c = any_double();
        if (i % 4 == 0) c = -a * b;
        wrong[0] += !same(cji_soft_fma(a, b, c, false), fma(a, b, c));
        float x = (float)a, y = (float)b, z = (float)c;
        wrong[1] += !same(cji_soft_fma((double)x, (double)y, (double)z, true), (double)fmaf(x, y, z));
        wrong[2] += !same(cji_soft_sqrt(fabs(a)), sqrt(fabs(a)));
        wrong[3] +=
            !same(cji_soft_round(a, CJI_VERB_FLOOR), floor(a)) + !same(cji_soft_round(a, CJI_VERB_CEIL), ceil(a)) +
            !same(cji_soft_round(a, CJI_VERB_TRUNC), trunc(a)) + !same(cji_soft_round(a, CJI_VERB_ROUND), rint(a));
    }
    if (tap_is_slow()) tap_skip(1, "memcheck's own fma of doubles is not exact");
    else tap_is_uint(wrong[0], 0, "fma of doubles is libm's");
    tap_is_uint(wrong[1], 0, "fma of floats is libm's");
    tap_is_uint(wrong[2], 0, "square roots are libm's");
    tap_is_uint(wrong[3], 0, "whole numbers are libm's");
}

int main(void)
{
    tap_plan(0);
    results();
    check_mistakes();
    control_flow();
    nested();
    without_libm();
    return tap_done();
}
