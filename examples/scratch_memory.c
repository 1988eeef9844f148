/* Scratch memory for each step: allocated and freed in the order of the stream, with one allocation by the driver.
 *
 * Each step replaces a number by the sum of itself and its neighbour, through a scratch array. cj_free returns at once,
 * while the step still runs; the next step gets the same block. */
#include <stdio.h>
#include <string.h>

#include <cujit/cujit.h>

enum { N = 1 << 14, STEPS = 10 };

/* pair(to, from, n): to[i] = from[i] + from[i ^ 1] */
static cj_ptx *pair_module(void)
{
    cj_ptx *m = cj_ptx_create();
    cj_fn *f = cj_ptx_kernel(m, "pair");
    cj_val to = cj_param_ptr(f, "to", CJ_U32), from = cj_param_ptr(f, "from", CJ_U32), n = cj_param(f, "n", CJ_U32);
    cj_val i = cj_global_id(f, CJ_X);
    cj_if(f, cj_lt(f, i, n));
        cj_val mine = cj_get(f, from, i), other = cj_get(f, from, cj_xor(f, i, 1));
        cj_set(f, to, i, cj_add(f, mine, other));
    cj_end(f);
    return m;
}

int main(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "--help"))
        return puts("usage: scratch_memory\n"
                    "Allocates and frees scratch memory in each step, with one allocation by the driver."), 0;
    static uint32_t host[N];
    cj_driver *drv = cj_driver_open(NULL);
    cj_device *dev = cj_device_open(drv, 0, NULL);
    cj_stream *s = cj_stream_create(dev, NULL);
    cj_ptx *m = pair_module();
    cj_kernel *pair = cj_kernel_load(dev, m, "pair", NULL);
    cj_alloc_counts counts;
    char report[512];

    cj_dptr x = cj_alloc(s, sizeof host);
    cj_fill32(s, x, 1, N);
    for (int step = 0; step < STEPS; step++) {
        cj_dptr scratch = cj_alloc(s, sizeof host);
        cj_launch(s, pair, cj_threads(N, 256), scratch, x, N);
        cj_copy(s, x, scratch, sizeof host);
        cj_free(dev, scratch); /* the copy still reads it: the block is reused behind that */
    }
    cj_copy_to_host(s, host, x, sizeof host);
    if (cj_stream_sync(s) != CJ_OK) return fprintf(stderr, "%s\n", cj_error_of(s)->message), 1;

    int wrong = 0;
    for (int i = 0; i < N; i++) wrong += host[i] != 1u << STEPS;
    cj_alloc_counts_defaults(&counts);
    cj_device_get_alloc_counts(dev, &counts);
    printf("%d steps, %d allocations, %d by the driver; %d of %d numbers are wrong\n", STEPS, (int)counts.allocs,
           (int)counts.misses, wrong, N);
    cj_device_alloc_report(dev, report, sizeof report);
    fputs(report, stdout);

    cj_free(dev, x);
    cj_kernel_free(pair);
    cj_ptx_free(m);
    cj_stream_free(s);
    cj_device_close(dev);
    cj_driver_close(drv);
    return wrong != 0;
}
