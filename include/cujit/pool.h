/* cujit/pool.h - pools of events and of streams.
 *
 *     cj_device
 *       cj_event_pool ......... events that are acquired and released; cj_pooled_event: one of them
 *       cj_stream_pool ........ streams that are acquired and released; cj_pooled_stream: one lease
 *
 * Acquiring and releasing is much cheaper than creating and freeing: each thread has a cache in
 * front of the pool, which needs no lock and no driver call.  What a thread has in its cache
 * returns to the pool when the thread ends.
 *
 * A cj_pooled_event or cj_pooled_stream is a value with a generation.  When it is released, its
 * generation ends, and every later use of the value fails with CJ_EHANDLE.  0 is none.
 *
 * Lifetime.  A pool keeps its device alive.  Freeing a pool frees all its events and streams, also
 * those that are not released; enqueued work and waits still run.
 *
 * Threads.  Any thread.  A value may be released by another thread than the one that acquired it.
 * That a value is released twice is detected, unless two threads do so at the same moment.
 *
 * Errors.  A failed call returns its status, or 0 instead of a value, and leaves a record in the
 * pool.
 */
#ifndef CUJIT_POOL_H
#define CUJIT_POOL_H

#include <cujit/driver.h>
#include <cujit/stream.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cj_event_pool cj_event_pool;
typedef struct cj_stream_pool cj_stream_pool;

/* ---- Event pools ----------------------------------------------------------------------------- */

/* An event of an event pool that is acquired; 0 is none. */
typedef uint64_t cj_pooled_event;

typedef enum cj_event_kind {
    CJ_EVENT_REGULAR = 0, /* no timing; cj_event_sync spins */
    CJ_EVENT_TIMING = 1,  /* cj_event_elapsed works */
    CJ_EVENT_BLOCKING = 2 /* no timing; cj_event_sync sleeps */
} cj_event_kind;

typedef struct cj_event_pool_opts {
    size_t size;                                     /* sizeof(cj_event_pool_opts) */
    uint32_t regular, timing, blocking;              /* events that are created with the pool */
    uint32_t regular_max, timing_max, blocking_max;  /* most events of a kind; 0: 65536 */
    uint32_t growth;                                 /* events created when none is free; 0: 16 */
} cj_event_pool_opts;

/* Fills `opts` with its size and the defaults, which NULL means too: no event is created with the
 * pool, at most 65536 of each kind, 16 at a time.  `opts`: May be NULL. */
CJ_API void cj_event_pool_defaults(cj_event_pool_opts *opts);

/* Creates a pool of events of a device.  `opts`: May be NULL.
 * Never NULL.  Owned by the caller, free with cj_event_pool_free.
 * Errors, in the failed object that is returned:
 *   CJ_EINVAL: more events than the bound of the kind, or a bound over 262144
 *   CJ_ENOMEM: host memory is exhausted
 *   CJ_EDRIVER: the driver rejects a call
 *   the error of `dev`, if `dev` is a failed object
 * cuEventCreate. */
CJ_API cj_event_pool *cj_event_pool_create(cj_device *dev, const cj_event_pool_opts *opts);

/* The event pool of the device that all its users share.  It is created with the default options
 * when nobody uses it yet, and freed when its last user has freed it.
 * Never NULL.  Owned by the caller, free with cj_event_pool_free, once for each call.
 * Errors, in the failed object that is returned: as cj_event_pool_create */
CJ_API cj_event_pool *cj_event_pool_for_device(cj_device *dev);

/* Frees the pool and its events.  Returns at once.  Waits that were enqueued before still hold.  No
 * other thread may use the pool or its events any more.  An event that a graph uses stays with the
 * graph.  `pool`: May be NULL. */
CJ_API void cj_event_pool_free(cj_event_pool *pool);

/* The pool's device.  Borrowed until cj_event_pool_free.  NULL for a failed pool. */
CJ_API cj_device *cj_event_pool_device(const cj_event_pool *pool);

/* Acquires an event that is as a new one: nothing was recorded in it.  Takes a free event; else one
 * whose last point is reached; else the pool grows.  At the bound it replaces an event that is
 * released but whose point is not reached.  The pool may grow while a stream is capturing.
 * Returns at once.  Returns 0 on failure.
 * Errors, left in the pool:
 *   CJ_EINVAL: `kind` is not a cj_event_kind
 *   CJ_ENOMEM: all events of the kind are acquired, as many as its bound; or host memory is
 *     exhausted
 *   CJ_EDRIVER: the driver rejects a call
 * cuEventQuery, cuEventCreate. */
CJ_API cj_pooled_event cj_event_pool_acquire(cj_event_pool *pool, cj_event_kind kind);

/* cj_event_pool_retain adds a holder of the event: it needs one release more.
 * cj_event_pool_release removes a holder.  The last release ends the value.  The event returns to
 * the pool by itself when its recorded point is reached; waits that were enqueued for it still
 * hold, and do not need the event any more.
 * Returns at once.  Errors, left in the pool:
 *   CJ_EHANDLE: `event` is 0, was released, or is of another pool */
CJ_API cj_status cj_event_pool_retain(cj_event_pool *pool, cj_pooled_event event);
CJ_API cj_status cj_event_pool_release(cj_event_pool *pool, cj_pooled_event event);

/* The event itself, for every call of stream.h that takes a cj_event, but cj_event_free.
 * Borrowed until the last holder releases it.  NULL on failure.
 * Errors, left in the pool: as cj_event_pool_release */
CJ_API cj_event *cj_event_pool_event(cj_event_pool *pool, cj_pooled_event event);

/* Frees the events that are free, down to the numbers that the pool was created with.  Events in
 * the caches of other threads stay.  Writes how many were freed to *freed.  `freed`: May be NULL.
 * Returns at once.
 * cuEventQuery, cuEventDestroy. */
CJ_API cj_status cj_event_pool_trim(cj_event_pool *pool, uint32_t *freed);

/* What an event pool has and did.  While other threads use the pool, the numbers are of slightly
 * different moments. */
typedef struct cj_event_pool_stats {
    size_t size;           /* sizeof(cj_event_pool_stats) */
    uint64_t events;       /* events that exist: free, pending and in use */
    uint64_t free;         /* that can be acquired without a driver call */
    uint64_t free_timing;  /* those of CJ_EVENT_TIMING among them */
    uint64_t pending;      /* released, but their points were not reached when last looked at */
    uint64_t in_use;       /* acquired and not released */
    double utilisation;    /* in_use / events; 0 without events */
    uint64_t acquired;     /* calls of cj_event_pool_acquire that succeeded */
    uint64_t failed;       /* and that failed */
    uint64_t grown;        /* events created after the pool was */
    uint64_t replaced;     /* events replaced at the bound or because others still needed them */
} cj_event_pool_stats;

/* Fills `stats` with its size and zeros.  `stats`: May be NULL. */
CJ_API void cj_event_pool_stats_defaults(cj_event_pool_stats *stats);

/* Fills *stats up to stats->size bytes.  Makes no driver call.
 * Errors, left in the pool:
 *   CJ_EINVAL: `stats` is NULL, or its size is not set */
CJ_API cj_status cj_event_pool_get_stats(cj_event_pool *pool, cj_event_pool_stats *stats);

/* ---- Stream pools ---------------------------------------------------------------------------- */

/* A lease of a stream of a stream pool; 0 is none. */
typedef uint64_t cj_pooled_stream;

/* What the work of a lease is. */
typedef enum cj_work {
    CJ_WORK_COMPUTE = 0,     /* kernels that mostly compute */
    CJ_WORK_MEMORY = 1,      /* copies, fills, and kernels that mostly access memory */
    CJ_WORK_MIXED = 2,       /* both */
    CJ_WORK_COORDINATION = 3 /* short work that other work waits for: flags, reductions, waits */
} cj_work;

/* How cj_stream_pool_acquire chooses among the streams of the priority that is requested. */
typedef enum cj_pool_strategy {
    CJ_POOL_ROUND_ROBIN = 0,  /* the next one; each thread has its own turn */
    CJ_POOL_LEAST_LOADED = 1, /* the one with the least outstanding work (cj_stream_pool_acquire) */
    CJ_POOL_PRIORITY = 2,     /* as least loaded; work of CJ_WORK_COORDINATION gets a stream of high
                               * priority where normal priority is requested */
    CJ_POOL_WORKLOAD = 3,     /* the least loaded of the streams for the kind of work.  Of eight
                               * streams four are for CJ_WORK_COMPUTE, two for CJ_WORK_MEMORY, one
                               * for each other kind; a kind without a stream uses all of them */
    CJ_POOL_DEPENDENCY = 4    /* the stream of .after, so that no event is needed, unless another
                               * lease followed it there already; else the least loaded */
} cj_pool_strategy;

enum { CJ_POOL_STRATEGIES = 5 }; /* number of strategies */

typedef struct cj_stream_pool_opts {
    size_t size;          /* sizeof(cj_stream_pool_opts) */
    uint32_t streams;     /* streams of normal priority that are created with the pool; 0: 4 */
    uint32_t high, low;   /* streams of high and of low priority that are created with the pool */
    uint32_t streams_max; /* most streams; 0: 64, or those created with the pool; at most 1024 */
    uint32_t sharers;     /* leases that a stream may have before another stream is created; 0: 4 */
    int32_t strategy;     /* a cj_pool_strategy */
    uint32_t sample;      /* the completion time of 1 of each `sample` leases of a thread is measured,
                           * which one is by chance; 0: of none.  It is read when the work is
                           * complete, by a later call; none is lost */
    uint32_t idle_ms;     /* a stream beyond those created with the pool that was idle for this time
                           * is freed by a later call; 0: 1000 */
} cj_stream_pool_opts;

/* Fills `opts` with its size and the defaults, which NULL means too.  `opts`: May be NULL. */
CJ_API void cj_stream_pool_defaults(cj_stream_pool_opts *opts);

/* Creates a pool of streams of a device.  `opts`: May be NULL.
 * Never NULL.  Owned by the caller, free with cj_stream_pool_free.
 * Errors, in the failed object that is returned:
 *   CJ_EINVAL: an option is out of range
 *   CJ_ENOMEM: host memory is exhausted
 *   CJ_EDRIVER: the driver rejects a call
 *   the error of `dev`, if `dev` is a failed object
 * cuStreamCreateWithPriority. */
CJ_API cj_stream_pool *cj_stream_pool_create(cj_device *dev, const cj_stream_pool_opts *opts);

/* The stream pool that all users of the device share, and the one of the calling thread.  It is
 * created with the default options when nobody uses it yet, and freed when its last user has freed
 * it.  The pool of a thread may be handed to other threads, and lives on when the thread ends.
 * Never NULL.  Owned by the caller, free with cj_stream_pool_free, once for each call.
 * Errors, in the failed object that is returned: as cj_stream_pool_create */
CJ_API cj_stream_pool *cj_stream_pool_for_device(cj_device *dev);
CJ_API cj_stream_pool *cj_stream_pool_for_thread(cj_device *dev);

/* Frees the pool and its streams.  Returns at once; enqueued work still runs.  No other thread may
 * use the pool or its streams any more.  `pool`: May be NULL. */
CJ_API void cj_stream_pool_free(cj_stream_pool *pool);

/* The pool's device.  Borrowed until cj_stream_pool_free.  NULL for a failed pool. */
CJ_API cj_device *cj_stream_pool_device(const cj_stream_pool *pool);

/* What a lease is for. */
typedef struct cj_stream_request {
    size_t size;      /* sizeof(cj_stream_request) */
    int32_t work;     /* a cj_work */
    int32_t priority; /* a cj_priority but CJ_PRIORITY_RAW.  CJ_PRIORITY_CRITICAL is as high, and
                       * CJ_PRIORITY_CLEANUP as low.  Streams of a priority that the pool lacks are
                       * created when they are requested first */
    cj_kernel *kernel; /* if set, its instructions select the work instead of .work
                        * (cj_kernel_get_work).  May be NULL. */
    cj_stream *after; /* a stream whose work so far comes before: see CJ_POOL_DEPENDENCY.
                       * May be NULL. */
} cj_stream_request;

/* Fills `request` with its size and the defaults, which NULL means too: CJ_WORK_COMPUTE of normal
 * priority that depends on no stream.  `request`: May be NULL. */
CJ_API void cj_stream_request_defaults(cj_stream_request *request);

/* cj_stream_pool_acquire leases a stream that other leases may share.  The pool's strategy chooses
 * among the streams that no exclusive lease has.  The pool grows when the chosen stream has
 * .sharers leases; leases of other threads are counted at every 16th acquisition of a thread.
 * cj_stream_pool_acquire_exclusive leases a stream with no lease and no unfinished work, which
 * nobody shares until the release.  The pool grows when there is none; at .streams_max a stream
 * without a lease serves whose work is unfinished.
 *
 * Outstanding work is what the library has enqueued on a stream and has not seen complete: by
 * cj_stream_sync, a query, or a measured lease.  It is counted in operations, each of the measured
 * time of the kind of work, plus the reported time of leases (cj_stream_pool_report).  No driver
 * call is made for it.
 *
 * The pool may grow while a stream is capturing.  A shared stream has one failure record for all
 * its sharers.  `request`: May be NULL.  Copied.
 * Returns at once.  Returns 0 on failure.
 * Errors, left in the pool:
 *   CJ_EINVAL: a field of `request` is out of range
 *   CJ_ENOMEM: each stream has an exclusive lease, or a lease where an exclusive one is requested,
 *     and the pool has .streams_max streams; or host memory is exhausted
 *   CJ_EDRIVER: the driver rejects a call
 * cuStreamCreateWithPriority. */
CJ_API cj_pooled_stream cj_stream_pool_acquire(cj_stream_pool *pool, const cj_stream_request *request);
CJ_API cj_pooled_stream cj_stream_pool_acquire_exclusive(cj_stream_pool *pool, const cj_stream_request *request);

/* The stream of a lease, for every call that takes a cj_stream, but cj_stream_free.
 * Borrowed until the lease is released.  NULL on failure.
 * Errors, left in the pool: as cj_stream_pool_release */
CJ_API cj_stream *cj_stream_pool_stream(cj_stream_pool *pool, cj_pooled_stream lease);

/* Writes the number of leases that the lease's stream has, this one included, to *sharers.
 * Errors, left in the pool: as cj_stream_pool_release, and
 *   CJ_EINVAL: `sharers` is NULL */
CJ_API cj_status cj_stream_pool_sharers(cj_stream_pool *pool, cj_pooled_stream lease, uint32_t *sharers);

/* Ends a lease.  Enqueued work still runs.  Returns at once.  Errors, left in the pool:
 *   CJ_EHANDLE: `lease` is 0, was released, or is of another pool */
CJ_API cj_status cj_stream_pool_release(cj_stream_pool *pool, cj_pooled_stream lease);

/* Returns CJ_OK when a stream of the pool has no unfinished work, and CJ_ENOTREADY when all have.
 * Streams that are capturing are not ready.  Returns at once.  Errors, left in the pool:
 *   CJ_EDRIVER: the device has failed
 * cuStreamQuery. */
CJ_API cj_status cj_stream_pool_has_ready(cj_stream_pool *pool);

/* Waits until the stream of one of the `count` leases has no unfinished work, for at most `ms`
 * milliseconds; 0 only polls.  Writes the lease's index to *index.  Without leases, `count` 0, it
 * waits for any stream of the pool.  `index`: May be NULL.  Blocks.
 * Errors, left in the pool:
 *   CJ_EHANDLE: as cj_stream_pool_release
 *   CJ_ESTATE: all these streams are capturing
 *   CJ_EDRIVER: the device has failed
 *   CJ_ETIMEOUT: the time has passed; recorded in cj_error_last() only
 * cuStreamQuery. */
CJ_API cj_status cj_stream_pool_wait_any(cj_stream_pool *pool, const cj_pooled_stream *leases, size_t count,
                                         uint32_t ms, size_t *index);

/* cj_stream_pool_sync waits until all streams of the pool have completed their work, and the times
 * of all leases that were released can be read; cj_stream_pool_sync_priority, those of one
 * priority, of which CJ_PRIORITY_CRITICAL is high and CJ_PRIORITY_CLEANUP low.  Each stream's first
 * failure is taken, as by cj_stream_sync.  Blocks.  Returns the first failure of all.
 * Errors, left in the pool:
 *   CJ_EINVAL: `priority` is not a cj_priority, or is CJ_PRIORITY_RAW
 *   CJ_ESTATE: a stream is capturing; the others are waited for
 *   and the failures of the streams
 * cuStreamSynchronize. */
CJ_API cj_status cj_stream_pool_sync(cj_stream_pool *pool);
CJ_API cj_status cj_stream_pool_sync_priority(cj_stream_pool *pool, cj_priority priority);

/* Frees the streams beyond those created with the pool that have no lease and no unfinished work.
 * Writes how many were freed to *freed.  `freed`: May be NULL.  Returns at once.
 * cuStreamQuery, cuStreamDestroy. */
CJ_API cj_status cj_stream_pool_trim(cj_stream_pool *pool, uint32_t *freed);

/* ---- Times and strategies -------------------------------------------------------------------- */

/* Reports the completion time of one lease's work of a kind that the library cannot see, as that of
 * another library on the raw handle.  It is kept apart from measured times.  The mean of a kind's
 * reported times counts as outstanding work of each lease of the kind, until its release.
 * Errors, left in the pool:
 *   CJ_EINVAL: `work` is not a cj_work, or `ms` is negative */
CJ_API cj_status cj_stream_pool_report(cj_stream_pool *pool, cj_work work, double ms);

/* Sets the strategy of later acquisitions.  Errors, left in the pool:
 *   CJ_EINVAL: `strategy` is not a cj_pool_strategy */
CJ_API cj_status cj_stream_pool_set_strategy(cj_stream_pool *pool, cj_pool_strategy strategy);

/* Sets the strategy that completed leases the fastest, and writes it to *chosen.  Use each strategy
 * for a while before (cj_stream_pool_set_strategy), with .sample.
 * Where .sample is more than 1, the time is missed in which only leases that are not measured are
 * unfinished.
 * A group is all leases for one cj_work; those on streams of high priority are a group of their
 * own.  A strategy counts if it has at least 8 measured times of each group, or 8 reported ones of
 * each group that has no measured time.  Its score is the mean of three kinds of ratios, each the
 * strategy's cost over the least cost of all, weighted with the number of times:
 *   measured leases of other than high priority, together: the time in which any of them was
 *     unfinished, divided by their work, which is for each lease its group's mean time under all
 *     strategies;
 *   leases of high priority: their mean time, with four times the weight;
 *   reported times: their mean, for each cj_work that has no measured ones.
 * The lowest score wins; the current strategy stays if it is within 2 % of it.
 *
 * With fewer than two strategies that count, the requests decide: CJ_POOL_DEPENDENCY if a quarter
 * of them named .after, else CJ_POOL_PRIORITY if they had several priorities, else CJ_POOL_WORKLOAD
 * if compute and memory are an eighth of them each, else CJ_POOL_LEAST_LOADED.
 * `chosen`: May be NULL.  Returns at once.
 * cuEventQuery, cuEventElapsedTime. */
CJ_API cj_status cj_stream_pool_optimize(cj_stream_pool *pool, cj_pool_strategy *chosen);

/* What a strategy did. */
typedef struct cj_pool_strategy_stats {
    size_t size;          /* sizeof(cj_pool_strategy_stats) */
    uint64_t acquired;    /* shared acquisitions under the strategy */
    uint64_t looked;      /* those of which it was noted whether the stream was idle: 1 in 16 */
    uint64_t idle;        /* those among them whose stream had no outstanding work */
    double effectiveness; /* idle / looked; 0 without any */
    uint64_t measured;    /* leases whose completion time was measured */
    double measured_ms;   /* its mean, in milliseconds: from the acquisition until all work is
                           * complete that was enqueued on the stream at the release */
    uint64_t reported;    /* times that the caller reported under it, and their mean */
    double reported_ms;
    double busy_ms;       /* time in which measured leases were unfinished, divided by their number:
                           * less than measured_ms where they overlap; without leases of high
                           * priority */
} cj_pool_strategy_stats;

/* What was done for one kind of work. */
typedef struct cj_pool_work_stats {
    size_t size;         /* sizeof(cj_pool_work_stats) */
    uint64_t acquired;   /* acquisitions for it, of both kinds */
    uint64_t measured;   /* leases whose completion time was measured */
    double measured_ms;  /* its mean, as in cj_pool_strategy_stats */
    double operation_ms; /* mean time of an operation of such a lease on the device */
    uint64_t reported;   /* times reported by the caller */
    double reported_ms;  /* their mean */
} cj_pool_work_stats;

/* Fill `stats` with its size and zeros.  `stats`: May be NULL. */
CJ_API void cj_pool_strategy_stats_defaults(cj_pool_strategy_stats *stats);
CJ_API void cj_pool_work_stats_defaults(cj_pool_work_stats *stats);

/* Fill *stats up to stats->size bytes.  Return at once.  Errors, left in the pool:
 *   CJ_EINVAL: `stats` is NULL or its size is not set; no such strategy or work
 * cuEventQuery, cuEventElapsedTime. */
CJ_API cj_status cj_stream_pool_get_strategy_stats(cj_stream_pool *pool, cj_pool_strategy strategy,
                                                   cj_pool_strategy_stats *stats);
CJ_API cj_status cj_stream_pool_get_work_stats(cj_stream_pool *pool, cj_work work, cj_pool_work_stats *stats);

/* Writes the kind of work of a kernel to *work, by the instructions of its body but those that read
 * parameters: CJ_WORK_MEMORY if at least 1 in 8 accesses memory that is neither shared nor
 * constant, CJ_WORK_COMPUTE if at most 1 in 24 does, else CJ_WORK_MIXED.
 * Returns CJ_ENOTFOUND, and CJ_WORK_MIXED, if the instructions are not known: a wrapped function or
 * a cubin without its PTX.
 * Errors, left in the kernel:
 *   CJ_EINVAL: `work` is NULL */
CJ_API cj_status cj_kernel_get_work(cj_kernel *kernel, cj_work *work);

/* What a stream pool has and did.  While other threads use the pool, the numbers are of slightly
 * different moments. */
typedef struct cj_stream_pool_stats {
    size_t size;        /* sizeof(cj_stream_pool_stats) */
    uint32_t streams;   /* streams that exist */
    uint32_t in_use;    /* streams with a lease */
    uint32_t exclusive; /* streams with an exclusive lease */
    uint32_t leases;    /* leases that are not released */
    uint32_t peak;      /* most leases at a time; with several threads, the most that was seen */
    int32_t strategy;   /* the cj_pool_strategy */
    double utilisation; /* in_use / streams */
    uint64_t acquired;  /* acquisitions that succeeded, of both kinds */
    uint64_t acquired_exclusive; /* the exclusive ones among them */
    uint64_t failed;    /* and that failed */
    uint64_t grown;     /* streams created after the pool was */
    uint64_t shrunk;    /* streams freed before the pool is */
} cj_stream_pool_stats;

/* Fills `stats` with its size and zeros.  `stats`: May be NULL. */
CJ_API void cj_stream_pool_stats_defaults(cj_stream_pool_stats *stats);

/* Fills *stats up to stats->size bytes.  Makes no driver call.
 * Errors, left in the pool:
 *   CJ_EINVAL: `stats` is NULL, or its size is not set */
CJ_API cj_status cj_stream_pool_get_stats(cj_stream_pool *pool, cj_stream_pool_stats *stats);

#ifdef __cplusplus
}
#endif

/* ---- Option literals: CJ_EVENT_POOL(.timing = 8); C and C++20 -------------------------------- */

#ifndef __cplusplus
#define CJ_EVENT_POOL(...) (&(const cj_event_pool_opts){ .size = sizeof(cj_event_pool_opts), __VA_ARGS__ })
#define CJ_STREAM_POOL(...) (&(const cj_stream_pool_opts){ .size = sizeof(cj_stream_pool_opts), __VA_ARGS__ })
#define CJ_STREAM_REQUEST(...) (&(const cj_stream_request){ .size = sizeof(cj_stream_request), __VA_ARGS__ })
#elif __cplusplus >= 202002L
#define CJ_STREAM_POOL(...) cji::keep(cj_stream_pool_opts{ .size = sizeof(cj_stream_pool_opts), __VA_ARGS__ })
#define CJ_STREAM_REQUEST(...) cji::keep(cj_stream_request{ .size = sizeof(cj_stream_request), __VA_ARGS__ })
#define CJ_EVENT_POOL(...) cji::keep(cj_event_pool_opts{ .size = sizeof(cj_event_pool_opts), __VA_ARGS__ })
#endif

#endif
