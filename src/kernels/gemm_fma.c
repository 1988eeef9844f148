/* Path scalar of cj_gemm for f32 on sm_90a: multiply-adds of f32 over tiles that tensor maps copy.
 *
 * Blocks are persistent: block b computes tiles b, b + gridDim.x, ...  One thread of warp 0 copies 32 columns of k at a
 * time into a ring of stages.  The other warpgroups consume them.  A warp's lanes are 8 x 4: lane (p, q) has `down`
 * rows and `across` columns of sums.  In a stage lie, for each operand,
 *
 *     with the outer side contiguous:   32 rows, one for each k;
 *     with k contiguous:                rows of 32 k, 128 bytes, one for each outer index, with the 128-byte swizzle.
 *
 * Warps 1 to 3 turn the latter: each 8 rows are a unit of 1024 bytes, which becomes 32 rows of 8 outer indices.  So a
 * thread always loads neighbours along the outer side, whose registers the compiler puts where multiply-adds do not
 * wait for them.  (Of two neighbours along k, one has the register bank of the sum, whichever bank that is.)
 *
 * A thread has two sets of operands, of which one is loaded while the other is multiplied, also across the borders of
 * stages.  Shared memory delivers 24 words for 128 multiply-adds of a thread of 8 x 16 sums, three quarters of what it
 * can.  Each sum has one accumulator and is added up in the order of k. */
#include "kernels/gemm_core.h"

enum {
    WARPGROUP = 128, STAGE_K = 32, K_BYTES = STAGE_K * 4, STEP_K = 4, QUAD = 4,
    LANES_DOWN = 8, LANES_ACROSS = 4, MOST_DOWN = 8, UNIT_ROWS = 8, UNIT_BYTES = UNIT_ROWS * K_BYTES, TURNERS = 3,
    ALIGNED = 1024,
    /* The place of k has k / 4 % 4 (below): from 0 to 1 and from 2 to 3 one bit changes, else both. */
    SWIZZLE_STEP_EVEN = 1 << 5, SWIZZLE_STEP_ODD = 3 << 5
};

/* The tiles: how many warps lie in them, how many blocks a multiprocessor has, and the registers of a thread of the
 * first warpgroup and of the others: together no more than all have at the start, 168 or 128. */
static const struct fma_shape {
    uint32_t rows, columns, warps_down, warps_across, stages, blocks, fewer, more;
} fma_shapes[] = {
    { 128, 256, 2, 4, 4, 1, 40, 232 },
    { 96, 96, 2, 2, 4, 2, 48, 208 },
    { 64, 64, 2, 2, 6, 2, 48, 208 },
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
    cj_val ready;                      /* barriers of stages whose operands have been turned */
    cj_val shared, barriers, thread, lane, rounds; /* CJ_U32; stages of k, 1 at least */
    cj_val tiles_down, tiles_across, of_batch, tiles;
    cj_val quads;                      /* the result can be stored four columns at a time; CJ_PRED */
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

static bool is_turned(const fma_kernel *k, int which) { return k->v->next[which] == CJK_K_NEXT; }

static bool turns(const fma_kernel *k) { return is_turned(k, CJK_GEMM_A) || is_turned(k, CJK_GEMM_B); }

/* Where operand `which` has its stages. */
static cj_val operand_stages(cj_fn *f, const fma_kernel *k, int which)
{
    return which == CJK_GEMM_B ? cj_add(f, k->shared, k->shape->stages * k->a_bytes) : k->shared;
}

/* Units that a load of a warp reads at once: their swizzles differ. */
static uint32_t units_at_once(const fma_kernel *k, int which)
{
    return which == CJK_GEMM_B ? QUAD * LANES_ACROSS / UNIT_ROWS : k->vector * LANES_DOWN / UNIT_ROWS;
}

void cjk_gemm_fma_sizes(cjk_gemm_variant *v)
{
    fma_kernel k = { .shape = shape_of(v) };
    sizes_of(&k);
    v->threads = WARPGROUP + k.warps * 32;
    v->blocks = k.shape->blocks;
    v->shared = k.shape->stages * (k.a_bytes + k.b_bytes + 24) + k.warps * k.patch_bytes + ALIGNED;
}

/* -- Tiles --------------------------------------------------------------------------------------------------------- */

typedef struct fma_tile { cj_val row, column, batch; } fma_tile; /* of its first element */

static fma_tile fma_tile_at(cj_fn *f, const fma_kernel *k, cj_val number)
{
    cj_val row, column, batch = cj_div(f, number, k->of_batch);
    cj_val before = cj_mul(f, batch, k->of_batch);
    cjk_gemm_tile(f, cj_sub(f, number, before), k->tiles_down, k->tiles_across, &row, &column);
    fma_tile t = { cj_mul(f, row, k->v->rows), cj_mul(f, column, k->v->columns), batch };
    cj_name(f, t.row, "tile_row");
    cj_name(f, t.column, "tile_column");
    return t;
}

/* -- Producer ------------------------------------------------------------------------------------------------------ */

/* One copy: 32 k of the tile's outer indices.  Operands that are the same in each batch have one of them. */
static void copy_stage(cj_fn *f, const fma_kernel *k, int which, cj_val first, cj_val along, cj_val batch, cj_val to,
                       cj_val full)
{
    bool by_k = is_turned(k, which);
    cj_val own = cj_select(f, cj_eq(f, k->p.by_batch[which], 0), 0, batch);
    cj_val inner = cj_bits(f, CJ_S32, by_k ? along : first), outer = cj_bits(f, CJ_S32, by_k ? first : along);
    cj_tma_load(f, to, k->map[which], cj_vec(f, inner, outer, cj_bits(f, CJ_S32, own)), full);
}

static void fma_produce(cj_fn *f, const fma_kernel *k)
{
    cj_ring ring;
    cj_if(f, cj_eq(f, k->thread, 0));
        cj_comment(f, "Copy 32 columns of k of A and of B to the next stage, once it is empty");
        cj_ring_begin(f, k->barriers, k->shape->stages, &ring);
        cj_val number = cj_for(f, cj_block_id(f, CJ_X), k->tiles, cj_grid_size(f, CJ_X));
            fma_tile t = fma_tile_at(f, k, number);
            cj_val round = cj_for(f, 0, k->rounds, 1);
                cj_val along = cj_mul(f, round, STAGE_K);
                cj_name(f, along, "k_at");
                cj_ring_wait_empty(f, &ring);
                if (turns(k)) cj_fence_async_shared(f); /* a copy follows what threads have written there */
                cj_val full = cj_ring_full(f, &ring);
                cj_val a = cj_ring_stage(f, &ring, operand_stages(f, k, CJK_GEMM_A), cj_imm(f, k->a_bytes));
                cj_val b = cj_ring_stage(f, &ring, operand_stages(f, k, CJK_GEMM_B), cj_imm(f, k->b_bytes));
                cj_name(f, a, "a_stage");
                cj_name(f, b, "b_stage");
                cj_mbarrier_expect(f, full, cj_imm(f, k->a_bytes + k->b_bytes));
                copy_stage(f, k, CJK_GEMM_A, t.row, along, t.batch, a, full);
                copy_stage(f, k, CJK_GEMM_B, t.column, along, t.batch, b, full);
                cj_ring_next(f, &ring);
            cj_end(f);
        cj_end(f);
    cj_end(f);
}

/* -- Turning ------------------------------------------------------------------------------------------------------- */

/* Row k of a unit has 8 outer indices, 32 bytes.  It is in place k ^ (k / 4 % 4) ^ (unit % units_at_once): then neither
 * these stores nor the loads of consumers have bank conflicts.
 *
 * A warp turns a unit in its place: a lane has 4 + 4 k of one outer index.  It does four units one behind the other, so
 * that all addresses are those of the first one and an immediate offset: each instruction here takes the place of a
 * multiply-add of the other warps. */
typedef struct fma_turner {
    cj_val lane_from[2], lane_to[QUAD];   /* where a lane's words are in a unit; where the place of row i is */
    cj_val from[2], to[QUAD];             /* the same in the first one of four units */
    cj_val words;
} fma_turner;

static fma_turner fma_turner_begin(cj_fn *f, const fma_kernel *k)
{
    fma_turner t = { .words = cj_regs(f, CJ_F32, 2 * QUAD) };
    cj_val row = cj_and(f, k->lane, UNIT_ROWS - 1), quad = cj_shr(f, k->lane, 3);
    cj_val start = cj_mul(f, row, K_BYTES), chunk = cj_shl(f, cj_xor(f, quad, row), 4);
    cj_val own = cj_mad(f, quad, 128, cj_shl(f, row, 2));
    cj_name(f, t.words, "word");
    for (uint32_t i = 0; i < 2; i++) {
        t.lane_from[i] = cj_let(f, CJ_U32, cj_add(f, start, cj_xor(f, chunk, i * QUAD * 16)));
        t.from[i] = cj_let(f, CJ_U32, 0);
        cj_name(f, t.from[i], "from");
    }
    for (uint32_t i = 0; i < QUAD; i++) {
        cj_val place = cj_and(f, cj_xor(f, quad, i), QUAD - 1);
        t.lane_to[i] = cj_let(f, CJ_U32, cj_add(f, own, cj_shl(f, place, 5)));
        t.to[i] = cj_let(f, CJ_U32, 0);
        cj_name(f, t.to[i], "to");
    }
    return t;
}

/* Unit `unit` of the four.  With two units at once ptxas gives the multiply-adds of 128 x 256 registers of which all
 * three are in one bank, for one in twelve of them: 11 % of the time. */
static void turn_unit(cj_fn *f, const fma_turner *t, uint32_t unit, uint32_t at_once)
{
    const uint32_t first = unit * UNIT_BYTES;
    for (uint32_t i = 0; i < 2; i++)
        cj_ins(f, "ld.shared.v4.f32", cj_slice(f, t->words, (size_t)i * QUAD, QUAD), cj_mem(f, t->from[i], first));
    cj_warp_sync(f, 0xffffffffu);
    for (uint32_t i = 0; i < 2 * QUAD; i++)
        cj_ins(f, "st.shared.f32",
               cj_mem(f, t->to[(i ^ unit % at_once) % QUAD], first + i / QUAD * (UNIT_BYTES / 2)),
               cj_elem(f, t->words, i));
}

/* The units of an operand, four at a time; `first`: this warp's first four. */
static void turn_operand(cj_fn *f, const fma_kernel *k, const fma_turner *t, int which, cj_val first, cj_val index)
{
    const uint32_t bytes = which == CJK_GEMM_B ? k->b_bytes : k->a_bytes;
    cj_val stage = cj_mad(f, index, bytes, operand_stages(f, k, which));
    cj_val fours = cj_for(f, first, bytes / (QUAD * UNIT_BYTES), TURNERS);
        cj_val at = cj_mad(f, fours, QUAD * UNIT_BYTES, stage);
        for (uint32_t i = 0; i < 2; i++) cj_assign(f, t->from[i], cj_add(f, at, t->lane_from[i]));
        for (uint32_t i = 0; i < QUAD; i++) cj_assign(f, t->to[i], cj_add(f, at, t->lane_to[i]));
        for (uint32_t i = 0; i < QUAD; i++) turn_unit(f, t, i, units_at_once(k, which));
    cj_end(f);
}

/* Warps 1 to 3.  The one that begins with the first units of A begins with the third four of B, so that the warps have
 * about as many. */
static void fma_turn(cj_fn *f, const fma_kernel *k)
{
    cj_ring ring;
    cj_val warp, first[2];
    cj_warp_id(f, &warp);
    first[CJK_GEMM_A] = cj_let(f, CJ_U32, cj_sub(f, warp, 1));
    first[CJK_GEMM_B] = cj_let(f, CJ_U32, cj_sub(f, TURNERS, warp));
    fma_turner t = fma_turner_begin(f, k);
    cj_comment(f, "Turn the stages whose rows are contiguous along k");
    cj_ring_begin(f, k->barriers, k->shape->stages, &ring);
    cj_for(f, cj_block_id(f, CJ_X), k->tiles, cj_grid_size(f, CJ_X));
        cj_for(f, 0, k->rounds, 1);
            cj_ring_wait_full(f, &ring);
            for (int i = 0; i < 2; i++)
                if (is_turned(k, i)) turn_operand(f, k, &t, i, first[i], ring.index);
            cj_warp_sync(f, 0xffffffffu);
            cj_mbarrier_arrive_if(f, cj_eq(f, k->lane, 0), cj_mad(f, ring.index, 8, k->ready));
            cj_ring_next(f, &ring);
        cj_end(f);
    cj_end(f);
}

/* -- Consumers: loads ---------------------------------------------------------------------------------------------- */

/* An operand in a warp.  Outer index i of lane l is index  lanes * (i - i % vector) + vector * l + i % vector  of the
 * warp: lanes read neighbours, `vector` of them at once. */
typedef struct fma_operand {
    bool turned;
    uint32_t count, vector;    /* outer indices of a thread, and of one load */
    uint32_t pitch, by_load, stage_bytes; /* bytes from a k to the next one (not turned), from a load to the next one */
    cj_val first;              /* this lane's place in stage 0 */
    cj_val at;                 /* its place at these four k */
    cj_val regs[2];            /* one is loaded while the other is multiplied */
} fma_operand;

static fma_operand fma_operand_begin(cj_fn *f, const fma_kernel *k, int which, cj_val warp_place, cj_val lane_place)
{
    bool b = which == CJK_GEMM_B;
    uint32_t lanes = b ? LANES_ACROSS : LANES_DOWN;
    fma_operand o = { .turned = is_turned(k, which), .count = b ? k->across : k->down, .vector = b ? QUAD : k->vector,
                      .stage_bytes = b ? k->b_bytes : k->a_bytes };
    uint32_t of_warp = o.count * lanes, bytes = o.vector * 4;
    o.pitch = (b ? k->v->columns : k->v->rows) * 4;
    o.by_load = o.turned ? units_at_once(k, which) * UNIT_BYTES : lanes * bytes;
    cj_val start = cj_mad(f, warp_place, of_warp * (o.turned ? K_BYTES : 4), operand_stages(f, k, which));
    cj_val place = cj_mul(f, lane_place, bytes), unit = cj_div(f, place, UNIT_ROWS * 4);
    if (o.turned) {
        cj_val in_unit = cj_and(f, place, UNIT_ROWS * 4 - 1);
        place = cj_or(f, cj_mad(f, unit, UNIT_BYTES, in_unit), cj_shl(f, unit, 5)); /* of k 0 */
    }
    o.first = cj_let(f, CJ_U32, cj_add(f, start, place));
    o.at = cj_let(f, CJ_U32, 0);
    for (int i = 0; i < 2; i++) {
        o.regs[i] = cj_regs(f, CJ_F32, o.count);
        cj_name(f, o.regs[i], b ? "b" : "a");
    }
    cj_name(f, o.at, b ? "b_at" : "a_at");
    return o;
}

/* Goes to the first STEP_K k of a stage. */
static void enter_stage(cj_fn *f, const fma_operand *o, cj_val stage)
{
    cj_assign(f, o->at, cj_mad(f, stage, o->stage_bytes, o->first));
}

/* Goes on by STEP_K.  `swizzle`: what k / 4 % 4 of the one and of the other differ in, as bytes. */
static void enter_step(cj_fn *f, const fma_operand *o, cj_val swizzle)
{
    cj_assign(f, o->at, cj_add(f, o->at, STEP_K * (o->turned ? UNIT_ROWS * 4 : o->pitch)));
    if (o->turned) cj_assign(f, o->at, cj_xor(f, o->at, swizzle));
}

/* Loads k number `k` of the step. */
static void load_k(cj_fn *f, const fma_operand *o, uint32_t k, uint32_t set)
{
    cj_val at = o->turned && k ? cj_let(f, CJ_U32, cj_xor(f, o->at, k << 5)) : o->at;
    for (uint32_t i = 0; i < o->count; i += o->vector)
        cj_ins(f, o->vector == QUAD ? "ld.shared.v4.f32" : "ld.shared.v2.f32", cj_slice(f, o->regs[set], i, o->vector),
               cj_mem(f, at, i / o->vector * o->by_load + (o->turned ? 0 : k * o->pitch)));
}

/* -- Consumers: sums ----------------------------------------------------------------------------------------------- */

typedef struct fma_consumer {
    fma_operand a, b;
    cj_val sums[MOST_DOWN];    /* a row of them */
    cj_val row, column;        /* the warp's, in the tile */
    cj_val lane_down, lane_across, releases;
    cj_val at, left;           /* bytes of k in the stage; stages */
    cj_val swizzle;            /* from these STEP_K to the next ones: SWIZZLE_STEP_EVEN, then _ODD, and so on */
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
    for (uint32_t r = 0; r < k->down; r++) {
        c->sums[r] = cj_regs(f, CJ_F32, k->across);
        cj_name(f, c->sums[r], "sum");
    }
    c->releases = cj_eq(f, k->lane, 0);
    c->at = cj_let(f, CJ_U32, zero), c->left = cj_let(f, CJ_U32, zero);
    c->swizzle = cj_let(f, CJ_U32, cj_imm(f, SWIZZLE_STEP_EVEN));
    cj_val patches = cj_add(f, k->shared, k->shape->stages * (k->a_bytes + k->b_bytes));
    c->patch = cj_mad(f, warp, k->patch_bytes, patches);
    cj_ring_begin(f, k->barriers, k->shape->stages, &c->ring);
}

/* The products of one k.  Every other column goes upwards, so that each multiply-add has an operand of the one before
 * it, which is then not read from the registers again. */
static void multiply_k(cj_fn *f, const fma_consumer *c, uint32_t set)
{
    for (uint32_t j = 0; j < c->b.count; j++)
        for (uint32_t i = 0; i < c->a.count; i++) {
            uint32_t r = j % 2 ? c->a.count - 1 - i : i;
            cj_val sum = cj_elem(f, c->sums[r], j);
            cj_ins(f, "fma.rn.f32", sum, cj_elem(f, c->a.regs[set], r), cj_elem(f, c->b.regs[set], j), sum);
        }
}

static void enter(cj_fn *f, const fma_kernel *k, const fma_consumer *c, cj_val stage)
{
    cj_ring_wait_full(f, &c->ring);
    if (turns(k)) cj_mbarrier_wait(f, cj_mad(f, stage, 8, k->ready), c->ring.parity);
    enter_stage(f, &c->a, stage);
    enter_stage(f, &c->b, stage);
}

/* Goes on by STEP_K, perhaps to the next stage: all loads of the one before have been issued.  Leaves the loop behind
 * the last one. */
static void next_step(cj_fn *f, const fma_kernel *k, const fma_consumer *c)
{
    cj_assign(f, c->at, cj_add(f, c->at, STEP_K * 4));
    enter_step(f, &c->a, c->swizzle);
    enter_step(f, &c->b, c->swizzle);
    if (turns(k)) cj_assign(f, c->swizzle, cj_xor(f, c->swizzle, SWIZZLE_STEP_EVEN ^ SWIZZLE_STEP_ODD));
    cj_if(f, cj_eq(f, c->at, K_BYTES));
        cj_assign(f, c->at, cj_imm(f, 0));
        cj_assign(f, c->left, cj_sub(f, c->left, 1));
        cj_warp_sync(f, 0xffffffffu); /* the loads of all lanes are in front of the release */
        cj_ring_release_if(f, c->releases, &c->ring, c->ring.index);
        cj_ring_next(f, &c->ring);
        cj_break_if(f, cj_eq(f, c->left, 0));
        enter(f, k, c, c->ring.index);
    cj_end(f);
}

/* The sums of a tile: STEP_K k in each round of the loop. */
static void sum_tile(cj_fn *f, const fma_kernel *k, const fma_consumer *c)
{
    cj_comment(f, "Add up the products of a tile");
    for (uint32_t r = 0; r < k->down; r++) cj_assign_all(f, c->sums[r], cj_imm(f, 0.0f));
    cj_assign(f, c->left, k->rounds);
    cj_assign(f, c->at, cj_imm(f, 0));
    enter(f, k, c, c->ring.index);
    load_k(f, &c->a, 0, 0);
    load_k(f, &c->b, 0, 0);
    cj_loop(f);
        for (uint32_t i = 0; i < STEP_K; i++) {
            uint32_t next = (i + 1) % STEP_K;
            if (!next) next_step(f, k, c);
            load_k(f, &c->a, next, next % 2);
            load_k(f, &c->b, next, next % 2);
            multiply_k(f, c, i % 2);
        }
    cj_end(f);
    multiply_k(f, c, (STEP_K - 1) % 2);
}

/* -- Consumers: results -------------------------------------------------------------------------------------------- */

/* Where row r of a thread is, in the warp's rows. */
static cj_val fma_row(cj_fn *f, const fma_consumer *c, uint32_t r)
{
    uint32_t vector = c->a.vector;
    return cj_add(f, cj_mul(f, c->lane_down, vector), (r - r % vector) * LANES_DOWN + r % vector);
}

/* Whether sums can be stored as they are. */
static bool stores_plainly(const fma_kernel *k)
{
    return !cjk_gemm_fuses(k->g, &k->p) && k->g->type[CJK_GEMM_OUT] == CJ_F32;
}

/* Straight from registers, four columns at a time. */
static void store_quads(cj_fn *f, const fma_kernel *k, const fma_consumer *c, const fma_tile *t)
{
    cj_val wide_batch = cj_cvt(f, CJ_U64, t->batch), by_row = cjk_gemm_bytes(f, k->p.out.stride, CJ_F32);
    cj_val by_batch = cjk_gemm_bytes(f, k->p.by_batch[CJK_GEMM_OUT], CJ_F32), columns = k->p.size[CJK_GEMM_B];
    cj_val base = cj_mad(f, wide_batch, by_batch, cj_addr(f, k->p.out.base));
    cj_val row0 = cj_add(f, t->row, c->row);
    cj_val column0 = cj_mad(f, c->lane_across, QUAD, cj_add(f, t->column, c->column));
    for (uint32_t r = 0; r < k->down; r++) {
        cj_val row = cj_add(f, row0, fma_row(f, c, r));
        cj_if(f, cj_lt(f, row, k->p.size[CJK_GEMM_A]));
            cj_val at_row = cj_mad(f, cj_cvt(f, CJ_U64, row), by_row, base);
            for (uint32_t quad = 0; quad < k->across / QUAD; quad++) {
                cj_val column = cj_add(f, column0, quad * CJK_PATCH_COLUMNS), next = cj_add(f, column, QUAD - 1);
                cj_val sums = cj_slice(f, c->sums[r], (size_t)quad * QUAD, QUAD);
                cj_val at = cj_mad(f, cj_cvt(f, CJ_U64, column), 4, at_row), whole = cj_lt(f, next, columns);
                cj_ins_if(f, whole, "st.global.v4.f32", cj_mem(f, at, 0), sums);
                for (uint32_t i = 0; i < QUAD - 1; i++) {
                    cj_val inside = cj_lt(f, cj_add(f, column, i), columns), one = cj_and(f, inside, cj_not(f, whole));
                    cj_ins_if(f, one, "st.global.f32", cj_mem(f, at, i * 4), cj_elem(f, sums, i));
                }
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
            for (uint32_t i = 0; i < k->vector; i++) {
                cj_val word = cj_mad(f, fma_row(f, c, i), CJK_PATCH_PITCH, cj_mul(f, c->lane_across, QUAD));
                cj_ins(f, "st.shared.v4.f32", cj_mem(f, cj_mad(f, word, 4, c->patch), 0),
                       cj_slice(f, c->sums[m * k->vector + i], (size_t)n * QUAD, QUAD));
            }
            cj_val row = cj_add(f, row0, m * rows), column = cj_add(f, column0, n * CJK_PATCH_COLUMNS);
            cjk_gemm_patch_store(f, k->g, &k->p, c->patch, rows, k->lane, row, column, t->batch);
        }
}

static void fma_consume(cj_fn *f, const fma_kernel *k)
{
    fma_consumer c = { .left = { 0 } };
    fma_consumer_begin(f, k, &c);
    cj_val number = cj_for(f, cj_block_id(f, CJ_X), k->tiles, cj_grid_size(f, CJ_X));
        fma_tile t = fma_tile_at(f, k, number);
        sum_tile(f, k, &c);
        cj_comment(f, "Store the sums");
        if (stores_plainly(k)) {
            cj_if(f, k->quads);
                store_quads(f, k, &c, &t);
            cj_else(f);
                store_patches(f, k, &c, &t);
            cj_end(f);
        } else {
            store_patches(f, k, &c, &t);
        }
    cj_end(f);
}

/* -- The kernel ---------------------------------------------------------------------------------------------------- */

/* Whether rows, batches and the result itself begin at multiples of 16 bytes. */
static cj_val are_quads(cj_fn *f, const cjk_gemm_params *p)
{
    cj_val address = cj_addr(f, p->out.base), row = cj_bits(f, CJ_U64, cj_shl(f, p->out.stride, 2));
    cj_val batch = cj_bits(f, CJ_U64, cj_shl(f, p->by_batch[CJK_GEMM_OUT], 2));
    cj_val low = cj_and(f, cj_or(f, cj_or(f, row, batch), address), 15);
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
    k->ready = cj_let(f, CJ_U32, cj_add(f, k->barriers, s->stages * 16));
    k->thread = cj_thread_id(f, CJ_X);
    k->lane = cj_and(f, k->thread, 31);
    cj_val rows = cj_add(f, k->p.size[CJK_GEMM_A], s->rows - 1), more = cj_add(f, k->p.k, STAGE_K - 1);
    cj_val columns = cj_add(f, k->p.size[CJK_GEMM_B], s->columns - 1);
    k->rounds = cj_div(f, more, STAGE_K);
    k->tiles_down = cj_div(f, rows, s->rows);
    k->tiles_across = cj_div(f, columns, s->columns);
    k->of_batch = cj_mul(f, k->tiles_down, k->tiles_across);
    k->tiles = cj_mul(f, k->of_batch, k->p.batches);
    if (stores_plainly(k)) k->quads = are_quads(f, &k->p);
}

/* The parts of the warpgroups: the first copies and turns, the others consume. */
static void first_warpgroup(cj_fn *f, const fma_kernel *k)
{
    cj_if(f, cj_lt(f, k->thread, 32));
        fma_produce(f, k);
    if (turns(k)) {
        cj_else(f);
            fma_turn(f, k);
    }
    cj_end(f);
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
    cj_comment(f, "The tensor maps; barriers: each stage is full, turned, empty");
    cj_if(f, cj_eq(f, k.thread, 0));
        for (int i = 0; i < 2; i++) cj_tma_prefetch(f, k.map[i]);
        cj_ring_init(f, k.barriers, k.shape->stages, cj_imm(f, 1), cj_imm(f, k.warps));
        for (uint32_t i = 0; i < k.shape->stages && turns(&k); i++)
            cj_mbarrier_init(f, cj_add(f, k.ready, i * 8), cj_imm(f, TURNERS));
        cj_mbarrier_init_fence(f);
    cj_end(f);
    cj_block_sync(f);
    cj_role_more(f, warpgroup, 1, k.warps * 32 / WARPGROUP, k.shape->more);
        fma_consume(f, &k);
    cj_end(f);
    cj_role_fewer(f, warpgroup, 0, 1, k.shape->fewer);
        first_warpgroup(f, &k);
    cj_end(f);
    cj_return(f);
}
