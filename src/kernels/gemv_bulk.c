/* Products of a matrix and a vector by bulk copies (sm_90).
 *
 * A warp has a ring of stages in shared memory, with an mbarrier each.  A stage has a segment of one row or two: a
 * lane for each of them starts a bulk copy.  No barrier of the block is in the loop.
 *
 *     begin:      make the mbarriers; prefetch the first stages' rows into the L2 cache, or copy them, if the matrix is
 *                 constant; wait for the kernels before this one
 *                 copy the first stages' rows; put the vector into shared memory, quantised; barrier of the block
 *     each turn:  wait for the stage; multiply; start the next copy into it;
 *                 behind the last segment of a row: join the lanes' sums, store
 *
 * The launch is programmatic: the kernel may begin while the one before it still runs.  Nothing is read or written in
 * front of the wait but a constant matrix, which no kernel that may still run writes.  The prefetch only moves lines to
 * where all accesses of the device meet: should the kernel before write the matrix, its writes go to the same lines. */
#include "kernels/gemv.h"

enum { BULK_BARRIERS = CJK_GEMV_WARPS * CJK_BULK_STAGES * 8, BULK_COPIES = 4 };
enum { BULK_PART = 8, BULK_PARTS = CJK_UNIT / BULK_PART }; /* columns that a thread converts at once; of a unit */

typedef struct bulk_kernel {
    const cjk_gemv *g;
    uint32_t at_once;                          /* rows of a group */
    uint32_t columns_in, bytes_in, x_bytes_in; /* of a segment: columns, bytes of a row, bytes of the vector */
    cj_val matrix, row_bytes, x, out, rows, columns, packed, segments, rounds, rest, stages;
    cj_val thread, warp, lane, warps;          /* warps of the grid */
    cj_val barriers, ring, vector;             /* shared addresses: of the warp, of the warp, of the block */
} bulk_kernel;

/* Where a warp is: segment `segment` of the rows from at_once * group on. */
typedef struct bulk_place { cj_val group, segment; } bulk_place;

static uint32_t segment_columns(const cjk_gemv_format *b) { return 32 * b->lane_columns * b->steps; }
static uint32_t segment_bytes(const cjk_gemv_format *b) { return segment_columns(b) / b->columns * b->bytes; }

/* Few rows: two at once, so that each warp has much to load in its only turns.  Many rows: one at once, in more stages
 * and more blocks of a multiprocessor.
 *
 * If warps copy all of their few rows of a constant matrix at once, a multiprocessor has room for one block more than
 * the launch gives it: up to half of the next launch's blocks copy their rows there, while this launch waits and ends.
 * On an H100 room for none of them is slower, and room for all of them too. */
enum { FEW_ROUNDS = 2, FEW_BLOCKS = 2, MANY_BLOCKS = 3, MANY_BLOCKS_K = 4 /* of Q4_K, which computes more */ };

/* Bytes of the vector in shared memory: units, or elements as CJ_F32. */
static uint64_t vector_bytes(const cjk_gemv *g, uint64_t columns)
{
    return cjk_gemv_has_blocks(g) ? columns / CJK_UNIT * CJK_UNIT_BYTES : columns * 4;
}

/* -- Shapes -------------------------------------------------------------------------------------------------------- */

bool cjk_gemv_bulk_fits(const cjk_gemv *g, const cj_gemv_args *a, uint64_t row_bytes, uint64_t packed,
                        cjk_bulk_shape *shape)
{
    const cjk_gemv_format *b = cjk_gemv_format_of(g);
    const uint64_t reserved = 1024; /* of each block, by the system */
    const uint64_t fixed = BULK_BARRIERS + vector_bytes(g, a->columns);
    if (!g->bulk || !a->columns || packed % 16 || row_bytes % 16 || a->matrix.addr % 16) return false;
    if (a->x.addr % (g->o.quantised ? 8 : 16) || a->rows > INT32_MAX || packed > INT32_MAX) return false;
    const bool many = a->rows / FEW_ROUNDS > (uint64_t)g->multiprocessors * FEW_BLOCKS * CJK_GEMV_WARPS * CJK_BULK_ROWS;
    shape->rows = many ? 1 : CJK_BULK_ROWS;
    const uint64_t stage = (uint64_t)CJK_GEMV_WARPS * shape->rows * segment_bytes(b);
    uint64_t blocks = !many ? FEW_BLOCKS : g->o.format == CJ_GEMV_Q4_K ? MANY_BLOCKS_K : MANY_BLOCKS;
    uint64_t room = g->shared / blocks - reserved;
    while (blocks > 1 && fixed + 2 * stage > room) blocks--, room = g->shared / blocks - reserved;
    if (room > g->block_shared) room = g->block_shared;
    if (fixed + stage > room) return false;
    const uint32_t groups = ((uint32_t)a->rows - 1) / shape->rows + 1, in_all = (groups - 1) / CJK_GEMV_WARPS + 1;
    const uint32_t most = g->multiprocessors * (uint32_t)blocks;
    shape->segments = (uint32_t)((packed - 1) / segment_bytes(b)) + 1;
    shape->blocks = in_all < most ? in_all : most;
    shape->rounds = groups / (shape->blocks * CJK_GEMV_WARPS);
    shape->rest = groups % (shape->blocks * CJK_GEMV_WARPS);
    const uint64_t turns = (uint64_t)(shape->rounds + (shape->rest > 0)) * shape->segments;
    const uint64_t stages = (room - fixed) / stage < CJK_BULK_STAGES ? (room - fixed) / stage : CJK_BULK_STAGES;
    shape->stages = (uint32_t)(turns < stages ? turns : stages);
    shape->shared = (uint32_t)room; /* all: the next kernel's blocks begin where this one's end, and not beside them */
    const uint64_t beside = g->shared / (blocks + 1) - reserved;
    if (g->o.constant_matrix && !many && shape->blocks > g->multiprocessors && shape->stages == turns &&
        fixed + shape->stages * stage <= beside) shape->shared = (uint32_t)beside;
    return true;
}

/* -- Rows ---------------------------------------------------------------------------------------------------------- */

static bulk_place place_begin(cj_fn *f, cj_val group)
{
    return (bulk_place){ .group = cj_let(f, CJ_U32, group), .segment = cj_let(f, CJ_U32, 0) };
}

static void place_next(cj_fn *f, const bulk_kernel *k, const bulk_place *p)
{
    cj_assign(f, p->segment, cj_add(f, p->segment, 1));
    cj_val over = cj_eq(f, p->segment, k->segments);
    cj_assign(f, p->segment, cj_select(f, over, 0, p->segment));
    cj_assign(f, p->group, cj_add(f, p->group, cj_select(f, over, k->warps, 0)));
}

/* What a place has: bytes of a row, rows, and where this lane's row begins. */
typedef struct bulk_rows { cj_val bytes, rows, mine, from; } bulk_rows;

static void rows_at(cj_fn *f, const bulk_kernel *k, const bulk_place *p, bulk_rows *r)
{
    cj_val first = cj_mul(f, p->group, k->at_once), offset = cj_mul(f, p->segment, k->bytes_in);
    r->bytes = cj_min(f, cj_sub(f, k->packed, offset), k->bytes_in);
    r->rows = cj_min(f, cj_sub(f, k->rows, first), k->at_once);
    r->mine = cj_lt(f, k->lane, r->rows);
    cj_val row = cj_cvt(f, CJ_U64, cj_add(f, first, k->lane)), begin = cj_mad(f, row, k->row_bytes, k->matrix);
    r->from = cj_add(f, begin, cj_cvt(f, CJ_U64, offset));
}

static void prefetch_rows(cj_fn *f, const bulk_kernel *k, const bulk_place *p)
{
    bulk_rows r;
    rows_at(f, k, p, &r);
    cj_ins_if(f, r.mine, "cp.async.bulk.prefetch.L2.global", cj_mem(f, r.from, 0), r.bytes);
}

static void copy_rows(cj_fn *f, const bulk_kernel *k, const bulk_place *p, cj_val stage)
{
    bulk_rows r;
    rows_at(f, k, p, &r);
    cj_val bar = cj_mad(f, stage, 8, k->barriers), to = cj_mad(f, stage, k->at_once * k->bytes_in, k->ring);
    cj_mbarrier_expect_if(f, cj_eq(f, k->lane, 0), bar, cj_mul(f, r.rows, r.bytes));
    cj_bulk_load_if(f, r.mine, cj_mad(f, k->lane, k->bytes_in, to), r.from, r.bytes, bar);
}

/* -- The vector ---------------------------------------------------------------------------------------------------- */

/* Quantises 8 columns of a unit; 4 neighbouring lanes have the others. */
static void quantise_part(cj_fn *f, const bulk_kernel *k, cj_val part, const cj_val v[BULK_PART])
{
    cj_val q[BULK_PART], words[2], sum = cj_let(f, CJ_S32, 0), most = cj_abs(f, v[0]);
    for (unsigned i = 1; i < BULK_PART; i++) most = cj_max(f, most, cj_abs(f, v[i]));
    cj_warp_reduce(f, CJ_COMBINE_MAX, most, BULK_PARTS, &most);
    cj_val scale = cj_div(f, most, 127.0f);
    cj_val factor = cj_select(f, cj_eq(f, scale, 0.0f), 0.0f, cj_rcp(f, scale));
    for (unsigned i = 0; i < BULK_PART; i++)
        q[i] = cj_max(f, cj_min(f, cj_def(f, "cvt.rni.s32.f32", cj_mul(f, v[i], factor)), 127), -127);
    for (unsigned i = 0; i < 2; i++) {
        cj_val low = cj_def(f, "prmt.b32", q[4 * i], q[4 * i + 1], 0x0040);
        cj_val high = cj_def(f, "prmt.b32", q[4 * i + 2], q[4 * i + 3], 0x0040);
        words[i] = cj_def(f, "prmt.b32", low, high, 0x5410);
        sum = cjk_dot(f, cj_imm_bits(f, CJ_B32, 0x01010101), words[i], sum);
    }
    cj_warp_reduce(f, CJ_COMBINE_ADD, sum, BULK_PARTS, &sum);
    cj_val own = cj_and(f, part, BULK_PARTS - 1), at = cj_mad(f, cj_shr(f, part, 2), CJK_UNIT_BYTES, k->vector);
    cj_ins(f, "st.shared.v2.b32", cj_mem(f, cj_mad(f, own, BULK_PART, at), 8), cj_vec_n(f, words, 2));
    cj_ins_if(f, cj_eq(f, own, 0), "st.shared.v2.b32", cj_mem(f, at, 0),
              cj_vec(f, cj_bits(f, CJ_B32, scale), cj_bits(f, CJ_B32, sum)));
}

/* Elements as CJ_F32. */
static void keep_part(cj_fn *f, const bulk_kernel *k, cj_val part, const cj_val v[BULK_PART])
{
    cj_val at = cj_mad(f, part, BULK_PART * 4, k->vector);
    for (unsigned i = 0; i < BULK_PART; i += 4)
        cj_ins(f, "st.shared.v4.f32", cj_mem(f, at, 4 * i), cj_vec_n(f, v + i, 4));
}

/* What a thread has of the vector at a time: BULK_COPIES pieces of 8 bytes of a quantised vector, else two parts of 8
 * columns.  Pieces and parts `first`, first + CJK_THREADS, ... of `count`. */
typedef struct bulk_batch { cj_val first, count, piece[BULK_COPIES]; cjk_raw part[2]; } bulk_batch;

static void load_batch(cj_fn *f, const bulk_kernel *k, const bulk_batch *b)
{
    const bool quantised = k->g->o.quantised;
    const uint32_t bytes = quantised ? 8 : BULK_PART * (uint32_t)cjk_size(k->g->x);
    cj_val at = cjk_bytes_at(f, k->x, cj_cvt(f, CJ_U64, b->first), bytes);
    for (unsigned i = 0; i < (quantised ? BULK_COPIES : 2); i++) {
        cj_val inside = cj_lt(f, cj_add(f, b->first, i * CJK_THREADS), b->count);
        if (quantised) {
            cj_ins_if(f, inside, "ld.global.v2.b32", b->piece[i], cj_mem(f, at, i * CJK_THREADS * bytes));
            continue;
        }
        cj_if(f, inside);
            cjk_raw_fill(f, k->g->x, at, i * CJK_THREADS * bytes, CJK_READ_AGAIN, &b->part[i]);
        cj_end(f);
    }
}

/* Starts to load the vector; begins with nothing in the registers. */
static void vector_begin(cj_fn *f, const bulk_kernel *k, bulk_batch *b)
{
    const bool quantised = k->g->o.quantised;
    b->first = cj_let(f, CJ_U32, k->thread);
    b->count = quantised ? cj_mul(f, cj_shr(f, k->columns, 5), CJK_UNIT_BYTES / 8) : cj_shr(f, k->columns, 3);
    for (unsigned i = 0; i < BULK_COPIES && quantised; i++) b->piece[i] = cj_regs(f, CJ_B32, 2);
    for (unsigned i = 0; i < 2 && !quantised; i++) cjk_raw_zero(f, k->g->x, BULK_PART, &b->part[i]);
    load_batch(f, k, b);
}

/* With blocks the columns are a multiple of 256, so warps have whole units. */
static void store_batch(cj_fn *f, const bulk_kernel *k, const bulk_batch *b)
{
    for (unsigned i = 0; i < (k->g->o.quantised ? BULK_COPIES : 2); i++) {
        cj_val own = cj_add(f, b->first, i * CJK_THREADS), inside = cj_lt(f, own, b->count), v[BULK_PART];
        if (k->g->o.quantised) {
            cj_ins_if(f, inside, "st.shared.v2.b32", cj_mem(f, cj_mad(f, own, 8, k->vector), 0), b->piece[i]);
            continue;
        }
        cj_if(f, inside);
            cjk_raw_values(f, k->g->x, &b->part[i], BULK_PART, CJ_F32, v);
            if (cjk_gemv_has_blocks(k->g)) quantise_part(f, k, own, v);
            else keep_part(f, k, own, v);
        cj_end(f);
    }
}

/* Puts the vector into shared memory. */
static void vector_end(cj_fn *f, const bulk_kernel *k, const bulk_batch *b)
{
    cj_loop(f);
        store_batch(f, k, b);
        cj_assign(f, b->first, cj_add(f, b->first, (k->g->o.quantised ? BULK_COPIES : 2) * CJK_THREADS));
        cj_break_unless(f, cj_lt(f, b->first, b->count));
        load_batch(f, k, b);
    cj_end(f);
}

/* -- The kernel ---------------------------------------------------------------------------------------------------- */

static void bulk_begin(cj_fn *f, bulk_kernel *k)
{
    const cjk_gemv_format *b = cjk_gemv_format_of(k->g);
    k->columns_in = segment_columns(b);
    k->bytes_in = segment_bytes(b);
    k->x_bytes_in = (uint32_t)vector_bytes(k->g, k->columns_in);
    k->matrix = cj_param_ptr(f, "matrix", CJ_U8);
    k->row_bytes = cj_param(f, "row_bytes", CJ_U64);
    k->x = cj_param_ptr(f, "x", CJ_U8);
    k->out = cj_param_ptr(f, "out", k->g->out);
    k->rows = cj_param(f, "rows", CJ_U32);
    k->columns = cj_param(f, "columns", CJ_U32);
    k->packed = cj_param(f, "packed", CJ_U32);
    k->segments = cj_param(f, "segments", CJ_U32);
    k->rounds = cj_param(f, "rounds", CJ_U32);
    k->rest = cj_param(f, "rest", CJ_U32);
    k->stages = cj_param(f, "stages", CJ_U32);
    k->matrix = cj_addr(f, k->matrix);
    k->thread = cj_thread_id(f, CJ_X);
    cj_warp_id(f, &k->warp);
    k->lane = cj_and(f, k->thread, 31);
    k->warps = cj_mul(f, cj_grid_size(f, CJ_X), CJK_GEMV_WARPS);
    cj_val shared = cj_addr(f, cj_shared_dynamic(f, "stages_of_rows", CJ_B32, 128));
    k->barriers = cj_mad(f, k->warp, CJK_BULK_STAGES * 8, shared);
    k->vector = cj_add(f, shared, BULK_BARRIERS);
    cj_val x_bytes = cjk_gemv_has_blocks(k->g) ? cj_mul(f, cj_shr(f, k->columns, 5), CJK_UNIT_BYTES)
                                               : cj_mul(f, k->columns, 4);
    cj_val own = cj_mul(f, k->warp, k->stages);
    k->ring = cj_mad(f, own, k->at_once * k->bytes_in, cj_add(f, k->vector, x_bytes));
    cj_name(f, k->warp, "warp");
    cj_name(f, k->lane, "lane");
    cj_name(f, k->barriers, "barriers");
    cj_name(f, k->vector, "vector");
    cj_name(f, k->ring, "ring");
}

static void bulk_multiply(cj_fn *f, const bulk_kernel *k, const bulk_place *p, cj_val stage, cj_val *sums)
{
    const cjk_gemv_format *b = cjk_gemv_format_of(k->g);
    const uint32_t step_columns = 32 * b->lane_columns;
    cj_val left = cj_sub(f, k->columns, cj_mul(f, p->segment, k->columns_in));
    cj_val own = cj_mul(f, k->lane, b->lane_columns);
    cjk_gemv_step s = { .format = (cj_gemv_format)k->g->o.format, .lane = k->lane, .row_bytes = k->bytes_in,
                        .rows = k->at_once, .sums = sums };
    cj_val at = cj_mad(f, stage, k->at_once * k->bytes_in, k->ring);
    cj_val x = cj_mad(f, p->segment, k->x_bytes_in, k->vector);
    cj_if(f, cj_ge(f, left, k->columns_in));
        for (uint32_t i = 0; i < b->steps; i++) {
            s.at = cj_add(f, at, i * (k->bytes_in / b->steps));
            s.x = cj_add(f, x, i * (k->x_bytes_in / b->steps));
            cjk_gemv_step_write(f, &s);
        }
    cj_else(f);
        for (uint32_t i = 0; i < b->steps; i++) {
            s.at = cj_add(f, at, i * (k->bytes_in / b->steps));
            s.x = cj_add(f, x, i * (k->x_bytes_in / b->steps));
            cj_if(f, cj_lt(f, cj_add(f, own, i * step_columns), left));
                cjk_gemv_step_write(f, &s);
            cj_end(f);
        }
    cj_end(f);
}

/* Joins the sums of the lanes; lane r stores that of row r. */
static void store_totals(cj_fn *f, const bulk_kernel *k, const bulk_place *p, cj_val *sums)
{
    cj_val total[CJK_BULK_ROWS], row = cj_mad(f, p->group, k->at_once, k->lane);
    for (unsigned r = 0; r < k->at_once; r++) cj_warp_reduce(f, CJ_COMBINE_ADD, sums[r], 32, &total[r]);
    cj_val own = total[0];
    for (unsigned r = 1; r < k->at_once; r++) own = cj_select(f, cj_eq(f, k->lane, r), total[r], own);
    cj_if(f, cj_and(f, cj_lt(f, k->lane, k->at_once), cj_lt(f, row, k->rows)));
        cjk_store(f, k->g->out, cj_at(f, k->out, cj_cvt(f, CJ_U64, row)), own);
    cj_end(f);
    for (unsigned r = 0; r < k->at_once; r++) cj_assign(f, sums[r], 0.0f);
}

void cjk_gemv_write_bulk(cj_ptx *m, const char *name, const cjk_gemv *g, uint32_t rows)
{
    cj_fn *f = cj_ptx_kernel(m, name);
    bulk_kernel k = { .g = g, .at_once = rows };
    const bool constant = g->o.constant_matrix;
    bulk_batch batch;
    cj_val sums[CJK_BULK_ROWS];
    cj_fn_max_threads(f, CJK_THREADS, 1, 1);
    cj_fn_min_blocks(f, MANY_BLOCKS);
    cj_comment(f, "The warp's ring of stages in shared memory, behind the vector");
    bulk_begin(f, &k);
    cj_comment(f, "The warp's groups of rows, and the stages that it fills at once");
    cj_val first = cj_mad(f, k.warp, cj_grid_size(f, CJ_X), cj_block_id(f, CJ_X));
    cj_val own = cj_add(f, k.rounds, cj_select(f, cj_lt(f, first, k.rest), 1, 0));
    cj_val turns = cj_mul(f, own, k.segments), ahead = cj_min(f, turns, k.stages);
    cj_name(f, first, "first_group");
    cj_name(f, turns, "turns");
    cj_name(f, ahead, "ahead");
    cj_comment(f, "An mbarrier for each stage");
    cj_if(f, cj_lt(f, k.lane, k.stages));
        cj_mbarrier_init(f, cj_mad(f, k.lane, 8, k.barriers), cj_imm(f, 1));
        cj_mbarrier_init_fence(f);
    cj_end(f);
    cj_warp_sync(f, (cj_val){ 0 });
    bulk_place next = place_begin(f, first);
    cj_name(f, next.group, "next_group");
    cj_name(f, next.segment, "next_segment");
    cj_comment(f, constant ? "Copy the first stages' rows" : "Bring the first stages' rows into the L2 cache");
    cj_val ready = cj_for(f, 0, ahead, 1);
        if (constant) copy_rows(f, &k, &next, ready);
        else prefetch_rows(f, &k, &next);
        place_next(f, &k, &next);
    cj_end(f);
    cj_if(f, cj_eq(f, turns, ahead));
        cj_grid_launch_dependents(f);
    cj_end(f);
    cj_comment(f, "Wait for the kernels before, then load the vector and the first rows");
    cj_grid_wait(f);
    vector_begin(f, &k, &batch);
    if (!constant) {
        cj_assign(f, next.group, first);
        cj_assign(f, next.segment, 0);
        cj_val filled = cj_for(f, 0, ahead, 1);
            copy_rows(f, &k, &next, filled);
            place_next(f, &k, &next);
        cj_end(f);
    }
    cj_comment(f, "The vector into shared memory");
    vector_end(f, &k, &batch);
    cj_block_sync(f);
    for (unsigned r = 0; r < rows; r++) sums[r] = cj_let(f, CJ_F32, 0.0f);
    bulk_place p = place_begin(f, first);
    cj_val stage = cj_let(f, CJ_U32, 0), parity = cj_let(f, CJ_U32, 0), copies = cj_let(f, CJ_U32, ahead);
    cj_name(f, stage, "stage");
    cj_name(f, parity, "parity");
    cj_name(f, copies, "copies");
    cj_name(f, p.group, "group");
    cj_name(f, p.segment, "segment");
    for (unsigned r = 0; r < rows; r++) cj_name(f, sums[r], rows > 1 ? (r ? "sum_1" : "sum_0") : "sum");
    cj_comment(f, "Multiply the segment of the stage, then copy another one into it");
    cj_for(f, 0, turns, 1);
        cj_mbarrier_wait(f, cj_mad(f, stage, 8, k.barriers), parity);
        bulk_multiply(f, &k, &p, stage, sums);
        cj_warp_sync(f, (cj_val){ 0 });
        cj_if(f, cj_lt(f, copies, turns));
            copy_rows(f, &k, &next, stage);
            place_next(f, &k, &next);
            cj_assign(f, copies, cj_add(f, copies, 1));
            cj_if(f, cj_eq(f, copies, turns));
                cj_grid_launch_dependents(f);
            cj_end(f);
        cj_end(f);
        cj_comment(f, "Behind a row's last segment: join the sums of the lanes and store");
        cj_if(f, cj_eq(f, cj_add(f, p.segment, 1), k.segments));
            store_totals(f, &k, &p, sums);
        cj_end(f);
        place_next(f, &k, &p);
        cj_assign(f, stage, cj_add(f, stage, 1));
        cj_val over = cj_eq(f, stage, k.stages);
        cj_assign(f, stage, cj_select(f, over, 0, stage));
        cj_assign(f, parity, cj_select(f, over, cj_xor(f, parity, 1), parity));
    cj_end(f);
    cj_return(f);
}
