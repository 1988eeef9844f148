/* Memory: allocation, addresses, pinned and managed memory; copies and fills of every shape; what a bad address gives.
 * A GPU checks bounds by its allocations' grain only. Order and pools are in the rules (rules_memory.c). */
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "driver_abi.h"

static void alloc_and_free(void)
{
    CUdeviceptr p = 0, q = 0, base = 0;
    size_t size = 0, before = 0, after = 0, total = 0;
    abi_is(cu.cuMemGetInfo(&before, &total), CUDA_SUCCESS, "how much there is");
    tap_ok(before <= total && total, "some");
    abi_is(cu.cuMemAlloc(&p, 1000), CUDA_SUCCESS, "1000 bytes");
    abi_is(cu.cuMemAlloc(&q, 1), CUDA_SUCCESS, "1 byte");
    tap_ok(p && q && p % 256 == 0 && q % 256 == 0, "aligned to 256");
    tap_ok(q >= p + 1000 || p >= q + 1, "apart");
    abi_is(cu.cuMemGetAddressRange(&base, &size, p + 999), CUDA_SUCCESS, "the range of its last byte");
    tap_ok(base == p && size == 1000, "is the allocation");
    abi_is(cu.cuMemAlloc(&base, 0), CUDA_ERROR_INVALID_VALUE, "no bytes");
    abi_is(cu.cuMemAlloc(&base, (size_t)1 << 50), CUDA_ERROR_OUT_OF_MEMORY, "too many");
    abi_is(cu.cuMemFree(p + 8), CUDA_ERROR_INVALID_VALUE, "free inside of an allocation");
    abi_is(cu.cuMemFree(p), CUDA_SUCCESS, "free");
    abi_is(cu.cuMemFree(q), CUDA_SUCCESS, "free the other");
    abi_is(cu.cuMemFree(0), CUDA_SUCCESS, "free nothing");
    abi_is(cu.cuMemFree(p), CUDA_ERROR_INVALID_VALUE, "free twice");
    abi_is(cu.cuMemGetInfo(&after, &total), CUDA_SUCCESS, "how much there is now");
    if (!tap_on_gpu()) tap_is_uint(after, before, "as much as before");
}

/* Blocks come and go in an order of their own; none may overlap another or lose its contents. */
static void many_blocks(void)
{
    enum { N = 200 };
    CUdeviceptr p[N] = { 0 };
    unsigned size[N], state = 1, wrong = 0;
    for (int round = 0; round < 600; round++) {
        state = state * 1664525u + 1013904223u;
        unsigned i = state >> 16 & 0xff;
        if (i >= N) continue;
        unsigned v = 0;
        if (p[i]) {
            cu.cuMemcpyDtoH(&v, p[i] + size[i] - 4, 4);
            wrong += v != i + 1;
            cu.cuMemFree(p[i]);
            p[i] = 0;
        } else {
            size[i] = 4 + (state & 0x3fff) * 4;
            if (cu.cuMemAlloc(&p[i], size[i])) wrong++;
            cu.cuMemsetD32(p[i], i + 1, size[i] / 4);
        }
    }
    for (unsigned i = 0; i < N; i++) {
        unsigned v = 0;
        if (!p[i]) continue;
        cu.cuMemcpyDtoH(&v, p[i], 4);
        wrong += v != i + 1;
        cu.cuMemFree(p[i]);
    }
    tap_is_uint(wrong, 0, "every block kept its own contents");
}

static void the_host_cannot_touch_it(void)
{
    CUdeviceptr p = abi_word(1);
    if (tap_under_valgrind() || tap_is_slow()) {
        tap_skip(1, "a fault is the point here");
    } else {
        pid_t child = fork();
        if (child == 0) {
            signal(SIGSEGV, SIG_DFL);
            _exit(*(volatile int *)(uintptr_t)p == 12345);
        }
        int status = 0;
        waitpid(child, &status, 0);
        tap_ok(WIFSIGNALED(status), "a host read of a device address faults");
    }
    cu.cuMemFree(p);
}

static void pinned(void)
{
    void *h = NULL;
    char *own = malloc(10000);
    unsigned flags = 99, type = 0;
    CUdeviceptr d = 0;
    abi_is(cu.cuMemHostAlloc(&h, 100, CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP), CUDA_SUCCESS,
           "pinned memory");
    memset(h, 1, 100);
    abi_is(cu.cuMemHostGetDevicePointer(&d, h, 0), CUDA_SUCCESS, "its device address");
    abi_is(cu.cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, d), CUDA_SUCCESS, "its kind");
    tap_is_uint(type, CU_MEMORYTYPE_HOST, "host");
    abi_is(cu.cuMemHostGetFlags(&flags, h), CUDA_SUCCESS, "its flags");
    tap_is_uint(flags & CU_MEMHOSTALLOC_PORTABLE, CU_MEMHOSTALLOC_PORTABLE, "portable");
    abi_is(cu.cuMemFreeHost(h), CUDA_SUCCESS, "free");
    abi_is(cu.cuMemHostRegister(own, 10000, CU_MEMHOSTREGISTER_DEVICEMAP), CUDA_SUCCESS, "register");
    abi_is(cu.cuMemHostRegister(own, 10000, 0), CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, "twice");
    abi_is(cu.cuMemHostUnregister(own), CUDA_SUCCESS, "unregister");
    abi_is(cu.cuMemHostUnregister(own), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, "twice");
    abi_is(cu.cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (CUdeviceptr)(uintptr_t)own),
           CUDA_ERROR_INVALID_VALUE, "ordinary memory is unknown");
    free(own);
}

static void managed(void)
{
    CUdeviceptr p = 0;
    unsigned is = 0;
    if (!cu.cuMemAllocManaged) {
        tap_skip(1, "no managed memory");
        return;
    }
    abi_is(cu.cuMemAllocManaged(&p, 4096, CU_MEM_ATTACH_GLOBAL), CUDA_SUCCESS, "managed memory");
    memset((void *)(uintptr_t)p, 0, 4096);
    abi_is(cu.cuMemsetD32(p, 9, 4), CUDA_SUCCESS, "written by the device");
    cu.cuCtxSynchronize();
    tap_is_uint(((unsigned *)(uintptr_t)p)[3], 9, "read by the host");
    abi_is(cu.cuPointerGetAttribute(&is, CU_POINTER_ATTRIBUTE_IS_MANAGED, p), CUDA_SUCCESS, "it is known");
    tap_is_uint(is, 1, "as managed");
    if (cu.cuMemRangeGetAttribute) {
        int v = 5, by[2] = { 5, 5 };
        abi_is(cu.cuMemRangeGetAttribute(&v, sizeof v, CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION, p, 4096),
               CUDA_SUCCESS, "where it is preferred");
        tap_is_int(v, CU_DEVICE_INVALID, "nowhere");
        cu.cuMemAdvise(p, 4096, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, 0);
        cu.cuMemAdvise(p, 4096, CU_MEM_ADVISE_SET_ACCESSED_BY, 0);
        cu.cuMemAdvise(p, 4096, CU_MEM_ADVISE_SET_READ_MOSTLY, 0);
        cu.cuMemRangeGetAttribute(&v, sizeof v, CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION, p, 4096);
        tap_is_int(v, 0, "on the device, as advised");
        cu.cuMemRangeGetAttribute(&v, sizeof v, CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, p, 4096);
        tap_is_int(v, 1, "mostly read");
        cu.cuMemRangeGetAttribute(by, sizeof by, CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY, p, 4096);
        tap_ok(by[0] == 0 && by[1] == CU_DEVICE_INVALID, "accessed by the device");
        abi_is(cu.cuMemRangeGetAttribute(&v, 3, CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, p, 4096), CUDA_ERROR_INVALID_VALUE,
               "a size that does not fit");
    }
    abi_is(cu.cuMemFree(p), CUDA_SUCCESS, "free");
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

static void rectangles(void)
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
    CUDA_MEMCPY2D c = { .srcXInBytes = 1,
                        .srcY = 1,
                        .srcMemoryType = CU_MEMORYTYPE_DEVICE,
                        .srcDevice = p,
                        .srcPitch = 8,
                        .dstXInBytes = 2,
                        .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                        .dstDevice = q,
                        .dstPitch = 6,
                        .WidthInBytes = 2,
                        .Height = 3 };
    abi_is(cu.cuMemcpy2D(&c), CUDA_SUCCESS, "a rectangle");
    for (int y = 0; y < 3; y++)
        for (int x = 0; x < 2; x++) want[y * 6 + 2 + x] = in[(y + 1) * 8 + 1 + x];
    abi_is(cu.cuMemcpyDtoH(out, q, 48), CUDA_SUCCESS, "read back");
    tap_is_mem(out, want, 48, "lies where it belongs");
    CUDA_MEMCPY3D d = { .srcMemoryType = CU_MEMORYTYPE_HOST,
                        .srcHost = in,
                        .srcPitch = 4,
                        .srcHeight = 3,
                        .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                        .dstDevice = q,
                        .dstPitch = 3,
                        .dstHeight = 2,
                        .WidthInBytes = 3,
                        .Height = 2,
                        .Depth = 2 };
    abi_is(cu.cuMemcpy3D(&d), CUDA_SUCCESS, "a 3D copy");
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
    alloc_and_free();
    many_blocks();
    the_host_cannot_touch_it();
    pinned();
    managed();
    fills();
    rectangles();
    any_to_any();
    return abi_close();
}
