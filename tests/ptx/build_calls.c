/* Functions: parameters and results in registers, calls with literals, several results, use before definition, extern
 * functions. */
#include "ask_ptxas.h"

#include <cujit/ptx.h>

#include <string.h>

static cj_ptx *make(void)
{
    cj_ptx *m = cj_ptx_create();
    cj_fn *k = cj_ptx_kernel(m, "k");
    cj_val x = cj_param_ptr(k, "x", CJ_F32);

    cj_fn *norm = cj_ptx_func(m, "norm");
    cj_val v = cj_param(norm, "v", CJ_F32), w = cj_param(norm, "w", CJ_F32);
    cj_if(norm, cj_gt(norm, v, w));
        cj_return_value(norm, v);
    cj_end(norm);
    cj_return_value(norm, cj_sqrt(norm, cj_fma(norm, v, v, cj_mul(norm, w, w))));

    cj_fn *split = cj_ptx_func(m, "split");
    cj_val p = cj_param_ptr(split, "p", CJ_F32), i = cj_param(split, "i", CJ_U32);
    cj_val lo = cj_result(split, "lo", CJ_F32), hi = cj_result(split, "hi", CJ_F32);
    cj_assign(split, lo, cj_get(split, p, i));
    cj_assign(split, hi, cj_call(split, norm, lo, 2));
    cj_return(split);

    cj_fn *done = cj_ptx_func(m, "done");
    cj_fence_system(done);

    cj_fn *other = cj_ptx_extern_func(m, "other");
    cj_param(other, "h", CJ_U64);

    cj_val r = cj_call(k, norm, cj_get(k, x, cj_imm(k, 0)), 1.5);
    cj_val both[2];
    both[0] = cj_reg(k, CJ_F32);
    both[1] = cj_reg(k, CJ_F32);
    cj_call_into(k, split, both, 2, (const cj_val[]){ x, cj_imm(k, 3) }, 2);
    cj_set(k, x, cj_imm(k, 1), cj_add(k, r, cj_add(k, both[0], both[1])));
    tap_ok(!cj_call(k, done).bits && cj_ptx_status(m) == CJ_OK, "a call without result gives the null value");
    cj_call(k, other, x);
    return m;
}

static const char *const parts[] = {
    ".visible .func (.reg .f32 result) norm(.reg .f32 v, .reg .f32 w);\n",
    ".visible .func (.reg .f32 lo, .reg .f32 hi) split(.reg .u64 p, .reg .u32 i);\n",
    ".visible .func done;\n",
    ".extern .func other(.reg .u64 h);\n",
    "\tcall.uni (%f1), norm, (%f0, 0f3FC00000);\n",
    "\tcall.uni (%f2, %f3), split, (%ud1, 3);\n",
    "\tcall.uni done;\n",
    "\tcall.uni other, (%ud1);\n",
    "\tmov.f32 result, v;\n",
    "\tcall.uni (%f1), norm, (lo, 0f40000000);\n",
};

int main(void)
{
    const char *text, *again;
    tap_plan(0);
    cj_ptx *m = make(), *second = make();
    if (!tap_is_int(cj_ptx_print(m, 0, &text, NULL), CJ_OK, "it prints")) tap_bail("%s", cj_error_of(m)->message);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) tap_has_str(text, parts[i], "part %zu", i);
    cj_ptx_print(second, 0, &again, NULL);
    tap_is_str(again, text, "the same calls give the same text");
    ptxas_takes(text, "functions and calls");
    cj_ptx_free(m);
    cj_ptx_free(second);

    static const struct { const char *name; cj_type given; size_t n; const char *message; } wrong[] = {
        { "an argument's type", CJ_U32, 1, "argument 1 (v) is .u32, wants .f32" },
        { "too many arguments", CJ_F32, 2, "one has 1 parameter, the call gives 2" },
        { "no arguments", CJ_F32, 0, "one has 1 parameter, the call gives 0" },
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        m = cj_ptx_create();
        cj_fn *one = cj_ptx_func(m, "one"), *k = cj_ptx_kernel(m, "k");
        cj_param(one, "v", CJ_F32);
        cj_val a = cj_reg(k, wrong[i].given);
        const cj_val args[2] = { a, a };
        cj_call_n(k, one, args, wrong[i].n);
        tap_has_str(cj_error_of(m)->message, wrong[i].message, "%s", wrong[i].name);
        cj_ptx_free(m);
    }
    return tap_done();
}
