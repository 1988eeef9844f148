/* Modules: an image made executable in a context, its functions and its variables. */
#include "sim/simcore.h"
#include "sim/sim_capture.h"
#include "sim/sim_device.h"
#include "sim/sim_memory.h"
#include "sim/sim_module.h"

#include <string.h>

/* ---- Life -------------------------------------------------------------------------------------------------------- */

void cji_sd_module_drop(sd_module *m)
{
    if (--m->refs) return;
    if (m->prev) m->prev->next = m->next;
    else sd.modules = m->next;
    if (m->next) m->next->prev = m->prev;
    if (m->image && m->ctx->alive && m->ctx->id == m->ctx_id) cji_sd_space_drop(m->image, SD_DEVICE, NULL);
    if (m->program) cji_sim_program_free(m->program);
    cji_free(m->func, m->nfunc * sizeof *m->func);
    cji_free(m, sizeof *m);
}

/* Unloaded: what is in flight keeps it until it is done. */
void cji_sd_module_forget(sd_module *m)
{
    for (size_t i = 0; i < m->nfunc; i++) cji_sd_handle_drop(&m->func[i]);
    cji_sd_handle_drop(m);
    cji_sd_module_drop(m);
}

static bool sd_module_funcs(sd_module *m)
{
    size_t n = cji_sim_program_kernels(m->program);
    m->func = n ? cji_zalloc(n * sizeof *m->func) : NULL;
    if (n && !m->func) return false;
    m->nfunc = n;
    for (size_t i = 0; i < n; i++) {
        sd_func *f = &m->func[i];
        f->module = m;
        f->kernel = cji_sim_program_kernel_at(m->program, i);
        int room = cji_sd_limit(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK) - (int)f->kernel->static_shared;
        f->max_dynamic = room > 0 ? room : 0;
        f->carveout = -1;
        if (!cji_sd_handle_add(SD_FUNC, f)) return false;
    }
    return true;
}

/* Under the lock; takes over the program when it succeeds. */
static CUresult sd_module_make(sd_ctx *c, cji_sim_program *program, sd_module **out)
{
    sd_module *m = cji_zalloc(sizeof *m);
    if (!m || !cji_sd_handle_add(SD_MODULE, m)) {
        cji_free(m, sizeof *m);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    m->ctx = c;
    m->ctx_id = c->id;
    m->refs = 1;
    m->program = program;
    m->next = sd.modules;
    if (m->next) m->next->prev = m;
    sd.modules = m;
    m->image_bytes = cji_sim_program_image_bytes(program);
    CUresult r = CUDA_SUCCESS;
    if (m->image_bytes) r = cji_sd_space_alloc(c->dev, c, m->image_bytes, NULL, true, &m->image);
    if (!r && !sd_module_funcs(m)) r = CUDA_ERROR_OUT_OF_MEMORY;
    if (r) {
        m->program = NULL;
        cji_sd_module_forget(m);
        return r;
    }
    unsigned char *host = m->image_bytes ? cji_sd_space_at(c, m->image, m->image_bytes) : NULL;
    if (host) memset(host, 0, m->image_bytes);
    cji_sim_program_place(program, m->image, host);
    *out = m;
    return CUDA_SUCCESS;
}

/* Reads and predecodes without the lock. */
static CUresult sd_module_load(CUmodule *out, const void *data, const sd_options *o)
{
    sd_ctx *c;
    cji_text log = { 0 };
    sd_image image;
    cji_sim_program *program = NULL;
    if (!out || !data) return CUDA_ERROR_INVALID_VALUE;
    sd_lock();
    CUresult r = cji_sd_ctx(&c);
    uint64_t id = r ? 0 : c->id;
    sd_unlock();
    if (r) return r;
    r = cji_sd_image_read(data, 0, &image, &log);
    if (!r) r = cji_sd_build(image.text, image.n, &program, &log);
    cji_sd_image_free(&image);
    if (!r) {
        sd_module *m;
        sd_lock();
        r = !c->alive || c->id != id ? CUDA_ERROR_CONTEXT_IS_DESTROYED : sd_module_make(c, program, &m);
        if (!r) *out = (CUmodule)m;
        if (!r && cji_sim_program_vars(program)) cji_sd_unsafe_load();   /* its variables are written */
        sd_unlock();
        if (r) cji_sim_program_free(program);
    }
    if (r && log.n) cji_log(CJ_LOG_DEBUG, "cuModuleLoadData: %.400s", cji_text_str(&log));
    cji_sd_options_finish(o, "", cji_text_str(&log));
    cji_text_free(&log);
    return r;
}

CUresult cji_sd_cuModuleLoadData(CUmodule *out, const void *image)
{
    sd_options none = { 0 };
    return sd_module_load(out, image, &none);
}

CUresult cji_sd_cuModuleLoadDataEx(CUmodule *out, const void *image, unsigned n, CUjit_option *options, void **values)
{
    sd_options o;
    CUresult r = cji_sd_options(n, options, values, &o);
    return r ? r : sd_module_load(out, image, &o);
}

CUresult cji_sd_cuModuleUnload(CUmodule h)
{
    sd_lock();
    CUresult r = cji_sd_handle_is(SD_MODULE, h) ? ((sd_module *)h)->ctx->fault : CUDA_ERROR_INVALID_HANDLE;
    if (cji_sd_handle_is(SD_MODULE, h)) cji_sd_module_forget((sd_module *)h);
    sd_unlock();
    return r;
}

/* ---- What is in it ----------------------------------------------------------------------------------------------- */

static CUresult sd_module_of(CUmodule h, sd_module **out)
{
    if (!cji_sd_handle_is(SD_MODULE, h)) return CUDA_ERROR_INVALID_HANDLE;
    *out = (sd_module *)h;
    return (*out)->ctx->fault;
}

CUresult cji_sd_cuModuleGetFunction(CUfunction *out, CUmodule h, const char *name)
{
    sd_module *m;
    if (!out || !name || !*name) return CUDA_ERROR_INVALID_VALUE;
    sd_lock();
    CUresult r = sd_module_of(h, &m);
    if (!r) {
        r = CUDA_ERROR_NOT_FOUND;
        for (size_t i = 0; i < m->nfunc && r; i++)
            if (strcmp(m->func[i].kernel->name, name) == 0) {
                *out = (CUfunction)&m->func[i];
                r = CUDA_SUCCESS;
            }
    }
    sd_unlock();
    return r;
}

CUresult cji_sd_cuModuleGetGlobal(CUdeviceptr *at, size_t *bytes, CUmodule h, const char *name)
{
    sd_module *m;
    if (!name || !*name || (!at && !bytes)) return CUDA_ERROR_INVALID_VALUE;
    sd_lock();
    CUresult r = sd_module_of(h, &m);
    if (!r) {
        const cji_sim_var *v = cji_sim_program_var(m->program, name);
        if (!v) r = CUDA_ERROR_NOT_FOUND;
        for (size_t i = 0; !v && i < m->nfunc; i++)
            if (strcmp(m->func[i].kernel->name, name) == 0) r = CUDA_ERROR_INVALID_VALUE;   /* a name, but of a function */
        if (v && at) *at = m->image + v->offset;
        if (v && bytes) *bytes = v->bytes;
    }
    sd_unlock();
    return r;
}

CUresult cji_sd_cuModuleGetFunctionCount(unsigned *count, CUmodule h)
{
    sd_module *m;
    if (!count) return CUDA_ERROR_INVALID_VALUE;
    sd_lock();
    CUresult r = sd_module_of(h, &m);
    if (!r) *count = (unsigned)m->nfunc;
    sd_unlock();
    return r;
}

CUresult cji_sd_cuModuleEnumerateFunctions(CUfunction *functions, unsigned n, CUmodule h)
{
    sd_module *m;
    if (!functions) return CUDA_ERROR_INVALID_VALUE;
    sd_lock();
    CUresult r = sd_module_of(h, &m);
    for (size_t i = 0; !r && i < n && i < m->nfunc; i++) functions[i] = (CUfunction)&m->func[i];
    sd_unlock();
    return r;
}

CUresult cji_sd_cuModuleGetLoadingMode(CUmoduleLoadingMode *mode)
{
    if (!mode) return CUDA_ERROR_INVALID_VALUE;
    *mode = CU_MODULE_EAGER_LOADING;
    return CUDA_SUCCESS;
}
