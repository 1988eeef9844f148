/* A diamond of tasks: two halves of a column of numbers are computed independently of each other,
 * between one task that loads them and one that adds the results.  What depends on what follows from
 * the memory that the tasks read and write.  `tasks FILE` also writes the picture for Graphviz. */
#include <cujit/cujit.h>
#include <stdio.h>
#include <string.h>

enum { N = 1 << 16 };

typedef struct job {
    cj_kernel *squares, *roots, *join;
    cj_dptr in, left, right, out;
    float *h;
} job;

static cj_status load(void *user, cj_stream *s)
{
    const job *j = user;
    return cj_copy_to_device(s, j->in, j->h, N * sizeof(float));
}
static cj_status squares(void *user, cj_stream *s)
{
    const job *j = user;
    return cj_launch(s, j->squares, cj_threads(N, 256), j->left, j->in, N);
}
static cj_status roots(void *user, cj_stream *s)
{
    const job *j = user;
    return cj_launch(s, j->roots, cj_threads(N, 256), j->right, j->in, N);
}
static cj_status join(void *user, cj_stream *s)
{
    const job *j = user;
    return cj_launch(s, j->join, cj_threads(N, 256), j->out, j->left, j->right, N);
}
static cj_status store(void *user, cj_stream *s)
{
    const job *j = user;
    return cj_copy_to_host(s, j->h, j->out, N * sizeof(float));
}

/* to[i] = x * x, to[i] = sqrt(x), to[i] = a[i] + b[i] */
static cj_ptx *make_kernels(void)
{
    static const char *const names[] = { "squares", "roots", "join" };
    cj_ptx *m = cj_ptx_create();
    for (int k = 0; k < 3; k++) {
        cj_fn *f = cj_ptx_kernel(m, names[k]);
        cj_val to = cj_param_ptr(f, "to", CJ_F32), a = cj_param_ptr(f, "a", CJ_F32);
        cj_val b = k == 2 ? cj_param_ptr(f, "b", CJ_F32) : a;
        cj_val n = cj_param(f, "n", CJ_U32), i = cj_global_id(f, CJ_X);
        cj_if(f, cj_lt(f, i, n));
            cj_val x = cj_get(f, a, i);
            cj_val y = k == 2 ? cj_get(f, b, i) : x;
            cj_set(f, to, i, k == 0 ? cj_mul(f, x, x) : k == 1 ? cj_sqrt(f, x) : cj_add(f, x, y));
        cj_end(f);
    }
    return m;
}

int main(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "--help"))
        return puts("usage: tasks [PICTURE.dot]\nComputes x * x + sqrt(x) as a diamond of tasks."), 0;

    cj_ptx *m = make_kernels();
    cj_driver *drv = cj_driver_open(NULL);
    cj_device *dev = cj_device_open(drv, 0, NULL);
    cj_stream *s = cj_stream_create(dev, NULL);
    job j = { cj_kernel_load(dev, m, "squares", NULL), cj_kernel_load(dev, m, "roots", NULL),
              cj_kernel_load(dev, m, "join", NULL), { 0 }, { 0 }, { 0 }, { 0 }, NULL };
    const uint64_t bytes = N * sizeof(float);
    j.h = cj_host_alloc(dev, bytes, NULL);
    j.in = cj_alloc(s, bytes), j.left = cj_alloc(s, bytes), j.right = cj_alloc(s, bytes), j.out = cj_alloc(s, bytes);
    if (!j.h || cj_stream_sync(s) != CJ_OK) return fprintf(stderr, "%s\n", cj_error_last()->message), 1;
    for (int i = 0; i < N; i++) j.h[i] = (float)(i % 1024 * (i % 1024));

    cj_coord *c = cj_coord_create(dev, CJ_COORD(.picture = 1));
    const cj_range host = { { (uint64_t)(uintptr_t)j.h }, bytes };
    cj_coord_add(c, CJ_TASK(.kind = CJ_TASK_TRANSFER, .what = "load", .run = load, .user = &j,
                            .reads = CJ_RANGES(host), .writes = CJ_RANGES({ j.in, bytes })));
    cj_coord_add(c, CJ_TASK(.what = "squares", .run = squares, .user = &j,
                            .reads = CJ_RANGES({ j.in, bytes }), .writes = CJ_RANGES({ j.left, bytes })));
    cj_coord_add(c, CJ_TASK(.what = "roots", .run = roots, .user = &j,
                            .reads = CJ_RANGES({ j.in, bytes }), .writes = CJ_RANGES({ j.right, bytes })));
    cj_coord_add(c, CJ_TASK(.kind = CJ_TASK_REDUCE, .what = "join", .run = join, .user = &j,
                            .reads = CJ_RANGES({ j.left, bytes }, { j.right, bytes }),
                            .writes = CJ_RANGES({ j.out, bytes })));
    cj_coord_add(c, CJ_TASK(.kind = CJ_TASK_TRANSFER, .what = "store", .run = store, .user = &j,
                            .reads = CJ_RANGES({ j.out, bytes }), .writes = CJ_RANGES(host)));
    if (cj_coord_run(c, 10000) != CJ_OK) return fprintf(stderr, "%s\n", cj_error_last()->message), 1;

    int wrong = 0;
    for (int i = 0; i < N; i++) {
        const float x = (float)(i % 1024 * (i % 1024));
        wrong += j.h[i] != x * x + (float)(i % 1024);
    }
    FILE *out = argc > 1 ? fopen(argv[1], "w") : NULL;
    if (out) fputs(cj_coord_dot(c), out), fclose(out);
    cj_coord_counts k;
    cj_coord_counts_defaults(&k);
    cj_coord_get_counts(c, &k);
    printf("%d tasks, %d dependencies, %d of them from memory; %d of %d are wrong\n", (int)k.done, (int)k.edges,
           (int)k.edges_of_ranges, wrong, N);

    cj_coord_free(c);
    cj_free(dev, j.in), cj_free(dev, j.left), cj_free(dev, j.right), cj_free(dev, j.out);
    cj_host_free(dev, j.h);
    cj_kernel_free(j.squares), cj_kernel_free(j.roots), cj_kernel_free(j.join);
    cj_ptx_free(m);
    cj_stream_free(s);
    cj_device_close(dev);
    cj_driver_close(drv);
    return wrong != 0;
}
