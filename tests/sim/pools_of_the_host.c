/* Pools of the host and pools that are shared, by the driver's own calls: which properties there are, what reaches the
 * memory, and which calls take it. */
#include <unistd.h>

#include "tests/conformance/driver_abi.h"

static CUstream stream;

static CUmemPoolProps props(int type, int id, int handles)
{
    return (CUmemPoolProps){ .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                             .handleTypes = (CUmemAllocationHandleType)handles,
                             .location = { (CUmemLocationType)type, id } };
}

static void which_properties(void)
{
    static const struct { const char *name; int type, id, handles; CUresult want; } rows[] = {
        { "of the host", CU_MEM_LOCATION_TYPE_HOST, 0, 0, CUDA_SUCCESS },
        { "the host's id is ignored", CU_MEM_LOCATION_TYPE_HOST, 77, 0, CUDA_SUCCESS },
        { "the host's is not shared", CU_MEM_LOCATION_TYPE_HOST, 0, 1, CUDA_ERROR_INVALID_VALUE },
        { "of a node", CU_MEM_LOCATION_TYPE_HOST_NUMA, 0, 0, CUDA_SUCCESS },
        { "of a node that is not there", CU_MEM_LOCATION_TYPE_HOST_NUMA, 1, 0, CUDA_ERROR_INVALID_VALUE },
        { "of a node, shared", CU_MEM_LOCATION_TYPE_HOST_NUMA, 0, 1, CUDA_SUCCESS },
        { "of a node, in a fabric", CU_MEM_LOCATION_TYPE_HOST_NUMA, 0, 8, CUDA_ERROR_NOT_SUPPORTED },
        { "of the current node", CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT, 0, 0, CUDA_ERROR_INVALID_VALUE },
        { "of a device, shared", CU_MEM_LOCATION_TYPE_DEVICE, 0, 1, CUDA_SUCCESS },
        { "of a device, in a fabric", CU_MEM_LOCATION_TYPE_DEVICE, 0, 8, CUDA_ERROR_NOT_SUPPORTED },
        { "of a device that is not there", CU_MEM_LOCATION_TYPE_DEVICE, 9, 1, CUDA_ERROR_INVALID_VALUE },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        CUmemoryPool pool = NULL;
        const CUmemPoolProps p = props(rows[i].type, rows[i].id, rows[i].handles);
        tap_is_int(cu.cuMemPoolCreate(&pool, &p), rows[i].want, "%s", rows[i].name);
        if (pool) cu.cuMemPoolDestroy(pool);
    }
}

static CUmemAccess_flags access_of(CUmemoryPool pool, int type)
{
    CUmemAccess_flags flags = CU_MEM_ACCESS_FLAGS_PROT_READ;
    CUmemLocation where = { (CUmemLocationType)type, 0 };
    cu.cuMemPoolGetAccess(&flags, pool, &where);
    return flags;
}

static CUdeviceptr alloc_from(CUmemoryPool pool)
{
    CUdeviceptr d = 0;
    cu.cuMemAllocFromPoolAsync(&d, 4096, pool, stream);
    cu.cuStreamSynchronize(stream);
    return d;
}

static void memory_of_the_host(void)
{
    CUmemoryPool pool = NULL;
    CUmemAccessDesc access = { { CU_MEM_LOCATION_TYPE_DEVICE, 0 }, CU_MEM_ACCESS_FLAGS_PROT_READWRITE };
    const CUmemPoolProps p = props(CU_MEM_LOCATION_TYPE_HOST, 0, 0);
    cuuint64_t used = 1;
    unsigned type = 0;
    cu.cuMemPoolCreate(&pool, &p);
    tap_is_int(access_of(pool, CU_MEM_LOCATION_TYPE_HOST), CU_MEM_ACCESS_FLAGS_PROT_READWRITE, "the host has access");
    tap_is_int(access_of(pool, CU_MEM_LOCATION_TYPE_DEVICE), CU_MEM_ACCESS_FLAGS_PROT_NONE, "the device has not");
    CUdeviceptr d = alloc_from(pool);
    tap_ok(d != 0, "memory");
    tap_is_int(cu.cuMemsetD8Async(d, 1, 16, stream), CUDA_ERROR_INVALID_VALUE, "which the device does not fill");
    tap_is_int(cu.cuMemPoolSetAccess(pool, &access, 1), CUDA_SUCCESS, "it gets access");
    tap_is_int(access_of(pool, CU_MEM_LOCATION_TYPE_DEVICE), CU_MEM_ACCESS_FLAGS_PROT_READWRITE, "and has it");
    tap_is_int(cu.cuMemsetD8Async(d, 1, 16, stream), CUDA_SUCCESS, "and fills the memory");
    cu.cuStreamSynchronize(stream);
    tap_is_int(*(const unsigned char *)(uintptr_t)d, 1, "which the host reads");
    cu.cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, d);
    tap_is_int((int)type, CU_MEMORYTYPE_HOST, "it is the host's");
    tap_is_int(cu.cuMemFreeHost((void *)(uintptr_t)d), CUDA_ERROR_INVALID_VALUE, "but not of cuMemHostAlloc");
    tap_is_int(cu.cuMemFreeAsync(d, stream), CUDA_SUCCESS, "it is freed in stream order");
    tap_is_int(cu.cuMemFreeAsync(d, stream), CUDA_ERROR_INVALID_VALUE, "once");
    cu.cuStreamSynchronize(stream);
    d = alloc_from(pool);
    tap_is_int(cu.cuMemFree(d), CUDA_SUCCESS, "or at once");
    cu.cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used);
    tap_is_uint(used, 0, "nothing is in use then");
    tap_is_int(cu.cuDeviceSetMemPool(0, pool), CUDA_ERROR_INVALID_DEVICE, "it is no device's pool");
    tap_is_int(cu.cuMemPoolDestroy(pool), CUDA_SUCCESS, "it ends");
}

static void shared(void)
{
    CUmemoryPool pool = NULL, there = NULL, plain = NULL;
    CUmemPoolProps p = props(CU_MEM_LOCATION_TYPE_DEVICE, 0, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
    CUmemPoolPtrExportData data;
    CUdeviceptr d, e = 0;
    unsigned long long types = 0;
    int fd = -1;
    cu.cuMemPoolCreate(&pool, &p);
    p = props(CU_MEM_LOCATION_TYPE_DEVICE, 0, 0);
    cu.cuMemPoolCreate(&plain, &p);
    d = alloc_from(pool);
    cu.cuPointerGetAttribute(&types, CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES, d);
    tap_is_uint(types, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, "its memory is known to be shared");
    tap_is_int(cu.cuMemPoolExportToShareableHandle(&fd, plain, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0),
               CUDA_ERROR_INVALID_VALUE, "a plain pool is not exported");
    tap_is_int(cu.cuMemPoolExportToShareableHandle(&fd, pool, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 1),
               CUDA_ERROR_INVALID_VALUE, "nor one with flags");
    tap_is_int(cu.cuMemPoolExportToShareableHandle(&fd, pool, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0),
               CUDA_SUCCESS, "one that is shared is");
    e = alloc_from(plain);
    tap_is_int(cu.cuMemPoolExportPointer(&data, e), CUDA_ERROR_INVALID_VALUE, "memory of a plain pool is not");
    tap_is_int(cu.cuMemPoolExportPointer(&data, d + 8), CUDA_ERROR_INVALID_VALUE, "nor from its middle");
    tap_is_int(cu.cuMemPoolExportPointer(&data, d), CUDA_SUCCESS, "memory of a shared one is");
    tap_is_int(cu.cuMemPoolImportPointer(&e, pool, &data), CUDA_ERROR_INVALID_VALUE, "but not into that pool");
    tap_is_int(cu.cuMemPoolImportFromShareableHandle(&there, (void *)(intptr_t)fd, 0, 0), CUDA_ERROR_INVALID_VALUE,
               "no descriptor of no type");
    tap_is_int(cu.cuMemPoolImportFromShareableHandle(&there, (void *)(intptr_t)fd,
                                                     CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0),
               CUDA_SUCCESS, "the pool is imported");
    close(fd);
    tap_is_int(cu.cuMemAllocFromPoolAsync(&e, 64, there, stream), CUDA_ERROR_INVALID_VALUE, "it allocates nothing");
    tap_is_int(cu.cuDeviceSetMemPool(0, there), CUDA_ERROR_INVALID_VALUE, "it is no device's pool");
    tap_is_int(cu.cuIpcCloseMemHandle(d), CUDA_ERROR_INVALID_VALUE, "memory of a pool is no IPC memory");
    tap_is_int(cu.cuMemPoolDestroy(there), CUDA_SUCCESS, "it ends");
    tap_is_int(cu.cuMemPoolDestroy(pool), CUDA_SUCCESS, "the pool ends before its memory");
    tap_is_int(cu.cuMemFreeAsync(d, stream), CUDA_SUCCESS, "which is freed then");
    cu.cuStreamSynchronize(stream);
    cu.cuMemPoolDestroy(plain);
}

int main(void)
{
    abi_open();
    cu.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
    which_properties();
    memory_of_the_host();
    shared();
    cu.cuStreamDestroy(stream);
    return abi_close();
}
