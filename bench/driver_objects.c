/* What it takes to make an object of libcujit-kernels.
 *
 * objects.NAME.create_ms   in a fresh process with its device open, without caches: the constructor's time
 * objects.NAME.cached_ms   the same where the cache on disk has the kernels, which a process before has compiled
 *
 * gemm has given sizes, gemm_open open ones and orders.  Medians over processes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cujit/kernels.h>

#include "bench/driver_bench.h"

enum { PROCESSES = 11, SIM_PROCESSES = 3, OBJECTS_NAME = 64 };

/* -- The objects --------------------------------------------------------------------------------------------------- */

typedef struct made_object { void *object; void (*end)(void *object); } made_object;

static void end_gemm(void *x) { cj_gemm_free(x); }
static void end_attention(void *x) { cj_attention_free(x); }
static void end_gemv(void *x) { cj_gemv_free(x); }
static void end_softmax(void *x) { cj_softmax_free(x); }

static made_object make_gemm(cj_device *dev)
{
    return (made_object){ cj_gemm_create(dev, CJ_GEMM(.type = CJ_BF16, .m = 4096, .n = 4096, .k = 4096)), end_gemm };
}

static made_object make_open_gemm(cj_device *dev)
{
    return (made_object){ cj_gemm_create(dev, CJ_GEMM(.type = CJ_BF16)), end_gemm };
}

static made_object make_attention(cj_device *dev)
{
    return (made_object){ cj_attention_create(dev, CJ_ATTENTION(.type = CJ_BF16, .dim = 128, .causal = 1)),
                          end_attention };
}

static made_object make_gemv(cj_device *dev)
{
    return (made_object){ cj_gemv_create(dev, CJ_GEMV(.format = CJ_GEMV_Q4_0, .x_type = CJ_F16)), end_gemv };
}

static made_object make_softmax(cj_device *dev)
{
    return (made_object){ cj_softmax_create(dev, CJ_SOFTMAX(.type = CJ_BF16, .columns = 4096)), end_softmax };
}

static const struct { const char *name; made_object (*make)(cj_device *dev); } objects[] = {
    { "gemm", make_gemm }, { "gemm_open", make_open_gemm }, { "attention", make_attention },
    { "gemv", make_gemv }, { "softmax", make_softmax },
};
enum { OBJECTS = sizeof objects / sizeof *objects };

double driver_fresh_object(driver_bench *b, const char *name)
{
    double us = -1;
    for (size_t i = 0; i < OBJECTS; i++) {
        if (strcmp(objects[i].name, name)) continue;
        const double t = driver_now_us();
        const made_object made = objects[i].make(b->dev);
        us = driver_now_us() - t;
        driver_need_object(b, made.object);
        made.end(made.object);
    }
    return us;
}

/* -- Both ways ----------------------------------------------------------------------------------------------------- */

/* The median over fresh processes, and the report.  cache: NULL, none. */
static void report_object(driver_bench *b, const char *name, const char *way, const char *cache)
{
    const char *const words[] = { "object", name, NULL };
    const int rounds = b->gpu ? PROCESSES : SIM_PROCESSES;
    double us[PROCESSES];
    char metric[OBJECTS_NAME];
    if (cache) driver_fresh(b, cache, words); /* which fills it */
    for (int i = 0; i < rounds && !b->failed; i++) {
        us[i] = driver_fresh(b, cache, words);
        if (us[i] < 0) driver_fail(b, "a fresh process failed");
    }
    if (b->failed) return;
    snprintf(metric, sizeof metric, "objects.%s.%s", name, way);
    driver_report(b, metric, bench_median(us, (size_t)rounds) / 1e3, "ms");
}

void driver_objects(driver_bench *b)
{
    char folder[] = "/tmp/cujit-bench-XXXXXX";
    if (!driver_folder_begin(b, folder)) return;
    for (int i = 0; i < OBJECTS && !b->failed; i++) {
        report_object(b, objects[i].name, "create_ms", NULL);
        report_object(b, objects[i].name, "cached_ms", folder);
    }
    driver_folder_end(folder);
}
