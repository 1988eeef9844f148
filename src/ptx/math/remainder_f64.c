/* fmod and remainder in f64: exact, 48 bits of the quotient a turn. */
#include "ptx/math/log_f64.h"

/* A magnitude as a mantissa in 1..2; *e: the biased exponent, as if subnormal numbers went on below 1. */
static cj_val mantissa_of(cji_math *m, cj_val x, cj_val *e)
{
    cj_val low, high, subnormal = LT_D(x, D(0x1p-1022)), scaled = OP(mov_d, x);
    WHEN(subnormal, scaled) = MUL_D(x, D(0x1p54));
    cji_m_split(m, scaled, &low, &high);
    cj_val k = SHR(high, U(20));
    WHEN(subnormal, k) = OP(sub_u, k, U(54));
    *e = k;
    high = AND(high, U(0x000fffff));
    high = OR(high, U(0x3ff00000));
    return PAIR(low, high);
}

/* x mod y for magnitudes 0 < y <= x, as a mantissa in 0..*my; the result is that times 2^(*ey - 1023).  The partial
 * remainder is signed and at most little over half of *my: every fma is exact.  *q: the quotient's last bits. */
static cj_val modulo(cji_math *m, cj_val x, cj_val y, cj_val *my, cj_val *ey, cj_val *q)
{
    cj_val ex, r = mantissa_of(m, x, &ex), d = mantissa_of(m, y, ey), n = OP(sub_u, ex, *ey);
    cj_val rc = cji_math_reciprocal(m, d);
    cj_val nd = NEG_D(d);
    cj_val last = U(0);
    if (q) last = OP(mov_u, U(0));
    DO {
        cj_val k = OP(min_s, n, U(48));
        cj_val up = OP(mad_u, k, U(1 << 20), U(0x3ff00000));
        up = PAIR(U(0), up);
        INTO(r) = MUL_D(r, up);
        cj_val t = FMA_D(r, rc, D(SHIFT_D));
        if (q) {
            cj_val part, high;
            cji_m_split(m, t, &part, &high);
            INTO(last) = OP(shl_u, last, k);            /* by 32 and more: 0 */
            INTO(last) = OP(add_u, last, part);
        }
        t = SUB_D(t, D(SHIFT_D));
        INTO(r) = FMA_D(t, nd, r);
        INTO(n) = OP(sub_u, n, k);
    }
    AGAIN(OP(gt_s, n, U(0)))
    cj_val negative = LT_D(r, D(0.0));
    WHEN(negative, r) = ADD_D(r, d);
    if (q) { WHEN(negative, last) = OP(sub_u, last, U(1)); }
    *my = d;
    if (q) *q = last;
    return r;
}

/* r 2^(e - 1023) for a biased exponent e that may be under 1: one rounding, and that exact. */
static cj_val placed(cji_math *m, cj_val r, cj_val e)
{
    cj_val small = OP(lt_s, e, U(1)), s = OP(mov_u, e);
    WHEN(small, s) = OP(add_u, e, U(54));
    s = SHL(s, U(20));
    s = PAIR(U(0), s);
    cj_val v = MUL_D(r, s);
    WHEN(small, v) = MUL_D(v, D(0x1p-54));
    return v;
}

/* NaN where x is infinite, y is 0, or one is NaN. */
static cj_val defined(cji_math *m, cj_val x, cj_val y, cj_val r)
{
    cj_val none = OP(geu_d, x, D(__builtin_inf()));
    none = EITHER(none, OP(equ_d, y, D(0.0)));
    return SEL_W(none, U(NAN_W), r);
}

void cji_math_fmod_f64(cji_math *m, const cj_val *a, cj_val *r)
{
    cj_val x = ABS_D(a[0]), y = ABS_D(a[1]), v = OP(mov_d, x), go = GE_D(x, y);
    go = BOTH(go, GT_D(y, D(0.0)));
    go = BOTH(go, LT_D(x, D(__builtin_inf())));
    IF(go) {
        cj_val my, ey, w = modulo(m, x, y, &my, &ey, NULL);
        w = placed(m, w, ey);
        INTO(v) = OP(mov_d, w);
    }
    ENDIF
    v = defined(m, x, y, v);
    r[0] = COPYSIGN_D(v, a[0]);
}

/* The remainder to the nearest, of magnitudes; *quotient: its last bits, where they are wanted. */
static cj_val nearest_remainder_d(cji_math *m, cj_val x, cj_val y, cj_val *quotient)
{
    cj_val v = OP(mov_d, x), rest = SUB_D(y, x);        /* exact where the two sides are near */
    cj_val less = OP(lt_d, x, y);
    less = BOTH(less, GT_D(x, rest));
    less = BOTH(less, LT_D(y, D(__builtin_inf())));
    WHEN(less, v) = SUB_D(x, y);
    if (quotient) *quotient = OP(sel_u, U(1), U(0), less);
    cj_val go = GE_D(x, y);
    go = BOTH(go, GT_D(y, D(0.0)));
    go = BOTH(go, LT_D(x, D(__builtin_inf())));
    IF(go) {
        cj_val my, ey, q, w = modulo(m, x, y, &my, &ey, &q), d = SUB_D(w, my), nd = NEG_D(d);
        cj_val odd = AND(q, U(1));
        odd = OP(ne_u, odd, U(0));
        odd = BOTH(odd, EQ_D(nd, w));
        cj_val near = EITHER(odd, LT_D(nd, w));
        w = SEL_D(near, d, w);
        w = placed(m, w, ey);
        INTO(v) = OP(mov_d, w);
        if (quotient) {
            WHEN(near, q) = OP(add_u, q, U(1));
            INTO(*quotient) = OP(mov_u, q);
        }
    }
    ENDIF
    return defined(m, x, y, v);
}

static cj_val turned(cji_math *m, cj_val v, cj_val x)
{
    cj_val sign = OP(and_w, x, U(0x8000000000000000u));
    return OP(xor_w, v, sign);
}

void cji_math_remainder_f64(cji_math *m, const cj_val *a, cj_val *r)
{
    cj_val x = ABS_D(a[0]), y = ABS_D(a[1]), v = nearest_remainder_d(m, x, y, NULL);
    r[0] = turned(m, v, a[0]);
}

/* With the last three bits of the quotient, and its sign. */
void cji_math_remquo_f64(cji_math *m, const cj_val *a, cj_val *r)
{
    cj_val q, x = ABS_D(a[0]), y = ABS_D(a[1]), v = nearest_remainder_d(m, x, y, &q);
    r[0] = turned(m, v, a[0]);
    q = AND(q, U(7));
    cj_val signs = OP(xor_w, a[0], a[1]);
    cj_val negative = OP(lt_x, signs, U(0));
    WHEN(negative, q) = OP(sub_u, U(0), q);
    r[1] = q;
}
