/* See profile_texts.h. */
#include "tests/stream/profile_texts.h"

#include <stddef.h>
#include <string.h>

/* The rest behind one JSON value; NULL: it is none. */
static const char *json_value(const char *p, int depth)
{
    if (!p || depth > 20) return NULL;
    if (*p == '"') {
        for (p++; *p != '"'; p++) {
            if ((unsigned char)*p < 0x20) return NULL;
            if (*p != '\\') continue;
            p++;
            if (*p == 'u' && strspn(p + 1, "0123456789abcdef") >= 4) p += 4;
            else if (!*p || !strchr("\"\\/bfnrt", *p)) return NULL;
        }
        return p + 1;
    }
    if (*p == '{' || *p == '[') {
        const char close = *p == '{' ? '}' : ']';
        p += 1 + strspn(p + 1, "\n");
        if (*p == close) return p + 1;
        for (;;) {
            if (close == '}') {
                if (*p != '"' || !(p = json_value(p, depth + 1)) || *p != ':') return NULL;
                p++;
            }
            p = json_value(p, depth + 1);
            if (!p) return NULL;
            p += strspn(p, "\n");
            if (*p == close) return p + 1;
            if (*p != ',') return NULL;
            p += 1 + strspn(p + 1, "\n");
        }
    }
    const size_t n = strspn(p, "-0123456789.");
    return n && (p[n] == ',' || p[n] == '}' || p[n] == ']') ? p + n : NULL;
}

const char *profile_json_end(const char *text) { return json_value(text, 0); }

bool profile_xml_is_closed(const char *p)
{
    int open = 0;
    for (; *p; p++) {
        if (*p == '&' && strncmp(p, "&lt;", 4) && strncmp(p, "&gt;", 4) && strncmp(p, "&amp;", 5) &&
            strncmp(p, "&quot;", 6))
            return false;
        if (*p != '<') continue;
        const char *end = strchr(p, '>');
        if (!end) return false;
        if (p[1] == '/') open--;
        else if (end[-1] != '/') open++;
        if (open < 0) return false;
        p = end;
    }
    return open == 0;
}
