/* What a graph keeps alive: a set of references, shared by a graph and its execs. */
#include "stream/streams.h"

struct cji_keep {
    atomic_uint refs;
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

static void keep_let_go(struct kept_entry *e)
{
    switch (e->kind) {
    case CJI_KEPT_KERNEL: cji_kernel_drop(e->what); break;
    case CJI_KEPT_MEMORY: cji_mem_unkeep(e->what); break;
    case CJI_KEPT_STAGE: cji_stage_release(e->what); break;
    case CJI_KEPT_KEEP: cji_keep_drop(e->what); break;
    }
}

void cji_keep_drop(cji_keep *k)
{
    if (!k || atomic_fetch_sub_explicit(&k->refs, 1, memory_order_acq_rel) != 1) return;
    for (size_t i = 0; i < k->cap; i++)
        if (k->slot[i].what) keep_let_go(&k->slot[i]);
    cji_free(k->slot, k->cap * sizeof *k->slot);
    pthread_mutex_destroy(&k->lock);
    cji_free(k, sizeof *k);
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
