/* A mistake stays in the module as a sentence that names the place, the thing and the fix; what comes after it changes
 * nothing. */
#include "../tap.h"

#include <cujit/ptx.h>

#include <string.h>

typedef struct site { cj_ptx *m; cj_fn *f, *g; cj_val u32, s32, f32, f64, u64, pred, x; } site;

static site make_site(void)
{
    site s = { .m = cj_ptx_create() };
    s.f = cj_ptx_kernel(s.m, "k");
    s.g = cj_ptx_kernel(s.m, "other");
    s.u32 = cj_reg(s.f, CJ_U32);
    s.s32 = cj_reg(s.f, CJ_S32);
    s.f32 = cj_reg(s.f, CJ_F32);
    s.f64 = cj_reg(s.f, CJ_F64);
    s.u64 = cj_reg(s.f, CJ_U64);
    s.pred = cj_reg(s.f, CJ_PRED);
    s.x = cj_param_ptr(s.f, "x", CJ_F32);
    cj_line(s.f, "user.lang", 7);
    return s;
}

static void no_rounding(site *s) { cj_ins(s->f, "fma.f32", s->f32, s->f32, s->f32, s->f32); }
static void no_such_word(site *s) { cj_ins(s->f, "ad.f32", s->f32, s->f32, s->f32); }
static void wrong_type(site *s) { cj_ins(s->f, "add.f32", s->f32, s->f32, s->u32); }
static void too_few(site *s) { cj_ins(s->f, "add.f32", s->f32, s->f32); }
static void too_many(site *s) { cj_ins(s->f, "add.f32", s->f32, s->f32, s->f32, s->f32); }
static void wrong_count(site *s) { cj_ins(s->f, "ld.global.v4.f32", cj_regs(s->f, CJ_F32, 2), cj_mem(s->f, s->x, 0)); }
static void no_integer(site *s) { cj_ins(s->f, "add.u32", s->u32, s->u32, 1.5); }
static void too_large(site *s) { cj_ins(s->f, "add.u16", cj_reg(s->f, CJ_U16), cj_reg(s->f, CJ_U16), 70000); }
static void no_destination(site *s) { cj_def(s->f, "st.global.f32", cj_mem(s->f, s->x, 0), s->f32); }
static void wrong_space(site *s)
{
    cj_ins(s->f, "ld.global.f32", s->f32, cj_mem(s->f, cj_shared(s->f, "t", CJ_F32, 4), 0));
}
static void mixed_types(site *s) { cj_add(s->f, s->f32, s->u32); }
static void mixed_signs(site *s) { cj_lt(s->f, s->s32, s->u32); }
static void no_verb(site *s) { cj_rem(s->f, s->f32, s->f32); }
static void number_by_zero(site *s) { cj_div(s->f, 1, 0); }
static void no_pointee(site *s) { cj_get(s->f, s->u64, s->u32); }
static void no_pointer(site *s) { cj_load(s->f, CJ_F32, s->f32); }
static void wrong_store(site *s) { cj_set(s->f, s->x, s->u32, s->s32); }
static void narrow_store(site *s) { cj_set(s->f, s->x, 0, s->f64); }
static void narrow_sine(site *s) { cj_approx_sin(s->f, s->f64); }
static void no_conversion(site *s) { cj_cvt(s->f, CJ_F16X2, s->f32); }
static void wrong_guard(site *s) { cj_if(s->f, s->u32); }
static void wrong_assign(site *s) { cj_assign(s->f, s->f32, s->f64); }
static void foreign(site *s) { cj_add(s->f, cj_reg(s->g, CJ_U32), s->u32); }
static void null_value(site *s) { cj_add(s->f, (cj_val){ 0 }, s->u32); }
static void no_end(site *s) { cj_if(s->f, s->pred); }
static void no_block(site *s) { cj_end(s->f); }
static void second_else(site *s) { cj_if(s->f, s->pred); cj_else(s->f); cj_else(s->f); }
static void no_loop(site *s) { cj_if(s->f, s->pred); cj_break(s->f); }
static void no_place(site *s) { cj_ins(s->f, "bra", cj_label(s->f)); }
static void two_places(site *s) { cj_val l = cj_label(s->f); cj_label_bind(s->f, l); cj_label_bind(s->f, l); }
static void taken_param(site *s) { cj_param(s->f, "x", CJ_U32); }
static void taken_dynamic(site *s) { cj_shared_dynamic(s->f, "x", CJ_U32, 16); }
static void hidden_dynamic(site *s)
{
    cj_val d = cj_shared_dynamic(s->f, "dyn", CJ_U32, 16);
    cj_shared(s->f, "dyn", CJ_U32, 1);
    cj_set(s->f, d, 0, 1);
}
static void named_dynamic(site *s)
{
    cj_set(s->f, cj_shared_dynamic(s->f, "dyn", CJ_U32, 16), 0, 1);
    cj_local(s->f, "dyn", CJ_U32, 1);
}
static void hidden_global(site *s)
{
    cj_val v = cj_ptx_global(s->m, "v", CJ_U32, 1, NULL, 0);
    cj_local(s->f, "v", CJ_U32, 1);
    cj_get(s->f, v, 0);
}
static void taken_kernel(site *s) { cj_ptx_line(s->m, "user.lang", 7); cj_ptx_kernel(s->m, "k"); }
static void bad_name(site *s) { cj_shared(s->f, "9lives", CJ_U32, 1); }
static void no_count(site *s) { cj_shared(s->f, "t", CJ_U32, 0); }
static void many_elements(site *s) { cj_shared(s->f, "t", CJ_U32, SIZE_MAX); }
static void bad_align(site *s) { cj_var_align(s->f, cj_shared(s->f, "t", CJ_U32, 2), 3); }
static void param_inside(site *s) { cj_if(s->f, s->pred); cj_param(s->f, "y", CJ_U32); }
static void kernel_called(site *s) { cj_call(s->f, s->g, s->u32); }
static void wrong_arguments(site *s) { cj_call(s->f, cj_ptx_func(s->m, "h"), s->u32); }
static void no_register(site *s) { cj_sreg(s->f, "%tid.q"); }
static void bare_register(site *s) { cj_sreg(s->f, "laneid"); }
static void no_step(site *s) { cj_for(s->f, s->u32, cj_imm(s->f, 9), cj_imm(s->f, 0)); }
static void far_word(site *s) { cj_ins(s->f, "foo.u32", s->u32, s->u32); }
static void both_blocks(site *s)
{
    cj_fn_max_threads(s->f, 64, 1, 1);
    cj_fn_required_threads(s->f, 64, 1, 1);
}
static void large_block(site *s) { cj_fn_max_threads(s->f, 64, 32, 1); }
static void matrix_registers(site *s)
{
    cj_val d = cj_regs(s->f, CJ_F32, 4), a = cj_regs(s->f, CJ_B32, 4);
    cj_ins(s->f, "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32", d, a, a, d);
}
static void matrix_target(site *s)
{
    cj_ptx_set_target(s->m, "sm_80");
    cj_ins(s->f, "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16", cj_regs(s->f, CJ_F32, 4), s->u64, s->u64, s->pred,
           1, 1, 0, 0);
}
static void new_target(site *s) { cj_ptx_set_target(s->m, "sm_80"); cj_ins(s->f, "barrier.cluster.arrive"); }
static void fixed_late(site *s) { cj_ins(s->f, "barrier.cluster.arrive"); cj_ptx_set_target(s->m, "sm_80"); }
static void new_version(site *s) { cj_ptx_set_version(s->m, "7.0"); cj_ins(s->f, "barrier.cluster.arrive"); }
static void no_version(site *s) { cj_ptx_line(s->m, "user.lang", 7); cj_ptx_set_version(s->m, "8"); }
static void no_target(site *s) { cj_ptx_line(s->m, "user.lang", 7); cj_ptx_set_target(s->m, "sm_1"); }
static void late_param(site *s)
{
    cj_fn *h = cj_ptx_func(s->m, "h");
    cj_line(h, "user.lang", 7);
    cj_call(s->f, h);
    cj_param(h, "v", CJ_U32);
}
static void large_const(site *s)
{
    cj_ptx_line(s->m, "user.lang", 7);
    cj_ptx_const(s->m, "c", CJ_F64, 4096, NULL, 0);
    cj_ptx_const(s->m, "d", CJ_F64, 4097, NULL, 0);
}
static void large_params(site *s)
{
    cj_param_bytes(s->f, "a", 20000, 8);
    cj_param_bytes(s->f, "b", 20000, 8);
}
static void gone(site *s)
{
    cj_ins(s->f, "shfl.down.b32", s->u32, s->u32, 1, 31);
    cj_ptx_set_version(s->m, "7.0");
    cj_ptx_set_target(s->m, "sm_80");
}
static void gone_word(site *s)
{
    cj_val d = cj_regs(s->f, CJ_F32, 8), a = cj_regs(s->f, CJ_B32, 8);
    cj_ins(s->f, "wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32.satfinite", d, a, a, d);
    cj_ptx_set_version(s->m, "7.0");
    cj_ptx_set_target(s->m, "sm_80");
}
static void late_on_target(site *s)
{
    cj_ptx_set_version(s->m, "7.8");
    cj_ptx_set_target(s->m, "sm_89");
    cj_ins(s->f, "cvt.rn.satfinite.e4m3x2.f16x2", cj_reg(s->f, CJ_B16), cj_reg(s->f, CJ_B32));
}
static void late_then_fixed(site *s)
{
    cj_ins(s->f, "cvt.rn.satfinite.e4m3x2.f16x2", cj_reg(s->f, CJ_B16), cj_reg(s->f, CJ_B32));
    cj_ptx_set_version(s->m, "8.0");
    cj_ptx_set_target(s->m, "sm_89");
}
static void unlike_registers(site *s)
{
    cj_ins(s->f, "mov.b64", cj_reg(s->f, CJ_B64), cj_vec(s->f, s->u32, cj_reg(s->f, CJ_F32)));
}
static void number_as_address(site *s)
{
    cj_ins(s->f, "ld.global.u32", s->u32, cj_mem(s->f, cj_imm(s->f, 64), 0));
}

static const struct { const char *name; void (*make)(site *); cj_status status; const char *message;
} cases[] = {
    { "a rounding mode is missing", no_rounding, CJ_EUNKNOWN,
      "no instruction \"fma.f32\": fma wants a rounding mode: fma.rn.f32, fma.rz.f32, fma.rm.f32, fma.rp.f32" },
    { "an unknown mnemonic", no_such_word, CJ_EUNKNOWN, "no instruction \"ad" },
    { "an operand's type", wrong_type, CJ_EPTX, "add.f32: operand b is .u32, wants .f32" },
    { "too few operands", too_few, CJ_EPTX, "add.f32: has 2 operands, wants 3: d, a, b" },
    { "too many operands", too_many, CJ_EPTX, "add.f32: has 4 operands, wants 3" },
    { "a vector's length", wrong_count, CJ_EPTX, "ld.global.v4.f32: operand d has 2 registers, wants 4 of .f32" },
    { "a number that is no integer", no_integer, CJ_EPTX,
      "add.u32: operand b: 1.5 is a floating-point number, wants an integer" },
    { "a number that is too large", too_large, CJ_EPTX, "add.u16: operand b: 70000 does not fit a .u16" },
    { "no destination to make", no_destination, CJ_EPTX, "use cj_ins()" },
    { "another state space", wrong_space, CJ_EPTX, "operand a is in .shared, wants .global" },
    { "a verb's types differ", mixed_types, CJ_EPTX,
      "cj_add: operand b is .u32, wants .f32; cj_cvt() and cj_bits() make one of it" },
    { "a verb's signs differ", mixed_signs, CJ_EPTX, "cj_lt: operand b is .u32, wants .s32" },
    { "a verb without that type", no_verb, CJ_EPTX, "cj_rem: the operand is .f32, wants one of .u16" },
    { "a number divided by 0", number_by_zero, CJ_EPTX, "cj_div: division of a number by 0" },
    { "nothing known behind a pointer", no_pointee, CJ_EPTX, "cj_as_ptr() sets it" },
    { "no pointer", no_pointer, CJ_EPTX, "cj_load: the address is not a pointer" },
    { "another type is stored", wrong_store, CJ_EPTX, "cj_set: the value is .s32, wants .f32" },
    { "a double into floats", narrow_store, CJ_EPTX,
      "cj_set: the value is .f64, wants .f32; cj_cvt() and cj_bits() make one of it" },
    { "a sine of a double", narrow_sine, CJ_EPTX, "cj_approx_sin: the operand is .f64, wants .f32" },
    { "a conversion that does not exist", no_conversion, CJ_EPTX, "cj_cvt: a .f32 does not convert to .f16x2" },
    { "a guard that is no predicate", wrong_guard, CJ_EPTX, "cj_if: the condition is not a predicate" },
    { "another type is assigned", wrong_assign, CJ_EPTX, "cj_assign: the value is .f64, wants .f32" },
    { "a value of another function", foreign, CJ_EPTX, "cj_add: operand a was made in another function than k" },
    { "the null value", null_value, CJ_EPTX, "cj_add: operand a is the null value" },
    { "an open block", no_end, CJ_ESTATE, "cj_if in k is still open: cj_end() is missing" },
    { "an end too many", no_block, CJ_ESTATE, "cj_end: no block is open" },
    { "a second else", second_else, CJ_ESTATE, "cj_else: the innermost open block is not a cj_if without cj_else" },
    { "a break outside of a loop", no_loop, CJ_ESTATE, "cj_break: not inside of cj_loop, cj_while or cj_for" },
    { "a label without a place", no_place, CJ_EPTX, "used and never bound" },
    { "a label with two places", two_places, CJ_EPTX, "bound twice" },
    { "a parameter's name twice", taken_param, CJ_EINVAL, "cj_param: the name \"x\" is used already" },
    { "a parameter's name for dynamic shared memory", taken_dynamic, CJ_EINVAL,
      "cj_shared_dynamic: \"x\": the function has a parameter or variable of this name" },
    { "dynamic shared memory behind a variable of its name", hidden_dynamic, CJ_EINVAL,
      "is the module's variable \"dyn\", and k has a parameter or variable of this name" },
    { "the name of dynamic shared memory in use", named_dynamic, CJ_EINVAL,
      "cj_local: the name \"dyn\" is used already" },
    { "a module's variable behind one of its name", hidden_global, CJ_EINVAL,
      "is the module's variable \"v\", and k has a parameter or variable of this name" },
    { "a kernel's name twice", taken_kernel, CJ_EINVAL,
      "cj_ptx_kernel: the name \"k\" is used already in this module" },
    { "no name", bad_name, CJ_EINVAL, "\"9lives\" is not a PTX name" },
    { "no elements", no_count, CJ_EINVAL, "the count must be 1 or more" },
    { "too many elements", many_elements, CJ_EINVAL, "the count is beyond the memory of a block" },
    { "no alignment", bad_align, CJ_EINVAL, "3 is not a power of two" },
    { "a parameter inside of a block", param_inside, CJ_ESTATE, "declared outside of" },
    { "a kernel is called", kernel_called, CJ_EINVAL, "kernels cannot be called" },
    { "a call with too many arguments", wrong_arguments, CJ_EPTX, "cj_call: h has 0 parameters, the call gives 1" },
    { "no special register", no_register, CJ_EUNKNOWN, "no special register \"%tid.q\"" },
    { "a special register without its sign", bare_register, CJ_EUNKNOWN, "names begin with %, such as %tid.x" },
    { "a loop that stands still", no_step, CJ_EINVAL, "cj_for: a step of 0 never reaches the end" },
    { "an instruction like no other", far_word, CJ_EUNKNOWN, "no instruction \"foo\"" },
    { "a largest and an exact block", both_blocks, CJ_EINVAL, "a kernel has one of the two" },
    { "a block that is too large", large_block, CJ_EINVAL, "more than a block has (1024)" },
    { "a matrix instruction's registers", matrix_registers, CJ_EPTX,
      "mma.sync.aligned.m16n8k16...: operand b has 4 registers, wants 2 of .b32" },
    { "a matrix instruction's target", matrix_target, CJ_ENOTSUP,
      "wgmma.mma_async needs target sm_90a; the module is set to sm_80" },
    { "an instruction of another target", new_target, CJ_ENOTSUP,
      "barrier.cluster needs target sm_90 or newer; the module is set to sm_80" },
    { "a target fixed too late", fixed_late, CJ_ENOTSUP,
      "barrier.cluster needs target sm_90 or newer; the module is set to sm_80" },
    { "an instruction of another version", new_version, CJ_ENOTSUP,
      "barrier.cluster needs PTX 7.8; the module is set to 7.0" },
    { "no version", no_version, CJ_EINVAL, "is not a PTX version" },
    { "no target", no_target, CJ_EINVAL, "is not a target" },
    { "a parameter after a call", late_param, CJ_ESTATE, "cj_param: h has been called" },
    { "too much constant memory", large_const, CJ_EINVAL, "constant memory has 65536 bytes in all" },
    { "too many parameters", large_params, CJ_EPTX, "the parameters of k have more than 32764 bytes" },
    { "a modifier that is gone", gone_word, CJ_ENOTSUP, "from PTX 6.5 on for sm_80; use its form without .satfinite" },
    { "what came later to a target", late_on_target, CJ_ENOTSUP, "needs PTX 8.1 on sm_89; the module is set to 7.8" },
    { "the same, fixed afterwards", late_then_fixed, CJ_ENOTSUP, "needs PTX 8.1 on sm_89; the module is set to 8.0" },
    { "unlike registers in a vector", unlike_registers, CJ_EPTX,
      "mov.b64: operand a has a .u32 as element 0 and a .f32 as element 1: elements of one vector" },
    { "a number as an address", number_as_address, CJ_EPTX, "operand a is an address that is a number" },
    { "an instruction that is gone", gone, CJ_ENOTSUP, "does not exist from PTX 6.4 on for sm_80" },
};

int main(void)
{
    tap_plan(0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *text;
        site s = make_site();
        cases[i].make(&s);
        cj_status status = cj_ptx_print(s.m, 0, &text, NULL);
        const cj_error *e = cj_error_of(s.m);
        tap_is_int(status, cases[i].status, "%s: the status", cases[i].name);
        tap_is_str(text, "", "%s: no text", cases[i].name);
        tap_has_str(e->message, cases[i].message, "%s: the message", cases[i].name);
        tap_ok(!strncmp(e->message, "user.lang:7: ", 13) && !strcmp(e->file, "user.lang") && e->line == 7,
               "%s: the place (%s)", cases[i].name, e->message);
        cj_val later = cj_add(s.f, s.u32, s.u32);
        cj_ptx_print(s.m, 0, &text, NULL);
        tap_ok(!later.bits && !strcmp(cj_error_of(s.m)->message, e->message), "%s: the first failure stays",
               cases[i].name);
        cj_ptx_free(s.m);
    }
    tap_ok(!cj_op_find("fma.f32").form && strstr(cj_error_last()->message, "rounding mode"),
           "a mnemonic that does not resolve says why");
    return tap_done();
}
