/* Names of functions, variables and kernels; which body of a function counts (program.h). */
#include <stdio.h>

#include "sim/exec/program.h"

const char *cji_program_name(cji_exec_program *p, const cj_ptx *m, uint32_t name)
{
    return cji_arena_strndup(&p->arena, cji_ptx_name(m, name), cji_ptx_name_len(m, name));
}

/* Remembers that `name` is number `index`; of several of one name the first one counts. */
bool cji_program_index(cji_map *map, const char *name, size_t index)
{
    size_t known = map->n;
    uint32_t at = cji_map_intern(map, name, strlen(name));
    if (at == CJI_MAP_NONE) return false;
    if (map->n > known) map->entry[at].data = (void *)(uintptr_t)index;
    return true;
}

size_t cji_program_find(const cji_map *map, const char *name)
{
    uint32_t at = cji_map_find(map, name, strlen(name));
    return at == CJI_MAP_NONE ? SIZE_MAX : (size_t)(uintptr_t)map->entry[at].data;
}

bool cji_program_is_ours(const cji_exec_program *p, const cji_dec_module *mod, uint32_t module, uint32_t i)
{
    const cji_func *f = &p->func[mod->func[i]];
    return mod->m->fn[i]->body && f->defined && f->module == module && f->source == i;
}

/* ---- Names that nothing defines ---------------------------------------------------------------------------------- */

typedef struct names_lack {
    const cji_exec_program *p;
    const cji_dec_module *mod;
    cji_map told;                   /* by module and name */
    cji_text *log;
} names_lack;

static void lack_tell(names_lack *l, const char *name)
{
    char key[32];
    size_t n = strlen(name), head = (size_t)snprintf(key, sizeof key, "%p ", (const void *)l->mod);
    char *both = cji_alloc(head + n);
    if (!both) return;
    memcpy(both, key, head);
    memcpy(both + head, name, n);
    size_t known = l->told.n;
    if (cji_map_intern(&l->told, both, head + n) != CJI_MAP_NONE && l->told.n > known)
        cji_text_printf(l->log, "Undefined reference to '%s' in '%s'\n", name, l->mod->name);
    cji_free(both, head + n);
}

static void lack_named(void *user, uint32_t word, bool call)
{
    names_lack *l = user;
    uint32_t i = cji_word_index(word);
    (void)call;
    if (cji_word_kind(word) == CJI_K_FUNC) {
        if (cji_func_lacks(l->p, l->mod->func[i])) lack_tell(l, l->p->func[l->mod->func[i]].name);
        return;
    }
    const cji_var *v = l->mod->m->var[i];
    bool image = l->mod->var[i].where == CJI_EXEC_VAR_IMAGE;
    if (v->linkage == CJI_LINK_EXTERN && (v->space == CJI_SP_GLOBAL || v->space == CJI_SP_CONST) && !image)
        lack_tell(l, cji_ptx_name(l->mod->m, v->name));
}

void cji_program_tell_lacks(const cji_exec_program *p, const cji_dec_module *mods, size_t n, cji_text *log)
{
    names_lack l = { .p = p, .log = log };
    for (size_t i = 0; i < n; i++) {
        l.mod = &mods[i];
        for (uint32_t k = 0; k < l.mod->m->nfn; k++)
            if (cji_program_is_ours(p, l.mod, (uint32_t)i, k))
                cji_layout_names(l.mod->m, l.mod->m->fn[k], lack_named, &l);
        for (size_t k = 0; k < l.mod->m->nvar; k++)
            for (uint32_t x = 0; x < l.mod->m->var[k]->nreloc; x++)
                lack_named(&l, l.mod->m->var[k]->reloc[x].word, false);
    }
    cji_map_free(&l.told);
}
