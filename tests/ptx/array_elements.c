/* Elements of arrays as operands: a[2] and a[r+1] are addresses, which instructions of their own compute where the
 * index is a register. */
#include <cujit/cujit.h>
#include <cujit/parse.h>

#include <stdio.h>
#include <string.h>

#include "tests/tap.h"

#define HEAD ".version 8.0\n.target sm_80\n.address_size 64\n.global .u32 g[8];\n.shared .u16 s[4];\n" \
    ".const .u32 c[2][4];\n.global .u32 one;\n.visible .entry k(.param .u32 p[4])\n{\n.reg .b32 r, d;\n" \
    ".reg .b16 h;\n.reg .s16 i;\n.reg .b64 w;\n.reg .f32 f;\n.reg .pred q;\n.reg .v2 .b32 v;\n"

#define ADD(get) get "\tcvt.u64.u32 %rd2, %r2;\n\tadd.u64 %rd1, %rd1, %rd2;\n"
#define ADDRESS(symbol) ADD("\tmov.u64 %rd1, " symbol ";\n")
#define GENERIC(space, symbol) ADD("\tcvta." space ".u64 %rd1, " symbol ";\n")

static const struct { const char *name, *line, *want; } cases[] = {
    { "a number", "ld.global.u32 d, g[2];", "\tld.global.u32 %r1, [g+8];\n" },
    { "zero", "ld.global.u32 d, g[0];", "\tld.global.u32 %r1, [g];\n" },
    { "a constant of the manual", "ld.global.u32 d, g[WARP_SZ];", "\tld.global.u32 %r1, [g+128];\n" },
    { "an address", "mov.u64 w, g[2];", "\tmov.u64 %rd0, g+8;\n" },
    { "a register", "ld.global.u32 d, g[r];",
      "\tmad.lo.u32 %r2, %r0, 4, 0;\n" ADDRESS("g") "\tld.global.u32 %r1, [%rd1];\n" },
    { "a register and a number", "ld.global.u32 d, g[r+3];",
      "\tmad.lo.u32 %r2, %r0, 4, 12;\n" ADDRESS("g") "\tld.global.u32 %r1, [%rd1];\n" },
    { "elements of two bytes", "ld.shared.u16 h, s[r+1];",
      "\tmad.lo.u32 %r2, %r0, 2, 2;\n" ADDRESS("s") "\tld.shared.u16 %rs0, [%rd1];\n" },
    { "elements of two dimensions", "ld.const.u32 d, c[r];",
      "\tmad.lo.u32 %r2, %r0, 4, 0;\n" ADDRESS("c") "\tld.const.u32 %r1, [%rd1];\n" },
    { "an index of 64 bits", "ld.global.u32 d, g[w];",
      "\tcvt.u32.u64 %r3, %rd0;\n\tmad.lo.u32 %r2, %r3, 4, 0;\n" ADDRESS("g") },
    { "an index of 16 bits", "ld.global.u32 d, g[h];",
      "\tcvt.u32.u16 %r3, %rs0;\n\tmad.lo.u32 %r2, %r3, 4, 0;\n" ADDRESS("g") },
    { "a signed index of 16 bits", "ld.global.u32 d, g[i];",
      "\tcvt.u32.s16 %r3, %sh0;\n\tmad.lo.u32 %r2, %r3, 4, 0;\n" ADDRESS("g") },
    { "a generic address of shared memory", "ld.u16 h, s[r];",
      "\tmad.lo.u32 %r2, %r0, 2, 0;\n" GENERIC("shared", "s") "\tld.u16 %rs0, [%rd1];\n" },
    { "a generic address of constant memory", "ld.u32 d, c[r];",
      "\tmad.lo.u32 %r2, %r0, 4, 0;\n" GENERIC("const", "c") "\tld.u32 %r1, [%rd1];\n" },
    { "a generic address of global memory", "ld.u32 d, g[r];",
      "\tmad.lo.u32 %r2, %r0, 4, 0;\n" ADDRESS("g") "\tld.u32 %r1, [%rd1];\n" },
    { "an address of 32 bits", "mov.u32 d, s[r];",
      "\tmad.lo.u32 %r2, %r0, 2, 0;\n\tmov.u32 %r3, s;\n\tadd.u32 %r3, %r3, %r2;\n\tmov.u32 %r1, %r3;\n" },
    { "an address of 64 bits", "mov.u64 w, g[r];",
      "\tmad.lo.u32 %r2, %r0, 4, 0;\n" ADDRESS("g") "\tmov.u64 %rd0, %rd1;\n" },
    { "a parameter", "ld.param.u32 d, p[r];",
      "\tmad.lo.u32 %r2, %r0, 4, 0;\n" ADDRESS("p") "\tld.param.u32 %r1, [%rd1];\n" },
    { "a store", "st.global.u32 g[1], d;", "\tst.global.u32 [g+4], %r1;\n" },
};

static const struct { const char *name, *line, *why; } rejected[] = {
    { "no array", "ld.global.u32 d, one[1];", "'one' is indexed and is not an array" },
    { "a float as index", "ld.global.u32 d, g[1.5];", "an array's index is not an integer" },
    { "a float register as index", "ld.global.u32 d, g[f];", "'f' is neither" },
    { "a predicate as index", "ld.global.u32 d, g[q];", "'q' is neither" },
    { "a vector as index", "ld.global.u32 d, g[v];", "'v' is neither" },
    { "an index that wraps", "ld.global.u32 d, g[0x7fffffffffffffff];", "an index that no array has" },
    { "a parameter of calls", ".param .b32 a[2];\nld.param.u32 d, a[r];", "'a', a .param variable of the body" },
};

static cj_ptx *read_line(const char *line, char *text, size_t size)
{
    snprintf(text, size, HEAD "%s\nret;\n}\n", line);
    return cj_parse(text, strlen(text), "own");
}

int main(void)
{
    char text[2000];
    const char *printed;
    tap_plan(0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cj_ptx *m = read_line(cases[i].line, text, sizeof text);
        if (!tap_is_int(cj_ptx_print(m, 0, &printed, NULL), CJ_OK, "%s: it is read", cases[i].name))
            tap_diag("%s", cj_error_of(m)->message);
        tap_has_str(printed, cases[i].want, "%s: what it becomes", cases[i].name);
        cj_ptx_free(m);
    }
    for (size_t i = 0; i < sizeof rejected / sizeof *rejected; i++) {
        cj_ptx *m = read_line(rejected[i].line, text, sizeof text);
        tap_has_str(cj_error_of(m)->message, rejected[i].why, "%s: rejected", rejected[i].name);
        cj_ptx_free(m);
    }
    return tap_done();
}
