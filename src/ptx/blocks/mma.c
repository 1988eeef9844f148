/* mma.sync, ldmatrix and stmatrix: fragments of a warp, and where their elements are. */
#include <stdio.h>

#include "ptx/blocks/mma_types.h"

enum { MMA_LANES = 32, ROWS = 16, COLUMNS = 8, TILE_BYTES = 32, SEGMENT = 16 };

static const struct { const char *word; uint8_t bits; } types[] = {
    [CJ_MMA_F16] = { "f16", 16 }, [CJ_MMA_BF16] = { "bf16", 16 }, [CJ_MMA_TF32] = { "tf32", 32 },
    [CJ_MMA_E4M3] = { "e4m3", 8 }, [CJ_MMA_E5M2] = { "e5m2", 8 }, [CJ_MMA_S8] = { "s8", 8 }, [CJ_MMA_U8] = { "u8", 8 },
    [CJ_MMA_F64] = { "f64", 64 }, [CJ_MMA_F32] = { "f32", 32 }, [CJ_MMA_S32] = { "s32", 32 },
};

const char *cji_mma_type_word(cj_mma_type t) { return types[t].word; }
uint32_t cji_mma_type_bits(cj_mma_type t) { return types[t].bits; }

/* ---- Positions of accumulators ----------------------------------------------------------------------------------- */

uint32_t cj_acc_row(uint32_t i) { return 8 * (i >> 1 & 1); }
uint32_t cj_acc_column(uint32_t i) { return 8 * (i >> 2) + (i & 1); }

static void acc_position(cj_fn *f, bool warpgroup, cj_val *row, cj_val *column, const char *call)
{
    if (row) *row = CJI_NULL;
    if (column) *column = CJI_NULL;
    if (!cji_fn_open(f, call)) return;
    cj_val thread = cj_thread_id(f, CJ_X), lane = cj_and(f, thread, cji_imm_int(f, MMA_LANES - 1));
    if (row) {
        *row = cj_shr(f, lane, cji_imm_int(f, 2));
        if (warpgroup) {
            cj_val warp = cj_and(f, cj_shr(f, thread, cji_imm_int(f, 5)), cji_imm_int(f, 3));
            *row = cj_mad(f, warp, cji_imm_int(f, ROWS), *row);
        }
    }
    if (column) *column = cj_shl(f, cj_and(f, lane, cji_imm_int(f, 3)), cji_imm_int(f, 1));
}

void cj_mma_acc_position(cj_fn *f, cj_val *row, cj_val *column) { acc_position(f, false, row, column, __func__); }
void cj_wgmma_acc_position(cj_fn *f, cj_val *row, cj_val *column) { acc_position(f, true, row, column, __func__); }

/* ---- mma.sync ---------------------------------------------------------------------------------------------------- */

static bool mma_mnemonic(cj_fn *f, const cj_mma_shape *s, char *out, size_t size, const char *call)
{
    if (!cji_fn_open(f, call)) return false;
    if (!s) return cji_block_fail(f, CJ_EINVAL, call, "the shape is NULL"), false;
    if (!cji_mma_type_good(s->a) || !cji_mma_type_good(s->b) || !cji_mma_type_good(s->d))
        return cji_block_fail(f, CJ_EINVAL, call, "a type of the shape does not exist"), false;
    snprintf(out, size, CJI_SPELLED(MMA), s->k, s->saturate ? ".satfinite" : "",
             cji_mma_type_word(s->d), cji_mma_type_word(s->a), cji_mma_type_word(s->b), cji_mma_type_word(s->d));
    if (cj_op_find(out).form) return true;
    return cji_block_fail(f, CJ_EINVAL, call, "there is no %s", out), false;
}

/* Registers for rows * columns elements over a warp. */
static cj_val fragment(cj_fn *f, const cj_mma_shape *s, cj_mma_type t, uint32_t elements, const char *call)
{
    char mnemonic[CJI_MNEMONIC_MAX];
    if (!mma_mnemonic(f, s, mnemonic, sizeof mnemonic, call)) return CJI_NULL;
    if (t == CJ_MMA_F64) return cj_regs(f, CJ_F64, elements / MMA_LANES);
    cj_type type = t == CJ_MMA_F32 ? CJ_F32 : t == CJ_MMA_S32 ? CJ_S32 : CJ_B32;
    return cj_regs(f, type, elements * cji_mma_type_bits(t) / 32 / MMA_LANES);
}

cj_val cj_mma_a(cj_fn *f, const cj_mma_shape *mma)
{
    return fragment(f, mma, mma ? mma->a : CJ_MMA_F16, mma ? ROWS * mma->k : 0, __func__);
}

cj_val cj_mma_b(cj_fn *f, const cj_mma_shape *mma)
{
    return fragment(f, mma, mma ? mma->b : CJ_MMA_F16, mma ? COLUMNS * mma->k : 0, __func__);
}

cj_val cj_mma_accumulators(cj_fn *f, const cj_mma_shape *mma)
{
    return fragment(f, mma, mma ? mma->d : CJ_MMA_F32, ROWS * COLUMNS, __func__);
}

void cj_mma(cj_fn *f, const cj_mma_shape *mma, cj_val d, cj_val a, cj_val b, cj_val c)
{
    char mnemonic[CJI_MNEMONIC_MAX];
    const cj_val v[4] = { d, a, b, c };
    if (mma_mnemonic(f, mma, mnemonic, sizeof mnemonic, __func__)) cj_ins_n(f, mnemonic, v, 4);
}

/* ---- Positions of fragments -------------------------------------------------------------------------------------- */

/* How many elements a register has. */
static uint32_t in_register(cj_mma_type t)
{
    return cji_mma_type_good(t) && types[t].bits < 32 ? 32u / types[t].bits : 1;
}

/* Lane l begins at row l / 4 of A, or column l / 4 of B, and behind as many elements of k as l % 4 registers have. */
static void fragment_position(cj_fn *f, const cj_mma_shape *s, bool b, cj_val *row, cj_val *column, const char *call)
{
    char mnemonic[CJI_MNEMONIC_MAX];
    if (row) *row = CJI_NULL;
    if (column) *column = CJI_NULL;
    if (!mma_mnemonic(f, s, mnemonic, sizeof mnemonic, call)) return;
    cj_val *outer = b ? column : row, *k = b ? row : column;
    cj_val lane = cj_and(f, cj_thread_id(f, CJ_X), cji_imm_int(f, MMA_LANES - 1));
    if (outer) *outer = cj_shr(f, lane, cji_imm_int(f, 2));
    if (k) *k = cj_mul(f, cj_and(f, lane, cji_imm_int(f, 3)), cji_imm_int(f, in_register(b ? s->b : s->a)));
}

void cj_mma_a_position(cj_fn *f, const cj_mma_shape *mma, cj_val *row, cj_val *column)
{
    fragment_position(f, mma, false, row, column, __func__);
}

void cj_mma_b_position(cj_fn *f, const cj_mma_shape *mma, cj_val *row, cj_val *column)
{
    fragment_position(f, mma, true, row, column, __func__);
}

/* Registers of A are 8 rows apart, and every second one as far in k as four lanes reach; those of B in k alone. */
uint32_t cj_mma_a_row(const cj_mma_shape *mma, uint32_t i) { return mma ? 8 * (i / in_register(mma->a) % 2) : 0; }

uint32_t cj_mma_a_column(const cj_mma_shape *mma, uint32_t i)
{
    uint32_t each = mma ? in_register(mma->a) : 1;
    return i / each / 2 * 4 * each + i % each;
}

uint32_t cj_mma_b_row(const cj_mma_shape *mma, uint32_t i)
{
    uint32_t each = mma ? in_register(mma->b) : 1;
    return i / each * 4 * each + i % each;
}

/* ---- ldmatrix and stmatrix --------------------------------------------------------------------------------------- */

static bool matrix_ins(cj_fn *f, const char *form, unsigned count, int transposed, char *out, size_t size,
                       const char *call)
{
    if (!cji_fn_open(f, call)) return false;
    if (count != 1 && count != 2 && count != 4)
        return cji_block_fail(f, CJ_EINVAL, call, "%u matrices, wants 1, 2 or 4", count), false;
    snprintf(out, size, form, count, transposed ? ".trans" : "");
    return true;
}

void cj_matrix_load(cj_fn *f, unsigned count, int transposed, cj_val at, cj_val *matrices)
{
    char mnemonic[CJI_MNEMONIC_MAX];
    if (matrices) *matrices = CJI_NULL;
    if (!matrix_ins(f, CJI_SPELLED(LDMATRIX), count, transposed, mnemonic, sizeof mnemonic,
                    __func__))
        return;
    if (!cji_val_usable(f, at, __func__, "the address")) return;
    cj_val d = cj_regs(f, CJ_B32, count);
    CJI_INS(f, CJI_NULL, mnemonic, d, cji_block_mem(f, at, 0));
    if (matrices) *matrices = d;
}

void cj_matrix_store(cj_fn *f, unsigned count, int transposed, cj_val at, cj_val matrices)
{
    char mnemonic[CJI_MNEMONIC_MAX];
    if (!matrix_ins(f, CJI_SPELLED(STMATRIX), count, transposed, mnemonic, sizeof mnemonic,
                    __func__))
        return;
    if (!cji_val_usable(f, at, __func__, "the address")) return;
    CJI_INS(f, CJI_NULL, mnemonic, cji_block_mem(f, at, 0), matrices);
}

/* The 16-byte unit of a row that holds unit `unit` (a register or number) under a swizzle. */
static cj_val permuted(cj_fn *f, cj_val unit, cj_val row, cj_swizzle swizzle)
{
    switch (swizzle) {
    case CJ_SWIZZLE_128B: return cj_xor(f, unit, cj_and(f, row, cji_imm_int(f, 7)));
    case CJ_SWIZZLE_64B: return cj_xor(f, unit, cj_and(f, cj_shr(f, row, cji_imm_int(f, 1)), cji_imm_int(f, 3)));
    case CJ_SWIZZLE_32B: return cj_xor(f, unit, cj_and(f, cj_shr(f, row, cji_imm_int(f, 2)), cji_imm_int(f, 1)));
    default: return unit;
    }
}

static bool good_rows(cj_fn *f, uint32_t pitch, uint32_t column, cj_swizzle swizzle, const char *call)
{
    static const uint32_t width[] = {
        [CJ_SWIZZLE_NONE] = 0, [CJ_SWIZZLE_32B] = 32, [CJ_SWIZZLE_64B] = 64, [CJ_SWIZZLE_128B] = 128
    };
    if (!cji_fn_open(f, call)) return false;
    if ((unsigned)swizzle > CJ_SWIZZLE_128B)
        return cji_block_fail(f, CJ_EINVAL, call, "there is no swizzle %d", (int)swizzle), false;
    if (!pitch || pitch % SEGMENT)
        return cji_block_fail(f, CJ_EINVAL, call, "rows of %u bytes, wants a multiple of 16", pitch), false;
    if (swizzle && pitch != width[swizzle])
        return cji_block_fail(f, CJ_EINVAL, call, "rows of %u bytes, the swizzle wants %u", pitch, width[swizzle]),
               false;
    if (column % TILE_BYTES || column > pitch - TILE_BYTES || pitch < TILE_BYTES)
        return cji_block_fail(f, CJ_EINVAL, call,
                              "byte column %u of rows of %u bytes, wants a multiple of 32 within the row", column,
                              pitch),
               false;
    return true;
}

/* Where lane 8 i + r finds row r of matrix i: A's matrices 1 and 3 are 8 rows below 0 and 2, B's 2 and 3 below 0 and 1;
 * the other pair is 16 bytes further. */
static cj_val fragment_at(cj_fn *f, cj_val shared, uint32_t pitch, uint32_t column, cj_swizzle swizzle, bool b,
                          const char *call)
{
    if (!good_rows(f, pitch, column, swizzle, call)) return CJI_NULL;
    cj_val base = cji_shared_address(f, shared, call);
    if (!base.bits) return base;
    cj_val lane = cj_lane_id(f), low = cj_and(f, lane, cji_imm_int(f, b ? 7 : 15)),
           high = cj_shr(f, lane, cji_imm_int(f, 4));
    cj_val row = low, half = high;
    if (b) {
        row = cj_mad(f, high, cji_imm_int(f, 8), low);
        half = cj_and(f, cj_shr(f, lane, cji_imm_int(f, 3)), cji_imm_int(f, 1));
    }
    cj_val unit = column ? cj_add(f, half, cji_imm_int(f, column / SEGMENT)) : half;
    unit = permuted(f, unit, row, swizzle);
    cj_val start = cj_mad(f, row, cji_imm_int(f, pitch), base);
    return cj_mad(f, unit, cji_imm_int(f, SEGMENT), start);
}

cj_val cj_mma_a_at(cj_fn *f, cj_val shared, uint32_t pitch, uint32_t column, cj_swizzle swizzle)
{
    return fragment_at(f, shared, pitch, column, swizzle, false, __func__);
}

cj_val cj_mma_b_at(cj_fn *f, cj_val shared, uint32_t pitch, uint32_t column, cj_swizzle swizzle)
{
    return fragment_at(f, shared, pitch, column, swizzle, true, __func__);
}
