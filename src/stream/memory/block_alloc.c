/* The stream-ordered allocator: blocks handed out and taken back; cj_alloc and cj_free.
 *
 * What is served from the stream's own lists, and freed into them, makes no call of the driver and takes one lock. */
#include "stream/memory/stream_memory.h"

enum { BLOCK_POLL = 15, BLOCK_PAUSE = 63 };
#define BLOCK_CAPTURED_MOST ((size_t)1 << 39)

/* -- Handing out and taking back; with the state's lock held ------------------------------------------------------- */

static inline void block_hand_out(cji_mem_state *state, cji_block *b, cji_lists *l, size_t bytes)
{
    b->mem.place = CJI_PLACE_LIVE;
    b->mem.bytes = bytes;
    b->mem.freed = false;
    state->blocks.room += b->room;
    cji_tally_more(&state->blocks, &l->tally, bytes);
    cji_mem_held(l->slot, (int64_t)bytes);
    cji_mem_changed(state);
}

void cji_block_hand_out(cji_mem_state *state, cji_block *b, cji_lists *l, size_t bytes)
{
    if (b->mem.home != l->slot) {
        b->mem.home = l->slot;
        l->blocks++;
    }
    block_hand_out(state, b, l, bytes);
}

static inline void block_take_back(cji_mem_state *state, cji_block *b, cji_lists *l)
{
    b->mem.freed = true;
    state->blocks.room -= b->room;
    cji_tally_less(&state->blocks, &l->tally, b->mem.bytes);
    cji_mem_held(l->slot, -(int64_t)b->mem.bytes);
    cji_mem_changed(state);
}

/* -- Allocations --------------------------------------------------------------------------------------------------- */

/* As much as is live may be cached, and a chunk more; beyond that streams wait for each other's blocks rather than
 * grow. */
static bool block_has_slack(const cji_allocator *a)
{
    const uint64_t cached = a->chunk_bytes - a->room - a->deferred;
    return cached < a->room + a->opts.chunk_bytes;
}

/* Whether to look for blocks whose uses are complete, before growing: where much is cached, and not again before as
 * many allocations were made as half of the blocks that were found last. */
static bool block_may_settle(const cji_allocator *a)
{
    const uint64_t cached = a->chunk_bytes - a->room - a->deferred;
    return !block_has_slack(a) || (cached >= a->room / 2 && a->allocs >= a->settle_at);
}

enum { BLOCK_NEAR = 8 }; /* bins up to twice the size, which are cut */

/* A block of no place for the stream of `l` without a call of the driver: its own, or an idle one.  *behind: its own,
 * whose earlier use may not be complete. */
static cji_block *block_find_quietly(cji_mem_state *state, cji_lists *l, unsigned bin, bool *behind)
{
    cji_allocator *a = &state->blocks;
    *behind = true;
    cji_block *b = cji_lists_take(state, l, bin, bin);
    if (b) return b;
    *behind = false;
    if ((b = cji_block_take_idle(state, bin))) return l->tally.idle++, b;
    if (block_may_settle(a)) return NULL;
    *behind = true;
    return cji_lists_take(state, l, bin, bin + BLOCK_NEAR);
}

/* A block whose uses are complete by now.  Where that was none, streams that wait for each other's blocks do not look
 * again for a while: a query costs as much as the wait. */
static cji_block *block_find_complete(cji_mem_state *state, cji_lists *l, unsigned bin)
{
    cji_allocator *a = &state->blocks;
    const size_t found = cji_lists_settle(state);
    a->settle_at = a->allocs + found / 2;
    a->pause = found ? 0 : a->pause < BLOCK_PAUSE ? 2 * a->pause + 1 : BLOCK_PAUSE;
    a->look_at = a->allocs + a->pause;
    cji_block *b = cji_block_take_idle(state, bin);
    if (!b) cji_blocks_join(state);
    if (b || (b = cji_block_take_idle(state, bin))) l->tally.idle++;
    return b;
}

/* A block of no place for `s`, without growing; with the lock held, in a scope.  `hard`: growing is not possible. */
static cji_block *block_find(cji_mem_state *state, cj_stream *s, cji_lists *l, unsigned bin, bool hard, bool *behind)
{
    cji_allocator *a = &state->blocks;
    const unsigned to = hard ? CJI_BINS - 1 : bin + BLOCK_NEAR;
    cji_block *b = block_find_quietly(state, l, bin, behind);
    if (b) return b;
    const bool waits = hard || !block_has_slack(a);
    const bool look = waits ? a->allocs >= a->look_at : block_may_settle(a);
    if (look && (b = block_find_complete(state, l, bin))) return b;
    *behind = true;
    if ((b = cji_lists_take(state, l, bin, to))) return b;
    if (a->source && (b = cji_lists_take_from(state, a->source, s, bin, CJI_BINS - 1)))
        return l->tally.idle++, b; /* of a fresh chunk */
    if (!waits) return NULL;
    if (!(b = cji_lists_take_other(state, s, bin, to))) {
        *behind = false;
        return look ? NULL : block_find_complete(state, l, bin);
    }
    l->tally.waited++;
    l->tally.waits++;
    return b;
}

CUresult cji_block_grow(cji_mem_state *state, size_t bytes, bool plain)
{
    CUresult r = cji_chunk_grow(state, bytes, plain);
    if (r != CUDA_ERROR_OUT_OF_MEMORY) return r;
    cji_deferred_drain(state->queue, CJI_DEFERRED_ALL);
    return cji_chunks_trim(state, 0) ? cji_chunk_grow(state, bytes, plain) : r;
}

/* The fresh chunk's space, behind the stream that it comes from where that has not reached it. */
static cji_block *block_find_fresh(cji_mem_state *state, cj_stream *s, cji_lists *l, unsigned bin, bool *behind)
{
    cji_block *b = cji_block_take_idle(state, bin);
    *behind = !b;
    if (!b) b = cji_lists_take_from(state, state->blocks.source, s, bin, CJI_BINS - 1);
    if (b) l->tally.missed++;
    return b;
}

static cj_status block_failed(cj_stream *s, CUresult r, uint64_t most, size_t bytes, const char *call)
{
    if (r == CUDA_ERROR_OUT_OF_MEMORY && most)
        return cji_fail(s, CJ_ENOMEM, call, "%zu bytes: the allocator may hold %llu bytes (max_total)", bytes,
                        (unsigned long long)most);
    if (r == CUDA_ERROR_OUT_OF_MEMORY)
        return cji_cu_fail_as(s, s->dev, r, CJ_ENOMEM, "cuMemAllocAsync", call, "%s: %zu bytes of device memory",
                              call, bytes);
    return cji_rejected(s, s->dev, r, call, "cuMemAllocAsync");
}

/* With a poison or exact bounds the driver hears of the block: in the order of the stream where another use is before
 * it there. */
static void block_begin(const cji_mem_state *state, const cji_block *b, const cj_stream *s, bool behind)
{
    if (state->blocks.told) cji_block_declare(state, b, behind ? &s->raw : NULL, b->mem.bytes);
}

/* In a scope. */
static cj_dptr block_alloc(cj_stream *s, cji_mem_state *state, size_t bytes, const char *call)
{
    const unsigned bin = cji_bin_up(bytes + state->blocks.guard);
    bool behind = false;
    CUresult r = CUDA_SUCCESS;
    cji_spin_lock(&state->lock, CJI_LOCK_MEMORY);
    cji_lists *l = cji_lists_of(state, s->slot);
    const bool grows = cji_chunk_fits(&state->blocks, cji_bin_bytes(bin));
    cji_block *b = l ? block_find(state, s, l, bin, !grows, &behind) : NULL;
    for (int tries = 0; l && !b && r == CUDA_SUCCESS && tries < 4; tries++) { /* other threads take it too */
        cji_spin_unlock(&state->lock, CJI_LOCK_MEMORY);
        r = cji_block_grow(state, cji_bin_bytes(bin), false);
        cji_spin_lock(&state->lock, CJI_LOCK_MEMORY);
        b = r == CUDA_SUCCESS ? block_find_fresh(state, s, l, bin, &behind) : NULL;
    }
    if (l && !b) b = block_find(state, s, l, bin, true, &behind);
    if (b) {
        cji_block_hand_out(state, b, l, bytes);
        block_begin(state, b, s, behind);
    }
    const cj_dptr d = { b ? b->mem.addr : 0 };
    const uint64_t most = state->blocks.opts.max_total;
    cji_spin_unlock(&state->lock, CJI_LOCK_MEMORY);
    if (!l) cji_fail(s, CJ_ENOMEM, call, "no host memory to note the allocation");
    else if (!b) block_failed(s, r == CUDA_SUCCESS ? CUDA_ERROR_OUT_OF_MEMORY : r, most, bytes, call);
    return d;
}

/* Where there is a block and the driver need not hear of it, but the stream's own lists have none that fits. */
static CJI_COLD uint64_t block_alloc_quietly(cji_mem_state *state, cji_lists *l, unsigned bin, size_t bytes)
{
    bool behind;
    cji_block *b = block_find_quietly(state, l, bin, &behind);
    if (b) cji_block_hand_out(state, b, l, bytes);
    return b ? b->mem.addr : 0;
}

/* The usual case: the stream's own block.  0: there is none; with the lock held. */
static inline uint64_t block_alloc_quick(cji_mem_state *state, cji_lists *l, size_t bytes)
{
    if (bytes - 1 >= state->blocks.quick || !l) return 0;
    const cji_fit fit = cji_fit_of(bytes); /* there is no guard */
    cji_block *b = l->free.bin[fit.bin];
    if (!b || b->room != fit.room) return block_alloc_quietly(state, l, fit.bin, bytes);
    cji_bins_pop(&l->free, fit.bin);
    block_hand_out(state, b, l, bytes);
    return b->mem.addr;
}

/* Whether somebody else captures the stream.  Only who has a handle of the driver can. */
static inline bool stream_is_foreign(const cj_stream *s)
{
    return atomic_load_explicit(&s->dev->drv->exposed, memory_order_relaxed) && cji_stream_captures(s->queue, s->raw);
}

static const cji_mem_type mem_block;

/* Every so many calls look at the release queue, where something is deferred. */
static inline void block_poll(cji_release_queue *queue, uint64_t calls)
{
    if (atomic_load_explicit(&queue->waiting, memory_order_relaxed) && !(calls & BLOCK_POLL))
        cji_deferred_drain(queue, CJI_DEFERRED_STEP);
}

static CJI_COLD cj_dptr alloc_slowly(cj_stream *s, size_t bytes, const char *call)
{
    const cj_dptr none = { 0 };
    cji_scope scope;
    cji_mem_state *state = cji_mem_state_of(s->dev);
    cji_capture *c = cji_capture_of(s);
    cj_dptr d = none;
    size_t most = 0;
    if (state) {
        cji_spin_lock(&state->lock, CJI_LOCK_MEMORY);
        most = c && state->blocks.most ? BLOCK_CAPTURED_MOST : state->blocks.most;
        state->blocks.type = &mem_block;
        cji_spin_unlock(&state->lock, CJI_LOCK_MEMORY);
    }
    if (!bytes || bytes > most || (!c && stream_is_foreign(s))) {
        if (c) cji_capture_drop(c);
        return cji_mem_alloc(s, bytes, &cji_mem_direct, 0, NULL, call);
    }
    if (cji_scope_begin_relaxed(s, s->dev, &scope, call) == CJ_OK) {
        cji_deferred_poll(s->queue, CJI_DEFERRED_STEP);
        d = c ? cji_capture_alloc(s, state, c, bytes, call) : block_alloc(s, state, bytes, call);
        cji_scope_leave(&scope);
    }
    if (c) cji_capture_drop(c);
    return d;
}

cj_dptr cj_alloc(cj_stream *s, size_t bytes)
{
    static const char call[] = "cj_alloc";
    if (!cji_is_live(s, CJI_TAG_STREAM) && cji_check(s, CJI_TAG_STREAM, call) != CJ_OK) return (cj_dptr){ 0 };
    cji_mem_state *state = (cji_mem_state *)cji_release_queue_state(s->queue, CJI_STATE_MEMORY);
    if (cji_device_was_reset(s->dev)) {
        cji_cu_fail(s, s->dev, CUDA_ERROR_CONTEXT_IS_DESTROYED, "cuMemAllocAsync", call);
        return (cj_dptr){ 0 };
    }
    if (state && !atomic_load_explicit(&s->capturing, memory_order_relaxed) && !stream_is_foreign(s)) {
        cji_spin_lock(&state->lock, CJI_LOCK_MEMORY);
        const uint64_t at = block_alloc_quick(state, s->slot->mem, bytes), allocs = state->blocks.allocs;
        cji_spin_unlock(&state->lock, CJI_LOCK_MEMORY);
        if (at) return block_poll(s->queue, allocs), (cj_dptr){ at };
    }
    return alloc_slowly(s, bytes, call);
}

/* -- Releases ------------------------------------------------------------------------------------------------------ */

/* With a poison or exact bounds: in the order of the stream.  False: its stream is not there, is being captured, or is
 * another one than that of the memory's work.  With the lock held. */
static bool block_farewell(cji_mem_state *state, const cji_block *b)
{
    cji_release_queue *queue = state->queue;
    cji_scope scope;
    cji_lock(&queue->lock, CJI_LOCK_QUEUE);
    cji_slot *slot = b->mem.home;
    CUstream raw = slot->raw;
    cji_queue_scope(queue, &scope);
    const cj_stream *s = slot->live ? slot->owner : NULL;
    /* a proxy stream comes behind its stream's work, and not before that */
    const bool there = s && !s->proxy && !atomic_load(&queue->captures) && !cji_stream_captures(queue, raw);
    if (there && state->blocks.opts.poison)
        queue->cu->cuMemsetD8Async(b->mem.addr, CJI_POISON, b->mem.bytes, raw);
    if (there) cji_block_declare(state, b, &raw, false);
    cji_scope_leave(&scope);
    cji_unlock(&queue->lock, CJI_LOCK_QUEUE);
    return there;
}

/* Every use is over; in a scope. */
static void block_release_deferred(cji_deferred *deferred)
{
    cji_block *b = cji_block_of((cji_mem *)((char *)deferred - offsetof(cji_mem, deferred)));
    cji_mem_state *state = b->mem.state;
    cji_allocator *a = &state->blocks;
    cj_device *dev = state->dev;
    cji_spin_lock(&state->lock, CJI_LOCK_MEMORY);
    a->deferred -= b->room;
    atomic_store(&b->mem.used, 0);
    cji_lists_leave(state, b);
    cji_lists *source = a->opts.poison ? cji_source_of(state) : NULL;
    const bool poisoned = source && state->queue->cu->cuMemsetD8Async(b->mem.addr, CJI_POISON, b->mem.bytes,
                                                                      source->slot->raw) == CUDA_SUCCESS;
    cji_block_declare(state, b, poisoned ? &source->slot->raw : NULL, false);
    if (poisoned) {
        b->mem.home = source->slot;
        source->blocks++;
        cji_lists_put(source, b);
    } else {
        cji_block_idle(state, b);
    }
    cji_spin_unlock(&state->lock, CJI_LOCK_MEMORY);
    cji_device_drop(dev);
}

/* Behind all its uses.  The lock is held on entry and not on return. */
static CJI_COLD void block_defer(cji_mem_state *state, cji_block *b)
{
    b->mem.place = CJI_PLACE_DEFERRED;
    state->blocks.deferred += b->room;
    const uint64_t bits = atomic_load_explicit(&b->mem.used, memory_order_relaxed) | b->mem.home->bit;
    cji_spin_unlock(&state->lock, CJI_LOCK_MEMORY);
    cji_obj_retain(state->dev);
    b->mem.deferred.run = block_release_deferred;
    cji_defer(state->queue, &b->mem.deferred, bits);
}

/* Nobody retains it: into the lists of its home, or behind all its uses.  The lock is held on entry and not on
 * return. */
static inline void block_leave(cji_mem_state *state, cji_block *b, cji_lists *l)
{
    const bool own = !atomic_load_explicit(&b->mem.used, memory_order_relaxed) && l->open;
    if (!own || (state->blocks.told && !block_farewell(state, b))) {
        block_defer(state, b);
        return;
    }
    cji_lists_put(l, b);
    cji_spin_unlock(&state->lock, CJI_LOCK_MEMORY);
}

/* The last graph that retained it is gone. */
static void block_over(cji_mem *m)
{
    cji_block *b = cji_block_of(m);
    cji_captured_remove(m->state, b);
    m->state->blocks.deferred -= b->room;
    block_leave(m->state, b, cji_block_lists(b));
}

/* More is cached than max_cached allows: once for each chunk's worth of it. */
static inline bool block_wants_trim(cji_allocator *a)
{
    if (!a->opts.max_cached) return false;
    const uint64_t cached = a->chunk_bytes - a->room - a->deferred;
    if (cached <= a->opts.max_cached || cached < a->trim_at) return false;
    a->trim_at = cached + a->opts.chunk_bytes;
    return true;
}

static CJI_COLD void block_trim(cji_mem_state *state)
{
    cji_scope scope;
    cji_spin_lock(&state->lock, CJI_LOCK_MEMORY);
    const uint64_t keep = state->blocks.opts.max_cached;
    cji_spin_unlock(&state->lock, CJI_LOCK_MEMORY);
    cji_queue_scope(state->queue, &scope);
    cji_chunks_trim(state, keep);
    cji_scope_leave(&scope);
    cji_spin_lock(&state->lock, CJI_LOCK_MEMORY);
    const cji_allocator *a = &state->blocks;
    if (a->chunk_bytes - a->room - a->deferred <= a->opts.max_cached) state->blocks.trim_at = 0;
    cji_spin_unlock(&state->lock, CJI_LOCK_MEMORY);
}

/* A live block.  The lock is held on entry and not on return. */
static inline void block_free(cji_mem_state *state, cji_block *b)
{
    cji_lists *l = cji_block_lists(b);
    block_take_back(state, b, l);
    const bool trim = block_wants_trim(&state->blocks);
    const uint64_t frees = state->blocks.told ? 0 : l->tally.frees;
    if (b->mem.retained) {
        cji_captured_add(state, b);
        cji_spin_unlock(&state->lock, CJI_LOCK_MEMORY);
    } else {
        block_leave(state, b, l);
    }
    if (trim) block_trim(state);
    block_poll(state->queue, frees);
}

cj_status cj_free(cj_device *dev, cj_dptr d)
{
    static const char call[] = "cj_free";
    if (!cji_is_live(dev, CJI_TAG_DEVICE) && cji_check(dev, CJI_TAG_DEVICE, call) != CJ_OK) return cji_err_latest();
    cji_mem_state *state = cji_mem_state_of(dev);
    if (!d.addr) return CJ_OK;
    if (!state) return cji_fail(dev, CJ_ENOMEM, call, "no host memory");
    cji_spin_lock(&state->lock, CJI_LOCK_MEMORY);
    cji_block *b = cji_block_at(&state->blocks, d.addr);
    if (b && b->mem.place == CJI_PLACE_LIVE) return block_free(state, b), CJ_OK;
    return cji_mem_free(state, d, call);
}

/* A chunk's memory is released with the chunk. */
static CUresult block_release_nothing(const cji_mem *m)
{
    (void)m;
    return CUDA_SUCCESS;
}

static const cji_mem_type mem_block = { .kind = CJ_MEM_KIND_POOL,
                                     .name = "device",
                                     .cu_call = "cuMemAllocAsync",
                                     .release = block_release_nothing,
                                     .over = block_over };
