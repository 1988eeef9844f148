/* Types of verbs' operands: one type for all of them, and everything in registers. */
#include <string.h>

#include "ptx/fold.h"

unsigned cji_unify(unsigned a, unsigned b)
{
    if (a == b || b == CJ_VOID) return a;
    if (a == CJ_VOID) return b;
    if (cji_type_bits(a) != cji_type_bits(b)) return CJ_VOID;
    if (a == cji_type_bits_of(a)) return b;
    return b == cji_type_bits_of(b) ? a : CJ_VOID;
}

static cj_val into_register(cj_fn *f, cji_form *e, cj_val v, unsigned type, const char *call)
{
    return e ? cji_emit(f, e, 0, &v, 1, type, call) : CJI_NULL;
}

cj_val cji_settle(cj_fn *f, cj_val v, const char *call)
{
    switch (cji_val_kind(v)) {
    case CJI_K_REG: case CJI_K_IMM: return v;
    case CJI_K_SREG: {
        unsigned t = cji_val_type(v);
        return into_register(f, cji_verb(f, CJI_VERB_MOV, 0, t, 0, call), v, t, call);
    }
    case CJI_K_NOT: {
        cj_val p = cji_val_of(f, cji_word(CJI_K_REG, (uint32_t)v.bits), CJ_PRED);
        return into_register(f, cji_verb(f, CJI_VERB_INV, 0, CJ_PRED, 0, call), p, CJ_PRED, call);
    }
    case CJI_K_SYM: case CJI_K_MEM: return cj_addr(f, v);
    default:
        cji_ptx_fail(f->m, CJ_EPTX, call, f->loc,
                     "%s: a vector, label or list is not an operand of a verb; use cj_ins()", call);
        return CJI_NULL;
    }
}

static void name_operand(char *out, size_t i)
{
    memcpy(out, "operand a", 10);
    out[8] = (char)('a' + i);
}

bool cji_prepare_any(cj_fn *f, cj_val *v, size_t n, unsigned *type, const char *call)
{
    char what[12];
    *type = CJ_VOID;
    for (size_t i = 0; i < n; i++) {
        name_operand(what, i);
        if (!cji_val_usable(f, v[i], call, what)) return false;
        v[i] = cji_settle(f, v[i], call);
        if (!v[i].bits) return false;
        unsigned t = cji_val_type(v[i]), both = cji_unify(*type, t);
        if (both == CJ_VOID && t != CJ_VOID) {
            cji_ptx_fail(f->m, CJ_EPTX, call, f->loc, "%s: %s is .%s, wants .%s; cj_cvt() and cj_bits() make one of it",
                         call, what, cji_type_word(t), cji_type_word(*type));
            return false;
        }
        if (t != CJ_VOID) *type = both;
    }
    return true;
}

bool cji_prepare(cj_fn *f, cj_val *v, size_t n, unsigned *type, const char *call)
{
    if (!cji_prepare_any(f, v, n, type, call)) return false;
    if (*type != CJ_VOID) return true;
    *type = cji_number_type(f, v, n);
    v[0] = cj_let(f, (cj_type)*type, v[0]);
    return v[0].bits != 0;
}

cj_val cji_predicate(cj_fn *f, cj_val p, const char *call)
{
    bool holds;
    if (!cji_is_constant(f, p, &holds)) return p;
    cj_val one = cj_let(f, CJ_U32, cji_imm_int(f, holds));
    cji_form *e = one.bits ? cji_verb(f, CJI_VERB_NE, 0, CJ_U32, 0, call) : NULL;
    const cj_val v[2] = { one, cji_imm_int(f, 0) };
    return e ? cji_emit(f, e, 0, v, 2, CJ_PRED, call) : CJI_NULL;
}

/* ---- Half precision: literals are made of bits ------------------------------------------------------------------- */

/* x as a format with `man` stored mantissa bits and exponent bias `bias`, to nearest even, straight from the double's
 * bits. */
static uint32_t narrow(double x, int man, int bias)
{
    uint64_t b;
    memcpy(&b, &x, sizeof b);
    uint32_t sign = (uint32_t)(b >> 63) << 15;
    int exp = (int)(b >> 52 & 2047) - 1023, most = 2 * bias + 1;
    uint64_t frac = b & 0xfffffffffffffu;
    if (exp == 1024) return sign | (uint32_t)most << man | (frac ? 1u << (man - 1) : 0);
    int shift = 52 - man;
    uint64_t full = frac | (exp > -1023 ? (uint64_t)1 << 52 : 0);
    int e = exp + bias;
    if (e < 1) {
        shift += 1 - e;
        e = 0;
    }
    if (shift > 54) return sign;
    uint64_t kept = full >> shift, rest = full & (((uint64_t)1 << shift) - 1), half = (uint64_t)1 << (shift - 1);
    if (rest > half || (rest == half && (kept & 1))) kept++;
    uint32_t r = e ? (uint32_t)(e - 1) << man : 0;
    r += (uint32_t)kept; /* a carry runs into the exponent, as it should */
    if (r >= (uint32_t)most << man) r = (uint32_t)most << man;
    return sign | r;
}

uint32_t cji_half_of(unsigned type, double x)
{
    uint32_t h = type == CJ_F16 || type == CJ_F16X2 ? narrow(x, 10, 15) : narrow(x, 7, 127);
    return type == CJ_F16X2 || type == CJ_BF16X2 ? h << 16 | h : h;
}

static bool is_half(unsigned type)
{
    return type == CJ_F16 || type == CJ_BF16 || type == CJ_F16X2 || type == CJ_BF16X2;
}

cj_val cji_half_literal(cj_fn *f, cj_val v, unsigned type, const char *call)
{
    if (cji_val_kind(v) != CJI_K_IMM || !is_half(type)) return v;
    const cji_lit *l = &f->lit[(uint32_t)v.bits];
    uint64_t bits = l->type == type ? l->bits : cji_half_of(type, cji_lit_value(l));
    return into_register(f, cji_verb(f, CJI_VERB_MOV, 0, type, 0, call), cji_imm_int(f, (int64_t)bits), type, call);
}

cj_val cji_move_to(cj_fn *f, cj_val to, cj_val a, const char *call)
{
    unsigned type = cji_val_type(to);
    if (type == CJ_PRED) a = cji_predicate(f, a, call);
    if (cji_val_kind(a) == CJI_K_IMM && is_half(type)) {
        const cji_lit *l = &f->lit[(uint32_t)a.bits];
        a = cji_imm_int(f, (int64_t)(l->type == type ? l->bits : cji_half_of(type, cji_lit_value(l))));
    }
    cji_form *e = a.bits ? cji_verb(f, CJI_VERB_MOV, 0, type, 0, call) : NULL;
    const cj_val v[2] = { to, a };
    return e ? cji_emit(f, e, 0, v, 2, CJI_NO_DEF, call) : CJI_NULL;
}
