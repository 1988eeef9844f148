/* Source lines (.file, .loc), pragmas.  Manual 11.5, 11.4.7. */
#include "ptx/build.h"
#include "ptx/parser.h"
#include "ptx/print.h"

#include <stdio.h>
#include <string.h>

/* -- .file --------------------------------------------------------------------------------------------------------- */

/* A number as a key of eight bytes, its lowest byte last. */
static uint64_t line_key(uint64_t number) { return number << 56 | number >> 8; }

static bool line_add_file(cji_parser *p, uint64_t number, uint32_t file)
{
    size_t known = p->srcmap.n;
    uint64_t key = line_key(number);
    uint32_t i = cji_map_intern(&p->srcmap, (const char *)&key, sizeof key);
    if (i == CJI_MAP_NONE) return cji_parse_fail(p, CJ_ENOMEM, "no memory for .file");
    if (!cji_parse_grow(p, &p->srcfile, &p->csrcfile, (size_t)i + 1, sizeof *p->srcfile)) return false;
    if (i == known) p->srcfile[i] = file;   /* the first of a number counts */
    return true;
}

/* The current token is the file's name. */
static bool line_take_file(cji_parser *p, uint64_t number)
{
    cji_lex *x = &p->x;
    if (!cji_parse_grow(p, &p->data, &p->cdata, x->n + 1, 1)) return false;
    size_t n = strnlen(x->s, x->n);   /* an empty name is no file: its lines are not kept */
    for (size_t i = 0; i < n; i++) p->data[i] = (uint8_t)cji_print_file_char(x->s[i]);
    uint32_t file = cji_ptx_file(p->m, (const char *)p->data, n);
    return cji_parse_fine(p) && line_add_file(p, number, file);
}

/* That no .file directive above has that number; what cji_parse_scan_files() has read does not count. */
static bool line_first_of_number(cji_parser *p, uint64_t number)
{
    size_t known = p->srcseen.n;
    uint64_t key = line_key(number);
    uint32_t i = cji_map_intern(&p->srcseen, (const char *)&key, sizeof key);
    if (i == CJI_MAP_NONE) return cji_parse_fail(p, CJ_ENOMEM, "no memory for .file");
    if (i == known) return true;
    return cji_parse_fail(p, CJ_EPTX, "a second .file %llu", (unsigned long long)number);
}

/* .file 1 "name" {, time, size}: the current token is .file. */
bool cji_parse_file(cji_parser *p)
{
    cji_lex *x = &p->x;
    uint64_t number = 0, unused;
    const char *first = x->s;
    cji_lex_next(x);
    if (!cji_parse_integer(p, UINT32_MAX, "a .file number", &number)) return false;
    if (!line_first_of_number(p, number)) return false;
    if (x->kind != CJI_TOK_STRING) return cji_parse_expected(p, "the file's name in quotes");
    if (!line_take_file(p, number)) return false;
    const char *last = x->p;
    cji_lex_next(x);
    for (unsigned i = 0; i < 2 && cji_parse_maybe(p, ','); i++) {
        last = x->p;
        if (!cji_parse_plain(p, UINT64_MAX, "a .file time or size", &unused)) return false;
    }
    return !p->debug_line || cji_parse_raw(p, &p->m->debug_files, first, (size_t)(last - first));
}

/* Does `at` lie in a comment?  *from, where none is open, moves on to it, or behind the comment. */
static bool line_in_comment(const char **from, const char *at, const char *end)
{
    const char *p = *from, *close;
    while (p < at) {
        if (p + 1 < end && p[0] == '/' && p[1] == '*') {
            close = memmem(p + 2, (size_t)(end - p - 2), "*/", 2);
            p = close ? close + 2 : end;
        } else if (p + 1 < end && p[0] == '/' && p[1] == '/') {
            close = memchr(p, '\n', (size_t)(end - p));
            p = close ? close : end;
        } else {
            p++;
        }
    }
    *from = p;
    return p > at;
}

/* Compilers write .file behind what uses it: reads all that there are, before the text itself.  What is wrong there
 * fails when it is reached. */
bool cji_parse_scan_files(cji_parser *p)
{
    const cji_lex here = p->x;
    cji_lex *x = &p->x;
    const char *at = here.p, *seen = here.p;
    bool fine = true;
    if (!memchr(at, '"', (size_t)(here.end - at))) return true;   /* no file has a name */
    while (fine && (at = memmem(at, (size_t)(here.end - at), ".file", 5)) != NULL) {
        const char *q = at;
        while (q > here.p && (q[-1] == ' ' || q[-1] == '\t')) q--;
        *x = here;
        x->p = at;
        at += 5;
        if ((q > here.p && q[-1] != '\n') || line_in_comment(&seen, q, here.end)) continue;
        if (cji_lex_next(x) != CJI_TOK_DOT || x->n != 5 || cji_lex_next(x) != CJI_TOK_INT) continue;
        uint64_t number = x->u;
        if (cji_lex_next(x) == CJI_TOK_STRING) fine = line_take_file(p, number);
    }
    *x = here;
    return fine;
}

/* -- .loc ---------------------------------------------------------------------------------------------------------- */

/* In m->files; 0 where there is no such .file: the line is then not known, as for other readers. */
static uint32_t line_file_of(const cji_parser *p, uint64_t number)
{
    uint64_t key = line_key(number);
    uint32_t i = cji_map_find(&p->srcmap, (const char *)&key, sizeof key);
    return i == CJI_MAP_NONE ? 0 : p->srcfile[i];
}

/* ", name N N N" at the end of what is read of a .loc: kept as text with debug data. */
static bool line_note(cji_parser *p, const char *word, size_t n, const uint64_t *number, unsigned count)
{
    char digits[24];
    if (!p->debug_line) return true;
    if (!cji_parse_grow(p, &p->data, &p->cdata, p->ndata + n + count * sizeof digits + 2, 1)) return false;
    memcpy(p->data + p->ndata, word, n);
    p->ndata += n;
    for (unsigned i = 0; i < count; i++)
        p->ndata += (size_t)sprintf((char *)p->data + p->ndata, " %llu", (unsigned long long)number[i]);
    return true;
}

/* function_name LABEL {+ N} */
static bool line_function(cji_parser *p)
{
    cji_lex *x = &p->x;
    uint64_t offset = 0;
    char digits[24];
    if (x->kind != CJI_TOK_WORD) return cji_parse_expected(p, "a label");
    const char *label = x->s;
    size_t n = x->n;
    cji_lex_next(x);
    if (!line_note(p, ", function_name ", 16, NULL, 0) || !line_note(p, label, n, NULL, 0)) return false;
    if (!cji_parse_maybe(p, '+')) return true;
    if (!cji_parse_integer(p, UINT64_MAX, "an offset", &offset)) return false;
    int len = snprintf(digits, sizeof digits, "+%llu", (unsigned long long)offset);
    return line_note(p, digits, (size_t)len, NULL, 0);
}

/* function_name LABEL {+ N}, inlined_at FILE LINE COLUMN: kept with debug data, else left out. */
static bool line_attributes(cji_parser *p)
{
    cji_lex *x = &p->x;
    uint64_t at[3];
    while (cji_parse_maybe(p, ',')) {
        if (x->kind != CJI_TOK_WORD) return cji_parse_expected(p, "function_name or inlined_at");
        bool inlined = x->n == 10 && !memcmp(x->s, "inlined_at", 10);
        cji_lex_next(x);
        if (!inlined) {
            if (!line_function(p)) return false;
            continue;
        }
        for (unsigned i = 0; i < 3; i++)
            if (!cji_parse_integer(p, UINT64_MAX, "a number behind inlined_at", &at[i])) return false;
        if (!line_note(p, ", inlined_at", 12, at, 3)) return false;
    }
    return true;
}

/* The instructions of `f` lose their lines of the text as places, and keep them beside. */
static bool line_set_apart(cji_parser *p, cj_fn *f)
{
    uint32_t file;
    if (!cji_parse_grow(p, &f->text_line, &f->ctext_line, f->nins, sizeof *f->text_line)) return false;
    f->ntext_line = f->nins;
    for (size_t i = 0; i < f->nins; i++) {
        f->text_line[i] = 0;
        if (f->ins[i].form >= CJI_INS_PSEUDO) continue;
        cji_ptx_loc_split(p->m, f->ins[i].loc, &file, &f->text_line[i]);
        f->ins[i].loc = 0;
    }
    return true;
}

/* The text's first .loc: from now on only .loc gives places, and what was read before has none. */
static bool line_first_loc(cji_parser *p)
{
    p->has_loc = true;
    for (size_t i = 0; i < p->m->nfn; i++)
        if (!line_set_apart(p, p->m->fn[i])) return false;
    return true;
}

/* .loc FILE LINE COLUMN: what follows comes from there. */
bool cji_parse_loc(cji_parser *p)
{
    uint64_t at[3];
    static const char *const what[] = { "a .loc file", "a .loc line", "a .loc column" };
    if (!p->has_loc && !p->heads && !line_first_loc(p)) return false;
    cji_lex_next(&p->x);
    for (unsigned i = 0; i < 3; i++)
        if (!cji_parse_integer(p, UINT32_MAX, what[i], &at[i])) return false;
    p->ndata = 0;
    if (!line_note(p, ".loc", 4, at, 3) || !line_attributes(p)) return false;
    if (p->debug_line && !cji_parse_keep_loc(p, (const char *)p->data, p->ndata)) return false;
    uint32_t file = line_file_of(p, at[0]);
    p->loc = file && at[1] ? cji_ptx_loc(p->m, file, (uint32_t)at[1]) : 0;
    return cji_parse_fine(p);
}

/* -- .pragma ------------------------------------------------------------------------------------------------------- */

/* .pragma "text" {, "text"} ; */
bool cji_parse_pragma(cji_parser *p, bool (*each)(cji_parser *p, uint32_t name))
{
    cji_lex *x = &p->x;
    if (!cji_parse_need(p, 20, 20, ".pragma")) return false;
    do {
        if (cji_lex_next(x) != CJI_TOK_STRING) return cji_parse_expected(p, "a pragma's text in quotes");
        uint32_t name = cji_ptx_intern(p->m, x->s, x->n);
        if (!cji_parse_fine(p) || !each(p, name)) return false;
    } while (cji_lex_next(x) == ',');
    return cji_parse_take(p, ';', "behind .pragma");
}
