/* The arithmetic of the tensor cores (mma_tile.h). */
#include "sim/exec/mma_tile.h"

enum {
    MMA_ZERO = -4096,          /* exponent of zero: below all others */
    MMA_INFINITE = 4096,       /* exponents of what is no number; the significand of an infinity is 1 or -1 */
    MMA_NAN = 8192,
    MMA_LEAST = -126,          /* of an f32 that is not subnormal */
    MMA_LEAST_TOP = -133,      /* terms are aligned to no smaller exponent */
    MMA_PART = 8               /* so many truncated products fit in 32 bits */
};

typedef struct mma_format { uint8_t bits, mantissa; int16_t bias; bool has_infinity; } mma_format;

static const mma_format mma_formats[] = {
    [CJI_MMA_F16] = { 16, 10, 15, true },   [CJI_MMA_BF16] = { 16, 7, 127, true },
    [CJI_MMA_TF32] = { 19, 10, 127, true }, [CJI_MMA_E4M3] = { 8, 3, 7, false },
    [CJI_MMA_E5M2] = { 8, 2, 15, true },    [CJI_MMA_F32] = { 32, 23, 127, true },
};

/* ---- Operands ---- */

static bool mma_is_integer(cji_mma_number t) { return t == CJI_MMA_S8 || t == CJI_MMA_U8; }

/* False: no finite number. */
static bool mma_unpack(cji_mma_number type, uint32_t bits, int32_t *sig, int32_t *exp)
{
    if (mma_is_integer(type)) {
        *sig = type == CJI_MMA_S8 ? (int8_t)bits : (uint8_t)bits;
        *exp = 0;
        return true;
    }
    const mma_format *f = &mma_formats[type];
    if (type == CJI_MMA_TF32) bits >>= 13;   /* the other bits do not count */
    uint32_t top = (UINT32_C(1) << (f->bits - 1 - f->mantissa)) - 1, e = bits >> f->mantissa & top,
             m = bits & ((UINT32_C(1) << f->mantissa) - 1);
    bool minus = bits >> (f->bits - 1) & 1,
         none = e == top && (f->has_infinity || m == (UINT32_C(1) << f->mantissa) - 1);
    if (none) {
        bool infinite = f->has_infinity && !m;
        *sig = infinite ? minus ? -1 : 1 : 0;
        *exp = infinite ? MMA_INFINITE : MMA_NAN;
        return false;
    }
    if (e) m |= UINT32_C(1) << f->mantissa;
    *sig = minus ? -(int32_t)m : (int32_t)m;
    *exp = !m ? MMA_ZERO : (e ? (int32_t)e : 1) - f->bias;
    return true;
}

void cji_mma_put_a(cji_mma_rows *a, unsigned row, unsigned k, cji_mma_number type, uint32_t bits)
{
    if (!mma_unpack(type, bits, &a->sig[row][k], &a->exp[row][k])) a->special |= UINT32_C(1) << row;
}

void cji_mma_put_b(cji_mma_columns *b, unsigned k, unsigned column, cji_mma_number type, uint32_t bits)
{
    if (!mma_unpack(type, bits, &b->sig[k][column], &b->exp[k][column])) b->special |= UINT32_C(1) << column;
}

uint32_t cji_mma_half_of(cji_mma_number type, uint32_t bits)
{
    static const uint16_t small[] = { 0, 0x1800, 0x1c00, 0x1e00, 0x2000, 0x2100, 0x2200, 0x2300 };
    if (type == CJI_MMA_E5M2) return (bits & 0xff) << 8;
    uint32_t sign = (bits & 0x80) << 8, rest = bits & 0x7f;
    if (rest == 0x7f) return 0x7fff;
    return sign | (rest < 8 ? small[rest] : (rest << 7) + 0x2000);
}

/* ---- Results ---- */

/* sum * 2^exp */
static uint32_t mma_round(const cji_mma_step *s, int64_t sum, int exp)
{
    bool half = s->d == CJI_MMA_F16;
    int kept = half ? 10 : s->kept, least = half ? -14 : MMA_LEAST;
    uint32_t infinity = half ? 0x7c00 : 0x7f800000, sign = sum < 0 ? half ? 0x8000 : 0x80000000 : 0;
    if (!sum) return 0;
    uint64_t m = sum < 0 ? 0 - (uint64_t)sum : (uint64_t)sum, q;
    int top = 63 - __builtin_clzll(m) + exp;
    if (top < least) top = least;
    int drop = top - kept - exp;
    if (drop <= 0) q = m << -drop;
    else if (drop > 63) q = 0;
    else {
        uint64_t rest = m & ((UINT64_C(1) << drop) - 1), tie = UINT64_C(1) << (drop - 1);
        q = m >> drop;
        if (half && (rest > tie || (rest == tie && q & 1))) q++;
    }
    q += (uint64_t)(top - least) << kept;
    if (!half) q <<= 23 - kept;
    if (!q) return 0;              /* zero has no sign */
    return sign | (q < infinity ? (uint32_t)q : infinity);
}

/* One element of a row or column with an infinity or a NaN. False: none is among the operands of this step. */
static bool mma_special(const cji_mma_step *s, const cji_mma_rows *a, const cji_mma_columns *b, unsigned i,
                        unsigned j, int32_t csig, int32_t cexp, uint32_t *d)
{
    bool half = s->d == CJI_MMA_F16, nan = cexp == MMA_NAN, plus = cexp == MMA_INFINITE && csig > 0,
         minus = cexp == MMA_INFINITE && csig < 0;
    for (unsigned k = s->k; k < s->end; k++) {
        int32_t x = a->exp[i][k], y = b->exp[k][j];
        if (x < MMA_INFINITE && y < MMA_INFINITE) continue;
        if (x == MMA_NAN || y == MMA_NAN || x == MMA_ZERO || y == MMA_ZERO) nan = true;
        else if ((a->sig[i][k] < 0) != (b->sig[k][j] < 0)) minus = true;
        else plus = true;
    }
    if (!nan && !plus && !minus) return false;
    if (nan || (plus && minus)) *d = half ? 0x7fff : 0x7fffffff;
    else *d = (half ? 0x7c00 : 0x7f800000) | (minus ? half ? 0x8000u : 0x80000000u : 0);
    return true;
}

/* ---- Sums ---- */

/* The largest exponents of a row's terms. */
static inline void mma_align(const cji_mma_step *s, const int32_t *ea, const cji_mma_columns *b,
                             int32_t top[CJI_MMA_COLUMNS])
{
    for (unsigned k = s->k; k < s->end; k++)
        for (unsigned j = 0; j < CJI_MMA_COLUMNS; j++) {
            int32_t e = ea[k] + b->exp[k][j];
            top[j] = e > top[j] ? e : top[j];
        }
}

/* Adds the truncated products of a row. */
static inline void mma_add(const cji_mma_step *s, const int32_t *sa, const int32_t *ea, const cji_mma_columns *b,
                           unsigned up, const int32_t top[CJI_MMA_COLUMNS], int64_t sum[CJI_MMA_COLUMNS])
{
    for (unsigned first = s->k; first < s->end; first += MMA_PART) {
        int32_t part[CJI_MMA_COLUMNS] = { 0 };
        unsigned end = first + MMA_PART < s->end ? first + MMA_PART : s->end;
        for (unsigned k = first; k < end; k++)
            for (unsigned j = 0; j < CJI_MMA_COLUMNS; j++) {
                int32_t down = top[j] - ea[k] - b->exp[k][j], p = sa[k] * b->sig[k][j] * (1 << up), sign = p >> 31;
                down = down > 31 ? 31 : down;
                part[j] += (((p ^ sign) - sign) >> down ^ sign) - sign;
            }
        for (unsigned j = 0; j < CJI_MMA_COLUMNS; j++) sum[j] += part[j];
    }
}

static void mma_floats(const cji_mma_step *s, const cji_mma_rows *a, const cji_mma_columns *b,
                       uint32_t d[CJI_MMA_ROWS][CJI_MMA_COLUMNS])
{
    const mma_format *fc = &mma_formats[s->d];
    unsigned up = s->fraction - mma_formats[s->a].mantissa - mma_formats[s->b].mantissa;
    for (unsigned i = 0; i < s->rows; i++) {
        int32_t sig[CJI_MMA_COLUMNS], exp[CJI_MMA_COLUMNS], top[CJI_MMA_COLUMNS];
        int64_t sum[CJI_MMA_COLUMNS];
        uint32_t special = a->special >> i & 1 ? UINT32_MAX : b->special;
        for (unsigned j = 0; j < CJI_MMA_COLUMNS; j++) {
            if (!mma_unpack(s->d, d[i][j], &sig[j], &exp[j])) special |= UINT32_C(1) << j;
            top[j] = exp[j] > MMA_LEAST_TOP ? exp[j] : MMA_LEAST_TOP;
        }
        mma_align(s, a->exp[i], b, top);
        for (unsigned j = 0; j < CJI_MMA_COLUMNS; j++) {
            int down = top[j] - exp[j] + fc->mantissa - s->fraction, m = sig[j] < 0 ? -sig[j] : sig[j];
            m = down > 31 ? 0 : down > 0 ? m >> down : m << -down;
            sum[j] = sig[j] < 0 ? -m : m;
        }
        mma_add(s, a->sig[i], a->exp[i], b, up, top, sum);
        for (unsigned j = 0; j < CJI_MMA_COLUMNS; j++)
            if (!(special >> j & 1) || !mma_special(s, a, b, i, j, sig[j], exp[j], &d[i][j]))
                d[i][j] = mma_round(s, sum[j], top[j] - s->fraction);
    }
}

static void mma_integers(const cji_mma_step *s, const cji_mma_rows *a, const cji_mma_columns *b,
                         uint32_t d[CJI_MMA_ROWS][CJI_MMA_COLUMNS])
{
    for (unsigned i = 0; i < s->rows; i++) {
        int32_t part[CJI_MMA_COLUMNS] = { 0 };
        for (unsigned k = s->k; k < s->end; k++)
            for (unsigned j = 0; j < CJI_MMA_COLUMNS; j++) part[j] += a->sig[i][k] * b->sig[k][j];
        for (unsigned j = 0; j < CJI_MMA_COLUMNS; j++) {
            int64_t sum = (int64_t)(int32_t)d[i][j] + part[j];
            if (s->saturate) sum = sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : sum;
            d[i][j] = (uint32_t)(uint64_t)sum;
        }
    }
}

void cji_mma_tile(const cji_mma_step *s, const cji_mma_rows *a, const cji_mma_columns *b,
                  uint32_t d[CJI_MMA_ROWS][CJI_MMA_COLUMNS])
{
    if (s->d == CJI_MMA_S32) mma_integers(s, a, b, d);
    else mma_floats(s, a, b, d);
}
