/* A kernel whose launches use faster code from some moment on. Its handle and its first code stay. */
#include <stdatomic.h>

#include "base/lock.h"
#include "base/log.h"
#include "driver/compile/compile.h"

static void switch_code(cj_kernel *k, const cj_kernel *faster, const cj_kernel_info *code)
{
    k->faster = cji_obj_retain(faster->mod);
    k->faster_info = *code;
    k->fn = faster->fn;
    atomic_store(&k->has_faster, true); /* who sees its limits launches it */
}

bool cji_kernel_use_faster(cj_kernel *k, cj_kernel *faster, const char *call)
{
    cj_device *dev = k->dev;
    cji_scope scope;
    const int32_t most = dev->info.block_shared_most ? dev->info.block_shared_most : dev->info.block_shared;
    const cj_kernel_info first = cji_kernel_code(k);
    cj_kernel_info code = cji_kernel_code(faster);
    if (code.block_threads < first.block_threads || code.shared > first.shared) {
        cji_log(CJ_LOG_WARNING, "%s: the optimised code of %s allows blocks of %d threads, the first code %d; launches "
                "go on with the first: give the kernel cj_fn_max_threads", call, cji_short(k->name),
                code.block_threads, first.block_threads);
        return true;
    }
    /* Launches look at the limit of dynamic shared memory that the first function got; this one takes all there is. */
    CUresult r = CUDA_ERROR_INVALID_CONTEXT;
    if (cji_queue_scope(&dev->queue, &scope)) {
        cji_lock(&dev->attributes_lock, CJI_LOCK_ATTRIBUTES); /* none is set before the switch and not behind it */
        r = dev->api.cuFuncSetAttribute(faster->fn, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                        most - code.shared);
        if (r == CUDA_SUCCESS) r = cji_kernel_attributes_copy(k, faster->fn);
        code.shared_dynamic = first.shared_dynamic;
        if (r == CUDA_SUCCESS) switch_code(k, faster, &code);
        cji_unlock(&dev->attributes_lock, CJI_LOCK_ATTRIBUTES);
    }
    cji_scope_leave(&scope);
    if (r != CUDA_SUCCESS) {
        cji_cu_fail_as(NULL, dev, r, CJ_OK, "cuFuncSetAttribute", call, "%s: the optimised code of %s", call,
                       cji_short(k->name));
        return false;
    }
    return true;
}
