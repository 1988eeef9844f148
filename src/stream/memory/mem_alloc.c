/* Device memory: allocations of the driver.  Those of cj_alloc are here where they are large, or where the device's
 * allocator is the driver's.
 *
 * A cji_mem is in the table from cj_alloc to cj_free.  Its memory is released to the driver when cj_free was called,
 * nothing retains it, and every stream of `used` and its home stream have reached that moment: at once, in the home
 * stream's order, where that is the only one it was used on; else as a deferred release. */
#include "stream/memory/stream_memory.h"

/* -- Kinds of memory ----------------------------------------------------------------------------------------------- */

static CUresult alloc_pool(cj_stream *s, const cji_mem *m, const void *from, CUdeviceptr *d)
{
    (void)from;
    return s->cu->cuMemAllocAsync(d, m->bytes, s->raw);
}

static CUresult alloc_managed(cj_stream *s, const cji_mem *m, const void *from, CUdeviceptr *d)
{
    (void)from;
    return s->cu->cuMemAllocManaged(d, m->bytes, CU_MEM_ATTACH_GLOBAL);
}

static CUresult alloc_ipc(cj_stream *s, const cji_mem *m, const void *from, CUdeviceptr *d)
{
    (void)from;
    return s->cu->cuMemAlloc(d, m->bytes);
}

static CUresult alloc_wrapped(cj_stream *s, const cji_mem *m, const void *from, CUdeviceptr *d)
{
    (void)s, (void)from;
    *d = m->addr;
    return CUDA_SUCCESS;
}

static CUresult release_wrapped(const cji_mem *m)
{
    (void)m; /* it stays its owner's */
    return CUDA_SUCCESS;
}

CUresult cji_mem_release_plain(const cji_mem *m) { return m->state->queue->cu->cuMemFree(m->addr); }

const cji_mem_type cji_mem_direct = { .kind = CJ_MEM_KIND_POOL,
                                      .name = "device",
                                      .cu_call = "cuMemAllocAsync",
                                      .ordered = true,
                                      .alloc = alloc_pool,
                                      .release = cji_mem_release_plain };
static const cji_mem_type mem_managed = { .kind = CJ_MEM_KIND_MANAGED,
                                          .name = "managed",
                                          .cu_call = "cuMemAllocManaged",
                                          .alloc = alloc_managed,
                                          .release = cji_mem_release_plain };
static const cji_mem_type mem_ipc = {
    .kind = CJ_MEM_KIND_IPC, .name = "IPC", .cu_call = "cuMemAlloc", .alloc = alloc_ipc,
    .release = cji_mem_release_plain
};

static const cji_mem_type mem_wrapped = { .kind = CJ_MEM_KIND_WRAPPED,
                                          .name = "wrapped",
                                          .cu_call = "",
                                          .foreign = true,
                                          .alloc = alloc_wrapped,
                                          .release = release_wrapped };

/* -- Making -------------------------------------------------------------------------------------------------------- */

/* Asks the driver; when memory is short, deferred releases run first, and chunks that are not in use are released.  In
 * a scope. */
static CUresult alloc_raw(cj_stream *s, cji_mem *m, const void *from)
{
    CUdeviceptr d = 0;
    const bool ours = m->type == &cji_mem_direct && !cji_allocator_may_hold(m->state, m->bytes);
    CUresult r = ours ? CUDA_ERROR_OUT_OF_MEMORY : m->type->alloc(s, m, from, &d);
    if (r == CUDA_ERROR_OUT_OF_MEMORY) {
        const bool waiting = atomic_load(&s->queue->waiting);
        cji_deferred_drain(s->queue, CJI_DEFERRED_ALL);
        const bool released = cji_chunks_trim(m->state, 0);
        if (ours && !cji_allocator_may_hold(m->state, m->bytes)) return r;
        if (ours || waiting || released) r = m->type->alloc(s, m, from, &d);
    }
    m->addr = d;
    return r;
}

/* How an allocation of the driver's own counts among those of cj_alloc.  With the state's lock held. */
void cji_mem_direct_count(cji_mem_state *state, const cji_mem *m, int change)
{
    cji_allocator *a = &state->blocks;
    if (m->type != &cji_mem_direct) return;
    cji_tally *t = m->home->mem ? &((cji_lists *)m->home->mem)->tally : &a->rest;
    if (change > 0) {
        cji_allocator_holds(a, 0, m->bytes);
        t->missed++;
        cji_tally_more(a, t, m->bytes);
    } else {
        a->direct_bytes -= m->bytes;
        cji_tally_less(a, t, m->bytes);
    }
    cji_mem_changed(state);
}

/* A result of the driver, left in the stream. */
static cj_status alloc_rejected(cj_stream *s, const cji_mem *m, CUresult r, const char *call)
{
    cji_spin_lock(&m->state->lock, CJI_LOCK_MEMORY);
    const uint64_t most = m->state->blocks.opts.max_total;
    cji_spin_unlock(&m->state->lock, CJI_LOCK_MEMORY);
    if (r == CUDA_ERROR_OUT_OF_MEMORY && m->type == &cji_mem_direct && most)
        return cji_fail(s, CJ_ENOMEM, call, "%zu bytes: the allocator may hold %llu bytes (max_total)", m->bytes,
                        (unsigned long long)most);
    if (r == CUDA_ERROR_OUT_OF_MEMORY)
        return cji_cu_fail_as(s, s->dev, r, CJ_ENOMEM, m->type->cu_call, call, "%s: %zu bytes of %s memory", call,
                              m->bytes, m->type->name);
    if (r == CUDA_ERROR_INVALID_CONTEXT && m->type == &cji_mem_imported)
        return cji_cu_fail_as(s, s->dev, r, CJ_EINVAL, m->type->cu_call, call,
                              "%s: the handle is of this process, which has the memory: use that", call);
    if (r == CUDA_ERROR_INVALID_VALUE && m->type == &cji_mem_pool_imported)
        return cji_cu_fail_as(s, s->dev, r, CJ_OK, m->type->cu_call, call,
                              "%s: the bytes are no handle of memory of this pool, or the process that exported it has "
                              "freed it or ended", call);
    if (r == CUDA_ERROR_INVALID_VALUE && m->type == &cji_mem_imported)
        return cji_cu_fail_as(s, s->dev, r, CJ_OK, m->type->cu_call, call,
                              "%s: the bytes are no handle of cj_ipc_export, or the process that exported the memory "
                              "has freed it or ended", call);
    return cji_rejected(s, s->dev, r, call, m->type->cu_call);
}

/* Enters it into the table, unless it is there: the driver gives what is imported twice the same address, and a
 * caller may wrap what is known. */
static bool alloc_enter(cji_mem_state *state, cji_mem *m, bool *there)
{
    cji_spin_lock(&state->lock, CJI_LOCK_MEMORY);
    *there = m->type->foreign && cji_mem_overlaps(state, m->addr, m->bytes);
    if (!*there) {
        cji_mem_insert(state, m);
        if (m->type == &cji_mem_direct) cji_lists_of(state, m->home); /* what counts the stream's allocations */
        cji_mem_held(m->home, (int64_t)m->bytes);
        cji_mem_direct_count(state, m, 1);
    }
    cji_spin_unlock(&state->lock, CJI_LOCK_MEMORY);
    return !*there;
}

/* Allocates and enters into the table; in a scope.  A failure is left in the stream. */
static cj_status alloc_make(cj_stream *s, cji_mem_state *state, cji_mem *m, const void *from,
                            const char *call)
{
    bool there;
    CUresult r = alloc_raw(s, m, from);
    if (r != CUDA_SUCCESS) return alloc_rejected(s, m, r, call);
    cji_lock(&s->queue->lock, CJI_LOCK_QUEUE);
    m->home = s->slot;
    m->home->refs++;
    cji_unlock(&s->queue->lock, CJI_LOCK_QUEUE);
    if (alloc_enter(state, m, &there)) {
        if (s->proxy) cji_proxy_follow(s); /* it may be freed on that */
        return CJ_OK;
    }
    m->type->release(m); /* it is somebody's that the table has already */
    cji_lock(&s->queue->lock, CJI_LOCK_QUEUE);
    cji_slot_drop(m->home);
    cji_unlock(&s->queue->lock, CJI_LOCK_QUEUE);
    if (m->type == &mem_wrapped)
        return cji_fail(s, CJ_ESTATE, call, "%zu bytes at 0x%llx overlap an allocation that the device knows already",
                        m->bytes, (unsigned long long)m->addr);
    return cji_fail(s, CJ_ESTATE, call, "the memory was imported before and is at 0x%llx: use that",
                    (unsigned long long)m->addr);
}

cj_dptr cji_mem_alloc(cj_stream *s, size_t bytes, const cji_mem_type *type, uint64_t at, const void *from,
                      const char *call)
{
    const cj_dptr none = { 0 };
    if (!bytes) return cji_stream_failed(s, cji_fail(s, CJ_EINVAL, call, "0 bytes of memory")), none;
    if (atomic_load(&s->capturing) || cji_stream_captures(s->queue, s->raw)) {
        cji_stream_failed(
            s, cji_fail(s, CJ_ESTATE, call,
                        "the stream is being captured; allocate before the capture, the graph keeps the memory, "
                        "or let the graph allocate it with cj_graph_mem_alloc"));
        return none;
    }
    if (type == &mem_managed && !s->dev->info.managed_memory)
        return cji_fail(s, CJ_ENOTSUP, call, "device %d has no managed memory", s->dev->ordinal), none;
    cji_mem_state *state = cji_mem_state_of(s->dev);
    cji_mem *m = state ? cji_zalloc(sizeof *m) : NULL;
    if (!m) return cji_fail(s, CJ_ENOMEM, call, "no host memory to note the allocation"), none;
    m->state = state;
    m->addr = at;
    m->bytes = bytes;
    m->type = type;
    cji_scope scope;
    cj_status st = cji_scope_begin_relaxed(s, s->dev, &scope, call);
    if (st == CJ_OK) {
        cji_deferred_poll(s->queue, CJI_DEFERRED_STEP);
        st = alloc_make(s, state, m, from, call);
        cji_scope_leave(&scope);
    }
    if (st == CJ_OK) return (cj_dptr){ m->addr };
    cji_free(m, sizeof *m);
    return none;
}

static cj_dptr alloc_plain(cj_stream *s, size_t bytes, const cji_mem_type *type, const char *call)
{
    return cji_check(s, CJI_TAG_STREAM, call) == CJ_OK ? cji_mem_alloc(s, bytes, type, 0, NULL, call) : (cj_dptr){ 0 };
}

cj_dptr cj_managed_alloc(cj_stream *s, size_t bytes) { return alloc_plain(s, bytes, &mem_managed, "cj_managed_alloc"); }
cj_dptr cj_ipc_alloc(cj_stream *s, size_t bytes) { return alloc_plain(s, bytes, &mem_ipc, "cj_ipc_alloc"); }

cj_status cj_mem_wrap(cj_stream *s, cj_dptr d, size_t bytes)
{
    static const char call[] = "cj_mem_wrap";
    cj_status st = cji_check(s, CJI_TAG_STREAM, call);
    if (st != CJ_OK) return st;
    if (!d.addr) return cji_stream_failed(s, cji_fail(s, CJ_EINVAL, call, "the address is { 0 }, no memory"));
    if (d.addr + bytes < d.addr)
        return cji_stream_failed(s, cji_fail(s, CJ_EINVAL, call, "%zu bytes at 0x%llx are beyond any memory", bytes,
                                             (unsigned long long)d.addr));
    return cji_mem_alloc(s, bytes, &mem_wrapped, d.addr, NULL, call).addr ? CJ_OK : cji_err_latest();
}
