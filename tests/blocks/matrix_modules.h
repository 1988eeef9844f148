/* Kernels that multiply matrices with the blocks of tensor_core.h, and one whose ring is filled by bulk copies: what
 * matrices runs on a GPU is what matrix_texts shows to ptxas everywhere. */
#ifndef MATRIX_MODULES_H
#define MATRIX_MODULES_H

#include <stdbool.h>

#include <cujit/cujit.h>

enum { WGMMA_ROWS = 64, ROW_BYTES = 128, MMA_ROWS = 16, MMA_ROW_BYTES = 32, TILE_BYTES = 8192, WARPGROUP = 128 };
enum { BULK_READERS = 3, BULK_WORDS = 128, BULK_STAGES = 3, BULK_ROUNDS = 17 };

static inline uint32_t matrix_type_bytes(cj_mma_type t)
{
    switch (t) {
    case CJ_MMA_F16: case CJ_MMA_BF16: return 2;
    case CJ_MMA_TF32: case CJ_MMA_F32: case CJ_MMA_S32: return 4;
    default: return 1;
    }
}

/* ---- mma.sync: 16 x 16 elements of D, from 32 bytes of k --------------------------------------------------------- */

static const struct mma_case {
    const char *name;
    cj_mma_shape shape;
} mma_cases[] = {
    { "bf16", { .k = 16, .a = CJ_MMA_BF16, .b = CJ_MMA_BF16, .d = CJ_MMA_F32 } },
    { "f16", { .k = 16, .a = CJ_MMA_F16, .b = CJ_MMA_F16, .d = CJ_MMA_F32 } },
    { "f16 to f16", { .k = 16, .a = CJ_MMA_F16, .b = CJ_MMA_F16, .d = CJ_MMA_F16 } },
    { "tf32", { .k = 8, .a = CJ_MMA_TF32, .b = CJ_MMA_TF32, .d = CJ_MMA_F32 } },
    { "s8", { .k = 32, .a = CJ_MMA_S8, .b = CJ_MMA_S8, .d = CJ_MMA_S32 } },
    { "s8 by u8, saturating", { .k = 32, .a = CJ_MMA_S8, .b = CJ_MMA_U8, .d = CJ_MMA_S32, .saturate = 1 } },
    { "e4m3", { .k = 32, .a = CJ_MMA_E4M3, .b = CJ_MMA_E4M3, .d = CJ_MMA_F32 } },
};
enum { MMA_CASES = sizeof mma_cases / sizeof *mma_cases };

/* Kernel "k"(a, b, d): A is 16 rows of k, B 16 rows of n with k contiguous, 32 bytes each; D is 16 x 16. One warp. */
static inline cj_ptx *mma_module(const struct mma_case *c)
{
    cj_ptx *m = cj_ptx_create();
    cj_fn *f = cj_ptx_kernel(m, "k");
    cj_val in[2], shared[2], v = cj_regs(f, CJ_B32, 4), row, column, fragments, bs, d[2];
    in[0] = cj_param_ptr(f, "a", CJ_U32);
    in[1] = cj_param_ptr(f, "b", CJ_U32);
    cj_val out = cj_param_ptr(f, "d", CJ_U32), lane = cj_thread_id(f, CJ_X);
    for (int i = 0; i < 2; i++) {
        shared[i] = cj_shared(f, i ? "bs" : "as", CJ_U32, MMA_ROWS * MMA_ROW_BYTES / 4);
        cj_var_align(f, shared[i], 128);
        cj_ins(f, "ld.global.v4.b32", v, cj_at(f, in[i], cj_mul(f, lane, 4)));
        cj_ins(f, "st.shared.v4.b32", cj_at(f, shared[i], cj_mul(f, lane, 4)), v);
    }
    cj_block_sync(f);
    cj_matrix_load(f, 4, 0, cj_mma_a_at(f, shared[0], MMA_ROW_BYTES, 0, CJ_SWIZZLE_NONE), &fragments);
    cj_matrix_load(f, 4, 0, cj_mma_b_at(f, shared[1], MMA_ROW_BYTES, 0, CJ_SWIZZLE_NONE), &bs);
    cj_mma_acc_position(f, &row, &column);
    for (uint32_t half = 0; half < 2; half++) {
        d[half] = cj_mma_accumulators(f, &c->shape);
        cj_assign_all(f, d[half], cj_imm(f, 0));
        cj_mma(f, &c->shape, d[half], fragments, cj_slice(f, bs, 2 * half, 2), d[half]);
        uint32_t n = (uint32_t)cj_length_of(f, d[half]), each = 4 / n;      /* elements in a register */
        for (uint32_t i = 0; i < n; i++) {
            uint32_t at = cj_acc_row(i * each) * MMA_ROWS + cj_acc_column(i * each) + 8 * half;
            cj_val place = cj_mad(f, row, MMA_ROWS, cj_add(f, column, at));
            if (each == 2) place = cj_shr(f, place, 1);
            cj_ins(f, "st.global.b32", cj_at(f, out, place), cj_elem(f, d[half], i));
        }
    }
    return m;
}

/* ---- wgmma: 64 x n elements of D, from 128 bytes of k ------------------------------------------------------------ */

static const struct wgmma_case {
    const char *name;
    cj_wgmma_shape shape;
    bool fragments;         /* A in registers */
    cj_type tile;           /* the first columns of D are written with a store tile of this type; CJ_VOID: none */
} wgmma_cases[] = {
    { "bf16, 128 columns", { .n = 128, .a = CJ_MMA_BF16, .b = CJ_MMA_BF16, .d = CJ_MMA_F32 }, false, CJ_BF16 },
    { "bf16, A in registers", { .n = 64, .a = CJ_MMA_BF16, .b = CJ_MMA_BF16, .d = CJ_MMA_F32 }, true, CJ_F32 },
    { "bf16, B with n contiguous",
      { .n = 128, .a = CJ_MMA_BF16, .b = CJ_MMA_BF16, .d = CJ_MMA_F32, .b_mn = 1 },
      false,
      CJ_VOID },
    { "f16, A with m contiguous",
      { .n = 64, .a = CJ_MMA_F16, .b = CJ_MMA_F16, .d = CJ_MMA_F32, .a_mn = 1 },
      false,
      CJ_F16 },
    { "f16, both the other way",
      { .n = 64, .a = CJ_MMA_F16, .b = CJ_MMA_F16, .d = CJ_MMA_F32, .a_mn = 1, .b_mn = 1 },
      false,
      CJ_VOID },
    { "tf32", { .n = 64, .a = CJ_MMA_TF32, .b = CJ_MMA_TF32, .d = CJ_MMA_F32 }, false, CJ_F32 },
    { "e4m3", { .n = 96, .a = CJ_MMA_E4M3, .b = CJ_MMA_E4M3, .d = CJ_MMA_F32 }, false, CJ_VOID },
    { "s8", { .n = 64, .a = CJ_MMA_S8, .b = CJ_MMA_S8, .d = CJ_MMA_S32 }, false, CJ_S32 },
    { "s8, A in registers", { .n = 48, .a = CJ_MMA_S8, .b = CJ_MMA_S8, .d = CJ_MMA_S32 }, true, CJ_VOID },
    { "s8 by u8", { .n = 32, .a = CJ_MMA_S8, .b = CJ_MMA_U8, .d = CJ_MMA_S32 }, false, CJ_VOID },
    { "u8 by s8, A in registers, saturating",
      { .n = 96, .a = CJ_MMA_U8, .b = CJ_MMA_S8, .d = CJ_MMA_S32, .saturate = 1 },
      true,
      CJ_VOID },
};
enum { WGMMA_CASES = sizeof wgmma_cases / sizeof *wgmma_cases };

/* `rows` rows of 128 bytes from global memory to shared, each 16-byte unit where the 128-byte swizzle has it. */
static inline void swizzled_copy(cj_fn *f, cj_val shared, cj_val global, uint32_t rows)
{
    cj_val t = cj_thread_id(f, CJ_X), v = cj_regs(f, CJ_B32, 4);
    for (uint32_t i = 0; i < rows * ROW_BYTES / 16; i += WARPGROUP) {
        cj_val unit = cj_add(f, t, i), row = cj_shr(f, unit, 3), place = cj_xor(f, unit, cj_and(f, row, 7));
        cj_ins(f, "ld.global.v4.b32", v, cj_at(f, global, cj_mul(f, unit, 4)));
        cj_ins(f, "st.shared.v4.b32", cj_at(f, shared, cj_mul(f, place, 4)), v);
    }
}

/* The rows of 128 bytes that an operand of `size` rows or columns has: of k, or of m or n in boxes of 64. */
static inline uint32_t operand_rows(bool mn, uint32_t size) { return mn ? size / 64 * 64 : size; }

/* Kernel "k"(a, b, d, tile): operands as they lie in shared memory, but not swizzled; `tile` gets the store tile, as it
 * lies in shared memory. One warpgroup. */
static inline cj_ptx *wgmma_module(const struct wgmma_case *c)
{
    const cj_wgmma_shape *w = &c->shape;
    cj_ptx *m = cj_ptx_create();
    cj_fn *f = cj_ptx_kernel(m, "k");
    cj_val a = cj_param_ptr(f, "a", CJ_U32), b = cj_param_ptr(f, "b", CJ_U32), out = cj_param_ptr(f, "d", CJ_U32);
    cj_val tile_out = cj_param_ptr(f, "tile", CJ_U32), row, column, warp;
    cj_fn_max_threads(f, WARPGROUP, 1, 1);
    cj_val as = cj_shared(f, "as", CJ_U32, TILE_BYTES / 4), bs = cj_shared(f, "bs", CJ_U32, 2 * TILE_BYTES / 4);
    cj_val staged = cj_shared(f, "staged", CJ_U32, TILE_BYTES / 4);
    cj_var_align(f, as, 1024);
    cj_var_align(f, bs, 1024);
    cj_var_align(f, staged, 1024);
    cj_warp_id(f, &warp);
    swizzled_copy(f, as, a, operand_rows(w->a_mn, WGMMA_ROWS));
    swizzled_copy(f, bs, b, operand_rows(w->b_mn, w->n));
    cj_fence_async_shared(f);
    cj_block_sync(f);
    cj_wgmma_matrix am, bm;
    cj_wgmma_matrix_begin(f, as, w->a_mn ? TILE_BYTES : 16, 1024, CJ_SWIZZLE_128B, &am);
    cj_wgmma_matrix_begin(f, bs, w->b_mn ? TILE_BYTES : 16, 1024, CJ_SWIZZLE_128B, &bm);
    cj_val d = cj_wgmma_accumulators(f, w), fragment[4];
    if (c->fragments) {
        cj_val mine = cj_addr(f, cj_at(f, as, cj_mul(f, warp, 16 * ROW_BYTES / 4)));
        for (uint32_t j = 0; j < 4; j++)
            cj_matrix_load(f, 4, 0, cj_mma_a_at(f, mine, ROW_BYTES, 32 * j, CJ_SWIZZLE_128B), &fragment[j]);
    }
    cj_wgmma_fence(f);
    for (uint32_t j = 0; j < 4; j++)
        cj_wgmma(f, w, d, c->fragments ? fragment[j] : cj_wgmma_operand(f, &am, cj_imm(f, w->a_mn ? 2048 * j : 32 * j)),
                 cj_wgmma_operand(f, &bm, cj_imm(f, w->b_mn ? 2048 * j : 32 * j)), cj_imm(f, j > 0));
    cj_wgmma_commit(f);
    cj_wgmma_wait(f, 0);
    cj_wgmma_acc_position(f, &row, &column);
    for (uint32_t i = 0; i < w->n / 2; i++) {
        cj_val place = cj_mad(f, row, w->n, cj_add(f, column, cj_acc_row(i) * w->n + cj_acc_column(i)));
        cj_ins(f, "st.global.b32", cj_at(f, out, place), cj_elem(f, d, i));
    }
    if (c->tile != CJ_VOID) {
        cj_store_tile t;
        cj_store_tile_begin(f, c->tile, staged, &t);
        cj_store_tile_write(f, &t, 0, cj_slice(f, d, 0, t.columns / 2));
        cj_block_sync(f);
        cj_val v = cj_regs(f, CJ_B32, 4);
        for (uint32_t i = 0; i < TILE_BYTES / 16; i += WARPGROUP) {
            cj_val at = cj_mul(f, cj_add(f, cj_thread_id(f, CJ_X), i), 4);
            cj_ins(f, "ld.shared.v4.b32", v, cj_at(f, staged, at));
            cj_ins(f, "st.global.v4.b32", cj_at(f, tile_out, at), v);
        }
    }
    return m;
}

/* ---- A ring that bulk copies fill -------------------------------------------------------------------------------- */

/* Kernel "bulk_ring"(in, out): warpgroup 0 starts the copies of BULK_ROUNDS stages of BULK_WORDS words; the first three
 * warps of warpgroup 1 each sum word w of stage i times (i + 1) (reader + 1), and store their sums in bulk. */
static inline cj_ptx *bulk_module(void)
{
    enum { BYTES = BULK_WORDS * 4 };
    cj_ptx *m = cj_ptx_create();
    cj_fn *f = cj_ptx_kernel(m, "bulk_ring");
    cj_val in = cj_param_ptr(f, "in", CJ_U32), out = cj_param_ptr(f, "out", CJ_U32), group, warp;
    cj_val data = cj_shared(f, "data", CJ_U32, BULK_STAGES * BULK_WORDS),
           bars = cj_shared(f, "bars", CJ_B64, 2 * BULK_STAGES);
    cj_val sums = cj_shared(f, "sums", CJ_U32, BULK_READERS * BULK_WORDS);
    cj_var_align(f, data, 128);
    cj_var_align(f, sums, 128);
    cj_fn_max_threads(f, 2 * WARPGROUP, 1, 1);
    cj_fn_min_blocks(f, 1);
    cj_val t = cj_thread_id(f, CJ_X), first = cj_eq(f, t, 0), lane = cj_and(f, t, 31);
    cj_warpgroup_id(f, &group);
    cj_warp_id(f, &warp);
    cj_if(f, first);
        cj_ring_init(f, bars, BULK_STAGES, 1, BULK_READERS);
        cj_mbarrier_init_fence(f);
    cj_end(f);
    cj_block_sync(f);
    cj_ring ring;
    cj_ring_begin(f, bars, BULK_STAGES, &ring);
    cj_role_fewer(f, group, 0, 1, 40);
        cj_if(f, first);
            cj_val i = cj_for(f, 0, BULK_ROUNDS, 1);
                cj_ring_wait_empty(f, &ring);
                cj_mbarrier_expect(f, cj_ring_full(f, &ring), BYTES);
                cj_bulk_load(f, cj_ring_stage(f, &ring, data, BYTES), cj_at(f, in, cj_mul(f, i, BULK_WORDS)), BYTES,
                             cj_ring_full(f, &ring));
                cj_ring_next(f, &ring);
            cj_end(f);
        cj_end(f);
    cj_end(f);
    cj_role_more(f, group, 1, 1, 232);
        cj_val r = cj_sub(f, warp, 4), sum = cj_regs(f, CJ_U32, 4), v = cj_regs(f, CJ_U32, 4), elected;
        cj_if(f, cj_lt(f, r, BULK_READERS));
            cj_warp_elect(f, &elected);
            cj_assign_all(f, sum, 0);
            cj_val k = cj_for(f, 0, BULK_ROUNDS, 1);
                cj_ring_wait_full(f, &ring);
                cj_val factor = cj_mul(f, cj_add(f, k, 1), cj_add(f, r, 1));
                cj_ins(f, "ld.shared.v4.u32", v,
                       cj_mem(f, cj_mad(f, lane, 16, cj_ring_stage(f, &ring, data, BYTES)), 0));
                for (size_t e = 0; e < 4; e++)
                    cj_assign(f, cj_elem(f, sum, e), cj_mad(f, cj_elem(f, v, e), factor, cj_elem(f, sum, e)));
                cj_warp_sync(f, 0xffffffffu);
                cj_ring_release_if(f, elected, &ring, (cj_val){ 0 });
                cj_ring_next(f, &ring);
            cj_end(f);
            cj_val mine = cj_mul(f, r, BULK_WORDS);
            cj_ins(f, "st.shared.v4.u32", cj_at(f, sums, cj_mad(f, lane, 4, mine)), sum);
            cj_fence_async_shared(f);
            cj_warp_sync(f, 0xffffffffu);
            cj_bulk_store_if(f, elected, cj_at(f, out, mine), cj_at(f, sums, mine), BYTES);
            cj_bulk_commit_if(f, elected);
            cj_bulk_wait_if(f, elected, 0);
        cj_end(f);
    cj_end(f);
    return m;
}

#endif
