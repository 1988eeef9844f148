/* A kernel's fault stays with its context, is named in the log, and ends nothing else (semantics 33, 78). */
#include <stdio.h>

#include "tests/conformance/driver_abi.h"

static CUmodule module;
static char lines[4096];
static int host_funcs, callback_status = -1;

static void keep(void *user, cj_log_level level, const char *line)
{
    size_t n = strlen(lines);
    (void)user, (void)level;
    snprintf(lines + n, sizeof lines - n, "%s\n", line);
}

static void host(void *user) { (void)user; host_funcs++; }
static void callback(CUstream s, CUresult status, void *user) { (void)s, (void)user; callback_status = (int)status; }

int main(void)
{
    struct latch gate;
    void *held = NULL;
    CUdeviceptr hold = 0;
    char build[64];
    cujit_sim_fault_info fault = { .size = sizeof fault };
    tap_plan(0);
    snprintf(build, sizeof build, CUJIT_SIM_BUILD_FORMAT, cj_version(), (unsigned long long)cj_table_hash());
    tap_is_int(cujit_sim_setup(CUJIT_SIM_ABI, build, NULL, NULL, keep, NULL), CJ_OK, "the log goes to us");
    abi_load();
    if (cu.cuInit(0) || cu.cuDevicePrimaryCtxRetain(&abi_ctx, 0) || cu.cuCtxSetCurrent(abi_ctx)) tap_bail("no context");
    CUfunction add = abi_kernel(&module, "add");
    CUstream s = abi_stream(), t = abi_stream();
    CUevent e = abi_event();
    CUdeviceptr p = abi_word(0), q = abi_word(0), other = 0;
    CUcontext own = NULL;
    cu.cuMemFree(q);
    cu.cuMemHostAlloc(&held, 4, CU_MEMHOSTALLOC_DEVICEMAP);
    cu.cuMemHostGetDevicePointer(&hold, held, 0);
    __atomic_store_n((unsigned *)held, 0, __ATOMIC_SEQ_CST);
    cu.cuStreamWaitValue32(t, hold, 1, CU_STREAM_WAIT_VALUE_EQ);
    abi_launch(add, 1, 1, t, p, 1);
    abi_hold(&gate, s);
    abi_is(abi_launch(add, 1, 1, s, q, 1), CUDA_SUCCESS, "a kernel that writes to freed memory is launched");
    cu.cuLaunchHostFunc(s, host, NULL);
    cu.cuStreamAddCallback(s, callback, NULL, 0);
    cu.cuEventRecord(e, s);
    latch_open(&gate);
    abi_is(cu.cuStreamSynchronize(s), CUDA_ERROR_ILLEGAL_ADDRESS, "and faults");
    tap_has_str(lines, "add", "the log names the kernel");
    tap_has_str(lines, "freed", "and says what is wrong with the address");
    tap_is_int(host_funcs, 0, "a host function behind it is not called");
    tap_is_int(callback_status, CUDA_ERROR_ILLEGAL_ADDRESS, "a callback is, with the error");
    tap_is_int(cujit_sim_fault(abi_ctx, &fault), 1, "the fault can be read");
    tap_is_int(fault.code, CUDA_ERROR_ILLEGAL_ADDRESS, "its code");
    tap_is_int(fault.kind, CUJIT_SIM_FAULT_ADDRESS, "its kind");
    tap_is_str(fault.kernel, "add", "the kernel's name");
    tap_ok(fault.module == (void *)module && fault.stream == (void *)s, "its module and stream");
    tap_is_uint(fault.address, q, "the address");
    tap_has_str(lines, fault.sentence, "and the sentence of the log");
    abi_is(cu.cuEventQuery(e), CUDA_ERROR_ILLEGAL_ADDRESS, "every later call of the context gives it: an event");
    abi_is(cu.cuMemAlloc(&other, 4), CUDA_ERROR_ILLEGAL_ADDRESS, "an allocation");
    abi_is(abi_launch(add, 1, 1, s, p, 1), CUDA_ERROR_ILLEGAL_ADDRESS, "a launch");
    __atomic_store_n((unsigned *)held, 1, __ATOMIC_SEQ_CST);
    abi_is(cu.cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS, "a synchronization, which returns");
    abi_is(cu.cuCtxCreate(&own, 0, 0), CUDA_SUCCESS, "another context of the device");
    abi_is(cu.cuMemAlloc(&other, 4), CUDA_SUCCESS, "works");
    abi_is(cu.cuCtxDestroy(own), CUDA_SUCCESS, "and ends");
    abi_is(cu.cuStreamDestroy(s), CUDA_ERROR_ILLEGAL_ADDRESS, "a release gives the error too");
    cu.cuStreamDestroy(t);
    cu.cuEventDestroy(e);
    cu.cuModuleUnload(module);
    cu.cuCtxSetCurrent(NULL);
    abi_is(cu.cuDevicePrimaryCtxRelease(0), CUDA_SUCCESS, "the context is released");
    abi_is(cu.cuDevicePrimaryCtxRetain(&own, 0), CUDA_ERROR_ILLEGAL_ADDRESS, "only a new process is free of it");
    return tap_done();
}
