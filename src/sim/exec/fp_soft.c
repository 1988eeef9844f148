/* IEEE 754 arithmetic in integers (fp_soft.h). */
#include "fp_soft.h"

typedef unsigned __int128 fp_u128;

/* ORDER cji_fp_format */
const cji_fp_desc cji_fp_formats[] = {
    { 16, 5, 10, 0, 15, 0x7bff, 0x7c00, 0x7fff },
    { 16, 8, 7, 0, 127, 0x7f7f, 0x7f80, 0x7fff },
    { 32, 8, 23, 0, 127, 0x7f7fffff, 0x7f800000, 0x7fffffff },
    { 64, 11, 52, 0, 1023, UINT64_C(0x7fefffffffffffff), UINT64_C(0x7ff0000000000000), UINT64_C(0xfff8000000000000) },
    { 32, 8, 10, 13, 127, 0x7f7fe000, 0x7f800000, 0x7fffe000 },
    { 8, 4, 3, 0, 7, 0x7e, 0, 0x7f },
    { 8, 5, 2, 0, 15, 0x7b, 0x7c, 0x7f },
    { 6, 2, 3, 0, 1, 0x1f, 0, 0 },
    { 6, 3, 2, 0, 3, 0x1f, 0, 0 },
    { 4, 2, 1, 0, 1, 0x7, 0, 0 },
    { 8, 8, 0, 0, 127, 0xfe, 0, 0xff },
};

static inline int fp_clz(uint64_t m) { return __builtin_clzll(m); }

static fp_u128 fp_shift_jam(fp_u128 v, int n)
{
    if (n <= 0) return v;
    if (n >= 128) return v != 0;
    return v >> n | ((v << (128 - n)) != 0);
}

static uint64_t fp_top64(fp_u128 v) { return (uint64_t)(v >> 64) | ((uint64_t)v != 0); }

/* Normalises v * 2^(exp - 127) (v nonzero): bit 127 set. */
static cji_fp_num fp_norm(bool sign, int exp, fp_u128 v)
{
    uint64_t hi = (uint64_t)(v >> 64);
    int n = hi ? fp_clz(hi) : 64 + fp_clz((uint64_t)v);
    return (cji_fp_num){ CJI_FP_FINITE, sign, exp - n, fp_top64(v << n) };
}

cji_fp_num cji_fp_unpack(cji_fp_format f, uint64_t bits)
{
    const cji_fp_desc *d = &cji_fp_formats[f];
    cji_fp_num v = { CJI_FP_ZERO, false, 0, 0 };
    if (f == CJI_FP_UE8M0) {
        bits &= 0xff;
        if (bits == 0xff) { v.cls = CJI_FP_NAN; return v; }
        return (cji_fp_num){ CJI_FP_FINITE, false, (int)bits - 127, UINT64_C(1) << 63 };
    }
    unsigned mb = d->mbits + d->low;
    v.sign = bits >> (d->bits - 1) & 1;
    uint64_t mag = bits & ((UINT64_C(1) << (d->bits - 1)) - 1);
    uint64_t man = mag & ((UINT64_C(1) << mb) - 1);
    int e = (int)(mag >> mb);
    if (d->low) { man &= ~((UINT64_C(1) << d->low) - 1); }
    if (d->inf ? mag > d->inf : d->nan && mag >= d->nan) { v.cls = CJI_FP_NAN; return v; }
    if (d->inf && mag == d->inf) { v.cls = CJI_FP_INF; return v; }
    if (e == 0 && man == 0) return v;
    v.cls = CJI_FP_FINITE;
    if (e) {
        v.exp = e - d->bias;
        v.m = (man | UINT64_C(1) << mb) << (63 - mb);
    } else {
        int n = fp_clz(man);
        v.m = man << n;
        v.exp = 1 - d->bias - (n - (63 - (int)mb));
    }
    return v;
}

static bool fp_up(cji_fp_round r, bool sign, bool odd, bool half, bool sticky)
{
    switch (CJI_FP_MODE(r)) {
    case CJI_FP_RN: return half && (sticky || odd);
    case CJI_FP_RNA: return half;
    case CJI_FP_RM: return sign && (half || sticky);
    case CJI_FP_RP: return !sign && (half || sticky);
    default: return false;
    }
}

/* m >> drop, rounded. */
static uint64_t fp_round_shift(uint64_t m, int drop, cji_fp_round r, bool sign)
{
    if (drop <= 0) return m;
    bool half = drop <= 64 && (m >> (drop - 1) & 1);
    bool sticky = drop > 64 ? m != 0 : (m & ((UINT64_C(1) << (drop - 1)) - 1)) != 0;
    uint64_t q = drop >= 64 ? 0 : m >> drop;
    return q + fp_up(r, sign, q & 1, half, sticky);
}

static uint64_t fp_pack_ue8m0(cji_fp_num v, cji_fp_round r)
{
    if (v.cls == CJI_FP_NAN) return 0xff;
    if (v.cls == CJI_FP_ZERO) return 0;
    if (v.cls == CJI_FP_INF) return 0xfe;
    bool up = (v.m << 1) != 0 && CJI_FP_MODE(r) == CJI_FP_RP;
    int e = v.exp + 127 + up;
    return e < 0 ? 0 : e > 0xfe ? 0xfe : (uint64_t)e;
}

uint64_t cji_fp_pack(cji_fp_format f, cji_fp_num v, cji_fp_round r, bool satfinite)
{
    const cji_fp_desc *d = &cji_fp_formats[f];
    if (f == CJI_FP_UE8M0) return fp_pack_ue8m0(v, r);
    uint64_t sign = (uint64_t)v.sign << (d->bits - 1);
    if (v.cls == CJI_FP_NAN) return d->nan ? d->nan : d->max;
    if (v.cls == CJI_FP_INF) return sign | (satfinite || !d->inf ? d->max : d->inf);
    if (v.cls == CJI_FP_ZERO) return sign;
    int emin = 1 - d->bias, drop = 63 - d->mbits;
    if (v.exp < emin && r & CJI_FP_FTZ) {
        bool carries = fp_round_shift(v.m, drop, r, v.sign) >> (d->mbits + 1);
        return carries && v.exp == emin - 1 ? sign | UINT64_C(1) << (d->mbits + d->low) : sign;
    }
    if (v.exp < emin) {
        int more = emin - v.exp;
        drop = more > 80 ? drop + 80 : drop + more;
    }
    uint64_t q = fp_round_shift(v.m, drop, r, v.sign);
    uint64_t e = v.exp >= emin ? (uint64_t)(v.exp - emin) : 0;
    uint64_t mag = ((e << d->mbits) + q) << d->low;
    if (mag > d->max || v.exp > 2048) {
        bool to_max =
            satfinite || !d->inf || CJI_FP_MODE(r) == CJI_FP_RZ || CJI_FP_MODE(r) == (v.sign ? CJI_FP_RP : CJI_FP_RM);
        mag = to_max ? d->max : d->inf;
    }
    return sign | mag;
}

uint64_t cji_fp_nan_of(cji_fp_format f, const uint64_t *v, int n)
{
    if (f != CJI_FP_F64) return cji_fp_formats[f].nan;
    for (int i = 0; i < n; i++)
        if ((v[i] & INT64_MAX) > cji_fp_formats[f].inf) return v[i] | UINT64_C(1) << 51;
    return cji_fp_formats[f].nan;
}

static uint64_t fp_invalid(cji_fp_format f) { return cji_fp_formats[f].nan; }

/* x + y where both are FINITE and given as 128-bit mantissas with bit 126 or lower set (room for
 * the carry). */
static uint64_t fp_sum(cji_fp_format f, bool sx, int ex, fp_u128 x, bool sy, int ey, fp_u128 y, cji_fp_round r)
{
    int e = ex > ey ? ex : ey;
    x = fp_shift_jam(x, e - ex);
    y = fp_shift_jam(y, e - ey);
    if (sx == sy) return cji_fp_pack(f, fp_norm(sx, e + 1, x + y), r, false);
    if (x == y) return (uint64_t)(CJI_FP_MODE(r) == CJI_FP_RM) << (cji_fp_formats[f].bits - 1);
    bool swap = x < y;
    return cji_fp_pack(f, fp_norm(swap ? sy : sx, e + 1, swap ? y - x : x - y), r, false);
}

uint64_t cji_fp_fma(cji_fp_format f, uint64_t a, uint64_t b, uint64_t c, cji_fp_round r)
{
    cji_fp_num x = cji_fp_unpack(f, a), y = cji_fp_unpack(f, b), z = cji_fp_unpack(f, c);
    if (x.cls == CJI_FP_NAN || y.cls == CJI_FP_NAN || z.cls == CJI_FP_NAN)
        return cji_fp_nan_of(f, (uint64_t[]){ b, c, a }, 3);
    bool sp = x.sign ^ y.sign;
    if ((x.cls == CJI_FP_INF && y.cls == CJI_FP_ZERO) || (x.cls == CJI_FP_ZERO && y.cls == CJI_FP_INF))
        return fp_invalid(f);
    bool pinf = x.cls == CJI_FP_INF || y.cls == CJI_FP_INF, pzero = x.cls == CJI_FP_ZERO || y.cls == CJI_FP_ZERO;
    if (pinf) {
        if (z.cls == CJI_FP_INF && z.sign != sp) return fp_invalid(f);
        return cji_fp_pack(f, (cji_fp_num){ CJI_FP_INF, sp, 0, 0 }, r, false);
    }
    if (z.cls == CJI_FP_INF) return c;
    if (pzero && z.cls == CJI_FP_ZERO) {
        bool s = sp == z.sign ? sp : CJI_FP_MODE(r) == CJI_FP_RM;
        return (uint64_t)s << (cji_fp_formats[f].bits - 1);
    }
    if (pzero) return cji_fp_pack(f, z, r, false);
    fp_u128 p = (fp_u128)x.m * y.m;                 /* bit 126 or 127: value p * 2^(ex + ey - 126) */
    int ep = x.exp + y.exp + 1;                     /* as p * 2^(ep - 127) */
    if (z.cls == CJI_FP_ZERO) return cji_fp_pack(f, fp_norm(sp, ep, p), r, false);
    return fp_sum(f, sp, ep, p >> 1 | (p & 1), z.sign, z.exp, (fp_u128)z.m << 63, r);
}

uint64_t cji_fp_add(cji_fp_format f, uint64_t a, uint64_t b, cji_fp_round r)
{
    cji_fp_num x = cji_fp_unpack(f, a), y = cji_fp_unpack(f, b);
    if (x.cls == CJI_FP_NAN || y.cls == CJI_FP_NAN) return cji_fp_nan_of(f, (uint64_t[]){ b, a }, 2);
    if (x.cls == CJI_FP_INF) return y.cls == CJI_FP_INF && x.sign != y.sign ? fp_invalid(f) : a;
    if (y.cls == CJI_FP_INF) return b;
    if (x.cls == CJI_FP_ZERO && y.cls == CJI_FP_ZERO) {
        bool s = x.sign == y.sign ? x.sign : CJI_FP_MODE(r) == CJI_FP_RM;
        return (uint64_t)s << (cji_fp_formats[f].bits - 1);
    }
    if (x.cls == CJI_FP_ZERO) return b;
    if (y.cls == CJI_FP_ZERO) return a;
    return fp_sum(f, x.sign, x.exp, (fp_u128)x.m << 63, y.sign, y.exp, (fp_u128)y.m << 63, r);
}

uint64_t cji_fp_mul(cji_fp_format f, uint64_t a, uint64_t b, cji_fp_round r)
{
    cji_fp_num x = cji_fp_unpack(f, a), y = cji_fp_unpack(f, b);
    if (x.cls == CJI_FP_NAN || y.cls == CJI_FP_NAN) return cji_fp_nan_of(f, (uint64_t[]){ b, a }, 2);
    bool s = x.sign ^ y.sign;
    bool inf = x.cls == CJI_FP_INF || y.cls == CJI_FP_INF, zero = x.cls == CJI_FP_ZERO || y.cls == CJI_FP_ZERO;
    if (inf && zero) return fp_invalid(f);
    if (inf || zero) return cji_fp_pack(f, (cji_fp_num){ inf ? CJI_FP_INF : CJI_FP_ZERO, s, 0, 0 }, r, false);
    return cji_fp_pack(f, fp_norm(s, x.exp + y.exp + 1, (fp_u128)x.m * y.m), r, false);
}

uint64_t cji_fp_div(cji_fp_format f, uint64_t a, uint64_t b, cji_fp_round r)
{
    cji_fp_num x = cji_fp_unpack(f, a), y = cji_fp_unpack(f, b);
    if (x.cls == CJI_FP_NAN || y.cls == CJI_FP_NAN) return cji_fp_nan_of(f, (uint64_t[]){ a, b }, 2);
    bool s = x.sign ^ y.sign;
    if (x.cls == y.cls && x.cls != CJI_FP_FINITE) return fp_invalid(f);
    if (x.cls == CJI_FP_INF || y.cls == CJI_FP_ZERO)
        return cji_fp_pack(f, (cji_fp_num){ CJI_FP_INF, s, 0, 0 }, r, false);
    if (x.cls == CJI_FP_ZERO || y.cls == CJI_FP_INF)
        return cji_fp_pack(f, (cji_fp_num){ CJI_FP_ZERO, s, 0, 0 }, r, false);
    uint64_t q;
    fp_u128 n = (fp_u128)x.m << 63;                 /* quotient in (2^62, 2^64) */
    bool rest;
    if (f == CJI_FP_F64) {
        fp_u128 wide = n / y.m;
        q = (uint64_t)wide;
        rest = n % y.m != 0;
    } else {                                        /* 40 bits are plenty for 24 */
        uint64_t num = x.m, den = y.m >> 40;        /* mantissas of at most 24 bits: den is exact */
        uint64_t t = num / den;                     /* 2^39 .. 2^41 */
        rest = num % den != 0;
        q = t << 23;                                /* as n / y.m = x.m / den * 2^23 */
    }
    return cji_fp_pack(f, fp_norm(s, x.exp - y.exp, (fp_u128)q << 64 | rest), r, false);
}

/* floor(sqrt(v)), and whether it is inexact. */
static uint64_t fp_isqrt(fp_u128 v, bool *rest)
{
    uint64_t root = 0;
    fp_u128 rem = 0;
    for (int i = 63; i >= 0; i--) {
        rem = rem << 2 | (uint64_t)(v >> (2 * i) & 3);
        fp_u128 t = (fp_u128)root << 2 | 1;
        root <<= 1;
        if (rem >= t) { rem -= t; root |= 1; }
    }
    *rest = rem != 0;
    return root;
}

uint64_t cji_fp_sqrt(cji_fp_format f, uint64_t a, cji_fp_round r)
{
    cji_fp_num x = cji_fp_unpack(f, a);
    if (x.cls == CJI_FP_NAN) return cji_fp_nan_of(f, &a, 1);
    if (x.cls == CJI_FP_ZERO) return a;
    if (x.sign) return fp_invalid(f);
    if (x.cls == CJI_FP_INF) return a;
    bool odd = x.exp & 1, rest; /* value = m * 2^(exp-63); v = m << 63 or 64 so that the exponent left is even */
    fp_u128 v = odd ? (fp_u128)x.m << 64 : (fp_u128)x.m << 63;
    uint64_t root = fp_isqrt(v, &rest);
    int e = (x.exp - odd) / 2;                      /* root * 2^(e - 63), root in [2^63, 2^64) */
    return cji_fp_pack(f, fp_norm(false, e, (fp_u128)root << 64 | rest), r, false);
}

uint64_t cji_fp_integral(cji_fp_format f, uint64_t a, cji_fp_round r)
{
    cji_fp_num x = cji_fp_unpack(f, a);
    if (x.cls == CJI_FP_NAN) return cji_fp_nan_of(f, &a, 1);
    if (x.cls != CJI_FP_FINITE || x.exp >= 63) return a;
    uint64_t q = x.exp < -1 ? fp_round_shift(x.m, 65, r, x.sign) : fp_round_shift(x.m, 63 - x.exp, r, x.sign);
    if (!q) return (uint64_t)x.sign << (cji_fp_formats[f].bits - 1);
    int n = fp_clz(q);
    return cji_fp_pack(f, (cji_fp_num){ CJI_FP_FINITE, x.sign, 63 - n, q << n }, CJI_FP_RZ, false);
}

uint64_t cji_fp_to_int(cji_fp_format f, uint64_t a, unsigned bits, bool is_signed, cji_fp_round r)
{
    cji_fp_num x = cji_fp_unpack(f, a);
    uint64_t mask = bits == 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
    if (x.cls == CJI_FP_NAN) return f == CJI_FP_F64 || bits == 64 ? UINT64_C(1) << (bits - 1) : 0;
    if (x.cls == CJI_FP_ZERO) return 0;
    uint64_t lim = is_signed ? (UINT64_C(1) << (bits - 1)) - !x.sign : x.sign ? 0 : mask;
    uint64_t q;
    if (x.cls == CJI_FP_INF || x.exp > 63) q = UINT64_MAX;
    else q = x.exp < -1 ? fp_round_shift(x.m, 65, r, x.sign) : fp_round_shift(x.m, 63 - x.exp, r, x.sign);
    if (q > lim) q = lim;
    return (x.sign ? 0 - q : q) & mask;
}

uint64_t cji_fp_from_int(cji_fp_format f, uint64_t v, bool is_signed, cji_fp_round r)
{
    if (!v) return 0;
    bool s = is_signed && v >> 63;
    if (s) v = 0 - v;
    int n = fp_clz(v);
    return cji_fp_pack(f, (cji_fp_num){ CJI_FP_FINITE, s, 63 - n, v << n }, r, false);
}

/* What a NaN becomes, as a Hopper does it (tests/oracle/hopper_bits.txt): to and from f64 sign and payload are kept. */
static uint64_t fp_convert_nan(cji_fp_format to, cji_fp_format from, uint64_t a)
{
    const cji_fp_desc *t = &cji_fp_formats[to], *s = &cji_fp_formats[from];
    bool keeps = to == CJI_FP_F64 ? from == CJI_FP_F32 || from == CJI_FP_F16 || from == CJI_FP_BF16
                                  : from == CJI_FP_F64 && (to == CJI_FP_F32 || to == CJI_FP_F16 || to == CJI_FP_BF16);
    if (!keeps) return to == CJI_FP_F64 ? UINT64_C(0x7ff8000000000000) : t->nan ? t->nan : t->max;
    uint64_t payload = a & ((UINT64_C(1) << s->mbits) - 1), sign = a >> (s->bits - 1) & 1;
    payload = to == CJI_FP_F64 ? payload << (t->mbits - s->mbits) : payload >> (s->mbits - t->mbits);
    return sign << (t->bits - 1) | t->inf | UINT64_C(1) << (t->mbits - 1) | payload;
}

uint64_t cji_fp_convert(cji_fp_format to, cji_fp_format from, uint64_t a, cji_fp_round r, bool satfinite)
{
    cji_fp_num x = cji_fp_unpack(from, a);
    if (to == CJI_FP_TF32 && CJI_FP_MODE(r) == CJI_FP_RNA && !satfinite && x.cls == CJI_FP_NAN)
        return a & 0xffffe000;
    if (to == CJI_FP_F32 && from == CJI_FP_BF16 && x.cls == CJI_FP_NAN) return a << 16; /* a signalling one stays so */
    return x.cls == CJI_FP_NAN ? fp_convert_nan(to, from, a) : cji_fp_pack(to, x, r, satfinite);
}
