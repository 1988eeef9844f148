/* Reads environment variables. A variable chooses files whose code is run, so a program that runs with more rights than
 * its user (setuid, setgid, file capabilities) reads none: whoever starts it must not choose what it runs. */
#include "base/environment.h"

#include <stddef.h>
#include <stdlib.h>

static const char *const env_names[CJI_ENVS] = {
#define ENV(id, name, reader, value, meaning) [CJI_ENV_##id] = name,
#define TEST_ENV(name, value, meaning)
#include "base/environment.def"
};

const char *cji_env_name(cji_env which) { return env_names[which]; }

const char *cji_env_get(cji_env which)
{
    const char *value = secure_getenv(env_names[which]);
    return value && *value ? value : NULL;
}
