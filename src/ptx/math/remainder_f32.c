/* Remainders in f32, exact. */
#include "ptx/math/ops.h"

/* The long division of two positive numbers: mantissas in 1..2, up to 20 bits of the quotient in each turn.  The
 * remainder is signed, at most half of the divisor and a little, so that every fma is exact. */
typedef struct division {
    cj_val rest;                 /* in 0..divisor */
    cj_val divisor;              /* b's mantissa, in 1..2 */
    cj_val exponent;             /* b's, biased, + 24 */
    cj_val quotient;             /* its low bits: as many as are wanted */
} division;
enum wanted_bits { NO_BITS, LOWEST_BIT, LOW_BITS }; /* LOW_BITS: 22 */

/* x, or 2^24 x where it is subnormal; *e is x's exponent, biased, + 24. */
static cj_val normal_of(cji_math *m, cj_val x, cj_val *e)
{
    cj_val normal = GE(x, F(0x1p-126f));
    cj_val y = MUL(x, F(0x1p24f));
    WHEN(normal, y) = OP(mov, x);
    *e = SHR(y, U(23));
    WHEN(normal, *e) = OP(add_u, *e, U(24));
    y = AND(y, U(0x7fffff));
    return OR(y, U(0x3f800000));
}

/* a >= b > 0, both finite */
static division divided(cji_math *m, cj_val a, cj_val b, enum wanted_bits wanted)
{
    cj_val ea, eb, rest = normal_of(m, a, &ea), d = normal_of(m, b, &eb);
    cj_val n = OP(sub_u, ea, eb);
    cj_val rc = RCP(d);
    cj_val nd = NEG(d);
    cj_val q = OP(mov_u, U(0));
    cj_val more;
    DO {
        cj_val k = OP(min_s, n, U(20));
        cj_val scale = SHL(k, U(23));
        scale = OP(add_u, scale, U(0x3f800000));
        cj_val top = MUL(rest, scale);
        cj_val t = FMA(top, rc, F(SHIFT_F));
        cj_val turn = SUB(t, F(SHIFT_F));
        INTO(rest) = FMA(turn, nd, top);
        if (wanted == LOW_BITS) {
            INTO(q) = SHL(q, k);
            INTO(q) = OP(add_u, q, t);
        } else if (wanted == LOWEST_BIT) {
            INTO(q) = OP(mov_u, t);
        }
        INTO(n) = OP(sub_u, n, k);
        more = OP(gt_s, n, U(0));
    } AGAIN(more)
    cj_val negative = LT(rest, F(0.f));
    WHEN(negative, rest) = ADD(rest, d);
    if (wanted != NO_BITS) { WHEN(negative, q) = OP(add_u, q, U(0xffffffff)); }
    return (division){ rest, d, eb, q };
}

/* A mantissa with the divisor's exponent: once rounded, and exact. */
static cj_val scaled_back(cji_math *m, cj_val r, cj_val e)
{
    cj_val big = OP(gt_u, e, U(127));
    WHEN(big, e) = OP(sub_u, e, U(24));
    cj_val one = SHL(e, U(23));
    cj_val v = MUL(r, one);
    cj_val small = OP(not_p, big);
    WHEN(small, v) = MUL(v, F(0x1p-24f));
    return v;
}

/* Has a / b a remainder?  Not for an infinite a, for b = 0, and where one is NaN. */
static cj_val has_remainder(cji_math *m, cj_val a, cj_val b)
{
    cj_val finite = OP(lt_u, a, U(INFINITY_U));
    return BOTH(finite, GT(b, F(0.f)));
}

/* x - t y for the whole number t next to x times `reciprocal`; *bits has t in its low bits. */
static cj_val quick_rest(cji_math *m, cj_val x, cj_val y, cj_val reciprocal, cj_val *bits)
{
    *bits = FMA(x, reciprocal, F(SHIFT_F));
    cj_val t = SUB(*bits, F(SHIFT_F));
    return FMA(t, NEG(y), x);
}

/* The long division is for quotients of more than 20 bits, and for operands whose reciprocal is none.
 *
 * The quick rest is right where it is in 0..y: it is x less a multiple of y, and was not rounded.  With t = 0 it is x.
 * With t = 1 and x below y the difference is exact, as x is at least y / 2: the reciprocal is never too great.
 * Otherwise both are multiples of y's last place, and so is their difference, which is below y. */
void cji_math_fmod_f32(cji_math *m, const cj_val *a, cj_val *r)
{
    cj_val bits, x = ABS(a[0]), y = ABS(a[1]), rc = RCP(y);
    rc = MUL(rc, F(0x1.fffff8p-1f));
    cj_val v = quick_rest(m, x, y, rc, &bits);
    cj_val negative = LT(v, F(0.f));
    WHEN(negative, v) = ADD(v, y);
    cj_val slow = OP(ge_u, v, y);                   /* below zero, NaN too */
    IF(slow) {
        cj_val defined = has_remainder(m, x, y);
        cj_val divides = GE(x, y);
        divides = BOTH(divides, defined);
        INTO(v) = SEL_U(defined, x, U(NAN_U));
        IF(divides) {
            division d = divided(m, x, y, NO_BITS);
            cj_val w = scaled_back(m, d.rest, d.exponent);
            INTO(v) = OP(mov, w);
        } ENDIF
    } ENDIF
    r[0] = COPYSIGN(v, a[0]);
}

/* x - n y with n = x / y rounded to nearest even; *n has its low 22 bits where it is wanted.  The quick rest is right
 * where its size is below y / 2, by the reasons of fmod: no other n gives such a rest. */
static cj_val nearest_remainder(cji_math *m, const cj_val *a, cj_val *n)
{
    cj_val bits, x = ABS(a[0]), y = ABS(a[1]);
    cj_val v = quick_rest(m, x, y, RCP(y), &bits);
    cj_val twice = ADD(v, v);
    cj_val slow = OP(geu, ABS(twice), y);
    if (n) slow = EITHER(slow, OP(ge_u, bits, U(0x4b800000))); /* 2^24: a number with no place for t's low bit */
    IF(slow) {
        cj_val defined = has_remainder(m, x, y);
        INTO(v) = SEL_U(defined, x, U(NAN_U));
        cj_val twice_x = ADD(x, x);
        cj_val divides = GE(twice_x, y);
        divides = BOTH(divides, defined);
        cj_val finite = OP(lt_u, y, U(INFINITY_U));
        divides = BOTH(divides, finite);
        if (n) { INTO(bits) = OP(mov_u, U(0)); }
        IF(divides) {
            division d = divided(m, x, y, n ? LOW_BITS : LOWEST_BIT);
            cj_val odd = AND(d.quotient, U(1));
            odd = OP(ne_u, odd, U(0));
            cj_val below = SUB(d.rest, d.divisor);
            cj_val size = NEG(below);
            cj_val tie = EQ(size, d.rest);
            tie = BOTH(tie, odd);
            cj_val next = LT(size, d.rest);
            next = EITHER(next, tie);
            WHEN(next, d.rest) = OP(mov, below);
            if (n) {
                WHEN(next, d.quotient) = OP(add_u, d.quotient, U(1));
                INTO(bits) = OP(mov_u, d.quotient);
            }
            cj_val w = scaled_back(m, d.rest, d.exponent);
            INTO(v) = OP(mov, w);
        } ENDIF
    } ENDIF
    if (n) *n = bits;
    cj_val sign = AND(a[0], U(0x80000000));
    return XOR(v, sign);
}

void cji_math_remainder_f32(cji_math *m, const cj_val *a, cj_val *r) { r[0] = nearest_remainder(m, a, NULL); }

/* The quotient's three low bits, with its sign. */
void cji_math_remquo_f32(cji_math *m, const cj_val *a, cj_val *r)
{
    cj_val n;
    r[0] = nearest_remainder(m, a, &n);
    n = AND(n, U(7));
    cj_val sign = XOR(a[0], a[1]);
    cj_val negative = OP(lt_s, sign, U(0));
    WHEN(negative, n) = OP(sub_u, U(0), n);
    r[1] = n;
}
