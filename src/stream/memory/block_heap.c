/* Chunks cut into blocks, and the idle blocks, which any stream may take.  With the state's lock held.
 *
 * A block is found by its start in an index.  The block that holds another address is found by a bit for each unit of
 * the chunk in which a block starts. */
#include "stream/memory/stream_memory.h"

/* -- The index ----------------------------------------------------------------------------------------------------- */

static void index_put(cji_allocator *a, cji_block *b)
{
    size_t i = cji_index_home(a, b->mem.addr);
    while (a->index[i].block) i = (i + 1) & (a->index_cap - 1);
    a->index[i] = (cji_indexed){ b->mem.addr, b };
    a->indexed++;
}

/* At most a quarter of it is full, so that most searches end at once. */
static bool index_room(cji_allocator *a)
{
    if (4 * (a->indexed + 1) <= a->index_cap) return true;
    cji_allocator wider = { .index_cap = a->index_cap ? 2 * a->index_cap : 64 };
    wider.index = cji_zalloc(wider.index_cap * sizeof *wider.index);
    if (!wider.index) return false;
    for (size_t i = 0; i < a->index_cap; i++)
        if (a->index[i].block) index_put(&wider, a->index[i].block);
    cji_free(a->index, a->index_cap * sizeof *a->index);
    a->index = wider.index;
    a->index_cap = wider.index_cap;
    return true;
}

/* Those behind it move up, so that no search ends too early. */
static void index_remove(cji_allocator *a, const cji_block *b)
{
    const size_t mask = a->index_cap - 1;
    size_t gap = cji_index_home(a, b->mem.addr);
    while (a->index[gap].block != b) gap = (gap + 1) & mask;
    for (size_t i = (gap + 1) & mask; a->index[i].block; i = (i + 1) & mask) {
        const size_t home = cji_index_home(a, a->index[i].addr);
        if (((i - home) & mask) < ((i - gap) & mask)) continue;
        a->index[gap] = a->index[i];
        gap = i;
    }
    a->index[gap] = (cji_indexed){ 0, NULL };
    a->indexed--;
}

/* -- Where blocks start -------------------------------------------------------------------------------------------- */

static size_t chunk_words(size_t bytes) { return (bytes / CJI_UNIT + 63) / 64; }

static void chunk_start(cji_chunk *c, const cji_block *b, bool starts)
{
    const size_t unit = (size_t)(b->mem.addr - c->mem.addr) / CJI_UNIT, word = unit / 64;
    if (starts) c->starts[word] |= UINT64_C(1) << unit % 64;
    else c->starts[word] &= ~(UINT64_C(1) << unit % 64);
    if (c->starts[word]) c->words[word / 64] |= UINT64_C(1) << word % 64;
    else c->words[word / 64] &= ~(UINT64_C(1) << word % 64);
}

/* The last set bit at or before `i`; a bit of the first word is set at or before it. */
static size_t bit_before(const uint64_t *map, size_t i)
{
    size_t word = i / 64;
    uint64_t bits = map[word] & (~UINT64_C(0) >> (63 - i % 64));
    while (!bits) bits = map[--word];
    return word * 64 + 63 - (size_t)__builtin_clzll(bits);
}

cji_block *cji_block_holder(const cji_allocator *a, const cji_chunk *c, uint64_t addr)
{
    const size_t unit = (size_t)(addr - c->mem.addr) / CJI_UNIT, word = unit / 64;
    const uint64_t here = c->starts[word] & (~UINT64_C(0) >> (63 - unit % 64));
    size_t start = word * 64 + 63 - (size_t)__builtin_clzll(here | 1);
    if (!here) { /* a block starts at the chunk's start, so that a word before has one */
        const size_t before = bit_before(c->words, word - 1);
        start = before * 64 + 63 - (size_t)__builtin_clzll(c->starts[before]);
    }
    return cji_block_at(a, c->mem.addr + start * CJI_UNIT);
}

/* -- Blocks -------------------------------------------------------------------------------------------------------- */

enum { SLAB_BLOCKS = 32 };
typedef struct cji_block_slab {
    struct cji_block_slab *next;
    char room[(SLAB_BLOCKS + 1) * sizeof(cji_block)]; /* for blocks that begin at a line of the processor's cache */
} cji_block_slab;

static bool slab_add(cji_allocator *a)
{
    cji_block_slab *slab = cji_alloc(sizeof *slab);
    if (!slab) return false;
    slab->next = a->slabs;
    a->slabs = slab;
    cji_block *b = (cji_block *)(void *)(slab->room + (-(uintptr_t)slab->room & (_Alignof(cji_block) - 1)));
    for (int i = 0; i < SLAB_BLOCKS; i++) {
        b[i].next = a->spare;
        a->spare = &b[i];
    }
    return true;
}

static cji_block *block_new(cji_mem_state *state, cji_chunk *c, uint64_t addr, size_t room)
{
    cji_allocator *a = &state->blocks;
    if (!index_room(a) || (!a->spare && !slab_add(a))) return NULL;
    cji_block *b = a->spare;
    a->spare = b->next;
    *b = (cji_block){ .chunk = NULL };
    b->mem = (cji_mem){ .state = state, .type = state->blocks.type, .shape = CJI_MEM_BLOCK, .addr = addr };
    b->chunk = c;
    b->room = room;
    index_put(&state->blocks, b);
    chunk_start(c, b, true);
    return b;
}

static void block_delete(cji_mem_state *state, cji_block *b)
{
    index_remove(&state->blocks, b);
    chunk_start(b->chunk, b, false);
    b->next = state->blocks.spare;
    state->blocks.spare = b;
}

void cji_blocks_free_spare(cji_allocator *a)
{
    for (cji_block_slab *slab = a->slabs, *next; slab; slab = next) {
        next = slab->next;
        cji_free(slab, sizeof *slab);
    }
    a->slabs = NULL;
    a->spare = NULL;
}

cji_block *cji_block_cut(cji_mem_state *state, cji_block *b, size_t room)
{
    cji_block *rest = b->room > room ? block_new(state, b->chunk, b->mem.addr + room, b->room - room) : NULL;
    if (!rest) return NULL;
    rest->below = b;
    rest->above = b->above;
    if (rest->above) rest->above->below = rest;
    b->above = rest;
    b->room = room;
    return rest;
}

/* The block above becomes a part of `b`. */
static void block_join(cji_mem_state *state, cji_block *b)
{
    cji_block *above = b->above;
    b->room += above->room;
    b->above = above->above;
    if (b->above) b->above->below = b;
    block_delete(state, above);
}

void cji_block_idle(cji_mem_state *state, cji_block *b)
{
    b->place = CJI_PLACE_IDLE;
    b->lists = NULL;
    b->mem.home = NULL;
    cji_bins_add(&state->blocks.idle, b);
    state->blocks.joined = false;
}

void cji_blocks_join(cji_mem_state *state)
{
    cji_allocator *a = &state->blocks;
    for (cji_chunk *c = a->joined ? NULL : a->chunks; c; c = c->next) {
        for (cji_block *b = c->first; b; b = b->above) {
            if (b->place != CJI_PLACE_IDLE || !b->above || b->above->place != CJI_PLACE_IDLE) continue;
            cji_bins_remove(&a->idle, b);
            while (b->above && b->above->place == CJI_PLACE_IDLE) {
                cji_bins_remove(&a->idle, b->above);
                block_join(state, b);
            }
            cji_bins_add(&a->idle, b);
        }
    }
    a->joined = true;
}

cji_block *cji_block_take_idle(cji_mem_state *state, unsigned bin)
{
    cji_block *b = cji_bins_find(&state->blocks.idle, bin, CJI_BINS - 1);
    if (!b) return NULL;
    cji_bins_remove(&state->blocks.idle, b);
    b->place = CJI_PLACE_LIVE;
    cji_block *rest = cji_block_cut(state, b, cji_bin_bytes(bin));
    if (rest) cji_block_idle(state, rest);
    return b;
}

void cji_block_declare(const cji_mem_state *state, const cji_block *b, const CUstream *raw, bool live)
{
    const cj_driver *drv = state->dev->drv;
    if (drv->suballoc) drv->suballoc(raw ? *raw : NULL, !raw, b->mem.addr, live ? b->mem.bytes : b->room, live);
}

/* -- Chunks -------------------------------------------------------------------------------------------------------- */

cji_block *cji_chunk_add(cji_mem_state *state, uint64_t addr, size_t bytes, bool plain)
{
    const size_t words = chunk_words(bytes), maps = words + (words + 63) / 64;
    cji_chunk *c = cji_zalloc(sizeof *c);
    uint64_t *map = c ? cji_zalloc(maps * sizeof *map) : NULL;
    if (map) {
        c->mem = (cji_mem){ .state = state, .shape = CJI_MEM_CHUNK, .addr = addr, .bytes = bytes };
        c->starts = map;
        c->words = map + words;
        c->plain = plain;
        c->first = block_new(state, c, addr, bytes);
    }
    if (!map || !c->first) {
        cji_free(map, maps * sizeof *map);
        cji_free(c, sizeof *c);
        return NULL;
    }
    c->next = state->blocks.chunks;
    state->blocks.chunks = c;
    cji_mem_insert(state, &c->mem);
    return c->first;
}

void cji_chunk_forget(cji_mem_state *state, cji_chunk *c)
{
    const size_t words = chunk_words(c->mem.bytes), maps = words + (words + 63) / 64;
    cji_chunk **at = &state->blocks.chunks;
    while (*at != c) at = &(*at)->next;
    *at = c->next;
    cji_mem_remove(state, &c->mem);
    while (c->first->above) block_join(state, c->first);
    block_delete(state, c->first);
    cji_free(c->starts, maps * sizeof *c->starts);
    cji_free(c, sizeof *c);
}
