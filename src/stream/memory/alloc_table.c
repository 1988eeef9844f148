/* What the library keeps of a device's memory: the table of allocations by address. */
#include <string.h>

#include "driver/open.h"
#include "stream/memory/stream_memory.h"

/* -- The device's state -------------------------------------------------------------------------------------------- */

static void mem_state_free(cji_device_state *base)
{
    cji_mem_state *state = (cji_mem_state *)base;
    cji_peer_free(state);
    bool idle = cji_release_queue_idle(state->queue);
    for (size_t i = 0; i < state->count; i++) {
        cji_mem *m = state->table[i];
        /* Where work is still under way the memory goes with the context. */
        if (idle) m->type->release(m);
        cji_slot_drop(m->home);
        if (m->type->destroy) m->type->destroy(m);
        else cji_free(m, sizeof *m);
    }
    cji_free(state->table, state->cap * sizeof *state->table);
    cji_staging_fini(&state->staging);
    pthread_mutex_destroy(&state->lock);
    cji_free(state, sizeof *state);
}

static void mem_state_trim(cji_device_state *base) { cji_staging_trim(&((cji_mem_state *)base)->staging); }

cji_mem_state *cji_mem_state_make(cj_device *dev)
{
    cji_release_queue *queue = &dev->queue;
    cji_lock(&queue->lock, CJI_LOCK_QUEUE);
    cji_mem_state *state = (cji_mem_state *)cji_release_queue_state(queue, CJI_STATE_MEMORY);
    if (!state && (state = cji_zalloc(sizeof *state))) {
        state->base = (cji_device_state){ .free = mem_state_free, .trim = mem_state_trim };
        state->queue = queue;
        state->dev = dev;
        pthread_mutex_init(&state->lock, NULL);
        pthread_mutex_init(&state->peer_lock, NULL);
        cji_staging_init(&state->staging, queue);
        queue->state[CJI_STATE_MEMORY] = &state->base;
    }
    cji_unlock(&queue->lock, CJI_LOCK_QUEUE);
    return state;
}

/* -- The table; with the state's lock held ------------------------------------------------------------------------- */

/* Where an address belongs: the number of the entries that start at or before it. */
static size_t table_rank(const cji_mem_state *state, uint64_t addr)
{
    size_t low = 0, high = state->count;
    while (low < high) {
        size_t mid = (low + high) / 2;
        if (state->table[mid]->addr <= addr) low = mid + 1;
        else high = mid;
    }
    return low;
}

cji_mem *cji_mem_holder(const cji_mem_state *state, uint64_t addr)
{
    size_t rank = table_rank(state, addr);
    cji_mem *m = rank ? state->table[rank - 1] : NULL;
    return m && addr - m->addr < m->bytes ? m : NULL;
}

bool cji_mem_overlaps(const cji_mem_state *state, uint64_t addr, size_t bytes)
{
    size_t rank = table_rank(state, addr);
    return cji_mem_holder(state, addr) || (rank < state->count && state->table[rank]->addr - addr < bytes);
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

void cji_mem_remove(cji_mem_state *state, const cji_mem *m)
{
    size_t rank = table_rank(state, m->addr);
    memmove(&state->table[rank - 1], &state->table[rank], (state->count - rank) * sizeof *state->table);
    state->count--;
}

/* -- Looking up ---------------------------------------------------------------------------------------------------- */

size_t cji_mem_bytes(cj_device *dev, uint64_t addr)
{
    cji_mem_state *state = cji_mem_state_of(dev);
    if (!state) return 0;
    cji_lock(&state->lock, CJI_LOCK_MEMORY);
    const cji_mem *m = cji_mem_holder(state, addr);
    const size_t bytes = m && m->addr == addr ? m->bytes : 0;
    cji_unlock(&state->lock, CJI_LOCK_MEMORY);
    return bytes;
}

static bool table_has(cji_mem_state *state, uint64_t addr)
{
    cji_lock(&state->lock, CJI_LOCK_MEMORY);
    bool has = cji_mem_holder(state, addr) != NULL;
    cji_unlock(&state->lock, CJI_LOCK_MEMORY);
    return has;
}

cj_device *cji_mem_owner(cj_device *home, uint64_t addr)
{
    cj_device *owner = home;
    cji_mem_state *state = cji_mem_state_of(home);
    if (!state || !addr || table_has(state, addr)) return cji_obj_retain(home);
    cji_opened_lock();
    for (cj_device *d = home->drv->devices; d && owner == home; d = d->next) {
        state = d == home ? NULL : (cji_mem_state *)cji_release_queue_state(&d->queue, CJI_STATE_MEMORY);
        if (state && table_has(state, addr)) owner = d;
    }
    cji_obj_retain(owner);
    cji_opened_unlock();
    return owner;
}
