/* Device memory in stream order, and the device's table of it.
 *
 * A cji_mem is in the table from cj_alloc to cj_free.  Its memory goes back to the driver when cj_free was called, no graph keeps it, and
 * every lane of `used` and its home stream have reached that moment: at once, in the home stream's order, where that is the only one it was used
 * on; else through the device's list of releases that wait.  Memory of a graph (graph_memory.c) is in the table as long as something keeps it. */
#include <string.h>

#include "driver/open.h"
#include "stream/memory/stream_memory.h"

static const struct { const char *name, *cu_call; } memory_kinds[] = {
    [CJI_MEMORY_POOL] = { "device", "cuMemAllocAsync" },
    [CJI_MEMORY_MANAGED] = { "managed", "cuMemAllocManaged" },
    [CJI_MEMORY_IPC] = { "shared", "cuMemAlloc" },
    [CJI_MEMORY_IPC_IMPORTED] = { "another process's", "cuIpcOpenMemHandle" },
    [CJI_MEMORY_WRAPPED] = { "somebody's", "" },
    [CJI_MEMORY_GRAPH] = { "a graph's", "cuGraphAddMemAllocNode" },
};

/* What is not of a pool goes back at once; context current. */
static void memory_release_raw(const cji_mem *m)
{
    const cji_cu *cu = m->state->queue->cu;
    if (m->kind == CJI_MEMORY_WRAPPED) return; /* it stays its owner's */
    if (m->kind == CJI_MEMORY_IPC_IMPORTED) cu->cuIpcCloseMemHandle(m->addr);
    else cu->cuMemFree(m->addr);
}

/* -- The device's side ----------------------------------------------------------------------------------------------- */

static void state_free(void *p)
{
    cji_mem_state *state = p;
    cji_peer_free(state);
    bool idle = cji_release_queue_idle(state->queue);
    for (size_t i = 0; i < state->count; i++) {
        cji_mem *m = state->table[i];
        /* Where work is still under way the memory goes with the context. */
        if (idle) memory_release_raw(m);
        cji_slot_drop(m->home);
        cji_free(m, sizeof *m);
    }
    cji_free(state->table, state->cap * sizeof *state->table);
    cji_fill_locations_free(state, idle);
    cji_staging_fini(&state->staging);
    pthread_mutex_destroy(&state->lock);
    cji_free(state, sizeof *state);
}

cji_mem_state *cji_mem_state_of(cj_device *dev)
{
    cji_release_queue *queue = &dev->queue;
    pthread_mutex_lock(&queue->lock);
    cji_mem_state *state = queue->state;
    if (!state && (state = cji_zalloc(sizeof *state))) {
        state->queue = queue;
        state->dev = dev;
        pthread_mutex_init(&state->lock, NULL);
        pthread_mutex_init(&state->peer_lock, NULL);
        cji_staging_init(&state->staging, queue);
        queue->state = state;
        queue->state_free = state_free;
    }
    pthread_mutex_unlock(&queue->lock);
    return state;
}

/* -- The table; with the side's lock held ---------------------------------------------------------------------------- */

/* Where an address belongs: the number of the entries that start at or before it. */
static size_t table_rank(const cji_mem_state *state, uint64_t addr)
{
    size_t low = 0, high = state->count;
    while (low < high) {
        size_t mid = (low + high) / 2;
        if (state->table[mid]->addr <= addr)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

cji_mem *cji_mem_holder(const cji_mem_state *state, uint64_t addr)
{
    size_t rank = table_rank(state, addr);
    cji_mem *m = rank ? state->table[rank - 1] : NULL;
    return m && addr - m->addr < m->bytes ? m : NULL;
}

bool cji_mem_insert(cji_mem_state *state, cji_mem *m)
{
    if (!cji_grow(&state->table, &state->cap, state->count + 1, sizeof *state->table)) return false;
    size_t rank = table_rank(state, m->addr);
    memmove(&state->table[rank + 1], &state->table[rank], (state->count - rank) * sizeof *state->table);
    state->table[rank] = m;
    state->count++;
    return true;
}

static void table_remove(cji_mem_state *state, const cji_mem *m)
{
    size_t rank = table_rank(state, m->addr);
    memmove(&state->table[rank - 1], &state->table[rank], (state->count - rank) * sizeof *state->table);
    state->count--;
}

/* -- Allocation ------------------------------------------------------------------------------------------------------ */

/* `handle`: of what is imported. */
static CUresult memory_alloc_raw(cj_stream *s, const cji_mem *m, const CUipcMemHandle *handle, CUdeviceptr *d)
{
    switch (m->kind) {
    case CJI_MEMORY_MANAGED: return s->cu->cuMemAllocManaged(d, m->bytes, CU_MEM_ATTACH_GLOBAL);
    case CJI_MEMORY_IPC: return s->cu->cuMemAlloc(d, m->bytes);
    case CJI_MEMORY_IPC_IMPORTED: return s->dev->drv->by_value.cuIpcOpenMemHandle(d, *handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
    case CJI_MEMORY_WRAPPED: return *d = m->addr, CUDA_SUCCESS;
    default: return s->cu->cuMemAllocAsync(d, m->bytes, s->raw);
    }
}

/* Asks the driver; when memory is short, what waits to be released goes first.  Calm. */
static CUresult memory_take(cj_stream *s, cji_mem *m, const CUipcMemHandle *handle)
{
    CUdeviceptr d = 0;
    CUresult r = memory_alloc_raw(s, m, handle, &d);
    if (r == CUDA_ERROR_OUT_OF_MEMORY && atomic_load(&s->queue->waiting)) {
        cji_deferred_drain(s->queue, CJI_DEFERRED_ALL);
        r = memory_alloc_raw(s, m, handle, &d);
    }
    m->addr = d;
    return r;
}

bool cji_mem_free_ordered(const cji_mem *m)
{
    const cji_release_queue *queue = m->state->queue;
    return (m->kind == CJI_MEMORY_POOL || m->kind == CJI_MEMORY_GRAPH) && m->home->live && !cji_stream_captures(queue, m->home->raw) &&
           queue->cu->cuMemFreeAsync(m->addr, m->home->raw) == CUDA_SUCCESS;
}

/* The user has taken or freed memory whose home the lane is. */
static void memory_held(cji_slot *home, int64_t change)
{
    uint64_t now = atomic_fetch_add(&home->held, (uint64_t)change) + (uint64_t)change, most = atomic_load(&home->held_most);
    while (change > 0 && most < now && !atomic_compare_exchange_weak(&home->held_most, &most, now)) {}
}

/* The driver's refusal, left in the stream. */
static cj_status memory_rejected(cj_stream *s, const cji_mem *m, CUresult r, const char *call)
{
    const char *cu_call = memory_kinds[m->kind].cu_call;
    if (r == CUDA_ERROR_OUT_OF_MEMORY)
        return cji_cu_fail_as(s, s->dev->drv, r, CJ_ENOMEM, cu_call, call, "%s: %zu bytes of %s memory", call, m->bytes, memory_kinds[m->kind].name);
    if (r == CUDA_ERROR_INVALID_CONTEXT && m->kind == CJI_MEMORY_IPC_IMPORTED)
        return cji_cu_fail_as(s, s->dev->drv, r, CJ_EINVAL, cu_call, call, "%s: the handle is of this process, which has the memory: use that", call);
    return cji_rejected(s, s->dev, r, call, cu_call);
}

/* Whether an allocation of the table holds a byte of the range. */
static bool table_overlaps(const cji_mem_state *state, uint64_t addr, size_t bytes)
{
    size_t rank = table_rank(state, addr);
    return cji_mem_holder(state, addr) || (rank < state->count && state->table[rank]->addr - addr < bytes);
}

/* Enters it into the table, unless it is there: the driver gives what is imported twice the same address, a caller may wrap what is known. */
static bool memory_enter(cji_mem_state *state, cji_mem *m, bool *there)
{
    pthread_mutex_lock(&state->lock);
    *there = (m->kind == CJI_MEMORY_IPC_IMPORTED || m->kind == CJI_MEMORY_WRAPPED) && table_overlaps(state, m->addr, m->bytes);
    bool entered = !*there && cji_mem_insert(state, m);
    pthread_mutex_unlock(&state->lock);
    return entered;
}

/* Allocates and enters into the table; calm.  The record of a failure is left in the stream. */
static cj_status memory_make(cj_stream *s, cji_mem_state *state, cji_mem *m, const CUipcMemHandle *handle, const char *call)
{
    bool there;
    CUresult r = memory_take(s, m, handle);
    if (r != CUDA_SUCCESS) return memory_rejected(s, m, r, call);
    pthread_mutex_lock(&s->queue->lock);
    m->home = s->slot;
    m->home->refs++;
    pthread_mutex_unlock(&s->queue->lock);
    if (memory_enter(state, m, &there)) {
        memory_held(m->home, (int64_t)m->bytes);
        if (s->proxy) cji_proxy_follow(s); /* it may be freed on that */
        return CJ_OK;
    }
    if (m->kind == CJI_MEMORY_POOL) s->cu->cuMemFreeAsync(m->addr, s->raw);
    else memory_release_raw(m);
    pthread_mutex_lock(&s->queue->lock);
    cji_slot_drop(m->home);
    pthread_mutex_unlock(&s->queue->lock);
    if (there && m->kind == CJI_MEMORY_WRAPPED)
        return cji_fail(s, CJ_ESTATE, call, "%zu bytes at 0x%llx overlap an allocation that the device knows already", m->bytes, (unsigned long long)m->addr);
    if (there) return cji_fail(s, CJ_ESTATE, call, "the memory was imported before and is at 0x%llx: use that", (unsigned long long)m->addr);
    return cji_fail(s, CJ_ENOMEM, call, "no host memory to note the allocation");
}

/* `at`: of a range that is wrapped; `handle`: of what is imported. */
static cj_dptr memory_alloc(cj_stream *s, size_t bytes, cji_memory_kind kind, uint64_t at, const CUipcMemHandle *handle, const char *call)
{
    const cj_dptr none = { 0 };
    if (!bytes) return cji_stream_failed(s, cji_fail(s, CJ_EINVAL, call, "0 bytes of memory")), none;
    if (atomic_load(&s->capturing) || cji_stream_captures(s->queue, s->raw)) {
        cji_stream_failed(s, cji_fail(s, CJ_ESTATE, call, "the stream is being captured; allocate before the capture, the graph keeps the memory, "
                                      "or let the graph allocate it with cj_graph_mem_alloc"));
        return none;
    }
    if (kind == CJI_MEMORY_MANAGED && !s->dev->info.managed_memory)
        return cji_fail(s, CJ_ENOTSUP, call, "device %d has no managed memory", s->dev->ordinal), none;
    cji_deferred_poll(s->queue, CJI_DEFERRED_STEP);
    cji_mem_state *state = cji_mem_state_of(s->dev);
    cji_mem *m = state ? cji_zalloc(sizeof *m) : NULL;
    if (!m) return cji_fail(s, CJ_ENOMEM, call, "no host memory to note the allocation"), none;
    m->state = state;
    m->addr = at;
    m->bytes = bytes;
    m->kind = kind;
    cji_ctx ctx;
    cj_status st = cji_ctx_begin_calm(s, s->dev, &ctx, call);
    if (st == CJ_OK) {
        st = memory_make(s, state, m, handle, call);
        cji_ctx_leave(s->dev, &ctx);
    }
    if (st == CJ_OK) return (cj_dptr){ m->addr };
    cji_free(m, sizeof *m);
    return none;
}

static cj_dptr memory_alloc_plain(cj_stream *s, size_t bytes, cji_memory_kind kind, const char *call)
{
    return cji_check(s, CJI_TAG_STREAM, call) == CJ_OK ? memory_alloc(s, bytes, kind, 0, NULL, call) : (cj_dptr){ 0 };
}

cj_dptr cj_alloc(cj_stream *s, size_t bytes) { return memory_alloc_plain(s, bytes, CJI_MEMORY_POOL, "cj_alloc"); }
cj_dptr cj_managed_alloc(cj_stream *s, size_t bytes) { return memory_alloc_plain(s, bytes, CJI_MEMORY_MANAGED, "cj_managed_alloc"); }
cj_dptr cj_ipc_alloc(cj_stream *s, size_t bytes) { return memory_alloc_plain(s, bytes, CJI_MEMORY_IPC, "cj_ipc_alloc"); }

cj_status cj_mem_wrap(cj_stream *s, cj_dptr d, size_t bytes)
{
    static const char call[] = "cj_mem_wrap";
    cj_status st = cji_check(s, CJI_TAG_STREAM, call);
    if (st != CJ_OK) return st;
    if (!d.addr) return cji_stream_failed(s, cji_fail(s, CJ_EINVAL, call, "the address is { 0 }, no memory"));
    if (d.addr + bytes < d.addr)
        return cji_stream_failed(s, cji_fail(s, CJ_EINVAL, call, "%zu bytes at 0x%llx are beyond any memory", bytes, (unsigned long long)d.addr));
    return memory_alloc(s, bytes, CJI_MEMORY_WRAPPED, d.addr, NULL, call).addr ? CJ_OK : cji_err_latest();
}

/* -- Between processes ------------------------------------------------------------------------------------------------ */

/* What the bytes of a handle are. */
typedef struct memory_handle { CUipcMemHandle raw; uint64_t bytes; } memory_handle;
_Static_assert(sizeof(memory_handle) == CJ_IPC_MEM_BYTES, "the driver's handle, and the size");

cj_dptr cj_ipc_import(cj_stream *s, const void *handle, size_t bytes)
{
    static const char call[] = "cj_ipc_import";
    const cj_dptr none = { 0 };
    memory_handle h;
    if (cji_check(s, CJI_TAG_STREAM, call) != CJ_OK) return none;
    if (!handle || bytes < sizeof h)
        return cji_stream_failed(s, cji_fail(s, CJ_EINVAL, call, "a handle has %zu bytes, not %zu", sizeof h, handle ? bytes : 0)), none;
    if (!s->dev->drv->by_value.cuIpcOpenMemHandle) return cji_fail(s, CJ_ENOTSUP, call, "this driver has no memory between processes"), none;
    memcpy(&h, handle, sizeof h);
    return memory_alloc(s, h.bytes, CJI_MEMORY_IPC_IMPORTED, 0, &h.raw, call);
}

/* The size of shared memory that begins at an address; 0: there is none. */
static size_t memory_ipc_bytes(cji_mem_state *state, uint64_t addr)
{
    pthread_mutex_lock(&state->lock);
    const cji_mem *m = cji_mem_holder(state, addr);
    const size_t bytes = m && m->addr == addr && m->kind == CJI_MEMORY_IPC ? m->bytes : 0;
    pthread_mutex_unlock(&state->lock);
    return bytes;
}

size_t cji_mem_bytes(cj_device *dev, uint64_t addr)
{
    cji_mem_state *state = cji_mem_state_of(dev);
    if (!state) return 0;
    pthread_mutex_lock(&state->lock);
    const cji_mem *m = cji_mem_holder(state, addr);
    const size_t bytes = m && m->addr == addr ? m->bytes : 0;
    pthread_mutex_unlock(&state->lock);
    return bytes;
}

cj_status cj_ipc_export(cj_device *dev, cj_dptr d, void *handle, size_t bytes)
{
    static const char call[] = "cj_ipc_export";
    memory_handle h;
    cji_ctx ctx;
    cj_status st = cji_check(dev, CJI_TAG_DEVICE, call);
    if (st != CJ_OK) return st;
    if (!handle || bytes < sizeof h) return cji_fail(dev, CJ_EINVAL, call, "there is no place for a handle of %zu bytes", sizeof h);
    cji_mem_state *state = cji_mem_state_of(dev);
    if (!state) return cji_fail(dev, CJ_ENOMEM, call, "no host memory");
    h.bytes = memory_ipc_bytes(state, d.addr);
    if (!h.bytes) return cji_fail(dev, CJ_EINVAL, call, "0x%llx is not the start of memory of cj_ipc_alloc on device %d; other memory stays in its process",
                                  (unsigned long long)d.addr, cj_device_ordinal(dev));
    st = cji_ctx_begin_calm(dev, dev, &ctx, call);
    if (st != CJ_OK) return st;
    CUresult r = dev->drv->cu.cuIpcGetMemHandle(&h.raw, d.addr);
    cji_ctx_leave(dev, &ctx);
    if (r != CUDA_SUCCESS) return cji_rejected(dev, dev, r, call, "cuIpcGetMemHandle");
    memcpy(handle, &h, sizeof h);
    return CJ_OK;
}

/* -- Release --------------------------------------------------------------------------------------------------------- */

/* Every use is over; calm. */
static void memory_release_deferred(cji_deferred *deferred)
{
    cji_mem *m = (cji_mem *)((char *)deferred - offsetof(cji_mem, deferred));
    cji_release_queue *queue = m->state->queue;
    cj_device *dev = m->state->dev;
    pthread_mutex_lock(&queue->lock);
    if ((m->kind != CJI_MEMORY_GRAPH || m->out) && !cji_mem_free_ordered(m)) memory_release_raw(m);
    if (m->home) cji_slot_drop(m->home);
    pthread_mutex_unlock(&queue->lock);
    cji_memory_graph_drop(m->graph);
    cji_free(m, sizeof *m);
    cji_device_drop(dev);
}

/* In the order of its home stream, if that is all there is to wait for. */
static bool memory_release_now(cji_mem *m)
{
    cji_release_queue *queue = m->state->queue;
    cji_calm calm;
    if (m->kind != CJI_MEMORY_POOL || atomic_load(&m->used)) return false;
    cji_calm_begin(queue, &calm);
    pthread_mutex_lock(&queue->lock);
    bool done = !atomic_load(&queue->captures) && cji_mem_free_ordered(m);
    if (done) cji_slot_drop(m->home);
    pthread_mutex_unlock(&queue->lock);
    cji_calm_end(queue, &calm);
    if (done) cji_free(m, sizeof *m);
    return done;
}

/* Out of the table, and no graph keeps it. */
static void memory_release(cji_mem *m)
{
    cji_release_queue *queue = m->state->queue;
    if (memory_release_now(m)) return;
    cji_obj_retain(m->state->dev);
    m->deferred.run = memory_release_deferred;
    cji_defer(queue, &m->deferred, atomic_load(&m->used) | (m->home ? m->home->bit : 0));
}

static cj_status memory_unknown(cj_device *dev, uint64_t addr, const char *call)
{
    return cji_fail(dev, CJ_ENOTFOUND, call, "0x%llx is no memory of cj_alloc on device %d, or it was freed before", (unsigned long long)addr,
                    cj_device_ordinal(dev));
}

cj_status cj_free(cj_device *dev, cj_dptr d)
{
    static const char call[] = "cj_free";
    cj_status st = cji_check(dev, CJI_TAG_DEVICE, call);
    if (st != CJ_OK) return st;
    if (!d.addr) return CJ_OK;
    cji_mem_state *state = cji_mem_state_of(dev);
    if (!state) return cji_fail(dev, CJ_ENOMEM, call, "no host memory");
    pthread_mutex_lock(&state->lock);
    cji_mem *m = cji_mem_holder(state, d.addr);
    uint64_t start = m ? m->addr : 0;
    bool added = false;
    if (start == d.addr && m->kind == CJI_MEMORY_GRAPH) return cji_graph_memory_return(m, dev, call);
    if (start == d.addr) {
        table_remove(state, m);
        memory_held(m->home, -(int64_t)m->bytes);
        m->freed = true;
        added = m->retained > 0;
    }
    pthread_mutex_unlock(&state->lock);
    if (!start) return memory_unknown(dev, d.addr, call);
    if (start != d.addr)
        return cji_fail(dev, CJ_ENOTFOUND, call, "0x%llx lies %llu bytes inside the memory at 0x%llx; free its start",
                        (unsigned long long)d.addr, (unsigned long long)(d.addr - start), (unsigned long long)start);
    if (!added) memory_release(m);
    cji_deferred_poll(&dev->queue, CJI_DEFERRED_STEP);
    return CJ_OK;
}

size_t cj_device_collect(cj_device *dev)
{
    if (cji_check(dev, CJI_TAG_DEVICE, "cj_device_collect") != CJ_OK) return 0;
    cji_release_queue *queue = &dev->queue;
    cji_deferred_drain(queue, CJI_DEFERRED_ALL);
    cji_calm calm;
    if (!atomic_load(&queue->captures)) {
        cji_calm_begin(queue, &calm);
        pthread_mutex_lock(&queue->lock);
        cji_mem_state *state = queue->state;
        pthread_mutex_unlock(&queue->lock);
        if (state) cji_staging_trim(&state->staging);
        if (state && atomic_load(&state->graph_memory)) queue->cu->cuDeviceGraphMemTrim(dev->cu);
        cji_calm_end(queue, &calm);
    }
    return atomic_load(&queue->waiting);
}

/* -- Uses ------------------------------------------------------------------------------------------------------------ */

/* Makes the stream's capture keep `m`, and gives its lock back in any case: the side's lock is held on entry. */
static cj_status memory_retain(cj_stream *s, cji_mem *m, cji_capture *c, void *into, const char *call)
{
    bool had = false;
    m->retained++;
    cji_obj_retain(m->state->dev); /* it may be another one than the graph's */
    pthread_mutex_unlock(&m->state->lock);
    bool added = cji_capture_retains(c, CJI_REF_MEMORY, m, &had);
    if (!added || had) cji_mem_unretain(m);
    if (added) return CJ_OK;
    return cji_stream_failed(s, cji_fail(into, CJ_ENOMEM, call, "no host memory to keep device memory alive for the graph"));
}

void cji_mem_unretain(cji_mem *m)
{
    cji_mem_state *state = m->state;
    pthread_mutex_lock(&state->lock);
    bool last = --m->retained == 0 && m->freed;
    if (last && m->kind == CJI_MEMORY_GRAPH) table_remove(state, m);
    pthread_mutex_unlock(&state->lock);
    if (last) memory_release(m);
    cji_device_drop(state->dev);
}

/* Notes the use, or has the capture keep it.  The side's lock is held on entry and not on return. */
static cj_status memory_note(cj_stream *s, cji_mem *m, void *into, const char *call)
{
    cji_capture *c = cji_capture_of(s);
    cj_status st = CJ_OK;
    if (c) {
        st = memory_retain(s, m, c, into, call);
    } else {
        if (s->slot != m->home && s->queue == m->state->queue) cji_used(&m->used, s->bit);
        pthread_mutex_unlock(&m->state->lock);
    }
    cji_capture_drop(c);
    return st;
}

cj_status cji_mem_use(cj_stream *s, uint64_t addr, size_t bytes, const char *call, const char *what)
{
    return cji_mem_use_at(s, s->dev, addr, bytes, call, what);
}

cj_status cji_mem_use_at(cj_stream *s, cj_device *dev, uint64_t addr, size_t bytes, const char *call, const char *what)
{
    cji_mem_state *state = cji_mem_state_of(dev);
    if (!addr) return cji_fail(s, CJ_EINVAL, call, "%s is { 0 }, no memory", what);
    if (addr + bytes < addr) return cji_fail(s, CJ_EINVAL, call, "%s: %zu bytes at 0x%llx are beyond any memory", what, bytes, (unsigned long long)addr);
    if (!state) return cji_fail(s, CJ_ENOMEM, call, "no host memory");
    pthread_mutex_lock(&state->lock);
    cji_mem *m = cji_mem_holder(state, addr);
    if (m && bytes <= m->bytes - (addr - m->addr)) return memory_note(s, m, s, call);
    size_t room = m ? m->bytes - (addr - m->addr) : 0;
    pthread_mutex_unlock(&state->lock);
    if (!m) return CJ_OK; /* not of cj_alloc: the driver knows */
    return cji_fail(s, CJ_EINVAL, call, "%s: %zu bytes do not fit, %zu are left in the allocation", what, bytes, room);
}

cj_status cji_mem_peer_use(cj_stream *s, cj_device *dev, uint64_t addr, void *into, const char *call)
{
    uint64_t bit = 0;
    cji_mem_state *state = cji_mem_state_of(dev); /* made when the range was checked */
    if (s->queue == &dev->queue || atomic_load(&s->capturing) || cji_stream_captures(s->queue, s->raw)) return CJ_OK;
    cj_status st = cji_peer_use(state, s, &bit, into, call);
    if (st != CJ_OK) return st;
    pthread_mutex_lock(&state->lock);
    cji_mem *m = cji_mem_holder(state, addr);
    if (m) cji_used(&m->used, bit);
    pthread_mutex_unlock(&state->lock);
    return CJ_OK;
}

static bool memory_known(cji_mem_state *state, uint64_t addr)
{
    pthread_mutex_lock(&state->lock);
    bool known = cji_mem_holder(state, addr) != NULL;
    pthread_mutex_unlock(&state->lock);
    return known;
}

/* Whose memory a pointer among a kernel's arguments leads to, retained: `home`, unless the table of another device of the driver knows it. */
static cj_device *memory_owner(cj_device *home, uint64_t addr)
{
    cj_device *owner = home;
    cji_mem_state *state = cji_mem_state_of(home);
    if (!state || !addr || memory_known(state, addr)) return cji_obj_retain(home);
    cji_opened_lock();
    for (cj_device *d = home->drv->devices; d && owner == home; d = d->next) {
        pthread_mutex_lock(&d->queue.lock);
        state = d == home ? NULL : d->queue.state;
        pthread_mutex_unlock(&d->queue.lock);
        if (state && memory_known(state, addr)) owner = d;
    }
    cji_obj_retain(owner);
    cji_opened_unlock();
    return owner;
}

cj_status cji_mem_retain(cj_stream *s, uint64_t addr, const char *call)
{
    cj_device *dev = memory_owner(s->dev, addr);
    cji_mem_state *state = cji_mem_state_of(dev);
    cj_status st = CJ_OK;
    if (state && addr) {
        pthread_mutex_lock(&state->lock);
        cji_mem *m = cji_mem_holder(state, addr);
        if (m) st = memory_note(s, m, s, call);
        else pthread_mutex_unlock(&state->lock);
    }
    cji_device_drop(dev);
    return st;
}

cj_status cji_mem_retain_argument(cj_device *home, cji_refset *refset, void *into, uint64_t addr, const char *call)
{
    const cji_range at = { addr, 0, "an argument" };
    cj_device *dev = memory_owner(home, addr);
    cj_status st = cji_mem_retain_in(dev, refset, into, &at, call);
    cji_device_drop(dev);
    return st;
}

cj_status cji_mem_retain_in(cj_device *dev, cji_refset *refset, void *into, const cji_range *range, const char *call)
{
    cji_mem_state *state = cji_mem_state_of(dev);
    if (range->bytes && !range->addr) return cji_fail(into, CJ_EINVAL, call, "%s is { 0 }, no memory", range->what);
    if (range->addr + range->bytes < range->addr)
        return cji_fail(into, CJ_EINVAL, call, "%s: %zu bytes at 0x%llx are beyond any memory", range->what, range->bytes,
                        (unsigned long long)range->addr);
    if (!state) return cji_fail(into, CJ_ENOMEM, call, "no host memory");
    pthread_mutex_lock(&state->lock);
    cji_mem *m = cji_mem_holder(state, range->addr);
    size_t room = m ? m->bytes - (range->addr - m->addr) : SIZE_MAX;
    bool fits = range->bytes <= room, had = false;
    if (m && fits) {
        m->retained++;
        cji_obj_retain(m->state->dev);
    }
    pthread_mutex_unlock(&state->lock);
    if (!fits)
        return cji_fail(into, CJ_EINVAL, call, "%s: %zu bytes do not fit, %zu are left in the allocation", range->what, range->bytes, room);
    if (!m) return CJ_OK; /* not of cj_alloc: the driver knows */
    bool added = cji_refset_add(refset, CJI_REF_MEMORY, m, &had);
    if (!added || had) cji_mem_unretain(m);
    return added ? CJ_OK : cji_fail(into, CJ_ENOMEM, call, "no host memory to keep device memory alive for the graph");
}

cj_status cj_stream_use(cj_stream *s, cj_dptr d)
{
    static const char call[] = "cj_stream_use";
    cj_status st = cji_check(s, CJI_TAG_STREAM, call);
    if (st != CJ_OK) return st;
    cj_device *dev = memory_owner(s->dev, d.addr);
    cji_mem_state *state = cji_mem_state_of(dev);
    cji_mem *m = NULL;
    if (!state) {
        st = cji_fail(s, CJ_ENOMEM, call, "no host memory");
    } else {
        pthread_mutex_lock(&state->lock);
        m = cji_mem_holder(state, d.addr);
        if (!m) pthread_mutex_unlock(&state->lock);
    }
    if (m) {
        st = memory_note(s, m, s, call);
        cji_proxy_follow(s);
        if (st == CJ_OK) st = cji_mem_peer_use(s, dev, d.addr, s, call);
    } else if (state) {
        st = cji_fail(s, CJ_ENOTFOUND, call, "0x%llx is in no allocation of cj_alloc that is open on a device of this driver", (unsigned long long)d.addr);
    }
    cji_device_drop(dev);
    return st;
}
