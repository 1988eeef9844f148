/* A fork and a join over two streams: captured, launched and drawn.  `graph_picture FILE` writes the
 * graph for Graphviz (dot -Tsvg FILE). */
#include <cujit/cujit.h>
#include <stdio.h>
#include <string.h>

enum { N = 1 << 16 };

int main(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "--help"))
        return puts("usage: graph_picture [FILE.dot]\n"
                    "Captures a fork and a join over two streams; FILE.dot is the graph for Graphviz."), 0;

    /* x[i] = x[i] * k + c */
    cj_ptx *m = cj_ptx_create();
    cj_fn *f = cj_ptx_kernel(m, "scale");
    cj_val x = cj_param_ptr(f, "x", CJ_U32), k = cj_param(f, "k", CJ_U32), c = cj_param(f, "c", CJ_U32),
           i = cj_global_id(f, CJ_X);
    cj_set(f, x, i, cj_mad(f, cj_get(f, x, i), k, c));

    cj_driver *drv = cj_driver_open(NULL);
    cj_device *dev = cj_device_open(drv, 0, NULL);
    cj_stream *s = cj_stream_create(dev, NULL), *t = cj_stream_create(dev, NULL);
    cj_kernel *scale = cj_kernel_load(dev, m, "scale", NULL);
    uint32_t *h = cj_host_alloc(dev, N * sizeof *h, NULL);
    if (!h) return fprintf(stderr, "%s\n", cj_error_of(dev)->message), 1;
    for (uint32_t j = 0; j < N; j++) h[j] = j;
    cj_dptr left = cj_alloc(s, N * sizeof *h), right = cj_offset(left, N / 2 * sizeof *h);

    cj_capture_begin_opts(s, CJ_CAPTURE(.mode = CJ_CAPTURE_THREAD, .join = 1));
        cj_copy_to_device(s, left, h, N * sizeof *h);
        cj_stream_fork(s, t);
        cj_launch(s, scale, cj_threads(N / 2, 256), left, 3, 1);
        cj_launch(t, scale, cj_threads(N / 2, 256), right, 5, 2);
        cj_launch(t, scale, cj_threads(N / 2, 256), right, 7, 0);
        cj_stream_join(s, t);
        cj_copy_to_host(s, h, left, N * sizeof *h);
    cj_graph *g = cj_capture_end(s);

    cj_graph_info info = { .size = sizeof info };
    cj_graph_get_info(g, &info);
    FILE *out = argc > 1 ? fopen(argv[1], "w") : NULL;
    if (out) fputs(cj_graph_dot(g), out), fclose(out);

    cj_graph_exec *run = cj_graph_instantiate(g, NULL);
    cj_graph_launch(s, run);
    if (cj_stream_sync(s) != CJ_OK) return fprintf(stderr, "%s\n", cj_error_of(s)->message), 1;
    int wrong = 0;
    for (uint32_t j = 0; j < N; j++) wrong += h[j] != (j < N / 2 ? 3 * j + 1 : (5 * j + 2) * 7);
    printf("%s: %zu nodes and %zu edges, %zu one after another; %d of %d are wrong\n", cj_device_name(dev), info.nodes,
           info.edges, info.depth, wrong, N);
    cj_graph_exec_free(run);
    cj_graph_free(g);
    cj_free(dev, left);
    cj_host_free(dev, h);
    cj_kernel_free(scale);
    cj_ptx_free(m);
    cj_stream_free(t);
    cj_stream_free(s);
    cj_device_close(dev);
    cj_driver_close(drv);
    return wrong != 0;
}
