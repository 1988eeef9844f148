/* Fused multiply-add, square root and rounding in integers: this library does without libm. */
#include <string.h>

#include "ptx/fold.h"

__extension__ typedef unsigned __int128 wide_uint;

/* A finite number as mant * 2^exp. */
typedef struct parts { bool negative; uint64_t mant; int exp; } parts;

static uint64_t double_bits(double x)
{
    uint64_t b;
    memcpy(&b, &x, sizeof b);
    return b;
}

static double double_of(uint64_t b)
{
    double x;
    memcpy(&x, &b, sizeof x);
    return x;
}

static parts split(double x)
{
    uint64_t b = double_bits(x), frac = b & 0xfffffffffffffu;
    int exp = (int)(b >> 52 & 2047);
    return (parts){ .negative = b >> 63, .mant = exp ? frac | (uint64_t)1 << 52 : frac, .exp = (exp ? exp : 1) - 1075 };
}

static int top_bit(wide_uint m)
{
    uint64_t high = (uint64_t)(m >> 64);
    return high ? 127 - __builtin_clzll(high) : 63 - __builtin_clzll((uint64_t)m | 1);
}

/* m >> n, with the lowest bit set when a one is lost. */
static wide_uint shift_sticky(wide_uint m, int n)
{
    if (n <= 0) return m;
    if (n > 127) return m != 0;
    return m >> n | ((m & (((wide_uint)1 << n) - 1)) != 0);
}

/* m * 2^exp rounded to a format of `digits` mantissa bits, least exponent `least` and exponents below `most`, as a
 * double. */
static double round_parts(bool negative, wide_uint m, int exp, int digits, int least, int most)
{
    uint64_t sign = (uint64_t)negative << 63;
    if (!m) return double_of(sign);
    int drop = top_bit(m) + 1 - digits;
    if (exp + drop < least) drop = least - exp;
    if (drop > 0) {
        wide_uint kept = drop > 127 ? 0 : m >> drop, rest = drop > 127 ? 1 : m & (((wide_uint)1 << drop) - 1);
        wide_uint half = drop > 127 ? 2 : (wide_uint)1 << (drop - 1);
        m = kept + (rest > half || (rest == half && (kept & 1)));
        exp += drop;
        if (!m) return double_of(sign);
    }
    int top = top_bit(m) + exp;
    if (top >= most) return double_of(sign | (uint64_t)2047 << 52);
    int up = 52 - top_bit(m);
    uint64_t mant = up >= 0 ? (uint64_t)m << up : (uint64_t)(m >> -up);
    if (top < -1022) return double_of(sign | mant >> (-1022 - top));
    return double_of(sign | (uint64_t)(top + 1023) << 52 | (mant & 0xfffffffffffffu));
}

double cji_soft_fma(double a, double b, double c, bool single)
{
    if (a - a != 0 || b - b != 0 || a == 0 || b == 0) return a * b + c; /* infinite, NaN, or c itself */
    if (c - c != 0) return c;
    parts x = split(a), y = split(b), z = split(c);
    wide_uint p = (wide_uint)x.mant * y.mant, q = z.mant;
    int pe = x.exp + y.exp, qe = z.exp, up = 125 - top_bit(p);
    bool negative = x.negative != y.negative;
    p <<= up, pe -= up;
    if (q) up = 125 - top_bit(q), q <<= up, qe -= up;
    else qe = pe;
    int exp = pe > qe ? pe : qe;
    p = shift_sticky(p, exp - pe);
    q = shift_sticky(q, exp - qe);
    if (negative == z.negative) {
        p += q;
    } else if (p >= q) {
        if (p == q) return 0;
        p -= q;
    } else {
        p = q - p;
        negative = z.negative;
    }
    return single ? round_parts(negative, p, exp, 24, -149, 128) : round_parts(negative, p, exp, 53, -1074, 1024);
}

double cji_soft_sqrt(double x)
{
    /* NaN, an infinity, a zero of either sign */
    if (!(x > 0) || x - x != 0) return x < 0 ? double_of((uint64_t)0x7ff8 << 48) : x;
    parts a = split(x);
    wide_uint m = a.mant, root = 0, bit = (wide_uint)1 << 124;
    int up = 125 - top_bit(m);
    if ((a.exp - up) % 2) up--;
    m <<= up;
    for (; bit; bit >>= 2) { /* one binary digit a round */
        if (m >= root + bit) {
            m -= root + bit;
            root = (root >> 1) + bit;
        } else {
            root >>= 1;
        }
    }
    return round_parts(false, root << 1 | (m != 0), (a.exp - up) / 2 - 1, 53, -1074, 1024);
}

double cji_soft_round(double x, cji_verb_id verb)
{
    if (!(x > -4503599627370496.0 && x < 4503599627370496.0) || x == 0) return x; /* whole, infinite or NaN */
    double whole = (double)(int64_t)x, rest = x - whole;
    switch (verb) {
    case CJI_VERB_FLOOR: whole -= rest < 0; break;
    case CJI_VERB_CEIL: whole += rest > 0; break;
    case CJI_VERB_ROUND:
        if (rest > 0.5 || (rest == 0.5 && (int64_t)whole % 2)) whole += 1;
        if (rest < -0.5 || (rest == -0.5 && (int64_t)whole % 2)) whole -= 1;
        break;
    default: break;
    }
    return whole == 0 && __builtin_signbit(x) ? -0.0 : whole;
}
