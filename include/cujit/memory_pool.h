/* cujit/memory_pool.h - pools of memory: of the device, of the host, between processes.
 *
 * A cj_mem_pool is a memory pool of the driver: allocations in stream order with a place, a limit
 * and peer access of their own.  cj_alloc needs none.  A pool is for memory of the host that is
 * allocated in stream order, and for memory that other processes import without a driver call that
 * waits for the device.
 *
 *     cj_mem_pool *p = cj_mem_pool_create(dev, CJ_MEM_POOL(.ipc = 1));
 *     cj_dptr d = cj_mem_pool_alloc(p, s, bytes);     ... cj_free(dev, d);
 *
 * The memory is known to the device as that of cj_alloc: copies check their ranges, cj_stream_use
 * notes its uses, graphs keep it alive.  It is allocated in the order of its stream, which is its
 * home stream.  Pools and their memory may be freed in any order.
 *
 * Memory of the host has the same address for the host and for kernels of the pool's device
 * (cj_managed_host).  The host may touch it when its stream has reached the allocation, and reads
 * and writes it there: cj_copy_to_host from memory of a node that processes share fails with the
 * driver 580.159.04 on an H100, in both processes, while kernels run on it and the host of one
 * process reads what that of the other writes.  Such copies were tested on the CPU device only.
 *
 * Threads.  Any thread.  The caller's current CUDA context is the same after a call as before it.
 */
#ifndef CUJIT_MEMORY_POOL_H
#define CUJIT_MEMORY_POOL_H

#include <cujit/memory.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cj_mem_pool cj_mem_pool;

/* Where the memory of a pool lies. */
typedef enum cj_mem_place {
    CJ_MEM_PLACE_DEVICE = 0,   /* in the device */
    CJ_MEM_PLACE_HOST = 1,     /* in the host */
    CJ_MEM_PLACE_HOST_NUMA = 2 /* in the node .numa_node of the host */
} cj_mem_place;

typedef struct cj_mem_pool_opts {
    size_t size;         /* sizeof(cj_mem_pool_opts) */
    int32_t place;       /* a cj_mem_place */
    int32_t numa_node;   /* of CJ_MEM_PLACE_HOST_NUMA */
    uint64_t max_bytes;  /* that the pool holds at most; 0: what the system has */
    uint64_t keep_bytes; /* unused memory that synchronizing leaves in the pool */
    int32_t ipc;         /* 1: other processes can import the pool; not of CJ_MEM_PLACE_HOST */
} cj_mem_pool_opts;

/* Fills `opts` with its size and the defaults.  `opts`: May be NULL. */
CJ_API void cj_mem_pool_defaults(cj_mem_pool_opts *opts);

/* Creates a pool for streams of `dev`, whose kernels have access to its memory.  `opts`: May be
 * NULL.  Returns at once.
 * Never NULL.  Owned by the caller, free with cj_mem_pool_free.
 * Errors, in the failed object that is returned:
 *   CJ_EINVAL: an option is out of range, opts->size is wrong, there is no such node, or .ipc of
 *     CJ_MEM_PLACE_HOST
 *   CJ_ENOTSUP: the device has no memory pools, or the driver none of that place or none that
 *     processes share
 *   CJ_ENOMEM: memory is exhausted
 *   CJ_EDRIVER: the driver rejects a call
 * cuMemPoolCreate, CUDA 11.2; pools of the host, CUDA 13.0. */
CJ_API cj_mem_pool *cj_mem_pool_create(cj_device *dev, const cj_mem_pool_opts *opts);

/* Makes a pool of a CUmemoryPool of other code, which stays its owner's: cj_mem_pool_free does not
 * destroy it.  Returns at once.
 * Never NULL.  Owned by the caller, free with cj_mem_pool_free.
 * Errors, in the failed object that is returned:
 *   CJ_EINVAL: `raw` is NULL */
CJ_API cj_mem_pool *cj_mem_pool_wrap(cj_device *dev, void *raw);

/* Frees the pool.  Memory that was allocated from it stays until it is freed.
 * `p`: May be NULL.  cuMemPoolDestroy. */
CJ_API void cj_mem_pool_free(cj_mem_pool *p);

/* Allocates `bytes` > 0 of the pool's memory in the order of `s`, as cj_alloc does.  The contents
 * are undefined.  Owned by the caller, free with cj_free.  Returns at once.
 * Returns { 0 } on failure.  Errors, left in `s`:
 *   CJ_EINVAL: `bytes` is 0, or `s` is a stream of another device than the pool
 *   CJ_ESTATE: `s` is capturing, or the pool is another process's
 *   CJ_ENOMEM: memory is exhausted, or the pool's max_bytes is reached
 *   CJ_EDRIVER: the driver rejects the call
 * cuMemAllocFromPoolAsync. */
CJ_API cj_dptr cj_mem_pool_alloc(cj_mem_pool *p, cj_stream *s, size_t bytes);

/* Lets kernels of `peer` read and write the pool's memory, present and future.
 * cj_device_enable_peer does not cover it.
 * Errors, left in `p`:
 *   CJ_EINVAL: the devices belong to different drivers
 *   CJ_ENOTSUP: `peer` cannot access memory of the device; use cj_copy_peer
 *   CJ_EDRIVER: the driver rejects the call
 * cuMemPoolSetAccess. */
CJ_API cj_status cj_mem_pool_enable_peer(cj_mem_pool *p, cj_device *peer);

/* Returns unused memory of the pool to the system, until at most `keep` bytes are left.
 * Errors, left in `p`:
 *   CJ_EDRIVER: the driver rejects the call
 * cuMemPoolTrimTo. */
CJ_API cj_status cj_mem_pool_trim(cj_mem_pool *p, size_t keep);

/* What a pool holds. */
typedef struct cj_mem_pool_counts {
    size_t size;                      /* sizeof(cj_mem_pool_counts) */
    uint64_t used_bytes;              /* of allocations */
    uint64_t used_bytes_most;         /* the largest value of used_bytes so far */
    uint64_t reserved_bytes;          /* that it has from the system */
    uint64_t reserved_bytes_most;     /* the largest value of reserved_bytes so far */
} cj_mem_pool_counts;

/* Fills `counts` with its size and zeros. */
CJ_API void cj_mem_pool_counts_defaults(cj_mem_pool_counts *counts);

/* Fills *counts, up to counts->size bytes.  Returns at once.
 * Errors, left in `p`:
 *   CJ_EINVAL: `counts` is NULL, or its size is not set
 *   CJ_EDRIVER: the driver rejects a call
 * cuMemPoolGetAttribute. */
CJ_API cj_status cj_mem_pool_get_counts(cj_mem_pool *p, cj_mem_pool_counts *counts);

/* The CUmemoryPool.  NULL of a failed object.  Belongs to `p`. */
CJ_API void *cj_mem_pool_raw(const cj_mem_pool *p);

/* Writes a descriptor of the pool to *fd.  Another process gets it over a socket (SCM_RIGHTS) or by
 * fork and exec, and passes it to cj_mem_pool_import once; then it imports each allocation.
 * `fd`: Owned by the caller, free with close.  Returns at once.
 * Errors, left in `p`:
 *   CJ_EINVAL: `fd` is NULL
 *   CJ_ESTATE: the pool was made without .ipc = 1, or is another process's
 *   CJ_EDRIVER: the driver rejects the call
 * cuMemPoolExportToShareableHandle. */
CJ_API cj_status cj_mem_pool_export(cj_mem_pool *p, int *fd);

/* Makes a pool of another process known here, by the descriptor `fd` of cj_mem_pool_export, which
 * stays the caller's and may be closed.  Nothing is allocated from it: cj_mem_pool_import_mem maps
 * what the other process has allocated.  Kernels of `dev` reach it, also where it is the host's.
 * Returns at once.
 * Never NULL.  Owned by the caller, free with cj_mem_pool_free.
 * Errors, in the failed object that is returned:
 *   CJ_EINVAL: `fd` is negative
 *   CJ_ENOTSUP: the driver has no pools between processes
 *   CJ_ENOMEM: memory is exhausted
 *   CJ_EDRIVER: `fd` is no descriptor of a pool, or the driver rejects the call
 * cuMemPoolImportFromShareableHandle, cuMemPoolSetAccess. */
CJ_API cj_mem_pool *cj_mem_pool_import(cj_device *dev, int fd);

enum { CJ_MEM_POOL_MEM_BYTES = 72 }; /* bytes of the handle of an allocation of a pool */

/* Writes the handle of the pool's allocation that starts at `d` to `handle`, a buffer of `bytes` >=
 * CJ_MEM_POOL_MEM_BYTES bytes, for a process that has imported the pool.  The processes order their
 * use of the memory by shared events (cj_event_export), from its allocation on.  Returns at once.
 * Errors, left in `p`:
 *   CJ_EINVAL: `d` is not the start of memory of the pool, or the buffer is too small
 *   CJ_ESTATE: the pool was made without .ipc = 1, or is another process's
 *   CJ_EDRIVER: the driver rejects the call
 * cuMemPoolExportPointer. */
CJ_API cj_status cj_mem_pool_export_mem(cj_mem_pool *p, cj_dptr d, void *handle, size_t bytes);

/* Maps memory of a pool of cj_mem_pool_import into this process.  `handle` holds `bytes` >=
 * CJ_MEM_POOL_MEM_BYTES bytes.  `s` becomes the memory's home stream.  Returns at once.
 * Owned by the caller, free with cj_free.  This unmaps it from this process only, in stream order.
 *
 * The exporting process must not free the memory before it is unmapped here: let it wait for a
 * shared event that is recorded on `s` behind cj_free.
 * Returns { 0 } on failure.  Errors, left in `s`:
 *   CJ_EINVAL: too few bytes, or `s` is a stream of another device than the pool
 *   CJ_ESTATE: `s` is capturing, the pool is this process's own, or the memory is already imported
 *   CJ_ENOMEM: memory is exhausted
 *   CJ_EDRIVER: the bytes are no handle of the pool's memory, the exporting process has freed the
 *     memory, or the driver rejects the call
 * cuMemPoolImportPointer. */
CJ_API cj_dptr cj_mem_pool_import_mem(cj_mem_pool *p, cj_stream *s, const void *handle,
                                      size_t bytes);

#ifdef __cplusplus
}
#endif

/* ---- Option literals: CJ_MEM_POOL(.ipc = 1); C and C++20 ------------------------------------- */

#ifndef __cplusplus
#define CJ_MEM_POOL(...) \
    (&(const cj_mem_pool_opts){ .size = sizeof(cj_mem_pool_opts), __VA_ARGS__ })
#elif __cplusplus >= 202002L
#ifndef CJI_KEEP
#define CJI_KEEP
namespace cji { template<class T> inline const T *keep(const T &t) { return &t; } }
#endif
#define CJ_MEM_POOL(...) \
    cji::keep(cj_mem_pool_opts{ .size = sizeof(cj_mem_pool_opts), __VA_ARGS__ })
#endif

#endif
