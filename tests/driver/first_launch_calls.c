/* The driver calls between cj_kernel_load and the return of the first launch, with a kernel of the cache on disk: what
 * a process pays in front of its first result.  What the driver reports of a kernel's code is queried by the first call
 * that needs it, once, whichever thread makes it; messages are those of a kernel whose code is known. */
#include <cujit/cujit.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver/driver.h"
#include "tests/tap.h"
#include "tests/tap_folder.h"

enum { ATTRIBUTES = 8 }; /* that are queried of a kernel's code */
static cj_driver *under, *drv;
static cj_device *dev;
static cj_stream *s;

/* -- The calls ----------------------------------------------------------------------------------------------------- */

static char calls[2000];
static pthread_mutex_t calls_lock = PTHREAD_MUTEX_INITIALIZER;

static void note_call(void *user, uint64_t number, const char *name, const char *text, int result)
{
    (void)user, (void)number, (void)text, (void)result;
    pthread_mutex_lock(&calls_lock);
    if (strlen(calls) + strlen(name) + 2 < sizeof calls) strcat(strcat(calls, name), " ");
    pthread_mutex_unlock(&calls_lock);
}

static void forget_calls(void) { calls[0] = 0; }

static int count_of(const char *name)
{
    int n = 0;
    for (const char *p = calls; (p = strstr(p, name)); p += strlen(name)) n++;
    return n;
}

static int queries(void) { return count_of("cuFuncGetAttribute"); }

static void open_device(void)
{
    under = cj_driver_open("sim");
    drv = cj_driver_open_interposed(under, CJ_INTERPOSER(.after = note_call));
    dev = cj_device_open(drv, 0, NULL);
    s = cj_stream_create(dev, NULL);
    if (cj_error_of(s)->status) tap_bail("%s", cj_error_of(s)->message);
}

static void close_device(void)
{
    cj_stream_free(s);
    cj_device_close(dev);
    cj_driver_close(drv);
    cj_driver_close(under);
}

/* -- Kernels ------------------------------------------------------------------------------------------------------- */

/* A kernel with such a bound (0: none), and with a dynamic shared variable. */
static cj_ptx *built(uint32_t bound, bool dynamic)
{
    cj_ptx *m = cj_ptx_create();
    cj_fn *f = cj_ptx_kernel(m, "k");
    if (bound) cj_fn_max_threads(f, bound, 1, 1);
    cj_val p = cj_param_ptr(f, "p", CJ_F32);
    cj_set(f, p, 0, dynamic ? cj_get(f, cj_shared_dynamic(f, "room", CJ_F32, 16), 0) : cj_get(f, p, 0));
    return m;
}

static cj_kernel *loaded(uint32_t bound, bool dynamic)
{
    cj_ptx *m = built(bound, dynamic);
    cj_kernel *k = cj_kernel_load(dev, m, "k", NULL);
    if (cj_error_of(k)->status) tap_bail("%s", cj_error_of(k)->message);
    cj_ptx_free(m);
    return k;
}

/* -- Cases --------------------------------------------------------------------------------------------------------- */

static void calls_of_a_hit(bool current, const char *want)
{
    cj_ptx *m = built(0, false);
    cj_dptr d = cj_alloc(s, 4);
    cj_fill32(s, d, 0, 1);
    cj_stream_sync(s);
    under->cu.cuCtxSetCurrent(current ? cj_device_context(dev) : NULL);
    forget_calls();
    cj_kernel *k = cj_kernel_load(dev, m, "k", NULL);
    cj_launch(s, k, cj_grid(1, 256), d);
    tap_is_str(calls, want, "a hit and its launch, the context is %scurrent (%s)", current ? "" : "not ",
               cj_error_of(s)->message);
    cj_stream_sync(s);
    cj_free(dev, d);
    cj_kernel_free(k);
    cj_ptx_free(m);
    under->cu.cuCtxSetCurrent(NULL);
}

static void launches_that_query(void)
{
    static const struct {
        const char *name;
        uint32_t bound, threads, shared;
        int queried;
        cj_status status;
    } cases[] = {
        { "a block of the size that any code allows", 0, 256, 0, 0, CJ_OK },
        { "a larger one", 0, 288, 0, ATTRIBUTES, CJ_OK },
        { "a block within the kernel's bound", 64, 64, 0, 0, CJ_OK },
        { "a block beyond the bound", 64, 65, 0, ATTRIBUTES, CJ_EINVAL },
        { "a block beyond the device's limit", 0, 1025, 0, 0, CJ_EINVAL },
        { "dynamic shared memory", 0, 32, 64, ATTRIBUTES, CJ_OK },
        { "more of it than there is", 0, 32, 1 << 20, ATTRIBUTES, CJ_EINVAL },
    };
    cj_dptr d = cj_alloc(s, 4);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cj_kernel *k = loaded(cases[i].bound, cases[i].shared > 0);
        for (int again = 0; again < 2; again++) {
            forget_calls();
            const cj_dims dims = cj_dims_shared(cj_grid(1, cases[i].threads), cases[i].shared);
            tap_is_int(cj_launch(s, k, dims, d), cases[i].status, "%s: the launch (%s)", cases[i].name,
                       cj_error_of(s)->message);
            tap_is_int(queries(), again ? 0 : cases[i].queried, "%s: attributes that launch %d queries", cases[i].name,
                       again + 1);
            cj_error_clear(s);
        }
        cj_stream_sync(s);
        cj_kernel_free(k);
    }
    cj_free(dev, d);
}

static void sentences(void)
{
    cj_kernel *k = loaded(64, true);
    cj_dptr d = cj_alloc(s, 4);
    char want[300];
    cj_launch(s, k, cj_grid(1, 65), d);
    tap_ok(strstr(cj_error_of(s)->message, "a block of 65 threads, 1 more than this kernel can have (64: its launch "
                                           "bounds, or its "),
           "beyond the kernel's bound (%s)", cj_error_of(s)->message);
    cj_error_clear(s);
    cj_kernel_info info = { .size = sizeof info };
    cj_kernel_get_info(k, &info);
    cj_launch(s, k, cj_dims_shared(cj_grid(1, 32), (uint32_t)info.shared_dynamic + 8), d);
    snprintf(want, sizeof want, "8 more than the %d that a block has beside the kernel's 0 static ones",
             info.shared_dynamic);
    tap_ok(strstr(cj_error_of(s)->message, want), "beyond the shared memory (%s)", cj_error_of(s)->message);
    cj_error_clear(s);
    cj_launch(s, k, cj_grid(1, 32), d);
    tap_ok(strstr(cj_error_of(s)->message, "the dynamic shared variable room"), "without shared memory (%s)",
           cj_error_of(s)->message);
    cj_error_clear(s);
    cj_free(dev, d);
    cj_kernel_free(k);
}

static void information_is_queried_once(void)
{
    cj_kernel *k = loaded(64, false);
    cj_kernel_info info = { .size = sizeof info };
    cj_occupancy o = { .size = sizeof o };
    cj_dims dims;
    forget_calls();
    tap_is_int(cj_kernel_get_info(k, &info), CJ_OK, "the information");
    tap_is_int(info.block_threads, 64, "the bound");
    tap_ok(info.registers > 0 && info.shared_dynamic > 0 && info.size == sizeof info, "and the rest");
    cj_kernel_occupancy(k, 64, 0, &o);
    cj_kernel_suggest_block(k, 0, 0, 0, &dims);
    tap_is_int((int)dims.block[0], 64, "a block that fits");
    tap_is_int(queries(), ATTRIBUTES, "all was queried once");
    cj_kernel_free(k);
}

static void a_limit_that_was_set(void)
{
    cj_kernel *k = loaded(0, true);
    cj_dptr d = cj_alloc(s, 4);
    cj_kernel_set_attribute(k, CJ_KERNEL_SHARED_DYNAMIC, 1000);
    forget_calls();
    tap_is_int(cj_launch(s, k, cj_dims_shared(cj_grid(1, 32), 1000), d), CJ_OK, "as much as was allowed before");
    tap_is_int(count_of("cuFuncSetAttribute"), 0, "is launched as it is");
    tap_is_int(cj_launch(s, k, cj_dims_shared(cj_grid(1, 32), 1008), d), CJ_OK, "more");
    tap_is_int(count_of("cuFuncSetAttribute"), 1, "is allowed first");
    cj_stream_sync(s);
    cj_free(dev, d);
    cj_kernel_free(k);
}

static void in_a_capture(void)
{
    cj_kernel *k = loaded(0, true);
    cj_dptr d = cj_alloc(s, 4);
    cj_stream_sync(s);
    cj_capture_begin(s, CJ_CAPTURE_GLOBAL);
    tap_is_int(cj_launch(s, k, cj_dims_shared(cj_grid(1, 512), 64), d), CJ_OK, "a captured launch that queries (%s)",
               cj_error_of(s)->message);
    cj_graph *g = cj_capture_end(s);
    tap_is_int(cj_error_of(g)->status, CJ_OK, "does not harm the capture (%s)", cj_error_of(g)->message);
    cj_graph_free(g);
    cj_free(dev, d);
    cj_kernel_free(k);
}

/* -- Threads ------------------------------------------------------------------------------------------------------- */

enum { THREADS = 8 };
static pthread_barrier_t begin;

static void *ask(void *arg)
{
    cj_kernel_info info = { .size = sizeof info };
    pthread_barrier_wait(&begin);
    const cj_status st = cj_kernel_get_info(arg, &info);
    return (void *)(uintptr_t)(st == CJ_OK && info.block_threads == 64 && info.registers > 0);
}

static void by_many_threads(void)
{
    pthread_t thread[THREADS];
    int good = 0;
    cj_kernel *k = loaded(64, false);
    forget_calls();
    pthread_barrier_init(&begin, NULL, THREADS);
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&thread[i], NULL, ask, k)) tap_bail("no thread");
    for (int i = 0; i < THREADS; i++) {
        void *fine;
        pthread_join(thread[i], &fine);
        good += fine != NULL;
    }
    pthread_barrier_destroy(&begin);
    tap_is_int(good, THREADS, "each thread finds it");
    tap_is_int(queries(), ATTRIBUTES, "and one of them has queried it");
    cj_kernel_free(k);
}

/* -- A context that is lost ---------------------------------------------------------------------------------------- */

static void of_a_lost_context(void)
{
    cj_kernel *k[2] = { loaded(64, false), loaded(32, false) };
    cj_kernel_info info = { .size = sizeof info };
    cj_kernel_get_info(k[0], &info);
    cj_launch(s, k[0], cj_grid(1, 1), (cj_dptr){ 8 }); /* no memory is there */
    cj_stream_sync(s);
    info.registers = 0;
    tap_is_int(cj_kernel_get_info(k[0], &info), CJ_OK, "what was queried before is there");
    tap_ok(info.registers > 0, "as it was");
    const cj_status st = cj_kernel_get_info(k[1], &info);
    tap_ok(st != CJ_OK, "what was not cannot be queried (%s)", cj_error_of(k[1])->message);
    cj_error_clear(s);
    tap_ok(cj_launch(s, k[1], cj_grid(1, 1), (cj_dptr){ 8 }) != CJ_OK, "a launch fails");
    tap_ok(!strstr(cj_error_of(s)->message, "0 registers"), "and claims no registers (%s)", cj_error_of(s)->message);
    for (int i = 0; i < 2; i++) cj_kernel_free(k[i]);
}

int main(void)
{
    tap_plan(0);
    setenv("CUJIT_CACHE", "1", 1);
    setenv("CUJIT_CACHE_DIR", tap_folder("first-launch"), 1);
    open_device();
    cj_kernel_free(loaded(0, false)); /* the cache has it now, and a device that is opened finds the folder */
    close_device();
    open_device();
    calls_of_a_hit(true, "cuCtxGetCurrent cuThreadExchangeStreamCaptureMode cuModuleLoadData cuModuleGetFunction "
                         "cuFuncLoad cuThreadExchangeStreamCaptureMode cuLaunchKernel ");
    calls_of_a_hit(false, "cuCtxGetCurrent cuCtxPushCurrent cuThreadExchangeStreamCaptureMode cuModuleLoadData "
                          "cuModuleGetFunction cuFuncLoad cuThreadExchangeStreamCaptureMode cuCtxPopCurrent "
                          "cuLaunchKernel ");
    launches_that_query();
    sentences();
    information_is_queried_once();
    a_limit_that_was_set();
    in_a_capture();
    by_many_threads();
    of_a_lost_context();
    close_device();
    return tap_done();
}
