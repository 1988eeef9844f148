/* Activation functions of neural networks in f32: what counts is the absolute error, and no NaN. */
#include "ptx/math/ops.h"

/* 1 / (1 + 2^e) */
static cj_val logistic(cji_math *m, cj_val e)
{
    cj_val t = EX2(e);
    t = ADD(t, F(1.f));
    return RCP(t);
}

void cji_math_sigmoid_f32(cji_math *m, const cj_val *a, cj_val *r)
{
    cj_val e = MUL(a[0], F(-0x1.715476p0f));
    r[0] = logistic(m, e);
}

/* Below the limits 2^e is infinite, and the product -0: minus infinity has to be the same. */
void cji_math_silu_f32(cji_math *m, const cj_val *a, cj_val *r)
{
    cj_val x = AT_LEAST(a[0], -128.f);
    cj_val e = MUL(x, F(-0x1.715476p0f));
    cj_val s = logistic(m, e);
    r[0] = MUL(x, s);
}

/* x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2 */
void cji_math_gelu_tanh_f32(cji_math *m, const cj_val *a, cj_val *r)
{
    cj_val x = AT_LEAST(a[0], -128.f);
    cj_val z = MUL(x, x);
    cj_val p = FMA(z, F(-0x1.a5a7dp-4f), F(-0x1.26aec2p1f));
    p = MUL(p, x);
    cj_val s = logistic(m, p);
    r[0] = MUL(x, s);
}

/* x (1 + erf(x / sqrt 2)) / 2 */
void cji_math_gelu_f32(cji_math *m, const cj_val *a, cj_val *r)
{
    cj_val e[CJI_MATH_ARGS], x = AT_LEAST(a[0], -128.f);
    cj_val t = MUL(x, F(0x1.6a09e6p-1f));
    cji_math_use(m, CJI_MATH_erf_f32, &t, e);
    cj_val half = MUL(x, F(0.5f));
    r[0] = FMA(half, e[0], half);
}

/* log(1 + e^x) = max(x, 0) + log(1 + t) with t = e^-|x|: t times a polynomial. */
void cji_math_softplus_f32(cji_math *m, const cj_val *a, cj_val *r)
{
    cj_val x = a[0], t = ABS(x);
    t = MUL(t, F(-0x1.715476p0f));
    t = EX2(t);
    cj_val p = POLY(t, 0x1.0330bp-8f, -0x1.91599p-6f, 0x1.1fd52p-4f, -0x1.0a6588p-3f, 0x1.812f4cp-3f, -0x1.fb489p-3f,
                    0x1.5518f6p-2f, -0x1.fffdap-2f, 0x1.fffffep-1f);
    cj_val most = OP(max, x, F(0.f));
    r[0] = FMA(p, t, most);
}
