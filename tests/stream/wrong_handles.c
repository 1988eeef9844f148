/* NULL, an object of another type, foreign memory: each call of stream.h, copy.h, stream_barrier.h and graph.h answers
 * CJ_EHANDLE, and releases do nothing. */
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/stream/watched.h"
#include "tests/tap.h"

static cj_event *good_event;
static cj_stream *good_stream;
static cj_stream_barrier *good_hub;
static cj_stream_barrier_time hub_time = { .size = sizeof hub_time };
static const cj_dims dims = { { 1, 1, 1 }, { 1, 1, 1 }, { 0, 0, 0 }, 0, 0, { 0, 0, 0 }, NULL };
static char buffer[CJ_IPC_MEM_BYTES];
static void nothing_at_all(void *user) { (void)user; }
static void never_called(void *user, cj_status status) { (void)user, (void)status; }
static cj_stream_counts counts = { .size = sizeof counts };

/* What a constructor's failed object says. */
static cj_status failed_stream(cj_stream *s)
{
    cj_status st = (cj_status)cj_error_of(s)->status;
    cj_stream_free(s);
    return st;
}
static cj_status failed_event(cj_event *e)
{
    cj_status st = (cj_status)cj_error_of(e)->status;
    cj_event_free(e);
    return st;
}
static cj_status failed_graph(cj_graph *g)
{
    cj_status st = (cj_status)cj_error_of(g)->status;
    cj_graph_free(g);
    return st;
}
static cj_status failed_exec(cj_graph_exec *x)
{
    cj_status st = (cj_status)cj_error_of(x)->status;
    cj_graph_exec_free(x);
    return st;
}
/* What a call that returns no status leaves in the thread. */
static cj_status last_of(uint64_t value) { return value ? CJ_OK : (cj_status)cj_error_last()->status; }

static cj_status h_create(void *p) { return failed_stream(cj_stream_create(p, NULL)); }
static cj_status h_wrap(void *p) { return failed_stream(cj_stream_wrap(p, (void *)1)); }
static cj_status h_raw(void *p) { return last_of((uintptr_t)cj_stream_raw(p)); }
static cj_status h_id(void *p) { return last_of(cj_stream_id(p)); }
static cj_status h_device(void *p) { return last_of((uintptr_t)cj_stream_device(p)); }
static cj_status h_priority(void *p) { return last_of((uint64_t)cj_stream_priority(p)); }
static cj_status h_flags(void *p) { return last_of(cj_stream_flags(p)); }
static cj_status h_launch(void *p) { return cj_launch_n(p, NULL, &dims, NULL, 0); }
static cj_status h_launch_kernel(void *p) { return cj_launch_n(good_stream, p, &dims, NULL, 0); }
static cj_status h_host(void *p) { return cj_host_func(p, nothing_at_all, NULL); }
static cj_status h_alloc(void *p) { return last_of(cj_alloc(p, 8).addr); }
static cj_status h_free(void *p) { return cj_free(p, (cj_dptr){ 4096 }); }
static cj_status h_used(void *p) { return cj_stream_use(p, (cj_dptr){ 4096 }); }
static cj_status h_collect(void *p) { return last_of(cj_device_collect(p)); }
static cj_status h_up(void *p) { return cj_copy_to_device(p, (cj_dptr){ 4096 }, buffer, 4); }
static cj_status h_down(void *p) { return cj_copy_to_host(p, buffer, (cj_dptr){ 4096 }, 4); }
static cj_status h_copy(void *p) { return cj_copy(p, (cj_dptr){ 4096 }, (cj_dptr){ 8192 }, 4); }
static cj_status h_set8(void *p) { return cj_fill8(p, (cj_dptr){ 4096 }, 0, 4); }
static cj_status h_set16(void *p) { return cj_fill16(p, (cj_dptr){ 4096 }, 0, 4); }
static cj_status h_set32(void *p) { return cj_fill32(p, (cj_dptr){ 4096 }, 0, 4); }
static cj_status h_wait(void *p) { return cj_stream_wait(p, good_event); }
static cj_status h_wait_event(void *p) { return cj_stream_wait(good_stream, p); }
static cj_status h_fork(void *p) { return cj_stream_fork(p, good_stream); }
static cj_status h_fork_to(void *p) { return cj_stream_fork(good_stream, p); }
static cj_status h_join(void *p) { return cj_stream_join(p, good_stream); }
static cj_status h_sync(void *p) { return cj_stream_sync(p); }
static cj_status h_query(void *p) { return cj_stream_query(p); }
static cj_status h_sync_for(void *p) { return cj_stream_sync_for(p, 0); }
static cj_status h_done(void *p) { return cj_stream_callback(p, never_called, NULL); }
static cj_status h_value32(void *p) { return cj_stream_wait_value32(p, (cj_dptr){ 4096 }, 0, CJ_COMPARE_EQ); }
static cj_status h_value64(void *p) { return cj_stream_wait_value64(p, (cj_dptr){ 4096 }, 0, CJ_COMPARE_EQ); }
static cj_status h_write32(void *p) { return cj_stream_write_value32(p, (cj_dptr){ 4096 }, 0); }
static cj_status h_write64(void *p) { return cj_stream_write_value64(p, (cj_dptr){ 4096 }, 0); }
static cj_status h_values(void *p) { return cj_stream_mem_ops(p, NULL, 0); }
static cj_status h_counts(void *p) { return cj_stream_get_counts(p, &counts); }
static cj_status h_event_sync_for(void *p) { return cj_event_sync_for(p, 0); }
static cj_status h_export(void *p) { return cj_event_export(p, buffer, sizeof buffer); }
static cj_status h_import(void *p) { return failed_event(cj_event_import(p, buffer, sizeof buffer)); }
static cj_status h_box(void *p) { return cj_copy_3d(p, NULL); }
static cj_status h_2d(void *p) { return cj_copy_2d(p, (cj_dptr){ 4096 }, 0, (cj_dptr){ 8192 }, 0, 4, 1); }
static cj_status h_2d_up(void *p) { return cj_copy_2d_to_device(p, (cj_dptr){ 4096 }, 0, buffer, 0, 4, 1); }
static cj_status h_2d_down(void *p) { return cj_copy_2d_to_host(p, buffer, 0, (cj_dptr){ 4096 }, 0, 4, 1); }
static cj_status h_batch(void *p) { return cj_copy_batch(p, NULL, 0); }
static cj_status h_peer(void *p)
{
    return cj_copy_peer(p, cj_stream_device(good_stream), (cj_dptr){ 1 }, cj_stream_device(good_stream), (cj_dptr){ 2 },
                        0);
}
static cj_status h_peer_to(void *p)
{
    return cj_copy_peer(good_stream, p, (cj_dptr){ 1 }, cj_stream_device(good_stream), (cj_dptr){ 2 }, 0);
}
static cj_status h_peer_from(void *p)
{
    return cj_copy_peer(good_stream, cj_stream_device(good_stream), (cj_dptr){ 1 }, p, (cj_dptr){ 2 }, 0);
}
static cj_status h_reach(void *p) { return cj_device_enable_peer(p, p); }
static cj_status h_can_reach(void *p) { return last_of((uint64_t)cj_device_can_access_peer(p, p)); }
static cj_status h_shared(void *p) { return last_of(cj_ipc_alloc(p, 8).addr); }
static cj_status h_memory_import(void *p) { return last_of(cj_ipc_import(p, buffer, CJ_IPC_MEM_BYTES).addr); }
static cj_status h_memory_export(void *p) { return cj_ipc_export(p, (cj_dptr){ 1 }, buffer, CJ_IPC_MEM_BYTES); }
static cj_status h_managed(void *p) { return last_of(cj_managed_alloc(p, 8).addr); }
static cj_status h_prefetch(void *p) { return cj_prefetch_to_device(p, (cj_dptr){ 4096 }, 0); }
static cj_status h_prefetch_back(void *p) { return cj_prefetch_to_host(p, (cj_dptr){ 4096 }, 0); }
static cj_status h_advise(void *p) { return cj_managed_advise(p, (cj_dptr){ 4096 }, 4, CJ_ADVICE_READ_MOSTLY); }
static cj_status h_unadvise(void *p) { return cj_managed_unadvise(p, (cj_dptr){ 4096 }, 4, CJ_ADVICE_READ_MOSTLY); }
static cj_status failed_hub(cj_stream_barrier *h)
{
    cj_status st = (cj_status)cj_error_of(h)->status;
    cj_stream_barrier_free(h);
    return st;
}
static cj_status h_hub(void *p) { return failed_hub(cj_stream_barrier_create(p)); }
static cj_status h_barrier(void *p) { return cj_stream_barrier_enqueue(p, &good_stream, 1); }
static cj_status h_barrier_of(void *p)
{
    cj_stream *list[] = { good_stream, p };
    return cj_stream_barrier_enqueue(good_hub, list, 2);
}
static cj_status h_hub_sync(void *p) { return cj_stream_barrier_sync_for(p, &good_stream, 1, 0); }
static cj_status h_hub_sync_of(void *p)
{
    cj_stream *list[] = { p };
    return cj_stream_barrier_sync_for(good_hub, list, 1, 0);
}
static cj_status h_took(void *p) { return cj_stream_barrier_elapsed(p, &hub_time); }
static cj_status h_event(void *p) { return failed_event(cj_event_create(p, NULL)); }
static cj_status h_event_raw(void *p) { return last_of((uintptr_t)cj_event_raw(p)); }
static cj_status h_event_device(void *p) { return last_of((uintptr_t)cj_event_device(p)); }
static cj_status h_record(void *p) { return cj_event_record(p, good_stream); }
static cj_status h_record_on(void *p) { return cj_event_record(good_event, p); }
static cj_status h_event_query(void *p) { return cj_event_query(p); }
static cj_status h_event_sync(void *p) { return cj_event_sync(p); }
static cj_status h_elapsed(void *p) { float ms; return cj_event_elapsed(p, good_event, &ms); }
static cj_status h_elapsed_to(void *p) { float ms; return cj_event_elapsed(good_event, p, &ms); }
static cj_status h_begin(void *p) { return cj_capture_begin(p, CJ_CAPTURE_THREAD); }
static cj_status h_end(void *p) { return failed_graph(cj_capture_end(p)); }
static cj_status h_capturing(void *p) { return last_of(cj_stream_is_capturing(p)); }
static cj_status h_count(void *p) { return last_of(cj_graph_count(p)); }
static cj_status h_graph_raw(void *p) { return last_of((uintptr_t)cj_graph_raw(p)); }
static cj_status h_instantiate(void *p) { return failed_exec(cj_graph_instantiate(p, NULL)); }
static cj_status h_exec_launch(void *p) { return cj_graph_launch(good_stream, p); }
static cj_status h_exec_raw(void *p) { return last_of((uintptr_t)cj_graph_exec_raw(p)); }

enum want { DEVICE, STREAM, EVENT, KERNEL, GRAPH, EXEC, HUB };
static const struct { const char *name; cj_status (*call)(void *); enum want want;
} calls[] = {
    { "cj_stream_create", h_create, DEVICE },
    { "cj_stream_wrap", h_wrap, DEVICE },
    { "cj_stream_raw", h_raw, STREAM },
    { "cj_stream_id", h_id, STREAM },
    { "cj_stream_device", h_device, STREAM },
    { "cj_stream_priority", h_priority, STREAM },
    { "cj_stream_flags", h_flags, STREAM },
    { "cj_launch_n", h_launch, STREAM },
    { "cj_launch_n's kernel", h_launch_kernel, KERNEL },
    { "cj_host_func", h_host, STREAM },
    { "cj_alloc", h_alloc, STREAM },
    { "cj_free", h_free, DEVICE },
    { "cj_stream_use", h_used, STREAM },
    { "cj_device_collect", h_collect, DEVICE },
    { "cj_copy_to_device", h_up, STREAM },
    { "cj_copy_to_host", h_down, STREAM },
    { "cj_copy", h_copy, STREAM },
    { "cj_fill8", h_set8, STREAM },
    { "cj_fill16", h_set16, STREAM },
    { "cj_fill32", h_set32, STREAM },
    { "cj_stream_wait", h_wait, STREAM },
    { "cj_stream_wait's event", h_wait_event, EVENT },
    { "cj_stream_fork", h_fork, STREAM },
    { "cj_stream_fork's second stream", h_fork_to, STREAM },
    { "cj_stream_join", h_join, STREAM },
    { "cj_stream_sync", h_sync, STREAM },
    { "cj_stream_query", h_query, STREAM },
    { "cj_event_create", h_event, DEVICE },
    { "cj_event_raw", h_event_raw, EVENT },
    { "cj_event_device", h_event_device, EVENT },
    { "cj_event_record", h_record, EVENT },
    { "cj_event_record's stream", h_record_on, STREAM },
    { "cj_event_query", h_event_query, EVENT },
    { "cj_event_sync", h_event_sync, EVENT },
    { "cj_event_elapsed", h_elapsed, EVENT },
    { "cj_event_elapsed's second event", h_elapsed_to, EVENT },
    { "cj_capture_begin", h_begin, STREAM },
    { "cj_capture_end", h_end, STREAM },
    { "cj_stream_sync_for", h_sync_for, STREAM },
    { "cj_stream_callback", h_done, STREAM },
    { "cj_stream_wait_value32", h_value32, STREAM },
    { "cj_stream_wait_value64", h_value64, STREAM },
    { "cj_stream_write_value32", h_write32, STREAM },
    { "cj_stream_write_value64", h_write64, STREAM },
    { "cj_stream_mem_ops", h_values, STREAM },
    { "cj_stream_get_counts", h_counts, STREAM },
    { "cj_event_sync_for", h_event_sync_for, EVENT },
    { "cj_event_export", h_export, EVENT },
    { "cj_event_import", h_import, DEVICE },
    { "cj_copy_3d", h_box, STREAM },
    { "cj_copy_2d", h_2d, STREAM },
    { "cj_copy_2d_to_device", h_2d_up, STREAM },
    { "cj_copy_2d_to_host", h_2d_down, STREAM },
    { "cj_copy_batch", h_batch, STREAM },
    { "cj_copy_peer", h_peer, STREAM },
    { "cj_copy_peer's destination", h_peer_to, DEVICE },
    { "cj_copy_peer's source", h_peer_from, DEVICE },
    { "cj_device_enable_peer", h_reach, DEVICE },
    { "cj_device_can_access_peer", h_can_reach, DEVICE },
    { "cj_managed_alloc", h_managed, STREAM },
    { "cj_ipc_alloc", h_shared, STREAM },
    { "cj_ipc_import", h_memory_import, STREAM },
    { "cj_ipc_export", h_memory_export, DEVICE },
    { "cj_prefetch_to_device", h_prefetch, STREAM },
    { "cj_prefetch_to_host", h_prefetch_back, STREAM },
    { "cj_managed_advise", h_advise, DEVICE },
    { "cj_managed_unadvise", h_unadvise, DEVICE },
    { "cj_stream_barrier_create", h_hub, DEVICE },
    { "cj_stream_barrier_enqueue", h_barrier, HUB },
    { "cj_stream_barrier_enqueue's stream", h_barrier_of, STREAM },
    { "cj_stream_barrier_sync_for", h_hub_sync, HUB },
    { "cj_stream_barrier_sync_for's stream", h_hub_sync_of, STREAM },
    { "cj_stream_barrier_elapsed", h_took, HUB },
    { "cj_stream_is_capturing", h_capturing, STREAM },
    { "cj_graph_count", h_count, GRAPH },
    { "cj_graph_raw", h_graph_raw, GRAPH },
    { "cj_graph_instantiate", h_instantiate, GRAPH },
    { "cj_graph_launch", h_exec_launch, EXEC },
    { "cj_graph_exec_raw", h_exec_raw, EXEC },
};

/* In a child of fork() each call answers CJ_EFORKED, and each release does nothing. */
static void check_fork(watch_bench *b, cj_kernel *k, cj_graph *g, cj_graph_exec *x)
{
    int tell[2];
    if (pipe(tell)) tap_bail("no pipe");
    pid_t pid = fork();
    if (pid == 0) {
        void *objects[] = { b->dev, b->s, good_event, k, g, x, good_hub };
        size_t wrong = 0;
        for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
            wrong += calls[i].call(objects[calls[i].want]) != CJ_EFORKED;
        size_t before = watch.count;
        cj_graph_exec_free(x), cj_graph_free(g), cj_event_free(good_event), cj_stream_free(b->s), cj_kernel_free(k);
        wrong += watch.count != before;
        char answer = wrong ? 'n' : 'y';
        if (write(tell[1], &answer, 1) != 1) wrong++;
        kill(getpid(), SIGKILL); /* not an exit: the parent's objects, which stay, are no leak of the child */
    }
    char answer = 0;
    close(tell[1]);
    if (read(tell[0], &answer, 1) != 1) answer = 0;
    close(tell[0]);
    waitpid(pid, NULL, 0);
    tap_ok(answer == 'y', "in a child of fork() every call answers CJ_EFORKED and no release reaches the driver");
}

int main(void)
{
    watch_bench b;
    char memory[512];
    tap_plan(0);
    watch_setup(&b);
    memset(memory, 0x5a, sizeof memory);
    good_stream = b.s;
    good_event = cj_event_create(b.dev, NULL);
    good_hub = cj_stream_barrier_create(b.dev);
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        void *other = calls[i].want == DEVICE ? (void *)b.s : (void *)b.dev;
        tap_is_int(calls[i].call(NULL), CJ_EHANDLE, "%s: NULL", calls[i].name);
        tap_has_str(cj_error_last()->message, "is NULL", "... is said to be NULL");
        tap_is_int(calls[i].call(other), CJ_EHANDLE, "%s: another type", calls[i].name);
        tap_is_int(calls[i].call(memory), CJ_EHANDLE, "%s: no object", calls[i].name);
        tap_has_str(cj_error_last()->message, "no cujit object", "... is said to be none");
    }
    cj_stream_free(NULL), cj_event_free(NULL), cj_graph_free(NULL), cj_graph_exec_free(NULL);
    cj_stream_free((void *)b.dev), cj_event_free((void *)b.s), cj_graph_free((void *)b.s),
        cj_graph_exec_free((void *)b.s);
    cj_stream_free((void *)memory), cj_event_free((void *)memory), cj_graph_free((void *)memory),
        cj_graph_exec_free((void *)memory);
    cj_stream_sync(b.s);
    tap_is_int(cj_stream_sync(b.s), CJ_OK, "releasing NULL, others and no objects does nothing");
    cj_stream_defaults(NULL), cj_event_defaults(NULL), cj_graph_exec_defaults(NULL), cj_stream_counts_defaults(NULL),
        cj_copy_3d_params_defaults(NULL), cj_stream_barrier_time_defaults(NULL);
    tap_is_int(cj_host_func(b.s, NULL, NULL), CJ_EINVAL, "no host function is rejected");
    tap_is_int(cj_event_elapsed(good_event, good_event, NULL), CJ_EINVAL, "no place for a time too");
    tap_is_int(cj_launch_n(b.s, NULL, NULL, NULL, 0), CJ_EHANDLE, "no kernel and no dimensions too");
    cj_kernel *k = watch_kernel(b.dev);
    tap_is_int(cj_launch_n(b.s, k, NULL, NULL, 0), CJ_EINVAL, "no dimensions too");
    tap_is_int(cj_launch_n(b.s, k, &dims, NULL, 4), CJ_EINVAL, "no arguments where there are four too");
    cj_capture_begin(b.s, CJ_CAPTURE_THREAD);
    cj_graph *g = cj_capture_end(b.s);
    cj_graph_exec *x = cj_graph_instantiate(g, NULL);
    cj_stream_sync(b.s);
    check_fork(&b, k, g, x);
    cj_graph_exec_free(x);
    cj_graph_free(g);
    cj_kernel_free(k);
    cj_event_free(good_event);
    cj_stream_barrier_free(good_hub);
    watch_teardown(&b);
    return tap_done();
}
