/* Operands: registers, addresses, vectors, pairs, lists, labels, special registers. */
#include <string.h>

#include "ptx/fold.h"

static cj_val bad_operand(cj_fn *f, const char *call, const char *what)
{
    cji_ptx_fail(f->m, CJ_EPTX, call, f->loc, "%s: %s", call, what);
    return CJI_NULL;
}

/* ---- Registers --------------------------------------------------------------------------------------------------- */

cj_val cj_reg(cj_fn *f, cj_type type) { return cji_fn_open(f, __func__) ? cji_reg_val(f, type) : CJI_NULL; }

cj_val cj_regs(cj_fn *f, cj_type type, size_t n)
{
    uint32_t word[256];
    if (!cji_fn_open(f, __func__)) return CJI_NULL;
    if (n < 1 || n > 256) return bad_operand(f, __func__, "a vector has 1 to 256 elements");
    for (size_t i = 0; i < n; i++)
        if (!(word[i] = cji_fn_reg(f, type))) return CJI_NULL;
    return cji_val_of(f, cji_fn_list(f, CJI_K_VEC, word, n), type);
}

cj_type cj_type_of(cj_val v)
{
    uint32_t t = cji_val_type(v);
    switch (cji_val_kind(v)) {
    case CJI_K_REG:
    case CJI_K_IMM:
    case CJI_K_VEC:
    case CJI_K_SREG:
    case CJI_K_NOT: return t < CJ_TYPE_COUNT ? (cj_type)t : CJ_VOID;
    case CJI_K_SYM: return CJ_U64;
    default: return CJ_VOID;
    }
}

/* What stands behind a pointer, variable or address: its register or variable. */
static const cji_reg *pointer_reg(const cj_fn *f, cj_val v)
{
    uint32_t word = cji_val_word(v);
    if (cji_val_kind(v) == CJI_K_MEM) word = f->mem[cji_word_index(word)].base;
    return cji_word_kind(word) == CJI_K_REG ? &f->reg[cji_word_index(word)] : NULL;
}

static const cji_var *pointer_var(const cj_fn *f, cj_val v)
{
    uint32_t word = cji_val_word(v);
    if (cji_val_kind(v) == CJI_K_MEM) word = f->mem[cji_word_index(word)].base;
    return cji_word_kind(word) == CJI_K_SYM ? f->m->var[cji_word_index(word)] : NULL;
}

cj_type cj_elem_of(cj_fn *f, cj_val v)
{
    if (!cji_fn_open(f, __func__) || !cji_val_usable(f, v, __func__, "the value")) return CJ_VOID;
    if (cji_val_kind(v) == CJI_K_MEM && cji_val_type(v) != CJ_VOID) return (cj_type)cji_val_type(v);
    const cji_reg *r = pointer_reg(f, v);
    const cji_var *x = pointer_var(f, v);
    return r ? (cj_type)r->elem : x ? (cj_type)x->type : CJ_VOID;
}

cj_space cj_space_of(cj_fn *f, cj_val v)
{
    if (!cji_fn_open(f, __func__) || !cji_val_usable(f, v, __func__, "the value")) return CJ_SPACE_GENERIC;
    const cji_reg *r = pointer_reg(f, v);
    const cji_var *x = pointer_var(f, v);
    return r ? (cj_space)r->space : x ? (cj_space)x->space : CJ_SPACE_GENERIC;
}

cj_val cj_as_ptr(cj_fn *f, cj_val address, cj_type elem, cj_space space)
{
    if (!cji_fn_open(f, __func__) || !cji_val_usable(f, address, __func__, "the address")) return CJI_NULL;
    unsigned t = cji_val_type(address), bits = t < CJ_TYPE_COUNT ? cji_type_bits(t) : 0;
    if (cji_val_kind(address) != CJI_K_REG || !cji_type_is_int(t) || (bits != 64 && bits != 32))
        return bad_operand(f, __func__, "the address is not an integer register of 64 or 32 bits");
    if ((unsigned)elem >= CJ_TYPE_COUNT || (unsigned)space > CJ_SPACE_SHARED || (space > 0 && space < CJ_SPACE_CONST))
        return bad_operand(f, __func__, "no such type or state space");
    cji_reg *r = &f->reg[(uint32_t)address.bits];
    r->elem = (uint8_t)elem;
    r->space = (uint8_t)space;
    r->flags |= CJI_REG_PTR;
    return address;
}

/* ---- Addresses --------------------------------------------------------------------------------------------------- */

cj_val cj_mem(cj_fn *f, cj_val base, int64_t offset)
{
    if (!cji_fn_open(f, __func__) || !cji_val_usable(f, base, __func__, "the base")) return CJI_NULL;
    uint32_t word = cji_val_word(base), elem = CJ_VOID;
    switch (cji_val_kind(base)) {
    case CJI_K_REG: elem = f->reg[cji_word_index(word)].elem; break;
    case CJI_K_SYM: elem = f->m->var[cji_word_index(word)]->type; break;
    case CJI_K_IMM:
        if (f->lit[cji_word_index(word)].lit != CJI_LIT_INT)
            return bad_operand(f, __func__, "the base is not an integer");
        break;
    case CJI_K_MEM:
        elem = cji_val_type(base);
        offset = (int64_t)((uint64_t)offset + (uint64_t)f->mem[cji_word_index(word)].offset);
        word = f->mem[cji_word_index(word)].base;
        break;
    default: return bad_operand(f, __func__, "the base is not a register, a variable or a number");
    }
    return cji_val_of(f, cji_fn_mem(f, word, offset), elem);
}

cj_val cj_texmem(cj_fn *f, cj_val object, cj_val sampler, cj_val coordinates)
{
    if (!cji_fn_open(f, __func__) || !cji_val_usable(f, object, __func__, "the object")) return CJI_NULL;
    if (!cji_val_usable(f, coordinates, __func__, "the coordinates")) return CJI_NULL;
    if (sampler.bits && !cji_val_usable(f, sampler, __func__, "the sampler")) return CJI_NULL;
    uint32_t kind = cji_val_kind(coordinates);
    if (kind != CJI_K_VEC && kind != CJI_K_REG) return bad_operand(f, __func__, "the coordinates are not a vector");
    uint32_t word[3] = { cji_val_word(object), sampler.bits ? cji_val_word(sampler) : 0, cji_val_word(coordinates) };
    return cji_val_of(f, cji_fn_list(f, CJI_K_TEXMEM, word, 3), CJ_VOID);
}

/* ---- Vectors, lists, pairs --------------------------------------------------------------------------------------- */

/* Words of the values, checked; false after a failure. */
static bool collect(cj_fn *f, const cj_val *v, size_t n, uint32_t *word, const char *call)
{
    if (n && !v) return bad_operand(f, call, "the array is NULL"), false;
    for (size_t i = 0; i < n; i++) {
        if (!cji_val_usable(f, v[i], call, "an element")) return false;
        word[i] = cji_val_word(v[i]);
    }
    return true;
}

cj_val cj_vec_n(cj_fn *f, const cj_val *v, size_t n)
{
    uint32_t word[256], type = CJ_VOID;
    if (!cji_fn_open(f, "cj_vec")) return CJI_NULL;
    if (n < 1 || n > 256) return bad_operand(f, "cj_vec", "a vector has 1 to 256 elements");
    if (!collect(f, v, n, word, "cj_vec")) return CJI_NULL;
    for (size_t i = 0; i < n; i++) {
        uint32_t kind = cji_word_kind(word[i]);
        if (kind != CJI_K_REG && kind != CJI_K_IMM && kind != CJI_K_SINK)
            return bad_operand(f, "cj_vec", "an element is not a register, a number or _");
        if (type == CJ_VOID) type = cji_val_type(v[i]);
    }
    return cji_val_of(f, cji_fn_list(f, CJI_K_VEC, word, n), type);
}

cj_val cj_elem(cj_fn *f, cj_val vec, size_t i)
{
    uint32_t n;
    if (!cji_fn_open(f, __func__) || !cji_val_usable(f, vec, __func__, "the vector")) return CJI_NULL;
    if (cji_val_kind(vec) != CJI_K_VEC) return bad_operand(f, __func__, "the value is not a vector");
    const uint32_t *w = cji_fn_words(f, cji_val_word(vec), &n);
    if (i >= n) {
        cji_ptx_fail(f->m, CJ_EINVAL, __func__, f->loc, "%s: element %zu of a vector of %u", __func__, i, n);
        return CJI_NULL;
    }
    uint32_t type = cji_word_kind(w[i]) == CJI_K_REG ? f->reg[cji_word_index(w[i])].type
                    : cji_word_kind(w[i]) == CJI_K_IMM ? f->lit[cji_word_index(w[i])].type : CJ_VOID;
    return cji_val_of(f, w[i], type);
}

cj_val cj_pair(cj_fn *f, cj_val a, cj_val b)
{
    const cj_val v[2] = { a, b };
    uint32_t word[2];
    if (!cji_fn_open(f, __func__) || !collect(f, v, 2, word, __func__)) return CJI_NULL;
    return cji_val_of(f, cji_fn_list(f, CJI_K_PAIR, word, 2), cji_val_type(a));
}

cj_val cj_not(cj_fn *f, cj_val p)
{
    if (!cji_fn_open(f, __func__) || !cji_val_usable(f, p, __func__, "the predicate")) return CJI_NULL;
    uint32_t kind = cji_val_kind(p);
    bool holds;
    if (cji_is_constant(f, p, &holds)) return cji_constant(f, !holds);
    if ((kind != CJI_K_REG && kind != CJI_K_NOT) || cji_val_type(p) != CJ_PRED)
        return bad_operand(f, __func__, "the value is not a predicate; cj_inv() inverts bits");
    return cji_val_of(f, cji_word(kind == CJI_K_NOT ? CJI_K_REG : CJI_K_NOT, (uint32_t)p.bits), CJ_PRED);
}

cj_val cj_sink(cj_fn *f)
{
    return cji_fn_open(f, __func__) ? cji_val_of(f, cji_word(CJI_K_SINK, 0), CJ_VOID) : CJI_NULL;
}

cj_val cj_list_n(cj_fn *f, const cj_val *v, size_t n)
{
    uint32_t word[256];
    if (!cji_fn_open(f, "cj_list")) return CJI_NULL;
    if (n > 256) return bad_operand(f, "cj_list", "a list has up to 256 elements");
    if (!collect(f, v, n, word, "cj_list")) return CJI_NULL;
    return cji_val_of(f, cji_fn_list(f, CJI_K_LIST, word, n), CJ_VOID);
}

cj_val cj_fn_val(cj_fn *f, cj_fn *callee)
{
    if (!cji_fn_open(f, __func__)) return CJI_NULL;
    if (cji_check(callee, CJI_TAG_FN, __func__) != CJ_OK) {
        cji_ptx_fail(f->m, CJ_EHANDLE, __func__, f->loc, "%s: the function is not a cj_fn", __func__);
        return CJI_NULL;
    }
    if (callee->m != f->m) return bad_operand(f, __func__, "the function belongs to another module");
    return cji_val_of(f, cji_word(CJI_K_FUNC, callee->index), CJ_VOID);
}

cj_val cj_sreg(cj_fn *f, const char *name)
{
    if (!cji_fn_open(f, __func__)) return CJI_NULL;
    int i = name ? cji_isa_sreg_find(name, strlen(name)) : -1;
    if (i < 0) {
        cji_ptx_fail(f->m, CJ_EUNKNOWN, __func__, f->loc, "no special register \"%s\"%s", cji_short(name),
                     name && *name != '%' ? "; their names begin with %, such as %tid.x" : "");
        return CJI_NULL;
    }
    if (!cji_ptx_need_sreg(f->m, (uint32_t)i, f->loc)) return CJI_NULL;
    return cji_val_of(f, cji_word(CJI_K_SREG, (uint32_t)i), cji_isa_sreg_at((uint32_t)i)->type);
}

/* ---- Labels ------------------------------------------------------------------------------------------------------ */

cj_val cj_label(cj_fn *f)
{
    return cji_fn_open(f, __func__) ? cji_val_of(f, cji_fn_label(f, NULL, 0), CJ_VOID) : CJI_NULL;
}

void cj_label_bind(cj_fn *f, cj_val label)
{
    if (!cji_fn_open(f, __func__) || !cji_val_usable(f, label, __func__, "the label")) return;
    if (cji_val_kind(label) == CJI_K_LABEL) cji_fn_bind(f, cji_val_word(label));
    else bad_operand(f, __func__, "the value is not a label");
}

cj_val cj_branch_targets(cj_fn *f, const cj_val *labels, size_t n)
{
    uint32_t word[256];
    if (!cji_fn_open(f, __func__)) return CJI_NULL;
    if (n < 1 || n > 256) return bad_operand(f, __func__, "a list of targets has 1 to 256 labels");
    if (!collect(f, labels, n, word, __func__)) return CJI_NULL;
    for (size_t i = 0; i < n; i++)
        if (cji_word_kind(word[i]) != CJI_K_LABEL) return bad_operand(f, __func__, "an element is not a label");
    uint32_t list = cji_fn_list(f, CJI_K_LIST, word, n);
    return list ? cji_val_of(f, cji_fn_tlist(f, CJI_TL_BRANCH, NULL, 0, list, 0), CJ_VOID) : CJI_NULL;
}
