/* Path scalar of cj_gemm for f32 on sm_90a: multiply-adds of f32 over tiles that tensor maps copy.
 *
 * Blocks are persistent: block b computes tiles b, b + gridDim.x, ...  One thread of the first warpgroup copies 32
 * columns of k at a time into a ring of stages; the other warps consume them.  A warp's lanes are 8 x 4: lane (p, q)
 * has `down` rows and `across` columns of sums.  In a stage lie, for each operand,
 *
 *     with k contiguous:        rows of 32 k, 128 bytes, one for each outer index, with the 128-byte swizzle;
 *     with the outer side so:   32 rows, one for each k.
 *
 * A thread loads its rows of A and its columns of B for two k, in vectors along the side that is contiguous.  It has
 * two sets of registers, of which one is loaded while the other is multiplied, also across the borders of stages.
 *
 * Each sum has one accumulator and is added up in the order of k. */
#include "kernels/gemm_core.h"

enum {
    WARPGROUP = 128, STAGE_K = 32, K_BYTES = STAGE_K * 4, STEP_K = 2, QUAD = 4,
    LANES_DOWN = 8, LANES_ACROSS = 4, MOST_DOWN = 8,
    ALIGNED = 1024, PRODUCER_REGISTERS = 24, CONSUMER_REGISTERS = 232
};

/* The tiles: how many warps lie in them, and how many blocks a multiprocessor has. */
static const struct fma_shape { uint32_t rows, columns, warps_down, warps_across, stages, blocks; } fma_shapes[] = {
    { 128, 128, 2, 4, 6, 1 },
    { 96, 96, 2, 2, 4, 2 },
    { 64, 64, 2, 2, 6, 2 },
};
enum { FMA_SHAPES = sizeof fma_shapes / sizeof *fma_shapes };

static const struct fma_shape *shape_of(const cjk_gemm_variant *v)
{
    uint32_t i = 0;
    while (i + 1 < FMA_SHAPES && (fma_shapes[i].rows != v->rows || fma_shapes[i].columns != v->columns)) i++;
    return &fma_shapes[i];
}

typedef struct fma_kernel {
    const cjk_gemm *g;
    const cjk_gemm_variant *v;
    const struct fma_shape *shape;
    cjk_gemm_params p;
    uint32_t warps, down, across;      /* warps that multiply; sums of a thread */
    uint32_t vector;                   /* neighbouring rows that one load takes */
    uint32_t a_bytes, b_bytes, patch_bytes; /* of a stage; of what a warp stores through */
    cj_val map[2];
    cj_val shared, barriers, thread, lane, rounds; /* CJ_U32; stages of k, 1 at least */
    cj_val tiles_down, tiles_across, of_batch, tiles;
    cj_val pairs;                      /* the result can be stored two columns at a time; CJ_PRED */
} fma_kernel;

static void sizes_of(fma_kernel *k)
{
    const struct fma_shape *s = k->shape;
    k->warps = s->warps_down * s->warps_across;
    k->down = s->rows / s->warps_down / LANES_DOWN;
    k->across = s->columns / s->warps_across / LANES_ACROSS;
    k->vector = k->down % QUAD ? 2 : QUAD;
    k->a_bytes = s->rows * K_BYTES;
    k->b_bytes = s->columns * K_BYTES;
    k->patch_bytes = k->vector * LANES_DOWN * CJK_PATCH_PITCH * 4;
}

void cjk_gemm_fma_sizes(cjk_gemm_variant *v)
{
    fma_kernel k = { .shape = shape_of(v) };
    sizes_of(&k);
    v->threads = WARPGROUP + k.warps * 32;
    v->blocks = k.shape->blocks;
    v->shared = k.shape->stages * (k.a_bytes + k.b_bytes + 16) + k.warps * k.patch_bytes + ALIGNED;
}

/* -- Tiles --------------------------------------------------------------------------------------------------------- */

typedef struct fma_tile { cj_val row, column, batch; } fma_tile; /* of its first element */

static fma_tile fma_tile_at(cj_fn *f, const fma_kernel *k, cj_val number)
{
    cj_val row, column, batch = cj_div(f, number, k->of_batch);
    cj_val before = cj_mul(f, batch, k->of_batch);
    cjk_gemm_tile(f, cj_sub(f, number, before), k->tiles_down, k->tiles_across, &row, &column);
    return (fma_tile){ cj_mul(f, row, k->v->rows), cj_mul(f, column, k->v->columns), batch };
}

/* -- Producer ------------------------------------------------------------------------------------------------------ */

/* One copy: 32 k of the tile's outer indices.  Operands that are the same in each batch have one of them. */
static void copy_stage(cj_fn *f, const fma_kernel *k, int which, cj_val first, cj_val along, cj_val batch, cj_val to,
                       cj_val full)
{
    bool by_k = k->v->next[which] == CJK_K_NEXT;
    cj_val own = cj_select(f, cj_eq(f, k->p.by_batch[which], 0), 0, batch);
    cj_val inner = cj_bits(f, CJ_S32, by_k ? along : first), outer = cj_bits(f, CJ_S32, by_k ? first : along);
    cj_tma_load(f, to, k->map[which], cj_vec(f, inner, outer, cj_bits(f, CJ_S32, own)), full);
}

static void fma_produce(cj_fn *f, const fma_kernel *k)
{
    cj_ring ring;
    cj_if(f, cj_eq(f, k->thread, 0));
        for (int i = 0; i < 2; i++) cj_tma_prefetch(f, k->map[i]);
        cj_ring_begin(f, k->barriers, k->shape->stages, &ring);
        cj_val number = cj_for(f, cj_block_id(f, CJ_X), k->tiles, cj_grid_size(f, CJ_X));
            fma_tile t = fma_tile_at(f, k, number);
            cj_val round = cj_for(f, 0, k->rounds, 1);
                cj_val along = cj_mul(f, round, STAGE_K);
                cj_ring_wait_empty(f, &ring);
                cj_val full = cj_ring_full(f, &ring);
                cj_val a = cj_ring_stage(f, &ring, k->shared, cj_imm(f, k->a_bytes));
                cj_val b = cj_ring_stage(f, &ring, cj_add(f, k->shared, k->shape->stages * k->a_bytes),
                                         cj_imm(f, k->b_bytes));
                cj_mbarrier_expect(f, full, cj_imm(f, k->a_bytes + k->b_bytes));
                copy_stage(f, k, CJK_GEMM_A, t.row, along, t.batch, a, full);
                copy_stage(f, k, CJK_GEMM_B, t.column, along, t.batch, b, full);
                cj_ring_next(f, &ring);
            cj_end(f);
        cj_end(f);
    cj_end(f);
}

/* -- Consumers: loads ---------------------------------------------------------------------------------------------- */

/* An operand in a warp.  Outer index i of a thread is index
 *     A:  8 * i + l                          B:  16 * (i / 4) + 8 * (i / 2 % 2) + 2 * l + i % 2
 * of the warp with k contiguous: lanes read rows whose swizzles differ, and have pairs of columns.  Else lanes read
 * neighbours, `vector` of them at once:
 *         8 * (i - i % vector) + vector * l + i % vector          16 * (i / 4) + 4 * l + i % 4 */
typedef struct fma_operand {
    int which;
    bool by_k;
    uint32_t count, vector;    /* outer indices of a thread, and of one load */
    uint32_t lanes, pitch, stage_bytes; /* lanes along it; bytes of a row */
    cj_val first;              /* this lane's place in stage 0 */
    cj_val stage, at[2];       /* its place in this stage, and at this k: of even and of odd rows of B */
    cj_val regs[2];            /* one is loaded while the other is multiplied */
} fma_operand;

static fma_operand fma_operand_begin(cj_fn *f, const fma_kernel *k, int which, cj_val warp_place, cj_val lane_place)
{
    bool b = which == CJK_GEMM_B;
    fma_operand o = { .which = which, .by_k = k->v->next[which] == CJK_K_NEXT, .count = b ? k->across : k->down,
                      .vector = b ? QUAD : k->vector, .lanes = b ? LANES_ACROSS : LANES_DOWN,
                      .stage_bytes = b ? k->b_bytes : k->a_bytes };
    cj_val start = b ? cj_add(f, k->shared, k->shape->stages * k->a_bytes) : k->shared;
    cj_val lane = o.by_k && b ? cj_mul(f, lane_place, 2) : lane_place;
    o.pitch = o.by_k ? K_BYTES : (b ? k->v->columns : k->v->rows) * 4;
    cj_val warp = cj_mad(f, warp_place, o.count * o.lanes * (o.by_k ? K_BYTES : 4), start);
    o.first = cj_let(f, CJ_U32, cj_mad(f, lane, o.by_k ? K_BYTES + 16 : o.vector * 4, warp));
    o.stage = cj_let(f, CJ_U32, o.first);
    for (int i = 0; i < 2; i++) o.at[i] = cj_let(f, CJ_U32, 0);
    for (int i = 0; i < 2; i++) o.regs[i] = cj_regs(f, CJ_F32, (size_t)o.count * STEP_K);
    return o;
}

static void enter_stage(cj_fn *f, const fma_operand *o, cj_val stage)
{
    cj_assign(f, o->stage, cj_mad(f, stage, o->stage_bytes, o->first));
}

/* Loads the STEP_K k that are `bytes` behind the begin of a row of k into a set of registers. */
static void load_step(cj_fn *f, const fma_operand *o, cj_val bytes, uint32_t set)
{
    bool b = o->which == CJK_GEMM_B;
    if (o->by_k) {
        cj_assign(f, o->at[0], cj_xor(f, o->stage, bytes));
        if (b) cj_assign(f, o->at[1], cj_xor(f, o->at[0], 16));
        for (uint32_t i = 0; i < o->count; i++) {
            uint32_t row = b ? i / 4 * 16 + i / 2 % 2 * 8 + i % 2 : i * LANES_DOWN;
            cj_ins(f, "ld.shared.v2.f32", cj_slice(f, o->regs[set], (size_t)i * STEP_K, STEP_K),
                   cj_mem(f, o->at[b ? i % 2 : 0], row * K_BYTES));
        }
        return;
    }
    cj_assign(f, o->at[0], cj_mad(f, bytes, o->pitch / 4, o->stage));
    for (uint32_t i = 0; i < o->count * STEP_K; i += o->vector)
        cj_ins(f, o->vector == 4 ? "ld.shared.v4.f32" : "ld.shared.v2.f32", cj_slice(f, o->regs[set], i, o->vector),
               cj_mem(f, o->at[0], i / o->count * o->pitch + i % o->count * o->lanes * 4));
}

/* The register of a set that has outer index `outer` at k number k of the step. */
static cj_val loaded(cj_fn *f, const fma_operand *o, uint32_t set, uint32_t outer, uint32_t k)
{
    return cj_elem(f, o->regs[set], o->by_k ? outer * STEP_K + k : k * o->count + outer);
}

/* -- Consumers: sums ----------------------------------------------------------------------------------------------- */

typedef struct fma_consumer {
    fma_operand a, b;
    cj_val sums[MOST_DOWN];    /* a row of them */
    cj_val row, column;        /* the warp's, in the tile */
    cj_val lane_down, lane_across, releases;
    cj_val at, left, before;   /* bytes of k in the stage; stages; the stage to release */
    cj_val patch;
    cj_ring ring;
} fma_consumer;

static void fma_consumer_begin(cj_fn *f, const fma_kernel *k, fma_consumer *c)
{
    cj_val warp, zero = cj_imm(f, 0);
    cj_warp_id(f, &warp);
    warp = cj_sub(f, warp, WARPGROUP / 32);
    cj_val warp_down = cj_div(f, warp, k->shape->warps_across), warp_across = cj_rem(f, warp, k->shape->warps_across);
    c->lane_down = cj_let(f, CJ_U32, cj_and(f, k->lane, LANES_DOWN - 1));
    c->lane_across = cj_let(f, CJ_U32, cj_shr(f, k->lane, 3));
    c->row = cj_let(f, CJ_U32, cj_mul(f, warp_down, k->down * LANES_DOWN));
    c->column = cj_let(f, CJ_U32, cj_mul(f, warp_across, k->across * LANES_ACROSS));
    c->a = fma_operand_begin(f, k, CJK_GEMM_A, warp_down, c->lane_down);
    c->b = fma_operand_begin(f, k, CJK_GEMM_B, warp_across, c->lane_across);
    for (uint32_t r = 0; r < k->down; r++) c->sums[r] = cj_regs(f, CJ_F32, k->across);
    c->releases = cj_eq(f, k->lane, 0);
    c->at = cj_let(f, CJ_U32, zero), c->left = cj_let(f, CJ_U32, zero), c->before = cj_let(f, CJ_U32, zero);
    cj_val patches = cj_add(f, k->shared, k->shape->stages * (k->a_bytes + k->b_bytes));
    c->patch = cj_mad(f, warp, k->patch_bytes, patches);
    cj_ring_begin(f, k->barriers, k->shape->stages, &c->ring);
}

/* The products of one set.  Every other row goes backwards, so that each multiply-add has an operand of the one before
 * it, which is then not read from the registers again. */
static void multiply_step(cj_fn *f, const fma_consumer *c, uint32_t set)
{
    for (uint32_t k = 0; k < STEP_K; k++)
        for (uint32_t r = 0; r < c->a.count; r++)
            for (uint32_t i = 0; i < c->b.count; i++) {
                uint32_t j = r % 2 ? c->b.count - 1 - i : i;
                cj_val sum = cj_elem(f, c->sums[r], j);
                cj_val a = loaded(f, &c->a, set, r, k), b = loaded(f, &c->b, set, j, k);
                cj_ins(f, "fma.rn.f32", sum, a, b, sum);
            }
}

static void enter(cj_fn *f, const fma_consumer *c, cj_val stage)
{
    cj_ring_wait_full(f, &c->ring);
    enter_stage(f, &c->a, stage);
    enter_stage(f, &c->b, stage);
}

/* Goes on by STEP_K, perhaps to the next stage; leaves the loop behind the last one. */
static void next_k(cj_fn *f, const fma_consumer *c)
{
    cj_assign(f, c->at, cj_add(f, c->at, STEP_K * 4));
    cj_if(f, cj_eq(f, c->at, K_BYTES));
        cj_assign(f, c->at, cj_imm(f, 0));
        cj_assign(f, c->left, cj_sub(f, c->left, 1));
        cj_assign(f, c->before, c->ring.index);
        cj_ring_next(f, &c->ring);
        cj_break_if(f, cj_eq(f, c->left, 0));
        enter(f, c, c->ring.index);
    cj_end(f);
}

/* Ends the compiler's basic block by a branch that is never taken: there are fewer stages left.  In a block that has
 * loads too, or more products, the compiler mixes multiply-adds that have no operand in common, and these wait for
 * their registers. */
static void end_block(cj_fn *f, const fma_consumer *c, uint32_t set)
{
    cj_break_if(f, cj_eq(f, c->left, UINT32_MAX - set));
}

/* The sums of a tile.  The loop goes over both sets.  A stage ends behind the second one only, but the test follows the
 * first one too, for the same reason. */
static void sum_tile(cj_fn *f, const fma_kernel *k, const fma_consumer *c)
{
    for (uint32_t r = 0; r < k->down; r++) cj_assign_all(f, c->sums[r], cj_imm(f, 0.0f));
    cj_assign(f, c->left, k->rounds);
    cj_assign(f, c->at, cj_imm(f, 0));
    enter(f, c, c->ring.index);
    load_step(f, &c->a, c->at, 0);
    load_step(f, &c->b, c->at, 0);
    cj_loop(f);
        for (uint32_t set = 0; set < 2; set++) {
            next_k(f, c);
            load_step(f, &c->a, c->at, set ^ 1);
            load_step(f, &c->b, c->at, set ^ 1);
            end_block(f, c, set);
            multiply_step(f, c, set);
        }
        cj_val entered = cj_eq(f, c->at, 0);
        cj_ring_release_if(f, cj_and(f, entered, c->releases), &c->ring, c->before);
    cj_end(f);
    multiply_step(f, c, 1);
    cj_ring_release_if(f, c->releases, &c->ring, c->before);
}

/* -- Consumers: results -------------------------------------------------------------------------------------------- */

/* Where row r of a thread is, in the warp's rows. */
static cj_val fma_row(cj_fn *f, const fma_consumer *c, uint32_t r)
{
    uint32_t vector = c->a.vector;
    if (c->a.by_k) return cj_add(f, c->lane_down, r * LANES_DOWN);
    return cj_add(f, cj_mul(f, c->lane_down, vector), (r - r % vector) * LANES_DOWN + r % vector);
}

/* Pairs of columns: those of one are neighbours. */
static cj_val fma_pair(cj_fn *f, const fma_consumer *c, uint32_t pair)
{
    uint32_t quad = pair / 2 * CJK_PATCH_COLUMNS;
    if (c->b.by_k) return cj_add(f, cj_mul(f, c->lane_across, 2), quad + pair % 2 * 8);
    return cj_add(f, cj_mul(f, c->lane_across, 4), quad + pair % 2 * 2);
}

/* Whether sums can be stored as they are. */
static bool stores_plainly(const cjk_gemm *g) { return g->by_map && g->type[CJK_GEMM_OUT] == CJ_F32; }

/* Straight from registers, two columns at a time. */
static void store_pairs(cj_fn *f, const fma_kernel *k, const fma_consumer *c, const fma_tile *t)
{
    cj_val wide_batch = cj_cvt(f, CJ_U64, t->batch), by_row = cjk_gemm_bytes(f, k->p.out.stride, CJ_F32);
    cj_val by_batch = cjk_gemm_bytes(f, k->p.by_batch[CJK_GEMM_OUT], CJ_F32), columns = k->p.size[CJK_GEMM_B];
    cj_val base = cj_mad(f, wide_batch, by_batch, cj_addr(f, k->p.out.base));
    cj_val row0 = cj_add(f, t->row, c->row), column0 = cj_add(f, t->column, c->column);
    for (uint32_t r = 0; r < k->down; r++) {
        cj_val row = cj_add(f, row0, fma_row(f, c, r));
        cj_if(f, cj_lt(f, row, k->p.size[CJK_GEMM_A]));
            cj_val at_row = cj_mad(f, cj_cvt(f, CJ_U64, row), by_row, base);
            for (uint32_t pair = 0; pair < k->across / 2; pair++) {
                cj_val column = cj_add(f, column0, fma_pair(f, c, pair)), next = cj_add(f, column, 1);
                cj_val sums = cj_slice(f, c->sums[r], (size_t)pair * 2, 2);
                cj_val at = cj_mad(f, cj_cvt(f, CJ_U64, column), 4, at_row);
                cj_ins_if(f, cj_lt(f, next, columns), "st.global.v2.f32", cj_mem(f, at, 0), sums);
                cj_ins_if(f, cj_eq(f, next, columns), "st.global.f32", cj_mem(f, at, 0), cj_elem(f, sums, 0));
            }
        cj_end(f);
    }
}

/* Through shared memory: the warp's sums of `vector` rows and four columns of each thread at a time. */
static void store_patches(cj_fn *f, const fma_kernel *k, const fma_consumer *c, const fma_tile *t)
{
    uint32_t rows = k->vector * LANES_DOWN;
    cj_val row0 = cj_add(f, t->row, c->row), column0 = cj_add(f, t->column, c->column);
    for (uint32_t m = 0; m < k->down / k->vector; m++)
        for (uint32_t n = 0; n < k->across / QUAD; n++) {
            for (uint32_t i = 0; i < k->vector * 2; i++) {
                cj_val word = cj_mad(f, fma_row(f, c, i / 2), CJK_PATCH_PITCH, fma_pair(f, c, i % 2));
                cj_ins(f, "st.shared.v2.f32", cj_mem(f, cj_mad(f, word, 4, c->patch), 0),
                       cj_slice(f, c->sums[m * k->vector + i / 2], (size_t)n * QUAD + i % 2 * 2, 2));
            }
            cj_val row = cj_add(f, row0, m * rows), column = cj_add(f, column0, n * CJK_PATCH_COLUMNS);
            cjk_gemm_patch_store(f, k->g, &k->p, c->patch, rows, k->lane, row, column, t->batch);
        }
}

static void fma_consume(cj_fn *f, const fma_kernel *k)
{
    fma_consumer c = { .before = { 0 } };
    fma_consumer_begin(f, k, &c);
    cj_val number = cj_for(f, cj_block_id(f, CJ_X), k->tiles, cj_grid_size(f, CJ_X));
        fma_tile t = fma_tile_at(f, k, number);
        sum_tile(f, k, &c);
        if (stores_plainly(k->g)) {
            cj_if(f, k->pairs);
                store_pairs(f, k, &c, &t);
            cj_else(f);
                store_patches(f, k, &c, &t);
            cj_end(f);
        } else {
            store_patches(f, k, &c, &t);
        }
    cj_end(f);
}

/* -- The kernel ---------------------------------------------------------------------------------------------------- */

/* Whether rows, batches and the result itself begin at multiples of 8 bytes. */
static cj_val are_pairs(cj_fn *f, const cjk_gemm_params *p)
{
    cj_val address = cj_addr(f, p->out.base), row = cj_bits(f, CJ_U64, cj_shl(f, p->out.stride, 2));
    cj_val batch = cj_bits(f, CJ_U64, cj_shl(f, p->by_batch[CJK_GEMM_OUT], 2));
    cj_val low = cj_and(f, cj_or(f, cj_or(f, row, batch), address), 7);
    return cj_and(f, cj_eq(f, low, 0), cj_eq(f, p->out.step, 1));
}

static void fma_begin(cj_fn *f, fma_kernel *k, cj_fn *epilogue)
{
    const struct fma_shape *s = k->shape;
    cjk_gemm_params_begin(f, k->g, epilogue, &k->p);
    k->map[CJK_GEMM_A] = cj_param_tensor_map(f, "a_map");
    k->map[CJK_GEMM_B] = cj_param_tensor_map(f, "b_map");
    cj_val start = cj_addr(f, cj_shared_dynamic(f, "stages", CJ_B32, ALIGNED));
    k->shared = cj_and(f, cj_add(f, start, ALIGNED - 1), 0xfffffc00u);
    k->barriers = cj_add(f, k->shared, s->stages * (k->a_bytes + k->b_bytes) + k->warps * k->patch_bytes);
    k->thread = cj_thread_id(f, CJ_X);
    k->lane = cj_and(f, k->thread, 31);
    cj_val rows = cj_add(f, k->p.size[CJK_GEMM_A], s->rows - 1), more = cj_add(f, k->p.k, STAGE_K - 1);
    cj_val columns = cj_add(f, k->p.size[CJK_GEMM_B], s->columns - 1);
    k->rounds = cj_div(f, more, STAGE_K);
    k->tiles_down = cj_div(f, rows, s->rows);
    k->tiles_across = cj_div(f, columns, s->columns);
    k->of_batch = cj_mul(f, k->tiles_down, k->tiles_across);
    k->tiles = cj_mul(f, k->of_batch, k->p.batches);
    if (stores_plainly(k->g)) k->pairs = are_pairs(f, &k->p);
}

void cjk_gemm_write_fma(cj_ptx *m, const char *name, const cjk_gemm *g, const cjk_gemm_variant *v, cj_fn *epilogue)
{
    cj_fn *f = cj_ptx_kernel(m, name);
    fma_kernel k = { .g = g, .v = v, .shape = shape_of(v) };
    cj_val warpgroup;
    sizes_of(&k);
    cj_fn_max_threads(f, v->threads, 1, 1);
    cj_fn_min_blocks(f, v->blocks);
    fma_begin(f, &k, epilogue);
    cj_warpgroup_id(f, &warpgroup);
    cj_if(f, cj_eq(f, k.thread, 0));
        cj_ring_init(f, k.barriers, k.shape->stages, cj_imm(f, 1), cj_imm(f, k.warps));
        cj_mbarrier_init_fence(f);
    cj_end(f);
    cj_block_sync(f);
    cj_role_fewer(f, warpgroup, 0, 1, PRODUCER_REGISTERS);
        fma_produce(f, &k);
    cj_end(f);
    cj_role_more(f, warpgroup, 1, k.warps * 32 / WARPGROUP, CONSUMER_REGISTERS);
        fma_consume(f, &k);
    cj_end(f);
    cj_return(f);
}
