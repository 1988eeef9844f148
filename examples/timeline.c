/* A profile: named ranges, what the streams did, and when.  With a file name it writes the timeline
 * too: a picture for .svg, else a trace for https://ui.perfetto.dev. */
#include <cujit/cujit.h>
#include <stdio.h>
#include <string.h>

enum { N = 1 << 16, STEPS = 4 };

static int failed(const void *object)
{
    return fprintf(stderr, "%s\n", cj_error_of(object)->message), 1;
}

int main(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "--help"))
        return puts("usage: timeline [FILE]\n"
                    "Adds in four steps on two streams and reports what the streams did."),
               0;

    /* x[i] += y[i] */
    cj_ptx *m = cj_ptx_create();
    cj_fn *f = cj_ptx_kernel(m, "add_to");
    cj_val x = cj_param_ptr(f, "x", CJ_F32), y = cj_param_ptr(f, "y", CJ_F32), n = cj_param(f, "n", CJ_U32);
    cj_val i = cj_for(f, cj_global_id(f, CJ_X), n, cj_global_size(f, CJ_X));
        cj_set(f, x, i, cj_add(f, cj_get(f, x, i), cj_get(f, y, i)));
    cj_end(f);

    cj_driver *drv = cj_driver_open(NULL);
    cj_device *dev = cj_device_open(drv, 0, NULL);
    cj_stream *bring = cj_stream_create(dev, NULL), *compute = cj_stream_create(dev, NULL);
    cj_kernel *k = cj_kernel_load(dev, m, "add_to", NULL);
    static float one[N], sum[N];
    for (int j = 0; j < N; j++) one[j] = 1;

    cj_profile *p = cj_profile_create(NULL);
    cj_profile_on(p);
    cj_dptr a = cj_alloc(compute, sizeof sum), b = cj_alloc(bring, sizeof one);
    cj_fill32(compute, a, 0, N);
    for (int step = 0; step < STEPS; step++) {
        cj_stream_fork(compute, bring); /* the copy waits until the last step has read b */
        cj_profile_begin(bring, "upload");
        cj_copy_to_device(bring, b, one, sizeof one);
        cj_profile_end(bring);
        cj_stream_join(compute, bring);
        cj_profile_begin(compute, "step");
        cj_launch(compute, k, cj_grid(16, 256), a, b, N);
        cj_profile_end(compute);
    }
    cj_stream_use(compute, b);
    cj_copy_to_host(compute, sum, a, sizeof sum);
    cj_free(dev, b);
    cj_free(dev, a);
    if (cj_stream_sync(bring) != CJ_OK) return failed(bring);
    if (cj_stream_sync(compute) != CJ_OK) return failed(compute);
    cj_profile_off(p);

    cj_profile_total total[8];
    cj_profile_summary all;
    cj_profile_summary_defaults(&all);
    if (cj_profile_get_summary(p, NULL, &all) != CJ_OK) return failed(p);
    size_t totals = cj_profile_totals(p, NULL, total, 8);
    for (size_t t = 0; t < totals && t < 8; t++)
        printf("%10.1f us in %llu times %s\n", (double)total[t].ns / 1e3, (unsigned long long)total[t].count,
                total[t].name);
    printf("%llu operations on %llu streams; %llu bytes of memory at most; the sum is %g\n",
           (unsigned long long)all.operations, (unsigned long long)all.streams, (unsigned long long)all.memory_most,
           (double)sum[N - 1]);
    if (argc > 1 && cj_profile_write(p, argv[1]) != CJ_OK) return failed(p);

    cj_profile_free(p);
    cj_kernel_free(k);
    cj_ptx_free(m);
    cj_stream_free(bring);
    cj_stream_free(compute);
    cj_device_close(dev);
    cj_driver_close(drv);
    return sum[N - 1] != STEPS;
}
