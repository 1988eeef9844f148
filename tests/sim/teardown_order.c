/* The process ends with objects that use those of another device or outlive what they came from: nothing is used after
 * it was freed. A checker of memory sees what is wrong; without one a broken heap ends the child by a signal. */
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/conformance/driver_abi.h"

static CUcontext context_of(CUdevice d)
{
    CUcontext c = NULL;
    if (cu.cuDevicePrimaryCtxRetain(&c, d) || cu.cuCtxSetCurrent(c)) exit(2);
    return c;
}

static CUmemoryPool pool_of(CUdevice d)
{
    CUmemPoolProps props = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                             .location = { CU_MEM_LOCATION_TYPE_DEVICE, d } };
    CUmemoryPool p = NULL;
    if (cu.cuMemPoolCreate(&p, &props)) exit(3);
    return p;
}

static CUdeviceptr memory_of(CUmemoryPool p)
{
    CUdeviceptr at = 0;
    if (cu.cuMemAllocFromPoolAsync(&at, 4096, p, abi_stream())) exit(4);
    return at;
}

static void pool_of_the_other_device(void)
{
    context_of(1);
    memory_of(pool_of(0));
}

static void destroyed_pool_of_the_other_device(void)
{
    context_of(1);
    CUmemoryPool p = pool_of(0);
    memory_of(p);
    if (cu.cuMemPoolDestroy(p)) exit(5);
}

static void pools_of_both_devices(void)
{
    context_of(0);
    memory_of(pool_of(1));
    context_of(1);
    memory_of(pool_of(0));
}

static void pending_free_of_other_memory(void)
{
    static struct latch never = LATCH_CLOSED;
    context_of(1);
    CUstream s = abi_stream();
    CUdeviceptr at = memory_of(pool_of(0));
    cu.cuLaunchHostFunc(s, latch_wait, &never);
    if (cu.cuMemFreeAsync(at, s)) exit(6);
    latch_open(&never);
}

/* The context that the memory was made in is destroyed; the free is in a stream of another context. */
static void free_after_its_context(void)
{
    static struct latch gate = LATCH_CLOSED;
    CUcontext own;
    CUdeviceptr again = 0;
    context_of(0);
    CUstream s = abi_stream();
    if (cu.cuCtxCreate(&own, 0, 0)) exit(7);
    CUmemoryPool p = pool_of(0);
    CUdeviceptr at = memory_of(p);
    cu.cuCtxPopCurrent(&own);
    cu.cuLaunchHostFunc(s, latch_wait, &gate);
    if (cu.cuMemFreeAsync(at, s) || cu.cuCtxDestroy(own)) exit(8);
    if (cu.cuMemAllocFromPoolAsync(&again, 64, p, s)) exit(9);
    latch_open(&gate);
    cu.cuCtxSynchronize();
}

/* Device 1 is held; device 0, which ends first, waits for it, and has work behind that. */
static void work_behind_the_other_device(void)
{
    CUevent e;
    void *word;
    context_of(1);
    CUstream held = abi_stream();
    if (cu.cuMemHostAlloc(&word, 64, 0)) exit(14);
    *(uint32_t *)word = 0;
    if (cu.cuStreamWaitValue32(held, (CUdeviceptr)(uintptr_t)word, 1, 0) || cu.cuEventCreate(&e, 2)) exit(15);
    if (cu.cuEventRecord(e, held)) exit(16);
    context_of(0);
    CUdeviceptr at = memory_of(pool_of(0));
    CUstream s = abi_stream();
    for (int i = 0; i < 20; i++)
        if (cu.cuStreamWaitEvent(s, e, 0) || cu.cuMemsetD8Async(at, 1, 64, s)) exit(17);
}

static CUgraph graph_with_memory(CUdevice d)
{
    CUgraph g = NULL;
    CUgraphNode n;
    CUDA_MEM_ALLOC_NODE_PARAMS p = { .poolProps = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                                                    .location = { CU_MEM_LOCATION_TYPE_DEVICE, d } },
                                     .bytesize = 4096 };
    if (cu.cuGraphCreate(&g, 0) || cu.cuGraphAddMemAllocNode(&n, g, NULL, 0, &p)) exit(10);
    return g;
}

static void memory_of_a_graph(void)
{
    CUgraphExec x;
    context_of(0);
    context_of(1);
    CUgraph g = graph_with_memory(0);
    context_of(0);
    if (cu.cuGraphInstantiateWithFlags(&x, g, 0) || cu.cuGraphLaunch(x, abi_stream())) exit(11);
}

static void graph_whose_context_is_destroyed(void)
{
    CUcontext own;
    CUgraphExec x;
    context_of(0);
    if (cu.cuCtxCreate(&own, 0, 0)) exit(12);
    CUgraph g = graph_with_memory(0);
    if (cu.cuGraphInstantiateWithFlags(&x, g, 0) || cu.cuGraphLaunch(x, abi_stream()) || cu.cuCtxDestroy(own)) exit(13);
}

static void graph_that_copies_from_a_pool(void)
{
    CUstream s;
    CUgraph g;
    CUgraphExec x;
    context_of(0);
    CUmemoryPool p = pool_of(0);
    CUdeviceptr at = memory_of(p), to = memory_of(p);
    s = abi_stream();
    if (cu.cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_RELAXED) || cu.cuMemcpyDtoDAsync(to, at, 64, s) ||
        cu.cuStreamEndCapture(s, &g) || cu.cuGraphInstantiateWithFlags(&x, g, 0) || cu.cuGraphLaunch(x, s) ||
        cu.cuMemPoolDestroy(p))
        exit(14);
}

static const struct { const char *name; void (*run)(void); } cases[] = {
    { "memory from a pool of another device", pool_of_the_other_device },
    { "a destroyed pool of another device with memory", destroyed_pool_of_the_other_device },
    { "pools of both devices, used by the other", pools_of_both_devices },
    { "a free that was not reached", pending_free_of_other_memory },
    { "a free whose memory went with its context", free_after_its_context },
    { "memory of a graph on another device", memory_of_a_graph },
    { "a graph with memory whose context is destroyed", graph_whose_context_is_destroyed },
    { "work that waits for another device", work_behind_the_other_device },
    { "a graph that copies from a destroyed pool", graph_that_copies_from_a_pool },
};

int main(void)
{
    tap_plan(0);
    abi_load();
    setenv("CUJIT_SIM_DEVICES", "2", 1);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int status = 0;
        pid_t child = fork();
        if (child == 0) {
            if (cu.cuInit(0)) exit(1);
            cases[i].run();
            exit(0);
        }
        waitpid(child, &status, 0);
        tap_is_int(status, 0, "the process ends with %s", cases[i].name);
    }
    return tap_done();
}
