/* The copy: what a try has made is compared with what comes next in the module, and taken back where it differs. */
#include <string.h>

#include "ptx/print.h"
#include "ptx/reproduce/reproduce.h"

/* ---- Trying ------------------------------------------------------------------------------------------------------ */

cji_rep_mark cji_rep_begin(cji_rep_body *c)
{
    const cj_fn *g = c->g;
    cji_rep_mark mark = { .text = c->text.n, .nstmt = c->nstmt, .nnamed = c->nnamed, .nslot = c->nslot, .at = c->at,
                          .nins = g->nins, .nreg = g->nreg, .nmem = g->nmem, .npool = g->npool, .nlabel = g->nlabel,
                          .ntlist = g->ntlist, .nblock = g->nblock };
    memcpy(mark.count, g->count, sizeof mark.count);
    return mark;
}

cji_rep_slot *cji_rep_named_slot(cji_rep_body *c, uint32_t number)
{
    return number & CJI_REP_VARIABLE ? &c->r->var[number & ~CJI_REP_VARIABLE] : &c->slot[number];
}

static uint32_t *named_uses(cji_rep_body *c, uint32_t number)
{
    if (number & CJI_REP_FUNCTION) return &c->r->fn[number & ~CJI_REP_FUNCTION].uses;
    return &cji_rep_named_slot(c, number)->uses;
}

bool cji_rep_note(cji_rep_body *c, uint32_t number)
{
    if (!cji_grow(&c->named, &c->cnamed, c->nnamed + 1, sizeof *c->named)) return c->text.failed = true, false;
    c->named[c->nnamed++] = number;
    ++*named_uses(c, number);
    return true;
}

static uint32_t with_own_name(const cj_fn *f, const char *name)
{
    for (size_t i = 0; i < f->nreg && f->named_regs; i++)
        if (f->reg[i].flags & CJI_REG_NAMED && !strcmp(cji_ptx_name(f->m, f->reg[i].number), name)) return (uint32_t)i;
    return CJI_REP_NONE;
}

/* The register of the function that is register `i` of the copy; CJI_REP_NONE: none, or one of the head. */
static uint32_t original(const cji_rep_body *c, uint32_t i)
{
    const cji_reg *reg = &c->g->reg[i];
    if (reg->flags & CJI_REG_NAMED) return with_own_name(c->f, cji_ptx_name(c->g->m, reg->number));
    const unsigned class = cji_type_declared(reg->type);
    const bool numbered = !(reg->flags & CJI_REG_PARAM) && reg->number < c->f->count[class];
    return numbered ? c->by_number[class][reg->number] : CJI_REP_NONE;
}

void cji_rep_undo(cji_rep_body *c, const cji_rep_mark *mark)
{
    cj_fn *g = c->g;
    /* What was made since then is not there any more. */
    for (size_t i = mark->nreg; i < g->nreg; i++) {
        const uint32_t reg = original(c, (uint32_t)i);
        if (reg != CJI_REP_NONE) c->slot[reg].v = CJI_NULL, c->slot[reg].declared = false;
        if (g->reg[i].flags & CJI_REG_NAMED) g->named_regs--;
    }
    for (size_t i = mark->nlabel; i < g->nlabel && i < c->f->nlabel; i++)
        c->slot[cji_rep_label_slot(c, (uint32_t)i)].v = CJI_NULL;
    for (size_t i = 0; i < mark->nlabel; i++)
        if (g->label[i].at != UINT32_MAX && g->label[i].at >= mark->nins) g->label[i].at = UINT32_MAX;
    c->text.n = mark->text;
    c->nstmt = mark->nstmt;
    while (c->nnamed > mark->nnamed) --*named_uses(c, c->named[--c->nnamed]);
    c->nslot = mark->nslot;
    c->at = mark->at;
    g->nins = mark->nins;
    g->nmem = mark->nmem;
    g->npool = mark->npool;
    g->nlabel = mark->nlabel;
    g->ntlist = mark->ntlist;
    g->nblock = mark->nblock;
    g->nreg = mark->nreg;
    memcpy(g->count, mark->count, sizeof mark->count);
}

bool cji_rep_same(cji_rep_body *c, const cji_rep_mark *mark)
{
    const cj_fn *f = c->f, *g = c->g;
    const size_t n = g->nins - mark->nins;
    if (g->m->dead || n > f->nins - c->at) return false;
    for (size_t i = 0; i < n; i++) {
        c->a.n = c->b.n = 0;
        cji_ptx_write_ins(f, &f->ins[c->at + i], &c->a);
        cji_ptx_write_ins(g, &g->ins[mark->nins + i], &c->b);
        if (c->a.failed || c->b.failed || c->a.n != c->b.n || memcmp(c->a.p, c->b.p, c->a.n)) return false;
    }
    c->at += n;
    /* Registers that a verb makes on its way have the same numbers. */
    for (size_t i = mark->nreg; i < g->nreg; i++) {
        const uint32_t reg = original(c, (uint32_t)i);
        if (reg != CJI_REP_NONE)
            c->slot[reg].v = cji_val(cji_word(CJI_K_REG, (uint32_t)i), g->reg[i].type, g->owner);
    }
    return true;
}

/* The same text as the function's, head and all. */
bool cji_rep_same_definition(cji_rep_body *c)
{
    static const cji_print_files none = { .n = 0 };
    c->a.n = c->b.n = 0;
    cji_print_head(c->f, !c->f->body, &c->a);
    cji_print_head(c->g, !c->g->body, &c->b);
    if (c->f->body) cji_print_body(c->f, &none, &c->a);
    if (c->f->body) cji_print_body(c->g, &none, &c->b);
    return !c->a.failed && !c->b.failed && c->a.n == c->b.n && !memcmp(c->a.p, c->b.p, c->a.n);
}
