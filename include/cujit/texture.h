/* cujit/texture.h - arrays, textures and surfaces over them, copies from and to arrays.
 *
 *     cj_array *a = cj_array_create(dev, CJ_ARRAY(.width = 640, .height = 480, .channels = 4));
 *     cj_copy_array(s, CJ_COPY_ARRAY(.dst_array = a, .src_host = pixels));
 *     cj_texture *t = cj_texture_create(a, CJ_SAMPLER(.filter = CJ_FILTER_LINEAR));
 *     cj_stream_use_texture(s, t);
 *     cj_launch(s, k, dims, cj_texture_raw(t), out);
 *
 * An array is memory of the device in a layout of its own, made for neighbours in two and three
 * dimensions.  It has no address.  A texture is a resource and a sampler: an array or a range of
 * device memory, and how to read it (coordinates, filter, what is outside).  A sampler is a
 * description that any number of textures are made with.  A surface reads and writes elements.
 *
 * A kernel takes a texture or a surface as a .u64 parameter, its handle, and uses it with tex and
 * tld4, or with suld and sust (cj_ins, cj_texmem).  These are the texture objects of CUDA, which
 * PTX calls the unified mode.  Independent mode (.samplerref) needs texture references, which
 * CUDA 12 has removed from its headers; cujit has none.
 * The CPU device has arrays, copies, textures and surfaces.  It rejects kernels that use textures
 * or surfaces when it loads them.
 *
 * Lifetime.  A texture or a surface keeps its array or its memory alive, and a level its array: the
 * free calls may be made in any order.  They may be made while work that uses the object is still
 * running: the release is deferred.  Copies are known as uses.  Kernels are not known: call
 * cj_stream_use_texture and cj_stream_use_surface for each stream that runs some.
 *
 * Threads.  Any thread.
 *
 * Errors.  A constructor never returns NULL.  base.h has the details.
 */
#ifndef CUJIT_TEXTURE_H
#define CUJIT_TEXTURE_H

#include <cujit/graph.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cj_array cj_array;
typedef struct cj_texture cj_texture;
typedef struct cj_surface cj_surface;

/* ---- Arrays ---------------------------------------------------------------------------------- */

/* The shape: width alone is 1D, with height 2D, with height and depth 3D.  `layers` of 1D or 2D
 * make a layered array.  A cubemap has six square faces, in the order +x -x +y -y +z -z; with
 * `layers` there are so many cubemaps.  In copies a layer or a face is a slice: face f of cubemap n
 * is slice 6 * n + f. */
typedef struct cj_array_opts {
    size_t size;                 /* sizeof(cj_array_opts) */
    size_t width, height, depth; /* elements, rows, slices; 0: the array lacks that dimension */
    size_t layers;               /* 0: it is not layered */
    int32_t type;                /* a cj_type, of a channel: CJ_U8, CJ_S8, CJ_U16, CJ_S16, CJ_U32,
                                  * CJ_S32, CJ_F16, CJ_F32; 0: CJ_F32 */
    int32_t channels;            /* of an element: 1, 2 or 4; 0: 1 */
    int32_t levels;              /* of a mipmapped array: 1 or more, cut where every side is 1;
                                  * 0: it is not mipmapped */
    int32_t cubemap;             /* 1: a cubemap; width = height, no depth */
    int32_t surface;             /* 1: surfaces of it can be made */
    int32_t gather;              /* 1: tld4 may read it; 2D only */
} cj_array_opts;

/* Fills `opts` with its size and the defaults, which are zeros.  `opts`: May be NULL. */
CJ_API void cj_array_defaults(cj_array_opts *opts);

/* Makes an array.  Its elements are undefined.  Blocks.
 * Never NULL.  Owned by the caller, free with cj_array_free.
 * Errors, in the failed object that is returned:
 *   CJ_EINVAL: an option is out of range, options contradict each other, opts->size is wrong, or
 *     a side is more than the device allows
 *   CJ_ENOMEM: memory is exhausted
 *   CJ_EDRIVER: the driver rejects the call
 * cuArray3DCreate, cuMipmappedArrayCreate. */
CJ_API cj_array *cj_array_create(cj_device *dev, const cj_array_opts *opts);

/* Makes a level of a mipmapped array an array of its own, to copy, read and write.  Level 0 is the
 * whole size, each further one half of it.  Returns at once.
 * Never NULL.  Owned by the caller, free with cj_array_free.
 * Errors, in the failed object that is returned:
 *   CJ_EINVAL: the array is not mipmapped, or has no such level
 *   CJ_ENOMEM: host memory is exhausted
 *   CJ_EDRIVER: the driver rejects the call
 * cuMipmappedArrayGetLevel. */
CJ_API cj_array *cj_array_level(cj_array *a, int level);

/* Makes an array of a CUarray of other code, in the context of `dev`.  cj_array_free forgets it.
 * Its owner may destroy it when the textures, surfaces and graphs of it are freed and their work
 * is complete.  Returns at once.
 * Never NULL.  Owned by the caller, free with cj_array_free.
 * Errors, in the failed object that is returned:
 *   CJ_EINVAL: `raw` is NULL, or its elements have a type that cj_array_opts has not
 *   CJ_ENOMEM: host memory is exhausted
 *   CJ_EDRIVER: the driver rejects the call
 * cuArray3DGetDescriptor. */
CJ_API cj_array *cj_array_wrap(cj_device *dev, void *raw);

/* Frees the array when its copies are complete, and its levels, textures, surfaces and graphs are
 * freed too.  `a`: May be NULL. */
CJ_API void cj_array_free(cj_array *a);

typedef struct cj_array_info {
    size_t size;                 /* sizeof(cj_array_info) */
    size_t width, height, depth; /* as in cj_array_opts */
    size_t layers;
    int32_t type, channels;
    int32_t levels;              /* that there are; 0: it is not mipmapped */
    int32_t cubemap, surface, gather;
    size_t element_bytes;        /* of all channels */
    cj_device *device;           /* Borrowed until cj_device_close. */
} cj_array_info;

/* Fills `info` with its size and zeros. */
CJ_API void cj_array_info_defaults(cj_array_info *info);

/* Fills *info, up to info->size bytes.  Returns at once.
 * Errors, left in `a`:
 *   CJ_EINVAL: `info` is NULL, or its size is not set */
CJ_API cj_status cj_array_get_info(cj_array *a, cj_array_info *info);

/* The CUarray, or the CUmipmappedArray of a mipmapped array; NULL of a failed one.  Belongs to
 * `a`. */
CJ_API void *cj_array_raw(const cj_array *a);

/* ---- Copies ---------------------------------------------------------------------------------- */

/* A copy from or to an array.  Each end is one of an array, device memory and host memory, and at
 * least one end is an array.  Extents and offsets in arrays are in elements, rows and slices.
 * `dst_device` and `src_device` are those of dst and src; an array has its own device. */
typedef struct cj_copy_array_params {
    size_t size;                  /* sizeof(cj_copy_array_params) */
    size_t width, height, depth;  /* 0: all of the array that is the destination, else the source,
                                   * from its offset on */
    cj_array *dst_array, *src_array;
    size_t dst_x, dst_y, dst_z;   /* where in the array; 0 for memory */
    size_t src_x, src_y, src_z;
    cj_dptr dst, src;             /* device memory, or { 0 } */
    void *dst_host;               /* host memory, or NULL */
    const void *src_host;
    size_t dst_pitch, src_pitch;  /* bytes from row to row of memory; 0: no gaps */
    size_t dst_rows, src_rows;    /* rows from slice to slice of memory; 0: no gaps */
    cj_device *dst_device, *src_device; /* NULL: the stream's device */
} cj_copy_array_params;

/* Fills `params` with its size and zeros. */
CJ_API void cj_copy_array_params_defaults(cj_copy_array_params *params);

/* Copies on a stream.  Host memory is treated as copy.h says; pageable host memory passes through
 * device memory of cj_alloc too, of at most 8 MiB.  Of a mipmapped array copy its levels.  While
 * the stream is capturing, the graph keeps the arrays alive.
 *
 * Arrays and device memory may be of two devices, on a stream of either: order other streams
 * behind the copy with an event.  Neither device needs peer access.  Host memory is copied on the
 * array's device.
 * `params`: Copied.  Returns at once.
 * Errors, left in `s`:
 *   CJ_EINVAL: an end is not set or set twice, no end is an array, memory has an offset, the copy
 *     does not fit into an array or into the memory, a pitch is too small, the elements of two
 *     arrays differ in size, an array is mipmapped, the devices are of two drivers, source and
 *     destination overlap, or host memory together with an array of another device than the
 *     stream's
 *   CJ_ENOTSUP: between devices while `s` is capturing
 *   CJ_ENOMEM: memory is exhausted
 *   CJ_EDRIVER: the driver rejects the call
 * cuMemcpy3DAsync, cuMemcpy3DPeerAsync. */
CJ_API cj_status cj_copy_array(cj_stream *s, const cj_copy_array_params *params);

/* Adds a node that copies from or to an array of the graph's device, and depends on the nodes
 * `after`.  The graph keeps arrays and device memory alive.  Host memory of any kind is read and
 * written at each launch.
 * `after`: May be NULL.  `params`: Copied.
 * Never NULL.  Belongs to `g`.  Returns at once.
 * Errors, left in the failed node that is returned and in `g`: those of all nodes (graph.h), those
 * of cj_copy_array, and
 *   CJ_ENOTSUP: an end is of another device
 * cuGraphAddMemcpyNode. */
CJ_API cj_node *cj_graph_copy_array(cj_graph *g, const cj_nodes *after,
                                    const cj_copy_array_params *params);

/* ---- Samplers -------------------------------------------------------------------------------- */

/* What is read outside of the resource. */
typedef enum cj_address_mode {
    CJ_ADDRESS_CLAMP = 0,  /* the nearest element */
    CJ_ADDRESS_WRAP = 1,   /* the resource again; with normalized coordinates only */
    CJ_ADDRESS_MIRROR = 2, /* the resource mirrored; with normalized coordinates only */
    CJ_ADDRESS_BORDER = 3  /* the border's value */
} cj_address_mode;

typedef enum cj_filter {
    CJ_FILTER_POINT = 0, /* the element at the coordinates, or the nearest level */
    CJ_FILTER_LINEAR = 1 /* the neighbours, or two levels, weighted */
} cj_filter;

/* How a texture reads.  A sampler is no object: any number of textures may be made with one. */
typedef struct cj_sampler_opts {
    size_t size;                /* sizeof(cj_sampler_opts) */
    int32_t address_x, address_y, address_z; /* a cj_address_mode each */
    int32_t filter;             /* a cj_filter, within a level */
    int32_t normalized;         /* 1: coordinates are from 0 to 1, not from 0 to the size */
    int32_t to_float;           /* 1: integers of 8 and 16 bits are read as f32 from 0 or -1 to 1;
                                 * 0: as integers */
    int32_t srgb;               /* 1: sRGB is made linear when it is read; CJ_U8 with to_float */
    int32_t seamless;           /* 1: filters across the edges of a cubemap */
    int32_t anisotropy;         /* 0 to 16 */
    int32_t mip_filter;         /* a cj_filter, between levels */
    float mip_bias;             /* added to the level that is read */
    float mip_min, mip_max;     /* the levels that are read; mip_max 0: up to the last one */
    float border_r, border_g, border_b, border_a; /* the border's value */
} cj_sampler_opts;

/* Fills `opts` with its size and the defaults, which are zeros.  `opts`: May be NULL. */
CJ_API void cj_sampler_defaults(cj_sampler_opts *opts);

/* ---- Textures -------------------------------------------------------------------------------- */

/* Makes a texture that reads an array.  A mipmapped array needs normalized coordinates.
 * `sampler`: May be NULL, for the defaults.  Copied.  Returns at once.
 * Never NULL.  Owned by the caller, free with cj_texture_free.
 * Errors, in the failed object that is returned:
 *   CJ_EINVAL: an option is out of range, or does not fit the array or its elements
 *   CJ_ENOMEM: memory is exhausted
 *   CJ_EDRIVER: the driver rejects the call
 * cuTexObjectCreate. */
CJ_API cj_texture *cj_texture_create(cj_array *a, const cj_sampler_opts *sampler);

/* How the elements of a view are compressed: an element of the array is a block of 4 x 4 texels. */
typedef enum cj_block_format {
    CJ_BLOCK_NONE = 0,
    CJ_BLOCK_BC1 = 1, /* blocks of 8 bytes: an array of CJ_U32 with 2 channels */
    CJ_BLOCK_BC2 = 2, /* of 16 bytes, as all that follow but BC4: CJ_U32 with 4 channels */
    CJ_BLOCK_BC3 = 3,
    CJ_BLOCK_BC4 = 4, /* of 8 bytes */
    CJ_BLOCK_BC4_SIGNED = 5,
    CJ_BLOCK_BC5 = 6,
    CJ_BLOCK_BC5_SIGNED = 7,
    CJ_BLOCK_BC6H = 8,
    CJ_BLOCK_BC6H_SIGNED = 9,
    CJ_BLOCK_BC7 = 10
} cj_block_format;

/* What a texture reads of an array: elements as another type, some of the levels or layers. */
typedef struct cj_texture_view_params {
    size_t size;            /* sizeof(cj_texture_view_params) */
    int32_t type, channels; /* how an element is read; together of the element's size.  Each 0: the
                             * array's own */
    int32_t block;          /* a cj_block_format: texels are read, as f32 */
    int32_t first_level;    /* of a mipmapped array: level 0 of the view */
    int32_t levels;         /* 0: all from first_level on */
    size_t first_layer;     /* of a layered array: the layer, or cubemap, 0 of the view */
    size_t layers;          /* 0: all from first_layer on */
} cj_texture_view_params;

/* Fills `params` with its size and zeros. */
CJ_API void cj_texture_view_params_defaults(cj_texture_view_params *params);

/* Makes a texture that reads a view of an array.  Width, height and depth are those of the array;
 * with blocks, width and height are four times as large.  The levels of `sampler` are counted from
 * first_level on.
 * `view`, `sampler`: May be NULL, for the defaults.  Copied.  Returns at once.
 * Never NULL.  Owned by the caller, free with cj_texture_free.
 * Errors, in the failed object that is returned: those of cj_texture_create, and
 *   CJ_EINVAL: the type's elements have another size, blocks do not fit the array's elements,
 *     or the levels or layers are not the array's
 * cuTexObjectCreate. */
CJ_API cj_texture *cj_texture_create_view(cj_array *a, const cj_texture_view_params *view,
                                          const cj_sampler_opts *sampler);

/* Device memory that a texture reads: `width` elements in a line, or `height` rows of them. */
typedef struct cj_texture_memory_params {
    size_t size;            /* sizeof(cj_texture_memory_params) */
    cj_dptr memory;         /* a multiple of CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT, 512 on an H100 */
    size_t width;           /* elements */
    size_t height;          /* rows; 0: a line, which is read by integer coordinates */
    size_t pitch;           /* bytes from row to row, a multiple of
                             * CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT, 32 on an H100;
                             * 0: no gaps */
    int32_t type, channels; /* as in cj_array_opts */
} cj_texture_memory_params;

/* Fills `params` with its size and zeros. */
CJ_API void cj_texture_memory_params_defaults(cj_texture_memory_params *params);

/* Makes a texture that reads device memory, which kernels and copies may write meanwhile: what
 * another launch has written is seen.  cj_free of the memory is deferred until the texture is
 * freed.
 * Memory of cj_alloc may begin at an odd multiple of 256: allocate 256 bytes more and round up.
 * Borrowed until the texture is freed: memory that cujit does not know.
 * `memory`: Copied.  `sampler`: May be NULL.  Copied.  Returns at once.
 * Never NULL.  Owned by the caller, free with cj_texture_free.
 * Errors, in the failed object that is returned:
 *   CJ_EINVAL: the type or the number of channels is no array's, the range does not fit into its
 *     allocation, an address, a pitch or a size is not allowed on the device, or an option of the
 *     sampler is out of range; a line has neither filter nor address modes nor normalized
 *     coordinates
 *   CJ_ENOMEM: host memory is exhausted
 *   CJ_EDRIVER: the driver rejects the call
 * cuTexObjectCreate. */
CJ_API cj_texture *cj_texture_create_memory(cj_device *dev, const cj_texture_memory_params *memory,
                                            const cj_sampler_opts *sampler);

/* Frees the texture when the work that is known to use it is complete.  `t`: May be NULL. */
CJ_API void cj_texture_free(cj_texture *t);

/* The CUtexObject: the argument of a kernel's .u64 parameter.  0 of a failed texture. */
CJ_API uint64_t cj_texture_raw(const cj_texture *t);

/* Records that kernels on `s` use the texture: its release, and that of what it reads, waits for
 * all work enqueued on `s` before cj_texture_free.  While `s` is capturing, the graph keeps the
 * texture alive.  Returns at once.
 * Errors, left in `s`:
 *   CJ_EINVAL: the texture is of another device
 *   CJ_ENOMEM: host memory is exhausted */
CJ_API cj_status cj_stream_use_texture(cj_stream *s, cj_texture *t);

/* ---- Surfaces -------------------------------------------------------------------------------- */

/* Makes a surface of an array, or of a level, that was made with .surface = 1.  Returns at once.
 * Never NULL.  Owned by the caller, free with cj_surface_free.
 * Errors, in the failed object that is returned:
 *   CJ_EINVAL: the array was made without .surface = 1, or is mipmapped: make one of a level
 *   CJ_ENOMEM: memory is exhausted
 *   CJ_EDRIVER: the driver rejects the call
 * cuSurfObjectCreate. */
CJ_API cj_surface *cj_surface_create(cj_array *a);

/* Frees the surface when the work that is known to use it is complete.  `x`: May be NULL. */
CJ_API void cj_surface_free(cj_surface *x);

/* The CUsurfObject: the argument of a kernel's .u64 parameter.  0 of a failed surface. */
CJ_API uint64_t cj_surface_raw(const cj_surface *x);

/* Records that kernels on `s` use the surface, as cj_stream_use_texture.  Returns at once.
 * Errors, left in `s`:
 *   CJ_EINVAL: the surface is of another device
 *   CJ_ENOMEM: host memory is exhausted */
CJ_API cj_status cj_stream_use_surface(cj_stream *s, cj_surface *x);

#ifdef __cplusplus
}
#endif

/* ---- Option literals: CJ_ARRAY(.width = 64, .type = CJ_U8); C and C++20 ---------------------- */

#ifndef __cplusplus
#define CJ_ARRAY(...) (&(const cj_array_opts){ .size = sizeof(cj_array_opts), __VA_ARGS__ })
#define CJ_COPY_ARRAY(...) \
    (&(const cj_copy_array_params){ .size = sizeof(cj_copy_array_params), __VA_ARGS__ })
#define CJ_SAMPLER(...) (&(const cj_sampler_opts){ .size = sizeof(cj_sampler_opts), __VA_ARGS__ })
#define CJ_TEXTURE_VIEW(...) \
    (&(const cj_texture_view_params){ .size = sizeof(cj_texture_view_params), __VA_ARGS__ })
#define CJ_TEXTURE_MEMORY(...) \
    (&(const cj_texture_memory_params){ .size = sizeof(cj_texture_memory_params), __VA_ARGS__ })
#elif __cplusplus >= 202002L
#define CJ_ARRAY(...) cji::keep(cj_array_opts{ .size = sizeof(cj_array_opts), __VA_ARGS__ })
#define CJ_COPY_ARRAY(...) \
    cji::keep(cj_copy_array_params{ .size = sizeof(cj_copy_array_params), __VA_ARGS__ })
#define CJ_SAMPLER(...) cji::keep(cj_sampler_opts{ .size = sizeof(cj_sampler_opts), __VA_ARGS__ })
#define CJ_TEXTURE_VIEW(...) \
    cji::keep(cj_texture_view_params{ .size = sizeof(cj_texture_view_params), __VA_ARGS__ })
#define CJ_TEXTURE_MEMORY(...) \
    cji::keep(cj_texture_memory_params{ .size = sizeof(cj_texture_memory_params), __VA_ARGS__ })
#endif

#endif
