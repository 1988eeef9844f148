/* Handles that are values: an index, a pool's number and a generation in 64 bits.  Prefixes cji_cell, cji_cells.
 *
 * A cell is the place of one handle.  Its state has the generation of the handle and the number of its holders.  The
 * generation changes when the last holder releases it, so that every later use of the old handle is detected.
 *
 * Invariants: a free cell has already the generation of its next handle, with one holder: acquiring changes nothing in
 * it.  Cells never move, and are freed with their table.  A free handle is in exactly one place: a thread's magazine,
 * or one of the table's stacks (which the owner's lock guards), or with the thread that is moving it.  0 is no
 * handle. */
#ifndef CJI_CELLS_H
#define CJI_CELLS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct cji_cell {
    _Alignas(64) atomic_uint_fast64_t state; /* generation << 32 | holders */
    atomic_uint_fast64_t note;               /* the owner's */
    void *what;                              /* the owner's: changed by who has the handle alone */
    uint64_t more[3];                        /* the owner's, likewise */
    uint32_t index;
    uint32_t kind;
} cji_cell;

enum { CJI_CELL_BITS = 20, CJI_CELLS_CHUNK = 64, CJI_CELL_KINDS = 3, CJI_MAGAZINE = 64, CJI_MAGAZINE_STEP = 32 };

/* A stack of free handles. */
typedef struct cji_cell_stack { uint64_t *handle; size_t n, cap; } cji_cell_stack;

/* A thread's free handles of one kind, and what it has done; other threads only read the atomics. */
typedef struct cji_magazine {
    atomic_uint n;
    uint64_t handle[CJI_MAGAZINE];
    atomic_uint_fast64_t acquired, released;
} cji_magazine;

typedef struct cji_cells {
    uint32_t number;             /* the pool's part of a handle, shifted */
    uint32_t bound;              /* most cells */
    atomic_uint made;            /* cells so far; grows with the owner's lock held */
    cji_cell *_Atomic *chunk;    /* of CJI_CELLS_CHUNK cells, in blocks aligned to a line of the cache */
    void **block;                /* what was allocated for each */
    cji_cell_stack free[CJI_CELL_KINDS];
} cji_cells;

/* False without memory. */
bool cji_cells_init(cji_cells *t, uint64_t pool, uint32_t bound);
void cji_cells_fini(cji_cells *t);

/* A new cell of a kind, with the owner's lock held; room in the kind's stack is reserved for all its cells.  NULL: the
 * bound is reached (*full) or no memory. */
cji_cell *cji_cells_make(cji_cells *t, uint32_t kind, bool *full);

static inline cji_cell *cji_cells_at(const cji_cells *t, uint32_t index)
{
    return atomic_load_explicit(&t->chunk[index / CJI_CELLS_CHUNK], memory_order_acquire) + index % CJI_CELLS_CHUNK;
}

/* The handle that a free cell has next. */
static inline uint64_t cji_cell_handle(const cji_cells *t, const cji_cell *c)
{
    return (atomic_load_explicit(&c->state, memory_order_relaxed) >> 32) << 32 | t->number | c->index;
}

/* What is wrong with a handle. */
typedef enum cji_cell_fault { CJI_CELL_GOOD, CJI_CELL_NONE, CJI_CELL_FOREIGN, CJI_CELL_STALE } cji_cell_fault;

/* The handle's cell; NULL: *fault says why. */
static inline cji_cell *cji_cells_find(const cji_cells *t, uint64_t handle, cji_cell_fault *fault)
{
    const uint32_t low = (uint32_t)handle, index = low & ((1u << CJI_CELL_BITS) - 1);
    if (low - index != t->number || index >= atomic_load_explicit(&t->made, memory_order_acquire)) {
        *fault = handle ? CJI_CELL_FOREIGN : CJI_CELL_NONE;
        return NULL;
    }
    cji_cell *c = cji_cells_at(t, index);
    if (atomic_load_explicit(&c->state, memory_order_acquire) >> 32 == handle >> 32) return c;
    *fault = CJI_CELL_STALE;
    return NULL;
}

/* One holder more; false: the handle was released meanwhile. */
bool cji_cell_retain(cji_cell *c, uint64_t handle);
/* One holder less.  CJI_CELL_STALE: the handle was released meanwhile.  *last: nobody holds it any more, and the cell
 * is the caller's alone, with its next handle. */
static inline cji_cell_fault cji_cell_release(cji_cell *c, uint64_t handle, bool *last)
{
    uint64_t now = atomic_load_explicit(&c->state, memory_order_relaxed), next;
    do {
        if (now >> 32 != handle >> 32) return CJI_CELL_STALE;
        *last = (uint32_t)now == 1;
        next = *last ? ((now >> 32) + 1) << 32 | 1 : now - 1;
    } while (!atomic_compare_exchange_weak_explicit(&c->state, &now, next, memory_order_acq_rel,
                                                    memory_order_relaxed));
    return CJI_CELL_GOOD;
}

/* -- Magazines: by their thread --------------------------------------------------------------------------------- */

static inline void cji_bump(atomic_uint_fast64_t *counter) /* of which this thread is the only writer */
{
    atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + 1, memory_order_relaxed);
}

/* A free handle; 0: the magazine is empty. */
static inline uint64_t cji_magazine_take(cji_magazine *m)
{
    const unsigned n = atomic_load_explicit(&m->n, memory_order_relaxed);
    if (!n) return 0;
    atomic_store_explicit(&m->n, n - 1, memory_order_relaxed);
    return m->handle[n - 1];
}
/* False: it is full. */
static inline bool cji_magazine_put(cji_magazine *m, uint64_t handle)
{
    const unsigned n = atomic_load_explicit(&m->n, memory_order_relaxed);
    if (n == CJI_MAGAZINE) return false;
    m->handle[n] = handle;
    atomic_store_explicit(&m->n, n + 1, memory_order_relaxed);
    return true;
}

/* With the owner's lock held: up to CJI_MAGAZINE_STEP handles of the stack to the magazine; `count` handles of the
 * magazine to the stack. */
void cji_magazine_fill(cji_magazine *m, cji_cell_stack *stack);
void cji_magazine_empty(cji_magazine *m, cji_cell_stack *stack, unsigned count);

/* With the owner's lock held.  The stack has room for all handles of its kind. */
static inline void cji_cell_stack_put(cji_cell_stack *stack, uint64_t handle) { stack->handle[stack->n++] = handle; }
static inline uint64_t cji_cell_stack_take(cji_cell_stack *stack)
{
    return stack->n ? stack->handle[--stack->n] : 0;
}

#endif
