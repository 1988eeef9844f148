/* The monotonic clock that all parts measure and wait by. */
#include "base/clock.h"

#include <time.h>

uint64_t cji_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}
