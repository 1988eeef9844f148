/* Contexts as an H100 has them: calls without a current one, a primary context that is reset while it is retained,
 * cuCtxCreate_v4 without parameters, and memory that is pinned twice. */
#include "driver_abi.h"

/* Handles have a context of their own; what makes something new needs a current one. */
static void none_is_current(void)
{
    CUmodule m = NULL;
    CUfunction f = abi_kernel(&m, "add");
    CUdeviceptr p = abi_word(0), q = 0;
    CUstream s = abi_stream(), t = NULL;
    CUevent e = abi_event(), d = NULL;
    CUcontext c = NULL;
    void *host = NULL, *more = NULL;
    unsigned v = 5;
    if (cu.cuMemHostAlloc(&host, 64, 0)) tap_bail("no pinned memory");
    abi_is(cu.cuCtxPopCurrent(&c), CUDA_SUCCESS, "no context is current");

    abi_is(cu.cuMemAlloc(&q, 16), CUDA_ERROR_INVALID_CONTEXT, "cuMemAlloc needs one");
    abi_is(cu.cuMemsetD8(p, 0, 4), CUDA_ERROR_INVALID_CONTEXT, "cuMemsetD8 does");
    abi_is(cu.cuMemcpyHtoD(p, &v, 4), CUDA_ERROR_INVALID_CONTEXT, "cuMemcpyHtoD does");
    abi_is(cu.cuMemHostAlloc(&more, 16, 0), CUDA_ERROR_INVALID_CONTEXT, "cuMemHostAlloc does");
    abi_is(cu.cuStreamCreate(&t, 0), CUDA_ERROR_INVALID_CONTEXT, "cuStreamCreate does");
    abi_is(cu.cuEventCreate(&d, 0), CUDA_ERROR_INVALID_CONTEXT, "cuEventCreate does");
    abi_is(cu.cuCtxSynchronize(), CUDA_ERROR_INVALID_CONTEXT, "cuCtxSynchronize does");

    abi_is(cu.cuMemcpyHtoDAsync(p, &v, 4, s), CUDA_SUCCESS, "a copy on a stream has the stream's");
    abi_is(abi_launch(f, 1, 2, s, p, 3), CUDA_SUCCESS, "a launch too");
    abi_is(cu.cuEventRecord(e, s), CUDA_SUCCESS, "a record");
    abi_is(cu.cuStreamSynchronize(s), CUDA_SUCCESS, "a synchronization");
    abi_is(cu.cuStreamQuery(s), CUDA_SUCCESS, "a query");
    abi_is(cu.cuEventQuery(e), CUDA_SUCCESS, "of an event too");
    abi_is(cu.cuMemcpyDtoHAsync(&v, p, 4, s), CUDA_SUCCESS, "a copy back");
    abi_is(cu.cuStreamSynchronize(s), CUDA_SUCCESS, "that is done");
    tap_is_uint(v, 11, "the kernel has run");

    abi_is(cu.cuMemFree(p), CUDA_SUCCESS, "memory is freed");
    abi_is(cu.cuMemFreeHost(host), CUDA_SUCCESS, "pinned memory");
    abi_is(cu.cuModuleUnload(m), CUDA_SUCCESS, "a module is unloaded");
    abi_is(cu.cuEventDestroy(e), CUDA_SUCCESS, "an event is destroyed");
    abi_is(cu.cuStreamDestroy(s), CUDA_SUCCESS, "a stream too");
    abi_is(cu.cuCtxPushCurrent(c), CUDA_SUCCESS, "it is current again");
}

static void reset_while_retained(void)
{
    CUcontext again = NULL, popped = NULL;
    CUdeviceptr p = abi_word(1), q = 0;
    abi_is(cu.cuDevicePrimaryCtxReset(0), CUDA_SUCCESS, "the primary context is reset");
    abi_is(cu.cuMemAlloc(&q, 16), CUDA_ERROR_CONTEXT_IS_DESTROYED, "it allocates nothing");
    abi_is(cu.cuMemFree(p), CUDA_ERROR_CONTEXT_IS_DESTROYED, "and frees nothing");
    abi_is(cu.cuCtxSetCurrent(abi_ctx), CUDA_SUCCESS, "its handle can be set");
    abi_is(cu.cuCtxPushCurrent(abi_ctx), CUDA_SUCCESS, "and pushed");
    abi_is(cu.cuCtxPopCurrent(&popped), CUDA_SUCCESS, "and popped");
    tap_ok(popped == abi_ctx, "as it was");
    abi_is(cu.cuDevicePrimaryCtxRetain(&again, 0), CUDA_SUCCESS, "retained once more");
    tap_ok(again == abi_ctx, "it has the same handle");
    abi_is(cu.cuMemAlloc(&q, 16), CUDA_SUCCESS, "and works again");
    abi_is(cu.cuMemFree(q), CUDA_SUCCESS, "both ways");
    abi_is(cu.cuDevicePrimaryCtxRelease(0), CUDA_SUCCESS, "released once");
}

static void created_without_parameters(void)
{
    CUctxCreateParams none = { 0 };
    CUcontext c = NULL, now = NULL;
    abi_is(cu.cuCtxCreate_v4(&c, &none, 0, 0), CUDA_SUCCESS, "parameters of zeros");
    abi_is(cu.cuCtxGetCurrent(&now), CUDA_SUCCESS, "make an ordinary context");
    tap_ok(now == c, "which is current");
    abi_is(cu.cuCtxDestroy(c), CUDA_SUCCESS, "destroyed");
    abi_is(cu.cuCtxCreate_v4(&c, NULL, 0, 0), CUDA_SUCCESS, "no parameters");
    abi_is(cu.cuCtxDestroy(c), CUDA_SUCCESS, "do too");
    abi_is(cu.cuCtxCreate_v3(&c, NULL, 0, 0, 0), CUDA_SUCCESS, "as for version 3");
    abi_is(cu.cuCtxDestroy(c), CUDA_SUCCESS, "which is destroyed");
}

static void pinned_twice(void)
{
    static char page[16384];
    void *host = NULL;
    abi_is(cu.cuMemHostAlloc(&host, 8192, 0), CUDA_SUCCESS, "pinned memory");
    abi_is(cu.cuMemHostRegister(host, 8192, 0), CUDA_ERROR_INVALID_VALUE, "is not registered");
    abi_is(cu.cuMemHostRegister(page, sizeof page, 0), CUDA_SUCCESS, "the program's memory is");
    abi_is(cu.cuMemHostRegister(page, sizeof page, 0), CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, "once");
    abi_is(cu.cuMemHostUnregister(page), CUDA_SUCCESS, "until it is taken back");
    abi_is(cu.cuMemFreeHost(host), CUDA_SUCCESS, "free");
}

int main(void)
{
    abi_open();
    none_is_current();
    reset_while_retained();
    created_without_parameters();
    pinned_twice();
    return abi_close();
}
