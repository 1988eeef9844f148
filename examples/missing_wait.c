/* Two streams with and without the wait that orders them: one fills an array, the other multiplies it.
 * Without the wait the result depends on luck.  CUJIT_SIM_SCHEDULE=adversarial shows the mistake on the
 * CPU device. */
#include <cujit/cujit.h>
#include <stdio.h>
#include <string.h>

enum { N = 256 };

/* y[i] = 6 * x[i] */
static cj_ptx *build(void)
{
    cj_ptx *m = cj_ptx_create();
    cj_fn *f = cj_ptx_kernel(m, "six_times");
    cj_val x = cj_param_ptr(f, "x", CJ_U32), y = cj_param_ptr(f, "y", CJ_U32), n = cj_param(f, "n", CJ_U32);
    cj_val i = cj_global_id(f, CJ_X);
    cj_if(f, cj_lt(f, i, n));
        cj_set(f, y, i, cj_mul(f, cj_get(f, x, i), 6u));
    cj_end(f);
    return m;
}

/* How many results differ from 42; -1 after a failure, which `multiply` keeps. */
static int wrong_results(cj_stream *fill, cj_stream *multiply, cj_kernel *k, uint32_t *h, bool wait)
{
    cj_device *dev = cj_stream_device(fill);
    cj_dptr x = cj_alloc(fill, N * sizeof *h), y = cj_alloc(multiply, N * sizeof *h);
    cj_event *filled = cj_event_create(dev, NULL);
    cj_fill32(fill, x, 0, N);
    if (cj_stream_sync(fill) != CJ_OK) return -1;

    cj_fill32(fill, x, 7, N);
    cj_event_record(filled, fill);
    if (wait) cj_stream_wait(multiply, filled); /* without this line nothing orders the two streams */
    cj_launch(multiply, k, cj_threads(N, 256), x, y, N);
    cj_stream_use(multiply, x); /* x has another home stream: cj_free waits for this one too */
    cj_copy_to_host(multiply, h, y, N * sizeof *h);

    int wrong = 0;
    if (cj_stream_sync(multiply) != CJ_OK || cj_stream_sync(fill) != CJ_OK) wrong = -1;
    for (int i = 0; i < N && wrong >= 0; i++) wrong += h[i] != 42;
    cj_event_free(filled);
    cj_free(dev, x);
    cj_free(dev, y);
    return wrong;
}

int main(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "--help"))
        return puts("usage: missing_wait\n"
                    "Computes 6 * 7 on two streams, without and with the wait that orders them.\n"
                    "CUJIT_SIM_SCHEDULE=adversarial shows on the CPU device what is wrong without it."), 0;

    cj_ptx *m = build();
    cj_driver *drv = cj_driver_open(NULL);
    cj_device *dev = cj_device_open(drv, 0, NULL);
    cj_stream *fill = cj_stream_create(dev, NULL), *multiply = cj_stream_create(dev, NULL);
    cj_kernel *k = cj_kernel_load(dev, m, "six_times", NULL);
    uint32_t *h = cj_host_alloc(dev, N * sizeof *h, NULL);
    if (!h) return fprintf(stderr, "%s\n", cj_error_of(dev)->message), 1;

    int without = wrong_results(fill, multiply, k, h, false), with = wrong_results(fill, multiply, k, h, true);
    if (without < 0 || with < 0) return fprintf(stderr, "%s\n", cj_error_last()->message), 1;
    printf("without the wait: %d of %d numbers are wrong\n", without, N);
    printf("with the wait: %d of %d numbers are wrong\n", with, N);

    cj_host_free(dev, h);
    cj_kernel_free(k);
    cj_ptx_free(m);
    cj_stream_free(fill);
    cj_stream_free(multiply);
    cj_device_close(dev);
    cj_driver_close(drv);
    return with != 0;
}
