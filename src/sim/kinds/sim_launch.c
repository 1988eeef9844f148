/* Launches: their checks, their arguments, and the grid that the engine runs. */
#include "sim/kinds/sim_kinds.h"

#include <stdio.h>
#include <string.h>

/* ---- Checks ------------------------------------------------------------------------------------------------------ */

static CUresult sim_check_cluster(const sim_func *f, const sim_shape *s)
{
    uint64_t size = (uint64_t)s->cluster[0] * s->cluster[1] * s->cluster[2];
    unsigned most = f->nonportable ? 16u : 8u;
    if (size == 1) return CUDA_SUCCESS;
    if (sim.set.sm < 90)
        return cji_sim_reject(CUDA_ERROR_NOT_SUPPORTED, "clusters need sm_90, and this device is sm_%u (kernel %s)",
                              sim.set.sm, f->kernel->name);
    if (!size || size > most)
        return cji_sim_reject(CUDA_ERROR_INVALID_CLUSTER_SIZE, "a cluster of %llu blocks is not in 1 .. %u (kernel %s)",
                              (unsigned long long)size, most, f->kernel->name);
    for (int i = 0; i < 3; i++)
        if (s->grid[i] % s->cluster[i])
            return cji_sim_reject(CUDA_ERROR_INVALID_CLUSTER_SIZE,
                                  "%u blocks in %c are no multiple of the cluster's %u (kernel %s)", s->grid[i],
                                  'x' + i, s->cluster[i], f->kernel->name);
    return CUDA_SUCCESS;
}

/* Module load takes kernels that need more memory than a launch can have. */
static CUresult sim_check_memory(const cji_exec_kernel *k)
{
    uint64_t most = (uint64_t)cji_sim_limit(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
    if (k->static_shared > most)
        return cji_sim_reject(CUDA_ERROR_INVALID_VALUE,
                              "kernel %s has %llu bytes of static shared memory; a block takes at most %llu",
                              cji_short(k->name), (unsigned long long)k->static_shared, (unsigned long long)most);
    if (k->local_bytes >= CJI_LOCAL_BYTES)
        return cji_sim_reject(CUDA_ERROR_INVALID_VALUE,
                              "kernel %s has %llu bytes of local memory; a thread of a launch has less than %u",
                              cji_short(k->name), (unsigned long long)k->local_bytes, (unsigned)CJI_LOCAL_BYTES);
    return CUDA_SUCCESS;
}

static CUresult sim_check_block(const sim_func *f, const sim_shape *s, uint64_t threads)
{
    static const CUdevice_attribute block_limit[3] = { CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X,
                                                       CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y,
                                                       CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z };
    const cji_exec_kernel *k = f->kernel;
    for (int i = 0; i < 3; i++) {
        uint32_t most = (uint32_t)cji_sim_limit(block_limit[i]), wanted = k->reqntid[i] ? k->reqntid[i] : 1;
        if (!s->block[i] || s->block[i] > most)
            return cji_sim_reject(CUDA_ERROR_INVALID_VALUE, "a block of %u threads in %c is not in 1 .. %u (kernel %s)",
                                  s->block[i], 'x' + i, most, k->name);
        if (k->reqntid[0] && s->block[i] != wanted)
            return cji_sim_reject(CUDA_ERROR_INVALID_VALUE,
                                  "a block of %u threads in %c is not the %u of the .reqntid of kernel %s",
                                  s->block[i], 'x' + i, wanted, k->name);
    }
    unsigned most = (unsigned)cji_sim_limit(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
    if (k->max_threads && k->max_threads < most) most = k->max_threads;
    return threads <= most ? CUDA_SUCCESS
                           : cji_sim_reject(CUDA_ERROR_INVALID_VALUE,
                                            "a block of %llu threads is more than the %u that kernel %s may have",
                                            (unsigned long long)threads, most, k->name);
}

static CUresult sim_check_grid(const sim_func *f, const sim_shape *s)
{
    static const CUdevice_attribute grid_limit[3] = { CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X,
                                                      CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y,
                                                      CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z };
    for (int i = 0; i < 3; i++) {
        uint32_t most = (uint32_t)cji_sim_limit(grid_limit[i]);
        if (f->kernel->target < 30 && s->grid[i] > UINT16_MAX) /* as an H100 has it of PTX for sm_2x */
            return cji_sim_reject(CUDA_ERROR_INVALID_VALUE,
                                  "a grid of %u blocks in %c is more than the %u of PTX for sm_%u (kernel %s)",
                                  s->grid[i], 'x' + i, UINT16_MAX, f->kernel->target, f->kernel->name);
        if (!s->grid[i] || s->grid[i] > most)
            return cji_sim_reject(CUDA_ERROR_INVALID_VALUE, "a grid of %u blocks in %c is not in 1 .. %u (kernel %s)",
                                  s->grid[i], 'x' + i, most, f->kernel->name);
    }
    return CUDA_SUCCESS;
}

/* What a block needs of registers and memory, and a cooperative grid of the whole device. */
static CUresult sim_check_resources(const sim_func *f, const sim_shape *s, uint64_t threads)
{
    const cji_exec_kernel *k = f->kernel;
    if (s->shared > (uint32_t)f->max_dynamic)
        return cji_sim_reject(CUDA_ERROR_INVALID_VALUE,
                              "%u bytes of dynamic shared memory are more than the %d that "
                              "CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES allows kernel %s",
                              s->shared, f->max_dynamic, k->name);
    if (threads > cji_sim_func_threads(f))
        return cji_sim_reject(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES,
                              "%llu threads with %u registers each are more than a block has: kernel %s can have %u "
                              "(CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK)",
                              (unsigned long long)threads, cji_sim_func_registers(f), k->name, cji_sim_func_threads(f));
    uint32_t most = (uint32_t)cji_sim_limit(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
    if (k->static_shared + s->shared > most)
        return cji_sim_reject(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES,
                              "%u bytes of shared memory are more than the %u that a block can have (kernel %s)",
                              (unsigned)(k->static_shared + s->shared), most, k->name);
    if (!s->cooperative) return CUDA_SUCCESS;
    uint64_t blocks = (uint64_t)s->grid[0] * s->grid[1] * s->grid[2];
    uint64_t room = (uint64_t)cji_sim_blocks_per_sm(f, (unsigned)threads, s->shared) *
                    (uint64_t)cji_sim_limit(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
    return blocks <= room ? CUDA_SUCCESS
                          : cji_sim_reject(CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE,
                                           "%llu blocks are more than the %llu that run at once, as a cooperative "
                                           "launch must (kernel %s)",
                                           (unsigned long long)blocks, (unsigned long long)room, k->name);
}

/* The order is a GPU's: the block, a cluster of nothing, the grid, the cluster, and what is needed of memory. */
static CUresult sim_launch_check(const sim_func *f, const sim_shape *s)
{
    uint64_t threads = (uint64_t)s->block[0] * s->block[1] * s->block[2];
    CUresult r = sim_check_block(f, s, threads);
    if (!r && s->no_cluster)
        r = cji_sim_reject(CUDA_ERROR_INVALID_CLUSTER_SIZE, "a cluster of no blocks (kernel %s)", f->kernel->name);
    if (!r) r = sim_check_grid(f, s);
    if (!r) r = sim_check_cluster(f, s);
    if (!r) r = sim_check_memory(f->kernel);
    return r ? r : sim_check_resources(f, s, threads);
}

/* ---- Arguments: copied at the call ------------------------------------------------------------------------------- */

typedef struct sim_launch_args { void **params; const void *buffer; size_t size; } sim_launch_args;

/* What the caller gives: one of them, and enough. An empty buffer is none. */
static CUresult sim_launch_args_of(const cji_exec_kernel *k, void **params, void **extra, sim_launch_args *out)
{
    *out = (sim_launch_args){ .params = params };
    for (; extra && *extra != CU_LAUNCH_PARAM_END; extra += 2) {
        if (extra[0] == CU_LAUNCH_PARAM_BUFFER_POINTER) out->buffer = extra[1];
        else if (extra[0] == CU_LAUNCH_PARAM_BUFFER_SIZE) out->size = extra[1] ? *(const size_t *)extra[1] : 0;
        else
            return cji_sim_reject(CUDA_ERROR_INVALID_VALUE,
                                  "`extra` has an entry that is no CU_LAUNCH_PARAM_... (kernel %s)", k->name);
    }
    if (params && out->size)
        return cji_sim_reject(CUDA_ERROR_INVALID_VALUE,
                              "arguments are given both as an array and as a buffer (kernel %s)", k->name);
    if (!k->nparam) return CUDA_SUCCESS;
    for (uint32_t i = 0; params && i < k->nparam; i++)
        if (!params[i])
            return cji_sim_reject(CUDA_ERROR_INVALID_VALUE, "the address of argument %u of %u is NULL (kernel %s)", i,
                                  (unsigned)k->nparam, k->name);
    if (params || (out->buffer && out->size >= k->param_bytes)) return CUDA_SUCCESS;
    return cji_sim_reject(CUDA_ERROR_INVALID_VALUE, "%zu bytes of arguments are less than the %u of kernel %s",
                          out->buffer ? out->size : (size_t)0, (unsigned)k->param_bytes, k->name);
}

static CUresult sim_copy_params(const cji_exec_kernel *k, const sim_launch_args *from, unsigned char *to)
{
    if (!k->nparam) return CUDA_SUCCESS;
    if (!from->params && from->size > k->param_bytes)
        return cji_sim_reject(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES,
                              "%zu bytes of arguments are more than the %u of kernel %s", from->size,
                              (unsigned)k->param_bytes, k->name);
    for (uint32_t i = 0; from->params && i < k->nparam; i++)
        memcpy(to + k->param[i].offset, from->params[i], k->param[i].bytes);
    if (!from->params) memcpy(to, from->buffer, k->param_bytes);
    return CUDA_SUCCESS;
}

CUresult cji_sim_launch_work(sim_func *f, const sim_shape *shape, void **params, void **extra, sim_work **out)
{
    sim_shape s = *shape;
    if (!s.cluster[0])
        for (int i = 0; i < 3; i++)
            s.cluster[i] = f->kernel->cluster[0]                           ? f->kernel->cluster[i]
                           : f->cluster[0] | f->cluster[1] | f->cluster[2] ? (uint32_t)f->cluster[i]
                                                                           : 1;
    sim_launch_args given;
    CUresult r = sim_launch_args_of(f->kernel, params, extra, &given);
    if (!r) r = sim_launch_check(f, &s);
    if (r) return r;
    sim_launch *w =
        (sim_launch *)cji_sim_work_new(&cji_sim_kind_launch, f->module->ctx, sizeof *w + f->kernel->param_bytes);
    if (!w) return CUDA_ERROR_OUT_OF_MEMORY;
    w->shape = s;
    w->func = f;
    f->module->refs++;
    r = sim_copy_params(f->kernel, &given, w->params);
    if (r) cji_sim_work_drop(&w->work);
    else *out = &w->work;
    return r;
}

static CUresult sim_launch_on(CUfunction h, const sim_shape *shape, CUstream hs, void **params, void **extra)
{
    sim_func *f;
    sim_stream *s;
    sim_work *w;
    sim_lock();
    bool anywhere = !cji_sim_handle_is(SIM_FUNC, h) && cji_sim_handle_is(SIM_KERNEL, h);   /* in the stream's context */
    CUresult r = anywhere ? cji_sim_stream_for_work(hs, &s) : cji_sim_func_get(h, &f);
    if (!r) r = anywhere ? cji_sim_func_in(h, s->ctx, &f) : cji_sim_stream_for_work(hs, &s);
    if (!r && f->module->ctx != s->ctx)
        r = cji_sim_reject(CUDA_ERROR_INVALID_HANDLE, "kernel %s and the stream are of different contexts",
                           f->kernel->name);
    if (!r) {
        r = cji_sim_launch_work(f, shape, params, extra, &w);
        if (r && s->capture) s->capture->invalid = true;
    }
    if (!r) r = cji_sim_stream_submit(s, w);
    sim_unlock();
    return r;
}

CUresult cji_sim_cuLaunchKernel(CUfunction h, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                                unsigned bz, unsigned shared, CUstream s, void **params, void **extra)
{
    sim_shape shape = { .grid = { gx, gy, gz }, .block = { bx, by, bz }, .shared = shared };
    return sim_launch_on(h, &shape, s, params, extra);
}

CUresult cji_sim_cuLaunchCooperativeKernel(CUfunction h, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                                           unsigned by, unsigned bz, unsigned shared, CUstream s, void **params)
{
    sim_shape shape = { .grid = { gx, gy, gz }, .block = { bx, by, bz }, .shared = shared, .cooperative = true };
    return sim_launch_on(h, &shape, s, params, NULL);
}

/* Attributes that only advise a real device change nothing here: a launch that may begin early begins in order. */
CUresult cji_sim_launch_attribute(CUlaunchAttributeID id, const CUlaunchAttributeValue *v, sim_shape *shape)
{
    switch (id) {
    case CU_LAUNCH_ATTRIBUTE_COOPERATIVE: shape->cooperative = v->cooperative != 0; return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
        shape->no_cluster = !v->clusterDim.x || !v->clusterDim.y || !v->clusterDim.z;
        shape->cluster[0] = v->clusterDim.x;
        shape->cluster[1] = v->clusterDim.y;
        shape->cluster[2] = v->clusterDim.z;
        return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_PRIORITY:
        shape->has_priority = true;
        shape->priority = v->priority > 0 ? 0 : v->priority < 1 - SIM_PRIORITIES ? 1 - SIM_PRIORITIES : v->priority;
        return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
        return (unsigned)v->clusterSchedulingPolicyPreference <= CU_CLUSTER_SCHEDULING_POLICY_LOAD_BALANCING
                   ? CUDA_SUCCESS
                   : CUDA_ERROR_INVALID_VALUE;
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP: {
        int domains = cji_sim_limit(CU_DEVICE_ATTRIBUTE_MEM_SYNC_DOMAIN_COUNT);
        return v->memSyncDomainMap.default_ < domains && v->memSyncDomainMap.remote < domains
                   ? CUDA_SUCCESS
                   : CUDA_ERROR_INVALID_VALUE;
    }
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
        if ((unsigned)v->memSyncDomain > CU_LAUNCH_MEM_SYNC_DOMAIN_REMOTE) return CUDA_ERROR_INVALID_VALUE;
        shape->domain = v->memSyncDomain;
        return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
        return v->sharedMemCarveout <= 100 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    case CU_LAUNCH_ATTRIBUTE_NVLINK_UTIL_CENTRIC_SCHEDULING:
        return v->nvlinkUtilCentricScheduling <= 1 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    case CU_LAUNCH_ATTRIBUTE_IGNORE:
    case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
    case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION:
    case CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION: return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT:
    case CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT:
    case CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE: return CUDA_ERROR_NOT_SUPPORTED;
    default: return CUDA_ERROR_INVALID_VALUE;
    }
}

CUresult cji_sim_cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction h, void **params, void **extra)
{
    if (!config || (config->numAttrs && !config->attrs)) return CUDA_ERROR_INVALID_VALUE;
    sim_shape shape = { .grid = { config->gridDimX, config->gridDimY, config->gridDimZ },
                        .block = { config->blockDimX, config->blockDimY, config->blockDimZ },
                        .shared = config->sharedMemBytes };
    for (unsigned i = 0; i < config->numAttrs; i++) {
        CUresult r = cji_sim_launch_attribute(config->attrs[i].id, &config->attrs[i].value, &shape);
        if (r) return r;
    }
    return sim_launch_on(h, &shape, config->hStream, params, extra);
}

/* ---- The kind ---------------------------------------------------------------------------------------------------- */

static const sim_launch *sim_launch_of(const sim_work *w) { return (const sim_launch *)w; }

static void sim_launch_drop(sim_work *w) { cji_sim_module_drop(sim_launch_of(w)->func->module); }

static int sim_launch_level(const sim_work *w, int stream)
{
    const sim_shape *s = &sim_launch_of(w)->shape;
    return s->has_priority ? s->priority : stream;
}

static const char *sim_launch_label(const sim_work *w) { return sim_launch_of(w)->func->kernel->name; }

static CUresult sim_launch_read(CUgraphNodeParams *all, sim_graph *g, sim_work **out)
{
    const CUDA_KERNEL_NODE_PARAMS_v2 *p = &all->kernel;
    sim_func *f;
    sim_ctx *c;
    (void)g;
    if (!p->func && !p->kern) return CUDA_ERROR_INVALID_VALUE;
    CUresult r = p->func ? cji_sim_func_get(p->func, &f) : cji_sim_ctx_for(p->ctx, &c);
    if (!r && !p->func) r = cji_sim_func_in((CUfunction)(void *)p->kern, c, &f);
    sim_shape s = { .grid = { p->gridDimX, p->gridDimY, p->gridDimZ },
                    .block = { p->blockDimX, p->blockDimY, p->blockDimZ },
                    .shared = p->sharedMemBytes };
    return r ? r : cji_sim_launch_work(f, &s, p->kernelParams, p->extra, out);
}

/* The node adds where its arguments lie. */
static void sim_launch_write(const sim_work *w, CUgraphNodeParams *p)
{
    const sim_launch *l = sim_launch_of(w);
    const sim_shape *s = &l->shape;
    p->kernel = (CUDA_KERNEL_NODE_PARAMS_v2){ .func = (CUfunction)l->func,
                                              .gridDimX = s->grid[0],
                                              .gridDimY = s->grid[1],
                                              .gridDimZ = s->grid[2],
                                              .blockDimX = s->block[0],
                                              .blockDimY = s->block[1],
                                              .blockDimZ = s->block[2],
                                              .sharedMemBytes = s->shared,
                                              .ctx = (CUcontext)w->ctx };
}

static CUgraphExecUpdateResult sim_launch_alike(const sim_work *a, const sim_work *b)
{
    if (a->ctx != b->ctx) return CU_GRAPH_EXEC_UPDATE_ERROR_UNSUPPORTED_FUNCTION_CHANGE;
    bool same = sim_launch_of(a)->shape.cooperative == sim_launch_of(b)->shape.cooperative;
    return same ? CU_GRAPH_EXEC_UPDATE_SUCCESS : CU_GRAPH_EXEC_UPDATE_ERROR_ATTRIBUTES_CHANGED;
}

static bool sim_launch_replaces(const sim_work *old, const sim_work *w) { return old->ctx == w->ctx; }

const sim_work_kind cji_sim_kind_launch = { .name = "kernel",
                                            .node_type = CU_GRAPH_NODE_TYPE_KERNEL,
                                            .traits = SIM_WORK_HELPS | SIM_WORK_WRITES_ANYTHING,
                                            .drop = sim_launch_drop,
                                            .open = cji_sim_launch_open,
                                            .close = cji_sim_launch_close,
                                            .level = sim_launch_level,
                                            .read_params = sim_launch_read,
                                            .write_params = sim_launch_write,
                                            .alike = sim_launch_alike,
                                            .replaces = sim_launch_replaces,
                                            .label = sim_launch_label };
