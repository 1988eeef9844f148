/* The report as text: streams, names, ranges, memory, the critical path. */
#include "stream/profile/stream_profile.h"

enum { TEXT_NAMES = 40, TEXT_PATH = 20 };

static double text_us(int64_t ns) { return (double)ns / 1e3; }
static double text_percent(int64_t part, int64_t all) { return all > 0 ? 100.0 * (double)part / (double)all : 0; }

/* The records of one lane; the arrays stay those of the whole. */
static bool text_lane(const cji_snap *all, uint32_t lane, cji_snap *part)
{
    *part = *all;
    part->count = 0;
    part->lost = 0;
    part->record = cji_alloc((all->count + 1) * sizeof *part->record);
    part->lane = cji_alloc((all->count + 1) * sizeof *part->lane);
    for (size_t i = 0; i < all->count && part->record && part->lane; i++) {
        if (all->lane[i] != lane) continue;
        part->record[part->count] = all->record[i];
        part->lane[part->count++] = lane;
    }
    return part->record && part->lane;
}

static void text_streams(const cji_snap *snap, cji_text *out)
{
    cji_text_puts(out, "\ndevice   stream  operations     busy us   wait us   busy %  mean us   p50 us   p99 us\n");
    for (size_t lane = 0; lane < snap->nlanes; lane++) {
        cji_snap part;
        cj_profile_summary sum = { .size = sizeof sum };
        if (!snap->lanes[lane].stream) continue;
        if (!text_lane(snap, (uint32_t)lane, &part) || !cji_profile_summarize(&part, &sum)) out->failed = true;
        if (part.count)
            cji_text_printf(out, "%6d %8llu %11llu %11.1f %9.1f %8.1f %8.1f %8.1f %8.1f\n",
                            (int)snap->clocks[snap->lanes[lane].clock].device,
                            (unsigned long long)snap->lanes[lane].stream, (unsigned long long)sum.operations,
                            text_us(sum.busy_ns), text_us(sum.wait_ns), text_percent(sum.busy_ns, sum.span_ns),
                            text_us(sum.latency_mean_ns), text_us(sum.latency_p50_ns), text_us(sum.latency_p99_ns));
        cji_free(part.record, (snap->count + 1) * sizeof *part.record);
        cji_free(part.lane, (snap->count + 1) * sizeof *part.lane);
    }
}

static void text_totals(const cji_snap *snap, cji_text *out)
{
    size_t n;
    bool ok;
    cj_profile_total *total = cji_profile_sum(snap, &n, &ok);
    if (!ok) out->failed = true;
    for (int ranges = 0; ranges < 2; ranges++) {
        size_t shown = 0, all = 0;
        for (size_t i = 0; i < n; i++) all += (total[i].kind == CJ_PROFILE_RANGE) == ranges;
        if (!all) continue;
        cji_text_printf(out, "\n%-14s %9s %12s %10s %10s %10s %14s  name\n", ranges ? "ranges" : "operations", "count",
                        "total us", "mean us", "least us", "most us", "bytes");
        for (size_t i = 0; i < n && shown < TEXT_NAMES; i++) {
            const cj_profile_total *t = &total[i];
            if ((t->kind == CJ_PROFILE_RANGE) != ranges) continue;
            shown++;
            cji_text_printf(out, "%-14s %9llu %12.1f %10.2f %10.2f %10.2f %14llu  %s\n",
                            cji_profile_kind_names[t->kind], (unsigned long long)t->count, text_us(t->ns),
                            text_us(t->ns) / (double)t->count, text_us(t->least_ns), text_us(t->most_ns),
                            (unsigned long long)t->bytes, cji_short(t->name));
        }
        if (all > shown) cji_text_printf(out, "... and %zu more\n", all - shown);
    }
    cji_free(total, n * sizeof *total);
}

static void text_path(const cji_snap *snap, cji_text *out)
{
    size_t n;
    int64_t ns;
    bool ok;
    size_t *path = cji_profile_critical(snap, &n, &ns, &ok);
    if (!ok) out->failed = true;
    if (n) cji_text_printf(out, "\ncritical path: %zu operations, %.1f us\n", n, text_us(ns));
    for (size_t i = n > TEXT_PATH ? n - TEXT_PATH : 0; i < n; i++) {
        const cj_profile_record *r = &snap->record[path[i]];
        cji_text_printf(out, "%14.1f us  device %d stream %llu  %s\n", text_us(r->end - r->start), (int)r->device,
                        (unsigned long long)r->stream, cji_short(r->name));
    }
    cji_free(path, n * sizeof *path);
}

void cji_profile_write_text(const cji_snap *snap, cji_text *out)
{
    cj_profile_summary sum = { .size = sizeof sum };
    if (!cji_profile_summarize(snap, &sum)) out->failed = true;
    cji_text_printf(out, "%llu operations on %llu streams of %llu devices in %.1f us",
                    (unsigned long long)sum.operations, (unsigned long long)sum.streams,
                    (unsigned long long)sum.devices, text_us(sum.span_ns));
    if (sum.lost) cji_text_printf(out, "; %llu were lost", (unsigned long long)sum.lost);
    cji_text_printf(out,
                    "\nutilisation %.1f %%, two streams or more at a time %.1f %%, copies beside kernels %.1f %%\n",
                    100 * sum.utilisation, text_percent(sum.overlap_ns, sum.active_ns),
                    text_percent(sum.copy_overlap_ns, sum.active_ns));
    cji_text_printf(out, "latency mean %.1f us, p50 %.1f, p90 %.1f, p99 %.1f\n", text_us(sum.latency_mean_ns),
                    text_us(sum.latency_p50_ns), text_us(sum.latency_p90_ns), text_us(sum.latency_p99_ns));
    if (sum.memory_samples)
        cji_text_printf(out, "memory: %llu bytes at most, %llu samples\n", (unsigned long long)sum.memory_most,
                        (unsigned long long)sum.memory_samples);
    text_streams(snap, out);
    text_totals(snap, out);
    text_path(snap, out);
}
