/* A graph retains each kernel and each allocation that its captured launches use, however many there are and however
 * often a launch repeats what the capture knows: all are freed before the graph runs, and released with it. */
#include <stdlib.h>
#include <string.h>

#include "tests/device_bench.h"

enum { MANY = 20, ROUNDS = 3, N = 64 };

static cj_dptr memory[MANY];
static cj_kernel *kernel[MANY];
static int frees, unloads;

static void count(void *user, uint64_t number, const char *name, const char *text, int result)
{
    (void)user, (void)number, (void)text;
    frees += !strncmp(name, "cuMemFree", 9) && result == 0;
    unloads += !strcmp(name, "cuModuleUnload");
}

/* Each kernel is one of a module of its own. */
static void make(void)
{
    for (int i = 0; i < MANY; i++) {
        cj_ptx *m = bench_add_module();
        memory[i] = cj_alloc(s, N * sizeof(uint32_t));
        cj_fill32(s, memory[i], 0, N);
        kernel[i] = cj_kernel_load(dev, m, "add", NULL);
        cj_ptx_free(m);
    }
    tap_is_int(cj_stream_sync(s), CJ_OK, "%d allocations and kernels: %s", MANY, cj_error_of(s)->message);
}

/* One kernel on each memory, each kernel on one memory, each on its own; addresses inside of memory too. */
static void launch_all(void)
{
    for (int i = 0; i < MANY; i++) {
        cj_launch(s, kernel[0], cj_threads(N, 32), memory[i], N, 1u);
        cj_launch(s, kernel[i], cj_threads(N, 32), memory[0], N, 1u);
        cj_launch(s, kernel[i], cj_threads(N / 2, 32), cj_offset(memory[i], N / 2 * sizeof(uint32_t)), N / 2, 1u);
    }
}

static cj_graph *captured(void)
{
    tap_is_int(cj_capture_begin(s, CJ_CAPTURE_RELAXED), CJ_OK, "a capture");
    for (int r = 0; r < ROUNDS; r++) launch_all();
    cj_graph *g = cj_capture_end(s);
    tap_is_int(cj_error_of(g)->status, CJ_OK, "of %d launches: %s", 3 * MANY * ROUNDS, cj_error_of(g)->message);
    return g;
}

static void free_all(void)
{
    for (int i = 0; i < MANY; i++) {
        cj_free(dev, memory[i]);
        cj_kernel_free(kernel[i]);
    }
    cj_stream_sync(s);
    cj_device_collect(dev);
}

int main(void)
{
    setenv("CUJIT_ALLOCATOR", "driver", 1); /* what releases do to the driver is seen */
    cj_interposer_opts over;
    cj_interposer_defaults(&over);
    over.after = count;
    bench_open_over(&over, 0);
    make();
    cj_graph *g = captured();
    free_all();
    cj_graph_exec *x = cj_graph_instantiate(g, NULL);
    for (int i = 0; i < 2; i++) {
        tap_is_int(cj_graph_launch(s, x), CJ_OK, "the graph is launched: %s", cj_error_of(x)->message);
        tap_is_int(cj_stream_sync(s), CJ_OK, "... and runs: %s", cj_error_of(s)->message);
    }
    tap_is_int(frees, 0, "no memory is released before the graph");
    tap_is_int(unloads, 0, "nor a kernel's module");
    cj_graph_exec_free(x);
    cj_graph_free(g);
    cj_stream_sync(s);
    cj_device_collect(dev);
    tap_is_int(frees, MANY, "with the graph all memory is");
    tap_is_int(unloads, MANY, "and all modules");
    return bench_close();
}
