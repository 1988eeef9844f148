/* Error records: made, kept by objects and threads, given out as copies. */
#include <stdio.h>
#include <string.h>

#include "base/obj.h"
#include "base/process.h"

static const struct status_row { cj_status status; const char *name, *text; } status_rows[] = {
#define S(code, text) { code, #code, text },
#include "base/status.def"
};

static const struct status_row *status_row(cj_status status)
{
    for (size_t i = 0; i < sizeof status_rows / sizeof *status_rows; i++)
        if (status_rows[i].status == status) return &status_rows[i];
    return NULL;
}

const char *cj_status_name(cj_status status)
{
    const struct status_row *r = status_row(status);
    return r ? r->name : "CJ_?";
}

const char *cj_status_text(cj_status status)
{
    const struct status_row *r = status_row(status);
    return r ? r->text : "unknown status";
}

/* -- Making and keeping records ------------------------------------------------------------------------------------------ */

static void copy_text(char *to, size_t size, const char *from)
{
    size_t n = strlen(from);
    if (n >= size) n = size - 1;
    memcpy(to, from, n);
    to[n] = 0;
}

void cji_err_make(cj_error *e, cj_status status, const char *call, const char *fmt, va_list args)
{
    memset(e, 0, sizeof *e);
    e->status = status;
    copy_text(e->call, sizeof e->call, call ? call : "");
    vsnprintf(e->message, sizeof e->message, fmt, args);
}

static cji_obj *keeper(void *obj)
{
    cji_obj *o = obj;
    if (!o || o->magic != CJI_MAGIC) return NULL;
    if (o->err_in) o = o->err_in;
    return o->flags & CJI_OBJ_IMMORTAL ? NULL : o;
}

cj_status cji_fail_with(void *obj, const cj_error *err)
{
    cji_obj *o = keeper(obj);
    if (o) {
        pthread_mutex_lock(&o->lock);
        if (!o->err.status || o->told || !(o->flags & (CJI_OBJ_KEEPS_FIRST | CJI_OBJ_STICKY))) o->err = *err;
        o->told = false;
        pthread_mutex_unlock(&o->lock);
    }
    cji_thread()->last = *err;
    return (cj_status)err->status;
}

cj_status cji_fail(void *obj, cj_status status, const char *call, const char *fmt, ...)
{
    cj_error e;
    va_list args;
    memset(&e, 0, sizeof e);
    e.status = status;
    copy_text(e.call, sizeof e.call, call ? call : "");
    size_t used = (size_t)snprintf(e.message, sizeof e.message, "%s: ", e.call); /* fits: call is shorter */
    va_start(args, fmt);
    vsnprintf(e.message + used, sizeof e.message - used, fmt, args);
    va_end(args);
    return cji_fail_with(obj, &e);
}

cj_status cji_fail_from(void *obj, const void *from, const char *call)
{
    cj_error e;
    cji_err_get(from, &e);
    if (!e.call[0]) copy_text(e.call, sizeof e.call, call);
    return cji_fail_with(obj, &e);
}

void cji_err_get(const void *obj, cj_error *out)
{
    cji_obj *o = (cji_obj *)(uintptr_t)obj;
    if (o && o->magic == CJI_MAGIC && o->err_in) o = o->err_in;
    if (!o || o->magic != CJI_MAGIC) {
        memset(out, 0, sizeof *out);
        out->status = CJ_EHANDLE;
        copy_text(out->message, sizeof out->message, o ? "the handle is no cujit object" : "the handle is NULL");
        return;
    }
    pthread_mutex_lock(&o->lock);
    *out = o->err;
    pthread_mutex_unlock(&o->lock);
}

void cji_err_reset(void *obj)
{
    cji_obj *o = keeper(obj);
    if (!o) return;
    pthread_mutex_lock(&o->lock);
    memset(&o->err, 0, sizeof o->err);
    o->told = false;
    pthread_mutex_unlock(&o->lock);
}

void cji_err_take(void *obj, cj_error *out)
{
    cji_obj *o = keeper(obj);
    memset(out, 0, sizeof *out);
    if (!o) return;
    pthread_mutex_lock(&o->lock);
    if (o->told) memset(&o->err, 0, sizeof o->err);
    *out = o->err;
    o->told = o->err.status != CJ_OK;
    pthread_mutex_unlock(&o->lock);
    if (out->status) cji_thread()->last = *out;
}

/* -- Public ------------------------------------------------------------------------------------------------------------- */

const cj_error *cj_error_of(const void *object)
{
    cji_thread_state *t = cji_thread();
    cj_error *e = &t->copy[t->next_copy++ % CJI_THREAD_COPIES];
    cji_err_get(object, e);
    return e;
}

const cj_error *cj_error_last(void)
{
    cji_thread_state *t = cji_thread();
    t->last_copy = t->last;
    return &t->last_copy;
}

cj_status cj_error_clear(void *object)
{
    cji_obj *o = object;
    if (!o || o->magic != CJI_MAGIC)
        return cji_fail(NULL, CJ_EHANDLE, "cj_error_clear", "the handle is %s", o ? "no cujit object" : "NULL");
    if (o->flags & (CJI_OBJ_FAILED | CJI_OBJ_STICKY) || o->err_in)
        return cji_fail(NULL, CJ_ESTATE, "cj_error_clear", "the failure of this %s is final; free it and make a new one",
                        cji_tag_name((cji_tag)o->tag));
    cji_err_reset(o);
    return CJ_OK;
}
