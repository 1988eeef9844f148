/* The size of a pipeline's ring, from measured times: the model that pipeline.h and docs/coordination.md describe. */
#include "stream/pipeline/stream_pipeline.h"
#include "tests/tap.h"

#define TIMES(f, u, l, c, d, r, w) \
    { .fill = (f), .upload = (u), .launch = (l), .compute = (c), .download = (d), .drain = (r), .whole = (w) }

static const struct { const char *name; cji_depth_question q; uint32_t best; } cases[] = {
    { "one chunk", { TIMES(0, 1, 0, 1, 1, 0, 3), 2, 1, 1, 1, 8, 0, 1 }, 1 },
    { "equal stages, buffers for nothing", { TIMES(0, 1, 0, 1, 1, 0, 3), 2, 1000, 1, 1, 8, 0, 1 }, 4 },
    { "equal stages that take their sum and more", { TIMES(0, 1, 0, 1, 1, 0, 3.6), 2, 1000, 1, 1, 8, 0, 1 }, 5 },
    { "copies only", { TIMES(0, 1, 0, 0, 1, 0, 2), 2, 1000, 1, 1, 8, 0, 1 }, 3 },
    { "copies only, one engine: nothing overlaps", { TIMES(0, 1, 0, 0, 1, 0, 2), 1, 1000, 1, 1, 8, 0, 1 }, 1 },
    { "one engine, and kernels", { TIMES(0, 1, 0, 2, 1, 0, 4), 1, 1000, 1, 1, 8, 0, 1 }, 3 },
    { "no copy engine, no host work", { TIMES(0, 1, 0, 1, 1, 0, 3), 0, 1000, 1, 1, 8, 0, 1 }, 1 },
    { "no copy engine, host work", { TIMES(1.5, 1, 0, 1, 1, 1.5, 6), 0, 1000, 1, 1, 8, 0, 1 }, 3 },
    { "compute is nearly all", { TIMES(0, 0.01, 0, 10, 0.01, 0, 10.02), 2, 1000, 1, 1, 8, 0, 1 }, 2 },
    { "the host is all", { TIMES(5, 0, 0, 0, 0, 5, 10), 2, 1000, 1, 1, 8, 1, 1 }, 1 },
    { "tiny totals: a buffer costs more", { TIMES(0, 1, 0, 1, 1, 0, 3), 2, 4, 1, 1, 8, 100, 1 }, 1 },
    { "a buffer costs more than it saves for the third", { TIMES(0, 1, 0, 1, 1, 0, 3), 2, 100, 1, 1, 8, 80, 1 }, 2 },
    { "several runs share the cost", { TIMES(0, 1, 0, 1, 1, 0, 3), 2, 100, 1, 1, 8, 80, 100 }, 4 },
    { "buffers that are made already", { TIMES(0, 1, 0, 1, 1, 0, 3), 2, 4, 4, 1, 8, 100, 1 }, 4 },
    { "at most three", { TIMES(0, 1, 0, 1, 1, 0, 3), 2, 1000, 1, 1, 3, 0, 1 }, 3 },
    { "at most one", { TIMES(0, 1, 0, 1, 1, 0, 3), 2, 1000, 1, 1, 1, 0, 1 }, 1 },
    { "at least two", { TIMES(0, 1, 0, 1, 1, 0, 3), 2, 4, 1, 2, 8, 100, 1 }, 2 },
    { "no more than chunks", { TIMES(0, 1, 0, 1, 1, 0, 9), 2, 3, 3, 1, 8, 0, 1 }, 3 },
};

int main(void)
{
    tap_plan(0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        tap_is_uint(cji_depth_best(&cases[i].q), cases[i].best, "%s", cases[i].name);
    const cji_pipeline_times t = TIMES(1, 4, 1, 6, 5, 1, 20);
    tap_is_f64(cji_depth_bound(&t, 2), 6, "two engines: the longest stage");
    tap_is_f64(cji_depth_bound(&t, 1), 9, "one engine: both copies");
    tap_is_f64(cji_depth_bound(&t, 0), 15, "none: copies and kernels");
    return tap_done();
}
