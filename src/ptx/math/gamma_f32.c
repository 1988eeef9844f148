/* The gamma function and its logarithm in f32. */
#include "ptx/math/power_f32.h"

static cj_val used(cji_math *m, cji_math_part part, cj_val x)
{
    cj_val r[CJI_MATH_ARGS];
    cji_math_use(m, part, &x, r);
    return r[0];
}

/* lgamma(x) for x > 0 with l = log(x): below 1.5 in u around 1, or of x below 0.5, where log(x) goes off; to 3 in t
 * around 2; then Stirling's series in 1 / x. */
static cj_val log_gamma(cji_math *m, cj_val x, cj_val l)
{
    cj_val v = RCP(x), z = MUL(v, v);
    cj_val p = POLY(z, -0x1.ddd79cp-12f, 0x1.9b87e2p-11f, -0x1.6c10a2p-9f, 0x1.555556p-4f);
    p = FMA(p, v, F(0x1.acfe3ap-2f));               /* log(2 pi) / 2 - 1 / 2 */
    cj_val less = ADD(l, F(-1.f));
    cj_val h = ADD(x, F(-0.5f));
    p = FMA(h, less, p);
    cj_val t = ADD(x, F(-2.f));
    cj_val q = POLY(t, 0x1.a00c42p-15f, -0x1.cf3f08p-13f, 0x1.1bce3ap-11f, -0x1.3bc1e2p-10f, 0x1.7a0b66p-9f,
                    -0x1.e3d61ep-8f, 0x1.513450p-6f, -0x1.13e034p-4f, 0x1.4a34ccp-2f, 0x1.b0ee60p-2f);
    cj_val middle = LT(x, F(3.f));
    WHEN(middle, p) = MUL(q, t);
    cj_val small = LT(x, F(0.5f));
    cj_val u = ADD(x, F(-1.f));
    WHEN(small, u) = OP(mov, x);
    cj_val w = POLY(u, 0x1.472ac0p-3f, -0x1.776b4cp-3f, 0x1.43de92p-4f, -0x1.4e2886p-4f, 0x1.056d62p-3f,
                    -0x1.2f7050p-3f, 0x1.5b292ap-3f, -0x1.a836e0p-3f, 0x1.15123cp-2f, -0x1.9a4ec4p-2f, 0x1.a51a6ap-1f,
                    -0x1.2788d0p-1f, 0.f);
    WHEN(small, w) = SUB(w, l);
    cj_val least = LT(x, F(1.5f));
    return SEL(least, w, p);
}

/* Negative x: log(pi / (a |sin(pi a)|)) - lgamma(a) with a = -x. */
void cji_math_lgamma_f32(cji_math *m, const cj_val *a, cj_val *r)
{
    cj_val x = a[0], size = ABS(x);
    cj_val l = cji_math_log_of_positive(m, size);
    cj_val v = log_gamma(m, size, l);
    cj_val negative = LT(x, F(0.f));
    IF(negative) {
        cj_val s = used(m, CJI_MATH_sinpi_f32, size);
        s = ABS(s);
        cj_val k = MUL(s, size);
        k = MUL(k, F(0x1.45f306p-2f));
        k = cji_math_log_of_normal(m, k);           /* of others v is chosen below */
        k = NEG(k);
        INTO(v) = SUB(k, v);
        cj_val tiny = LT(size, F(0x1p-30f));
        WHEN(tiny, v) = NEG(l);
        cj_val pole = EQ(s, F(0.f));
        WHEN(pole, v) = OP(mov_u, U(INFINITY_U));
    } ENDIF
    cj_val twice = ADD(size, size);
    cj_val infinite = EQ(twice, size);              /* zero and infinity */
    WHEN(infinite, v) = OP(mov_u, U(INFINITY_U));
    r[0] = v;
}

/* |x| >= 3.5: 2^(w log2(a) - a log2(e) + ...) by Stirling, the exponent in two parts; for negative x its sign turned,
 * and divided by a sin(pi a) / -pi. */
static cj_val gamma_far(cji_math *m, cj_val x, cj_val *scale, cj_val *den, cj_val *pole)
{
    cj_val high, low, size = ABS(x);
    size = OP(min, size, F(64.f));
    cji_math_log2_pair(m, size, &high, &low);
    cj_val w = ADD(size, F(-0.5f));
    cj_val v = RCP(size), z = MUL(v, v);
    cj_val p = POLY(z, 0x1.9b87e2p-11f, -0x1.6c10a2p-9f, 0x1.555556p-4f);
    cj_val h1 = MUL(w, high);
    cj_val nh1 = NEG(h1);
    cj_val l1 = FMA(w, high, nh1);
    l1 = FMA(w, low, l1);
    cj_val h2 = MUL(size, F(-0x1.715476p0f));
    cj_val nh2 = NEG(h2);
    cj_val l2 = FMA(size, F(-0x1.715476p0f), nh2);
    l2 = FMA(size, F(-0x1.4ae0cp-26f), l2);
    cj_val h = ADD(h1, h2);
    cj_val l = SUB(h1, h);
    l = ADD(l, h2);
    l1 = ADD(l1, l2);
    l = ADD(l, l1);
    p = MUL(p, v);
    p = FMA(p, F(0x1.715476p0f), F(0x1.4d90e6p-2f)); /* log2 sqrt(2 pi) = 1 + this constant: the 1 goes to the scale */
    l = ADD(l, p);
    cj_val negative = OP(lt_s, x, U(0));
    WHEN(negative, h) = NEG(h);
    WHEN(negative, l) = NEG(l);
    cj_val c = SEL(negative, F(SHIFT_F + 1.f), F(SHIFT_F + 3.f));
    cj_val t = OP(fma_sat, h, F(0x1.051980p-8f), F(0x1.fdf5cep-2f)); /* (h + 125) / 251 */
    t = FMA(t, F(251.f), c);
    cj_val j = SUB(t, c);
    j = SUB(F(125.f), j);
    cj_val f = ADD(h, j);
    f = ADD(f, l);
    cj_val num = EX2(f);
    *scale = SHL(t, U(23));
    cj_val s = used(m, CJI_MATH_sinpi_f32, ABS(x));
    WHEN(negative, num) = MUL(num, F(-0x1.921fb6p1f));
    *den = OP(mov, F(1.f));
    WHEN(negative, *den) = MUL(s, size);
    *pole = EQ(s, F(0.f));
    *pole = OP(and_p, *pole, negative);
    return num;
}

/* |x| < 3.5: x = n + u, 1 / Gamma(1 + u) by a polynomial, then the recurrence.  One division serves both sides, and
 * the power of two comes after it, so that subnormal results are rounded once. */
void cji_math_tgamma_f32(cji_math *m, const cj_val *a, cj_val *r)
{
    cj_val x = a[0], size = ABS(x);
    cj_val num = OP(mov, F(1.f)), den = OP(mov, F(1.f)), scale = OP(mov, F(1.f));
    cj_val near = LT(size, F(3.5f));
    IF(near) {
        cj_val n = ADD(x, F(SHIFT_F));
        n = SUB(n, F(SHIFT_F));
        cj_val u = SUB(x, n);
        cj_val g = POLY(u, -0x1.2641eap-10f, 0x1.cfd03ap-8f, -0x1.3b5474p-7f, -0x1.596ebep-5f, 0x1.5511eap-3f,
                        -0x1.581b1cp-5f, -0x1.4fcf4p-1f, 0x1.2788d2p-1f, 1.f);
        cj_val p = GT(n, F(1.f));
        WHEN(p, num) = ADD(x, F(-1.f));
        p = GT(n, F(2.f));
        cj_val k = ADD(x, F(-2.f));
        WHEN(p, num) = MUL(num, k);
        p = LT(n, F(1.f));
        WHEN(p, g) = MUL(g, x);
        cj_val below = LT(n, F(0.f));
        k = ADD(x, F(1.f));
        WHEN(below, g) = MUL(g, k);
        p = LT(n, F(-1.f));
        k = ADD(x, F(2.f));
        WHEN(p, g) = MUL(g, k);
        p = LT(n, F(-2.f));
        k = ADD(x, F(3.f));
        WHEN(p, g) = MUL(g, k);
        cj_val pole = EQ(g, F(0.f));                /* a negative whole number; zero gives infinity */
        pole = BOTH(pole, below);
        WHEN(pole, num) = OP(mov_u, U(NAN_U));
        INTO(den) = OP(mov, g);
    } ELSE {
        cj_val s, d, pole, v = gamma_far(m, x, &s, &d, &pole);
        INTO(num) = OP(mov, v);
        WHEN(pole, num) = OP(mov_u, U(NAN_U));
        cj_val nan = OP(ne, x, x);
        WHEN(nan, num) = OP(mov, x);
        INTO(den) = OP(mov, d);
        INTO(scale) = OP(mov, s);
    } ENDIF
    cj_val v = DIV(num, den);
    r[0] = MUL(v, scale);
}
