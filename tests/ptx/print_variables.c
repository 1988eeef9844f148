/* Declarations as they are printed: spaces, types, alignment, initial values, launch bounds. */
#include "ask_ptxas.h"

#include <cujit/ptx.h>

#include <string.h>

static const char *const declarations[] = {
    ".visible .global .u32 counter[1];\n",
    ".visible .global .align 16 .f32 f[4] = {0f3F800000, 0fC0200000};\n",
    ".visible .const .f64 d[2] = {0d3FF0000000000000, 0d7FEFFFFFFFFFFFFF};\n",
    ".visible .const .s8 s[3] = {-1, 2, -128};\n",
    ".visible .global .u64 w[2] = {0xFFFFFFFFFFFFFFFF, 5};\n",
    ".visible .global .b16 h[2] = {15360, 49152};\n",
    ".extern .global .u32 theirs[7];\n",
    ".extern .const .f32 open[];\n",
    ".extern .shared .align 16 .f32 dynamic[];\n",
    "\t.shared .align 8 .b8 raw[24];\n",
    "\t.local .f64 stack[5];\n",
    "\t.param .align 64 .b8 map[128],\n",
    "\t.param .u64 .ptr p,\n",
    "\t.param .u64 .ptr .const .align 16 c,\n",
    "\t.param .b16 half\n",
    ")\n.maxntid 128, 2, 1\n.minnctapersm 2\n.maxnreg 64\n{\n",
    ")\n.reqntid 32, 1, 1\n{\n",
};

int main(void)
{
    static const float f[2] = { 1, -2.5f };
    static const double d[2] = { 1, 1.7976931348623157e308 };
    static const int8_t s[3] = { -1, 2, -128 };
    static const uint64_t w[2] = { UINT64_MAX, 5 };
    static const uint16_t h[2] = { 0x3c00, 0xc000 };
    const char *text;
    tap_plan(0);
    cj_ptx *m = cj_ptx_create();
    cj_ptx_global(m, "counter", CJ_U32, 1, NULL, 0);
    cj_ptx_var_align(m, cj_ptx_global(m, "f", CJ_F32, 4, f, 2), 16);
    cj_ptx_const(m, "d", CJ_F64, 2, d, 2);
    cj_ptx_const(m, "s", CJ_S8, 3, s, 3);
    cj_ptx_global(m, "w", CJ_U64, 2, w, 2);
    cj_ptx_global(m, "h", CJ_F16, 2, h, 2);
    cj_ptx_extern(m, "theirs", CJ_SPACE_GLOBAL, CJ_U32, 7);
    cj_ptx_extern(m, "open", CJ_SPACE_CONST, CJ_F32, 0);
    cj_fn *k = cj_ptx_kernel(m, "k");
    cj_val dynamic = cj_shared_dynamic(k, "dynamic", CJ_F32, 16);
    cj_var_align(k, cj_shared(k, "raw", CJ_B8, 24), 8);
    cj_local(k, "stack", CJ_F64, 5);
    cj_val map = cj_param_bytes(k, "map", 128, 64);
    cj_param_ptr_in(k, "p", CJ_VOID, CJ_SPACE_GENERIC, 0);
    cj_val c = cj_param_ptr_in(k, "c", CJ_F32, CJ_SPACE_CONST, 16);
    cj_val half = cj_param(k, "half", CJ_F16);
    cj_fn_max_threads(k, 128, 2, 1);
    cj_fn_min_blocks(k, 2);
    cj_fn_max_registers(k, 64);
    cj_set(k, dynamic, cj_imm(k, 0), cj_get(k, c, cj_load(k, CJ_U32, cj_mem(k, map, 4))));
    tap_is_int(cj_type_of(half), CJ_F16, "a half is read into a half register");
    cj_fn *second = cj_ptx_kernel(m, "second");
    tap_is_uint((uint32_t)cj_shared_dynamic(second, "dynamic", CJ_F32, 4).bits, (uint32_t)dynamic.bits,
                "two kernels share the dynamic part");
    cj_fn_required_threads(second, 32, 1, 1);
    if (!tap_is_int(cj_ptx_print(m, 0, &text, NULL), CJ_OK, "it prints")) tap_bail("%s", cj_error_of(m)->message);
    for (size_t i = 0; i < sizeof declarations / sizeof *declarations; i++)
        tap_has_str(text, declarations[i], "declaration %zu", i);
    ptxas_takes(text, "declarations");
    cj_ptx_free(m);
    return tap_done();
}
