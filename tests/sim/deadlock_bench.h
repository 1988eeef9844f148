/* What the tests of deadlocks share: what the log got, situations of streams and locations, the CPU device for them.
 * Everything is static: each program has the table of entry points for itself. */
#ifndef CUJIT_TESTS_SIM_DEADLOCK_BENCH_H
#define CUJIT_TESTS_SIM_DEADLOCK_BENCH_H

#include "tests/conformance/driver_abi.h"

#include <stdio.h>
#include <stdlib.h>

enum { REPORTS = 64 };

/* ---- What the log got: a deadlock is several lines ------------------------------------------------------------ */

static struct {
    pthread_mutex_t lock;
    pthread_cond_t cond;
    int deadlocks, slow;
    char text[REPORTS][8192];
    size_t n;
} reported = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 0, { "" }, 0 };

static inline void take_log(void *user, cj_log_level level, const char *message)
{
    (void)user;
    pthread_mutex_lock(&reported.lock);
    if (level == CJ_LOG_ERROR && reported.deadlocks < REPORTS) {
        char *text = reported.text[reported.deadlocks];
        if (strncmp(message, "deadlock: ", 10) == 0) reported.n = 0;
        int n = snprintf(text + reported.n, sizeof reported.text[0] - reported.n, "%s\n", message);
        if (n > 0 && (size_t)n < sizeof reported.text[0] - reported.n) reported.n += (size_t)n;
        reported.deadlocks += strstr(message, "the fix:") != NULL;
    }
    reported.slow += level == CJ_LOG_WARNING && strstr(message, "for a value at the location") != NULL;
    pthread_cond_broadcast(&reported.cond);
    pthread_mutex_unlock(&reported.lock);
}

static inline int await_reported(const int *count, int least)
{
    pthread_mutex_lock(&reported.lock);
    while (*count < least) pthread_cond_wait(&reported.cond, &reported.lock);
    int n = reported.deadlocks;
    pthread_mutex_unlock(&reported.lock);
    return n;
}

/* The report that names the stream as a member. */
static inline const char *report_of(unsigned long long id)
{
    char name[60];
    snprintf(name, sizeof name, ": stream %llu", id);
    for (int i = 0; i < reported.deadlocks; i++)
        for (const char *p = reported.text[i]; (p = strstr(p, name)); p++)
            if (p[strlen(name)] == ' ' || p[strlen(name)] == ',') return reported.text[i];
    return "";
}

/* ---- A situation: streams and words, and how all of it ends ------------------------------------------------------ */

typedef struct situation situation;
/* of a wait and the write that ends it */
typedef struct way { bool wide; unsigned flags; uint64_t start, want, write; } way;

struct situation {
    CUcontext ctx[2];
    CUstream s[4];
    unsigned long long id[4];
    CUdeviceptr x[2], block[2];
    CUevent e;
    CUgraph g;
    CUgraphExec exec;
    way how;
};

static const way plain = { false, CU_STREAM_WAIT_VALUE_EQ, 0, 1, 1 };
static CUcontext ctxs[3];    /* of device 0, of device 1, a second of device 0 */
static CUmodule module;
static void *host_word;
static CUdeviceptr host_word_at;

static inline void wait_for(const situation *t, CUstream s, CUdeviceptr at)
{
    CUresult r = t->how.wide ? cu.cuStreamWaitValue64(s, at, t->how.want, t->how.flags)
                             : cu.cuStreamWaitValue32(s, at, (cuuint32_t)t->how.want, t->how.flags);
    if (r) tap_fail("a wait: %d", (int)r);
}

static inline void write_to(const situation *t, CUstream s, CUdeviceptr at)
{
    CUresult r = t->how.wide ? cu.cuStreamWriteValue64(s, at, t->how.write, 0)
                             : cu.cuStreamWriteValue32(s, at, (cuuint32_t)t->how.write, 0);
    if (r) tap_fail("a write: %d", (int)r);
}

static inline CUdeviceptr word_of(const situation *t)
{
    CUdeviceptr p = 0;
    if (cu.cuMemAlloc(&p, 64) || cu.cuMemcpyHtoD(p, &t->how.start, 8) || cu.cuMemcpyHtoD(p + 16, &t->how.start, 8))
        tap_bail("no memory");
    return p;
}

static inline void open_situation(situation *t, const way *how, CUcontext first, CUcontext second)
{
    *t = (situation){ .ctx = { first, second }, .how = *how };
    for (int i = 0; i < 4; i++) {
        cu.cuCtxSetCurrent(t->ctx[i % 2]);
        t->s[i] = abi_stream();
        if (i < 2) t->x[i] = t->block[i] = word_of(t);
        cu.cuStreamGetId(t->s[i], &t->id[i]);
    }
    cu.cuCtxSetCurrent(first);
    t->e = abi_event();
}

/* Writes from outside what is waited for. */
static inline void release(const situation *t)
{
    for (int i = 0; i < 2; i++) {
        cu.cuCtxSetCurrent(t->ctx[i]);
        CUstream s = abi_stream();
        write_to(t, s, t->x[i]);
        cu.cuStreamDestroy(s);
    }
}

static inline void close_situation(situation *t)
{
    for (int i = 0; i < 4; i++) {
        cu.cuCtxSetCurrent(t->ctx[i % 2]);
        if (cu.cuStreamSynchronize(t->s[i])) tap_fail("a stream does not end");
        cu.cuStreamDestroy(t->s[i]);
        if (i < 2) cu.cuMemFree(t->block[i]);
    }
    cu.cuCtxSetCurrent(t->ctx[0]);
    cu.cuEventDestroy(t->e);
    if (t->exec) cu.cuGraphExecDestroy(t->exec);
    if (t->g) cu.cuGraphDestroy(t->g);
}

static inline CUstreamBatchMemOpParams batch_item(const situation *t, bool wait, CUdeviceptr at)
{
    CUstreamBatchMemOpParams p;
    memset(&p, 0, sizeof p);
    if (wait) {
        p.waitValue.operation = CU_STREAM_MEM_OP_WAIT_VALUE_32;
        p.waitValue.address = at;
        p.waitValue.value = (cuuint32_t)t->how.want;
        p.waitValue.flags = t->how.flags;
    } else {
        p.writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
        p.writeValue.address = at;
        p.writeValue.value = (cuuint32_t)t->how.write;
    }
    return p;
}

/* Each of two streams waits for what the other writes behind its wait. */
static inline void crossed(situation *t)
{
    for (int i = 0; i < 2; i++) {
        wait_for(t, t->s[i], t->x[i]);
        write_to(t, t->s[i], t->x[!i]);
    }
}

/* ---- Beginning and end ------------------------------------------------------------------------------------------- */

/* Two CPU devices with the module, the host's word, and the log that takes reports. */
static inline void open_devices(void)
{
    char build[64];
    tap_need_device(1);
    tap_plan(0);
    setenv("CUJIT_SIM_DEVICES", "2", 1);
    setenv("CUJIT_SIM_STALL_MS", "24", 1);
    snprintf(build, sizeof build, CUJIT_SIM_BUILD_FORMAT, cj_version(), (unsigned long long)cj_table_hash());
    if (cujit_sim_setup(CUJIT_SIM_ABI, build, NULL, NULL, take_log, NULL))
        tap_bail("the CPU device: %s", cujit_sim_complaint());
    abi_load();
    if (cu.cuInit(0) || cu.cuDevicePrimaryCtxRetain(&ctxs[0], 0) || cu.cuDevicePrimaryCtxRetain(&ctxs[1], 1) ||
        cu.cuCtxCreate(&ctxs[2], 0, 0))
        tap_bail("no contexts");
    cu.cuCtxSetCurrent(ctxs[0]);
    abi_kernel(&module, "add");
    cu.cuMemHostAlloc(&host_word, 4, CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_PORTABLE);
    cu.cuMemHostGetDevicePointer(&host_word_at, host_word, 0);
    __atomic_store_n((unsigned *)host_word, 0, __ATOMIC_SEQ_CST);
}

static inline int close_devices(void)
{
    cu.cuMemFreeHost(host_word);
    cu.cuModuleUnload(module);
    cu.cuCtxDestroy(ctxs[2]);
    cu.cuCtxSetCurrent(NULL);
    cu.cuDevicePrimaryCtxRelease(1);
    abi_is(cu.cuDevicePrimaryCtxRelease(0), CUDA_SUCCESS, "the context is released");
    return tap_done();
}

#endif
