/* Operators that make faults: see operators.h. Code is written as .clang-format has it: a binary operator stands
 * between blanks. */
#include "tests/mutants/operators.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_word(int c) { return isalnum(c) || c == '_'; }

/* ---- A function in a file ---------------------------------------------------------------------------------------- */

static size_t skip_quoted(const char *s, size_t at, size_t size)
{
    const char quote = s[at];
    for (at++; at < size && s[at] != quote; at++)
        if (s[at] == '\\') at++;
    return at < size ? at + 1 : size;
}

/* Where the comment, string or preprocessor line at `at` ends; `at` where there is none. */
static size_t skip_other(const char *s, size_t at, size_t size)
{
    if (s[at] == '/' && at + 1 < size && s[at + 1] == '*') {
        const char *end = strstr(s + at + 2, "*/");
        return end ? (size_t)(end - s) + 2 : size;
    }
    if (s[at] == '/' && at + 1 < size && s[at + 1] == '/') return at + strcspn(s + at, "\n");
    if (s[at] == '"' || s[at] == '\'') return skip_quoted(s, at, size);
    if (s[at] == '#' && (at == 0 || s[at - 1] == '\n')) {
        while (at < size && s[at] != '\n') at += s[at] == '\\' && at + 1 < size ? 2 : 1;
    }
    return at;
}

static char *blank_other(const char *text, size_t size)
{
    char *code = malloc(size + 1);
    if (!code) return NULL;
    memcpy(code, text, size + 1);
    for (size_t at = 0; at < size;) {
        const size_t end = skip_other(text, at, size);
        if (end == at) {
            at++;
            continue;
        }
        for (; at < end && at < size; at++)
            if (code[at] != '\n') code[at] = ' ';
    }
    return code;
}

/* Behind the bracket that closes the one at `at`; 0 where none does. */
static size_t behind_bracket(const char *code, size_t at, size_t size)
{
    int depth = 0;
    for (; at < size; at++) {
        if (strchr("([{", code[at])) depth++;
        else if (strchr(")]}", code[at]) && --depth == 0) return at + 1;
    }
    return 0;
}

static size_t skip_blanks(const char *code, size_t at)
{
    return at + strspn(code + at, " \n");
}

bool mutant_find(mutant_text *t, char *text, size_t size, const char *function)
{
    const size_t n = strlen(function);
    char *code = blank_other(text, size);
    if (!code) return false;
    for (char *p = strstr(code, function); p; p = strstr(p + 1, function)) {
        const size_t at = (size_t)(p - code);
        size_t line = at, end;
        if (at == 0 || is_word((unsigned char)p[-1]) || p[n] != '(') continue;
        while (line && code[line - 1] != '\n') line--;
        if (code[line] == ' ' || !(end = behind_bracket(code, at + n, size))) continue;
        end = skip_blanks(code, end);
        if (code[end] != '{') continue;
        *t = (mutant_text){ text, code, size, end, behind_bracket(code, end, size) };
        return true;
    }
    free(code);
    return false;
}

/* ---- Operators --------------------------------------------------------------------------------------------------- */

static size_t length_of_word(const char *code, size_t at)
{
    size_t n = 0;
    while (is_word((unsigned char)code[at + n])) n++;
    return n;
}

static bool begins_word(const char *code, size_t at)
{
    return is_word((unsigned char)code[at]) && !is_word((unsigned char)code[at - 1]);
}

static bool token_at(const mutant_text *t, size_t at, const char *token)
{
    const size_t n = strlen(token);
    return strncmp(t->code + at, token, n) == 0 && t->code[at - 1] == ' ' && t->code[at + n] == ' ';
}

static bool set_change(mutant_change *c, size_t at, size_t bytes, const char *with, size_t length)
{
    c->at = at;
    c->bytes = bytes;
    return (size_t)snprintf(c->with, sizeof c->with, "%.*s", (int)length, with) < sizeof c->with;
}

/* if (x) becomes if (!(x)). */
static bool negate_condition(const mutant_text *t, size_t at, mutant_change *c)
{
    if (strncmp(t->code + at, "if (", 4) || !begins_word(t->code, at)) return false;
    const size_t end = behind_bracket(t->code, at + 3, t->to);
    c->at = at + 3;
    c->bytes = end - c->at;
    return (size_t)snprintf(c->with, sizeof c->with, "(!%.*s)", (int)c->bytes, t->text + c->at) < sizeof c->with;
}

/* A decimal number: with `by` added. */
static bool change_number(const mutant_text *t, size_t at, mutant_change *c, int by)
{
    char with[32];
    if (!begins_word(t->code, at) || !isdigit((unsigned char)t->code[at]) || t->code[at - 1] == '.') return false;
    const size_t n = length_of_word(t->code, at);
    if (n > 9 || strspn(t->code + at, "0123456789") != n || t->code[at + n] == '.') return false;
    const int value = atoi(t->code + at) + by;
    return value >= 0 && set_change(c, at, n, with, (size_t)snprintf(with, sizeof with, "%d", value));
}

static bool one_more(const mutant_text *t, size_t at, mutant_change *c) { return change_number(t, at, c, 1); }
static bool one_less(const mutant_text *t, size_t at, mutant_change *c) { return change_number(t, at, c, -1); }

/* A call that is a statement of its own is dropped. */
static bool drop_call(const mutant_text *t, size_t at, mutant_change *c)
{
    static const char *const not_calls[] = { "if", "for", "while", "switch", "return", "sizeof" };
    size_t before = at, n;
    if (!begins_word(t->code, at)) return false;
    while (before && strchr(" \n", t->code[before - 1])) before--;
    n = length_of_word(t->code, at);
    if (!before || !strchr(";{})", t->code[before - 1]) || t->code[at + n] != '(') return false;
    for (size_t i = 0; i < sizeof not_calls / sizeof *not_calls; i++)
        if (strlen(not_calls[i]) == n && !strncmp(t->code + at, not_calls[i], n)) return false;
    const size_t end = behind_bracket(t->code, at + n, t->to);
    return end && t->code[end] == ';' && set_change(c, at, end - at, "", 0);
}

/* The first two arguments of a call change places. */
static bool swap_arguments(const mutant_text *t, size_t at, mutant_change *c)
{
    size_t comma[2], commas = 0, i, n;
    int depth = 0;
    if (!begins_word(t->code, at) || isdigit((unsigned char)t->code[at])) return false;
    n = length_of_word(t->code, at);
    if (t->code[at + n] != '(') return false;
    const size_t open = at + n, end = behind_bracket(t->code, open, t->to);
    if (!end) return false;
    for (i = open; i < end - 1 && commas < 2; i++) {
        if (strchr("([{", t->code[i])) depth++;
        else if (strchr(")]}", t->code[i])) depth--;
        else if (t->code[i] == ',' && depth == 1) comma[commas++] = i;
    }
    if (!commas) return false;
    const size_t first = open + 1, second = skip_blanks(t->code, comma[0] + 1), last = commas == 2 ? comma[1] : end - 1;
    c->at = first;
    c->bytes = last - first;
    return (size_t)snprintf(c->with, sizeof c->with, "%.*s, %.*s", (int)(last - second), t->text + second,
                            (int)(comma[0] - first), t->text + first) < sizeof c->with;
}

/* !x becomes x. */
static bool drop_not(const mutant_text *t, size_t at, mutant_change *c)
{
    const char next = t->code[at + 1];
    return t->code[at] == '!' && (is_word((unsigned char)next) || next == '(') && set_change(c, at, 1, "", 0);
}

/* return x; becomes return 0; */
static bool return_zero(const mutant_text *t, size_t at, mutant_change *c)
{
    if (strncmp(t->code + at, "return ", 7) || !begins_word(t->code, at)) return false;
    const size_t n = strcspn(t->code + at + 7, ";");
    return !(n == 1 && t->code[at + 7] == '0') && set_change(c, at + 7, n, "0", 1);
}

static bool swap_words(const mutant_text *t, size_t at, mutant_change *c, const char *old, const char *new)
{
    const size_t n = strlen(old);
    return begins_word(t->code, at) && length_of_word(t->code, at) == n && !strncmp(t->code + at, old, n) &&
           set_change(c, at, n, new, strlen(new));
}

static bool true_to_false(const mutant_text *t, size_t at, mutant_change *c)
{
    return swap_words(t, at, c, "true", "false");
}
static bool false_to_true(const mutant_text *t, size_t at, mutant_change *c)
{
    return swap_words(t, at, c, "false", "true");
}

const mutant_operator mutant_operators[] = {
    { "lt_le", "<", "<=", NULL },
    { "le_lt", "<=", "<", NULL },
    { "gt_ge", ">", ">=", NULL },
    { "ge_gt", ">=", ">", NULL },
    { "eq_ne", "==", "!=", NULL },
    { "ne_eq", "!=", "==", NULL },
    { "add_sub", "+", "-", NULL },
    { "sub_add", "-", "+", NULL },
    { "and_or", "&&", "||", NULL },
    { "or_and", "||", "&&", NULL },
    { "shl_shr", "<<", ">>", NULL },
    { "shr_shl", ">>", "<<", NULL },
    { "bits_and_or", "&", "|", NULL },
    { "bits_or_and", "|", "&", NULL },
    { "negate", NULL, NULL, negate_condition },
    { "one_more", NULL, NULL, one_more },
    { "one_less", NULL, NULL, one_less },
    { "drop_call", NULL, NULL, drop_call },
    { "swap_arguments", NULL, NULL, swap_arguments },
    { "drop_not", NULL, NULL, drop_not },
    { "return_zero", NULL, NULL, return_zero },
    { "true_to_false", NULL, NULL, true_to_false },
    { "false_to_true", NULL, NULL, false_to_true },
    { NULL, NULL, NULL, NULL },
};

static bool line_contains(const char *text, size_t at, const char *part)
{
    size_t from = at, n;
    while (from && text[from - 1] != '\n') from--;
    n = strcspn(text + from, "\n");
    const char *p = strstr(text + from, part);
    return p && (size_t)(p - text) + strlen(part) <= from + n;
}

bool mutant_place(const mutant_text *t, const mutant_operator *op, int nth, const char *line, mutant_change *c)
{
    for (size_t at = t->from + 1; at < t->to; at++) {
        if (op->old ? !token_at(t, at, op->old) : !op->change(t, at, c)) continue;
        if (line && !line_contains(t->text, at, line)) continue;
        if (--nth) continue;
        return !op->old || set_change(c, at, strlen(op->old), op->new, strlen(op->new));
    }
    return false;
}
