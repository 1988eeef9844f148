/* Path wgmma of cj_gemm (sm_90a): tiles of 128 rows and up to 256 columns, 128 bytes of k at a time.
 *
 * Split variants are for few rows or few tiles: the blocks of a cluster share a tile of 64 rows and 64 or 128 columns.
 * Each takes a part of k, then they add up their sums (gemm_split.c).  The warpgroups have half of the columns each.
 * They take little time, so they begin early, and B comes into the L2 cache meanwhile.  Persistent blocks do not: on an
 * H100 that gained nothing.
 *
 * Blocks are persistent: block b computes tiles b, b + gridDim.x, ...  Of the three warpgroups of a block the first one
 * produces: one thread copies tiles of A and B by tensor maps into a ring of stages.  The other two consume, each 64 of
 * the rows.  No barrier joins these two: the one that is ahead stores its results while the other one multiplies.
 *
 *     producer, each stage:      wait empty; expect the bytes; copy A, copy B; next
 *     consumer, each stage:      wait full; fence; 4 wgmma, in the tile's first stage the first without the old sums;
 *                                commit; wait for all groups but this; release the stage before
 *               end of a tile:   wait for all groups; release; store; next tile
 *
 * Results leave by tensor map where the result allows it: 64 rows of 128 bytes at a time, through two buffers of each
 * warpgroup.  A bias and a short function are applied to the accumulators before, in tiles that are whole.  Else sums
 * leave through the same buffers and the common end. */
#include "kernels/gemm_core.h"

enum {
    GROUP_ROWS = 64, THREADS = 384, WGMMA_THREADS = 128, CONSUMER_WARPS = 8,
    WGMMA_K_BYTES = 128, WGMMAS = WGMMA_K_BYTES / 32, BOX = 64, WGMMA_BOX_BYTES = BOX * WGMMA_K_BYTES,
    BUFFER = GROUP_ROWS * 128, BUFFERS = 2, WGMMA_ALIGNED = 1024,
    PRODUCER_REGISTERS = 40, CONSUMER_REGISTERS = 232,
    CHUNK_COLUMNS = 32         /* of sums on their way through a buffer */
};

typedef struct wgmma_kernel {
    const cjk_gemm *g;
    const cjk_gemm_variant *v;
    cjk_gemm_params p;
    cj_wgmma_shape shape;
    uint32_t stages, a_bytes, b_bytes; /* of a stage */
    uint32_t in_stage;         /* elements of k */
    cj_val a_map, b_map, out_map, by_map;
    cj_val shared, barriers, thread, lane; /* CJ_U32 */
    cj_val rounds;             /* of k, 1 at least */
    cj_val rank, shift;        /* of a split variant: the block takes round i << shift, + rank */
    cj_val down, across, of_batch, tiles; /* tiles down and across, of a product, of all */
} wgmma_kernel;

static uint32_t stages_of(const cjk_gemm_variant *v)
{
    return v->columns >= 192 ? 4 : v->columns == 128 && !v->split ? 6 : 8;
}

/* For results on their way out, or for sums of other blocks. */
static uint32_t buffers_of(const cjk_gemm_variant *v)
{
    return v->split ? v->rows * v->columns * 4 : 2 * BUFFERS * BUFFER;
}

void cjk_gemm_wgmma_sizes(cjk_gemm_variant *v)
{
    uint32_t stages = stages_of(v);
    v->threads = THREADS;
    v->shared = stages * (v->rows + v->columns) * WGMMA_K_BYTES + buffers_of(v) + stages * 16 + WGMMA_ALIGNED;
}

/* -- Tiles --------------------------------------------------------------------------------------------------------- */

typedef struct wgmma_tile { cj_val row, column, batch; } wgmma_tile; /* of its first element */

static wgmma_tile tile_at(cj_fn *f, const wgmma_kernel *k, cj_val number)
{
    cj_val row, column, batch = cj_div(f, number, k->of_batch);
    cj_val within = cj_sub(f, number, cj_mul(f, batch, k->of_batch));
    cjk_gemm_tile(f, within, k->down, k->across, &row, &column);
    return (wgmma_tile){ cj_mul(f, row, k->v->rows), cj_mul(f, column, k->v->columns), batch };
}

/* Of a split variant the tile of the block's cluster, whose blocks are neighbours in x. */
static wgmma_tile tile_of_cluster(cj_fn *f, const wgmma_kernel *k)
{
    cj_val column = cj_mul(f, cj_shr(f, cj_block_id(f, CJ_X), k->shift), k->v->columns);
    cj_val row = cj_mul(f, cj_block_id(f, CJ_Y), k->v->rows);
    return (wgmma_tile){ row, column, cj_let(f, CJ_U32, cj_block_id(f, CJ_Z)) };
}

/* The block's tiles: a loop over them, or the one of its cluster. */
static wgmma_tile tiles_begin(cj_fn *f, const wgmma_kernel *k)
{
    wgmma_tile t;
    cj_comment(f, k->v->split ? "The tile of the block's cluster" : "The block's tiles, one after the other");
    if (k->v->split) t = tile_of_cluster(f, k);
    else t = tile_at(f, k, cj_for(f, cj_block_id(f, CJ_X), k->tiles, cj_grid_size(f, CJ_X)));
    cj_name(f, t.row, "tile_row");
    cj_name(f, t.column, "tile_column");
    cj_name(f, t.batch, "batch");
    return t;
}

static void tiles_end(cj_fn *f, const wgmma_kernel *k)
{
    if (!k->v->split) cj_end(f);
}

/* The coordinates in a map of three dimensions; operands that are the same in each batch have one of them. */
static cj_val coordinates(cj_fn *f, const wgmma_kernel *k, int which, cj_val inner, cj_val outer, cj_val batch)
{
    cj_val own = cj_select(f, cj_eq(f, k->p.by_batch[which], 0), 0, batch);
    return cj_vec(f, cj_bits(f, CJ_S32, inner), cj_bits(f, CJ_S32, outer), cj_bits(f, CJ_S32, own));
}

static void name_ring(cj_fn *f, const cj_ring *ring)
{
    cj_name(f, ring->index, "stage");
    cj_name(f, ring->parity, "parity");
}

/* -- Producer ------------------------------------------------------------------------------------------------------ */

/* Copies `rows` outer indices from `first` on.  With k contiguous they are one box, else boxes of 64. */
static void produce_operand(cj_fn *f, const wgmma_kernel *k, int which, cj_val first, uint32_t rows, cj_val along,
                            cj_val batch, cj_val to, cj_val full)
{
    cj_val map = which == CJK_GEMM_A ? k->a_map : k->b_map;
    if (k->v->next[which] == CJK_K_NEXT) {
        cj_tma_load(f, to, map, coordinates(f, k, which, along, first, batch), full);
        return;
    }
    for (uint32_t b = 0; b < rows / BOX; b++) {
        cj_val outer = cj_add(f, first, b * BOX), box = cj_add(f, to, b * WGMMA_BOX_BYTES);
        cj_tma_load(f, box, map, coordinates(f, k, which, outer, along, batch), full);
    }
}

/* Where the k of a round begin. */
static cj_val along_of(cj_fn *f, const wgmma_kernel *k, cj_val round)
{
    return cj_mul(f, k->v->split ? cj_add(f, cj_shl(f, round, k->shift), k->rank) : round, k->in_stage);
}

/* Of a split variant that begins early: thread 0 has the tiles of B that fill the ring brought into the L2 cache, while
 * the kernel before still runs.  That reads nothing: should that kernel write B, its writes go to the same lines. */
static void prefetch_b(cj_fn *f, const wgmma_kernel *k)
{
    static const char prefetch[] = "cp.async.bulk.prefetch.tensor.3d.L2.global.tile";
    const bool by_k = k->v->next[CJK_GEMM_B] == CJK_K_NEXT;
    cj_comment(f, "Bring the first stages of B into the L2 cache");
    cj_if(f, cj_eq(f, k->thread, 0));
        wgmma_tile t = tile_of_cluster(f, k);
        cj_val round = cj_for(f, 0, cj_min(f, k->rounds, k->stages), 1), along = along_of(f, k, round);
            for (uint32_t b = 0; b < (by_k ? 1 : k->v->columns / BOX); b++) {
                cj_val outer = cj_add(f, t.column, b * BOX);
                cj_val at = coordinates(f, k, CJK_GEMM_B, by_k ? along : outer, by_k ? outer : along, t.batch);
                cj_ins(f, prefetch, cj_texmem(f, k->b_map, (cj_val){ 0 }, at));
            }
        cj_end(f);
    cj_end(f);
}

static void produce(cj_fn *f, const wgmma_kernel *k)
{
    cj_ring ring;
    cj_if(f, cj_eq(f, k->thread, 0));
        cj_ring_begin(f, k->barriers, k->stages, &ring);
        name_ring(f, &ring);
        wgmma_tile t = tiles_begin(f, k);
            cj_val round = cj_for(f, 0, k->rounds, 1);
                cj_comment(f, "Copy 128 bytes of k of A and of B to the next stage, once it is empty");
                cj_val along = along_of(f, k, round);
                cj_ring_wait_empty(f, &ring);
                cj_val full = cj_ring_full(f, &ring);
                cj_val a = cj_ring_stage(f, &ring, k->shared, cj_imm(f, k->a_bytes));
                cj_val b = cj_ring_stage(f, &ring, cj_add(f, k->shared, k->stages * k->a_bytes),
                                         cj_imm(f, k->b_bytes));
                cj_name(f, along, "k_at");
                cj_name(f, full, "full");
                cj_name(f, a, "a_stage");
                cj_name(f, b, "b_stage");
                cj_mbarrier_expect(f, full, cj_imm(f, k->a_bytes + k->b_bytes));
                produce_operand(f, k, CJK_GEMM_A, t.row, k->v->rows, along, t.batch, a, full);
                produce_operand(f, k, CJK_GEMM_B, t.column, k->v->columns, along, t.batch, b, full);
                cj_ring_next(f, &ring);
            cj_end(f);
        tiles_end(f, k);
    cj_end(f);
}

/* -- Consumers ----------------------------------------------------------------------------------------------------- */

typedef struct wgmma_consumer {
    cj_val group;              /* 0 or 1 */
    cj_wgmma_matrix a, b;      /* of stage 0 */
    cj_val sums;               /* the accumulators */
    cj_val products[2];        /* where wgmma adds up: `sums`, or with promote others, up to 128 columns two in turn */
    cj_val yes, no, releases, stores; /* predicates: constants; one lane of a warp; one thread of the warpgroup */
    cj_val before;             /* the stage that is released next */
    cj_val buffers, barrier;
    cj_store_tile tile;        /* of results, for the tensor map */
    cj_ring ring;
} wgmma_consumer;

/* The distance between boxes of 64 outer indices, which only operands that are not k contiguous have. */
static uint32_t leading_of(cjk_next next, uint32_t boxes)
{
    return next == CJK_OUTER_NEXT && boxes ? WGMMA_BOX_BYTES : 16;
}

/* With promote: whether a thread has registers for two sets of products. */
static bool in_turn(const wgmma_kernel *k) { return k->g->o.promote && k->shape.n <= 128; }

static void name_consumer(cj_fn *f, const wgmma_consumer *c)
{
    cj_name(f, c->group, "group");
    cj_name(f, c->sums, "sum");
    for (int i = 0; i < 2; i++)
        if (c->products[i].bits != c->sums.bits && (!i || c->products[1].bits != c->products[0].bits))
            cj_name(f, c->products[i], i ? "other_product" : "product");
    cj_name(f, c->a.low, "a_matrix");
    cj_name(f, c->b.low, "b_matrix");
    cj_name(f, c->releases, "releases");
    cj_name(f, c->stores, "stores");
    cj_name(f, c->before, "stage_before");
    cj_name(f, c->buffers, "buffers");
}

static void consumer_begin(cj_fn *f, const wgmma_kernel *k, cj_val warpgroup, wgmma_consumer *c)
{
    uint32_t ring = k->stages * (k->a_bytes + k->b_bytes);
    c->group = cj_sub(f, warpgroup, 1);
    cj_val a = k->shared, b = cj_add(f, k->shared, k->stages * k->a_bytes);
    if (k->v->split) b = cj_mad(f, c->group, k->b_bytes / 2, b);
    else a = cj_mad(f, c->group, WGMMA_BOX_BYTES, a);
    cj_wgmma_matrix_begin(f, a, leading_of(k->v->next[CJK_GEMM_A], 0), WGMMA_ALIGNED, CJ_SWIZZLE_128B, &c->a);
    cj_wgmma_matrix_begin(f, b, leading_of(k->v->next[CJK_GEMM_B], 1), WGMMA_ALIGNED, CJ_SWIZZLE_128B, &c->b);
    c->products[0] = k->g->o.promote ? cj_wgmma_accumulators(f, &k->shape) : c->sums;
    c->products[1] = in_turn(k) ? cj_wgmma_accumulators(f, &k->shape) : c->products[0];
    c->yes = cj_eq(f, k->lane, k->lane);
    c->no = cj_ne(f, k->lane, k->lane);
    c->releases = cj_eq(f, k->lane, 0);
    c->stores = cj_eq(f, cj_and(f, k->thread, WGMMA_THREADS - 1), 0);
    c->before = cj_let(f, CJ_U32, 0);
    c->buffers = cj_mad(f, c->group, BUFFERS * BUFFER, cj_add(f, k->shared, ring));
    c->barrier = cj_add(f, c->group, 1);
    cj_ring_begin(f, k->barriers, k->stages, &c->ring);
    name_ring(f, &c->ring);
    name_consumer(f, c);
}

/* The wgmmas of a stage.  A step of k, 32 bytes, is as many bytes further in the rows; or 16 rows of 128 bytes. */
static void consume_stage(cj_fn *f, const wgmma_kernel *k, const wgmma_consumer *c, unsigned set, cj_val keep)
{
    cj_comment(f, "Multiply a stage: four wgmma of 32 bytes of k each");
    cj_wgmma_matrix a = c->a, b = c->b;
    uint32_t a_step = k->v->next[CJK_GEMM_A] == CJK_K_NEXT ? 32 : 16 * WGMMA_K_BYTES;
    uint32_t b_step = k->v->next[CJK_GEMM_B] == CJK_K_NEXT ? 32 : 16 * WGMMA_K_BYTES;
    cj_ring_wait_full(f, &c->ring);
    a.low = cj_mad(f, c->ring.index, k->a_bytes / 16, c->a.low);
    b.low = cj_mad(f, c->ring.index, k->b_bytes / 16, c->b.low);
    cj_wgmma_fence(f);
    for (uint32_t j = 0; j < WGMMAS; j++) {
        cj_val at_a = cj_wgmma_operand(f, &a, cj_imm(f, j * a_step));
        cj_val at_b = cj_wgmma_operand(f, &b, cj_imm(f, j * b_step));
        cj_wgmma(f, &k->shape, c->products[set], at_a, at_b, j ? c->yes : keep);
    }
    cj_wgmma_commit(f);
}

/* The first stage is in the loop: with wgmmas of its own the compiler takes a quarter longer. */
static void consume_tile(cj_fn *f, const wgmma_kernel *k, const wgmma_consumer *c)
{
    cj_val round = cj_for(f, 0, k->rounds, 1), adds = cj_ne(f, round, 0);
        cj_name(f, adds, "adds");
        consume_stage(f, k, c, 0, adds);
        cj_comment(f, "The stage before is multiplied: release it");
        cj_wgmma_wait(f, 1);
        cj_ring_release_if(f, cj_and(f, c->releases, adds), &c->ring, c->before);
        cj_assign(f, c->before, c->ring.index);
        cj_ring_next(f, &c->ring);
    cj_end(f);
    cj_comment(f, "The tile is multiplied");
    cj_wgmma_wait(f, 0);
    cj_ring_release_if(f, c->releases, &c->ring, c->before);
}

static void add_products(cj_fn *f, const wgmma_consumer *c, unsigned set)
{
    cj_comment(f, "Add the products of the stage to the sums in f32");
    for (size_t i = 0, n = cj_length_of(f, c->sums); i < n; i++) {
        cj_val sum = cj_elem(f, c->sums, i);
        cj_assign(f, sum, cj_add(f, sum, cj_elem(f, c->products[set], i)));
    }
}

/* The products of each stage are added to the sums in f32.  The other warpgroup multiplies meanwhile. */
static void consume_tile_promoted(cj_fn *f, const wgmma_kernel *k, const wgmma_consumer *c)
{
    const cj_val stage = { 0 };
    cj_assign_all(f, c->sums, cj_imm(f, 0.0f));
    cj_for(f, 0, k->rounds, 1);
        consume_stage(f, k, c, 0, c->no);
        cj_wgmma_wait(f, 0);
        cj_ring_release_if(f, c->releases, &c->ring, stage);
        add_products(f, c, 0);
        cj_ring_next(f, &c->ring);
    cj_end(f);
}

/* The same with two sets of products: one is added while the next stage is multiplied into the other one. */
static void consume_tile_in_turn(cj_fn *f, const wgmma_kernel *k, const wgmma_consumer *c)
{
    cj_val left = cj_let(f, CJ_U32, k->rounds);
    cj_assign_all(f, c->sums, cj_imm(f, 0.0f));
    consume_stage(f, k, c, 0, c->no);
    cj_loop(f);
        for (unsigned set = 0; set < 2; set++) {
            cj_assign(f, left, cj_sub(f, left, 1));
            cj_if(f, cj_eq(f, left, 0));
                cj_wgmma_wait(f, 0);
                cj_ring_release_if(f, c->releases, &c->ring, c->ring.index);
                cj_ring_next(f, &c->ring);
                add_products(f, c, set);
                cj_break(f);
            cj_end(f);
            cj_assign(f, c->before, c->ring.index);
            cj_ring_next(f, &c->ring);
            consume_stage(f, k, c, 1 - set, c->no);
            cj_wgmma_wait(f, 1);
            cj_ring_release_if(f, c->releases, &c->ring, c->before);
            add_products(f, c, set);
        }
    cj_end(f);
}

/* Two buffers in turn.  A tile with an odd number of chunks begins with the buffer that it ended with, so it waits
 * until all of them have been read.  The last chunk has some columns of the one before if the tile has no multiple. */
static void store_by_map(cj_fn *f, const wgmma_kernel *k, const wgmma_consumer *c, const wgmma_tile *t)
{
    uint32_t columns = 128 / (uint32_t)cjk_size(k->g->type[CJK_GEMM_OUT]);
    uint32_t chunks = (k->v->columns + columns - 1) / columns;
    cj_val row = cj_mad(f, c->group, GROUP_ROWS, t->row);
    cj_comment(f, "Store the results by the tensor map, 64 rows of 128 bytes at a time through two buffers");
    cj_name(f, row, "first_row");
    for (uint32_t i = 0; i < chunks; i++) {
        uint32_t buffer = i % BUFFERS * BUFFER, last = k->v->columns - columns;
        uint32_t first = i * columns < last ? i * columns : last;
        cj_bulk_wait_read_if(f, c->stores, i == 0 && chunks % 2 ? 0 : 1);
        cj_named_barrier_sync(f, c->barrier, cj_imm(f, WGMMA_THREADS));
        cj_store_tile_write(f, &c->tile, buffer, cj_slice(f, c->sums, first / 2, columns / 2));
        cj_fence_async_shared(f);
        cj_named_barrier_sync(f, c->barrier, cj_imm(f, WGMMA_THREADS));
        cj_val at = coordinates(f, k, CJK_GEMM_OUT, cj_add(f, t->column, first), row, t->batch);
        cj_tma_store_if(f, c->stores, k->out_map, at, cj_add(f, c->buffers, buffer));
        cj_bulk_commit_if(f, c->stores);
    }
}

/* The bias and the user's function, where the sums are.  The tile is whole: a function may read memory at its row. */
static void finish_sums(cj_fn *f, const wgmma_kernel *k, const wgmma_consumer *c, const wgmma_tile *t)
{
    cj_val row, column;
    cj_comment(f, "The bias and the user's function, on each sum");
    cj_wgmma_acc_position(f, &row, &column);
    row = cj_add(f, row, cj_mad(f, c->group, GROUP_ROWS, t->row)), column = cj_add(f, column, t->column);
    for (uint32_t i = 0, n = (uint32_t)cj_length_of(f, c->sums); i < n; i++) {
        cj_val sum = cj_elem(f, c->sums, i), at_row = cj_add(f, row, cj_acc_row(i));
        cj_val at_column = cj_add(f, column, cj_acc_column(i));
        cj_assign(f, sum, cjk_gemm_finish_f32(f, k->g, &k->p, sum, at_row, at_column, t->batch));
    }
}

static cj_val is_whole(cj_fn *f, const wgmma_kernel *k, const wgmma_tile *t)
{
    cj_val rows = cj_le(f, cj_add(f, t->row, k->v->rows), k->p.size[CJK_GEMM_A]);
    return cj_and(f, rows, cj_le(f, cj_add(f, t->column, k->v->columns), k->p.size[CJK_GEMM_B]));
}

/* Writes 32 columns of sums from `first` on into a chunk; (row, column) is where the thread's first sum is. */
static void put_sums(cj_fn *f, const wgmma_consumer *c, const cjk_gemm_chunk *chunk, uint32_t first, cj_val row,
                     cj_val column)
{
    cj_val at[4];
    cjk_gemm_chunk_at(f, chunk, row, column, at);
    for (uint32_t j = 0; j < 4; j++)
        for (uint32_t half = 0; half < 2; half++) {
            cj_val pair = cj_slice(f, c->sums, (size_t)first / 2 + 4 * j + 2 * half, 2);
            cj_ins(f, "st.shared.v2.b32", cj_mem(f, at[j], half * 8 * CHUNK_COLUMNS * 4), pair);
        }
}

static cjk_gemm_chunk chunk_of(cj_fn *f, const wgmma_kernel *k, const wgmma_consumer *c, uint32_t i)
{
    return (cjk_gemm_chunk){ .shared = cj_add(f, c->buffers, i % BUFFERS * BUFFER), .rows = GROUP_ROWS,
                             .columns = CHUNK_COLUMNS, .threads = WGMMA_THREADS,
                             .thread = cj_and(f, k->thread, WGMMA_THREADS - 1) };
}

/* Through the common end.  A buffer is written again behind the barrier of the other one; where the next tile begins
 * with the buffer that this one ended with, behind a barrier of its own.  The last chunk may begin with columns that
 * the one before has stored. */
static void store_by_threads(cj_fn *f, const wgmma_kernel *k, const wgmma_consumer *c, const wgmma_tile *t)
{
    uint32_t columns = k->v->columns, chunks = (columns + CHUNK_COLUMNS - 1) / CHUNK_COLUMNS;
    cj_val row, column;
    cj_comment(f, "Store the results by the threads, 32 columns at a time through two buffers");
    cj_wgmma_acc_position(f, &row, &column);
    for (uint32_t i = 0; i < chunks; i++) {
        uint32_t last = columns - CHUNK_COLUMNS, first = i * CHUNK_COLUMNS < last ? i * CHUNK_COLUMNS : last;
        cjk_gemm_chunk chunk = chunk_of(f, k, c, i);
        chunk.skip = i * CHUNK_COLUMNS - first;
        put_sums(f, c, &chunk, first, row, column);
        cj_named_barrier_sync(f, c->barrier, cj_imm(f, WGMMA_THREADS));
        cjk_gemm_chunk_store(f, k->g, &k->p, &chunk, cj_mad(f, c->group, GROUP_ROWS, t->row),
                             cj_add(f, t->column, first), t->batch);
    }
    if (chunks % BUFFERS) cj_named_barrier_sync(f, c->barrier, cj_imm(f, WGMMA_THREADS));
}

/* Of a split variant the sums stay in registers: end_split stores them. */
static void consume(cj_fn *f, const wgmma_kernel *k, cj_val warpgroup, cj_val sums)
{
    wgmma_consumer c = { .sums = sums };
    bool maps = k->g->by_map && !k->v->split;
    consumer_begin(f, k, warpgroup, &c);
    cj_type out = k->shape.d == CJ_MMA_S32 ? CJ_S32 : k->g->type[CJK_GEMM_OUT];
    if (maps) cj_store_tile_begin(f, out, c.buffers, &c.tile);
    wgmma_tile t = tiles_begin(f, k);
        if (in_turn(k)) consume_tile_in_turn(f, k, &c);
        else if (k->g->o.promote) consume_tile_promoted(f, k, &c);
        else consume_tile(f, k, &c);
        if (maps) {
            const bool fuses = cjk_gemm_fuses(k->g, &k->p);
            cj_val by_map = cj_ne(f, k->by_map, 0);
            cj_if(f, fuses ? cj_and(f, by_map, is_whole(f, k, &t)) : by_map);
                if (fuses) finish_sums(f, k, &c, &t);
                store_by_map(f, k, &c, &t);
            cj_else(f);
                store_by_threads(f, k, &c, &t);
            cj_end(f);
        } else if (!k->v->split) {
            store_by_threads(f, k, &c, &t);
        }
    tiles_end(f, k);
    if (maps) cj_bulk_wait_if(f, c.stores, 0);
}

/* The sums of all blocks of the cluster meet.  All threads of a block come to each barrier of the cluster at one place:
 * in a cluster of one block ptxas makes it a barrier of the block. */
static void end_split(cj_fn *f, const wgmma_kernel *k, cj_val warpgroup, cj_val sums)
{
    cj_val shared = cj_add(f, k->shared, k->stages * (k->a_bytes + k->b_bytes)), consumes = cj_ne(f, warpgroup, 0);
    cj_name(f, shared, "received");
    cj_name(f, consumes, "consumes");
    cj_comment(f, "All blocks of the cluster have begun: send them the sums of their rows");
    cj_cluster_wait(f);
    cj_if(f, consumes);
        cjk_gemm_split_send(f, k->v, sums, shared, cj_sub(f, warpgroup, 1));
    cj_end(f);
    cj_cluster_sync(f);
    cj_comment(f, "Add up what the blocks have sent, and store this block's rows");
    cj_if(f, consumes);
        wgmma_tile t = tile_of_cluster(f, k);
        cjk_gemm_split_store(f, k->g, k->v, &k->p, shared, cj_sub(f, k->thread, WGMMA_THREADS), t.row, t.column,
                             t.batch);
    cj_end(f);
}

/* -- The kernel ---------------------------------------------------------------------------------------------------- */

static void name_kernel(cj_fn *f, const wgmma_kernel *k)
{
    const struct { const char *name; cj_val v; } all[] = {
        { "first_stage", k->shared }, { "barriers", k->barriers }, { "thread", k->thread }, { "lane", k->lane },
        { "rounds", k->rounds }, { "tiles_down", k->down }, { "tiles_across", k->across },
        { "tiles_of_batch", k->of_batch }, { "tiles", k->tiles },
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) cj_name(f, all[i].v, all[i].name);
}

static void kernel_begin(cj_fn *f, wgmma_kernel *k, cj_fn *epilogue)
{
    const cjk_gemm *g = k->g;
    cjk_gemm_params_begin(f, g, epilogue, &k->p);
    k->a_map = cj_param_tensor_map(f, "a_map");
    k->b_map = cj_param_tensor_map(f, "b_map");
    if (g->by_map) {
        k->out_map = cj_param_tensor_map(f, "out_map");
        k->by_map = cj_param(f, "by_map", CJ_U32);
    }
    cj_comment(f, "Shared memory: stages, buffers, mbarriers; the tiles of all products and their rounds of k");
    cj_val start = cj_addr(f, cj_shared_dynamic(f, "stages", CJ_B32, WGMMA_ALIGNED));
    k->shared = cj_and(f, cj_add(f, start, WGMMA_ALIGNED - 1), 0xfffffc00u);
    k->barriers = cj_add(f, k->shared, k->stages * (k->a_bytes + k->b_bytes) + buffers_of(k->v));
    k->thread = cj_thread_id(f, CJ_X);
    k->lane = cj_and(f, k->thread, 31);
    cj_val more = cj_add(f, k->p.k, k->in_stage - 1), rows = cj_add(f, k->p.size[CJK_GEMM_A], k->v->rows - 1);
    cj_val columns = cj_add(f, k->p.size[CJK_GEMM_B], k->v->columns - 1);
    k->rounds = cj_div(f, more, k->in_stage);
    k->down = cj_div(f, rows, k->v->rows);
    k->across = cj_div(f, columns, k->v->columns);
    k->of_batch = cj_mul(f, k->down, k->across);
    k->tiles = cj_mul(f, k->of_batch, k->p.batches);
    name_kernel(f, k);
    if (k->v->split) { /* blocks of a cluster read neighbours in memory */
        cj_val others = cj_sub(f, cj_cluster_size(f), 1);
        k->rank = cj_cluster_rank(f);
        k->shift = cj_popc(f, others);
        k->rounds = cj_let(f, CJ_U32, cj_shr(f, cj_sub(f, cj_add(f, k->rounds, others), k->rank), k->shift));
        cj_name(f, k->rank, "rank");
        cj_name(f, k->rounds, "own_rounds");
    }
}

void cjk_gemm_write_wgmma(cj_ptx *m, const char *name, const cjk_gemm *g, const cjk_gemm_variant *v, cj_fn *epilogue)
{
    cj_fn *f = cj_ptx_kernel(m, name);
    wgmma_kernel k = { .g = g, .v = v, .stages = stages_of(v) };
    cj_val warpgroup;
    k.shape = (cj_wgmma_shape){ .n = v->split ? v->columns / 2 : v->columns, .a = g->mma[CJK_GEMM_A],
                                .b = g->mma[CJK_GEMM_B],
                                .d = g->wide == CJ_F32 ? CJ_MMA_F32 : CJ_MMA_S32,
                                .a_mn = v->next[CJK_GEMM_A] == CJK_OUTER_NEXT,
                                .b_mn = v->next[CJK_GEMM_B] == CJK_OUTER_NEXT };
    k.in_stage = WGMMA_K_BYTES / (uint32_t)cjk_size(g->type[CJK_GEMM_A]);
    k.a_bytes = v->rows * WGMMA_K_BYTES;
    k.b_bytes = v->columns * WGMMA_K_BYTES;
    cj_fn_max_threads(f, THREADS, 1, 1);
    cj_fn_min_blocks(f, 1);
    kernel_begin(f, &k, epilogue);
    cj_warpgroup_id(f, &warpgroup);
    cj_name(f, warpgroup, "warpgroup");
    cj_comment(f, "Thread 0 fetches the tensor maps and makes the mbarriers of the ring");
    cj_if(f, cj_eq(f, k.thread, 0));
        cj_tma_prefetch(f, k.a_map);
        cj_tma_prefetch(f, k.b_map);
        cj_ring_init(f, k.barriers, k.stages, cj_imm(f, 1), cj_imm(f, CONSUMER_WARPS));
        cj_mbarrier_init_fence(f);
    cj_end(f);
    cj_block_sync(f);
    if (v->split && g->code.early) prefetch_b(f, &k);
    if (v->split) cjk_start_early(f, &g->code);
    if (v->split) cj_cluster_arrive(f);
    cj_val sums = cj_wgmma_accumulators(f, &k.shape);
    /* One set of accumulators, or those of 32 columns, fit in what each thread begins with.  Registers are moved for
     * others only, since the driver's linker, which compiles many kernels at once, compiles none in which they are. */
    const bool moves = g->o.promote && !v->split;
    /* Consumers come first.  Behind the producer's single thread ptxas would not know that the threads of a warp are
     * together, and keep the ring and the matrices in registers of each thread, not of the warp. */
    cj_comment(f, "Warpgroups 1 and 2 consume: each multiplies its part of a tile, and stores the sums");
    if (moves) cj_role_more(f, warpgroup, 1, 2, CONSUMER_REGISTERS);
    else cj_if(f, cj_ne(f, warpgroup, 0));
        consume(f, &k, warpgroup, sums);
    cj_end(f);
    cj_comment(f, "Warpgroup 0 produces: its first thread copies tiles of A and B");
    if (moves) cj_role_fewer(f, warpgroup, 0, 1, PRODUCER_REGISTERS);
    else cj_if(f, cj_eq(f, warpgroup, 0));
        produce(f, &k);
    cj_end(f);
    if (v->split) end_split(f, &k, warpgroup, sums);
    cj_return(f);
}
