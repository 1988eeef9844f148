/* A writer of JSON. */
#include "json.h"

#include <string.h>

/* How many bytes the UTF-8 sequence at `s` has; 0: it is none. */
static unsigned utf8_length(const unsigned char *s)
{
    static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
    unsigned n = *s < 0x80 ? 1 : *s < 0xc2 ? 0 : *s < 0xe0 ? 2 : *s < 0xf0 ? 3 : *s < 0xf5 ? 4 : 0;
    uint32_t code = n > 1 ? *s & (0x7fu >> n) : *s;
    for (unsigned i = 1; i < n; i++) {
        if ((s[i] & 0xc0) != 0x80) return 0;
        code = code << 6 | (s[i] & 0x3f);
    }
    if (n > 1 && (code < least[n] || (code >= 0xd800 && code < 0xe000) || code > 0x10ffff)) return 0;
    return n;
}

static void put_string(FILE *file, const char *text)
{
    const unsigned char *s = (const unsigned char *)text;
    putc('"', file);
    while (*s) {
        unsigned n = utf8_length(s);
        if (!n) fputs("\xef\xbf\xbd", file), s++;
        else if (*s == '"' || *s == '\\') fprintf(file, "\\%c", *s++);
        else if (*s < 0x20) fprintf(file, "\\u%04x", *s++);
        else fwrite(s, 1, n, file), s += n;
    }
    putc('"', file);
}

/* Comma, new line, indentation and key of the next value. */
static void begin_value(json *j, const char *key)
{
    if (j->depth) {
        if (j->filled[j->depth]) putc(',', j->file);
        fprintf(j->file, "\n%*s", (int)(2 * j->depth), "");
        j->filled[j->depth] = true;
    }
    if (!key) return;
    put_string(j->file, key);
    fputs(": ", j->file);
}

void json_open(json *j, const char *key, char bracket)
{
    begin_value(j, key);
    putc(bracket, j->file);
    if (j->depth + 1 < JSON_DEPTH) j->filled[++j->depth] = false;
}

void json_close(json *j, char bracket)
{
    bool filled = j->filled[j->depth--];
    if (filled) fprintf(j->file, "\n%*s", (int)(2 * j->depth), "");
    putc(bracket, j->file);
    if (!j->depth) putc('\n', j->file);
}

void json_string(json *j, const char *key, const char *value)
{
    begin_value(j, key);
    put_string(j->file, value);
}

void json_integer(json *j, const char *key, int64_t value)
{
    begin_value(j, key);
    fprintf(j->file, "%lld", (long long)value);
}

void json_bool(json *j, const char *key, bool value)
{
    begin_value(j, key);
    fputs(value ? "true" : "false", j->file);
}
