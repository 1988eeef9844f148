/* Inverse trigonometric functions in f32. */
#include "ptx/math/ops.h"

/* pi/2 is their product, within 2^-43: an fma has it in double precision. */
#define HALF_PI_A 0x1.1c2f3p0f
#define HALF_PI_B 0x1.6a3e24p0f

/* asin(a) for a <= 0.5625, else -2 asin(sqrt((1 - a) / 2)), which is asin(a) - pi/2; *big where a is above. */
static cj_val sine_inverse(cji_math *m, cj_val a, cj_val *big)
{
    cj_val h = FMA(a, F(-0.5f), F(0.5f));
    cj_val y = ADD(h, F(0x1p-100f));                /* a = 1: s is 0 */
    y = RSQRT(y);
    cj_val s = MUL(h, y);
    cj_val ns = NEG(s);
    cj_val e = FMA(ns, s, h);
    y = MUL(y, F(0.5f));
    s = FMA(e, y, s);
    *big = GT(a, F(0.5625f));
    s = MUL(s, F(-2.f));
    cj_val square = MUL(a, a);
    cj_val z = SEL(*big, h, square);
    cj_val b = SEL(*big, s, a);
    cj_val p = POLY(z, 0x1.a3822ep-5f, 0x1.2f3c48p-6f, 0x1.7e780ap-5f, 0x1.3296eap-4f, 0x1.555728p-3f);
    p = MUL(p, z);
    return FMA(p, b, b);
}

void cji_math_asin_f32(cji_math *m, const cj_val *a, cj_val *r)
{
    cj_val big, size = ABS(a[0]), v = sine_inverse(m, size, &big);
    WHEN(big, v) = FMA(F(HALF_PI_A), F(HALF_PI_B), v);
    r[0] = COPYSIGN(v, a[0]);
}

/* With w = -v, or v for negative x.  x > 0.5625: w; |x| <= 0.5625: pi/2 + w; x < -0.5625: pi + w */
void cji_math_acos_f32(cji_math *m, const cj_val *a, cj_val *r)
{
    cj_val big, x = a[0], v = sine_inverse(m, ABS(x), &big);
    cj_val k = SEL(big, F(2.f * HALF_PI_A), F(HALF_PI_A));
    cj_val sign = AND(x, U(0x80000000));
    sign = XOR(sign, U(0x80000000));
    cj_val w = XOR(v, sign), far = LE(x, F(0.5625f));
    WHEN(far, w) = FMA(k, F(HALF_PI_B), w);
    r[0] = w;
}

/* atan(t) for 0 <= t <= 1 */
static cj_val tangent_inverse(cji_math *m, cj_val t)
{
    cj_val z = MUL(t, t);
    cj_val p = POLY(z, 0x1.7ec1c4p-9f, -0x1.0c23fep-6f, 0x1.61f756p-5f, -0x1.3553f4p-4f, 0x1.b4dfdcp-4f, -0x1.230abp-3f,
                    0x1.9978eep-3f, -0x1.5554dcp-2f);
    p = MUL(p, z);
    return FMA(p, t, t);
}

void cji_math_atan_f32(cji_math *m, const cj_val *a, cj_val *r)
{
    cj_val size = ABS(a[0]);
    cj_val big = GT(size, F(1.f));
    WHEN(big, size) = RCP(size);
    cj_val v = tangent_inverse(m, size);
    cj_val n = NEG(v);
    WHEN(big, v) = FMA(F(HALF_PI_A), F(HALF_PI_B), n);
    r[0] = COPYSIGN(v, a[0]);
}

void cji_math_atan2_f32(cji_math *m, const cj_val *a, cj_val *r)
{
    cj_val y = ABS(a[0]), x = ABS(a[1]);
    cj_val less = OP(min, x, y);
    cj_val more = OP(max, x, y);
    cj_val d = OP(max, more, F(0x1p-149f));         /* 0 / 0 gives 0 */
    cj_val q = DIV(less, d);
    cj_val same = EQ(y, x);
    cj_val some = GT(more, F(0.f));
    same = BOTH(same, some);
    WHEN(same, q) = OP(mov, F(1.f));                /* infinities too */
    cj_val v = tangent_inverse(m, q);
    cj_val steep = GT(y, x);
    cj_val n = NEG(v);
    WHEN(steep, v) = FMA(F(HALF_PI_A), F(HALF_PI_B), n);
    cj_val left = OP(lt_s, a[1], U(0));
    n = NEG(v);
    WHEN(left, v) = FMA(F(2.f * HALF_PI_A), F(HALF_PI_B), n);
    cj_val nan = OP(nan, x, y);
    WHEN(nan, v) = ADD(x, y);
    r[0] = COPYSIGN(v, a[0]);
}
