#include "tests/math/text_mutants.h"

#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/tap.h"

enum kind { TOP_BIT, MIDDLE_BIT, REMOVED, FIRST_SIDE, SECOND_SIDE, KINDS };
static const char *const kinds[] = { "top bit", "middle bit", "removed", "always the first", "always the second" };

/* ---- Places of the text ---- */

static const char *line_end(const char *p) { return p + strcspn(p, "\n"); }

static bool line_has(const char *line, const char *word)
{
    const char *at = strstr(line, word);
    return at && at < line_end(line);
}

/* Thresholds and limits are not coefficients: what they decide is a case of its own. */
static bool has_coefficients(const char *line)
{
    return !line_has(line, "setp.") && !line_has(line, "selp.") && !line_has(line, "min.") && !line_has(line, "max.")
        && !line_has(line, "mov.");
}

/* Nor are zero and powers of two, which scale, or keep a root from being that of zero. */
static bool is_coefficient(const char *digits, unsigned bits)
{
    char own[17] = "";
    memcpy(own, digits, bits / 4);
    return strtoull(own, NULL, 16) << (bits == 64 ? 12 : 41);
}

/* The digits of the next floating-point literal; *bits gets its size. */
static const char *next_literal(const char *p, unsigned *bits)
{
    for (; *p; p++) {
        if (p[0] != '0' || (p[1] != 'd' && p[1] != 'f')) continue;
        const size_t n = strspn(p + 2, "0123456789abcdefABCDEF");
        if (n != (p[1] == 'd' ? 16u : 8u)) continue;
        *bits = (unsigned)(4 * n);
        return p + 2;
    }
    return NULL;
}

static const char *literal_at(const char *text, size_t index, unsigned *bits)
{
    const char *line = text;
    while (*line) {
        const char *end = line_end(line), *p = line;
        while (has_coefficients(line) && (p = next_literal(p, bits)) && p < end)
            if (is_coefficient(p, *bits) && index-- == 0) return p;
        line = *end ? end + 1 : end;
    }
    return NULL;
}

/* The line of an instruction, by its number among those that have `word`.  Not the first branch of the kernel: it keeps
 * threads without operands out. */
static const char *line_at(const char *text, const char *word, size_t index)
{
    bool first = false;
    for (const char *line = text; *line;) {
        const char *end = line_end(line), *begin = line + strspn(line, " \t");
        if (line_has(line, ".entry")) first = true;
        if (*word == '@' ? *begin == '@' : line_has(line, word)) {
            const bool guard = first && *word == '@' && line_has(line, "bra");
            if (guard) first = false;
            else if (index-- == 0) return line;
        }
        line = *end ? end + 1 : end;
    }
    return NULL;
}

/* What changes no result, whatever the operands are. */
static const struct { const char *name, *text; } equal[] = {
    { "tan", "sub.u32 %r, 0, %r;" },            /* the quadrant's sign: a tangent needs odd or even */
    { "tgamma", "mul.rn.f64 %rd, a0, 0d4350000000000000;" }, /* a subnormal operand's logarithm: it has at least 3.5 */
    { "tgamma", "sub.u32 %r, %r, 54;" },
    /* With a wrong quotient the quick rest is out of its bounds, and the long division takes over. */
    { "fmod", "mul.rn.f32 %r5, %r4, 0f3F7FFFFC;" },
    { "fmod", "fma.rn.f32 %r6, %r2, %r5, 0f4B400000;" },
    { "fmod", "sub.rn.f32 %r7, %r6, 0f4B400000;" },
    { "fmod", "@%p1 add.rn.f32 %r9, %r9, %r3;" },
    { "remainder", "fma.rn.f32 %r5, %r2, %r4, 0f4B400000;" },
    { "remainder", "sub.rn.f32 %r6, %r5, 0f4B400000;" },
    { "remquo", "fma.rn.f32 %r5, %r2, %r4, 0f4B400000;" },
    { "remquo", "sub.rn.f32 %r6, %r5, 0f4B400000;" },
    /* The exponential is that of a number not above zero, or of NaN, which the result is by its other factor. */
    { "silu", "selp.f64 %rd18, 0d0000000000000000, %rd19, %p2;" },
    { "gelu", "selp.f64 %rd74, 0d0000000000000000, %rd75, %p3;" },
    { "gelu_tanh", "selp.f64 %rd21, 0d0000000000000000, %rd22, %p2;" },
    { "softplus", "selp.f64 %rd18, 0d0000000000000000, %rd19, %p2;" },
};

/* Is the text in the line, whatever the registers' numbers are, unless the text has some? */
static bool has_instruction(const char *line, const char *text)
{
    char plain[200];
    size_t n = 0;
    for (const char *p = line; p < line_end(line) && n < sizeof plain - 1; p++) {
        plain[n++] = *p;
        if (*p != '%') continue;
        while (p[1] >= 'a' && p[1] <= 'z' && n < sizeof plain - 1) plain[n++] = *++p;
        while (isdigit((unsigned char)p[1])) p++;
    }
    plain[n] = 0;
    return strstr(plain, text) || (line_has(line, text) && strcspn(text, "0123456789") < strlen(text));
}

static bool is_equal(const char *name, const char *line)
{
    for (size_t i = 0; i < sizeof equal / sizeof *equal; i++)
        if (!strcmp(name, equal[i].name) && has_instruction(line, equal[i].text)) return true;
    return false;
}

/* ---- Faults ---- */

static char digit_turned(char c, unsigned bit)
{
    const unsigned value = (unsigned)(isdigit((unsigned char)c) ? c - '0' : toupper((unsigned char)c) - 'A' + 10);
    return "0123456789ABCDEF"[value ^ 1u << bit];
}

/* selp d, a, b, p: both operands become the one that is wanted. */
static void take_side(char *line, bool second)
{
    char *a = strchr(line, ',') + 1, *b = strchr(a, ',') + 1, *end = strchr(b, ',');
    char left[64], right[64];
    snprintf(left, sizeof left, "%.*s", (int)(b - 1 - a), a);
    snprintf(right, sizeof right, "%.*s", (int)(end - b), b);
    const char *taken = second ? right : left;
    const size_t room = (size_t)(end - a), n = strlen(taken);
    char both[136];
    snprintf(both, sizeof both, "%s,%s", taken, taken);
    if (2 * n + 1 > room) { /* a longer pair needs more room than there is: the caller left it */
        memmove(a + 2 * n + 1, end, strlen(end) + 1);
        memcpy(a, both, 2 * n + 1);
        return;
    }
    memset(a, ' ', room);
    memcpy(a, both, 2 * n + 1);
}

/* The text with one fault, which the caller frees, and its line; NULL: there is no such fault. */
static char *faulty(const char *text, enum kind kind, size_t index, const char **line)
{
    unsigned bits = 64;
    const char *at = kind <= MIDDLE_BIT ? literal_at(text, index, &bits)
        : line_at(text, kind == REMOVED ? "@" : "selp.", index);
    char *copy = at ? malloc(strlen(text) + 256) : NULL;
    if (!copy) return NULL;
    strcpy(copy, text);
    char *place = copy + (at - text);
    *line = at;
    while (*line > text && (*line)[-1] != '\n') --*line;
    const unsigned mantissa = bits == 64 ? 52 : 23, bit = kind == TOP_BIT ? mantissa - 1 : (mantissa + 1) / 2;
    if (kind <= MIDDLE_BIT) {
        char *digit = place + (bits - 1 - bit) / 4;
        *digit = digit_turned(*digit, bit % 4);
    } else if (kind == REMOVED && line_has(place, "bra") && place[strspn(place, " \t")] == '@' &&
               place[strspn(place, " \t") + 1] == '!') {
        memset(place, ' ', (size_t)(strstr(place, "bra") - place)); /* nothing enters what an `if` skips */
    } else if (kind == REMOVED) memset(place, ' ', strcspn(place, "\n"));
    else take_side(place, kind == SECOND_SIDE);
    return copy;
}

/* A literal whose middle bit no result shows is one that adds to the last bits: its top bit must show. */
void text_mutants(cj_ptx *p, const char *name, bool rounded, bool (*notices)(cj_ptx *, void *), void *context)
{
    size_t made[KINDS] = { 0 }, noticed[KINDS] = { 0 };
    const char *text, *line = NULL;
    char *own;
    if (cj_ptx_print(p, 0, &text, NULL)) {
        tap_fail("%s: %s", name, cj_error_of(p)->message);
        return;
    }
    own = malloc(strlen(text) + 1);
    strcpy(own, text);
    for (unsigned kind = 0; kind < KINDS; kind++) {
        char *copy;
        for (size_t i = 0; (copy = faulty(own, (enum kind)kind, i, &line)); i++) {
            cj_ptx *q = cj_parse(copy, strlen(copy), "mutant");
            const bool found = cj_ptx_status(q) || notices(q, context) || is_equal(name, line);
            made[kind]++;
            noticed[kind] += found;
            if (!found && kind != MIDDLE_BIT)
                tap_diag("%s: no result shows this, %s: %.*s", name, kinds[kind], (int)strcspn(line, "\n"), line);
            cj_ptx_free(q);
            free(copy);
        }
    }
    for (unsigned kind = 0; kind < KINDS; kind++)
        tap_diag("%s: %s: %zu of %zu are noticed", name, kinds[kind], noticed[kind], made[kind]);
    tap_ok(noticed[TOP_BIT] == made[TOP_BIT] || (rounded && noticed[TOP_BIT]),
           "%s: a bit of each of %zu coefficients is noticed", name, made[TOP_BIT]);
    tap_ok(noticed[REMOVED] == made[REMOVED] && noticed[FIRST_SIDE] == made[FIRST_SIDE]
               && noticed[SECOND_SIDE] == made[SECOND_SIDE],
           "%s: each of %zu special cases is noticed", name, made[REMOVED] + made[FIRST_SIDE] + made[SECOND_SIDE]);
    free(own);
}
