/* What one program used lately: a list of keys in a file of the folder, so that its entries are read when the next
 * process of the program opens a device.  The file's name is a hash of the program's path.  It is written under another
 * name and renamed, but not synchronised: what a crash of the machine leaves of it has a wrong checksum.
 *
 * All of it is only quicker: no failure of it is a reason for a failure or for a line of the log. */
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
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

/* What was used, then what else is listed and there. */
static cji_disk_keys merged(const cji_disk_recent *recent, const cji_disk_keys *list)
{
    cji_disk_keys all = recent->used;
    for (size_t i = 0; i < list->n && all.n < CJI_DISK_RECENT_KEYS; i++) {
        const size_t k = key_place(&recent->listed, list->key[i]);
        const bool gone = k < recent->listed.n && recent->gone >> k & 1;
        if (!gone && !has_key(&all, list->key[i])) all.key[all.n++] = list->key[i];
    }
    return all;
}

/* -- The file ------------------------------------------------------------------------------------------------------ */

typedef struct recent_file {
    char magic[8];
    uint32_t format, count;  /* CJI_DISK_FORMAT, since keys change with it; how many keys follow */
    cji_hash128 checksum;    /* of the head with zeros here, and of the keys */
    cji_hash128 key[CJI_DISK_RECENT_KEYS];
} recent_file;
enum { RECENT_HEAD = offsetof(recent_file, key), RECENT_DIGITS = 16 };
_Static_assert(RECENT_HEAD == 32, "lists have no bytes that nothing checks");
static const char recent_magic[8] = { 'c', 'u', 'j', 'l', 's', 't', '\n', 26 };
static const char recent_suffix[] = ".recent";

static size_t recent_bytes(size_t count) { return RECENT_HEAD + count * sizeof(cji_hash128); }

static cji_hash128 recent_checksum(const recent_file *file)
{
    recent_file blank = *file;
    blank.checksum = (cji_hash128){ { 0, 0 } };
    return cji_hash_bytes(&blank, recent_bytes(blank.count));
}

void cji_disk_recent_name(char name[CJI_DISK_NAME], const char *program)
{
    const cji_hash128 hash = cji_hash_bytes(program, strlen(program));
    snprintf(name, CJI_DISK_NAME, "%016llx%s", (unsigned long long)hash.word[0], recent_suffix);
}

bool cji_disk_is_recent(const char *name)
{
    return strspn(name, "0123456789abcdef") == RECENT_DIGITS && !strcmp(name + RECENT_DIGITS, recent_suffix);
}

/* Of this process's program.  False: its path is not known. */
static bool own_list_name(char name[CJI_DISK_NAME])
{
    char path[4096];
    const ssize_t n = readlink("/proc/self/exe", path, sizeof path);
    if (n <= 0 || (size_t)n >= sizeof path) return false;
    path[n] = 0;
    cji_disk_recent_name(name, path);
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

static void write_list(const cji_disk_folder *folder, const char *name, const cji_disk_keys *keys)
{
    recent_file file = { .format = CJI_DISK_FORMAT, .count = (uint32_t)keys->n };
    memcpy(file.magic, recent_magic, sizeof recent_magic);
    memcpy(file.key, keys->key, keys->n * sizeof *keys->key);
    file.checksum = recent_checksum(&file);
    cji_disk_write_file(folder, name, (const unsigned char *)&file, recent_bytes(keys->n), false);
}

/* -- Of a device --------------------------------------------------------------------------------------------------- */

cji_disk_recent *cji_disk_recent_begin(const char *program, const cji_disk_ready *ready)
{
    uint32_t owner;
    cji_disk_recent *recent = cji_zalloc(sizeof *recent);
    if (!recent) return NULL;
    if (program) {
        cji_disk_recent_name(recent->name, program);
    } else if (!own_list_name(recent->name)) {
        cji_free(recent, sizeof *recent);
        return NULL;
    }
    recent->fork_gen = cji_fork_gen();
    if (ready && cji_disk_ready_of(ready, &owner)) read_list_from(ready->fd, recent->name, owner, &recent->listed);
    return recent;
}

/* Another process may have written the list meanwhile. */
static void update_list(const cji_disk_recent *recent, const cji_disk_folder *folder)
{
    char path[CJI_DISK_PATH + CJI_DISK_NAME];
    cji_disk_keys now;
    snprintf(path, sizeof path, "%s/%s", folder->path, recent->name);
    read_list_from(AT_FDCWD, path, geteuid(), &now);
    if (begins_with(&now, &recent->used)) return;
    const cji_disk_keys all = merged(recent, &now);
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
        if (!begins_with(&recent->listed, &recent->used)) update_list(recent, &folder);
    }
    cji_free(recent, sizeof *recent);
}
