/* Allocations of captures.  The graph and its executable graphs retain the memory, so that nobody else has it while one
 * of them is there.  What is freed while the capture is under way waits in a private list, from which the same capture
 * takes it again for the same stream. */
#include "stream/memory/stream_memory.h"

void cji_captured_add(cji_mem_state *state, cji_block *b)
{
    cji_allocator *a = &state->blocks;
    b->mem.place = CJI_PLACE_RETAINED;
    a->deferred += b->room;
    b->prev = NULL;
    b->next = a->captured;
    if (b->next) b->next->prev = b;
    a->captured = b;
}

void cji_captured_remove(cji_mem_state *state, cji_block *b)
{
    if (b->prev) b->prev->next = b->next;
    else state->blocks.captured = b->next;
    if (b->next) b->next->prev = b->prev;
}

/* Freed on the stream in this capture, and used by no other stream of it. */
static cji_block *captured_take(cji_mem_state *state, const cji_lists *l, uint64_t serial, size_t bytes)
{
    for (cji_block *b = state->blocks.captured; b; b = b->next) {
        if (b->capture != serial || b->mem.home != l->slot || b->elsewhere) continue;
        if (b->room < bytes || b->room / 2 > bytes) continue;
        cji_captured_remove(state, b);
        state->blocks.deferred -= b->room;
        return b;
    }
    return NULL;
}

/* A block for the capture: its own, or an idle one, since the graph may run on any stream.  *r: why there is none.  The
 * lock is held on entry and on return. */
static cji_block *capture_find(cji_mem_state *state, cji_lists *l, uint64_t serial, size_t bytes, CUresult *r)
{
    cji_allocator *a = &state->blocks;
    const size_t need = bytes + a->guard;
    const unsigned bin = cji_bin_up(need);
    cji_block *b = captured_take(state, l, serial, need);
    *r = CUDA_SUCCESS;
    if (b) return b;
    for (int tries = 0; !b && *r == CUDA_SUCCESS && tries < 4; tries++) {
        if (!(b = cji_block_take_idle(state, bin))) {
            cji_lists_settle(state);
            cji_blocks_join(state);
            b = cji_block_take_idle(state, bin);
        }
        if (b && !tries) l->tally.idle++;
        else if (b) l->tally.missed++;
        if (b) break;
        cji_spin_unlock(&state->lock, CJI_LOCK_MEMORY);
        *r = cji_block_grow(state, cji_bin_bytes(bin), true);
        cji_spin_lock(&state->lock, CJI_LOCK_MEMORY);
    }
    if (!b) { /* what was deferred may be idle by now */
        cji_blocks_join(state);
        b = cji_block_take_idle(state, bin);
        if (b) l->tally.idle++;
    }
    return b;
}

cj_dptr cji_capture_alloc(cj_stream *s, cji_mem_state *state, cji_capture *c, size_t bytes, const char *call)
{
    CUresult r = CUDA_SUCCESS;
    cji_spin_lock(&state->lock, CJI_LOCK_MEMORY);
    cji_lists *l = cji_lists_of(state, s->slot);
    cji_block *b = l ? capture_find(state, l, c->serial, bytes, &r) : NULL;
    const cj_dptr d = { b ? b->mem.addr : 0 };
    if (b) {
        b->captured = b->capture == c->serial && b->captured > bytes ? b->captured : bytes;
        b->capture = c->serial;
        b->elsewhere = false;
        cji_block_hand_out(state, b, l, bytes);
        cji_block_declare(state, b, NULL, b->captured);
    }
    cji_spin_unlock(&state->lock, CJI_LOCK_MEMORY);
    if (!b) {
        cji_stream_failed(s, r == CUDA_SUCCESS || r == CUDA_ERROR_OUT_OF_MEMORY
                                 ? cji_fail(s, CJ_ENOMEM, call, "no memory for %zu bytes of the capture", bytes)
                                 : cji_rejected(s, s->dev, r, call, "cuMemAlloc"));
        return d;
    }
    const cji_range range = { d.addr, bytes, "the memory" };
    if (cji_mem_use(s, s->dev, &range, call) == CJ_OK) return d;
    cji_spin_lock(&state->lock, CJI_LOCK_MEMORY);
    b->capture = 0; /* which does not retain it */
    cji_spin_unlock(&state->lock, CJI_LOCK_MEMORY);
    cj_free(s->dev, d);
    return (cj_dptr){ 0 };
}
