/* Roots and lengths in f32. */
#include "ptx/math/ops.h"

/* size^(-1/3), about 2^-20 */
static cj_val inverse_cube_root(cji_math *m, cj_val size)
{
    cj_val t = OP(lg2_all, size);
    t = MUL(t, F(-0x1.555556p-2f));
    return EX2(t);
}

/* y = a t^2 and one step: y (1 + 2 h / 3) with h = 1 - y t */
void cji_math_cbrt_f32(cji_math *m, const cj_val *a, cj_val *r)
{
    cj_val x = a[0], size = ABS(x), t = inverse_cube_root(m, size);
    cj_val y = MUL(t, t);
    y = MUL(y, size);
    cj_val ny = NEG(y);
    cj_val h = FMA(ny, t, F(1.f));
    cj_val third = MUL(y, F(0x1.555556p-1f));
    cj_val v = FMA(h, third, y);
    r[0] = OP(mov, x);
    cj_val usual = EQ(v, v);                        /* of zero and of infinity a product is NaN */
    WHEN(usual, r[0]) = COPYSIGN(v, x);
}

void cji_math_rcbrt_f32(cji_math *m, const cj_val *a, cj_val *r)
{
    cj_val x = a[0], size = ABS(x), t = inverse_cube_root(m, size);
    cj_val u = MUL(t, t);
    u = NEG(u);
    cj_val v = MUL(size, t);
    cj_val e = FMA(u, v, F(1.f));
    cj_val third = MUL(t, F(0x1.555556p-2f));
    v = FMA(third, e, t);
    cj_val twice = ADD(size, size);
    cj_val special = OP(equ, twice, size);
    v = SEL(special, t, v);
    r[0] = COPYSIGN(v, x);
}

void cji_math_rsqrt_f32(cji_math *m, const cj_val *a, cj_val *r) { r[0] = OP(rsqrt_all, a[0]); }

/* (x s)^2 + (y s)^2 with s a power of two by the larger one's exponent; *back is 1 / s. */
static cj_val scaled_square(cji_math *m, const cj_val *a, cj_val *most, cj_val *s, cj_val *back)
{
    cj_val x = ABS(a[0]), y = ABS(a[1]);
    *most = OP(max, x, y);
    cj_val e = AND(*most, U(0x7c000000));
    if (back) {
        e = OR(e, U(0x00800000));
        *back = e;
    }
    *s = OP(sub_u, U(back ? 0x7f000000 : 0x7e000000), e);
    x = MUL(x, *s);
    y = MUL(y, *s);
    x = MUL(x, x);
    return FMA(y, y, x);
}

/* Infinity wins over NaN. */
void cji_math_hypot_f32(cji_math *m, const cj_val *a, cj_val *r)
{
    cj_val most, s, back, q = scaled_square(m, a, &most, &s, &back);
    q = OP(sqrt, q);
    q = MUL(q, back);
    cj_val infinite = OP(eq_u, most, U(INFINITY_U));
    WHEN(infinite, q) = OP(mov, most);
    r[0] = q;
}

void cji_math_rhypot_f32(cji_math *m, const cj_val *a, cj_val *r)
{
    cj_val most, s, q = scaled_square(m, a, &most, &s, NULL);
    q = RSQRT(q);
    q = MUL(q, s);
    cj_val infinite = OP(eq_u, most, U(INFINITY_U));
    WHEN(infinite, q) = OP(mov, F(0.f));
    r[0] = q;
}
