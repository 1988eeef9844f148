/* What the library keeps of a device's memory. */
#include "driver/open.h"
#include "stream/memory/stream_memory.h"

/* Releases what is in the table, memory that nobody has freed; where work is still under way it goes with the
 * context. */
static void mem_state_empty(cji_mem_state *state, bool idle)
{
    while (state->table) {
        cji_mem *m = state->table;
        cji_mem_remove(state, m);
        if (idle) m->type->release(m);
        cji_slot_drop(m->home);
        if (m->type->destroy) m->type->destroy(m);
        else cji_free(m, sizeof *m);
    }
}

static void mem_state_free(cji_device_state *base)
{
    cji_mem_state *state = (cji_mem_state *)base;
    cji_peer_free(state);
    cji_source_free(state);
    const bool idle = cji_release_queue_idle(state->queue);
    cji_chunks_free(state, idle);
    mem_state_empty(state, idle);
    cji_staging_fini(&state->staging);
    cji_free(state, sizeof *state);
}

static void mem_state_trim(cji_device_state *base) { cji_staging_trim(&((cji_mem_state *)base)->staging); }

cji_mem_state *cji_mem_state_make(cj_device *dev)
{
    cji_release_queue *queue = &dev->queue;
    cji_lock(&queue->lock, CJI_LOCK_QUEUE);
    cji_mem_state *state = (cji_mem_state *)cji_release_queue_state(queue, CJI_STATE_MEMORY);
    if (!state && (state = cji_zalloc(sizeof *state))) {
        state->base = (cji_device_state){ .free = mem_state_free,
                                          .trim = mem_state_trim,
                                          .closing = cji_lists_closing };
        state->queue = queue;
        state->dev = dev;
        cji_spin_init(&state->lock);
        pthread_mutex_init(&state->peer_lock, NULL);
        cji_staging_init(&state->staging, queue);
        cji_allocator_take(state, &(const cj_allocator_opts){ .size = sizeof(cj_allocator_opts) });
        queue->state[CJI_STATE_MEMORY] = &state->base;
    }
    cji_unlock(&queue->lock, CJI_LOCK_QUEUE);
    return state;
}

/* -- Looking up ---------------------------------------------------------------------------------------------------- */

size_t cji_mem_bytes(cj_device *dev, uint64_t addr)
{
    cji_mem_state *state = cji_mem_state_of(dev);
    if (!state) return 0;
    cji_spin_lock(&state->lock, CJI_LOCK_MEMORY);
    const cji_mem *m = cji_mem_holder(state, addr);
    const size_t bytes = m && m->addr == addr ? m->bytes : 0;
    cji_spin_unlock(&state->lock, CJI_LOCK_MEMORY);
    return bytes;
}

static bool table_has(cji_mem_state *state, uint64_t addr)
{
    cji_spin_lock(&state->lock, CJI_LOCK_MEMORY);
    bool has = cji_mem_holder(state, addr) != NULL;
    cji_spin_unlock(&state->lock, CJI_LOCK_MEMORY);
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
