/* cujit/math.h - accurate device mathematics, without libdevice.  ptx.h includes it.
 *
 *     cj_val y = cj_math_exp(f, cj_mul(f, x, x));
 *     cj_val s = cj_math_sincos(f, x, &c);
 *
 * PTX has approximate functions of CJ_F32 only (cj_approx_...).  These are accurate for each
 * argument: the greatest error is at most that which the CUDA programming guide states for the
 * function of the same name.  docs/mathematics.md lists errors, and where they were measured.
 * Targets from sm_32 on have the instructions; CJ_MATH_FAST can need sm_75.
 *
 * Types.  The operands are CJ_F32 or CJ_F64; the result has their type.  CJ_F16 and CJ_BF16 go
 * through CJ_F32, and are rounded once more; so does each half of CJ_F16X2 and CJ_BF16X2.
 * A C number beside a register becomes a literal of its type.  Numbers only are computed on double
 * and give a number without a type, with the bits that the CJ_F64 function has.
 *
 * Special values.  Signed zeros, subnormal numbers, infinities and NaN give what annex F of C
 * states.  Arguments of any size are reduced exactly.  Subnormal results are not flushed.
 *
 * Code.  Short functions are written into `f`.  Longer ones, and parts that several of them share,
 * are functions of the module, named cj_math_..., which it has once and only where they are used.
 * cj_math_set_form chooses otherwise.
 *
 * Two results.  The second one goes through a pointer, which can be NULL.
 *
 * Errors.  As ptx.h says: they stay in the module.  Each call of this header can fail with
 *   CJ_EPTX: the operands' types differ, or the function does not exist for their type
 */
#ifndef CUJIT_PTX_H
#include <cujit/ptx.h> /* which includes this file at its place */
#elif !defined CUJIT_MATH_H
#define CUJIT_MATH_H

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Options --------------------------------------------------------------------------------- */

/* How accurate the functions are that are called from now on. */
typedef enum cj_math_accuracy {
    CJ_MATH_ACCURATE = 0, /* the default: at most the error of CUDA's function of the same name */
    CJ_MATH_FAST = 1,     /* CJ_F32 by approximate instructions where that is shorter; the document
                           * has their errors, and the intervals for which they hold */
    CJ_MATH_ROUNDED = 2   /* correctly rounded, where it is known: exp, log, sin, cos of CJ_F32 */
} cj_math_accuracy;

/* Where the code of a function stands. */
typedef enum cj_math_form {
    CJ_MATH_AUTO = 0,   /* the default: short functions inline, others functions of the module */
    CJ_MATH_INLINE = 1, /* all of it in the function that calls it */
    CJ_MATH_CALLED = 2  /* all of them are functions of the module */
} cj_math_form;

/* Sets what the calls that follow in `f` use.
 * Errors, left in the module:
 *   CJ_EINVAL: the value is none of those above */
CJ_API void cj_math_set_accuracy(cj_fn *f, cj_math_accuracy accuracy);
CJ_API void cj_math_set_form(cj_fn *f, cj_math_form form);

/* ---- Exponential functions, logarithms and powers -------------------------------------------- */

/* e, 2 and 10 to the x, and e to the x less 1. */
CJ_API cj_val cj_math_exp(cj_fn *f, cj_val x);
CJ_API cj_val cj_math_exp2(cj_fn *f, cj_val x);
CJ_API cj_val cj_math_exp10(cj_fn *f, cj_val x);
CJ_API cj_val cj_math_expm1(cj_fn *f, cj_val x);

/* The logarithm of x to the bases e, 2 and 10, and that of 1 + x to the base e. */
CJ_API cj_val cj_math_log(cj_fn *f, cj_val x);
CJ_API cj_val cj_math_log2(cj_fn *f, cj_val x);
CJ_API cj_val cj_math_log10(cj_fn *f, cj_val x);
CJ_API cj_val cj_math_log1p(cj_fn *f, cj_val x);

/* x to the y. */
CJ_API cj_val cj_math_pow(cj_fn *f, cj_val x, cj_val y);

/* x to the n: a whole number of type CJ_S32. */
CJ_API cj_val cj_math_pown(cj_fn *f, cj_val x, cj_val n);

/* ---- Trigonometric functions ----------------------------------------------------------------- */

/* Of x in radians.  sincos returns the sine; the cosine goes to *cosine. */
CJ_API cj_val cj_math_sin(cj_fn *f, cj_val x);
CJ_API cj_val cj_math_cos(cj_fn *f, cj_val x);
CJ_API cj_val cj_math_tan(cj_fn *f, cj_val x);
CJ_API cj_val cj_math_sincos(cj_fn *f, cj_val x, cj_val *cosine);

/* Of pi x, reduced exactly.  sincospi returns the sine. */
CJ_API cj_val cj_math_sinpi(cj_fn *f, cj_val x);
CJ_API cj_val cj_math_cospi(cj_fn *f, cj_val x);
CJ_API cj_val cj_math_tanpi(cj_fn *f, cj_val x);
CJ_API cj_val cj_math_sincospi(cj_fn *f, cj_val x, cj_val *cosine);

/* The inverse functions; atan2 is the angle of the point (x, y). */
CJ_API cj_val cj_math_asin(cj_fn *f, cj_val x);
CJ_API cj_val cj_math_acos(cj_fn *f, cj_val x);
CJ_API cj_val cj_math_atan(cj_fn *f, cj_val x);
CJ_API cj_val cj_math_atan2(cj_fn *f, cj_val y, cj_val x);

/* ---- Hyperbolic functions -------------------------------------------------------------------- */

/* The hyperbolic functions and their inverses. */
CJ_API cj_val cj_math_sinh(cj_fn *f, cj_val x);
CJ_API cj_val cj_math_cosh(cj_fn *f, cj_val x);
CJ_API cj_val cj_math_tanh(cj_fn *f, cj_val x);
CJ_API cj_val cj_math_asinh(cj_fn *f, cj_val x);
CJ_API cj_val cj_math_acosh(cj_fn *f, cj_val x);
CJ_API cj_val cj_math_atanh(cj_fn *f, cj_val x);

/* ---- Error functions and the normal distribution --------------------------------------------- */

/* The error function, 1 less it, and e^(x^2) times that. */
CJ_API cj_val cj_math_erf(cj_fn *f, cj_val x);
CJ_API cj_val cj_math_erfc(cj_fn *f, cj_val x);
CJ_API cj_val cj_math_erfcx(cj_fn *f, cj_val x);

/* The inverse functions of erf and erfc. */
CJ_API cj_val cj_math_erfinv(cj_fn *f, cj_val x);
CJ_API cj_val cj_math_erfcinv(cj_fn *f, cj_val x);

/* The distribution of the standard normal variable, and its inverse function. */
CJ_API cj_val cj_math_normcdf(cj_fn *f, cj_val x);
CJ_API cj_val cj_math_normcdfinv(cj_fn *f, cj_val x);

/* ---- The gamma function ---------------------------------------------------------------------- */

/* The logarithm of |Gamma(x)|, and Gamma(x).  At zero and the negative whole numbers lgamma is
 * infinite; tgamma is NaN at the latter. */
CJ_API cj_val cj_math_lgamma(cj_fn *f, cj_val x);
CJ_API cj_val cj_math_tgamma(cj_fn *f, cj_val x);

/* ---- Roots and lengths ----------------------------------------------------------------------- */

/* The cube root, its reciprocal, and that of the square root. */
CJ_API cj_val cj_math_cbrt(cj_fn *f, cj_val x);
CJ_API cj_val cj_math_rcbrt(cj_fn *f, cj_val x);
CJ_API cj_val cj_math_rsqrt(cj_fn *f, cj_val x);

/* The root of x^2 + y^2, which does not overflow before it is too large, and its reciprocal. */
CJ_API cj_val cj_math_hypot(cj_fn *f, cj_val x, cj_val y);
CJ_API cj_val cj_math_rhypot(cj_fn *f, cj_val x, cj_val y);

/* ---- Remainders, whole numbers and parts ----------------------------------------------------- */

/* x less n y, exactly: n is x / y cut to a whole number in fmod, and the nearest even one in
 * remainder and remquo.  *quotient gets n's sign and its three low bits, as CJ_S32. */
CJ_API cj_val cj_math_fmod(cj_fn *f, cj_val x, cj_val y);
CJ_API cj_val cj_math_remainder(cj_fn *f, cj_val x, cj_val y);
CJ_API cj_val cj_math_remquo(cj_fn *f, cj_val x, cj_val y, cj_val *quotient);

/* The nearest whole number: round rounds halves away from zero, rint to even. */
CJ_API cj_val cj_math_round(cj_fn *f, cj_val x);
CJ_API cj_val cj_math_rint(cj_fn *f, cj_val x);

/* The fraction of x, with its sign; *whole gets the whole part. */
CJ_API cj_val cj_math_modf(cj_fn *f, cj_val x, cj_val *whole);

/* The fraction from 1/2 to 1 and *exponent, a CJ_S32: x is their product with 2 to the exponent.
 * 0, infinity and NaN are their own fraction, and the exponent is 0. */
CJ_API cj_val cj_math_frexp(cj_fn *f, cj_val x, cj_val *exponent);

/* x times 2 to the n, a CJ_S32, rounded once. */
CJ_API cj_val cj_math_ldexp(cj_fn *f, cj_val x, cj_val n);

/* The exponent of x = m 2^e with m from 1 to 2; ilogb's is a CJ_S32: of 0 and NaN the least, of
 * infinity the greatest one. */
CJ_API cj_val cj_math_logb(cj_fn *f, cj_val x);
CJ_API cj_val cj_math_ilogb(cj_fn *f, cj_val x);

/* The number next to x in the direction of y.  The operands are CJ_F32 or CJ_F64. */
CJ_API cj_val cj_math_nextafter(cj_fn *f, cj_val x, cj_val y);

/* x less y where it is above 0, else 0. */
CJ_API cj_val cj_math_fdim(cj_fn *f, cj_val x, cj_val y);

/* A number of the first one's magnitude and the second one's sign. */
CJ_API cj_val cj_math_copysign(cj_fn *f, cj_val size, cj_val sign);

/* ---- Complex numbers ------------------------------------------------------------------------- */

/* Of re + i im: the real part is returned, the imaginary one goes to *imaginary.  The error is
 * relative to the result's absolute value; zeros, infinities and NaN are those of annex G of C. */
CJ_API cj_val cj_math_complex_exp(cj_fn *f, cj_val re, cj_val im, cj_val *imaginary);

/* The logarithm whose imaginary part is from -pi to pi; the root whose real part is 0 or more. */
CJ_API cj_val cj_math_complex_log(cj_fn *f, cj_val re, cj_val im, cj_val *imaginary);
CJ_API cj_val cj_math_complex_sqrt(cj_fn *f, cj_val re, cj_val im, cj_val *imaginary);

/* The absolute value, as cj_math_hypot. */
CJ_API cj_val cj_math_complex_abs(cj_fn *f, cj_val re, cj_val im);

/* re + i im divided by by_re + i by_im. */
CJ_API cj_val cj_math_complex_div(cj_fn *f, cj_val re, cj_val im, cj_val by_re, cj_val by_im, cj_val *imaginary);

/* ---- Activation functions -------------------------------------------------------------------- */

/* 1 / (1 + e^-x), x times it, and log(1 + e^x).  What counts is the absolute error. */
CJ_API cj_val cj_math_sigmoid(cj_fn *f, cj_val x);
CJ_API cj_val cj_math_silu(cj_fn *f, cj_val x);
CJ_API cj_val cj_math_softplus(cj_fn *f, cj_val x);

/* x times normcdf(x), and its usual approximation by tanh. */
CJ_API cj_val cj_math_gelu(cj_fn *f, cj_val x);
CJ_API cj_val cj_math_gelu_tanh(cj_fn *f, cj_val x);

#ifdef __cplusplus
}
#endif

#endif
