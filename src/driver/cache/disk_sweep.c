/* The bound of the cache: what the folder has, and what of it is removed.  Only files whose names are those that the
 * cache makes are looked at: 32 hexadecimal digits and .kernel, 16 and .recent or .new. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "driver/cache/disk_cache.h"

enum { DISK_KEPT = 80 /* per cent, behind a sweep */, DAY_SECONDS = 86400 };

bool cji_disk_hour_ago(int64_t then, int64_t now)
{
    return now - then >= CJI_DISK_HOUR || now - then < -CJI_DISK_HOUR;
}

/* -- What is there ------------------------------------------------------------------------------------------------- */

/* No load reads an entry of such a size. */
static bool has_wrong_size(const cji_disk_item *item)
{
    return item->bytes <= sizeof(cji_disk_head) || item->bytes > CJI_DISK_LIMIT;
}

static uint64_t room_of(const cji_disk_item *item) { return cji_disk_blocks(item->bytes) * CJI_DISK_BLOCK; }

/* The latest use first; those of the future behind them. */
static int by_use(const void *a, const void *b)
{
    const cji_disk_item *x = a, *y = b;
    return x->used > y->used ? -1 : x->used < y->used;
}

/* The same, and entries of a wrong size last. */
static int by_size_and_use(const void *a, const void *b)
{
    const int x = has_wrong_size(a), y = has_wrong_size(b);
    return x != y ? x - y : by_use(a, b);
}

typedef struct listing {
    cji_disk_list *list;
    int64_t now;
    bool remove;   /* files that killed writers left behind */
} listing;

/* False without memory. */
static bool add_item(cji_disk_items *items, cji_hash128 key, const struct stat *s, int64_t now)
{
    if (!cji_grow(&items->item, &items->cap, items->n + 1, sizeof *items->item)) {
        errno = ENOMEM;
        return false;
    }
    const int64_t used = (int64_t)s->st_mtime;
    cji_disk_item *item = &items->item[items->n++];
    *item = (cji_disk_item){ .key = key, .bytes = (uint64_t)s->st_size, .used = used };
    if (used - now > CJI_DISK_HOUR) item->used = 0;
    items->bytes += room_of(item);
    return true;
}

/* False without memory, or where the folder's files may not be looked at: errno. */
static bool list_file(listing *l, int folder, const char *name)
{
    struct stat s;
    cji_hash128 key;
    const bool entry = cji_disk_key_of(name, &key), recent = !entry && cji_disk_is_recent(name, &key);
    if (!entry && !recent && !cji_disk_is_unfinished(name)) return true;
    if (fstatat(folder, name, &s, AT_SYMLINK_NOFOLLOW)) return errno != EACCES; /* else it is gone meanwhile */
    if (!S_ISREG(s.st_mode)) return true;
    if (entry || recent) return add_item(entry ? &l->list->entries : &l->list->recent, key, &s, l->now);
    if (l->remove && cji_disk_hour_ago(s.st_mtime, l->now)) unlinkat(folder, name, 0);
    else l->list->unfinished++;
    return true;
}

/* `remove`: what killed writers left behind.  False: errno. */
static bool list_folder(const cji_disk_folder *folder, int64_t now, bool remove, cji_disk_list *list)
{
    listing l = { .list = list, .now = now, .remove = remove };
    *list = (cji_disk_list){ .unfinished = 0 };
    DIR *dir = opendir(folder->path);
    if (!dir) return false;
    const struct dirent *e;
    bool good;
    do {
        errno = 0;
        e = readdir(dir);
        good = e ? list_file(&l, dirfd(dir), e->d_name) : !errno;
    } while (e && good);
    const int error = errno;
    closedir(dir);
    if (good && list->entries.n)
        qsort(list->entries.item, list->entries.n, sizeof *list->entries.item, by_size_and_use);
    if (good && list->recent.n) qsort(list->recent.item, list->recent.n, sizeof *list->recent.item, by_use);
    if (!good) cji_disk_list_free(list);
    errno = error;
    return good;
}

bool cji_disk_list_read(const cji_disk_folder *folder, int64_t now, cji_disk_list *list)
{
    return list_folder(folder, now, false, list);
}

void cji_disk_list_free(cji_disk_list *list)
{
    cji_free(list->entries.item, list->entries.cap * sizeof *list->entries.item);
    cji_free(list->recent.item, list->recent.cap * sizeof *list->recent.item);
    *list = (cji_disk_list){ .unfinished = 0 };
}

/* -- Removing ------------------------------------------------------------------------------------------------------ */

static void path_of_item(char path[CJI_DISK_PATH + CJI_DISK_NAME], const cji_disk_folder *folder,
                         const cji_disk_item *item, bool recent)
{
    char name[CJI_DISK_NAME];
    if (recent) cji_disk_recent_file(name, item->key);
    else cji_disk_name(name, item->key);
    snprintf(path, CJI_DISK_PATH + CJI_DISK_NAME, "%s/%s", folder->path, name);
}

/* Removes a file and counts that; one that is gone meanwhile is as good as removed.  False: it stays. */
static bool remove_item(const cji_disk_folder *folder, const cji_disk_item *item, bool recent,
                        cji_disk_removed *removed)
{
    char path[CJI_DISK_PATH + CJI_DISK_NAME];
    path_of_item(path, folder, item, recent);
    if (unlink(path) == 0) {
        *(recent ? &removed->lists : &removed->entries) += 1;
        removed->bytes += room_of(item);
    } else if (errno != ENOENT) {
        removed->failed++;
        removed->error = errno;
        return false;
    }
    return true;
}

void cji_disk_drop(const cji_disk_folder *folder, cji_disk_list *list, size_t i, cji_disk_removed *removed)
{
    char path[CJI_DISK_PATH + CJI_DISK_NAME];
    cji_disk_items *entries = &list->entries;
    const cji_disk_item item = entries->item[i];
    const uint64_t before = removed->entries;
    if (!remove_item(folder, &item, false, removed)) return;
    path_of_item(path, folder, &item, false);
    if (removed->entries > before) cji_disk_uncount(AT_FDCWD, path, item.bytes);
    entries->bytes -= room_of(&item);
    entries->n--;
    memmove(&entries->item[i], &entries->item[i + 1], (entries->n - i) * sizeof *entries->item);
}

/* What a sweep has before it. */
typedef struct sweep {
    const cji_disk_folder *folder;
    cji_disk_list list;
    uint64_t bytes;      /* of all files that are left */
    cji_disk_removed *removed;
} sweep;

static const cji_disk_item *last_of(const cji_disk_items *items)
{
    return items->n ? &items->item[items->n - 1] : NULL;
}

/* Removes the last item of the entries or of the lists of programs. */
static void remove_last(sweep *s, bool recent)
{
    cji_disk_items *items = recent ? &s->list.recent : &s->list.entries;
    const cji_disk_item *item = &items->item[--items->n];
    if (remove_item(s->folder, item, recent, s->removed)) s->bytes -= room_of(item);
}

/* What was not used for the longest time, until the rest fits. */
static void remove_until(sweep *s, uint64_t most)
{
    while (s->bytes > most) {
        const cji_disk_item *entry = last_of(&s->list.entries), *recent = last_of(&s->list.recent);
        if (!entry && !recent) return;
        remove_last(s, !entry || (recent && recent->used <= entry->used));
    }
}

bool cji_disk_prune(const cji_disk_folder *folder, const cji_disk_bound *bound, int64_t now, cji_disk_removed *removed)
{
    sweep s = { .folder = folder, .removed = removed };
    const int64_t month = now - CJI_DISK_RECENT_DAYS * DAY_SECONDS;
    const int64_t lists_since = bound->since > month ? bound->since : month;
    *removed = (cji_disk_removed){ .entries = 0 };
    if (!list_folder(folder, now, true, &s.list)) return false;
    const cji_disk_items *entries = &s.list.entries, *recent = &s.list.recent;
    s.bytes = entries->bytes + recent->bytes;
    while (entries->n && has_wrong_size(last_of(entries))) remove_last(&s, false);
    while (recent->n && (recent->n > CJI_DISK_RECENT_LISTS || last_of(recent)->used < lists_since))
        remove_last(&s, true);
    while (entries->n && last_of(entries)->used < bound->since) remove_last(&s, false);
    remove_until(&s, s.bytes > bound->limit ? bound->kept : bound->limit);
    cji_disk_list_free(&s.list);
    cji_disk_count_set(folder, s.bytes);
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
