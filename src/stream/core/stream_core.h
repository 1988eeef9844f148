/* The room core: streams, events, order between them, waits, callbacks, host functions, launches; what a capture
 * records. Prefixes: cji_stream, cji_event, cji_proxy, cji_capture, cji_refset.  Calls nothing of the rooms memory
 * and graph.
 *
 *   stream.c            streams made, wrapped, released; failures left in all streams of a device
 *   event.c             events; ipc_event.c: between processes; event_point.c: points that stay when an event is
 *                       recorded again; stream_point.c: points of streams
 *   order.c             waits, forks, joins
 *   wait.c              waiting on the host, with and without a timeout
 *   callback.c          callbacks; host_func.c: host functions
 *   counts.c            counters of a stream
 *   stream_launch.c     kernels launched
 *   stream_prepared.c   prepared launches: kernel, dimensions and arguments bound once
 *   stream_barrier.c    barriers over streams
 *   default_thread.c    the proxy stream of a wrapped per-thread default stream
 *   recording.c         captures under way: which streams take part, the first failure
 *   refs.c              reference sets: what a graph retains
 *   device_pools.c      pools of a device or a thread
 *   event_pool.c        pools of events; event_pool_cells.c: what they are made of
 *   stream_error.c      results of the driver as failures
 *
 * Locks: base/lock_order.def. */
#ifndef CJI_STREAM_CORE_H
#define CJI_STREAM_CORE_H

#include <cujit/capture.h>
#include <cujit/pool.h>
#include <cujit/stream.h>

#include "base/cells.h"
#include "base/clock.h"
#include "base/lock.h"
#include "base/obj.h"
#include "base/opts.h"
#include "base/thread_cache.h"
#include "driver/deferred.h"
#include "driver/driver.h"

typedef struct cji_capture cji_capture;
typedef struct cji_refset cji_refset;

/* -- Counters ------------------------------------------------------------------------------------------------------ */

/* Of what runs on the stream itself, not of what is captured; each counted once, when the driver has accepted it.
 * Launches, and records that take no lock, are counted before the driver's call, and counted in `unlaunched` or
 * `rejected` too when that fails. */

typedef struct cji_counts {
    /* launches of one thread, the launcher, which alone writes them, and of all others; operations are these and
     * `others`, less the last two */
    atomic_uint_fast64_t own_launches, launches, others, unlaunched, rejected;
    _Atomic(const cji_thread_own *) launcher; /* the first thread that launched something; NULL: none has */
    atomic_uint_fast64_t to_device, to_host, on_device; /* bytes */
    atomic_uint_fast64_t done; /* operations that were seen to be complete; behind what the device has done */
    atomic_uint_fast64_t copies_to_device, copies_to_host, copies_on_device, fills, waits;
} cji_counts;

/* -- Objects ------------------------------------------------------------------------------------------------------- */

struct cj_stream {
    cji_obj obj;
    cj_device *dev; /* retained */
    cji_release_queue *queue; /* the device's */
    const cji_cu *cu;
    CUstream raw;
    cji_slot *slot;
    uint64_t bit; /* the slot's */
    /* what a launch looks at before it goes the quick way: `unusual` is 0 while none of these is set */
    union {
        struct {
            atomic_bool capturing; /* capture is not NULL */
            /* the latest launch found another context current: the next one does not try without the device's */
            atomic_bool foreign;
            atomic_bool borrowed;  /* raw was not made here; set when the stream is made */
        };
        _Atomic uint32_t unusual;
    };
    uint64_t id;
    int priority;
    unsigned flags;
    pthread_mutex_t lock;  /* guards capture, order */
    cji_capture *capture;  /* retained */
    cji_counts counts;
    _Atomic(struct cji_timing *) timing; /* what was measured of it (work_hooks.h); NULL: nothing */
    CUevent order;         /* for fork and join, made at the first of them; recorded and waited for, never queried */
    /* of a per-thread default stream: waits for its work (default_thread.c), and is its slot's stream; NULL: there is
     * none */
    CUstream proxy;
    CUevent proxy_event;   /* what it waits for: recorded on raw after each piece of work */
    void *place; /* in the stream pool that it belongs to (src/stream/pool); NULL: it is the user's */
    cji_deferred deferred;
};

struct cj_event {
    cji_obj obj;
    cj_device *dev; /* retained */
    cji_release_queue *queue;
    const cji_cu *cu;
    CUevent raw;
    bool owned; /* raw was made here */
    bool timing, ipc;
    pthread_mutex_t lock; /* guards what follows; held over record and wait, so that the two agree about the capture */
    bool recorded;
    cji_capture *capture; /* that it was last recorded in, retained; may be over */
    cji_cell *cell; /* of the pool that it belongs to (event_pool.c); NULL: it is the user's.  Changed under the lock */
    /* recorded, and in no capture; set with the lock held, read without it.  False while it is recorded in a capture */
    atomic_bool plain;
    /* the latest record outside captures: the stream's id, and its operations as counted before and behind the record;
     * 0: not known.  Hints of order: of two points of a stream the one whose `behind` is at most the other's `before`
     * is the earlier one */
    atomic_uint_fast64_t on, before, behind;
    struct cji_event_point *point; /* the point recorded last, while somebody needs it; under the lock */
    cji_deferred deferred;
};

/* A launch whose kernel, dimensions and arguments are checked and bound.  The arrays and the values behind them are one
 * allocation.  ptr[i] never changes: values are replaced in place. */
struct cj_prepared {
    cji_obj obj;
    cj_kernel *k; /* retained */
    void **ptr;
    cj_dims dims;
    uint32_t room_wanted; /* dims.shared; UINT32_MAX, which no kernel has, where cuLaunchKernel does not take them */
    cj_launch_opts opts; /* dims.opts, unless that is NULL */
    size_t count, bytes; /* arguments; bytes of the allocation */
    cj_arg *args;        /* what captures retain; those of CJ_ARG_BYTES point to the value */
    uint32_t *room;      /* bytes at ptr[i] */
};

/* -- Events (event.c) ---------------------------------------------------------------------------------------------- */

/* A new event, or a failed object, on behalf of `call`. */
cj_event *cji_event_make(cj_device *dev, const cj_event_opts *opts, const char *call);
/* A fresh event of a device without its CUevent, or a failed object. */
cj_event *cji_event_new(cj_device *dev, const char *call);
/* A reference of who needs the event's point, or the event itself, later: its pool does not hand it out again. */
cj_event *cji_event_retain(cj_event *e);
/* Drops a reference; the last one releases the CUevent. */
void cji_event_drop(cj_event *e);
/* The event leaves its pool: it is an event like another, of those who hold references. */
void cji_event_leave_pool(cj_event *e);
/* Whether the driver may be asked about the event: CJ_ESTATE, left in it, while the capture that it was recorded in
 * is open. */
cj_status cji_event_may_query(cj_event *e, const char *call);
/* A result of the driver about an event, recorded in `obj`: after a capture an event has no point that a stream
 * reaches. */
cj_status cji_event_rejected(void *obj, cj_event *e, CUresult r, const char *call, const char *cu_call);

/* -- Events of pools (event_pool.c) -------------------------------------------------------------------------------- */

/* The note of an event's cell: the bit of the stream that it was recorded on since it was acquired, 0: on none, or
 * CJI_NOTE_WATCHED where somebody has taken its point all the same; or CJI_NOTE_HELD: it must not be handed out again,
 * as it was recorded in a capture or somebody retains it.  While the event has a point (cji_event_point) it is not
 * handed out either. */
#define CJI_NOTE_HELD UINT64_MAX
#define CJI_NOTE_WATCHED UINT64_C(1)
static inline void cji_note_record(cji_cell *cell, uint64_t bit)
{
    if (atomic_load_explicit(&cell->note, memory_order_relaxed) != CJI_NOTE_HELD)
        atomic_store_explicit(&cell->note, bit, memory_order_relaxed);
}

/* What the library itself acquires, without the checks of a handle.  An event, and its handle in *handle; NULL: the
 * failure is recorded in `into` for `call`.  Any thread. */
cj_event *cji_event_acquire(cj_event_pool *pool, cj_event_kind kind, cj_pooled_event *handle, void *into,
                            const char *call);
/* Records the event on a stream that is not capturing and needs no context; no other thread uses the event.  Nothing
 * is counted. */
static inline CUresult cji_event_record_raw(cj_event *e, cj_stream *s)
{
    CUresult r = e->cu->cuEventRecord(e->raw, s->raw);
    if (r == CUDA_SUCCESS && e->cell) cji_note_record(e->cell, s->bit);
    atomic_store_explicit(&e->on, 0, memory_order_relaxed); /* its order among the stream's records is not known */
    return r;
}
/* As cj_event_pool_release, of a handle that is held. */
void cji_event_release(cj_event_pool *pool, cj_pooled_event handle);
/* The same, where the caller has seen that the event's point is reached: it can be handed out at once. */
void cji_event_release_reached(cj_event_pool *pool, cj_pooled_event handle);
/* References of the library to a pool: it stays usable until the last is dropped. */
cj_event_pool *cji_event_pool_retain(cj_event_pool *pool);
void cji_event_pool_drop(cj_event_pool *pool);
/* -- Points of events (event_point.c, stream_point.c) -------------------------------------------------------------- */

/* The point that an event had recorded when it was taken.  It stays that point when the event is recorded again through
 * the library, and while it is there the event is, too. */
typedef struct cji_event_point {
    uint64_t on, before, behind;  /* as in the event; of events that others may record: 0 */
    cj_event *event;              /* retained */
    bool own;                     /* the event is this point's alone: nobody records it again */
    cj_event_pool *pool;          /* an own event's, not retained; NULL: it is of no pool */
    cj_pooled_event pooled;       /* its handle there */
    _Atomic(cj_event *) moved;    /* retained: has the point since the event was recorded again */
    atomic_int known;             /* the driver's result, when it is known for good; -1: not yet */
    unsigned refs;                /* under the event's lock */
} cji_event_point;

/* With a reference; NULL: the failure is left in the event and in `into`. */
cji_event_point *cji_event_point_take(cj_event *e, void *into, const char *call);
/* The same for everything enqueued on a stream so far, by an event of its own; failures are left in the stream too.
 * The event is one of the pool, which outlives the point; where that has none, and with NULL, it is made for it. */
cji_event_point *cji_stream_point_take(cj_stream *s, cj_event_pool *pool, void *into, const char *call);
void cji_event_point_drop(cji_event_point *p);
/* Their parts in event_point.c: a point that takes over the event, NULL without memory; the end of a user's one. */
cji_event_point *cji_event_point_own(cj_event *e);
void cji_event_point_leave(cji_event_point *p);
/* SUCCESS when the point is reached, NOT_READY when not.  In relaxed capture mode. */
CUresult cji_event_point_query(cji_event_point *p);
/* The event is going to be recorded again: what it has recorded becomes another event's.  With the event's lock. */
void cji_event_point_move(cj_event *e);

/* -- Pools of a device and of a thread (device_pools.c) ------------------------------------------------------------ */

/* The listed pool of that type, with one user more; NULL: there is none.  `thread` 0: the device's. */
void *cji_device_pool(cj_device *dev, cji_tag tag, uint64_t thread);
/* Lists a pool, whose number of users is *users.  Returns the pool; another one that was listed meanwhile, with one
 * user more; or NULL without memory. */
void *cji_device_pool_enter(cj_device *dev, cji_tag tag, uint64_t thread, void *pool, atomic_uint *users);
/* The pool has no user any more: it is listed no longer, if it was. */
void cji_device_pool_leave(cj_device *dev, void *pool);

/* -- Results of the driver (stream_error.c) ------------------------------------------------------------------------ */

/* Records a result of the driver in `obj`: `cu_call` is the entry point.  What a capture forbids is CJ_ESTATE. */
cj_status cji_rejected(void *obj, const cj_device *dev, CUresult r, const char *call, const char *cu_call);

enum { CJI_DEFERRED_STEP = 8 }; /* deferred releases tested by a call that may do some */

/* -- Failures of a stream's work (recording.c) --------------------------------------------------------------------- */

/* A call that was to enqueue work on `s`, or to order or protect it, has failed, and its record is the thread's
 * latest and the stream's: the graph of a capture under way is incomplete.  Returns `st`. */
cj_status cji_stream_failed(cj_stream *s, cj_status st);
/* The same for a record that is not the stream's yet. */
cj_status cji_stream_fail_with(cj_stream *s, const cj_error *why);
/* cji_rejected() and cji_stream_failed(). */
cj_status cji_stream_rejected(cj_stream *s, CUresult r, const char *call, const char *cu_call);

/* -- Proxy streams (default_thread.c) ------------------------------------------------------------------------------ */

/* Makes the proxy of a stream whose handle is CU_STREAM_PER_THREAD; context current.  On failure there is none,
 * *cu_call is the driver's entry point. */
CUresult cji_proxy_open(cj_stream *s, const char **cu_call);
void cji_proxy_close(cj_stream *s); /* in a scope */
/* Later work of the proxy waits for everything enqueued on `s` so far, unless that is being captured.  Where there is
 * no proxy, and on another thread than the stream's, it does nothing. */
void cji_proxy_follow(cj_stream *s);

/* -- Counting (counts.c) ------------------------------------------------------------------------------------------- */

static inline void cji_count(cj_stream *s, atomic_uint_fast64_t *counter, uint64_t n)
{
    if (!atomic_load_explicit(&s->capturing, memory_order_relaxed))
        atomic_fetch_add_explicit(counter, n, memory_order_relaxed);
}
/* A launch is counted before the driver's call: behind it, an atomic read-modify-write would wait for the driver's last
 * store, which goes to the device.  Nearly all launches of a stream are made by one thread, which needs none.  Of two
 * threads that are the launcher, since one ended and the other one owns now what was its, one is gone. */
CJI_QUICKLY void cji_count_launch(cj_stream *s)
{
    atomic_uint_fast64_t *own = &s->counts.own_launches;
    if (__builtin_expect(atomic_load_explicit(&s->counts.launcher, memory_order_relaxed) == cji_thread_here, 1))
        atomic_store_explicit(own, atomic_load_explicit(own, memory_order_relaxed) + 1, memory_order_relaxed);
    else
        atomic_fetch_add_explicit(&s->counts.launches, 1, memory_order_relaxed);
}
static inline void cji_uncount_launch(cj_stream *s) { atomic_fetch_add(&s->counts.unlaunched, 1); }
/* One operation that is no launch. */
static inline void cji_count_one(cj_stream *s)
{
    cji_count(s, &s->counts.others, 1);
    if (s->proxy) cji_proxy_follow(s);
}

/* Operations enqueued so far; those that were seen to be complete. */
static inline uint64_t cji_enqueued(const cj_stream *s)
{
    return atomic_load_explicit(&s->counts.own_launches, memory_order_relaxed) +
           atomic_load_explicit(&s->counts.launches, memory_order_relaxed) +
           atomic_load_explicit(&s->counts.others, memory_order_relaxed);
}
static inline uint64_t cji_outstanding(const cj_stream *s)
{
    const uint64_t done = atomic_load_explicit(&s->counts.done, memory_order_relaxed), all = cji_enqueued(s);
    return all > done ? all - done : 0;
}
/* The stream was complete when `enqueued` operations had been enqueued. */
static inline void cji_seen_done(cj_stream *s, uint64_t enqueued)
{
    if (enqueued > atomic_load_explicit(&s->counts.done, memory_order_relaxed))
        atomic_store_explicit(&s->counts.done, enqueued, memory_order_relaxed);
}

/* -- Contexts ------------------------------------------------------------------------------------------------------ */

/* CU_STREAM_LEGACY and CU_STREAM_PER_THREAD are streams of the current context; with another handle the driver knows
 * the context. */
static inline bool cji_stream_needs_context(const cj_stream *s)
{
    return s->raw == CU_STREAM_LEGACY || s->raw == CU_STREAM_PER_THREAD;
}

/* A scope for a driver call that takes the context from the stream's handle: it makes no driver call for other
 * handles.  CJ_OK: cji_scope_leave() follows. */
static inline cj_status cji_stream_scope(void *obj, const cj_stream *s, cji_scope *scope, const char *call)
{
    *scope = (cji_scope){ .cu = NULL };
    return cji_stream_needs_context(s) ? cji_scope_begin(obj, s->dev, scope, call) : CJ_OK;
}
/* The same in relaxed capture mode. */
static inline cj_status cji_stream_scope_relaxed(void *obj, const cj_stream *s, cji_scope *scope, const char *call)
{
    if (cji_stream_needs_context(s)) return cji_scope_begin_relaxed(obj, s->dev, scope, call);
    cji_scope_relax(scope, s->cu);
    return CJ_OK;
}

/* A launch is tried without a scope: the driver takes the context from the handles, and rejects what is of another
 * context than a current one, which does nothing; then the context is made current, the launch repeated, and the next
 * ones are not tried until no other context is found.  Not while capturing, where a rejected call breaks the capture,
 * and not for foreign streams, whose handles may mean another stream in another context. */
static inline bool cji_may_try(cj_stream *s) { return !atomic_load_explicit(&s->unusual, memory_order_relaxed); }
/* Whether what was tried may succeed in the scope. */
static inline bool cji_try_again(CUresult r, const cji_scope *scope)
{
    return scope->foreign || r == CUDA_ERROR_INVALID_CONTEXT || r == CUDA_ERROR_INVALID_HANDLE;
}
static inline void cji_note_context(cj_stream *s, const cji_scope *scope)
{
    atomic_store_explicit(&s->foreign, scope->foreign, memory_order_relaxed);
}

/* -- Waiting with a timeout (wait.c) ------------------------------------------------------------------------------- */

uint64_t cji_deadline(uint32_t ms);       /* from now */
/* Pauses between queries: none at first, then longer ones.  { 0 } is the beginning.  False: the deadline has passed. */
typedef struct cji_pause { unsigned rounds; uint64_t ns; } cji_pause;
bool cji_pause_until(cji_pause *p, uint64_t deadline);
/* Queries until the result is another than NOT_READY or the deadline has passed; in relaxed capture mode. */
CUresult cji_wait_stream(cj_stream *s, uint64_t deadline);
CUresult cji_wait_event(cj_event *e, uint64_t deadline);
/* CJ_ESTATE, left in the stream, while it is being captured: what would break its capture is rejected before the
 * driver hears of it. */
cj_status cji_stream_not_captured(cj_stream *s, const char *call);
/* Whether it is in a capture, of the library or of others: what completes later reports nothing to the host. */
static inline bool cji_stream_is_captured(const cj_stream *s)
{
    return atomic_load(&s->capturing) || cji_stream_captures(s->queue, s->raw);
}

/* -- Streams (stream.c) -------------------------------------------------------------------------------------------- */

static inline bool cji_same_device(const cji_release_queue *a, const cji_release_queue *b)
{
    return a == b || (a->ctx == b->ctx && cji_device_meets(cji_queue_device(a), cji_queue_device(b)));
}

/* A stream was made: rooms that begin with the first one learn it (stream_rooms.c). */
void cji_rooms_stream_made(void);
/* Drops a reference; the last one releases the CUstream. */
void cji_stream_drop(cj_stream *s);
/* Leaves a failure in the slot's stream, if it is still open. */
void cji_slot_fail(cji_release_queue *queue, const cji_slot *slot, const cj_error *why);
/* Leaves a failure in every open stream of the device. */
void cji_streams_fail(cji_release_queue *queue, const cj_error *why);

/* -- Order (order.c) ----------------------------------------------------------------------------------------------- */

/* Makes `to` wait for what was enqueued on `from` so far; *cu_call is the driver's entry point. */
CUresult cji_stream_order_raw(cj_stream *from, CUstream to, const char **cu_call);
/* The same for a stream of the library, which joins a capture of `from`.  Both of one driver. */
CUresult cji_stream_chain(cj_stream *from, cj_stream *to, const char **cu_call);

/* -- Reference sets: what a graph retains (refs.c) ----------------------------------------------------------------- */

/* What is in a set, by what releases it. */
typedef struct cji_ref_type { void (*release)(void *what); } cji_ref_type;
extern const cji_ref_type cji_ref_kernel; /* a cj_kernel (refs.c) */
extern const cji_ref_type cji_ref_module; /* a cj_module (refs.c) */
extern const cji_ref_type cji_ref_event;  /* a cj_event (event.c) */
/* what another graph or executable graph retains: it does not grow any more, so that none retains itself (refs.c) */
extern const cji_ref_type cji_ref_set;

cji_refset *cji_refset_new(void); /* NULL without memory */
cji_refset *cji_refset_retain(cji_refset *k);
void cji_refset_drop(cji_refset *k); /* releases everything at the last one; NULL is fine */
/* Hands a reference over to the set; false without memory, and then the reference stays the caller's.  *had: it was
 * there already, and the reference stays the caller's too. */
bool cji_refset_add(cji_refset *k, const cji_ref_type *type, void *what, bool *had);
/* Hands over what is in the set so far, never to grow again, and goes on in a new set that retains it: *k is
 * replaced.  The reference is the caller's; NULL without memory. */
cji_refset *cji_refset_snapshot(cji_refset **k);
/* The kernel with that function, borrowed while the set lives; NULL if there is none in it. */
cj_kernel *cji_refset_kernel(cji_refset *k, CUfunction fn);

/* -- Captures under way (recording.c) ------------------------------------------------------------------------------ */

/* What the room that began a capture does for it. */
typedef struct cji_capture_rules {
    /* A launch is captured in `c` whose argument is `addr`: what that leads to is retained, and noted.  A failure is
     * left in the stream. */
    cj_status (*retain_argument)(cj_stream *s, cji_capture *c, uint64_t addr, const char *call);
    /* The user's handle of the stream that it began on is freed: nobody can end it any more. */
    void (*abandon)(cj_stream *s, cji_capture *c);
    /* The last reference is dropped. */
    void (*release)(cji_capture *c);
} cji_capture_rules;

enum { CJI_CAPTURE_KNOWN = 8 };
typedef struct cji_known_range { uint64_t addr, bytes; } cji_known_range;

/* What the library knows of a capture under way.  Invariants: its members are the streams that it was seen to be
 * joined by, the origin first; each is retained and has `capture` set to it; each member's device counts it in
 * queue->captures, so that no release runs there.  Events recorded in it hold a reference and ask it whether it is
 * open.  The first failure of a call on a member is kept: the graph would lack a node.  Closing it undoes all that,
 * whatever the driver returned. */
struct cji_capture {
    uint64_t serial; /* no other capture of the process has it */
    atomic_uint refs;
    atomic_bool open;
    const cji_capture_rules *rules;
    cj_capture_mode mode;
    bool join;            /* the end joins what is forked */
    pthread_t thread;     /* that began it */
    cj_stream *origin;    /* member[0]; for comparison only once it is closed */
    cj_graph *into;       /* adds to this one: the graph room's, its root is retained until the end */
    pthread_mutex_t lock; /* guards what follows */
    cji_refset *refset;   /* the graph's at the end */
    /* some of what is in the set, which does not shrink before the end: a launch of these needs no search */
    struct {
        const cj_kernel *kernel[CJI_CAPTURE_KNOWN];
        cji_known_range range[CJI_CAPTURE_KNOWN];
        unsigned kernels, ranges; /* noted so far */
    } known;
    cj_stream **member;
    size_t count, cap;
    bool failed;
    cj_error first;
};

/* An open capture without members; takes the reference to the set, also on failure: NULL without memory. */
cji_capture *cji_capture_new(cj_stream *origin, const cji_capture_rules *rules, cji_refset *refset);
/* The stream's capture, retained; NULL when it has none. */
cji_capture *cji_capture_taken(cj_stream *s);
static inline cji_capture *cji_capture_of(cj_stream *s)
{
    return atomic_load(&s->capturing) ? cji_capture_taken(s) : NULL;
}
cji_capture *cji_capture_retain(cji_capture *c);
void cji_capture_drop(cji_capture *c); /* NULL is fine */
bool cji_capture_open(const cji_capture *c);
/* As cji_refset_add, for what the capture's graph will retain; once the capture is closed the reference stays the
 * caller's, as if it was there already. */
bool cji_capture_retains(cji_capture *c, const cji_ref_type *type, void *what, bool *had);
/* Notes what cji_capture_retains() has added: a kernel; memory, as a range of addresses. */
void cji_capture_note_kernel(cji_capture *c, const cj_kernel *k);
void cji_capture_note_range(cji_capture *c, uint64_t addr, uint64_t bytes);
/* Whether a launch has only what was noted.  False: it may be in the set all the same. */
bool cji_capture_knows(cji_capture *c, const cj_kernel *k, const cj_arg *args, size_t count);
/* `s` has joined the capture. */
void cji_capture_join(cji_capture *c, cj_stream *s);
/* Member `i`, retained; NULL: there are less. */
cj_stream *cji_capture_member(cji_capture *c, size_t i);
/* Notes the thread's latest failure as the capture's first. */
void cji_capture_fail(cji_capture *c);
/* Undoes everything; the members may be released by it.  What the capture retained is the caller's: an event that
 * remembers it retains nothing. */
void cji_capture_close(cji_capture *c);
cji_refset *cji_capture_take_refset(cji_capture *c);
/* The user's handle of a stream is freed: a capture that it began is abandoned.  False: only another thread can end
 * it, which was logged, and the handle stays. */
bool cji_capture_abandon(cj_stream *s);

#endif
