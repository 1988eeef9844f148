/* Launches: limits, arguments, attributes, occupancy (semantics 15, 74 - 77, 79). */
#include "tests/conformance/driver_abi.h"

static CUmodule module;

static const struct { const char *name; unsigned grid[3], block[3], shared; int answer; } shapes[] = {
    { "one thread", { 1, 1, 1 }, { 1, 1, 1 }, 0, CUDA_SUCCESS },
    { "the largest block", { 1, 1, 1 }, { 1024, 1, 1 }, 0, CUDA_SUCCESS },
    { "all dimensions", { 2, 3, 4 }, { 2, 4, 8 }, 0, CUDA_SUCCESS },
    { "48 KiB of shared memory", { 1, 1, 1 }, { 1, 1, 1 }, 49152, CUDA_SUCCESS },
    { "no blocks", { 0, 1, 1 }, { 1, 1, 1 }, 0, CUDA_ERROR_INVALID_VALUE },
    { "no threads", { 1, 1, 1 }, { 1, 0, 1 }, 0, CUDA_ERROR_INVALID_VALUE },
    { "too many rows of blocks", { 1, 65536, 1 }, { 1, 1, 1 }, 0, CUDA_ERROR_INVALID_VALUE },
    { "a block that is too wide", { 1, 1, 1 }, { 1025, 1, 1 }, 0, CUDA_ERROR_INVALID_VALUE },
    { "a block that is too deep", { 1, 1, 1 }, { 1, 1, 65 }, 0, CUDA_ERROR_INVALID_VALUE },
    { "too many threads together", { 1, 1, 1 }, { 64, 64, 1 }, 0, CUDA_ERROR_INVALID_VALUE },
    { "more shared memory than the attribute says", { 1, 1, 1 }, { 1, 1, 1 }, 49153, CUDA_ERROR_INVALID_VALUE },
};

static void shapes_are_checked(void)
{
    CUfunction add = abi_kernel(&module, "add");
    CUstream s = abi_stream();
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        CUdeviceptr p = abi_word(0);
        unsigned one = 1, want = shapes[i].answer ? 0 : 1;
        void *params[] = { &p, &one };
        const unsigned *g = shapes[i].grid, *b = shapes[i].block;
        for (int k = 0; k < 3; k++) want *= g[k] * b[k];
        abi_is(cu.cuLaunchKernel(add, g[0], g[1], g[2], b[0], b[1], b[2], shapes[i].shared, s, params, NULL), shapes[i].answer, "%s: its answer", shapes[i].name);
        abi_is(cu.cuStreamSynchronize(s), CUDA_SUCCESS, "%s: no harm to the context", shapes[i].name);
        tap_is_uint(abi_read(p), want, "%s: every thread ran, or none", shapes[i].name);
        cu.cuMemFree(p);
    }
    cu.cuStreamDestroy(s);
}

static void shared_memory_wants_its_attribute(void)
{
    CUfunction add = abi_kernel(&module, "add");
    CUdeviceptr p = abi_word(0);
    int value = 0, most = 0;
    unsigned one = 1;
    void *params[] = { &p, &one };
    cu.cuDeviceGetAttribute(&most, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 0);
    abi_is(cu.cuFuncSetAttribute(add, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, most), CUDA_SUCCESS, "all of it");
    abi_is(cu.cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, add), CUDA_SUCCESS, "ask");
    tap_is_int(value, most, "as set");
    abi_is(cu.cuLaunchKernel(add, 1, 1, 1, 1, 1, 1, (unsigned)most, NULL, params, NULL), CUDA_SUCCESS, "now it may be used");
    abi_is(cu.cuFuncSetAttribute(add, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, most + 1), CUDA_ERROR_INVALID_VALUE, "more than there is");
    abi_is(cu.cuFuncSetAttribute(add, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 49152), CUDA_SUCCESS, "back to the default");
    tap_is_uint(abi_read(p), 1, "it ran");
    cu.cuMemFree(p);
}

static void arguments_are_copied(void)
{
    CUfunction append = abi_kernel(&module, "append");
    abi_latch latch;
    CUstream s = abi_stream();
    CUdeviceptr p = abi_word(0);
    unsigned n = 1;
    void *params[] = { &p, &n };
    struct { CUdeviceptr p; unsigned n; } block = { p, 2 };
    size_t bytes = 12;
    void *extra[] = { CU_LAUNCH_PARAM_BUFFER_POINTER, &block, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes, CU_LAUNCH_PARAM_END };
    CUlaunchConfig config = { .gridDimX = 1, .gridDimY = 1, .gridDimZ = 1, .blockDimX = 1, .blockDimY = 1, .blockDimZ = 1, .hStream = s };
    abi_latch_put(&latch, s);
    abi_is(cu.cuLaunchKernel(append, 1, 1, 1, 1, 1, 1, 0, s, params, NULL), CUDA_SUCCESS, "by pointers");
    n = 3;
    abi_is(cu.cuLaunchKernel(append, 1, 1, 1, 1, 1, 1, 0, s, NULL, extra), CUDA_SUCCESS, "as a block");
    block.n = 9;
    if (cu.cuLaunchKernelEx) abi_is(cu.cuLaunchKernelEx(&config, append, params, NULL), CUDA_SUCCESS, "by a configuration");
    else cu.cuLaunchKernel(append, 1, 1, 1, 1, 1, 1, 0, s, params, NULL);
    n = 9;
    abi_latch_open(&latch);
    cu.cuStreamSynchronize(s);
    tap_is_uint(abi_read(p), 123, "each launch has the values of its call");
    abi_is(cu.cuLaunchKernel(append, 1, 1, 1, 1, 1, 1, 0, s, params, extra), CUDA_ERROR_INVALID_VALUE, "both forms at once");
    cu.cuMemFree(p);
    cu.cuStreamDestroy(s);
}

static void what_a_function_is(void)
{
    CUfunction add = abi_kernel(&module, "add");
    size_t offset = 99, size = 99;
    int blocks = 0, threads = 0, grid = 0;
    abi_is(cu.cuFuncGetAttribute(&threads, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, add), CUDA_SUCCESS, "most threads");
    tap_is_int(threads, 1024, "all");
    if (cu.cuFuncGetParamInfo) {
        abi_is(cu.cuFuncGetParamInfo(add, 1, &offset, &size), CUDA_SUCCESS, "the second parameter");
        tap_ok(offset == 8 && size == 4, "lies where .entry puts it");
        abi_is(cu.cuFuncGetParamInfo(add, 2, &offset, &size), CUDA_ERROR_INVALID_VALUE, "there is no third");
    }
    abi_is(cu.cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, add, 256, 0), CUDA_SUCCESS, "occupancy");
    tap_is_int(blocks, 8, "8 blocks of 256");
    abi_is(cu.cuOccupancyMaxPotentialBlockSize(&grid, &threads, add, NULL, 0, 0), CUDA_SUCCESS, "a block size");
    tap_ok(threads > 0 && threads <= 1024 && grid > 0, "that is possible: %d of %d", grid, threads);
}

static void cooperative(void)
{
    CUfunction add = abi_kernel(&module, "add");
    CUdeviceptr p = abi_word(0);
    unsigned one = 1;
    void *params[] = { &p, &one };
    abi_is(cu.cuLaunchCooperativeKernel(add, 4, 1, 1, 32, 1, 1, 0, NULL, params), CUDA_SUCCESS, "a cooperative grid");
    abi_is(cu.cuLaunchCooperativeKernel(add, 1 << 20, 1, 1, 1024, 1, 1, 0, NULL, params), CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE, "one that does not fit");
    tap_is_uint(abi_read(p), 128, "the first ran");
    cu.cuMemFree(p);
}

static void large_grids(void)
{
    CUfunction add = abi_kernel(&module, "add");
    CUdeviceptr p = abi_word(0);
    abi_is(abi_launch(add, 500, 64, NULL, p, 3), CUDA_SUCCESS, "many blocks");
    abi_is(cu.cuStreamSynchronize(NULL), CUDA_SUCCESS, "all done");
    tap_is_uint(abi_read(p), 96000, "each once, on whatever thread");
    cu.cuMemFree(p);
}

int main(void)
{
    abi_open();
    shapes_are_checked();
    shared_memory_wants_its_attribute();
    arguments_are_copied();
    what_a_function_is();
    cooperative();
    large_grids();
    cu.cuModuleUnload(module);
    return abi_close();
}
