/* The order of locks, as a thread has taken them. */
#include "base/lock.h"

#undef cji_lock_enter
#undef cji_lock_exit

#include "base/cancel.h"
#include "base/process.h"

static const struct lock_row {
    unsigned times;
} lock_rows[] = {
#define L(rank, times, what) { times },
#include "base/lock_order.def"
};

bool cji_lock_enter(cji_lock_rank rank)
{
    uint8_t *held = cji_thread()->held;
    bool in_order = held[rank] < lock_rows[rank].times;
    for (unsigned later = (unsigned)rank + 1; later < CJI_LOCK_COUNT; later++) in_order &= !held[later];
    held[rank]++;
    return in_order;
}

void cji_lock_exit(cji_lock_rank rank) { cji_thread()->held[rank]--; }
_Static_assert((int)CJI_LOCK_COUNT <= (int)CJI_THREAD_LOCKS, "a thread counts every rank");

/* The holder may have been preempted, and may even have a lower priority: so it gets the processor. */
void cji_spin_wait(cji_spin *l)
{
    CJI_NO_CANCEL;
    const struct timespec moment = { .tv_nsec = 20000 };
    for (unsigned tries = 1; !cji_spin_try(l); tries++) {
        if (tries % 64 == 0) nanosleep(&moment, NULL);
        else if (tries % 8 == 0) sched_yield();
    }
}
