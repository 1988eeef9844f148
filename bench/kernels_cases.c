/* The cases of bench/kernels (kernels_cases.h). */
#include <string.h>

#include "bench/kernels_cases.h"

enum { KERNEL_ALIGN = 4096, IN_A_GRAPH = 8, VECTORS_IN_A_GRAPH = 64 };

#define ROWS(name, kind, type, columns) { name, kind, type, (UINT64_C(1) << 26) / (columns), columns, .k = 0 }
#define PRODUCT(name, type, m, n, k) { name, KERNEL_GEMM, type, m, n, k, .promote = 0 }
#define PRODUCT_OF_ROWS(name, type, n) { name, KERNEL_GEMM, type, n, n, n, .b_rows = true }
#define ELEMENTS(name, type, elements_of, promoted, n) \
    { name, KERNEL_GEMM, type, n, n, n, .elements = elements_of, .promote = promoted }
/* With a function of the user's at the end, beside the same without. */
#define PRODUCT_FUSED(shape, m, n, k) \
    { "gemm_fused." shape, KERNEL_GEMM, CJ_BF16, m, n, k, .beside = "gemm." shape, .fused = true }
#define VECTOR(name, type, rows, columns, format) { name, KERNEL_GEMV, type, rows, columns, 0, format, .promote = 0 }
#define ATTENTION(name, type, tokens, dim, is_causal) \
    { name, KERNEL_ATTENTION, type, 16384 / (tokens), tokens, dim, .causal = is_causal }
/* With log-sum-exp, or with heads of keys that query heads share, beside the same without. */
#define ATTENTION_OWN(with, shape, tokens, dim, is_causal, ...) \
    { "attention_" with "." shape, KERNEL_ATTENTION, CJ_BF16, 16384 / (tokens), tokens, dim, .causal = is_causal, \
      .beside = "attention." shape, __VA_ARGS__ }
const kernel_case kernel_cases[] = {
    ROWS("copy", KERNEL_COPY, CJ_F32, 4096),
    ROWS("softmax.f32.4096", KERNEL_SOFTMAX, CJ_F32, 4096),
    ROWS("softmax.bf16.4096", KERNEL_SOFTMAX, CJ_BF16, 4096),
    ROWS("softmax.f16.4096", KERNEL_SOFTMAX, CJ_F16, 4096),
    ROWS("softmax.bf16.16384", KERNEL_SOFTMAX, CJ_BF16, 16384),
    ROWS("softmax.bf16.32768", KERNEL_SOFTMAX, CJ_BF16, 32768),
    ROWS("softmax.bf16.131072", KERNEL_SOFTMAX, CJ_BF16, 131072),
    ROWS("layer_norm.bf16.4096", KERNEL_LAYER_NORM, CJ_BF16, 4096),
    ROWS("layer_norm.f32.8192", KERNEL_LAYER_NORM, CJ_F32, 8192),
    ROWS("layer_norm.bf16.32768", KERNEL_LAYER_NORM, CJ_BF16, 32768),
    ROWS("rms_norm.bf16.4096", KERNEL_RMS_NORM, CJ_BF16, 4096),
    ROWS("rms_norm.f16.8192", KERNEL_RMS_NORM, CJ_F16, 8192),
    ROWS("rms_norm.bf16.32768", KERNEL_RMS_NORM, CJ_BF16, 32768),
    { "rope.bf16.65536x32x128", KERNEL_ROPE, CJ_BF16, 65536, 32, 128, .promote = 0 },
    { "reduce.f32.1gib", KERNEL_REDUCE, CJ_F32, 1, UINT64_C(1) << 28, .k = 0 },
    { "scan.f32.2p28", KERNEL_SCAN, CJ_F32, 1, UINT64_C(1) << 28, .k = 0 },
    { "scan.u32.2p28", KERNEL_SCAN, CJ_U32, 1, UINT64_C(1) << 28, .k = 0 },
    VECTOR("gemv.q4_0.14336x4096", CJ_S8, 14336, 4096, CJ_GEMV_Q4_0),
    VECTOR("gemv.q4_0.4096x4096", CJ_S8, 4096, 4096, CJ_GEMV_Q4_0),
    VECTOR("gemv.q4_k.14336x4096", CJ_S8, 14336, 4096, CJ_GEMV_Q4_K),
    VECTOR("gemv.q4_k.4096x4096", CJ_S8, 4096, 4096, CJ_GEMV_Q4_K),
    VECTOR("gemv.q4_0_f16.14336x4096", CJ_F16, 14336, 4096, CJ_GEMV_Q4_0),
    VECTOR("gemv.q4_0_f16.4096x4096", CJ_F16, 4096, 4096, CJ_GEMV_Q4_0),
    VECTOR("gemv.q4_k_f16.14336x4096", CJ_F16, 14336, 4096, CJ_GEMV_Q4_K),
    VECTOR("gemv.q4_k_f16.4096x4096", CJ_F16, 4096, 4096, CJ_GEMV_Q4_K),
    PRODUCT("gemm.bf16.4096", CJ_BF16, 4096, 4096, 4096),
    PRODUCT("gemm.bf16.8192", CJ_BF16, 8192, 8192, 8192),
    PRODUCT("gemm.f16.4096", CJ_F16, 4096, 4096, 4096),
    PRODUCT("gemm.f16.8192", CJ_F16, 8192, 8192, 8192),
    PRODUCT("gemm.f32.4096", CJ_F32, 4096, 4096, 4096),
    PRODUCT("gemm.f32.8192", CJ_F32, 8192, 8192, 8192),
    PRODUCT_OF_ROWS("gemm.f32_rows.4096", CJ_F32, 4096),
    PRODUCT_OF_ROWS("gemm.f32_rows.8192", CJ_F32, 8192),
    ELEMENTS("gemm.tf32.4096", CJ_F32, CJ_GEMM_ELEMENTS_TF32, 0, 4096),
    ELEMENTS("gemm.tf32.8192", CJ_F32, CJ_GEMM_ELEMENTS_TF32, 0, 8192),
    ELEMENTS("gemm.e4m3.4096", CJ_U8, CJ_GEMM_ELEMENTS_E4M3, 0, 4096),
    ELEMENTS("gemm.e4m3.8192", CJ_U8, CJ_GEMM_ELEMENTS_E4M3, 0, 8192),
    ELEMENTS("gemm.e4m3_promoted.8192", CJ_U8, CJ_GEMM_ELEMENTS_E4M3, 1, 8192),
    PRODUCT("gemm.s8.4096", CJ_S8, 4096, 4096, 4096),
    PRODUCT("gemm.bf16.256x14336x4096", CJ_BF16, 256, 14336, 4096),
    PRODUCT("gemm.bf16.6000", CJ_BF16, 6000, 6000, 6000),
    PRODUCT("gemm.bf16.64x4096x4096", CJ_BF16, 64, 4096, 4096),
    PRODUCT("gemm.bf16.4095", CJ_BF16, 4095, 4095, 4095),
    PRODUCT("gemm.f32.1000x1032x500", CJ_F32, 1000, 1032, 500),
    PRODUCT_FUSED("bf16.4096", 4096, 4096, 4096),
    PRODUCT_FUSED("bf16.8192", 8192, 8192, 8192),
    ATTENTION("attention.bf16.1024x128", CJ_BF16, 1024, 128, 0),
    ATTENTION("attention.bf16.1024x128c", CJ_BF16, 1024, 128, 1),
    ATTENTION("attention.bf16.4096x128", CJ_BF16, 4096, 128, 0),
    ATTENTION("attention.bf16.4096x128c", CJ_BF16, 4096, 128, 1),
    ATTENTION("attention.bf16.16384x128", CJ_BF16, 16384, 128, 0),
    ATTENTION("attention.bf16.16384x128c", CJ_BF16, 16384, 128, 1),
    ATTENTION("attention.bf16.1024x64", CJ_BF16, 1024, 64, 0),
    ATTENTION("attention.bf16.1024x64c", CJ_BF16, 1024, 64, 1),
    ATTENTION("attention.bf16.4096x64", CJ_BF16, 4096, 64, 0),
    ATTENTION("attention.bf16.4096x64c", CJ_BF16, 4096, 64, 1),
    ATTENTION("attention.bf16.16384x64", CJ_BF16, 16384, 64, 0),
    ATTENTION("attention.bf16.16384x64c", CJ_BF16, 16384, 64, 1),
    ATTENTION_OWN("lse", "bf16.1024x64c", 1024, 64, 1, .lse = true),
    ATTENTION_OWN("lse", "bf16.4096x128", 4096, 128, 0, .lse = true),
    ATTENTION_OWN("lse", "bf16.16384x128c", 16384, 128, 1, .lse = true),
    ATTENTION_OWN("grouped", "bf16.1024x64c", 1024, 64, 1, .kv_heads = 4),
    ATTENTION_OWN("grouped", "bf16.4096x128", 4096, 128, 0, .kv_heads = 4),
    ATTENTION_OWN("grouped", "bf16.16384x128c", 16384, 128, 1, .kv_heads = 4),
};
const unsigned kernel_case_count = sizeof kernel_cases / sizeof *kernel_cases;

/* -- Sizes --------------------------------------------------------------------------------------------------------- */

enum { ATTENTION_HEADS = 16 };

static uint64_t size_of(cj_type type)
{
    return type == CJ_S8 || type == CJ_U8 ? 1 : type == CJ_F16 || type == CJ_BF16 ? 2 : 4;
}
static uint64_t aligned(uint64_t bytes) { return (bytes + KERNEL_ALIGN - 1) / KERNEL_ALIGN * KERNEL_ALIGN; }
static uint64_t at_most(uint64_t a, uint64_t most) { return a < most ? a : most; }

/* What a launch on the CPU device takes a moment for. */
static void make_small(kernel_case *c)
{
    if (c->kind == KERNEL_GEMM) {
        c->m = at_most(c->m, 65);
        c->n = at_most(c->n, 64);
        c->k = at_most(c->k, 63);
    } else if (c->kind == KERNEL_ATTENTION) {
        c->m = 1;
        c->n = at_most(c->n, 65);
    } else if (c->kind == KERNEL_ROPE) c->m = 2;
    else {
        c->n = at_most(c->n, 16384);
        c->m = at_most(c->m, 2);
    }
}

static uint64_t matrix_bytes(const kernel_case *c)
{
    return c->m * (c->format == CJ_GEMV_Q4_0 ? c->n / 32 * 18 : c->n / 256 * 144);
}

static uint64_t product_in(const kernel_case *c)
{
    return aligned(c->m * c->k * size_of(c->type)) + aligned(c->k * c->n * size_of(c->type));
}

/* Of q, k or v, whose heads have the distance of k * size_of(type) bytes. */
static uint64_t attention_part(const kernel_case *c)
{
    return aligned(c->m * c->n * c->k * ATTENTION_HEADS * size_of(c->type));
}

static void measure_work(kernel_run *run)
{
    const kernel_case *c = &run->shape;
    const uint64_t elements = c->m * c->n * (c->kind == KERNEL_ROPE ? c->k : 1), bytes = elements * size_of(c->type);
    run->in_bytes = aligned(bytes);
    run->out_bytes = aligned(bytes);
    run->work = 2 * (double)bytes;
    if (c->kind == KERNEL_ROPE) run->work += (double)(c->m * c->k * sizeof(float)); /* its tables */
    else if (c->kind == KERNEL_REDUCE) {
        run->out_bytes = KERNEL_ALIGN;
        run->work = (double)bytes;
    } else if (c->kind == KERNEL_GEMV) {
        run->in_bytes = aligned(matrix_bytes(c));
        run->out_bytes = aligned(c->m * sizeof(float));
        run->work = (double)matrix_bytes(c);
    } else if (c->kind == KERNEL_GEMM) {
        run->in_bytes = product_in(c);
        run->out_bytes = aligned(c->m * c->n * (c->type == CJ_S8 ? 4 : c->type == CJ_U8 ? 2 : size_of(c->type)));
        run->work = 2 * (double)c->m * (double)c->n * (double)c->k;
    } else if (c->kind == KERNEL_ATTENTION) { /* q, k and v; half of the products if each token sees those before it */
        run->in_bytes = 3 * attention_part(c);
        run->out_bytes = attention_part(c) + (c->lse ? aligned(c->m * c->n * ATTENTION_HEADS * sizeof(float)) : 0);
        run->work = (c->causal ? 2.0 : 4.0) * (double)(c->m * ATTENTION_HEADS * c->n) * (double)(c->n * c->k);
    }
}

/* -- Objects ------------------------------------------------------------------------------------------------------- */

/* The identity: a copy as a kernel writes it. */
static cj_elementwise *copy_create(cj_device *dev)
{
    cj_ptx *m = cj_ptx_create();
    cj_fn *f = cj_ptx_func(m, "same");
    cj_val x = cj_param(f, "x", CJ_F32);
    cj_result(f, "r", CJ_F32);
    cj_return_value(f, x);
    cj_elementwise *copy = cj_elementwise_create(dev, CJ_ELEMENTWISE(.inputs = 1, .types = { CJ_F32 }, .module = m,
                                                                     .function = "same"));
    cj_ptx_free(m);
    return copy;
}

/* SiLU of the sum, as the activation between two layers. */
static cj_ptx *silu_module(void)
{
    cj_ptx *m = cj_ptx_create();
    cj_fn *f = cj_ptx_func(m, "silu");
    cj_val v = cj_param(f, "v", CJ_F32);
    cj_param(f, "row", CJ_U32), cj_param(f, "column", CJ_U32), cj_param(f, "batch", CJ_U32);
    cj_return_value(f, cj_math_silu(f, v));
    return m;
}

static cj_gemm *product_object(cj_device *dev, const kernel_case *c)
{
    cj_ptx *m = c->fused ? silu_module() : NULL;
    cj_gemm *g = cj_gemm_create(dev, CJ_GEMM(.type = c->type, .elements = c->elements, .promote = c->promote,
                                             .out_type = c->type == CJ_U8 ? CJ_BF16 : 0, .module = m,
                                             .function = m ? "silu" : NULL));
    cj_ptx_free(m);
    return g;
}

bool kernel_run_open(kernel_run *run, cj_device *dev, const kernel_case *c, bool small)
{
    *run = (kernel_run){ .c = c, .shape = *c };
    if (small) make_small(&run->shape);
    const cj_type type = c->type;
    const uint64_t columns = run->shape.n;
    switch (c->kind) {
    case KERNEL_COPY: run->of.copy = copy_create(dev); break;
    case KERNEL_SOFTMAX: run->of.softmax = cj_softmax_create(dev, CJ_SOFTMAX(.type = type, .columns = columns)); break;
    case KERNEL_LAYER_NORM:
        run->of.layer_norm = cj_layer_norm_create(dev, CJ_LAYER_NORM(.type = type, .weight = 1, .bias = 1,
                                                                     .columns = columns));
        break;
    case KERNEL_RMS_NORM:
        run->of.rms_norm = cj_rms_norm_create(dev, CJ_RMS_NORM(.type = type, .weight = 1, .columns = columns));
        break;
    case KERNEL_ROPE: run->of.rope = cj_rope_create(dev, CJ_ROPE(.type = type, .dim = (uint32_t)c->k)); break;
    case KERNEL_REDUCE: run->of.reduce = cj_reduce_create(dev, CJ_REDUCE(.type = type, .op = CJ_COMBINE_ADD)); break;
    case KERNEL_SCAN: run->of.scan = cj_scan_create(dev, CJ_SCAN(.type = type, .op = CJ_COMBINE_ADD)); break;
    case KERNEL_GEMV:
        run->of.gemv = cj_gemv_create(dev, CJ_GEMV(.format = c->format, .x_type = type == CJ_S8 ? 0 : type,
                                                   .quantised = type == CJ_S8, .constant_matrix = 1));
        break;
    case KERNEL_GEMM: run->of.gemm = product_object(dev, c); break;
    case KERNEL_ATTENTION:
        run->of.attention = cj_attention_create(dev, CJ_ATTENTION(.type = type, .dim = (uint32_t)c->k,
                                                                  .causal = c->causal));
        break;
    }
    measure_work(run);
    run->in_a_graph = c->kind == KERNEL_GEMV && !small ? VECTORS_IN_A_GRAPH : IN_A_GRAPH;
    return cj_error_of(run->of.any)->status == CJ_OK;
}

const char *kernel_error(const kernel_run *run) { return cj_error_of(run->of.any)->message; }

void kernel_run_close(kernel_run *run)
{
    switch (run->c->kind) {
    case KERNEL_COPY: cj_elementwise_free(run->of.copy); break;
    case KERNEL_SOFTMAX: cj_softmax_free(run->of.softmax); break;
    case KERNEL_LAYER_NORM: cj_layer_norm_free(run->of.layer_norm); break;
    case KERNEL_RMS_NORM: cj_rms_norm_free(run->of.rms_norm); break;
    case KERNEL_ROPE: cj_rope_free(run->of.rope); break;
    case KERNEL_REDUCE: cj_reduce_free(run->of.reduce); break;
    case KERNEL_SCAN: cj_scan_free(run->of.scan); break;
    case KERNEL_GEMV: cj_gemv_free(run->of.gemv); break;
    case KERNEL_GEMM: cj_gemm_free(run->of.gemm); break;
    case KERNEL_ATTENTION: cj_attention_free(run->of.attention); break;
    }
}

/* -- Launches ------------------------------------------------------------------------------------------------------ */

static cj_dptr memory_of(const kernel_memory *memory, cj_type type)
{
    if (size_of(type) == 1) return memory->s8;
    return type == CJ_F16 ? memory->f16 : type == CJ_BF16 ? memory->bf16 : memory->f32;
}

static cj_dptr part_of(cj_dptr whole, uint64_t bytes, uint64_t all, uint64_t turn)
{
    return cj_offset(whole, (int64_t)(turn % (all / bytes ? all / bytes : 1) * bytes));
}

/* B is stored by columns, as the weights of a layer are, unless the case says otherwise. */
static cj_status launch_product(const kernel_run *run, cj_stream *s, cj_dptr in, cj_dptr out)
{
    const kernel_case *c = &run->shape;
    const cj_dptr b = cj_offset(in, (int64_t)aligned(c->m * c->k * size_of(c->type)));
    const cj_gemm_args args = {
        .a = { .data = in }, .b = c->b_rows ? (cj_rows){ b, (int64_t)c->n, 1 } : (cj_rows){ b, 1, (int64_t)c->k },
        .out = { .data = out }, .m = c->m, .n = c->n, .k = c->k
    };
    return cj_gemm_launch(s, run->of.gemm, &args);
}

/* The vector is the same each time and comes from the L2 cache, as one that the kernel before has written. */
static cj_status launch_vector(const kernel_run *run, cj_stream *s, cj_dptr in, cj_dptr out, cj_dptr x)
{
    const kernel_case *c = &run->shape;
    const cj_gemv_args args = {
        .matrix = in, .x = x, .out = out, .rows = c->m, .columns = c->n
    };
    return cj_gemv_launch(s, run->of.gemv, &args);
}

static cj_status launch_rope(const kernel_run *run, cj_stream *s, cj_dptr in, cj_dptr out, cj_dptr tables)
{
    const kernel_case *c = &run->shape;
    const cj_rope_args args = {
        .x = in, .out = out, .tokens = c->m, .heads = (uint32_t)c->n, .cosines = tables,
        .sines = cj_offset(tables, (int64_t)aligned(c->m * c->k / 2 * sizeof(float)))
    };
    return cj_rope_launch(s, run->of.rope, &args);
}

static cj_status launch_attention(const kernel_run *run, cj_stream *s, cj_dptr in, cj_dptr out)
{
    const kernel_case *c = &run->shape;
    const int64_t part = (int64_t)attention_part(c);
    const cj_attention_args args = {
        .q = { .data = in }, .k = { .data = cj_offset(in, part) }, .v = { .data = cj_offset(in, 2 * part) },
        .out = { .data = out }, .lse = { .data = c->lse ? cj_offset(out, part) : (cj_dptr){ 0 } }, .batches = c->m,
        .queries = c->n, .keys = c->n, .heads = ATTENTION_HEADS, .kv_heads = c->kv_heads
    };
    return cj_attention_launch(s, run->of.attention, &args);
}

cj_status kernel_run_launch(const kernel_run *run, cj_stream *s, const kernel_memory *memory, uint64_t turn)
{
    const kernel_case *c = &run->shape;
    const cj_dptr whole = memory_of(memory, c->type), in = part_of(whole, run->in_bytes, memory->bytes, turn);
    const cj_dptr out = part_of(memory->out, run->out_bytes, memory->bytes, turn);
    const cj_rows x = { .data = in }, y = { .data = out };
    switch (c->kind) {
    case KERNEL_COPY:
        return cj_elementwise_launch(s, run->of.copy, &(const cj_elementwise_args){
                                                          .in = { x }, .out = y, .rows = c->m, .columns = c->n });
    case KERNEL_SOFTMAX:
        return cj_softmax_launch(s, run->of.softmax, &(const cj_softmax_args){ .x = x, .out = y, .rows = c->m });
    case KERNEL_LAYER_NORM:
        return cj_layer_norm_launch(s, run->of.layer_norm, &(const cj_layer_norm_args){
                                                               .x = x, .out = y, .rows = c->m, .weight = whole,
                                                               .bias = whole });
    case KERNEL_RMS_NORM:
        return cj_rms_norm_launch(s, run->of.rms_norm, &(const cj_rms_norm_args){ .x = x, .out = y, .rows = c->m,
                                                                                  .weight = whole });
    case KERNEL_ROPE: return launch_rope(run, s, in, out, memory->f32);
    case KERNEL_REDUCE:
        return cj_reduce_launch(s, run->of.reduce, &(const cj_reduce_args){ .x = x, .rows = c->m, .columns = c->n,
                                                                            .out = out });
    case KERNEL_SCAN:
        return cj_scan_launch(s, run->of.scan, &(const cj_scan_args){ .x = x, .out = y, .rows = c->m,
                                                                      .columns = c->n });
    case KERNEL_GEMV: return launch_vector(run, s, in, out, memory->f16);
    case KERNEL_GEMM: return launch_product(run, s, in, out);
    case KERNEL_ATTENTION: return launch_attention(run, s, in, out);
    }
    return CJ_EINVAL;
}
