/* A device's table of memory: a search tree by address, in which each entry's rank decides who is above whom (a
 * treap).  A rank is computed from the address, so that the tree needs no balancing.  A chunk is one entry. */
#include "stream/memory/stream_memory.h"

/* -- The tree; with the state's lock held -------------------------------------------------------------------------- */

static uint64_t table_rank(const cji_mem *m) { return (m->addr >> 8) * UINT64_C(0x9e3779b97f4a7c15); }

static bool table_before(const cji_mem *a, const cji_mem *b)
{
    return a->addr != b->addr ? a->addr < b->addr : (uintptr_t)a < (uintptr_t)b;
}

static bool reserves(const cji_mem *m) { return m->type && m->type->reserved; }

void cji_mem_insert(cji_mem_state *state, cji_mem *m)
{
    state->nreserving += reserves(m);
    cji_mem **at = &state->table, **less = &m->left, **more = &m->right;
    while (*at && table_rank(*at) > table_rank(m)) at = table_before(m, *at) ? &(*at)->left : &(*at)->right;
    cji_mem *rest = *at; /* is split into what comes before and behind */
    *at = m;
    while (rest) {
        if (table_before(rest, m)) {
            *less = rest;
            less = &rest->right;
        } else {
            *more = rest;
            more = &rest->left;
        }
        rest = table_before(rest, m) ? rest->right : rest->left;
    }
    *less = *more = NULL;
}

void cji_mem_remove(cji_mem_state *state, const cji_mem *m)
{
    state->nreserving -= reserves(m);
    cji_mem **at = &state->table, *less = m->left, *more = m->right;
    while (*at != m) at = table_before(m, *at) ? &(*at)->left : &(*at)->right;
    while (less && more) { /* both are joined in its place */
        const bool first = table_rank(less) > table_rank(more);
        *at = first ? less : more;
        at = first ? &less->right : &more->left;
        if (first) less = *at;
        else more = *at;
    }
    *at = less ? less : more;
}

/* The last entry that starts at or before the address. */
static cji_mem *table_floor(const cji_mem_state *state, uint64_t addr)
{
    cji_mem *floor = NULL;
    for (cji_mem *m = state->table; m;) {
        if (m->addr <= addr) floor = m;
        m = m->addr <= addr ? m->right : m->left;
    }
    return floor;
}

/* The first entry that starts behind the address. */
static const cji_mem *table_above(const cji_mem_state *state, uint64_t addr)
{
    const cji_mem *above = NULL;
    for (const cji_mem *m = state->table; m;) {
        if (m->addr > addr) above = m;
        m = m->addr > addr ? m->left : m->right;
    }
    return above;
}

static cji_mem *table_holder(const cji_mem_state *state, uint64_t addr)
{
    cji_mem *m = table_floor(state, addr);
    return m && addr - m->addr < m->bytes ? m : NULL;
}

cji_mem *cji_mem_reserver(const cji_mem_state *state, uint64_t addr)
{
    cji_mem *m = state->nreserving ? table_floor(state, addr) : NULL;
    if (!m || !reserves(m) || addr - m->addr < m->bytes) return NULL;
    return addr - m->addr < m->type->reserved(m) ? m : NULL;
}

cji_chunk *cji_mem_chunk_of(const cji_mem_state *state, uint64_t addr)
{
    cji_mem *m = table_holder(state, addr);
    return m && m->shape == CJI_MEM_CHUNK ? (cji_chunk *)m : NULL;
}

cji_mem *cji_mem_holder(const cji_mem_state *state, uint64_t addr)
{
    cji_mem *m = table_holder(state, addr);
    if (!m || m->shape != CJI_MEM_CHUNK) return m;
    cji_block *b = cji_block_holder(&state->blocks, (cji_chunk *)m, addr);
    return b && b->mem.place == CJI_PLACE_LIVE && addr - b->mem.addr < b->mem.bytes ? &b->mem : NULL;
}

bool cji_mem_overlaps(const cji_mem_state *state, uint64_t addr, size_t bytes)
{
    const cji_mem *above = table_above(state, addr);
    return table_holder(state, addr) || (above && above->addr - addr < bytes);
}
