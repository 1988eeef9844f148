/* RSQ64H and RCP64H (seed64.h). The hardware takes the 20 mantissa bits of the upper word, looks up a segment by the
 * first 6 or 7, adds a polynomial of second degree in the others, and truncates. It also drops low columns of its
 * products, so an exact polynomial is one off for one operand in 500: these are listed with each segment.
 *
 * seed64.def, from all answers of a Hopper: X_SEGMENT(c0, c1, c2, first) for each segment, where the result is
 * c0 + c1 q + c2 q^2 / 256 in units of 2^-32 and `first` is the place of its first exception; a last row that ends the
 * list; X_OFF(16 exceptions), each 2 q, plus 1 where the hardware is one above, not one below; and X_NEAR(8 times 32
 * bits), a bit for each 32 operands: it is set where one of them is an exception. */
#include <stddef.h>

#include "sim/exec/seed64.h"

typedef struct segment { int64_t c0, c1, c2; uint32_t first; } segment;

#define RSQ_SEGMENT(c0, c1, c2, first) { c0, c1, c2, first },
#define RCP_SEGMENT(c0, c1, c2, first)
#define RSQ_OFF(...)
#define RCP_OFF(...)
#define RSQ_NEAR(...)
#define RCP_NEAR(...)
static const segment rsq_segments[] = {
#include "sim/exec/seed64.def"
};
#undef RSQ_SEGMENT
#undef RCP_SEGMENT
#define RSQ_SEGMENT(c0, c1, c2, first)
#define RCP_SEGMENT(c0, c1, c2, first) { c0, c1, c2, first },
static const segment rcp_segments[] = {
#include "sim/exec/seed64.def"
};
#undef RCP_SEGMENT
#define RCP_SEGMENT(c0, c1, c2, first)
#undef RSQ_OFF
#define RSQ_OFF(...) __VA_ARGS__,
static const uint16_t rsq_off[] = {
#include "sim/exec/seed64.def"
};
#undef RSQ_OFF
#define RSQ_OFF(...)
#undef RCP_OFF
#define RCP_OFF(...) __VA_ARGS__,
static const uint16_t rcp_off[] = {
#include "sim/exec/seed64.def"
};
#undef RCP_OFF
#define RCP_OFF(...)
#undef RSQ_NEAR
#define RSQ_NEAR(...) __VA_ARGS__,
static const uint32_t rsq_near[] = {
#include "sim/exec/seed64.def"
};
#undef RSQ_NEAR
#define RSQ_NEAR(...)
#undef RCP_NEAR
#define RCP_NEAR(...) __VA_ARGS__,
static const uint32_t rcp_near[] = {
#include "sim/exec/seed64.def"
};

/* 1, -1 or 0: what the hardware's result is beside the polynomial's at q; off[first .. end) ascends. */
static int correction(const uint16_t *off, uint32_t first, uint32_t end, uint32_t q)
{
    while (first < end) {
        uint32_t middle = (first + end) / 2;
        uint32_t at = off[middle] >> 1;
        if (at == q) return off[middle] & 1 ? 1 : -1;
        if (at < q) first = middle + 1;
        else end = middle;
    }
    return 0;
}

/* The upper word of a result in [1/2, 1] for a number in [1, 2) or [1, 4): x is its upper word less that of 1. */
static uint32_t interpolate(const segment *segments, const uint16_t *off, const uint32_t *near, unsigned bits,
                            uint32_t x)
{
    const segment *s = &segments[x >> bits];
    int64_t q = x & ((UINT32_C(1) << bits) - 1);
    int64_t value = (s->c0 + s->c1 * q + s->c2 * q * q / 256) >> 32;
    if (near[x >> 10] >> (x >> 5 & 31) & 1) value += correction(off, s->first, s[1].first, (uint32_t)q);
    return (uint32_t)(0x3fe00000 + value);
}

uint32_t cji_seed_rsqrt(uint32_t upper)
{
    int exponent = (int)(upper >> 20) - 1023;
    uint32_t odd = (uint32_t)exponent & 1;
    uint32_t seed = interpolate(rsq_segments, rsq_off, rsq_near, 14, odd << 20 | (upper & 0xfffff));
    return seed - (uint32_t)((exponent - (int)odd) / 2 * (1 << 20));
}

uint32_t cji_seed_rcp(uint32_t upper)
{
    int exponent = (int)(upper >> 20) - 1023;
    int seed = (int)interpolate(rcp_segments, rcp_off, rcp_near, 13, upper & 0xfffff) - exponent * (1 << 20);
    return seed < 0x100000 ? 0 : (uint32_t)seed;
}
