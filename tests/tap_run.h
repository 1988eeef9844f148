/* Runs another program and keeps what it wrote: for tests of commands and examples. */
#ifndef CUJIT_TESTS_TAP_RUN_H
#define CUJIT_TESTS_TAP_RUN_H

#include <stddef.h>

typedef struct tap_result {
    int status;             /* exit status, or 256 + the signal that ended it, or -1: it could not be started */
    char *out, *err;        /* standard output and error, NUL behind; freed by tap_result_free */
    size_t out_bytes, err_bytes;
} tap_result;

/* Runs argv[0] (a path) with no standard input and waits for it. `env`: NULL, or NULL-terminated "NAME=VALUE" strings
 * set for it alone. */
void tap_run(tap_result *r, const char *const *argv, const char *const *env);
void tap_result_free(tap_result *r);

#endif
