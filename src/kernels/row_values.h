/* A row of a matrix in the registers of a block.
 *
 * If the number of columns is known, thread t has the chunks t, t + threads, ... of the row, each of `vector` columns
 * that lie side by side.  Chunks behind the row's end have predicates that do not hold. */
#ifndef CJK_ROW_VALUES_H
#define CJK_ROW_VALUES_H

#include "kernels/vectors.h"

enum { CJK_CHUNKS = 32, CJK_VECTOR = 8, CJK_KNOWN_MOST = 32768 };

/* How a block holds a row. */
typedef struct cjk_shape {
    uint64_t columns; /* 0: not known when the code is made; the block walks along the row */
    uint32_t threads;
    uint32_t chunks;  /* of a thread */
    uint32_t vector;  /* columns of a chunk, loaded and stored at once: 1, or 16 bytes of the smaller type */
} cjk_shape;

typedef struct cjk_row_values {
    cj_val v[CJK_CHUNKS][CJK_VECTOR]; /* CJ_F32 */
    cj_val inside[CJK_CHUNKS];        /* the chunk is in the row; { 0 }: certainly */
} cjk_row_values;

/* The shape for rows of `columns` columns, 0: open.  `vectors`: chunks of 16 bytes of a type of `bytes` bytes, of which
 * the columns are a multiple. */
cjk_shape cjk_shape_of(uint64_t columns, size_t bytes, bool vectors);

/* Loads a row that begins at `begin`, as CJ_F32; `neutral` where there is no column. */
void cjk_row_load(cj_fn *f, const cjk_shape *s, const cjk_operand *x, cj_val begin, float neutral, cjk_row_values *out);

/* The same for chunk `k` alone. */
void cjk_chunk_load(cj_fn *f, const cjk_shape *s, const cjk_operand *x, cj_val begin, unsigned k, float neutral,
                    cjk_read how, cjk_row_values *out);
void cjk_chunk_store(cj_fn *f, const cjk_shape *s, const cjk_operand *x, cj_val begin, unsigned k,
                     const cjk_row_values *v);

/* Stores the values that are inside. */
void cjk_row_store(cj_fn *f, const cjk_shape *s, const cjk_operand *x, cj_val begin, const cjk_row_values *v);

/* `v` where chunk `k` is inside, else `other`. */
cj_val cjk_row_inside(cj_fn *f, const cjk_row_values *r, unsigned k, cj_val v, float other);

/* Joins a value, or a vector of values, of all threads of the block. */
void cjk_row_join(cj_fn *f, const cjk_shape *s, cj_combine_op op, cj_val v, cj_val *total);

#endif
