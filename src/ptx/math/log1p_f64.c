/* log(1 + x) in f64, and the inverse hyperbolic functions by it. */
#include "ptx/math/log_f64.h"

/* log(1 + x) + n ln 2 for x > -1; n is 0 where it is NULL.  The sum 1 + x gives the exponent only: the mantissa's
 * distance from 1 is made of x itself. */
static cj_val log_of_sum_d(cji_math *m, cj_val x, const cj_val *n)
{
    cj_val low, high, u = ADD_D(x, D(1.0));
    cj_val i = OP(sub_u, HIGH(u), U(0x3fe6a09e));
    cj_val eb = AND(i, U(0xfff00000));
    cj_val k = OP(shr_s, i, U(20));
    cj_val e = OP(d_of_s, k);
    if (n) e = ADD_D(e, *n);
    cji_m_split(m, x, &low, &high);
    high = OP(sub_u, high, eb);
    cj_val y = PAIR(low, high);                         /* x 2^-k */
    cj_val over = OP(sub_u, U(0x40100000), eb);
    cj_val sc = PAIR(U(0), over);                       /* 4 2^-k */
    cj_val f = FMA_D(sc, D(0.25), D(-1.0));
    f = ADD_D(y, f);
    cj_val d = ADD_D(f, D(2.0));
    cj_val rc = cji_math_reciprocal(m, d);
    cj_val s = MUL_D(f, rc);
    cj_val z = MUL_D(s, s);
    cj_val p = cji_math_log_tail(m, z);
    cj_val h = MUL_D(f, D(0.5));
    h = MUL_D(h, f);
    cj_val v = FMA_D(p, z, h);
    cj_val el = MUL_D(e, D(0x1.abc9e3b39803fp-56));
    v = FMA_D(s, v, el);
    v = SUB_D(h, v);
    v = SUB_D(f, v);
    return FMA_D(e, D(0x1.62e42fefa39efp-1), v);
}

void cji_math_log1pc_f64(cji_math *m, const cj_val *a, cj_val *r) { r[0] = log_of_sum_d(m, a[0], &a[1]); }

static cj_val log1p_of(cji_math *m, cj_val x, cj_val n)
{
    cj_val r = CJI_NULL;
    cji_math_use(m, CJI_MATH_log1pc_f64, (const cj_val[]){ x, n }, &r);
    return r;
}

void cji_math_log1p_f64(cji_math *m, const cj_val *a, cj_val *r)
{
    cj_val x = a[0], v = log_of_sum_d(m, x, NULL), usual = OP(gt, HIGH(x), F(-0x1.ep0f));
    v = COPYSIGN_D(v, x);
    IF(NOT(usual)) {                                    /* the high word, as f32, is that of -1 or less or infinite */
        cj_val u = ADD_D(x, D(1.0)), over = cji_math_log_special(m, u, v);
        INTO(v) = OP(mov_d, over);
    }
    ENDIF
    r[0] = v;
}

/* log1p(a + a^2 / (1 + sqrt(1 + a^2))); log(2 a) where the square would overflow. */
void cji_math_asinh_f64(cji_math *m, const cj_val *a, cj_val *r)
{
    cj_val x = a[0], b = ABS_D(x);
    cj_val s = FMA_D(b, b, D(1.0));
    s = OP(sqrt_d, s);
    s = ADD_D(s, D(1.0));
    cj_val rc = cji_math_reciprocal(m, s);
    cj_val g = MUL_D(b, b);
    cj_val z = FMA_D(g, rc, b);
    cj_val big = GT_D(b, D(0x1p500));
    z = SEL_D(big, b, z);
    cj_val n = SEL_D(big, D(1.0), D(0.0));
    cj_val v = log1p_of(m, z, n);
    v = SEL_D(OP(ge_w, b, U(INFINITY_W)), b, v);
    r[0] = COPYSIGN_D(v, x);
}

/* log1p(t + sqrt(2 t + t^2)) with t = x - 1. */
void cji_math_acosh_f64(cji_math *m, const cj_val *a, cj_val *r)
{
    cj_val x = a[0], t = SUB_D(x, D(1.0));
    cj_val s = ADD_D(t, t);
    s = FMA_D(t, t, s);
    s = OP(sqrt_d, s);
    s = ADD_D(t, s);
    cj_val big = GT_D(x, D(0x1p500));
    cj_val z = SEL_D(big, t, s);
    cj_val n = SEL_D(big, D(1.0), D(0.0));
    cj_val v = log1p_of(m, z, n);
    v = SEL_D(OP(ge_w, x, U(INFINITY_W)), x, v);
    r[0] = SEL_W(LT_D(x, D(1.0)), U(NAN_W), v);
}

/* log1p(2 a / (1 - a)) / 2 */
void cji_math_atanh_f64(cji_math *m, const cj_val *a, cj_val *r)
{
    cj_val x = a[0], b = ABS_D(x), zero = D(0.0);
    cj_val d = SUB_D(D(1.0), b);
    cj_val n = ADD_D(b, b);
    cj_val rc = cji_math_reciprocal(m, d);
    cj_val q = MUL_D(n, rc);
    cj_val nq = NEG_D(q);
    cj_val k = FMA_D(nq, d, n);
    q = FMA_D(k, rc, q);
    cj_val v = log1p_of(m, q, zero);
    v = MUL_D(v, D(0.5));
    cj_val outside = SEL_W(EQ_D(b, D(1.0)), U(INFINITY_W), U(NAN_W));
    v = SEL_W(LT_D(b, D(1.0)), v, outside);
    r[0] = COPYSIGN_D(v, x);
}
