/* Tables of cells; stacks, magazines and batches of handles. */
#include "base/cells.h"

#include <string.h>

#include "base/lock.h"
#include "base/mem.h"
#include "base/obj.h"

enum { CELL_LINE = 64, CELL_BATCHES = CJI_CELLS_CHUNK / CJI_BATCH };
static const size_t cell_bytes = CJI_CELLS_CHUNK * sizeof(cji_cell);
static const size_t chunk_bytes = CJI_CELLS_CHUNK * sizeof(cji_cell) + CELL_BATCHES * sizeof(cji_batch) + CELL_LINE;

static size_t chunks_of(uint32_t bound) { return ((size_t)bound + CJI_CELLS_CHUNK - 1) / CJI_CELLS_CHUNK; }

bool cji_cells_init(cji_cells *t, uint64_t pool, uint32_t bound)
{
    const size_t n = chunks_of(bound);
    *t = (cji_cells){ .number = (uint32_t)(pool % 4095 + 1) << CJI_CELL_BITS, .bound = bound };
    cji_spin_init(&t->depot);
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

/* -- The depot ----------------------------------------------------------------------------------------------------- */

static void depot_lock(cji_cells *t) { cji_spin_lock(&t->depot, CJI_LOCK_DEPOT); }
static void depot_unlock(cji_cells *t) { cji_spin_unlock(&t->depot, CJI_LOCK_DEPOT); }

static void depot_put(cji_cells *t, cji_batch **list, cji_batch *b)
{
    depot_lock(t);
    b->next = *list;
    *list = b;
    if (list != &t->empty) t->full[list - t->batch]++;
    depot_unlock(t);
}

static cji_batch *depot_take(cji_cells *t, cji_batch **list)
{
    depot_lock(t);
    cji_batch *b = *list;
    if (b) {
        *list = b->next;
        if (list != &t->empty) t->full[list - t->batch]--;
    }
    depot_unlock(t);
    return b;
}

uint64_t cji_depot_count(cji_cells *t, uint32_t kind)
{
    depot_lock(t);
    const uint64_t n = (uint64_t)t->full[kind] * CJI_BATCH;
    depot_unlock(t);
    return n;
}

void cji_depot_empty(cji_cells *t, uint32_t kind)
{
    cji_cell_stack *stack = &t->free[kind];
    for (cji_batch *b; (b = depot_take(t, &t->batch[kind]));) {
        memcpy(stack->handle + stack->n, b->handle, sizeof b->handle);
        stack->n += CJI_BATCH;
        depot_put(t, &t->empty, b);
    }
}

/* -- Cells --------------------------------------------------------------------------------------------------------- */

static bool cells_add_chunk(cji_cells *t, size_t i)
{
    char *block = cji_zalloc(chunk_bytes);
    if (!block) return false;
    t->block[i] = block;
    block += CELL_LINE - (uintptr_t)block % CELL_LINE;
    for (int k = 0; k < CELL_BATCHES; k++)
        depot_put(t, &t->empty, (cji_batch *)(void *)(block + cell_bytes) + k);
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
    atomic_store_explicit(&c->state, UINT64_C(1) << 32 | t->number | index, memory_order_relaxed);
    c->index = index;
    c->kind = kind;
    atomic_store_explicit(&t->made, index + 1, memory_order_release);
    return c;
}

/* A number of holders is less than the low half of any handle, where the pool's number is. */
static const uint32_t holders_most = (1u << CJI_CELL_BITS) - 1;

bool cji_cell_retain(cji_cell *c, uint64_t handle)
{
    uint64_t now = atomic_load_explicit(&c->state, memory_order_relaxed), next;
    do {
        if (now >> 32 != handle >> 32 || (uint32_t)now == holders_most) return false;
        next = now == handle ? (handle >> 32) << 32 | 2 : now + 1;
    } while (!atomic_compare_exchange_weak(&c->state, &now, next));
    return true;
}

cji_cell_fault cji_cell_release(cji_cell *c, uint64_t handle, bool *last)
{
    uint64_t now = atomic_load_explicit(&c->state, memory_order_relaxed), next;
    do {
        if (now >> 32 != handle >> 32) return CJI_CELL_STALE;
        *last = now == handle;
        next = *last ? cji_cell_next(handle) : (uint32_t)now == 2 ? handle : now - 1;
    } while (!atomic_compare_exchange_weak_explicit(&c->state, &now, next, memory_order_acq_rel,
                                                    memory_order_relaxed));
    return CJI_CELL_GOOD;
}

cj_status cji_cell_reject(void *owner, uint64_t handle, cji_cell_fault fault, const cji_cell_words *words,
                          const char *call)
{
    static const char *const why[] = { [CJI_CELL_FOREIGN] = "is of another pool",
                                       [CJI_CELL_STALE] = "was released before; acquire another one" };
    if (fault == CJI_CELL_NONE)
        return cji_fail(owner, CJ_EHANDLE, call, "%s 0x%llx is none; %s has failed", words->thing,
                        (unsigned long long)handle, words->acquire);
    return cji_fail(owner, CJ_EHANDLE, call, "%s 0x%llx %s", words->thing, (unsigned long long)handle, why[fault]);
}

/* -- Magazines ----------------------------------------------------------------------------------------------------- */

bool cji_magazine_refill(cji_magazine *m, cji_cells *t, uint32_t kind)
{
    cji_batch *b = depot_take(t, &t->batch[kind]);
    if (!b) return false;
    memcpy(m->handle, b->handle, sizeof b->handle);
    atomic_store_explicit(&m->n, CJI_BATCH, memory_order_relaxed);
    depot_put(t, &t->empty, b);
    return true;
}

bool cji_magazine_spill(cji_magazine *m, cji_cells *t, uint32_t kind)
{
    cji_batch *b = depot_take(t, &t->empty);
    if (!b) return false; /* other threads are moving handles with them */
    memcpy(b->handle, m->handle + CJI_MAGAZINE - CJI_BATCH, sizeof b->handle);
    atomic_store_explicit(&m->n, CJI_MAGAZINE - CJI_BATCH, memory_order_relaxed);
    depot_put(t, &t->batch[kind], b);
    return true;
}

void cji_magazine_fill(cji_magazine *m, cji_cell_stack *stack)
{
    const unsigned n = atomic_load_explicit(&m->n, memory_order_relaxed);
    size_t count = CJI_MAGAZINE - n < CJI_BATCH ? CJI_MAGAZINE - n : CJI_BATCH;
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
