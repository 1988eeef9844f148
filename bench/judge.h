/* What bench programs share: the file of limits, numbers, the driver's own entry points. */
#ifndef BENCH_JUDGE_H
#define BENCH_JUDGE_H

#include <stdbool.h>
#include <stddef.h>

#include "cuda/abi.h"
#include "cuda/table.h"

/* What a metric is judged by. */
typedef struct bench_limit {
    bool known, least; /* least: the value must not be smaller, else not greater */
    double value;
} bench_limit;

/* The line of the file that has the metric: `name most`, or `name least least`.  False, reported for `program`: the
 * file cannot be read. */
bool bench_limit_find(const char *program, const char *file, const char *metric, bench_limit *out);

/* Whether the value is within the limit, or there is none; else it is reported. */
bool bench_limit_holds(const char *program, const char *metric, const bench_limit *limit, double value);

/* Sorts. */
void bench_sort(double *value, size_t n);
double bench_median(double *value, size_t n);

/* The entry points of the library at `path`, by dlsym.  Returns the library; NULL, reported for `program`: there is
 * none there. */
void *bench_load_driver(const char *program, const char *path, cji_cu *cu);

#endif
