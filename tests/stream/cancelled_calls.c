/* Every call of the driver is a cancellation point, and a cancellation is pending before the library is called: the
 * call does all of its work, the thread ends behind it, and nothing is lost.  Launches, records and queries are the
 * exception: a thread may end inside the driver there, and no lock is held. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/device_bench.h"
#include "tests/tap_folder.h"

enum { N = 256 };

static void point(void *user, uint64_t number, const char *name, const char *text, int result)
{
    (void)user, (void)number, (void)name, (void)text, (void)result;
    pthread_testcancel();
}

/* -- Calls --------------------------------------------------------------------------------------------------------- */

static uint32_t here[N];
static const char *folder;
static char file[200];
static cj_event *event;
static cj_prepared *prepared;
static cj_vmem *v;
static cj_graph_exec *x;
static const char text[] = ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry k()\n{\n ret;\n}\n";

/* The status of an object that was made, which is freed. */
#define MADE(type, make)                                     \
    do {                                                     \
        type *o_ = (make);                                   \
        const cj_status st_ = cj_error_of(o_)->status;       \
        type##_free(o_);                                     \
        return st_;                                          \
    } while (0)

static cj_status kernel_load(void)
{
    cj_ptx *m = bench_add_module();
    cj_kernel *k = cj_kernel_load(dev, m, "add", NULL);
    const cj_status st = cj_error_of(k)->status;
    cj_kernel_free(k);
    cj_ptx_free(m);
    return st;
}
static cj_status module_load(void) { MADE(cj_module, cj_module_load_text(dev, text, NULL)); }
static cj_status image_text(void) { MADE(cj_image, cj_image_create_text(dev, text, NULL)); }
static cj_kernel *build(void *user, cj_device *on) { return cj_kernel_load(on, user, "add", NULL); }
static cj_status cache_get(void)
{
    cj_kernel_cache *c = cj_kernel_cache_create(dev, NULL);
    cj_kernel *k = cj_kernel_cache_get(c, "key", 3, build, module);
    const cj_status st = cj_error_of(k)->status;
    cj_kernel_free(k);
    cj_kernel_cache_free(c);
    return st;
}
static cj_status disk_cache(void)
{
    cj_disk_cache *c = cj_disk_cache_open(folder);
    cj_disk_cache_stats stats;
    cj_disk_cache_stats_defaults(&stats);
    cj_status st = cj_disk_cache_get_stats(c, &stats);
    if (st == CJ_OK) st = cj_disk_cache_clear(c);
    cj_disk_cache_close(c);
    return st;
}
static cj_status compiler(void)
{
    cj_compiler *c = cj_compiler_create(dev, CJ_COMPILER(.threads = 1));
    cj_future *f = cj_compiler_kernel(c, module, "add", NULL);
    cj_status st = cj_future_fd(f) >= 0 ? cj_future_wait(f, -1) : CJ_ESTATE;
    if (st == CJ_OK) st = cj_compiler_wait(c, -1);
    cj_future_free(f);
    cj_compiler_free(c);
    return st;
}
static cj_status staged(void)
{
    cj_compiler *c = cj_compiler_create(dev, CJ_COMPILER(.threads = 1));
    cj_kernel *k = cj_compiler_kernel_staged(c, module, "add", NULL, NULL);
    const cj_status st = cj_error_of(k)->status;
    cj_compiler_wait(c, -1);
    cj_kernel_free(k);
    cj_compiler_free(c);
    return st;
}
static cj_status linked(void)
{
    cj_linker *l = cj_linker_create(dev, NULL);
    cj_linker_add_file(l, file);
    cj_image *img = cj_linker_link(l);
    const cj_status st = cj_error_of(img)->status;
    cj_image_free(img);
    cj_linker_free(l);
    return st;
}
static cj_status profiled(void)
{
    cj_profile *p = cj_profile_create(NULL);
    char name[220];
    snprintf(name, sizeof name, "%s/profile.json", folder);
    cj_profile_on(p);
    cj_fill32(t, d, 1, N);
    cj_stream_sync(t);
    cj_profile_off(p);
    const cj_status st = cj_profile_write(p, name);
    unlink(name);
    cj_profile_free(p);
    return st;
}
static cj_status traced(void)
{
    char name[220];
    snprintf(name, sizeof name, "%s/trace", folder);
    cj_driver *over = cj_driver_open_traced(drv, name);
    cj_device *of = cj_device_open(over, 0, NULL);
    const cj_status st = cj_error_of(of)->status;
    cj_device_close(of);
    cj_driver_close(over);
    unlink(name);
    return st;
}
static cj_status device_open(void)
{
    cj_device *of = cj_device_open(drv, 0, NULL);
    const cj_status st = cj_error_of(of)->status;
    cj_device_close(of);
    return st;
}
static cj_status driver_open(void)
{
    cj_driver *again = cj_driver_open(NULL);
    const cj_status st = cj_error_of(again)->status;
    cj_driver_close(again);
    return st;
}
static cj_status stream_create(void) { MADE(cj_stream, cj_stream_create(dev, NULL)); }
static cj_status event_create(void) { MADE(cj_event, cj_event_create(dev, NULL)); }
static cj_status memory(void)
{
    const cj_dptr p = cj_alloc(s, 1 << 26);
    return p.addr ? cj_free(dev, p) : cj_error_of(s)->status;
}
static cj_status managed(void)
{
    const cj_dptr p = cj_managed_alloc(s, 64);
    if (p.addr) return cj_free(dev, p);
    const cj_status st = cj_error_of(s)->status;
    cj_stream_sync(s);
    return st == CJ_ENOTSUP ? CJ_OK : st;
}
static cj_status pinned(void)
{
    void *p = cj_host_alloc(dev, 4096, NULL);
    return p ? cj_host_free(dev, p) : cj_error_of(dev)->status;
}
static cj_status registered(void)
{
    void *p = aligned_alloc(4096, 8192);
    cj_status st = cj_host_register(dev, p, 8192, 0);
    if (st == CJ_OK) st = cj_host_unregister(dev, p);
    free(p);
    return st;
}
static cj_status grow(void)
{
    const cj_status st = cj_vmem_grow(v, 2 * cj_vmem_granularity(v));
    return st == CJ_OK ? cj_vmem_shrink(v, 0) : st;
}
static cj_status array(void) { MADE(cj_array, cj_array_create(dev, CJ_ARRAY(.width = 16))); }
static cj_status copy_in(void) { return cj_copy_to_device(s, d, here, sizeof here); }
static cj_status copy_out(void) { return cj_copy_to_host(s, here, d, sizeof here); }
static cj_status copy(void) { return cj_copy(s, d, cj_offset(d, 4 * N / 2), 4 * N / 2); }
static cj_status copy_rows(void) { return cj_copy_2d_to_host(s, here, 8, d, 16, 8, 8); }
static cj_status fill(void) { return cj_fill32(s, d, 1, N); }
static void nothing(void *user) { (void)user; }
static cj_status host_func(void) { return cj_host_func(s, nothing, NULL); }
static cj_status stream_wait(void) { return cj_stream_wait(s, event); }
static cj_status stream_join(void) { return cj_stream_join(s, t); }
static cj_status stream_use(void) { return cj_stream_use(t, d); }
static cj_status stream_sync(void) { return cj_stream_sync(s); }
static cj_status device_sync(void) { return cj_device_sync(dev); }
static cj_status captured(void)
{
    cj_capture_begin(t, CJ_CAPTURE_THREAD);
    cj_fill32(t, d, 2, N);
    cj_launch(t, add, cj_grid(1, 32), d, 1u, 1u);
    cj_graph *g = cj_capture_end(t);
    cj_graph_exec *e = cj_graph_instantiate(g, NULL);
    const cj_status st = cj_error_of(e)->status;
    cj_graph_exec_free(e);
    cj_graph_free(g);
    return st;
}
static cj_status graph_launch(void) { return cj_graph_launch(s, x); }
static cj_status waited(void)
{
    cj_waiter *w = cj_waiter_create(dev, NULL);
    cj_wait_record record;
    cj_waiter_add_stream(w, s, CJ_WAIT_FOREVER, NULL, NULL);
    const size_t n = cj_waiter_poll(w, &record, 1, 100000);
    cj_waiter_free(w);
    return n == 1 ? CJ_OK : CJ_ETIMEOUT;
}
static cj_status pooled(void)
{
    cj_stream_pool *p = cj_stream_pool_create(dev, NULL);
    const cj_pooled_stream of = cj_stream_pool_acquire(p, NULL);
    const cj_status st = cj_error_of(cj_stream_pool_stream(p, of))->status;
    cj_stream_pool_release(p, of);
    cj_stream_pool_free(p);
    return st;
}
static cj_status module_var(void)
{
    cj_module *m = cj_module_load_text(dev, text, NULL);
    cj_kernel *k = cj_module_kernel(m, "k");
    const cj_status st = cj_launch_name(s, m, "k", cj_grid(1, 1));
    cj_kernel_free(k);
    cj_module_free(m);
    return st;
}
static cj_status kernel_info(void)
{
    int32_t value;
    return cj_kernel_attribute(add, CJ_KERNEL_CARVEOUT, &value);
}

/* These may end in the driver. */
static cj_status launch(void) { return cj_launch(s, add, cj_grid(1, 32), d, 1u, 1u); }
static cj_status launch_prepared(void) { return cj_launch_prepared(s, prepared); }
static cj_status event_record(void) { return cj_event_record(event, s); }
static cj_status event_query(void) { return cj_event_query(event); }
static cj_status stream_query(void) { return cj_stream_query(s); }

static const struct { const char *name; cj_status (*call)(void); bool may_end; } rows[] = {
    { "cj_kernel_load", kernel_load, false },
    { "cj_module_load_text", module_load, false },
    { "cj_image_create_text", image_text, false },
    { "cj_kernel_cache_get", cache_get, false },
    { "a cj_disk_cache", disk_cache, false },
    { "a cj_compiler and its future", compiler, false },
    { "cj_compiler_kernel_staged", staged, false },
    { "cj_linker_link", linked, false },
    { "a cj_profile", profiled, false },
    { "a trace", traced, false },
    { "cj_device_open", device_open, false },
    { "cj_driver_open", driver_open, false },
    { "cj_stream_create", stream_create, false },
    { "cj_event_create", event_create, false },
    { "cj_alloc and cj_free", memory, false },
    { "cj_managed_alloc", managed, false },
    { "cj_host_alloc", pinned, false },
    { "cj_host_register", registered, false },
    { "cj_vmem_grow", grow, false },
    { "cj_array_create", array, false },
    { "cj_copy_to_device", copy_in, false },
    { "cj_copy_to_host", copy_out, false },
    { "cj_copy", copy, false },
    { "cj_copy_2d_to_host", copy_rows, false },
    { "cj_fill32", fill, false },
    { "cj_host_func", host_func, false },
    { "cj_stream_wait", stream_wait, false },
    { "cj_stream_join", stream_join, false },
    { "cj_stream_use", stream_use, false },
    { "cj_stream_sync", stream_sync, false },
    { "cj_device_sync", device_sync, false },
    { "a capture", captured, false },
    { "cj_graph_launch", graph_launch, false },
    { "cj_waiter_poll", waited, false },
    { "a cj_stream_pool", pooled, false },
    { "cj_launch_name", module_var, false },
    { "cj_kernel_attribute", kernel_info, false },
    { "cj_launch", launch, true },
    { "cj_launch_prepared", launch_prepared, true },
    { "cj_event_record", event_record, true },
    { "cj_event_query", event_query, true },
    { "cj_stream_query", stream_query, true },
};

/* -- A thread that is cancelled before it calls -------------------------------------------------------------------- */

enum { INSIDE = 1 };
static atomic_int result, again;

static void *cancelled(void *row)
{
    pthread_cancel(pthread_self());
    atomic_store(&result, (int)rows[(size_t)(uintptr_t)row].call());
    pthread_testcancel();
    return NULL;
}

static void *repeated(void *row)
{
    atomic_store(&again, (int)rows[(size_t)(uintptr_t)row].call());
    return NULL;
}

static void check(size_t i)
{
    pthread_t thread;
    void *end = NULL;
    atomic_store(&result, INSIDE);
    pthread_create(&thread, NULL, cancelled, (void *)(uintptr_t)i);
    pthread_join(thread, &end);
    const int st = atomic_load(&result);
    tap_ok(st == CJ_OK || (rows[i].may_end && st == INSIDE), "%s: %s", rows[i].name,
           st == INSIDE ? "the thread ended inside" : cj_status_name((cj_status)st));
    tap_ok(end == PTHREAD_CANCELED, "%s: the thread is cancelled", rows[i].name);
    pthread_create(&thread, NULL, repeated, (void *)(uintptr_t)i);
    pthread_join(thread, NULL);
    tap_ok(atomic_load(&again) == CJ_OK || atomic_load(&again) == CJ_ENOTREADY, "%s: another thread calls it",
           rows[i].name);
    tap_is_int(cj_stream_sync(s), CJ_OK, "%s: nothing failed: %s", rows[i].name, cj_error_of(s)->message);
}

static void write_file(void)
{
    snprintf(file, sizeof file, "%s/k.ptx", folder);
    FILE *f = fopen(file, "w");
    if (!f || fputs(text, f) < 0 || fclose(f)) tap_bail("%s cannot be written", file);
}

int main(void)
{
#if defined __SANITIZE_ADDRESS__
    tap_skip_all("AddressSanitizer keeps what it knows of a cancelled thread's stack, and reports its end");
#endif
    folder = tap_folder("cancelled");
    setenv("CUJIT_CACHE_DIR", folder, 1);
    unsetenv("CUJIT_CACHE");
    write_file();
    bench_open_over(CJ_INTERPOSER(.after = point), 4 * N);
    event = cj_event_create(dev, NULL);
    prepared = cj_prepare(add, cj_grid(1, 32), d, 1u, 1u);
    v = cj_vmem_create(s, 64 << 20, NULL);
    cj_graph *g = cj_graph_create(dev);
    cj_graph_fill32(g, NULL, d, 1, N);
    x = cj_graph_instantiate(g, NULL);
    cj_launch(s, add, cj_grid(1, 32), d, 1u, 1u); /* the next ones go the quick way */
    cj_event_record(event, s);
    tap_is_int(cj_stream_sync(s), CJ_OK, "all is there: %s", cj_error_of(s)->message);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) check(i);
    cj_graph_exec_free(x);
    cj_graph_free(g);
    cj_vmem_free(v);
    cj_prepared_free(prepared);
    cj_event_free(event);
    cj_disk_cache *c = cj_disk_cache_open(folder);
    cj_disk_cache_clear(c);
    cj_disk_cache_close(c);
    return bench_close();
}
