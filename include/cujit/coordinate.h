/* cujit/coordinate.h - tasks, run in the order of what they need, over streams of several devices.
 *
 *     cj_coord *c = cj_coord_create(dev, NULL);
 *     cj_task in  = cj_coord_add(c, CJ_TASK(.kind = CJ_TASK_TRANSFER, .run = upload, .user = &job,
 *                                           .writes = CJ_RANGES({ d, bytes })));
 *     cj_task mul = cj_coord_add(c, CJ_TASK(.what = "multiply", .run = multiply, .user = &job,
 *                                           .reads = CJ_RANGES({ d, bytes })));
 *     if (cj_coord_run(c, 5000) != CJ_OK) ...
 *
 * A task is work that one function enqueues on one stream.  A task *depends* on others: those that
 * the caller names, and those that follow from the ranges of memory that tasks read and write.
 * A task is *ready* when all tasks that it depends on have been enqueued.  The coordinator then
 * selects a stream, makes the stream wait for what the order does not imply already, and calls the
 * task's function.  After the function it records an event where another stream needs one.
 *
 * The host waits for no task before the next one, except for tasks of kind CJ_TASK_SYNC.
 *
 * Three forms of running tasks can be mixed:
 *   cj_coord_run                       calls the tasks' functions
 *   cj_coord_next, cj_coord_complete   the caller takes the next ready task (the pull form)
 *   cj_coord_begin, cj_coord_complete  the caller runs one task, on a stream of its own if it wants
 *
 * Order.  Among ready tasks the one of the most urgent priority is next, and among equal ones the
 * one that became ready first.  A ready task is overtaken by a bounded number of later ones
 * (cj_coord_opts, aging).  A task has at least the priority of the tasks that depend on it.
 *
 * Failures.  A task whose function fails is *failed*.  Tasks that depend on it are *poisoned*: they
 * do not run, and their error names the first cause.  A dependency that only keeps two tasks from
 * touching the same memory at once (write after read, write after write) does not poison.
 *
 * Lifetime.  The coordinator retains its devices and streams.  A task's handle is a number.  Ended
 * tasks stay readable until newer ones replace them (cj_coord_opts, history).
 *
 * Threads.  Any thread.  Functions of tasks are called without a lock, by the thread that runs the
 * coordinator.  They may call cujit, the driver, and this coordinator.
 */
#ifndef CUJIT_COORDINATE_H
#define CUJIT_COORDINATE_H

#include <cujit/pool.h>
#include <cujit/stream_barrier.h>

#ifdef __cplusplus
#if __cplusplus >= 202002L
#include <initializer_list>
#endif
extern "C" {
#endif

/* ---- The coordinator ------------------------------------------------------------------------- */

typedef struct cj_coord cj_coord;

/* A task.  0 is none. */
typedef uint64_t cj_task;

typedef struct cj_coord_opts {
    size_t size;         /* sizeof(cj_coord_opts) */
    uint32_t streams;    /* streams of each device and priority, made as needed; 0: 8 */
    uint32_t in_flight;  /* tasks enqueued and not ended, at most; 0: 1024 */
    int32_t aging;       /* a ready task is overtaken by at most this many later ones for each class
                          * of priority between them; 0: 64; -1: by any number */
    uint32_t history;    /* ended tasks that stay readable, at least; 0: 4096 */
    int32_t completions; /* 1: ended tasks are queued for cj_coord_completions */
    int32_t picture;     /* 1: keeps all tasks and dependencies, for cj_coord_dot */
} cj_coord_opts;

/* Fills `opts` with its size and the defaults, which NULL means too.  `opts`: May be NULL. */
CJ_API void cj_coord_defaults(cj_coord_opts *opts);

/* Creates a coordinator.  Tasks may name other devices of the same driver than `dev`.
 * `opts`: May be NULL.
 * Never NULL.  Owned by the caller, free with cj_coord_free.
 * Errors, in the failed object that is returned:
 *   CJ_EINVAL: an option is out of range
 *   CJ_ENOMEM: host memory is exhausted
 *   the error of `dev`, if `dev` is a failed object */
CJ_API cj_coord *cj_coord_create(cj_device *dev, const cj_coord_opts *opts);

/* Frees the coordinator.  Returns at once.  Enqueued work still runs.  Tasks that have not begun
 * are dropped, and no function is called.  No other call on `c` may be under way.
 * `c`: May be NULL. */
CJ_API void cj_coord_free(cj_coord *c);

/* Has the streams of tasks of the pool's device chosen by `pool`, a pool of the caller.  Each task
 * has a lease from its beginning until it has ended, requested with its workload, its priority, and
 * the stream of a task that it depends on.  Tasks that have begun keep their streams.  Without this
 * call tasks have streams of the coordinator's own.  `pool`: Borrowed until cj_coord_free.
 * Returns at once.  Errors, left in `c`:
 *   CJ_EINVAL: the pool's device is of another driver
 *   CJ_EHANDLE: `pool` is not a stream pool
 *   CJ_ENOMEM: host memory is exhausted */
CJ_API cj_status cj_coord_use_pool(cj_coord *c, cj_stream_pool *pool);

/* ---- Adding tasks ---------------------------------------------------------------------------- */

/* What a task is.  The comment has the default priority and the default workload (cj_work, in
 * pool.h).  A priority selects among ready tasks; nothing preempts a task that runs. */
typedef enum cj_task_kind {
    CJ_TASK_KERNEL = 0,     /* kernels: normal, compute */
    CJ_TASK_TRANSFER = 1,   /* copies and fills: normal, memory */
    CJ_TASK_SYNC = 2,       /* host work: ready when all that it depends on has completed on the
                             * devices: high, coordination */
    CJ_TASK_REDUCE = 3,     /* parts become one: high, mixed */
    CJ_TASK_BROADCAST = 4,  /* one becomes parts: high, memory */
    CJ_TASK_ALL_REDUCE = 5, /* parts become one, on all devices: critical, mixed */
    CJ_TASK_BARRIER = 6,    /* comes after all tasks added to its group before it, and before all
                             * added later; a function is optional: critical, coordination */
    CJ_TASK_GROUP = 7       /* of cj_coord_add_group only: normal, coordination */
} cj_task_kind;

/* Memory that a task reads or writes: `bytes` > 0 bytes at `d`.  For host memory, `d` is its host
 * address. */
typedef struct cj_range {
    cj_dptr d;
    uint64_t bytes;
} cj_range;

/* Lists: `count` elements at `list`, which is not read if `count` is 0. */
typedef struct cj_ranges {
    const cj_range *list;
    size_t count;
} cj_ranges;
typedef struct cj_tasks {
    const cj_task *list;
    size_t count;
} cj_tasks;

/* Where a task is. */
typedef enum cj_task_state {
    CJ_TASK_WAITING = 1,   /* for a task that it depends on */
    CJ_TASK_READY = 2,     /* for its turn */
    CJ_TASK_BEGUN = 3,     /* its function or the caller enqueues its work */
    CJ_TASK_ENQUEUED = 4,  /* on its stream */
    CJ_TASK_DONE = 5,      /* its work has completed */
    CJ_TASK_FAILED = 6,    /* its function or its device has failed */
    CJ_TASK_POISONED = 7,  /* it does not run: a task that it depends on did not succeed */
    CJ_TASK_CANCELLED = 8  /* it does not run: cj_coord_cancel */
} cj_task_state;

/* A task.  Fields that are 0 have the defaults. */
typedef struct cj_task_opts {
    size_t size;         /* sizeof(cj_task_opts) */
    int32_t kind;        /* a cj_task_kind */
    int32_t priority;    /* a cj_priority but CJ_PRIORITY_RAW; 0: the kind's default */
    int32_t work;        /* a cj_work; 0: the kind's default */
    int32_t exact;       /* 1: `priority` and `work` hold also where they are 0 */
    const char *what;    /* a description, for messages and pictures.  Copied.  May be NULL. */
    cj_device *device;   /* NULL: the coordinator's */
    cj_task group;       /* the group that it belongs to; 0: none */
    cj_tasks after;      /* the tasks that it depends on: CJ_TASKS(a, b).  Copied. */
    cj_ranges reads;     /* CJ_RANGES({ d, bytes }, ...).  Copied. */
    cj_ranges writes;    /* memory that it also reads is in both lists.  Copied. */
    /* Enqueues the work on `s` and returns CJ_OK.  NULL: a task for cj_coord_next, or a
     * barrier without work. */
    cj_status (*run)(void *user, cj_stream *s);
    /* Called once when the task has ended, with its state, by a thread that runs or polls the
     * coordinator.  May be NULL. */
    void (*done)(void *user, cj_task task, cj_task_state state);
    void *user;
    uint32_t deadline_ms; /* soft: a task that ends later counts as missed; 0: none */
    int32_t any_thread;   /* 1: another thread may complete it than the one that begins it */
} cj_task_opts;

/* Fills `opts` with its size and the defaults.  `opts`: May be NULL. */
CJ_API void cj_task_defaults(cj_task_opts *opts);

/* Adds a task.  It depends on the tasks of `after`, on the last writer of what it reads, and on the
 * last writer and the readers of what it writes.  A dependency on a task that is done is met; one
 * on a task that did not succeed poisons this one.
 * Returns at once.  Returns 0 on failure.  Errors, left in `c`:
 *   CJ_EINVAL: an option or a range is out of range, or a device is of another driver
 *   CJ_EHANDLE: a task of `after` or the group never existed
 *   CJ_ESTATE: the group is closed, or the dependencies are a cycle; the message spells it
 *   CJ_ENOMEM: host memory is exhausted; nothing was added */
CJ_API cj_task cj_coord_add(cj_coord *c, const cj_task_opts *task);

/* cj_coord_add_group adds a group, which is a task: its members begin after the tasks that the
 * group depends on, and it ends after the last member.  Groups can be members of groups.  The
 * fields `kind`, `reads`, `writes`, `run` and `any_thread` are not used.  `task`: May be NULL.
 * cj_coord_close_group ends the adding of members: before it the group does not end.
 * Returns at once.  Errors, left in `c`: as cj_coord_add, and
 *   CJ_EHANDLE: `group` is not a group */
CJ_API cj_task cj_coord_add_group(cj_coord *c, const cj_task_opts *task);
CJ_API cj_status cj_coord_close_group(cj_coord *c, cj_task group);

/* Makes `task`, which has not begun, depend on `on`.  Returns at once.  Errors, left in `c`:
 *   CJ_EHANDLE: one of them never existed, or `task` is forgotten
 *   CJ_ESTATE: `task` has begun, or the dependency closes a cycle: "task 7 'reduce' waits for 3
 *     'scale' waits for 7: a cycle"; nothing has changed
 *   CJ_ENOMEM: host memory is exhausted; nothing has changed */
CJ_API cj_status cj_coord_depend(cj_coord *c, cj_task task, cj_task on);

/* Changes the priority of a task that has not begun.  Returns at once.  Errors, left in `c`:
 *   CJ_EINVAL: `priority` is CJ_PRIORITY_RAW, or no cj_priority
 *   CJ_EHANDLE: the task never existed, or is forgotten
 *   CJ_ESTATE: it has begun */
CJ_API cj_status cj_coord_set_priority(cj_coord *c, cj_task task, cj_priority priority);

/* Cancels a task that has not begun, and all members of a group that have not begun.  Tasks that
 * depend on it are poisoned.  A cancelled task ends when all tasks that it depends on have ended.
 * Returns at once.  Errors, left in `c`:
 *   CJ_EHANDLE: the task never existed, or is forgotten
 *   CJ_ESTATE: it has begun or ended; a group: all of its members */
CJ_API cj_status cj_coord_cancel(cj_coord *c, cj_task task);

/* ---- Running --------------------------------------------------------------------------------- */

/* Runs tasks with a function until all tasks have ended, for at most `ms` milliseconds; 0 is one
 * round of cj_coord_poll.  Tasks without a function are for other threads.  Blocks.
 * Returns the first failure of a task since the last call of this function that returned one.
 * Errors, left in `c`, and:
 *   CJ_ETIMEOUT: the time has passed; recorded in cj_error_last() only; the message names a task
 *     that has not ended and what it waits for
 *   CJ_ESTATE: a deadlock: the call waits for a task that its own thread has begun */
CJ_API cj_status cj_coord_run(cj_coord *c, uint32_t ms);

/* As cj_coord_run, until `task` has ended.  Returns CJ_OK if it is done, and its own failure if
 * not; of a forgotten task CJ_OK, as its failure is not known any more.  Blocks.
 * Errors as cj_coord_run, and:
 *   CJ_EHANDLE: the task never existed; left in `c` */
CJ_API cj_status cj_coord_wait(cj_coord *c, cj_task task, uint32_t ms);

/* Enqueues the ready tasks that have a function, notes which tasks have ended, and calls their
 * `done` functions.  Returns CJ_OK when all tasks have ended, and CJ_ENOTREADY when not.
 * Returns at once. */
CJ_API cj_status cj_coord_poll(cj_coord *c);

/* The pull form: begins the next ready task without a function.  Writes the task to *task and its
 * stream, which waits for all that the task depends on, to *stream.  Waits for such a task for at
 * most `ms` milliseconds, and meanwhile runs tasks with a function.  Blocks.
 * cj_coord_complete must follow, after the work has been enqueued on the stream.
 * Returns CJ_ENOTFOUND when all tasks have ended, and CJ_ENOTREADY when the time has passed.
 * `*stream`: Borrowed until cj_coord_complete.
 * Errors, left in `c`:
 *   CJ_EINVAL: `task` or `stream` is NULL
 *   CJ_ESTATE: a deadlock: every task that is left waits for one that this thread has begun
 *   CJ_EDRIVER: the driver rejects a call; the task has failed */
CJ_API cj_status cj_coord_next(cj_coord *c, cj_task *task, cj_stream **stream, uint32_t ms);

/* Begins `task` around the caller's own work, on the caller's stream `on`, or on one of the
 * coordinator's if `on` is NULL.  Waits until the task is ready, for at most `ms` milliseconds, and
 * meanwhile runs tasks with a function; `task` may have a function, which is then not called.
 * *stream is the stream, which waits for all that the task depends on.  Blocks.
 * cj_coord_complete must follow.  `on`, `stream`: May be NULL.
 * Errors, left in `c`:
 *   CJ_EINVAL: `on` is of another device than the task
 *   CJ_EHANDLE: the task never existed, or is forgotten
 *   CJ_ESTATE: it has begun or ended; `on` is capturing; or a deadlock: the task waits for one that
 *     this thread has begun, or for a thread that waits for this one; the message names them
 *   CJ_ETIMEOUT: the time has passed; recorded in cj_error_last() only
 *   CJ_EDRIVER: the driver rejects a call; the task has failed */
CJ_API cj_status cj_coord_begin(cj_coord *c, cj_task task, cj_stream *on, cj_stream **stream, uint32_t ms);

/* The work of a task that was begun is enqueued: records its event behind the work.  `status` is
 * CJ_OK, or the failure with which the task fails; then cj_error_last() is its record if it has
 * that status.  A failure that the stream keeps fails the task too.  Returns at once.
 * Errors, left in `c`:
 *   CJ_EHANDLE: the task never existed, or is forgotten
 *   CJ_ESTATE: the task has not been begun by cj_coord_next or cj_coord_begin
 *   CJ_EDRIVER: the driver rejects a call; the task has failed */
CJ_API cj_status cj_coord_complete(cj_coord *c, cj_task task, cj_status status);

/* One ended task. */
typedef struct cj_task_record {
    cj_task task;
    void *user;     /* as given when it was added */
    int32_t state;  /* CJ_TASK_DONE, _FAILED, _POISONED or _CANCELLED */
    int32_t status; /* a cj_status: CJ_OK, or the failure of the task or of the cause */
} cj_task_record;

/* Takes up to `count` ended tasks, each once, in the order in which they ended.  Needs
 * .completions = 1.  Waits for the first one for at most `ms` milliseconds as cj_coord_run.
 * Returns their number; 0 when the time has passed, all tasks have ended, or on failure.  Blocks.
 * Errors, left in `c`:
 *   CJ_EINVAL: `records` is NULL and `count` is not 0
 *   CJ_ESTATE: the coordinator was made without .completions */
CJ_API size_t cj_coord_completions(cj_coord *c, cj_task_record *records, size_t count, uint32_t ms);

/* An eventfd for poll, select or epoll: readable while cj_coord_completions has records.  Needs
 * .completions = 1.  Nobody reads from it or writes to it but the coordinator.  A task ends in a
 * call that runs or polls the coordinator, on any thread.
 * Belongs to `c`.  Returns at once.  Returns -1 on failure.  Errors, left in `c`:
 *   CJ_ESTATE: the coordinator was made without .completions
 *   CJ_ENOTSUP: the system has no descriptor left */
CJ_API int cj_coord_fd(cj_coord *c);

/* ---- Reading --------------------------------------------------------------------------------- */

/* What is known of a task.  Times are of the host's monotonic clock in nanoseconds; 0: not yet. */
typedef struct cj_task_info {
    size_t size;        /* sizeof(cj_task_info) */
    uint64_t number;    /* counts the tasks of the coordinator from 1; in messages */
    cj_task cause;      /* poisoned: the task that did not succeed; 0: none */
    uint64_t added, begun, enqueued, ended;
    int32_t kind;       /* a cj_task_kind */
    int32_t state;      /* a cj_task_state */
    int32_t status;     /* a cj_status; CJ_OK while it has not failed */
    int32_t priority;   /* its own, a cj_priority */
    int32_t effective;  /* the one that counts: at least that of the tasks that depend on it */
    int32_t work;       /* a cj_work */
    int32_t device;     /* the device's ordinal */
    uint32_t waits_for; /* tasks that it depends on and that have not ended */
    uint64_t stream;    /* cj_stream_id of its stream; 0: none yet */
    cj_task group;      /* 0: none */
    int32_t missed;     /* 1: its deadline has passed before it ended */
    char what[60];      /* the description, cut */
} cj_task_info;

/* Fills `info` with its size and zeros.  `info`: May be NULL. */
CJ_API void cj_task_info_defaults(cj_task_info *info);

/* Fills *info, up to info->size bytes.  Returns at once.  Errors, left in `c`:
 *   CJ_EINVAL: `info` is NULL, or its size is not set
 *   CJ_EHANDLE: the task never existed, or is forgotten */
CJ_API cj_status cj_coord_get_task(cj_coord *c, cj_task task, cj_task_info *info);

/* Copies the failure of a task to *error, CJ_ERROR_BYTES bytes.  For a poisoned task the message
 * names the cause.  Returns the task's status.  `error`: May be NULL.  Returns at once.
 * Errors, left in `c`:
 *   CJ_EHANDLE: the task never existed, or is forgotten */
CJ_API cj_status cj_coord_get_error(cj_coord *c, cj_task task, cj_error *error);

/* Forgets all ended tasks, the failed ones too.  Returns at once. */
CJ_API cj_status cj_coord_forget(cj_coord *c);

/* Measured by the coordinator since it was made. */
typedef struct cj_coord_counts {
    size_t size;                               /* sizeof(cj_coord_counts) */
    uint64_t added, ended;                     /* tasks; groups count too */
    uint64_t done, failed, poisoned, cancelled; /* of those that ended */
    uint64_t blocked, ready, begun, in_flight; /* now: waiting, ready, begun, enqueued */
    uint64_t edges;                            /* dependencies on tasks that had not ended */
    uint64_t edges_of_ranges;                  /* those among them that follow from ranges */
    uint64_t implied;                          /* dependencies that needed no wait */
    uint64_t waits, events;                    /* enqueued on streams, recorded */
    uint64_t wait_ns;                          /* from being added to beginning, of all tasks */
    uint64_t coordinate_ns;                    /* of the host, in cj_coord_run and its kind, without
                                                * the tasks' functions and without idle time; after
                                                * some rounds only each eighth is measured */
    uint64_t cycles, deadlocks;                /* rejected */
    uint64_t inversions;                       /* tasks raised to the priority of a dependant */
    uint64_t aged;                             /* tasks that were next because of their age */
    uint64_t missed;                           /* soft deadlines */
    uint64_t bytes;                            /* host memory of tasks and dependencies now */
} cj_coord_counts;

/* Fills `counts` with its size and zeros.  `counts`: May be NULL. */
CJ_API void cj_coord_counts_defaults(cj_coord_counts *counts);

/* Fills *counts, up to counts->size bytes.  Returns at once.  Errors, left in `c`:
 *   CJ_EINVAL: `counts` is NULL, or its size is not set */
CJ_API cj_status cj_coord_get_counts(cj_coord *c, cj_coord_counts *counts);

/* The tasks and their dependencies as Graphviz text (`dot -Tsvg`): a rectangle for each task,
 * coloured by its kind; groups are clusters.  Without .picture = 1 it has the tasks that are not
 * forgotten and the dependencies of those that have not begun.
 * Never NULL; "" on failure.  Borrowed until the next cj_coord_dot of `c`, or cj_coord_free. */
CJ_API const char *cj_coord_dot(cj_coord *c);

/* One line for each of the latest 16 cycles that were rejected, the latest first.
 * Never NULL; "" on failure.  Borrowed until the next cj_coord_cycles of `c`, or cj_coord_free. */
CJ_API const char *cj_coord_cycles(cj_coord *c);

/* One line for each deadlock: threads that wait for each other's tasks now, and the latest 16 that
 * were rejected.  Then one line for each task that cannot end before the caller acts: begun and
 * not completed, ready without a function, a group that is open.
 * Never NULL; "" on failure.  Borrowed until the next cj_coord_deadlocks of `c`, or
 * cj_coord_free. */
CJ_API const char *cj_coord_deadlocks(cj_coord *c);

/* ---- Reduce, broadcast and all-reduce -------------------------------------------------------- */

/* How elements are combined. */
typedef enum cj_reduce_op {
    CJ_REDUCE_SUM = 0,
    CJ_REDUCE_MIN = 1,
    CJ_REDUCE_MAX = 2,
    CJ_REDUCE_PRODUCT = 3
} cj_reduce_op;

/* One part: `count` elements of a collective at `d`, in memory of `device`. */
typedef struct cj_part {
    cj_device *device;
    cj_dptr d;
} cj_part;

/* List of parts: CJ_PARTS({ dev0, d0 }, { dev1, d1 }). */
typedef struct cj_parts {
    const cj_part *list;
    size_t count;
} cj_parts;

typedef struct cj_collective_opts {
    size_t size;         /* sizeof(cj_collective_opts) */
    uint64_t count;      /* elements of each part */
    int32_t type;        /* a cj_type: CJ_S32, _U32, _S64, _U64, _F32, _F64 */
    int32_t op;          /* a cj_reduce_op; not used by cj_coord_broadcast */
    cj_parts parts;      /* at least one; several may be on one device.  Copied. */
    uint32_t root;       /* reduce, broadcast: the index of the part that has the result, the source */
    int32_t priority;    /* as cj_task_opts */
    int32_t exact;       /* as cj_task_opts */
    const char *what;    /* as cj_task_opts */
    cj_task group;       /* as cj_task_opts */
    cj_tasks after;      /* as cj_task_opts */
    void (*done)(void *user, cj_task task, cj_task_state state); /* as cj_task_opts */
    void *user;
} cj_collective_opts;

/* Fills `opts` with its size and the defaults.  `opts`: May be NULL. */
CJ_API void cj_collective_defaults(cj_collective_opts *opts);

/* Adds the tasks of a collective, which are the members of a group that is returned, closed.  They
 * run as other tasks with a function do.  Dependencies follow from the ranges of the parts too.
 *
 * cj_coord_reduce      the root's part becomes the combination of all parts
 * cj_coord_broadcast   all parts become copies of the root's
 * cj_coord_all_reduce  all parts become the combination of all: each device combines one share of
 *                      the elements and copies the result to the others
 *
 * Elements are combined in a fixed order, so that results repeat bit by bit.  All parts of an
 * all-reduce have the same bits.  Kernels are built and loaded at the first use of type and `op`;
 * a kernel adds parts of the same device, copies between devices need no peer access.
 * Combining needs temporary memory of the size of the other parts' shares, from cj_alloc.
 * Returns 0 on failure.  Returns at once, except for the loading of kernels.
 * Errors, left in `c`: as cj_coord_add, and
 *   CJ_EINVAL: type, op, root, or number of parts are out of range
 *   CJ_EJIT, CJ_EDRIVER: a kernel cannot be loaded */
CJ_API cj_task cj_coord_reduce(cj_coord *c, const cj_collective_opts *opts);
CJ_API cj_task cj_coord_broadcast(cj_coord *c, const cj_collective_opts *opts);
CJ_API cj_task cj_coord_all_reduce(cj_coord *c, const cj_collective_opts *opts);

/* ---- Streams as units ------------------------------------------------------------------------ */

/* cj_coord_stream_depend declares that the work of `s` comes after that of `on`.  The relation
 * holds until cj_coord_stream_forget of one of them, or cj_coord_free.
 * cj_coord_stream_order makes later work of `s` wait for all work that is enqueued so far on the
 * streams that `s` depends on.  Streams on which nothing was enqueued in between cost nothing more.
 * Returns at once.  Errors, left in `c`:
 *   CJ_EINVAL: the streams are of other drivers than `c`
 *   CJ_EHANDLE: a handle is not a stream
 *   CJ_ESTATE: the dependency closes a cycle: "stream 5 waits for stream 3 waits for stream 5: a
 *     cycle"; nothing has changed
 *   CJ_ENOTFOUND: of _order and _forget: the coordinator does not know `s`; not recorded
 *   CJ_ENOMEM: host memory is exhausted
 *   CJ_EDRIVER: the driver rejects a call; left in the streams too */
CJ_API cj_status cj_coord_stream_depend(cj_coord *c, cj_stream *s, cj_stream *on);
CJ_API cj_status cj_coord_stream_order(cj_coord *c, cj_stream *s);
CJ_API cj_status cj_coord_stream_forget(cj_coord *c, cj_stream *s);

/* cj_coord_barrier makes later work of each stream of the coordinator, its own ones and those of
 * cj_coord_stream_depend, wait for all work enqueued on all of them so far.
 * cj_coord_barrier_wait makes later work of `s`, which may be any stream, wait for the last
 * barrier.  cj_coord_barrier_elapsed reports how long the last barrier took, as
 * cj_stream_barrier_elapsed.  Returns at once.  Errors, left in `c`:
 *   CJ_ESTATE: there was no barrier yet
 *   as cj_stream_barrier_enqueue, cj_stream_barrier_wait, cj_stream_barrier_elapsed */
CJ_API cj_status cj_coord_barrier(cj_coord *c);
CJ_API cj_status cj_coord_barrier_wait(cj_coord *c, cj_stream *s);
CJ_API cj_status cj_coord_barrier_elapsed(cj_coord *c, cj_stream_barrier_time *time);

/* Parallel execution: one function, called once for each of `count` streams. */
typedef struct cj_parallel_opts {
    size_t size;      /* sizeof(cj_parallel_opts) */
    uint32_t count;   /* how many; 0: the coordinator's number of streams */
    int32_t priority; /* as cj_task_opts */
    const char *what; /* as cj_task_opts */
    cj_tasks after;   /* as cj_task_opts */
    /* Enqueues the work of `index` on `s`. */
    cj_status (*run)(void *user, uint32_t index, cj_stream *s);
    /* Called once when all have ended.  May be NULL. */
    void (*done)(void *user, cj_task task, cj_task_state state);
    void *user;
} cj_parallel_opts;

/* Fills `opts` with its size and the defaults.  `opts`: May be NULL. */
CJ_API void cj_parallel_defaults(cj_parallel_opts *opts);

/* Adds `count` tasks to a group, which is returned closed: the joined result.  cj_coord_wait of it
 * returns the first failure.  Each index has a stream of its own while there are enough.
 * Returns at once.  Returns 0 on failure.  Errors, left in `c`: as cj_coord_add, and
 *   CJ_EINVAL: `run` is NULL */
CJ_API cj_task cj_coord_parallel(cj_coord *c, const cj_parallel_opts *opts);

#ifdef __cplusplus
}
#endif

/* ---- Option literals; C and C++20 ------------------------------------------------------------ */

#ifndef __cplusplus
#define CJ_COORD(...) (&(const cj_coord_opts){ .size = sizeof(cj_coord_opts), __VA_ARGS__ })
#define CJ_TASK(...) (&(const cj_task_opts){ .size = sizeof(cj_task_opts), __VA_ARGS__ })
#define CJ_COLLECTIVE(...) (&(const cj_collective_opts){ .size = sizeof(cj_collective_opts), __VA_ARGS__ })
#define CJ_PARALLEL(...) (&(const cj_parallel_opts){ .size = sizeof(cj_parallel_opts), __VA_ARGS__ })
#define CJI_ITEMS(type, item, ...) \
    ((type){ (const item[]){ __VA_ARGS__ }, sizeof((const item[]){ __VA_ARGS__ }) / sizeof(item) })
#define CJ_RANGES(...) CJI_ITEMS(cj_ranges, cj_range, __VA_ARGS__)
#define CJ_TASKS(...) CJI_ITEMS(cj_tasks, cj_task, __VA_ARGS__)
#define CJ_PARTS(...) CJI_ITEMS(cj_parts, cj_part, __VA_ARGS__)
#elif __cplusplus >= 202002L
#ifndef CJI_KEEP
#define CJI_KEEP
namespace cji { template<class T> inline const T *keep(const T &t) { return &t; } }
#endif
namespace cji {
inline cj_ranges ranges(std::initializer_list<cj_range> l) { return { l.begin(), l.size() }; }
inline cj_tasks tasks(std::initializer_list<cj_task> l) { return { l.begin(), l.size() }; }
inline cj_parts parts(std::initializer_list<cj_part> l) { return { l.begin(), l.size() }; }
}
#define CJ_COORD(...) cji::keep(cj_coord_opts{ .size = sizeof(cj_coord_opts), __VA_ARGS__ })
#define CJ_TASK(...) cji::keep(cj_task_opts{ .size = sizeof(cj_task_opts), __VA_ARGS__ })
#define CJ_COLLECTIVE(...) cji::keep(cj_collective_opts{ .size = sizeof(cj_collective_opts), __VA_ARGS__ })
#define CJ_PARALLEL(...) cji::keep(cj_parallel_opts{ .size = sizeof(cj_parallel_opts), __VA_ARGS__ })
#define CJ_RANGES(...) cji::ranges({ __VA_ARGS__ })
#define CJ_TASKS(...) cji::tasks({ __VA_ARGS__ })
#define CJ_PARTS(...) cji::parts({ __VA_ARGS__ })
#endif

#endif
