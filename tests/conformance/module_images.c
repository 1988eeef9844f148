/* Modules: PTX and linked images, what is wrong with them, their logs, functions and variables. */
#include "tests/conformance/driver_abi.h"

#define KERNEL(name, body) ".visible .entry " name "(.param .u64 p)\n{\n" body "  ret;\n}\n"

static const struct { const char *name, *ptx; int answer; const char *log;
} images[] = {
    { "a kernel", ABI_HEAD KERNEL("k", ""), CUDA_SUCCESS, "" },
    { "empty text", "", CUDA_ERROR_INVALID_IMAGE, "" },
    { "garbage", "this is not PTX", CUDA_ERROR_INVALID_IMAGE, "" },
    { "a version of the future", ".version 99.0\n.target sm_70\n.address_size 64\n", CUDA_ERROR_UNSUPPORTED_PTX_VERSION,
      "99.0" },
    { "a target of the future", ".version 7.0\n.target sm_999\n.address_size 64\n", CUDA_ERROR_INVALID_PTX, "sm_999" },
    { "an instruction that does not exist",
      ABI_HEAD ".visible .entry bad(.param .u64 p)\n{\n  .reg .b32 %r;\n  frobnicate.u32 %r, %r;\n  ret;\n}\n",
      CUDA_ERROR_INVALID_PTX, "" },
};

/* Loads with an error log of `cap` bytes; the size that came back. */
static CUresult load(CUmodule *m, const char *ptx, char *log, size_t cap, size_t *used)
{
    CUjit_option option[] = { CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES };
    void *value[] = { log, (void *)(uintptr_t)cap };
    *m = NULL;
    CUresult r = cu.cuModuleLoadDataEx(m, ptx, 2, option, value);
    *used = (size_t)(uintptr_t)value[1];
    return r;
}

static void images_are_judged(void)
{
    for (size_t i = 0; i < sizeof images / sizeof *images; i++) {
        char log[2000] = "", little[16] = "";
        size_t used, cut;
        CUmodule m;
        abi_is(load(&m, images[i].ptx, log, sizeof log, &used), images[i].answer, "%s: its answer", images[i].name);
        if (m) abi_is(cu.cuModuleUnload(m), CUDA_SUCCESS, "%s: unload", images[i].name);
        if (!tap_on_gpu() && images[i].log[0]) tap_has_str(log, images[i].log, "%s: its log", images[i].name);
        if (!tap_on_gpu() && images[i].answer == CUDA_ERROR_INVALID_PTX && images[i].log[0] == 0)
            tap_has_str(log, ":", "%s: its log has a place", images[i].name);
        if (strlen(log) > sizeof little) {
            load(&m, images[i].ptx, little, sizeof little, &cut);
            /* With the NUL or without, from error to error, on an H100 (driver 580). */
            tap_ok(cut == sizeof little - 1 || cut == sizeof little,
                   "%s: a log that is cut gives what was written (%zu)", images[i].name, (size_t)cut);
            tap_is_uint(strlen(little), sizeof little - 1, "%s: and ends with its NUL", images[i].name);
        }
        abi_is(cu.cuModuleLoadData(&m, images[i].ptx), images[i].answer, "%s: without options", images[i].name);
        if (m && !images[i].answer) cu.cuModuleUnload(m);
    }
}

static void functions_and_variables(void)
{
    CUmodule m;
    CUfunction f;
    CUdeviceptr p, none;   /* a GPU's driver writes 0 for one that is not there */
    size_t bytes = 0;
    unsigned v = 7;
    abi_is(cu.cuModuleLoadData(&m, ABI_HEAD ".visible .global .align 4 .u32 counter = 7;\n" KERNEL("one", "")
                                       KERNEL("two", "")),
           CUDA_SUCCESS, "load");
    abi_is(cu.cuModuleGetFunction(&f, m, "two"), CUDA_SUCCESS, "a function");
    abi_is(cu.cuModuleGetFunction(&f, m, "three"), CUDA_ERROR_NOT_FOUND, "one that is not there");
    abi_is(cu.cuModuleGetGlobal(&p, &bytes, m, "counter"), CUDA_SUCCESS, "a variable");
    tap_is_uint(bytes, 4, "its size");
    tap_is_uint(abi_read(p), 7, "its value");
    abi_is(cu.cuMemcpyHtoD(p, &v, 4), CUDA_SUCCESS, "it can be written");
    abi_is(cu.cuModuleGetGlobal(&none, NULL, m, "nothing"), CUDA_ERROR_NOT_FOUND, "one that is not there");
    abi_is(cu.cuMemFree(p), CUDA_ERROR_INVALID_VALUE, "it is not for cuMemFree");
    abi_is(cu.cuModuleUnload(m), CUDA_SUCCESS, "unload");
    if (!tap_on_gpu()) {
        abi_is(cu.cuModuleUnload(m), CUDA_ERROR_INVALID_HANDLE, "twice");
        abi_is(cu.cuModuleGetFunction(&f, m, "two"), CUDA_ERROR_INVALID_HANDLE, "a stale module");
    }
}

static void linked(void)
{
    CUlinkState link;
    CUmodule m = NULL;
    CUfunction f;
    void *cubin = NULL;
    size_t bytes = 0;
    static const char one[] = ABI_HEAD KERNEL("one", ""), two[] = ABI_HEAD KERNEL("two", "");
    abi_is(cu.cuLinkCreate(0, NULL, NULL, &link), CUDA_SUCCESS, "a linker");
    abi_is(cu.cuLinkAddData(link, CU_JIT_INPUT_PTX, (void *)one, sizeof one, "one.ptx", 0, NULL, NULL), CUDA_SUCCESS,
           "a text");
    abi_is(cu.cuLinkAddData(link, CU_JIT_INPUT_PTX, (void *)two, sizeof two, "two.ptx", 0, NULL, NULL), CUDA_SUCCESS,
           "another");
    abi_is(cu.cuLinkComplete(link, &cubin, &bytes), CUDA_SUCCESS, "linked");
    tap_ok(cubin && bytes, "an image");
    abi_is(cu.cuModuleLoadData(&m, cubin), CUDA_SUCCESS, "loads");
    abi_is(cu.cuModuleGetFunction(&f, m, "one"), CUDA_SUCCESS, "and has the first text's kernel");
    abi_is(cu.cuModuleGetFunction(&f, m, "two"), CUDA_SUCCESS, "and the second's");
    cu.cuModuleUnload(m);
    if (!tap_on_gpu()) {
        char *damaged = (char *)cubin + bytes / 2;
        *damaged ^= 1;
        abi_is(cu.cuModuleLoadData(&m, cubin), CUDA_ERROR_INVALID_IMAGE, "a damaged image is rejected");
        *damaged ^= 1;
    }
    abi_is(cu.cuLinkDestroy(link), CUDA_SUCCESS, "destroy");
}

static void a_link_that_fails(void)
{
    CUlinkState link;
    char log[2000] = "";
    CUjit_option option[] = { CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES };
    void *value[] = { log, (void *)(uintptr_t)sizeof log }, *cubin;
    size_t bytes;
    static const char text[] =
        ABI_HEAD ".visible .entry bad(.param .u64 p)\n{\n  .reg .b32 %r;\n  frobnicate.u32 %r, %r;\n  ret;\n}\n";
    abi_is(cu.cuLinkCreate(2, option, value, &link), CUDA_SUCCESS, "a linker with a log");
    CUresult r = cu.cuLinkAddData(link, CU_JIT_INPUT_PTX, (void *)text, sizeof text, "bad.ptx", 0, NULL, NULL);
    if (!r) r = cu.cuLinkComplete(link, &cubin, &bytes);
    abi_is(r, CUDA_ERROR_INVALID_PTX, "a text that is wrong");
    tap_ok(log[0] != 0 && (size_t)(uintptr_t)value[1] > 0, "says why");
    abi_is(cu.cuLinkDestroy(link), CUDA_SUCCESS, "destroy");
}

int main(void)
{
    abi_open();
    images_are_judged();
    functions_and_variables();
    linked();
    a_link_that_fails();
    return abi_close();
}
