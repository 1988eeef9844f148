/* Loads, stores and atomics of elements, and calls. */
#include <string.h>

#include "ptx/reproduce/reproduce.h"

/* ---- Memory ------------------------------------------------------------------------------------------------------ */

/* What a verb of memory accesses: element `index` of `base`, behind so many records that compute the address. */
typedef struct rep_access { uint32_t base, index; bool number; int64_t i; size_t records; } rep_access;

/* Elements that the copy knows the pointer to point to; CJ_VOID: it does not know. */
static unsigned element_of(const cji_rep_body *c, uint32_t word)
{
    if (cji_word_kind(word) == CJI_K_SYM) {
        const uint32_t var = cji_word_index(word);
        return c->r->var[var].v.bits && !(c->f->m->var[var]->flags & CJI_VAR_HEAD) ? c->f->m->var[var]->type : CJ_VOID;
    }
    const uint32_t reg = cji_word_index(word);
    if (cji_word_kind(word) != CJI_K_REG || !c->slot[reg].v.bits) return CJ_VOID;
    return c->g->reg[(uint32_t)c->slot[reg].v.bits].elem;
}

/* The memory operand of the record, with what computes its address in front of it. */
static bool find_access(const cji_rep_body *c, rep_access *a, size_t *access)
{
    size_t at = c->at;
    uint32_t base = 0;
    *a = (rep_access){ .records = 0 };
    const cji_ins *x = &c->f->ins[at];
    /* the address of a variable */
    if (cji_word_kind(x->opnd[1]) == CJI_K_SYM && cji_ins_n(c->f, x) == 2 && !x->guard && x->form < CJI_INS_PSEUDO) {
        if (cji_word_kind(x->opnd[0]) != CJI_K_REG || c->refs[cji_word_index(x->opnd[0])] != 2) return false;
        base = x->opnd[0];
        a->base = x->opnd[1];
        x = ++at < c->f->nins ? &c->f->ins[at] : NULL;
    }
    /* base + i * size */
    const cji_form *e = x ? cji_ins_form(c->f->m, x) : NULL;
    if (e && !x->guard && !strncmp(e->isa->text, "mad.", 4) && cji_word_kind(x->opnd[2]) == CJI_K_IMM &&
        cji_word_kind(x->opnd[3]) == CJI_K_REG && cji_word_kind(x->opnd[0]) == CJI_K_REG) {
        if (c->refs[cji_word_index(x->opnd[0])] != 2 || !cji_rep_is_simple(c, x->opnd[1])) return false;
        if (base ? x->opnd[3] != base : 0) return false;
        if (!base) a->base = x->opnd[3];
        a->index = x->opnd[1];
        base = x->opnd[0];
        *access = ++at;
        a->records = at - c->at;
        if (at >= c->f->nins) return false;
        /* the access itself uses this register alone */
        x = &c->f->ins[at];
        for (uint32_t i = 0, n = x->form < CJI_INS_PSEUDO ? cji_ins_n(c->f, x) : 0; i < n; i++) {
            const uint32_t word = cji_ins_opnd(c->f, x, i);
            if (cji_word_kind(word) != CJI_K_MEM) continue;
            const cji_mem *mem = &c->f->mem[cji_word_index(word)];
            return mem->base == base && !mem->offset;
        }
        return false;
    }
    if (base || !e) return false;
    /* an element with a number */
    for (uint32_t i = 0, n = cji_ins_n(c->f, x); i < n; i++) {
        const uint32_t word = cji_ins_opnd(c->f, x, i);
        if (cji_word_kind(word) != CJI_K_MEM) continue;
        const cji_mem *mem = &c->f->mem[cji_word_index(word)];
        const unsigned elem = element_of(c, mem->base);
        const int64_t size = elem == CJ_VOID ? 0 : cji_type_bits(elem) / 8;
        if (!size || mem->offset % size) return false;
        *a = (rep_access){ .base = mem->base, .number = true, .i = mem->offset / size };
        *access = at;
        return a->i >= 0 && a->i <= INT32_MAX;
    }
    return false;
}

static bool put_access(cji_rep_body *c, const rep_access *a, cj_val v[2])
{
    cji_text_puts(&c->text, "(f, ");
    if (!cji_rep_operand(c, a->base, true, &v[0])) return false;
    cji_text_puts(&c->text, ", ");
    if (!a->number) return cji_rep_operand(c, a->index, false, &v[1]);
    cji_text_printf(&c->text, "%lld", (long long)a->i);
    v[1] = (cj_imm_i)(c->g, a->i);
    return true;
}

/* "ld.global.f32" and its like, of elements that the pointer points to. */
static bool has_words(const cji_form *e, const char *first, unsigned type)
{
    const char *word = cji_type_word(cji_type_mem(type)), *dot = strrchr(e->isa->text, '.');
    return !strncmp(e->isa->text, first, strlen(first)) && dot && !strcmp(dot + 1, word);
}

static bool memory_done(cji_rep_body *c, const cji_rep_mark *mark, size_t access)
{
    /* Registers in between belong to the verb. */
    return c->g->nins - mark->nins == access + 1 - mark->at;
}

bool cji_rep_access(cji_rep_body *c)
{
    static const struct { const char *word, *name; cj_val (*fn)(cj_fn *, cj_val, cj_val); } atomics[] = {
        { ".add.", "cj_atomic_add", cj_atomic_add }, { ".min.", "cj_atomic_min", cj_atomic_min },
        { ".max.", "cj_atomic_max", cj_atomic_max }, { ".and.", "cj_atomic_and", cj_atomic_and },
        { ".or.", "cj_atomic_or", cj_atomic_or },    { ".xor.", "cj_atomic_xor", cj_atomic_xor },
        { ".exch.", "cj_atomic_exch", cj_atomic_exch }
    };
    rep_access a;
    size_t access = 0;
    cj_val v[2], value, d = CJI_NULL;
    if (!find_access(c, &a, &access)) return false;
    const cji_ins *x = &c->f->ins[access];
    const cji_form *e = cji_ins_form(c->f->m, x);
    const unsigned elem = element_of(c, a.base);
    if (!e || x->guard || elem == CJ_VOID || cji_word_kind(a.base) == CJI_K_IMM) return false;
    const uint32_t n = cji_ins_n(c->f, x);
    const cji_rep_mark mark = cji_rep_begin(c);
    uint32_t reg = CJI_REP_NONE;
    cji_rep_open(c);
    if (has_words(e, "ld.", elem) && n == 2 && cji_word_kind(x->opnd[0]) == CJI_K_REG) {
        reg = cji_word_index(x->opnd[0]);
        if (c->slot[reg].v.bits) return false;
        cji_text_puts(&c->text, "cj_get");
        if (!put_access(c, &a, v)) return cji_rep_undo(c, &mark), false;
        cji_text_puts(&c->text, ");");
        d = (cj_get)(c->g, v[0], v[1]);
    } else if (has_words(e, "st.", elem) && n == 2 && cji_rep_is_simple(c, x->opnd[1])) {
        const unsigned t = cji_rep_reg_type(c, x->opnd[1]);
        if (t != CJ_VOID && t != cji_type_wide(elem)) return false;
        cji_text_puts(&c->text, "cj_set");
        if (!put_access(c, &a, v)) return cji_rep_undo(c, &mark), false;
        if (!cji_rep_operands(c, &x->opnd[1], 1, &value)) return cji_rep_undo(c, &mark), false;
        (cj_set)(c->g, v[0], v[1], value);
    } else if (!strncmp(e->isa->text, "atom.", 5) && n == 3 && cji_rep_is_simple(c, x->opnd[2])) {
        size_t k = 0;
        while (k < sizeof atomics / sizeof *atomics && !strstr(e->isa->text, atomics[k].word)) k++;
        reg = cji_word_index(x->opnd[0]);
        if (k == sizeof atomics / sizeof *atomics || cji_word_kind(x->opnd[0]) != CJI_K_REG) return false;
        const unsigned type = cji_rep_reg_type(c, x->opnd[2]);
        if (c->slot[reg].v.bits || (type != CJ_VOID && type != elem)) return false;
        if (elem != CJ_U32 && elem != CJ_S32 && elem != CJ_U64 && elem != CJ_F32 && elem != CJ_F64) return false;
        if ((elem == CJ_F32 || elem == CJ_F64) && k && k != 6) return false;
        cji_text_printf(&c->text, "%s(f, cj_at", atomics[k].name);
        if (!put_access(c, &a, v)) return cji_rep_undo(c, &mark), false;
        cji_text_putc(&c->text, ')');
        if (!cji_rep_operands(c, &x->opnd[2], 1, &value)) return cji_rep_undo(c, &mark), false;
        const cj_val where = (cj_at)(c->g, v[0], v[1]);
        if (where.bits) d = atomics[k].fn(c->g, where, value);
    } else {
        return false;
    }
    cji_rep_close(c, reg);
    if (!memory_done(c, &mark, access) || !cji_rep_same(c, &mark)) return cji_rep_undo(c, &mark), false;
    if (reg != CJI_REP_NONE) cji_rep_got_reg(c, reg, d);
    return true;
}

/* ---- Calls ------------------------------------------------------------------------------------------------------- */

/* call.uni (d), callee, (a, b), of a function whose parameters are declared, and are registers. */
bool cji_rep_call(cji_rep_body *c, const cji_ins *x, uint32_t n)
{
    cj_val v[64];
    uint32_t results = 0, args = 0, k = 0, reg = CJI_REP_NONE;
    const uint32_t *e = NULL, *r = NULL;
    if (!cji_rep_is(c, x, CJI_VERB_CALL, CJ_VOID)) return false;
    if (n && cji_word_kind(x->opnd[0]) == CJI_K_LIST) r = cji_fn_words(c->f, x->opnd[k++], &results);
    if (k >= n || cji_word_kind(x->opnd[k]) != CJI_K_FUNC) return false;
    const uint32_t index = cji_word_index(x->opnd[k++]);
    if (k < n) e = cji_fn_words(c->f, x->opnd[k++], &args);
    if (k != n || !c->r->fn[index].g || results > 1 || args > 32) return false;
    cj_fn *callee = c->r->fn[index].g;
    if (callee->nparam != args || callee->nresult != results) return false;
    for (uint32_t i = 0; i < args; i++) {
        const cji_var *p = callee->m->var[callee->param[i]];
        const unsigned t = cji_rep_reg_type(c, e[i]);
        if (!cji_rep_is_simple(c, e[i]) || p->space != CJI_SP_REG || (t == CJ_VOID ? p->type == CJ_PRED : t != p->type))
            return false;
    }
    if (results) {
        reg = cji_word_index(r[0]);
        if (cji_word_kind(r[0]) != CJI_K_REG || !cji_rep_is_next(c, reg)) return false;
    }
    const cji_rep_mark mark = cji_rep_begin(c);
    cji_rep_open(c);
    cji_text_puts(&c->text, "cj_call(f, ");
    if (!cji_rep_use_fn(c, index)) return cji_rep_undo(c, &mark), false;
    if (!cji_rep_operands(c, e, args, v)) return cji_rep_undo(c, &mark), false;
    const cj_val d = (cj_call_n)(c->g, callee, v, args);
    if (results) return cji_rep_verb_done(c, &mark, reg, d);
    cji_rep_close(c, CJI_REP_NONE);
    if (c->g->nins > mark.nins && cji_rep_same(c, &mark)) return true;
    return cji_rep_undo(c, &mark), false;
}
