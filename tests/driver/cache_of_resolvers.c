/* The kernel cache over drivers of functions: one has a cache where files identify it; what the compiler logged is
 * found with the code; one compilation serves all threads that wait for it; what the linker takes in vain is linked
 * once; and the list of what a program used is written when it closes its device. */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "driver/cache/memo.h"
#include "driver/driver.h"
#include "tests/driver/cache_parts.h"
#include "tests/driver/libfake.h"
#include "tests/latch.h"
#include "tests/tap.h"

static cji_disk_folder folder;

static void fresh_folder(void)
{
    if (!*folder.path) folder = cache_folder();
    else if (mkdir(folder.path, 0700)) tap_bail("no folder");
    setenv("CUJIT_CACHE_DIR", folder.path, 1);
    libfake_reset();
}

static cj_ptx *built(int number)
{
    cj_ptx *m = cj_ptx_create();
    cj_fn *f = cj_ptx_kernel(m, "k");
    cj_val x = cj_param_ptr(f, "x", CJ_U32);
    cj_set(f, x, 0, cj_imm(f, number));
    return m;
}

static int linked(void)
{
    const int n = lib.calls[CJI_CU_ID_cuLinkComplete];
    lib.calls[CJI_CU_ID_cuLinkComplete] = 0;
    return n;
}

/* How often a kernel is linked that two builders make, one after the other. */
static int links_of_two(cj_device *dev, int number)
{
    for (int i = 0; i < 2; i++) {
        cj_ptx *m = built(number);
        cj_kernel *k = cj_kernel_load(dev, m, "k", NULL);
        if (cj_error_of(k)->status) tap_fail("a load: %s", cj_error_of(k)->message);
        cj_kernel_free(k);
        cj_ptx_free(m);
    }
    return linked();
}

/* -- Where functions are from -------------------------------------------------------------------------------------- */

/* A function in memory that is of no file, and continues at `target`; NULL: not on this machine. */
static void *without_file(void *target)
{
#ifdef __x86_64__
    unsigned char *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) return NULL;
    memcpy(p, "\x49\xbb", 2);                  /* movabs r11, target */
    memcpy(p + 2, &target, sizeof target);
    memcpy(p + 10, "\x41\xff\xe3", 3);         /* jmp *r11 */
    return mprotect(p, 4096, PROT_READ | PROT_EXEC) ? NULL : p;
#else
    (void)target;
    return NULL;
#endif
}

static void *moved_symbol(void *user, const char *symbol)
{
    void *fn = libfake_symbol(NULL, symbol);
    return fn && !strcmp(symbol, user) ? without_file(fn) : fn;
}

static void by_files(void)
{
    static const struct { const char *name, *moved; int links; } rows[] = {
        { "all functions are of a file", "none", 1 },
        { "cuInit is of none", "cuInit", 2 },
        { "the linker is of none", "cuLinkComplete", 2 },
        { "what loads code is of none", "cuModuleLoadData", 2 },
        { "another function is of none", "cuMemGetInfo_v2", 1 },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (rows[i].links == 2 && !without_file(NULL)) continue;
        fresh_folder();
        for (int process = 0; process < 2; process++) { /* as the next one would: nothing is in memory */
            cj_driver *drv = cj_driver_open_resolver(moved_symbol, (void *)(uintptr_t)rows[i].moved);
            cj_device *dev = cj_device_open(drv, 0, NULL);
            tap_is_int(links_of_two(dev, 1), process && rows[i].links == 1 ? 0 : rows[i].links,
                       "%s: links of two loads%s", rows[i].name, process ? ", opened again" : "");
            cj_device_close(dev);
            cj_driver_close(drv);
        }
        tap_is_int(cache_files(&folder, ".kernel", NULL), rows[i].links == 1, "%s: entries on disk", rows[i].name);
        cache_folder_remove(&folder);
    }
}

/* -- Logs ---------------------------------------------------------------------------------------------------------- */

enum { THREADS = 8 };
static cj_device *shared;
static struct latch may_link;
static const char warning[] = "ptxas warning : Value of threads per SM is out of range\n";

static CUresult held_complete(CUlinkState state, void **cubin, size_t *bytes)
{
    void *next = libfake_symbol(NULL, "cuLinkComplete");
    CUresult (*fn)(CUlinkState, void **, size_t *);
    latch_wait(&may_link);
    memcpy(&fn, &next, sizeof fn);
    return fn(state, cubin, bytes);
}

static void *held_symbol(void *user, const char *symbol)
{
    CUresult (*held)(CUlinkState, void **, size_t *) = held_complete;
    void *fn = libfake_symbol(user, symbol);
    if (!strcmp(symbol, "cuLinkComplete")) memcpy(&fn, &held, sizeof fn);
    return fn;
}

static void *make_image(void *user)
{
    cj_ptx *m = built(5);
    cj_image *img = cj_image_create(shared, m, NULL);
    cj_ptx_free(m);
    (void)user;
    return img;
}

static void by_threads(void)
{
    pthread_t thread[THREADS];
    cji_memo_counts n = { .waits = 0 };
    fresh_folder();
    lib.log = warning;
    may_link = (struct latch)LATCH_CLOSED;
    cj_driver *drv = cj_driver_open_resolver(held_symbol, NULL);
    shared = cj_device_open(drv, 0, NULL);
    if (pthread_create(&thread[0], NULL, make_image, NULL)) tap_bail("no thread");
    latch_entered(&may_link);
    for (int i = 1; i < THREADS; i++)
        if (pthread_create(&thread[i], NULL, make_image, NULL)) tap_bail("no thread");
    while (shared->images && n.waits < THREADS - 1) {
        sched_yield();
        cji_memo_count(shared->images, &n);
    }
    latch_open(&may_link);
    int good = 0;
    for (int i = 0; i < THREADS; i++) {
        void *img;
        pthread_join(thread[i], &img);
        good += cj_error_of(img)->status == CJ_OK && !strcmp(cj_image_log(img), warning);
        cj_image_free(img);
    }
    tap_is_int(linked(), 1, "a compiler that warns: one link for %d threads", THREADS);
    tap_is_int(good, THREADS, "all have its log");
    if (shared->images) cji_memo_count(shared->images, &n);
    const size_t least = lib.cubin + strlen(warning) + sizeof(cji_entries) + sizeof(cji_disk_found);
    tap_ok(n.values == 1 && n.weight >= least, "it weighs what it takes: %d bytes", (int)n.weight);
    cj_image *later = make_image(NULL);
    tap_ok(!linked() && !strcmp(cj_image_log(later), warning), "and so has a later image, from memory");
    cj_image_free(later);
    cj_device_close(shared);
    cj_driver_close(drv);
    cache_folder_remove(&folder);
}

/* Compiled as a whole program when it is loaded, since the linker's answer is of no use. */
static void in_vain(void)
{
    static const struct { const char *name, *log; CUresult result; } rows[] = {
        { "serialised wgmma", "ptxas info : wgmma.mma_async instructions are serialized due to the presence of Extern "
                              "calls in the function 'k'\n", CUDA_SUCCESS },
        { "no ABI", "ptxas warning : Function 'f' with multiple return values found, disabling ABI\n",
          CUDA_ERROR_INVALID_PTX },
    };
    static const char *const when[] = { "", ", the device opened again", ", and without a list" };
    char list[CJI_DISK_PATH];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        fresh_folder();
        lib.log = rows[i].log;
        if (rows[i].result != CUDA_SUCCESS) lib.fail_id = CJI_CU_ID_cuLinkComplete, lib.fail_with = rows[i].result;
        cj_driver *drv = libfake_open();
        for (int process = 0; process < 3; process++) {
            if (process == 2 && cache_files(&folder, ".recent", list)) remove(list);
            cj_device *dev = cj_device_open(drv, 0, NULL);
            tap_is_int(links_of_two(dev, 9), !process, "%s: links of two loads%s", rows[i].name, when[process]);
            tap_is_int(lib.calls[CJI_CU_ID_cuModuleLoadDataEx], 2 * (process + 1), "%s: each is compiled as a whole",
                       rows[i].name);
            cj_device_close(dev);
        }
        cj_device *dev = cj_device_open(drv, 0, NULL);
        tap_is_int(links_of_two(dev, 10), 1, "%s: another module is linked", rows[i].name);
        cj_device_close(dev);
        cj_driver_close(drv);
        cache_folder_remove(&folder);
    }
}

/* -- The list of what was used ------------------------------------------------------------------------------------- */

static void list_when_closed(void)
{
    char path[CJI_DISK_PATH];
    fresh_folder();
    cj_driver *drv = libfake_open();
    cj_device *dev = cj_device_open(drv, 0, NULL);
    cj_ptx *m = built(1);
    cj_kernel *k = cj_kernel_load(dev, m, "k", NULL);
    cj_ptx_free(m);
    tap_is_int(cache_files(&folder, ".recent", NULL), 0, "no list while the device is open");
    cj_device_close(dev);
    tap_is_int(cache_files(&folder, ".recent", path), 1, "it is closed, and a kernel keeps it: the list is there");
    if (remove(path)) tap_bail("no list");
    cj_kernel_free(k);
    tap_is_int(cache_files(&folder, ".recent", NULL), 0, "the last reference, a kernel's, writes nothing");
    cj_driver_close(drv);
    cache_folder_remove(&folder);
}

/* What is loaded behind the close, by an object that keeps the device, is listed with the last reference. */
static void list_after_close(void)
{
    fresh_folder();
    cj_driver *drv = libfake_open();
    cj_device *dev = cj_device_open(drv, 0, NULL);
    cj_kernel_cache *c = cj_kernel_cache_create(dev, NULL);
    cj_device_close(dev);
    cj_ptx *m = built(1);
    cj_kernel_free(cj_kernel_cache_load(c, m, "k", NULL));
    cj_ptx_free(m);
    tap_is_int(cache_files(&folder, ".recent", NULL), 0, "loaded behind the close: not listed yet");
    cj_kernel_cache_free(c);
    tap_is_int(cache_files(&folder, ".recent", NULL), 1, "listed with the last reference");
    cj_driver_close(drv);
    cache_folder_remove(&folder);
}

int main(void)
{
    tap_plan(0);
    unsetenv("CUJIT_CACHE");
    by_files();
    by_threads();
    in_vain();
    list_when_closed();
    list_after_close();
    return tap_done();
}
