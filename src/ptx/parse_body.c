/* Statements: labels, blocks, declarations, guards, lists of targets. */
#include "ptx/parser.h"

#include <string.h>

/* -- Lists of targets ---------------------------------------------------------------------------------------------- */

static bool body_target(cji_parser *p, bool labels)
{
    const cji_lex *x = &p->x;
    uint32_t word = 0;
    if (x->kind != CJI_TOK_WORD) return cji_parse_expected(p, labels ? "a label" : "a function's name");
    if (labels) word = cji_scope_label(p, x->s, x->n);
    else if (!cji_scope_find(p, x->s, x->n, &word) || cji_word_kind(word) != CJI_K_FUNC)
        return cji_parse_fail(p, CJ_EPTX, "no function '%s' is declared above", CJI_WORD(x));
    return word && cji_parse_push(p, word);
}

/* name: .branchtargets A, B; or .calltargets f, g; */
static bool body_targets(cji_parser *p, const char *name, size_t len, bool labels)
{
    size_t n = 0;
    p->nword = 0;
    do {
        cji_lex_next(&p->x);
        if (!body_target(p, labels)) return false;
    } while (cji_lex_next(&p->x) == ',');
    if (!cji_parse_take(p, ';', "behind the list")) return false;
    uint32_t list = cji_fn_list(p->f, CJI_K_LIST, p->word, p->nword);
    const char *unique = list ? cji_scope_unique(p, name, len, &n) : NULL;
    uint32_t word = unique ? cji_fn_tlist(p->f, labels ? CJI_TL_BRANCH : CJI_TL_CALL, unique, n, list, 0) : 0;
    return word ? cji_scope_declare(p, name, len, CJI_BIND_WORD, word, 0) : cji_parse_fine(p);
}

/* name: the current token is the name. */
static bool body_label(cji_parser *p)
{
    const char *name = p->x.s;
    size_t len = p->x.n;
    cji_lex_next(&p->x);
    cji_lex_next(&p->x);
    switch (cji_parse_directive(p)) {
    case CJI_D_BRANCHTARGETS: return body_targets(p, name, len, true);
    case CJI_D_CALLTARGETS: return body_targets(p, name, len, false);
    case CJI_D_CALLPROTO: return cji_parse_proto(p, name, len);
    default: return cji_scope_bind_label(p, name, len);
    }
}

/* -- Directives ---------------------------------------------------------------------------------------------------- */

static bool body_pragma(cji_parser *p, uint32_t name)
{
    return cji_fn_pseudo(p->f, CJI_INS_PRAGMA, name) || cji_parse_fine(p);
}

/* .param: what a call passes; in a kernel of PTX before 1.4 the kernel's own parameter. */
static bool body_param(cji_parser *p)
{
    if (p->f->kernel && p->version < 14) return cji_parse_old_params(p);
    return cji_parse_need(p, 20, 20, "a .param in a body") && cji_parse_vars(p, CJI_SP_PARAM, CJI_LINK_NONE);
}

static bool body_directive(cji_parser *p)
{
    switch (cji_parse_directive(p)) {
    case CJI_D_REG: return cji_parse_regs(p);
    case CJI_D_PARAM: return body_param(p);
    case CJI_D_SHARED: return cji_parse_vars(p, CJI_SP_SHARED, CJI_LINK_NONE);
    case CJI_D_LOCAL: return cji_parse_vars(p, CJI_SP_LOCAL, CJI_LINK_NONE);
    case CJI_D_GLOBAL: return cji_parse_vars(p, CJI_SP_GLOBAL, CJI_LINK_NONE);
    case CJI_D_CONST: return cji_parse_vars(p, CJI_SP_CONST, CJI_LINK_NONE);
    case CJI_D_LOC: return cji_parse_loc(p);
    case CJI_D_PRAGMA: return cji_parse_pragma(p, body_pragma);
    case CJI_D_BRANCHTARGETS: case CJI_D_CALLTARGETS: case CJI_D_CALLPROTO:
        return cji_parse_fail(p, CJ_EPTX, "%s needs a label in front of it, by which it is used", CJI_WORD(&p->x));
    default:
        return cji_parse_fail(p, CJ_EPTX, "%s is not allowed inside a function", CJI_WORD(&p->x));
    }
}

/* -- Statements ---------------------------------------------------------------------------------------------------- */

/* What a call passes is written and read on every path: no guard on the latest instruction where it names that. */
static bool body_may_guard(cji_parser *p)
{
    const cj_fn *f = p->f;
    const cji_ins *x = &f->ins[f->nins - 1];
    for (uint32_t i = 0, n = cji_ins_n(f, x); i < n; i++) {
        uint32_t word = cji_ins_opnd(f, x, i);
        if (cji_word_kind(word) != CJI_K_MEM) continue;
        word = f->mem[cji_word_index(word)].base;
        const cji_var *v = cji_word_kind(word) == CJI_K_SYM ? p->m->var[cji_word_index(word)] : NULL;
        if (!v || v->space != CJI_SP_PARAM || v->flags & (CJI_VAR_RESULT | CJI_VAR_HEAD)) continue;
        return cji_parse_fail(p, CJ_EPTX, "a guard on an instruction that reads or writes '%s', a .param of calls",
                              cji_short(cji_ptx_name(p->m, v->name)));
    }
    return true;
}

/* @p or @!p, and its instruction. */
static bool body_guarded(cji_parser *p)
{
    cji_lex *x = &p->x;
    uint32_t word = 0;
    cji_lex_next(x);
    bool negated = cji_parse_maybe(p, '!');
    if (x->kind != CJI_TOK_WORD) return cji_parse_expected(p, "a predicate behind '@'");
    if (!cji_scope_find(p, x->s, x->n, &word))
        return cji_parse_fail(p, CJ_EPTX, "no predicate '%s' is declared", CJI_WORD(x));
    uint32_t index = cji_word_index(word);
    if (cji_word_kind(word) != CJI_K_REG || p->f->reg[index].type != CJ_PRED)
        return cji_parse_fail(p, CJ_EPTX, "'%s' is not a predicate: a guard is a .pred register", CJI_WORD(x));
    if (cji_lex_next(x) != CJI_TOK_WORD) return cji_parse_expected(p, "an instruction behind the predicate");
    return cji_parse_ins(p, cji_word(negated ? CJI_K_NOT : CJI_K_REG, index)) && body_may_guard(p);
}

static bool body_statement(cji_parser *p)
{
    cji_lex *x = &p->x;
    p->line = x->tok_line;
    switch (x->kind) {
    case CJI_TOK_WORD:
        if (x->p < x->end && *x->p == '.') return cji_parse_ins(p, 0);   /* most: no label has a dot behind it */
        if (cji_lex_peek(x) == ':' && (x->p + 1 >= x->end || x->p[1] != ':')) return body_label(p);
        return cji_parse_ins(p, 0);
    case '@': return body_guarded(p);
    case CJI_TOK_DOT: return body_directive(p);
    case '{':
        if (!cji_scope_open(p)) return false;
        cji_lex_next(x);
        return true;
    case '}':
        if (!cji_scope_close(p)) return false;
        cji_lex_next(x);
        return true;
    case CJI_TOK_END:
        p->line = p->scope_line[p->nscope - 1];
        return cji_parse_fail(p, CJ_EPTX, "the text ends inside a '{' that is opened here; '}' is missing");
    default:
        return cji_parse_expected(p, "a statement");
    }
}

/* The current token is '{'; the function's own scope is open. */
bool cji_parse_body(cji_parser *p)
{
    size_t outside = p->nscope - 1;
    p->scope_line[outside] = p->x.tok_line;
    p->loc = 0;
    if (!cji_parse_declare_module_regs(p)) return false;
    cji_lex_next(&p->x);
    while (p->nscope > outside) {
        p->f->loc = cji_ptx_loc(p->m, p->file, p->x.tok_line);
        if (!body_statement(p)) return false;
    }
    return cji_parse_fine(p);
}
