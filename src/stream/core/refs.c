/* Reference sets: what a graph and its executable graphs retain. */
#include "stream/core/stream_core.h"

struct cji_refset {
    atomic_uint refs;
    cji_refset *next;     /* of those that are being released */
    pthread_mutex_t lock; /* guards the set */
    struct refset_entry {
        void *what;
        const cji_ref_type *type;
    } * slot;          /* open addressing; what NULL: free */
    size_t count, cap; /* cap is 0 or a power of two, at most half full */
};

cji_refset *cji_refset_new(void)
{
    cji_refset *k = cji_zalloc(sizeof *k);
    if (!k) return NULL;
    atomic_init(&k->refs, 1);
    pthread_mutex_init(&k->lock, NULL);
    return k;
}

cji_refset *cji_refset_retain(cji_refset *k)
{
    atomic_fetch_add_explicit(&k->refs, 1, memory_order_relaxed);
    return k;
}

/* Whether that was the last reference. */
static bool refset_unref(cji_refset *k) { return atomic_fetch_sub_explicit(&k->refs, 1, memory_order_acq_rel) == 1; }

const cji_ref_type cji_ref_set = { NULL }; /* released by cji_refset_drop */

static void refset_release_kernel(void *what) { cji_kernel_drop(what); }
const cji_ref_type cji_ref_kernel = { refset_release_kernel };

static void refset_release_module(void *what) { cji_module_drop(what); }
const cji_ref_type cji_ref_module = { refset_release_module };

/* A set whose last reference that was joins *released: chains of them are long, and are not released by recursion. */
static void refset_release(struct refset_entry *e, cji_refset **released)
{
    if (e->type != &cji_ref_set) {
        e->type->release(e->what);
        return;
    }
    cji_refset *inner = e->what;
    if (!refset_unref(inner)) return;
    inner->next = *released;
    *released = inner;
}

void cji_refset_drop(cji_refset *k)
{
    if (!k || !refset_unref(k)) return;
    for (k->next = NULL; k;) {
        cji_refset *released = k;
        k = k->next;
        for (size_t i = 0; i < released->cap; i++)
            if (released->slot[i].what) refset_release(&released->slot[i], &k);
        cji_free(released->slot, released->cap * sizeof *released->slot);
        pthread_mutex_destroy(&released->lock);
        cji_free(released, sizeof *released);
    }
}

/* The slot of `what`, or the free one where it belongs. */
static struct refset_entry *refset_find(struct refset_entry *slot, size_t cap, const void *what)
{
    size_t i = ((uintptr_t)what >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> 20;
    while (slot[i & (cap - 1)].what && slot[i & (cap - 1)].what != what) i++;
    return &slot[i & (cap - 1)];
}

static bool refset_grow(cji_refset *k)
{
    size_t cap = k->cap ? 2 * k->cap : 16;
    struct refset_entry *slot = cji_zalloc(cap * sizeof *slot);
    if (!slot) return false;
    for (size_t i = 0; i < k->cap; i++)
        if (k->slot[i].what) *refset_find(slot, cap, k->slot[i].what) = k->slot[i];
    cji_free(k->slot, k->cap * sizeof *k->slot);
    k->slot = slot;
    k->cap = cap;
    return true;
}

bool cji_refset_add(cji_refset *k, const cji_ref_type *type, void *what, bool *had)
{
    cji_lock(&k->lock, CJI_LOCK_REFSET);
    *had = k->cap && refset_find(k->slot, k->cap, what)->what;
    bool added = *had || 2 * (k->count + 1) <= k->cap || refset_grow(k);
    if (added && !*had) {
        *refset_find(k->slot, k->cap, what) = (struct refset_entry){ what, type };
        k->count++;
    }
    cji_unlock(&k->lock, CJI_LOCK_REFSET);
    return added;
}

/* The set that is all there is in `k`: then nothing was added since cji_refset_snapshot made it. */
static cji_refset *refset_only(cji_refset *k)
{
    if (k->count != 1) return NULL;
    for (size_t i = 0; i < k->cap; i++)
        if (k->slot[i].what) return k->slot[i].type == &cji_ref_set ? k->slot[i].what : NULL;
    return NULL;
}

cji_refset *cji_refset_snapshot(cji_refset **k)
{
    cji_refset *old = *k;
    cji_lock(&old->lock, CJI_LOCK_REFSET);
    cji_refset *snapshot = refset_only(old);
    if (snapshot) cji_refset_retain(snapshot);
    cji_unlock(&old->lock, CJI_LOCK_REFSET);
    if (snapshot) return snapshot;
    cji_refset *fresh = cji_refset_new();
    bool had = false;
    if (!fresh || !cji_refset_add(fresh, &cji_ref_set, cji_refset_retain(old), &had)) {
        if (fresh) cji_refset_drop(old);
        cji_refset_drop(fresh);
        return NULL;
    }
    *k = fresh;
    return old;
}

cj_kernel *cji_refset_kernel(cji_refset *k, CUfunction fn)
{
    cj_kernel *found = NULL;
    cji_lock(&k->lock, CJI_LOCK_REFSET);
    for (size_t i = 0; i < k->cap && !found; i++) {
        const struct refset_entry *e = &k->slot[i];
        if (e->what && e->type == &cji_ref_kernel && cji_kernel_has(e->what, fn)) found = e->what;
    }
    for (size_t i = 0; i < k->cap && !found; i++)
        if (k->slot[i].what && k->slot[i].type == &cji_ref_set) found = cji_refset_kernel(k->slot[i].what, fn);
    cji_unlock(&k->lock, CJI_LOCK_REFSET);
    return found;
}
