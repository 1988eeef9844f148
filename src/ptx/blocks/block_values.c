/* Values of several registers: taken apart, copied, moved, shuffled, stored and loaded; lists of registers. */
#include <stdarg.h>
#include <stdio.h>

#include "ptx/blocks/blocks.h"

const char *const cji_spellings[] = {
#define SPELLING(name, text) text,
#include "ptx/blocks/spellings.def"
};

void cji_block_ins(cj_fn *f, cj_val guard, const char *mnemonic, const cj_val *v, size_t n)
{
    if (guard.bits) cj_ins_if_n(f, guard, mnemonic, v, n);
    else cj_ins_n(f, mnemonic, v, n);
}

void cji_block_fail(cj_fn *f, cj_status status, const char *call, const char *format, ...)
{
    char why[200];
    va_list list;
    va_start(list, format);
    vsnprintf(why, sizeof why, format, list);
    va_end(list);
    cji_ptx_fail(f->m, status, call, f->loc, "%s: %s", call, why);
}

/* ---- Lists ------------------------------------------------------------------------------------------------------- */

size_t cj_length_of(cj_fn *f, cj_val v)
{
    uint32_t n = 1;
    if (!cji_fn_open(f, __func__) || !v.bits || !cji_val_usable(f, v, __func__, "the value")) return 0;
    if (cji_val_kind(v) == CJI_K_VEC) cji_fn_words(f, cji_val_word(v), &n);
    return n;
}

cj_val cj_slice(cj_fn *f, cj_val vec, size_t first, size_t n)
{
    size_t length = cj_length_of(f, vec);
    if (!length) return CJI_NULL;
    if (!n || first > length || n > length - first) {
        cji_block_fail(f, CJ_EINVAL, __func__, "%zu elements from %zu of a vector of %zu", n, first, length);
        return CJI_NULL;
    }
    cj_val v[256];
    for (size_t i = 0; i < n; i++)
        v[i] = length == 1 && cji_val_kind(vec) != CJI_K_VEC ? vec : cj_elem(f, vec, first + i);
    return cj_vec_n(f, v, n);
}

cj_val cj_concat_n(cj_fn *f, const cj_val *v, size_t n)
{
    cj_val all[256];
    size_t count = 0;
    if (!cji_fn_open(f, __func__)) return CJI_NULL;
    if (n && !v) return cji_block_fail(f, CJ_EINVAL, __func__, "the array is NULL"), CJI_NULL;
    for (size_t i = 0; i < n; i++) {
        size_t length = cj_length_of(f, v[i]);
        if (!length) return CJI_NULL;
        if (length > sizeof all / sizeof *all - count)
            return cji_block_fail(f, CJ_EINVAL, __func__, "more than 256 elements"), CJI_NULL;
        for (size_t k = 0; k < length; k++)
            all[count++] = cji_val_kind(v[i]) == CJI_K_VEC ? cj_elem(f, v[i], k) : v[i];
    }
    if (!count) return cji_block_fail(f, CJ_EINVAL, __func__, "no elements"), CJI_NULL;
    return cj_vec_n(f, all, count);
}

/* mov to, from under a guard (null: always). */
static bool move(cj_fn *f, uint32_t guard, cj_val to, cj_val from, const char *call)
{
    if (cji_val_kind(to) != CJI_K_REG)
        return cji_block_fail(f, CJ_EPTX, call, "an element is not a register"), false;
    unsigned type = cji_val_type(to);
    if (cji_val_kind(from) == CJI_K_IMM) {
        from = type == CJ_PRED ? cji_predicate(f, from, call) : cji_half_literal(f, from, type, call);
    } else if (cji_unify(type, cji_val_type(from)) == CJ_VOID) {
        return cji_block_fail(f, CJ_EPTX, call, "the value is .%s, wants .%s", cji_type_word(cji_val_type(from)),
                              cji_type_word(type)), false;
    }
    cji_form *e = from.bits ? cji_verb(f, CJI_VERB_MOV, 0, type, 0, call) : NULL;
    const cj_val v[2] = { to, from };
    return e && cji_emit(f, e, guard, v, 2, CJI_NO_DEF, call).bits;
}

static void assign_all(cj_fn *f, bool guarded, cj_val p, cj_val to, cj_val v, const char *call)
{
    uint32_t guard = 0;
    size_t n = cj_length_of(f, to), m = cj_length_of(f, v);
    if (!n || !m || (guarded && !cji_guard(f, p, false, &guard, call)) || guard == CJI_NEVER) return;
    if (cji_val_kind(v) == CJI_K_VEC && m != n) {
        cji_block_fail(f, CJ_EINVAL, call, "the value has %zu elements, wants %zu", m, n);
        return;
    }
    if (cji_val_kind(v) != CJI_K_VEC) v = cji_settle(f, v, call);
    for (size_t i = 0; i < n && v.bits; i++)
        if (!move(f, guard, cji_val_kind(to) == CJI_K_VEC ? cj_elem(f, to, i) : to,
                  cji_val_kind(v) == CJI_K_VEC ? cj_elem(f, v, i) : v, call))
            return;
}

void cj_assign_all(cj_fn *f, cj_val to, cj_val v) { assign_all(f, false, CJI_NULL, to, v, __func__); }
void cj_assign_all_if(cj_fn *f, cj_val p, cj_val to, cj_val v) { assign_all(f, true, p, to, v, __func__); }

/* ---- Parts ------------------------------------------------------------------------------------------------------- */

bool cji_parts_of(cj_fn *f, cj_val v, cji_parts *p, const char *call)
{
    *p = (cji_parts){ .n = 0 };
    if (!cji_fn_open(f, call) || !cji_val_usable(f, v, call, "the value")) return false;
    size_t n = cj_length_of(f, v);
    p->vector = cji_val_kind(v) == CJI_K_VEC;
    if (n > CJI_PARTS)
        return cji_block_fail(f, CJ_EPTX, call, "the value has %zu registers, at most %d fit", n, CJI_PARTS), false;
    for (; p->n < n; p->n++) {
        cj_val x = p->vector ? cj_elem(f, v, p->n) : v;
        unsigned type;
        if (!cji_prepare(f, &x, 1, &type, call)) return false;
        if (type == CJ_PRED || cji_type_bits(type) < 16 || cji_type_bits(type) > 64)
            return cji_block_fail(f, CJ_EPTX, call, "the value is .%s, wants a type of 16, 32 or 64 bits",
                                  cji_type_word(type)),
                   false;
        p->v[p->n] = cji_val_kind(x) == CJI_K_REG ? x : cj_let(f, (cj_type)type, x);
        if (!p->v[p->n].bits) return false;
    }
    return true;
}

cj_val cji_parts_value(cj_fn *f, const cji_parts *p) { return p->vector ? cj_vec_n(f, p->v, p->n) : p->v[0]; }

void cji_parts_give(cj_fn *f, const cji_parts *p, cj_val *result)
{
    if (result) *result = cji_parts_value(f, p);
}

cji_parts cji_parts_copy(cj_fn *f, const cji_parts *p)
{
    cji_parts c = *p;
    for (uint32_t i = 0; i < p->n; i++) c.v[i] = cj_mov(f, p->v[i]);
    return c;
}

void cji_parts_move(cj_fn *f, cj_val guard, const cji_parts *to, const cji_parts *from, const char *call)
{
    for (uint32_t i = 0; i < to->n; i++) assign_all(f, guard.bits != 0, guard, to->v[i], from->v[i], call);
}

/* 16-bit values take 4 bytes: everything in shared memory is 4 or 8 bytes. */
static uint32_t part_bytes(cj_val v) { return cji_type_bits(cji_val_type(v)) > 32 ? 8 : 4; }

uint32_t cji_parts_bytes(const cji_parts *p)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < p->n; i++) n += part_bytes(p->v[i]);
    return n;
}

/* ---- Lanes ------------------------------------------------------------------------------------------------------- */

static cj_val widen(cj_fn *f, cj_val v)
{
    if (cji_type_bits(cji_val_type(v)) != 16) return v;
    return cj_cvt(f, CJ_U32, cj_bits(f, CJ_U16, v));
}

static cj_val narrow_to(cj_fn *f, cj_val wide, cj_val like)
{
    unsigned type = cji_val_type(like);
    if (cji_type_bits(type) != 16) return wide;
    return cj_bits(f, (cj_type)type, cj_cvt(f, CJ_U16, wide));
}

/* shfl.sync of 32 bits; *in, where it is wanted and not made yet. */
static cj_val shuffle_word(cj_fn *f, cji_lanes how, cj_val v, cj_val n, unsigned width, cj_val *in)
{
    static const cji_spelling shuffles[] = { CJI_SPELLING_SHFL_SYNC_BFLY_B32, CJI_SPELLING_SHFL_SYNC_UP_B32,
                                             CJI_SPELLING_SHFL_SYNC_DOWN_B32, CJI_SPELLING_SHFL_SYNC_IDX_B32 };
    cj_val d = cji_reg_val(f, cji_val_type(v)), to = d;
    if (in && !in->bits) {
        *in = cji_reg_val(f, CJ_PRED);
        to = cj_pair(f, d, *in);
    }
    const cj_val op[5] = { to, v, n, cji_imm_int(f, (int64_t)(32 - width) << 8 | (how == CJI_LANES_UP ? 0 : 31)),
                           cji_imm_int(f, UINT32_MAX) };
    cj_ins_n(f, cji_spellings[shuffles[how]], op, 5);
    return d;
}

static cj_val shuffle_part(cj_fn *f, cji_lanes how, cj_val v, cj_val n, unsigned width, cj_val *in)
{
    unsigned type = cji_val_type(v);
    if (cji_type_bits(type) <= 32) return narrow_to(f, shuffle_word(f, how, widen(f, v), n, width, in), v);
    cj_val half[2] = { cji_reg_val(f, CJ_B32), cji_reg_val(f, CJ_B32) };
    const cj_val split[2] = { cj_vec_n(f, half, 2), v };
    cj_ins_n(f, CJI_SPELLED(MOV_B64), split, 2);
    for (int i = 0; i < 2; i++) half[i] = shuffle_word(f, how, half[i], n, width, in);
    const cj_val whole[2] = { cji_reg_val(f, type), cj_vec_n(f, half, 2) };
    cj_ins_n(f, CJI_SPELLED(MOV_B64), whole, 2);
    return whole[0];
}

cji_parts cji_parts_shuffle(cj_fn *f, cji_lanes how, const cji_parts *p, cj_val n, unsigned width, cj_val *in,
                            const char *call)
{
    cji_parts r = *p;
    n = cji_settle(f, n, call);
    if (in) *in = CJI_NULL;
    for (uint32_t i = 0; i < p->n; i++) r.v[i] = shuffle_part(f, how, p->v[i], n, width, in);
    return r;
}

/* ---- Shared memory ----------------------------------------------------------------------------------------------- */

cj_val cji_block_mem(cj_fn *f, cj_val v, int64_t offset)
{
    return cji_val_kind(v) == CJI_K_MEM && !offset ? v : cj_mem(f, v, offset);
}

cj_val cji_shared_address(cj_fn *f, cj_val v, const char *call)
{
    if (!cji_fn_open(f, call) || !cji_val_usable(f, v, call, "the shared address")) return CJI_NULL;
    switch (cji_val_kind(v)) {
    case CJI_K_SYM: {
        const cj_val op[2] = { cji_reg_val(f, CJ_U32), v };
        cj_ins_n(f, CJI_SPELLED(MOV_U32), op, 2);
        return f->m->dead ? CJI_NULL : op[0];
    }
    case CJI_K_MEM: v = cj_addr(f, v); break;
    case CJI_K_REG: break;
    default:
        cji_block_fail(f, CJ_EPTX, call, "the shared address is not a variable, cj_mem or register");
        return CJI_NULL;
    }
    if (!v.bits) return v;
    unsigned type = cji_val_type(v), bits = cji_type_bits(type);
    if (!cji_type_is_int(type) || bits < 32 || bits > 64) {
        cji_block_fail(f, CJ_EPTX, call, "the shared address is .%s, wants an integer of 32 or 64 bits",
                       cji_type_word(type));
        return CJI_NULL;
    }
    return bits == 32 ? v : cj_cvt(f, CJ_U32, v);
}

void cji_parts_store(cj_fn *f, cj_val guard, cj_val address, uint32_t offset, const cji_parts *p)
{
    for (uint32_t i = 0; i < p->n; offset += part_bytes(p->v[i]), i++)
        CJI_INS(f, guard, part_bytes(p->v[i]) > 4 ? CJI_SPELLED(ST_SHARED_B64) : CJI_SPELLED(ST_SHARED_B32),
                cj_mem(f, address, offset), widen(f, p->v[i]));
}

cji_parts cji_parts_load(cj_fn *f, cj_val address, uint32_t offset, const cji_parts *like)
{
    cji_parts r = *like;
    for (uint32_t i = 0; i < r.n; i++) {
        cj_val v = like->v[i];
        unsigned type = cji_type_bits(cji_val_type(v)) == 16 ? CJ_U32 : cji_val_type(v);
        r.v[i] = cji_reg_val(f, type);
        CJI_INS(f, CJI_NULL, part_bytes(v) > 4 ? CJI_SPELLED(LD_SHARED_B64) : CJI_SPELLED(LD_SHARED_B32), r.v[i],
                cj_mem(f, address, offset));
        r.v[i] = narrow_to(f, r.v[i], v);
        offset += part_bytes(v);
    }
    return r;
}
