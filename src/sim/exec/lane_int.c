/* One lane of the integer, logic, shift and integer comparison instructions (lane_ops.h). */
#include "sim/exec/lane_ops.h"
#include "sim/exec/fp_soft.h"
#include "sim/exec/warp.h"

#define LI(name) uint64_t cji_l_##name(uint64_t a, uint64_t b, uint64_t c, uint32_t k)
#define LI_UNUSED (void)a, (void)b, (void)c, (void)k

static uint64_t li_mask(unsigned bits) { return bits >= 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1; }
static uint64_t li_sext(uint64_t v, unsigned bits)
{
    uint64_t top = UINT64_C(1) << (bits - 1);
    return ((v & li_mask(bits)) ^ top) - top;
}

/* The operand as the type reads it: sign- or zero-extended. */
static uint64_t li_ext(uint64_t v, uint32_t k)
{
    return k & CJI_KF_SIGNED ? li_sext(v, CJI_KF_BITS(k)) : v & li_mask(CJI_KF_BITS(k));
}
static bool li_less(uint64_t a, uint64_t b, uint32_t k)
{
    a = li_ext(a, k);
    b = li_ext(b, k);
    return k & CJI_KF_SIGNED ? (int64_t)a < (int64_t)b : a < b;
}

/* Clamps an exact sum of two extended operands of at most 32 bits. */
static uint64_t li_clamp(int64_t v, uint32_t k)
{
    unsigned bits = CJI_KF_BITS(k);
    int64_t hi = k & CJI_KF_SIGNED ? (int64_t)li_mask(bits - 1) : (int64_t)li_mask(bits),
            lo = k & CJI_KF_SIGNED ? -hi - 1 : 0;
    return (uint64_t)(v < lo ? lo : v > hi ? hi : v);
}

LI(iadd)
{
    LI_UNUSED;
    return k & CJI_KF_SAT ? li_clamp((int64_t)(li_ext(a, k) + li_ext(b, k)), k) : a + b;
}

LI(isub)
{
    LI_UNUSED;
    return k & CJI_KF_SAT ? li_clamp((int64_t)(li_ext(a, k) - li_ext(b, k)), k) : a - b;
}

LI(addk) { LI_UNUSED; return a + b; }

static uint64_t li_mulhi(uint64_t a, uint64_t b, uint32_t k)
{
    unsigned bits = CJI_KF_BITS(k);
    if (k & CJI_KF_SIGNED) return (uint64_t)((__int128)(int64_t)li_ext(a, k) * (int64_t)li_ext(b, k) >> bits);
    return (uint64_t)((unsigned __int128)li_ext(a, k) * li_ext(b, k) >> bits);
}

LI(imul) { LI_UNUSED; return k & CJI_KF_HI ? li_mulhi(a, b, k) : a * b; }
LI(imulwide) { LI_UNUSED; return li_ext(a, k) * li_ext(b, k); }
LI(imad)
{
    uint64_t p = cji_l_imul(a, b, 0, k);
    if (!(k & CJI_KF_SAT)) return p + c;
    return li_clamp((int64_t)(li_ext(p, k) + li_ext(c, k)), k);
}

LI(imadwide) { return cji_l_imulwide(a, b, 0, k) + c; }
/* The product of the low 24 bits; HI: from its bit 16 on. */
LI(imul24)
{
    LI_UNUSED;
    int64_t p = k & CJI_KF_SIGNED ? (int64_t)li_sext(a, 24) * (int64_t)li_sext(b, 24)
                                  : (int64_t)((a & 0xffffff) * (b & 0xffffff));
    return k & CJI_KF_HI ? (uint64_t)(p >> 16) : (uint64_t)p;
}

LI(imad24)
{
    uint64_t p = cji_l_imul24(a, b, 0, k);
    if (!(k & CJI_KF_SAT)) return p + c;
    return li_clamp((int64_t)(li_ext(p, k) + li_ext(c, k)), k);
}

/* |a - b| + c */
LI(isad) { return c + (li_less(a, b, k) ? b - a : a - b); }

/* The quotient by zero is all ones, the remainder the dividend; INT_MIN / -1 wraps. */
LI(idiv)
{
    LI_UNUSED;
    a = li_ext(a, k);
    b = li_ext(b, k);
    if (!b) return UINT64_MAX;
    if (!(k & CJI_KF_SIGNED)) return a / b;
    return b == UINT64_MAX ? 0 - a : (uint64_t)((int64_t)a / (int64_t)b);
}

LI(irem)
{
    LI_UNUSED;
    a = li_ext(a, k);
    b = li_ext(b, k);
    if (!b) return a;
    if (!(k & CJI_KF_SIGNED)) return a % b;
    return b == UINT64_MAX ? 0 : (uint64_t)((int64_t)a % (int64_t)b);
}

LI(iabs)
{
    LI_UNUSED;
    a = li_ext(a, k);
    return a >> 63 ? 0 - a : a;
}

LI(ineg) { LI_UNUSED; return 0 - a; }
static uint64_t li_relu(uint64_t v, uint32_t k) { return (k & CJI_KF_RELU) && li_less(v, 0, k) ? 0 : v; }
LI(imin) { LI_UNUSED; return li_relu(li_less(b, a, k) ? b : a, k); }
LI(imax) { LI_UNUSED; return li_relu(li_less(a, b, k) ? b : a, k); }

LI(popc) { LI_UNUSED; return (uint64_t)__builtin_popcountll(a & li_mask(CJI_KF_BITS(k))); }
LI(clz)
{
    LI_UNUSED;
    a &= li_mask(CJI_KF_BITS(k));
    return a ? (uint64_t)__builtin_clzll(a) - (64 - CJI_KF_BITS(k)) : CJI_KF_BITS(k);
}

/* The position of the highest bit that differs from the sign, -1: none; B (.shiftamt): how far it is from the top. */
LI(bfind)
{
    LI_UNUSED;
    uint64_t v = li_ext(a, k);
    if ((k & CJI_KF_SIGNED) && v >> 63) v = ~v;
    v &= li_mask(CJI_KF_BITS(k));
    if (!v) return 0xffffffff;
    uint64_t at = 63 - (uint64_t)__builtin_clzll(v);
    return k & CJI_KF_B ? CJI_KF_BITS(k) - 1 - at : at;
}

/* The position of the |c|-th set bit of a from position b on, upwards or, c negative, downwards; -1: none. */
LI(fns)
{
    LI_UNUSED;
    uint32_t mask = (uint32_t)a, base = (uint32_t)b;
    int32_t offset = (int32_t)(uint32_t)c;
    if (offset == INT32_MIN) return 0;
    if (base > 31) return 0xffffffff;
    if (offset == 0) return mask >> base & 1 ? base : 0xffffffff;
    int32_t pos = (int32_t)base,
            count = (offset < 0 ? -(int64_t)offset : offset) > 32 ? 33
                    : offset < 0                                  ? -offset
                                                                  : offset,
            inc = offset < 0 ? -1 : 1;
    for (count--; pos >= 0 && pos < 32; pos += inc)
        if (mask >> pos & 1 && count-- == 0) return (uint32_t)pos;
    return 0xffffffff;
}

/* The bits in reverse order. */
LI(brev)
{
    LI_UNUSED;
    uint64_t v = 0;
    for (unsigned i = 0, n = CJI_KF_BITS(k); i < n; i++) v |= (a >> i & 1) << (n - 1 - i);
    return v;
}

/* The field of a at b with c bits, sign- or zero-extended. */
LI(bfe)
{
    unsigned bits = CJI_KF_BITS(k), pos = cji_field_of(b, bits), len = cji_field_of(c, bits);
    uint64_t v = a & li_mask(bits), fill = 0;
    if (k & CJI_KF_SIGNED && len) {
        unsigned top = pos + len - 1 < bits - 1 ? pos + len - 1 : bits - 1;
        fill = v >> top & 1;
    }
    uint64_t r = pos < bits ? v >> pos : 0;
    unsigned have = pos < bits ? bits - pos : 0;
    if (len < have) have = len;
    r &= li_mask(have);
    if (!have) r = 0;
    if (fill && have < bits) r |= li_mask(bits) & ~(have ? li_mask(have) : 0);
    return r;
}

/* b ones from position a on; B: a and b .wrap at 32, else .clamp */
LI(bmsk)
{
    LI_UNUSED;
    uint32_t pos = (uint32_t)a, len = (uint32_t)b;
    if (k & CJI_KF_B) {
        pos &= 31;
        len &= 31;
    }
    uint64_t ones = len >= 32 ? 0xffffffff : li_mask(len);
    return pos >= 32 ? 0 : (ones << pos & 0xffffffff);
}

/* The low b bits of a, sign- or zero-extended; B: b .wrap at 32, else .clamp */
LI(szext)
{
    LI_UNUSED;
    uint32_t n = (uint32_t)b;
    if (k & CJI_KF_B) n &= 31;
    if (n >= 32) return a;
    if (n == 0) return 0;
    return k & CJI_KF_SIGNED ? li_sext(a, n) : a & li_mask(n);
}

/* SIGNED: a; B: b */
LI(dp4a)
{
    uint32_t sum = (uint32_t)c;
    for (unsigned i = 0; i < 4; i++) {
        uint64_t x = a >> (8 * i) & 0xff, y = b >> (8 * i) & 0xff;
        sum += (uint32_t)((k & CJI_KF_SIGNED ? li_sext(x, 8) : x) * (k & CJI_KF_B ? li_sext(y, 8) : y));
    }
    return sum;
}

/* SIGNED: a; B: b; HI: upper bytes of b */
LI(dp2a)
{
    uint32_t sum = (uint32_t)c;
    for (unsigned i = 0; i < 2; i++) {
        uint64_t x = a >> (16 * i) & 0xffff, y = b >> (8 * i + (k & CJI_KF_HI ? 16 : 0)) & 0xff;
        sum += (uint32_t)((k & CJI_KF_SIGNED ? li_sext(x, 16) : x) * (k & CJI_KF_B ? li_sext(y, 8) : y));
    }
    return sum;
}

LI(and) { LI_UNUSED; return a & b; }
LI(or) { LI_UNUSED; return a | b; }
LI(xor) { LI_UNUSED; return a ^ b; }
LI(not) { LI_UNUSED; return ~a; }
/* 1 where a is 0, else 0 */
LI(cnot) { LI_UNUSED; return (a & li_mask(CJI_KF_BITS(k))) == 0; }
LI(shl) { LI_UNUSED; return (uint32_t)b >= CJI_KF_BITS(k) ? 0 : a << (uint32_t)b; }
LI(shr)
{
    LI_UNUSED;
    uint32_t n = (uint32_t)b;
    uint64_t v = li_ext(a, k);
    if (n >= CJI_KF_BITS(k)) return k & CJI_KF_SIGNED && v >> 63 ? UINT64_MAX : 0;
    return k & CJI_KF_SIGNED ? (uint64_t)((int64_t)v >> n) : v >> n;
}

/* Funnel shifts of [b:a]; B: .wrap, else .clamp. */
static uint32_t li_funnel_count(uint64_t c, uint32_t k)
{
    return k & CJI_KF_B ? (uint32_t)c & 31 : (uint32_t)c > 32 ? 32 : (uint32_t)c;
}
LI(shfl) { return (((b & 0xffffffff) << 32 | (a & 0xffffffff)) << li_funnel_count(c, k)) >> 32 & 0xffffffff; }
LI(shfr) { return ((b & 0xffffffff) << 32 | (a & 0xffffffff)) >> li_funnel_count(c, k) & 0xffffffff; }

const uint16_t cji_prmt_modes[7][4] = {
    [CJI_PRMT_F4E] = { 0x3210, 0x4321, 0x5432, 0x6543 },  [CJI_PRMT_B4E] = { 0x5670, 0x6701, 0x7012, 0x0123 },
    [CJI_PRMT_RC8] = { 0x0000, 0x1111, 0x2222, 0x3333 },  [CJI_PRMT_ECL] = { 0x3210, 0x3211, 0x3222, 0x3333 },
    [CJI_PRMT_ECR] = { 0x0000, 0x1110, 0x2210, 0x3210 },  [CJI_PRMT_RC16] = { 0x1010, 0x3232, 0x1010, 0x3232 },
};

/* Four bytes of {b, a}, each chosen by a digit of c, whose bit 3 replicates the byte's sign; X: a mode instead. */
LI(prmt)
{
    uint64_t v = (b & 0xffffffff) << 32 | (a & 0xffffffff);
    unsigned mode = CJI_KF_X(k);
    uint32_t sel = mode ? cji_prmt_modes[mode][c & 3] : (uint32_t)c, r = 0;
    for (unsigned i = 0; i < 4; i++) {
        unsigned s = sel >> (4 * i) & 15;
        uint32_t byte = (uint32_t)(v >> (8 * (s & 7))) & 0xff;
        if (s & 8) byte = byte & 0x80 ? 0xff : 0;
        r |= byte << (8 * i);
    }
    return r;
}

LI(icmp)
{
    LI_UNUSED;
    a = li_ext(a, k);
    b = li_ext(b, k);
    bool less = k & CJI_KF_SIGNED ? (int64_t)a < (int64_t)b : a < b;
    switch (CJI_KF_X(k)) {
    case CJI_CMP_EQ: return a == b;
    case CJI_CMP_NE: return a != b;
    case CJI_CMP_LT: return less;
    case CJI_CMP_LE: return less || a == b;
    case CJI_CMP_GT: return !less && a != b;
    default: return !less;
    }
}

LI(mov) { LI_UNUSED; return a; }
/* a where c is not negative, else b */
LI(slct_int) { LI_UNUSED; return (int32_t)(uint32_t)c >= 0 ? a : b; }
