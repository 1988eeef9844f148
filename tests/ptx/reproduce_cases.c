/* Modules with one construct each, for the tests of cj_ptx_reproducer. */
#include "reproduce_cases.h"

#include <math.h>
#include <stdint.h>

/* -- Verbs, blocks ------------------------------------------------------------------------------------------------- */

static void elements(cj_ptx *m)
{
    cj_fn *f = cj_ptx_kernel(m, "elements");
    cj_val x = cj_param_ptr(f, "x", CJ_F32), y = cj_param_ptr(f, "y", CJ_F32);
    cj_val a = cj_param(f, "a", CJ_F32), n = cj_param(f, "n", CJ_U32);
    cj_val i = cj_global_id(f, CJ_X);
    cj_if(f, cj_lt(f, i, n));
        cj_set(f, y, i, cj_fma(f, a, cj_get(f, x, i), 0.5f));
    cj_else(f);
        cj_set(f, y, 3, 1);
    cj_end(f);
}

static void blocks(cj_ptx *m)
{
    cj_fn *f = cj_ptx_kernel(m, "blocks");
    cj_val x = cj_param_ptr(f, "x", CJ_S32), n = cj_param(f, "n", CJ_S32);
    cj_val i = cj_for(f, n, 0, -1);
        cj_continue_if(f, cj_eq(f, i, 7));
        cj_val k = cj_let(f, CJ_S32, 0);
        cj_loop(f);
            cj_assign(f, k, cj_add(f, k, 1));
            cj_break_unless(f, cj_lt(f, k, i));
            cj_if(f, cj_ge(f, k, 100)); cj_break(f); cj_end(f);
        cj_end(f);
        cj_val more = cj_let(f, CJ_PRED, cj_gt(f, k, 3));
        cj_while(f, more);
            cj_set(f, x, k, i);
            cj_assign(f, more, cj_lt(f, k, 2));
        cj_end(f);
    cj_end(f);
    cj_return_if(f, cj_eq(f, n, 1));
    cj_if(f, cj_not(f, cj_eq(f, n, 2))); cj_return(f); cj_end(f);
    cj_set(f, x, 0, n);
}

static void labels(cj_ptx *m)
{
    cj_fn *f = cj_ptx_kernel(m, "labels");
    cj_val n = cj_param(f, "n", CJ_U32), p = cj_eq(f, n, 0);
    cj_val top = cj_label(f), out = cj_label(f), other = cj_label(f);
    cj_label_bind(f, top);
    cj_ins_if(f, p, "bra", out);
    cj_ins_unless(f, p, "bra", other);
    cj_val both[2] = { top, out };
    cj_val list = cj_branch_targets(f, both, 2);
    cj_ins(f, "brx.idx", n, list);
    cj_label_bind(f, other);
    cj_ins(f, "bra.uni", top);
    cj_label_bind(f, out);
    cj_pragma(f, "nounroll");
    cj_ins(f, "exit");
}

static void verbs(cj_ptx *m)
{
    cj_fn *f = cj_ptx_kernel(m, "verbs");
    cj_val out = cj_param_ptr(f, "out", CJ_F64), s = cj_param(f, "s", CJ_S32), u = cj_param(f, "u", CJ_U64);
    cj_val x = cj_param(f, "x", CJ_F32), d = cj_param(f, "d", CJ_F64), h = cj_param(f, "h", CJ_F16);
    cj_val lane = cj_lane_id(f), p = cj_and(f, cj_lt(f, s, lane.bits ? 4 : 5), cj_ne(f, x, 0.25));
    s = cj_sub(f, cj_mul(f, s, 3), cj_div(f, s, 7));
    s = cj_min(f, cj_max(f, cj_rem(f, s, 5), cj_neg(f, s)), cj_abs(f, s));
    u = cj_xor(f, cj_or(f, u, 3), cj_inv(f, cj_shl(f, u, 2)));
    u = cj_mad(f, u, cj_shr(f, u, 1), cj_cvt(f, CJ_U64, cj_popc(f, u)));
    u = cj_add(f, cj_brev(f, u), cj_cvt(f, CJ_U64, cj_clz(f, u)));
    x = cj_fma(f, cj_sqrt(f, x), cj_rcp(f, x), cj_approx_sin(f, cj_approx_div(f, x, 3)));
    x = cj_add(f, cj_floor(f, x), cj_add(f, cj_ceil(f, x), cj_add(f, cj_trunc(f, x), cj_round(f, x))));
    x = cj_select(f, p, x, cj_cvt(f, CJ_F32, h));
    d = cj_mul(f, d, cj_cvt(f, CJ_F64, x));
    cj_val wide = cj_mul_wide(f, s, 9), high = cj_mul_hi(f, s, s), bits = cj_bits(f, CJ_U32, x);
    cj_set(f, out, 1, cj_add(f, d, cj_cvt(f, CJ_F64, wide)));
    cj_set(f, out, cj_cvt(f, CJ_U32, high), cj_cvt(f, CJ_F64, cj_add(f, bits, 1)));
    cj_set(f, out, u, cj_mov(f, d));
    cj_fence_block(f);
    cj_fence_device(f);
    cj_fence_system(f);
    cj_block_sync(f);
}

static void warps(cj_ptx *m)
{
    cj_fn *f = cj_ptx_kernel(m, "warps");
    cj_val c = cj_param_ptr(f, "c", CJ_U32), e = cj_param_ptr(f, "e", CJ_F32), i = cj_thread_id(f, CJ_Y);
    cj_val v = cj_shfl_down(f, i, 1), w = cj_shfl_xor(f, cj_shfl_up(f, v, 2), 4), q = cj_shfl_idx(f, w, 0);
    cj_val p = cj_vote_any(f, cj_eq(f, q, i)), all = cj_vote_all(f, p), uni = cj_vote_uni(f, all);
    cj_val ballot = cj_vote_ballot(f, uni);
    cj_warp_sync(f, (cj_val){ 0 });
    cj_atomic_add(f, cj_at(f, c, 2), 1);
    cj_val old = cj_atomic_max(f, cj_at(f, c, i), v);
    cj_atomic_exch(f, cj_at(f, e, i), 2.5f);
    cj_atomic_cas(f, cj_at(f, c, 0), old, ballot);
    cj_atomic_or(f, cj_at(f, c, 1), cj_atomic_and(f, cj_at(f, c, 3), 7));
}

/* -- Instructions -------------------------------------------------------------------------------------------------- */

static void vectors(cj_ptx *m)
{
    cj_fn *f = cj_ptx_kernel(m, "vectors");
    cj_val x = cj_param_ptr(f, "x", CJ_F32), z = cj_param(f, "z", CJ_F32);
    cj_val four = cj_def(f, "ld.global.v4.f32", cj_mem(f, x, 0)), two = cj_regs(f, CJ_F32, 2);
    cj_ins(f, "ld.global.v2.f32", two, cj_mem(f, x, 16));
    cj_ins(f, "st.global.v4.f32", cj_mem(f, x, 32), cj_vec(f, cj_elem(f, four, 3), z, 1.5, cj_elem(f, two, 1)));
    cj_val d = cj_regs(f, CJ_F32, 4), a = cj_regs(f, CJ_B32, 4), b = cj_regs(f, CJ_B32, 2);
    cj_ins(f, "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32", d, a, b, d);
    cj_val wide = cj_regs(f, CJ_F32, 128), at = cj_reg(f, CJ_B64);
    cj_ins(f, "wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16", wide, at, at, cj_eq(f, z, 0), 1, 1, 0, 0);
}

static void policies(cj_ptx *m)
{
    cj_fn *f = cj_ptx_kernel(m, "policies");
    cj_val x = cj_param_ptr(f, "x", CJ_U32), policy = cj_def(f, "createpolicy.fractional.L2::evict_last.b64", 0.5f);
    cj_val v = cj_def(f, "ld.global.L1::evict_last.L2::cache_hint.u32", cj_mem(f, x, 4), policy);
    cj_ins(f, "st.global.wt.u32", cj_mem(f, x, 8), v);
    cj_ins(f, "prefetch.global.L2", cj_mem(f, x, 128));
}

static void pairs(cj_ptx *m)
{
    cj_fn *f = cj_ptx_kernel(m, "pairs");
    cj_val a = cj_param(f, "a", CJ_S32), p = cj_reg(f, CJ_PRED), q = cj_reg(f, CJ_PRED), r = cj_reg(f, CJ_B32);
    cj_ins(f, "setp.lt.and.s32", cj_pair(f, p, q), a, 3, cj_not(f, p));
    cj_ins(f, "shfl.sync.bfly.b32", cj_pair(f, r, q), r, 1, 31, -1);
    cj_ins_if(f, q, "mov.u32", r, cj_sreg(f, "%clock"));
    cj_ins_unless(f, p, "st.local.b32", cj_mem(f, cj_imm(f, 4096), 0), r);
    cj_ins(f, "setp.ge.s32", cj_pair(f, cj_sink(f), q), a, 5);
}

static void texture_object(cj_ptx *m)
{
    cj_fn *f = cj_ptx_kernel(m, "texture_object");
    cj_val t = cj_param(f, "t", CJ_U64), u = cj_reg(f, CJ_F32), d = cj_regs(f, CJ_F32, 4);
    cj_ins(f, "tex.2d.v4.f32.f32", d, cj_texmem(f, t, (cj_val){ 0 }, cj_vec(f, u, u)));
}

static void numbers(cj_ptx *m)
{
    cj_fn *f = cj_ptx_kernel(m, "numbers");
    static const double reals[] = { 0.1, -0.0, 1e-310, 1.7976931348623157e308, 3, 1.0 / 3, 6.02214076e23 };
    static const float floats[] = { 0.1f, -0.0f, 1e-45f, 3.4028235e38f, 16777216, 1.0f / 3 };
    static const int64_t whole[] = { INT64_MIN, INT64_MAX, INT32_MIN, INT32_MAX, -1, 4294967296 };
    for (size_t i = 0; i < sizeof reals / sizeof *reals; i++) cj_let(f, CJ_F64, reals[i]);
    for (size_t i = 0; i < sizeof floats / sizeof *floats; i++) cj_let(f, CJ_F32, floats[i]);
    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++) cj_let(f, CJ_S64, whole[i]);
    cj_let(f, CJ_U64, UINT64_MAX);
    cj_let(f, CJ_F32, cj_imm_bits(f, CJ_F32, 0x7fc00001));
    cj_let(f, CJ_F64, cj_imm_bits(f, CJ_F64, 0xfff0000000000000));
    cj_let(f, CJ_F32, cj_imm_f32(f, (float)INFINITY));
    cj_let(f, CJ_BF16, 1.5);
    cj_ins(f, "mov.b32", cj_reg(f, CJ_B32), 0xffffffffu);
}

/* -- Parameters, variables ----------------------------------------------------------------------------------------- */

static void parameters(cj_ptx *m)
{
    cj_fn *f = cj_ptx_kernel(m, "parameters");
    cj_val map = cj_param_bytes(f, "map", 128, 64), small = cj_param(f, "small", CJ_S8);
    cj_val half = cj_param(f, "half", CJ_F16), g = cj_param_ptr_in(f, "g", CJ_F32, CJ_SPACE_GENERIC, 0);
    cj_val s = cj_param_ptr_in(f, "s", CJ_U16, CJ_SPACE_SHARED, 8);
    cj_val c = cj_param_ptr_in(f, "c", CJ_F64, CJ_SPACE_CONST, 32), v = cj_param_ptr(f, "v", CJ_VOID);
    cj_param_bytes(f, "last", 3, 1);
    cj_set(f, g, 0, cj_cvt(f, CJ_F32, half));
    cj_set(f, s, 1, cj_get(f, s, small));
    cj_ins(f, "st.global.f64", cj_mem(f, v, -8), cj_get(f, c, 1));
    cj_load(f, CJ_U32, cj_mem(f, map, 4));
}

static void memory(cj_ptx *m)
{
    cj_fn *f = cj_ptx_kernel(m, "memory");
    cj_val tile = cj_shared(f, "tile", CJ_F32, 256), own = cj_local(f, "own", CJ_U8, 12), i = cj_thread_id(f, CJ_X);
    cj_val rest = cj_shared_dynamic(f, "rest", CJ_F32, 16);
    cj_var_align(f, own, 16);
    cj_set(f, tile, i, cj_get(f, rest, i));
    cj_set(f, own, 2, cj_get(f, own, i));
    cj_ins(f, "st.shared.f32", cj_mem(f, cj_addr(f, tile), 8), cj_get(f, tile, 7));
    cj_fn *g = cj_ptx_kernel(m, "memory_again");
    rest = cj_shared_dynamic(g, "rest", CJ_F32, 32);
    cj_set(g, rest, 0, 1);
}

static void variables(cj_ptx *m)
{
    static const uint32_t u32[] = { 1, 2, 0xffffffff };
    static const int8_t s8[] = { -128, 127, 0 };
    static const int16_t s16[] = { -32768, 7 };
    static const int64_t s64[] = { INT64_MIN, -1, INT64_MAX };
    static const uint64_t u64[] = { UINT64_MAX };
    const float f32[] = { 0.1f, -0.0f, 1e-45f, 2, 3, 4, 5, 6, 7, 8 }, holes[] = { 1, (float)NAN, (float)INFINITY };
    static const double f64[] = { 1.0 / 3, -2 };
    cj_val a = cj_ptx_global(m, "a", CJ_U32, 8, u32, 3), b = cj_ptx_const(m, "b", CJ_S8, 3, s8, 3);
    cj_ptx_global(m, "c", CJ_S16, 2, s16, 2);
    cj_ptx_global(m, "d", CJ_S64, 3, s64, 3);
    cj_ptx_global(m, "e", CJ_U64, 1, u64, 1);
    cj_ptx_const(m, "g", CJ_F32, 10, f32, 10);
    cj_ptx_const(m, "h", CJ_F32, 3, holes, 3);
    cj_ptx_global(m, "i", CJ_F64, 4, f64, 2);
    cj_ptx_global(m, "nothing", CJ_F16, 5, NULL, 0);
    cj_val away = cj_ptx_extern(m, "away", CJ_SPACE_GLOBAL, CJ_U32, 0);
    cj_ptx_extern(m, "sized", CJ_SPACE_CONST, CJ_F64, 4);
    cj_ptx_var_align(m, a, 128);
    cj_fn *f = cj_ptx_kernel(m, "variables");
    cj_set(f, a, 1, cj_get(f, b, cj_thread_id(f, CJ_X)));
    cj_set(f, away, 0, 1);
    cj_ins(f, "mov.u64", cj_reg(f, CJ_U64), a);
}

/* Shared memory of the launch's size between other variables. */
static void between(cj_ptx *m)
{
    cj_fn *f = cj_ptx_kernel(m, "between");
    cj_val first = cj_ptx_global(m, "first", CJ_U32, 1, NULL, 0), s = cj_shared_dynamic(f, "area", CJ_U32, 0);
    cj_val last = cj_ptx_global(m, "later", CJ_U32, 1, NULL, 0);
    cj_set(f, first, 0, cj_get(f, s, 0));
    cj_set(f, last, 0, 2);
}

/* -- Functions ----------------------------------------------------------------------------------------------------- */

static void functions(cj_ptx *m)
{
    cj_fn *away = cj_ptx_extern_func(m, "elsewhere"), *norm = cj_ptx_func(m, "norm"), *both = cj_ptx_func(m, "both");
    cj_param(away, "v", CJ_F32);
    cj_result(away, "r", CJ_F32);
    cj_val v = cj_param(norm, "v", CJ_F32), p = cj_param_ptr(norm, "p", CJ_F32);
    cj_return_value(norm, cj_call(norm, away, cj_add(norm, v, cj_get(norm, p, 1))));
    cj_val q = cj_result(both, "q", CJ_U32), w = cj_param(both, "w", CJ_U32), r = cj_result(both, "rest", CJ_U32);
    cj_assign(both, q, cj_div(both, w, 10));
    cj_assign(both, r, cj_rem(both, w, 10));
    cj_return(both);
    cj_fn *f = cj_ptx_kernel(m, "functions");
    cj_val x = cj_param_ptr(f, "x", CJ_F32), d = cj_reg(f, CJ_U32), e = cj_reg(f, CJ_U32);
    cj_set(f, x, 0, cj_call(f, norm, 1.5, x));
    const cj_val results[] = { d, e }, arguments[] = { cj_imm(f, 37) };
    cj_call_into(f, both, results, 2, arguments, 1);
    cj_ins(f, "mov.u64", cj_reg(f, CJ_U64), cj_fn_val(f, norm));
}

/* Callees that are made later, a function that calls itself, many arguments. */
static void later(cj_ptx *m)
{
    cj_fn *f = cj_ptx_kernel(m, "caller"), *g = cj_ptx_func(m, "callee"), *many = cj_ptx_func(m, "many");
    cj_val n = cj_param(g, "n", CJ_U32), args[40];
    for (int i = 0; i < 40; i++) {
        char name[8] = { 'a', (char)('0' + i / 10), (char)('0' + i % 10), 0 };
        cj_param(many, name, CJ_U32);
        args[i] = cj_imm_i(f, i);
    }
    cj_result(g, "r", CJ_U32);
    cj_if(g, cj_gt(g, n, 1));
        cj_return_value(g, cj_mul(g, n, cj_call(g, g, cj_sub(g, n, 1))));
    cj_end(g);
    cj_return_value(g, cj_let(g, CJ_U32, 1));
    cj_val x = cj_param_ptr(f, "x", CJ_U32);
    cj_set(f, x, 0, cj_call(f, g, 5));
    cj_call_n(f, many, args, 40);
}

static void bounds(cj_ptx *m)
{
    cj_ptx_set_version(m, "8.0");
    cj_ptx_set_target(m, "sm_90a");
    cj_fn *f = cj_ptx_kernel(m, "bounds"), *g = cj_ptx_kernel(m, "bounds_exact");
    cj_fn_max_threads(f, 256, 2, 1);
    cj_fn_min_blocks(f, 2);
    cj_fn_max_registers(f, 64);
    cj_fn_required_threads(g, 32, 1, 1);
    cj_fn_required_cluster(g, 2, 1, 1);
    cj_ins(g, "barrier.cluster.arrive");
}

/* Names that C has for something else, or that are one name in C. */
static void names(cj_ptx *m)
{
    static const char *const globals[] = { "printf", "sin", "int", "NULL", "x$y", "x_y", "linux", "size_t", "main",
                                           "m", "text", "cj_add", "stdout", "make_int", "_under", "$dollar" };
    cj_val v[16];
    for (int i = 0; i < 16; i++) v[i] = cj_ptx_global(m, globals[i], CJ_U32, 1, NULL, 0);
    cj_fn *f = cj_ptx_kernel(m, "while"), *g = cj_ptx_kernel(m, "f"), *h = cj_ptx_kernel(m, "EOF");
    cj_val a = cj_param(f, "double", CJ_U32), b = cj_param(f, "f", CJ_U32), c = cj_param(f, "u0", CJ_U32);
    for (int i = 0; i < 16; i++) cj_set(f, v[i], 0, cj_add(f, cj_add(f, a, b), c));
    cj_set(g, v[1], 0, cj_param(g, "printf", CJ_U32));
    cj_set(h, v[0], 0, cj_param(h, "EXIT_SUCCESS", CJ_U32));
}

static void source_lines(cj_ptx *m)
{
    cj_fn *f = cj_ptx_kernel(m, "source_lines");
    cj_line(f, "kernel.*/lang", 7);
    cj_val i = cj_thread_id(f, CJ_X);
    cj_line(f, "kernel.*/lang", 9);
    cj_add(f, i, 1);
}

/* Results that are given up, registers and labels that nothing names. */
static void unused(cj_ptx *m)
{
    cj_fn *f = cj_ptx_kernel(m, "unused");
    cj_val a = cj_reg(f, CJ_F32), b = cj_reg(f, CJ_F32), gap = cj_reg(f, CJ_F32);
    cj_reg(f, CJ_B128);
    cj_param(f, "nobody", CJ_F64);
    cj_label(f);
    cj_label_bind(f, cj_label(f));
    cj_ins(f, "mov.f32", b, a);
    cj_ins(f, "mov.f32", gap, b);
    cj_global_id(f, CJ_Z);
}

static void empty_kernel(cj_ptx *m) { cj_ptx_kernel(m, "empty_kernel"); }
static void empty_module(cj_ptx *m) { (void)m; }

const reproduce_case reproduce_cases[] = {
    { "elements, if and else", elements, "cj_else(f);", NULL },
    { "loops", blocks, "cj_break_unless(f, p", NULL },
    { "labels and lists of them", labels, "cj_branch_targets(f, (const cj_val[]){ label0, label1 }, 2)", NULL },
    { "verbs of each kind", verbs, "cj_fma(f, ", NULL },
    { "warps and atomics", warps, "cj_atomic_max(f, cj_at(f, c, u", NULL },
    { "vectors", vectors, "cj_def(f, \"ld.global.v4.f32\"", NULL },
    { "cache policies", policies, "cj_ins(f, \"prefetch.global.L2\", cj_mem(f, x, 128));", NULL },
    { "pairs, guards, special registers", pairs, "cj_ins_if(f, p", NULL },
    { "textures", texture_object, "cj_texmem(f, t, (cj_val){ 0 }, cj_vec(f, f0, f0))", NULL },
    { "numbers", numbers, "INT64_MIN", NULL },
    { "parameters", parameters, "cj_param_ptr_in(f, \"s\", CJ_U16, CJ_SPACE_SHARED, 8);", NULL },
    { "shared and local memory", memory, "cj_val rest = cj_shared_dynamic(f, \"rest\", CJ_F32, 32);", NULL },
    { "variables with values", variables, "static const uint32_t a_values[] = { 1u, 2u, 4294967295u };", NULL },
    { "dynamic memory between variables", between,
      "cj_val area = cj_shared_dynamic(between, \"area\", CJ_U32, 0);", NULL },
    { "functions", functions, "cj_call(f, norm, 1.5f, x)", NULL },
    { "functions that are made later", later, "cj_call(f, callee, 5)", NULL },
    { "bounds, version, target", bounds, "cj_fn_required_cluster(f, 2, 1, 1);", NULL },
    { "names", names, "cj_val double_ = cj_param(f, \"double\", CJ_U32)", NULL },
    { "source lines", source_lines, "/* kernel._/lang:9 */", NULL },
    { "unused values", unused, "    cj_reg(f, CJ_B128);", "labels that nothing names" },
    { "an empty kernel", empty_kernel, "(void)f;", NULL },
    { "an empty module", empty_module, "cj_ptx *m = cj_ptx_create();", NULL },
};
const unsigned reproduce_cases_count = sizeof reproduce_cases / sizeof *reproduce_cases;

/* -- Texts --------------------------------------------------------------------------------------------------------- */

#define HEAD(target) ".version 8.0\n.target " target "\n.address_size 64\n"
const reproduce_text reproduce_texts[] = {
    { "typed registers", NULL,
      HEAD("sm_70") ".visible .entry typed(.param .u64 .ptr .global .align 4 x)\n{\n"
      ".reg .u64 %ud<2>;\n.reg .f32 %f<2>;\n"
      "ld.param.u64 %ud0, [x];\ncvta.to.global.u64 %ud1, %ud0;\nld.global.f32 %f0, [%ud1+4];\n"
      "add.rn.f32 %f1, %f0, 0f3F800000;\nst.global.f32 [%ud1], %f1;\nret;\n}\n" },
    { "a parameter that is read twice", "of twice",
      HEAD("sm_70") ".visible .entry twice(.param .u32 n)\n{\n.reg .b32 %r<3>;\nld.param.u32 %r1, [n];\n"
      "ld.param.u32 %r2, [n];\nret;\n}\n" },
    { "a weak function", "linkage of weak", HEAD("sm_70") ".weak .func weak()\n{\nret;\n}\n" },
    { "an alias", ".alias",
      HEAD("sm_70") ".visible .func real()\n{\nret;\n}\n.visible .func other();\n.alias other, real;\n" },
    { "debug data", "debug data",
      HEAD("sm_70, debug") ".file 1 \"a.c\"\n.visible .entry k()\n{\n.loc 1 1 0\nret;\n}\n"
      ".section .debug_str\n{\n.b8 1\n}\n" },
    { "a prototype", "of proto",
      HEAD("sm_70") ".visible .entry proto()\n{\n.reg .b64 %rd<2>;\n"
      "p: .callprototype (.param .b32 _) _ (.param .b32 _);\n"
      ".param .b32 a;\n.param .b32 b;\ncall (b), %rd1, (a), p;\nret;\n}\n" },
    { "addresses as values", "declares table",
      HEAD("sm_70") ".visible .global .u32 x[2];\n.visible .global .u64 table[1] = { generic(x) };\n" },
    { "a scalar variable", "declares single", HEAD("sm_70") ".visible .global .f32 single;\n" },
    { "a quote and a trigraph in text", ".pragma of a module", HEAD("sm_70") ".pragma \"what?" "?/ 'this'\";\n" },
    { "32-bit addresses", ".address_size 32",
      ".version 8.0\n.target sm_70\n.address_size 32\n.visible .func g()\n{\nret;\n}\n" },
};
const unsigned reproduce_texts_count = sizeof reproduce_texts / sizeof *reproduce_texts;
