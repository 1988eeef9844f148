/* cujit/compiler.h - compiling on many threads.
 *
 *     cj_compiler *c = cj_compiler_create(dev, NULL);
 *     cj_future *f = cj_compiler_kernel(c, m, "saxpy", NULL);   // returns at once
 *     ...
 *     cj_kernel *k = cj_future_kernel(f);                       // waits until it is compiled
 *     cj_future_free(f);
 *     cj_compiler_free(c);
 *
 * A compiler has threads of its own, with the large stacks that the driver's compiler needs.  It
 * compiles through the driver's linker (cuLink*), which works on many threads at a time, as
 * cuModuleLoadData of PTX does not.  Requests wait in a queue and begin in their order.
 *
 * A request is a cj_future.  It is done once: with an image, a module or a kernel, which is a
 * failed object if compiling failed; or cancelled.
 *
 * Lifetime.  A future stays valid after its compiler was freed.  A request that nobody holds a
 * future of is compiled all the same; its callback gets the result.
 *
 * Builders.  A request freezes the builder and checks it; then the builder belongs to the request
 * until that is done, and only calls that read it may be made.
 *
 * Process.  In the child of fork() compilers and futures fail with CJ_EFORKED, and their free does
 * nothing.  exit() does not wait for requests.
 *
 * Threads.  Any thread, also a callback.
 */
#ifndef CUJIT_COMPILER_H
#define CUJIT_COMPILER_H

#include <cujit/linker.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cj_compiler cj_compiler;
typedef struct cj_future cj_future;

/* ---- Making and freeing ---------------------------------------------------------------------- */

/* What a request does when the queue is full. */
typedef enum cj_compiler_full {
    CJ_COMPILER_WAIT = 0, /* waits for room; in a callback of the compiler it fails with CJ_EBUSY */
    CJ_COMPILER_BUSY = 1  /* fails with CJ_EBUSY */
} cj_compiler_full;

/* What a batch has done: requests since the compiler last had nothing to do. */
typedef struct cj_compiler_progress {
    size_t size;        /* sizeof(cj_compiler_progress) */
    uint64_t requests;  /* of the batch */
    uint64_t done;      /* those of them that are done, failed and cancelled ones too */
    uint64_t failed;    /* those of them that failed */
    uint64_t cancelled; /* those of them that were cancelled */
    uint64_t waiting;   /* in the queue now */
    uint64_t running;   /* being compiled now */
} cj_compiler_progress;

/* Called by threads of the compiler when they have done a request, several at a time; each call has
 * another `done`, up to `requests`.  Not called for a request that is cancelled: the next call
 * counts it.  May call cujit. */
typedef void (*cj_compiler_progress_fn)(void *user, uint64_t done, uint64_t requests);

typedef struct cj_compiler_opts {
    size_t size;       /* sizeof(cj_compiler_opts) */
    int32_t threads;   /* 1 to 256; 0: as many as processors, 16 at most */
    int32_t full;      /* a cj_compiler_full */
    size_t queue;      /* most requests that wait; 0: 1024 */
    size_t stack;      /* bytes of each thread's stack, 64 KiB at least; 0: 16 MiB */
    cj_compiler_progress_fn progress; /* NULL: none */
    void *user;        /* handed to it */
} cj_compiler_opts;

/* Fills `opts` with its size and the defaults. */
CJ_API void cj_compiler_defaults(cj_compiler_opts *opts);

/* Makes a compiler.  Its threads start with the first requests.  `opts`: May be NULL.  Copied.
 * Never NULL.  Owned by the caller, free with cj_compiler_free.
 * Errors, in the failed object that is returned:
 *   CJ_EINVAL: an option is out of range
 *   CJ_ENOMEM: host memory is exhausted */
CJ_API cj_compiler *cj_compiler_create(cj_device *dev, const cj_compiler_opts *opts);

/* Cancels the requests that wait, then waits for those that are being compiled, and ends the
 * threads.  Called by a callback of the compiler it does not wait.
 * Blocks.  May be NULL. */
CJ_API void cj_compiler_free(cj_compiler *c);

/* ---- Requests -------------------------------------------------------------------------------- */

/* Requests an image of the module of `m`, the builder, as cj_image_create makes it.  `opts`: May be
 * NULL.  Copied.  Returns at once, unless the queue is full.
 * Never NULL.  Owned by the caller, free with cj_future_free.
 * Errors, in the failed object that is returned:
 *   the builder's first error
 *   CJ_EINVAL: an option is out of range
 *   CJ_ENOTSUP: the module needs a newer PTX version than the driver's, or another device
 *   CJ_EBUSY: the queue is full
 *   CJ_ENOMEM: host memory is exhausted, or no thread can be started */
CJ_API cj_future *cj_compiler_image(cj_compiler *c, cj_ptx *m, const cj_compile_opts *opts);

/* Requests an image of PTX text, as cj_image_create_text makes it.  `ptx`: Copied.  Otherwise as
 * cj_compiler_image.
 * Errors, in the failed object that is returned: as cj_compiler_image, and
 *   CJ_EINVAL: the text is NULL */
CJ_API cj_future *cj_compiler_image_text(cj_compiler *c, const char *ptx, const cj_compile_opts *opts);

/* Requests a link of the inputs that `l` has now, as cj_linker_link makes it.  Otherwise as
 * cj_compiler_image.
 * Errors, in the failed object that is returned: as cj_compiler_image, and
 *   the first failure of cj_linker_add*
 *   CJ_ESTATE: the linker has no inputs */
CJ_API cj_future *cj_compiler_link(cj_compiler *c, cj_linker *l);

/* Requests a module that is loaded, as cj_module_load loads it: once for each builder and device.
 * Otherwise as cj_compiler_image. */
CJ_API cj_future *cj_compiler_module(cj_compiler *c, cj_ptx *m, const cj_compile_opts *opts);

/* Requests a kernel, as cj_kernel_load makes it.  `name`: Copied.  Otherwise as cj_compiler_image.
 * Errors, in the failed object that is returned: as cj_compiler_image, and
 *   CJ_EINVAL: the name is NULL */
CJ_API cj_future *cj_compiler_kernel(cj_compiler *c, cj_ptx *m, const char *name, const cj_compile_opts *opts);

/* Returns a kernel that can be launched soon, and requests a faster one.  Compiles without
 * optimisation (CJ_OPT_NONE) now, on a thread of its own, and with `opts` behind other requests.
 * When that is loaded, launches use it, from one launch to the next; the handle stays the same, and
 * what cj_kernel_set_attribute has set holds.
 * What was captured or added to a graph before keeps the code that it has.
 *
 * The optimised code is not used if it allows smaller blocks than the first one; the log reports
 * that.  It stays loaded beside the first one until the kernel is freed.  The driver of a GPU loads
 * code when work in flight is complete: the compiler's thread waits for that.  The module is not
 * that of cj_module_load: the builder can be loaded with other options too.
 * `name`: Copied.  `opts`: May be NULL.  Copied.
 * `optimised`: May be NULL.  Gets the request's future, which the caller frees with cj_future_free;
 * its kernel is the one that is returned.  The request fails if the optimised code cannot be made;
 * the kernel remains usable.
 * Blocks.
 * Never NULL.  Owned by the caller, free with cj_kernel_free.
 * Errors, in the failed object that is returned: as cj_compiler_kernel and cj_kernel_load. */
CJ_API cj_kernel *cj_compiler_kernel_staged(cj_compiler *c, cj_ptx *m, const char *name,
                                            const cj_compile_opts *opts, cj_future **optimised);

/* ---- A batch --------------------------------------------------------------------------------- */

/* Fills `progress` with its size and zeros. */
CJ_API void cj_compiler_progress_defaults(cj_compiler_progress *progress);

/* Fills *progress up to progress->size bytes.
 * Errors, left in `c`:
 *   CJ_EINVAL: `progress` is NULL, or its size is not set */
CJ_API cj_status cj_compiler_get_progress(cj_compiler *c, cj_compiler_progress *progress);

/* Waits until no request waits or is being compiled, and all callbacks have returned, for at most
 * `timeout_ms` milliseconds; -1: without limit.  Blocks.
 * Errors, left in `c`:
 *   CJ_ETIMEOUT: the time has passed
 *   CJ_ESTATE: the caller is a callback of the compiler */
CJ_API cj_status cj_compiler_wait(cj_compiler *c, int64_t timeout_ms);

/* ---- Futures --------------------------------------------------------------------------------- */

/* Called once when a future is done.  `f`: Borrowed until the return.  May call cujit. */
typedef void (*cj_future_fn)(void *user, cj_future *f);

/* Waits until the future is done, for at most `timeout_ms` milliseconds; -1: without limit; 0 only
 * looks.  Returns how it ended.  Blocks.
 * A callback of the compiler that waits for a request which has not begun compiles it itself, as
 * long as that takes: a compiler of one thread waits for itself otherwise.
 * Errors, left in `f`:
 *   the error of the request, if it failed
 *   CJ_ETIMEOUT: the time has passed; not recorded
 *   CJ_ECANCELLED: it was cancelled */
CJ_API cj_status cj_future_wait(cj_future *f, int64_t timeout_ms);

/* The same without waiting: CJ_ENOTREADY if it is not done. */
CJ_API cj_status cj_future_query(cj_future *f);

/* Cancels a request that has not begun.  Then its result is a failed object, and its callback is
 * called by this thread.
 * Errors, left in `f`:
 *   CJ_EBUSY: it has begun, or is done */
CJ_API cj_status cj_future_cancel(cj_future *f);

/* Has `fn` called when the future is done: by a thread of the compiler, by a thread that cancels,
 * or now if it is done already.  A future has one callback.
 * Errors, left in `f`:
 *   CJ_EINVAL: `fn` is NULL
 *   CJ_EBUSY: the future has a callback */
CJ_API cj_status cj_future_callback(cj_future *f, cj_future_fn fn, void *user);

/* A file descriptor that becomes readable when the future is done, for poll and epoll; it stays
 * readable.  Do not read or close it.  Belongs to `f`.  Returns -1 on failure.
 * Errors, left in `f`:
 *   CJ_ENOMEM: the process has too many open files */
CJ_API int cj_future_fd(cj_future *f);

/* The image, module or kernel of a request; waits until it is done.  Each call returns a reference
 * of its own.  A failed object if the request failed or was cancelled.
 * Blocks.
 * Never NULL.  Owned by the caller, free with cj_image_free, cj_module_free or cj_kernel_free.
 * Errors, in the failed object that is returned:
 *   the error of the request
 *   CJ_ECANCELLED: the request was cancelled
 *   CJ_EHANDLE: the request is for another kind of object */
CJ_API cj_image *cj_future_image(cj_future *f);
CJ_API cj_module *cj_future_module(cj_future *f);
CJ_API cj_kernel *cj_future_kernel(cj_future *f);

/* Frees the future.  The request is not cancelled.  Returns at once.  May be NULL. */
CJ_API void cj_future_free(cj_future *f);

#ifdef __cplusplus
}
#endif

/* ---- Option literals: CJ_COMPILER(.threads = 4); C and C++20 --------------------------------- */

#ifndef __cplusplus
#define CJ_COMPILER(...) (&(const cj_compiler_opts){ .size = sizeof(cj_compiler_opts), __VA_ARGS__ })
#elif __cplusplus >= 202002L
#define CJ_COMPILER(...) cji::keep(cj_compiler_opts{ .size = sizeof(cj_compiler_opts), __VA_ARGS__ })
#endif

#endif
