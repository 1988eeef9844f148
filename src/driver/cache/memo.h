/* Values under keys of any bytes, in memory: built once, found by any thread, as many as fit.  Prefix cji_memo_.
 *
 * A value is built by the first thread that looks for its key; others that look for it wait for that one, or go on.
 * When the values weigh more than the bound, those that were not used for the longest time are released.  The number of
 * steps of each call, but cji_memo_clear and cji_memo_free, does not grow with the number of values.
 *
 * Invariants.  An entry has a value or a ticket, never both: the ticket is there while the value is built.  The entries
 * are in several parts, by their hash, each with a lock; tickets are guarded by one more.  Who waits for whom is known
 * to the process, since builds of several memos may wait for each other.  A ticket has its own reference to the value
 * that was built, so who waited gets it though the entry is gone.  No lock is held while a value is built or released.
 */
#ifndef CJI_MEMO_H
#define CJI_MEMO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct cji_memo cji_memo;

typedef struct cji_memo_rules {
    void (*retain)(void *value);
    void (*release)(void *value);
    bool (*good)(const void *value);         /* others are handed to who waits for them, and not kept */
    uint64_t (*weight)(const void *value);   /* NULL: each value weighs 1 */
} cji_memo_rules;

/* What a call found. */
typedef enum cji_memo_how {
    CJI_MEMO_HIT,
    CJI_MEMO_BUILT,    /* by this call */
    CJI_MEMO_WAITED,   /* another thread was building it */
    CJI_MEMO_BUILDING, /* another thread builds it */
    CJI_MEMO_NONE,     /* there is no such value */
    CJI_MEMO_CYCLE,    /* it is built by this thread, or by one that waits for this thread */
    CJI_MEMO_NOMEM
} cji_memo_how;

/* NULL without memory.  `rules`: borrowed until cji_memo_free. */
cji_memo *cji_memo_create(const cji_memo_rules *rules, uint64_t most);
/* Nobody uses it.  May be NULL. */
void cji_memo_free(cji_memo *memo);

/* The value of a key, which `build` makes where there is none, with a reference; NULL is a value that is not good.  The
 * result has a reference for the caller.  NULL: CYCLE, NOMEM, or what was built. */
typedef void *(*cji_memo_build)(void *user);
void *cji_memo_get(cji_memo *memo, const void *key, size_t bytes, cji_memo_build build, void *user, cji_memo_how *how);

/* The same without building and waiting.  NULL: BUILDING, NONE. */
void *cji_memo_find(cji_memo *memo, const void *key, size_t bytes, cji_memo_how *how);

/* The entry is forgotten; a value that is being built is not kept.  False: there is none. */
bool cji_memo_forget(cji_memo *memo, const void *key, size_t bytes);
void cji_memo_clear(cji_memo *memo);

typedef struct cji_memo_counts { uint64_t hits, builds, waits, failures, evictions, values, weight; } cji_memo_counts;
void cji_memo_count(cji_memo *memo, cji_memo_counts *counts);

#endif
