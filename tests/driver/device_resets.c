/* cj_device_reset(): the device has a new context, all that was made in the old one fails with an error that names the
 * reset, and is released before or after it, in any order. */
#include <stdio.h>
#include <string.h>

#include <cujit/cujit.h>
#include <cujit/interpose.h>

#include "cuda/table.h"
#include "driver/driver.h"
#include "tests/device_parts.h"
#include "tests/tap.h"

enum { N = 64 };
static const char reset[] = "the device was reset: make it again on the cj_device that cj_device_reset() returned";
static cj_driver *drv;
static cj_ptx *module;

/* What a program has on a device. */
typedef struct things {
    cj_device *dev;
    cj_stream *s, *t;
    cj_event *e;
    cj_kernel *k;
    cj_dptr d;
    void *h;
    cj_graph *g;
    cj_graph_exec *x;
    cj_prepared *p;
    cj_stream_barrier *barrier;
    cj_vmem *v;
} things;

static void make(things *w, cj_device *dev)
{
    *w = (things){ .dev = dev };
    w->s = cj_stream_create(dev, NULL);
    w->t = cj_stream_create(dev, NULL);
    w->e = cj_event_create(dev, NULL);
    w->k = cj_kernel_load(dev, module, "add", NULL);
    w->d = cj_alloc(w->s, 4 * N);
    w->h = cj_host_alloc(dev, 4 * N, NULL);
    cj_capture_begin(w->s, CJ_CAPTURE_THREAD);
    cj_launch(w->s, w->k, cj_threads(N, 32), w->d, N, 1);
    w->g = cj_capture_end(w->s);
    w->x = cj_graph_instantiate(w->g, NULL);
    w->p = cj_prepare(w->k, cj_threads(N, 32), w->d, N, 1);
    w->barrier = cj_stream_barrier_create(dev);
    w->v = cj_vmem_create(w->s, (size_t)1 << 30, CJ_VMEM(.bytes = 1 << 21));
}

static void use(things *w, const char *name)
{
    uint32_t got[N];
    cj_fill32(w->s, w->d, 4, N);
    cj_launch(w->s, w->k, cj_threads(N, 32), w->d, N, 2);
    cj_graph_launch(w->s, w->x);
    cj_event_record(w->e, w->s);
    cj_stream_wait(w->t, w->e);
    cj_copy_to_host(w->t, got, w->d, sizeof got);
    tap_is_int(cj_stream_sync(w->s), CJ_OK, "%s: work succeeds: %s", name, cj_error_of(w->s)->message);
    tap_is_int(cj_stream_sync(w->t), CJ_OK, "%s: on both streams: %s", name, cj_error_of(w->t)->message);
    tap_ok(got[0] == 7 && got[N - 1] == 7, "%s: and is right", name);
}

static void release(things *w)
{
    cj_stream_sync(w->s), cj_stream_sync(w->t);
    cj_vmem_free(w->v);
    tap_is_int(cj_free(w->dev, w->d), CJ_OK, "memory is freed");
    cj_host_free(w->dev, w->h);
    cj_stream_free(w->s);
    cj_graph_exec_free(w->x);
    cj_prepared_free(w->p);
    cj_kernel_free(w->k);
    cj_event_free(w->e);
    cj_graph_free(w->g);
    cj_stream_barrier_free(w->barrier);
    cj_stream_free(w->t);
}

/* Each use of an object of the old device is an error. */
static void fails(things *w)
{
    char host[16];
    void *raw = NULL;
    size_t bytes;
    const struct { const char *name; cj_status status; } rows[] = {
        { "cj_launch", cj_launch(w->s, w->k, cj_threads(N, 32), w->d, N, 1) },
        { "cj_copy_to_host", cj_copy_to_host(w->s, host, w->d, sizeof host) },
        { "cj_fill32", cj_fill32(w->t, w->d, 1, 4) },
        { "cj_event_record", cj_event_record(w->e, w->t) },
        { "cj_event_query", cj_event_query(w->e) },
        { "cj_stream_wait", cj_stream_wait(w->t, w->e) },
        { "cj_stream_query", cj_stream_query(w->t) },
        { "cj_graph_launch", cj_graph_launch(w->s, w->x) },
        { "cj_stream_barrier_enqueue", cj_stream_barrier_enqueue(w->barrier, (cj_stream *[]){ w->s, w->t }, 2) },
        { "cj_vmem_grow", cj_vmem_grow(w->v, 1 << 22) },
        { "cj_device_sync", cj_device_sync(w->dev) },
        { "cj_device_memory", cj_device_memory(w->dev, &bytes, &bytes) },
        { "cj_stream_sync", cj_stream_sync(w->s) },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        tap_is_int(rows[i].status, CJ_ESTATE, "%s fails", rows[i].name);
    tap_has_str(cj_error_of(w->s)->message, reset, "the stream names the reset");
    tap_has_str(cj_error_of(w->dev)->message, reset, "the device too");
    tap_ok(!cj_alloc(w->s, 64).addr, "there is no memory of the old device");
    tap_has_str(cj_error_last()->message, reset, "... and why");
    tap_ok(!(raw = cj_host_alloc(w->dev, 64, NULL)), "nor host memory");
    cj_event *e = cj_event_create(w->dev, NULL);
    cj_kernel *k = cj_kernel_load(w->dev, module, "add", NULL);
    tap_is_int(cj_error_of(e)->status, CJ_ESTATE, "no event is made on it");
    tap_is_int(cj_error_of(k)->status, CJ_ESTATE, "no kernel is loaded: %s", cj_error_of(k)->message);
    cj_event_free(e);
    cj_kernel_free(k);
}

/* Objects of both devices in one call. */
#define MIX(name, expression) \
    static cj_status mix_##name(things *old, things *new) { (void)old, (void)new; return expression; }
#define NODE(node) ((cj_status)cj_error_of(node)->status)

MIX(wait, cj_stream_wait(new->s, old->e))
MIX(fork, cj_stream_fork(new->s, old->s))
MIX(join, cj_stream_join(old->s, new->s))
MIX(barrier, cj_stream_barrier_enqueue(new->barrier, (cj_stream *[]){ new->s, old->s }, 2))
MIX(record, cj_event_record(old->e, new->s))
MIX(record_on_old, cj_event_record(new->e, old->s))
MIX(launch, cj_launch(new->s, old->k, cj_threads(N, 32), new->d, N, 1))
MIX(launch_on_old, cj_launch(old->s, new->k, cj_threads(N, 32), old->d, N, 1))
MIX(prepared, cj_launch_prepared(new->s, old->p))
MIX(graph, cj_graph_launch(new->s, old->x))
MIX(capture, cj_capture_begin_opts(new->s, CJ_CAPTURE(.into = old->g)))
MIX(update, cj_graph_exec_update(new->x, old->g))
MIX(node_wait, NODE(cj_graph_event_wait(new->g, NULL, old->e)))
MIX(node_record, NODE(cj_graph_event_record(new->g, NULL, old->e)))
MIX(node_kernel, NODE(cj_graph_kernel(new->g, NULL, old->k, cj_threads(N, 32), new->d, N, 1)))
MIX(node_child, NODE(cj_graph_child(new->g, NULL, old->g)))
MIX(variable, cj_module_var_read(new->s, cj_kernel_module(old->k), "x", CJ_U32, NULL, 0))
MIX(name, cj_launch_name(new->s, cj_kernel_module(old->k), "add", cj_threads(N, 32), new->d, N, 1))

static const struct { const char *name; cj_status (*call)(things *old, things *new); } mixes[] = {
    { "a new stream waits for an old event", mix_wait },
    { "a new stream forks an old one", mix_fork },
    { "a new stream joins an old one", mix_join },
    { "a new barrier has an old stream", mix_barrier },
    { "an old event is recorded on a new stream", mix_record },
    { "a new event is recorded on an old stream", mix_record_on_old },
    { "an old kernel is launched on a new stream", mix_launch },
    { "a new kernel is launched on an old stream", mix_launch_on_old },
    { "an old prepared launch is launched on a new stream", mix_prepared },
    { "an old kernel is launched by name", mix_name },
    { "an old exec is launched on a new stream", mix_graph },
    { "a new stream is captured into an old graph", mix_capture },
    { "a new exec is updated from an old graph", mix_update },
    { "a new graph waits for an old event", mix_node_wait },
    { "a new graph records an old event", mix_node_record },
    { "a new graph has an old kernel", mix_node_kernel },
    { "a new graph has an old child", mix_node_child },
    { "a variable of an old module is read on a new stream", mix_variable },
};

/* The error names the reset, and the new device is not harmed. */
static void mixed(things *old, things *new)
{
    for (size_t i = 0; i < sizeof mixes / sizeof *mixes; i++) {
        tap_is_int(mixes[i].call(old, new), CJ_ESTATE, "%s", mixes[i].name);
        tap_has_str(cj_error_last()->message, reset, "%s: the message", mixes[i].name);
        cj_stream_sync(new->s);
        cj_stream_sync(new->s);
        cj_error_clear(new->g);
    }
}

/* Devices that the driver lists as open, and that were reset. */
static unsigned listed_resets(void)
{
    unsigned n = 0;
    for (const cj_device *d = drv->devices; d; d = d->next) n += cji_device_was_reset(d);
    return n;
}

static void alive(void)
{
    things old, new;
    cj_device *dev = cj_device_open(drv, 0, NULL);
    make(&old, dev);
    use(&old, "before the reset");
    cj_device *again = cj_device_reset(dev);
    tap_is_int(cj_error_of(again)->status, CJ_OK, "the device is reset: %s", cj_error_of(again)->message);
    tap_ok(again != dev, "into another cj_device");
    tap_is_uint(listed_resets(), 0, "which is listed in its place");
    fails(&old);
    cj_device *twice = cj_device_reset(dev);
    tap_is_int(cj_error_of(twice)->status, CJ_ESTATE, "not twice: %s", cj_error_of(twice)->message);
    cj_device_close(twice);
    cj_device *opened = cj_device_open(drv, 0, NULL);
    tap_ok(opened == again, "the open device is the new one");
    cj_device_close(opened);
    make(&new, again);
    use(&new, "on the new device");
    mixed(&old, &new);
    release(&old);
    cj_device_close(dev);
    use(&new, "after the release of the old one");
    release(&new);
    cj_device_close(again);
}

static void released_before(void)
{
    things w;
    cj_device *dev = cj_device_open(drv, 0, NULL);
    make(&w, dev);
    use(&w, "released before");
    release(&w);
    cj_device *again = cj_device_reset(dev);
    cj_device_close(dev);
    make(&w, again);
    use(&w, "released before, again");
    cj_device *third = cj_device_reset(again);
    cj_device_close(again);
    release(&w);
    make(&w, third);
    use(&w, "the third");
    release(&w);
    cj_device_close(third);
}

static cj_status no_reset(cj_device *dev, char *why, size_t size)
{
    cj_device *none = cj_device_reset(dev);
    cj_status status = (cj_status)cj_error_of(none)->status;
    snprintf(why, size, "%s", cj_error_of(none)->message);
    cj_device_close(none);
    return status;
}

/* Entry points by their exported names, as other code of the process has them. */
#define ENTRY(name, export) \
    cji_PFN_##name name; \
    do { \
        void *fn_ = cj_driver_symbol(drv, export); \
        if (!fn_) tap_bail("no %s", export); \
        memcpy(&name, &fn_, sizeof fn_); \
    } while (0)

static void rejected(void)
{
    ENTRY(cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain");
    ENTRY(cuDevicePrimaryCtxRelease, "cuDevicePrimaryCtxRelease_v2");
    ENTRY(cuCtxCreate, "cuCtxCreate_v2");
    ENTRY(cuCtxDestroy, "cuCtxDestroy_v2");
    ENTRY(cuCtxPopCurrent, "cuCtxPopCurrent_v2");
    char why[480];
    things w;
    CUcontext ctx = NULL, popped;
    cj_device *dev = cj_device_open(drv, 0, NULL);
    make(&w, dev);
    cj_capture_begin(w.s, CJ_CAPTURE_THREAD);
    tap_is_int(no_reset(dev, why, sizeof why), CJ_ESTATE, "not in a capture: %s", why);
    cj_graph *g = cj_capture_end(w.s);
    tap_is_int(cj_error_of(g)->status, CJ_OK, "which goes on");
    cj_graph_free(g);

    cuCtxCreate(&ctx, 0, 0);
    cuCtxPopCurrent(&popped);
    cj_device *wrapped = cj_device_wrap(drv, ctx);
    tap_is_int(no_reset(wrapped, why, sizeof why), CJ_ESTATE, "not the context of other code: %s", why);
    cj_device_close(wrapped);
    cuCtxDestroy(ctx);
    tap_is_int(no_reset(NULL, why, sizeof why), CJ_EHANDLE, "not NULL");

    if (strcmp(cj_driver_kind(drv), "sim")) {
        cuDevicePrimaryCtxRetain(&ctx, 0);
        tap_is_int(no_reset(dev, why, sizeof why), CJ_ESTATE, "not what others retain: %s", why);
        tap_has_str(why, "other code of the process retains the context", "... which is the reason");
        use(&w, "and the device is as it was");
        cuDevicePrimaryCtxRelease(0);
    }
    release(&w);
    cj_device_close(dev);
}

/* -- Each driver call of a reset fails in turn --------------------------------------------------------------------- */

static int at, fail_at;
static int refuse(void *user, uint64_t number, const char *name)
{
    (void)user, (void)number;
    return fail_at && strcmp(name, "cuCtxPopCurrent") && ++at == fail_at ? CUDA_ERROR_UNKNOWN : 0;
}

static void fails_in_turn(void)
{
    cj_driver *over = cj_driver_open_interposed(drv, CJ_INTERPOSER(.before = refuse));
    int failed = 0, silent = 0, broken = 0, runs = 0;
    do {
        cj_device *old = cj_device_open(over, 0, NULL);
        cj_stream *s = cj_stream_create(old, NULL);
        broken += cj_stream_sync(s) != CJ_OK;
        at = 0, fail_at = ++runs;
        cj_device *again = cj_device_reset(old);
        fail_at = 0;
        if (cj_error_of(again)->status) failed++, silent += !cj_error_of(again)->message[0];
        else broken += cj_device_sync(again) != CJ_OK;
        cj_stream_free(s);
        cj_device_close(old);
        cj_device_close(again);
    } while (at >= runs && runs < 200);
    tap_ok(failed && runs < 200, "of %d calls of a reset %d make it fail", runs - 1, failed);
    tap_is_int(silent, 0, "and say why");
    tap_is_int(broken, 0, "the device can be opened again and works");
    cj_driver_close(over);
}

int main(void)
{
    tap_need_device(1);
    tap_plan(0);
    drv = cj_driver_open(NULL);
    module = bench_add_module();
    alive();
    released_before();
    rejected();
    fails_in_turn();
    cj_ptx_free(module);
    cj_driver_close(drv);
    return tap_done();
}
