/* The table of expr: CSV by RFC 4180, split into fields in place. */
#include "expr.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static char *slurp(const char *path, size_t *bytes)
{
    FILE *f = strcmp(path, "-") ? fopen(path, "rb") : stdin;
    if (!f) return fprintf(stderr, "expr: %s: %s\n", path, strerror(errno)), NULL;
    char *text = NULL, *more;
    size_t n = 0, room = 0, got;
    do {
        if (room - n < 4096) {
            room = room ? room * 2 : 65536;
            if (!(more = realloc(text, room + 1))) {
                fprintf(stderr, "expr: %s: out of memory\n", path);
                goto fail;
            }
            text = more;
        }
        got = fread(text + n, 1, room - n, f);
        n += got;
    } while (got);
    if (ferror(f)) {
        fprintf(stderr, "expr: %s: %s\n", path, strerror(errno));
        goto fail;
    }
    if (f != stdin) fclose(f);
    text[n] = 0;
    *bytes = n;
    return text;
fail:
    if (f != stdin) fclose(f);
    free(text);
    return NULL;
}

/* Cuts one field off at *at (NUL-terminated in place, quotes undone). Moves *at past its delimiter, which is stored in
 * *ended (',' or '\n' or 0). Gives NULL with a reason for quotes that do not close or are followed by text. */
static char *cut_field(char **at, char *end, char *ended, size_t *line, const char **why)
{
    char *s = *at, *out = s, *field = s;
    if (*s == '"') {
        for (s++;; s++) {
            if (s == end) return *why = "a quoted field never ends", NULL;
            if (*s == '\n') ++*line;
            if (*s == '"' && *++s != '"') break;
            *out++ = *s;
        }
        if (s != end && *s != ',' && *s != '\n' && *s != '\r')
            return *why = "there is text behind a closing quote", NULL;
    } else {
        while (s != end && *s != ',' && *s != '\n') {
            if (*s == '"') return *why = "there is a quote inside a field without quotes", NULL;
            if (!*s) return *why = "there is a NUL byte", NULL;
            s++;
        }
        out = s > field && (s == end || *s == '\n') && s[-1] == '\r' ? s - 1 : s;
    }
    if (s != end && *s == '\r') s++;
    *ended = s == end ? 0 : *s;
    *out = 0;
    *at = s == end ? s : s + 1;
    return field;
}

static bool out_of_memory(const char *path)
{
    fprintf(stderr, "expr: %s: out of memory\n", path);
    return false;
}

static bool read_heading(table *t, const char *path, char **at, char *end, size_t *line)
{
    const char *why = NULL;
    size_t room = 0;
    char ended = ',';
    if (*at == end)
        return fprintf(stderr, "expr: %s: the file is empty; the first line names the columns\n", path), false;
    while (ended == ',') {
        if (t->ncolumns == room) {
            char **more = realloc(t->name, (room = room ? room * 2 : 16) * sizeof *more);
            if (!more) return out_of_memory(path);
            t->name = more;
        }
        char *name = cut_field(at, end, &ended, line, &why);
        if (!name) return fprintf(stderr, "expr: %s:1: %s\n", path, why), false;
        if (!*name) return fprintf(stderr, "expr: %s:1: column %zu has no name\n", path, t->ncolumns + 1), false;
        if (table_column(t, name, strlen(name)) >= 0)
            return fprintf(stderr, "expr: %s:1: two columns are named '%s'\n", path, name), false;
        t->name[t->ncolumns++] = name;
    }
    ++*line;
    return true;
}

static bool read_rows(table *t, const char *path, char *at, char *end, size_t line)
{
    size_t room = 0;
    while (at != end) {
        size_t first = line, n = 0;
        char ended = ',';
        if (t->nrows == room) {
            room = room ? room * 2 : 1024;
            char **fields = realloc(t->field, room * t->ncolumns * sizeof *fields);
            if (!fields) return out_of_memory(path);
            t->field = fields;
            size_t *lines = realloc(t->line, room * sizeof *lines);
            if (!lines) return out_of_memory(path);
            t->line = lines;
        }
        while (ended == ',') {
            const char *why = NULL;
            char *field = cut_field(&at, end, &ended, &line, &why);
            if (!field) return fprintf(stderr, "expr: %s:%zu: %s\n", path, first, why), false;
            if (n < t->ncolumns) t->field[t->nrows * t->ncolumns + n] = field;
            n++;
        }
        line++;
        if (n == 1 && !*t->field[t->nrows * t->ncolumns] && t->ncolumns > 1) continue; /* an empty line */
        if (n != t->ncolumns)
            return fprintf(stderr, "expr: %s:%zu: the line has %zu field%s, the heading names %zu\n", path, first, n,
                           n == 1 ? "" : "s", t->ncolumns),
                   false;
        t->line[t->nrows++] = first;
    }
    return true;
}

bool table_read(table *t, const char *path)
{
    size_t bytes = 0, line = 1;
    memset(t, 0, sizeof *t);
    if (!(t->text = slurp(path, &bytes))) return false;
    char *at = t->text, *end = t->text + bytes;
    if (bytes >= 3 && !memcmp(at, "\xef\xbb\xbf", 3)) at += 3;
    return read_heading(t, path, &at, end, &line) && read_rows(t, path, at, end, line);
}

void table_free(table *t)
{
    free(t->text);
    free(t->name);
    free(t->field);
    free(t->line);
}

int table_column(const table *t, const char *name, size_t length)
{
    for (size_t i = 0; i < t->ncolumns; i++)
        if (strlen(t->name[i]) == length && !memcmp(t->name[i], name, length)) return (int)i;
    return -1;
}

bool table_numbers(const table *t, const char *path, size_t c, double *out)
{
    for (size_t r = 0; r < t->nrows; r++) {
        const char *s = t->field[r * t->ncolumns + c];
        char *end;
        out[r] = strtod(s, &end);
        while (isspace((unsigned char)*end)) end++;
        if (end == s || *end)
            return fprintf(stderr, "expr: %s:%zu: column '%s' holds '%s', which is no number\n", path, t->line[r],
                           t->name[c], s),
                   false;
    }
    return true;
}
