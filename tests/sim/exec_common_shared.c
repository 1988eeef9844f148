/* Shared variables of a module that a function names have their place in every kernel that may call that function:
 * directly, through others, in a cycle of calls, or by address. Other kernels have their own variables alone. */
#include "exec_harness.h"

static const char text[] = EX_HEAD
    ".shared .align 4 .b8 common[400];\n.shared .align 4 .b8 single[24];\n.func cycle();\n"
    ".func leaf()\n{\n.reg .b32 %r<2>;\nmov.u32 %r1, common;\nst.shared.u32 [%r1+396], 1;\nret;\n}\n"
    ".func middle()\n{\ncall leaf;\nret;\n}\n"
    ".func cycle()\n{\n.reg .pred %p<2>;\nsetp.ne.u32 %p1, 0, 0;\n@%p1 call cycle;\ncall middle;\nret;\n}\n"
    ".func lonely()\n{\nret;\n}\n"
    ".global .u64 table[1] = { middle };\n"
    ".visible .entry names()\n{\n.reg .b32 %r<2>;\nmov.u32 %r1, common;\nst.shared.u32 [%r1+396], 1;\nret;\n}\n"
    ".visible .entry direct()\n{\ncall leaf;\nret;\n}\n"
    ".visible .entry through()\n{\ncall middle;\nret;\n}\n"
    ".visible .entry around()\n{\ncall cycle;\nret;\n}\n"
    ".visible .entry address()\n{\n.reg .b64 %d<2>;\nproto: .callprototype _ ();\nld.global.u64 %d1, [table];\n"
    "call %d1, (), proto;\nret;\n}\n"
    ".visible .entry behind()\n{\n.reg .b32 %r<2>;\nmov.u32 %r1, single;\nst.shared.u32 [%r1+20], 1;\ncall leaf;\n"
    "ret;\n}\n"
    ".visible .entry other()\n{\ncall lonely;\nret;\n}\n"
    ".visible .entry none()\n{\nret;\n}\n";

static const struct { const char *kernel; unsigned bytes; } rows[] = {
    { "names", 400 },   { "direct", 400 }, { "through", 400 }, { "around", 400 },
    { "address", 400 }, { "behind", 424 }, { "other", 0 },     { "none", 0 },
};

int main(void)
{
    cji_exec_program *p = ex_load(text);
    tap_plan(0);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        cji_exec_fault f = { .kind = CJI_EXEC_FAULT_NONE };
        const cji_exec_kernel *k = cji_exec_program_kernel(p, rows[i].kernel);
        tap_is_uint(k ? k->static_shared : UINT64_MAX, rows[i].bytes, "%s: bytes of shared memory", rows[i].kernel);
        ex_run(p, rows[i].kernel, 1, 1, 0, NULL, &f);
        tap_is_int(f.kind, CJI_EXEC_FAULT_NONE, "%s: runs", rows[i].kernel);
    }
    cji_exec_program_free(p);
    return tap_done();
}
