/* The free lists of streams.  With the state's lock held.
 *
 * A block is put in without a call of the driver: the stream itself may take it at once.  When another stream is to
 * have it, an event is recorded, the list's mark, which covers every block that was put in before.  Blocks whose mark
 * is reached become idle.  Else the other stream waits for the mark on the device. */
#include "stream/memory/stream_memory.h"

/* -- Lists --------------------------------------------------------------------------------------------------------- */

cji_lists *cji_lists_of(cji_mem_state *state, cji_slot *slot)
{
    cji_lists *l = slot->mem;
    if (l || !(l = cji_zalloc(sizeof *l))) return l;
    l->slot = slot;
    l->open = true;
    cji_lock(&state->queue->lock, CJI_LOCK_QUEUE);
    slot->refs++;
    cji_unlock(&state->queue->lock, CJI_LOCK_QUEUE);
    slot->mem = l;
    l->next = state->blocks.lists;
    state->blocks.lists = l;
    return l;
}

static void tally_add(cji_tally *to, const cji_tally *t)
{
    to->allocs += t->allocs;
    to->frees += t->frees;
    to->idle += t->idle;
    to->waited += t->waited;
    to->missed += t->missed;
    to->waits += t->waits;
}

cji_tally cji_tally_of(const cji_allocator *a)
{
    cji_tally all = a->rest;
    for (const cji_lists *l = a->lists; l; l = l->next) tally_add(&all, &l->tally);
    all.live = a->live;
    all.live_most = a->live_most;
    return all;
}

/* The stream is gone and so are its blocks. */
static void lists_delete(cji_mem_state *state, cji_lists *l)
{
    cji_release_queue *queue = state->queue;
    cji_lists **at = &state->blocks.lists;
    while (*at != l) at = &(*at)->next;
    *at = l->next;
    tally_add(&state->blocks.rest, &l->tally);
    cji_lock(&queue->lock, CJI_LOCK_QUEUE);
    cji_point_return(queue, l->mark);
    l->slot->mem = NULL;
    cji_slot_drop(l->slot);
    cji_unlock(&queue->lock, CJI_LOCK_QUEUE);
    cji_free(l, sizeof *l);
}

void cji_lists_leave(cji_mem_state *state, cji_block *b)
{
    cji_lists *l = cji_block_lists(b);
    b->mem.home = NULL;
    if (l && --l->blocks == 0 && !l->open) lists_delete(state, l);
}

/* Out of its bin, where it need not be the first one. */
static void lists_remove(cji_lists *l, const cji_block *b)
{
    cji_block **at = &l->free.bin[b->mem.bin];
    if (*at == b) {
        cji_bins_pop(&l->free, b->mem.bin);
        return;
    }
    while (*at != b) at = &(*at)->next;
    *at = b->next;
}

/* A free block of the list becomes one of no place, of the bin's bytes; the rest stays in the list. */
static cji_block *lists_cut(cji_mem_state *state, cji_lists *l, cji_block *b, unsigned bin)
{
    lists_remove(l, b);
    cji_block *rest = cji_block_cut(state, b, cji_bin_bytes(bin));
    if (!rest) return b;
    rest->mem.home = l->slot;
    rest->mem.place = CJI_PLACE_CACHED;
    rest->turn = b->turn;
    l->blocks++;
    cji_bins_push(&l->free, rest);
    return b;
}

cji_block *cji_lists_take(cji_mem_state *state, cji_lists *l, unsigned bin, unsigned to)
{
    cji_block *b = cji_bins_find(&l->free, bin, to);
    return b ? lists_cut(state, l, b, bin) : NULL;
}

/* -- Marks; in a scope --------------------------------------------------------------------------------------------- */

/* Records the list's mark anew.  False: it cannot be now; the mark is the one before. */
static bool lists_mark(cji_mem_state *state, cji_lists *l)
{
    cji_release_queue *queue = state->queue;
    cji_lock(&queue->lock, CJI_LOCK_QUEUE);
    cji_point *p = l->open ? cji_slot_mark(queue, l->slot) : NULL;
    if (p) {
        cji_point_return(queue, l->mark);
        l->mark = p;
        l->turn++;
    }
    cji_unlock(&queue->lock, CJI_LOCK_QUEUE);
    return p != NULL;
}

/* Whether the mark is reached, which is none then. */
static bool lists_reached(cji_mem_state *state, cji_lists *l)
{
    cji_release_queue *queue = state->queue;
    if (!l->mark) return false;
    cji_lock(&queue->lock, CJI_LOCK_QUEUE);
    const bool reached = cji_point_reached(queue, l->mark);
    if (reached) {
        cji_point_return(queue, l->mark);
        l->mark = NULL;
    }
    cji_unlock(&queue->lock, CJI_LOCK_QUEUE);
    return reached;
}

/* Blocks of turns before the current one become idle.  Returns how many. */
static size_t lists_release(cji_mem_state *state, cji_lists *l)
{
    size_t released = 0;
    for (unsigned i = 0; i < CJI_BINS; i++) {
        cji_block **at = &l->free.bin[i];
        if (!*at) continue;
        while (*at) {
            cji_block *b = *at;
            if (b->turn >= l->turn) {
                at = &b->next;
                continue;
            }
            *at = b->next;
            l->blocks--;
            cji_block_idle(state, b);
            released++;
        }
        if (!l->free.bin[i]) l->free.map[i / 64] &= ~(UINT64_C(1) << i % 64);
    }
    return released;
}

static bool lists_have(const cji_lists *l)
{
    uint64_t map = 0;
    for (unsigned i = 0; i < CJI_BIN_WORDS; i++) map |= l->free.map[i];
    return map != 0;
}

size_t cji_lists_settle_one(cji_mem_state *state, cji_lists *l)
{
    size_t released = 0;
    if (lists_have(l) && lists_reached(state, l)) released = lists_release(state, l);
    if (lists_have(l) && !l->mark && lists_mark(state, l) && lists_reached(state, l))
        released += lists_release(state, l);
    return released;
}

size_t cji_lists_settle(cji_mem_state *state)
{
    size_t released = 0;
    for (cji_lists *l = state->blocks.lists, *next; l; l = next) {
        next = l->next;
        released += cji_lists_settle_one(state, l);
        if (!l->open && !l->blocks) lists_delete(state, l);
    }
    return released;
}

/* -- Other streams' blocks; in a scope ----------------------------------------------------------------------------- */

/* A block of these bins whose turn is over, so that the mark covers it; else one that is not covered yet. */
static cji_block *lists_choose(const cji_lists *l, unsigned bin, unsigned to)
{
    cji_block *first = NULL;
    for (unsigned i = bin; i <= to; i++) {
        cji_block *b = cji_bins_find(&l->free, i, to);
        if (!b) break;
        i = b->mem.bin;
        if (!first) first = b;
        for (; b; b = b->next)
            if (l->mark && b->turn < l->turn) return b;
    }
    return first;
}

cji_block *cji_lists_take_from(cji_mem_state *state, cji_lists *from, cj_stream *s, unsigned bin, unsigned to)
{
    cji_release_queue *queue = state->queue;
    cji_block *b = lists_choose(from, bin, to);
    if (!b) return NULL;
    if ((!from->mark || b->turn >= from->turn) && !lists_mark(state, from)) return NULL;
    cji_lock(&queue->lock, CJI_LOCK_QUEUE);
    const CUresult r = cji_point_wait(queue, from->mark, s->raw);
    cji_unlock(&queue->lock, CJI_LOCK_QUEUE);
    if (r != CUDA_SUCCESS) return NULL;
    b = lists_cut(state, from, b, bin);
    cji_lists_leave(state, b);
    return b;
}

cji_block *cji_lists_take_other(cji_mem_state *state, cj_stream *s, unsigned bin, unsigned to)
{
    cji_block *b = NULL;
    for (cji_lists *l = state->blocks.lists, *next; l && !b; l = next) {
        next = l->next;
        if (l->slot != s->slot && l != state->blocks.source) b = cji_lists_take_from(state, l, s, bin, to);
    }
    return b;
}

/* -- The end of a stream ------------------------------------------------------------------------------------------- */

void cji_lists_closing(cji_device_state *base, cji_slot *slot)
{
    cji_mem_state *state = (cji_mem_state *)base;
    cji_lists *l = slot->mem; /* nobody uses the slot any more; where it could not get lists, the lock is held */
    if (!l) return;
    cji_spin_lock(&state->lock, CJI_LOCK_MEMORY);
    cji_lists_settle_one(state, l);
    /* what is left is freed behind the stream's end */
    if (lists_have(l)) lists_mark(state, l);
    l->open = false;
    if (!l->blocks) lists_delete(state, l);
    cji_spin_unlock(&state->lock, CJI_LOCK_MEMORY);
}
