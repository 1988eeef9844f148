/* wgmma: matrices in shared memory, accumulators, the instruction. */
#include <stdio.h>

#include "ptx/blocks/mma_types.h"

enum { UNIT = 16, FIELD = 1 << 14, SHARED_MASK = 0x3ffff, MOST_PENDING = 7, TURNED_BITS = 16 };

/* Bits 62 and 63 of a descriptor. */
static const uint32_t layout_bits[] = {
    [CJ_SWIZZLE_NONE] = 0, [CJ_SWIZZLE_128B] = 1u << 30, [CJ_SWIZZLE_64B] = 2u << 30, [CJ_SWIZZLE_32B] = 3u << 30,
};

/* ---- Matrices in shared memory ----------------------------------------------------------------------------------- */

static bool field(cj_fn *f, uint32_t bytes, const char *what, const char *call)
{
    if (bytes % UNIT == 0 && bytes / UNIT < FIELD) return true;
    cji_block_fail(f, CJ_EINVAL, call, "the %s distance is %u bytes, wants a multiple of 16 below 262144", what, bytes);
    return false;
}

void cj_wgmma_matrix_begin(cj_fn *f, cj_val start, uint32_t leading, uint32_t stride, cj_swizzle swizzle,
                           cj_wgmma_matrix *matrix)
{
    if (matrix) *matrix = (cj_wgmma_matrix){ .high = 0 };
    if (!cji_fn_open(f, __func__)) return;
    if (!matrix) {
        cji_block_fail(f, CJ_EINVAL, __func__, "the matrix is NULL");
        return;
    }
    if ((unsigned)swizzle > CJ_SWIZZLE_128B) {
        cji_block_fail(f, CJ_EINVAL, __func__, "there is no swizzle %d", (int)swizzle);
        return;
    }
    if (!field(f, leading, "leading", __func__) || !field(f, stride, "stride", __func__)) return;
    cj_val at = cji_shared_address(f, start, __func__);
    if (!at.bits) return;
    cj_val units = cj_shr(f, cj_and(f, at, cji_imm_int(f, SHARED_MASK)), cji_imm_int(f, 4));
    uint32_t lead = leading / UNIT << 16;
    matrix->low = lead ? cj_or(f, units, cji_imm_int(f, lead)) : units;
    matrix->high = stride / UNIT | layout_bits[swizzle];
}

/* A descriptor counts units of 16 bytes: what is left of a number would vanish. */
static bool whole_units(cj_fn *f, cj_val offset, const char *call)
{
    int64_t x;
    if (!cji_number_is(f, offset, &x) || (x % UNIT == 0 && x / UNIT < FIELD && x / UNIT > -FIELD)) return true;
    cji_block_fail(f, CJ_EINVAL, call,
                   "the offset is %lld bytes, wants a multiple of 16 below 262144: descriptors count units of 16 bytes",
                   (long long)x);
    return false;
}

/* The halves are joined at each use: an addition in the low half alone stays in uniform registers. */
cj_val cj_wgmma_operand(cj_fn *f, const cj_wgmma_matrix *matrix, cj_val offset)
{
    if (!cji_fn_open(f, __func__)) return CJI_NULL;
    if (!matrix || !matrix->low.bits) {
        cji_block_fail(f, CJ_EINVAL, __func__, "cj_wgmma_matrix_begin has not made the matrix");
        return CJI_NULL;
    }
    if (!cji_val_usable(f, offset, __func__, "the offset") || !whole_units(f, offset, __func__)) return CJI_NULL;
    cj_val units = cj_shr(f, offset, cji_imm_int(f, 4)), low = matrix->low;
    if (!units.bits) return units;
    if (cji_val_kind(units) != CJI_K_IMM || cji_lit_value(&f->lit[(uint32_t)units.bits]) != 0)
        low = cj_add(f, low, units);
    const cj_val half[2] = { low, cj_let(f, CJ_U32, cji_imm_int(f, matrix->high)) };
    const cj_val v[2] = { cji_reg_val(f, CJ_B64), cj_vec_n(f, half, 2) };
    cj_ins_n(f, CJI_SPELLED(MOV_B64), v, 2);
    return f->m->dead ? CJI_NULL : v[0];
}

/* ---- The instruction --------------------------------------------------------------------------------------------- */

/* Can matrix `name` be stored with `outer`, m or n, contiguous? */
static bool good_order(cj_fn *f, cj_mma_type t, uint32_t turned, const char *name, const char *outer, const char *call)
{
    if (!turned || cji_mma_type_bits(t) == TURNED_BITS) return true;
    cji_block_fail(f, CJ_EINVAL, call,
                   "%s_mn is 1, but only matrices of f16 and bf16 may have %s contiguous, not of %s; store it with k "
                   "contiguous", name, outer, cji_mma_type_word(t));
    return false;
}

/* The mnemonic of a shape; false with the failure kept. */
static bool wgmma_mnemonic(cj_fn *f, const cj_wgmma_shape *w, char *out, size_t size, const char *call)
{
    if (!cji_fn_open(f, call)) return false;
    if (!w) return cji_block_fail(f, CJ_EINVAL, call, "the shape is NULL"), false;
    if (!cji_mma_type_good(w->a) || !cji_mma_type_good(w->b) || !cji_mma_type_good(w->d))
        return cji_block_fail(f, CJ_EINVAL, call, "a type of the shape does not exist"), false;
    if (!good_order(f, w->a, w->a_mn, "a", "m", call) || !good_order(f, w->b, w->b_mn, "b", "n", call)) return false;
    snprintf(out, size, CJI_SPELLED(WGMMA), w->n, cji_mma_k(w->a),
             w->saturate ? ".satfinite" : "", cji_mma_type_word(w->d), cji_mma_type_word(w->a),
             cji_mma_type_word(w->b));
    if (cj_op_find(out).form) return true;
    return cji_block_fail(f, CJ_EINVAL, call, "there is no %s", out), false;
}

uint32_t cj_wgmma_k(const cj_wgmma_shape *w) { return w && cji_mma_type_good(w->a) ? cji_mma_k(w->a) : 0; }

cj_val cj_wgmma_accumulators(cj_fn *f, const cj_wgmma_shape *w)
{
    char mnemonic[CJI_MNEMONIC_MAX];
    if (!wgmma_mnemonic(f, w, mnemonic, sizeof mnemonic, __func__)) return CJI_NULL;
    if (w->d == CJ_MMA_F16) return cj_regs(f, CJ_B32, w->n / 4);
    return cj_regs(f, w->d == CJ_MMA_S32 ? CJ_S32 : CJ_F32, w->n / 2);
}

void cj_wgmma(cj_fn *f, const cj_wgmma_shape *w, cj_val d, cj_val a, cj_val b, cj_val accumulate)
{
    char mnemonic[CJI_MNEMONIC_MAX];
    if (!wgmma_mnemonic(f, w, mnemonic, sizeof mnemonic, __func__)) return;
    if (!cji_val_usable(f, a, __func__, "A") || !cji_val_usable(f, accumulate, __func__, "the predicate")) return;
    bool integers = w->d == CJ_MMA_S32, halves = w->a == CJ_MMA_F16 || w->a == CJ_MMA_BF16;
    bool fragments = cji_val_kind(a) == CJI_K_VEC;
    if (fragments && w->a_mn) {
        cji_block_fail(f, CJ_EINVAL, __func__,
                       "a_mn is 1, but A is in registers, which have one layout; set it to 0, or take "
                       "A from shared memory");
        return;
    }
    cj_val v[8] = { d, a, b, cji_predicate(f, accumulate, __func__) };
    size_t n = 4;
    if (!integers) v[n] = v[n + 1] = cji_imm_int(f, 1), n += 2;           /* no negation of A or B */
    if (halves && !fragments) v[n++] = cji_imm_int(f, w->a_mn != 0);
    if (halves) v[n++] = cji_imm_int(f, w->b_mn != 0);
    if (v[3].bits) cj_ins_n(f, mnemonic, v, n);
}

void cj_wgmma_fence(cj_fn *f) { if (cji_fn_open(f, __func__)) cj_ins_n(f, CJI_SPELLED(WGMMA_FENCE_SYNC), NULL, 0); }
void cj_wgmma_commit(cj_fn *f)
{
    if (cji_fn_open(f, __func__)) cj_ins_n(f, CJI_SPELLED(WGMMA_COMMIT_GROUP_SYNC), NULL, 0);
}

void cj_wgmma_wait(cj_fn *f, unsigned groups)
{
    if (!cji_fn_open(f, __func__)) return;
    if (groups > MOST_PENDING) cji_block_fail(f, CJ_EINVAL, __func__, "%u groups, at most %d", groups, MOST_PENDING);
    else CJI_INS(f, CJI_NULL, CJI_SPELLED(WGMMA_WAIT_GROUP_SYNC), cji_imm_int(f, groups));
}
