/* Completion times of leases: 1 in .sample is measured.
 *
 * A lease that is measured has three timing events: `asked` on the pool's own idle stream, which is reached at once;
 * `begin` on the lease's stream, reached when earlier work is complete; `end` on it at the release.  From `asked` to
 * `end` is the completion time, from `begin` to `end` the time of the lease's own work.  Nobody waits for the events:
 * later leases and readers of the times look whether they are reached. */
#include "stream/pool/stream_pool.h"

#include "base/cancel.h"
#include "base/mem.h"

struct cji_sample {
    cji_sample *next;
    const cji_place *place;
    cj_stream *s;         /* of the place, while the lease is held */
    uint64_t serial;      /* of that stream */
    uint64_t asked_ns;    /* host time of the acquisition */
    uint64_t before, now; /* operations enqueued on it: when the lease began, when it ended */
    uint8_t strategy, group, work;
    cj_pooled_event handle[3];
    cj_event *event[3];
};
enum { SAMPLE_ASKED, SAMPLE_BEGIN, SAMPLE_END, SAMPLE_EVENTS, SAMPLE_LOOKS = 16 };

static void sample_free(cj_stream_pool *pool, cji_sample *m, bool reached)
{
    for (int i = 0; i < SAMPLE_EVENTS; i++) {
        if (!m->handle[i]) continue;
        if (reached) cji_event_release_reached(pool->events, m->handle[i]);
        else cji_event_release(pool->events, m->handle[i]);
    }
    cji_free(m, sizeof *m);
}

static bool sample_record(cj_stream_pool *pool, cji_sample *m, int which, cj_stream *on)
{
    if (atomic_load(&on->capturing)) return false;
    m->event[which] = cji_event_acquire(pool->events, CJ_EVENT_TIMING, &m->handle[which], NULL,
                                         "cj_stream_pool_acquire");
    return m->event[which] && cji_event_record_raw(m->event[which], on) == CUDA_SUCCESS;
}

cji_sample *cji_sample_begin(cj_stream_pool *pool, const cji_wish *w, const cji_place *p)
{
    CJI_NO_CANCEL;
    cji_kept before;
    cji_sample *m = cji_zalloc(sizeof *m);
    if (!m) return NULL;
    cji_fail_save(&before); /* without its time the lease is as good */
    m->s = atomic_load(&p->s);
    m->place = p;
    m->serial = m->s->obj.serial;
    m->asked_ns = cji_now();
    m->before = cji_enqueued(m->s);
    m->strategy = (uint8_t)w->strategy;
    m->work = (uint8_t)w->work;
    m->group = p->class == CJI_CLASS_HIGH ? CJI_GROUP_HIGH : (uint8_t)w->work;
    if (!sample_record(pool, m, SAMPLE_ASKED, pool->clock) || !sample_record(pool, m, SAMPLE_BEGIN, m->s)) {
        sample_free(pool, m, false);
        m = NULL;
    }
    cji_fail_restore(&before);
    return m;
}

/* Takes a span out of those that are kept. */
static void busy_take(cji_busy *b, unsigned i) { b->span[i] = b->span[--b->n]; }

static double busy_span_ms(const cji_busy *b, unsigned i) { return (double)(b->span[i].to - b->span[i].from) / 1e6; }

/* The span is united with those that it meets.  Where there is no room the earliest is only counted. */
void cji_busy_add(cji_busy *b, uint64_t from, uint64_t to)
{
    for (unsigned i = 0; i < b->n;) {
        if (b->span[i].from > to || from > b->span[i].to) {
            i++;
            continue;
        }
        if (b->span[i].from < from) from = b->span[i].from;
        if (b->span[i].to > to) to = b->span[i].to;
        busy_take(b, i);
    }
    if (b->n == CJI_SPANS) {
        unsigned first = 0;
        for (unsigned i = 1; i < b->n; i++)
            if (b->span[i].to < b->span[first].to) first = i;
        b->ms += busy_span_ms(b, first);
        busy_take(b, first);
    }
    b->span[b->n].from = from;
    b->span[b->n++].to = to;
}

double cji_busy_ms(const cji_busy *b)
{
    double ms = b->ms;
    for (unsigned i = 0; i < b->n; i++) ms += busy_span_ms(b, i);
    return ms;
}

/* With the lock held: what the events measured.  NOT_READY: the pool's own stream, which no work of the lease is on,
 * has not reached `asked` yet. */
static CUresult sample_count(cj_stream_pool *pool, const cji_sample *m)
{
    float whole = 0, own = 0;
    const cji_cu *cu = pool->clock->cu;
    CUresult r = cu->cuEventElapsedTime(&whole, m->event[SAMPLE_ASKED]->raw, m->event[SAMPLE_END]->raw);
    if (r == CUDA_SUCCESS) r = cu->cuEventElapsedTime(&own, m->event[SAMPLE_BEGIN]->raw, m->event[SAMPLE_END]->raw);
    if (r != CUDA_SUCCESS) return r;
    cji_times *t = &pool->measured[m->strategy][m->group];
    t->count++;
    t->ms += whole > 0 ? (double)whole : 0;
    if (m->group != CJI_GROUP_HIGH && whole > 0)
        cji_busy_add(&pool->busy[m->strategy], m->asked_ns, m->asked_ns + (uint64_t)((double)whole * 1e6) + 1);
    pool->work_time[m->work].count++;
    pool->work_time[m->work].ms += whole > 0 ? (double)whole : 0;
    cj_stream *s = atomic_load(&m->place->s);
    if (s && s->obj.serial == m->serial) cji_seen_done(s, m->now);
    if (m->now <= m->before) return CUDA_SUCCESS;
    pool->op_count[m->work] += m->now - m->before;
    pool->op_ms[m->work] += own > 0 ? (double)own : 0;
    const double ns = pool->op_ms[m->work] * 1e6 / (double)pool->op_count[m->work];
    atomic_store_explicit(&pool->op_ns[m->work], ns >= 1 ? (uint64_t)ns : 1, memory_order_relaxed);
    return CUDA_SUCCESS;
}

void cji_sample_harvest(cj_stream_pool *pool, bool all)
{
    cji_sample *done = NULL;
    cji_scope scope;
    if (!pool->events) return;
    cji_scope_relax(&scope, pool->clock->cu);
    cji_lock(&pool->lock, CJI_LOCK_STREAM_POOL);
    unsigned looks = 0;
    for (cji_sample **at = &pool->samples; *at && (all || looks < SAMPLE_LOOKS); looks++) {
        cji_sample *m = *at;
        CUresult r = pool->clock->cu->cuEventQuery(m->event[SAMPLE_END]->raw);
        if (r == CUDA_SUCCESS) r = sample_count(pool, m);
        if (r == CUDA_ERROR_NOT_READY) {
            at = &m->next;
            continue;
        }
        *at = m->next;
        m->next = done;
        done = m;
    }
    pool->samples_end = &pool->samples;
    while (*pool->samples_end) pool->samples_end = &(*pool->samples_end)->next;
    cji_unlock(&pool->lock, CJI_LOCK_STREAM_POOL);
    cji_scope_leave(&scope);
    while (done) {
        cji_sample *next = done->next;
        sample_free(pool, done, true);
        done = next;
    }
}

void cji_sample_end(cj_stream_pool *pool, cji_sample *m)
{
    CJI_NO_CANCEL;
    cji_kept before;
    cji_fail_save(&before);
    m->now = cji_enqueued(m->s);
    const bool good = sample_record(pool, m, SAMPLE_END, m->s);
    cji_fail_restore(&before);
    if (!good) {
        sample_free(pool, m, false);
        return;
    }
    m->s = NULL;
    cji_lock(&pool->lock, CJI_LOCK_STREAM_POOL);
    *pool->samples_end = m;
    pool->samples_end = &m->next;
    cji_unlock(&pool->lock, CJI_LOCK_STREAM_POOL);
    cji_sample_harvest(pool, false);
}

bool cji_sample_prepare(cj_stream_pool *pool, const char *call)
{
    pool->samples_end = &pool->samples;
    if (!pool->sample) return true;
    pool->events = cj_event_pool_create(pool->dev, NULL);
    pool->clock = cj_stream_create(pool->dev, NULL);
    if (!cji_obj_failed(pool->events) && !cji_obj_failed(pool->clock)) return true;
    cji_fail_from(pool, cji_obj_failed(pool->events) ? (void *)pool->events : (void *)pool->clock, call);
    return false;
}

void cji_sample_clear(cj_stream_pool *pool)
{
    const uint32_t leases = atomic_load(&pool->leases.made);
    for (uint32_t i = 0; i < leases; i++) { /* leases that were not released */
        cji_cell *cell = cji_cells_at(&pool->leases, i);
        cji_sample *m = cell->what ? (cji_sample *)(uintptr_t)cell->more[2] : NULL;
        if (m) sample_free(pool, m, false);
    }
    while (pool->samples) {
        cji_sample *m = pool->samples;
        pool->samples = m->next;
        sample_free(pool, m, false);
    }
    cj_event_pool_free(pool->events);
    cj_stream_free(pool->clock);
    pool->events = NULL;
    pool->clock = NULL;
}
