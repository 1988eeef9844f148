/* Handles that are values: an index, a pool's number and a generation in 64 bits.  Prefixes cji_cell, cji_cells.
 *
 * A cell is the place of one handle.  Its state is one word: the handle itself while it has one holder; with more, its
 * generation and their number.  The generation changes when the last holder releases it, so that every later use of the
 * old handle is detected.
 *
 * Invariants: the state of a free cell is its next handle: acquiring changes nothing in it.  Cells never move, and are
 * freed with their table.  A free handle is in exactly one place: a thread's magazine, a batch of the table's depot,
 * one of the table's stacks (which the owner's lock guards), or with the thread that is moving it.  0 is no handle.
 *
 * The only holder of a handle releases it without an atomic read-modify-write, whoever has acquired it: no other thread
 * may change the state meanwhile.  So a processor can have the cells of several releases under way from other
 * processors' caches.  A second release of the handle is detected unless it runs at the same moment as the first, on
 * another thread; then both may succeed. */
#ifndef CJI_CELLS_H
#define CJI_CELLS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cujit/base.h>

#include "base/lock.h"
#include "base/obj.h"

typedef struct cji_cell {
    _Alignas(64) atomic_uint_fast64_t state; /* the handle; with two holders or more: generation << 32 | holders */
    atomic_uint_fast64_t note;               /* the owner's */
    void *what;                              /* the owner's: changed by who has the handle alone */
    uint64_t more[3];                        /* the owner's, likewise */
    uint32_t index;
    uint32_t kind;
} cji_cell;

enum { CJI_CELL_BITS = 20, CJI_CELLS_CHUNK = 64, CJI_CELL_KINDS = 3, CJI_BATCH = 63,
       CJI_MAGAZINE = 2 * CJI_BATCH };

/* A stack of free handles. */
typedef struct cji_cell_stack { uint64_t *handle; size_t n, cap; } cji_cell_stack;

/* Handles that pass from one thread's magazine to another's. */
typedef struct cji_batch {
    struct cji_batch *next;
    uint64_t handle[CJI_BATCH];
    char apart[64 - sizeof(struct cji_batch *)]; /* whole lines of the cache */
} cji_batch;

/* A thread's free handles of one kind, and what it has done; other threads only read the atomics. */
typedef struct cji_magazine {
    atomic_uint n;
    uint64_t handle[CJI_MAGAZINE];
    atomic_uint_fast64_t acquired;
} cji_magazine; /* 1 KB, so that an array of them is indexed by a shift */

typedef struct cji_cells {
    uint32_t number;             /* the pool's part of a handle, shifted */
    uint32_t bound;              /* most cells */
    atomic_uint made;            /* cells so far; grows with the owner's lock held */
    cji_cell *_Atomic *chunk;    /* of CJI_CELLS_CHUNK cells, in blocks aligned to a line of the cache */
    void **block;                /* what was allocated for each: cells, and batches for as many handles */
    char apart[64];              /* what each call reads is in other lines of the cache than what some calls change */
    cji_cell_stack free[CJI_CELL_KINDS]; /* under the owner's lock */
    char apart_too[64];
    cji_spin depot;              /* guards the batches */
    uint32_t full[CJI_CELL_KINDS]; /* batches */
    cji_batch *batch[CJI_CELL_KINDS], *empty;
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
/* The cell of a handle that is known to be the table's. */
static inline cji_cell *cji_cells_of(const cji_cells *t, uint64_t handle)
{
    return cji_cells_at(t, (uint32_t)handle & ((1u << CJI_CELL_BITS) - 1));
}

/* The handle that a free cell has next. */
static inline uint64_t cji_cell_handle(const cji_cell *c)
{
    return atomic_load_explicit(&c->state, memory_order_relaxed);
}

/* What is wrong with a handle. */
typedef enum cji_cell_fault { CJI_CELL_GOOD, CJI_CELL_NONE, CJI_CELL_FOREIGN, CJI_CELL_STALE } cji_cell_fault;

/* The handle's cell; NULL: *fault says why. */
static inline cji_cell *cji_cells_find(const cji_cells *t, uint64_t handle, cji_cell_fault *fault)
{
    const uint32_t index = (uint32_t)handle - t->number; /* of another pool's handle it is more than any index */
    if (index >= atomic_load_explicit(&t->made, memory_order_acquire)) {
        *fault = handle ? CJI_CELL_FOREIGN : CJI_CELL_NONE;
        return NULL;
    }
    cji_cell *c = cji_cells_at(t, index);
    if (atomic_load_explicit(&c->state, memory_order_acquire) >> 32 == handle >> 32) return c;
    *fault = CJI_CELL_STALE;
    return NULL;
}

/* The words of an owner: its type, what a handle is ("the lease"), the call that makes one. */
typedef struct cji_cell_words { cji_tag tag; const char *thing, *acquire; } cji_cell_words;

/* The owner's failure for a handle that it rejects: CJ_EHANDLE. */
cj_status cji_cell_reject(void *owner, uint64_t handle, cji_cell_fault fault, const cji_cell_words *words,
                          const char *call);

/* The cell of a handle that is held, of the table that is `at` bytes into an owner, which is checked here; NULL: *st is
 * the failure, left in the owner. */
static inline cji_cell *cji_cells_held(void *owner, size_t at, uint64_t handle, const cji_cell_words *words,
                                       cj_status *st, const char *call)
{
    cji_cell_fault fault = CJI_CELL_GOOD;
    *st = cji_is_live(owner, words->tag) ? CJ_OK : cji_check(owner, words->tag, call);
    if (*st != CJ_OK) return NULL;
    cji_cell *c = cji_cells_find((const cji_cells *)(const void *)((const char *)owner + at), handle, &fault);
    if (!c) *st = cji_cell_reject(owner, handle, fault, words, call);
    return c;
}

/* One holder more; false: the handle was released meanwhile. */
bool cji_cell_retain(cji_cell *c, uint64_t handle);

/* One holder less.  CJI_CELL_STALE: the handle was released meanwhile.  *last: nobody holds it any more, and the cell
 * is the caller's alone, with its next handle. */
cji_cell_fault cji_cell_release(cji_cell *c, uint64_t handle, bool *last);

static inline uint64_t cji_cell_next(uint64_t handle) { return handle + (UINT64_C(1) << 32); }

/* Of functions with a quick release.  A prefetch for writing is an instruction that compilers for any x86-64 leave out;
 * processors without it take it for no operation. */
#ifdef __x86_64__
#define CJI_PREFETCHES_TO_WRITE __attribute__((target("prfchw")))
#else
#define CJI_PREFETCHES_TO_WRITE
#endif

/* The usual release, of a handle with one holder: *cell is the caller's alone, and its next handle is
 * cji_cell_next(handle).  False: cji_cells_find() and cji_cell_release() decide. */
static inline bool cji_cells_release_only(const cji_cells *t, uint64_t handle, cji_cell **cell)
{
    const uint32_t index = (uint32_t)handle - t->number;
    if (index >= atomic_load_explicit(&t->made, memory_order_acquire)) return false;
    cji_cell *c = *cell = cji_cells_at(t, index);
    __builtin_prefetch(c, 1); /* the line is going to be changed: it comes once, not twice */
    if (atomic_load_explicit(&c->state, memory_order_acquire) != handle) return false;
    atomic_store_explicit(&c->state, cji_cell_next(handle), memory_order_release);
    return true;
}

/* -- Magazines: by their thread --------------------------------------------------------------------------------- */

static inline void cji_bump(atomic_uint_fast64_t *counter) /* of which this thread is the only writer */
{
    atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + 1, memory_order_relaxed);
}

/* A batch of the depot to an empty magazine, or of a full magazine to the depot.  False: the depot has none, or no room
 * for one.  With or without the owner's lock. */
bool cji_magazine_refill(cji_magazine *m, cji_cells *t, uint32_t kind);
bool cji_magazine_spill(cji_magazine *m, cji_cells *t, uint32_t kind);

/* A free handle; 0: the magazine is empty, and the depot too. */
static inline uint64_t cji_magazine_take(cji_magazine *m, cji_cells *t, uint32_t kind)
{
    unsigned n = atomic_load_explicit(&m->n, memory_order_relaxed);
    if (!n) {
        if (!cji_magazine_refill(m, t, kind)) return 0;
        n = CJI_BATCH;
    }
    atomic_store_explicit(&m->n, n - 1, memory_order_relaxed);
    return m->handle[n - 1];
}
/* False: it is full, and so is the depot. */
static inline bool cji_magazine_put(cji_magazine *m, cji_cells *t, uint32_t kind, uint64_t handle)
{
    unsigned n = atomic_load_explicit(&m->n, memory_order_relaxed);
    if (n == CJI_MAGAZINE) {
        if (!cji_magazine_spill(m, t, kind)) return false;
        n = CJI_MAGAZINE - CJI_BATCH;
    }
    m->handle[n] = handle;
    atomic_store_explicit(&m->n, n + 1, memory_order_relaxed);
    return true;
}

/* With the owner's lock held: up to CJI_BATCH handles of the stack to the magazine; `count` handles of the magazine to
 * the stack; all batches of the depot to the stack. */
void cji_magazine_fill(cji_magazine *m, cji_cell_stack *stack);
void cji_magazine_empty(cji_magazine *m, cji_cell_stack *stack, unsigned count);
void cji_depot_empty(cji_cells *t, uint32_t kind);
/* How many handles the depot has. */
uint64_t cji_depot_count(cji_cells *t, uint32_t kind);

/* With the owner's lock held.  The stack has room for all handles of its kind. */
static inline void cji_cell_stack_put(cji_cell_stack *stack, uint64_t handle) { stack->handle[stack->n++] = handle; }
static inline uint64_t cji_cell_stack_take(cji_cell_stack *stack)
{
    return stack->n ? stack->handle[--stack->n] : 0;
}

#endif
