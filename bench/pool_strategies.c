/* The strategies of stream pools, alternately in one process over four workloads, and what cj_stream_pool_optimize
 * picks from the times that the pool has measured meanwhile.  Then how two kernels of half a device run on two streams,
 * and how soon a kernel of high priority starts under work of low priority. */
#include <stdio.h>
#include <string.h>

#include "bench/pool_bench.h"

enum { REPEATS_GPU = 9, REPEATS_SIM = 1, STREAMS = 8, COPY_BYTES = 1 << 20, WORKERS = 8, TIMES = 5 };

typedef struct workload {
    pool_bench *b;
    cj_stream_pool *pool;
    cj_kernel *spin;
    cj_dptr d[WORKERS];
    void *host[WORKERS]; /* pinned */
    cj_event_pool *events;
    unsigned scale;      /* smaller numbers on the CPU device, which runs a kernel at a time */
} workload;

/* One kernel of `us` microseconds on a lease; its stream, which the caller may name as a dependency. */
static cj_stream *one_kernel(workload *w, const cj_stream_request *how, uint32_t blocks, uint32_t us, cj_stream *wait)
{
    const cj_pooled_stream lease = cj_stream_pool_acquire(w->pool, how);
    cj_stream *s = cj_stream_pool_stream(w->pool, lease);
    if (!lease) {
        pool_need_object(w->b, w->pool);
        return NULL;
    }
    if (wait && wait != s) pool_need(w->b, cj_stream_join(s, wait));
    pool_need(w->b, cj_launch(s, w->spin, cj_grid(blocks, 32), us * 1000));
    pool_need(w->b, cj_stream_pool_release(w->pool, lease));
    return s;
}

/* -- The workloads: each returns its time in milliseconds ---------------------------------------------------------- */

static double many_kernels(workload *w)
{
    const double t0 = pool_now_ns();
    for (unsigned i = 0; i < 1000 / w->scale; i++) one_kernel(w, NULL, 1, 20, NULL);
    pool_need(w->b, cj_stream_pool_sync(w->pool));
    return (pool_now_ns() - t0) / 1e6;
}

static void worker(void *user, unsigned i)
{
    workload *w = user;
    for (unsigned r = 0; r < 64 / w->scale; r++) {
        one_kernel(w, NULL, 1, 64, NULL);
        const cj_pooled_stream lease = cj_stream_pool_acquire(w->pool, CJ_STREAM_REQUEST(.work = CJ_WORK_MEMORY));
        pool_need(w->b, cj_copy_to_device(cj_stream_pool_stream(w->pool, lease), w->d[i], w->host[i], COPY_BYTES));
        pool_need(w->b, cj_stream_pool_release(w->pool, lease));
    }
}

static double threads_and_copies(workload *w)
{
    const double t0 = pool_now_ns();
    pool_threads(WORKERS, worker, w);
    pool_need(w->b, cj_stream_pool_sync(w->pool));
    return (pool_now_ns() - t0) / 1e6;
}

/* 50 levels: two kernels after one, one after both. */
static double diamond(workload *w)
{
    const double t0 = pool_now_ns();
    cj_stream *top = one_kernel(w, NULL, 1, 20, NULL);
    for (unsigned level = 0; level < 50 / w->scale && !w->b->failed; level++) {
        cj_stream *left = one_kernel(w, CJ_STREAM_REQUEST(.after = top), 1, 20, top);
        cj_stream *right = one_kernel(w, CJ_STREAM_REQUEST(.after = top), 1, 20, top);
        if (!left || !right) break;
        const cj_pooled_stream lease = cj_stream_pool_acquire(w->pool, CJ_STREAM_REQUEST(.after = left));
        cj_stream *s = cj_stream_pool_stream(w->pool, lease);
        if (s != left) pool_need(w->b, cj_stream_join(s, left));
        if (s != right) pool_need(w->b, cj_stream_join(s, right));
        pool_need(w->b, cj_launch(s, w->spin, cj_grid(1, 32), 20000u));
        pool_need(w->b, cj_stream_pool_release(w->pool, lease));
        top = s;
    }
    pool_need(w->b, cj_stream_pool_sync(w->pool));
    return (pool_now_ns() - t0) / 1e6;
}

/* The mean time of a burst of high priority, while low work runs. */
static double bursts(workload *w)
{
    double sum = 0;
    const unsigned rounds = 16 / w->scale ? 16 / w->scale : 1;
    for (unsigned r = 0; r < rounds; r++) {
        for (int i = 0; i < 8; i++)
            one_kernel(w, CJ_STREAM_REQUEST(.priority = CJ_PRIORITY_LOW), 2000 / w->scale, 10, NULL);
        const double t0 = pool_now_ns();
        for (int i = 0; i < 8; i++) one_kernel(w, CJ_STREAM_REQUEST(.priority = CJ_PRIORITY_HIGH), 1, 20, NULL);
        pool_need(w->b, cj_stream_pool_sync_priority(w->pool, CJ_PRIORITY_HIGH));
        sum += pool_now_ns() - t0;
    }
    pool_need(w->b, cj_stream_pool_sync(w->pool));
    return sum / rounds / 1e6;
}

static const struct { const char *name; double (*run)(workload *w); } workloads[] = {
    { "kernels", many_kernels },
    { "threads", threads_and_copies },
    { "diamond", diamond },
    { "bursts", bursts },
};
static const char *const strategy_name[] = { "round_robin", "least_loaded", "priority", "workload", "dependency" };

static void judge_workload(workload *w, size_t which)
{
    double ms[CJ_POOL_STRATEGIES][REPEATS_GPU], median[CJ_POOL_STRATEGIES], best = 0;
    const int repeats = w->b->gpu ? REPEATS_GPU : REPEATS_SIM;
    cj_pool_strategy chosen = CJ_POOL_ROUND_ROBIN;
    char metric[100];
    w->pool = cj_stream_pool_create(w->b->dev, CJ_STREAM_POOL(.streams = STREAMS, .high = 2, .low = 4, .sample = 4));
    pool_need_object(w->b, w->pool);
    for (int r = -1; r < repeats && !w->b->failed; r++)
        for (int k = 0; k < CJ_POOL_STRATEGIES; k++) {
            cj_stream_pool_set_strategy(w->pool, (cj_pool_strategy)k);
            const double took = workloads[which].run(w);
            if (r >= 0) ms[k][r] = took;
        }
    for (int k = 0; k < CJ_POOL_STRATEGIES && !w->b->failed; k++) {
        cj_pool_strategy_stats stats;
        cj_pool_strategy_stats_defaults(&stats);
        cj_stream_pool_get_strategy_stats(w->pool, (cj_pool_strategy)k, &stats);
        median[k] = bench_median(ms[k], (size_t)repeats);
        if (best == 0 || median[k] < best) best = median[k];
        snprintf(metric, sizeof metric, "strategy.%s.%s_ms", workloads[which].name, strategy_name[k]);
        pool_report(w->b, metric, median[k], "ms");
        snprintf(metric, sizeof metric, "strategy.%s.%s_lease_ms", workloads[which].name, strategy_name[k]);
        pool_report(w->b, metric, stats.measured_ms, "ms");
        snprintf(metric, sizeof metric, "strategy.%s.%s_busy_ms", workloads[which].name, strategy_name[k]);
        pool_report(w->b, metric, stats.busy_ms, "ms");
    }
    pool_need(w->b, cj_stream_pool_optimize(w->pool, &chosen));
    cj_stream_pool_free(w->pool);
    if (w->b->failed) return;
    printf("strategy.%s.picked %s\n", workloads[which].name, strategy_name[chosen]);
    snprintf(metric, sizeof metric, "strategy.%s.picked_ratio", workloads[which].name);
    pool_report(w->b, metric, median[chosen] / best, "ratio");
}

void pool_strategies(pool_bench *b)
{
    workload w = { .b = b, .spin = pool_spin_kernel(b), .scale = b->gpu ? 1 : 25 };
    cj_stream *s = cj_stream_create(b->dev, NULL);
    for (int i = 0; i < WORKERS && !b->failed; i++) {
        w.d[i] = cj_alloc(s, COPY_BYTES);
        w.host[i] = cj_host_alloc(b->dev, COPY_BYTES, NULL);
        if (!w.d[i].addr || !w.host[i]) pool_need(b, cj_error_last()->status);
        else memset(w.host[i], 0, COPY_BYTES);
    }
    pool_need(b, cj_stream_sync(s));
    for (size_t i = 0; i < sizeof workloads / sizeof *workloads && !b->failed; i++) judge_workload(&w, i);
    for (int i = 0; i < WORKERS; i++) {
        if (w.d[i].addr) cj_free(b->dev, w.d[i]);
        if (w.host[i]) cj_host_free(b->dev, w.host[i]);
    }
    cj_stream_free(s);
    cj_kernel_free(w.spin);
}

/* -- Kernels side by side ------------------------------------------------------------------------------------------ */

/* Two kernels of half the device each, on two streams, against one of them alone. */
static double side_by_side(pool_bench *b, cj_kernel *spin, uint32_t blocks, int streams)
{
    double ms[TIMES];
    cj_stream *s[2] = { cj_stream_create(b->dev, NULL), cj_stream_create(b->dev, NULL) };
    for (int r = -1; r < TIMES && !b->failed; r++) {
        const double t0 = pool_now_ns();
        for (int i = 0; i < streams; i++) pool_need(b, cj_launch(s[i], spin, cj_grid(blocks, 1024), 2000000u));
        for (int i = 0; i < streams; i++) pool_need(b, cj_stream_sync(s[i]));
        if (r >= 0) ms[r] = (pool_now_ns() - t0) / 1e6;
    }
    cj_stream_free(s[0]);
    cj_stream_free(s[1]);
    return bench_median(ms, TIMES);
}

/* From the request until a small kernel is complete, in microseconds, while low work fills the device. */
static double start_latency(pool_bench *b, cj_kernel *spin, uint32_t blocks, int32_t priority)
{
    double us[TIMES];
    cj_stream *low = cj_stream_create(b->dev, CJ_STREAM(.priority = CJ_PRIORITY_LOW)),
              *s = cj_stream_create(b->dev, CJ_STREAM(.priority = priority)), *clock = cj_stream_create(b->dev, NULL);
    cj_event *asked = cj_event_create(b->dev, CJ_EVENT(.timing = 1)),
             *end = cj_event_create(b->dev, CJ_EVENT(.timing = 1));
    for (int r = -1; r < TIMES && !b->failed; r++) {
        float ms = 0;
        for (int i = 0; i < 20; i++) pool_need(b, cj_launch(low, spin, cj_grid(blocks, 1024), 50000u));
        const double begun = pool_now_ns();
        while (pool_now_ns() - begun < 2e5) {} /* the low work runs */
        pool_need(b, cj_event_record(asked, clock));
        pool_need(b, cj_launch(s, spin, cj_grid(1, 32), 1000u));
        pool_need(b, cj_event_record(end, s));
        pool_need(b, cj_stream_sync(s));
        pool_need(b, cj_event_sync(asked));
        pool_need(b, cj_event_elapsed(asked, end, &ms));
        pool_need(b, cj_stream_sync(low));
        if (r >= 0) us[r] = (double)ms * 1e3;
    }
    cj_event_free(asked);
    cj_event_free(end);
    cj_stream_free(low);
    cj_stream_free(s);
    cj_stream_free(clock);
    return bench_median(us, TIMES);
}

void pool_concurrency(pool_bench *b)
{
    cj_device_info info;
    cj_device_info_defaults(&info);
    pool_need(b, cj_device_get_info(b->dev, &info));
    cj_kernel *spin = pool_spin_kernel(b);
    const uint32_t half = info.multiprocessors > 1 ? (uint32_t)info.multiprocessors / 2 : 1;
    if (!b->failed && b->gpu) {
        const double one = side_by_side(b, spin, half, 1), both = side_by_side(b, spin, half, 2);
        pool_report(b, "concurrent.one_ms", one, "ms");
        pool_report(b, "concurrent.both_ms", both, "ms");
        pool_report(b, "concurrent.ratio", both / one, "ratio");
        pool_report(b, "priority.high_start_us", start_latency(b, spin, half * 32, CJ_PRIORITY_HIGH), "us");
        pool_report(b, "priority.low_start_us", start_latency(b, spin, half * 32, CJ_PRIORITY_LOW), "us");
    }
    cj_kernel_free(spin);
}
