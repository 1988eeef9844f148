/* Fat binaries: the PTX in them is loaded and linked, compressed or not, the best of several targets; what holds
 * machine code only is rejected with a sentence; damage of any kind is an error, never more. And every rejection of an
 * image, a text or a launch is one line in the log, whether there is a log buffer or not. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/log.h"
#include "fat_samples.h"
#include "sim/module/sim_unpack.h"
#include "tests/conformance/driver_abi.h"

static char line[1024];
static unsigned lines;

static void on_line(void *user, cj_log_level level, const char *text)
{
    (void)user;
    if (level != CJ_LOG_ERROR) return;
    snprintf(line, sizeof line, "%s", text);
    lines++;
}

/* ---- Fat binaries of our own ------------------------------------------------------------------------------------- */

typedef struct fat { unsigned char b[8192]; size_t n; } fat;

static void put(unsigned char *p, unsigned bytes, uint64_t v)
{
    for (unsigned i = 0; i < bytes; i++) p[i] = (unsigned char)(v >> 8 * i);
}

static void fat_begin(fat *f)
{
    memset(f, 0, sizeof *f);
    put(f->b, 4, 0xba55ed50u);
    put(f->b + 4, 2, 1);
    put(f->b + 6, 2, 16);
    f->n = 16;
}

static void fat_add(fat *f, unsigned kind, unsigned target, const void *contents, size_t bytes)
{
    unsigned char *e = f->b + f->n;
    size_t padded = (bytes + 8) / 8 * 8;
    put(e, 2, kind);
    put(e + 2, 2, 0x101);
    put(e + 4, 4, 64);
    put(e + 8, 8, padded);
    put(e + 28, 4, target);
    put(e + 40, 8, 0x11);
    memcpy(e + 64, contents, bytes);
    f->n += 64 + padded;
    put(f->b + 8, 8, f->n - 16);
}

/* A kernel of that name for that target. */
static void fat_add_ptx(fat *f, unsigned target, const char *suffix, const char *name)
{
    char text[200];
    snprintf(text, sizeof text, ".version 8.0\n.target sm_%u%s\n.address_size 64\n.visible .entry %s()\n{\n ret;\n}\n",
             target, suffix, name);
    fat_add(f, 1, target, text, strlen(text));
}

/* ---- What loads -------------------------------------------------------------------------------------------------- */

static void runs(CUmodule m, const char *how)
{
    CUfunction f = NULL;
    CUdeviceptr p = abi_word(21), counter = 0;
    int n = 1;
    size_t bytes = 0;
    void *params[] = { &p, &n };
    abi_is(cu.cuModuleGetFunction(&f, m, "twice"), CUDA_SUCCESS, "%s: the kernel", how);
    abi_is(cu.cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, NULL, params, NULL), CUDA_SUCCESS, "%s: a launch", how);
    tap_is_uint(abi_read(p), 42, "%s: what it computes", how);
    abi_is(cu.cuModuleGetGlobal(&counter, &bytes, m, "counter"), CUDA_SUCCESS, "%s: the variable", how);
    tap_is_uint(abi_read(counter), 5, "%s: its value", how);
    abi_is(cu.cuModuleUnload(m), CUDA_SUCCESS, "%s: unload", how);
    cu.cuMemFree(p);
}

static void loads(const void *image, size_t bytes, const char *how)
{
    CUmodule m = NULL;
    CUlinkState l = NULL;
    void *cubin = NULL;
    size_t size = 0;
    const struct { unsigned magic, version; const void *data; void *name; } wrapper = { 0x466243b1u, 1, image, NULL };
    abi_is(cu.cuModuleLoadData(&m, image), CUDA_SUCCESS, "%s: cuModuleLoadData", how);
    runs(m, how);
    abi_is(cx.cuModuleLoadFatBinary(&m, image), CUDA_SUCCESS, "%s: cuModuleLoadFatBinary", how);
    runs(m, how);
    abi_is(cx.cuModuleLoadFatBinary(&m, &wrapper), CUDA_SUCCESS, "%s: behind a linked program's wrapper", how);
    runs(m, how);
    abi_is(cu.cuLinkCreate(0, NULL, NULL, &l), CUDA_SUCCESS, "%s: a linker", how);
    abi_is(cu.cuLinkAddData(l, CU_JIT_INPUT_FATBINARY, (void *)(uintptr_t)image, bytes, "fat", 0, NULL, NULL),
           CUDA_SUCCESS, "%s: cuLinkAddData", how);
    abi_is(cu.cuLinkComplete(l, &cubin, &size), CUDA_SUCCESS, "%s: linked", how);
    abi_is(cu.cuModuleLoadData(&m, cubin), CUDA_SUCCESS, "%s: and loaded", how);
    runs(m, how);
    cu.cuLinkDestroy(l);
}

static void files(void)
{
    char path[] = "/tmp/cujit-fat-XXXXXX";
    CUmodule m = NULL;
    int fd = mkstemp(path);
    if (fd < 0 || write(fd, fat_zstd, sizeof fat_zstd) != (ssize_t)sizeof fat_zstd) tap_bail("no file");
    close(fd);
    abi_is(cx.cuModuleLoad(&m, path), CUDA_SUCCESS, "a file: cuModuleLoad");
    runs(m, "a file");
    unlink(path);
    abi_is(cx.cuModuleLoad(&m, path), CUDA_ERROR_FILE_NOT_FOUND, "no file");
    abi_is(cx.cuModuleLoad(&m, NULL), CUDA_ERROR_INVALID_VALUE, "no name");
}

/* The name of the kernel that a device of sm_90a gets from several targets. */
static void best_target(void)
{
    static const struct {
        struct { unsigned target; const char *suffix, *name; } entry[3];
        const char *best;
    } cases[] = {
        { { { 70, "", "old" }, { 90, "", "own" }, { 100, "", "late" } }, "own" },
        { { { 90, "", "own" }, { 80, "", "old" } }, "own" },
        { { { 90, "", "own" }, { 90, "a", "special" } }, "special" },
        { { { 100, "a", "late" }, { 75, "", "old" } }, "old" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        static fat f;
        CUmodule m = NULL;
        CUfunction k = NULL;
        fat_begin(&f);
        fat_add(&f, 2, 90, "\177ELF", 4);
        for (int j = 0; j < 3 && cases[i].entry[j].target; j++)
            fat_add_ptx(&f, cases[i].entry[j].target, cases[i].entry[j].suffix, cases[i].entry[j].name);
        abi_is(cu.cuModuleLoadData(&m, f.b), CUDA_SUCCESS, "several targets, %zu", i);
        abi_is(cu.cuModuleGetFunction(&k, m, cases[i].best), CUDA_SUCCESS, "the kernel %s", cases[i].best);
        cu.cuModuleUnload(m);
    }
}

/* ---- What does not ----------------------------------------------------------------------------------------------- */

static void rejected(CUresult r, CUresult want, const char *call, const char *part, const char *what)
{
    abi_is(r, want, "%s", what);
    tap_is_uint(lines, 1, "%s: one line in the log", what);
    tap_ok(strncmp(line, call, strlen(call)) == 0, "%s: it begins with the call", what);
    tap_has_str(line, part, "%s: and says why", what);
    lines = 0;
}

static void images_are_rejected(void)
{
    static fat f;
    CUmodule m = NULL;
    char text[200] = "?";
    CUjit_option option[] = { CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES };
    void *value[] = { text, (void *)sizeof text };
    CUlinkState l = NULL;
    lines = 0;
    fat_begin(&f);
    fat_add(&f, 2, 90, "\177ELF", 4);
    fat_add(&f, 2, 100, "\177ELF", 4);
    rejected(cu.cuModuleLoadData(&m, f.b), CUDA_ERROR_NO_BINARY_FOR_GPU, "cuModuleLoadData returns",
             "machine code for sm_90, sm_100 and no PTX", "a fat binary without PTX");
    rejected(cu.cuModuleLoadDataEx(&m, f.b, 2, option, value), CUDA_ERROR_NO_BINARY_FOR_GPU,
             "cuModuleLoadDataEx returns", "and no PTX", "the same with a buffer for the log");
    tap_has_str(text, "and no PTX", "which has the sentence too");
    rejected(cu.cuModuleLoadData(&m, "\177ELF...."), CUDA_ERROR_NO_BINARY_FOR_GPU, "cuModuleLoadData returns",
             "machine code of a GPU", "a cubin");
    rejected(cx.cuModuleLoadFatBinary(&m, abi_ptx), CUDA_ERROR_INVALID_IMAGE, "cuModuleLoadFatBinary returns",
             "no fat binary", "a text where a fat binary is wanted");
    fat_begin(&f);
    fat_add_ptx(&f, 100, "", "late");
    rejected(cu.cuModuleLoadData(&m, f.b), CUDA_ERROR_NO_BINARY_FOR_GPU, "cuModuleLoadData returns",
             ".target sm_100 does not fit this device", "a fat binary for a later device");
    rejected(cu.cuModuleLoadData(&m, ".version 8.0\n.target sm_90\n.address_size 64\nnonsense\n"),
             CUDA_ERROR_INVALID_PTX, "cuModuleLoadData returns", ":4:", "a text with a mistake");
    rejected(cu.cuModuleLoadData(&m, ".version 99.0\n.target sm_90\n"), CUDA_ERROR_UNSUPPORTED_PTX_VERSION,
             "cuModuleLoadData returns", ".version 99.0 is too new", "a text of a later version");
    cu.cuLinkCreate(0, NULL, NULL, &l);
    fat_begin(&f);
    fat_add_ptx(&f, 90, "", "own");
    rejected(cu.cuLinkAddData(l, CU_JIT_INPUT_PTX, f.b, f.n, NULL, 0, NULL, NULL), CUDA_ERROR_INVALID_IMAGE,
             "cuLinkAddData_v2 returns", "does not fit its contents", "a fat binary that is called PTX");
    rejected(cu.cuLinkAddData(l, CU_JIT_INPUT_LIBRARY, f.b, f.n, NULL, 0, NULL, NULL), CUDA_ERROR_INVALID_IMAGE,
             "cuLinkAddData_v2 returns", "does not fit its contents", "a fat binary that is called a library");
    cu.cuLinkDestroy(l);
}

static void launches_are_rejected(void)
{
    CUmodule m = NULL;
    CUfunction f = abi_kernel(&m, "add");
    CUdeviceptr p = 0;
    unsigned n = 1;
    void *params[] = { &p, &n }, *none[] = { &p, NULL };
    static const struct { unsigned grid, block, shared; int want; const char *part; } cases[] = {
        { 1, 2048, 0, CUDA_ERROR_INVALID_VALUE, "a block of 2048 threads in x is not in 1 .. 1024 (kernel add)" },
        { 1, 0, 0, CUDA_ERROR_INVALID_VALUE, "a block of 0 threads in x" },
        { 0, 1, 0, CUDA_ERROR_INVALID_VALUE, "a grid of 0 blocks in x" },
        { 1, 1, 65536, CUDA_ERROR_INVALID_VALUE, "CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES allows kernel add" },
    };
    lines = 0;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        rejected(cu.cuLaunchKernel(f, cases[i].grid, 1, 1, cases[i].block, 1, 1, cases[i].shared, NULL, params, NULL),
                 (CUresult)cases[i].want, "cuLaunchKernel returns", cases[i].part, cases[i].part);
    rejected(cu.cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, none, NULL), CUDA_ERROR_INVALID_VALUE,
             "cuLaunchKernel returns", "argument 1 of 2 is NULL", "an argument that is missing");
    rejected(cu.cuLaunchKernel((CUfunction)&n, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL), CUDA_ERROR_INVALID_HANDLE,
             "cuLaunchKernel returns", "no function of a module", "no function");
    abi_is(cu.cuModuleUnload(m), CUDA_SUCCESS, "unload");
}

/* What the function's own attribute allows is launched, and no more. */
static void the_attribute_allows(void)
{
    static char text[200000];
    size_t at = (size_t)snprintf(text, sizeof text, ABI_HEAD ".visible .entry many(.param .u64 p)\n{\n"
                                 " .reg .b64 %%a; .reg .u32 %%r<240>;\n ld.param.u64 %%a, [p];\n");
    CUmodule m = NULL;
    CUfunction f = NULL;
    CUdeviceptr p = 0;
    void *params[] = { &p };
    int most = 0;
    cu.cuMemAlloc(&p, 4096);
    for (int i = 0; i < 240; i++)
        at += (size_t)snprintf(text + at, sizeof text - at, " ld.global.u32 %%r%d, [%%a+%d];\n", i, 4 * i);
    for (int i = 0; i < 240; i++)
        at += (size_t)snprintf(text + at, sizeof text - at, " st.global.u32 [%%a+%d], %%r%d;\n", 4 * i, 239 - i);
    snprintf(text + at, sizeof text - at, " ret;\n}\n");
    abi_is(cu.cuModuleLoadData(&m, text), CUDA_SUCCESS, "a kernel with 240 values at once");
    abi_is(cu.cuModuleGetFunction(&f, m, "many"), CUDA_SUCCESS, "its function");
    abi_is(cu.cuFuncGetAttribute(&most, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, f), CUDA_SUCCESS, "its limit");
    tap_ok(most >= 32 && most < 1024, "which is below the device's");
    abi_is(cu.cuLaunchKernel(f, 1, 1, 1, (unsigned)most, 1, 1, 0, NULL, params, NULL), CUDA_SUCCESS,
           "so many threads are launched");
    lines = 0;
    rejected(cu.cuLaunchKernel(f, 1, 1, 1, (unsigned)most + 1, 1, 1, 0, NULL, params, NULL),
             CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, "cuLaunchKernel returns", "registers each", "one more is not");
    abi_is(cu.cuCtxSynchronize(), CUDA_SUCCESS, "done");
    cu.cuMemFree(p);
    cu.cuModuleUnload(m);
}

/* ---- Damage ------------------------------------------------------------------------------------------------------ */

static uint32_t state = 1;
static uint32_t next(void) { return state = state * 1664525u + 1013904223u; }

/* A copy that ends at the end of its block, so that a tool sees what is read behind it. */
static unsigned char *exact(const unsigned char *p, size_t n)
{
    unsigned char *copy = malloc(n ? n : 1);
    if (!copy) tap_bail("no memory");
    if (n) memcpy(copy, p, n);
    return copy;
}

/* Cut, and with changed bytes: the linker takes sizes, so nothing behind the end may be read. */
static void damaged(const unsigned char *image, size_t bytes, const char *how)
{
    unsigned tries = tap_is_slow() ? 150 : 1500, ok = 0, cut_ok = 0;
    CUlinkState l = NULL;
    cu.cuLinkCreate(0, NULL, NULL, &l);
    for (size_t n = 0; n < bytes; n += tap_is_slow() ? 13 : 1) {
        unsigned char *copy = exact(image, n);
        cut_ok += n && !cu.cuLinkAddData(l, CU_JIT_INPUT_FATBINARY, copy, n, NULL, 0, NULL, NULL);
        free(copy);
    }
    tap_is_uint(cut_ok, 0, "%s: none that is cut is taken", how);
    for (unsigned i = 0; i < tries; i++) {
        unsigned char *copy = exact(image, bytes);
        for (unsigned k = 0; k <= (next() >> 28); k++) copy[(next() >> 8) % bytes] = (unsigned char)(next() >> 24);
        put(copy, 4, 0xba55ed50u);
        ok += !cu.cuLinkAddData(l, CU_JIT_INPUT_FATBINARY, copy, bytes, NULL, 0, NULL, NULL);
        free(copy);
    }
    tap_ok(ok < tries, "%s: most that is changed is rejected (%u of %u taken)", how, ok, tries);
    cu.cuLinkDestroy(l);
}

/* The decompressors alone, with sizes that do not fit. */
static void other_sizes(void)
{
    bool no_memory;
    static unsigned char out[65536];
    size_t size = 0;
    for (int i = 0; i < 8; i++) size |= (size_t)fat_zstd[16 + 56 + i] << 8 * i;
    const unsigned char *zstd = fat_zstd + 96, *lz4 = fat_lz4 + 96;
    size_t zstd_bytes = fat_zstd[32] | (size_t)fat_zstd[33] << 8, lz4_bytes = fat_lz4[32] | (size_t)fat_lz4[33] << 8;
    tap_ok(cji_sim_unpack_zstd(zstd, zstd_bytes, out, size, &no_memory), "Zstandard: the size that is written");
    tap_ok(!cji_sim_unpack_zstd(zstd, zstd_bytes, out, size - 1, &no_memory) && !no_memory, "one less");
    tap_ok(!cji_sim_unpack_zstd(zstd, zstd_bytes, out, size + 1, &no_memory) && !no_memory, "one more");
    tap_ok(cji_sim_unpack_lz4(lz4, lz4_bytes, out, size), "LZ4: the size that is written");
    tap_ok(!cji_sim_unpack_lz4(lz4, lz4_bytes, out, size - 1), "one less");
    tap_ok(!cji_sim_unpack_lz4(lz4, lz4_bytes, out, size + 1), "one more");
    tap_ok(!cji_sim_unpack_lz4(lz4, 0, out, 0), "nothing");
}

int main(void)
{
    cji_set_log_hook(on_line, NULL);
    abi_open();
    loads(fat_zstd, sizeof fat_zstd, "Zstandard");
    loads(fat_lz4, sizeof fat_lz4, "LZ4");
    files();
    best_target();
    images_are_rejected();
    launches_are_rejected();
    the_attribute_allows();
    damaged(fat_zstd, sizeof fat_zstd, "Zstandard");
    damaged(fat_lz4, sizeof fat_lz4, "LZ4");
    other_sizes();
    return abi_close();
}
