/* A scan of a long row that reads each element once and writes each result once (sm_90).
 *
 * The grid is cooperative: all blocks are resident.  Block b has the tiles b, b + gridDim.x, ...  Bulk copies bring
 * them to a ring of buffers in shared memory, where they are scanned in place, and take the results away.
 *
 * Blocks publish the sums of their tiles, never prefixes.  What comes before tile t follows from the groups of tiles
 * that the block has already joined, and from the sums of at most 32 + gridDim.x tiles since: as many threads ask for
 * them at once.  A block scans and publishes its next tile before it asks for the sums that this tile needs.  By then
 * the other blocks have published them, so it seldom waits.  Values of the two tiles under way are in two sets of
 * registers, so the loop is written twice.
 *
 *     scan the first tile; its sum -> the state
 *     each tile:  scan the next tile                                                          barrier
 *                 warp 0: sum of the next tile -> the state; fetch a tile into the free buffer
 *                 warps 1 to `polls`: sums of other tiles <- the state                        barrier
 *                 results -> buffer                                                           barrier
 *                 buffer -> out
 *
 * The state.  A published word has 32 bits of the sum and the number of the launch, so a word of another launch is not
 * taken for one of this.  The header has the number (high half) and how many blocks are still to end (low half).  It is
 * all 0 before a launch, or cjk_write_scan_epoch begins the launch: if no block is left it takes a new number, else
 * another launch is under way, of another executable graph with the same arguments.  Then both have one number: they
 * publish the same words, and either may use those of the other.  The number stays as it is until their last block has
 * ended, so all blocks of a launch read the same one. */
#include "kernels/scan_core.h"

enum {
    STREAM_RING = 3 * 65536, STREAM_STAGES = 12, STREAM_ALIGNED = 128,
    STREAM_POLLS = CJK_SCAN_WARPS - 1      /* most warps that ask for sums */
};

typedef struct stream_kernel {
    const cjk_scan_shape *s;
    unsigned wide, tile_bytes, stages, polls;
    cjk_scan_place p;
    cjk_operand x, out;
    cj_val columns, whole, tiles;          /* parameters: of the row, whole tiles, all tiles */
    cj_val words, epoch;                   /* the published sums; the number of the launch */
    cj_val blocks;
    cj_val shared, full, groups, sums[2];  /* shared addresses: ring, mbarriers, sums of groups, of warps */
    cj_val vector;                         /* where in a tile the thread's first vector is, in bytes */
    cj_val first;                          /* predicate: thread 0 */
    cj_val tile;                           /* that is stored next */
    cj_val buffer, parity;                 /* of the tile; the parity of the tile behind it */
    cj_val carry;                          /* the join of the groups before that of the tile of the last turn */
    cj_val set[2][CJK_SCAN_VALUES];
} stream_kernel;

/* -- Shapes -------------------------------------------------------------------------------------------------------- */

static unsigned stream_tile_bytes(const cjk_scan_shape *s) { return (unsigned)(s->columns * cjk_size(s->type)); }

static unsigned stream_stages(const cjk_scan_shape *s)
{
    unsigned n = STREAM_RING / stream_tile_bytes(s);
    return n < STREAM_STAGES ? n : STREAM_STAGES;
}

/* A block that has joined all groups before that of tile t - gridDim.x asks for those up to that of tile t. */
static unsigned stream_polls(uint32_t blocks) { return (CJK_SCAN_GROUP - 1 + blocks) / CJK_SCAN_GROUP + 1; }

bool cjk_scan_streams(const cjk_scan_shape *s)
{
    return cjk_size(s->type) == cjk_size(s->out) && s->of_vector * cjk_size(s->type) >= 8 && stream_stages(s) >= 3;
}

static uint32_t sums_bytes(const cjk_scan_shape *s)
{
    return (uint32_t)(s->vectors * CJK_SCAN_WARPS * cjk_size(s->join.type));
}

uint32_t cjk_scan_stream_shared(const cjk_scan_shape *s, uint32_t blocks)
{
    uint32_t ring = stream_stages(s) * (stream_tile_bytes(s) + 8);
    if (stream_polls(blocks) > STREAM_POLLS) return UINT32_MAX;
    return ring + 2 * sums_bytes(s) + stream_polls(blocks) * (uint32_t)cjk_size(s->join.type) + STREAM_ALIGNED;
}

/* Eight bytes for each 32 bits of a sum. */
size_t cjk_scan_stream_state(const cjk_scan_shape *s, uint64_t tiles)
{
    return (size_t)(CJK_SCAN_HEADER + tiles * 2 * cjk_size(s->join.type));
}

/* -- The state ----------------------------------------------------------------------------------------------------- */

static cj_val published_at(cj_fn *f, const stream_kernel *k, cj_val tile)
{
    return cj_add(f, k->words, cj_mul_wide(f, tile, 2 * k->wide));
}

/* Warp 0 joins the sums of the warps of a tile, and publishes the tile's. */
static void publish_tile(cj_fn *f, const stream_kernel *k, cj_val tile, unsigned set)
{
    cj_val total, half[2];
    cj_comment(f, "Warp 0: the sum of the tile, which it publishes with the number of the launch");
    cjk_scan_sums(f, k->s, &k->p, k->sums[set], &total);
    if (k->wide == 4) {
        half[0] = cj_bits(f, CJ_U32, total);
    } else {
        cj_val halves = cj_regs(f, CJ_U32, 2);
        cj_ins(f, "mov.b64", halves, total);
        half[0] = cj_elem(f, halves, 0);
        half[1] = cj_elem(f, halves, 1);
    }
    cj_val at = published_at(f, k, tile);
    cj_if(f, cj_eq(f, k->p.lane, 31));
        for (unsigned i = 0; i < k->wide / 4; i++) {
            cj_val word = cj_def(f, "mov.b64", cj_vec(f, half[i], k->epoch));
            cj_ins(f, "st.relaxed.gpu.global.b64", cj_mem(f, at, 8 * i), word);
        }
    cj_end(f);
}

/* How many groups `carry` has: those before the tile of the last turn. */
static cj_val joined_groups(cj_fn *f, const stream_kernel *k)
{
    cj_val last = cj_sub(f, cj_max(f, k->tile, k->blocks), k->blocks);
    return cj_shr(f, last, 5);
}

/* Warp 1 + i asks for the sums of group `joined` + i, as far as they are before the tile, and leaves their join. */
static void ask_for_group(cj_fn *f, const stream_kernel *k)
{
    const cjk_join *j = &k->s->join;
    cj_val half[2], number[2], missing, inclusive, exclusive;
    cj_comment(f, "The next warps: read the sums of a group of tiles each, until all are published, and join them");
    cj_val group = cj_sub(f, cj_add(f, joined_groups(f, k), k->p.warp), 1);
    cj_val tile = cj_mad(f, group, CJK_SCAN_GROUP, k->p.lane), before = cj_lt(f, tile, k->tile);
    cj_val at = published_at(f, k, tile);
    for (unsigned i = 0; i < k->wide / 4; i++) {
        half[i] = cj_let(f, CJ_U32, 0);
        number[i] = cj_let(f, CJ_U32, cj_select(f, before, cj_inv(f, k->epoch), k->epoch));
    }
    cj_loop(f);
        for (unsigned i = 0; i < k->wide / 4; i++) {
            cj_if(f, cj_ne(f, number[i], k->epoch));
                cj_val word = cj_def(f, "ld.relaxed.gpu.global.b64", cj_mem(f, at, 8 * i));
                cj_ins(f, "mov.b64", cj_vec(f, half[i], number[i]), word);
            cj_end(f);
        }
        missing = cj_ne(f, number[0], k->epoch);
        if (k->wide == 8) missing = cj_or(f, missing, cj_ne(f, number[1], k->epoch));
        cj_break_unless(f, cj_vote_any(f, missing));
    cj_end(f);
    cj_val bits = k->wide == 4 ? half[0] : cj_def(f, "mov.b64", cj_vec(f, half[0], half[1]));
    cj_val sum = cj_select(f, before, cj_bits(f, j->type, bits), cjk_identity(f, j));
    cjk_scan_warp(f, j, sum, &inclusive, &exclusive);
    cj_val is_last = cj_eq(f, group, cj_shr(f, k->tile, 5));
    cj_val result = cj_select(f, is_last, exclusive, inclusive);
    cj_val lane = cj_select(f, is_last, cj_and(f, k->tile, 31), 31);
    cj_if(f, cj_eq(f, k->p.lane, lane));
        cj_val place = cj_mad(f, cj_sub(f, k->p.warp, 1), k->wide, k->groups);
        cj_store(f, j->type, cj_as_ptr(f, place, j->type, CJ_SPACE_SHARED), result);
    cj_end(f);
}

/* Joins the groups that are complete, and the one that the tile is in: the result is what comes before the tile. */
static cj_val join_groups(cj_fn *f, const stream_kernel *k)
{
    const cjk_join *j = &k->s->join;
    cj_comment(f, "Join the groups that the warps have read: what comes before the tile");
    cj_val before = cj_let(f, j->type, k->carry);
    cj_name(f, before, "before");
    cj_val complete = cj_sub(f, cj_shr(f, k->tile, 5), joined_groups(f, k));
    cj_as_ptr(f, k->groups, j->type, CJ_SPACE_SHARED);
    for (unsigned i = 0; i < k->polls; i++) {
        cj_val sum = cj_load(f, j->type, cj_mem(f, k->groups, i * k->wide));
        cj_val more = cjk_combine(f, j, k->carry, sum);
        cj_assign(f, before, cj_select(f, cj_eq(f, complete, i), more, before));
        cj_assign(f, k->carry, cj_select(f, cj_gt(f, complete, i), more, k->carry));
    }
    return before;
}

/* -- The ring ------------------------------------------------------------------------------------------------------ */

/* The buffer before, and the one behind. */
static cj_val buffer_before(cj_fn *f, const stream_kernel *k, cj_val buffer)
{
    return cj_sub(f, cj_select(f, cj_eq(f, buffer, 0), k->stages, buffer), 1);
}

static cj_val buffer_behind(cj_fn *f, const stream_kernel *k, cj_val buffer)
{
    cj_val up = cj_add(f, buffer, 1);
    return cj_select(f, cj_eq(f, up, k->stages), 0, up);
}

/* Copies tile `next` to the buffer, if it is a whole one. */
static void fetch_tile(cj_fn *f, const stream_kernel *k, cj_val next, cj_val buffer)
{
    cj_comment(f, "Copy a tile to a free buffer of the ring");
    cj_val fetches = cj_and(f, cj_lt(f, next, k->whole), k->first);
    cj_val full = cj_mad(f, buffer, 8, k->full), to = cj_mad(f, buffer, k->tile_bytes, k->shared);
    cj_val from = cj_add(f, cj_addr(f, k->x.base), cj_mul_wide(f, next, k->tile_bytes));
    cj_mbarrier_expect_if(f, fetches, full, cj_imm(f, k->tile_bytes));
    cj_bulk_load_if(f, fetches, to, from, cj_imm(f, k->tile_bytes), full);
}

static cj_val vector_of_buffer(cj_fn *f, const stream_kernel *k, cj_val buffer)
{
    return cj_mad(f, buffer, k->tile_bytes, k->vector);
}

static int64_t vector_offset(const stream_kernel *k, unsigned i)
{
    return (int64_t)(i * CJK_SCAN_THREADS * k->s->of_vector * cjk_size(k->s->type));
}

/* -- Tiles --------------------------------------------------------------------------------------------------------- */

static cj_val first_of(cj_fn *f, const stream_kernel *k, cj_val tile) { return cj_mul_wide(f, tile, k->s->columns); }

/* Scans a tile by itself.  Only a row's last tile is not whole: no other follows it. */
static void scan_tile(cj_fn *f, const stream_kernel *k, cj_val tile, cj_val buffer, unsigned set)
{
    const cjk_scan_shape *s = k->s;
    cjk_raw raw[CJK_SCAN_VALUES];
    const cj_val *to = k->set[set];
    cj_if(f, cj_lt(f, tile, k->whole));
        cj_comment(f, "A whole tile: wait until it is in its buffer, load its vectors");
        cj_mbarrier_wait(f, cj_mad(f, buffer, 8, k->full), k->parity);
        cj_val at = vector_of_buffer(f, k, buffer);
        for (unsigned i = 0; i < s->vectors; i++)
            cjk_raw_load(f, s->type, at, vector_offset(k, i), s->of_vector, CJK_READ_SHARED, &raw[i]);
        for (unsigned i = 0; i < s->vectors; i++) {
            cj_val v[CJK_WIDEST];
            cjk_raw_values(f, s->type, &raw[i], s->of_vector, s->join.type, v);
            for (unsigned j = 0; j < s->of_vector; j++) cj_assign(f, to[i * s->of_vector + j], v[j]);
        }
    cj_else(f);
        cjk_scan_load_each(f, s, &k->x, k->x.base, first_of(f, k, tile), k->columns, k->p.thread, to);
    cj_end(f);
    cjk_scan_local(f, s, &k->p, k->sums[set], to);
}

static void store_tile(cj_fn *f, const stream_kernel *k, cj_val before, unsigned set)
{
    const cjk_scan_shape *s = k->s;
    cj_val results[CJK_SCAN_VALUES], whole = cj_lt(f, k->tile, k->whole);
    cj_if(f, whole);
        cj_comment(f, "The results of a whole tile replace it in its buffer");
        cj_val at = vector_of_buffer(f, k, k->buffer);
        for (unsigned i = 0; i < s->vectors; i++) {
            cjk_scan_results(f, s, &k->p, k->sums[set], before, k->set[set], i, results);
            cjk_vector_store_shared(f, s->out, at, vector_offset(k, i), s->of_vector, results);
        }
        cj_fence_async_shared(f);
    cj_else(f);
        for (unsigned i = 0; i < s->vectors; i++) {
            cjk_scan_results(f, s, &k->p, k->sums[set], before, k->set[set], i, results);
            cjk_scan_store_each(f, s, &k->out, k->out.base, first_of(f, k, k->tile), k->columns, k->p.thread, i,
                                results);
        }
    cj_end(f);
    cj_block_sync(f);
    cj_comment(f, "Copy the buffer to the results");
    cj_val stores = cj_and(f, whole, k->first);
    cj_val to = cj_add(f, cj_addr(f, k->out.base), cj_mul_wide(f, k->tile, k->tile_bytes));
    cj_bulk_store_if(f, stores, to, cj_mad(f, k->buffer, k->tile_bytes, k->shared), cj_imm(f, k->tile_bytes));
    cj_bulk_commit_if(f, stores);
}

/* One tile: `set` has it, scanned by itself; the other set gets the one behind it. */
static void stream_step(cj_fn *f, const stream_kernel *k, unsigned set)
{
    cj_val behind = cj_add(f, k->tile, k->blocks), more = cj_lt(f, behind, k->tiles);
    cj_val buffer = buffer_behind(f, k, k->buffer), wraps = cj_eq(f, buffer, 0);
    cj_name(f, behind, "next_tile");
    cj_comment(f, "The next tile of the block, scanned by itself");
    cj_assign(f, k->parity, cj_select(f, wraps, cj_xor(f, k->parity, 1), k->parity));
    cj_if(f, more);
        scan_tile(f, k, behind, buffer, 1 - set);
    cj_end(f);
    cj_block_sync(f);
    cj_if(f, cj_eq(f, k->p.warp, 0));
        cj_if(f, more);
            publish_tile(f, k, behind, 1 - set);
        cj_end(f);
        cj_bulk_wait_read_if(f, k->first, 0);
        cj_val next = cj_mad(f, k->blocks, k->stages - 1, k->tile);
        fetch_tile(f, k, next, buffer_before(f, k, k->buffer));
    cj_else(f);
        cj_if(f, cj_le(f, k->p.warp, k->polls));
            ask_for_group(f, k);
        cj_end(f);
    cj_end(f);
    cj_block_sync(f);
    store_tile(f, k, join_groups(f, k), set);
    cj_assign(f, k->buffer, buffer_behind(f, k, k->buffer));
    cj_assign(f, k->tile, behind);
    cj_break_unless(f, more);
}

/* -- The kernels --------------------------------------------------------------------------------------------------- */

static cj_val stream_begin(cj_fn *f, stream_kernel *k)
{
    const cjk_scan_shape *s = k->s;
    uint32_t ring = k->stages * k->tile_bytes, sums = ring + 8 * k->stages;
    k->x = (cjk_operand){ .base = cj_param_ptr(f, "x", s->type), .type = s->type };
    k->out = (cjk_operand){ .base = cj_param_ptr(f, "out", s->out), .type = s->out };
    k->columns = cj_param(f, "columns", CJ_U64);
    k->whole = cj_param(f, "whole", CJ_U32);
    k->tiles = cj_param(f, "tiles", CJ_U32);
    cj_val state = cj_addr(f, cj_param_ptr(f, "state", CJ_U32));
    cj_comment(f, "Shared memory: the ring of tiles, its mbarriers, sums of warps and of groups");
    k->x.step = k->out.step = cj_let(f, CJ_S64, 1);
    k->words = cj_add(f, state, CJK_SCAN_HEADER);
    k->blocks = cj_grid_size(f, CJ_X);
    cjk_scan_place_of(f, &k->p);
    cj_val start = cj_addr(f, cj_shared_dynamic(f, "tiles_of_ring", CJ_B32, STREAM_ALIGNED));
    k->shared = cj_and(f, cj_add(f, start, STREAM_ALIGNED - 1), ~(uint32_t)(STREAM_ALIGNED - 1));
    k->full = cj_add(f, k->shared, ring);
    for (unsigned i = 0; i < 2; i++) k->sums[i] = cj_add(f, k->shared, sums + i * sums_bytes(s));
    k->groups = cj_let(f, CJ_U32, cj_add(f, k->shared, sums + 2 * sums_bytes(s)));
    k->vector = cj_mad(f, k->p.thread, (unsigned)(s->of_vector * cjk_size(s->type)), k->shared);
    k->first = cj_eq(f, k->p.thread, 0);
    k->tile = cj_let(f, CJ_U32, cj_block_id(f, CJ_X));
    k->buffer = cj_let(f, CJ_U32, 0);
    k->parity = cj_let(f, CJ_U32, 0);
    k->carry = cj_let(f, s->join.type, cjk_identity(f, &s->join));
    for (unsigned i = 0; i < 2; i++) {
        for (unsigned n = 0; n < s->values; n++) k->set[i][n] = cj_reg(f, s->join.type);
        cj_name(f, cj_vec_n(f, k->set[i], s->values), i ? "other_value" : "value");
    }
    cj_name(f, k->columns, "columns");
    cj_name(f, k->whole, "whole_tiles");
    cj_name(f, k->tiles, "tiles");
    cj_name(f, k->shared, "ring");
    cj_name(f, k->full, "full");
    cj_name(f, k->groups, "groups");
    cj_name(f, k->tile, "tile");
    cj_name(f, k->buffer, "buffer");
    cj_name(f, k->parity, "parity");
    cj_name(f, k->carry, "carry");
    return state;
}

void cjk_write_scan_stream(cj_ptx *m, const char *name, const cjk_scan_shape *s, uint32_t blocks)
{
    cj_fn *f = cj_ptx_kernel(m, name);
    stream_kernel k = { .s = s, .wide = (unsigned)cjk_size(s->join.type), .tile_bytes = stream_tile_bytes(s),
                        .stages = stream_stages(s), .polls = stream_polls(blocks) };
    cj_fn_max_threads(f, CJK_SCAN_THREADS, 1, 1);
    cj_fn_min_blocks(f, 1);
    cj_val state = stream_begin(f, &k);
    cj_comment(f, "An mbarrier for each buffer of the ring");
    cj_if(f, k.first);
        for (unsigned i = 0; i < k.stages; i++) cj_mbarrier_init(f, cj_add(f, k.full, 8 * i), cj_imm(f, 1));
        cj_mbarrier_init_fence(f);
    cj_end(f);
    cj_block_sync(f);
    for (unsigned i = 0; i + 1 < k.stages; i++)
        fetch_tile(f, &k, cj_mad(f, k.blocks, i, k.tile), cj_let(f, CJ_U32, i));
    cj_comment(f, "The number of the launch");
    k.epoch = cj_add(f, cj_def(f, "ld.relaxed.gpu.global.u32", cj_mem(f, state, 4)), 1);
    cj_name(f, k.epoch, "number");
    cj_comment(f, "The block's first tile, scanned by itself");
    cj_if(f, cj_lt(f, k.tile, k.tiles));
        scan_tile(f, &k, k.tile, k.buffer, 0);
        cj_block_sync(f);
        cj_if(f, cj_eq(f, k.p.warp, 0));
            publish_tile(f, &k, k.tile, 0);
        cj_end(f);
        cj_loop(f);
            cj_comment(f, "A tile in the first set of registers, the next one in the other set");
            stream_step(f, &k, 0);
            cj_comment(f, "The same with the sets exchanged");
            stream_step(f, &k, 1);
        cj_end(f);
    cj_end(f);
    cj_comment(f, "The block has ended");
    cj_if(f, k.first);
        cj_bulk_wait(f, 0);
        cj_ins(f, "red.relaxed.gpu.global.add.u32", cj_mem(f, state, 0), cj_imm(f, UINT32_MAX));
    cj_end(f);
    cj_return(f);
}

void cjk_write_scan_epoch(cj_ptx *m, const char *name)
{
    cj_fn *f = cj_ptx_kernel(m, name);
    cj_val state = cj_param_ptr(f, "state", CJ_U64), blocks = cj_cvt(f, CJ_U64, cj_param(f, "blocks", CJ_U32));
    cj_val seen = cj_let(f, CJ_U64, cj_def(f, "ld.relaxed.gpu.global.u64", cj_mem(f, state, 0)));
    cj_fn_max_threads(f, 1, 1, 1);
    cj_name(f, blocks, "blocks");
    cj_name(f, seen, "seen");
    cj_comment(f, "Add the blocks of the grid; a new number, unless blocks of another launch are still to end");
    cj_loop(f);
        cj_val none = cj_eq(f, cj_cvt(f, CJ_U32, seen), 0);
        cj_val number = cj_select(f, none, cj_add(f, seen, UINT64_C(1) << 32), seen);
        cj_val found = cj_atomic_cas(f, cj_mem(f, state, 0), seen, cj_add(f, number, blocks));
        cj_break_if(f, cj_eq(f, found, seen));
        cj_assign(f, seen, found);
    cj_end(f);
    cj_return(f);
}
