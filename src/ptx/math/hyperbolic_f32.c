/* Hyperbolic functions in f32. */
#include "ptx/math/ops.h"

/* e^a / 2 for a >= 0, as exp but with an exponent one lower: it does not overflow before its double. */
static cj_val half_exp(cji_math *m, cj_val a)
{
    cj_val t = OP(fma_sat, a, F(0x1.743cfp-8f), F(0x1.fbf7fp-2f)); /* (a log2(e) + 126) / 254 */
    t = FMA(t, F(254.f), F(SHIFT_F));
    cj_val nj = SUB(F(SHIFT_F + 126.f), t);
    cj_val f = FMA(a, F(0x1.715476p0f), nj);
    f = FMA(a, F(0x1.4ae0cp-26f), f);
    f = EX2(f);
    t = SHL(t, U(23));
    return MUL(f, t);
}

void cji_math_cosh_f32(cji_math *m, const cj_val *a, cj_val *r)
{
    cj_val h = half_exp(m, ABS(a[0]));
    cj_val v = RCP(h);
    r[0] = FMA(v, F(0.25f), h);
}

/* Below asinh 2 = 1.44364 a polynomial: above it the difference is in the binade of e^x / 2. */
void cji_math_sinh_f32(cji_math *m, const cj_val *a, cj_val *r)
{
    cj_val x = a[0], size = ABS(x), h = half_exp(m, size);
    cj_val v = RCP(h);
    v = FMA(v, F(-0.25f), h);
    v = COPYSIGN(v, x);
    cj_val z = MUL(x, x);
    cj_val p = POLY(z, 0x1.82b93cp-19f, 0x1.9fa8f4p-13f, 0x1.111232p-7f, 0x1.555552p-3f);
    p = MUL(p, z);
    p = FMA(p, x, x);
    cj_val big = GE(size, F(1.4453125f));
    r[0] = SEL(big, v, p);
}

void cji_math_tanh_f32(cji_math *m, const cj_val *a, cj_val *r)
{
    cj_val x = a[0], size = ABS(x);
    cj_val d = MUL(size, F(0x1.715476p1f));
    d = EX2(d);
    d = ADD(d, F(1.f));
    d = RCP(d);
    cj_val v = FMA(d, F(-2.f), F(1.f));
    v = COPYSIGN(v, x);
    cj_val z = MUL(x, x);
    cj_val p = POLY(z, 0x1.0d5184p-6f, -0x1.af7d38p-5f, 0x1.10cefcp-3f, -0x1.555452p-2f);
    cj_val u = FMA(z, x, F(0.f));
    p = FMA(p, u, x);
    cj_val big = GE(size, F(0.55f));
    r[0] = SEL(big, v, p);
}
