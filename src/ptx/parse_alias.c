/* .alias f, g: the declared function f is g.  Manual 11.3.3. */
#include "ptx/build.h"
#include "ptx/parser.h"

#include <string.h>

/* The function that the current word names. */
static cj_fn *alias_function(cji_parser *p)
{
    cji_lex *x = &p->x;
    uint32_t word = 0;
    if (x->kind != CJI_TOK_WORD) return cji_parse_expected(p, "a function's name"), NULL;
    bool known = cji_scope_find(p, x->s, x->n, &word) && cji_word_kind(word) == CJI_K_FUNC;
    cj_fn *f = known ? p->m->fn[cji_word_index(word)] : NULL;
    if (!f) return cji_parse_fail(p, CJ_EPTX, "no function '%s' is declared above", CJI_WORD(x)), NULL;
    if (f->kernel) return cji_parse_fail(p, CJ_EPTX, "'%s' is a kernel; functions have aliases", CJI_WORD(x)), NULL;
    cji_lex_next(x);
    return f;
}

static bool alias_same_list(const cj_ptx *m, const uint32_t *a, const uint32_t *b, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const cji_var *v = m->var[a[i]], *w = m->var[b[i]];
        if (v->space != w->space || v->type != w->type || v->vec != w->vec || v->bytes != w->bytes ||
            cji_var_alignment(v) != cji_var_alignment(w))
            return false;
    }
    return true;
}

static bool alias_fits(cji_parser *p, const cj_fn *f, const cj_fn *of)
{
    const cj_ptx *m = p->m;
    const char *name = cji_short(cji_ptx_name(m, f->name));
    if (f->body) return cji_parse_fail(p, CJ_EPTX, "'%s' has a body and is no alias", name);
    if (f->alias) return cji_parse_fail(p, CJ_EPTX, "'%s' is an alias already", name);
    if (of->alias || of == f)
        return cji_parse_fail(p, CJ_EPTX, "'%s' is an alias itself", cji_short(cji_ptx_name(m, of->name)));
    if (of->linkage == CJI_LINK_EXTERN || of->linkage == CJI_LINK_WEAK)
        return cji_parse_fail(p, CJ_EPTX, "'%s' is %s, and has no aliases", cji_short(cji_ptx_name(m, of->name)),
                              of->linkage == CJI_LINK_WEAK ? ".weak" : ".extern");
    if (f->nparam == of->nparam && f->nresult == of->nresult && f->bounds.noreturn == of->bounds.noreturn &&
        alias_same_list(m, f->param, of->param, f->nparam) && alias_same_list(m, f->result, of->result, f->nresult))
        return true;
    return cji_parse_fail(p, CJ_EPTX, "'%s' has other parameters or results than what it is an alias of", name);
}

bool cji_parse_alias(cji_parser *p)
{
    cj_ptx *m = p->m;
    cj_fn *f, *of;
    if (!cji_parse_need(p, 63, 30, ".alias")) return false;
    cji_lex_next(&p->x);
    if (!(f = alias_function(p)) || !cji_parse_take(p, ',', "behind the alias")) return false;
    if (!(of = alias_function(p))) return false;
    if (!alias_fits(p, f, of)) return false;
    if (!cji_parse_grow(p, &m->alias, &m->calias, m->nalias + 1, sizeof *m->alias)) return false;
    m->alias[m->nalias++] = (struct cji_alias){ f->index, of->index };
    f->alias = of->index + 1;
    return cji_parse_take(p, ';', "behind .alias");
}
