/* cujit/kernels_attention.h - attention, of libcujit-kernels.  kernels.h includes it, and describes
 * what its objects have in common.
 *
 *     cj_attention *x = cj_attention_create(dev, CJ_ATTENTION(.type = CJ_BF16, .dim = 128,
 *                                                             .causal = 1));
 *     cj_attention_args a = { .q = { q }, .k = { k }, .v = { v }, .out = { o }, .queries = n,
 *                             .keys = n, .heads = 32, .kv_heads = 8 };
 *     cj_attention_launch(s, x, &a);
 *     cj_attention_free(x);
 */
#ifndef CUJIT_KERNELS_H
#include <cujit/kernels.h> /* which includes this file at its place */
#elif !defined CUJIT_KERNELS_ATTENTION_H
#define CUJIT_KERNELS_ATTENTION_H

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Attention ------------------------------------------------------------------------------- */

typedef struct cj_attention cj_attention;

enum { CJ_ATTENTION_DIM_MOST = 128 };

/* Which code computes attention. */
typedef enum cj_attention_path {
    CJ_ATTENTION_AUTO = 0,   /* the fastest that the device and the arguments allow */
    CJ_ATTENTION_SCALAR = 1, /* multiply-adds: every device and type */
    CJ_ATTENTION_MMA = 2,    /* mma.sync, sm_80: CJ_F16 and CJ_BF16 */
    CJ_ATTENTION_WGMMA = 3   /* wgmma, sm_90a: the same types.  Offsets, negative strides, and strides or
                              * memory that are no multiples of 16 bytes, take mma.sync */
} cj_attention_path;

typedef struct cj_attention_opts {
    size_t size;          /* sizeof(cj_attention_opts) */
    int32_t type;         /* of all elements, a cj_type: CJ_F32, CJ_F16 or CJ_BF16 */
    uint32_t dim;         /* elements of a head: 1 to CJ_ATTENTION_DIM_MOST */
    int32_t causal;       /* 1: the last query sees all keys, each one before it one key less */
    int32_t path;         /* a cj_attention_path */
    cj_kernel_cache *cache; /* as in cj_softmax_opts */
} cj_attention_opts;

/* Fills `opts` with its size and the defaults.  `opts`: May be NULL. */
CJ_API void cj_attention_defaults(cj_attention_opts *opts);

/* Makes attention, forward: for each head and each query q, out = the sum over the keys that q sees
 * of e^(scale * q . k) * v, divided by the sum of the e^(scale * q . k).  It is summed in CJ_F32.
 * A query that sees no key gives 0.  A score that is NaN or +infinity makes its row NaN.
 * Blocks.  Any thread.
 * Never NULL.  Owned by the caller, free with cj_attention_free.
 * Errors, in the failed object that is returned: those above, and
 *   CJ_ENOTSUP: `dim` is more than CJ_ATTENTION_DIM_MOST, or the device or the type does not have
 *     the path */
CJ_API cj_attention *cj_attention_create(cj_device *dev, const cj_attention_opts *opts);

/* Heads of the tokens of sequences: element i of head h of token t of sequence b is at
 * data + (b * batch + t * token + h * head + i) elements. */
typedef struct cj_heads {
    cj_dptr data;    /* aligned to an element */
    int64_t token;   /* elements from a token to the next one; 0: heads * head */
    int64_t head;    /* from a head to the next one; 0: the elements of a head */
    int64_t batch;   /* from a sequence to the next one; 0: tokens * token */
} cj_heads;

typedef struct cj_attention_args {
    cj_heads q, out;            /* `queries` tokens of `heads` heads */
    cj_heads k, v;              /* `keys` tokens of `kv_heads` heads */
    cj_heads lse;               /* CJ_F32, heads of one element: the natural logarithm of the sum of the
                                 * e^(scale * q . k), -infinity for none; data { 0 }: not wanted */
    uint64_t batches;           /* sequences; 0: 1 */
    uint64_t queries, keys;     /* tokens of each sequence, up to 2^31 - 257; with offsets, the most of
                                 * any one: what is beyond is not computed, with 0 nothing */
    uint32_t heads;
    uint32_t kv_heads;          /* divides `heads`: head h has the keys of head h * kv_heads / heads;
                                 * 0: `heads` */
    float scale;                /* above 0; 0: 1 / sqrt(dim) */
    cj_dptr query_offsets;      /* { 0 }: each sequence has `queries` tokens; else batches + 1 CJ_S32:
                                 * sequence b has the tokens query_offsets[b] to
                                 * query_offsets[b + 1] - 1 of `q`, `out` and `lse`, whose .batch is
                                 * not used */
    cj_dptr key_offsets;        /* the same for `k` and `v` */
} cj_attention_args;

/* Enqueues attention.  `args`: Copied.  Returns at once.
 * Errors, left in `s`: those above. */
CJ_API cj_status cj_attention_launch(cj_stream *s, cj_attention *x, const cj_attention_args *args);

/* Prints the object's PTX, as cj_ptx_print does.  Borrowed until the next call for `x`. */
CJ_API cj_status cj_attention_ptx(cj_attention *x, unsigned flags, const char **text, size_t *bytes);

/* Frees the attention.  Returns at once.  May be NULL. */
CJ_API void cj_attention_free(cj_attention *x);

#ifdef __cplusplus
}
#endif

/* ---- Option literals and owners, as those of kernels.h --------------------------------------- */

#ifndef __cplusplus
#define CJ_ATTENTION(...) (&(const cj_attention_opts){ .size = sizeof(cj_attention_opts), __VA_ARGS__ })
#elif __cplusplus >= 202002L
#define CJ_ATTENTION(...) cji::keep(cj_attention_opts{ .size = sizeof(cj_attention_opts), __VA_ARGS__ })
#endif

#if defined __GNUC__
static inline void cj_auto_cj_attention(cj_attention **object) { cj_attention_free(*object); }
#endif

#endif
