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

/* ---- Copies and fills -------------------------------------------------------------------------------------------- */

/* Copies `bytes` between host and device in the stream's order; 0 is fine.  Returns at once in every case.  Memory of cj_host_alloc (or otherwise pinned)
 * must stay as it is until the stream has passed the copy.  Pageable memory goes through pinned staging memory: the source may change as soon
 * as cj_copy_to_device returns, the destination is filled when the stream has passed the copy.  Captured, host memory of any kind is read and
 * written at each launch of the graph.
 * Errors: CJ_EINVAL for NULL, and for a range that does not fit into its allocation; CJ_ENOMEM; CJ_EDRIVER. */
CJ_API cj_status cj_copy_to_device(cj_stream *s, cj_dptr dst, const void *src, size_t bytes);
CJ_API cj_status cj_copy_to_host(cj_stream *s, void *dst, cj_dptr src, size_t bytes);

/* Copies `bytes` on the device.  The ranges must not overlap (CJ_EINVAL). */
CJ_API cj_status cj_copy(cj_stream *s, cj_dptr dst, cj_dptr src, size_t bytes);

/* Fills `count` elements of 1, 2 or 4 bytes with `value`, in the stream's order; 0 is fine.  Returns at once.
 * Errors: CJ_EINVAL where `d` is not aligned to an element, and for a range that does not fit into its allocation; CJ_EDRIVER. */
CJ_API cj_status cj_fill8(cj_stream *s, cj_dptr d, uint8_t value, size_t count);
CJ_API cj_status cj_fill16(cj_stream *s, cj_dptr d, uint16_t value, size_t count);
CJ_API cj_status cj_fill32(cj_stream *s, cj_dptr d, uint32_t value, size_t count);

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

/* ---- Prefetch of managed memory ----------------------------------------------------------------------------------- */

/* Moves managed memory to the stream's device, or to the host, in the stream's order, before it is used there.
 * Errors: CJ_ENOTSUP where the device has no concurrent managed access; CJ_ESTATE while `s` is being captured; CJ_EINVAL for a range that does not fit;
 * CJ_EDRIVER for memory that is not managed.  cuMemPrefetchAsync. */
CJ_API cj_status cj_prefetch_to_device(cj_stream *s, cj_dptr d, size_t bytes);
CJ_API cj_status cj_prefetch_to_host(cj_stream *s, cj_dptr d, size_t bytes);

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
