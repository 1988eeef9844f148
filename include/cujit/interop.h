/* cujit/interop.h - tensors of other libraries: DLPack, and __cuda_array_interface__.
 *
 *     cj_tensor *t = cj_tensor_from_dlpack_versioned(dev, managed);   // of PyTorch, CuPy, JAX ...
 *     cj_tensor_info x = { .size = sizeof x };
 *     if (cj_tensor_get_info(t, &x) == CJ_OK && x.contiguous) {
 *         cj_stream_wait_foreign(s, 1);                    // the producer used the default stream
 *         cj_launch(s, k, cj_threads(x.elements, 256), x.data, x.elements);
 *         cj_stream_signal_foreign(s, 1);                  // its later work comes behind ours
 *     }
 *     cj_tensor_free(t);                                   // calls the producer's deleter
 *
 * The structs below are those of DLPack 1.x, word for word in memory: cast the pointer that a
 * capsule holds ("dltensor": cj_dlpack_managed; "dltensor_versioned": cj_dlpack_versioned).
 * Older producers fill the first one, and set no flags.
 *
 * Streams.  Both protocols name a stream by a number: 1 is the legacy default stream, 2 the
 * per-thread default stream, -1 none (no order is needed), another number the CUstream handle.
 * 0 is no stream, as it could mean two.  Python's None is 1 in DLPack and -1 in
 * __cuda_array_interface__.  A DLPack consumer passes its stream to the producer, which calls
 * cj_stream_signal_foreign with it before it exports.  With __cuda_array_interface__ the number is
 * in the dictionary, and the consumer calls cj_stream_wait_foreign.
 *
 * Contexts.  Memory of these libraries is of the device's primary context, which cj_device_open
 * retains too.  For another context there is cj_device_wrap.
 *
 * Threads.  Any thread.  A tensor never changes.
 */
#ifndef CUJIT_INTEROP_H
#define CUJIT_INTEROP_H

#include <cujit/stream.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- DLPack 1.x: the structs of its ABI ------------------------------------------------------ */

/* Where memory is: cj_dlpack_tensor.device_type. */
typedef enum cj_tensor_place {
    CJ_TENSOR_CPU = 1,           /* pageable host memory, which is not imported */
    CJ_TENSOR_CUDA = 2,          /* device memory */
    CJ_TENSOR_CUDA_HOST = 3,     /* page-locked host memory */
    CJ_TENSOR_CUDA_MANAGED = 13  /* managed memory */
} cj_tensor_place;

/* What an element is: cj_tensor_type.code.  The narrow formats of DLPack have the codes from 7 on
 * (float8_e3m4) to 17 (float4_e2m1fn). */
typedef enum cj_tensor_code {
    CJ_TENSOR_INT = 0,
    CJ_TENSOR_UINT = 1,
    CJ_TENSOR_FLOAT = 2,
    CJ_TENSOR_OPAQUE = 3,
    CJ_TENSOR_BFLOAT = 4,
    CJ_TENSOR_COMPLEX = 5,
    CJ_TENSOR_BOOL = 6,
    CJ_TENSOR_NARROW = 7,       /* the first narrow format */
    CJ_TENSOR_NARROW_LAST = 17
} cj_tensor_code;

/* The type of an element: `lanes` values of `bits` bits. */
typedef struct cj_tensor_type {
    uint8_t code; /* a cj_tensor_code */
    uint8_t bits;
    uint16_t lanes;
} cj_tensor_type;

typedef struct cj_dlpack_tensor {
    void *data;
    int32_t device_type, device_id;
    int32_t ndim;
    cj_tensor_type type;
    int64_t *shape;
    int64_t *strides; /* in elements; NULL: row major without gaps */
    uint64_t byte_offset;
} cj_dlpack_tensor;

typedef struct cj_dlpack_managed {
    cj_dlpack_tensor tensor;
    void *manager;
    void (*deleter)(struct cj_dlpack_managed *self);
} cj_dlpack_managed;

/* Bits of cj_dlpack_versioned.flags. */
typedef enum cj_dlpack_flag {
    CJ_DLPACK_READ_ONLY = 1,
    CJ_DLPACK_IS_COPIED = 2,
    CJ_DLPACK_IS_PADDED = 4 /* each element narrower than a byte has a byte */
} cj_dlpack_flag;

typedef struct cj_dlpack_versioned {
    uint32_t major, minor; /* 1.x */
    void *manager;
    void (*deleter)(struct cj_dlpack_versioned *self);
    uint64_t flags; /* cj_dlpack_flag */
    cj_dlpack_tensor tensor;
} cj_dlpack_versioned;

/* ---- Tensors --------------------------------------------------------------------------------- */

typedef struct cj_tensor cj_tensor;

/* Some memory, and how it is read.  The element with the index { 0, 0, ... } is at `data`. */
typedef struct cj_tensor_info {
    size_t size;            /* sizeof(cj_tensor_info) */
    cj_dptr data;           /* { 0 } if there are no elements */
    int32_t place;          /* a cj_tensor_place; 0 is CJ_TENSOR_CUDA */
    int32_t ndim;
    cj_tensor_type type;
    int32_t read_only;      /* 1: the memory must not be written */
    int32_t padded;         /* 1: each element narrower than a byte has a byte of its own */
    const int64_t *shape;   /* `ndim` sizes */
    const int64_t *strides; /* `ndim` distances in elements; NULL: row major without gaps */
    int64_t stream;         /* the number of the stream that last used the memory; -1: no order is
                             * needed; 0: not known.  Of an imported __cuda_array_interface__, and
                             * for its export */
    uint64_t elements;      /* filled by cj_tensor_get_info: the product of the sizes */
    uint64_t bytes;         /* filled: from the first byte of all elements to behind the last one */
    int32_t contiguous;     /* filled: 1 if the elements are row major without gaps */
    int32_t copied;         /* 1: made by the producer for its consumer alone */
} cj_tensor_info;

/* Fills `info` with its size and zeros. */
CJ_API void cj_tensor_info_defaults(cj_tensor_info *info);

/* Describes memory of `dev`, to export it.  `info`: Copied, with its lists.  `release`: called with
 * `user` when the tensor and all its exports are freed, by the thread that frees the last one; it
 * may call cj_free.  May be NULL.
 * Never NULL.  Owned by the caller, free with cj_tensor_free.
 * Errors, in the failed object that is returned; `release` is not called:
 *   CJ_EINVAL: a size is negative; sizes or strides exceed 64 bits; the type is none; an address is
 *     not aligned to the type's values; the memory is not of `dev`, or not of that place
 *   CJ_ENOTSUP: the memory is pageable host memory
 *   CJ_ENOMEM: host memory is exhausted */
CJ_API cj_tensor *cj_tensor_create(cj_device *dev, const cj_tensor_info *info, void (*release)(void *user),
                                   void *user);

/* Fills *info, up to info->size bytes.  shape: `ndim` sizes; strides: never NULL if ndim > 0.
 * Borrowed until cj_tensor_free.  Returns at once.
 * Errors, left in `t`:
 *   CJ_EINVAL: `info` is NULL, or its size is not set */
CJ_API cj_status cj_tensor_get_info(cj_tensor *t, cj_tensor_info *info);

/* The device.  Belongs to `t`.  NULL if failed. */
CJ_API cj_device *cj_tensor_device(const cj_tensor *t);

/* Frees the tensor.  When no export is left, the producer's deleter or `release` is called.  The
 * memory must be in use by no work then, or the deleter must order its reuse behind that work.
 * Returns at once.  May be NULL. */
CJ_API void cj_tensor_free(cj_tensor *t);

/* ---- DLPack ---------------------------------------------------------------------------------- */

/* Takes a tensor of another library over.  On success `managed` belongs to the tensor, which calls
 * its deleter at the end; rename the capsule to "used_dltensor" or "used_dltensor_versioned".  On
 * failure it stays the caller's.
 * Never NULL.  Owned by the caller, free with cj_tensor_free.
 * Errors, in the failed object that is returned: those of cj_tensor_create, and
 *   CJ_EINVAL: `managed` is NULL, or is of another device than `dev`
 *   CJ_ENOTSUP: its major version is not 1 */
CJ_API cj_tensor *cj_tensor_from_dlpack(cj_device *dev, cj_dlpack_managed *managed);
CJ_API cj_tensor *cj_tensor_from_dlpack_versioned(cj_device *dev, cj_dlpack_versioned *managed);

/* Exports the tensor, any number of times.  Whoever takes the struct over calls its deleter, on any
 * thread, before or after cj_tensor_free.  The unversioned form cannot say that memory is
 * read-only.
 * Returns NULL on failure.
 * Errors, left in `t`:
 *   CJ_EINVAL: read-only memory in the unversioned form
 *   CJ_ENOMEM: host memory is exhausted */
CJ_API cj_dlpack_managed *cj_tensor_to_dlpack(cj_tensor *t);
CJ_API cj_dlpack_versioned *cj_tensor_to_dlpack_versioned(cj_tensor *t);

/* ---- __cuda_array_interface__, version 3 ----------------------------------------------------- */

/* Reads the dictionary as text: that of Python's repr() or of JSON.  `shape`, `typestr` and `data`
 * are required; `strides`, in bytes, and `stream` may be missing or None; other entries are
 * skipped.  `mask` must be None.  The program keeps the object of the dictionary alive as long as
 * the tensor.
 * Never NULL.  Owned by the caller, free with cj_tensor_free.
 * Errors, in the failed object that is returned: those of cj_tensor_create, and
 *   CJ_EINVAL: the text is no such dictionary; strides are no multiples of an element; the stream
 *     is 0
 *   CJ_ENOTSUP: big-endian elements, records, a mask, or a version below 2 */
CJ_API cj_tensor *cj_tensor_from_array_interface(cj_device *dev, const char *text);

/* Writes the dictionary as JSON, which Python's json reads, to `text`, a buffer of `size` bytes.
 * bfloat16 and the narrow formats, which the protocol lacks, are written as unsigned integers of
 * their size: "<u2".  The text ends with 0 and is cut where it is full.  `text`: May be NULL, if
 * `size` is 0.  Returns the length of the whole text; 0 on failure.
 * Errors, left in `t`:
 *   CJ_ENOTSUP: elements have more than one lane, or are narrower than a byte without padding */
CJ_API size_t cj_tensor_to_array_interface(cj_tensor *t, char *text, size_t size);

/* ---- Streams of other code ------------------------------------------------------------------- */

/* Work that is enqueued on `s` after this call waits for what is enqueued on the stream `number` so
 * far; cj_stream_signal_foreign: the other way round.  -1 does nothing.  Both streams are of the
 * device of `s`.  Returns at once, done when the streams reach it.
 * Errors, left in `s`:
 *   CJ_EINVAL: `number` is 0, or no stream of the context
 *   CJ_ESTATE: the stream `number` is being captured; wrap it before the capture (cj_stream_wrap)
 *   CJ_EDRIVER: the driver rejects a call
 * cuEventRecord, cuStreamWaitEvent. */
CJ_API cj_status cj_stream_wait_foreign(cj_stream *s, int64_t number);
CJ_API cj_status cj_stream_signal_foreign(cj_stream *s, int64_t number);

#ifdef __cplusplus
}
#endif
#endif
