/* Libraries and their kernels: loaded without a context, used in several, launched as functions. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "driver_abi.h"

static const char code[] = ABI_HEAD
    ".visible .global .align 4 .u32 counter = 7;\n"
    ".visible .entry add(.param .u64 p, .param .u32 n)\n"
    "{\n"
    "  .reg .b64 %a; .reg .b32 %n;\n"
    "  ld.param.u64 %a, [p];\n"
    "  ld.param.u32 %n, [n];\n"
    "  cvta.to.global.u64 %a, %a;\n"
    "  red.global.add.u32 [%a], %n;\n"
    "  ret;\n"
    "}\n"
    ".visible .entry count()\n"
    "{\n"
    "  red.global.add.u32 [counter], 1;\n"
    "  ret;\n"
    "}\n";

static const char managed_code[] = ABI_HEAD
    ".visible .global .attribute(.managed) .align 4 .u32 shared_counter = 3;\n"
    ".visible .global .align 4 .u32 own_counter = 4;\n"
    ".visible .entry count()\n"
    "{\n"
    "  red.global.add.u32 [shared_counter], 1;\n"
    "  red.global.add.u32 [own_counter], 1;\n"
    "  ret;\n"
    "}\n";

static CUresult load(CUlibrary *l, const char *text)
{
    return cx.cuLibraryLoadData(l, text, NULL, NULL, 0, NULL, NULL, 0);
}

static CUfunction as_function(CUkernel k) { return (CUfunction)(void *)k; }

static void what_is_in_it(CUlibrary l, CUkernel *add, CUkernel *count)
{
    unsigned n = 0;
    CUkernel all[3] = { NULL, NULL, NULL };
    CUlibrary back = NULL;
    const char *name = "";
    size_t offset = 99, size = 99;
    abi_is(cx.cuLibraryGetKernel(add, l, "add"), CUDA_SUCCESS, "a kernel");
    abi_is(cx.cuLibraryGetKernel(count, l, "count"), CUDA_SUCCESS, "another");
    abi_is(cx.cuLibraryGetKernel(add, l, "nothing"), CUDA_ERROR_NOT_FOUND, "one that is not there");
    abi_is(cx.cuLibraryGetKernelCount(&n, l), CUDA_SUCCESS, "their number");
    tap_is_uint(n, 2, "is two");
    abi_is(cx.cuLibraryEnumerateKernels(all, 3, l), CUDA_SUCCESS, "all of them");
    tap_ok((all[0] == *add && all[1] == *count) || (all[0] == *count && all[1] == *add), "are the two");
    abi_is(cx.cuKernelGetName(&name, *add), CUDA_SUCCESS, "its name");
    tap_is_str(name, "add", "as in the text");
    abi_is(cx.cuKernelGetLibrary(&back, *add), CUDA_SUCCESS, "its library");
    tap_ok(back == l, "is the one");
    abi_is(cx.cuKernelGetParamInfo(*add, 1, &offset, &size), CUDA_ERROR_INVALID_CONTEXT, "a parameter, but no context");
}

static void parameters(CUkernel add)
{
    size_t offset = 99, size = 99;
    abi_is(cx.cuKernelGetParamInfo(add, 1, &offset, &size), CUDA_SUCCESS, "its second parameter");
    tap_ok(offset == 8 && size == 4, "is behind the first");
    abi_is(cx.cuKernelGetParamInfo(add, 2, &offset, &size), CUDA_ERROR_INVALID_VALUE, "there is no third");
}

static void in_a_context(CUlibrary l, CUkernel add, CUkernel count)
{
    CUdeviceptr p = abi_word(0), at = 0, same = 0;
    size_t bytes = 0;
    unsigned n = 5;
    void *params[] = { &p, &n };
    CUfunction f = NULL, g = NULL;
    CUmodule m = NULL;
    CUstream s = abi_stream();
    parameters(add);
    abi_is(cu.cuLaunchKernel(as_function(add), 1, 1, 1, 2, 1, 1, 0, s, params, NULL), CUDA_SUCCESS,
           "a kernel is launched as a function");
    abi_is(cu.cuLaunchKernel(as_function(count), 3, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL), CUDA_SUCCESS,
           "on the default stream");
    cu.cuStreamSynchronize(s);
    tap_is_uint(abi_read(p), 10, "it has run");
    abi_is(cx.cuKernelGetFunction(&f, add), CUDA_SUCCESS, "its function here");
    abi_is(cu.cuLaunchKernel(f, 1, 1, 1, 2, 1, 1, 0, s, params, NULL), CUDA_SUCCESS, "is launched");
    cu.cuStreamSynchronize(s);
    tap_is_uint(abi_read(p), 20, "and runs");
    abi_is(cx.cuLibraryGetModule(&m, l), CUDA_SUCCESS, "the library's module here");
    abi_is(cu.cuModuleGetFunction(&g, m, "add"), CUDA_SUCCESS, "has the function");
    tap_ok(f == g, "which is the same");
    abi_is(cx.cuLibraryGetGlobal(&at, &bytes, l, "counter"), CUDA_SUCCESS, "a variable");
    abi_is(cu.cuModuleGetGlobal(&same, NULL, m, "counter"), CUDA_SUCCESS, "by the module");
    tap_ok(at == same && bytes == 4, "is the same");
    tap_is_uint(abi_read(at), 10, "and has been counted");
    abi_is(cx.cuLibraryGetGlobal(&at, &bytes, l, "nothing"), CUDA_ERROR_NOT_FOUND, "one that is not there");
    abi_is(cx.cuLibraryGetManaged(&at, &bytes, l, "counter"), CUDA_ERROR_NOT_FOUND, "one that is not managed");
    abi_is(cu.cuModuleUnload(m), CUDA_ERROR_NOT_PERMITTED, "the module is not unloaded alone");
    cu.cuStreamDestroy(s);
    cu.cuMemFree(p);
}

/* Each context has variables of its own. */
static void in_another_context(CUlibrary l, CUkernel count)
{
    CUcontext c = NULL;
    CUdeviceptr at = 0, there = 0;
    abi_is(cx.cuLibraryGetGlobal(&there, NULL, l, "counter"), CUDA_SUCCESS, "the variable here");
    abi_is(cu.cuCtxCreate(&c, 0, 0), CUDA_SUCCESS, "another context");
    abi_is(cu.cuLaunchKernel(as_function(count), 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL), CUDA_SUCCESS,
           "a launch there");
    abi_is(cx.cuLibraryGetGlobal(&at, NULL, l, "counter"), CUDA_SUCCESS, "the variable there");
    tap_ok(at != there, "is another one");
    tap_is_uint(abi_read(at), 8, "with its own value");
    abi_is(cu.cuCtxDestroy(c), CUDA_SUCCESS, "its end");
    tap_is_uint(abi_read(there), 10, "leaves the first as it was");
}

static void attributes(CUkernel add)
{
    CUfunction f = NULL;
    int v = 0;
    abi_is(cx.cuKernelGetFunction(&f, add), CUDA_SUCCESS, "the function here");
    abi_is(cx.cuKernelGetAttribute(&v, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, add, 0), CUDA_SUCCESS, "an attribute");
    tap_is_int(v, 1024, "of the kernel");
    abi_is(cx.cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 60000, add, 0), CUDA_SUCCESS,
           "more shared memory for the kernel");
    abi_is(cu.cuFuncGetAttribute(&v, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, f), CUDA_SUCCESS, "the function");
    tap_is_int(v, 60000, "has it");
    abi_is(cu.cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 70000), CUDA_SUCCESS,
           "more for the function");
    abi_is(cx.cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 50000, add, 0), CUDA_SUCCESS,
           "less for the kernel");
    cu.cuFuncGetAttribute(&v, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, f);
    tap_is_int(v, 70000, "changes no function that has its own");
    cx.cuKernelGetAttribute(&v, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, add, 0);
    tap_is_int(v, 50000, "but the kernel");
    abi_is(cx.cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 5, add, 0), CUDA_ERROR_INVALID_VALUE,
           "an attribute that is not set");
    abi_is(cx.cuKernelGetAttribute(&v, CU_FUNC_ATTRIBUTE_NUM_REGS, add, 99), CUDA_ERROR_INVALID_DEVICE, "no device");
    abi_is(cx.cuKernelSetCacheConfig(add, CU_FUNC_CACHE_PREFER_L1, 0), CUDA_SUCCESS, "a preference for the cache");
}

static void in_graphs(CUkernel add)
{
    CUdeviceptr p = abi_word(0);
    unsigned n = 4;
    void *params[] = { &p, &n };
    CUDA_KERNEL_NODE_PARAMS_v2 k = { .kern = add, .ctx = abi_ctx, .gridDimX = 1, .gridDimY = 1, .gridDimZ = 1,
                                     .blockDimX = 2, .blockDimY = 1, .blockDimZ = 1, .kernelParams = params };
    CUgraph g = NULL;
    CUgraphNode node = NULL;
    CUgraphExec x = NULL;
    cu.cuGraphCreate(&g, 0);
    abi_is(cu.cuGraphAddKernelNode(&node, g, NULL, 0, &k), CUDA_SUCCESS, "a node with a kernel of a library");
    abi_is(cu.cuGraphInstantiateWithFlags(&x, g, 0), CUDA_SUCCESS, "an executable graph");
    abi_is(cu.cuGraphLaunch(x, NULL), CUDA_SUCCESS, "is launched");
    tap_is_uint(abi_read(p), 8, "and runs it");
    cu.cuGraphExecDestroy(x);
    cu.cuGraphDestroy(g);
    cu.cuMemFree(p);
}

static void mistakes(void)
{
    CUlibrary l = NULL;
    CUlibraryOption kept = CU_LIBRARY_BINARY_IS_PRESERVED, wrong = (CUlibraryOption)77;
    void *none = NULL;
    char path[] = "/tmp/cujit-library-XXXXXX";
    int fd = mkstemp(path);
    if (fd < 0 || write(fd, code, sizeof code - 1) != (ssize_t)sizeof code - 1) tap_bail("no file");
    close(fd);
    CUkernel kernel = NULL;
    CUmodule module = NULL;
    unsigned count = 9;
    abi_is(load(&l, ABI_HEAD "nonsense"), CUDA_SUCCESS, "a text with a mistake is compiled later");
    abi_is(cx.cuLibraryGetKernelCount(&count, l), CUDA_SUCCESS, "how many kernels it has");
    tap_is_uint(count, 0, "none");
    abi_is(cx.cuLibraryGetKernel(&kernel, l, "add"), CUDA_ERROR_INVALID_PTX, "a kernel of it");
    abi_is(cx.cuLibraryGetModule(&module, l), CUDA_ERROR_INVALID_PTX, "its module");
    abi_is(cx.cuLibraryUnload(l), CUDA_SUCCESS, "it is unloaded");
    abi_is(load(NULL, code), CUDA_ERROR_INVALID_VALUE, "nowhere to write the library");
    abi_is(cx.cuLibraryLoadData(&l, code, NULL, NULL, 0, &wrong, &none, 1), CUDA_ERROR_INVALID_VALUE, "no such option");
    abi_is(cx.cuLibraryLoadData(&l, code, NULL, NULL, 0, &kept, &none, 1), CUDA_SUCCESS, "code that stays");
    abi_is(cx.cuLibraryUnload(l), CUDA_SUCCESS, "unload");
    abi_is(cx.cuLibraryLoadFromFile(&l, path, NULL, NULL, 0, &kept, &none, 1), CUDA_ERROR_INVALID_VALUE,
           "no file stays");
    abi_is(cx.cuLibraryLoadFromFile(&l, path, NULL, NULL, 0, NULL, NULL, 0), CUDA_SUCCESS, "a file");
    CUkernel k = NULL;
    abi_is(cx.cuLibraryGetKernel(&k, l, "add"), CUDA_SUCCESS, "with its kernel");
    abi_is(cx.cuLibraryUnload(l), CUDA_SUCCESS, "unload");
    unlink(path);
    abi_is(cx.cuLibraryLoadFromFile(&l, path, NULL, NULL, 0, NULL, NULL, 0), CUDA_ERROR_FILE_NOT_FOUND, "no file");
    if (tap_on_gpu()) return;   /* a driver may crash */
    const char *name;
    abi_is(cx.cuKernelGetName(&name, k), CUDA_ERROR_INVALID_HANDLE, "a kernel of a library that is unloaded");
    abi_is(cx.cuLibraryUnload(l), CUDA_ERROR_INVALID_HANDLE, "unload twice");
}

static void managed(void)
{
    CUlibrary l = NULL;
    CUkernel count = NULL;
    CUdeviceptr at = 0, own = 0;
    size_t bytes = 0;
    abi_is(load(&l, managed_code), CUDA_SUCCESS, "a library with a managed variable");
    abi_is(cx.cuLibraryGetKernel(&count, l, "count"), CUDA_SUCCESS, "its kernel");
    abi_is(cx.cuLibraryGetManaged(&at, &bytes, l, "shared_counter"), CUDA_SUCCESS, "the managed variable");
    tap_is_uint(bytes, 4, "of four bytes");
    volatile unsigned *host = (volatile unsigned *)(uintptr_t)at;
    tap_is_uint(*host, 3, "is read by the host");
    *host = 10;
    abi_is(cu.cuLaunchKernel(as_function(count), 1, 1, 1, 2, 1, 1, 0, NULL, NULL, NULL), CUDA_SUCCESS, "a kernel");
    abi_is(cu.cuCtxSynchronize(), CUDA_SUCCESS, "runs");
    tap_is_uint(*host, 12, "and the host sees it");
    abi_is(cx.cuLibraryGetManaged(&own, NULL, l, "own_counter"), CUDA_ERROR_NOT_FOUND, "the other is not managed");
    abi_is(cx.cuLibraryGetGlobal(&own, NULL, l, "own_counter"), CUDA_SUCCESS, "but there");
    tap_is_uint(abi_read(own), 6, "and counted");
    abi_is(cu.cuMemFree(at), CUDA_ERROR_INVALID_VALUE, "it is not freed");
    abi_is(cx.cuLibraryUnload(l), CUDA_SUCCESS, "unload");
}

int main(void)
{
    CUlibrary l = NULL;
    CUkernel add = NULL, count = NULL;
    CUcontext c = NULL;
    abi_open();
    if (!cx.cuLibraryLoadData) tap_bail("no cuLibraryLoadData");
    cu.cuCtxPopCurrent(&c);
    abi_is(load(&l, code), CUDA_SUCCESS, "no context is needed to load a library");
    what_is_in_it(l, &add, &count);
    cu.cuCtxPushCurrent(c);
    in_a_context(l, add, count);
    in_another_context(l, count);
    attributes(add);
    in_graphs(add);
    abi_is(cx.cuLibraryUnload(l), CUDA_SUCCESS, "unload");
    mistakes();
    managed();
    return abi_close();
}
