/* Calls of functions that are inlined (cj_fn_inline): the callee's instructions are written into the caller, with
 * registers, labels, literals and addresses of the caller.  Functions that they call are inlined in the same way. */
#include <string.h>

#include "ptx/fold.h"
#include "ptx/isa_ids.h"

enum { MOST_DEPTH = 16, MOST_WORDS = 256 /* of a vector or a list */ };

typedef struct inliner {
    cj_fn *f;                /* where the copy goes */
    const cj_fn *g;          /* what is copied */
    const struct inliner *outer;
    uint32_t *reg, *label;   /* the words in f of g's; 0: not yet */
    uint32_t end;            /* LABEL word behind the copy; 0: nothing goes there yet */
    unsigned depth;
    const char *call;
} inliner;

/* ---- Whether it can be ------------------------------------------------------------------------------------------- */

/* What a copy could not name: variables of the function's own, lists of labels, and variables of the module whose names
 * mean another thing in the caller. */
static bool word_fits(const cj_fn *f, const cj_fn *g, uint32_t word)
{
    const uint32_t index = cji_word_index(word);
    uint32_t n = 0;
    switch (cji_word_kind(word)) {
    case CJI_K_TARGETS: return false;
    case CJI_K_SYM: return !f->m->var[index]->fn && !cji_fn_hides(f, f->m->var[index]->name);
    case CJI_K_MEM: return word_fits(f, g, g->mem[index].base);
    case CJI_K_VEC:
    case CJI_K_LIST:
    case CJI_K_PAIR:
    case CJI_K_TEXMEM:
        for (const uint32_t *w = cji_fn_words(g, word, &n), *last = w + n; w < last; w++)
            if (n > MOST_WORDS || !word_fits(f, g, *w)) return false;
        return true;
    default: return true;
    }
}

static bool in_registers(const cj_fn *g, const uint32_t *vars, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const cji_var *v = g->m->var[vars[i]];
        if (v->space != CJI_SP_REG || v->vec || v->type == CJ_PRED) return false;
    }
    return true;
}

static bool record_fits(const cj_fn *f, const cj_fn *g, const cji_ins *x)
{
    if (x->form >= CJI_INS_PSEUDO) return x->form == CJI_INS_LABEL || x->form == CJI_INS_PRAGMA;
    for (uint32_t i = 0, n = cji_ins_n(g, x); i < n; i++)
        if (!word_fits(f, g, cji_ins_opnd(g, x, i))) return false;
    return true;
}

bool cji_inlines(const cj_fn *f, const cj_fn *g)
{
    if (!g->body || g == f || g->nvreg || g->nvar || !in_registers(g, g->param, g->nparam) ||
        !in_registers(g, g->result, g->nresult)) return false;
    for (size_t i = 0; i < g->nins; i++)
        if (!record_fits(f, g, &g->ins[i])) return false;
    return true;
}

/* What a function lacks that is to be copied: what comes later would be missing in the copy.  NULL: nothing. */
static const char *lack_of(const cj_fn *g)
{
    if (g->nblock) return "a block of it is open";
    for (size_t i = 0; i < g->nlabel; i++)
        if (g->label[i].used && g->label[i].at == UINT32_MAX) return "a label of it has no place yet";
    return g->nins ? NULL : "it has no body yet";
}

/* Functions that call themselves, and very long chains, end in a call. */
static bool goes_deeper(const inliner *in, const cj_fn *g)
{
    for (const inliner *i = in; i; i = i->outer)
        if (i->g == g) return false;
    return g->inlined && in->depth < MOST_DEPTH && !lack_of(g) && cji_inlines(in->f, g);
}

/* ---- Words ------------------------------------------------------------------------------------------------------- */

static cj_val operand_value(const cj_fn *f, uint32_t word)
{
    const uint32_t i = cji_word_index(word);
    return cji_val_of(f, word, cji_word_kind(word) == CJI_K_IMM ? f->lit[i].type : f->reg[i].type);
}

/* The first copy of a function keeps the names of its registers. */
static uint32_t copy_register(inliner *in, uint32_t index)
{
    const cji_reg *r = &in->g->reg[index];
    uint32_t *to = &in->reg[index];
    if (*to) return *to;
    *to = r->flags & CJI_REG_PTR ? cji_fn_ptr(in->f, r->type, r->elem, r->space) : cji_fn_reg(in->f, r->type);
    if (*to && r->flags & CJI_REG_NAMED && !cji_fn_has_register(in->f, r->number)) {
        const char *name = cji_ptx_name(in->f->m, r->number);
        if (*name == '%') cj_name(in->f, operand_value(in->f, *to), name + 1);
    }
    return *to;
}

static uint32_t copy_label(inliner *in, uint32_t index)
{
    if (!in->label[index]) in->label[index] = cji_fn_label(in->f, NULL, 0);
    return in->label[index];
}

static uint32_t copy_word(inliner *in, uint32_t word);

static uint32_t copy_memory(inliner *in, uint32_t index)
{
    const cji_mem from = in->g->mem[index];
    const uint32_t base = copy_word(in, from.base), word = base ? cji_fn_mem(in->f, base, from.offset) : 0;
    if (!word) return 0;
    in->f->mem[cji_word_index(word)].zero = from.zero;
    in->f->mem[cji_word_index(word)].bare = from.bare;
    return word;
}

static uint32_t copy_list(inliner *in, uint32_t word)
{
    uint32_t n, to[MOST_WORDS];
    const uint32_t *from = cji_fn_words(in->g, word, &n);
    for (uint32_t i = 0; i < n; i++) {
        to[i] = copy_word(in, from[i]);
        if (from[i] && !to[i]) return 0;
    }
    return cji_fn_list(in->f, cji_word_kind(word), to, n);
}

/* 0 without memory, and for no operand. */
static uint32_t copy_word(inliner *in, uint32_t word)
{
    const uint32_t index = cji_word_index(word), kind = cji_word_kind(word);
    uint32_t to;
    switch (kind) {
    case CJI_K_REG: return copy_register(in, index);
    case CJI_K_NOT: return (to = copy_register(in, index)) ? cji_word(CJI_K_NOT, cji_word_index(to)) : 0;
    case CJI_K_IMM: {
        const cji_lit *l = &in->g->lit[index];
        return cji_fn_lit(in->f, l->lit, l->bits, l->wide, l->type);
    }
    case CJI_K_LABEL: return copy_label(in, index);
    case CJI_K_MEM: return copy_memory(in, index);
    case CJI_K_VEC:
    case CJI_K_LIST:
    case CJI_K_PAIR:
    case CJI_K_TEXMEM: return copy_list(in, word);
    default: return word; /* the same in all functions */
    }
}

/* ---- Records ----------------------------------------------------------------------------------------------------- */

static void inline_body(inliner *in, const uint32_t *results, const uint32_t *args);

/* A return goes behind the copy, where the last record is already. */
static void copy_return(inliner *in, uint32_t guard, bool last)
{
    cji_form *bra = last && !guard ? NULL : cji_verb(in->f, CJI_VERB_BRA, 0, 0, 0, in->call);
    if (!bra) return;
    if (!in->end) in->end = cji_fn_label(in->f, NULL, 0);
    if (in->end) cji_fn_emit(in->f, bra, guard, &in->end, 1, in->call);
}

/* The registers and numbers that a call has for n results or parameters; `word` 0: the call has no such list. */
static bool plain_words(const cj_fn *g, uint32_t word, size_t n, uint32_t *to)
{
    uint32_t many = 0;
    const uint32_t *w = word ? cji_fn_words(g, word, &many) : NULL;
    if (many != n || n > MOST_WORDS) return false;
    for (uint32_t i = 0; i < many; i++) {
        if (cji_word_kind(w[i]) != CJI_K_REG && cji_word_kind(w[i]) != CJI_K_IMM) return false;
        to[i] = w[i];
    }
    return true;
}

/* A call of a function that is inlined too.  Its operands: results if it has any, the function, arguments if any. */
static bool copy_call(inliner *in, const cji_ins *x)
{
    uint32_t list[2] = { 0 }, results[MOST_WORDS], args[MOST_WORDS];
    const cj_fn *g = NULL;
    for (uint32_t i = 0, n = cji_ins_n(in->g, x); i < n; i++) {
        const uint32_t word = cji_ins_opnd(in->g, x, i);
        if (cji_word_kind(word) == CJI_K_FUNC) g = in->f->m->fn[cji_word_index(word)];
        else if (cji_word_kind(word) == CJI_K_LIST) list[g != NULL] = word;
    }
    if (!g || x->guard || !goes_deeper(in, g) || !plain_words(in->g, list[0], g->nresult, results) ||
        !plain_words(in->g, list[1], g->nparam, args)) return false;
    for (size_t i = 0; i < g->nresult && !in->f->m->dead; i++) results[i] = copy_word(in, results[i]);
    for (size_t i = 0; i < g->nparam && !in->f->m->dead; i++) args[i] = copy_word(in, args[i]);
    inliner next = { .f = in->f, .g = g, .outer = in, .depth = in->depth + 1, .call = in->call };
    if (!in->f->m->dead) inline_body(&next, results, args);
    return true;
}

static void copy_instruction(inliner *in, const cji_ins *x, bool last)
{
    uint32_t words[CJI_ISA_OPNDS];
    cji_form *e = in->f->m->form[x->form];
    const uint32_t n = cji_ins_n(in->g, x), guard = x->guard ? copy_word(in, x->guard) : 0;
    if (e->isa->op == CJI_OP_RET) {
        copy_return(in, guard, last);
        return;
    }
    if (e->isa->effect & CJI_FX_CALL && copy_call(in, x)) return;
    for (uint32_t i = 0; i < n && !in->f->m->dead; i++) words[i] = copy_word(in, cji_ins_opnd(in->g, x, i));
    if (!in->f->m->dead) cji_fn_emit(in->f, e, guard, words, n, in->call);
}

static void copy_comments(inliner *in, size_t at, size_t *next)
{
    const cj_fn *g = in->g;
    for (; *next < g->ncomment && g->comment[*next].at <= at; ++*next) {
        cji_text t = { 0 };
        cji_text_put(&t, g->remark + g->comment[*next].first, g->comment[*next].n);
        if (!t.failed) cj_comment(in->f, cji_text_str(&t));
        cji_text_free(&t);
    }
}

static void copy_body(inliner *in)
{
    const cj_fn *g = in->g;
    const uint32_t loc = in->f->loc;
    for (size_t i = 0, comment = 0; i < g->nins && !in->f->m->dead; i++) {
        const cji_ins *x = &g->ins[i];
        copy_comments(in, i, &comment);
        in->f->loc = x->loc ? x->loc : loc;
        if (x->form == CJI_INS_LABEL) cji_fn_bind(in->f, copy_label(in, cji_word_index(x->opnd[0])));
        else if (x->form == CJI_INS_PRAGMA) cji_fn_pseudo(in->f, x->form, x->opnd[0]);
        else copy_instruction(in, x, i + 1 == g->nins);
    }
    in->f->loc = loc;
    if (in->end && !in->f->m->dead) cji_fn_bind(in->f, in->end);
}

/* Parameters are registers of the copy, since a function may write them. */
static void inline_body(inliner *in, const uint32_t *results, const uint32_t *args)
{
    const cj_fn *g = in->g;
    cj_ptx *m = in->f->m;
    const size_t bytes = (g->nreg + g->nlabel + 1) * sizeof *in->reg;
    in->reg = cji_alloc(bytes);
    if (!in->reg) {
        cji_ptx_nomem(m, in->call);
        return;
    }
    memset(in->reg, 0, bytes);
    in->label = in->reg + g->nreg;
    for (size_t i = 0; i < g->nresult && !m->dead; i++) in->reg[m->var[g->result[i]]->reg] = results[i];
    for (size_t i = 0; i < g->nparam && !m->dead; i++) {
        const uint32_t to = copy_register(in, m->var[g->param[i]]->reg);
        if (to) cj_assign(in->f, operand_value(in->f, to), operand_value(in->f, args[i]));
    }
    if (!m->dead) copy_body(in);
    cji_free(in->reg, bytes);
}

void cji_inline_call(cj_fn *f, const cj_fn *g, const uint32_t *results, const uint32_t *args, const char *call)
{
    inliner in = { .f = f, .g = g, .call = call };
    const char *lack = lack_of(g);
    if (!lack) inline_body(&in, results, args);
    else cji_ptx_fail(f->m, CJ_ESTATE, call, f->loc, "%s: %s is inlined, so it is complete before it is called; %s",
                      call, cji_short(cji_ptx_name(f->m, g->name)), lack);
}

/* ---- Marking ----------------------------------------------------------------------------------------------------- */

/* As deep as copies go. */
static void mark(cj_fn *f, unsigned depth)
{
    if (f->inlined || f->kernel || !f->body || depth > MOST_DEPTH) return;
    f->inlined = 1;
    for (size_t i = 0; i < f->nins; i++) {
        if (f->ins[i].form >= CJI_INS_PSEUDO) continue;
        for (uint32_t k = 0, n = cji_ins_n(f, &f->ins[i]); k < n; k++) {
            const uint32_t word = cji_ins_opnd(f, &f->ins[i], k);
            if (cji_word_kind(word) == CJI_K_FUNC) mark(f->m->fn[cji_word_index(word)], depth + 1);
        }
    }
}

void cj_fn_inline(cj_fn *f)
{
    if (!cji_fn_open(f, __func__)) return;
    if (f->kernel || !f->body) {
        cji_ptx_fail(f->m, CJ_EINVAL, __func__, f->loc, "%s: %s %s", __func__, cji_short(cji_ptx_name(f->m, f->name)),
                     f->kernel ? "is a kernel; kernels cannot be called" : "is declared only: it has no body here");
        return;
    }
    mark(f, 0);
}
