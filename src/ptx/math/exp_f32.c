/* e^x, 2^x and 10^x in f32. */
#include "ptx/math/ops.h"

/* 2^(x L) with L = high + low: j = round(x L) is clamped to -126..127 by a saturating fma, c = L / 253; what is over
 * stays in the argument of ex2, so that overflow and subnormal results need no selection. */
static cj_val power_of_two(cji_math *m, cj_val x, float high, float low, float c)
{
    cj_val t = OP(fma_sat, x, F(c), F(0x1.fdf9eep-2f)); /* (x L + 126) / 253; NaN gives 0 */
    t = FMA(t, F(253.f), F(SHIFT_F + 1.f));             /* the low bits are j + 127 */
    cj_val nj = SUB(F(SHIFT_F + 127.f), t);
    cj_val f = FMA(x, F(high), nj);
    f = FMA(x, F(low), f);
    f = EX2(f);
    t = SHL(t, U(23));
    return MUL(f, t);
}

void cji_math_exp_f32(cji_math *m, const cj_val *a, cj_val *r)
{
    r[0] = power_of_two(m, a[0], 0x1.715476p0f, 0x1.4ae0cp-26f, 0x1.75b598p-8f);
}

void cji_math_exp10_f32(cji_math *m, const cj_val *a, cj_val *r)
{
    r[0] = power_of_two(m, a[0], 0x1.a934fp1f, 0x1.2f346ep-24f, 0x1.ae3fbp-7f);
}

void cji_math_exp2_f32(cji_math *m, const cj_val *a, cj_val *r) { r[0] = OP(ex2_all, a[0]); }

void cji_math_expm1_f32(cji_math *m, const cj_val *a, cj_val *r)
{
    cj_val x = a[0];
    cj_val y = AT_LEAST(x, -18.f);
    y = AT_MOST(y, 89.f);
    cj_val t = FMA(y, F(0x1.715476p0f), F(SHIFT_F + 126.f));
    cj_val nj = SUB(F(SHIFT_F + 126.f), t);
    cj_val f = FMA(nj, F(0x1.62e43p-1f), y);            /* exact where j is small */
    cj_val c = MUL(nj, F(-0x1.05c61p-29f));
    cj_val h = ADD(f, c);
    cj_val p = POLY(h, 0x1.9e0d08p-13f, 0x1.6d439ap-10f, 0x1.111306p-7f, 0x1.5554fp-5f, 0x1.555554p-3f, 0.5f);
    cj_val g = MUL(h, h);
    cj_val w = FMA(g, p, c);
    cj_val s = SHL(t, U(23));                           /* 2^(j-1) */
    cj_val half = SUB(s, F(0.5f));
    cj_val v = FMA(f, s, half);
    v = FMA(w, s, v);
    v = ADD(v, v);
    cj_val near = ADD(w, x);
    v = SEL(EQ(nj, F(0.f)), near, v);
    r[0] = COPYSIGN(v, x);
}
