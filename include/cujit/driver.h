/* cujit/driver.h - drivers, devices, compiled PTX, modules, kernels.
 *
 *     cj_driver                 libcuda, or the CPU device
 *       cj_device               one GPU and its primary context
 *         cj_image              PTX compiled for the device: bytes that can be stored
 *         cj_module             code loaded on the device
 *           cj_kernel           an entry point with its parameters, ready for cj_launch
 *
 * The CPU device is a driver in software, libcujit-sim: it runs PTX on the processors of the host
 * (sim.h).
 *
 * Lifetime.  A child keeps its parents alive, so these objects may be released in any order, from
 * any thread, while kernels run and during a capture.  What the driver does not allow at that
 * moment is deferred: a later call on the device does it, or it is dropped at process exit.
 * Opening a driver or device that is open returns the same object.  Close it once for each opening.
 *
 * Threads.  Any thread.  The caller's current CUDA context is the same after a call as before it.
 *
 * Errors.  A constructor never returns NULL.  A call on a failed object fails with that object's
 * error.  base.h has the details.
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
typedef struct cj_event cj_event; /* stream.h */

/* ---- Drivers --------------------------------------------------------------------------------- */

/* Opens a driver.  `which`: May be NULL.  Blocks.
 *   "cuda"   the file of $CUJIT_LIBCUDA, else the first that exists of libcuda.so.1 and libcuda.so
 *            where the system's loader looks, /usr/lib/wsl/lib/libcuda.so.1 (WSL) and
 *            /usr/local/cuda/compat/libcuda.so.1 (the package cuda-compat)
 *   "sim"    the CPU device: the file of $CUJIT_SIM, or libcujit-sim.so in the folder cujit/ beside
 *            libcujit, or the installed one
 *   "auto"   "cuda"; the CPU device, with a line in the log, if there is no libcuda.so.1 or no GPU.
 *            A libcuda.so.1 that cannot be used is an error and does not select the CPU device
 *   a path   with a '/': that library
 *   NULL     $CUJIT_DRIVER, or "auto" without it
 * Never NULL.  Owned by the caller, free with cj_driver_close.
 * Errors, in the failed object that is returned:
 *   CJ_EINVAL: `which` is none of these
 *   CJ_ENODRIVER: there is no library, it lacks a function, it is the toolkit's stub, or it does
 *     not match the NVIDIA kernel module
 *   CJ_ENODEVICE: libcuda finds no GPU ("cuda" and a path)
 *   CJ_ENOTSUP: the program is linked with -static
 *   CJ_ENOMEM: host memory is exhausted
 *   CJ_EFORKED: a child of fork() whose parent used the driver
 *   CJ_EDRIVER: the driver does not start */
CJ_API cj_driver *cj_driver_open(const char *which);

/* Returns an entry point by the name of the symbol that libcuda.so.1 exports ("cuMemAlloc_v2"),
 * NULL when there is none.  dlsym can be used. */
typedef void *(*cj_symbol_fn)(void *user, const char *symbol);

/* Opens a driver whose entry points come from `get_symbol`, which is called during this call only.
 * The entry points must stay valid while the driver is open.  Its kind is "custom".  It has a
 * kernel cache if cuInit, cuLink* and cuModuleLoadData are functions of files, which identify it;
 * none where they are code that was made in memory.  Otherwise as cj_driver_open.
 * Errors, in the failed object that is returned: as cj_driver_open, and
 *   CJ_EINVAL: `get_symbol` is NULL */
CJ_API cj_driver *cj_driver_open_resolver(cj_symbol_fn get_symbol, void *user);

/* Closes the driver.  The library stays loaded.  Returns at once.  May be NULL. */
CJ_API void cj_driver_close(cj_driver *drv);

/* The driver's kind.  Static text.
 *   "cuda"     libcuda
 *   "sim"      the CPU device, also opened by its path
 *   "custom"   another library opened by its path, or a driver of cj_driver_open_resolver
 *   "failed"   a failed driver
 * An interposer is a driver that passes each call on to another driver (interpose.h).  It has the
 * kind and the path of that driver. */
CJ_API const char *cj_driver_kind(const cj_driver *drv);

/* The library's file name; "" for a driver of cj_driver_open_resolver and for a failed driver.
 * Belongs to `drv`. */
CJ_API const char *cj_driver_path(const cj_driver *drv);

/* The newest CUDA version that it implements, 1000 * major + 10 * minor; 0 if failed. */
CJ_API int cj_driver_version(const cj_driver *drv);

/* The newest PTX version that it compiles, 10 * major + minor (90); 0 if failed. */
CJ_API int cj_driver_ptx_version(const cj_driver *drv);

/* The library as dlopen returned it.  NULL for a driver of cj_driver_open_resolver, an interposer
 * and a failed driver.  Belongs to `drv`. */
CJ_API void *cj_driver_raw(const cj_driver *drv);

/* An entry point of the driver by the name of the symbol that libcuda.so.1 exports
 * ("cuCtxCreate_v2").  For an interposer it is the interposer's.  NULL when the driver has none.
 * Belongs to `drv`. */
CJ_API void *cj_driver_symbol(const cj_driver *drv, const char *symbol);

/* What was tried and found, one entry a line: "libcuda.so.1: not found", then the next file with
 * "CUDA 13.0, 1 device".  Also for a failed driver.  Belongs to `drv`. */
CJ_API const char *cj_driver_why(const cj_driver *drv);

/* ---- Devices --------------------------------------------------------------------------------- */

/* The number of devices; 0 for a failed driver. */
CJ_API int cj_device_count(const cj_driver *drv);

/* How a host thread waits for the device: CU_CTX_SCHED_* of the driver. */
typedef enum cj_schedule {
    CJ_SCHEDULE_DEFAULT = 0, /* leaves the primary context as it is; the driver's default is AUTO */
    CJ_SCHEDULE_AUTO,        /* spins while there are more processors than contexts, else yields */
    CJ_SCHEDULE_SPIN,        /* spins: least latency, one processor busy */
    CJ_SCHEDULE_YIELD,       /* spins and yields to other threads */
    CJ_SCHEDULE_BLOCKING     /* sleeps: no processor time, some more latency */
} cj_schedule;

typedef struct cj_device_opts {
    size_t size;      /* sizeof(cj_device_opts) */
    int32_t schedule; /* a cj_schedule, of the primary context: for all its users in the process */
} cj_device_opts;

/* Fills `opts` with its size and the defaults. */
CJ_API void cj_device_defaults(cj_device_opts *opts);

/* Opens device `ordinal`, 0 is the first, and retains its primary context.  `opts`: May be NULL.
 * Blocks: creating the context takes some 100 ms on a GPU.
 * Never NULL.  Owned by the caller, free with cj_device_close.
 * Errors, in the failed object that is returned:
 *   CJ_ENODEVICE: `ordinal` is out of range
 *   CJ_EINVAL: an option is out of range
 *   CJ_ESTATE: the device is open with another schedule
 *   CJ_EDRIVER: the device is busy or exclusive to another process */
CJ_API cj_device *cj_device_open(cj_driver *drv, int ordinal, const cj_device_opts *opts);

/* Makes a device of an existing CUcontext.  For the context of an open device the same cj_device is
 * returned.  The caller keeps ownership of `context`, which must outlive the device, all objects
 * made from it and their deferred releases.  Destroy it only after all these objects were freed,
 * cj_device_collect has returned 0, and cj_device_close has been called.
 * Blocks: for a device that is not open it reads the kernels that the program used lately from the
 * kernel cache, as cj_device_open does.
 * Never NULL.  Owned by the caller, free with cj_device_close.
 * Errors, in the failed object that is returned:
 *   CJ_EINVAL: `context` is NULL, or cannot be made current
 *   CJ_ENODEVICE: the context's device is not one of the driver
 *   CJ_EDRIVER: the driver cannot be queried */
CJ_API cj_device *cj_device_wrap(cj_driver *drv, void *context);

/* Closes the device.  The last close waits up to 0.2 s for deferred releases.  If some remain, the
 * device and its context stay until the device is opened again or the process exits.  It also
 * writes to the kernel cache which kernels the program used (docs/driver.md).
 *
 * Objects that were made of the device keep it.  The free of the last of them releases the context.
 * Where such an object loaded kernels after the last close, that free writes which, as the close
 * does, so it does not return at once: cj_kernel_free, cj_module_free and all others.
 * Blocks.  May be NULL. */
CJ_API void cj_device_close(cj_device *dev);

/* Ends the device's context, with all that was made or enqueued in it, and opens the device again
 * in a new one.  A context is lost when a kernel fails.  The CPU device always has a new one.  A
 * GPU's driver has one after a failure where it permits that; otherwise it keeps the failure until
 * the process ends, and the error reports it.
 *
 * `dev` and the objects made of it stay objects that must be freed, before or after; every use of
 * them is an error that names the reset.  Memory of the device and memory of cj_host_alloc are gone
 * when the call returns: free them as well, and access them no more.
 *
 * Other threads may be in cj_stream_sync, in waits with a timeout, in waiters or compilers; these
 * calls return.  None may be in another call that uses the device.  Host functions that run are
 * waited for.
 * Blocks.  Never NULL.  Owned by the caller, free with cj_device_close.
 * Errors, in the failed object that is returned:
 *   CJ_ESTATE: other code retains the context too, and nothing has changed; or `dev` was reset
 *     before, was made by cj_device_wrap, or has a stream that is being captured
 *   CJ_EDRIVER: the driver has no new context in this process */
CJ_API cj_device *cj_device_reset(cj_device *dev);

/* The device's name, "NVIDIA H100 80GB HBM3", and its compute capability as a .target, "sm_90"; ""
 * if failed.  Belongs to `dev`. */
CJ_API const char *cj_device_name(const cj_device *dev);
CJ_API const char *cj_device_sm(const cj_device *dev);

/* The number that it was opened with, and the CUdevice; -1 if failed. */
CJ_API int cj_device_ordinal(const cj_device *dev);
CJ_API int cj_device_raw(const cj_device *dev);

/* The CUcontext, and the device's driver.  Borrowed until cj_device_close.  NULL if failed. */
CJ_API void *cj_device_context(const cj_device *dev);
CJ_API cj_driver *cj_device_driver(const cj_device *dev);

/* The properties of a device.  Sizes are in bytes. */
typedef struct cj_device_info {
    size_t size;                   /* sizeof(cj_device_info) */
    char name[128];
    uint8_t uuid[16];              /* zeros before CUDA 11.4 */
    uint64_t memory;               /* total device memory */
    int32_t sm_major, sm_minor;    /* compute capability */
    int32_t multiprocessors;
    int32_t warp_size;
    int32_t block_threads;         /* most threads of a block */
    int32_t block[3], grid[3];     /* largest dimensions */
    int32_t multiprocessor_threads, multiprocessor_blocks;
    int32_t block_registers, multiprocessor_registers;
    int32_t block_shared;          /* shared memory of a block */
    int32_t block_shared_most;     /* the same after opting in, which cj_launch does by itself */
    int32_t multiprocessor_shared;
    int32_t constant_memory;
    int32_t l2_cache;
    int32_t clock_khz, memory_clock_khz, memory_bus_bits;
    int32_t copy_engines;
    int32_t concurrent_kernels, cooperative, clusters, managed_memory, memory_pools,
        unified_addressing, integrated, ecc;   /* 0 or 1 */
    int32_t priority_least, priority_greatest; /* of streams: lower is more urgent */
    int32_t pci_domain, pci_bus, pci_device;
} cj_device_info;

/* Fills `info` with its size and zeros. */
CJ_API void cj_device_info_defaults(cj_device_info *info);

/* Fills *info up to info->size bytes.
 * Errors, left in `dev`:
 *   CJ_EINVAL: `info` is NULL, or its size is not set */
CJ_API cj_status cj_device_get_info(cj_device *dev, cj_device_info *info);

/* Writes a CUdevice_attribute, by the driver's number, to *value.  Returns at once.
 * Errors, left in `dev`:
 *   CJ_EINVAL: `value` is NULL
 *   CJ_EDRIVER: the driver does not have the attribute
 * cuDeviceGetAttribute. */
CJ_API cj_status cj_device_attribute(cj_device *dev, int attribute, int *value);

/* Writes the free and the total bytes of device memory.  Each pointer: May be NULL.  Returns at
 * once.
 * Errors, left in `dev`:
 *   CJ_EDRIVER: the driver rejects the call
 * cuMemGetInfo. */
CJ_API cj_status cj_device_memory(cj_device *dev, size_t *free_bytes, size_t *total_bytes);

/* Waits until all work of the device has completed.  Blocks.
 * Errors, left in `dev`:
 *   CJ_ESTATE: a stream of the device is capturing; the call would invalidate the capture
 *   CJ_EDRIVER: the device has failed
 * cuCtxSynchronize. */
CJ_API cj_status cj_device_sync(cj_device *dev);

/* ---- Images: PTX compiled for a device ------------------------------------------------------- */

/* How the driver compiles PTX.  The CPU device interprets PTX and ignores opt_level, max_registers
 * and debug. */
enum { CJ_OPT_DEFAULT = 0, CJ_OPT_NONE = -1 };

typedef struct cj_compile_opts {
    size_t size;           /* sizeof(cj_compile_opts) */
    int32_t opt_level;     /* 1 to 4; CJ_OPT_DEFAULT: 4; CJ_OPT_NONE: level 0, no optimisation */
    int32_t max_registers; /* most registers of a thread, up to 255; 0: the kernel's own limit */
    int32_t line_info;     /* 1: keeps source lines for profilers; the cubin grows 3 to 5 times */
    int32_t debug;         /* 1: information for debuggers; sets CJ_OPT_NONE and line_info.
                            * With opt_level 1 to 4 it is CJ_EINVAL */
} cj_compile_opts;

/* Fills `opts` with its size and the defaults. */
CJ_API void cj_compile_defaults(cj_compile_opts *opts);

/* Compiles the module of `m`, the builder (a cj_ptx), for `dev` to a cubin.  Freezes the builder:
 * later emits fail with CJ_ESTATE.  `opts`: May be NULL.  Blocks.
 * Never NULL.  Owned by the caller, free with cj_image_free.
 * Errors, in the failed object that is returned:
 *   the builder's first error
 *   CJ_EINVAL: an option is out of range
 *   CJ_ENOTSUP: the module needs a newer PTX version than the driver's, or another device
 *   CJ_EJIT: the driver's compiler rejects the PTX; cj_image_log has its log
 *   CJ_ENOMEM: memory is exhausted
 * A driver without a linker compiles when the image is loaded; the bytes are then the PTX.
 * cuLinkCreate, cuLinkAddData, cuLinkComplete. */
CJ_API cj_image *cj_image_create(cj_device *dev, cj_ptx *m, const cj_compile_opts *opts);

/* Compiles NUL-terminated PTX text of any origin.  Otherwise as cj_image_create.
 * Errors, in the failed object that is returned:
 *   CJ_EINVAL: the text is NULL, or an option is out of range
 *   CJ_EJIT: the driver's compiler rejects the text */
CJ_API cj_image *cj_image_create_text(cj_device *dev, const char *ptx, const cj_compile_opts *opts);

/* Makes an image of stored bytes: those of cj_image_data, or another cubin or fatbin.  They are not
 * compared with `dev`.  cj_module_load_image fails if the driver rejects them.  `data`: Copied.
 * Returns at once.
 * Never NULL.  Owned by the caller, free with cj_image_free.
 * Errors, in the failed object that is returned:
 *   CJ_EINVAL: there are no bytes; or fewer than the image says that it has, since it was cut
 *   CJ_ENOMEM: host memory is exhausted */
CJ_API cj_image *cj_image_from(cj_device *dev, const void *data, size_t bytes);

/* The image's bytes, their number in *bytes; NULL and 0 if failed.  Belongs to `img`.  `bytes`: May
 * be NULL. */
CJ_API const void *cj_image_data(const cj_image *img, size_t *bytes);

/* The compiler's log, "" without one; also of a failed image.  Belongs to `img`. */
CJ_API const char *cj_image_log(const cj_image *img);

/* Frees the image.  Returns at once.  May be NULL. */
CJ_API void cj_image_free(cj_image *img);

/* ---- Modules --------------------------------------------------------------------------------- */

/* Compiles the module of `m`, the builder (a cj_ptx), for `dev` and loads it.  Freezes the builder.
 * A builder is compiled and loaded once for each device.  Loading it again returns the same
 * cj_module.  Free it once for each load.
 * `opts`: May be NULL: the defaults, or the options that it was loaded with.  Blocks.
 * Never NULL.  Owned by the caller, free with cj_module_free.
 * Errors, in the failed object that is returned: as cj_image_create, and
 *   CJ_ESTATE: the builder is loaded on `dev` with other options; load a cj_ptx_clone of it
 *   CJ_EDRIVER: the driver cannot load the cubin */
CJ_API cj_module *cj_module_load(cj_device *dev, cj_ptx *m, const cj_compile_opts *opts);

/* Loads an image.  Blocks.
 * Never NULL.  Owned by the caller, free with cj_module_free.
 * Errors, in the failed object that is returned:
 *   CJ_EDRIVER: the image is of another device, or its bytes are not an image
 *   the error of `img`, if `img` is a failed object
 * cuModuleLoadData. */
CJ_API cj_module *cj_module_load_image(cj_device *dev, const cj_image *img);

/* Compiles and loads PTX text with one driver call, which uses the driver's compute cache.  `opts`:
 * May be NULL.  Blocks.
 * Never NULL.  Owned by the caller, free with cj_module_free.
 * Errors, in the failed object that is returned:
 *   CJ_EINVAL: the text is NULL, or an option is out of range
 *   CJ_EJIT: the driver's compiler rejects the text; cj_module_log has its log
 * cuModuleLoadDataEx. */
CJ_API cj_module *cj_module_load_text(cj_device *dev, const char *ptx, const cj_compile_opts *opts);

/* Makes a cj_module of a CUmodule that is loaded in the device's context.  The caller keeps
 * ownership of `raw`, which must outlive the cj_module and its kernels.  Drivers from 550 report
 * the kernels' parameters.  With older ones arguments are not checked.  Returns at once.
 * Never NULL.  Owned by the caller, free with cj_module_free.
 * Errors, in the failed object that is returned:
 *   CJ_EINVAL: `raw` is NULL */
CJ_API cj_module *cj_module_wrap(cj_device *dev, void *raw);

/* The compiler's log, "" without one; also of a failed module.  Belongs to `mod`. */
CJ_API const char *cj_module_log(const cj_module *mod);

/* Returns a kernel of the module.  Loads its code onto the device now, so that the first launch
 * does not.  Blocks.
 * Never NULL.  Owned by the caller, free with cj_kernel_free.
 * Errors, in the failed object that is returned:
 *   CJ_EINVAL: `name` is NULL
 *   CJ_ENOTFOUND: there is no such kernel; the message lists those there are, if they are known
 *   CJ_ENOMEM: host memory is exhausted
 *   CJ_EDRIVER: the driver rejects the call
 *   the error of `mod`, if `mod` is a failed object
 * cuModuleGetFunction. */
CJ_API cj_kernel *cj_module_kernel(cj_module *mod, const char *name);

/* The address of a .global or .const variable; its size is written to *bytes.  `bytes`: May be
 * NULL. Borrowed until the module is unloaded.  Returns at once.
 * Returns { 0 } on failure.  Errors, left in `mod`:
 *   CJ_EINVAL: `name` is NULL
 *   CJ_ENOTFOUND: there is no such variable
 *   CJ_EDRIVER: the driver rejects the call
 * cuModuleGetGlobal. */
CJ_API cj_dptr cj_module_var(cj_module *mod, const char *name, size_t *bytes);

/* The number of the module's kernels; the names of the first `max` are written to `names`.
 * Borrowed until the module is unloaded.  `names`: May be NULL.  Known from the builder or the
 * text; of a cubin the driver lists them (CUDA 12.4).
 * Returns 0 on failure.  Errors, left in `mod`:
 *   CJ_ENOTSUP: the module is a cubin, and the driver is older
 *   CJ_ENOMEM: host memory is exhausted
 *   CJ_EDRIVER: the driver rejects the call
 * cuModuleEnumerateFunctions, CUDA 12.4; cuFuncGetName, CUDA 12.3. */
CJ_API size_t cj_module_kernels(cj_module *mod, const char **names, size_t max);

/* The CUmodule, and the module's device.  Borrowed until cj_module_free.  NULL if failed. */
CJ_API void *cj_module_raw(const cj_module *mod);
CJ_API cj_device *cj_module_device(const cj_module *mod);

/* Frees the module.  It stays loaded until its kernels are freed too.  Returns at once.  May be
 * NULL. */
CJ_API void cj_module_free(cj_module *mod);

/* ---- Kernels --------------------------------------------------------------------------------- */

/* cj_module_load and cj_module_kernel in one call, with their errors.  Blocks.
 * Never NULL.  Owned by the caller, free with cj_kernel_free. */
CJ_API cj_kernel *cj_kernel_load(cj_device *dev, cj_ptx *m, const char *name,
                                 const cj_compile_opts *opts);

/* Makes a cj_kernel of a CUfunction of the device's context.  The caller keeps ownership of `raw`,
 * which must outlive the cj_kernel.  Drivers from 545 report its name, from 550 its parameters.
 * Loads its code as cj_module_kernel does.  Blocks.
 * Never NULL.  Owned by the caller, free with cj_kernel_free.
 * Errors, in the failed object that is returned:
 *   CJ_EINVAL: `raw` is NULL, or not a function of the context
 *   CJ_ENOMEM: host memory is exhausted */
CJ_API cj_kernel *cj_kernel_wrap(cj_device *dev, void *raw);

/* A parameter of a kernel, as far as it is known. */
typedef struct cj_kernel_param_info {
    size_t size;         /* sizeof(cj_kernel_param_info) */
    const char *name;    /* "" when not known; belongs to the kernel */
    int32_t type;        /* a cj_type; CJ_VOID when only the size is known; CJ_B8 for a structure */
    int32_t pointer;     /* 1: declared as an address (.ptr) */
    uint32_t offset;     /* bytes, in the parameter block */
    uint32_t bytes;
} cj_kernel_param_info;

/* The kernel's name, "" if failed, and the log of its module, also of a failed kernel.  Belongs to
 * `k`. */
CJ_API const char *cj_kernel_name(const cj_kernel *k);
CJ_API const char *cj_kernel_log(const cj_kernel *k);

/* The CUfunction, and the kernel's module.  Borrowed until cj_kernel_free.  NULL if failed. */
CJ_API void *cj_kernel_raw(const cj_kernel *k);
CJ_API cj_module *cj_kernel_module(const cj_kernel *k);

/* The number of parameters; -1 when it is not known, and then arguments are not checked. */
CJ_API int cj_kernel_params(const cj_kernel *k);

/* Fills `info` with its size and zeros. */
CJ_API void cj_kernel_param_info_defaults(cj_kernel_param_info *info);

/* Fills *info for parameter `i`, from 0, up to info->size bytes.
 * Errors, left in `k`:
 *   CJ_EINVAL: there is no such parameter, `info` is NULL, or its size is not set
 *   CJ_ENOTSUP: the parameters are not known (cj_kernel_params is -1) */
CJ_API cj_status cj_kernel_param(cj_kernel *k, int i, cj_kernel_param_info *info);

/* What the compiler made of a kernel. */
typedef struct cj_kernel_info {
    size_t size;            /* sizeof(cj_kernel_info) */
    int32_t block_threads;  /* most threads of a block that its registers allow */
    int32_t registers;      /* of a thread */
    int32_t shared;         /* bytes of static shared memory of a block */
    int32_t local;          /* bytes of local memory of a thread: spills and stack */
    int32_t constant;       /* bytes of constant memory */
    int32_t shared_dynamic; /* most bytes of dynamic shared memory that a launch may ask for */
    int32_t ptx_version;    /* 10 * major + minor */
    int32_t binary_version; /* compute capability that it was compiled for, 10 * major + minor */
} cj_kernel_info;

/* Fills `info` with its size and zeros. */
CJ_API void cj_kernel_info_defaults(cj_kernel_info *info);

/* Fills *info up to info->size bytes, with what the driver reports of the code.  The first call
 * that needs it queries the driver: this one, one about occupancy, or a launch with dynamic shared
 * memory or of more threads than every code allows.  A number that the driver does not report is 0.
 * Returns at once.
 * Errors, left in `k`:
 *   CJ_EINVAL: `info` is NULL, or its size is not set
 *   the driver's: the context was lost, or its device reset, before anything was queried
 * cuFuncGetAttribute. */
CJ_API cj_status cj_kernel_get_info(cj_kernel *k, cj_kernel_info *info);

/* An attribute of a kernel that holds for its later launches. */
typedef enum cj_kernel_attr {
    CJ_KERNEL_SHARED_DYNAMIC = 0, /* most bytes of dynamic shared memory; cj_launch raises it itself */
    CJ_KERNEL_CARVEOUT,           /* percent of the L1 cache that is shared memory; -1: the default */
    CJ_KERNEL_CLUSTER_WIDTH,      /* cluster of launches without one, in x, y, z (sm_90) */
    CJ_KERNEL_CLUSTER_HEIGHT,
    CJ_KERNEL_CLUSTER_DEPTH,
    CJ_KERNEL_CLUSTER_NONPORTABLE, /* 1: clusters of more than 8 blocks (sm_90) */
    CJ_KERNEL_CLUSTER_POLICY      /* a cj_cluster_policy (sm_90) */
} cj_kernel_attr;

/* Sets an attribute, or writes it to *value.  Returns at once.
 * Errors, left in `k`:
 *   CJ_EINVAL: there is no such attribute, the driver rejects the value, or `value` is NULL
 *   CJ_ENOTSUP: the driver or the device lacks the attribute
 * cuFuncSetAttribute, cuFuncGetAttribute; those of clusters CUDA 11.8. */
CJ_API cj_status cj_kernel_set_attribute(cj_kernel *k, cj_kernel_attr attr, int32_t value);
CJ_API cj_status cj_kernel_attribute(cj_kernel *k, cj_kernel_attr attr, int32_t *value);

/* What limits the number of blocks on a multiprocessor. */
typedef enum cj_occupancy_limit {
    CJ_OCCUPANCY_BLOCKS,    /* the multiprocessor's most blocks */
    CJ_OCCUPANCY_THREADS,   /* its most threads */
    CJ_OCCUPANCY_REGISTERS,
    CJ_OCCUPANCY_SHARED     /* shared memory */
} cj_occupancy_limit;

typedef struct cj_occupancy {
    size_t size;       /* sizeof(cj_occupancy) */
    uint32_t blocks;   /* that are resident on a multiprocessor at once; 0: none fits */
    uint32_t warps;    /* of these blocks */
    uint32_t most_warps; /* that a multiprocessor can have */
    int32_t limit;     /* a cj_occupancy_limit, the least of these: */
    uint32_t by_blocks, by_threads, by_registers, by_shared; /* blocks that each would allow */
} cj_occupancy;

/* Fills `out` with its size and zeros.  `out`: May be NULL. */
CJ_API void cj_occupancy_defaults(cj_occupancy *out);

/* How many blocks of `threads` threads with `shared` bytes of dynamic shared memory are resident on
 * a multiprocessor: the driver's number, with what limits it.  Returns at once.
 * Errors, left in `k`:
 *   CJ_EINVAL: `threads` is 0, `out` is NULL, or its size is not set
 *   CJ_EDRIVER: the driver rejects the call
 * cuOccupancyMaxActiveBlocksPerMultiprocessor. */
CJ_API cj_status cj_kernel_occupancy(cj_kernel *k, uint32_t threads, uint32_t shared,
                                     cj_occupancy *out);

/* Writes dimensions that fill the device to *dims: of the block sizes up to `most` (0: any) one
 * with the most resident threads, the largest of them, and as many blocks as are resident at once.
 * A block has `shared` bytes of dynamic shared memory and `shared_thread` more for each thread.
 * Returns at once.
 * Errors, left in `k`:
 *   CJ_EINVAL: `dims` is NULL, or no block size fits
 *   CJ_EDRIVER: the driver rejects the call */
CJ_API cj_status cj_kernel_suggest_block(cj_kernel *k, uint32_t shared, uint32_t shared_thread,
                                         uint32_t most, cj_dims *dims);

/* Writes the number of clusters of a launch with `dims` that are resident on the device at once to
 * *clusters.  Returns at once.
 * Errors, left in `k`:
 *   CJ_EINVAL: `dims` or `clusters` is NULL, or the device cannot launch `dims`
 *   CJ_ENOTSUP: the driver or the device has no clusters
 * cuOccupancyMaxActiveClusters, CUDA 11.8. */
CJ_API cj_status cj_kernel_max_clusters(cj_kernel *k, const cj_dims *dims, uint32_t *clusters);

/* Frees the kernel.  Returns at once; enqueued launches still run.  May be NULL. */
CJ_API void cj_kernel_free(cj_kernel *k);

/* ---- Faults: cj_stream_get_fault (stream.h) fills a cj_fault --------------------------------- */

/* What went wrong in a kernel. */
typedef enum cj_fault_kind {
    CJ_FAULT_UNKNOWN,    /* the driver does not report it */
    CJ_FAULT_ADDRESS,    /* an access outside of every allocation that the kernel may access */
    CJ_FAULT_MISALIGNED, /* an address that is no multiple of the access's size */
    CJ_FAULT_SPACE,      /* an access that the address's state space does not allow */
    CJ_FAULT_PC,         /* an indirect call or branch to no function or label */
    CJ_FAULT_TRAP,       /* trap, brkpt, an illegal instruction */
    CJ_FAULT_ASSERT,     /* an assertion in the kernel */
    CJ_FAULT_BARRIER,    /* a barrier that cannot complete */
    CJ_FAULT_SYNC,       /* lanes of a .sync instruction never meet; misuse of an mbarrier */
    CJ_FAULT_STACK,      /* a thread's stack is full */
    CJ_FAULT_MEMORY,     /* no host memory to run the kernel (the CPU device) */
    CJ_FAULT_WORK        /* no kernel: a copy, fill, memory operation or release */
} cj_fault_kind;

/* How the instruction accessed memory. */
typedef enum cj_fault_access {
    CJ_FAULT_NO_ACCESS,
    CJ_FAULT_READ,
    CJ_FAULT_WRITE,
    CJ_FAULT_ATOMIC
} cj_fault_access;

/* The first fault of a context.  A number that is not known is 0, a text "".  Long texts are cut.
 * The CPU device fills all of it.  A GPU fills `code`, `kind` as far as the code determines it, and
 * `kernel` if the stream launched only one kernel since it was synchronised. */
typedef struct cj_fault {
    size_t size;                /* sizeof(cj_fault) */
    int32_t code;               /* the CUresult that every later call returns: 700, 716 ... */
    int32_t kind;               /* a cj_fault_kind */
    char kernel[256];           /* its name */
    char function[256];         /* the instruction's function: the kernel or a .func */
    char instruction[128];      /* its spelling, "ld.global.f32" */
    char file[256];             /* source of the builder call: the C file, or that of cj_line() */
    int32_t line;               /* its line */
    int32_t ptx_line;           /* line of the module's PTX text, from 1 */
    uint32_t block[3];          /* of the first thread with the fault */
    uint32_t thread[3];
    int32_t access;             /* a cj_fault_access */
    int32_t space;              /* a cj_space */
    uint32_t bytes;             /* of the access; 0: no access */
    int32_t allocation_freed;   /* 1: the allocation was freed before */
    uint64_t address;           /* in .global a device address, in other spaces the offset */
    uint64_t allocation;        /* start of the allocation that holds `address`, or is before it */
    uint64_t allocation_bytes;  /* 0: there is no such allocation */
} cj_fault;

/* Fills `fault` with its size and zeros.  `fault`: May be NULL. */
CJ_API void cj_fault_defaults(cj_fault *fault);

#ifdef __cplusplus
}
#endif

/* ---- Option literals: CJ_COMPILE(.opt_level = 3); C and C++20 -------------------------------- */

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
