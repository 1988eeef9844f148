/* Schedules: which of the ready operations begin, and when.  The eager one begins each at once (sim_worker.c); the others hold them back and choose.
 *
 * They run one operation at a time, as far as that is possible: a kernel that spins until another stream's has run keeps nobody out for longer than
 * SD_PATIENCE, after which a new epoch begins and what still runs is not counted any more.  Time decides only when, never what is right. */
#include "sim/simcore.h"
#include "sim/sim_queue.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SD_PATIENCE = 1000000 };   /* ns */

bool cji_sd_schedule_read(sd_settings *set)
{
    static const struct { const char *name; sd_schedule schedule; } names[] = { { "eager", SD_EAGER }, { "lazy", SD_LAZY }, { "adversarial", SD_ADVERSARIAL } };
    const char *s = getenv("CUJIT_SIM_SCHEDULE");
    set->schedule = SD_EAGER;
    if (!s || !*s) return true;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(s, names[i].name) == 0) {
            set->schedule = names[i].schedule;
            return true;
        }
    if (strncmp(s, "random:", 7) == 0 && s[7] >= '0' && s[7] <= '9') {
        char *end;
        errno = 0;
        set->seed = strtoull(s + 7, &end, 10);
        set->schedule = SD_RANDOM;
        if (!*end && !errno) return true;
    }
    cji_log(CJ_LOG_ERROR, "CUJIT_SIM_SCHEDULE=%s: wants eager, lazy, adversarial, or random: and a number, as in random:7", s);
    return false;
}

/* A step of splitmix64. */
static uint64_t sd_lot(void)
{
    uint64_t z = sd.lot += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* Host functions one after another, as an H100's driver calls them, or side by side, as nobody forbids: with the first, one that waits for another
 * stream's never ends; with the second, two that share something without a lock are seen.  Each has its schedules. */
void cji_sd_schedule_begin(void)
{
    sd.lot = sd.set.seed;
    sd.set.serial = sd.set.schedule == SD_RANDOM ? sd_lot() % 2 : sd.set.schedule != SD_LAZY;
}

bool cji_sd_schedule_starts(void)
{
    if (!sd.nready) {
        sd.go = false;
        return false;
    }
    if (!sd.demand && !sd.go) {
        if (sd.set.schedule != SD_RANDOM || sd_lot() % 4) return false;
        sd.go = true;
    }
    return sd.set.schedule == SD_LAZY || !sd.running;
}

sd_op *cji_sd_schedule_pick(void)
{
    sd_op *best = NULL;
    uint64_t left = sd.set.schedule == SD_RANDOM ? sd_lot() % sd.nready : 0;
    for (int i = 0; i < SD_PRIORITIES; i++)
        for (sd_op *op = sd.ready_first[i]; op; op = op->next_ready) {
            if (sd.set.schedule == SD_LAZY) return op;
            if (sd.set.schedule == SD_RANDOM && left-- == 0) return op;
            if (sd.set.schedule == SD_ADVERSARIAL && (!best || op->seq > best->seq)) best = op;
        }
    return best;
}

void cji_sd_schedule_do(sd_op *op, void (*work)(sd_op *op))
{
    unsigned epoch = sd.epoch;
    sd.running++;
    sd.moved = cji_sd_now();
    if (sd.nready > 1) cji_sd_balance(0);   /* somebody else looks after the rest now */
    work(op);
    sd.moved = cji_sd_now();
    if (epoch == sd.epoch) sd.running--;
}

void cji_sd_schedule_sleep(void)
{
    uint64_t now = cji_sd_now(), until = sd.moved + SD_PATIENCE;
    if (!sd.nready) {
        pthread_cond_wait(&sd.work, &sd.lock);
        return;
    }
    if (now < until) {
        struct timespec t;
        clock_gettime(CLOCK_REALTIME, &t);
        uint64_t at = (uint64_t)t.tv_nsec + (until - now);
        t.tv_sec += (time_t)(at / 1000000000u);
        t.tv_nsec = (long)(at % 1000000000u);
        pthread_cond_timedwait(&sd.work, &sd.lock, &t);
        if (cji_sd_now() < sd.moved + SD_PATIENCE) return;
    }
    sd.go = true;
    sd.epoch++;
    sd.running = 0;
    sd.moved = cji_sd_now();
}

void cji_sd_schedule_wait(void)
{
    sd.demand++;
    cji_sd_balance(0);
    pthread_cond_wait(&sd.done, &sd.lock);
    sd.demand--;
}
