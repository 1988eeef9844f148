/* An interposer: prints calls that the library makes to the CUDA driver, and makes one of them fail.
 * The calls are those that do the work: memory, copies, launches, waits.  Queries are left out. */
#include <cujit/cujit.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool shown; /* what is printed, and numbered from 1 */
static int calls, failing;

static bool counts(const char *name)
{
    return shown &&
           (!strncmp(name, "cuMem", 5) || !strncmp(name, "cuLaunch", 8) || !strcmp(name, "cuStreamSynchronize"));
}

static int before(void *user, uint64_t number, const char *name)
{
    (void)user, (void)number;
    return counts(name) && calls + 1 == failing ? 2 /* CUDA_ERROR_OUT_OF_MEMORY */ : 0;
}

static void after(void *user, uint64_t number, const char *name, const char *text, int result)
{
    (void)user, (void)number, (void)result;
    if (counts(name)) printf("%2d %s\n", ++calls, text);
}

/* The work whose calls are shown. */
static cj_status work(cj_device *dev, cj_stream *s, cj_kernel *k, float *h)
{
    enum { N = 1024 };
    cj_dptr d = cj_alloc(s, N * sizeof *h);
    cj_copy_to_device(s, d, h, N * sizeof *h);
    cj_launch(s, k, cj_threads(N, 256), d, N);
    cj_copy_to_host(s, h, d, N * sizeof *h);
    cj_free(dev, d);
    return cj_stream_sync(s);
}

int main(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "--help"))
        return puts("usage: trace [N]\n"
                    "Prints the calls to the CUDA driver that a copy, a launch and a copy back make; call N fails."), 0;
    failing = argc > 1 ? atoi(argv[1]) : 0;

    /* x[i] = 2 * x[i] */
    cj_ptx *m = cj_ptx_create();
    cj_fn *f = cj_ptx_kernel(m, "twice");
    cj_val x = cj_param_ptr(f, "x", CJ_F32), n = cj_param(f, "n", CJ_U32);
    cj_val i = cj_global_id(f, CJ_X);
    cj_if(f, cj_lt(f, i, n));
        cj_val xi = cj_get(f, x, i);
        cj_set(f, x, i, cj_add(f, xi, xi));
    cj_end(f);

    cj_driver *real = cj_driver_open(NULL);
    cj_driver *drv = cj_driver_open_interposed(real, CJ_INTERPOSER(.before = before, .after = after));
    cj_device *dev = cj_device_open(drv, 0, NULL);
    cj_stream *s = cj_stream_create(dev, NULL);
    cj_kernel *k = cj_kernel_load(dev, m, "twice", NULL);
    float *h = cj_host_alloc(dev, 1024 * sizeof *h, NULL);
    if (!h) return fprintf(stderr, "%s\n", cj_error_of(dev)->message), 1;
    memset(h, 0, 1024 * sizeof *h);

    shown = true;
    cj_status status = work(dev, s, k, h);
    shown = false;
    printf("%s%s%s\n", cj_status_name(status), status == CJ_OK ? "" : ": ", cj_error_of(s)->message);

    cj_host_free(dev, h);
    cj_kernel_free(k);
    cj_ptx_free(m);
    cj_stream_free(s);
    cj_device_close(dev);
    cj_driver_close(drv);
    cj_driver_close(real);
    return 0;
}
