/* Programs: texts read, linked by name, laid out and decoded (exec.h).
 *
 *   program.c         reading, functions, code, the interface     program_image.c    .const and .global variables
 *   program_share.c   who names which variable, call graph        program_frame.c    frames, kernels, shared memory
 *   program_names.c   names
 *
 * Order of work: read, functions, image, uses, shared memory, frames, kernels, values, decode. */
#include <stdlib.h>

#include <cujit/parse.h>

#include "sim/exec/decode.h"
#include "sim/exec/program.h"

/* ---- Reading ---- */

static bool program_passes(const cji_dec_module *mod, cji_text *log)
{
    cji_unpassed u;
    char why[160];
    uint32_t line = 0;
    if (cji_ptx_passes(mod->m, false, &u)) return true;
    cji_unpassed_text(mod->m, &u, why, sizeof why);
    cji_ptx_where(mod->m, u.v->loc, &line);
    cji_text_printf(log, "%s:%u: error: %s\n", mod->name, line, why);
    return false;
}

static bool program_read(cji_exec_program *p, const cji_exec_text *t, cji_dec_module *mod, cji_text *log)
{
    mod->name = cji_arena_strndup(&p->arena, t->name ? t->name : "module", strlen(t->name ? t->name : "module"));
    mod->m = cj_parse(t->text, t->bytes, t->name);
    if (!mod->name || cj_ptx_status(mod->m) != CJ_OK || cji_ptx_finish(mod->m, "cj_parse") != CJ_OK) {
        cji_text_printf(log, "%s\n", cj_error_of(mod->m)->message);
        return false;
    }
    if (!program_passes(mod, log)) return false;
    mod->var = cji_arena_alloc(&p->arena, (mod->m->nvar + 1) * sizeof *mod->var);
    mod->func = cji_arena_alloc(&p->arena, (mod->m->nfn + 1) * sizeof *mod->func);
    mod->form = cji_arena_alloc(&p->arena, (mod->m->nform + 1) * sizeof *mod->form);
    return mod->var && mod->func && mod->form;
}

/* ---- Functions ---- */

static uint8_t program_builtin(const char *name)
{
    static const char *const names[] = { "", "vprintf", "__assertfail",
                                         "cudaGraphSetConditional" }; /* ORDER CJI_BUILTIN_* */
    for (uint8_t i = 1; i < sizeof names / sizeof *names; i++)
        if (!strcmp(name, names[i])) return i;
    return CJI_BUILTIN_NONE;
}

/* How many values a call passes: a vector register is as many as it has elements. */
static uint32_t program_formals(const cj_ptx *m, const uint32_t *list, size_t n)
{
    uint32_t values = 0;
    for (size_t i = 0; i < n; i++) {
        const cji_var *v = m->var[list[i]];
        values += v->space == CJI_SP_REG && v->vec ? v->vec : 1;
    }
    return values;
}

static bool program_functions(cji_exec_program *p, cji_dec_module *mod, uint32_t module, cji_text *log)
{
    const cj_ptx *m = mod->m;
    for (size_t i = 0; i < m->nfn; i++) {
        const cj_fn *f = m->fn[i];
        bool visible = f->linkage != CJI_LINK_NONE || f->kernel || !f->body;
        const char *name = cji_program_name(p, m, f->name);
        if (!name) return false;
        size_t at = visible && !f->proto ? cji_program_find(&p->func_names, name) : SIZE_MAX;
        if (at != SIZE_MAX && f->body && p->func[at].defined && f->linkage != CJI_LINK_WEAK) {
            cji_text_printf(log, "%s: %s is defined in another module too\n", mod->name, cji_short(name));
            return false;
        }
        if (at == SIZE_MAX) {
            if (!cji_grow(&p->func, &p->cfunc, p->nfunc + 1, sizeof *p->func)) return false;
            if (visible && !f->proto && !cji_program_index(&p->func_names, name, p->nfunc)) return false;
            at = p->nfunc++;
            p->func[at] = (cji_func){ .name = name,
                                      .module = module,
                                      .visible = visible && !f->proto,
                                      .nparam = program_formals(m, f->param, f->nparam),
                                      .nresult = program_formals(m, f->result, f->nresult) };
            if (!f->body) p->func[at].builtin = program_builtin(name);
        }
        mod->func[i] = (uint32_t)at;
        if (!f->body || p->func[at].defined) continue;
        p->func[at].defined = true;
        p->func[at].builtin = CJI_BUILTIN_NONE;
        p->func[at].kernel = f->kernel;
        p->func[at].module = module;
        p->func[at].source = (uint32_t)i;
        p->func[at].nparam = program_formals(m, f->param, f->nparam);
        p->func[at].nresult = program_formals(m, f->result, f->nresult);
    }
    return true;
}

/* .alias: whoever calls the alias calls the function that it is. */
static bool program_aliases(cji_exec_program *p, cji_dec_module *mods, size_t n)
{
    size_t aliases = 0, size = p->nfunc * sizeof(uint32_t);
    for (size_t i = 0; i < n; i++) aliases += mods[i].m->nalias;
    if (!aliases) return true;
    uint32_t *is = cji_zalloc(size);   /* by function: what it is an alias of, plus 1 */
    if (!is) return false;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < mods[i].m->nalias; k++)
            is[mods[i].func[mods[i].m->alias[k].fn]] = mods[i].func[mods[i].m->alias[k].of] + 1;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < mods[i].m->nfn; k++)
            if (is[mods[i].func[k]]) mods[i].func[k] = is[mods[i].func[k]] - 1;
    cji_free(is, size);
    return true;
}

/* ---- Code ---- */

static bool program_keep(cji_exec_program *p, const char **text, const char **was, const char **copy)
{
    if (*text != *was) {
        uint32_t at = cji_map_intern(&p->names, *text, strlen(*text));
        if (at == CJI_MAP_NONE) return false;
        *was = *text;
        *copy = p->names.entry[at].key;
    }
    *text = *copy;
    return true;
}

/* Keeps the names of files of records [from, ncode): they lie in the module, which is freed. */
static bool program_origins(cji_exec_program *p, size_t from)
{
    const char *file = NULL, *file_copy = NULL;
    for (size_t pc = from; pc < p->ncode; pc++) {
        cji_origin *o = &p->origin[pc];
        if (o->file && !program_keep(p, &o->file, &file, &file_copy)) return false;
    }
    return true;
}

static bool program_code(cji_exec_program *p, cji_dec_module *mod, uint32_t module, cji_arena *scratch, cji_text *log)
{
    const cji_vec_table *vec = cji_vec_pick();
    cji_dec d = { 0 };
    bool ok = true;
    for (uint32_t i = 0; i < mod->m->nfn && ok; i++) {
        if (!cji_program_is_ours(p, mod, module, i)) continue;
        size_t from = p->ncode;
        d = (cji_dec){
            .p = p, .mod = mod, .m = mod->m, .f = mod->m->fn[i], .fn = &p->func[mod->func[i]],
            .log = log, .scratch = scratch, .vec = vec,
            .con = d.con, .ccon = d.ccon, .slot = d.slot, .nslot = d.nslot
        };
        ok = cji_decode(&d);
        for (size_t pc = from; pc < p->ncode && ok; pc++)
            if (p->code[pc].fn == cji_h_call) p->code[pc].d2 = d.fn->frame;
        ok = ok && program_origins(p, from);
    }
    cji_decode_end(&d);
    return ok;
}

static bool program_build(cji_exec_program *p, cji_dec_module *mods, const cji_exec_text *texts, size_t n,
                          cji_text *log)
{
    if (!cji_grow(&p->ext, &p->cext, 1, sizeof *p->ext)) return false;   /* handlers add to its address */
    for (size_t i = 0; i < n; i++)
        if (!program_read(p, &texts[i], &mods[i], log)) return false;
    for (size_t i = 0; i < n; i++)
        if (!program_functions(p, &mods[i], (uint32_t)i, log)) return false;
    if (!program_aliases(p, mods, n) || !cji_program_image(p, mods, n, log) || !cji_program_uses(p, mods, n) ||
        !cji_program_frames(p, mods, n, log))
        return false;
    bool decoded = cji_program_values(p, mods, n, log);
    cji_arena scratch = { 0 };
    for (size_t i = 0; i < n && decoded; i++) decoded = program_code(p, &mods[i], (uint32_t)i, &scratch, log);
    cji_arena_free(&scratch);
    if (!decoded) cji_program_tell_lacks(p, mods, n, log);
    return decoded && cji_program_registers(p, mods, texts);
}

/* ---- The interface ---- */

cji_exec_program *cji_exec_program_make(const cji_exec_text *texts, size_t n, cji_text *log)
{
    cji_exec_program *p = cji_zalloc(sizeof *p);
    cji_dec_module *mods = cji_zalloc((n + 1) * sizeof *mods);
    bool ok = p && mods && program_build(p, mods, texts, n, log);
    for (size_t i = 0; mods && i < n; i++)
        if (mods[i].m) cj_ptx_free(mods[i].m);
    cji_free(mods, (n + 1) * sizeof *mods);
    if (p) {
        cji_free(p->call, p->ccall * sizeof *p->call);
        p->call = NULL;
    }
    if (ok) return p;
    if (!log->n) cji_text_puts(log, "there is no memory for the program\n");
    cji_exec_program_free(p);
    return NULL;
}

void cji_exec_program_free(cji_exec_program *p)
{
    if (!p) return;
    cji_free(p->code, p->ccode * sizeof *p->code);
    cji_free(p->origin, p->corigin * sizeof *p->origin);
    cji_free(p->ext, p->cext * sizeof *p->ext);
    cji_free(p->func, p->cfunc * sizeof *p->func);
    cji_free(p->var, p->cvar * sizeof *p->var);
    cji_free(p->kernel, p->ckernel * sizeof *p->kernel);
    cji_free(p->dyn, p->cdyn * sizeof *p->dyn);
    cji_free(p->place, p->cplace * sizeof *p->place);
    cji_free(p->init, p->cinit * sizeof *p->init);
    cji_free(p->piece, p->cpiece * sizeof *p->piece);
    cji_map_free(&p->func_names);
    cji_map_free(&p->var_names);
    cji_map_free(&p->kernel_names);
    cji_map_free(&p->names);
    cji_arena_free(&p->arena);
    cji_free(p, sizeof *p);
}

uint64_t cji_exec_program_image_bytes(const cji_exec_program *p) { return p->image_bytes; }
uint64_t cji_exec_program_image_align(const cji_exec_program *p) { return p->image_align; }

void cji_exec_program_place(cji_exec_program *p, uint64_t base, void *host)
{
    p->base = base;
    for (size_t i = 0; i < p->nplace; i++) {
        uint64_t v = base + (uint64_t)p->place[i].addend;
        for (size_t j = 0; j < CJI_LANES; j++) memcpy(p->place[i].at + 8 * j, &v, 8);
    }
    for (size_t i = 0; host && i < p->npiece; i++)
        memcpy((unsigned char *)host + p->piece[i].at, p->piece[i].from, p->piece[i].bytes);
    for (size_t i = 0; host && i < p->ninit; i++) {
        const struct cji_init *x = &p->init[i];
        uint64_t v = (x->absolute ? 0 : base) + x->addend;
        if (x->shift != 0xff) v >>= 8 * (x->shift & 7);
        memcpy((unsigned char *)host + x->at, &v, x->bytes < 8 ? x->bytes : 8);
    }
}

size_t cji_exec_program_vars(const cji_exec_program *p) { return p->nvar; }
const cji_exec_var *cji_exec_program_var_at(const cji_exec_program *p, size_t i)
{
    return i < p->nvar ? &p->var[i] : NULL;
}
const cji_exec_var *cji_exec_program_var(const cji_exec_program *p, const char *name)
{
    return cji_exec_program_var_at(p, cji_program_find(&p->var_names, name));
}

size_t cji_exec_program_kernels(const cji_exec_program *p) { return p->nkernel; }
const cji_exec_kernel *cji_exec_program_kernel_at(const cji_exec_program *p, size_t i)
{
    return i < p->nkernel ? &p->kernel[i] : NULL;
}
const cji_exec_kernel *cji_exec_program_kernel(const cji_exec_program *p, const char *name)
{
    return cji_exec_program_kernel_at(p, cji_exec_program_kernel_index(p, name));
}
size_t cji_exec_program_kernel_index(const cji_exec_program *p, const char *name)
{
    return cji_program_find(&p->kernel_names, name);
}
