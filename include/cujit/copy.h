/* cujit/copy.h - copies and fills on streams: plain, 2D, 3D, between devices, in batches; prefetch.
 *
 * All calls of this header enqueue work on a stream.  They return at once, also with pageable host
 * memory.  Ranges are checked against the allocations of memory.h that hold them.  The allocations
 * stay until the copy has completed, whenever cj_free is called.  A size of 0 does nothing.
 *
 * Host memory.  Pinned memory (cj_host_alloc) is read and written when the stream reaches the copy;
 * it must stay valid and unchanged until then.  Pageable memory is copied through staging memory:
 * the source may change as soon as the call returns, the destination is written when the stream has
 * completed the copy.  While the stream is capturing, host memory of either kind is read and
 * written at each launch of the graph, and must stay valid until the last launch has completed.
 *
 * Threads.  Any thread.
 *
 * Errors, left in the stream, besides those that a function lists:
 *   CJ_EINVAL: an address is NULL or { 0 }, a range does not fit into its allocation, or the memory
 *     was freed with cj_free (the latest 64 of a device are known) and no other allocation has it
 *   CJ_ENOMEM: host memory is exhausted
 *   CJ_EDRIVER: the driver rejects the call
 */
#ifndef CUJIT_COPY_H
#define CUJIT_COPY_H

#include <cujit/stream.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Copies ---------------------------------------------------------------------------------- */

/* Copies `bytes` from host memory to device memory, or from device memory to host memory.
 * Errors:
 *   CJ_EINVAL: the host address is device memory; use cj_copy
 * cuMemcpyHtoDAsync, cuMemcpyDtoHAsync. */
CJ_API cj_status cj_copy_to_device(cj_stream *s, cj_dptr dst, const void *src, size_t bytes);
CJ_API cj_status cj_copy_to_host(cj_stream *s, void *dst, cj_dptr src, size_t bytes);

/* Copies `bytes` on the device.
 * Errors:
 *   CJ_EINVAL: the ranges overlap
 * cuMemcpyDtoDAsync. */
CJ_API cj_status cj_copy(cj_stream *s, cj_dptr dst, cj_dptr src, size_t bytes);

/* ---- Variables of modules -------------------------------------------------------------------- */

/* Reads a .global or .const variable of `mod` by its name, or writes it, all of it: `count`
 * elements of `type`.  CJ_B8 is bytes, and fits every variable.  The order with kernels is the
 * stream's.  Host memory is as in every copy.  A capture retains the module.
 *
 *     cj_module_var_write(s, mod, "coefficients", CJ_F32, table, 16);
 *
 * Errors:
 *   CJ_EINVAL: `name` is NULL, `count` elements are not the variable's size, `type` is not its type
 *     as far as that is known (from the builder or the text), or `mod` is of another device
 *   CJ_ENOTFOUND: there is no such variable
 * cuModuleGetGlobal, cuMemcpyHtoDAsync, cuMemcpyDtoHAsync. */
CJ_API cj_status cj_module_var_read(cj_stream *s, cj_module *mod, const char *name, cj_type type,
                                    void *dst, size_t count);
CJ_API cj_status cj_module_var_write(cj_stream *s, cj_module *mod, const char *name, cj_type type,
                                     const void *src, size_t count);

/* ---- Fills ----------------------------------------------------------------------------------- */

/* Sets `count` elements of 1, 2, 4 or 8 bytes to `value`.
 * Errors:
 *   CJ_EINVAL: `d` is not a multiple of the element's size
 * cuMemsetD8Async, cuMemsetD16Async, cuMemsetD32Async; 8 bytes whose halves differ are two
 * cuMemsetD2D32Async, which is slower. */
CJ_API cj_status cj_fill8(cj_stream *s, cj_dptr d, uint8_t value, size_t count);
CJ_API cj_status cj_fill16(cj_stream *s, cj_dptr d, uint16_t value, size_t count);
CJ_API cj_status cj_fill32(cj_stream *s, cj_dptr d, uint32_t value, size_t count);
CJ_API cj_status cj_fill64(cj_stream *s, cj_dptr d, uint64_t value, size_t count);

/* Sets `height` rows of `width` elements to `value`.  An element has `element_bytes` bytes: 1, 2 or
 * 4.  `pitch` is the distance from one row to the next in bytes; 0 means rows without gaps.
 * Errors:
 *   CJ_EINVAL: another size of elements, `value` does not fit into one, `pitch` is less than a row,
 *     or `d` or `pitch` is not a multiple of the element's size
 * cuMemsetD2D8Async, cuMemsetD2D16Async, cuMemsetD2D32Async. */
CJ_API cj_status cj_fill_2d(cj_stream *s, cj_dptr d, size_t pitch, size_t element_bytes,
                            uint32_t value, size_t width, size_t height);

/* ---- 2D: `height` rows of `width` bytes ------------------------------------------------------ */

/* Copies rows.  A pitch is the distance from one row to the next in bytes, at least `width`; 0
 * means `width`, rows without gaps.
 * Errors:
 *   CJ_EINVAL: a pitch is less than `width`, or rows without gaps overlap
 * cuMemcpy2DAsync. */
CJ_API cj_status cj_copy_2d(cj_stream *s, cj_dptr dst, size_t dst_pitch, cj_dptr src,
                            size_t src_pitch, size_t width, size_t height);
CJ_API cj_status cj_copy_2d_to_device(cj_stream *s, cj_dptr dst, size_t dst_pitch, const void *src,
                                      size_t src_pitch, size_t width, size_t height);
CJ_API cj_status cj_copy_2d_to_host(cj_stream *s, void *dst, size_t dst_pitch, cj_dptr src,
                                    size_t src_pitch, size_t width, size_t height);

/* ---- 3D: `depth` slices of `height` rows of `width` bytes ------------------------------------ */

/* A 3D copy.  Each end is either device memory or host memory; the other field stays zero.  At most
 * one end is host memory.  An end's address is that of its first byte. */
typedef struct cj_copy_3d_params {
    size_t size;                 /* sizeof(cj_copy_3d_params) */
    size_t width, height, depth; /* bytes, rows, slices; 1 where there is one */
    cj_dptr dst, src;            /* device memory, or { 0 } */
    void *dst_host;              /* host memory, or NULL */
    const void *src_host;        /* host memory, or NULL */
    size_t dst_pitch, src_pitch; /* bytes from row to row, at least width; 0: width */
    size_t dst_rows, src_rows;   /* rows from slice to slice, at least height; 0: height */
    cj_device *dst_device, *src_device; /* the devices of dst and src; NULL: the stream's device */
} cj_copy_3d_params;

/* Fills `params` with its size and zeros. */
CJ_API void cj_copy_3d_params_defaults(cj_copy_3d_params *params);

/* Copies slices of rows.  Where both ends have no gaps, rows are copied as one range.  Between
 * devices as cj_copy_peer.  `params`: Copied.
 * Errors:
 *   CJ_EINVAL: an end is not set or set twice, both ends are host memory, a pitch or a number of
 *     rows is too small, or host memory together with another device than the stream's
 *   CJ_ENOTSUP: as cj_copy_peer
 * cuMemcpy3DAsync, cuMemcpy3DPeerAsync. */
CJ_API cj_status cj_copy_3d(cj_stream *s, const cj_copy_3d_params *params);

/* ---- Between devices ------------------------------------------------------------------------- */

/* Copies `bytes` from memory of one device to memory of another, on a stream of either.  Neither
 * device needs peer access.  Other streams of both devices order themselves after the copy with an
 * event.  cj_free on either device waits for the copy by itself.
 *
 * While `s` is capturing, the call enables access of the stream's device to the other device's
 * memory, as cj_device_enable_peer does: a copy in a graph needs it.
 * Errors:
 *   CJ_EINVAL: the devices are of two drivers, or the ranges overlap
 *   CJ_ENOTSUP: `s` is capturing and its device cannot access the other device
 * cuMemcpyPeerAsync; while capturing, cuMemcpyAsync. */
CJ_API cj_status cj_copy_peer(cj_stream *s, cj_device *dst_device, cj_dptr dst,
                              cj_device *src_device, cj_dptr src, size_t bytes);

/* ---- Batches --------------------------------------------------------------------------------- */

/* One copy of a batch.  Its ends decide whether it is a cj_copy_to_device, cj_copy_to_host or
 * cj_copy. */
typedef struct cj_copy_item {
    cj_dptr dst, src;     /* device memory, or { 0 } */
    void *dst_host;       /* host memory, or NULL */
    const void *src_host; /* host memory, or NULL */
    size_t bytes;
} cj_copy_item;

/* Enqueues `count` copies in their order.  All are checked before any is enqueued.  If the driver
 * rejects one (CJ_EDRIVER, CJ_ENOMEM), those before it may be enqueued.  `items`: Copied.
 * Errors name the item by its index:
 *   CJ_EINVAL: as the copy that the item is */
CJ_API cj_status cj_copy_batch(cj_stream *s, const cj_copy_item *items, size_t count);

/* ---- Prefetch of managed memory -------------------------------------------------------------- */

/* Moves a range of managed memory to the stream's device, or to the host, before it is used there.
 * Errors:
 *   CJ_ENOTSUP: the device has no concurrent managed access
 *   CJ_ESTATE: `s` is capturing
 *   CJ_EDRIVER: the range is not managed memory
 * cuMemPrefetchAsync. */
CJ_API cj_status cj_prefetch_to_device(cj_stream *s, cj_dptr d, size_t bytes);
CJ_API cj_status cj_prefetch_to_host(cj_stream *s, cj_dptr d, size_t bytes);

/* Moves a range of managed memory to any device of the stream's driver, in the order of `s`.
 * Errors:
 *   CJ_EINVAL: `to` is a device of another driver
 *   CJ_ENOTSUP: `to` or the stream's device has no concurrent managed access
 *   CJ_ESTATE: `s` is capturing
 *   CJ_EDRIVER: the range is not managed memory
 * cuMemPrefetchAsync. */
CJ_API cj_status cj_prefetch(cj_stream *s, cj_dptr d, size_t bytes, cj_device *to);

#ifdef __cplusplus
}
#endif

/* ---- Literal: CJ_COPY_3D(.width = 64, .height = 8, .depth = 1, .dst = d, .src_host = h) ------ */

#ifndef __cplusplus
#define CJ_COPY_3D(...) (&(const cj_copy_3d_params){ .size = sizeof(cj_copy_3d_params), __VA_ARGS__ })
#elif __cplusplus >= 202002L
#define CJ_COPY_3D(...) cji::keep(cj_copy_3d_params{ .size = sizeof(cj_copy_3d_params), __VA_ARGS__ })
#endif

#endif
