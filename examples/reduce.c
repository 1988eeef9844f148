/* The sum of many numbers: a warp adds its lanes with shuffles, a block adds its warps through shared
 * memory, and each block adds its sum to the total with one atomic operation. */
#include <cujit/cujit.h>
#include <stdio.h>
#include <string.h>

enum { BLOCK = 256, WARPS = BLOCK / 32 };

/* v = the sum of v over the lanes of the warp, in lane 0 */
static void warp_sum(cj_fn *f, cj_val v)
{
    for (int delta = 16; delta; delta /= 2) {
        cj_val other = cj_shfl_down(f, v, delta);
        cj_assign(f, v, cj_add(f, v, other));
    }
}

static cj_ptx *build(void)
{
    cj_ptx *m = cj_ptx_create();
    cj_fn *f = cj_ptx_kernel(m, "sum");
    cj_val in = cj_param_ptr(f, "in", CJ_U32), out = cj_param_ptr(f, "out", CJ_U32), n = cj_param(f, "n", CJ_U32);
    cj_val part = cj_shared(f, "part", CJ_U32, WARPS);
    cj_val tid = cj_thread_id(f, CJ_X), lane = cj_and(f, tid, 31), warp = cj_shr(f, tid, 5);
    cj_val sum = cj_let(f, CJ_U32, 0);
    cj_val i = cj_for(f, cj_global_id(f, CJ_X), n, cj_global_size(f, CJ_X)); /* a grid-stride loop */
        cj_assign(f, sum, cj_add(f, sum, cj_get(f, in, i)));
    cj_end(f);
    warp_sum(f, sum);
    cj_if(f, cj_eq(f, lane, 0));
        cj_set(f, part, warp, sum);
    cj_end(f);
    cj_block_sync(f);
    cj_if(f, cj_eq(f, warp, 0));
        cj_assign(f, sum, 0);
        cj_if(f, cj_lt(f, lane, WARPS));
            cj_assign(f, sum, cj_get(f, part, lane));
        cj_end(f);
        warp_sum(f, sum);
        cj_if(f, cj_eq(f, lane, 0));
            cj_atomic_add(f, out, sum);
        cj_end(f);
    cj_end(f);
    return m;
}

int main(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "--help"))
        return puts("usage: reduce\n"
                    "Adds 100000 numbers: lanes of a warp, warps of a block, blocks."), 0;
    enum { N = 100000 };
    cj_ptx *m = build();
    cj_driver *drv = cj_driver_open(NULL);
    cj_device *dev = cj_device_open(drv, 0, NULL);
    cj_stream *s = cj_stream_create(dev, NULL);
    cj_kernel *k = cj_kernel_load(dev, m, "sum", NULL);
    uint32_t *h = cj_host_alloc(dev, (N + 1) * sizeof *h, NULL);
    if (!h) return fprintf(stderr, "%s\n", cj_error_of(dev)->message), 1;
    for (unsigned j = 0; j < N; j++) h[j] = j % 1000;
    cj_dptr in = cj_alloc(s, N * sizeof *h), out = cj_alloc(s, sizeof *h);
    cj_copy_to_device(s, in, h, N * sizeof *h);
    cj_fill32(s, out, 0, 1);
    cj_launch(s, k, cj_grid(32, BLOCK), in, out, N);
    cj_copy_to_host(s, h + N, out, sizeof *h);
    cj_free(dev, in);
    cj_free(dev, out);
    if (cj_stream_sync(s) != CJ_OK) return fprintf(stderr, "%s\n", cj_error_of(s)->message), 1;
    printf("%s: the sum of %d numbers is %u\n", cj_device_name(dev), N, (unsigned)h[N]);
    cj_host_free(dev, h);
    cj_kernel_free(k);
    cj_ptx_free(m);
    cj_stream_free(s);
    cj_device_close(dev);
    cj_driver_close(drv);
    return 0;
}
