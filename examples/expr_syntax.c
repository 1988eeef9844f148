/* The expression of expr: a recursive-descent parser that tells numbers from truth values and marks
 * the place of an error.
 *
 *     choice  = or [ '?' choice ':' choice ]          unary   = ('-' | '!') unary | primary
 *     or      = and { '||' and }                      primary = number | column | '"' column '"'
 *     and     = compare { '&&' compare }                      | name '(' choice { ',' choice } ')' | '(' choice ')'
 *     compare = sum [ ('<' | '<=' | '>' | '>=' | '==' | '!=') sum ]
 *     sum     = product { ('+' | '-') product }       product = unary { ('*' | '/') unary }
 */
#include "expr.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

typedef struct parser {
    expression *e;
    const table *t;
    const char *text;
    size_t at;       /* next character */
    int depth;       /* nesting, bounded */
    bool failed;
} parser;

enum { MAX_DEPTH = 200 };

/* What stands before a '('. */
static const struct function {
    const char *name;
    node_kind kind;
    int args;
    function_of_one *of_one;
    function_of_two *of_two;
} functions[] = {
#define OF_ONE(name) { #name, NODE_OF_ONE, 1, cj_math_##name, NULL }
#define OF_TWO(name) { #name, NODE_OF_TWO, 2, NULL, cj_math_##name }
    { "abs", NODE_ABS, 1, NULL, NULL },
    { "min", NODE_MIN, 2, NULL, NULL },
    { "max", NODE_MAX, 2, NULL, NULL },
    { "floor", NODE_FLOOR, 1, NULL, NULL },
    { "ceil", NODE_CEIL, 1, NULL, NULL },
    { "sqrt", NODE_SQRT, 1, NULL, NULL },
    OF_ONE(round), OF_ONE(cbrt), OF_TWO(hypot), OF_TWO(pow), OF_TWO(fmod),
    OF_ONE(exp), OF_ONE(exp2), OF_ONE(exp10), OF_ONE(expm1), OF_ONE(log), OF_ONE(log2), OF_ONE(log10), OF_ONE(log1p),
    OF_ONE(sin), OF_ONE(cos), OF_ONE(tan), OF_ONE(asin), OF_ONE(acos), OF_ONE(atan), OF_TWO(atan2),
    OF_ONE(sinh), OF_ONE(cosh), OF_ONE(tanh), OF_ONE(asinh), OF_ONE(acosh), OF_ONE(atanh),
    OF_ONE(erf), OF_ONE(erfc), OF_ONE(lgamma), OF_ONE(tgamma),
#undef OF_ONE
#undef OF_TWO
};
enum { FUNCTIONS = sizeof functions / sizeof *functions };

void expression_functions(FILE *out, const char *indent)
{
    size_t column = 0;
    for (size_t i = 0; i < FUNCTIONS; i++) {
        const size_t n = strlen(functions[i].name);
        if (column + n + 1 > 60) column = 0;
        if (!column) fprintf(out, "%s%s", i ? "\n" : "", indent);
        fprintf(out, "%s%s", column ? " " : "", functions[i].name);
        column += n + 1;
    }
    fputc('\n', out);
}

static node *choice(parser *p);

/* Prints what is wrong, once, with a caret below the place. */
static node *complain(parser *p, size_t at, const char *fmt, ...)
{
    if (p->failed) return NULL;
    p->failed = true;
    va_list args;
    fprintf(stderr, "expr: %s\n      %*s^ ", p->text, (int)at, "");
    va_start(args, fmt);
    vfprintf(stderr, fmt, args);
    va_end(args);
    fputc('\n', stderr);
    return NULL;
}

static node *make(parser *p, node_kind kind, bool boolean, size_t at, node *a, node *b, node *c)
{
    if (p->failed) return NULL;
    if (p->e->nnodes == MAX_NODES) return complain(p, at, "the expression is too long");
    node *n = calloc(1, sizeof *n);
    if (!n) return complain(p, at, "out of memory");
    p->e->nodes[p->e->nnodes++] = n;
    *n = (node){ .kind = kind, .boolean = boolean, .at = at, .arg = { a, b, c } };
    return n;
}

static void spaces(parser *p)
{
    while (isspace((unsigned char)p->text[p->at])) p->at++;
}

/* Takes `word` if it comes next; an operator is not taken when it is the beginning of a longer one. */
static bool take(parser *p, const char *word)
{
    size_t n = strlen(word);
    spaces(p);
    if (p->failed || strncmp(p->text + p->at, word, n)) return false;
    if (n == 1 && strchr("<>=!", *word) && p->text[p->at + 1] == '=') return false;
    p->at += n;
    return true;
}

static bool want(parser *p, const node *n, bool boolean, const char *who)
{
    if (!n || p->failed) return false;
    if (n->boolean == boolean) return true;
    complain(p, n->at, boolean ? "%s wants a comparison or another truth value here, this is a number"
                               : "%s wants a number here, this is true or false", who);
    return false;
}

/* -- Leaves -------------------------------------------------------------------------------------------------------- */

static node *column(parser *p, size_t at, const char *name, size_t length)
{
    int c = table_column(p->t, name, length);
    if (c < 0) {
        for (size_t i = 0; i < FUNCTIONS; i++)
            if (strlen(functions[i].name) == length && !memcmp(functions[i].name, name, length))
                return complain(p, at, "%s is a function: a '(' must follow it", functions[i].name);
        complain(p, at, "there is no column '%.*s'; the file has:", (int)length, name);
        for (size_t i = 0; i < p->t->ncolumns; i++) fprintf(stderr, "      %s\n", p->t->name[i]);
        return NULL;
    }
    node *n = make(p, NODE_COLUMN, false, at, NULL, NULL, NULL);
    if (!n) return NULL;
    for (n->column = 0; n->column < p->e->ncolumns; n->column++)
        if (p->e->column[n->column] == (size_t)c) return n;
    if (p->e->ncolumns == MAX_COLUMNS) return complain(p, at, "the expression uses more than %d columns", MAX_COLUMNS);
    p->e->column[p->e->ncolumns++] = (size_t)c;
    return n;
}

static node *call(parser *p, size_t at, const char *name, size_t length)
{
    const struct function *f = NULL;
    for (size_t i = 0; i < FUNCTIONS; i++)
        if (strlen(functions[i].name) == length && !memcmp(functions[i].name, name, length)) f = &functions[i];
    if (!f) {
        complain(p, at, "there is no function '%.*s'; there are:", (int)length, name);
        expression_functions(stderr, "      ");
        return NULL;
    }
    node *arg[2] = { NULL, NULL };
    for (int i = 0; i < f->args; i++) {
        if (i && !take(p, ","))
            return complain(p, p->at, "%s takes %d arguments: a ',' is missing here", f->name, f->args);
        arg[i] = choice(p);
        if (!want(p, arg[i], false, f->name)) return NULL;
    }
    if (take(p, ","))
        return complain(p, p->at - 1, "%s takes %d argument%s", f->name, f->args, f->args == 1 ? "" : "s");
    if (!take(p, ")")) return complain(p, p->at, "a ')' is missing here, to close %s( of column %zu", f->name, at + 1);
    node *n = make(p, f->kind, false, at, arg[0], arg[1], NULL);
    if (!n) return NULL;
    n->of_one = f->of_one;
    n->of_two = f->of_two;
    return n;
}

static node *primary(parser *p)
{
    spaces(p);
    const char *s = p->text + p->at;
    size_t at = p->at;
    if (isdigit((unsigned char)*s) || (*s == '.' && isdigit((unsigned char)s[1]))) {
        char *end;
        double v = strtod(s, &end);
        p->at += (size_t)(end - s);
        if (isalpha((unsigned char)*end) || *end == '_')
            return complain(p, p->at, "a number ends here and a name begins; an operator is missing");
        node *n = make(p, NODE_NUMBER, false, at, NULL, NULL, NULL);
        if (n) n->number = v;
        return n;
    }
    if (isalpha((unsigned char)*s) || *s == '_') {
        size_t n = 0;
        while (isalnum((unsigned char)s[n]) || s[n] == '_') n++;
        p->at += n;
        return take(p, "(") ? call(p, at, s, n) : column(p, at, s, n);
    }
    if (*s == '"') { /* a column whose name is no word */
        size_t n = strcspn(s + 1, "\"");
        if (!s[n + 1]) return complain(p, at, "this quoted column name never ends");
        p->at += n + 2;
        return column(p, at, s + 1, n);
    }
    if (take(p, "(")) {
        node *n = choice(p);
        if (!p->failed && !take(p, ")"))
            return complain(p, p->at, "a ')' is missing here, to close the '(' of column %zu", at + 1);
        return n;
    }
    if (!*s) return complain(p, at, "the expression ends where a number, a column or a '(' should follow");
    return complain(p, at, "a number, a column or a '(' should stand here");
}

/* -- Operators, from the tightest to the loosest ------------------------------------------------------------------- */

static node *unary(parser *p)
{
    spaces(p);
    size_t at = p->at;
    if (p->depth == MAX_DEPTH) return complain(p, at, "the expression is nested too deeply");
    node_kind kind = take(p, "-") ? NODE_NEG : take(p, "!") ? NODE_NOT : NODE_NUMBER;
    if (kind == NODE_NUMBER) return primary(p);
    p->depth++;
    node *a = unary(p);
    p->depth--;
    return want(p, a, kind == NODE_NOT, kind == NODE_NOT ? "'!'" : "'-'") ? make(p, kind, a->boolean, at, a, NULL, NULL)
                                                                          : NULL;
}

typedef struct operator { const char *word; node_kind kind; } operator;

/* A left-associative level: `next` joined by any of `ops`. */
static node *level(parser *p, node *(*next)(parser *), const operator* ops, size_t nops, bool wants, bool gives,
                   bool repeats)
{
    node *a = next(p);
    for (bool again = true; again && a && !p->failed;) {
        again = false;
        for (size_t i = 0; i < nops && !again; i++) {
            if (!take(p, ops[i].word)) continue;
            char who[8];
            snprintf(who, sizeof who, "'%s'", ops[i].word);
            node *b = want(p, a, wants, who) ? next(p) : NULL;
            if (!want(p, b, wants, who)) return NULL;
            a = make(p, ops[i].kind, gives, a->at, a, b, NULL);
            again = repeats;
            if (!repeats) return a;
        }
    }
    return p->failed ? NULL : a;
}

static node *product(parser *p)
{
    static const operator ops[] = { { "*", NODE_MUL }, { "/", NODE_DIV } };
    return level(p, unary, ops, 2, false, false, true);
}

static node *sum(parser *p)
{
    static const operator ops[] = { { "+", NODE_ADD }, { "-", NODE_SUB } };
    return level(p, product, ops, 2, false, false, true);
}

static node *compare(parser *p)
{
    static const operator ops[] = { { "<=", NODE_LE }, { ">=", NODE_GE }, { "==", NODE_EQ },
                                    { "!=", NODE_NE }, { "<", NODE_LT },  { ">", NODE_GT } };
    return level(p, sum, ops, 6, false, true, false);
}

static node *both(parser *p)
{
    static const operator ops[] = { { "&&", NODE_AND } };
    return level(p, compare, ops, 1, true, true, true);
}

static node *either(parser *p)
{
    static const operator ops[] = { { "||", NODE_OR } };
    return level(p, both, ops, 1, true, true, true);
}

static node *choice(parser *p)
{
    if (p->depth == MAX_DEPTH) return complain(p, p->at, "the expression is nested too deeply");
    p->depth++;
    node *a = either(p), *b = NULL, *c = NULL, *n = a;
    if (a && take(p, "?") && want(p, a, true, "'?'")) {
        b = choice(p);
        if (b && !take(p, ":")) complain(p, p->at, "a ':' is missing here: '?' wants two values to choose from");
        c = p->failed ? NULL : choice(p);
        n = b && c && want(p, c, b->boolean, "the other side of ':'") ? make(p, NODE_CHOOSE, b->boolean, a->at, a, b, c)
                                                                      : NULL;
    }
    p->depth--;
    return p->failed ? NULL : n;
}

bool expression_parse(expression *e, const char *text, const table *t)
{
    parser p = { .e = e, .t = t, .text = text };
    memset(e, 0, sizeof *e);
    e->root = choice(&p);
    spaces(&p);
    if (!p.failed && text[p.at])
        complain(&p, p.at, text[p.at] == ')'   ? "there is no '(' for this ')'"
                           : text[p.at] == '=' ? "one '=' compares nothing here, '==' does"
                           : text[p.at] == '&' ? "one '&' is no operator, '&&' is"
                           : text[p.at] == '|' ? "one '|' is no operator, '||' is"
                                               : "an operator or the end should stand here");
    return !p.failed;
}

void expression_free(expression *e)
{
    for (size_t i = 0; i < e->nnodes; i++) free(e->nodes[i]);
}
