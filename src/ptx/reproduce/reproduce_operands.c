/* Operands: what they need first, and how they are written. */
#include "ptx/reproduce/reproduce.h"

/* ---- What they need ---------------------------------------------------------------------------------------------- */

static bool prepare_list(cji_rep_body *c, uint32_t word)
{
    uint32_t n;
    const uint32_t *e = cji_fn_words(c->f, word, &n);
    for (uint32_t i = 0; i < n; i++)
        if (e[i] && !cji_rep_prepare(c, e[i])) return false;
    return true;
}

bool cji_rep_prepare(cji_rep_body *c, uint32_t word)
{
    const uint32_t i = cji_word_index(word);
    switch (cji_word_kind(word)) {
    case CJI_K_REG:
    case CJI_K_NOT: return cji_rep_make_reg(c, i);
    case CJI_K_LABEL: cji_rep_make_label(c, i); return true;
    case CJI_K_MEM: return cji_rep_prepare(c, c->f->mem[i].base);
    case CJI_K_VEC:
    case CJI_K_LIST:
    case CJI_K_PAIR:
    case CJI_K_TEXMEM: return prepare_list(c, word);
    default: return true;
    }
}

/* ---- How they are written ---------------------------------------------------------------------------------------- */

static bool use_slot(cji_rep_body *c, cji_rep_slot *s, uint32_t number, cj_val *v)
{
    if (!s->v.bits || !s->declared || !cji_rep_note(c, number)) return false;
    cji_text_puts(&c->text, cji_rep_name_at(c->r, s->name));
    *v = s->v;
    return true;
}

bool cji_rep_use(cji_rep_body *c, uint32_t slot, cj_val *v) { return use_slot(c, &c->slot[slot], slot, v); }

static bool use_variable(cji_rep_body *c, uint32_t var, cj_val *v)
{
    return use_slot(c, &c->r->var[var], var | CJI_REP_VARIABLE, v);
}

/* "(const cj_val[]){ a, b }, 2" or, in a macro, "a, b". */
static bool put_elements(cji_rep_body *c, const uint32_t *e, uint32_t n, bool array, cj_val *v)
{
    if (array) cji_text_puts(&c->text, "(const cj_val[]){ ");
    for (uint32_t i = 0; i < n; i++) {
        if (i) cji_text_puts(&c->text, ", ");
        if (!cji_rep_operand(c, e[i], array, &v[i])) return false;
    }
    if (array) cji_text_printf(&c->text, " }, %u", n);
    return true;
}

enum { MACRO_MOST = 32, ELEMENTS_MOST = 256 };

static bool put_vec(cji_rep_body *c, uint32_t word, cj_val *v)
{
    cj_val each[ELEMENTS_MOST];
    uint32_t n;
    const uint32_t *e = cji_fn_words(c->f, word, &n);
    const bool list = cji_word_kind(word) == CJI_K_LIST, array = list || n > MACRO_MOST;
    if (!n || n > ELEMENTS_MOST) return false;
    cji_text_puts(&c->text, list ? "cj_list_n(f, " : array ? "cj_vec_n(f, " : "cj_vec(f, ");
    if (!put_elements(c, e, n, array, each)) return false;
    cji_text_putc(&c->text, ')');
    *v = list ? (cj_list_n)(c->g, each, n) : (cj_vec_n)(c->g, each, n);
    return v->bits != 0;
}

static bool put_memory(cji_rep_body *c, const cji_mem *mem, cj_val *v)
{
    cj_val base;
    if (mem->bare || mem->zero) return false;
    cji_text_puts(&c->text, "cj_mem(f, ");
    if (!cji_rep_operand(c, mem->base, true, &base)) return false;
    if (mem->offset == INT64_MIN) return false;
    if (mem->offset >= -INT32_MAX && mem->offset <= INT32_MAX)
        cji_text_printf(&c->text, ", %lld)", (long long)mem->offset);
    else cji_text_printf(&c->text, ", INT64_C(%lld))", (long long)mem->offset);
    *v = (cj_mem)(c->g, base, mem->offset);
    return v->bits != 0;
}

static bool put_texture(cji_rep_body *c, uint32_t word, cj_val *v)
{
    uint32_t n;
    const uint32_t *e = cji_fn_words(c->f, word, &n);
    cj_val object, sampler = CJI_NULL, at;
    cji_text_puts(&c->text, "cj_texmem(f, ");
    if (!cji_rep_operand(c, e[0], true, &object)) return false;
    cji_text_puts(&c->text, ", ");
    if (!e[1]) cji_text_puts(&c->text, "(cj_val){ 0 }");
    else if (!cji_rep_operand(c, e[1], true, &sampler)) return false;
    cji_text_puts(&c->text, ", ");
    if (!e[2] || !cji_rep_operand(c, e[2], true, &at)) return false;
    cji_text_putc(&c->text, ')');
    *v = (cj_texmem)(c->g, object, sampler, at);
    return v->bits != 0;
}

static bool put_pair(cji_rep_body *c, uint32_t word, cj_val *v)
{
    uint32_t n;
    const uint32_t *e = cji_fn_words(c->f, word, &n);
    cj_val a, b;
    cji_text_puts(&c->text, "cj_pair(f, ");
    if (!cji_rep_operand(c, e[0], true, &a)) return false;
    cji_text_puts(&c->text, ", ");
    if (!cji_rep_operand(c, e[1], true, &b)) return false;
    cji_text_putc(&c->text, ')');
    *v = (cj_pair)(c->g, a, b);
    return v->bits != 0;
}

/* A number that C has none for is written by its bits. */
static bool put_number_operand(cji_rep_body *c, const cji_lit *l, bool value, cj_val *v)
{
    const size_t before = c->text.n;
    if (value) cji_text_puts(&c->text, "cj_imm(f, ");
    if (cji_rep_number(l, &c->text, c->g, v)) {
        if (value) cji_text_putc(&c->text, ')');
        return v->bits != 0;
    }
    c->text.n = before;
    const unsigned type = l->lit == CJI_LIT_F32 ? CJ_F32 : CJ_F64;
    cji_text_printf(&c->text, "cj_imm_bits(f, %s, 0x%llx)", cji_rep_type(type), (unsigned long long)l->bits);
    *v = (cj_imm_bits)(c->g, (cj_type)type, l->bits);
    return v->bits != 0;
}

bool cji_rep_use_fn(cji_rep_body *c, uint32_t index)
{
    const bool own = index == c->f->index;
    if (!c->r->fn[index].g || (!own && !cji_rep_note(c, index | CJI_REP_FUNCTION))) return false;
    cji_text_puts(&c->text, own ? "f" : cji_rep_name_at(c->r, c->r->fn[index].name));
    return true;
}

static bool put_fn_operand(cji_rep_body *c, uint32_t index, cj_val *v)
{
    cji_text_puts(&c->text, "cj_fn_val(f, ");
    if (!cji_rep_use_fn(c, index)) return false;
    cji_text_putc(&c->text, ')');
    *v = (cj_fn_val)(c->g, c->r->fn[index].g);
    return v->bits != 0;
}

bool cji_rep_operand(cji_rep_body *c, uint32_t word, bool value, cj_val *v)
{
    const uint32_t i = cji_word_index(word);
    switch (cji_word_kind(word)) {
    case CJI_K_REG: return cji_rep_use(c, i, v);
    case CJI_K_NOT:
        cji_text_puts(&c->text, "cj_not(f, ");
        if (!cji_rep_use(c, i, v)) return false;
        cji_text_putc(&c->text, ')');
        *v = (cj_not)(c->g, *v);
        return v->bits != 0;
    case CJI_K_IMM: return put_number_operand(c, &c->f->lit[i], value, v);
    case CJI_K_MEM: return put_memory(c, &c->f->mem[i], v);
    case CJI_K_VEC:
    case CJI_K_LIST: return put_vec(c, word, v);
    case CJI_K_PAIR: return put_pair(c, word, v);
    case CJI_K_TEXMEM: return put_texture(c, word, v);
    case CJI_K_LABEL: return cji_rep_use(c, cji_rep_label_slot(c, i), v);
    case CJI_K_TARGETS: return cji_rep_use(c, cji_rep_list_slot(c, i), v);
    case CJI_K_SYM: return use_variable(c, i, v);
    case CJI_K_FUNC: return put_fn_operand(c, i, v);
    case CJI_K_SREG:
        cji_text_printf(&c->text, "cj_sreg(f, \"%s\")", cji_isa_sreg_at(i)->name);
        *v = (cj_sreg)(c->g, cji_isa_sreg_at(i)->name);
        return v->bits != 0;
    case CJI_K_SINK:
        cji_text_puts(&c->text, "cj_sink(f)");
        *v = (cj_sink)(c->g);
        return v->bits != 0;
    default: return false;
    }
}

bool cji_rep_is_simple(const cji_rep_body *c, uint32_t word)
{
    const uint32_t kind = cji_word_kind(word);
    return kind == CJI_K_IMM || (kind == CJI_K_REG && c->slot[cji_word_index(word)].v.bits);
}

unsigned cji_rep_reg_type(const cji_rep_body *c, uint32_t word)
{
    return cji_word_kind(word) == CJI_K_REG ? c->f->reg[cji_word_index(word)].type : CJ_VOID;
}

bool cji_rep_operands(cji_rep_body *c, const uint32_t *word, uint32_t n, cj_val *v)
{
    for (uint32_t i = 0; i < n; i++) {
        cji_text_puts(&c->text, ", ");
        if (!cji_rep_operand(c, word[i], false, &v[i])) return false;
    }
    cji_text_puts(&c->text, ");");
    return true;
}
