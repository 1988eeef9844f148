/* Environment variables: environment.def names each, cji_env_get() is the only reader of src. */
#ifndef CUJIT_BASE_ENVIRONMENT_H
#define CUJIT_BASE_ENVIRONMENT_H

typedef enum cji_env {
#define ENV(id, name, reader, value, meaning) CJI_ENV_##id,
#define TEST_ENV(name, value, meaning)
#include "base/environment.def"
    CJI_ENVS
} cji_env;

/* "CUJIT_..." */
const char *cji_env_name(cji_env which);

/* The value; NULL where the variable is unset or empty, and in a program that runs with more rights than its user
 * (setuid, setgid). Belongs to the environment. */
const char *cji_env_get(cji_env which);

#endif
