/* What the parts of bench/pool share: device, driver's own entry points, clocks, threads, reports that are judged. */
#ifndef BENCH_POOL_BENCH_H
#define BENCH_POOL_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cujit/cujit.h>

#include "bench/judge.h"

typedef struct pool_bench {
    cji_cu cu;          /* the driver's own entry points; the device's primary context is current on the main thread */
    cj_driver *drv;
    cj_device *dev;
    CUcontext ctx;
    bool gpu;           /* else the CPU device: nothing is judged, and a part may choose smaller numbers */
    bool failed;        /* a call has failed, which was reported */
    bool beyond;        /* a metric is beyond its limit */
    const char *limits; /* the file */
} pool_bench;

/* The parts, each in a file of its own: pool_<part>.c.  The table is in pool.c. */
void pool_events(pool_bench *b);
void pool_streams(pool_bench *b);
void pool_pipeline(pool_bench *b);
void pool_waiter(pool_bench *b);
void pool_strategies(pool_bench *b);
void pool_concurrency(pool_bench *b);
void pool_alloc(pool_bench *b);
void pool_coord(pool_bench *b);
void pool_profile(pool_bench *b);

/* Prints `name value unit`.  On a GPU a metric with a line in the file of limits is judged: `name most`, or `name least
 * least` where the value must not be smaller. */
void pool_report(pool_bench *b, const char *name, double value, const char *unit);

/* A call must succeed; else the first failure is reported, and the bench ends with 1. */
void pool_need(pool_bench *b, cj_status st);
void pool_need_object(pool_bench *b, const void *object);
void pool_need_raw(pool_bench *b, CUresult r, const char *what);

double pool_now_ns(void);    /* monotonic */
double pool_cpu_ns(void);    /* processor time of the whole process */
double pool_thread_ns(void); /* processor time of the calling thread */

/* Runs fn(user, i) on `threads` threads of their own at once, and waits for them. */
void pool_threads(unsigned threads, void (*fn)(void *user, unsigned i), void *user);

/* A kernel that runs for about `ns` nanoseconds: spin(u32 ns).  Freed with cj_kernel_free. */
cj_kernel *pool_spin_kernel(pool_bench *b);

#endif
