/* The cases of bench/kernels: an object of libcujit-kernels for one shape, its launches, and the work that one does. */
#ifndef BENCH_KERNELS_CASES_H
#define BENCH_KERNELS_CASES_H

#include <cujit/kernels.h>

typedef enum kernel_kind {
    KERNEL_COPY, KERNEL_SOFTMAX, KERNEL_LAYER_NORM, KERNEL_RMS_NORM, KERNEL_ROPE, KERNEL_REDUCE, KERNEL_SCAN,
    KERNEL_GEMV, KERNEL_GEMM, KERNEL_ATTENTION
} kernel_kind;

typedef struct kernel_case {
    const char *name;    /* of its metrics, and what the peer is asked for */
    kernel_kind kind;
    cj_type type;        /* of the elements; of gemv those of the vector, CJ_S8: it is already quantised */
    uint64_t m, n, k;    /* rows and columns; of a product m x k by k x n; of rope tokens, heads and dim; of attention
                          * sequences, tokens and dim */
    cj_gemv_format format;
    cj_gemm_elements elements;
    int promote, causal;
    const char *beside;  /* the case of the same run that the ratio is to; NULL: the peer, or the copy */
    bool lse;            /* of attention: the log-sum-exp too */
    uint32_t kv_heads;   /* of attention, 0: as many as query heads */
    bool b_rows;         /* of a product: B is stored by rows, else by columns */
    bool fused;          /* of a product: SiLU of each element, by a function of the user's */
} kernel_case;

extern const kernel_case kernel_cases[];
extern const unsigned kernel_case_count;

/* Memory that all cases share: they do not run at once.  Each type's has random numbers between -1 and 1. */
typedef struct kernel_memory {
    cj_dptr f32, f16, bf16, s8, out;
    uint64_t bytes;      /* of each of them */
} kernel_memory;

/* A case that is ready to be launched. */
typedef struct kernel_run {
    const kernel_case *c;
    kernel_case shape;   /* smaller on the CPU device */
    union {
        cj_elementwise *copy;
        cj_softmax *softmax;
        cj_layer_norm *layer_norm;
        cj_rms_norm *rms_norm;
        cj_rope *rope;
        cj_reduce *reduce;
        cj_scan *scan;
        cj_gemv *gemv;
        cj_gemm *gemm;
        cj_attention *attention;
        void *any;
    } of;
    unsigned in_a_graph; /* launches of a graph: enough for the time between graphs not to count */
    double work;         /* of a launch: bytes read and written, or operations of a product */
    uint64_t in_bytes, out_bytes;
} kernel_run;

/* Counted in operations. */
static inline bool kernel_is_product(const kernel_case *c)
{
    return c->kind == KERNEL_GEMM || c->kind == KERNEL_ATTENTION;
}

/* Whether the peer of the ratio is a copy of the same run. */
static inline bool kernel_is_beside_copy(const kernel_case *c)
{
    return !c->beside && !kernel_is_product(c) && c->kind != KERNEL_REDUCE && c->kind != KERNEL_COPY;
}

/* False: the object could not be made; kernel_error tells. */
bool kernel_run_open(kernel_run *run, cj_device *dev, const kernel_case *c, bool small);
const char *kernel_error(const kernel_run *run);

/* Launch number `turn` takes the next part of the memory, so that nothing comes from the L2 cache. */
cj_status kernel_run_launch(const kernel_run *run, cj_stream *s, const kernel_memory *memory, uint64_t turn);
void kernel_run_close(kernel_run *run);

#endif
