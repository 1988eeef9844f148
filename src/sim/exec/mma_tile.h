/* The arithmetic of the tensor cores: products of a tile of 16 rows and 8 columns, bit for bit those of an H100.
 *
 * One step takes up to 32 columns of A. The products of floating-point numbers are exact. They and the accumulator are
 * aligned to the largest exponent among them, each is truncated to `fraction` bits behind the point, and the sum of
 * these is exact. It is truncated to f32, or rounded to nearest even to f16. A subnormal number has the least exponent
 * of its format; a product or accumulator that is zero has exponent -133,
 * and terms are aligned to no smaller one. An infinite result has the sign of its
 * operands, a NaN is 0x7fffffff or 0x7fff. Integers are added exactly, then wrapped or saturated. */
#ifndef CJI_EXEC_MMA_TILE_H
#define CJI_EXEC_MMA_TILE_H

#include <stdbool.h>
#include <stdint.h>

#define CJI_MMA_ROWS 16
#define CJI_MMA_COLUMNS 8
#define CJI_MMA_K 32

/* ORDER cji_mma_type: mma_formats in mma_tile.c */
typedef enum cji_mma_number {
    CJI_MMA_F16, CJI_MMA_BF16, CJI_MMA_TF32, CJI_MMA_E4M3, CJI_MMA_E5M2, CJI_MMA_S8, CJI_MMA_U8, CJI_MMA_F32,
    CJI_MMA_S32, CJI_MMA_F64
} cji_mma_number;

/* Numbers as significand * 2^(exponent - bits of the significand behind the point); an integer is its significand.
 * `special`: 1 << row of A, or column of B, for those with an infinity or NaN. */
typedef struct cji_mma_rows {
    int32_t sig[CJI_MMA_ROWS][CJI_MMA_K], exp[CJI_MMA_ROWS][CJI_MMA_K];
    uint32_t special;
} cji_mma_rows;

typedef struct cji_mma_columns {
    int32_t sig[CJI_MMA_K][CJI_MMA_COLUMNS], exp[CJI_MMA_K][CJI_MMA_COLUMNS];
    uint32_t special;
} cji_mma_columns;

void cji_mma_put_a(cji_mma_rows *a, unsigned row, unsigned k, cji_mma_number type, uint32_t bits);
void cji_mma_put_b(cji_mma_columns *b, unsigned k, unsigned column, cji_mma_number type, uint32_t bits);

typedef struct cji_mma_step {
    cji_mma_number a, b, d;    /* d: F16, F32 or S32 */
    uint8_t rows;              /* 8 or 16 */
    uint8_t k, end;            /* columns k .. end - 1 of A */
    uint8_t fraction;
    uint8_t kept;              /* bits behind the point that an f32 result keeps: 23, or 13 */
    bool saturate;             /* integers */
} cji_mma_step;

/* d = A * B + d; each d is the bits of a number of s->d. */
void cji_mma_tile(const cji_mma_step *s, const cji_mma_rows *a, const cji_mma_columns *b,
                  uint32_t d[CJI_MMA_ROWS][CJI_MMA_COLUMNS]);

/* The f16 of the value of an e4m3 or e5m2. */
uint32_t cji_mma_half_of(cji_mma_number type, uint32_t bits);

#endif
