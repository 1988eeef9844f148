/* The words of PTX text.  Manual: 4.1 to 4.5. */
#include "ptx/lex.h"

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LEX_WORD = 1, LEX_START = 2, LEX_DIGIT = 4, LEX_HEX = 8, LEX_BLANK = 16, LEX_SIGN = 32, LEX_TWICE = 64,
       LEX_NEWLINE = 128 };
enum { LEX_NUMBER_MAX = 120 };   /* characters of a decimal floating-point number */

#define LEX_LETTER (LEX_WORD | LEX_START)
#define LEX_HEXLET (LEX_LETTER | LEX_HEX)
static const uint8_t lex_class[256] = {
    ['\n'] = LEX_NEWLINE,
    [' '] = LEX_BLANK, ['\t'] = LEX_BLANK, ['\r'] = LEX_BLANK, ['\f'] = LEX_BLANK, ['\v'] = LEX_BLANK,
    ['0' ... '9'] = LEX_WORD | LEX_DIGIT | LEX_HEX,
    ['a' ... 'f'] = LEX_HEXLET, ['g' ... 'z'] = LEX_LETTER,
    ['A' ... 'F'] = LEX_HEXLET, ['G' ... 'Z'] = LEX_LETTER,
    [','] = LEX_SIGN, [';'] = LEX_SIGN, ['{'] = LEX_SIGN, ['}'] = LEX_SIGN, ['('] = LEX_SIGN, [')'] = LEX_SIGN,
    ['['] = LEX_SIGN, [']'] = LEX_SIGN, ['+'] = LEX_SIGN, ['-'] = LEX_SIGN, ['*'] = LEX_SIGN, ['/'] = LEX_SIGN,
    ['@'] = LEX_SIGN, ['^'] = LEX_SIGN, ['~'] = LEX_SIGN, ['?'] = LEX_SIGN,
    /* these may begin a token of two characters */
    [':'] = LEX_SIGN | LEX_TWICE, ['<'] = LEX_SIGN | LEX_TWICE, ['>'] = LEX_SIGN | LEX_TWICE,
    ['!'] = LEX_SIGN | LEX_TWICE, ['|'] = LEX_SIGN | LEX_TWICE, ['='] = LEX_SIGN | LEX_TWICE,
    ['&'] = LEX_SIGN | LEX_TWICE,
    ['_'] = LEX_LETTER, ['$'] = LEX_LETTER, ['%'] = LEX_START,
};

static inline bool lex_is(char c, unsigned what) { return lex_class[(uint8_t)c] & what; }

/* The end of the bytes of these classes that begin at p. */
static inline const char *lex_run(const char *p, const char *end, unsigned what)
{
    for (; end - p >= 4; p += 4) {
        if (!lex_is(p[0], what)) return p;
        if (!lex_is(p[1], what)) return p + 1;
        if (!lex_is(p[2], what)) return p + 2;
        if (!lex_is(p[3], what)) return p + 3;
    }
    while (p < end && lex_is(*p, what)) p++;
    return p;
}

bool cji_lex_is_word(char c) { return lex_is(c, LEX_WORD); }

void cji_lex_init(cji_lex *x, const char *text, size_t bytes)
{
    while (bytes && !text[bytes - 1]) bytes--;
    *x = (cji_lex){ .p = text, .end = text + bytes, .s = text, .line = 1, .tok_line = 1 };
}

/* Marks the current token as bad; it stays. */
static uint8_t lex_bad(cji_lex *x, const char *why)
{
    snprintf(x->bad, sizeof x->bad, "%s", why);
    x->p = x->s;
    return x->kind = CJI_TOK_BAD;
}

/* -- Blanks and comments ------------------------------------------------------------------------------------------- */

/* Skips a block comment at p; false when it does not end. */
static bool lex_comment(cji_lex *x)
{
    const char *p = x->p + 2;
    uint32_t line = x->line;
    for (; p + 1 < x->end; p++) {
        if (*p == '*' && p[1] == '/') {
            x->p = p + 2;
            x->line = line;
            return true;
        }
        line += *p == '\n';
    }
    return false;
}

static void lex_rest_of_line(cji_lex *x)
{
    const char *nl = memchr(x->p, '\n', (size_t)(x->end - x->p));
    x->p = nl ? nl : x->end;
}

/* At a '/': the rest of lex_blanks. */
static __attribute__((noinline)) bool lex_comments(cji_lex *x)
{
    while (x->p < x->end) {
        char c = *x->p;
        if (c == '\n') {
            x->line++;
            x->p++;
        } else if (lex_is(c, LEX_BLANK)) {
            x->p++;
        } else if (c == '/' && x->p + 1 < x->end && x->p[1] == '/') {
            lex_rest_of_line(x);
        } else if (c == '/' && x->p + 1 < x->end && x->p[1] == '*') {
            if (!lex_comment(x)) return false;
        } else {
            break;
        }
    }
    return true;
}

/* Stands on the next token's first byte, or at the end.  False: a comment that does not end, at p. */
static inline bool lex_blanks(cji_lex *x)
{
    const char *p = x->p, *end = x->end;
    uint32_t line = x->line;
    for (; p < end && lex_is(*p, LEX_BLANK | LEX_NEWLINE); p++) line += *p == '\n';
    x->p = p;
    x->line = line;
    return p == end || *p != '/' || lex_comments(x);
}

char cji_lex_peek(cji_lex *x)
{
    if (!lex_blanks(x) || x->p >= x->end) return 0;
    return *x->p;
}

/* -- Numbers ------------------------------------------------------------------------------------------------------- */

static unsigned lex_digit(char c)
{
    if (c <= '9') return (unsigned)(c - '0');
    return (unsigned)((c | 0x20) - 'a' + 10);
}

/* The rest of an integer of that base from p on, its suffix included. */
static uint8_t lex_integer(cji_lex *x, const char *p, unsigned base)
{
    uint64_t u = 0;
    const char *first = p;
    for (; p < x->end && lex_is(*p, LEX_HEX); p++) {
        unsigned digit = lex_digit(*p);
        if (digit >= base) break;
        if (__builtin_mul_overflow(u, (uint64_t)base, &u) || __builtin_add_overflow(u, (uint64_t)digit, &u))
            return lex_bad(x, "the number does not fit into 64 bits");
    }
    if (p == first && base != 8) return lex_bad(x, "a number without digits");
    x->u = u;
    x->is_unsigned = u > INT64_MAX;
    if (p < x->end && *p == 'U') {
        x->is_unsigned = true;
        p++;
    }
    if (p < x->end && lex_is(*p, LEX_WORD))
        return lex_bad(x, base == 8 && lex_is(*p, LEX_DIGIT) ? "a digit above 7 in an octal number"
                                                             : "a letter inside a number");
    x->p = p;
    x->n = (uint32_t)(p - x->s);
    return x->kind = CJI_TOK_INT;
}

/* 0f and 0d: exactly `digits` hexadecimal digits. */
static uint8_t lex_bits(cji_lex *x, unsigned digits, uint8_t kind)
{
    const char *p = x->s + 2;
    uint64_t u = 0;
    unsigned n = 0;
    for (; p < x->end && lex_is(*p, LEX_HEX) && n <= digits; p++, n++) u = u << 4 | lex_digit(*p);
    if (n != digits || (p < x->end && lex_is(*p, LEX_WORD)))
        return lex_bad(x, digits == 8 ? "0f wants exactly 8 hexadecimal digits"
                                      : "0d wants exactly 16 hexadecimal digits");
    x->u = u;
    x->p = p;
    x->n = (uint32_t)(p - x->s);
    return x->kind = kind;
}

/* A decimal number with a point or an exponent; `p` stands behind its leading digits. */
static uint8_t lex_decimal(cji_lex *x, const char *p)
{
    char copy[LEX_NUMBER_MAX + 8];
    if (p < x->end && *p == '.') {
        p++;
        while (p < x->end && lex_is(*p, LEX_DIGIT)) p++;
    }
    if (p < x->end && (*p == 'e' || *p == 'E')) {
        p++;
        if (p < x->end && (*p == '+' || *p == '-')) p++;
        if (p >= x->end || !lex_is(*p, LEX_DIGIT)) return lex_bad(x, "an exponent without digits");
        while (p < x->end && lex_is(*p, LEX_DIGIT)) p++;
    }
    if (p < x->end && lex_is(*p, LEX_WORD)) return lex_bad(x, "a letter inside a number");
    size_t n = (size_t)(p - x->s);
    if (n > LEX_NUMBER_MAX)
        return lex_bad(x, "a decimal number of more than 120 characters; write its bits as 0d and 16 digits");
    memcpy(copy, x->s, n);
    copy[n] = 0;
    locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);   /* a decimal point whatever the program's locale is */
    double value = strtod_l(copy, NULL, plain);
    freelocale(plain);
    memcpy(&x->u, &value, sizeof x->u);
    x->p = p;
    x->n = (uint32_t)n;
    return x->kind = CJI_TOK_F64;
}

static uint8_t lex_number(cji_lex *x)
{
    const char *p = x->s;
    if (*p == '0' && p + 1 < x->end) {
        switch (p[1]) {
        case 'x': case 'X': return lex_integer(x, p + 2, 16);
        case 'b': case 'B': return lex_integer(x, p + 2, 2);
        case 'f': case 'F': return lex_bits(x, 8, CJI_TOK_F32);
        case 'd': case 'D': return lex_bits(x, 16, CJI_TOK_F64);
        default: break;
        }
    }
    const char *q = p;
    while (q < x->end && lex_is(*q, LEX_DIGIT)) q++;
    if (q < x->end && (*q == '.' || *q == 'e' || *q == 'E')) return lex_decimal(x, q);
    if (*p == '0') return lex_integer(x, p + 1, 8);
    return lex_integer(x, p, 10);
}

/* -- Strings and words --------------------------------------------------------------------------------------------- */

static uint8_t lex_string(cji_lex *x)
{
    const char *p = x->s + 1;
    while (p < x->end && *p != '"' && *p != '\n') p++;   /* a backslash means itself */
    if (p >= x->end || *p != '"') return lex_bad(x, "a string without its closing quote");
    x->n = (uint32_t)(p - x->s - 1);
    x->s++;
    x->p = p + 1;
    return x->kind = CJI_TOK_STRING;
}

static inline uint8_t lex_word(cji_lex *x)
{
    const char *p = lex_run(x->s + 1, x->end, LEX_WORD);
    x->p = p;
    x->n = (uint32_t)(p - x->s);
    if (x->n == 1 && *x->s == '%') return x->kind = '%';
    if (x->n == 1 && *x->s == '$') return lex_bad(x, "a name that is only '$'");
    return x->kind = CJI_TOK_WORD;
}

/* -- Tokens -------------------------------------------------------------------------------------------------------- */

static uint8_t lex_two(char c, char d)
{
    static const struct { char c, d; uint8_t kind;
    } twos[] = {
        { '<', '<', CJI_TOK_SHL }, { '>', '>', CJI_TOK_SHR }, { '<', '=', CJI_TOK_LE },
        { '>', '=', CJI_TOK_GE },  { '=', '=', CJI_TOK_EQ },  { '!', '=', CJI_TOK_NE },
        { '&', '&', CJI_TOK_AND }, { '|', '|', CJI_TOK_OR },  { ':', ':', CJI_TOK_SCOPE },
    };
    for (size_t i = 0; i < sizeof twos / sizeof *twos; i++)
        if (twos[i].c == c && twos[i].d == d) return twos[i].kind;
    return 0;
}

static uint8_t lex_other(cji_lex *x, char c)
{
    if (c == '"') return lex_string(x);
    if (c == '#') return lex_bad(x, "a preprocessor line; run the C preprocessor over the text first");
    if (!lex_is(c, LEX_SIGN)) {
        char why[64];
        if (c >= 0x20 && c < 0x7f) snprintf(why, sizeof why, "the character '%c' is not allowed in PTX", c);
        else snprintf(why, sizeof why, "the byte 0x%02x is not allowed in PTX, which is ASCII text", (uint8_t)c);
        return lex_bad(x, why);
    }
    uint8_t two = lex_is(c, LEX_TWICE) && x->p + 1 < x->end ? lex_two(c, x->p[1]) : 0;
    x->n = two ? 2 : 1;
    x->p += x->n;
    return x->kind = two ? two : (uint8_t)c;
}

uint8_t cji_lex_next(cji_lex *x)
{
    if (x->kind == CJI_TOK_BAD) return x->kind;
    bool fine = lex_blanks(x);
    x->s = x->p;
    x->n = 0;
    x->tok_line = x->line;
    if (!fine) return lex_bad(x, "a comment that does not end");
    if (x->p >= x->end) return x->kind = CJI_TOK_END;
    char c = *x->p;
    if (lex_is(c, LEX_START)) return lex_word(x);
    if (c == ',' || c == ';' || c == '[' || c == ']') {   /* most of what is no word: one character */
        x->n = 1;
        x->p++;
        return x->kind = (uint8_t)c;
    }
    if (lex_is(c, LEX_DIGIT)) return lex_number(x);
    if (c == '.') {
        if (x->p + 1 < x->end && lex_is(x->p[1], LEX_DIGIT)) return lex_decimal(x, x->p);
        if (x->p + 1 >= x->end || !lex_is(x->p[1], LEX_START)) return lex_bad(x, "a dot without a word behind it");
        lex_word(x);
        return x->kind = CJI_TOK_DOT;
    }
    return lex_other(x, c);
}

/* -- Instructions and blocks --------------------------------------------------------------------------------------- */

/* The end of ".word", "::word" and word bytes from p on. */
static const char *lex_modifiers(const cji_lex *x, const char *p)
{
    while ((p = lex_run(p, x->end, LEX_WORD)) < x->end) {
        if (*p == '.' && p + 1 < x->end && lex_is(p[1], LEX_WORD)) p += 2;
        else if (*p == ':' && p + 2 < x->end && p[1] == ':' && lex_is(p[2], LEX_WORD)) p += 3;
        else break;
    }
    return p;
}

bool cji_lex_mnemonic(cji_lex *x, char *room, size_t size)
{
    const char *word = x->s + x->n, *p = lex_modifiers(x, word);
    if (p > word) {
        x->n = (uint32_t)(p - x->s);
        x->p = p;
    }
    if (x->p < x->end && !lex_is(*x->p, LEX_BLANK) && *x->p != '.' && *x->p != '/' && *x->p != '\n') return true;
    size_t used = 0;
    while (cji_lex_peek(x) == '.') {
        if (!used) {
            if (x->n >= size) return lex_bad(x, "an instruction of too many words"), false;
            memcpy(room, x->s, used = x->n);
        }
        const char *first = x->p, *last = lex_modifiers(x, first);
        size_t more = (size_t)(last - first);
        if (!more) return lex_bad(x, "a dot without a word behind it"), false;
        if (used + more >= size) return lex_bad(x, "an instruction of too many words"), false;
        memcpy(room + used, first, more);
        used += more;
        x->p = last;
    }
    if (used) {
        x->s = room;
        x->n = (uint32_t)used;
    }
    return true;
}

bool cji_lex_skip_block(cji_lex *x)
{
    unsigned depth = 0;
    x->p = x->s;
    do {
        if (!lex_blanks(x) || x->p >= x->end) return false;
        char c = *x->p;
        if (c == '"') {
            x->s = x->p;
            if (lex_string(x) == CJI_TOK_BAD) return false;
            continue;
        }
        depth += c == '{';
        depth -= c == '}';
        x->p++;
    } while (depth);
    return true;
}
