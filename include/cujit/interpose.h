/* cujit/interpose.h - a driver over a driver, which sees each driver call and can make it fail.
 *
 *     cj_driver *real = cj_driver_open(NULL);
 *     cj_driver *drv = cj_driver_open_interposed(real, CJ_INTERPOSER(.after = print_call));
 *     cj_device *dev = cj_device_open(drv, 0, NULL);      used as with any driver
 *
 * An interposer passes each call of the objects that are made from it to the driver below.  Objects
 * of the driver below do not pass through it.  Interposers can be stacked.
 *
 * The environment asks for interposers without a change of the program: CUJIT_TRACE=FILE,
 * CUJIT_RECORD=FILE and CUJIT_FAULT=TEXT lie over each driver that cj_driver_open and
 * cj_driver_open_resolver open.  The driver then is the interposer: it has the kind, the path and
 * the library of the driver below.  The trace is nearest to the program, the recording below it,
 * the faults nearest to the driver.  A driver does not open while one of the variables is wrong.
 * Programs with more rights than their user ignore them.
 *
 * Lifetime.  An interposer keeps the driver below open.  It exists until it was closed and all
 * objects made from it were released.  A process has at most CJ_INTERPOSERS_MAX of them at a time.
 * Those of the environment are not counted; they lie over three drivers at a time, and a further
 * driver is opened without them, with a line in the log.
 *
 * Threads.  The functions are called on the thread that makes the driver call, also on several
 * threads at once.  They must not use objects made from the interposer.
 */
#ifndef CUJIT_INTERPOSE_H
#define CUJIT_INTERPOSE_H

#include <cujit/driver.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { CJ_INTERPOSERS_MAX = 4 }; /* most interposers of a process at a time */

/* Called before a driver call.  `number` counts the calls of all threads from 1.  `name` is the
 * entry point ("cuMemAllocAsync").  Returns 0 to make the call.  Another value is a CUresult: the
 * call then returns it, and the driver below is not called. */
typedef int (*cj_interposer_before_fn)(void *user, uint64_t number, const char *name);

/* Called after a driver call, which returned the CUresult `result`.  `text` is the call with its
 * arguments and its result.  `text`: Borrowed until the return.
 *     cuMemAllocAsync(dptr=0x7ffc04a8 -> 0x302000000, bytesize=64, hStream=0x5581c0) = CUDA_SUCCESS
 * Numbers are decimal, handles and addresses hexadecimal.  Enumerations, results and flags are
 * names: Flags=CU_EVENT_DISABLE_TIMING.  Strings are quoted, long ones cut.  The value after -> is
 * what the driver wrote to that address. */
typedef void (*cj_interposer_after_fn)(void *user, uint64_t number, const char *name,
                                       const char *text, int result);

typedef struct cj_interposer_opts {
    size_t size;                    /* sizeof(cj_interposer_opts) */
    cj_interposer_before_fn before; /* NULL: none */
    cj_interposer_after_fn after;   /* NULL: none */
    void *user;                     /* passed to both */
    uint64_t fail_at;               /* the number of a call that fails; 0: none */
    int32_t fail_with;              /* the CUresult of that call; 0: CUDA_ERROR_UNKNOWN (999) */
} cj_interposer_opts;

/* Fills `opts` with its size and the defaults: no functions, no failure. */
CJ_API void cj_interposer_defaults(cj_interposer_opts *opts);

/* Opens an interposer over the driver `under`.  `opts`: May be NULL.  Copied.  Its kind, path,
 * version and missing entry points are those of `under`.  Opening makes driver calls, which are
 * seen and counted.  Entry points that a program gets by cuGetProcAddress are those of the driver
 * below.
 * Never NULL.  Owned by the caller, free with cj_driver_close.  Any thread.
 * Errors, in the failed object that is returned:
 *   CJ_EHANDLE: `under` is not a driver
 *   CJ_EINVAL: the size of `opts` is wrong
 *   CJ_EBUSY: CJ_INTERPOSERS_MAX interposers exist
 *   the error of `under`, if `under` is a failed object */
CJ_API cj_driver *cj_driver_open_interposed(cj_driver *under, const cj_interposer_opts *opts);

/* ---- Traces and faults ----------------------------------------------------------------------- */

/* Opens an interposer over `under` that writes each call to the file `path` when the call has
 * returned: Chrome's trace format for a name that ends with .json, else text.  Text has the seconds
 * since the trace began, the thread's number of the system, the microseconds that the call took,
 * and the call as in cj_interposer_after_fn.  A launch is followed by the kernel and the values of
 * its arguments, from CUDA 12.4 on.
 *     0.134812    4711    12.480  cuStreamSynchronize(hStream=0x5581c0) = CUDA_SUCCESS
 * "%p" in `path` is the number of the process, "%%" is "%".  The file is emptied when no open trace
 * of the process writes to it.  A file that another process writes a trace or a recording to is
 * left alone, and the number of this process is appended to the name.  /dev/stdout, /dev/stderr and
 * /dev/fd/N are the program's own descriptors: lines are written where they are in their files.
 * Otherwise as cj_driver_open_interposed.
 * Errors, in the failed object that is returned: as cj_driver_open_interposed, and
 *   CJ_EINVAL: `path` is NULL or empty, or the file cannot be written */
CJ_API cj_driver *cj_driver_open_traced(cj_driver *under, const char *path);

/* Opens an interposer over `under` that writes each call to the file `path` with the data that it
 * reads and writes, so that cj_replay_file (replay.h) and `cujit replay` can repeat the program's
 * work on another device.  The kernel cache is off for the driver.  The file is emptied first.  A
 * program that dies leaves a recording of what it did so far.  When the file cannot be written any
 * more, the program continues, the log reports it once, and the recording ends there.
 * CUJIT_RECORD makes a file for each driver that is opened: FILE, FILE.2, FILE.3.  "%p" in `path`,
 * and a file that another process writes to: as in cj_driver_open_traced.
 * Otherwise as cj_driver_open_interposed.
 * Errors, in the failed object that is returned: as cj_driver_open_interposed, and
 *   CJ_EINVAL: `path` is NULL or empty, or the file cannot be written */
CJ_API cj_driver *cj_driver_open_recorded(cj_driver *under, const char *path);

/* Opens an interposer over `under` that makes calls fail.  `faults` is a list of rules with commas
 * between them.  A call that fails does not reach the driver below.  Otherwise as
 * cj_driver_open_interposed.
 *     cuMemAlloc:3                     the third call returns 999, CUDA_ERROR_UNKNOWN
 *     cuMemAlloc:3:2                   the third call returns 2, CUDA_ERROR_OUT_OF_MEMORY
 *     cuMemAlloc:3:CUDA_ERROR_STUB_LIBRARY
 *     cuLaunchKernel:every:5           each fifth call returns 999
 *     cuLaunchKernel:every:5:700       each fifth call returns 700
 *     *:17                             the seventeenth call of any name
 * A name is that of an entry point with or without its _v2.  Each rule counts on its own; the first
 * that fits decides.
 * Errors, in the failed object that is returned: as cj_driver_open_interposed, and
 *   CJ_EINVAL: `faults` is NULL, or has a rule of another form */
CJ_API cj_driver *cj_driver_open_faulty(cj_driver *under, const char *faults);

/* The number of calls that the interposer has seen, failed ones too; 0 for another driver. */
CJ_API uint64_t cj_interposer_calls(const cj_driver *drv);

#ifdef __cplusplus
}
#endif

/* ---- Option literal: CJ_INTERPOSER(.fail_at = 17); C and C++20 ------------------------------- */

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
