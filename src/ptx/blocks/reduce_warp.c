/* Reductions and scans over the lanes of a warp. */
#include "ptx/blocks/blocks.h"

enum { WARP = 32 };

/* ---- Joining two values ------------------------------------------------------------------------------------------ */

static const cji_verb_id verb_of[] = {
    [CJ_COMBINE_ADD] = CJI_VERB_ADD, [CJ_COMBINE_MUL] = CJI_VERB_MUL, [CJ_COMBINE_MIN] = CJI_VERB_MIN,
    [CJ_COMBINE_MAX] = CJI_VERB_MAX, [CJ_COMBINE_AND] = CJI_VERB_AND, [CJ_COMBINE_OR] = CJI_VERB_OR,
    [CJ_COMBINE_XOR] = CJI_VERB_XOR,
};

/* The type that the verb works on: untyped registers count as unsigned. */
static unsigned joined_type(cji_verb_id verb, unsigned type)
{
    if (cji_verb_has(verb, type, 0)) return type;
    switch (type) {
    case CJ_B16: return CJ_U16;
    case CJ_B32: return CJ_U32;
    case CJ_B64: return CJ_U64;
    default: return type;
    }
}

static bool check_fn(cj_fn *f, cj_fn *fn, const cji_parts *p, const char *call)
{
    if (fn->nparam == 2 * p->n && fn->nresult == p->n) return true;
    cji_block_fail(
        f, CJ_EPTX, call, "%s has %zu parameters and %zu results; for a value of %u registers it wants %u and %u",
        cji_short(cji_ptx_name(fn->m, fn->name)), (size_t)fn->nparam, (size_t)fn->nresult, p->n, 2 * p->n, p->n);
    return false;
}

bool cji_join_check(cj_fn *f, const cji_join *j, const cji_parts *p, const char *call)
{
    if (j->fn) return check_fn(f, j->fn, p, call);
    if ((unsigned)j->op > CJ_COMBINE_XOR)
        return cji_block_fail(f, CJ_EINVAL, call, "there is no operation %d", (int)j->op), false;
    for (uint32_t i = 0; i < p->n; i++) {
        unsigned type = cji_val_type(p->v[i]);
        if (cji_verb_has(verb_of[j->op], joined_type(verb_of[j->op], type), 0)) continue;
        return cji_block_fail(f, CJ_EPTX, call, "the operation does not exist for .%s", cji_type_word(type)), false;
    }
    return true;
}

void cji_join_into(cj_fn *f, const cji_join *j, cj_val guard, const cji_parts *to, const cji_parts *low,
                   const cji_parts *high, const char *call)
{
    uint32_t word = 0;
    if (guard.bits && !cji_guard(f, guard, false, &word, call)) return;
    if (j->fn) {
        cj_val arg[2 * CJI_PARTS];
        cji_parts r = *to;
        for (uint32_t i = 0; i < to->n; i++) {
            arg[i] = low->v[i];
            arg[to->n + i] = high->v[i];
            r.v[i] = cji_reg_val(f, cji_val_type(to->v[i]));
        }
        cj_call_into(f, j->fn, r.v, r.n, arg, 2 * (size_t)to->n);
        cji_parts_move(f, guard, to, &r, call);
        return;
    }
    for (uint32_t i = 0; i < to->n; i++) {
        cji_verb_id verb = verb_of[j->op];
        cji_form *e = cji_verb(f, verb, 0, joined_type(verb, cji_val_type(to->v[i])), 0, call);
        const cj_val v[3] = { to->v[i], low->v[i], high->v[i] };
        if (!e || !cji_emit(f, e, word, v, 3, CJI_NO_DEF, call).bits) return;
    }
}

/* The largest or smallest value of a type, as bits: infinities of floating point. */
static uint64_t extreme(unsigned type, bool largest)
{
    unsigned bits = cji_type_bits(type);
    uint64_t ones = bits > 63 ? UINT64_MAX : ((uint64_t)1 << bits) - 1, sign = (uint64_t)1 << (bits - 1);
    switch (type) {
    case CJ_F64: return largest ? 0x7ff0000000000000u : 0xfff0000000000000u;
    case CJ_F32: return largest ? 0x7f800000 : 0xff800000;
    case CJ_F16: return largest ? 0x7c00 : 0xfc00;
    case CJ_BF16: return largest ? 0x7f80 : 0xff80;
    case CJ_F16X2: return largest ? 0x7c007c00 : 0xfc00fc00;
    case CJ_BF16X2: return largest ? 0x7f807f80 : 0xff80ff80;
    case CJ_S16: case CJ_S32: case CJ_S64: return largest ? sign - 1 : sign;
    default: return largest ? ones : 0;
    }
}

static uint64_t one_bits(unsigned type)
{
    switch (type) {
    case CJ_F64: return 0x3ff0000000000000u;
    case CJ_F32: return 0x3f800000;
    case CJ_F16: case CJ_BF16: case CJ_F16X2: case CJ_BF16X2: return cji_half_of(type, 1.0);
    default: return 1;
    }
}

static uint64_t identity_bits(cj_combine_op op, unsigned type)
{
    switch (op) {
    case CJ_COMBINE_MUL: return one_bits(type);
    case CJ_COMBINE_MIN: return extreme(type, true);
    case CJ_COMBINE_MAX: return extreme(type, false);
    case CJ_COMBINE_AND: return extreme(CJ_U64, true) >> (64 - cji_type_bits(type));
    default: return 0;
    }
}

cji_parts cji_join_identity(cj_fn *f, const cji_join *j, const cji_parts *like, const char *call)
{
    cji_parts r = *like;
    for (uint32_t i = 0; i < r.n; i++) {
        unsigned type = cji_val_type(like->v[i]), plain = cji_type_bits_of(type);
        cj_val bits = cj_imm_bits(f, (cj_type)plain, identity_bits(j->op, type));
        r.v[i] = cji_reg_val(f, type);
        cji_form *e = cji_verb(f, CJI_VERB_MOV, 0, plain, 0, call);
        const cj_val v[2] = { r.v[i], bits };
        if (!e || !bits.bits || !cji_emit(f, e, 0, v, 2, CJI_NO_DEF, call).bits) break;
    }
    return r;
}

/* ---- A warp ------------------------------------------------------------------------------------------------------ */

/* Pairs, then pairs of pairs: after the step of `off` each lane has its group of 2 * off lanes.  For op both lanes of a
 * pair compute the same bits, since it commutes; fn gets the lower lanes first. */
void cji_warp_reduce(cj_fn *f, const cji_join *j, const cji_parts *p, unsigned width, const char *call)
{
    cj_val lane = j->fn && width > 1 ? cj_lane_id(f) : CJI_NULL;
    for (unsigned off = 1; off < width; off *= 2) {
        cji_parts other = cji_parts_shuffle(f, CJI_LANES_XOR, p, cji_imm_int(f, off), WARP, NULL, call);
        if (!j->fn) {
            cji_join_into(f, j, CJI_NULL, p, p, &other, call);
            continue;
        }
        cj_val upper = cj_ne(f, cj_and(f, lane, cji_imm_int(f, off)), cji_imm_int(f, 0));
        cji_parts low = *p, high = *p;
        for (uint32_t i = 0; i < p->n; i++) {
            low.v[i] = cj_select(f, upper, other.v[i], p->v[i]);
            high.v[i] = cj_select(f, upper, p->v[i], other.v[i]);
        }
        cji_join_into(f, j, CJI_NULL, p, &low, &high, call);
    }
}

void cji_warp_scan(cj_fn *f, const cji_join *j, const cji_parts *p, unsigned width, const char *call)
{
    for (unsigned off = 1; off < width; off *= 2) {
        cj_val in;
        cji_parts below = cji_parts_shuffle(f, CJI_LANES_UP, p, cji_imm_int(f, off), width, &in, call);
        cji_join_into(f, j, in, p, &below, p, call);
    }
}

cji_parts cji_warp_exclusive(cj_fn *f, const cji_parts *inclusive, const cji_parts *identity, unsigned width,
                             const char *call)
{
    cj_val in;
    cji_parts e = cji_parts_shuffle(f, CJI_LANES_UP, inclusive, cji_imm_int(f, 1), width, &in, call);
    if (width > 1) {
        cji_parts_move(f, cj_not(f, in), &e, identity, call);
        return e;
    }
    return *identity;
}

/* ---- Public calls ------------------------------------------------------------------------------------------------ */

static bool begin(cj_fn *f, const cji_join *j, cj_val v, unsigned width, cji_parts *p, const char *call)
{
    if (!cji_parts_of(f, v, p, call) || !cji_join_check(f, j, p, call)) return false;
    if (!width || width > WARP || (width & (width - 1)))
        return cji_block_fail(f, CJ_EINVAL, call, "the width is %u, wants 1, 2, 4, 8, 16 or 32", width), false;
    *p = cji_parts_copy(f, p);
    return true;
}

static void reduce(cj_fn *f, const cji_join *j, cj_val v, unsigned width, cj_val *result, const char *call)
{
    cji_parts p;
    if (!begin(f, j, v, width, &p, call)) return;
    cji_warp_reduce(f, j, &p, width, call);
    cji_parts_give(f, &p, result);
}

void cj_warp_reduce(cj_fn *f, cj_combine_op op, cj_val v, unsigned width, cj_val *result)
{
    if (result) *result = CJI_NULL;
    reduce(f, &(cji_join){ .op = op }, v, width, result, __func__);
}

void cj_warp_reduce_fn(cj_fn *f, cj_fn *op, cj_val v, unsigned width, cj_val *result)
{
    if (result) *result = CJI_NULL;
    if (cji_fn_callable(f, op, __func__)) reduce(f, &(cji_join){ .fn = op }, v, width, result, __func__);
}

bool cji_identity_of(cj_fn *f, const cji_join *j, cj_val identity, const cji_parts *like, cji_parts *e,
                     const char *call)
{
    if (!j->fn) *e = cji_join_identity(f, j, like, call);
    else if (!identity.bits)
        return cji_block_fail(f, CJ_EINVAL, call, "the exclusive scan wants the identity of the operation"), false;
    else if (!cji_parts_of(f, identity, e, call)) return false;
    else if (e->n != like->n)
        return cji_block_fail(f, CJ_EPTX, call, "the identity has %u registers, wants %u", e->n, like->n), false;
    return true;
}

static void scan(cj_fn *f, const cji_join *j, cj_val v, cj_val identity, unsigned width, cj_val *inclusive,
                 cj_val *exclusive, const char *call)
{
    cji_parts p, none;
    if (!begin(f, j, v, width, &p, call)) return;
    if (exclusive && !cji_identity_of(f, j, identity, &p, &none, call)) return;
    cji_warp_scan(f, j, &p, width, call);
    if (exclusive) {
        cji_parts e = cji_warp_exclusive(f, &p, &none, width, call);
        cji_parts_give(f, &e, exclusive);
    }
    cji_parts_give(f, &p, inclusive);
}

void cj_warp_scan(cj_fn *f, cj_combine_op op, cj_val v, unsigned width, cj_val *inclusive, cj_val *exclusive)
{
    if (inclusive) *inclusive = CJI_NULL;
    if (exclusive) *exclusive = CJI_NULL;
    scan(f, &(cji_join){ .op = op }, v, CJI_NULL, width, inclusive, exclusive, __func__);
}

void cj_warp_scan_fn(cj_fn *f, cj_fn *op, cj_val v, cj_val identity, unsigned width, cj_val *inclusive,
                     cj_val *exclusive)
{
    if (inclusive) *inclusive = CJI_NULL;
    if (exclusive) *exclusive = CJI_NULL;
    if (!cji_fn_callable(f, op, __func__)) return;
    scan(f, &(cji_join){ .fn = op }, v, identity, width, inclusive, exclusive, __func__);
}
