/* cujit/stream.h - streams, events, device memory in stream order, copies.
 *
 *     cj_driver
 *       cj_device ......... driver.h
 *         cj_stream ....... a queue of work on the device: launches, copies, fills, host functions, waits
 *           cj_dptr ....... memory made in the stream's order; belongs to the device
 *         cj_event ........ a point in a stream, for other streams and for the host
 *         cj_graph ........ graph.h
 *
 * Every stream that cujit makes is non-blocking unless that is asked for: it never waits for the legacy default stream, nor that for it.  What is given to a
 * stream runs in the order in which it was given; two streams run side by side except where an event orders them.
 *
 * Done when.  A call that gives work to a stream returns at once, also with pageable host memory; the work is done when the stream
 * reaches it, and cj_stream_sync() waits for that.
 *
 * Errors.  A call that fails returns its status and leaves a record in its first argument.  A stream keeps the *first* failure of anything
 * given to it until cj_stream_sync() has returned it, so a whole program may check once, there; the record stays readable with
 * cj_error_of() until the next failure.  CJ_ENOTREADY is an answer, never recorded.
 *
 * Lifetime.  Streams, events and memory may be released in any order, from any thread, while work that uses them is under way, and during
 * a capture: what the driver would not allow at that moment is put off, and done by a later call on the same device, by
 * cj_device_collect(), or never, when the process ends first.
 *
 * Threads.  Every call may be made from any thread.  The caller's current CUDA context is the same after a call as before it.  No call of
 * this header may be made inside a host function (cj_host_func): the driver forbids it.
 */
#ifndef CUJIT_STREAM_H
#define CUJIT_STREAM_H

#include <cujit/memory.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Making streams ---------------------------------------------------------------------------------------------- */

/* A stream's priority, mapped onto the range that the device really has (it may hold a single value): HIGH is its most urgent end,
 * LOW its least urgent one, NORMAL the middle.  A priority chooses among blocks that are ready; it never stops running ones. */
typedef enum cj_priority {
    CJ_PRIORITY_NORMAL = 0,
    CJ_PRIORITY_HIGH = 1,
    CJ_PRIORITY_LOW = 2,
    CJ_PRIORITY_RAW = 3 /* take raw_priority as it is: lower is more urgent, out of range is clamped by the driver */
} cj_priority;

typedef struct cj_stream_opts {
    size_t size;          /* sizeof(cj_stream_opts) */
    int32_t priority;     /* a cj_priority */
    int32_t raw_priority; /* the driver's own number, with CJ_PRIORITY_RAW */
    int32_t legacy_order; /* 1: it and the legacy default stream wait for each other, as a stream of cuStreamCreate(CU_STREAM_DEFAULT) does */
} cj_stream_opts;

/* Fills `opts` with its size and the defaults. */
CJ_API void cj_stream_defaults(cj_stream_opts *opts);

/* Makes a stream; `opts` NULL for the defaults.  Never NULL; owned by the caller, free with cj_stream_free.
 * Errors (the stream is a failed object): CJ_EINVAL for an option out of range; what `dev` failed with; CJ_EDRIVER. */
CJ_API cj_stream *cj_stream_create(cj_device *dev, const cj_stream_opts *opts);

/* Makes a cj_stream of a CUstream that belongs to somebody else and to the device's context.  `raw` stays his and must outlive the
 * cj_stream.  (void *)1 is the legacy default stream.  Never NULL; free with cj_stream_free, which leaves `raw` alone.
 *
 * (void *)2 is the per-thread default stream of the calling thread.  On another thread that handle is another stream, so every call that would use it
 * there is CJ_ESTATE, left in the stream too; reading what it is, its counters, cj_free of its memory and cj_stream_free work from any thread, but
 * for the latter while a capture that was begun on it is open: then the stream stays, and the log says so.  Each piece of work costs an
 * event and a wait more (about 1 us).  What is given to the CUstream itself counts for cj_free when cj_stream_use is called behind it.
 * Errors: CJ_EINVAL for NULL and for a stream of another context; CJ_ESTATE while the stream is being captured. */
CJ_API cj_stream *cj_stream_wrap(cj_device *dev, void *raw);

/* Releases the stream; returns at once.  What was given to it still runs.  NULL is fine. */
CJ_API void cj_stream_free(cj_stream *s);

/* ---- What a stream is: read once, when it was made --------------------------------------------------------------- */

CJ_API void *cj_stream_raw(const cj_stream *s);           /* its CUstream, borrowed until cj_stream_free; NULL for a failed stream */
CJ_API uint64_t cj_stream_id(const cj_stream *s);         /* never repeats in a process; 0 for a failed stream */
CJ_API cj_device *cj_stream_device(const cj_stream *s);   /* borrowed while `s` lives; NULL for a failed stream */
CJ_API int cj_stream_priority(const cj_stream *s);        /* the driver's number: lower is more urgent */
CJ_API unsigned cj_stream_flags(const cj_stream *s);      /* CU_STREAM_NON_BLOCKING (1), or 0 with legacy_order */

/* ---- Launches and host functions: cj_launch and cj_launch_n are in launch.h -------------------------------------- */

/* Runs fn(user) on a thread of the driver when the stream reaches it; the stream's later work waits for it.  `fn` may call neither CUDA nor
 * cujit.  After an error of the device it is not called.  Captured, it runs at each launch of the graph.  Returns at once. */
CJ_API cj_status cj_host_func(cj_stream *s, void (*fn)(void *user), void *user);

/* Calls fn(user, status), once, on a thread of the driver, when everything given to `s` so far is done: status CJ_OK; or CJ_EDRIVER when the device has failed
 * before, which cj_host_func would not tell.  The stream's later work waits for `fn`, which may call neither CUDA nor cujit.  A call that fails
 * never calls `fn`.  Without callbacks: record an event, and ask with cj_event_query or wait with cj_event_sync_for; both tell a failure too.
 * Errors: CJ_EINVAL; CJ_ESTATE while `s` is being captured; CJ_ENOMEM; CJ_EDRIVER, also when the device has failed already.  cuStreamAddCallback. */
CJ_API cj_status cj_stream_callback(cj_stream *s, void (*fn)(void *user, cj_status status), void *user);

/* ---- Order and waiting ------------------------------------------------------------------------------------------- */

/* Later work of `s` waits, on the device, for what `e` recorded last before this call; an event never recorded is no wait.
 * `e` may be of another device.  Returns at once.  Errors, in `s`: CJ_EINVAL for an event of another driver; CJ_EHANDLE; CJ_EDRIVER. */
CJ_API cj_status cj_stream_wait(cj_stream *s, cj_event *e);

/* fork: later work of `t` waits for everything given to `s` so far.  join: later work of `s` waits for everything given to `t` so far.
 * In a capture of `s`, fork draws `t` into it and join brings it back; every fork must be joined before cj_capture_end.
 * Both return at once.  Errors, in `s`: CJ_EINVAL for streams of two drivers; CJ_EHANDLE; CJ_EDRIVER. */
CJ_API cj_status cj_stream_fork(cj_stream *s, cj_stream *t);
CJ_API cj_status cj_stream_join(cj_stream *s, cj_stream *t);

/* Blocks until everything given to `s` is done.  Returns the stream's first failure since the last sync, and forgets it, or CJ_OK.
 * Errors of its own: CJ_ESTATE while `s` is being captured (the capture goes on). */
CJ_API cj_status cj_stream_sync(cj_stream *s);

/* The same for `ms` milliseconds at most; 0 only looks.  CJ_ETIMEOUT when that has passed: the stream goes on, and what it keeps stays as it was, as this
 * is an answer and no failure of it.  Harms no capture of another stream. */
CJ_API cj_status cj_stream_sync_for(cj_stream *s, uint32_t ms);

/* CJ_OK when everything given to `s` is done, CJ_ENOTREADY when not, else the failure.  CJ_ESTATE while `s` is being captured. */
CJ_API cj_status cj_stream_query(cj_stream *s);

/* ---- Words of memory that streams wait for and write ------------------------------------------------------------- */

/* How a word is compared with a value; ORDER cj_compare: CUstreamWaitValue_flags. */
typedef enum cj_compare {
    CJ_COMPARE_GE = 0, /* (int)(word - value) >= 0: counts that may wrap around */
    CJ_COMPARE_EQ = 1,
    CJ_COMPARE_AND = 2, /* (word & value) != 0 */
    CJ_COMPARE_NOR = 3  /* ~(word | value) != 0 */
} cj_compare;

/* Later work of `s` waits, on the device, until the word at `d` compares so with `value`.  `d` is aligned to the word, in pinned or
 * managed host memory (its host address) or in device memory; drivers (580) refuse that of a pool, as cj_alloc's is.  Nobody else knows
 * who writes it: a word that is never written stops the stream for good.
 * Errors: CJ_EINVAL; CJ_ENOTSUP where device or driver lacks it (64 bits, NOR).  cuStreamWaitValue32/64, CUDA 11.7. */
CJ_API cj_status cj_stream_wait_value32(cj_stream *s, cj_dptr d, uint32_t value, cj_compare how);
CJ_API cj_status cj_stream_wait_value64(cj_stream *s, cj_dptr d, uint64_t value, cj_compare how);

/* Writes the word when the stream reaches it, after all that was given to `s` before can be seen.  As above. */
CJ_API cj_status cj_stream_write_value32(cj_stream *s, cj_dptr d, uint32_t value);
CJ_API cj_status cj_stream_write_value64(cj_stream *s, cj_dptr d, uint64_t value);

/* One wait or write among several. */
typedef enum cj_mem_op_kind {
    CJ_MEM_OP_WAIT32 = 1,
    CJ_MEM_OP_WAIT64 = 2,
    CJ_MEM_OP_WRITE32 = 3,
    CJ_MEM_OP_WRITE64 = 4
} cj_mem_op_kind;

typedef struct cj_mem_op {
    int32_t kind; /* a cj_mem_op_kind */
    int32_t how;  /* of a wait: a cj_compare */
    cj_dptr d;
    uint64_t value; /* at most UINT32_MAX for a word of 32 bits */
} cj_mem_op;

enum { CJ_MEM_OPS_MAX = 255 }; /* the most in one call, the driver's bound */

/* Waits and writes, `count` of them in their order, in one call of the driver.  All are checked before any is given, and all are given or none; 0 is fine.
 * Errors: as above, naming the op by its place; CJ_EINVAL for more than CJ_MEM_OPS_MAX.  cuStreamBatchMemOp, CUDA 11.7. */
CJ_API cj_status cj_stream_mem_ops(cj_stream *s, const cj_mem_op *ops, size_t count);

/* ---- Events ------------------------------------------------------------------------------------------------------ */

typedef struct cj_event_opts {
    size_t size;      /* sizeof(cj_event_opts) */
    int32_t timing;   /* 1: cj_event_elapsed works; recording costs about 1 us more */
    int32_t blocking; /* 1: cj_event_sync sleeps instead of spinning */
    int32_t ipc;      /* 1: another process may import it; not with timing */
} cj_event_opts;

/* Fills `opts` with its size and the defaults. */
CJ_API void cj_event_defaults(cj_event_opts *opts);

/* Makes an event of a device; `opts` NULL for the defaults.  Never NULL; owned by the caller, free with cj_event_free.
 * Errors (the event is a failed object): CJ_EINVAL for .timing together with .ipc; what `dev` failed with; CJ_EDRIVER. */
CJ_API cj_event *cj_event_create(cj_device *dev, const cj_event_opts *opts);

/* Releases the event at once; waits that were given to streams before still hold.  NULL is fine. */
CJ_API void cj_event_free(cj_event *e);

CJ_API void *cj_event_raw(const cj_event *e);          /* its CUevent, borrowed until cj_event_free; NULL for a failed event */
CJ_API cj_device *cj_event_device(const cj_event *e);  /* borrowed while `e` lives; NULL for a failed event */

/* The event stands for everything given to `s` so far; recorded again it moves, and waits given before keep the old point.
 * One made with .ipc is reached in the order of its records: `s` waits for its earlier point.
 * A failure is left in both.  Errors: CJ_EINVAL for a stream of another device. */
CJ_API cj_status cj_event_record(cj_event *e, cj_stream *s);

/* CJ_OK when the recorded point is reached, or nothing was recorded; CJ_ENOTREADY when not; else the failure.  CJ_ESTATE while the capture that it
 * was recorded in is open. */
CJ_API cj_status cj_event_query(cj_event *e);

/* Blocks until the recorded point is reached.  Errors as cj_event_query. */
CJ_API cj_status cj_event_sync(cj_event *e);

/* The same for `ms` milliseconds at most; 0 only looks.  CJ_ETIMEOUT when that has passed, an answer and no failure of the event. */
CJ_API cj_status cj_event_sync_for(cj_event *e, uint32_t ms);

/* The time between two recorded points in milliseconds, into *ms.  CJ_ENOTREADY while one of them is not reached; CJ_EINVAL where one has no timing, or is of
 * another device; CJ_ESTATE where one was never recorded. */
CJ_API cj_status cj_event_elapsed(cj_event *from, cj_event *to, float *ms);

enum { CJ_IPC_EVENT_BYTES = 64 }; /* bytes of an event's handle for other processes */

/* Writes the handle of an event made with .ipc = 1, to be carried to another process, which makes its own cj_event of it with cj_event_import: one
 * event, recorded and waited for by both.  Both are released, each in its process, in any order; the handle leads to the event while the process
 * that made it has it.  A point that a process recorded and did not reach before its end is never reached.
 * Not between parent and child of a fork that shares the opened driver.
 * Errors: CJ_EINVAL for an event made without .ipc, for too few bytes, for bytes that are no handle, and for a handle taken in by the process that
 * gave it out; CJ_EDRIVER where it leads to nothing any more; CJ_ENOTSUP where the driver lacks it.  cuIpcGetEventHandle, cuIpcOpenEventHandle. */
CJ_API cj_status cj_event_export(cj_event *e, void *handle, size_t bytes);
CJ_API cj_event *cj_event_import(cj_device *dev, const void *handle, size_t bytes);

/* ---- Counters: always on ----------------------------------------------------------------------------------------- */

#define CJ_NOT_MEASURED INT64_C(-1) /* the value of a time that nobody measured */

/* What a stream was given since it was made.  What is captured counts where it runs: as one operation at each launch of the graph. */
typedef struct cj_stream_counts {
    size_t size;              /* sizeof(cj_stream_counts), set by the caller or cj_stream_counts_defaults */
    uint64_t operations;      /* launches, graphs, copies, fills, host functions, records, waits; a fork or join counts on both streams */
    uint64_t launches;        /* those that are kernels */
    uint64_t bytes_to_device; /* copied from the host */
    uint64_t bytes_to_host;
    uint64_t bytes_on_device; /* copied on the device and between devices */
    uint64_t bytes_held;      /* memory that has this stream as its home and was not freed */
    uint64_t bytes_held_most; /* the most there was at one time */
    int64_t busy_ns;          /* time in which it had work; CJ_NOT_MEASURED while it is not profiled */
    int64_t latency_ns;       /* from giving work to its start; the same */
} cj_stream_counts;

/* Fills `counts` with its size, zeros, and CJ_NOT_MEASURED for the times. */
CJ_API void cj_stream_counts_defaults(cj_stream_counts *counts);

/* Fills *counts, up to the size that it states.  Reads numbers only: harms no capture, waits for nothing.  Errors: CJ_EINVAL for NULL or a size that is none. */
CJ_API cj_status cj_stream_get_counts(cj_stream *s, cj_stream_counts *counts);

#ifdef __cplusplus
}
#endif

/* ---- Option literals: CJ_STREAM(.priority = CJ_PRIORITY_HIGH), CJ_EVENT(.timing = 1); C and C++20 ----------------- */

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
