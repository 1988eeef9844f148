/* cujit/memory.h - device memory, pinned and managed host memory, memory between processes.
 *
 *     cj_dptr d = cj_alloc(s, bytes);     ... cj_launch(s, k, dims, d) ...     cj_free(dev, d);
 *
 * A cj_dptr is an address in device memory.  The device keeps a table of its allocations, so an
 * address alone is enough to use, check and free one.  The stream that is passed to an allocating
 * call becomes the allocation's *home stream*.  copy.h copies and fills memory.
 *
 * Lifetime.  cj_free may be called while work that uses the memory is still running.  The memory is
 * released once that work has completed: the release is *deferred*.  For that, cujit must know
 * which streams use the memory:
 *   home stream         known
 *   copies, fills       record their use on any stream by themselves
 *   kernels             on another stream than the home stream: call cj_stream_use
 *   captured graphs     keep what their copies, fills and kernel arguments use
 *
 * Threads.  Any thread.  The caller's current CUDA context is the same after a call as before it.
 *
 * Errors.  A call with a stream leaves its failure in the stream, another one in the device.
 */
#ifndef CUJIT_MEMORY_H
#define CUJIT_MEMORY_H

#include <cujit/driver.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Device memory --------------------------------------------------------------------------- */

/* Allocates `bytes` > 0 of device memory in the order of `s`, which becomes its home stream.
 * Work enqueued on `s` later may use it at once; other streams use it after an event or a fork.
 * The contents are undefined.  The address is a multiple of 256.
 * Owned by the caller, free with cj_free.  Returns at once.
 * Returns { 0 } on failure.  Errors, left in `s`:
 *   CJ_EINVAL: `bytes` is 0
 *   CJ_ESTATE: `s` is capturing; allocate before, or use cj_graph_mem_alloc
 *   CJ_ENOMEM: device or host memory is exhausted
 *   CJ_EDRIVER: the driver rejects the call
 * cuMemAllocAsync, CUDA 11.2. */
CJ_API cj_dptr cj_alloc(cj_stream *s, size_t bytes);

/* Makes device memory that somebody else allocated known: `bytes` > 0 from `d` on, in the context
 * of the stream's device.  Copies and fills then check their ranges against it, graphs and
 * cj_stream_use record its uses, and `s` is its home stream.  cj_free forgets it: the memory stays
 * its owner's, who frees it when cj_device_collect returns 0, or the work that uses it has
 * completed.
 * Returns at once.  Errors, left in `s`:
 *   CJ_EINVAL: `d` is { 0 }, `bytes` is 0, or the range ends beyond the address space
 *   CJ_ESTATE: the range overlaps a known allocation, or `s` is capturing
 *   CJ_ENOMEM: host memory is exhausted */
CJ_API cj_status cj_mem_wrap(cj_stream *s, cj_dptr d, size_t bytes);

/* Frees memory of cj_alloc, cj_managed_alloc, cj_ipc_alloc or cj_ipc_import; { 0 } is ignored.
 * Returns at once.  The memory is released once all work enqueued so far on its home stream, and on
 * every stream passed to cj_stream_use, has completed, and no graph uses it any more.
 * Memory of cj_graph_mem_alloc is freed until the next launch that allocates it.
 * Errors, left in `dev`:
 *   CJ_ENOTFOUND: `d` is not the start of an allocation of this device, or was freed before
 *   CJ_ESTATE: memory of a graph that is not allocated now, or that the graph frees itself
 *   CJ_ENOMEM: host memory is exhausted
 *   CJ_EDRIVER: the driver rejects the release, which is then deferred; left in the home stream too
 * cuMemFreeAsync, CUDA 11.2. */
CJ_API cj_status cj_free(cj_device *dev, cj_dptr d);

/* Records that work enqueued on `s` uses the allocation that holds `d`.  cj_free then waits for it
 * too.  Needed for kernels on a stream that is not the home stream; copies and fills record their
 * use by themselves.  Returns at once.
 *
 * The allocation is looked up in all open devices of the stream's driver, the stream's own first.
 * For a stream of another device than the memory's, only work enqueued before this call is covered;
 * call it after enqueuing the work.
 * While `s` is capturing, the graph keeps the allocation alive.  Pointer arguments of its kernels
 * are kept without this call; it is needed for pointers that are stored in memory.
 * Errors, left in `s`:
 *   CJ_ENOTFOUND: no allocation of an open device holds `d`
 *   CJ_ENOMEM: host memory is exhausted
 *   CJ_EDRIVER: the driver rejects a call */
CJ_API cj_status cj_stream_use(cj_stream *s, cj_dptr d);

/* Runs all deferred releases of the device that are possible now, and returns idle memory of copies
 * and graphs to the driver.  Never blocks.  Returns how many releases still wait. */
CJ_API size_t cj_device_collect(cj_device *dev);

/* ---- What memory an address is in ------------------------------------------------------------ */

typedef enum cj_mem_kind {
    CJ_MEM_KIND_POOL = 1,         /* cj_alloc */
    CJ_MEM_KIND_MANAGED = 2,      /* cj_managed_alloc, or managed memory of other code */
    CJ_MEM_KIND_IPC = 3,          /* cj_ipc_alloc */
    CJ_MEM_KIND_IPC_IMPORTED = 4, /* cj_ipc_import */
    CJ_MEM_KIND_GRAPH = 5,        /* cj_graph_mem_alloc */
    CJ_MEM_KIND_HOST = 6,         /* page-locked host memory, of cj_host_alloc or other code */
    CJ_MEM_KIND_FOREIGN = 7,      /* device memory that other code allocated */
    CJ_MEM_KIND_WRAPPED = 8       /* cj_mem_wrap */
} cj_mem_kind;

typedef struct cj_mem_info {
    size_t size;       /* sizeof(cj_mem_info) */
    int32_t kind;      /* a cj_mem_kind */
    cj_dptr base;      /* where the allocation begins */
    size_t bytes;      /* of the allocation */
    cj_stream *home;   /* its home stream; NULL if that was freed, or the kind has none */
    cj_device *device; /* whose memory it is; NULL if that device is not open */
} cj_mem_info;

/* Fills `info` with its size and zeros. */
CJ_API void cj_mem_info_defaults(cj_mem_info *info);

/* Fills *info, up to info->size bytes, with the allocation that holds `d`, any address.  It is
 * looked up in all open devices of the driver of `dev`, then by the driver.  `home` and `device`
 * are Borrowed until cj_stream_free and cj_device_close.  Returns at once.  Any thread.
 * Errors, left in `dev`:
 *   CJ_EINVAL: `info` is NULL, or its size is not set
 *   CJ_ENOTFOUND: `d` is in no memory that the driver knows
 * cuPointerGetAttributes. */
CJ_API cj_status cj_mem_get_info(cj_device *dev, cj_dptr d, cj_mem_info *info);

/* ---- Pinned host memory ---------------------------------------------------------------------- */

typedef struct cj_host_opts {
    size_t size;            /* sizeof(cj_host_opts) */
    int32_t write_combined; /* 1: fast to upload from, very slow for the host to read
                             * (CU_MEMHOSTALLOC_WRITECOMBINED) */
    int32_t mapped;         /* 1: kernels may read it in place also on a device without unified
                             * addressing (CU_MEMHOSTALLOC_DEVICEMAP) */
} cj_host_opts;

/* Fills `opts` with its size and the defaults.  `opts`: May be NULL. */
CJ_API void cj_host_defaults(cj_host_opts *opts);

/* Allocates `bytes` > 0 of page-locked host memory, which the host and all devices of the driver
 * can read and write (CU_MEMHOSTALLOC_PORTABLE).  Copies from and to it run asynchronously without
 * a staging copy.  The contents are undefined.  `opts`: May be NULL, for the defaults.
 * Owned by the caller, free with cj_host_free.  Blocks: locking pages takes about 1 s per GB.
 * Returns NULL on failure.  Errors, left in `dev`:
 *   CJ_EINVAL: `bytes` is 0, or opts->size is wrong
 *   CJ_ENOMEM: memory is exhausted
 * cuMemHostAlloc. */
CJ_API void *cj_host_alloc(cj_device *dev, size_t bytes, const cj_host_opts *opts);

/* Frees memory of cj_host_alloc.  Copies that use it must have completed.  `p`: May be NULL.
 * Errors, left in `dev`:
 *   CJ_EDRIVER: `p` is not memory of cj_host_alloc
 * cuMemFreeHost. */
CJ_API cj_status cj_host_free(cj_device *dev, void *p);

/* ---- Managed memory: one address for host and devices ---------------------------------------- */

/* Allocates `bytes` > 0 of memory that the host and every device use at one address.  `s` becomes
 * its home stream.  The host may access it while no enqueued work uses it, or at any time where the
 * device has CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS.
 * Owned by the caller, free with cj_free.
 * Returns { 0 } on failure.  Errors, left in `s`:
 *   CJ_EINVAL: `bytes` is 0
 *   CJ_ENOTSUP: the device has no managed memory
 *   CJ_ESTATE: `s` is capturing
 *   CJ_ENOMEM: memory is exhausted
 *   CJ_EDRIVER: the driver rejects the call
 * cuMemAllocManaged. */
CJ_API cj_dptr cj_managed_alloc(cj_stream *s, size_t bytes);

/* The host address of managed memory. */
static inline void *cj_managed_host(cj_dptr d) { return (void *)(uintptr_t)d.addr; }

/* How a program will use managed memory. */
typedef enum cj_advice {
    CJ_ADVICE_READ_MOSTLY = 0,    /* each reader may have a copy of its own */
    CJ_ADVICE_PREFER_DEVICE = 1,  /* keep it on the device */
    CJ_ADVICE_PREFER_HOST = 2,    /* keep it on the host */
    CJ_ADVICE_USED_BY_DEVICE = 3, /* keep it mapped on the device, wherever it is */
    CJ_ADVICE_USED_BY_HOST = 4    /* keep it mapped on the host, wherever it is */
} cj_advice;

/* Gives the driver advice about a range of managed memory, or withdraws it.  The contents do not
 * change.  The effect is there when the call returns.
 * Errors, left in `dev`:
 *   CJ_EINVAL: `advice` is not a cj_advice, `d` is { 0 }, or `bytes` is 0
 *   CJ_ENOTSUP: the device has no concurrent managed access
 *   CJ_EDRIVER: the range is not managed memory
 * cuMemAdvise. */
CJ_API cj_status cj_managed_advise(cj_device *dev, cj_dptr d, size_t bytes, cj_advice advice);
CJ_API cj_status cj_managed_unadvise(cj_device *dev, cj_dptr d, size_t bytes, cj_advice advice);

/* ---- Peer access ----------------------------------------------------------------------------- */

/* 1 if `dev` can access the memory of `peer`; 0 if not, and for a failed device.
 * cuDeviceCanAccessPeer. */
CJ_API int cj_device_can_access_peer(cj_device *dev, cj_device *peer);

/* Lets kernels of `dev` read and write all memory of `peer`, present and future.  The other
 * direction needs a call of its own.  Call cj_stream_use for memory that such kernels use; a graph
 * keeps what the arguments of its kernels point to by itself.
 * Errors, left in `dev`, in its open streams, and in those made later, until the call succeeds:
 *   CJ_EINVAL: the devices are of two drivers
 *   CJ_ENOTSUP: `dev` cannot access the memory of `peer`; use cj_copy_peer
 *   CJ_EDRIVER: the driver rejects a call
 * cuCtxEnablePeerAccess, cuMemPoolSetAccess. */
CJ_API cj_status cj_device_enable_peer(cj_device *dev, cj_device *peer);

/* ---- Memory between processes ---------------------------------------------------------------- */

enum { CJ_IPC_MEM_BYTES = 72 }; /* bytes of the handle of an allocation for other processes */

/* Allocates `bytes` > 0 of device memory that other processes can import; memory of cj_alloc cannot
 * be exported.  It does not come from a pool: allocating and releasing it costs more, and a release
 * may block until the device is idle.  Otherwise as cj_alloc; `s` becomes its home stream.
 * Owned by the caller, free with cj_free.
 * Returns { 0 } on failure.  Errors, left in `s`:
 *   CJ_EINVAL: `bytes` is 0
 *   CJ_ESTATE: `s` is capturing
 *   CJ_ENOMEM: memory is exhausted
 *   CJ_EDRIVER: the driver rejects the call
 * cuMemAlloc. */
CJ_API cj_dptr cj_ipc_alloc(cj_stream *s, size_t bytes);

/* Writes the handle of the allocation that starts at `d` to `handle`, a buffer of `bytes` >=
 * CJ_IPC_MEM_BYTES bytes.  Another process passes these bytes to cj_ipc_import.
 * The handle stays valid until this process frees the memory.
 * The processes order their use of the memory by shared events (cj_event_export).
 * Errors, left in `dev`:
 *   CJ_EINVAL: `d` is not the start of memory of cj_ipc_alloc, or the buffer is too small
 *   CJ_ENOTSUP: the driver has no memory between processes
 *   CJ_EDRIVER: the driver rejects the call
 * cuIpcGetMemHandle. */
CJ_API cj_status cj_ipc_export(cj_device *dev, cj_dptr d, void *handle, size_t bytes);

/* Maps memory of another process into this one.  `handle` holds `bytes` >= CJ_IPC_MEM_BYTES bytes.
 * `s` becomes the memory's home stream.
 * Owned by the caller, free with cj_free, before the exporting process frees it.  cj_free unmaps it
 * from this process only.
 * Returns { 0 } on failure.  Errors, left in `s`:
 *   CJ_EINVAL: too few bytes, bytes that are not a handle, or memory of this process
 *   CJ_ESTATE: the memory is already imported, or `s` is capturing
 *   CJ_ENOTSUP: the driver has no memory between processes
 *   CJ_EDRIVER: the exporting process has freed the memory
 * cuIpcOpenMemHandle, cuIpcCloseMemHandle. */
CJ_API cj_dptr cj_ipc_import(cj_stream *s, const void *handle, size_t bytes);

#ifdef __cplusplus
}
#endif

/* ---- Option literal: CJ_HOST(.write_combined = 1); C and C++20 ------------------------------- */

#ifndef __cplusplus
#define CJ_HOST(...) (&(const cj_host_opts){ .size = sizeof(cj_host_opts), __VA_ARGS__ })
#elif __cplusplus >= 202002L
#ifndef CJI_KEEP
#define CJI_KEEP
namespace cji { template<class T> inline const T *keep(const T &t) { return &t; } }
#endif
#define CJ_HOST(...) cji::keep(cj_host_opts{ .size = sizeof(cj_host_opts), __VA_ARGS__ })
#endif

#endif
