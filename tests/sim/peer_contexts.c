/* Two devices: contexts, streams and events of each, waits across, copies and access between them (semantics 15, 21,
 * 25, 45). */
#include <stdlib.h>

#include "tests/conformance/driver_abi.h"

/* A graph copies to and from memory of another device's pool where its own device has access only; a call does without.
 * */
static void pools_in_graphs(CUcontext *c, CUstream *s)
{
    CUdeviceptr pooled = 0, own = 0;
    CUmemoryPool pool;
    CUgraph g, captured = NULL;
    CUgraphNode n;
    const CUmemAccessDesc access = { .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0 },
                                     .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE };
    cu.cuCtxSetCurrent(c[1]);
    cu.cuMemAllocAsync(&pooled, 64, s[1]);
    cu.cuStreamSynchronize(s[1]);
    cu.cuCtxSetCurrent(c[0]);
    cu.cuMemAllocAsync(&own, 64, s[0]);
    cu.cuGraphCreate(&g, 0);
    const CUDA_MEMCPY3D p = { .srcMemoryType = CU_MEMORYTYPE_UNIFIED,
                              .srcDevice = own,
                              .dstMemoryType = CU_MEMORYTYPE_UNIFIED,
                              .dstDevice = pooled,
                              .WidthInBytes = 64,
                              .Height = 1,
                              .Depth = 1 };
    abi_is(cu.cuGraphAddMemcpyNode(&n, g, NULL, 0, &p, c[0]), CUDA_ERROR_INVALID_VALUE,
           "a node that copies to a pool's memory of the other device");
    cu.cuStreamBeginCapture(s[0], CU_STREAM_CAPTURE_MODE_RELAXED);
    abi_is(cu.cuMemcpyAsync(pooled, own, 64, s[0]), CUDA_ERROR_INVALID_VALUE, "and a captured copy");
    if (!cu.cuStreamEndCapture(s[0], &captured)) cu.cuGraphDestroy(captured);
    abi_is(cu.cuMemcpyPeerAsync(pooled, c[1], own, c[0], 64, s[0]), CUDA_SUCCESS, "a call does it");
    cu.cuDeviceGetMemPool(&pool, 1);
    abi_is(cu.cuMemPoolSetAccess(pool, &access, 1), CUDA_SUCCESS, "with access to the pool");
    abi_is(cu.cuGraphAddMemcpyNode(&n, g, NULL, 0, &p, c[0]), CUDA_SUCCESS, "so does a node");
    cu.cuMemPoolSetAccess(pool,
                          &(CUmemAccessDesc){ .location = access.location, .flags = CU_MEM_ACCESS_FLAGS_PROT_NONE }, 1);
    cu.cuGraphDestroy(g);
    cu.cuMemFreeAsync(own, s[0]);
    cu.cuStreamSynchronize(s[0]);
    cu.cuCtxSetCurrent(c[1]);
    cu.cuMemFreeAsync(pooled, s[1]);
    cu.cuStreamSynchronize(s[1]);
}

int main(void)
{
    CUcontext c[2];
    CUstream s[2], t;
    CUevent e[2], timed[2];
    CUdeviceptr p[2];
    CUmodule m[2] = { NULL, NULL };
    CUfunction append[2], add;
    struct latch latch;
    int can = 0;
    float ms;
    setenv("CUJIT_SIM_DEVICES", "2", 1);
    tap_plan(0);
    abi_load();
    if (cu.cuInit(0)) tap_bail("no driver");
    for (int i = 0; i < 2; i++) {
        abi_is(cu.cuDevicePrimaryCtxRetain(&c[i], i), CUDA_SUCCESS, "device %d: its context", i);
        abi_is(cu.cuCtxSetCurrent(c[i]), CUDA_SUCCESS, "device %d: made current", i);
        append[i] = abi_kernel(&m[i], "append");
        s[i] = abi_stream();
        e[i] = abi_event();
        cu.cuEventCreate(&timed[i], CU_EVENT_DEFAULT);
        p[i] = abi_word(0);
    }
    abi_is(abi_launch(append[0], 1, 1, s[1], p[0], 1), CUDA_ERROR_INVALID_HANDLE,
           "a kernel of one device on a stream of the other");
    abi_is(cu.cuEventRecord(e[0], s[1]), CUDA_ERROR_INVALID_HANDLE,
           "an event of one device recorded on a stream of the other");

    abi_hold(&latch, s[0]);
    abi_launch(append[0], 1, 1, s[0], p[0], 7);
    abi_is(cu.cuEventRecord(e[0], s[0]), CUDA_SUCCESS, "recorded on its own");
    abi_is(cu.cuStreamWaitEvent(s[1], e[0], 0), CUDA_SUCCESS, "a stream of the other device may wait for it");
    abi_is(cu.cuMemcpyDtoDAsync(p[1], p[0], 4, s[1]), CUDA_SUCCESS, "and copy what was made there");
    abi_launch(append[1], 1, 1, s[1], p[1], 8);
    abi_is(cu.cuStreamQuery(s[1]), CUDA_ERROR_NOT_READY, "it waits");
    latch_open(&latch);
    abi_is(cu.cuStreamSynchronize(s[1]), CUDA_SUCCESS, "and ends");
    tap_is_uint(abi_read(p[1]), 78, "in order");

    for (int i = 0; i < 2; i++) {
        cu.cuEventRecord(timed[i], s[i]);
        cu.cuEventSynchronize(timed[i]);
    }
    abi_is(cu.cuEventElapsedTime(&ms, timed[0], timed[1]), CUDA_ERROR_INVALID_HANDLE,
           "no time between events of two devices");

    abi_is(cu.cuDeviceCanAccessPeer(&can, 0, 1), CUDA_SUCCESS, "whether one may reach the other");
    tap_is_int(can, 1, "it may");
    cu.cuCtxSetCurrent(c[1]);
    abi_is(cu.cuCtxEnablePeerAccess(c[0], 0), CUDA_SUCCESS, "access is given");
    abi_is(cu.cuCtxEnablePeerAccess(c[0], 0), CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED, "once");
    abi_is(abi_launch(append[1], 1, 1, s[1], p[0], 9), CUDA_SUCCESS, "a kernel reaches the other device's memory");
    abi_is(cu.cuStreamSynchronize(s[1]), CUDA_SUCCESS, "without a fault");
    tap_is_uint(abi_read(p[0]), 79, "and changes it");
    abi_is(cu.cuCtxDisablePeerAccess(c[0]), CUDA_SUCCESS, "access is taken");

    pools_in_graphs(c, s);

    /* In one direction only: the other device never had it.  Its fault stays with it. */
    cu.cuCtxSetCurrent(c[0]);
    add = abi_kernel(&m[0], "add");
    t = abi_stream();
    abi_is(abi_launch(add, 1, 1, t, p[1], 1), CUDA_SUCCESS, "a kernel that reaches for memory it may not");
    abi_is(cu.cuStreamSynchronize(t), CUDA_ERROR_ILLEGAL_ADDRESS, "faults");
    abi_is(cu.cuStreamQuery(s[1]), CUDA_SUCCESS, "the other device goes on");
    cu.cuCtxSetCurrent(c[1]);
    tap_is_uint(abi_read(p[1]), 78, "its memory is as it was");
    cu.cuCtxSetCurrent(NULL);
    for (int i = 0; i < 2; i++)
        abi_is(cu.cuDevicePrimaryCtxRelease(i), CUDA_SUCCESS, "device %d: released with all that is in it", i);
    return tap_done();
}
