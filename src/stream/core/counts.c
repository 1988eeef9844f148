/* What a stream has been given: its counters, read. */
#include <string.h>

#include "stream/core/work_hooks.h"

void cj_stream_counts_defaults(cj_stream_counts *counts)
{
    if (counts) *counts = (cj_stream_counts){ .size = sizeof *counts };
}

/* What profiles have measured, and read so far. */
static void counts_measured(cj_stream *s, cj_stream_counts *now)
{
    const cji_timing *t = atomic_load(&s->timing);
    if (!t) return;
    const uint64_t latencies = atomic_load(&t->latencies);
    now->measured = atomic_load(&t->operations);
    now->busy_ns = atomic_load(&t->busy_ns);
    now->wait_ns = atomic_load(&t->wait_ns);
    now->latency_mean_ns = latencies ? atomic_load(&t->latency_ns) / latencies : 0;
    now->latency_p50_ns = cji_timing_percentile(t, 50);
    now->latency_p90_ns = cji_timing_percentile(t, 90);
    now->latency_p99_ns = cji_timing_percentile(t, 99);
}

cj_status cj_stream_get_counts(cj_stream *s, cj_stream_counts *counts)
{
    static const char call[] = "cj_stream_get_counts";
    cj_status st = cji_check_read(s, CJI_TAG_STREAM, call);
    if (st != CJ_OK) return st;
    if (!counts || counts->size < sizeof counts->size)
        return cji_fail(s, CJ_EINVAL, call, "counts is NULL, or counts->size is not sizeof(cj_stream_counts)");
    const uint64_t rejected = atomic_load(&s->counts.rejected), unlaunched = atomic_load(&s->counts.unlaunched),
                   launches = atomic_load(&s->counts.own_launches) + atomic_load(&s->counts.launches) - unlaunched,
                   others = atomic_load(&s->counts.others);
    cj_stream_counts now = {
        .size = counts->size,
        .operations = launches + others - rejected,
        .launches = launches,
        .bytes_to_device = atomic_load(&s->counts.to_device),
        .bytes_to_host = atomic_load(&s->counts.to_host),
        .bytes_on_device = atomic_load(&s->counts.on_device),
        .bytes_held = atomic_load(&s->slot->held),
        .bytes_held_most = atomic_load(&s->slot->held_most),
        .copies_to_device = atomic_load(&s->counts.copies_to_device),
        .copies_to_host = atomic_load(&s->counts.copies_to_host),
        .copies_on_device = atomic_load(&s->counts.copies_on_device),
        .fills = atomic_load(&s->counts.fills),
        .waits = atomic_load(&s->counts.waits),
    };
    counts_measured(s, &now);
    memcpy(counts, &now, counts->size < sizeof now ? counts->size : sizeof now);
    return CJ_OK;
}
