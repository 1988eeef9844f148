/* Instructions and their operands.  Manual 4.3.2, 6.1 to 6.4. */
#include "ptx/isa_ids.h"
#include "ptx/parser.h"

#include <string.h>

enum { INS_SPELLING = 256, INS_LIST_MAX = 256 };

static bool ins_operand(cji_parser *p, const cji_form *e, uint32_t *word);

/* -- Names --------------------------------------------------------------------------------------------------------- */

/* The elements of a vector register as one operand. */
static bool ins_whole_vector(cji_parser *p, const cji_binding *b, uint32_t *word)
{
    uint32_t part[8];
    for (uint32_t i = 0; i < b->count && i < 8; i++) part[i] = b->word + i;
    *word = cji_fn_list(p->f, CJI_K_VEC, part, b->count);
    return cji_parse_fine(p);
}

/* name.x behind `b`, a vector register: `field` is what stands behind the dot. */
static bool ins_vector_element(cji_parser *p, const cji_binding *b, const char *field, size_t n, uint32_t *word)
{
    static const char xyzw[] = "xyzw", rgba[] = "rgba";
    const char *at = n == 1 ? strchr(xyzw, *field) : NULL;
    uint32_t i = at ? (uint32_t)(at - xyzw) : 8;
    if (!at && n == 1 && (at = strchr(rgba, *field)) != NULL) i = (uint32_t)(at - rgba);
    if (i >= b->count)
        return cji_parse_fail(p, CJ_EPTX, "a vector register of %u elements has no .%s", b->count,
                              cji_short_n(field, n));
    *word = b->word + i;
    return true;
}

static bool ins_special(cji_parser *p, const char *s, size_t n, uint32_t *word)
{
    int i = cji_isa_sreg_find(s, n);
    if (i < 0)
        return cji_parse_fail(p, CJ_EUNKNOWN,
                              "no register '%s' is declared, and there is no special register of that name",
                              cji_short_n(s, n));
    *word = cji_word(CJI_K_SREG, (uint32_t)i);
    if (cji_ptx_need_sreg(p->m, (uint32_t)i, cji_ptx_loc(p->m, p->file, p->line))) return true;
    return p->failed = true, false;
}

/* Whether a '.' and a letter follow the current word at once: %tid.x, v.y. */
static bool ins_has_field(const cji_lex *x)
{
    return x->p + 1 < x->end && *x->p == '.' && cji_lex_is_word(x->p[1]);
}

/* The current word and the field behind it. */
static bool ins_dotted(cji_parser *p, uint32_t *word)
{
    cji_lex *x = &p->x;
    const char *s = x->s;
    size_t n = x->n;
    uint32_t base = 0;
    cji_lex_next(x);
    const char *field = x->s + 1;
    size_t len = x->n - 1;
    if (x->kind != CJI_TOK_DOT) return cji_parse_expected(p, "a field's name behind the dot");
    const cji_binding *b = cji_scope_find(p, s, n, &base);
    cji_lex_next(x);
    if (b && b->kind == CJI_BIND_VECTOR) return ins_vector_element(p, b, field, len, word);
    if (b)
        return cji_parse_fail(p, CJ_EUNKNOWN, "'%s' with a selector, .%s, is not in the instruction table",
                              cji_short_n(s, n), cji_short_n(field, len));
    return ins_special(p, s, n + 1 + len, word);
}

static bool ins_const(cji_parser *p, uint32_t *word)
{
    cji_const c;
    if (!cji_parse_const(p, &c)) return false;
    unsigned lit = c.kind == CJI_TOK_INT ? CJI_LIT_INT : c.kind == CJI_TOK_F32 ? CJI_LIT_F32 : CJI_LIT_F64;
    *word = cji_fn_lit(p->f, lit, c.u, c.kind == CJI_TOK_INT && c.is_unsigned && c.u > INT64_MAX, CJ_VOID);
    return cji_parse_fine(p);
}

/* A name that nothing declares. */
static bool ins_unknown_name(cji_parser *p, const cji_form *e, uint32_t *word)
{
    cji_lex *x = &p->x;
    const char *s = x->s;
    size_t n = x->n;
    if (n == 7 && !memcmp(s, "WARP_SZ", 7)) return ins_const(p, word);
    if (n == 1 && *s == '_') *word = cji_word(CJI_K_SINK, 0);
    else if (e && (e->isa->effect & CJI_FX_BRANCH)) *word = cji_scope_label(p, s, n);
    else if (*s == '%') ins_special(p, s, n, word);
    else cji_parse_fail(p, CJ_EPTX, "no register, variable or function '%s' is declared", cji_short_n(s, n));
    cji_lex_next(x);
    return !p->failed && *word;
}

/* A word: register, special register, variable, function, label, list, _ or WARP_SZ. */
static bool ins_name(cji_parser *p, const cji_form *e, uint32_t *word)
{
    cji_lex *x = &p->x;
    if (ins_has_field(x)) return ins_dotted(p, word);
    const cji_binding *b = cji_scope_find(p, x->s, x->n, word);
    if (!b) return ins_unknown_name(p, e, word);
    if (e && (e->isa->effect & CJI_FX_BRANCH) &&
        (cji_word_kind(*word) == CJI_K_SYM || cji_word_kind(*word) == CJI_K_FUNC)) {
        *word = cji_scope_label(p, x->s, x->n);
        cji_lex_next(x);
        return *word != 0;
    }
    cji_lex_next(x);
    return b->kind != CJI_BIND_VECTOR || ins_whole_vector(p, b, word);
}

/* -- Addresses ----------------------------------------------------------------------------------------------------- */

/* {+ N} {- N} behind an address's base. */
bool cji_parse_offset(cji_parser *p, int64_t *offset)
{
    cji_const c;
    uint64_t sum = 0;
    while (p->x.kind == '+' || p->x.kind == '-') {
        bool minus = p->x.kind == '-';
        cji_lex_next(&p->x);
        if (p->x.kind == CJI_TOK_WORD && (p->x.n != 7 || memcmp(p->x.s, "WARP_SZ", 7) != 0))
            return cji_parse_fail(p, CJ_EPTX,
                                  "an address is a register or a variable and a constant; '%s' is not a constant",
                                  CJI_WORD(&p->x));
        if (!cji_parse_const(p, &c)) return false;
        if (c.kind != CJI_TOK_INT) return cji_parse_fail(p, CJ_EPTX, "an address's offset is not an integer");
        sum += minus ? 0 - c.u : c.u;
    }
    *offset = (int64_t)sum;
    return true;
}

/* The rest of [object, {coordinates}] or [object, sampler, {coordinates}], behind the first comma. */
static bool ins_texture(cji_parser *p, uint32_t object, uint32_t *word)
{
    uint32_t part[3] = { object, 0, 0 };
    if (!ins_operand(p, NULL, &part[2])) return false;
    if (cji_parse_maybe(p, ',')) {
        part[1] = part[2];
        if (!ins_operand(p, NULL, &part[2])) return false;
    }
    *word = cji_fn_list(p->f, CJI_K_TEXMEM, part, 3);
    return cji_parse_take(p, ']', "behind the coordinates") && cji_parse_fine(p);
}

/* Behind '['. */
static bool ins_memory(cji_parser *p, uint32_t *word)
{
    uint32_t base = 0;
    int64_t offset = 0;
    bool named = p->x.kind == CJI_TOK_WORD;
    if (!(named ? ins_name(p, NULL, &base) : ins_const(p, &base))) return false;
    bool sum = p->x.kind == '+' || p->x.kind == '-';
    if (!cji_parse_offset(p, &offset)) return false;
    uint32_t kind = cji_word_kind(base);
    if (kind != CJI_K_REG && kind != CJI_K_SYM && kind != CJI_K_IMM)
        return cji_parse_fail(p, CJ_EPTX, "an address that is not a register, a variable or a number");
    if (!offset && cji_parse_maybe(p, ',')) return ins_texture(p, base, word);
    *word = cji_fn_mem(p->f, base, offset);
    if (*word && sum && p->debug_line) p->f->mem[cji_word_index(*word)].zero = !offset;
    return cji_parse_take(p, ']', "behind the address") && cji_parse_fine(p);
}

/* -- Lists --------------------------------------------------------------------------------------------------------- */

/* A vector register that a call passes: all of it. */
static bool ins_pass_vector(cji_parser *p, uint32_t vector)
{
    uint32_t n = 0;
    cji_fn_words(p->f, vector, &n);
    for (uint32_t i = 0; i < n; i++)
        if (!cji_parse_push(p, cji_fn_words(p->f, vector, &n)[i])) return false;
    return true;
}

/* Elements up to `close`, as one operand of that kind; the opening character is taken.  *word 0: there are none. */
static bool ins_list(cji_parser *p, uint32_t kind, uint8_t close, uint32_t *word)
{
    size_t first = p->nword;
    *word = 0;
    if (kind == CJI_K_LIST && cji_parse_maybe(p, close)) return true;
    do {
        uint32_t part = 0;
        bool named = p->x.kind == CJI_TOK_WORD;
        if (!ins_operand(p, NULL, &part)) return false;
        if (kind == CJI_K_LIST && named && cji_word_kind(part) == CJI_K_VEC) {
            if (!ins_pass_vector(p, part)) return false;
            continue;
        }
        if (!cji_parse_push(p, part)) return false;
        if (p->nword - first > INS_LIST_MAX)
            return cji_parse_fail(p, CJ_EPTX, "a list of more than %d operands", INS_LIST_MAX);
        uint32_t inner = cji_word_kind(part);
        if (inner == CJI_K_VEC || inner == CJI_K_LIST || inner == CJI_K_MEM || inner == CJI_K_PAIR ||
            inner == CJI_K_TEXMEM || inner == CJI_K_NOT)
            return cji_parse_fail(p, CJ_EPTX, "%s has registers, variables and numbers only",
                                  kind == CJI_K_VEC ? "{ }" : "( )");
    } while (cji_parse_maybe(p, ','));
    if (!cji_parse_take(p, close, "behind the list")) return false;
    *word = cji_fn_list(p->f, kind, p->word + first, p->nword - first);
    p->nword = first;
    return cji_parse_fine(p);
}

/* a|b: the current token is '|'. */
static bool ins_pair(cji_parser *p, uint32_t *word)
{
    uint32_t part[2] = { *word, 0 };
    cji_lex_next(&p->x);
    if (p->x.kind != CJI_TOK_WORD) return cji_parse_expected(p, "a predicate behind '|'");
    if (!ins_name(p, NULL, &part[1])) return false;
    *word = cji_fn_list(p->f, CJI_K_PAIR, part, 2);
    return cji_parse_fine(p);
}

/* !p: the current token is '!'. */
static bool ins_not(cji_parser *p, uint32_t *word)
{
    cji_lex *x = &p->x;
    char next = cji_lex_peek(x);
    if (!cji_lex_is_word(next) && next != '%') return ins_const(p, word);
    if (next >= '0' && next <= '9') return ins_const(p, word);
    cji_lex_next(x);
    if (!ins_name(p, NULL, word)) return false;
    if (cji_word_kind(*word) != CJI_K_REG || p->f->reg[cji_word_index(*word)].type != CJ_PRED)
        return cji_parse_fail(p, CJ_EPTX, "only a predicate can be negated with '!'");
    *word = cji_word(CJI_K_NOT, cji_word_index(*word));
    return true;
}

/* -- Operands ------------------------------------------------------------------------------------------------------ */

/* One operand.  `e` NULL: inside another one. *word 0: an empty list, which is no operand. */
static bool ins_operand(cji_parser *p, const cji_form *e, uint32_t *word)
{
    cji_lex *x = &p->x;
    switch (x->kind) {
    case CJI_TOK_WORD:
        if (!ins_name(p, e, word)) return false;
        break;
    case '{':
        cji_lex_next(x);
        if (!e && p->nested) return cji_parse_fail(p, CJ_EPTX, "braces inside braces");
        p->nested = true;
        if (!ins_list(p, CJI_K_VEC, '}', word)) return false;
        p->nested = false;
        break;
    case '[':
        if (!e) return cji_parse_fail(p, CJ_EPTX, "an address inside another operand");
        cji_lex_next(x);
        return ins_memory(p, word);
    case '!':
        return ins_not(p, word);
    case '(':
        if (!e || !(e->isa->effect & CJI_FX_CALL)) return ins_const(p, word);
        cji_lex_next(x);
        return ins_list(p, CJI_K_LIST, ')', word);
    default:
        return ins_const(p, word);
    }
    if (!e) return true;
    if (x->kind == '+' && cji_word_kind(*word) != CJI_K_SYM)
        return cji_parse_fail(p, CJ_EUNKNOWN,
                              "a register or function and an offset as an operand is not supported; add the offset in "
                              "an instruction of its own");
    if (x->kind == '|') return ins_pair(p, word);
    if (cji_word_kind(*word) != CJI_K_SYM) return true;
    if (x->kind == '+') return cji_parse_bare(p, word);
    if (x->kind != '[') return true;
    const cji_isa_form *f = e->isa;
    const cji_isa_opnd *place = p->nword < f->nopnd ? &f->opnd[p->nword] : NULL;
    if (place && place->kinds >> CJI_K_MEM & 1 && f->op != CJI_OP_LD && f->op != CJI_OP_LDU && f->op != CJI_OP_ST)
        return cji_parse_fail(p, CJ_EPTX, "an array's element without brackets is an operand of ld, ldu and st only");
    return cji_parse_element(p, place, word);
}

/* A text with .loc: the latest instruction comes from the source that .loc names; its line in the text is kept too. */
static bool ins_from_source(cji_parser *p)
{
    cj_fn *f = p->f;
    f->ins[f->nins - 1].loc = p->loc;
    if (!cji_grow(&f->text_line, &f->ctext_line, f->nins, sizeof *f->text_line))
        return cji_parse_fail(p, CJ_ENOMEM, "no memory for the lines of .loc");
    while (f->ntext_line < f->nins) f->text_line[f->ntext_line++] = 0;
    f->text_line[f->nins - 1] = p->line;
    return true;
}

bool cji_parse_emit(cji_parser *p, cji_form *e, uint32_t guard, const uint32_t *word, size_t n)
{
    if (!cji_fn_emit(p->f, e, guard, word, n, "cj_parse")) return p->failed = true, false;
    return !p->has_loc || ins_from_source(p);
}

/* The current instruction is its .ftz form where there is one, and mad rounds to nearest: targets below sm_20 have no
 * subnormal floats. */
static void ins_flush(cji_lex *x, char *room, size_t size)
{
    static const char *const modifiers[] = { ".ftz", ".rn.ftz" };
    size_t n = x->n;
    if (n + 8 > size || !memmem(x->s, n, ".f32", 4) || memmem(x->s, n, ".ftz", 4)) return;
    if (x->s != room) memcpy(room, x->s, n);
    for (size_t i = 0; i < sizeof modifiers / sizeof *modifiers; i++) {
        size_t more = strlen(modifiers[i]);
        memcpy(room + n, modifiers[i], more);
        if (cji_isa_find(room, n + more) == CJI_FORM_NONE) continue;
        x->s = room;
        x->n = (uint32_t)(n + more);
        return;
    }
}

bool cji_parse_ins(cji_parser *p, uint32_t guard)
{
    cji_lex *x = &p->x;
    char room[INS_SPELLING];
    uint32_t where = cji_ptx_loc(p->m, p->file, x->tok_line);
    p->line = x->tok_line;
    p->nword = 0;
    const char *begin = x->s;
    if (!cji_lex_mnemonic(x, room, sizeof room)) return cji_parse_expected(p, "an instruction");
    if (p->flushes) ins_flush(x, room, sizeof room);
    p->f->loc = where;
    cji_parse_at(p, begin);
    if (p->no_doubles && memmem(x->s, x->n, ".f64", 4))
        return cji_parse_fail(p, CJ_EUNKNOWN, "doubles on targets below sm_13, which have none, are not supported");
    cji_form *e = cji_ptx_spelling(p->m, x->s, x->n, "cj_parse", where);
    if (!e) return p->failed = true, false;
    if (cji_lex_next(x) != ';') {
        do {
            uint32_t word = 0;
            if (!ins_operand(p, e, &word) || (word && !cji_parse_push(p, word))) return false;
        } while (cji_parse_maybe(p, ','));
    }
    if (x->kind != ';') return cji_parse_expected(p, "',' or ';' behind an operand");
    if (!cji_parse_emit(p, e, guard, p->word, p->nword)) return false;
    cji_parse_at(p, NULL);
    cji_lex_next(x);
    return true;
}
