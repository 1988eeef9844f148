/* The list of a module's kernels. */
#include "ptx/entries.h"

#include <stdio.h>
#include <string.h>

#include "base/first.h"
#include "ptx/layout.h"
#include "ptx/parser.h"

/* ---- Making ------------------------------------------------------------------------------------------------------ */

static const char *entry_name(cji_entries *e, const cj_ptx *m, uint32_t name)
{
    return cji_arena_strndup(&e->arena, cji_ptx_name(m, name), cji_ptx_name_len(m, name));
}

/* The parameter at offset `at`. */
static bool entry_param(cji_entries *e, const cj_ptx *m, const cji_var *v, uint64_t at, cji_entry_param *p)
{
    *p = (cji_entry_param){ .name = entry_name(e, m, v->name),
                            .offset = (uint32_t)at,
                            .bytes = (uint32_t)v->bytes,
                            .type = v->bytes * 8 == cji_type_bits(v->type) ? v->type : CJ_B8,
                            .pointer = (v->flags & CJI_VAR_PTR) != 0 };
    return p->name != NULL;
}

static uint32_t entry_threads(const cj_fn *f)
{
    const uint32_t *n = f->bounds.maxntid[0] ? f->bounds.maxntid : f->bounds.reqntid;
    uint64_t all = n[0];
    for (int i = 1; i < 3 && all <= UINT32_MAX; i++) all *= n[i] ? n[i] : 1;
    return all <= UINT32_MAX ? (uint32_t)all : UINT32_MAX;
}

static bool add_entry(cji_entries *e, const cj_ptx *m, const cj_fn *f, uint32_t use)
{
    cji_entry_param *param = cji_arena_alloc(&e->arena, (f->nparam ? f->nparam : 1) * sizeof *param);
    cji_entry *k = &e->entry[e->n];
    uint64_t end = 0, at;
    if (!param) return false;
    *k = (cji_entry){ .name = entry_name(e, m, f->name), .param = param, .nparam = (uint32_t)f->nparam };
    k->threads = entry_threads(f);
    cji_fn_mix(f, &k->instructions, &k->memory);
    if (use) k->dynamic_shared = entry_name(e, m, m->var[use - 1]->name);
    if (!k->name || (use && !k->dynamic_shared)) return false;
    for (size_t i = 0; i < f->nparam; i++) {
        const cji_var *v = m->var[f->param[i]];
        if (!cji_layout_var(&end, v, CJI_PARAM_BYTES, &at)) {
            e->whole = false;   /* no driver takes this kernel: it is not listed */
            return true;
        }
        if (!entry_param(e, m, v, at, &param[i])) return false;
    }
    e->n++;
    return true;
}

static bool is_entry_var(const cji_var *v)
{
    return !v->fn && (v->space == CJI_SP_GLOBAL || v->space == CJI_SP_CONST) && v->linkage != CJI_LINK_EXTERN;
}

static bool add_vars(cji_entries *e, const cj_ptx *m)
{
    size_t n = 0;
    for (size_t i = 0; i < m->nvar; i++) n += is_entry_var(m->var[i]);
    e->var = cji_arena_alloc(&e->arena, (n ? n : 1) * sizeof *e->var);
    for (size_t i = 0; e->var && i < m->nvar; i++) {
        const cji_var *v = m->var[i];
        if (!is_entry_var(v)) continue;
        e->var[e->nvar] = (cji_entry_var){
            .name = entry_name(e, m, v->name), .bytes = v->bytes, .type = v->type, .opaque = v->opaque != 0
        };
        if (!e->var[e->nvar++].name) return false;
    }
    return e->var != NULL;
}

/* The first parameter of a function, in memory, that has the name of a variable of the module. */
static const char *hiding_parameter(const cj_ptx *m, const cj_fn *f)
{
    for (size_t i = 0; i < f->nparam + f->nresult && f->body; i++) {
        const cji_var *p = m->var[i < f->nparam ? f->param[i] : f->result[i - f->nparam]];
        const char *name = cji_ptx_name(m, p->name);
        const uint32_t word = p->name ? cji_ptx_lookup(m, name, cji_ptx_name_len(m, p->name)) : 0;
        if (p->space != CJI_SP_PARAM || cji_word_kind(word) != CJI_K_SYM) continue;
        const unsigned space = m->var[cji_word_index(word)]->space;
        if (space == CJI_SP_GLOBAL || space == CJI_SP_CONST) return name;
    }
    return NULL;
}

static bool find_hiding(cji_entries *e, const cj_ptx *m)
{
    const char *name = NULL;
    for (size_t i = 0; i < m->nfn && !name; i++) name = hiding_parameter(m, m->fn[i]);
    if (name) e->hiding = cji_arena_strndup(&e->arena, name, strlen(name));
    return !name || e->hiding;
}

static bool fill_entries(cji_entries *e, const cj_ptx *m)
{
    size_t bytes = (m->nfn + 1) * sizeof(uint32_t);
    uint32_t *use = cji_zalloc(bytes);
    e->entry = cji_arena_alloc(&e->arena, (m->nfn ? m->nfn : 1) * sizeof *e->entry);
    bool fine = use && e->entry && (!e->whole || cji_shared_uses(m, use));
    for (size_t i = 0; fine && i < m->nfn; i++)
        if (m->fn[i]->kernel && m->fn[i]->body) fine = add_entry(e, m, m->fn[i], use[i]);
    cji_free(use, bytes);
    return fine && add_vars(e, m) && find_hiding(e, m);
}

static cji_entries *new_entries(const cj_ptx *m, bool whole)
{
    cji_entries *e = cji_zalloc(sizeof *e);
    if (!e) return NULL;
    atomic_init(&e->refs, 1);
    e->whole = whole;
    if (fill_entries(e, m)) return e;
    cji_entries_release(e);
    return NULL;
}

cji_entries *cji_entries_of(const cj_ptx *m) { return new_entries(m, true); }

cji_entries *cji_entries_read(const char *text, size_t bytes)
{
    cji_kept latest;
    cji_fail_save(&latest); /* a text that cannot be read is nobody's failure here */
    cji_entries *e = NULL;
    cj_ptx *m = cj_ptx_create();
    if (!cji_obj_failed(m)) {
        bool whole = cji_parse_heads(m, text, bytes);
        if (cj_ptx_status(m) != CJ_ENOMEM) e = new_entries(m, whole);
    }
    cj_ptx_free(m);
    cji_fail_restore(&latest);
    return e;
}

/* A copy of an entry, with its texts. */
static bool copy_entry(cji_entries *e, const cji_entry *from)
{
    cji_entry *to = &e->entry[e->n];
    cji_entry_param *param = cji_arena_alloc(&e->arena, (from->nparam ? from->nparam : 1) * sizeof *param);
    *to = *from;
    to->param = param;
    to->name = cji_arena_strndup(&e->arena, from->name, strlen(from->name));
    if (from->dynamic_shared)
        to->dynamic_shared = cji_arena_strndup(&e->arena, from->dynamic_shared, strlen(from->dynamic_shared));
    if (!param || !to->name || (from->dynamic_shared && !to->dynamic_shared)) return false;
    for (uint32_t i = 0; i < from->nparam; i++) {
        param[i] = from->param[i];
        param[i].name = cji_arena_strndup(&e->arena, from->param[i].name, strlen(from->param[i].name));
        if (!param[i].name) return false;
    }
    e->n++;
    return true;
}

cji_entries *cji_entries_join(const cji_entries *const *list, size_t n)
{
    size_t all = 0;
    cji_entries *e = cji_zalloc(sizeof *e);
    if (!e) return NULL;
    atomic_init(&e->refs, 1);
    e->whole = true;
    for (size_t i = 0; i < n; i++) all += list[i] ? list[i]->n : 0;
    e->entry = cji_arena_alloc(&e->arena, (all ? all : 1) * sizeof *e->entry);
    bool fine = e->entry != NULL;
    for (size_t i = 0; fine && i < n; i++) {
        e->whole = e->whole && list[i] && list[i]->whole;
        for (size_t k = 0; fine && list[i] && k < list[i]->n; k++) fine = copy_entry(e, &list[i]->entry[k]);
    }
    if (fine) return e;
    cji_entries_release(e);
    return NULL;
}

void cji_entries_release(cji_entries *e)
{
    if (!e || atomic_fetch_sub(&e->refs, 1) != 1) return;
    cji_arena_free(&e->arena);
    cji_free(e, sizeof *e);
}

/* ---- Asking ------------------------------------------------------------------------------------------------------ */

CJI_FIRST const cji_entry *cji_entries_find(const cji_entries *e, const char *name)
{
    for (size_t i = 0; e && i < e->n; i++)
        if (!strcmp(e->entry[i].name, name)) return &e->entry[i];
    return NULL;
}

const cji_entry_var *cji_entries_var(const cji_entries *e, const char *name)
{
    for (size_t i = 0; e && i < e->nvar; i++)
        if (!strcmp(e->var[i].name, name)) return &e->var[i];
    return NULL;
}

void cji_entries_names(const cji_entries *e, char *out, size_t size)
{
    size_t at = 0;
    *out = 0;
    for (size_t i = 0; e && i < e->n; i++) {
        int n = snprintf(out + at, size - at, "%s%s", at ? ", " : "", e->entry[i].name);
        if (n < 0 || (size_t)n + 8 >= size - at) {
            snprintf(out + at, size - at, "%s", at ? ", ..." : "...");
            return;
        }
        at += (size_t)n;
    }
    if (e && e->n && !e->whole) snprintf(out + at, size - at, ", ...");
}
