/* cujit/memory.h - device memory, pinned host memory, managed memory, memory between processes, peer access. */
#ifndef CUJIT_MEMORY_H
#define CUJIT_MEMORY_H

#include <cujit/driver.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Device memory ----------------------------------------------------------------------------------------------- */

/* `bytes` > 0 of device memory, usable at once by what is given to `s` later, and by another stream behind an event; `s` becomes its home
 * stream.  Contents undefined, 256-byte aligned.  Owned by the caller, free with cj_free.
 * Returns { 0 } and leaves the failure in `s`: CJ_ENOMEM; CJ_EINVAL for 0 bytes; CJ_ESTATE while `s` is being captured. */
CJ_API cj_dptr cj_alloc(cj_stream *s, size_t bytes);

/* Gives memory back: `d` is what cj_alloc returned.  Returns at once; the memory goes when its home stream and every stream named by cj_stream_use have
 * reached this moment (of a stream that was freed: the end of what it was given), and when no graph is left that uses it.  { 0 } is fine.
 * Memory of a graph (cj_graph_mem_alloc in graph.h) is given back until the next launch that allocates it.
 * Errors, in `dev`: CJ_ENOTFOUND if `d` is not the start of memory of this device, or was freed before; CJ_ESTATE for memory of a graph that is not there. */
CJ_API cj_status cj_free(cj_device *dev, cj_dptr d);

/* Records that work enqueued on `s`, which is not the memory's home stream, uses the allocation that holds `d`: cj_free then waits for that work too.
 * Needed for memory that kernels use; copies and fills record their use themselves.
 * The allocation is looked up in all open devices of the stream's driver, the stream's own device first.
 * While `s` is capturing, the graph keeps the allocation alive.  It keeps the pointer arguments of its kernels by itself: this call is for pointers that are stored in memory.
 * For a stream of another device only work enqueued before this call is covered; call it after enqueuing the work.
 * Errors, in `s`: CJ_ENOTFOUND: no allocation of an open device holds `d`. */
CJ_API cj_status cj_stream_use(cj_stream *s, cj_dptr d);

/* Does those releases of the device that were put off and have become possible, all of them, and gives idle staging memory back.  Waits for nothing.
 * Returns how many still wait. */
CJ_API size_t cj_device_collect(cj_device *dev);

/* ---- Pinned host memory ------------------------------------------------------------------------------------------ */

/* `bytes` > 0 of page-locked memory, readable and writable by host and device.  Owned by the caller, free with cj_host_free.  Contents undefined.
 * Returns NULL and leaves the failure in `dev`: CJ_ENOMEM, CJ_EINVAL for 0 bytes.  Locking pages is slow (about 1 s a GB): reuse it. */
CJ_API void *cj_host_alloc(cj_device *dev, size_t bytes);

/* Gives it back.  Copies that use it must be done.  NULL is fine.  Errors: CJ_EDRIVER where `p` is no such memory. */
CJ_API cj_status cj_host_free(cj_device *dev, void *p);

/* ---- Managed memory: one address for host and devices --------------------------------------------------------------- */

/* `bytes` > 0 of memory that the host and every device may use at its one address.  The host may touch it while no work given to the device uses it, or at any
 * time where the device has CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS.  `s` becomes its home stream; otherwise as cj_alloc: owned by the
 * caller, free with cj_free, which returns at once; the memory goes when every use is over.
 * Returns { 0 } and leaves the failure in `s`: CJ_ENOTSUP where the device has none; CJ_ENOMEM; CJ_EINVAL for 0 bytes; CJ_ESTATE while captured. */
CJ_API cj_dptr cj_managed_alloc(cj_stream *s, size_t bytes);

/* Its address for the host. */
static inline void *cj_managed_host(cj_dptr d) { return (void *)(uintptr_t)d.addr; }

/* What a program knows about the use of managed memory. */
typedef enum cj_advice {
    CJ_ADVICE_READ_MOSTLY = 0,   /* each reader may have its own copy */
    CJ_ADVICE_PREFER_DEVICE = 1, /* it should lie on the device */
    CJ_ADVICE_PREFER_HOST = 2,   /* it should lie on the host */
    CJ_ADVICE_USED_BY_DEVICE = 3, /* it stays mapped there, wherever it lies */
    CJ_ADVICE_USED_BY_HOST = 4
} cj_advice;

/* Tells the driver, or takes it back, for the device.  Returns when it is told; changes no contents.
 * Errors, in `dev`: CJ_EINVAL for another advice, and for 0 bytes; CJ_ENOTSUP as above; CJ_EDRIVER for memory that is not managed.  cuMemAdvise. */
CJ_API cj_status cj_managed_advise(cj_device *dev, cj_dptr d, size_t bytes, cj_advice advice);
CJ_API cj_status cj_managed_unadvise(cj_device *dev, cj_dptr d, size_t bytes, cj_advice advice);

/* ---- Peer access -------------------------------------------------------------------------------------------------- */

/* 1 where kernels of `dev` can be let reach the memory of `peer`; 0 where not, and for a failed device. */
CJ_API int cj_device_can_access_peer(cj_device *dev, cj_device *peer);

/* Lets kernels of `dev` read and write all memory of `peer`, from now on; the other direction is a call of its own.  Name such memory with cj_stream_use;
 * a graph keeps what the arguments of its kernels lead to by itself.
 * Errors, in `dev`: CJ_ENOTSUP where they cannot; CJ_EINVAL for devices of two drivers.  cuCtxEnablePeerAccess, cuMemPoolSetAccess. */
CJ_API cj_status cj_device_enable_peer(cj_device *dev, cj_device *peer);

/* ---- Memory between processes -------------------------------------------------------------------------------------- */

enum { CJ_IPC_MEM_BYTES = 72 }; /* bytes of a memory's handle for other processes */

/* `bytes` > 0 of device memory that may be given out to other processes, which that of cj_alloc may not: it is not of a pool, so making and releasing it costs
 * more, and a release may wait for the device.  Otherwise as cj_alloc, with `s` as its home stream; owned by the caller, free with cj_free.
 * Returns { 0 } and leaves the failure in `s`: CJ_ENOMEM; CJ_EINVAL for 0 bytes; CJ_ESTATE while captured.  cuMemAlloc. */
CJ_API cj_dptr cj_ipc_alloc(cj_stream *s, size_t bytes);

/* Writes the handle of memory that begins at `d`, CJ_IPC_MEM_BYTES bytes, to be carried to another process.  It leads to the memory until that is freed
 * here.  What the processes do with the memory is ordered by events that they share (cj_event_export).
 * Errors, in `dev`: CJ_EINVAL for memory that is not of cj_ipc_alloc, and for too few bytes; CJ_ENOTSUP where the driver lacks it.  cuIpcGetMemHandle. */
CJ_API cj_status cj_ipc_export(cj_device *dev, cj_dptr d, void *handle, size_t bytes);

/* The memory of another process, at an address of this one; `s` becomes its home stream.  Owned by the caller, free with cj_free, which takes it from
 * this process only, and before the other one frees it.
 * Returns { 0 } and leaves the failure in `s`: CJ_EINVAL for too few bytes, for bytes that are no handle, and for memory of this process; CJ_ESTATE for memory
 * that was imported before, and while captured; CJ_EDRIVER where the handle leads to nothing any more; CJ_ENOTSUP where the driver lacks it.
 * cuIpcOpenMemHandle, cuIpcCloseMemHandle. */
CJ_API cj_dptr cj_ipc_import(cj_stream *s, const void *handle, size_t bytes);

#ifdef __cplusplus
}
#endif
#endif
