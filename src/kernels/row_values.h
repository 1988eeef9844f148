/* A row of a matrix in the registers of a block, or of a cluster of blocks.
 *
 * If the number of columns is known, the row is cut into chunks of `vector` columns that lie side by side.  Block b of
 * a cluster has the chunks b * part to (b + 1) * part - 1, its *stretch*; thread t of it has the chunks t, t + threads,
 * ... of the stretch.  Chunks behind the row's end have predicates that do not hold.  A chunk stays in registers as it
 * is in memory: elements of 16 bits are converted each time that they are used, which takes half the registers. */
#ifndef CJK_ROW_VALUES_H
#define CJK_ROW_VALUES_H

#include "kernels/vectors.h"

enum { CJK_CHUNKS = 32, CJK_VECTOR = 8, CJK_ROW_BLOCKS = 8 };

/* How blocks hold a row. */
typedef struct cjk_shape {
    uint64_t columns; /* 0: not known when the code is made; the block walks along the row */
    uint32_t threads;
    uint32_t chunks;  /* of a thread */
    uint32_t vector;  /* columns of a chunk, loaded and stored at once: 1, or 16 bytes of the smallest type */
    uint32_t blocks;  /* that share a row, a cluster if more than 1: a power of two up to CJK_ROW_BLOCKS */
    uint64_t part;    /* chunks of a block; the last block may have fewer */
} cjk_shape;

/* What a shape is made for. */
typedef struct cjk_shape_need {
    uint64_t columns; /* 0: open */
    uint32_t vector;  /* columns of a chunk, of which the columns are a multiple */
    uint32_t held;    /* bytes of an element in registers: 2 or 4 */
    uint32_t threads; /* of a block, 256 or 512: at most, if so few can hold the row */
    bool clusters;    /* the device has them */
    bool wide;        /* a row that 512 threads hold with more registers may have a block of 1024 threads */
} cjk_shape_need;

/* The shape; that of open rows if the row fits no block or cluster. */
cjk_shape cjk_shape_of(const cjk_shape_need *need);

/* Limits the kernel's threads and registers to those of the shape, and sets its cluster. */
void cjk_shape_limits(cj_fn *f, const cjk_shape *s);

/* -- Stretches ----------------------------------------------------------------------------------------------------- */

/* The stretch of a row that a block has. */
typedef struct cjk_stretch {
    const cjk_shape *s;
    cj_val row;            /* CJ_U64 */
    cj_val rank;           /* of the block in its cluster; { 0 }: no cluster */
    cj_val first, columns; /* CJ_U64; `first` { 0 }: 0 */
    cj_val chunks;         /* CJ_U32; { 0 }: s->part */
    cj_val arrivals;       /* mbarriers of the joins in a cluster */
    unsigned joins;        /* that the code has so far */
} cjk_stretch;

/* Begins the code of a block: which row, which columns of all `columns` of it. */
void cjk_stretch_begin(cj_fn *f, const cjk_shape *s, cj_val columns, cjk_stretch *out);

/* The address where the stretch begins in a row that begins at `begin`. */
cj_val cjk_stretch_at(cj_fn *f, const cjk_stretch *b, const cjk_operand *x, cj_val begin);

/* -- Joins (row_joins.c) ------------------------------------------------------------------------------------------- */

/* Makes the mbarriers of a stretch in a cluster, and finds its rank. */
void cjk_cluster_begin(cj_fn *f, cjk_stretch *b);

/* Joins a value, or a vector of two values, of all threads that have the row. */
void cjk_row_join(cj_fn *f, cjk_stretch *b, cj_combine_op op, cj_val v, cj_val *total);

/* The same of pairs (top, sum), where `sum` counts 2^top: the greatest top, and the sum of what they stand for. */
void cjk_row_join_powers(cj_fn *f, cjk_stretch *b, cj_val top, cj_val sum, cj_val *all_top, cj_val *all_sum);

/* Moments of `count` elements, all CJ_F32: their mean is reference + mean, and `squares` the sum of the squares of the
 * differences to it.  A count of 0 stands with a mean and squares of 0. */
typedef struct cjk_moments { cj_val reference, mean, squares, count; } cjk_moments;

/* Joins the moments of warps, which all lanes of a warp have, to those of the row. */
void cjk_row_join_moments(cj_fn *f, cjk_stretch *b, cjk_moments *m);

/* -- Chunks -------------------------------------------------------------------------------------------------------- */

typedef struct cjk_chunk {
    cjk_raw raw;
    cj_type type;  /* of the elements in `raw`: CJ_F32 for a chunk of one column */
    cj_val inside; /* the chunk is in the row; { 0 }: certainly */
} cjk_chunk;

/* Loads chunk `k` of the stretch that begins at `begin`; `neutral`, 0 or -INFINITY, where there is no column. */
void cjk_chunk_load(cj_fn *f, const cjk_stretch *b, const cjk_operand *x, cj_val begin, unsigned k, float neutral,
                    cjk_read how, cjk_chunk *out);

/* The columns of a chunk as CJ_F32. */
void cjk_chunk_values(cj_fn *f, const cjk_stretch *b, const cjk_chunk *c, cj_val v[CJK_VECTOR]);

/* Stores values for chunk `k`, if it is inside. */
void cjk_chunk_store(cj_fn *f, const cjk_stretch *b, const cjk_operand *x, cj_val begin, unsigned k, cj_val inside,
                     const cj_val *v);

/* Loads all chunks of the thread. */
void cjk_row_load(cj_fn *f, const cjk_stretch *b, const cjk_operand *x, cj_val begin, float neutral, cjk_chunk *out);

/* How many columns of the row the thread's warp has in its first `chunks` chunks: CJ_F32. */
cj_val cjk_warp_columns(cj_fn *f, const cjk_stretch *b, unsigned chunks);

/* `v` if the chunk is inside, else 0. */
cj_val cjk_inside_or_zero(cj_fn *f, const cjk_chunk *c, cj_val v);

/* The greatest value of all chunks of the thread; NaN is ignored.  Chunks that are outside hold -INFINITY. */
cj_val cjk_row_greatest(cj_fn *f, const cjk_stretch *b, const cjk_chunk *c);

#endif
