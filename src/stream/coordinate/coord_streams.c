/* Streams of a coordinator, and the events on them.  A dependency needs a wait only where the order on streams does
 * not imply it: the same stream, or one that has waited, itself or through others, for what came later. */
#include <stdlib.h>

#include "base/cancel.h"
#include "stream/coordinate/coord.h"
#include "stream/core/work_hooks.h"

static cji_coord_stream *at(cj_coord *c, uint16_t x) { return &c->stream[x]; }

/* -- Clocks -------------------------------------------------------------------------------------------------------- */

static CJI_COLD bool clock_widen(uint64_t **clock, size_t *width, size_t need)
{
    const size_t wide = (need + 7) & ~(size_t)7;
    uint64_t *now = cji_realloc(*clock, *width * sizeof *now, wide * sizeof *now);
    if (!now) return false;
    memset(now + *width, 0, (wide - *width) * sizeof *now);
    *clock = now;
    *width = wide;
    return true;
}

static inline bool clock_grow(uint64_t **clock, size_t *width, size_t need)
{
    return need <= *width || clock_widen(clock, width, need);
}

static uint64_t clock_of(const cji_coord_stream *s, uint16_t y) { return y < s->width ? s->clock[y] : 0; }

/* -- Points -------------------------------------------------------------------------------------------------------- */

/* `reached`: its event's record is known to be complete, or there is none. */
static void point_free(cj_coord *c, uint16_t device, cji_coord_point *p, bool reached)
{
    cj_event_pool *events = c->device[device]->events;
    if (p->e && reached) cji_event_release_reached(events, p->handle);
    else if (p->e) cji_event_release(events, p->handle);
    cji_free(p->clock, p->width * sizeof *p->clock);
    cji_free(p, sizeof *p);
}

static CJI_COLD cji_coord_point *point_make(cj_coord *c, uint16_t device)
{
    static const char call[] = "cj_coord_run";
    cji_coord_point *p = cji_zalloc(sizeof *p);
    if (!p) {
        cji_fail(c, CJ_ENOMEM, call, "host memory is exhausted");
        return NULL;
    }
    p->e = cji_event_acquire(c->device[device]->events, CJ_EVENT_REGULAR, &p->handle, c, call);
    if (p->e) return p->raw = p->e->raw, p;
    point_free(c, device, p, true);
    return NULL;
}

static inline cji_coord_point *point_take(cj_coord *c, uint16_t device)
{
    cji_coord_device *d = c->device[device];
    cji_coord_point *p = d->spare;
    if (!p) return point_make(c, device);
    d->spare = p->next;
    return p;
}

/* One that a capture has is not used again. */
static inline void point_give(cj_coord *c, uint16_t device, cji_coord_point *p)
{
    if (!p->plain) {
        point_free(c, device, p, false);
        return;
    }
    p->next = c->device[device]->spare;
    c->device[device]->spare = p;
}

static inline cji_coord_point *point_at(const cji_coord_stream *s, size_t k)
{
    return s->point[(s->point_first + k) & (s->point_cap - 1)];
}

/* The oldest point leaves. */
static inline void points_drop(cj_coord *c, cji_coord_stream *s)
{
    point_give(c, s->device, point_at(s, 0));
    s->point_first = (s->point_first + 1) & (s->point_cap - 1);
    s->point_number++;
    s->points--;
}

static bool points_room(cji_coord_stream *s)
{
    if (s->points < s->point_cap) return true;
    const size_t cap = s->point_cap ? 2 * s->point_cap : 16;
    cji_coord_point **now = cji_alloc(cap * sizeof *now);
    if (!now) return false;
    for (size_t k = 0; k < s->points; k++) now[k] = point_at(s, k);
    cji_free(s->point, s->point_cap * sizeof *now);
    s->point = now;
    s->point_cap = cap;
    s->point_first = 0;
    return true;
}

/* A failure is of the task that begins or completes: the next one on a stream of the coordinator has not failed. */
static void stream_forgive(const cji_coord_stream *s)
{
    if (!s->foreign) cji_err_reset(s->s);
}

/* Whether the driver can be called without what cj_event_record() and cj_stream_wait() do for streams of any kind. */
static inline bool stream_is_plain(const cj_stream *s)
{
    return !atomic_load_explicit(&s->capturing, memory_order_relaxed) && !cji_stream_needs_context(s);
}

/* A capture that begins meanwhile is looked for behind the driver's call, as cj_event_record() does: then the event is
 * recorded once more, in the capture. */
static cj_status point_stamp(cj_coord *c, cji_coord_point *p, cj_stream *s, const char *call)
{
    p->plain = false;
    if (stream_is_plain(s)) {
        const CUresult r = cji_event_record_raw(p->e, s);
        if (r != CUDA_SUCCESS) {
            cji_rejected(c, s->dev, r, call, "cuEventRecord");
            return cji_fail_with(s, cj_error_last());
        }
        p->plain = stream_is_plain(s);
        cji_count_one(s);
    }
    if (p->plain || cj_event_record(p->e, s) == CJ_OK) return CJ_OK;
    return cji_fail_from(c, p->e, call);
}

/* Records an event behind all that is on the stream. */
static cji_coord_point *point_record(cj_coord *c, uint16_t x, const char *call)
{
    cji_coord_stream *s = at(c, x);
    cji_coord_point *p = point_take(c, s->device);
    if (!p) return NULL;
    if (!points_room(s) || !clock_grow(&p->clock, &p->width, s->width)) {
        point_give(c, s->device, p);
        cji_fail(c, CJ_ENOMEM, call, "host memory is exhausted");
        return NULL;
    }
    if (point_stamp(c, p, s->s, call) != CJ_OK) {
        stream_forgive(s);
        point_give(c, s->device, p);
        return NULL;
    }
    c->events++;
    p->seq = s->seq;
    if (s->width) memcpy(p->clock, s->clock, s->width * sizeof *p->clock);
    if (p->width > s->width) memset(p->clock + s->width, 0, (p->width - s->width) * sizeof *p->clock);
    s->point[(s->point_first + s->points++) & (s->point_cap - 1)] = p;
    return p;
}

/* The first point behind an enqueued task; records one where there is none. */
static cji_coord_point *point_behind(cj_coord *c, const cji_task *t, const char *call)
{
    const uint16_t x = t->stream;
    const uint64_t seq = t->seq;
    const cji_coord_stream *s = at(c, x);
    const uint32_t own = t->point - s->point_number;
    if (own < s->points && point_at(s, own)->seq == seq) return point_at(s, own);
    size_t low = 0, high = s->points;
    while (low < high) {
        const size_t mid = (low + high) / 2;
        if (point_at(s, mid)->seq < seq) low = mid + 1;
        else high = mid;
    }
    return low < s->points ? point_at(s, low) : point_record(c, x, call);
}

/* -- Order --------------------------------------------------------------------------------------------------------- */

static cj_status order_enqueue(cj_stream *s, const cji_coord_point *p, const char *call)
{
    CJI_NO_CANCEL;
    if (!p->plain || !stream_is_plain(s) || cji_work_measured()) return cj_stream_wait(s, p->e);
    const CUresult r = s->cu->cuStreamWaitEvent(s->raw, p->raw, 0);
    if (r != CUDA_SUCCESS) return cji_stream_rejected(s, r, call, "cuStreamWaitEvent");
    cji_count(s, &s->counts.waits, 1);
    cji_count_one(s);
    return CJ_OK;
}

/* Stream x waits for the point of stream y, and so for all that is before the point. */
static cj_status order_wait(cj_coord *c, uint16_t x, uint16_t y, const cji_coord_point *p, const char *call)
{
    cji_coord_stream *s = at(c, x);
    const size_t width = p->width > (size_t)y + 1 ? p->width : (size_t)y + 1;
    if (!clock_grow(&s->clock, &s->width, width)) return cji_fail(c, CJ_ENOMEM, call, "host memory is exhausted");
    const cj_status st = order_enqueue(s->s, p, call);
    if (st != CJ_OK) {
        cji_fail_from(c, s->s, call);
        stream_forgive(s);
        return st;
    }
    c->waits++;
    for (size_t k = 0; k < p->width; k++) s->clock[k] = p->clock[k] > s->clock[k] ? p->clock[k] : s->clock[k];
    if (p->seq > s->clock[y]) s->clock[y] = p->seq;
    return CJ_OK;
}

/* Whether the order on streams makes all later work of stream x come after the task. */
static bool order_is_implied(cj_coord *c, const cji_task *t, uint16_t x)
{
    return t->state != CJ_TASK_ENQUEUED || t->stream == x || clock_of(at(c, x), t->stream) >= t->seq;
}

static cj_status order_after(cj_coord *c, uint32_t pred, uint16_t x, const char *call)
{
    const cji_task *t = cji_task_at(&c->tasks, pred);
    if (order_is_implied(c, t, x)) {
        c->implied++;
        return CJ_OK;
    }
    const cji_coord_point *point = point_behind(c, t, call);
    return point ? order_wait(c, x, t->stream, point, call) : cji_err_latest();
}

typedef struct order_pred { uint64_t queued_at; uint32_t pred; } order_pred;

static int order_compare(const void *a, const void *b)
{
    const uint64_t x = ((const order_pred *)a)->queued_at, y = ((const order_pred *)b)->queued_at;
    return (x < y) - (x > y);
}

/* What the order on stream x does not imply of the edges from `e` on; counts the others.  At most `most`: *e is the
 * first edge that was not looked at. */
static size_t order_collect(cj_coord *c, uint16_t x, uint32_t *e, order_pred *all, size_t most)
{
    size_t n = 0;
    while (*e != CJI_NO_TASK && n < most) {
        const cji_task_edge *edge = cji_task_edge_at(&c->tasks, *e);
        const cji_task *t = edge->pred == CJI_NO_TASK ? NULL : cji_task_at(&c->tasks, edge->pred);
        if (!t || order_is_implied(c, t, x)) c->implied++;
        else all[n++] = (order_pred){ t->ready_at, edge->pred };
        *e = edge->next_in;
    }
    return n;
}

/* What was enqueued last may have waited for what was enqueued before it, but not the other way round: so the last is
 * first. */
static cj_status order_after_all(cj_coord *c, uint16_t x, order_pred *all, size_t n, const char *call)
{
    cj_status st = CJ_OK;
    if (n == 2 && all[0].queued_at < all[1].queued_at) {
        const order_pred first = all[0];
        all[0] = all[1], all[1] = first;
    } else if (n > 2) qsort(all, n, sizeof *all, order_compare);
    for (size_t k = 0; k < n && st == CJ_OK; k++) st = order_after(c, all[k].pred, x, call);
    return st;
}

static CJI_COLD cj_status order_many(cj_coord *c, uint16_t x, uint32_t e, const order_pred *few, size_t n,
                                     const char *call)
{
    size_t most = n;
    for (uint32_t k = e; k != CJI_NO_TASK; k = cji_task_edge_at(&c->tasks, k)->next_in) most++;
    order_pred *all = cji_alloc(most * sizeof *all);
    if (!all) return cji_fail(c, CJ_ENOMEM, call, "host memory is exhausted");
    memcpy(all, few, n * sizeof *all);
    n += order_collect(c, x, &e, all + n, most - n);
    const cj_status st = order_after_all(c, x, all, n, call);
    cji_free(all, most * sizeof *all);
    return st;
}

cj_status cji_coord_order(cj_coord *c, uint32_t i, uint16_t x, const char *call)
{
    enum { FEW = 16 };
    order_pred few[FEW];
    uint32_t e = cji_task_at(&c->tasks, i)->in;
    const size_t n = order_collect(c, x, &e, few, FEW);
    return e == CJI_NO_TASK ? order_after_all(c, x, few, n, call) : order_many(c, x, e, few, n, call);
}

/* -- Streams ------------------------------------------------------------------------------------------------------- */

static uint16_t stream_add(cj_coord *c, cj_stream *s, uint16_t device, uint8_t level, bool foreign, const char *call)
{
    size_t x = 0;
    while (x < c->streams && c->stream[x].s) x++;
    if (x == c->streams) {
        if (x >= CJI_COORD_STREAMS) {
            cji_fail(c, CJ_EBUSY, call, "tasks use %d streams at once; complete some of them first", CJI_COORD_STREAMS);
            return CJI_COORD_NO_STREAM;
        }
        if (!cji_grow(&c->stream, &c->stream_cap, x + 1, sizeof *c->stream)) {
            cji_fail(c, CJ_ENOMEM, call, "host memory is exhausted");
            return CJI_COORD_NO_STREAM;
        }
        c->stream[c->streams++] = (cji_coord_stream){ .first = CJI_NO_TASK, .last = CJI_NO_TASK };
    }
    cji_coord_stream *e = &c->stream[x];
    if (e->width) memset(e->clock, 0, e->width * sizeof *e->clock);
    e->s = s;
    e->device = device;
    e->level = level;
    e->foreign = foreign;
    e->load = &c->device[device]->foreign_load;
    return (uint16_t)x;
}

uint16_t cji_coord_stream_of(cj_coord *c, cj_stream *s, const char *call)
{
    size_t idle = c->streams;
    for (size_t x = 0; x < c->streams; x++) {
        const cji_coord_stream *e = &c->stream[x];
        if (e->s == s) return (uint16_t)x;
        if (e->s && e->foreign && !e->in_flight && !e->begun) idle = x;
    }
    const int device = cji_coord_device_of(c, s->dev, call);
    if (device < 0) return CJI_COORD_NO_STREAM;
    if (c->streams >= CJI_COORD_STREAMS && idle < c->streams) {
        while (c->stream[idle].points) points_drop(c, &c->stream[idle]); /* of the device that it leaves */
        cji_stream_drop(c->stream[idle].s);
        c->stream[idle].s = NULL;
    }
    const uint16_t x = stream_add(c, s, (uint16_t)device, 1, true, call);
    if (x != CJI_COORD_NO_STREAM) cji_obj_retain(s);
    return x;
}

static uint16_t stream_make(cj_coord *c, uint16_t device, uint8_t level, const char *call)
{
    static const int32_t priority[] = { CJ_PRIORITY_HIGH, CJ_PRIORITY_NORMAL, CJ_PRIORITY_LOW };
    cji_coord_device *d = c->device[device];
    cj_stream *s = cj_stream_create(d->dev, CJ_STREAM(.priority = priority[level]));
    uint16_t x = CJI_COORD_NO_STREAM;
    if (cji_obj_failed(s)) cji_fail_from(c, s, call);
    else x = stream_add(c, s, device, level, false, call);
    if (x == CJI_COORD_NO_STREAM) cj_stream_free(s);
    else {
        c->stream[x].load = &d->load[level][d->streams[level]];
        d->stream[level][d->streams[level]++] = x;
    }
    return x;
}

/* A stream of a pool of the caller.  The stream of what the task depends on, and that was enqueued last, is passed on
 * to the pool's strategy. */
static uint16_t choose_leased(cj_coord *c, cji_task *t, cj_stream_pool *pool, const char *call)
{
    cj_stream_request request = { .size = sizeof request, .work = t->work, .priority = cji_task_priority(t->class) };
    uint64_t latest = 0;
    for (uint32_t e = t->in; e != CJI_NO_TASK; e = cji_task_edge_at(&c->tasks, e)->next_in) {
        const uint32_t p = cji_task_edge_at(&c->tasks, e)->pred;
        const cji_task *pred = p == CJI_NO_TASK ? NULL : cji_task_at(&c->tasks, p);
        if (!pred || pred->state != CJ_TASK_ENQUEUED || pred->device != t->device) continue;
        if (pred->ready_at < latest) continue;
        latest = pred->ready_at;
        request.after = at(c, pred->stream)->s;
    }
    cji_task_rare(t)->pool = pool;
    t->lease = cj_stream_pool_acquire(pool, &request);
    cj_stream *const s = t->lease ? cj_stream_pool_stream(pool, t->lease) : NULL;
    if (s) return cji_coord_stream_of(c, s, call);
    cji_fail_from(c, pool, call);
    return CJI_COORD_NO_STREAM;
}

void cji_coord_lease_end(cji_task *t)
{
    cj_stream_pool_release(t->pool, t->lease);
    t->lease = 0;
}

enum { CHOOSE_SLACK = 4 }; /* a stream is as good as the least busy one with so much more work: a fourth */

/* A stream whose last work is what the task depends on; then no wait is needed, and no other work is held up.  *near is
 * the stream of what was enqueued last of all that the task depends on. */
static uint16_t choose_dependency(cj_coord *c, const cji_task *t, uint8_t level, uint16_t *near)
{
    uint64_t latest = 0;
    for (uint32_t e = t->in, next; e != CJI_NO_TASK; e = next) {
        const cji_task_edge *edge = cji_task_edge_at(&c->tasks, e);
        next = edge->next_in;
        if (edge->pred == CJI_NO_TASK) continue;
        const cji_task *pred = cji_task_at(&c->tasks, edge->pred);
        if (pred->state != CJ_TASK_ENQUEUED) continue;
        const cji_coord_stream *s = at(c, pred->stream);
        if (s->foreign || s->device != t->device || s->level != level) continue;
        if (s->seq == pred->seq && !s->begun) return pred->stream;
        if (pred->ready_at > latest) latest = pred->ready_at, *near = pred->stream;
    }
    return CJI_COORD_NO_STREAM;
}

/* Where all streams are busy the task begins behind other work anyway: on the stream of what it depends on it needs a
 * wait less. */
uint16_t cji_coord_choose(cj_coord *c, uint32_t i, const char *call)
{
    const cji_task *t = cji_task_at(&c->tasks, i);
    const uint8_t level = t->class < 2 ? 0 : t->class == 2 ? 1 : 2;
    cji_coord_device *d = c->device[t->device];
    if (d->pool) return choose_leased(c, cji_task_at(&c->tasks, i), d->pool, call);
    uint16_t near = CJI_COORD_NO_STREAM, best = choose_dependency(c, t, level, &near);
    if (best != CJI_COORD_NO_STREAM) return best;
    const uint32_t *load = d->load[level], streams = d->streams[level];
    uint64_t first = UINT64_MAX; /* the least load, and the place of the first stream that has it */
    for (uint32_t k = 0; k < streams; k++) {
        const uint64_t one = (uint64_t)load[k] << 32 | k;
        first = one < first ? one : first;
    }
    const uint32_t least = (uint32_t)(first >> 32);
    if (streams) best = d->stream[level][(uint32_t)first];
    if (!least) return best;
    if (streams == c->opts.streams)
        return near != CJI_COORD_NO_STREAM && *at(c, near)->load <= least + least / CHOOSE_SLACK ? near : best;
    const uint16_t made = stream_make(c, t->device, level, call);
    return made == CJI_COORD_NO_STREAM ? best : made;
}

/* -- Work on streams ----------------------------------------------------------------------------------------------- */

cj_status cji_coord_append(cj_coord *c, uint32_t i, const char *call)
{
    cji_task *t = cji_task_at(&c->tasks, i);
    cji_coord_stream *s = at(c, t->stream);
    t->seq = ++s->seq;
    t->ready_at = ++c->appended;
    t->next = CJI_NO_TASK;
    if (s->last == CJI_NO_TASK) s->first = i;
    else cji_task_at(&c->tasks, s->last)->next = i;
    s->last = i;
    s->in_flight++;
    /* others come after it, on streams that are not known yet */
    t->point = s->point_number + (uint32_t)s->points;
    return t->out == CJI_NO_TASK || point_record(c, t->stream, call) ? CJ_OK : cji_err_latest();
}

/* A stream that no event can be recorded on, or whose event cannot be queried, has lost its work. */
static void stream_lost(cj_coord *c, cji_coord_stream *s)
{
    while (s->points) points_drop(c, s);
}

static cj_status point_query(cj_coord *c, const cji_coord_stream *s, size_t k)
{
    static const char call[] = "cj_coord_run";
    const cji_coord_point *p = point_at(s, k);
    if (!p->plain) {
        const cj_status st = cj_event_query(p->e);
        return st == CJ_OK || st == CJ_ENOTREADY ? st : cji_fail_from(c, p->e, call);
    }
    const CUresult r = s->s->cu->cuEventQuery(p->raw);
    if (r == CUDA_ERROR_NOT_READY) return CJ_ENOTREADY;
    return r == CUDA_SUCCESS ? CJ_OK : cji_rejected(c, s->s->dev, r, call, "cuEventQuery");
}

/* How many points are reached: asks for as many as the last time, then for ever more or ever fewer.  *st: of the last
 * query. */
static size_t points_reached(cj_coord *c, cji_coord_stream *s, cj_status *st)
{
    size_t reached = 0, step = 1, end = s->points, k = s->guess < end ? s->guess : end;
    for (k -= k > 0; k < end;) {
        *st = point_query(c, s, k);
        if (*st == CJ_OK) {
            reached = k + 1;
            k += step;
            step *= 2;
        } else if (*st == CJ_ENOTREADY && !reached && k) {
            end = k;
            k /= 2;
        } else break;
    }
    return s->guess = reached;
}

size_t cji_coord_reached(cj_coord *c, uint16_t x, cj_status *st)
{
    cji_coord_stream *s = at(c, x);
    *st = CJ_OK;
    if (!s->in_flight) return 0;
    if (s->lost) {
        *st = cji_err_status(c);
        if (*st == CJ_OK) *st = CJ_EDRIVER; /* the caller has cleared it */
        s->lost = false;
        stream_lost(c, s);
        return s->in_flight;
    }
    size_t reached = points_reached(c, s, st);
    uint64_t seq = reached ? point_at(s, reached - 1)->seq : 0;
    if (s->idle > seq) seq = s->idle;
    if (*st != CJ_OK && *st != CJ_ENOTREADY) {
        stream_lost(c, s);
        return s->in_flight;
    }
    *st = CJ_OK;
    for (; reached; reached--) points_drop(c, s);
    size_t tasks = 0;
    for (uint32_t i = s->first; i != CJI_NO_TASK && cji_task_at(&c->tasks, i)->seq <= seq; tasks++)
        i = cji_task_at(&c->tasks, i)->next;
    return tasks;
}

/* No memory for an event behind the work of a stream: the stream itself says whether all of it is complete.  What it
 * fails with ends its tasks: a context may have failed for lack of memory, too. */
static void flush_without_event(cji_coord_stream *s)
{
    const cj_status st = cj_stream_query(s->s);
    if (st == CJ_OK) s->idle = s->seq;
    else if (st != CJ_ENOTREADY) s->lost = true;
}

void cji_coord_flush(cj_coord *c)
{
    for (size_t x = 0; x < c->streams; x++) {
        cji_coord_stream *s = &c->stream[x];
        if (!s->in_flight || (s->points && point_at(s, s->points - 1)->seq >= s->seq)) continue;
        if (point_record(c, (uint16_t)x, "cj_coord_run")) continue;
        if (cji_err_latest() == CJ_ENOMEM) flush_without_event(s);
        else s->lost = true;
    }
}

void cji_coord_streams_close(cj_coord *c)
{
    for (size_t x = 0; x < c->streams; x++) {
        cji_coord_stream *s = &c->stream[x];
        for (size_t k = 0; k < s->points; k++) point_free(c, s->device, point_at(s, k), false);
        cji_free(s->point, s->point_cap * sizeof *s->point);
        cji_free(s->clock, s->width * sizeof *s->clock);
        if (s->s && s->foreign) cji_stream_drop(s->s);
        else if (s->s) cj_stream_free(s->s);
    }
    cji_free(c->stream, c->stream_cap * sizeof *c->stream);
    for (size_t d = 0; d < c->devices; d++) {
        for (cji_coord_point *p = c->device[d]->spare, *next; p; p = next)
            next = p->next, point_free(c, (uint16_t)d, p, true);
        cj_event_pool_free(c->device[d]->events);
        cji_device_drop(c->device[d]->dev);
        cji_free(c->device[d], sizeof *c->device[d]);
    }
    cji_free(c->device, c->device_cap * sizeof *c->device);
}
