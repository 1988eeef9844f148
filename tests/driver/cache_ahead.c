/* What a program used lately is read when it opens a device: its loads compile nothing then, whatever becomes of the
 * entries' files behind the opening.  What is too large, damaged or another device's is not kept, and a list that is
 * none does no harm. */
#include <cujit/cujit.h>

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "driver/driver.h"
#include "tests/driver/cache_parts.h"
#include "tests/tap.h"
#include "tests/tap_folder.h"

enum { KERNELS = 36, KIB = 1024 };
static cji_disk_folder folder;
static cj_driver *under, *drv;
static cj_device *dev;
static atomic_int links;
static cji_hash128 key_of[KERNELS]; /* of the entry of kernel i */
static bool known[KERNELS];

static void count_links(void *user, uint64_t number, const char *name, const char *text, int result)
{
    (void)user, (void)number, (void)text, (void)result;
    if (!strcmp(name, "cuLinkComplete")) links++;
}

static void open_device(void)
{
    dev = cj_device_open(drv, 0, NULL);
    if (cj_error_of(dev)->status) tap_bail("%s", cj_error_of(dev)->message);
}

static void close_device(void)
{
    cj_device_close(dev);
    dev = NULL;
}

/* -- Kernels ------------------------------------------------------------------------------------------------------- */

/* Loads kernel i and runs it: how often something was compiled; -1: it computes what it should not. */
static int load(int i)
{
    uint32_t out[32] = { 0 };
    cj_ptx *m = cj_ptx_create();
    cj_fn *f = cj_ptx_kernel(m, "k");
    cj_val x = cj_param_ptr(f, "x", CJ_U32), n = cj_global_id(f, CJ_X);
    cj_set(f, x, n, cj_add(f, n, cj_imm(f, i)));
    links = 0;
    cj_kernel *k = cj_kernel_load(dev, m, "k", NULL);
    cj_stream *s = cj_stream_create(dev, NULL);
    cj_dptr d = cj_alloc(s, sizeof out);
    cj_launch(s, k, cj_threads(32, 32), d);
    cj_copy_to_host(s, out, d, sizeof out);
    bool good = cj_stream_sync(s) == CJ_OK;
    if (!good) tap_diag("%s", cj_error_of(s)->message);
    for (uint32_t t = 0; t < 32; t++) good = good && out[t] == t + (uint32_t)i;
    cj_free(dev, d);
    cj_stream_free(s);
    cj_kernel_free(k);
    cj_ptx_free(m);
    return good ? links : -1;
}

static bool is_known(cji_hash128 key)
{
    bool found = false;
    for (int i = 0; i < KERNELS; i++) found = found || (known[i] && cji_hash128_equal(key_of[i], key));
    return found;
}

/* Kernel i has an entry, of one key in every run. */
static void store(int i)
{
    cji_disk_list list;
    if (load(i) < 0 || !cji_disk_list_read(&folder, (int64_t)time(NULL), &list)) tap_bail("kernel %d", i);
    for (size_t k = 0; k < list.entries.n && !known[i]; k++)
        if (!is_known(list.entries.item[k].key)) key_of[i] = list.entries.item[k].key, known[i] = true;
    cji_disk_list_free(&list);
    if (!known[i]) tap_bail("kernel %d has no entry", i);
}

static void file_of(char path[CJI_DISK_PATH], int i)
{
    char name[CJI_DISK_NAME];
    cji_disk_name(name, key_of[i]);
    snprintf(path, CJI_DISK_PATH, "%.900s/%s", folder.path, name);
}

/* A device that used the kernels 0 to n - 1, in this order, was closed. */
static void begin(int n)
{
    cache_folder_remove(&folder);
    if (mkdir(folder.path, 0700)) tap_bail("no folder");
    open_device();
    for (int i = 0; i < n; i++) store(i);
    close_device();
}

/* Opens the device, and removes all entries behind the opening: what is not compiled then was read by it. */
static void open_and_lose_entries(void)
{
    open_device();
    for (int i = 0; i < KERNELS; i++) {
        char path[CJI_DISK_PATH];
        file_of(path, i);
        if (known[i]) unlink(path);
    }
}

/* Whether the program's list has these kernels, a digit each, in this order. */
static bool list_is(const char *digits)
{
    cji_disk_ready *ready = cji_disk_prepare();
    cji_disk_recent *r = cji_disk_recent_begin(NULL, drv->build, ready);
    bool good = r && r->listed.n == strlen(digits);
    for (size_t i = 0; good && digits[i]; i++) good = cji_hash128_equal(r->listed.key[i], key_of[digits[i] - '0']);
    cji_disk_recent_end(r);
    cji_disk_unprepare(ready);
    return good;
}

/* -- Cases --------------------------------------------------------------------------------------------------------- */

static void listed(void)
{
    begin(3);
    tap_ok(list_is("210"), "a device that is closed leaves the list of its keys, the latest first");
    open_and_lose_entries();
    for (int i = 0; i < 3; i++) tap_is_int(load(i), 0, "kernel %d was read when the device was opened", i);
    tap_is_int(cache_files(&folder, ".kernel", NULL), 0, "there is no other place that it could be from");
    tap_is_int(load(3), 1, "what was not used is compiled");
    close_device();
    open_and_lose_entries();
    tap_is_int(load(0), 1, "and so is what is gone");
    close_device();
}

static void not_written(void)
{
    struct stat a, b;
    char path[CJI_DISK_PATH];
    begin(3);
    if (cache_files(&folder, ".recent", path) != 1 || stat(path, &a)) tap_bail("no list");
    open_device();
    load(1), load(2), load(0);
    close_device();
    tap_ok(stat(path, &b) == 0 && a.st_ino == b.st_ino, "a device that used the same keys writes no list");
    open_device();
    close_device();
    tap_ok(stat(path, &b) == 0 && a.st_ino == b.st_ino, "nor does one that used nothing");
    open_device();
    load(1);
    store(3);
    close_device();
    tap_ok(stat(path, &b) == 0 && a.st_ino != b.st_ino, "one that used another one does");
    tap_ok(list_is("3120"), "what was found in memory was used, too");
}

static void too_many(void)
{
    int compiled = 0, wrong = 0;
    begin(CJI_DISK_RECENT_KEYS + 2);
    open_and_lose_entries();
    for (int i = 2; i < CJI_DISK_RECENT_KEYS + 2; i++) compiled += load(i);
    for (int i = 0; i < 2; i++) wrong += load(i) != 1;
    tap_is_int(compiled, 0, "the %d latest kernels are read", CJI_DISK_RECENT_KEYS);
    tap_is_int(wrong, 0, "and no others");
    close_device();
}

/* The entry of kernel i gets so many bytes in all, and such a label, unless that is NULL. */
static void rewrite(int i, size_t bytes, const char *device, const char *driver)
{
    cji_disk_found found;
    if (cji_disk_read(&folder, key_of[i], false, &found) != CJI_DISK_HIT) tap_bail("no entry of kernel %d", i);
    const size_t before = sizeof(cji_disk_head) + found.room_bytes, code = found.code_bytes;
    const size_t more = bytes > before ? bytes - before : 0;
    unsigned char *p = calloc(1, code + more);
    cji_disk_image image = { .code = p, .code_bytes = code + more, .log = found.log, .log_bytes = found.log_bytes,
                             .entries = found.entries, .label = found.label };
    if (!p) tap_bail("no memory");
    memcpy(p, found.room, code);
    if (device) snprintf(image.label.device, sizeof image.label.device, "%s", device);
    if (driver) snprintf(image.label.driver, sizeof image.label.driver, "%s", driver);
    if (!cji_disk_write(&folder, key_of[i], &image)) tap_bail("no entry");
    cji_disk_found_free(&found);
    free(p);
}

static void sizes(void)
{
    enum { MOST = 5 };
    /* Of the latest used kernel first. */
    static const struct { const char *name; size_t bytes[MOST]; bool kept[MOST]; } rows[] = {
        { "256 KiB", { 256 * KIB }, { true, true, true, true, true } },
        { "a byte more", { 256 * KIB + 1 }, { false, true, true, true, true } },
        { "1 MiB at once", { 1024 * KIB }, { false, true, true, true, true } },
        { "1 MiB in all", { 256 * KIB, 256 * KIB, 256 * KIB, 256 * KIB }, { true, true, true, true, false } },
        { "a byte less", { 256 * KIB, 256 * KIB, 256 * KIB, 255 * KIB, KIB * 256 }, { true, true, true, true, false } },
        { "room for a small one", { 256 * KIB, 256 * KIB, 256 * KIB, 200 * KIB }, { true, true, true, true, true } },
        { "a large one leaves room", { 250 * KIB, 250 * KIB, 250 * KIB, 300 * KIB, 250 * KIB },
          { true, true, true, false, true } },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        begin(MOST);
        for (int k = 0; k < MOST; k++)
            if (rows[i].bytes[k]) rewrite(MOST - 1 - k, rows[i].bytes[k], NULL, NULL);
        open_and_lose_entries();
        for (int k = 0; k < MOST; k++)
            tap_is_int(load(MOST - 1 - k), !rows[i].kept[k], "%s: the entry of use %d is %s", rows[i].name, k,
                       rows[i].kept[k] ? "read" : "not read");
        close_device();
    }
}

static void entries(void)
{
    char path[CJI_DISK_PATH];
    begin(4);
    rewrite(0, 0, "sm_1", NULL);
    rewrite(1, 0, NULL, "sim 1.0");
    file_of(path, 2);
    if (truncate(path, 200)) tap_bail("truncate");
    open_device();
    tap_ok(access(path, F_OK) != 0, "a damaged entry is removed");
    tap_is_int(load(2), 1, "and compiled");
    tap_ok(access(path, F_OK) == 0, "and stored anew");
    close_device();
    open_and_lose_entries();
    tap_is_int(load(0), 1, "an entry of another device's target is not kept");
    tap_is_int(load(1), 1, "nor one of another driver");
    tap_is_int(load(2), 0, "the new one is");
    tap_is_int(load(3), 0, "and what was not used since");
    close_device();
}

/* The number of entries that were used within the last days. */
static int used_lately(void)
{
    cji_disk_list list;
    int n = 0;
    const int64_t now = (int64_t)time(NULL);
    if (!cji_disk_list_read(&folder, now, &list)) tap_bail("the folder cannot be read");
    for (size_t i = 0; i < list.entries.n; i++) n += now - list.entries.item[i].used < 86400;
    cji_disk_list_free(&list);
    return n;
}

/* All entries were used for the last time forty days ago. */
static void age_all(void)
{
    const struct timespec times[2] = { { .tv_nsec = UTIME_OMIT }, { .tv_sec = time(NULL) - 40 * 86400 } };
    for (int i = 0; i < KERNELS; i++) {
        char path[CJI_DISK_PATH];
        file_of(path, i);
        if (known[i]) utimensat(AT_FDCWD, path, times, 0);
    }
}

static void uses(void)
{
    begin(4);
    age_all();
    open_device();
    close_device();
    tap_is_int(used_lately(), 0, "entries that are read ahead are not used by that");
    open_device();
    tap_is_int(load(2), 0, "one of them is loaded");
    tap_is_int(used_lately(), 1, "it is used by that, though the program may never close its device; no other one is");
    age_all();
    tap_is_int(load(2), 0, "it is loaded again");
    tap_is_int(used_lately(), 0, "the first load is the one that is noted");
    close_device();
    tap_is_int(used_lately(), 1, "and the end of the device");
    age_all();
    rewrite(3, 0, "sm_1", NULL);
    age_all();
    open_device();
    close_device();
    tap_is_int(used_lately(), 0, "nor is one of another target");
}

/* Entries that are not kept take room, too: what is read has a bound. */
static void others_take_room(void)
{
    begin(6);
    for (int i = 1; i < 6; i++) rewrite(i, 250 * KIB, "sm_1", NULL);
    rewrite(0, 200 * KIB, NULL, NULL);
    open_and_lose_entries();
    tap_is_int(load(0), 1, "1 MiB of another target's entries leaves no room");
    close_device();
}

static void lists(void)
{
    static const struct { const char *name; int bytes; bool folder; } rows[] = {
        { "a list without bytes", 0, false },
        { "half a list", 40, false },
        { "a list with zeros behind it", 4096, false },
        { "a folder in its place", 0, true },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char path[CJI_DISK_PATH];
        begin(2);
        if (cache_files(&folder, ".recent", path) != 1) tap_bail("no list");
        if (rows[i].folder ? unlink(path) || mkdir(path, 0700) : truncate(path, rows[i].bytes)) tap_bail("%s", path);
        open_device();
        tap_ok(load(0) == 0 && load(1) == 0, "%s: loads find their entries", rows[i].name);
        close_device();
        open_and_lose_entries();
        tap_is_int(load(1), rows[i].folder, "%s: the next list is %s", rows[i].name,
                   rows[i].folder ? "none" : "a right one");
        close_device();
    }
}

static void without(void)
{
    cache_folder_remove(&folder);
    open_device();
    store(0);
    close_device();
    open_and_lose_entries();
    tap_is_int(load(0), 0, "a folder that the first load has made has a list too");
    close_device();
    setenv("CUJIT_CACHE", "0", 1);
    begin(0);
    open_device();
    load(0);
    close_device();
    tap_is_int(cache_files(&folder, "", NULL), 0, "without a cache there is no list");
    unsetenv("CUJIT_CACHE");
    begin(1);
    setenv("CUJIT_CACHE", "0", 1);
    open_device();
    tap_is_int(load(0), 1, "nor is one read");
    close_device();
    unsetenv("CUJIT_CACHE");
    tap_is_int(cache_files(&folder, ".recent", NULL), 1, "though it is there");
}

int main(void)
{
    tap_need_device(1);
    tap_plan(0);
    folder = cache_folder();
    setenv("CUJIT_CACHE_DIR", folder.path, 1);
    unsetenv("CUJIT_CACHE");
    under = cj_driver_open(NULL);
    drv = cj_driver_open_interposed(under, CJ_INTERPOSER(.after = count_links));
    listed();
    not_written();
    too_many();
    sizes();
    entries();
    uses();
    others_take_room();
    lists();
    without();
    cj_driver_close(drv);
    cj_driver_close(under);
    cache_folder_remove(&folder);
    return tap_done();
}
