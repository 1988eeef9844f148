/* asin, acos, atan and atan2 in f64. */
#include "ptx/math/log_f64.h"

#define HALF_PI_HIGH 0x1.921fb54442d18p0
#define HALF_PI_LOW 0x1.1a62633145c07p-54

/* atan t for |t| <= 1 */
static cj_val arc_tangent(cji_math *m, cj_val t)
{
    cj_val z = MUL_D(t, t);
    cj_val p = POLY_D(z, -0x1.53e5cp-16, 0x1.d3bbp-13, -0x1.312a3p-10, 0x1.f96cbp-9, -0x1.2cf765bc0ed89p-7,
                      0x1.162c42e04e1adp-6, -0x1.a726c0a906c7ap-6, 0x1.1715ef15ede5dp-5, -0x1.4f4536cb4b1e2p-5,
                      0x1.7ee40517288c2p-5, -0x1.ad32c1bdaf634p-5, 0x1.e17819d5148e2p-5, -0x1.11089d55baf1ep-4,
                      0x1.3b12b2f6d2e32p-4, -0x1.745d02328b36ap-4, 0x1.c71c709e338d9p-4, -0x1.2492491fa283ap-3,
                      0x1.9999999984128p-3, -0x1.555555555544cp-2);
    p = FMA_D(p, z, D(0.0));                            /* of 0 it is +0, which leaves the sign of t */
    return FMA_D(p, t, t);
}

/* From 1 on atan(-1 / |x|) + pi/2 with the sign of x.  pi/2 is in .const memory: a register under a predicate would
 * take four moves to fill. */
void cji_math_atan_f64(cji_math *m, const cj_val *a, cj_val *r)
{
    cj_val low, high, upper, under, x = a[0], t = OP(mov_d, x);
    cji_m_split(m, x, &low, &high);
    high = ABS(high);
    cj_val big = OP(geu, high, F(0x1.ep0f));            /* the high word, as f32, is that of 1 or more or of NaN */
    cji_m_two_d(m, CJI_MATH_HALF_PI64, 0, &upper, &under);
    IF(big) {
        cj_val seed = OP(rcp_d, x);                     /* of infinity 0, of NaN a NaN */
        seed = COPYSIGN_D(seed, D(-1.0));
        high = OP(min, high, F(0x1.6p8f));              /* about 2^60 at most */
        cj_val over = PAIR(low, high), e = FMA_D(over, seed, D(1.0));
        e = FMA_D(e, e, e);
        INTO(t) = FMA_D(seed, e, seed);
    }
    ENDIF
    cj_val v = arc_tangent(m, t);
    IF(big) {
        cj_val w = ADD_D(v, under);
        w = ADD_D(w, upper);
        INTO(v) = OP(copysign_d, x, w);
    }
    ENDIF
    r[0] = v;
}

/* atan2(a[0], a[1]); the division is rounded, so small quotients are right too. */
void cji_math_atan2_f64(cji_math *m, const cj_val *a, cj_val *r)
{
    cj_val ay = ABS_D(a[0]), ax = ABS_D(a[1]), steep = GT_D(ay, ax);
    cj_val least = SEL_D(steep, ax, ay);
    cj_val most = SEL_D(steep, ay, ax);
    cj_val d = SEL_D(EQ_D(most, D(0.0)), D(1.0), most);
    cj_val q = DIV_D(least, d);
    cj_val same = EQ_D(ax, ay);
    same = BOTH(same, GT_D(most, D(0.0)));              /* infinite ones too */
    q = SEL_D(same, D(1.0), q);
    cj_val v = arc_tangent(m, q);
    cj_val w = SUB_D(v, D(HALF_PI_LOW));
    w = SUB_D(D(HALF_PI_HIGH), w);
    v = SEL_D(steep, w, v);
    w = SUB_D(v, D(2 * HALF_PI_LOW));
    w = SUB_D(D(2 * HALF_PI_HIGH), w);
    v = SEL_D(OP(lt_x, a[1], U(0)), w, v);
    r[0] = COPYSIGN_D(v, a[0]);                         /* NaN came through the division */
}

/* sqrt(h) with h = (1 - |x|) / 2 */
static cj_val half_chord(cji_math *m, cj_val x, cj_val *half)
{
    cj_val b = ABS_D(x), h = FMA_D(b, D(-0.5), D(0.5));
    cj_val y = OP(rsqrt_d, ADD_D(h, D(0x1p-200)));
    cj_val g = MUL_D(h, y);
    cj_val ng = NEG_D(g);
    cj_val e = FMA_D(ng, y, D(1.0));
    e = MUL_D(y, e);
    y = FMA_D(e, D(0.5), y);                            /* 2^-41: the step of the root itself leaves the square */
    cj_val s = MUL_D(h, y);
    cj_val ns = NEG_D(s);
    e = FMA_D(ns, s, h);
    y = ADD_HIGH(y, U(0xfff00000u));                    /* y / 2 */
    *half = h;
    return FMA_D(e, y, s);
}

/* (asin t - t) / t of z = t^2 <= 0.3165 */
static cj_val sine_tail(cji_math *m, cj_val z)
{
    cj_val p = POLY_D(z, 0x1.c7a9fp-5, -0x1.fcd53p-5, 0x1.bcd13p-5, -0x1.74664p-7, 0x1.f4bbbdd5f0d61p-7,
                      0x1.57c5bca764e14p-7, 0x1.ce3d7bcf23ff5p-7, 0x1.1c181eb9e3e33p-6, 0x1.6e8f039af003dp-6,
                      0x1.f1c6fa3cba978p-6, 0x1.6db6dbd398f82p-5, 0x1.333333329aa83p-4, 0x1.5555555555a51p-3);
    return MUL_D(p, z);
}

/* asin x, or where |x| >= 0.5625, which *big says, -2 asin(sqrt((1 - |x|) / 2)): one polynomial serves both. */
static cj_val arc_sine(cji_math *m, cj_val x, cj_val *big)
{
    cj_val z = MUL_D(x, x), t = OP(mov_d, x);
    *big = BEYOND_D(x, 0.5625);
    IF(*big) {
        cj_val h, s = half_chord(m, x, &h);
        INTO(t) = OP(mul_d, s, D(-2.0));
        INTO(z) = OP(mov_d, h);
    }
    ENDIF
    cj_val p = sine_tail(m, z);
    return FMA_D(p, t, t);
}

/* The polynomial stands on both sides: a warp mostly takes the first one. */
void cji_math_asin_f64(cji_math *m, const cj_val *a, cj_val *r)
{
    cj_val x = a[0], v = OP(mov_d, x);
    IF(BELOW_D(x, 0.5625)) {
        cj_val p = sine_tail(m, MUL_D(x, x));
        INTO(v) = OP(fma_d, p, x, x);
    }
    ELSE {
        cj_val h, s = half_chord(m, x, &h), p = sine_tail(m, h), w = FMA_D(p, s, s);
        w = FMA_D(w, D(-2.0), D(HALF_PI_LOW));
        w = ADD_D(w, D(HALF_PI_HIGH));
        INTO(v) = OP(copysign_d, x, w);
    }
    ENDIF
    r[0] = v;
}

/* Below 0.5625 pi/2 - asin x; beyond it 2 asin(sqrt((1 - x) / 2)), or pi less that of -x. */
void cji_math_acos_f64(cji_math *m, const cj_val *a, cj_val *r)
{
    cj_val x = a[0], big, v = arc_sine(m, x, &big), w = OP(mov_d, v);
    IF(big) {
        cj_val positive = OP(ge_s, HIGH(x), U(0));
        cj_val over = ADD_D(v, D(2 * HALF_PI_LOW));
        INTO(w) = OP(add_d, over, D(2 * HALF_PI_HIGH));
        WHEN(positive, w) = OP(neg_d, v);
    }
    ELSE {
        cj_val s = SUB_D(D(HALF_PI_LOW), v);
        INTO(w) = OP(add_d, s, D(HALF_PI_HIGH));
    }
    ENDIF
    r[0] = w;
}
