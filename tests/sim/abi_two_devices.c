/* Two devices: contexts, streams and events of each, waits across, copies and access between them (semantics 15, 21, 25, 45). */
#include <stdlib.h>

#include "sim_abi.h"

int main(void)
{
    CUcontext c[2];
    CUstream s[2], t;
    CUevent e[2], timed[2];
    CUdeviceptr p[2];
    CUmodule m[2] = { NULL, NULL };
    CUfunction append[2], add;
    abi_latch latch;
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
    abi_is(abi_launch(append[0], 1, 1, s[1], p[0], 1), CUDA_ERROR_INVALID_HANDLE, "a kernel of one device on a stream of the other");
    abi_is(cu.cuEventRecord(e[0], s[1]), CUDA_ERROR_INVALID_HANDLE, "an event of one device recorded on a stream of the other");

    abi_latch_put(&latch, s[0]);
    abi_launch(append[0], 1, 1, s[0], p[0], 7);
    abi_is(cu.cuEventRecord(e[0], s[0]), CUDA_SUCCESS, "recorded on its own");
    abi_is(cu.cuStreamWaitEvent(s[1], e[0], 0), CUDA_SUCCESS, "a stream of the other device may wait for it");
    abi_is(cu.cuMemcpyDtoDAsync(p[1], p[0], 4, s[1]), CUDA_SUCCESS, "and copy what was made there");
    abi_launch(append[1], 1, 1, s[1], p[1], 8);
    abi_is(cu.cuStreamQuery(s[1]), CUDA_ERROR_NOT_READY, "it waits");
    abi_latch_open(&latch);
    abi_is(cu.cuStreamSynchronize(s[1]), CUDA_SUCCESS, "and ends");
    tap_is_uint(abi_read(p[1]), 78, "in order");

    for (int i = 0; i < 2; i++) {
        cu.cuEventRecord(timed[i], s[i]);
        cu.cuEventSynchronize(timed[i]);
    }
    abi_is(cu.cuEventElapsedTime(&ms, timed[0], timed[1]), CUDA_ERROR_INVALID_HANDLE, "no time between events of two devices");

    abi_is(cu.cuDeviceCanAccessPeer(&can, 0, 1), CUDA_SUCCESS, "whether one may reach the other");
    tap_is_int(can, 1, "it may");
    cu.cuCtxSetCurrent(c[1]);
    abi_is(cu.cuCtxEnablePeerAccess(c[0], 0), CUDA_SUCCESS, "access is given");
    abi_is(cu.cuCtxEnablePeerAccess(c[0], 0), CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED, "once");
    abi_is(abi_launch(append[1], 1, 1, s[1], p[0], 9), CUDA_SUCCESS, "a kernel reaches the other device's memory");
    abi_is(cu.cuStreamSynchronize(s[1]), CUDA_SUCCESS, "without a fault");
    tap_is_uint(abi_read(p[0]), 79, "and changes it");
    abi_is(cu.cuCtxDisablePeerAccess(c[0]), CUDA_SUCCESS, "access is taken");

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
    for (int i = 0; i < 2; i++) abi_is(cu.cuDevicePrimaryCtxRelease(i), CUDA_SUCCESS, "device %d: released with all that is in it", i);
    return tap_done();
}
