/* What the objects of src/driver are, for its own files and for src/stream.
 *
 *   symbols.c   the table of function pointers: resolving, stubs for what is missing
 *   open.c      cj_driver: which library, why not another; the list of opened drivers
 *   cuerror.c   a CUresult becomes a record
 *   device.c    cj_device: opening, wrapping a context; device_reset.c: a new context in place of a lost one
 *   device_info.c  properties, memory; pinned.c: pinned host memory
 *   deferred.c  releases that wait (deferred.h); scope.c: context and capture mode of a call (scope.h)
 *   image.c     PTX to cubin by cuLink*; jit.c: options, buffers; jit_log.c: what the compiler says
 *   image_cache.c  images that were compiled before (cache/: the kernel cache)
 *   module.c    loading; one compile and one load for a builder and a device
 *   module_var_typed.c  a variable by name, size and type
 *   kernel.c    cj_kernel: function, parameters (src/ptx/entries.h); kernel_info.c: what its code takes
 *   kernel_attributes.c, launch_attributes.c  attributes of kernels, of launches; occupancy.c: resident blocks
 *   launch_reasons.c  why the driver rejected a launch
 *   kernel_named.c  the kernels of a module: their list, handles kept for launches by name
 *   kernel_fault.c  a kernel's fault in the user's terms
 *   args.c      arguments against parameters, dimensions against limits
 *
 * References: kernel -> module -> device -> driver; image -> device.  A function here that reaches the driver expects
 * its objects
 * checked (cji_check) and enters the device's context itself, unless it says "context current". */
#ifndef CJI_DRIVER_H
#define CJI_DRIVER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

#include <cujit/memory.h>
#include <cujit/sim.h>

#include "base/hash128.h"
#include "base/mem.h"
#include "base/obj.h"
#include "cuda/table.h"
#include "driver/deferred.h"
#include "driver/scope.h"
#include "ptx/entries.h"
#include "ptx/isa.h"

/* ---- Driver ------------------------------------------------------------------------------------------------------ */

enum cji_driver_kind { CJI_DRIVER_CUDA = 1, CJI_DRIVER_SIM, CJI_DRIVER_CUSTOM };

struct cj_driver {
    cji_obj obj;
    cji_cu cu; /* no pointer is NULL: what is missing has a stub that answers CUDA_ERROR_NOT_SUPPORTED */
    bool missing[CJI_CU_COUNT];        /* those */
    int (*fault)(void *context, struct cujit_sim_fault_info *info); /* cujit_sim_fault; NULL: this driver has none */
    /* cujit_sim_suballoc; NULL: this driver checks no bounds within an allocation */
    int (*suballoc)(void *stream, int at_once, uint64_t address, uint64_t bytes, int live);
    int (*reset)(int device); /* cujit_sim_reset; NULL: this driver ends a context by releasing it */
    const char *(*complaint)(void);    /* cujit_sim_complaint; NULL: this driver is not the CPU device */
    atomic_bool no_linker;             /* it has none; the log says so */
    atomic_bool exposed;               /* streams or events are shared with other code, which may capture streams */
    cji_cu_by_value by_value;          /* an interposer has those of the driver below */
    int kind;                          /* enum cji_driver_kind */
    int version;                       /* cuDriverGetVersion: 13000 */
    int ptx_version;                   /* 90 */
    int device_count;
    bool cached;                       /* its build is known, so images may be stored: */
    cji_hash128 build;                 /* of driver, linker and this library (image_cache.c) */
    void *lib;                         /* dlopen's handle, never closed; NULL for a custom driver */
    char path[256];                    /* the library's name; "" for a custom driver */
    char why[1024];
    struct cji_interposer *interposer; /* this driver lies over another one; NULL: it does not */
    cj_driver *(*interposer_end)(struct cji_interposer *interposer); /* frees it; returns the driver below, to drop */
    cj_driver *next;                   /* opened libraries; under cji_process.drivers_lock */
    cj_device *devices;                /* opened ones; under the same lock */
};

/* ---- Device ------------------------------------------------------------------------------------------------------ */

/* Images that threads load at once (load_turns.c). */
typedef struct cji_turns {
    pthread_mutex_t lock;
    struct cji_turn *first, *last; /* that wait */
    bool busy;                     /* `loader` loads all that are there */
    pthread_t loader;
} cji_turns;

struct cj_device {
    cji_obj obj;
    cj_driver *drv;
    /* The driver's entry points, for this device and all that is made on it.  cj_device_reset replaces what uses the
     * context (device_reset.c), so that no handle of the old context reaches the driver again. */
    cji_cu api;
    atomic_bool was_reset;             /* that has happened */
    int ordinal;
    int schedule;                      /* cj_schedule asked for at its opening */
    CUdevice cu;
    CUcontext ctx;                     /* the primary one, retained; somebody's when wrapped */
    bool wrapped;
    char sm[16];                       /* "sm_90" */
    /* of the exact device, as cji_target_name's index ("sm_90a" where there is one); -1: unknown to the table */
    int target;
    cji_targets runs;                  /* the targets that run on it; 0: unknown to the table */
    cj_device_info info;
    atomic_uint handles;               /* cj_device_open calls that are not closed */
    cji_release_queue queue;           /* slots, deferred releases, what src/stream keeps */
    uint64_t
        /* peers whose access was asked for in vain, a bit each; with what follows under the queue's lock */
        peer_failed;
    cj_error peer_why;                 /* the first such failure */
    /* Since when the context is lost: written once under the queue's lock, before `lost` is set. */
    atomic_bool lost;
    char lost_since[240];
    cj_device *next;                   /* drv->devices */
    pthread_mutex_t modules_lock;      /* guards modules and their state */
    pthread_cond_t modules_cond;
    cj_module *modules;                /* those made from builders */
    cji_turns turns;                   /* of loads */
    pthread_mutex_t attributes_lock;   /* held while an attribute of a kernel is set */
    struct cji_memo *images;           /* those that were compiled or read lately (image_cache.c); NULL: none yet */
    struct cji_disk_ready *ready;      /* for what it reads of the kernel cache (image_cache.c); NULL: nothing */
    struct cji_disk_recent *recent;    /* what its program used lately; `used` under modules_lock; NULL: not known */
    cji_text spare;                    /* under modules_lock: room for the next module's PTX (image.c) */
};

static inline const cj_device *cji_queue_device(const cji_release_queue *queue)
{
    return (const cj_device *)((const char *)queue - offsetof(cj_device, queue));
}

/* Whether cj_device_reset has ended its context. */
static inline bool cji_device_was_reset(const cj_device *dev)
{
    return atomic_load_explicit(&dev->was_reset, memory_order_acquire);
}

/* Whether handles of the one may be passed to calls of the other: both are of one driver, and neither was reset. */
static inline bool cji_device_meets(const cj_device *a, const cj_device *b)
{
    return a == b || (a->drv == b->drv && !cji_device_was_reset(a) && !cji_device_was_reset(b));
}

/* With the list's lock held: `dev`, which has its number and schedule, started and listed, or failed; and out of the
 * list, where it may be. */
void cji_device_open_new(cj_device *dev, cj_driver *drv, const char *call);
void cji_device_unlist(cj_device *dev);

/* What it is (device_info.c); the priorities are the context's, which is current. */
CUresult cji_device_read_info(cj_device *dev, const char **cu_call);
CUresult cji_device_read_priorities(cj_device *dev);

/* A scope (driver/scope.h) of a public call on the device: a failure is recorded in `obj` for `call`.  CJ_OK:
 * cji_scope_leave() must follow.
 * cji_scope_begin() makes the context current, for work enqueued on a stream; cji_scope_begin_relaxed() relaxes the
 * capture mode too, for everything else, so that no call harms a capture of its own thread or of another one. */
cj_status cji_scope_failed(void *obj, const cj_device *dev, cji_scope *scope, CUresult r, const char *call);
static inline cj_status cji_scope_begin(void *obj, const cj_device *dev, cji_scope *scope, const char *call)
{
    CUresult r = cji_scope_context(scope, &dev->api, dev->ctx);
    return r == CUDA_SUCCESS ? CJ_OK : cji_scope_failed(obj, dev, scope, r, call);
}
static inline cj_status cji_scope_begin_relaxed(void *obj, const cj_device *dev, cji_scope *scope, const char *call)
{
    CUresult r = cji_scope_enter(scope, &dev->api, dev->ctx);
    return r == CUDA_SUCCESS ? CJ_OK : cji_scope_failed(obj, dev, scope, r, call);
}

/* Drops a reference of a child: destroys with the last one. */
void cji_driver_drop(cj_driver *drv);
void cji_device_drop(cj_device *dev);
void cji_module_drop(cj_module *mod);
void cji_kernel_drop(cj_kernel *k);
/* A reference, which cji_kernel_drop() drops. */
cj_kernel *cji_kernel_retain(cj_kernel *k);

/* For getters, which record nothing: an object of that type whose fields may be read; a failed object too with
 * `failed`. */
static inline bool cji_readable(const void *obj, cji_tag tag, bool failed)
{
    const cji_obj *o = obj;
    return o && o->magic == CJI_MAGIC && o->tag == tag &&
           !(o->flags & (failed ? CJI_OBJ_IMMORTAL : CJI_OBJ_IMMORTAL | CJI_OBJ_FAILED));
}

/* ---- Failures of the driver -------------------------------------------------------------------------------------- */

/* Records what the driver answered to `cu_call` ("cuLaunchKernel": a row's name) during the public `call`, in `obj`
 * (may be NULL), with the driver's own name for it.  Returns the status: CJ_ENOMEM, CJ_ENOTSUP (naming the driver
 * version needed where the entry point is missing), CJ_ENODEVICE, else CJ_EDRIVER.
 *
 * Every failure of an opened device goes through these four, so every one of them says what became of the context: the
 * fault that the CPU device describes, since when the context is lost, or that the device was reset (CJ_ESTATE).  The
 * queue's lock must not be held. */
cj_status cji_cu_fail(void *obj, const cj_device *dev, CUresult r, const char *cu_call, const char *call);

/* The same with a sentence of the caller's in front, and a status of the caller's unless that is CJ_OK. */
cj_status cji_cu_fail_as(void *obj, const cj_device *dev, CUresult r, cj_status status, const char *cu_call,
                         const char *call, const char *fmt, ...) __attribute__((format(printf, 7, 8)));

/* The same with the place in the user's source, "" and 0 where it is not known. */
cj_status cji_cu_fail_at(void *obj, const cj_device *dev, CUresult r, cj_status status, const char *cu_call,
                         const char *call, const char *file, int32_t line, const char *fmt, ...)
    __attribute__((format(printf, 9, 10)));

/* The same on a stream: of all launches, those of the slot are the ones that may have failed.  `slot` may be NULL. */
cj_status cji_cu_fail_on(void *obj, const cj_device *dev, const cji_slot *slot, CUresult r, const char *cu_call,
                         const char *call, const char *fmt, ...) __attribute__((format(printf, 7, 8)));

/* Objects of two devices in one call: the reset, where one of them was reset; else CJ_EINVAL with the sentence. */
cj_status cji_cu_fail_apart(void *obj, const cj_device *a, const cj_device *b, const char *call, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));

/* The same while there is no device yet: a driver starts, a device is opened. */
cj_status cji_cu_fail_open(void *obj, const cj_driver *drv, CUresult r, cj_status status, const char *cu_call,
                           const char *call, const char *fmt, ...) __attribute__((format(printf, 7, 8)));

/* The kernels launched on the slot's stream since it was synchronized, the latest first, separated by ", ".  Returns
 * how many more there were. */
unsigned cji_recent_names(cji_release_queue *queue, const cji_slot *slot, char *out, size_t size);
/* The same of all streams of the queue; stream after stream. */
unsigned cji_recent_names_all(cji_release_queue *queue, char *out, size_t size);

/* Whether every later call in the context fails with the same result, whatever it asks for. */
bool cji_breaks_context(CUresult r);

/* What the CPU device tells of the first fault of the device's context, in the user's terms; `sentence` says all of
 * it.  False where there is none, or the
 * driver does not tell. */
bool cji_fault_read(const cj_device *dev, cj_fault *out, char *sentence, size_t size);

/* The driver's name and text of a result; never NULL. */
const char *cji_cu_name(const cj_driver *drv, CUresult r);
const char *cji_cu_text(const cj_driver *drv, CUresult r);

/* ---- Images and modules ------------------------------------------------------------------------------------------ */

struct cj_image {
    cji_obj obj;
    cj_device *dev;
    void *data;
    size_t bytes, room;        /* of the image, and of the memory at `data` */
    struct cji_image_value *shared; /* whose memory `data` is (image_cache.c); NULL: the image's own */
    cji_text log;
    cji_entries *entries;      /* of the PTX that it was compiled from; NULL for kept bytes */
    bool text;                 /* the bytes are PTX with its NUL: the linker has not compiled it, and loading does */
    bool whole;                /* with that: there is one, but the compiler takes the text as a whole program only */
    cj_compile_opts compile;   /* with that: how, normalised */
};

enum { CJI_MODULE_LOADING = 1, CJI_MODULE_READY, CJI_MODULE_BROKEN };

/* A function that is looked for right behind the load of its module: what the driver said. */
typedef struct cji_wanted { const char *name; CUfunction fn; CUresult result; bool asked; } cji_wanted;

/* cuModuleLoadData in the device's context; then, unless `wanted` is NULL, cuModuleGetFunction, and the code of the
 * function is loaded.  *mod is NULL unless the result is CUDA_SUCCESS.  No cancellation, no lock. */
CUresult cji_load_in_turn(cj_device *dev, CUmodule *mod, const void *image, cji_wanted *wanted);

/* Loads the code of a function now, not at its first launch, which that could block.  Drivers before 12.4 load it when
 * they are queried for one of its attributes.  In a scope; no lock is held. */
void cji_code_load(const cj_device *dev, CUfunction fn);

struct cj_module {
    cji_obj obj;
    cj_device *dev;
    CUmodule raw;
    bool wrapped;              /* raw is somebody's, and NULL where only a function of it is known */
    cji_text log;
    cji_entries *entries;      /* shared with its image; NULL: not known */
    uint64_t builder;          /* serial of the builder, 0: none */
    cj_compile_opts compile;   /* how it was compiled, normalised */
    cj_ptx *source; /* the builder, retained: where its lines come from, with compile.line_info; NULL: there is none */
    int state;                 /* of a builder's module, under dev->modules_lock: loading or ready */
    cj_module *next;           /* dev->modules */
    _Atomic(struct cji_kept_table *) kept; /* handles for launches by name (kernel_named.c); NULL: none yet */
    atomic_uint_fast64_t
        used; /* slots of the streams that its kernels were launched on: cji_used(&k->mod->used, s->bit) */
    cji_deferred deferred;
};

/* A module that is somebody's, on behalf of `call`. */
cj_module *cji_module_wrap(cj_device *dev, CUmodule raw, const char *call);

/* cj_module_var on behalf of `call`; failures are recorded in `into`.  The name is not NULL. */
cj_dptr cji_module_var(void *into, cj_module *mod, const char *name, size_t *bytes, const char *call);

/* The same with the check that it is `count` elements of `type`: CJ_EINVAL where it is not, as far as that is known. */
cj_status cji_module_var_typed(void *into, cj_module *mod, const char *name, cj_type type, size_t count,
                               cj_dptr *address, size_t *bytes, const char *call);

/* cj_module_load on behalf of `call`. */
cj_module *cji_module_load(cj_device *dev, cj_ptx *m, const cj_compile_opts *opts, cji_wanted *wanted,
                           const char *call);

/* ---- Kernels ----------------------------------------------------------------------------------------------------- */

typedef struct cji_param {
    const char *name;    /* "" where not known */
    uint32_t offset, bytes;
    uint8_t type;        /* cj_type; CJ_VOID: only the size is known; CJ_B8 with bytes > 1: a structure */
    uint8_t pointer;     /* declared with .ptr */
    uint8_t take;        /* which arguments fit: args.c */
    uint8_t bits;        /* of a number */
} cji_param;

/* Which arguments of cj_launch have the parameter's value as it is, so that the driver can read it where it lies: those
 * whose kind has its bit in `kinds` and that have no bit of `over`. */
typedef struct cji_usual { uint64_t over; uint32_t kinds; } cji_usual;

/* The dimensions that were accepted last, if they are plain: grid, block and dynamic shared memory only.  A launch with
 * the same ones needs no check.  No lock: `turn` is even while there are none and while a thread writes, and a reader
 * that sees it change or even takes them for unknown. */
typedef struct cji_dims_seen {
    atomic_uint_fast64_t turn;
    _Atomic uint64_t grid_yz, block_yz; /* two numbers each, as they lie in cj_dims */
    _Atomic uint32_t grid, block, shared;
} cji_dims_seen;

struct cj_kernel {
    cji_obj obj;
    /* what a launch reads */
    cj_device *dev;              /* mod->dev */
    _Atomic(CUfunction) fn;      /* of `mod`, later of `faster` */
    atomic_uint_fast64_t noted;  /* slots that are in mod->used */
    int nparam;                  /* -1: not known, arguments go as they are */
    /* dynamic shared memory that the function's attribute allows now; 0 while that is not known */
    atomic_uint shared_set;
    cji_usual *usual;            /* of the parameters; in the memory of `param` */
    size_t nusual;               /* how many; SIZE_MAX: arguments of the kernel are never usual ones */
    cji_dims_seen seen;          /* by launches */
    /* the rest */
    cj_module *mod;              /* retained */
    CUfunction first;            /* of `mod` */
    cj_module *faster;           /* NULL: none; the same code, optimised, which launches use since it was loaded */
    cj_kernel_info faster_info;  /* of its function; written before has_faster */
    atomic_bool has_faster;
    int32_t attribute[CJ_KERNEL_CLUSTER_POLICY + 1]; /* what cj_kernel_set_attribute has set; under attributes_lock */
    unsigned attributes;         /* a bit for each that it has set */
    char *name;
    bool kept;                   /* by its module, for launches by name: its references are the module's */
    size_t nparam_room;          /* of param[] */
    cji_param *param;            /* names belong to the module's entries */
    const char *dynamic_shared;  /* as in cji_entry; belongs to the module's entries */
    uint32_t instructions, memory; /* as in cji_entry; 0 instructions: not known */
    uint32_t threads_sure;       /* blocks of so many threads fit, whatever the code takes; 0: not known */
    cj_kernel_info info;         /* of the first code (kernel_info.c); written before has_info */
    atomic_bool has_info;
    cji_text log;                /* of a failed kernel: its module's log */
};

/* The handle that the module keeps for the name, made by the first call; NULL: the failure is recorded in `into`.
 * Borrowed while the module lives. */
cj_kernel *cji_module_named(void *into, cj_module *mod, const char *name, const char *call);
void cji_module_free_named(cj_module *mod); /* with the last reference of the module */
/* Their parts in kernel.c. */
cj_kernel *cji_kernel_make_kept(cj_module *mod, const char *name, const char *call);
void cji_kernel_free_kept(cj_kernel *k);

/* What the driver reports of the code that launches use now; it is queried with the first such call.  Where it cannot
 * be, since the context is lost, all is 0, with `size`, but shared_dynamic is what a block has at most. */
cj_kernel_info cji_kernel_code(cj_kernel *k);
/* Queries it for the first code; nothing where that was done.  Any thread; enters a scope. */
CUresult cji_kernel_read_code(cj_kernel *k);
/* How many threads a block can have whatever code was made of a kernel with such a bound (cji_entry). */
uint32_t cji_kernel_threads_sure(const cj_device_info *dev, uint32_t bound);

/* Whether `fn` is its code: what a graph has captured may be the first one. */
static inline bool cji_kernel_has(const cj_kernel *k, CUfunction fn) { return fn == k->first || fn == k->fn; }

/* A kernel's arguments, made ready for the driver: ptr[i] points to the i-th value. */
enum { CJI_PACK = 32 };
typedef struct cji_pack {
    void **ptr;
    uint64_t *slot;
    size_t heap;                 /* arguments there is room for on the heap, 0: the arrays below */
    void *ptr0[CJI_PACK];
    uint64_t slot0[CJI_PACK];
} cji_pack;

/* Checks `n` arguments against the kernel's parameters and fills *pack; no allocation up to CJI_PACK of them.  A
 * failure is recorded in `into` for `call`. */
cj_status cji_kernel_pack(void *into, const cj_kernel *k, const cj_arg *args, size_t n, cji_pack *pack,
                          const char *call);
/* The same for argument `i` alone, whose value is written to *slot or, CJ_ARG_BYTES, stays where *ptr points to.  The
 * parameters may be unknown. */
cj_status cji_kernel_pack_at(void *into, const cj_kernel *k, size_t i, const cj_arg *arg, void **ptr, uint64_t *slot,
                             const char *call);
/* Whether parameter `i` may be an address; false where the parameters are not known. */
bool cji_param_is_address(const cj_kernel *k, size_t i);
static inline void cji_pack_free(cji_pack *pack)
{
    if (pack->heap) cji_free(pack->ptr, pack->heap * (sizeof(void *) + sizeof(uint64_t)));
}

/* Checks dimensions against the limits of kernel and device. */
cj_status cji_dims_check(void *into, cj_kernel *k, const cj_dims *dims, const char *call);

/* Whether it is one, if its kind is less than 32. */
CJI_QUICKLY bool cji_arg_usual(const cji_usual *usual, const cj_arg *arg)
{
    return usual->kinds >> (arg->kind & 31) & 1 && !(arg->v.u & usual->over);
}

/* The usual way of cji_kernel_pack(), for at most CJI_PACK arguments: all are usual ones, and ptr[i] points to the
 * value in args[i].  False: they are not, or it is not known. */
CJI_QUICKLY bool cji_args_usual(const cj_kernel *k, const cj_arg *args, size_t n, void **ptr)
{
    const cji_usual *usual = k->usual;
    uint32_t kinds = 0; /* of which the five lowest bits are looked at first */
    if (n != k->nusual) return false;
    if (!n) return true;
    if (!args) return false;
    size_t i = 0;
    do {
        kinds |= args[i].kind;
        if (!cji_arg_usual(&usual[i], &args[i])) return false;
        ptr[i] = (void *)(uintptr_t)&args[i].v;
    } while (++i != n);
    return kinds < 32;
}

/* Eight bytes of dimensions. */
static inline uint64_t cji_dims_word(const cj_dims *d, size_t at)
{
    uint64_t word;
    memcpy(&word, (const char *)d + at, sizeof word);
    return word;
}

/* Whether they are grid, block and dynamic shared memory only, and perhaps options. */
CJI_QUICKLY bool cji_dims_are_plain(const cj_dims *d)
{
    return !(cji_dims_word(d, offsetof(cj_dims, cluster)) | d->cluster[2] |
             cji_dims_word(d, offsetof(cj_dims, cooperative)) | cji_dims_word(d, offsetof(cj_dims, reserved[1])));
}

/* Notes dimensions that cji_dims_check() accepted, if they are plain; whether these are the noted ones.  Options are
 * neither noted nor compared.  Any thread. */
void cji_dims_note(cj_kernel *k, const cj_dims *dims);
CJI_QUICKLY bool cji_shape_known(const cj_kernel *k, const cj_dims *d)
{
    const cji_dims_seen *seen = &k->seen;
    const uint64_t turn = atomic_load_explicit(&seen->turn, memory_order_acquire);
    return turn & 1 && atomic_load_explicit(&seen->grid, memory_order_acquire) == d->grid[0] &&
           atomic_load_explicit(&seen->grid_yz, memory_order_acquire) == cji_dims_word(d, offsetof(cj_dims, grid[1])) &&
           atomic_load_explicit(&seen->block, memory_order_acquire) == d->block[0] &&
           atomic_load_explicit(&seen->block_yz, memory_order_acquire) ==
               cji_dims_word(d, offsetof(cj_dims, block[1])) &&
           atomic_load_explicit(&seen->shared, memory_order_acquire) == d->shared && cji_dims_are_plain(d) &&
           atomic_load_explicit(&seen->turn, memory_order_relaxed) == turn;
}

/* The same, and there are no options. */
CJI_QUICKLY bool cji_dims_known(const cj_kernel *k, const cj_dims *d) { return !d->opts && cji_shape_known(k, d); }

/* Whether the options of `dims`, which has some, ask for a programmatic launch and nothing else, and the device has
 * these; such a launch of a known shape (launch_attributes.c).  The driver's result. */
bool cji_launch_is_programmatic(const cj_kernel *k, const cj_dims *d);
CUresult cji_launch_programmatic(const cji_cu *cu, CUfunction fn, CUstream stream, const cj_dims *d, void **args);

/* The attributes of `dims`, which has some: CJ_EINVAL, CJ_ENOTSUP naming what has them (launch_attributes.c). */
cj_status cji_launch_opts_check(void *into, const cj_kernel *k, const cj_dims *dims, const char *call);

/* The fields of d->opts that not every driver and device has, of those that are set: "priority, window". */
void cji_launch_opts_names(const cj_dims *d, char *out, size_t size);

/* The launch as cuLaunchKernelEx takes it; attributes lie in `attr`. */
enum { CJI_LAUNCH_ATTRIBUTES = 14 };
CUlaunchConfig cji_launch_config(CUstream stream, const cj_dims *dims, CUlaunchAttribute attr[CJI_LAUNCH_ATTRIBUTES]);

/* What a multiprocessor has, in the words of the occupancy rules (occupancy.c); `shared` bytes of a block after opting
 * in. */
typedef struct cji_sm_limits {
    uint32_t capability; /* 90 */
    uint32_t warp, threads, blocks, registers, shared;
    uint32_t block_threads, block_registers, block_shared, reserved;
} cji_sm_limits;
/* The rules alone: of a kernel with that many registers and `fixed` bytes of static shared memory. */
void cji_occupancy_of(const cji_sm_limits *sm, uint32_t registers, uint32_t fixed, uint32_t dynamic, uint32_t threads,
                      cj_occupancy *out);
/* How many blocks are resident on the whole device at once.  In a scope. */
CUresult cji_kernel_resident(cj_kernel *k, uint32_t threads, uint32_t shared, uint64_t *blocks);

/* Lets the kernel have that much dynamic shared memory: cuFuncSetAttribute, where it must.  Context current. */
CUresult cji_kernel_allow_shared(cj_kernel *k, uint32_t bytes);

/* Sets what cj_kernel_set_attribute has set for `k`, but dynamic shared memory, for the function `to`; in a scope, with
 * attributes_lock held. */
CUresult cji_kernel_attributes_copy(const cj_kernel *k, CUfunction to);

/* Gives the launch to the driver: cuLaunchKernel, or cuLaunchKernelEx for clusters and cooperative launches; raises
 * the limit of dynamic shared memory
 * where it must.  Arguments and dimensions are checked.  *doing is the entry point that answered. */
CUresult cji_kernel_launch(cj_kernel *k, CUstream stream, const cj_dims *dims, void **args, const char **doing);

/* Records in `into` what the driver answered to that, explained.  `slot` is the stream's; may be NULL. */
cj_status cji_kernel_rejected(void *into, cj_kernel *k, const cji_slot *slot, CUresult r, const char *cu_call,
                              const cj_dims *dims, const char *call);

#endif
