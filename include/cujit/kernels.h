/* cujit/kernels.h - libcujit-kernels: kernels that are made for a shape and a device.
 *
 *     cj_reduce *r = cj_reduce_create(dev, CJ_REDUCE(.type = CJ_F32, .in_flight = 1,
 *                                                    .columns = n));
 *     cj_reduce_args a = { .x = { d }, .columns = n, .out = sum };
 *     cj_reduce_launch(s, r, &a);
 *     cj_reduce_free(r);
 *
 * It is a library of its own over libcujit: link with -lcujit-kernels -lcujit, or pkg-config
 * cujit-kernels.  docs/kernels.md has the layouts and what each kernel computes.
 * This file includes kernels_matrix.h, products of matrices and vectors, and kernels_attention.h.
 * kernels.hpp has an owning class for each object, for C++17.
 *
 * Each kernel has the same calls.  _create builds PTX and compiles it, or finds it in the kernel
 * cache.  _launch enqueues kernels on a stream; it compiles nothing and, outside of captures,
 * allocates nothing.  Sizes are arguments of the launch: the options have what the code depends on.
 * _ptx prints the code.  Any launch may be captured.
 *
 * Rows.  Arguments in memory are rows of columns (cj_rows).
 *
 * Workspace.  A launch that needs some takes it from its arguments (cj_workspace); while a stream
 * is capturing, memory that the graph keeps, which the launch allocates; else one of the pieces
 * that the object has when the options name a number of launches in flight.  A stream uses the
 * piece that it used last.  If all pieces are in use by other streams, the launch waits on the
 * device for one of them.  The caller's workspace belongs to the launch until it has completed.
 * Graphs made of one capture may run at once: they compute the same.
 *
 * Lifetime.  An object keeps its device open.  It may be freed while its kernels run.
 *
 * Threads.  Any thread, for launches; one at a time for _ptx and _free.
 *
 * Errors.  A constructor never returns NULL.  A launch leaves its failure in the stream.  Messages
 * name the size, layout or alignment that does not fit.  Each constructor can fail with these:
 *   CJ_EHANDLE: `dev` is no device that can be used, or `module` is no module
 *   CJ_EINVAL: `opts` is NULL, its size is not set, or an option is out of range
 *   CJ_EPTX: the user's function does not fit
 *   CJ_ENOTFOUND: `module` has no function of that name
 *   CJ_ENOMEM: host or device memory is exhausted
 *   the errors of cj_kernel_load
 * Each launch can fail with these, left in `s`:
 *   CJ_EHANDLE: the object is of another type
 *   CJ_EINVAL: `args` is NULL, memory is missing or not aligned to its elements, or given for what
 *     the options do not have, a size is beyond the largest grid, several results are in one place,
 *     or the workspace is too small
 *   the errors of cj_launch_n
 * Each _ptx fails as cj_ptx_print does.
 */
#ifndef CUJIT_KERNELS_H
#define CUJIT_KERNELS_H

#include <cujit/cujit.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- What arguments have in common ----------------------------------------------------------- */

/* A stride or step of 0: the same elements again.  For what is read only. */
#define CJ_ROWS_SAME INT64_MIN

/* Rows in memory: element (r, c) is at data + (r * stride + c * step) elements.  { d } are rows
 * without gaps. */
typedef struct cj_rows {
    cj_dptr data;   /* aligned to an element */
    int64_t stride; /* elements from row to row; 0: columns * step, or 1 if one column is for all;
                     * CJ_ROWS_SAME: one row for all */
    int64_t step;   /* elements from column to column; 0: 1; CJ_ROWS_SAME: one column for all */
} cj_rows;

/* Memory that a launch may write while it runs.  Its contents need not be set. */
typedef struct cj_workspace {
    cj_dptr data;   /* aligned to 16 bytes; { 0 }: none */
    size_t bytes;
} cj_workspace;

/* ---- Reductions ------------------------------------------------------------------------------ */

typedef struct cj_reduce cj_reduce;

typedef struct cj_reduce_opts {
    size_t size;          /* sizeof(cj_reduce_opts) */
    int32_t type;         /* a cj_type: integers of 8 to 64 bits, CJ_F16, CJ_BF16, CJ_F32, CJ_F64 */
    int32_t out_type;     /* of the results; 0: `type` */
    int32_t wide;         /* what is computed in, CJ_F32, CJ_F64 or an integer of 32 or 64 bits; 0: 32
                           * bits for smaller elements, else `type` */
    int32_t op;           /* a cj_combine_op, if `function` is NULL */
    cj_ptx *module;       /* has `function`.  Copied */
    const char *function; /* a function of two values of `wide`, with one result: associative, not
                           * necessarily commutative.  Values are joined in the order of columns */
    uint64_t identity;    /* bits of the value of `wide` that `function` joins without effect */
    int32_t atomic;       /* 1: the rows' results are joined with what `out` has, by atomic
                           * operations in any order, without workspace.  `out_type` is `wide`, an
                           * integer or, with CJ_COMBINE_ADD, CJ_F32 or CJ_F64.  Not for functions
                           * and CJ_COMBINE_MUL */
    uint32_t in_flight;   /* launches at once for which the object has workspace; 0: none */
    uint64_t rows, columns; /* the largest sizes of launches that take it */
    cj_kernel_cache *cache; /* where kernels are kept; NULL: a cache of the library's for each device,
                           * while objects of the device live */
} cj_reduce_opts;

/* Fills `opts` with its size and the defaults.  `opts`: May be NULL. */
CJ_API void cj_reduce_defaults(cj_reduce_opts *opts);

/* Makes a reduction of rows: out[r] = x[r][0] op x[r][1] op ...  The order of the operations
 * depends on the number of columns only, so results are the same bits each time, on each device,
 * unless `atomic` is set.  CJ_COMBINE_MIN and CJ_COMBINE_MAX ignore NaN.  No columns give the
 * identity: the greatest value of the results' type for CJ_COMBINE_MIN, the least one for
 * CJ_COMBINE_MAX, infinities for floating point.  So does a row of nothing but NaN.
 * Blocks.  Any thread.
 * Never NULL.  Owned by the caller, free with cj_reduce_free.
 * Errors, in the failed object that is returned: those above, and
 *   CJ_ENOTSUP: there is no atomic operation for this operation and type */
CJ_API cj_reduce *cj_reduce_create(cj_device *dev, const cj_reduce_opts *opts);

/* Bytes of workspace of a launch with so many rows and columns; 0: none is needed. */
CJ_API size_t cj_reduce_workspace(const cj_reduce *r, uint64_t rows, uint64_t columns);

typedef struct cj_reduce_args {
    cj_rows x;
    uint64_t rows;      /* 0: 1 */
    uint64_t columns;   /* 0: the results are the identity */
    cj_dptr out;        /* a value for each row */
    cj_workspace workspace;
} cj_reduce_args;

/* Enqueues a reduction.  `args`: Copied.  Returns at once.
 * Errors, left in `s`: those above. */
CJ_API cj_status cj_reduce_launch(cj_stream *s, cj_reduce *r, const cj_reduce_args *args);

/* Prints the object's PTX, as cj_ptx_print does.  Borrowed until the next call for `r`. */
CJ_API cj_status cj_reduce_ptx(cj_reduce *r, unsigned flags, const char **text, size_t *bytes);

/* Frees the reduction.  Returns at once.  May be NULL. */
CJ_API void cj_reduce_free(cj_reduce *r);

/* ---- Scans ----------------------------------------------------------------------------------- */

typedef struct cj_scan cj_scan;

typedef struct cj_scan_opts {
    size_t size;          /* sizeof(cj_scan_opts) */
    int32_t type;         /* as in cj_reduce_opts, and so are the others */
    int32_t out_type;
    int32_t wide;
    int32_t op;
    cj_ptx *module;
    const char *function;
    uint64_t identity;
    int32_t exclusive;    /* 1: out[r][i] joins the columns before i; the first is the identity */
    uint32_t in_flight;
    uint64_t rows, columns;
    cj_kernel_cache *cache;
} cj_scan_opts;

/* Fills `opts` with its size and the defaults.  `opts`: May be NULL. */
CJ_API void cj_scan_defaults(cj_scan_opts *opts);

/* Makes a scan of rows: out[r][i] = x[r][0] op ... op x[r][i].  The order of the operations depends
 * on the number of columns only.  `out` may be `x`, with its stride and step, if the types have one
 * size.
 * Blocks.  Any thread.
 * Never NULL.  Owned by the caller, free with cj_scan_free.
 * Errors, in the failed object that is returned: those above. */
CJ_API cj_scan *cj_scan_create(cj_device *dev, const cj_scan_opts *opts);

/* Bytes of workspace of a launch with so many rows and columns; 0: none is needed.  A captured scan
 * of one long row may take memory of the graph also where its arguments have workspace. */
CJ_API size_t cj_scan_workspace(const cj_scan *x, uint64_t rows, uint64_t columns);

typedef struct cj_scan_args {
    cj_rows x, out;
    uint64_t rows;      /* 0: 1 */
    uint64_t columns;
    cj_workspace workspace;
} cj_scan_args;

/* Enqueues a scan.  `args`: Copied.  Returns at once.
 * Errors, left in `s`: those above. */
CJ_API cj_status cj_scan_launch(cj_stream *s, cj_scan *x, const cj_scan_args *args);

/* Prints the object's PTX, as cj_ptx_print does.  Borrowed until the next call for `x`. */
CJ_API cj_status cj_scan_ptx(cj_scan *x, unsigned flags, const char **text, size_t *bytes);

/* Frees the scan.  Returns at once.  May be NULL. */
CJ_API void cj_scan_free(cj_scan *x);

/* ---- Where the greatest element is ----------------------------------------------------------- */

typedef struct cj_argmax cj_argmax;

typedef struct cj_argmax_opts {
    size_t size;          /* sizeof(cj_argmax_opts) */
    int32_t type;         /* of the elements, as in cj_reduce_opts */
    int32_t index_type;   /* of the results: CJ_U32, CJ_S32, CJ_U64 or CJ_S64; 0: CJ_S64 */
    int32_t least;        /* 1: the least element */
    uint32_t in_flight;   /* as in cj_reduce_opts */
    uint64_t rows, columns;
    cj_kernel_cache *cache;
} cj_argmax_opts;

/* Fills `opts` with its size and the defaults.  `opts`: May be NULL. */
CJ_API void cj_argmax_defaults(cj_argmax_opts *opts);

/* Makes a search of rows: out[r] is the column of the greatest element of row r, the first of equal
 * ones.  -0 equals 0.  A NaN is beyond all numbers, also for the least.
 * Blocks.  Any thread.
 * Never NULL.  Owned by the caller, free with cj_argmax_free.
 * Errors, in the failed object that is returned: those above. */
CJ_API cj_argmax *cj_argmax_create(cj_device *dev, const cj_argmax_opts *opts);

/* Bytes of workspace of a launch with so many rows and columns; 0: none is needed. */
CJ_API size_t cj_argmax_workspace(const cj_argmax *x, uint64_t rows, uint64_t columns);

typedef struct cj_argmax_args {
    cj_rows x;
    uint64_t rows;      /* 0: 1 */
    uint64_t columns;   /* 1 at least */
    cj_dptr out;        /* a number for each row */
    cj_workspace workspace;
} cj_argmax_args;

/* Enqueues a search.  `args`: Copied.  Returns at once.
 * Errors, left in `s`: those above. */
CJ_API cj_status cj_argmax_launch(cj_stream *s, cj_argmax *x, const cj_argmax_args *args);

/* Prints the object's PTX, as cj_ptx_print does.  Borrowed until the next call for `x`. */
CJ_API cj_status cj_argmax_ptx(cj_argmax *x, unsigned flags, const char **text, size_t *bytes);

/* Frees the search.  Returns at once.  May be NULL. */
CJ_API void cj_argmax_free(cj_argmax *x);

/* ---- Softmax and norms of rows ---------------------------------------------------------------
 *
 * Elements are CJ_F32, CJ_F16 or CJ_BF16, and are computed in CJ_F32.  If the number of columns is
 * an option, up to 32768, a row is read once and kept in registers; where rows and parameters are
 * at multiples of 16 bytes, in vectors.  On sm_90 a cluster of up to 8 blocks keeps rows of up to
 * 131072 columns, of 16-bit elements in vectors 262144.  Other rows are read once for each step.
 * `out` may be `x`, with its stride and step, if the types have one size. */

typedef struct cj_softmax cj_softmax;

typedef struct cj_softmax_opts {
    size_t size;          /* sizeof(cj_softmax_opts) */
    int32_t type;         /* a cj_type, of the elements */
    int32_t out_type;     /* of the results; 0: `type` */
    uint64_t columns;     /* of all rows; 0: an argument of the launch */
    cj_kernel_cache *cache; /* where kernels are kept; NULL: while objects of the device live */
} cj_softmax_opts;

/* Fills `opts` with its size and the defaults.  `opts`: May be NULL. */
CJ_API void cj_softmax_defaults(cj_softmax_opts *opts);

/* Makes a softmax of rows: out[r][i] = e^x[r][i] divided by their sum.  Elements that are +infinity
 * share their row equally.  A row of nothing but -infinity, which is masked, becomes 0.  A NaN
 * makes its row NaN.
 * Blocks.  Any thread.
 * Never NULL.  Owned by the caller, free with cj_softmax_free.
 * Errors, in the failed object that is returned: those above. */
CJ_API cj_softmax *cj_softmax_create(cj_device *dev, const cj_softmax_opts *opts);

typedef struct cj_softmax_args {
    cj_rows x, out;
    uint64_t rows;        /* 0: 1 */
    uint64_t columns;     /* 0: as in the options */
} cj_softmax_args;

/* Enqueues a softmax.  `args`: Copied.  Returns at once.
 * Errors, left in `s`: those above. */
CJ_API cj_status cj_softmax_launch(cj_stream *s, cj_softmax *x, const cj_softmax_args *args);

/* Prints the object's PTX, as cj_ptx_print does.  Borrowed until the next call for `x`. */
CJ_API cj_status cj_softmax_ptx(cj_softmax *x, unsigned flags, const char **text, size_t *bytes);

/* Frees the softmax.  Returns at once.  May be NULL. */
CJ_API void cj_softmax_free(cj_softmax *x);

typedef struct cj_layer_norm cj_layer_norm;

typedef struct cj_layer_norm_opts {
    size_t size;          /* sizeof(cj_layer_norm_opts) */
    int32_t type;         /* as in cj_softmax_opts */
    int32_t out_type;
    int32_t param_type;   /* of weight and bias; 0: `type` */
    int32_t weight, bias; /* 1: there is one */
    float eps;            /* above 0, added to the variance; 0: 1e-5 */
    uint64_t columns;
    cj_kernel_cache *cache;
} cj_layer_norm_opts;

/* Fills `opts` with its size and the defaults.  `opts`: May be NULL. */
CJ_API void cj_layer_norm_defaults(cj_layer_norm_opts *opts);

/* Makes a layer norm of rows: out = (x - mean) / sqrt(variance + eps) * weight + bias, where mean
 * and variance are those of the row.  They are accurate also where the mean is much larger than the
 * deviation.
 * Blocks.  Any thread.
 * Never NULL.  Owned by the caller, free with cj_layer_norm_free.
 * Errors, in the failed object that is returned: those above. */
CJ_API cj_layer_norm *cj_layer_norm_create(cj_device *dev, const cj_layer_norm_opts *opts);

typedef struct cj_layer_norm_args {
    cj_rows x, out;
    uint64_t rows;        /* 0: 1 */
    uint64_t columns;     /* 0: as in the options */
    cj_dptr weight, bias; /* a value for each column, side by side; { 0 } unless it is an option */
} cj_layer_norm_args;

/* Enqueues a layer norm.  `args`: Copied.  Returns at once.
 * Errors, left in `s`: those above. */
CJ_API cj_status cj_layer_norm_launch(cj_stream *s, cj_layer_norm *x, const cj_layer_norm_args *args);

/* Prints the object's PTX, as cj_ptx_print does.  Borrowed until the next call for `x`. */
CJ_API cj_status cj_layer_norm_ptx(cj_layer_norm *x, unsigned flags, const char **text, size_t *bytes);

/* Frees the layer norm.  Returns at once.  May be NULL. */
CJ_API void cj_layer_norm_free(cj_layer_norm *x);

typedef struct cj_rms_norm cj_rms_norm;

typedef struct cj_rms_norm_opts {
    size_t size;          /* sizeof(cj_rms_norm_opts) */
    int32_t type;         /* as in cj_layer_norm_opts */
    int32_t out_type;
    int32_t param_type;
    int32_t weight;
    float eps;
    uint64_t columns;
    cj_kernel_cache *cache;
} cj_rms_norm_opts;

/* Fills `opts` with its size and the defaults.  `opts`: May be NULL. */
CJ_API void cj_rms_norm_defaults(cj_rms_norm_opts *opts);

/* Makes an RMS norm of rows: out = x / sqrt(mean of x^2 + eps) * weight.
 * Blocks.  Any thread.
 * Never NULL.  Owned by the caller, free with cj_rms_norm_free.
 * Errors, in the failed object that is returned: those above. */
CJ_API cj_rms_norm *cj_rms_norm_create(cj_device *dev, const cj_rms_norm_opts *opts);

typedef struct cj_rms_norm_args {
    cj_rows x, out;
    uint64_t rows;        /* 0: 1 */
    uint64_t columns;     /* 0: as in the options */
    cj_dptr weight;       /* a value for each column, side by side; { 0 } unless it is an option */
} cj_rms_norm_args;

/* Enqueues an RMS norm.  `args`: Copied.  Returns at once.
 * Errors, left in `s`: those above. */
CJ_API cj_status cj_rms_norm_launch(cj_stream *s, cj_rms_norm *x, const cj_rms_norm_args *args);

/* Prints the object's PTX, as cj_ptx_print does.  Borrowed until the next call for `x`. */
CJ_API cj_status cj_rms_norm_ptx(cj_rms_norm *x, unsigned flags, const char **text, size_t *bytes);

/* Frees the RMS norm.  Returns at once.  May be NULL. */
CJ_API void cj_rms_norm_free(cj_rms_norm *x);

/* ---- Rotary position embedding --------------------------------------------------------------- */

typedef struct cj_rope cj_rope;

typedef struct cj_rope_opts {
    size_t size;          /* sizeof(cj_rope_opts) */
    int32_t type;         /* a cj_type: CJ_F32, CJ_F16 or CJ_BF16, of the elements and the results */
    uint32_t dim;         /* elements of a head that are rotated: an even number up to 4096 */
    int32_t interleaved;  /* 1: elements 2 i and 2 i + 1 are a pair; 0: i and i + dim / 2 */
    int32_t positions;    /* 1: the tokens' positions are an argument; 0: token t has first + t */
    cj_kernel_cache *cache; /* as in cj_softmax_opts */
} cj_rope_opts;

/* Fills `opts` with its size and the defaults.  `opts`: May be NULL. */
CJ_API void cj_rope_defaults(cj_rope_opts *opts);

/* Makes a rotation of pairs: (a, b) becomes (a cos - b sin, b cos + a sin), in CJ_F32.  `out` may
 * be `x`.  Elements behind `dim` are not touched.
 * Blocks.  Any thread.
 * Never NULL.  Owned by the caller, free with cj_rope_free.
 * Errors, in the failed object that is returned: those above. */
CJ_API cj_rope *cj_rope_create(cj_device *dev, const cj_rope_opts *opts);

/* Element i of head h of token t is at t * token_stride + h * head_stride + i, in elements. */
typedef struct cj_rope_args {
    cj_dptr x, out;
    int64_t token_stride, head_stride;         /* of `x`; 0: heads * dim, and dim */
    int64_t out_token_stride, out_head_stride; /* of `out`; 0: those of `x` */
    uint64_t tokens;
    uint32_t heads;       /* 1 to 65535 */
    cj_dptr cosines, sines; /* CJ_F32: dim / 2 of them for each position, side by side */
    cj_dptr positions;    /* a CJ_S32 for each token; { 0 } unless it is an option */
    uint32_t first;       /* the position of the first token */
} cj_rope_args;

/* Enqueues a rotation.  `args`: Copied.  Returns at once.
 * Errors, left in `s`: those above. */
CJ_API cj_status cj_rope_launch(cj_stream *s, cj_rope *x, const cj_rope_args *args);

/* Prints the object's PTX, as cj_ptx_print does.  Borrowed until the next call for `x`. */
CJ_API cj_status cj_rope_ptx(cj_rope *x, unsigned flags, const char **text, size_t *bytes);

/* Frees the rotation.  Returns at once.  May be NULL. */
CJ_API void cj_rope_free(cj_rope *x);

/* ---- Functions of elements ------------------------------------------------------------------- */

typedef struct cj_elementwise cj_elementwise;

/* Functions of one element, accurate (math.h). */
typedef enum cj_activation {
    CJ_ACTIVATION_NONE = 0,      /* x */
    CJ_ACTIVATION_RELU = 1,      /* x if it is above 0, else 0; a NaN stays one */
    CJ_ACTIVATION_SIGMOID = 2,
    CJ_ACTIVATION_TANH = 3,
    CJ_ACTIVATION_SILU = 4,
    CJ_ACTIVATION_GELU = 5,
    CJ_ACTIVATION_GELU_TANH = 6, /* its approximation by tanh */
    CJ_ACTIVATION_SOFTPLUS = 7
} cj_activation;

enum { CJ_ELEMENTWISE_MAX = 8 };

typedef struct cj_elementwise_opts {
    size_t size;          /* sizeof(cj_elementwise_opts) */
    uint32_t inputs;      /* 0 to CJ_ELEMENTWISE_MAX; 1 or 2 with an activation */
    int32_t types[8];     /* a cj_type for each input, as in cj_reduce_opts */
    int32_t out_type;     /* of the results; 0: that of the first input */
    int32_t activation;   /* a cj_activation, if `function` is NULL: of the first input, times the
                           * second one, if there are two.  Inputs are CJ_F32, CJ_F16 or CJ_BF16 */
    cj_ptx *module;       /* has `function`.  Copied */
    const char *function; /* a function with one result.  Its parameters are an element of each input:
                           * of 32 bits for smaller ones, CJ_F32 for CJ_F16 and CJ_BF16, else of
                           * the input's type; then `numbers` of type CJ_F32 */
    uint32_t numbers;     /* 0 to CJ_ELEMENTWISE_MAX */
    cj_kernel_cache *cache; /* as in cj_softmax_opts */
} cj_elementwise_opts;

/* Fills `opts` with its size and the defaults.  `opts`: May be NULL. */
CJ_API void cj_elementwise_defaults(cj_elementwise_opts *opts);

/* Makes a function of elements: out[r][i] = function(in0[r][i], in1[r][i], ..., numbers).  `out`
 * may be an input of a type of the same size and with the same strides.  CJ_ROWS_SAME repeats an
 * input.
 * Blocks.  Any thread.
 * Never NULL.  Owned by the caller, free with cj_elementwise_free.
 * Errors, in the failed object that is returned: those above. */
CJ_API cj_elementwise *cj_elementwise_create(cj_device *dev, const cj_elementwise_opts *opts);

typedef struct cj_elementwise_args {
    cj_rows in[8], out;
    uint64_t rows;        /* 0: 1 */
    uint64_t columns;
    float numbers[8];
} cj_elementwise_args;

/* Enqueues the function.  `args`: Copied.  Returns at once.
 * Errors, left in `s`: those above. */
CJ_API cj_status cj_elementwise_launch(cj_stream *s, cj_elementwise *x, const cj_elementwise_args *args);

/* Prints the object's PTX, as cj_ptx_print does.  Borrowed until the next call for `x`. */
CJ_API cj_status cj_elementwise_ptx(cj_elementwise *x, unsigned flags, const char **text, size_t *bytes);

/* Frees the function.  Returns at once.  May be NULL. */
CJ_API void cj_elementwise_free(cj_elementwise *x);

#ifdef __cplusplus
}
#endif

/* ---- Option literals: CJ_REDUCE(.type = CJ_F32); C and C++20 --------------------------------- */

#ifndef __cplusplus
#define CJ_REDUCE(...) (&(const cj_reduce_opts){ .size = sizeof(cj_reduce_opts), __VA_ARGS__ })
#define CJ_SCAN(...) (&(const cj_scan_opts){ .size = sizeof(cj_scan_opts), __VA_ARGS__ })
#define CJ_ARGMAX(...) (&(const cj_argmax_opts){ .size = sizeof(cj_argmax_opts), __VA_ARGS__ })
#define CJ_SOFTMAX(...) (&(const cj_softmax_opts){ .size = sizeof(cj_softmax_opts), __VA_ARGS__ })
#define CJ_LAYER_NORM(...) (&(const cj_layer_norm_opts){ .size = sizeof(cj_layer_norm_opts), __VA_ARGS__ })
#define CJ_RMS_NORM(...) (&(const cj_rms_norm_opts){ .size = sizeof(cj_rms_norm_opts), __VA_ARGS__ })
#define CJ_ROPE(...) (&(const cj_rope_opts){ .size = sizeof(cj_rope_opts), __VA_ARGS__ })
#define CJ_ELEMENTWISE(...) (&(const cj_elementwise_opts){ .size = sizeof(cj_elementwise_opts), __VA_ARGS__ })
#elif __cplusplus >= 202002L
#define CJ_REDUCE(...) cji::keep(cj_reduce_opts{ .size = sizeof(cj_reduce_opts), __VA_ARGS__ })
#define CJ_SCAN(...) cji::keep(cj_scan_opts{ .size = sizeof(cj_scan_opts), __VA_ARGS__ })
#define CJ_ARGMAX(...) cji::keep(cj_argmax_opts{ .size = sizeof(cj_argmax_opts), __VA_ARGS__ })
#define CJ_SOFTMAX(...) cji::keep(cj_softmax_opts{ .size = sizeof(cj_softmax_opts), __VA_ARGS__ })
#define CJ_LAYER_NORM(...) cji::keep(cj_layer_norm_opts{ .size = sizeof(cj_layer_norm_opts), __VA_ARGS__ })
#define CJ_RMS_NORM(...) cji::keep(cj_rms_norm_opts{ .size = sizeof(cj_rms_norm_opts), __VA_ARGS__ })
#define CJ_ROPE(...) cji::keep(cj_rope_opts{ .size = sizeof(cj_rope_opts), __VA_ARGS__ })
#define CJ_ELEMENTWISE(...) cji::keep(cj_elementwise_opts{ .size = sizeof(cj_elementwise_opts), __VA_ARGS__ })
#endif

/* ---- Owners, as those of auto.h; those for C++ are in kernels.hpp ---------------------------- */

#if defined __GNUC__
static inline void cj_auto_cj_reduce(cj_reduce **object) { cj_reduce_free(*object); }
static inline void cj_auto_cj_scan(cj_scan **object) { cj_scan_free(*object); }
static inline void cj_auto_cj_argmax(cj_argmax **object) { cj_argmax_free(*object); }
static inline void cj_auto_cj_softmax(cj_softmax **object) { cj_softmax_free(*object); }
static inline void cj_auto_cj_layer_norm(cj_layer_norm **object) { cj_layer_norm_free(*object); }
static inline void cj_auto_cj_rms_norm(cj_rms_norm **object) { cj_rms_norm_free(*object); }
static inline void cj_auto_cj_rope(cj_rope **object) { cj_rope_free(*object); }
static inline void cj_auto_cj_elementwise(cj_elementwise **object) { cj_elementwise_free(*object); }
#endif

/* ---- The other kernels ----------------------------------------------------------------------- */

#include <cujit/kernels_attention.h> /* attention */
#include <cujit/kernels_matrix.h>    /* gemm, gemv */

#endif
