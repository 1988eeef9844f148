/* Modules: an image made executable in a context, its functions and its variables. */
#include "sim/module/sim_module.h"

#include <string.h>

static sim_module *sim_modules;   /* all that exist */

enum { SIM_IMAGE_ALIGN = 256 };    /* that every allocation has */

/* ---- Life -------------------------------------------------------------------------------------------------------- */

void cji_sim_module_drop(sim_module *m)
{
    if (--m->refs) return;
    if (m->prev) m->prev->next = m->next;
    else sim_modules = m->next;
    if (m->next) m->next->prev = m->prev;
    if (m->memory && m->ctx->alive && m->ctx->id == m->ctx_id)
        cji_sim_space_drop(m->memory, m->managed ? SIM_MANAGED : SIM_DEVICE, NULL);
    if (m->program) cji_exec_program_free(m->program);
    for (size_t i = 0; i < m->nfunc; i++) cji_free(m->func[i].steps, sizeof *m->func[i].steps);
    cji_free(m->func, m->nfunc * sizeof *m->func);
    cji_free(m, sizeof *m);
}

/* Unloaded: what is in flight keeps it until it is done. */
void cji_sim_module_forget(sim_module *m)
{
    for (sim_module **p = m->library ? &m->library->modules : NULL; p && *p; p = &(*p)->of_library)
        if (*p == m) {
            *p = m->of_library;
            break;
        }
    m->library = NULL;
    for (size_t i = 0; i < m->nfunc; i++) cji_sim_handle_drop(&m->func[i]);
    cji_sim_handle_drop(m);
    cji_sim_module_drop(m);
}

bool cji_sim_module_funcs(sim_module *m)
{
    size_t n = cji_exec_program_kernels(m->program);
    m->func = n ? cji_zalloc(n * sizeof *m->func) : NULL;
    if (n && !m->func) return false;
    m->nfunc = n;
    for (size_t i = 0; i < n; i++) {
        sim_func *f = &m->func[i];
        f->module = m;
        f->kernel = cji_exec_program_kernel_at(m->program, i);
        uint64_t most = (uint64_t)cji_sim_limit(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK);
        if (f->kernel->static_shared > most)
            most = (uint64_t)cji_sim_limit(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
        f->max_dynamic = f->kernel->static_shared < most ? (int)(most - f->kernel->static_shared) : 0;
        f->carveout = -1;
        if (m->ctx && !cji_sim_handle_add(SIM_FUNC, f)) return false;
    }
    return true;
}

CUresult cji_sim_module_make(sim_ctx *c, cji_exec_program *program, sim_module **out)
{
    sim_module *m = cji_zalloc(sizeof *m);
    if (!m || !cji_sim_handle_add(SIM_MODULE, m)) {
        cji_free(m, sizeof *m);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    m->ctx = c;
    m->ctx_id = c->id;
    m->refs = 1;
    m->program = program;
    m->next = sim_modules;
    if (m->next) m->next->prev = m;
    sim_modules = m;
    m->image_bytes = cji_exec_program_image_bytes(program);
    for (size_t i = 0; i < cji_exec_program_vars(program) && !m->managed; i++)
        m->managed = cji_exec_program_var_at(program, i)->managed;
    CUresult r = CUDA_SUCCESS;
    if (m->image_bytes) {
        uint64_t align = cji_exec_program_image_align(program);
        uint64_t more = align > SIM_IMAGE_ALIGN ? align - SIM_IMAGE_ALIGN : 0;
        r = cji_sim_space_module(c, m->image_bytes + more, m->managed, &m->memory);
        m->image = more ? (m->memory + align - 1) & ~(align - 1) : m->memory;
    }
    if (!r && !cji_sim_module_funcs(m)) r = CUDA_ERROR_OUT_OF_MEMORY;
    if (r) {
        m->program = NULL;
        cji_sim_module_forget(m);
        return r;
    }
    unsigned char *host = m->image_bytes ? cji_sim_space_at(c, m->image, m->image_bytes) : NULL;
    if (host) memset(host, 0, m->image_bytes);
    cji_exec_program_place(program, m->image, host);
    *out = m;
    return CUDA_SUCCESS;
}

static void sim_module_ctx_end(sim_ctx *c)
{
    for (sim_module *m = sim_modules, *next; m; m = next) {
        next = m->next;
        if (m->ctx == c && cji_sim_handle_is(SIM_MODULE, m)) cji_sim_module_forget(m);
    }
}

static void sim_module_process_end(void)
{
    void *link;
    size_t at = 0, library_at = 0;
    while ((link = cji_sim_handle_next(SIM_LINK, NULL, NULL, &at))) cji_sim_link_forget(link);
    while ((link = cji_sim_handle_next(SIM_LIBRARY, NULL, NULL, &library_at))) cji_sim_library_forget(link);
}

const sim_room cji_sim_room_module = { .name = "module",
                                       .ctx_end = sim_module_ctx_end,
                                       .process_end = sim_module_process_end };

/* Without the lock. */
CUresult cji_sim_program_load(const char *call, const void *data, size_t bytes, const sim_options *o, sim_image *image,
                              cji_exec_program **program)
{
    cji_text log = { 0 };
    CUresult r = cji_sim_image_read(data, bytes, image, &log);
    if (!r) cji_sim_image_limit(image, o->max_registers);
    if (!r) r = cji_sim_module_build(image->text, image->n, program, &log);
    if (r) cji_sim_image_free(image);
    if (r) cji_sim_reject_log(r, &log);
    else if (log.n) cji_log(CJ_LOG_WARNING, "%s: %.400s", call, cji_text_str(&log));
    cji_sim_jit_options_finish(o, r ? "" : cji_text_str(&log), r ? cji_text_str(&log) : "");
    cji_text_free(&log);
    return r;
}

/* bytes 0: unknown */
static CUresult sim_module_load(CUmodule *out, const void *data, size_t bytes, const sim_options *o)
{
    sim_ctx *c;
    sim_image image;
    sim_module *m;
    cji_exec_program *program = NULL;
    if (!out || !data) return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    CUresult r = cji_sim_ctx_current(&c);
    uint64_t id = r ? 0 : c->id;
    sim_unlock();
    if (!r) r = cji_sim_program_load("cuModuleLoadData", data, bytes, o, &image, &program);
    if (r) return r;
    cji_sim_image_free(&image);
    sim_lock();
    r = !c->alive || c->id != id ? CUDA_ERROR_CONTEXT_IS_DESTROYED : cji_sim_module_make(c, program, &m);
    if (!r) *out = (CUmodule)m;
    if (!r && cji_exec_program_vars(program)) cji_sim_rooms_module_loaded();   /* its variables are written */
    sim_unlock();
    if (r) cji_exec_program_free(program);
    return r;
}

CUresult cji_sim_cuModuleLoadData(CUmodule *out, const void *image)
{
    sim_options none = { 0 };
    return sim_module_load(out, image, 0, &none);
}

CUresult cji_sim_cuModuleLoadDataEx(CUmodule *out, const void *image, unsigned n, CUjit_option *options, void **values)
{
    sim_options o;
    CUresult r = cji_sim_jit_options(n, options, values, &o);
    return r ? r : sim_module_load(out, image, 0, &o);
}

CUresult cji_sim_cuModuleLoadFatBinary(CUmodule *out, const void *image)
{
    if (!image) return CUDA_ERROR_INVALID_VALUE;
    if (!cji_sim_is_fatbin(image, 0)) return cji_sim_reject(CUDA_ERROR_INVALID_IMAGE, "the image is no fat binary");
    return cji_sim_cuModuleLoadData(out, image);
}

CUresult cji_sim_cuModuleLoad(CUmodule *out, const char *path)
{
    sim_options none = { 0 };
    void *data;
    size_t bytes;
    if (!out || !path) return CUDA_ERROR_INVALID_VALUE;
    CUresult r = cji_sim_file_read(path, &data, &bytes);
    if (r) return r;
    r = sim_module_load(out, data, bytes, &none);
    cji_free(data, bytes + 1);
    return r;
}

CUresult cji_sim_cuModuleUnload(CUmodule h)
{
    sim_module *m = (sim_module *)h;
    sim_lock();
    CUresult r = cji_sim_handle_is(SIM_MODULE, h) ? m->ctx->fault : CUDA_ERROR_INVALID_HANDLE;
    if (cji_sim_handle_is(SIM_MODULE, h) && m->library)
        r = cji_sim_reject(CUDA_ERROR_NOT_PERMITTED, "the module belongs to a library: unload that");
    else if (cji_sim_handle_is(SIM_MODULE, h)) cji_sim_module_forget(m);
    sim_unlock();
    return r;
}

/* ---- What is in it ----------------------------------------------------------------------------------------------- */

static CUresult sim_module_of(CUmodule h, sim_module **out)
{
    if (!cji_sim_handle_is(SIM_MODULE, h)) return CUDA_ERROR_INVALID_HANDLE;
    *out = (sim_module *)h;
    return (*out)->ctx->fault;
}

CUresult cji_sim_cuModuleGetFunction(CUfunction *out, CUmodule h, const char *name)
{
    sim_module *m;
    if (!out || !name || !*name) return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    CUresult r = sim_module_of(h, &m);
    size_t at = r ? SIZE_MAX : cji_exec_program_kernel_index(m->program, name);
    if (!r && at == SIZE_MAX) r = CUDA_ERROR_NOT_FOUND;
    if (!r) *out = (CUfunction)&m->func[at];
    sim_unlock();
    return r;
}

CUresult cji_sim_cuModuleGetGlobal(CUdeviceptr *at, size_t *bytes, CUmodule h, const char *name)
{
    sim_module *m;
    if (!name || !*name || (!at && !bytes)) return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    CUresult r = sim_module_of(h, &m);
    if (!r) {
        const cji_exec_var *v = cji_exec_program_var(m->program, name);
        if (!v) r = CUDA_ERROR_NOT_FOUND;
        if (!v && cji_exec_program_kernel(m->program, name)) r = CUDA_ERROR_INVALID_VALUE; /* a function's name */
        if (v && at) *at = m->image + v->offset;
        if (v && bytes) *bytes = v->bytes;
    }
    sim_unlock();
    return r;
}

CUresult cji_sim_cuModuleGetFunctionCount(unsigned *count, CUmodule h)
{
    sim_module *m;
    if (!count) return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    CUresult r = sim_module_of(h, &m);
    if (!r) *count = (unsigned)m->nfunc;
    sim_unlock();
    return r;
}

CUresult cji_sim_cuModuleEnumerateFunctions(CUfunction *functions, unsigned n, CUmodule h)
{
    sim_module *m;
    if (!functions) return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    CUresult r = sim_module_of(h, &m);
    for (size_t i = 0; !r && i < n && i < m->nfunc; i++) functions[i] = (CUfunction)&m->func[i];
    sim_unlock();
    return r;
}

CUresult cji_sim_cuModuleGetLoadingMode(CUmoduleLoadingMode *mode)
{
    if (!mode) return CUDA_ERROR_INVALID_VALUE;
    *mode = CU_MODULE_EAGER_LOADING;
    return CUDA_SUCCESS;
}
