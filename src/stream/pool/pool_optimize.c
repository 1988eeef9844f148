/* What a pool has measured, what was reported to it, and the strategy that follows. */
#include "stream/pool/stream_pool.h"

#include <string.h>

/* -- Reported times ------------------------------------------------------------------------------------------------ */

cj_status cj_stream_pool_report(cj_stream_pool *pool, cj_work work, double ms)
{
    static const char call[] = "cj_stream_pool_report";
    cj_status st = cji_check(pool, CJI_TAG_STREAM_POOL, call);
    if (st != CJ_OK) return st;
    if ((unsigned)work >= CJI_WORKS) return cji_fail(pool, CJ_EINVAL, call, "work %d is no cj_work", (int)work);
    if (!(ms >= 0) || ms > 1e9) return cji_fail(pool, CJ_EINVAL, call, "%g milliseconds are no time", ms);
    cji_lock(&pool->lock, CJI_LOCK_STREAM_POOL);
    cji_times *t = &pool->reported[atomic_load(&pool->strategy)][work], *all = &pool->work_reported[work];
    t->count++, t->ms += ms, t->busy_ms += ms;
    all->count++, all->ms += ms;
    atomic_store(&pool->unseen_ns[work], (uint64_t)(all->ms * 1e6 / (double)all->count));
    cji_stream_pool_note_turn(pool);
    cji_unlock(&pool->lock, CJI_LOCK_STREAM_POOL);
    return CJ_OK;
}

/* -- Choosing ------------------------------------------------------------------------------------------------------ */

cj_status cj_stream_pool_set_strategy(cj_stream_pool *pool, cj_pool_strategy strategy)
{
    static const char call[] = "cj_stream_pool_set_strategy";
    cj_status st = cji_check(pool, CJI_TAG_STREAM_POOL, call);
    if (st != CJ_OK) return st;
    if ((unsigned)strategy >= CJ_POOL_STRATEGIES)
        return cji_fail(pool, CJ_EINVAL, call, "strategy %d is no cj_pool_strategy", (int)strategy);
    cji_lock(&pool->lock, CJI_LOCK_STREAM_POOL);
    atomic_store(&pool->strategy, (int)strategy);
    cji_stream_pool_note_turn(pool);
    cji_unlock(&pool->lock, CJI_LOCK_STREAM_POOL);
    return CJ_OK;
}

enum { ENOUGH = 8, HIGH_WEIGHT = 4 };
static const double same = 1.02; /* scores whose ratio is less are equal */

/* The times of a group under a strategy: measured ones, or where the group has none at all, reported ones. */
static const cji_times *group_times(const cj_stream_pool *pool, int strategy, int group)
{
    bool measured = false;
    for (int k = 0; k < CJ_POOL_STRATEGIES; k++) measured |= pool->measured[k][group].count != 0;
    static const cji_times none = { .count = 0 };
    if (measured) return &pool->measured[strategy][group];
    return group < CJI_WORKS ? &pool->reported[strategy][group] : &none;
}

static double mean_of(const cji_times *t) { return t->count ? t->ms / (double)t->count : 0; }

/* What a lease of the group takes: of high priority its mean time; of other work, where throughput counts, the time in
 * which leases were unfinished, for each of them. */
static double group_cost(const cji_times *t, int group)
{
    if (!t->count) return 0;
    return (group == CJI_GROUP_HIGH ? t->ms : t->busy_ms) / (double)t->count;
}

/* How many times a group has in all, and the least cost. */
static double group_best(const cj_stream_pool *pool, int group, uint64_t *count)
{
    double best = 0;
    *count = 0;
    for (int k = 0; k < CJ_POOL_STRATEGIES; k++) {
        const cji_times *t = group_times(pool, k, group);
        *count += t->count;
        const double cost = group_cost(t, group);
        if (t->count >= ENOUGH && (best == 0 || cost < best)) best = cost;
    }
    return best;
}

/* The strategy's score, lower is better; negative: not enough is known of it. */
static double strategy_score(const cj_stream_pool *pool, int strategy)
{
    double score = 0, weights = 0;
    for (int group = 0; group < CJI_GROUPS; group++) {
        uint64_t count;
        const double best = group_best(pool, group, &count);
        const cji_times *t = group_times(pool, strategy, group);
        if (!count || best == 0) continue;
        if (t->count < ENOUGH) return -1;
        const double weight = (double)count * (group == CJI_GROUP_HIGH ? HIGH_WEIGHT : 1);
        score += weight * group_cost(t, group) / best;
        weights += weight;
    }
    return weights > 0 ? score / weights : -1;
}

/* By what was requested, where too little was measured. */
static int strategy_by_requests(const cji_requests *r)
{
    uint64_t all = 0;
    for (int k = 0; k < CJI_WORKS; k++) all += r->work[k];
    if (r->after * 4 >= all && r->after) return CJ_POOL_DEPENDENCY;
    if (r->other_priority && r->other_priority < all) return CJ_POOL_PRIORITY;
    if (r->work[CJ_WORK_COMPUTE] * 8 >= all && r->work[CJ_WORK_MEMORY] * 8 >= all && all) return CJ_POOL_WORKLOAD;
    return CJ_POOL_LEAST_LOADED;
}

/* With the lock held. */
static int strategy_best(const cj_stream_pool *pool, const cji_requests *r)
{
    const int now = atomic_load(&pool->strategy);
    double score[CJ_POOL_STRATEGIES], least = -1;
    int known = 0, best = now;
    for (int k = 0; k < CJ_POOL_STRATEGIES; k++) {
        score[k] = strategy_score(pool, k);
        if (score[k] < 0) continue;
        known++;
        if (least < 0 || score[k] < least) least = score[k], best = k;
    }
    if (known < 2) return strategy_by_requests(r);
    return score[now] >= 0 && score[now] < least * same ? now : best;
}

cj_status cj_stream_pool_optimize(cj_stream_pool *pool, cj_pool_strategy *chosen)
{
    cji_requests requests;
    cj_status st = cji_check(pool, CJI_TAG_STREAM_POOL, "cj_stream_pool_optimize");
    if (st != CJ_OK) return st;
    cji_sample_harvest(pool, true);
    cji_lock(&pool->lock, CJI_LOCK_STREAM_POOL);
    cji_stream_pool_requests(pool, &requests);
    const int best = strategy_best(pool, &requests);
    atomic_store(&pool->strategy, best);
    cji_stream_pool_note_turn(pool);
    cji_unlock(&pool->lock, CJI_LOCK_STREAM_POOL);
    if (chosen) *chosen = (cj_pool_strategy)best;
    return CJ_OK;
}

/* -- Metrics ------------------------------------------------------------------------------------------------------- */

void cj_pool_strategy_stats_defaults(cj_pool_strategy_stats *stats)
{
    if (stats) *stats = (cj_pool_strategy_stats){ .size = sizeof *stats };
}
void cj_pool_work_stats_defaults(cj_pool_work_stats *stats)
{
    if (stats) *stats = (cj_pool_work_stats){ .size = sizeof *stats };
}

/* What both readers check; `size` is the first field of the caller's struct. */
static cj_status stats_check(cj_stream_pool *pool, int value, int values, const size_t *size, const char *call)
{
    cj_status st = cji_check(pool, CJI_TAG_STREAM_POOL, call);
    if (st != CJ_OK) return st;
    if (value < 0 || value >= values) return cji_fail(pool, CJ_EINVAL, call, "%d is out of range", value);
    if (!size || *size < sizeof *size)
        return cji_fail(pool, CJ_EINVAL, call, "stats is NULL, or stats->size is not that of its type");
    cji_sample_harvest(pool, true);
    return CJ_OK;
}

cj_status cj_stream_pool_get_strategy_stats(cj_stream_pool *pool, cj_pool_strategy strategy,
                                            cj_pool_strategy_stats *stats)
{
    cj_status st = stats_check(pool, (int)strategy, CJ_POOL_STRATEGIES, stats ? &stats->size : NULL,
                               "cj_stream_pool_get_strategy_stats");
    if (st != CJ_OK) return st;
    cj_pool_strategy_stats now = { .size = stats->size };
    cji_requests requests;
    cji_lock(&pool->lock, CJI_LOCK_STREAM_POOL);
    cji_stream_pool_requests(pool, &requests);
    for (int group = 0; group < CJI_GROUPS; group++) {
        now.measured += pool->measured[strategy][group].count;
        now.measured_ms += pool->measured[strategy][group].ms;
        now.busy_ms += pool->measured[strategy][group].busy_ms;
        if (group == CJI_GROUP_HIGH) continue;
        now.reported += pool->reported[strategy][group].count;
        now.reported_ms += pool->reported[strategy][group].ms;
    }
    cji_unlock(&pool->lock, CJI_LOCK_STREAM_POOL);
    if (now.measured) now.measured_ms /= (double)now.measured;
    if (now.measured) now.busy_ms /= (double)now.measured;
    if (now.reported) now.reported_ms /= (double)now.reported;
    now.acquired = requests.strategy[strategy];
    now.looked = requests.looked[strategy];
    now.idle = requests.idle[strategy];
    now.effectiveness = now.looked ? (double)now.idle / (double)now.looked : 0;
    memcpy(stats, &now, stats->size < sizeof now ? stats->size : sizeof now);
    return CJ_OK;
}

cj_status cj_stream_pool_get_work_stats(cj_stream_pool *pool, cj_work work, cj_pool_work_stats *stats)
{
    cj_status st = stats_check(pool, (int)work, CJI_WORKS, stats ? &stats->size : NULL,
                               "cj_stream_pool_get_work_stats");
    if (st != CJ_OK) return st;
    cj_pool_work_stats now = { .size = stats->size };
    cji_requests requests;
    cji_lock(&pool->lock, CJI_LOCK_STREAM_POOL);
    cji_stream_pool_requests(pool, &requests);
    now.acquired = requests.work[work];
    now.measured = pool->work_time[work].count;
    now.measured_ms = mean_of(&pool->work_time[work]);
    now.reported = pool->work_reported[work].count;
    now.reported_ms = mean_of(&pool->work_reported[work]);
    now.operation_ms = pool->op_count[work] ? pool->op_ms[work] / (double)pool->op_count[work] : 0;
    cji_unlock(&pool->lock, CJI_LOCK_STREAM_POOL);
    memcpy(stats, &now, stats->size < sizeof now ? stats->size : sizeof now);
    return CJ_OK;
}

/* -- A kernel's kind ----------------------------------------------------------------------------------------------- */

enum { MIX_MEMORY = 8, MIX_COMPUTE = 24 };

/* CJ_OK, or CJ_ENOTFOUND where the instructions are not known. */
cj_status cji_kernel_work(const cj_kernel *k, cj_work *work)
{
    *work = CJ_WORK_MIXED;
    if (!k->instructions) return CJ_ENOTFOUND;
    if ((uint64_t)k->memory * MIX_MEMORY >= k->instructions) *work = CJ_WORK_MEMORY;
    else if ((uint64_t)k->memory * MIX_COMPUTE <= k->instructions) *work = CJ_WORK_COMPUTE;
    return CJ_OK;
}

cj_status cj_kernel_get_work(cj_kernel *k, cj_work *work)
{
    static const char call[] = "cj_kernel_get_work";
    cj_status st = cji_check(k, CJI_TAG_KERNEL, call);
    if (st != CJ_OK) return st;
    return work ? cji_kernel_work(k, work)
                : cji_fail(k, CJ_EINVAL, call, "`work` is NULL, there is no place for the result");
}
