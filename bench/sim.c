/* How fast the CPU device is: seven kernels beside the same loops in plain C, each scalar instruction alone and beside
 * a loop in C where C has its operation, accesses of memory by space and shape, launches, module load, and how it
 * scales over cores.
 *
 *     bench/sim [--time SECONDS] [--threads N] [--all] [--only NAME] [PART...]
 *
 * The parts are kernels, forms, accesses, others, calls and scaling; without one, all. `--time` is the processor time
 * of one figure (0.02), `--threads` the threads that run kernels (1). `--all` prints every instruction instead of the
 * slowest of each opcode; `--only` takes the kernels, forms and accesses whose name begins so. Rates are PTX
 * instructions a second, each counted once for a lane that executes it, in processor time. $CUJIT_SIM is the file of
 * the CPU device, of any build. */
#define _GNU_SOURCE 1
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "bench/sim_bench.h"

/* -- What the parts share ------------------------------------------------------------------------------------------ */

void sim_bench_check(CUresult r, const char *what)
{
    if (!r) return;
    fprintf(stderr, "sim: %s fails with CUDA error %d\n", what, (int)r);
    exit(1);
}

bool sim_bench_load(const sim_bench *b, const char *text, const char *kernel, sim_bench_code *out, char *log,
                    size_t size)
{
    CUjit_option option[] = { CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES };
    void *value[] = { log, (void *)(uintptr_t)size };
    *log = 0;
    if (b->cuModuleLoadDataEx(&out->module, text, 2, option, value)) return false;
    sim_bench_check(b->cuModuleGetFunction(&out->kernel, out->module, kernel), kernel);
    return true;
}

void sim_bench_launch(const sim_bench *b, CUfunction f, const unsigned grid[2], const unsigned block[2], void **params)
{
    sim_bench_check(b->cuLaunchKernel(f, grid[0], grid[1], 1, block[0], block[1], 1, 0, b->stream, params, NULL),
                    "a launch");
    sim_bench_check(b->cuStreamSynchronize(b->stream), "a kernel");
}

static double seconds_of(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

double sim_bench_cpu(void) { return seconds_of(CLOCK_PROCESS_CPUTIME_ID); }
double sim_bench_wall(void) { return seconds_of(CLOCK_MONOTONIC); }

double sim_bench_best(const sim_bench *b, void (*round)(void *user), void *user)
{
    double best = 1e30, sum = 0;
    for (int i = 0; i < 3 || sum < b->seconds; i++) {
        double t = sim_bench_cpu();
        round(user);
        t = sim_bench_cpu() - t;
        if (t < best) best = t;
        sum += t;
    }
    return best;
}

void sim_bench_report(const char *part, const char *name, const char *what, double value, const char *unit)
{
    printf("sim.%s%s%s%s%s %.4g %s\n", part, *name ? "." : "", name, *what ? "." : "", what, value, unit);
    fflush(stdout);
}

/* -- The device ---------------------------------------------------------------------------------------------------- */

static sim_bench open_device(const char *path)
{
    sim_bench b = { .seconds = 0.02 };
    CUcontext ctx;
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        fprintf(stderr, "sim: %s\n", dlerror());
        exit(1);
    }
#define RESOLVE(name, args) \
    if (!(b.name = (CUresult(*) args)(uintptr_t)dlsym(library, #name))) { \
        fprintf(stderr, "sim: %s lacks %s\n", path, #name); \
        exit(1); \
    }
    SIM_BENCH_CALLS(RESOLVE)
#undef RESOLVE
    sim_bench_check(b.cuInit(0), "cuInit");
    sim_bench_check(b.cuDevicePrimaryCtxRetain(&ctx, 0), "cuDevicePrimaryCtxRetain");
    sim_bench_check(b.cuCtxSetCurrent(ctx), "cuCtxSetCurrent");
    sim_bench_check(b.cuStreamCreate(&b.stream, CU_STREAM_DEFAULT), "cuStreamCreate");
    return b;
}

/* -- Scaling: the number of threads holds for a process, so each has one ------------------------------------------- */

typedef struct child_times { double wall, processor; } child_times;

static bool child(const char *self, int threads, child_times *t)
{
    char command[4200], line[100] = "";
    snprintf(command, sizeof command, "'%s' --threads %d scaling-child", self, threads);
    FILE *f = popen(command, "r");
    bool good = f && fgets(line, sizeof line, f) && sscanf(line, "%lf %lf", &t->wall, &t->processor) == 2;
    if (f) pclose(f);
    return good;
}

/* How much sooner a grid is done by N threads, and the processor time that all of them spend, over that of one. */
static bool scaling(void)
{
    char self[4096], name[40];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    child_times one, t;
    if (n <= 0) return fprintf(stderr, "sim: /proc/self/exe cannot be read\n"), false;
    self[n] = 0;
    bool good = child(self, 1, &one);
    for (int threads = 2; good && threads <= cores && threads <= 64; threads *= 2) {
        good = child(self, threads, &t);
        if (!good) break;
        snprintf(name, sizeof name, "threads_%d", threads);
        sim_bench_report("scaling", name, "speedup", one.wall / t.wall, "ratio");
        sim_bench_report("scaling", name, "processor_time", t.processor / one.processor, "ratio");
    }
    return good;
}

int main(int argc, char **argv)
{
    static const char *const parts[] = { "kernels", "forms", "accesses", "others", "calls", "scaling",
                                         "scaling-child" };
    enum { PARTS = sizeof parts / sizeof *parts };
    bool chosen[PARTS] = { false }, any = false, good = true, all = false;
    const char *threads = "1", *only = NULL, *path = getenv("CUJIT_SIM");
    double seconds = 0.02;
    for (int i = 1; i < argc; i++) {
        bool known = false, more = i + 1 < argc;
        for (int j = 0; j < PARTS; j++)
            if (!strcmp(argv[i], parts[j])) chosen[j] = any = known = true;
        if (!strcmp(argv[i], "--all")) all = known = true;
        else if (more && !strcmp(argv[i], "--time")) seconds = atof(argv[++i]), known = true;
        else if (more && !strcmp(argv[i], "--threads")) threads = argv[++i], known = true;
        else if (more && !strcmp(argv[i], "--only")) only = argv[++i], known = true;
        if (!known) {
            fprintf(stderr, "usage: sim [--time SECONDS] [--threads N] [--all] [--only NAME] "
                            "[kernels] [forms] [accesses] [others] [calls] [scaling]\n");
            return 2;
        }
    }
    setenv("CUJIT_SIM_THREADS", threads, 1);
    sim_bench b = open_device(path && *path ? path : BENCH_SIM);
    b.seconds = seconds;
    b.all = all;
    b.only = only;
    if (chosen[6]) {
        child_times t;
        good = sim_bench_scaling(&b, &t.wall, &t.processor);
        printf("%.9f %.9f\n", t.wall, t.processor);
        return good ? 0 : 1;
    }
    if (!any || chosen[0]) good &= sim_bench_kernels(&b);
    if (!any || chosen[1]) good &= sim_bench_forms(&b);
    if (!any || chosen[2]) good &= sim_bench_accesses(&b);
    if (!any || chosen[3]) good &= sim_bench_others(&b);
    if (!any || chosen[4]) good &= sim_bench_calls(&b);
    if (!any || chosen[5]) good &= scaling();
    return good ? 0 : 1;
}
