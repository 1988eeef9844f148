/* cujit/driver.h - from a driver to a kernel that can be launched.
 *
 *     cj_driver                 libcuda, or the CPU device
 *       cj_device               one GPU, its primary context retained
 *         cj_image              PTX compiled for that device: bytes to keep
 *         cj_module             code loaded on that device
 *           cj_kernel           an entry point with its parameters, ready for cj_launch
 *
 * Lifetime.  A child keeps its parents alive, so these objects may be released in any order, from any thread, while kernels run and during
 * a capture: what the driver would not allow at that moment is put off until a later call on the device, or for ever at process exit.
 * Opening a driver or a device that is open already gives the same object again, to be closed once more.
 *
 * Threads.  Every call may be made from any thread.  The caller's current CUDA context is the same after a call as before it.
 *
 * Errors.  A constructor never returns NULL; a failed object carries the reason, and what is given one fails with that reason.  See base.h.
 * After fork() every call answers CJ_EFORKED in the child.
 */
#ifndef CUJIT_DRIVER_H
#define CUJIT_DRIVER_H

#include <cujit/launch.h>
#include <cujit/ptx.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cj_driver cj_driver;
typedef struct cj_device cj_device;
typedef struct cj_image cj_image;
typedef struct cj_module cj_module;
typedef struct cj_event cj_event; /* stream.h */

/* ---- Drivers ----------------------------------------------------------------------------------------------------- */

/* Opens a driver.  `which`:
 *   "cuda"   libcuda.so.1 ($CUJIT_LIBCUDA names another file)
 *   "sim"    the CPU device: $CUJIT_SIM (a file), else libcujit-sim.so in the folder cujit/ beside libcujit, else in the installed place
 *   "auto"   "cuda"; the CPU device only where there is no libcuda.so.1 or it reports no device, which is said in one line of log
 *   a path   (with a '/') that library
 *   NULL     $CUJIT_DRIVER, else "auto"
 * Never NULL; owned by the caller, free with cj_driver_close.
 * Errors: CJ_EINVAL for another `which`; CJ_ENODRIVER where there is no library, or it lacks a function, is the toolkit's stub, or does not match the
 * kernel's driver; CJ_EDRIVER where it does not start; CJ_EFORKED in a child of fork() whose parent used that driver;
 * CJ_ENOTSUP where the program is linked with -static. */
CJ_API cj_driver *cj_driver_open(const char *which);

/* Finds an entry point by the name of the symbol that libcuda.so.1 exports ("cuMemAlloc_v2"); NULL where there is none.  dlsym is one. */
typedef void *(*cj_symbol_fn)(void *user, const char *symbol);

/* Opens a driver whose entry points come from `get_symbol`, called during this call only; what it returns must stay valid while the driver is open.
 * The driver's kind is "custom".  Otherwise as cj_driver_open. */
CJ_API cj_driver *cj_driver_open_resolver(cj_symbol_fn get_symbol, void *user);

/* Releases it; NULL is fine.  The library stays loaded. */
CJ_API void cj_driver_close(cj_driver *drv);

CJ_API const char *cj_driver_kind(const cj_driver *drv);   /* "cuda", "sim", "custom"; "failed" for a failed driver */
CJ_API const char *cj_driver_path(const cj_driver *drv);   /* the library's file name; "" for a custom or failed driver; belongs to `drv` */
CJ_API int cj_driver_version(const cj_driver *drv);        /* newest CUDA version it implements, 1000 * major + 10 * minor; 0 if failed */
CJ_API int cj_driver_ptx_version(const cj_driver *drv);    /* newest PTX version it compiles, 10 * major + minor (90); 0 if failed */

/* The library as dlopen returned it; NULL for a custom or interposed driver.  Belongs to `drv`. */
CJ_API void *cj_driver_raw(const cj_driver *drv);

/* An entry point of the driver by the name of the symbol that libcuda.so.1 exports ("cuCtxCreate_v2"): what the library itself
 * calls, so also through an interposer.  NULL where the driver has none.  Valid while `drv` is open.  Any thread. */
CJ_API void *cj_driver_symbol(const cj_driver *drv, const char *symbol);

/* What was tried and found, one line each: "libcuda.so.1: not found; libcujit-sim.so: CUDA 13.0, 1 device".  Belongs to `drv`.  Also of a failed driver. */
CJ_API const char *cj_driver_why(const cj_driver *drv);

/* ---- Devices ----------------------------------------------------------------------------------------------------- */

/* How many devices the driver has; 0 for a failed driver. */
CJ_API int cj_device_count(const cj_driver *drv);

/* How a host thread waits for the device: CU_CTX_SCHED_* of the driver. */
typedef enum cj_schedule {
    CJ_SCHEDULE_DEFAULT = 0, /* leaves the primary context as it is; the driver's own default is AUTO */
    CJ_SCHEDULE_AUTO,        /* spins while there are more processors than contexts, else yields */
    CJ_SCHEDULE_SPIN,        /* spins: least latency, one processor busy */
    CJ_SCHEDULE_YIELD,       /* spins and yields to other threads */
    CJ_SCHEDULE_BLOCKING     /* sleeps: no processor time, some more latency */
} cj_schedule;

typedef struct cj_device_opts {
    size_t size;      /* sizeof(cj_device_opts) */
    int32_t schedule; /* a cj_schedule; of the primary context, so of everybody in the process who uses it */
} cj_device_opts;

CJ_API void cj_device_defaults(cj_device_opts *opts);

/* Opens device `ordinal` (0 is the first) and retains its primary context.  `opts` NULL: the defaults.
 * Never NULL.  Owned by the caller, free with cj_device_close.  Any thread.
 * Errors:
 *   CJ_ENODEVICE: `ordinal` is out of range
 *   CJ_ESTATE: the device is open with another schedule
 *   CJ_EDRIVER: the device is busy or exclusive to another process */
CJ_API cj_device *cj_device_open(cj_driver *drv, int ordinal, const cj_device_opts *opts);

/* Makes a device of a context that somebody else created (a CUcontext).  `context` stays the caller's and must outlive the
 * device and everything made from it.  A context of a device that is open gives that cj_device again.
 * Never NULL.  Owned by the caller, free with cj_device_close.  Any thread.
 * Errors:
 *   CJ_EINVAL: `context` is NULL, or cannot be made current
 *   CJ_EDRIVER: the driver cannot be queried */
CJ_API cj_device *cj_device_wrap(cj_driver *drv, void *context);

/* Releases it; NULL is fine.  Closed as often as it was opened, it gives releases that wait for work under way up to 0.2 s, so that a program that
 * ends in order leaves nothing behind. */
CJ_API void cj_device_close(cj_device *dev);

CJ_API const char *cj_device_name(const cj_device *dev);      /* "NVIDIA H100 80GB HBM3"; belongs to `dev`; "" if failed */
CJ_API const char *cj_device_sm(const cj_device *dev);        /* "sm_90": its compute capability as a .target; "" if failed */
CJ_API int cj_device_ordinal(const cj_device *dev);           /* -1 if failed */
CJ_API int cj_device_raw(const cj_device *dev);               /* the CUdevice; -1 if failed */
CJ_API void *cj_device_context(const cj_device *dev);         /* the CUcontext; belongs to `dev`; NULL if failed */
CJ_API cj_driver *cj_device_driver(const cj_device *dev);     /* borrowed while `dev` lives; NULL if failed */

/* What a device is.  Sizes in bytes, counts in threads or blocks as the names say. */
typedef struct cj_device_info {
    size_t size;                   /* sizeof(cj_device_info), set by the caller or cj_device_info_defaults */
    char name[128];
    uint8_t uuid[16];              /* zeros where the driver does not tell (before 11.4) */
    uint64_t memory;               /* total device memory */
    int32_t sm_major, sm_minor;    /* compute capability */
    int32_t multiprocessors;
    int32_t warp_size;
    int32_t block_threads;         /* most threads of a block */
    int32_t block[3], grid[3];     /* largest dimensions */
    int32_t multiprocessor_threads, multiprocessor_blocks;
    int32_t block_registers, multiprocessor_registers;
    int32_t block_shared;          /* shared memory of a block */
    int32_t block_shared_most;     /* the same where a kernel asks for more */
    int32_t multiprocessor_shared;
    int32_t constant_memory;
    int32_t l2_cache;
    int32_t clock_khz, memory_clock_khz, memory_bus_bits;
    int32_t copy_engines;
    int32_t concurrent_kernels, cooperative, clusters, managed_memory, memory_pools, unified_addressing, integrated, ecc; /* 0 or 1 */
    int32_t priority_least, priority_greatest; /* of streams: lower is more urgent */
    int32_t pci_domain, pci_bus, pci_device;
} cj_device_info;

CJ_API void cj_device_info_defaults(cj_device_info *info);

/* Fills *info, up to the size that it states.  Errors: CJ_EINVAL for NULL or a size that is none. */
CJ_API cj_status cj_device_get_info(cj_device *dev, cj_device_info *info);

/* One CUdevice_attribute by the driver's own number, into *value.  Errors: CJ_EDRIVER for a number that the driver does not know. */
CJ_API cj_status cj_device_attribute(cj_device *dev, int attribute, int *value);

/* Free and total device memory in bytes; each pointer may be NULL. */
CJ_API cj_status cj_device_memory(cj_device *dev, size_t *free_bytes, size_t *total_bytes);

/* Blocks until everything given to the device is done.  Not while a stream of it is being captured: that breaks the capture. */
CJ_API cj_status cj_device_sync(cj_device *dev);

/* ---- Images: PTX compiled for a device --------------------------------------------------------------------------- */

/* How the driver compiles PTX.  The CPU device interprets PTX and ignores opt_level, max_registers and debug. */
enum { CJ_OPT_DEFAULT = 0, CJ_OPT_NONE = -1 };

typedef struct cj_compile_opts {
    size_t size;           /* sizeof(cj_compile_opts) */
    int32_t opt_level;     /* 1 to 4; CJ_OPT_DEFAULT: 4; CJ_OPT_NONE: level 0, no optimisation */
    int32_t max_registers; /* most registers of a thread, up to 255; 0: no limit but the kernel's own */
    int32_t line_info;     /* 1: prints .file and .loc and keeps them for profilers (the cubin grows 3 to 5 times) */
    int32_t debug;         /* 1: information for debuggers; opt_level is CJ_OPT_NONE then, and line_info is 1 */
} cj_compile_opts;

CJ_API void cj_compile_defaults(cj_compile_opts *opts);

/* Compiles a builder's module for `dev` to a cubin.  Freezes the builder: later emits fail with CJ_ESTATE.
 * `opts` NULL: the defaults.  Blocks.  Never NULL.  Owned by the caller, free with cj_image_free.
 * cuLinkCreate, cuLinkAddData, cuLinkComplete.
 * Errors:
 *   the builder's own first error
 *   CJ_EINVAL: an option is out of range
 *   CJ_ENOTSUP: the module needs a newer PTX version than the driver's, or another device
 *   CJ_EJIT: the driver's compiler rejects the PTX; cj_image_log has its log */
CJ_API cj_image *cj_image_create(cj_device *dev, cj_ptx *m, const cj_compile_opts *opts);

/* Compiles PTX text (NUL-terminated, of any origin).  Otherwise as cj_image_create; errors:
 *   CJ_EINVAL: the text is NULL, or an option is out of range
 *   CJ_EJIT: the driver's compiler rejects the text */
CJ_API cj_image *cj_image_create_text(cj_device *dev, const char *ptx, const cj_compile_opts *opts);

/* An image of bytes that were kept: copied.  Errors: CJ_EINVAL for no bytes. */
CJ_API cj_image *cj_image_from(cj_device *dev, const void *data, size_t bytes);

CJ_API const void *cj_image_data(const cj_image *img, size_t *bytes); /* belongs to `img`; NULL and 0 if failed; `bytes` may be NULL */
CJ_API const char *cj_image_log(const cj_image *img);                 /* what the compiler said, "" for nothing; belongs to `img`; also of a failed image */
CJ_API void cj_image_free(cj_image *img);                             /* NULL is fine */

/* ---- Modules ----------------------------------------------------------------------------------------------------- */

/* Compiles a builder's module for `dev` and loads it.  Freezes the builder.  A builder is compiled and loaded once for
 * each device: loading it again returns the same cj_module, to be freed once more.  `opts` NULL: the defaults, or
 * those of the module that is there.  Blocks.  Never NULL.  Owned by the caller, free with cj_module_free.  Any thread.
 * Errors: as cj_image_create, and
 *   CJ_ESTATE: the builder is loaded on `dev` with other options (cj_ptx_clone makes a builder to load beside it)
 *   CJ_EDRIVER: the driver cannot load the cubin */
CJ_API cj_module *cj_module_load(cj_device *dev, cj_ptx *m, const cj_compile_opts *opts);

/* Loads an image.  cuModuleLoadData.  Errors: CJ_EDRIVER for an image of another device or no image. */
CJ_API cj_module *cj_module_load_image(cj_device *dev, const cj_image *img);

/* Has the driver compile and load PTX text in one step, through its own compute cache.  `opts` NULL: the defaults.
 * Blocks.  Never NULL.  Owned by the caller, free with cj_module_free.  Any thread.  cuModuleLoadDataEx.
 * Errors:
 *   CJ_EINVAL: the text is NULL, or an option is out of range
 *   CJ_EJIT: the driver's compiler rejects the text; cj_module_log has its log */
CJ_API cj_module *cj_module_load_text(cj_device *dev, const char *ptx, const cj_compile_opts *opts);

/* Makes a cj_module of a CUmodule that is loaded in the device's context.  `raw` stays the caller's and must outlive the
 * cj_module and its kernels.  The driver tells the kernels' parameters (driver 550 or newer; before, arguments are not checked).
 * Never NULL.  Owned by the caller, free with cj_module_free.
 * Errors:
 *   CJ_EINVAL: `raw` is NULL */
CJ_API cj_module *cj_module_wrap(cj_device *dev, void *raw);

CJ_API const char *cj_module_log(const cj_module *mod); /* what the compiler said, "" for nothing; belongs to `mod`; also of a failed module */

/* A kernel of the module, its code on the device already.  Never NULL; owned by the caller, free with cj_kernel_free.
 * Errors: CJ_ENOTFOUND, naming the kernels there are where that is known. */
CJ_API cj_kernel *cj_module_kernel(cj_module *mod, const char *name);

/* The address of a .global or .const variable, and its size into *bytes (may be NULL).  Valid while the module is loaded.
 * Returns { 0 } and leaves the failure in `mod`: CJ_ENOTFOUND. */
CJ_API cj_dptr cj_module_var(cj_module *mod, const char *name, size_t *bytes);

CJ_API void *cj_module_raw(const cj_module *mod);         /* the CUmodule; belongs to `mod`; NULL if failed */
CJ_API cj_device *cj_module_device(const cj_module *mod); /* borrowed while `mod` lives; NULL if failed */
CJ_API void cj_module_free(cj_module *mod);               /* NULL is fine; its kernels keep it loaded */

/* ---- Kernels ----------------------------------------------------------------------------------------------------- */

/* cj_module_load and cj_module_kernel in one call.  Never NULL.  Owned by the caller, free with cj_kernel_free. */
CJ_API cj_kernel *cj_kernel_load(cj_device *dev, cj_ptx *m, const char *name, const cj_compile_opts *opts);

/* Makes a cj_kernel of a CUfunction of the device's context.  `raw` stays the caller's and must outlive the cj_kernel.
 * Its name is known from driver 545 on, its parameters from 550 on.
 * Never NULL.  Owned by the caller, free with cj_kernel_free.
 * Errors:
 *   CJ_EINVAL: `raw` is NULL, or is no function of the context
 *   CJ_ENOMEM: no memory for the name and the parameters */
CJ_API cj_kernel *cj_kernel_wrap(cj_device *dev, void *raw);

/* A parameter of a kernel, as far as it is known. */
typedef struct cj_kernel_param_info {
    size_t size;         /* sizeof(cj_kernel_param_info), set by the caller or cj_kernel_param_info_defaults */
    const char *name;    /* "" where not known; belongs to the kernel */
    int32_t type;        /* cj_type; CJ_VOID where only the size is known; CJ_B8 for a structure */
    int32_t pointer;     /* 1: declared as an address (.ptr) */
    uint32_t offset;     /* bytes, in the parameter block */
    uint32_t bytes;
} cj_kernel_param_info;

CJ_API const char *cj_kernel_name(const cj_kernel *k);   /* belongs to `k`; "" if failed */
CJ_API void *cj_kernel_raw(const cj_kernel *k);          /* the CUfunction; belongs to `k`; NULL if failed */
CJ_API const char *cj_kernel_log(const cj_kernel *k);    /* its module's log, also where loading it failed */
CJ_API cj_module *cj_kernel_module(const cj_kernel *k);  /* borrowed while `k` lives; NULL if failed */
CJ_API int cj_kernel_params(const cj_kernel *k);         /* how many parameters; -1 where neither text nor driver tells, then no argument is checked */

/* Sets info->size; everything else is 0. */
CJ_API void cj_kernel_param_info_defaults(cj_kernel_param_info *info);

/* Fills *info for parameter `i`, up to the size that it states.  Errors: CJ_EINVAL past the end. */
CJ_API cj_status cj_kernel_param(cj_kernel *k, int i, cj_kernel_param_info *info);

/* What the compiler made of it. */
typedef struct cj_kernel_info {
    size_t size;            /* sizeof(cj_kernel_info), set by the caller or cj_kernel_info_defaults */
    int32_t block_threads;  /* most threads of a block that its registers allow */
    int32_t registers;      /* of a thread */
    int32_t shared;         /* bytes of static shared memory of a block */
    int32_t local;          /* bytes of local memory of a thread: spills and stack */
    int32_t constant;       /* bytes of constant memory */
    int32_t shared_dynamic; /* most bytes of dynamic shared memory that the device allows beside it */
    int32_t ptx_version;    /* 10 * major + minor */
    int32_t binary_version; /* compute capability that it was compiled for, 10 * major + minor */
} cj_kernel_info;

/* Sets info->size; everything else is 0. */
CJ_API void cj_kernel_info_defaults(cj_kernel_info *info);

/* Fills *info, up to the size that it states.  Errors: CJ_EINVAL for NULL or a size that is none. */
CJ_API cj_status cj_kernel_get_info(cj_kernel *k, cj_kernel_info *info);

CJ_API void cj_kernel_free(cj_kernel *k); /* NULL is fine; launches under way go on */

#ifdef __cplusplus
}
#endif

/* ---- Option literals: CJ_COMPILE(.opt_level = 3); C and C++20 ----------------------------------------------------- */

#ifndef __cplusplus
#define CJ_DEVICE(...) (&(const cj_device_opts){ .size = sizeof(cj_device_opts), __VA_ARGS__ })
#define CJ_COMPILE(...) (&(const cj_compile_opts){ .size = sizeof(cj_compile_opts), __VA_ARGS__ })
#elif __cplusplus >= 202002L
#ifndef CJI_KEEP
#define CJI_KEEP
namespace cji { template<class T> inline const T *keep(const T &t) { return &t; } }
#endif
#define CJ_DEVICE(...) cji::keep(cj_device_opts{ .size = sizeof(cj_device_opts), __VA_ARGS__ })
#define CJ_COMPILE(...) cji::keep(cj_compile_opts{ .size = sizeof(cj_compile_opts), __VA_ARGS__ })
#endif

#endif
