/* What a C program is made of: names, numbers, strings. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ptx/reproduce/reproduce.h"

/* ---- Names ------------------------------------------------------------------------------------------------------- */

/* Words that are no names of variables: C's, those of later standards, types and macros of the headers that are
 * included, predefined macros, what the program names itself. */
static bool is_reserved(const char *s)
{
    static const char *const words[] = {
        "alignas", "alignof", "asm", "auto", "bool", "break", "bytes", "case", "char", "complex", "const", "constexpr",
        "continue", "default", "do", "double", "else", "enum", "errno", "extern", "f", "false", "float", "for", "goto",
        "if", "inline", "int", "linux", "long", "m", "main", "nullptr", "offsetof", "ptx", "register", "restrict",
        "return", "short", "signed", "sizeof", "static", "static_assert", "stderr", "stdin", "stdout", "struct",
        "switch", "text", "thread_local", "true", "typedef", "typeof", "union", "unix", "unsigned", "void", "volatile",
        "while"
    };
    const size_t n = strlen(s);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (!strcmp(words[i], s)) return true;
    return !strncmp(s, "cj", 2) || !strncmp(s, "make_", 5) || (n > 2 && !strcmp(s + n - 2, "_t"));
}

static bool is_c_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

/* `name` with what C does not have in names as '_'; upper case is left to macros. */
static void c_name(const char *name, char *out, size_t size)
{
    size_t n = 0;
    bool lower = false;
    for (const char *s = name; *s; s++) lower = lower || (*s >= 'a' && *s <= 'z');
    if (!is_c_letter(name[0]) || !lower) n = (size_t)snprintf(out, size, "v_");
    for (const char *s = name; *s && n + 2 < size; s++)
        out[n++] = is_c_letter(*s) || (*s >= '0' && *s <= '9') ? *s : '_';
    out[n] = 0;
    if (is_reserved(out)) out[n] = '_', out[n + 1] = 0;
}

uint32_t cji_rep_name(cji_rep *r, cji_map *taken, const char *name)
{
    char base[80], text[100];
    c_name(name, base, sizeof base);
    snprintf(text, sizeof text, "%s", base);
    for (unsigned i = 2; cji_map_find(&r->taken, text, strlen(text)) != CJI_MAP_NONE ||
                         (taken && cji_map_find(taken, text, strlen(text)) != CJI_MAP_NONE); i++)
        snprintf(text, sizeof text, "%s_%u", base, i);
    if (cji_map_intern(taken ? taken : &r->taken, text, strlen(text)) == CJI_MAP_NONE) r->names.failed = true;
    uint32_t at = (uint32_t)r->names.n;
    cji_text_put(&r->names, text, strlen(text) + 1);
    return at;
}

/* ---- Strings ----------------------------------------------------------------------------------------------------- */

void cji_rep_quote(cji_text *out, const char *s, size_t n)
{
    cji_text_putc(out, '"');
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)s[i];
        if (c == '"' || c == '\\') cji_text_printf(out, "\\%c", c);
        else if (c == '\t') cji_text_puts(out, "\\t");
        else if (c == '\n') cji_text_puts(out, "\\n");
        else if (c < ' ' || c >= 127 || c == '?') cji_text_printf(out, "\\%03o", c);   /* no trigraphs */
        else cji_text_putc(out, (char)c);
    }
    cji_text_putc(out, '"');
}

/* ---- Types ------------------------------------------------------------------------------------------------------- */

const char *cji_rep_type(unsigned type)
{
    static const char *const names[CJ_TYPE_COUNT] = { "CJ_VOID",
#define TY(name, word, bits, class, prefix) [name] = #name,
#include "ptx/types.def"
    };
    return type < CJ_TYPE_COUNT ? names[type] : "CJ_VOID";
}

bool cji_rep_type_named(const char *word, size_t n, unsigned *type)
{
    for (*type = CJ_PRED; *type < CJ_TYPE_COUNT; ++*type)
        if (strlen(cji_type_word(*type)) == n && !memcmp(cji_type_word(*type), word, n)) return true;
    return false;
}

const char *cji_rep_space(unsigned space)
{
    switch (space) {
    case CJ_SPACE_CONST: return "CJ_SPACE_CONST";
    case CJ_SPACE_GLOBAL: return "CJ_SPACE_GLOBAL";
    case CJ_SPACE_LOCAL: return "CJ_SPACE_LOCAL";
    case CJ_SPACE_PARAM: return "CJ_SPACE_PARAM";
    case CJ_SPACE_SHARED: return "CJ_SPACE_SHARED";
    default: return "CJ_SPACE_GENERIC";
    }
}

/* ---- Numbers ----------------------------------------------------------------------------------------------------- */

/* The shortest decimal that is the number again and that C reads as floating point, in any locale. */
void cji_rep_float(cji_text *out, double x, bool single)
{
    char text[40];
    int digits = 1;
    do snprintf(text, sizeof text, "%.*g", digits, x);
    while (digits++ < 17 && (single ? (double)strtof(text, NULL) : strtod(text, NULL)) != x);
    bool floats = false, point = false;
    for (const char *s = text; *s; s++) {
        const bool mark = !strchr("0123456789+-e", *s);   /* a decimal point of several bytes is one */
        if (!mark || !point) cji_text_putc(out, mark ? '.' : *s);
        point = mark;
        floats = floats || mark || *s == 'e';
    }
    cji_text_puts(out, floats ? "" : ".0");
    cji_text_puts(out, single ? "f" : "");
}

static void put_integer(cji_text *out, int64_t x)
{
    if (x >= -INT32_MAX && x <= INT32_MAX) cji_text_printf(out, "%lld", (long long)x);
    else if (x == INT64_MIN) cji_text_puts(out, "INT64_MIN");
    else cji_text_printf(out, "INT64_C(%lld)", (long long)x);
}

bool cji_rep_number(const cji_lit *l, cji_text *out, cj_fn *g, cj_val *v)
{
    float single;
    double wide;
    const uint32_t low = (uint32_t)l->bits;
    switch (l->lit) {
    case CJI_LIT_INT:
        if (l->wide) cji_text_printf(out, "UINT64_C(%llu)", (unsigned long long)l->bits);
        else put_integer(out, (int64_t)l->bits);
        *v = l->wide ? (cj_imm_u)(g, l->bits) : (cj_imm_i)(g, (int64_t)l->bits);
        return true;
    case CJI_LIT_F32:
        memcpy(&single, &low, sizeof single);
        if (!isfinite(single)) return false;
        cji_rep_float(out, (double)single, true);
        *v = (cj_imm_f32)(g, single);
        return true;
    default:
        memcpy(&wide, &l->bits, sizeof wide);
        if (!isfinite(wide)) return false;
        cji_rep_float(out, wide, false);
        *v = (cj_imm_f64)(g, wide);
        return true;
    }
}
