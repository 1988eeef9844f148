/* The public functions: operands of one type, the part for it, halves through f32, numbers on double. */
#include "ptx/math/math.h"

/* ---- Options ----------------------------------------------------------------------------------------------------- */

static bool one_of(cj_fn *f, unsigned value, unsigned most, const char *call)
{
    if (!cji_fn_open(f, call)) return false;
    if (value <= most) return true;
    cji_ptx_fail(f->m, CJ_EINVAL, call, f->loc, "%s: %u is none of the values of its type, wants 0 to %u", call, value,
                 most);
    return false;
}

void cj_math_set_accuracy(cj_fn *f, cj_math_accuracy accuracy)
{
    if (one_of(f, (unsigned)accuracy, CJ_MATH_ROUNDED, __func__)) f->math_accuracy = (uint8_t)accuracy;
}

void cj_math_set_form(cj_fn *f, cj_math_form form)
{
    if (one_of(f, (unsigned)form, CJ_MATH_CALLED, __func__)) f->math_form = (uint8_t)form;
}

/* ---- Operands ---------------------------------------------------------------------------------------------------- */

/* The parts of a function, by type. */
typedef struct typed_parts { cji_math_part f32, f64; } typed_parts;
#define PARTS(name) ((typed_parts){ CJI_MATH_##name##_f32, CJI_MATH_##name##_f64 })

static bool is_one_half(unsigned type) { return type == CJ_F16 || type == CJ_BF16; }

static bool is_pair_of_halves(unsigned type) { return type == CJ_F16X2 || type == CJ_BF16X2; }

static bool has_function(cj_fn *f, unsigned type, const char *call)
{
    if (type == CJ_F32 || type == CJ_F64 || is_one_half(type) || is_pair_of_halves(type)) return true;
    cji_ptx_fail(f->m, CJ_EPTX, call, f->loc,
                 "%s: the operand is .%s, wants one of .f16 .f16x2 .bf16 .bf16x2 .f32 .f64", call,
                 cji_type_word(type));
    return false;
}

/* An operand as bits in a register. */
static cj_val as_bits(cj_fn *f, unsigned type, cj_val a)
{
    if (is_one_half(type)) a = cj_cvt(f, CJ_F32, a);
    cj_val wide = cj_let(f, type == CJ_F64 ? CJ_F64 : CJ_F32, a);
    return wide.bits ? cj_bits(f, type == CJ_F64 ? CJ_B64 : CJ_B32, wide) : CJI_NULL;
}

static cj_val of_bits(cj_fn *f, unsigned type, cj_val r)
{
    cj_val v = cj_bits(f, type == CJ_F64 ? CJ_F64 : CJ_F32, r);
    return is_one_half(type) ? cj_cvt(f, (cj_type)type, v) : v;
}

static double as_double(const cj_fn *f, cj_val v) { return cji_lit_value(&f->lit[(uint32_t)v.bits]); }

/* One use of a function: its operands are of one type, but for whole numbers behind them. */
typedef struct use {
    cj_fn *f;
    const char *call;
    typed_parts parts;
    size_t args, results;
    size_t typed;                /* the operands that have the function's type */
    bool wide;                   /* not through f32: halves have no such function */
} use;

/* ---- Numbers ----------------------------------------------------------------------------------------------------- */

static void of_numbers(const use *u, const cj_val *v, cj_val *r)
{
    double a[CJI_MATH_ARGS], out[CJI_MATH_ARGS];
    const char *letter = cji_math_results(u->parts.f64);
    for (size_t i = 0; i < u->args; i++) a[i] = as_double(u->f, v[i]);
    cji_math_numbers(u->parts.f64, a, out);
    for (size_t i = 0; i < u->results; i++)
        r[i] = letter[i] == 'S' ? cj_imm_i(u->f, (int64_t)out[i]) : cj_imm_f64(u->f, out[i]);
}

/* ---- Registers --------------------------------------------------------------------------------------------------- */

/* Of a type that is not packed. */
static bool of_type(const use *u, unsigned type, const cj_val *v, cj_val *r)
{
    cj_val a[CJI_MATH_ARGS];
    const cji_math_part part = cji_math_variant(type == CJ_F64 ? u->parts.f64 : u->parts.f32, u->f->math_accuracy);
    const char *letter = cji_math_results(part);
    for (size_t i = 0; i < u->args; i++) {
        a[i] = i < u->typed ? as_bits(u->f, type, v[i]) : cj_bits(u->f, CJ_B32, cj_let(u->f, CJ_S32, v[i]));
        if (!a[i].bits) return false;
    }
    cji_math m = cji_math_begin(u->f, u->call);
    m.form = u->f->math_form;
    cji_math_use(&m, part, a, r);
    if (u->f->m->dead) return false;
    for (size_t i = 0; i < u->results; i++)
        r[i] = letter[i] == 'S' ? cj_bits(u->f, CJ_S32, r[i]) : of_bits(u->f, type, r[i]);
    return true;
}

static void unpacked(cj_fn *f, unsigned half, unsigned type, cj_val x, cj_val *low, cj_val *high)
{
    const cj_val h[2] = { cji_reg_val(f, CJ_B16), cji_reg_val(f, CJ_B16) };
    cj_val from = cj_bits(f, CJ_B32, cj_let(f, (cj_type)type, x));
    cji_math_place(f, CJI_MOVE_HALVES, cj_vec_n(f, h, 2), from);
    *low = cj_bits(f, (cj_type)half, h[0]);
    *high = cj_bits(f, (cj_type)half, h[1]);
}

static cj_val packed(cj_fn *f, unsigned type, cj_val low, cj_val high)
{
    const cj_val h[2] = { cj_bits(f, CJ_B16, low), cj_bits(f, CJ_B16, high) };
    cj_val word = cji_reg_val(f, CJ_B32);
    cji_math_place(f, CJI_MOVE_HALVES, word, cj_vec_n(f, h, 2));
    return cj_bits(f, (cj_type)type, word);
}

/* Both halves, each through f32. */
static bool of_packed(const use *u, unsigned type, const cj_val *v, cj_val *r)
{
    const unsigned half = type == CJ_F16X2 ? CJ_F16 : CJ_BF16;
    cj_val low[CJI_MATH_ARGS], high[CJI_MATH_ARGS], below[CJI_MATH_ARGS], above[CJI_MATH_ARGS];
    for (size_t i = 0; i < u->args; i++) unpacked(u->f, half, type, v[i], &low[i], &high[i]);
    if (!of_type(u, half, low, below) || !of_type(u, half, high, above)) return false;
    for (size_t i = 0; i < u->results; i++) r[i] = packed(u->f, type, below[i], above[i]);
    return !u->f->m->dead;
}

/* Packed halves have no function with a whole number among its operands or results. */
static bool takes_halves(const use *u, unsigned type)
{
    if (u->wide && (is_one_half(type) || is_pair_of_halves(type))) {
        cji_ptx_fail(u->f->m, CJ_EPTX, u->call, u->f->loc, "%s: the operand is .%s, wants one of .f32 .f64", u->call,
                     cji_type_word(type));
        return false;
    }
    const char *letter = cji_math_results(u->parts.f32);
    bool whole = u->typed < u->args;
    for (size_t i = 0; i < u->results; i++) whole |= letter[i] == 'S';
    if (!whole || !is_pair_of_halves(type)) return true;
    cji_ptx_fail(u->f->m, CJ_EPTX, u->call, u->f->loc, "%s: the operand is .%s, wants one of .f16 .bf16 .f32 .f64",
                 u->call, cji_type_word(type));
    return false;
}

/* All results. */
static bool function(const use *u, cj_val *v, cj_val *r)
{
    unsigned type;
    if (!cji_fn_open(u->f, u->call)) return false;
    if (cji_all_numbers(u->f, v, u->args)) return of_numbers(u, v, r), !u->f->m->dead;
    if (!cji_prepare(u->f, v, u->typed, &type, u->call) || !has_function(u->f, type, u->call)) return false;
    if (!takes_halves(u, type)) return false;
    return is_pair_of_halves(type) ? of_packed(u, type, v, r) : of_type(u, type, v, r);
}

/* The first result; the second through a pointer, which may be NULL. */
static cj_val results_of(use u, cj_val *v, cj_val *second)
{
    cj_val r[CJI_MATH_ARGS] = { CJI_NULL, CJI_NULL };
    if (!function(&u, v, r)) r[0] = r[1] = CJI_NULL;
    if (second) *second = r[1];
    return r[0];
}

static cj_val of_one(cj_fn *f, typed_parts parts, cj_val x, const char *call)
{
    return results_of((use){ f, call, parts, 1, 1, 1, false }, &x, NULL);
}

static cj_val of_two(cj_fn *f, typed_parts parts, cj_val x, cj_val y, const char *call)
{
    return results_of((use){ f, call, parts, 2, 1, 2, false }, (cj_val[]){ x, y }, NULL);
}

/* n is a whole number. */
static cj_val of_whole(cj_fn *f, typed_parts parts, cj_val x, cj_val n, const char *call)
{
    return results_of((use){ f, call, parts, 2, 1, 1, false }, (cj_val[]){ x, n }, NULL);
}

static cj_val pair_of_one(cj_fn *f, typed_parts parts, cj_val x, cj_val *second, const char *call)
{
    return results_of((use){ f, call, parts, 1, 2, 1, false }, &x, second);
}

static cj_val pair_of_two(cj_fn *f, typed_parts parts, cj_val x, cj_val y, cj_val *second, const char *call)
{
    return results_of((use){ f, call, parts, 2, 2, 2, false }, (cj_val[]){ x, y }, second);
}

/* ---- Exponential functions, logarithms and powers ---------------------------------------------------------------- */

cj_val cj_math_exp(cj_fn *f, cj_val x) { return of_one(f, PARTS(exp), x, __func__); }
cj_val cj_math_exp2(cj_fn *f, cj_val x) { return of_one(f, PARTS(exp2), x, __func__); }
cj_val cj_math_exp10(cj_fn *f, cj_val x) { return of_one(f, PARTS(exp10), x, __func__); }
cj_val cj_math_expm1(cj_fn *f, cj_val x) { return of_one(f, PARTS(expm1), x, __func__); }
cj_val cj_math_log(cj_fn *f, cj_val x) { return of_one(f, PARTS(log), x, __func__); }
cj_val cj_math_log2(cj_fn *f, cj_val x) { return of_one(f, PARTS(log2), x, __func__); }
cj_val cj_math_log10(cj_fn *f, cj_val x) { return of_one(f, PARTS(log10), x, __func__); }
cj_val cj_math_log1p(cj_fn *f, cj_val x) { return of_one(f, PARTS(log1p), x, __func__); }
cj_val cj_math_pow(cj_fn *f, cj_val x, cj_val y) { return of_two(f, PARTS(pow), x, y, __func__); }
cj_val cj_math_pown(cj_fn *f, cj_val x, cj_val n) { return of_whole(f, PARTS(pown), x, n, __func__); }

/* ---- Trigonometric functions ------------------------------------------------------------------------------------- */

cj_val cj_math_sin(cj_fn *f, cj_val x) { return of_one(f, PARTS(sin), x, __func__); }
cj_val cj_math_cos(cj_fn *f, cj_val x) { return of_one(f, PARTS(cos), x, __func__); }
cj_val cj_math_tan(cj_fn *f, cj_val x) { return of_one(f, PARTS(tan), x, __func__); }
cj_val cj_math_sincos(cj_fn *f, cj_val x, cj_val *cosine) { return pair_of_one(f, PARTS(sincos), x, cosine, __func__); }
cj_val cj_math_sinpi(cj_fn *f, cj_val x) { return of_one(f, PARTS(sinpi), x, __func__); }
cj_val cj_math_cospi(cj_fn *f, cj_val x) { return of_one(f, PARTS(cospi), x, __func__); }
cj_val cj_math_tanpi(cj_fn *f, cj_val x) { return of_one(f, PARTS(tanpi), x, __func__); }
cj_val cj_math_sincospi(cj_fn *f, cj_val x, cj_val *cosine)
{
    return pair_of_one(f, PARTS(sincospi), x, cosine, __func__);
}
cj_val cj_math_asin(cj_fn *f, cj_val x) { return of_one(f, PARTS(asin), x, __func__); }
cj_val cj_math_acos(cj_fn *f, cj_val x) { return of_one(f, PARTS(acos), x, __func__); }
cj_val cj_math_atan(cj_fn *f, cj_val x) { return of_one(f, PARTS(atan), x, __func__); }
cj_val cj_math_atan2(cj_fn *f, cj_val y, cj_val x) { return of_two(f, PARTS(atan2), y, x, __func__); }

/* ---- Hyperbolic functions ---------------------------------------------------------------------------------------- */

cj_val cj_math_sinh(cj_fn *f, cj_val x) { return of_one(f, PARTS(sinh), x, __func__); }
cj_val cj_math_cosh(cj_fn *f, cj_val x) { return of_one(f, PARTS(cosh), x, __func__); }
cj_val cj_math_tanh(cj_fn *f, cj_val x) { return of_one(f, PARTS(tanh), x, __func__); }
cj_val cj_math_asinh(cj_fn *f, cj_val x) { return of_one(f, PARTS(asinh), x, __func__); }
cj_val cj_math_acosh(cj_fn *f, cj_val x) { return of_one(f, PARTS(acosh), x, __func__); }
cj_val cj_math_atanh(cj_fn *f, cj_val x) { return of_one(f, PARTS(atanh), x, __func__); }

/* ---- Error functions and the normal distribution ----------------------------------------------------------------- */

cj_val cj_math_erf(cj_fn *f, cj_val x) { return of_one(f, PARTS(erf), x, __func__); }
cj_val cj_math_erfc(cj_fn *f, cj_val x) { return of_one(f, PARTS(erfc), x, __func__); }
cj_val cj_math_erfcx(cj_fn *f, cj_val x) { return of_one(f, PARTS(erfcx), x, __func__); }
cj_val cj_math_erfinv(cj_fn *f, cj_val x) { return of_one(f, PARTS(erfinv), x, __func__); }
cj_val cj_math_erfcinv(cj_fn *f, cj_val x) { return of_one(f, PARTS(erfcinv), x, __func__); }
cj_val cj_math_normcdf(cj_fn *f, cj_val x) { return of_one(f, PARTS(normcdf), x, __func__); }
cj_val cj_math_normcdfinv(cj_fn *f, cj_val x) { return of_one(f, PARTS(normcdfinv), x, __func__); }

/* ---- The gamma function ------------------------------------------------------------------------------------------ */

cj_val cj_math_lgamma(cj_fn *f, cj_val x) { return of_one(f, PARTS(lgamma), x, __func__); }
cj_val cj_math_tgamma(cj_fn *f, cj_val x) { return of_one(f, PARTS(tgamma), x, __func__); }

/* ---- Roots and lengths ------------------------------------------------------------------------------------------- */

cj_val cj_math_cbrt(cj_fn *f, cj_val x) { return of_one(f, PARTS(cbrt), x, __func__); }
cj_val cj_math_rcbrt(cj_fn *f, cj_val x) { return of_one(f, PARTS(rcbrt), x, __func__); }
cj_val cj_math_rsqrt(cj_fn *f, cj_val x) { return of_one(f, PARTS(rsqrt), x, __func__); }
cj_val cj_math_hypot(cj_fn *f, cj_val x, cj_val y) { return of_two(f, PARTS(hypot), x, y, __func__); }
cj_val cj_math_rhypot(cj_fn *f, cj_val x, cj_val y) { return of_two(f, PARTS(rhypot), x, y, __func__); }

/* ---- Remainders, whole numbers and parts ------------------------------------------------------------------------- */

cj_val cj_math_fmod(cj_fn *f, cj_val x, cj_val y) { return of_two(f, PARTS(fmod), x, y, __func__); }
cj_val cj_math_remainder(cj_fn *f, cj_val x, cj_val y) { return of_two(f, PARTS(remainder), x, y, __func__); }
cj_val cj_math_remquo(cj_fn *f, cj_val x, cj_val y, cj_val *quotient)
{
    return pair_of_two(f, PARTS(remquo), x, y, quotient, __func__);
}
cj_val cj_math_round(cj_fn *f, cj_val x) { return of_one(f, PARTS(round), x, __func__); }
cj_val cj_math_rint(cj_fn *f, cj_val x) { return of_one(f, PARTS(rint), x, __func__); }
cj_val cj_math_modf(cj_fn *f, cj_val x, cj_val *whole) { return pair_of_one(f, PARTS(modf), x, whole, __func__); }
cj_val cj_math_frexp(cj_fn *f, cj_val x, cj_val *exponent)
{
    return pair_of_one(f, PARTS(frexp), x, exponent, __func__);
}
cj_val cj_math_ldexp(cj_fn *f, cj_val x, cj_val n) { return of_whole(f, PARTS(ldexp), x, n, __func__); }
cj_val cj_math_logb(cj_fn *f, cj_val x) { return of_one(f, PARTS(logb), x, __func__); }
cj_val cj_math_ilogb(cj_fn *f, cj_val x) { return of_one(f, PARTS(ilogb), x, __func__); }

cj_val cj_math_nextafter(cj_fn *f, cj_val x, cj_val y)
{
    return results_of((use){ f, __func__, PARTS(nextafter), 2, 1, 2, true }, (cj_val[]){ x, y }, NULL);
}

cj_val cj_math_fdim(cj_fn *f, cj_val x, cj_val y) { return of_two(f, PARTS(fdim), x, y, __func__); }
cj_val cj_math_copysign(cj_fn *f, cj_val size, cj_val sign) { return of_two(f, PARTS(copysign), size, sign, __func__); }

/* ---- Complex numbers --------------------------------------------------------------------------------------------- */

cj_val cj_math_complex_exp(cj_fn *f, cj_val re, cj_val im, cj_val *imaginary)
{
    return pair_of_two(f, PARTS(complex_exp), re, im, imaginary, __func__);
}
cj_val cj_math_complex_log(cj_fn *f, cj_val re, cj_val im, cj_val *imaginary)
{
    return pair_of_two(f, PARTS(complex_log), re, im, imaginary, __func__);
}
cj_val cj_math_complex_sqrt(cj_fn *f, cj_val re, cj_val im, cj_val *imaginary)
{
    return pair_of_two(f, PARTS(complex_sqrt), re, im, imaginary, __func__);
}
cj_val cj_math_complex_abs(cj_fn *f, cj_val re, cj_val im) { return of_two(f, PARTS(hypot), re, im, __func__); }
cj_val cj_math_complex_div(cj_fn *f, cj_val re, cj_val im, cj_val by_re, cj_val by_im, cj_val *imaginary)
{
    return results_of((use){ f, __func__, PARTS(complex_div), 4, 2, 4, false }, (cj_val[]){ re, im, by_re, by_im },
                      imaginary);
}

/* ---- Activation functions ---------------------------------------------------------------------------------------- */

cj_val cj_math_sigmoid(cj_fn *f, cj_val x) { return of_one(f, PARTS(sigmoid), x, __func__); }
cj_val cj_math_silu(cj_fn *f, cj_val x) { return of_one(f, PARTS(silu), x, __func__); }
cj_val cj_math_gelu(cj_fn *f, cj_val x) { return of_one(f, PARTS(gelu), x, __func__); }
cj_val cj_math_gelu_tanh(cj_fn *f, cj_val x) { return of_one(f, PARTS(gelu_tanh), x, __func__); }
cj_val cj_math_softplus(cj_fn *f, cj_val x) { return of_one(f, PARTS(softplus), x, __func__); }
