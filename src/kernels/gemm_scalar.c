/* Path scalar of cj_gemm: a block computes a tile of 64 x 64 elements, 16 columns of A at a time through shared memory.
 * It runs on every device, with any types, layouts and sizes.  Each element is summed by one thread in the order of k,
 * so results are the same bits each time. */
#include "kernels/gemm_core.h"

/* A tile; each thread has 4 x 4 elements of it: rows 4 ty to 4 ty + 3, columns tx, tx + 16, tx + 32, tx + 48.  So lanes
 * store neighbours, and read neighbours of B's tile and the same elements of A's. */
enum { TILE_SIDE = CJK_SCALAR_TILE, TILE_K = 16, EACH = 4, THREAD_COLUMNS = 16, TILE_PITCH = TILE_SIDE + 1 };

/* A or B in the kernel. */
typedef struct gemm_operand {
    int which;
    cj_type type;
    cj_val base;               /* the address of element (0, 0) of the first batch, CJ_U64 */
    cj_val by_outer, by_k;     /* bytes from an element to the next one; the product wraps for negative ones */
    cj_val by_batch;
    cj_val outer_first;        /* neighbours of the outer side are closer than those of k: threads take them in turn */
    cj_val shared;             /* TILE_K rows of TILE_PITCH elements */
} gemm_operand;

static gemm_operand operand_begin(cj_fn *f, const cjk_gemm *g, const cjk_gemm_params *p, int which, const char *name)
{
    const cjk_operand *x = &p->x[which];
    gemm_operand o = { .which = which, .type = x->type, .base = cj_addr(f, x->base) };
    bool columns = which == CJK_GEMM_B;
    cj_val outer = columns ? x->step : x->stride, along_k = columns ? x->stride : x->step;
    o.by_outer = cjk_gemm_bytes(f, outer, x->type);
    o.by_k = cjk_gemm_bytes(f, along_k, x->type);
    o.by_batch = cjk_gemm_bytes(f, p->by_batch[which], x->type);
    o.outer_first = cj_lt(f, cj_abs(f, outer), cj_abs(f, along_k));
    o.shared = cj_shared(f, name, g->wide, TILE_K * TILE_PITCH);
    return o;
}

/* tf32 as cvt.rna has it: 11 bits, halves away from 0.  Infinities and NaN stay. */
static cj_val rounded_tf32(cj_fn *f, cj_val v)
{
    cj_val bits = cj_bits(f, CJ_U32, v), magnitude = cj_and(f, bits, 0x7fffffffu);
    cj_val rounded = cj_and(f, cj_add(f, bits, 0x1000u), 0xffffe000u);
    return cj_bits(f, CJ_F32, cj_select(f, cj_lt(f, magnitude, 0x7f800000u), rounded, bits));
}

/* e4m3 as f32: the bits of an f16 have the same mantissa and a bias of 15, not 7.  0x7f is NaN. */
static cj_val widened_e4m3(cj_fn *f, cj_val byte)
{
    cj_val magnitude = cj_and(f, byte, 0x7fu), sign = cj_shl(f, cj_and(f, byte, 0x80u), 8);
    cj_val half = cj_cvt(f, CJ_U16, cj_or(f, cj_shl(f, magnitude, 7), sign));
    cj_val scaled = cj_mul(f, cj_cvt(f, CJ_F32, cj_bits(f, CJ_F16, half)), 256.0f);
    return cj_select(f, cj_eq(f, magnitude, 0x7fu), cj_imm_bits(f, CJ_F32, 0x7fc00000), scaled);
}

cj_val cjk_gemm_load_element(cj_fn *f, const cjk_gemm *g, int i, cj_val address)
{
    if (g->o.elements == CJ_GEMM_ELEMENTS_E4M3) return widened_e4m3(f, cj_load(f, CJ_U8, address));
    cj_val v = cjk_load(f, g->type[i], address, g->wide);
    return g->o.elements == CJ_GEMM_ELEMENTS_TF32 ? rounded_tf32(f, v) : v;
}

/* The tile whose first outer index is `first`, and first k is `k0`: what is outside becomes 0. */
static void load_operand(cj_fn *f, const cjk_gemm *g, const gemm_operand *o, cj_val at, cj_val first, cj_val size,
                         cj_val k0, cj_val k)
{
    cj_val t = cj_thread_id(f, CJ_X);
    cj_comment(f, o->which == CJK_GEMM_A ? "Load a tile of A, with 0 outside" : "Load a tile of B, with 0 outside");
    for (int i = 0; i < EACH; i++) {
        cj_val n = cj_add(f, t, i * CJK_THREADS);
        cj_val side = cj_select(f, o->outer_first, cj_and(f, n, TILE_SIDE - 1), cj_shr(f, n, 4));
        cj_val depth = cj_select(f, o->outer_first, cj_shr(f, n, 6), cj_and(f, n, TILE_K - 1));
        cj_val outer = cj_add(f, first, side), along = cj_add(f, k0, depth);
        cj_val v = cj_let(f, g->wide, cj_imm_bits(f, g->wide, 0));
        cj_if(f, cj_and(f, cj_lt(f, outer, size), cj_lt(f, along, k)));
            cj_val row = cj_mad(f, cj_cvt(f, CJ_U64, outer), o->by_outer, at);
            cj_val place = cj_mad(f, cj_cvt(f, CJ_U64, along), o->by_k, row);
            cj_assign(f, v, cjk_gemm_load_element(f, g, o->which, cj_as_ptr(f, place, o->type, CJ_SPACE_GLOBAL)));
        cj_end(f);
        cj_set(f, o->shared, cj_mad(f, depth, TILE_PITCH, side), v);
    }
}

static cj_val times_plus(cj_fn *f, cj_type wide, cj_val a, cj_val b, cj_val c)
{
    return wide == CJ_F32 || wide == CJ_F64 ? cj_fma(f, a, b, c) : cj_mad(f, a, b, c);
}

/* One step of k: each element of the thread's rows by each of its columns. */
static void multiply_tiles(cj_fn *f, const gemm_operand o[2], cj_type wide, cj_val ty, cj_val tx, cj_val *acc)
{
    cj_val row = cj_mul(f, ty, EACH);
    cj_comment(f, "Multiply the tiles: the thread's 4 rows by its 4 columns");
    for (int k = 0; k < TILE_K; k++) {
        cj_val a[EACH], b[EACH];
        for (int i = 0; i < EACH; i++) {
            a[i] = cj_get(f, o[CJK_GEMM_A].shared, cj_add(f, row, k * TILE_PITCH + i));
            b[i] = cj_get(f, o[CJK_GEMM_B].shared, cj_add(f, tx, k * TILE_PITCH + i * THREAD_COLUMNS));
        }
        for (int i = 0; i < EACH; i++)
            for (int j = 0; j < EACH; j++) {
                cj_val *sum = &acc[i * EACH + j];
                cj_assign(f, *sum, times_plus(f, wide, a[i], b[j], *sum));
            }
    }
}

/* Block (x, y): tile x of the matrices y, y + gridDim.y, ...  Tiles of one row of tiles follow one another. */
void cjk_gemm_write_scalar(cj_ptx *m, const char *name, const cjk_gemm *g, const cjk_gemm_variant *v, cj_fn *epilogue)
{
    cj_fn *f = cj_ptx_kernel(m, name);
    gemm_operand o[2];
    cjk_gemm_params p;
    cj_val acc[EACH * EACH];
    cj_fn_max_threads(f, v->threads, 1, 1);
    cjk_gemm_params_begin(f, g, epilogue, &p);
    cj_val rows = p.size[CJK_GEMM_A], columns = p.size[CJK_GEMM_B];
    o[CJK_GEMM_A] = operand_begin(f, g, &p, CJK_GEMM_A, "a_tile");
    o[CJK_GEMM_B] = operand_begin(f, g, &p, CJK_GEMM_B, "b_tile");
    cj_val t = cj_thread_id(f, CJ_X), tx = cj_and(f, t, THREAD_COLUMNS - 1), ty = cj_shr(f, t, 4);
    cj_val across = cj_add(f, cj_shr(f, cj_sub(f, columns, 1), 6), 1), block = cj_block_id(f, CJ_X);
    cj_val m0 = cj_mul(f, cj_div(f, block, across), TILE_SIDE), n0 = cj_mul(f, cj_rem(f, block, across), TILE_SIDE);
    cj_comment(f, "The tile of the block, and its products one after the other");
    cj_name(f, m0, "tile_row");
    cj_name(f, n0, "tile_column");
    cj_val batch = cj_for(f, cj_block_id(f, CJ_Y), p.batches, cj_grid_size(f, CJ_Y));
        cj_name(f, batch, "batch");
        cj_val wide_batch = cj_cvt(f, CJ_U64, batch);
        cj_val at_a = cj_mad(f, wide_batch, o[CJK_GEMM_A].by_batch, o[CJK_GEMM_A].base);
        cj_val at_b = cj_mad(f, wide_batch, o[CJK_GEMM_B].by_batch, o[CJK_GEMM_B].base);
        for (int i = 0; i < EACH * EACH; i++) acc[i] = cj_let(f, g->wide, cj_imm_bits(f, g->wide, 0));
        cj_name(f, cj_vec_n(f, acc, EACH * EACH), "sum");
        cj_val k0 = cj_for(f, 0, p.k, TILE_K);
            cj_name(f, k0, "k_at");
            load_operand(f, g, &o[CJK_GEMM_A], at_a, m0, rows, k0, p.k);
            load_operand(f, g, &o[CJK_GEMM_B], at_b, n0, columns, k0, p.k);
            cj_block_sync(f);
            multiply_tiles(f, o, g->wide, ty, tx, acc);
            cj_block_sync(f);
        cj_end(f);
        cj_comment(f, "Store the sums that are inside");
        for (int i = 0; i < EACH; i++)
            for (int j = 0; j < EACH; j++) {
                cj_val row = cj_add(f, cj_mad(f, ty, EACH, m0), i),
                       column = cj_add(f, cj_add(f, n0, tx), j * THREAD_COLUMNS);
                cj_if(f, cj_and(f, cj_lt(f, row, rows), cj_lt(f, column, columns)));
                    cjk_gemm_store(f, g, &p, acc[i * EACH + j], row, column, batch);
                cj_end(f);
            }
    cj_end(f);
    cj_return(f);
}
