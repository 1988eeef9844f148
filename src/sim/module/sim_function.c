/* Functions: attributes, parameters, occupancy. */
#include "sim/module/sim_module.h"

#include <limits.h>

CUresult cji_sim_func_in(CUfunction h, sim_ctx *c, sim_func **out)
{
    if (cji_sim_handle_is(SIM_FUNC, h)) {
        *out = (sim_func *)h;
        return (*out)->module->ctx->fault;
    }
    if (!cji_sim_handle_is(SIM_KERNEL, h))
        return cji_sim_reject(CUDA_ERROR_INVALID_HANDLE, "%p is no function of a module that is loaded", (void *)h);
    CUresult r = c ? c->fault : cji_sim_ctx_current(&c);
    return r ? r : cji_sim_kern_func((const sim_kern *)(const void *)h, c, out);
}

CUresult cji_sim_func_get(CUfunction h, sim_func **out) { return cji_sim_func_in(h, NULL, out); }

/* The most warps of an SM: each of its four parts has a quarter of the registers, and gives them to whole warps, 256 at
 * a time. */
enum { SIM_SM_PARTS = 4, SIM_REGISTER_UNIT = 256 };

static unsigned sim_warps_by_registers(const sim_func *f)
{
    unsigned part = (unsigned)cji_sim_limit(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR) / SIM_SM_PARTS;
    unsigned warp = (cji_sim_func_registers(f) * 32 + SIM_REGISTER_UNIT - 1) / SIM_REGISTER_UNIT * SIM_REGISTER_UNIT;
    return part / warp * SIM_SM_PARTS;
}

/* As the function's own attribute says: a launch with so many threads is not rejected for its registers. */
unsigned cji_sim_func_threads(const sim_func *f)
{
    unsigned most = (unsigned)cji_sim_limit(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
    unsigned by_registers = sim_warps_by_registers(f) * 32;
    if (f->kernel->max_threads && f->kernel->max_threads < most) most = f->kernel->max_threads;
    return by_registers < most ? by_registers : most;
}

unsigned cji_sim_func_registers(const sim_func *f) { return f->kernel->registers; }

/* ---- Attributes -------------------------------------------------------------------------------------------------- */

static int sim_attribute_of(uint64_t bytes) { return bytes > INT_MAX ? INT_MAX : (int)bytes; }

CUresult cji_sim_func_attribute(const sim_func *f, CUfunction_attribute attribute, int *value)
{
    const cji_exec_kernel *k = f->kernel;
    uint32_t constants = 0;
    switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK: *value = (int)cji_sim_func_threads(f); break;
    case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES: *value = sim_attribute_of(k->static_shared); break;
    case CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES:
        for (size_t i = 0; i < cji_exec_program_vars(f->module->program); i++) {
            const cji_exec_var *v = cji_exec_program_var_at(f->module->program, i);
            if (v->is_const) constants += (uint32_t)v->bytes;
        }
        *value = (int)constants;
        break;
    case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES: *value = sim_attribute_of(k->local_bytes); break;
    case CU_FUNC_ATTRIBUTE_NUM_REGS: *value = (int)cji_sim_func_registers(f); break;
    case CU_FUNC_ATTRIBUTE_PTX_VERSION: *value = (int)k->target; break;
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION: *value = (int)sim.set.sm; break;
    case CU_FUNC_ATTRIBUTE_CACHE_MODE_CA: *value = 0; break;
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES: *value = f->max_dynamic; break;
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT: *value = f->carveout; break;
    case CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET: *value = 0; break;
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH: *value = k->cluster[0] ? (int)k->cluster[0] : f->cluster[0]; break;
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT: *value = k->cluster[0] ? (int)k->cluster[1] : f->cluster[1]; break;
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH: *value = k->cluster[0] ? (int)k->cluster[2] : f->cluster[2]; break;
    case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED: *value = f->nonportable; break;
    case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE: *value = f->policy; break;
    default: return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
}

CUresult cji_sim_cuFuncGetAttribute(int *value, CUfunction_attribute attribute, CUfunction h)
{
    sim_func *f;
    if (!value) return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    CUresult r = cji_sim_func_get(h, &f);
    if (!r) r = cji_sim_func_attribute(f, attribute, value);
    sim_unlock();
    return r;
}

CUresult cji_sim_func_set(sim_func *f, CUfunction_attribute attribute, int value)
{
    int most = cji_sim_limit(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN) -
               sim_attribute_of(f->kernel->static_shared);
    switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
        if (value < 0 || value > most) return CUDA_ERROR_INVALID_VALUE;
        f->max_dynamic = value;
        break;
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
        if (value < -1 || value > 100) return CUDA_ERROR_INVALID_VALUE;
        f->carveout = value;
        break;
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH:
        if (value < 0 || f->kernel->cluster[0]) return CUDA_ERROR_INVALID_VALUE;
        f->cluster[attribute - CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH] = value;
        break;
    case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
        f->nonportable = value != 0;
        break;
    case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
        if (value < CU_CLUSTER_SCHEDULING_POLICY_DEFAULT || value > CU_CLUSTER_SCHEDULING_POLICY_LOAD_BALANCING)
            return CUDA_ERROR_INVALID_VALUE;
        f->policy = value;
        break;
    default: return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
}

CUresult cji_sim_cuFuncSetAttribute(CUfunction h, CUfunction_attribute attribute, int value)
{
    sim_func *f;
    sim_lock();
    CUresult r = cji_sim_func_get(h, &f);
    if (!r) r = cji_sim_func_set(f, attribute, value);
    if (!r) f->own |= 1u << attribute;
    sim_unlock();
    return r;
}

CUresult cji_sim_cuFuncSetCacheConfig(CUfunction h, CUfunc_cache config)
{
    sim_func *f;
    sim_lock();
    CUresult r = cji_sim_func_get(h, &f);
    if (!r && (config < CU_FUNC_CACHE_PREFER_NONE || config > CU_FUNC_CACHE_PREFER_EQUAL)) r = CUDA_ERROR_INVALID_VALUE;
    if (!r) f->cache = config;
    sim_unlock();
    return r;
}

CUresult cji_sim_cuFuncGetModule(CUmodule *out, CUfunction h)
{
    sim_func *f;
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    CUresult r = cji_sim_func_get(h, &f);
    if (!r) *out = (CUmodule)f->module;
    sim_unlock();
    return r;
}

CUresult cji_sim_cuFuncGetName(const char **name, CUfunction h)
{
    sim_func *f;
    if (!name) return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    CUresult r = cji_sim_func_get(h, &f);
    if (!r) *name = f->kernel->name;
    sim_unlock();
    return r;
}

CUresult cji_sim_kernel_param(const cji_exec_kernel *k, size_t i, size_t *offset, size_t *size)
{
    if (i >= k->nparam) return CUDA_ERROR_INVALID_VALUE;
    *offset = k->param[i].offset;
    if (size) *size = k->param[i].bytes;
    return CUDA_SUCCESS;
}

CUresult cji_sim_cuFuncGetParamInfo(CUfunction h, size_t i, size_t *offset, size_t *size)
{
    sim_func *f;
    if (!offset) return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    CUresult r = cji_sim_func_get(h, &f);
    if (!r) r = cji_sim_kernel_param(f->kernel, i, offset, size);
    sim_unlock();
    return r;
}

CUresult cji_sim_cuFuncIsLoaded(CUfunctionLoadingState *state, CUfunction h)
{
    sim_func *f;
    if (!state) return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    CUresult r = cji_sim_func_get(h, &f);
    if (!r) *state = CU_FUNCTION_LOADING_STATE_LOADED;
    sim_unlock();
    return r;
}

CUresult cji_sim_cuFuncLoad(CUfunction h)
{
    sim_func *f;
    sim_lock();
    CUresult r = cji_sim_func_get(h, &f);
    sim_unlock();
    return r;
}

/* ---- Occupancy: how many blocks an SM of the device that we stand for would hold --------------------------------- */

int cji_sim_blocks_per_sm(const sim_func *f, unsigned threads, size_t dynamic)
{
    /* The kernel's own limit of threads does not count here, nor a lower limit of its dynamic memory than every
     * kernel may have. */
    uint64_t limit = (uint64_t)cji_sim_limit(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK);
    if (f->kernel->static_shared > limit)
        limit = (uint64_t)cji_sim_limit(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
    if (f->kernel->static_shared > limit || f->kernel->local_bytes >= CJI_LOCAL_BYTES) return 0; /* no launch */
    size_t usual = (size_t)(limit - f->kernel->static_shared), most = (size_t)f->max_dynamic;
    if (!threads || threads > (unsigned)cji_sim_limit(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK) ||
        dynamic > (most > usual ? most : usual))
        return 0;
    unsigned warps = (threads + 31) / 32;
    size_t shared = f->kernel->static_shared + dynamic +
                    (size_t)cji_sim_limit(CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK);
    shared = (shared + 127) / 128 * 128;
    unsigned by_threads = (unsigned)cji_sim_limit(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR) / (warps * 32);
    unsigned by_registers = sim_warps_by_registers(f) / warps;
    unsigned by_shared =
        (unsigned)((size_t)cji_sim_limit(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR) / shared);
    unsigned n = (unsigned)cji_sim_limit(CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR);
    if (by_threads < n) n = by_threads;
    if (by_registers < n) n = by_registers;
    return (int)(by_shared < n ? by_shared : n);
}

CUresult cji_sim_cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *out, CUfunction h, int threads,
                                                                      size_t dynamic, unsigned flags)
{
    sim_func *f;
    if (!out || threads < 1 || flags & ~(unsigned)CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE)
        return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    CUresult r = cji_sim_func_get(h, &f);
    if (!r) *out = cji_sim_blocks_per_sm(f, (unsigned)threads, dynamic);
    sim_unlock();
    return r;
}

CUresult cji_sim_cuOccupancyMaxActiveBlocksPerMultiprocessor(int *out, CUfunction h, int threads, size_t dynamic)
{
    return cji_sim_cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(out, h, threads, dynamic, CU_OCCUPANCY_DEFAULT);
}

/* The block size with most threads on an SM; among equals the largest. The caller's function is called without the
 * lock. */
CUresult cji_sim_cuOccupancyMaxPotentialBlockSizeWithFlags(int *grid, int *block, CUfunction h,
                                                           CUoccupancyB2DSize size_of, size_t dynamic, int limit,
                                                           unsigned flags)
{
    sim_func *f;
    if (!grid || !block || limit < 0 || flags & ~(unsigned)CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE)
        return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    CUresult r = cji_sim_func_get(h, &f);
    unsigned most = r ? 0 : cji_sim_func_threads(f);
    sim_unlock();
    if (r) return r;
    if (limit && (unsigned)limit < most) most = (unsigned)limit;
    int best = 0, best_blocks = 0, best_size = 0;
    for (unsigned n = (most + 31) / 32 * 32; n >= 32; n -= 32) {
        unsigned threads = n < most ? n : most;
        size_t bytes = size_of ? size_of((int)threads) : dynamic;
        sim_lock();
        r = cji_sim_func_get(h, &f);
        int blocks = r ? 0 : cji_sim_blocks_per_sm(f, threads, bytes);
        sim_unlock();
        if (r) return r;
        if (blocks * (int)threads > best) {
            best = blocks * (int)threads;
            best_blocks = blocks;
            best_size = (int)threads;
        }
    }
    *block = best_size;
    *grid = best_blocks * cji_sim_limit(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
    return CUDA_SUCCESS;
}

CUresult cji_sim_cuOccupancyMaxPotentialBlockSize(int *grid, int *block, CUfunction h, CUoccupancyB2DSize size_of,
                                                  size_t dynamic, int limit)
{
    return cji_sim_cuOccupancyMaxPotentialBlockSizeWithFlags(grid, block, h, size_of, dynamic, limit,
                                                             CU_OCCUPANCY_DEFAULT);
}

CUresult cji_sim_cuOccupancyAvailableDynamicSMemPerBlock(size_t *out, CUfunction h, int blocks, int threads)
{
    sim_func *f;
    if (!out || blocks < 1 || threads < 1) return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    CUresult r = cji_sim_func_get(h, &f);
    if (!r && ((unsigned)threads > (unsigned)cji_sim_limit(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK) ||
               cji_sim_blocks_per_sm(f, (unsigned)threads, 0) < blocks))
        r = CUDA_ERROR_INVALID_VALUE;
    if (!r) {
        int all = cji_sim_limit(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR) / blocks / 128 * 128;
        int room = all - sim_attribute_of(f->kernel->static_shared),
            most = f->max_dynamic; /* as measured: what the driver keeps of each block is not taken off */
        *out = (size_t)(room < 0 ? 0 : room < most ? room : most);
    }
    sim_unlock();
    return r;
}

static CUresult sim_cluster_of(const CUlaunchConfig *config, const sim_func *f, unsigned *size)
{
    unsigned n = f->kernel->cluster[0] ? f->kernel->cluster[0] * f->kernel->cluster[1] * f->kernel->cluster[2] : 1;
    for (unsigned i = 0; i < config->numAttrs; i++)
        if (config->attrs[i].id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION)
            n = config->attrs[i].value.clusterDim.x * config->attrs[i].value.clusterDim.y *
                config->attrs[i].value.clusterDim.z;
    *size = n;
    return n && n <= 16 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CLUSTER_SIZE;
}

CUresult cji_sim_cuOccupancyMaxPotentialClusterSize(int *out, CUfunction h, const CUlaunchConfig *config)
{
    sim_func *f;
    if (!out || !config) return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    CUresult r = cji_sim_func_get(h, &f);
    if (!r && sim.set.sm < 90) r = CUDA_ERROR_NOT_SUPPORTED;
    if (!r) {
        int blocks =
            cji_sim_blocks_per_sm(f, config->blockDimX * config->blockDimY * config->blockDimZ, config->sharedMemBytes);
        *out = !blocks ? 0 : f->nonportable ? 16 : 8;
    }
    sim_unlock();
    return r;
}

CUresult cji_sim_cuOccupancyMaxActiveClusters(int *out, CUfunction h, const CUlaunchConfig *config)
{
    sim_func *f;
    unsigned size = 1;
    if (!out || !config) return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    CUresult r = cji_sim_func_get(h, &f);
    if (!r && sim.set.sm < 90) r = CUDA_ERROR_NOT_SUPPORTED;
    if (!r) r = sim_cluster_of(config, f, &size);
    if (!r) {
        int blocks =
            cji_sim_blocks_per_sm(f, config->blockDimX * config->blockDimY * config->blockDimZ, config->sharedMemBytes);
        *out = blocks * cji_sim_limit(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT) / (int)size;
    }
    sim_unlock();
    return r;
}
