/* The hash of a module in memory, which stands for its text: what the printer reads is hashed, in the order of the
 * tables, with the numbers that they have there.  The lengths of all lists of a thing are in its head, so that two
 * lists in a row are not mistaken for others, and a list that is empty, as most are, costs nothing.  Names are hashed
 * once, in the module's list of them, and stand for their numbers then.  What the printer does not read is left out:
 * where a record comes from, unless lines are printed, and what only later builder calls use.
 *
 * Who makes the printer read more adds it here: tests/ptx/digest_follows_text changes each thing in turn. */
#include <string.h>

#include "base/first.h"
#include "ptx/build.h"
#include "ptx/print.h"

enum { DIGEST_WORDS = 256 };

static CJI_FIRST void digest_names(cji_hasher *h, const cji_map *names)
{
    cji_hasher_u64(h, names->n);
    for (size_t i = 1; i < names->n; i++) cji_hasher_list(h, names->entry[i].key, names->entry[i].len, 1);
}

static inline void digest_list(cji_hasher *h, const void *p, size_t n, size_t each)
{
    if (n) cji_hasher_put(h, p, n * each);
}

static void digest_variable(cji_hasher *h, const cji_var *v)
{
    const uint64_t init = v->init ? v->bytes : 0;
    const uint64_t head[] = {
        (uint64_t)v->name << 32 | v->fn,
        (uint64_t)v->align << 32 | v->reg,
        (uint64_t)v->space << 56 | (uint64_t)v->type << 48 | (uint64_t)v->vec << 40 | (uint64_t)v->linkage << 32 |
            (uint64_t)v->opaque << 24 | (uint64_t)v->flags << 16 | (uint64_t)v->ptr_space << 8 | v->ptr_elem,
        (uint64_t)v->ptr_align << 32 | v->properties,
        v->bytes,
        v->ninit,
        (uint64_t)v->ndim << 32 | v->nreloc,
        init,
    };
    cji_hasher_put(h, head, sizeof head);
    digest_list(h, v->dim, v->ndim, sizeof *v->dim);
    digest_list(h, v->init, init, 1);
    digest_list(h, v->reloc, v->nreloc, sizeof *v->reloc);
}

/* Records without their lines. */
static void digest_records(cji_hasher *h, const cj_fn *f)
{
    _Static_assert(sizeof(cji_ins) == 32 && offsetof(cji_ins, loc) == 8, "the line is in the second 8 bytes");
    static const uint32_t no_line[2] = { 0, UINT32_MAX };
    uint64_t second;
    memcpy(&second, no_line, sizeof second);
    cji_hasher_put_records(h, f->ins, f->nins, second);
}

static void digest_labels(cji_hasher *h, const cj_fn *f)
{
    uint32_t name[DIGEST_WORDS];
    for (size_t i = 0; i < f->nlabel && f->named_labels; i += DIGEST_WORDS) {
        size_t n = f->nlabel - i < DIGEST_WORDS ? f->nlabel - i : DIGEST_WORDS;
        for (size_t k = 0; k < n; k++) name[k] = f->label[i + k].name;
        cji_hasher_put(h, name, n * sizeof *name);
    }
}

static void digest_function(cji_hasher *h, const cj_fn *f, bool lines)
{
    const uint64_t head[] = {
        (uint64_t)f->name << 32 | f->order,
        (uint64_t)f->kernel << 56 | (uint64_t)f->linkage << 48 | (uint64_t)f->body << 40 | (uint64_t)f->proto << 32 |
            (uint64_t)f->as_is << 24 | (uint64_t)f->early << 16 | (uint64_t)f->named_labels << 8,
        (uint64_t)f->named_regs << 32 | f->own_prefix,
        f->nins, f->nreg, f->nvreg, f->nlit, f->nmem, f->nlabel, f->ntlist, f->npool, f->nparam, f->nresult, f->nvar,
        f->npragma,
    };
    cji_hasher_put(h, head, sizeof head);
    cji_hasher_put(h, &f->bounds, sizeof f->bounds);
    cji_hasher_put(h, f->count, sizeof f->count);
    if (lines) cji_hasher_put(h, f->ins, f->nins * sizeof *f->ins);
    else digest_records(h, f);
    digest_list(h, f->reg, f->nreg, sizeof *f->reg);
    digest_list(h, f->vreg, f->nvreg, sizeof *f->vreg);
    digest_list(h, f->lit, f->nlit, sizeof *f->lit);
    digest_list(h, f->mem, f->nmem, sizeof *f->mem);
    digest_labels(h, f);
    digest_list(h, f->tlist, f->ntlist, sizeof *f->tlist);
    digest_list(h, f->pool, f->npool, sizeof *f->pool);
    digest_list(h, f->param, f->nparam, sizeof *f->param);
    digest_list(h, f->result, f->nresult, sizeof *f->result);
    digest_list(h, f->var, f->nvar, sizeof *f->var);
    digest_list(h, f->pragma, f->npragma, sizeof *f->pragma);
}

/* The forms that records are numbers of. */
static void digest_forms(cji_hasher *h, const cj_ptx *m)
{
    uint32_t form[DIGEST_WORDS];
    for (size_t i = 0; i < m->nform; i += DIGEST_WORDS) {
        size_t n = m->nform - i < DIGEST_WORDS ? m->nform - i : DIGEST_WORDS;
        for (size_t k = 0; k < n; k++) form[k] = m->form[i + k]->isa->form;
        cji_hasher_put(h, form, n * sizeof *form);
    }
}

static void digest_lines(cji_hasher *h, const cj_ptx *m)
{
    digest_names(h, &m->files);
    cji_hasher_list(h, m->longloc, m->nlongloc, sizeof *m->longloc);
}

CJI_FIRST cji_hash128 cji_ptx_digest(const cj_ptx *m, unsigned flags)
{
    const bool lines = cji_print_lines(m, flags);
    uint8_t version = 0;
    int target = cji_ptx_pick(m, flags, &version);
    cji_hasher h;
    cji_hasher_begin(&h);
    const uint64_t head[] = {
        (uint64_t)flags << 32 | (uint32_t)target,
        (uint64_t)version << 32 | (uint64_t)m->address_size << 24 | (uint64_t)m->texmode_independent << 16 |
            (uint64_t)m->debug << 8 | lines,
        (uint64_t)m->nvar << 32 | m->norder,
        m->nfn,
        m->nform,
        m->npragma,
        m->nalias,
    };
    cji_hasher_put(&h, head, sizeof head);
    digest_names(&h, &m->names);
    digest_forms(&h, m);
    digest_list(&h, m->pragma, m->npragma, sizeof *m->pragma);
    digest_list(&h, m->alias, m->nalias, sizeof *m->alias);
    if (lines) digest_lines(&h, m);
    if (m->debug) {
        cji_hasher_list(&h, m->debug_files.p, m->debug_files.n, 1);
        cji_hasher_list(&h, m->debug_sections.p, m->debug_sections.n, 1);
    }
    for (size_t i = 0; i < m->nvar; i++) digest_variable(&h, m->var[i]);
    for (size_t i = 0; i < m->nfn; i++) digest_function(&h, m->fn[i], lines);
    return cji_hasher_end(&h);
}
