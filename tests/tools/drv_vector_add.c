/* A vector addition: drv_vector_add IMAGE. The module is loaded from a file, and from memory. */
#include <string.h>

#include "drv_check.h"

enum { N = 1000 };

static char *contents(const char *path)
{
    static char block[1 << 20];
    FILE *f = fopen(path, "rb");
    if (!f || !fread(block, 1, sizeof block - 1, f)) {
        printf("%s cannot be read\n", path);
        exit(1);
    }
    fclose(f);
    return block;
}

static void add(CUmodule module, float factor)
{
    CUfunction f;
    CUdeviceptr a, b, c;
    static float x[N], y[N], z[N];
    int n = N;
    for (int i = 0; i < N; i++) {
        x[i] = (float)i;
        y[i] = factor * (float)i;
    }
    CHECK(cuModuleGetFunction(&f, module, "vector_add"));
    CHECK(cuMemAlloc(&a, sizeof x));
    CHECK(cuMemAlloc(&b, sizeof y));
    CHECK(cuMemAlloc(&c, sizeof z));
    CHECK(cuMemcpyHtoD(a, x, sizeof x));
    CHECK(cuMemcpyHtoD(b, y, sizeof y));
    void *args[] = { &a, &b, &c, &n };
    int block, grid;
    CHECK(cuOccupancyMaxPotentialBlockSize(&grid, &block, f, NULL, 0, 256));
    EXPECT(block == 256);
    CHECK(cuLaunchKernel(f, (N + 255) / 256, 1, 1, 256, 1, 1, 0, NULL, args, NULL));
    CHECK(cuCtxSynchronize());
    CHECK(cuMemcpyDtoH(z, c, sizeof z));
    for (int i = 0; i < N; i++) EXPECT(z[i] == (float)i + factor * (float)i);
    CHECK(cuMemFree(a));
    CHECK(cuMemFree(b));
    CHECK(cuMemFree(c));
}

int main(int argc, char **argv)
{
    CUdevice dev;
    CUcontext ctx;
    CUctxCreateParams params;
    CUmodule module;
    char name[100];
    int major, minor, count;
    size_t total;
    if (argc != 2) return 2;
    memset(&params, 0, sizeof params);
    CHECK(cuInit(0));
    CHECK(cuDeviceGetCount(&count));
    EXPECT(count > 0);
    CHECK(cuDeviceGet(&dev, 0));
    CHECK(cuDeviceGetName(name, sizeof name, dev));
    CHECK(cuDeviceTotalMem(&total, dev));
    CHECK(cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, dev));
    CHECK(cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, dev));
    CHECK(cuCtxCreate(&ctx, &params, 0, dev));
    CHECK(cuModuleLoad(&module, argv[1]));
    add(module, 2);
    CHECK(cuModuleUnload(module));
    CHECK(cuModuleLoadData(&module, contents(argv[1])));
    add(module, 3);
    CHECK(cuModuleUnload(module));
    CHECK(cuCtxDestroy(ctx));
    printf("%s, %d.%d, added\n", name, major, minor);
    return 0;
}
