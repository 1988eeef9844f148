/* A kernel without a check of its bounds, and what is reported.  Four blocks of 256 threads fill 1000
 * numbers, so 24 threads write past the end.  A GPU may not notice that; the CPU device does. */
#include <cujit/cujit.h>
#include <stdio.h>
#include <string.h>

enum { N = 1000 };

int main(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "--help"))
        return puts("usage: out_of_bounds\n"
                    "Runs a kernel that writes past the end of its memory, and prints what is reported."), 0;

    cj_ptx *m = cj_ptx_create();
    cj_fn *f = cj_ptx_kernel(m, "fill");
    cj_val x = cj_param_ptr(f, "x", CJ_F32), n = cj_param(f, "n", CJ_U32);
    cj_val i = cj_global_id(f, CJ_X);
    cj_set(f, x, i, cj_cvt(f, CJ_F32, n)); /* cj_if(f, cj_lt(f, i, n)) is missing */

    cj_driver *drv = cj_driver_open(NULL);
    cj_device *dev = cj_device_open(drv, 0, NULL);
    cj_stream *s = cj_stream_create(dev, NULL);
    cj_kernel *k = cj_kernel_load(dev, m, "fill", NULL);
    cj_dptr d = cj_alloc(s, N * sizeof(float));
    cj_launch(s, k, cj_threads(N, 256), d, N);
    if (cj_stream_sync(s) == CJ_OK) printf("%s: nothing was reported\n", cj_device_name(dev));
    else printf("%s\n", cj_error_of(s)->message);

    cj_free(dev, d);
    cj_kernel_free(k);
    cj_ptx_free(m);
    cj_stream_free(s);
    cj_device_close(dev);
    cj_driver_close(drv);
    return 0;
}
