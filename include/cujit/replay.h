/* cujit/replay.h - repeats a recording of a program's driver calls, on this device or another one.
 *
 *     cj_driver *drv = cj_driver_open(NULL);
 *     cj_replay_result x = { .size = sizeof x };
 *     if (cj_replay_file(drv, "calls.rec", CJ_REPLAY(.line = print_line), &x) == CJ_OK)
 *         printf("%d copies differ\n", (int)x.different);
 *
 * CUJIT_RECORD=FILE, or cj_driver_open_recorded (interpose.h), writes a recording: each call with
 * the kernels, images and data that it passes to the driver.  A replay makes the calls again in the
 * recorded order, each thread's on a thread of its own.  PTX is compiled again for the device.
 * Handles and addresses in arguments, structs, kernel parameters and copied data become those of
 * the replay.  What copies to host memory read is compared with what they read in the recording.
 *
 * What is not repeated.  Host functions and callbacks run nothing.  What the host writes into
 * memory that kernels read directly, managed or page-locked, is not in a recording.  Neither is
 * memory of other processes.
 *
 * A recording is a program: replay only those that you trust.  A damaged file is an error.
 *
 * Errors are left in the driver.  Without one, cj_error_last() has them.
 */
#ifndef CUJIT_REPLAY_H
#define CUJIT_REPLAY_H

#include <cujit/interpose.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Receives a line of text, without a newline.  `line`: Borrowed until the return.  Called from the
 * threads of the replay, one at a time. */
typedef void (*cj_replay_line_fn)(void *user, const char *line);

typedef struct cj_replay_opts {
    size_t size;            /* sizeof(cj_replay_opts) */
    cj_replay_line_fn line; /* receives what the file is, and each difference; NULL: nothing does */
    void *user;             /* passed to it */
    int32_t list;           /* 1: each call is a line, and none is repeated */
} cj_replay_opts;

/* Fills `opts` with its size and the defaults: no lines, the calls are repeated.
 * `opts`: May be NULL. */
CJ_API void cj_replay_defaults(cj_replay_opts *opts);

/* What a recording holds, and what became of it.  Every call is counted once in the three counts
 * behind `calls`. */
typedef struct cj_replay_result {
    size_t size;         /* sizeof(cj_replay_result) */
    uint64_t calls;      /* of the recording */
    uint64_t repeated;
    uint64_t left_out;   /* that change nothing: queries, and calls that had failed */
    uint64_t impossible; /* that cannot be repeated; each is a line */
    uint64_t results;    /* calls that returned another result */
    uint64_t compared;   /* bytes that were compared */
    uint64_t different;  /* copies, and launches of graphs, whose bytes differ */
    uint64_t ptx;        /* images and inputs of links that are PTX */
    uint64_t foreign;    /* those that are machine code for one architecture */
    uint32_t threads;    /* that made the calls */
    int32_t complete;    /* 1: the recording ends where the program closed its driver */
} cj_replay_result;

/* Fills `result` with its size and zeros.  `result`: May be NULL. */
CJ_API void cj_replay_result_defaults(cj_replay_result *result);

/* Repeats the recording in the file `path` on the devices of `drv`, which have the ordinals that
 * they had.  Blocks until all work is done.  `drv`: May be NULL with `list`.  `opts`: May be NULL.
 * `result`: May be NULL.  Filled up to result->size bytes, also after an error.  A difference is no
 * error.  The calls have the effects on the process that they had in the program: one that resets a
 * device resets it.  Any thread.
 * Errors:
 *   CJ_EHANDLE: `drv` is not a driver, or NULL without `list`
 *   CJ_EINVAL: the file cannot be read, is not a recording, or is damaged; a size is wrong
 *   CJ_ENOTSUP: the recording has machine code for another architecture than the device's, or
 *     uses a device that `drv` lacks
 *   CJ_ENOMEM: host memory is exhausted, or no thread can be started */
CJ_API cj_status cj_replay_file(cj_driver *drv, const char *path, const cj_replay_opts *opts,
                                cj_replay_result *result);

#ifdef __cplusplus
}
#endif

/* ---- Option literal: CJ_REPLAY(.list = 1); C and C++20 --------------------------------------- */

#ifndef __cplusplus
#define CJ_REPLAY(...) (&(const cj_replay_opts){ .size = sizeof(cj_replay_opts), __VA_ARGS__ })
#elif __cplusplus >= 202002L
#ifndef CJI_KEEP
#define CJI_KEEP
namespace cji { template<class T> inline const T *keep(const T &t) { return &t; } }
#endif
#define CJ_REPLAY(...) cji::keep(cj_replay_opts{ .size = sizeof(cj_replay_opts), __VA_ARGS__ })
#endif

#endif
