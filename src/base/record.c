/* The reserve of error records, and who keeps one. */
#include "base/record.h"

#include <stdio.h>
#include <string.h>

#include "base/obj.h"
#include "base/process.h"

_Static_assert(sizeof(cj_error) == CJ_ERROR_BYTES, "the size that base.h promises");

/* -- The reserve; with the lock held ------------------------------------------------------------------------------- */

static cji_reserve *reserve(void) { return &cji_process.reserve; }

static void record_release(cji_record *r)
{
    if (!r || --r->refs) return;
    r->next = reserve()->free;
    reserve()->free = r;
}

void cji_kept_put(cji_kept *k, cji_record *r, const char *call, int32_t status, int32_t driver_code)
{
    cji_record *before = k->record;
    if (r) r->refs++;
    k->record = r;
    k->call = call;
    k->driver_code = driver_code;
    atomic_store_explicit(&k->status, status, memory_order_release);
    record_release(before);
}

/* -- Records ------------------------------------------------------------------------------------------------------- */

cji_record *cji_record_take(void)
{
    cji_reserve *s = reserve();
    cji_fork_gen(); /* from now on a child of fork() begins with an open lock */
    pthread_mutex_lock(&s->lock);
    cji_record *r = s->free;
    if (r) s->free = r->next;
    else if (s->used < CJI_RECORDS) r = &cji_records[s->used++];
    if (r) r->refs = 1;
    pthread_mutex_unlock(&s->lock);
    return r;
}

void cji_record_drop(cji_record *r)
{
    if (!r) return;
    pthread_mutex_lock(&reserve()->lock);
    record_release(r);
    pthread_mutex_unlock(&reserve()->lock);
}

cji_record *cji_record_of(const cj_error *e)
{
    const char *base = (const char *)cji_records, *at = (const char *)e;
    if (at < base || at >= base + sizeof cji_records) return NULL;
    return &cji_records[(size_t)(at - base) / sizeof(cji_record)];
}

void cji_reserve_forked(void) { pthread_mutex_init(&reserve()->lock, NULL); }

/* -- Those who keep one -------------------------------------------------------------------------------------------- */

void cji_kept_set(cji_kept *k, cji_record *r, const char *call, cj_status status, int32_t driver_code)
{
    pthread_mutex_lock(&reserve()->lock);
    cji_kept_put(k, r, call, status, driver_code);
    pthread_mutex_unlock(&reserve()->lock);
}

void cji_kept_copy(cji_kept *k, cji_kept *from)
{
    pthread_mutex_lock(&reserve()->lock);
    cji_kept_put(k, from->record, from->call, from->status, from->driver_code);
    pthread_mutex_unlock(&reserve()->lock);
}

void cji_kept_clear(cji_kept *k)
{
    if (cji_kept_status(k) != CJ_OK) cji_kept_set(k, NULL, NULL, CJ_OK, 0);
}

cji_record *cji_kept_share(cji_kept *k, cji_kept *now)
{
    memset(now, 0, sizeof *now);
    if (cji_kept_status(k) == CJ_OK) return NULL;
    pthread_mutex_lock(&reserve()->lock);
    now->record = k->record;
    now->call = k->call;
    now->driver_code = k->driver_code;
    atomic_init(&now->status, cji_kept_status(k));
    if (now->record) now->record->refs++;
    pthread_mutex_unlock(&reserve()->lock);
    return now->record;
}

void cji_kept_text(const cji_kept *k, cj_error *out)
{
    memset(out, 0, sizeof *out);
    out->status = cji_kept_status(k);
    if (out->status == CJ_OK) return;
    out->driver_code = k->driver_code;
    snprintf(out->call, sizeof out->call, "%s", k->call ? k->call : "");
    snprintf(out->message, sizeof out->message, "%s%s%s", out->call, *out->call ? ": " : "",
             cj_status_text((cj_status)out->status));
}

void cji_kept_read(cji_kept *k, cj_error *out)
{
    cji_kept now;
    cji_record *r = cji_kept_share(k, &now);
    if (r) *out = r->e;
    else cji_kept_text(&now, out);
    cji_record_drop(r);
}
