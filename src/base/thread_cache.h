/* What a thread keeps of a pool, so that acquiring and releasing take no lock.  Prefix cji_thread_cache.
 *
 * A pool embeds cji_thread_caches, the list of its caches.  A cache is made when a thread first uses the pool.  The
 * thread that made it is the only one that changes it, but for two calls of the pool's owner: a pool that is closed
 * empties all its caches, when no thread uses it any more, and a thread that ends returns what its caches have.
 *
 * Invariants: a cache holds a reference to its pool, so that the pool's memory is there as long as the cache is.
 * A cache is in its thread's list, and in its pool's list until one of them ends.  The pool's list and `closed` are
 * guarded by the pool's lock.  A cache of a closed pool is deleted by its thread, when that ends or looks for a cache
 * that it does not find.  No two caches share a line of the processor's cache. */
#ifndef CJI_THREAD_CACHE_H
#define CJI_THREAD_CACHE_H

#include "base/lock.h"
#include "base/process.h"

typedef struct cji_thread_caches cji_thread_caches;

typedef struct cji_thread_cache { /* the first member of the pool's own struct */
    const void *pool;
    cji_thread_caches *owner;
    const atomic_uint *fork_word; /* cji_process.fork_word */
    uint32_t fork_value;          /* the word's in the process that the cache is of */
    struct cji_thread_cache *next;                 /* of the thread */
    struct cji_thread_cache *later, *earlier;      /* of the pool */
} cji_thread_cache;

typedef struct cji_thread_cache_rules {
    size_t bytes; /* of the pool's own struct */
    /* The thread ends, or the pool is closed: what the cache has becomes the pool's.  With the pool's lock held. */
    void (*empty)(cji_thread_caches *owner, cji_thread_cache *c);
    /* Around a cache's reference to the pool. */
    void (*retain)(cji_thread_caches *owner);
    void (*drop)(cji_thread_caches *owner);
} cji_thread_cache_rules;

struct cji_thread_caches {
    const void *pool;      /* the pool itself */
    const cji_thread_cache_rules *rules;
    size_t bytes;          /* of a cache: at least rules->bytes */
    uint64_t number;       /* of the pool, never repeats in a process */
    uint32_t fork_gen;     /* cji_fork_gen() when it was made: nothing is done in a child */
    cji_lock_rank rank;
    pthread_mutex_t *lock; /* the pool's */
    cji_thread_cache *first;
    bool closed;
    atomic_bool shared;    /* a second cache was made */
    uint64_t made;
};

void cji_thread_caches_init(cji_thread_caches *owner, const void *pool, const cji_thread_cache_rules *rules,
                            size_t bytes, pthread_mutex_t *lock, cji_lock_rank rank);
/* Empties all caches, and deletes the calling thread's.  No thread uses the pool. */
void cji_thread_caches_close(cji_thread_caches *owner);

/* The calling thread's cache, made at first use; NULL without memory. */
cji_thread_cache *cji_thread_cache_find(cji_thread_caches *owner);
static inline unsigned cji_thread_cache_place(const void *pool)
{
    return (uint32_t)(uintptr_t)pool * 2654435769u >> (32 - CJI_THREAD_RECENT_BITS); /* Fibonacci hashing */
}
/* The thread's cache where it was found lately, in this process: then `pool` is the pool that it was found for, and no
 * further check is needed.  NULL: it has to be found.  `pool` may be anything, and is not looked into. */
static inline void *cji_thread_cache_recent(const void *pool)
{
    const cji_thread_own *t = cji_thread_here;
    cji_thread_cache *c = t ? t->cached.recent[cji_thread_cache_place(pool)] : NULL;
    return c && c->pool == pool && atomic_load_explicit(c->fork_word, memory_order_relaxed) == c->fork_value ? c : NULL;
}
static inline void *cji_thread_cache_of(cji_thread_caches *owner)
{
    void *c = cji_thread_cache_recent(owner->pool);
    return c ? c : cji_thread_cache_find(owner);
}

/* The thread ends. */
void cji_thread_caches_leave(void);

#endif
