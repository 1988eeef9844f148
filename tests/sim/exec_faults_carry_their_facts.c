/* A fault's fields hold what its sentence says, and more: kernel, function, instruction, line, access, state space,
 * address, and the allocation that is concerned. */
#include "exec_harness.h"

#define NAME64 "a_kernel_whose_name_is_longer_than_sixty_characters_by_four_abcd"

/* The access in line 10. */
#define ACCESS(decl, code) \
    EX_HEAD ".visible .entry " NAME64 "(.param .u64 a)\n{\n.reg .b32 %r<4>;\n.reg .b64 %d<4>;\n" decl "\n" \
            "ld.param.u64 %d1, [a];\n" code "\nret;\n}\n"

static const struct {
    const char *name, *text;
    uint64_t param;
    cji_exec_fault_kind kind;
    const char *instruction;
    unsigned line, access, bytes;
    cj_space space;
    uint64_t address, allocation, allocation_bytes;
    bool freed;
} cases[] = {
    { "a write past the end", ACCESS("", "st.global.u32 [%d1+8], 1;"), EX_BASE + EX_BYTES - 8, CJI_EXEC_FAULT_ADDRESS,
      "st.global.u32", 10, CJI_EXEC_WRITE, 4, CJ_SPACE_GLOBAL, EX_BASE + EX_BYTES, 0, 0, false },
    { "a vector read of freed memory", ACCESS("", "ld.global.v2.u64 {%d2, %d3}, [%d1];"), EX_BASE + 4096,
      CJI_EXEC_FAULT_ADDRESS, "ld.global.v2.u64", 10, CJI_EXEC_READ, 16, CJ_SPACE_GLOBAL, EX_BASE + 4096,
      EX_BASE + 4096, 4096, true },
    { "a generic read of freed memory", ACCESS("", "ld.u64 %d2, [%d1];"), EX_BASE + 4096, CJI_EXEC_FAULT_ADDRESS,
      "ld.u64", 10, CJI_EXEC_READ, 8, CJ_SPACE_GLOBAL, EX_BASE + 4096, EX_BASE + 4096, 4096, true },
    { "a misaligned atomic", ACCESS("", "atom.global.add.u32 %r1, [%d1], 1;"), EX_BASE + 8192 + 2,
      CJI_EXEC_FAULT_MISALIGNED, "atom.global.add.u32", 10, CJI_EXEC_UPDATE, 4, CJ_SPACE_GLOBAL, EX_BASE + 8192 + 2,
      EX_BASE + 8192, EX_BYTES - 8192, false },
    { "a shared write", ACCESS(".shared .align 4 .b8 s[16];", "st.shared.u16 [s+16], 1;"), 0, CJI_EXEC_FAULT_ADDRESS,
      "st.shared.u16", 10, CJI_EXEC_WRITE, 2, CJ_SPACE_SHARED, 16, 0, 0, false },
    { "a shared write by a generic address",
      ACCESS(".shared .align 4 .b8 s[16];", "cvta.shared.u64 %d2, s; st.u8 [%d2+17], 1;"), 0, CJI_EXEC_FAULT_ADDRESS,
      "st.u8", 10, CJI_EXEC_WRITE, 1, CJ_SPACE_SHARED, 17, 0, 0, false },
    { "a local read", ACCESS(".local .align 4 .b8 l[16];", "mov.u64 %d2, 1048576; ld.local.u32 %r1, [%d2];"), 0,
      CJI_EXEC_FAULT_ADDRESS, "ld.local.u32", 10, CJI_EXEC_READ, 4, CJ_SPACE_LOCAL, 1048576, 0, 0, false },
    { "a write to a parameter", ACCESS("", "cvta.param.u64 %d2, a; st.u64 [%d2], 1;"), 0, CJI_EXEC_FAULT_ADDRESS,
      "st.u64", 10, CJI_EXEC_WRITE, 8, CJ_SPACE_PARAM, 0, 0, 0, false },
    { "a trap", ACCESS("", "trap;"), 0, CJI_EXEC_FAULT_TRAP, "trap", 10, 0, 0, CJ_SPACE_GENERIC, 0, 0, 0, false },
};

static void field_facts(size_t i, const cji_exec_fault *f)
{
    const char *name = cases[i].name;
    tap_is_int(f->kind, cases[i].kind, "%s: the kind", name);
    tap_is_str(f->kernel, NAME64, "%s: the kernel's whole name", name);
    tap_is_str(f->function, NAME64, "%s: the function's", name);
    tap_is_str(f->instruction, cases[i].instruction, "%s: the instruction", name);
    tap_is_uint(f->line, cases[i].line, "%s: the line of the text", name);
    tap_is_uint(f->access, cases[i].access, "%s: what the access does", name);
    tap_is_uint(f->bytes, cases[i].bytes, "%s: its bytes", name);
    tap_is_uint(f->space, cases[i].space, "%s: the state space", name);
    tap_is_uint(f->address, cases[i].address, "%s: the address", name);
    tap_is_uint(f->allocation, cases[i].allocation, "%s: the allocation", name);
    tap_is_uint(f->allocation_bytes, cases[i].allocation_bytes, "%s: its bytes", name);
    tap_is_int(f->allocation_freed, cases[i].freed, "%s: is it freed", name);
    tap_is_uint(f->block[0] + f->thread[0], 0, "%s: block and thread", name);
    if (!tap_has_str(f->sentence, "at line 10 of a_kernel_whose_name_is_longe...ixty_characters_by_four_abcd",
                     "%s: the sentence", name))
        tap_diag("%s", f->sentence);
}

static void function_of_a_fault(void)
{
    cji_exec_fault fault;
    uint64_t param = 0;
    cji_exec_program *p = ex_load(EX_HEAD
                                  ".func f()\n{\ntrap;\n}\n"
                                  ".visible .entry k(.param .u64 a)\n{\ncall.uni f;\nret;\n}\n");
    tap_ok(!ex_run(p, "k", 1, 1, 0, &param, &fault), "a .func that traps is a fault");
    tap_is_str(fault.kernel, "k", "its kernel");
    tap_is_str(fault.function, "f", "its function");
    tap_has_str(fault.sentence, "trap at line 6 of f was reached", "the sentence names the function");
    cji_exec_program_free(p);
}

static void source_of_a_fault(void)
{
    static const struct { const char *name, *text; unsigned line, source_line; const char *file, *says; } sources[] = {
        { "behind .loc", ".loc 1 42 7\n.local .b32 x;\ntrap;", 9, 42, "saxpy.cu",
          "trap at saxpy.cu:42, line 9 of k, was" },
        { "before the first .loc", "trap;\n.loc 1 42 7\n", 7, 0, "", "trap at line 7 of k was reached" },
    };
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++) {
        char text[512];
        cji_exec_fault f;
        uint64_t param = 0;
        snprintf(text, sizeof text, EX_HEAD ".file 1 \"saxpy.cu\"\n.visible .entry k(.param .u64 a)\n{\n%s\nret;\n}\n",
                 sources[i].text);
        cji_exec_program *p = ex_load(text);
        tap_ok(!ex_run(p, "k", 1, 1, 0, &param, &f), "an instruction %s: a fault", sources[i].name);
        tap_is_uint(f.line, sources[i].line, "%s: the line of the text", sources[i].name);
        tap_is_uint(f.source_line, sources[i].source_line, "%s: the line of the source", sources[i].name);
        tap_is_str(f.source_file, sources[i].file, "%s: its file", sources[i].name);
        tap_has_str(f.sentence, sources[i].says, "%s: the sentence", sources[i].name);
        cji_exec_program_free(p);
    }
}

int main(void)
{
    tap_plan(0);
    tap_timeout(60);
    ex_freed_lo = EX_BASE + 4096;
    ex_freed_hi = EX_BASE + 8192;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cji_exec_fault fault;
        cji_exec_program *p = ex_load(cases[i].text);
        cji_exec_launch l = { .program = p, .kernel = cji_exec_program_kernel(p, NAME64), .grid = { 1, 1, 1 },
                              .block = { 1, 1, 1 }, .params = &cases[i].param,
                              .memory = { .find = ex_find, .print = ex_print } };
        tap_ok(!cji_exec_run(&l, &fault), "%s: a fault", cases[i].name);
        field_facts(i, &fault);
        cji_exec_program_free(p);
    }
    function_of_a_fault();
    source_of_a_fault();
    return tap_done();
}
