/* Programs: texts read, linked by name, laid out and decoded (exec.h).
 *
 * Order of work: read, functions, variables, kernels, decode. .const variables come first in the
 * image. Shared variables that several kernels may reach (of the module, of .funcs) lie at the
 * bottom of shared memory, each at one place for all; a kernel that reaches none of them has its
 * own variables there instead. */
#include <stdlib.h>

#include <cujit/parse.h>

#include "sim/exec/decode.h"

/* ---- Reading ---- */

static bool program_read(cji_exec_program *p, const cji_exec_text *t, cji_dec_module *mod, cji_text *log)
{
    mod->name = cji_arena_strndup(&p->arena, t->name ? t->name : "module", strlen(t->name ? t->name : "module"));
    mod->m = cj_parse(t->text, t->bytes, t->name);
    if (!mod->name || cj_ptx_status(mod->m) != CJ_OK || cji_ptx_finish(mod->m, "cj_parse") != CJ_OK) {
        cji_text_printf(log, "%s\n", cj_error_of(mod->m)->message);
        return false;
    }
    mod->var = cji_arena_alloc(&p->arena, (mod->m->nvar + 1) * sizeof *mod->var);
    mod->func = cji_arena_alloc(&p->arena, (mod->m->nfn + 1) * sizeof *mod->func);
    return mod->var && mod->func;
}

/* ---- Functions ---- */

static const char *program_name(cji_exec_program *p, const cj_ptx *m, uint32_t name)
{
    return cji_arena_strndup(&p->arena, cji_ptx_name(m, name), cji_ptx_name_len(m, name));
}

static uint32_t program_find_func(const cji_exec_program *p, const char *name)
{
    for (size_t i = 0; i < p->nfunc; i++)
        if (p->func[i].visible && !strcmp(p->func[i].name, name)) return (uint32_t)i;
    return UINT32_MAX;
}

static uint8_t program_builtin(const char *name)
{
    static const char *const names[] = { "", "vprintf", "__assertfail",
                                         "cudaGraphSetConditional" }; /* ORDER CJI_BUILTIN_* */
    for (uint8_t i = 1; i < sizeof names / sizeof *names; i++)
        if (!strcmp(name, names[i])) return i;
    return CJI_BUILTIN_NONE;
}

static bool program_functions(cji_exec_program *p, cji_dec_module *mod, uint32_t module, cji_text *log)
{
    const cj_ptx *m = mod->m;
    for (size_t i = 0; i < m->nfn; i++) {
        const cj_fn *f = m->fn[i];
        bool visible = f->linkage != CJI_LINK_NONE || f->kernel || !f->body;
        const char *name = program_name(p, m, f->name);
        if (!name) return false;
        uint32_t at = visible && !f->proto ? program_find_func(p, name) : UINT32_MAX;
        if (at != UINT32_MAX && f->body && p->func[at].defined && f->linkage != CJI_LINK_WEAK) {
            cji_text_printf(log, "%s: %s is defined in another module too\n", mod->name, cji_short(name));
            return false;
        }
        if (at == UINT32_MAX) {
            if (!cji_grow(&p->func, &p->cfunc, p->nfunc + 1, sizeof *p->func)) return false;
            at = (uint32_t)p->nfunc++;
            p->func[at] = (cji_func){ .name = name,
                                      .module = module,
                                      .visible = visible && !f->proto,
                                      .nparam = (uint32_t)f->nparam,
                                      .nresult = (uint32_t)f->nresult };
            if (!f->body) p->func[at].builtin = program_builtin(name);
        }
        mod->func[i] = at;
        if (!f->body || p->func[at].defined) continue;
        p->func[at].defined = true;
        p->func[at].builtin = CJI_BUILTIN_NONE;
        p->func[at].kernel = f->kernel;
        p->func[at].module = module;
        p->func[at].source = (uint32_t)i;
        p->func[at].nparam = (uint32_t)f->nparam;
        p->func[at].nresult = (uint32_t)f->nresult;
    }
    return true;
}

/* Is f's body in this module the one that the program runs? */
static bool program_is_ours(const cji_exec_program *p, const cji_dec_module *mod, uint32_t module, uint32_t i)
{
    const cji_func *f = &p->func[mod->func[i]];
    return mod->m->fn[i]->body && f->defined && f->module == module && f->source == i;
}

/* ---- Variables ---- */

static uint32_t program_align(const cji_var *v)
{
    uint32_t natural = cji_type_bits(v->type) / 8u * (v->vec ? v->vec : 1);
    if (natural == 0) natural = 1;
    return v->align ? v->align : natural;
}

static uint64_t program_up(uint64_t at, uint32_t align) { return (at + align - 1) / align * align; }

static cji_exec_var *program_find_var(cji_exec_program *p, const char *name)
{
    for (size_t i = 0; i < p->nvar; i++)
        if (!strcmp(p->var[i].name, name)) return &p->var[i];
    return NULL;
}

/* One pass for .const, one for .global; extern declarations are resolved behind both. */
static bool program_image(cji_exec_program *p, cji_dec_module *mod, bool is_const, cji_text *log)
{
    const cj_ptx *m = mod->m;
    for (size_t i = 0; i < m->nvar; i++) {
        const cji_var *v = m->var[i];
        if (v->space != (is_const ? CJI_SP_CONST : CJI_SP_GLOBAL) || v->linkage == CJI_LINK_EXTERN || v->opaque)
            continue;
        const char *name = program_name(p, m, v->name);
        if (!name) return false;
        cji_exec_var *other = v->fn ? NULL : program_find_var(p, name);
        if (other && v->linkage != CJI_LINK_NONE) {
            if (v->linkage != CJI_LINK_WEAK && v->linkage != CJI_LINK_COMMON) {
                cji_text_printf(log, "%s: the variable %s is defined in another module too\n", mod->name,
                                cji_short(name));
                return false;
            }
            mod->var[i] = (struct cji_dec_var){ CJI_EXEC_VAR_IMAGE, other->offset };
            continue;
        }
        if (!cji_grow(&p->var, &p->cvar, p->nvar + 1, sizeof *p->var)) return false;
        uint32_t align = program_align(v);
        uint64_t at = program_up(p->image_bytes, align);
        p->var[p->nvar++] = (cji_exec_var){ name, at, v->bytes, align, is_const };
        mod->var[i] = (struct cji_dec_var){ CJI_EXEC_VAR_IMAGE, at };
        p->image_bytes = at + v->bytes;
    }
    return true;
}

static void program_externs(cji_exec_program *p, cji_dec_module *mod)
{
    const cj_ptx *m = mod->m;
    for (size_t i = 0; i < m->nvar; i++) {
        const cji_var *v = m->var[i];
        if (v->linkage != CJI_LINK_EXTERN || (v->space != CJI_SP_CONST && v->space != CJI_SP_GLOBAL)) continue;
        const cji_exec_var *other = program_find_var(p, cji_ptx_name(m, v->name));
        if (other) mod->var[i] = (struct cji_dec_var){ CJI_EXEC_VAR_IMAGE, other->offset };
    }
}

/* Variables that several kernels may reach. */
static void program_shared(cji_exec_program *p, cji_dec_module *mod)
{
    const cj_ptx *m = mod->m;
    for (size_t i = 0; i < m->nvar; i++) {
        const cji_var *v = m->var[i];
        if (v->space != CJI_SP_SHARED || (v->fn && m->fn[v->fn - 1]->kernel)) continue;
        if (v->flags & CJI_VAR_UNSIZED || v->linkage == CJI_LINK_EXTERN) {
            mod->var[i] = (struct cji_dec_var){ CJI_EXEC_VAR_DYNAMIC, 0 };
            continue;
        }
        p->common_shared = (uint32_t)program_up(p->common_shared, program_align(v));
        mod->var[i] = (struct cji_dec_var){ CJI_EXEC_VAR_SHARED, p->common_shared };
        p->common_shared += (uint32_t)v->bytes;
    }
}

/* Initial values, and the addresses inside them. */
static bool program_values(cji_exec_program *p, const cji_dec_module *mod, cji_text *log)
{
    const cj_ptx *m = mod->m;
    for (size_t i = 0; i < m->nvar; i++) {
        const cji_var *v = m->var[i];
        const struct cji_dec_var *at = &mod->var[i];
        if (at->where != CJI_EXEC_VAR_IMAGE || v->linkage == CJI_LINK_EXTERN) continue;
        if (v->init) memcpy(p->image + at->offset, v->init, v->bytes);
        for (uint32_t j = 0; j < v->nreloc; j++) {
            const cji_reloc *r = &v->reloc[j];
            uint32_t index = cji_word_index(r->word);
            struct cji_init x = { .at = at->offset + r->at,
                                  .addend = r->addend,
                                  .bytes = (uint8_t)(cji_type_bits(v->type) / 8),
                                  .shift = r->shift,
                                  .absolute = 1 };
            if (cji_word_kind(r->word) == CJI_K_FUNC)
                x.addend += (int64_t)(CJI_FUNC_TAG + ((uint64_t)mod->func[index] + 1) * 16);
            else if (mod->var[index].where == CJI_EXEC_VAR_IMAGE) {
                x.addend += (int64_t)mod->var[index].offset;
                x.absolute = 0;
            } else if (mod->var[index].where == CJI_EXEC_VAR_SHARED) {
                x.addend += (int64_t)(mod->var[index].offset + (r->generic ? CJI_EXEC_SHARED_WINDOW : 0));
            } else {
                cji_text_printf(log, "%s: the initial value of %s names %s, which has no address here\n", mod->name,
                                cji_short(cji_ptx_name(m, v->name)), cji_short(cji_ptx_name(m, m->var[index]->name)));
                return false;
            }
            if (!cji_grow(&p->init, &p->cinit, p->ninit + 1, sizeof *p->init)) return false;
            p->init[p->ninit++] = x;
        }
    }
    return true;
}

/* The local frame: parameters and results of a .func, .local variables, .param variables of calls. */
static void program_frame(cji_dec_module *mod, const cj_fn *f, cji_func *fn)
{
    uint64_t at = 0;
    const cj_ptx *m = mod->m;
    const struct {
        const uint32_t *list;
        size_t n;
    } lists[] = { { f->param, f->kernel ? 0 : f->nparam }, { f->result, f->nresult }, { f->var, f->nvar } };
    for (size_t k = 0; k < 3; k++)
        for (size_t i = 0; i < lists[k].n; i++) {
            const cji_var *v = m->var[lists[k].list[i]];
            if (v->space != CJI_SP_PARAM && v->space != CJI_SP_LOCAL) continue;
            at = program_up(at, program_align(v));
            mod->var[lists[k].list[i]] = (struct cji_dec_var){ CJI_EXEC_VAR_FRAME, at };
            at += v->bytes;
        }
    fn->local = (uint32_t)program_up(at, 16);
}

/* ---- Kernels ---- */

/* Does the function, or one that it may call, name a shared variable of several? */
static bool program_reaches(const cji_exec_program *p, const cji_dec_module *mods, uint32_t func, uint8_t *seen)
{
    if (seen[func]) return false;
    seen[func] = 1;
    const cji_func *fn = &p->func[func];
    if (!fn->defined) return false;
    const cji_dec_module *mod = &mods[fn->module];
    const cj_fn *f = mod->m->fn[fn->source];
    if (!fn->kernel)
        for (size_t i = 0; i < f->nvar; i++)
            if (mod->var[f->var[i]].where == CJI_EXEC_VAR_SHARED) return true;
    for (size_t i = 0; i < f->nins; i++) {
        const cji_ins *x = &f->ins[i];
        const cji_form *e = cji_ins_form(mod->m, x);
        if (!e) continue;
        for (uint32_t j = 0, n = cji_ins_n(f, x); j < n; j++) {
            uint32_t word = cji_ins_opnd(f, x, j), kind = cji_word_kind(word);
            if (kind == CJI_K_MEM) {
                word = f->mem[cji_word_index(word)].base;
                kind = cji_word_kind(word);
            }
            if (kind == CJI_K_SYM && !mod->m->var[cji_word_index(word)]->fn &&
                mod->var[cji_word_index(word)].where == CJI_EXEC_VAR_SHARED)
                return true;
            if (kind == CJI_K_FUNC && program_reaches(p, mods, mod->func[cji_word_index(word)], seen)) return true;
            if (kind == CJI_K_REG && e->isa->effect & CJI_FX_CALL && p->common_shared)
                return true; /* an indirect call may reach anything */
        }
    }
    return false;
}

static uint32_t program_registers(const cj_fn *f)
{
    uint32_t n = 0;
    for (unsigned t = 0; t < CJ_TYPE_COUNT; t++)
        n += f->count[t] * (cji_type_bits(t) > 64 ? 4 : cji_type_bits(t) > 32 ? 2 : cji_type_bits(t) > 1 ? 1 : 0);
    n = 16 + n / 4;
    return n > 255 ? 255 : n;
}

enum { PROGRAM_SHARED_MOST = 48 * 1024 }; /* what ptxas allows on every target */

static bool program_kernel(cji_exec_program *p, cji_dec_module *mods, cji_dec_module *mod, uint32_t index,
                           cji_text *log)
{
    const cj_ptx *m = mod->m;
    const cj_fn *f = m->fn[index];
    const cji_func *fn = &p->func[mod->func[index]];
    if (!cji_grow(&p->kernel, &p->ckernel, p->nkernel + 1, sizeof *p->kernel)) return false;
    cji_exec_param *param = cji_arena_alloc(&p->arena, (f->nparam + 1) * sizeof *param);
    uint8_t *seen = cji_zalloc(p->nfunc + 1);
    if (!param || !seen) {
        cji_free(seen, p->nfunc + 1);
        return false;
    }
    cji_exec_kernel *k = &p->kernel[p->nkernel++];
    *k = (cji_exec_kernel){ .name = fn->name, .param = param, .nparam = (uint32_t)f->nparam, .code = mod->func[index] };
    uint64_t at = 0;
    for (size_t i = 0; i < f->nparam; i++) {
        const cji_var *v = m->var[f->param[i]];
        uint32_t align = program_align(v);
        at = program_up(at, align);
        param[i] = (cji_exec_param){ program_name(p, m, v->name), (uint32_t)at, (uint32_t)v->bytes, align };
        mod->var[f->param[i]] = (struct cji_dec_var){ CJI_EXEC_VAR_PARAM, at };
        at += v->bytes;
    }
    k->param_bytes = (uint32_t)at;
    uint64_t shared = program_reaches(p, mods, mod->func[index], seen) ? p->common_shared : 0;
    cji_free(seen, p->nfunc + 1);
    for (size_t i = 0; i < f->nvar; i++) {
        const cji_var *v = m->var[f->var[i]];
        if (v->space != CJI_SP_SHARED) continue;
        if (v->flags & CJI_VAR_UNSIZED || v->linkage == CJI_LINK_EXTERN) {
            mod->var[f->var[i]] = (struct cji_dec_var){ CJI_EXEC_VAR_DYNAMIC, 0 };
            continue;
        }
        shared = program_up(shared, program_align(v));
        mod->var[f->var[i]] = (struct cji_dec_var){ CJI_EXEC_VAR_SHARED, shared };
        shared += v->bytes;
    }
    if (shared > PROGRAM_SHARED_MOST) {
        cji_text_printf(
            log,
            "%s: kernel %s has %llu bytes of static shared memory, %u are possible: dynamic shared memory, sized by "
            "the launch, may be more\n",
            mod->name, cji_short(cji_ptx_name(m, f->name)), (unsigned long long)shared, PROGRAM_SHARED_MOST);
        return false;
    }
    k->static_shared = (uint32_t)shared;
    k->registers = program_registers(f);
    memcpy(k->maxntid, f->bounds.maxntid, sizeof k->maxntid);
    memcpy(k->reqntid, f->bounds.reqntid, sizeof k->reqntid);
    memcpy(k->cluster, f->bounds.cluster, sizeof k->cluster);
    const uint32_t *limit = k->reqntid[0] ? k->reqntid : k->maxntid;
    k->max_threads = 1024;
    if (limit[0]) {
        uint64_t threads = (uint64_t)limit[0] * (limit[1] ? limit[1] : 1) * (limit[2] ? limit[2] : 1);
        if (threads < 1024) k->max_threads = (uint32_t)threads;
    }
    uint8_t version = 0;
    int target = 0;
    cji_ptx_needs(mod->m, &version, &target);
    k->ptx_version = version;
    const char *name = cji_target_name((uint32_t)(target < 0 ? 0 : target)), *digits = name ? strchr(name, '_') : NULL;
    k->target = digits ? (uint32_t)strtoul(digits + 1, NULL, 10) : 0;
    for (size_t i = 0; i < f->nparam; i++)
        if (!param[i].name) return false;
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

/* Keeps the texts of records [from, ncode): they lie in the module, which is freed. */
static bool program_origins(cji_exec_program *p, size_t from)
{
    const char *what = NULL, *what_copy = NULL, *file = NULL, *file_copy = NULL;
    for (size_t pc = from; pc < p->ncode; pc++) {
        cji_origin *o = &p->origin[pc];
        if (!program_keep(p, &o->what, &what, &what_copy)) return false;
        if (o->file && !program_keep(p, &o->file, &file, &file_copy)) return false;
    }
    return true;
}

static bool program_code(cji_exec_program *p, cji_dec_module *mod, uint32_t module, const cji_vec_table *vec,
                         cji_text *log)
{
    for (uint32_t i = 0; i < mod->m->nfn; i++) {
        if (!program_is_ours(p, mod, module, i)) continue;
        size_t from = p->ncode;
        cji_dec d = {
            .p = p, .mod = mod, .m = mod->m, .f = mod->m->fn[i], .fn = &p->func[mod->func[i]], .log = log, .vec = vec
        };
        if (!cji_decode(&d)) return false;
        for (size_t pc = from; pc < p->ncode; pc++)
            if (p->code[pc].fn == cji_h_call) p->code[pc].d2 = d.fn->frame;
        if (!program_origins(p, from)) return false;
    }
    return true;
}

static bool program_build(cji_exec_program *p, cji_dec_module *mods, const cji_exec_text *texts, size_t n,
                          cji_text *log)
{
    for (size_t i = 0; i < n; i++)
        if (!program_read(p, &texts[i], &mods[i], log)) return false;
    for (size_t i = 0; i < n; i++)
        if (!program_functions(p, &mods[i], (uint32_t)i, log)) return false;
    for (size_t i = 0; i < n; i++)
        if (!program_image(p, &mods[i], true, log)) return false;
    p->const_bytes = p->image_bytes;
    for (size_t i = 0; i < n; i++)
        if (!program_image(p, &mods[i], false, log)) return false;
    for (size_t i = 0; i < n; i++) {
        program_externs(p, &mods[i]);
        program_shared(p, &mods[i]);
    }
    for (size_t i = 0; i < n; i++)
        for (uint32_t j = 0; j < mods[i].m->nfn; j++) {
            if (!program_is_ours(p, &mods[i], (uint32_t)i, j)) continue;
            cji_func *fn = &p->func[mods[i].func[j]];
            program_frame(&mods[i], mods[i].m->fn[j], fn);
            if (fn->kernel && !program_kernel(p, mods, &mods[i], j, log)) return false;
            if (fn->kernel) p->kernel[p->nkernel - 1].local_bytes = fn->local;
        }
    if (p->image_bytes) {
        p->image = cji_zalloc(p->image_bytes);
        if (!p->image) return false;
    }
    for (size_t i = 0; i < n; i++)
        if (!program_values(p, &mods[i], log)) return false;
    const cji_vec_table *vec = cji_vec_pick();
    for (size_t i = 0; i < n; i++)
        if (!program_code(p, &mods[i], (uint32_t)i, vec, log)) return false;
    return true;
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
    cji_free(p->image, p->image_bytes);
    cji_map_free(&p->names);
    cji_arena_free(&p->arena);
    cji_free(p, sizeof *p);
}

uint64_t cji_exec_program_image_bytes(const cji_exec_program *p) { return p->image_bytes; }

void cji_exec_program_place(cji_exec_program *p, uint64_t base, void *host)
{
    p->base = base;
    for (size_t i = 0; i < p->nplace; i++) {
        uint64_t v = base + (uint64_t)p->place[i].addend;
        for (size_t j = 0; j < CJI_LANES; j++) memcpy(p->place[i].at + 8 * j, &v, 8);
    }
    for (size_t i = 0; i < p->ninit; i++) {
        const struct cji_init *x = &p->init[i];
        uint64_t v = (x->absolute ? 0 : base) + (uint64_t)x->addend;
        if (x->shift != 0xff) v >>= 8 * (x->shift & 7);
        memcpy(p->image + x->at, &v, x->bytes < 8 ? x->bytes : 8);
    }
    if (host && p->image_bytes) memcpy(host, p->image, p->image_bytes);
}

size_t cji_exec_program_vars(const cji_exec_program *p) { return p->nvar; }
const cji_exec_var *cji_exec_program_var_at(const cji_exec_program *p, size_t i)
{
    return i < p->nvar ? &p->var[i] : NULL;
}
const cji_exec_var *cji_exec_program_var(const cji_exec_program *p, const char *name)
{
    for (size_t i = 0; i < p->nvar; i++)
        if (!strcmp(p->var[i].name, name)) return &p->var[i];
    return NULL;
}

size_t cji_exec_program_kernels(const cji_exec_program *p) { return p->nkernel; }
const cji_exec_kernel *cji_exec_program_kernel_at(const cji_exec_program *p, size_t i)
{
    return i < p->nkernel ? &p->kernel[i] : NULL;
}
const cji_exec_kernel *cji_exec_program_kernel(const cji_exec_program *p, const char *name)
{
    for (size_t i = 0; i < p->nkernel; i++)
        if (!strcmp(p->kernel[i].name, name)) return &p->kernel[i];
    return NULL;
}
