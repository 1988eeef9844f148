/* Totals by kind and name; busy time, overlap, utilisation and latencies. */
#include <stdlib.h>

#include "stream/profile/stream_profile.h"

/* -- Totals -------------------------------------------------------------------------------------------------------- */

static int total_order(const void *a, const void *b)
{
    const cj_profile_total *x = a, *y = b;
    if (x->ns != y->ns) return x->ns > y->ns ? -1 : 1;
    if (x->kind != y->kind) return x->kind < y->kind ? -1 : 1;
    return strcmp(x->name, y->name);
}

static void total_add(cj_profile_total *t, const cj_profile_record *r)
{
    const int64_t ns = r->end - r->start;
    if (!t->count || ns < t->least_ns) t->least_ns = ns;
    if (ns > t->most_ns) t->most_ns = ns;
    t->name = r->name;
    t->kind = r->kind;
    t->count++;
    t->ns += ns;
    t->bytes += r->bytes;
}

cj_profile_total *cji_profile_sum(const cji_snap *snap, size_t *count, bool *ok)
{
    cj_profile_total *total = NULL;
    cji_map map = { .n = 0 };
    size_t n = 0, cap = 0;
    *ok = true;
    for (size_t i = 0; i < snap->count && *ok; i++) {
        const cj_profile_record *r = &snap->record[i];
        if (r->kind == CJ_PROFILE_MEMORY) continue;
        const uint64_t key[2] = { (uint64_t)r->kind, (uint64_t)(uintptr_t)r->name };
        const uint32_t at = cji_map_intern(&map, (const char *)key, sizeof key);
        *ok = at != CJI_MAP_NONE && cji_grow(&total, &cap, (size_t)at + 1, sizeof *total);
        if (!*ok) break;
        if (at == n) total[n++] = (cj_profile_total){ .count = 0 };
        total_add(&total[at], r);
    }
    cji_map_free(&map);
    if (*ok && n) { /* as large as its caller frees it */
        qsort(total, n, sizeof *total, total_order);
        cj_profile_total *fit = cji_alloc(n * sizeof *fit);
        if (fit) memcpy(fit, total, n * sizeof *fit);
        *ok = fit != NULL;
        *count = fit ? n : 0;
        cji_free(total, cap * sizeof *total);
        return fit;
    }
    cji_free(total, cap * sizeof *total);
    *count = 0;
    return NULL;
}

size_t cj_profile_totals(cj_profile *p, cj_stream *s, cj_profile_total *out, size_t max)
{
    static const char call[] = "cj_profile_totals";
    cji_snap snap;
    size_t n;
    bool ok;
    if (cji_check(p, CJI_TAG_PROFILE, call) != CJ_OK) return 0;
    if (!out && max) return cji_fail(p, CJ_EINVAL, call, "room for %zu totals at NULL", max), 0;
    if (cji_snap_take(p, s, &snap, call) != CJ_OK) return 0;
    cj_profile_total *total = cji_profile_sum(&snap, &n, &ok);
    if (!ok) cji_fail(p, CJ_ENOMEM, call, "no memory for the totals");
    for (size_t i = 0; i < n && i < max && total; i++) out[i] = total[i];
    const size_t all = ok ? n : 0;
    cji_free(total, n * sizeof *total);
    cji_snap_free(&snap);
    return all;
}

/* -- Activity of the streams of a device --------------------------------------------------------------------------- */

typedef struct sums_edge {
    int64_t at;
    uint32_t clock;
    int8_t change;
    bool copy;
} sums_edge;

/* By device and time; an end comes before a start of the same time. */
static int edge_order(const void *a, const void *b)
{
    const sums_edge *x = a, *y = b;
    if (x->clock != y->clock) return x->clock < y->clock ? -1 : 1;
    if (x->at != y->at) return x->at < y->at ? -1 : 1;
    return (x->change > y->change) - (x->change < y->change);
}

static bool sums_is_copy(int32_t kind)
{
    return kind == CJ_PROFILE_COPY_TO_DEVICE || kind == CJ_PROFILE_COPY_TO_HOST || kind == CJ_PROFILE_COPY ||
           kind == CJ_PROFILE_PREFETCH;
}

static bool sums_is_compute(int32_t kind) { return kind == CJ_PROFILE_KERNEL || kind == CJ_PROFILE_GRAPH; }

/* Time in which streams worked, by how many there were at a time. */
static void sums_sweep(const sums_edge *edge, size_t n, cj_profile_summary *sum)
{
    int busy = 0, copies = 0, computes = 0;
    for (size_t i = 0; i < n; i++) {
        if (i && edge[i].clock == edge[i - 1].clock) {
            const int64_t ns = edge[i].at - edge[i - 1].at;
            if (busy > 0) sum->active_ns += ns;
            if (busy > 1) sum->overlap_ns += ns;
            if (copies > 0 && computes > 0) sum->copy_overlap_ns += ns;
        } else {
            busy = copies = computes = 0;
        }
        const int change = edge[i].change < 0 ? -1 : 1;
        busy += change;
        if (edge[i].copy) copies += change;
        else if (edge[i].change == 2 || edge[i].change == -2) computes += change;
    }
}

static int latency_order(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static void sums_latencies(int64_t *latency, size_t n, cj_profile_summary *sum)
{
    double all = 0;
    if (!n) return;
    qsort(latency, n, sizeof *latency, latency_order);
    for (size_t i = 0; i < n; i++) all += (double)latency[i];
    sum->latency_mean_ns = (int64_t)(all / (double)n);
    sum->latency_p50_ns = latency[(n - 1) * 50 / 100];
    sum->latency_p90_ns = latency[(n - 1) * 90 / 100];
    sum->latency_p99_ns = latency[(n - 1) * 99 / 100];
}

/* What needs no order. */
static void sums_add(const cji_snap *snap, cj_profile_summary *sum, sums_edge *edge, size_t *edges, int64_t *latency,
                     size_t *latencies)
{
    for (size_t i = 0; i < snap->count; i++) {
        const cj_profile_record *r = &snap->record[i];
        if (r->kind == CJ_PROFILE_MEMORY) {
            sum->memory_samples++;
            if (r->bytes > sum->memory_most) sum->memory_most = r->bytes;
        }
        if (!cji_is_operation(r)) continue;
        sum->operations++;
        if (r->kind == CJ_PROFILE_WAIT) sum->wait_ns += r->end - r->start;
        if (!cji_is_busy(r)) continue;
        sum->busy_ns += r->end - r->start;
        latency[(*latencies)++] = r->end - r->submit;
        const int8_t step = sums_is_compute(r->kind) ? 2 : 1;
        const uint32_t clock = snap->lanes[snap->lane[i]].clock;
        edge[(*edges)++] = (sums_edge){ r->start, clock, step, sums_is_copy(r->kind) };
        edge[(*edges)++] = (sums_edge){ r->end, clock, (int8_t)-step, sums_is_copy(r->kind) };
    }
}

/* Streams and devices with operations or ranges, and the time from the first start to the last end. */
static bool sums_extent(const cji_snap *snap, cj_profile_summary *sum)
{
    bool *lane = cji_zalloc((snap->nlanes + snap->nclocks + 1) * sizeof *lane), *clock = lane + snap->nlanes;
    int64_t first = INT64_MAX, last = INT64_MIN;
    if (!lane) return false;
    for (size_t i = 0; i < snap->count; i++) {
        const cj_profile_record *r = &snap->record[i];
        if (r->kind == CJ_PROFILE_MEMORY) continue;
        if (r->start < first) first = r->start;
        if (r->end > last) last = r->end;
        lane[snap->lane[i]] = true;
        clock[snap->lanes[snap->lane[i]].clock] = true;
    }
    for (size_t i = 0; i < snap->nlanes; i++) sum->streams += lane[i];
    for (size_t i = 0; i < snap->nclocks; i++) sum->devices += clock[i];
    sum->span_ns = last > first ? last - first : 0;
    cji_free(lane, (snap->nlanes + snap->nclocks + 1) * sizeof *lane);
    return true;
}

bool cji_profile_summarize(const cji_snap *snap, cj_profile_summary *sum)
{
    const size_t room = snap->count ? snap->count : 1;
    size_t edges = 0, latencies = 0, path;
    bool ok = false;
    sums_edge *edge = cji_alloc(2 * room * sizeof *edge);
    int64_t *latency = cji_alloc(room * sizeof *latency);
    sum->records = snap->count;
    sum->lost = snap->lost;
    if (edge && latency && sums_extent(snap, sum)) {
        sums_add(snap, sum, edge, &edges, latency, &latencies);
        qsort(edge, edges, sizeof *edge, edge_order);
        sums_sweep(edge, edges, sum);
        sums_latencies(latency, latencies, sum);
        if (sum->span_ns && sum->devices)
            sum->utilisation = (double)sum->active_ns / (double)sum->span_ns / (double)sum->devices;
        size_t *way = cji_profile_critical(snap, &path, &sum->path_ns, &ok);
        cji_free(way, path * sizeof *way);
    }
    cji_free(edge, 2 * room * sizeof *edge);
    cji_free(latency, room * sizeof *latency);
    return ok;
}

void cj_profile_summary_defaults(cj_profile_summary *summary)
{
    if (summary) *summary = (cj_profile_summary){ .size = sizeof *summary };
}

cj_status cj_profile_get_summary(cj_profile *p, cj_stream *s, cj_profile_summary *summary)
{
    static const char call[] = "cj_profile_get_summary";
    cji_snap snap;
    cj_status st = cji_check(p, CJI_TAG_PROFILE, call);
    if (st != CJ_OK) return st;
    if (s) st = cji_check_arg(p, s, CJI_TAG_STREAM, call, "the stream");
    if (st != CJ_OK) return st;
    if (!summary || summary->size < sizeof summary->size)
        return cji_fail(p, CJ_EINVAL, call, "summary is NULL, or summary->size is not sizeof(cj_profile_summary)");
    st = cji_snap_take(p, s, &snap, call);
    if (st != CJ_OK) return st;
    cj_profile_summary now = { .size = summary->size };
    if (!cji_profile_summarize(&snap, &now)) st = cji_fail(p, CJ_ENOMEM, call, "no memory for the sums");
    else memcpy(summary, &now, summary->size < sizeof now ? summary->size : sizeof now);
    cji_snap_free(&snap);
    return st;
}
