/* Compositions in f64: no overflow, and no NaN where the limit is finite. */
#include "ptx/math/exp_f64.h"

/* e^(-|x|) */
static cj_val decay(cji_math *m, cj_val x)
{
    cj_val b = ABS_D(x);
    cj_val nb = NEG_D(b);
    return cji_math_exp_any(m, nb);
}

/* 1 / (1 + e^-x), of e^-|x| on both sides: the relative error is small too. */
static cj_val logistic_d(cji_math *m, cj_val x)
{
    cj_val e = decay(m, x), d = ADD_D(e, D(1.0));
    cj_val n = SEL_D(LT_D(x, D(0.0)), e, D(1.0));
    return DIV_D(n, d);
}

void cji_math_sigmoid_f64(cji_math *m, const cj_val *a, cj_val *r) { r[0] = logistic_d(m, a[0]); }

/* Below -800 the product is 0; x of -infinity would make it NaN. */
static cj_val least_factor(cji_math *m, cj_val x) { return SEL_D(LT_D(x, D(-800.0)), D(-800.0), x); }

void cji_math_silu_f64(cji_math *m, const cj_val *a, cj_val *r)
{
    cj_val s = logistic_d(m, a[0]), x = least_factor(m, a[0]);
    r[0] = MUL_D(x, s);
}

/* max(x, 0) + log1p(e^-|x|) */
void cji_math_softplus_f64(cji_math *m, const cj_val *a, cj_val *r)
{
    cj_val x = a[0], l = CJI_NULL, v[2] = { decay(m, x), D(0.0) };
    cji_math_use(m, CJI_MATH_log1pc_f64, v, &l);
    cj_val top = SEL_D(LT_D(x, D(0.0)), D(0.0), x);
    r[0] = ADD_D(top, l);
}

/* x / (1 + e^(-2 u)) with u = sqrt(2 / pi) (x + 0.044715 x^3), which is x / 2 (1 + tanh u). */
void cji_math_gelu_tanh_f64(cji_math *m, const cj_val *a, cj_val *r)
{
    cj_val x = a[0], z = MUL_D(x, x);
    cj_val k = FMA_D(z, D(0x1.2444f2a4d8b4bp-4), D(0x1.9884533d43651p0)); /* 2 sqrt(2 / pi) (0.044715, 1) */
    cj_val u = MUL_D(x, k);
    cj_val s = logistic_d(m, u);
    cj_val f = least_factor(m, x);
    r[0] = MUL_D(f, s);
}

/* x times the normal distribution at x, which is 0 below -39. */
void cji_math_gelu_f64(cji_math *m, const cj_val *a, cj_val *r)
{
    cj_val p = CJI_NULL, x = least_factor(m, a[0]);
    cji_math_use(m, CJI_MATH_normcdf_f64, a, &p);
    r[0] = MUL_D(x, p);
}
