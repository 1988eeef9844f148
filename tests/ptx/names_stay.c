/* Names of what functions declare.  The module, a head and every block of a body may have a name once each; printed
 * text has it once in a function.  So some get other names, and what is printed keeps all of its names when it is read
 * and printed again. */
#include <cujit/cujit.h>
#include <cujit/parse.h>

#include <string.h>

#include "tests/ptx/reader_rules.h"
#include "tests/tap.h"

#define OF(version, target) ".version " version "\n.target " target "\n"
#define HEAD OF("8.0", "sm_80") ".address_size 64\n"
#define OLD OF("1.3", "sm_13")
#define DEBUG OF("8.0", "sm_80, debug") ".address_size 64\n"
#define SECTION ".section .debug_str\n{\n.b8 0\n}\n"
#define K(body) ".visible .entry k()\n{\n" body "ret;\n}\n"
#define USE(v) "st.shared.u32 [" v "], 1;\n"
#define USED(v) "\tst.shared.u32 [" v "], 1;\n"

static const struct { const char *name, *text, *want[4]; } cases[] = {
    { "the module has it above", HEAD ".global .u32 n;\n" K(".shared .u32 n;\n" USE("n")), { "\t.shared .u32 n_1;\n",
      USED("n_1") } },
    { "the module has it below", HEAD K(".shared .u32 n;\n" USE("n")) ".global .u32 n;\n", { "\t.shared .u32 n_1;\n",
      USED("n_1") } },
    { "the module has both below", HEAD K(".shared .u32 n;\n" USE("n")) ".global .u32 n;\n.global .u32 n_1;\n",
      { "\t.shared .u32 n_2;\n", USED("n_2") } },
    { "the module has the second name below", HEAD ".global .u32 n;\n" K(".shared .u32 n;\n" USE("n"))
      ".global .u32 n_1;\n",
      { "\t.shared .u32 n_1_1;\n", USED("n_1_1") } },
    { "the module has it below, the function the second name too",
      HEAD K(".shared .u32 n, n_1;\n" USE("n") USE("n_1")) ".global .u32 n;\n",
      { "\t.shared .u32 n_2;\n\t.shared .u32 n_1;\n", USED("n_2") USED("n_1") } },
    { "two functions have it, and the module below", HEAD ".visible .entry j()\n{\n.shared .u32 n;\n" USE("n")
      "ret;\n}\n"
      K(".shared .u32 n;\n" USE("n")) ".global .u32 n;\n",
      { "j()\n{\n\t.shared .u32 n_1;\n", "k()\n{\n\t.shared .u32 n_1;\n" } },
    { "two functions have it, and the module does not", HEAD ".visible .entry j()\n{\n.shared .u32 n;\n" USE("n")
      "ret;\n}\n"
      K(".shared .u32 n;\n" USE("n")), { "j()\n{\n\t.shared .u32 n;\n", "k()\n{\n\t.shared .u32 n;\n" } },
    { "the module has it between", HEAD ".visible .entry j()\n{\n.shared .u32 n;\n" USE("n")
      "ret;\n}\n.global .u32 n;\n"
      K(".shared .u32 n;\n" USE("n")), { "j()\n{\n\t.shared .u32 n_1;\n", "k()\n{\n\t.shared .u32 n_1;\n" } },
    { "a kernel below has it", HEAD K(".shared .u32 n;\n" USE("n")) ".visible .entry n()\n{\nret;\n}\n",
      { USED("n_1") } },
    { "a function below has it", HEAD K(".shared .u32 n;\n" USE("n")) ".func n()\n{\nret;\n}\n", { USED("n_1") } },
    { "a function declared above and defined below has it", HEAD ".func n();\n" K(".shared .u32 n;\n" USE("n"))
      ".func n()\n{\nret;\n}\n", { USED("n_1") } },
    { "the function itself has it", HEAD ".visible .entry n()\n{\n.shared .u32 n;\n" USE("n") "ret;\n}\n",
      { USED("n_1") } },
    { "an extern array below", HEAD K(".shared .u32 n;\n" USE("n")) ".extern .shared .u32 n[];\n", { USED("n_1") } },
    { "a range of the module below", HEAD K(".shared .u32 n1;\n" USE("n1")) ".global .u32 n<2>;\n", { USED("n1_1") } },
    { "an alias below", HEAD ".func f()\n{\nret;\n}\n" K(".shared .u32 n;\n" USE("n")) ".func n();\n.alias n, f;\n",
      { USED("n_1") } },
    { "blocks have it", HEAD K("{\n.shared .u32 n;\n" USE("n") "}\n{\n.shared .u32 n;\n" USE("n") "}\n"),
      { "\t.shared .u32 n;\n\t.shared .u32 n_1;\n", USED("n") USED("n_1") } },
    { "blocks in blocks have it", HEAD K(".shared .u32 n;\n{\n.shared .u32 n;\n{\n.shared .u32 n;\n" USE("n") "}\n"
      USE("n")
      "}\n" USE("n")), { USED("n_2") USED("n_1") USED("n") } },
    { "blocks have it, and the second name is another's", HEAD K(".shared .u32 n_1;\n{\n.shared .u32 n;\n" USE("n")
      "}\n{\n.shared .u32 n;\n" USE("n") "}\n" USE("n_1")), { USED("n") USED("n_2") USED("n_1") } },
    { "the second name is declared behind", HEAD K("{\n.shared .u32 n;\n}\n{\n.shared .u32 n;\n" USE("n") "}\n"
      ".shared .u32 n_1;\n" USE("n_1")), { USED("n_1") USED("n_1_1") } },
    { "a parameter has it", HEAD ".visible .entry k(.param .u32 n)\n{\n{\n.shared .u32 n;\n" USE("n") "}\nret;\n}\n",
      { "\t.param .u32 n\n", USED("n_1") } },
    { "a parameter and the module above have it, a variable the second name", HEAD ".global .u32 n;\n"
      ".visible .entry k(.param .u32 n)\n{\n.reg .u32 r;\n.shared .u32 n_1;\nld.param.u32 r, [n];\n" USE("n_1")
      "ret;\n}\n",
      { "\t.param .u32 n\n", "\tld.param.u32 %u0, [n];\n" USED("n_1") } },
    { "a parameter and the module below have it, a variable the second name", HEAD
      ".visible .entry k(.param .u32 n)\n{\n.reg .u32 r;\n.shared .u32 n_1;\nld.param.u32 r, [n];\n" USE("n_1")
      "ret;\n}\n"
      ".global .u32 n;\n", { "\t.param .u32 n\n", "\tld.param.u32 %u0, [n];\n" USED("n_1") } },
    { "a result and a block's variable", HEAD ".func (.param .u32 n) f(.param .u32 m)\n{\n{\n.shared .u32 n, m;\n"
      USE("n")
      USE("m") "}\nst.param.u32 [n], 1;\nret;\n}\n", { USED("n_1") USED("m_1") "\tst.param.u32 [n], 1;\n" } },
    { "a label", HEAD ".global .u32 n;\n" K("bra n;\nn:\n"), { "\tbra n_1;\nn_1:\n" } },
    { "a label, and the module below", HEAD K("bra n;\nn:\n") ".global .u32 n;\n", { "\tbra n_1;\nn_1:\n" } },
    { "a label and a variable", HEAD K(".shared .u32 n;\n{\nbra n;\nn:\n}\n" USE("n")),
      { "\tbra n_1;\nn_1:\n" USED("n") } },
    { "labels of blocks", HEAD K("{\nbra n;\nn:\n}\n{\nn:\nbra n;\n}\n"), { "\tbra n;\nn:\nn_1:\n\tbra n_1;\n" } },
    { "a label behind its block", HEAD K("{\nbra n;\n}\n{\nn:\nbra n;\n}\nn:\n"),
      { "\tbra n;\nn_1:\n\tbra n_1;\nn:\n" } },
    { "a list of targets", HEAD K(".reg .u32 r;\nmov.u32 r, 0;\na:\nn: .branchtargets a;\nbrx.idx r, n;\n")
      ".global .u32 n, a;\n",
      { "a_1:\nn_1: .branchtargets a_1;\n\tbrx.idx %u0, n_1;\n" } },
    { "a prototype", HEAD K(".reg .u64 r;\nmov.u64 r, 0;\nn: .callprototype _ (.param .b32 _);\n{\n.param .b32 p;\n"
      "st.param.b32 [p], 1;\ncall r, (p), n;\n}\n") ".global .u32 n, p;\n",
      { "\t.param .b32 p_1;\n",
      "n_1: .callprototype _ (.param .b32 _);\n\tst.param.b32 [p_1], 1;\n\tcall %ud0, (p_1), n_1;\n" } },
    { "a vector register", HEAD K(".reg .v2 .u32 n;\nmov.u32 n.x, 1;\nmov.b64 {n.x, n.y}, 0;\n") ".global .u32 n;\n",
      { "\t.reg .v2 .u32\tn_1;\n", "\tmov.u32 n_1.x, 1;\n" } },
    { "local and global variables of a function", HEAD K(".local .u32 l;\n.global .u32 g = 3;\n.const .u32 c = 4;\n")
      ".global .u32 l, g, c;\n", { "\t.local .u32 l_1;\n\t.global .u32 g_1 = 3;\n\t.const .u32 c_1 = 4;\n" } },
    { "a range of variables", HEAD K(".shared .u32 n<2>;\n" USE("n1")) ".global .u32 n1;\n",
      { "\t.shared .u32 n0;\n\t.shared .u32 n1_1;\n", USED("n1_1") } },
    { "an initial value names what gets another name", HEAD K(".global .u32 g;\n.global .u64 p = g;\n")
      ".global .u32 g;\n",
      { "\t.global .u32 g_1;\n\t.global .u64 p = g_1;\n" } },
    { "a name as registers have", HEAD K(".shared .u32 %r1;\n" USE("%r1")), { "\t.shared .u32 _r1;\n", USED("_r1") } },
    { "a name as registers have, without % taken", HEAD ".global .u32 _r1;\n" K(".shared .u32 %r1;\n" USE("%r1")),
      { USED("_r1_1") } },
    { "parameters in registers named as printed registers",
      HEAD ".func (.reg .b32 %r0) f(.reg .b32 %r1, .reg .b32 _r1)\n{\n"
      ".reg .b32 a, b;\nadd.s32 a, %r1, _r1;\nadd.s32 b, a, 1;\nmov.b32 %r0, b;\nret;\n}\n",
      { ".func (.reg .b32 _r0) f(.reg .b32 _r1_1, .reg .b32 _r1)\n",
        "\tadd.s32 %r0, _r1_1, _r1;\n\tadd.s32 %r1, %r0, 1;\n\tmov.b32 _r0, %r1;\n" } },
    { "a parameter named as a printed register", HEAD ".visible .entry k(.param .b32 %r_0)\n{\n.reg .b32 a;\n"
      "ld.param.b32 a, [%r_0];\nret;\n}\n", { "\t.param .b32 _r_0\n", "\tld.param.b32 %r0, [_r_0];\n" } },
    { "a vector parameter named as printed registers",
      HEAD ".func f(.reg .v2 .b32 %r1)\n{\n.reg .b32 a;\nmov.b32 a, %r1.y;\n"
      "ret;\n}\n", { ".func f(.reg .v2 .b32 _r1)\n", "\tmov.b32 %r0, _r1.y;\n" } },
    { "a parameter whose name no register has",
      HEAD ".func f(.reg .b32 %arg1)\n{\n.reg .b32 a;\nmov.b32 a, %arg1;\nret;\n}\n",
      { ".func f(.reg .b32 %arg1)\n", "\tmov.b32 %r0, %arg1;\n" } },
    { "a head with other names than its declaration",
      HEAD ".func f(.reg .b32 %r5);\n.func f(.reg .b32 %r0)\n{\n.reg .b32 a;\n"
      "mov.b32 a, %r0;\nret;\n}\n", { ".func f(.reg .b32 _r0)\n", "\tmov.b32 %r0, _r0;\n" } },
    { "parameters in a body", OLD
      ".global .u32 n;\n.entry k\n{\n.param .u32 n;\n.reg .u32 a;\n{\n.shared .u32 n;\n"
      USE("n") "}\nld.param.u32 a, [n];\nexit;\n}\n", { "\t.param .u32 n\n", USED("n_1")
      "\tld.param.u32 %u0, [n];\n" } },
    { "registers in a text with debug data", DEBUG K(".reg .b32 n;\nmov.b32 n, 1;\n") ".global .u32 n;\n" SECTION,
      { "\t.reg .b32\tn_1;\n", "\tmov.b32 n_1, 1;\n" } },
    { "labels in a text with debug data", DEBUG K("bra n;\nn:\n") ".global .u32 n;\n" SECTION,
      { "\tbra n_1;\nn_1:\n" } },
};

static const struct { const char *name, *text, *why; } rejected[] = {
    { "a function's name as registers have", HEAD ".func %r1()\n{\nret;\n}\n",
      "'%r1' has a name as registers have; rename it" },
    { "a parameter in a body that hides what was used", OLD
      ".global .u32 n;\n.entry k\n{\n.reg .u32 a;\n"
      "ld.global.u32 a, [n];\n.param .u32 n;\nexit;\n}\n", "'n' has another meaning above" },
    { "a parameter in a body and a block's variable", OLD
      ".entry k\n{\n{\n.shared .u32 n;\n}\n.param .u32 n;\n"
      "exit;\n}\n", "'n' has another meaning above" },
    { "parameters of two blocks", OLD
      ".entry k\n{\n{\n.param .u32 n;\n}\n{\n.param .u32 n;\n}\nexit;\n}\n",
      "'n' has another meaning above" },
};

static void keeps_its_names(size_t i)
{
    const char *text, *again;
    cj_ptx *m = cj_parse(cases[i].text, strlen(cases[i].text), "first");
    if (!tap_is_int(cj_ptx_print(m, 0, &text, NULL), CJ_OK, "%s: it is read", cases[i].name))
        tap_diag("%s", cj_error_of(m)->message);
    for (size_t k = 0; k < 4 && cases[i].want[k]; k++) tap_has_str(text, cases[i].want[k], "%s: names", cases[i].name);
    cj_ptx *second = cj_parse(text, strlen(text), "second");
    if (cj_ptx_print(second, 0, &again, NULL) != CJ_OK) again = cj_error_of(second)->message;
    tap_is_str(again, text, "%s: what is printed keeps its names", cases[i].name);
    const char *fault = reader_fault(m, cases[i].text, strlen(cases[i].text), "first");
    if (!tap_ok(!fault, "%s: the heads alone are the same", cases[i].name)) tap_diag("%s", fault);
    cj_ptx_free(second);
    cj_ptx_free(m);
}

int main(void)
{
    tap_plan(0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) keeps_its_names(i);
    for (size_t i = 0; i < sizeof rejected / sizeof *rejected; i++) {
        cj_ptx *m = cj_parse(rejected[i].text, strlen(rejected[i].text), "first");
        tap_is_int(cj_error_of(m)->status, CJ_EUNKNOWN, "%s: not supported", rejected[i].name);
        tap_has_str(cj_error_of(m)->message, rejected[i].why, "%s: the message", rejected[i].name);
        cj_ptx_free(m);
    }
    return tap_done();
}
