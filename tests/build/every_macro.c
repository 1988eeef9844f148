/* Every macro of the public headers that takes arguments, used once: compiled as C99, C11, C++17 and C++20 by gcc and clang
 * (headers.sh). every_macro.sh fails when a macro of the headers is not in here. */
#include <cujit/cujit.h>

int main(void)
{
    size_t bytes = 0;
    const char *text = NULL;
    int sum = 0;
    cj_ptx *m = cj_ptx_create();
    cj_fn *f = cj_ptx_kernel(m, "f"), *g = f;
    cj_val v = cj_reg(f, CJ_F32), vs[2];
    cj_op op = cj_op_find("add.f32");
    vs[0] = vs[1] = v;

    /* -- Source lines: cujit/lines.h, in every language --------------------------------------------------------------- */

    m = cj_ptx_clone(m);
    sum += (int)cj_ptx_set_version(m, "x");
    sum += (int)cj_ptx_set_target(m, "x");
    sum += (int)cj_ptx_print(m, 0, &text, &bytes);
    g = cj_ptx_kernel(m, "x");
    g = cj_ptx_func(m, "x");
    g = cj_ptx_extern_func(m, "x");
    cj_fn_max_threads(f, 1, 1, 1);
    cj_fn_required_threads(f, 1, 1, 1);
    cj_fn_min_blocks(f, 1);
    cj_fn_max_registers(f, 1);
    cj_fn_required_cluster(f, 1, 1, 1);
    cj_pragma(f, "x");
    v = cj_param(f, "x", CJ_F32);
    v = cj_param_ptr(f, "x", CJ_F32);
    v = cj_param_ptr_in(f, "x", CJ_F32, CJ_SPACE_GLOBAL, 1);
    v = cj_param_bytes(f, "x", 1, 1);
    v = cj_result(f, "x", CJ_F32);
    v = cj_shared(f, "x", CJ_F32, 1);
    v = cj_shared_dynamic(f, "x", CJ_F32, 1);
    v = cj_local(f, "x", CJ_F32, 1);
    v = cj_ptx_global(m, "x", CJ_F32, 1, vs, 1);
    v = cj_ptx_const(m, "x", CJ_F32, 1, vs, 1);
    v = cj_ptx_extern(m, "x", CJ_SPACE_GLOBAL, CJ_F32, 1);
    cj_var_align(f, v, 1);
    cj_ptx_var_align(m, v, 1);
    v = cj_reg(f, CJ_F32);
    v = cj_regs(f, CJ_F32, 1);
    v = cj_imm_i(f, 1);
    v = cj_imm_u(f, 1);
    v = cj_imm_f32(f, 1);
    v = cj_imm_f64(f, 1);
    v = cj_imm_bits(f, CJ_F32, 1);
    sum += (int)cj_elem_of(f, v);
    sum += (int)cj_space_of(f, v);
    v = cj_as_ptr(f, v, CJ_F32, CJ_SPACE_GLOBAL);
    v = cj_mem(f, v, 1);
    v = cj_vec_n(f, vs, 1);
    v = cj_elem(f, v, 1);
    v = cj_pair(f, v, v);
    v = cj_not(f, v);
    v = cj_sink(f);
    v = cj_list_n(f, vs, 1);
    v = cj_fn_val(f, g);
    v = cj_sreg(f, "x");
    v = cj_texmem(f, v, v, v);
    v = cj_label(f);
    cj_label_bind(f, v);
    v = cj_branch_targets(f, vs, 1);
    cj_ins_n(f, "x", vs, 1);
    cj_ins_if_n(f, v, "x", vs, 1);
    cj_ins_unless_n(f, v, "x", vs, 1);
    v = cj_def_n(f, "x", vs, 1);
    cj_ins_form(f, 1, v, vs, 1);
    v = cj_def_form(f, 1, vs, 1);
    cj_ins_op(f, op, vs, 1);
    v = cj_def_op(f, op, vs, 1);
    v = cj_add(f, v, v);
    v = cj_sub(f, v, v);
    v = cj_mul(f, v, v);
    v = cj_mul_hi(f, v, v);
    v = cj_mul_wide(f, v, v);
    v = cj_mad(f, v, v, v);
    v = cj_fma(f, v, v, v);
    v = cj_div(f, v, v);
    v = cj_rem(f, v, v);
    v = cj_min(f, v, v);
    v = cj_max(f, v, v);
    v = cj_neg(f, v);
    v = cj_abs(f, v);
    v = cj_sqrt(f, v);
    v = cj_rcp(f, v);
    v = cj_floor(f, v);
    v = cj_ceil(f, v);
    v = cj_trunc(f, v);
    v = cj_round(f, v);
    v = cj_approx_div(f, v, v);
    v = cj_approx_sqrt(f, v);
    v = cj_approx_rsqrt(f, v);
    v = cj_approx_rcp(f, v);
    v = cj_approx_sin(f, v);
    v = cj_approx_cos(f, v);
    v = cj_approx_exp2(f, v);
    v = cj_approx_log2(f, v);
    v = cj_and(f, v, v);
    v = cj_or(f, v, v);
    v = cj_xor(f, v, v);
    v = cj_inv(f, v);
    v = cj_shl(f, v, v);
    v = cj_shr(f, v, v);
    v = cj_popc(f, v);
    v = cj_clz(f, v);
    v = cj_brev(f, v);
    v = cj_eq(f, v, v);
    v = cj_ne(f, v, v);
    v = cj_lt(f, v, v);
    v = cj_le(f, v, v);
    v = cj_gt(f, v, v);
    v = cj_ge(f, v, v);
    v = cj_select(f, v, v, v);
    v = cj_mov(f, v);
    v = cj_let(f, CJ_F32, v);
    cj_assign(f, v, v);
    v = cj_cvt(f, CJ_F32, v);
    v = cj_bits(f, CJ_F32, v);
    v = cj_get(f, v, v);
    cj_set(f, v, v, v);
    v = cj_at(f, v, v);
    v = cj_load(f, CJ_F32, v);
    cj_store(f, CJ_F32, v, v);
    v = cj_addr(f, v);
    v = cj_addr_generic(f, v);
    v = cj_atomic_add(f, v, v);
    v = cj_atomic_min(f, v, v);
    v = cj_atomic_max(f, v, v);
    v = cj_atomic_and(f, v, v);
    v = cj_atomic_or(f, v, v);
    v = cj_atomic_xor(f, v, v);
    v = cj_atomic_exch(f, v, v);
    v = cj_atomic_cas(f, v, v, v);
    v = cj_thread_id(f, CJ_X);
    v = cj_block_id(f, CJ_X);
    v = cj_block_size(f, CJ_X);
    v = cj_grid_size(f, CJ_X);
    v = cj_global_id(f, CJ_X);
    v = cj_global_size(f, CJ_X);
    v = cj_lane_id(f);
    cj_block_sync(f);
    cj_warp_sync(f, v);
    cj_fence_block(f);
    cj_fence_device(f);
    cj_fence_system(f);
    v = cj_shfl_down(f, v, v);
    v = cj_shfl_up(f, v, v);
    v = cj_shfl_xor(f, v, v);
    v = cj_shfl_idx(f, v, v);
    v = cj_vote_any(f, v);
    v = cj_vote_all(f, v);
    v = cj_vote_uni(f, v);
    v = cj_vote_ballot(f, v);
    cj_if(f, v);
    cj_else(f);
    cj_end(f);
    cj_loop(f);
    cj_while(f, v);
    v = cj_for(f, v, v, v);
    cj_break(f);
    cj_break_if(f, v);
    cj_break_unless(f, v);
    cj_continue(f);
    cj_continue_if(f, v);
    cj_continue_unless(f, v);
    cj_return(f);
    cj_return_if(f, v);
    cj_return_value(f, v);
    v = cj_call_n(f, g, vs, 1);
    cj_call_into(f, g, vs, 1, vs, 1);

    /* -- Any number of operands: C11 and C++ ---------------------------------------------------------------------------- */

#if defined __cplusplus || (defined __STDC_VERSION__ && __STDC_VERSION__ >= 201112L)
    v = cj_imm(f, 1);
    v = cj_imm(f, 1.5f);
    v = cj_imm(f, 1.5);
    v = cj_imm(f, 1u);
    v = cj_imm(f, 1L);
    v = cj_imm(f, 1UL);
    v = cj_imm(f, (long long)1);
    v = cj_imm(f, (unsigned long long)1);
    v = cj_imm(f, v);
    cj_ins(f, "ret");
    cj_ins(f, "mov.f32", v, 1);
    cj_ins(f, "fma.rn.f32", v, v, 2.0f, 3.0);
    cj_ins_if(f, v, "ret");
    cj_ins_if(f, v, "bra", cj_label(f));
    cj_ins_unless(f, v, "ret");
    cj_ins_unless(f, v, "bra", cj_label(f));
    v = cj_def(f, "mov.f32", 1);
    v = cj_def(f, "fma.rn.f32", v, 2u, 3L);
    v = cj_def(f, "mov.f32", 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16);
    v = cj_vec(f, v);
    v = cj_vec(f, v, 1, 2.0, v);
    v = cj_call(f, g);
    v = cj_call(f, g, v, 1);
    {
        cj_stream *s = NULL;
        cj_kernel *k = NULL;
        cj_dptr d = { 0 };
        sum += (int)cj_launch(s, k, cj_grid(1, 32));
        sum += (int)cj_launch(s, k, cj_grid3(1, 1, 1, 32, 1, 1), d);
        sum += (int)cj_launch(s, k, cj_dims_shared(cj_threads(1000, 32), 16), cj_offset(d, 4), 1, 2u, 3L, 4UL, 5.0f, 6.0,
                              (char)7, (signed char)8, (unsigned char)9, (short)10, (unsigned short)11, (long long)12,
                              (unsigned long long)13, (bool)1, cj_arg_bytes(&bytes, sizeof bytes), cj_arg_i(-1));
        sum += (int)cj_launch(s, k, cj_grid(1, 1), 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21,
                              22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32);
    }
#endif

    /* -- Nodes ------------------------------------------------------------------------------------------------------------ */

#if defined __cplusplus || __STDC_VERSION__ >= 201112L
    {
        cj_graph *graph = NULL;
        cj_kernel *k = NULL;
        cj_graph_exec *x = NULL;
        cj_dptr d = { 0 };
        cj_node *a = cj_graph_kernel(graph, NULL, k, cj_grid(1, 32)), *b = cj_graph_kernel(graph, CJ_NODES(a), k, cj_grid(1, 32), d, 1);
        b = cj_graph_empty(graph, CJ_NODES(a, b));
        sum += (int)cj_graph_exec_set_args(x, b, d, 2.0f);
    }
#endif

    /* -- Option literals: C and C++20 ------------------------------------------------------------------------------------ */

#if !defined __cplusplus || __cplusplus >= 202002L
    {
        cj_device *dev = NULL;
        cj_graph *graph = NULL;
        cj_device_close(cj_device_open(NULL, 0, CJ_DEVICE(.schedule = CJ_SCHEDULE_BLOCKING)));
        cj_host_free(dev, cj_host_alloc(dev, 64, CJ_HOST(.write_combined = 1)));
        cj_kernel_free(cj_kernel_load(dev, m, "f", CJ_COMPILE(.opt_level = 3, .max_registers = 64)));
        cj_stream_free(cj_stream_create(dev, CJ_STREAM(.priority = CJ_PRIORITY_HIGH)));
        cj_event_free(cj_event_create(dev, CJ_EVENT(.timing = 1, .blocking = 1)));
        cj_copy_3d(NULL, CJ_COPY_3D(.width = 1, .height = 1, .depth = 1));
        cj_driver_close(cj_driver_open_interposed(NULL, CJ_INTERPOSER(.fail_at = 1)));
        cj_graph_exec_free(cj_graph_instantiate(graph, CJ_GRAPH_EXEC(.node_priorities = 1)));
        cj_graph_exec_cache_free(cj_graph_exec_cache_create(dev, CJ_GRAPH_EXEC_CACHE(.execs = 8, .exec = CJ_GRAPH_EXEC(.auto_free = 1))));
        sum += (int)cj_capture_begin_opts(NULL, CJ_CAPTURE(.mode = CJ_CAPTURE_RELAXED, .join = 1, .into = graph));
    }
#endif
    return sum + (int)(v.bits & 1) + (int)(text != NULL);
}
