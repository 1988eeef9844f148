/* Local frames, shared memory, kernels (program.h).
 *
 * A shared variable that one kernel names lies in that kernel's own shared memory, wherever it is declared. Those that
 * several functions may name lie at the bottom of shared memory, each at one place for all; a kernel that reaches none
 * of them has its own variables there instead. Shared variables of the module and local variables that nothing names
 * take no room, as with ptxas. More than a launch can have is a warning here; the launch fails. */
#include <stdlib.h>

#include "sim/exec/program.h"

static void frame_warns(const cji_dec_module *mod, const cj_fn *f, const char *what, uint64_t bytes, uint64_t most,
                        cji_text *log)
{
    uint32_t line = 0;
    cji_ptx_where(mod->m, f->decl_loc, &line);
    cji_text_printf(log, "%s:%u: warning: %s has %llu bytes of %s; ptxas takes at most %llu\n", mod->name, line,
                    cji_short(cji_ptx_name(mod->m, f->name)), (unsigned long long)bytes, what,
                    (unsigned long long)most);
}

/* ---- Shared memory ---- */

/* The variables that several functions name. */
static bool frame_common(cji_exec_program *p, cji_dec_module *mod, cji_text *log)
{
    const cj_ptx *m = mod->m;
    for (uint32_t i = 0; i < m->nvar; i++) {
        const cji_var *v = m->var[i];
        uint64_t at;
        if (v->space != CJI_SP_SHARED) continue;
        if (!cji_program_is_shared(v)) mod->var[i] = (struct cji_dec_var){ CJI_EXEC_VAR_DYNAMIC, 0 };
        else if (cji_program_is_common(mod, i)) {
            if (!cji_layout_var(&p->common_shared, v, CJI_BYTES_MAX, &at)) {
                cji_text_printf(log, "%s: %s of %llu bytes does not fit: shared variables have at most %llu\n",
                                mod->name, cji_short(cji_ptx_name(m, v->name)), (unsigned long long)v->bytes,
                                (unsigned long long)CJI_BYTES_MAX);
                return false;
            }
            mod->var[i] = (struct cji_dec_var){ CJI_EXEC_VAR_SHARED, at };
        }
    }
    return true;
}

/* The variables that one kernel names, behind the common ones where it reaches those. */
static bool frame_own(cji_exec_program *p, cji_dec_module *mod, cji_text *log)
{
    const cj_ptx *m = mod->m;
    for (uint32_t i = 0; i < m->nvar; i++) {
        const cji_var *v = m->var[i];
        uint64_t at;
        if (!mod->user[i] || cji_program_is_common(mod, i) || !cji_program_is_shared(v)) continue;
        cji_func *fn = &p->func[mod->user[i] - 1];
        if (fn->reaches && fn->shared < p->common_shared) fn->shared = p->common_shared;
        if (!cji_layout_var(&fn->shared, v, CJI_BYTES_MAX, &at)) {
            cji_text_printf(log, "%s: %s of %llu bytes does not fit: shared variables of %s have at most %llu\n",
                            mod->name, cji_short(cji_ptx_name(m, v->name)), (unsigned long long)v->bytes,
                            cji_short(fn->name), (unsigned long long)CJI_BYTES_MAX);
            return false;
        }
        mod->var[i] = (struct cji_dec_var){ CJI_EXEC_VAR_SHARED, at };
    }
    return true;
}

/* ---- Local frames ---- */

/* Parameters and results of a .func, .local variables, .param variables of calls. cji_layout_check has seen that they
 * fit into CJI_BYTES_MAX. */
static bool frame_local(cji_dec_module *mod, const cj_fn *f, cji_func *fn, cji_text *log)
{
    const cj_ptx *m = mod->m;
    const struct { const uint32_t *list; size_t n; bool formal; } lists[] = {
        { f->param, f->kernel ? 0 : f->nparam, true }, { f->result, f->nresult, true }, { f->var, f->nvar, false }
    };
    uint64_t end = 0, at;
    fn->local_align = 16;
    for (size_t k = 0; k < 3; k++)
        for (size_t i = 0; i < lists[k].n; i++) {
            uint32_t index = lists[k].list[i];
            const cji_var *v = m->var[index];
            if (v->space != CJI_SP_PARAM && v->space != CJI_SP_LOCAL) continue;
            if (!lists[k].formal && !mod->user[index]) continue;
            if (!cji_layout_var(&end, v, CJI_BYTES_MAX, &at)) return false;
            if (cji_var_alignment(v) > fn->local_align) fn->local_align = cji_var_alignment(v);
            mod->var[index] = (struct cji_dec_var){ CJI_EXEC_VAR_FRAME, at };
        }
    if (!cji_layout_add(&end, 16, 0, CJI_BYTES_MAX, &at)) end = CJI_BYTES_MAX & ~UINT64_C(15);
    fn->local = end;
    if (end > CJI_LOCAL_BYTES) frame_warns(mod, f, "local memory", end, CJI_LOCAL_BYTES, log);
    return true;
}

/* ---- Kernels ---- */

static bool kernel_params(cji_exec_program *p, cji_dec_module *mod, const cj_fn *f, cji_exec_kernel *k)
{
    const cj_ptx *m = mod->m;
    cji_exec_param *param = cji_arena_alloc(&p->arena, (f->nparam + 1) * sizeof *param);
    uint64_t end = 0, at;
    if (!param) return false;
    for (size_t i = 0; i < f->nparam; i++) {
        const cji_var *v = m->var[f->param[i]];
        if (!cji_layout_var(&end, v, CJI_PARAM_BYTES, &at)) return false;   /* cji_layout_check has said why */
        param[i] = (cji_exec_param){ cji_program_name(p, m, v->name), (uint32_t)at, (uint32_t)v->bytes,
                                     cji_var_alignment(v) };
        mod->var[f->param[i]] = (struct cji_dec_var){ CJI_EXEC_VAR_PARAM, at };
        if (!param[i].name) return false;
    }
    k->param = param;
    k->nparam = (uint32_t)f->nparam;
    k->param_bytes = (uint32_t)end;
    return true;
}

static void kernel_bounds(const cj_fn *f, cji_exec_kernel *k)
{
    memcpy(k->maxntid, f->bounds.maxntid, sizeof k->maxntid);
    memcpy(k->reqntid, f->bounds.reqntid, sizeof k->reqntid);
    memcpy(k->cluster, f->bounds.cluster, sizeof k->cluster);
    const uint32_t *limit = k->reqntid[0] ? k->reqntid : k->maxntid;
    uint64_t threads = 1;
    k->max_threads = 1024;
    for (int i = 0; i < 3 && limit[0]; i++)
        if (limit[i] && !cji_layout_mul(threads, limit[i], &threads)) return;
    if (limit[0] && threads < 1024) k->max_threads = (uint32_t)threads;
}

static bool frame_kernel(cji_exec_program *p, cji_dec_module *mod, uint32_t index, cji_text *log)
{
    const cj_fn *f = mod->m->fn[index];
    cji_func *fn = &p->func[mod->func[index]];
    if (!cji_grow(&p->kernel, &p->ckernel, p->nkernel + 1, sizeof *p->kernel)) return false;
    cji_exec_kernel *k = &p->kernel[p->nkernel];
    *k = (cji_exec_kernel){ .name = fn->name, .code = mod->func[index] };
    if (!kernel_params(p, mod, f, k) || !cji_program_index(&p->kernel_names, fn->name, p->nkernel)) return false;
    p->nkernel++;
    fn->param_bytes = k->param_bytes;
    k->static_shared = fn->reaches && fn->shared < p->common_shared ? p->common_shared : fn->shared;
    if (k->static_shared > CJI_SHARED_BYTES)
        frame_warns(mod, f, "static shared memory", k->static_shared, CJI_SHARED_BYTES, log);
    k->local_bytes = fn->local;
    kernel_bounds(f, k);
    k->ptx_version = mod->version;
    k->target = mod->target;
    return true;
}

/* What the module's kernels say of their version and target. */
static void frame_version(cji_dec_module *mod)
{
    int target = 0;
    mod->version = 0;
    cji_ptx_needs(mod->m, &mod->version, &target);
    const char *name = cji_target_name((uint32_t)(target < 0 ? 0 : target)), *digits = name ? strchr(name, '_') : NULL;
    mod->target = digits ? (uint32_t)strtoul(digits + 1, NULL, 10) : 0;
}

bool cji_program_frames(cji_exec_program *p, cji_dec_module *mods, size_t n, cji_text *log)
{
    for (size_t i = 0; i < n; i++)
        if (!frame_common(p, &mods[i], log)) return false;
    for (size_t i = 0; i < n; i++)
        if (!frame_own(p, &mods[i], log)) return false;
    for (size_t i = 0; i < n; i++) {
        frame_version(&mods[i]);
        for (uint32_t j = 0; j < mods[i].m->nfn; j++) {
            if (!cji_program_is_ours(p, &mods[i], (uint32_t)i, j)) continue;
            cji_func *fn = &p->func[mods[i].func[j]];
            if (!frame_local(&mods[i], mods[i].m->fn[j], fn, log)) return false;
            if (fn->kernel && !frame_kernel(p, &mods[i], j, log)) return false;
        }
    }
    return true;
}
