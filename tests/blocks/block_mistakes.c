/* What building blocks reject: the status, the sentence and the line of each mistake. */
#include "tests/blocks/block_parts.h"
#include "tests/tap.h"

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
static void wgmma_of(const parts *x, const cj_wgmma_shape *w, bool fragments)
{
    cj_wgmma_matrix m;
    cj_val d = cj_wgmma_accumulators(x->f, w);
    cj_wgmma_matrix_begin(x->f, x->shared, 16, 1024, CJ_SWIZZLE_128B, &m);
    cj_val operand = cj_wgmma_operand(x->f, &m, 0);
    cj_wgmma(x->f, w, d, fragments ? cj_regs(x->f, CJ_B32, 4) : operand, operand, 1);
}
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

int main(void)
{
    tap_plan(0);
    for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
        parts x;
        cj_ptx *m = begin(&x, true);
        mistakes[i].make(&x);
        tap_is_int(cj_ptx_status(m), mistakes[i].status, "%s: status", mistakes[i].part);
        tap_has_str(cj_error_of(m)->message, mistakes[i].part, "%s: message", mistakes[i].part);
        tap_has_str(cj_error_of(m)->message, "block_mistakes.c:", "%s: the line", mistakes[i].part);
        cj_ptx_free(m);
    }
    return tap_done();
}
