/* Timing events are read after the work. */
#include <stdlib.h>

#include "stream/profile/stream_profile.h"

enum {
    HARVEST_ANCHOR_MS = 2000, /* the driver's time has 24 bits: 0.12 us of 2 s */
    HARVEST_AHEAD_NS = 20000  /* so long before its turn work was enqueued that did not wait for the host */
};

/* The recorder's time of the start, and how long it took; false: the driver fails. */
static bool harvest_times(cji_recorder *r, const cji_pending *p, int64_t *start, int64_t *ns)
{
    float at = 0, took = 0;
    if (r->anchor && r->cu->cuEventElapsedTime(&at, r->anchor, p->start) != CUDA_SUCCESS) return false;
    if (r->cu->cuEventElapsedTime(&took, p->start, p->end) != CUDA_SUCCESS) return false;
    *start = r->anchor_ns + (int64_t)((double)at * 1e6 + (at < 0 ? -0.5 : 0.5));
    *ns = took > 0 ? (int64_t)((double)took * 1e6 + 0.5) : 0;
    return true;
}

/* The first start that was read, and later one that is far behind the last, is what starts are measured from.  It is
 * not used again; the one before is. */
static void harvest_anchor(cji_recorder *r, cji_pending *p, int64_t start)
{
    if (r->anchor && start - r->anchor_ns < HARVEST_ANCHOR_MS * INT64_C(1000000)) return;
    CUevent old = r->anchor;
    r->anchor = p->start;
    r->anchor_ns = start;
    p->start = old;
}

/* Counts it for the stream. */
static void harvest_count(cji_track *t, const cji_pending *p, int64_t start, int64_t end)
{
    cji_timing *timing = &t->timing;
    if (p->kind == CJ_PROFILE_RANGE || p->inside_mark) return;
    atomic_fetch_add(&timing->operations, 1);
    atomic_fetch_add(p->kind == CJ_PROFILE_WAIT ? &timing->wait_ns : &timing->busy_ns, (uint64_t)(end - start));
    if (p->kind == CJ_PROFILE_WAIT) return;
    const int64_t latency = end + t->recorder->offset - (int64_t)p->submit;
    cji_timing_latency(timing, latency > 0 ? (uint64_t)latency : 0);
}

/* Hands it to the profiles that were on. */
static void harvest_deliver(cji_track *t, const cji_pending *p, int64_t start, int64_t end)
{
    const cji_profile_entry e = { .name = p->name,
                                  .bytes = p->bytes,
                                  .from = p->from,
                                  .submit = p->submit,
                                  .start = start,
                                  .end = end,
                                  .depth = p->depth,
                                  .kind = (uint8_t)p->kind,
                                  .inside_mark = p->inside_mark };
    for (cj_profile *to = cji_process.profiles.all; to; to = to->next)
        for (unsigned i = 0; i < CJI_WORK_SINKS; i++)
            if (p->sink[i] == to->turn) cji_profile_keep(to, t->recorder, t->stream, t->priority, &e);
}

static int harvest_gap_order(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* What two events cost: the time from the end of an operation to the start of the next one, which the stream had in its
 * queue already, so that nothing but the two events lay between.  The least of the medians of eight such times, as one
 * alone may be a tick of the clock too short. */
static void harvest_gap(cji_track *t, const cji_pending *p, int64_t start, int64_t end)
{
    cji_recorder *r = t->recorder;
    const int64_t gap = start - t->read_end;
    const bool queued = t->has_read && (int64_t)p->submit + HARVEST_AHEAD_NS <= t->read_end + r->offset;
    t->has_read = true;
    t->read_end = end;
    if (!queued || gap < 0) return; /* a mark begins before the work in it */
    r->gap[r->gaps++] = gap;
    if (r->gaps < CJI_RECORDER_GAPS) return;
    r->gaps = 0;
    qsort(r->gap, CJI_RECORDER_GAPS, sizeof *r->gap, harvest_gap_order);
    const int64_t median = r->gap[CJI_RECORDER_GAPS / 2 - 1];
    if (!r->event_ns || median < r->event_ns) r->event_ns = median;
}

static void harvest_read(cji_track *t, cji_pending *p)
{
    cji_recorder *r = t->recorder;
    int64_t start, ns;
    if (!harvest_times(r, p, &start, &ns)) {
        cji_profiles_lose();
        return;
    }
    harvest_anchor(r, p, start);
    if ((int64_t)p->submit - start > r->offset) r->offset = (int64_t)p->submit - start;
    int64_t end = start + ns;
    if (p->kind != CJ_PROFILE_RANGE) {
        harvest_gap(t, p, start, end);
        const int64_t added = p->kind == CJ_PROFILE_KERNEL && r->launch_ns > r->event_ns ? r->launch_ns : r->event_ns;
        start += added < ns ? added : ns;
    }
    if (p->kind != CJ_PROFILE_RANGE && !p->inside_mark) { /* one after the other: the clock ticks every half us */
        if (start < t->last_end) start = t->last_end;
        if (end < start) end = start;
        t->last_end = end;
    }
    harvest_count(t, p, start, end);
    harvest_deliver(t, p, start, end);
}

size_t cji_track_harvest(cji_track *t, size_t max)
{
    cji_recorder *r = t->recorder;
    size_t n = 0;
    for (cji_pending *p; n < max && (p = t->first); n++) {
        const CUresult reached = r->cu->cuEventQuery(p->end);
        if (reached == CUDA_ERROR_NOT_READY) break;
        if (reached == CUDA_SUCCESS) harvest_read(t, p);
        else cji_profiles_lose(); /* the device has failed */
        t->first = p->next;
        if (!t->first) t->last = &t->first;
        t->count--;
        cji_recorder_give(r, p->start, p->end);
        cji_free(p, sizeof *p);
    }
    return n;
}

/* A track whose stream is gone, and that has nothing left. */
static bool track_is_over(const cji_track *t) { return atomic_load(&t->timing.refs) == 1 && !t->first && !t->open; }

static void recorder_harvest(cji_recorder *r)
{
    cji_scope scope;
    if (cji_scope_enter(&scope, r->cu, r->queue->ctx) == CUDA_SUCCESS) {
        cji_launches_read(r);
        for (cji_track **at = &r->tracks, *t; (t = *at);) {
            cji_track_harvest(t, SIZE_MAX);
            if (track_is_over(t)) {
                *at = t->next;
                cji_timing_drop(&t->timing);
            } else {
                at = &t->next;
            }
        }
    }
    cji_scope_leave(&scope);
}

void cji_harvest_all(void)
{
    for (cji_recorder *r = cji_recorders(); r; r = r->next) recorder_harvest(r);
}

size_t cji_harvest_pending(const cji_recorder *of)
{
    size_t n = 0;
    for (const cji_recorder *r = cji_recorders(); r; r = r->next)
        for (const cji_track *t = r->tracks; t && (!of || of == r); t = t->next) n += t->count;
    return n;
}
