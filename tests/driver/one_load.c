/* A builder is compiled once and loaded once for a device, also when many threads ask at once; and by which calls:
 * seen by a layer over the driver. */
#include <cujit/cujit.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "tests/tap.h"

enum { THREADS = 8, NAMES = 6 };
static const char *const names[NAMES] = { "cuLinkCreate",     "cuLinkAddData",      "cuLinkComplete",
                                          "cuModuleLoadData", "cuModuleLoadDataEx", "cuModuleUnload" };
static atomic_int seen[NAMES];
static char lines[NAMES][400]; /* the first of each since the counts were read */

static void count_call(void *user, uint64_t number, const char *name, const char *text, int result)
{
    (void)user, (void)number, (void)result;
    for (int i = 0; i < NAMES; i++)
        if (!strcmp(name, names[i]) && atomic_fetch_add(&seen[i], 1) == 0)
            snprintf(lines[i], sizeof lines[i], "%s", text);
}

static void are(const char *when, int link, int data, int data_ex, int unload)
{
    const int want[NAMES] = { link, link, link, data, data_ex, unload };
    for (int i = 0; i < NAMES; i++) {
        tap_is_int(atomic_load(&seen[i]), want[i], "%s: %s", when, names[i]);
        atomic_store(&seen[i], 0);
    }
}

static cj_device *dev;
static cj_ptx *m;
static pthread_barrier_t gate;

static void *load_it(void *arg)
{
    (void)arg;
    pthread_barrier_wait(&gate);
    return cj_module_load(dev, m, NULL);
}

static cj_ptx *build(void)
{
    cj_ptx *p = cj_ptx_create();
    cj_fn *f = cj_ptx_kernel(p, "k");
    cj_val x = cj_param_ptr(f, "x", CJ_U32), i = cj_global_id(f, CJ_X);
    cj_set(f, x, i, cj_add(f, i, cj_imm(f, 7)));
    return p;
}

static void by_threads(void)
{
    pthread_t thread[THREADS];
    void *mod[THREADS];
    int same = 0;
    m = build();
    pthread_barrier_init(&gate, NULL, THREADS);
    for (int i = 0; i < THREADS; i++) pthread_create(&thread[i], NULL, load_it, NULL);
    for (int i = 0; i < THREADS; i++) pthread_join(thread[i], &mod[i]);
    pthread_barrier_destroy(&gate);
    for (int i = 0; i < THREADS; i++) same += mod[i] == mod[0];
    tap_is_int(same, THREADS, "%d threads get one module (%s)", THREADS, cj_error_of(mod[0])->message);
    are("all threads together", 1, 1, 0, 0);
    for (int i = 0; i < THREADS; i++) cj_module_free(mod[i]);
    are("the last release", 0, 0, 0, 1);
    cj_module *again = cj_module_load(dev, m, NULL);
    are("loaded anew when nobody has it any more", 1, 1, 0, 0);
    cj_module_free(again);
    cj_ptx_free(m);
    are("and released", 0, 0, 0, 1);
}

static void by_kernels(void)
{
    cj_ptx *p = build(), *copy;
    cj_kernel *a = cj_kernel_load(dev, p, "k", NULL), *b = cj_kernel_load(dev, p, "k", NULL);
    tap_ok(cj_kernel_module(a) && cj_kernel_module(a) == cj_kernel_module(b),
           "two kernels of one builder are of one module");
    are("two kernels", 1, 1, 0, 0);
    copy = cj_ptx_clone(p);
    cj_kernel *c = cj_kernel_load(dev, copy, "k", NULL);
    tap_ok(cj_kernel_module(c) != cj_kernel_module(a), "a copy of the builder is another builder");
    are("a copy", 1, 1, 0, 0);
    cj_ptx_free(p);
    cj_ptx_free(copy);
    cj_kernel_free(a);
    are("one kernel of two goes", 0, 0, 0, 0);
    cj_kernel_free(b);
    cj_kernel_free(c);
    are("all kernels go", 0, 0, 0, 2);
}

static void from_text(void)
{
    static const char text[] =
        ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry k(.param .u32 n)\n{\n  ret;\n}\n";
    cj_module *a = cj_module_load_text(dev, text, NULL), *b = cj_module_load_text(dev, text, NULL);
    tap_ok(cj_error_of(a)->status == CJ_OK && a != b, "text is loaded each time (%s)", cj_error_of(a)->message);
    are("text twice", 0, 0, 2, 0);
    cj_module_free(a);
    cj_module_free(b);
    cj_image *img = cj_image_create_text(dev, text, NULL);
    are("an image of text", 1, 0, 0, 2);
    cj_module *mod = cj_module_load_image(dev, img);
    are("and a module of the image", 0, 1, 0, 0);
    cj_module_free(mod);
    cj_image_free(img);
}

int main(void)
{
    tap_need_device(1);
    tap_plan(0);
    cj_driver *under = cj_driver_open(NULL),
              *drv = cj_driver_open_interposed(under, CJ_INTERPOSER(.after = count_call));
    tap_is_str(cj_driver_kind(drv), cj_driver_kind(under), "a layer is of the kind below it");
    tap_is_str(cj_driver_path(drv), cj_driver_path(under), "and of its file");
    dev = cj_device_open(drv, 0, NULL);
    by_threads();
    by_kernels();
    from_text();
    static const struct { int at; const char *part;
    } shown[] = {
        { 0, "cuLinkCreate(numOptions=4, options=0x" },
        { 0, "stateOut=0x" },
        { 0, " -> 0x" },
        { 1, "name=\"cujit\"" },
        { 2, "sizeOut=0x" },
        { 3, "cuModuleLoadData(module=0x" },
        { 3, ") = CUDA_SUCCESS" },
        { 4, "numOptions=4" },
        { 5, "cuModuleUnload(hmod=0x" },
    };
    for (size_t i = 0; i < sizeof shown / sizeof *shown; i++)
        tap_has_str(lines[shown[i].at], shown[i].part, "%s is shown with %s", names[shown[i].at], shown[i].part);
    cj_device_close(dev);
    cj_driver_close(drv);
    cj_driver_close(under);
    return tap_done();
}
