/* The room coordinate: the waiter.  Prefixes: cji_heap, cji_wait.
 *
 *   wait_heap.c      pairing heaps: waits by their order in a stream, and by their deadline
 *   wait_table.c     handles and memory of waits; groups; the one place where a wait completes
 *   wait_deliver.c   completed waits: callbacks, records, the descriptor
 *   wait_watch.c     the thread that watches; wait_pace.c: how often it queries
 *   waiter.c         made, shut down, freed
 *   waiter_add.c     add and cancel
 *   waiter_poll.c    records, callbacks on the caller's thread
 *
 * Locks: base/lock_order.def. */
#ifndef CJI_STREAM_COORDINATE_H
#define CJI_STREAM_COORDINATE_H

#include <cujit/waiter.h>

#include "stream/core/stream_core.h"

/* -- Pairing heaps (wait_heap.c) ----------------------------------------------------------------------------------- */

/* The least key is at the root; equal keys in any order.  Nodes are part of what is in the heap. */
typedef struct cji_heap_node {
    struct cji_heap_node *child, *next; /* the first child; the next sibling */
    struct cji_heap_node *prev;         /* the sibling before; of a first child the parent; of the root NULL */
    uint64_t key;
} cji_heap_node;

cji_heap_node *cji_heap_insert(cji_heap_node *root, cji_heap_node *n); /* the new root; O(1) */
cji_heap_node *cji_heap_remove(cji_heap_node *root, cji_heap_node *n); /* the same; O(log n) on average */

/* -- Waits --------------------------------------------------------------------------------------------------------- */

/* The life of a wait: FREE, then PENDING when it is added, then QUEUED when it completes, then RUNNING while its
 * callback runs, then FREE.  It leaves PENDING once, in cji_wait_complete(), with the waiter's lock held: so each wait
 * has one completion, whoever comes first of the thread that watches, a cancel and the shutdown.
 *
 * A group has the pending waits of one stream, by their order there; only its first is queried.  Where the stream is
 * not known, the waits for one point are a group.  The order of points that several threads record on a stream is a
 * hint: the thread that watches also queries all waits in turn, one at each look, so that none is hidden for good. */

typedef enum cji_wait_state { CJI_WAIT_FREE, CJI_WAIT_PENDING, CJI_WAIT_QUEUED, CJI_WAIT_RUNNING } cji_wait_state;

typedef struct cji_wait_group {
    struct cji_wait_group *next, *prev; /* of all groups; next of the spare ones, too */
    struct cji_wait_group *same;        /* in a row of the table of groups */
    uint64_t of;                        /* the stream's id; another number for a point whose stream is not known */
    cji_heap_node *first;
    uint64_t due;                       /* when its first is queried next */
    uint64_t pause;                     /* how long after the query before; 0: it is queried without a pause */
    unsigned looked;                    /* where the latest of its waits is in the look that had one */
} cji_wait_group;

typedef struct cji_waiting {
    cji_heap_node by_order; /* in its group */
    cji_heap_node by_time;  /* key: the deadline; not in the heap without one */
    struct cji_waiting *next;     /* free ones, or a queue of completed ones */
    cji_wait_group *group;
    cji_event_point *point; /* until it is reclaimed */
    void (*fn)(void *user, cj_wait_result result);
    void *user;
    uint64_t added, ended;
    uint32_t index, generation;
    int32_t driver;
    uint8_t result, state;
    bool timed;  /* in the heap by time */
    bool late;   /* its time has passed */
    bool asked;  /* is being queried: stays what it is, and its point with it, until that is over */
} cji_waiting;

typedef struct cji_wait_queue { cji_waiting *first, **last; size_t count; } cji_wait_queue;

/* A callback under way, on the stack of the thread that runs it. */
typedef struct cji_wait_running { struct cji_wait_running *next; pthread_t thread; } cji_wait_running;

/* How long the waits of one stream have taken lately, in ns. */
typedef struct cji_wait_pace { uint64_t of, mean, deviation; } cji_wait_pace; /* of 0: of none */

enum { CJI_WAIT_CHUNK = 256, CJI_WAIT_ROWS = 64, CJI_WAITER_THREADS = 64, CJI_WAIT_PACES = 256 };

struct cj_waiter {
    cji_obj obj;
    cj_device *dev; /* retained */
    const cji_cu *cu;
    int callbacks;  /* a cj_waiter_callbacks */
    uint64_t spin;  /* ns */
    unsigned cores; /* that the process may use */
    cj_event_pool *pool;     /* the device's, for events of waits for streams; NULL: there is none */
    pthread_mutex_t lock;    /* guards what follows */
    pthread_cond_t watch;    /* the thread that watches: there is something new */
    pthread_cond_t work;     /* threads of the pool: callbacks; monotonic clock, as all of them */
    pthread_cond_t readers;  /* cj_waiter_poll, cj_waiter_run, cj_waiter_free */
    cji_waiting **chunk;     /* of CJI_WAIT_CHUNK waits each */
    size_t chunks, chunk_cap;
    cji_waiting *free;
    cji_waiting *over;       /* delivered; their points are dropped by a thread that may call the driver */
    size_t over_count;
    cji_wait_group *groups, *spare;
    cji_wait_group *cursor;  /* where the next look begins */
    cji_wait_group *row[CJI_WAIT_ROWS]; /* by what they are of */
    cji_heap_node *deadlines;
    size_t pending, group_count;
    size_t turn;             /* index of the wait that is queried in turn next */
    unsigned looks;          /* so far */
    uint64_t wakes;          /* when the thread that watches looks next; 0: it is awake */
    atomic_bool news;        /* a look that queries again and again ends: there is something new; without the lock */
    cji_wait_pace pace[CJI_WAIT_PACES]; /* by a stream's id; a stream takes the place of another one */
    cji_wait_queue calls, records;
    cji_wait_running *running;
    unsigned inside;         /* calls of cj_waiter_poll and cj_waiter_run */
    int fd;                  /* -1: none */
    bool readable;           /* its counter is not 0 */
    bool closed;             /* shut down */
    bool freed;              /* cj_waiter_free was called: nobody may use the handle any more */
    bool stop;               /* the threads end when no callback is left */
    bool orphan;             /* freed by a callback: the last one who leaves deletes it */
    bool dead;               /* the process ends: the driver is not called any more */
    pthread_t thread[1 + CJI_WAITER_THREADS]; /* the first one watches */
    unsigned threads, alive;
};

/* -- Table (wait_table.c): all with the lock held ------------------------------------------------------------------ */

/* A wait in state FREE with a new generation; NULL without memory. */
cji_waiting *cji_wait_take(cj_waiter *w);
/* It was delivered, or never began.  Where it is being queried, the one who does returns it once more. */
void cji_wait_return(cj_waiter *w, cji_waiting *a);
/* Drops the points of waits that are over, for which it releases the lock, and makes them free. */
void cji_wait_reclaim(cj_waiter *w);
/* The wait of a handle; NULL: it is over.  *known: there was such a wait. */
cji_waiting *cji_wait_find(cj_waiter *w, cj_wait wait, bool *known);
static inline cj_wait cji_wait_handle(const cji_waiting *a)
{
    return (cj_wait)a->generation << 32 | (a->index + 1);
}
/* Makes a taken wait pending; false without memory. */
bool cji_wait_begin(cj_waiter *w, cji_waiting *a, uint64_t deadline);
/* Completes a pending wait. */
void cji_wait_complete(cj_waiter *w, cji_waiting *a, cj_wait_result result, int driver);
void cji_wait_complete_all(cj_waiter *w, cj_wait_result result, int driver);
void cji_wait_table_free(cj_waiter *w);
static inline cji_waiting *cji_wait_by_order(cji_heap_node *n) { return (cji_waiting *)n; }
static inline cji_waiting *cji_wait_by_time(cji_heap_node *n)
{
    return (cji_waiting *)((char *)n - offsetof(cji_waiting, by_time));
}

/* -- Delivery (wait_deliver.c): all with the lock held ------------------------------------------------------------- */

/* A completed wait joins the callbacks or the records. */
void cji_wait_queue_up(cj_waiter *w, cji_waiting *a);
/* Calls the oldest callback, without the lock.  False: there is none. */
bool cji_wait_call_one(cj_waiter *w);
/* Takes the oldest record. */
bool cji_wait_take_record(cj_waiter *w, cj_wait_record *record);
/* The descriptor follows the queues. */
void cji_wait_show(cj_waiter *w);
/* Whether the calling thread runs a callback of the waiter. */
bool cji_wait_in_callback(const cj_waiter *w);

/* -- Pace (wait_pace.c): with the lock held ------------------------------------------------------------------------ */

/* How long after a query a wait is queried again; its age is at least cj_waiter.spin.  All in ns. */
uint64_t cji_wait_pause(const cji_wait_pace *p, uint64_t age); /* p: May be NULL */
/* A wait of the stream was done after `span`. */
void cji_wait_pace_learn(cji_wait_pace *p, uint64_t of, uint64_t span);
/* The stream's place in the table. */
static inline cji_wait_pace *cji_wait_pace_at(cj_waiter *w, uint64_t of)
{
    return &w->pace[of * UINT64_C(0x9e3779b97f4a7c15) >> 56];
}

/* -- The end (waiter.c) -------------------------------------------------------------------------------------------- */

/* A thread leaves the waiter, with the lock held, which is released.  The last one deletes a waiter that is freed. */
void cji_waiter_leave(cj_waiter *w);

/* -- The thread that watches (wait_watch.c) ------------------------------------------------------------------------ */

/* What it does until `stop`; begins and ends with the lock held. */
void cji_wait_watch(cj_waiter *w);
/* Wakes it, if it sleeps beyond `by`; with the lock held. */
void cji_wait_wake(cj_waiter *w, uint64_t by);
/* From exit() on, threads of waiters call no driver. */
void cji_wait_watch_exit(void);

#endif
