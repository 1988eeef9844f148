/* Inverse error functions and the inverse of the normal distribution in f32.  All are smooth functions of
 * w = -log2(1 - y^2) for y = erf(result): a polynomial in w times y for w <= 6.8, else one in a root of w.  The second
 * one is behind a branch: most warps have no such y.  Before it the logarithm takes subnormal products for 0. */
#include "ptx/math/ops.h"

/* The polynomial is of -w, which the logarithm gives. */
static cj_val middle(cji_math *m, cj_val l)
{
    return POLY(l, 0x1.7ea206p-32f, 0x1.ac6a4ap-27f, 0x1.5889bap-23f, 0x1.0b5p-21f, -0x1.d016a8p-18f,
                -0x1.e5a15ap-16f, 0x1.97e2acp-11f, 0x1.6ba81ep-8f, -0x1.495bcep-3f, 0x1.c5bf8ap-1f);
}

/* -sqrt(w) and 1 / sqrt(w), of a product whose logarithm l is not right where it is subnormal: few are.  One
 * instruction gives both roots.  Where w is infinite, the second one is not 0, and so their product is infinite. */
static cj_val root_far_from_middle(cji_math *m, cj_val product, cj_val l, cj_val *inverse)
{
    cj_val w = OP(mov, l);
    IF(LT(product, F(0x1p-126f))) {
        cj_val scaled = MUL(product, F(0x1p24f)), most = OP(lg2, scaled);
        INTO(w) = OP(sub, most, F(24.f));
    }
    ENDIF
    cj_val u = RSQRT(NEG(w));
    *inverse = OP(max, u, F(0x1p-20f));
    return MUL(w, *inverse);
}

void cji_math_erfinv_f32(cji_math *m, const cj_val *a, cj_val *r)
{
    cj_val x = a[0], n = NEG(x);
    cj_val l = FMA(n, x, F(1.f));
    l = OP(lg2, l);
    cj_val p = middle(m, l), v = MUL(p, x);
    IF(LT(l, F(-6.8f))) {
        cj_val w = NEG(l), s = OP(sqrt_fast, w);
        cj_val q = POLY(s, 0x1.c17a8p-17f, -0x1.7a3098p-12f, 0x1.0a1e74p-8f, -0x1.8e09dcp-6f, 0x1.45254ep-4f,
                        -0x1.e8fb2p-4f, 0x1.cb0804p-9f, -0x1.fae10ap-6f);
        q = FMA(s, F(0x1.aa449ap-1f), q);
        INTO(v) = COPYSIGN(q, x);
    }
    ENDIF
    r[0] = v;
}

/* Where w > 6.8: sqrt(w) times a polynomial in 1 / sqrt(w), up to w = 148, and infinite for infinity.  The first
 * polynomial is for numbers, the second one for NaN too: a warp whose operands are all out of the first one's interval
 * executes one of them. */
void cji_math_erfcinv_f32(cji_math *m, const cj_val *a, cj_val *r)
{
    cj_val x = a[0], product = SUB(F(2.f), x);
    product = MUL(product, x);
    cj_val l = OP(lg2, product), v = OP(mov, l);
    IF(GE(l, F(-6.8f))) {
        cj_val p = middle(m, l), n = NEG(x);
        INTO(v) = OP(fma, n, p, p);
    }
    ELSE {
        cj_val u, s = root_far_from_middle(m, product, l, &u);
        cj_val q = POLY(u, 0x1.4f2c58p7f, -0x1.452ccap8f, 0x1.217e62p8f, -0x1.469496p7f, 0x1.0af87cp6f,
                        -0x1.5bf3e4p4f, 0x1.990ffap2f, -0x1.665a72p0f, -0x1.01960ep-5f, 0x1.aa727p-1f);
        q = MUL(q, s);
        cj_val y = SUB(F(1.f), x);
        INTO(v) = COPYSIGN(q, y);
    }
    ENDIF
    r[0] = v;
}

/* -sqrt(2) erfcinv(2 x), the factor in the coefficients. */
void cji_math_normcdfinv_f32(cji_math *m, const cj_val *a, cj_val *r)
{
    cj_val x = a[0], product = SUB(F(1.f), x);
    cj_val x4 = MUL(x, F(4.f));
    product = MUL(product, x4);
    cj_val l = OP(lg2, product), y = FMA(x, F(2.f), F(-1.f)), v = OP(mov, l);
    IF(GE(l, F(-6.8f))) {
        cj_val p = POLY(l, 0x1.0e8f62p-31f, 0x1.2eeed8p-26f, 0x1.e73f16p-23f, 0x1.7a07a6p-21f, -0x1.482982p-17f,
                        -0x1.5764dep-15f, 0x1.206b2p-10f, 0x1.0124ep-7f, -0x1.d1c88ep-3f, 0x1.40d932p0f);
        INTO(v) = OP(mul, p, y);
    }
    ELSE {
        cj_val u, s = root_far_from_middle(m, product, l, &u);
        cj_val q = POLY(u, 0x1.da0856p7f, -0x1.cbe4a8p8f, 0x1.996dc8p8f, -0x1.cde08ep7f, 0x1.79914ep6f,
                        -0x1.ec1738p4f, 0x1.2140f2p3f, -0x1.faca3ap0f, -0x1.6c4774p-5f, 0x1.2d8b28p0f);
        q = MUL(q, s);
        INTO(v) = COPYSIGN(q, y);
    }
    ENDIF
    r[0] = v;
}
