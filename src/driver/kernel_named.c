/* The kernels of a module: their list, and the handles that the module keeps for launches by name.
 *
 * A kept handle has no references of its own: who retains it retains the module, which frees it with itself
 * (cji_kernel_retain, cji_kernel_drop).  So a module and its handles are no cycle.
 *
 * The table of handles is read without a lock.  Slots are only filled; a table that is full is replaced by a larger
 * one, and stays as long as the module, since a reader may still be in it.  Writers hold the device's lock of
 * modules. */
#include <string.h>

#include "driver/driver.h"

typedef struct kept_slot { uint64_t hash; _Atomic(cj_kernel *) kernel; } kept_slot;

struct cji_kept_table {
    struct cji_kept_table *smaller; /* the one that it replaced */
    size_t count, cap;              /* cap is a power of two, at most half full */
    kept_slot slot[];
};

static size_t kept_table_bytes(size_t cap) { return sizeof(struct cji_kept_table) + cap * sizeof(kept_slot); }

/* FNV-1a: names are short. */
static uint64_t kept_hash(const char *name)
{
    uint64_t h = UINT64_C(0xcbf29ce484222325);
    for (; *name; name++) h = (h ^ (unsigned char)*name) * UINT64_C(0x100000001b3);
    return h ^ h >> 32;
}

static cj_kernel *kept_find(const struct cji_kept_table *t, uint64_t hash, const char *name)
{
    if (!t) return NULL;
    for (size_t i = hash;; i++) {
        const kept_slot *slot = &t->slot[i & (t->cap - 1)];
        cj_kernel *k = atomic_load_explicit(&slot->kernel, memory_order_acquire);
        if (!k || (slot->hash == hash && !strcmp(k->name, name))) return k;
    }
}

static void kept_put(struct cji_kept_table *t, uint64_t hash, cj_kernel *k)
{
    size_t i = hash;
    while (atomic_load_explicit(&t->slot[i & (t->cap - 1)].kernel, memory_order_relaxed)) i++;
    t->slot[i & (t->cap - 1)].hash = hash;
    atomic_store_explicit(&t->slot[i & (t->cap - 1)].kernel, k, memory_order_release);
    t->count++;
}

/* A table with room for one more; NULL without memory. */
static struct cji_kept_table *kept_grown(struct cji_kept_table *t)
{
    if (t && 2 * (t->count + 1) <= t->cap) return t;
    const size_t cap = t ? 2 * t->cap : 8;
    struct cji_kept_table *larger = cji_zalloc(kept_table_bytes(cap));
    if (!larger) return NULL;
    larger->smaller = t;
    larger->cap = cap;
    for (size_t i = 0; t && i < t->cap; i++) {
        cj_kernel *k = atomic_load_explicit(&t->slot[i].kernel, memory_order_relaxed);
        if (k) kept_put(larger, t->slot[i].hash, k);
    }
    return larger;
}

/* Keeps `mine`, or finds that another thread was quicker: returns the kept one, NULL without memory. */
static cj_kernel *kept_add(cj_module *mod, uint64_t hash, cj_kernel *mine)
{
    cj_device *dev = mod->dev;
    pthread_mutex_lock(&dev->modules_lock);
    struct cji_kept_table *now = atomic_load_explicit(&mod->kept, memory_order_relaxed);
    cj_kernel *kept = kept_find(now, hash, mine->name);
    struct cji_kept_table *t = kept ? NULL : kept_grown(now);
    if (t) {
        kept_put(t, hash, mine);
        kept = mine;
        if (t != now) atomic_store_explicit(&mod->kept, t, memory_order_release);
    }
    pthread_mutex_unlock(&dev->modules_lock);
    return kept;
}

cj_kernel *cji_module_named(void *into, cj_module *mod, const char *name, const char *call)
{
    const uint64_t hash = kept_hash(name);
    cj_kernel *k = kept_find(atomic_load_explicit(&mod->kept, memory_order_acquire), hash, name);
    if (k) return k;
    cj_kernel *mine = cji_kernel_make_kept(mod, name, call);
    if (cji_obj_failed(mine)) {
        cji_fail_from(into, mine, call);
        cj_kernel_free(mine);
        return NULL;
    }
    k = kept_add(mod, hash, mine);
    if (k != mine) cji_kernel_free_kept(mine);
    if (!k) cji_fail(into, CJ_ENOMEM, call, "no memory for the handle of kernel \"%s\"", cji_short(name));
    return k;
}

void cji_module_free_named(cj_module *mod)
{
    struct cji_kept_table *t = atomic_load(&mod->kept), *smaller;
    for (size_t i = 0; t && i < t->cap; i++) {
        cj_kernel *k = atomic_load_explicit(&t->slot[i].kernel, memory_order_relaxed);
        if (k) cji_kernel_free_kept(k);
    }
    for (; t; t = smaller) {
        smaller = t->smaller;
        cji_free(t, kept_table_bytes(t->cap));
    }
    atomic_store(&mod->kept, NULL);
}

/* -- The list ------------------------------------------------------------------------------------------------------ */

/* What the driver lists; in a scope. */
static CUresult list_of_driver(cj_module *mod, const char **names, size_t max, size_t *count, const char **cu_call)
{
    const cji_cu *cu = &mod->dev->api;
    unsigned n = 0;
    *cu_call = "cuModuleGetFunctionCount";
    CUresult r = cu->cuModuleGetFunctionCount(&n, mod->raw);
    if (r != CUDA_SUCCESS || !n) return *count = 0, r;
    CUfunction *fn = cji_zalloc(n * sizeof *fn);
    if (!fn) return CUDA_ERROR_OUT_OF_MEMORY;
    *cu_call = "cuModuleEnumerateFunctions";
    r = cu->cuModuleEnumerateFunctions(fn, n, mod->raw);
    for (size_t i = 0; r == CUDA_SUCCESS && names && i < n && i < max; i++) {
        *cu_call = "cuFuncGetName";
        r = cu->cuFuncGetName(&names[i], fn[i]);
    }
    cji_free(fn, n * sizeof *fn);
    *count = r == CUDA_SUCCESS ? n : 0;
    return r;
}

size_t cj_module_kernels(cj_module *mod, const char **names, size_t max)
{
    static const char call[] = "cj_module_kernels";
    if (cji_check(mod, CJI_TAG_MODULE, call) != CJ_OK) return 0;
    const cji_entries *e = mod->entries;
    if (e && e->whole) {
        for (size_t i = 0; names && i < e->n && i < max; i++) names[i] = e->entry[i].name;
        return e->n;
    }
    if (!mod->raw) return cji_fail(mod, CJ_ENOTSUP, call, "the driver does not report the kernel's module"), 0;
    cji_scope scope;
    size_t count = 0;
    const char *cu_call = "";
    if (cji_scope_begin_relaxed(mod, mod->dev, &scope, call) != CJ_OK) return 0;
    CUresult r = list_of_driver(mod, names, max, &count, &cu_call);
    cji_scope_leave(&scope);
    if (r == CUDA_SUCCESS) return count;
    cji_cu_fail_as(mod, mod->dev, r, CJ_OK, cu_call, call, "%s: the kernels of a cubin are listed by the driver",
                   call);
    return 0;
}
