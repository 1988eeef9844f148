/* Contexts: their life, each thread's stack of them, their limits and their sticky faults. */
#include "sim/core/sim_core.h"

#include <string.h>

/* ---- Life -------------------------------------------------------------------------------------------------------- */

static const struct { CUlimit limit; size_t value; } sim_limits[] = {
    { CU_LIMIT_STACK_SIZE, 65536 },
    { CU_LIMIT_PRINTF_FIFO_SIZE, 1048576 },
    { CU_LIMIT_MALLOC_HEAP_SIZE, 8388608 },
    { CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH, 2 },
    { CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT, 2048 },
    { CU_LIMIT_MAX_L2_FETCH_GRANULARITY, 128 },
    { CU_LIMIT_PERSISTING_L2_CACHE_SIZE, 0 },
};

bool cji_sim_ctx_flags_ok(unsigned flags)
{
    unsigned how = flags & CU_CTX_SCHED_MASK;
    return !(flags & ~(unsigned)CU_CTX_FLAGS_MASK) &&
           (how == 0 || how == CU_CTX_SCHED_SPIN || how == CU_CTX_SCHED_YIELD || how == CU_CTX_SCHED_BLOCKING_SYNC);
}

CUresult cji_sim_ctx_start(sim_ctx *c, sim_device *dev)
{
    if (!cji_sim_space_open(dev)) return CUDA_ERROR_OUT_OF_MEMORY;
    if (!cji_sim_handle_is(SIM_CTX, c) && !cji_sim_handle_add(SIM_CTX, c)) return CUDA_ERROR_OUT_OF_MEMORY;
    c->dev = dev;
    CUresult r = cji_sim_rooms_ctx_begin(c);
    if (r) return r;
    c->id = ++sim.next_id;
    c->cancel = 0;
    memset(c->limit, 0, sizeof c->limit);
    for (size_t i = 0; i < sizeof sim_limits / sizeof *sim_limits; i++)
        c->limit[sim_limits[i].limit] = sim_limits[i].value;
    c->alive = true;
    return CUDA_SUCCESS;
}

static pthread_cond_t sim_ctx_ended = PTHREAD_COND_INITIALIZER;

void cji_sim_ctx_settle(sim_ctx *c)
{
    while (c->ending) pthread_cond_wait(&sim_ctx_ended, &sim.lock);
}

void cji_sim_ctx_stop(sim_ctx *c)
{
    c->alive = false;
    c->ending = true;
    cji_sim_rooms_ctx_wait(c);
    cji_sim_rooms_ctx_end(c);
    c->ending = false;
    pthread_cond_broadcast(&sim_ctx_ended);
    if (!c->primary) cji_sim_handle_drop(c);
}

/* The end of the process: no thread runs any more, so what is unfinished ends without its work. */
void cji_sim_ctx_end(sim_ctx *c)
{
    cji_sim_rooms_ctx_abort(c);
    if (!c->alive) return;
    c->alive = false;
    cji_sim_rooms_ctx_end(c);
}

bool cji_sim_ctx_sees(const sim_ctx *c, const sim_device *dev)
{
    return c->dev == dev || (c->dev->peers >> dev->ordinal & 1);
}

/* ---- The current context ----------------------------------------------------------------------------------------- */

CUresult cji_sim_ctx_current_any(sim_ctx **c)
{
    sim_thread *t = cji_sim_thread();
    if (!t || !t->depth || !t->stack[t->depth - 1]) return CUDA_ERROR_INVALID_CONTEXT;
    *c = t->stack[t->depth - 1];
    return (*c)->alive ? CUDA_SUCCESS : CUDA_ERROR_CONTEXT_IS_DESTROYED;
}

CUresult cji_sim_ctx_current_or(sim_ctx *other, sim_ctx **c)
{
    CUresult r = cji_sim_ctx_current_any(c);
    if (r != CUDA_ERROR_INVALID_CONTEXT || !other) return r;
    *c = other;
    return other->alive ? CUDA_SUCCESS : CUDA_ERROR_CONTEXT_IS_DESTROYED;
}

CUresult cji_sim_ctx_current(sim_ctx **c)
{
    CUresult r = cji_sim_ctx_current_any(c);
    return r ? r : (*c)->fault;
}

CUresult cji_sim_ctx_for(CUcontext h, sim_ctx **out)
{
    if (!h) return cji_sim_ctx_current(out);
    if (!cji_sim_handle_is(SIM_CTX, h)) return CUDA_ERROR_INVALID_CONTEXT;
    *out = (sim_ctx *)h;
    return (*out)->alive ? (*out)->fault : CUDA_ERROR_CONTEXT_IS_DESTROYED;
}

static CUresult sim_stack_push(sim_ctx *c)
{
    sim_thread *t = cji_sim_thread();
    if (!cji_grow(&t->stack, &t->cap, t->depth + 1, sizeof *t->stack)) return CUDA_ERROR_OUT_OF_MEMORY;
    t->stack[t->depth++] = c;
    return CUDA_SUCCESS;
}

/* A context that a caller names: one that exists, alive or not. */
static bool sim_ctx_known(CUcontext h) { return cji_sim_handle_is(SIM_CTX, h); }

/* A context that may become current. A primary one may after its reset too, as measured: calls return
 * CONTEXT_IS_DESTROYED until it is retained again. */
static CUresult sim_ctx_to_set(CUcontext h)
{
    if (!sim_ctx_known(h)) return CUDA_ERROR_INVALID_CONTEXT;
    const sim_ctx *c = (const sim_ctx *)h;
    return c->alive || c->primary ? CUDA_SUCCESS : CUDA_ERROR_CONTEXT_IS_DESTROYED;
}

/* NULL: the current one. */
CUresult cji_sim_ctx_named(CUcontext h, sim_ctx **c)
{
    if (!h) return cji_sim_ctx_current_any(c);
    if (!sim_ctx_known(h)) return CUDA_ERROR_INVALID_CONTEXT;
    *c = (sim_ctx *)h;
    return (*c)->alive ? CUDA_SUCCESS : CUDA_ERROR_CONTEXT_IS_DESTROYED;
}

CUresult cji_sim_cuCtxGetCurrent(CUcontext *out)
{
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    sim_thread *t = cji_sim_thread();
    *out = t->depth ? (CUcontext)t->stack[t->depth - 1] : NULL;
    return CUDA_SUCCESS;
}

CUresult cji_sim_cuCtxSetCurrent(CUcontext h)
{
    sim_thread *t = cji_sim_thread();
    CUresult r = CUDA_SUCCESS;
    sim_lock();
    if (!h) {
        if (t->depth) t->depth--;
    } else if ((r = sim_ctx_to_set(h)) != CUDA_SUCCESS) {
        /* the current one stays */
    } else if (t->depth) {
        t->stack[t->depth - 1] = (sim_ctx *)h;
    } else {
        r = sim_stack_push((sim_ctx *)h);
    }
    sim_unlock();
    return r;
}

CUresult cji_sim_cuCtxPushCurrent(CUcontext h)
{
    sim_lock();
    CUresult r = h ? sim_ctx_to_set(h) : CUDA_ERROR_INVALID_VALUE;
    if (!r) r = sim_stack_push((sim_ctx *)h);
    sim_unlock();
    return r;
}

CUresult cji_sim_cuCtxPopCurrent(CUcontext *out)
{
    sim_thread *t = cji_sim_thread();
    if (!t->depth) return CUDA_ERROR_INVALID_CONTEXT;
    sim_ctx *c = t->stack[--t->depth];
    if (out) *out = (CUcontext)c;
    return CUDA_SUCCESS;
}

CUresult cji_sim_cuCtxGetDevice(CUdevice *d)
{
    if (!d) return CUDA_ERROR_INVALID_VALUE;
    sim_ctx *c;
    sim_lock();
    CUresult r = cji_sim_ctx_current_any(&c);
    if (!r) *d = c->dev->ordinal;
    sim_unlock();
    return r;
}

CUresult cji_sim_cuCtxGetDevice_v2(CUdevice *d, CUcontext h)
{
    if (!d) return CUDA_ERROR_INVALID_VALUE;
    sim_ctx *c;
    sim_lock();
    CUresult r = cji_sim_ctx_named(h, &c);
    if (!r) *d = c->dev->ordinal;
    sim_unlock();
    return r;
}

CUresult cji_sim_cuCtxGetStreamPriorityRange(int *least, int *greatest)
{
    sim_ctx *c;
    sim_lock();
    CUresult r = cji_sim_ctx_current(&c);
    sim_unlock();
    if (r) return r;
    if (least) *least = 0;
    if (greatest) *greatest = -(SIM_PRIORITIES - 1);
    return CUDA_SUCCESS;
}

CUresult cji_sim_cuCtxGetFlags(unsigned *flags)
{
    if (!flags) return CUDA_ERROR_INVALID_VALUE;
    sim_ctx *c;
    sim_lock();
    CUresult r = cji_sim_ctx_current_any(&c);
    if (!r) *flags = c->flags;
    sim_unlock();
    return r;
}

CUresult cji_sim_cuCtxGetLimit(size_t *value, CUlimit limit)
{
    if (!value || (int)limit < 0) return CUDA_ERROR_INVALID_VALUE;
    if (limit == CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH) return CUDA_ERROR_UNSUPPORTED_LIMIT;   /* as from CUDA 12 on */
    if (limit == CU_LIMIT_SHMEM_SIZE || limit == CU_LIMIT_CIG_ENABLED) {   /* can be queried, but not set */
        *value = 0;
        return CUDA_SUCCESS;
    }
    if ((int)limit >= SIM_LIMITS)
        return (int)limit < SIM_LIMITS_KNOWN ? CUDA_ERROR_UNSUPPORTED_LIMIT : CUDA_ERROR_INVALID_VALUE;
    sim_ctx *c;
    sim_lock();
    CUresult r = cji_sim_ctx_current(&c);
    if (!r) *value = c->limit[limit];
    sim_unlock();
    return r;
}

CUresult cji_sim_cuCtxSetLimit(CUlimit limit, size_t value)
{
    if ((int)limit < 0) return CUDA_ERROR_INVALID_VALUE;
    if ((int)limit >= SIM_LIMITS)
        return (int)limit < SIM_LIMITS_KNOWN ? CUDA_ERROR_UNSUPPORTED_LIMIT : CUDA_ERROR_INVALID_VALUE;
    sim_ctx *c;
    sim_lock();
    CUresult r = cji_sim_ctx_current(&c);
    if (!r && limit == CU_LIMIT_STACK_SIZE && (value > 512 * 1024)) r = CUDA_ERROR_INVALID_VALUE;
    if (!r) c->limit[limit] = value;
    sim_unlock();
    return r;
}

/* ---- Contexts of the caller's own -------------------------------------------------------------------------------- */

CUresult cji_sim_cuCtxGetApiVersion(CUcontext h, unsigned *version)
{
    if (!version) return CUDA_ERROR_INVALID_VALUE;
    sim_ctx *c;
    sim_lock();
    CUresult r = h ? sim_ctx_known(h) && ((sim_ctx *)h)->alive ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT
                   : cji_sim_ctx_current_any(&c);
    sim_unlock();
    if (!r) *version = 3020;
    return r;
}

CUresult cji_sim_cuCtxGetId(CUcontext h, unsigned long long *id)
{
    if (!id) return CUDA_ERROR_INVALID_VALUE;
    sim_ctx *c = (sim_ctx *)h;
    sim_lock();
    CUresult r = !h                  ? cji_sim_ctx_current_any(&c)
                 : !sim_ctx_known(h) ? CUDA_ERROR_INVALID_CONTEXT
                 : !c->alive         ? CUDA_ERROR_CONTEXT_IS_DESTROYED
                                     : CUDA_SUCCESS;
    if (!r) *id = c->id;
    sim_unlock();
    return r;
}

CUresult cji_sim_cuCtxCreate(CUcontext *out, unsigned flags, CUdevice d)
{
    if (!out || !cji_sim_ctx_flags_ok(flags)) return CUDA_ERROR_INVALID_VALUE;
    sim_device *dev = cji_sim_device(d);
    if (!dev) return CUDA_ERROR_INVALID_DEVICE;
    sim_lock();
    sim_ctx *c = cji_zalloc(sizeof *c);
    CUresult r = c ? cji_sim_ctx_start(c, dev) : CUDA_ERROR_OUT_OF_MEMORY;
    if (!r) {
        c->flags = flags;
        c->next = dev->contexts;
        dev->contexts = c;
        r = sim_stack_push(c);
        if (r) cji_sim_ctx_stop(c);
        else *out = (CUcontext)c;
    } else if (c) {
        cji_sim_handle_drop(c);
        cji_free(c, sizeof *c);
    }
    sim_unlock();
    return r;
}

/* There are no multiprocessors to divide: no affinity is supported. */
CUresult cji_sim_cuCtxCreate_v3(CUcontext *out, CUexecAffinityParam *params, int n, unsigned flags, CUdevice d)
{
    if (n < 0 || (n && !params)) return CUDA_ERROR_INVALID_VALUE;
    return n ? CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY : cji_sim_cuCtxCreate(out, flags, d);
}

CUresult cji_sim_cuCtxCreate_v4(CUcontext *out, CUctxCreateParams *params, unsigned flags, CUdevice d)
{
    if (!params || (!params->execAffinityParams && !params->numExecAffinityParams && !params->cigParams))
        return cji_sim_cuCtxCreate(out, flags, d);
    if (params->execAffinityParams && params->cigParams) return CUDA_ERROR_INVALID_VALUE;   /* one of them */
    return params->cigParams
               ? CUDA_ERROR_NOT_SUPPORTED
               : cji_sim_cuCtxCreate_v3(out, params->execAffinityParams, params->numExecAffinityParams, flags, d);
}

CUresult cji_sim_cuCtxDestroy(CUcontext h)
{
    sim_thread *t = cji_sim_thread();
    sim_ctx *c = (sim_ctx *)h;
    sim_lock();
    CUresult r = !sim_ctx_known(h) || c->primary || c->ending ? CUDA_ERROR_INVALID_CONTEXT : CUDA_SUCCESS;
    if (!r) {
        if (t->depth && t->stack[t->depth - 1] == c) t->depth--;
        cji_sim_ctx_stop(c);
    }
    sim_unlock();
    return r;
}
