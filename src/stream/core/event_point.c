/* Points of events that stay when the event is recorded again.
 *
 * The driver knows one point of an event, the one recorded last.  A holder that needs the point of now takes a
 * cji_event_point.  While one is there, the event's records take the event's lock (`plain` is false), and a record
 * first moves the point: a stream of the library waits for the event, and an event of the point's own is recorded
 * behind that.  Later records do not change it.
 *
 * The streams for that belong to the device.  A stream is used for a further point when its work is complete, or when
 * its latest point is of the same stream as the further one and surely before it: else a point would be reached too
 * late.  Nobody but the library sees records of an event by others (a graph's node, another library, another
 * process): they move no point. */
#include "base/cancel.h"
#include "base/handover.h"
#include "stream/core/stream_core.h"

/* -- The device's streams for points that move --------------------------------------------------------------------- */

typedef struct move_stream { CUstream raw; uint64_t on, behind; } move_stream; /* of its latest point */

typedef struct points_state {
    cji_device_state base;
    const cji_cu *cu;
    pthread_mutex_t lock; /* guards what follows */
    move_stream *stream;
    size_t count, cap;
} points_state;

static void points_state_free(cji_device_state *base)
{
    points_state *state = (points_state *)base;
    for (size_t i = 0; i < state->count; i++) state->cu->cuStreamDestroy(state->stream[i].raw);
    cji_free(state->stream, state->cap * sizeof *state->stream);
    pthread_mutex_destroy(&state->lock);
    cji_free(state, sizeof *state);
}

static void points_state_trim(cji_device_state *base)
{
    CJI_NO_CANCEL;
    points_state *state = (points_state *)base;
    cji_lock(&state->lock, CJI_LOCK_POINTS);
    size_t kept = 0;
    for (size_t i = 0; i < state->count; i++) {
        if (state->cu->cuStreamQuery(state->stream[i].raw) == CUDA_ERROR_NOT_READY)
            state->stream[kept++] = state->stream[i];
        else state->cu->cuStreamDestroy(state->stream[i].raw);
    }
    state->count = kept;
    cji_unlock(&state->lock, CJI_LOCK_POINTS);
}

/* NULL without memory. */
static points_state *points_state_of(cji_release_queue *queue)
{
    cji_lock(&queue->lock, CJI_LOCK_QUEUE);
    points_state *state = (points_state *)cji_release_queue_state(queue, CJI_STATE_POINTS);
    if (!state && (state = cji_zalloc(sizeof *state))) {
        state->base = (cji_device_state){ .free = points_state_free, .trim = points_state_trim };
        state->cu = queue->cu;
        pthread_mutex_init(&state->lock, NULL);
        atomic_store_explicit(&queue->state[CJI_STATE_POINTS], &state->base, memory_order_release);
    }
    cji_unlock(&queue->lock, CJI_LOCK_QUEUE);
    return state;
}

/* A stream that reaches the point in time, with the lock held. */
static CUresult move_stream_find(points_state *state, const cji_event_point *p, move_stream **found)
{
    for (size_t i = 0; i < state->count; i++) {
        move_stream *m = &state->stream[i];
        if ((p->on && m->on == p->on && m->behind <= p->before) ||
            state->cu->cuStreamQuery(m->raw) == CUDA_SUCCESS) {
            *found = m;
            return CUDA_SUCCESS;
        }
    }
    if (!cji_grow(&state->stream, &state->cap, state->count + 1, sizeof *state->stream))
        return CUDA_ERROR_OUT_OF_MEMORY;
    move_stream *m = &state->stream[state->count];
    CUresult r = state->cu->cuStreamCreateWithPriority(&m->raw, CU_STREAM_NON_BLOCKING, 0);
    if (r != CUDA_SUCCESS) return r;
    state->count++;
    *found = m;
    return CUDA_SUCCESS;
}

static CUresult point_follow(points_state *state, const cji_event_point *p, CUevent own)
{
    CJI_NO_CANCEL;
    move_stream *m = NULL;
    cji_lock(&state->lock, CJI_LOCK_POINTS);
    CUresult r = move_stream_find(state, p, &m);
    if (r == CUDA_SUCCESS) {
        m->on = p->on;
        m->behind = p->behind;
        r = state->cu->cuStreamWaitEvent(m->raw, p->event->raw, 0);
        if (r == CUDA_SUCCESS) r = state->cu->cuEventRecord(own, m->raw);
    }
    cji_unlock(&state->lock, CJI_LOCK_POINTS);
    return r;
}

/* -- Points -------------------------------------------------------------------------------------------------------- */

/* An event of the library's own, without timing.  Its failure is nobody's but the caller's. */
static cj_event *point_event(cj_device *dev) { return cj_event_create(dev, NULL); }

static cji_event_point *event_point_new(cj_event *e)
{
    cji_event_point *p = cji_zalloc(sizeof *p);
    if (!p) return NULL;
    p->event = e;
    p->refs = 1;
    atomic_init(&p->moved, NULL);
    atomic_init(&p->known, -1);
    cji_handover_flag(&p->moved, sizeof p->moved);
    cji_handover_flag(&p->known, sizeof p->known);
    return p;
}

static void point_read_order(cji_event_point *p, const cj_event *e)
{
    if (e->ipc || !e->owned) return; /* others may record it, too */
    p->on = atomic_load_explicit(&e->on, memory_order_relaxed);
    p->before = atomic_load_explicit(&e->before, memory_order_relaxed);
    p->behind = atomic_load_explicit(&e->behind, memory_order_relaxed);
}

/* The event's point of now, with one more reference; takes over `fresh` where it has none.  With the lock held. */
static cji_event_point *point_of(cj_event *e, cji_event_point *fresh)
{
    if (e->point) {
        e->point->refs++;
        return e->point;
    }
    cji_obj_retain(e);
    if (e->cell && !atomic_load_explicit(&e->cell->note, memory_order_relaxed)) /* its pool looks before a new holder */
        atomic_store_explicit(&e->cell->note, CJI_NOTE_WATCHED, memory_order_relaxed);
    point_read_order(fresh, e);
    e->point = fresh;
    atomic_store(&e->plain, false); /* records take the lock from now on */
    return fresh;
}

cji_event_point *cji_event_point_take(cj_event *e, void *into, const char *call)
{
    cji_event_point *p = NULL, *fresh = event_point_new(e);
    if (!fresh) return cji_fail(e, CJ_ENOMEM, call, "no memory to note the event's point"), cji_fail_also(into), NULL;
    cji_lock(&e->lock, CJI_LOCK_EVENT);
    const bool captured = e->capture != NULL;
    if (!captured) p = point_of(e, fresh);
    cji_unlock(&e->lock, CJI_LOCK_EVENT);
    if (p != fresh) cji_free(fresh, sizeof *fresh);
    if (!captured) return p;
    cji_fail(e, CJ_ESTATE, call,
             "the event was last recorded in a capture, so that no stream reaches it; record it on a stream first");
    cji_fail_also(into);
    return NULL;
}

cji_event_point *cji_event_point_own(cj_event *e)
{
    cji_event_point *p = event_point_new(e);
    if (!p) return NULL;
    point_read_order(p, e);
    p->own = true;
    return p;
}

void cji_event_point_leave(cji_event_point *p)
{
    cj_event *e = p->event;
    cji_lock(&e->lock, CJI_LOCK_EVENT);
    const bool last = --p->refs == 0;
    if (last && e->point == p) e->point = NULL;
    cji_unlock(&e->lock, CJI_LOCK_EVENT);
    if (!last) return;
    cj_event *moved = atomic_load(&p->moved);
    if (moved) cji_event_drop(moved);
    cji_free(p, sizeof *p);
    cji_event_drop(e);
}

/* The user's event may be recorded again at any time, also in a capture, which a query of the event would invalidate:
 * the event's lock is held over the query, as it is over the record, which has moved the point by then. */
static CUresult point_query_users(cji_event_point *p)
{
    CJI_NO_CANCEL;
    CUresult r = CUDA_ERROR_NOT_READY;
    cj_event *e = p->event;
    cji_lock(&e->lock, CJI_LOCK_EVENT);
    const bool stays = !atomic_load(&p->moved) && atomic_load(&p->known) < 0;
    if (stays) r = e->cu->cuEventQuery(e->raw);
    cji_unlock(&e->lock, CJI_LOCK_EVENT);
    return stays ? r : cji_event_point_query(p);
}

CUresult cji_event_point_query(cji_event_point *p)
{
    const cji_cu *cu = p->event->cu;
    if (p->own) {
        const CUresult r = cu->cuEventQuery(p->event->raw);
        if (r == CUDA_SUCCESS) atomic_store_explicit(&p->known, CUDA_SUCCESS, memory_order_relaxed);
        return r;
    }
    const int known = atomic_load_explicit(&p->known, memory_order_acquire);
    if (known >= 0) return (CUresult)known;
    cj_event *moved = atomic_load_explicit(&p->moved, memory_order_acquire);
    if (!moved) return point_query_users(p);
    cji_handover_take(&p->moved);
    return cu->cuEventQuery(moved->raw);
}

/* What is known at once needs no other event. */
void cji_event_point_move(cj_event *e)
{
    cji_event_point *p = e->point;
    cj_event *own = NULL;
    cji_scope scope;
    cji_kept latest;
    e->point = NULL;
    cji_fail_save(&latest);
    cji_queue_scope(e->queue, &scope);
    CUresult r = e->cu->cuEventQuery(e->raw);
    if (r == CUDA_ERROR_NOT_READY) {
        points_state *state = points_state_of(e->queue);
        own = point_event(e->dev);
        r = !state || cji_obj_failed(own) ? CUDA_ERROR_OUT_OF_MEMORY : point_follow(state, p, own->raw);
    }
    cji_scope_leave(&scope);
    cji_fail_restore(&latest);
    if (own && r == CUDA_SUCCESS) {
        cji_handover_give(&p->moved);
        atomic_store(&p->moved, own);
        return;
    }
    atomic_store(&p->known, (int)r);
    if (own) cji_event_drop(own);
}
