/* Libraries: code that is loaded without a context. Its catalog knows names, parameters and attributes; each context
 * that needs it gets a module of it then, under the lock. */
#include "sim/module/sim_module.h"

#include <string.h>

/* ---- Life -------------------------------------------------------------------------------------------------------- */

/* Under the lock; it has no handle any more. */
static void sim_library_free(sim_library *l)
{
    while (l->modules) cji_sim_module_forget(l->modules);
    for (size_t i = 0; i < l->nkern; i++) cji_sim_handle_drop(&l->kern[i]);
    for (int d = 0; d < SIM_MAX_DEVICES; d++)
        if (l->setting[d]) cji_free(l->setting[d], l->nkern * sizeof *l->setting[d]);
    cji_free(l->kern, l->nkern * sizeof *l->kern);
    cji_free(l->catalog.func, l->catalog.nfunc * sizeof *l->catalog.func);
    if (l->catalog.program) cji_exec_program_free(l->catalog.program);
    cji_sim_image_free(&l->image);
    cji_free(l, sizeof *l);
}

void cji_sim_library_forget(void *library)
{
    cji_sim_handle_drop(library);
    sim_library_free(library);
}

/* Under the lock; takes over image and program, in every case. */
static CUresult sim_library_make(const sim_image *image, cji_exec_program *program, CUlibrary *out)
{
    sim_library *l = cji_zalloc(sizeof *l);
    if (!l) {
        sim_image copy = *image;
        cji_sim_image_free(&copy);
        cji_exec_program_free(program);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    l->image = *image;
    l->catalog.program = program;
    bool ok = cji_sim_module_funcs(&l->catalog);
    size_t n = l->catalog.nfunc;
    l->kern = ok && n ? cji_zalloc(n * sizeof *l->kern) : NULL;
    ok = ok && (l->kern || !n);
    for (size_t i = 0; ok && i < n; i++) {
        l->nkern = n;
        l->kern[i] = (sim_kern){ l, i };
        ok = cji_sim_handle_add(SIM_KERNEL, &l->kern[i]);
    }
    if (!ok || !cji_sim_handle_add(SIM_LIBRARY, l)) {
        sim_library_free(l);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *out = (CUlibrary)l;
    return CUDA_SUCCESS;
}

static CUresult sim_library_options(const CUlibraryOption *option, void *const *value, unsigned n, bool from_file)
{
    if (n && (!option || !value)) return CUDA_ERROR_INVALID_VALUE;
    for (unsigned i = 0; i < n; i++) {
        if (option[i] == CU_LIBRARY_HOST_UNIVERSAL_FUNCTION_AND_DATA_TABLE) continue;
        if (option[i] != CU_LIBRARY_BINARY_IS_PRESERVED || from_file) return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
}

static cji_exec_program *sim_program_of_nothing(sim_image *image)
{
    cji_text log = { 0 };
    cji_exec_program *program = cji_exec_program_make(NULL, 0, &log);
    memset(image, 0, sizeof *image);
    cji_text_free(&log);
    return program;
}

/* bytes 0: unknown */
static CUresult sim_library_load(CUlibrary *out, const void *code, size_t bytes, unsigned n, CUjit_option *option,
                                 void **value)
{
    sim_options o;
    sim_image image;
    cji_exec_program *program;
    CUresult r = cji_sim_jit_options(n, option, value, &o);
    if (!r) r = cji_sim_program_load("cuLibraryLoadData", code, bytes, &o, &image, &program);
    if (r && r != CUDA_ERROR_INVALID_PTX) return r;
    /* a GPU's driver compiles later: the library of such a text is there, and what is asked of it fails */
    CUresult status = r;
    if (status && !(program = sim_program_of_nothing(&image))) return CUDA_ERROR_OUT_OF_MEMORY;
    sim_lock();
    r = sim_library_make(&image, program, out);
    if (!r) ((sim_library *)(void *)*out)->status = status;
    sim_unlock();
    return r;
}

CUresult cji_sim_cuLibraryLoadData(CUlibrary *out, const void *code, CUjit_option *option, void **value, unsigned n,
                                   CUlibraryOption *how, void **how_value, unsigned nhow)
{
    if (!out || !code) return CUDA_ERROR_INVALID_VALUE;
    CUresult r = sim_library_options(how, how_value, nhow, false);
    return r ? r : sim_library_load(out, code, 0, n, option, value);
}

CUresult cji_sim_cuLibraryLoadFromFile(CUlibrary *out, const char *path, CUjit_option *option, void **value,
                                       unsigned n, CUlibraryOption *how, void **how_value, unsigned nhow)
{
    void *data;
    size_t bytes;
    if (!out || !path) return CUDA_ERROR_INVALID_VALUE;
    CUresult r = sim_library_options(how, how_value, nhow, true);
    if (!r) r = cji_sim_file_read(path, &data, &bytes);
    if (r) return r;
    r = sim_library_load(out, data, bytes, n, option, value);
    cji_free(data, bytes + 1);
    return r;
}

static CUresult sim_library_of(CUlibrary h, sim_library **out)
{
    *out = (sim_library *)h;
    return cji_sim_handle_is(SIM_LIBRARY, h) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult cji_sim_cuLibraryUnload(CUlibrary h)
{
    sim_library *l;
    sim_lock();
    CUresult r = sim_library_of(h, &l);
    if (!r) cji_sim_library_forget(l);
    sim_unlock();
    return r;
}

/* ---- In a context ------------------------------------------------------------------------------------------------ */

/* A function gets what was set for its kernel on that device. */
static void sim_settings_to(const sim_library *l, sim_module *m)
{
    const sim_func *from = l->setting[m->ctx->dev->ordinal];
    for (size_t i = 0; from && i < m->nfunc; i++) {
        sim_func *f = &m->func[i];
        f->max_dynamic = from[i].max_dynamic;
        f->carveout = from[i].carveout;
        f->nonportable = from[i].nonportable;
        f->policy = from[i].policy;
        f->cache = from[i].cache;
        memcpy(f->cluster, from[i].cluster, sizeof f->cluster);
    }
}

static CUresult sim_library_in(sim_library *l, sim_ctx *c, sim_module **out)
{
    cji_exec_program *program = NULL;
    cji_text log = { 0 };
    for (sim_module *m = l->modules; m; m = m->of_library)
        if (m->ctx == c && m->ctx_id == c->id) {
            *out = m;
            return CUDA_SUCCESS;
        }
    CUresult r = cji_sim_module_build(l->image.text, l->image.n, &program, &log);
    if (r) cji_sim_reject_log(r, &log);
    cji_text_free(&log);
    if (r) return r;
    r = cji_sim_module_make(c, program, out);
    if (r) {
        cji_exec_program_free(program);
        return r;
    }
    (*out)->library = l;
    (*out)->of_library = l->modules;
    l->modules = *out;
    sim_settings_to(l, *out);
    return CUDA_SUCCESS;
}

CUresult cji_sim_kern_func(const sim_kern *k, sim_ctx *c, sim_func **out)
{
    sim_module *m;
    CUresult r = sim_library_in(k->library, c, &m);
    if (!r) *out = &m->func[k->index];
    return r;
}

/* In the current context. */
static CUresult sim_library_here(CUlibrary h, sim_module **out)
{
    sim_library *l;
    sim_ctx *c;
    CUresult r = sim_library_of(h, &l);
    if (!r) r = cji_sim_ctx_current(&c);
    if (!r) r = l->status;
    return r ? r : sim_library_in(l, c, out);
}

CUresult cji_sim_cuLibraryGetModule(CUmodule *out, CUlibrary h)
{
    sim_module *m;
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    CUresult r = sim_library_here(h, &m);
    if (!r) *out = (CUmodule)m;
    sim_unlock();
    return r;
}

static CUresult sim_library_var(CUdeviceptr *at, size_t *bytes, CUlibrary h, const char *name, bool managed)
{
    sim_module *m;
    if (!name || !*name || (!at && !bytes)) return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    CUresult r = sim_library_here(h, &m);
    const cji_exec_var *v = r ? NULL : cji_exec_program_var(m->program, name);
    if (!r && (!v || (managed && !v->managed))) r = CUDA_ERROR_NOT_FOUND;
    if (!r && at) *at = m->image + v->offset;
    if (!r && bytes) *bytes = v->bytes;
    sim_unlock();
    return r;
}

CUresult cji_sim_cuLibraryGetGlobal(CUdeviceptr *at, size_t *bytes, CUlibrary h, const char *name)
{
    return sim_library_var(at, bytes, h, name, false);
}

CUresult cji_sim_cuLibraryGetManaged(CUdeviceptr *at, size_t *bytes, CUlibrary h, const char *name)
{
    return sim_library_var(at, bytes, h, name, true);
}

/* Functions for host and device come from a runtime program: PTX has none. */
CUresult cji_sim_cuLibraryGetUnifiedFunction(void **out, CUlibrary h, const char *name)
{
    sim_library *l;
    if (!out || !name) return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    CUresult r = sim_library_of(h, &l);
    sim_unlock();
    return r ? r : CUDA_ERROR_NOT_FOUND;
}

/* ---- Kernels ----------------------------------------------------------------------------------------------------- */

CUresult cji_sim_cuLibraryGetKernel(CUkernel *out, CUlibrary h, const char *name)
{
    sim_library *l;
    if (!out || !name) return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    CUresult r = sim_library_of(h, &l);
    if (!r) r = l->status;
    size_t i = r ? SIZE_MAX : cji_exec_program_kernel_index(l->catalog.program, name);
    if (!r && i == SIZE_MAX) r = CUDA_ERROR_NOT_FOUND;
    if (!r) *out = (CUkernel)&l->kern[i];
    sim_unlock();
    return r;
}

CUresult cji_sim_cuLibraryGetKernelCount(unsigned *count, CUlibrary h)
{
    sim_library *l;
    if (!count) return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    CUresult r = sim_library_of(h, &l);
    if (!r) *count = (unsigned)l->nkern;
    sim_unlock();
    return r;
}

CUresult cji_sim_cuLibraryEnumerateKernels(CUkernel *out, unsigned n, CUlibrary h)
{
    sim_library *l;
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    CUresult r = sim_library_of(h, &l);
    for (size_t i = 0; !r && i < n && i < l->nkern; i++) out[i] = (CUkernel)&l->kern[i];
    sim_unlock();
    return r;
}

static CUresult sim_kern_of(CUkernel h, sim_kern **out)
{
    *out = (sim_kern *)h;
    return cji_sim_handle_is(SIM_KERNEL, h) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

static const cji_exec_kernel *sim_kern_facts(const sim_kern *k) { return k->library->catalog.func[k->index].kernel; }

CUresult cji_sim_cuKernelGetFunction(CUfunction *out, CUkernel h)
{
    sim_kern *k;
    sim_func *f;
    sim_ctx *c;
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    CUresult r = sim_kern_of(h, &k);
    if (!r) r = cji_sim_ctx_current(&c);
    if (!r) r = cji_sim_kern_func(k, c, &f);
    if (!r) *out = (CUfunction)f;
    sim_unlock();
    return r;
}

CUresult cji_sim_cuKernelGetLibrary(CUlibrary *out, CUkernel h)
{
    sim_kern *k;
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    CUresult r = sim_kern_of(h, &k);
    if (!r) *out = (CUlibrary)k->library;
    sim_unlock();
    return r;
}

CUresult cji_sim_cuKernelGetName(const char **out, CUkernel h)
{
    sim_kern *k;
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    CUresult r = sim_kern_of(h, &k);
    if (!r) *out = sim_kern_facts(k)->name;
    sim_unlock();
    return r;
}

CUresult cji_sim_cuKernelGetParamInfo(CUkernel h, size_t i, size_t *offset, size_t *size)
{
    sim_kern *k;
    sim_ctx *c;
    if (!offset) return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    CUresult r = sim_kern_of(h, &k);
    if (!r) r = cji_sim_ctx_current(&c);
    if (!r) r = cji_sim_kernel_param(sim_kern_facts(k), i, offset, size);
    sim_unlock();
    return r;
}

/* ---- Attributes of a kernel on a device -------------------------------------------------------------------------- */

/* What is set there; the catalog's where nothing is. */
static CUresult sim_kern_setting(CUkernel h, CUdevice d, bool make, sim_kern **k, sim_func **out)
{
    CUresult r = sim_kern_of(h, k);
    if (!r && !cji_sim_device(d)) r = CUDA_ERROR_INVALID_DEVICE;
    if (r) return r;
    sim_library *l = (*k)->library;
    if (!l->setting[d] && make) {
        l->setting[d] = cji_zalloc(l->nkern * sizeof *l->setting[d]);
        if (!l->setting[d]) return CUDA_ERROR_OUT_OF_MEMORY;
        memcpy(l->setting[d], l->catalog.func, l->nkern * sizeof *l->setting[d]);
    }
    *out = &(l->setting[d] ? l->setting[d] : l->catalog.func)[(*k)->index];
    return CUDA_SUCCESS;
}

CUresult cji_sim_cuKernelGetAttribute(int *value, CUfunction_attribute attribute, CUkernel h, CUdevice d)
{
    sim_kern *k;
    sim_func *f;
    if (!value) return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    CUresult r = sim_kern_setting(h, d, false, &k, &f);
    if (!r) r = cji_sim_func_attribute(f, attribute, value);
    sim_unlock();
    return r;
}

/* Functions of the kernel on that device change too, unless cuFuncSetAttribute has set theirs. */
CUresult cji_sim_cuKernelSetAttribute(CUfunction_attribute attribute, int value, CUkernel h, CUdevice d)
{
    sim_kern *k;
    sim_func *f;
    sim_lock();
    CUresult r = sim_kern_setting(h, d, true, &k, &f);
    if (!r) r = cji_sim_func_set(f, attribute, value);
    for (sim_module *m = r ? NULL : k->library->modules; m; m = m->of_library)
        if (m->ctx->dev->ordinal == d && !(m->func[k->index].own >> attribute & 1))
            (void)cji_sim_func_set(&m->func[k->index], attribute, value);
    sim_unlock();
    return r;
}

CUresult cji_sim_cuKernelSetCacheConfig(CUkernel h, CUfunc_cache config, CUdevice d)
{
    sim_kern *k;
    sim_func *f;
    if (config < CU_FUNC_CACHE_PREFER_NONE || config > CU_FUNC_CACHE_PREFER_EQUAL) return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    CUresult r = sim_kern_setting(h, d, true, &k, &f);
    if (!r) f->cache = config;
    for (sim_module *m = r ? NULL : k->library->modules; m; m = m->of_library)
        if (m->ctx->dev->ordinal == d) m->func[k->index].cache = config;
    sim_unlock();
    return r;
}
