/* Waits that never end are reported with their members; what something outside may still end is not: it is named when
 * it takes long, and goes on. */
#include "tests/conformance/driver_abi.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

/* What the log got.  A deadlock is several lines: how many wait, each of them, the fix. */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t cond;
    int deadlocks, values, hosts, nameless;
    char text[2000];
    size_t n;
    char value[300];
} reported = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 0, 0, 0, "", 0, "" };

static void take_log(void *user, cj_log_level level, const char *message)
{
    (void)user;
    pthread_mutex_lock(&reported.lock);
    if (level == CJ_LOG_ERROR) {
        if (strncmp(message, "deadlock", 8) == 0) reported.n = 0;
        int n = snprintf(reported.text + reported.n, sizeof reported.text - reported.n, "%s\n", message);
        if (n > 0 && (size_t)n < sizeof reported.text - reported.n) reported.n += (size_t)n;
        if (strstr(message, "the fix:")) reported.deadlocks++;
        if (strstr(message, "no memory to name them")) reported.nameless++;
    }
    if (level == CJ_LOG_WARNING && strstr(message, "for a value at the location")) {
        reported.values++;
        snprintf(reported.value, sizeof reported.value, "%s", message);
    }
    if (level == CJ_LOG_WARNING && strstr(message, "host function")) reported.hosts++;
    pthread_cond_broadcast(&reported.cond);
    pthread_mutex_unlock(&reported.lock);
}

static int await(const int *count, int least)
{
    pthread_mutex_lock(&reported.lock);
    while (*count < least) pthread_cond_wait(&reported.cond, &reported.lock);
    int n = *count;
    pthread_mutex_unlock(&reported.lock);
    return n;
}

static int deadlocks(void)
{
    pthread_mutex_lock(&reported.lock);
    int n = reported.deadlocks;
    pthread_mutex_unlock(&reported.lock);
    return n;
}

/* Each stream waits for the location that the other writes behind its wait. */
static void cross(CUstream a, CUstream b, CUdeviceptr x, CUdeviceptr y)
{
    abi_is(cu.cuStreamWaitValue32(a, x, 1, CU_STREAM_WAIT_VALUE_EQ), CUDA_SUCCESS, "one stream waits for a word");
    cu.cuStreamWriteValue32(a, y, 1, 0);
    abi_is(cu.cuStreamWaitValue32(b, y, 1, CU_STREAM_WAIT_VALUE_EQ), CUDA_SUCCESS, "the other for another");
    cu.cuStreamWriteValue32(b, x, 1, 0);
}

static void waits_for_each_other(void)
{
    CUstream a = abi_stream(), b = abi_stream(), c = abi_stream();
    unsigned long long id[2] = { 0 };
    CUdeviceptr x = abi_word(0), y = abi_word(0);
    cu.cuStreamGetId(a, &id[0]);
    cu.cuStreamGetId(b, &id[1]);
    cross(a, b, x, y);
    tap_is_int(await(&reported.deadlocks, 1), 1, "is reported, once");
    for (int i = 0; i < 2; i++) {
        char name[40];
        snprintf(name, sizeof name, "%d of 2: stream %llu waits", i + 1, id[i]);
        tap_has_str(reported.text, name, "with its members");
    }
    abi_is(cu.cuStreamWriteValue32(c, x, 1, 0), CUDA_SUCCESS, "a write from outside");
    abi_is(cu.cuStreamSynchronize(a), CUDA_SUCCESS, "ends the first");
    abi_is(cu.cuStreamSynchronize(b), CUDA_SUCCESS, "and with it the second");
    cu.cuStreamDestroy(a);
    cu.cuStreamDestroy(b);
    cu.cuStreamDestroy(c);
    cu.cuMemFree(x);
    cu.cuMemFree(y);
}

static void its_own_write(void)
{
    int before = deadlocks();
    CUstream a = abi_stream(), c = abi_stream();
    CUdeviceptr x = abi_word(0);
    cu.cuStreamWaitValue32(a, x, 5, CU_STREAM_WAIT_VALUE_GEQ);
    cu.cuStreamWriteValue32(a, x, 7, 0);
    tap_is_int(await(&reported.deadlocks, before + 1), before + 1, "a wait for the write behind it");
    tap_has_str(reported.text, "this wait itself", "is a deadlock of one");
    cu.cuStreamWriteValue32(c, x, 5, 0);
    cu.cuStreamSynchronize(a);
    cu.cuStreamDestroy(a);
    cu.cuStreamDestroy(c);
    cu.cuMemFree(x);
}

static void what_may_still_end(void)
{
    int before = deadlocks(), values = reported.values;
    struct latch latch;
    void *h;
    CUdeviceptr d;
    CUstream a = abi_stream(), b = abi_stream(), c = abi_stream();
    CUdeviceptr x = abi_word(0), y = abi_word(0);
    /* the host can write the location. */
    cu.cuMemHostAlloc(&h, 4, CU_MEMHOSTALLOC_DEVICEMAP);
    cu.cuMemHostGetDevicePointer(&d, h, 0);
    __atomic_store_n((unsigned *)h, 0, __ATOMIC_SEQ_CST);
    cu.cuStreamWaitValue32(a, d, 1, CU_STREAM_WAIT_VALUE_EQ);
    cu.cuStreamWriteValue32(a, d, 1, 0);
    await(&reported.values, values + 1);
    tap_is_int(deadlocks(), before, "a wait for a word that the host can write is named, and is no deadlock");
    __atomic_store_n((unsigned *)h, 1, __ATOMIC_SEQ_CST);
    abi_is(cu.cuStreamSynchronize(a), CUDA_SUCCESS, "and it ends");
    /* The known write does not end it: another will. */
    cu.cuStreamWaitValue32(a, x, 1, CU_STREAM_WAIT_VALUE_EQ);
    cu.cuStreamWriteValue32(a, x, 0, 0);
    await(&reported.values, values + 2);
    tap_is_int(deadlocks(), before, "nor is one whose end nobody knows of");
    cu.cuStreamWriteValue32(c, x, 1, 0);
    cu.cuStreamSynchronize(a);
    cu.cuMemsetD32(x, 0, 1);
    cu.cuStreamSynchronize(NULL);
    /* A host function still runs. */
    abi_hold(&latch, c);
    latch_entered(&latch);
    cross(a, b, x, y);
    await(&reported.values, values + 4);
    tap_is_int(deadlocks(), before, "there is no deadlock while a host function may still do something");
    latch_open(&latch);
    tap_is_int(await(&reported.deadlocks, before + 1), before + 1, "and is reported when none can any more");
    cu.cuStreamWriteValue32(c, y, 1, 0);
    cu.cuStreamSynchronize(b);
    cu.cuStreamSynchronize(a);
    cu.cuStreamDestroy(a);
    cu.cuStreamDestroy(b);
    cu.cuStreamDestroy(c);
    cu.cuMemFreeHost(h);
    cu.cuMemFree(x);
    cu.cuMemFree(y);
}

/* The wait of a node for a word that the host writes. */
static void a_node_that_waits_long(void)
{
    int before = deadlocks(), values = reported.values;
    char name[60];
    void *h;
    CUdeviceptr d;
    CUgraph g;
    CUgraphExec x;
    CUgraphNode node;
    CUstream s = abi_stream();
    CUstreamBatchMemOpParams op[2];
    CUDA_BATCH_MEM_OP_NODE_PARAMS p = { .ctx = abi_ctx, .count = 2, .paramArray = op };
    memset(op, 0, sizeof op);
    cu.cuMemHostAlloc(&h, 8, CU_MEMHOSTALLOC_DEVICEMAP);
    cu.cuMemHostGetDevicePointer(&d, h, 0);
    memset(h, 0, 8);
    op[0].writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
    op[0].writeValue.address = d + 4;
    op[0].writeValue.value = 2;
    op[1].waitValue.operation = CU_STREAM_MEM_OP_WAIT_VALUE_32;
    op[1].waitValue.address = d;
    op[1].waitValue.value = 1;
    cu.cuGraphCreate(&g, 0);
    cu.cuGraphAddBatchMemOpNode(&node, g, NULL, 0, &p);
    cu.cuGraphInstantiateWithFlags(&x, g, 0);
    cu.cuGraphLaunch(x, s);
    await(&reported.values, values + 1);
    tap_has_str(reported.value, ", in a launch of a graph, has waited", "a wait of a node is named as one");
    snprintf(name, sizeof name, "the location 0x%llx", (unsigned long long)d);
    tap_has_str(reported.value, name, "with the location that it is at");
    tap_is_int(deadlocks(), before, "and is no deadlock");
    __atomic_store_n((unsigned *)h, 1, __ATOMIC_SEQ_CST);
    abi_is(cu.cuStreamSynchronize(s), CUDA_SUCCESS, "and it ends");
    cu.cuGraphExecDestroy(x);
    cu.cuGraphDestroy(g);
    cu.cuStreamDestroy(s);
    cu.cuMemFreeHost(h);
}

static void *synchronize(void *s)
{
    cu.cuCtxSetCurrent(abi_ctx);
    cu.cuStreamSynchronize(s);
    return NULL;
}

static void a_slow_host_function(void)
{
    int before = deadlocks();
    struct latch latch;
    pthread_t thread;
    CUstream s = abi_stream();
    abi_hold(&latch, s);
    pthread_create(&thread, NULL, synchronize, s);
    int named = await(&reported.hosts, 1);
    tap_ok(named >= 1, "a host function that does not return is named");
    latch_open(&latch);
    pthread_join(thread, NULL);
    tap_is_int(deadlocks(), before, "and is no deadlock");
    cu.cuStreamDestroy(s);
}

/* ---- Without memory ---------------------------------------------------------------------------------------------- */

static atomic_bool no_memory;

static void *lend(void *user, void *p, size_t old, size_t bytes)
{
    (void)user, (void)old;
    if (!bytes) {
        free(p);
        return NULL;
    }
    return atomic_load(&no_memory) ? NULL : realloc(p, bytes);
}

/* Nothing else is allocated while they wait: what fails is the report. */
static void a_deadlock_that_cannot_be_named(void)
{
    CUstream a = abi_stream(), b = abi_stream(), c = abi_stream();
    CUdeviceptr x = abi_word(0), y = abi_word(0);
    cross(a, b, x, y);
    atomic_store(&no_memory, true);
    int nameless = await(&reported.nameless, 1);
    atomic_store(&no_memory, false);
    tap_ok(nameless >= 1, "without memory a deadlock is reported all the same");
    cu.cuStreamWriteValue32(c, x, 1, 0);
    abi_is(cu.cuStreamSynchronize(a), CUDA_SUCCESS, "and ends");
    abi_is(cu.cuStreamSynchronize(b), CUDA_SUCCESS, "as others do");
    cu.cuStreamDestroy(a);
    cu.cuStreamDestroy(b);
    cu.cuStreamDestroy(c);
    cu.cuMemFree(x);
    cu.cuMemFree(y);
}

int main(void)
{
    char build[64];
    setenv("CUJIT_SIM_STALL_MS", "24", 1);
    snprintf(build, sizeof build, CUJIT_SIM_BUILD_FORMAT, cj_version(), (unsigned long long)cj_table_hash());
    if (cujit_sim_setup(CUJIT_SIM_ABI, build, lend, NULL, take_log, NULL))
        tap_bail("the CPU device: %s", cujit_sim_complaint());
    abi_open();
    waits_for_each_other();
    its_own_write();
    what_may_still_end();
    a_node_that_waits_long();
    a_slow_host_function();
    a_deadlock_that_cannot_be_named();
    return abi_close();
}
