/* Sizes, pitches and offsets of a driver call whose sums or products do not fit 64 bits are INVALID_VALUE at the call,
 * and nothing is written. */
#include <stdlib.h>

#include "tests/conformance/driver_abi.h"

#define WIDE (UINT64_C(1) << 32)
#define HUGE_BYTES (UINT64_MAX - 100)

static CUdeviceptr dev_memory;
static unsigned char host_memory[4096];

enum { DEVICE_BYTES = 4096 };

/* Changes of a copy of 4 rows of 16 bytes in 2 slices; a field that is 0 stays. */
static const struct {
    const char *name;
    uint64_t width, height, depth, pitch, rows, x, y, z;
} sizes[] = {
    { "a slice of 2^64 bytes", 16, 1, (UINT64_C(1) << 60) + 4, WIDE, WIDE, 0, 0, 0 },
    { "a slice of 2^64 bytes and one row", 16, 1, 2, WIDE, WIDE + 1, 0, 0, 0 },
    { "rows beyond 2^64", 16, WIDE, 1, WIDE, 0, 0, 0, 0 },
    { "slices beyond 2^64", 16, 2, WIDE, WIDE, 2, 0, 0, 0 },
    { "a width that wraps with its offset", HUGE_BYTES, 1, 1, 0, 0, 200, 0, 0 },
    { "a height that wraps with its offset", 16, HUGE_BYTES, 1, 0, 0, 0, 200, 0 },
    { "a row offset that wraps", 16, 1, 1, WIDE, 0, 0, WIDE, 0 },
    { "a slice offset that wraps", 16, 1, 1, WIDE, 2, 0, 0, WIDE },
    { "a slice offset of 2^64 exactly", 16, 1, 1, 16, 16, 0, 0, UINT64_C(1) << 56 },
    { "an end behind 2^64", HUGE_BYTES, 1, 1, 0, 0, 0, 0, 0 },
    { "a volume of 64 bits only", WIDE, WIDE, 1, WIDE, WIDE, 0, 0, 0 },
};

static CUDA_MEMCPY3D copy_of(size_t i, bool to_device)
{
    CUDA_MEMCPY3D p = { .srcMemoryType = to_device ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE,
                        .srcHost = host_memory,
                        .srcDevice = dev_memory,
                        .srcPitch = sizes[i].pitch,
                        .srcHeight = sizes[i].rows,
                        .srcXInBytes = sizes[i].x,
                        .srcY = sizes[i].y,
                        .srcZ = sizes[i].z,
                        .dstMemoryType = to_device ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST,
                        .dstHost = host_memory,
                        .dstDevice = dev_memory,
                        .dstPitch = sizes[i].pitch,
                        .dstHeight = sizes[i].rows,
                        .dstXInBytes = sizes[i].x,
                        .dstY = sizes[i].y,
                        .dstZ = sizes[i].z,
                        .WidthInBytes = sizes[i].width,
                        .Height = sizes[i].height,
                        .Depth = sizes[i].depth };
    return p;
}

static CUDA_MEMCPY2D plane_of(const CUDA_MEMCPY3D *p)
{
    return (CUDA_MEMCPY2D){ .srcMemoryType = p->srcMemoryType,
                            .srcHost = p->srcHost,
                            .srcDevice = p->srcDevice,
                            .srcPitch = p->srcPitch,
                            .srcXInBytes = p->srcXInBytes,
                            .srcY = p->srcY,
                            .dstMemoryType = p->dstMemoryType,
                            .dstHost = p->dstHost,
                            .dstDevice = p->dstDevice,
                            .dstPitch = p->dstPitch,
                            .dstXInBytes = p->dstXInBytes,
                            .dstY = p->dstY,
                            .WidthInBytes = p->WidthInBytes,
                            .Height = p->Height };
}

/* Both ends pageable: no table of addresses knows where they end. */
static CUDA_MEMCPY3D between_hosts(CUDA_MEMCPY3D p)
{
    p.srcMemoryType = p.dstMemoryType = CU_MEMORYTYPE_HOST;
    return p;
}

static void copies(void)
{
    CUstream s = abi_stream();
    CUgraph g;
    CUgraphNode n;
    if (cu.cuGraphCreate(&g, 0)) tap_bail("no graph");
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        for (int to_device = 0; to_device < 2; to_device++) {
            const char *way = to_device ? "in" : "out";
            CUDA_MEMCPY3D p = copy_of(i, to_device);
            abi_is(cu.cuMemcpy3D(&p), CUDA_ERROR_INVALID_VALUE, "%s: a copy %s", sizes[i].name, way);
            abi_is(cu.cuMemcpy3DAsync(&p, s), CUDA_ERROR_INVALID_VALUE, "%s: one %s in a stream", sizes[i].name, way);
            abi_is(cu.cuGraphAddMemcpyNode(&n, g, NULL, 0, &p, abi_ctx), CUDA_ERROR_INVALID_VALUE,
                   "%s: one %s in a graph", sizes[i].name, way);
        }
        CUDA_MEMCPY3D h = between_hosts(copy_of(i, false));
        abi_is(cu.cuMemcpy3D(&h), CUDA_ERROR_INVALID_VALUE, "%s: between host memory", sizes[i].name);
        if (sizes[i].depth > 1 || sizes[i].z || sizes[i].rows) continue;
        CUDA_MEMCPY2D plane = plane_of(&h);
        abi_is(cu.cuMemcpy2D(&plane), CUDA_ERROR_INVALID_VALUE, "%s: in two dimensions", sizes[i].name);
        abi_is(cu.cuMemcpy2DUnaligned(&plane), CUDA_ERROR_INVALID_VALUE, "%s: unaligned", sizes[i].name);
        abi_is(cu.cuMemcpy2DAsync(&plane, s), CUDA_ERROR_INVALID_VALUE, "%s: in a stream", sizes[i].name);
    }
    cu.cuGraphDestroy(g);
    cu.cuStreamDestroy(s);
}

static void flat_copies(void)
{
    CUstream s = abi_stream();
    abi_is(cu.cuMemcpyHtoD(dev_memory, host_memory, UINT64_MAX), CUDA_ERROR_INVALID_VALUE,
           "all bytes that there are, in");
    abi_is(cu.cuMemcpyDtoH(host_memory, dev_memory, UINT64_MAX), CUDA_ERROR_INVALID_VALUE, "out");
    abi_is(cu.cuMemcpyDtoD(dev_memory, dev_memory, UINT64_MAX), CUDA_ERROR_INVALID_VALUE, "inside");
    abi_is(cu.cuMemcpy((CUdeviceptr)(uintptr_t)host_memory, dev_memory, HUGE_BYTES), CUDA_ERROR_INVALID_VALUE,
           "anywhere");
    abi_is(
        cu.cuMemcpyAsync((CUdeviceptr)(uintptr_t)host_memory, (CUdeviceptr)(uintptr_t)host_memory + 64, HUGE_BYTES, s),
        CUDA_ERROR_INVALID_VALUE, "between host memory, in a stream");
    abi_is(cu.cuMemcpyPeer(dev_memory, abi_ctx, dev_memory, abi_ctx, HUGE_BYTES), CUDA_ERROR_INVALID_VALUE,
           "to a peer");
    cu.cuStreamDestroy(s);
}

static void fills(void)
{
    static const struct { const char *name; uint64_t pitch, width, height; } rows[] = {
        { "a row of 2^64 elements' bytes", 0, UINT64_C(1) << 62, 1 },
        { "a row of 2^64 bytes and 4", 0, (UINT64_C(1) << 62) + 1, 1 },
        { "rows beyond 2^64", WIDE, 4, WIDE + 1 },
        { "rows that end behind 2^64", WIDE, 4, UINT64_MAX },
        { "an end behind 2^64", UINT64_MAX - 3, 4, 2 },
    };
    CUstream s = abi_stream();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        abi_is(cu.cuMemsetD2D32(dev_memory, rows[i].pitch, 1, rows[i].width, rows[i].height), CUDA_ERROR_INVALID_VALUE,
               "a fill of %s", rows[i].name);
        abi_is(cu.cuMemsetD2D32Async(dev_memory, rows[i].pitch, 1, rows[i].width, rows[i].height, s),
               CUDA_ERROR_INVALID_VALUE, "%s, in a stream", rows[i].name);
    }
    abi_is(cu.cuMemsetD32(dev_memory, 1, (UINT64_C(1) << 62) + 1), CUDA_ERROR_INVALID_VALUE, "a flat fill that wraps");
    abi_is(cu.cuMemsetD16(dev_memory, 1, (UINT64_C(1) << 63) + 1), CUDA_ERROR_INVALID_VALUE, "of 2 bytes too");
    abi_is(cu.cuMemsetD8(dev_memory, 1, UINT64_MAX), CUDA_ERROR_INVALID_VALUE, "and of all bytes");
    cu.cuStreamDestroy(s);
}

static void allocations(void)
{
    CUdeviceptr p;
    size_t pitch;
    abi_is(cu.cuMemAllocPitch(&p, &pitch, UINT64_MAX - 100, 1, 4), CUDA_ERROR_INVALID_VALUE, "a pitch that wraps");
    abi_is(cu.cuMemAllocPitch(&p, &pitch, WIDE, WIDE, 4), CUDA_ERROR_INVALID_VALUE, "pitched rows of 2^64 bytes");
    abi_is(cu.cuMemAllocPitch(&p, &pitch, 1, UINT64_C(1) << 55, 4), CUDA_ERROR_INVALID_VALUE, "rows that grow to 2^64");
    abi_is(cu.cuMemHostRegister(host_memory, UINT64_MAX, 0), CUDA_ERROR_INVALID_VALUE,
           "registering beyond the last address");
    abi_is(cu.cuMemAdvise(dev_memory, UINT64_MAX, CU_MEM_ADVISE_SET_READ_MOSTLY, 0), CUDA_ERROR_INVALID_VALUE,
           "advice on it");
}

static void second_frees(void)
{
    CUdeviceptr p, q;
    struct latch gate;
    CUstream s = abi_stream(), t = abi_stream();
    if (cu.cuMemAllocAsync(&p, 64, s) || cu.cuMemAllocAsync(&q, 64, s)) tap_bail("no memory");
    abi_hold(&gate, s);
    abi_is(cu.cuMemFreeAsync(p, s), CUDA_SUCCESS, "a free that waits");
    abi_is(cu.cuMemFreeAsync(p, s), CUDA_ERROR_INVALID_VALUE, "a second one is rejected at the call");
    abi_is(cu.cuMemFreeAsync(p, t), CUDA_ERROR_INVALID_VALUE, "on another stream too");
    abi_is(cu.cuMemFree(p), CUDA_ERROR_INVALID_VALUE, "and one that does not wait for a stream");
    abi_is(cu.cuMemFreeAsync(q, s), CUDA_SUCCESS, "other memory is freed");
    latch_open(&gate);
    abi_is(cu.cuStreamSynchronize(s), CUDA_SUCCESS, "all is done without a fault");
    abi_is(cu.cuMemFreeAsync(p, s), CUDA_ERROR_INVALID_VALUE, "what is freed cannot be freed");
    abi_is(cu.cuCtxSynchronize(), CUDA_SUCCESS, "which is no fault either");
    cu.cuStreamDestroy(s);
    cu.cuStreamDestroy(t);
}

int main(void)
{
    abi_open();
    if (cu.cuMemAlloc(&dev_memory, DEVICE_BYTES)) tap_bail("no memory");
    copies();
    flat_copies();
    fills();
    allocations();
    second_frees();
    unsigned touched = 0;
    for (size_t i = 0; i < sizeof host_memory; i++) touched += host_memory[i] != 0;
    tap_is_uint(touched, 0, "no byte of the host was written");
    cu.cuMemFree(dev_memory);
    return abi_close();
}
