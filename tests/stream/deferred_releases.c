/* What is released while it is used, or during a capture, goes when that is over, and not before; what is idle goes at
 * once. */
#include <stdlib.h>
#include <pthread.h>

#include "tests/stream/watched.h"
#include "tests/tap.h"

static cj_arg kernel_args[4];
static void launch_with(cj_stream *s, cj_kernel *k, cj_dptr d)
{
    kernel_args[0] = kernel_args[1] = cj_arg_ptr(d);
    kernel_args[2] = cj_arg_f32(1);
    kernel_args[3] = cj_arg_u(1);
    const cj_dims dims = cj_grid(1, 32);
    cj_launch_n(s, k, &dims, kernel_args, 4);
}

static void check_memory(watch_bench *b)
{
    void *s = cj_stream_raw(b->s), *t = cj_stream_raw(b->t);
    watch_hold(s);
    cj_dptr d = cj_alloc(b->s, 64);
    cj_fill8(b->s, d, 1, 64);
    watch_forget();
    cj_free(b->dev, d);
    int at = watch_find(CJI_CU_ID_cuMemFreeAsync, 0);
    tap_ok(at >= 0 && watch.log[at].arg[1] == (uintptr_t)s,
           "memory used on its home stream only is freed in that stream's order, at once");
    tap_ok(at >= 0 && watch.log[at].relaxed, "with the thread in relaxed capture mode");
    watch_release(s);

    d = cj_alloc(b->s, 64);
    watch_hold(t);
    cj_fill8(b->t, d, 1, 64);
    cj_free(b->dev, d);
    tap_is_int(watch.allocated, 1, "memory that another stream still fills stays");
    tap_is_uint(cj_device_collect(b->dev), 1, "and is counted as waiting");
    tap_is_int(cj_free(b->dev, d), CJ_ENOTFOUND, "though it cannot be freed twice");
    watch_release(t);
    tap_is_uint(cj_device_collect(b->dev), 0, "it goes when that stream has passed");
    tap_is_int(watch.allocated, 0, "for good");

    d = cj_alloc(b->s, 64);
    watch_hold(t);
    cj_stream_use(b->t, cj_offset(d, 8));
    cj_fill8(b->t, cj_alloc(b->t, 1), 0, 1); /* something on t that is not done */
    cj_free(b->dev, d);
    tap_is_uint(cj_device_collect(b->dev), 1, "cj_stream_use defers cj_free too");
    watch_release(t);
    cj_alloc(b->t, 8);
    tap_is_uint(cj_device_collect(b->dev), 0, "and the next allocation does the release");
    tap_is_int(cj_free(b->dev, cj_offset(d, 8)), CJ_ENOTFOUND, "an address inside memory that is gone is unknown");
    cj_dptr e = cj_alloc(b->s, 64);
    tap_is_int(cj_free(b->dev, cj_offset(e, 8)), CJ_ENOTFOUND, "and inside memory that is there is not its start");
    tap_has_str(cj_error_of(b->dev)->message, "free its start", "which the message says");
    tap_is_int(cj_stream_use(b->t, (cj_dptr){ 12345 }), CJ_ENOTFOUND, "nobody's memory cannot be used");
    tap_is_int(cj_stream_sync(b->t), CJ_ENOTFOUND, "which the stream keeps");
}

static void check_home_gone(watch_bench *b)
{
    cj_stream *u = cj_stream_create(b->dev, NULL);
    watch_hold(cj_stream_raw(u));
    void *raw = cj_stream_raw(u);
    cj_dptr d = cj_alloc(u, 64);
    int before = watch.allocated;
    cj_fill8(u, d, 1, 64);
    cj_stream_free(u);
    tap_is_int(watch.live_streams, 2, "a stream goes at once, though work is left");
    cj_free(b->dev, d);
    tap_is_int(watch.allocated, before, "its memory waits for its last point");
    watch_release(raw);
    cj_device_collect(b->dev);
    tap_is_int(watch.allocated, before - 1, "and goes then");
}

static void check_kernel(watch_bench *b)
{
    cj_kernel *k = watch_kernel(b->dev);
    cj_dptr d = cj_alloc(b->s, 64);
    watch_hold(cj_stream_raw(b->s));
    launch_with(b->s, k, d);
    cj_kernel_free(k);
    tap_is_int(watch.live_modules, 1, "a module whose kernel is under way stays loaded");
    watch_release(cj_stream_raw(b->s));
    tap_is_int(watch.launches, 1, "the kernel ran");
    cj_device_collect(b->dev);
    tap_is_int(watch.live_modules, 0, "then it is unloaded");
    k = watch_kernel(b->dev);
    watch_hold(cj_stream_raw(b->t));
    launch_with(b->s, k, d);
    cj_kernel_free(k);
    cj_stream_sync(b->s);
    cj_device_collect(b->dev);
    tap_is_int(watch.live_modules, 0, "other streams do not matter");
    watch_release(cj_stream_raw(b->t));
    cj_free(b->dev, d);
}

static void check_during_capture(watch_bench *b)
{
    cj_dptr d = cj_alloc(b->s, 64), e = cj_alloc(b->t, 64);
    cj_kernel *k = watch_kernel(b->dev);
    cj_event *ev = cj_event_create(b->dev, NULL);
    cj_stream *u = cj_stream_create(b->dev, NULL);
    int allocated = watch.allocated, events = watch.live_events;
    watch_forget();
    cj_capture_begin(b->s, CJ_CAPTURE_GLOBAL);
    launch_with(b->s, k, d);
    cj_free(b->dev, e);
    cj_event_free(ev);
    cj_stream_free(u);
    cj_kernel_free(k);
    cj_free(b->dev, d);
    cj_device_collect(b->dev);
    tap_ok(watch.allocated == allocated && watch.live_events == events && watch.live_streams == 3 &&
               watch.live_modules == 1,
           "nothing is released while a capture is open");
    cj_graph *g = cj_capture_end(b->s);
    tap_is_int(cj_error_of(g)->status, CJ_OK, "the capture comes out whole");
    cj_device_collect(b->dev);
    tap_is_int(watch.live_streams, 2, "the stream goes after it");
    tap_is_int(watch.live_modules, 1, "the kernel is kept by the graph");
    tap_is_int(watch.allocated, allocated - 1, "and the memory of its arguments; other memory goes");
    cj_graph_exec *x = cj_graph_instantiate(g, NULL);
    cj_graph_free(g);
    tap_is_int(watch.live_graphs, 0, "the graph goes at once");
    tap_is_int(watch.live_modules, 1, "what it kept is kept by the exec");
    watch_hold(cj_stream_raw(b->t));
    cj_graph_launch(b->t, x);
    cj_graph_exec_free(x);
    tap_ok(watch.live_execs == 1 && watch.live_modules == 1, "an exec under way stays with all that it keeps");
    watch_release(cj_stream_raw(b->t));
    tap_is_int(cj_stream_sync(b->t), CJ_OK, "it runs");
    watch_settle();
    cj_device_collect(b->dev);
    tap_ok(!watch.live_execs && !watch.live_modules && watch.allocated == allocated - 2, "and everything goes");
}

/* A capture begun outside of the library on a raw stream. */
static void check_foreign(watch_bench *b)
{
    void *s = cj_stream_raw(b->s);
    cj_dptr d = cj_alloc(b->s, 64);
    watch_capture_foreign(s, true);
    watch_forget();
    cj_free(b->dev, d);
    cj_device_collect(b->dev);
    tap_ok(watch_calls(CJI_CU_ID_cuEventRecord) == 0 && watch_calls(CJI_CU_ID_cuMemFreeAsync) == 0,
           "nothing is put into a foreign capture");
    cj_stream *u = cj_stream_create(b->dev, NULL);
    watch_capture_foreign(cj_stream_raw(u), true);
    void *raw = cj_stream_raw(u);
    cj_stream_free(u);
    tap_is_int(watch.live_streams, 3, "a stream captured by others stays");
    tap_is_uint(cj_device_collect(b->dev), 2, "two releases wait for it");
    watch_capture_foreign(s, false);
    watch_capture_foreign(raw, false);
    tap_is_uint(cj_device_collect(b->dev), 0, "and no longer");
}

static void check_dead(watch_bench *b)
{
    cj_kernel *k = watch_kernel(b->dev);
    cj_dptr d = cj_alloc(b->s, 64);
    launch_with(b->s, k, d);
    watch_hold(cj_stream_raw(b->t));
    cj_stream_use(b->t, d);
    watch_die(CUDA_ERROR_ILLEGAL_ADDRESS);
    cj_free(b->dev, d);
    cj_kernel_free(k);
    tap_is_uint(cj_device_collect(b->dev), 0, "after an error of the device nothing waits for ever");
    tap_is_int(cj_stream_sync(b->s), CJ_EDRIVER, "and a sync says what happened");
    watch_die(CUDA_SUCCESS);
    watch_release(cj_stream_raw(b->t));
}

/* Many streams share the bits that uses are noted in. */
static void check_many_streams(watch_bench *b)
{
    cj_stream *many[70];
    for (size_t i = 0; i < 70; i++) many[i] = cj_stream_create(b->dev, NULL);
    for (size_t i = 0; i < 70; i += 69) {
        cj_dptr d = cj_alloc(b->s, 64);
        int allocated = watch.allocated;
        watch_hold(cj_stream_raw(many[i]));
        cj_fill8(many[i], d, 1, 64);
        cj_free(b->dev, d);
        cj_device_collect(b->dev);
        tap_is_int(watch.allocated, allocated, "stream %zu of 70 is waited for", i);
        watch_release(cj_stream_raw(many[i]));
        cj_device_collect(b->dev);
        tap_is_int(watch.allocated, allocated - 1, "... until it has passed");
    }
    for (size_t i = 0; i < 70; i++) cj_stream_free(many[i]);
}

static void *release_all(void *user)
{
    void **p = user;
    cj_stream_free(p[0]);
    cj_event_free(p[1]);
    cj_kernel_free(p[2]);
    cj_device_close(p[3]);
    return NULL;
}

static void check_other_thread(watch_bench *b)
{
    pthread_t thread;
    cj_stream *u = cj_stream_create(b->dev, NULL);
    cj_kernel *k = watch_kernel(b->dev);
    cj_event *e = cj_event_create(b->dev, NULL);
    launch_with(u, k, (cj_dptr){ 0 });
    cj_event_record(e, u);
    void *all[] = { u, e, k, cj_device_open(b->drv, 0, NULL) };
    pthread_create(&thread, NULL, release_all, all);
    pthread_join(thread, NULL);
    cj_device_sync(b->dev); /* the kernel may still run */
    cj_device_collect(b->dev);
    tap_ok(watch.live_streams == 2 && !watch.live_modules, "another thread can release everything");
}

int main(void)
{
    setenv("CUJIT_ALLOCATOR", "driver", 1); /* what releases do to the driver is seen */
    watch_bench b;
    tap_plan(0);
    watch_setup(&b);
    check_memory(&b);
    check_home_gone(&b);
    check_kernel(&b);
    check_during_capture(&b);
    check_foreign(&b);
    check_dead(&b);
    check_many_streams(&b);
    check_other_thread(&b);
    watch_teardown(&b);
    return tap_done();
}
