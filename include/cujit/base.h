/* cujit/base.h - what all headers share: status codes, errors, types, values, process-wide hooks.
 *
 * Objects.  An object is an opaque pointer.  A `create` or `open` call makes it; `free` or `close`
 * releases it, accepts NULL and returns nothing.  A constructor never returns NULL: when it fails
 * it returns a *failed object*.  Every call accepts a failed object and fails with its error;
 * `free` releases it.
 *
 * Lifetime.  Objects keep alive what they need.  They may be released in any order.
 *
 * Threads.  Any thread, except for builders (ptx.h).  A thread that pthread_cancel() meets inside a
 * call ends behind it.  Only launches, records of events, queries and a tensor map's new address
 * leave the thread as it is; they hold no lock while the driver runs.
 *
 * Errors.  A failed call returns its status and leaves a record in its first argument, or where its
 * comment says; cj_error_of() reads it.  A builder keeps its first failure and ignores later calls.
 * A stream keeps its first failure until cj_stream_sync() has returned it.  No call prints, exits
 * or aborts.
 *
 * Comments.  A comment holds for all declarations below it, down to the next blank line.
 *   Owned by the caller, free with X   the caller calls X once for each time that it got the object
 *   Belongs to `m`                     it is released with `m`; the caller does not free it
 *   Borrowed until Y                   the pointer is valid until Y; the caller does not free it
 *   Copied                             the argument may be changed or freed after the call
 *   Returns at once                    the call does not wait for work of the device
 *   Blocks                             the call may wait for the device, the driver or its compiler
 * A call with neither of the last two only reads or sets data of the host.
 *
 * The last line of a comment names the driver functions used and the CUDA version that has them.
 * With an older driver the call fails with CJ_ENOTSUP, unless its comment states another effect.
 * The least version of all is CUDA 11.4 (driver 470).
 *
 * Fork.  In a child of fork(), calls on the parent's driver objects fail with CJ_EFORKED, and their
 * free does nothing.  Builders, printer and parser work in the child, and so does a driver that the
 * parent had not opened.
 *
 * The end.  The process may end at any moment.  Objects may be used and freed in exit handlers and
 * in destructors of static objects; calls fail where the driver has ended before.
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

/* ---- Status ---------------------------------------------------------------------------------- */

/* What a call returns.  The codes are few and stable; the record has the details. */
typedef enum cj_status {
    CJ_OK = 0,
    CJ_ENOMEM = -1,     /* host memory, device memory or memory of the driver is exhausted */
    CJ_EINVAL = -2,     /* an argument is out of range */
    CJ_EHANDLE = -3,    /* a handle is NULL or of another type */
    CJ_ESTATE = -4,     /* not now: a frozen builder, an open capture, an open block */
    CJ_EPTX = -5,       /* the kernel is wrong: operands, types, control flow, or PTX text */
    CJ_EUNKNOWN = -6,   /* an instruction, register or modifier that the table does not have */
    CJ_ENOTSUP = -7,    /* this driver, device or PTX version cannot do it */
    CJ_ENODRIVER = -8,  /* there is no driver library, or it cannot be used */
    CJ_ENODEVICE = -9,  /* the driver has no such device */
    CJ_EDRIVER = -10,   /* the driver rejects a call; driver_code and driver_name say why */
    CJ_EJIT = -11,      /* the driver's compiler rejects the PTX; the object has its log */
    CJ_ENOTFOUND = -12, /* no such name, file or allocation */
    CJ_EBUSY = -13,     /* too late to change, or in use */
    CJ_EFORKED = -14,   /* the object was made before fork() and touches a driver */
    CJ_ENOTREADY = -15, /* not completed yet: an answer, never recorded as a failure */
    CJ_ETIMEOUT = -16,  /* the time has passed */
    CJ_ECANCELLED = -17 /* it was cancelled */
} cj_status;

/* The name of a status ("CJ_EPTX") and its meaning in one line.  Static text.  For an unknown
 * status "CJ_?" and "unknown status". */
CJ_API const char *cj_status_name(cj_status status);
CJ_API const char *cj_status_text(cj_status status);

/* ---- Errors ---------------------------------------------------------------------------------- */

/* One failure.  Recording one never allocates: records come from a reserve of the process.  When
 * objects that live keep 256 failures, further ones have no text of their own: `message` is then
 * the call's name and the status's text. */
typedef struct cj_error {
    int32_t status;       /* a cj_status; CJ_OK when nothing has failed */
    int32_t driver_code;  /* the driver's CUresult; 0 when no driver call failed */
    char driver_name[56]; /* its name, "CUDA_ERROR_INVALID_VALUE"; "" without one */
    char call[56];        /* the public call that failed, "cj_launch" */
    char message[480];    /* one line: the thing, what is wrong, and the fix */
    char file[120];       /* source file of the builder call, or the end of its name; "": unknown */
    int32_t line;         /* the line in it; 0: unknown */
} cj_error;

enum { CJ_ERROR_BYTES = 724 }; /* sizeof(cj_error), in every version */

/* The failure that an object of any kind keeps; status CJ_OK when it has none.  `object`: May be
 * NULL; the record then reports that.
 * Never NULL.  Borrowed until the fourth next call of this function by the thread.  Any thread. */
CJ_API const cj_error *cj_error_of(const void *object);

/* The latest failure of a call of this thread, also one that cj_stream_sync returned; status CJ_OK
 * when there was none.
 * Never NULL.  Borrowed until the next call of this function by the thread. */
CJ_API const cj_error *cj_error_last(void);

/* Copies the failure that `object` keeps to *out, CJ_ERROR_BYTES bytes of the caller: for languages
 * that keep no C pointers.  Returns its status.  `out`: May be NULL.  Any thread. */
CJ_API cj_status cj_error_copy(const void *object, cj_error *out);

/* Clears the failure of an object that can continue, as a stream can.
 * Errors:
 *   CJ_EHANDLE: `object` is NULL, or not an object
 *   CJ_ESTATE: a builder or a failed object; their failure is final */
CJ_API cj_status cj_error_clear(void *object);

/* ---- Scalar types and values ----------------------------------------------------------------- */

/* The fundamental types of PTX, by the manual's names (PTX ISA 9.0, 5.2).
 * ORDER cj_type: src/ptx/types.def. */
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

/* A value of a kernel that is being built: a register, literal, address, vector, label or symbol.
 * 64 bits, passed as a uint64_t on every host that has a CUDA driver.  { 0 } is the null value:
 * every builder call accepts it and does nothing.  Belongs to the cj_fn that it was made in. */
typedef struct cj_val { uint64_t bits; } cj_val;

/* An address in device memory.  { 0 } is no memory. */
typedef struct cj_dptr { uint64_t addr; } cj_dptr;

/* The address `bytes` after `d`. */
static inline cj_dptr cj_offset(cj_dptr d, int64_t bytes) { d.addr += (uint64_t)bytes; return d; }

typedef enum cj_dim { CJ_X = 0, CJ_Y = 1, CJ_Z = 2 } cj_dim;

/* ---- Process-wide hooks ---------------------------------------------------------------------- */

/* The allocator of the whole library.  Called from any thread.
 *   `p` is NULL   returns a new block of `size` bytes
 *   `size` is 0   releases `p` and returns NULL
 *   else          returns a block of `size` bytes with the first min(old, size) bytes of `p`
 * `old` is the size of `p`.  Returns NULL when memory is exhausted; `p` is then unchanged.  Blocks
 * are aligned for any C type. */
typedef void *(*cj_realloc_fn)(void *user, void *p, size_t old, size_t size);

/* Sets the allocator; NULL is that of libc.
 * Errors:
 *   CJ_EBUSY: an object was already made */
CJ_API cj_status cj_set_allocator(cj_realloc_fn fn, void *user);

typedef enum cj_log_level { CJ_LOG_ERROR = 1, CJ_LOG_WARNING, CJ_LOG_INFO, CJ_LOG_DEBUG } cj_log_level;

/* Receives one line of the log, without a newline.  `line`: Borrowed until the return.  Called from
 * any thread; must not call cujit. */
typedef void (*cj_log_fn)(void *user, cj_log_level level, const char *line);

/* Sets the function that receives the log.  NULL: lines up to the level of the environment variable
 * CUJIT_LOG (error, warning, info, debug) are written to standard error, none without it.
 * Errors:
 *   CJ_EBUSY: an object was already made */
CJ_API cj_status cj_set_log(cj_log_fn fn, void *user);

/* Copies the oldest unread line of the log to `buffer`, cut to `bytes` with its NUL.  The last 64
 * lines are kept; each is read once.  Returns the line's level, 0 when there is none.  Any
 * thread. */
CJ_API int cj_log_read(char *buffer, size_t bytes);

/* ---- Enums by name --------------------------------------------------------------------------- */

/* The name of a value of a public enum: cj_enum_name("cj_type", CJ_F32) is "CJ_F32".  Constants of
 * enums without a name belong to the type "".  NULL when there is no such enum or value.  Static
 * text.  Any thread. */
CJ_API const char *cj_enum_name(const char *type, int64_t value);

/* Sets *value to the value of a name: cj_enum_value("cj_type", "CJ_F32", &value).  `value`: May be
 * NULL.  Any thread.
 * Errors, left in the thread:
 *   CJ_EINVAL: `type` or `name` is NULL
 *   CJ_ENOTFOUND: there is no such enum, or it has no such name */
CJ_API cj_status cj_enum_value(const char *type, const char *name, int64_t *value);

/* ---- Version --------------------------------------------------------------------------------- */

/* The version of the loaded library, "0.1.0", and a hash of its instruction table. */
CJ_API const char *cj_version(void);
CJ_API uint64_t cj_table_hash(void);

#ifdef __cplusplus
}
#endif
#endif
