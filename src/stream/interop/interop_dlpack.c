/* DLPack in and out.  The structs are those of its specification, https://dmlc.github.io/dlpack/latest/c_api.html. */
#include <stddef.h>
#include <string.h>

#include "stream/interop/stream_interop.h"

_Static_assert(sizeof(cj_tensor_type) == 4 && offsetof(cj_dlpack_tensor, ndim) == sizeof(void *) + 8 &&
                   offsetof(cj_dlpack_tensor, shape) == sizeof(void *) + 16,
               "DLTensor");

/* -- In ------------------------------------------------------------------------------------------------------------ */

static void delete_managed(void *user)
{
    cj_dlpack_managed *m = user;
    if (m->deleter) m->deleter(m);
}

static void delete_versioned(void *user)
{
    cj_dlpack_versioned *m = user;
    if (m->deleter) m->deleter(m);
}

static cj_tensor *tensor_of(cj_device *dev, const cj_dlpack_tensor *x, uint64_t flags, void (*release)(void *user),
                            void *user, const char *call)
{
    cj_tensor_info info = { .size = sizeof info,
                            .place = x->device_type,
                            .ndim = x->ndim,
                            .type = x->type,
                            .read_only = (flags & CJ_DLPACK_READ_ONLY) != 0,
                            .copied = (flags & CJ_DLPACK_IS_COPIED) != 0,
                            .padded = (flags & CJ_DLPACK_IS_PADDED) != 0,
                            .shape = x->shape,
                            .strides = x->strides };
    if (__builtin_add_overflow((uint64_t)(uintptr_t)x->data, x->byte_offset, &info.data.addr))
        return cji_tensor_failed(CJ_EINVAL, call, "%s: the offset %llu is beyond all memory", call,
                                 (unsigned long long)x->byte_offset);
    if (!x->device_type) return cji_tensor_failed(CJ_EINVAL, call, "%s: the tensor has no device", call);
    if (x->device_type == CJ_TENSOR_CUDA && x->device_id != dev->ordinal)
        return cji_tensor_failed(CJ_EINVAL, call, "%s: the tensor is of device %d, and the cj_device is %d", call,
                                 (int)x->device_id, dev->ordinal);
    return cji_tensor_make(dev, &info, release, user, call);
}

cj_tensor *cj_tensor_from_dlpack(cj_device *dev, cj_dlpack_managed *managed)
{
    static const char call[] = "cj_tensor_from_dlpack";
    cj_status st = cji_check(dev, CJI_TAG_DEVICE, call);
    if (st != CJ_OK) return cji_tensor_failed(st, call, NULL);
    if (!managed) return cji_tensor_failed(CJ_EINVAL, call, "%s: managed is NULL", call);
    return tensor_of(dev, &managed->tensor, 0, delete_managed, managed, call);
}

cj_tensor *cj_tensor_from_dlpack_versioned(cj_device *dev, cj_dlpack_versioned *managed)
{
    static const char call[] = "cj_tensor_from_dlpack_versioned";
    cj_status st = cji_check(dev, CJI_TAG_DEVICE, call);
    if (st != CJ_OK) return cji_tensor_failed(st, call, NULL);
    if (!managed) return cji_tensor_failed(CJ_EINVAL, call, "%s: managed is NULL", call);
    if (managed->major != 1)
        return cji_tensor_failed(CJ_ENOTSUP, call, "%s: the tensor is of DLPack %u.%u, and this library reads 1.x",
                                 call, (unsigned)managed->major, (unsigned)managed->minor);
    return tensor_of(dev, &managed->tensor, managed->flags, delete_versioned, managed, call);
}

/* -- Out ----------------------------------------------------------------------------------------------------------- */

/* One allocation: the struct, then the lists, which consumers may write to. */
typedef struct export_managed { cj_dlpack_managed m; int64_t list[]; } export_managed;
typedef struct export_versioned { cj_dlpack_versioned m; int64_t list[]; } export_versioned;

static size_t export_bytes(const cj_tensor *t, size_t head)
{
    return head + 2 * (size_t)t->info.ndim * sizeof(int64_t);
}

static void export_tensor(const cj_tensor *t, cj_dlpack_tensor *out, int64_t *list)
{
    const cj_tensor_info *x = &t->info;
    if (x->ndim) memcpy(list, t->list, 2 * (size_t)x->ndim * sizeof *list);
    *out = (cj_dlpack_tensor){ .data = (void *)(uintptr_t)x->data.addr,
                               .device_type = x->place,
                               .device_id = x->place == CJ_TENSOR_CUDA_HOST ? 0 : t->dev->ordinal,
                               .ndim = x->ndim,
                               .type = x->type,
                               .shape = list,
                               .strides = list + x->ndim };
}

/* A consumer in a child of fork() releases nothing. */
static bool export_is_ours(cj_tensor *t) { return t->obj.fork_gen == cji_fork_gen(); }

static void export_delete(cj_dlpack_managed *self)
{
    cj_tensor *t = self->manager;
    if (!export_is_ours(t)) return;
    cji_free(self, export_bytes(t, sizeof(export_managed)));
    cji_tensor_drop(t);
}

static void export_delete_versioned(cj_dlpack_versioned *self)
{
    cj_tensor *t = self->manager;
    if (!export_is_ours(t)) return;
    cji_free(self, export_bytes(t, sizeof(export_versioned)));
    cji_tensor_drop(t);
}

static void *export_alloc(cj_tensor *t, size_t head, const char *call)
{
    void *p = cji_zalloc(export_bytes(t, head));
    if (!p) cji_fail(t, CJ_ENOMEM, call, "no memory for %d dimensions", (int)t->info.ndim);
    else cji_obj_retain(t);
    return p;
}

cj_dlpack_managed *cj_tensor_to_dlpack(cj_tensor *t)
{
    static const char call[] = "cj_tensor_to_dlpack";
    if (cji_check(t, CJI_TAG_TENSOR, call) != CJ_OK) return NULL;
    if (t->info.read_only) {
        cji_fail(t, CJ_EINVAL, call, "the memory is read-only, which cj_tensor_to_dlpack_versioned() can say");
        return NULL;
    }
    export_managed *e = export_alloc(t, sizeof *e, call);
    if (!e) return NULL;
    export_tensor(t, &e->m.tensor, e->list);
    e->m.manager = t;
    e->m.deleter = export_delete;
    return &e->m;
}

cj_dlpack_versioned *cj_tensor_to_dlpack_versioned(cj_tensor *t)
{
    static const char call[] = "cj_tensor_to_dlpack_versioned";
    if (cji_check(t, CJI_TAG_TENSOR, call) != CJ_OK) return NULL;
    export_versioned *e = export_alloc(t, sizeof *e, call);
    if (!e) return NULL;
    export_tensor(t, &e->m.tensor, e->list);
    e->m.major = 1;
    e->m.minor = 1;
    e->m.manager = t;
    e->m.deleter = export_delete_versioned;
    e->m.flags = (t->info.read_only ? CJ_DLPACK_READ_ONLY : 0) | (t->info.copied ? CJ_DLPACK_IS_COPIED : 0) |
                 (t->info.padded ? CJ_DLPACK_IS_PADDED : 0);
    return &e->m;
}
