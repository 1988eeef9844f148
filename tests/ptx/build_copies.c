/* A copy of a module prints the same and goes its own way; a frozen module takes no calls and keeps its text. */
#include "../tap.h"

#include "ptx/ptx.h"

#include <string.h>

static const float row[2] = { 1, 2 };

static cj_ptx *make(void)
{
    cj_ptx *m = cj_ptx_create();
    cj_val c = cj_ptx_const(m, "c", CJ_F32, 3, row, 2);
    cj_fn *g = cj_ptx_func(m, "g");
    cj_return_value(g, cj_add(g, cj_param(g, "v", CJ_F32), cj_imm_f32(g, 1)));
    cj_fn *f = cj_ptx_kernel(m, "f");
    cj_val x = cj_param_ptr(f, "x", CJ_F32);
    cj_line(f, "a.lang", 3);
    cj_val i = cj_for(f, cj_imm_i(f, 0), cj_param(f, "n", CJ_U32), cj_imm_i(f, 1));
    cj_val v = cj_get(f, c, i);
    cj_set(f, x, i, cj_call_n(f, g, &v, 1));
    cj_end(f);
    cj_fn_max_threads(f, 128, 1, 1);
    return m;
}

int main(void)
{
    const char *text, *copied, *again;
    tap_plan(0);
    cj_ptx *m = make();
    cj_ptx *c = cj_ptx_clone(m);
    tap_is_int(cj_ptx_print(m, CJ_PRINT_LINES, &text, NULL), CJ_OK, "the module prints");
    tap_is_int(cj_ptx_print(c, CJ_PRINT_LINES, &copied, NULL), CJ_OK, "its copy prints");
    tap_is_str(copied, text, "the same text");
    tap_is_uint(cj_reg(cj_ptx_find(c, "f"), CJ_F32).bits >> 44 == cj_reg(cj_ptx_find(m, "f"), CJ_F32).bits >> 44, 0,
                "values have other owners");

    cji_ptx_freeze(m);
    cj_fn *f = cj_ptx_find(m, "f");
    tap_is_uint(cj_imm_i(f, 1).bits, 0, "a frozen module takes no value");
    tap_is_int(cj_error_last()->status, CJ_ESTATE, "%s", cj_error_last()->message);
    tap_is_int(cj_error_of(cj_ptx_kernel(m, "late"))->status, CJ_ESTATE, "and no kernel");
    tap_is_int(cj_ptx_print(m, 0, &again, NULL), CJ_OK, "it still prints");

    cj_ptx *thawed = cj_ptx_clone(m);
    f = cj_ptx_kernel(thawed, "late");
    cj_block_sync(f);
    tap_is_int(cj_ptx_print(thawed, 0, &copied, NULL), CJ_OK, "a copy of it can be changed");
    tap_ok(strstr(copied, "late") && !strstr(again, "late"), "alone");
    tap_is_int(cj_error_of(cj_ptx_kernel(thawed, "f"))->status, CJ_EINVAL, "its names are still taken");
    cj_ptx *dead = cj_ptx_clone(thawed);
    tap_is_str(cj_error_of(dead)->message, cj_error_of(thawed)->message, "the copy of a failed module has its failure");
    cj_ptx_free(dead);
    cj_ptx_free(thawed);
    cj_ptx_free(c);
    cj_ptx_free(m);
    return tap_done();
}
