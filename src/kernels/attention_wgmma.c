/* Attention by wgmma (sm_90a).  Blocks are persistent: each computes several tiles of queries, 64 of each warpgroup
 * that consumes.  Warpgroup 0 produces: its first thread has the tensor memory accelerator bring queries, keys and
 * values into three rings of stages, from the last tile of keys to the first.  The others consume: scores from shared
 * memory, shares from registers.
 *
 *     consumer:  scores of the first tile's last keys
 *       tile:    mask; shares
 *       keys:    wait for my turn; issue the next scores, then o += shares * values; the next one's turn
 *                wait for the scores; mask; shares; wait for the values; correct o
 *       end:     the same once more, with the first scores of the next tile of queries; store o
 *
 * The next scores are multiplied before the values of this tile, so a warpgroup has work for the tensor core while it
 * computes shares; by named barriers they take turns, one issues while the others compute.
 *
 * Shared memory: stages of queries, of keys, of values, and results, each in chunks of 64 elements of all its rows (128
 * bytes a row, with the 128-byte swizzle), then the mbarriers. */
#include "kernels/attention.h"

enum { ROW_BYTES = 128, STEP_KEYS = 16, SWIZZLE_ALIGN = 1024, EIGHT_ROWS = 8 * ROW_BYTES, GROUP_THREADS = 128 };
enum { QUERY_STAGES = 2, GROUP_BYTES = CJK_WGMMA_QUERIES * ROW_BYTES, MBARRIER_PAIR = 16 };

/* Named barriers: 1 and on of a warpgroup for its results, 4 and on are the turns. */
enum { RESULTS_FIRST = 1, TURN_FIRST = 4, TURN_BOTH = 256 };

typedef struct wgmma_code {
    const cjk_attention *x;
    cjk_wgmma_sizes s;
    cjk_attention_params params;
    cj_val q, k, v, out;       /* where they begin: shared addresses, CJ_U32 */
    cj_val q_ring, k_ring, v_ring; /* mbarriers */
    cj_val map[4];             /* of q, k, v, out */
    cj_wgmma_shape scores, values;
} wgmma_code;

void cjk_attention_wgmma_sizes(const cjk_attention *x, unsigned kernel, cjk_wgmma_sizes *s)
{
    *s = (cjk_wgmma_sizes){ .chunks = (x->o.dim + CJK_WGMMA_CHUNK - 1) / CJK_WGMMA_CHUNK,
                            .by_length = kernel == ATTENTION_WGMMA_LONG };
    s->by_map = x->o.dim % 8 == 0; /* tensor maps write whole units of 16 bytes */
    s->groups = s->chunks > 1 || (x->o.causal && !s->by_length) ? 2 : 3;
    s->stages = s->chunks > 1 ? 2 : 3;
    s->queries = s->groups * CJK_WGMMA_QUERIES;
    s->threads = (1 + s->groups) * GROUP_THREADS;
    s->query_bytes = s->chunks * s->queries * ROW_BYTES;
    s->stage_bytes = s->chunks * CJK_WGMMA_KEYS * ROW_BYTES;
    s->shared = (QUERY_STAGES + 1) * s->query_bytes + 2 * s->stages * s->stage_bytes +
                MBARRIER_PAIR * (QUERY_STAGES + 2 * s->stages) + SWIZZLE_ALIGN;
}

/* -- The tiles of a block ------------------------------------------------------------------------------------------ */

/* Tiles are numbered head by head.  Block b has the tiles b, b + blocks, ...  With causal attention, where tiles have
 * more keys the further behind they are, it has pairs of tiles, the last one of a head and its first one, the last but
 * one and the second one, ..., which have as many keys together as any other pair.
 *
 * Long sequences have few heads, and a pair is much work: a block that has one more than another works on alone.  There
 * tiles are numbered by length: the last one of each head, the last but one of each head, ...  Of the first `blocks`
 * tiles block b has the b-th one, of the next `blocks` the b-th from the end; the direction alternates from round to
 * round.  So blocks differ by a tile of the last round, whose tiles have the fewest keys. */
static bool is_paired(const cjk_attention *x, const cjk_wgmma_sizes *s) { return x->o.causal && !s->by_length; }

static cj_val attention_first_tile(cj_fn *f, const wgmma_code *c)
{
    cj_val block = cj_block_id(f, CJ_X);
    return cj_let(f, CJ_U32, is_paired(c->x, &c->s) ? cj_shl(f, block, 1) : block);
}

static void attention_next_tile(cj_fn *f, const wgmma_code *c, cj_val number)
{
    cj_val blocks = cj_grid_size(f, CJ_X), step = blocks;
    if (c->s.by_length) {
        cj_val back = cj_mad(f, cj_block_id(f, CJ_X), 2, 1);
        cj_val is_back = cj_ne(f, cj_and(f, cj_div(f, number, blocks), 1), 0);
        step = cj_select(f, is_back, back, cj_sub(f, cj_shl(f, blocks, 1), back));
    } else if (is_paired(c->x, &c->s)) {
        cj_val second = cj_ne(f, cj_and(f, number, 1), 0);
        step = cj_select(f, second, cj_sub(f, cj_shl(f, blocks, 1), 1), 1);
    }
    cj_assign(f, number, cj_add(f, number, step));
}

uint32_t cjk_attention_wgmma_blocks(const cjk_attention *x, unsigned kernel, uint32_t work)
{
    cjk_wgmma_sizes sizes;
    cjk_attention_wgmma_sizes(x, kernel, &sizes);
    uint32_t most = is_paired(x, &sizes) ? work / 2 + work % 2 : work;
    return most < x->multiprocessors ? most : x->multiprocessors;
}

/* Tile `number`, and how many tiles of keys its queries see, one at least: CJ_S32. */
static cj_val attention_tile_at(cj_fn *f, const wgmma_code *c, cj_val number, cjk_part *p)
{
    cj_val index = cj_rem(f, number, c->params.tiles), of_all = cj_div(f, number, c->params.tiles);
    if (c->s.by_length) {
        cj_val heads = cj_div(f, c->params.work, c->params.tiles); /* of all sequences */
        index = cj_sub(f, cj_sub(f, c->params.tiles, 1), cj_div(f, number, heads));
        of_all = cj_rem(f, number, heads);
    } else if (is_paired(c->x, &c->s)) {
        cj_val half = cj_shr(f, index, 1), odd = cj_ne(f, cj_and(f, index, 1), 0);
        index = cj_select(f, odd, half, cj_sub(f, cj_sub(f, c->params.tiles, 1), half));
    }
    cjk_attention_part(f, c->x, &c->params, index, of_all, c->s.queries, p);
    return cj_let(f, CJ_S32, cj_max(f, cj_shr(f, cj_add(f, p->end, CJK_WGMMA_KEYS - 1), 7), 1));
}

/* -- Producer ------------------------------------------------------------------------------------------------------ */

/* Loads the tokens from `token` on of all rows of a stage. */
static void load_stage(cj_fn *f, const wgmma_code *c, const cjk_part *p, int operand, cj_ring *ring, cj_val token)
{
    uint32_t bytes = operand ? c->s.stage_bytes : c->s.query_bytes;
    cj_val base = operand == 0 ? c->q : operand == 1 ? c->k : c->v, head = operand ? p->kv_head : p->head;
    cj_ring_wait_empty(f, ring);
    cj_val to = cj_ring_stage(f, ring, base, bytes), full = cj_ring_full(f, ring);
    cj_mbarrier_expect(f, full, bytes);
    for (uint32_t i = 0; i < c->s.chunks; i++) {
        cj_val at[4] = { cj_imm_i(f, i * CJK_WGMMA_CHUNK), token, cj_bits(f, CJ_S32, head),
                         cj_bits(f, CJ_S32, p->batch) };
        cj_val place = i ? cj_add(f, to, i * (bytes / c->s.chunks)) : to;
        cj_tma_load(f, place, c->map[operand], cj_vec_n(f, at, 4), full);
    }
    cj_ring_next(f, ring);
}

static void name_stages(cj_fn *f, const cj_ring *queries, const cj_ring *keys, const cj_ring *values)
{
    cj_name(f, queries->index, "query_stage");
    cj_name(f, keys->index, "key_stage");
    cj_name(f, values->index, "value_stage");
}

/* Keys are a tile ahead of values. */
static void attention_produce(cj_fn *f, const wgmma_code *c)
{
    cj_ring queries, keys, values;
    cjk_part p;
    cj_comment(f, "The rings of queries, keys and values; the tiles of the block");
    for (int i = 0; i < 3; i++) cj_tma_prefetch(f, c->map[i]);
    cj_ring_begin(f, c->q_ring, QUERY_STAGES, &queries);
    cj_ring_begin(f, c->k_ring, c->s.stages, &keys);
    cj_ring_begin(f, c->v_ring, c->s.stages, &values);
    cj_val number = attention_first_tile(f, c);
    name_stages(f, &queries, &keys, &values);
    cj_name(f, number, "number");
    cj_loop(f);
        cj_break_unless(f, cj_lt(f, number, c->params.work));
        cj_val tiles = attention_tile_at(f, c, number, &p);
        cj_val token = cj_let(f, CJ_S32, cj_mul(f, cj_sub(f, tiles, 1), CJK_WGMMA_KEYS));
        cj_name(f, tiles, "tiles_of_keys");
        cj_name(f, token, "token");
        cj_comment(f, "Copy the queries and the last keys");
        load_stage(f, c, &p, 0, &queries, p.first);
        load_stage(f, c, &p, 1, &keys, token);
        cj_loop(f);
            cj_break_unless(f, cj_gt(f, token, 0));
            cj_comment(f, "Copy the keys before, and the values of these");
            cj_val before = cj_sub(f, token, CJK_WGMMA_KEYS);
            load_stage(f, c, &p, 1, &keys, before);
            load_stage(f, c, &p, 2, &values, token);
            cj_assign(f, token, before);
        cj_end(f);
        cj_comment(f, "Copy the first values");
        load_stage(f, c, &p, 2, &values, token);
        attention_next_tile(f, c, number);
    cj_end(f);
}

/* -- Consumers ----------------------------------------------------------------------------------------------------- */

typedef struct attention_consumer {
    cj_val group, first;       /* which one it is, and its first query in the tile: CJ_U32 */
    cj_val mine, next;         /* named barriers: its turn, and that of the next one */
    cj_val row, column;        /* of the thread's first accumulator */
    cj_ring queries, keys, values;
    cj_val releases, stores;   /* predicates: one lane of a warp, one thread of the warpgroup */
    cj_val score, share, o;    /* share: CJ_B32, two halves each */
    cj_wgmma_matrix q, k, v;   /* of stage 0 */
    cj_store_tile tile;
} attention_consumer;

/* Issues the scores of the queries and keys that the rings are at. */
static void issue_scores(cj_fn *f, const wgmma_code *c, attention_consumer *w)
{
    cj_comment(f, "Issue the scores: queries times keys");
    cj_wgmma_matrix q = w->q, k = w->k;
    q.low = cj_mad(f, w->queries.index, c->s.query_bytes / 16, w->q.low);
    k.low = cj_mad(f, w->keys.index, c->s.stage_bytes / 16, w->k.low);
    cj_wgmma_fence(f);
    for (uint32_t i = 0; i < c->s.chunks * 4; i++) {
        uint32_t step = i % 4 * 32;
        cj_val of_q = cj_imm_i(f, i / 4 * c->s.queries * ROW_BYTES + step);
        cj_val of_k = cj_imm_i(f, i / 4 * CJK_WGMMA_KEYS * ROW_BYTES + step);
        cj_wgmma(f, &c->scores, w->score, cj_wgmma_operand(f, &q, of_q), cj_wgmma_operand(f, &k, of_k), i > 0);
    }
    cj_wgmma_commit(f);
}

/* Issues o += share * values of the stage that the ring is at, as soon as they are there. */
static void issue_values(cj_fn *f, const wgmma_code *c, attention_consumer *w)
{
    cj_comment(f, "Issue shares times values");
    cj_wgmma_matrix v = w->v;
    cj_ring_wait_full(f, &w->values);
    v.low = cj_mad(f, w->values.index, c->s.stage_bytes / 16, w->v.low);
    cj_wgmma_fence(f);
    for (uint32_t i = 0; i < CJK_WGMMA_KEYS / STEP_KEYS; i++) {
        cj_val offset = cj_imm_i(f, i * STEP_KEYS * ROW_BYTES);
        cj_wgmma(f, &c->values, w->o, cj_slice(f, w->share, 4 * (size_t)i, 4), cj_wgmma_operand(f, &v, offset), 1);
    }
    cj_wgmma_commit(f);
}

/* Its turn: scores of the queries and keys that the rings are at, and the values of the shares. */
static void issue_both(cj_fn *f, const wgmma_code *c, attention_consumer *w)
{
    cj_ring_wait_full(f, &w->keys);
    cj_named_barrier_sync(f, w->mine, TURN_BOTH);
    issue_scores(f, c, w);
    issue_values(f, c, w);
    cj_named_barrier_arrive(f, w->next, TURN_BOTH);
}

/* The stage is read: the ring goes on. */
static void release_stage(cj_fn *f, const attention_consumer *w, cj_ring *ring)
{
    cj_ring_release_if(f, w->releases, ring, (cj_val){ 0 });
    cj_ring_next(f, ring);
}

static void pack_all_shares(cj_fn *f, const wgmma_code *c, const attention_consumer *w)
{
    for (size_t i = 0; i < CJK_WGMMA_KEYS / 4; i++)
        cj_assign(f, cj_elem(f, w->share, i), cjk_pack_halves(f, c->x->type, cj_elem(f, w->score, 2 * i),
                                                              cj_elem(f, w->score, 2 * i + 1)));
}

/* From the scores of the last keys, which are there, to the shares of the first ones. */
static void consume_keys(cj_fn *f, const wgmma_code *c, attention_consumer *w, const cjk_part *p,
                         const cjk_own_rows *own, cj_val tiles)
{
    cj_comment(f, "From the scores of the last keys to their shares");
    cj_val factor[2], left = cj_let(f, CJ_S32, cj_sub(f, tiles, 1));
    cj_name(f, left, "left");
    cj_val key = cj_let(f, CJ_S32, cj_mul(f, left, CJK_WGMMA_KEYS));
    cj_val uniform = cj_add(f, p->first, cj_bits(f, CJ_S32, w->first));
    cj_val seen_by_all = cj_let(f, CJ_S32, cjk_attention_seen(f, p, uniform));
    cjk_mask_scores(f, own, key, CJK_WGMMA_KEYS, seen_by_all, w->score);
    cjk_score_shares(f, p, own, w->score, NULL);
    pack_all_shares(f, c, w);
    cj_assign_all(f, w->o, cj_imm_f32(f, 0));
    cj_name(f, key, "key");
    cj_comment(f, "The keys before, tile by tile");
    cj_loop(f);
        cj_break_unless(f, cj_gt(f, left, 0));
        issue_both(f, c, w);
        cj_wgmma_wait(f, 1);
        release_stage(f, w, &w->keys);
        cj_assign(f, key, cj_sub(f, key, CJK_WGMMA_KEYS));
        cj_assign(f, left, cj_sub(f, left, 1));
        if (p->causal) cjk_mask_scores(f, own, key, CJK_WGMMA_KEYS, seen_by_all, w->score);
        cjk_score_shares(f, p, own, w->score, factor);
        cj_wgmma_wait(f, 0);
        release_stage(f, w, &w->values);
        pack_all_shares(f, c, w);
        cjk_correct_result(f, w->o, factor);
    cj_end(f);
}

/* Results leave through shared memory: 64 rows of the warpgroup, one chunk after the other. */
static void store_results_by_map(cj_fn *f, const wgmma_code *c, const attention_consumer *w, const cjk_part *p)
{
    cj_val barrier = cj_add(f, w->group, RESULTS_FIRST), row = cj_add(f, p->first, cj_bits(f, CJ_S32, w->first));
    cj_val from = cj_mad(f, w->group, GROUP_BYTES, c->out);
    cj_comment(f, "Store the results by the tensor map, through shared memory");
    cj_bulk_wait_read_if(f, w->stores, 0);
    cj_named_barrier_sync(f, barrier, GROUP_THREADS);
    for (uint32_t i = 0; i < c->s.chunks; i++)
        cj_store_tile_write(f, &w->tile, i * c->s.queries * ROW_BYTES, cj_slice(f, w->o, 32 * (size_t)i, 32));
    cj_fence_async_shared(f);
    cj_named_barrier_sync(f, barrier, GROUP_THREADS);
    for (uint32_t i = 0; i < c->s.chunks; i++) {
        cj_val at[4] = { cj_imm_i(f, i * CJK_WGMMA_CHUNK), row, cj_bits(f, CJ_S32, p->head),
                         cj_bits(f, CJ_S32, p->batch) };
        cj_tma_store_if(f, w->stores, c->map[3], cj_vec_n(f, at, 4), cj_add(f, from, i * c->s.queries * ROW_BYTES));
    }
    cj_bulk_commit_if(f, w->stores);
}

static void store_results(cj_fn *f, const wgmma_code *c, const attention_consumer *w, const cjk_part *p,
                          const cjk_own_rows *own)
{
    if (!c->s.by_map) {
        cjk_store_own_rows(f, p, own, w->o, true);
        return;
    }
    cjk_divide_own_rows(f, p, own, w->o);
    store_results_by_map(f, c, w, p);
}

static void consume_tiles(cj_fn *f, const wgmma_code *c, attention_consumer *w)
{
    cjk_part p;
    cjk_own_rows own;
    cj_val number = attention_first_tile(f, c);
    cj_name(f, number, "number");
    cj_comment(f, "The first scores of the block");
    cj_ring_wait_full(f, &w->queries);
    cj_ring_wait_full(f, &w->keys);
    issue_scores(f, c, w);
    cj_wgmma_wait(f, 0);
    release_stage(f, w, &w->keys);
    cj_loop(f);
        cj_val tiles = attention_tile_at(f, c, number, &p);
        cjk_own_rows_begin(f, &p, cj_add(f, w->first, w->row), w->column, &own);
        consume_keys(f, c, w, &p, &own, tiles);
        release_stage(f, w, &w->queries);
        attention_next_tile(f, c, number);
        cj_val more = cj_lt(f, number, c->params.work);
        cj_comment(f, "The last values, beside the first scores of the next tile");
        cj_if(f, more);
            cj_ring_wait_full(f, &w->queries);
            issue_both(f, c, w);
            cj_wgmma_wait(f, 0);
            release_stage(f, w, &w->keys);
        cj_else(f);
            issue_values(f, c, w);
            cj_wgmma_wait(f, 0);
        cj_end(f);
        release_stage(f, w, &w->values);
        store_results(f, c, w, &p, &own);
        cj_break_unless(f, more);
    cj_end(f);
}

static void attention_consume(cj_fn *f, const wgmma_code *c, cj_val warpgroup)
{
    attention_consumer w = { .group = cj_sub(f, warpgroup, 1) };
    cj_val last = cj_eq(f, w.group, c->s.groups - 1);
    w.first = cj_mul(f, w.group, CJK_WGMMA_QUERIES);
    w.mine = cj_add(f, w.group, TURN_FIRST);
    w.next = cj_select(f, last, TURN_FIRST, cj_add(f, w.mine, 1));
    cj_wgmma_acc_position(f, &w.row, &w.column);
    w.score = cj_wgmma_accumulators(f, &c->scores);
    w.o = cj_wgmma_accumulators(f, &c->values);
    w.share = cj_regs(f, CJ_B32, CJK_WGMMA_KEYS / 4);
    w.releases = cj_eq(f, cj_lane_id(f), 0);
    w.stores = cj_eq(f, cj_and(f, cj_thread_id(f, CJ_X), GROUP_THREADS - 1), 0);
    cj_wgmma_matrix_begin(f, cj_mad(f, w.group, GROUP_BYTES, c->q), 0, EIGHT_ROWS, CJ_SWIZZLE_128B, &w.q);
    cj_wgmma_matrix_begin(f, c->k, 0, EIGHT_ROWS, CJ_SWIZZLE_128B, &w.k);
    cj_wgmma_matrix_begin(f, c->v, CJK_WGMMA_KEYS * ROW_BYTES, EIGHT_ROWS, CJ_SWIZZLE_128B, &w.v);
    if (c->s.by_map) cj_store_tile_begin(f, c->x->type, cj_mad(f, w.group, GROUP_BYTES, c->out), &w.tile);
    cj_ring_begin(f, c->q_ring, QUERY_STAGES, &w.queries);
    cj_ring_begin(f, c->k_ring, c->s.stages, &w.keys);
    cj_ring_begin(f, c->v_ring, c->s.stages, &w.values);
    name_stages(f, &w.queries, &w.keys, &w.values);
    cj_name(f, w.group, "group");
    cj_name(f, w.score, "score");
    cj_name(f, w.share, "share");
    cj_name(f, w.o, "result");
    cj_if(f, last);
        cj_named_barrier_arrive(f, cj_imm_i(f, TURN_FIRST), TURN_BOTH);
    cj_end(f);
    consume_tiles(f, c, &w);
    cj_if(f, cj_eq(f, w.group, 0)); /* the last turn of the last one is awaited too */
        cj_named_barrier_sync(f, cj_imm_i(f, TURN_FIRST), TURN_BOTH);
    cj_end(f);
    if (c->s.by_map) cj_bulk_wait_if(f, w.stores, 0);
}

/* -- The kernel ---------------------------------------------------------------------------------------------------- */

static void wgmma_begin(cj_fn *f, wgmma_code *c)
{
    cj_mma_type type = c->x->type == CJ_BF16 ? CJ_MMA_BF16 : CJ_MMA_F16;
    uint32_t warps = c->s.groups * 4;
    c->scores = (cj_wgmma_shape){ .n = CJK_WGMMA_KEYS, .a = type, .b = type, .d = CJ_MMA_F32 };
    c->values = (cj_wgmma_shape){ .n = c->s.chunks * CJK_WGMMA_CHUNK, .a = type, .b = type, .d = CJ_MMA_F32,
                                  .b_mn = 1 };
    cj_comment(f, "Shared memory; thread 0 makes the mbarriers of the rings");
    cj_val memory = cj_shared_dynamic(f, "tile_memory", CJ_B32, 16);
    cj_val begin = cj_add(f, cj_cvt(f, CJ_U32, cj_addr(f, memory)), SWIZZLE_ALIGN - 1);
    c->q = cj_and(f, begin, cj_imm_bits(f, CJ_U32, ~(uint32_t)(SWIZZLE_ALIGN - 1)));
    c->k = cj_add(f, c->q, QUERY_STAGES * c->s.query_bytes);
    c->v = cj_add(f, c->k, c->s.stages * c->s.stage_bytes);
    c->out = cj_add(f, c->v, c->s.stages * c->s.stage_bytes);
    c->q_ring = cj_add(f, c->out, c->s.query_bytes);
    c->k_ring = cj_add(f, c->q_ring, MBARRIER_PAIR * QUERY_STAGES);
    c->v_ring = cj_add(f, c->k_ring, MBARRIER_PAIR * c->s.stages);
    cj_if(f, cj_eq(f, cj_thread_id(f, CJ_X), 0));
        cj_ring_init(f, c->q_ring, QUERY_STAGES, 1, warps);
        cj_ring_init(f, c->k_ring, c->s.stages, 1, warps);
        cj_ring_init(f, c->v_ring, c->s.stages, 1, warps);
        cj_mbarrier_init_fence(f);
    cj_end(f);
    cj_block_sync(f);
}

void cjk_attention_write_wgmma(cj_ptx *m, const char *name, const cjk_attention *x, unsigned kernel)
{
    static const char *const maps[] = { "q_map", "k_map", "v_map", "out_map" };
    cj_fn *f = cj_ptx_kernel(m, name);
    wgmma_code c = { .x = x };
    cj_val warpgroup;
    cjk_attention_wgmma_sizes(x, kernel, &c.s);
    cj_fn_max_threads(f, c.s.threads, 1, 1);
    cj_fn_min_blocks(f, 1);
    for (int i = 0; i < 3 + c.s.by_map; i++) c.map[i] = cj_param_tensor_map(f, maps[i]);
    cjk_attention_params_begin(f, &c.params);
    c.params.query_offsets = c.params.key_offsets = (cj_val){ 0 };
    wgmma_begin(f, &c);
    cj_warpgroup_id(f, &warpgroup);
    /* Consumers come first: as in gemm_wgmma.c, what is the same in a warp is in its registers then. */
    cj_comment(f, "The warpgroups from 1 on consume: each has 64 queries of a tile");
    cj_role_more(f, warpgroup, 1, c.s.groups, c.s.groups == 2 ? 240 : 160);
        attention_consume(f, &c, warpgroup);
    cj_end(f);
    cj_comment(f, "Warpgroup 0 produces: its first thread copies queries, keys and values");
    cj_role_fewer(f, warpgroup, 0, 1, c.s.groups == 2 ? 24 : 32);
        cj_if(f, cj_eq(f, cj_thread_id(f, CJ_X), 0));
            attention_produce(f, &c);
        cj_end(f);
    cj_end(f);
    cj_return(f);
}
