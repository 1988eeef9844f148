/* Sizes that a text chooses, on the CPU device: what wraps is rejected, what is too much for a launch is a warning. */
#include "ptx/layout.h"
#include "sim/exec/exec.h"

#include "exec_harness.h"

#define HEAD ".version 8.1\n.target sm_80\n.address_size 64\n"
#define ENTRY(body) ".visible .entry k(.param .u64 out)\n{\n.reg .b32 %r<9>;\n.reg .b64 %d<9>;\n" \
    "ld.param.u64 %d0, [out];\n" body "ret;\n}\n"

static const struct { const char *name, *text, *says; } rejected[] = {
    { "parameters that 32 bits do not hold", HEAD ".entry k(.param .b8 a[4294967288], .param .b8 c[16]) { ret; }",
      "'a' of 4294967288 bytes does not fit" },
    { "parameters pushed apart by alignment",
      HEAD ".entry k(.param .b8 a, .param .align 2147483648 .b8 b[4], .param .b8 c) { ret; }", "'b' of 4 bytes" },
    { "shared variables that wrap", HEAD ".shared .b8 a[9223372036854775807]; .shared .b8 b;" ENTRY(""), "'b' of 1" },
    { "an image that wraps",
      HEAD ".global .b8 a[9223372036854775807];\n.global .b32 x = 5;\n.global .b8 b[9223372036854775807];" ENTRY(""),
      "'x' of 4 bytes does not fit" },
    { "too many constants", HEAD ".const .b8 a[65537];" ENTRY(""), "'a' of 65537 bytes does not fit" },
};

/* They load, and the log has a warning. */
static const struct { const char *name, *text, *says; } warned[] = {
    { "too much shared memory",
      HEAD ENTRY(".shared .b8 a[40000];\n.shared .b8 b[9153];\nmov.u64 %d1, a;\nmov.u64 %d1, b;\n"),
      "test.ptx:4: warning: k has 49153 bytes of static shared memory; ptxas takes at most 49152" },
    { "shared memory above 32 bits", HEAD ".shared .b8 a[4294967296];\n" ENTRY("mov.u64 %d1, a;\n"),
      "test.ptx:5: warning: k has 4294967296 bytes of static shared memory" },
    { "too much local memory", HEAD ENTRY(".local .b8 a[524289];\nmov.u64 %d1, a;\n"),
      "test.ptx:4: warning: k has 524304 bytes of local memory; ptxas takes at most 524288" },
    { "local memory above 32 bits", HEAD ENTRY(".local .b8 a[4294967296];\nmov.u64 %d1, a;\n"),
      "test.ptx:4: warning: k has 4294967296 bytes of local memory" },
};

static void loads(void)
{
    for (size_t i = 0; i < sizeof rejected / sizeof *rejected; i++) {
        const char *log;
        cji_exec_program *p = ex_try(rejected[i].text, &log);
        tap_ok(!p, "%s is rejected", rejected[i].name);
        tap_has_str(log, rejected[i].says, "%s: the log", rejected[i].name);
        cji_exec_program_free(p);
    }
    for (size_t i = 0; i < sizeof warned / sizeof *warned; i++) {
        const char *log;
        cji_exec_program *p = ex_try(warned[i].text, &log);
        tap_ok(p != NULL, "%s is loaded", warned[i].name);
        tap_has_str(log, warned[i].says, "%s: the log", warned[i].name);
        cji_exec_program_free(p);
    }
}

/* Calls of functions whose frames are too large: the fault of a full stack, never a write outside. `large` has a
 * parameter of its own behind what 32 bits hold. */
static const struct { const char *name, *text; } calls[] = {
    { "a frame above 32 bits",
      HEAD ".func large(.param .b8 p[512])\n{\n.local .b8 big[4294950000];\n.reg .b64 %d;\nmov.u64 %d, big;\nret;\n}\n"
      ENTRY("{\n.param .b8 a[512];\nst.param.b8 [a], 1;\ncall large, (a);\n}\n") },
    { "the caller's frame above 32 bits",
      HEAD ".func small(.param .b8 p[512]) { ret; }\n.func large()\n{\n.local .b8 big[4294950000];\n.reg .b64 %d;\n"
      "mov.u64 %d, big;\n{\n.param .b8 a[512];\n.param .b8 b[16384];\n.param .b8 q[512];\nst.param.b8 [q], 1;\n"
      "st.param.b8 [a], 1;\nst.param.b8 [b], 1;\ncall small, (q);\n}\nret;\n}\n" ENTRY("call large;\n") },
    { "a parameter of 2^28 bytes",
      HEAD ".func larger(.param .b8 p[268435456]) { ret; }\n"
      ".func large()\n{\n.param .b8 a[268435456];\nst.param.b8 [a], 1;\ncall larger, (a);\nret;\n}\n"
      ENTRY("call large;\n") },
    { "512 KiB and a frame",
      HEAD ".func large()\n{\n.local .b8 big[524288];\n.reg .b64 %d;\nmov.u64 %d, big;\nret;\n}\n"
      ENTRY("call large;\n") },
};

static void frames(void)
{
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        const char *log;
        uint64_t param = EX_BASE;
        cji_exec_fault fault;
        cji_exec_program *p = ex_try(calls[i].text, &log);
        if (!tap_ok(p != NULL, "%s: it loads: %s", calls[i].name, log)) continue;
        tap_ok(!ex_run(p, "k", 1, 32, 0, &param, &fault), "%s: the run fails", calls[i].name);
        tap_is_int(fault.kind, CJI_EXEC_FAULT_STACK, "%s: its stack is full", calls[i].name);
        tap_has_str(fault.sentence, "large", "%s: the sentence", calls[i].name);
        cji_exec_program_free(p);
    }
}

/* The largest frame works, and a callee's variables are aligned as they ask. */
static void fits(void)
{
    static const char text[] = HEAD
        ".func (.param .b64 o) f()\n{\n.local .align 256 .b8 v[256];\n.reg .b64 %d;\nmov.u64 %d, v;\n"
        "st.param.b64 [o], %d;\nret;\n}\n"
        ENTRY(".local .b8 mine[24];\nmov.u64 %d2, mine;\nst.local.b8 [%d2], 1;\n{\n.param .b64 o;\ncall (o), f;\n"
              "ld.param.b64 %d1, [o];\n}\nst.global.u64 [%d0], %d1;\n")
        ".visible .entry most(.param .u64 out)\n{\n.local .b8 s[524288];\n.reg .b64 %d<3>;\n.reg .b32 %r;\n"
        "ld.param.u64 %d0, [out];\nst.local.u8 [s+524287], 7;\nld.local.u8 %r, [s+524287];\n"
        "st.global.u32 [%d0], %r;\nret;\n}\n";
    const char *log;
    uint64_t param = EX_BASE, at;
    cji_exec_fault fault;
    cji_exec_program *p = ex_try(text, &log);
    if (!tap_ok(p != NULL, "it loads: %s", log)) return;
    tap_ok(ex_run(p, "k", 1, 1, 0, &param, &fault), "the callee runs");
    memcpy(&at, ex_memory, 8);
    tap_is_uint(at % 256, 0, "its variable is aligned to 256");
    tap_ok(ex_run(p, "most", 1, 1, 0, &param, &fault), "512 KiB of local memory run");
    tap_is_uint(ex_memory[0], 7, "to the last byte");
    cji_exec_program_free(p);
}

/* Initial values: addresses with an offset that wraps, and large variables whose bytes are mostly 0. */
static void values(void)
{
    static const char text[] = HEAD
        ".global .align 8 .b8 y[16];\n.global .u64 z[2] = { y + 9223372036854775807, y + 18446744073709551615 };\n"
        ".global .b32 sparse[8] = { 1, 2 };\n" ENTRY("");
    const char *log;
    cji_exec_program *p = ex_try(text, &log);
    if (!tap_ok(p != NULL, "it loads: %s", log)) return;
    const cji_exec_var *y = cji_exec_program_var(p, "y"), *z = cji_exec_program_var(p, "z"),
                       *sparse = cji_exec_program_var(p, "sparse");
    uint64_t base = EX_BASE + EX_IMAGE, got[2];
    uint32_t few[8];
    memcpy(got, ex_memory + EX_IMAGE + z->offset, sizeof got);
    tap_is_uint(got[0], base + y->offset + INT64_MAX, "an offset of 63 bits");
    tap_is_uint(got[1], base + y->offset - 1, "one that wraps");
    memcpy(few, ex_memory + EX_IMAGE + sparse->offset, sizeof few);
    tap_ok(few[0] == 1 && few[1] == 2 && !few[2] && !few[7], "values that are not given are 0");
    tap_is_uint(cji_exec_program_image_align(p), 8, "the image's alignment");
    cji_exec_program_free(p);
}

int main(void)
{
    tap_plan(0);
    loads();
    frames();
    fits();
    values();
    return tap_done();
}
