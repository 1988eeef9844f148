/* The room interop: tensors of other libraries, and streams by number.  Prefix cji_tensor.  Calls the rooms core and
 * memory.
 *
 *   interop_tensor.c    cj_tensor: what is checked, what is computed, who releases the memory
 *   interop_dlpack.c    DLPack in and out
 *   interop_array.c     __cuda_array_interface__ in and out, as text
 *   interop_stream.c    waits between streams of the library and of other code
 *
 * A tensor is written once, before it is returned.  An export is a reference of it. */
#ifndef CJI_STREAM_INTEROP_H
#define CJI_STREAM_INTEROP_H

#include <cujit/interop.h>

#include "stream/core/stream_core.h"

enum { CJI_TENSOR_DIMS = 64 };

struct cj_tensor {
    cji_obj obj;
    cj_device *dev;              /* retained */
    cj_tensor_info info;         /* whose lists point to `list` */
    int64_t *list;               /* the sizes, then the strides */
    void (*release)(void *user); /* NULL: nobody need know */
    void *user;
};

/* A tensor of `info` for `call`; a failed object has not called `release`. */
cj_tensor *cji_tensor_make(cj_device *dev, const cj_tensor_info *info, void (*release)(void *user), void *user,
                           const char *call);
/* A failed tensor, whose failure is recorded already where `fmt` is NULL. */
cj_tensor *cji_tensor_failed(cj_status status, const char *call, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Drops a reference; the last one releases the memory. */
void cji_tensor_drop(cj_tensor *t);
/* Bytes of an element; 0: of less than a byte, without padding. */
uint64_t cji_tensor_item(const cj_tensor_info *info);

#endif
