/* The streams of a pool: created when it grows, freed when they were idle for long. */
#include "stream/pool/stream_pool.h"

/* A place without a stream; with the lock held.  There is one, as there are fewer streams than places of a class. */
static cji_place *place_without_stream(cji_place_class *class)
{
    const uint32_t n = atomic_load(&class->n);
    for (uint32_t i = 0; i < n; i++)
        if (!atomic_load(&class->place[i].s) && !class->place[i].idle_since) return &class->place[i];
    atomic_store(&class->n, n + 1);
    return &class->place[n];
}

/* Of eight streams, which are for what. */
static const uint8_t place_works[8] = { CJ_WORK_COMPUTE, CJ_WORK_MEMORY, CJ_WORK_COMPUTE, CJ_WORK_MIXED,
                                        CJ_WORK_COMPUTE, CJ_WORK_MEMORY, CJ_WORK_COMPUTE, CJ_WORK_COORDINATION };

static cj_stream *pool_stream_new(cj_stream_pool *pool, cji_class class, void *into, const char *call)
{
    static const int32_t priority[] = { CJ_PRIORITY_NORMAL, CJ_PRIORITY_HIGH, CJ_PRIORITY_LOW };
    cj_stream *s = cj_stream_create(pool->dev, CJ_STREAM(.priority = priority[class]));
    if (!cji_obj_failed(s)) return s;
    cji_fail_from(into, s, call);
    cj_stream_free(s);
    return NULL;
}

enum { PLACE_TAKEN = 1 }; /* as idle_since: its stream is being created */

cji_place *cji_stream_pool_grow(cj_stream_pool *pool, cji_class class, bool *full, void *into, const char *call)
{
    *full = pool->streams == pool->streams_max;
    if (*full) return NULL;
    cji_place *p = place_without_stream(&pool->class[class]);
    p->idle_since = PLACE_TAKEN;
    atomic_store(&pool->full, ++pool->streams == pool->streams_max);
    cji_unlock(&pool->lock, CJI_LOCK_STREAM_POOL);
    cj_stream *s = pool_stream_new(pool, class, into, call);
    cji_lock(&pool->lock, CJI_LOCK_STREAM_POOL);
    p->idle_since = 0;
    if (!s) {
        pool->streams--;
        atomic_store(&pool->full, false);
        return NULL;
    }
    s->place = p;
    p->work = place_works[(p - pool->class[class].place) % 8];
    atomic_store(&p->followed, 0);
    atomic_store(&p->s, s);
    pool->class[class].live++;
    pool->grown++;
    return p;
}

/* With the lock held: the stream leaves its place, which is closed. */
static cj_stream *place_leave(cj_stream_pool *pool, cji_place *p)
{
    cj_stream *s = atomic_load(&p->s);
    atomic_store(&p->s, NULL);
    p->idle_since = 0;
    s->place = NULL;
    pool->class[p->class].live--;
    pool->streams--;
    atomic_store(&pool->full, false);
    return s;
}

/* With the lock held: whether the place has been idle for the pool's time. */
static bool place_is_old(cj_stream_pool *pool, cji_place *p)
{
    const uint64_t count = cji_enqueued(atomic_load(&p->s)), now = cji_now();
    if (cji_place_leases(pool, p) || !cji_place_idle(p)) p->idle_since = 0;
    else if (!p->idle_since || p->idle_count != count) p->idle_since = now, p->idle_count = count;
    else return now - p->idle_since >= pool->idle_ns;
    return false;
}

/* With the lock held: a stream that is to be freed; NULL: none. */
static cj_stream *pool_idle_stream(cj_stream_pool *pool, bool all)
{
    for (int k = 0; k < CJI_CLASSES; k++) {
        cji_place_class *class = &pool->class[k];
        for (uint32_t i = atomic_load(&class->n); i-- && class->live > class->first;) {
            cji_place *p = &class->place[i];
            if (!atomic_load(&p->s) || atomic_load(&p->closed)) continue;
            if (all ? !cji_place_idle(p) : !place_is_old(pool, p)) continue;
            if (cji_place_close(pool, p)) return place_leave(pool, p);
        }
    }
    return NULL;
}

uint32_t cji_stream_pool_shrink(cj_stream_pool *pool, bool all)
{
    uint32_t n = 0;
    if (!all) { /* four times in a stream's idle time */
        const uint64_t now = cji_now();
        if (now < atomic_load_explicit(&pool->look_next, memory_order_relaxed)) return 0;
        atomic_store_explicit(&pool->look_next, now + pool->idle_ns / 4, memory_order_relaxed);
    }
    for (;; n++) {
        cji_lock(&pool->lock, CJI_LOCK_STREAM_POOL);
        cj_stream *s = pool_idle_stream(pool, all);
        if (s) pool->shrunk++;
        cji_unlock(&pool->lock, CJI_LOCK_STREAM_POOL);
        if (!s) return n;
        cj_stream_free(s);
    }
}

void cji_stream_pool_clear(cj_stream_pool *pool)
{
    for (int k = 0; k < CJI_CLASSES; k++) {
        const uint32_t n = pool->class[k].place ? atomic_load(&pool->class[k].n) : 0;
        for (uint32_t i = 0; i < n; i++) {
            cji_place *p = &pool->class[k].place[i];
            if (!atomic_load(&p->s)) continue;
            atomic_store(&p->closed, 1);
            cj_stream_free(place_leave(pool, p));
        }
    }
}
