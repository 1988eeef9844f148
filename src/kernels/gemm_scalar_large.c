/* Path scalar of cj_gemm with larger tiles, for products that fill the device and sums of 32 bits.  A block computes
 * 128 x 128 elements, 8 columns of A at a time.  There are two buffers of shared memory: while one is multiplied, the
 * elements for the other are on their way from memory in registers.
 *
 * A warp's lanes are 8 x 4; each thread has 8 x 8 sums: rows 4 lm + 32 p + i and columns 4 ln + 16 q + j of its warp's
 * 64 x 32, with i, j < 4 and p, q < 2.  So it reads four neighbours of a row of k at once. */
#include "kernels/gemm_core.h"

enum {
    LARGE_SIDE = CJK_SCALAR_LARGE, LARGE_K = 8, K_BITS = 3,
    LARGE_PITCH = LARGE_SIDE + 4, BUFFER_WORDS = LARGE_K * LARGE_PITCH,
    LARGE_EACH = LARGE_SIDE * LARGE_K / CJK_THREADS, /* elements of an operand that a thread copies */
    HALVES = 2, HALF_SUMS = 4, THREAD_SUMS = HALVES * HALF_SUMS,
    WARP_ROWS = 64, WARP_COLUMNS = 32, WARPS_ACROSS = 4, PATCH_ROWS = 32, PATCH_WORDS = PATCH_ROWS * CJK_PATCH_PITCH,
    SHARED_WORDS = CJK_THREADS / 32 * PATCH_WORDS /* a patch of each warp; the four buffers, used before, are less */
};

/* A or B: what this thread copies, every LARGE_EACH-th element of a tile. */
typedef struct large_operand {
    int which;
    cj_type type;
    cj_val base, by_outer, by_k, by_batch, outer_first; /* as in gemm_scalar.c */
    cj_val size;
    cj_val side, depth, next_side, next_depth; /* its first element in the tile, and how far the others are */
    cj_val next;               /* bytes, likewise */
    cj_val outer, along, at;   /* of the first element in the matrix; its address */
    cj_val to, next_to;        /* where it is put in buffer 0, and the bytes to the others */
    cj_val from;               /* what this thread multiplies: in buffer 0 */
    cj_val ahead[LARGE_EACH];
} large_operand;

static void large_begin(cj_fn *f, const cjk_gemm *g, const cjk_gemm_params *p, int which, cj_val shared,
                        large_operand *o)
{
    const cjk_operand *x = &p->x[which];
    bool columns = which == CJK_GEMM_B;
    cj_val outer = columns ? x->step : x->stride, along_k = columns ? x->stride : x->step, t = cj_thread_id(f, CJ_X);
    o->which = which, o->type = x->type, o->base = cj_addr(f, x->base), o->size = p->size[which];
    o->by_outer = cjk_gemm_bytes(f, outer, x->type);
    o->by_k = cjk_gemm_bytes(f, along_k, x->type);
    o->by_batch = cjk_gemm_bytes(f, p->by_batch[which], x->type);
    o->outer_first = cj_lt(f, cj_abs(f, outer), cj_abs(f, along_k));
    o->side = cj_select(f, o->outer_first, cj_and(f, t, LARGE_SIDE - 1), cj_shr(f, t, K_BITS));
    o->depth = cj_select(f, o->outer_first, cj_shr(f, t, 7), cj_and(f, t, LARGE_K - 1));
    o->next_side = cj_select(f, o->outer_first, cj_imm(f, 0), cj_let(f, CJ_U32, CJK_THREADS / LARGE_K));
    o->next_depth = cj_select(f, o->outer_first, cj_let(f, CJ_U32, CJK_THREADS / LARGE_SIDE), cj_imm(f, 0));
    cj_val along = cj_mul(f, o->by_k, CJK_THREADS / LARGE_SIDE), down = cj_mul(f, o->by_outer, CJK_THREADS / LARGE_K);
    o->next = cj_select(f, o->outer_first, along, down);
    cj_val first = cj_mad(f, o->depth, LARGE_PITCH, o->side);
    o->to = cj_mad(f, first, 4, shared);
    o->next_to = cj_mul(f, cj_mad(f, o->next_depth, LARGE_PITCH, o->next_side), 4);
    o->outer = cj_let(f, CJ_U32, 0), o->along = cj_let(f, CJ_U32, 0), o->at = cj_let(f, CJ_U64, 0);
    for (int i = 0; i < LARGE_EACH; i++) o->ahead[i] = cj_reg(f, g->wide);
}

/* At k 0 of the tile that begins at outer index `first`. */
static void large_tile(cj_fn *f, large_operand *o, cj_val first, cj_val batch)
{
    cj_val begin = cj_mad(f, cj_cvt(f, CJ_U64, batch), o->by_batch, o->base);
    cj_assign(f, o->outer, cj_add(f, first, o->side));
    cj_assign(f, o->along, o->depth);
    cj_val row = cj_mad(f, cj_cvt(f, CJ_U64, o->outer), o->by_outer, begin);
    cj_assign(f, o->at, cj_mad(f, cj_cvt(f, CJ_U64, o->depth), o->by_k, row));
    bool a = o->which == CJK_GEMM_A;
    cj_name(f, o->outer, a ? "a_row" : "b_column");
    cj_name(f, o->along, a ? "a_k" : "b_k");
    cj_name(f, o->at, a ? "a_at" : "b_at");
    cj_name(f, cj_vec_n(f, o->ahead, LARGE_EACH), a ? "a_ahead" : "b_ahead");
}

/* Loads the elements of this stage, and goes on to the next one.  What is outside is 0. */
static void load_ahead(cj_fn *f, const cjk_gemm *g, const large_operand *o, cj_val k)
{
    cj_comment(f, o->which == CJK_GEMM_A ? "Load the next elements of A ahead" : "Load the next elements of B ahead");
    cj_val at = cj_let(f, CJ_U64, o->at), outer = cj_let(f, CJ_U32, o->outer), along = cj_let(f, CJ_U32, o->along);
    for (int i = 0; i < LARGE_EACH; i++) {
        cj_assign(f, o->ahead[i], cj_imm_bits(f, g->wide, 0));
        cj_if(f, cj_and(f, cj_lt(f, outer, o->size), cj_lt(f, along, k)));
            cj_val element = cj_as_ptr(f, at, o->type, CJ_SPACE_GLOBAL);
            cj_assign(f, o->ahead[i], cjk_gemm_load_element(f, g, o->which, element));
        cj_end(f);
        cj_assign(f, at, cj_add(f, at, o->next));
        cj_assign(f, outer, cj_add(f, outer, o->next_side));
        cj_assign(f, along, cj_add(f, along, o->next_depth));
    }
    cj_assign(f, o->at, cj_add(f, o->at, cj_mul(f, o->by_k, LARGE_K)));
    cj_assign(f, o->along, cj_add(f, o->along, LARGE_K));
}

static void put_ahead(cj_fn *f, const large_operand *o, cj_val buffer)
{
    cj_comment(f, o->which == CJK_GEMM_A ? "Put them into the buffer of A" : "Put them into the buffer of B");
    cj_val to = cj_let(f, CJ_U32, cj_add(f, o->to, buffer));
    for (int i = 0; i < LARGE_EACH; i++) {
        cj_ins(f, "st.shared.b32", cj_mem(f, to, 0), o->ahead[i]);
        cj_assign(f, to, cj_add(f, to, o->next_to));
    }
}

/* One row of k of both operands in the buffer at `a` and `b`: 8 registers each. */
static void load_row(cj_fn *f, cj_val a, cj_val b, uint32_t k, cj_val row[2])
{
    for (uint32_t h = 0; h < HALVES; h++) {
        cj_ins(f, "ld.shared.v4.b32", cj_slice(f, row[0], (size_t)h * HALF_SUMS, HALF_SUMS),
               cj_mem(f, a, k * LARGE_PITCH * 4 + h * 128));
        cj_ins(f, "ld.shared.v4.b32", cj_slice(f, row[1], (size_t)h * HALF_SUMS, HALF_SUMS),
               cj_mem(f, b, k * LARGE_PITCH * 4 + h * 64));
    }
}

/* Every other row goes backwards, so that each multiply-add has an operand of the one before it. */
static void multiply_buffer(cj_fn *f, const cjk_gemm *g, const large_operand o[2], cj_val buffer, const cj_val *sums)
{
    const char *madd = g->wide == CJ_F32 ? "fma.rn.f32" : g->wide == CJ_S32 ? "mad.lo.s32" : "mad.lo.u32";
    cj_val row[2][2], a = cj_add(f, o[CJK_GEMM_A].from, buffer), b = cj_add(f, o[CJK_GEMM_B].from, buffer);
    cj_comment(f, "Multiply the buffer: the next row of k is loaded while one is multiplied");
    for (int i = 0; i < 4; i++) {
        row[i / 2][i % 2] = cj_regs(f, g->wide, THREAD_SUMS);
        cj_name(f, row[i / 2][i % 2], i % 2 ? "b_row" : "a_column");
    }
    load_row(f, a, b, 0, row[0]);
    for (uint32_t k = 0; k < LARGE_K; k++) {
        if (k + 1 < LARGE_K) load_row(f, a, b, k + 1, row[(k + 1) % 2]);
        for (uint32_t r = 0; r < THREAD_SUMS; r++)
            for (uint32_t i = 0; i < THREAD_SUMS; i++) {
                uint32_t c = r % 2 ? THREAD_SUMS - 1 - i : i;
                cj_val sum = cj_elem(f, sums[r], c);
                cj_ins(f, madd, sum, cj_elem(f, row[k % 2][0], r), cj_elem(f, row[k % 2][1], c), sum);
            }
    }
}

/* The sums of a tile: loads are a stage ahead. */
static void sum_large(cj_fn *f, const cjk_gemm *g, const cjk_gemm_params *p, const large_operand o[2],
                      const cj_val *sums)
{
    cj_val buffer = cj_let(f, CJ_U32, 0);
    cj_name(f, buffer, "buffer");
    for (uint32_t r = 0; r < THREAD_SUMS; r++) cj_assign_all(f, sums[r], cj_imm_bits(f, g->wide, 0));
    for (int i = 0; i < 2; i++) load_ahead(f, g, &o[i], p->k);
    for (int i = 0; i < 2; i++) put_ahead(f, &o[i], buffer);
    cj_block_sync(f);
    cj_val left = cj_for(f, p->k, 0, -LARGE_K);
        cj_name(f, left, "left");
        cj_val more = cj_gt(f, left, LARGE_K), other = cj_sub(f, BUFFER_WORDS * 4, buffer);
        cj_if(f, more);
            for (int i = 0; i < 2; i++) load_ahead(f, g, &o[i], p->k);
        cj_end(f);
        multiply_buffer(f, g, o, buffer, sums);
        cj_break_unless(f, more);
        for (int i = 0; i < 2; i++) put_ahead(f, &o[i], other);
        cj_assign(f, buffer, other);
        cj_block_sync(f);
    cj_end(f);
}

/* Through shared memory: a warp's 32 rows and 16 columns at a time. */
static void store_large(cj_fn *f, const cjk_gemm *g, const cjk_gemm_params *p, const cj_val *sums, cj_val patch,
                        cj_val lane, cj_val row, cj_val column, cj_val batch)
{
    cj_comment(f, "Store the sums through shared memory: 32 rows and 16 columns of a warp at a time");
    cj_val first = cj_mul(f, cj_and(f, lane, 7), HALF_SUMS * CJK_PATCH_PITCH);
    cj_val word = cj_mad(f, cj_shr(f, lane, 3), HALF_SUMS, first), at = cj_mad(f, word, 4, patch);
    for (uint32_t h = 0; h < HALVES * HALVES; h++) {
        uint32_t down = h / HALVES, across = h % HALVES;
        for (uint32_t r = 0; r < HALF_SUMS; r++)
            cj_ins(f, "st.shared.v4.b32", cj_mem(f, at, r * CJK_PATCH_PITCH * 4),
                   cj_slice(f, sums[down * HALF_SUMS + r], (size_t)across * HALF_SUMS, HALF_SUMS));
        cj_val r0 = cj_add(f, row, down * PATCH_ROWS), c0 = cj_add(f, column, across * CJK_PATCH_COLUMNS);
        cjk_gemm_patch_store(f, g, p, patch, PATCH_ROWS, lane, r0, c0, batch);
    }
}

/* Block (x, y, z): tile x of product y + z * gridDim.y. */
void cjk_gemm_write_large(cj_ptx *m, const char *name, const cjk_gemm *g, const cjk_gemm_variant *v, cj_fn *epilogue)
{
    cj_fn *f = cj_ptx_kernel(m, name);
    large_operand o[2];
    cjk_gemm_params p;
    cj_val sums[THREAD_SUMS], warp, tile_row, tile_column;
    cj_fn_max_threads(f, v->threads, 1, 1);
    cj_fn_min_blocks(f, 2);
    cjk_gemm_params_begin(f, g, epilogue, &p);
    cj_val shared = cj_addr(f, cj_shared(f, "buffers", CJ_B32, SHARED_WORDS));
    cj_val words = cj_cvt(f, CJ_U32, shared), b_words = cj_add(f, words, 2 * BUFFER_WORDS * 4);
    large_begin(f, g, &p, CJK_GEMM_A, words, &o[CJK_GEMM_A]);
    large_begin(f, g, &p, CJK_GEMM_B, b_words, &o[CJK_GEMM_B]);
    cj_warp_id(f, &warp);
    cj_val lane = cj_and(f, cj_thread_id(f, CJ_X), 31), warp_row = cj_mul(f, cj_shr(f, warp, 2), WARP_ROWS);
    cj_val warp_column = cj_mul(f, cj_and(f, warp, WARPS_ACROSS - 1), WARP_COLUMNS);
    cj_val lane_row = cj_mad(f, cj_and(f, lane, 7), HALF_SUMS, warp_row);
    cj_val lane_column = cj_mad(f, cj_shr(f, lane, 3), HALF_SUMS, warp_column);
    o[CJK_GEMM_A].from = cj_let(f, CJ_U32, cj_mad(f, lane_row, 4, words));
    o[CJK_GEMM_B].from = cj_let(f, CJ_U32, cj_mad(f, lane_column, 4, b_words));
    for (uint32_t r = 0; r < THREAD_SUMS; r++) {
        sums[r] = cj_regs(f, g->wide, THREAD_SUMS);
        cj_name(f, sums[r], "sum");
    }
    cj_comment(f, "The tile of the block");
    cj_val down = cj_div(f, cj_add(f, p.size[CJK_GEMM_A], LARGE_SIDE - 1), LARGE_SIDE);
    cj_val across = cj_div(f, cj_add(f, p.size[CJK_GEMM_B], LARGE_SIDE - 1), LARGE_SIDE);
    cjk_gemm_tile(f, cj_block_id(f, CJ_X), down, across, &tile_row, &tile_column);
    cj_val m0 = cj_mul(f, tile_row, LARGE_SIDE), n0 = cj_mul(f, tile_column, LARGE_SIDE);
    cj_val patch = cj_mad(f, warp, PATCH_WORDS * 4, words);
    cj_val batch = cj_mad(f, cj_block_id(f, CJ_Z), cj_grid_size(f, CJ_Y), cj_block_id(f, CJ_Y));
    cj_name(f, m0, "tile_row");
    cj_name(f, n0, "tile_column");
    cj_name(f, batch, "batch");
    cj_return_if(f, cj_ge(f, batch, p.batches));
    large_tile(f, &o[CJK_GEMM_A], m0, batch);
    large_tile(f, &o[CJK_GEMM_B], n0, batch);
    sum_large(f, g, &p, o, sums);
    cj_block_sync(f);
    store_large(f, g, &p, sums, patch, lane, cj_add(f, m0, warp_row), cj_add(f, n0, warp_column), batch);
    cj_return(f);
}
