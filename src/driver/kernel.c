/* cj_kernel: an entry point with its parameters, and giving it to the driver. */
#include <stdio.h>
#include <string.h>

#include "base/cancel.h"
#include "base/first.h"
#include "base/lock.h"
#include "driver/args.h"
#include "driver/driver.h"

/* -- What it is ---------------------------------------------------------------------------------------------------- */

static bool alloc_params(cj_kernel *k, size_t n)
{
    if (!n) return true;
    k->param = cji_zalloc(n * (sizeof *k->param + sizeof *k->usual));
    k->nparam_room = n;
    k->usual = (cji_usual *)(void *)(k->param + n);
    return k->param != NULL;
}

static bool params_from_entry(cj_kernel *k, const cji_entry *e)
{
    if (!alloc_params(k, e->nparam)) return false;
    for (uint32_t i = 0; i < e->nparam; i++) {
        const cji_entry_param *p = &e->param[i];
        k->param[i] = (cji_param){
            .name = p->name, .offset = p->offset, .bytes = p->bytes, .type = p->type, .pointer = p->pointer
        };
    }
    k->nparam = (int)e->nparam;
    k->dynamic_shared = e->dynamic_shared;
    k->instructions = e->instructions;
    k->memory = e->memory;
    return true;
}

/* Where there is no text: offsets and sizes as the driver reports them (12.4). */
static bool params_from_driver(cj_kernel *k)
{
    const cji_cu *cu = &k->dev->api;
    size_t offset = 0, bytes = 0, n = 0;
    if (k->dev->drv->missing[CJI_CU_ID_cuFuncGetParamInfo]) return true;
    while (n < 4096 && cu->cuFuncGetParamInfo(k->fn, n, &offset, &bytes) == CUDA_SUCCESS) n++;
    if (!alloc_params(k, n)) return false;
    for (size_t i = 0; i < n; i++) {
        if (cu->cuFuncGetParamInfo(k->fn, i, &offset, &bytes) != CUDA_SUCCESS) return true;
        k->param[i] = (cji_param){ .name = "", .offset = (uint32_t)offset, .bytes = (uint32_t)bytes, .type = CJ_VOID };
    }
    k->nparam = (int)n;
    return true;
}

/* Of k->fn, whose code is loaded, in a scope.  What its code takes is queried now where each launch would need it. */
static CJI_FIRST bool read_kernel(cj_kernel *k, const char *name)
{
    const cji_entry *e = cji_entries_find(k->mod->entries, name);
    if (e) k->threads_sure = cji_kernel_threads_sure(&k->dev->info, e->threads);
    if (!k->threads_sure) cji_kernel_read_code(k);
    return e ? params_from_entry(k, e) : params_from_driver(k);
}

/* `wanted`: what was found with the load of the module; NULL: nothing. */
static CJI_FIRST cj_status find_function(cj_kernel *k, const char *name, const cji_wanted *wanted, const char *call)
{
    const cji_cu *cu = &k->dev->api;
    cji_scope scope;
    CUresult r = CUDA_ERROR_INVALID_CONTEXT;
    bool ok = true;
    if (cji_queue_scope(&k->dev->queue, &scope)) {
        const bool found = wanted && wanted->asked;
        CUfunction fn = found ? wanted->fn : NULL;
        r = found ? wanted->result : cu->cuModuleGetFunction(&fn, k->mod->raw, name);
        k->fn = k->first = fn;
        if (r == CUDA_SUCCESS && !found) cji_code_load(k->dev, fn);
        if (r == CUDA_SUCCESS) ok = read_kernel(k, name);
    }
    cji_scope_leave(&scope);
    if (r == CUDA_SUCCESS) return ok ? CJ_OK : cji_fail(k, CJ_ENOMEM, call, "no memory for the kernel's parameters");
    char names[240];
    cji_entries_names(k->mod->entries, names, sizeof names);
    const bool unknown = r == CUDA_ERROR_NOT_FOUND || (!*name && r == CUDA_ERROR_INVALID_VALUE);
    return cji_cu_fail_as(k, k->dev, r, unknown ? CJ_ENOTFOUND : CJ_OK, "cuModuleGetFunction",
                          call, "%s: the module has no kernel \"%s\"%s%s", call, cji_short(name),
                          *names ? "; it has " : "", names);
}

/* -- Making and releasing ------------------------------------------------------------------------------------------ */

static CJI_FIRST cj_kernel *make_kernel(cj_module *mod, const char *name, bool kept, const cji_wanted *wanted,
                                        const char *call)
{
    CJI_NO_CANCEL;
    cj_kernel *k = cji_obj_new(sizeof *k, CJI_TAG_KERNEL, 0, call);
    if (cji_obj_failed(k)) return k;
    k->nparam = -1;
    cj_status status = cji_check_arg(k, mod, CJI_TAG_MODULE, call, "the module");
    if (status != CJ_OK) {
        const char *log = cj_module_log(mod);
        cji_text_put(&k->log, log, strlen(log));
    } else if (!name) {
        status = cji_fail(k, CJ_EINVAL, call, "the name is NULL");
    } else {
        k->mod = kept ? mod : cji_obj_retain(mod);
        k->kept = kept;
        k->dev = mod->dev;
        k->name = cji_strdup(name);
        status = k->name ? find_function(k, name, wanted, call)
                         : cji_fail(k, CJ_ENOMEM, call, "no memory for the kernel's name");
    }
    if (status == CJ_OK) cji_params_prepare(k);
    else cji_obj_set_failed(k);
    return k;
}

cj_kernel *cj_module_kernel(cj_module *mod, const char *name)
{
    return make_kernel(mod, name, false, NULL, "cj_module_kernel");
}

cj_kernel *cji_kernel_make_kept(cj_module *mod, const char *name, const char *call)
{
    return make_kernel(mod, name, true, NULL, call);
}

CJI_FIRST cj_kernel *cj_kernel_load(cj_device *dev, cj_ptx *m, const char *name, const cj_compile_opts *opts)
{
    static const char call[] = "cj_kernel_load";
    cji_scope scope = { .cu = NULL };
    /* One scope for both; those inside find it. */
    if (cji_is_live(dev, CJI_TAG_DEVICE)) cji_queue_scope(&dev->queue, &scope);
    cji_wanted wanted = { .name = name };
    cj_module *mod = cji_module_load(dev, m, opts, name ? &wanted : NULL, call);
    cj_kernel *k = make_kernel(mod, name, false, &wanted, call);
    cji_scope_leave(&scope);
    cj_module_free(mod);
    return k;
}

/* The function's module, name and properties; in a scope. */
static cj_status read_wrapped(cj_kernel *k, const char *call)
{
    const cj_driver *drv = k->dev->drv;
    CUmodule raw = NULL;
    const char *name = NULL;
    int threads = 0;
    CUresult r = drv->cu.cuFuncGetAttribute(&threads, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, k->fn);
    if (r != CUDA_SUCCESS)
        return cji_cu_fail_as(k, k->dev, r, CJ_EINVAL, "cuFuncGetAttribute", call,
                              "%s: the CUfunction is none of device %d's context", call, k->dev->ordinal);
    if (drv->cu.cuFuncGetModule(&raw, k->fn) == CUDA_SUCCESS) k->mod->raw = raw; /* CUDA 11.0 */
    if (drv->cu.cuFuncGetName(&name, k->fn) != CUDA_SUCCESS || !name) name = ""; /* CUDA 12.3 */
    k->name = cji_strdup(name);
    if (k->name) cji_code_load(k->dev, k->fn);
    if (k->name && read_kernel(k, name)) return CJ_OK;
    return cji_fail(k, CJ_ENOMEM, call, "no memory for the kernel's name and parameters");
}

cj_kernel *cj_kernel_wrap(cj_device *dev, void *raw)
{
    static const char call[] = "cj_kernel_wrap";
    cj_kernel *k = cji_obj_new(sizeof *k, CJI_TAG_KERNEL, 0, call);
    if (cji_obj_failed(k)) return k;
    k->nparam = -1;
    cj_status status = cji_check_arg(k, dev, CJI_TAG_DEVICE, call, "the device");
    if (status == CJ_OK && !raw) status = cji_fail(k, CJ_EINVAL, call, "the function is NULL");
    if (status == CJ_OK) {
        cj_module *mod = cji_module_wrap(dev, NULL, call);
        cji_scope scope;
        if (cji_obj_failed(mod)) return cji_fail_from(k, mod, call), cj_module_free(mod), cji_obj_set_failed(k), k;
        k->mod = mod;
        k->dev = dev;
        k->fn = k->first = raw;
        status = cji_scope_begin_relaxed(k, dev, &scope, call);
        if (status == CJ_OK) {
            status = read_wrapped(k, call);
            cji_scope_leave(&scope);
        }
    }
    if (status == CJ_OK) cji_params_prepare(k);
    else cji_obj_set_failed(k);
    return k;
}

static void kernel_destroy(cj_kernel *k)
{
    if (k->fn) cji_recent_forget(&k->dev->queue, k, k->name ? k->name : "");
    cji_free(k->param, k->nparam_room * (sizeof *k->param + sizeof *k->usual));
    cji_text_free(&k->log);
    cji_strfree(k->name);
    if (k->faster) {
        /* launches are noted in the first module */
        atomic_fetch_or(&k->faster->used, atomic_load(&k->mod->used));
        cji_module_drop(k->faster);
    }
    if (k->mod && !k->kept) cji_module_drop(k->mod);
    cji_obj_delete(k, sizeof *k);
}

cj_kernel *cji_kernel_retain(cj_kernel *k)
{
    cji_obj_retain(k->kept ? (void *)k->mod : (void *)k);
    return k;
}

void cji_kernel_drop(cj_kernel *k)
{
    if (!cji_obj_failed(k) && k->kept) {
        cji_module_drop(k->mod);
        return;
    }
    if (cji_obj_release(k)) kernel_destroy(k);
}

void cji_kernel_free_kept(cj_kernel *k)
{
    if (cji_obj_release(k)) kernel_destroy(k);
}

void cj_kernel_free(cj_kernel *k)
{
    if (cji_check_free(k, CJI_TAG_KERNEL, "cj_kernel_free")) cji_kernel_drop(k);
}

/* -- Getters ------------------------------------------------------------------------------------------------------- */

static bool kernel_readable(const cj_kernel *k) { return cji_readable(k, CJI_TAG_KERNEL, false); }

const char *cj_kernel_name(const cj_kernel *k) { return kernel_readable(k) ? k->name : ""; }
void *cj_kernel_raw(const cj_kernel *k) { return kernel_readable(k) ? k->fn : NULL; }
cj_module *cj_kernel_module(const cj_kernel *k) { return kernel_readable(k) ? k->mod : NULL; }
int cj_kernel_params(const cj_kernel *k) { return kernel_readable(k) ? k->nparam : -1; }

const char *cj_kernel_log(const cj_kernel *k)
{
    if (kernel_readable(k)) return cj_module_log(k->mod);
    return cji_readable(k, CJI_TAG_KERNEL, true) && k->log.p && !k->log.failed ? k->log.p : "";
}

void cj_kernel_param_info_defaults(cj_kernel_param_info *info)
{
    if (info) *info = (cj_kernel_param_info){ .size = sizeof *info, .name = "" };
}

cj_status cj_kernel_param(cj_kernel *k, int i, cj_kernel_param_info *info)
{
    static const char call[] = "cj_kernel_param";
    cj_status status = cji_check(k, CJI_TAG_KERNEL, call);
    if (status != CJ_OK) return status;
    if (!info || info->size < sizeof info->size)
        return cji_fail(k, CJ_EINVAL, call, "info is NULL, or info->size is not sizeof(cj_kernel_param_info)");
    if (k->nparam < 0)
        return cji_fail(k, CJ_ENOTSUP, call, "the parameters of %s are not known (driver 550 or newer tells them)",
                        cji_short(k->name));
    if (i < 0 || i >= k->nparam)
        return cji_fail(k, CJ_EINVAL, call, "no parameter %d; %s has %d", i, k->name, k->nparam);
    const cji_param *p = &k->param[i];
    cj_kernel_param_info full = { .size = info->size,
                                  .name = p->name,
                                  .type = p->type,
                                  .pointer = p->pointer,
                                  .offset = p->offset,
                                  .bytes = p->bytes };
    memcpy(info, &full, info->size < sizeof full ? info->size : sizeof full);
    return CJ_OK;
}

/* -- Launching ----------------------------------------------------------------------------------------------------- */

CJI_FIRST CUresult cji_kernel_allow_shared(cj_kernel *k, uint32_t bytes)
{
    CUresult r = CUDA_SUCCESS;
    if (bytes <= atomic_load_explicit(&k->shared_set, memory_order_relaxed)) return r;
    cji_kernel_read_code(k); /* what is allowed now; where it is not known, it is set */
    /* One thread at a time: the smaller of two values, set last, would take the other launch's memory away. */
    cji_lock(&k->dev->attributes_lock, CJI_LOCK_ATTRIBUTES);
    if (bytes > atomic_load_explicit(&k->shared_set, memory_order_relaxed)) {
        r = k->dev->api.cuFuncSetAttribute(k->fn, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, (int)bytes);
        if (r == CUDA_SUCCESS) atomic_store(&k->shared_set, bytes);
    }
    cji_unlock(&k->dev->attributes_lock, CJI_LOCK_ATTRIBUTES);
    return r;
}

static CUresult launch_with_attributes(cj_kernel *k, CUstream stream, const cj_dims *d, void **args)
{
    CUlaunchAttribute attr[CJI_LAUNCH_ATTRIBUTES];
    const CUlaunchConfig c = cji_launch_config(stream, d, attr);
    return k->dev->api.cuLaunchKernelEx(&c, k->fn, args, NULL);
}

CJI_FIRST CUresult cji_kernel_launch(cj_kernel *k, CUstream stream, const cj_dims *d, void **args, const char **doing)
{
    *doing = "cuFuncSetAttribute";
    CUresult r = cji_kernel_allow_shared(k, d->shared);
    if (r != CUDA_SUCCESS) return r;
    if (d->cluster[0] || d->cooperative || d->opts) {
        *doing = "cuLaunchKernelEx";
        return launch_with_attributes(k, stream, d, args);
    }
    *doing = "cuLaunchKernel";
    return k->dev->api.cuLaunchKernel(k->fn, d->grid[0], d->grid[1], d->grid[2], d->block[0], d->block[1],
                                          d->block[2], d->shared, stream, args, NULL);
}
