/* cj_disk_cache: a folder of entries is listed, verified, pruned and cleared; which folders are not opened, and why;
 * variables of a module are in its entry. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cujit/cujit.h>

#include "tests/driver/cache_parts.h"
#include "tests/tap.h"

enum { HOUR = 3600, ENTRIES = 10, ENTRY = 5000, ENTRY_BLOCKS = 8192 }; /* an entry takes two blocks */
static cji_disk_folder folder;

static void path_of(char path[CJI_DISK_PATH], uint64_t number)
{
    char name[CJI_DISK_NAME];
    cji_disk_name(name, cache_key(number));
    snprintf(path, CJI_DISK_PATH, "%.900s/%s", folder.path, name);
}

/* Entry i was used i hours ago, as of one moment: the clock may go on while they are written. */
static void fill(void)
{
    const time_t now = time(NULL);
    for (uint64_t i = 0; i < ENTRIES; i++) {
        char path[CJI_DISK_PATH];
        const struct timespec set[2] = { { .tv_nsec = UTIME_OMIT }, { .tv_sec = now - HOUR * (time_t)i - 60 } };
        cache_image c = cache_image_make(i, ENTRY);
        if (!cji_disk_write(&folder, cache_key(i), &c.image)) tap_bail("no entry: %s", strerror(errno));
        cache_image_free(&c);
        path_of(path, i);
        if (utimensat(AT_FDCWD, path, set, 0)) tap_bail("%s: %s", path, strerror(errno));
    }
}

static cj_disk_cache_stats stats_of(cj_disk_cache *c)
{
    cj_disk_cache_stats s;
    cj_disk_cache_stats_defaults(&s);
    tap_is_int(cj_disk_cache_get_stats(c, &s), CJ_OK, "statistics are read");
    return s;
}

static cj_disk_entry entry_of(cj_disk_cache *c, size_t i)
{
    cj_disk_entry e;
    cj_disk_entry_defaults(&e);
    if (cj_disk_cache_get_entry(c, i, &e) != CJ_OK) tap_fail("entry %zu: %s", i, cj_error_of(c)->message);
    return e;
}

/* -- Opening ------------------------------------------------------------------------------------------------------- */

/* Without root's rights.  The names of the folder can be read, and no more. */
static int without_search(void)
{
    cji_disk_folder f;
    snprintf(f.path, sizeof f.path, "%.900s/closed", folder.path);
    if (geteuid() == 0 && (setgid(65534) || setuid(65534))) return 1;
    cache_image c = cache_image_make(1, ENTRY);
    if (mkdir(f.path, 0700) || !cji_disk_write(&f, cache_key(1), &c.image) || chmod(f.path, 0600)) return 2;
    cache_image_free(&c);
    cj_disk_cache *cache = cj_disk_cache_open(f.path);
    const bool good = cj_error_of(cache)->status == CJ_ESTATE &&
                      strstr(cj_error_of(cache)->message, "cannot be read: Permission denied");
    cj_disk_cache_close(cache);
    chmod(f.path, 0700);
    cache_folder_remove(&f);
    return good ? 0 : 3;
}

static void opened(void)
{
    char inside[CJI_DISK_PATH], missing[CJI_DISK_PATH];
    static char most[CJI_DISK_PATH + 100];
    snprintf(inside, sizeof inside, "%.900s/open", folder.path);
    snprintf(missing, sizeof missing, "%.900s/missing", folder.path);
    memset(most, '/', 1);
    memset(most + 1, 'x', sizeof most - 2);
    if (mkdir(inside, 0700) || chmod(inside, 0755)) tap_bail("mkdir");
    const struct { const char *name, *path; cj_status status; const char *sentence; } rows[] = {
        { "a relative path", "cache", CJ_EINVAL, "cache is no absolute path" },
        { "a path that is too long", most, CJ_EINVAL, "is too long a path" },
        { "a folder that does not exist", missing, CJ_ENOTFOUND, "missing does not exist: nothing was stored yet" },
        { "a folder that is open to others", inside, CJ_ESTATE, "is open to other users; chmod 700 closes it" },
        { "a file", "/proc/self/comm", CJ_ESTATE, "is no folder" },
        { "a symbolic link", "/proc/self/cwd", CJ_ESTATE, "is a symbolic link" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        cj_disk_cache *c = cj_disk_cache_open(rows[i].path);
        tap_is_int(cj_error_of(c)->status, rows[i].status, "%s is not opened", rows[i].name);
        tap_has_str(cj_error_of(c)->message, rows[i].sentence, "%s: why", rows[i].name);
        tap_is_str(cj_disk_cache_path(c), "", "%s: no path", rows[i].name);
        tap_is_int(cj_disk_cache_clear(c), rows[i].status, "%s is not cleared", rows[i].name);
        cj_disk_cache_close(c);
    }
    rmdir(inside);
    int status = 0;
    fflush(stdout);
    chmod(folder.path, 0777);
    const pid_t child = fork();
    if (!child) _exit(without_search());
    waitpid(child, &status, 0);
    chmod(folder.path, 0700);
    tap_is_int(status, 0, "a folder whose files may not be looked at is not opened");
    setenv("CUJIT_CACHE_DIR", folder.path, 1);
    cj_disk_cache *c = cj_disk_cache_open(NULL);
    tap_is_str(cj_disk_cache_path(c), folder.path, "NULL is the folder of the environment");
    cj_disk_cache_close(c);
    unsetenv("CUJIT_CACHE_DIR");
    unsetenv("XDG_CACHE_HOME");
    unsetenv("HOME");
    c = cj_disk_cache_open(NULL);
    tap_is_int(cj_error_of(c)->status, CJ_EINVAL, "an environment that names none");
    cj_disk_cache_close(c);
}

/* -- What is there ------------------------------------------------------------------------------------------------- */

static void listed(void)
{
    fill();
    cj_disk_cache *c = cj_disk_cache_open(folder.path);
    cj_disk_cache_stats s = stats_of(c);
    tap_is_uint(s.entries, ENTRIES, "entries");
    tap_is_uint(s.bytes, ENTRIES * ENTRY_BLOCKS, "bytes, in whole blocks");
    tap_is_uint(s.limit, (uint64_t)1 << 30, "the limit");
    tap_ok(s.latest - s.oldest == HOUR * (ENTRIES - 1) && !s.removed && !s.removed_bytes && !s.unfinished,
           "times; nothing is removed");
    setenv("CUJIT_CACHE", "0", 1);
    tap_is_int(stats_of(c).on, 0, "CUJIT_CACHE=0: off");
    unsetenv("CUJIT_CACHE");
    tap_is_int(stats_of(c).on, 1, "on");
    size_t wrong = 0;
    for (uint64_t i = 0; i < ENTRIES; i++) {
        char path[CJI_DISK_PATH], second[40], want[CJI_DISK_PATH];
        cj_disk_entry e = entry_of(c, i);
        snprintf(second, sizeof second, "second_%llu", (unsigned long long)i);
        path_of(path, i);
        snprintf(want, sizeof want, "%.900s/%s.kernel", folder.path, e.key);
        wrong += strcmp(path, want) || *e.problem || e.damaged || strcmp(e.device, "sm_90a") ||
                 strcmp(e.driver, "sim 13.0") || e.code_bytes != ENTRY || e.nkernels != 2 ||
                 strcmp(e.kernels[0], "first") || strcmp(e.kernels[1], second) || e.bytes <= ENTRY;
    }
    tap_is_uint(wrong, 0, "each entry with its device, driver and kernels, the latest used one first");
    struct { cj_disk_entry e; } part = { { .size = offsetof(cj_disk_entry, bytes), .bytes = 77 } };
    tap_ok(cj_disk_cache_get_entry(c, 0, &part.e) == CJ_OK && part.e.key && part.e.bytes == 77,
           "no more than the size says is filled");
    cj_disk_cache_stats none = { .size = 0 };
    tap_is_int(cj_disk_cache_get_stats(c, &none), CJ_EINVAL, "statistics without a size");
    cj_disk_entry e = { .size = 0 };
    tap_is_int(cj_disk_cache_get_entry(c, 0, &e), CJ_EINVAL, "an entry without a size");
    cj_disk_entry_defaults(&e);
    tap_is_int(cj_disk_cache_get_entry(c, ENTRIES, &e), CJ_EINVAL, "an entry behind the last one");
    tap_is_int(cj_disk_cache_remove(c, ENTRIES), CJ_EINVAL, "which is not removed");
    cj_disk_cache_close(c);
}

/* A list is a use of no entry. */
static void not_used(void)
{
    char path[CJI_DISK_PATH];
    struct stat before, after;
    fill();
    path_of(path, 5);
    stat(path, &before);
    cj_disk_cache *c = cj_disk_cache_open(folder.path);
    entry_of(c, 5);
    tap_ok(stat(path, &after) == 0 && after.st_mtime == before.st_mtime, "an entry that is listed was not used");
    cj_disk_cache_close(c);
}

static void problems(void)
{
    char path[CJI_DISK_PATH];
    const struct timespec set[2] = { { .tv_nsec = UTIME_OMIT }, { .tv_sec = time(NULL) - 3 * HOUR - 60 } };
    fill();
    path_of(path, 3);
    if (truncate(path, 1000) || utimensat(AT_FDCWD, path, set, 0)) tap_bail("truncate");
    cj_disk_cache *c = cj_disk_cache_open(folder.path);
    path_of(path, 4);
    unlink(path);
    cj_disk_entry e = entry_of(c, 3);
    tap_ok(e.damaged && strstr(e.problem, e.key) && strstr(e.problem, "is damaged"), "a damaged entry: %s", e.problem);
    tap_ok(!*e.device && !*e.driver && !e.nkernels && !e.code_bytes && e.bytes == 1000, "nothing else is said of it");
    e = entry_of(c, 4);
    tap_ok(!e.damaged && strstr(e.problem, "was removed meanwhile"), "one that another process removed: %s", e.problem);
    path_of(path, 3);
    tap_is_int(access(path, F_OK), 0, "a list removes nothing");
    tap_ok(cj_disk_cache_remove(c, 3) == CJ_OK && access(path, F_OK), "an entry is removed");
    cj_disk_cache_stats s = stats_of(c);
    tap_ok(s.entries == ENTRIES - 1 && s.removed == 1 && s.removed_bytes == 4096 &&
               s.bytes == (ENTRIES - 1) * ENTRY_BLOCKS,
           "and counted");
    tap_has_str(entry_of(c, 3).problem, "was removed meanwhile", "those behind it move up");
    tap_ok(cj_disk_cache_remove(c, 3) == CJ_OK && stats_of(c).removed == 1,
           "what another process removed is removed, and not counted");
    tap_is_str(entry_of(c, 3).problem, "", "the next one is whole");
    cj_disk_cache_close(c);
}

/* Entries of a size that no load reads are the last of the list, whenever they were used; the clock was ahead when
 * another one was. */
static void times_of_uses(void)
{
    static const struct { const char *name; uint64_t cut, ahead; } rows[] = {
        { "all entries are good", ENTRIES, ENTRIES },
        { "the entry used last is cut", 0, ENTRIES },
        { "one in the middle is cut", 4, ENTRIES },
        { "the one not used for the longest time is cut", ENTRIES - 1, ENTRIES },
        { "one is of the future", ENTRIES, 4 },
        { "one is cut, one is of the future", 5, 4 },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const time_t now = time(NULL);
        char path[CJI_DISK_PATH];
        fill();
        for (uint64_t k = 0; k < ENTRIES; k++) {
            const time_t used = now + (k == rows[i].ahead ? 1000 * HOUR : -HOUR * (time_t)k);
            const struct timespec set[2] = { { .tv_nsec = UTIME_OMIT }, { .tv_sec = used } };
            path_of(path, k);
            if ((k == rows[i].cut && truncate(path, 10)) || utimensat(AT_FDCWD, path, set, 0)) tap_bail("%s", path);
        }
        cj_disk_cache *c = cj_disk_cache_open(folder.path);
        cj_disk_cache_stats s = stats_of(c);
        tap_is_int(s.latest, now, "%s: the latest use", rows[i].name);
        tap_is_int(s.oldest, now - HOUR * (ENTRIES - 1), "%s: the oldest use", rows[i].name);
        cj_disk_cache_close(c);
    }
}

/* -- Removing ------------------------------------------------------------------------------------------------------ */

static int left(void) { return cache_files(&folder, ".kernel", NULL); }

static void pruned(void)
{
    static const struct { const char *name; uint64_t bytes, age; int left; } rows[] = {
        { "no bound: what loads do", 0, 0, ENTRIES },
        { "as many bytes as there are", ENTRIES * ENTRY_BLOCKS, 0, ENTRIES },
        { "a byte less", ENTRIES * ENTRY_BLOCKS - 1, 0, ENTRIES - 1 },
        { "room for three", 3 * ENTRY_BLOCKS, 0, 3 },
        { "one byte", 1, 0, 0 },
        { "two hours and a half", 0, 5 * HOUR / 2, 3 },
        { "older than all", 0, 100 * HOUR, ENTRIES },
        { "older than 1970", 0, UINT64_MAX, ENTRIES },
        { "both, the age leaves less", 8 * ENTRY_BLOCKS, 5 * HOUR / 2, 3 },
        { "both, the bytes leave less", 2 * ENTRY_BLOCKS, 5 * HOUR / 2, 2 },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        cache_folder_remove(&folder);
        if (mkdir(folder.path, 0700)) tap_bail("mkdir");
        fill();
        cj_disk_cache *c = cj_disk_cache_open(folder.path);
        const cj_disk_prune_opts *o = CJ_DISK_PRUNE(.max_bytes = rows[i].bytes, .max_age_s = rows[i].age);
        tap_is_int(cj_disk_cache_prune(c, i ? o : NULL), CJ_OK, "%s", rows[i].name);
        cj_disk_cache_stats s = stats_of(c);
        size_t wrong = 0;
        for (uint64_t k = 0; k < ENTRIES; k++) {
            char path[CJI_DISK_PATH];
            path_of(path, k);
            wrong += (access(path, F_OK) == 0) != ((int)k < rows[i].left);
        }
        tap_ok(!wrong && left() == rows[i].left, "%s: %d are left, the latest used ones", rows[i].name, left());
        tap_ok(s.entries == (uint64_t)rows[i].left && s.removed == (uint64_t)(ENTRIES - rows[i].left) &&
                   s.removed_bytes == s.removed * ENTRY_BLOCKS && s.bytes == s.entries * ENTRY_BLOCKS,
               "%s: the counts", rows[i].name);
        cj_disk_cache_close(c);
    }
}

static void cleared(void)
{
    char path[CJI_DISK_PATH];
    fill();
    cji_disk_count(&folder, ENTRIES * ENTRY_BLOCKS);
    path_of(path, 2);
    if (truncate(path, 0)) tap_bail("truncate");
    snprintf(path, sizeof path, "%.900s/a file of somebody", folder.path);
    fclose(fopen(path, "w"));
    cj_disk_cache *c = cj_disk_cache_open(folder.path);
    tap_is_int(cj_disk_cache_clear(c), CJ_OK, "all entries are removed");
    tap_ok(!left() && stats_of(c).removed == ENTRIES && stats_of(c).entries == 0, "one without bytes too");
    tap_is_int(access(path, F_OK), 0, "other files stay");
    uint64_t counted = 99;
    tap_ok(cji_disk_counted(&folder, &counted) && counted == 0, "loads have the whole limit again");
    cache_folder_remove(&folder);
    tap_is_int(cj_disk_cache_clear(c), CJ_ENOTFOUND, "a folder that was removed: %s", cj_error_of(c)->message);
    cj_disk_cache_close(c);
    if (mkdir(folder.path, 0700)) tap_bail("mkdir");
}

/* A folder in the place of an entry cannot be unlinked, whoever tries. */
static void not_removed(void)
{
    char path[CJI_DISK_PATH];
    fill();
    cj_disk_cache *c = cj_disk_cache_open(folder.path);
    path_of(path, 1);
    if (unlink(path) || mkdir(path, 0700)) tap_bail("mkdir");
    tap_is_int(cj_disk_cache_remove(c, 1), CJ_ESTATE, "an entry that cannot be removed");
    tap_has_str(cj_error_of(c)->message, "1 file of", "which is said");
    tap_ok(stats_of(c).entries == ENTRIES && !stats_of(c).removed, "it stays in the list");
    rmdir(path);
    cj_disk_cache_close(c);
}

/* -- Variables ----------------------------------------------------------------------------------------------------- */

static void variables(void)
{
    static const char ptx[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
                              ".visible .global .f32 scale[4];\n.visible .const .u64 one;\n"
                              ".visible .global .b8 much[5000000000];\n.visible .global .texref t;\n"
                              ".visible .entry k()\n{\n ret;\n}\n";
    cji_entries *e = cji_entries_read(ptx, sizeof ptx - 1);
    const cji_disk_image image = { .code = "code", .code_bytes = 4, .log = "", .entries = e };
    cji_disk_found found;
    if (!e || !cji_disk_write(&folder, cache_key(900), &image) ||
        cji_disk_read(&folder, cache_key(900), false, &found) != CJI_DISK_HIT)
        tap_bail("no entry");
    size_t wrong = 0;
    for (size_t i = 0; i < e->nvar; i++) {
        const cji_entry_var *v = cji_entries_var(found.entries, e->var[i].name);
        wrong += !v || v->bytes != e->var[i].bytes || v->type != e->var[i].type || v->opaque != e->var[i].opaque;
    }
    tap_ok(e->nvar == 4 && found.entries->nvar == 4 && !wrong, "an entry has the %zu variables of its module", e->nvar);
    cji_disk_found_free(&found);
    cji_entries_release(e);
}

int main(void)
{
    tap_plan(0);
    unsetenv("CUJIT_CACHE");
    folder = cache_folder();
    opened();
    listed();
    not_used();
    problems();
    times_of_uses();
    pruned();
    cleared();
    not_removed();
    variables();
    cache_folder_remove(&folder);
    return tap_done();
}
