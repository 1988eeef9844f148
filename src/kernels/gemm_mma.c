/* Path mma of cj_gemm: mma.sync on tiles of 128 x 128 or 64 x 64 elements, 64 bytes of k at a time (sm_80).
 *
 * Operands come in one of two ways.  In *units* of 16 bytes by cp.async, into one of STAGES stages, three of which are
 * under way while one is multiplied; strides and addresses are then multiples of 16 bytes.  Or *plain*: element by
 * element through registers, from any place, packed into words of 32 bits; the elements of the next stage are loaded
 * while one is multiplied.
 *
 * A stage in shared memory has rows of 64 bytes of k, one for each index of the outer side; or, for 16-bit types whose
 * outer side is contiguous in memory, a row of the whole tile for each k, which ldmatrix transposes.  Units of 16 bytes
 * are permuted within their rows, so that the 8 rows that ldmatrix reads at once lie in different banks. */
#include "kernels/gemm_core.h"

enum {
    STAGES = 4, PLAIN_STAGES = 2,
    MMA_K_BYTES = 64, UNIT = 16, WORD = 4,
    STEPS = 2, STEP_BYTES = 32,    /* of k: what one instruction takes */
    COPIES = 2,                    /* units of a thread in a stage, for each operand */
    WORDS = 8,                     /* words of a thread in a stage, for each operand, if it is plain */
    N8 = 4,                        /* groups of 8 columns of a warp */
    BLOCK_ROWS = 16,               /* outer indices of one ldmatrix of four matrices */
    BLOCKS_MOST = 4
};

/* A or B in the kernel. */
typedef struct mma_operand {
    int which;
    cj_type type;
    uint32_t side, threads;    /* of the tile and the block */
    uint32_t blocks;           /* of 16 outer indices, of a warp */
    uint32_t base;             /* of its part of a stage, in bytes */
    cjk_next next;
    cj_val by_outer, by_k, by_batch, memory; /* bytes; the address of element (0, 0), CJ_U64 */
    cj_val first;              /* outer index of the tile, CJ_U32 */
    cj_val from;               /* where the thread's first unit or word of the next stage is, CJ_U64 */
    cj_val by_copy;            /* bytes to its next unit or word, CJ_U64 */
    cj_val position;           /* k of its first unit, or of its first word, CJ_U32 */
    cj_val to;                 /* where its first unit goes, from the stage on, CJ_U32 */
    cj_val place[WORDS];       /* the same of its words */
    cj_val outer_first;        /* plain: lanes take neighbours of the outer side */
    cj_val row, by_row, by_position; /* plain: the outer index of its first word in the tile, to the next word */
    cj_val at[BLOCKS_MOST];    /* of ldmatrix: by step of k if k is contiguous, else by block */
} mma_operand;

typedef struct mma_kernel {
    const cjk_gemm *g;
    const cjk_gemm_variant *v;
    bool plain;
    cjk_gemm_params p;
    cj_mma_shape shape;
    uint32_t m16;              /* groups of 16 rows of a warp */
    mma_operand o[2];
    cj_val shared, t, warp_row, warp_column; /* CJ_U32 */
    cj_val acc[BLOCKS_MOST * N8];
} mma_kernel;

static uint32_t elements_of(const mma_operand *o, uint32_t bytes) { return bytes / (uint32_t)cjk_size(o->type); }

static unsigned bits_below(uint32_t n)
{
    unsigned bits = 0;
    while (n >> bits > 1) bits++;
    return bits;
}

void cjk_gemm_mma_sizes(cjk_gemm_variant *v)
{
    uint32_t stages = v->next[CJK_GEMM_A] == CJK_ANY_NEXT ? PLAIN_STAGES : STAGES;
    uint32_t ring = stages * (v->rows + v->columns) * MMA_K_BYTES, sums = v->rows * v->columns * WORD;
    v->threads = v->rows == CJK_MMA_LARGE ? 256 : 128;
    v->shared = ring > sums ? ring : sums;
}

/* -- Units by cp.async --------------------------------------------------------------------------------------------- */

/* Where the thread's first unit comes from, and where it goes.  `k` contiguous: four threads copy a row. */
static void units_begin(cj_fn *f, mma_kernel *k, mma_operand *o, cj_val memory)
{
    uint32_t in_unit = elements_of(o, UNIT), units = o->side / in_unit;
    cj_comment(f, o->which == CJK_GEMM_A ? "The thread's first unit of A, and its place in a stage"
                                         : "The same of B");
    if (o->next == CJK_K_NEXT) {
        cj_val unit = cj_and(f, k->t, 3), row = cj_shr(f, k->t, 2);
        cj_val permuted = cj_xor(f, unit, cj_and(f, cj_shr(f, row, 1), 3));
        o->row = row;
        o->position = cj_let(f, CJ_U32, cj_mul(f, unit, in_unit));
        o->to = cj_let(f, CJ_U32, cj_mad(f, row, MMA_K_BYTES, cj_mul(f, permuted, UNIT)));
        cj_val outer = cj_cvt(f, CJ_U64, cj_add(f, o->first, row));
        cj_val begin = cj_mad(f, outer, o->by_outer, memory);
        o->from = cj_let(f, CJ_U64, cj_add(f, begin, cj_cvt(f, CJ_U64, cj_mul(f, unit, UNIT))));
        o->by_copy = cj_mul(f, o->by_outer, o->threads / 4);
        return;
    }
    cj_val unit = cj_and(f, k->t, units - 1), row = cj_shr(f, k->t, bits_below(units));
    cj_val permuted = cj_xor(f, unit, cj_and(f, row, 7)), outer = cj_mul(f, unit, in_unit);
    o->row = outer;
    o->position = cj_let(f, CJ_U32, row);
    o->to = cj_let(f, CJ_U32, cj_mad(f, row, units * UNIT, cj_mul(f, permuted, UNIT)));
    cj_val begin = cj_mad(f, cj_cvt(f, CJ_U64, row), o->by_k, memory);
    cj_val along = cj_cvt(f, CJ_U64, cj_add(f, o->first, outer));
    o->from = cj_let(f, CJ_U64, cj_mad(f, along, cjk_size(o->type), begin));
    o->by_copy = cj_mul(f, o->by_k, o->threads / units);
}

/* How many of the `n` elements from `position` on are below `end`, in bytes.  CJ_U32. */
static cj_val bytes_inside(cj_fn *f, const mma_operand *o, cj_val position, cj_val end, uint32_t n)
{
    cj_val left = cj_sub(f, cj_max(f, end, position), position);
    return cj_mul(f, cj_min(f, left, n), cjk_size(o->type));
}

/* Starts the copies of the next stage, to `stage`, an address.  What is outside of the matrix becomes 0. */
static void copy_units(cj_fn *f, const mma_kernel *k, const mma_operand *o, cj_val stage)
{
    uint32_t in_unit = elements_of(o, UNIT), in_stage = elements_of(o, MMA_K_BYTES), units = o->side / in_unit;
    cj_comment(f, o->which == CJK_GEMM_A ? "Copy units of A to a stage" : "Copy units of B to the stage");
    cj_val to = cj_add(f, stage, o->to), from = o->from, size = k->p.size[o->which];
    bool by_rows = o->next == CJK_K_NEXT;
    uint32_t rows = by_rows ? o->threads / 4 : o->threads / units, pitch = by_rows ? MMA_K_BYTES : units * UNIT;
    cj_val along = by_rows ? bytes_inside(f, o, o->position, k->p.k, in_unit)
                           : bytes_inside(f, o, cj_add(f, o->first, o->row), size, in_unit);
    for (uint32_t i = 0; i < COPIES; i++) {
        cj_val across = cj_add(f, by_rows ? cj_add(f, o->first, o->row) : o->position, i * rows);
        cj_val inside = cj_lt(f, across, by_rows ? size : k->p.k);
        cj_val bytes = cj_select(f, inside, along, 0);
        if (i) from = cj_add(f, from, o->by_copy);
        cj_async_copy_zero(f, cj_mem(f, to, o->base + i * rows * pitch), from, UNIT, bytes);
    }
    cj_val by_stage = by_rows ? cj_imm(f, MMA_K_BYTES) : cj_mul(f, o->by_k, in_stage);
    cj_assign(f, o->from, cj_add(f, o->from, by_stage));
    cj_assign(f, o->position, cj_add(f, o->position, in_stage));
}

/* -- Element by element -------------------------------------------------------------------------------------------- */

/* Word w of row r of a stage, four of which are a unit.  A thread has the words w of rows r, r + threads / 16, ...; or,
 * with lanes along the outer side, the words w, w + 2, ... of a row. */
static void words_begin(cj_fn *f, mma_kernel *k, mma_operand *o, cj_val memory)
{
    uint32_t in_word = elements_of(o, WORD), rows = o->threads / 16;
    cj_comment(f, o->which == CJK_GEMM_A ? "The thread's first word of A, and the places of its words in a stage"
                                         : "The same of B");
    o->outer_first = cj_lt(f, cj_abs(f, cj_bits(f, CJ_S64, o->by_outer)), cj_abs(f, cj_bits(f, CJ_S64, o->by_k)));
    cj_val low = cj_and(f, k->t, o->side - 1), high = cj_shr(f, k->t, bits_below(o->side));
    cj_val row = cj_select(f, o->outer_first, low, cj_shr(f, k->t, 4));
    cj_val word = cj_select(f, o->outer_first, high, cj_and(f, k->t, 15));
    cj_val turn = cj_and(f, cj_shr(f, row, 1), 3), unit = cj_xor(f, cj_shr(f, word, 2), turn);
    cj_val of_row = cj_mad(f, row, MMA_K_BYTES, cj_mul(f, unit, UNIT));
    cj_val to = cj_mad(f, cj_and(f, word, 3), WORD, of_row);
    o->row = row;
    o->by_row = cj_select(f, o->outer_first, cj_imm(f, 0), cj_let(f, CJ_U32, rows));
    o->position = cj_let(f, CJ_U32, cj_mul(f, word, in_word));
    o->by_position = cj_select(f, o->outer_first, cj_let(f, CJ_U32, 2 * in_word), cj_imm(f, 0));
    for (uint32_t i = 0; i < WORDS; i++) {
        cj_val further = cj_add(f, cj_xor(f, to, (i >> 1) * UNIT), (i & 1) * 2 * WORD);
        o->place[i] = cj_let(f, CJ_U32, cj_select(f, o->outer_first, further, cj_add(f, to, i * rows * MMA_K_BYTES)));
    }
    cj_val outer = cj_cvt(f, CJ_U64, cj_add(f, o->first, row)), begin = cj_mad(f, outer, o->by_outer, memory);
    o->from = cj_let(f, CJ_U64, cj_mad(f, cj_cvt(f, CJ_U64, o->position), o->by_k, begin));
    o->by_copy = cj_select(f, o->outer_first, cj_mul(f, o->by_k, 2 * in_word), cj_mul(f, o->by_outer, rows));
}

/* Loads the elements of the thread's words from `first` to below `end` into registers; 0 where there are none.  `from`:
 * the address of the word before, or of word 0; returns that of the last one. */
static cj_val load_words(cj_fn *f, const mma_kernel *k, const mma_operand *o, uint32_t first, uint32_t end, cj_val from,
                         cj_val element[WORDS][WORD])
{
    static const char *const loads[] = { [1] = "ld.global.u8", [2] = "ld.global.u16", [4] = "ld.global.u32" };
    uint32_t in_word = elements_of(o, WORD);
    cj_comment(f, o->which == CJK_GEMM_A ? "Load elements of A for the next stage"
                                         : "Load elements of B for the next stage");
    cj_val size = k->p.size[o->which];
    cj_val left = cj_sub(f, cj_max(f, k->p.k, o->position), o->position), room = cj_let(f, CJ_U32, left);
    for (uint32_t i = first; i < end; i++) {
        cj_val outer = cj_mad(f, o->by_row, i, cj_add(f, o->first, o->row)), inside = cj_lt(f, outer, size);
        cj_val at = i ? cj_add(f, from, o->by_copy) : from;
        from = at;
        for (uint32_t e = 0; e < in_word; e++) {
            cj_val before = cj_add(f, cj_mul(f, o->by_position, i), e);
            cj_val there = cj_and(f, inside, cj_lt(f, before, room));
            if (e) at = cj_add(f, at, o->by_k);
            cj_assign(f, element[i - first][e], cj_imm(f, 0));
            cj_ins_if(f, there, loads[cjk_size(o->type)], element[i - first][e], cj_mem(f, at, 0));
        }
    }
    if (end < WORDS) return from;
    cj_assign(f, o->from, cj_add(f, o->from, cj_mul(f, o->by_k, elements_of(o, MMA_K_BYTES))));
    cj_assign(f, o->position, cj_add(f, o->position, elements_of(o, MMA_K_BYTES)));
    return from;
}

static cj_val word_of(cj_fn *f, uint32_t in_word, const cj_val e[WORD])
{
    enum { BYTES_0_OF_BOTH = 0x0040, HALVES_0_OF_BOTH = 0x5410 };
    if (in_word == 1) return e[0];
    cj_val word = cj_reg(f, CJ_U32);
    if (in_word == 2) {
        cj_ins(f, "mov.b32", word, cj_vec(f, e[0], e[1]));
        return word;
    }
    cj_val low = cj_def(f, "prmt.b32", e[0], e[1], BYTES_0_OF_BOTH);
    cj_val high = cj_def(f, "prmt.b32", e[2], e[3], BYTES_0_OF_BOTH);
    cj_ins(f, "prmt.b32", word, low, high, HALVES_0_OF_BOTH);
    return word;
}

/* Stores the words from `first` to below `end` in a stage. */
static void store_words(cj_fn *f, const mma_operand *o, cj_val stage, uint32_t first, uint32_t end,
                        cj_val element[WORDS][WORD])
{
    cj_comment(f, o->which == CJK_GEMM_A ? "Store words of A in the stage" : "Store words of B in the stage");
    for (uint32_t i = first; i < end; i++) {
        cj_val word = word_of(f, elements_of(o, WORD), element[i - first]), at = cj_add(f, stage, o->place[i]);
        cj_ins(f, "st.shared.b32", cj_mem(f, at, o->base), word);
    }
}

/* -- Multiplying --------------------------------------------------------------------------------------------------- */

/* What ldmatrix reads: lane 8 i + r has row r of matrix i.  The 16 outer indices of a block are two matrices, and so
 * are the 32 bytes of k of a step.  For A the outer side changes first, for B k does. */
static void fragments_begin(cj_fn *f, const mma_kernel *k, mma_operand *o, cj_val of_warp)
{
    cj_val begin = cj_add(f, cj_mad(f, of_warp, MMA_K_BYTES, k->shared), o->base);
    if (o->next != CJK_OUTER_NEXT) {
        for (uint32_t s = 0; s < STEPS; s++)
            o->at[s] = o->which == CJK_GEMM_A ? cj_mma_a_at(f, begin, MMA_K_BYTES, s * STEP_BYTES, CJ_SWIZZLE_64B)
                                              : cj_mma_b_at(f, begin, MMA_K_BYTES, s * STEP_BYTES, CJ_SWIZZLE_64B);
        return;
    }
    uint32_t pitch = o->side / elements_of(o, UNIT) * UNIT;
    cj_val lane = cj_lane_id(f), r = cj_and(f, lane, 7), low = cj_and(f, cj_shr(f, lane, 3), 1),
           high = cj_shr(f, lane, 4);
    cj_val deeper = o->which == CJK_GEMM_A ? high : low, further = o->which == CJK_GEMM_A ? low : high;
    cj_val row = cj_mad(f, deeper, 8, r), unit = cj_add(f, cj_shr(f, of_warp, 3), further);
    cj_val of_row = cj_add(f, cj_mad(f, row, pitch, k->shared), o->base);
    for (uint32_t b = 0; b < o->blocks; b++) {
        cj_val permuted = cj_xor(f, cj_add(f, unit, 2 * b), r);
        o->at[b] = cj_mad(f, permuted, UNIT, of_row);
    }
}

/* The four registers of block `b` at step `s` of the stage that begins `stage` bytes behind the first. */
static cj_val fragment_of(cj_fn *f, const mma_kernel *k, const mma_operand *o, uint32_t b, uint32_t s, cj_val stage)
{
    cj_val loaded;
    if (o->next == CJK_OUTER_NEXT) {
        uint32_t rows = elements_of(o, STEP_BYTES), pitch = o->side / elements_of(o, UNIT) * UNIT;
        cj_matrix_load(f, 4, 1, cj_mem(f, cj_add(f, o->at[b], stage), s * rows * pitch), &loaded);
    } else {
        cj_matrix_load(f, 4, 0, cj_mem(f, cj_add(f, o->at[s], stage), b * BLOCK_ROWS * MMA_K_BYTES), &loaded);
    }
    if (k->g->mma[o->which] != CJ_MMA_TF32) return loaded;
    cj_val rounded = cj_regs(f, CJ_B32, 4);
    for (size_t i = 0; i < 4; i++)
        cj_ins(f, "cvt.rna.tf32.f32", cj_elem(f, rounded, i), cj_bits(f, CJ_F32, cj_elem(f, loaded, i)));
    return rounded;
}

/* The fragments of B at step `s` of a stage. */
static void fragments_of_b(cj_fn *f, const mma_kernel *k, uint32_t s, cj_val stage, cj_val b[N8 / 2])
{
    for (uint32_t j = 0; j < N8 / 2; j++) b[j] = fragment_of(f, k, &k->o[CJK_GEMM_B], j, s, stage);
}

/* Rows `first` to below `end`, of 16, of a step of k.  `b`: loaded with row 0. */
static void multiply_rows(cj_fn *f, const mma_kernel *k, cj_val stage, uint32_t s, uint32_t first, uint32_t end,
                          cj_val b[STEPS][N8 / 2])
{
    cj_val a[BLOCKS_MOST];
    for (uint32_t i = first; i < end; i++) a[i] = fragment_of(f, k, &k->o[CJK_GEMM_A], i, s, stage);
    if (!first) fragments_of_b(f, k, s, stage, b[s]);
    for (uint32_t i = first; i < end; i++)
        for (uint32_t j = 0; j < N8; j++) {
            cj_val sum = k->acc[i * N8 + j];
            cj_mma(f, &k->shape, sum, a[i], cj_slice(f, b[s][j / 2], j % 2 * 2, 2), sum);
        }
}

/* The same of both steps: their products are added up by themselves, and then to the sums in f32. */
static void multiply_promoted(cj_fn *f, const mma_kernel *k, cj_val stage, uint32_t first, uint32_t end)
{
    cj_val a[STEPS][BLOCKS_MOST], b[STEPS][N8 / 2];
    for (uint32_t s = 0; s < STEPS; s++) {
        for (uint32_t i = first; i < end; i++) a[s][i] = fragment_of(f, k, &k->o[CJK_GEMM_A], i, s, stage);
        fragments_of_b(f, k, s, stage, b[s]);
    }
    for (uint32_t i = first; i < end; i++)
        for (uint32_t j = 0; j < N8; j++) {
            cj_val part = cj_mma_accumulators(f, &k->shape), sum = k->acc[i * N8 + j];
            cj_assign_all(f, part, cj_imm(f, 0.0f));
            for (uint32_t s = 0; s < STEPS; s++)
                cj_mma(f, &k->shape, part, a[s][i], cj_slice(f, b[s][j / 2], j % 2 * 2, 2), part);
            for (size_t e = 0; e < 4; e++)
                cj_assign(f, cj_elem(f, sum, e), cj_add(f, cj_elem(f, sum, e), cj_elem(f, part, e)));
        }
}

/* Part `part` of `parts` of a stage.  `b`: the same for all parts. */
static void multiply_part(cj_fn *f, const mma_kernel *k, cj_val stage, uint32_t part, uint32_t parts,
                          cj_val b[STEPS][N8 / 2])
{
    bool promote = k->g->o.promote;
    uint32_t rows = k->m16, all = promote ? rows : STEPS * rows;
    uint32_t first = part * all / parts, end = (part + 1) * all / parts;
    if (first == end) return;
    cj_comment(f, promote ? "Multiply the stage, and add its products to the sums in f32" : "Multiply the stage");
    if (promote) {
        multiply_promoted(f, k, stage, first, end);
        return;
    }
    for (uint32_t s = first / rows; s * rows < end; s++) {
        uint32_t from = first > s * rows ? first - s * rows : 0, to = end < (s + 1) * rows ? end - s * rows : rows;
        multiply_rows(f, k, stage, s, from, to, b);
    }
}

/* -- The kernel ---------------------------------------------------------------------------------------------------- */

/* At the top of a round all threads have multiplied the stage that the copies of this round overwrite. */
static void run_units(cj_fn *f, const mma_kernel *k, cj_val rounds)
{
    uint32_t stage = (k->v->rows + k->v->columns) * MMA_K_BYTES, all = STAGES * stage;
    cj_val b[STEPS][N8 / 2] = { { { 0 } } };
    cj_val full = cj_let(f, CJ_U32, 0), empty = cj_let(f, CJ_U32, (STAGES - 1) * stage);
    cj_name(f, full, "full_stage");
    cj_name(f, empty, "empty_stage");
    cj_comment(f, "Begin the copies of the first stages");
    for (uint32_t s = 0; s < STAGES - 1; s++) {
        cj_val to = cj_add(f, k->shared, s * stage);
        for (int i = 0; i < 2; i++) copy_units(f, k, &k->o[i], to);
        cj_async_commit(f);
    }
    cj_for(f, 0, rounds, 1);
        cj_comment(f, "A stage is full, and all threads have left the one before, which is filled again");
        cj_async_wait(f, STAGES - 2);
        cj_block_sync(f);
        cj_val to = cj_add(f, k->shared, empty);
        for (int i = 0; i < 2; i++) copy_units(f, k, &k->o[i], to);
        cj_async_commit(f);
        multiply_part(f, k, full, 0, 1, b);
        cj_val *const both[] = { &full, &empty };
        for (int i = 0; i < 2; i++) {
            cj_val further = cj_add(f, *both[i], stage);
            cj_assign(f, *both[i], cj_select(f, cj_eq(f, further, all), 0, further));
        }
    cj_end(f);
    cj_async_wait(f, 0);
}

/* In how many parts the elements of a stage come: those of the first ones are stored before the others are loaded.
 * sm_90 makes halves of e4m3, for which there are no registers beside a whole stage, and with promote beside a half. */
static uint32_t parts_of(const mma_kernel *k)
{
    return k->g->o.promote ? 8 : k->g->o.elements == CJ_GEMM_ELEMENTS_E4M3 ? 4 : 1;
}

/* Loads the next stage, whose address is `to`, and multiplies the one at `full` meanwhile, if it is not NULL.  The last
 * part stays in registers. */
static void load_next(cj_fn *f, const mma_kernel *k, cj_val element[2][WORDS][WORD], const cj_val *full, cj_val to)
{
    uint32_t parts = parts_of(k), each = WORDS / parts;
    cj_val from[2] = { k->o[0].from, k->o[1].from }, b[STEPS][N8 / 2] = { { { 0 } } };
    for (uint32_t part = 0; part < parts; part++) {
        uint32_t first = part * each;
        for (int i = 0; i < 2; i++)
            from[i] = load_words(f, k, &k->o[i], first, first + each, from[i], element[i]);
        if (full) multiply_part(f, k, *full, part, parts, b);
        for (int i = 0; i < 2 && part + 1 < parts; i++)
            store_words(f, &k->o[i], to, first, first + each, element[i]);
        if (!full && part + 1 < parts) cj_block_sync(f); /* the loads behind it do not begin before */
    }
}

/* Two stages are enough: a stage is written again behind a barrier that all threads reach after its last use. */
static void run_words(cj_fn *f, const mma_kernel *k, cj_val rounds)
{
    uint32_t stage = (k->v->rows + k->v->columns) * MMA_K_BYTES, each = WORDS / parts_of(k);
    cj_val element[2][WORDS][WORD], full = cj_let(f, CJ_U32, 0);
    cj_name(f, full, "full_stage");
    for (int i = 0; i < 2; i++) {
        uint32_t in_word = elements_of(&k->o[i], WORD);
        for (uint32_t w = 0; w < each; w++)
            for (uint32_t e = 0; e < in_word; e++) element[i][w][e] = cj_reg(f, in_word == 2 ? CJ_U16 : CJ_U32);
    }
    load_next(f, k, element, NULL, k->shared);
    cj_for(f, 0, rounds, 1);
        cj_val to = cj_add(f, k->shared, full), other = cj_add(f, k->shared, cj_xor(f, full, stage));
        for (int i = 0; i < 2; i++) store_words(f, &k->o[i], to, WORDS - each, WORDS, element[i]);
        cj_block_sync(f);
        load_next(f, k, element, &full, other);
        cj_assign(f, full, cj_xor(f, full, stage));
    cj_end(f);
}

static void mma_operand_begin(cj_fn *f, mma_kernel *k, int which, uint32_t base)
{
    const cjk_operand *x = &k->p.x[which];
    mma_operand *o = &k->o[which];
    bool columns = which == CJK_GEMM_B;
    *o = (mma_operand){ .which = which, .type = x->type, .base = base, .threads = k->v->threads };
    o->side = columns ? k->v->columns : k->v->rows;
    o->blocks = columns ? N8 / 2 : k->m16;
    o->next = k->plain ? CJK_K_NEXT : k->v->next[which];
    o->memory = cj_addr(f, x->base);
    o->by_outer = cjk_gemm_bytes(f, columns ? x->step : x->stride, x->type);
    o->by_k = cjk_gemm_bytes(f, columns ? x->stride : x->step, x->type);
    o->by_batch = cjk_gemm_bytes(f, k->p.by_batch[which], x->type);
}

/* Names of where the thread's next units or words come from. */
static void name_source(cj_fn *f, const mma_operand *o)
{
    bool a = o->which == CJK_GEMM_A;
    cj_name(f, o->from, a ? "a_from" : "b_from");
    cj_name(f, o->position, a ? "a_k" : "b_k");
}

/* The tile of this block: sums, then the end. */
static void mma_tile(cj_fn *f, mma_kernel *k, cj_val batch)
{
    uint32_t side = k->v->rows, in_stage = elements_of(&k->o[CJK_GEMM_A], MMA_K_BYTES);
    cj_type sum = k->shape.d == CJ_MMA_S32 ? CJ_S32 : CJ_F32;
    for (int i = 0; i < 2; i++) {
        cj_val memory = cj_mad(f, cj_cvt(f, CJ_U64, batch), k->o[i].by_batch, k->o[i].memory);
        if (k->plain) words_begin(f, k, &k->o[i], memory);
        else units_begin(f, k, &k->o[i], memory);
    }
    for (int i = 0; i < 2; i++) name_source(f, &k->o[i]);
    for (uint32_t i = 0; i < k->m16 * N8; i++) {
        k->acc[i] = cj_mma_accumulators(f, &k->shape);
        cj_name(f, k->acc[i], "sum");
        cj_assign_all(f, k->acc[i], cj_imm_bits(f, sum, 0));
    }
    cj_val more = cj_add(f, k->p.k, in_stage - 1), rounds = cj_let(f, CJ_U32, cj_shr(f, more, bits_below(in_stage)));
    cj_name(f, rounds, "rounds");
    if (k->plain) run_words(f, k, rounds);
    else run_units(f, k, rounds);
    cj_comment(f, "Store the sums: all of them through shared memory");
    cj_block_sync(f);
    cjk_gemm_chunk c = { .shared = k->shared, .rows = side, .columns = side, .threads = k->v->threads, .thread = k->t };
    cj_val row, column, at[4];
    cj_mma_acc_position(f, &row, &column);
    cjk_gemm_chunk_at(f, &c, cj_add(f, row, k->warp_row), cj_add(f, column, k->warp_column), at);
    for (uint32_t i = 0; i < k->m16; i++)
        for (uint32_t j = 0; j < N8; j++)
            for (uint32_t half = 0; half < 2; half++) {
                cj_val place = cj_mem(f, at[j], (i * BLOCK_ROWS + half * 8) * side * WORD);
                cj_ins(f, "st.shared.v2.b32", place, cj_slice(f, k->acc[i * N8 + j], 2 * half, 2));
            }
    cj_block_sync(f);
    cjk_gemm_chunk_store(f, k->g, &k->p, &c, k->o[CJK_GEMM_A].first, k->o[CJK_GEMM_B].first, batch);
}

/* Block (x, y, z): tile x of product y + z * gridDim.y.  A warp has 64 x 32 elements of a tile of 128 x 128, or
 * 32 x 32 of one of 64 x 64. */
void cjk_gemm_write_mma(cj_ptx *m, const char *name, const cjk_gemm *g, const cjk_gemm_variant *v, cj_fn *epilogue)
{
    cj_fn *f = cj_ptx_kernel(m, name);
    mma_kernel k = { .g = g, .v = v, .plain = v->next[CJK_GEMM_A] == CJK_ANY_NEXT };
    uint32_t side = v->rows, across = side / 32;
    k.m16 = side == CJK_MMA_LARGE ? 4 : 2;
    k.shape = (cj_mma_shape){ .k = STEP_BYTES / (uint32_t)cjk_size(g->type[CJK_GEMM_A]), .a = g->mma[CJK_GEMM_A],
                              .b = g->mma[CJK_GEMM_B], .d = g->wide == CJ_F32 ? CJ_MMA_F32 : CJ_MMA_S32 };
    cj_fn_max_threads(f, v->threads, 1, 1);
    cjk_gemm_params_begin(f, g, epilogue, &k.p);
    cj_comment(f, "The places of the warp's fragments in a stage");
    k.shared = cj_addr(f, cj_shared_dynamic(f, "stages", CJ_B32, 1024));
    k.t = cj_thread_id(f, CJ_X);
    cj_val warp, row, column;
    cj_warp_id(f, &warp);
    k.warp_row = cj_mul(f, cj_shr(f, warp, bits_below(across)), k.m16 * BLOCK_ROWS);
    k.warp_column = cj_mul(f, cj_and(f, warp, across - 1), N8 * 8);
    for (int i = 0; i < 2; i++) mma_operand_begin(f, &k, i, i == CJK_GEMM_A ? 0 : side * MMA_K_BYTES);
    fragments_begin(f, &k, &k.o[CJK_GEMM_A], k.warp_row);
    fragments_begin(f, &k, &k.o[CJK_GEMM_B], k.warp_column);
    cj_name(f, k.warp_row, "warp_row");
    cj_name(f, k.warp_column, "warp_column");
    cj_comment(f, "The tile of the block, and its product");
    cj_val tiles[2];
    for (int i = 0; i < 2; i++) tiles[i] = cj_shr(f, cj_add(f, k.p.size[i], side - 1), bits_below(side));
    cjk_gemm_tile(f, cj_block_id(f, CJ_X), tiles[CJK_GEMM_A], tiles[CJK_GEMM_B], &row, &column);
    k.o[CJK_GEMM_A].first = cj_mul(f, row, side);
    k.o[CJK_GEMM_B].first = cj_mul(f, column, side);
    cj_name(f, k.o[CJK_GEMM_A].first, "tile_row");
    cj_name(f, k.o[CJK_GEMM_B].first, "tile_column");
    cj_val batch = cj_mad(f, cj_block_id(f, CJ_Z), cj_grid_size(f, CJ_Y), cj_block_id(f, CJ_Y));
    cj_name(f, batch, "batch");
    cj_return_if(f, cj_ge(f, batch, k.p.batches));
    mma_tile(f, &k, batch);
    cj_return(f);
}
