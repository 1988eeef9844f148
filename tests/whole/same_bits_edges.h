/* Operands at the edges for same_bits.c: what results lie one unit around the least normal, halfway between two values,
 * near overflow; carries, shifts over the width, fields, payloads of NaN. Each lane has one recipe for all operands. */
#ifndef CUJIT_TESTS_SAME_BITS_EDGES_H
#define CUJIT_TESTS_SAME_BITS_EDGES_H

#include <cujit/cujit.h>

static inline uint64_t edge_mix(uint64_t x)
{
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

/* ---- Floating point ---- */

typedef struct edge_format {
    int bits, p, emin, emax;
} edge_format;

/* (-1)^sign * m * 2^(e - p + 1), m of p bits with its highest set; cut off where the format has less. */
static inline uint64_t edge_pack(const edge_format *f, uint64_t sign, int e, uint64_t m)
{
    uint64_t hidden = UINT64_C(1) << (f->p - 1), s = (sign & 1) << (f->bits - 1);
    if (e > f->emax) return s | (uint64_t)(f->emax - f->emin + 2) << (f->p - 1);
    if (e >= f->emin) return s | ((uint64_t)(e - f->emin) * hidden + m);
    return s | (f->emin - e > 62 ? 0 : m >> (f->emin - e));
}

enum {
    EDGE_PRODUCT,
    EDGE_QUOTIENT,
    EDGE_SUM,
    EDGE_FMA,
    EDGE_CANCEL,
    EDGE_PRODUCT_HALF,
    EDGE_CANCEL_LOW,
    EDGE_SPECIAL,
    EDGE_SUBNORMAL,
    EDGE_NARROW,
    EDGE_INTEGRAL,
    EDGE_SQUARE,
    EDGE_OVERFLOW,
    EDGE_LIMITS,
    EDGE_QUOTIENT_LOW,
    EDGE_RECIPES
};

static inline void edge_product(const edge_format *f, int target, uint64_t h, uint64_t *v)
{
    int p = f->p, e1 = (int)(h % 13) - 6 + target / 2;
    uint64_t hidden = UINT64_C(1) << (p - 1), m1 = hidden | (h >> 8 & (hidden - 1)), m2;
    m2 = (uint64_t)(((unsigned __int128)1 << (2 * p - 1)) / m1) + (h >> 62) - 1;
    if (h >> 61 & 1) m1 = 2 * hidden - 1 - (h >> 8 & 3), m2 = hidden + (h >> 10 & 3), e1 |= 1;
    if (m2 >= 2 * hidden) m2 = 2 * hidden - 1;
    if (m2 < hidden) m2 = hidden;
    v[0] = edge_pack(f, h >> 60, e1, m1);
    v[1] = edge_pack(f, h >> 59, target - 1 - e1, m2);
    v[2] =
        h >> 58 & 1 ? (h >> 57 & 1) << (f->bits - 1) : edge_pack(f, h >> 57, target - p - (int)(h >> 50 & 3), hidden);
}

static inline void edge_float(const edge_format *f, unsigned recipe, uint64_t h, uint64_t *v)
{
    int p = f->p, e = (int)(h % 9) - 4;
    uint64_t hidden = UINT64_C(1) << (p - 1), any = hidden | (h >> 8 & (hidden - 1)), g = edge_mix(h ^ 77),
             r = edge_mix(g);
    uint64_t other = hidden | (g >> 8 & (hidden - 1)), sign = r >> 1, inf = edge_pack(f, 0, f->emax + 1, 0);
    int near = (int)(r >> 8 & 7) - 3; /* units */
    for (unsigned j = 0; j < 3; j++) v[j] = edge_pack(f, r >> j, e, j ? other : any);
    switch (recipe) {
    case EDGE_PRODUCT: edge_product(f, f->emin, h, v); break;
    case EDGE_OVERFLOW: edge_product(f, f->emax + 1, h, v); break;
    case EDGE_QUOTIENT: /* and reciprocals */
        e = 1 + (int)(h % 11);
        v[1] = edge_pack(f, sign, e, any);
        v[0] = edge_pack(f, sign >> 1, e + f->emin, any) + (uint64_t)near;
        if (r & 64) v[0] = edge_pack(f, sign, -f->emin, hidden) + (uint64_t)near, v[1] = v[0] + (r >> 12 & 3);
        break;
    case EDGE_QUOTIENT_LOW: /* subnormal quotients, halfway too */
        e = (int)(h % 5) + 2;
        v[0] = edge_pack(f, sign, f->emin + (int)(r >> 20 & 3), any);
        v[1] = edge_pack(f, sign >> 1, e, r & 64 ? hidden : other);
        break;
    case EDGE_SUM: /* half a unit of a, a little less, a little more */
        v[1] = edge_pack(f, sign, e - p - (r >> 20 & 1), hidden) + (uint64_t)(near % 2);
        v[2] = edge_pack(f, sign >> 1, e - p - (r >> 21 & 1), hidden) + (uint64_t)(near % 2);
        if (r & 64) v[0] = edge_pack(f, sign >> 2, e, hidden);
        break;
    case EDGE_FMA: { /* a product of p bits, and half a unit of it */
        int n = p / 2;
        uint64_t m1 = any >> (p - n) << (p - n), m2 = other >> n << n;
        unsigned __int128 m = (unsigned __int128)m1 * m2;
        int up = (int)(m >> (2 * p - 1));
        v[0] = edge_pack(f, sign, e, m1);
        v[1] = edge_pack(f, sign >> 1, -e, m2);
        v[2] = edge_pack(f, sign >> 2, up - p, hidden) + (uint64_t)(near % 2);
        break;
    }
    case EDGE_CANCEL:
    case EDGE_CANCEL_LOW: { /* c is the product, rounded, of the other sign; in places near underflow */
        unsigned __int128 m = (unsigned __int128)any * other;
        int up = (int)(m >> (2 * p - 1)), low = recipe == EDGE_CANCEL_LOW ? f->emin + p - (int)(r >> 40 & 7) : 0;
        v[0] = edge_pack(f, sign, low / 2, any);
        v[1] = edge_pack(f, sign >> 1, low - low / 2, other);
        v[2] = edge_pack(f, ~(sign ^ sign >> 1), low + up, (uint64_t)(m >> (p - 1 + up))) + (uint64_t)(near % 2);
        break;
    }
    case EDGE_PRODUCT_HALF: { /* a product of p + 1 bits, the last of them set */
        int n = p / 2 + 1;
        v[0] = edge_pack(f, sign, e, (any >> (p - n) | 1) << (p - n));
        v[1] = edge_pack(f, sign >> 1, (int)(r >> 30 & 3), (other >> (n - 1) | 1) << (n - 1));
        if (r & 64) v[2] = (r & 1) << (f->bits - 1);
        break;
    }
    case EDGE_SPECIAL:
        for (unsigned j = 0; j < 3; j++, r = edge_mix(r)) {
            uint64_t s = (r >> 9 & 1) << (f->bits - 1), quiet = hidden >> 1;
            uint64_t list[] = { 0,
                                0,
                                inf,
                                inf,
                                inf | 1,
                                inf | quiet,
                                inf | quiet | (r >> 20 & (quiet - 1)),
                                inf | (quiet - 1),
                                edge_pack(f, 0, 0, hidden),
                                1,
                                hidden,
                                hidden - 1,
                                inf - 1,
                                any,
                                edge_pack(f, 0, -1, hidden),
                                edge_pack(f, 0, e, other) };
            v[j] = s | list[r % 16];
        }
        break;
    case EDGE_SUBNORMAL:
        for (unsigned j = 0; j < 3; j++, r = edge_mix(r))
            if (r & 3) v[j] = (r >> 9 & 1) << (f->bits - 1) | ((r >> 10 & (hidden - 1)) >> (r >> 4) % (unsigned)p);
        if (g & 1) v[g >> 1 & 1] = edge_pack(f, g >> 3, p + (int)(g >> 5 & 15), other);
        break;
    case EDGE_NARROW: { /* halfway in a narrower format, in all its exponents' edges */
        static const int8_t digits[] = { 11, 8, 24, 4, 3, 2, 11, 8, 24, 1 };
        static const int16_t from[] = { -14, -126, -126, -6, -14, 0, -25, -133, -149, 0 },
                             to[] = { 15, 127, 127, 8, 15, 4, 15, 127, 127, 2 };
        for (unsigned j = 0; j < 3; j++, r = edge_mix(r)) {
            unsigned k = r % 10;
            int q = digits[k] < p ? digits[k] : p - 1;
            uint64_t half = UINT64_C(1) << (p - q - 1), m = (hidden | (r >> 20 & (hidden - 1))) & ~(2 * half - 1);
            if (r >> 4 & 1) m |= 2 * hidden - 2 * half; /* all ones: it carries */
            int at = (r >> 5 & 3) == 0 ? 0 : (r >> 5 & 3) == 1 ? to[k] : from[k];
            m += (r >> 7 & 3) == 0 ? half - 1 : (r >> 7 & 3) == 1 && half > 1 ? half + 1 : half;
            v[j] = edge_pack(f, r >> 9, at + (int)(r >> 10 & 7) - 4, m);
        }
        break;
    }
    case EDGE_INTEGRAL: /* n + 1/2 and its neighbours */
        for (unsigned j = 0; j < 3; j++, r = edge_mix(r)) {
            int n = (int)(r % (unsigned)(p - 1));
            uint64_t unit = UINT64_C(1) << (p - 1 - n), m = (hidden | (r >> 20 & (hidden - 1))) & ~(unit - 1);
            if (r & 512) m |= unit / 2;
            v[j] = edge_pack(f, r >> 10, n, m) + (r >> 11) % 3 - 1;
            if ((r >> 13 & 7) == 0) v[j] = edge_pack(f, r >> 10, -1, hidden) + (r >> 11) % 3 - 1;
        }
        break;
    case EDGE_SQUARE: {
        uint64_t m = any >> (p - p / 2);
        m *= m;
        int n = 64 - __builtin_clzll(m);
        v[0] = edge_pack(f, 0, n - 1 + 2 * e, p >= n ? m << (p - n) : m >> (n - p)) + (uint64_t)(near % 2);
        v[1] = v[0] + 1;
        break;
    }
    default: { /* EDGE_LIMITS: of integers */
        static const uint8_t power[] = { 7, 8, 15, 16, 31, 32, 63, 64 };
        for (unsigned j = 0; j < 3; j++, r = edge_mix(r))
            v[j] = edge_pack(f, r >> 10, power[r % 8], hidden) + (r >> 11) % 5 - 2 -
                   (r >> 13 & 1) * (hidden >> power[r % 8] % 64);
        break;
    }
    }
}

/* ---- Integers ---- */

static inline void edge_int(unsigned bits, unsigned recipe, uint64_t h, uint64_t *v)
{
    static const uint64_t counts[] = { 0,          1,          2,           7,          8,     15,       16,
                                       17,         24,         30,          31,         32,    33,       47,
                                       48,         63,         64,          65,         96,    127,      128,
                                       129,        255,        256,         257,        0x120, 0x1f0020, 0x80000000,
                                       0xffffffff, 0xffffffe0, 0x100000000, 0x100000005 };
    uint64_t top = bits ? UINT64_C(1) << ((bits - 1) % 64) : 0;
    const uint64_t extremes[] = { 0,
                                  1,
                                  2,
                                  top,
                                  top - 1,
                                  top + 1,
                                  UINT64_MAX,
                                  UINT64_MAX - 1,
                                  top >> 1,
                                  bits,
                                  bits - 1,
                                  0x8080808080808080,
                                  0x7f7f7f7f7f7f7f7f,
                                  0xff00ff00ff00ff00,
                                  0x5555555555555555,
                                  3 };
    for (unsigned j = 0; j < 4; j++) v[j] = edge_mix(h + j + 1) >> (edge_mix(h + j + 9) & (recipe & 1 ? 63 : 3));
    switch (recipe % 8) {
    case 0:
        for (unsigned j = 0; j < 4; j++) v[j] = extremes[v[j] % 16];
        break;
    case 1:
    case 2: /* shifts, fields, digits */
        for (unsigned j = 1; j < 4; j++) v[j] = counts[v[j] % 32];
        if (recipe % 8 == 2) v[0] = extremes[v[0] % 16];
        break;
    case 3: /* halfway between two floating point numbers */
        for (unsigned j = 0; j < 4; j++) {
            static const uint8_t digits[] = { 24, 53, 11, 8 };
            unsigned q = digits[h >> 2 & 3], shift = (unsigned)((h >> 8) % 64);
            uint64_t m = (UINT64_C(1) << (q - 1) | (v[j] & ((UINT64_C(1) << (q - 1)) - 1))) * 2 + 1;
            v[j] = (m << (shift % (64 - q))) + (h >> 40) % 3 - 1;
            if (h & 2) v[j] = 0 - v[j];
        }
        break;
    case 4: /* sums at the carry */
        v[1] = ~v[0] + (h >> 4) % 3;
        v[2] = ~v[1] + (h >> 6) % 3;
        break;
    case 5: /* exact quotients, one more, one less */
        /* less than the largest value: the quotient is not 0 */
        v[1] = (v[1] & (top - 1)) >> (h >> 4) % (bits - 1) % 64 | 1;
        v[0] = v[1] * (v[2] % ((top * 2 - 1) / v[1])) + (h >> 12) % 3 - 1;
        break;
    case 6: /* products at the width's end */ v[1] = UINT64_MAX / (v[0] | 1) + (h >> 4) % 3; break;
    default: break;
    }
}

/* Operand j of edge lane `lane` for type t. */
static inline uint64_t edge_value(unsigned t, unsigned j, unsigned lane)
{
    static const edge_format f16 = { 16, 11, -14, 15 }, bf16 = { 16, 8, -126, 127 }, f32 = { 32, 24, -126, 127 },
                             f64 = { 64, 53, -1022, 1023 };
    uint64_t h = edge_mix(lane * UINT64_C(0x9e3779b97f4a7c15) + t), v[4] = { 0 }, w[4] = { 0 };
    unsigned recipe = lane % EDGE_RECIPES;
    bool pair = t == CJ_F16X2 || t == CJ_BF16X2;
    const edge_format *f = t == CJ_F32                      ? &f32
                           : t == CJ_F64                    ? &f64
                           : t == CJ_F16 || t == CJ_F16X2   ? &f16
                           : t == CJ_BF16 || t == CJ_BF16X2 ? &bf16
                                                            : NULL;
    if (t == CJ_PRED) return h >> (5 + j) & 1;
    if (!f) {
        edge_int(cji_type_bits(t), lane, h, v);
        return v[j];
    }
    edge_float(f, recipe, h, v);
    v[3] = v[0];
    if (!pair) return v[j] & (f->bits == 64 ? UINT64_MAX : (UINT64_C(1) << f->bits) - 1);
    edge_float(f, (recipe + 3) % EDGE_RECIPES, edge_mix(h), w);
    w[3] = w[0];
    return (v[j] & 0xffff) | (w[j] & 0xffff) << 16;
}

/* ---- Chains of carries ---- */

enum { CHAINS = 48, CHAIN_STEPS = 7 };

typedef struct chain_step {
    const char *text;
    bool wide, mad;
    unsigned a, b, c;
} chain_step;

/* The steps of chain `number`, a writer first: additions, subtractions and products that carry, in any order, some of
 * 64 bits. */
static inline unsigned chain_steps(unsigned number, chain_step *step)
{
    static const char *const first[][2] = { { "add.cc.u32", "add.cc.u64" },       { "sub.cc.u32", "sub.cc.u64" },
                                            { "mad.lo.cc.u32", "mad.lo.cc.u64" }, { "mad.hi.cc.u32", "mad.hi.cc.u64" },
                                            { "add.cc.s32", "add.cc.s64" },       { "sub.cc.s32", "sub.cc.s64" },
                                            { "mad.hi.cc.s32", "mad.hi.cc.s64" } };
    static const char *const later[][2] = { { "addc.cc.u32", "addc.cc.u64" },
                                            { "subc.cc.u32", "subc.cc.u64" },
                                            { "madc.lo.cc.u32", "madc.lo.cc.u64" },
                                            { "madc.hi.cc.u32", "madc.hi.cc.u64" },
                                            { "addc.cc.s32", "addc.cc.s64" },
                                            { "subc.cc.s32", "subc.cc.s64" },
                                            { "madc.hi.cc.s32", "madc.hi.cc.s64" },
                                            { "addc.u32", "addc.u64" },
                                            { "subc.u32", "subc.u64" },
                                            { "madc.lo.u32", "madc.lo.u64" },
                                            { "madc.hi.s32", "madc.hi.s64" } };
    unsigned n = 2 + number % (CHAIN_STEPS - 1);
    for (unsigned i = 0; i < n; i++) {
        uint64_t h = edge_mix(number * 64 + i);
        bool wide = number % 3 == 0 ? h >> 20 & 1 : number % 3 == 1;
        const char *text = i ? later[h % 11][wide] : first[h % 7][wide];
        step[i] = (chain_step){
            text, wide, text[0] == 'm', (unsigned)(h >> 8) % 3, (unsigned)(h >> 12) % 3, (unsigned)(h >> 16) % 3
        };
    }
    return n;
}

#endif
