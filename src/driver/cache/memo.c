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
    struct memo_entry *next;           /* of its chain */
    uint64_t hash;
    void *value;                       /* NULL: it is being built */
    uint64_t used;                     /* the memo's clock at its latest use */
    struct memo_entry *newer, *older;  /* of its list */
    union {
        uint64_t weight;               /* of the value */
        memo_ticket *ticket;           /* while it is built */
    };
    size_t bytes;
    unsigned char key[];
} memo_entry;

typedef struct memo_list { memo_entry *newest, *oldest; } memo_list;
typedef struct memo_table { memo_entry **chain; size_t mask; } memo_table; /* mask + 1 chains, a power of 2 */
enum { MEMO_FEW = 8, MEMO_LATELY = 16 };

/* A lock and what it guards, in lines of the processor's cache of their own.
 *
 * Chains.  A table that has as many entries as chains gets one of twice as many beside it.  Each entry that is added
 * moves two chains, so all are moved before that one is full, and nobody waits while a table is rebuilt.  A chain below
 * `moved` is in the larger table.
 *
 * Lists.  `values` is in the order of use, but for the entries of `lately`, which were used since and not moved yet:
 * moving several at a time costs less, since their neighbours are fetched together. */
typedef struct memo_part {
    cji_spin lock;
    uint32_t used;                     /* how many of `lately` */
    memo_table table, larger;          /* larger.chain NULL: there is none */
    size_t moved, entries;
    uint64_t hits, builds, waits, failures, evictions, count;
    memo_list values, building;
    memo_entry *lately[MEMO_LATELY];   /* in the order of use; an entry can be there twice */
    memo_entry *few[MEMO_FEW];         /* the first table's chains */
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
};

static memo_part *memo_part_of(cji_memo *memo, uint64_t hash) { return &memo->part[hash % MEMO_PARTS]; }
static void lock_memo_part(memo_part *part) { cji_spin_lock(&part->lock, CJI_LOCK_MEMO_PART); }
static void unlock_memo_part(memo_part *part) { cji_spin_unlock(&part->lock, CJI_LOCK_MEMO_PART); }

/* -- Chains.  The part is locked. ---------------------------------------------------------------------------------- */

static inline memo_entry **memo_chain_of(memo_part *part, uint64_t hash)
{
    const uint64_t place = hash / MEMO_PARTS;
    const size_t i = place & part->table.mask;
    return i < part->moved ? &part->larger.chain[place & part->larger.mask] : &part->table.chain[i];
}

/* NULL: there is none. */
static inline memo_entry *find_memo_entry(memo_part *part, uint64_t hash, const void *key, size_t bytes)
{
    memo_entry *e = *memo_chain_of(part, hash);
    while (e && (e->hash != hash || e->bytes != bytes || memcmp(e->key, key, bytes))) e = e->next;
    return e;
}

/* Returns a table that has no entries any more, for memo_table_free without the lock. */
static memo_table move_chains(memo_part *part)
{
    memo_table empty = { .chain = NULL };
    for (int i = 0; i < 2 && part->larger.chain; i++) {
        memo_entry *e = part->table.chain[part->moved++];
        while (e) {
            memo_entry *next = e->next, **at = memo_chain_of(part, e->hash);
            e->next = *at;
            *at = e;
            e = next;
        }
        if (part->moved <= part->table.mask) continue;
        empty = part->table;
        part->table = part->larger;
        part->larger.chain = NULL;
        part->moved = 0;
    }
    return empty;
}

static void memo_table_free(memo_part *part, memo_table table)
{
    if (table.chain != part->few) cji_free(table.chain, (table.mask + 1) * sizeof *table.chain);
}

/* After an entry was added, without the lock.  Without memory for a larger table chains are longer. */
static void grow_memo_part(memo_part *part)
{
    memo_table larger = { .chain = NULL };
    lock_memo_part(part);
    const memo_table empty = move_chains(part);
    const bool full = !part->larger.chain && part->entries > part->table.mask;
    if (full) larger.mask = 2 * part->table.mask + 1;
    unlock_memo_part(part);
    memo_table_free(part, empty);
    if (full) larger.chain = cji_zalloc((larger.mask + 1) * sizeof *larger.chain);
    if (!larger.chain) return;
    lock_memo_part(part);
    const bool taken = !part->larger.chain && larger.mask == 2 * part->table.mask + 1;
    if (taken) part->larger = larger;
    unlock_memo_part(part);
    if (!taken) memo_table_free(part, larger); /* another thread was quicker */
}

/* -- Lists.  The part is locked. ----------------------------------------------------------------------------------- */

static void memo_list_put(memo_list *list, memo_entry *e)
{
    e->newer = NULL;
    e->older = list->newest;
    if (list->newest) list->newest->newer = e;
    else list->oldest = e;
    list->newest = e;
}

static void memo_list_remove(memo_list *list, memo_entry *e)
{
    if (e->newer) e->newer->older = e->older;
    else list->newest = e->older;
    if (e->older) e->older->newer = e->newer;
    else list->oldest = e->newer;
}

/* Moves the entries that were used lately. */
static void order_values(memo_part *part)
{
    for (uint32_t i = 0; i < part->used; i++) {
        __builtin_prefetch(part->lately[i]->newer, 1);
        __builtin_prefetch(part->lately[i]->older, 1);
    }
    for (uint32_t i = 0; i < part->used; i++) {
        memo_entry *e = part->lately[i];
        if (e == part->values.newest) continue;
        memo_list_remove(&part->values, e);
        memo_list_put(&part->values, e);
    }
    part->used = 0;
}

/* The value that was used last stays it without a write that other processors see. */
static inline void note_memo_use(cji_memo *memo, memo_part *part, memo_entry *e)
{
    if (e->used == atomic_load_explicit(&memo->clock, memory_order_relaxed)) return;
    e->used = atomic_fetch_add_explicit(&memo->clock, 1, memory_order_relaxed) + 1;
    part->lately[part->used++] = e;
    if (part->used == MEMO_LATELY) order_values(part);
}

static void memo_entry_free(memo_entry *e) { cji_free(e, sizeof *e + e->bytes); }

/* Removes an entry.  Returns its value, whose reference is the caller's then; NULL: it was being built. */
static void *take_out(cji_memo *memo, memo_part *part, memo_entry *e)
{
    void *value = e->value;
    memo_entry **at = memo_chain_of(part, e->hash);
    while (*at != e) at = &(*at)->next;
    *at = e->next;
    part->entries--;
    if (value) {
        order_values(part);
        memo_list_remove(&part->values, e);
        part->count--;
        atomic_fetch_sub(&memo->weight, e->weight);
    } else {
        memo_list_remove(&part->building, e);
    }
    memo_entry_free(e);
    return value;
}

/* -- The bound ----------------------------------------------------------------------------------------------------- */

/* The value that was not used for the longest time, taken out; NULL: there is none, or it was used meanwhile.
 * memo->lock is held. */
static void *take_oldest(cji_memo *memo)
{
    uint64_t least = UINT64_MAX;
    memo_part *where = NULL;
    void *value = NULL;
    for (size_t p = 0; p < MEMO_PARTS; p++) {
        memo_part *part = &memo->part[p];
        lock_memo_part(part);
        order_values(part);
        const memo_entry *e = part->values.oldest;
        if (e && e->used < least) least = e->used, where = part;
        unlock_memo_part(part);
    }
    if (!where) return NULL;
    lock_memo_part(where);
    order_values(where);
    memo_entry *e = where->values.oldest;
    if (e && e->used == least) {
        value = take_out(memo, where, e);
        where->evictions++;
    }
    unlock_memo_part(where);
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
    memo_entry *e = *memo_chain_of(part, hash);
    while (e && (e->value || e->ticket != t)) e = e->next;
    part->builds++;
    part->failures += !good;
    if (e && good) {
        order_values(part);
        memo_list_remove(&part->building, e);
        memo_list_put(&part->values, e);
        e->value = value;
        e->weight = memo->rules->weight ? memo->rules->weight(value) : 1;
        e->used = atomic_fetch_add_explicit(&memo->clock, 1, memory_order_relaxed) + 1;
        part->count++;
        atomic_fetch_add(&memo->weight, e->weight);
    } else if (e) {
        take_out(memo, part, e);
    }
    unlock_memo_part(part);
    if (good && !e) memo->rules->release(value); /* it was forgotten meanwhile */
}

static inline void add_memo_entry(memo_part *part, memo_entry *e)
{
    memo_entry **at = memo_chain_of(part, e->hash);
    e->next = *at;
    *at = e;
    part->entries++;
    memo_list_put(&part->building, e);
}

/* A hit's value; else the ticket to wait for, with a reference, or NULL for both. */
static CJI_FIRST void *look_up(cji_memo *memo, uint64_t hash, const void *key, size_t bytes, memo_entry *fresh,
                     memo_ticket **wait)
{
    memo_part *part = memo_part_of(memo, hash);
    void *value = NULL;
    *wait = NULL;
    lock_memo_part(part);
    memo_entry *e = find_memo_entry(part, hash, key, bytes);
    if (e && e->value) {
        value = e->value;
        memo->rules->retain(value);
        note_memo_use(memo, part, e);
        part->hits++;
    } else if (e) {
        *wait = e->ticket;
    } else if (fresh) {
        add_memo_entry(part, fresh);
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
    memo_entry *e = find_memo_entry(part, hash, key, bytes);
    *t = e && !e->value ? e->ticket : NULL;
    if (*t) {
        (*t)->refs++;
        part->waits++;
    }
    unlock_memo_part(part);
    cji_unlock(&memo->lock, CJI_LOCK_MEMO);
    return *t != NULL;
}

/* Waits for a ticket that is shared.  A wait that would not end is none. */
static void *wait_counted(cji_memo *memo, uint64_t hash, memo_ticket *t, cji_memo_how *how)
{
    memo_part *part = memo_part_of(memo, hash);
    void *value = wait_for_ticket(memo, t, how);
    if (*how != CJI_MEMO_CYCLE) return value;
    lock_memo_part(part);
    part->waits--;
    unlock_memo_part(part);
    return value;
}

CJI_FIRST void *cji_memo_get(cji_memo *memo, const void *key, size_t bytes, cji_memo_build build, void *user,
                             cji_memo_how *how)
{
    const uint64_t hash = cji_hash(key, bytes);
    memo_ticket *t;
    *how = CJI_MEMO_HIT;
    void *value = look_up(memo, hash, key, bytes, NULL, &t);
    while (!value) {
        if (t && share_ticket(memo, hash, key, bytes, &t)) return wait_counted(memo, hash, t, how);
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
            grow_memo_part(memo_part_of(memo, hash));
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
    memo_entry *e = find_memo_entry(part, hash, key, bytes);
    const bool there = e != NULL;
    void *value = there ? take_out(memo, part, e) : NULL;
    unlock_memo_part(part);
    if (value) memo->rules->release(value);
    return there;
}

void cji_memo_clear(cji_memo *memo)
{
    for (size_t p = 0; p < MEMO_PARTS;) {
        memo_part *part = &memo->part[p];
        lock_memo_part(part);
        memo_entry *e = part->values.oldest ? part->values.oldest : part->building.oldest;
        void *value = e ? take_out(memo, part, e) : NULL;
        unlock_memo_part(part);
        if (value) memo->rules->release(value);
        if (!e) p++;
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
        counts->values += part->count;
        unlock_memo_part(part);
    }
}

/* -- Making and freeing -------------------------------------------------------------------------------------------- */

cji_memo *cji_memo_create(const cji_memo_rules *rules, uint64_t most)
{
    cji_memo *memo = cji_zalloc(sizeof *memo);
    if (!memo) return NULL;
    memo->rules = rules;
    memo->most = most;
    atomic_init(&memo->clock, 1); /* a value that was never used is not the latest one */
    atomic_init(&memo->weight, 0);
    for (int i = 0; i < MEMO_PARTS; i++) {
        memo_part *part = &memo->part[i];
        cji_spin_init(&part->lock);
        part->table = (memo_table){ part->few, MEMO_FEW - 1 };
    }
    pthread_mutex_init(&memo->lock, NULL);
    pthread_cond_init(&memo->built, NULL);
    return memo;
}

void cji_memo_free(cji_memo *memo)
{
    if (!memo) return;
    cji_memo_clear(memo);
    for (int i = 0; i < MEMO_PARTS; i++) {
        memo_table_free(&memo->part[i], memo->part[i].table);
        memo_table_free(&memo->part[i], memo->part[i].larger);
    }
    pthread_cond_destroy(&memo->built);
    pthread_mutex_destroy(&memo->lock);
    cji_free(memo, sizeof *memo);
}
