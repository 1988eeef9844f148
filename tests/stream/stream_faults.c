/* Each allocation and each driver call of a whole workload fails in turn: a clear error, no crash, nothing lost, nothing left. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "tests/stream/fake.h"
#include "tests/tap.h"

static int allocations, fail_allocation = -1;
static size_t bytes_out;
static pthread_mutex_t count_lock = PTHREAD_MUTEX_INITIALIZER;

static void *failing_realloc(void *user, void *p, size_t old, size_t size)
{
    (void)user;
    pthread_mutex_lock(&count_lock);
    bool fail = size && allocations++ == fail_allocation;
    if (!fail) bytes_out += size - (p ? old : 0);
    pthread_mutex_unlock(&count_lock);
    if (fail) return NULL;
    if (!size) return free(p), NULL;
    return realloc(p, size);
}

static int host_ran;
static void host_function(void *user) { (void)user, host_ran++; }

/* Everything once; what fails first is returned.  The caller checks only the end, as programs may. */
static cj_status workload(char *message)
{
    char in[100], out[100] = "";
    memset(in, 7, sizeof in);
    cj_driver *drv = fake_open();
    cj_device *dev = cj_device_open(drv, 0, NULL);
    cj_stream *s = cj_stream_create(dev, NULL), *t = cj_stream_create(dev, NULL), *own = cj_stream_wrap(dev, (void *)2);
    cj_event *e = cj_event_create(dev, NULL);
    cj_kernel *k = fake_kernel(dev);
    cj_dptr d = cj_alloc(s, 100), shared = cj_ipc_alloc(t, 100);
    unsigned char handle[CJ_IPC_MEM_BYTES];
    cj_status given = cj_ipc_export(dev, shared, handle, sizeof handle);
    cj_fill8(t, shared, 1, 100);
    const cj_mem_op words[2] = { { .kind = CJ_MEM_OP_WRITE32, .d = d, .value = 3 }, { .kind = CJ_MEM_OP_WRITE64, .d = d, .value = 4 } };
    cj_copy_to_device(s, d, in, 100);
    cj_event_record(e, s);
    cj_stream_wait(t, e);
    cj_stream_use(t, d);
    cj_launch(t, k, cj_grid(1, 32), d, d, 1.0f, 1);
    cj_fill8(t, d, 9, 50);
    cj_stream_join(own, t);
    cj_stream_mem_ops(own, words, 2);
    cj_fill8(own, d, 9, 40);
    cj_stream_join(s, own);
    cj_copy_to_host(s, out, d, 100);
    cj_host_func(s, host_function, NULL);
    cj_capture_begin(s, CJ_CAPTURE_THREAD);
    cj_launch(s, k, cj_grid(1, 32), d, d, 1.0f, 1);
    cj_copy_to_host(s, out, d, 100);
    cj_graph *g = cj_capture_end(s);
    cj_graph_mem_ops(g, NULL, words, 2);
    cj_graph_exec *x = cj_graph_instantiate(g, NULL);
    cj_graph_launch(s, x);
    cj_dptr inside = { 0 }, beyond = { 0 };
    cj_graph *h = cj_graph_create(dev);
    cj_node *made = cj_graph_mem_alloc(h, NULL, 100, &inside);
    cj_graph_mem_alloc(h, NULL, 100, &beyond);
    cj_graph_mem_free(h, CJ_NODES(made), inside);
    cj_graph_exec *y = cj_graph_instantiate(h, NULL);
    cj_graph_launch(s, y);
    cj_fill8(t, beyond, 1, 100);
    cj_free(dev, beyond);
    cj_graph_launch(t, y);
    cj_status third = cj_stream_sync(own), second = cj_stream_sync(t), first = cj_stream_sync(s);
    if (!first && !second && !third) third = given;
    if (third && third == given) strcpy(message, cj_error_of(dev)->message);
    else strcpy(message, first ? cj_error_of(s)->message : second ? cj_error_of(t)->message : third ? cj_error_of(own)->message : "");
    cj_graph_exec_free(y);
    cj_graph_free(h);
    cj_graph_exec_free(x);
    cj_graph_free(g);
    cj_free(dev, d);
    cj_free(dev, shared);
    cj_kernel_free(k);
    cj_event_free(e);
    cj_stream_free(own);
    cj_stream_free(t);
    cj_stream_free(s);
    fake_fail_none();
    fail_allocation = -1;
    cj_device_collect(dev);
    cj_device_close(dev);
    cj_driver_close(drv);
    if (!first && !second && !third && (out[0] != 9 || out[99] != 7)) first = CJ_ESTATE;
    return first ? first : second ? second : third;
}

static bool nothing_left(void)
{
    return !fake.live_streams && !fake.live_events && !fake.live_modules && !fake.live_graphs && !fake.live_execs && !fake.pinned && !fake.allocated;
}

/* Calls whose failure leaves what they should have taken away. */
static bool takes_away(int id)
{
    static const char *const words[] = { "Destroy", "Unload", "Free", "Release", "EndCapture" };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strstr(cji_cu_rows[id].name, words[i])) return true;
    return false;
}

static void fail_allocations(void)
{
    char message[512];
    int total = allocations, bad = 0, silent = 0, lost = 0;
    for (int i = 0; i < total; i++) {
        allocations = 0;
        fail_allocation = i;
        cj_status st = workload(message);
        silent += st == CJ_OK;
        if (st != CJ_OK && (st != CJ_ENOMEM || !message[0]) && bad++ == 0) tap_diag("allocation %d: status %d, %s", i, st, message);
        if ((!nothing_left() || bytes_out) && lost++ == 0)
            tap_diag("allocation %d leaves %zu bytes, %d streams, %d events, %d modules, %d blocks, %d pinned", i, bytes_out, fake.live_streams,
                     fake.live_events, fake.live_modules, fake.allocated, fake.pinned);
        bytes_out = 0;
    }
    tap_is_int(bad, 0, "each of %d allocations that fails is CJ_ENOMEM, with a message; %d of them could be done without", total, silent);
    tap_is_int(lost, 0, "and nothing is lost");
}

static void fail_calls(void)
{
    char message[512];
    static int made[CJI_CU_COUNT];
    int tried = 0, silent = 0, lost = 0, strange = 0;
    workload(message);
    for (int id = 0; id < CJI_CU_COUNT; id++) made[id] = fake_calls(id);
    for (int id = 0; id < CJI_CU_COUNT; id++) {
        for (int nth = 0; nth < made[id]; nth++) {
            fake_fail(id, nth, CUDA_ERROR_UNKNOWN);
            cj_status st = workload(message);
            tried++;
            silent += st == CJ_OK;
            if (st != CJ_OK && !message[0] && strange++ == 0) tap_diag("call %d of %s: status %d without a message", nth, cji_cu_rows[id].name, st);
            bool left = !takes_away(id) && !nothing_left();
            if ((left || bytes_out) && lost++ == 0)
                tap_diag("call %d of %s leaves %zu bytes, %d streams, %d events, %d modules, %d graphs, %d execs, %d blocks, %d pinned", nth, cji_cu_rows[id].name,
                         bytes_out, fake.live_streams, fake.live_events, fake.live_modules, fake.live_graphs, fake.live_execs, fake.allocated, fake.pinned);
            bytes_out = 0;
        }
    }
    tap_ok(tried > 100, "%d calls of the driver failed in turn, %d of them could be done without", tried, silent);
    tap_is_int(strange, 0, "each failure has a message");
    tap_is_int(lost, 0, "and nothing is lost");
}

int main(void)
{
    char message[512];
    tap_plan(0);
    tap_is_int(cj_set_allocator(failing_realloc, NULL), CJ_OK, "an allocator that can fail");
    tap_is_int(workload(message), CJ_OK, "the workload works: %s", message);
    tap_ok(nothing_left(), "and leaves nothing at the driver");
    tap_is_uint(bytes_out, 0, "nor of its own");
    fail_allocations();
    fail_calls();
    fake_clean();
    return tap_done();
}
