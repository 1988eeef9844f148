#include "tests/math/references.h"

#include <math.h>
#include <stdbool.h>

/* ---- Of pi x ----------------------------------------------------------------------------------------------------- */

/* x = 2 n + q / 2 + f with |f| <= 1/4, exactly */
static double quarter_of(double x, int *q)
{
    double y = x - 2 * rint(x / 2), j = rint(2 * y);
    *q = (int)j & 3;
    return y - j / 2;
}

double ref_cospi(double x)
{
    int q;
    double f, r;
    if (!isfinite(x)) return NAN;
    f = quarter_of(x, &q);
    r = q & 1 ? -sin(M_PI * f) : cos(M_PI * f);
    if (q & 2) r = -r;
    return r == 0 ? 0.0 : r;
}

double ref_sinpi(double x)
{
    int q;
    double f, r;
    if (!isfinite(x)) return NAN;
    f = quarter_of(fabs(x), &q);
    r = q & 1 ? cos(M_PI * f) : sin(M_PI * f);
    if (q & 2) r = -r;
    return r == 0 ? copysign(0.0, x) : copysign(1, x) * r;
}

/* Annex F: zeros and infinities by turns */
double ref_tanpi(double x)
{
    int q;
    double f, r;
    if (!isfinite(x)) return NAN;
    f = quarter_of(fabs(x), &q);
    if (f == 0) r = q & 1 ? (q & 2 ? -INFINITY : INFINITY) : (q & 2 ? -0.0 : 0.0);
    else r = q & 1 ? -1 / tan(M_PI * f) : tan(M_PI * f);
    return signbit(x) ? -r : r;
}

/* ---- Gamma and powers -------------------------------------------------------------------------------------------- */

double ref_lgamma(double x)
{
    int sign;
    return isinf(x) ? INFINITY : lgamma_r(x, &sign);
}

double ref_tgamma(double x) { return x == 0 ? copysign(INFINITY, x) : tgamma(x); }

double ref_pow(double x, double y) { return isfinite(x) && x != 0 ? (double)powl(x, y) : pow(x, y); }

/* ---- Error functions --------------------------------------------------------------------------------------------- */

static const long double root_half = 0.70710678118654752440084436210485L, two_over_root_pi =
    1.1283791670955125738961589031215L;

double ref_erfcx(double x)
{
    if (isinf(x)) return x > 0 ? 0 : INFINITY;
    if (x < 25) return (double)(expl((long double)x * x) * erfcl(x));
    double z = 1 / (2 * x * x);
    return (double)(two_over_root_pi / 2 / x * (1 - z * (1 - 3 * z * (1 - 5 * z * (1 - 7 * z)))));
}

double ref_normcdf(double x) { return (double)(erfcl(-x * root_half) / 2); }

/* The x > 0 of erf(x) = y, or erfc(x) = y, by Halley's steps. */
static double solved(long double y, bool complement)
{
    long double x = complement && y < 0.8L ? sqrtl(-logl(y)) * 0.93L : (complement ? 1 - y : y) * 0.88L;
    for (int i = 0; i < 60; i++) {
        long double slope = two_over_root_pi * expl(-x * x);
        long double e = complement ? (erfcl(x) - y) / -slope : (erfl(x) - y) / slope, s = e / (1 + x * e);
        s = s > 1 ? 1 : s < -1 ? -1 : s;
        x -= s;
        if (fabsl(s) < 1e-17L * fabsl(x)) break;
    }
    return (double)x;
}

double ref_erfcinv(double y)
{
    if (!(y >= 0 && y <= 2)) return NAN;
    if (y == 0 || y == 2) return y == 0 ? INFINITY : -INFINITY;
    if (y == 1) return 0;
    return y > 1 ? -solved(2 - (long double)y, true) : solved(y, true);
}

double ref_erfinv(double y)
{
    double a = fabs(y);
    if (y == 0) return y;
    if (!(a <= 1)) return NAN;
    if (a == 1) return copysign(INFINITY, y);
    return copysign(a > 0.3 ? solved(1 - (long double)a, true) : solved(a, false), y);
}

double ref_normcdfinv(double p)
{
    if (!(p >= 0 && p <= 1)) return NAN;
    if (p == 0 || p == 1) return p == 0 ? -INFINITY : INFINITY;
    if (p == 0.5) return 0;
    long double x = solved(2 * (p > 0.5 ? 1 - (long double)p : (long double)p), true) / root_half;
    return (double)(p > 0.5 ? x : -x);
}

/* ---- Activation functions ---------------------------------------------------------------------------------------- */

double ref_sigmoid(double x) { return 1 / (1 + exp(-x)); }
double ref_silu(double x) { return x == -INFINITY ? -0.0 : x / (1 + exp(-x)); }
double ref_gelu(double x) { return x == -INFINITY ? -0.0 : x * ref_normcdf(x); }

double ref_gelu_tanh(double x)
{
    return x == -INFINITY ? -0.0 : x / (1 + exp(-2 * sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
}

double ref_softplus(double x) { return x != x ? x : fmax(x, 0) + log1p(exp(-fabs(x))); }
