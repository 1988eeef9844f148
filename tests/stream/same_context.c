/* The caller's current CUDA context is the same after each call as before it, whatever it was, and whether the call
 * worked or not. */
#include "tests/stream/watched.h"
#include "tests/tap.h"

static struct {
    watch_bench b;
    cj_event *e, *f;
    cj_kernel *k;
    cj_dptr d;
    cj_graph *g;
    cj_graph_exec *x;
    char host[64];
} w;

static void nothing(void *user) { (void)user; }

static void do_create(void) { cj_stream_free(cj_stream_create(w.b.dev, NULL)); }
static void do_wrap(void) { cj_stream_free(cj_stream_wrap(w.b.dev, cj_stream_raw(w.b.s))); }
static void do_alloc(void) { cj_free(w.b.dev, cj_alloc(w.b.s, 64)); }
static void do_up(void) { cj_copy_to_device(w.b.s, w.d, w.host, 64); }
static void do_down(void) { cj_copy_to_host(w.b.s, w.host, w.d, 64); }
static void do_copy(void) { cj_copy(w.b.s, w.d, cj_offset(w.d, 32), 32); }
static void do_set8(void) { cj_fill8(w.b.s, w.d, 1, 64); }
static void do_set16(void) { cj_fill16(w.b.s, w.d, 1, 32); }
static void do_set32(void) { cj_fill32(w.b.s, w.d, 1, 16); }
static void do_record(void) { cj_event_record(w.e, w.b.s), cj_event_record(w.f, w.b.s); }
static void do_wait(void) { cj_stream_wait(w.b.t, w.e); }
static void do_fork(void) { cj_stream_fork(w.b.s, w.b.t), cj_stream_join(w.b.s, w.b.t); }
static void do_query(void) { cj_stream_query(w.b.s), cj_event_query(w.e); }
static void do_sync(void) { cj_stream_sync(w.b.s), cj_event_sync(w.e); }
static void do_host(void) { cj_host_func(w.b.s, nothing, NULL); }
static void do_event(void) { cj_event_free(cj_event_create(w.b.dev, NULL)); }
static void do_elapsed(void) { float ms; cj_event_elapsed(w.e, w.f, &ms); }
static void do_launch(void) { cj_launch(w.b.s, w.k, cj_grid(1, 32), w.d, w.d, 2.0f, 5); }
static void do_bad_launch(void) { cj_launch(w.b.s, w.k, cj_grid(1, 32), 1); }
static void do_graph(void)
{
    cj_capture_begin(w.b.s, CJ_CAPTURE_THREAD);
    cj_fill8(w.b.s, w.d, 1, 64);
    cj_graph *g = cj_capture_end(w.b.s);
    cj_graph_exec *x = cj_graph_instantiate(g, NULL);
    cj_graph_count(g);
    cj_graph_launch(w.b.s, x);
    cj_graph_exec_free(x);
    cj_graph_free(g);
}
static void do_collect(void) { cj_device_collect(w.b.dev); }

static const struct { const char *name; void (*run)(void); int fails; } calls[] = {
    { "cj_stream_create and free", do_create, CJI_CU_ID_cuStreamCreateWithPriority },
    { "cj_stream_wrap", do_wrap, CJI_CU_ID_cuStreamGetCtx },
    { "cj_alloc and cj_free", do_alloc, CJI_CU_ID_cuMemAllocAsync },
    { "cj_copy_to_device", do_up, CJI_CU_ID_cuMemcpyHtoDAsync },
    { "cj_copy_to_host", do_down, CJI_CU_ID_cuMemcpyDtoHAsync },
    { "cj_copy", do_copy, CJI_CU_ID_cuMemcpyDtoDAsync },
    { "cj_fill8", do_set8, CJI_CU_ID_cuMemsetD8Async },
    { "cj_fill16", do_set16, CJI_CU_ID_cuMemsetD16Async },
    { "cj_fill32", do_set32, CJI_CU_ID_cuMemsetD32Async },
    { "cj_event_record", do_record, CJI_CU_ID_cuEventRecord },
    { "cj_stream_wait", do_wait, CJI_CU_ID_cuStreamWaitEvent },
    { "cj_stream_fork and join", do_fork, CJI_CU_ID_cuStreamWaitEvent },
    { "cj_stream_query and cj_event_query", do_query, CJI_CU_ID_cuStreamQuery },
    { "cj_stream_sync and cj_event_sync", do_sync, CJI_CU_ID_cuStreamSynchronize },
    { "cj_host_func", do_host, CJI_CU_ID_cuLaunchHostFunc },
    { "cj_event_create and free", do_event, CJI_CU_ID_cuEventCreate },
    { "cj_event_elapsed", do_elapsed, CJI_CU_ID_cuEventElapsedTime },
    { "cj_launch", do_launch, CJI_CU_ID_cuLaunchKernel },
    { "cj_launch with wrong arguments", do_bad_launch, CJI_CU_ID_cuLaunchKernel },
    { "capture, instantiate, launch", do_graph, CJI_CU_ID_cuGraphInstantiateWithFlags },
    { "cj_device_collect", do_collect, CJI_CU_ID_cuEventQuery },
};

/* A launch does not always ask which context is current: in each context it reaches the stream, whichever was current
 * at the launch before. */
static void launches_arrive(const CUcontext *contexts, const char *const *names)
{
    for (size_t from = 0; from < 3; from++)
        for (size_t to = 0; to < 3; to++) {
            watch_set_current(contexts[from]);
            do_launch();
            do_launch();
            int before = watch_calls(CJI_CU_ID_cuLaunchKernel), launched = watch.launches;
            watch_set_current(contexts[to]);
            do_launch();
            tap_ok(watch.launches == launched + 1 && watch_current() == contexts[to],
                   "a launch with %s current, after one with %s", names[to], names[from]);
            tap_ok(watch_calls(CJI_CU_ID_cuLaunchKernel) - before <= 2, "... tried twice at most");
        }
    watch_set_current(contexts[2]);
    do_launch();
    watch_fail(CJI_CU_ID_cuLaunchKernel, 0, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
    int before = watch_calls(CJI_CU_ID_cuLaunchKernel);
    cj_stream_sync(w.b.s);
    tap_is_int(cj_launch(w.b.s, w.k, cj_grid(1, 32), w.d, w.d, 2.0f, 5), CJ_EDRIVER,
               "a launch that the driver refuses in the right context is rejected");
    tap_is_int(watch_calls(CJI_CU_ID_cuLaunchKernel) - before, 1, "... at once");
    watch_fail_none();
    cj_stream_sync(w.b.s);
}

int main(void)
{
    tap_plan(0);
    watch_setup(&w.b);
    w.e = cj_event_create(w.b.dev, CJ_EVENT(.timing = 1));
    w.f = cj_event_create(w.b.dev, CJ_EVENT(.timing = 1));
    w.k = watch_kernel(w.b.dev);
    w.d = cj_alloc(w.b.s, 64);
    const CUcontext contexts[] = { NULL, watch_foreign_context(), watch_context() };
    const char *const names[] = { "no context", "a foreign context", "the device's context" };
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        for (size_t c = 0; c < 3; c++) {
            watch_set_current(contexts[c]);
            calls[i].run();
            tap_ok(watch_current() == contexts[c] && watch_depth() == (contexts[c] != NULL), "%s leaves %s current",
                   calls[i].name, names[c]);
            watch_fail(calls[i].fails, 0, CUDA_ERROR_INVALID_VALUE);
            calls[i].run();
            tap_ok(watch_current() == contexts[c] && watch_depth() == (contexts[c] != NULL),
                   "... also when the driver refuses it");
            watch_fail_none();
        }
    }
    launches_arrive(contexts, names);
    watch_set_current(NULL);
    cj_stream_sync(w.b.s);
    cj_free(w.b.dev, w.d);
    cj_event_free(w.e);
    cj_event_free(w.f);
    cj_kernel_free(w.k);
    watch_teardown(&w.b);
    return tap_done();
}
