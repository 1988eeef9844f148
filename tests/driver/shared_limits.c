/* Two threads raise a kernel's limit of dynamic shared memory at once: the smaller value never undoes the larger
 * one. */
#include <pthread.h>
#include <sched.h>
#include <string.h>

#include "driver/driver.h"
#include "tests/driver/libfake.h"
#include "tests/tap.h"

enum { SMALL = 65536, LARGE = 98304, PATIENCE = 3000 };
static atomic_int inside, limit, finished;
static cji_PFN_cuFuncSetAttribute next;

/* Who sets the smaller value waits, as long as it is patient, for the other one to have set the larger. */
static CUresult slow_set(CUfunction fn, CUfunction_attribute which, int value)
{
    atomic_fetch_add(&inside, 1);
    for (int i = 0; value == SMALL && i < PATIENCE && atomic_load(&limit) != LARGE; i++) sched_yield();
    atomic_store(&limit, value);
    return next(fn, which, value);
}

static void *resolve(void *user, const char *symbol)
{
    void *entry = libfake_symbol(user, symbol);
    if (strcmp(symbol, "cuFuncSetAttribute")) return entry;
    cji_PFN_cuFuncSetAttribute mine = slow_set;
    memcpy(&next, &entry, sizeof next);
    memcpy(&entry, &mine, sizeof entry);
    return entry;
}

static void *raise_small(void *kernel)
{
    CUresult r = cji_kernel_allow_shared(kernel, SMALL);
    atomic_store(&finished, 1);
    return r == CUDA_SUCCESS ? kernel : NULL;
}

int main(void)
{
    pthread_t thread;
    void *raised = NULL;
    tap_plan(0);
    libfake_reset();
    cj_driver *drv = cj_driver_open_resolver(resolve, NULL);
    cj_device *dev = cj_device_open(drv, 0, NULL);
    cj_ptx *m = cj_ptx_create();
    cj_fn *f = cj_ptx_kernel(m, "k");
    cj_shared_dynamic(f, "tile", CJ_F32, 0);
    cj_kernel *k = cj_kernel_load(dev, m, "k", NULL);
    tap_is_int(cj_error_of(k)->status, CJ_OK, "a kernel (%s)", cj_error_of(k)->message);
    if (pthread_create(&thread, NULL, raise_small, k)) tap_bail("no thread");
    while (!atomic_load(&inside) && !atomic_load(&finished)) sched_yield();
    tap_is_int(cji_kernel_allow_shared(k, LARGE), CUDA_SUCCESS, "one thread raises the limit to %d", LARGE);
    pthread_join(thread, &raised);
    tap_ok(raised, "another one to %d", SMALL);
    tap_is_int(atomic_load(&limit), LARGE, "the larger value is in force");
    tap_is_int(cji_kernel_allow_shared(k, LARGE), CUDA_SUCCESS, "it is there for a launch");
    tap_is_int(lib.calls[CJI_CU_ID_cuFuncSetAttribute], 2, "without another call");
    cj_kernel_free(k);
    cj_ptx_free(m);
    cj_device_close(dev);
    cj_driver_close(drv);
    return tap_done();
}
