/* Kernels that many threads load at once, over a driver of stubs: the driver loads one image at a time, each kernel has
 * the function of its own module, and an image that is wrong fails for its own caller alone.  A layer over the driver
 * may load a module of its own inside of a load. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include <cujit/cujit.h>

#include "tests/stub_driver.h"
#include "tests/tap.h"

enum { THREADS = 8, EACH = 6, KERNELS = THREADS * EACH, GRACE = 2000, WRONG = 5 };

static char modules[KERNELS + 1][16], functions[KERNELS][16]; /* their addresses are the handles */
static atomic_int loads, inside, most, begun, asked[KERNELS + 1];
static atomic_bool fails;
static char others[KERNELS];         /* a kernel whose function was asked of another module too */

static CUresult counted_current(CUcontext *ctx)
{
    static _Thread_local bool counted;
    if (!counted) counted = true, atomic_fetch_add(&begun, 1);
    *ctx = (CUcontext)(void *)stub_handle;
    return CUDA_SUCCESS;
}

/* The first load lasts until all threads are about to load. */
static CUresult counted_load(CUmodule *out, const void *image)
{
    (void)image;
    const int n = atomic_fetch_add(&loads, 1), now = atomic_fetch_add(&inside, 1) + 1;
    for (int seen = atomic_load(&most); now > seen && !atomic_compare_exchange_weak(&most, &seen, now);) continue;
    for (int i = 0; n == 0 && (atomic_load(&begun) < THREADS || i < GRACE); i++) sched_yield();
    atomic_fetch_sub(&inside, 1);
    *out = NULL;
    if (atomic_load(&fails) && n == WRONG) return CUDA_ERROR_INVALID_IMAGE;
    *out = (CUmodule)(void *)modules[n];
    return CUDA_SUCCESS;
}

static CUresult counted_function(CUfunction *out, CUmodule mod, const char *name)
{
    int i = 0;
    sscanf(name, "kernel%d", &i);
    const int at = (int)(((char *)(void *)mod - modules[0]) / (int)sizeof modules[0]);
    if (atomic_fetch_add(&asked[at], 1)) others[i] = 1;
    *out = (CUfunction)(void *)functions[i];
    return CUDA_SUCCESS;
}

static void *counted_symbol(void *user, const char *symbol)
{
    if (!strcmp(symbol, "cuCtxGetCurrent")) return (void *)(uintptr_t)counted_current;
    if (!strcmp(symbol, "cuModuleLoadData")) return (void *)(uintptr_t)counted_load;
    if (!strcmp(symbol, "cuModuleGetFunction")) return (void *)(uintptr_t)counted_function;
    return stub_symbol(user, symbol);
}

static cj_device *dev;
static cj_kernel *kernel[KERNELS];
static pthread_barrier_t gate;

static void *load_some(void *first)
{
    const int thread = *(int *)first;
    pthread_barrier_wait(&gate);
    for (int i = thread * EACH; i < (thread + 1) * EACH; i++) {
        char name[20];
        snprintf(name, sizeof name, "kernel%d", i);
        cj_ptx *m = cj_ptx_create();
        cj_return(cj_ptx_kernel(m, name));
        kernel[i] = cj_kernel_load(dev, m, name, NULL);
        cj_ptx_free(m);
    }
    return NULL;
}

/* How many kernels failed, with the driver's word for the image. */
static int load_kernels(bool one_is_wrong)
{
    pthread_t thread[THREADS];
    int number[THREADS], failed = 0;
    atomic_store(&fails, one_is_wrong);
    atomic_store(&loads, 0), atomic_store(&most, 0), atomic_store(&begun, 0);
    memset(others, 0, sizeof others);
    for (int i = 0; i <= KERNELS; i++) atomic_store(&asked[i], 0);
    cj_driver *drv = cj_driver_open_resolver(counted_symbol, NULL);
    dev = cj_device_open(drv, 0, NULL);
    atomic_store(&begun, 0);
    pthread_barrier_init(&gate, NULL, THREADS);
    for (int i = 0; i < THREADS; i++) {
        number[i] = i;
        if (pthread_create(&thread[i], NULL, load_some, &number[i])) tap_bail("no thread");
    }
    for (int i = 0; i < THREADS; i++) pthread_join(thread[i], NULL);
    pthread_barrier_destroy(&gate);
    for (int i = 0; i < KERNELS; i++) {
        const cj_error *e = cj_error_of(kernel[i]);
        if (e->status && strstr(e->message, "CUDA_ERROR_INVALID_IMAGE")) failed++;
        else if (e->status) tap_diag("%s", e->message);
        cj_kernel_free(kernel[i]);
    }
    cj_device_close(dev);
    cj_driver_close(drv);
    return failed;
}

static bool each_has_its_own(int wrong)
{
    int found = 0;
    for (int i = 0; i < KERNELS; i++)
        if (others[i]) return false;
    for (int i = 0; i <= KERNELS; i++) found += atomic_load(&asked[i]) == 1;
    return found == KERNELS - wrong;
}

/* -- A load in a load ---------------------------------------------------------------------------------------------- */

static cj_module *inner;

static void load_in_load(void *user, uint64_t number, const char *name, const char *text, int result)
{
    static bool inside_of_it;
    (void)user, (void)number, (void)text, (void)result;
    if (strcmp(name, "cuModuleLoadData") || inside_of_it) return;
    inside_of_it = true;
    cj_ptx *m = cj_ptx_create();
    cj_return(cj_ptx_kernel(m, "inner"));
    inner = cj_module_load(dev, m, NULL);
    cj_ptx_free(m);
}

static void load_nested(void)
{
    atomic_store(&fails, false);
    atomic_store(&loads, 1);
    cj_driver *under = cj_driver_open_resolver(counted_symbol, NULL);
    cj_driver *drv = cj_driver_open_interposed(under, CJ_INTERPOSER(.after = load_in_load));
    dev = cj_device_open(drv, 0, NULL);
    cj_ptx *m = cj_ptx_create();
    cj_return(cj_ptx_kernel(m, "kernel0"));
    cj_kernel *k = cj_kernel_load(dev, m, "kernel0", NULL);
    tap_is_int(cj_error_of(k)->status, CJ_OK, "a kernel whose load has another one inside of it");
    tap_is_int(cj_error_of(inner)->status, CJ_OK, "and the one inside");
    cj_kernel_free(k);
    cj_ptx_free(m);
    cj_module_free(inner);
    cj_device_close(dev);
    cj_driver_close(drv);
    cj_driver_close(under);
}

int main(void)
{
    tap_plan(0);
    tap_timeout(60);
    tap_is_int(load_kernels(false), 0, "%d kernels of %d threads are loaded", KERNELS, THREADS);
    tap_is_int(atomic_load(&loads), KERNELS, "each image once");
    tap_is_int(atomic_load(&most), 1, "one at a time");
    tap_ok(each_has_its_own(0), "each kernel has the function of its own module");
    tap_is_int(load_kernels(true), 1, "an image that is wrong fails for its own caller");
    tap_is_int(atomic_load(&most), 1, "and the others are loaded, one at a time");
    tap_ok(each_has_its_own(1), "each with the function of its own module");
    load_nested();
    return tap_done();
}
