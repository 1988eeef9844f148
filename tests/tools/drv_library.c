/* Kernels of a library: drv_library IMAGE. They are launched without asking for a module or a function. */
#include <string.h>

#include "drv_check.h"

enum { N = 64 };

int main(int argc, char **argv)
{
    CUdevice dev;
    CUcontext ctx;
    CUlibrary library;
    CUkernel kernel, all[8];
    unsigned count;
    const char *name;
    size_t offset, size;
    float x[N], z[N];
    CUdeviceptr a, c;
    CUstream stream;
    int n = N, regs;
    if (argc != 2) return 2;
    CHECK(cuInit(0));
    CHECK(cuLibraryLoadFromFile(&library, argv[1], NULL, NULL, 0, NULL, NULL, 0));
    CHECK(cuLibraryGetKernelCount(&count, library));
    EXPECT(count >= 1 && count <= 8);
    CHECK(cuLibraryEnumerateKernels(all, count, library));
    CHECK(cuLibraryGetKernel(&kernel, library, "vector_add"));
    CHECK(cuKernelGetName(&name, kernel));
    EXPECT(!strcmp(name, "vector_add"));
    CHECK(cuDeviceGet(&dev, 0));
    CHECK(cuKernelGetAttribute(&regs, CU_FUNC_ATTRIBUTE_NUM_REGS, kernel, dev));
    EXPECT(regs > 0);
    CHECK(cuDevicePrimaryCtxRetain(&ctx, dev));
    CHECK(cuCtxSetCurrent(ctx));
    CHECK(cuKernelGetParamInfo(kernel, 3, &offset, &size));
    EXPECT(offset == 24 && size == sizeof n);
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CHECK(cuMemAllocAsync(&a, sizeof x, stream));
    CHECK(cuMemAllocAsync(&c, sizeof z, stream));
    for (int i = 0; i < N; i++) x[i] = (float)i;
    CHECK(cuMemcpyHtoDAsync(a, x, sizeof x, stream));
    void *args[] = { &a, &a, &c, &n };
    CUlaunchAttribute attribute;
    memset(&attribute, 0, sizeof attribute);
    attribute.id = CU_LAUNCH_ATTRIBUTE_PRIORITY;
    CUlaunchConfig config;
    memset(&config, 0, sizeof config);
    config.gridDimX = config.gridDimY = config.gridDimZ = 1;
    config.blockDimX = N;
    config.blockDimY = config.blockDimZ = 1;
    config.hStream = stream;
    config.attrs = &attribute;
    config.numAttrs = 1;
    CHECK(cuLaunchKernelEx(&config, (CUfunction)kernel, args, NULL));
    CHECK(cuMemcpyDtoHAsync(z, c, sizeof z, stream));
    CHECK(cuMemFreeAsync(a, stream));
    CHECK(cuMemFreeAsync(c, stream));
    CHECK(cuStreamSynchronize(stream));
    for (int i = 0; i < N; i++) EXPECT(z[i] == 2 * (float)i);
    CHECK(cuStreamDestroy(stream));
    CHECK(cuLibraryUnload(library));
    CHECK(cuDevicePrimaryCtxRelease(dev));
    printf("%u kernels, added\n", count);
    return 0;
}
