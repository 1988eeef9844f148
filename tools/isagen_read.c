/* isagen: reading .def files: entries NAME(arg, ...), comments, and #define of strings. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "isagen.h"

typedef struct macro { char name[40]; char *text; } macro;
static macro macros[64];
static int macro_count;

static char *slurp(const char *path)
{
    FILE *f = fopen(path, "rb");
    if (!f) { gen_error(path, 0, "cannot be opened"); return NULL; }
    size_t cap = 1 << 16, n = 0;
    char *s = gen_alloc(cap);
    for (size_t got; (got = fread(s + n, 1, cap - n - 1, f)) > 0;) {
        n += got;
        if (n + 1 < cap) continue;
        char *bigger = gen_alloc(cap * 2);
        memcpy(bigger, s, n);
        s = bigger;
        cap *= 2;
    }
    s[n] = 0;
    fclose(f);
    return s;
}

static const char *skip(const char *s, int *line)
{
    for (;;) {
        if (*s == '\n') { ++*line; s++; }
        else if (isspace((unsigned char)*s)) s++;
        else if (s[0] == '/' && s[1] == '*') {
            for (s += 2; *s && !(s[0] == '*' && s[1] == '/'); s++) if (*s == '\n') ++*line;
            if (*s) s += 2;
        } else if (s[0] == '/' && s[1] == '/') {
            while (*s && *s != '\n') s++;
        } else return s;
    }
}

static const char *macro_find(const char *name, size_t n)
{
    for (int i = 0; i < macro_count; i++)
        if (strlen(macros[i].name) == n && !memcmp(macros[i].name, name, n)) return macros[i].text;
    return NULL;
}

/* One argument: strings and macro names joined, other text as it stands.  Ends at , or ) of depth 0. */
static const char *argument(const char *s, const char *path, int *line, char *out, size_t size)
{
    size_t n = 0;
    int depth = 0;
    for (;;) {
        s = skip(s, line);
        if (!*s) { gen_error(path, *line, "the file ends inside an entry"); break; }
        if (!depth && (*s == ',' || *s == ')')) break;
        if (*s == '"') {
            for (s++; *s && *s != '"' && *s != '\n' && n + 1 < size; s++) out[n++] = *s;
            if (*s != '"') { gen_error(path, *line, "a string does not end on its line, or is too long"); break; }
            s++;
        } else if (isalpha((unsigned char)*s) || *s == '_') {
            const char *b = s;
            while (isalnum((unsigned char)*s) || *s == '_') s++;
            const char *m = macro_find(b, (size_t)(s - b));
            size_t len = m ? strlen(m) : (size_t)(s - b);
            if (n + len + 1 >= size) { gen_error(path, *line, "an argument is too long"); break; }
            memcpy(out + n, m ? m : b, len);
            n += len;
        } else {
            depth += (*s == '(') - (*s == ')');
            if (n + 1 < size) out[n++] = *s;
            s++;
        }
    }
    out[n] = 0;
    return s;
}

static const char *define(const char *s, const char *path, int *line)
{
    if (macro_count == (int)(sizeof macros / sizeof *macros)) {
        gen_error(path, *line, "too many #define");
        return s + strlen(s);
    }
    macro *m = &macros[macro_count];
    s += 7;
    while (*s == ' ') s++;
    size_t n = 0;
    while ((isalnum((unsigned char)*s) || *s == '_') && n + 1 < sizeof m->name) m->name[n++] = *s++;
    m->name[n] = 0;
    char text[2000];
    size_t t = 0;
    while (*s && *s != '\n') {
        if (*s == '"') {
            for (s++; *s && *s != '"' && *s != '\n' && t + 1 < sizeof text; s++) text[t++] = *s;
            if (*s != '"') { gen_error(path, *line, "a string does not end on its line"); break; }
            s++;
        } else if (isalpha((unsigned char)*s)) {
            const char *b = s;
            while (isalnum((unsigned char)*s) || *s == '_') s++;
            const char *x = macro_find(b, (size_t)(s - b));
            if (!x) { gen_error(path, *line, "#define %s: %.*s is not defined", m->name, (int)(s - b), b); break; }
            if (t + strlen(x) < sizeof text) { memcpy(text + t, x, strlen(x)); t += strlen(x); }
        } else s++;
    }
    text[t] = 0;
    m->text = gen_alloc(t + 1);
    memcpy(m->text, text, t + 1);
    macro_count++;
    return s;
}

void gen_read(const char *path, void (*each)(const gen_entry *))
{
    char *text = slurp(path);
    if (!text) return;
    int line = 1, kept = macro_count;
    for (const char *s = skip(text, &line); *s; s = skip(s, &line)) {
        if (!strncmp(s, "#define ", 8)) { s = define(s, path, &line); continue; }
        if (*s == '#') { while (*s && *s != '\n') s++; continue; }
        gen_entry *e = gen_alloc(sizeof *e);
        e->file = path;
        e->line = line;
        size_t n = 0;
        while ((isalnum((unsigned char)*s) || *s == '_') && n + 1 < sizeof e->name) e->name[n++] = *s++;
        s = skip(s, &line);
        if (!n || *s != '(') { gen_error(path, line, "expected NAME(...), found '%.12s'", s); return; }
        do {
            static char buffer[8000];
            s = argument(s + 1, path, &line, buffer, sizeof buffer);
            if (e->argc == GEN_ARGS) { gen_error(path, line, "an entry has more than %d arguments", GEN_ARGS); return; }
            e->arg[e->argc] = gen_alloc(strlen(buffer) + 1);
            strcpy(e->arg[e->argc++], buffer);
        } while (*s == ',');
        if (*s != ')') return;
        s++;
        each(e);
    }
    macro_count = kept; /* a #define holds in its own file */
}
