/* e^x, the logarithm, sine and cosine in f32, correctly rounded: in f64, where each has an error below 2 ulp, and
 * rounded once.  All 2^32 operands were compared: where the f64 result is on the wrong side of the middle of two
 * numbers, the operand is listed. */
#include "ptx/math/exp_f64.h"
#include "ptx/math/log_f64.h"

/* The operands whose f64 result is rounded to the wrong side, and the right one. */
typedef struct listed { uint32_t operand, result; } listed;

static cj_val corrected(cji_math *m, cj_val operand, cj_val y, const listed *l, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        cj_val here = OP(eq_u, operand, U(l[i].operand));
        WHEN(here, y) = OP(mov_u, U(l[i].result));
    }
    return y;
}

/* (e^f - 1) / f has degree 10, as in exp_f64; the coefficients that all operands were compared with. */
static cj_val exp_compared(cji_math *m, cj_val f)
{
    return POLY_D(f, 0x1.ae7760de6183ap-26, 0x1.28a28af0c875p-22, 0x1.71de8113a9852p-19, 0x1.a019a6a56100fp-16,
                  0x1.a01a0177ef997p-13, 0x1.6c16c17f2dfb3p-10, 0x1.1111111118834p-7, 0x1.555555555210fp-5,
                  0x1.555555555553bp-3, 0x1.0000000000005p-1, 1.0, 1.0);
}

void cji_math_exp_rounded_f32(cji_math *m, const cj_val *a, cj_val *r)
{
    cj_val x = AT_LEAST(a[0], -110.f);
    x = AT_MOST(x, 100.f);
    cj_val d = OP(d_of_f, x);
    cj_val t = FMA_D(d, D(0x1.71547652b82fep0), D(SHIFT_D));
    cj_val j = SUB_D(t, D(SHIFT_D));
    cj_val f = FMA_D(j, D(-0x1.62e42fefa39efp-1), d);
    f = FMA_D(j, D(-0x1.abc9e3b39803fp-56), f);
    cj_val p = exp_compared(m, f);
    cj_val k = LOW(t);
    k = OP(mad_u, k, U(1 << 20), U(0x3ff00000));
    p = MUL_D(p, PAIR(U(0), k));
    r[0] = OP(f_of_d, p);
}

/* As log_f64, but no f32 is subnormal in f64, and the quotient is exact: approximate reciprocals differ by device. */
void cji_math_log_rounded_f32(cji_math *m, const cj_val *a, cj_val *r)
{
    static const listed l[] = { { 0x3c413d3a, 0xc08e158f }, { 0x41178feb, 0x400fe5e7 }, { 0x4c5d65a5, 0x418f034b },
                                { 0x65d890d3, 0x4254d1f9 }, { 0x6f31a8ec, 0x42845a89 } };
    cj_val low, high, d = OP(d_of_f, a[0]);
    cji_m_split(m, d, &low, &high);
    cj_val i = OP(sub_u, high, U(0x3fe6a09e));
    cj_val k = OP(shr_s, i, U(20));
    i = AND(i, U(0xfff00000));
    high = OP(sub_u, high, i);
    d = PAIR(low, high);
    cj_val e = OP(d_of_s, k);
    cj_val f = SUB_D(d, D(1.0));
    d = ADD_D(d, D(1.0));
    cj_val s = DIV_D(f, d);
    cj_val z = MUL_D(s, s);
    cj_val p = cji_math_log_tail(m, z);
    cj_val h = MUL_D(f, D(0.5));
    h = MUL_D(h, f);
    cj_val v = FMA_D(p, z, h);
    cj_val last = MUL_D(e, D(0x1.abc9e3b39803fp-56));
    v = FMA_D(s, v, last);
    v = SUB_D(h, v);
    v = SUB_D(f, v);
    v = FMA_D(e, D(0x1.62e42fefa39efp-1), v);
    cj_val y = OP(f_of_d, v);
    y = corrected(m, a[0], y, l, sizeof l / sizeof *l);
    i = OP(sub_u, a[0], U(1));
    cj_val special = OP(ge_u, i, U(0x7f7fffff));
    WHEN(special, y) = OP(lg2_all, a[0]);
    r[0] = y;
}

/* For x >= 2^50: j's low bits and r, with 96 bits behind the point. */
void cji_math_trig_huge_f32(cji_math *m, const cj_val *a, cj_val *r)
{
    cj_val x = a[0];
    cj_val e = SHR(x, U(23));
    e = OP(sub_u, e, U(128));
    cj_val k = SHL(x, U(8));
    k = OR(k, U(0x80000000));
    cj_val row = cji_m_row(m, CJI_MATH_TWO_OVER_PI, SHR(e, U(5)), 4);
    cj_val w0 = cji_m_load_u(m, CJI_MATH_TWO_OVER_PI, row, 0);
    cj_val w1 = cji_m_load_u(m, CJI_MATH_TWO_OVER_PI, row, 1);
    cj_val w2 = cji_m_load_u(m, CJI_MATH_TWO_OVER_PI, row, 2);
    cj_val w3 = cji_m_load_u(m, CJI_MATH_TWO_OVER_PI, row, 3);
    cj_val w4 = cji_m_load_u(m, CJI_MATH_TWO_OVER_PI, row, 4);
    cj_val p3 = OP(shf_l, w1, w0, e);
    cj_val p2 = OP(shf_l, w2, w1, e);
    cj_val p1 = OP(shf_l, w3, w2, e);
    cj_val p0 = OP(shf_l, w4, w3, e);
    cj_val low, mid, high = OP(mul_u, k, p3);
    cj_val rest = OP(mul_hi_u, k, p0);
    cj_val v = OP(mad_wide_u, k, p1, OP(w_of_u, rest));
    cji_m_split(m, v, &low, &mid);
    v = PAIR(mid, high);
    v = OP(mad_wide_u, k, p2, v);
    cj_val n = HIGH(v);
    n = OP(add_u, n, U(0x20000000));
    r[1] = SHR(n, U(30));
    v = OP(shl_w, v, U(2));
    cj_val d = OP(d_of_x, v);
    cj_val l = OP(d_of_u, low);
    d = FMA_D(l, D(0x1p-30), d);
    r[0] = MUL_D(d, D(0x1.921fb54442d18p-64));
}

/* The sine of x >= 0 and quarter turns, as f64 has it and rounded: the nearest but for a few operands. */
static cj_val wave(cji_math *m, cj_val size, unsigned first)
{
    cj_val c[7], d = OP(d_of_f, size);
    cj_val t = FMA_D(d, D(0x1.45f306dc9c883p-1), D(SHIFT_D));
    cj_val j = SUB_D(t, D(SHIFT_D));
    cj_val v = FMA_D(j, D(-0x1.921fb54442d18p0), d);
    v = FMA_D(j, D(-0x1.1a62633145c06p-54), v);
    v = FMA_D(j, D(-0x1.c1cd129024e09p-107), v);
    cj_val q = LOW(t);
    cj_val huge = OP(ge_u, size, U(0x58800000));
    IF(huge) {
        cj_val two[CJI_MATH_ARGS];
        cji_math_use(m, CJI_MATH_trig_huge_f32, &size, two);
        INTO(v) = OP(mov_d, two[0]);
        INTO(q) = OP(mov_u, two[1]);
    } ENDIF
    if (first) q = OP(add_u, q, U(first));
    cj_val odd = AND(q, U(1));
    cj_val row = cji_m_row(m, CJI_MATH_SINCOS64, odd, 48), cosine = OP(ne_u, odd, U(0));
    for (unsigned i = 0; i < 6; i += 2) cji_m_load_d2(m, CJI_MATH_SINCOS64, row, i, &c[i], &c[i + 1]);
    c[6] = SEL_D(cosine, D(SINCOS64_LAST), D(0.0));
    cj_val z = MUL_D(v, v);
    cj_val b = SEL_D(cosine, D(1.0), v);
    cj_val p = FMA_D(c[6], z, c[5]);
    for (unsigned i = 5; i-- > 0;) p = FMA_D(p, z, c[i]);
    cj_val u = MUL_D(z, b);
    v = FMA_D(p, u, b);
    cj_val y = OP(f_of_d, v);
    cj_val sign = SHL(q, U(30));
    sign = AND(sign, U(0x80000000));
    y = XOR(y, sign);
    cj_val none = OP(ge_u, size, U(INFINITY_U));
    WHEN(none, y) = OP(mov_u, U(NAN_U));
    return y;
}

void cji_math_sin_wave_f32(cji_math *m, const cj_val *a, cj_val *r) { r[0] = wave(m, a[0], 0); }
void cji_math_cos_wave_f32(cji_math *m, const cj_val *a, cj_val *r) { r[0] = wave(m, a[0], 1); }

void cji_math_sin_rounded_f32(cji_math *m, const cj_val *a, cj_val *r)
{
    static const listed l[] = { { 0x46199998, 0xbeb1fa5d } };
    cj_val size = ABS(a[0]), y = wave(m, size, 0);
    y = corrected(m, size, y, l, sizeof l / sizeof *l);
    cj_val sign = AND(a[0], U(0x80000000));
    r[0] = XOR(y, sign);
}

void cji_math_cos_rounded_f32(cji_math *m, const cj_val *a, cj_val *r)
{
    static const listed l[] = { { 0x5f18b878, 0x3f7f14bb }, { 0x6115cb11, 0x3f78142f } };
    cj_val size = ABS(a[0]), y = wave(m, size, 1);
    r[0] = corrected(m, size, y, l, sizeof l / sizeof *l);
}
