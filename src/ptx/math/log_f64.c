/* Logarithms in f64: x = m 2^e, s = (m - 1) / (m + 1), log m = 2 s + 2/3 s^3 + ... */
#include "ptx/math/log_f64.h"

cj_val cji_math_split_f64(cji_math *m, cj_val x, cj_val *scaled, cj_val *e)
{
    cj_val low, high, subnormal = LT_D(x, D(0x1p-1022));
    cj_val xs = OP(mov_d, x);
    WHEN(subnormal, xs) = MUL_D(x, D(0x1p54));
    cji_m_split(m, xs, &low, &high);
    cj_val i = OP(sub_u, high, U(0x3fe6a09e));
    cj_val k = OP(shr_s, i, U(20));
    WHEN(subnormal, k) = OP(sub_u, k, U(54));
    i = AND(i, U(0xfff00000));
    high = OP(sub_u, high, i);
    *scaled = xs;
    *e = k;
    return PAIR(low, high);
}

cj_val cji_math_reciprocal(cji_math *m, cj_val d)
{
    cj_val rc = OP(rcp_d, d);
    cj_val nd = NEG_D(d);
    cj_val e = FMA_D(nd, rc, D(1.0));
    e = FMA_D(e, e, e);
    return FMA_D(rc, e, rc);
}

cj_val cji_math_log_special(cji_math *m, cj_val scaled, cj_val r)
{
    cj_val high = HIGH(scaled);
    cj_val i = OP(sub_u, high, U(0x00100000));
    cj_val usual = OP(lt_u, i, U(0x7fe00000));
    cj_val s = SEL_W(LT_D(scaled, D(0.0)), U(NAN_W), scaled);
    s = SEL_W(EQ_D(scaled, D(0.0)), U(0xfff0000000000000u), s);
    return SEL_W(usual, r, s);
}

/* An argument that is mostly a normal number. */
typedef struct log_argument { cj_val rare, scaled, y, e; } log_argument;

/* x = *y 2^result for a normal x. */
static cj_val exponent_and_rest(cji_math *m, cj_val x, cj_val *y)
{
    cj_val low, high;
    cji_m_split(m, x, &low, &high);
    cj_val i = OP(sub_u, high, U(0x3fe6a09e));
    cj_val k = OP(shr_s, i, U(20));
    i = AND(i, U(0xfff00000));
    high = OP(sub_u, high, i);
    *y = PAIR(low, high);
    return k;
}

static log_argument log_parts(cji_math *m, cj_val x)
{
    log_argument t;
    cj_val i = OP(sub_u, HIGH(x), U(0x00100000));
    t.rare = OP(ge_u, i, U(0x7fe00000));
    t.scaled = OP(mov_d, x);
    WHEN(t.rare, t.scaled) = MUL_D(x, D(0x1p54));
    cj_val k = exponent_and_rest(m, t.scaled, &t.y);
    WHEN(t.rare, k) = OP(sub_u, k, U(54));
    t.e = OP(d_of_s, k);
    return t;
}

static cj_val log_result(cji_math *m, const log_argument *t, cj_val v)
{
    cj_val r = OP(mov_d, v);
    IF(t->rare) {
        cj_val over = cji_math_log_special(m, t->scaled, v);
        INTO(r) = OP(mov_d, over);
    }
    ENDIF
    return r;
}

cj_val cji_math_log_tail(cji_math *m, cj_val z)
{
    return POLY_D(z, 0x1.2f04cd5a49ef9p-3, 0x1.39a1d2ed92fbcp-3, 0x1.74663d8f3f446p-3, 0x1.c71c521247f6p-3,
                  0x1.24924941e29d6p-2, 0x1.999999997ff14p-2, 0x1.5555555555592p-1);
}

void cji_math_log_f64(cji_math *m, const cj_val *a, cj_val *r)
{
    const log_argument t = log_parts(m, a[0]);
    const cj_val y = t.y, e = t.e;
    cj_val f = SUB_D(y, D(1.0));
    cj_val d = ADD_D(y, D(1.0));
    cj_val rc = cji_math_reciprocal(m, d);
    cj_val s = MUL_D(f, rc);
    cj_val z = MUL_D(s, s);
    cj_val p = cji_math_log_tail(m, z);
    cj_val h = MUL_D(f, D(0.5));
    h = MUL_D(h, f);
    cj_val v = FMA_D(p, z, h);
    cj_val low = MUL_D(e, D(0x1.abc9e3b39803fp-56));
    v = FMA_D(s, v, low);
    v = SUB_D(h, v);
    v = SUB_D(f, v);
    v = FMA_D(e, D(0x1.62e42fefa39efp-1), v);
    r[0] = log_result(m, &t, v);
}

static cj_val log_of_parts(cji_math *m, cj_val y, cj_val e, cj_val *low)
{
    cj_val f = SUB_D(y, D(1.0));
    cj_val d = ADD_D(y, D(1.0));
    cj_val rc = cji_math_reciprocal(m, d);
    cj_val s = MUL_D(f, rc);
    cj_val z = MUL_D(s, s);
    cj_val p = cji_math_log_tail(m, z);
    cj_val h = MUL_D(f, D(0.5));
    h = MUL_D(h, f);
    cj_val v = FMA_D(p, z, h);
    cj_val top = MUL_D(e, D(0x1.62e42fefa38p-1)), sum = ADD_D(top, f);   /* the product is exact */
    cj_val rest = SUB_D(sum, top);
    rest = SUB_D(f, rest);
    rest = FMA_D(e, D(0x1.ef35793c7673p-45), rest);
    v = FMA_D(s, v, rest);
    *low = SUB_D(v, h);
    return sum;
}

cj_val cji_math_log_pair(cji_math *m, cj_val x, cj_val *low)
{
    const log_argument t = log_parts(m, x);
    return log_of_parts(m, t.y, t.e, low);
}

cj_val cji_math_log_pair_normal(cji_math *m, cj_val x, cj_val *low)
{
    cj_val y, k = exponent_and_rest(m, x, &y);
    return log_of_parts(m, y, OP(d_of_s, k), low);
}

/* The logarithm of a base with 1 / ln(base) = high + low, and log_base(2) = unit. */
static cj_val log_of_base(cji_math *m, cj_val x, double high, double low, double unit)
{
    const log_argument parts = log_parts(m, x);
    const cj_val y = parts.y, e = parts.e;
    cj_val f = SUB_D(y, D(1.0));
    cj_val d = ADD_D(y, D(1.0));
    cj_val rc = cji_math_reciprocal(m, d);
    cj_val s = MUL_D(f, rc);
    cj_val z = MUL_D(s, s);
    cj_val p = cji_math_log_tail(m, z);
    cj_val h = MUL_D(f, D(0.5));
    h = MUL_D(h, f);
    cj_val v = FMA_D(p, z, h);
    cj_val top = SUB_D(f, h);                /* log m = top + rest */
    cj_val rest = SUB_D(f, top);
    rest = SUB_D(rest, h);
    rest = FMA_D(s, v, rest);
    cj_val t = MUL_D(top, D(high));
    cj_val nt = NEG_D(t);
    cj_val tl = FMA_D(top, D(high), nt);
    tl = FMA_D(rest, D(high), tl);
    tl = FMA_D(top, D(low), tl);
    t = ADD_D(t, tl);
    t = FMA_D(e, D(unit), t);
    return log_result(m, &parts, t);
}

void cji_math_log2_f64(cji_math *m, const cj_val *a, cj_val *r)
{
    r[0] = log_of_base(m, a[0], 0x1.71547652b82fep0, 0x1.777d0ffda0d24p-56, 1.0);
}

void cji_math_log10_f64(cji_math *m, const cj_val *a, cj_val *r)
{
    r[0] = log_of_base(m, a[0], 0x1.bcb7b1526e50ep-2, 0x1.95355baaafad3p-57, 0x1.34413509f79ffp-2);
}
