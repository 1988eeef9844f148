/* What counts against the limit of the kernel cache on disk is what is there: each entry once, whoever stored it, and
 * nothing that failed or was removed.  A full folder is reported.  A limit for the size of files ends no program. */
#include <sys/stat.h>

#include "base/process.h"
#include "tests/driver/cache_faults.h"
#include "tests/driver/cache_parts.h"
#include "tests/tap.h"

#include <cujit/cujit.h>

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

enum { BLOCK = 4096, ENTRY = 5000, KEYS = 12, PROCESSES = 6 }; /* an entry takes two blocks */
static cji_disk_folder folder;

static void begin_anew(void)
{
    cache_folder_remove(&folder);
    if (mkdir(folder.path, 0700)) tap_bail("no folder");
}

static void path_of(char path[CJI_DISK_PATH], uint64_t number)
{
    char name[CJI_DISK_NAME];
    cji_disk_name(name, cache_key(number));
    snprintf(path, CJI_DISK_PATH, "%.900s/%s", folder.path, name);
}

static void put(uint64_t number)
{
    cache_image c = cache_image_make(number, ENTRY);
    cji_disk_put(cache_key(number), &c.image);
    cache_image_free(&c);
}

static uint64_t counted(void)
{
    uint64_t bytes = 0;
    cji_disk_counted(&folder, &bytes);
    return bytes / BLOCK;
}

static uint64_t blocks_there(void)
{
    cji_disk_list list;
    if (!cji_disk_list_read(&folder, (int64_t)time(NULL), &list)) tap_bail("no list");
    const uint64_t blocks = (list.entries.bytes + list.recent.bytes) / BLOCK;
    cji_disk_list_free(&list);
    return blocks;
}

/* -- Storing ------------------------------------------------------------------------------------------------------- */

static void stored_again(void)
{
    char path[CJI_DISK_PATH];
    struct stat a, b;
    begin_anew();
    put(1);
    path_of(path, 1);
    tap_is_uint(counted(), 2, "an entry is counted");
    if (stat(path, &a)) tap_bail("no entry");
    put(1);
    tap_ok(stat(path, &b) == 0 && a.st_ino == b.st_ino, "one that is there is not written again");
    tap_is_uint(counted(), 2, "nor counted again");
    if (truncate(path, 1000)) tap_bail("truncate");
    put(1);
    tap_ok(stat(path, &b) == 0 && b.st_size == a.st_size, "but one that is damaged is");
}

/* All begin when the pipe is closed, and store the same entries. */
static void at_a_time(void)
{
    int gate[2], failed = 0;
    pid_t child[PROCESSES];
    begin_anew();
    put(99);
    if (pipe(gate)) tap_bail("no pipe");
    fflush(stdout);
    for (int i = 0; i < PROCESSES; i++) {
        child[i] = fork();
        if (child[i]) continue;
        char end;
        close(gate[1]);
        if (read(gate[0], &end, 1)) _exit(1);
        for (uint64_t k = 0; k < KEYS; k++) put(k);
        _exit(0);
    }
    close(gate[0]);
    close(gate[1]);
    for (int i = 0; i < PROCESSES; i++) {
        int status = 0;
        waitpid(child[i], &status, 0);
        failed += status != 0;
    }
    tap_is_int(failed, 0, "%d processes store the same %d entries", PROCESSES, KEYS);
    tap_is_int(cache_files(&folder, ".kernel", NULL), KEYS + 1, "which are there");
    tap_is_uint(counted(), 2 * (KEYS + 1), "and counted once");
    tap_is_int(cache_files(&folder, ".new", NULL), 0, "nothing is left behind");
}

static void failures(void)
{
    static const struct { const char *name; fault_call call; int error; } rows[] = {
        { "a folder that is read-only", FAULT_OPEN, EROFS }, { "a full disk", FAULT_WRITE, ENOSPC },
        { "a disk that is full in the middle", FAULT_WRITE_HALF, ENOSPC }, { "fsync", FAULT_FSYNC, EIO },
        { "a quota", FAULT_CLOSE, EDQUOT }, { "a name that cannot be changed", FAULT_RENAME, EPERM },
    };
    begin_anew();
    put(1);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        fault_begin(rows[i].call, 0, rows[i].error);
        put(2);
        fault_end();
        tap_is_uint(counted(), 2, "%s: what could not be written is not counted", rows[i].name);
    }
    put(2);
    tap_is_uint(counted(), 4, "what is written then is");
}

/* -- Removing ------------------------------------------------------------------------------------------------------ */

static void removed_by_call(void)
{
    cj_disk_cache *c = cj_disk_cache_open(folder.path);
    cj_disk_cache_remove(c, 0);
    cj_disk_cache_remove(c, 1);
    cj_disk_cache_close(c);
}

static void removed_by_load(void)
{
    for (uint64_t i = 0; i < 2; i++) {
        char path[CJI_DISK_PATH];
        cji_disk_found found;
        path_of(path, i);
        FILE *f = fopen(path, "r+b");
        if (!f || fseek(f, 300, SEEK_SET) || fputc('!', f) == EOF || fclose(f)) tap_bail("%s", path);
        if (cji_disk_get(cache_key(i), NULL, &found)) cji_disk_found_free(&found);
    }
}

static void removed_by_prune(void)
{
    cj_disk_cache *c = cj_disk_cache_open(folder.path);
    cj_disk_cache_prune(c, CJ_DISK_PRUNE(.max_bytes = 4 * BLOCK));
    cj_disk_cache_close(c);
}

static void removed(void)
{
    static const struct { const char *name; void (*remove)(void); } rows[] = {
        { "cj_disk_cache_remove", removed_by_call },
        { "loads of damaged entries", removed_by_load },
        { "prune", removed_by_prune },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        begin_anew();
        for (uint64_t k = 0; k < 4; k++) put(k);
        rows[i].remove();
        tap_is_int(cache_files(&folder, ".kernel", NULL), 2, "%s: two of four entries are left", rows[i].name);
        tap_is_uint(counted(), 4, "%s: and counted", rows[i].name);
    }
}

/* A folder in the place of a file cannot be unlinked, and stays what it is; an entry that cannot be removed would too.
 * The immutable ones of a file system are not for tests, so only what is gone meanwhile is tried. */
static void gone_meanwhile(void)
{
    char path[CJI_DISK_PATH];
    begin_anew();
    for (uint64_t k = 0; k < 4; k++) put(k);
    cj_disk_cache *c = cj_disk_cache_open(folder.path), *other = cj_disk_cache_open(folder.path);
    cj_disk_cache_remove(c, 0);
    cj_disk_cache_remove(other, 0);
    tap_is_uint(counted(), 6, "what another process has removed is taken from the count once");
    cj_disk_cache_close(c);
    cj_disk_cache_close(other);
    path_of(path, 9);
    tap_ok(access(path, F_OK) != 0 && counted() == blocks_there(), "the count is what is there");
}

/* -- Sizes --------------------------------------------------------------------------------------------------------- */

/* Entries of a size that no load reads are removed, and take no other entry with them. */
static void wrong_sizes(void)
{
    static const struct { const char *name; int64_t bytes; bool stays; } rows[] = {
        { "no bytes", 0, false },
        { "a head alone", sizeof(cji_disk_head), false },
        { "a byte more", sizeof(cji_disk_head) + 1, true },
        { "the limit", INT64_C(1) << 30, true },
        { "a byte more than the limit", (INT64_C(1) << 30) + 1, false },
        { "300 GiB", INT64_C(300) << 30, false },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char path[CJI_DISK_PATH];
        size_t gone = 99;
        begin_anew();
        for (uint64_t k = 0; k < 4; k++) put(k);
        path_of(path, 3);
        if (truncate(path, rows[i].bytes)) tap_bail("%s: %s", path, strerror(errno));
        cji_disk_trim(&folder, 2 * CJI_DISK_LIMIT, (int64_t)time(NULL), &gone);
        tap_ok((access(path, F_OK) == 0) == rows[i].stays, "an entry of %s %s", rows[i].name,
               rows[i].stays ? "stays" : "is removed");
        tap_is_int(cache_files(&folder, ".kernel", NULL), rows[i].stays ? 4 : 3, "%s: and no other one", rows[i].name);
        tap_is_uint(counted(), blocks_there(), "%s: the count", rows[i].name);
    }
}

/* -- A full folder ------------------------------------------------------------------------------------------------- */

static void full(void)
{
    char line[600];
    begin_anew();
    put(1);
    while (cj_log_read(line, sizeof line)) {}
    atomic_store(&cji_process.cache_told, false);
    cj_disk_cache *c = cj_disk_cache_open(folder.path);
    cj_disk_cache_stats s;
    cj_disk_cache_stats_defaults(&s);
    cj_disk_cache_get_stats(c, &s);
    tap_ok(!s.full && s.left == CJI_DISK_LIMIT - 2 * BLOCK, "a folder with one entry has room");
    cji_disk_count_set(&folder, CJI_DISK_LIMIT - BLOCK);
    cj_disk_cache_get_stats(c, &s);
    tap_ok(s.full && s.left == BLOCK, "with a block left it is shown as full");
    put(2);
    put(3);
    tap_is_int(cache_files(&folder, ".kernel", NULL), 1, "nothing more is stored");
    tap_is_int(cj_log_read(line, sizeof line), CJ_LOG_WARNING, "the log reports that");
    tap_has_str(line, " is full until its files are counted anew, in an hour at most; `cujit cache prune` does it now",
                "with the fix");
    tap_is_int(cj_log_read(line, sizeof line), 0, "once");
    cj_disk_cache_prune(c, NULL);
    cj_disk_cache_get_stats(c, &s);
    tap_ok(!s.full && s.entries == 1, "prune counts anew");
    put(2);
    tap_is_int(cache_files(&folder, ".kernel", NULL), 2, "and there is room again");
    cj_disk_cache_close(c);
}

/* Without root's rights.  What may not be written cannot count, so nothing is stored beside it. */
static int beside_closed_counts(void)
{
    static const char *const names[] = { "total", "swept" };
    cji_disk_folder f;
    char line[600], path[CJI_DISK_PATH + 20], want[100];
    if (geteuid() == 0 && (setgid(65534) || setuid(65534))) return 1;
    snprintf(f.path, sizeof f.path, "%.900s/closed", folder.path);
    if (mkdir(f.path, 0700)) return 2;
    setenv("CUJIT_CACHE_DIR", f.path, 1);
    put(0);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(path, sizeof path, "%.900s/.cujit-%s", f.path, names[i]);
        snprintf(want, sizeof want, "/.cujit-%s is no file of the cache that may be written", names[i]);
        atomic_store(&cji_process.cache_told, false);
        if (chmod(path, 0400)) return 3;
        put(i + 1);
        if (cj_log_read(line, sizeof line) != CJ_LOG_WARNING || !strstr(line, want)) return 4;
        if (chmod(path, 0600) || cache_files(&f, ".kernel", NULL) != 1) return 5;
    }
    put(1);
    const int stored = cache_files(&f, ".kernel", NULL);
    cache_folder_remove(&f);
    return stored == 2 ? 0 : 6;
}

static void closed_counts(void)
{
    char line[600];
    int status = -1;
    while (cj_log_read(line, sizeof line)) {}
    fflush(stdout);
    chmod(folder.path, 0777);
    const pid_t child = fork();
    if (!child) _exit(beside_closed_counts());
    waitpid(child, &status, 0);
    chmod(folder.path, 0700);
    tap_is_int(status, 0, "nothing is stored beside a count that may not be written, and the log names it");
}

/* -- The limit of a process for files ------------------------------------------------------------------------------ */

/* The status of a process that stores and removes with such a limit: 0, and no signal. */
static int limited(rlim_t bytes, int64_t used)
{
    int status = -1;
    fflush(stdout);
    const pid_t child = fork();
    if (!child) {
        const struct rlimit limit = { bytes, RLIM_INFINITY };
        cji_hash128 build = { { 1, 2 } };
        size_t gone;
        setrlimit(RLIMIT_FSIZE, &limit);
        put(7);
        put(8);
        cji_disk_recent *r = cji_disk_recent_begin("/usr/bin/limited", build, NULL);
        if (r) cji_disk_keys_use(&r->used, cache_key(7));
        cji_disk_recent_end(r);
        cji_disk_count_set(&folder, (uint64_t)used * 2);
        cji_disk_trim(&folder, CJI_DISK_LIMIT, (int64_t)time(NULL), &gone);
        removed_by_call();
        _exit(0);
    }
    waitpid(child, &status, 0);
    return status;
}

static void file_limits(void)
{
    static const struct { const char *name; rlim_t bytes; int64_t used; } rows[] = {
        { "nothing may be written", 0, 4 * BLOCK },
        { "less than the line of a count", 10, 4 * BLOCK },
        { "a list, but no entry", 1000, 4 * BLOCK },
        { "an entry, but not what 500 MiB of them count", 100 << 10, INT64_C(500) << 20 },
        { "half of what they count", 64 << 10, INT64_C(500) << 20 },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        for (int fresh = 0; fresh < 2; fresh++) {
            begin_anew();
            if (!fresh) {
                for (uint64_t k = 0; k < 3; k++) put(k);
                cji_disk_count_set(&folder, (uint64_t)rows[i].used);
            }
            tap_is_int(limited(rows[i].bytes, rows[i].used), 0, "%s, %s folder: the program goes on", rows[i].name,
                       fresh ? "a new" : "a used");
            tap_is_int(cache_files(&folder, ".new", NULL), 0, "%s: nothing is left behind", rows[i].name);
        }
    }
}

int main(void)
{
    tap_plan(0);
    folder = cache_folder();
    setenv("CUJIT_CACHE_DIR", folder.path, 1);
    unsetenv("CUJIT_CACHE");
    stored_again();
    at_a_time();
    failures();
    removed();
    gone_meanwhile();
    wrong_sizes();
    full();
    closed_counts();
    file_limits();
    cache_folder_remove(&folder);
    return tap_done();
}
