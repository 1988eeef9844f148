/* Older forms of calls, which programs still link to or look up: they do what the newer ones do. */
#include "driver_abi.h"

/* Entry points by the type of the row and another name of it. */
#define OLDER(row, export) ((cji_PFN_##row)(uintptr_t)abi_symbol(export))

static void devices(void)
{
    int major = 0, minor = 0, want = 0;
    CUdevprop p = { 0 };
    unsigned bytes = 0;
    size_t all = 0;
    abi_is(cx.cuDeviceComputeCapability(&major, &minor, 0), CUDA_SUCCESS, "the compute capability");
    cu.cuDeviceGetAttribute(&want, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 0);
    tap_is_int(major, want, "is the attribute");
    cu.cuDeviceGetAttribute(&want, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 0);
    tap_is_int(minor, want, "both numbers of it");
    abi_is(cx.cuDeviceComputeCapability(NULL, &minor, 0), CUDA_ERROR_INVALID_VALUE, "nowhere to write it");
    abi_is(cx.cuDeviceComputeCapability(&major, &minor, 99), CUDA_ERROR_INVALID_DEVICE, "of no device");
    abi_is(cx.cuDeviceGetProperties(&p, 0), CUDA_SUCCESS, "properties");
    tap_ok(p.maxThreadsPerBlock == 1024 && p.maxThreadsDim[2] == 64 && p.SIMDWidth == 32 && p.regsPerBlock == 65536,
           "are the attributes");
    abi_is(cx.cuDeviceTotalMem_v1(&bytes, 0), CUDA_SUCCESS, "memory in 32 bits");
    cu.cuDeviceTotalMem(&all, 0);
    tap_is_uint(bytes, all > UINT32_MAX ? UINT32_MAX : all, "at most 4 GiB of it");
}

static void contexts(void)
{
    CUcontext c = NULL, d = NULL, now = NULL;
    CUfunc_cache cache = CU_FUNC_CACHE_PREFER_L1;
    CUsharedconfig banks = CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE;
    tap_ok(OLDER(cuCtxCreate, "cuCtxCreate")(&d, 0, 0) != CUDA_SUCCESS, "none of CUDA 2, with addresses of 32 bits");
    abi_is(cu.cuCtxCreate(&c, 0, 0), CUDA_SUCCESS, "a context");
    abi_is(cx.cuCtxAttach(&d, 0), CUDA_SUCCESS, "is used once more");
    tap_ok(c == d, "the current context");
    abi_is(cx.cuCtxAttach(&d, 1), CUDA_ERROR_INVALID_VALUE, "there are no flags");
    abi_is(cx.cuCtxSetCacheConfig(CU_FUNC_CACHE_PREFER_SHARED), CUDA_SUCCESS, "a preference for shared memory");
    abi_is(cx.cuCtxGetCacheConfig(&cache), CUDA_SUCCESS, "is read");
    tap_is_int(cache, CU_FUNC_CACHE_PREFER_SHARED, "as it was set");
    abi_is(cx.cuCtxSetCacheConfig((CUfunc_cache)7), CUDA_ERROR_INVALID_VALUE, "no such preference");
    abi_is(cx.cuCtxGetSharedMemConfig(&banks), CUDA_SUCCESS, "banks of shared memory");
    tap_is_int(banks, CU_SHARED_MEM_CONFIG_FOUR_BYTE_BANK_SIZE, "have four bytes");
    abi_is(cx.cuCtxSetSharedMemConfig((CUsharedconfig)9), CUDA_ERROR_INVALID_VALUE, "no such width");
    abi_is(cx.cuProfilerStart(), CUDA_SUCCESS, "profiling begins");
    abi_is(cx.cuProfilerStop(), CUDA_SUCCESS, "and ends");
    abi_is(cx.cuCtxResetPersistingL2Cache(), CUDA_SUCCESS, "the cache is reset");
    abi_is(cx.cuCtxDetach(c), CUDA_SUCCESS, "used once less");
    abi_is(cu.cuCtxGetCurrent(&now), CUDA_SUCCESS, "it is still there");
    tap_ok(now == c, "and current");
    abi_is(cx.cuCtxDetach(c), CUDA_SUCCESS, "the last use ends it");
    cu.cuCtxGetCurrent(&now);
    tap_ok(now == abi_ctx, "the one before is current");
    abi_is(cu.cuCtxPushCurrent(abi_ctx), CUDA_SUCCESS, "push");
    abi_is(OLDER(cuCtxPopCurrent, "cuCtxPopCurrent")(&now), CUDA_SUCCESS, "pop");
    tap_ok(now == abi_ctx, "what was pushed");
}

static void memory(void)
{
    CUdeviceptr p = 0;
    int read_mostly = -1, preferred = -1;
    void *data[] = { &read_mostly, &preferred };
    size_t size[] = { sizeof read_mostly, sizeof preferred };
    CUmem_range_attribute attribute[] = { CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY,
                                          CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION };
    CUmemLocation here = { CU_MEM_LOCATION_TYPE_DEVICE, 0 }, nowhere = { CU_MEM_LOCATION_TYPE_DEVICE, 77 };
    abi_is(cu.cuMemAllocManaged(&p, 4096, CU_MEM_ATTACH_GLOBAL), CUDA_SUCCESS, "managed memory");
    abi_is(cx.cuMemAdvise_v2(p, 4096, CU_MEM_ADVISE_SET_READ_MOSTLY, here), CUDA_SUCCESS, "advice");
    abi_is(cx.cuMemAdvise_v2(p, 4096, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, here), CUDA_SUCCESS, "with a place");
    abi_is(cx.cuMemAdvise_v2(p, 4096, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, nowhere), CUDA_ERROR_INVALID_VALUE,
           "that does not exist");
    abi_is(cx.cuMemPrefetchAsync_v2(p, 4096, here, 0, NULL), CUDA_SUCCESS, "prefetch to it");
    abi_is(cx.cuMemPrefetchAsync_v2(p, 4096, (CUmemLocation){ CU_MEM_LOCATION_TYPE_HOST, 0 }, 0, NULL), CUDA_SUCCESS,
           "and back");
    abi_is(cx.cuMemPrefetchAsync_v2(p, 4096, here, 1, NULL), CUDA_ERROR_INVALID_VALUE, "there are no flags");
    abi_is(cx.cuMemRangeGetAttributes(data, size, attribute, 2, p, 4096), CUDA_SUCCESS, "two attributes at once");
    tap_ok(read_mostly == 1 && preferred == 0, "as they were advised");
    CUmemoryPool pool = NULL, own = NULL;
    abi_is(cx.cuMemGetDefaultMemPool(&pool, &here, CU_MEM_ALLOCATION_TYPE_PINNED), CUDA_SUCCESS, "a place's pool");
    cu.cuDeviceGetDefaultMemPool(&own, 0);
    tap_ok(pool == own, "is the device's");
    abi_is(cx.cuMemGetMemPool(&pool, &here, CU_MEM_ALLOCATION_TYPE_PINNED), CUDA_SUCCESS, "the current one");
    abi_is(cx.cuMemSetMemPool(&here, CU_MEM_ALLOCATION_TYPE_PINNED, pool), CUDA_SUCCESS, "set");
    abi_is(cu.cuMemFree(p), CUDA_SUCCESS, "free");
}

/* add: *p += n */
static void launches(void)
{
    CUmodule m = NULL;
    CUfunction f = abi_kernel(&m, "add");
    CUdeviceptr p = abi_word(0);
    abi_is(cx.cuFuncSetBlockShape(f, 8, 1, 1), CUDA_SUCCESS, "a block of 8");
    abi_is(cx.cuFuncSetBlockShape(f, 0, 1, 1), CUDA_ERROR_INVALID_VALUE, "a block of 0");
    abi_is(cx.cuFuncSetSharedSize(f, 16), CUDA_SUCCESS, "with shared memory");
    abi_is(cx.cuParamSetSize(f, 12), CUDA_SUCCESS, "12 bytes of arguments");
    abi_is(cx.cuParamSetv(f, 0, &p, sizeof p), CUDA_SUCCESS, "an address");
    abi_is(cx.cuParamSeti(f, 8, 3), CUDA_SUCCESS, "a number");
    if (!tap_on_gpu()) /* there the driver crashes */
        abi_is(cx.cuParamSeti(f, -4, 3), CUDA_ERROR_INVALID_VALUE, "before the first");
    abi_is(cx.cuLaunch(f), CUDA_SUCCESS, "one block");
    tap_is_uint(abi_read(p), 24, "of 8 threads");
    abi_is(cx.cuLaunchGrid(f, 2, 3), CUDA_SUCCESS, "2 by 3 blocks");
    tap_is_uint(abi_read(p), 24 + 6 * 24, "of 8 threads each");
    CUstream s = abi_stream();
    abi_is(cx.cuParamSeti(f, 8, 1), CUDA_SUCCESS, "another number");
    abi_is(cx.cuLaunchGridAsync(f, 1, 1, s), CUDA_SUCCESS, "on a stream");
    cu.cuStreamSynchronize(s);
    tap_is_uint(abi_read(p), 24 + 6 * 24 + 8, "with the rest as it was");
    abi_is(cx.cuLaunchGrid(f, 0, 1), CUDA_ERROR_INVALID_VALUE, "no blocks");
    cu.cuStreamDestroy(s);
    cu.cuMemFree(p);
    cu.cuModuleUnload(m);
}

static void graphs(void)
{
    CUmodule m = NULL;
    CUfunction f = abi_kernel(&m, "add");
    CUdeviceptr p = abi_word(0);
    unsigned n = 5;
    void *params[] = { &p, &n };
    CUDA_KERNEL_NODE_PARAMS_v1 k = { .func = f, .gridDimX = 1, .gridDimY = 1, .gridDimZ = 1, .blockDimX = 4,
                                     .blockDimY = 1, .blockDimZ = 1, .kernelParams = params },
                               got = { 0 };
    CUgraph g = NULL;
    CUgraphNode a = NULL, b = NULL, list[2] = { NULL, NULL };
    CUgraphEdgeData data[2];
    CUgraphExec x = NULL, y = NULL;
    size_t count = 2;
    char log[64] = "?";
    cu.cuGraphCreate(&g, 0);
    abi_is(cx.cuGraphAddKernelNode_v1(&a, g, NULL, 0, &k), CUDA_SUCCESS, "a kernel node");
    abi_is(cx.cuGraphAddKernelNode_v1(&b, g, &a, 1, &k), CUDA_SUCCESS, "and one behind it");
    abi_is(cx.cuGraphKernelNodeGetParams_v1(b, &got), CUDA_SUCCESS, "its parameters");
    tap_ok(got.func == f && got.blockDimX == 4 && *(unsigned *)got.kernelParams[1] == 5, "are those that were given");
    k.blockDimX = 2;
    abi_is(cx.cuGraphKernelNodeSetParams_v1(b, &k), CUDA_SUCCESS, "are changed");
    abi_is(cx.cuGraphNodeGetDependencies_v2(b, list, data, &count), CUDA_SUCCESS, "what it comes after");
    tap_ok(count == 1 && list[0] == a && data[0].type == CU_GRAPH_DEPENDENCY_TYPE_DEFAULT, "an ordinary edge");
    count = 2;
    abi_is(cx.cuGraphNodeGetDependentNodes_v2(a, list, data, &count), CUDA_SUCCESS, "what comes after the other");
    tap_ok(count == 1 && list[0] == b, "the one");
    abi_is(cx.cuGraphInstantiate_v1(&x, g, &a, log, sizeof log), CUDA_SUCCESS, "instantiate with a log");
    tap_is_str(log, "", "which is empty");
    abi_is(((CUresult(*)(CUgraphExec *, CUgraph, CUgraphNode *, char *, size_t))(uintptr_t)abi_symbol(
               "cuGraphInstantiate_v2"))(&y, g, NULL, NULL, 0),
           CUDA_SUCCESS, "without a log");
    abi_is(cu.cuGraphLaunch(x, NULL), CUDA_SUCCESS, "launch");
    tap_is_uint(abi_read(p), 30, "both kernels ran");
    k.blockDimX = 1;
    abi_is(cx.cuGraphExecKernelNodeSetParams_v1(x, b, &k), CUDA_SUCCESS, "the executable is changed");
    abi_is(cu.cuGraphLaunch(x, NULL), CUDA_SUCCESS, "launch");
    tap_is_uint(abi_read(p), 30 + 25, "as changed");
    abi_is(cx.cuGraphRemoveDependencies_v2(g, list, &b, NULL, 0), CUDA_SUCCESS, "no edge is removed");
    cu.cuGraphExecDestroy(x);
    cu.cuGraphExecDestroy(y);
    cu.cuGraphDestroy(g);
    cu.cuMemFree(p);
    cu.cuModuleUnload(m);
}

static void captures_and_events(void)
{
    CUstream s = abi_stream(), t = abi_stream(), late = NULL;
    CUevent e = NULL;
    CUgraph g = NULL;
    CUstreamCaptureStatus status;
    CUcontext c = NULL;
    CUgreenCtx green = (CUgreenCtx)&green;
    cuuint64_t id = 0;
    float ms = -1;
    CUevent behind = NULL;
    struct latch l;
    abi_is(cx.cuStreamBeginCapture_v1(s), CUDA_SUCCESS, "a capture without a mode");
    abi_is(cx.cuStreamGetCaptureInfo_v1(s, &status, &id), CUDA_SUCCESS, "what it is");
    tap_ok(status == CU_STREAM_CAPTURE_STATUS_ACTIVE && id, "active, with a number");
    abi_is(cu.cuStreamEndCapture(s, &g), CUDA_SUCCESS, "it ends");
    cu.cuGraphDestroy(g);
    abi_is(cx.cuStreamGetCtx_v2(s, &c, &green), CUDA_SUCCESS, "a stream's context");
    tap_ok(c == abi_ctx && !green, "which is no green one");
    green = (CUgreenCtx)&green;
    abi_is(cx.cuStreamGetGreenCtx(s, &green), CUDA_SUCCESS, "the green one");
    tap_ok(!green, "is none");

    /* The context's event comes after every stream, and every stream after what the context waits for. */
    cu.cuEventCreate(&e, CU_EVENT_DEFAULT);
    abi_hold(&l, s);
    abi_is(cx.cuCtxRecordEvent(abi_ctx, e), CUDA_SUCCESS, "an event of the context");
    abi_is(cu.cuEventQuery(e), CUDA_ERROR_NOT_READY, "waits for a stream of it");
    abi_is(cx.cuCtxWaitEvent(abi_ctx, e), CUDA_SUCCESS, "the context waits for it");
    /* only what is enqueued from now on waits: a stream without any is done */
    abi_is(cu.cuStreamQuery(t), CUDA_SUCCESS, "another stream is done, as long as it has no work");
    cu.cuEventCreate(&behind, CU_EVENT_DEFAULT);
    abi_is(cu.cuEventRecord(behind, t), CUDA_SUCCESS, "another stream records");
    abi_is(cu.cuEventQuery(behind), CUDA_ERROR_NOT_READY, "and waits");
    abi_is(cu.cuStreamQuery(t), CUDA_ERROR_NOT_READY, "it is no longer done");
    abi_is(cu.cuStreamCreate(&late, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS, "a stream that is made then");
    abi_is(cu.cuStreamQuery(late), CUDA_SUCCESS, "is done");
    abi_is(cu.cuEventRecord(e, late), CUDA_SUCCESS, "records");
    abi_is(cu.cuEventQuery(e), CUDA_ERROR_NOT_READY, "and waits too");
    latch_open(&l);
    abi_is(cu.cuStreamSynchronize(t), CUDA_SUCCESS, "until the stream is done");
    abi_is(cu.cuEventSynchronize(e), CUDA_SUCCESS, "the late one too");
    abi_is(OLDER(cuEventElapsedTime, "cuEventElapsedTime_v2")(&ms, e, e), CUDA_SUCCESS, "the time between them");
    tap_is_f64(ms, 0, "is none");
    abi_is(OLDER(cuEventDestroy, "cuEventDestroy")(e), CUDA_SUCCESS, "destroy the event");
    abi_is(OLDER(cuStreamDestroy, "cuStreamDestroy")(s), CUDA_SUCCESS, "and the stream");
    cu.cuEventDestroy(behind);
    cu.cuStreamDestroy(t);
    cu.cuStreamDestroy(late);
}

int main(void)
{
    abi_open();
    devices();
    contexts();
    memory();
    launches();
    graphs();
    captures_and_events();
    return abi_close();
}
