/* What building blocks write: the instructions and nothing dearer, the least target and version, taken by ptxas; and
 * what they say of mistakes. */
#include <string.h>

#include "tests/ptx/ask_ptxas.h"
#include "tests/tap.h"

#include <cujit/ptx.h>

/* ---- Blocks: a kernel each --------------------------------------------------------------------------------------- */

/* The operands that a row may want, made in front of the block. */
typedef struct parts {
    cj_fn *f;
    cj_val v, w, shared, global, map, p, bars;
} parts;

static void ids(const parts *x)
{
    cj_val warp, group;
    cj_warp_id(x->f, &warp);
    cj_warpgroup_id(x->f, &group);
}
static void uniform(const parts *x) { cj_warp_uniform(x->f, x->w, NULL); }
static void elect(const parts *x)
{
    cj_val p;
    cj_warp_elect(x->f, &p);
    cj_mbarrier_arrive_if(x->f, p, x->bars);
}
static void named_sync(const parts *x) { cj_named_barrier_sync(x->f, x->w, 128); }
static void named_arrive(const parts *x) { cj_named_barrier_arrive(x->f, 3, 128); }
static void grid_sync(const parts *x) { cj_grid_sync(x->f, x->global); }
static void dependents(const parts *x)
{
    cj_grid_launch_dependents(x->f);
    cj_grid_wait(x->f);
}
static void cluster(const parts *x)
{
    cj_val a = cj_cluster_at(x->f, x->bars, cj_cluster_rank(x->f));
    cj_mbarrier_arrive_cluster_if(x->f, x->p, a);
    cj_mbarrier_arrive_cluster(x->f, a);
    cj_cluster_size(x->f);
    cj_cluster_sync(x->f);
}
static void roles(const parts *x)
{
    cj_val group;
    cj_warpgroup_id(x->f, &group);
    cj_fn_max_threads(x->f, 384, 1, 1);
    cj_fn_min_blocks(x->f, 1);
    cj_role_fewer(x->f, group, 0, 1, 40);
    cj_else(x->f);
    cj_role_more(x->f, group, 1, 2, 232);
    cj_end(x->f);
    cj_end(x->f);
}
static void mbarrier(const parts *x)
{
    cj_mbarrier_init(x->f, x->bars, 4);
    cj_mbarrier_arrive(x->f, x->bars);
}
static void mbarrier_test(const parts *x)
{
    cj_val p;
    cj_mbarrier_test(x->f, x->bars, 1, &p);
}
static void mbarrier_wait(const parts *x)
{
    cj_mbarrier_expect_if(x->f, x->p, x->bars, 512);
    cj_mbarrier_wait(x->f, x->bars, x->w);
}
static void ring(const parts *x)
{
    cj_ring r;
    cj_ring_init(x->f, x->bars, 3, 1, 2);
    cj_mbarrier_init_fence(x->f);
    cj_ring_begin(x->f, x->bars, 3, &r);
    cj_ring_wait_empty(x->f, &r);
    cj_ring_wait_full(x->f, &r);
    cj_ring_release_if(x->f, x->p, &r, (cj_val){ 0 });
    cj_ring_next(x->f, &r);
}
static void async_copy(const parts *x)
{
    cj_async_copy(x->f, x->shared, x->global, 16);
    cj_async_copy(x->f, x->shared, x->global, 4);
    cj_async_copy_zero(x->f, x->shared, x->global, 8, x->w);
    cj_async_commit(x->f);
    cj_async_wait(x->f, 1);
}
static void bulk(const parts *x)
{
    cj_bulk_load_if(x->f, x->p, x->shared, x->global, 1024, x->bars);
    cj_fence_async_shared(x->f);
    cj_bulk_store(x->f, x->global, x->shared, x->w);
    cj_bulk_commit(x->f);
    cj_bulk_wait_read(x->f, 1);
    cj_bulk_wait_if(x->f, x->p, 0);
}
static void tma(const parts *x)
{
    cj_tma_prefetch_if(x->f, x->p, x->map);
    cj_tma_load_if(x->f, x->p, x->shared, x->map, cj_vec(x->f, x->w, 8), x->bars);
    cj_tma_load(x->f, x->shared, x->map, cj_vec(x->f, 0, x->w, 8), x->bars);
    cj_tma_load(x->f, x->shared, x->map, x->w, x->bars);
    cj_tma_store(x->f, x->map, cj_vec(x->f, 1, 2, 3, 4, 5), x->shared);
    cj_tma_store_add_if(x->f, x->p, x->map, cj_vec(x->f, 1, 2), x->shared);
}
static void tma_multicast(const parts *x)
{
    cj_tma_load_multicast(x->f, x->shared, x->map, cj_vec(x->f, 0, x->w), x->bars, 3);
}
static void tma_im2col(const parts *x)
{
    cj_tma_load_im2col(x->f, x->shared, x->map, cj_vec(x->f, 0, x->w, 1, 2), cj_vec(x->f, 1, 2), x->bars);
}
static void wgmma_of(const parts *x, const cj_wgmma_shape *w, bool fragments)
{
    cj_wgmma_matrix a, b;
    cj_val d = cj_wgmma_accumulators(x->f, w);
    cj_wgmma_matrix_begin(x->f, x->shared, 16, 1024, CJ_SWIZZLE_128B, &a);
    cj_wgmma_matrix_begin(x->f, cj_mem(x->f, x->shared, 8192), 16, 1024, CJ_SWIZZLE_128B, &b);
    cj_wgmma_fence(x->f);
    for (int j = 0; j < 2; j++)
        cj_wgmma(x->f, w, d, fragments ? cj_regs(x->f, CJ_B32, 4) : cj_wgmma_operand(x->f, &a, 32 * j),
                 cj_wgmma_operand(x->f, &b, 32 * j), j > 0);
    cj_wgmma_commit(x->f);
    cj_wgmma_wait(x->f, 0);
}
#define WGMMA(name, fragments, ...) \
    static void name(const parts *x) { wgmma_of(x, &(const cj_wgmma_shape){ __VA_ARGS__ }, fragments); }
WGMMA(wgmma_bf16, false, .n = 128, .a = CJ_MMA_BF16, .b = CJ_MMA_BF16, .d = CJ_MMA_F32)
WGMMA(wgmma_f16, false, .n = 8, .a = CJ_MMA_F16, .b = CJ_MMA_F16, .d = CJ_MMA_F16, .a_mn = 1, .b_mn = 1)
WGMMA(wgmma_tf32, false, .n = 64, .a = CJ_MMA_TF32, .b = CJ_MMA_TF32, .d = CJ_MMA_F32)
WGMMA(wgmma_fp8, false, .n = 256, .a = CJ_MMA_E4M3, .b = CJ_MMA_E5M2, .d = CJ_MMA_F32)
WGMMA(wgmma_s8, false, .n = 96, .a = CJ_MMA_S8, .b = CJ_MMA_S8, .d = CJ_MMA_S32, .saturate = 1)
WGMMA(wgmma_s8_u8, false, .n = 256, .a = CJ_MMA_S8, .b = CJ_MMA_U8, .d = CJ_MMA_S32)
WGMMA(wgmma_u8_s8, true, .n = 16, .a = CJ_MMA_U8, .b = CJ_MMA_S8, .d = CJ_MMA_S32, .saturate = 1)
WGMMA(wgmma_fragments, true, .n = 64, .a = CJ_MMA_F16, .b = CJ_MMA_F16, .d = CJ_MMA_F32, .b_mn = 1)

static void store_tile_of(const parts *x, cj_type type, cj_type acc, unsigned n)
{
    cj_store_tile t;
    cj_store_tile_begin(x->f, type, x->shared, &t);
    cj_val d = cj_regs(x->f, acc, n);
    cj_assign_all(x->f, d, cj_imm(x->f, 0));
    cj_store_tile_write(x->f, &t, 8192, d);
}
static void store_bf16(const parts *x) { store_tile_of(x, CJ_BF16, CJ_F32, 32); }
static void store_f32(const parts *x) { store_tile_of(x, CJ_F32, CJ_F32, 16); }

static void mma_of(const parts *x, const cj_mma_shape *s)
{
    cj_val a = cj_mma_a(x->f, s), b = cj_mma_b(x->f, s), d = cj_mma_accumulators(x->f, s);
    cj_assign_all(x->f, a, cj_imm(x->f, 0));
    cj_assign_all(x->f, b, cj_imm(x->f, 0));
    cj_assign_all(x->f, d, cj_imm(x->f, 0));
    cj_mma(x->f, s, d, a, b, d);
}
#define MMA(name, ...) static void name(const parts *x) { mma_of(x, &(const cj_mma_shape){ __VA_ARGS__ }); }
MMA(mma_bf16, .k = 16, .a = CJ_MMA_BF16, .b = CJ_MMA_BF16, .d = CJ_MMA_F32)
MMA(mma_f16, .k = 8, .a = CJ_MMA_F16, .b = CJ_MMA_F16, .d = CJ_MMA_F16)
MMA(mma_tf32, .k = 8, .a = CJ_MMA_TF32, .b = CJ_MMA_TF32, .d = CJ_MMA_F32)
MMA(mma_s8, .k = 32, .a = CJ_MMA_S8, .b = CJ_MMA_U8, .d = CJ_MMA_S32, .saturate = 1)
MMA(mma_fp8, .k = 32, .a = CJ_MMA_E4M3, .b = CJ_MMA_E4M3, .d = CJ_MMA_F32)
MMA(mma_f64, .k = 8, .a = CJ_MMA_F64, .b = CJ_MMA_F64, .d = CJ_MMA_F64)

static void matrices(const parts *x)
{
    cj_val r;
    cj_matrix_load(x->f, 4, 0, cj_mma_a_at(x->f, x->shared, 128, 32, CJ_SWIZZLE_128B), &r);
    cj_matrix_load(x->f, 4, 1, cj_mma_b_at(x->f, x->shared, 64, 0, CJ_SWIZZLE_64B), &r);
    cj_matrix_load(x->f, 2, 0, cj_mma_a_at(x->f, x->shared, 48, 0, CJ_SWIZZLE_NONE), &r);
}
static void matrix_store(const parts *x)
{
    cj_val r = cj_regs(x->f, CJ_B32, 4);
    cj_assign_all(x->f, r, 0);
    cj_matrix_store(x->f, 4, 0, cj_mma_a_at(x->f, x->shared, 32, 0, CJ_SWIZZLE_32B), r);
}

/* What must be printed, parts of lines; what must not. */
static const struct row {
    const char *name;
    void (*make)(const parts *);
    const char *target, *version;      /* the least */
    const char *has[6], *lacks;
} rows[] = {
    { "ids of warps",
      ids,
      "sm_30",
      "6.0",
      { "shr.u32 %u", ", 5;", ", 7;", "shfl.sync.idx.b32", ", 0, 31, 4294967295;" },
      "bfly" },
    { "a uniform value", uniform, "sm_30", "6.0", { "shfl.sync.idx.b32" }, "vote" },
    { "one lane elected",
      elect,
      "sm_90",
      "8.0",
      { "elect.sync _|%p", "@%p", "mbarrier.arrive.shared.b64 _, [bars]" },
      "bra" },
    { "a named barrier", named_sync, "sm_20", "2.3", { "bar.sync %u", ", 128;" }, "bar.sync 0" },
    { "an arrival at a named barrier", named_arrive, "sm_20", "2.3", { "bar.arrive 3, 128;" }, "bar.sync" },
    { "a barrier of the grid",
      grid_sync,
      "sm_20",
      "2.3",
      { "bar.sync 0;", "membar.gl;", "atom.global.add.u32", "ld.volatile.global.u32", "xor.b32" },
      "membar.sys" },
    { "programmatic dependent launch",
      dependents,
      "sm_90",
      "7.8",
      { "griddepcontrol.launch_dependents;", "griddepcontrol.wait;" },
      "bar.sync" },
    { "a cluster",
      cluster,
      "sm_90",
      "8.0",
      { "mapa.shared::cluster.u32", "%cluster_ctarank", "mbarrier.arrive.shared::cluster.b64 _",
        "barrier.cluster.arrive.release;", "barrier.cluster.wait.acquire;" },
      "mbarrier.arrive.release" },
    { "roles",
      roles,
      "sm_90a",
      "8.0",
      { "setmaxnreg.dec.sync.aligned.u32 40;", "setmaxnreg.inc.sync.aligned.u32 232;", "setp.eq.u32", "setp.lt.u32" },
      "trap" },
    { "an mbarrier",
      mbarrier,
      "sm_80",
      "7.1",
      { "mbarrier.init.shared.b64 [bars], 4;", "mbarrier.arrive.shared.b64 _, [bars];" },
      "fence" },
    { "an mbarrier tested", mbarrier_test, "sm_80", "7.1", { "mbarrier.test_wait.parity.shared.b64" }, "bra" },
    { "a wait for an mbarrier",
      mbarrier_wait,
      "sm_90",
      "8.0",
      { "mbarrier.arrive.expect_tx.shared.b64 _, [bars], 512;", "mbarrier.try_wait.parity.shared.b64", "bra" },
      "test_wait" },
    { "a ring",
      ring,
      "sm_90",
      "8.0",
      { "mbarrier.init.shared.b64 [%u", "+40], 2;", "fence.mbarrier_init.release.cluster;", "xor.b32", "mov.u32" },
      "rem" },
    { "copies by threads",
      async_copy,
      "sm_80",
      "7.0",
      { "cp.async.cg.shared.global [shared], [", "], 16;", "cp.async.ca.shared.global", ", 8, %u",
        "cp.async.commit_group;", "cp.async.wait_group 1;" },
      "bulk" },
    { "bulk copies",
      bulk,
      "sm_90",
      "8.0",
      { "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [shared], [",
        "fence.proxy.async.shared::cta;", "cp.async.bulk.global.shared::cta.bulk_group",
        "cp.async.bulk.wait_group.read 1;", "cp.async.bulk.wait_group 0;" },
      "tensor" },
    { "tensors",
      tma,
      "sm_90",
      "8.0",
      { "prefetch.tensormap [",
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [shared], [",
        "cp.async.bulk.tensor.3d.", "cp.async.bulk.tensor.1d.", "cp.async.bulk.tensor.5d.global.shared::cta.bulk_group",
        "cp.reduce.async.bulk.tensor.2d.global.shared::cta.add" },
      "multicast" },
    { "a tensor for several blocks",
      tma_multicast,
      "sm_90",
      "8.0",
      { ".mbarrier::complete_tx::bytes.multicast::cluster [shared], [", "[bars], 3;" },
      "im2col" },
    { "a tensor as columns",
      tma_im2col,
      "sm_90",
      "8.0",
      { "cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes", "{1, 2};" },
      "multicast" },
    { "wgmma of bf16",
      wgmma_bf16,
      "sm_90a",
      "8.0",
      { "wgmma.fence.sync.aligned;", "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {", ", 1, 1, 0, 0;",
        "wgmma.commit_group.sync.aligned;", "wgmma.wait_group.sync.aligned 0;", "1073741888" },
      "satfinite" },
    { "wgmma of f16, both transposed",
      wgmma_f16,
      "sm_90a",
      "8.0",
      { "m64n8k16.f16.f16.f16 {", ", 1, 1, 1, 1;" },
      ".f32.f16" },
    { "wgmma of tf32", wgmma_tf32, "sm_90a", "8.0", { "m64n64k8.f32.tf32.tf32 {", ", 1, 1;" }, "satfinite" },
    { "wgmma of 8-bit floats", wgmma_fp8, "sm_90a", "8.0", { "m64n256k32.f32.e4m3.e5m2 {" }, "satfinite" },
    { "wgmma of integers", wgmma_s8, "sm_90a", "8.0", { "m64n96k32.satfinite.s32.s8.s8 {" }, ", 1, 1;" },
    { "wgmma of signed by unsigned integers",
      wgmma_s8_u8,
      "sm_90a",
      "8.4",
      { "wgmma.mma_async.sync.aligned.m64n256k32.s32.s8.u8 {" },
      ", 1, 1;" },
    { "wgmma of unsigned by signed integers, A in registers",
      wgmma_u8_s8,
      "sm_90a",
      "8.4",
      { "wgmma.mma_async.sync.aligned.m64n16k32.satfinite.s32.u8.s8 {" },
      ", 1, 1;" },
    { "wgmma with A in registers",
      wgmma_fragments,
      "sm_90a",
      "8.0",
      { "m64n64k16.f32.f16.f16 {", ", 1, 1, 1;" },
      "satfinite" },
    { "a tile of bf16 stored",
      store_bf16,
      "sm_90",
      "7.8",
      { "cvt.rn.bf16x2.f32", "stmatrix.sync.aligned.m8n8.x4.shared.b16 [", "+8192], {" },
      "st.shared" },
    { "a tile of f32 stored",
      store_f32,
      "sm_20",
      "2.3",
      { "st.shared.v2.b32 [", "+8192], {", "+9216], {" },
      "stmatrix" },
    { "mma of bf16",
      mma_bf16,
      "sm_80",
      "7.0",
      { "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {" },
      "satfinite" },
    { "mma of f16", mma_f16, "sm_75", "6.5", { "mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 {" }, ".f32.f16" },
    { "mma of tf32",
      mma_tf32,
      "sm_80",
      "7.0",
      { "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {" },
      "satfinite" },
    { "mma of integers",
      mma_s8,
      "sm_80",
      "7.0",
      { "mma.sync.aligned.m16n8k32.row.col.satfinite.s32.s8.u8.s32 {" },
      ".f32.f16" },
    { "mma of 8-bit floats",
      mma_fp8,
      "sm_89",
      "8.4",
      { "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 {" },
      "satfinite" },
    { "mma of f64", mma_f64, "sm_90", "7.8", { "mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {" }, ".f32.f16" },
    { "matrices loaded",
      matrices,
      "sm_75",
      "6.5",
      { "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {", "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {",
        "ldmatrix.sync.aligned.m8n8.x2.shared.b16 {" },
      "stmatrix" },
    { "matrices stored", matrix_store, "sm_90", "7.8", { "stmatrix.sync.aligned.m8n8.x4.shared.b16 [" }, "ldmatrix" },
};

/* A tensor map wants sm_70 and 7.7 itself: rows below have none. */
static cj_ptx *begin(parts *x, bool map)
{
    cj_ptx *m = cj_ptx_create();
    cj_fn *f = cj_ptx_kernel(m, "k");
    *x = (parts){ .f = f };
    x->global = cj_param_ptr(f, "global", CJ_U32);
    if (map) x->map = cj_param_tensor_map(f, "map");
    x->v = cj_param(f, "v", CJ_F32);
    x->w = cj_param(f, "w", CJ_U32);
    x->p = cj_eq(f, x->w, 7);
    x->shared = cj_shared(f, "shared", CJ_B32, 4096);
    cj_var_align(f, x->shared, 1024);
    x->bars = cj_shared(f, "bars", CJ_B64, 16);
    return m;
}

static void check_rows(void)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct row *r = &rows[i];
        const char *text = "";
        parts x;
        cj_ptx *m = begin(&x, strncmp(r->target, "sm_90", 5) == 0);
        r->make(&x);
        tap_is_int(cj_ptx_print(m, 0, &text, NULL), CJ_OK, "%s: %s", r->name, cj_error_of(m)->message);
        for (size_t k = 0; k < sizeof r->has / sizeof *r->has && r->has[k]; k++)
            tap_has_str(text, r->has[k], "%s: has %s", r->name, r->has[k]);
        tap_ok(!strstr(text, r->lacks), "%s: has no %s", r->name, r->lacks);
        tap_is_str(cj_ptx_target(m), r->target, "%s: the least target", r->name);
        tap_is_int(cj_ptx_version(m), (r->version[0] - '0') * 10 + r->version[2] - '0', "%s: the least version",
                   r->name);
        ptxas_takes(text, r->name);
        cj_ptx_free(m);
    }
}

/* ---- Mistakes ---------------------------------------------------------------------------------------------------- */

static cj_val out;
static void many_registers(const parts *x) { cj_warp_reduce(x->f, CJ_COMBINE_ADD, cj_regs(x->f, CJ_F32, 9), 32, &out); }
static void width_3(const parts *x) { cj_warp_reduce(x->f, CJ_COMBINE_ADD, x->v, 3, &out); }
static void width_64(const parts *x) { cj_warp_scan(x->f, CJ_COMBINE_ADD, x->v, 64, &out, NULL); }
static void bits_of_floats(const parts *x) { cj_warp_reduce(x->f, CJ_COMBINE_XOR, x->v, 32, &out); }
static void no_operation(const parts *x) { cj_warp_reduce(x->f, (cj_combine_op)9, x->v, 32, &out); }
static void null_function(const parts *x) { cj_warp_reduce_fn(x->f, NULL, x->v, 32, &out); }
static void kernel_as_function(const parts *x) { cj_warp_reduce_fn(x->f, x->f, x->v, 32, &out); }
static void short_function(const parts *x)
{
    cj_fn *g = cj_ptx_func(cj_fn_module(x->f), "g");
    cj_param(g, "a", CJ_F32);
    cj_result(g, "r", CJ_F32);
    cj_warp_reduce_fn(x->f, g, x->v, 32, &out);
}
static void no_identity(const parts *x)
{
    cj_fn *g = cj_ptx_func(cj_fn_module(x->f), "g");
    cj_param(g, "a", CJ_F32);
    cj_param(g, "b", CJ_F32);
    cj_result(g, "r", CJ_F32);
    cj_warp_scan_fn(x->f, g, x->v, (cj_val){ 0 }, 32, NULL, &out);
}
static void threads_33(const parts *x)
{
    cj_block_reduce(x->f, CJ_COMBINE_ADD, x->v, CJ_THREAD_GROUP(.threads = 33), &out);
}
static void threads_2048(const parts *x)
{
    cj_block_scan(x->f, CJ_COMBINE_ADD, x->v, CJ_THREAD_GROUP(.threads = 2048), &out, NULL, NULL);
}
static void no_group(const parts *x) { cj_block_broadcast(x->f, x->v, 0, NULL, &out); }
static void predicate_value(const parts *x) { cj_warp_broadcast(x->f, x->p, 0, &out); }
static void lane_32(const parts *x) { cj_warp_broadcast(x->f, x->v, 32, &out); }
static void lane_below_0(const parts *x) { cj_warp_broadcast(x->f, x->v, -1, &out); }
static void thread_32(const parts *x)
{
    cj_block_broadcast(x->f, x->v, 32, CJ_THREAD_GROUP(.threads = 32), &out);
}
static void thread_64(const parts *x)
{
    cj_block_broadcast(x->f, x->v, 64, CJ_THREAD_GROUP(.threads = 64), &out);
}
static void uniform_f64(const parts *x) { cj_warp_uniform(x->f, cj_reg(x->f, CJ_F64), &out); }
static void uniform_u16(const parts *x) { cj_warp_uniform(x->f, cj_reg(x->f, CJ_U16), &out); }
static void uniform_predicate(const parts *x) { cj_warp_uniform(x->f, x->p, &out); }
static void uniform_clock(const parts *x) { cj_warp_uniform(x->f, cj_sreg(x->f, "%clock64"), &out); }
static void registers_41(const parts *x) { cj_role_fewer(x->f, x->w, 0, 1, 41); }
static void no_warpgroups(const parts *x) { cj_role_more(x->f, x->w, 0, 0, 232); }
static void stages_0(const parts *x) { cj_ring_init(x->f, x->bars, 0, 1, 1); }
static void stages_65(const parts *x)
{
    cj_ring r;
    cj_ring_begin(x->f, x->bars, 65, &r);
}
static void ring_not_begun(const parts *x)
{
    const cj_ring r = { .stages = 0 };
    cj_ring_next(x->f, &r);
}
static void ring_null(const parts *x) { cj_ring_wait_full(x->f, NULL); }
static void copy_of_12(const parts *x) { cj_async_copy(x->f, x->shared, x->global, 12); }
static void copy_from_u32(const parts *x) { cj_async_copy(x->f, x->shared, x->w, 16); }
static void copy_from_u32_offset(const parts *x) { cj_async_copy_zero(x->f, x->shared, cj_mem(x->f, x->w, 16), 16, 8); }
static void bulk_from_u32(const parts *x) { cj_bulk_load(x->f, x->shared, x->w, 1024, x->bars); }
static void bulk_to_u32(const parts *x) { cj_bulk_store(x->f, x->w, x->shared, 1024); }
static void map_in_u32(const parts *x) { cj_tma_prefetch(x->f, x->w); }
static void groups_32(const parts *x) { cj_bulk_wait(x->f, 32); }
static void float_address(const parts *x) { cj_cluster_at(x->f, x->v, 1); }
static void six_coordinates(const parts *x)
{
    cj_tma_load(x->f, x->shared, x->map, cj_vec(x->f, 0, 0, 0, 0, 0, 0), x->bars);
}
static void n_12(const parts *x)
{
    cj_wgmma_accumulators(x->f,
                          &(const cj_wgmma_shape){ .n = 12, .a = CJ_MMA_BF16, .b = CJ_MMA_BF16, .d = CJ_MMA_F32 });
}
static void mixed_types(const parts *x)
{
    cj_wgmma_accumulators(x->f, &(const cj_wgmma_shape){ .n = 16, .a = CJ_MMA_BF16, .b = CJ_MMA_F16, .d = CJ_MMA_F32 });
}
static void k_12(const parts *x)
{
    cj_mma_a(x->f, &(const cj_mma_shape){ .k = 12, .a = CJ_MMA_BF16, .b = CJ_MMA_BF16, .d = CJ_MMA_F32 });
}
static void place_of_k_12(const parts *x)
{
    cj_mma_a_position(x->f, &(const cj_mma_shape){ .k = 12, .a = CJ_MMA_BF16, .b = CJ_MMA_BF16, .d = CJ_MMA_F32 }, &out,
                      NULL);
}
static void place_of_no_shape(const parts *x) { cj_mma_b_position(x->f, NULL, NULL, &out); }
static void type_99(const parts *x)
{
    cj_mma_b(x->f, &(const cj_mma_shape){ .k = 16, .a = (cj_mma_type)99, .b = CJ_MMA_BF16, .d = CJ_MMA_F32 });
}
static void stride_8(const parts *x)
{
    cj_wgmma_matrix a;
    cj_wgmma_matrix_begin(x->f, x->shared, 16, 8, CJ_SWIZZLE_128B, &a);
}
static void no_matrix(const parts *x)
{
    const cj_wgmma_matrix a = { .high = 0 };
    cj_wgmma_operand(x->f, &a, 0);
}
static void operand_at(const parts *x, cj_val offset)
{
    cj_wgmma_matrix a;
    cj_wgmma_matrix_begin(x->f, x->shared, 16, 1024, CJ_SWIZZLE_128B, &a);
    cj_wgmma_operand(x->f, &a, offset);
}
static void operand_at_8(const parts *x) { operand_at(x, cj_imm(x->f, 8)); }
static void operand_at_minus_24(const parts *x) { operand_at(x, cj_imm(x->f, -24)); }
static void operand_far_off(const parts *x) { operand_at(x, cj_imm(x->f, 262144)); }
static void n_of_s8(const parts *x)
{
    wgmma_of(x, &(const cj_wgmma_shape){ .n = 32, .a = CJ_MMA_S8, .b = CJ_MMA_S8, .d = CJ_MMA_S32, .b_mn = 1 }, false);
}
static void m_of_u8(const parts *x)
{
    cj_wgmma_accumulators(x->f, &(const cj_wgmma_shape){ .n = 32, .a = CJ_MMA_U8, .b = CJ_MMA_S8, .d = CJ_MMA_S32,
                                                         .a_mn = 1 });
}
static void m_of_tf32(const parts *x)
{
    wgmma_of(x, &(const cj_wgmma_shape){ .n = 8, .a = CJ_MMA_TF32, .b = CJ_MMA_TF32, .d = CJ_MMA_F32, .a_mn = 1 },
             false);
}
static void n_of_e4m3(const parts *x)
{
    wgmma_of(x, &(const cj_wgmma_shape){ .n = 8, .a = CJ_MMA_E4M3, .b = CJ_MMA_E5M2, .d = CJ_MMA_F32, .b_mn = 1 },
             true);
}
static void m_of_registers(const parts *x)
{
    wgmma_of(x, &(const cj_wgmma_shape){ .n = 8, .a = CJ_MMA_BF16, .b = CJ_MMA_BF16, .d = CJ_MMA_F32, .a_mn = 1 },
             true);
}
static void groups_8(const parts *x) { cj_wgmma_wait(x->f, 8); }
static void three_matrices(const parts *x) { cj_matrix_load(x->f, 3, 0, x->shared, &out); }
static void pitch_of_swizzle(const parts *x) { cj_mma_a_at(x->f, x->shared, 64, 0, CJ_SWIZZLE_128B); }
static void column_16(const parts *x) { cj_mma_b_at(x->f, x->shared, 128, 16, CJ_SWIZZLE_128B); }
static void column_beyond(const parts *x) { cj_mma_b_at(x->f, x->shared, 64, 64, CJ_SWIZZLE_NONE); }
static void pitch_16(const parts *x) { cj_mma_a_at(x->f, x->shared, 16, 0, CJ_SWIZZLE_NONE); }
static void tile_of_f64(const parts *x)
{
    cj_store_tile t;
    cj_store_tile_begin(x->f, CJ_F64, x->shared, &t);
}
static void tile_offset(const parts *x)
{
    cj_store_tile t;
    cj_store_tile_begin(x->f, CJ_F32, x->shared, &t);
    cj_store_tile_write(x->f, &t, 4096, cj_regs(x->f, CJ_F32, 16));
}
static void tile_registers(const parts *x)
{
    cj_store_tile t;
    cj_store_tile_begin(x->f, CJ_BF16, x->shared, &t);
    cj_store_tile_write(x->f, &t, 0, cj_regs(x->f, CJ_F32, 16));
}

static const struct { void (*make)(const parts *); cj_status status; const char *part; } mistakes[] = {
    { many_registers, CJ_EPTX, "cj_warp_reduce: the value has 9 registers, at most 8 fit" },
    { width_3, CJ_EINVAL, "the width is 3, wants 1, 2, 4, 8, 16 or 32" },
    { width_64, CJ_EINVAL, "cj_warp_scan: the width is 64" },
    { bits_of_floats, CJ_EPTX, "does not exist for .f32" },
    { no_operation, CJ_EINVAL, "there is no operation 9" },
    { null_function, CJ_EHANDLE, "the function is not a cj_fn" },
    { kernel_as_function, CJ_EINVAL, "is a kernel; kernels cannot be called" },
    { short_function, CJ_EPTX, "g has 1 parameters and 1 results; for a value of 1 registers it wants 2 and 1" },
    { no_identity, CJ_EINVAL, "wants the identity" },
    { threads_33, CJ_EINVAL, "the group has 33 threads, wants a multiple of 32 up to 1024" },
    { threads_2048, CJ_EINVAL, "the group has 2048 threads" },
    { no_group, CJ_EINVAL, "the group is NULL" },
    { predicate_value, CJ_EPTX, "wants a type of 16, 32 or 64 bits" },
    { lane_32, CJ_EINVAL, "cj_warp_broadcast: the lane is 32, wants 0 to 31" },
    { lane_below_0, CJ_EINVAL, "cj_warp_broadcast: the lane is -1, wants 0 to 31" },
    { thread_32, CJ_EINVAL, "cj_block_broadcast: the thread is 32, wants 0 to 31" },
    { thread_64, CJ_EINVAL, "cj_block_broadcast: the thread is 64, wants 0 to 63" },
    { uniform_f64, CJ_EPTX, "cj_warp_uniform: the value is .f64, wants 32 bits; cj_warp_broadcast takes others" },
    { uniform_u16, CJ_EPTX, "cj_warp_uniform: the value is .u16, wants 32 bits" },
    { uniform_predicate, CJ_EPTX, "cj_warp_uniform: the value is .pred, wants 32 bits" },
    { uniform_clock, CJ_EPTX, "cj_warp_uniform: the value is .u64, wants 32 bits" },
    { registers_41, CJ_EINVAL, "41 registers, wants a multiple of 8 from 24 to 256" },
    { no_warpgroups, CJ_EINVAL, "no warpgroups" },
    { stages_0, CJ_EINVAL, "0 stages, wants 1 to 64" },
    { stages_65, CJ_EINVAL, "65 stages" },
    { ring_not_begun, CJ_EINVAL, "cj_ring_begin has not started the ring" },
    { ring_null, CJ_EINVAL, "the ring is NULL" },
    { copy_of_12, CJ_EINVAL, "a copy of 12 bytes, wants 4, 8 or 16" },
    { copy_from_u32, CJ_EPTX, "cj_async_copy: the global address is in a .u32 register, wants 64 bits" },
    { copy_from_u32_offset, CJ_EPTX, "cj_async_copy_zero: the global address is in a .u32 register, wants 64 bits" },
    { bulk_from_u32, CJ_EPTX, "cj_bulk_load: the global address is in a .u32 register, wants 64 bits" },
    { bulk_to_u32, CJ_EPTX, "cj_bulk_store: the global address is in a .u32 register, wants 64 bits" },
    { map_in_u32, CJ_EPTX, "cj_tma_prefetch: the tensor map is in a .u32 register, wants 64 bits" },
    { groups_32, CJ_EINVAL, "32 groups, at most 31" },
    { float_address, CJ_EPTX, "the shared address is .f32" },
    { six_coordinates, CJ_EPTX, "6 coordinates, at most 5" },
    { n_12, CJ_EINVAL, "there is no wgmma.mma_async.sync.aligned.m64n12k16.f32.bf16.bf16" },
    { mixed_types, CJ_EINVAL, "there is no wgmma.mma_async.sync.aligned.m64n16k16.f32.bf16.f16" },
    { k_12, CJ_EINVAL, "there is no mma.sync.aligned.m16n8k12" },
    { place_of_k_12, CJ_EINVAL, "cj_mma_a_position: there is no mma.sync.aligned.m16n8k12" },
    { place_of_no_shape, CJ_EINVAL, "cj_mma_b_position: the shape is NULL" },
    { type_99, CJ_EINVAL, "a type of the shape does not exist" },
    { stride_8, CJ_EINVAL, "the stride distance is 8 bytes, wants a multiple of 16" },
    { no_matrix, CJ_EINVAL, "cj_wgmma_matrix_begin has not made the matrix" },
    { operand_at_8, CJ_EINVAL, "cj_wgmma_operand: the offset is 8 bytes, wants a multiple of 16 below 262144" },
    { operand_at_minus_24, CJ_EINVAL, "cj_wgmma_operand: the offset is -24 bytes, wants a multiple of 16" },
    { operand_far_off, CJ_EINVAL, "cj_wgmma_operand: the offset is 262144 bytes, wants a multiple of 16 below" },
    { n_of_s8, CJ_EINVAL, "b_mn is 1, but only matrices of f16 and bf16 may have n contiguous, not of s8; store it" },
    { m_of_u8, CJ_EINVAL, "cj_wgmma_accumulators: a_mn is 1, but only matrices of f16 and bf16 may have m contiguous" },
    { m_of_tf32, CJ_EINVAL, "a_mn is 1, but only matrices of f16 and bf16 may have m contiguous, not of tf32" },
    { n_of_e4m3, CJ_EINVAL, "b_mn is 1, but only matrices of f16 and bf16 may have n contiguous, not of e5m2" },
    { m_of_registers, CJ_EINVAL, "cj_wgmma: a_mn is 1, but A is in registers, which have one layout; set it to 0" },
    { groups_8, CJ_EINVAL, "8 groups, at most 7" },
    { three_matrices, CJ_EINVAL, "3 matrices, wants 1, 2 or 4" },
    { pitch_of_swizzle, CJ_EINVAL, "rows of 64 bytes, the swizzle wants 128" },
    { column_16, CJ_EINVAL, "byte column 16 of rows of 128 bytes" },
    { column_beyond, CJ_EINVAL, "byte column 64 of rows of 64 bytes" },
    { pitch_16, CJ_EINVAL, "byte column 0 of rows of 16 bytes" },
    { tile_of_f64, CJ_EINVAL, "the type is not" },
    { tile_offset, CJ_EINVAL, "the offset is 4096, wants a multiple of 8192" },
    { tile_registers, CJ_EPTX, "16 accumulators, the tile wants 32" },
};

static void check_mistakes(void)
{
    for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
        parts x;
        cj_ptx *m = begin(&x, true);
        mistakes[i].make(&x);
        tap_is_int(cj_ptx_status(m), mistakes[i].status, "%s: status", mistakes[i].part);
        tap_has_str(cj_error_of(m)->message, mistakes[i].part, "%s: message", mistakes[i].part);
        tap_has_str(cj_error_of(m)->message, "block_texts.c:", "%s: the line", mistakes[i].part);
        cj_ptx_free(m);
    }
}

int main(void)
{
    tap_plan(0);
    check_rows();
    check_mistakes();
    return tap_done();
}
