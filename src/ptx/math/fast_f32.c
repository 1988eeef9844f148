/* The functions that CJ_MATH_FAST chooses in f32: by approximate instructions. */
#include "ptx/math/ops.h"

void cji_math_exp_fast_f32(cji_math *m, const cj_val *a, cj_val *r)
{
    cj_val t = MUL(a[0], F(0x1.715476p0f));
    r[0] = OP(ex2_all, t);
}

void cji_math_exp10_fast_f32(cji_math *m, const cj_val *a, cj_val *r)
{
    cj_val t = MUL(a[0], F(0x1.a934fp1f));
    r[0] = OP(ex2_all, t);
}

void cji_math_log_fast_f32(cji_math *m, const cj_val *a, cj_val *r)
{
    cj_val t = OP(lg2_all, a[0]);
    r[0] = MUL(t, F(0x1.62e43p-1f));
}

void cji_math_log2_fast_f32(cji_math *m, const cj_val *a, cj_val *r) { r[0] = OP(lg2_all, a[0]); }

void cji_math_log10_fast_f32(cji_math *m, const cj_val *a, cj_val *r)
{
    cj_val t = OP(lg2_all, a[0]);
    r[0] = MUL(t, F(0x1.344136p-2f));
}

/* x > 0 */
void cji_math_pow_fast_f32(cji_math *m, const cj_val *a, cj_val *r)
{
    cj_val t = OP(lg2_all, a[0]);
    t = MUL(t, a[1]);
    r[0] = OP(ex2_all, t);
}

void cji_math_sin_fast_f32(cji_math *m, const cj_val *a, cj_val *r) { r[0] = OP(sin_fast, a[0]); }
void cji_math_cos_fast_f32(cji_math *m, const cj_val *a, cj_val *r) { r[0] = OP(cos_fast, a[0]); }

void cji_math_sincos_fast_f32(cji_math *m, const cj_val *a, cj_val *r)
{
    r[0] = OP(sin_fast, a[0]);
    r[1] = OP(cos_fast, a[0]);
}

void cji_math_tan_fast_f32(cji_math *m, const cj_val *a, cj_val *r)
{
    cj_val s = OP(sin_fast, a[0]);
    cj_val c = OP(cos_fast, a[0]);
    r[0] = OP(div_fast, s, c);
}

void cji_math_tanh_fast_f32(cji_math *m, const cj_val *a, cj_val *r) { r[0] = OP(tanh_fast, a[0]); }

/* (1 + tanh(x / 2)) / 2 */
void cji_math_sigmoid_fast_f32(cji_math *m, const cj_val *a, cj_val *r)
{
    cj_val h = MUL(a[0], F(0.5f));
    h = OP(tanh_fast, h);
    r[0] = FMA(h, F(0.5f), F(0.5f));
}

void cji_math_silu_fast_f32(cji_math *m, const cj_val *a, cj_val *r)
{
    cj_val x = AT_LEAST(a[0], -128.f);
    cj_val h = MUL(x, F(0.5f));
    cj_val t = OP(tanh_fast, h);
    r[0] = FMA(h, t, h);
}

void cji_math_gelu_tanh_fast_f32(cji_math *m, const cj_val *a, cj_val *r)
{
    cj_val x = AT_LEAST(a[0], -128.f);
    cj_val z = MUL(x, x);
    cj_val p = FMA(z, F(0x1.2444f2p-5f), F(0x1.988454p-1f)); /* 0.044715 sqrt(2 / pi), sqrt(2 / pi) */
    p = MUL(p, x);
    p = OP(tanh_fast, p);
    cj_val h = MUL(x, F(0.5f));
    r[0] = FMA(h, p, h);
}

/* max(x, 0) + log(1 + e^-|x|) */
void cji_math_softplus_fast_f32(cji_math *m, const cj_val *a, cj_val *r)
{
    cj_val t = ABS(a[0]);
    t = MUL(t, F(-0x1.715476p0f));
    t = EX2(t);
    t = ADD(t, F(1.f));
    t = OP(lg2, t);
    cj_val most = OP(max, a[0], F(0.f));
    r[0] = FMA(t, F(0x1.62e43p-1f), most);
}
