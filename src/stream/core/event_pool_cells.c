/* The events of a pool: new ones, free ones, those whose points are not reached yet. */
#include "stream/core/event_pool.h"

/* -- Lines of cells: with the lock held ---------------------------------------------------------------------------- */

static void line_put(cj_event_pool *pool, cji_cell_line *line, cji_cell *c)
{
    c->more[0] = 0;
    if (line->last) cji_cells_at(&pool->cells, line->last - 1)->more[0] = c->index + 1;
    else line->first = c->index + 1;
    line->last = c->index + 1;
}

static cji_cell *line_take(cj_event_pool *pool, cji_cell_line *line)
{
    if (!line->first) return NULL;
    cji_cell *c = cji_cells_at(&pool->cells, line->first - 1);
    line->first = (uint32_t)c->more[0];
    if (!line->first) line->last = 0;
    return c;
}

static void pending_put(cj_event_pool *pool, cji_cell *c, uint64_t bit)
{
    cji_event_kind_state *kind = &pool->kind[c->kind];
    const unsigned at = (unsigned)__builtin_ctzll(bit);
    line_put(pool, &kind->pending[at], c);
    kind->busy |= UINT64_C(1) << at;
    kind->pending_count++;
}

static cji_cell *pending_take(cj_event_pool *pool, cji_event_kind_state *kind, unsigned at)
{
    cji_cell *c = line_take(pool, &kind->pending[at]);
    if (!kind->pending[at].first) kind->busy &= ~(UINT64_C(1) << at);
    kind->pending_count--;
    return c;
}

/* The cell has no event any more. */
static cj_event *cell_hollow(cj_event_pool *pool, cji_cell *c)
{
    cj_event *e = c->what;
    c->what = NULL;
    atomic_store_explicit(&c->note, 0, memory_order_relaxed);
    line_put(pool, &pool->kind[c->kind].hollow, c);
    pool->kind[c->kind].events--;
    cji_event_leave_pool(e);
    return e;
}

bool cji_event_pool_renew(cji_cell *c)
{
    cj_event *e = c->what;
    cji_lock(&e->lock, CJI_LOCK_EVENT);
    const bool watched = e->point != NULL;
    if (!watched) {
        e->recorded = false;
        atomic_store(&e->plain, false);
        atomic_store_explicit(&e->on, 0, memory_order_relaxed);
        atomic_store_explicit(&c->note, 0, memory_order_relaxed);
    }
    cji_unlock(&e->lock, CJI_LOCK_EVENT);
    return !watched;
}

void cji_event_pool_settle(cj_event_pool *pool, cji_cell *c, cj_event **drop)
{
    const uint64_t note = atomic_load_explicit(&c->note, memory_order_relaxed);
    if (note == CJI_NOTE_HELD) {
        *drop = cell_hollow(pool, c);
        pool->replaced++;
    } else {
        pending_put(pool, c, note);
    }
}

/* -- Points that are reached --------------------------------------------------------------------------------------- */

/* With the lock held.  The oldest event of each line is queried, and those behind it while they are reached: at most
 * CJI_POOL_LOOKS in all.  A result that is an error counts as reached: the context has failed.  An event whose point
 * somebody still watches joins the line's end. */
static void harvest(cj_event_pool *pool, cj_event_kind k)
{
    cji_event_kind_state *kind = &pool->kind[k];
    uint64_t left = kind->busy;
    cji_scope scope;
    if (!left) return;
    cji_scope_relax(&scope, pool->cu);
    for (unsigned looks = 0; left && looks < CJI_POOL_LOOKS;) {
        const unsigned turn = kind->turn % CJI_POOL_LINES;
        const uint64_t behind = left >> turn << turn; /* lines from `turn` on come first */
        const unsigned at = (unsigned)__builtin_ctzll(behind ? behind : left);
        const uint64_t bit = UINT64_C(1) << at;
        kind->turn = at + 1;
        left &= ~bit;
        while ((kind->busy & bit) && looks < CJI_POOL_LOOKS) {
            cji_cell *c = cji_cells_at(&pool->cells, kind->pending[at].first - 1);
            looks++;
            if (pool->cu->cuEventQuery(cji_cell_event(c)->raw) == CUDA_ERROR_NOT_READY) break;
            pending_take(pool, kind, at);
            if (cji_event_pool_renew(c)) cji_cell_stack_put(&pool->cells.free[k], cji_cell_handle(c));
            else pending_put(pool, c, bit);
        }
    }
    cji_scope_leave(&scope);
}

/* -- New events ---------------------------------------------------------------------------------------------------- */

/* With the lock held: a cell without an event; NULL: *full, or no memory. */
static cji_cell *cell_without_event(cj_event_pool *pool, cj_event_kind k, bool *full)
{
    cji_event_kind_state *kind = &pool->kind[k];
    *full = false;
    cji_cell *c = line_take(pool, &kind->hollow);
    if (c) return c;
    *full = kind->cells == kind->bound;
    if (*full) return NULL;
    c = cji_cells_make(&pool->cells, k, full);
    if (c) kind->cells++;
    return c;
}

/* Creates the event of a cell that is the caller's, without the lock; false: recorded in `into`. */
static bool cell_fill(cj_event_pool *pool, cji_cell *c, void *into, const char *call)
{
    const cj_event_opts o = { .size = sizeof o, .timing = c->kind == CJ_EVENT_TIMING,
                              .blocking = c->kind == CJ_EVENT_BLOCKING };
    cj_event *e = cji_event_make(pool->dev, &o, call);
    if (cji_obj_failed(e)) {
        cji_fail_from(into, e, call);
        cj_event_free(e);
        return false;
    }
    e->cell = c;
    c->what = e;
    return true;
}

enum { POOL_STEP = 32 };

/* Adds up to `count` events, with the lock held, which is released meanwhile.  Returns how many; *full: the bound is
 * reached.  A failure is recorded in `into`. */
static uint32_t pool_add(cj_event_pool *pool, cj_event_kind k, uint32_t count, bool *full, void *into,
                         const char *call)
{
    cji_cell *cell[POOL_STEP];
    uint32_t taken = 0, made = 0;
    *full = false;
    if (count > POOL_STEP) count = POOL_STEP;
    while (taken < count && (cell[taken] = cell_without_event(pool, k, full))) taken++;
    cji_unlock(&pool->lock, CJI_LOCK_EVENT_POOL);
    if (!taken && !*full) cji_fail(into, CJ_ENOMEM, call, "no memory for another event of the pool");
    while (made < taken && cell_fill(pool, cell[made], into, call)) made++;
    cji_lock(&pool->lock, CJI_LOCK_EVENT_POOL);
    for (uint32_t i = 0; i < taken; i++) {
        if (i < made) cji_cell_stack_put(&pool->cells.free[k], cji_cell_handle(cell[i]));
        else line_put(pool, &pool->kind[k].hollow, cell[i]);
    }
    pool->kind[k].events += made;
    return made;
}

bool cji_event_pool_prepare(cj_event_pool *pool, cj_event_kind kind, const char *call)
{
    bool full = false;
    uint32_t n = 0, made = 1;
    cji_lock(&pool->lock, CJI_LOCK_EVENT_POOL);
    for (; n < pool->kind[kind].first && made; n += made)
        made = pool_add(pool, kind, pool->kind[kind].first - n, &full, pool, call);
    cji_unlock(&pool->lock, CJI_LOCK_EVENT_POOL);
    return n == pool->kind[kind].first;
}

/* With the lock held: a free handle, and some for the magazine. */
static uint64_t stack_take(cj_event_pool *pool, cj_event_kind kind, cji_magazine *m)
{
    cji_cell_stack *stack = &pool->cells.free[kind];
    if (!stack->n) cji_depot_empty(&pool->cells, (uint32_t)kind); /* what other threads have left meanwhile */
    uint64_t handle = cji_cell_stack_take(stack);
    if (handle && m) cji_magazine_fill(m, stack);
    return handle;
}

/* With the lock held, at the bound: one pending event gives its cell; *drop is the event. */
static bool pending_replace(cj_event_pool *pool, cj_event_kind k, cj_event **drop)
{
    cji_event_kind_state *kind = &pool->kind[k];
    if (!kind->busy) return false;
    cji_cell *c = pending_take(pool, kind, (unsigned)__builtin_ctzll(kind->busy));
    *drop = cell_hollow(pool, c);
    pool->replaced++;
    return true;
}

uint64_t cji_event_pool_find(cj_event_pool *pool, cj_event_kind kind, cji_magazine *m, void *into, const char *call)
{
    cj_event *drop = NULL;
    bool full = false, failed = false;
    cji_lock(&pool->lock, CJI_LOCK_EVENT_POOL);
    uint64_t handle = stack_take(pool, kind, m);
    if (!handle) {
        harvest(pool, kind);
        handle = stack_take(pool, kind, m);
    }
    while (!handle && !failed) {
        const uint32_t made = pool_add(pool, kind, pool->growth, &full, into, call);
        pool->grown += made;
        handle = stack_take(pool, kind, m);
        if (handle || made) continue; /* another thread may have taken them */
        if (!full || drop || !pending_replace(pool, kind, &drop)) failed = true;
    }
    if (handle && !m) pool->acquired++;
    if (!handle) pool->failed++;
    cji_unlock(&pool->lock, CJI_LOCK_EVENT_POOL);
    if (drop) cji_event_drop(drop);
    if (!handle && full)
        cji_fail(into, CJ_ENOMEM, call,
                 "all %u events of the pool are acquired; release some, or create the pool with a larger .%s_max",
                 pool->kind[kind].bound,
                 kind == CJ_EVENT_TIMING ? "timing" : kind == CJ_EVENT_BLOCKING ? "blocking" : "regular");
    return handle;
}

/* -- Fewer events -------------------------------------------------------------------------------------------------- */

uint32_t cji_event_pool_shrink(cj_event_pool *pool, cj_event_kind k)
{
    cji_event_kind_state *kind = &pool->kind[k];
    uint32_t n = 0;
    cji_lock(&pool->lock, CJI_LOCK_EVENT_POOL);
    harvest(pool, k);
    cji_depot_empty(&pool->cells, (uint32_t)k);
    while (kind->events > kind->first && pool->cells.free[k].n) {
        const uint64_t handle = cji_cell_stack_take(&pool->cells.free[k]);
        cj_event *e = cell_hollow(pool, cji_cells_of(&pool->cells, handle));
        cji_unlock(&pool->lock, CJI_LOCK_EVENT_POOL);
        cji_event_drop(e);
        n++;
        cji_lock(&pool->lock, CJI_LOCK_EVENT_POOL);
    }
    cji_unlock(&pool->lock, CJI_LOCK_EVENT_POOL);
    return n;
}

void cji_event_pool_clear(cj_event_pool *pool)
{
    const uint32_t made = atomic_load(&pool->cells.made);
    for (uint32_t i = 0; i < made; i++) {
        cji_cell *c = cji_cells_at(&pool->cells, i);
        cj_event *e = c->what;
        if (!e) continue;
        c->what = NULL;
        cji_event_leave_pool(e);
        cji_event_drop(e);
    }
}
