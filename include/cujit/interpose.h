/* cujit/interpose.h - a driver over a driver: every call to the CUDA driver can be seen, and made to fail.
 *
 *     cj_driver *real = cj_driver_open(NULL);
 *     cj_driver *drv = cj_driver_open_interposed(real, CJ_INTERPOSER(.after = print_call));    // or .fail_at = 17
 *     cj_device *dev = cj_device_open(drv, 0, NULL);                                      // and so on: used like any driver
 *
 * Everything made from the upper driver goes through the layer; what is made from the lower one does not.  Layers may lie over layers.
 *
 * Lifetime.  The layer keeps the driver below open, and is there until its driver was closed and all that was made from it was released.
 * A process has room for CJ_INTERPOSERS_MAX of them at a time.
 *
 * Threads.  The functions of a layer are called on the thread that makes the call to the driver, on several threads at once where several
 * do.  They must not use anything that was made from the layer's own driver.
 */
#ifndef CUJIT_INTERPOSE_H
#define CUJIT_INTERPOSE_H

#include <cujit/driver.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Most layers that are open in a process at a time. */
enum { CJ_INTERPOSERS_MAX = 4 };

/* Called before call `number` of the layer (1 is the first; the calls of all threads count together) goes to the driver's `name` ("cuMemAllocAsync").
 * Returns 0 to let it through; any other CUresult is the call's answer then, and the driver below does not see the call. */
typedef int (*cj_interposer_before_fn)(void *user, uint64_t number, const char *name);

/* Called when call `number` has its answer, `result` (a CUresult).  `text` is the call with its arguments and its answer, valid during the call:
 *     cuMemAllocAsync(dptr=0x7ffc04a8 -> 0x302000000, bytesize=64, hStream=0x5581c0) = CUDA_SUCCESS
 * Numbers are decimal, handles and addresses hexadecimal, strings quoted and cut when they are long; behind -> stands what the driver wrote there. */
typedef void (*cj_interposer_after_fn)(void *user, uint64_t number, const char *name, const char *text, int result);

typedef struct cj_interposer_opts {
    size_t size;              /* sizeof(cj_interposer_opts) */
    cj_interposer_before_fn before;  /* NULL: none */
    cj_interposer_after_fn after;    /* NULL: none */
    void *user;               /* handed to both */
    uint64_t fail_at;         /* this call fails, and the driver below does not see it; 0: none */
    int32_t fail_with;        /* with this CUresult; 0: 999, CUDA_ERROR_UNKNOWN */
} cj_interposer_opts;

/* Fills `opts` with its size and the defaults: nothing is seen, nothing fails. */
CJ_API void cj_interposer_defaults(cj_interposer_opts *opts);

/* Opens a driver whose calls all go through a layer to `under`; `opts` NULL for the defaults, copied.  Its kind, path and version are those of `under`,
 * and what `under` lacks it lacks too.  Opening itself makes calls, which are seen and counted.  Entry points that a program asks cuGetProcAddress for are
 * those of the driver below.  Never NULL; owned by the caller, free with cj_driver_close.
 * Errors: CJ_EHANDLE for an `under` that is no driver; what `under` failed with; CJ_EINVAL for wrong options; CJ_EBUSY for one layer too many. */
CJ_API cj_driver *cj_driver_open_interposed(cj_driver *under, const cj_interposer_opts *opts);

/* How many calls went through the layer of `drv` so far, those that failed too; 0 for a driver that is no layer. */
CJ_API uint64_t cj_interposer_calls(const cj_driver *drv);

#ifdef __cplusplus
}
#endif

/* ---- Option literal: CJ_INTERPOSER(.fail_at = 17); C and C++20 ----------------------------------------------------------- */

#ifndef __cplusplus
#define CJ_INTERPOSER(...) (&(const cj_interposer_opts){ .size = sizeof(cj_interposer_opts), __VA_ARGS__ })
#elif __cplusplus >= 202002L
#ifndef CJI_KEEP
#define CJI_KEEP
namespace cji { template<class T> inline const T *keep(const T &t) { return &t; } }
#endif
#define CJ_INTERPOSER(...) cji::keep(cj_interposer_opts{ .size = sizeof(cj_interposer_opts), __VA_ARGS__ })
#endif

#endif
