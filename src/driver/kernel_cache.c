/* cj_kernel_cache: kernels under keys, in memory (cache/memo.h). */
#include <cujit/kernel_cache.h>

#include <string.h>

#include "base/cancel.h"
#include "base/opts.h"
#include "driver/cache/memo.h"
#include "driver/driver.h"
#include "driver/jit.h"
#include "ptx/ptx.h"

enum { KERNELS_USUAL = 1024, KERNELS_MOST = 1000000 };

struct cj_kernel_cache {
    cji_obj obj;
    cj_device *dev;  /* retained */
    cji_memo *memo;
};

/* -- Kernels as values --------------------------------------------------------------------------------------------- */

static void retain_cached(void *k) { cji_obj_retain(k); }
static void release_cached(void *k) { cj_kernel_free(k); }
static bool good_cached(const void *k) { return !cji_obj_failed(k); }
static const cji_memo_rules kernel_rules = { retain_cached, release_cached, good_cached, NULL };

static cj_kernel *failed_kernel(cj_status status, const char *call, const char *why)
{
    cj_kernel *k = cji_obj_new(sizeof *k, CJI_TAG_KERNEL, 0, call);
    if (cji_obj_failed(k)) return k;
    k->nparam = -1;
    cji_fail(k, status, call, "%s", why);
    cji_obj_set_failed(k);
    return k;
}

/* A failed kernel for an argument that is none, or that has failed. */
static cj_kernel *failed_as(const void *argument, cji_tag tag, const char *what, const char *call)
{
    cj_kernel *k = cji_obj_new(sizeof *k, CJI_TAG_KERNEL, 0, call);
    if (cji_obj_failed(k)) return k;
    k->nparam = -1;
    cji_check_arg(k, argument, tag, call, what);
    cji_obj_set_failed(k);
    return k;
}

/* -- Making and freeing -------------------------------------------------------------------------------------------- */

void cj_kernel_cache_defaults(cj_kernel_cache_opts *opts)
{
    if (opts) *opts = (cj_kernel_cache_opts){ .size = sizeof *opts, .kernels = KERNELS_USUAL };
}

cj_kernel_cache *cj_kernel_cache_create(cj_device *dev, const cj_kernel_cache_opts *opts)
{
    static const char call[] = "cj_kernel_cache_create";
    cj_kernel_cache_opts o;
    cj_kernel_cache *c = cji_obj_new(sizeof *c, CJI_TAG_KERNEL_CACHE, 0, call);
    if (cji_obj_failed(c)) return c;
    cj_kernel_cache_defaults(&o);
    cj_status status = cji_check_arg(c, dev, CJI_TAG_DEVICE, call, "the device");
    if (status == CJ_OK && !cji_opts_take(&o, sizeof o, opts, c, call, "cj_kernel_cache")) status = CJ_EINVAL;
    if (status == CJ_OK && (!o.kernels || o.kernels > KERNELS_MOST))
        status = cji_fail(c, CJ_EINVAL, call, "kernels is %u; 1 to %d", o.kernels, KERNELS_MOST);
    if (status == CJ_OK && !(c->memo = cji_memo_create(&kernel_rules, o.kernels)))
        status = cji_fail(c, CJ_ENOMEM, call, "no memory for the cache");
    if (status == CJ_OK) c->dev = cji_obj_retain(dev);
    else cji_obj_set_failed(c);
    return c;
}

void cj_kernel_cache_free(cj_kernel_cache *c)
{
    if (!cji_check_free(c, CJI_TAG_KERNEL_CACHE, "cj_kernel_cache_free") || !cji_obj_release(c)) return;
    cji_memo_free(c->memo);
    if (c->dev) cji_device_drop(c->dev);
    cji_obj_delete(c, sizeof *c);
}

/* -- Getting ------------------------------------------------------------------------------------------------------- */

/* A build under way. */
typedef struct kernel_build {
    cj_kernel_build_fn build;
    void *user;
    cj_device *dev;
    const char *call;
} kernel_build;

static void *run_build(void *user)
{
    const kernel_build *b = user;
    cj_kernel *k = b->build(b->user, b->dev);
    if (!cji_readable(k, CJI_TAG_KERNEL, true) && !(k && cji_obj_failed(k)))
        return failed_kernel(CJ_EINVAL, b->call, "the build function returned no kernel");
    if (!cji_obj_failed(k) && k->dev != b->dev) {
        cj_kernel_free(k);
        return failed_kernel(CJ_EINVAL, b->call, "the build function returned a kernel of another device");
    }
    return k;
}

static cj_kernel *get_kernel(cj_kernel_cache *c, const void *key, size_t bytes, kernel_build *b)
{
    cji_memo_how how;
    cj_kernel *k = cji_memo_get(c->memo, key, bytes, run_build, b, &how);
    if (k) return k;
    if (how == CJI_MEMO_NOMEM) return failed_kernel(CJ_ENOMEM, b->call, "no memory for a kernel's key");
    return failed_kernel(CJ_ESTATE, b->call,
                         "the kernel of this key is being built by this thread, or by one that waits for it: a build "
                         "function may get the kernels of other keys only");
}

cj_kernel *cj_kernel_cache_get(cj_kernel_cache *c, const void *key, size_t bytes, cj_kernel_build_fn build,
                               void *user)
{
    static const char call[] = "cj_kernel_cache_get";
    CJI_NO_CANCEL;
    if (!cji_is_live(c, CJI_TAG_KERNEL_CACHE) && cji_check(c, CJI_TAG_KERNEL_CACHE, call) != CJ_OK)
        return failed_as(c, CJI_TAG_KERNEL_CACHE, "the cache", call);
    if (!key || !bytes) return failed_kernel(CJ_EINVAL, call, "there is no key: it is NULL, or has no bytes");
    if (!build) return failed_kernel(CJ_EINVAL, call, "build is NULL");
    kernel_build b = { build, user, c->dev, call };
    return get_kernel(c, key, bytes, &b);
}

typedef struct builder_load { cj_ptx *m; const char *name; const cj_compile_opts *opts; } builder_load;

static cj_kernel *load_builder(void *user, cj_device *dev)
{
    const builder_load *l = user;
    return cj_kernel_load(dev, l->m, l->name, l->opts);
}

/* The key of a builder's kernel: the hash of its module, with lines where they are printed, options and name. */
static cji_hash128 key_of_load(const builder_load *l, const cj_compile_opts *o)
{
    cji_hasher h;
    cji_hash128 module = cji_ptx_digest(l->m, CJI_PRINT_LINK | (o->line_info ? (unsigned)CJ_PRINT_LINES : 0u));
    const int32_t options[] = { o->opt_level, o->max_registers, o->line_info, o->debug };
    cji_hasher_begin(&h);
    cji_hasher_put(&h, &module, sizeof module);
    cji_hasher_put(&h, options, sizeof options);
    cji_hasher_put(&h, l->name, strlen(l->name));
    return cji_hasher_end(&h);
}

cj_kernel *cj_kernel_cache_load(cj_kernel_cache *c, cj_ptx *m, const char *name, const cj_compile_opts *opts)
{
    static const char call[] = "cj_kernel_cache_load";
    CJI_NO_CANCEL;
    builder_load l = { m, name, opts };
    cj_compile_opts o;
    if (cji_check(c, CJI_TAG_KERNEL_CACHE, call) != CJ_OK) return failed_as(c, CJI_TAG_KERNEL_CACHE, "the cache", call);
    /* What is wrong with the arguments is said by the call that is made without a cache. */
    if (!name || cji_check(m, CJI_TAG_PTX, call) != CJ_OK || cji_compile_take(&o, opts, NULL, call) != CJ_OK ||
        cji_ptx_finish(m, call) != CJ_OK)
        return load_builder(&l, c->dev);
    const cji_hash128 key = key_of_load(&l, &o);
    kernel_build b = { load_builder, &l, c->dev, call };
    return get_kernel(c, &key, sizeof key, &b);
}

static cj_kernel *given_kernel(void *user, cj_device *dev)
{
    (void)dev;
    return cji_obj_retain(user);
}

cj_kernel *cj_kernel_cache_put(cj_kernel_cache *c, const void *key, size_t bytes, cj_kernel *k)
{
    static const char call[] = "cj_kernel_cache_put";
    if (cji_check(c, CJI_TAG_KERNEL_CACHE, call) != CJ_OK) return failed_as(c, CJI_TAG_KERNEL_CACHE, "the cache", call);
    if (!cji_is_live(k, CJI_TAG_KERNEL)) return failed_as(k, CJI_TAG_KERNEL, "the kernel", call);
    if (!key || !bytes) return failed_kernel(CJ_EINVAL, call, "there is no key: it is NULL, or has no bytes");
    if (k->dev != c->dev) return failed_kernel(CJ_EINVAL, call, "the kernel is of another device than the cache");
    kernel_build b = { given_kernel, k, c->dev, call };
    return get_kernel(c, key, bytes, &b);
}

cj_status cj_kernel_cache_find(cj_kernel_cache *c, const void *key, size_t bytes, cj_kernel **k)
{
    static const char call[] = "cj_kernel_cache_find";
    cji_memo_how how;
    if (k) *k = NULL;
    if (!cji_is_live(c, CJI_TAG_KERNEL_CACHE)) {
        cj_status status = cji_check(c, CJI_TAG_KERNEL_CACHE, call);
        if (status != CJ_OK) return status;
    }
    if (!key || !bytes || !k) return cji_fail(c, CJ_EINVAL, call, "key or k is NULL, or the key has no bytes");
    *k = cji_memo_find(c->memo, key, bytes, &how);
    return how == CJI_MEMO_HIT ? CJ_OK : how == CJI_MEMO_BUILDING ? CJ_ENOTREADY : CJ_ENOTFOUND;
}

/* -- Forgetting, counting ------------------------------------------------------------------------------------------ */

cj_status cj_kernel_cache_forget(cj_kernel_cache *c, const void *key, size_t bytes)
{
    static const char call[] = "cj_kernel_cache_forget";
    cj_status status = cji_check(c, CJI_TAG_KERNEL_CACHE, call);
    if (status != CJ_OK) return status;
    if (!key || !bytes) return cji_fail(c, CJ_EINVAL, call, "there is no key: it is NULL, or has no bytes");
    return cji_memo_forget(c->memo, key, bytes) ? CJ_OK
                                                : cji_fail(c, CJ_ENOTFOUND, call, "the key has no kernel");
}

cj_status cj_kernel_cache_clear(cj_kernel_cache *c)
{
    cj_status status = cji_check(c, CJI_TAG_KERNEL_CACHE, "cj_kernel_cache_clear");
    if (status == CJ_OK) cji_memo_clear(c->memo);
    return status;
}

void cj_kernel_cache_stats_defaults(cj_kernel_cache_stats *stats)
{
    if (stats) *stats = (cj_kernel_cache_stats){ .size = sizeof *stats };
}

cj_status cj_kernel_cache_get_stats(cj_kernel_cache *c, cj_kernel_cache_stats *stats)
{
    static const char call[] = "cj_kernel_cache_get_stats";
    cj_status status = cji_check(c, CJI_TAG_KERNEL_CACHE, call);
    if (status != CJ_OK) return status;
    if (!stats || stats->size < sizeof stats->size)
        return cji_fail(c, CJ_EINVAL, call, "stats is NULL, or stats->size is not sizeof(cj_kernel_cache_stats)");
    cji_memo_counts n;
    cji_memo_count(c->memo, &n);
    const size_t size = stats->size;
    const cj_kernel_cache_stats full = { .size = size,
                                         .kernels = n.values,
                                         .hits = n.hits,
                                         .builds = n.builds,
                                         .waits = n.waits,
                                         .failures = n.failures,
                                         .evictions = n.evictions };
    memcpy(stats, &full, size < sizeof full ? size : sizeof full);
    return CJ_OK;
}
