/* Error records: a process-wide reserve of them, shared by the objects and threads that keep one.
 *
 * Invariants: a record is written by its maker alone and never changes once it is kept; `refs` counts those who keep
 * it, and at 0 it returns to the
 * reserve.  Recording a failure takes a record out of the reserve and allocates nothing.  When the reserve is empty a
 * failure is kept without a
 * record: its status, the driver's code and the call, from which cji_kept_read() makes the text.
 *
 * One leaf lock guards the reserve, every count, and every cji_kept.  A child of fork() begins with it open. */
#ifndef CJI_RECORD_H
#define CJI_RECORD_H

#include <pthread.h>
#include <stdatomic.h>

#include <cujit/base.h>

typedef struct cji_record {
    cj_error e;
    uint32_t refs;
    struct cji_record *next; /* while it is in the reserve */
} cji_record;

/* A failure that an object or a thread keeps. */
typedef struct cji_kept {
    cji_record *record;     /* NULL: none, or there was none left */
    const char *call;       /* static text; may be NULL with a record */
    _Atomic int32_t status; /* CJ_OK: nothing is kept */
    int32_t driver_code;
} cji_kept;

enum { CJI_RECORDS = 256 };

typedef struct cji_reserve {
    pthread_mutex_t lock;
    cji_record *free;
    uint32_t used;          /* records that were ever taken: those behind them have not been touched */
} cji_reserve;

/* The records: apart from what begins with values, so that they take no room in the library's file (process.c). */
extern cji_record cji_records[CJI_RECORDS];

/* A record with one reference for its maker, contents undefined; NULL when the reserve is empty. */
cji_record *cji_record_take(void);
/* Drops the maker's reference.  NULL is accepted. */
void cji_record_drop(cji_record *r);

/* With the lock held: keeps a failure in place of what was kept.  `r` (may be NULL) gets a reference. */
void cji_kept_put(cji_kept *k, cji_record *r, const char *call, int32_t status, int32_t driver_code);

/* The same, taking the lock. */
void cji_kept_set(cji_kept *k, cji_record *r, const char *call, cj_status status, int32_t driver_code);
/* Keeps what `from` keeps. */
void cji_kept_copy(cji_kept *k, cji_kept *from);
void cji_kept_clear(cji_kept *k);

static inline cj_status cji_kept_status(const cji_kept *k)
{
    return (cj_status)atomic_load_explicit(&k->status, memory_order_acquire);
}

/* A copy of the failure. */
void cji_kept_read(cji_kept *k, cj_error *out);
/* What is kept at this moment: *now, whose record has a reference for the caller. */
cji_record *cji_kept_share(cji_kept *k, cji_kept *now);
/* The text of a failure without a record. */
void cji_kept_text(const cji_kept *k, cj_error *out);

/* The record that `e` is the contents of; NULL for other memory. */
cji_record *cji_record_of(const cj_error *e);

/* In a child of fork(). */
void cji_reserve_forked(void);

#endif
