/* x to the y in f64. */
#include "ptx/math/exp_f64.h"
#include "ptx/math/log_f64.h"

/* log x = r[0] + r[1] to about 2^-66 for a positive x: by s = (m - 1) / (m + 1) with its remainder. */
void cji_math_pow_log_f64(cji_math *m, const cj_val *a, cj_val *r)
{
    cj_val xs, ei, y = cji_math_split_f64(m, a[0], &xs, &ei), e = OP(d_of_s, ei);
    cj_val d = ADD_D(y, D(1.0));
    cj_val n = SUB_D(y, D(1.0));
    cj_val dl = SUB_D(d, D(1.0));
    dl = SUB_D(y, dl);
    cj_val rc = cji_math_reciprocal(m, d);
    cj_val rh = MUL_D(n, rc);
    cj_val nrh = NEG_D(rh);
    cj_val rl = FMA_D(nrh, d, n);
    rl = FMA_D(nrh, dl, rl);
    rl = MUL_D(rl, rc);
    cj_val z = MUL_D(rh, rh);
    cj_val nz = NEG_D(z);
    cj_val zl = FMA_D(rh, rh, nz);
    cj_val p = POLY_D(z, 0x1.0e43aa1035077p-3, 0x1.0f7fd29f9f68ep-3, 0x1.3b1eecd526cfap-3, 0x1.745ce9e01e08cp-3,
                      0x1.c71c722d6c60bp-3, 0x1.2492492457d4p-2, 0x1.9999999999b3p-2);
    cj_val uh = MUL_D(z, D(0x1.5555555555555p-1));
    cj_val ul = NEG_D(uh);
    ul = FMA_D(z, D(0x1.5555555555555p-1), ul);
    ul = FMA_D(zl, D(0x1.5555555555555p-1), ul);
    ul = FMA_D(z, D(0x1.5555555555555p-55), ul);
    p = MUL_D(p, z);
    ul = FMA_D(p, z, ul);
    cj_val vh = MUL_D(rh, uh);
    cj_val vl = NEG_D(vh);
    vl = FMA_D(rh, uh, vl);
    cj_val t = FMA_D(uh, D(3.0), D(2.0));
    vl = FMA_D(rl, t, vl);
    vl = FMA_D(e, D(0x1.ef35793c7673p-45), vl);
    vl = FMA_D(rh, ul, vl);
    cj_val top = MUL_D(e, D(0x1.62e42fefa38p-1));       /* exact */
    cj_val th = ADD_D(rh, rh);
    cj_val s = ADD_D(top, th);
    cj_val sl = SUB_D(s, top);
    sl = SUB_D(th, sl);
    cj_val s2 = ADD_D(s, vh);
    t = SUB_D(s2, s);
    t = SUB_D(vh, t);
    t = ADD_D(t, vl);
    sl = ADD_D(sl, t);
    cj_val lh = ADD_D(s2, sl);
    t = SUB_D(lh, s2);
    r[0] = lh;
    r[1] = SUB_D(sl, t);
}

/* x^y; n: y as a whole number of 32 bits, or NULL. */
static cj_val power(cji_math *m, cj_val x, cj_val y, const cj_val *n)
{
    cj_val b = ABS_D(x), l[2] = { CJI_NULL };
    cji_math_use(m, CJI_MATH_pow_log_f64, &b, l);
    cj_val yc = n ? y : cji_math_clamped(m, y, -0x1p64, 0x1p64);
    cj_val h = MUL_D(yc, l[0]);
    cj_val hl = NEG_D(h);
    hl = FMA_D(yc, l[0], hl);
    hl = FMA_D(yc, l[1], hl);
    if (!n) hl = SEL_D(LT_D(ABS_D(h), D(746.0)), hl, D(0.0)); /* else it is small everywhere */
    h = cji_math_clamped(m, h, -746.0, 710.0);
    cj_val t = FMA_D(h, D(0x1.71547652b82fep0), D(SHIFT_D));
    cj_val j = SUB_D(t, D(SHIFT_D));
    cj_val f = FMA_D(j, D(-0x1.62e42fefa39efp-1), h);
    f = FMA_D(j, D(-0x1.abc9e3b39803fp-56), f);
    f = ADD_D(f, hl);
    cj_val v = cji_math_exp_reduced(m, f);
    v = cji_math_scale(m, v, LOW(t));
    cj_val i = OP(sub_w, b, U(1));
    cj_val special = OP(ge_w, i, U(0x7fefffffffffffffu)); /* 0, infinite, NaN */
    cj_val turned = OP(xor_w, b, U(INFINITY_W));
    turned = SEL_W(LT_D(y, D(0.0)), turned, b);
    v = SEL_W(special, turned, v);
    cj_val odd, negative = OP(lt_x, x, U(0));
    if (n) {
        odd = AND(*n, U(1));
        odd = OP(ne_u, odd, U(0));
    } else {
        cj_val half = MUL_D(y, D(0.5)), whole = EQ_D(OP(trunc_d, y), y);
        odd = OP(ne_d, OP(trunc_d, half), half);
        odd = BOTH(whole, odd);
        cj_val none = EITHER(whole, special);
        none = NOT(none);
        none = BOTH(negative, none);
        v = SEL_W(none, U(NAN_W), v);
    }
    odd = BOTH(negative, odd);
    WHEN(odd, v) = NEG_D(v);
    cj_val nan = OP(nan_d, x, y);
    WHEN(nan, v) = ADD_D(x, y);
    cj_val one = EQ_D(y, D(0.0));
    one = EITHER(one, EQ_D(x, D(1.0)));
    return SEL_D(one, D(1.0), v);
}

void cji_math_pow_f64(cji_math *m, const cj_val *a, cj_val *r) { r[0] = power(m, a[0], a[1], NULL); }

/* A signed exponent of 32 bits. */
void cji_math_pown_f64(cji_math *m, const cj_val *a, cj_val *r)
{
    cj_val y = OP(d_of_s, a[1]);
    r[0] = power(m, a[0], y, &a[1]);
}
