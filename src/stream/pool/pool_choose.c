/* Which stream a lease gets. */
#include "stream/pool/stream_pool.h"

/* -- Load ---------------------------------------------------------------------------------------------------------- */

enum { OP_NS = 1000 }; /* time of an operation, where none was measured */

/* The time that the place's outstanding work takes, as far as it is known without a driver call; a lease of this
 * thread counts as an operation that is still to come. */
static uint64_t place_load(const cj_stream_pool *pool, const cji_stream_cache *c, const cji_place *p)
{
    const cj_stream *s = atomic_load_explicit(&p->s, memory_order_acquire);
    const int own = atomic_load_explicit(&c->count[p->index], memory_order_relaxed);
    const uint64_t op_ns =
        atomic_load_explicit(&pool->op_ns[atomic_load_explicit(&p->latest, memory_order_relaxed)],
                             memory_order_relaxed);
    const uint64_t ops = (s ? cji_outstanding(s) : 0) + (own > 0 ? (uint64_t)own : 0);
    return ops * (op_ns ? op_ns : OP_NS) + atomic_load_explicit(&p->unseen_ns, memory_order_relaxed);
}

static bool place_open(const cji_place *p) { return !atomic_load_explicit(&p->closed, memory_order_relaxed); }

/* -- Strategies: a place that is open just now; NULL: none is --------------------------------------------------- */

/* The thread's next one of the class. */
static cji_place *choose_next(cj_stream_pool *pool, cji_stream_cache *c, const cji_wish *w)
{
    const cji_place_class *class = &pool->class[w->class];
    const uint32_t n = atomic_load_explicit(&class->n, memory_order_acquire);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t at = c->turn[w->class] + 1;
        if (at >= n) at = 0;
        c->turn[w->class] = at;
        if (place_open(&class->place[at])) return &class->place[at];
    }
    return NULL;
}

enum { ANY_WORK = -1 };

/* The one with the least load, of those for one kind of work; among equals the next one in turn. */
static cji_place *choose_least(cj_stream_pool *pool, cji_stream_cache *c, const cji_wish *w, int work)
{
    const cji_place_class *class = &pool->class[w->class];
    const uint32_t n = atomic_load_explicit(&class->n, memory_order_acquire);
    cji_place *best = NULL;
    uint64_t least = UINT64_MAX;
    uint32_t at = c->turn[w->class];
    for (uint32_t i = 0; i < n && least; i++) {
        if (++at >= n) at = 0;
        cji_place *p = &class->place[at];
        if (!place_open(p) || (work != ANY_WORK && p->work != work)) continue;
        const uint64_t load = place_load(pool, c, p);
        if (load < least) best = p, least = load;
    }
    if (best) c->turn[w->class] = (uint32_t)(best - class->place);
    return best;
}

/* The stream that the work depends on, unless another lease followed the same work. */
static cji_place *choose_followed(cj_stream_pool *pool, const cji_wish *w)
{
    cji_place *p = w->after ? w->after->place : NULL;
    if (!p || p->pool != pool || p->class != w->class || !place_open(p)) return NULL;
    const uint64_t now = cji_enqueued(w->after) + 1;
    return atomic_exchange(&p->followed, now) == now ? NULL : p;
}

static cji_place *choose_one(cj_stream_pool *pool, cji_stream_cache *c, const cji_wish *w, bool *followed)
{
    cji_place *p = NULL;
    switch (w->strategy) {
    case CJ_POOL_ROUND_ROBIN: return choose_next(pool, c, w);
    case CJ_POOL_WORKLOAD: p = choose_least(pool, c, w, (int)w->work); break;
    case CJ_POOL_DEPENDENCY: p = choose_followed(pool, w); break;
    default: break;
    }
    *followed = p && w->strategy == CJ_POOL_DEPENDENCY;
    return p ? p : choose_least(pool, c, w, ANY_WORK);
}

cji_place *cji_place_choose(cj_stream_pool *pool, cji_stream_cache *c, const cji_wish *w, bool *followed)
{
    cji_place *p;
    *followed = false;
    while ((p = choose_one(pool, c, w, followed)))
        if (cji_place_join(&c->count[p->index], p)) return p; /* else it was closed meanwhile */
    return NULL;
}

/* -- Exclusive leases ---------------------------------------------------------------------------------------------- */

bool cji_place_idle(const cji_place *p)
{
    cj_stream *s = atomic_load(&p->s);
    if (atomic_load(&s->capturing)) return false;
    if (!cji_outstanding(s)) return true;
    cji_scope scope;
    cji_scope_relax(&scope, s->cu);
    const uint64_t enqueued = cji_enqueued(s);
    const CUresult r = s->cu->cuStreamQuery(s->raw);
    cji_scope_leave(&scope);
    if (r == CUDA_SUCCESS) cji_seen_done(s, enqueued);
    return r == CUDA_SUCCESS;
}

bool cji_place_close(cj_stream_pool *pool, cji_place *p)
{
    atomic_store(&p->closed, 1);
    if (!cji_place_leases(pool, p)) return true;
    atomic_store(&p->closed, 0);
    return false;
}

cji_place *cji_place_take(cj_stream_pool *pool, const cji_wish *w, bool idle)
{
    const cji_place_class *class = &pool->class[w->class];
    for (uint32_t i = 0; i < atomic_load(&class->n); i++) {
        cji_place *p = &class->place[i];
        if (!place_open(p) || cji_place_leases(pool, p)) continue;
        if ((!idle || cji_place_idle(p)) && cji_place_close(pool, p)) return p;
    }
    return NULL;
}
