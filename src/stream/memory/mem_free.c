/* Device memory in stream order: its release. */
#include "stream/memory/stream_memory.h"

/* -- When every use is over ---------------------------------------------------------------------------------------- */

CUresult cji_mem_free_ordered(const cji_mem *m)
{
    const cji_release_queue *queue = m->state->queue;
    if (!m->type->ordered || !m->home->live || cji_stream_captures(queue, m->home->raw)) return CUDA_ERROR_NOT_READY;
    if (m->type == &cji_mem_direct && m->state->blocks.opts.poison)
        queue->cu->cuMemsetD8Async(m->addr, CJI_POISON, m->bytes, m->home->raw);
    return queue->cu->cuMemFreeAsync(m->addr, m->home->raw);
}

/* The release of what cj_free took is not pending any more. */
static void freed_settle(cji_mem *m)
{
    cji_mem_state *state = m->state;
    cji_spin_lock(&state->lock, CJI_LOCK_MEMORY);
    for (unsigned i = 0; i < CJI_FREED; i++)
        if (state->freed[i].pending == m) state->freed[i].pending = NULL;
    cji_spin_unlock(&state->lock, CJI_LOCK_MEMORY);
}

/* In a scope. */
static void mem_release_deferred(cji_deferred *deferred)
{
    cji_mem *m = (cji_mem *)((char *)deferred - offsetof(cji_mem, deferred));
    cji_release_queue *queue = m->state->queue;
    cj_device *dev = m->state->dev;
    freed_settle(m);
    cji_lock(&queue->lock, CJI_LOCK_QUEUE); /* while it is held the home stream stays */
    const bool there = !m->type->there || m->type->there(m);
    const bool released = there && cji_mem_free_ordered(m) == CUDA_SUCCESS;
    if (m->home) cji_slot_drop(m->home);
    cji_unlock(&queue->lock, CJI_LOCK_QUEUE);
    if (there && !released) m->type->release(m); /* cuMemFree and its like may block */
    if (m->type->destroy) m->type->destroy(m);
    else cji_free(m, sizeof *m);
    cji_device_drop(dev);
}

/* In the order of its home stream, if that is all there is to wait for.  CUDA_ERROR_NOT_READY: it is not; other
 * failures are the driver's. */
static CUresult mem_release_now(cji_mem *m)
{
    cji_release_queue *queue = m->state->queue;
    cji_scope scope;
    if (!m->type->ordered || m->type->free || atomic_load(&m->used)) return CUDA_ERROR_NOT_READY;
    CUresult r = cji_queue_scope(queue, &scope) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
    cji_lock(&queue->lock, CJI_LOCK_QUEUE);
    if (atomic_load(&queue->captures)) r = CUDA_ERROR_NOT_READY;
    if (r == CUDA_SUCCESS) r = cji_mem_free_ordered(m);
    if (r == CUDA_SUCCESS) cji_slot_drop(m->home);
    cji_unlock(&queue->lock, CJI_LOCK_QUEUE);
    cji_scope_leave(&scope);
    if (r == CUDA_SUCCESS) cji_free(m, sizeof *m);
    return r;
}

/* What cj_free took stays an allocation of the driver's until then. */
static void freed_pending(cji_mem *m)
{
    cji_mem_state *state = m->state;
    cji_spin_lock(&state->lock, CJI_LOCK_MEMORY);
    for (unsigned i = 0; i < CJI_FREED; i++)
        if (state->freed[i].addr == m->addr) state->freed[i].pending = m;
    cji_spin_unlock(&state->lock, CJI_LOCK_MEMORY);
}

static void mem_release_later(cji_mem *m)
{
    freed_pending(m);
    cji_obj_retain(m->state->dev);
    m->deferred.run = mem_release_deferred;
    cji_defer(m->state->queue, &m->deferred, atomic_load(&m->used) | (m->home ? m->home->bit : 0));
}

void cji_mem_release(cji_mem *m)
{
    if (mem_release_now(m) != CUDA_SUCCESS) mem_release_later(m);
}

void cji_mem_unretain(cji_mem *m)
{
    cji_mem_state *state = m->state;
    cji_spin_lock(&state->lock, CJI_LOCK_MEMORY);
    cj_device *dev = state->dev;
    const bool last = --m->retained == 0 && m->freed;
    if (last && m->type->over) {
        m->type->over(m);
    } else {
        if (last && m->type->free) cji_mem_remove(state, m);
        cji_spin_unlock(&state->lock, CJI_LOCK_MEMORY);
        if (last) cji_mem_release(m);
    }
    cji_device_drop(dev);
}

/* -- cj_free, of what is no block ------------------------------------------------------------------------------ */

/* Takes the memory out of the table; with the state's lock held.  *retained: a graph has it, and releases it. */
static void mem_take(cji_mem_state *state, cji_mem *m, bool *retained)
{
    cji_mem_remove(state, m);
    cji_mem_held(m->home, -(int64_t)m->bytes);
    cji_mem_direct_count(state, m, -1);
    m->freed = true;
    *retained = m->retained > 0;
    if (m->type->kind != CJ_MEM_KIND_WRAPPED)
        state->freed[state->nfreed++ % CJI_FREED] = (cji_freed){ .addr = m->addr, .bytes = m->bytes };
}

/* The driver has rejected the release, which is deferred: that is a failure of the home stream. */
static cj_status mem_release_rejected(cji_mem *m, cj_device *dev, CUresult r, const char *call)
{
    cj_status st = cji_cu_fail_as(dev, dev, r, CJ_OK, "cuMemFreeAsync", call,
                                  "%s: 0x%llx is released later instead", call, (unsigned long long)m->addr);
    cji_slot_fail(m->state->queue, m->home, cj_error_last());
    return st;
}

/* With the memory out of the table. */
static cj_status mem_free(cji_mem *m, cj_device *dev, const char *call)
{
    CUresult r = mem_release_now(m);
    if (r == CUDA_SUCCESS) return CJ_OK;
    cj_status st = r == CUDA_ERROR_NOT_READY ? CJ_OK : mem_release_rejected(m, dev, r, call);
    mem_release_later(m);
    return st;
}

cj_status cji_mem_free(cji_mem_state *state, cj_dptr d, const char *call)
{
    cj_device *dev = state->dev;
    cj_status st = CJ_OK;
    cji_mem *m = cji_mem_holder(state, d.addr);
    uint64_t start = m ? m->addr : 0;
    bool retained = false;
    if (start == d.addr && m->type->free) return m->type->free(m, dev, call);
    if (start == d.addr) mem_take(state, m, &retained);
    cji_spin_unlock(&state->lock, CJI_LOCK_MEMORY);
    if (!start)
        return cji_fail(dev, CJ_ENOTFOUND, call,
                        "0x%llx is not memory of cj_alloc on device %d, or it was freed before",
                        (unsigned long long)d.addr, cj_device_ordinal(dev));
    if (start != d.addr)
        return cji_fail(dev, CJ_ENOTFOUND, call, "0x%llx lies %llu bytes inside the memory at 0x%llx; free its start",
                        (unsigned long long)d.addr, (unsigned long long)(d.addr - start), (unsigned long long)start);
    if (!retained) st = mem_free(m, dev, call);
    cji_deferred_poll(&dev->queue, CJI_DEFERRED_STEP);
    return st;
}

/* -- Collecting ---------------------------------------------------------------------------------------------------- */

size_t cj_device_collect(cj_device *dev)
{
    if (cji_check(dev, CJI_TAG_DEVICE, "cj_device_collect") != CJ_OK) return 0;
    cji_release_queue *queue = &dev->queue;
    cji_scope scope;
    cji_queue_scope(queue, &scope);
    cji_deferred_drain(queue, CJI_DEFERRED_ALL);
    for (unsigned i = 0; i < CJI_STATES && !atomic_load(&queue->captures); i++) {
        cji_device_state *state = cji_release_queue_state(queue, i);
        if (state) state->trim(state);
    }
    cji_scope_leave(&scope);
    return atomic_load(&queue->waiting);
}
