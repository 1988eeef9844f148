/* Stream-ordered memory and its pools. An address is given at once and is valid for the stream's later work; a
 * release is done when the stream reaches it. A pool counts what it holds: memory above its release threshold goes
 * back at the next synchronization. */
#include "sim/memory/sim_memory.h"

#include <stdio.h>
#include <string.h>

enum { SIM_POOL_GRAIN = 32 << 20 };   /* pools reserve in such pieces, as the driver does */

/* ---- Counting ---------------------------------------------------------------------------------------------------- */

sim_pool *cji_sim_pool_new(sim_device *dev)
{
    sim_pool *p = cji_zalloc(sizeof *p);
    if (!p || !cji_sim_handle_add(SIM_POOL, p)) {
        cji_free(p, sizeof *p);
        return NULL;
    }
    p->dev = dev;
    for (int i = 0; i < 3; i++) p->reuse[i] = 1;
    p->next = dev->pools;
    dev->pools = p;
    return p;
}

static void sim_pool_free(sim_pool *p)
{
    for (sim_pool **q = &p->dev->pools; *q; q = &(*q)->next)
        if (*q == p) {
            *q = p->next;
            break;
        }
    cji_sim_pool_unshare(p);
    cji_free(p, sizeof *p);
}

static void sim_pools_end(sim_device *dev)
{
    while (dev->pools) {
        cji_sim_handle_drop(dev->pools);
        sim_pool_free(dev->pools);
    }
}

void cji_sim_pool_take(sim_pool *p, uint64_t bytes)
{
    p->used += bytes;
    if (p->used > p->used_high) p->used_high = p->used;
    if (p->used > p->reserved) p->reserved = (p->used + SIM_POOL_GRAIN - 1) / SIM_POOL_GRAIN * SIM_POOL_GRAIN;
    if (p->reserved > p->reserved_high) p->reserved_high = p->reserved;
}

void cji_sim_pool_trim(sim_pool *p, uint64_t keep)
{
    uint64_t least = (p->used + SIM_POOL_GRAIN - 1) / SIM_POOL_GRAIN * SIM_POOL_GRAIN;
    if (keep < UINT64_MAX - SIM_POOL_GRAIN) keep = (keep + SIM_POOL_GRAIN - 1) / SIM_POOL_GRAIN * SIM_POOL_GRAIN;
    if (p->reserved > least && p->reserved > keep) p->reserved = keep > least ? keep : least;
}

void cji_sim_pool_give(sim_pool *p, uint64_t bytes)
{
    p->used -= bytes;
    if (p->destroyed && !p->used) sim_pool_free(p);
}

static void sim_range_of_pool(sim_range *r, void *pool) { r->pool = pool; }

void cji_sim_pool_own(sim_pool *p, uint64_t lo, uint64_t bytes)
{
    cji_sim_space_change(lo, sim_range_of_pool, p);
    cji_sim_pool_take(p, bytes);
}

static void sim_pool_settle(sim_device *dev)
{
    for (sim_pool *p = dev->pools; p; p = p->next) cji_sim_pool_trim(p, p->threshold);
}

/* ---- Allocation and release in stream order ---------------------------------------------------------------------- */

/* Memory of the host at its own address; what others may import, in the device's file; or any of the device. */
static CUresult sim_pool_memory(sim_pool *p, sim_ctx *c, size_t bytes, CUdeviceptr *out)
{
    uint64_t at = 0;
    CUresult r;
    if (p->host)
        r = p->shared ? cji_sim_space_host_part(p->dev, c, bytes, SIM_POOL_HOST_FLAGS, -1, NULL, &at)
                      : cji_sim_space_host(c, bytes, SIM_PINNED, SIM_POOL_HOST_FLAGS, &at);
    else
        r = p->shared ? cji_sim_space_alloc_part(p->dev, c, bytes, -1, NULL, out)
                       : cji_sim_space_alloc(p->dev, c, bytes, p, false, out);
    if (!r && p->host) *out = at;
    if (!r) cji_sim_pool_own(p, *out, bytes);
    return r;
}

static CUresult sim_pool_alloc(CUdeviceptr *out, size_t bytes, sim_pool *p, sim_stream *s)
{
    *out = 0;
    if (!bytes) return CUDA_SUCCESS;
    if (!p) p = s->ctx->dev->pool;
    if (p->imported) return CUDA_ERROR_INVALID_VALUE;
    const bool own = p->dev == s->ctx->dev && !p->host;
    if (s->capture) return own ? sim_graphs->add_alloc(s, bytes, out) : CUDA_ERROR_NOT_SUPPORTED;
    if (p->max_bytes && (bytes > p->max_bytes || p->used > p->max_bytes - bytes)) return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult r = cji_sim_capture_unsafe();
    return r ? r : sim_pool_memory(p, s->ctx, bytes, out);
}

CUresult cji_sim_cuMemAllocAsync(CUdeviceptr *out, size_t bytes, CUstream h)
{
    sim_stream *s;
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    CUresult r = cji_sim_stream_for_work(h, &s);
    if (!r) r = sim_pool_alloc(out, bytes, NULL, s);
    sim_unlock();
    return r;
}

CUresult cji_sim_cuMemAllocFromPoolAsync(CUdeviceptr *out, size_t bytes, CUmemoryPool h, CUstream hs)
{
    sim_stream *s;
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    CUresult r = cji_sim_stream_for_work(hs, &s);
    if (!r && (!cji_sim_handle_is(SIM_POOL, h) || ((sim_pool *)h)->destroyed)) r = CUDA_ERROR_INVALID_VALUE;
    if (!r) r = sim_pool_alloc(out, bytes, (sim_pool *)h, s);
    sim_unlock();
    return r;
}

typedef struct sim_free { sim_work work; uint64_t at, id; sim_place place; } sim_free;   /* id: of the range */

static void sim_free_run(sim_op *op)
{
    const sim_free *w = (const sim_free *)op->work;
    uint64_t at = w->at;
    sim_range was;
    sim_lock();
    bool same = cji_sim_space_find(at, &was) && was.id == w->id;
    CUresult r = same ? cji_sim_space_drop(at, w->place, &was) : CUDA_ERROR_INVALID_VALUE;
    if (!r && was.pool) cji_sim_pool_give(was.pool, was.bytes);
    if (r && !op->ctx->fault && op->ctx->alive) {
        char sentence[160];
        snprintf(sentence, sizeof sentence, "cuMemFreeAsync of 0x%llx, which was freed before the stream reached it",
                 (unsigned long long)at);
        cji_sim_op_fails(op, CUDA_ERROR_ILLEGAL_ADDRESS, sentence);
    }
    sim_unlock();
}

static const sim_work_kind sim_kind_free = { .name = "free",
                                             .node_type = CU_GRAPH_NODE_TYPE_MEM_FREE,
                                             .traits = SIM_WORK_HELPS | SIM_WORK_AFTER_FAULT,
                                             .run = sim_free_run };

static void sim_free_pending(sim_range *r, void *pending) { r->leaving = *(const bool *)pending; }

/* The range is found again when the stream reaches it: it may have been freed with its context. */
CUresult cji_sim_cuMemFreeAsync(CUdeviceptr at, CUstream h)
{
    sim_stream *s;
    sim_range range;
    sim_lock();
    CUresult r = cji_sim_stream_for_work(h, &s);
    if (!r && !s->capture) r = cji_sim_capture_unsafe();
    bool known = !r && cji_sim_space_find(at, &range) && range.lo == at;
    if (!r && s->capture) {   /* memory of a graph: a node of this one */
        r = known && range.graph ? sim_graphs->add_free(s, at) : CUDA_ERROR_INVALID_VALUE; /* the capture stays valid */
    } else if (known && range.graph) {
        r = sim_graphs->release(range.graph, s);
    } else if (!r && at) {
        bool pending = true;
        if (!known || !range.pool || range.leaving) r = CUDA_ERROR_INVALID_VALUE;
        sim_free *w = r ? NULL : (sim_free *)cji_sim_work_new(&sim_kind_free, s->ctx, sizeof *w);
        if (w) {
            w->at = at;
            w->id = range.id;
            w->place = range.place;
            cji_sim_space_change(at, sim_free_pending, &pending);
            r = cji_sim_stream_submit(s, &w->work);
            pending = false;
            if (r) cji_sim_space_change(at, sim_free_pending, &pending);
        } else if (!r) {
            r = CUDA_ERROR_OUT_OF_MEMORY;
        }
    }
    sim_unlock();
    return r;
}

/* ---- Pools ------------------------------------------------------------------------------------------------------- */

sim_pool *cji_sim_pool_of(CUmemoryPool h)
{
    return cji_sim_handle_is(SIM_POOL, h) && !((sim_pool *)h)->destroyed ? (sim_pool *)h : NULL;
}

static sim_pool *sim_pool_default(sim_device *dev)
{
    if (!dev->default_pool) dev->default_pool = dev->pool = cji_sim_pool_new(dev);
    return dev->default_pool;
}

CUresult cji_sim_cuDeviceGetDefaultMemPool(CUmemoryPool *out, CUdevice d)
{
    sim_device *dev = cji_sim_device(d);
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    if (!dev) return CUDA_ERROR_INVALID_DEVICE;
    sim_lock();
    *out = (CUmemoryPool)sim_pool_default(dev);
    sim_unlock();
    return *out ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult cji_sim_cuDeviceGetMemPool(CUmemoryPool *out, CUdevice d)
{
    sim_device *dev = cji_sim_device(d);
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    if (!dev) return CUDA_ERROR_INVALID_DEVICE;
    sim_lock();
    bool ok = sim_pool_default(dev) != NULL;
    *out = (CUmemoryPool)dev->pool;
    sim_unlock();
    return ok ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult cji_sim_cuDeviceSetMemPool(CUdevice d, CUmemoryPool h)
{
    sim_device *dev = cji_sim_device(d);
    if (!dev) return CUDA_ERROR_INVALID_DEVICE;
    sim_lock();
    sim_pool *p = cji_sim_pool_of(h);
    CUresult r = !p || p->imported              ? CUDA_ERROR_INVALID_VALUE
                 : p->dev != dev || p->host ? CUDA_ERROR_INVALID_DEVICE
                                            : CUDA_SUCCESS;
    if (!r && sim_pool_default(dev)) dev->pool = p;
    sim_unlock();
    return r;
}

/* What the properties ask for: of which device; of the host: of the first one, *host. The host has one node. */
static CUresult sim_pool_props(const CUmemPoolProps *p, sim_device **dev, bool *host)
{
    if (p->allocType != CU_MEM_ALLOCATION_TYPE_PINNED) return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < sizeof p->reserved; i++)
        if (p->reserved[i]) return CUDA_ERROR_INVALID_VALUE;
    *host = p->location.type != CU_MEM_LOCATION_TYPE_DEVICE;
    *dev = cji_sim_device(*host ? 0 : p->location.id);
    if (p->location.type == CU_MEM_LOCATION_TYPE_HOST)
        return p->handleTypes == CU_MEM_HANDLE_TYPE_NONE ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    if (*host && (p->location.type != CU_MEM_LOCATION_TYPE_HOST_NUMA || p->location.id != 0))
        return CUDA_ERROR_INVALID_VALUE;
    if (!*dev) return CUDA_ERROR_INVALID_VALUE;
    return p->handleTypes & ~CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR ? CUDA_ERROR_NOT_SUPPORTED : CUDA_SUCCESS;
}

CUresult cji_sim_cuMemPoolCreate(CUmemoryPool *out, const CUmemPoolProps *props)
{
    sim_device *dev = NULL;
    bool host = false;
    CUresult r = out && props ? sim_pool_props(props, &dev, &host) : CUDA_ERROR_INVALID_VALUE;
    if (r) return r;
    sim_lock();
    sim_pool *p = cji_sim_space_open(dev) ? cji_sim_pool_new(dev) : NULL;
    if (p) p->max_bytes = props->maxSize;
    if (p) p->host = host;
    if (p && props->handleTypes != CU_MEM_HANDLE_TYPE_NONE && !cji_sim_pool_share(p)) {
        cji_sim_handle_drop(p);
        sim_pool_free(p);
        p = NULL;
    }
    *out = (CUmemoryPool)p;
    sim_unlock();
    return p ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

/* With live allocations it is freed when the last of them is. */
CUresult cji_sim_cuMemPoolDestroy(CUmemoryPool h)
{
    sim_lock();
    sim_pool *p = cji_sim_pool_of(h);
    CUresult r = !p || p == p->dev->default_pool ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
    if (!r) {
        if (p->dev->pool == p) p->dev->pool = p->dev->default_pool;
        cji_sim_handle_drop(p);
        p->destroyed = true;
        if (!p->used) sim_pool_free(p);
    }
    sim_unlock();
    return r;
}

CUresult cji_sim_cuMemPoolTrimTo(CUmemoryPool h, size_t keep)
{
    sim_lock();
    sim_pool *p = cji_sim_pool_of(h);
    CUresult r = p ? cji_sim_capture_unsafe() : CUDA_ERROR_INVALID_VALUE;
    if (!r) cji_sim_pool_trim(p, keep);
    sim_unlock();
    return r;
}

static CUresult sim_pool_get(const sim_pool *p, CUmemPool_attribute attribute, void *value)
{
    uint64_t v;
    switch (attribute) {
    case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
        memcpy(value, &p->reuse[attribute - CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES], sizeof(int));
        return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD: v = p->threshold; break;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT: v = p->reserved; break;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH: v = p->reserved_high; break;
    case CU_MEMPOOL_ATTR_USED_MEM_CURRENT: v = p->used; break;
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH: v = p->used_high; break;
    default: return CUDA_ERROR_INVALID_VALUE;
    }
    memcpy(value, &v, sizeof v);
    return CUDA_SUCCESS;
}

CUresult cji_sim_cuMemPoolGetAttribute(CUmemoryPool h, CUmemPool_attribute attribute, void *value)
{
    if (!value) return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    sim_pool *p = cji_sim_pool_of(h);
    CUresult r = p ? sim_pool_get(p, attribute, value) : CUDA_ERROR_INVALID_VALUE;
    sim_unlock();
    return r;
}

static CUresult sim_pool_set(sim_pool *p, CUmemPool_attribute attribute, const void *value)
{
    uint64_t v = 0;
    int flag;
    switch (attribute) {
    case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
        memcpy(&flag, value, sizeof flag);
        p->reuse[attribute - CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES] = flag != 0;
        return CUDA_SUCCESS;
    default: break;
    }
    memcpy(&v, value, sizeof v);
    switch (attribute) {
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD: p->threshold = v; return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
        p->reserved_high = p->reserved;
        return v ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH: p->used_high = p->used; return v ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
    default: return CUDA_ERROR_INVALID_VALUE;
    }
}

CUresult cji_sim_cuMemPoolSetAttribute(CUmemoryPool h, CUmemPool_attribute attribute, void *value)
{
    if (!value) return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    sim_pool *p = cji_sim_pool_of(h);
    CUresult r = p ? sim_pool_set(p, attribute, value) : CUDA_ERROR_INVALID_VALUE;
    sim_unlock();
    return r;
}

/* ---- Who may reach a pool's memory; its own device always ------------------------------------------------------- */

/* Its own device always does; a pool of the host has none. */
static bool sim_pool_reaches(const sim_pool *p, const sim_device *dev)
{
    return (dev == p->dev && !p->host) || (p->access >> dev->ordinal & 1);
}

CUresult cji_sim_cuMemPoolGetAccess(CUmemAccess_flags *flags, CUmemoryPool h, CUmemLocation *where)
{
    if (!flags || !where) return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    sim_pool *p = cji_sim_pool_of(h);
    sim_device *dev = where->type == CU_MEM_LOCATION_TYPE_DEVICE ? cji_sim_device(where->id) : NULL;
    bool host = where->type == CU_MEM_LOCATION_TYPE_HOST;   /* it reaches its own alone */
    CUresult r = p && (dev || host) ? cji_sim_capture_unsafe() : CUDA_ERROR_INVALID_VALUE;
    if (!r)
        *flags = (host ? p->host : sim_pool_reaches(p, dev)) ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE
                                                             : CU_MEM_ACCESS_FLAGS_PROT_NONE;
    sim_unlock();
    return r;
}

CUresult cji_sim_cuMemPoolSetAccess(CUmemoryPool h, const CUmemAccessDesc *map, size_t count)
{
    sim_lock();
    sim_pool *p = cji_sim_pool_of(h);
    CUresult r = p && (map || !count) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    unsigned access = p ? p->access : 0;
    for (size_t i = 0; !r && i < count; i++) {
        sim_device *dev =
            map[i].location.type == CU_MEM_LOCATION_TYPE_DEVICE ? cji_sim_device(map[i].location.id) : NULL;
        bool on = map[i].flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
        bool readable = map[i].flags == CU_MEM_ACCESS_FLAGS_PROT_READ,
             known = on || map[i].flags == CU_MEM_ACCESS_FLAGS_PROT_NONE;
        if (readable || map[i].location.type == CU_MEM_LOCATION_TYPE_HOST) r = CUDA_ERROR_NOT_SUPPORTED;
        else if (!known || map[i].location.type != CU_MEM_LOCATION_TYPE_DEVICE) r = CUDA_ERROR_INVALID_VALUE;
        else if (!dev || (dev == p->dev && !p->host && !on)) r = CUDA_ERROR_INVALID_DEVICE;
        else if (dev != p->dev || p->host) access = on ? access | 1u << dev->ordinal : access & ~(1u << dev->ordinal);
    }
    if (!r) p->access = access;
    sim_unlock();
    return r;
}

/* ---- The room ---------------------------------------------------------------------------------------------------- */

static CUresult sim_memory_ctx_begin(sim_ctx *c)
{
    return sim_pool_default(c->dev) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

static void sim_memory_gone(const sim_range *r)
{
    if (r->pool) cji_sim_pool_give(r->pool, r->bytes);
}

static void sim_memory_ctx_end(sim_ctx *c)
{
    cji_sim_space_drop_ctx(c, sim_memory_gone);
    cji_sim_texture_ctx_end(c);
    cji_sim_array_ctx_end(c);
}

const sim_room cji_sim_room_memory = {
    .name = "memory", .ctx_begin = sim_memory_ctx_begin, .ctx_end = sim_memory_ctx_end, .synchronised = sim_pool_settle,
    .device_end = sim_pools_end, .process_end = cji_sim_virtual_end
};
