/* Initial values of variables: numbers, nested braces, addresses.  Manual 5.4.4.
 *
 * Bytes are collected in p->data and addresses in p->reloc, then copied to the module once their number is known. */
#include "ptx/parser.h"

#include <string.h>

enum { INIT_LEVELS = 20 };

/* Where an initialiser stands.  Values lie one behind the other, as they are written: a group that is incomplete
 * leaves no room, as for ptxas, and what is left out is 0 at the end.  stride[k]: bytes of what one value or brace
 * group is inside k braces; stride[0] the whole variable. */
typedef struct init_at {
    cji_var *v;
    unsigned levels, level;
    uint64_t stride[INIT_LEVELS], end[INIT_LEVELS]; /* end[k]: first byte behind the group opened by the k-th brace */
    uint64_t pos;                                   /* with what incomplete groups leave out */
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
    if (!cji_parse_grow(p, &p->data, &p->cdata, old + (size_t)bytes, 1)) return false;
    memset(p->data + old, 0, (size_t)bytes);
    p->ndata = old + (size_t)bytes;
    return true;
}

static bool init_put(cji_parser *p, init_at *a, uint64_t bits)
{
    uint8_t *to;
    if (!init_room(p, a, a->size)) return false;
    to = p->data + p->ndata - a->size;
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

/* Whether an address, or with a mask a byte of one, is a value of the variable's type. */
static bool init_takes_address(cji_parser *p, const init_at *a, uint8_t shift)
{
    unsigned type = a->v->type;
    bool byte = shift != 0xff;
    if (type == CJ_U64 || type == CJ_U32 || (byte && type == CJ_U8)) return true;
    return cji_parse_fail(p, CJ_EPTX, byte ? "a byte of an address as initial value of a .%s; declare .u8"
                                           : "an address as initial value of a .%s; use .u64, or bytes: 0xff(name)",
                          cji_type_word(type));
}

/* That `word` has an address that the variable may hold. */
static bool init_may_name(cji_parser *p, const init_at *a, const cji_reloc *r, const char *s, size_t n)
{
    if (cji_word_kind(r->word) == CJI_K_FUNC) {
        if (!r->generic && !r->addend) return true;
        return cji_parse_fail(p, CJ_EPTX, "a function's address is its name alone, '%s'", cji_short_n(s, n));
    }
    const cji_var *v = p->m->var[cji_word_index(r->word)];
    if (v == a->v && !(v->flags & CJI_VAR_DECLARED))
        return cji_parse_fail(p, CJ_EPTX, "'%s' names itself; declare it .extern above", cji_short_n(s, n));
    if (v->space == CJI_SP_GLOBAL || v->space == CJI_SP_CONST) return true;
    return cji_parse_fail(p, CJ_EPTX, "'%s' is no .global or .const variable, which have addresses at this time",
                          cji_short_n(s, n));
}

/* {+ N} behind a name. */
static bool init_addend(cji_parser *p, cji_reloc *r)
{
    cji_const c;
    while (cji_parse_maybe(p, '+')) {
        if (!cji_parse_const(p, &c)) return false;
        if (c.kind != CJI_TOK_INT)
            return cji_parse_fail(p, CJ_EPTX, "an address with an offset that is not an integer");
        r->addend = (int64_t)((uint64_t)r->addend + c.u);
    }
    return true;
}

/* name {+ N}, or generic(name) {+ N}; shift: 0xff, or behind a mask the byte that is taken. */
static bool init_symbol(cji_parser *p, init_at *a, uint8_t shift)
{
    cji_lex *x = &p->x;
    cji_reloc r = { .at = p->ndata, .shift = shift };
    if (x->n == 7 && !memcmp(x->s, "generic", 7) && cji_lex_peek(x) == '(') {
        if (!cji_parse_need(p, 31, 20, "generic()")) return false;
        r.generic = 1;
        cji_lex_next(x);
        cji_lex_next(x);
    }
    const char *name = x->s;
    uint32_t n = x->n;
    if (x->kind != CJI_TOK_WORD) return cji_parse_expected(p, "the name of a variable or function");
    if (!cji_scope_find(p, name, n, &r.word) ||
        (cji_word_kind(r.word) != CJI_K_SYM && cji_word_kind(r.word) != CJI_K_FUNC))
        return cji_parse_fail(p, CJ_EPTX, "no variable or function '%s' is declared above", CJI_WORD(x));
    if (!init_takes_address(p, a, shift)) return false;
    cji_lex_next(x);
    if (r.generic && !cji_parse_take(p, ')', "behind the name")) return false;
    if (!init_addend(p, &r) || !init_may_name(p, a, &r, name, n)) return false;
    if (!cji_parse_grow(p, &p->reloc, &p->creloc, p->nreloc + 1, sizeof *p->reloc)) return false;
    p->reloc[p->nreloc++] = r;
    return init_put(p, a, 0);
}

/* Whether the current word is a name rather than a number's. */
static bool init_is_name(const cji_lex *x)
{
    return x->kind == CJI_TOK_WORD && (x->n != 7 || memcmp(x->s, "WARP_SZ", 7) != 0);
}

/* 0xff00(name) and 0xff00(N): one byte of the address, or of the number. */
static bool init_masked(cji_parser *p, init_at *a)
{
    uint64_t mask = p->x.u, bits = 0;
    uint8_t shift = 0;
    cji_const c;
    while (shift < 7 && mask > 0xff && !(mask & 0xff)) mask >>= 8, shift++;
    if (mask != 0xff) return cji_parse_fail(p, CJ_EPTX, "a mask of an address is 0xff, 0xff00, 0xff0000 ...");
    if (!cji_parse_need(p, 71, 20, "a mask in an initial value")) return false;
    cji_lex_next(&p->x);
    cji_lex_next(&p->x);
    if (init_is_name(&p->x)) return init_symbol(p, a, shift) && cji_parse_take(p, ')', "behind the address");
    if (!cji_parse_const(p, &c)) return false;
    if (c.kind != CJI_TOK_INT) return cji_parse_fail(p, CJ_EPTX, "a byte of a number that is not an integer");
    c.u = c.u >> 8 * shift & 0xff;
    return cji_parse_take(p, ')', "behind the number") && init_convert(p, a, c, &bits) && init_put(p, a, bits);
}

static bool init_value(cji_parser *p, init_at *a)
{
    cji_lex *x = &p->x;
    cji_const c;
    uint64_t bits = 0;
    if (init_is_name(x)) return init_symbol(p, a, 0xff);
    if (x->kind == CJI_TOK_INT && cji_lex_peek(x) == '(') return init_masked(p, a);
    return cji_parse_const(p, &c) && init_convert(p, a, c, &bits) && init_put(p, a, bits);
}

/* -- Structure ----------------------------------------------------------------------------------------------------- */

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
        if (a->v->vec && a->level == a->levels && a->pos != a->end[a->level])
            return cji_parse_fail(p, CJ_EPTX, "a vector's initial value has all its %u elements", a->v->vec);
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
        v->dim[0] = (a->pos + row - 1) / row;
        if (!v->dim[0]) return cji_parse_fail(p, CJ_EPTX, "an array without a size and without initial values");
        v->flags &= (uint8_t)~CJI_VAR_UNSIZED;
        cji_var_size(v);
    }
    if (v->bytes > p->init_left) return init_too_large(p);
    p->init_left -= v->bytes;
    uint8_t *init = cji_arena_alloc(&p->m->arena, (size_t)v->bytes);
    cji_reloc *reloc = p->nreloc ? cji_arena_alloc(&p->m->arena, p->nreloc * sizeof *reloc) : NULL;
    if (!init || (p->nreloc && !reloc)) return cji_parse_fail(p, CJ_ENOMEM, "no memory for initial values");
    if (p->ndata) memcpy(init, p->data, p->ndata);
    if (reloc) memcpy(reloc, p->reloc, p->nreloc * sizeof *reloc);
    v->init = init;
    v->ninit = p->ndata;
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
    if (p->x.kind == CJI_TOK_STRING)
        return cji_parse_fail(p, CJ_EPTX, "a string as initial value; write its bytes in braces");
    return init_walk(p, &a) && init_keep(p, &a);
}
