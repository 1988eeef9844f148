/* The gamma function and the logarithm of its magnitude in f64. */
#include "ptx/math/exp_f64.h"
#include "ptx/math/log_f64.h"

/* The sum of Stirling's series times x, of z = 1 / x^2, for x >= 3. */
static cj_val stirling_sum(cji_math *m, cj_val z)
{
    return POLY_ON(D(0x1.1743b66176d6cp-2), STIRLING64, z);
}

/* sin(pi f) / pi = result + *low for |f| <= 1/2 */
static cj_val sine_over_pi(cji_math *m, cj_val f, cj_val *low)
{
    cj_val z = MUL_D(f, f);
    cj_val p = POLY_OF(SINE_OVER_PI64, z);
    z = MUL_D(z, f);
    p = MUL_D(p, z);
    cj_val s = ADD_D(f, p);
    cj_val l = SUB_D(s, f);
    *low = SUB_D(p, l);
    return s;
}

/* log x = result + *low */
static cj_val log_pair(cji_math *m, cj_val x, cj_val *low)
{
    cj_val l[2] = { CJI_NULL };
    cji_math_use(m, CJI_MATH_pow_log_f64, &x, l);
    *low = l[1];
    return l[0];
}

/* (b - 1/2) (log b - 1) + log(2 pi) / 2 - 1/2 + s / b for b >= 3, as result + *low, with log b = lh + ll */
static cj_val far_log_gamma(cji_math *m, cj_val b, cj_val lh, cj_val ll, cj_val *low)
{
    cj_val v = cji_math_reciprocal(m, b), z = MUL_D(v, v), s = stirling_sum(m, z);
    s = FMA_D(s, v, D(0x1.acfe390c97d69p-2));
    cj_val less = SUB_D(lh, D(1.0));                    /* exact */
    cj_val top = ADD_D(less, ll);
    cj_val rest = SUB_D(top, less);
    rest = SUB_D(ll, rest);
    cj_val h = SUB_D(b, D(0.5));
    cj_val p = MUL_D(h, top);
    cj_val np = NEG_D(p);
    cj_val l = FMA_D(h, top, np);
    l = FMA_D(h, rest, l);
    l = ADD_D(l, s);
    *low = SEL_D(OP(ge_u, HIGH(p), U(0x7ff00000u)), D(0.0), l); /* where the product is infinite */
    return p;
}

/* Outside 3.5 to 6.  With b = |x|: log Gamma(b) is T - log k for b < 3, where T = log Gamma(2 + t) and
 *     t = b, k = b (b + 1) to 1/2;  t = b - 1, k = b to 3/2;  t = b - 2, k = 1
 * and for negative x the result is -T - log d with d = sin(pi b) / pi times 1 / (1 + b), 1 or b. */
void cji_math_lgamma_rest_f64(cji_math *m, const cj_val *a, cj_val *r)
{
    cj_val x = a[0], b = ABS_D(x), h = OP(mov_d, b), l = OP(mov_d, D(0.0)), d = OP(mov_d, b), dl = OP(mov_d, D(0.0));
    cj_val near = BELOW_D(x, 3.0), negative = OP(lt_s, HIGH(x), U(0));
    cj_val small = BELOW_D(x, 0.5), upper = BEYOND_D(x, 1.5), next = ADD_D(b, D(1.0));
    cj_val two = BOTH(near, upper);
    WHEN(two, d) = OP(mov_d, D(1.0));
    WHEN(small, d) = OP(mul_d, b, next);
    IF(negative) {
        cj_val low, f = SUB_D(b, OP(rint_d, b)), s = sine_over_pi(m, f, &low);
        cj_val k = cji_math_reciprocal(m, next);
        k = SEL_D(small, k, D(1.0));
        k = SEL_D(upper, b, k);
        k = COPYSIGN_D(k, s);
        cj_val q = MUL_D(s, k);
        cj_val nq = NEG_D(q);
        cj_val ql = FMA_D(s, k, nq);
        ql = FMA_D(low, k, ql);
        cj_val least = OP(max_s, HIGH(q), U(0x01700000));   /* about 2^-1000 */
        cj_val rc = OP(rcp_d, PAIR(U(0), least));
        INTO(dl) = OP(mul_d, ql, rc);                   /* what it adds to the logarithm */
        INTO(d) = OP(mov_d, q);
    }
    ENDIF
    cj_val of = SEL_D(near, d, b), gl, g = cji_math_log_pair(m, of, &gl);
    IF(near) {
        cj_val t = SUB_D(b, D(1.0));
        WHEN(upper, t) = SUB_D(b, D(2.0));
        WHEN(small, t) = OP(mov_d, b);
        cj_val p = POLY_OF(LGAMMA_NEAR64, t);
        p = MUL_D(p, t);
        cj_val top = MUL_D(t, D(0x1.b0ee6072093cep-2)), minus = NEG_D(top);  /* 1 - gamma, with what it is rounded by */
        cj_val low = FMA_D(t, D(0x1.b0ee6072093cep-2), minus);
        low = FMA_D(t, D(0x1.6cb90701fbfabp-58), low);
        INTO(l) = OP(fma_d, p, t, low);
        INTO(h) = OP(mov_d, top);
        WHEN(negative, h) = OP(neg_d, h);
        WHEN(negative, l) = OP(neg_d, l);
    }
    ELSE {
        cj_val low, p = far_log_gamma(m, b, g, gl, &low);
        INTO(h) = OP(mov_d, p);
        INTO(l) = OP(mov_d, low);
        IF(negative) {
            cj_val kl, k = cji_math_log_pair_normal(m, d, &kl);
            INTO(g) = OP(mov_d, k);
            INTO(gl) = OP(mov_d, kl);
            INTO(h) = OP(neg_d, h);
            INTO(l) = OP(neg_d, l);
        }
        ENDIF
    }
    ENDIF
    IF(EITHER(near, negative)) {
        cj_val low = ADD_D(gl, dl);
        cj_val s = SUB_D(h, g);
        cj_val t = SUB_D(s, h);
        cj_val u = SUB_D(s, t);
        u = SUB_D(h, u);
        t = ADD_D(g, t);
        u = SUB_D(u, t);
        u = SUB_D(u, low);
        INTO(l) = OP(add_d, l, u);
        INTO(h) = OP(mov_d, s);
    }
    ENDIF
    cj_val v = ADD_D(h, l), infinite = EITHER(EQ_D(d, D(0.0)), OP(eq_w, b, U(INFINITY_W)));
    r[0] = SEL_W(infinite, U(INFINITY_W), v);           /* zero and negative whole numbers too */
}

/* From 3.5 to 6 a polynomial around a number near 4.75 where the function and its derivative are doubles within
 * 2^-58. */
void cji_math_lgamma_f64(cji_math *m, const cj_val *a, cj_val *r)
{
    cj_val x = a[0], t = SUB_D(x, D(0x1.3026p2)), y = OP(mov_d, t);
    IF(BELOW_D(t, 1.25)) {
        cj_val v = POLY_OF(LGAMMA_ROOT64, t);
        INTO(y) = OP(mov_d, v);
    }
    ELSE {
        cj_val v;
        cji_math_use(m, CJI_MATH_lgamma_rest_f64, a, &v);
        INTO(y) = OP(mov_d, v);
    }
    ENDIF
    r[0] = y;
}

/* |x| < 3: Gamma(1.5 + u) of x = n + 1/2 + u, then the recurrence down from x, or up to it. */
static cj_val near_gamma(cji_math *m, cj_val x)
{
    cj_val h = SUB_D(x, D(0.5)), n = ADD_D(h, D(SHIFT_D));
    n = SUB_D(n, D(SHIFT_D));
    cj_val u = SUB_D(h, n);
    cj_val g = POLY_OF(TGAMMA_NEAR64, u);
    cj_val p = GT_D(n, D(1.0)), k = SUB_D(x, D(1.0));
    WHEN(p, g) = OP(mul_d, g, k);
    IF(LT_D(n, D(1.0))) {
        cj_val den = OP(mov_d, x), below = LT_D(n, D(0.0));
        k = ADD_D(x, D(1.0));
        WHEN(below, den) = OP(mul_d, den, k);
        p = LT_D(n, D(-1.0));
        k = ADD_D(x, D(2.0));
        WHEN(p, den) = OP(mul_d, den, k);
        p = LT_D(n, D(-2.0));
        k = ADD_D(x, D(3.0));
        WHEN(p, den) = OP(mul_d, den, k);
        INTO(g) = OP(div_d, g, den);
        cj_val pole = BOTH(EQ_D(den, D(0.0)), below);   /* zero itself gives infinity */
        WHEN(pole, g) = OP(mov_w, U(NAN_W));
    }
    ENDIF
    return g;
}

/* |x| >= 3: Gamma(b) = 2^j e^(rest of log Gamma(b)) with b = |x|; of negative x the inverse, divided by
 * -b sin(pi b) / pi. */
void cji_math_tgamma_far_f64(cji_math *m, const cj_val *a, cj_val *r)
{
    cj_val x = a[0], size = ABS_D(x), b = SEL_D(GT_D(size, D(200.0)), D(200.0), size), negative = LT_D(x, D(0.0));
    cj_val ll, lh = log_pair(m, b, &ll);
    cj_val v = cji_math_reciprocal(m, b), z = MUL_D(v, v), s = stirling_sum(m, z);
    s = FMA_D(s, v, D(-0x1.301c6f368296bp-6));          /* log(2 pi) / 2 - 15/16 */
    cj_val w = SUB_D(b, D(0.5));
    cj_val h1 = MUL_D(w, lh);
    cj_val n1 = NEG_D(h1);
    cj_val l = FMA_D(w, lh, n1);
    l = FMA_D(w, ll, l);
    l = ADD_D(l, s);
    cj_val c = SUB_D(b, D(0.9375));                     /* exact */
    cj_val h = SUB_D(h1, c);
    cj_val rest = SUB_D(h1, h);
    rest = SUB_D(rest, c);
    l = ADD_D(l, rest);
    WHEN(negative, h) = OP(neg_d, h);
    WHEN(negative, l) = OP(neg_d, l);
    cj_val t = FMA_D(h, D(0x1.71547652b82fep0), D(SHIFT_D));
    cj_val j = SUB_D(t, D(SHIFT_D));
    cj_val f = FMA_D(j, D(-0x1.62e42fefa39efp-1), h);
    f = FMA_D(j, D(-0x1.abc9e3b39803fp-56), f);
    f = ADD_D(f, l);
    cj_val num = cji_math_exp_reduced(m, f);
    IF(negative) {
        cj_val low, high, unused, y = MUL_D(size, D(0.5));
        y = OP(rint_d, y);
        y = FMA_D(y, D(-2.0), size);
        cj_val q = ADD_D(y, D(SHIFT_D)), n = SUB_D(q, D(SHIFT_D));
        y = SUB_D(y, n);
        cj_val k = sine_over_pi(m, y, &unused);
        k = MUL_D(k, size);
        cj_val sign = OP(add_u, LOW(q), U(1));
        sign = SHL(sign, U(31));
        cji_m_split(m, k, &low, &high);
        high = XOR(high, sign);
        k = PAIR(low, high);
        k = SEL_W(EQ_D(k, D(0.0)), U(NAN_W), k);
        INTO(num) = OP(div_d, num, k);
    }
    ENDIF
    r[0] = cji_math_scale(m, num, LOW(t));              /* subnormal results are rounded once */
}

void cji_math_tgamma_f64(cji_math *m, const cj_val *a, cj_val *r)
{
    cj_val x = a[0], y = OP(mov_d, x), near = LT_D(ABS_D(x), D(3.0));
    IF(near) {
        cj_val v = near_gamma(m, x);
        INTO(y) = OP(mov_d, v);
    }
    ELSE {
        cj_val v;
        cji_math_use(m, CJI_MATH_tgamma_far_f64, a, &v);
        INTO(y) = OP(mov_d, v);
    }
    ENDIF
    r[0] = y;
}
