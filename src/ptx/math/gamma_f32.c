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
    cj_val p = POLY(z, 0x1.6d474ap-11f, -0x1.6b6d46p-9f, 0x1.555544p-4f);
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

/* lgamma outside 3 to 6.  Negative x: log(pi / (a |sin(pi a)|)) - lgamma(a) with a = -x. */
void cji_math_lgamma_rest_f32(cji_math *m, const cj_val *a, cj_val *r)
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

/* From 3 to 6 a polynomial around 4.5. */
void cji_math_lgamma_f32(cji_math *m, const cj_val *a, cj_val *r)
{
    cj_val x = a[0], t = ADD(x, F(-4.5f)), size = ABS(t);
    cj_val y = POLY(t, -0x1.20a06p-22f, 0x1.38ba5ep-20f, -0x1.4a8b8ep-18f, 0x1.f46c46p-16f, -0x1.86b3fep-13f,
                    0x1.4b484ap-10f, -0x1.502c7ep-7f, 0x1.fd6382p-4f, 0x1.638d0ap0f, 0x1.3a140ap1f);
    cj_val rest = OP(gtu, size, F(1.5f));
    IF(rest) {
        cj_val v = used(m, CJI_MATH_lgamma_rest_f32, x);
        INTO(y) = OP(mov, v);
    } ENDIF
    r[0] = y;
}

/* sin(pi x) / pi for x > 0 */
static cj_val sine_over_pi_f32(cji_math *m, cj_val x)
{
    cj_val h = MUL(x, F(0.5f));
    h = OP(rint, h);
    cj_val y = FMA(h, F(-2.f), x), t = ADD(y, F(SHIFT_F)), j = SUB(t, F(SHIFT_F));
    y = SUB(y, j);
    cj_val z = MUL(y, y), p = POLY(z, 0x1.951856p-6f, -0x1.860948p-3f, 0x1.9f994cp-1f, -0x1.a51a5ap0f);
    z = MUL(z, y);
    y = FMA(p, z, y);
    return XOR(y, SHL(t, U(31)));
}

/* |x| >= 3: Gamma(b) = Gamma(n) 2^f near the whole number n, by the row of n, where b = |x|; 42 stands for what is
 * beyond.  Of negative x the result is -1 / (b Gamma(b) sin(pi b) / pi). */
static cj_val gamma_far(cji_math *m, cj_val x, cj_val size)
{
    cj_val k[8], b = OP(min, size, F(42.f)), t = ADD(b, F(SHIFT_F - 3.f));
    cj_val n = SUB(t, F(SHIFT_F - 3.f)), u = SUB(b, n);
    cj_val row = cji_m_row(m, CJI_MATH_GAMMA, AND(t, U(63)), sizeof(float));
    for (unsigned i = 0; i < 8; i++) k[i] = cji_m_load_u(m, CJI_MATH_GAMMA, row, i * CJI_MATH_GAMMA_ROWS);
    cj_val p = FMA(k[0], u, k[1]);
    for (unsigned i = 2; i < 6; i++) p = FMA(p, u, k[i]);
    p = MUL(p, u);
    cj_val f = FMA(k[6], u, p), power = EX2(f), v = MUL(power, k[7]), y = MUL(v, F(0x1p64f)), negative = LT(x, F(0.f));
    IF(negative) {                                  /* each product with what it is rounded by */
        cj_val s = sine_over_pi_f32(m, size), less = NEG(f), low = FMA(k[6], u, less);
        low = ADD(low, p);
        low = MUL(low, F(0x1.62e43p-1f));
        less = NEG(v);
        cj_val rest = FMA(power, k[7], less);
        rest = FMA(v, low, rest);
        cj_val k1 = MUL(size, v);
        less = NEG(k1);
        low = FMA(size, v, less);
        rest = FMA(size, rest, low);
        cj_val den = MUL(k1, s);
        less = NEG(den);
        low = FMA(k1, s, less);
        rest = FMA(rest, s, low);
        cj_val rc = RCP(den), e = FMA(rc, den, F(-1.f));
        e = FMA(rc, rest, e);
        less = NEG(rc);
        cj_val q = FMA(rc, e, less);
        INTO(y) = MUL(q, F(0x1p-64f));              /* subnormal results are rounded once; a pole is NaN */
    } ENDIF
    return y;
}

/* Gamma(1.5 + u) of x = n + 1/2 + u by a polynomial, then the recurrence down from x, or up to it. */
void cji_math_tgamma_f32(cji_math *m, const cj_val *a, cj_val *r)
{
    cj_val x = a[0], size = ABS(x), y = OP(mov, x), far = GE(size, F(3.f));
    IF(far) {
        cj_val v = gamma_far(m, x, size);
        INTO(y) = OP(mov, v);
    } ELSE {
        cj_val h = ADD(x, F(-0.5f)), n = ADD(h, F(SHIFT_F));
        n = SUB(n, F(SHIFT_F));
        cj_val u = SUB(h, n);
        cj_val g = POLY(u, 0x1.13ab5ep-6f, -0x1.8467b2p-6f, 0x1.8a915cp-6f, -0x1.29391p-5f, 0x1.e2455cp-5f,
                        -0x1.3e52dap-4f, 0x1.2832a8p-3f, -0x1.b771aap-4f, 0x1.a8c4f8p-2f, 0x1.08ea4ep-5f,
                        0x1.c5bf8ap-1f);
        cj_val p = GT(n, F(1.f)), k = ADD(x, F(-1.f));
        WHEN(p, g) = MUL(g, k);
        INTO(y) = OP(mov, g);
        cj_val small = LT(n, F(1.f));
        IF(small) {
            cj_val den = OP(mov, x), below = LT(n, F(0.f));
            k = ADD(x, F(1.f));
            WHEN(below, den) = MUL(den, k);
            p = LT(n, F(-1.f));
            k = ADD(x, F(2.f));
            WHEN(p, den) = MUL(den, k);
            p = LT(n, F(-2.f));
            k = ADD(x, F(3.f));
            WHEN(p, den) = MUL(den, k);
            INTO(y) = DIV(g, den);                  /* of zero infinity */
            cj_val pole = EQ(den, F(0.f));
            pole = BOTH(pole, below);
            WHEN(pole, y) = OP(mov_u, U(NAN_U));
        } ENDIF
    } ENDIF
    r[0] = y;
}
