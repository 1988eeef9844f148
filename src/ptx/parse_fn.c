/* Heads of kernels, functions and prototypes: linkage, results, name, parameters, performance directives.  Manual
 * 11.2 to 11.4, 11.7.
 *
 * A head's parameters are read before its name is known to be new or declared above, so they are collected in p->head
 * and entered then. */
#include "ptx/build.h"
#include "ptx/parser.h"

#include <string.h>

/* -- Parameters ---------------------------------------------------------------------------------------------------- */

/* What a parameter cannot be. */
static bool fn_type_fits(cji_parser *p, const cji_decl *d, bool kernel, bool in_reg)
{
    if (d->type == CJ_PRED && !in_reg)
        return cji_parse_fail(p, CJ_EPTX, "a .pred parameter; a predicate can only be a register");
    if (d->opaque && !kernel)
        return cji_parse_fail(p, CJ_EPTX, "a texture, sampler or surface as parameter of a .func");
    if (d->vec && !in_reg)
        return cji_parse_fail(p, CJ_EPTX, "a .param vector; declare an array of bytes, or elements one by one");
    return true;
}

/* name or name[4] behind the type; the name may be _ in a prototype. */
static bool fn_named(cji_parser *p, const cji_decl *d, bool kernel, bool in_reg)
{
    cji_lex *x = &p->x;
    cji_head h = { .line = x->tok_line, .name = x->s, .len = x->n };
    if (x->kind != CJI_TOK_WORD) return cji_parse_expected(p, "a parameter's name");
    cji_decl_apply(d, &h.v);
    h.v.space = in_reg ? CJI_SP_REG : CJI_SP_PARAM;
    cji_lex_next(x);
    if (!in_reg && !cji_parse_dims(p, &h.v, h.name, h.len)) return false;
    if (!kernel && !cji_parse_param_align(p, d, h.name, h.len)) return false;
    if (h.v.ndim > 1) return cji_parse_fail(p, CJ_EPTX, "a parameter with two sizes; an array has one here");
    if (kernel && (h.v.flags & CJI_VAR_UNSIZED))
        return cji_parse_fail(p, CJ_EPTX, "a kernel's parameter without a size");
    cji_var_size(&h.v);
    if (!cji_parse_grow(p, &p->head, &p->chead, p->nhead + 1, sizeof *p->head)) return false;
    p->head[p->nhead++] = h;
    return true;
}

/* .param .b32 name[4], or .reg .b32 name. */
static bool fn_param(cji_parser *p, bool kernel)
{
    cji_directive d = cji_parse_directive(p);
    cji_decl decl;
    bool in_reg = d == CJI_D_REG && !kernel;
    p->line = p->x.tok_line;
    if (d != CJI_D_PARAM && !in_reg) return cji_parse_expected(p, kernel ? ".param" : ".param or .reg");
    if (d == CJI_D_PARAM && !kernel && p->old_target)
        return cji_parse_fail(p, CJ_ENOTSUP, "a .param of a .func needs target sm_20 or newer");
    if (d == CJI_D_PARAM && !cji_parse_need(p, kernel ? 14 : 20, 20, "a list of .param parameters")) return false;
    cji_lex_next(&p->x);
    return cji_parse_type(p, &decl, kernel) && fn_type_fits(p, &decl, kernel, in_reg) &&
           fn_named(p, &decl, kernel, in_reg);
}

/* ( parameters ), the current token being '('. */
static bool fn_params(cji_parser *p, bool kernel)
{
    cji_lex_next(&p->x);
    if (cji_parse_maybe(p, ')')) return true;
    do {
        if (!fn_param(p, kernel)) return false;
    } while (cji_parse_maybe(p, ','));
    return cji_parse_take(p, ')', "behind the parameters");
}

/* The results: several are registers. */
static bool fn_results(cji_parser *p)
{
    if (!fn_params(p, false)) return false;
    for (size_t i = 0; i < p->nhead && p->nhead > 1; i++)
        if (p->head[i].v.space == CJI_SP_PARAM)
            return cji_parse_fail(p, CJ_EPTX, "several results are registers, .reg; '%s' is a .param",
                                  cji_short_n(p->head[i].name, p->head[i].len));
    return true;
}

/* A parameter or result that is new to `f`. */
static bool fn_enter(cji_parser *p, cj_fn *f, const cji_head *h, bool result)
{
    uint32_t index = 0, reg = 0;
    f->loc = cji_ptx_loc(p->m, p->file, h->line);
    if (!f->proto && !f->kernel && h->len == 1 && *h->name == '_')
        return cji_parse_fail(p, CJ_EPTX, "a parameter without a name: _ is for .callprototype and .entry");
    cji_var *v = cji_ptx_var(p->m, f, (result ? CJI_LIST_RESULT : CJI_LIST_PARAM) | CJI_LIST_FRESH, h->name,
                             f->proto ? 0 : h->len, "cj_parse", &index);
    if (!v) return p->failed = true, false;
    if (h->v.space == CJI_SP_REG && h->v.vec) {
        reg = cji_fn_vreg(f, h->v.type, h->v.vec, h->name, h->len, true);
        if (!reg) return cji_parse_fine(p);
    } else if (h->v.space == CJI_SP_REG) {
        reg = cji_fn_reg(f, h->v.type);
        if (!reg) return cji_parse_fine(p);
        f->count[cji_type_declared(h->v.type)]--;   /* it is called by the parameter's name and takes no number */
        f->reg[cji_word_index(reg)].number = index;
        f->reg[cji_word_index(reg)].flags |= CJI_REG_PARAM;
    }
    cji_var was = *v;
    *v = h->v;
    v->name = was.name;
    v->fn = was.fn;
    v->loc = was.loc;
    v->flags |= was.flags;
    v->reg = cji_word_index(reg);
    return true;
}

/* The same parameter in a second head: checked, and called by its new name. */
static bool fn_again(cji_parser *p, cj_fn *f, const cji_head *h, cji_var *v)
{
    if (v->space != h->v.space || v->type != h->v.type || v->vec != h->v.vec || v->ndim != h->v.ndim ||
        v->bytes != h->v.bytes || (!f->kernel && cji_var_alignment(v) != cji_var_alignment(&h->v)))
        return cji_parse_fail(p, CJ_EPTX, "parameter '%s' of '%s' differs from the declaration above",
                              cji_short_n(h->name, h->len), cji_short(cji_ptx_name(p->m, f->name)));
    v->name = cji_ptx_intern(p->m, h->name, h->len);
    if (v->vec) cji_fn_vreg_rename(f, v->reg, h->name, h->len);
    v->loc = cji_ptx_loc(p->m, p->file, h->line);
    return cji_parse_fine(p);
}

/* Binds a head's name in the function's scope. */
static bool fn_bind(cji_parser *p, const cji_head *h, uint32_t var)
{
    const cji_var *v = p->m->var[var];
    if (v->space == CJI_SP_REG && v->vec)
        return cji_scope_declare(p, h->name, h->len, CJI_BIND_VECTOR, cji_word(CJI_K_REG, v->reg), v->vec);
    return cji_scope_declare(p, h->name, h->len, CJI_BIND_WORD,
                             v->space == CJI_SP_REG ? cji_word(CJI_K_REG, v->reg) : cji_word(CJI_K_SYM, var), 0);
}

/* Binds the names of p->head in the innermost scope: a body follows. */
static bool fn_bind_head(cji_parser *p, cj_fn *f, size_t results)
{
    p->mark++;
    if (!cji_scope_head_names(p, f, 0)) return false;
    for (size_t i = 0; i < p->nhead; i++) {
        const cji_head *h = &p->head[i];
        p->line = h->line;
        if (h->len == 1 && *h->name == '_') continue;
        if (!cji_scope_free(p, h->name, h->len)) return false;
        if (!fn_bind(p, h, i < results ? f->result[i] : f->param[i - results])) return false;
    }
    return true;
}

/* Puts p->head into `f`, of which the first `results` are results. */
static bool fn_take_head(cji_parser *p, cj_fn *f, size_t results, bool again)
{
    if (again && (f->nresult != results || f->nparam != p->nhead - results))
        return cji_parse_fail(
            p, CJ_EPTX, "'%s' is declared above with %zu results and %zu parameters; here it has %zu and %zu",
            cji_short(cji_ptx_name(p->m, f->name)), f->nresult, f->nparam, results, p->nhead - results);
    p->f = f;
    for (size_t i = 0; i < p->nhead; i++) {
        const cji_head *h = &p->head[i];
        p->line = h->line;
        if (!again && !fn_enter(p, f, h, i < results)) return false;
        uint32_t var = i < results ? f->result[i] : f->param[i - results];
        if (again && !fn_again(p, f, h, p->m->var[var])) return false;
    }
    return true;
}

/* A parameter in a body is printed in the head, where its name hides the module's in the whole body, and is the only
 * one of that name.  A text whose meaning that changes is rejected. */
static bool fn_old_param_fits(cji_parser *p, const cji_head *h)
{
    bool in_module, known = cji_scope_has(p, h->name, h->len, &in_module);
    if (!p->heads && (known || (in_module && p->f->nins)))
        return cji_parse_fail(p, CJ_EUNKNOWN,
                              "'%s' has another meaning above; parameters in a body that hide names are not supported, "
                              "rename it", cji_short_n(h->name, h->len));
    return true;
}

/* .param .b32 a, b; in a kernel's body: PTX before 1.4 has no lists of parameters. */
bool cji_parse_old_params(cji_parser *p)
{
    cji_decl d;
    p->nhead = 0;
    cji_lex_next(&p->x);
    if (!cji_parse_type(p, &d, true) || !fn_type_fits(p, &d, true, false)) return false;
    do {
        if (!fn_named(p, &d, true, false)) return false;
        const cji_head *h = &p->head[p->nhead - 1];
        if (!cji_scope_free(p, h->name, h->len) || !fn_old_param_fits(p, h)) return false;
        if (!fn_enter(p, p->f, h, false) || !cji_scope_head_names(p, p->f, p->f->nparam - 1)) return false;
        if (!fn_bind(p, h, p->f->param[p->f->nparam - 1])) return false;
    } while (cji_parse_maybe(p, ','));
    return cji_parse_take(p, ';', "behind the parameters");
}

/* -- Kernels and functions ----------------------------------------------------------------------------------------- */

static const char *fn_link_word(unsigned linkage)
{
    return linkage == CJI_LINK_NONE ? "without linkage" : linkage == CJI_LINK_VISIBLE ? ".visible" :
           linkage == CJI_LINK_EXTERN ? ".extern" : ".weak";
}

/* What a declaration of a function allows further down. */
static bool fn_may_repeat(cji_parser *p, const cj_fn *f, unsigned linkage)
{
    const char *name = cji_short(cji_ptx_name(p->m, f->name));
    if (f->alias) return cji_parse_fail(p, CJ_EPTX, "'%s' is an alias, and declared again", name);
    if (f->body)
        return cji_parse_fail(p, CJ_EPTX, "'%s' is defined twice, or declared behind its definition", name);
    if (linkage == f->linkage || (!linkage && f->linkage != CJI_LINK_EXTERN)) return true;
    return cji_parse_fail(p, CJ_EPTX, "'%s' is declared %s above, %s here", name, fn_link_word(f->linkage),
                          fn_link_word(linkage));
}

/* The function of that name: new, or declared above. */
static cj_fn *fn_find(cji_parser *p, const char *name, size_t len, bool kernel, unsigned linkage, bool *again)
{
    uint32_t word = 0;
    const cji_binding *b = cji_scope_find(p, name, len, &word);
    *again = b != NULL;
    if (!b) {
        if (cji_scope_as_register(name, len))
            return cji_parse_fail(p, CJ_EUNKNOWN, "'%s' has a name as registers have; rename it",
                                  cji_short_n(name, len)),
                   NULL;
        p->m->loc = cji_ptx_loc(p->m, p->file, p->line);
        cj_fn *f = cji_ptx_fn(p->m, name, len, kernel, linkage, "cj_parse");
        if (!f || !cji_parse_fine(p)) return p->failed = true, NULL;
        f->kernel = kernel;
        f->order = UINT32_MAX;
        f->linkage = (uint8_t)linkage;
        cji_scope_in_module(p, f->name);
        return cji_scope_declare(p, name, len, CJI_BIND_WORD, cji_word(CJI_K_FUNC, f->index), 0) ? f : NULL;
    }
    cj_fn *f = cji_word_kind(word) == CJI_K_FUNC ? p->m->fn[cji_word_index(word)] : NULL;
    if (!f)
        return cji_parse_fail(p, CJ_EPTX, "'%s' is a variable, declared at line %u", cji_short_n(name, len), b->line),
               NULL;
    if (f->kernel != kernel)
        return cji_parse_fail(p, CJ_EPTX, "'%s' is declared at line %u as %s", cji_short(cji_ptx_name(p->m, f->name)),
                              b->line, f->kernel ? ".entry" : ".func"),
               NULL;
    return fn_may_repeat(p, f, linkage) ? f : NULL;
}

static bool fn_body(cji_parser *p, cj_fn *f)
{
    if (f->linkage == CJI_LINK_EXTERN)
        return cji_parse_fail(p, CJ_EPTX, "'%s' is .extern and has a body", cji_short(cji_ptx_name(p->m, f->name)));
    f->body = f->as_is = 1;
    f->order = p->m->norder++;
    return p->heads ? cji_parse_skip_body(p) : cji_parse_body(p);
}

/* A declaration's ';'.  Old compilers write none behind a .func. */
static bool fn_end(cji_parser *p, bool kernel)
{
    bool left_out = !kernel && (p->x.kind == CJI_TOK_DOT || p->x.kind == CJI_TOK_END);
    return (left_out || cji_parse_take(p, ';', "or '{' behind a function's head")) && cji_scope_close(p);
}

/* .entry name (...) or .func (...) name (...): the current token is the directive. */
bool cji_parse_fn(cji_parser *p, bool kernel, unsigned linkage)
{
    cji_lex *x = &p->x;
    bool again = false;
    uint32_t line = x->tok_line;
    if (linkage == CJI_LINK_COMMON) return cji_parse_fail(p, CJ_EPTX, ".common is for variables");
    p->nhead = 0;
    p->f = NULL;
    if (cji_lex_next(x) == CJI_TOK_DOT) {
        if (cji_parse_directive(p) == CJI_D_ATTRIBUTE)
            return cji_parse_fail(p, CJ_EUNKNOWN, ".attribute of a function is not supported");
        return cji_parse_expected(p, "a function's name");
    }
    if (!kernel && x->kind == '(' && !fn_results(p)) return false;
    size_t results = p->nhead;
    if (x->kind != CJI_TOK_WORD) return cji_parse_expected(p, "a function's name");
    p->line = x->tok_line;
    cj_fn *f = fn_find(p, x->s, x->n, kernel, linkage, &again);
    if (!f) return false;
    if (cji_lex_next(x) == '(' && !fn_params(p, kernel)) return false;
    size_t mark = p->nbind;
    if (!cji_scope_open(p) || !fn_take_head(p, f, results, again) || !cji_parse_bounds(p, f, again)) return false;
    if (x->kind == '{' && !fn_bind_head(p, f, results)) return false;
    p->line = line;
    if (!(x->kind == '{' ? fn_body(p, f) : fn_end(p, kernel))) return false;
    p->nbind = mark;   /* what is left was declared before */
    p->f = NULL;
    return true;
}

/* name: .callprototype (...) _ (...); inside a function. */
bool cji_parse_proto(cji_parser *p, const char *name, size_t len)
{
    cji_lex *x = &p->x;
    cj_fn *f = p->f;
    p->nhead = 0;
    if (!cji_parse_need(p, 21, 20, ".callprototype")) return false;
    if (cji_lex_next(x) == '(' && !fn_results(p)) return false;
    size_t results = p->nhead, n = 0;
    if (x->kind != CJI_TOK_WORD || x->n != 1 || *x->s != '_') return cji_parse_expected(p, "_ in a .callprototype");
    if (cji_lex_next(x) == '(' && !fn_params(p, false)) return false;
    cj_fn *proto = cji_ptx_proto(p->m, "cj_parse");
    if (!proto || !cji_parse_fine(p)) return p->failed = true, false;
    bool fine = fn_take_head(p, proto, results, false) && cji_parse_bounds(p, proto, false);
    p->f = f;
    if (!fine || !cji_parse_take(p, ';', "behind the prototype")) return false;
    const char *unique = cji_scope_unique(p, name, len, &n);
    uint32_t word = unique ? cji_fn_tlist(f, CJI_TL_PROTO, unique, n, 0, proto->index) : 0;
    return word ? cji_scope_declare(p, name, len, CJI_BIND_WORD, word, 0) : cji_parse_fine(p);
}
