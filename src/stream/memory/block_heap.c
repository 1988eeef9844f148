/* Chunks cut into blocks, and the idle blocks, which any stream may take.  With the state's lock held.
 *
 * A block is found by its start in an index.  The block that holds another address is found by a bit for each unit of
 * the chunk in which a block starts. */
#include "stream/memory/stream_memory.h"

/* -- The index ----------------------------------------------------------------------------------------------------- */

static size_t index_cap(const cji_allocator *a) { return a->index ? (size_t)1 << a->index_bits : 0; }

static void index_put(cji_allocator *a, const cji_block *b)
{
    const uint32_t key = cji_index_key(b->mem.addr);
    uint32_t i = cji_index_home(a, key);
    while (a->index[i].number) i = cji_index_next(a, i);
    a->index[i] = (cji_indexed){ key, b->number };
    a->indexed++;
}

/* At most a quarter of it is full, so that most searches end at once. */
static bool index_room(cji_allocator *a)
{
    if (4 * (a->indexed + 1) <= index_cap(a)) return true;
    cji_allocator wider = { .index_bits = a->index ? a->index_bits + 1 : 6 };
    wider.index = wider.index_bits < 32 ? cji_zalloc(sizeof *wider.index << wider.index_bits) : NULL;
    if (!wider.index) return false;
    for (size_t i = 0; i < index_cap(a); i++)
        if (a->index[i].number) index_put(&wider, cji_block_numbered(a, a->index[i].number));
    cji_free(a->index, index_cap(a) * sizeof *a->index);
    a->index = wider.index;
    a->index_bits = wider.index_bits;
    return true;
}

/* Those behind it move up, so that no search ends too early. */
static void index_remove(cji_allocator *a, const cji_block *b)
{
    const uint32_t mask = (uint32_t)index_cap(a) - 1;
    uint32_t gap = cji_index_home(a, cji_index_key(b->mem.addr));
    while (a->index[gap].number != b->number) gap = cji_index_next(a, gap);
    for (uint32_t i = cji_index_next(a, gap); a->index[i].number; i = cji_index_next(a, i)) {
        const uint32_t home = cji_index_home(a, a->index[i].key);
        if (((i - home) & mask) < ((i - gap) & mask)) continue;
        a->index[gap] = a->index[i];
        gap = i;
    }
    a->index[gap] = (cji_indexed){ 0, 0 };
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

static size_t slab_bytes(void) { return (CJI_SLAB + 1) * sizeof(cji_block); } /* a block begins a line of the cache */

static bool slab_add(cji_allocator *a)
{
    if (a->slabs >= UINT32_MAX / CJI_SLAB || !cji_grow(&a->slab, &a->slab_cap, a->slabs + 1, sizeof *a->slab))
        return false;
    char *memory = cji_alloc(slab_bytes());
    if (!memory) return false;
    cji_block *b = (cji_block *)(void *)(memory + (-(uintptr_t)memory & (_Alignof(cji_block) - 1)));
    a->slab[a->slabs] = (cji_block_slab){ .block = b, .memory = memory };
    for (uint32_t i = a->slabs ? 0 : 1; i < CJI_SLAB; i++) { /* no block has number 0 */
        b[i].number = (uint32_t)a->slabs * CJI_SLAB + i;
        b[i].next = a->spare;
        a->spare = &b[i];
    }
    a->slabs++;
    return true;
}

static void block_resize(cji_block *b, size_t room)
{
    b->room = room;
    b->mem.bin = (uint8_t)cji_bin_down(room);
}

static cji_block *block_new(cji_mem_state *state, cji_chunk *c, uint64_t addr, size_t room)
{
    cji_allocator *a = &state->blocks;
    if (!index_room(a) || (!a->spare && !slab_add(a))) return NULL;
    cji_block *b = a->spare;
    a->spare = b->next;
    *b = (cji_block){ .number = b->number, .chunk = c };
    b->mem = (cji_mem){ .state = state, .type = state->blocks.type, .shape = CJI_MEM_BLOCK, .addr = addr };
    block_resize(b, room);
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

void cji_blocks_fini(cji_allocator *a)
{
    for (size_t i = 0; i < a->slabs; i++) cji_free(a->slab[i].memory, slab_bytes());
    cji_free(a->slab, a->slab_cap * sizeof *a->slab);
    cji_free(a->index, index_cap(a) * sizeof *a->index);
}

cji_block *cji_block_cut(cji_mem_state *state, cji_block *b, size_t room)
{
    cji_block *rest = b->room > room ? block_new(state, b->chunk, b->mem.addr + room, b->room - room) : NULL;
    if (!rest) return NULL;
    rest->below = b;
    rest->above = b->above;
    if (rest->above) rest->above->below = rest;
    b->above = rest;
    block_resize(b, room);
    return rest;
}

/* The block above becomes a part of `b`. */
static void block_join(cji_mem_state *state, cji_block *b)
{
    cji_block *above = b->above;
    block_resize(b, b->room + above->room);
    b->above = above->above;
    if (b->above) b->above->below = b;
    block_delete(state, above);
}

/* -- The heap ------------------------------------------------------------------------------------------------------ */

static void block_enter(cji_allocator *a, cji_block *b)
{
    cji_bins_push(&a->idle, b);
    if (b->next) b->next->prev = b;
}

void cji_block_wake(cji_allocator *a, cji_block *b)
{
    if (a->idle.bin[b->mem.bin] == b) {
        cji_bins_pop(&a->idle, b->mem.bin);
        return;
    }
    b->prev->next = b->next;
    if (b->next) b->next->prev = b->prev;
}

void cji_block_idle(cji_mem_state *state, cji_block *b)
{
    b->mem.place = CJI_PLACE_IDLE;
    b->mem.home = NULL;
    block_enter(&state->blocks, b);
    state->blocks.joined = false;
}

void cji_blocks_join(cji_mem_state *state)
{
    cji_allocator *a = &state->blocks;
    for (cji_chunk *c = a->joined ? NULL : a->chunks; c; c = c->next) {
        for (cji_block *b = c->first; b; b = b->above) {
            if (b->mem.place != CJI_PLACE_IDLE || !b->above || b->above->mem.place != CJI_PLACE_IDLE) continue;
            cji_block_wake(a, b);
            while (b->above && b->above->mem.place == CJI_PLACE_IDLE) {
                cji_block_wake(a, b->above);
                block_join(state, b);
            }
            block_enter(a, b);
        }
    }
    a->joined = true;
}

cji_block *cji_block_take_idle(cji_mem_state *state, unsigned bin)
{
    cji_block *b = cji_bins_find(&state->blocks.idle, bin, CJI_BINS - 1);
    if (!b) return NULL;
    cji_block_wake(&state->blocks, b);
    b->mem.place = CJI_PLACE_LIVE;
    cji_block *rest = cji_block_cut(state, b, cji_bin_bytes(bin));
    if (rest) cji_block_idle(state, rest);
    return b;
}

void cji_block_declare(const cji_mem_state *state, const cji_block *b, const CUstream *raw, size_t bytes)
{
    const cj_driver *drv = state->dev->drv;
    if (drv->suballoc) drv->suballoc(raw ? *raw : NULL, !raw, b->mem.addr, bytes ? bytes : b->room, bytes != 0);
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
