/* Initial values of variables: numbers, nested braces, strings, addresses.  Manual 5.4.4.
 *
 * Bytes are collected in p->data and addresses in p->reloc, then copied to the module once their number is known. */
#include "ptx/parser.h"

#include <string.h>

enum { INIT_LEVELS = 20 };

/* Where an initialiser stands.  stride[k]: bytes of what one value or brace group is inside k braces; stride[0] the
 * whole variable. */
typedef struct init_at {
    cji_var *v;
    unsigned levels, level;
    uint64_t stride[INIT_LEVELS], end[INIT_LEVELS]; /* end[k]: first byte behind the group opened by the k-th brace */
    uint64_t pos, given;
    unsigned size;                                  /* of an element, in bytes */
} init_at;

/* -- Values -------------------------------------------------------------------------------------------------------- */

static bool init_too_large(cji_parser *p)
{
    return cji_parse_fail(p, CJ_EUNKNOWN, "large arrays with few initial values: set them from the host");
}

static bool init_room(cji_parser *p, init_at *a, uint64_t bytes)
{
    size_t old = p->ndata;
    if (a->pos + bytes > p->init_left) return init_too_large(p);
    if (a->pos + bytes > old) {
        if (!cji_parse_grow(p, &p->data, &p->cdata, (size_t)(a->pos + bytes), 1)) return false;
        p->ndata = (size_t)(a->pos + bytes);
        memset(p->data + old, 0, p->ndata - old);
    }
    if (a->pos + bytes > a->given) a->given = a->pos + bytes;
    return true;
}

static bool init_put(cji_parser *p, init_at *a, uint64_t bits)
{
    uint8_t *to;
    if (!init_room(p, a, a->size)) return false;
    to = p->data + a->pos;
    for (unsigned i = 0; i < a->size && i < 8; i++) to[i] = (uint8_t)(bits >> 8 * i);
    return true;
}

/* A constant as an element of the variable's type. */
static bool init_convert(cji_parser *p, const init_at *a, cji_const c, uint64_t *bits)
{
    unsigned type = a->v->type;
    double d;
    float s;
    *bits = c.u;
    if (type == CJ_F16 || type == CJ_BF16 || type == CJ_F16X2 || type == CJ_BF16X2)
        return cji_parse_fail(p, CJ_EPTX, "a .%s has no initial value; declare .b%u and write its bits",
                              cji_type_word(type), cji_type_bits(type));
    if (c.kind == CJI_TOK_INT) {
        if (type == CJ_F32 || type == CJ_F64)
            return cji_parse_fail(p, CJ_EPTX, "an integer as initial value of a .%s; write 1.0 or its bits as 0f or 0d",
                                  cji_type_word(type));
        return true;
    }
    if (a->size < 4 || a->size > 8 || !(cji_type_is_float(type) || type == CJ_B32 || type == CJ_B64))
        return cji_parse_fail(p, CJ_EPTX, "a floating-point number as initial value of a .%s", cji_type_word(type));
    if (c.kind == CJI_TOK_F32 && a->size == 8) {
        uint32_t low = (uint32_t)c.u;
        memcpy(&s, &low, sizeof s);
        d = s;
        memcpy(bits, &d, sizeof d);
    } else if (c.kind == CJI_TOK_F64 && a->size == 4) {
        uint32_t low;
        memcpy(&d, &c.u, sizeof d);
        s = (float)d;
        memcpy(&low, &s, sizeof low);
        *bits = low;
    }
    return true;
}

/* -- Addresses ----------------------------------------------------------------------------------------------------- */

/* name {+ N} {- N}, the current token being the name. */
static bool init_symbol(cji_parser *p, init_at *a, bool generic, uint8_t shift, bool parens)
{
    cji_lex *x = &p->x;
    uint32_t word = 0;
    cji_const c;
    if (x->kind != CJI_TOK_WORD) return cji_parse_expected(p, "the name of a variable or function");
    if (!cji_scope_find(p, x->s, x->n, &word) ||
        (cji_word_kind(word) != CJI_K_SYM && cji_word_kind(word) != CJI_K_FUNC))
        return cji_parse_fail(p, CJ_EPTX, "no variable or function '%s' is declared above", CJI_WORD(x));
    if (shift == 0xff && a->size != 4 && a->size != 8)
        return cji_parse_fail(p, CJ_EPTX, "an address does not fit into a .%s; use .u64, or a mask such as 0xff(%s)",
                              cji_type_word(a->v->type), CJI_WORD(x));
    cji_lex_next(x);
    if (parens && !cji_parse_take(p, ')', "behind the name")) return false;
    cji_reloc r = { .at = a->pos, .word = word, .generic = generic, .shift = shift };
    while (x->kind == '+' || x->kind == '-') {
        bool minus = x->kind == '-';
        cji_lex_next(x);
        if (!cji_parse_const(p, &c)) return false;
        if (c.kind != CJI_TOK_INT)
            return cji_parse_fail(p, CJ_EPTX, "an address with an offset that is not an integer");
        r.addend = (int64_t)(minus ? (uint64_t)r.addend - c.u : (uint64_t)r.addend + c.u);
    }
    if (!cji_parse_grow(p, &p->reloc, &p->creloc, p->nreloc + 1, sizeof *p->reloc)) return false;
    p->reloc[p->nreloc++] = r;
    return init_put(p, a, 0);
}

/* 0xff00(name): one byte of the address. */
static bool init_masked(cji_parser *p, init_at *a)
{
    uint64_t mask = p->x.u;
    uint8_t shift = 0;
    while (shift < 7 && mask > 0xff && !(mask & 0xff)) mask >>= 8, shift++;
    if (mask != 0xff) return cji_parse_fail(p, CJ_EPTX, "a mask of an address is 0xff, 0xff00, 0xff0000 ...");
    cji_lex_next(&p->x);
    cji_lex_next(&p->x);
    return init_symbol(p, a, false, shift, true);
}

/* Whether the current word is a name rather than a number's. */
static bool init_is_name(const cji_lex *x)
{
    return x->kind == CJI_TOK_WORD && (x->n != 7 || memcmp(x->s, "WARP_SZ", 7) != 0);
}

static bool init_value(cji_parser *p, init_at *a)
{
    cji_lex *x = &p->x;
    cji_const c;
    uint64_t bits = 0;
    if (init_is_name(x)) {
        if (x->n != 7 || memcmp(x->s, "generic", 7) != 0 || cji_lex_peek(x) != '(')
            return init_symbol(p, a, false, 0xff, false);
        cji_lex_next(x);
        cji_lex_next(x);
        return init_symbol(p, a, true, 0xff, true);
    }
    if (x->kind == CJI_TOK_INT && cji_lex_peek(x) == '(') return init_masked(p, a);
    return cji_parse_const(p, &c) && init_convert(p, a, c, &bits) && init_put(p, a, bits);
}

/* -- Structure ----------------------------------------------------------------------------------------------------- */

static bool init_string(cji_parser *p, init_at *a)
{
    cji_lex *x = &p->x;
    if (a->size != 1 || a->levels != 1)
        return cji_parse_fail(p, CJ_EPTX, "a string as initial value of something that is not an array of bytes");
    if (!init_room(p, a, x->n)) return false;
    size_t n = cji_lex_unescape(x->s, x->n, (char *)p->data);
    if (a->v->bytes && n > a->v->bytes)
        return cji_parse_fail(p, CJ_EPTX, "a string of %zu bytes for an array of %llu", n,
                              (unsigned long long)a->v->bytes);
    p->ndata = a->given = n;
    cji_lex_next(x);
    return true;
}

/* One value or '{' at the current place. */
static bool init_item(cji_parser *p, init_at *a)
{
    if (a->level && a->end[a->level] && a->pos + a->stride[a->level] > a->end[a->level])
        return cji_parse_fail(p, CJ_EPTX, "more initial values than elements");
    if (p->x.kind == '{') {
        if (a->level == a->levels) return cji_parse_fail(p, CJ_EPTX, "more braces than the variable has dimensions");
        uint64_t whole = a->stride[a->level++];
        a->end[a->level] = whole ? a->pos + whole : 0;
        cji_lex_next(&p->x);
        return true;
    }
    if (a->level != a->levels)
        return cji_parse_fail(p, CJ_EPTX, "an array's initial values stand in braces, one pair for each dimension");
    if (!init_value(p, a)) return false;
    a->pos += a->size;
    return true;
}

/* The ',' or '}' behind an item; leaves the level at 0 at the last brace. */
static bool init_behind(cji_parser *p, init_at *a)
{
    while (a->level && p->x.kind == '}') {
        if (a->end[a->level]) a->pos = a->end[a->level];
        a->level--;
        cji_lex_next(&p->x);
    }
    if (!a->level) return true;
    return cji_parse_take(p, ',', "or '}' behind an initial value");
}

static bool init_walk(cji_parser *p, init_at *a)
{
    do {
        bool opened = p->x.kind == '{';
        if (!init_item(p, a)) return false;
        if (opened && p->x.kind != '}') continue;
        if (!init_behind(p, a)) return false;
    } while (a->level);
    return true;
}

/* Copies what was collected to the variable. */
static bool init_keep(cji_parser *p, init_at *a)
{
    cji_var *v = a->v;
    uint64_t row = a->levels ? a->stride[1] : a->size;
    if (v->flags & CJI_VAR_UNSIZED) {
        v->dim[0] = (a->given + row - 1) / row;
        if (!v->dim[0]) return cji_parse_fail(p, CJ_EPTX, "an array without a size and without initial values");
        v->flags &= (uint8_t)~CJI_VAR_UNSIZED;
        cji_var_size(v);
    }
    if (v->bytes > p->init_left) return init_too_large(p);
    p->init_left -= v->bytes;
    uint8_t *init = cji_arena_alloc(&p->m->arena, (size_t)v->bytes);
    cji_reloc *reloc = p->nreloc ? cji_arena_alloc(&p->m->arena, p->nreloc * sizeof *reloc) : NULL;
    if (!init || (p->nreloc && !reloc)) return cji_parse_fail(p, CJ_ENOMEM, "no memory for initial values");
    if (a->given) memcpy(init, p->data, (size_t)a->given);
    if (reloc) memcpy(reloc, p->reloc, p->nreloc * sizeof *reloc);
    v->init = init;
    v->ninit = a->given;
    v->reloc = reloc;
    v->nreloc = (uint32_t)p->nreloc;
    return true;
}

bool cji_parse_init(cji_parser *p, cji_var *v)
{
    init_at a = { .v = v, .size = cji_type_bits(v->type) / 8u };
    unsigned dims = v->ndim + (v->vec ? 1 : 0);
    a.levels = dims;
    a.stride[dims] = a.size;
    for (unsigned k = dims; k > 0; k--) a.stride[k - 1] = a.stride[k] * (k - 1 < v->ndim ? v->dim[k - 1] : v->vec);
    p->ndata = p->nreloc = 0;
    if (p->x.kind == CJI_TOK_STRING) return init_string(p, &a) && init_keep(p, &a);
    return init_walk(p, &a) && init_keep(p, &a);
}
