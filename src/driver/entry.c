/* Kernels' parameters, out of PTX text: a scanner for `.entry name ( parameters )` that skips everything else. */
#include "driver/entry.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ptx/isa.h"

typedef struct scan { const char *at; } scan;

static void skip_blank(scan *s)
{
    for (;;) {
        s->at += strspn(s->at, " \t\r\n");
        if (s->at[0] == '/' && s->at[1] == '/') {
            s->at += strcspn(s->at, "\n");
        } else if (s->at[0] == '/' && s->at[1] == '*') {
            const char *end = strstr(s->at + 2, "*/");
            s->at = end ? end + 2 : s->at + strlen(s->at);
        } else {
            return;
        }
    }
}

/* The next word or single character; its length, 0 at the end. */
static size_t next_word(scan *s, const char **word)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_$%.";
    skip_blank(s);
    *word = s->at;
    if (*s->at == '"') {
        s->at += 1 + strcspn(s->at + 1, "\"");
        s->at += *s->at == '"';
    } else {
        size_t n = strspn(s->at, letters);
        s->at += n ? n : *s->at != 0;
    }
    return (size_t)(s->at - *word);
}

static bool is_word(const char *word, size_t n, const char *want) { return n == strlen(want) && !memcmp(word, want, n); }

typedef struct head { unsigned type, pointer, align; uint64_t bytes; const char *name; size_t name_len; } head;

/* One parameter behind `.param`, up to the ',' or ')' that ends it; false for what cannot be read. */
static bool scan_param(scan *s, head *h, char *ended)
{
    const char *w;
    size_t n;
    uint64_t count = 1;
    bool opaque = false;
    *h = (head){ .type = CJ_VOID };
    while ((n = next_word(s, &w))) {
        if (*w == ',' || *w == ')') {
            *ended = *w;
            if (opaque) h->bytes = 8;
            else h->bytes = (uint64_t)cji_type_bits(h->type) / 8 * count;
            if (!h->align) h->align = opaque ? 8 : cji_type_bits(h->type) / 8u;
            if (count > 1 || h->type == CJ_B8) h->type = h->bytes > 1 ? CJ_B8 : h->type;
            return h->name && h->bytes && h->bytes < 1u << 20;
        }
        if (*w == '[') {
            if (!next_word(s, &w)) return false;
            count = strtoull(w, NULL, 0);
            if (!next_word(s, &w) || *w != ']' || !count) return false;
        } else if (is_word(w, n, ".align")) {
            if (!next_word(s, &w)) return false;
            if (!h->pointer) h->align = (unsigned)strtoul(w, NULL, 0); /* behind .ptr it is the alignment of what is pointed to */
        } else if (is_word(w, n, ".ptr")) {
            h->pointer = 1;
        } else if (is_word(w, n, ".texref") || is_word(w, n, ".samplerref") || is_word(w, n, ".surfref")) {
            opaque = true;
            h->type = CJ_B64;
        } else if (*w == '.') {
            int type = cji_type_find(w + 1, n - 1);
            if (type > 0) h->type = (unsigned)type;
        } else {
            h->name = w;
            h->name_len = n;
        }
    }
    return false;
}

static void scan_entry(scan *s, cji_text *heads)
{
    const char *name, *w;
    char ended = ',';
    size_t n = next_word(s, &name), begin = heads->n;
    cji_text_printf(heads, "E %.*s\n", (int)n, name);
    scan behind = *s;
    if (!next_word(&behind, &w) || *w != '(') return; /* no parameters */
    *s = behind;
    if (next_word(&behind, &w) && *w == ')') {
        *s = behind;
        return;
    }
    while (ended == ',') {
        head h;
        if (!(n = next_word(s, &w)) || !is_word(w, n, ".param") || !scan_param(s, &h, &ended)) {
            heads->n = begin;
            return;
        }
        cji_text_printf(heads, "P %u %u %llu %u %.*s\n", h.type, h.pointer, (unsigned long long)h.bytes, h.align, (int)h.name_len, h.name);
    }
}

void cji_entry_heads(const char *ptx, cji_text *heads)
{
    scan s = { ptx };
    const char *w;
    for (size_t n; (n = next_word(&s, &w));)
        if (is_word(w, n, ".entry")) scan_entry(&s, heads);
}

/* -- Reading heads --------------------------------------------------------------------------------------------------------- */

static const char *find_head(const char *heads, const char *name)
{
    size_t n = strlen(name);
    for (const char *p = heads; *p; p += strcspn(p, "\n"), p += *p == '\n')
        if (p[0] == 'E' && !strncmp(p + 2, name, n) && p[2 + n] == '\n') return p + 3 + n;
    return NULL;
}

static bool read_param(cj_kernel *k, const char *line, cji_param *p, uint32_t *offset)
{
    char *at;
    p->type = (uint8_t)strtoul(line + 2, &at, 10);
    p->pointer = (uint8_t)strtoul(at, &at, 10);
    p->bytes = (uint32_t)strtoul(at, &at, 10);
    uint32_t align = (uint32_t)strtoul(at, &at, 10);
    if (!align) align = 1;
    p->offset = (*offset + align - 1) / align * align;
    *offset = p->offset + p->bytes;
    p->name = cji_arena_strndup(&k->names, at + 1, strcspn(at + 1, "\n"));
    return p->name != NULL;
}

bool cji_entry_params(cj_kernel *k, const char *heads, const char *name)
{
    const char *line = find_head(heads, name);
    k->nparam = -1;
    if (!line) return true;
    size_t n = 0;
    for (const char *p = line; *p == 'P'; p += strcspn(p, "\n") + 1) n++;
    k->param = cji_arena_alloc(&k->names, (n ? n : 1) * sizeof *k->param);
    if (!k->param) return false;
    uint32_t offset = 0;
    for (size_t i = 0; i < n; i++, line += strcspn(line, "\n") + 1)
        if (!read_param(k, line, &k->param[i], &offset)) return false;
    k->nparam = (int)n;
    return true;
}

void cji_entry_names(const char *heads, char *out, size_t size)
{
    size_t at = 0;
    *out = 0;
    for (const char *p = heads; *p; p += strcspn(p, "\n"), p += *p == '\n') {
        if (*p != 'E') continue;
        int n = snprintf(out + at, size - at, "%s%.*s", at ? ", " : "", (int)strcspn(p + 2, "\n"), p + 2);
        if (n < 0 || (size_t)n + 8 >= size - at) {
            snprintf(out + at, size - at, "%s", at ? ", ..." : "...");
            return;
        }
        at += (size_t)n;
    }
}
