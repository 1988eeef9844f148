/* Parts, neighbours and whole numbers of f32. */
#include "ptx/math/ops.h"

/* Is a magnitude 0, subnormal, infinite or NaN?  All of them are behind one branch, which most warps do not take. */
static cj_val is_not_normal(cji_math *m, cj_val size)
{
    cj_val i = OP(sub_u, size, U(0x00800000));
    return OP(ge_u, i, U(0x7f000000));
}

static cj_val exponent_of(cji_math *m, cj_val size, uint32_t bias)
{
    cj_val e = SHR(size, U(23));
    return OP(sub_u, e, U(bias));
}

/* That of a subnormal number. */
static cj_val least_exponent(cji_math *m, cj_val size, uint32_t bias)
{
    cj_val zeros = OP(clz_u, size);
    return OP(sub_u, U(9 - bias), zeros);
}

void cji_math_logb_f32(cji_math *m, const cj_val *a, cj_val *r)
{
    cj_val size = ABS(a[0]), e = exponent_of(m, size, 127), v = OP(f_of_s, e);
    IF(is_not_normal(m, size)) {
        e = least_exponent(m, size, 127);
        INTO(v) = OP(f_of_s, e);
        cj_val i = OP(sub_u, size, U(1));
        cj_val special = OP(ge_u, i, U(0x7f7fffff));
        WHEN(special, v) = OP(lg2, size);           /* 0, infinity, NaN */
    } ENDIF
    r[0] = v;
}

/* 0 and NaN give the least integer, infinity the greatest. */
void cji_math_ilogb_f32(cji_math *m, const cj_val *a, cj_val *r)
{
    cj_val size = ABS(a[0]), v = exponent_of(m, size, 127);
    IF(is_not_normal(m, size)) {
        cj_val e = least_exponent(m, size, 127);
        INTO(v) = OP(mov_u, e);
        cj_val infinite = OP(eq_u, size, U(INFINITY_U));
        WHEN(infinite, v) = OP(mov_u, U(0x7fffffff));
        cj_val none = OP(equ, size, F(0.f));
        WHEN(none, v) = OP(mov_u, U(0x80000000));
    } ENDIF
    r[0] = v;
}

/* The fraction in 1/2..1 and the exponent; 0, infinity and NaN are their own fraction, and their own multiple. */
void cji_math_frexp_f32(cji_math *m, const cj_val *a, cj_val *r)
{
    cj_val x = a[0], subnormal = LT(ABS(x), F(0x1p-126f));
    cj_val more = MUL(x, F(0x1p24f)), normal = SEL(subnormal, more, x);
    cj_val e = exponent_of(m, ABS(normal), 126);
    WHEN(subnormal, e) = OP(add_u, e, S(-24));
    cj_val y = AND(normal, U(0x807fffff));
    y = OR(y, U(0x3f000000));
    cj_val special = OP(equ, more, x);
    WHEN(special, y) = OP(mov, x);
    WHEN(special, e) = OP(mov_u, U(0));
    r[0] = y;
    r[1] = e;
}

static cj_val scale_of(cji_math *m, cj_val k) { return OP(mad_u, k, U(1 << 23), U(0x3f800000)); }

/* Outside -126..127 in four steps, of which one rounds: where one of the first gives a subnormal number, the last one,
 * by at most 2^-31, leaves nothing of it. */
void cji_math_ldexp_f32(cji_math *m, const cj_val *a, cj_val *r)
{
    cj_val v = OP(mov, a[0]), n = OP(mov_u, a[1]);
    cj_val i = OP(add_u, n, U(126));
    IF(OP(gt_u, i, U(126 + 127))) {
        cj_val all = OP(max_s, n, S(-300));
        all = OP(min_s, all, S(300));
        cj_val k = OP(shr_s, all, U(2)), step = scale_of(m, k);
        cj_val w = MUL(v, step);
        w = MUL(w, step);
        INTO(v) = MUL(w, step);
        INTO(n) = OP(mad_u, k, S(-3), all);
    } ENDIF
    r[0] = MUL(v, scale_of(m, n));
}

/* The fraction, and the whole part. */
void cji_math_modf_f32(cji_math *m, const cj_val *a, cj_val *r)
{
    cj_val x = a[0], whole = OP(trunc, x);
    cj_val v = SUB(x, whole);
    cj_val none = EQ(whole, x);                     /* infinity too */
    WHEN(none, v) = COPYSIGN(F(0.f), x);
    r[0] = v;
    r[1] = whole;
}

void cji_math_nextafter_f32(cji_math *m, const cj_val *a, cj_val *r)
{
    cj_val x = a[0], y = a[1];
    cj_val up = LT(x, y);
    cj_val negative = OP(lt_s, x, U(0));
    cj_val toward = OP(xor_p, up, negative);        /* away from zero */
    cj_val step = SEL_U(toward, U(1), U(0xffffffff));
    cj_val v = OP(add_u, x, step);
    cj_val zero = EQ(x, F(0.f));
    WHEN(zero, v) = COPYSIGN(F(0x1p-149f), y);
    cj_val same = EQ(x, y);
    WHEN(same, v) = OP(mov, y);
    cj_val nan = OP(nan, x, y);
    WHEN(nan, v) = ADD(x, y);
    r[0] = v;
}

void cji_math_fdim_f32(cji_math *m, const cj_val *a, cj_val *r)
{
    cj_val v = SUB(a[0], a[1]);
    cj_val none = LE(a[0], a[1]);
    WHEN(none, v) = OP(mov, F(0.f));
    r[0] = v;
}

void cji_math_copysign_f32(cji_math *m, const cj_val *a, cj_val *r) { r[0] = COPYSIGN(a[0], a[1]); }

void cji_math_rint_f32(cji_math *m, const cj_val *a, cj_val *r) { r[0] = OP(rint, a[0]); }

/* Halves go away from zero: the sum is rounded toward zero, so that it does not reach the next whole number. */
void cji_math_round_f32(cji_math *m, const cj_val *a, cj_val *r)
{
    cj_val half = COPYSIGN(F(0.5f), a[0]);
    cj_val v = OP(add_zero, a[0], half);
    r[0] = OP(trunc, v);
}
