/* The registers that the CPU device reports of a kernel are an estimate: at most a quarter more than ptxas needs, on
 * kernels that nvcc made; bounded by what the head and the JIT options allow; and whatever the function's own attribute
 * of most threads says can be launched.
 *
 *     registers_are_estimated --record FILE    writes what ptxas says, tests/oracle/registers.txt
 *     CUJIT_TEST_ALL=1                         compares with what ptxas says now, where it is there */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/conformance/driver_abi.h"

enum { KERNELS = 256 };

static const char *const files[] = {
    "tests/sim/kernels/exec.ptx",      "tests/sim/kernels/registers.ptx", "tests/ptx/samples/calls.ptx",
    "tests/ptx/samples/constant.ptx",  "tests/ptx/samples/half.ptx",      "tests/ptx/samples/histogram.ptx",
    "tests/ptx/samples/interpret.ptx", "tests/ptx/samples/lines.ptx",     "tests/ptx/samples/loops.ptx",
    "tests/ptx/samples/math.ptx",      "tests/ptx/samples/print.ptx",     "tests/ptx/samples/reduce.ptx",
    "tests/ptx/samples/saxpy.ptx",     "tests/ptx/samples/switch.ptx",
};
enum { FILES = sizeof files / sizeof *files };

typedef struct known {
    char file[64], kernel[128];
    int registers;
} known;
static known list[KERNELS];
static size_t n;

/* ptxas -v says "Compiling entry function 'NAME'", and below "Used N registers". */
static void ask_ptxas(const char *file, FILE *out)
{
    char command[4096], line[4096], name[128] = "";
    snprintf(command, sizeof command, "%s -v -arch=sm_90 '%s' -o /dev/null 2>&1", tap_ptxas(), tap_source(file));
    FILE *p = popen(command, "r");
    if (!p) tap_bail("ptxas does not start");
    while (fgets(line, sizeof line, p)) {
        const char *entry = strstr(line, "Compiling entry function '"), *used = strstr(line, "Used ");
        if (entry) sscanf(entry, "Compiling entry function '%127[^']", name);
        if (used && *name) fprintf(out, "%s %s %d\n", file, name, atoi(used + 5)), *name = 0;
    }
    pclose(p);
}

static void read_list(FILE *in)
{
    char line[512];
    for (n = 0; n < KERNELS && fgets(line, sizeof line, in);)
        if (*line != '#' && sscanf(line, "%63s %127s %d", list[n].file, list[n].kernel, &list[n].registers) == 3) n++;
}

/* Reads what ptxas said; with CUJIT_TEST_ALL it is asked again. */
static void find_list(void)
{
    bool ask = tap_ptxas() && getenv("CUJIT_TEST_ALL");
    FILE *in = ask ? tmpfile() : fopen(tap_source("tests/oracle/registers.txt"), "r");
    if (!in) tap_bail("no list of registers");
    if (ask) {
        for (size_t i = 0; i < FILES; i++) ask_ptxas(files[i], in);
        rewind(in);
    }
    read_list(in);
    fclose(in);
}

static CUmodule load(const char *text, unsigned limit)
{
    CUjit_option option[] = { CU_JIT_MAX_REGISTERS };
    void *value[] = { (void *)(uintptr_t)limit };
    CUmodule m = NULL;
    CUresult r = cu.cuModuleLoadDataEx(&m, text, limit ? 1 : 0, option, value);
    if (r) tap_bail("a module is rejected with %d", r);
    return m;
}

static int attribute(CUmodule m, const char *kernel, CUfunction_attribute what)
{
    CUfunction f;
    int value;
    if (cu.cuModuleGetFunction(&f, m, kernel) || cu.cuFuncGetAttribute(&value, what, f))
        tap_bail("no kernel %s", kernel);
    return value;
}

static void compare_all(void)
{
    size_t compared = 0;
    for (size_t i = 0; i < FILES; i++) {
        char *text = tap_slurp(tap_source(files[i]), NULL);
        CUmodule m = load(text, 0);
        for (size_t k = 0; k < n; k++) {
            if (strcmp(list[k].file, files[i])) continue;
            int got = attribute(m, list[k].kernel, CU_FUNC_ATTRIBUTE_NUM_REGS), wants = list[k].registers;
            tap_ok(got * 4 <= wants * 5 && got * 6 >= wants, "%s of %s has %d registers here, %d by ptxas",
                   list[k].kernel, strrchr(files[i], '/') + 1, got, wants);
            compared++;
        }
        cu.cuModuleUnload(m);
        free(text);
    }
    tap_ok(compared >= 50, "%zu kernels are compared", compared);
}

/* A kernel with `alive` values in a row of which all are used at the end. */
static char *kernel_text(int alive, const char *head)
{
    static char text[1 << 16];
    int at = snprintf(text, sizeof text,
                      ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry k(.param .u64 p) %s {\n"
                      ".reg .b64 a; .reg .f32 s, x<%d>; ld.param.u64 a, [p];\n",
                      head, alive);
    for (int i = 0; i < alive; i++)
        at += snprintf(text + at, sizeof text - (size_t)at, "ld.volatile.f32 x%d, [a+%d];\n", i, 4 * i);
    at += snprintf(text + at, sizeof text - (size_t)at, "mov.f32 s, 0f00000000;\n");
    for (int i = 0; i < alive; i++) at += snprintf(text + at, sizeof text - (size_t)at, "add.f32 s, s, x%d;\n", i);
    snprintf(text + at, sizeof text - (size_t)at, "st.f32 [a], s; ret; }\n");
    return text;
}

/* What limits the number: the head before the option. */
static void limits(void)
{
    static const struct {
        const char *head, *name;
        unsigned option;
        int least, most;
    } cases[] = {
        { "", "no limit", 0, 128, 255 },
        { "", "CU_JIT_MAX_REGISTERS 40", 40, 40, 40 },
        { "", "CU_JIT_MAX_REGISTERS 3, raised to the least that ptxas takes", 3, 24, 24 },
        { ".maxnreg 64", ".maxnreg", 0, 64, 64 },
        { ".maxnreg 64", ".maxnreg, whatever the option says", 32, 64, 64 },
        { ".maxntid 1024, 1, 1", ".maxntid 1024", 0, 64, 64 },
        { ".maxntid 256, 1, 1 .minnctapersm 8", ".maxntid 256 .minnctapersm 8", 0, 32, 32 },
        { ".maxntid 1024, 1, 1 .minnctapersm 99", "more blocks than an SM can have", 0, 24, 24 },
        { ".reqntid 512", ".reqntid 512, whatever the option says", 32, 128, 128 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CUmodule m = load(kernel_text(200, cases[i].head), cases[i].option);
        int got = attribute(m, "k", CU_FUNC_ATTRIBUTE_NUM_REGS);
        tap_ok(got >= cases[i].least && got <= cases[i].most, "%s: %d registers", cases[i].name, got);
        cu.cuModuleUnload(m);
    }
}

/* The linker's option goes with its image. */
static void linked(void)
{
    CUjit_option option[] = { CU_JIT_MAX_REGISTERS };
    void *value[] = { (void *)48 }, *image;
    CUlinkState l;
    CUmodule m;
    size_t bytes;
    char *text = kernel_text(200, "");
    CUresult r = cu.cuLinkCreate(1, option, value, &l);
    if (!r) r = cu.cuLinkAddData(l, CU_JIT_INPUT_PTX, text, strlen(text) + 1, "k", 0, NULL, NULL);
    if (!r) r = cu.cuLinkComplete(l, &image, &bytes);
    if (!r) r = cu.cuModuleLoadDataEx(&m, image, 0, NULL, NULL);
    if (r) tap_bail("not linked: %d", r);
    cu.cuLinkDestroy(l);
    tap_is_int(attribute(m, "k", CU_FUNC_ATTRIBUTE_NUM_REGS), 48,
               "the linker's CU_JIT_MAX_REGISTERS bounds a kernel of its image");
    cu.cuModuleUnload(m);
}

/* A kernel has the registers of what it calls, directly, through others, and by address. */
static void calls(void)
{
    static const char text[] =
        ".version 7.0\n.target sm_70\n.address_size 64\n.func leaf(.param .b64 p);\n.func loop(.param .b64 p);\n"
        ".global .u64 table[1] = { leaf };\n"
        ".func loop(.param .b64 p) { .reg .b64 a; ld.param.b64 a, [p]; { .param .b64 q; st.param.b64 [q], a;\n"
        "call leaf, (q); call loop, (q); } ret; }\n"
        ".visible .entry direct() { .reg .b64 a; mov.b64 a, 0; { .param .b64 q; st.param.b64 [q], a;\n"
        "call loop, (q); } ret; }\n"
        ".visible .entry address() { .reg .b64 a; ld.global.u64 a, [table]; { .param .b64 q; st.param.b64 [q], a;\n"
        "P: .callprototype _ (.param .b64 _); call a, (q), P; } ret; }\n.visible .entry none() { ret; }\n";
    char *all = malloc(1 << 17);
    if (!all) tap_bail("no memory");
    int at = snprintf(all, 1 << 17,
                      "%s.func leaf(.param .b64 p) { .reg .b64 a; .reg .f32 s, x<100>; ld.param.b64 a, [p];\n", text);
    for (int i = 0; i < 100; i++) at += sprintf(all + at, "ld.volatile.f32 x%d, [a+%d];\n", i, 4 * i);
    at += sprintf(all + at, "mov.f32 s, x0;\n");
    for (int i = 0; i < 100; i++) at += sprintf(all + at, "add.f32 s, s, x%d;\n", i);
    sprintf(all + at, "st.f32 [a], s; ret; }\n");
    CUmodule m = load(all, 0);
    tap_ok(attribute(m, "direct", CU_FUNC_ATTRIBUTE_NUM_REGS) > 64,
           "a kernel has the registers of what it calls through others");
    tap_ok(attribute(m, "address", CU_FUNC_ATTRIBUTE_NUM_REGS) > 64, "and of what it may call by address");
    tap_ok(attribute(m, "none", CU_FUNC_ATTRIBUTE_NUM_REGS) < 8, "and no others");
    cu.cuModuleUnload(m);
    free(all);
}

/* What is the same in all threads of a block needs no register of a thread; what differs in them, or in time, does. */
static void uniform(void)
{
    static const struct { const char *sreg; bool varies; } cases[] = {
        { "%tid.x", true },     { "%tid.z", true },     { "%laneid", true },   { "%warpid", true },
        { "%lanemask_lt", true }, { "%clock", true },   { "%globaltimer_lo", true }, { "%ctaid.x", false },
        { "%ntid.y", false },   { "%nctaid.x", false }, { "%smid", false },    { "%nwarpid", false },
    };
    static char text[1 << 14];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int at = snprintf(text, sizeof text,
                          ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry k(.param .u64 p) {\n"
                          ".reg .b64 a; .reg .u32 t, x<60>; ld.param.u64 a, [p]; mov.u32 t, %s;\n",
                          cases[i].sreg);
        for (int j = 0; j < 60; j++)
            at += snprintf(text + at, sizeof text - (size_t)at, "mul.lo.u32 x%d, t, %d;\n", j, j + 3);
        for (int j = 0; j < 60; j++)
            at += snprintf(text + at, sizeof text - (size_t)at, "st.u32 [a+%d], x%d;\n", 4 * j, j);
        snprintf(text + at, sizeof text - (size_t)at, "ret; }\n");
        CUmodule m = load(text, 0);
        int got = attribute(m, "k", CU_FUNC_ATTRIBUTE_NUM_REGS);
        tap_ok(cases[i].varies ? got >= 40 : got < 30, "60 products of %s: %d registers", cases[i].sreg, got);
        cu.cuModuleUnload(m);
    }
}

/* Launches with as many threads as the attribute says, and with a warp more. */
static void launches(void)
{
    static const int alive[] = { 4, 80, 120, 160, 200, 300 };
    CUdeviceptr d;
    if (cu.cuMemAlloc(&d, 4096)) tap_bail("no memory");
    for (size_t i = 0; i < sizeof alive / sizeof *alive; i++) {
        CUmodule m = load(kernel_text(alive[i], ""), 0);
        unsigned most = (unsigned)attribute(m, "k", CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
        CUfunction f;
        void *params[] = { &d };
        cu.cuModuleGetFunction(&f, m, "k");
        CUresult r = cu.cuLaunchKernel(f, 1, 1, 1, most, 1, 1, 0, NULL, params, NULL);
        tap_is_int(r ? r : cu.cuCtxSynchronize(), 0, "%d values: %u threads are launched", alive[i], most);
        r = cu.cuLaunchKernel(f, 1, 1, 1, most + 32, 1, 1, 0, NULL, params, NULL);
        tap_is_int(r, most < 1024 ? CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES : CUDA_ERROR_INVALID_VALUE,
                   "and 32 more are not");
        cu.cuModuleUnload(m);
    }
    cu.cuMemFree(d);
}

int main(int argc, char **argv)
{
    if (argc > 2 && !strcmp(argv[1], "--record")) {
        FILE *out = fopen(argv[2], "w");
        if (!out || !tap_ptxas()) return fprintf(stderr, "no %s, or no ptxas\n", argv[2]), 1;
        fprintf(out,
                "# What ptxas reports for sm_90, for tests/sim/registers_are_estimated.c: file, kernel, registers.\n");
        for (size_t i = 0; i < FILES; i++) ask_ptxas(files[i], out);
        return fclose(out) != 0;
    }
    abi_open();
    find_list();
    compare_all();
    limits();
    linked();
    calls();
    uniform();
    launches();
    return abi_close();
}
