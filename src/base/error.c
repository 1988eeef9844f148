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

/* -- Making and keeping records ------------------------------------------------------------------------------------ */

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

/* Where the error of `o`, a live object, is kept. */
static cji_kept *kept_of(cji_obj *o)
{
    if (o->err_in) o = o->err_in;
    return o->flags & CJI_OBJ_OF_THREAD ? &cji_thread()->orphan : &o->err;
}

/* In the object, where that may change, and in the thread. */
static cj_status keep(void *obj, cji_record *r, const char *call, cj_status status, int32_t driver_code)
{
    cji_obj *o = keeper(obj);
    cji_thread_state *t = cji_thread();
    if (o) {
        bool first = o->flags & (CJI_OBJ_KEEPS_FIRST | CJI_OBJ_STICKY);
        pthread_mutex_lock(&cji_process.reserve.lock);
        if (cji_kept_status(&o->err) == CJ_OK || o->taken || !first)
            cji_kept_put(&o->err, r, call, status, driver_code);
        o->taken = false;
        pthread_mutex_unlock(&cji_process.reserve.lock);
    }
    cji_kept_set(&t->last, r, call, status, driver_code);
    return status;
}

cj_status cji_fail_with(void *obj, const cj_error *err)
{
    cji_thread_state *t = cji_thread();
    cji_record *r = cji_record_of(err);
    if (r) return keep(obj, r, NULL, (cj_status)err->status, err->driver_code);
    if (err == &t->spare && err->status == cji_kept_status(&t->last)) return cji_fail_also(obj);
    if ((r = cji_record_take())) r->e = *err;
    keep(obj, r, NULL, (cj_status)err->status, err->driver_code);
    cji_record_drop(r);
    return (cj_status)err->status;
}

cj_status cji_fail(void *obj, cj_status status, const char *call, const char *fmt, ...)
{
    cji_record *r = cji_record_take();
    if (r) {
        cj_error *e = &r->e;
        va_list args;
        memset(e, 0, sizeof *e);
        e->status = status;
        copy_text(e->call, sizeof e->call, call ? call : "");
        size_t used = (size_t)snprintf(e->message, sizeof e->message, "%s: ", e->call); /* fits: call is shorter */
        va_start(args, fmt);
        vsnprintf(e->message + used, sizeof e->message - used, fmt, args);
        va_end(args);
    }
    keep(obj, r, call, status, 0);
    cji_record_drop(r);
    return status;
}

cj_status cji_fail_also(void *obj)
{
    cji_obj *o = keeper(obj);
    cji_thread_state *t = cji_thread();
    cj_status status = cji_kept_status(&t->last);
    if (!o || status == CJ_OK) return status;
    return keep(o, t->last.record, t->last.call, status, t->last.driver_code); /* only this thread changes its own */
}

void cji_fail_save(cji_kept *latest) { cji_kept_share(&cji_thread()->last, latest); }

void cji_fail_restore(cji_kept *latest)
{
    cji_kept_set(&cji_thread()->last, latest->record, latest->call, cji_kept_status(latest), latest->driver_code);
    cji_record_drop(latest->record);
}

void cji_fail_part(cji_obj *o) { cji_kept_copy(&o->err, &cji_thread()->last); }

void cji_fail_orphan(void)
{
    cji_thread_state *t = cji_thread();
    cji_kept_copy(&t->orphan, &t->last);
}

/* What is answered for no object. */
static const char *no_object(const cji_obj *o)
{
    if (!o) return "the handle is NULL";
    return o->magic == CJI_MAGIC ? NULL : "the handle is no cujit object";
}

cj_status cji_fail_from(void *obj, const void *from, const char *call)
{
    cji_obj *o = (cji_obj *)(uintptr_t)from;
    const char *wrong = no_object(o);
    cji_kept now;
    if (wrong) return cji_fail(obj, CJ_EHANDLE, call, "%s", wrong);
    cji_kept_share(kept_of(o), &now);
    cj_status status = cji_kept_status(&now);
    if (status == CJ_OK) return CJ_OK;
    keep(obj, now.record, now.call ? now.call : call, status, now.driver_code);
    cji_record_drop(now.record);
    return status;
}

cj_status cji_err_status(const void *obj)
{
    cji_obj *o = (cji_obj *)(uintptr_t)obj;
    return no_object(o) ? CJ_EHANDLE : cji_kept_status(kept_of(o));
}

cj_status cji_err_latest(void) { return cji_kept_status(&cji_thread()->last); }

void cji_err_get(const void *obj, cj_error *out)
{
    cji_obj *o = (cji_obj *)(uintptr_t)obj;
    const char *wrong = no_object(o);
    memset(out, 0, sizeof *out);
    if (!wrong) {
        cji_kept_read(kept_of(o), out);
        return;
    }
    out->status = CJ_EHANDLE;
    copy_text(out->message, sizeof out->message, wrong);
}

void cji_err_reset(void *obj)
{
    cji_obj *o = keeper(obj);
    if (!o) return;
    pthread_mutex_lock(&cji_process.reserve.lock);
    cji_kept_put(&o->err, NULL, NULL, CJ_OK, 0);
    o->taken = false;
    pthread_mutex_unlock(&cji_process.reserve.lock);
}

void cji_err_take(void *obj, cj_error *out)
{
    cji_obj *o = keeper(obj);
    memset(out, 0, sizeof *out);
    if (!o || cji_kept_status(&o->err) == CJ_OK) return;
    pthread_mutex_lock(&cji_process.reserve.lock);
    if (o->taken) cji_kept_put(&o->err, NULL, NULL, CJ_OK, 0);
    o->taken = cji_kept_status(&o->err) != CJ_OK;
    pthread_mutex_unlock(&cji_process.reserve.lock);
    if (!o->taken) return;
    cji_thread_state *t = cji_thread();
    cji_kept_copy(&t->last, &o->err);
    cji_kept_read(&t->last, out);
}

/* -- Public -------------------------------------------------------------------------------------------------------- */

/* Hands a failure out: its record, held by *slot, or the thread's spare one. */
static const cj_error *hand_out(cji_kept *k, cji_record **slot)
{
    cji_thread_state *t = cji_thread();
    cji_kept now;
    cji_record *r = cji_kept_share(k, &now);
    if (!r) cji_kept_text(&now, &t->spare);
    cji_record_drop(*slot);
    *slot = r;
    return r ? &r->e : &t->spare;
}

const cj_error *cj_error_of(const void *object)
{
    static const cj_error none;
    cji_thread_state *t = cji_thread();
    cji_obj *o = (cji_obj *)(uintptr_t)object;
    if (no_object(o)) {
        cji_err_get(object, &t->spare);
        return &t->spare;
    }
    cji_kept *k = kept_of(o);
    if (cji_kept_status(k) == CJ_OK) return &none;
    return hand_out(k, &t->out[t->next_out++ % CJI_THREAD_COPIES]);
}

const cj_error *cj_error_last(void)
{
    static const cj_error none;
    cji_thread_state *t = cji_thread();
    return cji_kept_status(&t->last) == CJ_OK ? &none : hand_out(&t->last, &t->out_last);
}

cj_status cj_error_copy(const void *object, cj_error *out)
{
    cj_error e;
    cji_err_get(object, &e);
    if (out) *out = e;
    return (cj_status)e.status;
}

cj_status cj_error_clear(void *object)
{
    cji_obj *o = object;
    if (!o || o->magic != CJI_MAGIC)
        return cji_fail(NULL, CJ_EHANDLE, "cj_error_clear", "the handle is %s", o ? "no cujit object" : "NULL");
    if (o->flags & (CJI_OBJ_FAILED | CJI_OBJ_STICKY) || o->err_in)
        return cji_fail(NULL, CJ_ESTATE, "cj_error_clear",
                        "the failure of this %s is final; free it and make a new one", cji_tag_name((cji_tag)o->tag));
    cji_err_reset(o);
    return CJ_OK;
}
