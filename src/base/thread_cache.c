/* The caches of threads: made, found, emptied. */
#include "base/thread_cache.h"

#include "base/mem.h"
#include "base/obj.h"

void cji_thread_caches_init(cji_thread_caches *owner, const void *pool, const cji_thread_cache_rules *rules,
                            size_t bytes, pthread_mutex_t *lock, cji_lock_rank rank)
{
    static atomic_uint_fast64_t numbers;
    *owner = (cji_thread_caches){ .pool = pool,
                                  .rules = rules,
                                  .bytes = bytes,
                                  .number = atomic_fetch_add(&numbers, 1) + 1,
                                  .fork_gen = cji_fork_gen(),
                                  .rank = rank,
                                  .lock = lock };
}

enum { CACHE_APART = 64 }; /* bytes behind each cache, so that it shares no line of the processor's cache */
static size_t cache_bytes(const cji_thread_caches *owner) { return owner->bytes + CACHE_APART; }

/* -- Ending -------------------------------------------------------------------------------------------------------- */

/* With the pool's lock held. */
static void cache_unlink(cji_thread_caches *owner, cji_thread_cache *c)
{
    owner->rules->empty(owner, c);
    if (c->earlier) c->earlier->later = c->later;
    else owner->first = c->later;
    if (c->later) c->later->earlier = c->earlier;
}

/* Removes it from the thread's places and deletes it; it is in no pool's list any more. */
static void cache_delete(cji_thread_cached *t, cji_thread_cache **at)
{
    cji_thread_cache *c = *at;
    cji_thread_caches *owner = c->owner;
    *at = c->next;
    cji_thread_cache **recent = &t->recent[cji_thread_cache_place(c->pool)];
    if (*recent == c) *recent = NULL;
    const size_t bytes = cache_bytes(owner);
    owner->rules->drop(owner);
    cji_free(c, bytes);
}

static bool cache_is_forked(const cji_thread_caches *owner) { return owner->fork_gen != cji_fork_gen(); }

static bool cache_is_closed(cji_thread_caches *owner)
{
    cji_lock(owner->lock, owner->rank);
    const bool closed = owner->closed;
    cji_unlock(owner->lock, owner->rank);
    return closed;
}

void cji_thread_caches_leave(void)
{
    cji_thread_cached *t = &cji_thread_all()->cached;
    cji_thread_cache **at = &t->all;
    while (*at) {
        cji_thread_caches *owner = (*at)->owner;
        if (cache_is_forked(owner)) { /* the parent's: its lock may be held for ever */
            *at = (*at)->next;
            continue;
        }
        cji_lock(owner->lock, owner->rank);
        if (!owner->closed) cache_unlink(owner, *at);
        cji_unlock(owner->lock, owner->rank);
        cache_delete(t, at);
    }
    for (int i = 0; i < CJI_THREAD_RECENT; i++) t->recent[i] = NULL;
}

void cji_thread_caches_close(cji_thread_caches *owner)
{
    cji_thread_cached *t = &cji_thread_all()->cached;
    cji_lock(owner->lock, owner->rank);
    while (owner->first) cache_unlink(owner, owner->first);
    owner->closed = true;
    cji_unlock(owner->lock, owner->rank);
    for (cji_thread_cache **at = &t->all; *at; at = &(*at)->next)
        if ((*at)->owner == owner) {
            cache_delete(t, at);
            return;
        }
}

/* -- Finding ------------------------------------------------------------------------------------------------------- */

/* The thread's cache, if there is one; those of closed pools are deleted. */
static cji_thread_cache *cache_search(cji_thread_cached *t, const cji_thread_caches *owner)
{
    cji_thread_cache **at = &t->all;
    while (*at) {
        if ((*at)->owner == owner) return *at;
        if (!cache_is_forked((*at)->owner) && cache_is_closed((*at)->owner)) cache_delete(t, at);
        else at = &(*at)->next;
    }
    return NULL;
}

static cji_thread_cache *cache_make(cji_thread_cached *t, cji_thread_caches *owner)
{
    cji_thread_cache *c = cji_zalloc(cache_bytes(owner));
    if (!c) return NULL;
    owner->rules->retain(owner);
    c->pool = owner->pool;
    c->fork_word = atomic_load(&cji_process.fork_word);
    c->fork_value = owner->fork_gen + 1;
    c->owner = owner;
    c->next = t->all;
    t->all = c;
    cji_lock(owner->lock, owner->rank);
    if (owner->made++) atomic_store_explicit(&owner->shared, true, memory_order_relaxed);
    c->later = owner->first;
    if (c->later) c->later->earlier = c;
    owner->first = c;
    cji_unlock(owner->lock, owner->rank);
    return c;
}

cji_thread_cache *cji_thread_cache_find(cji_thread_caches *owner)
{
    cji_thread_cached *t = &cji_thread_all()->cached;
    cji_thread_cache *c = cache_search(t, owner);
    if (!c) c = cache_make(t, owner);
    if (c) t->recent[cji_thread_cache_place(owner->pool)] = c;
    return c;
}
