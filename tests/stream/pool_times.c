/* A stream pool measures completion times, keeps reported ones apart, and picks its strategy from them by the rule of
 * cj_stream_pool_optimize; a kernel's instructions give its kind of work. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "stream/pool/stream_pool.h"
#include "tests/device_bench.h"

enum { N = 64 };

static cj_pool_work_stats work_of(cj_stream_pool *pool, cj_work work)
{
    cj_pool_work_stats now;
    cj_pool_work_stats_defaults(&now);
    tap_is_int(cj_stream_pool_get_work_stats(pool, work, &now), CJ_OK, "what was done for work %d", (int)work);
    return now;
}
static cj_pool_strategy_stats strategy_of(cj_stream_pool *pool, cj_pool_strategy strategy)
{
    cj_pool_strategy_stats now;
    cj_pool_strategy_stats_defaults(&now);
    tap_is_int(cj_stream_pool_get_strategy_stats(pool, strategy, &now), CJ_OK, "what strategy %d did", (int)strategy);
    return now;
}

static void run_leases(cj_stream_pool *pool, int count, const cj_stream_request *how)
{
    for (int i = 0; i < count; i++) {
        cj_pooled_stream l = cj_stream_pool_acquire(pool, how);
        cj_fill32(cj_stream_pool_stream(pool, l), d, 1, N);
        cj_stream_pool_release(pool, l);
    }
    cj_stream_pool_sync(pool);
}

static void measured(void)
{
    struct latch latch = LATCH_CLOSED;
    cj_stream_pool *pool = cj_stream_pool_create(dev, CJ_STREAM_POOL(.streams = 2, .sample = 3));
    cj_stream_pool *alternate = cj_stream_pool_create(dev, CJ_STREAM_POOL(.streams = 2, .sample = 2));
    run_leases(pool, 30, CJ_STREAM_REQUEST(.work = CJ_WORK_MEMORY));
    cj_pool_work_stats now = work_of(pool, CJ_WORK_MEMORY);
    tap_ok(now.acquired == 30 && now.measured == 10, "one lease of three is measured: %d of %d", (int)now.measured,
           (int)now.acquired);
    tap_ok(now.measured_ms >= 0 && now.operation_ms >= 0 && !now.reported, "... and nothing was reported");
    tap_is_uint(work_of(pool, CJ_WORK_COMPUTE).measured, 0, "other work was not done");
    cj_pool_strategy_stats how = strategy_of(pool, CJ_POOL_ROUND_ROBIN);
    tap_ok(how.acquired == 30 && how.measured == 10, "the strategy has the same times");
    tap_ok(how.looked >= 1 && how.idle >= 1 && how.effectiveness > 0 && how.effectiveness <= 1,
           "and its effectiveness: %g", how.effectiveness);
    for (int i = 0; i < 30; i++) { /* two kinds in turn, each second lease measured */
        run_leases(alternate, 1, CJ_STREAM_REQUEST(.work = CJ_WORK_MEMORY));
        run_leases(alternate, 1, CJ_STREAM_REQUEST(.work = CJ_WORK_COMPUTE));
    }
    const uint64_t memory = work_of(alternate, CJ_WORK_MEMORY).measured;
    const uint64_t compute = work_of(alternate, CJ_WORK_COMPUTE).measured;
    tap_ok(memory + compute == 30 && memory && compute, "requests that alternate are measured of both kinds: %d and %d",
           (int)memory, (int)compute);
    cj_stream_pool_free(alternate);
    cj_stream_pool_free(pool);
    pool = cj_stream_pool_create(dev, CJ_STREAM_POOL(.streams = 2, .sample = 1));
    cj_pooled_stream l = cj_stream_pool_acquire(pool, NULL);
    bench_hold(cj_stream_pool_stream(pool, l), &latch);
    cj_stream_pool_release(pool, l);
    tap_is_uint(work_of(pool, CJ_WORK_COMPUTE).measured, 0, "a lease is not measured while its work runs");
    latch_open(&latch);
    cj_stream_pool_sync(pool);
    tap_is_uint(work_of(pool, CJ_WORK_COMPUTE).measured, 1, "but when it is complete");
    cj_capture_begin(s, CJ_CAPTURE_GLOBAL);
    l = cj_stream_pool_acquire(pool, NULL);
    cj_stream *on = cj_stream_pool_stream(pool, l);
    cj_stream_fork(s, on);
    cj_fill32(on, d, 1, N);
    cj_stream_join(s, on);
    cj_stream_pool_release(pool, l);
    cj_graph *g = cj_capture_end(s);
    tap_is_int(cj_error_of(g)->status, CJ_OK, "measuring harms no capture: %s", cj_error_of(g)->message);
    cj_graph_free(g);
    tap_is_uint(work_of(pool, CJ_WORK_COMPUTE).measured, 1, "what is captured is not measured");
    for (int i = 0; i < 3; i++) l = cj_stream_pool_acquire(pool, NULL); /* held when the pool is freed */
    tap_ok(l != 0, "a pool may be freed with leases that are measured");
    cj_stream_pool_free(pool);
    pool = cj_stream_pool_create(dev, NULL);
    run_leases(pool, 30, NULL);
    tap_is_uint(work_of(pool, CJ_WORK_COMPUTE).measured, 0, "without .sample none is measured");
    cj_stream_pool_free(pool);
}

/* Leases that are unfinished at the same time are busy for that time once. */
static void overlapping(void)
{
    enum { LEASES = 8 };
    struct latch latch = LATCH_CLOSED;
    cj_stream_pool *pool = cj_stream_pool_create(dev, CJ_STREAM_POOL(.streams = 2, .sample = 1));
    cj_stream *hold[2] = { NULL, NULL };
    for (int i = 0; i < LEASES; i++) {
        cj_pooled_stream l = cj_stream_pool_acquire(pool, CJ_STREAM_REQUEST(.work = CJ_WORK_MEMORY));
        cj_stream *on = cj_stream_pool_stream(pool, l);
        if (on != hold[0] && on != hold[1]) bench_hold(hold[hold[0] ? 1 : 0] = on, &latch);
        cj_fill32(on, d, 1, N);
        cj_stream_pool_release(pool, l);
    }
    tap_ok(hold[0] && hold[1], "leases on two streams are held");
    latch_open(&latch);
    cj_stream_pool_sync(pool);
    const cj_pool_strategy_stats now = strategy_of(pool, CJ_POOL_ROUND_ROBIN);
    tap_is_uint(now.measured, LEASES, "all are measured");
    tap_ok(now.busy_ms > 0 && now.busy_ms < now.measured_ms, "a lease is busy for %g ms, complete after %g ms",
           now.busy_ms, now.measured_ms);
    cj_stream_pool_free(pool);
}

static void reported(void)
{
    cj_stream_pool *pool = cj_stream_pool_create(dev, CJ_STREAM_POOL(.streams = 2, .strategy = CJ_POOL_LEAST_LOADED));
    tap_is_int(cj_stream_pool_report(pool, CJ_WORK_MIXED, 2), CJ_OK, "a time is reported");
    tap_is_int(cj_stream_pool_report(pool, CJ_WORK_MIXED, 4), CJ_OK, "and another one");
    tap_is_int(cj_stream_pool_report(pool, CJ_WORK_MIXED, -1), CJ_EINVAL, "but none that is negative");
    tap_is_int(cj_stream_pool_report(pool, (cj_work)4, 1), CJ_EINVAL, "nor of another kind");
    cj_pool_work_stats now = work_of(pool, CJ_WORK_MIXED);
    tap_ok(now.reported == 2 && now.reported_ms == 3 && !now.measured, "they are kept apart from measured ones");
    tap_is_f64(strategy_of(pool, CJ_POOL_LEAST_LOADED).reported_ms, 3, "for the strategy too");
    /* a lease of that work is 3 ms of load, more than some fills */
    cj_pooled_stream l = cj_stream_pool_acquire(pool, CJ_STREAM_REQUEST(.work = CJ_WORK_MIXED));
    cj_stream *busy = cj_stream_pool_stream(pool, l);
    for (int i = 0; i < 5; i++) {
        cj_pooled_stream other = cj_stream_pool_acquire(pool, NULL);
        tap_ok(cj_stream_pool_stream(pool, other) != busy, "its stream is loaded by what nobody sees");
        cj_fill32(cj_stream_pool_stream(pool, other), d, 1, N);
        cj_stream_pool_release(pool, other);
    }
    cj_stream_pool_release(pool, l);
    l = cj_stream_pool_acquire(pool, NULL);
    tap_ok(cj_stream_pool_stream(pool, l) == busy, "until the release");
    cj_stream_pool_release(pool, l);
    cj_stream_pool_sync(pool);
    cj_stream_pool_free(pool);
}

/* Times are reported, so that the rule can be checked without a clock. */
static void optimized(void)
{
    static const struct {
        const char *name;
        int count[CJ_POOL_STRATEGIES];
        double ms[CJ_POOL_STRATEGIES];
        cj_pool_strategy before, best;
    } cases[] = {
        { "the shortest time wins", { 8, 8, 8, 8, 8 }, { 5, 4, 3, 2, 4 }, CJ_POOL_ROUND_ROBIN, CJ_POOL_WORKLOAD },
        { "too few times do not count", { 8, 8, 7, 8, 8 }, { 5, 4, 1, 2, 4 }, CJ_POOL_ROUND_ROBIN, CJ_POOL_WORKLOAD },
        { "what was not used does not count", { 8, 0, 0, 8, 0 }, { 5, 0, 0, 9, 0 }, CJ_POOL_WORKLOAD,
          CJ_POOL_ROUND_ROBIN },
        { "within 2 % the current one stays", { 8, 8, 8, 8, 8 }, { 100, 101, 120, 130, 140 }, CJ_POOL_LEAST_LOADED,
          CJ_POOL_LEAST_LOADED },
        { "over 2 % it does not", { 8, 8, 8, 8, 8 }, { 100, 103, 120, 130, 140 }, CJ_POOL_LEAST_LOADED,
          CJ_POOL_ROUND_ROBIN },
        { "one strategy alone decides nothing", { 9, 0, 0, 0, 0 }, { 1, 0, 0, 0, 0 }, CJ_POOL_ROUND_ROBIN,
          CJ_POOL_LEAST_LOADED },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cj_stream_pool *pool = cj_stream_pool_create(dev, NULL);
        cj_pool_strategy chosen = CJ_POOL_DEPENDENCY;
        for (int k = 0; k < CJ_POOL_STRATEGIES; k++) {
            cj_stream_pool_set_strategy(pool, (cj_pool_strategy)k);
            for (int n = 0; n < cases[i].count[k]; n++) cj_stream_pool_report(pool, CJ_WORK_COMPUTE, cases[i].ms[k]);
        }
        cj_stream_pool_set_strategy(pool, cases[i].before);
        tap_is_int(cj_stream_pool_optimize(pool, &chosen), CJ_OK, "a strategy is picked");
        tap_is_int((int)chosen, (int)cases[i].best, "%s", cases[i].name);
        cj_stream_pool_stats now;
        cj_stream_pool_stats_defaults(&now);
        cj_stream_pool_get_stats(pool, &now);
        tap_is_int(now.strategy, (int)cases[i].best, "... and set");
        cj_stream_pool_free(pool);
    }
    cj_stream_pool *pool = cj_stream_pool_create(dev, NULL);
    tap_is_int(cj_stream_pool_set_strategy(pool, (cj_pool_strategy)5), CJ_EINVAL, "no other strategy can be set");
    cj_stream_pool_free(pool);
}

/* What leases overlap counts, not when each is complete.  The times are the pool's own. */
static void optimized_by_overlap(void)
{
    typedef struct known { double compute, memory, high, busy; } known; /* mean ms of 10 leases each, and in all */
    static const struct { const char *name; known turn, least; cj_pool_strategy best; } cases[] = {
        { "leases that are complete sooner, but all of them later", { 3, 3, 0, 13 }, { 2, 2.7, 0, 15 },
          CJ_POOL_ROUND_ROBIN },
        { "the other way about", { 2, 2, 0, 15 }, { 3, 3, 0, 13 }, CJ_POOL_LEAST_LOADED },
        { "high priority counts by its own time", { 1, 1, 8, 10 }, { 1, 1, 2, 11 }, CJ_POOL_LEAST_LOADED },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cj_stream_pool *pool = cj_stream_pool_create(dev, NULL);
        cj_pool_strategy chosen = CJ_POOL_DEPENDENCY;
        for (int k = CJ_POOL_ROUND_ROBIN; k <= CJ_POOL_LEAST_LOADED; k++) {
            const known *one = k == CJ_POOL_ROUND_ROBIN ? &cases[i].turn : &cases[i].least;
            pool->measured[k][CJ_WORK_COMPUTE] = (cji_times){ 10, 10 * one->compute };
            pool->measured[k][CJ_WORK_MEMORY] = (cji_times){ 10, 10 * one->memory };
            if (one->high > 0) pool->measured[k][CJI_GROUP_HIGH] = (cji_times){ 10, 10 * one->high };
            pool->busy[k].ms = one->busy;
        }
        tap_is_int(cj_stream_pool_optimize(pool, &chosen), CJ_OK, "a strategy is picked");
        tap_is_int((int)chosen, (int)cases[i].best, "%s", cases[i].name);
        cj_stream_pool_free(pool);
    }
    /* twice the work in the same time, by leases that take longer */
    cj_stream_pool *pool = cj_stream_pool_create(dev, NULL);
    cj_pool_strategy chosen = CJ_POOL_DEPENDENCY;
    for (int k = CJ_POOL_ROUND_ROBIN; k <= CJ_POOL_LEAST_LOADED; k++) {
        const uint64_t longer = k == CJ_POOL_ROUND_ROBIN ? 10 : 30;
        pool->measured[k][CJ_WORK_COMPUTE] = (cji_times){ 40 - longer, 40 - (double)longer };
        pool->measured[k][CJ_WORK_MEMORY] = (cji_times){ longer, 5 * (double)longer };
        pool->busy[k].ms = 20;
    }
    cj_stream_pool_optimize(pool, &chosen);
    tap_is_int((int)chosen, CJ_POOL_LEAST_LOADED, "what the leases did counts, not their number");
    cj_stream_pool_free(pool);
}

/* Without times the requests decide. */
static void by_requests(void)
{
    static const struct { const char *name; int compute, memory, high, after; cj_pool_strategy best; } cases[] = {
        { "nothing special", 20, 1, 0, 0, CJ_POOL_LEAST_LOADED },
        { "memory and compute", 20, 5, 0, 0, CJ_POOL_WORKLOAD },
        { "two priorities", 20, 5, 1, 0, CJ_POOL_PRIORITY },
        { "dependencies", 15, 0, 1, 6, CJ_POOL_DEPENDENCY },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cj_stream_pool *pool = cj_stream_pool_create(dev, NULL);
        cj_pool_strategy chosen = CJ_POOL_ROUND_ROBIN;
        run_leases(pool, cases[i].compute, NULL);
        run_leases(pool, cases[i].memory, CJ_STREAM_REQUEST(.work = CJ_WORK_MEMORY));
        run_leases(pool, cases[i].high, CJ_STREAM_REQUEST(.priority = CJ_PRIORITY_HIGH));
        run_leases(pool, cases[i].after, CJ_STREAM_REQUEST(.after = s));
        cj_stream_pool_optimize(pool, &chosen);
        tap_is_int((int)chosen, (int)cases[i].best, "requests: %s", cases[i].name);
        cj_stream_pool_free(pool);
    }
}

static cj_kernel *kernel_of(const char *body, bool built)
{
    char text[2000];
    snprintf(text, sizeof text,
             ".version 7.0\n.target sm_70\n.address_size 64\n"
             ".visible .entry k(.param .u64 p)\n{\n .reg .u32 %%r<9>;\n .reg .u64 %%d<9>;\n .reg .f32 %%f<9>;\n"
             " .shared .align 4 .f32 tile[64];\n ld.param.u64 %%d1, [p];\n%s ret;\n}\n",
             body);
    if (!built) {
        cj_module *mod = cj_module_load_text(dev, text, NULL);
        cj_kernel *k = cj_module_kernel(mod, "k");
        cj_module_free(mod);
        return k;
    }
    cj_ptx *m = cj_parse(text, strlen(text), "k.ptx");
    cj_kernel *k = cj_kernel_load(dev, m, "k", NULL);
    cj_ptx_free(m);
    return k;
}

static void kernels(void)
{
    static const struct { const char *name, *body; cj_work work; } cases[] = {
        { "a copy", " ld.global.f32 %f1, [%d1];\n st.global.f32 [%d1+4], %f1;\n", CJ_WORK_MEMORY },
        { "generic addresses", " ld.f32 %f1, [%d1];\n add.f32 %f1, %f1, %f1;\n", CJ_WORK_MEMORY },
        { "atomics", " atom.global.add.u32 %r1, [%d1], 1;\n red.global.add.u32 [%d1], 1;\n", CJ_WORK_MEMORY },
        { "shared memory", " ld.shared.f32 %f1, [tile];\n st.shared.f32 [tile+4], %f1;\n", CJ_WORK_COMPUTE },
        { "no memory", " mov.f32 %f1, 0f00000000;\n fma.rn.f32 %f2, %f1, %f1, %f1;\n", CJ_WORK_COMPUTE },
        { "one in eleven", " mov.u32 %r1, 1;\n add.u32 %r2, %r1, 1;\n add.u32 %r2, %r1, 1;\n add.u32 %r2, %r1, 1;\n"
          " add.u32 %r2, %r1, 1;\n add.u32 %r2, %r1, 1;\n add.u32 %r2, %r1, 1;\n add.u32 %r2, %r1, 1;\n"
          " add.u32 %r2, %r1, 1;\n st.global.u32 [%d1], %r2;\n", CJ_WORK_MIXED },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int built = 0; built < 2; built++) {
            cj_kernel *k = kernel_of(cases[i].body, built);
            cj_work work = CJ_WORK_COORDINATION;
            tap_is_int(cj_kernel_get_work(k, &work), CJ_OK, "a kernel's instructions are known: %s",
                       cj_error_of(k)->message);
            tap_is_int((int)work, (int)cases[i].work, "%s, as %s", cases[i].name, built ? "a builder" : "a text");
            cj_kernel_free(k);
        }
    cj_kernel *k = kernel_of(cases[0].body, true);
    cj_work work = CJ_WORK_COORDINATION;
    tap_is_int(cj_kernel_get_work(k, NULL), CJ_EINVAL, "there is a place for the answer");
    cj_kernel *wrapped = cj_kernel_wrap(dev, cj_kernel_raw(k));
    if (cj_error_of(wrapped)->status == CJ_OK) {
        tap_is_int(cj_kernel_get_work(wrapped, &work), CJ_ENOTFOUND, "a wrapped function's instructions are not known");
        tap_is_int((int)work, CJ_WORK_MIXED, "... so it is mixed");
    } else {
        tap_fail("a function is wrapped: %s", cj_error_of(wrapped)->message);
    }
    cj_kernel_free(wrapped);
    cj_stream_pool *pool = cj_stream_pool_create(dev, NULL);
    cj_stream_pool_release(pool, cj_stream_pool_acquire(pool, CJ_STREAM_REQUEST(.kernel = k)));
    tap_is_uint(work_of(pool, CJ_WORK_MEMORY).acquired, 1, "a request with a kernel has its kind of work");
    cj_stream_pool_free(pool);
    cj_kernel_free(k);
}

/* -- Leases without a request -------------------------------------------------------------------------------------- */

enum { TURNS = 40 };

static void *lease_in_turn(void *pool)
{
    for (int i = 0; i < TURNS; i++) cj_stream_pool_release(pool, cj_stream_pool_acquire(pool, NULL));
    return NULL;
}

static void counted(void)
{
    pthread_t id;
    cj_stream_pool *pool = cj_stream_pool_create(dev, CJ_STREAM_POOL(.strategy = CJ_POOL_ROUND_ROBIN));
    lease_in_turn(pool);
    tap_is_uint(work_of(pool, CJ_WORK_COMPUTE).acquired, TURNS, "a lease without a request is for compute work");
    tap_is_uint(strategy_of(pool, CJ_POOL_ROUND_ROBIN).acquired, TURNS, "... chosen by the pool's strategy");
    if (pthread_create(&id, NULL, lease_in_turn, pool) != 0) tap_bail("no thread");
    pthread_join(id, NULL);
    tap_is_uint(work_of(pool, CJ_WORK_COMPUTE).acquired, 2 * TURNS, "those of a thread that has ended count, too");
    cj_stream_pool_set_strategy(pool, CJ_POOL_LEAST_LOADED);
    lease_in_turn(pool);
    tap_is_uint(strategy_of(pool, CJ_POOL_ROUND_ROBIN).acquired, 2 * TURNS, "with another strategy there are no more");
    tap_is_uint(strategy_of(pool, CJ_POOL_LEAST_LOADED).acquired, TURNS, "... but of the other one");
    cj_stream_pool_set_strategy(pool, CJ_POOL_ROUND_ROBIN);
    lease_in_turn(pool);
    tap_is_uint(strategy_of(pool, CJ_POOL_ROUND_ROBIN).acquired, 3 * TURNS, "and back again");
    cj_stream_pool_report(pool, CJ_WORK_COMPUTE, 1);
    lease_in_turn(pool);
    tap_is_uint(work_of(pool, CJ_WORK_COMPUTE).acquired, 5 * TURNS, "a reported time changes nothing of it");
    cj_stream_pool_free(pool);
}

int main(void)
{
    bench_open(4 * N);
    measured(), overlapping(), reported(), optimized(), optimized_by_overlap(), by_requests(), kernels(), counted();
    return bench_close();
}
