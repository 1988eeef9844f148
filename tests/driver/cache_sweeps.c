/* The bound of the kernel cache on disk: the entries that were not used for the longest time are removed, by one
 * process in an hour, whatever the clock does; when the folder is full before that, nothing is stored. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "tests/driver/cache_parts.h"
#include "tests/tap.h"

enum { HOUR = 3600, BLOCK = 4096, ENTRY = 5000, ENTRIES = 20 }; /* an entry takes two blocks */
static cji_disk_folder folder;
static int64_t now;

static void set_time(const char *path, int64_t when)
{
    const struct timespec set[2] = { { .tv_nsec = UTIME_OMIT }, { .tv_sec = (time_t)when } };
    if (utimensat(AT_FDCWD, path, set, 0)) tap_bail("%s: %s", path, strerror(errno));
}

static void file_of(char path[CJI_DISK_PATH], const char *name)
{
    snprintf(path, CJI_DISK_PATH, "%.900s/%s", folder.path, name);
}

static void entry_path(char path[CJI_DISK_PATH], uint64_t number)
{
    char name[CJI_DISK_NAME];
    cji_disk_name(name, cache_key(number));
    file_of(path, name);
}

static bool is_there(uint64_t number)
{
    char path[CJI_DISK_PATH];
    entry_path(path, number);
    return access(path, F_OK) == 0;
}

/* Entry i was used i minutes ago. */
static void fill(void)
{
    for (uint64_t i = 0; i < ENTRIES; i++) {
        char path[CJI_DISK_PATH];
        cache_image c = cache_image_make(i, ENTRY);
        if (!cji_disk_write(&folder, cache_key(i), &c.image)) tap_bail("no entry");
        cache_image_free(&c);
        entry_path(path, i);
        set_time(path, now - 60 * (int64_t)i);
    }
}

static void touch(const char *name, int64_t when)
{
    char path[CJI_DISK_PATH];
    file_of(path, name);
    FILE *f = fopen(path, "a");
    if (f) fclose(f);
    set_time(path, when);
}

static bool file_there(const char *name)
{
    char path[CJI_DISK_PATH];
    file_of(path, name);
    return access(path, F_OK) == 0;
}

static int there(void) { return cache_files(&folder, ".kernel", NULL); }

static void trimmed(void)
{
    size_t removed = 99;
    cji_disk_list list;
    fill();
    tap_ok(cji_disk_list_read(&folder, now, &list) && list.entries.n == ENTRIES &&
               list.entries.bytes == ENTRIES * 2 * BLOCK,
           "the list has all entries, in whole blocks");
    size_t wrong = 0;
    for (size_t i = 0; i < list.entries.n; i++) wrong += !cji_hash128_equal(list.entries.item[i].key, cache_key(i));
    tap_is_uint(wrong, 0, "the latest use first");
    cji_disk_list_free(&list);
    tap_ok(cji_disk_trim(&folder, ENTRIES * 2 * BLOCK, now, &removed) && removed == 0 && there() == ENTRIES,
           "as many bytes as the limit: all stay");
    tap_ok(cji_disk_trim(&folder, ENTRIES * 2 * BLOCK - 100, now, &removed) && removed == 5 && there() == 15,
           "above the limit: down to 80 %% of it");
    wrong = 0;
    for (uint64_t i = 0; i < ENTRIES; i++) wrong += is_there(i) != (i < 15);
    tap_is_uint(wrong, 0, "those that were not used for the longest time are removed");
    tap_ok(!file_there(".cujit-total"), "nothing is counted where nothing was ever stored");
}

static void clock_back(void)
{
    size_t removed;
    char path[CJI_DISK_PATH];
    fill();
    for (uint64_t i = 0; i < 4; i++) { /* written while the clock was a day ahead */
        entry_path(path, i);
        set_time(path, now + 86400);
    }
    cji_disk_trim(&folder, ENTRIES * 2 * BLOCK - 100, now, &removed);
    size_t wrong = 0;
    for (uint64_t i = 0; i < ENTRIES; i++) wrong += is_there(i) != (i >= 4 && i < 19);
    tap_ok(removed == 5 && !wrong, "entries of the future are the first to be removed");
}

static void left_behind(void)
{
    size_t removed;
    touch("0123456789abcdef.new", now - HOUR - 1);
    touch("1123456789abcdef.new", now - 60);
    touch("2123456789abcdef.new", now + 86400);
    touch("a file of somebody", now - 86400);
    cji_disk_list list;
    cji_disk_list_read(&folder, now, &list);
    tap_is_uint(list.unfinished, 3, "files of writers are counted");
    cji_disk_list_free(&list);
    cji_disk_trim(&folder, CJI_DISK_LIMIT, now, &removed);
    tap_ok(!file_there("0123456789abcdef.new"), "what a killed writer left an hour ago is removed");
    tap_ok(file_there("1123456789abcdef.new"), "a file of a minute ago may be of a writer that is at work");
    tap_ok(!file_there("2123456789abcdef.new"), "a file of the future is of no writer that is at work");
    tap_ok(file_there("a file of somebody"), "other files are left alone");
}

/* Whether storing an entry sweeps: all is over the limit. */
static bool sweeps(void)
{
    fill();
    cji_disk_rejects(&folder, ENTRY, ENTRIES * 2 * BLOCK - 100, now);
    return there() < ENTRIES;
}

static void once_an_hour(void)
{
    char path[CJI_DISK_PATH];
    struct stat s;
    cache_folder_remove(&folder);
    if (mkdir(folder.path, 0700)) tap_bail("mkdir");
    tap_ok(!sweeps() && file_there(".cujit-swept"), "a new folder is not swept");
    static const struct { const char *name; int64_t age; bool want; } rows[] = {
        { "at this moment", 0, false },   { "59 minutes ago", HOUR - 60, false }, { "an hour ago", HOUR, true },
        { "a week ago", 168 * HOUR, true }, { "in half an hour", -HOUR / 2, false }, { "tomorrow", -24 * HOUR, true },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        touch(".cujit-swept", now - rows[i].age);
        tap_ok(sweeps() == rows[i].want, "swept %s: %s", rows[i].name, rows[i].want ? "swept now" : "not now");
        file_of(path, ".cujit-swept");
        if (rows[i].want && stat(path, &s) == 0) tap_is_int(s.st_mtime, now, "which is noted");
        tap_ok(!rows[i].want || !sweeps(), "and not done again");
    }
    touch(".cujit-swept", now - HOUR);
    file_of(path, ".cujit-swept");
    int fd = open(path, O_RDWR);
    if (fd < 0 || flock(fd, LOCK_EX)) tap_bail("no lock");
    tap_ok(!sweeps(), "while another process sweeps nobody else does");
    close(fd);
    tap_ok(sweeps(), "when it has not, the next one does");
}

static void full(void)
{
    enum { LIMIT = 100 * BLOCK };
    cache_folder_remove(&folder);
    if (mkdir(folder.path, 0700)) tap_bail("mkdir");
    int admitted = 0;
    while (admitted < 1000 && !cji_disk_rejects(&folder, ENTRY, LIMIT, now)) {
        cji_disk_count(&folder, ENTRY);
        admitted++;
    }
    tap_is_int(admitted, 50, "entries are stored up to the limit, over all processes");
    tap_has_str(cji_disk_rejects(&folder, ENTRY, LIMIT, now), " is full until its files are counted anew", "then not");
    tap_ok(!cji_disk_rejects(&folder, ENTRY, LIMIT, now + HOUR), "an hour later the entries are counted anew");
    if (mkdir("/nonexistent/x", 0700) == 0) tap_bail("a folder that is none");
    cji_disk_folder none = { "/nonexistent/x" };
    tap_ok(!cji_disk_rejects(&none, ENTRY, LIMIT, now), "without a count nothing is held back");
}

int main(void)
{
    tap_plan(0);
    now = (int64_t)time(NULL);
    folder = cache_folder();
    trimmed();
    clock_back();
    left_behind();
    once_an_hour();
    full();
    cache_folder_remove(&folder);
    return tap_done();
}
