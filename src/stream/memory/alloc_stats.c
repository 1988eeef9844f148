/* The allocator of cj_alloc as users see it: chosen, trimmed, its counts, its report. */
#include <string.h>

#include "stream/memory/stream_memory.h"

/* -- Options ------------------------------------------------------------------------------------------------------- */

enum { ALLOC_CHUNK_MOST = 1 << 30 };

cj_status cj_device_set_allocator(cj_device *dev, const cj_allocator_opts *opts)
{
    static const char call[] = "cj_device_set_allocator";
    cj_allocator_opts o;
    cj_status st = cji_check(dev, CJI_TAG_DEVICE, call);
    if (st != CJ_OK) return st;
    cj_allocator_defaults(&o);
    if (!cji_opts_take(&o, sizeof o, opts, dev, call, "cj_allocator")) return cji_err_latest();
    if (o.source < 0 || o.source > CJ_ALLOCATOR_DRIVER)
        return cji_fail(dev, CJ_EINVAL, call, "source %d is no cj_allocator_source", o.source);
    if (o.chunk_bytes > ALLOC_CHUNK_MOST)
        return cji_fail(dev, CJ_EINVAL, call, "chunk_bytes is %llu, at most %d", (unsigned long long)o.chunk_bytes,
                        ALLOC_CHUNK_MOST);
    cji_mem_state *state = cji_mem_state_of(dev);
    if (!state) return cji_fail(dev, CJ_ENOMEM, call, "no host memory");
    cji_spin_lock(&state->lock, CJI_LOCK_MEMORY);
    cji_allocator_take(state, &o);
    cji_spin_unlock(&state->lock, CJI_LOCK_MEMORY);
    return CJ_OK;
}

size_t cj_device_trim(cj_device *dev, size_t keep)
{
    cji_scope scope;
    if (cji_check(dev, CJI_TAG_DEVICE, "cj_device_trim") != CJ_OK) return 0;
    cji_mem_state *state = (cji_mem_state *)cji_release_queue_state(&dev->queue, CJI_STATE_MEMORY);
    if (!state) return 0;
    cji_queue_scope(&dev->queue, &scope);
    cji_deferred_drain(&dev->queue, CJI_DEFERRED_ALL);
    const uint64_t released = cji_chunks_trim(state, keep);
    cji_scope_leave(&scope);
    return (size_t)released;
}

/* -- Counts -------------------------------------------------------------------------------------------------------- */

void cj_alloc_counts_defaults(cj_alloc_counts *counts)
{
    if (counts) *counts = (cj_alloc_counts){ .size = sizeof *counts };
}

static void counts_of_tally(const cji_tally *t, cj_alloc_counts *c)
{
    c->live_bytes = t->live;
    c->live_bytes_most = t->live_most;
    c->live = t->allocs - t->frees;
    c->allocs = t->allocs;
    c->frees = t->frees;
    c->hits_own = t->allocs - t->idle - t->waited - t->missed;
    c->hits_idle = t->idle;
    c->hits_waited = t->waited;
    c->misses = t->missed;
    c->waits = t->waits;
}

/* The bytes of the blocks, their number, and the largest. */
static uint64_t bins_bytes(const cji_bins *bins, uint64_t *blocks, uint64_t *largest)
{
    uint64_t bytes = 0;
    *blocks = *largest = 0;
    for (unsigned i = 0; i < CJI_BINS; i++) {
        for (const cji_block *b = bins->bin[i]; b; b = b->next) {
            bytes += b->room;
            *largest = b->room > *largest ? b->room : *largest;
            ++*blocks;
        }
    }
    return bytes;
}

/* With the state's lock held. */
static void counts_of_device(const cji_allocator *a, cj_alloc_counts *c)
{
    const cji_tally all = cji_tally_of(a);
    counts_of_tally(&all, c);
    c->room_bytes = a->room + a->direct_bytes;
    c->cached_bytes = a->chunk_bytes - a->room - a->deferred;
    c->idle_bytes = bins_bytes(&a->idle, &c->idle_blocks, &c->largest_idle);
    c->deferred_bytes = a->deferred;
    c->total_bytes = a->chunk_bytes + a->direct_bytes;
    c->total_bytes_most = a->total_most;
    c->chunks = a->nchunks;
    c->chunks_made = a->grown;
    c->trimmed_bytes = a->trimmed;
    c->fragmentation = c->idle_bytes ? 1.0 - (double)c->largest_idle / (double)c->idle_bytes : 0.0;
}

/* The caller's struct may be an older, smaller one. */
static cj_status counts_give(void *obj, cj_alloc_counts *to, cj_alloc_counts *now, const char *call)
{
    if (!to || to->size < sizeof to->size)
        return cji_fail(obj, CJ_EINVAL, call, "counts is NULL, or counts->size is not sizeof(cj_alloc_counts)");
    now->size = to->size;
    memcpy(to, now, to->size < sizeof *now ? to->size : sizeof *now);
    return CJ_OK;
}

cj_status cj_device_get_alloc_counts(cj_device *dev, cj_alloc_counts *counts)
{
    static const char call[] = "cj_device_get_alloc_counts";
    cj_alloc_counts now = { .size = 0 };
    cj_status st = cji_check(dev, CJI_TAG_DEVICE, call);
    if (st != CJ_OK) return st;
    cji_mem_state *state = (cji_mem_state *)cji_release_queue_state(&dev->queue, CJI_STATE_MEMORY);
    if (state) {
        cji_spin_lock(&state->lock, CJI_LOCK_MEMORY);
        cji_blocks_join(state);
        counts_of_device(&state->blocks, &now);
        cji_spin_unlock(&state->lock, CJI_LOCK_MEMORY);
    }
    return counts_give(dev, counts, &now, call);
}

cj_status cj_stream_get_alloc_counts(cj_stream *s, cj_alloc_counts *counts)
{
    static const char call[] = "cj_stream_get_alloc_counts";
    cj_alloc_counts now = { .size = 0 };
    cj_status st = cji_check_read(s, CJI_TAG_STREAM, call);
    if (st != CJ_OK) return st;
    cji_mem_state *state = (cji_mem_state *)cji_release_queue_state(s->queue, CJI_STATE_MEMORY);
    if (state) {
        cji_spin_lock(&state->lock, CJI_LOCK_MEMORY);
        const cji_lists *l = s->slot->mem;
        if (l) {
            uint64_t blocks, largest;
            counts_of_tally(&l->tally, &now);
            now.cached_bytes = bins_bytes(&l->free, &blocks, &largest);
        }
        cji_spin_unlock(&state->lock, CJI_LOCK_MEMORY);
    }
    return counts_give(s, counts, &now, call);
}

/* -- The report ---------------------------------------------------------------------------------------------------- */

static void report_chunk(cji_text *t, const cji_chunk *c)
{
    uint64_t live = 0, cached = 0, idle = 0, other = 0, largest = 0, blocks = 0;
    for (const cji_block *b = c->first; b; b = b->above) {
        blocks++;
        *(b->mem.place == CJI_PLACE_LIVE     ? &live
          : b->mem.place == CJI_PLACE_CACHED ? &cached
          : b->mem.place == CJI_PLACE_IDLE   ? &idle
                                         : &other) += b->room;
        if (b->mem.place == CJI_PLACE_IDLE && b->room > largest) largest = b->room;
    }
    cji_text_printf(t,
                    "chunk 0x%llx: %llu bytes in %llu blocks: %llu live, %llu in lists of streams, %llu deferred, "
                    "%llu idle, the largest of these %llu\n",
                    (unsigned long long)c->mem.addr, (unsigned long long)c->mem.bytes, (unsigned long long)blocks,
                    (unsigned long long)live, (unsigned long long)cached, (unsigned long long)other,
                    (unsigned long long)idle, (unsigned long long)largest);
}

static void report_all(cji_text *t, const cji_allocator *a)
{
    cj_alloc_counts c = { .size = 0 };
    counts_of_device(a, &c);
    cji_text_printf(t,
                    "allocator: %llu bytes in %llu allocations, %llu with rounding; %llu held from the driver, %llu "
                    "cached; %llu idle in %llu blocks, fragmentation %.3f\n",
                    (unsigned long long)c.live_bytes, (unsigned long long)c.live, (unsigned long long)c.room_bytes,
                    (unsigned long long)c.total_bytes, (unsigned long long)c.cached_bytes,
                    (unsigned long long)c.idle_bytes, (unsigned long long)c.idle_blocks, c.fragmentation);
    for (const cji_chunk *chunk = a->chunks; chunk; chunk = chunk->next) report_chunk(t, chunk);
}

size_t cj_device_alloc_report(cj_device *dev, char *text, size_t size)
{
    static const char call[] = "cj_device_alloc_report";
    cji_text t = { NULL, 0, 0, false };
    if (size) *text = 0;
    if (cji_check(dev, CJI_TAG_DEVICE, call) != CJ_OK) return 0;
    cji_mem_state *state = cji_mem_state_of(dev);
    if (state) {
        cji_spin_lock(&state->lock, CJI_LOCK_MEMORY);
        cji_blocks_join(state);
        report_all(&t, &state->blocks);
        cji_spin_unlock(&state->lock, CJI_LOCK_MEMORY);
    }
    const size_t n = t.failed ? 0 : t.n;
    if (!state || t.failed) cji_fail(dev, CJ_ENOMEM, call, "no host memory for the report");
    if (size && n) {
        const size_t cut = n < size ? n : size - 1;
        memcpy(text, t.p, cut);
        text[cut] = 0;
    }
    cji_text_free(&t);
    return n;
}
