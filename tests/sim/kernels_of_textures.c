/* A kernel with texture, surface or im2col instructions, or with products of matrices that the CPU device lacks, is
 * rejected when it is loaded: the sentence names the instruction and its line. */
#include <stdio.h>

#include "tests/conformance/driver_abi.h"

#define HEAD(target) ".version 8.0\n.target " target "\n.address_size 64\n"
#define ENTRY ".visible .entry k(.param .u64 a)\n{\n.reg .b64 %d<9>;\n.reg .b32 %r<20>;\n.reg .f32 %f<20>;\n"

static const struct { const char *name, *ptx, *instruction; unsigned line; } rows[] = {
    { "a texture read", HEAD("sm_90") ENTRY "ld.param.u64 %d1, [a];\n"
      "tex.2d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [%d1, {%r1, %r2}];\nret;\n}\n", "tex.2d.v4.f32.s32", 10 },
    { "a surface read", HEAD("sm_90") ENTRY "ld.param.u64 %d1, [a];\n"
      "suld.b.1d.b32.trap {%r1}, [%d1, {%r2}];\nret;\n}\n", "suld.b.1d.b32.trap", 10 },
    { "a surface write", HEAD("sm_90") ENTRY "ld.param.u64 %d1, [a];\n"
      "sust.b.1d.b32.trap [%d1, {%r2}], {%r1};\nret;\n}\n", "sust.b.1d.b32.trap", 10 },
    { "a multiplication of matrices of 4 bits", HEAD("sm_90") ENTRY
      "mma.sync.aligned.m8n8k32.row.col.s32.s4.s4.s32 {%r1, %r2}, {%r3}, {%r4}, {%r1, %r2};\nret;\n}\n",
      "mma.sync.aligned.m8n8k32.row.col.s32.s4.s4.s32", 9 },
    { "four multiplications of a quarter of a warp", HEAD("sm_90") ENTRY
      "mma.sync.aligned.m8n8k4.row.col.f16.f16.f16.f16 {%r1, %r2, %r3, %r4}, {%r5, %r6}, {%r7, %r8}, "
      "{%r1, %r2, %r3, %r4};\nret;\n}\n", "mma.sync.aligned.m8n8k4.row.col.f16", 9 },
    { "a copy in im2col mode", HEAD("sm_90") ".shared .align 128 .b8 s[256];\n.shared .align 8 .b64 b;\n" ENTRY
      "ld.param.u64 %d1, [a];\nmov.u32 %r1, s;\nmov.u32 %r2, b;\n"
      "cp.async.bulk.tensor.3d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [%r1], "
      "[%d1, {%r3, %r3, %r3}], [%r2], {2};\nret;\n}\n", "cp.async.bulk.tensor.3d", 14 },
};

int main(void)
{
    abi_open();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char log[2000] = "", line[32];
        CUjit_option option[] = { CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES };
        void *value[] = { log, (void *)(uintptr_t)sizeof log };
        CUmodule m = NULL;
        snprintf(line, sizeof line, ":%u:", rows[i].line);
        abi_is(cu.cuModuleLoadDataEx(&m, rows[i].ptx, 2, option, value), CUDA_ERROR_INVALID_PTX, "%s", rows[i].name);
        tap_has_str(log, rows[i].instruction, "%s: the instruction", rows[i].name);
        tap_has_str(log, line, "%s: its line", rows[i].name);
    }
    return abi_close();
}
