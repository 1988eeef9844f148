/* The everyday verbs: who am I, barriers, fences, shuffles, votes. */
#include "ptx/fold.h"

/* ---- Special registers ------------------------------------------------------------------------------------------- */

static cj_val read_sreg(cj_fn *f, cji_sreg_verb verb, cj_dim dim, const char *call)
{
    if (!cji_fn_open(f, call)) return CJI_NULL;
    if ((unsigned)dim > CJ_Z) {
        cji_ptx_fail(f->m, CJ_EINVAL, call, f->loc, "%s: dimension %d, wants CJ_X, CJ_Y or CJ_Z", call, (int)dim);
        return CJI_NULL;
    }
    int i = cji_verb_sreg(verb, dim);
    if (i < 0 || !cji_ptx_need_sreg(f->m, (uint32_t)i, f->loc)) return CJI_NULL;
    return cji_settle(f, cji_val_of(f, cji_word(CJI_K_SREG, (uint32_t)i), cji_isa_sreg_at((uint32_t)i)->type), call);
}

cj_val cj_thread_id(cj_fn *f, cj_dim dim) { return read_sreg(f, CJI_SRV_THREAD_ID, dim, __func__); }
cj_val cj_block_id(cj_fn *f, cj_dim dim) { return read_sreg(f, CJI_SRV_BLOCK_ID, dim, __func__); }
cj_val cj_block_size(cj_fn *f, cj_dim dim) { return read_sreg(f, CJI_SRV_BLOCK_SIZE, dim, __func__); }
cj_val cj_grid_size(cj_fn *f, cj_dim dim) { return read_sreg(f, CJI_SRV_GRID_SIZE, dim, __func__); }
cj_val cj_lane_id(cj_fn *f) { return read_sreg(f, CJI_SRV_LANE_ID, CJ_X, __func__); }

cj_val cj_global_id(cj_fn *f, cj_dim dim)
{
    cj_val block = read_sreg(f, CJI_SRV_BLOCK_ID, dim, __func__),
           size = read_sreg(f, CJI_SRV_BLOCK_SIZE, dim, __func__);
    cj_val thread = read_sreg(f, CJI_SRV_THREAD_ID, dim, __func__);
    return thread.bits ? cj_mad(f, block, size, thread) : CJI_NULL;
}

cj_val cj_global_size(cj_fn *f, cj_dim dim)
{
    cj_val size = read_sreg(f, CJI_SRV_BLOCK_SIZE, dim, __func__),
           blocks = read_sreg(f, CJI_SRV_GRID_SIZE, dim, __func__);
    return blocks.bits ? cj_mul(f, size, blocks) : CJI_NULL;
}

/* ---- Barriers and fences ----------------------------------------------------------------------------------------- */

static void plain(cj_fn *f, cji_verb_id verb, const cj_val *v, size_t n, const char *call)
{
    cji_form *e = cji_verb(f, verb, 0, 0, 0, call);
    if (e) cji_emit(f, e, 0, v, n, CJI_NO_DEF, call);
}

enum { FULL_WARP = -1 };

/* Lanes as an operand: a literal of all 32 when null. */
static cj_val all_lanes(cj_fn *f) { return cji_imm_int(f, (int64_t)(uint32_t)FULL_WARP); }

void cj_block_sync(cj_fn *f)
{
    if (!cji_fn_open(f, __func__)) return;
    cj_val zero = cji_imm_int(f, 0);
    if (zero.bits) plain(f, CJI_VERB_BLOCK_SYNC, &zero, 1, __func__);
}

void cj_warp_sync(cj_fn *f, cj_val mask)
{
    if (!cji_fn_open(f, __func__)) return;
    if (!mask.bits) mask = all_lanes(f);
    else if (!cji_val_usable(f, mask, __func__, "the mask")) return;
    if (mask.bits) plain(f, CJI_VERB_WARP_SYNC, &mask, 1, __func__);
}

void cj_fence_block(cj_fn *f) { if (cji_fn_open(f, __func__)) plain(f, CJI_VERB_FENCE_BLOCK, NULL, 0, __func__); }
void cj_fence_device(cj_fn *f) { if (cji_fn_open(f, __func__)) plain(f, CJI_VERB_FENCE_DEVICE, NULL, 0, __func__); }
void cj_fence_system(cj_fn *f) { if (cji_fn_open(f, __func__)) plain(f, CJI_VERB_FENCE_SYSTEM, NULL, 0, __func__); }

/* ---- Shuffles ---------------------------------------------------------------------------------------------------- */

/* Lanes outside: down, xor and idx stop at lane 31, up at lane 0. */
enum { CLAMP_LAST = 31, CLAMP_FIRST = 0 };

static cj_val shuffle32(cj_fn *f, cji_verb_id verb, cj_val v, cj_val n, unsigned type, const char *call)
{
    cji_form *e = cji_verb(f, verb, 0, 0, 0, call);
    const cj_val all[4] = { v, n, cji_imm_int(f, verb == CJI_VERB_SHFL_UP ? CLAMP_FIRST : CLAMP_LAST), all_lanes(f) };
    return e ? cji_emit(f, e, 0, all, 4, type, call) : CJI_NULL;
}

/* 64 bits: both halves on their own. */
static cj_val shuffle64(cj_fn *f, cji_verb_id verb, cj_val v, cj_val n, unsigned type, const char *call)
{
    cji_form *move = cji_verb(f, CJI_VERB_BITS_AS, 0, CJ_B64, 0, call);
    cj_val half[2];
    half[0] = cji_reg_val(f, CJ_B32);
    half[1] = cji_reg_val(f, CJ_B32);
    if (!move || !half[1].bits) return CJI_NULL;
    const cj_val split[2] = { cj_vec_n(f, half, 2), v };
    if (!split[0].bits || !cji_emit(f, move, 0, split, 2, CJI_NO_DEF, call).bits) return CJI_NULL;
    for (int i = 0; i < 2; i++) half[i] = shuffle32(f, verb, half[i], n, CJ_B32, call);
    const cj_val joined = half[1].bits ? cj_vec_n(f, half, 2) : CJI_NULL;
    return joined.bits ? cji_emit(f, move, 0, &joined, 1, type, call) : CJI_NULL;
}

static cj_val shuffle(cj_fn *f, cji_verb_id verb, cj_val v, cj_val n, const char *call)
{
    unsigned type;
    if (!cji_fn_open(f, call) || !cji_prepare(f, &v, 1, &type, call) || !cji_val_usable(f, n, call, "the lane"))
        return CJI_NULL;
    n = cji_settle(f, n, call);
    if (!n.bits) return n;
    switch (cji_type_bits(type)) {
    case 32: return shuffle32(f, verb, v, n, type, call);
    case 64: return shuffle64(f, verb, v, n, type, call);
    default:
        cji_ptx_fail(f->m, CJ_EPTX, call, f->loc, "%s: the value is .%s, wants a type of 32 or 64 bits", call,
                     cji_type_word(type));
        return CJI_NULL;
    }
}

cj_val cj_shfl_down(cj_fn *f, cj_val v, cj_val n) { return shuffle(f, CJI_VERB_SHFL_DOWN, v, n, __func__); }
cj_val cj_shfl_up(cj_fn *f, cj_val v, cj_val n) { return shuffle(f, CJI_VERB_SHFL_UP, v, n, __func__); }
cj_val cj_shfl_xor(cj_fn *f, cj_val v, cj_val n) { return shuffle(f, CJI_VERB_SHFL_XOR, v, n, __func__); }
cj_val cj_shfl_idx(cj_fn *f, cj_val v, cj_val n) { return shuffle(f, CJI_VERB_SHFL_IDX, v, n, __func__); }

/* ---- Votes ------------------------------------------------------------------------------------------------------- */

static cj_val vote(cj_fn *f, cji_verb_id verb, cj_val p, unsigned result, const char *call)
{
    if (!cji_fn_open(f, call) || !cji_val_usable(f, p, call, "the predicate")) return CJI_NULL;
    cji_form *e = cji_verb(f, verb, 0, 0, 0, call);
    const cj_val v[2] = { cji_predicate(f, p, call), all_lanes(f) };
    return e && v[0].bits && v[1].bits ? cji_emit(f, e, 0, v, 2, result, call) : CJI_NULL;
}

cj_val cj_vote_any(cj_fn *f, cj_val p) { return vote(f, CJI_VERB_VOTE_ANY, p, CJ_PRED, __func__); }
cj_val cj_vote_all(cj_fn *f, cj_val p) { return vote(f, CJI_VERB_VOTE_ALL, p, CJ_PRED, __func__); }
cj_val cj_vote_uni(cj_fn *f, cj_val p) { return vote(f, CJI_VERB_VOTE_UNI, p, CJ_PRED, __func__); }
cj_val cj_vote_ballot(cj_fn *f, cj_val p) { return vote(f, CJI_VERB_VOTE_BALLOT, p, CJ_B32, __func__); }
