/* cj_module: code loaded on a device.  A builder is compiled and loaded once for each device: its module stands in
 * the device's list, keyed by the
 * builder's serial, which no other builder of the process ever has. */
#include <string.h>

#include "base/cancel.h"
#include "base/first.h"
#include "driver/driver.h"
#include "driver/image.h"
#include "driver/jit.h"

static CJI_FIRST cj_module *new_module(cj_device *dev, const char *call, cj_status *status)
{
    cj_module *mod = cji_obj_new(sizeof *mod, CJI_TAG_MODULE, 0, call);
    *status = CJ_ENOMEM;
    if (cji_obj_failed(mod)) return mod;
    *status = cji_check_arg(mod, dev, CJI_TAG_DEVICE, call, "the device");
    if (*status == CJ_OK) mod->dev = cji_obj_retain(dev);
    return mod;
}

/* -- Loading ------------------------------------------------------------------------------------------------------- */

/* By cuModuleLoadData; once more when memory is short and releases wait. */
static cj_status load_data(cj_module *mod, const void *data, cji_wanted *wanted, const char *call)
{
    cj_device *dev = mod->dev;
    cji_deferred_poll(&dev->queue, 4);
    for (int tries = 0;; tries++) {
        const CUresult r = cji_load_in_turn(dev, &mod->raw, data, wanted);
        if (r == CUDA_SUCCESS) return CJ_OK;
        if (r != CUDA_ERROR_OUT_OF_MEMORY || tries || !atomic_load(&dev->queue.waiting))
            return cji_cu_fail_as(mod, dev, r, CJ_OK, "cuModuleLoadData", call,
                                  "%s: the image cannot be loaded on device %d (%s)", call, dev->ordinal, dev->sm);
        cji_deferred_drain(&dev->queue, CJI_DEFERRED_ALL);
    }
}

/* One try by cuModuleLoadDataEx; *again asks for larger log buffers. */
static cj_status load_text_once(cj_module *mod, cji_jit_source from, size_t log_size, bool *again, const char *call)
{
    cj_device *dev = mod->dev;
    cji_jit jit;
    cji_scope scope;
    *again = false;
    if (!cji_jit_begin(&jit, log_size, &mod->compile))
        return cji_fail(mod, CJ_ENOMEM, call, "no memory for the compiler's log");
    CUresult r = CUDA_ERROR_INVALID_CONTEXT;
    if (cji_queue_scope(&dev->queue, &scope)) {
        r = dev->api.cuModuleLoadDataEx(&mod->raw, from.text, jit.count, jit.option, jit.value);
        *again = cji_jit_cut(&jit);
        if (r != CUDA_SUCCESS) mod->raw = NULL;
        if (*again && r == CUDA_SUCCESS) dev->api.cuModuleUnload(mod->raw), mod->raw = NULL;
    }
    cji_scope_leave(&scope);
    cji_jit_end(&jit, from, &mod->log);
    if (*again) return cji_text_free(&mod->log), CJ_OK;
    return r == CUDA_SUCCESS ? CJ_OK
                             : cji_jit_fail(mod, dev, r, "cuModuleLoadDataEx", call, &mod->log, from);
}

/* Compiles and loads a text; mod->compile says how. */
static cj_status load_text(cj_module *mod, cji_jit_source from, const char *call)
{
    cj_status status = CJ_OK;
    bool again = true;
    for (size_t log_size = CJI_JIT_LOG; again && log_size < SIZE_MAX / 16; log_size *= 8)
        status = load_text_once(mod, from, log_size, &again, call);
    return status;
}

/* Takes log and entries over from an image and loads it.  `m`: the builder that it was made from, or NULL. */
static CJI_FIRST cj_status load_image(cj_module *mod, const cj_image *img, cj_ptx *m, cji_wanted *wanted,
                                      const char *call)
{
    cji_text_put(&mod->log, img->log.p ? img->log.p : "", img->log.n);
    mod->entries = cji_entries_retain(img->entries);
    if (mod->log.failed) return cji_fail(mod, CJ_ENOMEM, call, "no memory for the module's log");
    if (!img->text) return load_data(mod, img->data, wanted, call);
    mod->compile = img->compile;
    return load_text(mod, (cji_jit_source){ .m = m, .flags = cji_print_flags(&img->compile), .text = img->data }, call);
}

static void module_discard(cj_module *mod)
{
    cji_text_free(&mod->log);
    cji_entries_release(mod->entries);
    if (mod->source) cj_ptx_free(mod->source);
    if (mod->dev) cji_device_drop(mod->dev);
    cji_obj_delete(mod, sizeof *mod);
}

static cj_status compile_and_load(cj_module *mod, cj_ptx *m, cji_wanted *wanted, const char *call)
{
    cj_image *img = cji_obj_new(sizeof *img, CJI_TAG_IMAGE, 0, call);
    if (cji_obj_failed(img)) return cji_fail(mod, CJ_ENOMEM, call, "no memory for an image");
    img->dev = cji_obj_retain(mod->dev);
    cj_status status = cji_image_compile(img, m, &mod->compile, call);
    if (status == CJ_OK) {
        status = load_image(mod, img, m, wanted, call);
    } else {
        cji_fail_from(mod, img, call);
        cji_text_put(&mod->log, img->log.p ? img->log.p : "", img->log.n);
        cji_obj_set_failed(img);
    }
    cj_image_free(img);
    return status;
}

/* -- One load for a builder and a device --------------------------------------------------------------------------- */

/* With the lock held: takes `mod` off the list. */
static void unlist(cj_module *mod)
{
    for (cj_module **at = &mod->dev->modules; *at; at = &(*at)->next) {
        if (*at != mod) continue;
        *at = mod->next;
        return;
    }
}

/* The module of that builder, retained, when another call has loaded it or is about to; NULL: `mine` stands in the
 * list now. */
static cj_module *find_or_list(cj_device *dev, cj_module *mine, uint64_t builder)
{
    cj_module *found = NULL;
    pthread_mutex_lock(&dev->modules_lock);
    for (cj_module *mod = dev->modules; mod; mod = mod->next) {
        if (mod->builder != builder) continue;
        found = cji_obj_retain(mod);
        while (found->state == CJI_MODULE_LOADING) pthread_cond_wait(&dev->modules_cond, &dev->modules_lock);
        break;
    }
    if (!found) {
        mine->builder = builder;
        mine->state = CJI_MODULE_LOADING;
        mine->next = dev->modules;
        dev->modules = mine;
    }
    pthread_mutex_unlock(&dev->modules_lock);
    return found;
}

/* Makes `mine` the failed object that says which option differs. */
static cj_module *other_options(cj_module *mine, cj_module *there, const char *differs, const char *call)
{
    cji_fail(
        mine, CJ_ESTATE, call,
        "the builder is loaded on device %d with another %s; pass NULL for that module, or load a cj_ptx_clone of the "
        "builder",
        mine->dev->ordinal, differs);
    cji_module_drop(there);
    cji_obj_set_failed(mine);
    return mine;
}

CJI_FIRST cj_module *cji_module_load(cj_device *dev, cj_ptx *m, const cj_compile_opts *opts, cji_wanted *wanted,
                                     const char *call)
{
    CJI_NO_CANCEL;
    cj_status status;
    cj_module *mod = new_module(dev, call, &status);
    if (cji_obj_failed(mod)) return mod;
    if (status == CJ_OK) status = cji_check_arg(mod, m, CJI_TAG_PTX, call, "the builder");
    if (status == CJ_OK) status = cji_compile_take(&mod->compile, opts, mod, call);
    if (status != CJ_OK) return cji_obj_set_failed(mod), mod;
    cj_module *same = find_or_list(dev, mod, ((const cji_obj *)m)->serial);
    if (same) {
        const char *differs = opts && !cji_obj_failed(same) ? cji_compile_differ(&mod->compile, &same->compile) : NULL;
        if (differs) return other_options(mod, same, differs, call);
        module_discard(mod);
        return same;
    }
    cji_first_fetch();
    status = compile_and_load(mod, m, wanted, call);
    if (status == CJ_OK) mod->source = cji_obj_retain(m);
    pthread_mutex_lock(&dev->modules_lock);
    mod->state = status == CJ_OK ? CJI_MODULE_READY : CJI_MODULE_BROKEN;
    if (status != CJ_OK) {
        unlist(mod); /* the next load tries again */
        mod->builder = 0;
        cji_obj_set_failed(mod);
    }
    pthread_cond_broadcast(&dev->modules_cond);
    pthread_mutex_unlock(&dev->modules_lock);
    return mod;
}

cj_module *cj_module_load(cj_device *dev, cj_ptx *m, const cj_compile_opts *opts)
{
    return cji_module_load(dev, m, opts, NULL, "cj_module_load");
}

cj_module *cj_module_load_image(cj_device *dev, const cj_image *img)
{
    CJI_NO_CANCEL;
    static const char call[] = "cj_module_load_image";
    cj_status status;
    cj_module *mod = new_module(dev, call, &status);
    if (cji_obj_failed(mod)) return mod;
    if (status == CJ_OK) status = cji_check_arg(mod, img, CJI_TAG_IMAGE, call, "the image");
    if (status == CJ_OK) status = load_image(mod, img, NULL, NULL, call);
    if (status != CJ_OK) cji_obj_set_failed(mod);
    return mod;
}

cj_module *cji_module_wrap(cj_device *dev, CUmodule raw, const char *call)
{
    cj_status status;
    cj_module *mod = new_module(dev, call, &status);
    if (cji_obj_failed(mod)) return mod;
    mod->raw = raw;
    mod->wrapped = true;
    if (status != CJ_OK) cji_obj_set_failed(mod);
    return mod;
}

cj_module *cj_module_wrap(cj_device *dev, void *raw)
{
    static const char call[] = "cj_module_wrap";
    cj_module *mod = cji_module_wrap(dev, raw, call);
    if (!cji_obj_failed(mod) && !raw) {
        cji_fail(mod, CJ_EINVAL, call, "the module is NULL");
        cji_obj_set_failed(mod);
    }
    return mod;
}

cj_module *cj_module_load_text(cj_device *dev, const char *ptx, const cj_compile_opts *opts)
{
    CJI_NO_CANCEL;
    static const char call[] = "cj_module_load_text";
    cj_status status;
    cj_module *mod = new_module(dev, call, &status);
    if (cji_obj_failed(mod)) return mod;
    if (status == CJ_OK && !ptx) status = cji_fail(mod, CJ_EINVAL, call, "the text is NULL");
    if (status == CJ_OK) status = cji_compile_take(&mod->compile, opts, mod, call);
    if (status == CJ_OK) {
        mod->entries = cji_entries_read(ptx, strlen(ptx));
        if (!mod->entries) status = cji_fail(mod, CJ_ENOMEM, call, "no memory for the kernels' parameters");
        if (status == CJ_OK) status = load_text(mod, (cji_jit_source){ .text = ptx }, call);
    }
    if (status != CJ_OK) cji_obj_set_failed(mod);
    return mod;
}

/* -- Release ------------------------------------------------------------------------------------------------------- */

static void module_free(cj_module *mod)
{
    if (mod->source) cj_ptx_free(mod->source);
    cji_text_free(&mod->log);
    cji_entries_release(mod->entries);
    cji_obj_delete(mod, sizeof *mod);
}

/* Every use is over; context current, capture mode relaxed. */
static void module_release_deferred(cji_deferred *deferred)
{
    cj_module *mod = (cj_module *)((char *)deferred - offsetof(cj_module, deferred));
    cj_device *dev = mod->dev;
    dev->api.cuModuleUnload(mod->raw);
    module_free(mod);
    cji_device_drop(dev);
}

CJI_FIRST void cji_module_drop(cj_module *mod)
{
    cj_device *dev = mod->dev;
    bool last;
    if (dev) pthread_mutex_lock(&dev->modules_lock);
    last = cji_obj_release(mod);
    if (last && dev && mod->builder) unlist(mod);
    if (dev) pthread_mutex_unlock(&dev->modules_lock);
    if (!last) return;
    if (!cji_obj_failed(mod)) cji_module_free_named(mod);
    if (mod->raw && !mod->wrapped) {
        cji_obj_retain(dev);
        mod->deferred.run = module_release_deferred;
        cji_defer(&dev->queue, &mod->deferred, atomic_load(&mod->used));
        cji_deferred_poll(&dev->queue, 4);
        cji_device_drop(dev);
        return;
    }
    module_free(mod);
    if (dev) cji_device_drop(dev);
}

CJI_FIRST void cj_module_free(cj_module *mod)
{
    if (cji_check_free(mod, CJI_TAG_MODULE, "cj_module_free")) cji_module_drop(mod);
}

/* -- What it holds ------------------------------------------------------------------------------------------------- */

const char *cj_module_log(const cj_module *mod)
{
    return cji_readable(mod, CJI_TAG_MODULE, true) && mod->log.p && !mod->log.failed ? mod->log.p : "";
}

void *cj_module_raw(const cj_module *mod) { return cji_readable(mod, CJI_TAG_MODULE, false) ? mod->raw : NULL; }
cj_device *cj_module_device(const cj_module *mod) { return cji_readable(mod, CJI_TAG_MODULE, false) ? mod->dev : NULL; }

cj_dptr cji_module_var(void *into, cj_module *mod, const char *name, size_t *bytes, const char *call)
{
    const cj_dptr none = { 0 };
    CUdeviceptr address = 0;
    cji_scope scope;
    *bytes = 0;
    if (cji_scope_begin_relaxed(into, mod->dev, &scope, call) != CJ_OK) return none;
    CUresult r = mod->dev->api.cuModuleGetGlobal(&address, bytes, mod->raw, name);
    cji_scope_leave(&scope);
    if (r == CUDA_SUCCESS) return (cj_dptr){ address };
    *bytes = 0;
    const bool unknown = r == CUDA_ERROR_NOT_FOUND || (!*name && r == CUDA_ERROR_INVALID_VALUE);
    cji_cu_fail_as(into, mod->dev, r, unknown ? CJ_ENOTFOUND : CJ_OK, "cuModuleGetGlobal", call,
                   "%s: the module has no .global or .const variable \"%s\"", call, cji_short(name));
    return none;
}

cj_dptr cj_module_var(cj_module *mod, const char *name, size_t *bytes)
{
    static const char call[] = "cj_module_var";
    const cj_dptr none = { 0 };
    size_t size = 0;
    if (bytes) *bytes = 0;
    if (cji_check(mod, CJI_TAG_MODULE, call) != CJ_OK) return none;
    if (!name) return cji_fail(mod, CJ_EINVAL, call, "the name is NULL"), none;
    const cj_dptr d = cji_module_var(mod, mod, name, &size, call);
    if (bytes) *bytes = size;
    return d;
}
