/* What pools, allocator, waiter, coordinator, profiler and pipeline cost, each beside the driver's own calls in the
 * same run.
 *
 * usage: pool [-l LIMITS] [PART...]
 * Runs the parts that are named, or all.  On a GPU a metric that is named in the file of limits is judged: exit status
 * 1 when it is beyond its limit.  On the CPU device nothing is judged. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench/pool_bench.h"

static const struct { const char *name; void (*run)(pool_bench *b); } pool_parts[] = {
    { "events", pool_events },
    { "streams", pool_streams },
    { "pipeline", pool_pipeline },
    { "waiter", pool_waiter },
    { "strategies", pool_strategies },
    { "concurrency", pool_concurrency },
    { "alloc", pool_alloc },
    { "coord", pool_coord },
    { "profiler", pool_profile },
};
enum { POOL_PARTS = sizeof pool_parts / sizeof *pool_parts };

/* -- Failures and reports ------------------------------------------------------------------------------------------ */

void pool_need(pool_bench *b, cj_status st)
{
    if (st == CJ_OK || b->failed) return;
    fprintf(stderr, "pool: %s\n", cj_error_last()->message);
    b->failed = true;
}

void pool_need_object(pool_bench *b, const void *object)
{
    if (b->failed || cj_error_of(object)->status == CJ_OK) return;
    fprintf(stderr, "pool: %s\n", cj_error_of(object)->message);
    b->failed = true;
}

void pool_need_raw(pool_bench *b, CUresult r, const char *what)
{
    if (r == CUDA_SUCCESS || b->failed) return;
    fprintf(stderr, "pool: %s answered %d\n", what, (int)r);
    b->failed = true;
}

void pool_report(pool_bench *b, const char *name, double value, const char *unit)
{
    bench_limit limit;
    if (b->failed) return;
    printf("%s %.6g %s\n", name, value, unit);
    fflush(stdout);
    if (!b->gpu) return;
    if (!bench_limit_find("pool", b->limits, name, &limit)) b->failed = true;
    else if (!bench_limit_holds("pool", name, &limit, value)) b->beyond = true;
}

/* -- Clocks, numbers, threads -------------------------------------------------------------------------------------- */

static double clock_ns(clockid_t id)
{
    struct timespec t;
    clock_gettime(id, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}
double pool_now_ns(void) { return clock_ns(CLOCK_MONOTONIC); }
double pool_cpu_ns(void) { return clock_ns(CLOCK_PROCESS_CPUTIME_ID); }
double pool_thread_ns(void) { return clock_ns(CLOCK_THREAD_CPUTIME_ID); }

typedef struct pool_thread {
    void (*fn)(void *user, unsigned i);
    void *user;
    unsigned i;
    pthread_barrier_t *start;
} pool_thread;

static void *thread_main(void *arg)
{
    const pool_thread *t = arg;
    pthread_barrier_wait(t->start);
    t->fn(t->user, t->i);
    return NULL;
}

enum { THREADS_MOST = 64 };

void pool_threads(unsigned threads, void (*fn)(void *user, unsigned i), void *user)
{
    pthread_t id[THREADS_MOST];
    pool_thread t[THREADS_MOST];
    pthread_barrier_t start;
    if (threads > THREADS_MOST) threads = THREADS_MOST;
    pthread_barrier_init(&start, NULL, threads);
    for (unsigned i = 0; i < threads; i++) {
        t[i] = (pool_thread){ fn, user, i, &start };
        if (pthread_create(&id[i], NULL, thread_main, &t[i]) != 0) {
            fprintf(stderr, "pool: no thread\n");
            exit(1);
        }
    }
    for (unsigned i = 0; i < threads; i++) pthread_join(id[i], NULL);
    pthread_barrier_destroy(&start);
}

/* -- Device -------------------------------------------------------------------------------------------------------- */

static const char spin_text[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n"
    ".visible .entry spin(.param .u32 ns)\n{\n"
    " .reg .u32 %r<2>;\n .reg .u64 %t<5>;\n .reg .pred %p;\n"
    " ld.param.u32 %r1, [ns];\n cvt.u64.u32 %t1, %r1;\n mov.u64 %t2, %globaltimer;\n"
    "again:\n mov.u64 %t3, %globaltimer;\n sub.u64 %t4, %t3, %t2;\n setp.lt.u64 %p, %t4, %t1;\n @%p bra again;\n"
    " ret;\n}\n";

cj_kernel *pool_spin_kernel(pool_bench *b)
{
    cj_module *mod = cj_module_load_text(b->dev, spin_text, NULL);
    cj_kernel *k = cj_module_kernel(mod, "spin");
    cj_module_free(mod);
    pool_need_object(b, k);
    return k;
}

static void bench_start(pool_bench *b)
{
    b->drv = cj_driver_open(NULL);
    b->dev = cj_device_open(b->drv, 0, NULL);
    pool_need_object(b, b->dev);
    if (b->failed) return;
    b->gpu = !strcmp(cj_driver_kind(b->drv), "cuda");
    b->failed = !bench_load_driver("pool", cj_driver_path(b->drv), &b->cu);
    if (b->failed) return;
    pool_need_raw(b, b->cu.cuDevicePrimaryCtxRetain(&b->ctx, 0), "cuDevicePrimaryCtxRetain");
    pool_need_raw(b, b->cu.cuCtxSetCurrent(b->ctx), "cuCtxSetCurrent");
    printf("device %s\n", cj_device_name(b->dev));
    printf("driver %s, CUDA %d.%d\n", cj_driver_kind(b->drv), cj_driver_version(b->drv) / 1000,
           cj_driver_version(b->drv) % 1000 / 10);
}

static void bench_finish(pool_bench *b)
{
    if (b->ctx) {
        b->cu.cuCtxSetCurrent(NULL);
        b->cu.cuDevicePrimaryCtxRelease(0);
    }
    cj_device_close(b->dev);
    cj_driver_close(b->drv);
}

/* Whether the part is named, or none is. */
static bool is_wanted(const char *part, char **names, int count)
{
    for (int i = 0; i < count; i++)
        if (!strcmp(names[i], part)) return true;
    return !count;
}

int main(int argc, char **argv)
{
    pool_bench b = { .limits = BENCH_LIMITS };
    char **names = argv + 1;
    int count = argc - 1;
    if (count >= 2 && !strcmp(names[0], "-l")) b.limits = names[1], names += 2, count -= 2;
    for (int i = 0; i < count; i++) {
        bool known = false;
        for (int k = 0; k < POOL_PARTS; k++) known |= !strcmp(names[i], pool_parts[k].name);
        if (!known) return fprintf(stderr, "pool: no part is named %s\n", names[i]), 2;
    }
    bench_start(&b);
    for (int i = 0; i < POOL_PARTS && !b.failed; i++)
        if (is_wanted(pool_parts[i].name, names, count)) pool_parts[i].run(&b);
    bench_finish(&b);
    return b.failed || b.beyond;
}
