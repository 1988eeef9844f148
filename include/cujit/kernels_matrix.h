/* cujit/kernels_matrix.h - products of matrices and vectors, of libcujit-kernels.  kernels.h
 * includes it, and describes what its objects have in common.
 *
 *     cj_gemm *g = cj_gemm_create(dev, CJ_GEMM(.type = CJ_BF16));
 *     cj_gemm_args a = { .a = { x }, .b = { w }, .out = { y }, .m = m, .n = n, .k = k };
 *     cj_gemm_launch(s, g, &a);
 *     cj_gemm_free(g);
 */
#ifndef CUJIT_KERNELS_H
#include <cujit/kernels.h> /* which includes this file at its place */
#elif !defined CUJIT_KERNELS_MATRIX_H
#define CUJIT_KERNELS_MATRIX_H

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Products of a matrix and a vector ------------------------------------------------------- */

typedef struct cj_gemv cj_gemv;

/* How the matrix lies in memory: blocks of ggml, or elements. */
typedef enum cj_gemv_format {
    CJ_GEMV_F16 = 0,
    CJ_GEMV_BF16 = 1,
    CJ_GEMV_Q4_0 = 2, /* 18 bytes for 32 columns */
    CJ_GEMV_Q8_0 = 3, /* 34 bytes for 32 columns */
    CJ_GEMV_Q4_K = 4, /* 144 bytes for 256 columns */
    CJ_GEMV_Q6_K = 5  /* 210 bytes for 256 columns */
} cj_gemv_format;

typedef struct cj_gemv_opts {
    size_t size;          /* sizeof(cj_gemv_opts) */
    int32_t format;       /* a cj_gemv_format */
    int32_t x_type;       /* of the vector: CJ_F32, CJ_F16 or CJ_BF16; 0: CJ_F32 */
    int32_t out_type;     /* of the result: the same; 0: CJ_F32 */
    int32_t quantised;    /* 1: the vector is already quantised, as cj_gemv_quantise does it */
    int32_t constant_matrix; /* 1: what writes the matrix has ended before a launch is enqueued, or
                              * its graph launched: weights.  On sm_90 the launch may then read rows
                              * while the kernel in front of it still runs */
    uint32_t in_flight;   /* as in cj_reduce_opts */
    uint64_t columns;     /* most columns, for in_flight */
    cj_kernel_cache *cache; /* as in cj_softmax_opts */
} cj_gemv_opts;

/* Fills `opts` with its size and the defaults.  `opts`: May be NULL. */
CJ_API void cj_gemv_defaults(cj_gemv_opts *opts);

/* Makes a product out = matrix * x.  With a format of blocks x is quantised to blocks of 32 columns
 * first; products of a block are exact.  Sums are added in CJ_F32, in an order that depends on the
 * number of columns and rows, the device, and on whether rows are multiples of 16 bytes
 * (docs/kernels.md).
 * Blocks.  Any thread.
 * Never NULL.  Owned by the caller, free with cj_gemv_free.
 * Errors, in the failed object that is returned: those above, and
 *   CJ_ENOTSUP: `quantised` is set for a matrix of elements, or the device is older than sm_61,
 *     which blocks need */
CJ_API cj_gemv *cj_gemv_create(cj_device *dev, const cj_gemv_opts *opts);

/* Bytes of workspace of a launch with so many columns; 0: none is needed.  On sm_90 with CUDA 12.0
 * a launch needs none if `matrix`, `row_bytes` and the bytes of a row are multiples of 16, x is
 * aligned to 16 bytes, and x fits into shared memory, quantised (docs/kernels.md). */
CJ_API size_t cj_gemv_workspace(const cj_gemv *g, uint64_t columns);

/* Bytes of a quantised vector: 40 for each 32 columns, aligned to 8.  A block is a scale d as
 * CJ_F32, the sum of its numbers q as CJ_S32, and 32 numbers q as CJ_S8: an element is d * q.  d is
 * the greatest magnitude divided by 127. */
CJ_API size_t cj_gemv_quantised_bytes(uint64_t columns);

/* Enqueues a quantisation of `x`, of the options' x_type, to `out`: for several products with one
 * vector.  `columns`: a multiple of 32.  Infinities and NaN give no useful numbers.
 * Returns at once.
 * Errors, left in `s`: those above, and
 *   CJ_ENOTSUP: the object was made for vectors that are quantised, or for elements */
CJ_API cj_status cj_gemv_quantise(cj_stream *s, cj_gemv *g, cj_dptr x, uint64_t columns, cj_dptr out);

typedef struct cj_gemv_args {
    cj_dptr matrix;       /* rows of blocks or elements; aligned to 2 bytes, CJ_GEMV_Q4_K to 4 */
    uint64_t row_bytes;   /* from row to row; 0: rows without gaps */
    cj_dptr x;            /* a vector of x_type, aligned to an element; or, with .quantised, a
                           * quantised one, aligned to 8 bytes */
    cj_dptr out;          /* a value for each row */
    uint64_t rows;
    uint64_t columns;     /* a multiple of the format's block */
    cj_workspace workspace;
} cj_gemv_args;

/* Enqueues a product.  `args`: Copied.  Returns at once.
 * Errors, left in `s`: those above. */
CJ_API cj_status cj_gemv_launch(cj_stream *s, cj_gemv *g, const cj_gemv_args *args);

/* Prints the object's PTX, as cj_ptx_print does.  Borrowed until the next call for `g`. */
CJ_API cj_status cj_gemv_ptx(cj_gemv *g, unsigned flags, const char **text, size_t *bytes);

/* Frees the product.  Returns at once.  May be NULL. */
CJ_API void cj_gemv_free(cj_gemv *g);

/* ---- Matrix products ------------------------------------------------------------------------- */

typedef struct cj_gemm cj_gemm;

/* Which code computes a product. */
typedef enum cj_gemm_path {
    CJ_GEMM_AUTO = 0,   /* the fastest that the device and the options allow */
    CJ_GEMM_SCALAR = 1, /* shared-memory tiles and multiply-adds: every device, type and layout, and
                         * no tensor core, tensor map or cluster */
    CJ_GEMM_MMA = 2,    /* tensor cores by mma.sync (sm_80; e4m3 sm_89): every layout; A and B of
                         * CJ_F16 or of CJ_BF16, of 8-bit integers, tf32 or e4m3 */
    CJ_GEMM_WGMMA = 3   /* the same elements by wgmma and tensor maps (sm_90a): addresses and
                         * distances that are multiples of 16 bytes; launches with others fail */
} cj_gemm_path;

/* What elements of A and B are, beyond their type. */
typedef enum cj_gemm_elements {
    CJ_GEMM_ELEMENTS_TYPE = 0, /* what the type says */
    CJ_GEMM_ELEMENTS_TF32 = 1, /* CJ_F32, rounded to 11 bits before they are multiplied: to nearest;
                                * halves away from 0, on path wgmma as tensor maps round them */
    CJ_GEMM_ELEMENTS_E4M3 = 2  /* CJ_U8 that are 8-bit floating point, summed in CJ_F32 */
} cj_gemm_elements;

/* Which elements of a matrix are neighbours in memory. */
typedef enum cj_gemm_order {
    CJ_GEMM_ORDER_ANY = 0,
    CJ_GEMM_ORDER_ROWS = 1,   /* those of a row: a step of 1 */
    CJ_GEMM_ORDER_COLUMNS = 2 /* those of a column: a stride of 1 */
} cj_gemm_order;

typedef struct cj_gemm_opts {
    size_t size;          /* sizeof(cj_gemm_opts) */
    int32_t type;         /* of A, a cj_type as in cj_reduce_opts */
    int32_t b_type;       /* of B; 0: `type` */
    int32_t out_type;     /* of the result, C and the bias; 0: `type`, 32 bits for 8-bit integers */
    int32_t wide;         /* what is summed in; 0: as in cj_reduce_opts, the wider of A's and B's */
    int32_t path;         /* a cj_gemm_path */
    int32_t scaled;       /* 1: launches have alpha, beta and C */
    int32_t bias;         /* 1: launches have a bias, a number for each column */
    cj_ptx *module;       /* has `function`.  Copied */
    const char *function; /* the user's epilogue: from (value, CJ_U32 row, CJ_U32 column, CJ_U32
                           * batch, the user's parameters) to the value that is stored, of types
                           * that cj_gemm_create names.  It comes behind alpha, beta and bias.
                           * NULL: none */
    const int32_t *user_types; /* cj_types of the user's parameters, CJ_U64 for a pointer.  Copied */
    size_t user_count;    /* up to 16 */
    cj_kernel_cache *cache; /* as in cj_reduce_opts */
    int32_t elements;     /* a cj_gemm_elements */
    int32_t promote;      /* 1: tensor cores add up at most 128 products of e4m3; these sums are added
                           * in CJ_F32.  Slower, and more accurate */
    int32_t a_order, b_order; /* cj_gemm_order.  Known orders need less code; other ones still work */
    uint64_t m, n, k;     /* sizes of all launches; 0: open */
} cj_gemm_opts;

/* Fills `opts` with its size and the defaults.  `opts`: May be NULL. */
CJ_API void cj_gemm_defaults(cj_gemm_opts *opts);

/* Makes a matrix product: out = epilogue(alpha * A * B + beta * C + bias), A of m x k, B of k x n.
 * Each element is summed in the order of k, in `wide`, and rounded once; for few rows path wgmma
 * sums parts of k, and adds these sums in a fixed order.  Tensor cores add the products of one
 * instruction with an error of their own: k * 2^-23 of the sum of magnitudes.
 * docs/kernels.md has the layouts that each path serves.
 *
 * Alpha, beta, C and bias are computed in `wide`; where sums are integers and `out_type` is
 * floating, in CJ_F32, or in CJ_F64 if either has 64 bits.  The epilogue takes a value of `wide`,
 * behind alpha or bias of the type that these are computed in.  It returns an integer of 16 to 64
 * bits, CJ_F16, CJ_BF16, CJ_F32 or CJ_F64.  The value is converted to `out_type` as cj_cvt does.
 *
 * Blocks.  Any thread.
 * Never NULL.  Owned by the caller, free with cj_gemm_free.
 * Errors, in the failed object that is returned: those above, and
 *   CJ_ENOTSUP: the path that is forced has no product of these types, or not on this device */
CJ_API cj_gemm *cj_gemm_create(cj_device *dev, const cj_gemm_opts *opts);

/* Rows with a stride and a step are any layout: { d, 1, ld } are columns that lie one behind the
 * other.  Sizes are less than 2^31.  With `k` 0 the product is 0. */
typedef struct cj_gemm_args {
    cj_rows a, b;       /* m x k, k x n */
    cj_rows c;          /* m x n, read if `beta` is not 0; may be `out` */
    cj_rows out;        /* m x n */
    uint64_t m, n, k;
    uint64_t batches;   /* products of one size; 0: 1 */
    int64_t a_batch, b_batch, c_batch, out_batch; /* elements from a batch's matrix to the next one;
                         * 0: the same matrix for all, not for `out` */
    double alpha, beta; /* .scaled, else 0, or alpha 1.  Computed in integers they are whole numbers of
                         * magnitudes up to 2^53, not negative if unsigned.  C is not read if `beta`
                         * is 0; A and B are read also if `alpha` is 0 */
    cj_dptr bias;       /* .bias: n elements */
    const cj_arg *user; /* the user's parameters */
    size_t user_count;
} cj_gemm_args;

/* Enqueues a product.  `args`: Copied.  Returns at once.
 * Errors, left in `s`: those above, and
 *   CJ_ENOTSUP: path wgmma is forced, and an operand's layout or address does not fit it */
CJ_API cj_status cj_gemm_launch(cj_stream *s, cj_gemm *g, const cj_gemm_args *args);

/* Prints the object's PTX, as cj_ptx_print does.  Borrowed until the next call for `g`. */
CJ_API cj_status cj_gemm_ptx(cj_gemm *g, unsigned flags, const char **text, size_t *bytes);

/* Frees the product.  Returns at once.  May be NULL. */
CJ_API void cj_gemm_free(cj_gemm *g);

#ifdef __cplusplus
}
#endif

/* ---- Option literals and owners, as those of kernels.h --------------------------------------- */

#ifndef __cplusplus
#define CJ_GEMM(...) (&(const cj_gemm_opts){ .size = sizeof(cj_gemm_opts), __VA_ARGS__ })
#define CJ_GEMV(...) (&(const cj_gemv_opts){ .size = sizeof(cj_gemv_opts), __VA_ARGS__ })
#elif __cplusplus >= 202002L
#define CJ_GEMM(...) cji::keep(cj_gemm_opts{ .size = sizeof(cj_gemm_opts), __VA_ARGS__ })
#define CJ_GEMV(...) cji::keep(cj_gemv_opts{ .size = sizeof(cj_gemv_opts), __VA_ARGS__ })
#endif

#if defined __GNUC__
static inline void cj_auto_cj_gemm(cj_gemm **object) { cj_gemm_free(*object); }
static inline void cj_auto_cj_gemv(cj_gemv **object) { cj_gemv_free(*object); }
#endif

#endif
