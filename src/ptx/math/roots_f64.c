/* Cube roots and the hypotenuse in f64. */
#include "ptx/math/ops.h"

/* b = y 8^k with y in 1..8: *e is k 2^20.  Returns about y^(-1/3): of f32, and one step of third order. */
static cj_val cube_root_seed(cji_math *m, cj_val b, cj_val *y, cj_val *e)
{
    cj_val low, high, subnormal = LT_D(b, D(0x1p-1022)), scaled = OP(mov_d, b);
    WHEN(subnormal, scaled) = MUL_D(b, D(0x1p54));
    cji_m_split(m, scaled, &low, &high);
    cj_val q = OP(mul_hi_u, high, U(0x55555556));
    q = AND(q, U(0xfff00000));                          /* exponent / 3 */
    high = OP(mad_u, q, U(0xfffffffdu), high);
    high = OP(add_u, high, U(0x3ff00000));
    *y = PAIR(low, high);
    cj_val k = OP(sub_u, q, U(341u << 20));
    WHEN(subnormal, k) = OP(sub_u, k, U(18u << 20));
    *e = k;
    cj_val f = OP(f_of_d, *y);
    f = OP(lg2, f);
    f = MUL(f, F(-0x1.555556p-2f));
    f = EX2(f);
    cj_val t = OP(d_of_f, f);
    cj_val g = MUL_D(t, t);
    cj_val ng = NEG_D(g);
    cj_val h = MUL_D(*y, t);
    h = FMA_D(ng, h, D(1.0));
    cj_val c = FMA_D(h, D(0x1.c71c71c71c71cp-3), D(0x1.5555555555555p-2));
    h = MUL_D(t, h);
    return FMA_D(h, c, t);
}

void cji_math_cbrt_f64(cji_math *m, const cj_val *a, cj_val *r)
{
    cj_val x = a[0], y, e, low, high, t = cube_root_seed(m, ABS_D(x), &y, &e);
    cj_val v = MUL_D(t, t);
    v = MUL_D(v, y);
    cj_val nv = NEG_D(v);
    cj_val h = FMA_D(nv, t, D(1.0));
    cj_val w = MUL_D(v, D(0x1.5555555555555p-1));
    v = FMA_D(w, h, v);
    cji_m_split(m, v, &low, &high);
    high = OP(add_u, high, e);
    v = PAIR(low, high);
    v = COPYSIGN_D(v, x);
    cj_val twice = ADD_D(x, x);
    r[0] = SEL_D(OP(equ_d, twice, x), twice, v);        /* 0, infinite, NaN */
}

void cji_math_rcbrt_f64(cji_math *m, const cj_val *a, cj_val *r)
{
    cj_val b = ABS_D(a[0]), y, e, low, high, t = cube_root_seed(m, b, &y, &e);
    cj_val g = MUL_D(t, t);
    cj_val ng = NEG_D(g);
    cj_val h = MUL_D(y, t);
    h = FMA_D(ng, h, D(1.0));
    cj_val w = MUL_D(t, D(0x1.5555555555555p-2));
    cj_val v = FMA_D(w, h, t);
    cji_m_split(m, v, &low, &high);
    high = OP(sub_u, high, e);
    v = PAIR(low, high);
    cj_val twice = ADD_D(b, b);
    cj_val special = OP(equ_d, twice, b);
    WHEN(special, v) = OP(rcp_d, b);
    r[0] = COPYSIGN_D(v, a[0]);
}

void cji_math_rsqrt_f64(cji_math *m, const cj_val *a, cj_val *r) { r[0] = OP(rsqrt_all_d, a[0]); }

/* s = (a^2 + b^2) down^2, not 0, and y about 1 / sqrt(s), within 1 ulp or, where a step for the root follows, 2^-41; up
 * is 1 / down, a power of two.  `infinite` where one of both is, whatever the other is. */
typedef struct hypotenuse { cj_val infinite, up, down, s, y; } hypotenuse;

static hypotenuse hypotenuse_of(cji_math *m, cj_val a, cj_val b, bool whole)
{
    hypotenuse t;
    cj_val ax = ABS_D(a), ay = ABS_D(b), first = GT_D(ax, ay);
    cj_val most = SEL_D(first, a, b);
    cj_val least = SEL_D(first, b, a);
    t.infinite = EQ_D(ax, D(INFINITE_D));
    t.infinite = EITHER(t.infinite, EQ_D(ay, D(INFINITE_D)));
    cj_val e = AND(HIGH(most), U(0x7e000000));
    e = OR(e, U(0x00100000));
    cj_val over = OP(sub_u, U(0x7fe00000), e);
    t.up = PAIR(U(0), e);
    t.down = PAIR(U(0), over);
    cj_val u = MUL_D(least, t.down);
    cj_val v = MUL_D(most, t.down);
    u = FMA_D(u, u, D(0x1p-900));                       /* lost but where both are 0 */
    t.s = FMA_D(v, v, u);
    cj_val y = OP(rsqrt_d, t.s);
    cj_val g = MUL_D(y, y);                             /* exact: the low word of y is 0 */
    cj_val ng = NEG_D(g);
    cj_val h = FMA_D(ng, t.s, D(1.0));
    cj_val k = whole ? FMA_D(h, D(0.375), D(0.5)) : D(0.5);
    h = MUL_D(y, h);
    t.y = FMA_D(h, k, y);
    return t;
}

void cji_math_hypot_f64(cji_math *m, const cj_val *a, cj_val *r)
{
    hypotenuse t = hypotenuse_of(m, a[0], a[1], false);
    cj_val g = MUL_D(t.s, t.y);
    cj_val ng = NEG_D(g);
    cj_val h = FMA_D(ng, g, t.s);
    cj_val y = MUL_D(t.y, D(0.5));
    g = FMA_D(h, y, g);
    g = MUL_D(g, t.up);
    r[0] = SEL_D(t.infinite, D(INFINITE_D), g);
}

void cji_math_rhypot_f64(cji_math *m, const cj_val *a, cj_val *r)
{
    hypotenuse t = hypotenuse_of(m, a[0], a[1], true);
    cj_val v = MUL_D(t.y, t.down);
    r[0] = SEL_D(t.infinite, D(0.0), v);
}
