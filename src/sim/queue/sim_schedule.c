/* Schedules: which of the ready operations begin, and when. The eager one begins each at once (sim_worker.c); the
 * others hold them back and choose.
 *
 * They run one operation at a time, as far as that is possible: a kernel that spins until another stream's has run
 * keeps nobody out for longer than SIM_PATIENCE, after which a new epoch begins and what still runs is not counted
 * any more. Time decides only when, never what is right. */
#include "sim/queue/sim_queue.h"

#include <time.h>

enum { SIM_PATIENCE = 1000000 };   /* ns */

/* A step of splitmix64. */
static uint64_t sim_random(void)
{
    uint64_t z = sim_queue.random += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* Host functions one after another, as an H100's driver calls them, or side by side, as nobody forbids: with the
 * first, one that waits for another stream's never ends; with the second, two that share something without a lock
 * are seen. Each has its schedules. */
void cji_sim_schedule_begin(void)
{
    sim_queue.random = sim.set.seed;
    sim.set.serial = sim.set.schedule == SIM_RANDOM ? sim_random() % 2 : sim.set.schedule != SIM_LAZY;
}

bool cji_sim_schedule_starts(void)
{
    if (!sim_queue.nready) {
        sim_queue.go = false;
        return false;
    }
    if (!sim_queue.demand && !sim_queue.go) {
        if (sim.set.schedule != SIM_RANDOM || sim_random() % 4) return false;
        sim_queue.go = true;
    }
    return sim.set.schedule == SIM_LAZY || !sim_queue.running;
}

sim_op *cji_sim_schedule_pick(void)
{
    sim_op *best = NULL;
    uint64_t left = sim.set.schedule == SIM_RANDOM ? sim_random() % sim_queue.nready : 0;
    for (int i = 0; i < SIM_PRIORITIES; i++)
        for (sim_op *op = sim_queue.ready_first[i]; op; op = op->next_ready) {
            if (sim.set.schedule == SIM_LAZY) return op;
            if (sim.set.schedule == SIM_RANDOM && left-- == 0) return op;
            if (sim.set.schedule == SIM_ADVERSARIAL && (!best || op->seq > best->seq)) best = op;
        }
    return best;
}

void cji_sim_schedule_do(sim_op *op, void (*work)(sim_op *op))
{
    unsigned epoch = sim_queue.epoch;
    sim_queue.running++;
    sim_queue.moved = cji_now();
    if (sim_queue.nready > 1) cji_sim_queue_balance(0);   /* somebody else looks after the rest now */
    work(op);
    sim_queue.moved = cji_now();
    if (epoch == sim_queue.epoch) sim_queue.running--;
}

void cji_sim_schedule_sleep(void)
{
    uint64_t now = cji_now(), until = sim_queue.moved + SIM_PATIENCE;
    if (!sim_queue.nready) {
        pthread_cond_wait(&sim_queue.work, &sim.lock);
        return;
    }
    if (now < until) {
        struct timespec t;
        clock_gettime(CLOCK_REALTIME, &t);
        uint64_t at = (uint64_t)t.tv_nsec + (until - now);
        t.tv_sec += (time_t)(at / 1000000000u);
        t.tv_nsec = (long)(at % 1000000000u);
        pthread_cond_timedwait(&sim_queue.work, &sim.lock, &t);
        if (cji_now() < sim_queue.moved + SIM_PATIENCE) return;
    }
    sim_queue.go = true;
    sim_queue.epoch++;
    sim_queue.running = 0;
    sim_queue.moved = cji_now();
}

void cji_sim_schedule_wait(void)
{
    sim_queue.demand++;
    cji_sim_queue_balance(0);
    pthread_cond_wait(&sim_queue.done, &sim.lock);
    sim_queue.demand--;
}
