/* Faults of contexts: what a context's calls return from then on, what is known of the first one, and how a primary
 * context is free of it. */
#include "sim/core/sim_core.h"

#include <string.h>

void cji_sim_ctx_poison(sim_ctx *c, const cujit_sim_fault_info *info)
{
    cji_log(CJ_LOG_ERROR, "%s: %s", cji_cu_error_name(info->code), info->sentence);
    if (!c->fault) {
        c->fault_info = *info;
        __atomic_store_n(&c->fault, (CUresult)info->code, __ATOMIC_RELAXED);
    }
    __atomic_store_n(&c->cancel, 1, __ATOMIC_RELAXED);
}

int cujit_sim_fault(void *context, cujit_sim_fault_info *info)
{
    size_t size = info ? info->size : 0;
    sim_ctx *c = context;
    if (size < sizeof size || cji_sim_enter(true)) return 0;
    sim_lock();
    bool known = c ? cji_sim_handle_is(SIM_CTX, c) : cji_sim_ctx_current_any(&c) == CUDA_SUCCESS;
    bool found = known && c->fault;
    if (found) {
        memcpy(info, &c->fault_info, size < sizeof *info ? size : sizeof *info);
        info->size = size;
    }
    sim_unlock();
    cji_sim_leave("cujit_sim_fault", CUDA_SUCCESS);
    return found;
}

/* Work that is enqueued ends as it ends after a fault: without being done. */
static void sim_ctx_abandon(sim_ctx *c)
{
    if (!c->fault) __atomic_store_n(&c->fault, CUDA_ERROR_CONTEXT_IS_DESTROYED, __ATOMIC_RELAXED);
    __atomic_store_n(&c->cancel, 1, __ATOMIC_RELAXED);
    cji_sim_ctx_stop(c);
}

int cujit_sim_reset(int device)
{
    CUresult r = cji_sim_enter(true);
    if (r) return (int)r;
    sim_device *dev = cji_sim_device(device);
    if (!dev) r = CUDA_ERROR_INVALID_DEVICE;
    sim_lock();
    if (!r) {
        sim_ctx *c = &dev->primary;
        cji_sim_ctx_settle(c);
        if (c->alive) sim_ctx_abandon(c);
        __atomic_store_n(&c->fault, CUDA_SUCCESS, __ATOMIC_RELAXED);
    }
    sim_unlock();
    cji_sim_leave("cujit_sim_reset", r);
    return (int)r;
}
