/* Modules from the kernel cache: what was compiled once is not compiled again, by another builder, in another process,
 * for the same options, and only then; an image from the cache is the one that was compiled. */
#include <cujit/cujit.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/driver/cache_parts.h"
#include "tests/tap.h"

static cji_disk_folder folder;
static cj_driver *under, *drv;
static cj_device *dev;
static atomic_int links;

static void count_links(void *user, uint64_t number, const char *name, const char *text, int result)
{
    (void)user, (void)number, (void)text, (void)result;
    if (!strcmp(name, "cuLinkComplete")) links++;
}

static void open_all(void)
{
    under = cj_driver_open(NULL);
    drv = cj_driver_open_interposed(under, CJ_INTERPOSER(.after = count_links));
    dev = cj_device_open(drv, 0, NULL);
    if (cj_error_of(dev)->status) tap_bail("%s", cj_error_of(dev)->message);
}

static void close_all(void)
{
    cj_device_close(dev);
    cj_driver_close(drv);
    cj_driver_close(under);
}

static int compiled(void) { return atomic_exchange(&links, 0); }

/* x[i] = i + number, from two kernels. */
static cj_ptx *built(int number, int line)
{
    cj_ptx *m = cj_ptx_create();
    for (int k = 0; k < 2; k++) {
        cj_fn *f = cj_ptx_kernel(m, k ? "second" : "first");
        cj_line(f, "source.lang", line);
        cj_val x = cj_param_ptr(f, "x", CJ_U32), n = cj_param(f, "n", CJ_U32), i = cj_global_id(f, CJ_X);
        cj_if(f, cj_lt(f, i, n));
        cj_set(f, x, i, cj_add(f, i, cj_imm(f, number + k)));
        cj_end(f);
    }
    return m;
}

/* Loads the module of such a builder: whether the kernel computes what it should. */
static bool runs(int number, int line, const cj_compile_opts *o)
{
    enum { N = 64 };
    uint32_t out[N] = { 0 };
    cj_ptx *m = built(number, line);
    cj_kernel *k = cj_kernel_load(dev, m, "second", o);
    cj_stream *s = cj_stream_create(dev, NULL);
    cj_dptr d = cj_alloc(s, sizeof out);
    cj_launch(s, k, cj_threads(N, 32), d, N);
    cj_copy_to_host(s, out, d, sizeof out);
    bool good = cj_stream_sync(s) == CJ_OK && cj_kernel_params(k) == 2;
    if (!good) tap_diag("%s", cj_error_of(s)->message);
    for (uint32_t i = 0; i < N; i++) good = good && out[i] == i + (uint32_t)number + 1;
    cj_free(dev, d);
    cj_stream_free(s);
    cj_kernel_free(k);
    cj_ptx_free(m);
    return good;
}

static void by_options(void)
{
    static const struct { const char *name; int number, line; cj_compile_opts o; int want; } rows[] = {
        { "the first load", 1, 10, { .size = sizeof(cj_compile_opts) }, 1 },
        { "the same module of another builder", 1, 10, { .size = sizeof(cj_compile_opts) }, 0 },
        { "from other source lines", 1, 20, { .size = sizeof(cj_compile_opts) }, 0 },
        { "another number in it", 2, 10, { .size = sizeof(cj_compile_opts) }, 1 },
        { "opt_level 1", 1, 10, { .size = sizeof(cj_compile_opts), .opt_level = 1 }, 1 },
        { "opt_level 4, the default", 1, 10, { .size = sizeof(cj_compile_opts), .opt_level = 4 }, 0 },
        { "max_registers", 1, 10, { .size = sizeof(cj_compile_opts), .max_registers = 40 }, 1 },
        { "with lines", 1, 10, { .size = sizeof(cj_compile_opts), .line_info = 1 }, 1 },
        { "with the same lines", 1, 10, { .size = sizeof(cj_compile_opts), .line_info = 1 }, 0 },
        { "with other lines", 1, 20, { .size = sizeof(cj_compile_opts), .line_info = 1 }, 1 },
        { "for debuggers", 1, 10, { .size = sizeof(cj_compile_opts), .debug = 1 }, 1 },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        bool good = runs(rows[i].number, rows[i].line, &rows[i].o);
        int n = compiled();
        tap_ok(good, "%s: the kernel runs", rows[i].name);
        tap_is_int(n, rows[i].want, "%s: compiled", rows[i].name);
    }
    setenv("CUJIT_CACHE", "0", 1);
    tap_ok(runs(1, 10, NULL) && compiled() == 1, "CUJIT_CACHE=0: it is compiled");
    tap_ok(runs(9, 10, NULL) && compiled() == 1, "and another one");
    unsetenv("CUJIT_CACHE");
    tap_ok(runs(9, 10, NULL) && compiled() == 1, "which was not stored");
}

static void images(void)
{
    cj_ptx *m = built(1, 10), *other = built(1, 10);
    setenv("CUJIT_CACHE", "0", 1);
    cj_image *fresh = cj_image_create(dev, m, NULL);
    unsetenv("CUJIT_CACHE");
    compiled();
    cj_image *stored = cj_image_create(dev, other, NULL);
    size_t a = 0, b = 0;
    const void *p = cj_image_data(fresh, &a), *q = cj_image_data(stored, &b);
    tap_is_int(compiled(), 0, "an image of a module that was loaded before is not compiled");
    tap_ok(a && a == b && !memcmp(p, q, a), "it has the same bytes");
    tap_is_str(cj_image_log(stored), cj_image_log(fresh), "and the same log");
    cj_module *mod = cj_module_load_image(dev, stored);
    cj_kernel *k = cj_module_kernel(mod, "third");
    tap_has_str(cj_error_of(k)->message, "it has first, second", "it knows its kernels");
    cj_kernel_free(k);
    cj_module_free(mod);
    cj_image_free(fresh);
    cj_image_free(stored);
    cj_ptx_free(m);
    cj_ptx_free(other);
}

static void texts(void)
{
    static const char text[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
                               ".visible .entry k(.param .u32 n)\n{\n  ret;\n}\n";
    for (int i = 0; i < 2; i++) {
        cj_image *img = cj_image_create_text(dev, text, NULL);
        cj_module *mod = cj_module_load_image(dev, img);
        cj_kernel *k = cj_module_kernel(mod, "k");
        tap_ok(compiled() == !i && cj_kernel_params(k) == 1, "a text is compiled once (%d)", i);
        cj_kernel_free(k);
        cj_module_free(mod);
        cj_image_free(img);
    }
    cj_image *wrong = cj_image_create_text(dev, ".version 7.0\n.target sm_70\nnonsense\n", NULL);
    int files = cache_files(&folder, ".kernel", NULL);
    cj_image *again = cj_image_create_text(dev, ".version 7.0\n.target sm_70\nnonsense\n", NULL);
    tap_ok(cj_error_of(wrong)->status == CJ_EJIT && cj_error_of(again)->status == CJ_EJIT &&
               cache_files(&folder, ".kernel", NULL) == files,
           "a text that is rejected is rejected again, and not stored");
    cj_image_free(wrong);
    cj_image_free(again);
}

/* Equal modules of many threads' builders. */
static pthread_barrier_t gate;

static void *load_equal(void *unused)
{
    (void)unused;
    cj_ptx *m = built(2000, 3);
    pthread_barrier_wait(&gate);
    cj_kernel *k = cj_kernel_load(dev, m, "first", NULL);
    bool good = cj_error_of(k)->status == CJ_OK && cj_kernel_params(k) == 2;
    cj_kernel_free(k);
    cj_ptx_free(m);
    return good ? &gate : NULL;
}

static void threads(void)
{
    enum { THREADS = 8 };
    pthread_t thread[THREADS];
    int good = 0;
    compiled();
    pthread_barrier_init(&gate, NULL, THREADS);
    for (int i = 0; i < THREADS; i++) pthread_create(&thread[i], NULL, load_equal, NULL);
    for (int i = 0; i < THREADS; i++) {
        void *result;
        pthread_join(thread[i], &result);
        good += result != NULL;
    }
    pthread_barrier_destroy(&gate);
    tap_is_int(good, THREADS, "%d threads load equal modules", THREADS);
    tap_is_int(compiled(), 1, "which one of them compiles");
}

static void damaged(void)
{
    char path[CJI_DISK_PATH], list[CJI_DISK_PATH];
    int before = cache_files(&folder, ".kernel", NULL);
    cache_folder_remove(&folder);
    compiled();
    tap_ok(before > 0 && runs(1000, 1, NULL) && compiled() == 1, "a folder that was removed is made again");
    tap_is_int(cache_files(&folder, ".kernel", path), 1, "with one entry");
    if (truncate(path, 300)) tap_bail("truncate");
    tap_ok(runs(1000, 1, NULL) && compiled() == 0, "an entry that was cut: the image is in memory");
    close_all();
    /* Without a list of what was used, opening reads no entry: the load does. */
    if (cache_files(&folder, ".recent", list) != 1 || unlink(list)) tap_bail("no list");
    open_all();
    tap_ok(runs(1000, 1, NULL) && compiled() == 1, "which a new device has not: compiled");
    tap_is_int(cache_files(&folder, ".kernel", path), 1, "and stored anew");
    struct stat s;
    tap_ok(stat(path, &s) == 0 && s.st_size > 300, "whole");
}

/* A process that knows nothing of this one. */
static int other_process(void)
{
    open_all();
    bool good = runs(1000, 1, NULL) && compiled() == 0;
    bool fresh = runs(1001, 1, NULL) && compiled() == 1;
    close_all();
    return good && fresh ? 0 : 1;
}

int main(int argc, char **argv)
{
    unsetenv("CUJIT_CACHE");
    if (argc > 1) return other_process();
    tap_need_device(1);
    tap_plan(0);
    folder = cache_folder();
    setenv("CUJIT_CACHE_DIR", folder.path, 1);
    open_all();
    by_options();
    images();
    texts();
    threads();
    damaged();
    fflush(stdout);
    pid_t child = fork();
    if (!child) {
        execv(argv[0], (char *[]){ argv[0], "again", NULL });
        _exit(9);
    }
    int status = 0;
    waitpid(child, &status, 0);
    tap_is_int(status, 0, "another process finds what this one stored");
    tap_ok(runs(1001, 1, NULL) && compiled() == 0, "and this one what the other one stored");
    close_all();
    cache_folder_remove(&folder);
    return tap_done();
}
