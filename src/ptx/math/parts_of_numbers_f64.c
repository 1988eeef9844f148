/* Parts of a number, and neighbours, in f64: all exact. */
#include "ptx/math/ops.h"

void cji_math_copysign_f64(cji_math *m, const cj_val *a, cj_val *r) { r[0] = COPYSIGN_D(a[0], a[1]); }
void cji_math_rint_f64(cji_math *m, const cj_val *a, cj_val *r) { r[0] = OP(rint_d, a[0]); }

/* Half away from 0: the number before 1/2 is added, so that nothing below a half comes to 1. */
void cji_math_round_f64(cji_math *m, const cj_val *a, cj_val *r)
{
    cj_val half = COPYSIGN_D(D(0x1.fffffffffffffp-2), a[0]);
    r[0] = OP(trunc_d, ADD_D(a[0], half));
}

void cji_math_fdim_f64(cji_math *m, const cj_val *a, cj_val *r)
{
    cj_val d = SUB_D(a[0], a[1]);
    r[0] = SEL_D(LE_D(a[0], a[1]), D(0.0), d);
}

/* The fraction and the whole part, both with the sign of the number. */
void cji_math_modf_f64(cji_math *m, const cj_val *a, cj_val *r)
{
    cj_val x = a[0], whole = OP(trunc_d, x), v = SUB_D(x, whole);
    IF(EQ_D(x, whole)) {                                /* infinity too: a zero */
        cj_val sign = AND(HIGH(x), U(0x80000000u));
        INTO(v) = OP(mov_d, PAIR(U(0), sign));
    }
    ENDIF
    r[0] = v;
    r[1] = whole;
}

/* The biased exponent of a finite b > 0, under 1 where it is subnormal; *scaled: b or b 2^54. */
static cj_val exponent_of_d(cji_math *m, cj_val b, cj_val *scaled)
{
    cj_val subnormal = LT_D(b, D(0x1p-1022)), s = OP(mov_d, b);
    WHEN(subnormal, s) = MUL_D(b, D(0x1p54));
    cj_val k = SHR(HIGH(s), U(20));
    WHEN(subnormal, k) = OP(sub_u, k, U(54));
    *scaled = s;
    return k;
}

/* INT_MIN of 0 and NaN, INT_MAX of infinities. */
void cji_math_ilogb_f64(cji_math *m, const cj_val *a, cj_val *r)
{
    cj_val s, b = ABS_D(a[0]), k = exponent_of_d(m, b, &s), inf = D(__builtin_inf());
    k = OP(sub_u, k, U(1023));
    k = SEL_U(EQ_D(b, inf), U(0x7fffffff), k);
    cj_val none = OP(gtu_d, b, inf);
    none = EITHER(none, EQ_D(b, D(0.0)));
    r[0] = SEL_U(none, U(0x80000000u), k);
}

/* 0, subnormal numbers, infinities and NaN are behind one branch, which most warps do not take. */
void cji_math_logb_f64(cji_math *m, const cj_val *a, cj_val *r)
{
    cj_val high = AND(HIGH(a[0]), U(0x7fffffff)), k = SHR(high, U(20)), i = OP(sub_u, high, U(0x00100000));
    k = OP(sub_u, k, U(1023));
    cj_val v = OP(d_of_s, k);
    IF(OP(ge_u, i, U(0x7fe00000))) {
        cj_val b = ABS_D(a[0]), s = MUL_D(b, D(0x1p54));
        k = SHR(HIGH(s), U(20));
        k = OP(sub_u, k, U(1023 + 54));
        cj_val zero = EQ_D(b, D(0.0)), large = OP(geu_d, b, D(1.0));
        INTO(v) = OP(d_of_s, k);
        WHEN(zero, v) = OP(mov_d, D(-__builtin_inf()));
        WHEN(large, v) = OP(mov_d, b);
    }
    ENDIF
    r[0] = v;
}

/* The mantissa in 1/2..1, and the exponent; the number itself and 0 of 0, infinities and NaN. */
void cji_math_frexp_f64(cji_math *m, const cj_val *a, cj_val *r)
{
    cj_val low, high, x = a[0], twice = ADD_D(x, x), special = OP(equ_d, twice, x), s = OP(mov_d, x);
    cj_val subnormal = LT_D(ABS_D(x), D(0x1p-1022));
    subnormal = BOTH(subnormal, NOT(special));
    WHEN(subnormal, s) = MUL_D(x, D(0x1p54));
    cji_m_split(m, s, &low, &high);
    cj_val k = SHR(high, U(20));
    k = AND(k, U(0x7ff));
    k = OP(sub_u, k, U(1022));
    k = SEL_U(special, U(0), k);
    high = OP(mad_u, k, U(0xfff00000u), high);          /* takes k off the biased exponent, which leaves 1022 */
    WHEN(subnormal, k) = OP(sub_u, k, U(54));
    r[0] = PAIR(low, high);
    r[1] = k;
}

/* Four factors: up to 2^216 one of them only, else a quarter of the exponent each, so that what is subnormal is rounded
 * in the last product. */
void cji_math_ldexp_f64(cji_math *m, const cj_val *a, cj_val *r)
{
    cj_val n = OP(min_s, a[1], U(2099)), i = OP(add_u, n, U(2099));
    i = OP(max_s, i, U(0));                             /* from -2099 on */
    n = OP(sub_u, i, U(2099));
    cj_val q = OP(shr_s, n, U(2));
    i = OP(sub_u, i, U(2099 - 216));
    q = SEL_U(OP(lt_u, i, U(433)), U(0), q);
    cj_val rest = OP(mad_u, q, U(0xfffffffdu), n);
    q = OP(mad_u, q, U(1 << 20), U(0x3ff00000));
    rest = OP(mad_u, rest, U(1 << 20), U(0x3ff00000));
    q = PAIR(U(0), q);
    rest = PAIR(U(0), rest);
    cj_val v = MUL_D(a[0], rest);
    v = MUL_D(v, q);
    v = MUL_D(v, q);
    r[0] = MUL_D(v, q);
}

/* One up or down in the bits; from 0 the smallest number with the sign of the other. */
void cji_math_nextafter_f64(cji_math *m, const cj_val *a, cj_val *r)
{
    cj_val x = a[0], y = a[1], up = OP(lt_d, x, y), negative = OP(lt_x, x, U(0));
    cj_val step = SEL_W(OP(xor_p, up, negative), U(1), U(UINT64_MAX)); /* away from 0, or towards it */
    cj_val v = OP(add_w, x, step);
    cj_val least = COPYSIGN_D(D(0x1p-1074), y);
    v = SEL_W(EQ_D(x, D(0.0)), least, v);
    v = SEL_W(EQ_D(x, y), y, v);
    cj_val nan = OP(nan_d, x, y);
    WHEN(nan, v) = ADD_D(x, y);
    r[0] = v;
}
