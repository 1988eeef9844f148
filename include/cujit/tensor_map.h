/* cujit/tensor_map.h - tensor maps: how the tensor memory accelerator finds tiles of a tensor in
 * device memory (compute capability 9.0).
 *
 *     cj_tensor_map map;
 *     cj_tensor_map_tiled(dev, CJ_TENSOR_MAP(.type = CJ_TENSOR_MAP_BF16, .dims = 2, .address = a,
 *                                            .extent = { k, m }, .stride = { 2 * k },
 *                                            .tile = { 64, 128 }, .swizzle = CJ_SWIZZLE_128B),
 *                         &map);
 *     cj_launch(s, kernel, dims, cj_arg_tensor_map(&map), ...);
 *
 * A kernel declares the parameter with cj_param_tensor_map and copies tiles with cj_tma_load and
 * cj_tma_store (async.h).
 *
 * A map is a plain value of 128 bytes: copy it as you like.  It holds the address, not the memory:
 * whoever launches with it keeps the memory alive (cj_stream_use).  The driver encodes it; nothing
 * is read from the device.
 *
 * Dimensions are counted from the innermost one, whose elements are neighbours in memory.
 *
 * PTX ISA 9.0, 5.5.8 (Tensor-map), 5.5.3 (Tiled Mode), 5.5.4 (im2col mode), 5.5.6 (Interleave
 * layout), 5.5.7 (Swizzling Modes).
 *
 * Threads.  Any thread.
 */
#ifndef CUJIT_TENSOR_MAP_H
#define CUJIT_TENSOR_MAP_H

#include <cujit/driver.h>
#include <cujit/ptx.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- The value ------------------------------------------------------------------------------- */

/* What the hardware reads. */
typedef struct cj_tensor_map {
    uint64_t opaque[16];
} cj_tensor_map;

/* A tensor map as an argument of a launch.  `map`: Borrowed during the launch call. */
static inline cj_arg cj_arg_tensor_map(const cj_tensor_map *map) { return cj_arg_bytes(map, sizeof *map); }

/* ---- Names ----------------------------------------------------------------------------------- */

/* What an element is. */
typedef enum cj_tensor_map_type {
    CJ_TENSOR_MAP_U8 = 0, /* also 8-bit floating point, and signed numbers */
    CJ_TENSOR_MAP_U16 = 1,
    CJ_TENSOR_MAP_U32 = 2,
    CJ_TENSOR_MAP_S32 = 3,
    CJ_TENSOR_MAP_U64 = 4,
    CJ_TENSOR_MAP_S64 = 5,
    CJ_TENSOR_MAP_F16 = 6,
    CJ_TENSOR_MAP_F32 = 7,
    CJ_TENSOR_MAP_F64 = 8,
    CJ_TENSOR_MAP_BF16 = 9,
    CJ_TENSOR_MAP_F32_FTZ = 10,  /* subnormal numbers become 0 */
    CJ_TENSOR_MAP_TF32 = 11,     /* rounded to nearest when it is loaded; F32 would be truncated */
    CJ_TENSOR_MAP_TF32_FTZ = 12
} cj_tensor_map_type;

/* Layouts of channels in blocks of 16 or 32 bytes: NC/8HWC8, NC/16HWC16. */
typedef enum cj_tensor_map_interleave {
    CJ_TENSOR_MAP_INTERLEAVE_NONE = 0,
    CJ_TENSOR_MAP_INTERLEAVE_16B = 1,
    CJ_TENSOR_MAP_INTERLEAVE_32B = 2
} cj_tensor_map_interleave;

/* How many bytes a read fetches into the L2 cache at least. */
typedef enum cj_tensor_map_l2 {
    CJ_TENSOR_MAP_L2_NONE = 0,
    CJ_TENSOR_MAP_L2_64B = 1,
    CJ_TENSOR_MAP_L2_128B = 2,
    CJ_TENSOR_MAP_L2_256B = 3
} cj_tensor_map_l2;

/* What a load puts in place of elements outside of the tensor. */
typedef enum cj_tensor_map_fill {
    CJ_TENSOR_MAP_FILL_ZERO = 0,
    CJ_TENSOR_MAP_FILL_NAN = 1 /* a NaN that fma takes for 0; types of floating point */
} cj_tensor_map_fill;

/* ---- Making a map ---------------------------------------------------------------------------- */

/* A tensor and the tiles of it that are copied.  Fields that the mode does not use are 0.  The
 * limits are those of the CUDA driver's manual, section "Tensor Map Object Management". */
typedef struct cj_tensor_map_opts {
    size_t size;          /* sizeof(cj_tensor_map_opts) */
    int32_t type;         /* a cj_tensor_map_type */
    uint32_t dims;        /* 1 to 5; 3 to 5 with an interleave or im2col */
    cj_dptr address;      /* of element 0: a multiple of 16, of 32 with CJ_TENSOR_MAP_INTERLEAVE_32B */
    uint64_t extent[5];   /* elements in each dimension: 1 to 2^32 */
    uint64_t stride[4];   /* bytes from an element of dimension i + 1 to the next one: a multiple of
                           * 16 (32 with CJ_TENSOR_MAP_INTERLEAVE_32B) below 2^40 */
    uint32_t tile[5];     /* tiled: elements of a tile, 1 to 256.  The innermost has a multiple of 16
                           * bytes, at most the swizzle's 32, 64 or 128 (without an interleave) */
    uint32_t step[5];     /* the distance of the elements that are copied, 1 to 8; 0: 1.  The tile
                           * counts the elements between them too */
    int32_t interleave;   /* a cj_tensor_map_interleave */
    int32_t swizzle;      /* a cj_swizzle; CJ_SWIZZLE_32B with CJ_TENSOR_MAP_INTERLEAVE_32B */
    int32_t l2;           /* a cj_tensor_map_l2 */
    int32_t fill;         /* a cj_tensor_map_fill */
    int32_t lower[3];     /* im2col: the driver's pixelBoxLowerCorner and pixelBoxUpperCorner, */
    int32_t upper[3];     /* dims - 2 of each: 16 bits with 3 dimensions, 8 with 4, 5 with 5 */
    uint32_t channels;    /* im2col: of a pixel that are copied, 1 to 256 */
    uint32_t pixels;      /* im2col: that are copied, 1 to 1024 */
} cj_tensor_map_opts;

/* Fills `opts` with its size and the defaults, which are zeros.  `opts`: May be NULL. */
CJ_API void cj_tensor_map_defaults(cj_tensor_map_opts *opts);

/* Makes a map for tiles of the tensor; cj_tensor_map_im2col makes one for columns of pixels, as
 * convolutions want them.  Returns at once.
 * `map`: Written; zeros after a failure.
 * Errors, left in `dev`:
 *   CJ_EINVAL: a field is out of its limits: the message names the dimension and the limit; or an
 *     argument is NULL, or opts->size is wrong
 *   CJ_EHANDLE: `dev` is not a device
 *   CJ_ENOTSUP: the device has no compute capability 9.0, or the driver is older than CUDA 12.0
 *   CJ_ENOTSUP: on the CPU device, the mode is im2col, the map has an interleave, or its rows are
 *     shorter than their swizzle
 *   CJ_EDRIVER: the driver rejects the call
 * cuTensorMapEncodeTiled, cuTensorMapEncodeIm2col. */
CJ_API cj_status cj_tensor_map_tiled(cj_device *dev, const cj_tensor_map_opts *opts, cj_tensor_map *map);
CJ_API cj_status cj_tensor_map_im2col(cj_device *dev, const cj_tensor_map_opts *opts, cj_tensor_map *map);

/* Replaces the address of a map that one of the calls above has made: the map is then the one that
 * they make of the same options with this address.  It takes less time than they do.  Returns at
 * once.
 * `map`: Changed; as before after a failure.
 * `address`: of element 0: a multiple of 16.  If the map has CJ_TENSOR_MAP_INTERLEAVE_32B, it is a
 * multiple of 32, which only the driver can check.
 * Errors, left in `dev`:
 *   CJ_EINVAL: the map is NULL, or the address is 0 or not a multiple of 16
 *   CJ_EHANDLE: `dev` is not a device
 *   CJ_ENOTSUP: the device has no compute capability 9.0, or the driver is older than CUDA 12.0
 *   CJ_EDRIVER: the driver rejects the call, as the CPU device does where there is no map
 * cuTensorMapReplaceAddress. */
CJ_API cj_status cj_tensor_map_replace_address(cj_device *dev, cj_tensor_map *map, cj_dptr address);

#ifdef __cplusplus
}
#endif

/* ---- CJ_TENSOR_MAP(.type = CJ_TENSOR_MAP_F16, .dims = 2, ...); C and C++20 ------------------- */

#ifndef __cplusplus
#define CJ_TENSOR_MAP(...) (&(const cj_tensor_map_opts){ .size = sizeof(cj_tensor_map_opts), __VA_ARGS__ })
#elif __cplusplus >= 202002L
#ifndef CJI_KEEP
#define CJI_KEEP
namespace cji { template<class T> inline const T *keep(const T &t) { return &t; } }
#endif
#define CJ_TENSOR_MAP(...) cji::keep(cj_tensor_map_opts{ .size = sizeof(cj_tensor_map_opts), __VA_ARGS__ })
#endif

#endif
