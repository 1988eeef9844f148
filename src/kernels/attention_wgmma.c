/* Attention by wgmma (sm_90a): a block has 128 queries, a tile of one head.  Warpgroup 0 produces: its first thread has
 * the tensor memory accelerator bring the queries, and keys and values into two rings of stages, from the last tile of
 * keys to the first.  Warpgroups 1 and 2 consume, 64 queries each: scores from shared memory, shares from registers.
 * The next scores are multiplied before the values of this tile, so a warpgroup has work for the tensor core while it
 * computes shares; the two take turns by named barriers, one issues while the other computes.
 *
 * Shared memory: queries, then the stages of keys, then those of values, each in chunks of 64 elements of all its rows
 * (128 bytes a row, with the 128-byte swizzle), then the mbarriers. */
#include "kernels/attention.h"

enum { ROW_BYTES = 128, STEP_KEYS = 16, SWIZZLE_ALIGN = 1024, EIGHT_ROWS = 8 * ROW_BYTES };
enum { PRODUCER_REGISTERS = 24, CONSUMER_REGISTERS = 240, CONSUMER_WARPS = 8 };
enum { TURN_FIRST = 4, TURN_BOTH = 256 }; /* named barriers 4 and 5 are the turns of the warpgroups */

typedef struct wgmma_code {
    cjk_part p;
    uint32_t chunks, stages;   /* of a row; of each ring */
    uint32_t tile_bytes;       /* of queries, of a stage of keys or of values: they have as many rows */
    cj_val q, k, v;            /* where they begin: shared addresses, CJ_U32 */
    cj_val q_full, k_ring, v_ring; /* mbarriers */
    cj_val map[3];
    cj_val tiles;              /* of keys, CJ_S32 */
    cj_wgmma_shape scores, values;
} wgmma_code;

static uint32_t head_chunks(uint32_t dim) { return (dim + CJK_WGMMA_CHUNK - 1) / CJK_WGMMA_CHUNK; }
static uint32_t attention_stages(uint32_t chunks) { return chunks > 1 ? 2 : 3; }

uint32_t cjk_attention_wgmma_shared(uint32_t dim)
{
    uint32_t chunks = head_chunks(dim), stages = attention_stages(chunks);
    return (1 + 2 * stages) * chunks * CJK_WGMMA_KEYS * ROW_BYTES + 8 * (1 + 2 * 2 * stages) + SWIZZLE_ALIGN;
}

/* -- Producer ------------------------------------------------------------------------------------------------------ */

/* Starts the copy of 128 tokens from `token` on. */
static void load_tokens(cj_fn *f, const wgmma_code *c, int operand, cj_val to, cj_val token, cj_val head, cj_val full)
{
    cj_mbarrier_expect(f, full, c->tile_bytes);
    for (uint32_t i = 0; i < c->chunks; i++) {
        cj_val at[4] = { cj_imm_i(f, i * CJK_WGMMA_CHUNK), token, cj_bits(f, CJ_S32, head),
                         cj_bits(f, CJ_S32, c->p.batch) };
        cj_val place = i ? cj_add(f, to, i * CJK_WGMMA_KEYS * ROW_BYTES) : to;
        cj_tma_load(f, place, c->map[operand], cj_vec_n(f, at, 4), full);
    }
}

static void load_stage(cj_fn *f, const wgmma_code *c, int operand, cj_ring *ring, cj_val base, cj_val token)
{
    cj_ring_wait_empty(f, ring);
    cj_val to = cj_ring_stage(f, ring, base, c->tile_bytes), full = cj_ring_full(f, ring);
    load_tokens(f, c, operand, to, token, c->p.kv_head, full);
    cj_ring_next(f, ring);
}

/* Keys are a tile ahead of values. */
static void attention_produce(cj_fn *f, const wgmma_code *c)
{
    cj_ring keys, values;
    for (int i = 0; i < 3; i++) cj_tma_prefetch(f, c->map[i]);
    cj_ring_begin(f, c->k_ring, c->stages, &keys);
    cj_ring_begin(f, c->v_ring, c->stages, &values);
    load_tokens(f, c, 0, c->q, c->p.first, c->p.head, c->q_full);
    cj_val token = cj_let(f, CJ_S32, cj_mul(f, cj_sub(f, c->tiles, 1), CJK_WGMMA_KEYS));
    load_stage(f, c, 1, &keys, c->k, token);
    cj_loop(f);
        cj_break_unless(f, cj_gt(f, token, 0));
        cj_val before = cj_sub(f, token, CJK_WGMMA_KEYS);
        load_stage(f, c, 1, &keys, c->k, before);
        load_stage(f, c, 2, &values, c->v, token);
        cj_assign(f, token, before);
    cj_end(f);
    load_stage(f, c, 2, &values, c->v, token);
}

/* -- Consumers ----------------------------------------------------------------------------------------------------- */

typedef struct wgmma_consumer {
    cjk_own_rows own;
    cj_ring keys, values;
    cj_val releases;           /* the warp's lane 0, which arrives for it: a predicate */
    cj_val score, share, o;    /* share: CJ_B32, two halves each */
    cj_wgmma_matrix q;
} wgmma_consumer;

/* Issues the scores of the stage that the ring is at. */
static void issue_scores(cj_fn *f, const wgmma_code *c, wgmma_consumer *w)
{
    cj_wgmma_matrix k;
    cj_val at = cj_ring_stage(f, &w->keys, c->k, c->tile_bytes);
    cj_wgmma_matrix_begin(f, at, 0, EIGHT_ROWS, CJ_SWIZZLE_128B, &k);
    cj_wgmma_fence(f);
    for (uint32_t i = 0; i < c->chunks * 4; i++) {
        cj_val offset = cj_imm_i(f, i / 4 * CJK_WGMMA_KEYS * ROW_BYTES + i % 4 * 32);
        cj_wgmma(f, &c->scores, w->score, cj_wgmma_operand(f, &w->q, offset), cj_wgmma_operand(f, &k, offset), i > 0);
    }
    cj_wgmma_commit(f);
}

/* Issues o += share * values of the stage that the ring is at. */
static void issue_values(cj_fn *f, const wgmma_code *c, wgmma_consumer *w)
{
    cj_wgmma_matrix v;
    cj_val at = cj_ring_stage(f, &w->values, c->v, c->tile_bytes);
    cj_wgmma_matrix_begin(f, at, CJK_WGMMA_KEYS * ROW_BYTES, EIGHT_ROWS, CJ_SWIZZLE_128B, &v);
    cj_wgmma_fence(f);
    for (uint32_t i = 0; i < CJK_WGMMA_KEYS / STEP_KEYS; i++) {
        cj_val offset = cj_imm_i(f, i * STEP_KEYS * ROW_BYTES);
        cj_wgmma(f, &c->values, w->o, cj_slice(f, w->share, 4 * (size_t)i, 4), cj_wgmma_operand(f, &v, offset), 1);
    }
    cj_wgmma_commit(f);
}

/* The stage is read: the ring goes on. */
static void release_stage(cj_fn *f, const wgmma_consumer *w, cj_ring *ring)
{
    cj_ring_release_if(f, w->releases, ring, (cj_val){ 0 });
    cj_ring_next(f, ring);
}

static void pack_all_shares(cj_fn *f, const wgmma_code *c, const wgmma_consumer *w)
{
    for (size_t i = 0; i < CJK_WGMMA_KEYS / 4; i++)
        cj_assign(f, cj_elem(f, w->share, i), cjk_pack_halves(f, c->p.type, cj_elem(f, w->score, 2 * i),
                                                              cj_elem(f, w->score, 2 * i + 1)));
}

static void consume_tiles(cj_fn *f, const wgmma_code *c, wgmma_consumer *w, cj_val consumer, cj_val seen_by_all)
{
    cj_val factor[2], left = cj_let(f, CJ_S32, cj_sub(f, c->tiles, 1));
    cj_val key = cj_let(f, CJ_S32, cj_mul(f, left, CJK_WGMMA_KEYS));
    cj_val mine = cj_add(f, consumer, TURN_FIRST), other = cj_sub(f, 2 * TURN_FIRST + 1, mine);
    cj_val is_first = cj_eq(f, consumer, 0);
    cj_if(f, cj_and(f, cj_not(f, is_first), cj_gt(f, left, 0)));
        cj_named_barrier_arrive(f, cj_imm_i(f, TURN_FIRST), TURN_BOTH);
    cj_end(f);
    cj_mbarrier_wait(f, c->q_full, 0);
    cj_ring_wait_full(f, &w->keys);
    issue_scores(f, c, w);
    cj_wgmma_wait(f, 0);
    release_stage(f, w, &w->keys);
    cjk_mask_scores(f, &w->own, key, CJK_WGMMA_KEYS, seen_by_all, w->score);
    cjk_score_shares(f, &c->p, &w->own, w->score, factor);
    pack_all_shares(f, c, w);
    cj_loop(f);
        cj_break_unless(f, cj_gt(f, left, 0));
        cj_ring_wait_full(f, &w->keys);
        cj_named_barrier_sync(f, mine, TURN_BOTH);
        issue_scores(f, c, w);
        cj_ring_wait_full(f, &w->values);
        issue_values(f, c, w);
        cj_if(f, cj_or(f, is_first, cj_gt(f, left, 1))); /* nobody waits for the last turn */
            cj_named_barrier_arrive(f, other, TURN_BOTH);
        cj_end(f);
        cj_wgmma_wait(f, 1);
        release_stage(f, w, &w->keys);
        cj_assign(f, key, cj_sub(f, key, CJK_WGMMA_KEYS));
        cj_assign(f, left, cj_sub(f, left, 1));
        if (c->p.causal) cjk_mask_scores(f, &w->own, key, CJK_WGMMA_KEYS, seen_by_all, w->score);
        cjk_score_shares(f, &c->p, &w->own, w->score, factor);
        cj_wgmma_wait(f, 0);
        release_stage(f, w, &w->values);
        pack_all_shares(f, c, w);
        cjk_correct_result(f, w->o, factor);
    cj_end(f);
    cj_ring_wait_full(f, &w->values);
    issue_values(f, c, w);
    cj_wgmma_wait(f, 0);
    release_stage(f, w, &w->values);
}

static void attention_consume(cj_fn *f, const wgmma_code *c, cj_val warpgroup)
{
    wgmma_consumer w;
    cj_val row, column, consumer = cj_sub(f, warpgroup, 1), first = cj_mul(f, consumer, 64);
    cj_wgmma_acc_position(f, &row, &column);
    cjk_own_rows_begin(f, &c->p, cj_add(f, first, row), column, &w.own);
    w.score = cj_wgmma_accumulators(f, &c->scores);
    w.o = cj_wgmma_accumulators(f, &c->values);
    w.share = cj_regs(f, CJ_B32, CJK_WGMMA_KEYS / 4);
    w.releases = cj_eq(f, cj_lane_id(f), 0);
    cj_wgmma_matrix_begin(f, cj_mad(f, first, ROW_BYTES, c->q), 0, EIGHT_ROWS, CJ_SWIZZLE_128B, &w.q);
    cj_ring_begin(f, c->k_ring, c->stages, &w.keys);
    cj_ring_begin(f, c->v_ring, c->stages, &w.values);
    cj_assign_all(f, w.o, cj_imm_f32(f, 0));
    cj_val uniform = cj_add(f, c->p.first, cj_bits(f, CJ_S32, first));
    cj_val seen_by_all = cj_let(f, CJ_S32, cjk_attention_seen(f, &c->p, uniform));
    cj_if(f, cj_gt(f, c->tiles, 0));
        consume_tiles(f, c, &w, consumer, seen_by_all);
    cj_end(f);
    cjk_store_own_rows(f, &c->p, &w.own, w.o, true);
}

/* -- The kernel ---------------------------------------------------------------------------------------------------- */

static void wgmma_begin(cj_fn *f, wgmma_code *c)
{
    cj_mma_type type = c->p.type == CJ_BF16 ? CJ_MMA_BF16 : CJ_MMA_F16;
    c->scores = (cj_wgmma_shape){ .n = CJK_WGMMA_KEYS, .a = type, .b = type, .d = CJ_MMA_F32 };
    c->values = (cj_wgmma_shape){ .n = c->chunks * CJK_WGMMA_CHUNK, .a = type, .b = type, .d = CJ_MMA_F32, .b_mn = 1 };
    c->tile_bytes = c->chunks * CJK_WGMMA_KEYS * ROW_BYTES;
    cj_val memory = cj_shared_dynamic(f, "tile_memory", CJ_B32, 16);
    cj_val begin = cj_add(f, cj_cvt(f, CJ_U32, cj_addr(f, memory)), SWIZZLE_ALIGN - 1);
    c->q = cj_and(f, begin, cj_imm_bits(f, CJ_U32, ~(uint32_t)(SWIZZLE_ALIGN - 1)));
    c->k = cj_add(f, c->q, c->tile_bytes);
    c->v = cj_add(f, c->k, c->stages * c->tile_bytes);
    c->q_full = cj_add(f, c->v, c->stages * c->tile_bytes);
    c->k_ring = cj_add(f, c->q_full, 8);
    c->v_ring = cj_add(f, c->k_ring, 16 * c->stages);
    c->tiles = cj_shr(f, cj_add(f, c->p.end, CJK_WGMMA_KEYS - 1), 7);
    cj_if(f, cj_eq(f, cj_thread_id(f, CJ_X), 0));
        cj_mbarrier_init(f, c->q_full, 1);
        cj_ring_init(f, c->k_ring, c->stages, 1, CONSUMER_WARPS);
        cj_ring_init(f, c->v_ring, c->stages, 1, CONSUMER_WARPS);
        cj_mbarrier_init_fence(f);
    cj_end(f);
    cj_block_sync(f);
}

void cjk_attention_write_wgmma(cj_ptx *m, const char *name, const cjk_attention *x)
{
    static const char *const maps[] = { "q_map", "k_map", "v_map" };
    cj_fn *f = cj_ptx_kernel(m, name);
    wgmma_code c = { .chunks = head_chunks(x->o.dim) };
    cj_val warpgroup;
    c.stages = attention_stages(c.chunks);
    cj_fn_max_threads(f, CJK_WGMMA_THREADS, 1, 1);
    cj_fn_min_blocks(f, 1);
    for (int i = 0; i < 3; i++) c.map[i] = cj_param_tensor_map(f, maps[i]);
    cjk_attention_part(f, x, CJK_WGMMA_QUERIES, &c.p);
    wgmma_begin(f, &c);
    cj_warpgroup_id(f, &warpgroup);
    cj_role_fewer(f, warpgroup, 0, 1, PRODUCER_REGISTERS);
        cj_if(f, cj_and(f, cj_eq(f, cj_thread_id(f, CJ_X), 0), cj_gt(f, c.tiles, 0)));
            attention_produce(f, &c);
        cj_end(f);
    cj_end(f);
    cj_role_more(f, warpgroup, 1, 2, CONSUMER_REGISTERS);
        attention_consume(f, &c, warpgroup);
    cj_end(f);
    cj_return(f);
}
