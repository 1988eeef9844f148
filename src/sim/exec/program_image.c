/* Variables of modules: their places in the image, linked by name, and their initial values (program.h). */
#include "sim/exec/program.h"

/* ---- Places ---- */

static const cji_exec_var *image_find(const cji_exec_program *p, const char *name)
{
    size_t at = cji_program_find(&p->var_names, name);
    return at == SIZE_MAX ? NULL : &p->var[at];
}

/* One of a name that is there already: false is an error. */
static bool image_linked(cji_dec_module *mod, uint32_t i, const cji_exec_var *other, cji_text *log)
{
    const cji_var *v = mod->m->var[i];
    if (v->linkage != CJI_LINK_WEAK && v->linkage != CJI_LINK_COMMON) {
        cji_text_printf(log, "%s: the variable %s is defined in another module too\n", mod->name,
                        cji_short(cji_ptx_name(mod->m, v->name)));
        return false;
    }
    mod->var[i] = (struct cji_dec_var){ CJI_EXEC_VAR_IMAGE, other->offset };
    return true;
}

static bool image_add(cji_exec_program *p, cji_dec_module *mod, uint32_t i, const char *name, cji_text *log)
{
    const cji_var *v = mod->m->var[i];
    bool is_const = v->space == CJI_SP_CONST;
    uint64_t at, most = is_const ? (uint64_t)CJI_CONST_BYTES : CJI_BYTES_MAX;
    if (!cji_layout_var(&p->image_bytes, v, most, &at)) {
        cji_text_printf(log, "%s: %s of %llu bytes does not fit: the %s variables of all modules have at most %llu\n",
                        mod->name, cji_short(name), (unsigned long long)v->bytes, is_const ? ".const" : ".global",
                        (unsigned long long)most);
        return false;
    }
    if (!cji_grow(&p->var, &p->cvar, p->nvar + 1, sizeof *p->var)) return false;
    if (!cji_program_index(&p->var_names, name, p->nvar)) return false;
    uint32_t align = cji_var_alignment(v);
    if (align > p->image_align) p->image_align = align;
    p->var[p->nvar++] = (cji_exec_var){ name, at, v->bytes, align, is_const, v->flags & CJI_VAR_MANAGED };
    mod->var[i] = (struct cji_dec_var){ CJI_EXEC_VAR_IMAGE, at };
    return true;
}

/* One pass for .const, one for .global. */
static bool image_pass(cji_exec_program *p, cji_dec_module *mod, uint8_t space, cji_text *log)
{
    const cj_ptx *m = mod->m;
    for (uint32_t i = 0; i < m->nvar; i++) {
        const cji_var *v = m->var[i];
        if (v->space != space || v->linkage == CJI_LINK_EXTERN || v->opaque) continue;
        const char *name = cji_program_name(p, m, v->name);
        if (!name) return false;
        const cji_exec_var *other = v->fn ? NULL : image_find(p, name);
        if (!(other && v->linkage != CJI_LINK_NONE ? image_linked(mod, i, other, log)
                                                   : image_add(p, mod, i, name, log)))
            return false;
    }
    return true;
}

static void image_externs(cji_exec_program *p, cji_dec_module *mod)
{
    const cj_ptx *m = mod->m;
    for (size_t i = 0; i < m->nvar; i++) {
        const cji_var *v = m->var[i];
        if (v->linkage != CJI_LINK_EXTERN || (v->space != CJI_SP_CONST && v->space != CJI_SP_GLOBAL)) continue;
        const cji_exec_var *other = image_find(p, cji_ptx_name(m, v->name));
        if (other) mod->var[i] = (struct cji_dec_var){ CJI_EXEC_VAR_IMAGE, other->offset };
    }
}

bool cji_program_image(cji_exec_program *p, cji_dec_module *mods, size_t n, cji_text *log)
{
    for (size_t i = 0; i < n; i++)
        if (!image_pass(p, &mods[i], CJI_SP_CONST, log)) return false;
    p->const_bytes = p->image_bytes;
    for (size_t i = 0; i < n; i++)
        if (!image_pass(p, &mods[i], CJI_SP_GLOBAL, log)) return false;
    for (size_t i = 0; i < n; i++) image_externs(p, &mods[i]);
    return true;
}

/* ---- Initial values ---- */

/* An address as initial value. False: it has none. */
static bool value_address(const cji_dec_module *mod, const cji_reloc *r, struct cji_init *x)
{
    uint32_t index = cji_word_index(r->word);
    x->addend = (uint64_t)r->addend;
    x->absolute = 1;
    if (cji_word_kind(r->word) == CJI_K_FUNC) {
        if (cji_func_lacks(mod->p, mod->func[index])) return false;
        x->addend += CJI_FUNC_TAG + ((uint64_t)mod->func[index] + 1) * 16;
        return true;
    }
    const struct cji_dec_var *to = &mod->var[index];
    if (to->where == CJI_EXEC_VAR_IMAGE) x->absolute = 0;
    else if (to->where != CJI_EXEC_VAR_SHARED) return false;
    else if (r->generic) x->addend += CJI_EXEC_SHARED_WINDOW;
    x->addend += to->offset;
    return true;
}

/* Reports an initial value without an address; false. */
static bool value_lacks(const cji_dec_module *mod, const cji_var *v, const cji_reloc *r, cji_text *log)
{
    uint32_t index = cji_word_index(r->word);
    const cji_var *to = cji_word_kind(r->word) == CJI_K_FUNC ? NULL : mod->m->var[index];
    uint32_t line = 0;
    cji_ptx_where(mod->m, v->loc, &line);
    cji_text_printf(log, "%s:%u: the initial value of %s names %s, which %s\n", mod->name, line,
                    cji_short(cji_ptx_name(mod->m, v->name)),
                    to ? cji_short(cji_ptx_name(mod->m, to->name)) : cji_short(mod->p->func[mod->func[index]].name),
                    !to || to->linkage == CJI_LINK_EXTERN ? "no module defines" : "has no address on the CPU device");
    return false;
}

static bool value_of(cji_exec_program *p, const cji_dec_module *mod, const cji_var *v, uint64_t at, cji_text *log)
{
    if (v->ninit) {
        unsigned char *copy = cji_arena_alloc(&p->arena, v->ninit);
        if (!copy || !cji_grow(&p->piece, &p->cpiece, p->npiece + 1, sizeof *p->piece)) return false;
        memcpy(copy, v->init, v->ninit);
        p->piece[p->npiece++] = (struct cji_piece){ at, copy, v->ninit };
    }
    for (uint32_t j = 0; j < v->nreloc; j++) {
        const cji_reloc *r = &v->reloc[j];
        struct cji_init x = { .at = at + r->at, .bytes = (uint8_t)(cji_type_bits(v->type) / 8), .shift = r->shift };
        if (!value_address(mod, r, &x)) return value_lacks(mod, v, r, log);
        if (!cji_grow(&p->init, &p->cinit, p->ninit + 1, sizeof *p->init)) return false;
        p->init[p->ninit++] = x;
    }
    return true;
}

bool cji_program_values(cji_exec_program *p, const cji_dec_module *mods, size_t n, cji_text *log)
{
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < mods[i].m->nvar; k++) {
            const cji_var *v = mods[i].m->var[k];
            const struct cji_dec_var *at = &mods[i].var[k];
            if (at->where != CJI_EXEC_VAR_IMAGE || v->linkage == CJI_LINK_EXTERN) continue;
            if (!value_of(p, &mods[i], v, at->offset, log)) return false;
        }
    return true;
}
