/* cujit/stream.h - streams, events, host functions, stream memory operations, counters.
 *
 *     cj_driver
 *       cj_device ......... driver.h
 *         cj_stream ....... a queue of work on the device: launches, copies, fills, waits
 *         cj_event ........ a point in a stream, for other streams and for the host
 *         cj_dptr ......... memory.h; copies and fills are in copy.h
 *         cj_graph ........ graph.h
 *
 * Work enqueued on one stream runs in the order of the calls.  Two streams run concurrently, except
 * where an event, a fork, a join or a barrier orders them.  A stream of cj_stream_create is
 * non-blocking by default: it does not synchronise with the legacy default stream.
 *
 * Asynchrony.  A call that enqueues work *returns at once*: it does not wait for the device.  The
 * work runs when the stream reaches it.  cj_stream_sync blocks until all of it has completed.
 * A copy from pageable host memory first copies the source to staging memory.  The driver may block
 * any such call while its queue of launches is full.
 *
 * Lifetime.  Streams and events may be freed in any order, from any thread, while their work runs,
 * and during a capture.  What the driver does not allow at that moment is deferred: a later call on
 * the same device or cj_device_collect does it.  At process exit the rest is dropped.
 * Freeing the stream that began a capture ends the capture and discards its graph.  A stream of
 * CJ_STREAM_PER_THREAD has an exception (cj_stream_wrap).
 *
 * Threads.  Any thread.  The caller's current CUDA context is the same after a call as before it.
 * A function that cj_host_func or cj_stream_callback calls must not call CUDA or cujit.
 *
 * Errors.  A failed call returns its status and leaves a record in the stream or event concerned.
 * A stream keeps the *first* failure of all its calls until cj_stream_sync has returned it.  One
 * check there is enough for a whole program.  cj_error_of(stream) reads the record also after that.
 *
 * CJ_ENOTREADY and CJ_ENOTFOUND are results, not failures: they are not recorded.  CJ_ETIMEOUT is
 * recorded in cj_error_last() only, and so is CJ_ESTATE of a call that waits for a stream or
 * queries one while it is capturing.
 * The last line of a comment names the driver functions of the call, and the CUDA version that
 * they need if not every supported driver has them.
 */
#ifndef CUJIT_STREAM_H
#define CUJIT_STREAM_H

#include <cujit/memory.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Making streams -------------------------------------------------------------------------- */

/* A stream's priority.  The names are mapped onto the range that the device has, which may be a
 * single value.  A priority selects among thread blocks that are ready; it never preempts running
 * ones. */
typedef enum cj_priority {
    CJ_PRIORITY_NORMAL = 0, /* the middle of the range */
    CJ_PRIORITY_HIGH = 1,   /* the most urgent end */
    CJ_PRIORITY_LOW = 2,    /* the least urgent end */
    CJ_PRIORITY_RAW = 3,    /* raw_priority as it is; the driver clamps it to the range */
    CJ_PRIORITY_CRITICAL = 4, /* of tasks, before high (coordinate.h); of streams, as high */
    CJ_PRIORITY_CLEANUP = 5 /* of tasks, after low; of streams, as low */
} cj_priority;

typedef struct cj_stream_opts {
    size_t size;          /* sizeof(cj_stream_opts) */
    int32_t priority;     /* a cj_priority */
    int32_t raw_priority; /* with CJ_PRIORITY_RAW: the driver's number, lower is more urgent */
    int32_t legacy_order; /* 1: synchronises with the legacy default stream (CU_STREAM_DEFAULT) */
} cj_stream_opts;

/* Fills `opts` with its size and the defaults, which NULL means too: CJ_PRIORITY_NORMAL, and no
 * synchronisation with the legacy default stream.  `opts`: May be NULL. */
CJ_API void cj_stream_defaults(cj_stream_opts *opts);

/* Creates a stream.  `opts`: May be NULL.
 * Never NULL.  Owned by the caller, free with cj_stream_free.
 * Errors, in the failed object that is returned:
 *   CJ_EINVAL: an option is out of range
 *   CJ_ENOMEM: host memory is exhausted
 *   CJ_EDRIVER: the driver rejects a call
 *   the error of `dev`, if `dev` is a failed object
 * cuStreamCreateWithPriority. */
CJ_API cj_stream *cj_stream_create(cj_device *dev, const cj_stream_opts *opts);

/* The handles of the default streams, for cj_stream_wrap: CU_STREAM_LEGACY,
 * CU_STREAM_PER_THREAD. */
#define CJ_STREAM_LEGACY ((void *)1)
#define CJ_STREAM_PER_THREAD ((void *)2)

/* Wraps an existing CUstream of this device's context.  The caller keeps ownership of `raw`, which
 * must outlive the cj_stream.  CJ_STREAM_LEGACY is the legacy default stream.
 * Never NULL.  Owned by the caller, free with cj_stream_free, which does not destroy `raw`.
 * cujit does not see work that is enqueued on `raw` directly.  After enqueuing such work, call
 * cj_stream_use (memory.h) for each allocation that it uses.
 *
 * CJ_STREAM_PER_THREAD is the calling thread's per-thread default stream.  On another thread that
 * handle means another stream, so calls that would use it there fail with CJ_ESTATE, left in the
 * stream too.  Properties, counters, cj_free and cj_stream_free work from any thread.
 * Exception: cj_stream_free from another thread does nothing and logs an error while a capture that
 * was begun on the stream is open.
 * Each operation on such a stream costs one event record and one wait more, about 1 us.
 *
 * Errors, in the failed object that is returned:
 *   CJ_EINVAL: `raw` is NULL, no stream, or a stream of another context
 *   CJ_ESTATE: `raw` is capturing
 *   CJ_ENOMEM: host memory is exhausted
 *   CJ_EDRIVER: the driver rejects a call
 *   the error of `dev`, if `dev` is a failed object
 * cuStreamIsCapturing, cuStreamGetCtx. */
CJ_API cj_stream *cj_stream_wrap(cj_device *dev, void *raw);

/* Frees the stream.  Returns at once.  Enqueued work still runs.  `s`: May be NULL.
 * If a capture was begun on `s` and is open, it ends and its graph is discarded.
 * cuStreamDestroy. */
CJ_API void cj_stream_free(cj_stream *s);

/* ---- Properties: read once, when the stream was made ----------------------------------------- */

/* The CUstream.  Borrowed until cj_stream_free.  NULL for a failed stream. */
CJ_API void *cj_stream_raw(const cj_stream *s);

/* The driver's number of the CUstream (cuStreamGetId), which never repeats in a process.  Two
 * cj_streams that wrap one CUstream have the same.  For a driver before CUDA 12.0, cujit numbers
 * each cj_stream itself.  0 for a failed stream. */
CJ_API uint64_t cj_stream_id(const cj_stream *s);

/* The stream's device.  Borrowed until cj_stream_free.  NULL for a failed stream. */
CJ_API cj_device *cj_stream_device(const cj_stream *s);

/* The driver's number of its priority: lower is more urgent. */
CJ_API int cj_stream_priority(const cj_stream *s);

/* CU_STREAM_NON_BLOCKING (1), or 0 with legacy_order. */
CJ_API unsigned cj_stream_flags(const cj_stream *s);

/* ---- Host functions; launch.h has cj_launch and cj_launch_n ---------------------------------- */

/* Enqueues a call of fn(user) on a thread of the driver.  Later work of the stream waits for it.
 * `fn` must not call CUDA or cujit.  After a device error it is not called.
 * While `s` is capturing, the call becomes a node: each launch of the graph calls `fn`.
 * Returns at once.  Errors, left in `s`:
 *   CJ_EINVAL: `fn` is NULL
 *   CJ_ESTATE: the capture of `s` is invalidated
 *   CJ_EDRIVER: the driver rejects the call
 * cuLaunchHostFunc, CUDA 10.0. */
CJ_API cj_status cj_host_func(cj_stream *s, void (*fn)(void *user), void *user);

/* Calls fn(user, status) once, on a thread of the driver, when all work enqueued so far has
 * completed.  `status` is CJ_OK, or CJ_EDRIVER after a device error.  Later work of the stream
 * waits for `fn`.  `fn` must not call CUDA or cujit.  If this call fails, `fn` is never called.
 * Without a callback: cj_event_record, then cj_event_query or cj_event_sync_for; both report a
 * device error too.
 * Returns at once.  Errors, left in `s`:
 *   CJ_EINVAL: `fn` is NULL
 *   CJ_ESTATE: `s` is capturing
 *   CJ_ENOMEM: host memory is exhausted
 *   CJ_EDRIVER: the driver rejects the call, or the device has already failed
 * cuStreamAddCallback. */
CJ_API cj_status cj_stream_callback(cj_stream *s, void (*fn)(void *user, cj_status status),
                                    void *user);

/* ---- Order ----------------------------------------------------------------------------------- */

/* Makes later work of `s` wait, on the device, for the point that `e` recorded last before this
 * call.  If the event was never recorded, the call does nothing.  `e` may belong to another device.
 * If `e` was recorded in a capture that is open, `s` joins that capture.
 * Returns at once.  Errors, left in `s`:
 *   CJ_EINVAL: stream and event are of two cj_drivers
 *   CJ_EHANDLE: `e` is not an event
 *   CJ_ESTATE: the event was last recorded in a capture that is over; `s` and the event are of two
 *     captures; `s` is capturing and the event was recorded outside of the capture; or a capture
 *     is invalidated
 *   CJ_EDRIVER: the driver rejects the call
 * cuStreamWaitEvent. */
CJ_API cj_status cj_stream_wait(cj_stream *s, cj_event *e);

/* fork: makes later work of `t` wait for all work enqueued on `s` so far.
 * join: makes later work of `s` wait for all work enqueued on `t` so far.
 * While `s` is capturing, cj_stream_fork makes `t` join the capture.  While `t` is capturing,
 * cj_stream_join makes `s` join it.  Each stream that joined must be joined back with
 * cj_stream_join before cj_capture_end, unless the capture was begun with .join = 1.
 * Returns at once.  Errors, left in both streams, or in `s` alone if `t` is not a stream:
 *   CJ_EINVAL: the streams are of two cj_drivers
 *   CJ_EHANDLE: `t` is not a stream
 *   CJ_ESTATE: the streams are in two captures; only the stream that waits is capturing; or a
 *     capture is invalidated
 *   CJ_EDRIVER: the driver rejects a call
 * cuEventRecord, cuStreamWaitEvent. */
CJ_API cj_status cj_stream_fork(cj_stream *s, cj_stream *t);
CJ_API cj_status cj_stream_join(cj_stream *s, cj_stream *t);

/* ---- Waiting on the host --------------------------------------------------------------------- */

/* Waits until all work enqueued on `s` has completed.  Blocks.
 * Returns the stream's first failure since the last sync, or CJ_OK.  The next sync does not return
 * it again; cj_error_of still reads its record until then.
 * Errors of this call:
 *   CJ_ESTATE: `s` is capturing.  The capture continues.  It is recorded in cj_error_last() only
 *     and the stream keeps the failure that it has
 *   CJ_EDRIVER: the device has failed
 * cuStreamSynchronize. */
CJ_API cj_status cj_stream_sync(cj_stream *s);

/* As cj_stream_sync, for at most `ms` milliseconds; 0 only polls.  Blocks.
 * Errors as cj_stream_sync, and:
 *   CJ_ETIMEOUT: the time has passed.  The work continues.  It is recorded in cj_error_last() only
 *     and the stream keeps the failure that it has
 * cuStreamQuery. */
CJ_API cj_status cj_stream_sync_for(cj_stream *s, uint32_t ms);

/* Returns CJ_OK when all work enqueued on `s` has completed, and CJ_ENOTREADY when not.
 * Returns at once.
 * Errors:
 *   CJ_ESTATE: `s` is capturing; recorded in cj_error_last() only
 *   CJ_EDRIVER: the device has failed; left in `s`
 * cuStreamQuery. */
CJ_API cj_status cj_stream_query(cj_stream *s);

/* Describes the fault of a kernel after which the stream's device fails all calls.  Fills *fault,
 * up to fault->size bytes.  The CPU device fills all fields that apply to the fault.  A GPU fills
 * `code` and `kind`, and `kernel` if the stream launched one kernel only since it last completed.
 * May be called before and after cj_stream_sync.
 * Returns at once.  Returns CJ_ENOTFOUND if no kernel of the device has failed.
 * Errors:
 *   CJ_EINVAL: `fault` is NULL, or its size is not set; left in `s`
 *   CJ_ESTATE: `s` is capturing; recorded in cj_error_last() only */
CJ_API cj_status cj_stream_get_fault(cj_stream *s, cj_fault *fault);

/* ---- Stream memory operations: waiting for and writing one location of memory ---------------- */

/* How a wait compares the location with its value. */
typedef enum cj_compare {
    CJ_COMPARE_GE = 0,  /* location - value >= 0 as a signed integer of the location's width */
    CJ_COMPARE_EQ = 1,  /* location == value */
    CJ_COMPARE_AND = 2, /* (location & value) != 0 */
    CJ_COMPARE_NOR = 3  /* ~(location | value) != 0 */
} cj_compare;

/* Makes later work of `s` wait, on the device, until the 32-bit or 64-bit location at `d` compares
 * with `value` as `how` selects.  `d` is a multiple of 4 or 8.  If the value is never written, the
 * stream waits for ever; the driver cannot detect it.
 *
 * The location is pinned host memory of cj_host_alloc, at its host address, or device memory of
 * cj_ipc_alloc or cuMemAlloc.  Drivers (tested: 580) reject memory of cj_alloc, which is of a pool.
 * CUDA excludes managed memory.  The CPU device accepts all of them.
 * CUDA does not see this order.  Where streams of one program use both sides, express the order by
 * an event too (cj_stream_wait); else the driver may serialise them so that the wait never ends.
 *
 * Returns at once.  Errors, left in `s`:
 *   CJ_EINVAL: `d` is { 0 }, not aligned, or out of range; `how` is not a cj_compare
 *   CJ_ENOTSUP: device or driver lack it (64 bits, CJ_COMPARE_NOR)
 *   CJ_ESTATE: the capture of `s` is invalidated
 *   CJ_EDRIVER: the driver rejects the call
 * cuStreamWaitValue32, cuStreamWaitValue64, CUDA 11.7. */
CJ_API cj_status cj_stream_wait_value32(cj_stream *s, cj_dptr d, uint32_t value, cj_compare how);
CJ_API cj_status cj_stream_wait_value64(cj_stream *s, cj_dptr d, uint64_t value, cj_compare how);

/* Writes `value` to the location when the stream reaches it.  All earlier work of the stream is
 * visible before the write is.  Returns at once.  Memory, order and errors as
 * cj_stream_wait_value32.
 * cuStreamWriteValue32, cuStreamWriteValue64, CUDA 11.7. */
CJ_API cj_status cj_stream_write_value32(cj_stream *s, cj_dptr d, uint32_t value);
CJ_API cj_status cj_stream_write_value64(cj_stream *s, cj_dptr d, uint64_t value);

/* What one operation of a batch does. */
typedef enum cj_mem_op_kind {
    CJ_MEM_OP_WAIT32 = 1,
    CJ_MEM_OP_WAIT64 = 2,
    CJ_MEM_OP_WRITE32 = 3,
    CJ_MEM_OP_WRITE64 = 4
} cj_mem_op_kind;

/* One operation of a batch. */
typedef struct cj_mem_op {
    int32_t kind;   /* a cj_mem_op_kind */
    int32_t how;    /* of a wait: a cj_compare */
    cj_dptr d;      /* the location */
    uint64_t value; /* at most UINT32_MAX for a 32-bit location */
} cj_mem_op;

enum { CJ_MEM_OPS_MAX = 255 }; /* most operations of one call: the driver's limit */

/* Enqueues `count` waits and writes, in their order, with one driver call; 0 does nothing.
 * All are checked before any is enqueued: all are enqueued or none.  `ops`: Copied.
 * Returns at once.  Errors, left in `s`, name the operation by its index:
 *   CJ_EINVAL: as cj_stream_wait_value32, or more than CJ_MEM_OPS_MAX operations
 *   CJ_ENOTSUP, CJ_ESTATE, CJ_EDRIVER: as cj_stream_wait_value32
 *   CJ_ENOMEM: host memory is exhausted
 * cuStreamBatchMemOp, CUDA 11.7. */
CJ_API cj_status cj_stream_mem_ops(cj_stream *s, const cj_mem_op *ops, size_t count);

/* ---- Events ---------------------------------------------------------------------------------- */

typedef struct cj_event_opts {
    size_t size;      /* sizeof(cj_event_opts) */
    int32_t timing;   /* 1: cj_event_elapsed works; a record costs about 1 us more */
    int32_t blocking; /* 1: cj_event_sync sleeps instead of spinning */
    int32_t ipc;      /* 1: another process can import it; not together with timing */
} cj_event_opts;

/* Fills `opts` with its size and the defaults, which NULL means too.  All are 0: no timing (unlike
 * cuEventCreate with flags 0), cj_event_sync spins, and the event is of this process only.
 * `opts`: May be NULL. */
CJ_API void cj_event_defaults(cj_event_opts *opts);

/* Creates an event of a device.  `opts`: May be NULL.
 * Never NULL.  Owned by the caller, free with cj_event_free.
 * Errors, in the failed object that is returned:
 *   CJ_EINVAL: .timing together with .ipc
 *   CJ_ENOMEM: host memory is exhausted
 *   CJ_EDRIVER: the driver rejects the call
 *   the error of `dev`, if `dev` is a failed object
 * cuEventCreate. */
CJ_API cj_event *cj_event_create(cj_device *dev, const cj_event_opts *opts);

/* Wraps an existing CUevent of this device's context.  The caller keeps ownership of `raw`, which
 * must outlive the cj_event.  cujit does not know whether `raw` has timing or was recorded.  If it
 * lacks one of them, cj_event_elapsed fails with CJ_EDRIVER.
 * Never NULL.  Owned by the caller, free with cj_event_free, which does not destroy `raw`.
 * Errors, in the failed object that is returned:
 *   CJ_EINVAL: `raw` is NULL
 *   CJ_ENOMEM: host memory is exhausted
 *   the error of `dev`, if `dev` is a failed object */
CJ_API cj_event *cj_event_wrap(cj_device *dev, void *raw);

/* Frees the event.  Returns at once.  Waits that were enqueued before still hold.
 * `e`: May be NULL.
 * cuEventDestroy. */
CJ_API void cj_event_free(cj_event *e);

/* The CUevent.  Borrowed until cj_event_free.  NULL for a failed event. */
CJ_API void *cj_event_raw(const cj_event *e);

/* The event's device.  Borrowed until cj_event_free.  NULL for a failed event. */
CJ_API cj_device *cj_event_device(const cj_event *e);

/* Records a point in the event: all work enqueued on `s` so far.  The point is *reached* when that
 * work has completed.  Recording again replaces the point; waits enqueued before keep the old one.
 * A point of an event with .ipc is reached only after all earlier points of the event.
 * Returns at once.  Errors, left in the event and in `s`:
 *   CJ_EINVAL: event and stream are of two devices
 *   CJ_EHANDLE: a handle is of another type
 *   CJ_ESTATE: the capture of `s` is invalidated, or the driver does not capture such an event
 *   CJ_EDRIVER: the driver rejects the call
 * cuEventRecord. */
CJ_API cj_status cj_event_record(cj_event *e, cj_stream *s);

/* Returns CJ_OK when the recorded point is reached or nothing was recorded, CJ_ENOTREADY when not.
 * Returns at once.  Errors, left in the event:
 *   CJ_ESTATE: the event was last recorded in a capture
 *   CJ_EDRIVER: the device has failed
 * cuEventQuery. */
CJ_API cj_status cj_event_query(cj_event *e);

/* Waits until the recorded point is reached.  Blocks.  Errors as cj_event_query.
 * cuEventSynchronize. */
CJ_API cj_status cj_event_sync(cj_event *e);

/* As cj_event_sync, for at most `ms` milliseconds; 0 only polls.  Blocks.
 * Errors as cj_event_query, and:
 *   CJ_ETIMEOUT: the time has passed; recorded in cj_error_last() only
 * cuEventQuery. */
CJ_API cj_status cj_event_sync_for(cj_event *e, uint32_t ms);

/* Writes the time between two recorded points to *ms, in milliseconds.
 * Returns at once; CJ_ENOTREADY while one of the points is not reached.
 * Errors, left in `from`:
 *   CJ_EINVAL: an event has no timing, the events are of two devices, or `ms` is NULL
 *   CJ_ESTATE: an event was never recorded
 *   CJ_EDRIVER: the driver rejects the call
 * cuEventElapsedTime. */
CJ_API cj_status cj_event_elapsed(cj_event *from, cj_event *to, float *ms);

enum { CJ_IPC_EVENT_BYTES = 64 }; /* bytes of the handle of an event for other processes */

/* cj_event_export writes the handle of an event with .ipc to `handle`, a buffer of `bytes` >=
 * CJ_IPC_EVENT_BYTES bytes.  cj_event_import makes a cj_event of it in another process.  Both
 * processes then record, query and wait for one event.
 *
 * Owned by the caller, free with cj_event_free, in each process, in any order.  The handle can be
 * imported until the process that made the event frees it or ends.  A point that was recorded by a
 * process that ends before the point is reached is never reached.  After fork(), parent and child
 * cannot share events if the parent had opened the driver before.
 * Errors, left in the event or in the failed object that is returned:
 *   CJ_EINVAL: no .ipc, too few bytes, bytes that are not a handle, or a handle of this process
 *   CJ_ENOTSUP: the driver has no events between processes
 *   CJ_ENOMEM: host memory is exhausted
 *   CJ_EDRIVER: the event does not exist any more
 *   the error of `dev`, if `dev` is a failed object
 * cuIpcGetEventHandle, cuIpcOpenEventHandle. */
CJ_API cj_status cj_event_export(cj_event *e, void *handle, size_t bytes);
CJ_API cj_event *cj_event_import(cj_device *dev, const void *handle, size_t bytes);

/* ---- Counters: always on --------------------------------------------------------------------- */

/* The work of a stream since it was made.  Captured calls are not counted.  A launch of a graph is
 * one operation; its contents are not counted. */
typedef struct cj_stream_counts {
    size_t size;              /* sizeof(cj_stream_counts) */
    uint64_t operations;      /* launches, graphs, copies, fills, host functions, records, waits; a
                               * fork or join counts on both streams */
    uint64_t launches;        /* kernel launches among them */
    uint64_t bytes_to_device; /* copied from the host */
    uint64_t bytes_to_host;   /* copied to the host */
    uint64_t bytes_on_device; /* copied on the device and between devices */
    uint64_t bytes_held;      /* memory with this home stream that is not freed */
    uint64_t bytes_held_most; /* the largest value of bytes_held so far */
    uint64_t copies_to_device, copies_to_host, copies_on_device; /* the copies of those bytes */
    uint64_t fills;           /* fills among the operations */
    uint64_t waits;           /* for events, streams, barriers and memory locations */
    /* What a profile (profile.h) has measured, once it is read: 0 before the first. */
    uint64_t measured;        /* operations */
    uint64_t busy_ns;         /* time in which the stream worked on them */
    uint64_t wait_ns;         /* time in which it waited */
    uint64_t latency_mean_ns; /* from enqueueing an operation to its end; waits are left out */
    uint64_t latency_p50_ns, latency_p90_ns, latency_p99_ns; /* percentiles, within 12 percent */
} cj_stream_counts;

/* Fills `counts` with its size and zeros.  `counts`: May be NULL. */
CJ_API void cj_stream_counts_defaults(cj_stream_counts *counts);

/* Fills *counts up to counts->size bytes.  Only reads counters: never invalidates a capture.
 * Returns at once.  Errors, left in `s`:
 *   CJ_EINVAL: `counts` is NULL, or its size is not set */
CJ_API cj_status cj_stream_get_counts(cj_stream *s, cj_stream_counts *counts);

#ifdef __cplusplus
}
#endif

/* ---- Option literals: CJ_STREAM(.priority = CJ_PRIORITY_HIGH); C and C++20 ------------------- */

#ifndef __cplusplus
#define CJ_STREAM(...) (&(const cj_stream_opts){ .size = sizeof(cj_stream_opts), __VA_ARGS__ })
#define CJ_EVENT(...) (&(const cj_event_opts){ .size = sizeof(cj_event_opts), __VA_ARGS__ })
#elif __cplusplus >= 202002L
#ifndef CJI_KEEP
#define CJI_KEEP
namespace cji { template<class T> inline const T *keep(const T &t) { return &t; } }
#endif
#define CJ_STREAM(...) cji::keep(cj_stream_opts{ .size = sizeof(cj_stream_opts), __VA_ARGS__ })
#define CJ_EVENT(...) cji::keep(cj_event_opts{ .size = sizeof(cj_event_opts), __VA_ARGS__ })
#endif

#endif
