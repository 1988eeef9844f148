/* Complex functions of f32, real and imaginary parts apart.  Zeros, infinities and NaN as annex G of C. */
#include "ptx/math/ops.h"

/* 2^j in a register: j is a whole number from -126 to 127. */
static cj_val power_of_two_f(cji_math *m, cj_val j) { return OP(mad_u, j, U(1 << 23), U(0x3f800000)); }

/* e^x = 2^j (1 + t): cosine and sine are multiplied by 1 + t in one fma each, and then by three powers of two, since a
 * subnormal sine can make a normal number of an e^x far above all of them. */
void cji_math_complex_exp_f32(cji_math *m, const cj_val *a, cj_val *r)
{
    cj_val x = a[0], y = a[1], wave[CJI_MATH_ARGS];
    cj_val b = AT_LEAST(x, -200.f);
    b = AT_MOST(b, 200.f);
    cj_val v = FMA(b, F(0x1.715476p0f), F(SHIFT_F));
    cj_val nj = SUB(F(SHIFT_F), v);
    cj_val f = FMA(nj, F(0x1.62e43p-1f), b); /* exact */
    cj_val c = MUL(nj, F(-0x1.05c61p-29f));
    cj_val h = ADD(f, c);
    cj_val p = POLY(h, 0x1.9e0d08p-13f, 0x1.6d439ap-10f, 0x1.111306p-7f, 0x1.5554fp-5f, 0x1.555554p-3f, 0.5f);
    cj_val g = MUL(h, h);
    cj_val t = FMA(g, p, c);
    t = ADD(t, f);
    cji_math_use(m, CJI_MATH_sincos_f32, &y, wave);
    cj_val re = FMA(wave[1], t, wave[1]), im = FMA(wave[0], t, wave[0]);
    cj_val j = OP(sub_u, v, U(0x4b400000));
    cj_val third = OP(mul_u, j, U(85));
    third = OP(shr_s, third, U(8));
    cj_val rest = OP(mad_u, third, U(0xfffffffe), j), s = power_of_two_f(m, third), last = power_of_two_f(m, rest);
    re = MUL(re, s);
    re = MUL(re, s);
    re = MUL(re, last);
    im = MUL(im, s);
    im = MUL(im, s);
    im = MUL(im, last);
    cj_val real = EQ(y, F(0.f));
    WHEN(real, im) = OP(mov, y); /* also where x is NaN */
    cj_val size = ABS(y);
    cj_val lost = OP(geu, size, F(INFINITE)), up = EQ(x, F(INFINITE)), down = EQ(x, F(-INFINITE));
    up = BOTH(up, lost);
    down = BOTH(down, lost);
    WHEN(up, re) = OP(mov, x);
    WHEN(down, re) = OP(mov, F(0.f));
    WHEN(down, im) = OP(mov, F(0.f));
    r[0] = re;
    r[1] = im;
}

/* log|z| = log M + log1p((m/M)^2) / 2 for M >= m; near M = 1 log1p((M - 1)(M + 1) + m^2) / 2. */
void cji_math_complex_log_f32(cji_math *m, const cj_val *a, cj_val *r)
{
    cj_val x = a[0], y = a[1], base, k, back[2] = { y, x };
    cj_val ax = ABS(x), ay = ABS(y);
    cj_val most = OP(max, ax, ay), least = OP(min, ax, ay);
    cji_math_use(m, CJI_MATH_atan2_f32, back, &r[1]);
    cj_val above = GE(most, F(0.75f)), below = LE(most, F(1.5f)), near = BOTH(above, below);
    cj_val q = DIV(least, most);
    q = MUL(q, q);
    cj_val d = SUB(most, F(1.f));
    cj_val w = ADD(d, d);
    w = FMA(least, least, w);
    w = FMA(d, d, w);
    w = SEL(near, w, q);
    cj_val far = SEL(near, F(1.f), most);
    cji_math_use(m, CJI_MATH_log_f32, &far, &base);
    cji_math_use(m, CJI_MATH_log1p_f32, &w, &k);
    cj_val l = FMA(k, F(0.5f), base);
    cj_val none = EQ(most, F(0.f)), nan = OP(nan, x, y), infinite = EQ(most, F(INFINITE));
    WHEN(none, l) = OP(mov, F(-INFINITE));
    WHEN(nan, l) = OP(mov_u, U(NAN_U));
    WHEN(infinite, l) = OP(mov, most);
    r[0] = l;
}

/* t = sqrt((|x| + |z|) / 2) is one part, |y| / 2t the other. */
void cji_math_complex_sqrt_f32(cji_math *m, const cj_val *a, cj_val *r)
{
    cj_val z[2], h, x = a[0], y = a[1], ax = ABS(x), ay = ABS(y);
    cj_val most = OP(max, ax, ay);
    cj_val large = GT(most, F(0x1p124f)), small = LT(most, F(0x1p-100f));
    cj_val s = SEL(large, F(0x1p-4f), F(1.f)), back = SEL(large, F(4.f), F(1.f));
    s = SEL(small, F(0x1p60f), s);
    back = SEL(small, F(0x1p-30f), back);
    z[0] = MUL(ax, s);
    z[1] = MUL(ay, s);
    cji_math_use(m, CJI_MATH_hypot_f32, z, &h);
    cj_val t = ADD(h, z[0]);
    t = MUL(t, F(0.5f));
    t = OP(sqrt, t);
    cj_val two = ADD(t, t);
    cj_val q = DIV(z[1], two), none = EQ(t, F(0.f));
    WHEN(none, q) = OP(mov, t);
    t = MUL(t, back);
    q = MUL(q, back);
    cj_val right = GE(x, F(0.f));
    cj_val re = SEL(right, t, q), im = SEL(right, q, t), infinite = EQ(ay, F(INFINITE));
    WHEN(infinite, re) = OP(mov, ay);
    WHEN(infinite, im) = OP(mov, ay);
    r[0] = re;
    r[1] = COPYSIGN(im, y);
}

/* ---- Division ---------------------------------------------------------------------------------------------------- */

/* a c + b d, nearly rounded once. */
static cj_val sum_of_products(cji_math *m, cj_val a, cj_val c, cj_val b, cj_val d)
{
    cj_val w = MUL(b, d);
    cj_val n = NEG(w);
    cj_val e = FMA(b, d, n), f = FMA(a, c, w);
    return ADD(f, e);
}

/* |z|^2, rounded once: what each square and their sum have lost is added. */
static cj_val square_of(cji_math *m, const cj_val *z)
{
    cj_val xx = MUL(z[0], z[0]), yy = MUL(z[1], z[1]);
    cj_val nx = NEG(xx), ny = NEG(yy);
    cj_val ex = FMA(z[0], z[0], nx), ey = FMA(z[1], z[1], ny);
    cj_val most = OP(max, xx, yy), least = OP(min, xx, yy);
    cj_val sum = ADD(most, least);
    cj_val kept = SUB(sum, most);
    cj_val low = SUB(least, kept);
    low = ADD(low, ex);
    low = ADD(low, ey);
    return ADD(sum, low);
}

/* Both parts times a power of two, so that the larger is 1 to 4: *e is its exponent and a bias. */
static cj_val scaled_parts(cji_math *m, const cj_val *z, cj_val *s, cj_val *e)
{
    cj_val x = ABS(z[0]), y = ABS(z[1]);
    cj_val most = OP(max, x, y);
    *e = SHR(most, U(23));
    *e = OP(min_s, *e, U(253));
    cj_val k = OP(sub_u, U(254), *e);
    k = SHL(k, U(23));
    s[0] = MUL(z[0], k);
    s[1] = MUL(z[1], k);
    return most;
}

/* 1 or 0 for infinite or not, with the sign. */
static cj_val infinity_as_one(cji_math *m, cj_val x)
{
    cj_val size = ABS(x);
    cj_val one = SEL(EQ(size, F(INFINITE)), F(1.f), F(0.f));
    return COPYSIGN(one, x);
}

static cj_val is_finite_pair(cji_math *m, const cj_val *z, cj_val most)
{
    cj_val finite = LT(most, F(INFINITE)), number = OP(nan, z[0], z[1]);
    number = NOT(number);
    return BOTH(finite, number);
}

/* *re, *im = k (n / d), without the division: n times the conjugate of d. */
static void directed(cji_math *m, cj_val k, const cj_val *n, const cj_val *d, cj_val *re, cj_val *im)
{
    cj_val p = MUL(n[1], d[1]);
    p = FMA(n[0], d[0], p);
    INTO(*re) = MUL(p, k);
    p = MUL(n[0], d[1]);
    p = NEG(p);
    p = FMA(n[1], d[0], p);
    INTO(*im) = MUL(p, k);
}

/* Infinities and zeros that NaN hides: x / 0, infinity / x, x / infinity. */
static void recovered(cji_math *m, const cj_val *n, const cj_val *d, const cj_val *most, cj_val *re, cj_val *im)
{
    cj_val unit[2], zero = EQ(most[1], F(0.f));
    IF(zero) {
        cj_val k = COPYSIGN(F(INFINITE), d[0]);
        INTO(*re) = MUL(k, n[0]);
        INTO(*im) = MUL(k, n[1]);
    } ENDIF
    cj_val large = EQ(most[0], F(INFINITE)), finite = is_finite_pair(m, d, most[1]);
    large = BOTH(large, finite);
    IF(large) {
        unit[0] = infinity_as_one(m, n[0]);
        unit[1] = infinity_as_one(m, n[1]);
        directed(m, F(INFINITE), unit, d, re, im);
    } ENDIF
    large = EQ(most[1], F(INFINITE));
    finite = is_finite_pair(m, n, most[0]);
    large = BOTH(large, finite);
    IF(large) {
        unit[0] = infinity_as_one(m, d[0]);
        unit[1] = infinity_as_one(m, d[1]);
        directed(m, F(0.f), n, unit, re, im);
    } ENDIF
}

void cji_math_complex_div_f32(cji_math *m, const cj_val *a, cj_val *r)
{
    cj_val n[2], d[2], most[2], e, by;
    most[0] = scaled_parts(m, a, n, &e);
    most[1] = scaled_parts(m, a + 2, d, &by);
    cj_val square = square_of(m, d), minus = NEG(n[0]);
    cj_val re = sum_of_products(m, n[0], d[0], n[1], d[1]), im = sum_of_products(m, n[1], d[0], minus, d[1]);
    re = DIV(re, square);
    im = DIV(im, square);
    e = OP(sub_u, e, by);
    cj_val half = OP(shr_s, e, U(1));
    cj_val rest = OP(sub_u, e, half), s = power_of_two_f(m, half), last = power_of_two_f(m, rest);
    re = MUL(re, s);
    re = MUL(re, last);
    im = MUL(im, s);
    im = MUL(im, last);
    cj_val lost = OP(nan, re, re), other = OP(nan, im, im);
    lost = EITHER(lost, other);
    IF(lost) { recovered(m, a, a + 2, most, &re, &im); } ENDIF
    r[0] = re;
    r[1] = im;
}
