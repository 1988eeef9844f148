/* The error function and its complement in f64. */
#include "ptx/math/exp_f64.h"
#include "ptx/math/log_f64.h"

/* Below 1 a polynomial, above it 1 - 2^g with a polynomial g = log2 erfc.  2^g is a polynomial times a number of a
 * table. */
void cji_math_erf_f64(cji_math *m, const cj_val *a, cj_val *r)
{
    cj_val low, high, x = a[0], v = OP(mov_d, x);
    cji_m_split(m, x, &low, &high);
    high = ABS(high);
    IF(OP(lt, high, F(0x1.ep0f))) {                     /* the high word, as f32, is that of less than 1 */
        cj_val z = MUL_D(x, x);
        cj_val p = POLY_D(z, -0x1.ab15cp-31, 0x1.d6e3ep-27, -0x1.5bfe7p-23, 0x1.b97e4p-20, -0x1.f4ca1f318f2b9p-17,
                          0x1.f9a2b72d05776p-14, -0x1.c02db0114bab9p-11, 0x1.565bccf7b92cep-8, -0x1.b82ce311ebc4bp-6,
                          0x1.ce2f21a0407dp-4, -0x1.812746b0379afp-2, 0x1.06eba8214db68p-3);
        INTO(v) = FMA_D(p, x, x);
    }
    ELSE {
        cj_val n, unused, large = GT_D(ABS_D(x), D(6.0));
        high = SEL(large, F(0x1.3p1f), high);           /* 6 and a little at most */
        cj_val c = PAIR(low, high);
        cj_val g = POLY_D(c, 0x1.b9b69p-36, -0x1.fc78p-31, 0x1.09dccp-26, -0x1.49c1bp-23, 0x1.058f4p-20,
                          -0x1.f9893p-19, 0x1.46cep-18, 0x1.5b1b573a869acp-15, -0x1.5f3e37e03f9cep-12);
        g = POLY_ON(g, ERF_FAR64, c);
        cj_val t = ADD_D(g, D(SHIFT_D / 16));           /* 16 g as a whole number in the low word */
        cj_val j = SUB_D(t, D(SHIFT_D / 16));
        cj_val f = SUB_D(g, j);
        cji_m_split(m, t, &n, &unused);
        /* 2^f for |f| <= 1/32, within 2^-56 */
        cj_val e = POLY_D(f, 0x1.43083p-13, 0x1.5d89cp-10, 0x1.3b2ab6fe19886p-7, 0x1.c6b08d6e88387p-5,
                          0x1.ebfbdff82c552p-3, 0x1.62e42fefa39fdp-1, 1.0);
        cj_val row = cji_m_row(m, CJI_MATH_EXP2_STEPS64, AND(n, U(15)), 8);
        cji_m_split(m, cji_m_load_w(m, CJI_MATH_EXP2_STEPS64, row, 0), &low, &high);
        high = OP(mad_u, n, U(1 << 16), high);          /* -2^j */
        e = FMA_D(e, PAIR(low, high), D(1.0));
        INTO(v) = OP(copysign_d, x, e);
    }
    ENDIF
    r[0] = v;
}

/* For b >= 0 the quotient q = (b - k) / (b + k); 1 / (b + k) into *inverse. */
static cj_val centered_quotient(cji_math *m, cj_val b, double k, cj_val *inverse)
{
    cj_val d = ADD_D(b, D(k));
    cj_val n = SUB_D(b, D(k));
    cj_val rc = OP(rcp_d, d);
    cj_val nrc = NEG_D(rc);
    cj_val e = FMA_D(rc, D(-k), D(1.0));
    e = FMA_D(nrc, b, e);
    e = FMA_D(e, e, e);
    cj_val v = FMA_D(rc, e, rc);
    cj_val q = MUL_D(n, v);
    cj_val nq = NEG_D(q);
    cj_val h = FMA_D(q, D(-k), n);
    h = FMA_D(nq, b, h);
    *inverse = v;
    return FMA_D(h, v, q);
}

/* e^(b^2) erfc b for b >= 0: its product with b + 4 is a polynomial of (b - 4) / (b + 4) up to infinity. */
static cj_val scaled_complement(cji_math *m, cj_val b)
{
    cj_val v, q = centered_quotient(m, b, 4.0, &v);
    cj_val p = POLY_D(q, -0x1.566fap-33, 0x1.5322dp-30, 0x1.3d2c6p-30, -0x1.08e4dp-26, -0x1.7ae1dp-30, 0x1.07da2p-23,
                      -0x1.38ee8p-24, -0x1.c52bep-21);
    p = POLY_ON(p, ERFCX64, q);
    return MUL_D(p, v);
}

/* g e^f with e^(s + l) = e^f 2^j, where l is small: of e^f only e^f - 1 is rounded before the product with g. */
static cj_val reduced_exponential(cji_math *m, cj_val g, cj_val s, cj_val l, cj_val *exponent)
{
    cj_val t = FMA_D(s, D(0x1.71547652b82fep0), D(SHIFT_D));
    cj_val j = SUB_D(t, D(SHIFT_D));
    cj_val f = FMA_D(j, D(-0x1.62e42fefa39efp-1), s);
    f = FMA_D(j, D(-0x1.abc9e3b39803fp-56), f);
    f = ADD_D(f, l);
    cj_val x = MUL_D(cji_math_expm1_tail(m, f), f);
    x = FMA_D(x, f, f);
    *exponent = LOW(t);
    return FMA_D(g, x, g);
}

/* The same of h b, with the rounding error of the product: *s is the product. */
static cj_val exponential_of_product(cji_math *m, cj_val g, cj_val h, cj_val b, cj_val *s, cj_val *exponent)
{
    *s = MUL_D(h, b);
    cj_val ns = NEG_D(*s);
    cj_val l = FMA_D(h, b, ns);
    return reduced_exponential(m, g, *s, l, exponent);
}

/* g e^(h b), which is subnormal or 0 where the product is below -700. */
static cj_val with_square(cji_math *m, cj_val g, cj_val h, cj_val b)
{
    cj_val s, j, p = exponential_of_product(m, g, h, b, &s, &j);
    return cji_math_scaled(m, p, j, s, 700.0, 800.0);
}

void cji_math_erfc_f64(cji_math *m, const cj_val *a, cj_val *r)
{
    cj_val b = ABS_D(a[0]);
    cj_val g = scaled_complement(m, b);
    cj_val nb = NEG_D(b);
    g = with_square(m, g, nb, b);
    cj_val mirrored = SUB_D(D(2.0), g);
    r[0] = SEL_D(LT_D(a[0], D(0.0)), mirrored, g);
}

/* 1 / (b sqrt(pi)) (1 - 1 / (2 b^2) + 3 / (4 b^4) - 15 / (8 b^6)) for b >= 2^8; it may be subnormal. */
static cj_val far_scaled_complement(cji_math *m, cj_val b)
{
    cj_val q = DIV_D(D(0x1.20dd750429b6dp-1), b), z = MUL_D(q, q);
    /* 15/8 pi^3, 3/4 pi^2, pi/2 */
    cj_val c = POLY_D(z, -0x1.d1181a3a513a3p5, 0x1.d9bdb2e9d68cdp2, -0x1.921fb54442d18p0);
    z = MUL_D(z, c);
    return FMA_D(q, z, q);
}

/* Of negative numbers 2 e^(x^2) less that of -x. */
void cji_math_erfcx_f64(cji_math *m, const cj_val *a, cj_val *r)
{
    cj_val x = a[0], b = ABS_D(x), v = OP(mov_d, x);
    IF(BEYOND_D(x, 0x1p8)) {
        cj_val g = far_scaled_complement(m, b);
        INTO(v) = OP(mov_d, g);
    }
    ELSE {
        cj_val g = scaled_complement(m, b);
        INTO(v) = OP(mov_d, g);
    }
    ENDIF
    IF(OP(lt_s, HIGH(x), U(0))) {
        cj_val s, j, y = SEL_D(GT_D(b, D(26.63)), D(26.63), b); /* twice its exponential is infinite, itself is not */
        cj_val e = exponential_of_product(m, D(1.0), y, y, &s, &j), shifted = SHL(j, U(20)), nv = NEG_D(v);
        e = ADD_HIGH(e, shifted);
        INTO(v) = OP(fma_d, e, D(2.0), nv);
    }
    ENDIF
    r[0] = v;
}

/* Phi(-b) e^(b^2 / 2) (b + 5.5) is a polynomial of (b - 5.5) / (b + 5.5) for b up to 40.  It is one of b itself, not of
 * b / sqrt(2), which would be rounded. */
void cji_math_normcdf_f64(cji_math *m, const cj_val *a, cj_val *r)
{
    cj_val b = ABS_D(a[0]);
    cj_val v, q = centered_quotient(m, b, 5.5, &v);
    cj_val p = POLY_D(q, -0x1.0e261p-35, -0x1.6ce7fp-29, -0x1.81fd4p-28, 0x1.8da35p-26, 0x1.aff3fp-25, -0x1.7de69p-23,
                      -0x1.1f9e7p-22, 0x1.8e5d5p-20, 0x1.df584444e7f16p-22);
    p = POLY_ON(p, NORMCDF64, q);
    cj_val g = MUL_D(p, v);
    cj_val h = MUL_D(b, D(-0.5));
    g = with_square(m, g, h, b);
    cj_val mirrored = SUB_D(D(1.0), g);
    r[0] = SEL_D(GT_D(a[0], D(0.0)), mirrored, g);
}
