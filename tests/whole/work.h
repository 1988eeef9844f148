/* A workload: a program that calls much of the library and looks at what it has computed, for faults.c, which makes
 * each allocation and each driver call of it fail. It ends with 1 and its first failure as a sentence, or with 0 and a
 * line of results; and it releases everything in either case. */
#ifndef CUJIT_TESTS_WHOLE_WORK_H
#define CUJIT_TESTS_WHOLE_WORK_H

#include <stdio.h>
#include <string.h>

#include "tests/device_parts.h"

static char work_first[480]; /* as the message of a cj_error */

/* The status of a call; its failure is kept if it is the first. */
static inline bool work_did(cj_status st)
{
    if (st != CJ_OK && !work_first[0]) snprintf(work_first, sizeof work_first, "%s", cj_error_last()->message);
    return st == CJ_OK;
}

/* An object that was made, or one that failed. */
static inline bool work_made(const void *obj)
{
    const cj_error *e = cj_error_of(obj);
    if (e->status != CJ_OK && !work_first[0]) snprintf(work_first, sizeof work_first, "%s", e->message);
    return e->status == CJ_OK;
}

/* Waits for the stream.  Once more where that fails, as what the program uses must not be used behind its back. */
static inline bool work_waited(cj_stream *s)
{
    if (work_did(cj_stream_sync(s))) return true;
    cj_stream_sync(s);
    return false;
}

/* Something that the device may lack is there, or was rejected for that reason. */
static inline bool work_may(cj_status st) { return st != CJ_ENOTSUP && work_did(st); }

/* What main returns. */
static inline int work_end(const char *name, uint64_t result)
{
    if (work_first[0]) return fprintf(stderr, "%s: %s\n", name, work_first), 1;
    printf("%s: %llu\n", name, (unsigned long long)result);
    return 0;
}

#endif
