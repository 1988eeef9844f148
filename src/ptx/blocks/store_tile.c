/* Accumulators of a warpgroup to a tile of shared memory that a tensor map reads: 64 rows of 128 bytes, swizzled. */
#include "ptx/blocks/mma_types.h"

enum { TILE = 8192, ROW = 128, GROUPS = 4, LANES = 32 };

static bool is_16(cj_type type) { return type == CJ_F16 || type == CJ_BF16; }

/* For stmatrix each lane has the address of a row of 16 bytes: rows 0 to 15 of the warp, the left half of a group of 16
 * columns, then the right half. */
static void rows_of_16(cj_fn *f, cj_val base, cj_val warp, cj_val lane, cj_store_tile *t)
{
    cj_val row = cj_mad(f, warp, cji_imm_int(f, 16), cj_and(f, lane, cji_imm_int(f, 15)));
    cj_val start = cj_mad(f, row, cji_imm_int(f, ROW), base), half = cj_shr(f, lane, cji_imm_int(f, 4));
    cj_val turn = cj_and(f, lane, cji_imm_int(f, 7));
    for (int i = 0; i < GROUPS; i++) {
        cj_val unit = i ? cj_add(f, half, cji_imm_int(f, 2 * i)) : half;
        t->at[i] = cj_mad(f, cj_xor(f, unit, turn), cji_imm_int(f, 16), start);
    }
}

/* Plain stores of two neighbours: row lane / 4, 8 bytes of unit 2 i + (lane % 4) / 2. */
static void rows_of_32(cj_fn *f, cj_val base, cj_val warp, cj_val lane, cj_store_tile *t)
{
    cj_val row = cj_shr(f, lane, cji_imm_int(f, 2)), quad = cj_and(f, lane, cji_imm_int(f, 3));
    cj_val start = cj_mad(f, cj_mad(f, warp, cji_imm_int(f, 16), row), cji_imm_int(f, ROW), base);
    cj_val half = cj_shr(f, quad, cji_imm_int(f, 1));
    start = cj_mad(f, cj_and(f, quad, cji_imm_int(f, 1)), cji_imm_int(f, 8), start);
    for (int i = 0; i < GROUPS; i++) {
        cj_val unit = i ? cj_add(f, half, cji_imm_int(f, 2 * i)) : half;
        t->at[i] = cj_mad(f, cj_xor(f, unit, row), cji_imm_int(f, 16), start);
    }
}

void cj_store_tile_begin(cj_fn *f, cj_type type, cj_val shared, cj_store_tile *tile)
{
    if (tile) *tile = (cj_store_tile){ .columns = 0 };
    if (!cji_fn_open(f, __func__)) return;
    if (!tile || (!is_16(type) && type != CJ_F32 && type != CJ_S32 && type != CJ_U32)) {
        cji_block_fail(f, CJ_EINVAL, __func__,
                       tile ? "the type is not CJ_F16, CJ_BF16, CJ_F32, CJ_S32 or CJ_U32" : "the tile is NULL");
        return;
    }
    cj_val base = cji_shared_address(f, shared, __func__);
    if (!base.bits) return;
    cj_val thread = cj_thread_id(f, CJ_X), lane = cj_and(f, thread, cji_imm_int(f, LANES - 1));
    cj_val warp = cj_and(f, cj_shr(f, thread, cji_imm_int(f, 5)), cji_imm_int(f, 3));
    tile->type = type;
    tile->columns = is_16(type) ? 64 : 32;
    (is_16(type) ? rows_of_16 : rows_of_32)(f, base, warp, lane, tile);
}

/* Two f32 as a pair of 16 bits, the first in the low half. */
static cj_val pair_of(cj_fn *f, cj_type type, cj_val first, cj_val second)
{
    cj_val d = cj_reg(f, CJ_B32);
    CJI_INS(f, CJI_NULL, type == CJ_F16 ? CJI_SPELLED(CVT_RN_F16X2_F32) : CJI_SPELLED(CVT_RN_BF16X2_F32), d, second,
            first);
    return d;
}

static void write_16(cj_fn *f, const cj_store_tile *t, uint32_t offset, cj_val acc)
{
    for (unsigned i = 0; i < GROUPS; i++) {
        cj_val pair[4];
        for (unsigned q = 0; q < 4; q++)
            pair[q] = pair_of(f, t->type, cj_elem(f, acc, 8 * i + 2 * q), cj_elem(f, acc, 8 * i + 2 * q + 1));
        cj_matrix_store(f, 4, 0, cj_mem(f, t->at[i], offset), cj_vec_n(f, pair, 4));
    }
}

static void write_32(cj_fn *f, const cj_store_tile *t, uint32_t offset, cj_val acc)
{
    for (unsigned i = 0; i < GROUPS; i++)
        for (unsigned below = 0; below < 2; below++)
            CJI_INS(f, CJI_NULL, CJI_SPELLED(ST_SHARED_V2_B32), cj_mem(f, t->at[i], (int64_t)offset + below * 8 * ROW),
                    cj_slice(f, acc, 4 * i + 2 * below, 2));
}

void cj_store_tile_write(cj_fn *f, const cj_store_tile *tile, uint32_t offset, cj_val accumulators)
{
    if (!cji_fn_open(f, __func__)) return;
    size_t n = cj_length_of(f, accumulators);
    if (!tile || !tile->columns) cji_block_fail(f, CJ_EINVAL, __func__, "cj_store_tile_begin has not made the tile");
    else if (offset % TILE)
        cji_block_fail(f, CJ_EINVAL, __func__, "the offset is %u, wants a multiple of 8192", offset);
    else if (n != tile->columns / 2)
        cji_block_fail(f, CJ_EPTX, __func__, "%zu accumulators, the tile wants %u", n, tile->columns / 2);
    else (is_16(tile->type) ? write_16 : write_32)(f, tile, offset, accumulators);
}
