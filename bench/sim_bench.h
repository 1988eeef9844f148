/* What the parts of bench/sim share: the CPU device by its driver calls alone, so that any build of it can be measured,
 * also an older one (sim.c); and the best of several rounds in processor time. */
#ifndef BENCH_SIM_BENCH_H
#define BENCH_SIM_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cuda/abi.h"

/* The driver calls of the benchmark, by the names that libcuda exports. */
#define SIM_BENCH_CALLS(X)                                                                                            \
    X(cuInit, (unsigned))                                                                                             \
    X(cuDevicePrimaryCtxRetain, (CUcontext *, CUdevice))                                                              \
    X(cuCtxSetCurrent, (CUcontext))                                                                                   \
    X(cuModuleLoadDataEx, (CUmodule *, const void *, unsigned, CUjit_option *, void **))                              \
    X(cuModuleGetFunction, (CUfunction *, CUmodule, const char *))                                                    \
    X(cuModuleUnload, (CUmodule))                                                                                     \
    X(cuMemAlloc_v2, (CUdeviceptr *, size_t))                                                                         \
    X(cuMemFree_v2, (CUdeviceptr))                                                                                    \
    X(cuMemcpyHtoD_v2, (CUdeviceptr, const void *, size_t))                                                           \
    X(cuMemcpyDtoH_v2, (void *, CUdeviceptr, size_t))                                                                 \
    X(cuMemsetD8_v2, (CUdeviceptr, unsigned char, size_t))                                                            \
    X(cuStreamCreate, (CUstream *, unsigned))                                                                         \
    X(cuStreamSynchronize, (CUstream))                                                                                \
    X(cuLaunchKernel, (CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream,     \
                       void **, void **))

typedef struct sim_bench {
#define FIELD(name, args) CUresult (*name) args;
    SIM_BENCH_CALLS(FIELD)
#undef FIELD
    CUstream stream;
    double seconds;          /* processor time for one figure, at least */
    bool all;                /* print every instruction, not the slowest of each opcode */
    const char *only;        /* kernels, forms and accesses whose name begins so; NULL: all */
} sim_bench;

/* Prints what failed, and exits: a benchmark without a device has no figures. */
void sim_bench_check(CUresult r, const char *what);

/* A module's only kernel. The module is freed by sim_bench_unload. NULL, with the log in `log`, when the device
 * rejects the text. */
typedef struct sim_bench_code { CUmodule module; CUfunction kernel; } sim_bench_code;
bool sim_bench_load(const sim_bench *b, const char *text, const char *kernel, sim_bench_code *out, char *log,
                    size_t size);

/* Launches on b->stream and waits. */
void sim_bench_launch(const sim_bench *b, CUfunction f, const unsigned grid[2], const unsigned block[2], void **params);

double sim_bench_cpu(void);      /* processor time of this process, seconds */
double sim_bench_wall(void);

/* The shortest of several rounds, in seconds of processor time: at least three, and b->seconds in all. */
double sim_bench_best(const sim_bench *b, void (*round)(void *user), void *user);

/* `name value unit` */
void sim_bench_report(const char *part, const char *name, const char *what, double value, const char *unit);

/* A loop in plain C that does what the form does, over SIM_BENCH_LANES operands of its types: operations a second; 0:
 * there is none. in[]: at least three arrays. */
enum { SIM_BENCH_LANES = 1024 };
double sim_bench_loop(const sim_bench *b, const char *form, const void *const in[3]);
size_t sim_bench_loops(void);                                  /* how many there are */

/* The parts. False: a result was wrong. */
bool sim_bench_kernels(const sim_bench *b);                    /* sim_bench_kernels.c */
/* One large grid, best of several: wall time, and processor time of all threads. */
bool sim_bench_scaling(const sim_bench *b, double *wall, double *processor);
bool sim_bench_forms(const sim_bench *b);                      /* sim_bench_forms.c */
bool sim_bench_accesses(const sim_bench *b);                   /* sim_bench_accesses.c */
bool sim_bench_others(const sim_bench *b);                     /* sim_bench_others.c */
bool sim_bench_calls(const sim_bench *b);                      /* sim_bench_calls.c */

#endif
