/* What a program may do beside a capture: each activity makes, uses and releases things of its own by the calls of the
 * library, and checks what it computed. */
#ifndef CUJIT_TESTS_ACTIVITIES_H
#define CUJIT_TESTS_ACTIVITIES_H

#include <cujit/cujit.h>

/* What activities share: made before the first, for reading only. */
typedef struct activity_bench {
    cj_device *dev, *other; /* other: a second device, or NULL */
    cj_driver *drv;
    cj_kernel *add;         /* latch.h: add(x, n, v) */
    cj_image *image;        /* of its module */
    cj_stream *s;           /* one that all threads use */
} activity_bench;

enum { ACTIVITY_WHY = 600 };

/* One of them, as the caller's own: `mine` differs from thread to thread.  False, with the reason. */
typedef struct activity {
    const char *name;
    bool (*run)(const activity_bench *b, uint32_t mine, char why[ACTIVITY_WHY]);
} activity;

extern const activity activities[];
extern const size_t activity_count;

#endif
