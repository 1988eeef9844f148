/* Settings: what cuInit reads from the environment (cujit/sim.h). */
#include "base/environment.h"
#include "sim/core/sim_core.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What cannot be read, for the log and for who starts the device: *why has the first. */
static bool sim_setting_wrong(cji_line *why, cji_env which, const char *value, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
static bool sim_setting_wrong(cji_line *why, cji_env which, const char *value, const char *fmt, ...)
{
    char wants[120];
    va_list args;
    va_start(args, fmt);
    vsnprintf(wants, sizeof wants, fmt, args);
    va_end(args);
    cji_log(CJ_LOG_ERROR, "%s=%s: wants %s", cji_env_name(which), value, wants);
    if (!why->n) cji_say(why, "%s=%.80s: wants %s", cji_env_name(which), value, wants);
    return false;
}

static bool sim_setting(cji_line *why, cji_env which, unsigned least, unsigned most, unsigned *out)
{
    const char *s = cji_env_get(which);
    if (!s) return true;
    char *end;
    errno = 0;
    unsigned long v = strtoul(s, &end, 10);
    if (*s < '0' || *s > '9' || *end || errno || v < least || v > most)
        return sim_setting_wrong(why, which, s, "a number from %u to %u", least, most);
    *out = (unsigned)v;
    return true;
}

static bool sim_setting_sm(cji_line *why, sim_settings *set)
{
    const char *s = cji_env_get(CJI_ENV_SIM_SM);
    if (!s) s = "90a";
    unsigned v = 0;
    const char *p = s;
    for (; *p >= '0' && *p <= '9' && v < 1000; p++) v = v * 10 + (unsigned)(*p - '0');
    char suffix = *p == 'a' || *p == 'f' ? *p++ : 0;
    if (*p || v < 50 || v > 129)
        return sim_setting_wrong(why, CJI_ENV_SIM_SM, s, "a compute capability as in PTX: 80, 90a, 100a");
    set->sm = v;
    set->sm_suffix = suffix;
    return true;
}

static bool sim_setting_schedule(cji_line *why, sim_settings *set)
{
    static const struct {
        const char *name;
        sim_schedule schedule;
    } names[] = { { "eager", SIM_EAGER }, { "lazy", SIM_LAZY }, { "adversarial", SIM_ADVERSARIAL } };
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
    return sim_setting_wrong(why, CJI_ENV_SIM_SCHEDULE, s,
                             "eager, lazy, adversarial, or random: and a number, as in random:7");
}

static bool sim_setting_bounds(cji_line *why, sim_settings *set)
{
    const char *s = cji_env_get(CJI_ENV_SIM_BOUNDS);
    set->coarse = s && strcmp(s, "coarse") == 0;
    if (!s || set->coarse || strcmp(s, "exact") == 0) return true;
    return sim_setting_wrong(why, CJI_ENV_SIM_BOUNDS, s, "exact or coarse");
}

bool cji_sim_settings_read(sim_settings *set, cji_line *why)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    set->devices = 1;
    set->threads = cores < 1 ? 1 : cores > 64 ? 64 : (unsigned)cores;
    bool devices = sim_setting(why, CJI_ENV_SIM_DEVICES, 0, SIM_MAX_DEVICES, &set->devices);
    bool threads = sim_setting(why, CJI_ENV_SIM_THREADS, 1, 64, &set->threads);
    set->stall_ms = 10000;
    bool stall = sim_setting(why, CJI_ENV_SIM_STALL_MS, 0, 86400000, &set->stall_ms);
    bool sm = sim_setting_sm(why, set);
    bool schedule = sim_setting_schedule(why, set);
    bool bounds = sim_setting_bounds(why, set);
    return devices && threads && sm && schedule && stall && bounds;    /* each that cannot be read has said so */
}
