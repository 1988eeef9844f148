/* The thread that watches: queries the first wait of each group that is due, and all waits whose time has passed.
 *
 * A group is due without a pause while its first wait is young, so that short work is seen at once: one look queries it
 * again and again, until there is a result or something new, or for SPIN_NS.  Between the end of the work and the
 * callback are then the query under way, one lock and the list of callbacks; no clock, no sleep, no sched_yield().
 * Later a group is due with pauses (wait_pace.c).  Groups that are due within a short time are queried together, so
 * that the thread wakes up as often for eight streams as for one.  Queries are made without the waiter's lock; a wait
 * that is completed meanwhile is recognised, because it is not pending any more.
 *
 * Where the process has one or two cores, and where more groups are young than twice the cores, the thread yields to
 * others between queries: the work itself, or the host functions before it, may need the core.
 *
 * Completions keep the order of a stream.  A wait that is not the first of its group is queried when its time has
 * passed, and in turn.  The first of its group is queried behind it.  If both are complete, the group's waits complete
 * one after another.  If only the later one is complete, the group's order was wrong, and it completes alone.
 *
 * At exit() the driver ends at an unknown moment.  A handler, which is younger than the driver's own, stops all
 * queries: the threads then only wait for cj_waiter_free. */
#include <sched.h>
#include <stdlib.h>
#include <time.h>

#include "base/handover.h"
#include "base/process.h"
#include "stream/coordinate/stream_coordinate.h"

enum {
    LOOK_MOST = 64,           /* waits that are queried without the lock at a time */
    LOOK_LATE = 24,           /* of them, those whose time has passed */
    LOOK_TOGETHER_NS = 15000, /* what is due so soon is queried, too ... */
    LOOK_TOGETHER_PART = 4,   /* ... and what has come to the last quarter of its pause */
    LOOK_IN_TURN = 4,         /* each so many looks have a wait that is not the first of its group */
    SPIN_NS = 50000,          /* one look */
    SPIN_CLOCK = 4,           /* rounds of queries for each reading of the clock */
    SPIN_YIELD = 8,           /* rounds between two of sched_yield() with few cores */
    SPIN_FEW_CORES = 2
};

typedef struct looked { cji_waiting *wait; CUresult result; bool young; } looked;

typedef struct look {
    looked at[LOOK_MOST];
    unsigned count, others; /* the first `others` of them are not the first of their group */
    unsigned young;         /* how many are queried without a pause */
    uint64_t now;           /* when it began */
    uint64_t until;         /* the young ones are queried again until then; 0: once */
    unsigned yields;        /* to other threads, each so many rounds of queries of young ones; 0: never */
    bool broken;            /* a query says that the context has failed */
    bool dead;              /* ... that the process ends */
    CUresult why;
} look;

/* -- The end of the process ---------------------------------------------------------------------------------------- */

static struct { pthread_once_t once; atomic_bool ends; atomic_uint inside; uint32_t fork_gen; } watch_exit = {
    .once = PTHREAD_ONCE_INIT
};

/* Waits for queries under way, which are short.  In a child of fork() there is nobody to wait for. */
static void watch_exit_run(void)
{
    atomic_store(&watch_exit.ends, true);
    if (!cji_fork_gen_is(watch_exit.fork_gen)) return;
    const uint64_t limit = cji_now() + 100000000;
    while (atomic_load(&watch_exit.inside) && cji_now() < limit) sched_yield();
}

static void watch_exit_register(void)
{
    watch_exit.fork_gen = cji_fork_gen();
    cji_handover_flag(&watch_exit.ends, sizeof watch_exit.ends);
    cji_handover_flag(&watch_exit.inside, sizeof watch_exit.inside);
    atexit(watch_exit_run);
}

void cji_wait_watch_exit(void) { pthread_once(&watch_exit.once, watch_exit_register); }

static bool watch_enter(void)
{
    atomic_fetch_add(&watch_exit.inside, 1);
    if (!atomic_load(&watch_exit.ends)) return true;
    atomic_fetch_sub(&watch_exit.inside, 1);
    return false;
}

static void watch_leave(void) { atomic_fetch_sub(&watch_exit.inside, 1); }

/* -- One look ------------------------------------------------------------------------------------------------------ */

static void look_add(look *l, cji_waiting *a, bool young)
{
    if (l->count == LOOK_MOST || a->asked) return;
    a->asked = true;
    a->group->looked = l->count;
    l->young += young;
    l->at[l->count++] = (looked){ a, CUDA_ERROR_NOT_READY, young };
}

static cji_waiting *group_first(const cji_wait_group *g) { return cji_wait_by_order(g->first); }

/* Waits whose time has passed leave the heap: they are queried once more, and do not stay if they are not complete. */
static void look_at_late(cj_waiter *w, look *l)
{
    while (w->deadlines && w->deadlines->key <= l->now && l->count < LOOK_LATE) {
        cji_waiting *a = cji_wait_by_time(w->deadlines);
        w->deadlines = cji_heap_remove(w->deadlines, w->deadlines);
        a->timed = false;
        a->late = true;
        if (a == group_first(a->group)) a->group->due = 0;
        else look_add(l, a, false);
    }
}

/* One of those that are not the first of their group, in turn. */
static void look_in_turn(cj_waiter *w, look *l)
{
    if (w->pending == w->group_count || ++w->looks % LOOK_IN_TURN != 0) return;
    for (int i = 0; i < CJI_WAIT_CHUNK; i++) {
        if (w->turn >= w->chunks * CJI_WAIT_CHUNK) w->turn = 0;
        cji_waiting *a = &w->chunk[w->turn / CJI_WAIT_CHUNK][w->turn % CJI_WAIT_CHUNK];
        w->turn++;
        if (a->state != CJI_WAIT_PENDING || a == group_first(a->group)) continue;
        look_add(l, a, false);
        return;
    }
}

/* When the group's first is queried again. */
static void group_pause(cj_waiter *w, cji_wait_group *g, uint64_t now)
{
    const cji_waiting *a = group_first(g);
    const uint64_t age = now > a->added ? now - a->added : 0;
    const cji_wait_pace *p = cji_wait_pace_at(w, g->of);
    g->pause = age < w->spin ? 0 : cji_wait_pause(p->of == g->of ? p : NULL, age);
    g->due = now + g->pause;
}

/* The first ones: of the groups of those above, then of all groups that are due, beginning behind the last look's. */
static void look_at_groups(cj_waiter *w, look *l)
{
    l->others = l->count;
    for (unsigned i = 0; i < l->others; i++) look_add(l, group_first(l->at[i].wait->group), false);
    cji_wait_group *g = w->cursor ? w->cursor : w->groups, *const begin = g;
    while (g && l->count < LOOK_MOST) {
        if (g->due <= l->now + LOOK_TOGETHER_NS + g->pause / LOOK_TOGETHER_PART) {
            group_pause(w, g, l->now);
            look_add(l, group_first(g), !g->pause);
        }
        g = g->next ? g->next : w->groups;
        if (g == begin) break;
    }
    w->cursor = g;
}

/* How long the young ones are queried: until something else is due. */
static void look_spins(const cj_waiter *w, look *l)
{
    l->yields = l->young > 2 * w->cores ? 1 : l->young && w->cores <= SPIN_FEW_CORES ? SPIN_YIELD : 0;
    if (!l->young || l->count == LOOK_MOST) return;
    l->until = l->now + SPIN_NS;
    if (w->deadlines && w->deadlines->key < l->until) l->until = w->deadlines->key;
    for (const cji_wait_group *g = w->groups; g; g = g->next)
        if (g->pause && g->due < l->until) l->until = g->due;
}

/* One round of queries, after the first one of the young ones only.  False: all were made, and none has a result. */
static bool look_round(look *l, bool all)
{
    bool some = false;
    for (unsigned i = 0; i < l->count; i++) {
        if (!all && !l->at[i].young) continue;
        const CUresult r = l->at[i].result = cji_event_point_query(l->at[i].wait->point);
        if (r == CUDA_ERROR_NOT_READY) continue;
        some = true;
        if (r == CUDA_ERROR_DEINITIALIZED) l->dead = true;
        else if (r != CUDA_SUCCESS) {
            l->why = r;
            l->broken |= cji_breaks_context(r);
        }
    }
    return some;
}

static void look_query(cj_waiter *w, look *l)
{
    l->dead = !watch_enter();
    if (l->dead) return;
    for (unsigned round = 1; !look_round(l, round == 1); round++) {
        if (l->yields && round % l->yields == 0) sched_yield();
        if (!l->until || atomic_load_explicit(&w->news, memory_order_relaxed) || atomic_load(&watch_exit.ends)) break;
        if (round % SPIN_CLOCK == 0 && cji_now() >= l->until) break;
    }
    if (l->why != CUDA_SUCCESS && !l->dead) cji_rejected(w, w->dev, l->why, "cj_waiter_add", "cuEventQuery");
    watch_leave();
}

/* Whether one that is not the first of its group, and is complete, has to wait until the first ones are reported. */
static bool look_keeps_order(const look *l, const cji_waiting *a)
{
    const cji_wait_group *g = a->group;
    const looked *first = &l->at[g->looked];
    return g->looked >= l->count || first->wait != group_first(g) || first->result == CUDA_SUCCESS;
}

/* Completes a wait, and those that follow in its group for the same point. */
static void look_done(cj_waiter *w, const look *l, cji_waiting *a)
{
    cji_wait_group *g = a->group;
    const cji_event_point *p = a->point;
    if (p->on && l->now > a->added) cji_wait_pace_learn(cji_wait_pace_at(w, g->of), g->of, l->now - a->added);
    cji_wait_complete(w, a, CJ_WAIT_DONE, 0);
    while (g->first && group_first(g)->point == p) cji_wait_complete(w, group_first(g), CJ_WAIT_DONE, 0);
}

static void look_apply_one(cj_waiter *w, const look *l, unsigned i)
{
    cji_waiting *a = l->at[i].wait;
    const CUresult r = l->at[i].result;
    if (a->state != CJI_WAIT_PENDING) return;
    if (r == CUDA_ERROR_NOT_READY) {
        if (a->late) cji_wait_complete(w, a, CJ_WAIT_TIMEOUT, 0);
    } else if (r != CUDA_SUCCESS) {
        cji_wait_complete(w, a, CJ_WAIT_ERROR, (int)r);
    } else if (a == group_first(a->group) || !look_keeps_order(l, a)) {
        look_done(w, l, a);
    } else {
        a->group->due = 0;
    }
}

static void look_apply(cj_waiter *w, look *l)
{
    w->dead |= l->dead;
    for (unsigned i = 0; i < l->count && !w->dead; i++) look_apply_one(w, l, i);
    if (l->broken && !w->dead) cji_wait_complete_all(w, CJ_WAIT_ERROR, (int)l->why);
    for (unsigned i = 0; i < l->count; i++) {
        l->at[i].wait->asked = false;
        if (l->at[i].wait->state == CJI_WAIT_FREE) cji_wait_return(w, l->at[i].wait);
    }
}

/* -- Sleeping ------------------------------------------------------------------------------------------------------ */

void cji_wait_wake(cj_waiter *w, uint64_t by)
{
    if (!by && !w->wakes) atomic_store_explicit(&w->news, true, memory_order_relaxed);
    if (!w->wakes || w->wakes <= by) return;
    w->wakes = 0;
    pthread_cond_signal(&w->watch);
}

static void watch_sleep(cj_waiter *w, uint64_t until)
{
    w->wakes = until;
    if (until == UINT64_MAX) {
        pthread_cond_wait(&w->watch, &w->lock);
    } else {
        const struct timespec at = { (time_t)(until / 1000000000), (long)(until % 1000000000) };
        pthread_cond_timedwait(&w->watch, &w->lock, &at);
    }
    w->wakes = 0;
}

/* When the next look is. */
static uint64_t watch_next(const cj_waiter *w)
{
    uint64_t next = w->deadlines ? w->deadlines->key : UINT64_MAX;
    for (const cji_wait_group *g = w->groups; g; g = g->next)
        if (g->due < next) next = g->due;
    return next;
}

/* What has nothing to do with the driver: it ends, or calls what is completed.  Whether there was something. */
static bool watch_deliver(cj_waiter *w)
{
    if (w->callbacks != CJ_WAITER_THREAD || !w->calls.count) return false;
    for (size_t n = w->calls.count; n && cji_wait_call_one(w); n--) {}
    return true;
}

static void watch_look(cj_waiter *w, uint64_t now)
{
    look l;
    l.count = l.young = 0, l.now = now, l.until = 0, l.broken = false, l.why = CUDA_SUCCESS;
    atomic_store_explicit(&w->news, false, memory_order_relaxed);
    look_at_late(w, &l);
    look_in_turn(w, &l);
    look_at_groups(w, &l);
    look_spins(w, &l);
    cji_unlock(&w->lock, CJI_LOCK_WAITER);
    look_query(w, &l);
    cji_lock(&w->lock, CJI_LOCK_WAITER);
    look_apply(w, &l);
}

void cji_wait_watch(cj_waiter *w)
{
    while (!(w->stop && !w->pending && (w->callbacks != CJ_WAITER_THREAD || !w->calls.count))) {
        if (watch_deliver(w)) continue;
        if (!w->dead && w->over) {
            cji_wait_reclaim(w);
            continue; /* the lock was free meanwhile */
        }
        const uint64_t now = cji_now(), next = w->dead ? UINT64_MAX : watch_next(w);
        if (next > now + (w->deadlines && next == w->deadlines->key ? 0 : LOOK_TOGETHER_NS / 2)) watch_sleep(w, next);
        else watch_look(w, now);
    }
}
