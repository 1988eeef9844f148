/* The unit for special functions (mufu.h). S. F. Oberman and M. Y. Siu, "A High-Performance Area-Efficient
 * Multifunction Interpolator" (2005), describe it: the first bits of a reduced operand are a segment, the others x;
 * the result is c0 + c1 x + c2 x^2 with coefficients of the segment, of a square that leaves out low columns, and its
 * low bits are dropped. mufu.def has the coefficients as tools/fit_mufu.py found them from the answers of a Hopper. */
#include <string.h>

#include "ptx/mufu.h"

enum { ONE = 0x3f800000, INF = 0x7f800000, NOT_A_NUMBER = 0x7fffffff, LEAST = 0x00800000, FRACTION = 0x007fffff };
#define SIGN UINT32_C(0x80000000)

/* All parts of a sum, and the sum, are exact. */
typedef struct mufu_row { double c0, c1, c2; } mufu_row;

/* NAME(c0, c1, c2): multiples of the least bit of the function's sums. ORDER CJI_MUFU_RCP */
#define SCALED(c0, c1, c2, unit)  { c0 * (unit), c1 * (unit), c2 * (unit) },
#define RCP(c0, c1, c2)           SCALED(c0, c1, c2, 0x1p-40)
#define RSQ(c0, c1, c2)           SCALED(c0, c1, c2, 0x1p-40)
#define SQRT(c0, c1, c2)          SCALED(c0, c1, c2, 0x1p-40)
#define SQRT_OF_ODD(c0, c1, c2)   SCALED(c0, c1, c2, 0x1p-39)
#define LG2(c0, c1, c2)           SCALED(c0, c1, c2, 0x1p-38)
#define EX2(c0, c1, c2)           SCALED(c0, c1, c2, 0x1p-38)
#define SIN(c0, c1, c2)           SCALED(c0, c1, c2, 0x1p-37)
#define TANH(c0, c1, c2)          SCALED(c0, c1, c2, 0x1p-39)
static const mufu_row mufu_rows[CJI_MUFU_ROWS] = {
#include "ptx/mufu.def"
};

#define AT(row, shift) ((uint32_t)(CJI_MUFU_TANH + (row)) << CJI_MUFU_X | (shift))
const uint32_t cji_mufu_tanh_at[16] = { AT(0, 6),  AT(1, 6),  AT(2, 6),  AT(3, 5),  AT(5, 5), AT(7, 4),
                                        AT(11, 4), AT(15, 4), AT(19, 3), AT(27, 2), AT(43, 3) };

/* ---- Numbers ----------------------------------------------------------------------------------------------------- */

static double mufu_double(uint32_t u)
{
    float x;
    memcpy(&x, &u, sizeof x);
    return x;
}

/* Rounds to the nearest. */
static uint32_t mufu_nearest(double x)
{
    float y = (float)x;
    uint32_t u;
    memcpy(&u, &y, sizeof u);
    return (u & ~SIGN) > INF ? NOT_A_NUMBER : u;
}

/* Drops bits; `x` is no subnormal number of f32. */
static uint32_t mufu_dropped(double x)
{
    uint64_t u;
    memcpy(&u, &x, sizeof u);
    u &= ~UINT64_C(0x1fffffff);
    memcpy(&x, &u, sizeof x);
    return mufu_nearest(x);
}

static bool mufu_is_nan(uint32_t a) { return (a & ~SIGN) > INF; }
static bool mufu_is_small(uint32_t a) { return (a & ~SIGN) < LEAST; }
static int mufu_exponent(uint32_t a) { return (int)(a >> 23 & 255) - 127; }

/* Times a number of 24 bits, rounded to the nearest. */
static uint32_t mufu_times(uint32_t a, double by) { return mufu_nearest(mufu_double(a) * by); }

/* ---- Interpolation ----------------------------------------------------------------------------------------------- */

/* About x * x / 2^19. Of the 15 upper bits z, columns below 2^14 of z * z are left out. */
uint32_t cji_mufu_square(uint32_t x)
{
    uint32_t high = x >> 9, low = x >> 2 & 127, s = high * high >> 1;
    for (uint32_t j = 0; j < 7; j++) s += (low >> j & 1) * (high >> (7 - j));
    return s;
}

/* `place`: a row times 2^17, and x */
static double mufu_sum(uint32_t place)
{
    uint32_t x = place & ((UINT32_C(1) << CJI_MUFU_X) - 1);
    const mufu_row *r = &mufu_rows[place >> CJI_MUFU_X];
    return r->c0 + r->c1 * x + r->c2 * cji_mufu_square(x);
}

static uint32_t mufu_place(uint32_t first, uint32_t bits) { return (first << CJI_MUFU_X) + bits; }

/* v * 2^n, 0 where that is less than any normal number, infinite where it is too large */
static uint32_t mufu_scaled(uint32_t v, int n)
{
    int64_t u = (int64_t)v + (int64_t)n * LEAST;
    return u < LEAST ? 0 : u > INF ? INF : (uint32_t)u;
}

uint32_t cji_mufu_rcp(uint32_t a)
{
    if (mufu_is_nan(a)) return NOT_A_NUMBER;
    if (mufu_is_small(a)) return (a & SIGN) | INF;
    if ((a & ~SIGN) == INF) return a & SIGN;
    uint32_t v = mufu_dropped(mufu_sum(mufu_place(CJI_MUFU_RCP, (a & FRACTION) << 1)));
    return (a & SIGN) | mufu_scaled(v, -mufu_exponent(a));
}

uint32_t cji_mufu_rsqrt(uint32_t a)
{
    if (mufu_is_nan(a)) return NOT_A_NUMBER;
    if (mufu_is_small(a)) return (a & SIGN) | INF;
    if (a & SIGN) return NOT_A_NUMBER;
    if (a == INF) return 0;
    int e = mufu_exponent(a), odd = e & 1;
    uint32_t x = (uint32_t)odd << 23 | (a & FRACTION);
    return mufu_scaled(x ? mufu_dropped(mufu_sum(mufu_place(CJI_MUFU_RSQRT, x))) : ONE, (odd - e) / 2);
}

uint32_t cji_mufu_sqrt(uint32_t a)
{
    if (mufu_is_nan(a)) return NOT_A_NUMBER;
    if (mufu_is_small(a)) return a & SIGN;
    if (a & SIGN) return NOT_A_NUMBER;
    if (a == INF) return INF;
    int e = mufu_exponent(a), odd = e & 1;
    uint32_t x = (uint32_t)odd << 23 | (a & FRACTION);
    return mufu_scaled(x ? mufu_dropped(mufu_sum(mufu_place(CJI_MUFU_SQRT, x))) : ONE, (e - odd) / 2);
}

/* Exponent and logarithm of the mantissa are added in fixed point; a negative sum is complemented, not negated. */
uint32_t cji_mufu_lg2(uint32_t a)
{
    if (mufu_is_nan(a)) return NOT_A_NUMBER;
    if (mufu_is_small(a)) return SIGN | INF;
    if (a & SIGN) return NOT_A_NUMBER;
    if (a == INF || a == ONE) return a == ONE ? 0 : INF;
    int64_t n = (int64_t)(mufu_sum(mufu_place(CJI_MUFU_LG2, a & FRACTION)) * 0x1p36);
    n += mufu_exponent(a) * (INT64_C(1) << 36);
    return n < 0 ? SIGN | mufu_dropped((double)~n * 0x1p-36) : mufu_dropped((double)n * 0x1p-36);
}

/* The operand has 23 bits after the point, the others are dropped; a negative one with such bits is complemented. */
uint32_t cji_mufu_ex2(uint32_t a)
{
    if (mufu_is_nan(a)) return NOT_A_NUMBER;
    if ((a & ~SIGN) >= 0x43800000) return a & SIGN ? 0 : INF;
    uint32_t m = (uint32_t)(mufu_double(a & ~SIGN) * 0x1p23), below = m & FRACTION;
    int n = (int)(m >> 23);
    if (a & SIGN) {
        n = below ? -1 - n : -n;
        if (below) below = ~below & FRACTION;
    }
    return mufu_scaled(mufu_dropped(mufu_sum(mufu_place(CJI_MUFU_EX2, below))), n);
}

/* The operand has 25 bits after the point: two are the quadrant, and in an odd one the others are complemented. */
static uint32_t mufu_wave(uint32_t turns, uint32_t ahead)
{
    if ((turns & ~SIGN) >= INF) return NOT_A_NUMBER;
    int up = mufu_exponent(turns) - 23 + 25;
    uint32_t m = mufu_is_small(turns) ? 0 : LEAST | (turns & FRACTION);
    m = up > 24 || up < -24 ? 0 : up < 0 ? m >> -up : m << up;
    uint32_t quadrant = (m >> 23) + ahead, x = (quadrant & 1 ? ~m : m) & FRACTION;
    uint32_t sign = (quadrant & 2) << 30 ^ (ahead ? 0 : turns & SIGN);
    return sign | mufu_dropped(mufu_sum(mufu_place(CJI_MUFU_SIN, x)));
}

uint32_t cji_mufu_sin(uint32_t turns) { return mufu_wave(turns, 0); }
uint32_t cji_mufu_cos(uint32_t turns) { return mufu_wave(turns, 1); }

uint32_t cji_mufu_tanh(uint32_t a)
{
    if (mufu_is_nan(a)) return NOT_A_NUMBER;
    int n = mufu_exponent(a) + 8;
    if (n < 0) return a;
    if (n > 10) return (a & SIGN) | ONE;
    uint32_t at = cji_mufu_tanh_at[n], x = (a & FRACTION) >> (at & CJI_MUFU_SHIFT);
    return (a & SIGN) | mufu_dropped(mufu_sum((at & ~(uint32_t)CJI_MUFU_SHIFT) + x));
}

/* ---- Instructions ------------------------------------------------------------------------------------------------ */

uint32_t cji_approx_rcp(uint32_t a, bool ftz)
{
    double by = ftz ? 1 : mufu_is_small(a) ? 0x1p24 : (a & ~SIGN) > 0x7e800000 ? 0.25 : 1;
    return mufu_times(cji_mufu_rcp(mufu_times(a, by)), by);
}

/* The reciprocal of |b| in (2^126, 2^128) is 0. */
uint32_t cji_approx_div(uint32_t a, uint32_t b)
{
    double by = mufu_is_small(b) ? 0x1p24 : 1;
    return mufu_times(mufu_times(a, by), mufu_double(cji_mufu_rcp(mufu_times(b, by))));
}

uint32_t cji_approx_rsqrt(uint32_t a, bool ftz)
{
    bool small = !ftz && mufu_is_small(a);
    return small ? mufu_times(cji_mufu_rsqrt(mufu_times(a, 0x1p24)), 0x1p12) : cji_mufu_rsqrt(a);
}

uint32_t cji_approx_sqrt(uint32_t a, bool ftz)
{
    bool small = !ftz && mufu_is_small(a);
    return small ? mufu_times(cji_mufu_sqrt(mufu_times(a, 0x1p24)), 0x1p-12) : cji_mufu_sqrt(a);
}

uint32_t cji_approx_lg2(uint32_t a, bool ftz)
{
    bool small = !ftz && mufu_is_small(a);
    return small ? mufu_nearest(mufu_double(cji_mufu_lg2(mufu_times(a, 0x1p24))) - 24) : cji_mufu_lg2(a);
}

uint32_t cji_approx_ex2(uint32_t a, bool ftz)
{
    if (ftz || mufu_is_nan(a) || !(a & SIGN) || (a & ~SIGN) <= 0x42fc0000) return cji_mufu_ex2(a);
    double half = mufu_double(cji_mufu_ex2(mufu_times(a, 0.5)));
    return mufu_nearest(half * half);
}

/* 1 / (2 pi) in f32; the product is rounded towards zero. What is subnormal counts as zero. */
static uint32_t mufu_turns(uint32_t a, bool ftz)
{
    double t = mufu_double(ftz && mufu_is_small(a) ? a & SIGN : a) * (double)0x1.45f306p-3f;
    return t < 0x1p-100 && t > -0x1p-100 ? a & SIGN : mufu_dropped(t);
}

uint32_t cji_approx_sin(uint32_t a, bool ftz) { return cji_mufu_sin(mufu_turns(a, ftz)); }
uint32_t cji_approx_cos(uint32_t a, bool ftz) { return cji_mufu_cos(mufu_turns(a, ftz)); }
uint32_t cji_approx_tanh(uint32_t a, bool ftz) { return cji_mufu_tanh(ftz && mufu_is_small(a) ? a & SIGN : a); }

/* ---- f16 and bf16: what f32 gives, less the bits that they do not have ------------------------------------------- */

static uint32_t mufu_widened(uint16_t a, bool bf)
{
    uint32_t sign = (uint32_t)(a & 0x8000) << 16, m = a & 0x7fff;
    if (bf) return (uint32_t)a << 16;
    if (m > 0x7c00) return NOT_A_NUMBER;
    if (m == 0x7c00) return sign | INF;
    return sign | mufu_nearest(m < 0x400 ? m * 0x1p-24 : mufu_double((m << 13) + (112u << 23)));
}

static uint16_t mufu_narrowed(uint32_t a, bool bf)
{
    uint32_t m = a & ~SIGN;
    uint16_t sign = (uint16_t)(a >> 16 & 0x8000);
    if (m > INF) return 0x7fff;
    if (bf) return (uint16_t)(a >> 16);
    if (m >= 0x47800000) return sign | 0x7c00;
    if (m >= 0x38800000) return (uint16_t)(sign | (m - (112u << 23)) >> 13);
    return (uint16_t)(sign | (uint32_t)(mufu_double(m) * 0x1p24));
}

uint16_t cji_approx_ex2_half(uint16_t a, bool bf) { return mufu_narrowed(cji_mufu_ex2(mufu_widened(a, bf)), bf); }
uint16_t cji_approx_tanh_half(uint16_t a, bool bf) { return mufu_narrowed(cji_mufu_tanh(mufu_widened(a, bf)), bf); }
