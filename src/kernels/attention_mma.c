/* Attention by mma.sync: a block has 64 queries, 16 of them a warp, and 64 keys at a time.  Queries stay in registers
 * as fragments; keys come by ldmatrix, values by ldmatrix.trans, shares are scores packed in place: accumulators of 16
 * columns are the fragments of the next product.  Copies of the values run behind the scores, those of the next keys
 * behind the second product.  `plain`: tokens that are not at multiples of 16 bytes, which threads load one by one. */
#include "kernels/attention.h"

enum { CHUNK = 16, STEP = 16, SCORES = CJK_MMA_KEYS / 2, STEPS_MOST = CJ_ATTENTION_DIM_MOST / STEP };

typedef struct mma_code {
    cjk_part p;
    bool plain;
    uint32_t padded, pitch;    /* elements of a row in shared memory that count; bytes of all of them */
    cj_mma_shape shape;
    cj_val q, k, v, thread;    /* shared addresses, CJ_U32 */
    cj_val fragments[STEPS_MOST];
    cjk_own_rows own;
    cj_val score, o;
} mma_code;

uint32_t cjk_attention_mma_shared(uint32_t dim)
{
    return 3 * CJK_MMA_KEYS * (cjk_attention_padded(dim) * 2 + CHUNK);
}

/* -- Tiles --------------------------------------------------------------------------------------------------------- */

/* Chunk `i` of the thread: its row, and its column in chunks. */
static void chunk_place(cj_fn *f, const mma_code *c, uint32_t i, cj_val *row, cj_val *column)
{
    uint32_t chunks = c->padded * 2 / CHUNK;
    if (CJK_ATTENTION_THREADS % chunks == 0) { /* all chunks of a thread are in one column */
        *row = cj_add(f, cj_div(f, c->thread, chunks), i * (CJK_ATTENTION_THREADS / chunks));
        *column = cj_rem(f, c->thread, chunks);
        return;
    }
    cj_val n = cj_add(f, c->thread, i * CJK_ATTENTION_THREADS);
    *row = cj_div(f, n, chunks);
    *column = cj_rem(f, n, chunks);
}

/* Starts the copy of the tokens from `first` on: 0 behind token `count` and behind the head's last element. */
static void copy_tile(cj_fn *f, const mma_code *c, const cjk_tokens *t, cj_val first, cj_val count, cj_val array)
{
    cj_val row, column, last = cj_sub(f, count, 1);
    for (uint32_t i = 0; i < CJK_MMA_KEYS * c->padded * 2 / CHUNK / CJK_ATTENTION_THREADS; i++) {
        chunk_place(f, c, i, &row, &column);
        cj_val token = cj_add(f, first, cj_bits(f, CJ_S32, row)), at = cjk_token_at(f, t, cj_min(f, token, last));
        cj_val offset = cj_mul(f, column, CHUNK), left = cj_let(f, CJ_U32, CHUNK);
        if (c->p.dim < c->padded) left = cj_sub(f, cj_max(f, offset, c->p.dim * 2), offset);
        cj_val bytes = cj_select(f, cj_lt(f, token, count), cj_min(f, left, CHUNK), 0);
        cj_val from = cj_add(f, at, cj_cvt(f, CJ_U64, offset));
        cj_val to = cj_add(f, cj_mad(f, row, c->pitch, array), offset);
        cj_async_copy_zero(f, to, cj_as_ptr(f, from, c->p.type, CJ_SPACE_GLOBAL), CHUNK, bytes);
    }
}

/* The same by loads and stores of elements. */
static void load_tile(cj_fn *f, const mma_code *c, const cjk_tokens *t, cj_val first, cj_val count, cj_val array)
{
    cj_val i = cj_for(f, c->thread, CJK_MMA_KEYS * c->padded, CJK_ATTENTION_THREADS);
        cj_val row = cj_div(f, i, c->padded), column = cj_rem(f, i, c->padded);
        cj_val token = cj_add(f, first, cj_bits(f, CJ_S32, row)), v = cj_let(f, CJ_U16, 0);
        cj_if(f, cj_and(f, cj_lt(f, token, count), cj_lt(f, column, c->p.dim)));
            cj_val at = cj_mad(f, cj_cvt(f, CJ_U64, column), 2, cjk_token_at(f, t, token));
            cj_assign(f, v, cj_load(f, CJ_U16, cj_as_ptr(f, at, CJ_U16, CJ_SPACE_GLOBAL)));
        cj_end(f);
        cj_val to = cj_mad(f, column, 2, cj_mad(f, row, c->pitch, array));
        cj_ins(f, "st.shared.u16", cj_mem(f, to, 0), v);
    cj_end(f);
}

static void bring_tile(cj_fn *f, const mma_code *c, const cjk_tokens *t, cj_val first, cj_val count, cj_val array)
{
    cj_comment(f, c->plain ? "Load a tile of tokens, element by element" : "Begin to copy a tile of tokens");
    if (c->plain) {
        load_tile(f, c, t, first, count, array);
        return;
    }
    copy_tile(f, c, t, first, count, array);
    cj_async_commit(f);
}

/* The tiles that were begun are there for all threads, and all of them are through with the others. */
static void await_tiles(cj_fn *f, const mma_code *c)
{
    if (!c->plain) cj_async_wait(f, 0);
    cj_block_sync(f);
}

/* -- Products ------------------------------------------------------------------------------------------------------ */

/* 16 columns of accumulators += fragment * matrices 0 and 1, and 2 and 3. */
static void multiply_pair(cj_fn *f, const mma_code *c, cj_val acc, size_t from, cj_val fragment, cj_val matrices)
{
    for (size_t half = 0; half < 2; half++) {
        cj_val d = cj_slice(f, acc, from + 4 * half, 4);
        cj_mma(f, &c->shape, d, fragment, cj_slice(f, matrices, 2 * half, 2), d);
    }
}

static void multiply_keys(cj_fn *f, const mma_code *c, cj_val k_at)
{
    cj_val matrices;
    cj_comment(f, "The scores: queries times keys");
    cj_assign_all(f, c->score, cj_imm_f32(f, 0));
    for (uint32_t step = 0; step < c->padded / STEP; step++)
        for (uint32_t n = 0; n < CJK_MMA_KEYS / STEP; n++) {
            cj_matrix_load(f, 4, 0, cj_mem(f, k_at, (int64_t)n * STEP * c->pitch + step * STEP * 2), &matrices);
            multiply_pair(f, c, c->score, (size_t)n * 8, c->fragments[step], matrices);
        }
}

static void multiply_values(cj_fn *f, const mma_code *c, cj_val v_at)
{
    cj_val matrices, pair[4];
    cj_comment(f, "Add shares times values to the results");
    for (uint32_t step = 0; step < CJK_MMA_KEYS / STEP; step++) {
        for (size_t i = 0; i < 4; i++)
            pair[i] = cjk_pack_halves(f, c->p.type, cj_elem(f, c->score, 8 * step + 2 * i),
                                      cj_elem(f, c->score, 8 * step + 2 * i + 1));
        cj_val fragment = cj_vec_n(f, pair, 4);
        for (uint32_t n = 0; n < c->padded / STEP; n++) {
            cj_matrix_load(f, 4, 1, cj_mem(f, v_at, (int64_t)step * STEP * c->pitch + n * STEP * 2), &matrices);
            multiply_pair(f, c, c->o, (size_t)n * 8, fragment, matrices);
        }
    }
}

/* -- The kernel ---------------------------------------------------------------------------------------------------- */

static void mma_begin(cj_fn *f, mma_code *c)
{
    cj_val warp, first, column;
    cj_mma_type type = c->p.type == CJ_BF16 ? CJ_MMA_BF16 : CJ_MMA_F16;
    cj_val tiles = cj_shared_dynamic(f, "tile_memory", CJ_B32, CHUNK);
    c->shape = (cj_mma_shape){ .k = STEP, .a = type, .b = type, .d = CJ_MMA_F32 };
    c->pitch = c->padded * 2 + CHUNK; /* an odd number of chunks: eight rows of a column are in different banks */
    c->q = cj_let(f, CJ_U32, cj_cvt(f, CJ_U32, cj_addr(f, tiles)));
    c->k = cj_add(f, c->q, CJK_MMA_QUERIES * c->pitch);
    c->v = cj_add(f, c->k, CJK_MMA_KEYS * c->pitch);
    c->thread = cj_thread_id(f, CJ_X);
    cj_warp_id(f, &warp);
    cj_mma_acc_position(f, &first, &column);
    cjk_own_rows_begin(f, &c->p, cj_mad(f, warp, STEP, first), column, &c->own);
    c->score = cj_regs(f, CJ_F32, SCORES);
    c->o = cj_regs(f, CJ_F32, c->padded / 2);
    cj_name(f, c->score, "score");
    cj_name(f, c->o, "result");
    cj_assign_all(f, c->o, cj_imm_f32(f, 0));
    bring_tile(f, c, &c->p.q, c->p.first, c->p.queries, c->q);
    cj_if(f, cj_gt(f, c->p.end, 0));
        bring_tile(f, c, &c->p.k, cj_let(f, CJ_S32, 0), c->p.keys, c->k);
    cj_end(f);
    await_tiles(f, c);
    cj_val q_at = cj_mma_a_at(f, cj_mad(f, warp, STEP * c->pitch, c->q), c->pitch, 0, CJ_SWIZZLE_NONE);
    cj_comment(f, "The warp's queries as fragments");
    for (uint32_t step = 0; step < c->padded / STEP; step++) {
        cj_matrix_load(f, 4, 0, cj_mem(f, q_at, step * STEP * 2), &c->fragments[step]);
        cj_name(f, c->fragments[step], "query");
    }
}

void cjk_attention_write_mma(cj_ptx *m, const char *name, const cjk_attention *x, bool plain)
{
    cj_fn *f = cj_ptx_kernel(m, name);
    mma_code c = { .plain = plain, .padded = cjk_attention_padded(x->o.dim) };
    cj_val factor[2];
    cj_fn_max_threads(f, CJK_ATTENTION_THREADS, 1, 1);
    cj_fn_min_blocks(f, 2); /* with three, registers are spilled */
    cjk_attention_block(f, x, CJK_MMA_QUERIES, &c.p);
    mma_begin(f, &c);
    cj_val k_at = cj_mma_b_at(f, c.k, c.pitch, 0, CJ_SWIZZLE_NONE);
    cj_val v_at = cj_mma_a_at(f, c.v, c.pitch, 0, CJ_SWIZZLE_NONE); /* transposed, values lie as A does */
    cj_val seen_by_all = cj_let(f, CJ_S32, cjk_attention_seen(f, &c.p, c.p.first));
    cj_val key = cj_for(f, 0, c.p.end, CJK_MMA_KEYS);
        cj_name(f, key, "key");
        await_tiles(f, &c);
        bring_tile(f, &c, &c.p.v, key, c.p.keys, c.v);
        multiply_keys(f, &c, k_at);
        await_tiles(f, &c);
        cj_val next = cj_add(f, key, CJK_MMA_KEYS);
        cj_if(f, cj_lt(f, next, c.p.end));
            bring_tile(f, &c, &c.p.k, next, c.p.keys, c.k);
        cj_end(f);
        cjk_mask_scores(f, &c.own, key, CJK_MMA_KEYS, seen_by_all, c.score);
        cjk_score_shares(f, &c.p, &c.own, c.score, factor);
        cjk_correct_result(f, c.o, factor);
        multiply_values(f, &c, v_at);
    cj_end(f);
    cjk_store_own_rows(f, &c.p, &c.own, c.o, !plain);
    cj_return(f);
}
