/* e^x, 2^x and 10^x in f64. */
#include "ptx/math/exp_f64.h"

/* (e^f - 1) / f has degree 10, within 2^-55.5 for |f| <= ln 2 / 2.  A coefficient whose low word is 0 is part of its
 * instruction, others take up to two more: here and elsewhere those of the highest degrees are such, and what they are
 * rounded by is made up for in the lower ones. */
cj_val cji_math_exp_reduced(cji_math *m, cj_val f)
{
    return POLY_D(f, 0x1.ae776p-26, 0x1.28a29p-22, 0x1.71de8p-19, 0x1.a019a69f4d0a1p-16, 0x1.a01a017919fc5p-13,
                  0x1.6c16c17f30897p-10, 0x1.111111111817bp-7, 0x1.5555555552101p-5, 0x1.555555555553fp-3,
                  0x1.0000000000005p-1, 1.0, 1.0);
}

cj_val cji_math_expm1_tail(cji_math *m, cj_val h)
{
    return POLY_D(h, 0x1.ae776p-26, 0x1.28a29p-22, 0x1.71de8p-19, 0x1.a019a69f4d0a1p-16, 0x1.a01a017919fc5p-13,
                  0x1.6c16c17f30897p-10, 0x1.111111111817bp-7, 0x1.5555555552101p-5, 0x1.555555555553fp-3,
                  0x1.0000000000005p-1);
}

/* Both factors are normal numbers, so a subnormal product is rounded once. */
cj_val cji_math_scale(cji_math *m, cj_val p, cj_val j)
{
    cj_val h = OP(shr_s, j, U(1));
    cj_val rest = OP(sub_u, j, h);
    h = OP(mad_u, h, U(1 << 20), U(0x3ff00000));
    rest = OP(mad_u, rest, U(1 << 20), U(0x3ff00000));
    cj_val one = PAIR(U(0), h);
    cj_val q = MUL_D(p, one);
    cj_val other = PAIR(U(0), rest);
    return MUL_D(q, other);
}

cj_val cji_math_clamped(cji_math *m, cj_val x, double least, double most)
{
    cj_val y = SEL_D(LT_D(x, D(least)), D(least), x);
    return SEL_D(GT_D(y, D(most)), D(most), y);
}

cj_val cji_math_scaled(cji_math *m, cj_val p, cj_val j, cj_val x, double usual, double last)
{
    cj_val shifted = SHL(j, U(20)), v = ADD_HIGH(p, shifted), rare = BEYOND_D(x, usual);
    IF(rare) {
        cj_val over = ADD_D(x, D(INFINITE_D)), negative = LT_D(x, D(0.0));
        INTO(v) = OP(sel_d, D(0.0), over, negative);
        IF(BELOW_D(x, last)) {
            cj_val twice = cji_math_scale(m, p, j);
            INTO(v) = OP(mov_d, twice);
        }
        ENDIF
    }
    ENDIF
    return v;
}

static cj_val exp_rounded(cji_math *m, cj_val y, cj_val *t)
{
    *t = FMA_D(y, D(0x1.71547652b82fep0), D(SHIFT_D));
    cj_val j = SUB_D(*t, D(SHIFT_D));
    cj_val f = FMA_D(j, D(-0x1.62e42fefa39efp-1), y);
    f = FMA_D(j, D(-0x1.abc9e3b39803fp-56), f);
    return cji_math_exp_reduced(m, f);
}

cj_val cji_math_exp_any(cji_math *m, cj_val x)
{
    cj_val t, p = exp_rounded(m, x, &t);
    return cji_math_scaled(m, p, LOW(t), x, 708.0, 746.0);
}

void cji_math_exp_f64(cji_math *m, const cj_val *a, cj_val *r) { r[0] = cji_math_exp_any(m, a[0]); }

void cji_math_exp2_f64(cji_math *m, const cj_val *a, cj_val *r)
{
    cj_val x = a[0], t = ADD_D(x, D(SHIFT_D));
    cj_val j = SUB_D(t, D(SHIFT_D));
    cj_val f = SUB_D(x, j);
    f = MUL_D(f, D(0x1.62e42fefa39efp-1));
    cj_val p = cji_math_exp_reduced(m, f);
    r[0] = cji_math_scaled(m, p, LOW(t), x, 1022.0, 1080.0);
}

void cji_math_exp10_f64(cji_math *m, const cj_val *a, cj_val *r)
{
    cj_val x = a[0], t = FMA_D(x, D(0x1.a934f0979a371p1), D(SHIFT_D));
    cj_val j = SUB_D(t, D(SHIFT_D));
    cj_val f = FMA_D(j, D(-0x1.34413509f79ffp-2), x);
    f = FMA_D(j, D(0x1.9dc1da994fd21p-59), f);
    cj_val low = MUL_D(f, D(-0x1.f48ad494ea3e9p-53));
    f = FMA_D(f, D(0x1.26bb1bbb55516p1), low);
    cj_val p = cji_math_exp_reduced(m, f);
    r[0] = cji_math_scaled(m, p, LOW(t), x, 307.0, 325.0);
}
