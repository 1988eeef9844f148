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
    t->count++, t->ms += ms;
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

/* What strategies are compared by: a part for the reported times of each kind of work that has no measured ones, one
 * for high priority, and one for all other measured leases. */
enum { ENOUGH = 8, HIGH_WEIGHT = 4, PART_ORDINARY = CJI_GROUPS, PARTS };
static const double same = 1.02; /* scores whose ratio is less are equal */

static double mean_of(const cji_times *t) { return t->count ? t->ms / (double)t->count : 0; }

/* The measured times of a group under all strategies. */
static cji_times group_measured(const cj_stream_pool *pool, int group)
{
    cji_times all = { .count = 0 };
    for (int k = 0; k < CJ_POOL_STRATEGIES; k++) {
        all.count += pool->measured[k][group].count;
        all.ms += pool->measured[k][group].ms;
    }
    return all;
}

/* The times of a group under a strategy: measured ones, or where the group has none at all, reported ones. */
static const cji_times *group_times(const cj_stream_pool *pool, int strategy, int group)
{
    static const cji_times none = { .count = 0 };
    if (group_measured(pool, group).count) return &pool->measured[strategy][group];
    return group < CJI_WORKS ? &pool->reported[strategy][group] : &none;
}

/* Whether the strategy has enough times of each group that any has enough of. */
static bool strategy_counts(const cj_stream_pool *pool, int strategy)
{
    bool any = false;
    for (int group = 0; group < CJI_GROUPS; group++)
        for (int k = 0; k < CJ_POOL_STRATEGIES; k++) {
            if (group_times(pool, k, group)->count < ENOUGH) continue;
            if (group_times(pool, strategy, group)->count < ENOUGH) return false;
            any = true;
        }
    return any;
}

/* The time in which leases were unfinished, for the work of them.  The work of a lease is the mean time of its group
 * under all strategies, so that strategies may have had unlike shares of the groups. */
static double ordinary_cost(const cj_stream_pool *pool, int strategy)
{
    double work = 0;
    for (int group = 0; group < CJI_WORKS; group++) {
        const cji_times all = group_measured(pool, group);
        work += (double)pool->measured[strategy][group].count * mean_of(&all);
    }
    return work > 0 ? cji_busy_ms(&pool->busy[strategy]) / work : 0;
}

/* What the part takes under a strategy; 0: it has no times. */
static double part_cost(const cj_stream_pool *pool, int strategy, int part)
{
    if (part == PART_ORDINARY) return ordinary_cost(pool, strategy);
    if (part < CJI_WORKS && group_measured(pool, part).count) return 0;
    return mean_of(group_times(pool, strategy, part));
}

static double part_weight(const cj_stream_pool *pool, int part)
{
    uint64_t count = 0;
    for (int k = 0; k < CJ_POOL_STRATEGIES; k++) {
        if (part < CJI_GROUPS) count += group_times(pool, k, part)->count;
        for (int group = 0; part == PART_ORDINARY && group < CJI_WORKS; group++)
            count += pool->measured[k][group].count;
    }
    return (double)count * (part == CJI_GROUP_HIGH ? HIGH_WEIGHT : 1);
}

/* The strategy's score, lower is better; negative: not enough is known of it. */
static double strategy_score(const cj_stream_pool *pool, int strategy)
{
    double score = 0, weights = 0;
    if (!strategy_counts(pool, strategy)) return -1;
    for (int part = 0; part < PARTS; part++) {
        const double cost = part_cost(pool, strategy, part), weight = part_weight(pool, part);
        double best = cost;
        for (int k = 0; k < CJ_POOL_STRATEGIES; k++) {
            const double other = strategy_counts(pool, k) ? part_cost(pool, k, part) : 0;
            if (other > 0 && other < best) best = other;
        }
        if (best <= 0) continue;
        score += weight * cost / best;
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
    uint64_t ordinary = 0;
    cji_requests requests;
    cji_lock(&pool->lock, CJI_LOCK_STREAM_POOL);
    cji_stream_pool_requests(pool, &requests);
    for (int group = 0; group < CJI_GROUPS; group++) {
        now.measured += pool->measured[strategy][group].count;
        if (group != CJI_GROUP_HIGH) ordinary += pool->measured[strategy][group].count;
        now.measured_ms += pool->measured[strategy][group].ms;
        if (group == CJI_GROUP_HIGH) continue;
        now.reported += pool->reported[strategy][group].count;
        now.reported_ms += pool->reported[strategy][group].ms;
    }
    if (ordinary) now.busy_ms = cji_busy_ms(&pool->busy[strategy]) / (double)ordinary;
    cji_unlock(&pool->lock, CJI_LOCK_STREAM_POOL);
    if (now.measured) now.measured_ms /= (double)now.measured;
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
