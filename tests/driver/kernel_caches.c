/* cj_kernel_cache: a kernel is built once for a key, by one thread; the least recently used one is released; failures
 * are not kept; builds that wait for each other fail; the counts. */
#include <cujit/cujit.h>

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "tests/latch.h"
#include "tests/tap.h"

enum { THREADS = 8 };
static cj_driver *drv;
static cj_device *dev;
static cj_kernel_cache *cache;
static atomic_int builds;

static cj_ptx *module_of(int number)
{
    cj_ptx *m = cj_ptx_create();
    cj_fn *f = cj_ptx_kernel(m, "k");
    cj_val x = cj_param_ptr(f, "x", CJ_U32), i = cj_global_id(f, CJ_X);
    cj_set(f, x, i, cj_add(f, i, cj_imm(f, number)));
    return m;
}

static cj_kernel *build(void *user, cj_device *on)
{
    cj_ptx *m = module_of(*(const int *)user);
    cj_kernel *k = cj_kernel_load(on, m, "k", NULL);
    builds++;
    cj_ptx_free(m);
    return k;
}

static cj_kernel *get(int number) { return cj_kernel_cache_get(cache, &number, sizeof number, build, &number); }

/* Whether the key has a kernel. */
static bool has(int number)
{
    cj_kernel *k = NULL;
    bool found = cj_kernel_cache_find(cache, &number, sizeof number, &k) == CJ_OK;
    cj_kernel_free(k);
    return found;
}

static cj_kernel_cache_stats stats(void)
{
    cj_kernel_cache_stats s;
    cj_kernel_cache_stats_defaults(&s);
    cj_kernel_cache_get_stats(cache, &s);
    return s;
}

static void hits(void)
{
    builds = 0;
    cj_kernel *a = get(1), *b = get(1), *c = get(2);
    tap_ok(a == b && a != c && cj_error_of(a)->status == CJ_OK, "a key has one kernel (%s)", cj_error_of(a)->message);
    tap_is_int(builds, 2, "which is built once");
    cj_kernel_free(a);
    cj_kernel_free(b);
    cj_kernel_free(c);
    cj_kernel_cache_stats s = stats();
    tap_ok(s.kernels == 2 && s.hits == 1 && s.builds == 2 && !s.waits && !s.failures && !s.evictions, "the counts");
    char key[2][40] = { "a key of many bytes, the last of which 1", "a key of many bytes, the last of which 2" };
    int one = 1, two = 2;
    a = cj_kernel_cache_get(cache, key[0], sizeof key[0], build, &one);
    b = cj_kernel_cache_get(cache, key[1], sizeof key[1], build, &two);
    c = cj_kernel_cache_get(cache, key[0], sizeof key[0] - 1, build, &two);
    tap_ok(a != b && a != c && b != c, "keys are compared to their last byte, and by their length");
    cj_kernel_free(a);
    cj_kernel_free(b);
    cj_kernel_free(c);
}

static void bound(void)
{
    cj_kernel_cache_free(cache);
    cache = cj_kernel_cache_create(dev, CJ_KERNEL_CACHE(.kernels = 3));
    for (int i = 0; i < 3; i++) cj_kernel_free(get(i));
    cj_kernel_free(get(0));
    cj_kernel *held = get(1);
    cj_kernel_free(get(3));
    tap_ok(has(0) && has(1) && !has(2) && has(3), "the one that was not used for the longest time is released");
    cj_kernel_free(get(4));
    tap_ok(!has(0) && has(1), "and then the next one");
    cj_kernel_free(get(5));
    cj_kernel_free(get(6));
    cj_kernel_free(get(7));
    tap_ok(!has(1) && cj_kernel_params(held) == 1, "a kernel that the caller has outlives its place");
    cj_kernel_free(held);
    cj_kernel_cache_stats s = stats();
    tap_ok(s.kernels == 3 && s.evictions == 5 && s.builds == 8, "%d kernels, %d evicted", (int)s.kernels,
           (int)s.evictions);
    int seven = 7;
    tap_is_int(cj_kernel_cache_forget(cache, &seven, sizeof seven), CJ_OK, "a key is forgotten");
    tap_is_int(cj_kernel_cache_forget(cache, &seven, sizeof seven), CJ_ENOTFOUND, "once");
    tap_is_int(cj_kernel_cache_clear(cache), CJ_OK, "all are forgotten");
    tap_ok(stats().kernels == 0 && !has(6), "and there are none");
}

/* -- Threads ------------------------------------------------------------------------------------------------------- */

static struct latch began = LATCH_CLOSED, may_end = LATCH_CLOSED;

static cj_kernel *build_held(void *user, cj_device *on)
{
    latch_open(&began);
    latch_wait(&may_end);
    return build(user, on);
}

static void *get_held(void *number) { return cj_kernel_cache_get(cache, number, sizeof(int), build_held, number); }

static void one_builds(void)
{
    pthread_t thread[THREADS];
    void *k[THREADS];
    int number = 50, same = 0;
    builds = 0;
    pthread_create(&thread[0], NULL, get_held, &number);
    latch_wait(&began);
    cj_kernel *found = (cj_kernel *)dev;
    tap_is_int(cj_kernel_cache_find(cache, &number, sizeof number, &found), CJ_ENOTREADY,
               "while a kernel is built, who does not wait is told so");
    tap_ok(!found, "without a kernel");
    for (int i = 1; i < THREADS; i++) pthread_create(&thread[i], NULL, get_held, &number);
    while (stats().waits < THREADS - 1) sched_yield(); /* all of them wait */
    latch_open(&may_end);
    for (int i = 0; i < THREADS; i++) pthread_join(thread[i], &k[i]);
    for (int i = 0; i < THREADS; i++) same += k[i] == k[0];
    tap_ok(same == THREADS && builds == 1, "%d threads get one kernel, which one of them builds", THREADS);
    for (int i = 0; i < THREADS; i++) cj_kernel_free(k[i]);
    tap_is_int(cj_kernel_cache_forget(cache, &number, sizeof number), CJ_OK, "it is kept");
}

/* Two threads, each of which builds a kernel of one cache and gets the other's of the other cache. */
static cj_kernel_cache *caches[2];
static pthread_barrier_t both_build;

static cj_kernel *build_of_other(void *user, cj_device *on)
{
    const int other = !*(int *)user, key = 1;
    pthread_barrier_wait(&both_build);
    cj_kernel *k = cj_kernel_cache_get(caches[other], &key, sizeof key, build, user);
    if (cj_error_of(k)->status != CJ_ESTATE) return k;
    cj_kernel_free(k);
    return build(user, on);
}

static void *get_of(void *number)
{
    const int key = 1;
    return cj_kernel_cache_get(caches[*(int *)number], &key, sizeof key, build_of_other, number);
}

static void two_caches(void)
{
    pthread_t thread[2];
    int number[2] = { 0, 1 }, good = 0;
    pthread_barrier_init(&both_build, NULL, 2);
    builds = 0;
    for (int i = 0; i < 2; i++) caches[i] = cj_kernel_cache_create(dev, NULL);
    for (int i = 0; i < 2; i++) pthread_create(&thread[i], NULL, get_of, &number[i]);
    for (int i = 0; i < 2; i++) {
        void *k;
        pthread_join(thread[i], &k);
        good += cj_error_of(k)->status == CJ_OK;
        cj_kernel_free(k);
    }
    tap_is_int(good, 2, "builds of two caches that need each other's kernel end");
    tap_is_int(builds, 1, "the second to wait gets an error instead");
    for (int i = 0; i < 2; i++) cj_kernel_cache_free(caches[i]);
    pthread_barrier_destroy(&both_build);
}

static cj_kernel *build_failing(void *user, cj_device *on)
{
    builds++;
    (void)user;
    return cj_kernel_load(on, NULL, "k", NULL);
}

static cj_kernel *build_nothing(void *user, cj_device *on) { return (void)user, (void)on, NULL; }
static cj_kernel *build_itself(void *user, cj_device *on)
{
    (void)on;
    return cj_kernel_cache_get(cache, user, sizeof(int), build_itself, user);
}

static cj_kernel *build_put(void *user, cj_device *on)
{
    cj_kernel *k = build(user, on), *put = cj_kernel_cache_put(cache, user, sizeof(int), k);
    cj_kernel_free(k);
    return put;
}

/* The same device through another driver object is another device. */
static cj_kernel *build_elsewhere(void *user, cj_device *on)
{
    (void)on;
    cj_driver *over = cj_driver_open_interposed(drv, NULL);
    cj_device *other = cj_device_open(over, 0, NULL);
    cj_kernel *k = build(user, other);
    cj_device_close(other);
    cj_driver_close(over);
    return k;
}

static void failures(void)
{
    int number = 60;
    const uint64_t waits = stats().waits;
    builds = 0;
    for (int i = 0; i < 2; i++) {
        cj_kernel *k = cj_kernel_cache_get(cache, &number, sizeof number, build_failing, NULL);
        tap_is_int(cj_error_of(k)->status, CJ_EHANDLE, "a build that fails: its failure");
        cj_kernel_free(k);
    }
    tap_ok(builds == 2 && !has(number), "which is not kept");
    cj_kernel *none = cj_kernel_cache_get(cache, &number, sizeof number, build_nothing, NULL);
    tap_has_str(cj_error_of(none)->message, "returned no kernel", "a build function that returns NULL");
    cj_kernel_free(none);
    cj_kernel *elsewhere = cj_kernel_cache_get(cache, &number, sizeof number, build_elsewhere, &number);
    tap_has_str(cj_error_of(elsewhere)->message, "returned a kernel of another device", "one of another device");
    cj_kernel_free(elsewhere);
    cj_kernel *of_other = build_elsewhere(&number, NULL), *put = cj_kernel_cache_put(cache, "x", 1, of_other);
    tap_has_str(cj_error_of(put)->message, "the kernel is of another device than the cache",
                "such a kernel is not put");
    cj_kernel_free(put), cj_kernel_free(of_other);
    cj_kernel *loop = cj_kernel_cache_get(cache, &number, sizeof number, build_itself, &number);
    tap_is_int(cj_error_of(loop)->status, CJ_ESTATE, "a build function that gets its own key: %s",
               cj_error_of(loop)->message);
    cj_kernel_free(loop);
    loop = cj_kernel_cache_get(cache, &number, sizeof number, build_put, &number);
    tap_is_int(cj_error_of(loop)->status, CJ_ESTATE, "one that puts its own key");
    cj_kernel_free(loop);
    tap_is_uint(stats().waits, waits, "neither waits for itself");
    cj_kernel *good = get(number);
    tap_is_int(cj_error_of(good)->status, CJ_OK, "the next build succeeds");
    cj_kernel_free(good);
    static const struct { const char *name; const void *key; size_t bytes; cj_kernel_build_fn build; } rows[] = {
        { "no key", NULL, 4, build }, { "no bytes", "x", 0, build }, { "no function", "x", 1, NULL },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        cj_kernel *k = cj_kernel_cache_get(cache, rows[i].key, rows[i].bytes, rows[i].build, NULL);
        tap_is_int(cj_error_of(k)->status, CJ_EINVAL, "%s", rows[i].name);
        cj_kernel_free(k);
    }
    static const uint32_t wrong[] = { 0, 1000001 };
    for (int i = 0; i < 2; i++) {
        cj_kernel_cache *c = cj_kernel_cache_create(dev, CJ_KERNEL_CACHE(.kernels = wrong[i]));
        tap_is_int(cj_error_of(c)->status, CJ_EINVAL, "%u kernels", wrong[i]);
        cj_kernel_cache_free(c);
    }
}

/* Two threads, each of which builds a key and gets the other's. */
static int pair[2] = { 70, 71 };
static struct latch in_build[2] = { LATCH_CLOSED, LATCH_CLOSED };

static cj_kernel *build_crossed(void *user, cj_device *on)
{
    int me = *(const int *)user - 70;
    latch_open(&in_build[me]);
    latch_wait(&in_build[1 - me]);
    cj_kernel *others = cj_kernel_cache_get(cache, &pair[1 - me], sizeof(int), build, &pair[1 - me]);
    cj_kernel *k = cj_error_of(others)->status ? others : build(user, on);
    if (k != others) cj_kernel_free(others);
    return k;
}

static void *get_crossed(void *number)
{
    return cj_kernel_cache_get(cache, number, sizeof(int), build_crossed, number);
}

static void crossed(void)
{
    pthread_t thread[2];
    void *k[2];
    int failed = 0;
    for (int i = 0; i < 2; i++) pthread_create(&thread[i], NULL, get_crossed, &pair[i]);
    for (int i = 0; i < 2; i++) pthread_join(thread[i], &k[i]);
    for (int i = 0; i < 2; i++) failed += cj_error_of(k[i])->status == CJ_ESTATE;
    tap_ok(failed >= 1, "builds that wait for each other fail, and do not wait for ever");
    for (int i = 0; i < 2; i++) cj_kernel_free(k[i]);
}

/* -- Builders ------------------------------------------------------------------------------------------------------ */

static void builders(void)
{
    cj_ptx *m = module_of(80), *same = module_of(80), *other = module_of(81);
    uint8_t a[16], b[16], c[16];
    tap_ok(cj_ptx_hash(m, a) == CJ_OK && cj_ptx_hash(same, b) == CJ_OK && cj_ptx_hash(other, c) == CJ_OK &&
               !memcmp(a, b, 16) && memcmp(a, c, 16),
           "cj_ptx_hash tells modules apart");
    cj_kernel *k = cj_kernel_cache_load(cache, m, "k", NULL), *l = cj_kernel_cache_load(cache, same, "k", NULL),
              *n = cj_kernel_cache_load(cache, other, "k", NULL),
              *o = cj_kernel_cache_load(cache, same, "k", CJ_COMPILE(.max_registers = 64));
    tap_ok(k == l && k != n && k != o, "equal builders have one kernel, for the same options");
    cj_kernel *wrong = cj_kernel_cache_load(cache, other, "none", NULL);
    tap_is_int(cj_error_of(wrong)->status, CJ_ENOTFOUND, "a name that is none");
    cj_kernel *put = cj_kernel_cache_put(cache, a, sizeof a, k), *second = cj_kernel_cache_put(cache, a, sizeof a, n);
    tap_ok(put == k && second == k, "the first kernel that is put stays");
    cj_kernel *all[] = { k, l, n, o, wrong, put, second };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) cj_kernel_free(all[i]);
    cj_ptx_free(m);
    cj_ptx_free(same);
    cj_ptx_free(other);
    tap_is_int(cj_ptx_hash(NULL, a), CJ_EHANDLE, "no module");
    m = cj_ptx_create();
    cj_ptx_kernel(m, "one");
    cj_ptx_kernel(m, "two");
    k = cj_kernel_cache_load(cache, m, "one", NULL);
    l = cj_kernel_cache_load(cache, m, "two", NULL);
    tap_ok(k != l && !strcmp(cj_kernel_name(k), "one") && !strcmp(cj_kernel_name(l), "two"),
           "the kernels of one module have their own keys");
    cj_kernel_free(k);
    cj_kernel_free(l);
    cj_ptx_free(m);
}

int main(void)
{
    tap_need_device(1);
    tap_plan(0);
    drv = cj_driver_open(NULL);
    dev = cj_device_open(drv, 0, NULL);
    cache = cj_kernel_cache_create(dev, NULL);
    hits();
    bound();
    one_builds();
    two_caches();
    failures();
    crossed();
    builders();
    cj_kernel_cache_free(cache);
    cj_device_close(dev);
    cj_driver_close(drv);
    return tap_done();
}
