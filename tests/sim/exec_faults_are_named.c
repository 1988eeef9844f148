/* What a kernel does wrong stops it and is reported in a sentence: kind, line, thread, address. */
#include "exec_harness.h"

#define BODY(decl, code) \
    EX_HEAD \
        ".visible .entry k(.param .u64 a)\n{\n.reg .pred %p;\n.reg .b32 %r<9>;\n.reg .b64 %d<9>;\n" \
        ".reg .f32 %f<4>;\n" decl \
        "\nld.param.u64 %d1, [a];\n" \
        "mov.u32 %r1, %tid.x;\n" code "\nret;\n}\n"

static const struct {
    const char *name, *text;
    uint64_t param;
    unsigned block;
    cji_exec_fault_kind kind;
    unsigned thread;
    const char *says;
} cases[] = {
    { "a read behind the end", BODY("", "ld.global.u32 %r2, [%d1];"), EX_BASE + EX_BYTES - 2, 32,
      CJI_EXEC_FAULT_MISALIGNED, 0, "which is no multiple of 4" },
    { "a read outside", BODY("", "ld.global.u32 %r2, [%d1];"), EX_BASE + EX_BYTES, 32, CJI_EXEC_FAULT_ADDRESS, 0,
      "ld.global.u32 at line" },
    { "a host pointer", BODY("", "ld.u32 %r2, [%d1];"), 0x5555, 32, CJI_EXEC_FAULT_MISALIGNED, 0,
      "reads 4 bytes at 0x5555" },
    { "a write to freed memory by lane 3",
      BODY("", "mul.wide.u32 %d2, %r1, 4;\nadd.s64 %d3, %d1, %d2;\nst.global.u32 [%d3], %r1;"), EX_BASE + 4096 - 12, 32,
      CJI_EXEC_FAULT_ADDRESS, 3, "which was freed" },
    { "a vector read that is misaligned", BODY("", "ld.global.v2.u32 {%r2, %r3}, [%d1];"), EX_BASE + 4, 1,
      CJI_EXEC_FAULT_MISALIGNED, 0, "which is no multiple of 8" },
    { "shared memory overrun",
      BODY(".shared .align 4 .b8 s[64];",
           "mul.lo.u32 %r2, %r1, 4;\nmov.u32 %r3, s;\nadd.u32 %r3, %r3, %r2;\nst.shared.u32 [%r3], %r1;"),
      0, 20, CJI_EXEC_FAULT_ADDRESS, 16, "of shared memory, which has 64" },
    { "a null pointer atomic", BODY("", "atom.global.add.u32 %r2, [%d1], 1;"), 0, 1, CJI_EXEC_FAULT_ADDRESS, 0,
      "updates 4 bytes at 0x0, which is no device memory" },
    { "trap", BODY("", "setp.eq.u32 %p, %r1, 5;\n@%p trap;"), 0, 32, CJI_EXEC_FAULT_TRAP, 5, "was reached" },
    { "a barrier under divergence",
      BODY("", "setp.lt.u32 %p, %r1, 8;\n@%p bra L1;\nbar.sync 0;\nbra L2;\nL1:\nbar.sync 0;\nL2:"), 0, 32,
      CJI_EXEC_FAULT_BARRIER, 8, "waits under divergent control flow" },
    { "a barrier that never completes", BODY("", "setp.lt.u32 %p, %r1, 32;\n@%p bra L1;\nbar.sync 1, 64;\nL1:"), 0, 64,
      CJI_EXEC_FAULT_BARRIER, 32, "can never complete" },
    { "a barrier count that is no multiple of 32", BODY("", "mov.u32 %r2, 33;\nbar.sync 1, %r2;"), 0, 64,
      CJI_EXEC_FAULT_BARRIER, 0, "the number must be a multiple of 32" },
    { "a shuffle whose lanes never meet",
      BODY(
          "",
          "setp.lt.u32 %p, %r1, 16;\n@%p bra L1;\nshfl.sync.idx.b32 %r2, %r1, 0, 31, -1;\nbra L2;\nL1:\n"
          "vote.sync.ballot.b32 %r3, %p, -1;\n"
          "L2:"),
      0, 32, CJI_EXEC_FAULT_SYNC, 16, "waits for lanes that never come" },
    { "a shuffle by a lane outside its mask", BODY("", "shfl.sync.idx.b32 %r2, %r1, 0, 31, 0xffff;"), 0, 32,
      CJI_EXEC_FAULT_SYNC, 16, "which its mask 0x0000ffff does not name" },
    { "a write to constant memory's neighbour is no device memory", BODY("", "st.global.u32 [%d1], %r1;"),
      UINT64_C(0x7fff00000000), 1, CJI_EXEC_FAULT_ADDRESS, 0, "is no device memory" },
    { "the shared window overrun through a generic address",
      BODY(".shared .align 4 .b8 s[16];", "cvta.shared.u64 %d2, s;\nst.u32 [%d2+16], %r1;"), 0, 1,
      CJI_EXEC_FAULT_ADDRESS, 0, "at offset 16 of shared memory" },
    { "endless recursion",
      EX_HEAD
      ".func (.param .b32 o) f(.param .b32 i);\n.func (.param .b32 o) f(.param .b32 i)\n{\n.reg .b32 %r<4>;\n"
      "ld.param.u32 %r1, [i];\n{\n"
      ".param .b32 x;\nst.param.b32 [x], %r1;\n.param .b32 y;\n"
      "call.uni (y), f, (x);\nld.param.b32 %r2, [y];\n}\nst.param.b32 [o], %r2;\nret;\n}\n"
      ".visible .entry k(.param .u64 a)\n{\n.reg .b32 %r<4>;\nmov.u32 %r1, 1;\n{\n"
      ".param .b32 x;\nst.param.b32 [x], %r1;\n.param .b32 y;\n"
      "call.uni (y), f, (x);\nld.param.b32 %r2, [y];\n}\nret;\n}\n",
      0, 32, CJI_EXEC_FAULT_STACK, 0, "its stack of 65536 bytes is full" },
    { "an indirect call of what is no function",
      EX_HEAD
      ".visible .entry k(.param .u64 a)\n{\n.reg .b64 %d<3>;\nld.param.u64 %d1, [a];\n{\nP : .callprototype _ ();\n"
      "call %d1, P;\n"
      "}\nret;\n}\n",
      12345, 1, CJI_EXEC_FAULT_PC, 0, "which is no function" },
};

/* PTX below 3.0 */
#define LOCAL_HEAD                                                                                                     \
    ".version 2.3\n.target sm_20\n.address_size 64\n.local .u32 thing[4];\n.entry k()\n{\n.reg .u32 a; .reg .u64 b;\n"

static const struct { const char *name, *text, *says; } rejected[] = {
    { "text that is no PTX", "hello", "hello" },
    { "an undefined function", EX_HEAD ".extern .func g();\n.visible .entry k()\n{\ncall.uni g;\nret;\n}\n",
      "test.ptx:7: call.uni calls g, which no module defines" },
    { "an undefined function, declared without .extern",
      EX_HEAD ".func g();\n.visible .entry k()\n{\ncall g;\nret;\n}\n",
      "test.ptx:7: call calls g, which no module defines" },
    { "an undefined function, called by a function that no kernel calls",
      EX_HEAD ".extern .func g();\n.visible .func h()\n{\ncall g;\nret;\n}\n.visible .entry k()\n{\nret;\n}\n",
      "test.ptx:7: call calls g, which no module defines" },
    { "an undefined function, called behind a guard",
      EX_HEAD ".extern .func g();\n.visible .entry k()\n{\n.reg .pred p;\nsetp.eq.u32 p, 1, 2;\n@p call g;\nret;\n}\n",
      "test.ptx:9: call calls g, which no module defines" },
    { "an undefined weak function", EX_HEAD ".weak .func g();\n.visible .entry k()\n{\ncall g;\nret;\n}\n",
      "test.ptx:7: call calls g, which no module defines" },
    { "the address of an undefined function",
      EX_HEAD ".extern .func g();\n.visible .entry k()\n{\n.reg .b64 d;\nmov.u64 d, g;\nret;\n}\n",
      "test.ptx:8: mov.u64 names g, which no module defines" },
    { "the address of an undefined function as initial value",
      EX_HEAD ".extern .func g();\n.visible .global .u64 t[2] = { 0, g };\n.visible .entry k()\n{\nret;\n}\n",
      "test.ptx:5: the initial value of t names g, which no module defines" },
    { "the address of an undefined variable as initial value",
      EX_HEAD ".extern .global .u32 g;\n.visible .global .u64 t = g;\n.visible .entry k()\n{\nret;\n}\n",
      "test.ptx:5: the initial value of t names g, which no module defines" },
    { "a .local variable of the module that is read",
      LOCAL_HEAD "ld.local.u32 a, [thing+4];\nexit;\n}\n",
      "test.ptx:8: ld.local.u32 names thing, a .local variable of the module (line 4), which the CPU device does not "
      "have; declare it in the function" },
    { "a .local variable of the module whose address is taken", LOCAL_HEAD "mov.u64 b, thing;\nexit;\n}\n",
      "test.ptx:8: mov.u64 names thing, a .local variable of the module (line 4)" },
    { "an undefined variable",
      EX_HEAD ".extern .global .b32 v;\n.visible .entry k()\n{\n.reg .b32 %r;\nld.global.u32 %r, [v];\nret;\n}\n",
      "test.ptx:8: ld.global.u32 names v, which no module defines" },
    { "a parameter read past its end",
      EX_HEAD ".visible .entry k(.param .u32 a)\n{\n.reg .b64 %d;\nld.param.u64 %d, [a];\nret;\n}\n",
      "reads 8 bytes at 0 of the kernel's 4 bytes of parameters" },
    { "a surface read",
      EX_HEAD ".visible .entry k()\n{\n.reg .b32 %r;\n.reg .b64 %d;\nsuld.b.1d.b32.trap {%r}, [%d, {%r}];\nret;\n}\n",
      "test.ptx:8: suld.b.1d.b32.trap is not executed by the CPU device yet" },
};

int main(void)
{
    tap_plan(0);
    tap_timeout(60);
    ex_freed_lo = EX_BASE + 4096;
    ex_freed_hi = EX_BASE + 8192;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cji_exec_fault fault;
        const char *log;
        cji_exec_program *p = ex_try(cases[i].text, &log);
        if (!tap_ok(p != NULL, "%s: the program is taken%s", cases[i].name, p ? "" : log)) continue;
        tap_ok(!ex_run(p, "k", 1, cases[i].block, 0, &cases[i].param, &fault), "%s: the run fails", cases[i].name);
        tap_is_int(fault.kind, cases[i].kind, "%s: the kind of fault", cases[i].name);
        tap_is_uint(fault.thread[0], cases[i].thread, "%s: the thread", cases[i].name);
        if (!tap_has_str(fault.sentence, cases[i].says, "%s: the sentence", cases[i].name))
            tap_diag("%s", fault.sentence);
        cji_exec_program_free(p);
    }
    for (size_t i = 0; i < sizeof rejected / sizeof *rejected; i++) {
        const char *log;
        cji_exec_program *p = ex_try(rejected[i].text, &log);
        tap_ok(p == NULL, "%s is rejected at load", rejected[i].name);
        tap_has_str(log, rejected[i].says, "%s: the log says what and where", rejected[i].name);
        cji_exec_program_free(p);
    }
    return tap_done();
}
