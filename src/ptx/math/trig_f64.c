/* sin, cos and tan in f64: x = q pi/2 + r + rl with |r| <= pi/4. */
#include "ptx/math/log_f64.h"

/* Any x by Payne and Hanek: 192 bits of 2/pi, chosen by the exponent, times the mantissa; the fraction has 128 bits.
 * Results: r, rl, and q modulo 4.  NaN where x is infinite or NaN. */
void cji_math_trig_big_f64(cji_math *m, const cj_val *a, cj_val *r)
{
    cj_val x = a[0], high = HIGH(x);
    cj_val e = OP(shr_u, high, U(20));
    e = AND(e, U(0x7ff));
    e = OP(sub_u, e, U(1024));
    cj_val i = SHR(e, U(6));
    cj_val sh = AND(e, U(63));
    cj_val rs = OP(sub_u, U(64), sh);
    cj_val mantissa = OP(shl_w, x, U(11));
    mantissa = OP(or_w, mantissa, U(0x8000000000000000u));
    cj_val row = cji_m_row(m, CJI_MATH_TWO_OVER_PI64, i, 8), p[3], w[4];
    for (unsigned k = 0; k < 4; k++) w[k] = cji_m_load_w(m, CJI_MATH_TWO_OVER_PI64, row, k);
    for (unsigned k = 0; k < 3; k++) {
        cj_val left = OP(shl_w, w[k], sh);
        cj_val right = OP(shr_w, w[k + 1], rs);         /* by 64: 0 */
        p[k] = OP(or_w, left, right);
    }
    cj_val lo = OP(mul_hi_w, mantissa, p[2]);
    cj_val mid = OP(mad_w, mantissa, p[1], lo);
    cj_val hi = OP(mul_hi_w, mantissa, p[1]);
    hi = OP(mad_w, mantissa, p[0], hi);
    cj_val carry = OP(lt_w, mid, lo);
    WHEN(carry, hi) = OP(add_w, hi, U(1));
    cj_val n = OP(add_w, hi, U(0x2000000000000000u));
    n = SHR(HIGH(n), U(30));
    cj_val fh = OP(shl_w, hi, U(2));
    cj_val under = OP(shr_w, mid, U(62));
    fh = OP(or_w, fh, under);
    cj_val top = OP(and_w, fh, U(0xfffffffffffff800u));
    cj_val f = OP(d_of_x, top);                         /* both exact but for the last bits of g */
    cj_val g = OP(shl_w, fh, U(53));
    under = OP(shl_w, mid, U(2));
    under = OP(shr_w, under, U(11));
    g = OP(or_w, g, under);
    g = OP(d_of_w, g);
    cj_val s = MUL_D(f, D(0x1.921fb54442d18p-64));
    cj_val t = NEG_D(s);
    t = FMA_D(f, D(0x1.921fb54442d18p-64), t);
    t = FMA_D(f, D(0x1.1a62633145c07p-118), t);
    t = FMA_D(g, D(0x1.921fb54442d18p-117), t);
    cj_val v = ADD_D(s, t);
    cj_val l = SUB_D(v, s);
    l = SUB_D(t, l);
    cj_val sign = OP(and_w, x, U(0x8000000000000000u));
    v = OP(xor_w, v, sign);
    cj_val negative = OP(lt_s, high, U(0));
    r[0] = FMA_D(x, D(0.0), v);
    r[1] = OP(xor_w, l, sign);
    WHEN(negative, n) = OP(sub_u, U(0), n);
    r[2] = n;
}

#define PIECE_1 0x1.921fb54442d18p0                     /* pi/2 in three pieces */
#define PIECE_2 0x1.1a62633145c06p-54
#define PIECE_3 0x1.c1cd129024e09p-107

/* Each step but the first is rounded once, so r is right to its last bits however much cancels.  Products of 0 are -0:
 * the sign of 0 stays. */
static cj_val reduced_d(cji_math *m, cj_val x, cj_val *q)
{
    cj_val t = FMA_D(x, D(0x1.45f306dc9c883p-1), D(SHIFT_D)), j = SUB_D(t, D(SHIFT_D)), n = LOW(t);
    cj_val r = FMA_D(j, D(-PIECE_1), x);
    r = FMA_D(j, D(-PIECE_2), r);
    r = FMA_D(j, D(-PIECE_3), r);
    IF(BEYOND_D(x, 0x1p31)) {
        cj_val b[3] = { CJI_NULL };
        cji_math_use(m, CJI_MATH_trig_big_f64, &x, b);
        INTO(r) = OP(mov_d, b[0]);
        INTO(n) = OP(mov_u, b[2]);
    }
    ENDIF
    *q = n;
    return r;
}

/* sin of r + q pi/2: one Horner chain, its coefficients chosen by the quadrant. */
static cj_val sine(cji_math *m, cj_val r, cj_val q)
{
    cj_val k[7], low, high, odd = AND(q, U(1)), row = cji_m_row(m, CJI_MATH_SINCOS64, odd, 48);
    for (unsigned i = 0; i < 6; i += 2) cji_m_load_d2(m, CJI_MATH_SINCOS64, row, i, &k[i], &k[i + 1]);
    cj_val cosine = OP(ne_u, odd, U(0));
    k[6] = SEL_D(cosine, D(SINCOS64_LAST), D(0.0));
    cj_val z = MUL_D(r, r);
    cj_val b = SEL_D(cosine, D(1.0), r);
    cj_val p = FMA_D(k[6], z, k[5]);
    for (unsigned i = 5; i-- > 0;) p = FMA_D(p, z, k[i]);
    p = FMA_D(p, z, D(0.0));                            /* of 0 it is +0, which leaves the sign of b */
    cj_val y = FMA_D(p, b, b);
    cj_val sign = SHL(q, U(30));
    sign = AND(sign, U(0x80000000u));
    cji_m_split(m, y, &low, &high);
    high = XOR(high, sign);
    return PAIR(low, high);
}

void cji_math_sin_f64(cji_math *m, const cj_val *a, cj_val *r)
{
    cj_val q, v = reduced_d(m, a[0], &q);
    r[0] = sine(m, v, q);
}

void cji_math_cos_f64(cji_math *m, const cj_val *a, cj_val *r)
{
    cj_val q, v = reduced_d(m, a[0], &q);
    q = OP(add_u, q, U(1));
    r[0] = sine(m, v, q);
}

/* v with bit 31 of `turned` as its sign. */
static cj_val turned_d(cji_math *m, cj_val v, cj_val turned)
{
    cj_val low, high, sign = AND(turned, U(0x80000000u));
    cji_m_split(m, v, &low, &high);
    high = XOR(high, sign);
    return PAIR(low, high);
}

/* Both polynomials are computed, and change places where the quadrant is odd. */
void cji_math_sincos_f64(cji_math *m, const cj_val *a, cj_val *r)
{
    cj_val q, f = reduced_d(m, a[0], &q), z = MUL_D(f, f);
    cj_val s = POLY_D(z, 0x1.5d8e5p-33, -0x1.ae5e5p-26, 0x1.71de35539b68bp-19, -0x1.a01a019be04fp-13,
                      0x1.111111110f6cfp-7, -0x1.5555555555548p-3, 0.0);
    s = FMA_D(s, f, f);
    cj_val c = POLY_D(z, -0x1.8fa69p-37, 0x1.1ee9ep-29, -0x1.27e4f7fe59036p-22, 0x1.a01a019caa9cap-16,
                      -0x1.6c16c16c15197p-10, 0x1.555555555554cp-5, -0.5, 1.0);
    cj_val odd = AND(q, U(1));
    odd = OP(ne_u, odd, U(0));
    cj_val v = SEL_D(odd, c, s), w = SEL_D(odd, s, c), turned = SHL(q, U(30));
    r[0] = turned_d(m, v, turned);
    turned = OP(add_u, turned, U(0x40000000u));
    r[1] = turned_d(m, w, turned);
}

/* The same with what r is rounded by: r + *rl.  Next to a multiple of pi/2 the pieces cancel, and all of the second one
 * counts. */
static cj_val reduced_pair(cji_math *m, cj_val x, cj_val *rl, cj_val *q)
{
    cj_val t = FMA_D(x, D(0x1.45f306dc9c883p-1), D(SHIFT_D)), j = SUB_D(t, D(SHIFT_D)), n = LOW(t);
    cj_val r1 = FMA_D(j, D(-PIECE_1), x);               /* exact */
    cj_val r = FMA_D(j, D(-PIECE_2), r1);
    cj_val l = SUB_D(r, r1);                            /* exact where |r| >= 2^-18, */
    l = FMA_D(j, D(PIECE_2), l);                        /* where the third piece is below 2^-5 of r's last bit */
    l = NEG_D(l);                                       /* of 0 it is -0, so that the sign of 0 stays */
    cj_val big = BEYOND_D(x, 0x1p31), cancelled = BELOW_D(r, 0x1p-18);
    cancelled = BOTH(cancelled, BEYOND_D(x, 1.0));
    IF(EITHER(big, cancelled)) {
        IF(big) {
            cj_val b[3] = { CJI_NULL };
            cji_math_use(m, CJI_MATH_trig_big_f64, &x, b);
            INTO(r) = OP(mov_d, b[0]);
            INTO(l) = OP(mov_d, b[1]);
            INTO(n) = OP(mov_u, b[2]);
        }
        ELSE {
            cj_val p = MUL_D(j, D(-PIECE_2)), np = NEG_D(p);
            cj_val pl = FMA_D(j, D(-PIECE_2), np);
            cj_val r2 = ADD_D(r1, p);
            cj_val e = SUB_D(r1, r2);
            e = ADD_D(e, p);
            pl = FMA_D(j, D(-PIECE_3), pl);
            e = ADD_D(e, pl);
            INTO(r) = OP(add_d, r2, e);
            cj_val rest = SUB_D(r, r2);
            INTO(l) = OP(sub_d, e, rest);
        }
        ENDIF
    }
    ENDIF
    *rl = l;
    *q = n;
    return r;
}

/* tan of v + rl + q pi/2 */
static cj_val tangent(cji_math *m, cj_val v, cj_val rl, cj_val q)
{
    cj_val z = MUL_D(v, v);
    cj_val p = POLY_D(z, 0x1.5dda9p-16, -0x1.78163p-15, 0x1.76d8fp-14, -0x1.b92b6p-16, 0x1.1e2d7p-13,
                      0x1.d26ec9eb4f26cp-13, 0x1.37fab1cbe6fecp-11, 0x1.7d5b58ebe2b5ep-10, 0x1.d6d933e367c84p-9,
                      0x1.226e125ab9bd8p-7, 0x1.664f49a8574c1p-6, 0x1.ba1ba1b46c5aep-5, 0x1.11111111182bap-3,
                      0x1.55555555554f2p-2);
    cj_val w = FMA_D(rl, z, rl);
    z = MUL_D(v, z);
    w = FMA_D(p, z, w);
    cj_val t = ADD_D(v, w), odd = AND(q, U(1));
    IF(OP(ne_u, odd, U(0))) {                           /* -1 / (t + tl) */
        cj_val tl = SUB_D(t, v);
        tl = SUB_D(w, tl);
        cj_val nt = NEG_D(t);
        cj_val rc = OP(rcp_d, nt);
        cj_val e = FMA_D(t, rc, D(1.0));
        e = FMA_D(tl, rc, e);
        e = FMA_D(e, e, e);
        INTO(t) = OP(fma_d, rc, e, rc);
    }
    ENDIF
    return t;
}

void cji_math_tan_f64(cji_math *m, const cj_val *a, cj_val *r)
{
    cj_val q, rl, v = reduced_pair(m, a[0], &rl, &q);
    r[0] = tangent(m, v, rl, q);
}

/* ---- Of pi x: every step of the reduction is exact ----------------------------------------------------------- */

static cj_val reduced_pi(cji_math *m, cj_val x, cj_val *q)
{
    cj_val high, n = MUL_D(x, D(0.5));
    n = OP(rint_d, n);
    cj_val y = FMA_D(n, D(-2.0), x);
    cj_val t = FMA_D(y, D(2.0), D(SHIFT_D));
    cj_val j = SUB_D(t, D(SHIFT_D));
    cji_m_split(m, t, q, &high);
    return FMA_D(j, D(-0.5), y);
}

/* sin(pi (f + q / 2)); zeros are +0.  The sine has one coefficient less. */
static cj_val sine_pi(cji_math *m, cj_val f, cj_val q)
{
    cj_val k[6], low, high, odd = AND(q, U(1)), row = cji_m_row(m, CJI_MATH_SINCOSPI64, odd, 64);
    for (unsigned i = 0; i < 6; i += 2) cji_m_load_d2(m, CJI_MATH_SINCOSPI64, row, i, &k[i], &k[i + 1]);
    cj_val cosine = OP(ne_u, odd, U(0));
    cj_val last = SEL_D(cosine, D(SINCOSPI64_LAST), D(0.0));
    cj_val pi = SEL_D(cosine, D(1.0), D(0x1.921fb54442d18p1));
    cj_val rest = SEL_D(cosine, D(0.0), D(0x1.1a62633145c07p-53));
    cj_val z = MUL_D(f, f);
    cj_val b = SEL_D(cosine, D(1.0), f);
    cj_val sign = SHL(q, U(30));
    sign = AND(sign, U(0x80000000u));
    cji_m_split(m, b, &low, &high);
    high = XOR(high, sign);
    b = PAIR(low, high);
    cj_val p = FMA_D(last, z, k[5]);
    for (unsigned i = 5; i-- > 0;) p = FMA_D(p, z, k[i]);
    p = FMA_D(p, z, rest);
    p = FMA_D(p, b, D(0.0));                            /* never -0, and so is the next sum */
    return FMA_D(b, pi, p);
}

static cj_val with_sign_d(cji_math *m, cj_val y, cj_val x)
{
    cj_val sign = OP(and_w, x, U(0x8000000000000000u));
    return OP(xor_w, y, sign);
}

void cji_math_sinpi_f64(cji_math *m, const cj_val *a, cj_val *r)
{
    cj_val q, f = reduced_pi(m, ABS_D(a[0]), &q), y = sine_pi(m, f, q);
    r[0] = with_sign_d(m, y, a[0]);
}

void cji_math_cospi_f64(cji_math *m, const cj_val *a, cj_val *r)
{
    cj_val q, f = reduced_pi(m, a[0], &q);
    q = OP(add_u, q, U(1));
    r[0] = sine_pi(m, f, q);
}

/* Both polynomials are computed, and change places where the quadrant is odd. */
void cji_math_sincospi_f64(cji_math *m, const cj_val *a, cj_val *r)
{
    cj_val q, x = a[0], f = reduced_pi(m, x, &q), z = MUL_D(f, f);
    cj_val s = POLY_D(z, -0x1.6f1cc0b346fa5p-16, 0x1.e8f9020291672p-12, -0x1.e3075a5019d1cp-8, 0x1.50783490f1be5p-4,
                      -0x1.32d2cce6337eap-1, 0x1.466bc6775ab46p1, -0x1.4abbce625be53p2, 0x1.1a62633145c07p-53);
    s = MUL_D(s, f);
    s = FMA_D(f, D(0x1.921fb54442d18p1), s);
    cj_val c = POLY_D(z, -0x1.b1673f09c707fp-14, 0x1.f9c89cce8e2d6p-10, -0x1.a6d1e7297d362p-6, 0x1.e1f5067b90e22p-3,
                      -0x1.55d3c7e3c325cp0, 0x1.03c1f081b5a67p2, -0x1.3bd3cc9be45dep2, 1.0);
    cj_val odd = AND(q, U(1));
    odd = OP(ne_u, odd, U(0));
    cj_val v = SEL_D(odd, c, s), w = SEL_D(odd, s, c), turned = SHL(q, U(30));
    v = turned_d(m, v, turned);
    cj_val whole = EQ_D(v, D(0.0));
    WHEN(whole, v) = MUL_D(x, D(0.0));
    r[0] = v;
    turned = OP(add_u, turned, U(0x40000000u));
    w = turned_d(m, w, turned);
    r[1] = ADD_D(w, D(0.0));                       /* zeros are +0 */
}

/* Zeros are +0 and -0 in turn, and so are the infinities. */
void cji_math_tanpi_f64(cji_math *m, const cj_val *a, cj_val *r)
{
    cj_val q, f = reduced_pi(m, ABS_D(a[0]), &q), v = MUL_D(f, D(0x1.921fb54442d18p1)), nv = NEG_D(v);
    cj_val rl = FMA_D(f, D(0x1.921fb54442d18p1), nv);
    rl = FMA_D(f, D(0x1.1a62633145c07p-53), rl);
    cj_val t = tangent(m, v, rl, q);
    cj_val sign = SHR(q, U(1));
    sign = SHL(sign, U(31));
    cj_val odd = AND(q, U(1));
    cj_val pole = OP(mad_u, odd, U(0x7ff00000), sign);
    pole = PAIR(U(0), pole);
    t = SEL_D(EQ_D(f, D(0.0)), pole, t);
    r[0] = with_sign_d(m, t, a[0]);
}
