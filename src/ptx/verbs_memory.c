/* The everyday verbs: memory operands, loads, stores, atomics. */
#include "ptx/verb_table.h"

/* [base + offset], with its space and the type of what is there. */
typedef struct mem_operand { uint32_t base; int64_t offset; unsigned space, elem; } mem_operand;

static bool bad_memory(cj_fn *f, const char *call, const char *what)
{
    cji_ptx_fail(f->m, CJ_EPTX, call, f->loc, "%s: %s", call, what);
    return false;
}

static bool base_of(cj_fn *f, uint32_t word, mem_operand *p, const char *call)
{
    p->base = word;
    if (cji_word_kind(word) == CJI_K_SYM) {
        const cji_var *v = f->m->var[cji_word_index(word)];
        p->space = v->space;
        p->elem = v->type;
        return true;
    }
    if (cji_word_kind(word) == CJI_K_IMM) return true;
    const cji_reg *r = &f->reg[cji_word_index(word)];
    unsigned bits = cji_type_bits(r->type);
    if (!cji_type_is_int(r->type) || (bits != 64 && bits != 32))
        return bad_memory(f, call, "the address is not a pointer: its register is not an integer of 64 or 32 bits");
    p->space = r->space;
    p->elem = r->elem;
    return true;
}

static bool memory_of(cj_fn *f, cj_val v, mem_operand *p, const char *call)
{
    *p = (mem_operand){ 0 };
    if (!cji_val_usable(f, v, call, "the address")) return false;
    switch (cji_val_kind(v)) {
    case CJI_K_REG: case CJI_K_SYM: return base_of(f, cji_val_word(v), p, call);
    case CJI_K_MEM: {
        const cji_mem *m = &f->mem[(uint32_t)v.bits];
        p->offset = m->offset;
        if (!base_of(f, m->base, p, call)) return false;
        if (cji_val_type(v) != CJ_VOID) p->elem = cji_val_type(v);
        return true;
    }
    default: return bad_memory(f, call, "the address is not a pointer, a variable or a cj_mem()");
    }
}

static cj_val memory_val(cj_fn *f, const mem_operand *p)
{
    return cji_val_of(f, cji_fn_mem(f, p->base, p->offset), p->elem);
}

static cj_val base_val(cj_fn *f, const mem_operand *p)
{
    return cji_val(p->base, cji_word_kind(p->base) == CJI_K_REG ? f->reg[cji_word_index(p->base)].type : CJ_VOID,
                   f->owner);
}

static cj_val mark_pointer(cj_fn *f, cj_val v, unsigned elem, unsigned space)
{
    if (!v.bits) return v;
    cji_reg *r = &f->reg[(uint32_t)v.bits];
    r->elem = (uint8_t)elem;
    r->space = (uint8_t)space;
    r->flags |= CJI_REG_PTR;
    return v;
}

/* ---- Addresses --------------------------------------------------------------------------------------------------- */

/* Shared memory is addressed with 32 bits, everything else with the module's size. */
static unsigned address_type(const cj_fn *f, unsigned space)
{
    return space == CJI_SP_SHARED || f->m->address_size == 32 ? CJ_U32 : CJ_U64;
}

/* The base in a register, without the offset. */
static cj_val base_register(cj_fn *f, const mem_operand *p, const char *call)
{
    if (cji_word_kind(p->base) == CJI_K_REG) return base_val(f, p);
    unsigned type = address_type(f, p->space);
    cji_form *e = cji_verb(f, CJI_VERB_ADDRESS, 0, type, 0, call);
    cj_val sym = base_val(f, p);
    return e ? mark_pointer(f, cji_emit(f, e, 0, &sym, 1, type, call), p->elem, p->space) : CJI_NULL;
}

static cj_val index_as(cj_fn *f, cj_val i, unsigned bits, const char *call)
{
    unsigned t = cji_val_type(i), have = cji_type_bits(t);
    (void)call;
    if (have == bits || (bits == 64 && have == 32)) return i;
    bool neg = cji_type_is_signed(t);
    if (have == 16 || have == 8) return cj_cvt(f, neg ? CJ_S32 : CJ_U32, i);
    return cj_cvt(f, neg ? CJ_S32 : CJ_U32, i); /* a 64-bit index of a 32-bit address */
}

/* base + i * size, in a register of the base's type. */
static cj_val step_to(cj_fn *f, cj_val base, cj_val i, unsigned size, const char *call)
{
    unsigned wide = cji_type_bits(cji_val_type(base));
    i = index_as(f, i, wide, call);
    if (!i.bits) return i;
    bool neg = cji_type_is_signed(cji_val_type(i));
    bool widen = wide == 64 && cji_type_bits(cji_val_type(i)) == 32;
    unsigned type = widen ? (neg ? CJ_S32 : CJ_U32) : wide == 64 ? CJ_U64 : CJ_U32;
    cji_form *e = cji_verb(f, widen ? CJI_VERB_MAD_WIDE : CJI_VERB_MAD, 0, type, 0, call);
    const cj_val v[3] = { i, cji_imm_int(f, size), base };
    return e ? cji_emit(f, e, 0, v, 3, wide == 64 ? CJ_U64 : CJ_U32, call) : CJI_NULL;
}

cj_val cji_elem_at(cj_fn *f, cj_val p, cj_val i, const char *call)
{
    mem_operand at;
    if (!memory_of(f, p, &at, call) || !cji_val_usable(f, i, call, "the index")) return CJI_NULL;
    if (at.elem == CJ_VOID)
        return bad_memory(f, call, "the type that the pointer points to is not known; cj_as_ptr() sets it"), CJI_NULL;
    unsigned size = cji_type_bits(at.elem) / 8;
    i = cji_settle(f, i, call);
    if (!i.bits) return i;
    if (cji_val_kind(i) == CJI_K_IMM) {
        const cji_lit *l = &f->lit[(uint32_t)i.bits];
        if (l->lit != CJI_LIT_INT) return bad_memory(f, call, "the index is not an integer"), CJI_NULL;
        at.offset = (int64_t)((uint64_t)at.offset + l->bits * size);
        return memory_val(f, &at);
    }
    if (!cji_type_is_int(cji_val_type(i))) return bad_memory(f, call, "the index is not an integer"), CJI_NULL;
    cj_val base = base_register(f, &at, call);
    if (!base.bits) return base;
    cj_val address = mark_pointer(f, step_to(f, base, i, size, call), at.elem, at.space);
    if (!address.bits) return address;
    at.base = cji_val_word(address);
    return memory_val(f, &at);
}

cj_val cj_at(cj_fn *f, cj_val p, cj_val i)
{
    return cji_fn_open(f, __func__) ? cji_elem_at(f, p, i, __func__) : CJI_NULL;
}

cj_val cj_addr(cj_fn *f, cj_val where)
{
    mem_operand p;
    if (!cji_fn_open(f, __func__) || !memory_of(f, where, &p, __func__)) return CJI_NULL;
    cj_val base = base_register(f, &p, __func__);
    if (!base.bits || !p.offset) return base;
    unsigned type = cji_val_type(base);
    type = cji_type_bits(type) == 64 ? CJ_U64 : CJ_U32;
    cji_form *e = cji_verb(f, CJI_VERB_ADD, 0, type, 0, __func__);
    const cj_val v[2] = { base, cji_imm_int(f, p.offset) };
    return e ? mark_pointer(f, cji_emit(f, e, 0, v, 2, type, __func__), p.elem, p.space) : CJI_NULL;
}

cj_val cji_to_space(cj_fn *f, cj_val generic, unsigned space, const char *call)
{
    unsigned type = cji_type_bits(cji_val_type(generic)) == 64 ? CJ_U64 : CJ_U32;
    cji_form *e = cji_verb(f, CJI_VERB_TO_SPACE, space, type, 0, call);
    return e ? cji_emit(f, e, 0, &generic, 1, type, call) : CJI_NULL;
}

cj_val cj_addr_generic(cj_fn *f, cj_val where)
{
    mem_operand p;
    if (!cji_fn_open(f, __func__) || !memory_of(f, where, &p, __func__)) return CJI_NULL;
    cj_val a = cj_addr(f, where);
    if (!a.bits || p.space == CJI_SP_GENERIC) return a;
    unsigned type = f->m->address_size == 32 ? CJ_U32 : CJ_U64;
    if (cji_type_bits(cji_val_type(a)) == 32 && type == CJ_U64) a = cj_cvt(f, CJ_U64, a);
    cji_form *e = a.bits ? cji_verb(f, CJI_VERB_TO_GENERIC, p.space, type, 0, __func__) : NULL;
    return e ? mark_pointer(f, cji_emit(f, e, 0, &a, 1, type, __func__), p.elem, CJI_SP_GENERIC) : CJI_NULL;
}

/* ---- Loads and stores -------------------------------------------------------------------------------------------- */

cj_val cji_load_from(cj_fn *f, unsigned type, unsigned space, cj_val mem, const char *call)
{
    cji_form *e = cji_verb(f, CJI_VERB_LD, space, type, 0, call);
    return e ? cji_emit(f, e, 0, &mem, 1, cji_type_wide(type), call) : CJI_NULL;
}

static bool storable(cj_fn *f, unsigned type, const char *call)
{
    return type > CJ_PRED && type < CJ_TYPE_COUNT
               ? true
               : bad_memory(f, call, "memory does not hold this type (CJ_VOID and CJ_PRED are not allowed)");
}

cj_val cj_load(cj_fn *f, cj_type type, cj_val where)
{
    mem_operand p;
    if (!cji_fn_open(f, __func__) || !storable(f, type, __func__) || !memory_of(f, where, &p, __func__))
        return CJI_NULL;
    cj_val mem = memory_val(f, &p);
    return mem.bits ? cji_load_from(f, type, p.space, mem, __func__) : CJI_NULL;
}

/* May a value of type `t` be stored as `type`?  Integers may be wider; untyped registers and memory have any bits of
 * their width. */
static bool storable_as(unsigned t, unsigned type)
{
    if (t == CJ_VOID || t == type || t == cji_type_bits_of(t) || type == cji_type_bits_of(type)) return true;
    return !cji_type_is_float(t) && !cji_type_is_float(type);
}

static void store(cj_fn *f, unsigned type, unsigned space, cj_val mem, cj_val v, const char *call)
{
    if (!cji_val_usable(f, v, call, "the value")) return;
    v = cji_settle(f, v, call);
    if (v.bits) v = cji_half_literal(f, v, type, call);
    if (!v.bits || !mem.bits) return;
    unsigned t = cji_val_type(v), wide = cji_type_wide(type);
    if (!storable_as(t, type)) {
        cji_ptx_fail(f->m, CJ_EPTX, call, f->loc,
                     "%s: the value is .%s, wants .%s; cj_cvt() and cj_bits() make one of it", call, cji_type_word(t),
                     cji_type_word(wide));
        return;
    }
    cji_form *e = cji_verb(f, CJI_VERB_ST, space, type, 0, call);
    const cj_val both[2] = { mem, v };
    if (e) cji_emit(f, e, 0, both, 2, CJI_NO_DEF, call);
}

void cj_store(cj_fn *f, cj_type type, cj_val where, cj_val v)
{
    mem_operand p;
    if (!cji_fn_open(f, __func__) || !storable(f, type, __func__) || !memory_of(f, where, &p, __func__)) return;
    store(f, type, p.space, memory_val(f, &p), v, __func__);
}

cj_val cj_get(cj_fn *f, cj_val p, cj_val i)
{
    mem_operand at;
    if (!cji_fn_open(f, __func__)) return CJI_NULL;
    cj_val mem = cji_elem_at(f, p, i, __func__);
    if (!mem.bits || !memory_of(f, mem, &at, __func__)) return CJI_NULL;
    return cji_load_from(f, at.elem, at.space, mem, __func__);
}

void cj_set(cj_fn *f, cj_val p, cj_val i, cj_val v)
{
    mem_operand at;
    if (!cji_fn_open(f, __func__)) return;
    cj_val mem = cji_elem_at(f, p, i, __func__);
    if (mem.bits && memory_of(f, mem, &at, __func__)) store(f, at.elem, at.space, mem, v, __func__);
}

/* ---- Atomics ----------------------------------------------------------------------------------------------------- */

static cj_val atomic(cj_fn *f, cji_verb_id verb, cj_val where, cj_val *v, size_t n, const char *call)
{
    mem_operand p;
    unsigned type = CJ_VOID;
    if (!cji_fn_open(f, call) || !memory_of(f, where, &p, call)) return CJI_NULL;
    for (size_t i = 0; i < n; i++) {
        if (!cji_val_usable(f, v[i], call, "the value")) return CJI_NULL;
        v[i] = cji_settle(f, v[i], call);
        if (!v[i].bits) return CJI_NULL;
        if (cji_val_type(v[i]) != CJ_VOID) type = cji_val_type(v[i]);
    }
    if (type == CJ_VOID) type = p.elem;
    if (type == CJ_VOID)
        return bad_memory(f, call, "the type of the number is not known; cj_let(f, type, number) sets it"), CJI_NULL;
    if (!cji_verb_has(verb, type, 0) && (type == CJ_B32 || type == CJ_B64)) type = type == CJ_B32 ? CJ_U32 : CJ_U64;
    cji_form *e = cji_verb(f, verb, p.space, type, 0, call);
    cj_val all[3] = { memory_val(f, &p), v[0], n > 1 ? v[1] : CJI_NULL };
    /* and, or, exch, cas are spelled untyped: their numbers are made of the type first */
    for (size_t i = 0; i < n; i++) {
        if (cji_val_kind(all[i + 1]) == CJI_K_IMM && cji_type_is_float(type))
            all[i + 1] = cj_let(f, (cj_type)type, all[i + 1]);
    }
    return e && all[0].bits && all[1].bits ? cji_emit(f, e, 0, all, n + 1, type, call) : CJI_NULL;
}

static cj_val atomic1(cj_fn *f, cji_verb_id verb, cj_val where, cj_val v, const char *call)
{
    return atomic(f, verb, where, &v, 1, call);
}

cj_val cj_atomic_add(cj_fn *f, cj_val address, cj_val v) { return atomic1(f, CJI_VERB_ATOM_ADD, address, v, __func__); }
cj_val cj_atomic_min(cj_fn *f, cj_val address, cj_val v) { return atomic1(f, CJI_VERB_ATOM_MIN, address, v, __func__); }
cj_val cj_atomic_max(cj_fn *f, cj_val address, cj_val v) { return atomic1(f, CJI_VERB_ATOM_MAX, address, v, __func__); }
cj_val cj_atomic_and(cj_fn *f, cj_val address, cj_val v) { return atomic1(f, CJI_VERB_ATOM_AND, address, v, __func__); }
cj_val cj_atomic_or(cj_fn *f, cj_val address, cj_val v) { return atomic1(f, CJI_VERB_ATOM_OR, address, v, __func__); }
cj_val cj_atomic_xor(cj_fn *f, cj_val address, cj_val v) { return atomic1(f, CJI_VERB_ATOM_XOR, address, v, __func__); }
cj_val cj_atomic_exch(cj_fn *f, cj_val address, cj_val v)
{
    return atomic1(f, CJI_VERB_ATOM_EXCH, address, v, __func__);
}

cj_val cj_atomic_cas(cj_fn *f, cj_val address, cj_val expected, cj_val v)
{
    cj_val both[2] = { expected, v };
    return atomic(f, CJI_VERB_ATOM_CAS, address, both, 2, __func__);
}
