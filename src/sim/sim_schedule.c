/* Schedules: which of the ready operations begin, and when.  The eager one begins each at once (sim_worker.c); the others hold them back and choose.
 *
 * They run one operation at a time, as far as that is possible: a kernel that spins until another stream's has run keeps nobody out for longer than
 * SIM_PATIENCE, after which a new epoch begins and what still runs is not counted any more.  Time decides only when, never what is right. */
#include "base/environment.h"
#include "sim/sim_core.h"
#include "sim/sim_queue.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SIM_PATIENCE = 1000000 };   /* ns */

bool cji_sim_schedule_read(sim_settings *set)
{
    static const struct { const char *name; sim_schedule schedule; } names[] = { { "eager", SIM_EAGER }, { "lazy", SIM_LAZY }, { "adversarial", SIM_ADVERSARIAL } };
    const char *s = cji_env_get(CJI_ENV_SIM_SCHEDULE);
    set->schedule = SIM_EAGER;
    if (!s) return true;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(s, names[i].name) == 0) {
            set->schedule = names[i].schedule;
            return true;
        }
    if (strncmp(s, "random:", 7) == 0 && s[7] >= '0' && s[7] <= '9') {
        char *end;
        errno = 0;
        set->seed = strtoull(s + 7, &end, 10);
        set->schedule = SIM_RANDOM;
        if (!*end && !errno) return true;
    }
    cji_log(CJ_LOG_ERROR, "%s=%s: wants eager, lazy, adversarial, or random: and a number, as in random:7", cji_env_name(CJI_ENV_SIM_SCHEDULE), s);
    return false;
}

/* A step of splitmix64. */
static uint64_t sim_random(void)
{
    uint64_t z = sim.random += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* Host functions one after another, as an H100's driver calls them, or side by side, as nobody forbids: with the first, one that waits for another
 * stream's never ends; with the second, two that share something without a lock are seen.  Each has its schedules. */
void cji_sim_schedule_begin(void)
{
    sim.random = sim.set.seed;
    sim.set.serial = sim.set.schedule == SIM_RANDOM ? sim_random() % 2 : sim.set.schedule != SIM_LAZY;
}

bool cji_sim_schedule_starts(void)
{
    if (!sim.nready) {
        sim.go = false;
        return false;
    }
    if (!sim.demand && !sim.go) {
        if (sim.set.schedule != SIM_RANDOM || sim_random() % 4) return false;
        sim.go = true;
    }
    return sim.set.schedule == SIM_LAZY || !sim.running;
}

sim_op *cji_sim_schedule_pick(void)
{
    sim_op *best = NULL;
    uint64_t left = sim.set.schedule == SIM_RANDOM ? sim_random() % sim.nready : 0;
    for (int i = 0; i < SIM_PRIORITIES; i++)
        for (sim_op *op = sim.ready_first[i]; op; op = op->next_ready) {
            if (sim.set.schedule == SIM_LAZY) return op;
            if (sim.set.schedule == SIM_RANDOM && left-- == 0) return op;
            if (sim.set.schedule == SIM_ADVERSARIAL && (!best || op->seq > best->seq)) best = op;
        }
    return best;
}

void cji_sim_schedule_do(sim_op *op, void (*work)(sim_op *op))
{
    unsigned epoch = sim.epoch;
    sim.running++;
    sim.moved = cji_now();
    if (sim.nready > 1) cji_sim_queue_balance(0);   /* somebody else looks after the rest now */
    work(op);
    sim.moved = cji_now();
    if (epoch == sim.epoch) sim.running--;
}

void cji_sim_schedule_sleep(void)
{
    uint64_t now = cji_now(), until = sim.moved + SIM_PATIENCE;
    if (!sim.nready) {
        pthread_cond_wait(&sim.work, &sim.lock);
        return;
    }
    if (now < until) {
        struct timespec t;
        clock_gettime(CLOCK_REALTIME, &t);
        uint64_t at = (uint64_t)t.tv_nsec + (until - now);
        t.tv_sec += (time_t)(at / 1000000000u);
        t.tv_nsec = (long)(at % 1000000000u);
        pthread_cond_timedwait(&sim.work, &sim.lock, &t);
        if (cji_now() < sim.moved + SIM_PATIENCE) return;
    }
    sim.go = true;
    sim.epoch++;
    sim.running = 0;
    sim.moved = cji_now();
}

void cji_sim_schedule_wait(void)
{
    sim.demand++;
    cji_sim_queue_balance(0);
    pthread_cond_wait(&sim.done, &sim.lock);
    sim.demand--;
}
