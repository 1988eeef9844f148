/* Debug data: .target's debug, .section, and the .file and .loc directives that belong to them.  Manual 11.5.
 *
 * With .target ..., debug all of it is kept as text and printed again: the sections byte for byte, .loc where it was
 * (CJI_INS_RAW records).  Without that word sections are left out, and .loc gives instructions their source lines. */
#include "ptx/build.h"
#include "ptx/parser.h"

#include <string.h>

bool cji_parse_raw(cji_parser *p, cji_text *to, const char *s, size_t n)
{
    if (cji_text_room(to, n + 1)) {
        cji_text_put(to, s, n);
        cji_text_putc(to, '\n');
    }
    return !to->failed || cji_parse_fail(p, CJ_ENOMEM, "no memory for debug data");
}

/* .section .name { ... } */
bool cji_parse_section(cji_parser *p)
{
    cji_lex *x = &p->x;
    const char *first = x->s;
    if (!cji_parse_need(p, 20, 20, ".section")) return false;
    if (cji_lex_next(x) != CJI_TOK_DOT) return cji_parse_expected(p, "the section's name, such as .debug_info");
    if (cji_lex_next(x) != '{') return cji_parse_expected(p, "'{' behind the section's name");
    if (!cji_lex_skip_block(x)) return cji_parse_fail(p, CJ_EPTX, "a .section without its closing brace");
    if (p->debug_line && !cji_parse_raw(p, &p->m->debug_sections, first, (size_t)(x->p - first))) return false;
    cji_lex_next(x);
    return true;
}

/* .loc with what was read of it, in p->data. */
bool cji_parse_keep_loc(cji_parser *p, const char *text, size_t n)
{
    uint32_t name = cji_ptx_intern(p->m, text, n);
    if (!cji_parse_fine(p)) return false;
    return !p->f || cji_fn_pseudo(p->f, CJI_INS_RAW, name) || cji_parse_fine(p);
}

/* Behind the text: the debug data is complete, and from now on a change drops it. */
bool cji_parse_end_debug(cji_parser *p)
{
    cj_ptx *m = p->m;
    p->line = p->debug_line;
    if (!p->debug_line) return true;
    if (!m->debug_sections.n)
        return cji_parse_fail(p, CJ_EPTX, ".target has debug, and there is no .section of debug data");
    m->debug = 1;
    m->frozen = CJI_FROZEN_DEBUG;
    return true;
}

/* @@DWARF ...: debug data of PTX 1.x, left out.  The current token is the first '@'. */
bool cji_parse_dwarf(cji_parser *p)
{
    cji_lex *x = &p->x;
    const char *end = memchr(x->s, '\n', (size_t)(x->end - x->s));
    if (p->version >= 20 && !p->heads) return cji_parse_fail(p, CJ_EPTX, "@@DWARF ended with PTX 1.5; write .section");
    if (x->end - x->s < 7 || memcmp(x->s, "@@DWARF", 7) != 0) return cji_parse_expected(p, "a directive");
    x->p = end ? end : x->end;
    cji_lex_next(x);
    return true;
}
