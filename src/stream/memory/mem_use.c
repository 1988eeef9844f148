/* Uses of device memory: ranges checked, noted for the release, retained by captures and graphs. */
#include "stream/memory/stream_memory.h"

static void ref_memory_release(void *what) { cji_mem_unretain(what); }
const cji_ref_type cji_ref_memory = { ref_memory_release };

/* -- Checking ------------------------------------------------------------------------------------------------------ */

/* What can be said of a range before the table is asked. */
static inline bool range_is_possible(const cji_range *range)
{
    return (!range->bytes || range->addr) && range->addr + range->bytes >= range->addr;
}

static cj_status range_impossible(void *into, const cji_range *range, const char *call)
{
    if (!range->addr) return cji_fail(into, CJ_EINVAL, call, "%s is { 0 }, no memory", range->what);
    return cji_fail(into, CJ_EINVAL, call, "%s: %zu bytes at 0x%llx are beyond any memory", range->what, range->bytes,
                    (unsigned long long)range->addr);
}

/* Whether cj_free took what the table does not have; *pending: its release is deferred.  With the state's lock held. */
static bool range_freed(const cji_mem_state *state, uint64_t addr, bool *pending)
{
    bool freed = false;
    *pending = false;
    for (unsigned i = 0; i < CJI_FREED && i < state->nfreed; i++) {
        if (addr - state->freed[i].addr >= state->freed[i].bytes) continue;
        freed = true;
        *pending |= state->freed[i].pending != NULL;
    }
    return freed;
}

/* Whether an allocation of somebody else has the address now. */
static bool range_foreign(const cj_device *dev, uint64_t addr)
{
    cji_scope scope;
    CUdeviceptr base = 0;
    size_t bytes = 0;
    cji_queue_scope(&dev->queue, &scope);
    bool known = dev->queue.cu->cuMemGetAddressRange(&base, &bytes, addr) == CUDA_SUCCESS;
    cji_scope_leave(&scope);
    return known && addr - base < bytes;
}

/* Whether the address lies in a chunk, of which no block in use has it.  With the state's lock held. */
static bool range_between(const cji_mem_state *state, uint64_t addr, bool *freed)
{
    const cji_chunk *c = cji_mem_chunk_of(state, addr);
    const cji_block *b = c ? cji_block_holder(&state->blocks, c, addr) : NULL;
    if (!b) return false;
    *freed = b->mem.place != CJI_PLACE_LIVE;
    return true;
}

/* A range that no allocation of the table holds whole: `room` bytes are left in the one that holds its start, 0: there
 * is none.  The state's lock is held on entry and not on return. */
static cj_status range_unheld(void *into, cj_device *dev, cji_mem_state *state, const cji_range *range, size_t room,
                              const char *call)
{
    bool pending = false;
    bool freed = false;
    const cji_mem *owner = !room && range->bytes ? cji_mem_reserver(state, range->addr) : NULL;
    const bool uncommitted = owner && !owner->freed;
    const bool between = !room && range->bytes && range_between(state, range->addr, &freed);
    if (!between) freed = !room && range->bytes && range_freed(state, range->addr, &pending);
    cji_spin_unlock(&state->lock, CJI_LOCK_MEMORY);
    if (room)
        return cji_fail(into, CJ_EINVAL, call, "%s: %zu bytes do not fit, %zu are left in the allocation", range->what,
                        range->bytes, room);
    if (uncommitted)
        return cji_fail(into, CJ_EINVAL, call, "%s: 0x%llx is reserved by a cj_vmem, and no memory is committed there",
                        range->what, (unsigned long long)range->addr);
    if (between && !freed)
        return cji_fail(into, CJ_EINVAL, call, "%s: 0x%llx lies behind the end of an allocation of cj_alloc",
                        range->what, (unsigned long long)range->addr);
    if (!owner && (!freed || (!between && !pending && range_foreign(dev, range->addr))))
        return CJ_OK; /* not of cj_alloc: the driver knows */
    return cji_fail(into, CJ_EINVAL, call,
                    "%s: the memory at 0x%llx was freed with cj_free; enqueue its uses before that", range->what,
                    (unsigned long long)range->addr);
}

/* A checked range of `dev`: *m is the allocation that holds it, with the state's lock held; NULL: the table has none,
 * and the lock is not held. */
static inline cj_status range_find(void *into, cj_device *dev, const cji_range *range, cji_mem **m, const char *call)
{
    *m = NULL;
    if (!range_is_possible(range)) return range_impossible(into, range, call);
    cji_mem_state *state = cji_mem_state_of(dev);
    if (!state) return cji_fail(into, CJ_ENOMEM, call, "no host memory");
    cji_spin_lock(&state->lock, CJI_LOCK_MEMORY);
    cji_mem *holder = cji_mem_holder(state, range->addr);
    const size_t room = holder ? holder->bytes - (range->addr - holder->addr) : 0;
    if (holder && range->bytes <= room) {
        *m = holder;
        return CJ_OK;
    }
    if (holder || state->nfreed || state->blocks.chunks || state->nreserving)
        return range_unheld(into, dev, state, range, room, call);
    cji_spin_unlock(&state->lock, CJI_LOCK_MEMORY);
    return CJ_OK; /* not of cj_alloc: the driver knows */
}

/* -- By streams ---------------------------------------------------------------------------------------------------- */

/* Makes the stream's capture retain `m`; the state's lock is held on entry and not on return. */
static cj_status use_captured(cj_stream *s, cji_mem *m, cji_capture *c, const char *call)
{
    bool had = false;
    m->retained++;
    if (m->shape == CJI_MEM_BLOCK && s->slot != m->home) cji_block_of(m)->elsewhere = true;
    cji_obj_retain(m->state->dev); /* it may be another one than the graph's */
    cji_spin_unlock(&m->state->lock, CJI_LOCK_MEMORY);
    bool added = cji_capture_retains(c, &cji_ref_memory, m, &had);
    if (added) cji_capture_note_range(c, m->addr, m->bytes);
    if (!added || had) cji_mem_unretain(m);
    if (added) return CJ_OK;
    return cji_stream_failed(s,
                             cji_fail(s, CJ_ENOMEM, call, "no host memory to keep device memory alive for the graph"));
}

/* Notes the use, or has the capture `c` retain it.  The state's lock is held on entry and not on return. */
static cj_status use_note(cj_stream *s, cji_mem *m, cji_capture *c, const char *call)
{
    if (c) return use_captured(s, m, c, call);
    if (s->slot != m->home && s->queue == m->state->queue) cji_used(&m->used, s->bit);
    cji_spin_unlock(&m->state->lock, CJI_LOCK_MEMORY);
    return CJ_OK;
}

/* *found: the table has it. */
static inline cj_status use_range(cj_stream *s, cj_device *dev, const cji_range *range, bool *found, const char *call)
{
    cji_mem *m;
    cji_capture *c = cji_capture_of(s);
    cj_status st = range_find(s, dev, range, &m, call);
    *found = m != NULL;
    if (m) st = use_note(s, m, c, call);
    if (c) cji_capture_drop(c);
    return st;
}

cj_status cji_mem_use(cj_stream *s, cj_device *dev, const cji_range *range, const char *call)
{
    bool found;
    return use_range(s, dev, range, &found, call);
}

cj_status cji_mem_peer_use(cj_stream *s, cj_device *dev, uint64_t addr, const char *call)
{
    uint64_t bit = 0;
    cji_mem_state *state = cji_mem_state_of(dev); /* made when the range was checked */
    if (s->queue == &dev->queue || atomic_load(&s->capturing) || cji_stream_captures(s->queue, s->raw)) return CJ_OK;
    cj_status st = cji_peer_use(state, s, &bit, call);
    if (st != CJ_OK) return st;
    cji_spin_lock(&state->lock, CJI_LOCK_MEMORY);
    cji_mem *m = cji_mem_holder(state, addr);
    if (m) cji_used(&m->used, bit);
    cji_spin_unlock(&state->lock, CJI_LOCK_MEMORY);
    return CJ_OK;
}

cj_status cji_mem_use_argument(cj_stream *s, cji_capture *c, uint64_t addr, const char *call)
{
    const cji_range at = { addr, 0, "an argument" };
    cji_mem *m = NULL;
    cj_status st = addr ? range_find(s, s->dev, &at, &m, call) : CJ_OK;
    if (m) return use_captured(s, m, c, call);
    if (!addr || st != CJ_OK) return st;
    cj_device *dev = cji_mem_owner(s->dev, addr);
    if (dev != s->dev) st = range_find(s, dev, &at, &m, call);
    if (m) st = use_captured(s, m, c, call);
    cji_device_drop(dev);
    return st;
}

/* Of memory that some table has. */
static cj_status use_declared(cj_stream *s, cj_device *dev, uint64_t addr, const char *call)
{
    const cji_range at = { addr, 0, "the memory" };
    bool found;
    cj_status st = use_range(s, dev, &at, &found, call);
    if (!found && st == CJ_OK)
        st = cji_fail(s, CJ_ENOTFOUND, call,
                      "0x%llx is in no allocation of cj_alloc that is open on a device of this driver",
                      (unsigned long long)addr);
    if (!found) return st;
    cji_proxy_follow(s);
    return st == CJ_OK ? cji_mem_peer_use(s, dev, addr, call) : st;
}

cj_status cj_stream_use(cj_stream *s, cj_dptr d)
{
    static const char call[] = "cj_stream_use";
    cj_status st = cji_check(s, CJI_TAG_STREAM, call);
    if (st != CJ_OK) return st;
    cj_device *dev = cji_mem_owner(s->dev, d.addr);
    st = use_declared(s, dev, d.addr, call);
    cji_device_drop(dev);
    return st == CJ_OK ? CJ_OK : cji_stream_failed(s, st);
}

/* -- By nodes of graphs -------------------------------------------------------------------------------------------- */

cj_status cji_mem_retain(cj_device *dev, cji_refset *refset, void *into, const cji_range *range, const char *call)
{
    cji_mem *m;
    bool had = false;
    cj_status st = range_find(into, dev, range, &m, call);
    if (!m) return st;
    m->retained++;
    cji_obj_retain(m->state->dev);
    cji_spin_unlock(&m->state->lock, CJI_LOCK_MEMORY);
    bool added = cji_refset_add(refset, &cji_ref_memory, m, &had);
    if (!added || had) cji_mem_unretain(m);
    return added ? CJ_OK : cji_fail(into, CJ_ENOMEM, call, "no host memory to keep device memory alive for the graph");
}

cj_status cji_mem_retain_argument(cj_device *home, cji_refset *refset, void *into, uint64_t addr, const char *call)
{
    const cji_range at = { addr, 0, "an argument" };
    cj_device *dev = cji_mem_owner(home, addr);
    cj_status st = cji_mem_retain(dev, refset, into, &at, call);
    cji_device_drop(dev);
    return st;
}
