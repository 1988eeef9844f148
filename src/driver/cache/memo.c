/* Values under keys, in memory. */
#include "driver/cache/memo.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "base/cancel.h"
#include "base/first.h"
#include "base/lock.h"
#include "base/mem.h"
#include "base/obj.h"
#include "base/process.h"

enum { MEMO_PARTS = 16 };

/* A value that is being built. */
typedef struct memo_ticket {
    uint64_t builder; /* cji_thread_id() */
    unsigned refs;    /* with what follows under memo->lock */
    void *value;      /* when done, with a reference of the ticket's own */
    atomic_bool done; /* set under memo->lock; read under the process's lock of waits too */
} memo_ticket;

/* A thread that waits for a value, in the list of the process: values of several memos may wait for each other. */
struct cji_memo_wait {
    uint64_t thread;
    const memo_ticket *what; /* the waiting thread has a reference */
    struct cji_memo_wait *next;
};

typedef struct memo_entry {
    struct memo_entry *next;  /* of its chain */
    uint64_t hash, used;      /* the memo's clock at its latest use */
    uint64_t weight;
    void *value;
    memo_ticket *ticket;
    size_t bytes;
    unsigned char key[];
} memo_entry;

/* A lock and what is counted under it, in lines of the processor's cache of their own. */
typedef struct memo_part {
    cji_spin lock;
    uint64_t hits, builds, waits, failures, evictions, values;
    char apart[64];
} memo_part;

struct cji_memo {
    const cji_memo_rules *rules;
    uint64_t most;
    atomic_uint_fast64_t clock;    /* advances when another value than the latest one is used */
    atomic_uint_fast64_t weight;   /* of all values */
    pthread_mutex_t lock;          /* tickets; held while values are evicted */
    pthread_cond_t built;
    memo_part part[MEMO_PARTS];
    memo_entry *chain[];           /* rules->chains of all parts */
};

/* -- Chains -------------------------------------------------------------------------------------------------------- */

static memo_part *memo_part_of(cji_memo *memo, uint64_t hash) { return &memo->part[hash % MEMO_PARTS]; }
static void lock_memo_part(memo_part *part) { cji_spin_lock(&part->lock, CJI_LOCK_MEMO_PART); }
static void unlock_memo_part(memo_part *part) { cji_spin_unlock(&part->lock, CJI_LOCK_MEMO_PART); }

/* Where the entry is linked; *NULL: there is none.  The part is locked. */
static memo_entry **find_memo_entry(cji_memo *memo, uint64_t hash, const void *key, size_t bytes)
{
    memo_entry **at = &memo->chain[hash & (memo->rules->chains - 1)];
    while (*at && ((*at)->hash != hash || (*at)->bytes != bytes || memcmp((*at)->key, key, bytes))) at = &(*at)->next;
    return at;
}

static void note_memo_use(cji_memo *memo, memo_entry *e)
{
    /* The value that was used last stays it without a write that other processors see. */
    if (e->used != atomic_load_explicit(&memo->clock, memory_order_relaxed))
        e->used = atomic_fetch_add_explicit(&memo->clock, 1, memory_order_relaxed) + 1;
}

static void memo_entry_free(memo_entry *e) { cji_free(e, sizeof *e + e->bytes); }

/* Unlinks an entry.  Returns its value, whose reference is the caller's then; NULL: it was being built.  The part is
 * locked. */
static void *take_out(cji_memo *memo, memo_part *part, memo_entry **at)
{
    memo_entry *e = *at;
    void *value = e->value;
    *at = e->next;
    if (value) {
        part->values--;
        atomic_fetch_sub(&memo->weight, e->weight);
    }
    memo_entry_free(e);
    return value;
}

/* -- The bound ----------------------------------------------------------------------------------------------------- */

/* The value that was not used for the longest time, taken out; NULL: there is none.  memo->lock is held. */
static void *take_oldest(cji_memo *memo)
{
    uint64_t least = UINT64_MAX;
    size_t where = memo->rules->chains;
    for (size_t p = 0; p < MEMO_PARTS; p++) {
        lock_memo_part(&memo->part[p]);
        for (size_t i = p; i < memo->rules->chains; i += MEMO_PARTS)
            for (memo_entry *e = memo->chain[i]; e; e = e->next)
                if (e->value && e->used < least) least = e->used, where = i;
        unlock_memo_part(&memo->part[p]);
    }
    if (where == memo->rules->chains) return NULL;
    memo_part *part = memo_part_of(memo, where);
    void *value = NULL;
    lock_memo_part(part);
    memo_entry **at = &memo->chain[where];
    while (*at && ((*at)->used != least || !(*at)->value)) at = &(*at)->next;
    if (*at) {
        value = take_out(memo, part, at);
        part->evictions++;
    }
    unlock_memo_part(part);
    return value;
}

static void keep_bound(cji_memo *memo)
{
    while (atomic_load(&memo->weight) > memo->most) {
        cji_lock(&memo->lock, CJI_LOCK_MEMO);
        bool over = atomic_load(&memo->weight) > memo->most;
        void *value = over ? take_oldest(memo) : NULL;
        cji_unlock(&memo->lock, CJI_LOCK_MEMO);
        if (value) memo->rules->release(value);
    }
}

/* -- Tickets ------------------------------------------------------------------------------------------------------- */

/* With memo->lock held: one reference less. */
static void drop_ticket(cji_memo *memo, memo_ticket *t)
{
    if (--t->refs) {
        cji_unlock(&memo->lock, CJI_LOCK_MEMO);
        return;
    }
    cji_unlock(&memo->lock, CJI_LOCK_MEMO);
    if (t->value) memo->rules->release(t->value);
    cji_free(t, sizeof *t);
}

/* The value is there, or not to be had: hands it to who waits. */
static void settle_ticket(cji_memo *memo, memo_ticket *t, void *value)
{
    if (value) memo->rules->retain(value);
    cji_lock(&memo->lock, CJI_LOCK_MEMO);
    atomic_store(&t->done, true);
    t->value = value;
    pthread_cond_broadcast(&memo->built);
    drop_ticket(memo, t);
}

/* A child of fork() begins with an empty list, and with a lock that nobody holds. */
static void lock_waits(void)
{
    const uint32_t gen = cji_fork_gen();
    unsigned seen = atomic_load(&cji_process.memo_waits_gen);
    if (seen != gen && atomic_compare_exchange_strong(&cji_process.memo_waits_gen, &seen, gen) && gen != 1) {
        pthread_mutex_init(&cji_process.memo_waits_lock, NULL);
        cji_process.memo_waits = NULL;
    }
    cji_lock(&cji_process.memo_waits_lock, CJI_LOCK_MEMO_WAITS);
}

static void unlock_waits(void) { cji_unlock(&cji_process.memo_waits_lock, CJI_LOCK_MEMO_WAITS); }

/* What a thread waits for; NULL: nothing. */
static const memo_ticket *waited_for(uint64_t thread)
{
    const struct cji_memo_wait *w = cji_process.memo_waits;
    while (w && w->thread != thread) w = w->next;
    return w ? w->what : NULL;
}

/* False: the thread would wait for itself, by way of others or not. */
static bool begin_wait(struct cji_memo_wait *wait)
{
    bool cycle = false;
    lock_waits();
    for (const memo_ticket *t = wait->what; t && !cycle && !atomic_load(&t->done); t = waited_for(t->builder))
        cycle = t->builder == wait->thread;
    if (!cycle) {
        wait->next = cji_process.memo_waits;
        cji_process.memo_waits = wait;
    }
    unlock_waits();
    return !cycle;
}

static void end_wait(struct cji_memo_wait *wait)
{
    lock_waits();
    struct cji_memo_wait **at = &cji_process.memo_waits;
    while (*at != wait) at = &(*at)->next;
    *at = wait->next;
    unlock_waits();
}

/* Waits for a ticket to which the caller has a reference, which is dropped. */
static void *wait_for_ticket(cji_memo *memo, memo_ticket *t, cji_memo_how *how)
{
    CJI_NO_CANCEL;
    struct cji_memo_wait wait = { .thread = cji_thread_id(), .what = t };
    void *value = NULL;
    *how = begin_wait(&wait) ? CJI_MEMO_WAITED : CJI_MEMO_CYCLE;
    cji_lock(&memo->lock, CJI_LOCK_MEMO);
    if (*how == CJI_MEMO_WAITED) {
        while (!t->done) pthread_cond_wait(&memo->built, &memo->lock);
        end_wait(&wait);
        value = t->value;
        if (value) memo->rules->retain(value);
    }
    drop_ticket(memo, t);
    return value;
}

/* -- Getting ------------------------------------------------------------------------------------------------------- */

static memo_entry *new_memo_entry(uint64_t hash, const void *key, size_t bytes)
{
    memo_entry *e = bytes <= SIZE_MAX - sizeof *e ? cji_alloc(sizeof *e + bytes) : NULL;
    memo_ticket *t = e ? cji_zalloc(sizeof *t) : NULL;
    if (!t) {
        cji_free(e, e ? sizeof *e + bytes : 0);
        return NULL;
    }
    t->builder = cji_thread_id();
    t->refs = 1;
    *e = (memo_entry){ .hash = hash, .bytes = bytes, .ticket = t };
    memcpy(e->key, key, bytes);
    return e;
}

/* Puts the value into the entry of its ticket, if that is still there. */
static void keep_value(cji_memo *memo, uint64_t hash, const memo_ticket *t, void *value)
{
    const bool good = value && memo->rules->good(value);
    memo_part *part = memo_part_of(memo, hash);
    if (good) memo->rules->retain(value);
    lock_memo_part(part);
    memo_entry **at = &memo->chain[hash & (memo->rules->chains - 1)], *e;
    while (*at && (*at)->ticket != t) at = &(*at)->next;
    e = *at;
    part->builds++;
    part->failures += !good;
    if (e && good) {
        e->ticket = NULL;
        e->value = value;
        e->weight = memo->rules->weight ? memo->rules->weight(value) : 1;
        part->values++;
        atomic_fetch_add(&memo->weight, e->weight);
        note_memo_use(memo, e);
    } else if (e) {
        take_out(memo, part, at);
    }
    unlock_memo_part(part);
    if (good && !e) memo->rules->release(value); /* it was forgotten meanwhile */
}

/* A hit's value; else the ticket to wait for, with a reference, or NULL for both. */
static CJI_FIRST void *look_up(cji_memo *memo, uint64_t hash, const void *key, size_t bytes, memo_entry *fresh,
                     memo_ticket **wait)
{
    memo_part *part = memo_part_of(memo, hash);
    void *value = NULL;
    *wait = NULL;
    lock_memo_part(part);
    memo_entry **at = find_memo_entry(memo, hash, key, bytes), *e = *at;
    if (e && e->value) {
        value = e->value;
        memo->rules->retain(value);
        note_memo_use(memo, e);
        part->hits++;
    } else if (e) {
        *wait = e->ticket;
    } else if (fresh) {
        *at = fresh;
    }
    unlock_memo_part(part);
    return value;
}

void *cji_memo_find(cji_memo *memo, const void *key, size_t bytes, cji_memo_how *how)
{
    memo_ticket *t;
    void *value = look_up(memo, cji_hash(key, bytes), key, bytes, NULL, &t);
    *how = value ? CJI_MEMO_HIT : t ? CJI_MEMO_BUILDING : CJI_MEMO_NONE;
    return value;
}

/* As a ticket is found its reference is taken in the same moment: the builder drops its own one under both locks. */
static bool share_ticket(cji_memo *memo, uint64_t hash, const void *key, size_t bytes, memo_ticket **t)
{
    memo_part *part = memo_part_of(memo, hash);
    cji_lock(&memo->lock, CJI_LOCK_MEMO);
    lock_memo_part(part);
    memo_entry *e = *find_memo_entry(memo, hash, key, bytes);
    *t = e ? e->ticket : NULL;
    if (*t) {
        (*t)->refs++;
        part->waits++;
    }
    unlock_memo_part(part);
    cji_unlock(&memo->lock, CJI_LOCK_MEMO);
    return *t != NULL;
}

CJI_FIRST void *cji_memo_get(cji_memo *memo, const void *key, size_t bytes, cji_memo_build build, void *user,
                             cji_memo_how *how)
{
    const uint64_t hash = cji_hash(key, bytes);
    memo_ticket *t;
    *how = CJI_MEMO_HIT;
    void *value = look_up(memo, hash, key, bytes, NULL, &t);
    while (!value) {
        if (t && share_ticket(memo, hash, key, bytes, &t)) return wait_for_ticket(memo, t, how);
        memo_entry *fresh = new_memo_entry(hash, key, bytes);
        if (!fresh) {
            *how = CJI_MEMO_NOMEM;
            return NULL;
        }
        memo_ticket *mine = fresh->ticket;
        value = look_up(memo, hash, key, bytes, fresh, &t);
        if (!value && !t) {
            *how = CJI_MEMO_BUILT;
            value = build(user);
            keep_value(memo, hash, mine, value);
            settle_ticket(memo, mine, value);
            keep_bound(memo);
            return value;
        }
        memo_entry_free(fresh); /* another thread was quicker */
        settle_ticket(memo, mine, NULL);
    }
    return value;
}

/* -- Forgetting, counting ------------------------------------------------------------------------------------------ */

bool cji_memo_forget(cji_memo *memo, const void *key, size_t bytes)
{
    const uint64_t hash = cji_hash(key, bytes);
    memo_part *part = memo_part_of(memo, hash);
    lock_memo_part(part);
    memo_entry **at = find_memo_entry(memo, hash, key, bytes);
    const bool there = *at != NULL;
    void *value = there ? take_out(memo, part, at) : NULL;
    unlock_memo_part(part);
    if (value) memo->rules->release(value);
    return there;
}

void cji_memo_clear(cji_memo *memo)
{
    for (size_t i = 0; i < memo->rules->chains;) {
        memo_part *part = memo_part_of(memo, i);
        lock_memo_part(part);
        const bool there = memo->chain[i] != NULL;
        void *value = there ? take_out(memo, part, &memo->chain[i]) : NULL;
        unlock_memo_part(part);
        if (value) memo->rules->release(value);
        if (!there) i++;
    }
}

void cji_memo_count(cji_memo *memo, cji_memo_counts *counts)
{
    *counts = (cji_memo_counts){ .weight = atomic_load(&memo->weight) };
    for (int i = 0; i < MEMO_PARTS; i++) {
        memo_part *part = &memo->part[i];
        lock_memo_part(part);
        counts->hits += part->hits;
        counts->builds += part->builds;
        counts->waits += part->waits;
        counts->failures += part->failures;
        counts->evictions += part->evictions;
        counts->values += part->values;
        unlock_memo_part(part);
    }
}

/* -- Making and freeing -------------------------------------------------------------------------------------------- */

static size_t memo_bytes(const cji_memo_rules *rules)
{
    return sizeof(cji_memo) + rules->chains * sizeof(memo_entry *);
}

cji_memo *cji_memo_create(const cji_memo_rules *rules, uint64_t most)
{
    cji_memo *memo = cji_zalloc(memo_bytes(rules));
    if (!memo) return NULL;
    memo->rules = rules;
    memo->most = most;
    atomic_init(&memo->clock, 1); /* a value that was never used is not the latest one */
    atomic_init(&memo->weight, 0);
    for (int i = 0; i < MEMO_PARTS; i++) cji_spin_init(&memo->part[i].lock);
    pthread_mutex_init(&memo->lock, NULL);
    pthread_cond_init(&memo->built, NULL);
    return memo;
}

void cji_memo_free(cji_memo *memo)
{
    if (!memo) return;
    cji_memo_clear(memo);
    pthread_cond_destroy(&memo->built);
    pthread_mutex_destroy(&memo->lock);
    cji_free(memo, memo_bytes(memo->rules));
}
