/* How much room the files of the folder take, over all processes, by two files of the cache's own.  ".cujit-total" has
 * a line that names it, and as many bytes behind it as the files take blocks of 4 KiB: who has stored a file appends a
 * byte for each block of it, which counts over all processes without a lock.  A sweep, and who removes an entry, sets
 * its size; what another process appends at that moment is not counted until the next sweep.
 * ".cujit-swept" has such a line alone, and the time of the latest sweep as its time of modification; it is locked by
 * who sweeps.
 *
 * Who finds that the latest sweep is an hour ago sweeps.  When the folder is full before that, nothing more is stored
 * until then.  A file of these names that does not begin with its line is somebody else's: it is left alone, and
 * nothing is stored beside it, since nothing could be counted.  The same holds of one that may not be written. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file_signals.h"
#include "driver/cache/disk_cache.h"

typedef struct count_file { const char *name, *line, *foreign; } count_file;
static const count_file total_file = {
    ".cujit-total", "cujit cache: a byte follows for each 4 KiB of the other files\n",
    "/.cujit-total is no file of the cache that may be written, so nothing is stored; move it away",
};
static const count_file swept_file = {
    ".cujit-swept", "cujit cache: the other files were counted at the time of this one\n",
    "/.cujit-swept is no file of the cache that may be written, so nothing is stored; move it away",
};
static const char full_folder[] = " is full until its files are counted anew, in an hour at most; `cujit cache prune` "
                                  "does it now";
enum { COUNT_LINE = 80 };

uint64_t cji_disk_blocks(uint64_t bytes) { return bytes / CJI_DISK_BLOCK + (bytes % CJI_DISK_BLOCK != 0); }

/* -- The files ----------------------------------------------------------------------------------------------------- */

typedef enum count_state { COUNT_OPEN, COUNT_MISSING, COUNT_FOREIGN, COUNT_FAILED } count_state;

/* *behind: bytes behind the line, which are zeros; of files that have none the last one stands for all. */
static count_state look_at_count(int fd, const count_file *file, uint64_t *behind)
{
    const size_t n = strlen(file->line);
    char line[COUNT_LINE], last = 0;
    struct stat s;
    if (fstat(fd, &s)) return COUNT_FAILED;
    if (!S_ISREG(s.st_mode) || s.st_uid != geteuid() || (uint64_t)s.st_size < n) return COUNT_FOREIGN;
    *behind = (uint64_t)s.st_size - n;
    if (pread(fd, line, n, 0) != (ssize_t)n || (*behind && pread(fd, &last, 1, s.st_size - 1) != 1))
        return COUNT_FAILED;
    return memcmp(line, file->line, n) || last || (*behind && file == &swept_file) ? COUNT_FOREIGN : COUNT_OPEN;
}

/* Of a file that cannot be opened: errno.  One that is there and may not be written is as good as foreign. */
static count_state closed_count(int at, const char *path)
{
    struct stat s;
    switch (errno) {
    case ENOENT: return COUNT_MISSING;
    case ELOOP:
    case EISDIR:
    case ENXIO: return COUNT_FOREIGN;
    case EACCES:
    case EPERM: return fstatat(at, path, &s, AT_SYMLINK_NOFOLLOW) ? COUNT_FAILED : COUNT_FOREIGN;
    default: return COUNT_FAILED;
    }
}

/* One of the two files, beside the file `path`, which is relative to the folder `at`.  *fd is to be closed where it is
 * OPEN. */
static count_state open_count(int at, const char *path, const count_file *file, int *fd, uint64_t *behind)
{
    char own[CJI_DISK_PATH + CJI_DISK_NAME];
    const char *slash = strrchr(path, '/');
    const int folder = slash ? (int)(slash - path) + 1 : 0;
    snprintf(own, sizeof own, "%.*s%s", folder, path, file->name);
    *fd = openat(at, own, O_RDWR | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    if (*fd < 0) return closed_count(at, own);
    const count_state state = look_at_count(*fd, file, behind);
    if (state != COUNT_OPEN) close(*fd);
    return state;
}

static count_state open_count_of(const cji_disk_folder *folder, const count_file *file, int *fd, uint64_t *behind)
{
    char path[CJI_DISK_PATH + 1];
    snprintf(path, sizeof path, "%s/", folder->path);
    return open_count(AT_FDCWD, path, file, fd, behind);
}

/* The same; where it is not there it is made.  Two processes that make it at a time lose what one of them has counted
 * until then. */
static count_state make_count(const cji_disk_folder *folder, const count_file *file, int *fd, uint64_t *behind,
                              bool *made)
{
    count_state state = open_count_of(folder, file, fd, behind);
    *made = state == COUNT_MISSING && cji_disk_write_file(folder, file->name, (const unsigned char *)file->line,
                                                          strlen(file->line), true, NULL);
    return *made ? open_count_of(folder, file, fd, behind) : state;
}

/* -- The total ----------------------------------------------------------------------------------------------------- */

/* Sets the number of blocks.  What cannot be set is wrong until the next sweep. */
static void set_blocks(int fd, uint64_t blocks)
{
    cji_file_signals held;
    cji_file_signals_hold(&held);
    (void)!ftruncate(fd, (off_t)(strlen(total_file.line) + blocks));
    cji_file_signals_release(&held);
}

static void add_blocks(int fd, uint64_t blocks)
{
    static const char zeros[1024];
    cji_file_signals held;
    cji_file_signals_hold(&held);
    while (blocks) {
        const ssize_t n = write(fd, zeros, blocks < sizeof zeros ? blocks : sizeof zeros);
        if (n <= 0) break;
        blocks -= (uint64_t)n;
    }
    cji_file_signals_release(&held);
}

void cji_disk_count(const cji_disk_folder *folder, uint64_t bytes)
{
    int fd;
    uint64_t counted;
    bool made;
    if (make_count(folder, &total_file, &fd, &counted, &made) != COUNT_OPEN) return;
    add_blocks(fd, cji_disk_blocks(bytes));
    close(fd);
}

void cji_disk_uncount(int at, const char *path, uint64_t bytes)
{
    int fd;
    uint64_t counted;
    const uint64_t blocks = cji_disk_blocks(bytes);
    if (bytes > CJI_DISK_LIMIT || open_count(at, path, &total_file, &fd, &counted) != COUNT_OPEN) return;
    set_blocks(fd, counted > blocks ? counted - blocks : 0);
    close(fd);
}

void cji_disk_count_set(const cji_disk_folder *folder, uint64_t bytes)
{
    int fd;
    uint64_t counted;
    if (open_count_of(folder, &total_file, &fd, &counted) != COUNT_OPEN) return;
    set_blocks(fd, cji_disk_blocks(bytes));
    close(fd);
}

bool cji_disk_counted(const cji_disk_folder *folder, uint64_t *bytes)
{
    int fd;
    uint64_t counted;
    if (open_count_of(folder, &total_file, &fd, &counted) != COUNT_OPEN) return false;
    *bytes = counted * CJI_DISK_BLOCK;
    close(fd);
    return true;
}

/* -- Sweeps that are due ------------------------------------------------------------------------------------------- */

static void set_swept(int fd, int64_t now)
{
    const struct timespec times[2] = { { .tv_nsec = UTIME_OMIT }, { .tv_sec = (time_t)now } };
    (void)!futimens(fd, times);
}

/* One process at a time: the others go on meanwhile.  Where files cannot be locked, the time, which is set first, keeps
 * most of them away. */
static void sweep_locked(const cji_disk_folder *folder, int swept, uint64_t limit, int64_t now)
{
    struct stat s;
    size_t removed;
    if (flock(swept, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK) return;
    if (fstat(swept, &s) == 0 && cji_disk_hour_ago((int64_t)s.st_mtime, now)) {
        set_swept(swept, now);
        cji_disk_trim(folder, limit, now, &removed);
    }
    flock(swept, LOCK_UN); /* a child that fork() has made meanwhile has the descriptor too */
}

static count_state sweep_if_due(const cji_disk_folder *folder, uint64_t limit, int64_t now)
{
    struct stat s;
    uint64_t behind;
    bool made;
    int swept;
    const count_state state = make_count(folder, &swept_file, &swept, &behind, &made);
    if (state != COUNT_OPEN) return state;
    if (made) set_swept(swept, now); /* the folder is new */
    else if (fstat(swept, &s) == 0 && cji_disk_hour_ago((int64_t)s.st_mtime, now))
        sweep_locked(folder, swept, limit, now);
    close(swept);
    return state;
}

const char *cji_disk_rejects(const cji_disk_folder *folder, uint64_t bytes, uint64_t limit, int64_t now)
{
    int total;
    uint64_t counted;
    bool made;
    if (sweep_if_due(folder, limit, now) == COUNT_FOREIGN) return swept_file.foreign;
    const count_state state = make_count(folder, &total_file, &total, &counted, &made);
    if (state == COUNT_FOREIGN) return total_file.foreign;
    if (state != COUNT_OPEN) return NULL; /* the file cannot be written either, and that says why */
    close(total);
    return counted + cji_disk_blocks(bytes) <= limit / CJI_DISK_BLOCK ? NULL : full_folder;
}
