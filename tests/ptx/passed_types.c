/* What functions can pass: parameters and results of each type, in registers and in memory, of functions that a kernel
 * calls and of those that none calls; what cj_ptx_check, the CPU device's loader and ptxas say of the same texts. */
#include "ask_ptxas.h"

#include <cujit/parse.h>
#include <cujit/ptx.h>

#include <stdio.h>
#include <string.h>

#include "sim/exec/exec.h"

static const char head[] = ".version 7.0\n.target sm_75\n.address_size 64\n";
static const char kernel[] = ".visible .entry k(.param .u64 p)\n{\n"
                             ".reg .b64 d; .reg .b32 y; .reg .b16 x; .reg .pred o;\n"
                             "ld.param.u64 d, [p]; mov.u32 y, %tid.x; mov.b16 x, 3; setp.eq.u32 o, y, 1;\n";
static const char tail[] = "\nst.global.b32 [d], y; ret;\n}\n";

#define IN_REGISTER(type, move, call) ".func (.reg ." type " q) h()\n{\n" move "\nret;\n}\n", call
#define GIVEN_REGISTER(type, call) ".func (.reg .b32 q) h(.reg ." type " a)\n{\nmov.b32 q, 1;\nret;\n}\n", call
#define IN_MEMORY(type) ".func (.param ." type " q) h()\n{\nret;\n}\n", "{ .param ." type " q; call (q), h; }"
#define GIVEN_MEMORY(type) ".func h(.param ." type " a)\n{\nret;\n}\n", "{ .param ." type " a; call h, (a); }"

/* `printed`: of what the printer makes of the text, where .u16 in registers is .b16. */
static const struct { const char *name, *functions, *call; bool passes, printed; const char *says; } rows[] = {
    { "a result .u16", IN_REGISTER("u16", "mov.b16 q, 1;", "call (x), h;"), false, true,
      "the result 'q' of h is .u16" },
    { "a result .s16", IN_REGISTER("s16", "mov.b16 q, 1;", "call (x), h;"), false, true, "make it .b16" },
    { "a result .b16", IN_REGISTER("b16", "mov.b16 q, 1;", "call (x), h;"), true, true, NULL },
    { "a result .f16", IN_REGISTER("f16", "mov.b16 q, 1;", "call (x), h;"), true, true, NULL },
    { "a result .u32", IN_REGISTER("u32", "mov.u32 q, 1;", "call (y), h;"), true, true, NULL },
    { "a result .pred", IN_REGISTER("pred", "setp.eq.u32 q, 1, 1;", "call (o), h;"), false, false, "make it .b32" },
    { "a parameter .u16", GIVEN_REGISTER("u16", "call (y), h, (x);"), false, true, "the parameter 'a' of h is .u16" },
    { "a parameter .b16", GIVEN_REGISTER("b16", "call (y), h, (x);"), true, true, NULL },
    { "a parameter .pred", GIVEN_REGISTER("pred", "call (y), h, (o);"), false, false, "'a' of h is .pred" },
    { "a result .u8 in memory", IN_MEMORY("u8"), false, false, "the result 'q' of h is .u8" },
    { "a result .s16 in memory", IN_MEMORY("s16"), false, false, "is .s16, which ptxas does not pass" },
    { "a result .b8 in memory", IN_MEMORY("b8"), true, true, NULL },
    { "a parameter .s8 in memory", GIVEN_MEMORY("s8"), false, false, "make it .b8" },
    { "a parameter .u16 in memory", GIVEN_MEMORY("u16"), false, false, "make it .b16" },
    { "a parameter .b16 in memory", GIVEN_MEMORY("b16"), true, true, NULL },
    { "a function that none calls", ".func (.reg .u16 q) h()\n{\nmov.b16 q, 1;\nret;\n}\n", "", true, true, NULL },
    { "a call that no kernel comes to",
      ".func (.reg .pred q) h()\n{\nsetp.eq.u32 q, 1, 1;\nret;\n}\n"
      ".func g()\n{\n.reg .pred o;\ncall (o), h;\nret;\n}\n", "", true, true, NULL },
    { "a call through another function",
      ".func (.reg .pred q) h()\n{\nsetp.eq.u32 q, 1, 1;\nret;\n}\n"
      ".func g()\n{\n.reg .pred o;\ncall (o), h;\nret;\n}\n", "call g;", false, false, "the result 'q' of h is .pred" },
    { "a module without an ABI",
      ".func (.reg .b32 q, .reg .b32 w) g()\n{\nmov.b32 q, 1;\nmov.b32 w, 2;\nret;\n}\n"
      ".func (.reg .u16 q) h()\n{\nmov.b16 q, 1;\nret;\n}\n", "call (x), h;", true, true, NULL },
    { "a prototype",
      ".func (.reg .b16 q) h()\n{\nmov.b16 q, 1;\nret;\n}\n",
      "pr: .callprototype (.reg .u16 _) _; .reg .b64 ad; mov.u64 ad, h; call (x), ad, (), pr;", false, true,
      "of a function is .u16" },
};

static bool loads(const char *text, cji_text *log)
{
    const cji_exec_text source = { .name = "t.ptx", .text = text, .bytes = strlen(text) };
    cji_exec_program *p = cji_exec_program_make(&source, 1, log);
    const bool made = p != NULL;
    if (p) cji_exec_program_free(p);
    return made;
}

int main(void)
{
    tap_plan(0);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[2000], name[80];
        const char *printed = "";
        cji_text log = { 0 };
        snprintf(text, sizeof text, "%s%s%s%s%s", head, rows[i].functions, kernel, rows[i].call, tail);
        ptxas_assembles(text, rows[i].passes, rows[i].name);
        tap_is_int(loads(text, &log), rows[i].passes, "the CPU device's loader %s it: %s",
                   rows[i].passes ? "takes" : "rejects", rows[i].name);
        if (rows[i].says) tap_has_str(cji_text_str(&log), rows[i].says, "... and says why");
        cj_ptx *m = cj_parse(text, strlen(text), "t.ptx");
        snprintf(name, sizeof name, "%s, printed", rows[i].name);
        cj_ptx_print(m, 0, &printed, NULL);
        ptxas_assembles(printed, rows[i].printed, name);
        tap_is_int(cj_ptx_check(m), rows[i].printed ? CJ_OK : CJ_EPTX, "cj_ptx_check: %s", name);
        if (!rows[i].printed) tap_has_str(cj_error_of(m)->message, rows[i].says, "... and says why");
        cj_ptx_free(m);
        cji_text_free(&log);
    }
    return tap_done();
}
