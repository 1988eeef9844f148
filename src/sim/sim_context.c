/* Contexts: their life, each thread's stack of them, their limits and their sticky faults. */
#include "sim/simcore.h"
#include "sim/sim_capture.h"
#include "sim/sim_device.h"
#include "sim/sim_exec.h"
#include "sim/sim_graph.h"
#include "sim/sim_memory.h"
#include "sim/sim_module.h"
#include "sim/sim_queue.h"
#include "sim/sim_stream.h"

#include <string.h>

/* ---- Life -------------------------------------------------------------------------------------------------------- */

static const struct { CUlimit limit; size_t value; } sd_limits[] = {
    { CU_LIMIT_STACK_SIZE, 65536 },
    { CU_LIMIT_PRINTF_FIFO_SIZE, 1048576 },
    { CU_LIMIT_MALLOC_HEAP_SIZE, 8388608 },
    { CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH, 2 },
    { CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT, 2048 },
    { CU_LIMIT_MAX_L2_FETCH_GRANULARITY, 128 },
    { CU_LIMIT_PERSISTING_L2_CACHE_SIZE, 0 },
};

bool cji_sd_ctx_flags_ok(unsigned flags)
{
    unsigned how = flags & CU_CTX_SCHED_MASK;
    return !(flags & ~(unsigned)CU_CTX_FLAGS_MASK) && (how == 0 || how == CU_CTX_SCHED_SPIN || how == CU_CTX_SCHED_YIELD || how == CU_CTX_SCHED_BLOCKING_SYNC);
}

CUresult cji_sd_ctx_start(sd_ctx *c, sd_device *dev)
{
    if (!cji_sd_space_open(dev) || !cji_sd_workers_start()) return CUDA_ERROR_OUT_OF_MEMORY;
    if (!dev->default_pool && !(dev->default_pool = dev->pool = cji_sd_pool_new(dev))) return CUDA_ERROR_OUT_OF_MEMORY;
    if (!cji_sd_handle_is(SD_CTX, c) && !cji_sd_handle_add(SD_CTX, c)) return CUDA_ERROR_OUT_OF_MEMORY;
    c->dev = dev;
    c->legacy = cji_sd_stream_new(c, CU_STREAM_DEFAULT, 0);
    if (!c->legacy) return CUDA_ERROR_OUT_OF_MEMORY;
    c->legacy->legacy = true;
    c->id = ++sd.next_id;
    c->cancel = 0;
    memset(c->limit, 0, sizeof c->limit);
    for (size_t i = 0; i < sizeof sd_limits / sizeof *sd_limits; i++) c->limit[sd_limits[i].limit] = sd_limits[i].value;
    c->alive = true;
    return CUDA_SUCCESS;
}

static bool sd_event_of(const void *p, const void *c) { return ((const sd_event *)p)->ctx == c; }
static bool sd_exec_of(const void *p, const void *c) { return ((const sd_exec *)p)->ctx == c; }
static bool sd_stream_of(const void *p, const void *c) { return ((const sd_stream *)p)->ctx == c; }

/* Takes from everything in the context its handle. */
static void sd_ctx_empty(sd_ctx *c)
{
    void *p;
    for (sd_capture *k = sd.captures, *next; k; k = next) {
        next = k->next;
        if (k->origin->ctx == c) cji_sd_capture_leave(k->origin);
    }
    while ((p = cji_sd_handle_next(SD_EXEC, sd_exec_of, c))) {
        cji_sd_handle_drop(p);
        cji_sd_exec_drop(p);
    }
    while ((p = cji_sd_handle_next(SD_EVENT, sd_event_of, c))) {
        cji_sd_handle_drop(p);
        cji_sd_event_drop(p);
    }
    while ((p = cji_sd_handle_next(SD_STREAM, sd_stream_of, c))) cji_sd_stream_forget(p);
    for (sd_thread *t = sd.threads; t; t = t->next)
        for (sd_stream **s = &t->own; *s;) {
            sd_stream *own = *s;
            if (own->ctx != c) {
                s = &own->own_next;
                continue;
            }
            *s = own->own_next;
            cji_sd_stream_forget(own);
        }
    for (sd_module *m = sd.modules, *next; m; m = next) {
        next = m->next;
        if (m->ctx == c && cji_sd_handle_is(SD_MODULE, m)) cji_sd_module_forget(m);
    }
}

void cji_sd_ctx_stop(sd_ctx *c)
{
    c->alive = false;
    cji_sd_wait_ctx(c);
    sd_ctx_empty(c);
    cji_sd_stream_forget(c->legacy);
    c->legacy = NULL;
    cji_sd_gmem_forget_ctx(c);
    cji_sd_space_drop_ctx(c);
    if (!c->primary) cji_sd_handle_drop(c);
}

/* The end of the process: no thread runs any more, so what is unfinished ends without its work. */
void cji_sd_ctx_end(sd_ctx *c)
{
    while (c->first) {
        sd_op *op = c->first;
        if (op->listed) cji_sd_unready(op);
        if (op->queued) cji_sd_host_unqueue(op);
        if (op->open) cji_sd_grid_close(op);
        op->open = false;
        op->waits = 0;
        cji_sd_op_finish(op);
    }
    if (!c->alive) return;
    c->alive = false;
    sd_ctx_empty(c);
    cji_sd_stream_forget(c->legacy);
    cji_sd_gmem_forget_ctx(c);
    cji_sd_space_drop_ctx(c);
}

/* ---- Faults ------------------------------------------------------------------------------------------------------ */

void cji_sd_ctx_poison(sd_ctx *c, CUresult code, const char *sentence)
{
    cji_log(CJ_LOG_ERROR, "%s: %s", cji_cu_error_name((int)code), sentence);
    if (!c->fault) __atomic_store_n(&c->fault, code, __ATOMIC_RELAXED);
    __atomic_store_n(&c->cancel, 1, __ATOMIC_RELAXED);
}

bool cji_sd_ctx_sees(const sd_ctx *c, const sd_device *dev) { return c->dev == dev || (c->dev->peers >> dev->ordinal & 1); }

/* ---- The current context ----------------------------------------------------------------------------------------- */

CUresult cji_sd_ctx_any(sd_ctx **c)
{
    sd_thread *t = cji_sd_thread();
    if (!t || !t->depth || !t->stack[t->depth - 1]) return CUDA_ERROR_INVALID_CONTEXT;
    *c = t->stack[t->depth - 1];
    return (*c)->alive ? CUDA_SUCCESS : CUDA_ERROR_CONTEXT_IS_DESTROYED;
}

CUresult cji_sd_ctx(sd_ctx **c)
{
    CUresult r = cji_sd_ctx_any(c);
    return r ? r : (*c)->fault;
}

static CUresult sd_stack_push(sd_ctx *c)
{
    sd_thread *t = cji_sd_thread();
    if (!cji_grow(&t->stack, &t->cap, t->depth + 1, sizeof *t->stack)) return CUDA_ERROR_OUT_OF_MEMORY;
    t->stack[t->depth++] = c;
    return CUDA_SUCCESS;
}

/* A context that a caller names: one that exists, alive or not. */
static bool sd_ctx_known(CUcontext h) { return cji_sd_handle_is(SD_CTX, h); }

/* NULL: the current one. */
static CUresult sd_ctx_named(CUcontext h, sd_ctx **c)
{
    if (!h) return cji_sd_ctx_any(c);
    if (!sd_ctx_known(h)) return CUDA_ERROR_INVALID_CONTEXT;
    *c = (sd_ctx *)h;
    return (*c)->alive ? CUDA_SUCCESS : CUDA_ERROR_CONTEXT_IS_DESTROYED;
}

CUresult cji_sd_cuCtxGetCurrent(CUcontext *out)
{
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    sd_thread *t = cji_sd_thread();
    *out = t->depth ? (CUcontext)t->stack[t->depth - 1] : NULL;
    return CUDA_SUCCESS;
}

CUresult cji_sd_cuCtxSetCurrent(CUcontext h)
{
    sd_thread *t = cji_sd_thread();
    CUresult r = CUDA_SUCCESS;
    sd_lock();
    if (!h) {
        if (t->depth) t->depth--;
    } else if (!sd_ctx_known(h)) {
        r = CUDA_ERROR_INVALID_CONTEXT;
    } else if (!((sd_ctx *)h)->alive) {
        r = CUDA_ERROR_CONTEXT_IS_DESTROYED;
    } else if (t->depth) {
        t->stack[t->depth - 1] = (sd_ctx *)h;
    } else {
        r = sd_stack_push((sd_ctx *)h);
    }
    sd_unlock();
    return r;
}

CUresult cji_sd_cuCtxPushCurrent(CUcontext h)
{
    sd_lock();
    CUresult r = !h ? CUDA_ERROR_INVALID_VALUE : !sd_ctx_known(h) ? CUDA_ERROR_INVALID_CONTEXT : !((sd_ctx *)h)->alive ? CUDA_ERROR_CONTEXT_IS_DESTROYED : sd_stack_push((sd_ctx *)h);
    sd_unlock();
    return r;
}

CUresult cji_sd_cuCtxPopCurrent(CUcontext *out)
{
    sd_thread *t = cji_sd_thread();
    if (!t->depth) return CUDA_ERROR_INVALID_CONTEXT;
    sd_ctx *c = t->stack[--t->depth];
    if (out) *out = (CUcontext)c;
    return CUDA_SUCCESS;
}

CUresult cji_sd_cuCtxGetDevice(CUdevice *d)
{
    if (!d) return CUDA_ERROR_INVALID_VALUE;
    sd_ctx *c;
    sd_lock();
    CUresult r = cji_sd_ctx_any(&c);
    if (!r) *d = c->dev->ordinal;
    sd_unlock();
    return r;
}

CUresult cji_sd_cuCtxGetDevice_v2(CUdevice *d, CUcontext h)
{
    if (!d) return CUDA_ERROR_INVALID_VALUE;
    sd_ctx *c;
    sd_lock();
    CUresult r = sd_ctx_named(h, &c);
    if (!r) *d = c->dev->ordinal;
    sd_unlock();
    return r;
}

static CUresult sd_ctx_sync(sd_ctx *c)
{
    CUresult r = cji_sd_unsafe_ctx(c);
    if (r) return r;
    cji_sd_wait_ctx(c);
    cji_sd_pool_settle(c->dev);
    return atomic_load(&sd.exiting) ? CUDA_ERROR_DEINITIALIZED : c->fault;
}

CUresult cji_sd_cuCtxSynchronize(void)
{
    sd_ctx *c;
    sd_lock();
    CUresult r = cji_sd_ctx_any(&c);
    if (!r) r = sd_ctx_sync(c);
    sd_unlock();
    return r;
}

CUresult cji_sd_cuCtxSynchronize_v2(CUcontext h)
{
    sd_ctx *c;
    sd_lock();
    CUresult r = sd_ctx_named(h, &c);
    if (!r) r = sd_ctx_sync(c);
    sd_unlock();
    return r;
}

CUresult cji_sd_cuCtxGetStreamPriorityRange(int *least, int *greatest)
{
    sd_ctx *c;
    sd_lock();
    CUresult r = cji_sd_ctx(&c);
    sd_unlock();
    if (r) return r;
    if (least) *least = 0;
    if (greatest) *greatest = -(SD_PRIORITIES - 1);
    return CUDA_SUCCESS;
}

CUresult cji_sd_cuCtxGetFlags(unsigned *flags)
{
    if (!flags) return CUDA_ERROR_INVALID_VALUE;
    sd_ctx *c;
    sd_lock();
    CUresult r = cji_sd_ctx_any(&c);
    if (!r) *flags = c->flags;
    sd_unlock();
    return r;
}

CUresult cji_sd_cuCtxGetLimit(size_t *value, CUlimit limit)
{
    if (!value || (int)limit < 0) return CUDA_ERROR_INVALID_VALUE;
    if (limit == CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH) return CUDA_ERROR_UNSUPPORTED_LIMIT;   /* as from CUDA 12 on */
    if (limit == CU_LIMIT_SHMEM_SIZE || limit == CU_LIMIT_CIG_ENABLED) {   /* told, but not to be set */
        *value = 0;
        return CUDA_SUCCESS;
    }
    if ((int)limit >= SD_LIMITS) return (int)limit < SD_LIMITS_KNOWN ? CUDA_ERROR_UNSUPPORTED_LIMIT : CUDA_ERROR_INVALID_VALUE;
    sd_ctx *c;
    sd_lock();
    CUresult r = cji_sd_ctx(&c);
    if (!r) *value = c->limit[limit];
    sd_unlock();
    return r;
}

CUresult cji_sd_cuCtxSetLimit(CUlimit limit, size_t value)
{
    if ((int)limit < 0) return CUDA_ERROR_INVALID_VALUE;
    if ((int)limit >= SD_LIMITS) return (int)limit < SD_LIMITS_KNOWN ? CUDA_ERROR_UNSUPPORTED_LIMIT : CUDA_ERROR_INVALID_VALUE;
    sd_ctx *c;
    sd_lock();
    CUresult r = cji_sd_ctx(&c);
    if (!r && limit == CU_LIMIT_STACK_SIZE && (value > 512 * 1024)) r = CUDA_ERROR_INVALID_VALUE;
    if (!r) c->limit[limit] = value;
    sd_unlock();
    return r;
}

/* ---- Contexts of the caller's own -------------------------------------------------------------------------------- */

CUresult cji_sd_cuCtxGetApiVersion(CUcontext h, unsigned *version)
{
    if (!version) return CUDA_ERROR_INVALID_VALUE;
    sd_ctx *c;
    sd_lock();
    CUresult r = h ? sd_ctx_known(h) && ((sd_ctx *)h)->alive ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT : cji_sd_ctx_any(&c);
    sd_unlock();
    if (!r) *version = 3020;
    return r;
}

CUresult cji_sd_cuCtxGetId(CUcontext h, unsigned long long *id)
{
    if (!id) return CUDA_ERROR_INVALID_VALUE;
    sd_ctx *c = (sd_ctx *)h;
    sd_lock();
    CUresult r = !h ? cji_sd_ctx_any(&c) : !sd_ctx_known(h) ? CUDA_ERROR_INVALID_CONTEXT : !c->alive ? CUDA_ERROR_CONTEXT_IS_DESTROYED : CUDA_SUCCESS;
    if (!r) *id = c->id;
    sd_unlock();
    return r;
}

CUresult cji_sd_cuCtxCreate(CUcontext *out, unsigned flags, CUdevice d)
{
    if (!out || !cji_sd_ctx_flags_ok(flags)) return CUDA_ERROR_INVALID_VALUE;
    sd_device *dev = cji_sd_device(d);
    if (!dev) return CUDA_ERROR_INVALID_DEVICE;
    sd_lock();
    sd_ctx *c = cji_zalloc(sizeof *c);
    CUresult r = c ? cji_sd_ctx_start(c, dev) : CUDA_ERROR_OUT_OF_MEMORY;
    if (!r) {
        c->flags = flags;
        c->next = dev->contexts;
        dev->contexts = c;
        r = sd_stack_push(c);
        if (r) cji_sd_ctx_stop(c);
        else *out = (CUcontext)c;
    } else if (c) {
        cji_sd_handle_drop(c);
        cji_free(c, sizeof *c);
    }
    sd_unlock();
    return r;
}

/* There are no multiprocessors to divide: no affinity is supported. */
CUresult cji_sd_cuCtxCreate_v3(CUcontext *out, CUexecAffinityParam *params, int n, unsigned flags, CUdevice d)
{
    if (n < 0 || (n && !params)) return CUDA_ERROR_INVALID_VALUE;
    return n ? CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY : cji_sd_cuCtxCreate(out, flags, d);
}

CUresult cji_sd_cuCtxCreate_v4(CUcontext *out, CUctxCreateParams *params, unsigned flags, CUdevice d)
{
    if (!params) return cji_sd_cuCtxCreate(out, flags, d);
    if (!params->execAffinityParams == !params->cigParams) return CUDA_ERROR_INVALID_VALUE;   /* exactly one of them */
    return params->cigParams ? CUDA_ERROR_NOT_SUPPORTED : cji_sd_cuCtxCreate_v3(out, params->execAffinityParams, params->numExecAffinityParams, flags, d);
}

CUresult cji_sd_cuCtxDestroy(CUcontext h)
{
    sd_thread *t = cji_sd_thread();
    sd_ctx *c = (sd_ctx *)h;
    sd_lock();
    CUresult r = !sd_ctx_known(h) || c->primary ? CUDA_ERROR_INVALID_CONTEXT : CUDA_SUCCESS;
    if (!r) {
        if (t->depth && t->stack[t->depth - 1] == c) t->depth--;
        cji_sd_ctx_stop(c);
    }
    sd_unlock();
    return r;
}

/* ---- The end ----------------------------------------------------------------------------------------------------- */

/* A child or a body goes with its node. */
static bool sd_graph_is_outermost(const void *p, const void *user) { return !((const sd_graph *)p)->parent && !user; }

void cji_sd_handle_end(void)
{
    void *p;
    while (sd.captures) cji_sd_capture_leave(sd.captures->origin);
    while ((p = cji_sd_handle_next(SD_EXEC, NULL, NULL))) {
        cji_sd_handle_drop(p);
        cji_sd_exec_drop(p);
    }
    while ((p = cji_sd_handle_next(SD_GRAPH, sd_graph_is_outermost, NULL))) cji_sd_graph_forget(p);
    while ((p = cji_sd_handle_next(SD_LINK, NULL, NULL))) cji_sd_link_forget(p);
}
