/* Tables of cells, stacks and magazines of handles. */
#include "base/cells.h"

#include <string.h>

#include "base/mem.h"

enum { CELL_LINE = 64 };
static const size_t chunk_bytes = CJI_CELLS_CHUNK * sizeof(cji_cell) + CELL_LINE;

static size_t chunks_of(uint32_t bound) { return ((size_t)bound + CJI_CELLS_CHUNK - 1) / CJI_CELLS_CHUNK; }

bool cji_cells_init(cji_cells *t, uint64_t pool, uint32_t bound)
{
    const size_t n = chunks_of(bound);
    *t = (cji_cells){ .number = (uint32_t)(pool % 4095 + 1) << CJI_CELL_BITS, .bound = bound };
    t->chunk = cji_zalloc(n * sizeof *t->chunk);
    t->block = cji_zalloc(n * sizeof *t->block);
    if (t->chunk && t->block) return true;
    cji_cells_fini(t);
    return false;
}

void cji_cells_fini(cji_cells *t)
{
    const size_t n = chunks_of(t->bound);
    for (size_t i = 0; t->block && i < n; i++) cji_free(t->block[i], chunk_bytes);
    cji_free(t->chunk, n * sizeof *t->chunk);
    cji_free(t->block, n * sizeof *t->block);
    for (int k = 0; k < CJI_CELL_KINDS; k++) cji_free(t->free[k].handle, t->free[k].cap * sizeof *t->free[k].handle);
    *t = (cji_cells){ .bound = 0 };
}

static bool cells_add_chunk(cji_cells *t, size_t i)
{
    char *block = cji_zalloc(chunk_bytes);
    if (!block) return false;
    t->block[i] = block;
    block += CELL_LINE - (uintptr_t)block % CELL_LINE;
    atomic_store_explicit(&t->chunk[i], (cji_cell *)(void *)block, memory_order_release);
    return true;
}

cji_cell *cji_cells_make(cji_cells *t, uint32_t kind, bool *full)
{
    const uint32_t index = atomic_load_explicit(&t->made, memory_order_relaxed);
    cji_cell_stack *stack = &t->free[kind];
    *full = index == t->bound;
    if (*full || !cji_grow(&stack->handle, &stack->cap, (size_t)index + 1, sizeof *stack->handle)) return NULL;
    if (!t->block[index / CJI_CELLS_CHUNK] && !cells_add_chunk(t, index / CJI_CELLS_CHUNK)) return NULL;
    cji_cell *c = cji_cells_at(t, index);
    atomic_store_explicit(&c->state, UINT64_C(1) << 32 | 1, memory_order_relaxed);
    c->index = index;
    c->kind = kind;
    atomic_store_explicit(&t->made, index + 1, memory_order_release);
    return c;
}

bool cji_cell_retain(cji_cell *c, uint64_t handle)
{
    uint64_t now = atomic_load_explicit(&c->state, memory_order_relaxed);
    do {
        if (now >> 32 != handle >> 32 || (uint32_t)now == UINT32_MAX) return false;
    } while (!atomic_compare_exchange_weak(&c->state, &now, now + 1));
    return true;
}

/* -- Magazines ----------------------------------------------------------------------------------------------------- */

void cji_magazine_fill(cji_magazine *m, cji_cell_stack *stack)
{
    const unsigned n = atomic_load_explicit(&m->n, memory_order_relaxed);
    size_t count = CJI_MAGAZINE - n < CJI_MAGAZINE_STEP ? CJI_MAGAZINE - n : CJI_MAGAZINE_STEP;
    if (count > stack->n) count = stack->n;
    if (!count) return; /* an empty stack may have no memory yet */
    stack->n -= count;
    memcpy(m->handle + n, stack->handle + stack->n, count * sizeof *m->handle);
    atomic_store_explicit(&m->n, n + (unsigned)count, memory_order_relaxed);
}

void cji_magazine_empty(cji_magazine *m, cji_cell_stack *stack, unsigned count)
{
    const unsigned n = atomic_load_explicit(&m->n, memory_order_relaxed);
    if (count > n) count = n;
    if (!count) return; /* an empty stack may have no memory yet */
    memcpy(stack->handle + stack->n, m->handle + n - count, count * sizeof *m->handle);
    stack->n += count;
    atomic_store_explicit(&m->n, n - count, memory_order_relaxed);
}
