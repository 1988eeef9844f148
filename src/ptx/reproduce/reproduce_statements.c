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

/* The name that cj_name gave a register, without its %. */
static const char *own_name(const cj_fn *f, uint32_t reg) { return cji_ptx_name(f->m, f->reg[reg].number) + 1; }

static void name_reg(cji_rep_body *c, uint32_t reg)
{
    char name[40];
    if (c->slot[reg].name) return;
    if (cji_rep_is_numbered(c->f, reg))
        snprintf(name, sizeof name, "%s%u", cji_type_prefix(cji_rep_class(c->f, reg)), c->f->reg[reg].number);
    else snprintf(name, sizeof name, "%s", own_name(c->f, reg));
    c->slot[reg].name = cji_rep_name(c->r, &c->taken, name);
}

void cji_rep_got_reg(cji_rep_body *c, uint32_t reg, cj_val v)
{
    name_reg(c, reg);
    c->slot[reg].v = v;
    c->slot[reg].declared = true;
}

static void make_reg(cji_rep_body *c, uint32_t reg)
{
    const unsigned type = c->f->reg[reg].type;
    cji_rep_open(c);
    cji_text_printf(&c->text, "cj_reg(f, %s);", cji_rep_type(type));
    cji_rep_got_reg(c, reg, (cj_reg)(c->g, (cj_type)type));
    cji_rep_close(c, reg);
    if (!c->text.failed) c->stmt[c->nstmt - 1].reg = true;
}

bool cji_rep_name_reg(cji_rep_body *c, uint32_t reg)
{
    cj_val v;
    cji_rep_open(c);
    cji_text_puts(&c->text, "cj_name(f, ");
    if (!cji_rep_use(c, reg, &v)) return false;
    cji_text_printf(&c->text, ", \"%s\");", own_name(c->f, reg));
    (cj_name)(c->g, v, own_name(c->f, reg));
    cji_rep_close(c, CJI_REP_NONE);
    return !c->g->m->dead;
}

/* Registers with names are printed in the order in which they were made. */
static bool make_named_regs(cji_rep_body *c, uint32_t last)
{
    for (uint32_t reg = 0; reg <= last; reg++) {
        if (cji_rep_is_numbered(c->f, reg) || c->f->reg[reg].flags & CJI_REG_PARAM || c->slot[reg].v.bits) continue;
        make_reg(c, reg);
        if (!cji_rep_name_reg(c, reg)) return false;
    }
    return true;
}

void cji_rep_make_unused(cji_rep_body *c)
{
    for (unsigned t = 0; t < CJ_TYPE_COUNT; t++)
        while (c->g->count[t] < c->f->count[t] && c->by_number[t][c->g->count[t]] == CJI_REP_NONE && !c->g->m->dead) {
            cji_rep_open(c);
            cji_text_printf(&c->text, "cj_reg(f, %s);", cji_rep_type(t));
            (cj_reg)(c->g, (cj_type)t);
            cji_rep_close(c, CJI_REP_NONE);
        }
}

bool cji_rep_make_reg(cji_rep_body *c, uint32_t reg)
{
    const unsigned class = cji_rep_class(c->f, reg);
    if (c->slot[reg].v.bits) return true;
    if (c->f->reg[reg].flags & CJI_REG_PARAM) return false;
    if (!cji_rep_is_numbered(c->f, reg)) return make_named_regs(c, reg);
    while (!c->slot[reg].v.bits) {
        const uint32_t at = c->g->count[class];
        if (at >= c->f->count[class] || c->g->m->dead) return false;
        const uint32_t next = c->by_number[class][at];
        if (next == CJI_REP_NONE) cji_rep_make_unused(c);
        else make_reg(c, next);
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
