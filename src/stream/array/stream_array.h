/* The room array: arrays, copies from and to them, textures and surfaces.  Prefix cji_array.  Calls the rooms core and
 * memory, nothing of the room graph.
 *
 *   array.c         arrays and levels made, described, released; their uses
 *   copy_array.c    copies from and to arrays
 *   texture.c       textures and surfaces
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
void cji_array_drop(cj_array *a); /* drops a reference */
/* Runs the release at once when the work that uses it is complete, so that it leaves nothing to be looked at; else
 * defers it. */
void cji_array_release(cj_device *dev, cji_deferred *deferred, uint64_t used);
/* A device's limit; 0: the driver has none of that name. */
size_t cji_array_limit(const cj_device *dev, CUdevice_attribute attribute);

#endif
