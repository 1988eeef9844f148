/* What one program used lately: a list of keys in a file of the folder, so that its entries are read when the next
 * process of the program opens a device.  The file's name is a hash of the program's path, and of the builds that the
 * keys are made for: another driver or another cujit has a list of its own.  It is written under another name and
 * renamed, but not synchronised: what a crash of the machine leaves of it has a wrong checksum.
 *
 * A run is a device that was opened, used a kernel, and was closed.  A key that some runs in a row do not use leaves
 * the list.  Runs at a time count as one, since each adds to the number of such runs that it has read when it began.
 *
 * All of it is only quicker: no failure of it is a reason for a failure or for a line of the log. */
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cancel.h"
#include "base/first.h"
#include "base/obj.h"
#include "driver/cache/disk_cache.h"

/* -- Keys ---------------------------------------------------------------------------------------------------------- */

/* Its place; keys->n: it is not there. */
static CJI_FIRST size_t key_place(const cji_disk_keys *keys, cji_hash128 key)
{
    size_t i = 0;
    while (i < keys->n && !cji_hash128_equal(keys->key[i], key)) i++;
    return i;
}

static bool has_key(const cji_disk_keys *keys, cji_hash128 key) { return key_place(keys, key) < keys->n; }

CJI_FIRST void cji_disk_keys_use(cji_disk_keys *keys, cji_hash128 key)
{
    size_t i = key_place(keys, key);
    if (i == keys->n) {
        if (keys->n < CJI_DISK_RECENT_KEYS) keys->n++;
        else i--; /* the place of the key that was not used for the longest time */
    }
    memmove(&keys->key[1], &keys->key[0], i * sizeof *keys->key);
    keys->key[0] = key;
}

/* Whether the list begins with the keys that were used, in any order. */
static bool begins_with(const cji_disk_keys *list, const cji_disk_keys *used)
{
    for (size_t i = 0; i < used->n; i++)
        if (i >= list->n || !has_key(used, list->key[i])) return false;
    return true;
}

/* Whether that is the list already. */
static bool same_list(const cji_disk_keys *list, const cji_disk_keys *all, const cji_disk_keys *used)
{
    bool same = list->n == all->n && begins_with(list, used);
    for (size_t i = 0; i < list->n && same; i++) {
        const size_t k = key_place(all, list->key[i]);
        same = k < all->n && all->unused[k] == list->unused[i];
    }
    return same;
}

/* Runs that did not use the i-th key of the list, this one included; another process may have used it meanwhile. */
static unsigned unused_runs(const cji_disk_recent *recent, const cji_disk_keys *list, size_t i)
{
    const size_t k = key_place(&recent->listed, list->key[i]);
    if (k == recent->listed.n || list->unused[i] < recent->listed.unused[k]) return list->unused[i];
    return list->unused[i] > recent->listed.unused[k] ? list->unused[i] : list->unused[i] + 1u;
}

/* What was used, then what else is listed and there, and was used not long ago. */
static cji_disk_keys merged(const cji_disk_recent *recent, const cji_disk_keys *list)
{
    cji_disk_keys all = recent->used;
    for (size_t i = 0; i < list->n && all.n < CJI_DISK_RECENT_KEYS; i++) {
        const size_t k = key_place(&recent->listed, list->key[i]);
        const bool gone = k < recent->listed.n && recent->gone >> k & 1;
        const unsigned unused = unused_runs(recent, list, i);
        if (gone || unused >= CJI_DISK_RECENT_RUNS || has_key(&all, list->key[i])) continue;
        all.unused[all.n] = (uint8_t)unused;
        all.key[all.n++] = list->key[i];
    }
    return all;
}

/* -- The file ------------------------------------------------------------------------------------------------------ */

typedef struct recent_file {
    char magic[8];
    uint32_t format, count;  /* CJI_DISK_FORMAT, since keys change with it; how many keys follow */
    cji_hash128 checksum;    /* of the head with zeros here, and of the keys */
    uint8_t unused[CJI_DISK_RECENT_KEYS]; /* of each key, how many runs did not use it; zeros behind these */
    cji_hash128 key[CJI_DISK_RECENT_KEYS];
} recent_file;
enum { RECENT_HEAD = offsetof(recent_file, key) };
_Static_assert(RECENT_HEAD == 64, "lists have no bytes that nothing checks");
static const char recent_magic[8] = { 'c', 'u', 'j', 'l', 's', 't', '\n', 26 };

static size_t recent_bytes(size_t count) { return RECENT_HEAD + count * sizeof(cji_hash128); }

static cji_hash128 recent_checksum(const recent_file *file)
{
    recent_file blank = *file;
    blank.checksum = (cji_hash128){ { 0, 0 } };
    return cji_hash_bytes(&blank, recent_bytes(blank.count));
}

void cji_disk_recent_name(char name[CJI_DISK_NAME], const char *program, cji_hash128 build)
{
    cji_hasher h;
    cji_hasher_begin(&h);
    cji_hasher_put(&h, &build, sizeof build);
    cji_hasher_put(&h, program, strlen(program));
    cji_disk_recent_file(name, cji_hasher_end(&h));
}

/* Of this process's program.  False: its path is not known. */
static bool own_list_name(char name[CJI_DISK_NAME], cji_hash128 build)
{
    char path[4096];
    const ssize_t n = readlink("/proc/self/exe", path, sizeof path);
    if (n <= 0 || (size_t)n >= sizeof path) return false;
    path[n] = 0;
    cji_disk_recent_name(name, path, build);
    return true;
}

/* An open file's list.  BAD: it is none. */
static cji_disk_result read_list(int fd, const struct stat *s, uint32_t owner, cji_disk_keys *keys)
{
    recent_file file;
    const size_t most = recent_bytes(CJI_DISK_RECENT_KEYS);
    if (!S_ISREG(s->st_mode) || s->st_uid != owner || s->st_size < RECENT_HEAD || (uint64_t)s->st_size > most)
        return CJI_DISK_BAD;
    const size_t bytes = (size_t)s->st_size;
    const ssize_t n = read(fd, &file, bytes);
    if (n != (ssize_t)bytes) return CJI_DISK_FAILED;
    if (memcmp(file.magic, recent_magic, sizeof recent_magic) != 0 || file.format != CJI_DISK_FORMAT || !file.count ||
        file.count > CJI_DISK_RECENT_KEYS || bytes != recent_bytes(file.count) ||
        !cji_hash128_equal(recent_checksum(&file), file.checksum))
        return CJI_DISK_BAD;
    keys->n = file.count;
    memcpy(keys->key, file.key, keys->n * sizeof *keys->key);
    memcpy(keys->unused, file.unused, sizeof keys->unused);
    return CJI_DISK_HIT;
}

/* The list in the file `path`, from the folder `at` on; none where it cannot be read.  A file that is no list is
 * removed. */
static void read_list_from(int at, const char *path, uint32_t owner, cji_disk_keys *keys)
{
    struct stat s;
    keys->n = 0;
    int fd = openat(at, path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    cji_disk_result result = fd < 0 && errno == ELOOP ? CJI_DISK_BAD : CJI_DISK_FAILED;
    if (fd >= 0) {
        if (fstat(fd, &s) == 0) result = read_list(fd, &s, owner, keys);
        if (result == CJI_DISK_HIT) cji_disk_note_use(fd, &s);
        close(fd);
    }
    if (result == CJI_DISK_BAD) unlinkat(at, path, 0);
}

/* A list takes room, as an entry does. */
static void write_list(const cji_disk_folder *folder, const char *name, const cji_disk_keys *keys)
{
    const size_t bytes = recent_bytes(keys->n);
    bool is_new;
    recent_file file = { .format = CJI_DISK_FORMAT, .count = (uint32_t)keys->n };
    memcpy(file.magic, recent_magic, sizeof recent_magic);
    memcpy(file.key, keys->key, keys->n * sizeof *keys->key);
    memcpy(file.unused, keys->unused, keys->n * sizeof *keys->unused);
    file.checksum = recent_checksum(&file);
    if (cji_disk_rejects(folder, bytes, CJI_DISK_LIMIT, (int64_t)time(NULL))) return;
    if (cji_disk_write_file(folder, name, (const unsigned char *)&file, bytes, false, &is_new) && is_new)
        cji_disk_count(folder, bytes);
}

/* -- Of a device --------------------------------------------------------------------------------------------------- */

cji_disk_recent *cji_disk_recent_begin(const char *program, cji_hash128 build, const cji_disk_ready *ready)
{
    uint32_t owner;
    cji_disk_recent *recent = cji_zalloc(sizeof *recent);
    if (!recent) return NULL;
    if (program) {
        cji_disk_recent_name(recent->name, program, build);
    } else if (!own_list_name(recent->name, build)) {
        cji_free(recent, sizeof *recent);
        return NULL;
    }
    recent->fork_gen = cji_fork_gen();
    if (ready && cji_disk_ready_of(ready, &owner)) read_list_from(ready->fd, recent->name, owner, &recent->listed);
    return recent;
}

/* Another process may have stored entries that were gone. */
static void look_for_gone(cji_disk_recent *recent, const cji_disk_folder *folder)
{
    char name[CJI_DISK_NAME], path[CJI_DISK_PATH + CJI_DISK_NAME];
    struct stat s;
    for (size_t i = 0; i < recent->listed.n; i++) {
        if (!(recent->gone >> i & 1)) continue;
        cji_disk_name(name, recent->listed.key[i]);
        snprintf(path, sizeof path, "%s/%s", folder->path, name);
        if (lstat(path, &s) == 0) recent->gone &= ~(UINT32_C(1) << i);
    }
}

/* Another process may have written the list meanwhile. */
static void update_list(const cji_disk_recent *recent, const cji_disk_folder *folder)
{
    char path[CJI_DISK_PATH + CJI_DISK_NAME];
    cji_disk_keys now;
    snprintf(path, sizeof path, "%s/%s", folder->path, recent->name);
    read_list_from(AT_FDCWD, path, geteuid(), &now);
    const cji_disk_keys all = merged(recent, &now);
    if (same_list(&now, &all, &recent->used)) return;
    write_list(folder, recent->name, &all);
}

void cji_disk_recent_end(cji_disk_recent *recent)
{
    CJI_NO_CANCEL;
    cji_disk_folder folder; /* which may be another one by now */
    if (!recent) return;
    if (recent->used.n && recent->fork_gen == cji_fork_gen() && cji_disk_on() && cji_disk_folder_find(&folder, NULL) &&
        cji_disk_folder_check(&folder, false, NULL)) {
        for (size_t i = 0; i < recent->used.n; i++) cji_disk_note_key(&folder, recent->used.key[i]);
        look_for_gone(recent, &folder);
        const cji_disk_keys all = merged(recent, &recent->listed);
        if (!same_list(&recent->listed, &all, &recent->used)) update_list(recent, &folder);
    }
    cji_free(recent, sizeof *recent);
}
