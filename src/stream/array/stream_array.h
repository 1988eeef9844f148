/* The room array: arrays, copies from and to them, textures and surfaces.  Prefix cji_array.  Calls the rooms core and
 * memory, nothing of the room graph.
 *
 *   array.c             arrays and levels made, described, released; their uses
 *   array_copy_shape.c  what a copy from or to an array is, for streams and for nodes of graphs
 *   copy_array.c        such copies enqueued on a stream
 *   texture.c           textures and surfaces; texture_view.c: what a view of an array reads
 *
 * An array has no address, so it is in no table: it notes the streams that use it itself, and captures retain the
 * object.  Its release is deferred until the work of these streams is complete.  Textures and surfaces retain it. */
#ifndef CJI_STREAM_ARRAY_H
#define CJI_STREAM_ARRAY_H

#include <cujit/texture.h>

#include "stream/memory/stream_memory.h"

typedef struct cji_array_extent { size_t width, height, depth; } cji_array_extent;

struct cj_array {
    cji_obj obj;
    cj_device *dev;            /* retained */
    cj_array *of;              /* of a level: the mipmapped array, retained, which notes its uses */
    bool owned;                /* what raw or mipmap names was made here, and is destroyed with the array */
    CUarray raw;               /* NULL: it is mipmapped, or failed */
    CUmipmappedArray mipmap;   /* NULL: it is not mipmapped, or failed */
    cj_array_opts shape;       /* with type, channels and levels filled in */
    CUarray_format format;
    size_t element;            /* bytes */
    cji_array_extent extent;   /* none is 0; layers and faces are slices */
    atomic_uint_fast64_t used; /* slots of streams */
    cji_deferred deferred;
};

/* Format and bytes of an element; 0 stands for the defaults.  A failure is left in `into`. */
cj_status cji_array_element(void *into, int32_t *type, int32_t *channels, CUarray_format *format, size_t *bytes,
                            const char *call);
/* Notes work of `s`, or has its capture retain the array; a failure is left in `s`. */
cj_status cji_array_use(cj_stream *s, cj_array *a, const char *call);
/* Notes work of `s`, a stream of another device, behind that work; a failure is left in `s`. */
cj_status cji_array_peer_use(cj_stream *s, cj_array *a, const char *call);
/* A reference set retains the array; false without memory. */
bool cji_array_retain(cj_array *a, cji_refset *set);
void cji_array_drop(cj_array *a); /* drops a reference */
/* Runs the release at once when the work that uses it is complete, so that it leaves nothing to be looked at; else
 * defers it. */
void cji_array_release(cj_device *dev, cji_deferred *deferred, uint64_t used);
/* A device's limit; 0: the driver has none of that name. */
size_t cji_array_limit(const cj_device *dev, CUdevice_attribute attribute);

/* -- Copies (array_copy_shape.c) ----------------------------------------------------------------------------------- */

/* One end: an array, or memory with its pitch and rows. */
typedef struct cji_array_end {
    cj_array *array;
    cj_device *dev;     /* of the array, or of the memory; not retained */
    size_t x, y, z;     /* where in the array */
    uint64_t addr;      /* device memory */
    void *host;
    size_t pitch, rows; /* of memory */
    size_t reach;       /* measured: bytes of memory from the first to the end */
} cji_array_end;

typedef struct cji_array_copy {
    size_t width, height, depth, row;
    cji_array_end dst, src;
    bool peer; /* measured: an end is of another device */
} cji_array_copy;

/* Reads what is copied by work of `home`, and checks and measures it; a failure is left in `into`. */
cj_status cji_array_copy_of_params(void *into, cj_device *home, const cj_copy_array_params *params, cji_array_copy *c,
                                   const char *call);
CUDA_MEMCPY3D cji_array_copy_params(const cji_array_copy *c); /* of one device */

/* -- Views (texture_view.c) ---------------------------------------------------------------------------------------- */

/* What the view of an array is for the driver, and the type of the channels that are read; a failure is left in
 * `into`. */
cj_status cji_array_view(void *into, const cj_array *a, const cj_texture_view_params *params,
                         CUDA_RESOURCE_VIEW_DESC *out, int32_t *type, const char *call);

#endif
