/* Kernels launched by their names: the module keeps a handle for each name, finds it again among many, and frees it
 * with itself; a graph retains the module; a wrong name is an error that lists the kernels. */
#include <stdio.h>
#include <string.h>

#include "tests/device_bench.h"

enum { MANY = 40, THREADS = 4 };

static int lookups, unloads;

static void count(void *user, uint64_t number, const char *name, const char *text, int result)
{
    (void)user, (void)number, (void)text, (void)result;
    if (!strcmp(name, "cuModuleGetFunction")) __atomic_add_fetch(&lookups, 1, __ATOMIC_RELAXED);
    if (!strcmp(name, "cuModuleUnload")) __atomic_add_fetch(&unloads, 1, __ATOMIC_RELAXED);
}

/* Kernels plus0, plus1, ...: x[0] += their number. */
static cj_ptx *many_kernels(void)
{
    cj_ptx *m = cj_ptx_create();
    for (unsigned i = 0; i < MANY; i++) {
        char name[16];
        snprintf(name, sizeof name, "plus%u", i);
        cj_fn *f = cj_ptx_kernel(m, name);
        cj_val x = cj_param_ptr(f, "x", CJ_U32);
        cj_atomic_add(f, cj_mem(f, x, 0), i);
    }
    return m;
}

static uint32_t value(void)
{
    uint32_t out = 0;
    cj_copy_to_host(s, &out, d, sizeof out);
    cj_stream_sync(s);
    return out;
}

static void check_many(cj_module *mod)
{
    const char *names[MANY + 1] = { NULL };
    char name[16];
    cj_fill32(s, d, 0, 1);
    lookups = 0;
    for (int round = 0; round < 3; round++) {
        for (unsigned i = 0; i < MANY; i++) {
            snprintf(name, sizeof name, "plus%u", i);
            cj_launch_name(s, mod, name, cj_grid(1, 1), d);
        }
    }
    tap_is_int(cj_stream_sync(s), CJ_OK, "%d kernels are launched by name: %s", MANY, cj_error_of(s)->message);
    tap_is_uint(value(), 3 * MANY * (MANY - 1) / 2, "each is the right one");
    tap_is_int(lookups, MANY, "each name is looked up once");
    tap_is_uint(cj_module_kernels(mod, NULL, 0), MANY, "the module lists its kernels");
    cj_module_kernels(mod, names, 2);
    tap_ok(names[1] && !strcmp(names[1], "plus1") && !names[2], "their names, as many as there is room for");
}

static void *launch_all(void *user)
{
    cj_stream *own = cj_stream_create(dev, NULL);
    for (unsigned i = 0; i < MANY; i++) {
        char name[16];
        snprintf(name, sizeof name, "plus%u", i);
        cj_launch_name(own, user, name, cj_grid(1, 1), d);
    }
    cj_status st = cj_stream_sync(own);
    cj_stream_free(own);
    return (void *)(intptr_t)st;
}

static void check_threads(void)
{
    pthread_t thread[THREADS];
    void *failed[THREADS];
    cj_ptx *m = many_kernels();
    cj_module *mod = cj_module_load(dev, m, NULL);
    cj_fill32(s, d, 0, 1);
    cj_stream_sync(s);
    for (int i = 0; i < THREADS; i++) pthread_create(&thread[i], NULL, launch_all, mod);
    for (int i = 0; i < THREADS; i++) pthread_join(thread[i], &failed[i]);
    for (int i = 0; i < THREADS; i++) tap_ok(!failed[i], "thread %d launches by name", i);
    tap_is_uint(value(), THREADS * MANY * (MANY - 1) / 2, "all threads find the same handles");
    cj_module_free(mod);
    cj_ptx_free(m);
}

static void check_graph(cj_module *mod)
{
    cj_fill32(s, d, 0, 1);
    cj_stream_sync(s);
    cj_capture_begin(s, CJ_CAPTURE_THREAD);
    cj_launch_name(s, mod, "plus7", cj_grid(1, 1), d);
    cj_launch_name(s, mod, "plus39", cj_grid(1, 1), d);
    cj_graph *g = cj_capture_end(s);
    cj_graph_exec *x = cj_graph_instantiate(g, NULL);
    cj_graph_free(g);
    cj_module_free(mod);
    cj_device_collect(dev);
    tap_is_int(unloads, 0, "a graph retains the module");
    cj_graph_launch(s, x);
    tap_is_uint(value(), 46, "and launches its kernels");
    cj_graph_exec_free(x);
    cj_device_collect(dev);
    tap_is_int(unloads, 1, "which is unloaded behind the graph");
}

static void check_mistakes(cj_module *mod)
{
    tap_is_int(cj_launch_name(s, mod, "minus", cj_grid(1, 1), d), CJ_ENOTFOUND, "there is no such kernel");
    tap_has_str(cj_error_of(s)->message, "the module has no kernel \"minus\"; it has plus0, plus1",
                "the error lists them");
    tap_is_int(cj_stream_sync(s), CJ_ENOTFOUND, "the stream keeps it");
    tap_is_int(cj_launch_name(s, mod, "", cj_grid(1, 1), d), CJ_ENOTFOUND, "a name of no letters");
    cj_stream_sync(s);
    tap_is_int(cj_launch_name(s, mod, NULL, cj_grid(1, 1), d), CJ_EINVAL, "a name that is NULL");
    cj_stream_sync(s);
    tap_is_int(cj_launch_name(s, mod, "plus1", cj_grid(1, 1), 1u), CJ_EINVAL, "arguments are checked");
    tap_has_str(cj_error_of(s)->message, "plus1: argument 1 (x) is an integer, the parameter is a pointer", "as ever");
    cj_stream_sync(s);
    tap_is_uint(cj_module_kernels(mod, NULL, 0), MANY, "a mistake adds nothing");
}

int main(void)
{
    cj_interposer_opts over;
    cj_interposer_defaults(&over);
    over.after = count;
    bench_open_over(&over, 4);
    cj_ptx *m = many_kernels();
    cj_module *mod = cj_module_load(dev, m, NULL);
    check_many(mod);
    check_mistakes(mod);
    cj_image *img = cj_image_create(dev, m, NULL), *bytes;
    size_t size = 0;
    const void *data = cj_image_data(img, &size);
    bytes = cj_image_from(dev, data, size);
    cj_module *cubin = cj_module_load_image(dev, bytes);
    size_t listed = cj_module_kernels(cubin, NULL, 0);
    tap_ok(listed == MANY || cj_error_of(cubin)->status == CJ_ENOTSUP, "the driver lists those of a cubin: %zu",
           listed);
    cj_module_free(cubin);
    cj_image_free(bytes);
    cj_image_free(img);
    cj_ptx_free(m);
    cj_device_collect(dev);
    unloads = 0;
    check_graph(mod);
    check_threads();
    return bench_close();
}
