/* Complex functions of f64, real and imaginary parts apart.  Zeros, infinities and NaN as annex G of C. */
#include "ptx/math/exp_f64.h"

/* 2^j in a register: j is a whole number from -1022 to 1023. */
static cj_val power_of_two_d(cji_math *m, cj_val j)
{
    cj_val high = OP(mad_u, j, U(1 << 20), U(0x3ff00000));
    return PAIR(U(0), high);
}

/* e^x = 2^j (1 + t): cosine and sine are multiplied by 1 + t in one fma each, and then by three powers of two, since a
 * subnormal sine can make a normal number of an e^x far above all of them. */
void cji_math_complex_exp_f64(cji_math *m, const cj_val *a, cj_val *r)
{
    cj_val x = a[0], y = a[1], wave[CJI_MATH_ARGS];
    cj_val b = cji_math_clamped(m, x, -1500.0, 1500.0);
    cj_val v = FMA_D(b, D(0x1.71547652b82fep0), D(SHIFT_D));
    cj_val nj = SUB_D(D(SHIFT_D), v);
    cj_val f = FMA_D(nj, D(0x1.62e42fefa39efp-1), b);
    cj_val c = MUL_D(nj, D(0x1.abc9e3b39803fp-56));
    cj_val h = ADD_D(f, c);
    cj_val p = cji_math_expm1_tail(m, h);
    cj_val g = MUL_D(h, h);
    cj_val t = FMA_D(g, p, c);
    t = ADD_D(t, f);
    cji_math_use(m, CJI_MATH_sincos_f64, &y, wave);
    cj_val re = FMA_D(wave[1], t, wave[1]), im = FMA_D(wave[0], t, wave[0]);
    cj_val j = LOW(v);
    cj_val third = OP(mul_u, j, U(85));
    third = OP(shr_s, third, U(8));
    cj_val rest = OP(mad_u, third, U(0xfffffffe), j), s = power_of_two_d(m, third), last = power_of_two_d(m, rest);
    re = MUL_D(re, s);
    re = MUL_D(re, s);
    re = MUL_D(re, last);
    im = MUL_D(im, s);
    im = MUL_D(im, s);
    im = MUL_D(im, last);
    cj_val real = EQ_D(y, D(0.0));
    WHEN(real, im) = OP(mov_d, y); /* also where x is NaN */
    cj_val size = ABS_D(y);
    cj_val lost = OP(geu_d, size, D(INFINITE_D)), up = EQ_D(x, D(INFINITE_D)), down = EQ_D(x, D(-INFINITE_D));
    up = BOTH(up, lost);
    down = BOTH(down, lost);
    WHEN(up, re) = OP(mov_d, x);
    WHEN(down, re) = OP(mov_d, D(0.0));
    WHEN(down, im) = OP(mov_d, D(0.0));
    r[0] = re;
    r[1] = im;
}

/* log|z| = log M + log1p((m/M)^2) / 2 for M >= m; near M = 1 log1p((M - 1)(M + 1) + m^2) / 2. */
void cji_math_complex_log_f64(cji_math *m, const cj_val *a, cj_val *r)
{
    cj_val x = a[0], y = a[1], base, k, back[2] = { y, x };
    cj_val ax = ABS_D(x), ay = ABS_D(y);
    cj_val most = OP(max_d, ax, ay), least = OP(min_d, ax, ay);
    cji_math_use(m, CJI_MATH_atan2_f64, back, &r[1]);
    cj_val above = GE_D(most, D(0.75)), below = LE_D(most, D(1.5)), near = BOTH(above, below);
    cj_val q = DIV_D(least, most);
    q = MUL_D(q, q);
    cj_val d = SUB_D(most, D(1.0));
    cj_val w = ADD_D(d, d);
    w = FMA_D(least, least, w);
    w = FMA_D(d, d, w);
    w = SEL_D(near, w, q);
    cj_val far = SEL_D(near, D(1.0), most);
    cji_math_use(m, CJI_MATH_log_f64, &far, &base);
    cji_math_use(m, CJI_MATH_log1p_f64, &w, &k);
    cj_val l = FMA_D(k, D(0.5), base);
    cj_val none = EQ_D(most, D(0.0)), nan = OP(nan_d, x, y), infinite = EQ_D(most, D(INFINITE_D));
    WHEN(none, l) = OP(mov_d, D(-INFINITE_D));
    WHEN(nan, l) = OP(mov_d, D(__builtin_nan("")));
    WHEN(infinite, l) = OP(mov_d, most);
    r[0] = l;
}

/* t = sqrt((|x| + |z|) / 2) is one part, |y| / 2t the other. */
void cji_math_complex_sqrt_f64(cji_math *m, const cj_val *a, cj_val *r)
{
    cj_val z[2], h, x = a[0], y = a[1], ax = ABS_D(x), ay = ABS_D(y);
    cj_val most = OP(max_d, ax, ay);
    cj_val large = GT_D(most, D(0x1p1020)), small = LT_D(most, D(0x1p-800));
    cj_val s = SEL_D(large, D(0x1p-4), D(1.0)), back = SEL_D(large, D(4.0), D(1.0));
    s = SEL_D(small, D(0x1p400), s);
    back = SEL_D(small, D(0x1p-200), back);
    z[0] = MUL_D(ax, s);
    z[1] = MUL_D(ay, s);
    cji_math_use(m, CJI_MATH_hypot_f64, z, &h);
    cj_val t = ADD_D(h, z[0]);
    t = MUL_D(t, D(0.5));
    t = OP(sqrt_d, t);
    cj_val two = ADD_D(t, t);
    cj_val q = DIV_D(z[1], two), none = EQ_D(t, D(0.0));
    WHEN(none, q) = OP(mov_d, t);
    t = MUL_D(t, back);
    q = MUL_D(q, back);
    cj_val right = GE_D(x, D(0.0));
    cj_val re = SEL_D(right, t, q), im = SEL_D(right, q, t), infinite = EQ_D(ay, D(INFINITE_D));
    WHEN(infinite, re) = OP(mov_d, ay);
    WHEN(infinite, im) = OP(mov_d, ay);
    r[0] = re;
    r[1] = COPYSIGN_D(im, y);
}

/* ---- Division ---------------------------------------------------------------------------------------------------- */

/* a c + b d, nearly rounded once. */
static cj_val sum_of_products_d(cji_math *m, cj_val a, cj_val c, cj_val b, cj_val d)
{
    cj_val w = MUL_D(b, d);
    cj_val n = NEG_D(w);
    cj_val e = FMA_D(b, d, n), f = FMA_D(a, c, w);
    return ADD_D(f, e);
}

/* |z|^2, rounded once: what each square and their sum have lost is added. */
static cj_val square_of_d(cji_math *m, const cj_val *z)
{
    cj_val xx = MUL_D(z[0], z[0]), yy = MUL_D(z[1], z[1]);
    cj_val nx = NEG_D(xx), ny = NEG_D(yy);
    cj_val ex = FMA_D(z[0], z[0], nx), ey = FMA_D(z[1], z[1], ny);
    cj_val most = OP(max_d, xx, yy), least = OP(min_d, xx, yy);
    cj_val sum = ADD_D(most, least);
    cj_val kept = SUB_D(sum, most);
    cj_val low = SUB_D(least, kept);
    low = ADD_D(low, ex);
    low = ADD_D(low, ey);
    return ADD_D(sum, low);
}

/* Both parts times a power of two, so that the larger is 1 to 4: *e is its exponent and a bias. */
static cj_val scaled_parts_d(cji_math *m, const cj_val *z, cj_val *s, cj_val *e)
{
    cj_val x = ABS_D(z[0]), y = ABS_D(z[1]);
    cj_val most = OP(max_d, x, y);
    *e = HIGH(most);
    *e = SHR(*e, U(20));
    *e = OP(min_s, *e, U(2045));
    cj_val high = OP(sub_u, U(2046), *e);
    high = SHL(high, U(20));
    cj_val k = PAIR(U(0), high);
    s[0] = MUL_D(z[0], k);
    s[1] = MUL_D(z[1], k);
    return most;
}

/* 1 or 0 for infinite or not, with the sign. */
static cj_val infinity_as_one_d(cji_math *m, cj_val x)
{
    cj_val size = ABS_D(x);
    cj_val one = SEL_D(EQ_D(size, D(INFINITE_D)), D(1.0), D(0.0));
    return COPYSIGN_D(one, x);
}

static cj_val is_finite_pair_d(cji_math *m, const cj_val *z, cj_val most)
{
    cj_val finite = LT_D(most, D(INFINITE_D)), number = OP(nan_d, z[0], z[1]);
    number = NOT(number);
    return BOTH(finite, number);
}

/* *re, *im = k (n / d), without the division: n times the conjugate of d. */
static void directed_d(cji_math *m, cj_val k, const cj_val *n, const cj_val *d, cj_val *re, cj_val *im)
{
    cj_val p = MUL_D(n[1], d[1]);
    p = FMA_D(n[0], d[0], p);
    INTO(*re) = MUL_D(p, k);
    p = MUL_D(n[0], d[1]);
    p = NEG_D(p);
    p = FMA_D(n[1], d[0], p);
    INTO(*im) = MUL_D(p, k);
}

/* Infinities and zeros that NaN hides: x / 0, infinity / x, x / infinity. */
static void recovered_d(cji_math *m, const cj_val *n, const cj_val *d, const cj_val *most, cj_val *re, cj_val *im)
{
    cj_val unit[2], zero = EQ_D(most[1], D(0.0));
    IF(zero) {
        cj_val k = COPYSIGN_D(D(INFINITE_D), d[0]);
        INTO(*re) = MUL_D(k, n[0]);
        INTO(*im) = MUL_D(k, n[1]);
    } ENDIF
    cj_val large = EQ_D(most[0], D(INFINITE_D)), finite = is_finite_pair_d(m, d, most[1]);
    large = BOTH(large, finite);
    IF(large) {
        unit[0] = infinity_as_one_d(m, n[0]);
        unit[1] = infinity_as_one_d(m, n[1]);
        directed_d(m, D(INFINITE_D), unit, d, re, im);
    } ENDIF
    large = EQ_D(most[1], D(INFINITE_D));
    finite = is_finite_pair_d(m, n, most[0]);
    large = BOTH(large, finite);
    IF(large) {
        unit[0] = infinity_as_one_d(m, d[0]);
        unit[1] = infinity_as_one_d(m, d[1]);
        directed_d(m, D(0.0), n, unit, re, im);
    } ENDIF
}

void cji_math_complex_div_f64(cji_math *m, const cj_val *a, cj_val *r)
{
    cj_val n[2], d[2], most[2], e, by;
    most[0] = scaled_parts_d(m, a, n, &e);
    most[1] = scaled_parts_d(m, a + 2, d, &by);
    cj_val square = square_of_d(m, d), minus = NEG_D(n[0]);
    cj_val re = sum_of_products_d(m, n[0], d[0], n[1], d[1]), im = sum_of_products_d(m, n[1], d[0], minus, d[1]);
    re = DIV_D(re, square);
    im = DIV_D(im, square);
    e = OP(sub_u, e, by);
    cj_val half = OP(shr_s, e, U(1));
    cj_val rest = OP(sub_u, e, half), s = power_of_two_d(m, half), last = power_of_two_d(m, rest);
    re = MUL_D(re, s);
    re = MUL_D(re, last);
    im = MUL_D(im, s);
    im = MUL_D(im, last);
    cj_val lost = OP(nan_d, re, re), other = OP(nan_d, im, im);
    lost = EITHER(lost, other);
    IF(lost) { recovered_d(m, a, a + 2, most, &re, &im); } ENDIF
    r[0] = re;
    r[1] = im;
}
