/* The pools that a device or a thread has on request.  The device lists them, and does not keep them alive: a pool is
 * there as long as somebody uses it. */
#include "base/mem.h"
#include "stream/core/stream_core.h"

typedef struct listed_pool {
    struct listed_pool *next;
    cji_tag tag;
    uint64_t thread;    /* 0: the device's */
    void *pool;
    atomic_uint *users; /* the pool's */
} listed_pool;

typedef struct device_pools {
    cji_device_state base;
    listed_pool *first; /* under the release queue's lock */
} device_pools;

static void device_pools_free(cji_device_state *base) { cji_free(base, sizeof(device_pools)); }
static void device_pools_trim(cji_device_state *base) { (void)base; }

/* With the queue's lock held; NULL without memory. */
static device_pools *device_pools_of(cji_release_queue *queue)
{
    device_pools *all = (device_pools *)cji_release_queue_state(queue, CJI_STATE_CORE);
    if (!all && (all = cji_zalloc(sizeof *all))) {
        all->base = (cji_device_state){ .free = device_pools_free, .trim = device_pools_trim };
        atomic_store_explicit(&queue->state[CJI_STATE_CORE], &all->base, memory_order_release);
    }
    return all;
}

/* With the queue's lock held: a pool that is used, with one user more. */
static void *listed_find(const device_pools *all, cji_tag tag, uint64_t thread)
{
    for (const listed_pool *l = all ? all->first : NULL; l; l = l->next) {
        if (l->tag != tag || l->thread != thread) continue;
        unsigned users = atomic_load(l->users);
        while (users && !atomic_compare_exchange_weak(l->users, &users, users + 1)) {}
        if (users) return l->pool;
    }
    return NULL;
}

void *cji_device_pool(cj_device *dev, cji_tag tag, uint64_t thread)
{
    cji_lock(&dev->queue.lock, CJI_LOCK_QUEUE);
    void *pool = listed_find((device_pools *)cji_release_queue_state(&dev->queue, CJI_STATE_CORE), tag, thread);
    cji_unlock(&dev->queue.lock, CJI_LOCK_QUEUE);
    return pool;
}

void *cji_device_pool_enter(cj_device *dev, cji_tag tag, uint64_t thread, void *pool, atomic_uint *users)
{
    listed_pool *l = cji_zalloc(sizeof *l);
    cji_lock(&dev->queue.lock, CJI_LOCK_QUEUE);
    device_pools *all = device_pools_of(&dev->queue);
    void *there = listed_find(all, tag, thread);
    if (!there && all && l) {
        *l = (listed_pool){ .next = all->first, .tag = tag, .thread = thread, .pool = pool, .users = users };
        all->first = l;
        l = NULL;
        there = pool;
    }
    cji_unlock(&dev->queue.lock, CJI_LOCK_QUEUE);
    cji_free(l, sizeof *l);
    return there;
}

void cji_device_pool_leave(cj_device *dev, void *pool)
{
    listed_pool *l = NULL;
    cji_lock(&dev->queue.lock, CJI_LOCK_QUEUE);
    device_pools *all = (device_pools *)cji_release_queue_state(&dev->queue, CJI_STATE_CORE);
    for (listed_pool **at = all ? &all->first : NULL; at && *at; at = &(*at)->next) {
        if ((*at)->pool != pool) continue;
        l = *at;
        *at = l->next;
        break;
    }
    cji_unlock(&dev->queue.lock, CJI_LOCK_QUEUE);
    cji_free(l, sizeof *l);
}
