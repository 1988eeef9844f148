/* Entries in files. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "base/file_signals.h"
#include "base/first.h"
#include "driver/cache/disk_cache.h"

/* -- Names --------------------------------------------------------------------------------------------------------- */

/* The path of a file of the folder, which has room for it. */
static void path_in(char path[CJI_DISK_PATH], const cji_disk_folder *folder, const char *name)
{
    size_t n = strlen(folder->path);
    memcpy(path, folder->path, n);
    path[n] = '/';
    memcpy(path + n + 1, name, strlen(name) + 1);
}

/* A name that no other writer has: of this process, of another one, or of one on another host that shares the folder.
 */
static void unfinished_name(char name[CJI_DISK_NAME])
{
    static atomic_uint_fast64_t writers;
    uint64_t drawn = 0;
    struct timespec t = { 0, 0 };
    clock_gettime(CLOCK_REALTIME, &t);
    if (getrandom(&drawn, sizeof drawn, GRND_NONBLOCK) != (ssize_t)sizeof drawn) drawn = (uint64_t)(uintptr_t)&drawn;
    const uint64_t own[] = { drawn, (uint64_t)getpid(), (uint64_t)t.tv_sec, (uint64_t)t.tv_nsec,
                             atomic_fetch_add(&writers, 1) };
    cji_hash128 hash = cji_hash_bytes(own, sizeof own);
    cji_disk_unfinished_file(name, hash);
}

/* -- Reading ------------------------------------------------------------------------------------------------------- */

typedef struct entry_reader {
    cji_hash128 key;
    uint32_t owner;          /* the process's effective user */
    bool uses, removes;      /* a good entry is used by that; a bad one is removed */
    uint64_t most;           /* bytes of a file that is read */
    cji_disk_ready *ready;   /* whose memory it takes; NULL: none */
} entry_reader;

/* All bytes of the file, whose size is known.  FAILED: errno. */
static cji_disk_result read_all(int fd, cji_disk_head *head, unsigned char *room, size_t rest)
{
    size_t done = 0, all = sizeof *head + rest;
    while (done < all) {
        struct iovec part[2] = { { (char *)head + done, done < sizeof *head ? sizeof *head - done : 0 },
                                 { room, rest } };
        if (done > sizeof *head) {
            part[1].iov_base = room + (done - sizeof *head);
            part[1].iov_len = all - done;
        }
        const int skip = done >= sizeof *head;
        ssize_t n = readv(fd, part + skip, 2 - skip);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return CJI_DISK_FAILED;
        if (!n) return CJI_DISK_BAD; /* it was cut meanwhile */
        done += (size_t)n;
    }
    return CJI_DISK_HIT;
}

/* Memory for the bytes behind the head: what is ready, where they fill enough of it, so that little is wasted. */
static unsigned char *room_for(cji_disk_ready *ready, size_t rest, size_t *bytes)
{
    unsigned char *room = NULL;
    const bool small = rest <= CJI_DISK_ROOM_SMALL;
    *bytes = small ? CJI_DISK_ROOM_SMALL : CJI_DISK_ROOM;
    if (ready && rest <= CJI_DISK_ROOM) room = atomic_exchange(small ? &ready->small : &ready->room, NULL);
    if (room) return room;
    *bytes = rest;
    return cji_alloc(rest);
}

static cji_disk_result read_entry(int fd, const struct stat *s, const entry_reader *r, cji_disk_found *found)
{
    cji_disk_head head;
    size_t bytes;
    if (!S_ISREG(s->st_mode) || s->st_uid != r->owner || s->st_size <= (off_t)sizeof head ||
        (uint64_t)s->st_size > CJI_DISK_LIMIT)
        return CJI_DISK_BAD;
    if ((uint64_t)s->st_size > r->most) return CJI_DISK_LARGE;
    const size_t rest = (size_t)s->st_size - sizeof head;
    unsigned char *room = room_for(r->ready, rest, &bytes);
    if (!room) {
        errno = ENOMEM;
        return CJI_DISK_FAILED;
    }
    cji_disk_result result = read_all(fd, &head, room, rest);
    if (result == CJI_DISK_HIT) result = cji_disk_decode(r->key, &head, room, rest, found);
    if (result == CJI_DISK_HIT) {
        found->room_bytes = bytes;
    } else {
        int error = errno;
        cji_free(room, bytes);
        errno = error;
    }
    return result;
}

/* Whether the time of the latest use is to be written, and as what: never a time of the future. */
static bool is_use_due(const struct stat *s, struct timespec times[2])
{
    const int64_t now = (int64_t)time(NULL), age = now - (int64_t)s->st_mtime;
    times[0] = (struct timespec){ .tv_nsec = UTIME_OMIT };
    times[1] = (struct timespec){ .tv_sec = (time_t)now };
    return age >= CJI_DISK_HOUR || age < -CJI_DISK_HOUR;
}

void cji_disk_note_use(int fd, const struct stat *s)
{
    struct timespec times[2];
    if (is_use_due(s, times)) (void)!futimens(fd, times);
}

/* The same of a file that is not open. */
static void note_use_at(int at, const char *path)
{
    struct timespec times[2];
    struct stat s;
    if (!fstatat(at, path, &s, AT_SYMLINK_NOFOLLOW) && S_ISREG(s.st_mode) && is_use_due(&s, times))
        (void)!utimensat(at, path, times, AT_SYMLINK_NOFOLLOW);
}

void cji_disk_note_key(const cji_disk_folder *folder, cji_hash128 key)
{
    char name[CJI_DISK_NAME], path[CJI_DISK_PATH];
    cji_disk_name(name, key);
    path_in(path, folder, name);
    note_use_at(AT_FDCWD, path);
}

void cji_disk_note_ready(const cji_disk_ready *ready, cji_hash128 key)
{
    char name[CJI_DISK_NAME];
    uint32_t owner;
    if (!cji_disk_ready_of(ready, &owner)) return;
    cji_disk_name(name, key);
    note_use_at(ready->fd, name);
}

/* The file `path`, from the folder `at` on. */
static CJI_FIRST cji_disk_result read_from(int at, const char *path, const entry_reader *r, cji_disk_found *found)
{
    /* Neither a link to elsewhere nor a pipe that never answers. */
    int fd = openat(at, path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0 && errno == ENOENT) return CJI_DISK_MISS;
    cji_disk_result result = fd < 0 && errno == ELOOP ? CJI_DISK_BAD : CJI_DISK_FAILED;
    struct stat s = { .st_size = 0 };
    if (fd >= 0) {
        if (fstat(fd, &s) == 0) {
            result = read_entry(fd, &s, r, found);
            struct timespec times[2];
            if (result == CJI_DISK_HIT && r->uses) cji_disk_note_use(fd, &s);
            else if (result == CJI_DISK_HIT) found->use_due = is_use_due(&s, times);
        }
        int error = errno;
        close(fd);
        errno = error;
    }
    if (result == CJI_DISK_BAD && r->removes && unlinkat(at, path, 0) == 0)
        cji_disk_uncount(at, path, (uint64_t)s.st_size);
    return result;
}

cji_disk_result cji_disk_read(const cji_disk_folder *folder, cji_hash128 key, bool remove, cji_disk_found *found)
{
    char name[CJI_DISK_NAME], path[CJI_DISK_PATH];
    cji_disk_name(name, key);
    path_in(path, folder, name);
    const entry_reader r = { .key = key, .owner = geteuid(), .uses = remove, .removes = remove,
                             .most = CJI_DISK_LIMIT };
    return read_from(AT_FDCWD, path, &r, found);
}

/* -- Writing ------------------------------------------------------------------------------------------------------- */

static bool write_all(int fd, const unsigned char *p, size_t n)
{
    while (n) {
        ssize_t done = write(fd, p, n);
        if (done < 0 && errno == EINTR) continue;
        if (done <= 0) return false;
        p += done;
        n -= (size_t)done;
    }
    return true;
}

static bool write_synced(int fd, const unsigned char *p, size_t n, bool sync)
{
    cji_file_signals held;
    cji_file_signals_hold(&held);
    const bool good = write_all(fd, p, n) && (!sync || fsync(fd) == 0);
    cji_file_signals_release(&held);
    return good;
}

/* Gives the file its name.  *is_new, unless NULL: no file had it, which one writer alone finds of those that write the
 * same at a time; where the file system has no hard links, nearly so. */
static bool name_file(const char *fresh, const char *path, bool *is_new)
{
    struct stat s;
    if (is_new && link(fresh, path) == 0) {
        *is_new = true;
        unlink(fresh);
        return true;
    }
    if (is_new) *is_new = errno != EEXIST && lstat(path, &s) != 0;
    return rename(fresh, path) == 0;
}

/* Into a new file that is renamed: a reader finds all of it, or nothing. */
bool cji_disk_write_file(const cji_disk_folder *folder, const char *name, const unsigned char *p, size_t n, bool sync,
                         bool *is_new)
{
    char fresh_name[CJI_DISK_NAME], fresh[CJI_DISK_PATH], path[CJI_DISK_PATH];
    int fd = -1;
    for (int tries = 0; fd < 0 && tries < 4; tries++) {
        unfinished_name(fresh_name);
        path_in(fresh, folder, fresh_name);
        fd = open(fresh, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (fd < 0 && errno != EEXIST) return false;
    }
    if (fd < 0) return false;
    path_in(path, folder, name);
    bool good = write_synced(fd, p, n, sync);
    int error = errno;
    if (close(fd) && good) {
        good = false;
        error = errno;
    }
    if (good && !name_file(fresh, path, is_new)) {
        good = false;
        error = errno;
    }
    if (!good) unlink(fresh);
    errno = error;
    return good;
}

/* *added: bytes that the folder has more by that. */
static bool write_entry(const cji_disk_folder *folder, cji_hash128 key, const cji_disk_image *image, uint64_t *added)
{
    char name[CJI_DISK_NAME];
    size_t bytes = 0;
    bool is_new = false;
    unsigned char *p = cji_disk_encode(key, image, &bytes);
    if (!p) {
        errno = ENOMEM;
        return false;
    }
    cji_disk_name(name, key);
    bool good = cji_disk_write_file(folder, name, p, bytes, true, &is_new);
    int error = errno;
    cji_free(p, bytes);
    *added = good && is_new ? bytes : 0;
    errno = error;
    return good;
}

bool cji_disk_write(const cji_disk_folder *folder, cji_hash128 key, const cji_disk_image *image)
{
    uint64_t added;
    return write_entry(folder, key, image, &added);
}

/* -- For the driver layer ------------------------------------------------------------------------------------------ */

/* A thread that is cancelled in the middle would leave a file open, and memory. */
static int hold_cancel(void)
{
    int before = PTHREAD_CANCEL_ENABLE;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    return before;
}

static void allow_cancel(int before) { pthread_setcancelstate(before, &before); }

static cji_disk_result read_ready(cji_disk_ready *ready, uint32_t owner, cji_hash128 key, cji_disk_found *found)
{
    char name[CJI_DISK_NAME];
    const entry_reader r = { .key = key, .owner = owner, .uses = true, .removes = true, .most = CJI_DISK_LIMIT,
                             .ready = ready };
    cji_disk_name(name, key);
    return read_from(ready->fd, name, &r, found);
}

cji_disk_result cji_disk_read_ahead(const cji_disk_ready *ready, cji_hash128 key, size_t most, cji_disk_found *found)
{
    char name[CJI_DISK_NAME];
    entry_reader r = { .key = key, .removes = true, .most = most };
    if (!cji_disk_ready_of(ready, &r.owner)) return CJI_DISK_FAILED;
    cji_disk_name(name, key);
    return read_from(ready->fd, name, &r, found);
}

static const char *shown_path(char room[CJI_DISK_SHOWN], const cji_disk_folder *folder)
{
    return cji_shorten(room, CJI_DISK_SHOWN, folder->path, strlen(folder->path));
}

static void tell_failure(cji_disk_result result, const cji_disk_folder *folder)
{
    const int error = errno;
    char room[CJI_DISK_SHOWN];
    if (result == CJI_DISK_FAILED)
        cji_disk_tell("an entry in %s cannot be read: %s; `cujit cache verify` names it", shown_path(room, folder),
                      strerror(error));
}

/* By the folder's path, which another one may have by now. */
static cji_disk_result read_found(cji_hash128 key, cji_disk_found *found)
{
    cji_disk_folder folder;
    if (!cji_disk_open(&folder, false)) return CJI_DISK_MISS;
    const cji_disk_result result = cji_disk_read(&folder, key, true, found);
    tell_failure(result, &folder);
    return result;
}

CJI_FIRST bool cji_disk_get(cji_hash128 key, cji_disk_ready *ready, cji_disk_found *found)
{
    cji_disk_result result = CJI_DISK_MISS;
    uint32_t owner;
    int before = hold_cancel();
    if (ready && cji_disk_ready_of(ready, &owner)) {
        result = read_ready(ready, owner, key, found);
        tell_failure(result, &ready->folder);
    }
    if (result == CJI_DISK_MISS) result = read_found(key, found);
    allow_cancel(before);
    return result == CJI_DISK_HIT;
}

/* Whether another process has stored the entry meanwhile. */
static bool is_stored(const cji_disk_folder *folder, cji_hash128 key)
{
    cji_disk_found found;
    if (cji_disk_read(folder, key, false, &found) != CJI_DISK_HIT) return false;
    cji_disk_found_free(&found);
    return true;
}

static void tell_unwritten(const cji_disk_folder *folder, int error)
{
    char room[CJI_DISK_SHOWN];
    cji_disk_tell("%s cannot be written: %s%s", shown_path(room, folder), strerror(error), cji_disk_fix(error));
}

static void store_entry(const cji_disk_folder *folder, cji_hash128 key, const cji_disk_image *image)
{
    const uint64_t bytes = sizeof(cji_disk_head) + image->code_bytes + image->log_bytes;
    uint64_t added;
    char room[CJI_DISK_SHOWN];
    const char *why = cji_disk_rejects(folder, bytes, CJI_DISK_LIMIT, (int64_t)time(NULL));
    if (why) cji_disk_tell("%s%s", shown_path(room, folder), why);
    else if (!write_entry(folder, key, image, &added))
        tell_unwritten(folder, errno);
    else if (added) cji_disk_count(folder, added);
}

void cji_disk_put(cji_hash128 key, const cji_disk_image *image)
{
    cji_disk_folder folder;
    if (!cji_disk_open(&folder, true)) return;
    const int before = hold_cancel();
    if (!is_stored(&folder, key)) store_entry(&folder, key, image);
    allow_cancel(before);
}
