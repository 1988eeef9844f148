/* A loop that the device ends: Newton's method in a graph with a while node, whose body runs until
 * the results do not change any more.  The kernel sets the condition, so the host makes one launch.
 * Needs CUDA 12.3 and no nvcc.  `graph_loop FILE` writes the graph for Graphviz. */
#include <cujit/cujit.h>
#include <stdio.h>
#include <string.h>

enum { N = 1000 };

/* x[i] = (x[i] + a[i] / x[i]) / 2; *moved counts the results that have changed */
static void step_kernel(cj_ptx *m)
{
    cj_fn *f = cj_ptx_kernel(m, "step");
    cj_val x = cj_param_ptr(f, "x", CJ_F32), a = cj_param_ptr(f, "a", CJ_F32), moved = cj_param_ptr(f, "moved", CJ_U32);
    cj_val n = cj_param(f, "n", CJ_U32), i = cj_global_id(f, CJ_X);
    cj_if(f, cj_lt(f, i, n));
        cj_val old = cj_get(f, x, i), quotient = cj_div(f, cj_get(f, a, i), old);
        cj_val next = cj_mul(f, cj_add(f, old, quotient), 0.5f);
        cj_set(f, x, i, next);
        cj_if(f, cj_gt(f, cj_abs(f, cj_sub(f, next, old)), cj_mul(f, next, 1e-6f)));
            cj_atomic_add(f, cj_at(f, moved, 0), 1u);
        cj_end(f);
    cj_end(f);
}

/* continues while some have changed; *turns counts the iterations */
static void judge_kernel(cj_ptx *m)
{
    cj_fn *f = cj_ptx_kernel(m, "judge");
    cj_val moved = cj_param_ptr(f, "moved", CJ_U32), turns = cj_param_ptr(f, "turns", CJ_U32),
           more = cj_param(f, "more", CJ_U64);
    cj_val first = cj_imm(f, 0), count = cj_get(f, moved, first);
    cj_set_condition(f, more, cj_min(f, count, 1u));
    cj_set(f, moved, first, 0u);
    cj_set(f, turns, first, cj_add(f, cj_get(f, turns, first), 1u));
}

int main(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "--help"))
        return puts("usage: graph_loop [FILE.dot]\n"
                    "Computes square roots in a graph whose loop the device ends; FILE.dot is the graph for Graphviz."),
               0;

    cj_ptx *m = cj_ptx_create();
    step_kernel(m);
    judge_kernel(m);

    cj_driver *drv = cj_driver_open(NULL);
    cj_device *dev = cj_device_open(drv, 0, NULL);
    cj_stream *s = cj_stream_create(dev, NULL);
    cj_kernel *step = cj_kernel_load(dev, m, "step", NULL), *judge = cj_kernel_load(dev, m, "judge", NULL);
    static float a[N], x[N];
    uint32_t turns = 0;
    for (int i = 0; i < N; i++) a[i] = x[i] = (float)(i + 1);
    cj_dptr da = cj_alloc(s, sizeof a), dx = cj_alloc(s, sizeof x), d = cj_alloc(s, 8), moved = d,
            count = cj_offset(d, 4);
    cj_copy_to_device(s, da, a, sizeof a);

    cj_capture_begin(s, CJ_CAPTURE_THREAD);
        cj_copy_to_device(s, dx, x, sizeof x);
        cj_fill32(s, d, 0, 2);
    cj_graph *g = cj_capture_pause(s);

    uint64_t more = cj_graph_condition(g, 1); /* its value when a launch begins */
    cj_graph *body;
    cj_node *loop = cj_graph_while(g, cj_graph_leaves(g), &body, more);
    cj_capture_begin_opts(s, CJ_CAPTURE(.into = body));
        cj_launch(s, step, cj_threads(N, 256), dx, da, moved, N);
        cj_launch(s, judge, cj_grid(1, 1), moved, count, more);
    cj_capture_end(s);

    cj_capture_begin_opts(s, CJ_CAPTURE(.into = g, .after = CJ_NODES(loop)));
        cj_copy_to_host(s, x, dx, sizeof x);
        cj_copy_to_host(s, &turns, count, sizeof turns);
    cj_graph_free(cj_capture_end(s));

    FILE *out = argc > 1 ? fopen(argv[1], "w") : NULL;
    if (out) fputs(cj_graph_dot(g), out), fclose(out);

    cj_graph_exec *run = cj_graph_instantiate(g, NULL);
    cj_graph_launch(s, run);
    if (cj_stream_sync(s) != CJ_OK) return fprintf(stderr, "%s\n", cj_error_of(s)->message), 1;

    int wrong = 0;
    for (int i = 0; i < N; i++) wrong += x[i] * x[i] < a[i] * 0.99999f || x[i] * x[i] > a[i] * 1.00001f;
    printf("%s: one launch took %u turns; the root of 144 is %.3f, %d of %d are wrong\n", cj_device_name(dev),
           (unsigned)turns, (double)x[143], wrong, N);
    cj_graph_exec_free(run);
    cj_graph_free(g);
    cj_free(dev, da);
    cj_free(dev, dx);
    cj_free(dev, d);
    cj_kernel_free(step);
    cj_kernel_free(judge);
    cj_ptx_free(m);
    cj_stream_free(s);
    cj_device_close(dev);
    cj_driver_close(drv);
    return wrong != 0 || turns < 2;
}
