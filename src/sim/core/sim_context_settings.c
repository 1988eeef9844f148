/* Settings of the current context that change nothing on this device but can be read again, and the use counts of
 * old programs. */
#include "sim/core/sim_core.h"

CUresult cji_sim_cuCtxGetCacheConfig(CUfunc_cache *config)
{
    sim_ctx *c;
    if (!config) return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    CUresult r = cji_sim_ctx_current(&c);
    if (!r) *config = c->cache;
    sim_unlock();
    return r;
}

CUresult cji_sim_cuCtxSetCacheConfig(CUfunc_cache config)
{
    sim_ctx *c;
    if (config < CU_FUNC_CACHE_PREFER_NONE || config > CU_FUNC_CACHE_PREFER_EQUAL) return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    CUresult r = cji_sim_ctx_current(&c);
    if (!r) c->cache = config;
    sim_unlock();
    return r;
}

static CUresult sim_ctx_is_current(void)
{
    sim_ctx *c;
    sim_lock();
    CUresult r = cji_sim_ctx_current(&c);
    sim_unlock();
    return r;
}

/* Banks of shared memory have had one width since Maxwell: another one is accepted and not used. */
CUresult cji_sim_cuCtxGetSharedMemConfig(CUsharedconfig *config)
{
    if (!config) return CUDA_ERROR_INVALID_VALUE;
    CUresult r = sim_ctx_is_current();
    if (!r) *config = CU_SHARED_MEM_CONFIG_FOUR_BYTE_BANK_SIZE;
    return r;
}

static bool sim_banks_ok(CUsharedconfig config)
{
    return config >= CU_SHARED_MEM_CONFIG_DEFAULT_BANK_SIZE && config <= CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE;
}

CUresult cji_sim_cuCtxSetSharedMemConfig(CUsharedconfig config)
{
    return sim_banks_ok(config) ? sim_ctx_is_current() : CUDA_ERROR_INVALID_VALUE;
}

CUresult cji_sim_cuFuncSetSharedMemConfig(CUfunction f, CUsharedconfig config)
{
    if (!sim_banks_ok(config)) return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    bool ok = cji_sim_handle_is(SIM_FUNC, f);
    sim_unlock();
    return ok ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult cji_sim_cuCtxSetFlags(unsigned flags)
{
    sim_ctx *c;
    if (!cji_sim_ctx_flags_ok(flags)) return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    CUresult r = cji_sim_ctx_current(&c);
    if (!r) c->flags = flags;
    sim_unlock();
    return r;
}

CUresult cji_sim_cuCtxResetPersistingL2Cache(void) { return sim_ctx_is_current(); }
CUresult cji_sim_cuProfilerStart(void) { return sim_ctx_is_current(); }
CUresult cji_sim_cuProfilerStop(void) { return sim_ctx_is_current(); }

CUresult cji_sim_cuCtxGetExecAffinity(CUexecAffinityParam *param, CUexecAffinityType type)
{
    if (!param || type != CU_EXEC_AFFINITY_TYPE_SM_COUNT) return CUDA_ERROR_INVALID_VALUE;
    CUresult r = sim_ctx_is_current();
    return r ? r : CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY;
}

/* ---- Use counts of contexts that cuCtxCreate made ---------------------------------------------------------------- */

CUresult cji_sim_cuCtxAttach(CUcontext *out, unsigned flags)
{
    sim_ctx *c;
    if (!out || flags) return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    CUresult r = cji_sim_ctx_current(&c);
    if (!r && c->primary) r = CUDA_ERROR_INVALID_CONTEXT;
    if (!r) {
        c->attached++;
        *out = (CUcontext)c;
    }
    sim_unlock();
    return r;
}

/* The last one destroys it. */
CUresult cji_sim_cuCtxDetach(CUcontext h)
{
    sim_ctx *c;
    sim_lock();
    CUresult r = cji_sim_ctx_current_any(&c);
    if (!r && (c != (sim_ctx *)h || c->primary)) r = CUDA_ERROR_INVALID_CONTEXT;
    bool last = !r && !c->attached;
    if (!r && !last) c->attached--;
    sim_unlock();
    return last ? cji_sim_cuCtxDestroy(h) : r;
}
