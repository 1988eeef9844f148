/* The text of declarations: variables with their initial values, parameters, heads of kernels and functions. */
#include "ptx/print.h"

static const char *const link_words[] = { "", ".visible ", ".extern ", ".weak ", ".common " };   /* ORDER CJI_LINK_* */
static const char *const space_names[] = { "", ".reg", ".sreg", ".const", ".global", ".local", ".param", ".shared" };

/* ---- Initial values ---------------------------------------------------------------------------------------------- */

/* The addresses of a variable are in the order of their offsets. */
static const cji_reloc *reloc_at(const cji_var *v, uint64_t at)
{
    uint32_t from = 0, to = v->nreloc;
    while (from < to) {
        uint32_t middle = from + (to - from) / 2;
        if (v->reloc[middle].at < at) from = middle + 1;
        else to = middle;
    }
    return from < v->nreloc && v->reloc[from].at == at ? &v->reloc[from] : NULL;
}

static void print_reloc(const cj_ptx *m, const cji_reloc *r, cji_text *out)
{
    uint32_t i = cji_word_index(r->word);
    const char *name = cji_ptx_name(m, cji_word_kind(r->word) == CJI_K_FUNC ? m->fn[i]->name : m->var[i]->name);
    if (r->shift != 0xff) cji_text_printf(out, "0x%llX(", 0xffull << 8 * r->shift);
    if (r->generic) cji_text_puts(out, "generic(");
    cji_text_puts(out, name);
    if (r->generic) cji_text_putc(out, ')');
    if (r->addend) cji_text_printf(out, "+%lld", (long long)r->addend);
    if (r->shift != 0xff) cji_text_putc(out, ')');
}

static void print_scalar(const cj_ptx *m, const cji_var *v, uint64_t at, cji_text *out)
{
    unsigned bytes = cji_type_bits(v->type) / 8;
    const cji_reloc *r = reloc_at(v, at);
    uint64_t x = 0;
    char text[24], *p;
    if (r) { print_reloc(m, r, out); return; }
    for (unsigned i = 0; i < bytes && i < 8; i++) x |= (uint64_t)v->init[at + i] << 8 * i;
    if (v->type == CJ_F32 || v->type == CJ_F64) {
        text[0] = '0';
        text[1] = v->type == CJ_F32 ? 'f' : 'd';
        p = cji_put_hex(text + 2, x, 2 * bytes);
    } else if (cji_type_is_signed(v->type)) {
        p = cji_put_i64(text, bytes == 8 ? (int64_t)x : (int64_t)(x << (64 - 8 * bytes)) >> (64 - 8 * bytes));
    } else if (x > INT64_MAX) {
        text[0] = '0';
        text[1] = 'x';
        p = cji_put_hex(text + 2, x, 16);
    } else {
        p = cji_put_i64(text, (int64_t)x);
    }
    cji_text_put(out, text, (size_t)(p - text));
}

/* The values of dimension `d` (ndim: the elements of a vector) from byte `at` on, as far as they were given. */
static void print_level(const cj_ptx *m, const cji_var *v, uint32_t d, uint64_t at, cji_text *out)
{
    uint64_t each = cji_type_bits(v->type) / 8, n = d < v->ndim ? v->dim[d] : v->vec;
    if (d > v->ndim || (d == v->ndim && !v->vec)) { print_scalar(m, v, at, out); return; }
    for (uint32_t i = d + 1; i < v->ndim; i++) each *= v->dim[i];
    if (d < v->ndim && v->vec) each *= v->vec;
    cji_text_putc(out, '{');
    for (uint64_t i = 0; i < n && at + i * each < v->ninit; i++) {
        if (i) cji_text_puts(out, ", ");
        print_level(m, v, d + 1, at + i * each, out);
    }
    cji_text_putc(out, '}');
}

/* ---- Variables --------------------------------------------------------------------------------------------------- */

static void print_number(const char *before, uint32_t x, cji_text *out)
{
    char digits[10];
    cji_text_puts(out, before);
    cji_text_put(out, digits, (size_t)(cji_put_u32(digits, x) - digits));
}

static void print_attributes(const cji_var *v, cji_text *out)
{
    if (v->flags & CJI_VAR_MANAGED) cji_text_puts(out, " .attribute(.managed)");
    if (v->flags & CJI_VAR_UNIFIED) cji_text_puts(out, " .attribute(.unified)");
    if (v->align && !(v->flags & CJI_VAR_PTR)) print_number(" .align ", v->align, out);
    if (v->vec) print_number(" .v", v->vec, out);
}

/* ptxas takes no parameters and results of .u16 and .s16 in registers of functions that are called, but .b16. */
static unsigned type_in_register(const cji_var *v)
{
    const bool refused = v->flags & CJI_VAR_HEAD && (v->type == CJ_U16 || v->type == CJ_S16);
    return cji_print_type(refused ? CJ_B16 : v->type);
}

static void print_type(const cji_var *v, cji_text *out)
{
    static const char *const opaque[] = { "", ".texref", ".samplerref", ".surfref" };
    cji_text_puts(out, v->opaque ? " " : " .");
    if (v->opaque) cji_text_puts(out, opaque[v->opaque]);
    else cji_text_puts(out, cji_type_word(v->space == CJI_SP_REG ? type_in_register(v) : cji_type_mem(v->type)));
    if (!(v->flags & CJI_VAR_PTR)) return;
    cji_text_puts(out, " .ptr");
    if (v->ptr_space != CJI_SP_GENERIC) {
        cji_text_putc(out, ' ');
        cji_text_puts(out, space_names[v->ptr_space]);
    }
    if (v->ptr_align) print_number(" .align ", v->ptr_align, out);
}

void cji_print_var(const cj_ptx *m, const cji_var *v, bool semicolon, cji_text *out)
{
    cji_text_puts(out, link_words[v->linkage]);
    cji_text_puts(out, space_names[v->space]);
    print_attributes(v, out);
    print_type(v, out);
    cji_text_putc(out, ' ');
    cji_text_puts(out, v->name ? cji_ptx_name(m, v->name) : "_");
    for (uint32_t i = 0; i < v->ndim; i++) {
        if (!i && v->flags & CJI_VAR_UNSIZED) cji_text_puts(out, "[]");
        else cji_text_printf(out, "[%llu]", (unsigned long long)v->dim[i]);
    }
    if (v->properties) cji_text_printf(out, " = %s", cji_ptx_name(m, v->properties));
    if (v->ninit) {
        cji_text_puts(out, " = ");
        print_level(m, v, 0, 0, out);
    }
    if (semicolon) cji_text_puts(out, ";\n");
}

void cji_print_vars(const cj_ptx *m, const uint32_t *list, size_t n, bool own, cji_text *out)
{
    for (size_t i = 0; i < n; i++) {
        if (own) cji_text_putc(out, '\t');
        cji_print_var(m, m->var[list[i]], true, out);
    }
}

/* ---- Heads ------------------------------------------------------------------------------------------------------- */

static void print_parameters(const cj_fn *f, const uint32_t *list, size_t n, bool lines, cji_text *out)
{
    cji_text_puts(out, n && lines ? "(\n" : "(");
    for (size_t i = 0; i < n; i++) {
        if (lines) cji_text_putc(out, '\t');
        cji_print_var(f->m, f->m->var[list[i]], false, out);
        if (i + 1 < n) cji_text_putc(out, ',');
        if (lines) cji_text_putc(out, '\n');
        else if (i + 1 < n) cji_text_putc(out, ' ');
    }
    cji_text_putc(out, ')');
}

static void print3(const char *word, const uint32_t *v, cji_text *out)
{
    if (v[0]) cji_text_printf(out, "\n%s %u, %u, %u", word, v[0], v[1], v[2]);
}

static void print1(const char *word, uint32_t v, cji_text *out)
{
    if (v) cji_text_printf(out, "\n%s %u", word, v);
}

static void print_bounds(const cj_fn *f, cji_text *out)
{
    const cji_bounds *b = &f->bounds;
    print3(".maxntid", b->maxntid, out);
    print3(".reqntid", b->reqntid, out);
    print1(".minnctapersm", b->minctas, out);
    print1(".maxnreg", b->maxreg, out);
    print3(".reqnctapercluster", b->cluster, out);
    if (b->explicit_cluster) cji_text_puts(out, "\n.explicitcluster");
    print1(".maxclusterrank", b->maxrank, out);
    if (b->blocks_are_clusters) cji_text_puts(out, "\n.blocksareclusters");
    for (size_t i = 0; i < f->npragma; i++) cji_text_printf(out, "\n.pragma \"%s\";", cji_ptx_name(f->m, f->pragma[i]));
}

/* The signature of a .callprototype has no name and no linkage. */
void cji_print_head(const cj_fn *f, bool declaration, cji_text *out)
{
    if (!f->proto) {
        cji_text_puts(out, link_words[f->linkage]);
        cji_text_puts(out, f->kernel ? ".entry " : ".func ");
    }
    if (f->nresult) {
        print_parameters(f, f->result, f->nresult, false, out);
        cji_text_putc(out, ' ');
    }
    cji_text_puts(out, f->proto ? "_" : cji_ptx_name(f->m, f->name));
    if (f->proto) cji_text_putc(out, ' ');
    if (f->nparam || f->kernel || f->proto) print_parameters(f, f->param, f->nparam, f->kernel, out);
    if (f->bounds.noreturn) cji_text_puts(out, " .noreturn");
    if (f->bounds.preserve) cji_text_printf(out, " .abi_preserve %u", f->bounds.preserve - 1);
    if (f->bounds.preserve_control) cji_text_printf(out, " .abi_preserve_control %u", f->bounds.preserve_control - 1);
    if (declaration) {
        cji_text_putc(out, ';');
        return;
    }
    print_bounds(f, out);
    cji_text_putc(out, '\n');
}
