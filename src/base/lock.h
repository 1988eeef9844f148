/* Locks in one order: lock_order.def.  Prefix cji_lock.  A build with CJI_DEBUG stops at the first lock taken out of
 * order. */
#ifndef CJI_LOCK_H
#define CJI_LOCK_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "base/handover.h"

#define L(rank, times, what) CJI_LOCK_##rank,
typedef enum cji_lock_rank {
#include "base/lock_order.def"
    CJI_LOCK_COUNT
} cji_lock_rank;

/* For builds with CJI_DEBUG and the test of the order: notes that the thread takes or releases a lock.  False: it
 * holds a later one, or too many of this rank. */
bool cji_lock_enter(cji_lock_rank rank);
void cji_lock_exit(cji_lock_rank rank);

#ifdef CJI_DEBUG
static inline void cji_lock_check(bool in_order)
{
    if (!in_order) __builtin_trap();
}
#else
#define cji_lock_enter(rank) true
#define cji_lock_exit(rank) ((void)0)
#define cji_lock_check(in_order) ((void)0)
#endif

static inline void cji_lock(pthread_mutex_t *m, cji_lock_rank rank)
{
    (void)rank;
    cji_lock_check(cji_lock_enter(rank));
    pthread_mutex_lock(m);
}

static inline bool cji_trylock(pthread_mutex_t *m, cji_lock_rank rank)
{
    (void)rank;
    if (pthread_mutex_trylock(m) != 0) return false;
    cji_lock_check(cji_lock_enter(rank));
    return true;
}

/* A lock that is held for nanoseconds and taken in each cj_alloc and cj_free: taking it is one exchange and no call,
 * and releasing it costs a store.  Who finds it taken spins for a moment, and then sleeps in between.  Helgrind, which
 * does not know it, is told who has it. */
typedef struct cji_spin {
    atomic_bool taken;
    bool told; /* Valgrind runs the process */
} cji_spin;
static inline void cji_spin_init(cji_spin *l)
{
    *l = (cji_spin){ .told = cji_hg_running() };
    if (l->told) cji_handover_flag(&l->taken, sizeof l->taken);
}
void cji_spin_wait(cji_spin *l);
static inline bool cji_spin_try(cji_spin *l)
{
    return !atomic_exchange_explicit(&l->taken, true, memory_order_acquire);
}
static inline void cji_spin_lock(cji_spin *l, cji_lock_rank rank)
{
    (void)rank;
    cji_lock_check(cji_lock_enter(rank));
    if (!cji_spin_try(l)) cji_spin_wait(l);
    if (l->told) cji_handover_take(l);
}

static inline void cji_spin_unlock(cji_spin *l, cji_lock_rank rank)
{
    (void)rank;
    if (l->told) cji_handover_give(l);
    atomic_store_explicit(&l->taken, false, memory_order_release);
    cji_lock_exit(rank);
}

static inline void cji_unlock(pthread_mutex_t *m, cji_lock_rank rank)
{
    (void)rank;
    pthread_mutex_unlock(m);
    cji_lock_exit(rank);
}

#endif
