/* Virtual memory: addresses that are reserved, memory that is created, mappings of the one to the other, and the
 * devices that may access them. Memory is a file without a name, so it can be mapped at several addresses and by other
 * processes. */
#include "sim/memory/sim_memory.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define SIM_CHUNK_GRAIN (UINT64_C(2) << 20)     /* an H100's granularity, least and recommended */

/* What cuMemCreate made. Lives while it has a handle or a mapping. */
struct sim_chunk {
    sim_chunk *next;                /* sim_chunks */
    unsigned handles, maps;
    sim_device *dev;
    uint64_t bytes;
    CUmemAllocationProp prop;
    int fd;
};
static sim_chunk *sim_chunks;

/* Behind the bytes, in the file: for the process that imports it. */
typedef struct sim_chunk_label {
    char magic[8];
    uint64_t bytes;
    int32_t device;
    uint32_t handle_types;
} sim_chunk_label;
static const char sim_chunk_magic[8] = "cjchunk";

/* ---- Memory ------------------------------------------------------------------------------------------------------ */

static void sim_chunk_free(sim_chunk *k)
{
    for (sim_chunk **q = &sim_chunks; *q; q = &(*q)->next)
        if (*q == k) {
            *q = k->next;
            break;
        }
    k->dev->used -= k->bytes;
    close(k->fd);
    cji_free(k, sizeof *k);
}

static void sim_chunk_settle(sim_chunk *k)
{
    if (!k->handles) cji_sim_handle_drop(k);
    if (!k->handles && !k->maps) sim_chunk_free(k);
}

static CUresult sim_chunk_prop_check(const CUmemAllocationProp *p)
{
    if (!p || p->type != CU_MEM_ALLOCATION_TYPE_PINNED) return CUDA_ERROR_INVALID_VALUE;
    if (p->location.type == CU_MEM_LOCATION_TYPE_HOST || p->location.type == CU_MEM_LOCATION_TYPE_HOST_NUMA ||
        p->location.type == CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT)
        return CUDA_ERROR_NOT_SUPPORTED;
    if (p->location.type != CU_MEM_LOCATION_TYPE_DEVICE) return CUDA_ERROR_INVALID_VALUE;
    if (!cji_sim_device(p->location.id)) return CUDA_ERROR_INVALID_DEVICE;
    if (p->requestedHandleTypes & ~CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) return CUDA_ERROR_NOT_SUPPORTED;
    return CUDA_SUCCESS;
}

/* Takes over `fd`; *r: why there is none. */
static sim_chunk *sim_chunk_new(sim_device *dev, uint64_t bytes, const CUmemAllocationProp *prop, int fd, CUresult *r)
{
    sim_chunk *k = cji_zalloc(sizeof *k);
    *r = CUDA_ERROR_OUT_OF_MEMORY;
    if (!k || !cji_sim_handle_add(SIM_CHUNK, k)) {
        cji_free(k, sizeof *k);
        close(fd);
        return NULL;
    }
    *k = (sim_chunk){ .next = sim_chunks, .handles = 1, .dev = dev, .bytes = bytes, .prop = *prop, .fd = fd };
    sim_chunks = k;
    dev->used += bytes;
    *r = CUDA_SUCCESS;
    return k;
}

static bool sim_chunk_write_label(int fd, uint64_t bytes, const CUmemAllocationProp *p)
{
    sim_chunk_label l = { .bytes = bytes, .device = p->location.id, .handle_types = p->requestedHandleTypes };
    memcpy(l.magic, sim_chunk_magic, sizeof l.magic);
    return pwrite(fd, &l, sizeof l, (off_t)bytes) == (ssize_t)sizeof l;
}

CUresult cji_sim_cuMemCreate(CUmemGenericAllocationHandle *out, size_t bytes, const CUmemAllocationProp *prop,
                             unsigned long long flags)
{
    if (!out || flags || !bytes || bytes % SIM_CHUNK_GRAIN) return CUDA_ERROR_INVALID_VALUE;
    CUresult r = sim_chunk_prop_check(prop);
    if (r) return r;
    sim_device *dev = cji_sim_device(prop->location.id);
    sim_lock();
    uint64_t file_bytes;
    if (!cji_sim_space_open(dev) || bytes > dev->span - dev->used || !cji_sim_sum(&file_bytes, bytes, SIM_CHUNK_GRAIN))
        r = CUDA_ERROR_OUT_OF_MEMORY;
    int fd = r ? -1 : cji_sim_ipc_file_make("chunk", file_bytes);
    if (!r && (fd < 0 || !sim_chunk_write_label(fd, bytes, prop))) r = CUDA_ERROR_OUT_OF_MEMORY;
    if (r && fd >= 0) close(fd);
    sim_chunk *k = r ? NULL : sim_chunk_new(dev, bytes, prop, fd, &r);
    if (k) *out = (CUmemGenericAllocationHandle)(uintptr_t)k;
    sim_unlock();
    return r;
}

static sim_chunk *sim_chunk_of(CUmemGenericAllocationHandle h)
{
    sim_chunk *k = (sim_chunk *)(uintptr_t)h;
    return cji_sim_handle_is(SIM_CHUNK, k) ? k : NULL;
}

CUresult cji_sim_cuMemRelease(CUmemGenericAllocationHandle h)
{
    sim_lock();
    sim_chunk *k = sim_chunk_of(h);
    if (k) k->handles--;
    if (k) sim_chunk_settle(k);
    sim_unlock();
    return k ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* Of memory that is mapped at an address; its own handle may have been released. */
CUresult cji_sim_cuMemRetainAllocationHandle(CUmemGenericAllocationHandle *out, void *address)
{
    sim_range range;
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    bool mapped = cji_sim_space_find((uint64_t)(uintptr_t)address, &range) && range.place == SIM_MAPPED;
    sim_chunk *k = mapped ? range.chunk : NULL;
    CUresult r = k ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    if (k && !k->handles && !cji_sim_handle_add(SIM_CHUNK, k)) r = CUDA_ERROR_OUT_OF_MEMORY;
    if (!r) {
        k->handles++;
        *out = (CUmemGenericAllocationHandle)(uintptr_t)k;
    }
    sim_unlock();
    return r;
}

CUresult cji_sim_cuMemGetAllocationGranularity(size_t *out, const CUmemAllocationProp *prop,
                                               CUmemAllocationGranularity_flags option)
{
    if (!out || (option != CU_MEM_ALLOC_GRANULARITY_MINIMUM && option != CU_MEM_ALLOC_GRANULARITY_RECOMMENDED))
        return CUDA_ERROR_INVALID_VALUE;
    CUresult r = sim_chunk_prop_check(prop);
    if (!r) *out = SIM_CHUNK_GRAIN;
    return r;
}

CUresult cji_sim_cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp *out, CUmemGenericAllocationHandle h)
{
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    const sim_chunk *k = sim_chunk_of(h);
    if (k) *out = k->prop;
    sim_unlock();
    return k ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* ---- Between processes ------------------------------------------------------------------------------------------- */

CUresult cji_sim_cuMemExportToShareableHandle(void *out, CUmemGenericAllocationHandle h, CUmemAllocationHandleType type,
                                              unsigned long long flags)
{
    if (!out || flags) return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    const sim_chunk *k = sim_chunk_of(h);
    bool may = k && type == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR && k->prop.requestedHandleTypes & type;
    CUresult r = may ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    int fd = r ? -1 : fcntl(k->fd, F_DUPFD_CLOEXEC, 0);
    if (!r && fd < 0) r = CUDA_ERROR_OPERATING_SYSTEM;
    if (!r) memcpy(out, &fd, sizeof fd);
    sim_unlock();
    return r;
}

/* The descriptor stays the caller's. */
static CUresult sim_chunk_import(int fd, sim_chunk **out)
{
    struct stat st;
    sim_chunk_label l;
    CUresult r;
    if (fd < 0 || !cji_sim_ipc_file_is_ours(fd) || fstat(fd, &st) != 0 || (uint64_t)st.st_size < 2 * SIM_CHUNK_GRAIN)
        return CUDA_ERROR_INVALID_VALUE;
    const uint64_t bytes = (uint64_t)st.st_size - SIM_CHUNK_GRAIN;
    if (pread(fd, &l, sizeof l, (off_t)bytes) != (ssize_t)sizeof l || bytes % SIM_CHUNK_GRAIN || l.bytes != bytes ||
        memcmp(l.magic, sim_chunk_magic, sizeof l.magic) != 0)
        return CUDA_ERROR_INVALID_VALUE;
    sim_device *dev = cji_sim_device(l.device);
    if (!dev) return CUDA_ERROR_INVALID_DEVICE;
    CUmemAllocationProp prop = { .type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                 .requestedHandleTypes = (CUmemAllocationHandleType)l.handle_types,
                                 .location = { CU_MEM_LOCATION_TYPE_DEVICE, l.device } };
    int own = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (own < 0) return CUDA_ERROR_OPERATING_SYSTEM;
    *out = sim_chunk_new(dev, bytes, &prop, own, &r);
    return r;
}

CUresult cji_sim_cuMemImportFromShareableHandle(CUmemGenericAllocationHandle *out, void *handle,
                                                CUmemAllocationHandleType type)
{
    sim_chunk *k = NULL;
    if (!out || type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    CUresult r = sim_chunk_import((int)(intptr_t)handle, &k);
    if (!r) *out = (CUmemGenericAllocationHandle)(uintptr_t)k;
    sim_unlock();
    return r;
}

/* ---- Addresses --------------------------------------------------------------------------------------------------- */

CUresult cji_sim_cuMemAddressReserve(CUdeviceptr *out, size_t bytes, size_t alignment, CUdeviceptr wish,
                                     unsigned long long flags)
{
    uint64_t lo;
    if (!out || flags || !bytes || bytes % SIM_CHUNK_GRAIN || alignment & (alignment - 1) || wish % SIM_CHUNK_GRAIN)
        return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    CUresult r = cji_sim_reserve(bytes, alignment > SIM_CHUNK_GRAIN ? alignment : SIM_CHUNK_GRAIN, wish, &lo);
    if (!r) *out = lo;
    sim_unlock();
    return r;
}

CUresult cji_sim_cuMemAddressFree(CUdeviceptr at, size_t bytes)
{
    sim_lock();
    cji_sim_queue_wait_all();
    bool used = cji_sim_reserve_host(at, bytes) && cji_sim_space_any(at, at + bytes);
    CUresult r = used ? CUDA_ERROR_INVALID_VALUE : cji_sim_reserve_free(at, bytes);
    sim_unlock();
    return r;
}

/* ---- Mappings ---------------------------------------------------------------------------------------------------- */

static CUresult sim_map(sim_chunk *k, uint64_t at, uint64_t bytes, uint64_t offset)
{
    unsigned char *host = cji_sim_reserve_host(at, bytes);
    if (!host || cji_sim_space_any(at, at + bytes)) return CUDA_ERROR_INVALID_VALUE;
    if (mmap(host, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, k->fd, (off_t)offset) == MAP_FAILED)
        return CUDA_ERROR_OUT_OF_MEMORY;
    sim_range r = { .lo = at,
                    .bytes = bytes,
                    .room = bytes,
                    .place = SIM_MAPPED,
                    .dev = k->dev,
                    .host = host,
                    .chunk = k,
                    .flags = k->prop.requestedHandleTypes != CU_MEM_HANDLE_TYPE_NONE };
    CUresult result = cji_sim_space_add(&r);
    if (!result) k->maps++;
    return result;
}

CUresult cji_sim_cuMemMap(CUdeviceptr at, size_t bytes, size_t offset, CUmemGenericAllocationHandle h,
                          unsigned long long flags)
{
    if (flags || !bytes || (at | bytes | offset) % SIM_CHUNK_GRAIN) return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    sim_chunk *k = sim_chunk_of(h);
    CUresult r = CUDA_ERROR_INVALID_VALUE;
    if (k && offset <= k->bytes && bytes <= k->bytes - offset) r = sim_map(k, at, bytes, offset);
    sim_unlock();
    return r;
}

/* Whole mappings, or reserved addresses without any, as on a GPU. The engine may still read what a running kernel found
 * before: pages without the memory's bytes. */
CUresult cji_sim_cuMemUnmap(CUdeviceptr at, size_t bytes)
{
    sim_range was;
    uint64_t end;
    sim_lock();
    if (cji_sim_reserve_host(at, bytes) && !cji_sim_space_any(at, at + bytes)) {
        sim_unlock();
        return CUDA_SUCCESS;
    }
    CUresult r = cji_sim_space_mapped(at, bytes, NULL, NULL) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    if (!r) cji_sim_queue_wait_all();
    if (!r && (!cji_sim_sum(&end, at, bytes) || !cji_sim_space_mapped(at, bytes, NULL, NULL)))
        r = CUDA_ERROR_INVALID_VALUE;
    while (!r && at < end) {
        r = cji_sim_space_drop(at, SIM_MAPPED, &was);
        if (r) break;
        mmap(was.host, was.bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1,
             0);
        was.chunk->maps--;
        sim_chunk_settle(was.chunk);
        at += was.bytes;
    }
    sim_unlock();
    return r;
}

/* ---- Access ------------------------------------------------------------------------------------------------------ */

typedef struct sim_grant { unsigned device; bool read, write; } sim_grant;

static void sim_range_grant(sim_range *r, void *user)
{
    const sim_grant *g = user;
    unsigned bit = 1u << g->device;
    r->readers = g->read ? r->readers | bit : r->readers & ~bit;
    r->writers = g->write ? r->writers | bit : r->writers & ~bit;
}

static CUresult sim_grant_of(const CUmemAccessDesc *d, sim_grant *out)
{
    if (d->location.type != CU_MEM_LOCATION_TYPE_DEVICE)
        return d->location.type > CU_MEM_LOCATION_TYPE_DEVICE &&
                       d->location.type <= CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT
                   ? CUDA_ERROR_NOT_SUPPORTED
                   : CUDA_ERROR_INVALID_VALUE;
    if (!cji_sim_device(d->location.id)) return CUDA_ERROR_INVALID_DEVICE;
    if (d->flags != CU_MEM_ACCESS_FLAGS_PROT_NONE && d->flags != CU_MEM_ACCESS_FLAGS_PROT_READ &&
        d->flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE)
        return CUDA_ERROR_INVALID_VALUE;
    *out = (sim_grant){ .device = (unsigned)d->location.id,
                        .read = d->flags != CU_MEM_ACCESS_FLAGS_PROT_NONE,
                        .write = d->flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE };
    return CUDA_SUCCESS;
}

/* All of it or nothing. */
CUresult cji_sim_cuMemSetAccess(CUdeviceptr at, size_t bytes, const CUmemAccessDesc *desc, size_t count)
{
    sim_grant g;
    if (!desc || !count) return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    CUresult r = cji_sim_space_mapped(at, bytes, NULL, NULL) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; !r && i < count; i++) r = sim_grant_of(&desc[i], &g);
    for (size_t i = 0; !r && i < count; i++) {
        sim_grant_of(&desc[i], &g);
        cji_sim_space_mapped(at, bytes, sim_range_grant, &g);
    }
    sim_unlock();
    return r;
}

CUresult cji_sim_cuMemGetAccess(unsigned long long *flags, const CUmemLocation *where, CUdeviceptr at)
{
    sim_range range;
    if (!flags || !where || where->type != CU_MEM_LOCATION_TYPE_DEVICE) return CUDA_ERROR_INVALID_VALUE;
    if (!cji_sim_device(where->id)) return CUDA_ERROR_INVALID_DEVICE;
    sim_lock();
    bool mapped = cji_sim_space_find(at, &range) && range.place == SIM_MAPPED;
    if (mapped)
        *flags = range.writers >> where->id & 1   ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE
                 : range.readers >> where->id & 1 ? CU_MEM_ACCESS_FLAGS_PROT_READ
                                                  : CU_MEM_ACCESS_FLAGS_PROT_NONE;
    sim_unlock();
    return mapped ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* ---- The end of the process -------------------------------------------------------------------------------------- */

void cji_sim_virtual_end(void)
{
    while (sim_chunks) sim_chunk_free(sim_chunks);
    cji_sim_reserve_end();
}
