/* The text of a module. */
#include "ptx/print.h"

/* Which files .loc lines name: number[] has m->files.n places, all 0. */
static void find_files(const cj_ptx *m, uint32_t *number)
{
    uint32_t file, line;
    for (size_t i = 0; i < m->nfn; i++)
        for (size_t k = 0; k < m->fn[i]->nins; k++) {
            if (!cji_print_has_loc(&m->fn[i]->ins[k], 0)) continue;
            cji_ptx_loc_split(m, m->fn[i]->ins[k].loc, &file, &line);
            number[file] = 1;
        }
}

/* From 1 on without gaps, so that a text that is read again has the same numbers. */
bool cji_print_number_files(const cj_ptx *m, unsigned flags, cji_print_files *files)
{
    uint32_t n = 0;
    *files = (cji_print_files){ .n = cji_print_lines(m, flags) ? m->files.n : 0 };
    files->comments = flags & CJ_PRINT_COMMENTS;
    if (!files->n) return true;
    files->number = cji_zalloc(files->n * sizeof *files->number);
    if (!files->number) return false;
    find_files(m, files->number);
    for (size_t i = 1; i < files->n; i++)
        if (files->number[i]) files->number[i] = ++n;
    return true;
}

void cji_print_files_free(cji_print_files *files) { cji_free(files->number, files->n * sizeof *files->number); }

/* A .file directive for each file that a .loc names. */
static void print_files(const cj_ptx *m, const cji_print_files *files, cji_text *out)
{
    for (size_t i = 1; i < files->n; i++) {
        if (!files->number[i]) continue;
        cji_text_printf(out, ".file\t%u \"", files->number[i]);
        for (const char *s = m->files.entry[i].key; *s; s++) cji_text_putc(out, cji_print_file_char(*s));
        cji_text_puts(out, "\"\n");
    }
}

/* Functions that have no body, or are used before their definition. */
static void print_declarations(const cj_ptx *m, cji_text *out)
{
    for (size_t i = 0; i < m->nfn; i++) {
        const cj_fn *f = m->fn[i];
        if (f->proto || (f->body && !f->early)) continue;
        cji_print_head(f, true, out);
        cji_text_putc(out, '\n');
    }
}

void cji_print_definition(const cj_fn *f, const cji_print_files *files, cji_text *out)
{
    if (!f || f->proto || !f->body || out->failed) return;
    cji_text_putc(out, '\n');
    cji_print_head(f, false, out);
    cji_print_body(f, files, out);
}

/* By order.  What was built is in that order already; text may declare in another order than it defines. */
bool cji_print_order(const cj_ptx *m, cji_print_list *list)
{
    bool sorted = true;
    for (size_t i = 1; i < m->nfn; i++) sorted = sorted && m->fn[i - 1]->order < m->fn[i]->order;
    *list = (cji_print_list){ .fn = m->fn, .n = m->nfn };
    if (sorted) return true;
    cj_fn **at = cji_zalloc(m->norder * sizeof *at);
    if (!at) return false;
    for (size_t i = 0; i < m->nfn; i++)
        if (m->fn[i]->order < m->norder) at[m->fn[i]->order] = m->fn[i];
    *list = (cji_print_list){ .fn = at, .n = m->norder, .own = at };
    return true;
}

void cji_print_order_free(cji_print_list *list) { cji_free(list->own, list->n * sizeof *list->own); }

/* What is defined further down, for initial values that name it. */
static void print_extern(const cj_ptx *m, const cji_var *v, cji_text *out)
{
    cji_var declared = *v;
    declared.linkage = CJI_LINK_EXTERN;
    declared.ninit = declared.properties = 0;
    cji_print_var(m, &declared, true, out);
}

static void print_version(unsigned version, cji_text *out)
{
    char text[24], *p = cji_put_u32(cji_put_text(text, ".version ", 9), version / 10);
    *p++ = '.';
    p = cji_put_u32(p, version % 10);
    cji_text_put(out, text, (size_t)(p - text));
}

void cji_print_front(const cj_ptx *m, unsigned flags, const cji_print_files *files, cji_text *out)
{
    uint8_t version = 0;
    int target = cji_ptx_pick(m, flags, &version);
    if (flags & CJI_PRINT_LINK && version < 31) version = 31;
    print_version(version, out);
    cji_text_puts(out, "\n.target ");
    cji_text_puts(out, cji_target_name(target < 0 ? 0 : (uint32_t)target));
    cji_text_puts(out, m->texmode_independent ? ", texmode_independent" : "");
    cji_text_puts(out, m->debug ? ", debug" : "");
    cji_text_puts(out, m->address_size == 64 ? "\n.address_size 64\n" : "\n.address_size 32\n");
    for (size_t i = 0; i < m->npragma; i++) cji_text_printf(out, ".pragma \"%s\";\n", cji_ptx_name(m, m->pragma[i]));
    if (m->debug) cji_text_put(out, m->debug_files.p, m->debug_files.n);
    else print_files(m, files, out);
    print_declarations(m, out);
    for (uint32_t i = 0; i < m->nvar; i++)
        if (!m->var[i]->fn && m->var[i]->flags & CJI_VAR_DECLARED) print_extern(m, m->var[i], out);
        else if (!m->var[i]->fn) cji_print_vars(m, &i, 1, false, out);
    for (uint32_t i = 0; i < m->nvar; i++)
        if (!m->var[i]->fn && m->var[i]->flags & CJI_VAR_DECLARED) cji_print_vars(m, &i, 1, false, out);
}

void cji_ptx_write(const cj_ptx *m, unsigned flags, cji_text *out)
{
    cji_print_list list;
    cji_print_files files;
    if (!cji_print_number_files(m, flags, &files)) {
        out->failed = true;
        return;
    }
    cji_print_front(m, flags, &files, out);
    if (!cji_print_order(m, &list)) {
        cji_print_files_free(&files);
        out->failed = true;
        return;
    }
    for (size_t i = 0; i < list.n; i++) cji_print_definition(list.fn[i], &files, out);
    cji_print_order_free(&list);
    cji_print_files_free(&files);
    for (size_t i = 0; i < m->nalias; i++)
        cji_text_printf(out, ".alias %s, %s;\n", cji_ptx_name(m, m->fn[m->alias[i].fn]->name),
                        cji_ptx_name(m, m->fn[m->alias[i].of]->name));
    if (m->debug) cji_text_put(out, m->debug_sections.p, m->debug_sections.n);
}

/* Bytes that the text has at least, or hardly less: room for these is made at once. */
static size_t least_text(const cj_ptx *m)
{
    size_t n = 300 + 40 * (size_t)m->nvar;
    for (size_t i = 0; i < m->nfn; i++) n += 32 * m->fn[i]->nins;
    return n;
}

cj_status cj_ptx_print(cj_ptx *m, unsigned flags, const char **text, size_t *bytes)
{
    if (text) *text = "";
    if (bytes) *bytes = 0;
    cj_status s = cji_check(m, CJI_TAG_PTX, __func__);
    if (s == CJ_OK) s = cji_ptx_finish(m, __func__);
    if (s != CJ_OK) return s;
    m->text.n = 0;
    m->text.failed = false;
    cji_text_room(&m->text, least_text(m));
    cji_ptx_write(m, flags, &m->text);
    if (m->text.failed || !cji_text_room(&m->text, 1)) return cji_ptx_nomem(m, __func__);
    m->text.p[m->text.n] = 0;
    if (text) *text = m->text.p;
    if (bytes) *bytes = m->text.n;
    return CJ_OK;
}

/* Of the text: the tables may differ where it is the same, of a text that is read or of a reproducer's calls. */
cj_status cj_ptx_hash(cj_ptx *m, void *hash)
{
    cj_status s = cji_check(m, CJI_TAG_PTX, __func__);
    if (s == CJ_OK) s = cji_ptx_finish(m, __func__);
    if (s != CJ_OK) return s;
    if (!hash) return cji_ptx_fail(m, CJ_EINVAL, __func__, m->loc, "hash is NULL");
    cji_text text = { .n = 0 }; /* m->text is borrowed */
    cji_text_room(&text, least_text(m));
    cji_ptx_write(m, 0, &text);
    const cji_hash128 of_text = cji_hash_bytes(text.p, text.n);
    if (text.failed) s = cji_ptx_nomem(m, __func__);
    else memcpy(hash, &of_text, sizeof of_text);
    cji_text_free(&text);
    return s;
}
