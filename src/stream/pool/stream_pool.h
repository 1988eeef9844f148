/* The room pool: pools of streams.  Prefixes cji_stream_pool, cji_place, cji_lease.  Calls the room core.
 *
 *   stream_pool.c   pools made and freed, caches of threads, statistics
 *   pool_streams.c  streams that a pool makes and frees
 *   pool_choose.c   which stream a lease gets: the strategies
 *   pool_lease.c    leases acquired and released
 *   pool_sample.c   completion times; pool_optimize.c: what follows from them
 *   pool_wait.c     ready streams, waits
 *
 * Locks: base/lock_order.def. */
#ifndef CJI_STREAM_POOL_H
#define CJI_STREAM_POOL_H

#include <cujit/pool.h>

#include "stream/core/stream_core.h"

enum { CJI_WORKS = 4, CJI_CLASSES = 3, CJI_TICK = 16, CJI_UNTICK = 64 };

/* The priorities that a pool has streams of. */
typedef enum cji_class { CJI_CLASS_NORMAL, CJI_CLASS_HIGH, CJI_CLASS_LOW } cji_class;

typedef struct cji_sample cji_sample; /* a lease that is measured (pool_sample.c) */

/* Times of one kind of lease. */
typedef struct cji_times { uint64_t count; double ms; } cji_times;

/* Time in which at least one measured lease was unfinished: the latest spans, which do not overlap, and the sum of the
 * earlier ones.  A lease is known when it is complete, so that spans become known in any order. */
enum { CJI_SPANS = 16 };
typedef struct cji_busy {
    double ms;
    unsigned n;
    struct { uint64_t from, to; } span[CJI_SPANS];
} cji_busy;

/* Leases are compared in groups: by their work; those of high priority are one more. */
enum { CJI_GROUP_HIGH = CJI_WORKS, CJI_GROUPS };

/* What was requested: by each thread, and in sum. */
typedef struct cji_requests {
    atomic_uint_fast64_t work[CJI_WORKS], after, other_priority;
    atomic_uint_fast64_t strategy[CJ_POOL_STRATEGIES];
    /* 1 in CJI_TICK: whether the stream that was found had no outstanding work and no other lease of the thread */
    atomic_uint_fast64_t looked[CJ_POOL_STRATEGIES], idle[CJ_POOL_STRATEGIES];
} cji_requests;

/* The place of a stream.
 *
 * Invariants: a place that is not closed has a stream.  Who joins it counts itself first and looks at `closed` then;
 * who closes it sets `closed` first and counts then, with the pool's lock held: so one of the two sees the other.
 * Leases are counted by the threads that acquire and release them (cji_stream_cache), without a lock; the sum over the
 * threads is the place's number.  A place is closed by an exclusive lease, and while it has no stream. */
typedef struct cji_place {
    atomic_uint closed;
    cj_stream *_Atomic s;
    cj_stream_pool *pool;
    uint32_t index;                  /* in pool->place */
    uint8_t class, work;             /* what it is for: a cji_class; with CJ_POOL_WORKLOAD a cj_work */
    atomic_uint latest;              /* the cj_work of a lease */
    atomic_uint_fast64_t unseen_ns;  /* reported time of its leases */
    atomic_uint_fast64_t followed;   /* operations enqueued when a lease followed its work last, plus 1 */
    int32_t leases;                  /* of threads that have ended; under the lock, as what follows */
    uint64_t idle_since, idle_count; /* when it was seen idle first, with as many operations; 0: not idle */
} cji_place;

/* A thread's part of the pool.  It is the only writer. */
typedef struct cji_stream_cache {
    cji_thread_cache base;
    cji_magazine leases;
    uint32_t turn[CJI_CLASSES];
    uint32_t sampled, sample_at;   /* acquisitions of this N, and which of them is measured */
    uint32_t chance;               /* what that is drawn from; 0: not begun */
    atomic_uint_fast64_t slow;     /* acquisitions that `requests` has; the others were compute work in turn */
    cji_requests requests;
    atomic_int_fast64_t open;      /* leases acquired less released, which may be those of other threads */
    int64_t noted;                 /* with so many open the peak is noted again */
    atomic_int_fast64_t most;      /* the most of that, while no other thread has used the pool */
    atomic_uint_fast64_t exclusive; /* acquisitions */
    atomic_int count[];            /* of the leases of each place */
} cji_stream_cache;

typedef struct cji_place_class {
    uint32_t first;    /* streams created with the pool */
    uint32_t live;     /* streams; under the lock */
    atomic_uint n;     /* places that were used so far: the first of streams_max ones */
    cji_place *place;
} cji_place_class;

struct cj_stream_pool {
    cji_obj obj;       /* references: users, and the caches of threads, which keep the memory only */
    cj_device *dev;    /* retained while there are users */
    atomic_uint users; /* who may use it; the last one closes it */
    uint32_t streams_max, sharers;
    uint64_t idle_ns;
    atomic_uint_fast64_t look_next; /* when idle streams are looked for again */
    atomic_int strategy;
    atomic_uint_fast64_t op_ns[CJI_WORKS]; /* time of an operation; 0: not known */
    atomic_uint_fast64_t unseen_ns[CJI_WORKS]; /* reported time of a lease; 0: none was reported */
    atomic_bool in_turn; /* a lease without a request is in turn, and nothing is measured or reported of it */
    uint32_t sample;   /* 1 in so many leases is measured; 0: none */
    cj_event_pool *events; /* of measured leases; with `clock` NULL where none is */
    cj_stream *clock;  /* idle: what is recorded on it is reached at once */
    atomic_bool full;  /* there are streams_max streams */
    cji_thread_caches caches;
    cji_place_class class[CJI_CLASSES];
    /* what: the place while the lease is held; more[0]: its part of the place's unseen_ns; more[1]: exclusive;
     * more[2]: its cji_sample; note: whether one of them is not 0.  Of a free lease all are 0. */
    cji_cells leases;
    char apart[64];    /* the lock is in another line of the processor's cache than what each call reads */
    pthread_mutex_t lock; /* guards what follows */
    uint32_t streams;  /* that exist, or are being created */
    uint32_t peak;
    uint64_t acquired, exclusive; /* by threads that have ended */
    int64_t open;      /* as theirs */
    uint64_t failed, grown, shrunk;
    cji_requests requests; /* of threads that have ended */
    cji_sample *samples, **samples_end; /* leases that were released, whose times are not read yet */
    cji_times measured[CJ_POOL_STRATEGIES][CJI_GROUPS], reported[CJ_POOL_STRATEGIES][CJI_WORKS];
    cji_busy busy[CJ_POOL_STRATEGIES]; /* without leases of high priority */
    cji_times work_time[CJI_WORKS], work_reported[CJI_WORKS];
    uint64_t op_count[CJI_WORKS]; /* operations of measured leases, and their own time */
    double op_ms[CJI_WORKS];
};

/* What a lease is for, checked. */
typedef struct cji_wish { cji_class class; cj_work work; cj_stream *after; cj_pool_strategy strategy; } cji_wish;

/* -- stream_pool.c -- */

cj_stream_pool *cji_stream_pool_retain(cj_stream_pool *pool);
void cji_stream_pool_drop(cj_stream_pool *pool);
/* The leases of a place; with the lock held. */
int64_t cji_place_leases(const cj_stream_pool *pool, const cji_place *p);
/* What was requested so far, in sum; with the lock held. */
void cji_stream_pool_requests(const cj_stream_pool *pool, cji_requests *sum);
/* Notes how many leases there are; with the lock held. */
void cji_stream_pool_note_peak(cj_stream_pool *pool);
/* The strategy or a reported time was changed; with the lock held, or before the pool is used. */
void cji_stream_pool_note_turn(cj_stream_pool *pool);

/* -- pool_streams.c -- */

/* Adds a stream of a class, with the lock held, which is released meanwhile.  NULL: *full, or the failure is recorded
 * in `into`.  The place is closed: the caller opens it. */
cji_place *cji_stream_pool_grow(cj_stream_pool *pool, cji_class class, bool *full, void *into, const char *call);
/* Frees idle streams beyond those created with the pool; all of them, or those that have been idle for long.  Returns
 * how many. */
uint32_t cji_stream_pool_shrink(cj_stream_pool *pool, bool all);
/* Frees all streams. */
void cji_stream_pool_clear(cj_stream_pool *pool);

/* -- pool_choose.c -- */

/* The place for a shared lease, counted in the thread's cache.  NULL: all are closed. */
cji_place *cji_place_choose(cj_stream_pool *pool, cji_stream_cache *c, const cji_wish *w, bool *followed);
/* A place without a lease, closed for the caller, with the lock held; with `idle`, and without unfinished work.  NULL:
 * there is none. */
cji_place *cji_place_take(cj_stream_pool *pool, const cji_wish *w, bool idle);
/* With the lock held: nobody has a lease, and nobody gets one.  False: somebody has. */
bool cji_place_close(cj_stream_pool *pool, cji_place *p);
/* Whether the stream has no unfinished work; a driver call where that is not known. */
bool cji_place_idle(const cji_place *p);
/* Counts a lease in the thread's count of the place, unless that is closed. */
static inline bool cji_place_join(atomic_int *count, const cji_place *p)
{
    atomic_fetch_add(count, 1);
    if (!atomic_load(&p->closed)) return true;
    atomic_fetch_sub(count, 1);
    return false;
}

/* -- pool_sample.c -- */

/* Adds the span of a lease; with the lock held, as the next. */
void cji_busy_add(cji_busy *b, uint64_t from, uint64_t to);
double cji_busy_ms(const cji_busy *b);

bool cji_sample_prepare(cj_stream_pool *pool, const char *call); /* false: recorded in the pool */
void cji_sample_clear(cj_stream_pool *pool);
/* A lease begins that is measured; NULL: it is not, which is no failure. */
cji_sample *cji_sample_begin(cj_stream_pool *pool, const cji_wish *w, const cji_place *p);
/* It ends: before the stream may be used by others alone. */
void cji_sample_end(cj_stream_pool *pool, cji_sample *m);
/* Reads the times of leases whose work is complete: of some, or of all. */
void cji_sample_harvest(cj_stream_pool *pool, bool all);

/* -- pool_optimize.c -- */

/* The kind of work of a kernel, by its instructions; CJ_ENOTFOUND: not known, *work is CJ_WORK_MIXED. */
cj_status cji_kernel_work(const cj_kernel *k, cj_work *work);

/* -- pool_lease.c -- */

/* The cji_class of a cj_priority; -1: it has none. */
int cji_class_of(int32_t priority);

/* What other rooms acquire: a lease, and its stream; NULL: the failure is recorded in `into` for `call`.  `request` may
 * be NULL. */
cj_stream *cji_lease_acquire(cj_stream_pool *pool, const cj_stream_request *request, bool exclusive,
                             cj_pooled_stream *lease, void *into, const char *call);
void cji_lease_release(cj_stream_pool *pool, cj_pooled_stream lease);

#endif
