/* The first program of the README in strict C99: through the plain functions, without the handy macros of C11. */
#include <cujit/cujit.h>

#include <stdio.h>

int main(void)
{
    enum { N = 1000 };
    cj_ptx *m = cj_ptx_create();
    cj_fn *f = cj_ptx_kernel(m, "saxpy");
    cj_val x = cj_param_ptr(f, "x", CJ_F32), y = cj_param_ptr(f, "y", CJ_F32);
    cj_val a = cj_param(f, "a", CJ_F32), n = cj_param(f, "n", CJ_U32);
    cj_val i = cj_global_id(f, CJ_X), fma[3], sum;
    cj_if(f, cj_lt(f, i, n));
        fma[0] = a, fma[1] = cj_get(f, x, i), fma[2] = cj_get(f, y, i);
        sum = cj_def_n(f, "fma.rn.f32", fma, 3);
        cj_set(f, y, i, sum);
    cj_end(f);

    cj_driver *drv = cj_driver_open(NULL);
    cj_device *dev = cj_device_open(drv, 0, NULL);
    cj_stream *s = cj_stream_create(dev, NULL);
    cj_kernel *k = cj_kernel_load(dev, m, "saxpy", NULL);
    float *h = (float *)cj_host_alloc(dev, 2 * N * sizeof *h, NULL);
    int failed = !h, j;
    for (j = 0; j < N && h; j++) h[j] = (float)j, h[N + j] = 1;
    if (h) {
        cj_dptr d = cj_alloc(s, 2 * N * sizeof *h), dy = cj_offset(d, N * sizeof *h);
        cj_dims dims = cj_threads(N, 256);
        cj_arg args[4];
        args[0] = cj_arg_ptr(d), args[1] = cj_arg_ptr(dy), args[2] = cj_arg_f32(2), args[3] = cj_arg_u(N);
        cj_copy_to_device(s, d, h, 2 * N * sizeof *h);
        cj_launch_n(s, k, &dims, args, 4);
        cj_copy_to_host(s, h + N, dy, N * sizeof *h);
        failed = cj_stream_sync(s) != CJ_OK;
        if (failed) printf("%s\n", cj_error_of(s)->message);
        for (j = 0; j < N && !failed; j++) failed = h[N + j] != 2 * (float)j + 1;
        cj_free(dev, d);
        cj_host_free(dev, h);
    } else {
        printf("%s\n", cj_error_of(dev)->message);
    }
    printf("%s: %s\n", cj_device_name(dev), failed ? "wrong" : "y[i] = 2 i + 1");

    cj_kernel_free(k);
    cj_ptx_free(m);
    cj_stream_free(s);
    cj_device_close(dev);
    cj_driver_close(drv);
    return failed;
}
