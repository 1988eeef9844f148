/* Statements of a body, and the registers and labels that they declare. */
#include <stdio.h>

#include "ptx/reproduce/reproduce.h"

/* ---- Statements -------------------------------------------------------------------------------------------------- */

void cji_rep_open(cji_rep_body *c)
{
    if (!cji_grow(&c->stmt, &c->cstmt, c->nstmt + 1, sizeof *c->stmt)) {
        c->text.failed = true;
        return;
    }
    c->stmt[c->nstmt] = (cji_rep_stmt){ .begin = c->text.n, .slot = CJI_REP_NONE, .reg = false, .indent = c->indent,
                                        .loc = c->at < c->f->nins ? c->f->ins[c->at].loc : 0 };
}

void cji_rep_close(cji_rep_body *c, uint32_t slot)
{
    if (c->text.failed) return;
    c->stmt[c->nstmt].end = c->text.n;
    c->stmt[c->nstmt++].slot = slot;
}

/* ---- Registers and labels ---------------------------------------------------------------------------------------- */

unsigned cji_rep_class(const cj_fn *f, uint32_t reg) { return cji_type_declared(f->reg[reg].type); }

bool cji_rep_is_numbered(const cj_fn *f, uint32_t reg)
{
    return !(f->reg[reg].flags & (CJI_REG_PARAM | CJI_REG_NAMED));
}

bool cji_rep_is_next(const cji_rep_body *c, uint32_t reg)
{
    return !c->slot[reg].v.bits && cji_rep_is_numbered(c->f, reg) &&
           c->f->reg[reg].number == c->g->count[cji_rep_class(c->f, reg)];
}

static void name_reg(cji_rep_body *c, uint32_t reg)
{
    char name[40];
    if (c->slot[reg].name) return;
    snprintf(name, sizeof name, "%s%u", cji_type_prefix(cji_rep_class(c->f, reg)), c->f->reg[reg].number);
    c->slot[reg].name = cji_rep_name(c->r, &c->taken, name);
}

void cji_rep_got_reg(cji_rep_body *c, uint32_t reg, cj_val v)
{
    name_reg(c, reg);
    c->slot[reg].v = v;
    c->slot[reg].declared = true;
}

bool cji_rep_make_reg(cji_rep_body *c, uint32_t reg)
{
    const unsigned class = cji_rep_class(c->f, reg);
    if (c->slot[reg].v.bits) return true;
    if (!cji_rep_is_numbered(c->f, reg)) return false;
    while (!c->slot[reg].v.bits) {
        const uint32_t at = c->g->count[class];
        if (at >= c->f->count[class] || c->g->m->dead) return false;
        const uint32_t next = c->by_number[class][at];
        if (next == CJI_REP_NONE) return false;
        cji_rep_open(c);
        cji_text_printf(&c->text, "cj_reg(f, %s);", cji_rep_type(c->f->reg[next].type));
        cji_rep_got_reg(c, next, (cj_reg)(c->g, (cj_type)c->f->reg[next].type));
        cji_rep_close(c, next);
        if (!c->text.failed) c->stmt[c->nstmt - 1].reg = true;
    }
    return true;
}

void cji_rep_make_label(cji_rep_body *c, uint32_t label)
{
    while (c->g->nlabel <= label && !c->g->m->dead) {
        char name[24];
        const uint32_t i = (uint32_t)c->g->nlabel, slot = cji_rep_label_slot(c, i);
        snprintf(name, sizeof name, "label%u", i);
        if (!c->slot[slot].name) c->slot[slot].name = cji_rep_name(c->r, &c->taken, name);
        cji_rep_open(c);
        cji_text_puts(&c->text, "cj_label(f);");
        c->slot[slot].v = (cj_label)(c->g);
        c->slot[slot].declared = true;
        cji_rep_close(c, slot);
    }
}
