/* Tasks without a callback: the program takes the next ready task, enqueues its work on the stream
 * that it is given, and completes it.  A language runtime drives tasks like this. */
#include <cujit/cujit.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

enum { N = 1 << 14, LOAD = 1, SQUARES, CUBES, JOIN, STORE, ALL };

/* to[i] = a[i] * b[i] and to[i] = a[i] + b[i] */
static cj_ptx *make_kernels(void)
{
    cj_ptx *m = cj_ptx_create();
    for (int k = 0; k < 2; k++) {
        cj_fn *f = cj_ptx_kernel(m, k ? "plus" : "times");
        cj_val to = cj_param_ptr(f, "to", CJ_U64), a = cj_param_ptr(f, "a", CJ_U64), b = cj_param_ptr(f, "b", CJ_U64);
        cj_val i = cj_global_id(f, CJ_X);
        cj_val x = cj_get(f, a, i);
        cj_val y = cj_get(f, b, i);
        cj_set(f, to, i, k ? cj_add(f, x, y) : cj_mul(f, x, y));
    }
    return m;
}

int main(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "--help"))
        return puts("usage: tasks_pull\nComputes x * x + x * x * x as a diamond of tasks, without callbacks."), 0;

    cj_ptx *m = make_kernels();
    cj_driver *drv = cj_driver_open(NULL);
    cj_device *dev = cj_device_open(drv, 0, NULL);
    cj_stream *home = cj_stream_create(dev, NULL);
    cj_kernel *times = cj_kernel_load(dev, m, "times", NULL), *plus = cj_kernel_load(dev, m, "plus", NULL);
    const uint64_t bytes = N * sizeof(uint64_t);
    uint64_t *h = cj_host_alloc(dev, bytes, NULL);
    cj_dptr x = cj_alloc(home, bytes), x2 = cj_alloc(home, bytes), x3 = cj_alloc(home, bytes);
    if (!h || cj_stream_sync(home) != CJ_OK) return fprintf(stderr, "%s\n", cj_error_last()->message), 1;
    for (uint64_t i = 0; i < N; i++) h[i] = i;

    /* dependencies by name this time */
    cj_coord *c = cj_coord_create(dev, CJ_COORD(.completions = 1));
    cj_task task[ALL];
    task[LOAD] = cj_coord_add(c, CJ_TASK(.kind = CJ_TASK_TRANSFER, .what = "load", .user = (void *)LOAD));
    task[SQUARES] = cj_coord_add(c, CJ_TASK(.what = "squares", .user = (void *)SQUARES, .after = CJ_TASKS(task[LOAD])));
    task[CUBES] = cj_coord_add(c, CJ_TASK(.what = "cubes", .user = (void *)CUBES, .after = CJ_TASKS(task[SQUARES])));
    task[JOIN] = cj_coord_add(c, CJ_TASK(.what = "join", .user = (void *)JOIN,
                                         .after = CJ_TASKS(task[SQUARES], task[CUBES])));
    task[STORE] = cj_coord_add(c, CJ_TASK(.kind = CJ_TASK_TRANSFER, .what = "store", .user = (void *)STORE,
                                          .after = CJ_TASKS(task[JOIN])));
    cj_task t;
    cj_stream *s;
    cj_status st;
    while ((st = cj_coord_next(c, &t, &s, 10000)) == CJ_OK) {
        if (t == task[LOAD]) st = cj_copy_to_device(s, x, h, bytes);
        else if (t == task[SQUARES]) st = cj_launch(s, times, cj_grid(N / 256, 256), x2, x, x);
        else if (t == task[CUBES]) st = cj_launch(s, times, cj_grid(N / 256, 256), x3, x2, x);
        else if (t == task[JOIN]) st = cj_launch(s, plus, cj_grid(N / 256, 256), x3, x2, x3);
        else st = cj_copy_to_host(s, h, x3, bytes);
        cj_coord_complete(c, t, st);
    }
    if (st != CJ_ENOTFOUND) return fprintf(stderr, "%s\n", cj_error_of(c)->message), 1;

    /* a program's own loop waits for this descriptor beside others; the tasks have ended, so it is readable now */
    struct pollfd ended = { .fd = cj_coord_fd(c), .events = POLLIN };
    cj_task_record done[ALL];
    const size_t n = poll(&ended, 1, 0) == 1 ? cj_coord_completions(c, done, ALL, 0) : 0;
    int wrong = 0;
    for (uint64_t i = 0; i < N; i++) wrong += h[i] != i * i + i * i * i;
    printf("%d tasks ended, the last one is 'store': %s; %d of %d are wrong\n", (int)n,
           n && done[n - 1].task == task[STORE] ? "yes" : "no", wrong, N);

    cj_coord_free(c);
    cj_free(dev, x), cj_free(dev, x2), cj_free(dev, x3);
    cj_host_free(dev, h);
    cj_kernel_free(times), cj_kernel_free(plus);
    cj_ptx_free(m);
    cj_stream_free(home);
    cj_device_close(dev);
    cj_driver_close(drv);
    return wrong != 0;
}
