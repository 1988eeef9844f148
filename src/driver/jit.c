/* The driver's compiler: options, log buffers, cuLink*.  What its answers mean: jit_log.c.  What a module needs:
 * jit_target.c. */
#include "driver/jit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/first.h"
#include "base/log.h"
#include "base/opts.h"
#include "driver/open.h"
#include "ptx/ptx.h"

/* -- Options ------------------------------------------------------------------------------------------------------- */

enum { JIT_LEVEL_MOST = 4, JIT_REGISTERS_MOST = 255 };

void cj_compile_defaults(cj_compile_opts *opts)
{
    if (opts) *opts = (cj_compile_opts){ .size = sizeof *opts };
}

CJI_FIRST cj_status cji_compile_take(cj_compile_opts *o, const cj_compile_opts *opts, void *obj, const char *call)
{
    cj_compile_defaults(o);
    if (!cji_opts_take(o, sizeof *o, opts, obj, call, "cj_compile")) return CJ_EINVAL;
    if (o->opt_level < CJ_OPT_NONE || o->opt_level > JIT_LEVEL_MOST)
        return cji_fail(obj, CJ_EINVAL, call, "opt_level is %d; 1 to %d, CJ_OPT_DEFAULT or CJ_OPT_NONE", o->opt_level,
                        JIT_LEVEL_MOST);
    if (o->max_registers < 0 || o->max_registers > JIT_REGISTERS_MOST)
        return cji_fail(obj, CJ_EINVAL, call, "max_registers is %d; 0 (no limit) to %d", o->max_registers,
                        JIT_REGISTERS_MOST);
    if (o->debug && o->opt_level > 0)
        return cji_fail(obj, CJ_EINVAL, call,
                        "debug is 1 and opt_level is %d; code for debuggers is not optimised: leave opt_level out",
                        o->opt_level);
    if (o->debug) o->opt_level = CJ_OPT_NONE;
    if (o->opt_level == CJ_OPT_DEFAULT) o->opt_level = JIT_LEVEL_MOST;
    o->debug = o->debug != 0;
    o->line_info = o->line_info || o->debug;
    return CJ_OK;
}

const char *cji_compile_differ(const cj_compile_opts *a, const cj_compile_opts *b)
{
    if (a->debug != b->debug) return "debug";
    if (a->opt_level != b->opt_level) return "opt_level";
    if (a->max_registers != b->max_registers) return "max_registers";
    return a->line_info != b->line_info ? "line_info" : NULL;
}

/* -- Logs ---------------------------------------------------------------------------------------------------------- */

static void option(cji_jit *jit, CUjit_option which, uintptr_t value)
{
    jit->option[jit->count] = which;
    jit->value[jit->count++] = (void *)value; /* numbers stand in the pointer itself; sizes are written back there */
}

bool cji_jit_begin(cji_jit *jit, size_t size, const cj_compile_opts *o)
{
    *jit = (cji_jit){ .size = size, .info = cji_zalloc(size), .error = cji_zalloc(size) };
    if (!jit->info || !jit->error) {
        cji_jit_end(jit, (cji_jit_source){ .m = NULL }, NULL);
        return false;
    }
    option(jit, CU_JIT_INFO_LOG_BUFFER, (uintptr_t)jit->info);
    option(jit, CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES, size);
    option(jit, CU_JIT_ERROR_LOG_BUFFER, (uintptr_t)jit->error);
    option(jit, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, size);
    if (o->opt_level != JIT_LEVEL_MOST)
        option(jit, CU_JIT_OPTIMIZATION_LEVEL, o->opt_level < 0 ? 0 : (uintptr_t)o->opt_level);
    if (o->max_registers) option(jit, CU_JIT_MAX_REGISTERS, (uintptr_t)o->max_registers);
    if (o->line_info) option(jit, CU_JIT_GENERATE_LINE_INFO, 1);
    if (o->debug) option(jit, CU_JIT_GENERATE_DEBUG_INFO, 1);
    return true;
}

bool cji_jit_cut(const cji_jit *jit)
{
    /* The size written back counts the NUL or not, from driver to driver; a log that fills its buffer is taken for
     * cut. */
    return strnlen(jit->info, jit->size) + 2 >= jit->size || strnlen(jit->error, jit->size) + 2 >= jit->size;
}

void cji_jit_end(cji_jit *jit, cji_jit_source from, cji_text *log)
{
    char *part[] = { jit->error, jit->info };
    for (int i = 0; log && i < 2; i++) {
        size_t n = strnlen(part[i], jit->size);
        if (!n) continue;
        if (n == jit->size) part[i][n - 1] = 0;
        cji_jit_log(log, part[i], from);
    }
    cji_free(jit->info, jit->size);
    cji_free(jit->error, jit->size);
    *jit = (cji_jit){ .size = 0 };
}

/* -- Linking ------------------------------------------------------------------------------------------------------- */

void cji_jit_no_linker(cj_driver *drv)
{
    if (!atomic_exchange(&drv->no_linker, true))
        cji_log(CJ_LOG_WARNING, "%s has no linker (cuLink*): PTX is compiled when it is loaded, by cuModuleLoadDataEx, "
                "one text after the other, and no image is kept", drv->path[0] ? drv->path : "the driver");
}

bool cji_jit_lacks_linker(cj_driver *drv)
{
    const bool *missing = drv->missing;
    if (missing[CJI_CU_ID_cuLinkCreate] || missing[CJI_CU_ID_cuLinkAddData] || missing[CJI_CU_ID_cuLinkComplete] ||
        missing[CJI_CU_ID_cuLinkDestroy])
        cji_jit_no_linker(drv);
    return atomic_load_explicit(&drv->no_linker, memory_order_relaxed);
}

/* A function with several results in registers has no ABI, and a linker's input must have one: ptxas takes such a
 * module as a whole program only, as cuModuleLoadDataEx has it compiled. */
static bool has_no_abi(cji_text *log) { return log && strstr(cji_text_str(log), "disabling ABI"); }

/* Around calls, which divisions and the like are in a part of a program, ptxas has wgmma wait for one another. */
static bool is_serialised(cji_text *log) { return log && strstr(cji_text_str(log), "presence of Extern calls"); }

/* One try; *again asks for larger log buffers. */
static cj_status link_once(void *obj, cj_device *dev, const char *ptx, size_t bytes, cji_jit_source from,
                           const cj_compile_opts *o, size_t log_size, void **data, size_t *size, cji_text *log,
                           bool *again, const char *call)
{
    const cji_cu *cu = &dev->api;
    CUlinkState state = NULL;
    cji_jit jit;
    void *cubin = NULL;
    size_t cubin_size = 0;
    const char *cu_call = "cuLinkCreate";
    *again = false;
    from.text = ptx;
    if (!cji_jit_begin(&jit, log_size, o)) return cji_fail(obj, CJ_ENOMEM, call, "no memory for the compiler's log");
    CUresult r = cu->cuLinkCreate(jit.count, jit.option, jit.value, &state);
    if (r == CUDA_SUCCESS) {
        cu_call = "cuLinkAddData";
        r = cu->cuLinkAddData(state, CU_JIT_INPUT_PTX, (void *)(uintptr_t)ptx, bytes + 1, CJI_JIT_INPUT, 0, NULL,
                              NULL); /* with its NUL */
    }
    if (r == CUDA_SUCCESS) {
        cu_call = "cuLinkComplete";
        r = cu->cuLinkComplete(state, &cubin, &cubin_size);
    }
    *again = cji_jit_cut(&jit);
    cj_status status = CJ_OK;
    if (*again || r != CUDA_SUCCESS) {
        *data = NULL;
    } else if (!cubin_size || !(*data = cji_alloc(cubin_size))) {
        status = cubin_size ? cji_fail(obj, CJ_ENOMEM, call, "no memory for %zu bytes of compiled code", cubin_size)
                            : cji_fail(obj, CJ_EDRIVER, call, "the compiler returned no code");
    } else {
        memcpy(*data, cubin, cubin_size);
        *size = cubin_size;
    }
    if (state) cu->cuLinkDestroy(state); /* the log buffers are the driver's until then */
    const bool none = !state && r == CUDA_ERROR_NOT_SUPPORTED;
    cji_jit_end(&jit, from, none ? NULL : log);
    const bool dropped = !*again && r == CUDA_SUCCESS && *data && is_serialised(log);
    if (dropped) cji_free(*data, *size), *data = NULL;
    if (*again || dropped) cji_text_free(log);
    else if (none) cji_jit_no_linker(dev->drv);
    else if (r != CUDA_SUCCESS && has_no_abi(log)) cji_text_free(log);
    else if (r != CUDA_SUCCESS) status = cji_jit_fail(obj, dev, r, cu_call, call, log, from);
    return status;
}

cj_status cji_jit_link(void *obj, cj_device *dev, const char *ptx, size_t bytes, cji_jit_source from,
                       const cj_compile_opts *o, void **data, size_t *size, cji_text *log, const char *call)
{
    for (size_t log_size = CJI_JIT_LOG;; log_size *= 8) {
        bool again;
        cj_status status = link_once(obj, dev, ptx, bytes, from, o, log_size, data, size, log, &again, call);
        if (!again) return status;
        if (log_size > SIZE_MAX / 16) return cji_fail(obj, CJ_EJIT, call, "the compiler's log never ends");
    }
}
