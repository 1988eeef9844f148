/* What a graph keeps alive: a set of references, shared by a graph and its execs. */
#include "stream/streams.h"

struct cji_keep {
    atomic_uint refs;
    cji_keep *next; /* of those that are being released */
    pthread_mutex_t lock; /* guards the set */
    struct kept_entry { void *what; cji_kept kind; } *slot; /* open addressing; what NULL: free */
    size_t count, cap; /* cap is 0 or a power of two, at most half full */
};

cji_keep *cji_keep_new(void)
{
    cji_keep *k = cji_zalloc(sizeof *k);
    if (!k) return NULL;
    atomic_init(&k->refs, 1);
    pthread_mutex_init(&k->lock, NULL);
    return k;
}

cji_keep *cji_keep_retain(cji_keep *k)
{
    atomic_fetch_add_explicit(&k->refs, 1, memory_order_relaxed);
    return k;
}

/* Whether that was the last reference. */
static bool keep_unref(cji_keep *k) { return atomic_fetch_sub_explicit(&k->refs, 1, memory_order_acq_rel) == 1; }

static void keep_let_go_user(cji_user *u)
{
    u->release(u->user);
    cji_free(u, sizeof *u);
}

/* A keep whose last reference that was joins *doomed: chains of them are long, and are not released by recursion. */
static void keep_let_go(struct kept_entry *e, cji_keep **doomed)
{
    cji_keep *inner;
    switch (e->kind) {
    case CJI_KEPT_KERNEL: cji_kernel_drop(e->what); break;
    case CJI_KEPT_MEMORY: cji_mem_unkeep(e->what); break;
    case CJI_KEPT_STAGE: cji_stage_release(e->what); break;
    case CJI_KEPT_KEEP:
        inner = e->what;
        if (!keep_unref(inner)) break;
        inner->next = *doomed;
        *doomed = inner;
        break;
    case CJI_KEPT_EVENT: cji_event_drop(e->what); break;
    case CJI_KEPT_USER: keep_let_go_user(e->what); break;
    }
}

void cji_keep_drop(cji_keep *k)
{
    if (!k || !keep_unref(k)) return;
    for (k->next = NULL; k;) {
        cji_keep *doomed = k;
        k = k->next;
        for (size_t i = 0; i < doomed->cap; i++)
            if (doomed->slot[i].what) keep_let_go(&doomed->slot[i], &k);
        cji_free(doomed->slot, doomed->cap * sizeof *doomed->slot);
        pthread_mutex_destroy(&doomed->lock);
        cji_free(doomed, sizeof *doomed);
    }
}

/* The slot of `what`, or the free one where it belongs. */
static struct kept_entry *keep_find(struct kept_entry *slot, size_t cap, const void *what)
{
    size_t i = ((uintptr_t)what >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> 20;
    while (slot[i & (cap - 1)].what && slot[i & (cap - 1)].what != what) i++;
    return &slot[i & (cap - 1)];
}

static bool keep_grow(cji_keep *k)
{
    size_t cap = k->cap ? 2 * k->cap : 16;
    struct kept_entry *slot = cji_zalloc(cap * sizeof *slot);
    if (!slot) return false;
    for (size_t i = 0; i < k->cap; i++)
        if (k->slot[i].what) *keep_find(slot, cap, k->slot[i].what) = k->slot[i];
    cji_free(k->slot, k->cap * sizeof *k->slot);
    k->slot = slot;
    k->cap = cap;
    return true;
}

bool cji_keep_add(cji_keep *k, cji_kept kind, void *what, bool *had)
{
    pthread_mutex_lock(&k->lock);
    *had = k->cap && keep_find(k->slot, k->cap, what)->what;
    bool kept = *had || 2 * (k->count + 1) <= k->cap || keep_grow(k);
    if (kept && !*had) {
        *keep_find(k->slot, k->cap, what) = (struct kept_entry){ what, kind };
        k->count++;
    }
    pthread_mutex_unlock(&k->lock);
    return kept;
}

/* Whether all that `k` keeps is one other keep: then nothing was added since it was made by cji_keep_freeze. */
static cji_keep *keep_only(cji_keep *k)
{
    if (k->count != 1) return NULL;
    for (size_t i = 0; i < k->cap; i++)
        if (k->slot[i].what) return k->slot[i].kind == CJI_KEPT_KEEP ? k->slot[i].what : NULL;
    return NULL;
}

cji_keep *cji_keep_freeze(cji_keep **k)
{
    cji_keep *old = *k;
    pthread_mutex_lock(&old->lock);
    cji_keep *frozen = keep_only(old);
    if (frozen) cji_keep_retain(frozen);
    pthread_mutex_unlock(&old->lock);
    if (frozen) return frozen;
    cji_keep *fresh = cji_keep_new();
    bool had = false;
    if (!fresh || !cji_keep_add(fresh, CJI_KEPT_KEEP, cji_keep_retain(old), &had)) {
        if (fresh) cji_keep_drop(old);
        cji_keep_drop(fresh);
        return NULL;
    }
    *k = fresh;
    return old;
}

cj_kernel *cji_keep_kernel(cji_keep *k, CUfunction fn)
{
    cj_kernel *found = NULL;
    pthread_mutex_lock(&k->lock);
    for (size_t i = 0; i < k->cap && !found; i++) {
        const struct kept_entry *e = &k->slot[i];
        if (e->what && e->kind == CJI_KEPT_KERNEL && ((cj_kernel *)e->what)->fn == fn) found = e->what;
    }
    for (size_t i = 0; i < k->cap && !found; i++)
        if (k->slot[i].what && k->slot[i].kind == CJI_KEPT_KEEP) found = cji_keep_kernel(k->slot[i].what, fn);
    pthread_mutex_unlock(&k->lock);
    return found;
}
