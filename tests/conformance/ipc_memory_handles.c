/* Memory between processes: one allocation, written and read in two of them, in the order of an event that they share.
 * Where a driver or its surroundings refuse that, it is said. */
#include <stdatomic.h>
#include <stdio.h>

#include "../peer.h"
#include "tests/conformance/driver_abi.h"

enum { WORDS = 3000 };

static cji_cu_by_value by_value;
static CUmodule module;
static atomic_int deadlocks;
/* open when the CPU device has reported a wait that takes long: deadlocks were searched for before */
static struct latch long_wait = LATCH_CLOSED;

static void take_log(void *user, cj_log_level level, const char *message)
{
    (void)user;
    if (level == CJ_LOG_ERROR && strstr(message, "deadlock")) atomic_fetch_add(&deadlocks, 1);
    if (strstr(message, "has waited")) latch_open(&long_wait);
}

static void load_by_value(void)
{
    void *lib = tap_on_gpu() ? dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL) : NULL;
    void *p;
    char build[64];
    snprintf(build, sizeof build, CUJIT_SIM_BUILD_FORMAT, cj_version(), (unsigned long long)cj_table_hash());
    if (!tap_on_gpu() && cujit_sim_setup(CUJIT_SIM_ABI, build, NULL, NULL, take_log, NULL)) tap_bail("no log");
#define CU(name, export, version, count, list)                                             \
    p = tap_on_gpu() ? dlsym(lib, #export) : cujit_sim_get_symbol(NULL, #export);          \
    memcpy(&by_value.name, &p, sizeof p);
#include "cuda/byvalue.def"
}

/* ---- The other process ------------------------------------------------------------------------------------------- */

enum { BEGIN, OPEN_EVENT, OPEN, AGAIN, READ, FILL, ADD, WAIT, RECORD, SYNC, FREE, EXPORT, CLOSE };

static CUevent their_event;
static CUstream their_stream;
static CUdeviceptr their_memory;

static int64_t begin(void)
{
    load_by_value();
    abi_load();
    if (cu.cuInit(0) || cu.cuDevicePrimaryCtxRetain(&abi_ctx, 0) || cu.cuCtxSetCurrent(abi_ctx)) return -2;
    return cu.cuStreamCreate(&their_stream, CU_STREAM_NON_BLOCKING);
}

static CUresult open_memory(const peer_question *q, CUdeviceptr *out)
{
    CUipcMemHandle h;
    memcpy(&h, q->handle, sizeof h);
    return by_value.cuIpcOpenMemHandle(out, h, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
}

static int64_t open_event(const peer_question *q)
{
    CUipcEventHandle h;
    memcpy(&h, q->handle, sizeof h);
    return by_value.cuIpcOpenEventHandle(&their_event, h);
}

/* Opened a second time it is at the same address, and stays when it is closed once. */
static int64_t again(const peer_question *q)
{
    CUdeviceptr second = 0;
    const CUresult r = open_memory(q, &second);
    if (r || second != their_memory) return r ? (int64_t)r : -1;
    return cu.cuIpcCloseMemHandle(second);
}

static int64_t answer(const peer_question *q)
{
    CUipcMemHandle h;
    switch (q->what) {
    case BEGIN: return begin();
    case OPEN_EVENT: return open_event(q);
    case OPEN: return open_memory(q, &their_memory);
    case AGAIN: return again(q);
    case READ: return abi_read(their_memory + 4 * q->value);
    case FILL: return cu.cuMemsetD32Async(their_memory, (unsigned)q->value, WORDS, their_stream);
    case ADD: return abi_launch(abi_kernel(&module, "add"), 1, 64, their_stream, their_memory, (unsigned)q->value);
    case WAIT: return cu.cuStreamWaitEvent(their_stream, their_event, 0);
    case RECORD: return cu.cuEventRecord(their_event, their_stream);
    case SYNC: return cu.cuStreamSynchronize(their_stream);
    case FREE: return cu.cuMemFree(their_memory);
    case EXPORT: return cu.cuIpcGetMemHandle(&h, their_memory);
    case CLOSE: return cu.cuIpcCloseMemHandle(their_memory);
    default: return -3;
    }
}

/* ---- This one ---------------------------------------------------------------------------------------------------- */

static CUdeviceptr memory;
static CUipcMemHandle handle;
static CUstream stream;

static void refusals(void)
{
    CUdeviceptr pooled = 0, other = 0;
    CUipcMemHandle h;
    cu.cuMemAllocAsync(&pooled, 4096, stream);
    abi_is(cu.cuIpcGetMemHandle(&h, pooled), CUDA_ERROR_INVALID_VALUE, "memory of a pool has no such handle");
    abi_is(cu.cuIpcGetMemHandle(NULL, memory), CUDA_ERROR_INVALID_VALUE, "a handle wants a place");
    abi_is(by_value.cuIpcOpenMemHandle(&other, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS), CUDA_ERROR_INVALID_CONTEXT,
           "the process that has the memory does not open it");
    abi_is(by_value.cuIpcOpenMemHandle(&other, handle, 6), CUDA_ERROR_INVALID_VALUE, "unknown flags");
    memset(&h, 0x5a, sizeof h);
    const CUresult r = by_value.cuIpcOpenMemHandle(&other, h, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
    tap_ok(r == CUDA_ERROR_INVALID_VALUE || r == CUDA_ERROR_INVALID_HANDLE, "bytes that are no handle are rejected: %d",
           (int)r);
    abi_is(cu.cuIpcCloseMemHandle(memory), CUDA_ERROR_INVALID_VALUE, "what was not opened is not closed");
    cu.cuMemFreeAsync(pooled, stream);
    cu.cuStreamSynchronize(stream);
}

/* Before work is held: a driver may wait for the whole context to load a kernel. */
static void load_kernels(peer *p)
{
    abi_is(peer_ask(p, ADD, 0, NULL), CUDA_SUCCESS, "the other process has a kernel");
    peer_ask(p, SYNC, 0, NULL);
    abi_launch(abi_kernel(&module, "append"), 1, 1, stream, memory + 4 * (WORDS - 2), 0);
    abi_is(cu.cuStreamSynchronize(stream), CUDA_SUCCESS, "and this one");
}

static void both_write(peer *p)
{
    abi_is(peer_ask(p, READ, 0, NULL), 5, "what was written before the handle was given out is there");
    abi_is(peer_ask(p, READ, WORDS - 1, NULL), 5, "to the last word");
    cu.cuMemsetD32Async(memory, 6, WORDS, stream);
    cu.cuStreamSynchronize(stream);
    abi_is(peer_ask(p, READ, 1, NULL), 6, "what is written here is read there");
    abi_is(peer_ask(p, FILL, 7, NULL), CUDA_SUCCESS, "what is written there");
    abi_is(peer_ask(p, SYNC, 0, NULL), CUDA_SUCCESS, "and is done");
    tap_is_uint(abi_read(memory + 4 * (WORDS - 1)), 7, "is read here");
}

/* From here to there and back, on the devices alone. */
static void in_order_of_an_event(peer *p, CUevent e)
{
    struct latch latch;
    abi_hold(&latch, stream);
    cu.cuMemsetD32Async(memory, 100, WORDS, stream);
    cu.cuEventRecord(e, stream);
    abi_is(peer_ask(p, WAIT, 0, NULL), CUDA_SUCCESS, "a stream there waits for what is written here");
    abi_is(peer_ask(p, ADD, 2, NULL), CUDA_SUCCESS, "and adds to it");
    abi_is(peer_ask(p, RECORD, 0, NULL), CUDA_SUCCESS, "the event is recorded behind that");
    abi_is(cu.cuStreamWaitEvent(stream, e, 0), CUDA_SUCCESS, "and waited for here");
    abi_launch(abi_kernel(&module, "append"), 1, 1, stream, memory, 9);
    latch_open(&latch);
    abi_is(cu.cuStreamSynchronize(stream), CUDA_SUCCESS, "when the first goes on");
    tap_is_uint(abi_read(memory), (100 + 64 * 2) * 10 + 9, "each has found what the other has left");
    tap_is_uint(abi_read(memory + 4), 100, "and other words are as they were");
}

/* A location that the other process may write is no deadlock, though the only write that is known here is behind the
 * wait. */
static void words_are_waited_for(peer *p)
{
    cu.cuMemsetD32Async(memory, 0, WORDS, stream);
    abi_is(cu.cuStreamWaitValue32(stream, memory, 64, CU_STREAM_WAIT_VALUE_EQ), CUDA_SUCCESS,
           "a stream waits for a word");
    cu.cuStreamWriteValue32(stream, memory, 64, 0);
    if (!tap_on_gpu()) latch_wait(&long_wait);
    abi_is(peer_ask(p, ADD, 1, NULL), CUDA_SUCCESS, "that a kernel of the other process writes");
    abi_is(cu.cuStreamSynchronize(stream), CUDA_SUCCESS, "and goes on");
    tap_is_int(atomic_load(&deadlocks), 0, "nothing was called a deadlock");
    peer_ask(p, SYNC, 0, NULL);
}

/* A child of fork() has the parent's mappings, and takes nothing from them when it ends. */
static void after_fork(peer *p)
{
    int status = -1;
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) exit(0);
    waitpid(child, &status, 0);
    tap_is_uint(abi_read(memory), 64, "a child that ends leaves the memory as it is");
    abi_is(peer_ask(p, READ, 0, NULL), 64, "in each process");
}

static void closed(peer *p)
{
    abi_is(peer_ask(p, AGAIN, 0, &handle), CUDA_SUCCESS, "opened a second time it is at the same address");
    abi_is(peer_ask(p, READ, 0, NULL), 64, "and stays when it is closed once");
    abi_is(peer_ask(p, FREE, 0, NULL), CUDA_ERROR_INVALID_VALUE, "it is not freed there");
    abi_is(peer_ask(p, EXPORT, 0, NULL), CUDA_ERROR_INVALID_VALUE, "nor given out again");
    abi_is(peer_ask(p, CLOSE, 0, NULL), CUDA_SUCCESS, "but closed");
    abi_is(peer_ask(p, CLOSE, 0, NULL), CUDA_ERROR_INVALID_VALUE, "once as often as it was opened");
    tap_is_uint(abi_read(memory), 64, "here it lives on");
    abi_is(peer_ask(p, OPEN, 0, &handle), CUDA_SUCCESS, "and is opened anew");
    abi_is(peer_ask(p, CLOSE, 0, NULL), CUDA_SUCCESS, "and closed");
    abi_is(cu.cuMemFree(memory), CUDA_SUCCESS, "when it is freed");
    abi_is(peer_ask(p, OPEN, 0, &handle), CUDA_ERROR_INVALID_VALUE, "its handle leads nowhere");
}

int main(int argc, char **argv)
{
    if (argc > 2) return peer_serve(argv[2], answer);
    CUevent e = NULL;
    CUipcEventHandle event_handle;
    setenv("CUJIT_SIM_STALL_MS", "30", 1);
    load_by_value();
    abi_open();
    stream = abi_stream();
    CUresult r = cu.cuMemAlloc(&memory, 4 * WORDS);
    cu.cuMemsetD32Async(memory, 5, WORDS, stream);
    cu.cuStreamSynchronize(stream);
    if (!r) r = cu.cuIpcGetMemHandle(&handle, memory);
    if (!r) r = cu.cuEventCreate(&e, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING);
    if (!r) r = cu.cuIpcGetEventHandle(&event_handle, e);
    if (r && tap_on_gpu()) {
        tap_skip(1, "this driver gives out no memory: %d", (int)r);
        return abi_close();
    }
    abi_is(r, CUDA_SUCCESS, "memory and an event have handles");
    peer p;
    peer_start(&p);
    r = (CUresult)peer_ask(&p, BEGIN, 0, NULL);
    if (!r) r = (CUresult)peer_ask(&p, OPEN, 0, &handle);
    if (!r) r = (CUresult)peer_ask(&p, OPEN_EVENT, 0, &event_handle);
    if (r && tap_on_gpu()) {
        tap_skip(1, "this driver opens no memory of another process: %d", (int)r);
        peer_end(&p);
        return abi_close();
    }
    abi_is(r, CUDA_SUCCESS, "which another process opens");
    refusals();
    load_kernels(&p);
    both_write(&p);
    in_order_of_an_event(&p, e);
    words_are_waited_for(&p);
    if (!tap_on_gpu()) after_fork(&p);
    closed(&p);
    tap_is_int(peer_end(&p), 0, "the other process ends well");
    cu.cuEventDestroy(e);
    cu.cuModuleUnload(module);
    cu.cuStreamDestroy(stream);
    return abi_close();
}
