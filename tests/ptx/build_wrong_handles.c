/* NULL, handles of another type and values as plain 64-bit numbers: an error, never a crash. */
#include "../tap.h"

#include <cujit/ptx.h>

#include <string.h>

static const cj_val none;

static cj_val by_get(cj_fn *f) { return cj_get(f, none, none); }
static cj_val by_param(cj_fn *f) { return cj_param(f, "a", CJ_U32); }
static cj_val by_param_ptr(cj_fn *f) { return cj_param_ptr(f, "a", CJ_F32); }
static cj_val by_reg(cj_fn *f) { return cj_reg(f, CJ_F32); }
static cj_val by_regs(cj_fn *f) { return cj_regs(f, CJ_F32, 4); }
static cj_val by_imm(cj_fn *f) { return cj_imm_i(f, 1); }
static cj_val by_mem(cj_fn *f) { return cj_mem(f, none, 0); }
static cj_val by_vec(cj_fn *f) { return cj_vec_n(f, NULL, 2); }
static cj_val by_def(cj_fn *f) { return cj_def_n(f, NULL, NULL, 0); }
static cj_val by_form(cj_fn *f) { return cj_def_form(f, 1, NULL, 0); }
static cj_val by_add(cj_fn *f) { return cj_add(f, none, none); }
static cj_val by_for(cj_fn *f) { return cj_for(f, none, none, none); }
static cj_val by_call(cj_fn *f) { return cj_call_n(f, NULL, NULL, 0); }
static cj_val by_label(cj_fn *f) { return cj_label(f); }
static cj_val by_shared(cj_fn *f) { return cj_shared(f, NULL, CJ_F32, 1); }
static cj_val by_sreg(cj_fn *f) { return cj_sreg(f, NULL); }
static cj_val by_id(cj_fn *f) { return cj_global_id(f, CJ_X); }
static cj_val by_statement(cj_fn *f)
{
    cj_if(f, none);
    cj_else(f);
    cj_end(f);
    cj_loop(f);
    cj_break(f);
    cj_return(f);
    cj_block_sync(f);
    cj_set(f, none, none, none);
    cj_assign(f, none, none);
    cj_line(f, NULL, 0);
    cj_pragma(f, NULL);
    cj_fn_max_threads(f, 0, 0, 0);
    cj_ins_n(f, "ret", NULL, 0);
    cj_ins_if_n(f, none, "ret", NULL, 0);
    cj_label_bind(f, none);
    return none;
}

static const struct { const char *name; cj_val (*call)(cj_fn *);
} calls[] = {
    { "cj_get", by_get },     { "cj_param", by_param },  { "cj_param_ptr", by_param_ptr },
    { "cj_reg", by_reg },     { "cj_regs", by_regs },    { "cj_imm_i", by_imm },
    { "cj_mem", by_mem },     { "cj_vec", by_vec },      { "cj_def", by_def },
    { "cj_def_op", by_form }, { "cj_add", by_add },      { "cj_for", by_for },
    { "cj_call", by_call },   { "cj_label", by_label },  { "cj_shared", by_shared },
    { "cj_sreg", by_sreg },   { "cj_global_id", by_id }, { "the statements", by_statement },
};

int main(void)
{
    tap_plan(0);
    cj_ptx *m = cj_ptx_create();
    cj_ptx *dead = cj_ptx_create();
    cj_fn *of_dead = cj_ptx_kernel(dead, "9");
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        tap_ok(!calls[i].call(NULL).bits && cj_error_last()->status == CJ_EHANDLE, "%s of NULL: %s", calls[i].name,
               cj_error_last()->message);
        tap_ok(!calls[i].call((cj_fn *)(void *)m).bits && cj_error_last()->status == CJ_EHANDLE, "%s of a module: %s",
               calls[i].name, cj_error_last()->message);
        tap_ok(!calls[i].call(of_dead).bits && cj_error_last()->status == CJ_EINVAL,
               "%s of a failed function: its own failure", calls[i].name);
    }
    tap_is_int(cj_ptx_status(m), CJ_OK, "none of them harms the module they were given");
    tap_is_int(cj_error_of(of_dead)->status, CJ_EINVAL, "a failed function tells what failed");

    const char *text = "x";
    size_t bytes = 1;
    tap_is_int(cj_ptx_print(NULL, 0, &text, &bytes), CJ_EHANDLE, "printing NULL");
    tap_ok(!strcmp(text, "") && !bytes, "gives empty text");
    tap_is_int(cj_ptx_print(m, 0, NULL, NULL), CJ_OK, "printing without taking the text");
    tap_is_int(cj_error_of(cj_ptx_kernel(NULL, "k"))->status, CJ_EHANDLE, "a kernel in no module is a failed function");
    tap_is_int(cj_error_of(cj_ptx_kernel((cj_ptx *)(void *)cj_ptx_kernel(m, "k"), "k"))->status, CJ_EHANDLE,
               "a kernel in a kernel too");
    tap_is_int(cj_ptx_set_target(NULL, "sm_80"), CJ_EHANDLE, "fixing NULL's target");
    tap_is_int(cj_ptx_version(NULL), 0, "the version of NULL");
    tap_is_str(cj_ptx_target(NULL), "", "the target of NULL");
    tap_is_int(cj_ptx_allows(NULL, "sm_80"), 0, "what NULL allows");
    tap_ok(!cj_ptx_global(NULL, "g", CJ_U32, 1, NULL, 0).bits, "a variable of NULL");
    cj_ptx *copy = cj_ptx_clone(NULL);
    tap_is_int(cj_ptx_status(copy), CJ_EHANDLE, "a copy of NULL");
    cj_ptx_free(copy);
    cj_fn *missing = cj_ptx_find(m, "nix");
    tap_is_int(cj_error_of(missing)->status, CJ_ENOTFOUND, "a function that is not there says so");
    tap_is_int(cj_ptx_status(m), CJ_OK, "which the module does not keep");
    cj_ptx *caller = cj_ptx_create();
    cj_fn *from = cj_ptx_kernel(caller, "calls");
    cj_reg(missing, CJ_U32);
    tap_ok(!cj_call_n(missing, missing, NULL, 0).bits && !cj_call_n(from, missing, NULL, 0).bits,
           "and calls nothing and is not called");
    tap_ok(cj_ptx_status(caller) != CJ_OK && cj_ptx_status(m) == CJ_OK, "the caller keeps that: %s",
           cj_error_of(caller)->message);
    cj_ptx_free(caller);

    cj_fn *f = cj_ptx_kernel(m, "numbers");
    uint64_t (*add)(cj_fn *, uint64_t, uint64_t);
    uint64_t (*reg)(cj_fn *, int);
    cj_val (*typed_add)(cj_fn *, cj_val, cj_val) = (cj_add);
    cj_val (*typed_reg)(cj_fn *, cj_type) = (cj_reg);
    memcpy(&add, &typed_add, sizeof add);
    memcpy(&reg, &typed_reg, sizeof reg);
    uint64_t a = reg(f, CJ_F32), sum = add(f, a, a);
    tap_is_int(cj_type_of((cj_val){ sum }), CJ_F32, "a value goes in and out as a uint64_t");
    for (unsigned bit = 0; bit < 64; bit++) add(f, a ^ (uint64_t)1 << bit, a);
    tap_ok(cj_ptx_status(m) != CJ_OK, "values with a bit turned are rejected, not followed: %s",
           cj_error_of(m)->message);
    cj_ptx_free(m);
    cj_ptx_free(dead);
    cj_ptx_free(NULL);
    return tap_done();
}
