/* cuMemFree, cuMemFreeHost and cuMemHostUnregister wait for work in flight and give up the driver's lock meanwhile:
 * another thread may free the same memory until they return.  One of the calls succeeds, the others fail with
 * CUDA_ERROR_INVALID_VALUE, and nothing is released twice. */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/conformance/driver_abi.h"

enum { BYTES = 65536 };

typedef struct freeing {
    CUresult (*free)(CUdeviceptr d);
    CUdeviceptr d;
    CUcontext ctx;
    CUresult result;
    long thread;    /* its number, while it runs */
    bool ended;
} freeing;

static void *free_it(void *user)
{
    freeing *f = user;
    cu.cuCtxSetCurrent(f->ctx);
    __atomic_store_n(&f->thread, syscall(SYS_gettid), __ATOMIC_SEQ_CST);
    f->result = f->free(f->d);
    __atomic_store_n(&f->ended, true, __ATOMIC_SEQ_CST);
    return NULL;
}

/* Returns when the thread sleeps, in the call that waits, or has ended. */
static void until_asleep(freeing *f)
{
    char path[64], text[256];
    for (;; sched_yield()) {
        long thread = __atomic_load_n(&f->thread, __ATOMIC_SEQ_CST);
        if (__atomic_load_n(&f->ended, __ATOMIC_SEQ_CST)) return;
        if (!thread) continue;
        snprintf(path, sizeof path, "/proc/self/task/%ld/stat", thread);
        FILE *file = fopen(path, "r");
        if (!file) return;
        size_t n = fread(text, 1, sizeof text - 1, file);
        fclose(file);
        text[n] = 0;
        const char *end = strrchr(text, ')');
        if (end && end[1] && end[2] == 'S') return;
    }
}

static CUresult free_device(CUdeviceptr d) { return cu.cuMemFree(d); }
static CUresult free_pinned(CUdeviceptr d) { return cu.cuMemFreeHost((void *)(uintptr_t)d); }
static CUresult unregister(CUdeviceptr d) { return cu.cuMemHostUnregister((void *)(uintptr_t)d); }

static void begin(freeing *f, pthread_t *thread)
{
    cu.cuCtxGetCurrent(&f->ctx);
    if (pthread_create(thread, NULL, free_it, f)) tap_bail("no thread");
    until_asleep(f);
}

/* The memory, its graph and its executable graph are gone while another thread's cuMemFree of it waits. */
static void memory_of_a_graph(void)
{
    struct latch gate;
    CUgraph g;
    CUgraphExec x;
    CUdeviceptr d;
    pthread_t thread;
    CUstream s = abi_stream(), held = abi_stream();
    if (cu.cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_RELAXED) || cu.cuMemAllocAsync(&d, BYTES, s) ||
        cu.cuStreamEndCapture(s, &g) || cu.cuGraphInstantiateWithFlags(&x, g, 0) || cu.cuGraphLaunch(x, s) ||
        cu.cuStreamSynchronize(s))
        tap_bail("no graph with memory");
    abi_hold(&gate, held);
    freeing f = { .free = free_device, .d = d };
    begin(&f, &thread);
    abi_is(cu.cuMemFreeAsync(d, s), CUDA_SUCCESS, "memory of a graph: is freed in a stream");
    abi_is(cu.cuStreamSynchronize(s), CUDA_SUCCESS, "memory of a graph: which reaches it");
    abi_is(cu.cuGraphExecDestroy(x), CUDA_SUCCESS, "memory of a graph: its executable graph is destroyed");
    abi_is(cu.cuGraphDestroy(g), CUDA_SUCCESS, "memory of a graph: and its graph");
    latch_open(&gate);
    pthread_join(thread, NULL);
    abi_is(f.result, CUDA_ERROR_INVALID_VALUE, "memory of a graph: the free that waited finds nothing");
    cu.cuStreamSynchronize(held);
}

static void two_at_once(const char *name, CUresult (*release)(CUdeviceptr), CUdeviceptr d)
{
    struct latch gate;
    pthread_t one, two;
    CUstream held = abi_stream();
    abi_hold(&gate, held);
    freeing a = { .free = release, .d = d }, b = { .free = release, .d = d };
    begin(&a, &one);
    begin(&b, &two);
    latch_open(&gate);
    pthread_join(one, NULL);
    pthread_join(two, NULL);
    tap_ok((a.result == CUDA_SUCCESS) != (b.result == CUDA_SUCCESS), "%s: one of two threads frees it", name);
    tap_ok(a.result + b.result == CUDA_ERROR_INVALID_VALUE, "%s: for the other it is CUDA_ERROR_INVALID_VALUE", name);
    cu.cuStreamSynchronize(held);
}

int main(void)
{
    CUdeviceptr d;
    void *p, *page = malloc(BYTES);
    abi_open();
    memory_of_a_graph();
    if (cu.cuMemAlloc(&d, BYTES)) tap_bail("no memory");
    two_at_once("device memory", free_device, d);
    if (cu.cuMemAllocManaged(&d, BYTES, CU_MEM_ATTACH_GLOBAL)) tap_bail("no managed memory");
    two_at_once("managed memory", free_device, d);
    if (cu.cuMemHostAlloc(&p, BYTES, 0)) tap_bail("no pinned memory");
    two_at_once("pinned memory", free_pinned, (CUdeviceptr)(uintptr_t)p);
    if (cu.cuMemHostRegister(page, BYTES, 0)) tap_bail("no registered memory");
    two_at_once("registered memory", unregister, (CUdeviceptr)(uintptr_t)page);
    free(page);
    return abi_close();
}
