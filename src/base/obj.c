/* Objects: making, references, entry checks. */
#include "base/obj.h"

#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/process.h"

static const struct tag_row { const char *name; bool driver_side; } tag_rows[CJI_TAG_COUNT] = {
    [CJI_TAG_NONE] = { "no cujit object", false },
#define T(tag, name, driver) [CJI_TAG_##tag] = { name, driver },
#include "base/tags.def"
};

/* What constructors give when there is no memory for an object at all: one for each type, never changed, never freed.
 * */
static cji_record nomem_record[CJI_TAG_COUNT] = {
#define T(t, name, driver) \
    [CJI_TAG_##t] = { \
        .refs = 1, \
        .e = { .status = CJ_ENOMEM, .call = "create", .message = "out of memory: no " name " could be made" } \
    },
#include "base/tags.def"
};

static cji_obj nomem[CJI_TAG_COUNT] = {
#define T(t, name, driver)                                                                                \
    [CJI_TAG_##t] = { .magic = CJI_MAGIC, .tag = CJI_TAG_##t, .flags = CJI_OBJ_FAILED | CJI_OBJ_IMMORTAL, \
                      .err = { .record = &nomem_record[CJI_TAG_##t], .call = "create", .status = CJ_ENOMEM } },
#include "base/tags.def"
};

const char *cji_tag_name(cji_tag tag) { return tag < CJI_TAG_COUNT ? tag_rows[tag].name : tag_rows[0].name; }

void *cji_obj_new(size_t size, cji_tag tag, unsigned flags, const char *call)
{
    cji_obj *o = cji_zalloc(size);
    uint64_t serial = atomic_fetch_add(&cji_process.made, 1) + 1;
    if (!o) {
        cji_fail(NULL, CJ_ENOMEM, call, "out of memory: no %s could be made", cji_tag_name(tag));
        return &nomem[tag];
    }
    o->magic = CJI_MAGIC;
    o->tag = (uint16_t)tag;
    o->flags = (uint16_t)flags;
    atomic_init(&o->refs, 1);
    o->serial = serial;
    o->fork_gen = tag_rows[tag].driver_side ? cji_fork_gen() : 0;
    return o;
}

void cji_obj_set_failed(void *obj)
{
    cji_obj *o = obj;
    o->flags |= CJI_OBJ_FAILED;
}

void cji_obj_bind(void *obj)
{
    cji_obj *o = obj;
    o->flags |= CJI_OBJ_BOUND;
    o->thread = cji_thread_id();
}

void cji_obj_unbind(void *obj)
{
    cji_obj *o = obj;
    o->flags &= (uint16_t)~CJI_OBJ_BOUND;
    o->thread = 0;
}

bool cji_obj_failed(const void *obj) { return !obj || (((const cji_obj *)obj)->flags & CJI_OBJ_FAILED); }

void *cji_obj_retain(void *obj)
{
    cji_obj *o = obj;
    if (o && !(o->flags & CJI_OBJ_IMMORTAL)) atomic_fetch_add_explicit(&o->refs, 1, memory_order_relaxed);
    return obj;
}

bool cji_obj_release(void *obj)
{
    cji_obj *o = obj;
    if (!o || (o->flags & CJI_OBJ_IMMORTAL)) return false;
    return atomic_fetch_sub_explicit(&o->refs, 1, memory_order_acq_rel) == 1;
}

bool cji_obj_release_shared(void *obj)
{
    cji_obj *o = obj;
    unsigned refs = atomic_load_explicit(&o->refs, memory_order_relaxed);
    while (refs > 1)
        if (atomic_compare_exchange_weak_explicit(&o->refs, &refs, refs - 1, memory_order_release,
                                                  memory_order_relaxed))
            return true;
    return false;
}

void cji_obj_delete(void *obj, size_t size)
{
    cji_obj *o = obj;
    if (!o || (o->flags & CJI_OBJ_IMMORTAL)) return;
    cji_kept_clear(&o->err);
    o->magic = 0;
    cji_free(o, size);
}

/* -- Entry checks -------------------------------------------------------------------------------------------------- */

static bool foreign(const cji_obj *o, cji_tag tag) { return o->magic != CJI_MAGIC || o->tag != tag; }

/* The failure of `o` as an argument of type `tag`, CJ_OK for none; `what` names the argument, NULL for the first. */
static cj_status judge(const cji_obj *o, cji_tag tag, const char *call, const char *what, void *into)
{
    const char *want = cji_tag_name(tag);
    if (!o) return cji_fail(into, CJ_EHANDLE, call, "%s is NULL, wants a %s", what ? what : "the handle", want);
    if (foreign(o, tag))
        return cji_fail(into, CJ_EHANDLE, call, "%s is %s%s, wants a %s", what ? what : "the handle",
                        o->magic == CJI_MAGIC ? "a " : "",
                        cji_tag_name(o->magic == CJI_MAGIC ? (cji_tag)o->tag : CJI_TAG_NONE), want);
    if (tag_rows[tag].driver_side && !(o->flags & CJI_OBJ_IMMORTAL) && o->fork_gen != cji_fork_gen())
        return cji_fail(
            into, CJ_EFORKED, call,
            "the %s was made before fork() and cannot be used in the child; open the driver again in the child", want);
    if (o->flags & CJI_OBJ_FAILED) {
        if (cji_err_status(o) == CJ_OK)
            return cji_fail(into, CJ_EHANDLE, call, "%s is a %s that could not be made", what ? what : "the handle",
                            want);
        return cji_fail_from(into, o, call);
    }
    return CJ_OK;
}

/* A live object on a thread that it is not bound to. */
static cj_status judge_thread(const cji_obj *o, const char *call, const char *what, void *into)
{
    cj_status st = cji_fail(
        into, CJ_ESTATE, call,
        "%s is the per-thread default stream of the thread that wrapped it, and (void *)2 is another "
        "stream on this thread; "
        "make the call there, or use a stream of cj_stream_create",
        what ? what : "the stream");
    return cji_fail_also((void *)(uintptr_t)o), st;
}

static bool strange(const cji_obj *o) { return o->thread && o->thread != cji_thread_id(); }

/* The usual case, quickly. */
static bool usable(const cji_obj *o, cji_tag tag)
{
    return o && !foreign(o, tag) && !(o->flags & (CJI_OBJ_IMMORTAL | CJI_OBJ_FAILED)) &&
           (!tag_rows[tag].driver_side || o->fork_gen == cji_fork_gen());
}

cj_status cji_check_read(const void *obj, cji_tag tag, const char *call)
{
    return usable(obj, tag) ? CJ_OK : judge(obj, tag, call, NULL, NULL);
}

cj_status cji_check(const void *obj, cji_tag tag, const char *call)
{
    if (!usable(obj, tag)) return judge(obj, tag, call, NULL, NULL);
    return strange(obj) ? judge_thread(obj, call, NULL, NULL) : CJ_OK;
}

cj_status cji_check_arg(void *into, const void *obj, cji_tag tag, const char *call, const char *what)
{
    if (!usable(obj, tag)) return judge(obj, tag, call, what, into);
    return strange(obj) ? judge_thread(obj, call, what, into) : CJ_OK;
}

bool cji_check_free(void *obj, cji_tag tag, const char *call)
{
    cji_obj *o = obj;
    if (!o) return false;
    if (foreign(o, tag)) {
        judge(o, tag, call, NULL, NULL);
        cji_log(CJ_LOG_ERROR, "%s", cj_error_last()->message);
        return false;
    }
    if (o->flags & CJI_OBJ_IMMORTAL) return false;
    return !tag_rows[tag].driver_side || o->fork_gen == cji_fork_gen();
}
