/* The thread that watches: queries the first wait of each group that is due, and all waits whose time has passed.
 *
 * A group is due without a pause while its first wait is young, so that short work is seen at once; then with pauses
 * that grow with its age.  Groups that are due within a short time are queried together.  Queries are made without the
 * waiter's lock; a wait that is completed meanwhile is recognised, because it is not pending any more.
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
    LOOK_TOGETHER_NS = 15000, /* what is due so soon is queried, too */
    PAUSE_LONG_NS = 90000,    /* of waits up to some milliseconds */
    PAUSE_MORE_NS = 50000,    /* of long ones, in addition */
    SPIN_YIELD = 8            /* looks without a pause between two of sched_yield() */
};

typedef struct looked { cji_waiting *wait; CUresult result; } looked;

typedef struct look {
    looked at[LOOK_MOST];
    unsigned count, others; /* the first `others` of them are not the first of their group */
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

static void look_add(look *l, cji_waiting *a)
{
    if (l->count == LOOK_MOST || a->asked) return;
    a->asked = true;
    a->group->looked = l->count;
    l->at[l->count++] = (looked){ a, CUDA_ERROR_NOT_READY };
}

static cji_waiting *group_first(const cji_wait_group *g) { return cji_wait_by_order(g->first); }

/* Waits whose time has passed leave the heap: they are queried once more, and do not stay if they are not complete. */
static void look_at_late(cj_waiter *w, look *l, uint64_t now)
{
    while (w->deadlines && w->deadlines->key <= now && l->count < LOOK_LATE) {
        cji_waiting *a = cji_wait_by_time(w->deadlines);
        w->deadlines = cji_heap_remove(w->deadlines, w->deadlines);
        a->timed = false;
        a->late = true;
        if (a == group_first(a->group)) a->group->due = 0;
        else look_add(l, a);
    }
}

/* One of those that are not the first of their group, in turn. */
static void look_in_turn(cj_waiter *w, look *l)
{
    for (int i = 0; i < CJI_WAIT_CHUNK; i++) {
        if (w->turn >= w->chunks * CJI_WAIT_CHUNK) w->turn = 0;
        cji_waiting *a = &w->chunk[w->turn / CJI_WAIT_CHUNK][w->turn % CJI_WAIT_CHUNK];
        w->turn++;
        if (a->state != CJI_WAIT_PENDING || a == group_first(a->group)) continue;
        look_add(l, a);
        return;
    }
}

/* How long after `now` a wait is queried again. */
static uint64_t look_pause(const cj_waiter *w, const cji_waiting *a, uint64_t now)
{
    const uint64_t age = now > a->added ? now - a->added : 0, first = age / 8, more = age / 2048;
    if (age < w->spin) return 0;
    return (first < PAUSE_LONG_NS ? first : PAUSE_LONG_NS) + (more < PAUSE_MORE_NS ? more : PAUSE_MORE_NS);
}

/* The first ones: of the groups of those above, then of all groups that are due, beginning behind the last look's. */
static void look_at_groups(cj_waiter *w, look *l, uint64_t now)
{
    l->others = l->count;
    for (unsigned i = 0; i < l->others; i++) look_add(l, group_first(l->at[i].wait->group));
    cji_wait_group *g = w->cursor ? w->cursor : w->groups, *const begin = g;
    while (g && l->count < LOOK_MOST) {
        if (g->due <= now + LOOK_TOGETHER_NS) {
            g->due = now + look_pause(w, group_first(g), now);
            look_add(l, group_first(g));
        }
        g = g->next ? g->next : w->groups;
        if (g == begin) break;
    }
    w->cursor = g;
}

static void look_query(cj_waiter *w, look *l)
{
    l->dead = !watch_enter();
    if (l->dead) return;
    for (unsigned i = 0; i < l->count; i++) {
        const CUresult r = l->at[i].result = cji_event_point_query(l->at[i].wait->point);
        if (r == CUDA_ERROR_DEINITIALIZED) l->dead = true;
        else if (r != CUDA_SUCCESS && r != CUDA_ERROR_NOT_READY) {
            l->why = r;
            l->broken |= cji_breaks_context(r);
        }
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
static void look_done(cj_waiter *w, cji_waiting *a)
{
    cji_wait_group *g = a->group;
    const cji_event_point *p = a->point;
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
        look_done(w, a);
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

void cji_wait_watch(cj_waiter *w)
{
    unsigned spins = 0;
    while (!(w->stop && !w->pending && (w->callbacks != CJ_WAITER_THREAD || !w->calls.count))) {
        if (!w->dead && w->over) {
            cji_wait_reclaim(w);
            continue; /* the lock was free meanwhile */
        }
        if (watch_deliver(w)) continue;
        const uint64_t now = cji_now(), next = w->dead ? UINT64_MAX : watch_next(w);
        if (next > now + (w->deadlines && next == w->deadlines->key ? 0 : LOOK_TOGETHER_NS / 2)) {
            watch_sleep(w, next);
            continue;
        }
        look l;
        l.count = 0, l.broken = false, l.why = CUDA_SUCCESS;
        look_at_late(w, &l, now);
        look_in_turn(w, &l);
        look_at_groups(w, &l, now);
        cji_unlock(&w->lock, CJI_LOCK_WAITER);
        look_query(w, &l);
        if (++spins % SPIN_YIELD == 0) sched_yield();
        cji_lock(&w->lock, CJI_LOCK_WAITER);
        look_apply(w, &l);
    }
}
