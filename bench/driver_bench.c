/* What compiling, finding compiled kernels and first launches cost, each beside the driver's own calls in the same run;
 * what it takes to make objects of libcujit-kernels, and to launch them.
 *
 * usage: driver [-l LIMITS] [PART...]       host [-l LIMITS] [PART...]
 * Runs the parts that are named, or all.  On a GPU a metric that is named in the file of limits is judged: exit status
 * 1 when it is beyond its limit.  On the CPU device nothing is judged.  A machine without a GPU has one line of
 * bench/driver. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bench/driver_bench.h"

static const struct { const char *name; void (*run)(driver_bench *b); } driver_parts[] = {
    { "overhead", driver_overhead }, { "scaling", driver_scaling }, { "hits", driver_hits },
    { "keys", driver_keys },         { "cold", driver_cold },       { "objects", driver_objects },
    { "products", driver_products },
};
enum { DRIVER_PARTS = sizeof driver_parts / sizeof *driver_parts };

/* -- Failures and reports ------------------------------------------------------------------------------------------ */

void driver_fail(driver_bench *b, const char *why)
{
    if (!b->failed) fprintf(stderr, BENCH_NAME ": %s\n", why);
    b->failed = true;
}

void driver_need(driver_bench *b, cj_status st)
{
    if (st != CJ_OK) driver_fail(b, cj_error_last()->message);
}

void driver_need_object(driver_bench *b, const void *object)
{
    if (cj_error_of(object)->status != CJ_OK) driver_fail(b, cj_error_of(object)->message);
}

void driver_need_raw(driver_bench *b, CUresult r, const char *what)
{
    char why[100];
    if (r == CUDA_SUCCESS) return;
    snprintf(why, sizeof why, "%s returned %d", what, (int)r);
    driver_fail(b, why);
}

void driver_report(driver_bench *b, const char *name, double value, const char *unit)
{
    bench_limit limit;
    if (b->failed) return;
    printf("%s %.6g %s\n", name, value, unit);
    fflush(stdout);
    if (!b->gpu) return;
    if (!bench_limit_find(BENCH_NAME, b->limits, name, &limit)) b->failed = true;
    else if (!bench_limit_holds(BENCH_NAME, name, &limit, value)) b->beyond = true;
}

/* -- Clocks -------------------------------------------------------------------------------------------------------- */

static double clock_us(clockid_t id)
{
    struct timespec t;
    clock_gettime(id, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

double driver_now_us(void) { return clock_us(CLOCK_MONOTONIC); }
double driver_clock_us(const driver_bench *b) { return clock_us(b->gpu ? CLOCK_MONOTONIC : CLOCK_THREAD_CPUTIME_ID); }

/* -- Modules ------------------------------------------------------------------------------------------------------- */

cj_ptx *driver_module(unsigned n, unsigned seed)
{
    cj_ptx *m = cj_ptx_create();
    cj_fn *f = cj_ptx_kernel(m, "k");
    cj_val p = cj_param_ptr(f, "p", CJ_F32), a = cj_param(f, "a", CJ_F32);
    cj_val v = cj_get(f, p, 0), w = cj_add(f, v, cj_imm_f32(f, (float)seed));
    for (unsigned i = 0; i < n; i++) v = cj_fma(f, v, a, w);
    cj_set(f, p, 0, v);
    return m;
}

/* -- Fresh processes ----------------------------------------------------------------------------------------------- */

enum { FRESH_WORDS = 8 };

static void become_fresh(const char *cache, const char *const *words, int answer)
{
    const char *argv[FRESH_WORDS + 3] = { BENCH_NAME, "fresh" };
    for (size_t i = 0; i < FRESH_WORDS && words[i]; i++) argv[i + 2] = words[i];
    setenv("CUJIT_CACHE", cache ? "1" : "0", 1);
    if (cache) setenv("CUJIT_CACHE_DIR", cache, 1);
    dup2(answer, STDOUT_FILENO);
    execv("/proc/self/exe", (char **)argv);
    _exit(1);
}

double driver_fresh(driver_bench *b, const char *cache, const char *const *words)
{
    int pipes[2], status = -1;
    double us = -1;
    if (b->failed) return -1;
    fflush(stdout);
    if (pipe(pipes)) return driver_fail(b, "no pipe"), -1;
    const pid_t child = fork();
    if (!child) become_fresh(cache, words, pipes[1]);
    close(pipes[1]);
    FILE *f = fdopen(pipes[0], "r");
    if (!f || fscanf(f, "%lf", &us) != 1) us = -1;
    if (f) fclose(f);
    if (child < 0 || waitpid(child, &status, 0) != child || status) us = -1;
    return us;
}

bool driver_folder_begin(driver_bench *b, char *folder)
{
    if (!b->failed && !mkdtemp(folder)) driver_fail(b, "no folder for a cache");
    return !b->failed;
}

void driver_folder_end(const char *folder)
{
    static const char *const files[] = { ".cujit-total", ".cujit-swept" };
    char path[300];
    cj_disk_cache *c = cj_disk_cache_open(folder);
    cj_disk_cache_clear(c);
    cj_disk_cache_close(c);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, files[i]);
        unlink(path);
    }
    rmdir(folder);
}

void driver_fresh_sides(driver_bench *b, const char *const *bare, const char *cache, const char *const *ours,
                        int rounds, double *const us[2])
{
    for (int i = -1; i < rounds && !b->failed; i++)
        for (int half = 0; half < 2; half++) {
            const int side = half ^ (i & 1);
            if (!side && !bare) continue;
            const double t = driver_fresh(b, side ? cache : NULL, side ? ours : bare);
            if (t < 0) driver_fail(b, "a fresh process failed");
            if (i >= 0) us[side][i] = t;
        }
}

CUmodule driver_first_launch(driver_bench *b, cj_stream *s, const void *image, const char *name, unsigned threads,
                             void **params)
{
    CUmodule mod = NULL;
    CUfunction fn = NULL;
    if (!b->failed) driver_need_raw(b, b->cu.cuModuleLoadData(&mod, image), "cuModuleLoadData");
    if (!b->failed) driver_need_raw(b, b->cu.cuModuleGetFunction(&fn, mod, name), "cuModuleGetFunction");
    if (!b->failed)
        driver_need_raw(b, b->cu.cuLaunchKernel(fn, 1, 1, 1, threads, 1, 1, 0, cj_stream_raw(s), params, NULL),
                        "cuLaunchKernel");
    return mod;
}

/* In that process: prints one number. */
static int fresh_main(driver_bench *b, int argc, char **argv)
{
    double us = -1;
    if (argc == 4 && !strcmp(argv[0], "hit"))
        us = driver_fresh_hit(b, argv[1], (unsigned)strtoul(argv[2], NULL, 10), argv[3]);
    if (argc == 2 && !strcmp(argv[0], "open")) us = driver_fresh_open(b, argv[1]);
    if (argc == 2 && !strcmp(argv[0], "cold")) us = driver_fresh_cold(b, argv[1]);
    if (argc == 2 && !strcmp(argv[0], "object")) us = driver_fresh_object(b, argv[1]);
    if (!b->failed) printf("%.3f\n", us);
    return b->failed;
}

/* -- Device -------------------------------------------------------------------------------------------------------- */

static void bench_start(driver_bench *b)
{
    b->dev = cj_device_open(b->drv, 0, NULL);
    driver_need_object(b, b->dev);
    if (!b->failed) b->lib = bench_load_driver(BENCH_NAME, cj_driver_path(b->drv), &b->cu);
    b->failed |= !b->lib;
    if (b->failed) return;
    driver_need_raw(b, b->cu.cuDevicePrimaryCtxRetain(&b->ctx, 0), "cuDevicePrimaryCtxRetain");
    driver_need_raw(b, b->cu.cuCtxSetCurrent(b->ctx), "cuCtxSetCurrent");
}

static void bench_finish(driver_bench *b)
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

static void run_parts(driver_bench *b, char **names, int count)
{
    printf("device %s\n", cj_device_name(b->dev));
    printf("driver %s, CUDA %d.%d\n", cj_driver_kind(b->drv), cj_driver_version(b->drv) / 1000,
           cj_driver_version(b->drv) % 1000 / 10);
    for (int i = 0; i < DRIVER_PARTS && !b->failed; i++)
        if (is_wanted(driver_parts[i].name, names, count)) driver_parts[i].run(b);
}

int main(int argc, char **argv)
{
    driver_bench b = { .limits = BENCH_LIMITS, .gpu = !strcmp(BENCH_KIND, "cuda") };
    char **names = argv + 1;
    int count = argc - 1;
    const bool fresh = count && !strcmp(names[0], "fresh");
    if (count >= 2 && !strcmp(names[0], "-l")) b.limits = names[1], names += 2, count -= 2;
    for (int i = 0; i < count && !fresh; i++) {
        bool known = false;
        for (int k = 0; k < DRIVER_PARTS; k++) known |= !strcmp(names[i], driver_parts[k].name);
        if (!known) return fprintf(stderr, BENCH_NAME ": no part is named %s\n", names[i]), 2;
    }
    /* What is compiled is compiled each time, unless a part turns the cache on; the driver has a cache of its own. */
    if (!fresh) setenv("CUJIT_CACHE", "0", 1);
    setenv("CUDA_CACHE_DISABLE", "1", 1);
    b.drv = cj_driver_open(BENCH_KIND);
    if (b.gpu && (cj_error_of(b.drv)->status || !cj_device_count(b.drv))) {
        printf(BENCH_NAME ": skipped, there is no GPU: %s\n", cj_error_of(b.drv)->message);
        cj_driver_close(b.drv);
        return 0;
    }
    bench_start(&b);
    int status = 0;
    if (fresh && !b.failed) status = fresh_main(&b, count - 1, names + 1);
    else if (!b.failed) run_parts(&b, names, count);
    bench_finish(&b);
    return status || b.failed || b.beyond;
}
