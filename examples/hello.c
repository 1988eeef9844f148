#include <cujit/cujit.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "--help"))
        return puts("usage: hello\n"
                    "Computes y[i] = 2 * x[i] + y[i] for a million numbers and prints one of them."), 0;

    /* y[i] = a * x[i] + y[i], written while the program runs */
    cj_ptx *m = cj_ptx_create();
    cj_fn *f = cj_ptx_kernel(m, "saxpy");
    cj_val x = cj_param_ptr(f, "x", CJ_F32), y = cj_param_ptr(f, "y", CJ_F32);
    cj_val a = cj_param(f, "a", CJ_F32), n = cj_param(f, "n", CJ_U32);
    cj_val i = cj_global_id(f, CJ_X);
    cj_if(f, cj_lt(f, i, n));
        cj_val xi = cj_get(f, x, i), yi = cj_get(f, y, i);
        cj_set(f, y, i, cj_fma(f, a, xi, yi));
    cj_end(f);

    cj_driver *drv = cj_driver_open(NULL);          /* the GPU, or the CPU device */
    cj_device *dev = cj_device_open(drv, 0, NULL);
    cj_stream *s = cj_stream_create(dev, NULL);
    cj_kernel *k = cj_kernel_load(dev, m, "saxpy", NULL); /* compile, load */

    enum { N = 1 << 20 };
    float *h = cj_host_alloc(dev, 2 * N * sizeof *h, NULL);
    if (!h) return fprintf(stderr, "%s\n", cj_error_of(dev)->message), 1;
    for (int j = 0; j < N; j++) h[j] = (float)j, h[N + j] = 1;
    cj_dptr d = cj_alloc(s, 2 * N * sizeof *h), dy = cj_offset(d, N * sizeof *h);
    cj_copy_to_device(s, d, h, 2 * N * sizeof *h);
    cj_launch(s, k, cj_threads(N, 256), d, dy, 2.0f, N);
    cj_copy_to_host(s, h + N, dy, N * sizeof *h);
    if (cj_stream_sync(s) != CJ_OK) return fprintf(stderr, "%s\n", cj_error_of(s)->message), 1;
    printf("%s: y[10] = %g\n", cj_device_name(dev), h[N + 10]);

    cj_free(dev, d);                                /* in any order */
    cj_host_free(dev, h);
    cj_kernel_free(k);
    cj_ptx_free(m);
    cj_stream_free(s);
    cj_device_close(dev);
    cj_driver_close(drv);
    return 0;
}
