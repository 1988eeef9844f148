/* Sine, cosine and tangent in f32: x = j pi/2 + r with |r| <= pi/4 and a little. */
#include "ptx/math/ops.h"

/* x j's two low bits and r for any x, by Payne and Hanek's method: of 2/pi only the 96 bits that count are multiplied
 * with x's mantissa, and 64 bits of the product are kept. */
void cji_math_trig_big_f32(cji_math *m, const cj_val *a, cj_val *r)
{
    cj_val x = a[0];
    cj_val e = SHR(x, U(23));
    e = AND(e, U(255));
    e = OP(sub_u, e, U(128));
    cj_val k = SHL(x, U(8));
    k = OR(k, U(0x80000000));
    cj_val row = cji_m_row(m, CJI_MATH_TWO_OVER_PI, SHR(e, U(5)), 4);
    cj_val w0 = cji_m_load_u(m, CJI_MATH_TWO_OVER_PI, row, 0);
    cj_val w1 = cji_m_load_u(m, CJI_MATH_TWO_OVER_PI, row, 1);
    cj_val w2 = cji_m_load_u(m, CJI_MATH_TWO_OVER_PI, row, 2);
    cj_val w3 = cji_m_load_u(m, CJI_MATH_TWO_OVER_PI, row, 3);
    cj_val p2 = OP(shf_l, w1, w0, e);
    cj_val p1 = OP(shf_l, w2, w1, e);
    cj_val p0 = OP(shf_l, w3, w2, e);
    cj_val low = OP(mul_hi_u, k, p0);
    cj_val high = OP(mul_u, k, p2);
    cj_val v = PAIR(low, high);
    v = OP(mad_wide_u, k, p1, v);           /* j / 4 + r / (2 pi), less whole numbers, times 2^64 */
    cj_val n = HIGH(v);
    n = OP(add_u, n, U(0x20000000));
    n = SHR(n, U(30));
    v = OP(shl_w, v, U(2));
    cj_val d = OP(d_of_x, v);
    d = MUL_D(d, D(0x1.921fb54442d18p-64));
    cj_val y = OP(f_of_d, d);
    cj_val negative = OP(lt_s, x, U(0));
    WHEN(negative, n) = OP(sub_u, U(0), n);
    WHEN(negative, y) = NEG(y);
    r[0] = FMA(x, F(0.f), y);               /* infinity and NaN give NaN */
    r[1] = n;
}

/* r; *q has j's low bits.  pi/2 is in three parts, the first rounded down, so that signs of zero stay. */
static cj_val quadrant(cji_math *m, cj_val x, cj_val *q)
{
    cj_val t = FMA(x, F(0x1.45f306p-1f), F(SHIFT_F));
    cj_val j = SUB(t, F(SHIFT_F));
    cj_val r = FMA(j, F(-0x1.921fb4p0f), x);
    r = FMA(j, F(-0x1.4442dp-24f), r);
    r = FMA(j, F(-0x1.84698ap-48f), r);
    cj_val size = ABS(x);
    cj_val big = OP(gtu, size, F(71476.0625f));
    IF(big) {
        cj_val two[CJI_MATH_ARGS];
        cji_math_use(m, CJI_MATH_trig_big_f32, &x, two);
        INTO(r) = OP(mov, two[0]);
        INTO(t) = OP(mov_u, two[1]);
    } ENDIF
    *q = t;
    return r;
}

static void sine_and_cosine(cji_math *m, cj_val r, cj_val *s, cj_val *c)
{
    cj_val z = MUL(r, r);
    *c = POLY(z, 0x1.99e8fep-16f, -0x1.6c0c2ap-10f, 0x1.55554ap-5f, -0.5f, 1.f);
    cj_val u = FMA(z, r, F(0.f));           /* +0 for -0 too: the product below keeps the sign */
    cj_val g = POLY(z, -0x1.9952f2p-13f, 0x1.110776p-7f, -0x1.555546p-3f);
    *s = FMA(g, u, r);
}

static cj_val is_odd(cji_math *m, cj_val q)
{
    cj_val bit = AND(q, U(1));
    return OP(ne_u, bit, U(0));
}

/* The sign of quadrants 2 and 3. */
static cj_val with_sign(cji_math *m, cj_val y, cj_val q)
{
    cj_val sign = SHL(q, U(30));
    sign = AND(sign, U(0x80000000));
    return XOR(y, sign);
}

void cji_math_sin_f32(cji_math *m, const cj_val *a, cj_val *r)
{
    cj_val q, s, c, x = quadrant(m, a[0], &q);
    sine_and_cosine(m, x, &s, &c);
    cj_val y = SEL(is_odd(m, q), c, s);
    r[0] = with_sign(m, y, q);
}

void cji_math_cos_f32(cji_math *m, const cj_val *a, cj_val *r)
{
    cj_val q, s, c, x = quadrant(m, a[0], &q);
    sine_and_cosine(m, x, &s, &c);
    q = OP(add_u, q, U(1));
    cj_val y = SEL(is_odd(m, q), c, s);
    r[0] = with_sign(m, y, q);
}

void cji_math_sincos_f32(cji_math *m, const cj_val *a, cj_val *r)
{
    cj_val q, s, c, x = quadrant(m, a[0], &q);
    sine_and_cosine(m, x, &s, &c);
    cj_val odd = is_odd(m, q);
    cj_val y = SEL(odd, c, s);
    r[0] = with_sign(m, y, q);
    y = SEL(odd, s, c);
    q = OP(add_u, q, U(1));
    r[1] = with_sign(m, y, q);
}

void cji_math_tan_f32(cji_math *m, const cj_val *a, cj_val *r)
{
    cj_val q, x = quadrant(m, a[0], &q), z = MUL(x, x);
    cj_val p = POLY(z, 0x1.33f884p-7f, 0x1.961d0ep-9f, 0x1.9079b6p-6f, 0x1.b5845p-5f, 0x1.112deep-3f, 0x1.5554dep-2f);
    cj_val u = MUL(x, z);
    cj_val t = FMA(p, u, x);
    cj_val odd = is_odd(m, q);
    cj_val n = NEG(t);
    WHEN(odd, t) = RCP(n);
    r[0] = t;
}
