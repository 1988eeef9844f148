/* References of f64, by name, in long double. */
#include "tests/math/wanted.h"

#include <math.h>
#include <string.h>

#include "tests/math/wide_references.h"

typedef long double wide;

/* ---- References: of one or two operands, with one or two results ---- */
#define ONE(name, x_) static void name##_wants(double x, double y, wide *r) { (void)y; r[0] = x_; }
ONE(exp, expl(x)) ONE(exp2, exp2l(x)) ONE(exp10, powl(10, x)) ONE(expm1, expm1l(x))
ONE(log, logl(x)) ONE(log2, log2l(x)) ONE(log10, log10l(x)) ONE(log1p, log1pl(x))
ONE(sin, sinl(x)) ONE(cos, cosl(x)) ONE(tan, tanl(x))
ONE(sinpi, wide_sinpi(x)) ONE(cospi, wide_cospi(x)) ONE(tanpi, wide_tanpi(x))
ONE(asin, asinl(x)) ONE(acos, acosl(x)) ONE(atan, atanl(x))
ONE(sinh, sinhl(x)) ONE(cosh, coshl(x)) ONE(tanh, tanhl(x))
ONE(asinh, asinhl(x)) ONE(acosh, acoshl(x)) ONE(atanh, atanhl(x))
ONE(erf, erfl(x)) ONE(erfc, erfcl(x)) ONE(erfcx, wide_erfcx(x)) ONE(normcdf, wide_normcdf(x))
ONE(erfinv, wide_erfinv(x)) ONE(erfcinv, wide_erfcinv(x)) ONE(normcdfinv, wide_normcdfinv(x))
ONE(lgamma, wide_lgamma(x)) ONE(tgamma, wide_tgamma(x))
ONE(cbrt, cbrtl(x)) ONE(rcbrt, 1 / cbrtl(x)) ONE(rsqrt, 1 / sqrtl(x))
ONE(logb, logb(x)) ONE(round, round(x)) ONE(rint, rint(x))
ONE(ilogb, x == 0 || x != x ? -2147483648.0 : isinf(x) ? 2147483647.0 : logb(x))
ONE(sigmoid, wide_sigmoid(x)) ONE(silu, wide_silu(x)) ONE(gelu, wide_gelu(x)) ONE(gelu_tanh, wide_gelu_tanh(x))
ONE(softplus, wide_softplus(x))
#undef ONE
#define TWO(name, x_) static void name##_wants(double x, double y, wide *r) { r[0] = x_; }
TWO(pow, powl(x, y)) TWO(pown, powl(x, y)) TWO(atan2, atan2l(x, y)) TWO(hypot, hypotl(x, y))
TWO(rhypot, 1 / hypotl(x, y)) TWO(fmod, fmod(x, y)) TWO(remainder, remainder(x, y))
TWO(fdim, fdim(x, y)) TWO(copysign, copysign(x, y)) TWO(nextafter, nextafter(x, y))
TWO(ldexp, ldexpl(x, y > 9000 ? 9000 : y < -9000 ? -9000 : (int)y))
#undef TWO

static void sincos_wants(double x, double y, wide *r)
{
    (void)y;
    r[0] = sinl(x);
    r[1] = cosl(x);
}

static void sincospi_wants(double x, double y, wide *r)
{
    (void)y;
    r[0] = wide_sinpi(x);
    r[1] = wide_cospi(x);
}

static void modf_wants(double x, double y, wide *r)
{
    double whole;
    (void)y;
    r[0] = modf(x, &whole);
    r[1] = whole;
}

static void frexp_wants(double x, double y, wide *r)
{
    int e = 0;
    (void)y;
    r[0] = frexp(x, &e);
    r[1] = isfinite(x) ? e : 0;
}

static void remquo_wants(double x, double y, wide *r)
{
    int q = 0;
    r[0] = remquo(x, y, &q);
    if (r[0] != r[0] || isinf(y)) q = 0;
    r[1] = q < 0 ? -(-q & 7) : q & 7;
}

/* ---- By name ---- */

static const struct { const char *name; wanted_f64_of *wants; } wanted_rows[] = {
    { "exp", exp_wants }, { "exp2", exp2_wants }, { "exp10", exp10_wants }, { "expm1", expm1_wants },
    { "log", log_wants }, { "log2", log2_wants }, { "log10", log10_wants }, { "log1p", log1p_wants },
    { "sin", sin_wants }, { "cos", cos_wants }, { "tan", tan_wants }, { "sinpi", sinpi_wants },
    { "cospi", cospi_wants }, { "tanpi", tanpi_wants }, { "asin", asin_wants }, { "acos", acos_wants },
    { "atan", atan_wants }, { "sinh", sinh_wants }, { "cosh", cosh_wants }, { "tanh", tanh_wants },
    { "asinh", asinh_wants }, { "acosh", acosh_wants }, { "atanh", atanh_wants }, { "erf", erf_wants },
    { "erfc", erfc_wants }, { "erfcx", erfcx_wants }, { "normcdf", normcdf_wants }, { "erfinv", erfinv_wants },
    { "erfcinv", erfcinv_wants }, { "normcdfinv", normcdfinv_wants }, { "lgamma", lgamma_wants },
    { "tgamma", tgamma_wants }, { "cbrt", cbrt_wants }, { "rcbrt", rcbrt_wants }, { "rsqrt", rsqrt_wants },
    { "logb", logb_wants }, { "round", round_wants }, { "rint", rint_wants }, { "ilogb", ilogb_wants },
    { "sigmoid", sigmoid_wants }, { "silu", silu_wants }, { "gelu", gelu_wants }, { "gelu_tanh", gelu_tanh_wants },
    { "softplus", softplus_wants }, { "pow", pow_wants }, { "pown", pown_wants }, { "atan2", atan2_wants },
    { "hypot", hypot_wants }, { "rhypot", rhypot_wants }, { "fmod", fmod_wants }, { "remainder", remainder_wants },
    { "fdim", fdim_wants }, { "copysign", copysign_wants }, { "nextafter", nextafter_wants },
    { "ldexp", ldexp_wants }, { "sincos", sincos_wants }, { "sincospi", sincospi_wants }, { "modf", modf_wants },
    { "frexp", frexp_wants }, { "remquo", remquo_wants },
};

wanted_f64_of *wanted_f64(const char *name)
{
    for (size_t i = 0; i < sizeof wanted_rows / sizeof *wanted_rows; i++)
        if (!strcmp(wanted_rows[i].name, name)) return wanted_rows[i].wants;
    return NULL;
}
