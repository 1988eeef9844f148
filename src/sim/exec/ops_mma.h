/* mma.sync: D = A * B + C, spread over the registers of a warp. */
#ifndef CJI_EXEC_OPS_MMA_H
#define CJI_EXEC_OPS_MMA_H

#include "sim/exec/mma_tile.h"
#include "sim/exec/warp.h"

/* size rows of A (8 or 16), count columns; k: CJI_MM_*; ext[target]: how many registers D, A, B and C have, then the
 * offset of each. */
void cji_h_mma(cji_warp *w, const cji_rec *r);
void cji_h_mma_f64(cji_warp *w, const cji_rec *r);

#define CJI_MM(a, b, d) ((uint32_t)(a) | (uint32_t)(b) << 4 | (uint32_t)(d) << 8)
#define CJI_MM_A(k) ((cji_mma_number)((k) & 15))
#define CJI_MM_B(k) ((cji_mma_number)((k) >> 4 & 15))
#define CJI_MM_D(k) ((cji_mma_number)((k) >> 8 & 15))
enum { CJI_MM_SATURATE = 1 << 12 };
/* wgmma: A times -1; A, B with m or n contiguous; A by a descriptor */
enum { CJI_MM_NEGATE = 1 << 13, CJI_MM_TURN_A = 1 << 14, CJI_MM_TURN_B = 1 << 15, CJI_MM_SHARED_A = 1 << 16 };
#define CJI_MM_ROUND(r) ((uint32_t)(r) << 16)          /* f64: cji_fp_round */
#define CJI_MM_ROUND_OF(k) ((cji_fp_round)((k) >> 16 & 7))

/* Registers of C and D as elements, and back; `r` are their offsets. */
void cji_mma_gather(const cji_warp *w, const uint32_t *r, cji_mma_number type, unsigned rows,
                    uint32_t c[CJI_MMA_ROWS][CJI_MMA_COLUMNS]);
void cji_mma_scatter(cji_warp *w, const uint32_t *r, cji_mma_number type, unsigned rows,
                     uint32_t d[CJI_MMA_ROWS][CJI_MMA_COLUMNS]);
/* Registers of A of m16; `halves`: bytes as mma.sync multiplies them. */
void cji_mma_fill_a(const cji_warp *w, const uint32_t *r, uint32_t n, cji_mma_number type, unsigned rows, bool halves,
                    cji_mma_rows *a);
unsigned cji_mma_bits(cji_mma_number type);   /* of an element in a register or in memory */

#endif
