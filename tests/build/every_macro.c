/* Every macro of the public headers that takes arguments, used once: compiled as C99, C11, C++17 and C++20 by gcc and
 * clang (headers.sh).  every_macro.sh fails when a macro of the headers is not in here. */
#include <cujit/cujit.h>
#include <cujit/kernels.h>

int main(void)
{
    size_t bytes = 0;
    const char *text = NULL;
    int sum = 0;
    cj_ptx *m = cj_ptx_create();
    cj_fn *f = cj_ptx_kernel(m, "f"), *g = f;
    cj_val v = cj_reg(f, CJ_F32), vs[2];
#if defined __GNUC__
    CJ_AUTO(cj_event) event = NULL;
    sum += event != NULL;
    CJ_AUTO_EVENT(pooled, NULL, CJ_EVENT_TIMING);
    CJ_AUTO_LEASE(leased, NULL, NULL);
    sum += pooled.event != 0 || leased.lease != 0;
#endif
    cj_op op = cj_op_find("add.f32");
    vs[0] = vs[1] = v;
    cj_thread_group group = { 32, 0, v, v, v };
    cj_ring ring = { 1, 0, v, v, v, v };
    cj_wgmma_matrix matrix = { v, 0, 0 };
    cj_wgmma_shape wgmma = { 64, CJ_MMA_F16, CJ_MMA_F16, CJ_MMA_F32, 0, 0, 0 };
    cj_mma_shape mma = { 16, CJ_MMA_F16, CJ_MMA_F16, CJ_MMA_F32, 0 };
    cj_store_tile tile = { CJ_F16, 64, { v, v, v, v } };

    /* -- Every function of the builder, in every language; verbs of numbers in C11 and C++ ------------------------- */

#include "every_call.h" /* made by every_call.sh */

    /* -- Any number of operands: C11 and C++ ----------------------------------------------------------------------- */

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
    v = cj_imm(f, (bool)1);
    v = cj_imm(f, (char)1);
    v = cj_imm(f, (unsigned short)1);
    v = cj_add(f, cj_mul(f, v, 2), cj_select(f, cj_lt(f, v, 1.5f), (short)1, cj_def(f, "mov.f32", 1)));
    cj_ins_if(f, 1, "ret");
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
        sum +=
            (int)cj_launch(s, k, cj_dims_shared(cj_threads(1000, 32), 16), cj_offset(d, 4), 1, 2u, 3L, 4UL, 5.0f, 6.0,
                           (char)7, (signed char)8, (unsigned char)9, (short)10, (unsigned short)11, (long long)12,
                           (unsigned long long)13, (bool)1, cj_arg_bytes(&bytes, sizeof bytes), cj_arg_i(-1));
        sum += (int)cj_launch(s, k, cj_grid(1, 1), 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19,
                              20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32);
#if !defined __cplusplus || __cplusplus >= 202002L
        sum += (int)cj_launch(s, k, cj_dims_opts(cj_grid(1, 32), CJ_LAUNCH(.programmatic = 1)));
#endif
        cj_module *mod = NULL;
        sum += (int)cj_launch_name(s, mod, "k", cj_grid(1, 32));
        sum += (int)cj_launch_name(s, mod, "k", cj_grid(1, 32), d, 1, 2.0f);
        cj_prepared *p = cj_prepare(k, cj_grid(1, 32));
        cj_prepared_free(p);
        p = cj_prepare(k, cj_grid(1, 32), d, 1, 2.0f);
        sum += (int)cj_prepared_set(p, 1, 2, 3.0f) + (int)cj_launch_prepared(s, p);
        cj_prepared_free(p);
    }
#endif

    /* -- Nodes ----------------------------------------------------------------------------------------------------- */

#if defined __cplusplus || __STDC_VERSION__ >= 201112L
    {
        cj_graph *graph = NULL;
        cj_kernel *k = NULL;
        cj_graph_exec *x = NULL;
        cj_dptr d = { 0 };
        cj_node *a = cj_graph_kernel(graph, NULL, k, cj_grid(1, 32)),
                *b = cj_graph_kernel(graph, CJ_NODES(a), k, cj_grid(1, 32), d, 1);
        b = cj_graph_empty(graph, CJ_NODES(a, b));
        sum += (int)cj_graph_exec_set_args(x, b, d, 2.0f);
    }
#endif

    /* -- Option literals: C and C++20 ------------------------------------------------------------------------------ */

#if !defined __cplusplus || __cplusplus >= 202002L
    {
        cj_device *dev = NULL;
        cj_graph *graph = NULL;
        cj_device_close(cj_device_open(NULL, 0, CJ_DEVICE(.schedule = CJ_SCHEDULE_BLOCKING)));
        cj_host_free(dev, cj_host_alloc(dev, 64, CJ_HOST(.write_combined = 1)));
        cj_device_set_allocator(dev, CJ_ALLOCATOR(.poison = 1));
        cj_kernel_free(cj_kernel_load(dev, m, "f", CJ_COMPILE(.opt_level = 3, .max_registers = 64)));
        cj_compiler_free(cj_compiler_create(dev, CJ_COMPILER(.threads = 2, .queue = 8)));
        cj_stream_free(cj_stream_create(dev, CJ_STREAM(.priority = CJ_PRIORITY_HIGH)));
        cj_event_free(cj_event_create(dev, CJ_EVENT(.timing = 1, .blocking = 1)));
        cj_profile_free(cj_profile_create(CJ_PROFILE(.records = 8)));
        cj_event_pool_free(cj_event_pool_create(dev, CJ_EVENT_POOL(.timing = 8, .timing_max = 64)));
        cj_kernel_cache_free(cj_kernel_cache_create(dev, CJ_KERNEL_CACHE(.kernels = 2)));
        cj_disk_cache_prune(NULL, CJ_DISK_PRUNE(.max_bytes = 1 << 20, .max_age_s = 86400));
        cj_block_reduce(f, CJ_COMBINE_ADD, v, CJ_THREAD_GROUP(.threads = 64, .once = 1), &v);
        cj_mem_pool_free(cj_mem_pool_create(NULL, CJ_MEM_POOL(.place = CJ_MEM_PLACE_HOST)));
        cj_tensor_map map = { { 0 } };
        sum += (int)cj_tensor_map_tiled(dev, CJ_TENSOR_MAP(.type = CJ_TENSOR_MAP_F16, .dims = 1), &map);
        sum += (int)cj_arg_tensor_map(&map).size;
        cj_vmem_free(cj_vmem_create(NULL, (size_t)1 << 30, CJ_VMEM(.bytes = 2 << 20)));
        cj_array_free(cj_array_create(dev, CJ_ARRAY(.width = 8, .type = CJ_U8)));
        cj_copy_array(NULL, CJ_COPY_ARRAY(.width = 8, .height = 1));
        cj_texture_free(cj_texture_create(NULL, CJ_SAMPLER(.filter = CJ_FILTER_LINEAR, .normalized = 1)));
        cj_texture_free(cj_texture_create_view(NULL, CJ_TEXTURE_VIEW(.first_level = 1, .levels = 2), NULL));
        cj_texture_free(cj_texture_create_memory(dev, CJ_TEXTURE_MEMORY(.width = 8, .height = 2), NULL));
        cj_stream_pool_free(cj_stream_pool_create(dev, CJ_STREAM_POOL(.streams = 2, .strategy = CJ_POOL_WORKLOAD)));
        cj_stream_pool_acquire(NULL, CJ_STREAM_REQUEST(.work = CJ_WORK_MEMORY, .priority = CJ_PRIORITY_HIGH));
        cj_waiter_free(cj_waiter_create(dev, CJ_WAITER(.callbacks = CJ_WAITER_POOL, .threads = 2)));
        cj_coord *tasks = cj_coord_create(dev, CJ_COORD(.streams = 2));
        const cj_task one = cj_coord_add(tasks, CJ_TASK(.reads = CJ_RANGES({ { 4096 }, 1 })));
        cj_coord_cancel(tasks, cj_coord_add(tasks, CJ_TASK(.after = CJ_TASKS(one))));
        cj_coord_reduce(tasks, CJ_COLLECTIVE(.parts = CJ_PARTS({ dev, { 4096 } })));
        cj_coord_parallel(tasks, CJ_PARALLEL(.count = 1));
        cj_coord_free(tasks);
        cj_pipeline_free(cj_pipeline_create(dev, CJ_PIPELINE(.bytes = 100, .chunk = 10)));
        cj_reduce_free(cj_reduce_create(dev, CJ_REDUCE(.type = CJ_F32)));
        cj_scan_free(cj_scan_create(dev, CJ_SCAN(.type = CJ_F32)));
        cj_argmax_free(cj_argmax_create(dev, CJ_ARGMAX(.type = CJ_F32)));
        cj_softmax_free(cj_softmax_create(dev, CJ_SOFTMAX(.type = CJ_F32)));
        cj_layer_norm_free(cj_layer_norm_create(dev, CJ_LAYER_NORM(.type = CJ_F32)));
        cj_rms_norm_free(cj_rms_norm_create(dev, CJ_RMS_NORM(.type = CJ_F32)));
        cj_rope_free(cj_rope_create(dev, CJ_ROPE(.type = CJ_F32, .dim = 64)));
        cj_gemm_free(cj_gemm_create(dev, CJ_GEMM(.type = CJ_F32)));
        cj_attention_free(cj_attention_create(dev, CJ_ATTENTION(.type = CJ_F32, .dim = 8)));
        cj_gemv_free(cj_gemv_create(dev, CJ_GEMV(.format = CJ_GEMV_Q4_0)));
        cj_elementwise_free(cj_elementwise_create(dev, CJ_ELEMENTWISE(.inputs = 1)));
        cj_copy_3d(NULL, CJ_COPY_3D(.width = 1, .height = 1, .depth = 1));
        cj_driver_close(cj_driver_open_interposed(NULL, CJ_INTERPOSER(.fail_at = 1)));
        sum += (int)cj_replay_file(NULL, "", CJ_REPLAY(.list = 1), NULL);
        cj_graph_exec_free(cj_graph_instantiate(graph, CJ_GRAPH_EXEC(.node_priorities = 1)));
        cj_graph_exec_cache_free(
            cj_graph_exec_cache_create(dev, CJ_GRAPH_EXEC_CACHE(.execs = 8, .exec = CJ_GRAPH_EXEC(.auto_free = 1))));
        sum += (int)cj_capture_begin_opts(NULL, CJ_CAPTURE(.mode = CJ_CAPTURE_RELAXED, .join = 1, .into = graph));
    }
#endif
    return sum + (int)(v.bits & 1) + (int)(text != NULL);
}
