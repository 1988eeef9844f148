/* The types of matrices' elements, as mnemonics and sizes. */
#ifndef CJI_MMA_TYPES_H
#define CJI_MMA_TYPES_H

#include "ptx/blocks/blocks.h"

static inline bool cji_mma_type_good(cj_mma_type t) { return (unsigned)t <= CJ_MMA_S32; }
const char *cji_mma_type_word(cj_mma_type t);
uint32_t cji_mma_type_bits(cj_mma_type t);
/* the columns of A that fill 32 bytes: what a wgmma takes */
static inline uint32_t cji_mma_k(cj_mma_type t) { return 256 / cji_mma_type_bits(t); }

#endif
