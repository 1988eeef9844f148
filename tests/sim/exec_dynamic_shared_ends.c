/* A kernel's accesses to dynamic shared memory end with the bytes of the launch, whatever static shared memory lies
 * before them: 8 bytes, or 40. */
#include "exec_harness.h"

static const char text[] = EX_HEAD
    ".extern .shared .align 8 .b8 tail[];\n"
    ".visible .entry beside(.param .u64 at)\n{\n.reg .b32 %r<4>;\n.reg .b64 %d<2>;\n.shared .b8 one[8];\n"
    "ld.param.u64 %d1, [at];\nmov.u32 %r2, one;\nst.shared.u32 [%r2+4], 1;\n"
    "cvt.u32.u64 %r1, %d1;\nmov.u32 %r2, tail;\nadd.u32 %r3, %r2, %r1;\nst.shared.u32 [%r3], 7;\nret;\n}\n"
    ".visible .entry behind(.param .u64 at)\n{\n.reg .b32 %r<4>;\n.reg .b64 %d<2>;\n.shared .align 8 .b8 head[40];\n"
    "ld.param.u64 %d1, [at];\ncvt.u32.u64 %r1, %d1;\nmov.u32 %r2, head;\nst.shared.u32 [%r2+36], 1;\n"
    "mov.u32 %r2, tail;\nadd.u32 %r3, %r2, %r1;\nst.shared.u32 [%r3], 7;\nret;\n}\n";

static const struct { const char *name, *kernel; unsigned shared; uint64_t at; bool inside; } rows[] = {
    { "the first word", "beside", 24, 0, true },
    { "the last word", "beside", 24, 20, true },
    { "the word behind it", "beside", 24, 24, false },
    { "a word far behind it", "beside", 24, 4096, false },
    { "the first word of a launch without any", "beside", 0, 0, false },
    { "the first word behind static memory", "behind", 24, 0, true },
    { "the last word behind static memory", "behind", 24, 20, true },
    { "the word behind both", "behind", 24, 24, false },
    { "a word far behind both", "behind", 24, 4096, false },
};

int main(void)
{
    cji_exec_program *p = ex_load(text);
    tap_plan(0);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        cji_exec_fault f = { .kind = CJI_EXEC_FAULT_NONE };
        ex_run(p, rows[i].kernel, 1, 1, rows[i].shared, &rows[i].at, &f);
        tap_is_int(f.kind, rows[i].inside ? CJI_EXEC_FAULT_NONE : CJI_EXEC_FAULT_ADDRESS, "%s: %s", rows[i].name,
                   rows[i].inside ? "is written" : "is a fault");
        if (!rows[i].inside) tap_has_str(f.sentence, "shared memory", "%s: the sentence", rows[i].name);
    }
    cji_exec_program_free(p);
    return tap_done();
}
