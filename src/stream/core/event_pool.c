/* Event pools: made, freed, acquired from and released to. */
#include "stream/core/event_pool.h"

#include <string.h>

enum { POOL_BOUND = 65536, POOL_BOUND_MOST = 262144, POOL_GROWTH = 16 };

/* -- Caches of threads --------------------------------------------------------------------------------------------- */

static cj_event_pool *pool_of_caches(cji_thread_caches *owner)
{
    return (cj_event_pool *)((char *)owner - offsetof(cj_event_pool, caches));
}

static void event_cache_empty(cji_thread_caches *owner, cji_thread_cache *base)
{
    cj_event_pool *pool = pool_of_caches(owner);
    cji_event_cache *c = (cji_event_cache *)base;
    for (int k = 0; k < CJI_EVENT_KINDS; k++) {
        cji_magazine_empty(&c->kind[k], &pool->cells.free[k], CJI_MAGAZINE);
        pool->acquired += atomic_load(&c->kind[k].acquired);
    }
}

static void event_pool_delete(cj_event_pool *pool)
{
    cji_cells_fini(&pool->cells);
    pthread_mutex_destroy(&pool->lock);
    cji_obj_delete(pool, sizeof *pool);
}

static void event_cache_retain(cji_thread_caches *owner) { cji_obj_retain(pool_of_caches(owner)); }
static void event_cache_drop(cji_thread_caches *owner)
{
    if (cji_obj_release(pool_of_caches(owner))) event_pool_delete(pool_of_caches(owner));
}

static const cji_thread_cache_rules event_cache_rules = {
    .bytes = sizeof(cji_event_cache),
    .empty = event_cache_empty,
    .retain = event_cache_retain,
    .drop = event_cache_drop,
};

/* -- Making and releasing ------------------------------------------------------------------------------------------ */

void cj_event_pool_defaults(cj_event_pool_opts *opts)
{
    if (opts) *opts = (cj_event_pool_opts){ .size = sizeof *opts };
}

static bool event_pool_set(cj_event_pool *pool, const cj_event_pool_opts *o, const char *call)
{
    static const char *const names[CJI_EVENT_KINDS] = { "regular", "timing", "blocking" };
    const uint32_t first[] = { o->regular, o->timing, o->blocking };
    const uint32_t most[] = { o->regular_max, o->timing_max, o->blocking_max };
    uint32_t all = 0;
    for (int k = 0; k < CJI_EVENT_KINDS; k++) {
        cji_event_kind_state *kind = &pool->kind[k];
        kind->first = first[k];
        kind->bound = most[k] ? most[k] : POOL_BOUND;
        if (kind->bound > POOL_BOUND_MOST || kind->first > kind->bound) {
            cji_fail(pool, CJ_EINVAL, call, ".%s is %u and .%s_max is %u; the bound is at most %d, the number at most "
                     "the bound", names[k], first[k], names[k], kind->bound, POOL_BOUND_MOST);
            return false;
        }
        all += kind->bound;
    }
    pool->growth = o->growth ? o->growth : POOL_GROWTH;
    if (cji_cells_init(&pool->cells, pool->caches.number, all)) return true;
    cji_fail(pool, CJ_ENOMEM, call, "no memory for the pool's table of %u events", all);
    return false;
}

static void event_pool_fill(cj_event_pool *pool, const cj_event_pool_opts *opts, const char *call)
{
    cj_event_pool_opts o;
    cj_event_pool_defaults(&o);
    bool good = cji_opts_take(&o, sizeof o, opts, pool, call, "cj_event_pool") && event_pool_set(pool, &o, call);
    for (int k = 0; k < CJI_EVENT_KINDS && good; k++) good = cji_event_pool_prepare(pool, (cj_event_kind)k, call);
    if (good) return;
    cji_event_pool_clear(pool);
    cji_obj_set_failed(pool);
}

cj_event_pool *cj_event_pool_create(cj_device *dev, const cj_event_pool_opts *opts)
{
    static const char call[] = "cj_event_pool_create";
    cj_event_pool *pool = cji_obj_new(sizeof *pool, CJI_TAG_EVENT_POOL, 0, call);
    if (cji_obj_failed(pool)) return pool;
    pthread_mutex_init(&pool->lock, NULL);
    cji_thread_caches_init(&pool->caches, pool, &event_cache_rules, sizeof(cji_event_cache), &pool->lock,
                           CJI_LOCK_EVENT_POOL);
    atomic_init(&pool->users, 1);
    if (cji_check_arg(pool, dev, CJI_TAG_DEVICE, call, "the device") != CJ_OK) {
        cji_obj_set_failed(pool);
        return pool;
    }
    pool->dev = cji_obj_retain(dev);
    pool->queue = &dev->queue;
    pool->cu = pool->queue->cu;
    event_pool_fill(pool, opts, call);
    return pool;
}

cj_event_pool *cj_event_pool_for_device(cj_device *dev)
{
    static const char call[] = "cj_event_pool_for_device";
    cj_event_pool *pool = cji_is_live(dev, CJI_TAG_DEVICE) ? cji_device_pool(dev, CJI_TAG_EVENT_POOL, 0) : NULL;
    if (pool) return pool;
    pool = cj_event_pool_create(dev, NULL);
    if (cji_obj_failed(pool)) return pool;
    cj_event_pool *listed = cji_device_pool_enter(dev, CJI_TAG_EVENT_POOL, 0, pool, &pool->users);
    if (listed == pool) return pool;
    if (!listed) {
        cji_fail(pool, CJ_ENOMEM, call, "no memory to note the device's pool");
        cji_obj_set_failed(pool);
        return pool;
    }
    cj_event_pool_free(pool);
    return listed;
}

cj_event_pool *cji_event_pool_retain(cj_event_pool *pool)
{
    atomic_fetch_add(&pool->users, 1);
    return pool;
}

void cji_event_pool_drop(cj_event_pool *pool)
{
    if (atomic_fetch_sub(&pool->users, 1) != 1) return;
    cj_device *dev = pool->dev;
    if (dev) cji_device_pool_leave(dev, pool);
    cji_thread_caches_close(&pool->caches);
    cji_event_pool_clear(pool);
    if (cji_obj_release(pool)) event_pool_delete(pool);
    if (dev) cji_device_drop(dev);
}

void cj_event_pool_free(cj_event_pool *pool)
{
    if (cji_check_free(pool, CJI_TAG_EVENT_POOL, "cj_event_pool_free")) cji_event_pool_drop(pool);
}

cj_device *cj_event_pool_device(const cj_event_pool *pool)
{
    return cji_check(pool, CJI_TAG_EVENT_POOL, "cj_event_pool_device") == CJ_OK ? pool->dev : NULL;
}

/* -- Acquiring ----------------------------------------------------------------------------------------------------- */

/* A handle of the thread's own magazine; 0: there is none. */
static inline uint64_t event_cache_take(cji_event_cache *c, cj_event_kind kind)
{
    cji_magazine *m = &c->kind[kind];
    const unsigned n = atomic_load_explicit(&m->n, memory_order_relaxed);
    if (!n) return 0;
    atomic_store_explicit(&m->n, n - 1, memory_order_relaxed);
    cji_bump(&m->acquired);
    return m->handle[n - 1];
}

static uint64_t event_pool_acquire(cj_event_pool *pool, cj_event_kind kind, void *into, const char *call)
{
    cji_event_cache *c = cji_thread_cache_of(&pool->caches);
    cji_magazine *m = c ? &c->kind[kind] : NULL;
    uint64_t handle = m ? cji_magazine_take(m, &pool->cells, (uint32_t)kind) : 0;
    if (!handle) handle = cji_event_pool_find(pool, kind, m, into, call);
    if (handle && m) cji_bump(&m->acquired);
    return handle;
}

static __attribute__((noinline)) uint64_t event_acquire_checked(cj_event_pool *pool, cj_event_kind kind)
{
    static const char call[] = "cj_event_pool_acquire";
    if (cji_check(pool, CJI_TAG_EVENT_POOL, call) != CJ_OK) return 0;
    if ((unsigned)kind < CJI_EVENT_KINDS) return event_pool_acquire(pool, kind, pool, call);
    cji_fail(pool, CJ_EINVAL, call, "kind %d is none of CJ_EVENT_REGULAR, _TIMING, _BLOCKING", (int)kind);
    return 0;
}

cj_pooled_event cj_event_pool_acquire(cj_event_pool *pool, cj_event_kind kind)
{
    cji_event_cache *c = cji_thread_cache_recent(pool);
    const uint64_t handle = c && (unsigned)kind < CJI_EVENT_KINDS ? event_cache_take(c, kind) : 0;
    return handle ? handle : event_acquire_checked(pool, kind);
}

cj_event *cji_event_acquire(cj_event_pool *pool, cj_event_kind kind, cj_pooled_event *handle, void *into,
                            const char *call)
{
    *handle = event_pool_acquire(pool, kind, into, call);
    return *handle ? cji_cell_event(cji_cells_of(&pool->cells, *handle)) : NULL;
}

/* -- Using and releasing ------------------------------------------------------------------------------------------- */

static const cji_cell_words event_words = { CJI_TAG_EVENT_POOL, "the pooled event", "cj_event_pool_acquire" };

/* The cell of a handle that is held; NULL: *st is the failure, left in the pool. */
static inline cji_cell *event_pool_cell(cj_event_pool *pool, uint64_t handle, cj_status *st, const char *call)
{
    return cji_cells_held(pool, offsetof(cj_event_pool, cells), handle, &event_words, st, call);
}

/* The cell is the caller's alone, and has its next handle. */
static void event_pool_return(cj_event_pool *pool, cji_cell *cell, cji_magazine *m)
{
    cj_event *drop = NULL;
    cji_lock(&pool->lock, CJI_LOCK_EVENT_POOL);
    if (atomic_load_explicit(&cell->note, memory_order_relaxed)) {
        cji_event_pool_settle(pool, cell, &drop);
    } else {
        if (m) cji_magazine_empty(m, &pool->cells.free[cell->kind], CJI_BATCH);
        cji_cell_stack_put(&pool->cells.free[cell->kind], cji_cell_handle(cell));
    }
    cji_unlock(&pool->lock, CJI_LOCK_EVENT_POOL);
    if (drop) cji_event_drop(drop);
}

/* The last holder has released the handle, and the cell is the caller's alone.  `reached`: its event's point is. */
static void event_pool_end(cj_event_pool *pool, cji_cell *cell, cji_event_cache *c, bool reached)
{
    cj_event *e = cji_cell_event(cell);
    if (cji_kept_status(&e->obj.err) != CJ_OK) cji_err_reset(e); /* the next holder's has none */
    cji_magazine *m = c ? &c->kind[cell->kind] : NULL;
    const uint64_t note = atomic_load_explicit(&cell->note, memory_order_relaxed);
    const bool fresh = !note || (reached && note != CJI_NOTE_HELD && cji_event_pool_renew(cell));
    if (!m || !fresh || !cji_magazine_put(m, &pool->cells, cell->kind, cji_cell_handle(cell)))
        event_pool_return(pool, cell, m);
}

/* One holder less, of a handle that was found. */
static cji_cell_fault event_pool_release(cj_event_pool *pool, cji_cell *cell, uint64_t handle, bool reached)
{
    bool last = false;
    const cji_cell_fault fault = cji_cell_release(cell, handle, &last);
    if (fault == CJI_CELL_GOOD && last) event_pool_end(pool, cell, cji_thread_cache_of(&pool->caches), reached);
    return fault;
}

static __attribute__((noinline)) cj_status event_release_checked(cj_event_pool *pool, cj_pooled_event event)
{
    static const char call[] = "cj_event_pool_release";
    cj_status st;
    cji_cell *cell = event_pool_cell(pool, event, &st, call);
    if (!cell) return st;
    if (event_pool_release(pool, cell, event, false) == CJI_CELL_GOOD) return CJ_OK;
    return cji_cell_reject(pool, event, CJI_CELL_STALE, &event_words, call);
}

CJI_PREFETCHES_TO_WRITE cj_status cj_event_pool_release(cj_event_pool *pool, cj_pooled_event event)
{
    cji_event_cache *c = cji_thread_cache_recent(pool);
    cji_cell *cell;
    if (!c || !cji_cells_release_only(&pool->cells, event, &cell)) return event_release_checked(pool, event);
    cji_magazine *m = &c->kind[cell->kind];
    const unsigned n = atomic_load_explicit(&m->n, memory_order_relaxed);
    if (n == CJI_MAGAZINE || atomic_load_explicit(&cell->note, memory_order_relaxed) ||
        cji_kept_status(&cji_cell_event(cell)->obj.err) != CJ_OK)
        return event_pool_end(pool, cell, c, false), CJ_OK;
    m->handle[n] = cji_cell_next(event);
    atomic_store_explicit(&m->n, n + 1, memory_order_relaxed);
    return CJ_OK;
}

cj_status cj_event_pool_retain(cj_event_pool *pool, cj_pooled_event event)
{
    static const char call[] = "cj_event_pool_retain";
    cj_status st;
    cji_cell *cell = event_pool_cell(pool, event, &st, call);
    if (!cell) return st;
    return cji_cell_retain(cell, event) ? CJ_OK : cji_cell_reject(pool, event, CJI_CELL_STALE, &event_words, call);
}

cj_event *cj_event_pool_event(cj_event_pool *pool, cj_pooled_event event)
{
    cj_status st;
    cji_cell *cell = event_pool_cell(pool, event, &st, "cj_event_pool_event");
    return cell ? cji_cell_event(cell) : NULL;
}

static void event_release_known(cj_event_pool *pool, cj_pooled_event handle, bool reached)
{
    cji_cell_fault fault = CJI_CELL_GOOD;
    cji_cell *cell;
    if (cji_cells_release_only(&pool->cells, handle, &cell))
        event_pool_end(pool, cell, cji_thread_cache_of(&pool->caches), reached);
    else if ((cell = cji_cells_find(&pool->cells, handle, &fault)))
        event_pool_release(pool, cell, handle, reached);
}

void cji_event_release(cj_event_pool *pool, cj_pooled_event handle) { event_release_known(pool, handle, false); }
void cji_event_release_reached(cj_event_pool *pool, cj_pooled_event handle)
{
    event_release_known(pool, handle, true);
}

cj_status cj_event_pool_trim(cj_event_pool *pool, uint32_t *freed)
{
    cj_status st = cji_check(pool, CJI_TAG_EVENT_POOL, "cj_event_pool_trim");
    uint32_t n = 0;
    if (freed) *freed = 0;
    if (st != CJ_OK) return st;
    cji_event_cache *c = cji_thread_cache_of(&pool->caches);
    for (int k = 0; k < CJI_EVENT_KINDS; k++) {
        if (c) {
            cji_lock(&pool->lock, CJI_LOCK_EVENT_POOL);
            cji_magazine_empty(&c->kind[k], &pool->cells.free[k], CJI_MAGAZINE);
            cji_unlock(&pool->lock, CJI_LOCK_EVENT_POOL);
        }
        n += cji_event_pool_shrink(pool, (cj_event_kind)k);
    }
    if (freed) *freed = n;
    return CJ_OK;
}

/* -- Statistics ---------------------------------------------------------------------------------------------------- */

void cj_event_pool_stats_defaults(cj_event_pool_stats *stats)
{
    if (stats) *stats = (cj_event_pool_stats){ .size = sizeof *stats };
}

/* With the lock held. */
static void event_pool_count(cj_event_pool *pool, cj_event_pool_stats *now)
{
    now->acquired = pool->acquired;
    for (int k = 0; k < CJI_EVENT_KINDS; k++) {
        uint64_t idle = pool->cells.free[k].n + cji_depot_count(&pool->cells, (uint32_t)k);
        for (cji_thread_cache *base = pool->caches.first; base; base = base->later) {
            cji_magazine *m = &((cji_event_cache *)base)->kind[k];
            idle += atomic_load(&m->n);
            now->acquired += atomic_load(&m->acquired);
        }
        now->free += idle;
        if (k == CJ_EVENT_TIMING) now->free_timing = idle;
        now->events += pool->kind[k].events;
        now->pending += pool->kind[k].pending_count;
    }
    const uint64_t back = now->free + now->pending; /* handles that pass through the depot just now are in neither */
    now->in_use = now->events > back ? now->events - back : 0;
    now->utilisation = now->events ? (double)now->in_use / (double)now->events : 0;
}

cj_status cj_event_pool_get_stats(cj_event_pool *pool, cj_event_pool_stats *stats)
{
    static const char call[] = "cj_event_pool_get_stats";
    cj_status st = cji_check(pool, CJI_TAG_EVENT_POOL, call);
    if (st != CJ_OK) return st;
    if (!stats || stats->size < sizeof stats->size)
        return cji_fail(pool, CJ_EINVAL, call, "stats is NULL, or stats->size is not sizeof(cj_event_pool_stats)");
    cj_event_pool_stats now = { .size = stats->size };
    cji_lock(&pool->lock, CJI_LOCK_EVENT_POOL);
    event_pool_count(pool, &now);
    now.failed = pool->failed;
    now.grown = pool->grown;
    now.replaced = pool->replaced;
    cji_unlock(&pool->lock, CJI_LOCK_EVENT_POOL);
    memcpy(stats, &now, stats->size < sizeof now ? stats->size : sizeof now);
    return CJ_OK;
}
