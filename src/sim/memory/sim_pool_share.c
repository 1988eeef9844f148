/* Pools between processes. A pool that can be shared is named by a small file without a name, whose descriptor another
 * process imports; its allocations lie in the file of their device, as those of cuMemAlloc do, so each is mapped where
 * it is imported. What is exported of an allocation names the process, the place in that file, and the pool. */
#include "sim/memory/sim_memory.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The contents of a pool's file. */
typedef struct sim_pool_label {
    char magic[8];
    int32_t device;
    uint32_t host;   /* 1: a pool of the host */
} sim_pool_label;
static const char sim_pool_magic[8] = "cjpool";

/* The kind of a handle of a pool's memory has the number of the pool's file in it: no other pool takes it. */
static sim_ipc_kind sim_pool_kind(const sim_pool *p)
{
    struct stat st;
    if (fstat(p->file, &st) != 0) return SIM_IPC_POOL_MEMORY;
    return (sim_ipc_kind)(SIM_IPC_POOL_MEMORY | (uint32_t)st.st_ino << 4);
}

bool cji_sim_pool_share(sim_pool *p)
{
    sim_pool_label l = { .device = p->dev->ordinal, .host = p->host };
    memcpy(l.magic, sim_pool_magic, sizeof l.magic);
    int fd = cji_sim_ipc_file_make("pool", sizeof l);
    if (fd < 0) return false;
    if (pwrite(fd, &l, sizeof l, 0) != (ssize_t)sizeof l) {
        close(fd);
        return false;
    }
    p->file = fd;
    p->shared = true;
    return true;
}

void cji_sim_pool_unshare(sim_pool *p)
{
    if (p->shared || p->imported) close(p->file);
}

/* ---- The pool ---------------------------------------------------------------------------------------------------- */

CUresult cji_sim_cuMemPoolExportToShareableHandle(void *out, CUmemoryPool h, CUmemAllocationHandleType type,
                                                  unsigned long long flags)
{
    if (!out || flags || type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    const sim_pool *p = cji_sim_pool_of(h);
    CUresult r = p && p->shared ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    int fd = r ? -1 : fcntl(p->file, F_DUPFD_CLOEXEC, 0);
    if (!r && fd < 0) r = CUDA_ERROR_OPERATING_SYSTEM;
    if (!r) memcpy(out, &fd, sizeof fd);
    sim_unlock();
    return r;
}

/* The descriptor stays the caller's. */
static CUresult sim_pool_import(int fd, CUmemoryPool *out)
{
    sim_pool_label l;
    if (fd < 0 || !cji_sim_ipc_file_is_ours(fd) || pread(fd, &l, sizeof l, 0) != (ssize_t)sizeof l ||
        memcmp(l.magic, sim_pool_magic, sizeof l.magic) != 0)
        return CUDA_ERROR_INVALID_VALUE;
    sim_device *dev = cji_sim_device(l.device);
    if (!dev) return CUDA_ERROR_INVALID_DEVICE;
    if (!cji_sim_space_open(dev)) return CUDA_ERROR_OUT_OF_MEMORY;
    int own = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (own < 0) return CUDA_ERROR_OPERATING_SYSTEM;
    sim_pool *p = cji_sim_pool_new(dev);
    if (!p) {
        close(own);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    p->imported = true;
    p->host = l.host != 0;
    p->file = own;
    *out = (CUmemoryPool)p;
    return CUDA_SUCCESS;
}

CUresult cji_sim_cuMemPoolImportFromShareableHandle(CUmemoryPool *out, void *handle, CUmemAllocationHandleType type,
                                                    unsigned long long flags)
{
    if (!out || flags || type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    CUresult r = sim_pool_import((int)(intptr_t)handle, out);
    sim_unlock();
    return r;
}

/* ---- Its memory -------------------------------------------------------------------------------------------------- */

CUresult cji_sim_cuMemPoolExportPointer(CUmemPoolPtrExportData *out, CUdeviceptr at)
{
    sim_range range;
    sim_ipc_way way = { .fd = -1 };
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    bool may = cji_sim_space_find(at, &range) && range.lo == at && range.pool && range.pool->shared && !range.leaving;
    CUresult r = may ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    if (!r) {
        cji_sim_space_change(at, cji_sim_ipc_part_export, &way);
        if (way.fd < 0) r = CUDA_ERROR_NOT_SUPPORTED;
        else if (!cji_sim_ipc_handle_fill(out, sim_pool_kind(range.pool), &way)) r = CUDA_ERROR_OPERATING_SYSTEM;
    }
    sim_unlock();
    return r;
}

static CUresult sim_pool_memory_open(const CUmemPoolPtrExportData *handle, sim_pool *p, sim_ctx *c, CUdeviceptr *out)
{
    sim_ipc_way way;
    CUresult r = cji_sim_ipc_handle_open(handle, sim_pool_kind(p), &way);
    if (r) return CUDA_ERROR_INVALID_VALUE;
    const sim_ipc_part part = { .opens = 1, .inode = way.inode, .device = way.device, .at = way.at };
    uint64_t at = 0;
    if (!cji_sim_ipc_part_lives(&way)) r = CUDA_ERROR_INVALID_VALUE;
    else if (p->host) r = cji_sim_space_host_part(p->dev, c, way.bytes, SIM_POOL_HOST_FLAGS, way.fd, &part, &at);
    else r = cji_sim_space_alloc_part(p->dev, c, way.bytes, way.fd, &part, out);
    close(way.fd);
    if (!r && p->host) *out = at;
    if (!r) cji_sim_pool_own(p, *out, way.bytes);
    return r;
}

CUresult cji_sim_cuMemPoolImportPointer(CUdeviceptr *out, CUmemoryPool h, CUmemPoolPtrExportData *handle)
{
    sim_ctx *c;
    if (!out || !handle) return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    CUresult r = cji_sim_ctx_current(&c);
    if (!r) r = cji_sim_capture_unsafe();
    sim_pool *p = cji_sim_pool_of(h);
    if (!r) r = p && p->imported ? sim_pool_memory_open(handle, p, c, out) : CUDA_ERROR_INVALID_VALUE;
    sim_unlock();
    return r;
}
