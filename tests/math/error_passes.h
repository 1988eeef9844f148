/* Passes of tests/math/check_math: one function's results for many operands, beside a reference. */
#ifndef CUJIT_TESTS_ERROR_PASSES_H
#define CUJIT_TESTS_ERROR_PASSES_H

#include <stdint.h>

#include "tests/math/error_kernels.h"

/* Where the wanted values are from: the C library on the host, in double or long double; CUDA's function of double on
 * the device, by the kernels that bench/math_peers.sh has made. */
typedef enum error_reference { REFERENCE_HOST, REFERENCE_CUDA } error_reference;

enum { WORST_POINTS = 1000, ERROR_RESULTS = 2 };
typedef struct error_point { double error; uint64_t x, y, got; } error_point;

/* One function in one accuracy, and what of it is judged. */
typedef struct error_row {
    char name[40];
    const math_function *t;
    cj_type type;
    cj_math_accuracy accuracy;
    error_unit unit;
    judged_part part;
    double bound;             /* the greatest error that is allowed; below 0: none is known */
    cj_module *ours, *peer;   /* peer: NULL without one */
} error_row;

/* What a pass finds of each result. */
typedef struct error_found {
    uint64_t words[JUDGED_WORDS], cuda[JUDGED_WORDS];  /* of ours; of CUDA's own function of the type */
    bool has_cuda;
    error_point at, wrong_at;                          /* operands of the greatest error, and of a wrong value */
    error_point worst[WORST_POINTS];
    unsigned worst_count;
} error_found;

typedef struct error_bench {
    cj_driver *drv;
    cj_device *dev;
    cj_stream *s;
    bool gpu, quiet;
    unsigned threads;
    uint32_t chunk;            /* operands at a time */
    cj_dptr x, y, r[2], w[2], low[2], found, again, list;
    void *host_x, *host_y;
    double *host_w[2], *host_low[2];
    cj_kernel *judges[2][4];   /* by type and unit */
} error_bench;

/* False: a call has failed, and standard error says which. */
bool error_bench_open(error_bench *b, uint32_t chunk, unsigned threads);
void error_bench_close(error_bench *b);

/* Loads the row's kernels: its own, and CUDA's of the folder, which may be NULL.  Any thread. */
bool error_row_load(error_bench *b, error_row *row, const char *folder);

/* `values` operands from number `first` on, and hard ones.  found[q]: of result q.  False: a call has failed, and
 * standard error says which. */
bool error_pass(error_bench *b, const error_row *row, error_reference reference, uint64_t first, uint64_t values,
                error_found *found);

#endif
