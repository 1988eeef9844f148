/* Powers in f32: 2^(y log2|x|) with the logarithm and the product in two parts each. */
#include "ptx/math/power_f32.h"

/* log2 of x = m 2^e with m in sqrt(1/2)..sqrt(2), by r = (m - 1) / (m + 1) with its remainder: the term of r and that
 * of r^3 with their rounding errors, the tail plain. */
void cji_math_log2dd_f32(cji_math *m, const cj_val *a, cj_val *r)
{
    cj_val x = a[0], subnormal = LT(x, F(0x1p-126f));
    cj_val xs = OP(mov, x);
    WHEN(subnormal, xs) = MUL(x, F(0x1p24f));
    cj_val less = SEL(subnormal, F(-24.f), F(0.f));
    cj_val i = OP(sub_u, xs, U(0x3f3504f3));
    i = AND(i, U(0xff800000));
    cj_val y = OP(sub_u, xs, i);
    cj_val e = OP(f_of_s, i);
    e = FMA(e, F(0x1p-23f), less);
    cj_val d = ADD(y, F(1.f));
    cj_val n = ADD(y, F(-1.f));
    cj_val rc = RCP(d);
    cj_val rh = MUL(n, rc);
    cj_val dl = ADD(d, F(-1.f));
    dl = SUB(y, dl);                                /* what m + 1 lost */
    cj_val nrh = NEG(rh);
    cj_val rl = FMA(nrh, d, n);
    rl = FMA(nrh, dl, rl);
    rl = MUL(rl, rc);
    cj_val z = MUL(rh, rh);
    cj_val p = POLY(z, 0x1.5902f6p-2f, 0x1.a5cad4p-2f, 0x1.2776e8p-1f, 0x1.ec709ep-1f);
    cj_val th = MUL(rh, F(0x1.715476p1f));
    cj_val nz = NEG(z);
    cj_val zl = FMA(rh, rh, nz);
    cj_val u = MUL(p, z);
    cj_val nu = NEG(u);
    cj_val ul = FMA(p, z, nu);
    ul = FMA(p, zl, ul);
    cj_val nth = NEG(th);
    cj_val tl = FMA(rh, F(0x1.715476p1f), nth);
    tl = FMA(rh, F(0x1.4ae0cp-25f), tl);
    cj_val slope = FMA(u, F(3.f), F(0x1.715476p1f));
    tl = FMA(rl, slope, tl);
    tl = FMA(ul, rh, tl);
    tl = FMA(u, rh, tl);
    cj_val sh = ADD(e, th);
    cj_val sl = SUB(sh, e);
    sl = SUB(th, sl);
    sl = ADD(sl, tl);
    cj_val high = ADD(sh, sl);
    r[0] = high;
    high = SUB(high, sh);
    r[1] = SUB(sl, high);
}

void cji_math_log2_pair(cji_math *m, cj_val x, cj_val *high, cj_val *low)
{
    cj_val r[CJI_MATH_ARGS];
    cji_math_use(m, CJI_MATH_log2dd_f32, &x, r);
    *high = r[0];
    *low = r[1];
}

/* 2^(high + low), as exp_f32 has it. */
static cj_val two_to_the(cji_math *m, cj_val high, cj_val low)
{
    cj_val t = OP(fma_sat, high, F(0x1.03091cp-8f), F(0x1.fdf9eep-2f));
    t = FMA(t, F(253.f), F(SHIFT_F + 1.f));
    cj_val nj = SUB(F(SHIFT_F + 127.f), t);
    cj_val f = ADD(high, nj);
    f = ADD(f, low);
    f = EX2(f);
    t = SHL(t, U(23));
    return MUL(f, t);
}

/* Is a magnitude 0, infinite or NaN? */
static cj_val is_special(cji_math *m, cj_val size)
{
    cj_val i = OP(sub_u, size, U(1));
    return OP(ge_u, i, U(0x7f7fffff));
}

/* Special values are behind a branch: x that is negative, 0, infinite or NaN, and y that is NaN. */
void cji_math_pow_f32(cji_math *m, const cj_val *a, cj_val *r)
{
    cj_val x = a[0], y = a[1], size = ABS(x), high, low;
    cji_math_log2_pair(m, size, &high, &low);
    cj_val yc = OP(max, y, F(-0x1p100f));
    yc = OP(min, yc, F(0x1p100f));
    cj_val h = MUL(yc, high);
    cj_val nh = NEG(h);
    cj_val l = FMA(yc, high, nh);
    l = FMA(yc, low, l);
    cj_val v = two_to_the(m, h, l);
    cj_val nan = OP(nan, y, y), rare = EITHER(is_special(m, x), nan);
    IF(rare) {
        cj_val pair = MUL(y, F(0.5f));
        pair = OP(trunc, pair);
        cj_val rest = FMA(pair, F(-2.f), y);        /* of 2: 1 for odd y, 0 for even; NaN for infinite */
        cj_val negative = OP(lt_s, x, U(0));
        cj_val none = BOTH(GT(ABS(rest), F(0.f)), OP(ne, ABS(rest), F(1.f)));
        none = BOTH(none, negative);
        nan = BOTH(nan, OP(ne, x, F(1.f)));
        none = EITHER(none, nan);
        WHEN(none, v) = OP(mov_u, U(NAN_U));
        cj_val inverse = LT(y, F(0.f)), twice = ADD(size, size), special = OP(equ, twice, size);
        WHEN(inverse, size) = RCP(size);            /* 0 and infinity change places */
        special = BOTH(special, GT(ABS(y), F(0.f)));
        WHEN(special, v) = OP(mov, size);
        cj_val odd = EQ(ABS(rest), F(1.f));
        odd = BOTH(odd, negative);
        WHEN(odd, v) = NEG(v);
    } ENDIF
    r[0] = v;
}

/* x^n: n is high + rest exactly. */
void cji_math_pown_f32(cji_math *m, const cj_val *a, cj_val *r)
{
    cj_val x = a[0], n = a[1], size = ABS(x), high, low;
    cji_math_log2_pair(m, size, &high, &low);
    cj_val y = OP(f_of_s_zero, n);
    cj_val rest = OP(s_of_f, y);
    rest = OP(sub_u, n, rest);
    rest = OP(f_of_s, rest);
    cj_val h = MUL(y, high);
    cj_val nh = NEG(h);
    cj_val l = FMA(y, high, nh);
    l = FMA(y, low, l);
    l = FMA(rest, high, l);
    cj_val v = two_to_the(m, h, l);
    cj_val special = is_special(m, size);
    cj_val inverse = OP(lt_s, n, U(0));
    WHEN(inverse, size) = XOR(size, U(INFINITY_U));
    v = SEL(special, size, v);
    cj_val sign = SHL(n, U(31));
    sign = AND(sign, x);                            /* the sign of an odd power */
    v = OR(v, sign);
    cj_val nan = OP(ne, x, x);
    WHEN(nan, v) = OP(mov, x);
    cj_val zero = OP(eq_u, n, U(0));
    WHEN(zero, v) = OP(mov, F(1.f));
    r[0] = v;
}
