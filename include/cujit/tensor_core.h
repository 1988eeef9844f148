/* cujit/tensor_core.h - matrix instructions of the tensor cores: wgmma (sm_90a), mma.sync and
 * ldmatrix (sm_80), and which element each register of a fragment is.  ptx.h includes it.
 *
 *     cj_wgmma_shape w = { .n = 256, .a = CJ_MMA_BF16, .b = CJ_MMA_BF16, .d = CJ_MMA_F32 };
 *     cj_val d = cj_wgmma_accumulators(f, &w);
 *     cj_wgmma_fence(f);
 *     for (int j = 0; j < 4; j++)
 *         cj_wgmma(f, &w, d, cj_wgmma_operand(f, &a, 32 * j), cj_wgmma_operand(f, &b, 32 * j),
 *                  j > 0);
 *     cj_wgmma_commit(f);
 *     cj_wgmma_wait(f, 0);
 *
 * Matrices.  D = A * B + C: A has m rows and k columns, B has k rows and n columns.
 *
 * Accumulators.  Both kinds spread them over threads in the same way.  Register i of a thread is
 * the element at (row + cj_acc_row(i), column + cj_acc_column(i)), where cj_mma_acc_position or
 * cj_wgmma_acc_position gives row and column of the thread.  Registers 2j and 2j + 1 are neighbours
 * in a row.
 *
 * Errors, and sections of the PTX manual, as "PTX ISA 9.0, ...": see blocks.h.
 */
#ifndef CUJIT_PTX_H
#include <cujit/ptx.h> /* which includes this file at its place */
#elif !defined CUJIT_TENSOR_CORE_H
#define CUJIT_TENSOR_CORE_H

#ifdef __cplusplus
extern "C" {
#endif

/* How shared memory permutes the 16-byte units of rows of 32, 64 or 128 bytes, so that neighbours
 * in a column lie in different banks: unit u of row r is at u ^ (r % 8) for 128 bytes, at
 * u ^ (r / 2 % 4) for 64, at u ^ (r / 4 % 2) for 32.  The pattern is a function of the address: it
 * begins at multiples of 1024, 512 or 256.
 * PTX ISA 9.0, 5.5.7 (Swizzling Modes). */
typedef enum cj_swizzle {
    CJ_SWIZZLE_NONE = 0,
    CJ_SWIZZLE_32B = 1,
    CJ_SWIZZLE_64B = 2,
    CJ_SWIZZLE_128B = 3
} cj_swizzle;

/* The types of matrices' elements. */
typedef enum cj_mma_type {
    CJ_MMA_F16 = 0,
    CJ_MMA_BF16 = 1,
    CJ_MMA_TF32 = 2, /* 32 bits, of which 19 count */
    CJ_MMA_E4M3 = 3, /* 8-bit floating point */
    CJ_MMA_E5M2 = 4,
    CJ_MMA_S8 = 5,
    CJ_MMA_U8 = 6,
    CJ_MMA_F64 = 7,
    CJ_MMA_F32 = 8, /* of D only */
    CJ_MMA_S32 = 9  /* of D only */
} cj_mma_type;

/* Where register i is in relation to the thread's first one.  Any thread. */
CJ_API uint32_t cj_acc_row(uint32_t i);
CJ_API uint32_t cj_acc_column(uint32_t i);

/* Row and column of the thread's first accumulator: in the 16 rows of its warp's mma.sync, or in
 * the 64 rows of its warpgroup's wgmma.  CJ_U32.  For blocks of one dimension.
 * PTX ISA 9.0, 9.7.14.5 (matrix fragments for mma), 9.7.15.5.1.1 (register fragments of wgmma). */
CJ_API void cj_mma_acc_position(cj_fn *f, cj_val *row, cj_val *column);
CJ_API void cj_wgmma_acc_position(cj_fn *f, cj_val *row, cj_val *column);

/* ---- wgmma: one warpgroup, 64 rows ----------------------------------------------------------- */

/* A product of 64 rows.  A and B have one type, but 8-bit floats may differ, and 8-bit integers too
 * (PTX 8.4).  Columns of A (k), and columns of D (n):
 *   CJ_MMA_F16 to CJ_MMA_F32 or CJ_MMA_F16        k 16, n a multiple of 8 from 8 to 256
 *   CJ_MMA_BF16 to CJ_MMA_F32                     k 16, the same n
 *   CJ_MMA_TF32 to CJ_MMA_F32                     k 8, the same n
 *   CJ_MMA_E4M3, CJ_MMA_E5M2 to CJ_MMA_F32        k 32, the same n
 *   CJ_MMA_S8, CJ_MMA_U8 to CJ_MMA_S32            k 32, n 8, 24 or a multiple of 16 to 256
 * PTX ISA 9.0, 9.7.15.2 (Matrix Shape), 9.7.15.3 (Matrix Data-types). */
typedef struct cj_wgmma_shape {
    uint32_t n;          /* columns of D */
    cj_mma_type a, b, d; /* the types of A, B and D */
    uint32_t a_mn, b_mn; /* 1: stored with m (n) contiguous, not k: 16-bit types in shared memory */
    uint32_t saturate;   /* 1: integers saturate (.satfinite) */
} cj_wgmma_shape;

/* The columns of A that one instruction takes: 32 bytes. */
CJ_API uint32_t cj_wgmma_k(const cj_wgmma_shape *w);

/* The accumulators of a thread: n / 2 registers of 32 bits, or n / 4 that hold two f16 each.
 * Errors, left in the module:
 *   CJ_EINVAL: `w` is NULL, or its sizes or types do not exist
 *   CJ_EINVAL: `a_mn` or `b_mn` is 1, and the matrix's type does not have 16 bits */
CJ_API cj_val cj_wgmma_accumulators(cj_fn *f, const cj_wgmma_shape *w);

/* How a matrix lies in shared memory: the two halves of a matrix descriptor. */
typedef struct cj_wgmma_matrix {
    cj_val low;    /* CJ_U32: start / 16, leading / 16 */
    uint32_t high; /* stride / 16, swizzle */
    uint32_t reserved;
} cj_wgmma_matrix;

/* Makes the descriptor of a matrix at the shared address `start`: a multiple of 1024, 512 or 256
 * for the swizzle of 128, 64 or 32 bytes, of 16 without one.  Distances are in bytes.
 *   k contiguous, with a swizzle: a row, of m or n, is 32, 64 or 128 bytes of k.  `stride`: from 8
 *     rows to the next 8, 256, 512 or 1024 without a gap.  `leading` is not used
 *   m or n contiguous, with a swizzle: a row, of k, is 16, 32 or 64 elements of m or n.  `stride`:
 *     from 8 rows to the next 8.  `leading`: from 16, 32 or 64 elements of m or n to the next
 *   k contiguous, CJ_SWIZZLE_NONE: 8 rows of m or n of 16 bytes of k are 128 contiguous bytes.
 *     `stride`: from 8 rows to the next 8.  `leading`: from 16 bytes of k to the next 16
 *   m or n contiguous, CJ_SWIZZLE_NONE: 8 rows of k of 8 elements of m or n are 128 contiguous
 *     bytes.  `stride`: from 8 elements of m or n to the next 8.  `leading`: from 8 rows of k to
 *     the next 8
 * `matrix`: Written.
 * PTX ISA 9.0, 9.7.15.5.1.2 (Shared Memory Matrix Layout): Strides, Matrix Descriptor Format.
 * Errors, left in the module:
 *   CJ_EINVAL: `leading` or `stride` is not a multiple of 16 below 262144, there is no such
 *     swizzle, or `matrix` is NULL */
CJ_API void cj_wgmma_matrix_begin(cj_fn *f, cj_val start, uint32_t leading, uint32_t stride, cj_swizzle swizzle,
                                  cj_wgmma_matrix *matrix);

/* The descriptor of the matrix `offset` bytes further: the operand of cj_wgmma.  CJ_B64.
 * `offset`: a multiple of 16 below 262144, a 32-bit register or a number, which may be negative.
 * Errors, left in the module:
 *   CJ_EINVAL: cj_wgmma_matrix_begin has not made `matrix`, or `offset` is another number */
CJ_API cj_val cj_wgmma_operand(cj_fn *f, const cj_wgmma_matrix *matrix, cj_val offset);

/* D = A * B + D if the predicate or number `accumulate` holds, else D = A * B.
 * `d`: the registers of cj_wgmma_accumulators.
 * `a`: a descriptor, or a vector of four 32-bit registers: row-major fragments, as the accumulators
 *   of 16 columns are, packed in pairs.
 * `b`: a descriptor.
 * All threads of the warpgroup execute it together, after cj_wgmma_fence.  It has read `a`, `b` and
 * written `d` when a cj_wgmma_wait returns.
 * PTX ISA 9.0, 9.7.15.5.2 (wgmma.mma_async), sm_90a.
 * Errors, left in the module: those of cj_wgmma_accumulators, and
 *   CJ_EINVAL: `a_mn` is 1, and `a` is in registers */
CJ_API void cj_wgmma(cj_fn *f, const cj_wgmma_shape *w, cj_val d, cj_val a, cj_val b, cj_val accumulate);

/* wgmma.fence: before the first cj_wgmma, and after other instructions wrote its registers.
 * wgmma.commit_group: closes a group.  wgmma.wait_group: waits until at most `groups` groups are
 * not done.
 * PTX ISA 9.0, 9.7.15.7.1 (wgmma.fence), 9.7.15.7.2 (wgmma.commit_group), 9.7.15.7.3
 * (wgmma.wait_group), sm_90a.
 * Errors, left in the module:
 *   CJ_EINVAL: `groups` is more than 7 */
CJ_API void cj_wgmma_fence(cj_fn *f);
CJ_API void cj_wgmma_commit(cj_fn *f);
CJ_API void cj_wgmma_wait(cj_fn *f, unsigned groups);

/* ---- Results to shared memory ---------------------------------------------------------------- */

/* A tile of 64 rows of 128 bytes in shared memory, with the 128-byte swizzle, that one warpgroup
 * writes for a tensor map: 64 columns of 16 bits, or 32 of 32 bits. */
typedef struct cj_store_tile {
    cj_type type;
    uint32_t columns;
    cj_val at[4]; /* CJ_U32: where this thread writes */
} cj_store_tile;

/* Computes where the thread writes in tiles that begin at `shared`, aligned to 1024, or a number of
 * tiles further.  `type`: of the elements: CJ_F16, CJ_BF16, CJ_F32, CJ_S32, CJ_U32.
 * Errors, left in the module:
 *   CJ_EINVAL: `type` is another one, or `tile` is NULL */
CJ_API void cj_store_tile_begin(cj_fn *f, cj_type type, cj_val shared, cj_store_tile *tile);

/* Writes the accumulators of `columns` columns: a vector of 32 CJ_F32 registers for 16-bit types,
 * which are converted, rounded to nearest even, and written with stmatrix; of 16 registers for
 * 32-bit types.  `offset`: of the tile, in bytes, a multiple of 8192.
 * All threads of the warpgroup execute it together.
 * PTX ISA 9.0, 9.7.14.5.16 (stmatrix), sm_90; of 32-bit types 9.7.9.11 (st.shared).
 * Errors, left in the module:
 *   CJ_EINVAL: cj_store_tile_begin has not made `tile`, or `offset` is not a multiple of 8192
 *   CJ_EPTX: `accumulators` has another length */
CJ_API void cj_store_tile_write(cj_fn *f, const cj_store_tile *tile, uint32_t offset, cj_val accumulators);

/* ---- mma.sync and ldmatrix: one warp --------------------------------------------------------- */

typedef struct cj_mma_shape {
    uint32_t k;          /* columns of A: 16 bits 16 or 8, CJ_MMA_TF32 8 or 4, 8 bits 32 or 16 */
    cj_mma_type a, b, d; /* the types of A, B and D, which has 16 rows and 8 columns */
    uint32_t saturate;   /* 1: integers saturate (.satfinite) */
} cj_mma_shape;

/* Fragments: new registers for A, B and D of a shape.
 * Errors, left in the module:
 *   CJ_EINVAL: `mma` is NULL, or mma.sync has no such shape and types */
CJ_API cj_val cj_mma_a(cj_fn *f, const cj_mma_shape *mma);
CJ_API cj_val cj_mma_b(cj_fn *f, const cj_mma_shape *mma);
CJ_API cj_val cj_mma_accumulators(cj_fn *f, const cj_mma_shape *mma);

/* D = A * B + C; `d` and `c` may be the same registers.  All lanes execute it together.
 * PTX ISA 9.0, 9.7.14.5.14 (mma.sync), sm_80; f16 with k 8 sm_75, 8-bit floats sm_89, f64 sm_90.
 * Errors, left in the module: those of cj_mma_a. */
CJ_API void cj_mma(cj_fn *f, const cj_mma_shape *mma, cj_val d, cj_val a, cj_val b, cj_val c);

/* Where elements of fragments are.  A register has as many elements as fit in 32 bits, the first in
 * its lowest bits, or one f64.  Element i, counted through the registers in their order, is
 *   of A: in row row + cj_mma_a_row(mma, i) of m and column column + cj_mma_a_column(mma, i) of k
 *   of B: in row row + cj_mma_b_row(mma, i) of k and column column of n
 * where row and column, CJ_U32, are those of the lane's first element, from cj_mma_a_position or
 * cj_mma_b_position.  For blocks of one dimension.  A in registers of cj_wgmma is the same in the
 * 16 rows of each warp, with k of 32 bytes.
 * PTX ISA 9.0, 9.7.14.5.3 to 9.7.14.5.13 (Matrix Fragments for mma).
 * Errors, left in the module: those of cj_mma_a. */
CJ_API void cj_mma_a_position(cj_fn *f, const cj_mma_shape *mma, cj_val *row, cj_val *column);
CJ_API void cj_mma_b_position(cj_fn *f, const cj_mma_shape *mma, cj_val *row, cj_val *column);
CJ_API uint32_t cj_mma_a_row(const cj_mma_shape *mma, uint32_t i);
CJ_API uint32_t cj_mma_a_column(const cj_mma_shape *mma, uint32_t i);
CJ_API uint32_t cj_mma_b_row(const cj_mma_shape *mma, uint32_t i);

/* Loads 1, 2 or 4 matrices of 8 rows of 16 bytes from shared memory.  `at`: lane 8 i + r has the
 * address of row r of matrix i.  `transposed`: 1 for elements of 16 bits that lie the other way.
 * *matrices: a vector of `count` CJ_B32 registers.  cj_matrix_store is the reverse.
 * PTX ISA 9.0, 9.7.14.5.15 (ldmatrix), sm_75; 9.7.14.5.16 (stmatrix), sm_90.
 * Errors, left in the module:
 *   CJ_EINVAL: `count` is not 1, 2 or 4 */
CJ_API void cj_matrix_load(cj_fn *f, unsigned count, int transposed, cj_val at, cj_val *matrices);
CJ_API void cj_matrix_store(cj_fn *f, unsigned count, int transposed, cj_val at, cj_val matrices);

/* The address of this lane for cj_matrix_load of four matrices, as `at`: a tile of 16 rows and 32
 * bytes at byte column `column` (a multiple of 32) of an array of rows of `pitch` bytes.
 *   cj_mma_a_at: A with k contiguous: the registers are those of cj_mma_a for 16-bit types
 *   cj_mma_b_at: B with k contiguous, rows are n: registers 0 and 1 are cj_mma_b of the first 8
 *     columns, 2 and 3 of the next 8
 * `swizzle`: the pattern of the rows; `pitch` is then its 32, 64 or 128 bytes, and `shared` is
 * aligned to the pattern.
 * Errors, left in the module:
 *   CJ_EINVAL: `column` is not a multiple of 32, `pitch` is not one of 16, or does not fit
 *     `swizzle` */
CJ_API cj_val cj_mma_a_at(cj_fn *f, cj_val shared, uint32_t pitch, uint32_t column, cj_swizzle swizzle);
CJ_API cj_val cj_mma_b_at(cj_fn *f, cj_val shared, uint32_t pitch, uint32_t column, cj_swizzle swizzle);

#ifdef __cplusplus
}
#endif
#endif
