/* From a line of the printed text back to the source line of the builder's call, without a trace of it in the text.
 *
 * Printing is deterministic, so the text is written again, one definition at a time, and its lines are counted.  A
 * record of a body is one line, with CJ_PRINT_LINES sometimes behind a .loc line. */
#include "ptx/print.h"

static uint32_t count_lines(const cji_text *t)
{
    uint32_t n = 0;
    const char *p = t->p, *end = p ? p + t->n : p;
    while (p < end && (p = memchr(p, '\n', (size_t)(end - p)))) n++, p++;
    return n;
}

/* The loc of line `line` (from 1) of a module's front: its variables are the last lines of it, one each. */
static uint32_t front_loc(const cj_ptx *m, uint32_t lines, uint32_t line)
{
    uint32_t after = lines - line;
    for (size_t i = m->nvar; i-- > 0;)
        if (!m->var[i]->fn && m->var[i]->flags & CJI_VAR_DECLARED && !after--) return m->var[i]->loc;
    for (size_t i = m->nvar; i-- > 0;)
        if (!m->var[i]->fn && !after--) return m->var[i]->loc;
    return 0;
}

/* The loc of line `line` (from 1) behind the declarations of a body; that of the function for its last lines. */
static uint32_t record_loc(const cj_fn *f, unsigned flags, uint32_t line)
{
    uint32_t said = 0;
    for (size_t i = 0; i < f->nins; i++) {
        const cji_ins *x = &f->ins[i];
        if (x->form == CJI_INS_RAW && !f->m->debug) continue;
        if (cji_print_lines(f->m, flags) && cji_print_has_loc(x, said)) {
            said = x->loc;
            if (!--line) return x->loc;
        }
        if (!--line) return x->loc;
    }
    return f->decl_loc;
}

/* The loc of line `line` (from 1) of a definition that has more lines than that. */
static uint32_t definition_loc(const cj_fn *f, unsigned flags, uint32_t line, cji_text *scratch)
{
    scratch->n = 0;
    cji_print_head(f, false, scratch);
    uint32_t head = 1 + count_lines(scratch); /* an empty line is in front of each definition */
    cji_print_declared(f, scratch);
    uint32_t first = 1 + count_lines(scratch);
    /* a parameter is a line in a kernel's head */
    if (f->kernel && line > 2 && line - 3 < f->nparam) return f->m->var[f->param[line - 3]]->loc;
    if (line <= first && line > head && first - line < f->nvar)
        return f->m->var[f->var[f->nvar - 1 - (first - line)]]->loc;
    return line <= first ? f->decl_loc : record_loc(f, flags, line - first);
}

static uint32_t find_loc(const cj_ptx *m, unsigned flags, const cji_print_files *files, uint32_t line,
                         cji_text *scratch)
{
    cji_print_list list;
    uint32_t n, loc = 0;
    cji_print_front(m, flags, files, scratch);
    n = count_lines(scratch);
    if (line <= n) return front_loc(m, n, line);
    if (!cji_print_order(m, &list)) return 0;
    for (size_t i = 0; i < list.n && !loc; i++) {
        line -= n;
        scratch->n = 0;
        cji_print_definition(list.fn[i], files, scratch);
        n = count_lines(scratch);
        if (scratch->failed) break;
        if (line <= n) {
            loc = definition_loc(list.fn[i], flags, line, scratch);
            break;
        }
    }
    cji_print_order_free(&list);
    return scratch->failed ? 0 : loc;
}

bool cji_ptx_line_of(const cj_ptx *m, unsigned flags, uint32_t ptx_line, const char **file, uint32_t *line)
{
    cji_text scratch = { 0 };
    cji_print_files files;
    bool known = ptx_line && cji_print_number_files(m, flags, &files);
    uint32_t loc = known ? find_loc(m, flags, &files, ptx_line, &scratch) : 0;
    if (known) cji_print_files_free(&files);
    cji_text_free(&scratch);
    *file = cji_ptx_where(m, loc, line);
    return loc && *line;
}
