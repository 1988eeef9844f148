/* Objects of the library: options, modules, the kernel caches of devices. */
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "kernels/kernels_core.h"

cj_status cjk_fail(void *object, cj_status status, const char *call, const char *fmt, ...)
{
    char text[400];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    return cj_object_fail(object, status, call, text);
}

bool cjk_options(void *object, const char *call, void *to, size_t bytes, const void *opts)
{
    size_t size;
    if (!opts) return cjk_fail(object, CJ_EINVAL, call, "the options are NULL"), false;
    memcpy(&size, opts, sizeof size);
    if (size < sizeof size || size > 4096)
        return cjk_fail(object, CJ_EINVAL, call, "the options' size is %zu; fill them with the _defaults call", size),
               false;
    for (size_t i = bytes; i < size; i++)
        if (((const char *)opts)[i])
            return cjk_fail(object, CJ_EINVAL, call,
                            "the options' size is %zu, of which this library knows %zu, and what is behind is not 0",
                            size, bytes), false;
    memcpy(to, opts, size < bytes ? size : bytes);
    return true;
}

void cjk_failed(void *object) { cj_object_set_failed(object); }

/* -- A kernel cache for each device, while objects of it live ------------------------------------------------------ */

/* Guarded by cache_lock. */
typedef struct cjk_cache {
    cj_device *dev;
    cj_kernel_cache *kernels;
    struct cjk_cache *next;
    unsigned uses;
    void *object;        /* whose data this is */
} cjk_cache;

static pthread_mutex_t cache_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t cache_once = PTHREAD_ONCE_INIT;
static cjk_cache *caches;

static void cache_end(void *data) { cj_kernel_cache_free(((cjk_cache *)data)->kernels); }
static const cj_object_type cache_type = {
    sizeof cache_type, "kernel cache of a device", sizeof(cjk_cache), cache_end
};

/* A child of fork() begins with the lock open, and without the parent's caches: its objects are the parent's. */
static void cache_before_fork(void) { pthread_mutex_lock(&cache_lock); }
static void cache_behind_fork(void) { pthread_mutex_unlock(&cache_lock); }
static void cache_in_child(void)
{
    caches = NULL;
    pthread_mutex_unlock(&cache_lock);
}
static void cache_watch_forks(void) { pthread_atfork(cache_before_fork, cache_behind_fork, cache_in_child); }

static cjk_cache *cache_acquire(void *object, cj_device *dev, const char *call)
{
    pthread_once(&cache_once, cache_watch_forks);
    pthread_mutex_lock(&cache_lock);
    cjk_cache *c = caches;
    while (c && c->dev != dev) c = c->next;
    if (!c) {
        void *made = cj_object_create(&cache_type, call);
        c = cj_object_data(made, &cache_type, object, call);
        if (c) {
            *c = (cjk_cache){ .dev = dev, .object = made, .kernels = cj_kernel_cache_create(dev, NULL) };
            if (cj_object_fail_from(object, c->kernels, call) != CJ_OK) c = NULL;
        }
        if (c) {
            c->next = caches;
            caches = c;
        } else {
            cj_object_free(made, &cache_type, call);
        }
    }
    if (c) c->uses++;
    pthread_mutex_unlock(&cache_lock);
    return c;
}

static void cache_release(cjk_cache *c)
{
    void *last = NULL;
    pthread_mutex_lock(&cache_lock);
    if (--c->uses == 0) {
        cjk_cache **at = &caches;
        while (*at != c) at = &(*at)->next;
        *at = c->next;
        last = c->object;
    }
    pthread_mutex_unlock(&cache_lock);
    cj_object_free(last, &cache_type, "cj_object_free");
}

/* -- Making and freeing -------------------------------------------------------------------------------------------- */

cj_ptx *cjk_module_for(cj_device *dev, cj_ptx *of)
{
    cj_ptx *m = of ? cj_ptx_clone(of) : cj_ptx_create();
    cj_device_info info;
    cj_device_info_defaults(&info);
    if (cj_device_get_info(dev, &info) == CJ_OK && info.sm_major < 8) cj_ptx_set_target(m, cj_device_sm(dev));
    return m;
}

bool cjk_begin(void *object, cjk_code *c, cj_device *dev, cj_ptx *module, const char *call)
{
    if (!dev) cjk_fail(object, CJ_EHANDLE, call, "the device is NULL");
    else if (cj_device_ordinal(dev) < 0 && cj_object_fail_from(object, dev, call) == CJ_OK)
        cjk_fail(object, CJ_EHANDLE, call, "the device is no cj_device that can be used");
    if (cj_error_of(object)->status == CJ_OK) {
        c->dev = dev;
        c->m = cjk_module_for(dev, module);
        cj_object_fail_from(object, c->m, call);
    }
    if (cj_error_of(object)->status == CJ_OK) return true;
    cjk_failed(object);
    return false;
}

size_t cjk_lines(const char *text)
{
    size_t lines = 0;
    for (; *text; text++) lines += *text == '\n';
    return lines;
}

/* A kernel has tens of copies of an inline function, so a long one stays called. */
enum { MOST_INLINED = 500 /* lines of PTX of all that is in the user's module */ };

bool cjk_function(void *object, const cjk_code *c, const char *name, cj_fn **f, const char *call)
{
    *f = name ? cj_ptx_find(c->m, name) : NULL;
    if (!*f) return true;
    if (cj_object_fail_from(object, *f, call) != CJ_OK) return cjk_failed(object), false;
    const char *text = "";
    if (cj_ptx_print(c->m, 0, &text, NULL) == CJ_OK && cjk_lines(text) <= MOST_INLINED) cj_fn_inline(*f);
    return true;
}

bool cjk_function_fits(void *object, const cjk_code *c, const char *function, const char *wants, const char *call)
{
    const cj_error *e = cj_error_of(c->m);
    if (!function || (e->status != CJ_EPTX && e->status != CJ_EINVAL)) return true;
    const char *why = strstr(e->message, e->call); /* without the place, which is in this library */
    cjk_fail(object, CJ_EPTX, call, "the function %s does not fit (%s); wants %s", function, why ? why : e->message,
             wants);
    cjk_failed(object);
    return false;
}

cj_kernel_cache *cjk_cache_begin(void *object, cjk_code *c, cj_kernel_cache *cache, const char *call)
{
    if (cache || cj_error_of(object)->status != CJ_OK) return cache;
    if (!c->cache) c->cache = cache_acquire(object, c->dev, call);
    return c->cache ? c->cache->kernels : NULL;
}

void cjk_end(void *object, cjk_code *c, const char *const *names, size_t n, cj_kernel_cache *cache, uint32_t count,
             size_t each, const char *call)
{
    cj_status st = cj_object_fail_from(object, c->m, call);
    if (st == CJ_OK && !(cache = cjk_cache_begin(object, c, cache, call))) st = cj_error_of(object)->status;
    for (size_t i = 0; i < n && st == CJ_OK; i++) {
        if (!names[i]) continue;
        c->k[i] = cj_kernel_cache_load(cache, c->m, names[i], NULL);
        st = cj_object_fail_from(object, c->k[i], call);
    }
    if (st == CJ_OK) st = cjk_slots_take(object, c, count, each, call);
    if (st != CJ_OK) cjk_failed(object);
}

/* -- Kernels that begin early -------------------------------------------------------------------------------------- */

bool cjk_starts_early(cj_device *dev)
{
    cj_driver *driver = cj_device_driver(dev);
    cj_device_info info;
    cj_device_info_defaults(&info);
    return strcmp(cj_driver_kind(driver), "sim") != 0 && cj_driver_version(driver) >= 12030 &&
           cj_device_get_info(dev, &info) == CJ_OK && info.sm_major >= 9;
}

void cjk_start_early(cj_fn *f, const cjk_code *c)
{
    if (!c->early) return;
    cj_comment(f, "The next kernel may begin; wait for those before");
    cj_grid_launch_dependents(f);
    cj_grid_wait(f);
}

cj_dims cjk_early_dims(const cjk_code *c, cj_dims dims)
{
    static const cj_launch_opts early = { .size = sizeof early, .programmatic = 1 };
    return c->early ? cj_dims_opts(dims, &early) : dims;
}

/* -- Kernels of several modules at once ---------------------------------------------------------------------------- */

/* Threads that write and compile: as many as the host has processors, within these. */
enum { FEWEST_LOADERS = 4, MOST_LOADERS = 16 };

typedef struct loads {
    cj_kernel_cache *cache;
    cjk_module_part *part;
    size_t n;
    cjk_part_writer *write;
    const void *data;
    atomic_size_t next;
} loads;

static void *load_parts(void *all)
{
    loads *l = all;
    for (size_t i; (i = atomic_fetch_add(&l->next, 1)) < l->n;) {
        cjk_module_part *part = &l->part[i];
        if (l->write) l->write(l->data, i, part->m);
        if (cj_error_of(part->m)->status == CJ_OK)
            part->kernel = cj_kernel_cache_load(l->cache, part->m, part->name, NULL);
    }
    return NULL;
}

void cjk_load_parts(cj_kernel_cache *cache, cjk_module_part *part, size_t n, cjk_part_writer *write, const void *data)
{
    loads l = { .cache = cache, .part = part, .n = n, .write = write, .data = data };
    pthread_t helper[MOST_LOADERS];
    const int64_t processors = sysconf(_SC_NPROCESSORS_ONLN);
    int cancel = PTHREAD_CANCEL_ENABLE;
    size_t helpers = 0, most = processors < FEWEST_LOADERS ? FEWEST_LOADERS : (size_t)processors;
    if (most > MOST_LOADERS) most = MOST_LOADERS;
    if (most > n) most = n;
    /* a thread that is cancelled would leave the others with its stack, and lose what they load */
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
    while (helpers + 1 < most && !pthread_create(&helper[helpers], NULL, load_parts, &l)) helpers++;
    load_parts(&l);
    for (size_t i = 0; i < helpers; i++) pthread_join(helper[i], NULL);
    pthread_setcancelstate(cancel, NULL);
}

void cjk_release(void *code)
{
    cjk_code *c = code;
    cjk_slots_release(c); /* while the kernels keep the device open */
    for (size_t i = 0; i < CJK_KERNELS; i++) cj_kernel_free(c->k[i]);
    cj_ptx_free(c->m);
    if (c->cache) cache_release(c->cache);
}

cj_status cjk_print(void *object, const cj_object_type *type, unsigned flags, const char **text, size_t *bytes,
                    const char *call)
{
    cjk_code *c = cj_object_data(object, type, NULL, call);
    if (text) *text = "";
    if (bytes) *bytes = 0;
    if (!c) return cj_error_last()->status;
    cj_status st = cj_ptx_print(c->m, flags, text, bytes);
    return st == CJ_OK ? CJ_OK : cj_object_fail_from(object, c->m, call);
}
