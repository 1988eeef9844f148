/* Copies and fills: what they return, when they are done, what they do (semantics 36, 37).  A GPU checks bounds by its allocations' grain only. */
#include "tests/conformance/driver_abi.h"

static void staged_and_pinned(void)
{
    abi_latch latch;
    CUstream s = abi_stream();
    CUdeviceptr p = abi_word(0);
    unsigned source = 5, back = 0, *pinned;
    void *h;
    cu.cuMemHostAlloc(&h, 8, 0);
    pinned = h;
    pinned[0] = 6;
    pinned[1] = 0;
    if (!tap_on_gpu()) {
        abi_latch_put(&latch, s);
        abi_is(cu.cuMemcpyHtoDAsync(p, &source, 4, s), CUDA_SUCCESS, "a copy from pageable memory behind a latch");
        source = 0;
        abi_latch_open(&latch);
        abi_is(cu.cuMemcpyDtoHAsync(&back, p, 4, s), CUDA_SUCCESS, "a copy to pageable memory");
        tap_is_uint(back, 5, "is done on return; the source was taken at the call");
    }
    abi_latch_put(&latch, s);
    abi_is(cu.cuMemcpyHtoDAsync(p, &pinned[0], 4, s), CUDA_SUCCESS, "a copy from pinned memory behind a latch");
    abi_is(cu.cuMemcpyDtoHAsync(&pinned[1], p, 4, s), CUDA_SUCCESS, "and back");
    tap_is_uint(pinned[1], 0, "returns before it is done");
    abi_is(cu.cuStreamQuery(s), CUDA_ERROR_NOT_READY, "which the stream tells");
    abi_latch_open(&latch);
    cu.cuStreamSynchronize(s);
    tap_is_uint(pinned[1], 6, "then it is");
    cu.cuMemFreeHost(h);
    cu.cuMemFree(p);
    cu.cuStreamDestroy(s);
}

static void fills(void)
{
    CUdeviceptr p = 0;
    unsigned char b[64], want[64];
    cu.cuMemAlloc(&p, 64);
    abi_is(cu.cuMemsetD8(p, 0x11, 64), CUDA_SUCCESS, "bytes");
    abi_is(cu.cuMemsetD16(p + 2, 0x2233, 3), CUDA_SUCCESS, "words of 16 bits");
    abi_is(cu.cuMemsetD32(p + 16, 0x44556677, 2), CUDA_SUCCESS, "words of 32 bits");
    abi_is(cu.cuMemsetD2D8(p + 32, 8, 0xee, 3, 4), CUDA_SUCCESS, "rows");
    memset(want, 0x11, 64);
    for (int i = 0; i < 3; i++) memcpy(want + 2 + 2 * i, (unsigned short[]){ 0x2233 }, 2);
    for (int i = 0; i < 2; i++) memcpy(want + 16 + 4 * i, (unsigned[]){ 0x44556677 }, 4);
    for (int i = 0; i < 4; i++) memset(want + 32 + 8 * i, 0xee, 3);
    cu.cuMemcpyDtoH(b, p, 64);
    tap_is_mem(b, want, 64, "each where it belongs");
    abi_is(cu.cuMemsetD32(p + 1, 0, 1), CUDA_ERROR_INVALID_VALUE, "a misaligned address");
    if (!tap_on_gpu()) abi_is(cu.cuMemsetD8(p, 0, 65), CUDA_ERROR_INVALID_VALUE, "past the end");
    cu.cuMemFree(p);
}

static void boxes(void)
{
    CUdeviceptr p = 0, q = 0;
    unsigned char in[48], out[48], want[48];
    for (int i = 0; i < 48; i++) in[i] = (unsigned char)i;
    memset(want, 0, sizeof want);
    memset(out, 0, sizeof out);
    cu.cuMemAlloc(&p, 48);
    cu.cuMemAlloc(&q, 48);
    cu.cuMemcpyHtoD(p, in, 48);
    cu.cuMemsetD8(q, 0, 48);
    /* 2 x 3 bytes from (1, 1) of rows of 8 to (2, 0) of rows of 6. */
    CUDA_MEMCPY2D c = { .srcXInBytes = 1, .srcY = 1, .srcMemoryType = CU_MEMORYTYPE_DEVICE, .srcDevice = p, .srcPitch = 8, .dstXInBytes = 2,
                        .dstMemoryType = CU_MEMORYTYPE_DEVICE, .dstDevice = q, .dstPitch = 6, .WidthInBytes = 2, .Height = 3 };
    abi_is(cu.cuMemcpy2D(&c), CUDA_SUCCESS, "a rectangle");
    for (int y = 0; y < 3; y++)
        for (int x = 0; x < 2; x++) want[y * 6 + 2 + x] = in[(y + 1) * 8 + 1 + x];
    abi_is(cu.cuMemcpyDtoH(out, q, 48), CUDA_SUCCESS, "read back");
    tap_is_mem(out, want, 48, "lies where it belongs");
    CUDA_MEMCPY3D d = { .srcMemoryType = CU_MEMORYTYPE_HOST, .srcHost = in, .srcPitch = 4, .srcHeight = 3, .dstMemoryType = CU_MEMORYTYPE_DEVICE, .dstDevice = q,
                        .dstPitch = 3, .dstHeight = 2, .WidthInBytes = 3, .Height = 2, .Depth = 2 };
    abi_is(cu.cuMemcpy3D(&d), CUDA_SUCCESS, "a box");
    for (int z = 0; z < 2; z++)
        for (int y = 0; y < 2; y++)
            for (int x = 0; x < 3; x++) want[z * 6 + y * 3 + x] = in[z * 12 + y * 4 + x];
    cu.cuMemcpyDtoH(out, q, 12);
    tap_is_mem(out, want, 12, "lies where it belongs too");
    c.WidthInBytes = 9;
    abi_is(cu.cuMemcpy2D(&c), CUDA_ERROR_INVALID_VALUE, "wider than its rows");
    cu.cuMemFree(p);
    cu.cuMemFree(q);
}

static void any_to_any(void)
{
    CUdeviceptr p = abi_word(3), q = abi_word(0);
    unsigned a = 8, b = 0;
    abi_is(cu.cuMemcpy(q, p, 4), CUDA_SUCCESS, "device to device");
    abi_is(cu.cuMemcpy((CUdeviceptr)(uintptr_t)&b, q, 4), CUDA_SUCCESS, "device to host");
    tap_is_uint(b, 3, "by addresses alone");
    abi_is(cu.cuMemcpy(q, (CUdeviceptr)(uintptr_t)&a, 4), CUDA_SUCCESS, "host to device");
    tap_is_uint(abi_read(q), 8, "by addresses alone");
    if (!tap_on_gpu()) abi_is(cu.cuMemcpyDtoD(p, q, 8), CUDA_ERROR_INVALID_VALUE, "more than there is");
    abi_is(cu.cuMemcpyHtoD(p, &a, 0), CUDA_SUCCESS, "nothing");
    cu.cuMemFree(p);
    abi_is(cu.cuMemcpyHtoD(p, &a, 4), CUDA_ERROR_INVALID_VALUE, "to freed memory");
    cu.cuMemFree(q);
}

int main(void)
{
    abi_open();
    staged_and_pinned();
    fills();
    boxes();
    any_to_any();
    return abi_close();
}
