/* Labels and branches as code blocks.
 *
 * A block of cj_if, cj_for and the others makes labels, and numbers them in the order in which it makes them.  So a
 * label is one of a block only where it is the next one to be made, and where nothing but the block's own branches
 * name it.  Everything else is cj_label, cj_label_bind and "bra". */
#include <stdio.h>
#include <string.h>

#include "ptx/reproduce/reproduce.h"

/* ---- Who names what ---------------------------------------------------------------------------------------------- */

static void count_word(cji_rep_body *c, uint32_t word, size_t at)
{
    uint32_t n;
    const uint32_t i = cji_word_index(word), *e;
    switch (cji_word_kind(word)) {
    case CJI_K_REG:
    case CJI_K_NOT: c->refs[i]++; break;
    case CJI_K_MEM: count_word(c, c->f->mem[i].base, at); break;
    case CJI_K_SYM: c->r->var[i].seen = c->f->index + 1; break;
    case CJI_K_LABEL:
        if (!c->label_refs[i]++) c->label_first[i] = (uint32_t)at;
        c->label_last[i] = (uint32_t)at;
        break;
    case CJI_K_VEC:
    case CJI_K_LIST:
    case CJI_K_PAIR:
    case CJI_K_TEXMEM:
        e = cji_fn_words(c->f, word, &n);
        for (uint32_t k = 0; k < n; k++)
            if (e[k]) count_word(c, e[k], at);
        break;
    default: break;
    }
}

bool cji_rep_count_uses(cji_rep_body *c)
{
    const cj_fn *f = c->f;
    c->refs = cji_zalloc((f->nreg + 1) * sizeof *c->refs);
    c->label_refs = cji_zalloc(3 * (f->nlabel + 1) * sizeof *c->label_refs);
    if (!c->refs || !c->label_refs) return false;
    c->label_first = c->label_refs + f->nlabel + 1;
    c->label_last = c->label_first + f->nlabel + 1;
    for (size_t i = 0; i < f->nins; i++) {
        const cji_ins *x = &f->ins[i];
        if (x->guard) count_word(c, x->guard, i);
        if (x->form == CJI_INS_TARGETS && f->tlist[cji_word_index(x->opnd[0])].kind == CJI_TL_BRANCH)
            count_word(c, f->tlist[cji_word_index(x->opnd[0])].list, i);
        if (!cji_ins_form(f->m, x)) continue;
        for (uint32_t k = 0, n = cji_ins_n(f, x); k < n; k++) count_word(c, cji_ins_opnd(f, x, k), i);
    }
    return true;
}

bool cji_rep_is(const cji_rep_body *c, const cji_ins *x, cji_verb_id verb, unsigned type)
{
    const cji_form *e = cji_ins_form(c->f->m, x), *own;
    own = e ? cji_verb(c->g, verb, 0, type, 0, "cj_ptx_reproducer") : NULL;
    return own && !strcmp(e->isa->text, own->isa->text);
}

static const cji_ins *record_at(const cji_rep_body *c, size_t i) { return i < c->f->nins ? &c->f->ins[i] : NULL; }

/* Is it "bra" to some label?  Its index, else CJI_REP_NONE. */
static uint32_t branch_to(const cji_rep_body *c, const cji_ins *x)
{
    if (!x || !cji_rep_is(c, x, CJI_VERB_BRA, CJ_VOID)) return CJI_REP_NONE;
    return cji_word_kind(x->opnd[0]) == CJI_K_LABEL ? cji_word_index(x->opnd[0]) : CJI_REP_NONE;
}

static bool binds(const cji_rep_body *c, size_t i, uint32_t label)
{
    const cji_ins *x = record_at(c, i);
    return x && x->form == CJI_INS_LABEL && cji_word_index(x->opnd[0]) == label;
}

/* The record that binds the label. */
static size_t bound_at(const cji_rep_body *c, uint32_t label)
{
    return label < c->f->nlabel ? c->f->label[label].at : SIZE_MAX;
}

/* The record where the innermost block closes. */
static size_t block_limit(const cji_rep_body *c)
{
    return c->nblock ? c->block[c->nblock - 1].close_at : c->f->nins;
}

static bool open_block(cji_rep_body *c, cji_rep_block b)
{
    if (!cji_grow(&c->block, &c->cblock, c->nblock + 1, sizeof *c->block)) return c->text.failed = true, false;
    c->block[c->nblock++] = b;
    c->indent++;
    return true;
}

/* ---- Conditions -------------------------------------------------------------------------------------------------- */

/* "cj_if(f, p);" for a branch around what follows: @!p bra, or @p bra for cj_not(f, p). */
static bool put_condition(cji_rep_body *c, const char *verb, uint32_t guard, bool negate, cj_val *v)
{
    const bool inverted = (cji_word_kind(guard) == CJI_K_NOT) != negate;
    const uint32_t reg = cji_word_index(guard);
    if (!c->slot[reg].v.bits) return false;
    cji_rep_open(c);
    cji_text_printf(&c->text, "%s(f, ", verb);
    if (inverted) cji_text_puts(&c->text, "cj_not(f, ");
    if (!cji_rep_use(c, reg, v)) return false;
    cji_text_puts(&c->text, inverted ? "));" : ");");
    if (inverted) *v = (cj_not)(c->g, *v);
    return v->bits != 0;
}

/* What a block's verb has made is what comes next, or it is taken back. */
static bool flow_done(cji_rep_body *c, const cji_rep_mark *mark)
{
    if (c->g->nins > mark->nins && cji_rep_same(c, mark)) return true;
    cji_rep_undo(c, mark);
    return false;
}

/* ---- if ---------------------------------------------------------------------------------------------------------- */

static bool flow_if(cji_rep_body *c)
{
    const cji_ins *x = record_at(c, c->at);
    const uint32_t label = branch_to(c, x);
    cj_val p;
    if (label == CJI_REP_NONE || !x->guard || label != c->g->nlabel || c->label_refs[label] != 1) return false;
    const size_t end = bound_at(c, label);
    if (end <= c->at || end >= block_limit(c)) return false;
    const cji_rep_mark mark = cji_rep_begin(c);
    if (!put_condition(c, "cj_if", x->guard, true, &p)) return cji_rep_undo(c, &mark), false;
    (cj_if)(c->g, p);
    cji_rep_close(c, CJI_REP_NONE);
    if (!flow_done(c, &mark)) return false;
    return open_block(c, (cji_rep_block){ .kind = CJI_REP_IF, .label_else = label, .close_at = end });
}

static bool flow_else(cji_rep_body *c)
{
    cji_rep_block *b = c->nblock ? &c->block[c->nblock - 1] : NULL;
    const cji_ins *x = record_at(c, c->at);
    const uint32_t label = branch_to(c, x);
    if (!b || b->kind != CJI_REP_IF || b->has_else || c->at + 1 != b->close_at) return false;
    if (label == CJI_REP_NONE || x->guard || label != c->g->nlabel || c->label_refs[label] != 1) return false;
    const size_t end = bound_at(c, label), limit = c->nblock > 1 ? b[-1].close_at : c->f->nins;
    if (end <= b->close_at || end >= limit) return false;
    const cji_rep_mark mark = cji_rep_begin(c);
    c->indent--;
    cji_rep_open(c);
    c->indent++;
    cji_text_puts(&c->text, "cj_else(f);");
    (cj_else)(c->g);
    cji_rep_close(c, CJI_REP_NONE);
    if (!flow_done(c, &mark)) return false;
    b->has_else = 1;
    b->close_at = end;
    return true;
}

/* ---- Loops ------------------------------------------------------------------------------------------------------- */

/* Are all branches to the label, but for so many others, between the records `from` and `to`, in no loop inside of
 * these, and does nothing else name it? */
static bool only_leaves(const cji_rep_body *c, uint32_t label, size_t from, size_t to, uint32_t others)
{
    uint32_t found = 0;
    size_t inner = 0;   /* up to this record a loop goes that began inside */
    for (size_t i = from + 1; i < to && c->label_refs[label] > others; i++) {
        const cji_ins *x = record_at(c, i);
        if (x->form == CJI_INS_LABEL) {
            const uint32_t top = cji_word_index(x->opnd[0]);
            if (c->label_refs[top] && c->label_last[top] > i && c->label_last[top] > inner) inner = c->label_last[top];
        }
        if (branch_to(c, x) != label) continue;
        if (i <= inner) return false;
        found++;
    }
    return found + others == c->label_refs[label];
}

/* A loop whose first label is bound by record `top`: the record of its last branch, SIZE_MAX: it is none. */
static size_t loop_end(const cji_rep_body *c, size_t top, uint32_t label)
{
    const uint32_t end = label + 1;
    if (!binds(c, top, label) || label != c->g->nlabel || end >= c->f->nlabel || !c->label_refs[label]) return SIZE_MAX;
    const size_t back = c->label_last[label];
    const cji_ins *x = record_at(c, back);
    if (back <= top || branch_to(c, x) != label || x->guard || !binds(c, back + 1, end)) return SIZE_MAX;
    return back + 1 < block_limit(c) ? back : SIZE_MAX;
}

static bool flow_loop(cji_rep_body *c)
{
    const cji_ins *x = record_at(c, c->at), *test = record_at(c, c->at + 1);
    if (!x || x->form != CJI_INS_LABEL) return false;
    const uint32_t label = cji_word_index(x->opnd[0]);
    const size_t back = loop_end(c, c->at, label);
    const bool is_while = test && test->guard && branch_to(c, test) == label + 1;
    if (back == SIZE_MAX || !only_leaves(c, label, c->at, back, 1)) return false;
    if (!only_leaves(c, label + 1, c->at + is_while, back, is_while)) return false;
    const cji_rep_mark mark = cji_rep_begin(c);
    cj_val p;
    if (is_while) {
        if (!put_condition(c, "cj_while", test->guard, true, &p)) return cji_rep_undo(c, &mark), false;
        (cj_while)(c->g, p);
    } else {
        cji_rep_open(c);
        cji_text_puts(&c->text, "cj_loop(f);");
        (cj_loop)(c->g);
    }
    cji_rep_close(c, CJI_REP_NONE);
    if (!flow_done(c, &mark)) return false;
    return open_block(c, (cji_rep_block){ .kind = CJI_REP_LOOP, .label_end = label + 1, .label_next = label,
                                          .close_at = back });
}

/* mov i, from; top: setp more, i, to; @!more bra end; ... next: add i, i, step; bra top; end: */
static bool flow_for(cji_rep_body *c)
{
    const cji_ins *mov = record_at(c, c->at), *bind = record_at(c, c->at + 1), *less = record_at(c, c->at + 2),
                  *test = record_at(c, c->at + 3);
    if (!test || bind->form != CJI_INS_LABEL || mov->guard || less->guard || !test->guard) return false;
    const cji_form *e = cji_ins_form(c->f->m, mov), *s = cji_ins_form(c->f->m, less);
    const uint32_t top = cji_word_index(bind->opnd[0]), next = top + 2, counter = cji_word_index(mov->opnd[0]);
    if (!e || !s || strncmp(e->isa->text, "mov.", 4) || strncmp(s->isa->text, "setp.", 5)) return false;
    if (cji_word_kind(mov->opnd[0]) != CJI_K_REG || c->slot[counter].v.bits || branch_to(c, test) != top + 1)
        return false;
    const size_t back = loop_end(c, c->at + 1, top);
    if (back == SIZE_MAX || next >= c->f->nlabel || c->label_refs[top] != 1 || !binds(c, back - 2, next)) return false;
    const cji_ins *add = record_at(c, back - 1);
    if (cji_ins_n(c->f, add) != 3 || add->opnd[0] != mov->opnd[0] || add->opnd[1] != mov->opnd[0]) return false;
    const uint32_t more = cji_word_index(less->opnd[0]), word[3] = { mov->opnd[1], less->opnd[2], add->opnd[2] };
    if (cji_word_kind(less->opnd[0]) != CJI_K_REG || c->refs[more] != 2 || less->opnd[1] != mov->opnd[0]) return false;
    if (!only_leaves(c, top + 1, c->at + 3, back - 2, 1) || !only_leaves(c, next, c->at + 3, back - 2, 0)) return false;
    const cji_rep_mark mark = cji_rep_begin(c);
    cj_val v[3];
    cji_rep_open(c);
    cji_text_puts(&c->text, "cj_for(f");
    for (int i = 0; i < 3; i++) {
        const uint32_t kind = cji_word_kind(word[i]);
        const bool there = kind == CJI_K_IMM || (kind == CJI_K_REG && c->slot[cji_word_index(word[i])].v.bits);
        cji_text_puts(&c->text, ", ");
        if (!there || !cji_rep_operand(c, word[i], false, &v[i])) return cji_rep_undo(c, &mark), false;
    }
    cji_text_puts(&c->text, ");");
    cj_val d = (cj_for)(c->g, v[0], v[1], v[2]);
    cji_rep_close(c, counter);
    if (!d.bits || !flow_done(c, &mark)) return false;
    cji_rep_got_reg(c, counter, d);
    return open_block(c, (cji_rep_block){ .kind = CJI_REP_FOR, .label_end = top + 1, .label_next = next,
                                          .close_at = back - 2 });
}

/* ---- Leaving ----------------------------------------------------------------------------------------------------- */

static bool flow_leave(cji_rep_body *c)
{
    static const char *const verbs[2][3] = { { "cj_break", "cj_break_if", "cj_break_unless" },
                                             { "cj_continue", "cj_continue_if", "cj_continue_unless" } };
    static void (*const with[2][2])(cj_fn *, cj_val) = { { cj_break_if, cj_break_unless },
                                                         { cj_continue_if, cj_continue_unless } };
    const cji_ins *x = record_at(c, c->at);
    const uint32_t label = branch_to(c, x);
    size_t i = c->nblock;
    cj_val p;
    while (i && c->block[i - 1].kind == CJI_REP_IF) i--;
    if (!i || label == CJI_REP_NONE) return false;
    const cji_rep_block *loop = &c->block[i - 1];
    const bool next = label == loop->label_next;
    if (!next && label != loop->label_end) return false;
    const cji_rep_mark mark = cji_rep_begin(c);
    if (x->guard) {
        const bool unless = cji_word_kind(x->guard) == CJI_K_NOT;
        if (!put_condition(c, verbs[next][1 + unless], x->guard, unless, &p)) return cji_rep_undo(c, &mark), false;
        with[next][unless](c->g, p);
    } else {
        cji_rep_open(c);
        cji_text_printf(&c->text, "%s(f);", verbs[next][0]);
        if (next) (cj_continue)(c->g);
        else (cj_break)(c->g);
    }
    cji_rep_close(c, CJI_REP_NONE);
    return flow_done(c, &mark);
}

static bool flow_end(cji_rep_body *c)
{
    if (!c->nblock || c->block[c->nblock - 1].close_at != c->at) return false;
    const cji_rep_mark mark = cji_rep_begin(c);
    c->indent--;
    c->nblock--;
    cji_rep_open(c);
    cji_text_puts(&c->text, "cj_end(f);");
    (cj_end)(c->g);
    cji_rep_close(c, CJI_REP_NONE);
    if (c->g->nins > mark.nins && cji_rep_same(c, &mark)) return true;
    return c->stuck = true, false;
}

static bool flow_return(cji_rep_body *c)
{
    const cji_ins *x = record_at(c, c->at);
    cj_val p;
    if (!cji_rep_is(c, x, CJI_VERB_RET, CJ_VOID)) return false;
    const cji_rep_mark mark = cji_rep_begin(c);
    if (x->guard) {
        if (!put_condition(c, "cj_return_if", x->guard, false, &p)) return cji_rep_undo(c, &mark), false;
        (cj_return_if)(c->g, p);
    } else {
        cji_rep_open(c);
        cji_text_puts(&c->text, "cj_return(f);");
        (cj_return)(c->g);
    }
    cji_rep_close(c, CJI_REP_NONE);
    return flow_done(c, &mark);
}

bool cji_rep_flow(cji_rep_body *c)
{
    if (flow_end(c)) return true;
    if (c->stuck || c->at >= c->f->nins) return false;
    return flow_else(c) || flow_leave(c) || flow_if(c) || flow_loop(c) || flow_for(c) || flow_return(c);
}
