/* cujit/base.h - what every part of cujit shares: status codes, errors, types, values, and the process-wide hooks.
 *
 * Objects.  Every object is an opaque pointer made by a `create` or `open` call and released by `free` or `close`, which
 * accept NULL and return nothing.  A constructor never returns NULL: when it fails it gives a *failed object*, which every
 * call accepts and which free releases; a call that is given one fails with that object's own error.  Parents are reference
 * counted, so objects may be released in any order, from any thread.
 *
 * Errors.  A failed call returns its status and leaves a record in its first argument, read with cj_error_of().  A builder
 * keeps its first error and ignores what comes after it; a stream keeps its first failure until cj_stream_sync() has
 * returned it.  Nothing here prints, exits or aborts.
 *
 * Fork.  After fork() every call on an object that touches a driver answers CJ_EFORKED in the child, and its free does
 * nothing.  Builders, printer and parser keep working in the child.
 */
#ifndef CUJIT_BASE_H
#define CUJIT_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CJ_VERSION_MAJOR 0
#define CJ_VERSION_MINOR 1
#define CJ_VERSION_PATCH 0

#if defined __GNUC__ || defined __clang__
#define CJ_API __attribute__((visibility("default")))
#else
#define CJ_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Status ------------------------------------------------------------------------------------------------------ */

/* What a call returns.  0 is success; the codes are stable and few: the record behind them says the rest. */
typedef enum cj_status {
    CJ_OK = 0,
    CJ_ENOMEM = -1,     /* the allocator, the device or the driver has no memory left */
    CJ_EINVAL = -2,     /* an argument is out of range */
    CJ_EHANDLE = -3,    /* a handle is NULL or of another type */
    CJ_ESTATE = -4,     /* right call, wrong moment (frozen builder, a capture under way, unbalanced blocks) */
    CJ_EPTX = -5,       /* the kernel is wrong: operands, types, control flow, or PTX text that cannot be read */
    CJ_EUNKNOWN = -6,   /* an instruction, register or modifier that the instruction table does not hold */
    CJ_ENOTSUP = -7,    /* this driver, device or PTX version cannot do it */
    CJ_ENODRIVER = -8,  /* no driver library, or one that cannot be used */
    CJ_ENODEVICE = -9,  /* the driver has no such device */
    CJ_EDRIVER = -10,   /* the driver refused a call; driver_code and driver_name say how */
    CJ_EJIT = -11,      /* the driver's compiler refused the PTX; the object holds its log */
    CJ_ENOTFOUND = -12, /* no such name or file */
    CJ_EBUSY = -13,     /* too late to change, or in use */
    CJ_EFORKED = -14,   /* the object was made before fork() and touches a driver */
    CJ_ENOTREADY = -15, /* not done yet: an answer, not a failure; never recorded as one */
    CJ_ETIMEOUT = -16   /* the time given has passed */
} cj_status;

/* The status's name ("CJ_EPTX") and its one-line meaning.  Static text; an unknown status gives "CJ_?" and "unknown status". */
CJ_API const char *cj_status_name(cj_status status);
CJ_API const char *cj_status_text(cj_status status);

/* ---- Errors ------------------------------------------------------------------------------------------------------ */

/* One failure.  Recording one never allocates: records come from a reserve of the process.  While 256 failures are kept
 * by objects that live, further ones have no text of their own: message is then the call's name and the status's text. */
typedef struct cj_error {
    int32_t status;       /* a cj_status; CJ_OK when nothing has failed */
    int32_t driver_code;  /* the driver's CUresult, 0 when the driver was not the one that failed */
    char driver_name[56]; /* its name, "CUDA_ERROR_INVALID_VALUE"; empty without one */
    char call[56];        /* the public call that failed, "cj_launch" */
    char message[480];    /* one line: the thing, what is wrong, and the mend */
    char file[120];       /* source of the builder call, where known (the end of it where it is longer) */
    int32_t line;         /* its line, 0 where unknown */
} cj_error;

enum { CJ_ERROR_BYTES = 724 }; /* sizeof(cj_error), in every version */

/* The failure kept by an object of any kind; status CJ_OK when it has none.  `object`: May be NULL (the record then says so).
 * Never NULL.  Borrowed until the calling thread's fourth next call of this function.  Any thread. */
CJ_API const cj_error *cj_error_of(const void *object);

/* The latest failure of any call made by this thread, also one that cj_stream_sync returned; status CJ_OK when there was none.
 * Borrowed until the thread's next call of it. */
CJ_API const cj_error *cj_error_last(void);

/* Copies the failure kept by `object` to *out, CJ_ERROR_BYTES bytes of the caller; for languages that keep no C pointers.
 * Returns its status.  `out`: May be NULL.  Any thread. */
CJ_API cj_status cj_error_copy(const void *object, cj_error *out);

/* Forgets the failure kept by `object`, where it may go on: a stream.  Builders and failed objects keep theirs.
 * Errors: CJ_EHANDLE for NULL or no object; CJ_ESTATE where the failure is final. */
CJ_API cj_status cj_error_clear(void *object);

/* ---- Scalar types and values ------------------------------------------------------------------------------------- */

/* PTX's fundamental types, by the manual's names (PTX ISA 9.0, 5.2).  ORDER cj_type: src/ptx/types.def. */
typedef enum cj_type {
    CJ_VOID = 0,
    CJ_PRED,
    CJ_B8, CJ_B16, CJ_B32, CJ_B64, CJ_B128,
    CJ_U8, CJ_U16, CJ_U32, CJ_U64,
    CJ_S8, CJ_S16, CJ_S32, CJ_S64,
    CJ_F16, CJ_F16X2, CJ_BF16, CJ_BF16X2,
    CJ_F32, CJ_F64,
    CJ_TYPE_COUNT
} cj_type;

/* A value inside a kernel that is being built: a register, literal, address, vector, label or symbol.  64 bits (id, type, kind,
 * owner), passed as a uint64_t on every host that has a CUDA driver.  { 0 } is the null value: every builder call accepts it and
 * does nothing.  Belongs to the cj_fn it was made in. */
typedef struct cj_val { uint64_t bits; } cj_val;

/* An address in a device's memory.  { 0 } is no memory. */
typedef struct cj_dptr { uint64_t addr; } cj_dptr;

/* `d` moved on by `bytes`. */
static inline cj_dptr cj_offset(cj_dptr d, int64_t bytes) { d.addr += (uint64_t)bytes; return d; }

typedef enum cj_dim { CJ_X = 0, CJ_Y = 1, CJ_Z = 2 } cj_dim;

/* ---- Process-wide hooks ------------------------------------------------------------------------------------------ */

/* The allocator of the whole library, realloc-shaped: `p` NULL makes a block of `size`; `size` 0 releases `p` and returns NULL; else
 * the block moves or stays and keeps its first min(old, size) bytes; `old` is the size it was given with.  Returns NULL when there is no memory.
 * Blocks are aligned for any C type.  Called from any thread. */
typedef void *(*cj_realloc_fn)(void *user, void *p, size_t old, size_t size);

/* Sets it; NULL is libc's.  Only before the first object is made.  Errors: CJ_EBUSY after that. */
CJ_API cj_status cj_set_allocator(cj_realloc_fn fn, void *user);

typedef enum cj_log_level { CJ_LOG_ERROR = 1, CJ_LOG_WARNING, CJ_LOG_INFO, CJ_LOG_DEBUG } cj_log_level;

/* Receives one line of log without a newline, valid during the call; from any thread; must not call cujit. */
typedef void (*cj_log_fn)(void *user, cj_log_level level, const char *line);

/* Where messages go.  NULL: nowhere, or to standard error from the level that CUJIT_LOG names (error, warning, info, debug; 1 is info).
 * Only before the first object is made.  Errors: CJ_EBUSY after that. */
CJ_API cj_status cj_set_log(cj_log_fn fn, void *user);

/* The pull form: copies the oldest unread line (of the last 64) into `buffer` with its NUL, cut to `bytes`.
 * Returns the line's level, 0 when there is none.  Any thread; each line is read once. */
CJ_API int cj_log_read(char *buffer, size_t bytes);

/* The version of the library that is loaded, "0.1.0", and the 64-bit hash of its instruction table. */
CJ_API const char *cj_version(void);
CJ_API uint64_t cj_table_hash(void);

#ifdef __cplusplus
}
#endif
#endif
