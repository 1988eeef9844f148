/* e^x - 1 and the hyperbolic functions in f64.  s = 2^j is made of the bits of the sum that rounds j. */
#include "ptx/math/exp_f64.h"
#include "ptx/math/log_f64.h"

/* x = j ln 2 + f + c with |f| <= ln 2 / 2: *f, *c, and *w = e^(f + c) - 1 - f.  Returns -j; *s is 2^(j + up - 1023). */
static cj_val reduce_expm1(cji_math *m, cj_val x, double up, cj_val *f, cj_val *w, cj_val *s)
{
    cj_val t = FMA_D(x, D(0x1.71547652b82fep0), D(SHIFT_D + up));
    cj_val nj = SUB_D(D(SHIFT_D + up), t);
    *f = FMA_D(nj, D(0x1.62e42fefa39efp-1), x);         /* exact where j is small */
    cj_val c = MUL_D(nj, D(0x1.abc9e3b39803fp-56));
    cj_val h = ADD_D(*f, c);
    cj_val p = cji_math_expm1_tail(m, h);
    cj_val g = MUL_D(h, h);
    *w = FMA_D(g, p, c);
    *s = OP(shl_w, t, U(52));
    return nj;
}

void cji_math_expm1_f64(cji_math *m, const cj_val *a, cj_val *r)
{
    cj_val x = a[0], y = cji_math_clamped(m, x, -40.0, 710.0), f, w, s;
    cj_val nj = reduce_expm1(m, y, 1022.0, &f, &w, &s); /* s is half of 2^j: no overflow before the end */
    cj_val half = SUB_D(s, D(0.5));
    cj_val v = FMA_D(f, s, half);
    v = FMA_D(w, s, v);
    v = ADD_D(v, v);
    cj_val near = ADD_D(w, x);
    v = SEL_D(EQ_D(nj, D(0.0)), near, v);
    r[0] = COPYSIGN_D(v, x);
}

/* 1 - 2 / (e^2a + 1), or below 1 (e^2a - 1) / (e^2a + 1), the quotient with the tails of both. */
void cji_math_tanh_f64(cji_math *m, const cj_val *a, cj_val *r)
{
    cj_val x = a[0], b = ABS_D(x), f, w, s;
    b = SEL_D(GT_D(b, D(20.0)), D(20.0), b);
    cj_val y = ADD_D(b, b);
    (void)reduce_expm1(m, y, 1023.0, &f, &w, &s);
    cj_val less = SUB_D(s, D(1.0));
    cj_val u = FMA_D(f, s, less);
    cj_val em = FMA_D(w, s, u);
    cj_val d = ADD_D(em, D(2.0));
    cj_val rc = cji_math_reciprocal(m, d);
    cj_val q = FMA_D(rc, D(-2.0), D(1.0));
    IF(BELOW_D(x, 1.0)) {
        cj_val el = SUB_D(u, em);
        el = FMA_D(w, s, el);
        cj_val dl = SUB_D(d, D(2.0));
        dl = SUB_D(em, dl);
        dl = ADD_D(dl, el);
        cj_val v = MUL_D(em, rc);
        cj_val nv = NEG_D(v);
        cj_val k = FMA_D(nv, d, em);
        k = ADD_D(k, el);
        k = FMA_D(nv, dl, k);
        INTO(q) = OP(fma_d, k, rc, v);
    }
    ENDIF
    r[0] = COPYSIGN_D(q, x);
}

/* H = (e^a - 1) / 4 with its tail; sinh a = 2 (H + H / (4 H + 1)). */
void cji_math_sinh_f64(cji_math *m, const cj_val *a, cj_val *r)
{
    cj_val x = a[0], b = ABS_D(x), f, w, s;
    cj_val y = SEL_D(GT_D(b, D(710.7)), D(710.7), b);
    (void)reduce_expm1(m, y, 1021.0, &f, &w, &s);
    cj_val less = SUB_D(s, D(0.25));
    cj_val u = FMA_D(f, s, less);
    cj_val h = FMA_D(w, s, u);
    cj_val l = SUB_D(u, h);
    l = FMA_D(w, s, l);
    cj_val d = FMA_D(h, D(4.0), D(1.0));
    d = SEL_D(GT_D(d, D(0x1p600)), D(0x1p600), d);
    cj_val rc = cji_math_reciprocal(m, d);
    cj_val q = MUL_D(h, rc);
    cj_val nq = NEG_D(q);
    cj_val k = FMA_D(nq, d, h);
    q = FMA_D(k, rc, q);
    l = FMA_D(l, rc, l);
    q = ADD_D(q, l);
    q = ADD_D(h, q);
    cj_val small = MUL_D(b, D(0.5));
    q = SEL_D(LT_D(b, D(0x1p-28)), small, q);
    q = ADD_D(q, q);
    r[0] = COPYSIGN_D(q, x);
}

/* h = e^a / 4; cosh a = 2 (h + 1 / (16 h)). */
void cji_math_cosh_f64(cji_math *m, const cj_val *a, cj_val *r)
{
    cj_val b = ABS_D(a[0]);
    b = SEL_D(GT_D(b, D(710.7)), D(710.7), b);
    cj_val t = FMA_D(b, D(0x1.71547652b82fep0), D(SHIFT_D + 1021.0));
    cj_val nj = SUB_D(D(SHIFT_D + 1021.0), t);
    cj_val f = FMA_D(nj, D(0x1.62e42fefa39efp-1), b);
    f = FMA_D(nj, D(0x1.abc9e3b39803fp-56), f);
    cj_val p = cji_math_exp_reduced(m, f);
    cj_val s = OP(shl_w, t, U(52));
    cj_val h = MUL_D(p, s);
    cj_val rc = cji_math_reciprocal(m, h);
    h = FMA_D(rc, D(0.0625), h);
    r[0] = ADD_D(h, h);
}
