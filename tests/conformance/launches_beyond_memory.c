/* Kernels with more shared or local memory than ptxas takes, or than a launch can have. cuModuleLoadData takes static
 * shared memory up to what a block can have, the linker 48 KiB. Large alignments of variables. */
#include "tests/conformance/driver_abi.h"

#include <stdio.h>

/* Writes and reads through addresses that the compiler does not know. */
#define KERNEL(space, size) \
    ABI_HEAD ".visible .entry k(.param .u64 p)\n{\n" \
    "." space " .align 16 .b8 room[" #size "];\n.reg .b64 %a<3>; .reg .b32 %r<3>; .reg .pred %q;\n" \
    "ld.param.u64 %a0, [p];\ncvta.to.global.u64 %a0, %a0;\nld.global.u32 %r0, [%a0];\ncvt.u64.u32 %a1, %r0;\n" \
    "mov.u64 %a2, room;\nadd.u64 %a2, %a2, %a1;\nmov.u32 %r1, 0;\n" \
    "next: st." space ".u8 [%a2], %r1;\nadd.u32 %r1, %r1, 1;\nadd.u64 %a2, %a2, 7;\nsetp.lt.u32 %q, %r1, 12;\n" \
    "@%q bra next;\nbar.warp.sync -1;\nld." space ".u8 %r2, [%a2+-21];\nst.global.u32 [%a0], %r2;\nret;\n}\n"

enum { SHARED_MOST = 232448 };   /* 227 KiB, of a block on a Hopper */

static const struct { const char *name, *ptx; CUresult load, link, launch; int dynamic; } kernels[] = {
    { "48 KiB of shared memory", KERNEL("shared", 49152), 0, 0, 0, 0 },
    { "48 KiB and 4 bytes of shared memory", KERNEL("shared", 49156), 0, CUDA_ERROR_INVALID_SOURCE, 0,
      SHARED_MOST - 49156 },
    { "64 KiB of shared memory", KERNEL("shared", 65536), 0, CUDA_ERROR_INVALID_SOURCE, 0, SHARED_MOST - 65536 },
    { "227 KiB of shared memory", KERNEL("shared", 232448), 0, CUDA_ERROR_INVALID_SOURCE, 0, 0 },
    { "227 KiB and 4 bytes of shared memory", KERNEL("shared", 232452), CUDA_ERROR_INVALID_PTX,
      CUDA_ERROR_INVALID_PTX, 0, 0 },
    { "40000 bytes of local memory", KERNEL("local", 40000), 0, 0, 0, 49152 },
    { "512 KiB of local memory", KERNEL("local", 524288), 0, 0, CUDA_ERROR_INVALID_VALUE, 49152 },
    { "512 KiB and 16 bytes of local memory", KERNEL("local", 524304), 0, 0, CUDA_ERROR_INVALID_VALUE, 49152 },
};

static CUresult linked(const char *ptx)
{
    CUlinkState l = NULL;
    void *image;
    size_t bytes;
    CUresult r = cu.cuLinkCreate(0, NULL, NULL, &l);
    if (!r) r = cu.cuLinkAddData(l, CU_JIT_INPUT_PTX, (void *)ptx, strlen(ptx) + 1, "k", 0, NULL, NULL);
    if (!r) r = cu.cuLinkComplete(l, &image, &bytes);
    cu.cuLinkDestroy(l);
    return r;
}

static void launches(CUdeviceptr p)
{
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) {
        CUmodule m = NULL;
        CUfunction f = NULL;
        void *params[] = { &p };
        unsigned zero = 0;
        int dynamic = -1;
        const char *name = kernels[i].name;
        /* the linker of a GPU gives another code beyond what a block can have */
        if (kernels[i].load) tap_ok(linked(kernels[i].ptx) != CUDA_SUCCESS, "%s: link", name);
        else abi_is(linked(kernels[i].ptx), kernels[i].link, "%s: link", name);
        if (!abi_is(cu.cuModuleLoadData(&m, kernels[i].ptx), kernels[i].load, "%s: load", name) || kernels[i].load)
            continue;
        abi_is(cu.cuModuleGetFunction(&f, m, "k"), CUDA_SUCCESS, "%s: the kernel", name);
        cu.cuFuncGetAttribute(&dynamic, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, f);
        tap_is_int(dynamic, kernels[i].dynamic, "%s: the most dynamic shared memory", name);
        abi_is(cu.cuMemcpyHtoD(p, &zero, 4), CUDA_SUCCESS, "%s: its input", name);
        abi_is(cu.cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, NULL, params, NULL), kernels[i].launch, "%s: launch", name);
        abi_is(cu.cuCtxSynchronize(), CUDA_SUCCESS, "%s: the context goes on", name);
        if (!kernels[i].launch) tap_is_uint(abi_read(p), 9, "%s: the result", name);
        cu.cuModuleUnload(m);
    }
}

/* A GPU places variables at multiples of 256 at most. */
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
        tap_is_uint(at % (align[i] < 256 ? align[i] : 256), 0, "aligned to %u: its address", align[i]);
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
