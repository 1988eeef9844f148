/* log(1 + x) in f32, and the inverse hyperbolic functions, which are logarithms of 1 + something. */
#include "ptx/math/ops.h"

/* log(1 + x) - less 2^-23 ln 2 for finite x >= -1, zero with its sign.  *u is 1 + x; it gives only the exponent, of
 * which i is the multiple by -2^23.  m in 3/4..3/2 less 1 is (x 2^-e) + (2^-e - 1), nearly exact. */
static cj_val log_of_sum(cji_math *m, cj_val x, const cj_val *less, cj_val *u)
{
    *u = ADD(x, F(1.f));
    cj_val i = OP(sub_u, U(0x3fbfffff), *u);
    i = AND(i, U(0xff800000));
    cj_val y = OP(add_u, x, i);
    cj_val s = OP(add_u, U(0x40800000), i);
    s = FMA(s, F(-0.25f), F(1.f));
    cj_val f = SUB(y, s);
    cj_val p = POLY(f, -0x1.721d3ep-5f, 0x1.ad4188p-4f, -0x1.0db586p-3f, 0x1.28852ep-3f, -0x1.54eb54p-3f, 0x1.9968fp-3f,
                    -0x1.00004ep-2f, 0x1.5555a6p-2f, -0.5f);
    p = MUL(p, f);
    p = FMA(p, f, f);
    cj_val e = OP(f_of_s, i);
    if (less) e = ADD(e, *less);
    return FMA(e, F(-0x1.62e43p-24f), p);
}

void cji_math_log1p_f32(cji_math *m, const cj_val *a, cj_val *r)
{
    cj_val u, v = log_of_sum(m, a[0], NULL, &u);
    cj_val i = OP(sub_u, u, U(1));
    cj_val special = OP(ge_u, i, U(0x7f7fffff));
    WHEN(special, v) = OP(lg2, u);                  /* x = -1, infinity, NaN, below -1 */
    r[0] = v;
}

/* a + a^2 / (1 + sqrt(1 + a^2)); above 2^62: log(2 a) */
void cji_math_asinh_f32(cji_math *m, const cj_val *a, cj_val *r)
{
    cj_val size = ABS(a[0]);
    cj_val q = FMA(size, size, F(1.f));
    cj_val s = RSQRT(q);
    s = FMA(q, s, F(1.f));
    cj_val d = RCP(s);
    cj_val z = MUL(size, size);
    z = FMA(z, d, size);
    cj_val big = GT(size, F(0x1p62f));
    z = SEL(big, size, z);
    cj_val less = SEL(big, F(-0x1p23f), F(0.f));
    cj_val u, v = log_of_sum(m, z, &less, &u);
    cj_val special = OP(ge_u, size, U(INFINITY_U));
    v = SEL(special, size, v);
    r[0] = COPYSIGN(v, a[0]);
}

/* t + sqrt(2 t + t^2) with t = x - 1; above 2^62: log(2 x) */
void cji_math_acosh_f32(cji_math *m, const cj_val *a, cj_val *r)
{
    cj_val x = a[0], t = SUB(x, F(1.f));
    cj_val q = ADD(t, t);
    q = FMA(t, t, q);
    cj_val s = OP(max, q, F(0x1p-126f));
    s = RSQRT(s);
    s = FMA(q, s, t);
    cj_val big = GT(x, F(0x1p62f));
    s = SEL(big, t, s);
    cj_val less = SEL(big, F(-0x1p23f), F(0.f));
    cj_val u, v = log_of_sum(m, s, &less, &u);
    cj_val i = OP(sub_u, x, U(0x3f800000));
    cj_val special = OP(ge_u, i, U(0x40000000));
    WHEN(special, v) = OP(lg2, t);                  /* below 1, infinity, NaN */
    r[0] = v;
}

/* log(1 + 2 a / (1 - a)) / 2, with the remainder of the quotient */
void cji_math_atanh_f32(cji_math *m, const cj_val *a, cj_val *r)
{
    cj_val size = ABS(a[0]);
    cj_val d = SUB(F(1.f), size);
    cj_val n = ADD(size, size);
    cj_val rc = RCP(d);
    cj_val q = MUL(n, rc);
    cj_val nq = NEG(q);
    cj_val e = FMA(nq, d, n);
    q = FMA(e, rc, q);
    cj_val u, v = log_of_sum(m, q, NULL, &u);
    v = MUL(v, F(0.5f));
    cj_val special = OP(geu, size, F(1.f));
    WHEN(special, v) = OP(lg2, d);                  /* 1: infinity, whose sign comes next; above 1, NaN: NaN */
    r[0] = COPYSIGN(v, a[0]);
}
