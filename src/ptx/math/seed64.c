/* RSQ64H and RCP64H (seed64.h). The hardware takes the 20 mantissa bits of the upper word, looks up a segment by the
 * first 6 or 7, adds a polynomial of second degree in the others, and truncates. It also drops low columns of its
 * products, so an exact polynomial is one off for one operand in 500: these are listed.
 *
 * seed64.def, from all answers of a Hopper: X_SEGMENT(c0, c1, c2) for each segment; X_OFF(16 exceptions), each 2 q,
 * plus 1 where the hardware is one above, not one below; X_NEAR(8 times 32 bits), a bit for each 32 operands, which is
 * set where one of them is an exception; and X_FIRST(16 places), for each 1024 operands that of their first exception,
 * and at last the number of exceptions. */
#include <stddef.h>

#include "ptx/math/seed64.h"

#define RSQ_SEGMENT(c0, c1, c2)
#define RCP_SEGMENT(c0, c1, c2)
#define RSQ_OFF(...)
#define RCP_OFF(...)
#define RSQ_NEAR(...)
#define RCP_NEAR(...)
#define RSQ_FIRST(...)
#define RCP_FIRST(...)
#undef RSQ_SEGMENT
#define RSQ_SEGMENT(c0, c1, c2) { c0, c1, c2, 0 },
static const cji_seed_segment rsq_segments[] = {
#include "ptx/math/seed64.def"
};
#undef RSQ_SEGMENT
#define RSQ_SEGMENT(c0, c1, c2)
#undef RSQ_OFF
#define RSQ_OFF(...) __VA_ARGS__,
static const uint16_t rsq_off[] = {
#include "ptx/math/seed64.def"
};
#undef RSQ_OFF
#define RSQ_OFF(...)
#undef RSQ_NEAR
#define RSQ_NEAR(...) __VA_ARGS__,
static const uint32_t rsq_near[] = {
#include "ptx/math/seed64.def"
};
#undef RSQ_NEAR
#define RSQ_NEAR(...)
#undef RSQ_FIRST
#define RSQ_FIRST(...) __VA_ARGS__,
static const uint16_t rsq_first[] = {
#include "ptx/math/seed64.def"
};
#undef RSQ_FIRST
#define RSQ_FIRST(...)
#undef RCP_SEGMENT
#define RCP_SEGMENT(c0, c1, c2) { c0, c1, c2, 0 },
static const cji_seed_segment rcp_segments[] = {
#include "ptx/math/seed64.def"
};
#undef RCP_SEGMENT
#define RCP_SEGMENT(c0, c1, c2)
#undef RCP_OFF
#define RCP_OFF(...) __VA_ARGS__,
static const uint16_t rcp_off[] = {
#include "ptx/math/seed64.def"
};
#undef RCP_OFF
#define RCP_OFF(...)
#undef RCP_NEAR
#define RCP_NEAR(...) __VA_ARGS__,
static const uint32_t rcp_near[] = {
#include "ptx/math/seed64.def"
};
#undef RCP_NEAR
#define RCP_NEAR(...)
#undef RCP_FIRST
#define RCP_FIRST(...) __VA_ARGS__,
static const uint16_t rcp_first[] = {
#include "ptx/math/seed64.def"
};
#undef RCP_FIRST
#define RCP_FIRST(...)

const cji_seed_table cji_seed_rsqs = { rsq_segments, rsq_near, rsq_off, rsq_first, 14 };
const cji_seed_table cji_seed_rcps = { rcp_segments, rcp_near, rcp_off, rcp_first, 13 };

int cji_seed_off(const cji_seed_table *t, uint32_t x)
{
    uint32_t q = x & ((UINT32_C(1) << t->bits) - 1);
    for (uint32_t i = t->first[x >> 10], end = t->first[(x >> 10) + 1]; i < end; i++)
        if (t->off[i] >> 1 == q) return t->off[i] & 1 ? 1 : -1;
    return 0;
}

static uint32_t interpolate(const cji_seed_table *t, uint32_t x)
{
    const cji_seed_segment *s = &t->segment[x >> t->bits];
    int64_t q = x & ((UINT32_C(1) << t->bits) - 1);
    int64_t value = ((int64_t)s->c0 + (int64_t)s->c1 * q + (int64_t)s->c2 * q * q / 256) >> 32;
    if (t->near[x >> 10] >> (x >> 5 & 31) & 1) value += cji_seed_off(t, x);
    return (uint32_t)(0x3fe00000 + value);
}

uint32_t cji_seed_rsqrt(uint32_t upper)
{
    int exponent = (int)(upper >> 20) - 1023;
    uint32_t odd = (uint32_t)exponent & 1;
    uint32_t seed = interpolate(&cji_seed_rsqs, odd << 20 | (upper & 0xfffff));
    return seed - (uint32_t)((exponent - (int)odd) / 2 * (1 << 20));
}

uint32_t cji_seed_rcp(uint32_t upper)
{
    int exponent = (int)(upper >> 20) - 1023;
    int seed = (int)interpolate(&cji_seed_rcps, upper & 0xfffff) - exponent * (1 << 20);
    return seed < 0x100000 ? 0 : (uint32_t)seed;
}
