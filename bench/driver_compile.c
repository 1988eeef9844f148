/* Compiling: what the library adds to the driver's compiler, and how compiling scales with threads.
 *
 * compile.overhead_us.N   from cj_ptx_create to the return of cj_image_create, without the time that is spent in driver
 *                         calls: a module of N instructions is built (compile.build_us), printed, compiled, and its
 *                         code copied
 * compile.scaling_16      how much quicker 16 threads compile modules than one does, over how much quicker they are
 *                         with the driver's linker alone */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/driver_bench.h"

/* -- Driver calls that are measured -------------------------------------------------------------------------------- */

static const driver_bench *below; /* the bench whose entry points are wrapped */
static double inside_us;          /* that was spent in them */

#define TIMED(name, params, args)                       \
    static CUresult timed_##name params                 \
    {                                                   \
        const double begin = driver_clock_us(below);    \
        const CUresult result = below->cu.name args;    \
        inside_us += driver_clock_us(below) - begin;    \
        return result;                                  \
    }
TIMED(cuLinkCreate, (unsigned n, CUjit_option *option, void **value, CUlinkState *state), (n, option, value, state))
TIMED(cuLinkAddData,
      (CUlinkState state, CUjitInputType type, void *data, size_t bytes, const char *name, unsigned n,
       CUjit_option *option, void **value),
      (state, type, data, bytes, name, n, option, value))
TIMED(cuLinkComplete, (CUlinkState state, void **code, size_t *bytes), (state, code, bytes))
TIMED(cuLinkDestroy, (CUlinkState state), (state))

static void *timed_symbol(void *user, const char *symbol)
{
    static const struct { const char *symbol; void (*fn)(void); } timed[] = {
        { "cuLinkCreate_v2", (void (*)(void))timed_cuLinkCreate },
        { "cuLinkAddData_v2", (void (*)(void))timed_cuLinkAddData },
        { "cuLinkComplete", (void (*)(void))timed_cuLinkComplete },
        { "cuLinkDestroy", (void (*)(void))timed_cuLinkDestroy },
    };
    const driver_bench *b = user;
    for (size_t i = 0; i < sizeof timed / sizeof *timed; i++)
        if (!strcmp(timed[i].symbol, symbol)) return (void *)(uintptr_t)timed[i].fn;
    return dlsym(b->lib, symbol);
}

/* -- The driver's linker alone ------------------------------------------------------------------------------------- */

typedef struct ptx_text { char *p; size_t bytes; /* with its NUL */ } ptx_text;

static ptx_text text_of_module(driver_bench *b, cj_ptx *m)
{
    const char *p = NULL;
    size_t n = 0;
    driver_need(b, cj_ptx_set_version(m, "3.1")); /* a GPU's linker takes no older one */
    driver_need(b, cj_ptx_print(m, 0, &p, &n));
    ptx_text t = { malloc(n + 1), n + 1 };
    if (t.p && p) memcpy(t.p, p, n + 1);
    else driver_fail(b, "no memory");
    return t;
}

static CUresult bare_link(const driver_bench *b, const ptx_text *t)
{
    CUlinkState state = NULL;
    void *code = NULL, *copy = NULL;
    size_t bytes = 0;
    CUresult r = b->cu.cuLinkCreate(0, NULL, NULL, &state);
    if (r != CUDA_SUCCESS) return r;
    r = b->cu.cuLinkAddData(state, CU_JIT_INPUT_PTX, t->p, t->bytes, "k", 0, NULL, NULL);
    if (r == CUDA_SUCCESS) r = b->cu.cuLinkComplete(state, &code, &bytes);
    if (r == CUDA_SUCCESS && (copy = malloc(bytes))) memcpy(copy, code, bytes);
    free(copy);
    b->cu.cuLinkDestroy(state);
    return r;
}

static CUresult bare_load(const driver_bench *b, const ptx_text *t)
{
    CUmodule mod = NULL;
    const CUresult r = b->cu.cuModuleLoadData(&mod, t->p);
    if (r == CUDA_SUCCESS) b->cu.cuModuleUnload(mod);
    return r;
}

/* -- Overhead ------------------------------------------------------------------------------------------------------ */

enum { ROUNDS = 31 };

/* *build: how long the module was built. */
static double one_compile(driver_bench *b, cj_device *dev, unsigned n, unsigned seed, double *build)
{
    inside_us = 0;
    const double t = driver_clock_us(b);
    cj_ptx *m = driver_module(n, seed);
    *build = driver_clock_us(b) - t;
    cj_image *img = cj_image_create(dev, m, NULL);
    const double all = driver_clock_us(b) - t;
    driver_need_object(b, img);
    cj_image_free(img);
    cj_ptx_free(m);
    return all;
}

static double one_bare(driver_bench *b, unsigned n, unsigned seed)
{
    cj_ptx *m = driver_module(n, seed);
    ptx_text text = text_of_module(b, m);
    const double t = driver_clock_us(b);
    if (!b->failed) driver_need_raw(b, bare_link(b, &text), "cuLinkComplete");
    const double all = driver_clock_us(b) - t;
    free(text.p);
    cj_ptx_free(m);
    return all;
}

static void report_size(driver_bench *b, const char *name, unsigned n, double value)
{
    char metric[80];
    snprintf(metric, sizeof metric, "%s.%u", name, n);
    driver_report(b, metric, value, "us");
}

void driver_overhead(driver_bench *b)
{
    static const struct { unsigned n, rounds; } sizes[] = { { 10, ROUNDS }, { 1000, ROUNDS }, { 10000, 11 } };
    below = b;
    cj_driver *drv = cj_driver_open_resolver(timed_symbol, b);
    cj_device *dev = cj_device_open(drv, 0, NULL);
    driver_need_object(b, dev);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        double ours[ROUNDS], over[ROUNDS], bare[ROUNDS], build[ROUNDS];
        const unsigned n = sizes[i].n, rounds = sizes[i].rounds;
        one_compile(b, dev, n, 0, &build[0]);
        for (unsigned r = 0; r < rounds && !b->failed; r++) {
            if (r & 1) bare[r] = one_bare(b, n, 2 * r + 1);
            ours[r] = one_compile(b, dev, n, 2 * r + 2, &build[r]);
            over[r] = ours[r] - inside_us;
            if (!(r & 1)) bare[r] = one_bare(b, n, 2 * r + 1);
        }
        if (b->failed) break;
        report_size(b, "compile.us", n, bench_median(ours, rounds));
        report_size(b, "compile.bare_us", n, bench_median(bare, rounds));
        report_size(b, "compile.build_us", n, bench_median(build, rounds));
        report_size(b, "compile.overhead_us", n, bench_median(over, rounds));
    }
    cj_device_close(dev);
    cj_driver_close(drv);
    driver_need_raw(b, b->cu.cuCtxSetCurrent(b->ctx), "cuCtxSetCurrent");
}

/* -- Scaling ------------------------------------------------------------------------------------------------------- */

enum { THREADS = 16, MODULES = 64, INSTRUCTIONS = 400, SCALING_ROUNDS = 5 };
typedef enum how { BY_US, BY_LINK, BY_LOAD, HOWS } how;

typedef struct crew {
    driver_bench *b;
    how by;
    unsigned seed;
    const ptx_text *text;
    atomic_uint next, failed, members;
    double begin[THREADS], end[THREADS]; /* of each thread: the main thread may be the last to run */
    pthread_barrier_t start;
} crew;

static bool work_one(crew *c, unsigned i)
{
    if (c->by == BY_LINK) return bare_link(c->b, &c->text[i]) == CUDA_SUCCESS;
    if (c->by == BY_LOAD) return bare_load(c->b, &c->text[i]) == CUDA_SUCCESS;
    cj_ptx *m = driver_module(INSTRUCTIONS, c->seed + i);
    cj_image *img = cj_image_create(c->b->dev, m, NULL);
    const bool good = cj_error_of(img)->status == CJ_OK;
    cj_image_free(img);
    cj_ptx_free(m);
    return good;
}

static void *crew_member(void *arg)
{
    crew *c = arg;
    const unsigned me = atomic_fetch_add(&c->members, 1);
    c->b->cu.cuCtxSetCurrent(c->b->ctx);
    pthread_barrier_wait(&c->start);
    c->begin[me] = driver_now_us();
    for (unsigned i; (i = atomic_fetch_add(&c->next, 1)) < MODULES;)
        if (!work_one(c, i)) atomic_fetch_add(&c->failed, 1);
    c->end[me] = driver_now_us();
    c->b->cu.cuCtxSetCurrent(NULL);
    return NULL;
}

/* How long `threads` threads compile all modules. */
static double time_of_crew(driver_bench *b, how by, unsigned threads, unsigned seed, const ptx_text *text)
{
    pthread_t id[THREADS];
    crew c = { .b = b, .by = by, .seed = seed, .text = text };
    pthread_barrier_init(&c.start, NULL, threads);
    for (unsigned i = 0; i < threads; i++)
        if (pthread_create(&id[i], NULL, crew_member, &c)) exit(1);
    for (unsigned i = 0; i < threads; i++) pthread_join(id[i], NULL);
    double begin = c.begin[0], end = c.end[0];
    for (unsigned i = 1; i < threads; i++) {
        if (c.begin[i] < begin) begin = c.begin[i];
        if (c.end[i] > end) end = c.end[i];
    }
    pthread_barrier_destroy(&c.start);
    if (c.failed) driver_fail(b, "a module was not compiled");
    return end - begin;
}

/* Modules that nothing has seen, as texts. */
static void make_texts(driver_bench *b, ptx_text *text, unsigned seed)
{
    for (unsigned i = 0; i < MODULES; i++) {
        cj_ptx *m = driver_module(INSTRUCTIONS, seed + i);
        text[i] = text_of_module(b, m);
        cj_ptx_free(m);
    }
}

void driver_scaling(driver_bench *b)
{
    static const char *const names[HOWS] = { "compile.scaling_16.ours", "compile.scaling_16.link",
                                             "compile.scaling_16.load" };
    double quicker[HOWS][SCALING_ROUNDS], over_link[SCALING_ROUNDS], over_load[SCALING_ROUNDS], one[SCALING_ROUNDS];
    unsigned seed = 1000000;
    for (int r = 0; r < SCALING_ROUNDS && !b->failed; r++) {
        for (int k = 0; k < HOWS; k++) {
            const how by = (how)((k + r) % HOWS);
            double us[2];
            for (int many = 0; many < 2; many++) {
                ptx_text text[MODULES];
                make_texts(b, text, seed);
                us[many] = b->failed ? 0 : time_of_crew(b, by, many ? THREADS : 1, seed + MODULES, text);
                for (int i = 0; i < MODULES; i++) free(text[i].p);
                seed += 2 * MODULES;
            }
            quicker[by][r] = us[0] / us[1];
            if (by == BY_US) one[r] = us[0] / MODULES;
        }
        over_link[r] = quicker[BY_US][r] / quicker[BY_LINK][r];
        over_load[r] = quicker[BY_US][r] / quicker[BY_LOAD][r];
    }
    if (b->failed) return;
    driver_report(b, "compile.module_us", bench_median(one, SCALING_ROUNDS), "us");
    for (int k = 0; k < HOWS; k++) driver_report(b, names[k], bench_median(quicker[k], SCALING_ROUNDS), "times");
    driver_report(b, "compile.scaling_16", bench_median(over_link, SCALING_ROUNDS), "ratio");
    driver_report(b, "compile.scaling_16.over_load", bench_median(over_load, SCALING_ROUNDS), "ratio");
}
