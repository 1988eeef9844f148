/* Logarithms in f32: x = m 2^e with m in 2/3..4/3, f = m - 1, log(1 + f) = f + f^2 g(f). */
#include "ptx/math/power_f32.h"

/* f of a normal x; *e is unit * e + less, exact for a unit of at most 15 bits. */
static cj_val reduced_normal(cji_math *m, cj_val x, float unit, cj_val less, cj_val *e)
{
    cj_val i = OP(sub_u, x, U(0x3f2aaaab));
    i = AND(i, U(0xff800000));
    cj_val k = OP(f_of_s, i);
    *e = FMA(k, F(0x1p-23f * unit), less);
    cj_val y = OP(sub_u, x, i);
    return SUB(y, F(1.f));
}

/* f of x; *scaled is x, or x * 2^23 where it is subnormal. */
static cj_val reduced(cji_math *m, cj_val x, float unit, cj_val *scaled, cj_val *e)
{
    cj_val subnormal = LT(x, F(0x1p-126f));
    cj_val xs = OP(mov, x);
    WHEN(subnormal, xs) = MUL(x, F(0x1p23f));
    cj_val less = SEL(subnormal, F(-23.f * unit), F(0.f));
    *scaled = xs;
    return reduced_normal(m, xs, unit, less, e);
}

/* For 0, infinity, NaN and negative numbers lg2.approx gives what a logarithm has to give. */
static cj_val with_special(cji_math *m, cj_val x, cj_val r)
{
    cj_val i = OP(sub_u, x, U(1));
    cj_val special = OP(ge_u, i, U(0x7f7fffff));
    WHEN(special, r) = OP(lg2, x);
    return r;
}

/* e ln 2 + log(1 + f) */
static cj_val natural(cji_math *m, cj_val f, cj_val e)
{
    cj_val p = POLY(f, -0x1.06cdfcp-3f, 0x1.1ec6f8p-3f, -0x1.f3a7dep-4f, 0x1.1ec0cep-3f, -0x1.559802p-3f,
                    0x1.99d1c6p-3f, -0x1.ffff14p-3f, 0x1.555502p-2f, -0.5f);
    p = MUL(p, f);
    cj_val v = FMA(p, f, f);
    return FMA(e, F(0x1.62e43p-1f), v);
}

void cji_math_log_f32(cji_math *m, const cj_val *a, cj_val *r)
{
    cj_val e, xs, f = reduced(m, a[0], 1.f, &xs, &e), v = natural(m, f, e);
    r[0] = with_special(m, xs, v);
}

cj_val cji_math_log_of_positive(cji_math *m, cj_val x)
{
    cj_val e, xs, f = reduced(m, x, 1.f, &xs, &e);
    return natural(m, f, e);
}

cj_val cji_math_log_of_normal(cji_math *m, cj_val x)
{
    cj_val e, f = reduced_normal(m, x, 1.f, F(0.f), &e);
    return natural(m, f, e);
}

void cji_math_log2_f32(cji_math *m, const cj_val *a, cj_val *r)
{
    cj_val e, xs, f = reduced(m, a[0], 1.f, &xs, &e);
    cj_val p = POLY(f, -0x1.795c4p-3f, 0x1.9dddeep-3f, -0x1.68e9b2p-3f, 0x1.9daaa4p-3f, -0x1.ecc50ep-3f,
                    0x1.279f92p-2f, -0x1.715404p-2f, 0x1.ec7024p-2f, -0x1.715476p-1f, 0x1.4ae0cp-26f);
    p = MUL(p, f);
    cj_val v = FMA(f, F(0x1.715476p0f), p);
    v = ADD(v, e);
    r[0] = with_special(m, xs, v);
}

void cji_math_log10_f32(cji_math *m, const cj_val *a, cj_val *r)
{
    cj_val e, xs, f = reduced(m, a[0], 0x1.bd1cp-1f, &xs, &e);
    cj_val p = POLY(f, -0x1.cc6ac4p-5f, 0x1.f226ecp-5f, -0x1.b0f1ecp-5f, 0x1.f225f4p-5f, -0x1.28c0eep-4f,
                    0x1.63f6e2p-4f, -0x1.bcb66ep-4f, 0x1.287a2ep-3f, -0x1.bcb7b2p-3f, -0x1.5b235ep-27f);
    p = MUL(p, f);
    cj_val v = FMA(f, F(0x1.bcb7b2p-2f), p);
    v = FMA(e, F(0x1.629436p-2f), v);      /* the unit times this is log10(2), within 2^-40 */
    r[0] = with_special(m, xs, v);
}
