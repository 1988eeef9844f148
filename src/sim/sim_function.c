/* Functions: attributes, parameters, occupancy. */
#include "sim/simcore.h"
#include "sim/sim_device.h"
#include "sim/sim_module.h"

CUresult cji_sd_func(CUfunction h, sd_func **out)
{
    if (!cji_sd_handle_is(SD_FUNC, h)) return CUDA_ERROR_INVALID_HANDLE;
    *out = (sd_func *)h;
    return (*out)->module->ctx->fault;
}

unsigned cji_sd_func_threads(const sd_func *f)
{
    unsigned most = (unsigned)cji_sd_limit(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
    return f->kernel->max_threads && f->kernel->max_threads < most ? f->kernel->max_threads : most;
}

unsigned cji_sd_func_registers(const sd_func *f) { return f->kernel->registers; }

/* ---- Attributes -------------------------------------------------------------------------------------------------- */

static CUresult sd_func_attribute(const sd_func *f, CUfunction_attribute attribute, int *value)
{
    const cji_sim_kernel *k = f->kernel;
    uint32_t constants = 0;
    switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK: *value = (int)cji_sd_func_threads(f); break;
    case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES: *value = (int)k->static_shared; break;
    case CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES:
        for (size_t i = 0; i < cji_sim_program_vars(f->module->program); i++) {
            const cji_sim_var *v = cji_sim_program_var_at(f->module->program, i);
            if (v->is_const) constants += (uint32_t)v->bytes;
        }
        *value = (int)constants;
        break;
    case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES: *value = (int)k->local_bytes; break;
    case CU_FUNC_ATTRIBUTE_NUM_REGS: *value = (int)cji_sd_func_registers(f); break;
    case CU_FUNC_ATTRIBUTE_PTX_VERSION: *value = (int)k->target; break;
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION: *value = (int)sd.set.sm; break;
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

CUresult cji_sd_cuFuncGetAttribute(int *value, CUfunction_attribute attribute, CUfunction h)
{
    sd_func *f;
    if (!value) return CUDA_ERROR_INVALID_VALUE;
    sd_lock();
    CUresult r = cji_sd_func(h, &f);
    if (!r) r = sd_func_attribute(f, attribute, value);
    sd_unlock();
    return r;
}

static CUresult sd_func_set(sd_func *f, CUfunction_attribute attribute, int value)
{
    int most = cji_sd_limit(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN) - (int)f->kernel->static_shared;
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
        if (value < CU_CLUSTER_SCHEDULING_POLICY_DEFAULT || value > CU_CLUSTER_SCHEDULING_POLICY_LOAD_BALANCING) return CUDA_ERROR_INVALID_VALUE;
        f->policy = value;
        break;
    default: return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
}

CUresult cji_sd_cuFuncSetAttribute(CUfunction h, CUfunction_attribute attribute, int value)
{
    sd_func *f;
    sd_lock();
    CUresult r = cji_sd_func(h, &f);
    if (!r) r = sd_func_set(f, attribute, value);
    sd_unlock();
    return r;
}

CUresult cji_sd_cuFuncSetCacheConfig(CUfunction h, CUfunc_cache config)
{
    sd_func *f;
    sd_lock();
    CUresult r = cji_sd_func(h, &f);
    if (!r && (config < CU_FUNC_CACHE_PREFER_NONE || config > CU_FUNC_CACHE_PREFER_EQUAL)) r = CUDA_ERROR_INVALID_VALUE;
    if (!r) f->cache = config;
    sd_unlock();
    return r;
}

CUresult cji_sd_cuFuncGetModule(CUmodule *out, CUfunction h)
{
    sd_func *f;
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    sd_lock();
    CUresult r = cji_sd_func(h, &f);
    if (!r) *out = (CUmodule)f->module;
    sd_unlock();
    return r;
}

CUresult cji_sd_cuFuncGetName(const char **name, CUfunction h)
{
    sd_func *f;
    if (!name) return CUDA_ERROR_INVALID_VALUE;
    sd_lock();
    CUresult r = cji_sd_func(h, &f);
    if (!r) *name = f->kernel->name;
    sd_unlock();
    return r;
}

CUresult cji_sd_cuFuncGetParamInfo(CUfunction h, size_t i, size_t *offset, size_t *size)
{
    sd_func *f;
    if (!offset) return CUDA_ERROR_INVALID_VALUE;
    sd_lock();
    CUresult r = cji_sd_func(h, &f);
    if (!r && i >= f->kernel->nparam) r = CUDA_ERROR_INVALID_VALUE;
    if (!r) *offset = f->kernel->param[i].offset;
    if (!r && size) *size = f->kernel->param[i].bytes;
    sd_unlock();
    return r;
}

CUresult cji_sd_cuFuncIsLoaded(CUfunctionLoadingState *state, CUfunction h)
{
    sd_func *f;
    if (!state) return CUDA_ERROR_INVALID_VALUE;
    sd_lock();
    CUresult r = cji_sd_func(h, &f);
    if (!r) *state = CU_FUNCTION_LOADING_STATE_LOADED;
    sd_unlock();
    return r;
}

CUresult cji_sd_cuFuncLoad(CUfunction h)
{
    sd_func *f;
    sd_lock();
    CUresult r = cji_sd_func(h, &f);
    sd_unlock();
    return r;
}

/* ---- Occupancy: how many blocks an SM of the device that we stand for would hold --------------------------------- */

int cji_sd_blocks_per_sm(const sd_func *f, unsigned threads, size_t dynamic)
{
    /* What the kernel says of its threads does not count here, nor a lower limit of its dynamic memory than every kernel may have. */
    size_t usual = (size_t)cji_sd_limit(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK) - f->kernel->static_shared, most = (size_t)f->max_dynamic;
    if (!threads || threads > (unsigned)cji_sd_limit(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK) || dynamic > (most > usual ? most : usual)) return 0;
    unsigned warps = (threads + 31) / 32, registers = (cji_sd_func_registers(f) + 7) / 8 * 8;
    size_t shared = f->kernel->static_shared + dynamic + (size_t)cji_sd_limit(CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK);
    shared = (shared + 127) / 128 * 128;
    unsigned by_threads = (unsigned)cji_sd_limit(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR) / (warps * 32);
    unsigned by_registers = (unsigned)cji_sd_limit(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR) / (registers * 32) / warps;
    unsigned by_shared = (unsigned)((size_t)cji_sd_limit(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR) / shared);
    unsigned n = (unsigned)cji_sd_limit(CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR);
    if (by_threads < n) n = by_threads;
    if (by_registers < n) n = by_registers;
    return (int)(by_shared < n ? by_shared : n);
}

CUresult cji_sd_cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *out, CUfunction h, int threads, size_t dynamic, unsigned flags)
{
    sd_func *f;
    if (!out || threads < 1 || flags & ~(unsigned)CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE) return CUDA_ERROR_INVALID_VALUE;
    sd_lock();
    CUresult r = cji_sd_func(h, &f);
    if (!r) *out = cji_sd_blocks_per_sm(f, (unsigned)threads, dynamic);
    sd_unlock();
    return r;
}

CUresult cji_sd_cuOccupancyMaxActiveBlocksPerMultiprocessor(int *out, CUfunction h, int threads, size_t dynamic)
{
    return cji_sd_cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(out, h, threads, dynamic, CU_OCCUPANCY_DEFAULT);
}

/* The block size with most threads on an SM; among equals the largest.  The caller's function is called without the lock. */
CUresult cji_sd_cuOccupancyMaxPotentialBlockSizeWithFlags(int *grid, int *block, CUfunction h, CUoccupancyB2DSize size_of, size_t dynamic, int limit, unsigned flags)
{
    sd_func *f;
    if (!grid || !block || limit < 0 || flags & ~(unsigned)CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE) return CUDA_ERROR_INVALID_VALUE;
    sd_lock();
    CUresult r = cji_sd_func(h, &f);
    unsigned most = r ? 0 : cji_sd_func_threads(f);
    sd_unlock();
    if (r) return r;
    if (limit && (unsigned)limit < most) most = (unsigned)limit;
    int best = 0, best_blocks = 0, best_size = 0;
    for (unsigned n = (most + 31) / 32 * 32; n >= 32; n -= 32) {
        unsigned threads = n < most ? n : most;
        size_t bytes = size_of ? size_of((int)threads) : dynamic;
        sd_lock();
        r = cji_sd_func(h, &f);
        int blocks = r ? 0 : cji_sd_blocks_per_sm(f, threads, bytes);
        sd_unlock();
        if (r) return r;
        if (blocks * (int)threads > best) {
            best = blocks * (int)threads;
            best_blocks = blocks;
            best_size = (int)threads;
        }
    }
    *block = best_size;
    *grid = best_blocks * cji_sd_limit(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
    return CUDA_SUCCESS;
}

CUresult cji_sd_cuOccupancyMaxPotentialBlockSize(int *grid, int *block, CUfunction h, CUoccupancyB2DSize size_of, size_t dynamic, int limit)
{
    return cji_sd_cuOccupancyMaxPotentialBlockSizeWithFlags(grid, block, h, size_of, dynamic, limit, CU_OCCUPANCY_DEFAULT);
}

CUresult cji_sd_cuOccupancyAvailableDynamicSMemPerBlock(size_t *out, CUfunction h, int blocks, int threads)
{
    sd_func *f;
    if (!out || blocks < 1 || threads < 1) return CUDA_ERROR_INVALID_VALUE;
    sd_lock();
    CUresult r = cji_sd_func(h, &f);
    if (!r && ((unsigned)threads > (unsigned)cji_sd_limit(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK) || cji_sd_blocks_per_sm(f, (unsigned)threads, 0) < blocks)) r = CUDA_ERROR_INVALID_VALUE;
    if (!r) {
        int all = cji_sd_limit(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR) / blocks / 128 * 128;
        int room = all - (int)f->kernel->static_shared, most = f->max_dynamic;   /* as measured: what the driver keeps of each block is not taken off */
        *out = (size_t)(room < 0 ? 0 : room < most ? room : most);
    }
    sd_unlock();
    return r;
}

static CUresult sd_cluster_of(const CUlaunchConfig *config, const sd_func *f, unsigned *size)
{
    unsigned n = f->kernel->cluster[0] ? f->kernel->cluster[0] * f->kernel->cluster[1] * f->kernel->cluster[2] : 1;
    for (unsigned i = 0; i < config->numAttrs; i++)
        if (config->attrs[i].id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION)
            n = config->attrs[i].value.clusterDim.x * config->attrs[i].value.clusterDim.y * config->attrs[i].value.clusterDim.z;
    *size = n;
    return n && n <= 16 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CLUSTER_SIZE;
}

CUresult cji_sd_cuOccupancyMaxPotentialClusterSize(int *out, CUfunction h, const CUlaunchConfig *config)
{
    sd_func *f;
    if (!out || !config) return CUDA_ERROR_INVALID_VALUE;
    sd_lock();
    CUresult r = cji_sd_func(h, &f);
    if (!r && sd.set.sm < 90) r = CUDA_ERROR_NOT_SUPPORTED;
    if (!r) {
        int blocks = cji_sd_blocks_per_sm(f, config->blockDimX * config->blockDimY * config->blockDimZ, config->sharedMemBytes);
        *out = !blocks ? 0 : f->nonportable ? 16 : 8;
    }
    sd_unlock();
    return r;
}

CUresult cji_sd_cuOccupancyMaxActiveClusters(int *out, CUfunction h, const CUlaunchConfig *config)
{
    sd_func *f;
    unsigned size = 1;
    if (!out || !config) return CUDA_ERROR_INVALID_VALUE;
    sd_lock();
    CUresult r = cji_sd_func(h, &f);
    if (!r && sd.set.sm < 90) r = CUDA_ERROR_NOT_SUPPORTED;
    if (!r) r = sd_cluster_of(config, f, &size);
    if (!r) {
        int blocks = cji_sd_blocks_per_sm(f, config->blockDimX * config->blockDimY * config->blockDimZ, config->sharedMemBytes);
        *out = blocks * cji_sd_limit(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT) / (int)size;
    }
    sd_unlock();
    return r;
}
