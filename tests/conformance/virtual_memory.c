/* Virtual memory: addresses are reserved, memory is created and mapped at them, and kernels and copies access it as the
 * access flags say. */
#include <unistd.h>

#include "tests/conformance/driver_abi.h"

static const CUmemAllocationProp prop = { .type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                          .requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                                          .location = { CU_MEM_LOCATION_TYPE_DEVICE, 0 } };
static size_t grain;
static CUmodule module;

static CUresult access_to(CUdeviceptr at, size_t bytes, CUmemAccess_flags flags)
{
    CUmemAccessDesc d = { .location = { CU_MEM_LOCATION_TYPE_DEVICE, 0 }, .flags = flags };
    return cu.cuMemSetAccess(at, bytes, &d, 1);
}

static CUdeviceptr reserved(size_t bytes)
{
    CUdeviceptr at = 0;
    if (cu.cuMemAddressReserve(&at, bytes, 0, 0, 0)) tap_bail("no addresses");
    return at;
}

static CUmemGenericAllocationHandle created(size_t bytes)
{
    CUmemGenericAllocationHandle h = 0;
    if (cu.cuMemCreate(&h, bytes, &prop, 0)) tap_bail("no memory");
    return h;
}

static void what_the_device_says(void)
{
    CUmemAllocationProp host = prop, odd = prop, other;
    size_t least;
    int supported = 0;
    abi_is(cu.cuDeviceGetAttribute(&supported, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, 0),
           CUDA_SUCCESS, "the attribute");
    tap_is_int(supported, 1, "virtual memory is supported");
    abi_is(cu.cuMemGetAllocationGranularity(&grain, &prop, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED), CUDA_SUCCESS,
           "the granularity");
    abi_is(cu.cuMemGetAllocationGranularity(&least, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM), CUDA_SUCCESS,
           "the least");
    tap_ok(least && grain % least == 0 && !(least & (least - 1)), "is a power of two (%zu, %zu)", least, grain);
    CUmemGenericAllocationHandle h = created(2 * grain);
    abi_is(cu.cuMemGetAllocationPropertiesFromHandle(&other, h), CUDA_SUCCESS, "the properties of memory");
    tap_ok(other.type == prop.type && other.location.type == prop.location.type && other.location.id == 0 &&
               other.requestedHandleTypes == prop.requestedHandleTypes,
           "are those that it was made with");
    abi_is(cu.cuMemRelease(h), CUDA_SUCCESS, "released");
    odd.type = CU_MEM_ALLOCATION_TYPE_INVALID;
    abi_is(cu.cuMemCreate(&h, grain, &odd, 0), CUDA_ERROR_INVALID_VALUE, "memory of no type");
    abi_is(cu.cuMemCreate(&h, grain + 1, &prop, 0), CUDA_ERROR_INVALID_VALUE, "memory of an odd size");
    abi_is(cu.cuMemCreate(&h, 0, &prop, 0), CUDA_ERROR_INVALID_VALUE, "of no size");
    if (!tap_on_gpu()) {
        host.location.type = CU_MEM_LOCATION_TYPE_HOST_NUMA;
        abi_is(cu.cuMemCreate(&h, grain, &host, 0), CUDA_ERROR_NOT_SUPPORTED, "memory of the host");
        abi_is(cu.cuMemRelease(h), CUDA_ERROR_INVALID_VALUE, "a stale handle");
        abi_is(cu.cuMemCreate(&h, SIZE_MAX / grain * grain, &prop, 0), CUDA_ERROR_OUT_OF_MEMORY,
               "more than the device has");
    }
}

static void reservations(void)
{
    CUdeviceptr a = 0, b = 0;
    abi_is(cu.cuMemAddressReserve(&a, 4 * grain, 16 * grain, 0, 0), CUDA_SUCCESS, "addresses");
    tap_is_uint(a % (16 * grain), 0, "aligned as asked");
    abi_is(cu.cuMemAddressReserve(&b, grain + 1, 0, 0, 0), CUDA_ERROR_INVALID_VALUE, "of an odd size");
    abi_is(cu.cuMemAddressReserve(&b, 0, 0, 0, 0), CUDA_ERROR_INVALID_VALUE, "of no size");
    abi_is(cu.cuMemAddressReserve(&b, grain, 3 * grain, 0, 0), CUDA_ERROR_INVALID_VALUE, "of an odd alignment");
    abi_is(cu.cuMemsetD32(a, 1, 4), CUDA_ERROR_INVALID_VALUE, "a fill of what is only reserved");
    abi_is(cu.cuMemUnmap(a, grain), CUDA_SUCCESS, "nothing is mapped there");
    abi_is(cu.cuMemAddressFree(a, 4 * grain), CUDA_SUCCESS, "freed");
    if (!tap_on_gpu()) {
        abi_is(cu.cuMemAddressFree(a, 4 * grain), CUDA_ERROR_INVALID_VALUE, "twice");
        abi_is(cu.cuMemAddressReserve(&b, SIZE_MAX / grain * grain, 0, 0, 0), CUDA_ERROR_OUT_OF_MEMORY,
               "all addresses that there are");
    }
}

/* Two memories behind each other are one range for a copy, a fill and a kernel. */
static void mapped_memory_is_memory(void)
{
    CUdeviceptr at = reserved(4 * grain), base;
    CUmemGenericAllocationHandle one = created(grain), two = created(grain), again = 0;
    unsigned long long flags = 9;
    const CUmemLocation here = { CU_MEM_LOCATION_TYPE_DEVICE, 0 };
    unsigned words[4] = { 1, 2, 3, 4 }, back[4] = { 0 };
    size_t bytes;
    abi_is(cu.cuMemMap(at, grain, 0, one, 0), CUDA_SUCCESS, "one is mapped");
    abi_is(cu.cuMemMap(at + grain, grain, 0, two, 0), CUDA_SUCCESS, "and another behind it");
    abi_is(cu.cuMemMap(at, grain, 0, two, 0), CUDA_ERROR_INVALID_VALUE, "not where something is mapped");
    if (!tap_on_gpu()) {
        abi_is(cu.cuMemMap(at + 3 * grain, 2 * grain, 0, one, 0), CUDA_ERROR_INVALID_VALUE, "nor more than there is");
        abi_is(cu.cuMemMap(at + 5 * grain, grain, 0, one, 0), CUDA_ERROR_INVALID_VALUE, "nor outside the reservation");
    }
    abi_is(cx.cuMemGetAccess(&flags, &here, at), CUDA_SUCCESS, "access");
    tap_is_uint(flags, CU_MEM_ACCESS_FLAGS_PROT_NONE, "is none at first");
    if (!tap_on_gpu()) abi_is(cu.cuMemsetD32(at, 1, 4), CUDA_ERROR_INVALID_VALUE, "so nothing fills it");
    abi_is(access_to(at, 2 * grain, CU_MEM_ACCESS_FLAGS_PROT_READWRITE), CUDA_SUCCESS, "access is granted");
    abi_is(cx.cuMemGetAccess(&flags, &here, at + grain + 5), CUDA_SUCCESS, "access");
    tap_is_uint(flags, CU_MEM_ACCESS_FLAGS_PROT_READWRITE, "to both");
    if (!tap_on_gpu())
        abi_is(access_to(at, 3 * grain, CU_MEM_ACCESS_FLAGS_PROT_READ), CUDA_ERROR_INVALID_VALUE,
               "not to more than is mapped");
    abi_is(cu.cuMemcpyHtoD(at + grain - 8, words, sizeof words), CUDA_SUCCESS, "a copy over the seam");
    abi_is(cu.cuMemcpyDtoH(back, at + grain - 8, sizeof back), CUDA_SUCCESS, "and back");
    tap_is_mem(back, words, sizeof words, "has all bytes");
    abi_is(cu.cuMemsetD32(at, 40, 2 * grain / 4), CUDA_SUCCESS, "a fill of all of it");
    CUfunction add = abi_kernel(&module, "add");
    abi_is(abi_launch(add, 1, 1, NULL, at + 2 * grain - 4, 2), CUDA_SUCCESS, "a kernel");
    tap_is_uint(abi_read(at + 2 * grain - 4), 42, "works on the last word");
    abi_is(cu.cuMemGetAddressRange(&base, &bytes, at + grain + 4), CUDA_SUCCESS, "the range of an address");
    abi_is(cu.cuMemFree(at), CUDA_ERROR_INVALID_VALUE, "it is not for cuMemFree");
    abi_is(cu.cuMemRelease(one), CUDA_SUCCESS, "a released handle");
    tap_is_uint(abi_read(at), 40, "leaves what is mapped");
    abi_is(cu.cuMemRetainAllocationHandle(&again, (void *)(uintptr_t)(at + 4)), CUDA_SUCCESS,
           "and is found again by an address");
    abi_is(cu.cuMemUnmap(at, 2 * grain), CUDA_SUCCESS, "both are unmapped");
    abi_is(cu.cuMemcpyDtoH(back, at, 4), CUDA_ERROR_INVALID_VALUE, "then nothing is there");
    abi_is(cu.cuMemMap(at + grain, grain, 0, again, 0), CUDA_SUCCESS, "it is mapped elsewhere");
    abi_is(access_to(at + grain, grain, CU_MEM_ACCESS_FLAGS_PROT_READWRITE), CUDA_SUCCESS, "access is granted");
    tap_is_uint(abi_read(at + grain), 40, "with its bytes");
    if (!tap_on_gpu())
        abi_is(cu.cuMemAddressFree(at, 4 * grain), CUDA_ERROR_INVALID_VALUE, "addresses with a mapping are not freed");
    abi_is(cu.cuMemUnmap(at + grain, grain), CUDA_SUCCESS, "unmapped");
    cu.cuMemRelease(again);
    cu.cuMemRelease(two);
    abi_is(cu.cuMemAddressFree(at, 4 * grain), CUDA_SUCCESS, "the addresses are freed");
}

/* The same memory at two addresses, once through a descriptor. */
static void shared_memory(void)
{
    CUdeviceptr at = reserved(2 * grain);
    CUmemGenericAllocationHandle h = created(grain), other = 0;
    int fd = -1;
    abi_is(cu.cuMemExportToShareableHandle(&fd, h, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0), CUDA_SUCCESS,
           "a descriptor");
    abi_is(cu.cuMemImportFromShareableHandle(&other, (void *)(intptr_t)fd, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR),
           CUDA_SUCCESS, "is imported");
    close(fd);
    if (!tap_on_gpu())
        abi_is(cu.cuMemImportFromShareableHandle(&other, (void *)(intptr_t)0, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR),
               CUDA_ERROR_INVALID_VALUE, "a descriptor of something else is not");
    if (cu.cuMemMap(at, grain, 0, h, 0) || cu.cuMemMap(at + grain, grain, 0, other, 0) ||
        access_to(at, 2 * grain, CU_MEM_ACCESS_FLAGS_PROT_READWRITE))
        tap_bail("no mappings");
    abi_is(cu.cuMemsetD32(at, 77, 16), CUDA_SUCCESS, "what is written at one address");
    tap_is_uint(abi_read(at + grain), 77, "is read at the other");
    cu.cuMemUnmap(at, 2 * grain);
    cu.cuMemRelease(h);
    cu.cuMemRelease(other);
    cu.cuMemAddressFree(at, 2 * grain);
}

/* ---- The CPU device alone: each in a context of its own, which has the fault ------------------------------------- */

static const struct { const char *name; CUmemAccess_flags flags; bool unmapped; const char *says; } faults[] = {
    { "a kernel that writes what may be read", CU_MEM_ACCESS_FLAGS_PROT_READ, false, "read" },
    { "a kernel without access", CU_MEM_ACCESS_FLAGS_PROT_NONE, false, "no access (cuMemSetAccess)" },
    { "a kernel at addresses without memory", CU_MEM_ACCESS_FLAGS_PROT_READWRITE, true, "no memory is mapped there" },
};

static void faults_are_named(void)
{
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        CUcontext own;
        CUmodule m = NULL;
        cujit_sim_fault_info fault = { .size = sizeof fault };
        CUdeviceptr at = reserved(grain);
        CUmemGenericAllocationHandle h = created(grain);
        if (cu.cuCtxCreate(&own, 0, 0) || cu.cuMemMap(at, grain, 0, h, 0) || access_to(at, grain, faults[i].flags))
            tap_bail("no mapping");
        CUstream s = abi_stream();
        if (faults[i].unmapped) cu.cuMemUnmap(at, grain);
        abi_launch(abi_kernel(&m, "add"), 1, 1, s, at, 1);
        abi_is(cu.cuStreamSynchronize(s), CUDA_ERROR_ILLEGAL_ADDRESS, "%s", faults[i].name);
        cujit_sim_fault(own, &fault);
        tap_has_str(fault.sentence, faults[i].says, "%s: the sentence", faults[i].name);
        cu.cuCtxDestroy(own);
        if (!faults[i].unmapped) cu.cuMemUnmap(at, grain);
        cu.cuMemRelease(h);
        cu.cuMemAddressFree(at, grain);
    }
}

/* Memory that may only be read, in copies, and in a graph whose memory loses its access later. */
static void copies_have_access(void)
{
    unsigned word = 5;
    CUdeviceptr at = reserved(grain), plain = abi_word(0);
    CUmemGenericAllocationHandle h = created(grain);
    CUcontext own;
    CUgraph g;
    CUgraphExec x;
    CUgraphNode n;
    CUDA_MEMCPY3D p = { .srcMemoryType = CU_MEMORYTYPE_DEVICE,
                        .srcDevice = plain,
                        .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                        .dstDevice = at,
                        .WidthInBytes = 4,
                        .Height = 1,
                        .Depth = 1 };
    cujit_sim_fault_info fault = { .size = sizeof fault };
    if (cu.cuMemMap(at, grain, 0, h, 0)) tap_bail("no mapping");
    access_to(at, grain, CU_MEM_ACCESS_FLAGS_PROT_READ);
    abi_is(cu.cuMemcpyDtoH(&word, at, 4), CUDA_SUCCESS, "a copy reads what may be read");
    abi_is(cu.cuMemcpyHtoD(at, &word, 4), CUDA_ERROR_INVALID_VALUE, "and does not write it");
    abi_is(cu.cuMemsetD32(at, 1, 1), CUDA_ERROR_INVALID_VALUE, "nor does a fill");
    abi_is(cu.cuStreamWriteValue32(NULL, at, 1, 0), CUDA_ERROR_INVALID_VALUE, "nor a memory operation");
    access_to(at, grain, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    if (cu.cuCtxCreate(&own, 0, 0) || cu.cuGraphCreate(&g, 0)) tap_bail("no graph");
    CUstream s = abi_stream();
    if (cu.cuGraphAddMemcpyNode(&n, g, NULL, 0, &p, own) || cu.cuGraphInstantiateWithFlags(&x, g, 0))
        tap_bail("no graph");
    access_to(at, grain, CU_MEM_ACCESS_FLAGS_PROT_READ);
    cu.cuGraphLaunch(x, s);
    abi_is(cu.cuStreamSynchronize(s), CUDA_ERROR_ILLEGAL_ADDRESS, "a graph's copy is checked when it runs");
    cujit_sim_fault(own, &fault);
    tap_has_str(fault.sentence, "may not write", "with a sentence");
    cu.cuGraphExecDestroy(x);
    cu.cuGraphDestroy(g);
    cu.cuCtxDestroy(own);
    cu.cuMemUnmap(at, grain);
    cu.cuMemRelease(h);
    cu.cuMemAddressFree(at, grain);
    cu.cuMemFree(plain);
}

int main(void)
{
    abi_open();
    what_the_device_says();
    reservations();
    mapped_memory_is_memory();
    shared_memory();
    if (!tap_on_gpu()) faults_are_named();
    if (!tap_on_gpu()) copies_have_access();
    cu.cuModuleUnload(module);
    return abi_close();
}
