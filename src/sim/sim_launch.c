/* Launches: their checks, their arguments, and the grid that the engine runs. */
#include "sim/sim_core.h"
#include "sim/sim_capture.h"
#include "sim/sim_device.h"
#include "sim/sim_graph_exec.h"
#include "sim/sim_memory.h"
#include "sim/sim_module.h"
#include "sim/sim_queue.h"
#include "sim/sim_stream.h"

#include <stdio.h>
#include <string.h>

/* ---- Checks ------------------------------------------------------------------------------------------------------ */

static CUresult sim_check_cluster(const sim_func *f, const sim_shape *s)
{
    uint64_t size = (uint64_t)s->cluster[0] * s->cluster[1] * s->cluster[2];
    if (size == 1) return CUDA_SUCCESS;
    if (sim.set.sm < 90) return CUDA_ERROR_NOT_SUPPORTED;
    if (!size || size > (f->nonportable ? 16u : 8u)) return CUDA_ERROR_INVALID_CLUSTER_SIZE;
    for (int i = 0; i < 3; i++)
        if (s->grid[i] % s->cluster[i]) return CUDA_ERROR_INVALID_CLUSTER_SIZE;
    return CUDA_SUCCESS;
}

CUresult cji_sim_launch_check(const sim_func *f, const sim_shape *s)
{
    static const CUdevice_attribute grid_limit[3] = { CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z };
    static const CUdevice_attribute block_limit[3] = { CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z };
    const cji_exec_kernel *k = f->kernel;
    /* The order is a GPU's: the block, a cluster of nothing, the grid, the cluster, and what is needed of memory. */
    for (int i = 0; i < 3; i++) {
        if (!s->block[i] || s->block[i] > (uint32_t)cji_sim_limit(block_limit[i])) return CUDA_ERROR_INVALID_VALUE;
        if (k->reqntid[0] && s->block[i] != (k->reqntid[i] ? k->reqntid[i] : 1)) return CUDA_ERROR_INVALID_VALUE;
    }
    uint64_t threads = (uint64_t)s->block[0] * s->block[1] * s->block[2];
    if (threads > (uint64_t)cji_sim_limit(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK) || threads > cji_sim_func_threads(f)) return CUDA_ERROR_INVALID_VALUE;
    if (s->no_cluster) return CUDA_ERROR_INVALID_CLUSTER_SIZE;
    for (int i = 0; i < 3; i++)
        if (!s->grid[i] || s->grid[i] > (uint32_t)cji_sim_limit(grid_limit[i])) return CUDA_ERROR_INVALID_VALUE;
    CUresult r = sim_check_cluster(f, s);
    if (r) return r;
    if (s->shared > (uint32_t)f->max_dynamic) return CUDA_ERROR_INVALID_VALUE;
    uint64_t registers = ((uint64_t)cji_sim_func_registers(f) + 7) / 8 * 8 * ((threads + 31) / 32 * 32);
    if (registers > (uint64_t)cji_sim_limit(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK)) return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
    if (k->static_shared + s->shared > (uint32_t)cji_sim_limit(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)) return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
    if (s->cooperative) {
        uint64_t blocks = (uint64_t)s->grid[0] * s->grid[1] * s->grid[2];
        uint64_t room = (uint64_t)cji_sim_blocks_per_sm(f, (unsigned)threads, s->shared) * (uint64_t)cji_sim_limit(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
        if (blocks > room) r = CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE;
    }
    return r;
}

/* ---- Arguments: copied at the call ------------------------------------------------------------------------------- */

typedef struct sim_launch_args { void **params; const void *buffer; size_t size; } sim_launch_args;

/* What the caller gives: one of them, and enough.  An empty buffer is none. */
static CUresult sim_launch_args_of(const cji_exec_kernel *k, void **params, void **extra, sim_launch_args *out)
{
    *out = (sim_launch_args){ .params = params };
    for (; extra && *extra != CU_LAUNCH_PARAM_END; extra += 2) {
        if (extra[0] == CU_LAUNCH_PARAM_BUFFER_POINTER) out->buffer = extra[1];
        else if (extra[0] == CU_LAUNCH_PARAM_BUFFER_SIZE) out->size = extra[1] ? *(const size_t *)extra[1] : 0;
        else return CUDA_ERROR_INVALID_VALUE;
    }
    if (params && out->size) return CUDA_ERROR_INVALID_VALUE;
    if (!k->nparam) return CUDA_SUCCESS;
    for (uint32_t i = 0; params && i < k->nparam; i++)
        if (!params[i]) return CUDA_ERROR_INVALID_VALUE;
    return params || (out->buffer && out->size >= k->param_bytes) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static CUresult sim_copy_params(const cji_exec_kernel *k, const sim_launch_args *from, unsigned char *to)
{
    if (!k->nparam) return CUDA_SUCCESS;
    if (!from->params && from->size > k->param_bytes) return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
    for (uint32_t i = 0; from->params && i < k->nparam; i++) memcpy(to + k->param[i].offset, from->params[i], k->param[i].bytes);
    if (!from->params) memcpy(to, from->buffer, k->param_bytes);
    return CUDA_SUCCESS;
}

CUresult cji_sim_launch_work(sim_func *f, const sim_shape *shape, void **params, void **extra, sim_work **out)
{
    sim_shape s = *shape;
    if (!s.cluster[0])
        for (int i = 0; i < 3; i++)
            s.cluster[i] = f->kernel->cluster[0] ? f->kernel->cluster[i] : f->cluster[0] | f->cluster[1] | f->cluster[2] ? (uint32_t)f->cluster[i] : 1;
    sim_launch_args given;
    CUresult r = sim_launch_args_of(f->kernel, params, extra, &given);
    if (!r) r = cji_sim_launch_check(f, &s);
    if (r) return r;
    sim_work *w = cji_sim_work_new(SIM_LAUNCH, f->module->ctx, f->kernel->param_bytes);
    if (!w) return CUDA_ERROR_OUT_OF_MEMORY;
    r = sim_copy_params(f->kernel, &given, w->launch.params);
    if (r) {
        cji_sim_work_drop(w);
        return r;
    }
    memcpy(w->launch.grid, s.grid, sizeof s.grid);
    memcpy(w->launch.block, s.block, sizeof s.block);
    memcpy(w->launch.cluster, s.cluster, sizeof s.cluster);
    w->launch.shared = s.shared;
    w->launch.cooperative = s.cooperative;
    w->launch.has_priority = s.has_priority;
    w->launch.priority = s.priority;
    w->launch.domain = s.domain;
    w->launch.func = f;
    f->module->refs++;
    *out = w;
    return CUDA_SUCCESS;
}

static CUresult sim_launch(CUfunction h, const sim_shape *shape, CUstream hs, void **params, void **extra)
{
    sim_func *f;
    sim_stream *s;
    sim_work *w;
    sim_lock();
    CUresult r = cji_sim_func_get(h, &f);
    if (!r) r = cji_sim_stream_for_work(hs, &s);
    if (!r && f->module->ctx != s->ctx) r = CUDA_ERROR_INVALID_HANDLE;
    if (!r) {
        r = cji_sim_launch_work(f, shape, params, extra, &w);
        if (r && s->capture) cji_sim_capture_invalidate(s->capture);
    }
    if (!r) r = cji_sim_stream_submit(s, w);
    sim_unlock();
    return r;
}

CUresult cji_sim_cuLaunchKernel(CUfunction h, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared, CUstream s,
                               void **params, void **extra)
{
    sim_shape shape = { .grid = { gx, gy, gz }, .block = { bx, by, bz }, .shared = shared };
    return sim_launch(h, &shape, s, params, extra);
}

CUresult cji_sim_cuLaunchCooperativeKernel(CUfunction h, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared,
                                          CUstream s, void **params)
{
    sim_shape shape = { .grid = { gx, gy, gz }, .block = { bx, by, bz }, .shared = shared, .cooperative = true };
    return sim_launch(h, &shape, s, params, NULL);
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
        return (unsigned)v->clusterSchedulingPolicyPreference <= CU_CLUSTER_SCHEDULING_POLICY_LOAD_BALANCING ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP: {
        int domains = cji_sim_limit(CU_DEVICE_ATTRIBUTE_MEM_SYNC_DOMAIN_COUNT);
        return v->memSyncDomainMap.default_ < domains && v->memSyncDomainMap.remote < domains ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    }
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
        if ((unsigned)v->memSyncDomain > CU_LAUNCH_MEM_SYNC_DOMAIN_REMOTE) return CUDA_ERROR_INVALID_VALUE;
        shape->domain = v->memSyncDomain;
        return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT: return v->sharedMemCarveout <= 100 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    case CU_LAUNCH_ATTRIBUTE_NVLINK_UTIL_CENTRIC_SCHEDULING: return v->nvlinkUtilCentricScheduling <= 1 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
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
    sim_shape shape = { .grid = { config->gridDimX, config->gridDimY, config->gridDimZ }, .block = { config->blockDimX, config->blockDimY, config->blockDimZ },
                       .shared = config->sharedMemBytes };
    for (unsigned i = 0; i < config->numAttrs; i++) {
        CUresult r = cji_sim_launch_attribute(config->attrs[i].id, &config->attrs[i].value, &shape);
        if (r) return r;
    }
    return sim_launch(h, &shape, config->hStream, params, extra);
}

/* ---- Running it -------------------------------------------------------------------------------------------------- */

enum { SIM_WORKSPACE = 1024 };   /* a cooperative grid's counters */

static CUresult sim_fault_code(cji_exec_fault_kind kind)
{
    switch (kind) {
    case CJI_EXEC_FAULT_NONE:
    case CJI_EXEC_FAULT_CANCELLED: return CUDA_SUCCESS;
    case CJI_EXEC_FAULT_ADDRESS: return CUDA_ERROR_ILLEGAL_ADDRESS;
    case CJI_EXEC_FAULT_MISALIGNED: return CUDA_ERROR_MISALIGNED_ADDRESS;
    case CJI_EXEC_FAULT_SPACE: return CUDA_ERROR_INVALID_ADDRESS_SPACE;
    case CJI_EXEC_FAULT_PC: return CUDA_ERROR_INVALID_PC;
    case CJI_EXEC_FAULT_ASSERT: return CUDA_ERROR_ASSERT;
    case CJI_EXEC_FAULT_NOMEM: return CUDA_ERROR_OUT_OF_MEMORY;
    case CJI_EXEC_FAULT_TRAP:
    case CJI_EXEC_FAULT_BARRIER:
    case CJI_EXEC_FAULT_SYNC:
    case CJI_EXEC_FAULT_STACK: break;
    }
    return CUDA_ERROR_LAUNCH_FAILED;
}

static cujit_sim_fault_kind sim_fault_kind(cji_exec_fault_kind kind)
{
    switch (kind) {
    case CJI_EXEC_FAULT_NONE:
    case CJI_EXEC_FAULT_CANCELLED: break;
    case CJI_EXEC_FAULT_ADDRESS: return CUJIT_SIM_FAULT_ADDRESS;
    case CJI_EXEC_FAULT_MISALIGNED: return CUJIT_SIM_FAULT_MISALIGNED;
    case CJI_EXEC_FAULT_SPACE: return CUJIT_SIM_FAULT_SPACE;
    case CJI_EXEC_FAULT_PC: return CUJIT_SIM_FAULT_PC;
    case CJI_EXEC_FAULT_TRAP: return CUJIT_SIM_FAULT_TRAP;
    case CJI_EXEC_FAULT_ASSERT: return CUJIT_SIM_FAULT_ASSERT;
    case CJI_EXEC_FAULT_BARRIER: return CUJIT_SIM_FAULT_BARRIER;
    case CJI_EXEC_FAULT_SYNC: return CUJIT_SIM_FAULT_SYNC;
    case CJI_EXEC_FAULT_STACK: return CUJIT_SIM_FAULT_STACK;
    case CJI_EXEC_FAULT_NOMEM: return CUJIT_SIM_FAULT_OUT_OF_MEMORY;
    }
    return CUJIT_SIM_FAULT_NONE;
}

void cji_sim_kernel_print(void *ctx, const char *text, size_t bytes)
{
    (void)ctx;
    fwrite(text, 1, bytes, stdout);   /* where a kernel's printf goes on a GPU too */
}

/* Without the lock. */
cji_exec_grid *cji_sim_launch_open(sim_op *op)
{
    const sim_work *w = op->work;
    sim_ctx *c = op->ctx;
    cji_exec_launch l = { .program = w->launch.func->module->program, .kernel = w->launch.func->kernel, .dynamic_shared = w->launch.shared,
                         .params = w->launch.params, .memory = { cji_sim_memory_find, cji_sim_kernel_print, c }, .cooperative = w->launch.cooperative,
                         .stack_bytes = (uint32_t)c->limit[CU_LIMIT_STACK_SIZE],
                         .sm_count = (uint32_t)cji_sim_limit(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT), .grid_id = op->seq, .condition = cji_sim_condition_set,
                         .cancel = &c->cancel };
    memcpy(l.grid, w->launch.grid, sizeof l.grid);
    memcpy(l.block, w->launch.block, sizeof l.block);
    memcpy(l.cluster, w->launch.cluster, sizeof l.cluster);
    CUresult r = CUDA_SUCCESS;
    if (w->launch.cooperative) {
        r = cji_sim_space_alloc(c->dev, c, SIM_WORKSPACE, NULL, true, &op->workspace);
        unsigned char *p = r ? NULL : cji_sim_space_at(c, op->workspace, SIM_WORKSPACE);
        if (p) memset(p, 0, SIM_WORKSPACE);
        l.workspace = op->workspace;
    }
    cji_exec_grid *g = r ? NULL : cji_exec_grid_open(&l);
    if (!g) {
        char sentence[160];
        snprintf(sentence, sizeof sentence, "no memory to run kernel %.80s", w->launch.func->kernel->name);
        if (op->workspace) cji_sim_space_drop(op->workspace, SIM_DEVICE, NULL);
        op->workspace = 0;
        sim_lock();
        cji_sim_op_fails(op, CUDA_ERROR_OUT_OF_MEMORY, sentence);
        sim_unlock();
    }
    return g;
}

static void sim_fault_describe(const cji_exec_fault *f, const sim_op *op, cujit_sim_fault_info *info)
{
    sim_range r;
    *info = (cujit_sim_fault_info){ .size = sizeof *info, .code = (int)sim_fault_code(f->kind), .kind = sim_fault_kind(f->kind),
                                    .module = op->work->launch.func->module, .stream = cji_sim_stream_handle(op->stream), .line = f->line, .address = f->address };
    snprintf(info->kernel, sizeof info->kernel, "%s", f->kernel);
    snprintf(info->sentence, sizeof info->sentence, "%s", f->sentence);
    memcpy(info->block, f->block, sizeof info->block);
    memcpy(info->thread, f->thread, sizeof info->thread);
    if (f->kind == CJI_EXEC_FAULT_ADDRESS && cji_sim_space_find(f->address, &r)) {
        info->allocation = r.lo;
        info->allocation_bytes = r.bytes;
    }
}

/* Under the lock; no thread works on it any more. */
void cji_sim_launch_close(sim_op *op)
{
    const cji_exec_fault *fault = cji_exec_grid_fault(op->grid);
    if (sim_fault_code(fault->kind)) {
        cujit_sim_fault_info info;
        sim_fault_describe(fault, op, &info);
        cji_sim_ctx_poison(op->ctx, &info);
    }
    cji_exec_grid_close(op->grid);
    op->grid = NULL;
    if (op->workspace) cji_sim_space_drop(op->workspace, SIM_DEVICE, NULL);
    op->workspace = 0;
}
