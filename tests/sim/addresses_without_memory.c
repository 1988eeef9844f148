/* Copies and cuMemHostRegister reject addresses that have no memory: reserved and not mapped, of a device and not
 * allocated, of the host and not mapped. */
#include <sys/mman.h>
#include <unistd.h>

#include "tests/conformance/driver_abi.h"

enum { RESERVED = 2 << 20 };

static unsigned char host_bytes[64];

typedef struct place { const char *name; CUdeviceptr at; } place;

static void copies(const place *where)
{
    CUdeviceptr host = (CUdeviceptr)(uintptr_t)host_bytes;
    CUstream s = abi_stream();
    CUDA_MEMCPY3D p = { .srcMemoryType = CU_MEMORYTYPE_HOST, .srcHost = (const void *)(uintptr_t)where->at,
                        .dstMemoryType = CU_MEMORYTYPE_HOST, .dstHost = host_bytes,
                        .WidthInBytes = 8, .Height = 1, .Depth = 1 };
    abi_is(cu.cuMemcpy(where->at, host, 8), CUDA_ERROR_INVALID_VALUE, "%s: a copy to it", where->name);
    abi_is(cu.cuMemcpy(host, where->at, 8), CUDA_ERROR_INVALID_VALUE, "%s: a copy from it", where->name);
    abi_is(cu.cuMemcpyAsync(host, where->at, 8, s), CUDA_ERROR_INVALID_VALUE, "%s: in a stream", where->name);
    abi_is(cu.cuMemcpy3D(&p), CUDA_ERROR_INVALID_VALUE, "%s: by the name of host memory", where->name);
    abi_is(cu.cuMemcpyHtoD(where->at, host_bytes, 8), CUDA_ERROR_INVALID_VALUE, "%s: as device memory", where->name);
    abi_is(cu.cuMemHostRegister((void *)(uintptr_t)where->at, 4096, 0), CUDA_ERROR_INVALID_VALUE, "%s: registered",
           where->name);
    cu.cuStreamDestroy(s);
}

/* Memory of many pages is looked at page by page. */
static void hole_far_behind(void)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), bytes = 2000 * page;
    char *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) tap_bail("no pages");
    abi_is(cu.cuMemHostRegister(p, bytes, 0), CUDA_SUCCESS, "two thousand pages are registered");
    abi_is(cu.cuMemHostUnregister(p), CUDA_SUCCESS, "and back");
    if (munmap(p + 1500 * page, page)) tap_bail("no hole");
    abi_is(cu.cuMemHostRegister(p, bytes, 0), CUDA_ERROR_INVALID_VALUE, "they are not when one is missing");
    munmap(p, bytes);
}

/* Two pages of the host, of which the second is no longer there. */
static void half_mapped(void)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *p = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED || munmap(p + page, page)) tap_bail("no pages");
    abi_is(cu.cuMemHostRegister(p, 2 * page, 0), CUDA_ERROR_INVALID_VALUE, "memory that ends early is not registered");
    abi_is(cu.cuMemHostRegister(p + page, 16, 0), CUDA_ERROR_INVALID_VALUE, "nor is what begins behind its end");
    abi_is(cu.cuMemHostRegister(p + page - 16, 16, 0), CUDA_SUCCESS, "its last bytes are");
    abi_is(cu.cuMemHostUnregister(p + page - 16), CUDA_SUCCESS, "and back");
    munmap(p, page);
}

int main(void)
{
    CUdeviceptr reserved, allocated;
    abi_open();
    if (cu.cuMemAddressReserve(&reserved, RESERVED, 0, 0, 0) || cu.cuMemAlloc(&allocated, 4096)) tap_bail("no memory");
    const place places[] = {
        { "reserved, not mapped", reserved },
        { "in the middle of it", reserved + RESERVED / 2 },
        { "of a device, not allocated", allocated + (UINT64_C(16) << 20) },
    };
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) copies(&places[i]);
    half_mapped();
    hole_far_behind();
    abi_is(cu.cuMemAddressFree(reserved, RESERVED), CUDA_SUCCESS, "the addresses are free");
    cu.cuMemFree(allocated);
    return abi_close();
}
