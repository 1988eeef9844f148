/* What is queued can be looked into: each operation that is not done, its state, what it waits for; and the log has
 * the same when something takes long. */
#include <stdio.h>
#include <stdlib.h>

#include "tests/conformance/driver_abi.h"

enum { MOST = 16 };

static cujit_sim_work_info work[MOST];
static CUmodule module;
static struct latch listed = LATCH_CLOSED;
static bool named_first, named_second;

static void keep(void *user, cj_log_level level, const char *line)
{
    (void)user;
    if (level != CJ_LOG_INFO) return;
    if (strstr(line, "(host of stream ") && strstr(line, "runs")) named_first = true;
    if (strstr(line, "(kernel add of stream ") && strstr(line, "waits for 1 operation: operation "))
        named_second = true;
    if (named_first && named_second) latch_open(&listed);
}

static size_t list(void)
{
    memset(work, 0, sizeof work);
    work[0].size = sizeof *work;
    return cujit_sim_work(abi_ctx, work, MOST);
}

static const cujit_sim_work_info *of_kind(size_t n, const char *kind)
{
    for (size_t i = 0; i < n && i < MOST; i++)
        if (!strcmp(work[i].kind, kind)) return &work[i];
    tap_bail("no operation is called %s", kind);
}

static void held_stream(CUdeviceptr p)
{
    struct latch gate;
    CUstream s = abi_stream(), t = abi_stream();
    CUevent e = abi_event();
    unsigned long long id = 0;
    cu.cuStreamGetId(s, &id);
    abi_hold(&gate, s);
    latch_entered(&gate);
    abi_launch(abi_kernel(&module, "add"), 1, 1, s, p, 1);
    cu.cuMemsetD32Async(p, 5, 1, s);
    cu.cuEventRecord(e, s);
    cu.cuStreamWaitEvent(t, e, 0);
    cu.cuMemcpyDtoDAsync(p, p, 4, t);
    size_t n = list();
    tap_ok(n >= 4, "a stream that is held has its operations (%zu)", n);
    const cujit_sim_work_info *host = of_kind(n, "host"), *kernel = of_kind(n, "kernel"), *fill = of_kind(n, "memset"),
                              *copy = of_kind(n, "memcpy");
    tap_is_int(host->state, CUJIT_SIM_WORK_RUNS, "the host function runs");
    tap_ok(host->function != NULL && host->stream == (void *)s && host->context == (void *)abi_ctx,
           "its function, stream and context");
    tap_is_uint(host->stream_id, id, "and the stream's id");
    tap_is_int(kernel->state, CUJIT_SIM_WORK_WAITS, "the kernel waits");
    tap_is_str(kernel->name, "add", "its name");
    tap_is_uint(kernel->after, 1, "for one operation");
    tap_is_uint(kernel->after_number, host->number, "the host function");
    tap_has_str(kernel->sentence, "kernel add of stream", "the sentence names it");
    tap_has_str(kernel->sentence, "waits for 1 operation: operation", "and what it waits for");
    tap_is_uint(fill->after_number, kernel->number, "the fill waits for the kernel");
    tap_ok(copy->stream == (void *)t && copy->after_number != 0, "the other stream's copy waits too");
    tap_is_uint(cujit_sim_work(NULL, NULL, 0), n, "the number alone, of all contexts");
    tap_is_uint(cujit_sim_work((void *)(uintptr_t)4096, NULL, 0), 0, "no context");
    work[1].kind[0] = 'x';
    tap_is_uint(cujit_sim_work(abi_ctx, work, 1), n, "the first alone");
    tap_ok(work[1].kind[0] == 'x', "leaves the rest as it was");
    latch_open(&gate);
    cu.cuCtxSynchronize();
    tap_is_uint(list(), 0, "when all is done there is nothing");
    cu.cuEventDestroy(e);
    cu.cuStreamDestroy(s);
    cu.cuStreamDestroy(t);
}

/* A host function is ready while another one of its context runs, since they run one at a time. A kernel that has begun
 * runs, though other threads may still join it. */
static void ready_and_running(CUdeviceptr p)
{
    struct latch first, second;
    CUstream s = abi_stream(), t = abi_stream(), u = abi_stream();
    const cujit_sim_work_info *kernel;
    size_t n;
    abi_hold(&first, s);
    latch_entered(&first);
    abi_hold(&second, t);
    n = list();
    tap_is_uint(n, 2, "two host functions");
    tap_is_int(work[0].state, CUJIT_SIM_WORK_RUNS, "the first runs");
    tap_is_int(work[1].state, CUJIT_SIM_WORK_READY, "the second is ready");
    tap_is_uint(work[1].after, 0, "and waits for no operation");
    tap_has_str(work[1].sentence, "may begin when the host function that runs has returned", "its sentence");
    latch_open(&first);
    latch_open(&second);
    cu.cuCtxSynchronize();
    cu.cuMemsetD32(p, 0, 1);
    cu.cuCtxSynchronize();
    abi_launch(abi_kernel(&module, "spin"), 4, 1, s, p, 1);
    do {   /* until a thread has taken it */
        n = list();
        kernel = of_kind(n, "kernel");
    } while (kernel->state != CUJIT_SIM_WORK_RUNS);
    tap_has_str(kernel->sentence, " runs", "a kernel that has begun runs");
    tap_is_str(kernel->name, "spin", "its name");
    cu.cuMemsetD32Async(p, 1, 1, u);
    abi_is(cu.cuStreamSynchronize(s), CUDA_SUCCESS, "it ends");
    cu.cuStreamSynchronize(u);
    cu.cuStreamDestroy(s);
    cu.cuStreamDestroy(t);
    cu.cuStreamDestroy(u);
}

/* Threads that were woken for a kernel's blocks are none for the fill that ends it. */
static void ended_by_a_fill(CUdeviceptr p)
{
    CUstream s = abi_stream(), t = abi_stream();
    bool good = true;
    for (int i = 0; i < 200 && good; i++) {
        cu.cuMemsetD32(p, 0, 1);
        cu.cuCtxSynchronize();
        abi_launch(abi_kernel(&module, "spin"), 4, 1, s, p, 1);
        cu.cuMemsetD32Async(p, 1, 1, t);
        good = cu.cuStreamSynchronize(s) == CUDA_SUCCESS && cu.cuStreamSynchronize(t) == CUDA_SUCCESS;
    }
    tap_ok(good, "a kernel that spins ends when a fill on another stream lets it");
    cu.cuStreamDestroy(s);
    cu.cuStreamDestroy(t);
}

static void memory_wait(CUdeviceptr p)
{
    CUstream s = abi_stream(), t = abi_stream();
    cu.cuMemsetD32(p, 0, 1);
    cu.cuCtxSynchronize();
    cu.cuStreamWaitValue32(s, p, 1, CU_STREAM_WAIT_VALUE_EQ);
    size_t n;
    do n = list();   /* until a thread has taken it */
    while (n != 1 || work[0].state != CUJIT_SIM_WORK_RUNS);
    tap_is_uint(work[0].location, p, "a memory wait has its location");
    tap_has_str(work[0].sentence, "waits for a value at the location 0x", "and a sentence");
    cu.cuStreamWriteValue32(t, p, 1, 0);
    abi_is(cu.cuStreamSynchronize(s), CUDA_SUCCESS, "it ends");
    cu.cuStreamSynchronize(t);
    cu.cuStreamDestroy(s);
    cu.cuStreamDestroy(t);
}

/* The host function returns when the log has named it and the kernel behind it. */
static void stall_is_listed(CUdeviceptr p)
{
    CUstream s = abi_stream();
    cu.cuLaunchHostFunc(s, latch_wait, &listed);
    abi_launch(abi_kernel(&module, "add"), 1, 1, s, p, 1);
    abi_is(cu.cuStreamSynchronize(s), CUDA_SUCCESS, "a stall ends");
    tap_ok(named_first && named_second, "the log had what runs and what waits");
    cu.cuStreamDestroy(s);
}

int main(void)
{
    char build[64];
    setenv("CUJIT_SIM_STALL_MS", "20", 1);
    setenv("CUJIT_SIM_SCHEDULE", "eager", 1);
    snprintf(build, sizeof build, CUJIT_SIM_BUILD_FORMAT, cj_version(), (unsigned long long)cj_table_hash());
    if (cujit_sim_setup(CUJIT_SIM_ABI, build, NULL, NULL, keep, NULL)) tap_bail("no log");
    abi_open();
    tap_ok(cujit_sim_get_symbol(NULL, "cujit_sim_work") != NULL, "it is found by its name");
    CUdeviceptr p = abi_word(0);
    held_stream(p);
    ready_and_running(p);
    ended_by_a_fill(p);
    memory_wait(p);
    stall_is_listed(p);
    cu.cuModuleUnload(module);
    cu.cuMemFree(p);
    return abi_close();
}
