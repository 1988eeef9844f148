/* The coordinator over its core (coord_tasks.h): devices, streams, events, threads.  Prefix cji_coord.
 *
 *   coord.c             made and released; tasks and groups added, changed, cancelled
 *   coord_streams.c     streams of the devices; events; what the order on streams implies
 *   coord_steps.c       tasks begin, are enqueued, end; functions are called
 *   coord_run.c         run, wait, poll, next, begin, complete, completions
 *   coord_deadlock.c    threads that wait for each other's tasks
 *   coord_info.c        what is known of tasks; counters
 *   coord_text.c        pictures and lists
 *   coord_collective.c  reduce, broadcast, all-reduce; coord_kernel.c: their kernels
 *   coord_parallel.c    parallel execution
 *   coord_units.c       streams as units
 *
 * Invariants.
 *   - A stream's tasks are in its list in the order in which their work was enqueued, numbered by `seq`.
 *   - A point is an event that was recorded on a stream: all work up to `seq` is before it, and so is the work that
 *     its `clock` names on the other streams, as the stream had waited for that.
 *   - clock[y] of stream x: work on y up to that number is before all later work of x.  An entry that is used again for
 *     another stream goes on counting, so that no clock promises too much.
 *   - A point is released when it is reached: who comes later need not wait for it.
 *   - The lock is held over records, waits and queries, and over no function of the user. */
#ifndef CJI_COORD_H
#define CJI_COORD_H

#include "stream/core/stream_core.h"
#include "stream/coordinate/coord_tasks.h"

enum {
    CJI_COORD_STREAMS = 1024, /* entries */
    CJI_COORD_LEVELS = 3,     /* high, normal, low */
    CJI_COORD_NO_STREAM = 0xffff,
    CJI_COORD_PER_LEVEL = 128 /* streams of one device and level, at most */
};

/* Its event is of the device's event pool.  It stays with the point, and the point is a spare one of the device, until
 * the coordinator is freed: a pool's acquisition and release for each task would take longer than choosing its stream
 * does. */
typedef struct cji_coord_point {
    struct cji_coord_point *next; /* spare */
    cj_event *e;
    CUevent raw;
    cj_pooled_event handle;
    bool plain;                   /* recorded outside captures, by cji_event_record_raw() */
    uint64_t seq;
    size_t width;                 /* of clock */
    uint64_t *clock;
} cji_coord_point;

typedef struct cji_coord_stream {
    cj_stream *s;            /* retained; NULL: the entry is free */
    uint16_t device;
    uint8_t level;
    bool foreign;
    bool lost;               /* no event can be recorded on it */
    uint64_t idle;           /* the work up to this number is known to be complete, without an event */
    uint64_t seq;
    uint32_t first, last;    /* tasks that are enqueued and have not ended */
    uint32_t in_flight, begun;
    uint32_t *load;          /* in its device: tasks that have begun and not ended */
    size_t width;
    uint64_t *clock;
    cji_coord_point **point; /* a ring of `point_cap`, a power of two; the oldest at point_first */
    size_t point_first, points, point_cap;
    size_t guess;            /* so many points were reached when they were looked at last */
    uint32_t point_number;   /* of the oldest: points are numbered */
} cji_coord_stream;

typedef struct cji_coord_device {
    cj_device *dev; /* retained */
    uint16_t stream[CJI_COORD_LEVELS][CJI_COORD_PER_LEVEL];
    uint32_t streams[CJI_COORD_LEVELS];
    uint32_t load[CJI_COORD_LEVELS][CJI_COORD_PER_LEVEL], foreign_load; /* of these streams, of all others */
    cj_event_pool *events; /* the device's */
    cji_coord_point *spare;
    cj_stream_pool *pool; /* the caller's; NULL: streams of the coordinator */
} cji_coord_device;

/* A thread that waits in a call. */
typedef struct cji_coord_waiting { uint64_t thread; uint32_t task; } cji_coord_waiting; /* CJI_NO_TASK: for all */

typedef struct cji_coord_kernel { /* of a collective */
    cj_kernel *k;
    uint16_t device;
    uint8_t type, op;
} cji_coord_kernel;

typedef struct cji_coord_units cji_coord_units;

struct cj_coord {
    cji_obj obj;
    cj_device *dev; /* retained */
    cj_coord_opts opts;
    pthread_mutex_t lock; /* guards what follows */
    cji_tasks tasks;
    cji_coord_device **device;
    size_t devices, device_cap;
    cji_coord_stream *stream;
    size_t streams, stream_cap;
    uint32_t notify, notify_last; /* ended tasks whose function `done` is to be called */
    uint64_t notifying;           /* calls under way */
    cj_task_record *record;       /* a ring: completions that nobody has taken */
    size_t record_first, records, record_cap;
    int fd;                       /* -1: none */
    bool readable;                /* its counter is not 0 */
    cji_coord_waiting *waiting;
    size_t waitings, waiting_cap;
    cj_error failure;             /* the first one since cj_coord_run has returned one */
    char deadlock[CJI_TASK_CYCLES][480];
    cji_coord_kernel *kernel;
    size_t kernels, kernel_cap;
    cji_coord_units *units;
    cji_text dot, cycles, deadlocks_text;
    uint64_t appended, implied, waits, events, wait_ns, coordinate_ns, deadlocks, missed;
    uint64_t rounds;              /* calls of cji_coord_step() */
};

static inline void cji_coord_lock(cj_coord *c) { cji_lock(&c->lock, CJI_LOCK_COORD); }
static inline void cji_coord_unlock(cj_coord *c) { cji_unlock(&c->lock, CJI_LOCK_COORD); }

/* -- Adding (coord.c) ---------------------------------------------------------------------------------------------- */

/* What a task of the library has besides the options. */
typedef struct cji_coord_extra {
    void (*release)(void *user); /* of user, when the task is forgotten; not called if the task was not added */
} cji_coord_extra;

/* With the lock held: 0 on failure, which is left in `c`. */
cj_task cji_coord_add(cj_coord *c, const cj_task_opts *o, const cji_coord_extra *extra, const char *call);
cj_task cji_coord_add_group(cj_coord *c, const cj_task_opts *o, cj_task_kind kind, const char *call);
/* The task that a handle means; CJ_EHANDLE, left in `c`. */
cj_status cji_coord_find(cj_coord *c, cj_task task, uint32_t *i, const char *call);
/* The device's place in the table; -1: left in `c`. */
int cji_coord_device_of(cj_coord *c, cj_device *dev, const char *call);

/* -- Streams (coord_streams.c) ------------------------------------------------------------------------------------- */

/* An entry for a stream of the caller; CJI_COORD_NO_STREAM: left in `c`. */
uint16_t cji_coord_stream_of(cj_coord *c, cj_stream *s, const char *call);
/* A stream for a task that begins; a lease of a pool is noted in the task. */
uint16_t cji_coord_choose(cj_coord *c, uint32_t i, const char *call);
/* The task has ended, or does not begin. */
void cji_coord_lease_end(cji_task *t);
static inline void cji_coord_unlease(cji_task *t)
{
    if (t->rare && t->lease && t->result != CJ_TASK_POISONED) cji_coord_lease_end(t);
}
/* The stream waits for what the task depends on, where that is not implied. */
cj_status cji_coord_order(cj_coord *c, uint32_t i, uint16_t x, const char *call);
/* The task's work is on the stream; records an event if somebody may need it. */
cj_status cji_coord_append(cj_coord *c, uint32_t i, const char *call);
/* Records an event at the end of each stream that has none there. */
void cji_coord_flush(cj_coord *c);
/* How many of the first tasks of a stream have completed or failed.  *st: how.  In relaxed capture mode. */
size_t cji_coord_reached(cj_coord *c, uint16_t x, cj_status *st);
void cji_coord_streams_close(cj_coord *c);

/* -- Steps (coord_steps.c) ----------------------------------------------------------------------------------------- */

/* All with the lock held; some release it while they call functions. */

/* A ready task begins on a stream, at a time that may be a little ago; a failure is the task's. */
cj_status cji_coord_begin(cj_coord *c, uint32_t i, uint16_t x, uint64_t now, const char *call);
/* What the task enqueues is on its stream. */
cj_status cji_coord_complete(cj_coord *c, uint32_t i, cj_status st, uint64_t now, const char *call);
/* One round: what can be done without waiting.  True: something was. */
bool cji_coord_step(cj_coord *c, const char *call);
bool cji_coord_all_ended(const cj_coord *c);
/* The descriptor follows the completions. */
void cji_coord_show(cj_coord *c);
/* "task 7 'scale'": the failure as a record. */
void cji_coord_error(cj_coord *c, uint32_t i, cj_error *e);
cj_status cji_coord_status(cj_coord *c, uint32_t i);

/* -- Deadlocks (coord_deadlock.c) ---------------------------------------------------------------------------------- */

/* Whether the calling thread, which waits for the task (CJI_NO_TASK: for all), waits for itself. */
bool cji_coord_deadlock(cj_coord *c, uint64_t thread, uint32_t task, char *why, size_t size);
/* The calling thread begins to wait, or has waited. */
bool cji_coord_wait_enter(cj_coord *c, uint32_t task);
void cji_coord_wait_leave(cj_coord *c);

/* -- Kernels of collectives (coord_kernel.c) ----------------------------------------------------------------------- */

/* dst[i] = op(dst[i], src[i]) for i < n; NULL: left in `c`.  Without the lock. */
cj_kernel *cji_coord_combine(cj_coord *c, cj_device *dev, cj_type type, cj_reduce_op op, const char *call);
void cji_coord_kernels_close(cj_coord *c);

void cji_coord_units_close(cji_coord_units *u); /* coord_units.c */

#endif
