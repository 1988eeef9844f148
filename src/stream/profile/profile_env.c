/* The profile of the whole program that the environment variable CUJIT_PROFILE asks for.  It begins with the first
 * stream.  Its file is written when a device is closed, and at the program's end. */
#include <stdlib.h>
#include <unistd.h>

#include "base/environment.h"
#include "base/log.h"
#include "stream/profile/stream_profile.h"

static pthread_once_t env_once = PTHREAD_ONCE_INIT;
static _Atomic(cj_profile *) env_profile;
static char env_file[4096];

static void env_write(void)
{
    cj_profile *p = atomic_load(&env_profile);
    cji_kept latest;
    if (!p) return;
    cji_fail_save(&latest);
    cj_status st = cj_profile_write(p, env_file);
    if (st != CJ_OK && st != CJ_EFORKED) cji_log(CJ_LOG_ERROR, "CUJIT_PROFILE: %s", cj_error_last()->message);
    cji_fail_restore(&latest);
}

/* Work that is not complete gets a second. */
static void env_exit(void)
{
    cj_profile *p = atomic_load(&env_profile);
    const uint64_t deadline = cji_deadline(1000);
    cji_pause pause = { 0 };
    size_t pending;
    if (!p || cji_check(p, CJI_TAG_PROFILE, "cj_profile_write") != CJ_OK) return;
    cj_profile_off(p);
    do {
        cji_profiles_lock();
        cji_harvest_all();
        pending = cji_harvest_pending(NULL);
        cji_profiles_unlock();
    } while (pending && cji_pause_until(&pause, deadline));
    env_write();
}

static void env_begin(void)
{
    const char *file = cji_env_get(CJI_ENV_PROFILE);
    cji_kept latest;
    if (!file) return;
    if (strlen(file) >= sizeof env_file) {
        cji_log(CJ_LOG_ERROR, "CUJIT_PROFILE: the name of the file has over %zu bytes", sizeof env_file - 1);
        return;
    }
    cji_fail_save(&latest);
    memcpy(env_file, file, strlen(file) + 1);
    cj_profile *p = cj_profile_create(NULL);
    if (!cji_obj_failed(p) && cj_profile_on(p) == CJ_OK && atexit(env_exit) == 0) {
        atomic_store(&env_profile, p);
        atomic_store(&cji_process.profiles.device_closed, env_write);
    } else {
        cji_log(CJ_LOG_ERROR, "CUJIT_PROFILE: %s", cj_error_last()->message);
        cj_profile_free(p);
    }
    cji_fail_restore(&latest);
}

void cji_profile_env_start(void) { pthread_once(&env_once, env_begin); }
