/* cujit/kernel_cache.h - kernels by key: each is built once and found again in nanoseconds.
 *
 *     cj_kernel_cache          kernels of a device, under keys of any bytes
 *
 *     cj_kernel *k = cj_kernel_cache_get(c, &shape, sizeof shape, build_gemm, &shape);
 *     cj_launch(s, k, dims, a, b, c);
 *     cj_kernel_free(k);
 *
 * A key is what the caller builds the kernel from: a shape, a type, the hash of a builder
 * (cj_ptx_hash).  Keys are compared byte for byte, so a structure as a key must have no
 * uninitialised padding.
 *
 * This cache is in memory.  The kernel cache on disk is below it: what cj_kernel_load compiles is
 * stored there (docs/driver.md).
 *
 * Lifetime.  A cache keeps its device open.  It has a reference to each kernel, and each kernel
 * that it returns has one of the caller's, so kernels outlive the cache and their place in it.
 *
 * Threads.  Any thread.  A kernel is built by the first thread that gets its key.  Other threads
 * that get the key wait for that one.  cj_kernel_cache_find does not wait.
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
 * next call with the key builds again.  It may get kernels of other keys. */
typedef cj_kernel *(*cj_kernel_build_fn)(void *user, cj_device *dev);

/* Returns the kernel of the key of `bytes` bytes.  Where there is none it calls `build` on this
 * thread, or waits while another thread does.  A hit takes no lock of the device and calls no
 * driver function.  `key`: Copied.  Blocks.
 * Never NULL.  Owned by the caller, free with cj_kernel_free.
 * Errors, in the failed kernel that is returned: those of the kernel that `build` returns, and
 *   CJ_EINVAL: `key` or `build` is NULL, `bytes` is 0, or `build` returned NULL or a kernel of
 *     another device
 *   CJ_ESTATE: a `build` gets the key that it builds, or threads that build wait for each other
 *   CJ_ENOMEM: host memory is exhausted */
CJ_API cj_kernel *cj_kernel_cache_get(cj_kernel_cache *c, const void *key, size_t bytes,
                                      cj_kernel_build_fn build, void *user);

/* Returns the kernel `name` of the builder `m`, under a key of cj_ptx_hash, the name and the
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
 *   CJ_EINVAL: `key` is NULL, or `bytes` is 0
 *   CJ_ENOMEM: host memory is exhausted
 *   the failure of `k`, if it is a failed object */
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

#ifdef __cplusplus
}
#endif

/* ---- Option literals: CJ_KERNEL_CACHE(.kernels = 64); C and C++20 ---------------------------- */

#ifndef __cplusplus
#define CJ_KERNEL_CACHE(...) (&(const cj_kernel_cache_opts){ .size = sizeof(cj_kernel_cache_opts), __VA_ARGS__ })
#elif __cplusplus >= 202002L
#define CJ_KERNEL_CACHE(...) cji::keep(cj_kernel_cache_opts{ .size = sizeof(cj_kernel_cache_opts), __VA_ARGS__ })
#endif

#endif
