/* The everyday verbs: arithmetic, bits, comparison, conversion. */
#include "ptx/fold.h"

/* ---- The common shape -------------------------------------------------------------------------------------------- */

/* Untyped registers count as unsigned where the verb wants a number's type. */
static unsigned verb_type(cji_verb_id verb, unsigned type)
{
    if (cji_verb_has(verb, type, 0)) return type;
    switch (type) {
    case CJ_B16: return CJ_U16;
    case CJ_B32: return CJ_U32;
    case CJ_B64: return CJ_U64;
    default: return type;
    }
}

enum { SAME = 0 }; /* the result has the operands' type */

static cj_val verb_of_numbers(cj_fn *f, cji_verb_id verb, cj_val *v, size_t n, unsigned result, const char *call);

/* n operands of one type; the result has `result` as its type. */
static cj_val verb_typed(cj_fn *f, cji_verb_id verb, cj_val *v, size_t n, unsigned result, const char *call)
{
    unsigned type;
    if (!cji_fn_open(f, call)) return CJI_NULL;
    if (cji_all_registers(f, v, n, &type)) {
        type = verb_type(verb, type);
        cji_form *e = cji_verb(f, verb, 0, type, 0, call);
        return e ? cji_emit(f, e, 0, v, n, result == SAME ? type : result, call) : CJI_NULL;
    }
    if (!cji_prepare_any(f, v, n, &type, call)) return CJI_NULL;
    if (type == CJ_VOID) return verb_of_numbers(f, verb, v, n, result, call);
    type = verb_type(verb, type);
    cji_form *e = cji_verb(f, verb, 0, type, 0, call);
    for (size_t i = 0; e && i < n; i++) {
        v[i] = cji_half_literal(f, v[i], type, call);
        if (!v[i].bits) return CJI_NULL;
    }
    return e ? cji_emit(f, e, 0, v, n, result == SAME ? type : result, call) : CJI_NULL;
}

/* Numbers only, where C computes nothing: the first one in a register of their type, or of .f32 for a verb that has
 * no other. */
static cj_val verb_of_numbers(cj_fn *f, cji_verb_id verb, cj_val *v, size_t n, unsigned result, const char *call)
{
    cj_val folded;
    if (cji_fold(f, verb, v, n, &folded, call)) return folded;
    unsigned type = cji_number_type(f, v, n);
    if (!cji_verb_has(verb, verb_type(verb, type), 0) && cji_verb_has(verb, CJ_F32, 0)) type = CJ_F32;
    v[0] = cj_let(f, (cj_type)type, v[0]);
    return v[0].bits ? verb_typed(f, verb, v, n, result, call) : CJI_NULL;
}

static cj_val verb_typed1(cj_fn *f, cji_verb_id verb, cj_val a, unsigned result, const char *call)
{
    return verb_typed(f, verb, &a, 1, result, call);
}

static cj_val typed2(cj_fn *f, cji_verb_id verb, cj_val a, cj_val b, unsigned result, const char *call)
{
    cj_val v[2] = { a, b };
    return verb_typed(f, verb, v, 2, result, call);
}

static cj_val typed3(cj_fn *f, cji_verb_id verb, cj_val a, cj_val b, cj_val c, const char *call)
{
    cj_val v[3] = { a, b, c };
    return verb_typed(f, verb, v, 3, SAME, call);
}

/* ---- Arithmetic -------------------------------------------------------------------------------------------------- */

cj_val cj_add(cj_fn *f, cj_val a, cj_val b) { return typed2(f, CJI_VERB_ADD, a, b, SAME, __func__); }
cj_val cj_sub(cj_fn *f, cj_val a, cj_val b) { return typed2(f, CJI_VERB_SUB, a, b, SAME, __func__); }
cj_val cj_mul(cj_fn *f, cj_val a, cj_val b) { return typed2(f, CJI_VERB_MUL, a, b, SAME, __func__); }
cj_val cj_mul_hi(cj_fn *f, cj_val a, cj_val b) { return typed2(f, CJI_VERB_MUL_HI, a, b, SAME, __func__); }
cj_val cj_mad(cj_fn *f, cj_val a, cj_val b, cj_val c) { return typed3(f, CJI_VERB_MAD, a, b, c, __func__); }
cj_val cj_fma(cj_fn *f, cj_val a, cj_val b, cj_val c) { return typed3(f, CJI_VERB_FMA, a, b, c, __func__); }
cj_val cj_div(cj_fn *f, cj_val a, cj_val b) { return typed2(f, CJI_VERB_DIV, a, b, SAME, __func__); }
cj_val cj_rem(cj_fn *f, cj_val a, cj_val b) { return typed2(f, CJI_VERB_REM, a, b, SAME, __func__); }
cj_val cj_min(cj_fn *f, cj_val a, cj_val b) { return typed2(f, CJI_VERB_MIN, a, b, SAME, __func__); }
cj_val cj_max(cj_fn *f, cj_val a, cj_val b) { return typed2(f, CJI_VERB_MAX, a, b, SAME, __func__); }
cj_val cj_neg(cj_fn *f, cj_val a) { return verb_typed1(f, CJI_VERB_NEG, a, SAME, __func__); }
cj_val cj_abs(cj_fn *f, cj_val a) { return verb_typed1(f, CJI_VERB_ABS, a, SAME, __func__); }
cj_val cj_sqrt(cj_fn *f, cj_val a) { return verb_typed1(f, CJI_VERB_SQRT, a, SAME, __func__); }
cj_val cj_rcp(cj_fn *f, cj_val a) { return verb_typed1(f, CJI_VERB_RCP, a, SAME, __func__); }
cj_val cj_floor(cj_fn *f, cj_val a) { return verb_typed1(f, CJI_VERB_FLOOR, a, SAME, __func__); }
cj_val cj_ceil(cj_fn *f, cj_val a) { return verb_typed1(f, CJI_VERB_CEIL, a, SAME, __func__); }
cj_val cj_trunc(cj_fn *f, cj_val a) { return verb_typed1(f, CJI_VERB_TRUNC, a, SAME, __func__); }
cj_val cj_round(cj_fn *f, cj_val a) { return verb_typed1(f, CJI_VERB_ROUND, a, SAME, __func__); }
cj_val cj_approx_div(cj_fn *f, cj_val a, cj_val b) { return typed2(f, CJI_VERB_APPROX_DIV, a, b, SAME, __func__); }
cj_val cj_approx_sqrt(cj_fn *f, cj_val a) { return verb_typed1(f, CJI_VERB_APPROX_SQRT, a, SAME, __func__); }
cj_val cj_approx_rsqrt(cj_fn *f, cj_val a) { return verb_typed1(f, CJI_VERB_APPROX_RSQRT, a, SAME, __func__); }
cj_val cj_approx_rcp(cj_fn *f, cj_val a) { return verb_typed1(f, CJI_VERB_APPROX_RCP, a, SAME, __func__); }
cj_val cj_approx_sin(cj_fn *f, cj_val a) { return verb_typed1(f, CJI_VERB_APPROX_SIN, a, SAME, __func__); }
cj_val cj_approx_cos(cj_fn *f, cj_val a) { return verb_typed1(f, CJI_VERB_APPROX_COS, a, SAME, __func__); }
cj_val cj_approx_exp2(cj_fn *f, cj_val a) { return verb_typed1(f, CJI_VERB_APPROX_EXP2, a, SAME, __func__); }
cj_val cj_approx_log2(cj_fn *f, cj_val a) { return verb_typed1(f, CJI_VERB_APPROX_LOG2, a, SAME, __func__); }

static unsigned twice(unsigned type)
{
    switch (type) {
    case CJ_U16: case CJ_B16: return CJ_U32;
    case CJ_S16: return CJ_S32;
    case CJ_U32: case CJ_B32: return CJ_U64;
    case CJ_S32: return CJ_S64;
    default: return SAME;
    }
}

cj_val cj_mul_wide(cj_fn *f, cj_val a, cj_val b)
{
    unsigned t = cji_val_kind(a) == CJI_K_IMM ? cji_val_type(b) : cji_val_type(a);
    return typed2(f, CJI_VERB_MUL_WIDE, a, b, twice(t), __func__);
}

/* ---- Bits and predicates ----------------------------------------------------------------------------------------- */

static bool is_predicate(cj_val v) { return cji_val_type(v) == CJ_PRED; }

/* A constant and a predicate, which is a constant too or not. */
static cj_val logic_constant(cj_fn *f, cji_verb_id verb, bool holds, cj_val p, const char *call)
{
    bool both;
    if (cji_is_constant(f, p, &both))
        return cji_constant(f, verb == CJI_VERB_AND  ? holds && both
                               : verb == CJI_VERB_OR ? holds || both
                                                     : holds != both);
    if (verb == CJI_VERB_XOR && holds) return verb_typed1(f, CJI_VERB_INV, p, SAME, call);
    if (verb != CJI_VERB_XOR && holds == (verb == CJI_VERB_OR))
        return cji_val_usable(f, p, call, "the predicate") ? cji_constant(f, holds) : CJI_NULL;
    return cj_mov(f, p);
}

static cj_val logic(cj_fn *f, cji_verb_id verb, cj_val a, cj_val b, const char *call)
{
    bool holds;
    if (cji_fn_open(f, call) && (is_predicate(a) || is_predicate(b))) {
        if (cji_is_constant(f, a, &holds)) return logic_constant(f, verb, holds, b, call);
        if (cji_is_constant(f, b, &holds)) return logic_constant(f, verb, holds, a, call);
    }
    return typed2(f, verb, a, b, SAME, call);
}

cj_val cj_and(cj_fn *f, cj_val a, cj_val b) { return logic(f, CJI_VERB_AND, a, b, __func__); }
cj_val cj_or(cj_fn *f, cj_val a, cj_val b) { return logic(f, CJI_VERB_OR, a, b, __func__); }
cj_val cj_xor(cj_fn *f, cj_val a, cj_val b) { return logic(f, CJI_VERB_XOR, a, b, __func__); }

cj_val cj_inv(cj_fn *f, cj_val a)
{
    bool holds;
    if (is_predicate(a) && cji_fn_open(f, __func__) && cji_is_constant(f, a, &holds)) return cji_constant(f, !holds);
    return verb_typed1(f, CJI_VERB_INV, a, SAME, __func__);
}

cj_val cj_popc(cj_fn *f, cj_val a) { return verb_typed1(f, CJI_VERB_POPC, a, CJ_U32, __func__); }
cj_val cj_clz(cj_fn *f, cj_val a) { return verb_typed1(f, CJI_VERB_CLZ, a, CJ_U32, __func__); }
cj_val cj_brev(cj_fn *f, cj_val a) { return verb_typed1(f, CJI_VERB_BREV, a, SAME, __func__); }

/* The count has a type of its own. */
static cj_val shift(cj_fn *f, cji_verb_id verb, cj_val a, cj_val n, const char *call)
{
    unsigned type;
    cj_val folded, both[2] = { a, n };
    if (!cji_fn_open(f, call)) return CJI_NULL;
    if (cji_val_kind(a) == CJI_K_IMM && cji_fold(f, verb, both, 2, &folded, call)) return folded;
    if (!cji_prepare(f, &a, 1, &type, call) || !cji_val_usable(f, n, call, "operand b")) return CJI_NULL;
    cj_val v[2] = { a, cji_settle(f, n, call) };
    cji_form *e = v[1].bits ? cji_verb(f, verb, 0, type, 0, call) : NULL;
    return e ? cji_emit(f, e, 0, v, 2, type, call) : CJI_NULL;
}

cj_val cj_shl(cj_fn *f, cj_val a, cj_val n) { return shift(f, CJI_VERB_SHL, a, n, __func__); }
cj_val cj_shr(cj_fn *f, cj_val a, cj_val n) { return shift(f, CJI_VERB_SHR, a, n, __func__); }

/* ---- Comparison and selection ------------------------------------------------------------------------------------ */

cj_val cj_eq(cj_fn *f, cj_val a, cj_val b) { return typed2(f, CJI_VERB_EQ, a, b, CJ_PRED, __func__); }
cj_val cj_ne(cj_fn *f, cj_val a, cj_val b) { return typed2(f, CJI_VERB_NE, a, b, CJ_PRED, __func__); }
cj_val cj_lt(cj_fn *f, cj_val a, cj_val b) { return typed2(f, CJI_VERB_LT, a, b, CJ_PRED, __func__); }
cj_val cj_le(cj_fn *f, cj_val a, cj_val b) { return typed2(f, CJI_VERB_LE, a, b, CJ_PRED, __func__); }
cj_val cj_gt(cj_fn *f, cj_val a, cj_val b) { return typed2(f, CJI_VERB_GT, a, b, CJ_PRED, __func__); }
cj_val cj_ge(cj_fn *f, cj_val a, cj_val b) { return typed2(f, CJI_VERB_GE, a, b, CJ_PRED, __func__); }

static cj_val move_into_new(cj_fn *f, unsigned type, cj_val a, const char *call)
{
    cj_val d = cji_reg_val(f, type);
    return d.bits && cji_move_to(f, d, a, call).bits ? d : CJI_NULL;
}

/* The type that both have; no register is made for two numbers. */
static bool select_type(cj_fn *f, cj_val *v, unsigned *type, const char *call)
{
    if (!cji_all_numbers(f, v, 2)) return cji_prepare(f, v, 2, type, call);
    *type = cji_number_type(f, v, 2);
    return true;
}

/* The one of the two that a constant chooses: a number, or a register of its own. */
static cj_val select_one(cj_fn *f, cj_val *v, bool first, const char *call)
{
    unsigned type;
    if (cji_all_numbers(f, v, 2)) return v[first ? 0 : 1];
    return cji_prepare(f, v, 2, &type, call) ? move_into_new(f, type, v[first ? 0 : 1], call) : CJI_NULL;
}

cj_val cj_select(cj_fn *f, cj_val p, cj_val a, cj_val b)
{
    unsigned type;
    bool holds;
    cj_val v[3] = { a, b, p };
    if (!cji_fn_open(f, __func__) || !cji_val_usable(f, p, __func__, "the predicate")) return CJI_NULL;
    if (cji_is_constant(f, p, &holds)) return select_one(f, v, holds, __func__);
    if (!select_type(f, v, &type, __func__)) return CJI_NULL;
    for (int i = 0; i < 2; i++) v[i] = cji_half_literal(f, v[i], type, __func__);
    if (cji_val_kind(p) == CJI_K_NOT) { /* !p ? a : b is p ? b : a */
        cj_val other = v[0];
        v[0] = v[1];
        v[1] = other;
        v[2] = cji_val_of(f, cji_word(CJI_K_REG, (uint32_t)p.bits), CJ_PRED);
    }
    cji_form *e = v[0].bits && v[1].bits ? cji_verb(f, CJI_VERB_SELECT, 0, type, 0, __func__) : NULL;
    return e ? cji_emit(f, e, 0, v, 3, type, __func__) : CJI_NULL;
}

/* ---- Moving and converting --------------------------------------------------------------------------------------- */

cj_val cj_mov(cj_fn *f, cj_val a)
{
    unsigned type;
    if (!cji_fn_open(f, __func__)) return CJI_NULL;
    if (cji_all_numbers(f, &a, 1)) return cj_let(f, (cj_type)cji_number_type(f, &a, 1), a);
    if (!cji_prepare(f, &a, 1, &type, __func__)) return CJI_NULL;
    return move_into_new(f, type, a, __func__);
}

/* Operand `a` for a register of `type`: settled, and of a type that agrees; the null value with the failure kept. */
static cj_val agree(cj_fn *f, unsigned type, cj_val a, const char *call)
{
    if (!cji_val_usable(f, a, call, "the value")) return CJI_NULL;
    if (cji_val_kind(a) != CJI_K_SREG) a = cji_settle(f, a, call);
    unsigned t = a.bits ? cji_val_type(a) : CJ_VOID;
    if (!a.bits || t == CJ_VOID || cji_unify(type, t) != CJ_VOID) return a;
    cji_ptx_fail(f->m, CJ_EPTX, call, f->loc, "%s: the value is .%s, wants .%s; cj_cvt() and cj_bits() make one of it",
                 call, cji_type_word(t), cji_type_word(type));
    return CJI_NULL;
}

cj_val cj_let(cj_fn *f, cj_type type, cj_val a)
{
    if (!cji_fn_open(f, __func__)) return CJI_NULL;
    a = agree(f, (unsigned)type < CJ_TYPE_COUNT ? type : CJ_VOID, a, __func__);
    return a.bits ? move_into_new(f, type, a, __func__) : CJI_NULL;
}

void cj_assign(cj_fn *f, cj_val to, cj_val a)
{
    if (!cji_fn_open(f, __func__) || !cji_val_usable(f, to, __func__, "the register")) return;
    if (cji_val_kind(to) != CJI_K_REG) {
        cji_ptx_fail(f->m, CJ_EPTX, __func__, f->loc,
                     "%s: the destination is not a register; cj_let() and cj_reg() make one", __func__);
        return;
    }
    a = agree(f, cji_val_type(to), a, __func__);
    if (a.bits) cji_move_to(f, to, a, __func__);
}

cj_val cj_bits(cj_fn *f, cj_type type, cj_val a)
{
    unsigned from;
    if (!cji_fn_open(f, __func__)) return CJI_NULL;
    if (cji_all_numbers(f, &a, 1) && f->lit[(uint32_t)a.bits].lit == CJI_LIT_INT && (unsigned)type < CJ_TYPE_COUNT)
        a = cj_let(f, (cj_type)cji_type_bits_of(cji_type_wide(type)), a); /* an integer has the bits of that width */
    if (!cji_prepare(f, &a, 1, &from, __func__)) return CJI_NULL;
    if ((unsigned)type >= CJ_TYPE_COUNT || type == CJ_PRED || cji_type_bits(type) != cji_type_bits(from)) {
        cji_ptx_fail(f->m, CJ_EPTX, __func__, f->loc, "%s: a .%s has %u bits, a .%s has %u", __func__,
                     cji_type_word(from), cji_type_bits(from), cji_type_word(type),
                     (unsigned)type < CJ_TYPE_COUNT ? cji_type_bits(type) : 0);
        return CJI_NULL;
    }
    cji_form *e = cji_verb(f, CJI_VERB_BITS_AS, 0, type, 0, __func__);
    return e ? cji_emit(f, e, 0, &a, 1, type, __func__) : CJI_NULL;
}

static unsigned as_number(unsigned type)
{
    switch (type) {
    case CJ_B8: return CJ_U8;
    case CJ_B16: return CJ_U16;
    case CJ_B32: return CJ_U32;
    case CJ_B64: return CJ_U64;
    default: return type;
    }
}

cj_val cj_cvt(cj_fn *f, cj_type type, cj_val a)
{
    unsigned from;
    bool holds;
    if (!cji_fn_open(f, __func__)) return CJI_NULL;
    if (cji_val_kind(a) == CJI_K_IMM && cji_val_type(a) == CJ_VOID) return cj_let(f, type, a);
    if (cji_is_constant(f, a, &holds) && cji_val_type(a) == CJ_PRED) return cj_let(f, type, cji_imm_int(f, holds));
    if (!cji_prepare(f, &a, 1, &from, __func__)) return CJI_NULL;
    unsigned to = (unsigned)type < CJ_TYPE_COUNT ? as_number(type) : CJ_VOID;
    from = as_number(from);
    if (to == from) return move_into_new(f, to, a, __func__);
    if (from == CJ_PRED) {
        cj_val yes = cj_let(f, (cj_type)cji_type_wide(to), cji_imm_int(f, 1));
        return yes.bits ? cj_select(f, a, yes, cji_imm_int(f, 0)) : CJI_NULL;
    }
    if (to == CJ_PRED) return typed2(f, CJI_VERB_NE, a, cji_imm_int(f, 0), CJ_PRED, __func__);
    if (cji_type_is_int(to) && cji_type_is_int(from) && cji_type_bits(to) == cji_type_bits(from))
        return cj_bits(f, (cj_type)to, a);
    cji_form *e = cji_verb(f, CJI_VERB_CVT, 0, to, from, __func__);
    return e ? cji_emit(f, e, 0, &a, 1, cji_type_wide(to), __func__) : CJI_NULL;
}
