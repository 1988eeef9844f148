/* Pools of events and of streams. */
#include "tests/whole/work.h"

enum { N = 64 };
static cj_device *dev;
static cj_dptr d;
static uint64_t sum;

static void events(cj_event_pool *pool, cj_stream *s)
{
    cj_event_pool_stats stats;
    uint32_t freed;
    cj_pooled_event a = cj_event_pool_acquire(pool, CJ_EVENT_TIMING), b = cj_event_pool_acquire(pool, CJ_EVENT_TIMING);
    if (!a || !b) work_made(pool);
    if (a && b) {
        cj_event *from = cj_event_pool_event(pool, a), *to = cj_event_pool_event(pool, b);
        float ms = 0;
        work_did(cj_event_pool_retain(pool, a));
        work_did(cj_event_record(from, s));
        work_did(cj_fill32(s, d, 3, N));
        work_did(cj_event_record(to, s));
        if (work_waited(s) && work_did(cj_event_elapsed(from, to, &ms))) sum += ms >= 0;
        work_did(cj_event_pool_release(pool, a));
    }
    if (a) work_did(cj_event_pool_release(pool, a));
    if (b) work_did(cj_event_pool_release(pool, b));
    cj_event_pool_stats_defaults(&stats);
    if (work_did(cj_event_pool_get_stats(pool, &stats))) sum += stats.acquired + stats.in_use;
    work_did(cj_event_pool_trim(pool, &freed));
    sum += cj_event_pool_device(pool) == dev;
}

static void leases(cj_stream_pool *pool)
{
    cj_stream_pool_stats stats;
    cj_stream_request how;
    uint32_t sharers = 0, freed;
    size_t which = 9;
    cj_stream_request_defaults(&how);
    how.work = CJ_WORK_MEMORY;
    cj_pooled_stream a = cj_stream_pool_acquire(pool, &how),
                     b = cj_stream_pool_acquire_exclusive(pool, CJ_STREAM_REQUEST(.priority = CJ_PRIORITY_HIGH));
    if (!a || !b) work_made(pool);
    if (a && b) {
        const cj_pooled_stream both[] = { a, b };
        cj_stream *s = cj_stream_pool_stream(pool, a), *t = cj_stream_pool_stream(pool, b);
        work_did(cj_stream_fork(s, t));
        work_did(cj_fill32(t, d, 5, N));
        work_did(cj_stream_join(s, t));
        if (work_did(cj_stream_pool_sharers(pool, a, &sharers))) sum += sharers;
        if (work_did(cj_stream_pool_wait_any(pool, both, 2, 5000, &which))) sum += which < 2;
        work_did(cj_stream_pool_sync_priority(pool, CJ_PRIORITY_HIGH));
        work_did(cj_stream_pool_sync(pool));
        work_did(cj_stream_pool_sync(pool)); /* what a failed fork left in the other stream */
        if (work_did(cj_stream_pool_has_ready(pool))) sum += 1;
    }
    if (a) work_did(cj_stream_pool_release(pool, a));
    if (b) work_did(cj_stream_pool_release(pool, b));
    cj_pool_work_stats of_work;
    cj_pool_strategy_stats of_strategy;
    cj_pool_strategy best = CJ_POOL_ROUND_ROBIN;
    cj_pool_work_stats_defaults(&of_work);
    cj_pool_strategy_stats_defaults(&of_strategy);
    work_did(cj_stream_pool_report(pool, CJ_WORK_MIXED, 1));
    if (work_did(cj_stream_pool_get_work_stats(pool, CJ_WORK_MIXED, &of_work))) sum += of_work.reported;
    if (work_did(cj_stream_pool_get_strategy_stats(pool, CJ_POOL_ROUND_ROBIN, &of_strategy)))
        sum += of_strategy.acquired;
    work_did(cj_stream_pool_set_strategy(pool, CJ_POOL_WORKLOAD));
    if (work_did(cj_stream_pool_optimize(pool, &best))) sum += best;
    cj_stream_pool_stats_defaults(&stats);
    if (work_did(cj_stream_pool_get_stats(pool, &stats))) sum += stats.acquired + stats.leases;
    if (work_did(cj_stream_pool_trim(pool, &freed))) sum += freed;
    sum += cj_stream_pool_device(pool) == dev;
}

/* The pools that devices and threads have on request, and a kernel's kind of work. */
static void shared(void)
{
    cj_work work = CJ_WORK_COORDINATION;
    cj_event_pool *events = cj_event_pool_for_device(dev);
    cj_stream_pool *a = cj_stream_pool_for_device(dev), *b = cj_stream_pool_for_thread(dev);
    if (work_made(events) && work_made(a) && work_made(b)) sum += a != b;
    cj_ptx *m = bench_add_module();
    cj_kernel *k = cj_kernel_load(dev, m, "add", NULL);
    if (work_made(k) && work_did(cj_kernel_get_work(k, &work))) sum += work == CJ_WORK_MEMORY;
    cj_kernel_free(k);
    cj_ptx_free(m);
    cj_event_pool_free(events);
    cj_stream_pool_free(a);
    cj_stream_pool_free(b);
}

int main(void)
{
    cj_driver *drv = cj_driver_open(NULL);
    cj_event_pool_opts of_events;
    cj_stream_pool_opts of_streams;
    cj_event_pool_defaults(&of_events);
    cj_stream_pool_defaults(&of_streams);
    of_events.timing = 1;
    of_events.growth = of_streams.streams = 2;
    of_streams.sample = 1;
    dev = cj_device_open(drv, 0, NULL);
    cj_stream *s = cj_stream_create(dev, NULL);
    cj_event_pool *pool = cj_event_pool_create(dev, &of_events);
    cj_stream_pool *streams = cj_stream_pool_create(dev, &of_streams);
    d = cj_alloc(s, 4 * N);
    if (!d.addr) work_made(s);
    work_waited(s);
    if (d.addr && work_made(pool) && work_made(streams)) events(pool, s), leases(streams), shared();
    cj_event_pool_free(pool);
    cj_stream_pool_free(streams);
    work_did(cj_device_sync(dev));
    work_did(cj_free(dev, d));
    cj_stream_free(s);
    cj_device_collect(dev);
    cj_device_close(dev);
    cj_driver_close(drv);
    return work_end("pools", sum);
}
