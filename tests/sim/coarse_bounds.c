/* Bounds of a kernel's accesses are exact; with CUJIT_SIM_BOUNDS=coarse they are a GPU's, which checks pages. */
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/conformance/driver_abi.h"

/* Writes 7 to its argument, and to shared memory at an offset of 16 bytes it has. */
static const char text[] = ABI_HEAD
    ".visible .entry global(.param .u64 p, .param .u32 n)\n{\n.reg .b64 %a;\nld.param.u64 %a, [p];\n"
    "st.global.u32 [%a], 7;\nret;\n}\n"
    ".visible .entry shared(.param .u64 p, .param .u32 n)\n{\n.reg .b32 %n;\n.shared .align 16 .b8 s[16];\n"
    ".reg .b32 %s;\nld.param.u32 %n, [n];\nmov.u32 %s, s;\nadd.u32 %s, %s, %n;\nst.shared.u32 [%s], 7;\nret;\n}\n"
    ".extern .shared .align 16 .b8 t[];\n"
    ".visible .entry dynamic(.param .u64 p, .param .u32 n)\n{\n.reg .b32 %n, %s;\nld.param.u32 %n, [n];\n"
    "mov.u32 %s, t;\nadd.u32 %s, %s, %n;\nst.shared.u32 [%s], 7;\nret;\n}\n";

typedef enum memory { DEVICE, POOL, PINNED, FREED } memory;

static const struct {
    const char *name, *kernel;
    memory memory;
    int64_t at;             /* from the end of 400 bytes; of shared memory the offset */
    unsigned dynamic;
    CUresult exact, coarse;
} rows[] = {
    { "the last word", "global", DEVICE, -4, 0, CUDA_SUCCESS, CUDA_SUCCESS },
    { "the word behind it", "global", DEVICE, 0, 0, CUDA_ERROR_ILLEGAL_ADDRESS, CUDA_SUCCESS },
    { "one a page behind it", "global", DEVICE, 4 << 20, 0, CUDA_ERROR_ILLEGAL_ADDRESS, CUDA_ERROR_ILLEGAL_ADDRESS },
    { "the word behind pool memory", "global", POOL, 0, 0, CUDA_ERROR_ILLEGAL_ADDRESS, CUDA_SUCCESS },
    { "the word behind pinned memory", "global", PINNED, 0, 0, CUDA_ERROR_ILLEGAL_ADDRESS, CUDA_SUCCESS },
    { "one two pages behind pinned memory", "global", PINNED, 8192, 0, CUDA_ERROR_ILLEGAL_ADDRESS,
      CUDA_ERROR_ILLEGAL_ADDRESS },
    { "freed memory in a page with other memory", "global", FREED, -4, 0, CUDA_ERROR_ILLEGAL_ADDRESS, CUDA_SUCCESS },
    { "shared memory", "shared", DEVICE, 12, 0, CUDA_SUCCESS, CUDA_SUCCESS },
    { "the word behind shared memory", "shared", DEVICE, 16, 0, CUDA_ERROR_ILLEGAL_ADDRESS, CUDA_SUCCESS },
    { "one 128 bytes on", "shared", DEVICE, 128, 0, CUDA_ERROR_ILLEGAL_ADDRESS, CUDA_ERROR_ILLEGAL_ADDRESS },
    { "the last word of dynamic shared memory", "dynamic", DEVICE, 36, 40, CUDA_SUCCESS, CUDA_SUCCESS },
    { "the word behind dynamic shared memory", "dynamic", DEVICE, 40, 40, CUDA_ERROR_ILLEGAL_ADDRESS, CUDA_SUCCESS },
    { "one far behind it", "dynamic", DEVICE, 400, 40, CUDA_ERROR_ILLEGAL_ADDRESS, CUDA_ERROR_ILLEGAL_ADDRESS },
};

static CUdeviceptr memory_of(memory kind)
{
    CUdeviceptr d = 0, other;
    void *p = NULL;
    if (kind == PINNED && cu.cuMemHostAlloc(&p, 400, 0) == CUDA_SUCCESS) return (CUdeviceptr)(uintptr_t)p;
    if (kind == POOL) cu.cuMemAllocAsync(&d, 400, NULL);
    else cu.cuMemAlloc(&d, 400);
    if (kind == FREED && (cu.cuMemAlloc(&other, 64) || cu.cuMemFree(d))) return 0;
    return d;
}

/* In a process of its own: settings are read once, and a fault stays. */
static int run_row(size_t i)
{
    CUmodule m;
    CUfunction f;
    CUdeviceptr d, p;
    unsigned n = (unsigned)rows[i].at;
    void *params[] = { &p, &n };
    if (cu.cuInit(0) || cu.cuDevicePrimaryCtxRetain(&abi_ctx, 0) || cu.cuCtxSetCurrent(abi_ctx)) return -1;
    if (!(d = memory_of(rows[i].memory)) || cu.cuModuleLoadData(&m, text)) return -2;
    p = d + 400 + (uint64_t)rows[i].at;
    if (cu.cuModuleGetFunction(&f, m, rows[i].kernel)) return -3;
    if (cu.cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, rows[i].dynamic, NULL, params, NULL)) return -4;
    return (int)cu.cuCtxSynchronize();
}

static int in_child(size_t i, const char *bounds)
{
    int ends[2], result = -9;
    if (pipe(ends)) tap_bail("no pipe");
    pid_t child = fork();
    if (child == 0) {
        setenv("CUJIT_SIM_BOUNDS", bounds, 1);
        result = run_row(i);
        _exit(write(ends[1], &result, sizeof result) != sizeof result);
    }
    close(ends[1]);
    if (read(ends[0], &result, sizeof result) != sizeof result) result = -8;
    close(ends[0]);
    waitpid(child, NULL, 0);
    return result;
}

static int rejected_setting(void)
{
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        setenv("CUJIT_SIM_BOUNDS", "wide", 1);
        _exit(cu.cuInit(0) == CUDA_ERROR_INVALID_VALUE ? 0 : 1);
    }
    waitpid(child, &status, 0);
    return status;
}

int main(void)
{
    tap_plan(0);
    abi_load();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tap_is_int(in_child(i, "exact"), rows[i].exact, "%s, with exact bounds", rows[i].name);
        tap_is_int(in_child(i, ""), rows[i].exact, "%s, without a setting", rows[i].name);
        tap_is_int(in_child(i, "coarse"), rows[i].coarse, "%s, with coarse bounds", rows[i].name);
    }
    tap_is_int(rejected_setting(), 0, "any other setting is rejected");
    return tap_done();
}
