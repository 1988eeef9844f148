/* What the parts of bench/driver and bench/host share: device, driver's own entry points, clocks, fresh processes,
 * reports that are judged.  Both programs are of the same sources: bench/driver measures the GPU, bench/host the CPU
 * device. */
#ifndef BENCH_DRIVER_BENCH_H
#define BENCH_DRIVER_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cujit/cujit.h>

#include "bench/judge.h"

typedef struct driver_bench {
    cji_cu cu;          /* the driver's own entry points */
    void *lib;          /* where they are from */
    cj_driver *drv;
    cj_device *dev;
    CUcontext ctx;      /* the device's primary context, current on the main thread */
    bool gpu;           /* else the CPU device: nothing is judged, and a part may choose smaller numbers */
    bool failed;        /* a call has failed, which was reported */
    bool beyond;        /* a metric is beyond its limit */
    const char *limits; /* the file */
} driver_bench;

/* The parts, each in a file of its own. */
void driver_overhead(driver_bench *b);
void driver_scaling(driver_bench *b);
void driver_hits(driver_bench *b);
void driver_keys(driver_bench *b);
void driver_cold(driver_bench *b);
void driver_objects(driver_bench *b);
void driver_products(driver_bench *b);

/* Prints `name value unit`.  On a GPU a metric with a line in the file of limits is judged. */
void driver_report(driver_bench *b, const char *name, double value, const char *unit);

/* A call must succeed; else the first failure is reported, and the bench ends with 1. */
void driver_need(driver_bench *b, cj_status st);
void driver_need_object(driver_bench *b, const void *object);
void driver_need_raw(driver_bench *b, CUresult r, const char *what);
void driver_fail(driver_bench *b, const char *why);

double driver_now_us(void);                      /* monotonic */
double driver_clock_us(const driver_bench *b);   /* the same on a GPU; processor time of the thread on the CPU device */

/* A module with the kernel k(f32 *p, f32 a), which multiplies and adds `n` times.  `seed` is in its text, so that
 * no cache takes one for another.  Freed with cj_ptx_free. */
cj_ptx *driver_module(unsigned n, unsigned seed);

/* What a fresh process measures with its device open: main() calls it with the words behind "fresh".  Microseconds;
 * below 0: it cannot be measured, and standard error says why. */
double driver_fresh_hit(driver_bench *b, const char *side, unsigned n, const char *file);
double driver_fresh_open(driver_bench *b, const char *cache); /* processor time */
double driver_fresh_cold(driver_bench *b, const char *side);
double driver_fresh_object(driver_bench *b, const char *name);

/* Runs `words` (NULL behind the last) as `fresh WORDS` in a process of its own, with CUJIT_CACHE_DIR `cache`, or the
 * cache off when it is NULL.  Below 0: it failed. */
double driver_fresh(driver_bench *b, const char *cache, const char *const *words);

/* A folder for caches of fresh processes; mkdtemp() makes `folder`.  False: it failed.  The end removes the folder and
 * what a cache has in it. */
bool driver_folder_begin(driver_bench *b, char *folder);
void driver_folder_end(const char *folder);

/* The words of both sides in turn, so often each: us[0] are those of `bare`, us[1] those of `ours`, which have the
 * cache.  The first ones, which fill the caches of files, are not counted.  `bare` may be NULL: there is no such
 * side. */
void driver_fresh_sides(driver_bench *b, const char *const *bare, const char *cache, const char *const *ours,
                        int rounds, double *const us[2]);

/* What the bare driver does for the first launch of an image's kernel, on so many threads.  Returns the module, NULL
 * without one. */
CUmodule driver_first_launch(driver_bench *b, cj_stream *s, const void *image, const char *name, unsigned threads,
                             void **params);

#endif
