/* Heads of kernels, functions and prototypes: linkage, results, name, parameters, performance directives.  Manual
 * 11.2 to 11.4, 11.7.
 *
 * A head's parameters are read before its name is known to be new or declared above, so they are collected in p->head
 * and entered then. */
#include "ptx/build.h"
#include "ptx/parser.h"

#include <string.h>

/* -- Parameters ---------------------------------------------------------------------------------------------------- */

/* .param .b32 name[4], or .reg .b32 name; the name may be _ in a prototype. */
static bool fn_param(cji_parser *p, bool kernel)
{
    cji_lex *x = &p->x;
    cji_directive d = cji_parse_directive(p);
    cji_decl decl;
    cji_head h = { .line = x->tok_line };
    p->line = x->tok_line;
    bool in_reg = d == CJI_D_REG && !kernel;
    if (d != CJI_D_PARAM && !in_reg) return cji_parse_expected(p, kernel ? ".param" : ".param or .reg");
    cji_lex_next(x);
    if (!cji_parse_type(p, &decl, kernel)) return false;
    if (decl.type == CJ_PRED && !in_reg)
        return cji_parse_fail(p, CJ_EPTX, "a .pred parameter; a predicate can only be a register");
    if (x->kind != CJI_TOK_WORD) return cji_parse_expected(p, "a parameter's name");
    h.name = x->s;
    h.len = x->n;
    cji_decl_apply(&decl, &h.v);
    h.v.space = in_reg ? CJI_SP_REG : CJI_SP_PARAM;
    cji_lex_next(x);
    if (!in_reg && !cji_parse_dims(p, &h.v)) return false;
    if (kernel && (h.v.flags & CJI_VAR_UNSIZED))
        return cji_parse_fail(p, CJ_EPTX, "a kernel's parameter without a size");
    cji_var_size(&h.v);
    if (!cji_parse_grow(p, &p->head, &p->chead, p->nhead + 1, sizeof *p->head)) return false;
    p->head[p->nhead++] = h;
    return true;
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

/* A parameter or result that is new to `f`. */
static bool fn_enter(cji_parser *p, cj_fn *f, const cji_head *h, bool result)
{
    uint32_t index = 0, reg = 0;
    f->loc = cji_ptx_loc(p->m, p->file, h->line);
    if (!f->proto && h->len == 1 && *h->name == '_')
        return cji_parse_fail(p, f->kernel ? CJ_EUNKNOWN : CJ_EPTX,
                              "a parameter without a name: _ is for .callprototype");
    cji_var *v = cji_ptx_var(p->m, f, (result ? CJI_LIST_RESULT : CJI_LIST_PARAM) | CJI_LIST_FRESH, h->name,
                             f->proto ? 0 : h->len, "cj_parse", &index);
    if (!v) return p->failed = true, false;
    if (h->v.space == CJI_SP_REG) {
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
    v->flags |= was.flags | (result ? CJI_VAR_RESULT : 0);
    v->reg = cji_word_index(reg);
    return true;
}

/* The same parameter in a second head: checked, and called by its new name. */
static bool fn_again(cji_parser *p, cj_fn *f, const cji_head *h, cji_var *v)
{
    if (v->space != h->v.space || v->bytes != h->v.bytes || cji_type_bits(v->type) != cji_type_bits(h->v.type))
        return cji_parse_fail(p, CJ_EPTX, "parameter '%s' of '%s' differs from the declaration above",
                              cji_short_n(h->name, h->len), cji_short(cji_ptx_name(p->m, f->name)));
    v->name = cji_ptx_intern(p->m, h->name, h->len);
    v->loc = cji_ptx_loc(p->m, p->file, h->line);
    return cji_parse_fine(p);
}

/* Binds a head's name in the function's scope. */
static bool fn_bind(cji_parser *p, const cji_head *h, uint32_t var)
{
    const cji_var *v = p->m->var[var];
    size_t len;
    if (!cji_scope_unique(p, h->name, h->len, &len)) return false;
    return cji_scope_declare(p, h->name, h->len, CJI_BIND_WORD,
                             v->space == CJI_SP_REG ? cji_word(CJI_K_REG, v->reg) : cji_word(CJI_K_SYM, var), 0);
}

/* Puts p->head into `f`, of which the first `results` are results, and binds the names in the innermost scope. */
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
        if (!f->proto && !cji_scope_free(p, h->name, h->len)) return false;
        if (!again && !fn_enter(p, f, h, i < results)) return false;
        uint32_t var = i < results ? f->result[i] : f->param[i - results];
        if (again && !fn_again(p, f, h, p->m->var[var])) return false;
        if (!f->proto && !fn_bind(p, h, var)) return false;
    }
    return true;
}

/* -- Directives behind the parameters ------------------------------------------------------------------------------ */

static bool fn_number(cji_parser *p, uint32_t *out)
{
    uint64_t n = 0;
    cji_lex_next(&p->x);
    if (!cji_parse_integer(p, UINT32_MAX, "the directive's number", &n)) return false;
    if (!n) return cji_parse_fail(p, CJ_EPTX, "a directive with 0");
    *out = (uint32_t)n;
    return true;
}

/* N {, N {, N}}: what is left out is 1. */
static bool fn_three(cji_parser *p, uint32_t out[3])
{
    out[0] = out[1] = out[2] = 1;
    for (unsigned i = 0; i < 3; i++)
        if (!fn_number(p, &out[i])) return false;
        else if (p->x.kind != ',') break;
    return true;
}

static bool fn_pragma(cji_parser *p, uint32_t name)
{
    cj_fn *f = p->f;
    if (!cji_parse_grow(p, &f->pragma, &f->cpragma, f->npragma + 1, sizeof *f->pragma)) return false;
    f->pragma[f->npragma++] = name;
    return true;
}

static bool fn_flag(cji_parser *p, uint8_t *flag)
{
    *flag = 1;
    cji_lex_next(&p->x);
    return true;
}

/* Counts what a directive needs: that version, and sm_<sm> or newer. */
static bool fn_need(cji_parser *p, uint8_t version, unsigned sm, const char *what)
{
    if (cji_ptx_need(p->m, version, cji_targets_from(sm), what, cji_ptx_loc(p->m, p->file, p->line))) return true;
    return p->failed = true, false;
}

/* One directive; *known false when the token is none of them. */
static bool fn_directive(cji_parser *p, cj_fn *f, bool *known)
{
    cji_bounds *b = &f->bounds;
    p->line = p->x.tok_line;
    switch (cji_parse_directive(p)) {
    case CJI_D_MAXNTID: return fn_three(p, b->maxntid);
    case CJI_D_REQNTID: return fn_three(p, b->reqntid);
    case CJI_D_MINNCTAPERSM: return fn_number(p, &b->minctas);
    case CJI_D_MAXNCTAPERSM: return fn_number(p, &b->maxctas);
    case CJI_D_MAXNREG: return fn_number(p, &b->maxreg);
    case CJI_D_REQCLUSTER: return fn_need(p, 78, 90, ".reqnctapercluster") && fn_three(p, b->cluster);
    case CJI_D_MAXRANK: return fn_need(p, 78, 90, ".maxclusterrank") && fn_number(p, &b->maxrank);
    case CJI_D_EXPLICIT: return fn_need(p, 78, 90, ".explicitcluster") && fn_flag(p, &b->explicit_cluster);
    case CJI_D_BLOCKSARE: return fn_need(p, 90, 90, ".blocksareclusters") && fn_flag(p, &b->blocks_are_clusters);
    case CJI_D_NORETURN:
        if (f->nresult) return cji_parse_fail(p, CJ_EPTX, ".noreturn for a function that has results");
        return fn_need(p, 64, 30, ".noreturn") && fn_flag(p, &b->noreturn);
    case CJI_D_PRAGMA: return cji_parse_pragma(p, fn_pragma);
    case CJI_D_ABI_PRESERVE: case CJI_D_ABI_CONTROL:
        return cji_parse_fail(p, CJ_EUNKNOWN, "%s is not supported: a module here cannot hold it", CJI_WORD(&p->x));
    default:
        *known = false;
        return true;
    }
}

static bool fn_directives(cji_parser *p, cj_fn *f)
{
    bool known = true;
    p->f = f;
    while (known)
        if (!fn_directive(p, f, &known)) return false;
    return true;
}

/* -- Kernels and functions ----------------------------------------------------------------------------------------- */

/* The function of that name: new, or declared above. */
static cj_fn *fn_find(cji_parser *p, const char *name, size_t len, bool kernel, unsigned linkage, bool *again)
{
    uint32_t word = 0;
    const cji_binding *b = cji_scope_find(p, name, len, &word);
    *again = b != NULL;
    if (!b) {
        p->m->loc = cji_ptx_loc(p->m, p->file, p->line);
        cj_fn *f = cji_ptx_fn(p->m, name, len, kernel, linkage, "cj_parse");
        if (!f || !cji_parse_fine(p)) return p->failed = true, NULL;
        f->kernel = kernel;
        f->order = UINT32_MAX;
        f->linkage = (uint8_t)linkage;
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
    if (linkage) f->linkage = (uint8_t)linkage;
    return f;
}

static bool fn_body(cji_parser *p, cj_fn *f)
{
    if (f->body) return cji_parse_fail(p, CJ_EPTX, "'%s' is defined twice", cji_short(cji_ptx_name(p->m, f->name)));
    if (f->linkage == CJI_LINK_EXTERN)
        return cji_parse_fail(p, CJ_EPTX, "'%s' is .extern and has a body", cji_short(cji_ptx_name(p->m, f->name)));
    f->body = f->as_is = 1;
    f->order = p->m->norder++;
    return p->heads ? cji_parse_skip_body(p) : cji_parse_body(p);
}

/* A declaration's ';'. */
static bool fn_end(cji_parser *p)
{
    return cji_parse_take(p, ';', "or '{' behind a function's head") && cji_scope_close(p);
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
    if (!kernel && x->kind == '(' && !fn_params(p, false)) return false;
    size_t results = p->nhead;
    if (x->kind != CJI_TOK_WORD) return cji_parse_expected(p, "a function's name");
    p->line = x->tok_line;
    cj_fn *f = fn_find(p, x->s, x->n, kernel, linkage, &again);
    if (!f) return false;
    if (cji_lex_next(x) == '(' && !fn_params(p, kernel)) return false;
    size_t mark = p->nbind;
    if (!cji_scope_open(p) || !fn_take_head(p, f, results, again) || !fn_directives(p, f)) return false;
    p->line = line;
    if (!(x->kind == '{' ? fn_body(p, f) : fn_end(p))) return false;
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
    if (cji_lex_next(x) == '(' && !fn_params(p, false)) return false;
    size_t results = p->nhead, n = 0;
    if (x->kind != CJI_TOK_WORD || x->n != 1 || *x->s != '_') return cji_parse_expected(p, "_ in a .callprototype");
    if (cji_lex_next(x) == '(' && !fn_params(p, false)) return false;
    cj_fn *proto = cji_ptx_proto(p->m, "cj_parse");
    if (!proto || !cji_parse_fine(p)) return p->failed = true, false;
    bool fine = fn_take_head(p, proto, results, false) && fn_directives(p, proto);
    p->f = f;
    if (!fine || !cji_parse_take(p, ';', "behind the prototype")) return false;
    const char *unique = cji_scope_unique(p, name, len, &n);
    uint32_t word = unique ? cji_fn_tlist(f, CJI_TL_PROTO, unique, n, 0, proto->index) : 0;
    return word ? cji_scope_declare(p, name, len, CJI_BIND_WORD, word, 0) : cji_parse_fine(p);
}
