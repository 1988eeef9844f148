/* Locks are taken in the order of src/base/lock_order.def: the check that a build with --enable-debug makes at each
 * lock. */
#define CJI_DEBUG 1

#include "base/lock.h"

#include "tests/tap.h"

static const char *const names[] = {
#define L(rank, times, what) what,
#include "base/lock_order.def"
};
static const unsigned times[] = {
#define L(rank, times, what) times,
#include "base/lock_order.def"
};

static void exit_times(unsigned rank, unsigned n)
{
    while (n--) cji_lock_exit((cji_lock_rank)rank);
}

/* With the lock of `held`, is that of `next` in order? */
static bool pair(unsigned held, unsigned next)
{
    cji_lock_enter((cji_lock_rank)held);
    bool in_order = cji_lock_enter((cji_lock_rank)next);
    cji_lock_exit((cji_lock_rank)next);
    cji_lock_exit((cji_lock_rank)held);
    return in_order;
}

int main(void)
{
    pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
    tap_plan(0);
    for (unsigned held = 0; held < CJI_LOCK_COUNT; held++) {
        bool later = true, earlier = false, most = true;
        for (unsigned next = held + 1; next < CJI_LOCK_COUNT; next++) later &= pair(held, next);
        for (unsigned next = 0; next < held; next++) earlier |= pair(held, next);
        for (unsigned i = 0; i < times[held]; i++) most &= cji_lock_enter((cji_lock_rank)held);
        const bool more = cji_lock_enter((cji_lock_rank)held);
        exit_times(held, times[held] + 1);
        tap_ok(later && !earlier, "with the lock of %s, those of later rows may be taken, those of earlier rows not",
               names[held]);
        tap_ok(most && !more, "... and %u of its own kind", times[held]);
    }
    cji_lock(&m, CJI_LOCK_QUEUE);
    tap_ok(!cji_trylock(&m, CJI_LOCK_QUEUE), "a lock that is held is not taken again");
    cji_unlock(&m, CJI_LOCK_QUEUE);
    tap_ok(cji_trylock(&m, CJI_LOCK_GRAPH), "a lock that was released is");
    cji_unlock(&m, CJI_LOCK_GRAPH);
    tap_ok(cji_lock_enter(CJI_LOCK_GRAPH_EXEC_CACHE), "after which the thread holds none");
    cji_lock_exit(CJI_LOCK_GRAPH_EXEC_CACHE);
    return tap_done();
}
