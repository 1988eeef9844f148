/* Deferred releases: what may have to wait until work or a capture has ended.  Prefixes cji_release_queue, cji_slot,
 * cji_deferred.
 *
 * A device has one cji_release_queue: the slots of its streams, and the list of deferred releases.  An object that
 * work may use keeps a set of bits, `used`: the slots of the streams that it was used on (cji_used).  Nothing is
 * recorded for each use.  The release records one event on each of these streams that has work left; when all events
 * are complete, the use is over and the release runs.
 *
 * Invariants
 *   A slot has one of 64 bits.  Where there are more slots they share bits, and an event is recorded for each of
 *                               them: a release may wait for
 *   too much, never for too little.
 *   A slot that is closed leaves a tail, an event behind the last work of its stream; a release with its bit waits
 *   for that too.
 *   No event is recorded on a stream that is being captured: the release waits until the capture is over.
 *   While a capture of this library is open on the device no release runs.  Captures of others are safe because
 *                                                                           releases run in a scope with
 *   relaxed capture mode (scope.h).  The device is never synchronised.
 *   A query that fails in another way than NOT_READY counts as complete: after an error of the device nothing waits
 *   for ever.
 *   One thread at a time drains; a release made by a release is queued and drained by the loop that is running. */
#ifndef CJI_DEFERRED_H
#define CJI_DEFERRED_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "base/process.h"
#include "cuda/abi.h"
#include "driver/scope.h"

typedef struct cji_point { /* a recorded event */
    struct cji_point *next;
    CUevent event;
    uint64_t bit; /* of a tail: its slot's */
} cji_point;

enum { CJI_RECENT = 4, CJI_RECENT_NAME = 64 };

/* A stream's place in the release queue. */
typedef struct cji_slot {
    struct cji_slot *next; /* in the queue's list, while live */
    CUstream raw;          /* may be used while live, under the queue's lock */
    uint64_t bit;
    void *owner;     /* the cj_stream; NULL: a stream of the library's own */
    void *mem;       /* the room memory's: the stream's free lists, under that room's lock */
    cji_point *tail; /* made with the slot, so that closing it cannot fail */
    /* bytes of memory whose home it is and that the user has not freed; the most there were */
    atomic_uint_fast64_t held, held_most;
    /* The kernels that were launched since the stream was synchronized, the latest CJI_RECENT of them: for
     * messages.  A cj_kernel is read through under the queue's lock only; NULL: its name is in recent_name. */
    atomic_uint launched;
    _Atomic(const void *) recent[CJI_RECENT];
    char recent_name[CJI_RECENT][CJI_RECENT_NAME]; /* of those that were freed since; under the queue's lock */
    uint32_t refs; /* the stream and each memory whose home it is; under the queue's lock */
    bool live;
} cji_slot;

/* Embedded in what is released; the release itself allocates nothing. */
typedef struct cji_deferred {
    struct cji_deferred *next;
    cji_point *points; /* recorded, not yet seen complete */
    uint64_t used;     /* the slots to wait for */
    uint64_t unmarked; /* those of them for which no event is recorded yet */
    /* does the release, in a scope, without the queue's lock; may free *deferred */
    void (*run)(struct cji_deferred *deferred);
} cji_deferred;

/* What a room of src/stream keeps for the device: the first member of the room's struct.  Made at first use, under
 * the queue's lock. */
typedef struct cji_device_state {
    void (*free)(struct cji_device_state *state); /* with the device: no slot and no release is left; in a scope */
    void (*trim)(struct cji_device_state *state); /* releases what is idle; in a scope */
    /* a slot is about to be closed, and its stream is still there; in a scope; NULL: nothing */
    void (*closing)(struct cji_device_state *state, cji_slot *slot);
} cji_device_state;

/* The rooms; a later one's state is freed first. */
typedef enum cji_state_of {
    CJI_STATE_CORE,
    CJI_STATE_POINTS,
    CJI_STATE_MEMORY,
    CJI_STATE_GRAPH,
    CJI_STATE_PROFILE,
    CJI_STATES
} cji_state_of;

typedef struct cji_release_queue {
    const cji_cu *cu;
    CUcontext ctx;
    pthread_mutex_t lock; /* guards what follows, up to spare */
    cji_slot *slots;      /* live ones */
    unsigned slots_made;
    cji_deferred *first, **last;
    cji_point *tails; /* of slots that were closed, not yet seen complete */
    cji_point *spare; /* points to use again */
    _Atomic(cji_device_state *) state[CJI_STATES]; /* set under the lock, once; read without it */
    atomic_uint waiting;   /* length of the list */
    atomic_uint captures;  /* streams in captures begun through this library; changed under running and lock */
    /* held by the thread that does releases, and taken before lock by one that begins a capture: it waits for those
     * under way */
    pthread_mutex_t running;
} cji_release_queue;

enum { CJI_DEFERRED_ALL = 1 << 30 };

void cji_release_queue_init(cji_release_queue *queue, const cji_cu *cu, CUcontext ctx);
void cji_release_queue_fini(cji_release_queue *queue); /* no slot and no release is left; in a scope */

/* Whether every stream that was closed has come to its end; in a scope. */
bool cji_release_queue_idle(cji_release_queue *queue);

/* Whether all that was enqueued so far on the streams of the slots `bits` is complete; in a scope. */
bool cji_release_queue_done(cji_release_queue *queue, uint64_t bits);

/* A stream enters (1) or leaves (-1) a capture; none begins while a release is under way. */
void cji_release_queue_captures(cji_release_queue *queue, int change);

/* The room's state; NULL before its first use. */
static inline cji_device_state *cji_release_queue_state(const cji_release_queue *queue, cji_state_of room)
{
    return atomic_load_explicit(&queue->state[room], memory_order_acquire);
}

/* A slot for a stream, with one reference; NULL without memory.  In a scope. */
cji_slot *cji_slot_open(cji_release_queue *queue, CUstream raw, void *owner);
/* The stream is freed: leaves a tail unless it is being captured, and drops the reference.  Before the stream is
 * destroyed; in a scope. */
void cji_slot_close(cji_release_queue *queue, cji_slot *slot);
/* With the queue's lock held. */
void cji_slot_drop(cji_slot *slot);
/* A point behind what was enqueued on the slot's stream so far; NULL: the slot is closed, its stream is being captured,
 * or there is no memory.  In a scope, with the queue's lock held, as the next three. */
cji_point *cji_slot_mark(cji_release_queue *queue, const cji_slot *slot);
bool cji_point_reached(cji_release_queue *queue, const cji_point *p);
CUresult cji_point_wait(cji_release_queue *queue, const cji_point *p, CUstream raw); /* work of `raw` waits for it */
void cji_point_return(cji_release_queue *queue, cji_point *p); /* NULL is fine */
/* Whether the driver reports that it is being captured; never harms the capture. */
bool cji_stream_captures(const cji_release_queue *queue, CUstream raw);

/* Notes a use: cheap when it is noted already. */
static inline void cji_used(atomic_uint_fast64_t *used, uint64_t bit)
{
    if (!(atomic_load_explicit(used, memory_order_relaxed) & bit))
        atomic_fetch_or_explicit(used, bit, memory_order_release);
}

/* Notes a launch of a kernel of the queue's device.  The kernel's end is noted by cji_recent_forget. */
CJI_QUICKLY void cji_recent_note(cji_slot *slot, const void *kernel)
{
    unsigned n = atomic_load_explicit(&slot->launched, memory_order_relaxed);
    atomic_store_explicit(&slot->recent[n % CJI_RECENT], kernel, memory_order_relaxed);
    atomic_store_explicit(&slot->launched, n + 1, memory_order_relaxed);
}
static inline void cji_recent_clear(cji_slot *slot) { atomic_store_explicit(&slot->launched, 0, memory_order_relaxed); }
/* The kernel is freed: streams keep its name instead. */
void cji_recent_forget(cji_release_queue *queue, const void *kernel, const char *name);

/* Queues a release that waits for the slots of `used`.  deferred->run is set by the caller. */
void cji_defer(cji_release_queue *queue, cji_deferred *deferred, uint64_t used);
/* Tests up to `max` deferred releases and runs those that are possible. */
void cji_deferred_drain(cji_release_queue *queue, unsigned max);

CJI_QUICKLY void cji_deferred_poll(cji_release_queue *queue, unsigned max)
{
    if (atomic_load_explicit(&queue->waiting, memory_order_relaxed)) cji_deferred_drain(queue, max);
}

/* A scope with context and relaxed mode for the queue's device.  False: the context is dead; releases run all the
 * same.  cji_scope_leave() follows. */
static inline bool cji_queue_scope(const cji_release_queue *queue, cji_scope *scope)
{
    return cji_scope_enter(scope, queue->cu, queue->ctx) == CUDA_SUCCESS;
}

#endif
