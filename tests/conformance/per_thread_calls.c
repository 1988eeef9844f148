/* Names that end in _ptsz and _ptds, which programs compiled with per-thread default streams call: stream 0 is the
 * calling thread's own there, and the legacy stream in all other names. CU_STREAM_LEGACY is the same in both. */
#include "driver_abi.h"

#define OWN(row, export) ((cji_PFN_##row)(uintptr_t)abi_symbol(export))

static unsigned long long id_of(CUstream s)
{
    unsigned long long id = 0;
    abi_is(cu.cuStreamGetId(s, &id), CUDA_SUCCESS, "the number of a stream");
    return id;
}

static void which_stream(void)
{
    unsigned long long id = 0;
    cji_PFN_cuStreamGetId get = OWN(cuStreamGetId, "cuStreamGetId_ptsz");
    abi_is(get(NULL, &id), CUDA_SUCCESS, "stream 0 of a name with _ptsz");
    tap_ok(id == id_of(CU_STREAM_PER_THREAD), "is the thread's own");
    tap_ok(id != id_of(NULL), "and not the legacy stream");
    abi_is(get(CU_STREAM_LEGACY, &id), CUDA_SUCCESS, "the legacy stream by its handle");
    tap_ok(id == id_of(NULL), "is the legacy stream there too");
    CUstream s = abi_stream();
    abi_is(get(s, &id), CUDA_SUCCESS, "a stream of its own");
    tap_ok(id == id_of(s), "is itself");
    cu.cuStreamDestroy(s);
}

/* A gate on a stream that blocks nothing but the legacy stream: what waits for it is on the legacy stream. */
static void where_work_is(void)
{
    CUmodule m = NULL;
    CUfunction f = abi_kernel(&m, "add");
    CUdeviceptr p = abi_word(0);
    CUstream blocking = NULL;
    CUevent e = abi_event();
    struct latch l;
    unsigned n = 1, v = 7;
    void *params[] = { &p, &n };
    CUlaunchConfig config = { .gridDimX = 1, .gridDimY = 1, .gridDimZ = 1, .blockDimX = 1, .blockDimY = 1,
                              .blockDimZ = 1 };
    cu.cuStreamCreate(&blocking, CU_STREAM_DEFAULT);
    abi_hold(&l, blocking);
    abi_is(OWN(cuLaunchKernel, "cuLaunchKernel_ptsz")(f, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL), CUDA_SUCCESS,
           "a launch on the thread's stream");
    abi_is(OWN(cuLaunchKernelEx, "cuLaunchKernelEx_ptsz")(&config, f, params, NULL), CUDA_SUCCESS,
           "one whose stream is in a structure");
    abi_is(OWN(cuEventRecord, "cuEventRecord_ptsz")(e, NULL), CUDA_SUCCESS, "a record");
    abi_is(OWN(cuStreamSynchronize, "cuStreamSynchronize_ptsz")(NULL), CUDA_SUCCESS, "do not wait for another stream");
    abi_is(cu.cuEventQuery(e), CUDA_SUCCESS, "the event is reached");
    abi_is(OWN(cuMemcpyDtoH, "cuMemcpyDtoH_v2_ptds")(&v, p, sizeof v), CUDA_SUCCESS, "nor does a copy");
    tap_is_uint(v, 2, "both kernels ran");
    abi_is(OWN(cuMemsetD32, "cuMemsetD32_v2_ptds")(p, 9, 1), CUDA_SUCCESS, "nor a fill");
    abi_is(OWN(cuMemcpyHtoD, "cuMemcpyHtoD_v2_ptds")(p, &v, sizeof v), CUDA_SUCCESS, "nor a copy to the device");
    /* a copy from pageable memory may return before the device has read what was staged */
    abi_is(OWN(cuStreamSynchronize, "cuStreamSynchronize_ptsz")(NULL), CUDA_SUCCESS, "nor does the end of both");
    abi_is(OWN(cuStreamQuery, "cuStreamQuery_ptsz")(NULL), CUDA_SUCCESS, "the thread's stream is idle");
    abi_is(cu.cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL), CUDA_SUCCESS,
           "a launch on the legacy stream");
    abi_is(cu.cuStreamQuery(NULL), CUDA_ERROR_NOT_READY, "waits for the other stream");
    latch_open(&l);
    abi_is(cu.cuStreamSynchronize(NULL), CUDA_SUCCESS, "until it is done");
    tap_is_uint(abi_read(p), 3, "all of it");
    cu.cuStreamDestroy(blocking);
    cu.cuEventDestroy(e);
    cu.cuMemFree(p);
    cu.cuModuleUnload(m);
}

int main(void)
{
    abi_open();
    which_stream();
    where_work_is();
    return abi_close();
}
