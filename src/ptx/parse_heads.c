/* The heads of a text's kernels and functions, for what a launch must know of them.  Bodies are skipped token by
 * token; what of the module their instructions mention is recorded: variables, functions, and calls through
 * registers. */
#include "ptx/build.h"
#include "ptx/entries.h"
#include "ptx/isa_ids.h"
#include "ptx/parser.h"

/* -- Bodies -------------------------------------------------------------------------------------------------------- */

static bool heads_mention(cji_parser *p, uint32_t word, bool call)
{
    if (!cji_fn_pseudo(p->f, CJI_INS_MENTION, word)) return cji_parse_fine(p);
    p->f->ins[p->f->nins - 1].opnd[1] = call;
    return true;
}

/* The SYM or FUNC word of the module's thing that the current word names, 0: none. */
static uint32_t heads_named(cji_parser *p)
{
    uint32_t word = 0;
    const cji_binding *b = p->x.kind == CJI_TOK_WORD ? cji_scope_find(p, p->x.s, p->x.n, &word) : NULL;
    return b && b->depth == 0 && (cji_word_kind(word) == CJI_K_SYM || cji_word_kind(word) == CJI_K_FUNC) ? word : 0;
}

/* A declaration or pragma, up to its ';'.  Braces are those of initial values. */
static bool heads_skip_directive(cji_parser *p)
{
    size_t depth = 0;
    bool values = false;
    for (; p->x.kind != ';' || depth; cji_lex_next(&p->x)) {
        uint8_t kind = p->x.kind;
        if (kind == CJI_TOK_END || kind == CJI_TOK_BAD || (kind == '{' && !values) || (kind == '}' && !depth))
            return false;
        values |= kind == '=';
        depth += kind == '{' ? 1 : kind == '}' ? (size_t)-1 : 0;
        if (heads_named(p)) p->unsure = true;
    }
    return true;
}

/* An instruction, up to its ';': the current token is its first word.  Braces are those of vectors. */
static bool heads_skip_instruction(cji_parser *p)
{
    cji_lex *x = &p->x;
    bool call = cji_isa_word_is(CJI_W_CALL, x->s, x->n), direct = false;
    cji_mix mix = cji_mix_word(x->s, x->n);
    while (cji_lex_next(x) != ';') {
        if (x->kind == CJI_TOK_END || x->kind == CJI_TOK_BAD) return cji_parse_expected(p, "';'");
        if (x->kind == CJI_TOK_DOT) mix = cji_mix_modifier(mix, x->s + 1, x->n - 1);
        uint32_t word = heads_named(p), function = cji_word_kind(word) == CJI_K_FUNC;
        if (word && !heads_mention(p, word, call && function)) return false;
        direct |= function;
    }
    p->f->mix_all += mix != CJI_MIX_PARAM;
    p->f->mix_memory += mix == CJI_MIX_MEMORY;
    return !call || direct || heads_mention(p, cji_word(CJI_K_SINK, 0), true);
}

/* label: */
static bool heads_is_label(cji_lex *x) { return cji_lex_peek(x) == ':' && (x->p + 1 >= x->end || x->p[1] != ':'); }

static bool heads_statement(cji_parser *p)
{
    cji_lex *x = &p->x;
    if (x->kind == CJI_TOK_WORD && heads_is_label(x)) {
        cji_lex_next(x);
        cji_lex_next(x);
        return true;
    }
    if (x->kind == CJI_TOK_DOT) {
        cji_directive d = cji_parse_directive(p);
        if (d == CJI_D_LOC) return cji_parse_loc(p);
        if (d == CJI_D_FILE) return cji_parse_file(p);
        if (d == CJI_D_PARAM && p->f->kernel && p->version < 14) return cji_parse_old_params(p);
        if (d != CJI_D_CALLTARGETS) return heads_skip_directive(p) && cji_parse_take(p, ';', "behind the directive");
    }
    if (x->kind == '@') {
        cji_lex_next(x);
        cji_parse_maybe(p, '!');
        cji_lex_next(x);
    }
    if (x->kind != CJI_TOK_WORD && x->kind != CJI_TOK_DOT) return cji_parse_expected(p, "a statement");
    return heads_skip_instruction(p) && cji_parse_take(p, ';', "behind the instruction");
}

/* The current token is '{'; the function's own scope is open. */
bool cji_parse_skip_body(cji_parser *p)
{
    cji_lex *x = &p->x;
    size_t depth = 0;
    do {
        if (x->kind == '{' || x->kind == '}') {
            depth += x->kind == '{' ? 1 : (size_t)-1;
            cji_lex_next(x);
        } else if (!heads_statement(p)) {
            return false;
        }
    } while (depth);
    return cji_scope_close(p) && cji_parse_fine(p);
}

/* -- Texts --------------------------------------------------------------------------------------------------------- */

/* .version, .target, .address_size: whatever they say. */
static void heads_skip_versions(cji_parser *p)
{
    cji_directive d = cji_parse_directive(p);
    if (d == CJI_D_VERSION) p->version = cji_parse_version(p);
    while (d == CJI_D_VERSION || d == CJI_D_TARGET || d == CJI_D_ADDRESS_SIZE) {
        do cji_lex_next(&p->x);
        while (p->x.kind != CJI_TOK_DOT && p->x.kind != CJI_TOK_END && p->x.kind != CJI_TOK_BAD);
        d = cji_parse_directive(p);
    }
}

static bool heads_all(cji_parser *p)
{
    cji_lex_next(&p->x);
    p->line = p->x.tok_line;
    if (!cji_scope_open(p)) return false;
    heads_skip_versions(p);
    while (p->x.kind != CJI_TOK_END)
        if (!cji_parse_top(p)) return false;
    return true;
}

bool cji_parse_heads(cj_ptx *m, const char *text, size_t bytes)
{
    cji_parser p;
    cji_parse_begin(&p, m, text, bytes);
    p.heads = true;
    p.file = cji_ptx_file(m, "ptx", 3);
    bool whole = p.file && heads_all(&p) && !p.unsure;
    cji_parse_release(&p);
    return whole;
}
