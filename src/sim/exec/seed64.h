/* The hardware's first approximations of f64, RSQ64H and RCP64H: upper word in, upper word out, a Hopper's bits. */
#ifndef CJI_EXEC_SEED64_H
#define CJI_EXEC_SEED64_H

#include <stdint.h>

/* Of a positive normal number's upper word: the upper word of about 1 / sqrt(x). */
uint32_t cji_seed_rsqrt(uint32_t upper);
/* Of a positive normal number's upper word: the upper word of about 1 / x; 0 where that is subnormal. */
uint32_t cji_seed_rcp(uint32_t upper);

#endif
