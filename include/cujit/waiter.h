/* cujit/waiter.h - completions of events and streams, by callback or by poll.
 *
 *     cj_waiter *w = cj_waiter_create(dev, NULL);
 *     cj_waiter_add_stream(w, s, 200, done, &job);   // done(&job, CJ_WAIT_DONE) when s gets there
 *     ...
 *     n = cj_waiter_poll(w, records, 64, 10);        // the same without callbacks
 *
 * A waiter watches points of one device: of an event, the point recorded last; of a stream, all
 * work enqueued so far.  One thread of the waiter watches any number of them, so a program needs
 * one waiter for each device.  A second waiter of a device has a thread of its own: a callback of
 * one library that blocks, or that waits for a completion of another library's waiter, then delays
 * no wait but its own waiter's.
 *
 * Exactly once.  Each wait has one completion, with one cj_wait_result.  It is a call of the wait's
 * function or, for a wait without a function, a record that cj_waiter_poll returns.  A device error
 * completes waits too, also where host functions are not called any more.
 *
 * Points.  A wait for an event is for the point that is recorded when cj_waiter_add is called.  The
 * event may be freed or recorded again at once.  Exception: a record that cujit does not see, of a
 * graph's node, of another process or by cuEventRecord, replaces the point for the wait too.
 *
 * Order.  Completions of one stream are reported in the order of its points.
 *
 * Time.  The thread queries the oldest point of each stream only: without a pause while its wait
 * is younger than .spin_us, later with pauses of a sixteenth of its age, from 20 to 75 us.  A wait
 * over 1 ms is reported about 100 us late at most.
 * The waiter learns how long the waits of each stream take.  While a wait is younger than nearly
 * all of those before it, the pauses grow up to 0.5 ms; a wait that ends earlier than expected may
 * be reported that late.
 *
 * Callbacks may call CUDA and all of cujit, the functions of this header too.  They run with the
 * device's context current and in relaxed capture mode, except in cj_waiter_run.
 *
 * Captures.  A waiter never invalidates a capture.  What is recorded in a capture is no point that
 * can be waited for.  An event that is waited for may be recorded in a capture by cj_event_record,
 * on any thread.
 *
 * Process.  A waiter delays neither fork() nor exit().  In the child of fork() the handle fails
 * with CJ_EFORKED and cj_waiter_free does nothing.  From exit() on no callback is called, except by
 * cj_waiter_shutdown and cj_waiter_free.
 *
 * Threads.  Any thread.  A host function (cj_host_func, cj_stream_callback) may call
 * cj_waiter_cancel, cj_waiter_poll and cj_waiter_fd, which call no driver.
 */
#ifndef CUJIT_WAITER_H
#define CUJIT_WAITER_H

#include <cujit/stream.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cj_waiter cj_waiter;

/* A wait of one waiter.  0 is none.  Handles of waits that are over are recognised. */
typedef uint64_t cj_wait;

/* How a wait ended. */
typedef enum cj_wait_result {
    CJ_WAIT_DONE = 0,      /* the point is reached */
    CJ_WAIT_ERROR = 1,     /* the device has failed; the waiter has the failure (cj_error_of) */
    CJ_WAIT_TIMEOUT = 2,   /* the time has passed; the work continues */
    CJ_WAIT_CANCELLED = 3, /* by cj_waiter_cancel */
    CJ_WAIT_SHUTDOWN = 4   /* by cj_waiter_shutdown or cj_waiter_free */
} cj_wait_result;

/* ---- Making and freeing ---------------------------------------------------------------------- */

/* Where callbacks run. */
typedef enum cj_waiter_callbacks {
    CJ_WAITER_THREAD = 0, /* on the thread that watches: one at a time, and nothing is watched
                           * meanwhile */
    CJ_WAITER_POOL = 1,   /* on .threads threads of the waiter */
    CJ_WAITER_CALLER = 2  /* on threads that call cj_waiter_run */
} cj_waiter_callbacks;

typedef struct cj_waiter_opts {
    size_t size;       /* sizeof(cj_waiter_opts) */
    int32_t callbacks; /* a cj_waiter_callbacks */
    int32_t threads;   /* of CJ_WAITER_POOL, 1 to 64; 0: 4 */
    int32_t spin_us;   /* a wait is polled without pause so long; 0: 200; -1: never */
} cj_waiter_opts;

/* Fills `opts` with its size and the defaults, which NULL means too: CJ_WAITER_THREAD, 4 threads of
 * CJ_WAITER_POOL, 200 us.  `opts`: May be NULL. */
CJ_API void cj_waiter_defaults(cj_waiter_opts *opts);

/* Creates a waiter and its threads.  `opts`: May be NULL.
 * Never NULL.  Owned by the caller, free with cj_waiter_free.
 * Errors, in the failed object that is returned:
 *   CJ_EINVAL: an option is out of range
 *   CJ_ENOMEM: host memory is exhausted, or no thread can be created
 *   the error of `dev`, if `dev` is a failed object */
CJ_API cj_waiter *cj_waiter_create(cj_device *dev, const cj_waiter_opts *opts);

/* Completes all waits with CJ_WAIT_SHUTDOWN.  Later calls of cj_waiter_add fail.  Records can still
 * be polled and callbacks run.  The second call does nothing.
 * Returns at once.  Errors: those of a wrong or failed handle. */
CJ_API cj_status cj_waiter_shutdown(cj_waiter *w);

/* Shuts the waiter down, waits until every callback has returned and calls of cj_waiter_poll and
 * cj_waiter_run on other threads return, and frees it.  Records that were not polled are dropped.
 * With CJ_WAITER_CALLER it calls the remaining callbacks itself.  Blocks.  `w`: May be NULL.
 * A thread that polls in a loop ends by cj_waiter_shutdown, before the waiter is freed.
 * Exception: called by a callback of `w` it returns at once.  The remaining callbacks run after
 * that one has returned, and the last thread of the waiter frees it. */
CJ_API void cj_waiter_free(cj_waiter *w);

/* ---- Waits ----------------------------------------------------------------------------------- */

#define CJ_WAIT_FOREVER UINT32_MAX /* milliseconds: no timeout */

/* Adds a wait for the point that `e` recorded last; an event without a record is complete.
 * fn(user, result) is called once with a cj_wait_result.  `fn`: May be NULL; then cj_waiter_poll
 * returns a record with `user`.  `ms`: milliseconds until CJ_WAIT_TIMEOUT; with 0 the event is
 * queried once.
 * Returns at once.  Returns 0 on failure, and `fn` is not called.  Errors, left in `w` and in `e`:
 *   CJ_EINVAL: waiter and event are of two devices
 *   CJ_EHANDLE: `e` is not an event
 *   CJ_ESTATE: the event was last recorded in a capture
 *   CJ_ENOMEM: host memory is exhausted
 * Left in `w` alone:
 *   CJ_ESTATE: the waiter is shut down */
CJ_API cj_wait cj_waiter_add(cj_waiter *w, cj_event *e, uint32_t ms,
                             void (*fn)(void *user, cj_wait_result result), void *user);

/* Adds a wait for all work enqueued on `s` so far.  It records an event of the device's event pool
 * (cj_event_pool_for_device) on `s`.
 * Otherwise as cj_waiter_add.
 * Returns at once.  Returns 0 on failure, and `fn` is not called.  Errors, left in `w` and in `s`:
 *   CJ_EINVAL: waiter and stream are of two devices
 *   CJ_EHANDLE: `s` is not a stream
 *   CJ_ENOMEM: host memory is exhausted
 *   CJ_EDRIVER: the driver rejects a call, or the device has already failed
 * Left in `w` alone:
 *   CJ_ESTATE: `s` is capturing, or the waiter is shut down
 * cuEventRecord. */
CJ_API cj_wait cj_waiter_add_stream(cj_waiter *w, cj_stream *s, uint32_t ms,
                                    void (*fn)(void *user, cj_wait_result result), void *user);

/* Cancels a wait: its completion is CJ_WAIT_CANCELLED, delivered as any other.
 * *runs is 1 if its callback has not returned yet, or its record was not polled yet; else 0, and
 * then `user` is not used any more.  `runs`: May be NULL.
 * Returns at once.  Returns CJ_ENOTFOUND if the wait was complete before this call; its completion
 * is the earlier one.
 * Errors, left in `w`:
 *   CJ_EHANDLE: `wait` is 0 or no wait of this waiter */
CJ_API cj_status cj_waiter_cancel(cj_waiter *w, cj_wait wait, int32_t *runs);

/* ---- Without callbacks of library threads ---------------------------------------------------- */

/* The completion of a wait that has no function. */
typedef struct cj_wait_record {
    cj_wait wait;
    void *user;
    uint64_t waited_ns; /* from cj_waiter_add until the completion */
    int32_t result;     /* a cj_wait_result */
    int32_t driver;     /* with CJ_WAIT_ERROR: the driver's CUresult; else 0 */
} cj_wait_record;

/* Writes up to `max` records to `records`, the oldest completion first.  If there are none, waits
 * for one, for at most `ms` milliseconds; 0 returns at once.  Blocks.
 * Returns the number of records, 0 after the time has passed, or a negative cj_status:
 *   CJ_EINVAL: `records` is NULL or `max` is 0; left in `w`
 *   CJ_ESTATE: the waiter is shut down and has no record left; recorded in cj_error_last() only */
CJ_API int cj_waiter_poll(cj_waiter *w, cj_wait_record *records, size_t max, uint32_t ms);

/* With CJ_WAITER_CALLER: calls up to `max` functions of completed waits on the calling thread.  If
 * there are none, waits for one, for at most `ms` milliseconds; 0 returns at once.  Blocks.
 * Returns the number of calls, 0 after the time has passed, or a negative cj_status:
 *   CJ_EINVAL: `max` is 0, or the waiter has threads for its callbacks; left in `w`
 *   CJ_ESTATE: the waiter is shut down and has no callback left, or it was freed meanwhile;
 *     recorded in cj_error_last() only */
CJ_API int cj_waiter_run(cj_waiter *w, size_t max, uint32_t ms);

/* An eventfd for poll, select or epoll: readable while cj_waiter_poll has records, or cj_waiter_run
 * callbacks.  Nobody reads from it or writes to it but the waiter.
 * Belongs to `w`.  Returns at once.  Returns -1 on failure.  Errors, left in `w`:
 *   CJ_ENOTSUP: the system has no descriptor left */
CJ_API int cj_waiter_fd(cj_waiter *w);

#ifdef __cplusplus
}
#endif

/* ---- Option literals: CJ_WAITER(.callbacks = CJ_WAITER_POOL); C and C++20 -------------------- */

#ifndef __cplusplus
#define CJ_WAITER(...) (&(const cj_waiter_opts){ .size = sizeof(cj_waiter_opts), __VA_ARGS__ })
#elif __cplusplus >= 202002L
#ifndef CJI_KEEP
#define CJI_KEEP
namespace cji { template<class T> inline const T *keep(const T &t) { return &t; } }
#endif
#define CJ_WAITER(...) cji::keep(cj_waiter_opts{ .size = sizeof(cj_waiter_opts), __VA_ARGS__ })
#endif

#endif
