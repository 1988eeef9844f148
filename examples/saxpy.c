/* saxpy [N [A]]: y = A * x + y for N numbers, with a grid-stride loop, a check of each call, and a
 * comparison with the host's result.  `saxpy --ptx` prints the kernel. */
#include <cujit/cujit.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failed(const void *object)
{
    const cj_error *e = cj_error_of(object);
    if (e->status == CJ_OK) return 0;
    fprintf(stderr, "saxpy: %s: %s\n", cj_status_name((cj_status)e->status), e->message);
    return 1;
}

static cj_ptx *build(void)
{
    cj_ptx *m = cj_ptx_create();
    cj_fn *f = cj_ptx_kernel(m, "saxpy");
    cj_val x = cj_param_ptr(f, "x", CJ_F32), y = cj_param_ptr(f, "y", CJ_F32);
    cj_val a = cj_param(f, "a", CJ_F32), n = cj_param(f, "n", CJ_U32);
    cj_val i = cj_for(f, cj_global_id(f, CJ_X), n, cj_global_size(f, CJ_X));
        cj_val xi = cj_get(f, x, i), yi = cj_get(f, y, i);
        cj_set(f, y, i, cj_fma(f, a, xi, yi));
    cj_end(f);
    return m;
}

static int show(void)
{
    const char *text;
    cj_ptx *m = build();
    int status = cj_ptx_print(m, 0, &text, NULL) ? failed(m) : (fputs(text, stdout), 0);
    cj_ptx_free(m);
    return status;
}

int main(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "--help"))
        return puts("usage: saxpy [N [A]]\n"
                    "Computes y[i] = A * x[i] + y[i] for N numbers (100000, A 2.5) and compares with the host.\n"
                    "saxpy --ptx prints the kernel."), 0;
    if (argc > 1 && !strcmp(argv[1], "--ptx")) return show();
    unsigned n = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 100000;
    float a = argc > 2 ? strtof(argv[2], NULL) : 2.5f;
    if (!n || n > 1u << 28) return fprintf(stderr, "usage: saxpy [N [A]], N from 1 to %u\n", 1u << 28), 2;

    size_t bytes = n * sizeof(float), wrong = 0;
    float *hx = NULL, *hy = NULL;
    cj_ptx *m = build();
    cj_driver *drv = cj_driver_open(NULL);
    cj_device *dev = cj_device_open(drv, 0, NULL);
    cj_stream *s = cj_stream_create(dev, NULL);
    cj_kernel *k = cj_kernel_load(dev, m, "saxpy", NULL);
    int status = 1;
    if (failed(drv) || failed(dev) || failed(s) || failed(m) || failed(k)) goto out;

    hx = cj_host_alloc(dev, bytes, NULL), hy = cj_host_alloc(dev, bytes, NULL);
    if (!hx || !hy) { failed(dev); goto out; }
    for (unsigned j = 0; j < n; j++) hx[j] = (float)(j % 1024) / 8, hy[j] = (float)(j % 77);
    cj_dptr x = cj_alloc(s, bytes), y = cj_alloc(s, bytes);
    if (cj_copy_to_device(s, x, hx, bytes) || cj_copy_to_device(s, y, hy, bytes) ||
        cj_launch(s, k, cj_grid(n < 256 * 64 ? (n + 255) / 256 : 64, 256), x, y, a, n) ||
        cj_copy_to_host(s, hy, y, bytes))
        failed(s);
    else if (cj_stream_sync(s))
        failed(s);
    else
        status = 0;
    cj_free(dev, x);
    cj_free(dev, y);
    for (unsigned j = 0; !status && j < n; j++) wrong += hy[j] != fmaf(a, (float)(j % 1024) / 8, (float)(j % 77));
    if (!status) printf("%s: %u elements, %zu differ from the host's\n", cj_device_name(dev), n, wrong);
    if (wrong) status = 1;
out:
    cj_host_free(dev, hx);
    cj_host_free(dev, hy);
    cj_kernel_free(k);
    cj_ptx_free(m);
    cj_stream_free(s);
    cj_device_close(dev);
    cj_driver_close(drv);
    return status;
}
