/* Kernels that were compiled before: by the cache on disk, and by a key in memory.
 *
 * cache.hit_us.S        in a fresh process with its device open, from cj_kernel_load to the return of the first launch;
 *                       the image, of about S bytes, is on disk, and was read when the device was opened, since the
 *                       program used it lately
 * cache.bare_us.S       the same by cuModuleLoadData, cuModuleGetFunction and cuLaunchKernel, of the same bytes in
 *                       memory
 * cache.hit_ratio.S     the one over the other; medians of alternating processes
 * cache.unlisted_us.S   as cache.hit_us.S in processes that have no list of what the program used lately: the load
 *                       reads the image
 * cache.read_ahead_us   how much longer opening a device takes with a list of the three images than without, in
 *                       processor time; medians of alternating processes that have the device's context
 * cache.key_hit_ns      cj_kernel_cache_get with a key that has a kernel, and cj_kernel_free
 * cache.key_hit_ns.100k the same with 100,000 kernels, in random order */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "bench/driver_bench.h"

enum { PROCESSES = 20 };

/* -- In a fresh process -------------------------------------------------------------------------------------------- */

static void *read_file(const char *path, size_t *bytes)
{
    FILE *f = fopen(path, "rb");
    void *p = NULL;
    *bytes = 0;
    if (f && fseek(f, 0, SEEK_END) == 0) {
        const long n = ftell(f);
        rewind(f);
        if (n > 0 && (p = malloc((size_t)n))) *bytes = fread(p, 1, (size_t)n, f);
    }
    if (f) fclose(f);
    return p;
}

static double bare_hit(driver_bench *b, cj_stream *s, cj_dptr d, const char *file)
{
    size_t bytes;
    uint64_t p = d.addr;
    float a = 2;
    void *params[] = { &p, &a }, *image = read_file(file, &bytes);
    if (!bytes) return driver_fail(b, "the image cannot be read"), -1;
    const double t = driver_now_us();
    const CUmodule mod = driver_first_launch(b, s, image, "k", 1, params);
    const double us = driver_now_us() - t;
    driver_need(b, cj_stream_sync(s));
    if (mod) b->cu.cuModuleUnload(mod);
    free(image);
    return us;
}

static double our_hit(driver_bench *b, cj_stream *s, cj_dptr d, unsigned n)
{
    cj_ptx *m = driver_module(n, 0);
    const double t = driver_now_us();
    cj_kernel *k = cj_kernel_load(b->dev, m, "k", NULL);
    cj_launch(s, k, cj_grid(1, 1), d, 2.0f);
    const double us = driver_now_us() - t;
    driver_need_object(b, k);
    driver_need(b, cj_stream_sync(s));
    cj_kernel_free(k);
    cj_ptx_free(m);
    return us;
}

double driver_fresh_hit(driver_bench *b, const char *side, unsigned n, const char *file)
{
    cj_stream *s = cj_stream_create(b->dev, NULL);
    cj_dptr d = cj_alloc(s, 4);
    cj_fill32(s, d, 0, 1);
    driver_need(b, cj_stream_sync(s));
    const double us = b->failed ? -1 : !strcmp(side, "bare") ? bare_hit(b, s, d, file) : our_hit(b, s, d, n);
    cj_free(b->dev, d);
    cj_stream_free(s);
    return us;
}

static double cpu_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

double driver_fresh_open(driver_bench *b, const char *cache)
{
    cj_device_close(b->dev);
    setenv("CUJIT_CACHE", "1", 1);
    setenv("CUJIT_CACHE_DIR", cache, 1);
    const double t = cpu_ns();
    b->dev = cj_device_open(b->drv, 0, NULL);
    const double us = (cpu_ns() - t) / 1e3;
    driver_need_object(b, b->dev);
    return us;
}

/* -- Lists of what the program used lately ------------------------------------------------------------------------- */

typedef enum hit_list { LIST_REMOVE, LIST_AWAY, LIST_BACK } hit_list;

/* Removes the lists of a cache, gives them another name, or their own again.  Returns how many. */
static int each_list(const char *cache, hit_list what)
{
    static const char *const suffixes[] = { ".recent", ".recent-away" };
    const char *from = suffixes[what == LIST_BACK], *to = suffixes[what == LIST_AWAY];
    char path[600], other[600];
    int n = 0;
    DIR *dir = opendir(cache);
    for (struct dirent *e; dir && (e = readdir(dir)) != NULL;) {
        const size_t stem = strcspn(e->d_name, ".");
        if (strcmp(e->d_name + stem, from) != 0) continue;
        snprintf(path, sizeof path, "%s/%s", cache, e->d_name);
        snprintf(other, sizeof other, "%s/%.*s%s", cache, (int)stem, e->d_name, to);
        n += (what == LIST_REMOVE ? unlink(path) : rename(path, other)) == 0;
    }
    if (dir) closedir(dir);
    return n;
}

/* -- Both sides ---------------------------------------------------------------------------------------------------- */

static void write_image(driver_bench *b, const char *path, unsigned n, size_t *bytes)
{
    cj_ptx *m = driver_module(n, 0);
    cj_image *img = cj_image_create(b->dev, m, NULL);
    driver_need_object(b, img);
    const void *p = cj_image_data(img, bytes);
    FILE *f = p ? fopen(path, "wb") : NULL;
    if (!f || fwrite(p, 1, *bytes, f) != *bytes) driver_fail(b, "the image cannot be written");
    if (f) fclose(f);
    cj_image_free(img);
    cj_ptx_free(m);
}

static void report_hit(driver_bench *b, const char *name, const char *size, double value, const char *unit)
{
    char metric[80];
    snprintf(metric, sizeof metric, "%s.%s", name, size);
    driver_report(b, metric, value, unit);
}

enum { SIDE_BARE, SIDE_LISTED, SIDE_UNLISTED, SIDES };

/* The sides in turn, in each of the six orders about as often.  A process that closes its device has listed its kernel,
 * so only that of SIDE_UNLISTED finds no list; the first ones, which fill the cache, are not counted. */
static void fresh_hits(driver_bench *b, const char *cache, const char *const *const words[SIDES],
                       double us[SIDES][PROCESSES])
{
    for (int i = -1; i < PROCESSES && !b->failed; i++)
        for (int k = 0; k < SIDES && !b->failed; k++) {
            const int side = (k * (i & 1 ? 1 : 2) + i + 1) % SIDES;
            if (side == SIDE_UNLISTED && !each_list(cache, LIST_REMOVE)) driver_fail(b, "a process has left no list");
            const double t = driver_fresh(b, side == SIDE_BARE ? NULL : cache, words[side]);
            if (t < 0) driver_fail(b, "a fresh process failed");
            if (i >= 0) us[side][i] = t;
        }
}

static void one_size(driver_bench *b, const char *folder, const char *size, unsigned n)
{
    char file[300], cache[300], number[20];
    double us[SIDES][PROCESSES];
    size_t bytes = 0;
    snprintf(file, sizeof file, "%s/image", folder);
    snprintf(cache, sizeof cache, "%s/cache", folder);
    snprintf(number, sizeof number, "%u", n);
    const char *const ours[] = { "hit", "ours", number, file, NULL };
    const char *const bare[] = { "hit", "bare", number, file, NULL };
    write_image(b, file, n, &bytes);
    fresh_hits(b, cache, (const char *const *const[]){ bare, ours, ours }, us);
    if (b->failed) return;
    const double bare_us = bench_median(us[SIDE_BARE], PROCESSES), our_us = bench_median(us[SIDE_LISTED], PROCESSES);
    report_hit(b, "cache.image_bytes", size, (double)bytes, "bytes");
    report_hit(b, "cache.bare_us", size, bare_us, "us");
    report_hit(b, "cache.hit_us", size, our_us, "us");
    report_hit(b, "cache.hit_ratio", size, our_us / bare_us, "ratio");
    report_hit(b, "cache.unlisted_us", size, bench_median(us[SIDE_UNLISTED], PROCESSES), "us");
}

/* With a list of kernels of these sizes, and without; no process uses one, so the list stays as it is. */
static void read_ahead(driver_bench *b, const char *folder, const unsigned *sizes, int count)
{
    char file[300], cache[300], number[20];
    double us[2][PROCESSES];
    snprintf(file, sizeof file, "%s/image", folder);
    snprintf(cache, sizeof cache, "%s/cache", folder);
    const char *const hit[] = { "hit", "ours", number, file, NULL }, *const open[] = { "open", cache, NULL };
    for (int i = 0; i < count; i++) {
        snprintf(number, sizeof number, "%u", sizes[i]);
        if (driver_fresh(b, cache, hit) < 0) driver_fail(b, "a fresh process failed");
    }
    for (int i = -1; i < PROCESSES && !b->failed; i++)
        for (int half = 0; half < 2; half++) {
            const int listed = half ^ (i & 1);
            if (!listed && !each_list(cache, LIST_AWAY)) driver_fail(b, "there is no list");
            const double t = driver_fresh(b, NULL, open);
            if (!listed) each_list(cache, LIST_BACK);
            if (t < 0) driver_fail(b, "a fresh process failed");
            if (i >= 0) us[listed][i] = t;
        }
    if (b->failed) return;
    driver_report(b, "cache.read_ahead_us", bench_median(us[1], PROCESSES) - bench_median(us[0], PROCESSES), "us");
}

void driver_hits(driver_bench *b)
{
    /* An instruction is 16 bytes of code; an image of the CPU device is text. */
    static const struct { const char *name; unsigned gpu, sim; } sizes[] = {
        { "5k", 110, 130 }, { "20k", 1050, 560 }, { "70k", 4200, 1950 }
    };
    enum { SIZES = sizeof sizes / sizeof *sizes };
    char folder[] = "/tmp/cujit-bench-XXXXXX", path[300];
    unsigned instructions[SIZES];
    if (!driver_folder_begin(b, folder)) return;
    for (int i = 0; i < SIZES; i++) {
        instructions[i] = b->gpu ? sizes[i].gpu : sizes[i].sim;
        one_size(b, folder, sizes[i].name, instructions[i]);
    }
    read_ahead(b, folder, instructions, SIZES);
    /* A process that did not find its kernel would have stored one under another key. */
    snprintf(path, sizeof path, "%s/cache", folder);
    cj_disk_cache *c = cj_disk_cache_open(path);
    cj_disk_cache_stats stats;
    cj_disk_cache_stats_defaults(&stats);
    cj_disk_cache_get_stats(c, &stats);
    if (stats.entries != SIZES) driver_fail(b, "kernels were not found in the cache");
    cj_disk_cache_close(c);
    driver_folder_end(path);
    snprintf(path, sizeof path, "%s/image", folder);
    unlink(path);
    rmdir(folder);
}

/* -- By a key ------------------------------------------------------------------------------------------------------ */

static cj_kernel *load_module(void *m, cj_device *dev) { return cj_kernel_load(dev, m, "k", NULL); }

/* Keys of one kernel, so that its own memory is near: what the cache itself costs. */
static void many_keys(driver_bench *b, cj_kernel *k)
{
    enum { ROUNDS = 31, GETS = 20000, KEYS = 100000 };
    double ns[ROUNDS];
    uint32_t seed = 1;
    cj_kernel_cache *c = cj_kernel_cache_create(b->dev, CJ_KERNEL_CACHE(.kernels = KEYS));
    for (uint32_t i = 0; i < KEYS; i++) cj_kernel_free(cj_kernel_cache_put(c, &i, sizeof i, k));
    for (int r = 0; r < ROUNDS && !b->failed; r++) {
        const double t = cpu_ns();
        for (int i = 0; i < GETS; i++) {
            seed = seed * 1664525 + 1013904223;
            const uint32_t key = (seed >> 4) % KEYS;
            cj_kernel_free(cj_kernel_cache_get(c, &key, sizeof key, load_module, NULL));
        }
        ns[r] = (cpu_ns() - t) / GETS;
    }
    cj_kernel_cache_stats stats;
    cj_kernel_cache_stats_defaults(&stats);
    driver_need(b, cj_kernel_cache_get_stats(c, &stats));
    if (stats.kernels != KEYS || stats.hits != (uint64_t)ROUNDS * GETS) driver_fail(b, "not all kernels were found");
    if (!b->failed) driver_report(b, "cache.key_hit_ns.100k", bench_median(ns, ROUNDS), "ns");
    cj_kernel_cache_free(c);
}

void driver_keys(driver_bench *b)
{
    enum { ROUNDS = 31, GETS = 20000 };
    double ns[ROUNDS];
    uint8_t key[16] = { 0 };
    cj_ptx *m = driver_module(10, 1);
    cj_kernel_cache *c = cj_kernel_cache_create(b->dev, NULL);
    driver_need(b, cj_ptx_hash(m, key));
    for (int r = 0; r < ROUNDS && !b->failed; r++) {
        cj_kernel *k = cj_kernel_cache_get(c, key, sizeof key, load_module, m);
        driver_need_object(b, k);
        cj_kernel_free(k);
        const double t = cpu_ns();
        for (int i = 0; i < GETS; i++) cj_kernel_free(cj_kernel_cache_get(c, key, sizeof key, load_module, m));
        ns[r] = (cpu_ns() - t) / GETS;
    }
    if (!b->failed) driver_report(b, "cache.key_hit_ns", bench_median(ns, ROUNDS), "ns");
    cj_kernel *k = cj_kernel_load(b->dev, m, "k", NULL);
    if (!b->failed) many_keys(b, k);
    cj_kernel_free(k);
    cj_kernel_cache_free(c);
    cj_ptx_free(m);
}
