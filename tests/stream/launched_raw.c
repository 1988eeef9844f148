/* Launches with arguments as cuLaunchKernel takes them: addresses of values.  What can be checked is: the array, its
 * addresses, the dimensions. A graph retains the memory that address parameters point to. */
#include <stdlib.h>
#include <string.h>

#include "tests/device_bench.h"

enum { N = 64 };

static int frees;

static void count(void *user, uint64_t number, const char *name, const char *text, int result)
{
    (void)user, (void)number, (void)text;
    frees += !strncmp(name, "cuMemFree", 9) && result == 0;
}

static uint32_t first(cj_dptr at)
{
    uint32_t out = 0;
    cj_copy_to_host(s, &out, at, sizeof out);
    cj_stream_sync(s);
    return out;
}

static void check_rows(void)
{
    uint64_t x = d.addr;
    uint32_t n = N, v = 5;
    void *good[] = { &x, &n, &v }, *hole[] = { &x, NULL, &v };
    const cj_dims dims = cj_threads(N, 32), wrong = cj_grid(1, 4096);
    const struct { const char *name; const cj_dims *dims; void **args; cj_status want; const char *says; } rows[] = {
        { "all is right", &dims, good, CJ_OK, "" },
        { "the array is NULL", &dims, NULL, CJ_EINVAL, "add takes 3 arguments, and the array is NULL" },
        { "an address is NULL", &dims, hole, CJ_EINVAL, "add: the address of argument 2 of 3 is NULL" },
        { "a block that is too large", &wrong, good, CJ_EINVAL, "4096 threads of a block in x" },
        { "no dimensions", NULL, good, CJ_EINVAL, "the dimensions are NULL" },
    };
    cj_fill32(s, d, 1, N);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tap_is_int(cj_launch_raw(s, add, rows[i].dims, rows[i].args), rows[i].want, "%s", rows[i].name);
        tap_has_str(cj_error_of(s)->message, rows[i].says, "%s: the message", rows[i].name);
        cj_stream_sync(s);
        cj_stream_sync(s);
    }
    tap_is_uint(first(d), 6, "the launch that is right ran once");
}

static void check_graph(void)
{
    cj_dptr own = cj_alloc(s, 4 * N);
    uint64_t x = own.addr;
    uint32_t n = N, v = 2;
    void *args[] = { &x, &n, &v };
    const cj_dims dims = cj_threads(N, 32);
    cj_fill32(s, own, 0, N);
    cj_stream_sync(s);
    cj_capture_begin(s, CJ_CAPTURE_THREAD);
    for (int i = 0; i < 2; i++) cj_launch_raw(s, add, &dims, args);
    cj_graph *g = cj_capture_end(s);
    cj_graph_exec *x2 = cj_graph_instantiate(g, NULL);
    cj_graph_free(g);
    cj_free(dev, own);
    cj_stream_sync(s);
    cj_device_collect(dev);
    tap_is_int(frees, 0, "a graph retains the memory");
    cj_graph_launch(s, x2);
    tap_is_int(cj_stream_sync(s), CJ_OK, "and writes it: %s", cj_error_of(s)->message);
    cj_graph_exec_free(x2);
    cj_device_collect(dev);
    tap_is_int(frees, 1, "which is freed behind it");
}

int main(void)
{
    setenv("CUJIT_ALLOCATOR", "driver", 1); /* releases are seen */
    cj_interposer_opts over;
    cj_interposer_defaults(&over);
    over.after = count;
    bench_open_over(&over, 4 * N);
    check_rows();
    check_graph();
    return bench_close();
}
