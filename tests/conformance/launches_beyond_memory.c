/* Kernels that need more shared or local memory than a launch can have: they load, their launch fails, and the context
 * goes on. Large alignments of variables. */
#include "tests/conformance/driver_abi.h"

#include <stdio.h>

#define KERNEL(body) ABI_HEAD ".visible .entry k(.param .u64 p)\n{\n.reg .b64 %a<4>; .reg .b32 %r<4>;\n" \
    "ld.param.u64 %a0, [p];\ncvta.to.global.u64 %a0, %a0;\nld.global.u32 %r0, [%a0];\ncvt.u64.u32 %a1, %r0;\n" \
    body "st.global.u32 [%a0], %r1;\nret;\n}\n"
#define THROUGH(space, size) "." space " .align 16 .b8 room[" #size "];\nmov.u64 %a2, room;\nadd.u64 %a2, %a2, %a1;\n" \
    "st." space ".u8 [%a2], 9;\nbar.warp.sync -1;\nld." space ".u8 %r1, [%a2];\n"

static const struct { const char *name, *ptx; bool launched; } kernels[] = {
    { "48 KiB of shared memory", KERNEL(THROUGH("shared", 49152)), true },
    { "48 KiB and 4 bytes of shared memory", KERNEL(THROUGH("shared", 49156)), false },
    { "4 GiB and 4 bytes of local memory", KERNEL(THROUGH("local", 4294967300)), false },
    { "512 KiB and 16 bytes of local memory", KERNEL(THROUGH("local", 524304)), false },
    { "40000 bytes of local memory", KERNEL(THROUGH("local", 40000)), true },
};

static void launches(CUdeviceptr p)
{
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) {
        CUmodule m = NULL;
        CUfunction f = NULL;
        void *params[] = { &p };
        unsigned zero = 0;
        if (!abi_is(cu.cuModuleLoadData(&m, kernels[i].ptx), CUDA_SUCCESS, "%s: load", kernels[i].name)) continue;
        abi_is(cu.cuModuleGetFunction(&f, m, "k"), CUDA_SUCCESS, "%s: the kernel", kernels[i].name);
        abi_is(cu.cuMemcpyHtoD(p, &zero, 4), CUDA_SUCCESS, "%s: its input", kernels[i].name);
        CUresult r = cu.cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, NULL, params, NULL), late = cu.cuCtxSynchronize();
        tap_diag("%s: launch %d, synchronize %d", kernels[i].name, r, late);
        tap_ok((r == CUDA_SUCCESS) == kernels[i].launched, "%s: the launch", kernels[i].name);
        tap_is_int(late, CUDA_SUCCESS, "%s: the context goes on", kernels[i].name);
        if (kernels[i].launched) tap_is_uint(abi_read(p), 9, "%s: the result", kernels[i].name);
        cu.cuModuleUnload(m);
    }
}

static void alignments(void)
{
    static const unsigned align[] = { 4, 256, 1024, 65536 };
    char text[300];
    for (size_t i = 0; i < sizeof align / sizeof *align; i++) {
        CUmodule m = NULL;
        CUdeviceptr at = 1;
        snprintf(text, sizeof text,
                 ABI_HEAD ".visible .global .b8 first = 1;\n.visible .global .align %u .b32 v = 77;\n",
                 align[i]);
        if (!abi_is(cu.cuModuleLoadData(&m, text), CUDA_SUCCESS, "aligned to %u: load", align[i])) continue;
        abi_is(cu.cuModuleGetGlobal(&at, NULL, m, "v"), CUDA_SUCCESS, "aligned to %u: the variable", align[i]);
        tap_is_uint(at % align[i], 0, "aligned to %u: its address", align[i]);
        tap_is_uint(abi_read(at), 77, "aligned to %u: its value", align[i]);
        abi_is(cu.cuModuleUnload(m), CUDA_SUCCESS, "aligned to %u: unload", align[i]);
    }
}

int main(void)
{
    CUdeviceptr p;
    abi_open();
    if (cu.cuMemAlloc(&p, 256)) tap_bail("no memory");
    launches(p);
    alignments();
    cu.cuMemFree(p);
    return abi_close();
}
