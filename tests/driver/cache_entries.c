/* Entries of the kernel cache on disk: what is written is read again; a file with any byte changed, cut anywhere, or of
 * another kind is no entry, and is removed; one that cannot be read stays.  Writes that fail leave nothing. */
#include <sys/stat.h>

#include "tests/driver/cache_faults.h"
#include "tests/driver/cache_parts.h"
#include "tests/tap.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

enum { BYTES = 300, NUMBER = 5 };
static cji_disk_folder folder;
static char path[CJI_DISK_PATH];

static void store(uint64_t number, size_t bytes)
{
    cache_image c = cache_image_make(number, bytes);
    if (!cji_disk_write(&folder, cache_key(number), &c.image)) tap_bail("no entry: %s", strerror(errno));
    cache_image_free(&c);
}

/* What reading it says: a result, and whether a hit is the right image. */
static cji_disk_result look(uint64_t number, size_t bytes, bool remove)
{
    cji_disk_found found;
    cji_disk_result r = cji_disk_read(&folder, cache_key(number), remove, &found);
    if (r == CJI_DISK_HIT) {
        if (!cache_image_is(&found, number, bytes)) tap_fail("a hit is the image that was stored");
        cji_disk_found_free(&found);
    }
    return r;
}

static void put_bytes(const void *p, size_t n)
{
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(p, 1, n, f) != n || fclose(f)) tap_bail("%s cannot be written", path);
}

static void round_trip(void)
{
    static const size_t sizes[] = { 1, 15, 16, 17, 4096, 70000, 1 << 20 };
    tap_is_int(look(NUMBER, 1, true), CJI_DISK_MISS, "an empty folder: a miss");
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        store(i, sizes[i]);
        tap_is_int(look(i, sizes[i], true), CJI_DISK_HIT, "an image of %zu bytes is found again", sizes[i]);
    }
    store(1, 99);
    tap_is_int(look(1, 99, true), CJI_DISK_HIT, "a second image of a key takes the place of the first");
    tap_is_int(cache_files(&folder, "", NULL), 7, "there is one file for each key");
    cache_image c = cache_image_make(8, 10);
    c.image.entries = NULL;
    c.image.log_bytes = 0;
    cji_disk_found found;
    tap_ok(cji_disk_write(&folder, cache_key(8), &c.image) &&
               cji_disk_read(&folder, cache_key(8), true, &found) == CJI_DISK_HIT && found.entries->n == 0 &&
               found.log_bytes == 0,
           "an image without kernels and log");
    cji_disk_found_free(&found);
    cache_image_free(&c);
}

static void each_byte_changed(void)
{
    store(NUMBER, BYTES);
    char name[CJI_DISK_NAME];
    cji_disk_name(name, cache_key(NUMBER));
    snprintf(path, sizeof path, "%.900s/%s", folder.path, name);
    size_t bytes, bad = 0, gone = 0, tries = 0;
    unsigned char *whole = (unsigned char *)tap_slurp(path, &bytes);
    if (!whole) tap_bail("no entry");
    for (size_t i = 0; i < bytes; i++)
        for (int bit = 0; bit < 8; bit += tap_is_slow() ? 8 : 3) {
            whole[i] ^= (unsigned char)(1 << bit);
            put_bytes(whole, bytes);
            whole[i] ^= (unsigned char)(1 << bit);
            tries++;
            bad += look(NUMBER, BYTES, true) == CJI_DISK_BAD;
            gone += access(path, F_OK) != 0;
        }
    tap_is_uint(bad, tries, "each byte of %zu changed: no entry", bytes);
    tap_is_uint(gone, tries, "and removed");
    bad = gone = 0;
    for (size_t n = 0; n < bytes; n++) {
        put_bytes(whole, n);
        bad += look(NUMBER, BYTES, true) == CJI_DISK_BAD;
        gone += access(path, F_OK) != 0;
    }
    tap_is_uint(bad, bytes, "cut at each length: no entry");
    tap_is_uint(gone, bytes, "and removed");
    unsigned char *longer = calloc(1, bytes + 8);
    memcpy(longer, whole, bytes);
    put_bytes(longer, bytes + 8);
    tap_is_int(look(NUMBER, BYTES, true), CJI_DISK_BAD, "zeros behind the end: no entry");
    put_bytes(whole, bytes);
    tap_is_int(look(NUMBER, BYTES, false), CJI_DISK_HIT, "the file as it was is an entry");
    char other[CJI_DISK_PATH];
    cji_disk_name(name, cache_key(NUMBER + 1));
    snprintf(other, sizeof other, "%.900s/%s", folder.path, name);
    rename(path, other);
    tap_is_int(look(NUMBER + 1, BYTES, false), CJI_DISK_BAD, "under another key's name: no entry");
    tap_is_int(access(other, F_OK), 0, "which stays where nothing is to be removed");
    unlink(other);
    free(longer);
    free(whole);
}

/* A table that says of itself what is not so, under a right checksum: nothing is read outside of it. */
static void wrong_tables(void)
{
    cache_image c = cache_image_make(NUMBER, 8);
    size_t bytes, bad = 0, tries = 0;
    cji_disk_head head;
    unsigned char *p = cji_disk_encode(cache_key(NUMBER), &c.image, &bytes);
    memcpy(&head, p, sizeof head);
    size_t rest = bytes - sizeof head, table = head.code_bytes;
    for (size_t i = 0; i < head.table_bytes / 4; i++) {
        static const uint32_t with[] = { UINT32_MAX, 1u << 31, 1000, 0x40000000 };
        for (size_t k = 0; k < sizeof with / sizeof *with; k++) {
            cji_disk_found found;
            cji_disk_head h = head;
            unsigned char *room = cji_alloc(rest);
            memcpy(room, p + sizeof head, rest);
            memcpy(room + table + 4 * i, &with[k], 4);
            h.checksum = (cji_hash128){ { 0, 0 } };
            cji_hasher hash;
            cji_hasher_begin(&hash);
            cji_hasher_put(&hash, &h, sizeof h);
            cji_hasher_put(&hash, room, rest);
            h.checksum = cji_hasher_end(&hash);
            cji_disk_result r = cji_disk_decode(cache_key(NUMBER), &h, room, rest, &found);
            tries++;
            bad += r == CJI_DISK_BAD;
            if (r == CJI_DISK_HIT) cji_disk_found_free(&found);
            else cji_free(room, rest);
        }
    }
    tap_ok(bad > tries / 3, "numbers of the table that are too large: %zu of %zu make no entry", bad, tries);
    cji_free(p, bytes);
    cache_image_free(&c);
}

static void other_kinds(void)
{
    store(NUMBER, BYTES);
    char target[CJI_DISK_PATH];
    snprintf(target, sizeof target, "%.900s/target", folder.path);
    rename(path, target);
    if (symlink(target, path)) tap_bail("no link");
    tap_is_int(look(NUMBER, BYTES, true), CJI_DISK_BAD, "a symbolic link to an entry is none");
    tap_ok(access(path, F_OK) && !access(target, F_OK), "the link is removed, and not what it names");
    unlink(target);
    if (mkfifo(path, 0600)) tap_bail("no pipe");
    tap_is_int(look(NUMBER, BYTES, true), CJI_DISK_BAD, "a pipe is none, and is not waited for");
    if (mkdir(path, 0700)) tap_bail("no folder");
    tap_is_int(look(NUMBER, BYTES, true), CJI_DISK_BAD, "a folder is none");
    rmdir(path);
    if (geteuid()) {
        tap_skip(2, "only root can give a file away");
        return;
    }
    store(NUMBER, BYTES);
    if (chown(path, 65534, 65534)) tap_bail("chown");
    tap_is_int(look(NUMBER, BYTES, true), CJI_DISK_BAD, "another user's file is no entry");
    tap_ok(access(path, F_OK), "and is removed");
}

/* A failure of the disk says nothing of the file. */
static void reads_fail(void)
{
    store(NUMBER, BYTES);
    fault_begin(FAULT_READV, 0, EIO);
    tap_is_int(look(NUMBER, BYTES, true), CJI_DISK_FAILED, "an I/O error is no answer");
    tap_is_int(errno, EIO, "its number is kept");
    fault_end();
    struct rlimit before, none;
    getrlimit(RLIMIT_NOFILE, &before);
    none = (struct rlimit){ 0, before.rlim_max };
    setrlimit(RLIMIT_NOFILE, &none);
    tap_is_int(look(NUMBER, BYTES, true), CJI_DISK_FAILED, "nor is a process without room for a file");
    setrlimit(RLIMIT_NOFILE, &before);
    tap_is_int(look(NUMBER, BYTES, true), CJI_DISK_HIT, "the entry is there afterwards");
}

static int blocks_until_none = -1; /* -1: there is memory */

/* An allocator that does not set errno. */
static void *limited(void *user, void *p, size_t old, size_t bytes)
{
    const int before = errno;
    void *q = NULL;
    (void)user, (void)old;
    if (!bytes) free(p);
    else if (blocks_until_none && (q = realloc(p, bytes)) && blocks_until_none > 0) blocks_until_none--;
    errno = before;
    return q;
}

static void without_memory(void)
{
    int told = 0, failed = 0;
    cji_disk_found found;
    store(NUMBER, BYTES);
    for (int n = 0; n < 100; n++) {
        errno = ENOENT;
        blocks_until_none = n;
        cji_disk_result r = cji_disk_read(&folder, cache_key(NUMBER), true, &found);
        const int error = errno;
        blocks_until_none = -1;
        if (r == CJI_DISK_HIT) {
            cji_disk_found_free(&found);
            break;
        }
        failed++;
        told += r == CJI_DISK_FAILED && error == ENOMEM;
    }
    tap_ok(failed > 2 && failed < 100, "memory for an entry is taken %d times", failed);
    tap_is_int(told, failed, "without any of it the failure is that");
    tap_is_int(look(NUMBER, BYTES, true), CJI_DISK_HIT, "the entry stays");
}

static void writes_fail(void)
{
    static const struct { const char *name; fault_call call; int error; } rows[] = {
        { "open", FAULT_OPEN, EROFS },   { "write", FAULT_WRITE, ENOSPC }, { "half a write", FAULT_WRITE_HALF, ENOSPC },
        { "fsync", FAULT_FSYNC, EIO },   { "close", FAULT_CLOSE, EDQUOT }, { "rename", FAULT_RENAME, EROFS },
    };
    cache_image c = cache_image_make(NUMBER, BYTES + 1);
    store(NUMBER, BYTES);
    int files = cache_files(&folder, "", NULL);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        fault_begin(rows[i].call, 0, rows[i].error);
        bool written = cji_disk_write(&folder, cache_key(NUMBER), &c.image);
        int error = errno;
        fault_end();
        tap_ok(!written, "%s fails: nothing is written", rows[i].name);
        tap_is_int(error, rows[i].error, "%s fails: its number is kept", rows[i].name);
        tap_is_int(cache_files(&folder, "", NULL), files, "%s fails: no file is left behind", rows[i].name);
        tap_is_int(look(NUMBER, BYTES, true), CJI_DISK_HIT, "%s fails: the entry of before is there", rows[i].name);
    }
    cache_image_free(&c);
    c = cache_image_make(NUMBER, 100000);
    struct rlimit before, small;
    getrlimit(RLIMIT_FSIZE, &before);
    small = (struct rlimit){ 5000, before.rlim_max };
    setrlimit(RLIMIT_FSIZE, &small);
    bool written = cji_disk_write(&folder, cache_key(NUMBER), &c.image);
    int error = errno;
    setrlimit(RLIMIT_FSIZE, &before);
    tap_ok(!written && error == EFBIG, "a file larger than the process may write is no signal that ends it");
    cache_image_free(&c);
}

/* The time of an entry is that of its use, and never one of the future. */
static void times(void)
{
    static const struct { const char *name; int64_t age; bool changes; } rows[] = {
        { "now", 0, false },           { "half an hour ago", 1800, false },   { "two hours ago", 7200, true },
        { "in a minute", -60, false }, { "tomorrow", -86400, true },
    };
    store(NUMBER, BYTES);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct stat s;
        int64_t now = (int64_t)time(NULL), then = now - rows[i].age;
        const struct timespec set[2] = { { .tv_nsec = UTIME_OMIT }, { .tv_sec = (time_t)then } };
        utimensat(AT_FDCWD, path, set, 0);
        look(NUMBER, BYTES, true);
        stat(path, &s);
        bool changed = s.st_mtime != then;
        tap_ok(changed == rows[i].changes && (!changed || (s.st_mtime >= now && s.st_mtime <= now + 20)),
               "used %s: the time is %s", rows[i].name, rows[i].changes ? "that of the use" : "left");
    }
}

int main(void)
{
    tap_plan(0);
    if (cj_set_allocator(limited, NULL) != CJ_OK) tap_bail("no allocator");
    folder = cache_folder();
    round_trip();
    each_byte_changed();
    wrong_tables();
    other_kinds();
    reads_fail();
    without_memory();
    writes_fail();
    times();
    cache_folder_remove(&folder);
    return tap_done();
}
