/* Compiled with CUDA_API_PER_THREAD_DEFAULT_STREAM: stream 0 is the thread's own. drv_own_stream IMAGE. */
#include "drv_check.h"

#ifndef CUDA_API_PER_THREAD_DEFAULT_STREAM
#error "compile with -DCUDA_API_PER_THREAD_DEFAULT_STREAM"
#endif

static volatile int open_gate;

static void wait_for_gate(void *user)
{
    (void)user;
    while (!open_gate) {}
}

int main(int argc, char **argv)
{
    CUdevice dev;
    CUcontext ctx;
    CUmodule module;
    CUfunction f;
    CUstream other;
    CUdeviceptr a;
    CUmemLocation here = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0 };
    void *asked = NULL;
    unsigned long long own = 0, legacy = 0, zero = 0;
    CUdriverProcAddressQueryResult found;
    float *shared;
    int n = 4;
    if (argc != 2) return 2;
    CHECK(cuInit(0));
    CHECK(cuDeviceGet(&dev, 0));
    CHECK(cuCtxCreate(&ctx, NULL, 0, dev));
    CHECK(cuModuleLoad(&module, argv[1]));
    CHECK(cuModuleGetFunction(&f, module, "vector_add"));
    CHECK(cuStreamGetId(0, &zero));
    CHECK(cuStreamGetId(CU_STREAM_PER_THREAD, &own));
    CHECK(cuStreamGetId(CU_STREAM_LEGACY, &legacy));
    EXPECT(zero == own && zero != legacy);
    CHECK(cuGetProcAddress("cuLaunchKernel", &asked, CUDA_VERSION, 0, &found));
    EXPECT(asked == (void *)cuLaunchKernel && found == CU_GET_PROC_ADDRESS_SUCCESS);

    /* Another stream is held up: nothing below waits for it. */
    CHECK(cuStreamCreate(&other, CU_STREAM_DEFAULT));
    CHECK(cuLaunchHostFunc(other, wait_for_gate, NULL));
    CHECK(cuMemAllocManaged(&a, 4 * sizeof *shared, CU_MEM_ATTACH_GLOBAL));
    CHECK(cuMemAdvise(a, 4 * sizeof *shared, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, here));
    CHECK(cuMemPrefetchAsync(a, 4 * sizeof *shared, here, 0, 0));
    CHECK(cuMemsetD32(a, 0x3f800000, 4));
    void *args[] = { &a, &a, &a, &n };
    CHECK(cuLaunchKernel(f, 1, 1, 1, 4, 1, 1, 0, 0, args, NULL));
    CHECK(cuStreamSynchronize(0));
    shared = (float *)a;
    for (int i = 0; i < 4; i++) EXPECT(shared[i] == 2);
    EXPECT(cuStreamQuery(other) == CUDA_ERROR_NOT_READY);
    open_gate = 1;
    CHECK(cuStreamSynchronize(other));
    CHECK(cuMemFree(a));
    CHECK(cuStreamDestroy(other));
    CHECK(cuCtxDestroy(ctx));
    printf("a stream of its own\n");
    return 0;
}
