/* Stream pools: made, freed, counted. */
#include "stream/pool/stream_pool.h"

#include <string.h>

enum { POOL_STREAMS = 4, POOL_STREAMS_MAX = 64, POOL_STREAMS_MOST = 1024, POOL_SHARERS = 4, POOL_IDLE_MS = 1000,
       POOL_LEASES = 1 << 18 };

/* -- Caches of threads --------------------------------------------------------------------------------------------- */

static cj_stream_pool *stream_pool_of_caches(cji_thread_caches *owner)
{
    return (cj_stream_pool *)((char *)owner - offsetof(cj_stream_pool, caches));
}

/* The fields of cji_requests are counters alone. */
static void requests_add(cji_requests *sum, const cji_requests *more)
{
    atomic_uint_fast64_t *to = (atomic_uint_fast64_t *)sum;
    const atomic_uint_fast64_t *from = (const atomic_uint_fast64_t *)more;
    for (size_t i = 0; i < sizeof *sum / sizeof *to; i++) atomic_fetch_add(&to[i], atomic_load(&from[i]));
}

/* What a thread has requested. */
static void requests_add_cache(cji_requests *sum, const cji_stream_cache *c)
{
    const uint64_t slow = atomic_load(&c->slow), acquired = atomic_load(&c->leases.acquired);
    requests_add(sum, &c->requests);
    if (acquired <= slow) return; /* slower ones were acquired meanwhile */
    atomic_fetch_add(&sum->work[CJ_WORK_COMPUTE], acquired - slow);
    atomic_fetch_add(&sum->strategy[CJ_POOL_ROUND_ROBIN], acquired - slow);
}

void cji_stream_pool_requests(const cj_stream_pool *pool, cji_requests *sum)
{
    memset(sum, 0, sizeof *sum);
    requests_add(sum, &pool->requests);
    for (cji_thread_cache *base = pool->caches.first; base; base = base->later)
        requests_add_cache(sum, (const cji_stream_cache *)base);
}

/* With the lock held. */
static void stream_pool_note_most(cj_stream_pool *pool, const cji_stream_cache *c)
{
    const int64_t most = atomic_load_explicit(&c->most, memory_order_relaxed);
    if (most > (int64_t)pool->peak) pool->peak = (uint32_t)most;
}

static void stream_cache_empty(cji_thread_caches *owner, cji_thread_cache *base)
{
    cj_stream_pool *pool = stream_pool_of_caches(owner);
    cji_stream_cache *c = (cji_stream_cache *)base;
    cji_magazine_empty(&c->leases, &pool->leases.free[0], CJI_MAGAZINE);
    pool->acquired += atomic_load(&c->leases.acquired);
    pool->open += atomic_load(&c->open);
    pool->exclusive += atomic_load(&c->exclusive);
    stream_pool_note_most(pool, c);
    requests_add_cache(&pool->requests, c);
    for (int k = 0; k < CJI_CLASSES; k++)
        for (uint32_t i = 0; i < atomic_load(&pool->class[k].n); i++) {
            cji_place *p = &pool->class[k].place[i];
            p->leases += atomic_load(&c->count[p->index]);
        }
}

static size_t place_bytes(const cj_stream_pool *pool) { return pool->streams_max * sizeof(cji_place); }

static void stream_pool_delete(cj_stream_pool *pool)
{
    cji_cells_fini(&pool->leases);
    for (int k = 0; k < CJI_CLASSES; k++) cji_free(pool->class[k].place, place_bytes(pool));
    pthread_mutex_destroy(&pool->lock);
    cji_obj_delete(pool, sizeof *pool);
}

static void stream_cache_retain(cji_thread_caches *owner) { cji_obj_retain(stream_pool_of_caches(owner)); }
static void stream_cache_drop(cji_thread_caches *owner)
{
    if (cji_obj_release(stream_pool_of_caches(owner))) stream_pool_delete(stream_pool_of_caches(owner));
}

static const cji_thread_cache_rules stream_cache_rules = {
    .bytes = sizeof(cji_stream_cache),
    .empty = stream_cache_empty,
    .retain = stream_cache_retain,
    .drop = stream_cache_drop,
};

/* -- Making -------------------------------------------------------------------------------------------------------- */

void cj_stream_pool_defaults(cj_stream_pool_opts *opts)
{
    if (opts) *opts = (cj_stream_pool_opts){ .size = sizeof *opts };
}

static bool stream_pool_set(cj_stream_pool *pool, const cj_stream_pool_opts *o, const char *call)
{
    const uint32_t normal = o->streams ? o->streams : POOL_STREAMS;
    const uint64_t first = (uint64_t)normal + o->high + o->low;
    pool->streams_max = o->streams_max ? o->streams_max : first > POOL_STREAMS_MAX ? (uint32_t)first : POOL_STREAMS_MAX;
    if (first > POOL_STREAMS_MOST || pool->streams_max > POOL_STREAMS_MOST || first > pool->streams_max) {
        cji_fail(pool, CJ_EINVAL, call, "%llu streams are to be created, and .streams_max is %u; a pool has at most %d",
                 (unsigned long long)first, pool->streams_max, POOL_STREAMS_MOST);
        return false;
    }
    if ((unsigned)o->strategy >= CJ_POOL_STRATEGIES) {
        cji_fail(pool, CJ_EINVAL, call, "strategy %d is no cj_pool_strategy", o->strategy);
        return false;
    }
    pool->class[CJI_CLASS_NORMAL].first = normal;
    pool->class[CJI_CLASS_HIGH].first = o->high;
    pool->class[CJI_CLASS_LOW].first = o->low;
    pool->sample = o->sample;
    pool->sharers = o->sharers ? o->sharers : POOL_SHARERS;
    pool->idle_ns = (uint64_t)(o->idle_ms ? o->idle_ms : POOL_IDLE_MS) * 1000000;
    atomic_init(&pool->strategy, o->strategy);
    cji_stream_pool_note_turn(pool);
    return true;
}

static bool stream_pool_places(cj_stream_pool *pool, const char *call)
{
    bool good = cji_cells_init(&pool->leases, pool->caches.number, POOL_LEASES);
    for (int k = 0; k < CJI_CLASSES && good; k++) {
        cji_place *place = pool->class[k].place = cji_zalloc(place_bytes(pool));
        good = place != NULL;
        for (uint32_t i = 0; i < pool->streams_max && good; i++) {
            place[i] = (cji_place){ .pool = pool, .index = (uint32_t)k * pool->streams_max + i, .class = (uint8_t)k };
            atomic_init(&place[i].closed, 1);
        }
    }
    pool->caches.bytes = sizeof(cji_stream_cache) + CJI_CLASSES * (size_t)pool->streams_max * sizeof(atomic_int);
    if (!good) cji_fail(pool, CJ_ENOMEM, call, "no memory for a pool of %u streams", pool->streams_max);
    return good;
}

/* Creates the first streams. */
static bool stream_pool_prepare(cj_stream_pool *pool, const char *call)
{
    bool full = false, good = true;
    cji_lock(&pool->lock, CJI_LOCK_STREAM_POOL);
    for (int k = 0; k < CJI_CLASSES && good; k++)
        while (good && pool->class[k].live < pool->class[k].first) {
            cji_place *p = cji_stream_pool_grow(pool, (cji_class)k, &full, pool, call);
            good = p != NULL;
            if (p) atomic_store(&p->closed, 0);
        }
    pool->grown = 0;
    cji_unlock(&pool->lock, CJI_LOCK_STREAM_POOL);
    return good;
}

cj_stream_pool *cj_stream_pool_create(cj_device *dev, const cj_stream_pool_opts *opts)
{
    static const char call[] = "cj_stream_pool_create";
    cj_stream_pool_opts o;
    cj_stream_pool *pool = cji_obj_new(sizeof *pool, CJI_TAG_STREAM_POOL, 0, call);
    if (cji_obj_failed(pool)) return pool;
    pthread_mutex_init(&pool->lock, NULL);
    cji_thread_caches_init(&pool->caches, pool, &stream_cache_rules, sizeof(cji_stream_cache), &pool->lock,
                           CJI_LOCK_STREAM_POOL);
    atomic_init(&pool->users, 1);
    cj_stream_pool_defaults(&o);
    bool good = cji_check_arg(pool, dev, CJI_TAG_DEVICE, call, "the device") == CJ_OK;
    if (good) pool->dev = cji_obj_retain(dev);
    good = good && cji_opts_take(&o, sizeof o, opts, pool, call, "cj_stream_pool") && stream_pool_set(pool, &o, call) &&
           stream_pool_places(pool, call) && cji_sample_prepare(pool, call) && stream_pool_prepare(pool, call);
    if (good) return pool;
    cji_sample_clear(pool);
    cji_stream_pool_clear(pool);
    cji_obj_set_failed(pool);
    return pool;
}

static cj_stream_pool *stream_pool_for(cj_device *dev, uint64_t thread, const char *call)
{
    cj_stream_pool *pool = cji_is_live(dev, CJI_TAG_DEVICE) ? cji_device_pool(dev, CJI_TAG_STREAM_POOL, thread) : NULL;
    if (pool) return pool;
    pool = cj_stream_pool_create(dev, NULL);
    if (cji_obj_failed(pool)) return pool;
    cj_stream_pool *listed = cji_device_pool_enter(dev, CJI_TAG_STREAM_POOL, thread, pool, &pool->users);
    if (listed == pool) return pool;
    if (!listed) {
        cji_fail(pool, CJ_ENOMEM, call, "no memory to note the pool");
        cji_obj_set_failed(pool);
        return pool;
    }
    cj_stream_pool_free(pool);
    return listed;
}

cj_stream_pool *cj_stream_pool_for_device(cj_device *dev)
{
    return stream_pool_for(dev, 0, "cj_stream_pool_for_device");
}

cj_stream_pool *cj_stream_pool_for_thread(cj_device *dev)
{
    return stream_pool_for(dev, cji_thread_id(), "cj_stream_pool_for_thread");
}

/* -- Releasing ----------------------------------------------------------------------------------------------------- */

cj_stream_pool *cji_stream_pool_retain(cj_stream_pool *pool)
{
    atomic_fetch_add(&pool->users, 1);
    return pool;
}

void cji_stream_pool_drop(cj_stream_pool *pool)
{
    if (atomic_fetch_sub(&pool->users, 1) != 1) return;
    cj_device *dev = pool->dev;
    if (dev) cji_device_pool_leave(dev, pool);
    cji_thread_caches_close(&pool->caches);
    cji_sample_clear(pool);
    cji_stream_pool_clear(pool);
    if (cji_obj_release(pool)) stream_pool_delete(pool);
    if (dev) cji_device_drop(dev);
}

void cj_stream_pool_free(cj_stream_pool *pool)
{
    if (cji_check_free(pool, CJI_TAG_STREAM_POOL, "cj_stream_pool_free")) cji_stream_pool_drop(pool);
}

cj_device *cj_stream_pool_device(const cj_stream_pool *pool)
{
    return cji_check(pool, CJI_TAG_STREAM_POOL, "cj_stream_pool_device") == CJ_OK ? pool->dev : NULL;
}

/* -- Counting ------------------------------------------------------------------------------------------------------ */

int64_t cji_place_leases(const cj_stream_pool *pool, const cji_place *p)
{
    int64_t n = p->leases;
    for (cji_thread_cache *base = pool->caches.first; base; base = base->later)
        n += atomic_load(&((cji_stream_cache *)base)->count[p->index]);
    return n;
}

/* Leases that are held, acquisitions so far; with the lock held. */
static void stream_pool_sums(const cj_stream_pool *pool, int64_t *open, uint64_t *acquired, uint64_t *exclusive)
{
    *open = pool->open;
    *acquired = pool->acquired;
    *exclusive = pool->exclusive;
    for (cji_thread_cache *base = pool->caches.first; base; base = base->later) {
        cji_stream_cache *c = (cji_stream_cache *)base;
        *open += atomic_load(&c->open);
        *acquired += atomic_load(&c->leases.acquired);
        *exclusive += atomic_load(&c->exclusive);
    }
}

void cji_stream_pool_note_peak(cj_stream_pool *pool)
{
    int64_t open;
    uint64_t acquired, exclusive;
    stream_pool_sums(pool, &open, &acquired, &exclusive);
    if (open > (int64_t)pool->peak) pool->peak = (uint32_t)open;
    for (cji_thread_cache *base = pool->caches.first; base; base = base->later)
        stream_pool_note_most(pool, (cji_stream_cache *)base);
}

void cji_stream_pool_note_turn(cj_stream_pool *pool)
{
    atomic_store(&pool->in_turn, atomic_load(&pool->strategy) == CJ_POOL_ROUND_ROBIN && !pool->sample &&
                                     !atomic_load(&pool->unseen_ns[CJ_WORK_COMPUTE]));
}

void cj_stream_pool_stats_defaults(cj_stream_pool_stats *stats)
{
    if (stats) *stats = (cj_stream_pool_stats){ .size = sizeof *stats };
}

/* With the lock held. */
static void stream_pool_count(cj_stream_pool *pool, cj_stream_pool_stats *now)
{
    int64_t open;
    stream_pool_sums(pool, &open, &now->acquired, &now->acquired_exclusive);
    cji_stream_pool_note_peak(pool);
    now->leases = open > 0 ? (uint32_t)open : 0;
    for (int k = 0; k < CJI_CLASSES; k++)
        for (uint32_t i = 0; i < atomic_load(&pool->class[k].n); i++) {
            const cji_place *p = &pool->class[k].place[i];
            if (!atomic_load(&p->s)) continue;
            now->streams++;
            if (cji_place_leases(pool, p) > 0) now->in_use++;
            if (atomic_load(&p->closed)) now->exclusive++;
        }
    now->peak = pool->peak;
    now->strategy = atomic_load(&pool->strategy);
    now->utilisation = now->streams ? (double)now->in_use / now->streams : 0;
    now->failed = pool->failed;
    now->grown = pool->grown;
    now->shrunk = pool->shrunk;
}

cj_status cj_stream_pool_get_stats(cj_stream_pool *pool, cj_stream_pool_stats *stats)
{
    static const char call[] = "cj_stream_pool_get_stats";
    cj_status st = cji_check(pool, CJI_TAG_STREAM_POOL, call);
    if (st != CJ_OK) return st;
    if (!stats || stats->size < sizeof stats->size)
        return cji_fail(pool, CJ_EINVAL, call, "stats is NULL, or stats->size is not sizeof(cj_stream_pool_stats)");
    cj_stream_pool_stats now = { .size = stats->size };
    cji_lock(&pool->lock, CJI_LOCK_STREAM_POOL);
    stream_pool_count(pool, &now);
    cji_unlock(&pool->lock, CJI_LOCK_STREAM_POOL);
    memcpy(stats, &now, stats->size < sizeof now ? stats->size : sizeof now);
    return CJ_OK;
}
