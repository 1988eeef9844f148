/* cj_parse: PTX text into a module, in one pass.
 *
 *   lex.c           words                        parse_scope.c   names, scopes, labels
 *   parse_names.c   names that are printed
 *   parse_target.c  .version and .target         parse_const.c   constant expressions
 *   parse.c         the module's directives
 *   parse_decl.c    registers and variables      parse_init.c    initial values
 *   parse_fn.c      heads of functions           parse_bounds.c  directives behind them
 *   parse_body.c    statements
 *   parse_ins.c     instructions and operands    parse_line.c    .file, .loc, .pragma
 *   parse_heads.c   all this without bodies      parse_debug.c   .section, and all that goes with it
 *
 * Everything returns false as soon as something failed; the failure is kept by the module.  What a line says is
 * checked where it stands, by the same functions that serve the builder, so a message names the line.  Time is linear
 * in the text, and no recursion follows it but that of constant expressions, which is bounded. */
#include "ptx/build.h"
#include "ptx/parser.h"

#include <stdio.h>
#include <string.h>

#define PARSE_CALL "cj_parse"
/* registers, and bytes of initialised variables, that any text may declare */
enum { PARSE_REGS = 1 << 16, PARSE_INIT = 1 << 26 };

/* -- Failing ------------------------------------------------------------------------------------------------------- */

static bool parse_fail_at(cji_parser *p, cj_status status, uint32_t line, const char *message)
{
    const cji_lex *x = &p->x;
    /* a mnemonic with blanks in it has been put together elsewhere */
    bool known = line == x->tok_line && x->s >= p->text && x->s < p->text + p->bytes && x->kind != CJI_TOK_END;
    cji_parse_at(p, known ? x->s : NULL);
    if (!p->failed) cji_ptx_fail(p->m, status, PARSE_CALL, cji_ptx_loc(p->m, p->file, line), "%s", message);
    p->failed = true;
    return false;
}

void cji_parse_at(cji_parser *p, const char *at)
{
    p->m->text_begin = p->text;
    p->m->text_at = at;
}

bool cji_parse_fail(cji_parser *p, cj_status status, const char *fmt, ...)
{
    char message[sizeof ((cj_error *)0)->message];
    va_list args;
    va_start(args, fmt);
    vsnprintf(message, sizeof message, fmt, args);
    va_end(args);
    return parse_fail_at(p, status, p->line, message);
}

bool cji_parse_expected(cji_parser *p, const char *what)
{
    char message[320];
    const cji_lex *x = &p->x;
    if (x->kind == CJI_TOK_BAD) return parse_fail_at(p, CJ_EPTX, x->line, x->bad);
    if (x->kind == CJI_TOK_END) snprintf(message, sizeof message, "the text ends where %s is expected", what);
    else if (x->kind == CJI_TOK_STRING) snprintf(message, sizeof message, "expected %s, found a string", what);
    else snprintf(message, sizeof message, "expected %s, found '%s'", what, CJI_WORD(x));
    return parse_fail_at(p, CJ_EPTX, x->tok_line, message);
}

bool cji_parse_fine(cji_parser *p)
{
    if (p->m->dead) p->failed = true;
    return !p->failed;
}

/* -- Helpers ------------------------------------------------------------------------------------------------------- */

bool cji_parse_take(cji_parser *p, uint8_t kind, const char *where)
{
    if (p->x.kind != kind) {
        char what[80];
        snprintf(what, sizeof what, "'%c' %s", kind, where);
        return cji_parse_expected(p, what);
    }
    cji_lex_next(&p->x);
    return true;
}

bool cji_parse_maybe(cji_parser *p, uint8_t kind)
{
    if (p->x.kind != kind) return false;
    cji_lex_next(&p->x);
    return true;
}

/* .b8, .u32, .f64 and the like, for which parameters and variables look most often: no directive begins so. */
static bool parse_is_type(const cji_lex *x)
{
    char c = x->s[1], digit = x->n > 2 ? x->s[2] : 0;
    return (c == 'b' || c == 'u' || c == 's' || c == 'f') && digit >= '0' && digit <= '9';
}

cji_directive cji_parse_directive(const cji_parser *p)
{
    static const struct { const char *word; uint32_t n; } words[CJI_D_COUNT] = {
#define D(name, word) [CJI_D_##name] = { "." word, sizeof word },
#include "ptx/directives.def"
    };
    const cji_lex *x = &p->x;
    if (x->kind != CJI_TOK_DOT || parse_is_type(x)) return CJI_D_NONE;
    for (unsigned i = CJI_D_NONE + 1; i < CJI_D_COUNT; i++)
        if (words[i].n == x->n && words[i].word[1] == x->s[1] && !memcmp(words[i].word, x->s, x->n)) return i;
    return CJI_D_NONE;
}

const char *cji_parse_word(const cji_parser *p)
{
    static const char *const words[CJI_D_COUNT] = {
        "a directive",
#define D(name, word) "." word,
#include "ptx/directives.def"
    };
    return words[cji_parse_directive(p)];
}

bool cji_parse_grow(cji_parser *p, void *array, size_t *cap, size_t need, size_t each)
{
    if (need <= *cap || cji_grow(array, cap, need, each)) return true;
    return cji_parse_fail(p, CJ_ENOMEM, "no memory to read the text");
}

bool cji_parse_push(cji_parser *p, uint32_t word)
{
    if (!cji_parse_grow(p, &p->word, &p->cword, p->nword + 1, sizeof *p->word)) return false;
    p->word[p->nword++] = word;
    return true;
}

/* -- The module ---------------------------------------------------------------------------------------------------- */

static bool parse_module_pragma(cji_parser *p, uint32_t name)
{
    cj_ptx *m = p->m;
    if (!cji_parse_grow(p, &m->pragma, &m->cpragma, m->npragma + 1, sizeof *m->pragma)) return false;
    m->pragma[m->npragma++] = name;
    return true;
}

static unsigned parse_linkage(cji_directive d)
{
    switch (d) {
    case CJI_D_VISIBLE: return CJI_LINK_VISIBLE;
    case CJI_D_EXTERN: return CJI_LINK_EXTERN;
    case CJI_D_WEAK: return CJI_LINK_WEAK;
    case CJI_D_COMMON: return CJI_LINK_COMMON;
    default: return CJI_LINK_NONE;
    }
}

static bool parse_unkept(cji_parser *p)
{
    if (p->heads) {
        while (p->x.kind != ';' && p->x.kind != CJI_TOK_END && p->x.kind != CJI_TOK_BAD) cji_lex_next(&p->x);
        return p->unsure = true, cji_parse_maybe(p, ';');
    }
    return cji_parse_fail(p, CJ_EUNKNOWN, "%s is not supported: a module here cannot hold it", CJI_WORD(&p->x));
}

/* A function or variable; its linkage may stand in front. */
static bool parse_declaration(cji_parser *p, cji_directive d)
{
    unsigned linkage = parse_linkage(d);
    if (linkage) {
        if (linkage == CJI_LINK_WEAK && !cji_parse_need(p, 31, 20, ".weak")) return false;
        if (linkage == CJI_LINK_COMMON && !cji_parse_need(p, 50, 20, ".common")) return false;
        if (cji_lex_next(&p->x) != CJI_TOK_DOT) return cji_parse_expected(p, ".entry, .func or a state space");
        d = cji_parse_directive(p);
    }
    switch (d) {
    case CJI_D_ENTRY: return cji_parse_fn(p, true, linkage);
    case CJI_D_FUNC: return cji_parse_fn(p, false, linkage);
    case CJI_D_TEX: return cji_parse_tex(p, linkage);
    case CJI_D_GLOBAL: return cji_parse_vars(p, CJI_SP_GLOBAL, linkage);
    case CJI_D_CONST: return cji_parse_vars(p, CJI_SP_CONST, linkage);
    case CJI_D_SHARED: return cji_parse_vars(p, CJI_SP_SHARED, linkage);
    case CJI_D_LOCAL: return cji_parse_vars(p, CJI_SP_LOCAL, linkage);
    default: return cji_parse_expected(p, ".entry, .func or a state space (.global, .const, .shared)");
    }
}

bool cji_parse_top(cji_parser *p)
{
    cji_directive d = cji_parse_directive(p);
    p->line = p->x.tok_line;
    switch (d) {
    case CJI_D_NONE: return p->x.kind == '@' ? cji_parse_dwarf(p) : cji_parse_expected(p, "a directive");
    case CJI_D_VERSION:
    case CJI_D_TARGET: return cji_parse_fail(p, CJ_EPTX, "%s is allowed once, at the beginning", CJI_WORD(&p->x));
    case CJI_D_ADDRESS_SIZE: return cji_parse_fail(p, CJ_EPTX, ".address_size is allowed once, behind .target");
    case CJI_D_FILE: return cji_parse_file(p);
    case CJI_D_SECTION: return cji_parse_section(p);
    case CJI_D_PRAGMA: return cji_parse_pragma(p, parse_module_pragma);
    case CJI_D_ALIAS: return cji_parse_alias(p);
    case CJI_D_REG: return cji_parse_module_regs(p);
    case CJI_D_LANGUAGE: return parse_unkept(p);
    default: return parse_declaration(p, d);
    }
}

/* PTX is ASCII text, comments and strings too: drivers reject the whole text for one other byte. */
static bool parse_is_ascii(cji_parser *p)
{
    const char *at, *q = p->text, *end = p->x.end;
    uint64_t all = 0, eight;
    for (; end - q >= (ptrdiff_t)sizeof eight; q += sizeof eight) {
        memcpy(&eight, q, sizeof eight);
        all |= eight;
    }
    for (; q < end; q++) all |= (uint8_t)*q;
    if (!(all & UINT64_C(0x8080808080808080))) return true;
    uint32_t line = 1;
    for (at = p->text; !(*at & 0x80); at++) line += *at == '\n';
    p->line = line;
    return cji_parse_fail(p, CJ_EPTX, "the byte 0x%02x is not allowed in PTX, which is ASCII text, also in comments",
                          (uint8_t)*at);
}

static bool parse_all(cji_parser *p)
{
    cji_lex_next(&p->x);
    p->line = p->x.tok_line;
    if (!parse_is_ascii(p) || !cji_scope_open(p) || !cji_parse_targets(p)) return false;
    while (p->x.kind != CJI_TOK_END)
        if (!cji_parse_top(p)) return false;
    return cji_scope_settle(p);
}

void cji_parse_begin(cji_parser *p, cj_ptx *m, const char *text, size_t bytes)
{
    *p = (cji_parser){ .m = m, .text = text, .bytes = bytes, .regs_left = PARSE_REGS + bytes,
                       .init_left = PARSE_INIT + 8 * (uint64_t)bytes };
    cji_lex_init(&p->x, text, bytes);
}

void cji_parse_release(cji_parser *p)
{
    cji_parse_at(p, NULL);
    cji_map_free(&p->names);
    cji_free(p->name, p->cname * sizeof *p->name);
    cji_free(p->bind, p->cbind * sizeof *p->bind);
    cji_free(p->scope, p->cscope * sizeof *p->scope);
    cji_free(p->scope_line, p->cscope_line * sizeof *p->scope_line);
    cji_free(p->taken, p->ctaken * sizeof *p->taken);
    cji_free(p->head, p->chead * sizeof *p->head);
    cji_free(p->word, p->cword * sizeof *p->word);
    cji_free(p->data, p->cdata);
    cji_free(p->reloc, p->creloc * sizeof *p->reloc);
    cji_map_free(&p->srcmap);
    cji_map_free(&p->srcseen);
    cji_free(p->srcfile, p->csrcfile * sizeof *p->srcfile);
}

cj_ptx *cj_parse(const char *text, size_t bytes, const char *name)
{
    cj_ptx *m = cj_ptx_create();
    if (cji_obj_failed(m)) return m;
    if (!text) {
        cji_ptx_fail(m, CJ_EHANDLE, PARSE_CALL, 0, "text is NULL");
        return m;
    }
    if (!name || !*name) name = "ptx";
    cji_parser p;
    cji_parse_begin(&p, m, text, bytes);
    if (cji_parse_scan_files(&p)) {
        p.file = cji_ptx_file(m, name, strlen(name));
        if (p.file && parse_all(&p) && cji_ptx_finish(m, PARSE_CALL) == CJ_OK) cji_parse_end_debug(&p);
    }
    m->loc = 0;
    cji_parse_release(&p);
    return m;
}
