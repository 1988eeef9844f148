/* Chunks: from the driver, and back to it.
 *
 * The device has one stream of the library's own on which chunks are allocated and freed.  No work is enqueued on it,
 * so a fresh chunk, which is in that stream's lists at first, is idle soon, and freeing one waits for nothing. */
#include "stream/memory/stream_memory.h"

/* -- The stream ---------------------------------------------------------------------------------------------------- */

cji_lists *cji_source_of(cji_mem_state *state)
{
    cji_allocator *a = &state->blocks;
    const cji_cu *cu = state->queue->cu;
    CUstream raw = NULL;
    if (a->source || cu->cuStreamCreateWithPriority(&raw, CU_STREAM_NON_BLOCKING, 0) != CUDA_SUCCESS) return a->source;
    cji_slot *slot = cji_slot_open(state->queue, raw, NULL);
    if (slot && (a->source = cji_lists_of(state, slot))) return a->source;
    if (slot) cji_slot_close(state->queue, slot);
    cu->cuStreamDestroy(raw);
    return NULL;
}

void cji_source_free(cji_mem_state *state)
{
    cji_lists *source = state->blocks.source;
    if (!source) return;
    CUstream raw = source->slot->raw;
    state->blocks.source = NULL;
    cji_slot_close(state->queue, source->slot);
    state->queue->cu->cuStreamDestroy(raw);
}

/* -- From the driver ----------------------------------------------------------------------------------------------- */

static uint64_t allocator_total(const cji_allocator *a) { return a->chunk_bytes + a->direct_bytes; }

static bool allocator_has_room(const cji_allocator *a, size_t more)
{
    const uint64_t most = a->opts.max_total, total = allocator_total(a);
    return !most || (more <= most && total <= most - more);
}

bool cji_allocator_may_hold(cji_mem_state *state, size_t more)
{
    cji_spin_lock(&state->lock, CJI_LOCK_MEMORY);
    const bool may = allocator_has_room(&state->blocks, more);
    cji_spin_unlock(&state->lock, CJI_LOCK_MEMORY);
    return may;
}

static size_t chunk_size(const cji_allocator *a, size_t bytes)
{
    return a->opts.chunk_bytes > bytes ? (size_t)a->opts.chunk_bytes : bytes;
}

bool cji_chunk_fits(const cji_allocator *a, size_t bytes) { return allocator_has_room(a, chunk_size(a, bytes)); }

void cji_allocator_holds(cji_allocator *a, size_t chunk, size_t direct)
{
    a->chunk_bytes += chunk;
    a->direct_bytes += direct;
    if (allocator_total(a) > a->total_most) a->total_most = allocator_total(a);
}

/* A fresh chunk into the lists of the stream that it comes from; a plain one is idle. */
static bool chunk_enter(cji_mem_state *state, uint64_t addr, size_t bytes, bool plain)
{
    cji_allocator *a = &state->blocks;
    cji_block *b = cji_chunk_add(state, addr, bytes, plain);
    if (!b) return false;
    cji_allocator_holds(a, bytes, 0);
    a->nchunks++;
    a->grown++;
    cji_block_declare(state, b, NULL, 0);
    if (plain) {
        cji_block_idle(state, b);
        return true;
    }
    b->mem.home = a->source->slot;
    a->source->blocks++;
    cji_lists_put(a->source, b);
    cji_lists_settle_one(state, a->source);
    return true;
}

CUresult cji_chunk_grow(cji_mem_state *state, size_t bytes, bool plain)
{
    cji_allocator *a = &state->blocks;
    const cji_cu *cu = state->queue->cu;
    CUdeviceptr d = 0;
    cji_spin_lock(&state->lock, CJI_LOCK_MEMORY);
    const cji_lists *source = cji_source_of(state);
    const size_t size = chunk_size(a, bytes);
    cji_spin_unlock(&state->lock, CJI_LOCK_MEMORY);
    if (!source || !cji_allocator_may_hold(state, size)) return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult r = plain ? cu->cuMemAlloc(&d, size) : cu->cuMemAllocAsync(&d, size, source->slot->raw);
    if (r != CUDA_SUCCESS) return r;
    cji_spin_lock(&state->lock, CJI_LOCK_MEMORY);
    const bool entered = chunk_enter(state, d, size, plain);
    cji_spin_unlock(&state->lock, CJI_LOCK_MEMORY);
    if (entered) return CUDA_SUCCESS;
    if (plain) cu->cuMemFree(d);
    else cu->cuMemFreeAsync(d, source->slot->raw);
    return CUDA_ERROR_OUT_OF_MEMORY;
}

/* -- And back ------------------------------------------------------------------------------------------------------ */

/* A chunk without a block in use, out of the table; NULL: there is none. */
static cji_chunk *chunk_take_unused(cji_mem_state *state, uint64_t keep)
{
    cji_allocator *a = &state->blocks;
    for (cji_chunk *c = a->chunks; c; c = c->next) {
        if (c->first->above || c->first->mem.place != CJI_PLACE_IDLE) continue;
        if (a->chunk_bytes - a->room - a->deferred - c->mem.bytes < keep) continue;
        cji_block_wake(a, c->first);
        return c;
    }
    return NULL;
}

static CUresult chunk_release(cji_mem_state *state, uint64_t addr, bool plain)
{
    const cji_cu *cu = state->queue->cu;
    const cji_lists *source = state->blocks.source;
    return plain || !source ? cu->cuMemFree(addr) : cu->cuMemFreeAsync(addr, source->slot->raw);
}

uint64_t cji_chunks_trim(cji_mem_state *state, uint64_t keep)
{
    cji_allocator *a = &state->blocks;
    uint64_t released = 0;
    cji_chunk *c;
    if (atomic_load(&state->queue->captures)) return 0;
    cji_spin_lock(&state->lock, CJI_LOCK_MEMORY);
    cji_lists_settle(state);
    cji_blocks_join(state);
    while ((c = chunk_take_unused(state, keep))) {
        const uint64_t addr = c->mem.addr, bytes = c->mem.bytes;
        const bool plain = c->plain;
        cji_chunk_forget(state, c);
        a->chunk_bytes -= bytes;
        a->nchunks--;
        a->trimmed += bytes;
        released += bytes;
        /* nobody has it any more; cuMemFree may block */
        cji_spin_unlock(&state->lock, CJI_LOCK_MEMORY);
        chunk_release(state, addr, plain);
        cji_spin_lock(&state->lock, CJI_LOCK_MEMORY);
    }
    cji_spin_unlock(&state->lock, CJI_LOCK_MEMORY);
    return released;
}

void cji_chunks_free(cji_mem_state *state, bool idle)
{
    cji_allocator *a = &state->blocks;
    while (a->chunks) {
        const uint64_t addr = a->chunks->mem.addr;
        cji_chunk_forget(state, a->chunks);
        if (idle) state->queue->cu->cuMemFree(addr);
    }
    while (a->lists) {
        cji_lists *l = a->lists;
        a->lists = l->next;
        cji_point_return(state->queue, l->mark);
        l->slot->mem = NULL;
        cji_slot_drop(l->slot);
        cji_free(l, sizeof *l);
    }
    cji_blocks_fini(a);
}
