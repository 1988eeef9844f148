/* The common header of every object, the failure that it keeps, and reference counts.
 *
 * Invariants: tag is one of tags.def for a live object; an error with CJI_OBJ_FAILED set means a failed object, whose
 * fields behind the header must not be touched; refs counts the owner and every child.  A failed object made without
 * memory is
 * static and immortal.  err and taken are guarded by the reserve's lock (record.h); everything else of the header is
 * written once, at creation. */
#ifndef CJI_OBJ_H
#define CJI_OBJ_H

#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

#include <cujit/base.h>

#include "base/process.h"
#include "base/record.h"

#define T(tag, name, driver) CJI_TAG_##tag,
typedef enum cji_tag { CJI_TAG_NONE,
#include "base/tags.def"
CJI_TAG_COUNT } cji_tag;

enum {
    CJI_OBJ_FAILED = 1,
    CJI_OBJ_IMMORTAL = 2,    /* static: neither counted nor freed, and its error never changes */
    CJI_OBJ_KEEPS_FIRST = 4, /* keeps the first failure until it is taken or cleared */
    CJI_OBJ_STICKY = 8,      /* keeps the first failure for ever */
    CJI_OBJ_OF_THREAD = 16,  /* static, for every thread: its error is what cji_fail_orphan() noted for the thread */
    CJI_OBJ_BOUND = 32       /* only one thread may use it: `thread` */
};

typedef struct cji_obj {
    uint32_t magic;           /* CJI_MAGIC: tells an object from other memory */
    uint16_t tag;             /* cji_tag */
    uint16_t flags;           /* CJI_OBJ_*; FAILED and BOUND are set at creation only */
    atomic_uint refs;
    uint32_t fork_gen;        /* cji_fork_gen() at creation */
    uint64_t serial;          /* the how many-th object of this process: addresses repeat, serials do not */
    uint64_t thread;          /* with CJI_OBJ_BOUND the cji_thread_id() of the only thread that may use it, else 0 */
    struct cji_obj *err_in;   /* the object that keeps this one's errors (a function's module), else NULL */
    cji_kept err;
    bool taken;               /* err was taken by cji_err_take: it stays readable, and the next failure replaces it */
} cji_obj;
_Static_assert(sizeof(cji_obj) <= 96, "a graph of many nodes has many headers");

#define CJI_MAGIC 0x63754a69u

/* A zeroed object of `size` bytes (header first), with one reference.  Without memory: the immortal failed object of
 * that tag, with the failure
 * recorded for `call`.  cji_obj_failed() tells. */
void *cji_obj_new(size_t size, cji_tag tag, unsigned flags, const char *call);

/* Marks a fresh object as failed: it keeps the record written by cji_fail() before or after. */
void cji_obj_set_failed(void *obj);
bool cji_obj_failed(const void *obj);

/* Binds a fresh object to the calling thread; undoes it. */
void cji_obj_bind(void *obj);
void cji_obj_unbind(void *obj);

/* References.  cji_obj_release() gives true to the caller that must now destroy the object's fields and then call
 * cji_obj_delete().
 * NULL and immortal objects are accepted: false. */
void *cji_obj_retain(void *obj);
bool cji_obj_release(void *obj);
/* Drops a reference that is not the last one.  False: it may be the last one, and is not dropped. */
bool cji_obj_release_shared(void *obj);
void cji_obj_delete(void *obj, size_t size);

/* Entry check of a public call: NULL, another type, a failed object, an object from before fork().  On failure the
 * record is
 * left in the thread (and nowhere else: the handle is unusable or keeps its own record) and the status returned.
 * CJ_ESTATE for an object that is bound to
 * another thread; that is left in the object too. */
cj_status cji_check(const void *obj, cji_tag tag, const char *call);

/* Whether `obj` is an object of that type that was made, is not freed, and that any thread may use: magic, tag and
 * flags of such an object, compared as the one word that they are.  Its fork generation is the caller's to compare. */
CJI_QUICKLY bool cji_is_plain(const void *obj, cji_tag tag)
{
    const cji_obj *o = obj;
    const struct { uint32_t magic; uint16_t tag, flags; } plain = {
        CJI_MAGIC, (uint16_t)tag, tag == CJI_TAG_STREAM ? CJI_OBJ_KEEPS_FIRST : 0
    };
    _Static_assert(sizeof plain == offsetof(cji_obj, refs), "they are the beginning of an object");
    return o && !memcmp(o, &plain, sizeof plain);
}

/* The usual case of that check without a call, for what is enqueued often: a live object of the driver's side that any
 * thread may use.  False: cji_check() decides. */
CJI_QUICKLY bool cji_is_live(const void *obj, cji_tag tag)
{
    const cji_obj *o = obj;
    return cji_is_plain(o, tag) && cji_fork_gen_is(o->fork_gen);
}

/* The same for a call that any thread may make, also with an object that is bound to one: it only reads what the
 * object is. */
cj_status cji_check_read(const void *obj, cji_tag tag, const char *call);

/* Entry check of a release call: true when `obj` is a live object of that type that may be released by this process;
 * a failed object too.
 * NULL, wrong handles and objects from before fork() give false (the wrong handle is recorded for the thread and
 * logged). */
bool cji_check_free(void *obj, cji_tag tag, const char *call);

/* Entry check of a second or later argument: as cji_check, but the failure (or the failed object's own record, cause
 * first)
 * is recorded in `into` as well. */
cj_status cji_check_arg(void *into, const void *obj, cji_tag tag, const char *call, const char *what);

/* Records a failure of `call`, which is static text, in `obj` (may be NULL: the thread only) and in the thread, and
 * returns `status`.  The message begins with the call's name.
 * An object with CJI_OBJ_KEEPS_FIRST or CJI_OBJ_STICKY keeps the first. */
cj_status cji_fail(void *obj, cj_status status, const char *call, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

/* The same from a finished record: one that the caller filled, or that of another object or thread, which is shared. */
cj_status cji_fail_with(void *obj, const cj_error *err);

/* The failure that the calling thread recorded last, in `obj` as well.  Returns its status. */
cj_status cji_fail_also(void *obj);

/* Around calls whose failures are nobody's: notes the thread's latest failure, and puts it back. */
void cji_fail_save(cji_kept *latest);
void cji_fail_restore(cji_kept *latest);

/* That failure in an immortal object that is part of another one, which clears it (cji_kept_clear) before its memory
 * is freed. */
void cji_fail_part(cji_obj *o);

/* That failure becomes what objects with CJI_OBJ_OF_THREAD answer on the calling thread. */
void cji_fail_orphan(void);

/* Records the failure of `from` in `obj` and the thread: a failure is passed on with its cause. */
cj_status cji_fail_from(void *obj, const void *from, const char *call);

/* A copy of the record; status CJ_OK for none. */
void cji_err_get(const void *obj, cj_error *out);
cj_status cji_err_status(const void *obj);
cj_status cji_err_latest(void); /* of the calling thread */
void cji_err_reset(void *obj);

/* Takes the record: *out is the failure kept, which stays readable until the next one replaces it; or, when it was
 * taken before or there is none,
 * status CJ_OK, and the object's record is cleared.  A failure that was taken is the thread's latest. */
void cji_err_take(void *obj, cj_error *out);

/* Formats a record; cuts what is too long, never allocates. */
void cji_err_make(cj_error *e, cj_status status, const char *call, const char *fmt, va_list args);

/* The type's public name, "cj_stream"; "no cujit object" for foreign memory. */
const char *cji_tag_name(cji_tag tag);

/* ---- Fork: changes in a child of fork(), else constant ---- */
uint32_t cji_fork_gen(void);

/* How many objects this process has made so far (hooks may be set while it is 0). */
bool cji_objects_exist(void);

#endif
