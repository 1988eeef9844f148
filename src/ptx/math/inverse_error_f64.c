/* Inverse error functions and the inverse of the normal distribution in f64.  All are smooth functions of
 * w = -log(1 - y^2) for y = erf(result): a polynomial in w times y for w <= 6.25, and beyond it sqrt(w) times one in
 * 1 / sqrt(w), or for w > 36.5 in 1 / (sqrt(w) + 6).  A warp mostly takes the first side. */
#include "ptx/math/log_f64.h"

/* The mantissa in sqrt(1/2)..sqrt(2) and the exponent of a normal u; of others anything. */
static cj_val normal_parts(cji_math *m, cj_val u, cj_val *e)
{
    cj_val low, high;
    cji_m_split(m, u, &low, &high);
    cj_val i = OP(sub_u, high, U(0x3fe6a09e));
    *e = OP(shr_s, i, U(20));
    i = AND(i, U(0xfff00000));
    high = OP(sub_u, high, i);
    return PAIR(low, high);
}

/* log(y 2^e), within 2 ulp */
static cj_val short_log(cji_math *m, cj_val y, cj_val e)
{
    cj_val f = SUB_D(y, D(1.0));
    cj_val d = ADD_D(y, D(1.0));
    cj_val rc = cji_math_reciprocal(m, d);
    cj_val s = MUL_D(f, rc);
    cj_val z = MUL_D(s, s);
    cj_val p = cji_math_log_tail(m, z);
    z = MUL_D(s, z);
    s = ADD_D(s, s);
    p = FMA_D(p, z, s);
    cj_val n = OP(d_of_s, e);
    return FMA_D(n, D(0x1.62e42fefa39efp-1), p);
}

#define FAR_HIGH 0x3f5fa0e9u                            /* high word of e^-6.25 */

/* erf^-1(y) / y of l = log(1 - y^2) >= -6.25 */
static cj_val inverse_near(cji_math *m, cj_val l)
{
    cj_val p = POLY_D(l, -0x1.f8e1c61c24f63p-69, -0x1.1caba353c9cb9p-62, -0x1.25ee850157ecp-57, -0x1.6d0f99e7d6955p-53);
    return POLY_ON(p, INVERSE_NEAR64, l);
}

/* erf^-1(y) of w = -log(1 - y^2): sqrt(w) to 36.5; r is 1 / sqrt(w) */
static cj_val inverse_far(cji_math *m, cj_val s, cj_val r)
{
    cj_val t = SUB_D(r, D(0.28125));
    cj_val p = POLY_D(t, 0x1.c8ec01159a726p39, -0x1.02fa40b0e4b78p36, -0x1.94f8e56edbc0ep36, 0x1.5b741285dba08p33,
                      0x1.3ed81ce8f6aa5p32, -0x1.adc17b96e241cp29, -0x1.0aafecd0c367cp27, 0x1.520c8990d85f4p25,
                      0x1.c1bc4a5a578b3p19, -0x1.8efca3d14579ep20, 0x1.8757db9cd9925p16, 0x1.9532ebf6ae0abp15,
                      -0x1.758f2577bb65bp12, -0x1.bc9248b91d3f3p10, 0x1.c92e0f89543d8p7, 0x1.050c3596ec83p6,
                      0x1.c68687b849fep-4, -0x1.04e01908714dcp2, 0x1.a5066ced15493p-3, -0x1.927a4eeb22dc2p-1,
                      0x1.cdc43849f416bp-2, 0x1.049263d090ddp-3, -0x1.88868bd3c5e44p-3, 0x1.e85e98479d956p-1);
    return MUL_D(p, s);
}

static cj_val inverse_farthest(cji_math *m, cj_val s)
{
    cj_val d = ADD_D(s, D(6.0));
    cj_val t = cji_math_reciprocal(m, d);
    t = SUB_D(t, D(0x1.dp-5));
    cj_val p = POLY_D(t, 0x1.7298a310c0024p52, 0x1.1ddba8197a48p48, 0x1.3b1db9a35299ep45, 0x1.e575781f32b66p41,
                      0x1.d742d74117889p38, 0x1.5c6e70f9cd2bp35, 0x1.2140ac123cf1bp32, 0x1.921ee27404e59p28,
                      0x1.1ac4a913b561cp25, 0x1.392eed4195c9ap21, 0x1.11ada7e1a69cbp17, -0x1.1c183ad3e3796p11,
                      -0x1.bfa66a0165336p10, -0x1.6179510b11ba8p8, -0x1.7c34f15ff7768p5, -0x1.62501f837d5c3p2,
                      -0x1.7380d1ccc269ep-2, 0x1.fb970a9a37715p-1);
    return MUL_D(p, s);
}

/* sqrt(w), and 1 / sqrt(w) within 1 ulp */
static cj_val root_of(cji_math *m, cj_val w, cj_val *inverse)
{
    cj_val y = OP(rsqrt_d, w), g = MUL_D(w, y);
    g = NEG_D(g);
    cj_val e = FMA_D(g, y, D(1.0));
    cj_val k = FMA_D(e, D(0.375), D(0.5));
    e = MUL_D(y, e);
    y = FMA_D(e, k, y);
    *inverse = y;
    return MUL_D(w, y);
}

/* v, or where u = 1 - x^2 is 0 an infinity, where it is negative or NaN a NaN; with x's sign.  u is not subnormal. */
static cj_val with_ends(cji_math *m, cj_val v, cj_val x, cj_val u)
{
    cj_val outside = OP(geu_d, D(0.0), u);
    WHEN(outside, v) = OP(rsqrt_d, u);
    return COPYSIGN_D(v, x);
}

void cji_math_erfinv_f64(cji_math *m, const cj_val *a, cj_val *r)
{
    cj_val x = a[0], n = NEG_D(x), u = FMA_D(n, x, D(1.0)), e, v = OP(mov_d, x);
    cj_val y = normal_parts(m, u, &e), l = short_log(m, y, e);
    cj_val far = OP(lt_u, HIGH(u), U(FAR_HIGH));        /* not where u is negative or NaN */
    IF(far) {
        cj_val w = NEG_D(l), inverse, s = root_of(m, w, &inverse);
        s = inverse_far(m, s, inverse);
        INTO(v) = OP(mov_d, s);
    }
    ELSE {
        cj_val p = inverse_near(m, l);
        INTO(v) = OP(mul_d, p, x);
    }
    ENDIF
    r[0] = with_ends(m, v, x, u);
}

/* erf^-1(x), where 1 - x^2 is u: exact or rounded, however small. */
static cj_val inverse_of(cji_math *m, cj_val x, cj_val u)
{
    cj_val us, e, v = OP(mov_d, x), y = cji_math_split_f64(m, u, &us, &e), l = short_log(m, y, e);
    cj_val far = LT_D(l, D(-6.25));
    IF(far) {
        cj_val w = NEG_D(l), inverse, s = root_of(m, w, &inverse), t = OP(mov_d, s);
        cj_val farthest = GT_D(w, D(36.5));
        IF(farthest) {
            cj_val f = inverse_farthest(m, s);
            INTO(t) = OP(mov_d, f);
        }
        ELSE {
            cj_val f = inverse_far(m, s, inverse);
            INTO(t) = OP(mov_d, f);
        }
        ENDIF
        INTO(v) = OP(mov_d, t);
    }
    ELSE {
        cj_val p = inverse_near(m, l);
        INTO(v) = OP(mul_d, p, x);
    }
    ENDIF
    return with_ends(m, v, x, us);
}

void cji_math_erfcinv_f64(cji_math *m, const cj_val *a, cj_val *r)
{
    cj_val u = SUB_D(D(2.0), a[0]), x = SUB_D(D(1.0), a[0]);
    u = MUL_D(u, a[0]);
    r[0] = inverse_of(m, x, u);
}

/* sqrt(2) erf^-1(2 x - 1) */
void cji_math_normcdfinv_f64(cji_math *m, const cj_val *a, cj_val *r)
{
    cj_val u = SUB_D(D(1.0), a[0]), x4 = MUL_D(a[0], D(4.0)), x = FMA_D(a[0], D(2.0), D(-1.0));
    u = MUL_D(u, x4);
    cj_val v = inverse_of(m, x, u);
    r[0] = MUL_D(v, D(0x1.6a09e667f3bcdp0));
}
