/* Streams of a coordinator, and the events on them.  A dependency needs a wait only where the order on streams does
 * not imply it: the same stream, or one that has waited, itself or through others, for what came later. */
#include <stdlib.h>

#include "stream/coordinate/coord.h"

static cji_coord_stream *at(cj_coord *c, uint16_t x) { return &c->stream[x]; }

/* -- Clocks -------------------------------------------------------------------------------------------------------- */

static bool clock_grow(uint64_t **clock, size_t *width, size_t need)
{
    if (need <= *width) return true;
    const size_t wide = (need + 7) & ~(size_t)7;
    uint64_t *now = cji_realloc(*clock, *width * sizeof *now, wide * sizeof *now);
    if (!now) return false;
    memset(now + *width, 0, (wide - *width) * sizeof *now);
    *clock = now;
    *width = wide;
    return true;
}

static uint64_t clock_of(const cji_coord_stream *s, uint16_t y) { return y < s->width ? s->clock[y] : 0; }

/* -- Points -------------------------------------------------------------------------------------------------------- */

static void point_free(cji_coord_point *p)
{
    cj_event_free(p->e);
    cji_free(p->clock, p->width * sizeof *p->clock);
    cji_free(p, sizeof *p);
}

static cji_coord_point *point_take(cj_coord *c, uint16_t device)
{
    cji_coord_device *d = c->device[device];
    cji_coord_point *p = d->spare;
    if (p) {
        d->spare = p->next;
        return p;
    }
    p = cji_zalloc(sizeof *p);
    if (!p) {
        cji_fail(c, CJ_ENOMEM, "cj_coord_run", "host memory is exhausted");
        return NULL;
    }
    p->e = cj_event_create(d->dev, NULL);
    if (!cji_obj_failed(p->e)) return p;
    cji_fail_from(c, p->e, "cj_coord_run");
    point_free(p);
    return NULL;
}

static void point_give(cj_coord *c, uint16_t device, cji_coord_point *p)
{
    p->next = c->device[device]->spare;
    c->device[device]->spare = p;
}

static cji_coord_point *point_at(const cji_coord_stream *s, size_t k)
{
    return s->point[(s->point_first + k) % s->point_cap];
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
    if (cj_event_record(p->e, s->s) != CJ_OK) {
        cji_fail_from(c, p->e, call);
        point_give(c, s->device, p);
        return NULL;
    }
    c->events++;
    p->seq = s->seq;
    if (p->width) memset(p->clock, 0, p->width * sizeof *p->clock);
    if (s->width) memcpy(p->clock, s->clock, s->width * sizeof *p->clock);
    s->point[(s->point_first + s->points++) % s->point_cap] = p;
    return p;
}

/* The first point behind the work `seq`; records one where there is none. */
static cji_coord_point *point_behind(cj_coord *c, uint16_t x, uint64_t seq, const char *call)
{
    const cji_coord_stream *s = at(c, x);
    size_t low = 0, high = s->points;
    while (low < high) {
        const size_t mid = (low + high) / 2;
        if (point_at(s, mid)->seq < seq) low = mid + 1;
        else high = mid;
    }
    return low < s->points ? point_at(s, low) : point_record(c, x, call);
}

/* -- Order --------------------------------------------------------------------------------------------------------- */

/* Stream x waits for the point of stream y, and so for all that is before the point. */
static cj_status order_wait(cj_coord *c, uint16_t x, uint16_t y, const cji_coord_point *p, const char *call)
{
    cji_coord_stream *s = at(c, x);
    const size_t width = p->width > (size_t)y + 1 ? p->width : (size_t)y + 1;
    if (!clock_grow(&s->clock, &s->width, width)) return cji_fail(c, CJ_ENOMEM, call, "host memory is exhausted");
    const cj_status st = cj_stream_wait(s->s, p->e);
    if (st != CJ_OK) return cji_fail_from(c, s->s, call);
    c->waits++;
    for (size_t k = 0; k < p->width; k++)
        if (p->clock[k] > s->clock[k]) s->clock[k] = p->clock[k];
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
    const cji_coord_point *point = point_behind(c, t->stream, t->seq, call);
    return point ? order_wait(c, x, t->stream, point, call) : cji_err_latest();
}

typedef struct order_pred { uint64_t queued_at; uint32_t pred; } order_pred;

static int order_compare(const void *a, const void *b)
{
    const uint64_t x = ((const order_pred *)a)->queued_at, y = ((const order_pred *)b)->queued_at;
    return (x < y) - (x > y);
}

/* What was enqueued last may have waited for what was enqueued before it, but not the other way round: so the last is
 * first. */
cj_status cji_coord_order(cj_coord *c, uint32_t i, uint16_t x, const char *call)
{
    enum { FEW = 32 };
    const cji_tasks *g = &c->tasks;
    order_pred few[FEW], *all = few;
    size_t n = 0, k = 0;
    cj_status st = CJ_OK;
    for (uint32_t e = cji_task_at(g, i)->in; e != CJI_NO_TASK; e = cji_task_edge_at(g, e)->next_in) {
        const uint32_t p = cji_task_edge_at(g, e)->pred;
        if (p == CJI_NO_TASK || order_is_implied(c, cji_task_at(g, p), x)) c->implied++;
        else n++;
    }
    if (n > FEW && !(all = cji_alloc(n * sizeof *all))) return cji_fail(c, CJ_ENOMEM, call, "host memory is exhausted");
    for (uint32_t e = n ? cji_task_at(g, i)->in : CJI_NO_TASK; e != CJI_NO_TASK; e = cji_task_edge_at(g, e)->next_in) {
        const uint32_t p = cji_task_edge_at(g, e)->pred;
        if (p != CJI_NO_TASK && !order_is_implied(c, cji_task_at(g, p), x))
            all[k++] = (order_pred){ cji_task_at(g, p)->ready_at, p };
    }
    if (n > 1) qsort(all, n, sizeof *all, order_compare);
    for (k = 0; k < n && st == CJ_OK; k++) st = order_after(c, all[k].pred, x, call);
    if (all != few) cji_free(all, n * sizeof *all);
    return st;
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
    else d->stream[level][d->streams[level]++] = x;
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
    t->pool = pool;
    t->lease = cj_stream_pool_acquire(pool, &request);
    cj_stream *const s = t->lease ? cj_stream_pool_stream(pool, t->lease) : NULL;
    if (s) return cji_coord_stream_of(c, s, call);
    cji_fail_from(c, pool, call);
    return CJI_COORD_NO_STREAM;
}

void cji_coord_unlease(cj_coord *c, uint32_t i)
{
    cji_task *t = cji_task_at(&c->tasks, i);
    if (t->lease) cj_stream_pool_release(t->pool, t->lease);
    t->lease = 0;
}

/* A stream whose last work is what the task depends on; then no wait is needed, and no other work is held up. */
static uint16_t choose_dependency(cj_coord *c, const cji_task *t, uint8_t level)
{
    for (uint32_t e = t->in; e != CJI_NO_TASK; e = cji_task_edge_at(&c->tasks, e)->next_in) {
        const uint32_t p = cji_task_edge_at(&c->tasks, e)->pred;
        if (p == CJI_NO_TASK) continue;
        const cji_task *pred = cji_task_at(&c->tasks, p);
        if (pred->state != CJ_TASK_ENQUEUED) continue;
        const cji_coord_stream *s = at(c, pred->stream);
        if (!s->foreign && s->device == t->device && s->level == level && s->seq == pred->seq && !s->begun)
            return pred->stream;
    }
    return CJI_COORD_NO_STREAM;
}

uint16_t cji_coord_choose(cj_coord *c, uint32_t i, const char *call)
{
    cji_task *t = cji_task_at(&c->tasks, i);
    const uint8_t level = t->class < 2 ? 0 : t->class == 2 ? 1 : 2;
    cji_coord_device *d = c->device[t->device];
    if (d->pool) return choose_leased(c, t, d->pool, call);
    uint16_t best = choose_dependency(c, t, level);
    if (best != CJI_COORD_NO_STREAM) return best;
    uint32_t least = UINT32_MAX;
    for (uint32_t k = 0; k < d->streams[level]; k++) {
        const cji_coord_stream *s = at(c, d->stream[level][k]);
        if (s->in_flight + s->begun < least) least = s->in_flight + s->begun, best = d->stream[level][k];
    }
    if (!least || d->streams[level] == c->opts.streams) return best;
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
    return t->out == CJI_NO_TASK || point_record(c, t->stream, call) ? CJ_OK : cji_err_latest();
}

/* A stream that no event can be recorded on, or whose event cannot be queried, has lost its work. */
static void stream_lost(cj_coord *c, cji_coord_stream *s)
{
    while (s->points) {
        point_give(c, s->device, point_at(s, 0));
        s->point_first = (s->point_first + 1) % s->point_cap;
        s->points--;
    }
}

size_t cji_coord_reached(cj_coord *c, uint16_t x, cj_status *st)
{
    cji_coord_stream *s = at(c, x);
    size_t reached = 0, step = 1;
    *st = CJ_OK;
    if (s->lost && s->in_flight) {
        *st = cji_err_status(c);
        stream_lost(c, s);
        return s->in_flight;
    }
    if (!s->in_flight) return 0;
    for (size_t k = 0; k < s->points; k = reached - 1 + step, step *= 2) { /* the oldest, then ever larger steps */
        *st = cj_event_query(point_at(s, k)->e);
        if (*st != CJ_OK) break;
        reached = k + 1;
    }
    uint64_t seq = reached ? point_at(s, reached - 1)->seq : 0;
    if (s->idle > seq) seq = s->idle;
    if (*st != CJ_OK && *st != CJ_ENOTREADY) {
        cji_fail_from(c, point_at(s, 0)->e, "cj_coord_run");
        stream_lost(c, s);
        return s->in_flight;
    }
    *st = CJ_OK;
    for (size_t k = 0; k < reached; k++) {
        point_give(c, s->device, point_at(s, 0));
        s->point_first = (s->point_first + 1) % s->point_cap;
        s->points--;
    }
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
        for (size_t k = 0; k < s->points; k++) point_free(point_at(s, k));
        cji_free(s->point, s->point_cap * sizeof *s->point);
        cji_free(s->clock, s->width * sizeof *s->clock);
        if (s->s && s->foreign) cji_stream_drop(s->s);
        else if (s->s) cj_stream_free(s->s);
    }
    cji_free(c->stream, c->stream_cap * sizeof *c->stream);
    for (size_t d = 0; d < c->devices; d++) {
        for (cji_coord_point *p = c->device[d]->spare, *next; p; p = next) next = p->next, point_free(p);
        cji_device_drop(c->device[d]->dev);
        cji_free(c->device[d], sizeof *c->device[d]);
    }
    cji_free(c->device, c->device_cap * sizeof *c->device);
}
