/* The hardware's first approximations of f64, RSQ64H and RCP64H: upper word in, upper word out, a Hopper's bits. */
#ifndef CJI_MATH_SEED64_H
#define CJI_MATH_SEED64_H

#include <stdint.h>

/* Of a positive normal number's upper word: the upper word of about 1 / sqrt(x). */
uint32_t cji_seed_rsqrt(uint32_t upper);
/* Of a positive normal number's upper word: the upper word of about 1 / x; 0 where that is subnormal. */
uint32_t cji_seed_rcp(uint32_t upper);

/* The tables of one of them, for handlers of 32 lanes: the upper word of a result in [1/2, 1] for x, which has 21 or 20
 * bits: the operand's upper word less that of 1. Of segment[x >> bits], with q the bits below, it is
 * 0x3fe00000 and (c0 + c1 q + floor(c2 q^2 / 256)) / 2^32, plus cji_seed_off where the bit x >> 5 of `near` is set.
 * All parts are exact as double, and the sum is in [0, 2^52). */
typedef struct cji_seed_segment { double c0, c1, c2, unused; } cji_seed_segment;
typedef struct cji_seed_table {
    const cji_seed_segment *segment;
    const uint32_t *near;
    const uint16_t *off, *first; /* exceptions, and the place of the first one of each 1024 operands */
    uint32_t bits;
} cji_seed_table;
extern const cji_seed_table cji_seed_rsqs, cji_seed_rcps;
/* 1, -1 or 0: what the hardware's result is beside the polynomial's at x. */
int cji_seed_off(const cji_seed_table *t, uint32_t x);

#endif
