/* Memory: allocation, addresses, pinned and managed memory, pools (semantics 39, 41 - 44), and what a bad address answers. */
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/conformance/driver_abi.h"

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
    abi_is(cu.cuMemHostAlloc(&h, 100, CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP), CUDA_SUCCESS, "pinned memory");
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
    abi_is(cu.cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (CUdeviceptr)(uintptr_t)own), CUDA_ERROR_INVALID_VALUE, "ordinary memory is unknown");
    free(own);
}

static void stream_ordered(void)
{
    abi_latch latch;
    CUstream s = abi_stream();
    CUdeviceptr p = 0;
    CUmemoryPool pool = NULL, own = NULL;
    unsigned word = 0;
    CUmemPoolProps props = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED, .location = { CU_MEM_LOCATION_TYPE_DEVICE, 0 } };
    cuuint64_t used = 1, keep = UINT64_MAX;
    abi_is(cu.cuDeviceGetDefaultMemPool(&pool, 0), CUDA_SUCCESS, "the default pool");
    abi_latch_put(&latch, s);
    abi_is(cu.cuMemAllocAsync(&p, 4096, s), CUDA_SUCCESS, "an address at once, though the stream is held up");
    abi_is(cu.cuMemsetD32Async(p, 7, 1024, s), CUDA_SUCCESS, "used in the same stream");
    void *h;
    cu.cuMemHostAlloc(&h, 4, 0);
    abi_is(cu.cuMemcpyDtoHAsync(h, p + 4092, 4, s), CUDA_SUCCESS, "read back");
    abi_is(cu.cuMemFreeAsync(p, s), CUDA_SUCCESS, "freed in the same stream");
    abi_is(cu.cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used), CUDA_SUCCESS, "in use");
    abi_latch_open(&latch);
    cu.cuStreamSynchronize(s);
    memcpy(&word, h, 4);
    tap_is_uint(word, 7, "in its order");
    abi_is(cu.cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used), CUDA_SUCCESS, "in use");
    tap_is_uint(used, 0, "nothing when the stream has passed the release");
    abi_is(cu.cuMemPoolCreate(&own, &props), CUDA_SUCCESS, "a pool");
    abi_is(cu.cuMemPoolSetAttribute(own, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &keep), CUDA_SUCCESS, "that keeps what it has");
    abi_is(cu.cuMemAllocFromPoolAsync(&p, 1000, own, s), CUDA_SUCCESS, "memory of it");
    abi_is(cu.cuMemPoolDestroy(own), CUDA_SUCCESS, "destroyed while it has an allocation");
    abi_is(cu.cuMemsetD8Async(p, 1, 1000, s), CUDA_SUCCESS, "which stays");
    abi_is(cu.cuMemFreeAsync(p, s), CUDA_SUCCESS, "until it is freed");
    abi_is(cu.cuStreamSynchronize(s), CUDA_SUCCESS, "all done");
    abi_is(cu.cuMemPoolDestroy(pool), CUDA_ERROR_INVALID_VALUE, "the default pool stays");
    cu.cuMemFreeHost(h);
    cu.cuStreamDestroy(s);
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
        abi_is(cu.cuMemRangeGetAttribute(&v, sizeof v, CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION, p, 4096), CUDA_SUCCESS, "where it is preferred");
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
        abi_is(cu.cuMemRangeGetAttribute(&v, 3, CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, p, 4096), CUDA_ERROR_INVALID_VALUE, "a size that does not fit");
    }
    abi_is(cu.cuMemFree(p), CUDA_SUCCESS, "free");
}

int main(void)
{
    abi_open();
    alloc_and_free();
    many_blocks();
    the_host_cannot_touch_it();
    pinned();
    stream_ordered();
    managed();
    return abi_close();
}
