/* A copy of a module that can be changed: every number in it means the same, so records and operand words are copied
 * as they are. */
#include <string.h>

#include "ptx/build.h"

/* A copy of n elements with room for exactly these; false without memory. */
static bool copy_array(void *to, size_t *cap, const void *from, size_t n, size_t each)
{
    if (!n) return true;
    if (!cji_grow(to, cap, n, each)) return false;
    void *p;
    memcpy(&p, to, sizeof p);
    memcpy(p, from, n * each);
    return true;
}

/* A hash table, whose size is how many places it has: exactly as large. */
static bool copy_slots(void *to, size_t *places, const void *from, size_t n, size_t each)
{
    void *p = n ? cji_alloc(n * each) : NULL;
    if (!p) return !n;
    memcpy(p, from, n * each);
    memcpy(to, &p, sizeof p);
    *places = n;
    return true;
}

static bool copy_names(cji_map *to, const cji_map *from)
{
    for (size_t i = to->n; i < from->n; i++)
        if (cji_map_intern(to, from->entry[i].key, from->entry[i].len) != i) return false;
    return true;
}

static void *arena_copy(cj_ptx *c, const void *from, size_t bytes)
{
    void *p = bytes ? cji_arena_alloc(&c->arena, bytes) : NULL;
    if (p) memcpy(p, from, bytes);
    return p;
}

static bool copy_variable(cj_ptx *c, const cji_var *from)
{
    cji_var *v = arena_copy(c, from, sizeof *v);
    if (!v) return false;
    v->dim = arena_copy(c, from->dim, from->ndim * sizeof *from->dim);
    v->init = from->init ? arena_copy(c, from->init, from->bytes) : NULL;
    v->reloc = arena_copy(c, from->reloc, from->nreloc * sizeof *from->reloc);
    c->var[c->nvar++] = v;
    return (v->dim || !from->ndim) && (v->init || !from->init) && (v->reloc || !from->nreloc);
}

static bool copy_form(cj_ptx *c, const cji_form *from)
{
    cji_form *e = arena_copy(c, from, sizeof *e);
    if (!e || !(e->isa = cji_ptx_isa(c, from->isa->form))) return false;
    c->form[c->nform++] = e;
    return true;
}

#define COPY(to, from, list, n, cap) \
    (copy_array(&(to)->list, &(to)->cap, (from)->list, (from)->n, sizeof *(from)->list) && \
     ((to)->n = (from)->n, true))

static bool copy_tables(cj_fn *g, const cj_fn *f)
{
    bool ok = COPY(g, f, ins, nins, cins) && COPY(g, f, reg, nreg, creg) && COPY(g, f, vreg, nvreg, cvreg) &&
              COPY(g, f, lit, nlit, clit) &&
              COPY(g, f, mem, nmem, cmem) && COPY(g, f, label, nlabel, clabel) && COPY(g, f, tlist, ntlist, ctlist) &&
              COPY(g, f, pool, npool, cpool) && COPY(g, f, param, nparam, cparam) &&
              COPY(g, f, result, nresult, cresult) && COPY(g, f, var, nvar, cvar) &&
              COPY(g, f, pragma, npragma, cpragma) && COPY(g, f, block, nblock, cblock) &&
              COPY(g, f, comment, ncomment, ccomment) && COPY(g, f, remark, nremark, cremark) &&
              COPY(g, f, text_line, ntext_line, ctext_line);
    return ok && copy_slots(&g->lit_slot, &g->nlit_slot, f->lit_slot, f->nlit_slot, sizeof *f->lit_slot);
}

static bool copy_function(cj_ptx *c, const cj_fn *f)
{
    cj_fn *g = cji_obj_new(sizeof *g, CJI_TAG_FN, 0, "cj_ptx_clone");
    if (cji_obj_failed(g)) return false;
    g->obj.err_in = &c->obj;
    g->m = c;
    g->index = f->index;
    g->order = f->order;
    g->owner = cji_ptx_owner(c, (size_t)f->index + 1);
    g->loc = f->loc;
    g->name = f->name;
    g->kernel = f->kernel;
    g->linkage = f->linkage;
    g->body = f->body;
    g->proto = f->proto;
    g->as_is = f->as_is;
    g->early = f->early;
    g->named_labels = f->named_labels;
    g->called = f->called;
    g->inlined = f->inlined;
    g->alias = f->alias;
    g->math_accuracy = f->math_accuracy;
    g->math_form = f->math_form;
    g->named_regs = f->named_regs;
    g->own_prefix = f->own_prefix;
    g->decl_loc = f->decl_loc;
    g->bounds = f->bounds;
    g->param_bytes = f->param_bytes;
    memcpy(g->count, f->count, sizeof g->count);
    c->fn[c->nfn++] = g; /* from here on freed with the module */
    return copy_tables(g, f);
}

/* Blocks left open are cj_for's with values of the original: their owner changes. */
static void own_blocks(cj_fn *g)
{
    for (size_t i = 0; i < g->nblock; i++) {
        cj_val *v[3] = { &g->block[i].counter, &g->block[i].limit, &g->block[i].step };
        for (int k = 0; k < 3; k++)
            if (v[k]->bits) *v[k] = cji_val(cji_val_word(*v[k]), cji_val_type(*v[k]), g->owner);
    }
}

static bool copy_module(cj_ptx *c, const cj_ptx *m)
{
    if (!copy_names(&c->names, &m->names) || !copy_names(&c->files, &m->files)) return false;
    if (!COPY(c, m, longloc, nlongloc, clongloc) || !COPY(c, m, pragma, npragma, cpragma) ||
        !COPY(c, m, alias, nalias, calias)) return false;
    if (!copy_slots(&c->scope, &c->cscope, m->scope, m->cscope, sizeof *m->scope)) return false;
    if (!cji_grow(&c->var, &c->cvar, m->nvar, sizeof *c->var) || !cji_grow(&c->fn, &c->cfn, m->nfn, sizeof *c->fn)
        || !cji_grow(&c->form, &c->cform, m->nform, sizeof *c->form)) return false;
    for (size_t i = 0; i < m->nvar; i++)
        if (!copy_variable(c, m->var[i])) return false;
    for (size_t i = 0; i < m->nform; i++)
        if (!copy_form(c, m->form[i])) return false;
    if (!copy_slots(&c->form_slot, &c->nform_slot, m->form_slot, m->nform_slot, sizeof *m->form_slot)) return false;
    for (size_t i = 0; i < m->nfn; i++) {
        if (!copy_function(c, m->fn[i])) return false;
        own_blocks(c->fn[i]);
    }
    c->math = arena_copy(c, m->math, m->math ? CJI_MATH_NOTES * sizeof *m->math : 0);
    return c->math || !m->math;
}

static bool copy_debug(cj_ptx *c, const cj_ptx *m)
{
    cji_text_put(&c->debug_files, m->debug_files.p, m->debug_files.n);
    cji_text_put(&c->debug_sections, m->debug_sections.p, m->debug_sections.n);
    if (!c->debug_files.failed && !c->debug_sections.failed) return true;
    cji_ptx_nomem(c, "cj_ptx_clone");
    return false;
}

cj_ptx *cj_ptx_clone(cj_ptx *m)
{
    cj_ptx *c = cj_ptx_create();
    if (cji_obj_failed(c)) return c;
    if (cji_check_arg(c, m, CJI_TAG_PTX, __func__, "the module") != CJ_OK) {
        c->dead = 1;
        return c;
    }
    if (m->dead) {
        cji_fail_from(c, m, __func__);
        c->dead = 1;
        return c;
    }
    c->address_size = m->address_size;
    c->texmode_independent = m->texmode_independent;
    c->loc = m->loc;
    c->norder = m->norder;
    c->const_bytes = m->const_bytes;
    c->need_version = m->need_version;
    c->fixed_version = m->fixed_version;
    c->fixed_target = m->fixed_target;
    c->need_targets = m->need_targets;
    c->gone_targets = m->gone_targets;
    c->gone_version = m->gone_version;
    c->gone_form = m->gone_form;
    c->gone_loc = m->gone_loc;
    c->late_targets = m->late_targets;
    c->late_version = m->late_version;
    c->late_form = m->late_form;
    c->late_loc = m->late_loc;
    if (m->debug && copy_debug(c, m)) {
        c->debug = 1;
        c->frozen = CJI_FROZEN_DEBUG;
    }
    if (!c->dead && !copy_module(c, m)) cji_ptx_nomem(c, __func__);
    return c;
}
