/* Releases that may have to wait: lanes, points, the device's list. */
#include "driver/late.h"

#include "base/mem.h"

void cji_hub_init(cji_hub *hub, const cji_cu *cu, CUcontext ctx)
{
    *hub = (cji_hub){ .cu = cu, .ctx = ctx };
    pthread_mutex_init(&hub->lock, NULL);
    pthread_mutex_init(&hub->running, NULL);
    hub->last = &hub->first;
}

bool cji_calm_begin(const cji_hub *hub, cji_calm *calm)
{
    CUcontext now = NULL;
    calm->mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    calm->pushed = false;
    hub->cu->cuCtxGetCurrent(&now);
    if (now != hub->ctx) calm->pushed = hub->cu->cuCtxPushCurrent(hub->ctx) == CUDA_SUCCESS;
    calm->relaxed = hub->cu->cuThreadExchangeStreamCaptureMode(&calm->mode) == CUDA_SUCCESS;
    return now == hub->ctx || calm->pushed;
}

void cji_calm_end(const cji_hub *hub, cji_calm *calm)
{
    CUcontext gone;
    if (calm->relaxed) hub->cu->cuThreadExchangeStreamCaptureMode(&calm->mode);
    if (calm->pushed) hub->cu->cuCtxPopCurrent(&gone);
}

bool cji_stream_captures(const cji_hub *hub, CUstream raw)
{
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    CUresult r = hub->cu->cuStreamIsCapturing(raw, &status);
    return r == CUDA_SUCCESS ? status != CU_STREAM_CAPTURE_STATUS_NONE : r == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
}

void cji_hub_captures(cji_hub *hub, int change)
{
    if (change > 0) pthread_mutex_lock(&hub->running);
    pthread_mutex_lock(&hub->lock);
    atomic_fetch_add(&hub->captures, (unsigned)change);
    pthread_mutex_unlock(&hub->lock);
    if (change > 0) pthread_mutex_unlock(&hub->running);
}

/* -- Points; all with the hub's lock held, calm ---------------------------------------------------------------------- */

static cji_point *point_new(cji_hub *hub)
{
    cji_point *p = hub->spare;
    if (p) {
        hub->spare = p->next;
        return p;
    }
    p = cji_zalloc(sizeof *p);
    if (p && hub->cu->cuEventCreate(&p->event, CU_EVENT_DISABLE_TIMING) == CUDA_SUCCESS) return p;
    cji_free(p, sizeof *p);
    return NULL;
}

static void point_destroy(cji_hub *hub, cji_point *p)
{
    hub->cu->cuEventDestroy(p->event);
    cji_free(p, sizeof *p);
}

/* Records `p` (NULL: there was no memory) on `raw`; destroys it and gives NULL if that cannot be now. */
static cji_point *point_mark(cji_hub *hub, cji_point *p, CUstream raw)
{
    if (!p) return NULL;
    bool marked = !cji_stream_captures(hub, raw) && hub->cu->cuEventRecord(p->event, raw) == CUDA_SUCCESS;
    /* A capture that another thread began in between holds the event now: it must not be queried. */
    if (marked && !cji_stream_captures(hub, raw)) return p;
    point_destroy(hub, p);
    return NULL;
}

static bool point_reached(cji_hub *hub, const cji_point *p) { return hub->cu->cuEventQuery(p->event) != CUDA_ERROR_NOT_READY; }

/* Takes the points that are reached out of a list; whether none is left. */
static bool points_settle(cji_hub *hub, cji_point **list)
{
    bool none = true;
    while (*list) {
        cji_point *p = *list;
        if (!point_reached(hub, p)) {
            none = false;
            list = &p->next;
            continue;
        }
        *list = p->next;
        p->next = hub->spare;
        hub->spare = p;
    }
    return none;
}

/* Records a point on each lane of `bit` that has work left; false if one of them cannot be marked now. */
static bool late_mark_bit(cji_hub *hub, cji_late *late, uint64_t bit)
{
    for (cji_lane *l = hub->lanes; l; l = l->next) {
        if (l->bit != bit) continue;
        if (cji_stream_captures(hub, l->raw)) return false;
        if (hub->cu->cuStreamQuery(l->raw) != CUDA_ERROR_NOT_READY) continue;
        cji_point *p = point_mark(hub, point_new(hub), l->raw);
        if (!p) return false;
        p->next = late->points;
        late->points = p;
    }
    return true;
}

static uint64_t hub_tail_bits(cji_hub *hub)
{
    uint64_t bits = 0;
    points_settle(hub, &hub->tails);
    for (cji_point *t = hub->tails; t; t = t->next) bits |= t->bit;
    return bits;
}

/* Whether every use of `late` is over. */
static bool late_is_over(cji_hub *hub, cji_late *late)
{
    for (uint64_t rest = late->unmarked; rest; rest &= rest - 1) {
        uint64_t bit = rest & -rest;
        if (late_mark_bit(hub, late, bit)) late->unmarked &= ~bit;
    }
    return points_settle(hub, &late->points) && !late->unmarked && !(late->used & hub_tail_bits(hub));
}

bool cji_hub_idle(cji_hub *hub)
{
    pthread_mutex_lock(&hub->lock);
    bool idle = !hub_tail_bits(hub);
    pthread_mutex_unlock(&hub->lock);
    return idle;
}

void cji_hub_fini(cji_hub *hub)
{
    if (hub->side) hub->side_free(hub->side);
    cji_point *lists[] = { hub->tails, hub->spare };
    for (size_t i = 0; i < 2; i++) {
        for (cji_point *p = lists[i], *next; p; p = next) {
            next = p->next;
            point_destroy(hub, p);
        }
    }
    pthread_mutex_destroy(&hub->lock);
    pthread_mutex_destroy(&hub->running);
}

/* -- Lanes ----------------------------------------------------------------------------------------------------------- */

cji_lane *cji_lane_open(cji_hub *hub, CUstream raw)
{
    cji_lane *lane = cji_zalloc(sizeof *lane);
    if (!lane) return NULL;
    lane->raw = raw;
    lane->refs = 1;
    lane->live = true;
    pthread_mutex_lock(&hub->lock);
    lane->tail = point_new(hub);
    if (lane->tail) {
        lane->bit = lane->tail->bit = UINT64_C(1) << hub->lanes_made++ % 64;
        lane->next = hub->lanes;
        hub->lanes = lane;
    }
    pthread_mutex_unlock(&hub->lock);
    if (lane->tail) return lane;
    cji_free(lane, sizeof *lane);
    return NULL;
}

void cji_lane_drop(cji_lane *lane)
{
    if (--lane->refs == 0) cji_free(lane, sizeof *lane);
}

void cji_lane_close(cji_hub *hub, cji_lane *lane)
{
    pthread_mutex_lock(&hub->lock);
    cji_lane **at = &hub->lanes;
    while (*at != lane) at = &(*at)->next;
    *at = lane->next;
    lane->live = false;
    points_settle(hub, &hub->tails);
    bool idle = !cji_stream_captures(hub, lane->raw) && hub->cu->cuStreamQuery(lane->raw) == CUDA_SUCCESS;
    cji_point *tail = idle ? lane->tail : point_mark(hub, lane->tail, lane->raw);
    cji_point **list = idle ? &hub->spare : &hub->tails;
    if (tail) {
        tail->next = *list;
        *list = tail;
    }
    cji_lane_drop(lane);
    pthread_mutex_unlock(&hub->lock);
}

/* -- The list -------------------------------------------------------------------------------------------------------- */

void cji_late_put(cji_hub *hub, cji_late *late, uint64_t used)
{
    late->next = NULL;
    late->points = NULL;
    late->used = late->unmarked = used;
    pthread_mutex_lock(&hub->lock);
    *hub->last = late;
    hub->last = &late->next;
    pthread_mutex_unlock(&hub->lock);
    atomic_fetch_add(&hub->waiting, 1);
}

/* Takes the releases that are possible out of the first `max`; the others go to the end of the list, so that each has its turn. */
static cji_late *late_take(cji_hub *hub, unsigned max)
{
    cji_late *possible = NULL, **end = &possible, *stop = NULL;
    pthread_mutex_lock(&hub->lock);
    if (atomic_load(&hub->captures)) max = 0;
    while (hub->first && hub->first != stop && max--) {
        cji_late *late = hub->first;
        hub->first = late->next;
        if (!hub->first) hub->last = &hub->first;
        late->next = NULL;
        if (late_is_over(hub, late)) {
            *end = late;
            end = &late->next;
            continue;
        }
        *hub->last = late;
        hub->last = &late->next;
        if (!stop) stop = late;
    }
    pthread_mutex_unlock(&hub->lock);
    return possible;
}

void cji_late_drain(cji_hub *hub, unsigned max)
{
    cji_calm calm;
    if (atomic_load(&hub->captures) || pthread_mutex_trylock(&hub->running)) return;
    cji_calm_begin(hub, &calm);
    cji_late *late;
    while ((late = late_take(hub, max))) {
        while (late) {
            cji_late *next = late->next;
            atomic_fetch_sub(&hub->waiting, 1);
            late->run(late);
            late = next;
        }
        if (max != CJI_LATE_ALL) break;
    }
    cji_calm_end(hub, &calm);
    pthread_mutex_unlock(&hub->running);
}
