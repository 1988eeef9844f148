/* Objects of libraries over cujit: the common header, the type of the library, its data. */
#include <cujit/extend.h>

#include <stdio.h>

#include "base/mem.h"
#include "base/obj.h"
#include "stream/core/stream_core.h"

/* The data follow, aligned as the allocator's blocks are. */
typedef struct foreign_object {
    _Alignas(16) cji_obj o;
    const cj_object_type *type; /* NULL: a failed object that was made without one */
    size_t size;                /* of all of it */
} foreign_object;

static void *foreign_data(foreign_object *x) { return x + 1; }

void *cj_object_create(const cj_object_type *type, const char *call)
{
    bool good = type && type->size >= sizeof *type && type->name;
    size_t size = sizeof(foreign_object) + (good ? type->bytes : 0);
    if (!call) call = "cj_object_create";
    foreign_object *x = cji_obj_new(size, CJI_TAG_OBJECT, 0, call);
    if (cji_obj_failed(x)) return x;
    x->size = size;
    if (good) {
        x->type = type;
        return x;
    }
    cji_fail(x, CJ_EINVAL, call, "the type of the object %s", type ? "has no size or no name" : "is NULL");
    cji_obj_set_failed(x);
    return x;
}

/* The same for a stream, whose capture is then incomplete. */
static cj_status failed_object_in(void *into, cj_status st)
{
    const cji_obj *o = into;
    return o && o->magic == CJI_MAGIC && o->tag == CJI_TAG_STREAM && !cji_obj_failed(o) ? cji_stream_failed(into, st)
                                                                                        : st;
}

/* CJ_OK for an object of the library's type. */
static cj_status is_of_type(const void *object, const cj_object_type *type, void *into, const char *call)
{
    const foreign_object *x = object;
    const char *want = type && type->name ? type->name : "cj_object";
    if (!x) return cji_fail(into, CJ_EHANDLE, call, "the handle is NULL, wants a %s", want);
    if (x->o.magic != CJI_MAGIC)
        return cji_fail(into, CJ_EHANDLE, call, "the handle is no cujit object, wants a %s", want);
    if (x->o.tag != CJI_TAG_OBJECT)
        return cji_fail(into, CJ_EHANDLE, call, "the handle is a %s, wants a %s", cji_tag_name((cji_tag)x->o.tag),
                        want);
    if (!(x->o.flags & CJI_OBJ_IMMORTAL) && x->type && x->type != type)
        return cji_fail(into, CJ_EHANDLE, call, "the handle is a %s, wants a %s", x->type->name, want);
    return CJ_OK;
}

void *cj_object_data(const void *object, const cj_object_type *type, void *into, const char *call)
{
    foreign_object *x = (foreign_object *)(uintptr_t)object;
    if (cji_is_live(object, CJI_TAG_OBJECT) && x->type == type) return foreign_data(x);
    if (!call) call = "cj_object_data";
    cj_status st = is_of_type(object, type, into, call);
    if (st == CJ_OK) st = cji_check_arg(into, object, CJI_TAG_OBJECT, call, "the object");
    if (st == CJ_OK) return foreign_data(x);
    failed_object_in(into, st);
    return NULL;
}

cj_status cj_object_fail(void *object, cj_status status, const char *call, const char *message)
{
    return failed_object_in(object,
                     cji_fail(object, status, call ? call : "", "%s", message ? message : cj_status_text(status)));
}

cj_status cj_object_fail_from(void *object, const void *from, const char *call)
{
    cj_status st = cji_fail_from(object, from, call ? call : "");
    return st == CJ_OK ? CJ_OK : failed_object_in(object, st);
}

void cj_object_set_failed(void *object)
{
    foreign_object *x = object;
    if (x && x->o.magic == CJI_MAGIC && x->o.tag == CJI_TAG_OBJECT && !(x->o.flags & CJI_OBJ_IMMORTAL))
        cji_obj_set_failed(x);
}

void cj_object_free(void *object, const cj_object_type *type, const char *call)
{
    foreign_object *x = object;
    if (!call) call = "cj_object_free";
    if (!x || is_of_type(object, type, NULL, call) != CJ_OK || !cji_check_free(x, CJI_TAG_OBJECT, call)) return;
    if (!cji_obj_release(&x->o)) return;
    if (x->type && x->type->end) x->type->end(foreign_data(x));
    cji_obj_delete(x, x->size);
}
