/* cujit/kernel_cache.h - kernels by key: each is built once and found again in nanoseconds.
 *
 *     cj_kernel_cache          kernels of a device, under keys of any bytes
 *     cj_disk_cache            the folder of compiled kernels: listed, verified, cleaned
 *
 *     cj_kernel *k = cj_kernel_cache_get(c, &shape, sizeof shape, build_gemm, &shape);
 *     cj_launch(s, k, dims, a, b, c);
 *     cj_kernel_free(k);
 *
 * A key is what the caller builds the kernel from: a shape, a type, the hash of a builder
 * (cj_ptx_hash).  Keys are compared byte for byte, so a structure as a key must have no
 * uninitialised padding.
 *
 * A cj_kernel_cache is in memory.  The kernel cache on disk is below it: what cj_kernel_load
 * compiles is stored there (docs/driver.md).
 *
 * Lifetime.  A cj_kernel_cache keeps its device open.  It has a reference to each kernel, and each
 * kernel that it returns has one of the caller's, so kernels outlive the cache and their place in
 * it.
 *
 * Threads.  Any thread, but one at a time for a cj_disk_cache.  A kernel is built by the first
 * thread that gets its key.  Other threads that get the key wait for that one.
 * cj_kernel_cache_find does not wait.
 *
 * Errors.  A constructor never returns NULL.  base.h has the details.
 */
#ifndef CUJIT_KERNEL_CACHE_H
#define CUJIT_KERNEL_CACHE_H

#include <cujit/driver.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cj_kernel_cache cj_kernel_cache;

typedef struct cj_kernel_cache_opts {
    size_t size;      /* sizeof(cj_kernel_cache_opts) */
    uint32_t kernels; /* most kernels that it keeps, 1 to 1,000,000; 1024 by default */
} cj_kernel_cache_opts;

/* Fills `opts` with its size and the defaults. */
CJ_API void cj_kernel_cache_defaults(cj_kernel_cache_opts *opts);

/* Creates an empty cache.  When it has more kernels than `kernels` says, it frees the one that was
 * not used for the longest time.  `opts`: May be NULL.
 * Never NULL.  Owned by the caller, free with cj_kernel_cache_free.
 * Errors, in the failed object that is returned:
 *   CJ_EINVAL: an option is out of range
 *   CJ_ENOMEM: host memory is exhausted */
CJ_API cj_kernel_cache *cj_kernel_cache_create(cj_device *dev, const cj_kernel_cache_opts *opts);

/* Builds a kernel for `dev`, the cache's device.  Returns a kernel, which becomes the cache's; or a
 * failed kernel, as cj_kernel_load returns it, which every thread that waits for the key gets.  The
 * next call with the key builds again.  It may get kernels of other keys.  It must not wait for a
 * thread that gets the key, as a callback of a compiler may do. */
typedef cj_kernel *(*cj_kernel_build_fn)(void *user, cj_device *dev);

/* Returns the kernel of the key of `bytes` bytes.  Where there is none it calls `build` on this
 * thread, or waits while another thread does.  A hit takes no lock of the device and calls no
 * driver function.  `key`: Copied.  Blocks.
 * Never NULL.  Owned by the caller, free with cj_kernel_free.
 * Errors, in the failed kernel that is returned: those of the kernel that `build` returns, and
 *   CJ_EINVAL: `key` or `build` is NULL, `bytes` is 0, or `build` returned NULL or a kernel of
 *     another device
 *   CJ_ESTATE: a `build` gets the key that it builds, or threads that build wait for each other, in
 *     one cache or several
 *   CJ_ENOMEM: host memory is exhausted */
CJ_API cj_kernel *cj_kernel_cache_get(cj_kernel_cache *c, const void *key, size_t bytes,
                                      cj_kernel_build_fn build, void *user);

/* Returns the kernel `name` of the builder `m`, under a key of a hash of `m`, the name and the
 * options.  Where there is none it is cj_kernel_load(dev, m, name, opts); `m` is not loaded
 * otherwise.  `opts`: May be NULL.  Blocks.
 * Never NULL.  Owned by the caller, free with cj_kernel_free.
 * Errors, in the failed kernel that is returned: those of cj_kernel_load and of
 * cj_kernel_cache_get. */
CJ_API cj_kernel *cj_kernel_cache_load(cj_kernel_cache *c, cj_ptx *m, const char *name,
                                       const cj_compile_opts *opts);

/* Writes the kernel of the key to *k, if it is there, and does not wait: for threads that continue
 * with other work meanwhile.  `*k`: Owned by the caller, free with cj_kernel_free; NULL unless the
 * call returns CJ_OK.  Returns at once.
 * Returns CJ_ENOTREADY while another thread builds it, and CJ_ENOTFOUND when nobody does; neither
 * is recorded.
 * Errors, left in `c`:
 *   CJ_EINVAL: `key` or `k` is NULL, or `bytes` is 0 */
CJ_API cj_status cj_kernel_cache_find(cj_kernel_cache *c, const void *key, size_t bytes,
                                      cj_kernel **k);

/* Puts the kernel `k` under the key, unless it has one already or one is being built.  Returns the
 * kernel that the key has then: for languages that pass no functions.  `k`: the caller's reference
 * stays the caller's.  Blocks.
 * Never NULL.  Owned by the caller, free with cj_kernel_free.
 * Errors, in the failed kernel that is returned:
 *   CJ_EINVAL: `key` is NULL, `bytes` is 0, or `k` is of another device
 *   CJ_ESTATE: a `build` puts the key that it builds, or threads that build wait for each other
 *   CJ_ENOMEM: host memory is exhausted
 *   the failure of `k`, if it is a failed object, or of the build that the call waited for */
CJ_API cj_kernel *cj_kernel_cache_put(cj_kernel_cache *c, const void *key, size_t bytes,
                                      cj_kernel *k);

/* Removes the kernel of a key, or all kernels.  A kernel that is being built is handed to those who
 * wait for it, and not kept.  Returns at once.
 * Errors, left in `c`:
 *   CJ_EINVAL: `key` is NULL, or `bytes` is 0
 *   CJ_ENOTFOUND: the key has no kernel */
CJ_API cj_status cj_kernel_cache_forget(cj_kernel_cache *c, const void *key, size_t bytes);
CJ_API cj_status cj_kernel_cache_clear(cj_kernel_cache *c);

/* What a cache did so far. */
typedef struct cj_kernel_cache_stats {
    size_t size;        /* sizeof(cj_kernel_cache_stats) */
    uint64_t kernels;   /* that it has now */
    uint64_t hits;      /* kernels that were there */
    uint64_t builds;    /* calls of build functions that have returned, and kernels that were put */
    uint64_t waits;     /* calls that waited for another thread's build */
    uint64_t failures;  /* builds that failed */
    uint64_t evictions; /* kernels that were removed for others */
} cj_kernel_cache_stats;

/* Fills `stats` with its size and zeros.  `stats`: May be NULL. */
CJ_API void cj_kernel_cache_stats_defaults(cj_kernel_cache_stats *stats);

/* Fills *stats up to stats->size bytes.
 * Errors, left in `c`:
 *   CJ_EINVAL: `stats` is NULL, or its size is not set */
CJ_API cj_status cj_kernel_cache_get_stats(cj_kernel_cache *c, cj_kernel_cache_stats *stats);

/* Frees the cache and its references to kernels.  No other thread may be using it.  Returns at
 * once.  May be NULL. */
CJ_API void cj_kernel_cache_free(cj_kernel_cache *c);

/* ---- The kernel cache on disk ---------------------------------------------------------------- */

typedef struct cj_disk_cache cj_disk_cache;

/* Opens a folder of compiled kernels and reads which entries it has.  `path` is absolute; NULL: the
 * folder that loads use, which CUJIT_CACHE_DIR, XDG_CACHE_HOME or HOME names.  Loads do not need
 * the object: it lists and cleans.  Any number of processes may use the folder meanwhile.  One
 * thread at a time.  Blocks.
 * Never NULL.  Owned by the caller, free with cj_disk_cache_close.
 * Errors, in the failed object that is returned:
 *   CJ_EINVAL: `path` is not absolute or too long, or the environment names no folder
 *   CJ_ENOTFOUND: the folder does not exist, because nothing was stored yet
 *   CJ_ESTATE: loads do not use the folder: it is another user's, open to others, a symbolic link,
 *     no folder, or cannot be read
 *   CJ_ENOMEM: host memory is exhausted */
CJ_API cj_disk_cache *cj_disk_cache_open(const char *path);

/* The folder.  "" if failed.  Belongs to `c`. */
CJ_API const char *cj_disk_cache_path(const cj_disk_cache *c);

/* What the folder has, and what calls with `c` removed. */
typedef struct cj_disk_cache_stats {
    size_t size;            /* sizeof(cj_disk_cache_stats) */
    uint64_t entries;
    uint64_t bytes;         /* that the entries take, in whole blocks of 4 KiB */
    uint64_t limit;         /* most bytes that loads let all entries and lists take */
    uint64_t unfinished;    /* files of processes that write an entry, or were killed as they did */
    uint64_t removed;       /* entries that calls with `c` removed */
    uint64_t removed_bytes; /* bytes of the entries and lists that calls with `c` removed */
    int64_t oldest, latest; /* uses of entries, seconds since 1970; 0: none is known */
    int32_t on;             /* 1: loads of this process use the cache; 0: CUJIT_CACHE is 0 */
    int32_t full;           /* 1: less than 1 MiB is left */
    uint64_t left;          /* bytes that loads store until the folder is counted anew, once an hour */
    uint64_t lists;         /* lists of what programs used lately */
    uint64_t list_bytes;    /* that they take, in whole blocks */
    uint64_t removed_lists; /* lists that calls with `c` removed */
} cj_disk_cache_stats;

/* Fills `stats` with its size and zeros.  `stats`: May be NULL. */
CJ_API void cj_disk_cache_stats_defaults(cj_disk_cache_stats *stats);

/* Fills *stats up to stats->size bytes: the entries and lists of the time of cj_disk_cache_open,
 * without those that `c` removed, and what is left now.
 * Errors, left in `c`:
 *   CJ_EINVAL: `stats` is NULL, or its size is not set */
CJ_API cj_status cj_disk_cache_get_stats(cj_disk_cache *c, cj_disk_cache_stats *stats);

/* One entry: the image of a module. */
typedef struct cj_disk_entry {
    size_t size;         /* sizeof(cj_disk_entry) */
    const char *key;     /* 32 hexadecimal digits; the file is `key`.kernel */
    uint64_t bytes;      /* of the file */
    int64_t used;        /* its latest use to the hour, seconds since 1970; 0: not known */
    int32_t damaged;     /* 1: a load does not use the file, and removes it */
    const char *problem; /* what is wrong with the file, a sentence; "": nothing */
    const char *device;  /* "sm_90a"; this and what follows is "" or 0 when there is a problem */
    const char *driver;  /* "cuda 13.0" */
    uint64_t code_bytes; /* of the image */
    const char *const *kernels;
    size_t nkernels;
} cj_disk_entry;

/* Fills `entry` with its size and zeros.  `entry`: May be NULL. */
CJ_API void cj_disk_entry_defaults(cj_disk_entry *entry);

/* Reads and verifies an entry.  Fills *entry up to entry->size bytes.  `i`: 0 is the latest used
 * one, up to the number of entries.  Its texts and list are borrowed until the next call with `c`.
 * An entry that is damaged, cannot be read, or was removed by another process is no failure of the
 * call: entry->problem reports it.  Blocks.
 * Errors, left in `c`:
 *   CJ_EINVAL: there is no such entry, `entry` is NULL, or its size is not set
 *   CJ_ENOMEM: host memory is exhausted */
CJ_API cj_status cj_disk_cache_get_entry(cj_disk_cache *c, size_t i, cj_disk_entry *entry);

/* Removes an entry.  Those behind it move up.  An entry that was removed by another process is
 * removed.  Blocks.
 * Errors, left in `c`:
 *   CJ_EINVAL: there is no such entry
 *   CJ_ESTATE: the file cannot be removed */
CJ_API cj_status cj_disk_cache_remove(cj_disk_cache *c, size_t i);

typedef struct cj_disk_prune_opts {
    size_t size;        /* sizeof(cj_disk_prune_opts) */
    uint64_t max_bytes; /* most bytes that all entries and lists take; 0, the default: what loads do
                         * once an hour, which keeps 80 % of the limit when they take more */
    uint64_t max_age_s; /* most seconds since the latest use; 0, the default: any age */
} cj_disk_prune_opts;

/* Fills `opts` with its size and the defaults. */
CJ_API void cj_disk_prune_defaults(cj_disk_prune_opts *opts);

/* Removes the entries and lists that were not used for longer than opts->max_age_s, and then those
 * that were not used for the longest time until the others take at most opts->max_bytes.  Also
 * removes what killed processes left behind more than an hour ago, lists that were not used for 30
 * days, and all but the 100 lists that were used last.  Files of other names stay.  Reads the
 * folder anew.
 * `opts`: May be NULL.  Blocks.
 * Errors, left in `c`:
 *   CJ_EINVAL: the size of `opts` is not set
 *   CJ_ENOTFOUND: the folder was removed
 *   CJ_ESTATE: the folder cannot be read, or a file cannot be removed; the others are removed
 *   CJ_ENOMEM: host memory is exhausted */
CJ_API cj_status cj_disk_cache_prune(cj_disk_cache *c, const cj_disk_prune_opts *opts);

/* Removes all entries, and the lists of what programs used lately.  Blocks.
 * Errors, left in `c`: those of cj_disk_cache_prune but CJ_EINVAL. */
CJ_API cj_status cj_disk_cache_clear(cj_disk_cache *c);

/* Closes the object; the folder stays.  Returns at once.  May be NULL. */
CJ_API void cj_disk_cache_close(cj_disk_cache *c);

#ifdef __cplusplus
}
#endif

/* ---- Option literals: CJ_KERNEL_CACHE(.kernels = 64); C and C++20 ---------------------------- */

#ifndef __cplusplus
#define CJ_KERNEL_CACHE(...) (&(const cj_kernel_cache_opts){ .size = sizeof(cj_kernel_cache_opts), __VA_ARGS__ })
#define CJ_DISK_PRUNE(...) (&(const cj_disk_prune_opts){ .size = sizeof(cj_disk_prune_opts), __VA_ARGS__ })
#elif __cplusplus >= 202002L
#define CJ_KERNEL_CACHE(...) cji::keep(cj_kernel_cache_opts{ .size = sizeof(cj_kernel_cache_opts), __VA_ARGS__ })
#define CJ_DISK_PRUNE(...) cji::keep(cj_disk_prune_opts{ .size = sizeof(cj_disk_prune_opts), __VA_ARGS__ })
#endif

#endif
