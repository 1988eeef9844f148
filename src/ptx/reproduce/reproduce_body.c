/* A body, instruction by instruction. */
#include <stdio.h>
#include <string.h>

#include "ptx/print.h"
#include "ptx/reproduce/reproduce.h"

/* ---- An instruction by its own name ------------------------------------------------------------------------------ */

/* A vector of new registers, as cj_def makes it: in a row, all of the instruction's type. */
static bool is_new_vector(const cji_rep_body *c, uint32_t word, unsigned type)
{
    uint32_t n;
    if (cji_word_kind(word) != CJI_K_VEC) return false;
    const uint32_t *e = cji_fn_words(c->f, word, &n);
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t reg = cji_word_index(e[i]);
        if (cji_word_kind(e[i]) != CJI_K_REG || c->slot[reg].v.bits || c->f->reg[reg].type != type) return false;
        if (!cji_rep_is_numbered(c->f, reg)) return false;
        if (c->f->reg[reg].number != c->g->count[cji_rep_class(c->f, reg)] + i) return false;
    }
    return true;
}

/* Can cj_def make the first operand?  Its type is the instruction's own, and nobody had the register before. */
static bool can_define(const cji_rep_body *c, const cji_ins *x, const cji_form *e)
{
    const cji_isa_opnd *o = &e->isa->opnd[0];
    if (x->guard || !e->isa->nopnd || !(o->role & CJI_WRITE) || o->type == CJ_VOID) return false;
    if (cji_word_kind(x->opnd[0]) == CJI_K_REG) {
        const uint32_t reg = cji_word_index(x->opnd[0]);
        return c->f->reg[reg].type == o->type && cji_rep_is_next(c, reg) && !(o->count > 1);
    }
    return o->count > 1 && is_new_vector(c, x->opnd[0], o->type);
}

/* The elements of a vector that was just made, each with a name where one is used. */
static void name_elements(cji_rep_body *c, uint32_t word, uint32_t vector, cj_val v)
{
    uint32_t n;
    cj_val whole;
    const uint32_t *e = cji_fn_words(c->f, word, &n);
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t reg = cji_word_index(e[i]);
        cji_rep_got_reg(c, reg, (cj_elem)(c->g, v, i));
        if (c->refs[reg] < 2) continue;
        cji_rep_open(c);
        cji_text_puts(&c->text, "cj_elem(f, ");
        cji_rep_use(c, vector, &whole);
        cji_text_printf(&c->text, ", %u);", i);
        cji_rep_close(c, reg);
    }
}

static uint32_t new_vector_slot(cji_rep_body *c)
{
    char name[24];
    if (!cji_grow(&c->slot, &c->cslot, c->nslot + 1, sizeof *c->slot)) return CJI_REP_NONE;
    snprintf(name, sizeof name, "vec%zu", c->nslot - c->f->nreg - c->f->nlabel - c->f->ntlist);
    c->slot[c->nslot] = (cji_rep_slot){ .name = cji_rep_name(c->r, &c->taken, name) };
    return (uint32_t)c->nslot++;
}

/* The operands behind the first `skip`, in a call that has been begun. */
static bool put_operands(cji_rep_body *c, const cji_ins *x, uint32_t skip, cj_val *v, uint32_t *n)
{
    *n = 0;
    for (uint32_t i = skip, all = cji_ins_n(c->f, x); i < all; i++) {
        cji_text_puts(&c->text, ", ");
        if (!cji_rep_operand(c, cji_ins_opnd(c->f, x, i), false, &v[(*n)++])) return false;
    }
    cji_text_puts(&c->text, ");");
    return true;
}

static bool define(cji_rep_body *c, const cji_ins *x, const cji_form *e)
{
    cj_val v[CJI_ISA_OPNDS];
    uint32_t n, slot;
    const bool vector = cji_word_kind(x->opnd[0]) == CJI_K_VEC;
    slot = vector ? new_vector_slot(c) : cji_word_index(x->opnd[0]);
    if (slot == CJI_REP_NONE) return false;
    cji_rep_open(c);
    cji_text_printf(&c->text, "cj_def(f, \"%s\"", e->isa->text);
    if (!put_operands(c, x, 1, v, &n)) return false;
    const cj_val d = (cj_def_n)(c->g, e->isa->text, v, n);
    if (!d.bits || vector != (cji_val_kind(d) == CJI_K_VEC)) return false;
    c->slot[slot].v = d;
    c->slot[slot].declared = true;
    if (!vector) cji_rep_got_reg(c, slot, d);
    cji_rep_close(c, slot);
    if (vector) name_elements(c, x->opnd[0], slot, d);
    return true;
}

static bool put_by_name(cji_rep_body *c, bool defines)
{
    const cji_ins *x = &c->f->ins[c->at];
    const cji_form *e = cji_ins_form(c->f->m, x);
    const cji_rep_mark mark = cji_rep_begin(c);
    cj_val v[CJI_ISA_OPNDS], guard = CJI_NULL;
    const uint32_t all = cji_ins_n(c->f, x), first = defines ? 1 : 0;
    uint32_t n;
    for (uint32_t i = first; i < all; i++)
        if (!cji_rep_prepare(c, cji_ins_opnd(c->f, x, i))) return false;
    if (x->guard && !cji_rep_prepare(c, x->guard)) return false;
    if (defines) return define(c, x, e) && cji_rep_same(c, &mark);
    cji_rep_open(c);
    if (!x->guard) {
        cji_text_printf(&c->text, "cj_ins(f, \"%s\"", e->isa->text);
        if (!put_operands(c, x, 0, v, &n)) return false;
        (cj_ins_n)(c->g, e->isa->text, v, n);
    } else {
        const bool unless = cji_word_kind(x->guard) == CJI_K_NOT;
        cji_text_puts(&c->text, unless ? "cj_ins_unless(f, " : "cj_ins_if(f, ");
        if (!cji_rep_use(c, cji_word_index(x->guard), &guard)) return false;
        cji_text_printf(&c->text, ", \"%s\"", e->isa->text);
        if (!put_operands(c, x, 0, v, &n)) return false;
        if (unless) (cj_ins_unless_n)(c->g, guard, e->isa->text, v, n);
        else (cj_ins_if_n)(c->g, guard, e->isa->text, v, n);
    }
    cji_rep_close(c, CJI_REP_NONE);
    return cji_rep_same(c, &mark);
}

/* cj_def where it makes the same: "mov.b64" is the name of several rows, of which it takes the first. */
static bool by_name(cji_rep_body *c)
{
    const cji_ins *x = &c->f->ins[c->at];
    const cji_rep_mark mark = cji_rep_begin(c);
    if (can_define(c, x, cji_ins_form(c->f->m, x))) {
        if (put_by_name(c, true)) return true;
        if (c->g->m->dead) return false;
        cji_rep_undo(c, &mark);
    }
    return put_by_name(c, false);
}

/* ---- Records that are no instructions ---------------------------------------------------------------------------- */

static bool branch_targets(cji_rep_body *c, uint32_t index)
{
    const cji_tlist *l = &c->f->tlist[index];
    cj_val each[256];
    char name[24];
    uint32_t n;
    if (l->kind != CJI_TL_BRANCH || index != c->g->ntlist) return false;
    const uint32_t *e = cji_fn_words(c->f, l->list, &n), slot = cji_rep_list_slot(c, index);
    if (n > 256 || !cji_rep_prepare(c, l->list)) return false;
    cji_rep_open(c);
    cji_text_puts(&c->text, "cj_branch_targets(f, (const cj_val[]){ ");
    for (uint32_t i = 0; i < n; i++) {
        if (i) cji_text_puts(&c->text, ", ");
        if (!cji_rep_operand(c, e[i], true, &each[i])) return false;
    }
    cji_text_printf(&c->text, " }, %u);", n);
    snprintf(name, sizeof name, "targets%u", index);
    if (!c->slot[slot].name) c->slot[slot].name = cji_rep_name(c->r, &c->taken, name);
    c->slot[slot].v = (cj_branch_targets)(c->g, each, n);
    c->slot[slot].declared = true;
    cji_rep_close(c, slot);
    return true;
}

static bool pseudo(cji_rep_body *c)
{
    const cji_ins *x = &c->f->ins[c->at];
    const cji_rep_mark mark = cji_rep_begin(c);
    const uint32_t i = cji_word_index(x->opnd[0]);
    cj_val label;
    switch (x->form) {
    case CJI_INS_LABEL:
        cji_rep_make_label(c, i);
        cji_rep_open(c);
        cji_text_puts(&c->text, "cj_label_bind(f, ");
        if (!cji_rep_use(c, cji_rep_label_slot(c, i), &label)) return false;
        cji_text_puts(&c->text, ");");
        (cj_label_bind)(c->g, label);
        cji_rep_close(c, CJI_REP_NONE);
        return cji_rep_same(c, &mark);
    case CJI_INS_TARGETS: return branch_targets(c, i) && cji_rep_same(c, &mark);
    case CJI_INS_PRAGMA:
        cji_rep_open(c);
        cji_text_puts(&c->text, "cj_pragma(f, ");
        cji_rep_quote(&c->text, cji_ptx_name(c->f->m, x->opnd[0]), cji_ptx_name_len(c->f->m, x->opnd[0]));
        cji_text_puts(&c->text, ");");
        (cj_pragma)(c->g, cji_ptx_name(c->f->m, x->opnd[0]));
        cji_rep_close(c, CJI_REP_NONE);
        return cji_rep_same(c, &mark);
    default: return false;
    }
}

/* ---- The whole body ---------------------------------------------------------------------------------------------- */

static bool body_records(cji_rep_body *c)
{
    while (c->at < c->f->nins) {
        const size_t before = c->at;
        cji_rep_make_unused(c);
        bool done = cji_rep_declare_bytes(c);
        if (!done) return false;
        if (cji_rep_reads_parameter(c)) done = cji_rep_parameter(c);
        else if (!c->r->plain && (cji_rep_flow(c) || cji_rep_verb(c))) done = true;
        else done = cji_ins_form(c->f->m, &c->f->ins[c->at]) ? by_name(c) : pseudo(c);
        if (!done || c->g->m->dead || c->text.failed || c->at == before) return false;
    }
    /* what the last cj_end closes is behind the last record */
    while (c->nblock)
        if (!cji_rep_flow(c)) return false;
    return cji_rep_declare_bytes(c);
}

/* Registers that no instruction names, in the order of their numbers, and labels. */
static bool leftovers(cji_rep_body *c)
{
    for (size_t i = 0; i < c->f->nreg; i++)
        if (!(c->f->reg[i].flags & CJI_REG_PARAM) && !cji_rep_make_reg(c, (uint32_t)i)) return false;
    cji_rep_make_unused(c);
    return c->params == c->f->nparam;
}

static bool number_registers(cji_rep_body *c)
{
    for (unsigned t = 0; t < CJ_TYPE_COUNT; t++) {
        if (!c->f->count[t]) continue;
        c->by_number[t] = cji_alloc(c->f->count[t] * sizeof **c->by_number);
        if (!c->by_number[t]) return false;
        for (uint32_t k = 0; k < c->f->count[t]; k++) c->by_number[t][k] = CJI_REP_NONE;
    }
    for (size_t i = 0; i < c->f->nreg; i++) {
        const unsigned t = cji_rep_class(c->f, (uint32_t)i);
        if (cji_rep_is_numbered(c->f, (uint32_t)i) && c->f->reg[i].number < c->f->count[t])
            c->by_number[t][c->f->reg[i].number] = (uint32_t)i;
    }
    return true;
}

static void put_source_line(const cji_rep_body *c, uint32_t loc, cji_text *out)
{
    uint32_t line;
    const char *file = cji_ptx_where(c->f->m, loc, &line);
    /* of a text without .loc the lines are the text's own */
    if (!loc || !line || (c->f->as_is && !c->f->ntext_line)) return;
    cji_text_puts(out, "    /* ");
    for (const char *s = file; *s; s++) cji_text_putc(out, (*s == '*' && s[1] == '/') || *s < ' ' ? '_' : *s);
    cji_text_printf(out, ":%u */", line);
}

/* Does the statement make a register that is named, so that others can follow it in its line? */
static bool is_named_reg(cji_rep_body *c, size_t i)
{
    return i < c->nstmt && c->stmt[i].reg && cji_rep_named_slot(c, c->stmt[i].slot)->uses;
}

enum { LINE_MOST = 100 };

/* The statements, with a comment where the user's line is another one than before.  Registers share lines. */
static void put_statements(cji_rep_body *c, cji_text *out)
{
    uint32_t loc = 0;
    for (size_t i = 0; i < c->nstmt; i++) {
        const cji_rep_stmt *s = &c->stmt[i];
        const cji_rep_slot *slot = s->slot == CJI_REP_NONE ? NULL : cji_rep_named_slot(c, s->slot);
        const size_t begin = out->n;
        for (uint32_t k = 0; k < s->indent + 1; k++) cji_text_puts(out, "    ");
        if (slot && slot->uses) cji_text_printf(out, "cj_val %s = ", cji_rep_name_at(c->r, slot->name));
        cji_text_put(out, c->text.p + s->begin, s->end - s->begin);
        while (is_named_reg(c, i) && is_named_reg(c, i + 1) && out->n - begin + 40 < LINE_MOST && !out->failed) {
            s = &c->stmt[++i];
            out->n--;   /* the semicolon */
            cji_text_printf(out, ", %s = ", cji_rep_name_at(c->r, cji_rep_named_slot(c, s->slot)->name));
            cji_text_put(out, c->text.p + s->begin, s->end - s->begin);
        }
        if (s->loc != loc) put_source_line(c, s->loc, out);
        loc = s->loc;
        cji_text_putc(out, '\n');
    }
}

static bool body_ready(cji_rep_body *c)
{
    const size_t n = c->f->nreg + c->f->nlabel + c->f->ntlist;
    if (!cji_grow(&c->slot, &c->cslot, n + 1, sizeof *c->slot)) return false;
    memset(c->slot, 0, c->cslot * sizeof *c->slot);
    c->nslot = n;
    return number_registers(c) && cji_rep_count_uses(c);
}

static void body_free(cji_rep_body *c)
{
    for (unsigned t = 0; t < CJ_TYPE_COUNT; t++) cji_free(c->by_number[t], c->f->count[t] * sizeof **c->by_number);
    cji_free(c->slot, c->cslot * sizeof *c->slot);
    cji_free(c->refs, (c->f->nreg + 1) * sizeof *c->refs);
    cji_free(c->label_refs, 3 * (c->f->nlabel + 1) * sizeof *c->label_refs);
    cji_free(c->stmt, c->cstmt * sizeof *c->stmt);
    cji_free(c->named, c->cnamed * sizeof *c->named);
    cji_free(c->block, c->cblock * sizeof *c->block);
    cji_map_free(&c->taken);
    cji_text_free(&c->text);
    cji_text_free(&c->a);
    cji_text_free(&c->b);
}

/* ---- The C function ---------------------------------------------------------------------------------------------- */

/* The values of main() that the body names: parameters of its C function, and arguments of the call. */
static void put_parameters(cji_rep_body *c, cji_text *out)
{
    cji_rep *r = c->r;
    for (size_t i = 0; i < c->nnamed; i++) {
        const uint32_t number = c->named[i];
        const bool fn = number & CJI_REP_FUNCTION;
        if (!(number & (CJI_REP_FUNCTION | CJI_REP_VARIABLE))) continue;
        const uint32_t at = number & ~(CJI_REP_FUNCTION | CJI_REP_VARIABLE);
        uint32_t *listed = fn ? &r->fn[at].listed : &r->var[at].listed;
        if (*listed == c->f->index + 1) continue;
        *listed = c->f->index + 1;
        if (!fn && (r->m->var[at]->fn || (!r->declared && cji_rep_is_dynamic(r->m->var[at])))) continue;
        const char *name = cji_rep_name_at(r, fn ? r->fn[at].name : r->var[at].name);
        cji_text_printf(out, ", %s%s", fn ? "cj_fn *" : "cj_val ", name);
        cji_text_printf(&r->args, ", %s", name);
    }
}

static void put_c_function(cji_rep_body *c)
{
    cji_rep *r = c->r;
    cji_text *out = &r->bodies;
    r->fn[c->f->index].args = r->args.n;
    cji_text_printf(out, "static void make_%s(cj_fn *f", cji_rep_name_at(r, r->fn[c->f->index].name));
    put_parameters(c, out);
    cji_text_put(&r->args, "", 1);
    cji_text_puts(out, ")\n{\n");
    put_statements(c, out);
    if (!c->nstmt) cji_text_puts(out, "    (void)f;\n");
    cji_text_puts(out, "}\n\n");
}

bool cji_rep_function(cji_rep *r, uint32_t index)
{
    cji_rep_body c = { .r = r, .f = r->m->fn[index], .g = r->fn[index].g };
    const bool ready = body_ready(&c);
    const bool ok = ready && cji_rep_head(&c) && body_records(&c) && leftovers(&c) && !r->copy->dead &&
                    cji_rep_same_definition(&c);
    if (ok) put_c_function(&c);
    r->short_of_memory = r->short_of_memory || !ready || c.text.failed || c.a.failed || c.b.failed;
    body_free(&c);
    return ok && !r->short_of_memory;
}
