/* References of f32, by name: in double, or rounded to f32 at once where a double can be the middle of two of them. */
#include "tests/math/wanted.h"

#include <math.h>
#include <string.h>

#include "tests/math/references.h"

/* ---- References: of one or two operands, with one or two results ---- */
#define ONE(name, x_) static void name##_wants(double x, double y, double *r) { (void)y; r[0] = x_; }
ONE(exp, exp(x)) ONE(exp2, exp2(x)) ONE(exp10, exp10(x)) ONE(expm1, expm1(x))
ONE(log, log(x)) ONE(log2, log2(x)) ONE(log10, log10(x)) ONE(log1p, log1p(x))
ONE(sin, sin(x)) ONE(cos, cos(x)) ONE(tan, tan(x))
ONE(sinpi, ref_sinpi(x)) ONE(cospi, ref_cospi(x)) ONE(tanpi, ref_tanpi(x))
ONE(asin, asin(x)) ONE(acos, acos(x)) ONE(atan, atan(x))
ONE(sinh, sinh(x)) ONE(cosh, cosh(x)) ONE(tanh, tanh(x)) ONE(asinh, asinh(x)) ONE(acosh, acosh(x)) ONE(atanh, atanh(x))
ONE(erf, erf(x)) ONE(erfc, erfc(x)) ONE(erfinv, ref_erfinv(x)) ONE(erfcinv, ref_erfcinv(x)) ONE(erfcx, ref_erfcx(x))
ONE(normcdf, ref_normcdf(x)) ONE(normcdfinv, ref_normcdfinv(x))
ONE(cbrt, cbrt(x)) ONE(rcbrt, 1 / cbrt(x)) ONE(rsqrt, 1 / sqrt(x)) ONE(lgamma, ref_lgamma(x)) ONE(tgamma, ref_tgamma(x))
ONE(logb, logb(x)) ONE(round, round(x)) ONE(rint, rint(x))
ONE(ilogb, x == 0 || x != x ? -2147483648.0 : isinf(x) ? 2147483647.0 : logb(x))
ONE(sigmoid, ref_sigmoid(x)) ONE(silu, ref_silu(x)) ONE(gelu, ref_gelu(x)) ONE(gelu_tanh, ref_gelu_tanh(x))
ONE(softplus, ref_softplus(x))
/* rounded to f32 at once: a double can be the middle of two of them */
ONE(exp_rounded, (float)expl(x)) ONE(log_rounded, (float)logl(x))
ONE(sin_rounded, (float)sinl(x)) ONE(cos_rounded, (float)cosl(x))
#undef ONE
#define TWO(name, x_) static void name##_wants(double x, double y, double *r) { r[0] = x_; }
TWO(pow, ref_pow(x, y)) TWO(pown, ref_pow(x, y)) TWO(atan2, atan2(x, y)) TWO(hypot, hypot(x, y))
TWO(rhypot, 1 / hypot(x, y)) TWO(fmod, fmodf((float)x, (float)y)) TWO(remainder, remainderf((float)x, (float)y))
TWO(fdim, fdim(x, y)) TWO(copysign, copysign(x, y)) TWO(nextafter, nextafterf((float)x, (float)y))
TWO(ldexp, ldexp(x, y > 3000 ? 3000 : y < -3000 ? -3000 : (int)y))
#undef TWO

static void sincos_wants(double x, double y, double *r)
{
    (void)y;
    r[0] = sin(x);
    r[1] = cos(x);
}

static void sincospi_wants(double x, double y, double *r)
{
    (void)y;
    r[0] = ref_sinpi(x);
    r[1] = ref_cospi(x);
}

static void modf_wants(double x, double y, double *r)
{
    (void)y;
    r[0] = modf(x, &r[1]);
}

static void frexp_wants(double x, double y, double *r)
{
    int e = 0;
    (void)y;
    r[0] = frexp(x, &e);
    r[1] = isfinite(x) ? e : 0;
}

static void remquo_wants(double x, double y, double *r)
{
    int q = 0;
    r[0] = remquof((float)x, (float)y, &q);
    if (r[0] != r[0] || isinf(y)) q = 0;
    r[1] = q < 0 ? -(-q & 7) : q & 7;
}

/* ---- By name ---- */

static const struct { const char *name; wanted_f32_of *wants; } wanted_rows[] = {
    { "exp", exp_wants }, { "exp2", exp2_wants }, { "exp10", exp10_wants }, { "expm1", expm1_wants },
    { "log", log_wants }, { "log2", log2_wants }, { "log10", log10_wants }, { "log1p", log1p_wants },
    { "sin", sin_wants }, { "cos", cos_wants }, { "tan", tan_wants }, { "sinpi", sinpi_wants },
    { "cospi", cospi_wants }, { "tanpi", tanpi_wants }, { "asin", asin_wants }, { "acos", acos_wants },
    { "atan", atan_wants }, { "sinh", sinh_wants }, { "cosh", cosh_wants }, { "tanh", tanh_wants },
    { "asinh", asinh_wants }, { "acosh", acosh_wants }, { "atanh", atanh_wants }, { "erf", erf_wants },
    { "erfc", erfc_wants }, { "erfinv", erfinv_wants }, { "erfcinv", erfcinv_wants }, { "erfcx", erfcx_wants },
    { "normcdf", normcdf_wants }, { "normcdfinv", normcdfinv_wants }, { "cbrt", cbrt_wants },
    { "rcbrt", rcbrt_wants }, { "rsqrt", rsqrt_wants }, { "lgamma", lgamma_wants }, { "tgamma", tgamma_wants },
    { "logb", logb_wants }, { "round", round_wants }, { "rint", rint_wants }, { "ilogb", ilogb_wants },
    { "sigmoid", sigmoid_wants }, { "silu", silu_wants }, { "gelu", gelu_wants }, { "gelu_tanh", gelu_tanh_wants },
    { "softplus", softplus_wants }, { "exp_rounded", exp_rounded_wants }, { "log_rounded", log_rounded_wants },
    { "sin_rounded", sin_rounded_wants }, { "cos_rounded", cos_rounded_wants }, { "pow", pow_wants },
    { "pown", pown_wants }, { "atan2", atan2_wants }, { "hypot", hypot_wants }, { "rhypot", rhypot_wants },
    { "fmod", fmod_wants }, { "remainder", remainder_wants }, { "fdim", fdim_wants }, { "copysign", copysign_wants },
    { "nextafter", nextafter_wants }, { "ldexp", ldexp_wants }, { "sincos", sincos_wants },
    { "sincospi", sincospi_wants }, { "modf", modf_wants }, { "frexp", frexp_wants }, { "remquo", remquo_wants },
};

wanted_f32_of *wanted_f32(const char *name)
{
    for (size_t i = 0; i < sizeof wanted_rows / sizeof *wanted_rows; i++)
        if (!strcmp(wanted_rows[i].name, name)) return wanted_rows[i].wants;
    return NULL;
}
