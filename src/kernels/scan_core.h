/* Scans: what their kernels share.
 *
 * A long row is cut into tiles of as many columns as its types say.  How a tile is scanned, and how the sums of tiles
 * are joined, depends on the types and on the number of columns only.  So both ways to scan a row of several tiles give
 * the same bits: three kernels (scan_tiles.c), and one that reads each element once (scan_stream.c).
 *
 * Tiles in groups of 32.  What comes before tile t is
 *     ((group 0 op group 1) op ... group t / 32 - 1) op (the tiles of group t / 32 before t)
 * where the tiles of a group are joined as the lanes of a warp are (cj_warp_scan). */
#ifndef CJK_SCAN_CORE_H
#define CJK_SCAN_CORE_H

#include "kernels/vectors.h"

enum {
    CJK_SCAN_THREADS = 1024, CJK_SCAN_WARPS = CJK_SCAN_THREADS / 32,
    CJK_SCAN_GROUP = 32,       /* tiles of a group */
    CJK_SCAN_VALUES = 16,      /* most values of a thread */
    CJK_SCAN_HEADER = 256      /* bytes of the state of cjk_write_scan_stream before the published sums */
};

/* A thread has `vectors` runs of `of_vector` columns that lie side by side.  Run i of thread t begins at column
 * (i * 1024 + t) * of_vector of the tile. */
typedef struct cjk_scan_shape {
    cj_type type, out;
    bool exclusive;
    unsigned of_vector, vectors, values;
    unsigned columns;          /* of a tile */
    cjk_join join;
} cjk_scan_shape;

/* Everything but the join, which has the type `wide`. */
cjk_scan_shape cjk_scan_shape_of(cj_type type, cj_type out, cj_type wide, bool exclusive);

/* Where in a block a thread is, as CJ_U32. */
typedef struct cjk_scan_place { cj_val thread, warp, lane; } cjk_scan_place;
void cjk_scan_place_of(cj_fn *f, cjk_scan_place *p);

/* cj_warp_scan by the join. */
void cjk_scan_warp(cj_fn *f, const cjk_join *j, cj_val v, cj_val *inclusive, cj_val *exclusive);

/* Loads a tile element by element: columns from `first` on, the identity from `end` on. */
void cjk_scan_load_each(cj_fn *f, const cjk_scan_shape *s, const cjk_operand *x, cj_val row, cj_val first, cj_val end,
                        cj_val thread, const cj_val *v);

/* Scans vector i of the lanes of each warp, in the registers `v`.  The sums of warps are left in shared memory at
 * `sums`: of vector i of warp w at word 32 i + w. */
void cjk_scan_local(cj_fn *f, const cjk_scan_shape *s, const cjk_scan_place *p, cj_val sums, const cj_val *v);

/* One warp replaces the sums by what comes before each of them.  *total: all joined, in lane 31. */
void cjk_scan_sums(cj_fn *f, const cjk_scan_shape *s, const cjk_scan_place *p, cj_val sums, cj_val *total);

/* The results of vector i behind `carry`, the join of all before the tile, in out[0] to out[of_vector - 1]. */
void cjk_scan_results(cj_fn *f, const cjk_scan_shape *s, const cjk_scan_place *p, cj_val sums, cj_val carry,
                      const cj_val *v, unsigned i, cj_val *out);

/* Stores those before column `end`, one by one. */
void cjk_scan_store_each(cj_fn *f, const cjk_scan_shape *s, const cjk_operand *out, cj_val row, cj_val first,
                         cj_val end, cj_val thread, unsigned i, const cj_val *results);

/* -- Three kernels (scan_tiles.c) ---------------------------------------------------------------------------------- */

/* Block r * tiles + t joins tile t of row r: totals[r][t]. */
void cjk_write_scan_totals(cj_ptx *m, const char *name, const cjk_scan_shape *s);

/* Block r replaces totals[r][t] by what comes before tile t. */
void cjk_write_scan_offsets(cj_ptx *m, const char *name, const cjk_scan_shape *s);

/* Block r * tiles + t scans tile t of row r behind offsets[r][t]; behind the identity if there is one tile. */
void cjk_write_scan_tiles(cj_ptx *m, const char *name, const cjk_scan_shape *s);

/* -- One kernel (scan_stream.c) ------------------------------------------------------------------------------------ */

/* Whether it can be used for rows of these types: a tile is scanned where it lies in shared memory. */
bool cjk_scan_streams(const cjk_scan_shape *s);

/* Dynamic shared memory of a block; `blocks`: the most of a grid. */
uint32_t cjk_scan_stream_shared(const cjk_scan_shape *s, uint32_t blocks);
size_t cjk_scan_stream_state(const cjk_scan_shape *s, uint64_t tiles);

/* A cooperative grid of at most `blocks` blocks scans a row.  The state holds 0, or cjk_write_scan_epoch ran before. */
void cjk_write_scan_stream(cj_ptx *m, const char *name, const cjk_scan_shape *s, uint32_t blocks);

/* One thread prepares a state, which was 0 before the first time, for a grid of so many blocks. */
void cjk_write_scan_epoch(cj_ptx *m, const char *name);

#endif
