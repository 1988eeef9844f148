/* Sine, cosine and tangent of pi x in f32: x = 2 n + j / 2 + f with |f| <= 1/4, all of it exact. */
#include "ptx/math/ops.h"

static cj_val quarter(cji_math *m, cj_val x, cj_val *q)
{
    cj_val h = MUL(x, F(0.5f));
    h = OP(rint, h);
    cj_val y = FMA(h, F(-2.f), x);
    cj_val t = FMA(y, F(2.f), F(SHIFT_F));
    cj_val j = SUB(t, F(SHIFT_F));
    *q = t;
    return FMA(j, F(-0.5f), y);
}

static void sine_and_cosine_pi(cji_math *m, cj_val f, cj_val *s, cj_val *c)
{
    cj_val z = MUL(f, f);
    *c = POLY(z, -0x1.4e7de8p0f, 0x1.03b068p2f, -0x1.3bd39cp2f, 1.f);
    cj_val g = POLY(z, -0x1.2d9e5ap-1f, 0x1.465edcp1f, -0x1.4abbbap2f, -0x1.777a5cp-24f);
    cj_val u = MUL(g, f);
    *s = FMA(f, F(0x1.921fb6p1f), u);
}

static cj_val odd_quarter(cji_math *m, cj_val q)
{
    cj_val bit = AND(q, U(1));
    return OP(ne_u, bit, U(0));
}

/* The sign of quadrants 2 and 3; zeros are +0. */
static cj_val positive_zero(cji_math *m, cj_val y, cj_val q)
{
    cj_val sign = SHL(q, U(30));
    sign = AND(sign, U(0x80000000));
    y = XOR(y, sign);
    return ADD(y, F(0.f));
}

/* A zero has x's sign. */
static cj_val sign_of(cji_math *m, cj_val y, cj_val x)
{
    cj_val sign = AND(x, U(0x80000000));
    return XOR(y, sign);
}

void cji_math_sinpi_f32(cji_math *m, const cj_val *a, cj_val *r)
{
    cj_val q, s, c, size = ABS(a[0]), f = quarter(m, size, &q);
    sine_and_cosine_pi(m, f, &s, &c);
    cj_val y = SEL(odd_quarter(m, q), c, s);
    y = positive_zero(m, y, q);
    r[0] = sign_of(m, y, a[0]);
}

void cji_math_cospi_f32(cji_math *m, const cj_val *a, cj_val *r)
{
    cj_val q, s, c, f = quarter(m, a[0], &q);
    sine_and_cosine_pi(m, f, &s, &c);
    q = OP(add_u, q, U(1));
    cj_val y = SEL(odd_quarter(m, q), c, s);
    r[0] = positive_zero(m, y, q);
}

void cji_math_sincospi_f32(cji_math *m, const cj_val *a, cj_val *r)
{
    cj_val q, s, c, size = ABS(a[0]), f = quarter(m, size, &q);
    sine_and_cosine_pi(m, f, &s, &c);
    cj_val odd = odd_quarter(m, q);
    cj_val y = SEL(odd, c, s);
    y = positive_zero(m, y, q);
    r[0] = sign_of(m, y, a[0]);
    y = SEL(odd, s, c);
    q = OP(add_u, q, U(1));
    r[1] = positive_zero(m, y, q);
}

/* Whole numbers give zeros, odd ones with the opposite sign; halves give infinities by turns. */
void cji_math_tanpi_f32(cji_math *m, const cj_val *a, cj_val *r)
{
    cj_val q, size = ABS(a[0]), f = quarter(m, size, &q), z = MUL(f, f);
    cj_val g = POLY(z, 0x1.aedd24p14f, 0x1.aa759p9f, 0x1.6ea036p9f, 0x1.42441cp7f, 0x1.4694c2p5f, 0x1.4abb28p3f,
                    -0x1.3ef926p-25f);
    g = MUL(g, f);
    cj_val t = FMA(f, F(0x1.921fb6p1f), g);
    cj_val odd = odd_quarter(m, q);
    WHEN(odd, t) = NEG(t);
    cj_val whole = EQ(f, F(0.f));
    cj_val zero = SHL(q, U(30));
    WHEN(whole, t) = AND(zero, U(0x80000000));
    WHEN(odd, t) = RCP(t);
    r[0] = sign_of(m, t, a[0]);
}
