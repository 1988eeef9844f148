/* The names that are printed.
 *
 * What a function declares has one name in the whole function, and one that neither its head nor the module has.  A
 * name that meets all this is kept, so that a printed text keeps all of its names when it is read again.  Another one
 * gets a number behind it: n_1, n_2.  A head keeps its names, whatever the module has: they hide the module's.
 *
 * The module may declare a name behind a function that has it already.  The printed module has its variables in front
 * of its functions.  Such functions are settled when the whole text is read. */
#include "ptx/parser.h"

#include <stdio.h>
#include <string.h>

/* Does the module have something of that name, as far as it is read? */
static bool names_in_module(const cj_ptx *m, uint32_t id) { return id < m->cscope && m->scope[id]; }

static bool names_room(cji_parser *p, uint32_t id)
{
    size_t old = p->ctaken;
    if (id < old) return true;
    if (!cji_parse_grow(p, &p->taken, &p->ctaken, (size_t)id + 1, sizeof *p->taken)) return false;
    memset(p->taken + old, 0, (p->ctaken - old) * sizeof *p->taken);
    return true;
}

/* Whether the function or the module has something of that name; number in m->names in *id. */
static bool names_taken(cji_parser *p, const char *s, size_t n, uint32_t *id)
{
    *id = cji_ptx_intern(p->m, s, n);
    if (p->m->dead) return cji_parse_fine(p);
    return names_room(p, *id) && (p->taken[*id].mark == p->mark || names_in_module(p->m, *id));
}

static void names_take(cji_parser *p, uint32_t id) { p->taken[id] = (struct cji_taken){ .mark = p->mark }; }

/* -- Names of a function ------------------------------------------------------------------------------------------- */

/* "%r12" is a prefix and a number: the prefix's length; 0: there is no number. */
static size_t names_prefix(const char *s, size_t n)
{
    size_t k = n;
    while (k > 0 && s[k - 1] >= '0' && s[k - 1] <= '9') k--;
    return k == n || n - k > 9 || (s[k] == '0' && n - k > 1) ? 0 : k;
}

const char *cji_scope_unique(cji_parser *p, const char *s, size_t n, size_t *len)
{
    uint32_t id = 0, first = 0;
    if (!cji_parse_grow(p, &p->data, &p->cdata, n + 16, 1)) return NULL;
    char *room = (char *)p->data;
    memcpy(room, s, n);
    if (*room == '%') *room = '_';   /* printed registers have those */
    *len = n;
    if (names_taken(p, room, n, &id)) {
        first = id;
        if (p->taken[first].mark != p->mark) names_take(p, first);
        do *len = n + (size_t)snprintf(room + n, 16, "_%u", ++p->taken[first].next);
        while (names_taken(p, room, *len, &id));
    }
    if (p->failed) return NULL;
    names_take(p, id);
    return room;
}

const char *cji_scope_reg_name(cji_parser *p, const char *s, size_t n, size_t *len)
{
    uint32_t id = 0;
    if (*s != '%') return cji_scope_unique(p, s, n, len);
    bool digit = s[n - 1] >= '0' && s[n - 1] <= '9';
    size_t prefix = digit ? names_prefix(s, n) : 0;
    unsigned type = prefix ? cji_type_of_prefix(s, prefix) : CJ_VOID;
    if (digit && prefix && s[prefix - 1] == '_') {   /* printed so, beside names of the text's own */
        unsigned own = cji_type_of_prefix(s, prefix - 1);
        if (own != CJ_VOID) return p->f->own_prefix |= 1u << own, NULL;
    }
    bool printed = p->f->count[type] && !(p->f->own_prefix >> type & 1);   /* perhaps it is another's */
    if (digit && (!prefix || printed)) return NULL;
    if (names_taken(p, s, n, &id) || p->failed) return NULL;
    names_take(p, id);
    if (type != CJ_VOID) p->f->own_prefix |= 1u << type;
    *len = n;
    return s;
}

/* -- Names of heads ------------------------------------------------------------------------------------------------ */

bool cji_scope_as_register(const char *s, size_t n)
{
    size_t prefix = *s == '%' ? names_prefix(s, n) : 0;
    if (prefix && s[prefix - 1] == '_') prefix--;
    return prefix > 1 && cji_type_of_prefix(s, prefix) != CJ_VOID;
}

static cji_var *names_head_var(const cj_fn *f, size_t i)
{
    return f->m->var[i < f->nresult ? f->result[i] : f->param[i - f->nresult]];
}

bool cji_scope_head_names(cji_parser *p, cj_fn *f, size_t from)
{
    cj_ptx *m = p->m;
    size_t n = f->nresult + f->nparam;
    for (size_t i = from; i < n; i++) {
        uint32_t id = names_head_var(f, i)->name;
        if (cji_scope_as_register(cji_ptx_name(m, id), cji_ptx_name_len(m, id))) continue;
        if (!names_room(p, id)) return false;
        names_take(p, id);
    }
    for (size_t i = from; i < n; i++) {
        cji_var *v = names_head_var(f, i);
        const char *s = cji_ptx_name(m, v->name);
        size_t len = cji_ptx_name_len(m, v->name);
        if (!cji_scope_as_register(s, len)) continue;
        if (!(s = cji_scope_unique(p, s, len, &len))) return false;
        v->name = cji_ptx_intern(m, s, len);
        if (v->space == CJI_SP_REG && v->vec) cji_fn_vreg_rename(f, v->reg, s, len);
    }
    return cji_parse_fine(p);
}

bool cji_scope_has(cji_parser *p, const char *s, size_t n, bool *in_module)
{
    uint32_t id = cji_map_find(&p->m->names, s, n);
    *in_module = id != CJI_MAP_NONE && names_in_module(p->m, id);
    return id != CJI_MAP_NONE && id < p->ctaken && p->taken[id].mark == p->mark;
}

/* -- Names that the module declares later -------------------------------------------------------------------------- */

void cji_scope_in_module(cji_parser *p, uint32_t id)
{
    if (id < p->ctaken && p->taken[id].mark) p->unsettled = true;
}

typedef bool names_each(cji_parser *p, uint32_t *name);

static bool names_mark(cji_parser *p, uint32_t *name)
{
    if (!*name || !names_room(p, *name)) return !*name;
    names_take(p, *name);
    return true;
}

static bool names_settle(cji_parser *p, uint32_t *name)
{
    size_t len = cji_ptx_name_len(p->m, *name);
    if (!*name || !names_in_module(p->m, *name)) return true;
    const char *s = cji_scope_unique(p, cji_ptx_name(p->m, *name), len, &len);
    if (s) *name = cji_ptx_intern(p->m, s, len);
    return s && cji_parse_fine(p);
}

/* Everything in `f` that has a name of its own, but its head. */
static bool names_visit(cji_parser *p, cj_fn *f, names_each *each)
{
    bool fine = true;
    for (size_t i = 0; i < f->nvar && fine; i++) fine = each(p, &p->m->var[f->var[i]]->name);
    for (size_t i = 0; i < f->nreg && f->named_regs && fine; i++)
        if (f->reg[i].flags & CJI_REG_NAMED) fine = each(p, &f->reg[i].number);
    for (size_t i = 0; i < f->nlabel && fine; i++) fine = each(p, &f->label[i].name);
    for (size_t i = 0; i < f->ntlist && fine; i++) fine = each(p, &f->tlist[i].name);
    for (size_t i = 0; i < f->nvreg && fine; i++) {
        cji_vreg *v = &f->vreg[i];
        uint32_t was = v->name;
        if (!v->declared) continue;
        fine = each(p, &v->name);
        if (v->name != was)
            cji_fn_vreg_rename(f, v->first, cji_ptx_name(p->m, v->name), cji_ptx_name_len(p->m, v->name));
    }
    return fine && cji_parse_fine(p);
}

static bool names_of_head(cji_parser *p, const cj_fn *f)
{
    for (size_t i = 0; i < f->nresult + f->nparam; i++)
        if (!names_mark(p, &names_head_var(f, i)->name)) return false;
    return true;
}

bool cji_scope_settle(cji_parser *p)
{
    for (size_t i = 0; i < p->m->nfn && p->unsettled; i++) {
        cj_fn *f = p->m->fn[i];
        if (!f->body) continue;
        p->mark++;
        if (!names_of_head(p, f) || !names_visit(p, f, names_mark) || !names_visit(p, f, names_settle)) return false;
    }
    return true;
}
