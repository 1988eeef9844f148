/* cujit/copy.h - more copies: rows and boxes, between devices, many at once; and memory that host and devices, or processes, share.
 *
 * stream.h has the plain copies.  Everything here is given to a stream as those are: it returns at once, also with pageable host memory; ranges
 * are checked against the allocations that hold them; memory stays until the copy is done, wherever it is freed; captured, host memory is read and
 * written at each launch of the graph.  0 bytes, rows or slices are fine: nothing is copied.
 */
#ifndef CUJIT_COPY_H
#define CUJIT_COPY_H

#include <cujit/stream.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Rows: `height` of `width` bytes, `pitch` bytes from one to the next ------------------------------------------- */

/* A pitch is at least `width`; 0 stands for `width`, rows without gaps.  The ranges must not overlap.
 * Errors: CJ_EINVAL for NULL, a pitch that is too small, a range that does not fit into its allocation; CJ_ENOMEM; CJ_EDRIVER.  cuMemcpy2DAsync. */
CJ_API cj_status cj_copy_2d(cj_stream *s, cj_dptr dst, size_t dst_pitch, cj_dptr src, size_t src_pitch, size_t width, size_t height);
CJ_API cj_status cj_copy_2d_to_device(cj_stream *s, cj_dptr dst, size_t dst_pitch, const void *src, size_t src_pitch, size_t width, size_t height);
CJ_API cj_status cj_copy_2d_to_host(cj_stream *s, void *dst, size_t dst_pitch, cj_dptr src, size_t src_pitch, size_t width, size_t height);

/* ---- Boxes: slices of rows, between any two ends but two of the host ------------------------------------------------ */

/* `depth` slices of `height` rows of `width` bytes.  Each end is device memory or host memory, with the other field zero, and begins at its first byte. */
typedef struct cj_copy_3d_params {
    size_t size;                       /* sizeof(cj_copy_3d_params) */
    size_t width, height, depth;       /* bytes, rows, slices: each is set, 1 where there is one */
    cj_dptr dst, src;                  /* device memory, or { 0 } */
    void *dst_host;                    /* host memory, or NULL */
    const void *src_host;
    size_t dst_pitch, src_pitch;       /* bytes from row to row, at least width; 0: width */
    size_t dst_rows, src_rows;         /* rows from slice to slice, at least height; 0: height */
    cj_device *dst_device, *src_device; /* whose memory dst and src are; NULL: the stream's device */
} cj_copy_3d_params;

/* Fills `box` with its size and zeros. */
CJ_API void cj_copy_3d_params_defaults(cj_copy_3d_params *box);

/* Copies a box; rows that lie without gaps at both ends are copied as one.  As cj_copy_2d; between devices as cj_copy_peer.
 * Errors: CJ_EINVAL also for an end that is none or both, for two ends on the host, and for host memory with another device than the stream's.
 * cuMemcpy3DAsync, cuMemcpy3DPeerAsync. */
CJ_API cj_status cj_copy_3d(cj_stream *s, const cj_copy_3d_params *box);

/* ---- Between devices ----------------------------------------------------------------------------------------------- */

/* Copies `bytes` from memory of one device to memory of another, on a stream of either, in its order; needs no access of one to the other.  Other streams,
 * of both devices, wait for it by an event.  cj_free on either device waits for it by itself.
 * Captured, it lets the stream's device reach the other's memory, as cj_device_enable_peer does, since a graph copies only there.
 * Errors: CJ_EINVAL for devices of two drivers, and as cj_copy; captured, CJ_ENOTSUP where the device cannot.  cuMemcpyPeerAsync; captured, cuMemcpyAsync. */
CJ_API cj_status cj_copy_peer(cj_stream *s, cj_device *dst_device, cj_dptr dst, cj_device *src_device, cj_dptr src, size_t bytes);

/* 1 where kernels of `dev` can be let reach the memory of `peer`; 0 where not, and for a failed device. */
CJ_API int cj_device_can_access_peer(cj_device *dev, cj_device *peer);

/* Lets kernels of `dev` read and write all memory of `peer`, from now on; the other direction is a call of its own.  Name such memory with cj_stream_use;
 * a graph keeps what the arguments of its kernels lead to by itself.
 * Errors, in `dev`: CJ_ENOTSUP where they cannot; CJ_EINVAL for devices of two drivers.  cuCtxEnablePeerAccess, cuMemPoolSetAccess. */
CJ_API cj_status cj_device_enable_peer(cj_device *dev, cj_device *peer);

/* ---- Many copies at once ------------------------------------------------------------------------------------------- */

/* One copy of a batch: as cj_copy_to_device, cj_copy_to_host or cj_copy, whichever its ends say. */
typedef struct cj_copy_item {
    cj_dptr dst, src;     /* device memory, or { 0 } */
    void *dst_host;       /* host memory, or NULL */
    const void *src_host;
    size_t bytes;
} cj_copy_item;

/* Gives all of them, in their order, or none: each is checked before the first is given.  `items` is read during the call.
 * Errors: those of the copies, naming the item.  A refusal of the driver (CJ_EDRIVER, CJ_ENOMEM) may leave those before it given. */
CJ_API cj_status cj_copy_batch(cj_stream *s, const cj_copy_item *items, size_t count);

/* ---- Managed memory: one address for host and devices --------------------------------------------------------------- */

/* `bytes` > 0 of memory that the host and every device may use at its one address.  The host may touch it while no work given to the device uses it, or at any
 * time where the device has CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS.  `s` becomes its home stream; otherwise as cj_alloc: owned by the
 * caller, free with cj_free, which returns at once; the memory goes when every use is over.
 * Returns { 0 } and leaves the failure in `s`: CJ_ENOTSUP where the device has none; CJ_ENOMEM; CJ_EINVAL for 0 bytes; CJ_ESTATE while captured. */
CJ_API cj_dptr cj_managed_alloc(cj_stream *s, size_t bytes);

/* Its address for the host. */
static inline void *cj_managed_host(cj_dptr d) { return (void *)(uintptr_t)d.addr; }

/* Moves managed memory to the stream's device, or to the host, in the stream's order, before it is used there.
 * Errors: CJ_ENOTSUP where the device has no concurrent managed access; CJ_ESTATE while `s` is being captured; CJ_EINVAL for a range that does not fit;
 * CJ_EDRIVER for memory that is not managed.  cuMemPrefetchAsync. */
CJ_API cj_status cj_prefetch_to_device(cj_stream *s, cj_dptr d, size_t bytes);
CJ_API cj_status cj_prefetch_to_host(cj_stream *s, cj_dptr d, size_t bytes);

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

/* ---- Literals: CJ_COPY_3D(.width = 64, .height = 8, .depth = 1, .dst = d, .src_host = h); C and C++20 ------------------- */

#ifndef __cplusplus
#define CJ_COPY_3D(...) (&(const cj_copy_3d_params){ .size = sizeof(cj_copy_3d_params), __VA_ARGS__ })
#elif __cplusplus >= 202002L
#define CJ_COPY_3D(...) cji::keep(cj_copy_3d_params{ .size = sizeof(cj_copy_3d_params), __VA_ARGS__ })
#endif

#endif
