/* Tiles of scans, and the three kernels that scan a row of several tiles without waiting for each other. */
#include "kernels/scan_core.h"

/* -- Shapes -------------------------------------------------------------------------------------------------------- */

cjk_scan_shape cjk_scan_shape_of(cj_type type, cj_type out, cj_type wide, bool exclusive)
{
    cjk_scan_shape s = { .type = type, .out = out, .exclusive = exclusive, .join.type = wide };
    s.values = (unsigned)(CJK_SCAN_VALUES * 4 / cjk_size(wide));
    s.of_vector = cjk_vector_of(type) < s.values ? cjk_vector_of(type) : s.values;
    s.vectors = s.values / s.of_vector;
    s.columns = s.values * CJK_SCAN_THREADS;
    return s;
}

void cjk_scan_place_of(cj_fn *f, cjk_scan_place *p)
{
    p->thread = cj_thread_id(f, CJ_X);
    p->lane = cj_and(f, p->thread, 31);
    cj_warp_id(f, &p->warp);
    cj_name(f, p->thread, "thread");
    cj_name(f, p->lane, "lane");
    cj_name(f, p->warp, "warp");
}

/* -- A tile -------------------------------------------------------------------------------------------------------- */

static cj_val first_column(cj_fn *f, const cjk_scan_shape *s, cj_val first, cj_val thread)
{
    return cj_add(f, first, cj_mul_wide(f, thread, s->of_vector));
}

/* Element by element: where this thread's first element is, the distance of two columns in bytes, and how many columns
 * from that element on are in the tile and before the row's end (0 or less: none). */
typedef struct each_element { cj_val at, by, left; } each_element;

static void each_begin(cj_fn *f, const cjk_scan_shape *s, const cjk_operand *x, cj_val row, cj_val first, cj_val end,
                       cj_val thread, each_element *e)
{
    cj_val left = cj_cvt(f, CJ_S32, cj_min(f, cj_sub(f, end, first), s->columns));
    e->left = cj_sub(f, left, cj_bits(f, CJ_S32, cj_mul(f, thread, s->of_vector)));
    e->by = cj_mul(f, cj_bits(f, CJ_U64, x->step), cjk_size(x->type));
    e->at = cj_addr(f, cjk_column(f, x, row, first_column(f, s, first, thread)));
}

/* Element j of vector i: its address, behind a branch that only threads take that have it.  cj_end follows. */
static cj_val each_if(cj_fn *f, const cjk_scan_shape *s, const cjk_operand *x, const each_element *e, unsigned i,
                      unsigned j)
{
    unsigned ahead = i * CJK_SCAN_THREADS * s->of_vector + j;
    cj_if(f, cj_gt(f, e->left, (int32_t)ahead));
    return cj_as_ptr(f, cj_mad(f, e->by, ahead, e->at), x->type, CJ_SPACE_GLOBAL);
}

void cjk_scan_load_each(cj_fn *f, const cjk_scan_shape *s, const cjk_operand *x, cj_val row, cj_val first, cj_val end,
                        cj_val thread, const cj_val *v)
{
    each_element e;
    cj_comment(f, "Load the tile element by element");
    each_begin(f, s, x, row, first, end, thread, &e);
    for (unsigned i = 0; i < s->values; i++) {
        cj_assign(f, v[i], cjk_identity(f, &s->join));
        cj_val at = each_if(f, s, x, &e, i / s->of_vector, i % s->of_vector);
            cj_assign(f, v[i], cjk_load(f, s->type, at, s->join.type));
        cj_end(f);
    }
}

void cjk_scan_store_each(cj_fn *f, const cjk_scan_shape *s, const cjk_operand *out, cj_val row, cj_val first,
                         cj_val end, cj_val thread, unsigned i, const cj_val *results)
{
    each_element e;
    cj_comment(f, "Store a vector of results element by element");
    each_begin(f, s, out, row, first, end, thread, &e);
    for (unsigned j = 0; j < s->of_vector; j++) {
        cj_val at = each_if(f, s, out, &e, i, j);
            cjk_store(f, s->out, at, results[j]);
        cj_end(f);
    }
}

void cjk_scan_warp(cj_fn *f, const cjk_join *j, cj_val v, cj_val *inclusive, cj_val *exclusive)
{
    if (j->fn) cj_warp_scan_fn(f, j->fn, v, cjk_identity(f, j), 32, inclusive, exclusive);
    else cj_warp_scan(f, j->op, v, 32, inclusive, exclusive);
}

/* A word of shared memory at `base` + `index` words + `offset` words. */
static cj_val sum_word(cj_fn *f, const cjk_scan_shape *s, cj_val base, cj_val index, unsigned offset)
{
    unsigned size = (unsigned)cjk_size(s->join.type);
    return cj_mem(f, cj_as_ptr(f, cj_mad(f, index, size, base), s->join.type, CJ_SPACE_SHARED), offset * size);
}

/* Each value of a vector is joined with those before it in the vector, then with the lanes before. */
void cjk_scan_local(cj_fn *f, const cjk_scan_shape *s, const cjk_scan_place *p, cj_val sums, const cj_val *v)
{
    const cjk_join *j = &s->join;
    unsigned n = s->of_vector;
    cj_comment(f, "Scan the thread's vectors, then those of the warp's lanes; leave the sums of the warp");
    cj_val last[CJK_SCAN_VALUES], before[CJK_SCAN_VALUES], is_last = cj_eq(f, p->lane, 31);
    for (unsigned i = 0; i < s->values; i++)
        if (i % n) cj_assign(f, v[i], cjk_combine(f, j, v[i - 1], v[i]));
    for (unsigned i = 0; i < s->vectors; i++) cjk_scan_warp(f, j, v[(i + 1) * n - 1], &last[i], &before[i]);
    cj_if(f, is_last);
        for (unsigned i = 0; i < s->vectors; i++)
            cj_store(f, j->type, sum_word(f, s, sums, p->warp, i * CJK_SCAN_WARPS), last[i]);
    cj_end(f);
    for (unsigned i = s->values; i--;) {
        if (!s->exclusive) cj_assign(f, v[i], cjk_combine(f, j, before[i / n], v[i]));
        else if (i % n) cj_assign(f, v[i], cjk_combine(f, j, before[i / n], v[i - 1]));
        else cj_assign(f, v[i], before[i / n]);
    }
}

/* Lane l has `vectors` sums that lie side by side. */
void cjk_scan_sums(cj_fn *f, const cjk_scan_shape *s, const cjk_scan_place *p, cj_val sums, cj_val *total)
{
    cj_comment(f, "Replace the sums of the warps by what comes before each of them");
    cj_val q[CJK_SCAN_VALUES], before, first = cj_mul(f, p->lane, s->vectors);
    for (unsigned i = 0; i < s->vectors; i++) {
        q[i] = cj_load(f, s->join.type, sum_word(f, s, sums, first, i));
        if (i) q[i] = cjk_combine(f, &s->join, q[i - 1], q[i]);
    }
    cjk_scan_warp(f, &s->join, q[s->vectors - 1], total, &before);
    cj_store(f, s->join.type, sum_word(f, s, sums, first, 0), before);
    for (unsigned i = 1; i < s->vectors; i++)
        cj_store(f, s->join.type, sum_word(f, s, sums, first, i), cjk_combine(f, &s->join, before, q[i - 1]));
}

void cjk_scan_results(cj_fn *f, const cjk_scan_shape *s, const cjk_scan_place *p, cj_val sums, cj_val carry,
                      const cj_val *v, unsigned i, cj_val *out)
{
    cj_val warps = cj_load(f, s->join.type, sum_word(f, s, sums, p->warp, i * CJK_SCAN_WARPS));
    cj_val before = cjk_combine(f, &s->join, carry, warps);
    for (unsigned j = 0; j < s->of_vector; j++)
        out[j] = cjk_combine(f, &s->join, before, v[i * s->of_vector + j]);
}

/* -- Three kernels ------------------------------------------------------------------------------------------------- */

/* A block of the grid: a tile of a row. */
typedef struct tile_block {
    cjk_scan_place p;
    cjk_operand x;
    cj_val columns, tiles;     /* parameters */
    cj_val row, first;         /* of the block: CJ_U64 */
    cj_val vectors;            /* predicate: vectors can be loaded, and the tile is whole */
    cj_val sums;
} tile_block;

static void tile_params(cj_fn *f, const cjk_scan_shape *s, tile_block *b)
{
    b->x = cjk_operand_of(f, "x", s->type);
    b->columns = cj_param(f, "columns", CJ_U64);
    b->tiles = cj_param(f, "tiles", CJ_U32);
}

static void tile_begin(cj_fn *f, const cjk_scan_shape *s, cj_val fits, tile_block *b)
{
    cj_comment(f, "The row and the tile of it that the block has");
    cj_val block = cj_block_id(f, CJ_X), row = cj_div(f, block, b->tiles);
    cj_val tile = cj_sub(f, block, cj_mul(f, row, b->tiles));
    b->row = cj_cvt(f, CJ_U64, row);
    b->first = cj_mul_wide(f, tile, s->columns);
    cj_val whole = cj_le(f, cj_add(f, b->first, s->columns), b->columns);
    b->vectors = cj_and(f, whole, cj_ne(f, fits, 0));
    b->sums = cj_addr(f, cj_shared(f, "sums", s->join.type, (size_t)s->vectors * CJK_SCAN_WARPS));
    cjk_scan_place_of(f, &b->p);
    cj_name(f, b->columns, "columns");
    cj_name(f, b->tiles, "tiles");
    cj_name(f, tile, "tile");
    cj_name(f, b->row, "row");
    cj_name(f, b->first, "first");
    cj_name(f, b->sums, "sums");
}

/* The address of this thread's first vector of the tile, of elements of `type`. */
static cj_val vector_address(cj_fn *f, const cjk_scan_shape *s, const tile_block *b, const cjk_operand *x, cj_val begin)
{
    cj_val column = first_column(f, s, b->first, b->p.thread);
    return cj_as_ptr(f, cj_mad(f, column, cjk_size(x->type), cj_addr(f, begin)), x->type, CJ_SPACE_GLOBAL);
}

static void load_scan_tile(cj_fn *f, const cjk_scan_shape *s, const tile_block *b, cj_val *to)
{
    cj_val begin = cjk_row(f, &b->x, b->row);
    cjk_raw raw[CJK_SCAN_VALUES];
    for (unsigned i = 0; i < s->values; i++) to[i] = cj_reg(f, s->join.type);
    cj_name(f, cj_vec_n(f, to, s->values), "value");
    cj_if(f, b->vectors);
        cj_comment(f, "Load the tile in vectors");
        cj_val at = vector_address(f, s, b, &b->x, begin);
        int64_t apart = (int64_t)(CJK_SCAN_THREADS * s->of_vector * cjk_size(s->type));
        for (unsigned i = 0; i < s->vectors; i++)
            cjk_raw_load(f, s->type, at, i * apart, s->of_vector, CJK_READ_ONCE, &raw[i]);
        for (unsigned i = 0; i < s->vectors; i++) {
            cj_val v[CJK_WIDEST];
            cjk_raw_values(f, s->type, &raw[i], s->of_vector, s->join.type, v);
            for (unsigned j = 0; j < s->of_vector; j++) cj_assign(f, to[i * s->of_vector + j], v[j]);
        }
    cj_else(f);
        cjk_scan_load_each(f, s, &b->x, begin, b->first, b->columns, b->p.thread, to);
    cj_end(f);
}

void cjk_write_scan_totals(cj_ptx *m, const char *name, const cjk_scan_shape *s)
{
    cj_fn *f = cj_ptx_kernel(m, name);
    tile_block b;
    cj_fn_max_threads(f, CJK_SCAN_THREADS, 1, 1);
    tile_params(f, s, &b);
    cj_val totals = cj_param_ptr(f, "totals", s->join.type), fits = cj_param(f, "fits", CJ_U32);
    cj_val total, v[CJK_SCAN_VALUES];
    tile_begin(f, s, fits, &b);
    load_scan_tile(f, s, &b, v);
    cjk_scan_local(f, s, &b.p, b.sums, v);
    cj_block_sync(f);
    cj_if(f, cj_eq(f, b.p.warp, 0));
        cjk_scan_sums(f, s, &b.p, b.sums, &total);
        cj_name(f, total, "total");
        cj_comment(f, "The last lane stores the total of the tile");
        cj_if(f, cj_eq(f, b.p.lane, 31));
            cj_set(f, totals, cj_block_id(f, CJ_X), total);
        cj_end(f);
    cj_end(f);
    cj_return(f);
}

/* 32 groups at a time: one for each warp. */
void cjk_write_scan_offsets(cj_ptx *m, const char *name, const cjk_scan_shape *s)
{
    cj_fn *f = cj_ptx_kernel(m, name);
    cj_type type = s->join.type;
    cjk_scan_place p;
    cj_fn_max_threads(f, CJK_SCAN_THREADS, 1, 1);
    cj_val totals = cj_param_ptr(f, "totals", type), offsets = cj_param_ptr(f, "offsets", type);
    cj_val tiles = cj_param(f, "tiles", CJ_U32), groups = cj_shared(f, "groups", type, CJK_SCAN_WARPS);
    cj_comment(f, "The totals of the block's row");
    cj_val row = cj_mul_wide(f, cj_block_id(f, CJ_X), tiles);
    cjk_scan_place_of(f, &p);
    cj_val carry = cj_let(f, type, cjk_identity(f, &s->join)), before = cj_let(f, type, cjk_identity(f, &s->join));
    cj_name(f, tiles, "tiles");
    cj_name(f, row, "row_of_totals");
    cj_name(f, carry, "carry");
    cj_name(f, before, "before");
    cj_val base = cj_for(f, 0, tiles, CJK_SCAN_THREADS), group, in_group;
        cj_val tile = cj_add(f, base, p.thread), inside = cj_lt(f, tile, tiles);
        cj_name(f, tile, "tile");
        cj_comment(f, "A group of 32 tiles for each warp: scan their totals");
        cj_val place = cj_add(f, row, cj_cvt(f, CJ_U64, tile)), v = cj_let(f, type, cjk_identity(f, &s->join));
        cj_if(f, inside);
            cj_assign(f, v, cj_get(f, totals, place));
        cj_end(f);
        cjk_scan_warp(f, &s->join, v, &group, &in_group);
        cj_if(f, cj_eq(f, p.lane, 31));
            cj_set(f, groups, p.warp, group);
        cj_end(f);
        cj_block_sync(f);
        cj_comment(f, "Join the groups in their order; keep what comes before the warp's");
        cj_val i = cj_for(f, 0, CJK_SCAN_WARPS, 1);
            cj_name(f, i, "group");
            cj_if(f, cj_eq(f, i, p.warp));
                cj_assign(f, before, carry);
            cj_end(f);
            cj_assign(f, carry, cjk_combine(f, &s->join, carry, cj_get(f, groups, i)));
        cj_end(f);
        cj_comment(f, "Store what comes before each tile");
        cj_if(f, inside);
            cj_set(f, offsets, place, cjk_combine(f, &s->join, before, in_group));
        cj_end(f);
        cj_block_sync(f);
    cj_end(f);
    cj_return(f);
}

void cjk_write_scan_tiles(cj_ptx *m, const char *name, const cjk_scan_shape *s)
{
    cj_fn *f = cj_ptx_kernel(m, name);
    unsigned size = (unsigned)cjk_size(s->out);
    bool stores_vectors = s->of_vector * size >= 4;
    tile_block b;
    cj_fn_max_threads(f, CJK_SCAN_THREADS, 1, 1);
    tile_params(f, s, &b);
    cjk_operand out = cjk_operand_of(f, "out", s->out);
    cj_val offsets = cj_param_ptr(f, "offsets", s->join.type), fits = cj_param(f, "fits", CJ_U32);
    cj_val out_fits = cj_param(f, "out_fits", CJ_U32), unused, v[CJK_SCAN_VALUES], results[CJK_SCAN_VALUES];
    tile_begin(f, s, fits, &b);
    cj_comment(f, "What comes before the tile");
    cj_val carry = cj_let(f, s->join.type, cjk_identity(f, &s->join));
    cj_name(f, carry, "carry");
    cj_if(f, cj_gt(f, b.tiles, 1));
        cj_assign(f, carry, cj_get(f, offsets, cj_block_id(f, CJ_X)));
    cj_end(f);
    load_scan_tile(f, s, &b, v);
    cjk_scan_local(f, s, &b.p, b.sums, v);
    cj_block_sync(f);
    cj_if(f, cj_eq(f, b.p.warp, 0));
        cjk_scan_sums(f, s, &b.p, b.sums, &unused);
    cj_end(f);
    cj_block_sync(f);
    cj_comment(f, "The results, behind what comes before the tile and before the warp");
    cj_val begin = cjk_row(f, &out, b.row), at = vector_address(f, s, &b, &out, begin);
    cj_val by_vector = cj_and(f, b.vectors, cj_ne(f, out_fits, 0));
    for (unsigned i = 0; i < s->vectors; i++) {
        cjk_scan_results(f, s, &b.p, b.sums, carry, v, i, results);
        if (stores_vectors) {
            cj_if(f, by_vector);
                cj_comment(f, "Store a vector of results");
                cjk_vector_store(f, s->out, at, (int64_t)(i * CJK_SCAN_THREADS * s->of_vector * size), s->of_vector,
                                 results);
            cj_else(f);
        }
        cjk_scan_store_each(f, s, &out, begin, b.first, b.columns, b.p.thread, i, results);
        if (stores_vectors) cj_end(f);
    }
    cj_return(f);
}
