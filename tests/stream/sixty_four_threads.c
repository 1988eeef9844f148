/* 64 threads at once, each with a stream of its own: they find the same handles by name, launch prepared launches of
 * their own, and read and write a module's variable.  Then each has a device object of its own, from the driver to the
 * memory. */
#include <pthread.h>

#include "tests/device_bench.h"

enum { THREADS = 64, LAUNCHES = 5 };

static const char text[] = ".version 7.0\n.target sm_70\n.address_size 64\n.visible .global .u32 hits;\n"
                           ".visible .entry hit(.param .u64 .ptr .global x)\n{\n .reg .b64 %d<2>;\n"
                           " ld.param.u64 %d1, [x];\n red.global.add.u32 [%d1], 1;\n mov.u64 %d0, hits;\n"
                           " red.global.add.u32 [%d0], 1;\n ret;\n}\n";
static cj_module *mod;
static cj_kernel *hit;
static pthread_barrier_t together;
static cj_status ended[THREADS];

static void *work(void *user)
{
    const size_t me = (size_t)(uintptr_t)user;
    uint32_t seen = 0;
    pthread_barrier_wait(&together);
    cj_stream *own = cj_stream_create(dev, NULL);
    cj_prepared *p = cj_prepare(hit, cj_grid(1, 1), d);
    for (int i = 0; i < LAUNCHES; i++) {
        cj_launch_name(own, mod, "hit", cj_grid(1, 1), d);
        cj_launch_prepared(own, p);
    }
    const bool reads = !tap_reports_races(); /* while other streams add to it */
    if (reads) cj_module_var_read(own, mod, "hits", CJ_U32, &seen, 1);
    ended[me] = cj_stream_sync(own);
    if (reads && seen < 2 * LAUNCHES) ended[me] = CJ_ESTATE;
    cj_prepared_free(p);
    cj_stream_free(own);
    return NULL;
}

/* All of it for itself: a device object, a module, memory; what another thread has is released meanwhile. */
static void *own_device(void *user)
{
    const size_t me = (size_t)(uintptr_t)user;
    uint32_t seen[32] = { 0 };
    pthread_barrier_wait(&together);
    cj_driver *of = cj_driver_open(NULL);
    cj_device *on = cj_device_open(of, 0, NULL);
    cj_stream *own = cj_stream_create(on, NULL);
    cj_module *m = cj_module_load_text(on, text, NULL);
    const cj_dptr at = cj_alloc(own, sizeof seen);
    cj_fill32(own, at, (uint32_t)me, 32);
    cj_launch_name(own, m, "hit", cj_grid(1, 1), at);
    cj_copy_to_host(own, seen, at, sizeof seen);
    ended[me] = cj_stream_sync(own);
    if (seen[0] != me + 1 || seen[31] != me) ended[me] = CJ_ESTATE;
    if (me % 2) cj_device_close(on), on = NULL; /* its objects keep it */
    cj_stream_free(own);
    cj_module_free(m);
    if (on && cj_free(on, at) != CJ_OK) ended[me] = CJ_ESTATE;
    cj_device_close(on);
    cj_driver_close(of);
    return NULL;
}

static void run_each(void *(*work_of)(void *), const char *what)
{
    pthread_t thread[THREADS];
    unsigned failed = 0;
    for (size_t i = 0; i < THREADS; i++) pthread_create(&thread[i], NULL, work_of, (void *)(uintptr_t)i);
    for (size_t i = 0; i < THREADS; i++) pthread_join(thread[i], NULL);
    for (size_t i = 0; i < THREADS; i++) failed += ended[i] != CJ_OK;
    tap_is_uint(failed, 0, "%d threads %s", THREADS, what);
}

int main(void)
{
    uint32_t sum = 0, hits = 0;
    bench_open(64);
    mod = cj_module_load_text(dev, text, NULL);
    hit = cj_module_kernel(mod, "hit");
    pthread_barrier_init(&together, NULL, THREADS);
    cj_fill32(s, d, 0, 1);
    cj_stream_sync(s);
    run_each(work, "launch and wait");
    cj_copy_to_host(s, &sum, d, sizeof sum);
    cj_module_var_read(s, mod, "hits", CJ_U32, &hits, 1);
    tap_is_int(cj_stream_sync(s), CJ_OK, "what they did is read: %s", cj_error_of(s)->message);
    tap_is_uint(sum, 2 * LAUNCHES * THREADS, "no launch is lost");
    tap_is_uint(hits, 2 * LAUNCHES * THREADS, "nor in the module's variable");
    run_each(own_device, "have a device each");
    pthread_barrier_destroy(&together);
    cj_kernel_free(hit);
    cj_module_free(mod);
    return bench_close();
}
