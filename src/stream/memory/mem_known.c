/* What is known of an allocation's uses: noted by an event, queried, forgotten; everything of a stream freed.
 *
 * A use that an event marks becomes that of a stream of the library's own, which waits for the event: the event may be
 * recorded anew, and the stream still waits for the point that it marked.  There are a few such streams, so that what
 * is reached does not wait behind what is not. */
#include "driver/open.h"
#include "stream/memory/stream_memory.h"

/* -- Streams that wait for events ---------------------------------------------------------------------------------- */

/* A stream that waits for nothing, made where there is none; else the last one.  NULL without memory; in a scope, with
 * the lock held. */
static cji_slot *known_slot(cji_mem_state *state)
{
    const cji_cu *cu = state->queue->cu;
    for (unsigned i = 0; i < CJI_WAITERS; i++) {
        cji_slot **slot = &state->waiter[i];
        CUstream raw = NULL;
        if (*slot && (i + 1 == CJI_WAITERS || cu->cuStreamQuery((*slot)->raw) != CUDA_ERROR_NOT_READY)) return *slot;
        if (*slot) continue;
        if (cu->cuStreamCreateWithPriority(&raw, CU_STREAM_NON_BLOCKING, 0) != CUDA_SUCCESS) return NULL;
        *slot = cji_slot_open(state->queue, raw, NULL);
        if (!*slot) cu->cuStreamDestroy(raw);
        return *slot;
    }
    return NULL;
}

/* -- Finding ------------------------------------------------------------------------------------------------------- */

/* The allocation that holds `d`, of `dev` or of another device of its driver, with its state's lock held.  *owner is
 * retained.  NULL: there is none, left in `into`; *owner is dropped. */
static cji_mem *known_find(void *into, cj_device *dev, cj_dptr d, cj_device **owner, const char *call)
{
    *owner = cji_mem_owner(dev, d.addr);
    cji_mem_state *state = cji_mem_state_of(*owner);
    if (state) {
        cji_spin_lock(&state->lock, CJI_LOCK_MEMORY);
        cji_mem *m = d.addr ? cji_mem_holder(state, d.addr) : NULL;
        if (m) return m;
        cji_spin_unlock(&state->lock, CJI_LOCK_MEMORY);
    }
    cji_device_drop(*owner);
    cji_fail(into, CJ_ENOTFOUND, call, "0x%llx is in no allocation of cj_alloc that is open on a device of this driver",
             (unsigned long long)d.addr);
    return NULL;
}

/* -- Noting -------------------------------------------------------------------------------------------------------- */

/* The memory's lock is held on entry and not on return; in a scope of the memory's device. */
static cj_status known_note(cj_event *e, cji_mem *m, const char *call)
{
    cji_mem_state *state = m->state;
    const char *cu_call = "cuEventQuery";
    CUresult r = e->cu->cuEventQuery(e->raw);
    if (r == CUDA_ERROR_NOT_READY) {
        cji_slot *slot = known_slot(state);
        cu_call = "cuStreamWaitEvent";
        r = slot ? e->cu->cuStreamWaitEvent(slot->raw, e->raw, 0) : CUDA_ERROR_OUT_OF_MEMORY;
        if (r == CUDA_SUCCESS) cji_used(&m->used, slot->bit);
    }
    cji_spin_unlock(&state->lock, CJI_LOCK_MEMORY);
    return r == CUDA_SUCCESS ? CJ_OK : cji_event_rejected(e, e, r, call, cu_call);
}

cj_status cj_event_use(cj_event *e, cj_dptr d)
{
    static const char call[] = "cj_event_use";
    cj_device *owner;
    cji_scope scope;
    cj_status st = cji_event_may_query(e, call);
    cji_mem *m = st == CJ_OK ? known_find(e, e->dev, d, &owner, call) : NULL;
    if (!m) return st == CJ_OK ? CJ_ENOTFOUND : st;
    cji_queue_scope(&owner->queue, &scope);
    st = known_note(e, m, call);
    cji_scope_leave(&scope);
    cji_device_drop(owner);
    return st;
}

int cj_stream_uses(cj_stream *s, cj_dptr d)
{
    static const char call[] = "cj_stream_uses";
    cj_device *owner;
    if (cji_check_read(s, CJI_TAG_STREAM, call) != CJ_OK) return 0;
    cji_mem *m = known_find(NULL, s->dev, d, &owner, call);
    if (!m) return 0;
    const bool own = s->queue == m->state->queue;
    const int uses = own && (m->home == s->slot || (atomic_load(&m->used) & s->bit));
    cji_spin_unlock(&m->state->lock, CJI_LOCK_MEMORY);
    cji_device_drop(owner);
    return uses;
}

/* -- Queries ------------------------------------------------------------------------------------------------------- */

cj_status cj_mem_query(cj_device *dev, cj_dptr d)
{
    static const char call[] = "cj_mem_query";
    cj_device *owner;
    cji_scope scope;
    cj_status st = cji_check(dev, CJI_TAG_DEVICE, call);
    if (st != CJ_OK) return st;
    cji_mem *m = known_find(dev, dev, d, &owner, call);
    if (!m) return CJ_ENOTFOUND;
    const uint64_t bits = atomic_load(&m->used) | (m->home ? m->home->bit : 0);
    const bool retained = m->retained != 0;
    cji_spin_unlock(&m->state->lock, CJI_LOCK_MEMORY);
    cji_queue_scope(&owner->queue, &scope);
    const bool done = !retained && cji_release_queue_done(&owner->queue, bits);
    cji_scope_leave(&scope);
    cji_device_drop(owner);
    return done ? CJ_OK : CJ_ENOTREADY;
}

cj_status cj_mem_forget(cj_device *dev, cj_dptr d)
{
    static const char call[] = "cj_mem_forget";
    cj_device *owner;
    cj_status st = cji_check(dev, CJI_TAG_DEVICE, call);
    if (st != CJ_OK) return st;
    cji_mem *m = known_find(dev, dev, d, &owner, call);
    if (!m) return CJ_ENOTFOUND;
    atomic_store(&m->used, 0);
    cji_spin_unlock(&m->state->lock, CJI_LOCK_MEMORY);
    cji_device_drop(owner);
    return CJ_OK;
}

/* -- Everything of a stream ---------------------------------------------------------------------------------------- */

enum { KNOWN_BATCH = 64 };

/* Addresses of memory whose home the slot is, at most KNOWN_BATCH; with the state's lock held. */
static size_t known_of_home(const cji_mem *m, const cji_slot *home, uint64_t *addr, size_t n)
{
    if (!m || n == KNOWN_BATCH) return n;
    if (m->shape == CJI_MEM_CHUNK) {
        for (const cji_block *b = ((const cji_chunk *)m)->first; b && n < KNOWN_BATCH; b = b->above)
            if (b->mem.place == CJI_PLACE_LIVE && b->mem.home == home) addr[n++] = b->mem.addr;
    } else if (m->home == home && !(m->type->free && !m->type->over)) {
        addr[n++] = m->addr;
    }
    n = known_of_home(m->left, home, addr, n);
    return known_of_home(m->right, home, addr, n);
}

size_t cj_stream_free_all(cj_stream *s)
{
    static const char call[] = "cj_stream_free_all";
    uint64_t addr[KNOWN_BATCH];
    size_t freed = 0, n, done;
    if (cji_check(s, CJI_TAG_STREAM, call) != CJ_OK) return 0;
    cji_mem_state *state = (cji_mem_state *)cji_release_queue_state(s->queue, CJI_STATE_MEMORY);
    if (!state) return 0;
    do {
        done = 0;
        cji_spin_lock(&state->lock, CJI_LOCK_MEMORY);
        n = known_of_home(state->table, s->slot, addr, 0);
        cji_spin_unlock(&state->lock, CJI_LOCK_MEMORY);
        for (size_t i = 0; i < n; i++) done += cj_free(s->dev, (cj_dptr){ addr[i] }) == CJ_OK;
        freed += done;
    } while (n == KNOWN_BATCH && done);
    return freed;
}
