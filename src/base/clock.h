/* The monotonic clock. */
#ifndef CJI_BASE_CLOCK_H
#define CJI_BASE_CLOCK_H

#include <stdint.h>

uint64_t cji_now(void); /* nanoseconds; never goes back */

#endif
