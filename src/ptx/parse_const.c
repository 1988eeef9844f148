/* Constant expressions (manual 4.5.4 to 4.5.6): numbers, WARP_SZ, C's operators with C's precedence, casts to .s64
 * and .u64.  Integers are 64 bits; an operation is unsigned when one of its operands is.  0f literals stand for
 * themselves only. */
#include "ptx/parser.h"

#include <string.h>

enum { PARSE_CONST_DEPTH = 64, PARSE_WARP_SZ = 32 };

static bool const_ternary(cji_parser *p, cji_const *out, unsigned depth);

static double const_double(cji_const c)
{
    double d;
    if (c.kind == CJI_TOK_INT) return c.is_unsigned ? (double)c.u : (double)(int64_t)c.u;
    memcpy(&d, &c.u, sizeof d);
    return d;
}

static cji_const const_from_double(double d)
{
    cji_const c = { .kind = CJI_TOK_F64 };
    memcpy(&c.u, &d, sizeof d);
    return c;
}

static cji_const const_from_bool(bool b)
{
    return (cji_const){ .kind = CJI_TOK_INT, .u = b };
}

static bool const_true(cji_const c)
{
    return c.kind == CJI_TOK_INT ? c.u != 0 : const_double(c) != 0;
}

/* -- Operators ----------------------------------------------------------------------------------------------------- */

/* How tightly a binary operator binds; 0: the token is none. */
static unsigned const_binds(uint8_t op)
{
    switch (op) {
    case CJI_TOK_OR: return 1;
    case CJI_TOK_AND: return 2;
    case '|': return 3;
    case '^': return 4;
    case '&': return 5;
    case CJI_TOK_EQ: case CJI_TOK_NE: return 6;
    case '<': case '>': case CJI_TOK_LE: case CJI_TOK_GE: return 7;
    case CJI_TOK_SHL: case CJI_TOK_SHR: return 8;
    case '+': case '-': return 9;
    case '*': case '/': case '%': return 10;
    default: return 0;
    }
}

static bool const_compare(uint8_t op, int order)
{
    switch (op) {
    case CJI_TOK_EQ: return order == 0;
    case CJI_TOK_NE: return order != 0;
    case '<': return order < 0;
    case '>': return order > 0;
    case CJI_TOK_LE: return order <= 0;
    default: return order >= 0;
    }
}

static bool const_on_doubles(cji_parser *p, uint8_t op, double a, double b, cji_const *out)
{
    switch (op) {
    case '+': *out = const_from_double(a + b); return true;
    case '-': *out = const_from_double(a - b); return true;
    case '*': *out = const_from_double(a * b); return true;
    case '/':
        if (b == 0) return cji_parse_fail(p, CJ_EPTX, "division by zero in a constant expression");
        *out = const_from_double(a / b);
        return true;
    case CJI_TOK_EQ: case CJI_TOK_NE: case '<': case '>': case CJI_TOK_LE: case CJI_TOK_GE:
        *out = const_from_bool(const_compare(op, a < b ? -1 : a > b));
        return true;
    default:
        return cji_parse_fail(p, CJ_EPTX, "this operator takes integers only");
    }
}

static bool const_divide(cji_parser *p, uint8_t op, cji_const a, cji_const b, cji_const *out)
{
    if (!b.u) return cji_parse_fail(p, CJ_EPTX, "division by zero in a constant expression");
    int64_t sa = (int64_t)a.u, sb = (int64_t)b.u;
    if (out->is_unsigned) out->u = op == '/' ? a.u / b.u : a.u % b.u;
    else if (sb == -1) out->u = op == '/' ? 0 - a.u : 0;
    else out->u = (uint64_t)(op == '/' ? sa / sb : sa % sb);
    return true;
}

static bool const_on_integers(cji_parser *p, uint8_t op, cji_const a, cji_const b, cji_const *out)
{
    unsigned by = (unsigned)(b.u & 63);
    *out = (cji_const){ .kind = CJI_TOK_INT, .is_unsigned = a.is_unsigned || b.is_unsigned };
    switch (op) {
    case '+': out->u = a.u + b.u; return true;
    case '-': out->u = a.u - b.u; return true;
    case '*': out->u = a.u * b.u; return true;
    case '&': out->u = a.u & b.u; return true;
    case '|': out->u = a.u | b.u; return true;
    case '^': out->u = a.u ^ b.u; return true;
    case '/': case '%': return const_divide(p, op, a, b, out);
    case CJI_TOK_SHL:
        *out = a;
        out->u = b.u > 63 ? 0 : a.u << by;
        return true;
    case CJI_TOK_SHR:
        *out = a;
        if (b.u > 63) by = 63;
        out->u = a.is_unsigned ? (b.u > 63 ? 0 : a.u >> by) : (uint64_t)((int64_t)a.u >> by);
        return true;
    default:
        if (out->is_unsigned) *out = const_from_bool(const_compare(op, a.u < b.u ? -1 : a.u > b.u));
        else *out = const_from_bool(const_compare(op, (int64_t)a.u < (int64_t)b.u ? -1 : (int64_t)a.u > (int64_t)b.u));
        return true;
    }
}

static bool const_apply(cji_parser *p, uint8_t op, cji_const a, cji_const b, cji_const *out)
{
    if (a.kind == CJI_TOK_F32 || b.kind == CJI_TOK_F32)
        return cji_parse_fail(p, CJ_EPTX,
                              "a 0f literal cannot be part of an expression; write the value as a decimal number");
    if (op == CJI_TOK_AND || op == CJI_TOK_OR) {
        *out = const_from_bool(op == CJI_TOK_AND ? const_true(a) && const_true(b) : const_true(a) || const_true(b));
        return true;
    }
    if (a.kind == CJI_TOK_F64 || b.kind == CJI_TOK_F64)
        return const_on_doubles(p, op, const_double(a), const_double(b), out);
    return const_on_integers(p, op, a, b, out);
}

/* -- Grammar ------------------------------------------------------------------------------------------------------- */

/* Behind '(': a cast's type, or an expression. */
static bool const_parens(cji_parser *p, cji_const *out, unsigned depth);

static bool const_primary(cji_parser *p, cji_const *out)
{
    cji_lex *x = &p->x;
    switch (x->kind) {
    case CJI_TOK_INT: case CJI_TOK_F32: case CJI_TOK_F64:
        *out = (cji_const){ .kind = x->kind, .is_unsigned = x->kind == CJI_TOK_INT && x->is_unsigned, .u = x->u };
        break;
    case CJI_TOK_WORD:
        if (x->n != 7 || memcmp(x->s, "WARP_SZ", 7) != 0)
            return cji_parse_fail(p, CJ_EPTX, "'%s' is not a number", CJI_WORD(x));
        *out = (cji_const){ .kind = CJI_TOK_INT, .u = PARSE_WARP_SZ };
        break;
    default:
        return cji_parse_expected(p, "a number");
    }
    cji_lex_next(x);
    return true;
}

static bool const_unary(cji_parser *p, cji_const *out, unsigned depth)
{
    cji_lex *x = &p->x;
    uint8_t op = x->kind;
    if (depth > PARSE_CONST_DEPTH)
        return cji_parse_fail(p, CJ_EUNKNOWN, "a constant expression that is nested more than %d deep",
                              PARSE_CONST_DEPTH);
    if (op == '(') return const_parens(p, out, depth + 1);
    if (op != '-' && op != '+' && op != '!' && op != '~') return const_primary(p, out);
    cji_lex_next(x);
    if (!const_unary(p, out, depth + 1)) return false;
    if (out->kind == CJI_TOK_F32)
        return cji_parse_fail(p, CJ_EPTX, "a 0f literal takes no operator; its sign is the highest bit of its digits");
    if (op == '!') {
        *out = const_from_bool(!const_true(*out));
    } else if (out->kind == CJI_TOK_F64) {
        if (op == '~') return cji_parse_fail(p, CJ_EPTX, "~ takes an integer");
        if (op == '-') *out = const_from_double(-const_double(*out));
    } else {
        if (op == '~') out->u = ~out->u;
        if (op == '-') out->u = 0 - out->u, out->is_unsigned = false;
    }
    return true;
}

static bool const_parens(cji_parser *p, cji_const *out, unsigned depth)
{
    cji_lex *x = &p->x;
    if (cji_lex_next(x) == CJI_TOK_DOT) {
        bool to_u64 = x->n == 4 && !memcmp(x->s, ".u64", 4), to_s64 = x->n == 4 && !memcmp(x->s, ".s64", 4);
        if (!to_u64 && !to_s64) return cji_parse_fail(p, CJ_EPTX, "a constant is cast to .s64 or .u64 only");
        cji_lex_next(x);
        if (!cji_parse_take(p, ')', "behind the cast's type") || !const_unary(p, out, depth)) return false;
        if (out->kind != CJI_TOK_INT) return cji_parse_fail(p, CJ_EPTX, "only an integer can be cast");
        out->is_unsigned = to_u64;
        return true;
    }
    if (!const_ternary(p, out, depth)) return false;
    return cji_parse_take(p, ')', "behind the expression");
}

static bool const_binary(cji_parser *p, cji_const *out, unsigned least, unsigned depth)
{
    if (!const_unary(p, out, depth)) return false;
    for (;;) {
        uint8_t op = p->x.kind;
        unsigned binds = const_binds(op);
        if (!binds || binds < least) return true;
        cji_const right;
        cji_lex_next(&p->x);
        if (!const_binary(p, &right, binds + 1, depth + 1) || !const_apply(p, op, *out, right, out)) return false;
    }
}

static bool const_ternary(cji_parser *p, cji_const *out, unsigned depth)
{
    cji_const yes, no;
    if (!const_binary(p, out, 1, depth)) return false;
    if (p->x.kind != '?') return true;
    cji_lex_next(&p->x);
    if (!const_ternary(p, &yes, depth + 1) || !cji_parse_take(p, ':', "between the two choices of ?") ||
        !const_ternary(p, &no, depth + 1))
        return false;
    *out = const_true(*out) ? yes : no;
    return true;
}

bool cji_parse_const(cji_parser *p, cji_const *out)
{
    return const_ternary(p, out, 0);
}

bool cji_parse_integer(cji_parser *p, uint64_t most, const char *what, uint64_t *out)
{
    cji_const c;
    if (!cji_parse_const(p, &c)) return false;
    if (c.kind != CJI_TOK_INT) return cji_parse_fail(p, CJ_EPTX, "%s is not an integer", what);
    if (c.u > most)
        return cji_parse_fail(p, CJ_EPTX, "%s is out of range: at most %llu", what, (unsigned long long)most);
    *out = c.u;
    return true;
}

bool cji_parse_plain(cji_parser *p, uint64_t most, const char *what, uint64_t *out)
{
    if (p->x.kind == CJI_TOK_WORD) return cji_parse_integer(p, most, what, out);   /* WARP_SZ */
    if (p->x.kind != CJI_TOK_INT)
        return cji_parse_integer(p, most, what, out) &&
               cji_parse_fail(p, CJ_EPTX, "%s is a plain number", what);
    *out = p->x.u;
    if (*out > most)
        return cji_parse_fail(p, CJ_EPTX, "%s is out of range: at most %llu", what, (unsigned long long)most);
    cji_lex_next(&p->x);
    return true;
}
