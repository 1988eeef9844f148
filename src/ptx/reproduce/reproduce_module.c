/* Variables and functions, in the order in which the module has them, and main().
 *
 * In main() each function is made in front of the call that makes its body, behind the variables.  Where a body names a
 * function that is made later, or shared memory of the launch's size stands between other variables, all functions are
 * made first, then the variables, then the bodies, callees in front of their callers. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "ptx/print.h"
#include "ptx/reproduce/reproduce.h"

static void say_why(cji_rep *r, const char *what, const char *name)
{
    if (!r->why[0]) snprintf(r->why, sizeof r->why, "%s %s", what, cji_short(name));
}

/* ---- Initial values ---------------------------------------------------------------------------------------------- */

static uint64_t element_bits(const cji_var *v, uint64_t i)
{
    const unsigned bytes = cji_type_bits(v->type) / 8;
    uint64_t x = 0;
    for (unsigned k = 0; k < bytes; k++) x |= (uint64_t)v->init[i * bytes + k] << 8 * k;
    return x;
}

static double element_float(const cji_var *v, uint64_t i)
{
    const uint64_t bits = element_bits(v, i);
    const uint32_t low = (uint32_t)bits;
    float single;
    double wide;
    memcpy(&single, &low, sizeof single);
    memcpy(&wide, &bits, sizeof wide);
    return v->type == CJ_F32 ? (double)single : wide;
}

/* Floats and doubles that C has numbers for are written as such. */
static bool are_numbers(const cji_var *v, uint64_t n)
{
    bool numbers = v->type == CJ_F32 || v->type == CJ_F64;
    for (uint64_t i = 0; i < n && numbers; i++) numbers = isfinite(element_float(v, i)) != 0;
    return numbers;
}

static void put_element(const cji_var *v, uint64_t i, bool number, cji_text *out)
{
    const unsigned bits = cji_type_bits(v->type);
    const uint64_t x = element_bits(v, i);
    const int64_t sign = (int64_t)(x << (64 - bits)) >> (64 - bits);
    const bool plain = !cji_type_is_signed(v->type);
    if (number) cji_rep_float(out, element_float(v, i), v->type == CJ_F32);
    else if (plain) cji_text_printf(out, bits == 64 ? "UINT64_C(%llu)" : "%lluu", (unsigned long long)x);
    else if (sign == INT64_MIN) cji_text_puts(out, "INT64_MIN");
    else cji_text_printf(out, bits == 64 ? "INT64_C(%lld)" : "%lld", (long long)sign);
}

/* "    static const uint32_t table_values[] = { ... };" */
static void put_values(const cji_var *v, const char *name, cji_text *out)
{
    const unsigned bits = cji_type_bits(v->type);
    const uint64_t n = v->ninit / (bits / 8);
    const bool numbers = are_numbers(v, n);
    if (numbers) cji_text_printf(out, "    static const %s ", v->type == CJ_F32 ? "float" : "double");
    else cji_text_printf(out, "    static const %sint%u_t ", cji_type_is_signed(v->type) ? "" : "u", bits);
    cji_text_printf(out, "%s[] = {", name);
    for (uint64_t i = 0; i < n; i++) {
        cji_text_puts(out, i % 8 ? ", " : i ? ",\n        " : n > 8 ? "\n        " : " ");
        put_element(v, i, numbers, out);
    }
    cji_text_puts(out, n > 8 ? "\n    };\n" : " };\n");
}

/* ---- Variables --------------------------------------------------------------------------------------------------- */

/* Can a call declare it? */
static bool is_plain(const cji_var *v)
{
    const bool here = v->linkage == CJI_LINK_VISIBLE && v->flags == CJI_VAR_ARRAY,
               there = v->linkage == CJI_LINK_EXTERN && (v->flags & ~(unsigned)CJI_VAR_UNSIZED) == CJI_VAR_ARRAY;
    return v->name && (here || (there && !v->ninit)) && v->ndim == 1 && !v->vec && !v->opaque && !v->nreloc &&
           !v->properties && (v->space == CJI_SP_GLOBAL || v->space == CJI_SP_CONST) &&
           (!v->ninit || cji_type_bits(v->type) <= 64);
}

/* The first function declares shared memory of the launch's size, where all are made first. */
static cj_val make_variable(cji_rep *r, const cji_var *v)
{
    const char *name = cji_ptx_name(r->m, v->name);
    const size_t each = cji_type_bits(v->type) / 8;
    cj_val made;
    if (cji_rep_is_dynamic(v))
        return r->m->nfn ? (cj_shared_dynamic)(r->fn[r->order[0]].g, name, (cj_type)v->type, v->align) : CJI_NULL;
    if (v->linkage == CJI_LINK_EXTERN)
        made = (cj_ptx_extern)(r->copy, name, (cj_space)v->space, (cj_type)v->type, v->dim[0]);
    else
        made = (v->space == CJI_SP_CONST ? cj_ptx_const : cj_ptx_global)(r->copy, name, (cj_type)v->type, v->dim[0],
                                                                          v->init, v->ninit / each);
    if (made.bits && v->align) (cj_ptx_var_align)(r->copy, made, v->align);
    return made;
}

static void put_variable(cji_rep *r, uint32_t i, cji_text *out)
{
    const cji_var *v = r->m->var[i];
    const bool dynamic = cji_rep_is_dynamic(v), there = v->linkage == CJI_LINK_EXTERN;
    const char *own = cji_rep_name_at(r, r->var[i].name), *type = cji_rep_type(v->type);
    char values[100];
    const unsigned long long n = v->ninit / (cji_type_bits(v->type) / 8), count = v->dim[0];
    snprintf(values, sizeof values, "%s_values", own);
    if (n) put_values(v, values, out);
    cji_text_puts(out, "    ");
    if (r->var[i].uses || (v->align && !dynamic)) cji_text_printf(out, "cj_val %s = ", own);
    cji_text_puts(out, dynamic ? "cj_shared_dynamic(" : there ? "cj_ptx_extern(m, " : v->space == CJI_SP_CONST
                                                              ? "cj_ptx_const(m, " : "cj_ptx_global(m, ");
    if (dynamic) cji_text_printf(out, "%s, ", cji_rep_name_at(r, r->fn[r->order[0]].name));
    cji_rep_quote(out, cji_ptx_name(r->m, v->name), cji_ptx_name_len(r->m, v->name));
    if (there && !dynamic) cji_text_printf(out, ", %s", cji_rep_space(v->space));
    cji_text_printf(out, ", %s", type);
    if (dynamic) cji_text_printf(out, ", %u);\n", v->align);
    else if (there) cji_text_printf(out, ", %llu);\n", count);
    else if (n) cji_text_printf(out, ", %llu, %s, %llu);\n", count, values, n);
    else cji_text_printf(out, ", %llu, NULL, 0);\n", count);
    if (v->align && !dynamic) cji_text_printf(out, "    cj_ptx_var_align(m, %s, %u);\n", own, v->align);
}

/* Those of the module that main() makes. */
static bool in_main(const cji_rep *r, const cji_var *v) { return !v->fn && (r->declared || !cji_rep_is_dynamic(v)); }

static bool make_variables(cji_rep *r)
{
    for (size_t i = 0; i < r->m->nvar; i++) {
        const cji_var *v = r->m->var[i];
        if (v->fn || (!r->declared && cji_rep_is_dynamic(v))) continue;
        if (is_plain(v) || cji_rep_is_dynamic(v)) r->var[i].v = make_variable(r, v);
        r->var[i].declared = true;
        if (!r->var[i].v.bits) return say_why(r, "no call declares", cji_ptx_name(r->m, v->name)), false;
    }
    return true;
}

/* ---- Functions --------------------------------------------------------------------------------------------------- */

static const char *maker(const cj_fn *f)
{
    return f->kernel ? "cj_ptx_kernel" : f->body ? "cj_ptx_func" : "cj_ptx_extern_func";
}

static bool make_function(cji_rep *r, uint32_t i)
{
    const cj_fn *f = r->m->fn[i];
    const char *name = cji_ptx_name(r->m, f->name);
    if (f->proto) return say_why(r, "no call makes", ".callprototype"), false;
    if (f->linkage != (f->body ? CJI_LINK_VISIBLE : CJI_LINK_EXTERN) || (f->kernel && !f->body))
        return say_why(r, "no call makes a function with the linkage of", name), false;
    r->fn[i].g = f->kernel ? (cj_ptx_kernel)(r->copy, name) : f->body ? (cj_ptx_func)(r->copy, name)
                                                                        : (cj_ptx_extern_func)(r->copy, name);
    return !r->copy->dead;
}

/* Are all functions that the body names among those that are done? */
static bool callees_done(const cji_rep *r, const cj_fn *f)
{
    for (size_t i = 0; i < f->nins; i++) {
        if (f->ins[i].form >= CJI_INS_PSEUDO) continue;
        for (uint32_t k = 0, n = cji_ins_n(f, &f->ins[i]); k < n; k++) {
            const uint32_t word = cji_ins_opnd(f, &f->ins[i], k), to = cji_word_index(word);
            if (cji_word_kind(word) == CJI_K_FUNC && to != f->index && !r->fn[to].done) return false;
        }
    }
    return true;
}

static bool make_body(cji_rep *r, uint32_t i)
{
    if (!cji_rep_function(r, i)) {
        say_why(r, "calls make another text of", cji_ptx_name(r->m, r->m->fn[i]->name));
        return false;
    }
    return r->fn[i].done = true;
}

/* The next function whose body can be made; of a ring of callers the first. */
static uint32_t next_body(const cji_rep *r)
{
    uint32_t first = CJI_REP_NONE;
    for (size_t i = 0; i < r->m->nfn; i++) {
        const uint32_t at = r->order[i];
        if (r->fn[at].done) continue;
        if (callees_done(r, r->m->fn[at])) return at;
        if (first == CJI_REP_NONE) first = at;
    }
    return first;
}

/* Can everything be made one after the other? */
static bool is_in_order(cji_rep *r)
{
    bool ordered = true, dynamic = false;
    for (size_t i = 0; i < r->m->nfn && ordered; i++) {
        ordered = callees_done(r, r->m->fn[r->order[i]]);
        r->fn[r->order[i]].done = true;
    }
    for (size_t i = 0; i < r->m->nfn; i++) r->fn[i].done = false;
    for (size_t i = 0; i < r->m->nvar && ordered; i++) {
        if (r->m->var[i]->fn) continue;
        if (dynamic && !cji_rep_is_dynamic(r->m->var[i])) ordered = false;
        dynamic = dynamic || cji_rep_is_dynamic(r->m->var[i]);
    }
    return ordered;
}

/* "    make_saxpy(cj_ptx_kernel(m, "saxpy"), table);" */
static void put_function_call(cji_rep *r, uint32_t i, cji_text *out)
{
    const cj_fn *f = r->m->fn[i];
    const char *own = cji_rep_name_at(r, r->fn[i].name);
    const bool named = r->fn[i].uses || r->declared;
    if (named && !r->declared)
        cji_text_printf(out, "    cj_fn *%s = %s(m, \"%s\");\n", own, maker(f), cji_ptx_name(r->m, f->name));
    cji_text_printf(out, "    make_%s(", own);
    if (named) cji_text_puts(out, own);
    else cji_text_printf(out, "%s(m, \"%s\")", maker(f), cji_ptx_name(r->m, f->name));
    cji_text_printf(out, "%s);\n", r->args.p + r->fn[i].args);
}

/* ---- The module -------------------------------------------------------------------------------------------------- */

static void put_needs(cji_rep *r, cji_text *out)
{
    const cj_ptx *m = r->m;
    if (m->fixed_version)
        cji_text_printf(out, "    cj_ptx_set_version(m, \"%u.%u\");\n", m->fixed_version / 10u, m->fixed_version % 10u);
    if (m->fixed_target >= 0)
        cji_text_printf(out, "    cj_ptx_set_target(m, \"%s\");\n", cji_target_name((uint32_t)m->fixed_target));
}

static void make_needs(cji_rep *r)
{
    char version[12];
    const cj_ptx *m = r->m;
    snprintf(version, sizeof version, "%u.%u", m->fixed_version / 10u, m->fixed_version % 10u);
    if (m->fixed_version) (cj_ptx_set_version)(r->copy, version);
    if (m->fixed_target >= 0) (cj_ptx_set_target)(r->copy, cji_target_name((uint32_t)m->fixed_target));
}

/* What no call sets. */
static bool has_plain_head(cji_rep *r)
{
    const cj_ptx *m = r->m;
    const char *what = m->address_size != 64 ? ".address_size 32" : m->texmode_independent ? "texmode_independent"
                     : m->debug ? "debug data" : m->npragma ? ".pragma of a module" : m->nalias ? ".alias" : NULL;
    if (what) say_why(r, "no call makes", what);
    return !what;
}

static bool name_all(cji_rep *r)
{
    const cj_ptx *m = r->m;
    cji_text_putc(&r->names, 0);
    for (size_t i = 0; i < m->nfn; i++) r->fn[i].name = cji_rep_name(r, NULL, cji_ptx_name(m, m->fn[i]->name));
    for (size_t i = 0; i < m->nvar; i++)
        if (in_main(r, m->var[i])) r->var[i].name = cji_rep_name(r, NULL, cji_ptx_name(m, m->var[i]->name));
    return !r->names.failed;
}

static void put_main(cji_rep *r, const uint32_t *bodies, size_t n)
{
    cji_text *out = &r->front;
    put_needs(r, out);
    for (size_t i = 0; i < n && r->declared; i++) {
        const cj_fn *f = r->m->fn[r->order[i]];
        cji_text_printf(out, "    cj_fn *%s = %s(m, \"%s\");\n", cji_rep_name_at(r, r->fn[f->index].name), maker(f),
                        cji_ptx_name(r->m, f->name));
    }
    for (uint32_t i = 0; i < r->m->nvar; i++)
        if (in_main(r, r->m->var[i])) put_variable(r, i, out);
    for (size_t i = 0; i < n; i++) put_function_call(r, bodies[i], out);
}

/* The copy and the text of what makes it. */
static bool make_all(cji_rep *r, uint32_t *bodies)
{
    const size_t n = r->m->nfn;
    make_needs(r);
    for (size_t i = 0; i < n && r->declared; i++)
        if (!make_function(r, r->order[i])) return false;
    if (!make_variables(r)) return false;
    for (size_t i = 0; i < n; i++) {
        bodies[i] = r->declared ? next_body(r) : r->order[i];
        if (!r->declared && !make_function(r, bodies[i])) return false;
        if (!make_body(r, bodies[i])) return false;
    }
    put_main(r, bodies, n);
    return true;
}

static bool is_same(cji_rep *r)
{
    cji_text a = { .n = 0 }, b = { .n = 0 };
    bool same = cji_ptx_finish(r->copy, "cj_ptx_reproducer") == CJ_OK;
    if (same) {
        cji_ptx_write(r->m, 0, &a);
        cji_ptx_write(r->copy, 0, &b);
        r->short_of_memory = a.failed || b.failed;
        same = !r->short_of_memory && a.n == b.n && !memcmp(a.p, b.p, a.n);
    }
    cji_text_free(&a);
    cji_text_free(&b);
    if (!same) say_why(r, "calls make another order of", "declarations");
    return same;
}

static void forget(cji_rep *r)
{
    cj_ptx_free(r->copy);
    r->copy = NULL;
    if (r->var) memset(r->var, 0, (r->m->nvar + 1) * sizeof *r->var);
    if (r->fn) memset(r->fn, 0, (r->m->nfn + 1) * sizeof *r->fn);
    cji_map_free(&r->taken);
    r->taken = (cji_map){ .n = 0 };
    r->names.n = r->args.n = r->bodies.n = r->front.n = 0;
}

/* With verbs and blocks, else without. */
static bool make_either(cji_rep *r, uint32_t *bodies)
{
    for (int plain = 0; plain < 2; plain++) {
        forget(r);
        r->why[0] = 0;
        r->plain = plain;
        r->copy = cj_ptx_create();
        r->declared = !is_in_order(r);
        r->short_of_memory = cji_obj_failed(r->copy) || !name_all(r);
        if (r->short_of_memory) return false;
        const bool made = make_all(r, bodies) && is_same(r);
        r->short_of_memory = r->short_of_memory || cji_err_status(r->copy) == CJ_ENOMEM || r->front.failed ||
                             r->bodies.failed || r->args.failed || r->names.failed;
        if (made || r->short_of_memory) return made && !r->short_of_memory;
    }
    return false;
}

/* Functions that have no definition are in front of the others. */
static bool find_order(cji_rep *r)
{
    const cj_ptx *m = r->m;
    cji_print_list list;
    size_t n = 0;
    if (!cji_print_order(m, &list)) return false;
    for (uint32_t i = 0; i < m->nfn; i++)
        if (m->fn[i]->order >= m->norder) r->order[n++] = i;
    for (size_t i = 0; i < list.n; i++)
        if (list.fn[i] && n < m->nfn) r->order[n++] = list.fn[i]->index;
    cji_print_order_free(&list);
    return true;
}

bool cji_rep_module(cji_rep *r)
{
    const size_t n = r->m->nfn + 1;
    if (!has_plain_head(r)) return false;
    r->var = cji_zalloc((r->m->nvar + 1) * sizeof *r->var);
    r->fn = cji_zalloc(n * sizeof *r->fn);
    r->order = cji_alloc(n * sizeof *r->order);
    uint32_t *bodies = cji_alloc(n * sizeof *bodies);
    r->short_of_memory = !r->var || !r->fn || !r->order || !bodies || !find_order(r);
    const bool made = !r->short_of_memory && make_either(r, bodies);
    cji_free(bodies, n * sizeof *bodies);
    return made;
}

void cji_rep_free(cji_rep *r)
{
    forget(r);
    cji_free(r->var, (r->m->nvar + 1) * sizeof *r->var);
    cji_free(r->fn, (r->m->nfn + 1) * sizeof *r->fn);
    cji_free(r->order, (r->m->nfn + 1) * sizeof *r->order);
    cji_text_free(&r->names);
    cji_text_free(&r->args);
    cji_text_free(&r->bodies);
    cji_text_free(&r->front);
}
