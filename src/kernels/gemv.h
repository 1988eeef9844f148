/* What the files of cj_gemv share.
 *
 * A *unit* is 32 columns of the quantised vector: a scale, the sum of the numbers, 32 bytes.  There are two kernels:
 * that of gemv_rows.c takes every alignment and number of columns, that of gemv_bulk.c (sm_90) rows that begin at
 * multiples of 16 bytes. */
#ifndef CJK_GEMV_H
#define CJK_GEMV_H

#include "kernels/vectors.h"

enum { CJK_GEMV_ROWS, CJK_GEMV_QUANTISE, CJK_GEMV_BULK, CJK_GEMV_BULK_PAIRS, CJK_GEMV_KERNELS };
enum { CJK_UNIT = 32, CJK_UNIT_BYTES = 40, CJK_UNIT_WORDS = 8, CJK_GEMV_WARPS = CJK_THREADS / 32 };

/* A format: columns and bytes of a block, its alignment; and how a warp of the kernel of bulk copies takes a row:
 * columns of a lane in one step of the warp, steps of a segment. */
typedef struct cjk_gemv_format {
    const char *name;
    uint32_t columns, bytes, align;
    uint32_t lane_columns, steps;
} cjk_gemv_format;
extern const cjk_gemv_format cjk_gemv_formats[];

typedef struct cjk_gemv {
    cjk_code code;
    cj_gemv_opts o;
    cj_type x, out;
    uint32_t multiprocessors, shared, block_shared; /* shared memory of a multiprocessor, and of a block at most */
    bool bulk;                 /* the object has the kernel of bulk copies */
} cjk_gemv;

static inline const cjk_gemv_format *cjk_gemv_format_of(const cjk_gemv *g) { return &cjk_gemv_formats[g->o.format]; }
static inline bool cjk_gemv_has_blocks(const cjk_gemv *g) { return g->o.format >= CJ_GEMV_Q4_0; }

/* -- gemv_rows.c --------------------------------------------------------------------------------------------------- */

/* The bytes' low 4 bits behind a shift of the whole word. */
cj_val cjk_nibbles(cj_fn *f, cj_val word, cj_val shift);

/* at + index * bytes, in global memory. */
cj_val cjk_bytes_at(cj_fn *f, cj_val at, cj_val index, uint64_t bytes);

/* The sum of 4 products of bytes, and `sum`. */
cj_val cjk_dot(cj_fn *f, cj_val weights, cj_val x, cj_val sum);

void cjk_gemv_write_rows(cj_ptx *m, const char *name, const cjk_gemv *g);

/* -- gemv_bulk.c --------------------------------------------------------------------------------------------------- */

/* Rows that a warp takes at once, at most, and the greatest number of stages of its ring. */
enum { CJK_BULK_ROWS = 2, CJK_BULK_STAGES = 8 };

/* How a launch divides the work: each warp takes `rounds` groups of `rows` rows, the first `rest` warps one more. */
typedef struct cjk_bulk_shape { uint32_t rows, blocks, segments, rounds, rest, stages, shared; } cjk_bulk_shape;

/* Whether a launch can take it: rows of `packed` bytes, `row_bytes` from row to row.  `args`: behind all checks. */
bool cjk_gemv_bulk_fits(const cjk_gemv *g, const cj_gemv_args *args, uint64_t row_bytes, uint64_t packed,
                        cjk_bulk_shape *shape);

/* The kernel that takes `rows` rows at once. */
void cjk_gemv_write_bulk(cj_ptx *m, const char *name, const cjk_gemv *g, uint32_t rows);

/* -- gemv_steps.c: what a step of a warp adds to the sums of the rows ---------------------------------------------- */

typedef struct cjk_gemv_step {
    cj_gemv_format format;
    cj_val at;                 /* the step's first weight of the first row, in shared memory.  CJ_U32 */
    cj_val x;                  /* of its first column of the vector */
    cj_val lane;
    uint32_t row_bytes;        /* from row to row in shared memory */
    uint32_t rows;
    cj_val *sums;              /* of the rows, written */
} cjk_gemv_step;
void cjk_gemv_step_write(cj_fn *f, const cjk_gemv_step *s);

#endif
