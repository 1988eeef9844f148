/* cj_device_reset() on the CPU device where the context is lost or busy: a fault is forgotten, a kernel that never ends
 * stops, threads that wait for it return with an error that names the reset, host functions come to their end. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "tests/device_parts.h"
#include "tests/tap.h"

static const char reset[] = "the device was reset";
static cj_driver *drv;
static cj_device *dev;
static cj_stream *s, *t;

static void open_streams(cj_device *on)
{
    dev = on;
    s = cj_stream_create(dev, NULL);
    t = cj_stream_create(dev, NULL);
}

static void free_streams(void)
{
    cj_stream_sync(s), cj_stream_sync(t);
    cj_stream_free(s), cj_stream_free(t);
}

/* The device of the streams is another one from now on. */
static void renew(const char *name)
{
    cj_device *old = dev, *again = cj_device_reset(old);
    tap_is_int(cj_error_of(again)->status, CJ_OK, "%s: the device is reset: %s", name, cj_error_of(again)->message);
    free_streams();
    cj_device_close(old);
    open_streams(again);
}

static void works(const char *name)
{
    uint32_t got[32] = { 0 };
    cj_ptx *m = bench_add_module();
    cj_kernel *add = cj_kernel_load(dev, m, "add", NULL);
    cj_dptr d = cj_alloc(s, sizeof got);
    cj_fill32(s, d, 5, 32);
    cj_launch(s, add, cj_grid(1, 32), d, 32, 1);
    cj_copy_to_host(s, got, d, sizeof got);
    cj_free(dev, d);
    tap_is_int(cj_stream_sync(s), CJ_OK, "%s: the new device works: %s", name, cj_error_of(s)->message);
    tap_ok(got[0] == 6 && got[31] == 6, "%s: and is right", name);
    cj_kernel_free(add);
    cj_ptx_free(m);
}

/* `poke` stores to an address of no memory; `spin` waits for ever for *x to change. */
static cj_kernel *load(const char *name)
{
    cj_ptx *m = cj_ptx_create();
    cj_fn *f = cj_ptx_kernel(m, "poke");
    cj_val x = cj_param_ptr(f, "x", CJ_U32);
    cj_set(f, x, 0, cj_imm(f, 1));
    f = cj_ptx_kernel(m, "spin");
    x = cj_param_ptr(f, "x", CJ_U32);
    cj_set(f, x, 1, cj_imm(f, 1));
    cj_loop(f);
    cj_break_if(f, cj_ne(f, cj_get(f, x, 0), cj_imm(f, 0)));
    cj_end(f);
    cj_kernel *k = cj_kernel_load(dev, m, name, NULL);
    if (cj_error_of(k)->status) tap_bail("%s", cj_error_of(k)->message);
    cj_ptx_free(m);
    return k;
}

static void after_fault(void)
{
    cj_kernel *poke = load("poke");
    cj_launch(s, poke, cj_grid(1, 1), (cj_dptr){ 64 });
    tap_is_int(cj_stream_sync(s), CJ_EDRIVER, "a kernel fails");
    tap_has_str(cj_error_of(s)->message, "kernel poke", "the failure names it");
    tap_has_str(cj_error_of(s)->message, "nothing more runs on the device until cj_device_reset()", "and the way out");
    tap_ok(!cj_host_alloc(dev, 64, NULL), "every later call fails");
    tap_has_str(cj_error_last()->message, "kernel poke", "and names the kernel too");
    cj_kernel *again = cj_module_kernel(cj_kernel_module(poke), "spin");
    tap_has_str(cj_error_of(again)->message, "kernel poke", "so does a lookup of a kernel");
    cj_kernel_free(again);
    renew("a fault");
    works("a fault");
    cj_kernel_free(poke);
}

/* -- Work in flight ------------------------------------------------------------------------------------------------ */

static cj_event *event;
static atomic_int begun;

static cj_status wait_stream(void) { return cj_stream_sync(s); }
static cj_status wait_stream_for(void) { return cj_stream_sync_for(s, 100000); }
static cj_status wait_event(void) { return cj_event_sync(event); }
static cj_status wait_event_for(void) { return cj_event_sync_for(event, 100000); }
static cj_status wait_device(void) { return cj_device_sync(dev); }

static struct waiting {
    const char *name;
    cj_status (*wait)(void);
    pthread_t thread;
    cj_status status;
    char message[480];
} waiting[] = {
    { .name = "cj_stream_sync", .wait = wait_stream },     { .name = "cj_stream_sync_for", .wait = wait_stream_for },
    { .name = "cj_event_sync", .wait = wait_event },       { .name = "cj_event_sync_for", .wait = wait_event_for },
    { .name = "cj_device_sync", .wait = wait_device },
};
enum { WAITING = sizeof waiting / sizeof *waiting };

static void *wait_there(void *row)
{
    struct waiting *w = row;
    atomic_fetch_add(&begun, 1);
    w->status = w->wait();
    snprintf(w->message, sizeof w->message, "%s", cj_error_last()->message);
    return NULL;
}

static atomic_int done, result;
static void on_done(void *user, cj_wait_result r)
{
    (void)user;
    atomic_store(&result, (int)r);
    atomic_fetch_add(&done, 1);
}

static void in_flight(void)
{
    cj_kernel *spin = load("spin");
    cj_waiter *waiter = cj_waiter_create(dev, NULL);
    uint32_t *flag = cj_host_alloc(dev, 8, NULL);
    const cj_dptr x = { (uint64_t)(uintptr_t)flag };
    event = cj_event_create(dev, NULL);
    flag[0] = flag[1] = 0;
    cj_launch(s, spin, cj_grid(1, 1), x);
    cj_event_record(event, s);
    cj_stream_wait(t, event);
    cj_waiter_add(waiter, event, CJ_WAIT_FOREVER, on_done, NULL);
    for (int i = 0; i < WAITING; i++) pthread_create(&waiting[i].thread, NULL, wait_there, &waiting[i]);
    while (atomic_load(&begun) < WAITING || !__atomic_load_n(&flag[1], __ATOMIC_ACQUIRE)) sched_yield();
    cj_device *old = dev, *again = cj_device_reset(old);
    tap_is_int(cj_error_of(again)->status, CJ_OK, "a kernel that never ends: the device is reset: %s",
               cj_error_of(again)->message);
    for (int i = 0; i < WAITING; i++) {
        pthread_join(waiting[i].thread, NULL);
        tap_is_int(waiting[i].status, CJ_ESTATE, "%s returns", waiting[i].name);
        tap_has_str(waiting[i].message, reset, "%s: and why", waiting[i].name);
    }
    while (!atomic_load(&done)) sched_yield();
    tap_is_int(atomic_load(&result), CJ_WAIT_ERROR, "the waiter's callback too");
    cj_host_free(old, flag);
    cj_event_free(event);
    cj_waiter_free(waiter);
    free_streams();
    cj_kernel_free(spin);
    cj_device_close(old);
    open_streams(again);
    works("a kernel that never ends");
    tap_is_int(atomic_load(&done), 1, "the waiter's callback was called once");
}

static void *reset_there(void *user)
{
    *(cj_device **)user = cj_device_reset(dev);
    return NULL;
}

static void host_function(void)
{
    struct latch held = LATCH_CLOSED;
    cj_device *old = dev, *again = NULL;
    pthread_t thread;
    bench_hold(s, &held);
    latch_entered(&held);
    pthread_create(&thread, NULL, reset_there, &again);
    latch_open(&held);
    pthread_join(thread, NULL);
    tap_is_int(cj_error_of(again)->status, CJ_OK, "a host function: the device is reset");
    free_streams();
    cj_device_close(old);
    open_streams(again);
    works("a host function");
}

int main(void)
{
    tap_need_device(1);
    tap_plan(0);
    drv = cj_driver_open(NULL);
    open_streams(cj_device_open(drv, 0, NULL));
    after_fault();
    in_flight();
    host_function();
    free_streams();
    cj_device_close(dev);
    cj_driver_close(drv);
    return tap_done();
}
