/* cujit/launch.h - the dimensions and arguments of a launch.  Included by driver.h.
 *
 *     cj_launch(s, k, cj_threads(n, 256), d, dy, 2.0f, n);
 *
 * Each argument is a C number, a cj_dptr, or a cj_arg.  Number, kind, size and range are checked
 * against the kernel's parameters.  A host pointer does not compile.
 *   argument      parameters that it fits
 *   an integer    .u8 ... .s64 and .b8 ... .b64 that can hold its value; 0 also fits a pointer
 *   a float       .f32, .f64, .b32
 *   a double      .f64, .b64; .f32 when it is in range, rounded to nearest
 *   a cj_dptr     pointers, .u64, .s64, .b64
 *   cj_arg_bytes  every parameter of that size: structures, .f16, tensor maps
 *
 * cj_launch is a macro in C11 and a template in C++.  It calls cj_launch_n, which other languages
 * use.
 */
#ifndef CUJIT_LAUNCH_H
#define CUJIT_LAUNCH_H

#include <cujit/base.h>
#include <cujit/numbers.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cj_kernel cj_kernel;
typedef struct cj_module cj_module; /* driver.h */
typedef struct cj_prepared cj_prepared;
typedef struct cj_stream cj_stream;

/* ---- Attributes ------------------------------------------------------------------------------ */

/* How the blocks of a cluster are spread over multiprocessors. */
typedef enum cj_cluster_policy {
    CJ_CLUSTER_DEFAULT = 0,
    CJ_CLUSTER_SPREAD = 1,        /* over as many as possible */
    CJ_CLUSTER_LOAD_BALANCING = 2 /* as the hardware balances load */
} cj_cluster_policy;

/* What the L2 cache does with accesses to a window of memory. */
typedef enum cj_access_property {
    CJ_ACCESS_NORMAL = 0,
    CJ_ACCESS_STREAMING = 1, /* evicted first */
    CJ_ACCESS_PERSISTING = 2 /* kept in the part of the cache that is set aside */
} cj_access_property;

enum { CJ_CARVEOUT_NONE = -1 };

/* Attributes of a launch, for cj_dims.opts.  0 is the driver's default for each:
 *
 *     cj_launch(s, k, cj_dims_opts(cj_threads(n, 256), CJ_LAUNCH(.programmatic = 1)), d, n);
 *
 * A driver that lacks an attribute fails with CJ_ENOTSUP, which names the driver that has it. */
typedef struct cj_launch_opts {
    size_t size;            /* sizeof(cj_launch_opts) */
    int32_t programmatic;   /* 1: may begin before the kernel in front of it on the stream has ended
                             * (programmatic dependent launch; CUDA 11.8, sm_90).  The kernel waits
                             * with griddepcontrol.wait for what it reads */
    int32_t has_priority;   /* 1: `priority` holds instead of the stream's (CUDA 11.8) */
    int32_t priority;       /* the driver's number, lower is more urgent */
    int32_t cluster_policy; /* a cj_cluster_policy (CUDA 11.8, sm_90) */
    uint32_t preferred_cluster[3]; /* a larger cluster where it fits, a multiple of dims.cluster; all
                                    * 0: none (CUDA 12.8, sm_100) */
    int32_t remote_domain;  /* 1: the remote memory synchronisation domain (CUDA 12.0, sm_90) */
    int32_t has_domains;    /* 1: the two logical domains are these (CUDA 12.0, sm_90) */
    uint8_t domain_default, domain_remote;
    int32_t carveout;       /* percent of the L1 cache that is shared memory; 0: the kernel's own;
                             * CJ_CARVEOUT_NONE: as little as possible (CUDA 12.5) */
    cj_dptr window;         /* accesses to these bytes are cached as follows; { 0 }: no window (CUDA
                             * 11.8, sm_80) */
    size_t window_bytes;
    float window_ratio;     /* 0 to 1: of the accesses, those that have window_hit */
    int32_t window_hit, window_miss; /* a cj_access_property */
    void *programmatic_event; /* a CUevent (cj_event_raw), recorded when all blocks have triggered
                               * it, or ended.  Borrowed until it is reached (CUDA 11.8, sm_90) */
    void *completion_event; /* a CUevent, recorded when all blocks have begun.  Borrowed until it is
                             * reached (CUDA 12.3) */
    int32_t at_block_start; /* 1: the programmatic event is triggered by each block's start */
    int32_t nvlink_centric; /* 1: blocks are scheduled for the use of NVLink (CUDA 13.0) */
} cj_launch_opts;

/* Fills `opts` with its size and the defaults.  `opts`: May be NULL. */
CJ_API void cj_launch_defaults(cj_launch_opts *opts);

/* ---- Dimensions ------------------------------------------------------------------------------ */

/* The dimensions of a launch.  Fields that are not used are 0. */
typedef struct cj_dims {
    uint32_t grid[3];     /* blocks in x, y, z */
    uint32_t block[3];    /* threads of a block */
    uint32_t cluster[3];  /* blocks of a cluster; all 0: none (sm_90, driver 520) */
    uint32_t shared;      /* bytes of dynamic shared memory of a block */
    uint32_t cooperative; /* 1: all blocks are resident at once and may wait for each other */
    uint32_t reserved[3]; /* 0 */
    const cj_launch_opts *opts; /* more attributes; NULL: none.  Borrowed during the call */
} cj_dims;

/* `grid` blocks of `block` threads, in x. */
static inline cj_dims cj_grid(uint32_t grid, uint32_t block)
{
    cj_dims d = { { 0, 1, 1 }, { 0, 1, 1 }, { 0, 0, 0 }, 0, 0, { 0, 0, 0 }, NULL };
    d.grid[0] = grid;
    d.block[0] = block;
    return d;
}

static inline cj_dims cj_grid3(uint32_t gx, uint32_t gy, uint32_t gz, uint32_t bx, uint32_t by, uint32_t bz)
{
    cj_dims d = cj_grid(gx, bx);
    d.grid[1] = gy, d.grid[2] = gz;
    d.block[1] = by, d.block[2] = bz;
    return d;
}

/* The least number of blocks of `block` threads that has `threads` threads.  The kernel must skip
 * the threads beyond.  For 0 threads it is 0 blocks, which a launch rejects with CJ_EINVAL. */
static inline cj_dims cj_threads(uint64_t threads, uint32_t block)
{
    uint64_t n = block ? threads / block + (threads % block != 0) : 0;
    return cj_grid(n > UINT32_MAX ? UINT32_MAX : (uint32_t)n, block);
}

/* `d` with `bytes` of dynamic shared memory in each block. */
static inline cj_dims cj_dims_shared(cj_dims d, uint32_t bytes) { d.shared = bytes; return d; }

/* `d` with the attributes `opts`. */
static inline cj_dims cj_dims_opts(cj_dims d, const cj_launch_opts *opts) { d.opts = opts; return d; }

/* cj_grid3, cj_threads, cj_dims_shared and cj_dims_opts for other languages: set *dims;
 * cj_dims_shared_set and cj_dims_opts_set change its dynamic shared memory or its attributes only.
 * `dims`: May be NULL. */
CJ_API void cj_dims_set(cj_dims *dims, uint32_t gx, uint32_t gy, uint32_t gz, uint32_t bx, uint32_t by, uint32_t bz);
CJ_API void cj_dims_threads(cj_dims *dims, uint64_t threads, uint32_t block);
CJ_API void cj_dims_shared_set(cj_dims *dims, uint32_t bytes);
CJ_API void cj_dims_opts_set(cj_dims *dims, const cj_launch_opts *opts);

/* ---- Arguments ------------------------------------------------------------------------------- */

typedef enum cj_arg_kind {
    CJ_ARG_U = 1, /* v.u */
    CJ_ARG_I,     /* v.i */
    CJ_ARG_F32,   /* v.f */
    CJ_ARG_F64,   /* v.d */
    CJ_ARG_PTR,   /* v.u, an address in device memory */
    CJ_ARG_BYTES  /* `size` bytes at v.p, read during the call */
} cj_arg_kind;

/* One argument.  16 bytes: kind, size, value. */
typedef struct cj_arg {
    uint32_t kind; /* a cj_arg_kind */
    uint32_t size; /* CJ_ARG_BYTES: the number of bytes; else ignored */
    union { uint64_t u; int64_t i; double d; float f; const void *p; } v;
} cj_arg;

static inline cj_arg cj_arg_i(int64_t x) { cj_arg a = { CJ_ARG_I, 8, { 0 } }; a.v.i = x; return a; }
static inline cj_arg cj_arg_u(uint64_t x) { cj_arg a = { CJ_ARG_U, 8, { 0 } }; a.v.u = x; return a; }
static inline cj_arg cj_arg_f32(float x) { cj_arg a = { CJ_ARG_F32, 4, { 0 } }; a.v.f = x; return a; }
static inline cj_arg cj_arg_f64(double x) { cj_arg a = { CJ_ARG_F64, 8, { 0 } }; a.v.d = x; return a; }
static inline cj_arg cj_arg_ptr(cj_dptr x) { cj_arg a = { CJ_ARG_PTR, 8, { 0 } }; a.v.u = x.addr; return a; }
static inline cj_arg cj_arg_bytes(const void *p, size_t bytes)
{
    cj_arg a = { CJ_ARG_BYTES, 0, { 0 } };
    a.size = bytes > UINT32_MAX ? UINT32_MAX : (uint32_t)bytes;
    a.v.p = p;
    return a;
}

/* The same for other languages: set *arg.  `arg`: May be NULL. */
CJ_API void cj_arg_set_i(cj_arg *arg, int64_t x);
CJ_API void cj_arg_set_u(cj_arg *arg, uint64_t x);
CJ_API void cj_arg_set_f32(cj_arg *arg, float x);
CJ_API void cj_arg_set_f64(cj_arg *arg, double x);
CJ_API void cj_arg_set_ptr(cj_arg *arg, cj_dptr x);
CJ_API void cj_arg_set_bytes(cj_arg *arg, const void *p, size_t bytes);

/* Enqueues a launch of `k` with `count` arguments on `s`.  `args` and the values that they point
 * to: Copied.  Returns at once.  Any thread.
 * Errors, left in `s`:
 *   CJ_EINVAL: an argument does not fit its parameter, there are too few or too many, the device
 *     cannot launch these dimensions (the message has the limit), or the kernel uses dynamic shared
 *     memory and the launch has 0 bytes of it
 *   CJ_EHANDLE: `k` is not a kernel
 *   CJ_ENOTSUP: a cluster or an attribute on an older driver or device
 *   CJ_EDRIVER: the driver rejects the call
 * cuLaunchKernel; for clusters, cooperative launches and attributes cuLaunchKernelEx, CUDA 11.6. */
CJ_API cj_status cj_launch_n(cj_stream *s, cj_kernel *k, const cj_dims *dims, const cj_arg *args, size_t count);

/* The same by the kernel's name.  The module keeps a handle for each name that was launched, so
 * later launches of it make no further query of the driver.  The first one loads the kernel's code,
 * as cj_module_kernel does: Blocks.  Later ones: Returns at once.  Any thread.
 * Errors, left in `s`: as cj_launch_n, and
 *   CJ_EINVAL: `name` is NULL
 *   CJ_ENOTFOUND: the module has no such kernel; the message lists those that it has
 *   CJ_ENOMEM: host memory is exhausted */
CJ_API cj_status cj_launch_name_n(cj_stream *s, cj_module *mod, const char *name, const cj_dims *dims,
                                  const cj_arg *args, size_t count);

/* The same with arguments as cuLaunchKernel takes them: args[i] is the address of the i-th value,
 * which has the size of its parameter.  Dimensions are checked, sizes and kinds of arguments cannot
 * be.  `args`: May be NULL, for a kernel without parameters.  The values: Copied.  A capture
 * retains the allocations of parameters that may be addresses, if the parameters are known.
 * Errors, left in `s`: as cj_launch_n, and
 *   CJ_EINVAL: `args`, or an address in it, is NULL */
CJ_API cj_status cj_launch_raw(cj_stream *s, cj_kernel *k, const cj_dims *dims, void **args);

/* ---- Prepared launches ----------------------------------------------------------------------- */

/* Binds a kernel, its dimensions with their attributes, and its arguments, for many launches:
 *
 *     cj_prepared *p = cj_prepare(k, cj_threads(n, 256), d, dy, 2.0f, n);
 *     for (...) { cj_launch_prepared(s, p);  cj_prepared_set(p, 2, a); }
 *
 * Everything is checked here and not at the launch.  `args` and the values that they point to:
 * Copied.  The object retains the kernel.  It can be launched on every stream of the kernel's
 * device.  Returns at once.  Any thread.
 * Never NULL.  Owned by the caller, free with cj_prepared_free.
 * Errors, in the failed object that is returned: as cj_launch_n, and
 *   CJ_ENOMEM: host memory is exhausted */
CJ_API cj_prepared *cj_prepare_n(cj_kernel *k, const cj_dims *dims, const cj_arg *args, size_t count);

/* Enqueues the prepared launch on `s`.  The driver copies the values during the call, so they may
 * be replaced right behind it.  Returns at once.  Any thread, while no thread replaces something.
 * Errors, left in `s`:
 *   CJ_EINVAL: `s` is of another device or context than the kernel
 *   CJ_EHANDLE: `p` is not a prepared launch
 *   CJ_EDRIVER: the driver rejects the call */
CJ_API cj_status cj_launch_prepared(cj_stream *s, cj_prepared *p);

/* Replaces `count` arguments, the first of them is number `first`, from 0.  cj_prepared_set is the
 * handy form.  After a failure all arguments are as before.  Returns at once.  One thread at a
 * time.
 * Errors, left in `p`:
 *   CJ_EINVAL: there are no such arguments, or one does not fit its parameter */
CJ_API cj_status cj_prepared_set_n(cj_prepared *p, size_t first, const cj_arg *args, size_t count);

/* Replaces the dimensions.  After a failure they are as before.  Returns at once.  One thread at a
 * time.
 * Errors, left in `p`:
 *   CJ_EINVAL: `dims` is NULL, or the device cannot launch them
 *   CJ_ENOTSUP: a cluster on an older driver or device */
CJ_API cj_status cj_prepared_set_dims(cj_prepared *p, const cj_dims *dims);

/* The kernel.  Borrowed until cj_prepared_free.  NULL if failed. */
CJ_API cj_kernel *cj_prepared_kernel(const cj_prepared *p);

/* Frees the prepared launch.  Returns at once; enqueued launches still run.  May be NULL. */
CJ_API void cj_prepared_free(cj_prepared *p);

static inline cj_arg cji_arg_self(cj_arg a) { return a; }

#ifdef __cplusplus
}
#endif

/* ---- cj_launch(s, k, dims, ...): up to 32 arguments ------------------------------------------ */

#if defined __cplusplus

#define CJI_ARG_FROM(to, type, kind) static inline cj_arg cji_arg(type x) { return cj_arg_##kind(x); }
CJI_EACH_NUMBER(CJI_ARG_FROM, cj_arg_)
static inline cj_arg cji_arg(cj_dptr x) { return cj_arg_ptr(x); }
static inline cj_arg cji_arg(cj_arg x) { return x; }
template<class T> cj_arg cji_arg(T *) = delete; /* a host pointer is never an argument */

template<class... T> inline cj_status cj_launch(cj_stream *s, cj_kernel *k, const cj_dims &dims, T... args)
{
    const cj_arg list[sizeof...(args) + 1] = { cji_arg(args)... };
    return cj_launch_n(s, k, &dims, list, sizeof...(args));
}

template<class... T>
inline cj_status cj_launch_name(cj_stream *s, cj_module *mod, const char *name, const cj_dims &dims, T... args)
{
    const cj_arg list[sizeof...(args) + 1] = { cji_arg(args)... };
    return cj_launch_name_n(s, mod, name, &dims, list, sizeof...(args));
}

template<class... T> inline cj_prepared *cj_prepare(cj_kernel *k, const cj_dims &dims, T... args)
{
    const cj_arg list[sizeof...(args) + 1] = { cji_arg(args)... };
    return cj_prepare_n(k, &dims, list, sizeof...(args));
}

template<class... T> inline cj_status cj_prepared_set(cj_prepared *p, size_t first, T... args)
{
    const cj_arg list[sizeof...(args) + 1] = { cji_arg(args)... };
    return cj_prepared_set_n(p, first, list, sizeof...(args));
}

#elif __STDC_VERSION__ >= 201112L

#define CJI_ARG(o, x) \
    _Generic((x), CJI_EACH_NUMBER(CJI_NUMBER_ROW, cj_arg_) cj_dptr: cj_arg_ptr, cj_arg: cji_arg_self)(x)

/* The arguments as a list and their number. */
#define CJI_ARGS(...) (const cj_arg[]){ CJI_MAP(CJI_ARG, , __VA_ARGS__) }, CJI_COUNT(__VA_ARGS__)

/* The dimensions are the first of the variable arguments, so that a launch without arguments needs
 * no form of its own. */
#define cj_launch(s, k, ...) CJI_CAT(CJI_LAUNCH_, CJI_ANY(__VA_ARGS__))(s, k, __VA_ARGS__)
#define CJI_LAUNCH_0(s, k, dims) cj_launch_n(s, k, (const cj_dims[]){ dims }, NULL, 0)
#define CJI_LAUNCH_1(s, k, dims, ...) cj_launch_n(s, k, (const cj_dims[]){ dims }, CJI_ARGS(__VA_ARGS__))

/* The others alike: launches by name, prepared launches, their arguments from number `first` on. */
#define cj_launch_name(s, mod, name, ...) CJI_CAT(CJI_LAUNCH_NAME_, CJI_ANY(__VA_ARGS__))(s, mod, name, __VA_ARGS__)
#define CJI_LAUNCH_NAME_0(s, mod, name, dims) cj_launch_name_n(s, mod, name, (const cj_dims[]){ dims }, NULL, 0)
#define CJI_LAUNCH_NAME_1(s, mod, name, dims, ...) \
    cj_launch_name_n(s, mod, name, (const cj_dims[]){ dims }, CJI_ARGS(__VA_ARGS__))
#define cj_prepare(k, ...) CJI_CAT(CJI_PREPARE_, CJI_ANY(__VA_ARGS__))(k, __VA_ARGS__)
#define CJI_PREPARE_0(k, dims) cj_prepare_n(k, (const cj_dims[]){ dims }, NULL, 0)
#define CJI_PREPARE_1(k, dims, ...) cj_prepare_n(k, (const cj_dims[]){ dims }, CJI_ARGS(__VA_ARGS__))
#define cj_prepared_set(p, first, ...) cj_prepared_set_n(p, first, CJI_ARGS(__VA_ARGS__))

#endif

/* ---- Option literals: CJ_LAUNCH(.programmatic = 1); C and C++20 ------------------------------ */

#ifndef __cplusplus
#define CJ_LAUNCH(...) (&(const cj_launch_opts){ .size = sizeof(cj_launch_opts), __VA_ARGS__ })
#elif __cplusplus >= 202002L
#ifndef CJI_KEEP
#define CJI_KEEP
namespace cji { template<class T> inline const T *keep(const T &t) { return &t; } }
#endif
#define CJ_LAUNCH(...) cji::keep(cj_launch_opts{ .size = sizeof(cj_launch_opts), __VA_ARGS__ })
#endif

#endif
