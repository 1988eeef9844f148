/* Deferred releases: points, slots, the list. */
#include "driver/deferred.h"

#include "base/cancel.h"
#include "base/lock.h"
#include "base/mem.h"

void cji_release_queue_init(cji_release_queue *queue, const cji_cu *cu, CUcontext ctx)
{
    *queue = (cji_release_queue){ .cu = cu, .ctx = ctx };
    pthread_mutex_init(&queue->lock, NULL);
    pthread_mutex_init(&queue->running, NULL);
    queue->last = &queue->first;
}

bool cji_stream_captures(const cji_release_queue *queue, CUstream raw)
{
    CJI_NO_CANCEL;
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    CUresult r = queue->cu->cuStreamIsCapturing(raw, &status);
    return r == CUDA_SUCCESS ? status != CU_STREAM_CAPTURE_STATUS_NONE : r == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
}

void cji_release_queue_captures(cji_release_queue *queue, int change)
{
    if (change > 0) cji_lock(&queue->running, CJI_LOCK_RUNNING);
    cji_lock(&queue->lock, CJI_LOCK_QUEUE);
    atomic_fetch_add(&queue->captures, (unsigned)change);
    cji_unlock(&queue->lock, CJI_LOCK_QUEUE);
    if (change > 0) cji_unlock(&queue->running, CJI_LOCK_RUNNING);
}

/* -- Points; all with the queue's lock held, in a scope ------------------------------------------------------------ */

static cji_point *point_new(cji_release_queue *queue)
{
    cji_point *p = queue->spare;
    if (p) {
        queue->spare = p->next;
        return p;
    }
    p = cji_zalloc(sizeof *p);
    if (p && queue->cu->cuEventCreate(&p->event, CU_EVENT_DISABLE_TIMING) == CUDA_SUCCESS) return p;
    cji_free(p, sizeof *p);
    return NULL;
}

static void point_destroy(cji_release_queue *queue, cji_point *p)
{
    queue->cu->cuEventDestroy(p->event);
    cji_free(p, sizeof *p);
}

/* Records `p` (NULL: there was no memory) on `raw`; destroys it and gives NULL if that cannot be now. */
static cji_point *point_mark(cji_release_queue *queue, cji_point *p, CUstream raw)
{
    if (!p) return NULL;
    bool marked = !cji_stream_captures(queue, raw) && queue->cu->cuEventRecord(p->event, raw) == CUDA_SUCCESS;
    /* A capture that another thread began in between holds the event now: it must not be queried. */
    if (marked && !cji_stream_captures(queue, raw)) return p;
    point_destroy(queue, p);
    return NULL;
}

static bool point_reached(cji_release_queue *queue, const cji_point *p)
{
    return queue->cu->cuEventQuery(p->event) != CUDA_ERROR_NOT_READY;
}

cji_point *cji_slot_mark(cji_release_queue *queue, const cji_slot *slot)
{
    return slot->live ? point_mark(queue, point_new(queue), slot->raw) : NULL;
}

bool cji_point_reached(cji_release_queue *queue, const cji_point *p) { return point_reached(queue, p); }

CUresult cji_point_wait(cji_release_queue *queue, const cji_point *p, CUstream raw)
{
    return queue->cu->cuStreamWaitEvent(raw, p->event, 0);
}

void cji_point_return(cji_release_queue *queue, cji_point *p)
{
    if (!p) return;
    p->next = queue->spare;
    queue->spare = p;
}

/* Takes the points that are reached out of a list; whether none is left. */
static bool points_settle(cji_release_queue *queue, cji_point **list)
{
    bool none = true;
    while (*list) {
        cji_point *p = *list;
        if (!point_reached(queue, p)) {
            none = false;
            list = &p->next;
            continue;
        }
        *list = p->next;
        cji_point_return(queue, p);
    }
    return none;
}

/* Records a point on the stream of each slot of `bit` that has work left; false if one of them cannot be marked now. */
static bool deferred_mark_bit(cji_release_queue *queue, cji_deferred *deferred, uint64_t bit)
{
    for (cji_slot *l = queue->slots; l; l = l->next) {
        if (l->bit != bit) continue;
        if (cji_stream_captures(queue, l->raw)) return false;
        if (queue->cu->cuStreamQuery(l->raw) != CUDA_ERROR_NOT_READY) continue;
        cji_point *p = point_mark(queue, point_new(queue), l->raw);
        if (!p) return false;
        p->next = deferred->points;
        deferred->points = p;
    }
    return true;
}

static uint64_t queue_tail_bits(cji_release_queue *queue)
{
    uint64_t bits = 0;
    points_settle(queue, &queue->tails);
    for (cji_point *t = queue->tails; t; t = t->next) bits |= t->bit;
    return bits;
}

/* Whether every use of `deferred` is over. */
static bool deferred_is_over(cji_release_queue *queue, cji_deferred *deferred)
{
    for (uint64_t rest = deferred->unmarked; rest; rest &= rest - 1) {
        uint64_t bit = rest & -rest;
        if (deferred_mark_bit(queue, deferred, bit)) deferred->unmarked &= ~bit;
    }
    return points_settle(queue, &deferred->points) && !deferred->unmarked && !(deferred->used & queue_tail_bits(queue));
}

bool cji_release_queue_idle(cji_release_queue *queue)
{
    cji_lock(&queue->lock, CJI_LOCK_QUEUE);
    bool idle = !queue_tail_bits(queue);
    cji_unlock(&queue->lock, CJI_LOCK_QUEUE);
    return idle;
}

bool cji_release_queue_done(cji_release_queue *queue, uint64_t bits)
{
    cji_lock(&queue->lock, CJI_LOCK_QUEUE);
    bool done = !(bits & queue_tail_bits(queue));
    for (const cji_slot *l = queue->slots; l && done; l = l->next)
        if (l->bit & bits)
            done = !cji_stream_captures(queue, l->raw) && queue->cu->cuStreamQuery(l->raw) != CUDA_ERROR_NOT_READY;
    cji_unlock(&queue->lock, CJI_LOCK_QUEUE);
    return done;
}

void cji_release_queue_fini(cji_release_queue *queue)
{
    for (unsigned i = CJI_STATES; i-- > 0;) {
        cji_device_state *state = cji_release_queue_state(queue, i);
        if (state) state->free(state);
        atomic_store(&queue->state[i], NULL); /* those before it may still close slots */
    }
    cji_point *lists[] = { queue->tails, queue->spare };
    for (size_t i = 0; i < 2; i++) {
        for (cji_point *p = lists[i], *next; p; p = next) {
            next = p->next;
            point_destroy(queue, p);
        }
    }
    pthread_mutex_destroy(&queue->lock);
    pthread_mutex_destroy(&queue->running);
}

/* -- Slots --------------------------------------------------------------------------------------------------------- */

cji_slot *cji_slot_open(cji_release_queue *queue, CUstream raw, void *owner)
{
    cji_slot *slot = cji_zalloc(sizeof *slot);
    if (!slot) return NULL;
    slot->raw = raw;
    slot->owner = owner;
    slot->refs = 1;
    slot->live = true;
    cji_lock(&queue->lock, CJI_LOCK_QUEUE);
    slot->tail = point_new(queue);
    if (slot->tail) {
        slot->bit = slot->tail->bit = UINT64_C(1) << queue->slots_made++ % 64;
        slot->next = queue->slots;
        queue->slots = slot;
    }
    cji_unlock(&queue->lock, CJI_LOCK_QUEUE);
    if (slot->tail) return slot;
    cji_free(slot, sizeof *slot);
    return NULL;
}

void cji_slot_drop(cji_slot *slot)
{
    if (--slot->refs == 0) cji_free(slot, sizeof *slot);
}

void cji_slot_close(cji_release_queue *queue, cji_slot *slot)
{
    for (unsigned i = 0; i < CJI_STATES; i++) {
        cji_device_state *state = cji_release_queue_state(queue, i);
        if (state && state->closing) state->closing(state, slot);
    }
    cji_lock(&queue->lock, CJI_LOCK_QUEUE);
    cji_slot **at = &queue->slots;
    while (*at != slot) at = &(*at)->next;
    *at = slot->next;
    slot->live = false;
    points_settle(queue, &queue->tails);
    bool idle = !cji_stream_captures(queue, slot->raw) && queue->cu->cuStreamQuery(slot->raw) == CUDA_SUCCESS;
    cji_point *tail = idle ? slot->tail : point_mark(queue, slot->tail, slot->raw);
    cji_point **list = idle ? &queue->spare : &queue->tails;
    if (tail) {
        tail->next = *list;
        *list = tail;
    }
    cji_slot_drop(slot);
    cji_unlock(&queue->lock, CJI_LOCK_QUEUE);
}

/* -- The list ------------------------------------------------------------------------------------------------------ */

void cji_defer(cji_release_queue *queue, cji_deferred *deferred, uint64_t used)
{
    deferred->next = NULL;
    deferred->points = NULL;
    deferred->used = deferred->unmarked = used;
    cji_lock(&queue->lock, CJI_LOCK_QUEUE);
    *queue->last = deferred;
    queue->last = &deferred->next;
    cji_unlock(&queue->lock, CJI_LOCK_QUEUE);
    atomic_fetch_add(&queue->waiting, 1);
}

/* Takes the releases that are possible out of the first `max`; the others go to the end of the list, so that each has
 * its turn. */
static cji_deferred *deferred_take(cji_release_queue *queue, unsigned max)
{
    cji_deferred *possible = NULL, **end = &possible, *stop = NULL;
    cji_lock(&queue->lock, CJI_LOCK_QUEUE);
    if (atomic_load(&queue->captures)) max = 0;
    while (queue->first && queue->first != stop && max--) {
        cji_deferred *deferred = queue->first;
        queue->first = deferred->next;
        if (!queue->first) queue->last = &queue->first;
        deferred->next = NULL;
        if (deferred_is_over(queue, deferred)) {
            *end = deferred;
            end = &deferred->next;
            continue;
        }
        *queue->last = deferred;
        queue->last = &deferred->next;
        if (!stop) stop = deferred;
    }
    cji_unlock(&queue->lock, CJI_LOCK_QUEUE);
    return possible;
}

void cji_deferred_drain(cji_release_queue *queue, unsigned max)
{
    cji_scope scope;
    if (atomic_load(&queue->captures) || !cji_trylock(&queue->running, CJI_LOCK_RUNNING)) return;
    cji_queue_scope(queue, &scope);
    cji_deferred *deferred;
    while ((deferred = deferred_take(queue, max))) {
        while (deferred) {
            cji_deferred *next = deferred->next;
            atomic_fetch_sub(&queue->waiting, 1);
            deferred->run(deferred);
            deferred = next;
        }
        if (max != CJI_DEFERRED_ALL) break;
    }
    cji_scope_leave(&scope);
    cji_unlock(&queue->running, CJI_LOCK_RUNNING);
}
