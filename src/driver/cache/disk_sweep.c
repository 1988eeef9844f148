/* The bound of the cache, by two files without contents that matter.  "total" is as long as the entries are, in blocks
 * of 4 KiB: a sweep sets its size, and a writer appends a byte for each block of its entry, so the size is right over
 * all processes without a lock.  "swept" has the time of the latest sweep as its time of modification, and is locked
 * by who sweeps.
 *
 * Who finds that the latest sweep is an hour ago sweeps.  When the folder is full before that, nothing more is stored
 * until then. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "driver/cache/disk_cache.h"

enum { DISK_BLOCK = 4096, DISK_KEPT = 80 /* per cent, behind a sweep */ };
static const char unfinished_suffix[] = ".new";

static uint64_t blocks_of(uint64_t bytes) { return (bytes + DISK_BLOCK - 1) / DISK_BLOCK; }

/* An hour ago or more; or far in the future, by a clock that was set back. */
static bool hour_ago(int64_t then, int64_t now) { return now - then >= CJI_DISK_HOUR || now - then < -CJI_DISK_HOUR; }

/* -- What is there ------------------------------------------------------------------------------------------------- */

static bool is_unfinished(const char *name)
{
    size_t n = strlen(name), k = sizeof unfinished_suffix - 1;
    return n > k && strcmp(name + n - k, unfinished_suffix) == 0;
}

/* The latest use first; entries of the future last. */
static int by_use(const void *a, const void *b)
{
    const cji_disk_item *x = a, *y = b;
    return x->used > y->used ? -1 : x->used < y->used;
}

typedef struct listing {
    cji_disk_list *list;
    int64_t now;
    bool remove;   /* files that killed writers left behind, and lists that are old */
    int64_t lists_since; /* lists of programs that were used then or later stay */
} listing;

/* A file of a writer that is not at work any more, or a list that no program uses. */
static bool outlived(const listing *l, const struct stat *s, bool recent)
{
    if (!recent) return hour_ago(s->st_mtime, l->now);
    return s->st_mtime < l->lists_since || s->st_mtime - l->now > CJI_DISK_HOUR;
}

/* False without memory. */
static bool list_file(listing *l, int folder, const char *name)
{
    struct stat s;
    cji_hash128 key;
    const bool entry = cji_disk_key_of(name, &key), recent = !entry && cji_disk_is_recent(name);
    if (!entry && !recent && !is_unfinished(name)) return true;
    if (fstatat(folder, name, &s, AT_SYMLINK_NOFOLLOW) || !S_ISREG(s.st_mode)) return true; /* gone meanwhile */
    if (!entry) {
        if (l->remove && outlived(l, &s, recent)) unlinkat(folder, name, 0);
        else l->list->unfinished += !recent;
        return true;
    }
    if (!cji_grow(&l->list->item, &l->list->cap, l->list->n + 1, sizeof *l->list->item)) return false;
    int64_t used = (int64_t)s.st_mtime;
    if (used - l->now > CJI_DISK_HOUR) used = 0;
    l->list->item[l->list->n++] = (cji_disk_item){ .key = key, .bytes = (uint64_t)s.st_size, .used = used };
    l->list->bytes += blocks_of((uint64_t)s.st_size) * DISK_BLOCK;
    return true;
}

/* `bound`: removes what is neither an entry nor used; NULL: it stays. */
static bool list_folder(const cji_disk_folder *folder, int64_t now, const cji_disk_bound *bound, cji_disk_list *list)
{
    listing l = { .list = list, .now = now, .remove = bound, .lists_since = now - CJI_DISK_RECENT_DAYS * 86400 };
    if (bound && bound->since > l.lists_since) l.lists_since = bound->since;
    *list = (cji_disk_list){ .n = 0 };
    DIR *dir = opendir(folder->path);
    if (!dir) return false;
    bool good = true;
    for (struct dirent *e; good && (e = readdir(dir)) != NULL;) good = list_file(&l, dirfd(dir), e->d_name);
    closedir(dir);
    if (good && list->n) qsort(list->item, list->n, sizeof *list->item, by_use);
    if (!good) cji_disk_list_free(list);
    return good;
}

bool cji_disk_list_read(const cji_disk_folder *folder, int64_t now, cji_disk_list *list)
{
    return list_folder(folder, now, NULL, list);
}

void cji_disk_list_free(cji_disk_list *list)
{
    cji_free(list->item, list->cap * sizeof *list->item);
    *list = (cji_disk_list){ .n = 0 };
}

/* -- Removing ------------------------------------------------------------------------------------------------------ */

bool cji_disk_remove(const cji_disk_folder *folder, cji_hash128 key)
{
    char path[CJI_DISK_PATH + CJI_DISK_NAME], name[CJI_DISK_NAME];
    cji_disk_name(name, key);
    snprintf(path, sizeof path, "%s/%s", folder->path, name);
    return unlink(path) == 0;
}

/* One of the two files; -1: it cannot be opened.  *made: it was not there. */
static int open_count(const cji_disk_folder *folder, const char *name, bool *made)
{
    char path[CJI_DISK_PATH + CJI_DISK_NAME];
    const int flags = O_RDWR | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
    snprintf(path, sizeof path, "%s/%s", folder->path, name);
    *made = false;
    int fd = open(path, flags);
    if (fd >= 0 || errno != ENOENT) return fd;
    fd = open(path, flags | O_CREAT | O_EXCL, 0600);
    *made = fd >= 0;
    return fd >= 0 || errno != EEXIST ? fd : open(path, flags);
}

/* Removes one entry of a list, and counts it; one that is gone meanwhile is as good as removed. */
static void remove_item(const cji_disk_folder *folder, const cji_disk_item *item, cji_disk_removed *removed)
{
    if (cji_disk_remove(folder, item->key)) {
        removed->entries++;
        removed->bytes += blocks_of(item->bytes) * DISK_BLOCK;
    } else if (errno != ENOENT) {
        removed->failed++;
        removed->error = errno;
    }
}

void cji_disk_drop(const cji_disk_folder *folder, cji_disk_list *list, size_t i, cji_disk_removed *removed)
{
    remove_item(folder, &list->item[i], removed);
    if (removed->failed) return;
    list->bytes -= blocks_of(list->item[i].bytes) * DISK_BLOCK;
    list->n--;
    memmove(&list->item[i], &list->item[i + 1], (list->n - i) * sizeof *list->item);
}

/* What is left is counted by "total". */
static void set_total(const cji_disk_folder *folder, uint64_t bytes)
{
    bool made;
    int total = open_count(folder, "total", &made);
    if (total < 0) return;
    (void)!ftruncate(total, (off_t)(bytes / DISK_BLOCK));
    close(total);
}

bool cji_disk_prune(const cji_disk_folder *folder, const cji_disk_bound *bound, int64_t now, cji_disk_removed *removed)
{
    cji_disk_list list;
    *removed = (cji_disk_removed){ .entries = 0 };
    if (!list_folder(folder, now, bound, &list)) return false;
    const uint64_t most = list.bytes > bound->limit ? bound->kept : bound->limit;
    uint64_t bytes = list.bytes;
    for (size_t i = list.n; i-- > 0 && (bytes > most || list.item[i].used < bound->since);) {
        remove_item(folder, &list.item[i], removed);
        bytes -= blocks_of(list.item[i].bytes) * DISK_BLOCK;
    }
    cji_disk_list_free(&list);
    set_total(folder, bytes);
    return true;
}

cji_disk_bound cji_disk_usual_bound(uint64_t limit)
{
    return (cji_disk_bound){ .limit = limit, .kept = limit / 100 * DISK_KEPT, .since = INT64_MIN };
}

bool cji_disk_trim(const cji_disk_folder *folder, uint64_t limit, int64_t now, size_t *removed)
{
    const cji_disk_bound bound = cji_disk_usual_bound(limit);
    cji_disk_removed done;
    bool good = cji_disk_prune(folder, &bound, now, &done);
    *removed = (size_t)done.entries;
    return good;
}

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
    if (fstat(swept, &s) || !hour_ago((int64_t)s.st_mtime, now)) return;
    set_swept(swept, now);
    cji_disk_trim(folder, limit, now, &removed);
}

static void sweep_if_due(const cji_disk_folder *folder, uint64_t limit, int64_t now)
{
    struct stat s;
    bool made;
    int swept = open_count(folder, "swept", &made);
    if (swept < 0) return;
    if (made) set_swept(swept, now); /* the folder is new */
    else if (fstat(swept, &s) == 0 && hour_ago((int64_t)s.st_mtime, now)) sweep_locked(folder, swept, limit, now);
    close(swept); /* and with it the lock */
}

bool cji_disk_admit(const cji_disk_folder *folder, uint64_t bytes, uint64_t limit, int64_t now)
{
    static const char blocks[1024];
    struct stat s;
    bool made, room = true;
    sweep_if_due(folder, limit, now);
    int total = open_count(folder, "total", &made);
    if (total < 0) return true; /* the entry cannot be written either, and says why */
    if (fstat(total, &s) == 0 && S_ISREG(s.st_mode)) {
        uint64_t more = blocks_of(bytes);
        room = (uint64_t)s.st_size + more <= limit / DISK_BLOCK;
        while (room && more) {
            ssize_t n = write(total, blocks, more < sizeof blocks ? more : sizeof blocks);
            if (n <= 0) break;
            more -= (uint64_t)n;
        }
    }
    close(total);
    return room;
}
