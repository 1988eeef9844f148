/* What building blocks write: the instructions and nothing dearer, the least target and version, taken by ptxas. */
#include <string.h>

#include "tests/blocks/block_parts.h"
#include "tests/ptx/ask_ptxas.h"
#include "tests/tap.h"

/* ---- Blocks: a kernel each --------------------------------------------------------------------------------------- */

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

int main(void)
{
    tap_plan(0);
    check_rows();
    return tap_done();
}
