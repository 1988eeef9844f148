/* Leases: acquired, used, released. */
#include "stream/pool/stream_pool.h"

/* -- What is requested --------------------------------------------------------------------------------------------- */

void cj_stream_request_defaults(cj_stream_request *request)
{
    if (request) *request = (cj_stream_request){ .size = sizeof *request };
}

int cji_class_of(int32_t priority)
{
    switch (priority) {
    case CJ_PRIORITY_NORMAL: return CJI_CLASS_NORMAL;
    case CJ_PRIORITY_HIGH: case CJ_PRIORITY_CRITICAL: return CJI_CLASS_HIGH;
    case CJ_PRIORITY_LOW: case CJ_PRIORITY_CLEANUP: return CJI_CLASS_LOW;
    default: return -1;
    }
}

/* False: recorded in `into`. */
static bool wish_read(const cj_stream_pool *pool, const cj_stream_request *request, cji_wish *w, void *into,
                      const char *call)
{
    cj_stream_request r = { .size = sizeof r };
    w->strategy = (cj_pool_strategy)atomic_load_explicit(&pool->strategy, memory_order_relaxed);
    if (request && !cji_opts_take(&r, sizeof r, request, into, call, "cj_stream_request")) return false;
    const int class = cji_class_of(r.priority);
    if (class < 0) {
        cji_fail(into, CJ_EINVAL, call, "priority %d is none that a pool has streams of", r.priority);
        return false;
    }
    if ((unsigned)r.work >= CJI_WORKS) {
        cji_fail(into, CJ_EINVAL, call, "work %d is no cj_work", r.work);
        return false;
    }
    if (r.after && cji_check_arg(into, r.after, CJI_TAG_STREAM, call, "the stream of .after") != CJ_OK) return false;
    if (r.kernel && cji_check_arg(into, r.kernel, CJI_TAG_KERNEL, call, "the kernel") != CJ_OK) return false;
    w->class = (cji_class)class;
    w->work = (cj_work)r.work;
    if (r.kernel) cji_kernel_work(r.kernel, &w->work);
    w->after = r.after;
    if (w->strategy == CJ_POOL_PRIORITY && w->work == CJ_WORK_COORDINATION && class == CJI_CLASS_NORMAL)
        w->class = CJI_CLASS_HIGH;
    return true;
}

/* -- Places -------------------------------------------------------------------------------------------------------- */

/* With the lock held: a new stream for a lease of this thread; NULL: *full, or a failure in `into`. */
static cji_place *lease_new_stream(cj_stream_pool *pool, cji_stream_cache *c, const cji_wish *w, bool *full,
                                   void *into, const char *call)
{
    cji_place *p = cji_stream_pool_grow(pool, w->class, full, into, call);
    if (p) atomic_fetch_add(&c->count[p->index], 1);
    return p;
}

static cj_status lease_no_place(const cj_stream_pool *pool, bool exclusive, void *into, const char *call)
{
    return cji_fail(into, CJ_ENOMEM, call,
                    "each stream has %s lease and the pool has %u streams of all priorities; release some, or create "
                    "the pool with a larger .streams_max",
                    exclusive ? "a" : "an exclusive", pool->streams_max);
}

/* One acquisition in CJI_TICK looks at what the others leave out. */
static inline bool lease_is_looked_at(const cji_stream_cache *c)
{
    return atomic_load_explicit(&c->leases.acquired, memory_order_relaxed) % CJI_TICK == 0;
}

/* The chosen stream has many leases: another one is created, where the pool may grow. */
static cji_place *lease_spread(cj_stream_pool *pool, cji_stream_cache *c, const cji_wish *w, cji_place *p)
{
    bool full;
    cji_place *added = NULL;
    cji_lock(&pool->lock, CJI_LOCK_STREAM_POOL);
    if (cji_place_leases(pool, p) > pool->sharers) { /* with the one that is being acquired */
        cji_kept before;
        cji_fail_save(&before);
        added = lease_new_stream(pool, c, w, &full, NULL, "cj_stream_pool_acquire");
        if (added) atomic_store(&added->closed, 0);
        cji_fail_restore(&before); /* without another stream this one serves */
    }
    cji_unlock(&pool->lock, CJI_LOCK_STREAM_POOL);
    if (!added) return p;
    atomic_fetch_sub(&c->count[p->index], 1);
    return added;
}

/* No place was open: with the lock held none is closed for a moment only. */
static cji_place *lease_shared_slow(cj_stream_pool *pool, cji_stream_cache *c, const cji_wish *w, bool *full,
                                    void *into, const char *call)
{
    bool followed;
    cji_lock(&pool->lock, CJI_LOCK_STREAM_POOL);
    cji_place *p = cji_place_choose(pool, c, w, &followed);
    if (!p) {
        p = lease_new_stream(pool, c, w, full, into, call);
        if (p) atomic_store(&p->closed, 0);
    }
    cji_unlock(&pool->lock, CJI_LOCK_STREAM_POOL);
    return p;
}

static cji_place *lease_shared(cj_stream_pool *pool, cji_stream_cache *c, const cji_wish *w, void *into,
                               const char *call)
{
    bool followed = false, full = false;
    cji_place *p = cji_place_choose(pool, c, w, &followed);
    if (!p) {
        p = lease_shared_slow(pool, c, w, &full, into, call);
        if (!p && full) lease_no_place(pool, false, into, call);
        return p;
    }
    if (!followed && !atomic_load_explicit(&pool->full, memory_order_relaxed) &&
        (lease_is_looked_at(c) ||
         atomic_load_explicit(&c->count[p->index], memory_order_relaxed) > (int)pool->sharers))
        p = lease_spread(pool, c, w, p);
    return p;
}

static cji_place *lease_exclusive(cj_stream_pool *pool, cji_stream_cache *c, const cji_wish *w, void *into,
                                  const char *call)
{
    bool full = false;
    cji_lock(&pool->lock, CJI_LOCK_STREAM_POOL);
    cji_place *p = cji_place_take(pool, w, true);
    if (p) atomic_fetch_add(&c->count[p->index], 1);
    else p = lease_new_stream(pool, c, w, &full, into, call);
    if (!p && full && (p = cji_place_take(pool, w, false))) atomic_fetch_add(&c->count[p->index], 1);
    cji_unlock(&pool->lock, CJI_LOCK_STREAM_POOL);
    if (!p && full) lease_no_place(pool, true, into, call);
    return p;
}

/* -- Acquiring ----------------------------------------------------------------------------------------------------- */

/* A free lease that no thread has in its cache; 0: recorded in `into`. */
static uint64_t lease_find(cj_stream_pool *pool, cji_stream_cache *c, void *into, const char *call)
{
    bool full = false;
    cji_cell_stack *stack = &pool->leases.free[0];
    cji_lock(&pool->lock, CJI_LOCK_STREAM_POOL);
    cji_depot_empty(&pool->leases, 0);
    while (stack->n < CJI_BATCH) {
        cji_cell *cell = cji_cells_make(&pool->leases, 0, &full);
        if (!cell) break;
        cji_cell_stack_put(stack, cji_cell_handle(cell));
    }
    const uint64_t lease = cji_cell_stack_take(stack);
    cji_magazine_fill(&c->leases, stack);
    cji_unlock(&pool->lock, CJI_LOCK_STREAM_POOL);
    if (!lease)
        cji_fail(into, CJ_ENOMEM, call, full ? "there are %u leases already; release some"
                                             : "no memory for more leases than %u",
                 (unsigned)atomic_load(&pool->leases.made));
    return lease;
}

static void lease_failed(cj_stream_pool *pool, cji_stream_cache *c, uint64_t lease)
{
    cji_lock(&pool->lock, CJI_LOCK_STREAM_POOL);
    if (lease && !cji_magazine_put(&c->leases, &pool->leases, 0, lease))
        cji_cell_stack_put(&pool->leases.free[0], lease);
    pool->failed++;
    cji_unlock(&pool->lock, CJI_LOCK_STREAM_POOL);
}

/* The thread has more leases than when the peak was noted last.  While it is alone with the pool it knows the peak;
 * else releases by other threads are not among its own, and it looks less and less often. */
static void lease_note_peak(cj_stream_pool *pool, cji_stream_cache *c, int64_t open)
{
    c->noted = open;
    if (!atomic_load_explicit(&pool->caches.shared, memory_order_relaxed)) {
        atomic_store_explicit(&c->most, open, memory_order_relaxed);
        return;
    }
    c->noted += 1 + open / 4;
    cji_lock(&pool->lock, CJI_LOCK_STREAM_POOL);
    cji_stream_pool_note_peak(pool);
    cji_unlock(&pool->lock, CJI_LOCK_STREAM_POOL);
}

/* What is counted of a lease that was acquired. */
static void lease_count(cj_stream_pool *pool, cji_stream_cache *c, const cji_wish *w, const cji_place *p,
                        bool exclusive)
{
    cji_requests *r = &c->requests;
    const bool looked_at = lease_is_looked_at(c);
    cji_bump(&c->leases.acquired);
    cji_bump(&c->slow);
    cji_bump(&r->work[w->work]);
    if (exclusive) cji_bump(&c->exclusive);
    else cji_bump(&r->strategy[w->strategy]);
    if (w->after) cji_bump(&r->after);
    if (p->class != CJI_CLASS_NORMAL) cji_bump(&r->other_priority);
    if (!exclusive && looked_at) {
        cji_bump(&r->looked[w->strategy]);
        if (!cji_outstanding(atomic_load(&p->s)) && atomic_load(&c->count[p->index]) <= 1)
            cji_bump(&r->idle[w->strategy]);
    }
    const int64_t open = atomic_load_explicit(&c->open, memory_order_relaxed) + 1;
    atomic_store_explicit(&c->open, open, memory_order_relaxed);
    if (open > c->noted) lease_note_peak(pool, c, open);
}

/* One of each N acquisitions of a thread.  Which one is by chance: a thread whose requests alternate would else have
 * the same kind measured each time. */
static bool lease_is_sampled(const cj_stream_pool *pool, cji_stream_cache *c)
{
    if (c->sampled == 0) {
        if (!c->chance) c->chance = (uint32_t)((uintptr_t)c >> 6) | 1;
        c->chance ^= c->chance << 13;
        c->chance ^= c->chance >> 17;
        c->chance ^= c->chance << 5;
        c->sample_at = c->chance % pool->sample;
    }
    const bool now = c->sampled == c->sample_at;
    if (++c->sampled == pool->sample) c->sampled = 0;
    return now;
}

static cji_place *lease_acquire(cj_stream_pool *pool, const cj_stream_request *request, bool exclusive,
                                cj_pooled_stream *lease, void *into, const char *call)
{
    cji_wish w;
    cji_place *p = NULL;
    *lease = 0;
    cji_stream_cache *c = cji_thread_cache_of(&pool->caches);
    if (!c) return cji_fail(into, CJ_ENOMEM, call, "no memory for the thread's part of the pool"), NULL;
    if (wish_read(pool, request, &w, into, call)) {
        *lease = cji_magazine_take(&c->leases, &pool->leases, 0);
        if (!*lease) *lease = lease_find(pool, c, into, call);
        if (*lease) p = exclusive ? lease_exclusive(pool, c, &w, into, call) : lease_shared(pool, c, &w, into, call);
    }
    if (!p) {
        lease_failed(pool, c, *lease);
        *lease = 0;
        return NULL;
    }
    cji_cell *cell = cji_cells_of(&pool->leases, *lease);
    cell->what = p;
    if (atomic_load_explicit(&p->latest, memory_order_relaxed) != (unsigned)w.work)
        atomic_store_explicit(&p->latest, (unsigned)w.work, memory_order_relaxed);
    const uint64_t unseen = atomic_load_explicit(&pool->unseen_ns[w.work], memory_order_relaxed);
    if (unseen) atomic_fetch_add_explicit(&p->unseen_ns, unseen, memory_order_relaxed);
    cell->more[0] = unseen;
    cell->more[1] = exclusive;
    if (pool->sample && lease_is_sampled(pool, c)) cell->more[2] = (uintptr_t)cji_sample_begin(pool, &w, p);
    atomic_store_explicit(&cell->note, cell->more[0] || cell->more[1] || cell->more[2], memory_order_relaxed);
    lease_count(pool, c, &w, p, exclusive);
    return p;
}

cj_stream *cji_lease_acquire(cj_stream_pool *pool, const cj_stream_request *request, bool exclusive,
                             cj_pooled_stream *lease, void *into, const char *call)
{
    cji_place *p = lease_acquire(pool, request, exclusive, lease, into, call);
    return p ? atomic_load(&p->s) : NULL;
}

static __attribute__((noinline)) cj_pooled_stream pool_acquire(cj_stream_pool *pool, const cj_stream_request *request,
                                                               bool exclusive, const char *call)
{
    cj_pooled_stream lease = 0;
    if (cji_check(pool, CJI_TAG_STREAM_POOL, call) == CJ_OK)
        lease_acquire(pool, request, exclusive, &lease, pool, call);
    return lease;
}

/* The usual case: without a request and in turn, where the pool need not grow, nothing is measured or noted and the
 * thread has a free lease.  0: it is another case.  What is counted of it: an acquisition that is not slow. */
static inline cj_pooled_stream lease_acquire_quick(cj_stream_pool *pool, cji_stream_cache *c)
{
    cji_magazine *m = &c->leases;
    const cji_place_class *class = &pool->class[CJI_CLASS_NORMAL];
    const unsigned n = atomic_load_explicit(&m->n, memory_order_relaxed);
    const int64_t open = atomic_load_explicit(&c->open, memory_order_relaxed);
    if (!n || lease_is_looked_at(c) || open >= c->noted) return 0;
    uint32_t at = c->turn[CJI_CLASS_NORMAL] + 1;
    if (at >= atomic_load_explicit(&class->n, memory_order_acquire)) at = 0;
    cji_place *p = &class->place[at];
    atomic_int *count = &c->count[at]; /* the index of a place of the first class */
    if (!atomic_load_explicit(&pool->full, memory_order_relaxed) &&
        atomic_load_explicit(count, memory_order_relaxed) >= (int)pool->sharers)
        return 0;
    if (!cji_place_join(count, p)) return 0;
    c->turn[CJI_CLASS_NORMAL] = at;
    const uint64_t lease = m->handle[n - 1];
    cji_cells_of(&pool->leases, lease)->what = p;
    if (atomic_load_explicit(&p->latest, memory_order_relaxed) != CJ_WORK_COMPUTE)
        atomic_store_explicit(&p->latest, CJ_WORK_COMPUTE, memory_order_relaxed);
    atomic_store_explicit(&m->n, n - 1, memory_order_relaxed);
    cji_bump(&m->acquired);
    atomic_store_explicit(&c->open, open + 1, memory_order_relaxed);
    return lease;
}

cj_pooled_stream cj_stream_pool_acquire(cj_stream_pool *pool, const cj_stream_request *request)
{
    cji_stream_cache *c = request ? NULL : cji_thread_cache_recent(pool);
    cj_pooled_stream lease = 0;
    if (c && atomic_load_explicit(&pool->in_turn, memory_order_relaxed)) lease = lease_acquire_quick(pool, c);
    return lease ? lease : pool_acquire(pool, request, false, "cj_stream_pool_acquire");
}

cj_pooled_stream cj_stream_pool_acquire_exclusive(cj_stream_pool *pool, const cj_stream_request *request)
{
    return pool_acquire(pool, request, true, "cj_stream_pool_acquire_exclusive");
}

/* -- Using and releasing ------------------------------------------------------------------------------------------- */

static const cji_cell_words lease_words = { CJI_TAG_STREAM_POOL, "the lease", "cj_stream_pool_acquire" };

/* The cell of a lease that is held; NULL: *st is the failure, left in the pool. */
static inline cji_cell *lease_cell(cj_stream_pool *pool, uint64_t lease, cj_status *st, const char *call)
{
    return cji_cells_held(pool, offsetof(cj_stream_pool, leases), lease, &lease_words, st, call);
}

cj_stream *cj_stream_pool_stream(cj_stream_pool *pool, cj_pooled_stream lease)
{
    cj_status st;
    const cji_cell *cell = lease_cell(pool, lease, &st, "cj_stream_pool_stream");
    return cell ? atomic_load(&((const cji_place *)cell->what)->s) : NULL;
}

cj_status cj_stream_pool_sharers(cj_stream_pool *pool, cj_pooled_stream lease, uint32_t *sharers)
{
    static const char call[] = "cj_stream_pool_sharers";
    cj_status st;
    const cji_cell *cell = lease_cell(pool, lease, &st, call);
    if (!cell) return st;
    if (!sharers) return cji_fail(pool, CJ_EINVAL, call, "`sharers` is NULL, there is no place for the result");
    cji_lock(&pool->lock, CJI_LOCK_STREAM_POOL);
    *sharers = (uint32_t)cji_place_leases(pool, cell->what);
    cji_unlock(&pool->lock, CJI_LOCK_STREAM_POOL);
    return CJ_OK;
}

/* The thread has no cache, and its count becomes the pool's. */
static void lease_return_slow(cj_stream_pool *pool, cji_cell *cell, cji_stream_cache *c)
{
    cji_lock(&pool->lock, CJI_LOCK_STREAM_POOL);
    if (c) {
        cji_magazine_empty(&c->leases, &pool->leases.free[0], CJI_BATCH);
    } else {
        ((cji_place *)cell->what)->leases--;
        pool->open--;
    }
    cji_cell_stack_put(&pool->leases.free[0], cji_cell_handle(cell));
    cji_unlock(&pool->lock, CJI_LOCK_STREAM_POOL);
}

/* By the thread. */
static inline uint64_t leases_released(const cji_stream_cache *c)
{
    return atomic_load_explicit(&c->leases.acquired, memory_order_relaxed) -
           (uint64_t)atomic_load_explicit(&c->open, memory_order_relaxed);
}

static inline void lease_uncount(cji_stream_cache *c, const cji_place *p)
{
    atomic_int *count = &c->count[p->index];
    atomic_store_explicit(count, atomic_load_explicit(count, memory_order_relaxed) - 1, memory_order_release);
    atomic_store_explicit(&c->open, atomic_load_explicit(&c->open, memory_order_relaxed) - 1, memory_order_relaxed);
}

/* The lease has ended, and its cell is the caller's alone. */
static void lease_end(cj_stream_pool *pool, cji_cell *cell, cji_stream_cache *c)
{
    cji_place *p = cell->what;
    const bool exclusive = cell->more[1];
    if (cell->more[0]) atomic_fetch_sub_explicit(&p->unseen_ns, cell->more[0], memory_order_relaxed);
    if (cell->more[2]) cji_sample_end(pool, (cji_sample *)(uintptr_t)cell->more[2]);
    for (int i = 0; i < 3; i++) cell->more[i] = 0;
    atomic_store_explicit(&cell->note, 0, memory_order_relaxed);
    if (c) lease_uncount(c, p);
    if (!c || !cji_magazine_put(&c->leases, &pool->leases, 0, cji_cell_handle(cell)))
        lease_return_slow(pool, cell, c);
    if (exclusive) atomic_store(&p->closed, 0);
    if (c && leases_released(c) % CJI_UNTICK == 0) cji_stream_pool_shrink(pool, false);
}

/* The same, of a lease whose cell was found. */
static cji_cell_fault lease_release(cj_stream_pool *pool, cji_cell *cell, uint64_t lease)
{
    bool last = false;
    const cji_cell_fault fault = cji_cell_release(cell, lease, &last);
    if (fault == CJI_CELL_GOOD) lease_end(pool, cell, cji_thread_cache_of(&pool->caches));
    return fault;
}

static __attribute__((noinline)) cj_status lease_release_checked(cj_stream_pool *pool, cj_pooled_stream lease)
{
    static const char call[] = "cj_stream_pool_release";
    cj_status st;
    cji_cell *cell = lease_cell(pool, lease, &st, call);
    if (!cell) return st;
    return lease_release(pool, cell, lease) == CJI_CELL_GOOD
               ? CJ_OK
               : cji_cell_reject(pool, lease, CJI_CELL_STALE, &lease_words, call);
}

CJI_PREFETCHES_TO_WRITE cj_status cj_stream_pool_release(cj_stream_pool *pool, cj_pooled_stream lease)
{
    cji_stream_cache *c = cji_thread_cache_recent(pool);
    cji_cell *cell;
    if (!c || !cji_cells_release_only(&pool->leases, lease, &cell)) return lease_release_checked(pool, lease);
    cji_magazine *m = &c->leases;
    const unsigned n = atomic_load_explicit(&m->n, memory_order_relaxed);
    if (n == CJI_MAGAZINE || atomic_load_explicit(&cell->note, memory_order_relaxed) ||
        (leases_released(c) + 1) % CJI_UNTICK == 0)
        return lease_end(pool, cell, c), CJ_OK;
    lease_uncount(c, cell->what);
    m->handle[n] = cji_cell_next(lease);
    atomic_store_explicit(&m->n, n + 1, memory_order_relaxed);
    return CJ_OK;
}

void cji_lease_release(cj_stream_pool *pool, cj_pooled_stream lease)
{
    cji_cell_fault fault = CJI_CELL_GOOD;
    cji_cell *cell = cji_cells_find(&pool->leases, lease, &fault);
    if (cell) lease_release(pool, cell, lease);
}

cj_status cj_stream_pool_trim(cj_stream_pool *pool, uint32_t *freed)
{
    cj_status st = cji_check(pool, CJI_TAG_STREAM_POOL, "cj_stream_pool_trim");
    const uint32_t n = st == CJ_OK ? cji_stream_pool_shrink(pool, true) : 0;
    if (freed) *freed = n;
    return st;
}
