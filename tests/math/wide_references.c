#include "tests/math/wide_references.h"

#include <math.h>

/* ---- Of pi x ----------------------------------------------------------------------------------------------------- */

static const long double wide_pi = 3.14159265358979323846264338327950288L;

/* pi f, where x = 2 n + q / 2 + f with |f| <= 1/4, exactly */
static long double turned(double x, int *q)
{
    const double y = x - 2 * rint(x / 2), j = rint(2 * y);
    *q = (int)j & 3;
    return (y - j / 2) * wide_pi;
}

long double wide_sinpi(double x)
{
    int q;
    if (!isfinite(x)) return NAN;
    const long double f = turned(fabs(x), &q);
    long double r = q & 1 ? cosl(f) : sinl(f);
    if (q & 2) r = -r;
    return r == 0 ? copysignl(0, x) : signbit(x) ? -r : r;
}

long double wide_cospi(double x)
{
    int q;
    if (!isfinite(x)) return NAN;
    const long double f = turned(x, &q);
    long double r = q & 1 ? -sinl(f) : cosl(f);
    if (q & 2) r = -r;
    return r == 0 ? 0 : r;
}

/* Annex F: zeros and infinities by turns */
long double wide_tanpi(double x)
{
    int q;
    long double r;
    if (!isfinite(x)) return NAN;
    const long double f = turned(fabs(x), &q);
    if (f == 0) r = q & 1 ? (q & 2 ? -INFINITY : INFINITY) : (q & 2 ? -0.0L : 0.0L);
    else r = q & 1 ? -1 / tanl(f) : tanl(f);
    return signbit(x) ? -r : r;
}

/* ---- Error functions --------------------------------------------------------------------------------------------- */

static const long double wide_root_half = 0.707106781186547524400844362104849039L;

/* e^(sign x^2): the square has 106 bits */
static long double exp_of_square(double x, int sign)
{
    const double high = x * x, low = fma(x, x, -high);
    return expl(sign * (long double)high) * (1 + sign * (long double)low);
}

long double wide_erfcx(double x)
{
    const long double one_over_root_pi = 0.564189583547756286948079451560772586L;
    long double t = 1, sum = 0;
    if (x < -27) return INFINITY;
    if (x < 16) return exp_of_square(x, 1) * erfcl(x);
    const long double i = 1 / (2 * (long double)x * x);
    for (int k = 1; k < 16; k++) {
        sum += t;
        t *= -(2 * k - 1) * i;
    }
    return one_over_root_pi / x * sum;
}

/* e^(b^2) erfc(b) for b = -x / sqrt(2), times e^(-x^2/2) */
long double wide_normcdf(double x)
{
    const long double b = -x * wide_root_half;
    if (!(x < -1)) return erfcl(b) / 2;
    if (x < -40) return 0;
    const double high = x * x, low = fma(x, x, -high);
    const long double scaled = b < 16 ? expl(b * b) * erfcl(b) * (1 + fmal(b, b, -(b * b))) : wide_erfcx((double)b);
    return scaled * expl(-high / 2) * (1 - (long double)low / 2) / 2;
}

/* ---- Their inverses, by Newton's and Halley's steps -------------------------------------------------------------- */

static const long double two_over_root_of_pi = 1.12837916709551257389615890312154517L;

/* erf(x) = y for |y| <= 1/2: each step leaves the third power of the error */
static long double root_of_erf(long double y)
{
    long double x = y * 0.886L;
    for (int i = 0; i < 60; i++) {
        const long double e = (erfl(x) - y) / (two_over_root_of_pi * expl(-x * x)), s = e / (1 + x * e);
        x -= s;
        if (fabsl(s) <= 1e-9L * fabsl(x)) break;
    }
    return x;
}

/* erfc(x) = y for 0 < y <= 1/2: of the logarithms, each step leaves the square of the error */
static long double root_of_erfc(long double y)
{
    long double x = sqrtl(-logl(y)) * 0.9L;
    for (int i = 0; i < 60; i++) {
        const long double c = erfcl(x), s = logl(c / y) * c / (two_over_root_of_pi * expl(-x * x));
        x += s;
        if (fabsl(s) <= 1e-12L * x) break;
    }
    return x;
}

long double wide_erfinv(double y)
{
    const double b = fabs(y);
    if (!(b < 1)) return b == 1 ? copysign(INFINITY, y) : NAN;
    return y == 0 ? y : b <= 0.5 ? root_of_erf(y) : copysignl(root_of_erfc(1 - (long double)b), y);
}

long double wide_erfcinv(double y)
{
    if (!(y > 0 && y < 2)) return y == 0 ? INFINITY : y == 2 ? -INFINITY : NAN;
    return y < 0.5 ? root_of_erfc(y) : y > 1.5 ? -root_of_erfc(2 - (long double)y) : root_of_erf(1 - (long double)y);
}

long double wide_normcdfinv(double p)
{
    const long double twice = 2 * (long double)p;
    if (!(p > 0 && p < 1)) return p == 0 ? -INFINITY : p == 1 ? INFINITY : NAN;
    return (p < 0.25 ? -root_of_erfc(twice) : p > 0.75 ? root_of_erfc(2 - twice) : root_of_erf(twice - 1))
        / wide_root_half;
}

/* ---- The gamma function ------------------------------------------------------------------------------------------ */

long double wide_lgamma(double x)
{
    int sign;
    return isinf(x) ? INFINITY : lgammal_r(x, &sign);
}

long double wide_tgamma(double x) { return x == 0 ? copysign(INFINITY, x) : tgammal(x); }

/* ---- Activation functions ---------------------------------------------------------------------------------------- */

long double wide_sigmoid(double x) { return 1 / (1 + expl(-(long double)x)); }
long double wide_silu(double x) { return x == -INFINITY ? -0.0L : x / (1 + expl(-(long double)x)); }
long double wide_gelu(double x) { return x == -INFINITY ? -0.0L : x * wide_normcdf(x); }

long double wide_gelu_tanh(double x)
{
    const long double k = 1.59576912160573071175978423973752L, z = (long double)x * x; /* 2 sqrt(2 / pi) */
    return x == -INFINITY ? -0.0L : x / (1 + expl(-k * (x + 0.044715L * z * x)));
}

long double wide_softplus(double x) { return isnan(x) ? x : log1pl(expl(-fabsl(x))) + (x > 0 ? x : 0); }
