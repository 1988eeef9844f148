/* Which members of libraries a link takes: those that define a name which is declared and defined nowhere else. */
#include <string.h>

#include "ptx/parser.h"
#include "sim/module/sim_module.h"

enum { MEMBER_WANTED = 1, MEMBER_DEFINED = 2 };

/* Calls `each` for the names that a text shares with others. */
static bool member_names(const cji_exec_text *t, bool (*each)(void *user, const char *name, size_t n, int what),
                         void *user)
{
    cj_ptx *m = cj_ptx_create();
    bool fine = !cji_obj_failed(m);
    if (fine) {
        cji_parse_heads(m, t->text, t->bytes);   /* what cannot be read is reported when the text is compiled */
        fine = cj_ptx_status(m) != CJ_ENOMEM;
    }
    for (size_t i = 0; fine && i < m->nfn; i++) {
        const cj_fn *f = m->fn[i];
        if (f->proto || !f->name || (f->body && f->linkage == CJI_LINK_NONE && !f->kernel)) continue;
        fine = each(user, cji_ptx_name(m, f->name), cji_ptx_name_len(m, f->name),
                    f->body ? MEMBER_DEFINED : MEMBER_WANTED);
    }
    for (size_t i = 0; fine && i < m->nvar; i++) {
        const cji_var *v = m->var[i];
        bool far = v->space == CJI_SP_GLOBAL || v->space == CJI_SP_CONST;
        if (v->fn || !far || v->linkage == CJI_LINK_NONE) continue;
        fine = each(user, cji_ptx_name(m, v->name), cji_ptx_name_len(m, v->name),
                    v->linkage == CJI_LINK_EXTERN ? MEMBER_WANTED : MEMBER_DEFINED);
    }
    cj_ptx_free(m);
    return fine;
}

static bool member_note(void *user, const char *name, size_t n, int what)
{
    cji_map *map = user;
    uint32_t at = cji_map_intern(map, name, n);
    if (at == CJI_MAP_NONE) return false;
    map->entry[at].data = (void *)((uintptr_t)map->entry[at].data | (uintptr_t)what);
    return true;
}

typedef struct member_search { const cji_map *map; bool serves; } member_search;

static bool member_serves(void *user, const char *name, size_t n, int what)
{
    member_search *s = user;
    uint32_t at = cji_map_find(s->map, name, n);
    if (what == MEMBER_DEFINED && at != CJI_MAP_NONE && (uintptr_t)s->map->entry[at].data == MEMBER_WANTED)
        s->serves = true;
    return true;
}

static bool member_note_all(cji_map *map, const sim_image *image)
{
    for (size_t k = 0; k < image->n; k++)
        if (!member_names(&image->text[k], member_note, map)) return false;
    return true;
}

bool cji_sim_members_choose(const sim_image *input, size_t n, const sim_image *member, size_t members, bool *taken)
{
    cji_map map = { 0 };
    bool fine = true, more = members > 0;
    memset(taken, 0, members * sizeof *taken);
    for (size_t i = 0; fine && members && i < n; i++) fine = member_note_all(&map, &input[i]);
    while (fine && more) {
        more = false;
        for (size_t i = 0; fine && i < members; i++) {
            member_search s = { &map, false };
            for (size_t k = 0; fine && !taken[i] && k < member[i].n; k++)
                fine = member_names(&member[i].text[k], member_serves, &s);
            if (!fine || !s.serves) continue;
            taken[i] = more = true;
            fine = member_note_all(&map, &member[i]);
        }
    }
    cji_map_free(&map);
    return fine;
}
