/* The kernel cache on disk: images that the driver's compiler made, for the next process.  Prefix cji_disk_; this
 * header is the room's whole interface.  The room knows no driver: it stores bytes under keys.
 *
 *   disk_folder.c   which folder, and whether it may be used
 *   disk_entry.c    what an entry is: a file's bytes from an image, and back
 *   disk_names.c    the names of files, and no others
 *   disk_file.c     entries in files: reading, writing, removing
 *   disk_ready.c    what a device prepares, so that its first hit is a quick one
 *   disk_recent.c   what a program used lately, which its next process reads when it opens a device
 *   disk_count.c    how much room all files take, over all processes, and when a sweep is due
 *   disk_sweep.c    the bound: what was not used for the longest time is removed
 *   build_identity.c  what tells one build of a library from another
 *
 * An entry is one file, KEY.kernel, written under another name, synchronised and renamed, so that it is whole or not
 * there at all, whoever is killed.  It never changes then, but for its time of modification, which is the time of its
 * latest use.  It is verified each time it is read.  A file that is not what it should be is removed; one that cannot
 * be read is left alone, since the next reader may succeed.
 *
 * The folder is the user's own, and nobody else may read or write it; otherwise it is not used.  No failure of the
 * cache is a failure of the program: a kernel is compiled then, and the first failure of a process is a line in the
 * log.
 *
 * Nothing is kept in the process, but that this line was logged, what a device has ready, and what it used.  A folder
 * that is ready is looked at before each use, as one that is found by its path.  So a folder may be removed, filled or
 * made read-only at any time, and there is nothing to be locked or to be repaired in a child of fork(). */
#ifndef CJI_DISK_CACHE_H
#define CJI_DISK_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash128.h"
#include "ptx/entries.h"

/* Of entries' files, and of what keys are made from: raised with each change of either. */
enum { CJI_DISK_FORMAT = 5 };

/* ---- The folder -------------------------------------------------------------------------------------------------- */

enum { CJI_DISK_PATH = 1024, CJI_DISK_NAME = 48, CJI_DISK_SHOWN = 240 /* bytes of a path in a message */ };
typedef struct cji_disk_folder { char path[CJI_DISK_PATH]; } cji_disk_folder;

/* Whether the environment leaves the cache on. */
bool cji_disk_on(void);
/* The folder that the environment names.  False: there is none; `why` (may be NULL) says so. */
bool cji_disk_folder_find(cji_disk_folder *folder, cji_line *why);
/* The folder of that path, which is absolute and leaves room for a file's name, and which is the value of `variable`;
 * NULL: of none. */
bool cji_disk_folder_of(cji_disk_folder *folder, const char *path, const char *variable, cji_line *why);
/* Whether it may be used: a folder of this user's alone.  `make`: it is made where it is not there.  False: `why` says
 * why not; it is empty where it is only not there yet. */
bool cji_disk_folder_check(const cji_disk_folder *folder, bool make, cji_line *why);
/* What is wrong with a folder that is there; NULL: it may be used. */
struct stat;
const char *cji_disk_folder_wrong(const struct stat *s);
/* Both.  False: the cache is not used; the log says why, once in a process. */
bool cji_disk_open(cji_disk_folder *folder, bool make);

/* What can be done where a folder cannot be made, opened or written: the end of a sentence. */
const char *cji_disk_fix(int error);

/* The first failure of the process becomes a line of the log. */
void cji_disk_tell(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* ---- Entries ----------------------------------------------------------------------------------------------------- */

/* What an entry is for, for people; texts are cut. */
typedef struct cji_disk_label { char device[24], driver[40]; } cji_disk_label; /* "sm_90a", "cuda 13.0" */

/* What is stored.  `entries` may be NULL. */
typedef struct cji_disk_image {
    const void *code;
    size_t code_bytes;
    const char *log;
    size_t log_bytes;
    const cji_entries *entries;
    cji_disk_label label;
} cji_disk_image;

/* What is found: an image in memory of the allocator hook. */
typedef struct cji_disk_found {
    unsigned char *room;  /* begins with the code; freed with cji_free(room, room_bytes) */
    size_t room_bytes, code_bytes;
    const char *log;      /* in `room`; no NUL */
    size_t log_bytes;
    cji_entries *entries; /* owned by the caller */
    cji_disk_label label;
    bool use_due;         /* it was not used by being read, and who uses it is to note that */
} cji_disk_found;

void cji_disk_found_free(cji_disk_found *found);

typedef struct cji_disk_head {
    char magic[8];           /* "cujit\n\032\n": a file that was changed as text is not taken for one */
    uint32_t format;         /* CJI_DISK_FORMAT */
    uint32_t head_bytes;     /* sizeof(cji_disk_head) */
    cji_hash128 key;         /* the file's own name */
    uint64_t bytes;          /* the file's */
    uint64_t code_bytes, table_bytes, log_bytes; /* which follow each other behind the head */
    cji_disk_label label;
    cji_hash128 checksum;    /* of the head with zeros here, and all that follows */
} cji_disk_head;
_Static_assert(sizeof(cji_disk_head) == 144, "entries have no bytes that nothing checks");

/* A file's bytes, in memory of the allocator hook; NULL without memory. */
unsigned char *cji_disk_encode(cji_hash128 key, const cji_disk_image *image, size_t *bytes);

typedef enum cji_disk_result {
    CJI_DISK_HIT,
    CJI_DISK_MISS,
    CJI_DISK_BAD,    /* the file is no entry of that key */
    CJI_DISK_LARGE,  /* it has more bytes than the caller takes */
    CJI_DISK_FAILED  /* it could not be read: errno */
} cji_disk_result;

/* The opposite: of a head, and of the `rest` bytes behind it in `room`, which becomes the caller's on a hit.  FAILED is
 * without memory: errno is ENOMEM. */
cji_disk_result cji_disk_decode(cji_hash128 key, const cji_disk_head *head, unsigned char *room, size_t rest,
                                cji_disk_found *found);

/* ---- What is ready ----------------------------------------------------------------------------------------------- */

/* Made when a device is opened, used by all its threads.  It saves the first hit of a process the way to the folder and
 * the system's first touch of each page that it reads into. */
typedef struct cji_disk_ready {
    cji_disk_folder folder;
    int fd;                      /* of the folder */
    uint64_t device, inode;      /* what it is, since a program may close descriptors that are not its own */
    /* of CJI_DISK_ROOM and CJI_DISK_ROOM_SMALL bytes of the allocator hook, whose pages are there; NULL: taken */
    _Atomic(unsigned char *) room, small;
} cji_disk_ready;
enum { CJI_DISK_ROOM = 96 << 10, CJI_DISK_ROOM_SMALL = 8 << 10 }; /* what fits the small one does not take the other */

/* NULL: there is no folder yet that may be used, or no memory.  The log says nothing of it. */
cji_disk_ready *cji_disk_prepare(void);
void cji_disk_unprepare(cji_disk_ready *ready); /* may be NULL */
/* Whether the folder is the one that the environment names, is there, and may be used. */
bool cji_disk_is_ready(const cji_disk_ready *ready);
/* The same, with the process's effective user, so that no one asks the system again. */
bool cji_disk_ready_of(const cji_disk_ready *ready, uint32_t *owner);

/* ---- Files ------------------------------------------------------------------------------------------------------- */

/* "0123456789abcdef0123456789abcdef.kernel", and the key of such a name. */
void cji_disk_name(char name[CJI_DISK_NAME], cji_hash128 key);
bool cji_disk_key_of(const char *name, cji_hash128 *key);
/* "0123456789abcdef.new", of a file that is being written; digits.word[1] is not part of it. */
void cji_disk_unfinished_file(char name[CJI_DISK_NAME], cji_hash128 digits);
bool cji_disk_is_unfinished(const char *name);
/* "0123456789abcdef.recent", of a list of a program; likewise. */
void cji_disk_recent_file(char name[CJI_DISK_NAME], cji_hash128 digits);
bool cji_disk_is_recent(const char *name, cji_hash128 *digits);

/* Reads an entry, and notes that it was used.  Removes a bad one where `remove` says so. */
cji_disk_result cji_disk_read(const cji_disk_folder *folder, cji_hash128 key, bool remove, cji_disk_found *found);

/* The same of the folder that is ready, for a reader that takes at most so many bytes of a file: a larger one is not
 * read.  The memory that is ready stays, and the entry is not used by that: found->use_due. */
cji_disk_result cji_disk_read_ahead(const cji_disk_ready *ready, cji_hash128 key, size_t most, cji_disk_found *found);

/* Notes that an open file was used: to the hour, as its time of modification. */
void cji_disk_note_use(int fd, const struct stat *s);

/* The same of an entry that is not open; nothing where there is none. */
void cji_disk_note_key(const cji_disk_folder *folder, cji_hash128 key);
void cji_disk_note_ready(const cji_disk_ready *ready, cji_hash128 key);

/* Writes a file of that name whole, under another name first.  `sync`: it is whole after a crash of the machine, too.
 * *is_new, which may be NULL: there was no file of that name.  False: it could not be written, errno says why. */
bool cji_disk_write_file(const cji_disk_folder *folder, const char *name, const unsigned char *p, size_t n, bool sync,
                         bool *is_new);

/* Writes an entry, and counts nothing.  False: it could not be written, errno says why. */
bool cji_disk_write(const cji_disk_folder *folder, cji_hash128 key, const cji_disk_image *image);

/* The two calls for the driver layer: true is a hit.  `ready`: may be NULL. */
bool cji_disk_get(cji_hash128 key, cji_disk_ready *ready, cji_disk_found *found);
void cji_disk_put(cji_hash128 key, const cji_disk_image *image);

/* ---- What a program used lately ---------------------------------------------------------------------------------- */

enum {
    CJI_DISK_RECENT_KEYS = 32,          /* of a list */
    CJI_DISK_RECENT_ENTRY = 256 << 10,  /* bytes of the largest entry that is read when a device is opened */
    CJI_DISK_RECENT_BYTES = 1 << 20,    /* of all that are */
    CJI_DISK_RECENT_RUNS = 4,           /* a key that so many runs did not use leaves the list */
    CJI_DISK_RECENT_DAYS = 30,          /* a list that was not used for so long is removed by sweeps */
    CJI_DISK_RECENT_LISTS = 100         /* so many lists are left by sweeps */
};

/* The latest use first. */
typedef struct cji_disk_keys {
    size_t n;
    cji_hash128 key[CJI_DISK_RECENT_KEYS];
    uint8_t unused[CJI_DISK_RECENT_KEYS];  /* runs of the program that did not use the key, since one did */
} cji_disk_keys;

/* The key was used: it is the first one, and the last one is dropped where there is no room. */
void cji_disk_keys_use(cji_disk_keys *keys, cji_hash128 key);

/* A device's view of its program's list. */
typedef struct cji_disk_recent {
    char name[CJI_DISK_NAME];  /* of the file */
    cji_disk_keys listed;      /* when the device was opened */
    uint32_t gone;             /* a bit for each of these that has no entry any more */
    cji_disk_keys used;        /* since then; whoever shares the device locks it */
    uint32_t fork_gen;
} cji_disk_recent;
_Static_assert(CJI_DISK_RECENT_KEYS <= 32, "gone has a bit for each key");

/* The name of the list of the program with that path, for keys that are made for that build. */
void cji_disk_recent_name(char name[CJI_DISK_NAME], const char *program, cji_hash128 build);

/* When a device is opened: reads the list of a program, NULL: of this process's.  `ready` NULL: there is no folder, and
 * nothing is listed yet.  NULL: the program is not known, or there is no memory. */
cji_disk_recent *cji_disk_recent_begin(const char *program, cji_hash128 build, const cji_disk_ready *ready);
/* When it is closed: notes that these entries were used, and lists them, unless that is the list already.  `recent` may
 * be NULL, and is freed. */
void cji_disk_recent_end(cji_disk_recent *recent);

/* ---- The bound --------------------------------------------------------------------------------------------------- */

#define CJI_DISK_LIMIT (UINT64_C(1) << 30) /* bytes of all entries and lists, and of the largest entry */
enum {
    CJI_DISK_HOUR = 3600,
    CJI_DISK_BLOCK = 4096,
    CJI_DISK_FULL = 1 << 20   /* with less room left the folder is shown as full */
};

/* So many bytes in blocks. */
uint64_t cji_disk_blocks(uint64_t bytes);
/* An hour ago or more; or far in the future, by a clock that was set back. */
bool cji_disk_hour_ago(int64_t then, int64_t now);

/* One file of the folder. */
typedef struct cji_disk_item {
    cji_hash128 key;    /* of an entry; of a list the digits of its name */
    uint64_t bytes;
    int64_t used;       /* seconds since 1970 */
} cji_disk_item;

/* By their time of use, the latest first. */
typedef struct cji_disk_items {
    cji_disk_item *item;
    size_t n, cap;
    uint64_t bytes;          /* of all, in whole blocks */
} cji_disk_items;

/* What the folder has; freed with cji_disk_list_free. */
typedef struct cji_disk_list {
    cji_disk_items entries;  /* those with a size that none can have are last */
    cji_disk_items recent;   /* lists of programs */
    size_t unfinished;       /* files of writers that are at work or were killed */
} cji_disk_list;

/* False: the folder cannot be read, or there is no memory: errno.  `now` decides which times are right: files of the
 * future are of a clock that was set back, and come last. */
bool cji_disk_list_read(const cji_disk_folder *folder, int64_t now, cji_disk_list *list);
void cji_disk_list_free(cji_disk_list *list);

/* Which entries and lists stay: those that were used at `since` or later; and if all take more than `limit` bytes, as
 * many as fit into `kept`, the latest use first. */
typedef struct cji_disk_bound {
    uint64_t limit, kept;
    int64_t since;
} cji_disk_bound;

typedef struct cji_disk_removed {
    uint64_t entries, lists; /* that are gone */
    uint64_t bytes;          /* of both, in whole blocks */
    uint64_t failed;         /* files that could not be removed */
    int error;               /* the errno of one of them */
} cji_disk_removed;

/* Removes the entries and lists that do not stay, entries of a size that none can have, what killed writers left behind
 * more than an hour ago, and lists that were not used for CJI_DISK_RECENT_DAYS or are more than CJI_DISK_RECENT_LISTS.
 * False: the folder cannot be read, or there is no memory: errno. */
bool cji_disk_prune(const cji_disk_folder *folder, const cji_disk_bound *bound, int64_t now, cji_disk_removed *removed);

/* Removes one entry and takes it out of the list and of the count, unless it cannot be removed. */
void cji_disk_drop(const cji_disk_folder *folder, cji_disk_list *list, size_t i, cji_disk_removed *removed);

/* What sweeps do: of more bytes than `limit` 80 % of it are kept.  *removed: how many entries. */
cji_disk_bound cji_disk_usual_bound(uint64_t limit);
bool cji_disk_trim(const cji_disk_folder *folder, uint64_t limit, int64_t now, size_t *removed);

/* Before a file of so many bytes is written: calls cji_disk_trim() where that was not done for an hour by any process.
 * NULL: it may be written; else why not, as the end of a sentence that begins with the folder's path. */
const char *cji_disk_rejects(const cji_disk_folder *folder, uint64_t bytes, uint64_t limit, int64_t now);

/* Behind that: a file of so many bytes is there that was not there before. */
void cji_disk_count(const cji_disk_folder *folder, uint64_t bytes);
/* It is gone; `path`, from the folder `at` on, was its own. */
void cji_disk_uncount(int at, const char *path, uint64_t bytes);
/* All files of the folder have so many bytes; nothing is made where nothing was ever stored. */
void cji_disk_count_set(const cji_disk_folder *folder, uint64_t bytes);
/* What is counted.  False: nothing is. */
bool cji_disk_counted(const cji_disk_folder *folder, uint64_t *bytes);

/* ---- Builds ------------------------------------------------------------------------------------------------------ */

/* Adds what identifies the build of the library that has `address` in it: its build id, else its file's size and time.
 * False: neither is known. */
bool cji_build_identity(const void *address, cji_hasher *h);
/* The same of this library, but nothing where it is part of the program. */
void cji_build_own(cji_hasher *h);
/* Adds the size and time of the file `name` in the folder of the library that has `address` in it, if there is one. */
void cji_build_neighbour(const void *address, const char *name, cji_hasher *h);

#endif
