/* Names of functions, variables and kernels; which body of a function counts (program.h). */
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
