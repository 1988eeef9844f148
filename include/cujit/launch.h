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

static inline cj_arg cji_arg(bool x) { return cj_arg_u(x); }
static inline cj_arg cji_arg(char x) { return cj_arg_i(x); }
static inline cj_arg cji_arg(signed char x) { return cj_arg_i(x); }
static inline cj_arg cji_arg(unsigned char x) { return cj_arg_u(x); }
static inline cj_arg cji_arg(short x) { return cj_arg_i(x); }
static inline cj_arg cji_arg(unsigned short x) { return cj_arg_u(x); }
static inline cj_arg cji_arg(int x) { return cj_arg_i(x); }
static inline cj_arg cji_arg(unsigned x) { return cj_arg_u(x); }
static inline cj_arg cji_arg(long x) { return cj_arg_i(x); }
static inline cj_arg cji_arg(unsigned long x) { return cj_arg_u(x); }
static inline cj_arg cji_arg(long long x) { return cj_arg_i(x); }
static inline cj_arg cji_arg(unsigned long long x) { return cj_arg_u(x); }
static inline cj_arg cji_arg(float x) { return cj_arg_f32(x); }
static inline cj_arg cji_arg(double x) { return cj_arg_f64(x); }
static inline cj_arg cji_arg(cj_dptr x) { return cj_arg_ptr(x); }
static inline cj_arg cji_arg(cj_arg x) { return x; }
template<class T> cj_arg cji_arg(T *) = delete; /* a host pointer is never an argument */

template<class... T> inline cj_status cj_launch(cj_stream *s, cj_kernel *k, const cj_dims &dims, T... args)
{
    const cj_arg list[sizeof...(args) + 1] = { cji_arg(args)... };
    return cj_launch_n(s, k, &dims, list, sizeof...(args));
}

#elif __STDC_VERSION__ >= 201112L

#define CJI_ARG(x) _Generic((x), bool: cj_arg_u, char: cj_arg_i, signed char: cj_arg_i, unsigned char: cj_arg_u, short: cj_arg_i, \
    unsigned short: cj_arg_u, int: cj_arg_i, unsigned: cj_arg_u, long: cj_arg_i, unsigned long: cj_arg_u, long long: cj_arg_i, \
    unsigned long long: cj_arg_u, float: cj_arg_f32, double: cj_arg_f64, cj_dptr: cj_arg_ptr, cj_arg: cji_arg_self)(x)

/* The dimensions are the first of the variable arguments, so that a launch without arguments needs no form of its own. */
#define cj_launch(s, k, ...) CJI_LAUNCH_PASTE(CJI_LAUNCH_WITH_, CJI_LAUNCH_ANY(__VA_ARGS__))(s, k, __VA_ARGS__)
#define CJI_LAUNCH_WITH_0(s, k, dims) cj_launch_n(s, k, (const cj_dims[]){ dims }, NULL, 0)
#define CJI_LAUNCH_WITH_1(s, k, dims, ...) \
    cj_launch_n(s, k, (const cj_dims[]){ dims }, (const cj_arg[]){ CJI_LAUNCH_ARGS(__VA_ARGS__) }, CJI_LAUNCH_COUNT(__VA_ARGS__))

#define CJI_LAUNCH_PASTE(a, b) CJI_LAUNCH_PASTE_(a, b)
#define CJI_LAUNCH_PASTE_(a, b) a##b
#define CJI_LAUNCH_ANY(...) CJI_LAUNCH_PICK(__VA_ARGS__, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0)
#define CJI_LAUNCH_COUNT(...) CJI_LAUNCH_PICK(__VA_ARGS__, 33, 32, 31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)
#define CJI_LAUNCH_PICK(_1, _2, _3, _4, _5, _6, _7, _8, _9, _10, _11, _12, _13, _14, _15, _16, _17, \
    _18, _19, _20, _21, _22, _23, _24, _25, _26, _27, _28, _29, _30, _31, _32, _33, n, ...) n
#define CJI_LAUNCH_ARGS(...) CJI_LAUNCH_PASTE(CJI_LAUNCH_ARGS_, CJI_LAUNCH_COUNT(__VA_ARGS__))(__VA_ARGS__)
#define CJI_LAUNCH_ARGS_1(a) CJI_ARG(a)
#define CJI_LAUNCH_ARGS_2(a, ...) CJI_ARG(a), CJI_LAUNCH_ARGS_1(__VA_ARGS__)
#define CJI_LAUNCH_ARGS_3(a, ...) CJI_ARG(a), CJI_LAUNCH_ARGS_2(__VA_ARGS__)
#define CJI_LAUNCH_ARGS_4(a, ...) CJI_ARG(a), CJI_LAUNCH_ARGS_3(__VA_ARGS__)
#define CJI_LAUNCH_ARGS_5(a, ...) CJI_ARG(a), CJI_LAUNCH_ARGS_4(__VA_ARGS__)
#define CJI_LAUNCH_ARGS_6(a, ...) CJI_ARG(a), CJI_LAUNCH_ARGS_5(__VA_ARGS__)
#define CJI_LAUNCH_ARGS_7(a, ...) CJI_ARG(a), CJI_LAUNCH_ARGS_6(__VA_ARGS__)
#define CJI_LAUNCH_ARGS_8(a, ...) CJI_ARG(a), CJI_LAUNCH_ARGS_7(__VA_ARGS__)
#define CJI_LAUNCH_ARGS_9(a, ...) CJI_ARG(a), CJI_LAUNCH_ARGS_8(__VA_ARGS__)
#define CJI_LAUNCH_ARGS_10(a, ...) CJI_ARG(a), CJI_LAUNCH_ARGS_9(__VA_ARGS__)
#define CJI_LAUNCH_ARGS_11(a, ...) CJI_ARG(a), CJI_LAUNCH_ARGS_10(__VA_ARGS__)
#define CJI_LAUNCH_ARGS_12(a, ...) CJI_ARG(a), CJI_LAUNCH_ARGS_11(__VA_ARGS__)
#define CJI_LAUNCH_ARGS_13(a, ...) CJI_ARG(a), CJI_LAUNCH_ARGS_12(__VA_ARGS__)
#define CJI_LAUNCH_ARGS_14(a, ...) CJI_ARG(a), CJI_LAUNCH_ARGS_13(__VA_ARGS__)
#define CJI_LAUNCH_ARGS_15(a, ...) CJI_ARG(a), CJI_LAUNCH_ARGS_14(__VA_ARGS__)
#define CJI_LAUNCH_ARGS_16(a, ...) CJI_ARG(a), CJI_LAUNCH_ARGS_15(__VA_ARGS__)
#define CJI_LAUNCH_ARGS_17(a, ...) CJI_ARG(a), CJI_LAUNCH_ARGS_16(__VA_ARGS__)
#define CJI_LAUNCH_ARGS_18(a, ...) CJI_ARG(a), CJI_LAUNCH_ARGS_17(__VA_ARGS__)
#define CJI_LAUNCH_ARGS_19(a, ...) CJI_ARG(a), CJI_LAUNCH_ARGS_18(__VA_ARGS__)
#define CJI_LAUNCH_ARGS_20(a, ...) CJI_ARG(a), CJI_LAUNCH_ARGS_19(__VA_ARGS__)
#define CJI_LAUNCH_ARGS_21(a, ...) CJI_ARG(a), CJI_LAUNCH_ARGS_20(__VA_ARGS__)
#define CJI_LAUNCH_ARGS_22(a, ...) CJI_ARG(a), CJI_LAUNCH_ARGS_21(__VA_ARGS__)
#define CJI_LAUNCH_ARGS_23(a, ...) CJI_ARG(a), CJI_LAUNCH_ARGS_22(__VA_ARGS__)
#define CJI_LAUNCH_ARGS_24(a, ...) CJI_ARG(a), CJI_LAUNCH_ARGS_23(__VA_ARGS__)
#define CJI_LAUNCH_ARGS_25(a, ...) CJI_ARG(a), CJI_LAUNCH_ARGS_24(__VA_ARGS__)
#define CJI_LAUNCH_ARGS_26(a, ...) CJI_ARG(a), CJI_LAUNCH_ARGS_25(__VA_ARGS__)
#define CJI_LAUNCH_ARGS_27(a, ...) CJI_ARG(a), CJI_LAUNCH_ARGS_26(__VA_ARGS__)
#define CJI_LAUNCH_ARGS_28(a, ...) CJI_ARG(a), CJI_LAUNCH_ARGS_27(__VA_ARGS__)
#define CJI_LAUNCH_ARGS_29(a, ...) CJI_ARG(a), CJI_LAUNCH_ARGS_28(__VA_ARGS__)
#define CJI_LAUNCH_ARGS_30(a, ...) CJI_ARG(a), CJI_LAUNCH_ARGS_29(__VA_ARGS__)
#define CJI_LAUNCH_ARGS_31(a, ...) CJI_ARG(a), CJI_LAUNCH_ARGS_30(__VA_ARGS__)
#define CJI_LAUNCH_ARGS_32(a, ...) CJI_ARG(a), CJI_LAUNCH_ARGS_31(__VA_ARGS__)

#endif

#endif
