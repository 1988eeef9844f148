/* Many small launches captured once and launched together: 10 launches of a kernel become a graph of
 * 10 nodes.  100 launches of the graph, or as many as the argument says, do 1,000 steps of 4,096
 * random number generators. */
#include <cujit/cujit.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 4096, NODES = 10 };

int main(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "--help"))
        return puts("usage: graph_replay [LAUNCHES]\n"
                    "Captures ten kernel launches in a graph and launches the graph LAUNCHES times (100)."), 0;
    int launches = argc > 1 ? atoi(argv[1]) : 100;

    /* x[i] = x[i] * 1664525 + 1013904223 */
    cj_ptx *m = cj_ptx_create();
    cj_fn *f = cj_ptx_kernel(m, "step");
    cj_val x = cj_param_ptr(f, "x", CJ_U32), n = cj_param(f, "n", CJ_U32), i = cj_global_id(f, CJ_X);
    cj_if(f, cj_lt(f, i, n));
        cj_set(f, x, i, cj_mad(f, cj_get(f, x, i), 1664525u, 1013904223u));
    cj_end(f);

    cj_driver *drv = cj_driver_open(NULL);
    cj_device *dev = cj_device_open(drv, 0, NULL);
    cj_stream *s = cj_stream_create(dev, NULL);
    cj_kernel *k = cj_kernel_load(dev, m, "step", NULL);
    static uint32_t h[N];
    for (uint32_t j = 0; j < N; j++) h[j] = j;
    cj_dptr d = cj_alloc(s, sizeof h);
    cj_copy_to_device(s, d, h, sizeof h);

    cj_capture_begin(s, CJ_CAPTURE_THREAD); /* nothing runs from here ... */
    for (int j = 0; j < NODES; j++) cj_launch(s, k, cj_threads(N, 256), d, N);
    cj_graph *g = cj_capture_end(s);        /* ... to here */
    cj_graph_exec *all = cj_graph_instantiate(g, NULL);
    for (int j = 0; j < launches; j++) cj_graph_launch(s, all);

    cj_copy_to_host(s, h, d, sizeof h);
    if (cj_stream_sync(s) != CJ_OK) return fprintf(stderr, "%s\n", cj_error_of(s)->message), 1;

    size_t nodes = cj_graph_count(g);
    if (!nodes) return fprintf(stderr, "%s\n", cj_error_of(g)->message), 1;
    int wrong = 0;
    for (uint32_t j = 0; j < N; j++) {
        uint32_t want = j;
        for (int step = 0; step < NODES * launches; step++) want = want * 1664525u + 1013904223u;
        wrong += h[j] != want;
    }
    printf("%s: a graph of %zu nodes launched %d times; generator 1 is at %u, %d of %d are wrong\n",
           cj_device_name(dev), nodes, launches, (unsigned)h[1], wrong, N);
    cj_graph_exec_free(all);
    cj_graph_free(g);
    cj_free(dev, d);
    cj_kernel_free(k);
    cj_ptx_free(m);
    cj_stream_free(s);
    cj_device_close(dev);
    cj_driver_close(drv);
    return wrong != 0;
}
