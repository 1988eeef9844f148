/* Settings: what cuInit reads from the environment (cujit/sim.h). */
#include "base/environment.h"
#include "sim/core/sim_core.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool sim_setting(cji_env which, unsigned least, unsigned most, unsigned *out)
{
    const char *s = cji_env_get(which);
    if (!s) return true;
    char *end;
    errno = 0;
    unsigned long v = strtoul(s, &end, 10);
    if (*s < '0' || *s > '9' || *end || errno || v < least || v > most) {
        cji_log(CJ_LOG_ERROR, "%s=%s: wants a number from %u to %u", cji_env_name(which), s, least, most);
        return false;
    }
    *out = (unsigned)v;
    return true;
}

static bool sim_setting_sm(sim_settings *set)
{
    const char *s = cji_env_get(CJI_ENV_SIM_SM);
    if (!s) s = "90a";
    unsigned v = 0;
    const char *p = s;
    for (; *p >= '0' && *p <= '9' && v < 1000; p++) v = v * 10 + (unsigned)(*p - '0');
    char suffix = *p == 'a' || *p == 'f' ? *p++ : 0;
    if (*p || v < 50 || v > 129) {
        cji_log(CJ_LOG_ERROR, "%s=%s: wants a compute capability as in PTX: 80, 90a, 100a",
                cji_env_name(CJI_ENV_SIM_SM), s);
        return false;
    }
    set->sm = v;
    set->sm_suffix = suffix;
    return true;
}

static bool sim_setting_schedule(sim_settings *set)
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
    cji_log(CJ_LOG_ERROR, "%s=%s: wants eager, lazy, adversarial, or random: and a number, as in random:7",
            cji_env_name(CJI_ENV_SIM_SCHEDULE), s);
    return false;
}

static bool sim_setting_bounds(sim_settings *set)
{
    const char *s = cji_env_get(CJI_ENV_SIM_BOUNDS);
    set->coarse = s && strcmp(s, "coarse") == 0;
    if (!s || set->coarse || strcmp(s, "exact") == 0) return true;
    cji_log(CJ_LOG_ERROR, "%s=%s: wants exact or coarse", cji_env_name(CJI_ENV_SIM_BOUNDS), s);
    return false;
}

bool cji_sim_settings_read(sim_settings *set)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    set->devices = 1;
    set->threads = cores < 1 ? 1 : cores > 64 ? 64 : (unsigned)cores;
    bool devices = sim_setting(CJI_ENV_SIM_DEVICES, 0, SIM_MAX_DEVICES, &set->devices);
    bool threads = sim_setting(CJI_ENV_SIM_THREADS, 1, 64, &set->threads);
    set->stall_ms = 10000;
    bool stall = sim_setting(CJI_ENV_SIM_STALL_MS, 0, 86400000, &set->stall_ms);
    bool sm = sim_setting_sm(set);
    bool schedule = sim_setting_schedule(set);
    bool bounds = sim_setting_bounds(set);
    return devices && threads && sm && schedule && stall && bounds;    /* each that cannot be read has said so */
}
