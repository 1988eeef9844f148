/* What an event pool is, for its own files.  Prefix cji_event_pool. */
#ifndef CJI_EVENT_POOL_H
#define CJI_EVENT_POOL_H

#include "stream/core/stream_core.h"

enum { CJI_EVENT_KINDS = 3, CJI_POOL_LINES = 64, CJI_POOL_LOOKS = 32 };

/* A thread's part of the pool. */
typedef struct cji_event_cache {
    cji_thread_cache base;
    cji_magazine kind[CJI_EVENT_KINDS];
} cji_event_cache;

/* Cells in the order in which they came; linked by more[0], an index plus 1. */
typedef struct cji_cell_line { uint32_t first, last; } cji_cell_line;

/* Events of one kind; guarded by the pool's lock.  A cell is with a holder, in a magazine or in the stack of free
 * handles with an event that is as new; or in a line of `pending` with an event whose point was not seen reached; or
 * in `hollow`, without an event. */
typedef struct cji_event_kind_state {
    uint32_t bound, first; /* most cells; events created with the pool */
    uint32_t cells;        /* so far */
    uint32_t events;       /* cells with an event */
    uint32_t pending_count;
    uint64_t busy;         /* a bit for each line that is not empty */
    unsigned turn;         /* the line that is looked at first */
    cji_cell_line pending[CJI_POOL_LINES]; /* by the slot's bit of the stream that they were recorded on */
    cji_cell_line hollow;
} cji_event_kind_state;

struct cj_event_pool {
    cji_obj obj;           /* references: users, and the caches of threads, which keep the memory only */
    cj_device *dev;        /* retained while there are users */
    cji_release_queue *queue;
    const cji_cu *cu;
    atomic_uint users;     /* who may use it: the owner, and parts of the library; the last one closes it */
    uint32_t growth;
    cji_thread_caches caches;
    cji_cells cells;
    char apart[64];        /* the lock is in another line of the processor's cache than what each call reads */
    pthread_mutex_t lock;
    cji_event_kind_state kind[CJI_EVENT_KINDS];
    uint64_t acquired;                /* by threads that have ended, or without a cache */
    uint64_t failed, grown, replaced; /* under the lock too */
};

/* -- event_pool_cells.c -- */

static inline cj_event *cji_cell_event(const cji_cell *c) { return c->what; }

/* With the lock held: a cell whose event was released joins the pending ones, or those without an event, and then the
 * caller drops *drop. */
void cji_event_pool_settle(cj_event_pool *pool, cji_cell *c, cj_event **drop);
/* Makes the event as new; its point is reached, or it has none.  False: somebody watches the point, so that the event
 * stays as it is. */
bool cji_event_pool_renew(cji_cell *c);
/* A free handle of the kind, from the stack, from the pending events, or by growing; 0: the failure is recorded in
 * `into` for `call`.  Fills the magazine, which may be NULL, on the way. */
uint64_t cji_event_pool_find(cj_event_pool *pool, cj_event_kind kind, cji_magazine *m, void *into, const char *call);
/* Creates events until the kind has its first number; false: a failure is recorded in the pool. */
bool cji_event_pool_prepare(cj_event_pool *pool, cj_event_kind kind, const char *call);
/* Frees free events down to the first number.  Returns how many. */
uint32_t cji_event_pool_shrink(cj_event_pool *pool, cj_event_kind kind);
/* Drops every event. */
void cji_event_pool_clear(cj_event_pool *pool);

#endif
