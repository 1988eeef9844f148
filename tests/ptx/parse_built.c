/* What the builder made is printed, read, and printed again: the same text; with source lines too. */
#include <cujit/parse.h>

#include "../tap.h"

#include <stdlib.h>
#include <string.h>

static void saxpy(cj_ptx *m)
{
    cj_fn *f = cj_ptx_kernel(m, "saxpy");
    cj_val x = cj_param_ptr(f, "x", CJ_F32), y = cj_param_ptr(f, "y", CJ_F32);
    cj_val a = cj_param(f, "a", CJ_F32), n = cj_param(f, "n", CJ_U32);
    cj_val i = cj_global_id(f, CJ_X);
    cj_if(f, cj_lt(f, i, n));
        cj_val xi = cj_get(f, x, i), yi = cj_get(f, y, i);
        cj_set(f, y, i, cj_fma(f, a, xi, yi));
    cj_end(f);
}

static void registers_of_every_type(cj_ptx *m)
{
    cj_fn *f = cj_ptx_kernel(m, "every_type");
    for (cj_type t = CJ_PRED; t < CJ_TYPE_COUNT; t++)
        for (unsigned k = 0; k < 3; k++) cj_reg(f, t);
    cj_val a = cj_reg(f, CJ_B32), b = cj_reg(f, CJ_U32), h = cj_reg(f, CJ_F16), g = cj_reg(f, CJ_BF16),
           hh = cj_reg(f, CJ_F16X2);
    cj_assign(f, b, cj_imm_u(f, 7));
    cj_ins(f, "add.s32", a, b, -3);
    cj_ins(f, "mov.b16", h, g);
    cj_ins(f, "mov.b32", hh, cj_vec(f, h, g));
}

static void numbers(cj_ptx *m)
{
    cj_fn *f = cj_ptx_kernel(m, "numbers");
    cj_val r = cj_reg(f, CJ_S32), d = cj_reg(f, CJ_U64), s = cj_reg(f, CJ_S64), x = cj_reg(f, CJ_F32),
           y = cj_reg(f, CJ_F64);
    static const int64_t values[] = { 0, 1, -1, INT32_MAX, INT32_MIN, 4294967295, INT64_MAX, INT64_MIN };
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        cj_ins(f, "mov.s64", s, cj_imm_i(f, values[i]));
        if (i < 5) cj_ins(f, "add.s32", r, r, cj_imm_i(f, values[i]));
    }
    cj_ins(f, "mov.u64", d, cj_imm_u(f, UINT64_MAX));
    cj_ins(f, "mov.f32", x, 0.1f);
    cj_ins(f, "mov.f64", y, 0.1);
    cj_ins(f, "add.f64", y, y, -1e300);
    cj_ins(f, "mov.f32", x, cj_imm_bits(f, CJ_F32, 0x7fc00001));
}

static void control(cj_ptx *m)
{
    cj_fn *f = cj_ptx_kernel(m, "control");
    cj_val p = cj_param_ptr(f, "p", CJ_S32), n = cj_param(f, "n", CJ_S32), sum = cj_let(f, CJ_S32, cj_imm_i(f, 0));
    cj_fn_max_threads(f, 256, 1, 1);
    cj_pragma(f, "nounroll");
    cj_val i = cj_for(f, cj_imm_i(f, 0), n, cj_imm_i(f, 1));
        cj_val v = cj_get(f, p, i);
        cj_continue_if(f, cj_lt(f, v, cj_imm_i(f, 0)));
        cj_if(f, cj_gt(f, v, cj_imm_i(f, 100)));
            cj_break(f);
        cj_else(f);
            cj_assign(f, sum, cj_add(f, sum, v));
        cj_end(f);
    cj_end(f);
    cj_loop(f);
        cj_break_unless(f, cj_gt(f, sum, n));
        cj_assign(f, sum, cj_sub(f, sum, n));
    cj_end(f);
    cj_set(f, p, cj_imm_i(f, 0), sum);
    cj_return(f);
}

static void variables(cj_ptx *m)
{
    static const float weights[3] = { 0.5f, -1.0f, 3.0f };
    static const uint8_t bytes[4] = { 1, 2, 3, 255 };
    cj_val w = cj_ptx_const(m, "weights", CJ_F32, 5, weights, 3), b = cj_ptx_global(m, "bytes", CJ_U8, 4, bytes, 4);
    cj_val e = cj_ptx_extern(m, "elsewhere", CJ_SPACE_GLOBAL, CJ_F64, 0);
    cj_ptx_var_align(m, b, 16);
    cj_fn *f = cj_ptx_kernel(m, "variables");
    cj_val s = cj_shared(f, "tile", CJ_F32, 64), l = cj_local(f, "mine", CJ_S16, 8),
           dyn = cj_shared_dynamic(f, "dyn", CJ_U32, 16);
    cj_val block = cj_param_bytes(f, "block", 40, 8), t = cj_thread_id(f, CJ_X);
    cj_var_align(f, s, 32);
    cj_set(f, s, t, cj_get(f, w, t));
    cj_block_sync(f);
    cj_set(f, dyn, t, cj_load(f, CJ_U32, cj_mem(f, block, 12)));
    cj_set(f, l, cj_imm_i(f, 2), cj_imm_i(f, -5));
    cj_set(f, e, t, cj_cvt(f, CJ_F64, cj_get(f, b, cj_imm_i(f, 3))));
}

static void functions(cj_ptx *m)
{
    cj_fn *far = cj_ptx_extern_func(m, "far_away");
    cj_param(far, "x", CJ_F32);
    cj_result(far, "y", CJ_F32);
    cj_fn *g = cj_ptx_func(m, "square");
    cj_val x = cj_param(g, "x", CJ_F32);
    cj_return_value(g, cj_mul(g, x, x));
    cj_fn *f = cj_ptx_kernel(m, "caller");
    cj_val p = cj_param_ptr_in(f, "p", CJ_F32, CJ_SPACE_GLOBAL, 16), i = cj_global_id(f, CJ_Y);
    cj_val v = cj_get(f, p, i);
    cj_val r = cj_call(f, g, v);
    cj_val q = cj_call(f, far, r);
    cj_set(f, p, i, q);
}

static void called_before_they_are_made(cj_ptx *m)
{
    cj_fn *f = cj_ptx_kernel(m, "first"), *g = cj_ptx_func(m, "second"), *h = cj_ptx_func(m, "third");
    cj_val x = cj_param(h, "x", CJ_S32);
    cj_return_value(h, cj_neg(h, x));
    cj_val y = cj_param(g, "y", CJ_S32);
    cj_result(g, "r", CJ_S32);
    cj_return_value(g, cj_call(g, h, y));
    cj_val p = cj_param_ptr(f, "p", CJ_S32);
    cj_set(f, p, cj_imm_i(f, 0), cj_call(f, g, cj_get(f, p, cj_imm_i(f, 1))));
}

static void operands(cj_ptx *m)
{
    cj_fn *f = cj_ptx_kernel(m, "operands");
    cj_val p = cj_reg(f, CJ_PRED), q = cj_reg(f, CJ_PRED), a = cj_reg(f, CJ_B32), d = cj_reg(f, CJ_B64),
           v = cj_regs(f, CJ_F32, 4);
    cj_val here = cj_label(f), there = cj_label(f);
    cj_ins(f, "setp.lt.s32", cj_pair(f, p, q), a, 5);
    cj_ins(f, "setp.eq.and.s32", p, a, 5, cj_not(f, q));
    cj_ins(f, "ld.global.v4.f32", v, cj_mem(f, d, 16));
    cj_ins(f, "ld.global.v4.f32", v, cj_mem(f, d, -16));
    cj_ins(f, "mov.b64", cj_vec(f, a, cj_elem(f, v, 0)), d);
    cj_ins(f, "shfl.sync.down.b32", cj_pair(f, a, p), a, 1, 31, -1);
    cj_label_bind(f, here);
    cj_ins_if(f, p, "bra", there);
    cj_ins_unless(f, q, "bra", here);
    cj_label_bind(f, there);
    cj_ins(f, "mov.u32", a, cj_sreg(f, "%laneid"));
    cj_val targets = cj_branch_targets(f, (cj_val[]){ here, there }, 2);
    cj_ins(f, "brx.idx", a, targets);
}

static void threads(cj_ptx *m)
{
    cj_fn *f = cj_ptx_kernel(m, "threads");
    cj_val p = cj_param_ptr(f, "p", CJ_U32), t = cj_lane_id(f);
    cj_val old = cj_atomic_add(f, cj_at(f, p, t), cj_imm_u(f, 1));
    cj_val up = cj_shfl_up(f, old, cj_imm_u(f, 1)), b = cj_vote_ballot(f, cj_lt(f, up, t));
    cj_fence_device(f);
    cj_atomic_cas(f, cj_at(f, p, t), old, cj_popc(f, b));
    cj_warp_sync(f, (cj_val){ 0 });
    cj_set(f, p, t, cj_select(f, cj_eq(f, up, b), t, cj_clz(f, t)));
}

static void many(cj_ptx *m)
{
    cj_fn *f = cj_ptx_kernel(m, "many");
    cj_val x = cj_param(f, "x", CJ_F32), p = cj_param_ptr(f, "p", CJ_F32);
    for (unsigned i = 0; i < 2000; i++) x = i % 3 ? cj_fma(f, x, x, x) : cj_add(f, x, cj_imm_f32(f, (float)i));
    cj_set(f, p, cj_imm_i(f, 0), x);
}

static void nothing(cj_ptx *m) { (void)m; }
static void old_target(cj_ptx *m) { cj_ptx_set_version(m, "6.0"), cj_ptx_set_target(m, "sm_70"), saxpy(m); }
static void everything(cj_ptx *m) { saxpy(m), control(m), variables(m), functions(m), operands(m), threads(m); }

static const struct { const char *name; void (*build)(cj_ptx *m);
} built[] = {
    { "saxpy", saxpy },
    { "registers of every type", registers_of_every_type },
    { "numbers", numbers },
    { "control flow", control },
    { "variables", variables },
    { "functions", functions },
    { "functions called before they are made", called_before_they_are_made },
    { "operands", operands },
    { "threads", threads },
    { "many instructions", many },
    { "an empty module", nothing },
    { "a fixed target", old_target },
    { "all in one", everything },
};

int main(void)
{
    tap_plan(0);
    for (size_t i = 0; i < sizeof built / sizeof *built; i++) {
        for (unsigned lines = 0; lines < 2; lines++) {
            const char *first = NULL, *second = NULL;
            size_t n = 0, k = 0;
            const char *with = lines ? ", with source lines" : "";
            cj_ptx *m = cj_ptx_create();
            built[i].build(m);
            if (!tap_is_int(cj_ptx_print(m, lines ? CJ_PRINT_LINES : 0, &first, &n), CJ_OK, "%s is printed%s",
                            built[i].name, with))
                tap_diag("%s", cj_error_of(m)->message);
            cj_ptx *again = cj_parse(first ? first : "", n, "printed.ptx");
            if (!tap_is_int(cj_ptx_print(again, lines ? CJ_PRINT_LINES : 0, &second, &k), CJ_OK, "%s is read%s",
                            built[i].name, with))
                tap_diag("%s", cj_error_of(again)->message);
            tap_ok(n == k, "%s: as long as before%s", built[i].name, with);
            tap_is_str(second, first, "%s: the same text%s", built[i].name, with);
            cj_ptx_free(again);
            cj_ptx_free(m);
        }
    }
    return tap_done();
}
