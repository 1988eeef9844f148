/* cujit/launch.h - how large a launch is and what is given to the kernel.  Included by driver.h.
 *
 *     cj_launch(s, k, cj_threads(n, 256), d, dy, 2.0f, n);
 *
 * Each argument is a C number, a cj_dptr, or a cj_arg made by hand.  It is checked against the kernel's parameter: number, kind, size,
 * range.  A host pointer does not compile.  Rules, where P is the parameter's type:
 *   an integer       fits P = .u8 ... .s64, .b8 ... .b64 when its value does; 0 also fits a pointer
 *   a float, double  fits P = .f32, .f64 (a double must be in .f32's range and is rounded to nearest), .b32 (float), .b64 (double)
 *   a cj_dptr        fits a pointer, .u64, .s64, .b64
 *   cj_arg_bytes     fits every P of that size: structures, .f16, tensor maps
 * cj_launch is a macro in C11 and a template in C++ over cj_launch_n, which everybody else calls.
 */
#ifndef CUJIT_LAUNCH_H
#define CUJIT_LAUNCH_H

#include <cujit/base.h>
#include <cujit/numbers.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cj_kernel cj_kernel;
typedef struct cj_stream cj_stream;

/* ---- Dimensions -------------------------------------------------------------------------------------------------- */

/* The size of a launch, in blocks and threads.  Fields not wanted are 0. */
typedef struct cj_dims {
    uint32_t grid[3];     /* blocks in x, y, z */
    uint32_t block[3];    /* threads of a block */
    uint32_t cluster[3];  /* blocks of a cluster; all 0: none (sm_90, driver 520) */
    uint32_t shared;      /* bytes of dynamic shared memory of a block */
    uint32_t cooperative; /* 1: all blocks are resident at once, so that they may wait for each other */
    uint32_t reserved[5]; /* 0 */
} cj_dims;

/* `grid` blocks of `block` threads, in x. */
static inline cj_dims cj_grid(uint32_t grid, uint32_t block)
{
    cj_dims d = { { 0, 1, 1 }, { 0, 1, 1 }, { 0, 0, 0 }, 0, 0, { 0, 0, 0, 0, 0 } };
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

/* As many blocks of `block` threads as hold `threads` threads: the kernel must leave out those beyond.  0 threads are 0 blocks, which a launch refuses. */
static inline cj_dims cj_threads(uint64_t threads, uint32_t block)
{
    uint64_t n = block ? threads / block + (threads % block != 0) : 0;
    return cj_grid(n > UINT32_MAX ? UINT32_MAX : (uint32_t)n, block);
}

/* `d` with `bytes` of dynamic shared memory for each block. */
static inline cj_dims cj_dims_shared(cj_dims d, uint32_t bytes) { d.shared = bytes; return d; }

/* ---- Arguments --------------------------------------------------------------------------------------------------- */

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
    uint32_t size; /* CJ_ARG_BYTES: how many; else not looked at */
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

/* Launches `k` on `s` with `count` arguments.  They are checked and their values copied, so `args` may change at once.  Returns at once; done when
 * the stream reaches it.  Any thread.  cuLaunchKernel; cuLaunchKernelEx, CUDA 11.6, for a cluster or a cooperative launch.
 * Errors, left in `s`: CJ_EINVAL for an argument that does not fit its parameter, a wrong number of arguments, a size that the device cannot
 * launch (the message says which limit and by how much), or 0 bytes of dynamic shared memory for a kernel that uses it; CJ_EHANDLE;
 * CJ_ENOTSUP for a cluster on an older driver or device; CJ_EDRIVER. */
CJ_API cj_status cj_launch_n(cj_stream *s, cj_kernel *k, const cj_dims *dims, const cj_arg *args, size_t count);

static inline cj_arg cji_arg_self(cj_arg a) { return a; }

#ifdef __cplusplus
}
#endif

/* ---- cj_launch(s, k, dims, ...): up to 32 arguments -------------------------------------------------------------- */

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

#elif __STDC_VERSION__ >= 201112L

#define CJI_ARG(o, x) \
    _Generic((x), CJI_EACH_NUMBER(CJI_NUMBER_ROW, cj_arg_) cj_dptr: cj_arg_ptr, cj_arg: cji_arg_self)(x)

/* The arguments as a list and their number. */
#define CJI_ARGS(...) (const cj_arg[]){ CJI_MAP(CJI_ARG, , __VA_ARGS__) }, CJI_COUNT(__VA_ARGS__)

/* The dimensions are the first of the variable arguments, so that a launch without arguments needs no form of its own. */
#define cj_launch(s, k, ...) CJI_CAT(CJI_LAUNCH_, CJI_ANY(__VA_ARGS__))(s, k, __VA_ARGS__)
#define CJI_LAUNCH_0(s, k, dims) cj_launch_n(s, k, (const cj_dims[]){ dims }, NULL, 0)
#define CJI_LAUNCH_1(s, k, dims, ...) cj_launch_n(s, k, (const cj_dims[]){ dims }, CJI_ARGS(__VA_ARGS__))

#endif

#endif
