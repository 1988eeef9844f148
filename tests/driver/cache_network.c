/* A folder on a network file system or a disk with faults: locks that it does not have, stale handles, names that
 * cannot be changed, times that cannot be set, files that vanish.  A program works on without the cache, the log
 * reports it once, and nothing is left behind. */
#include <sys/stat.h>

#include "tests/driver/cache_faults.h"
#include "tests/driver/cache_parts.h"
#include "tests/tap.h"

#include <cujit/cujit.h>

#include <dirent.h>
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <time.h>

enum { HOUR = 3600, BLOCK = 4096, BYTES = 5000, ENTRIES = 10 };
static cji_disk_folder folder;

/* Calls that only sweeps make. */
static struct { int flock, futimens, ftruncate; } error_of;
static bool forks_when_locked;
static pid_t child_of_sweep;

int flock(int fd, int operation)
{
    if (error_of.flock) {
        errno = error_of.flock;
        return -1;
    }
    const int result = (int)syscall(SYS_flock, fd, operation);
    if (result || !forks_when_locked) return result;
    forks_when_locked = false;
    fflush(stdout);
    child_of_sweep = fork();
    if (!child_of_sweep) {
        alarm(600); /* where the test ends early */
        pause();
        _exit(1);
    }
    return 0;
}

int futimens(int fd, const struct timespec times[2])
{
    if (!error_of.futimens) return (int)syscall(SYS_utimensat, fd, NULL, times, 0);
    errno = error_of.futimens;
    return -1;
}

int ftruncate(int fd, off_t bytes)
{
    if (!error_of.ftruncate) return (int)syscall(SYS_ftruncate, fd, bytes);
    errno = error_of.ftruncate;
    return -1;
}

static int names_until_failure = -1; /* -1: no failure */

struct dirent *readdir(DIR *dir)
{
    if (names_until_failure > 0) names_until_failure--;
    if (!names_until_failure) {
        errno = EIO;
        return NULL;
    }
    struct dirent *(*next)(DIR *);
    void *address = dlsym(RTLD_NEXT, "readdir");
    memcpy(&next, &address, sizeof next);
    return next(dir);
}

static bool put(uint64_t number)
{
    cache_image c = cache_image_make(number, BYTES);
    cji_disk_put(cache_key(number), &c.image);
    cache_image_free(&c);
    return cache_files(&folder, ".new", NULL) == 0;
}

static bool get(uint64_t number)
{
    cji_disk_found found;
    if (!cji_disk_get(cache_key(number), NULL, &found)) return false;
    bool good = cache_image_is(&found, number, BYTES);
    cji_disk_found_free(&found);
    return good;
}

/* -- Calls that fail ----------------------------------------------------------------------------------------------- */

static const struct { const char *name; fault_call call; int error; const char *log; } rows[] = {
    { "a stale handle at open", FAULT_OPEN, ESTALE, "cannot be written: Stale file handle" },
    { "a file system that is read-only", FAULT_OPEN, EROFS, "cannot be written: Read-only file system" },
    { "no inodes", FAULT_OPEN, ENOSPC, "cannot be written: No space left on device" },
    { "a quota at write", FAULT_WRITE, EDQUOT, "cannot be written: Disk quota exceeded" },
    { "a full disk in the middle", FAULT_WRITE_HALF, ENOSPC, "cannot be written: No space left on device" },
    { "a server that fails at fsync", FAULT_FSYNC, EIO, "cannot be written: Input/output error" },
    { "a quota at close", FAULT_CLOSE, EDQUOT, "cannot be written: Disk quota exceeded" },
    { "a stale handle at rename", FAULT_RENAME, ESTALE, "cannot be written: Stale file handle" },
    { "a name that cannot be changed", FAULT_RENAME, EPERM, "cannot be written: Operation not permitted" },
    { "a stale handle at read", FAULT_READV, ESTALE, "cannot be read: Stale file handle" },
    { "a server that fails at read", FAULT_READV, EIO, "cannot be read: Input/output error" },
};

/* In a process of its own, since the log has one line of a process. */
static int one_failure(size_t i)
{
    char line[600];
    const bool reads = rows[i].call == FAULT_READV;
    fault_begin(rows[i].call, 0, rows[i].error);
    if (!put(1)) return 1;
    if (!reads && get(1)) return 2;
    if (reads && get(0)) return 3;
    fault_end();
    if (cj_log_read(line, sizeof line) != CJ_LOG_WARNING || !strstr(line, rows[i].log)) return 4;
    fault_begin(rows[i].call, 0, rows[i].error);
    if (!put(2) || cj_log_read(line, sizeof line)) return 5;
    get(0);
    fault_end();
    if (cj_log_read(line, sizeof line)) return 6;
    return put(3) && get(3) && get(0) ? 0 : 7;
}

static void calls_fail(void)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int status = -1, answer[2], code = 99;
        cache_folder_remove(&folder);
        if (mkdir(folder.path, 0700) || !put(0) || pipe(answer)) tap_bail("no folder");
        fflush(stdout);
        pid_t child = fork();
        if (!child) {
            code = one_failure(i);
            _exit(write(answer[1], &code, sizeof code) != (ssize_t)sizeof code);
        }
        if (read(answer[0], &code, sizeof code) != (ssize_t)sizeof code) code = 99;
        waitpid(child, &status, 0);
        close(answer[0]);
        close(answer[1]);
        tap_is_int(code, 0, "%s: one line of the log, nothing left behind, the next calls succeed", rows[i].name);
    }
}

/* -- Sweeps -------------------------------------------------------------------------------------------------------- */

static void set_old(const char *name)
{
    char path[CJI_DISK_PATH + CJI_DISK_NAME];
    const struct timespec set[2] = { { .tv_nsec = UTIME_OMIT }, { .tv_sec = time(NULL) - 2 * HOUR } };
    snprintf(path, sizeof path, "%s/%s", folder.path, name);
    if (utimensat(AT_FDCWD, path, set, 0)) tap_bail("%s: %s", path, strerror(errno));
}

static void sweeps(void)
{
    static const struct { const char *name; int flock, futimens, ftruncate; } faults[] = {
        { "a folder without faults", 0, 0, 0 },
        { "locks that the file system does not have", ENOLCK, 0, 0 },
        { "locks that are not supported", EOPNOTSUPP, 0, 0 },
        { "locks that a signal interrupts", EINTR, 0, 0 },
        { "times that cannot be set", 0, EPERM, 0 },
        { "a count that cannot be cut", 0, 0, EIO },
        { "all of these", ENOLCK, EPERM, EIO },
    };
    const int64_t now = (int64_t)time(NULL);
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        cache_folder_remove(&folder);
        if (mkdir(folder.path, 0700)) tap_bail("no folder");
        for (uint64_t k = 0; k < ENTRIES; k++) put(k);
        set_old(".cujit-swept");
        error_of.flock = faults[i].flock;
        error_of.futimens = faults[i].futimens;
        error_of.ftruncate = faults[i].ftruncate;
        const bool admitted = !cji_disk_rejects(&folder, BYTES, (ENTRIES - 2) * 2 * BLOCK, now);
        int left = cache_files(&folder, ".kernel", NULL);
        error_of.flock = error_of.futimens = error_of.ftruncate = 0;
        tap_is_int(left, 6, "%s: the folder is swept", faults[i].name);
        tap_ok(admitted || faults[i].ftruncate, "%s: and takes new entries", faults[i].name);
        int found = 0;
        for (uint64_t k = 0; k < ENTRIES; k++) found += get(k);
        tap_is_int(found, left, "%s: what stays is found", faults[i].name);
    }
    cache_folder_remove(&folder);
    tap_ok(!get(0) && put(0) && get(0), "a folder that vanished is made again");
}

/* What is known of a folder then is not all of it: nothing is reported as done, and the count stays. */
static void unread_folders(void)
{
    uint64_t counted = 0;
    cache_folder_remove(&folder);
    if (mkdir(folder.path, 0700)) tap_bail("no folder");
    for (uint64_t k = 0; k < ENTRIES; k++) put(k);
    cj_disk_cache *c = cj_disk_cache_open(folder.path);
    names_until_failure = 5;
    cj_disk_cache *part = cj_disk_cache_open(folder.path);
    names_until_failure = 5;
    const cj_status pruned = cj_disk_cache_prune(c, NULL);
    names_until_failure = -1;
    tap_ok(cj_error_of(part)->status == CJ_ESTATE && strstr(cj_error_of(part)->message, "cannot be read: Input/output"),
           "a folder that is read in part is not opened: %s", cj_error_of(part)->message);
    tap_is_int(pruned, CJ_ESTATE, "nor pruned");
    tap_ok(cji_disk_counted(&folder, &counted) && counted == ENTRIES * 2 * BLOCK, "nor counted");
    cj_disk_cache_close(part);
    cj_disk_cache_close(c);
}

/* Another thread of a program may call fork() while one sweeps, and the child may live for days. */
static void child_of_a_sweep(void)
{
    const int64_t now = (int64_t)time(NULL);
    for (int second = 0; second < 2; second++) {
        for (uint64_t k = 0; k < ENTRIES; k++) put(k);
        set_old(".cujit-swept");
        forks_when_locked = !second;
        cji_disk_rejects(&folder, BYTES, (ENTRIES - 2) * 2 * BLOCK, now);
        tap_is_int(cache_files(&folder, ".kernel", NULL), 6, "%s", second ? "an hour later the next one sweeps"
                                                                          : "a process has a child while it sweeps");
    }
    if (child_of_sweep <= 0) tap_bail("no child");
    kill(child_of_sweep, SIGKILL);
    waitpid(child_of_sweep, NULL, 0);
}

int main(void)
{
    tap_plan(0);
    folder = cache_folder();
    setenv("CUJIT_CACHE_DIR", folder.path, 1);
    unsetenv("CUJIT_CACHE");
    calls_fail();
    sweeps();
    unread_folders();
    child_of_a_sweep();
    cache_folder_remove(&folder);
    return tap_done();
}
