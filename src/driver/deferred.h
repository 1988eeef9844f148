/* Releases that may have to wait.  A device has one cji_release_queue: the streams that its objects may be used on (lanes), and the list of releases
 * that wait for a use to end or a capture to close.
 *
 * An object that work may use keeps a word of bits, `used`: the lanes it was used on (cji_used).  Nothing is recorded for each use.  At its
 * release one event is recorded on each of these lanes that has work left; when all are reached, the use is over and the release runs.
 *
 * Invariants
 *   A lane has one of 64 bits; when there are more lanes, they share bits, and a point is then recorded on each of them: a release
 *   may wait for too much, never for too little.
 *   A lane that is closed leaves a tail, the last point of its stream; a release with its bit waits for that too.
 *   No event is recorded on a stream that is being captured: the release waits until the capture is over.
 *   While a capture of this library is open on the device no release runs; others' captures are safe because releases run
 *   with the thread switched to relaxed capture mode.  The device is never synchronised.
 *   A query that fails in another way than NOT_READY counts as reached: after an error of the device nothing waits for ever.
 *   One thread at a time drains; a release made by a release is queued and drained by the loop that is running. */
#ifndef CJI_DEFERRED_H
#define CJI_DEFERRED_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "cuda/abi.h"

typedef struct cji_point { /* a recorded event */
    struct cji_point *next;
    CUevent event;
    uint64_t bit; /* of a tail: its lane's */
} cji_point;

typedef struct cji_slot {
    struct cji_slot *next; /* in the hub's list, while live */
    CUstream raw;          /* may be used while live, under the hub's lock */
    uint64_t bit;
    cji_point *tail; /* made with the lane, so that closing it cannot fail */
    atomic_uint_fast64_t held, held_most; /* bytes of memory whose home it is and that the user has not freed; the most there were */
    uint32_t refs; /* the stream and each memory whose home it is; under the hub's lock */
    bool live;
} cji_slot;

/* Embedded in what is released; nothing is allocated at the release itself. */
typedef struct cji_deferred {
    struct cji_deferred *next;
    cji_point *points; /* recorded, not yet seen reached */
    uint64_t used;     /* the lanes to wait for */
    uint64_t unmarked; /* those of them that still want a point */
    void (*run)(struct cji_deferred *deferred); /* does the release, without the hub's lock, context current, relaxed capture mode; may free *late */
} cji_deferred;

typedef struct cji_release_queue {
    const cji_cu *cu;
    CUcontext ctx;
    pthread_mutex_t lock; /* guards what follows, up to spare */
    cji_slot *slots;      /* live ones */
    unsigned slots_made;
    cji_deferred *first, **last;
    cji_point *tails; /* of lanes that were closed, not yet seen reached */
    cji_point *spare; /* points to use again */
    atomic_uint waiting;   /* length of the list */
    atomic_uint captures;  /* streams in captures begun through this library; changed under running and lock */
    pthread_mutex_t running; /* held by the thread that does releases, and taken before lock by one that begins a capture: it waits for those under way */
    void *state; /* what src/stream keeps for the device, made under the lock at its first use; released by state_free in cji_release_queue_fini */
    void (*state_free)(void *state);
} cji_release_queue;

enum { CJI_DEFERRED_ALL = 1 << 30 };

void cji_release_queue_init(cji_release_queue *queue, const cji_cu *cu, CUcontext ctx);
void cji_release_queue_fini(cji_release_queue *queue); /* no lane and no release may be left; context current */

/* Whether every stream that was closed has come to its end; calm. */
bool cji_release_queue_idle(cji_release_queue *queue);

/* A stream enters (1) or leaves (-1) a capture; none begins while a release is under way. */
void cji_release_queue_captures(cji_release_queue *queue, int change);

/* A lane for a stream, with one reference; NULL without memory.  Context current. */
cji_slot *cji_slot_open(cji_release_queue *queue, CUstream raw);
/* The stream goes: leaves a tail unless it is being captured, and drops the reference.  Before the stream is destroyed; calm. */
void cji_slot_close(cji_release_queue *queue, cji_slot *slot);
/* With the hub's lock held. */
void cji_slot_drop(cji_slot *slot);
bool cji_stream_captures(const cji_release_queue *queue, CUstream raw); /* whether the driver says that it is being captured; never harms the capture */

/* Notes a use: cheap when it is noted already. */
static inline void cji_used(atomic_uint_fast64_t *used, uint64_t bit)
{
    if (!(atomic_load_explicit(used, memory_order_relaxed) & bit)) atomic_fetch_or_explicit(used, bit, memory_order_release);
}

/* Queues a release that waits for the lanes of `used`.  late->run is set by the caller. */
void cji_defer(cji_release_queue *queue, cji_deferred *deferred, uint64_t used);
/* Looks at up to `max` waiting releases and runs those that are possible. */
void cji_deferred_drain(cji_release_queue *queue, unsigned max);

static inline void cji_deferred_poll(cji_release_queue *queue, unsigned max)
{
    if (atomic_load_explicit(&queue->waiting, memory_order_relaxed)) cji_deferred_drain(queue, max);
}

/* The hub's context made current and the thread's capture mode relaxed, and both put back.  False: the context is dead; releases go on all the same, as
 * what was in it needs no context to go. */
typedef struct cji_calm { bool pushed, relaxed; CUstreamCaptureMode mode; } cji_calm;
bool cji_calm_begin(const cji_release_queue *queue, cji_calm *calm);
void cji_calm_end(const cji_release_queue *queue, cji_calm *calm);

#endif
