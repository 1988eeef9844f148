/* Wrong PTX: the status, the line and what the message names.  */
#include <cujit/parse.h>

#include "../tap.h"

#include <stdio.h>
#include <string.h>

/* T: the whole text.  M: the text stands behind .version, .target and .address_size.  K: in the body of a kernel.
 * Lines are counted from the row's own first. */
enum { T, M, K };
static const char module_head[] = ".version 8.0\n.target sm_90\n.address_size 64\n";
static const char kernel_head[] =
    ".visible .entry k(.param .u64 p, .param .b32 n)\n{\n"
    ".reg .pred p1, p2; .reg .b32 r<8>; .reg .b64 d<4>; .reg .f32 f<4>; .reg .f64 e<2>; .reg .b16 h<2>;\n";
static const char kernel_tail[] = "\nret;\n}\n";
static const struct { int in; cj_status status; int line; const char *text, *names;
} wrong_rows[] = {
    { T, CJ_EPTX, 1, "", "where .version" },
    { T, CJ_EPTX, 3, "\n\n", "where .version" },
    { T, CJ_EPTX, 1, ".target sm_90", ".version" },
    { T, CJ_EPTX, 1, ".version", "a version such as 8.0" },
    { T, CJ_EPTX, 1, ".version 8", "a version such as 8.0" },
    { T, CJ_EPTX, 1, ".version 8.0.1", "expected" },
    { T, CJ_EPTX, 1, ".version 99.0\n.target sm_90", "no PTX version" },
    { T, CJ_EPTX, 1, ".version 0.9\n.target sm_10", "no PTX version" },
    { T, CJ_EPTX, 1, ".version 2.4\n.target sm_20", "no PTX version 2.4" },
    { T, CJ_EPTX, 1, ".version 8.0", "where .target" },
    { T, CJ_EPTX, 2, ".version 8.0\n.entry k() { ret; }", ".target" },
    { T, CJ_EPTX, 2, ".version 8.0\n.target 90", "a target such as sm_90" },
    { T, CJ_EPTX, 2, ".version 8.0\n.target sm_17", "sm_17" },
    { T, CJ_EPTX, 2, ".version 8.0\n.target sm_90,", "an option of .target" },
    { T, CJ_EPTX, 2, ".version 8.0\n.target sm_90, fast", "fast" },
    { T, CJ_EPTX, 2, ".version 8.0\n.target sm_90, texmode_independent, texmode_unified", "both" },
    { T, CJ_EPTX, 2, ".version 8.0\n.target sm_90, map_f64_to_f32", "map_f64_to_f32" },
    { T, CJ_EPTX, 2, ".version 8.0\n// caf\303\251\n.target sm_90", "0xc3" },
    { T, CJ_ENOTSUP, 2, ".version 7.0\n.target sm_90", "needs PTX 7.8" },
    { T, CJ_ENOTSUP, 2, ".version 8.0\n.target sm_100", "needs PTX 8.6" },
    { T, CJ_EPTX, 3, ".version 8.0\n.target sm_90\n.address_size 16", "32 or 64" },
    { T, CJ_EPTX, 3, ".version 8.0\n.target sm_90\n.address_size", "a number" },
    { T, CJ_EPTX, 4, ".version 8.0\n.target sm_90\n.address_size 64\n.address_size 64", "allowed once" },
    { T, CJ_EPTX, 3, ".version 8.0\n.target sm_90\n.version 8.0", "allowed once" },
    { T, CJ_EPTX, 1, "\377\376.version 8.0", "0xff" },
    { T, CJ_EPTX, 1, "hello, world", ".version" },
    { T, CJ_EPTX, 1, "<html>", ".version" },
    { T, CJ_EPTX, 1, "\177ELF", "0x7f" },
    { M, CJ_EPTX, 1, "foo", "expected a directive" },
    { M, CJ_EPTX, 1, ".foo", "expected a directive" },
    { M, CJ_EPTX, 1, ";", "expected a directive" },
    { M, CJ_EPTX, 1, "}", "expected a directive" },
    { M, CJ_EPTX, 1, ".reg .b32 r;", "a .reg of the module" },
    { T, CJ_EUNKNOWN, 4, ".version 1.4\n.target sm_13\n.reg .u32 r;\n.func f { ret; }", "share registers" },
    { T, CJ_EUNKNOWN, 4, ".version 1.4\n.target sm_12\n.entry k { .reg .f64 d;\nmov.f64 d, 0d0000000000000000; exit; }",
      "doubles" },
    { M, CJ_EPTX, 1, ".param .b32 r;", ".entry, .func or a state space" },
    { M, CJ_EPTX, 1, ".visible", ".entry, .func or a state space" },
    { M, CJ_EPTX, 1, ".visible .extern .func f();", ".entry, .func or a state space" },
    { M, CJ_EPTX, 1, ".visible x", ".entry, .func or a state space" },
    { M, CJ_EPTX, 1, ".alias a, b;", "no function 'a'" },
    { M, CJ_EPTX, 1, ".tex .u32 t;", ".tex ended" },
    { M, CJ_EPTX, 1, ".file 1", "name in quotes" },
    { M, CJ_EPTX, 1, ".file \"a.c\"", "expected a number" },
    { M, CJ_EPTX, 1, ".file 1 \"a.c\n\"", "closing quote" },
    { M, CJ_EPTX, 2, "\n.pragma nounroll;", "text in quotes" },
    { M, CJ_EPTX, 1, ".pragma \"a\"", "';' behind" },
    { M, CJ_EPTX, 1, ".section .debug_str {\n.b8 1", "closing brace" },
    { M, CJ_EPTX, 1, ".section { }", "section's name" },
    { M, CJ_EPTX, 1, ".section .debug_str .b8", "'{'" },
    { M, CJ_EPTX, 1, ".global", "a type such as" },
    { M, CJ_EPTX, 1, ".global .b32", "a variable's name" },
    { M, CJ_EPTX, 1, ".global .b32 x", "';' behind the variable" },
    { M, CJ_EPTX, 1, ".global .b32 x,;", "a variable's name" },
    { M, CJ_EPTX, 1, ".global .b31 x;", "is not a type" },
    { M, CJ_EPTX, 1, ".global .b32 .f32 x;", "second type" },
    { M, CJ_EPTX, 1, ".global .v3 .b32 x;", "'.v3' is not a type" },
    { M, CJ_EPTX, 1, ".global x;", "a type such as" },
    { M, CJ_EPTX, 1, ".global .pred x;", "can only be a register" },
    { M, CJ_EPTX, 1, ".global .align 3 .b32 x;", "power of two" },
    { M, CJ_EPTX, 1, ".global .align 0 .b32 x;", "power of two" },
    { M, CJ_EPTX, 1, ".global .align -4 .b32 x;", "out of range" },
    { M, CJ_EPTX, 1, ".global .align x .b32 x;", "'x' is not a number" },
    { M, CJ_EPTX, 1, ".global .b32 x[0];", "size 0" },
    { M, CJ_EPTX, 1, ".global .b32 x[2][];", "only an array's first size" },
    { M, CJ_EPTX, 1, ".global .b32 x[];", "has no size" },
    { M, CJ_EPTX, 1, ".global .b32 x[-1];", "is a plain number" },
    { M, CJ_EPTX, 1, ".global .b32 x[2.5];", "is not an integer" },
    { M, CJ_EPTX, 1, ".global .b32 x[2;", "expected ']'" },
    { M, CJ_EPTX, 1, ".global .b32 x[99999999999999999999];", "64 bits" },
    { M, CJ_EPTX, 1, ".global .b32 x[9999999999999999999];", "'x' has a size that is negative or above" },
    { M, CJ_EPTX, 1, ".global .b32 x[65536][65536][65536][65536];", "'x' has a size that is negative or above" },
    { M, CJ_EUNKNOWN, 1, ".global .b32 x[1][1][1][1][1][1][1][1][1][1][1][1][1][1][1][1][1];", "dimensions" },
    { M, CJ_EPTX, 2, ".global .b32 x;\n.global .b32 x;", "line 4" },
    { M, CJ_EPTX, 1, ".global .b32 x, x;", "declared twice" },
    { M, CJ_EPTX, 1, ".global .b32 x = ;", "expected a number" },
    { M, CJ_EPTX, 1, ".global .b32 x = 1 2;", "expected ';'" },
    { M, CJ_EPTX, 1, ".global .b32 x = (1;", "expected ')'" },
    { M, CJ_EPTX, 1, ".global .b32 x = 1 +;", "expected a number" },
    { M, CJ_EPTX, 1, ".global .b32 x = 1/0;", "division by zero" },
    { M, CJ_EPTX, 1, ".global .b32 x = 1 % 0;", "division by zero" },
    { M, CJ_EPTX, 1, ".global .f32 x = 1.0/0.0;", "division by zero" },
    { M, CJ_EPTX, 1, ".global .b32 x = 1.0 % 2.0;", "integers only" },
    { M, CJ_EPTX, 1, ".global .f32 x = ~1.0;", "~ takes an integer" },
    { M, CJ_EPTX, 1, ".global .f32 x = -0f3f800000;", "takes no operator" },
    { M, CJ_EPTX, 1, ".global .f32 x = 0f3f800000 + 1.0;", "0f literal" },
    { M, CJ_EPTX, 1, ".global .b32 x = (.s32)1;", ".s64 or .u64" },
    { M, CJ_EPTX, 1, ".global .b32 x = (.s64)1.5;", "only an integer" },
    { M, CJ_EPTX, 1, ".global .b32 x = 1 ? 2;", "expected ':'" },
    { M, CJ_EPTX, 1, ".global .b32 x = {1};", "more braces" },
    { M, CJ_EPTX, 1, ".global .b32 x[2] = 1;", "stand in braces" },
    { M, CJ_EPTX, 1, ".global .b32 x[2] = {1,2,3};", "more initial values" },
    { M, CJ_EPTX, 1, ".global .b32 x[2][2] = {1,2,3,4};", "one pair for each dimension" },
    { M, CJ_EPTX, 1, ".global .b32 x[2][2] = {{1,2,3}};", "more initial values" },
    { M, CJ_EPTX, 1, ".global .b32 x[2][2] = {{1,2},{3,4},{5}};", "more initial values" },
    { M, CJ_EPTX, 1, ".global .b32 x[2] = {{1},{2}};", "more braces" },
    { M, CJ_EPTX, 1, ".global .b32 x[2] = {1,2;", "or '}'" },
    { M, CJ_EPTX, 1, ".global .b32 x[2] = {1,", "text ends" },
    { M, CJ_EPTX, 1, ".global .b32 x[] = {};", "without initial values" },
    { M, CJ_EPTX, 1, ".global .b8 x[2] = \"abc\";", "a string as initial value" },
    { M, CJ_EPTX, 1, ".global .f32 x = 1;", "write 1.0" },
    { M, CJ_EPTX, 1, ".global .u32 x = 1.5;", "floating-point number" },
    { M, CJ_EPTX, 1, ".global .b8 x = 1.5;", "floating-point number" },
    { M, CJ_EPTX, 1, ".global .f16 x = 1.0;", "write its bits" },
    { M, CJ_EPTX, 1, ".global .u64 x = y;", "'y' is declared above" },
    { M, CJ_EPTX, 1, ".global .u64 x = generic(y);", "'y' is declared above" },
    { M, CJ_EPTX, 1, ".global .u64 x = generic(5);", "name of a variable" },
    { M, CJ_EPTX, 2, ".global .b32 y;\n.global .u64 x = generic(y;", "expected ')'" },
    { M, CJ_EPTX, 2, ".global .b32 y;\n.global .u8 x = y;", "an address as initial value" },
    { M, CJ_EPTX, 2, ".global .b32 y;\n.global .u8 x = 0xf0(y);", "a mask of an address" },
    { M, CJ_EPTX, 2, ".global .b32 y;\n.global .u64 x = y + 1.5;", "is not an integer" },
    { M, CJ_EPTX, 1, ".shared .b32 x = 1;", "only .global and .const" },
    { M, CJ_EPTX, 1, ".extern .global .b32 x = 1;", "where it is defined" },
    { M, CJ_EPTX, 1, ".global .samplerref s;", "texmode_independent" },
    { M, CJ_EUNKNOWN, 1, ".global .b8 x[99999999999] = {1};", "few initial values" },
    { M, CJ_EUNKNOWN, 1, ".global .b8 x[9][99999999] = {{1},{1}};", "few initial values" },
    { M, CJ_EPTX, 1, ".common .const .b32 x;", ".common" },
    { M, CJ_EPTX, 1, ".const .attribute(.managed) .b32 x;", ".managed" },
    { M, CJ_EUNKNOWN, 1, ".global .attribute(.unified(1,2)) .b32 x;", "unified" },
    { M, CJ_EPTX, 1, ".global .attribute(.x) .b32 x;", ".managed" },
    { M, CJ_EPTX, 1, ".global .b32 x<3", "'>' behind" },
    { M, CJ_EPTX, 1, ".global .b32 x<y>;", "how many" },
    { M, CJ_EUNKNOWN, 1, ".global .b32 x<9999>;", "more than" },
    { M, CJ_EPTX, 1, ".global .b32 5;", "a variable's name" },
    { M, CJ_EPTX, 1, ".global .b32 _;", "is not a name" },
    { M, CJ_EUNKNOWN, 1, ".global .b32 %r1;", "registers" },
    { M, CJ_EPTX, 1, ".entry", "a function's name" },
    { M, CJ_EPTX, 1, ".entry ( ) { }", "a function's name" },
    { M, CJ_EPTX, 1, ".entry 5 { }", "a function's name" },
    { M, CJ_EPTX, 1, ".entry k", "or '{'" },
    { M, CJ_EPTX, 1, ".entry k(", "where .param" },
    { M, CJ_EPTX, 1, ".entry k(.param)", "a type such as" },
    { M, CJ_EPTX, 1, ".entry k(.param .b32)", "a parameter's name" },
    { M, CJ_EPTX, 1, ".entry k(.param .b32 a", "')' behind" },
    { M, CJ_EPTX, 1, ".entry k(.param .b32 a,) { ret; }", "expected .param" },
    { M, CJ_EPTX, 1, ".entry k(.reg .b32 a) { ret; }", "expected .param" },
    { M, CJ_EPTX, 1, ".entry k(.b32 a) { ret; }", "expected .param" },
    { M, CJ_EPTX, 1, ".entry k(.param .b32 a, .param .b32 a) { ret; }", "declared twice" },
    { M, CJ_EPTX, 2, ".entry k(.param .b32 a,\n.param .pred b) { ret; }", ".pred parameter" },
    { M, CJ_EPTX, 1, ".entry k(.param .b32 a[]) { ret; }", "without a size" },
    { M, CJ_EPTX, 1, ".extern .func k(.param .b32 _);", "without a name" },
    { M, CJ_EPTX, 1, ".entry k(.param .b32 .ptr .foo a) { ret; }", "is not a type" },
    { M, CJ_EPTX, 1, ".entry k(.param .ptr .b32 a) { ret; }", ".ptr is allowed behind" },
    { M, CJ_EPTX, 1, ".func f(.param .u64 .ptr .global a) { ret; }", ".ptr is allowed behind" },
    { M, CJ_EPTX, 1, ".entry k() ret;", "or '{'" },
    { M, CJ_EPTX, 1, ".entry k() {", "the text ends inside" },
    { M, CJ_EPTX, 2, ".entry k()\n{ ret;", "the text ends inside" },
    { M, CJ_EPTX, 1, ".entry k() {\n{ ret; }", "the text ends inside" },
    { M, CJ_EPTX, 1, ".entry k() { ret; } }", "expected a directive" },
    { M, CJ_EPTX, 2, ".entry k() { ret; }\n.entry k() { ret; }", "defined twice" },
    { M, CJ_EPTX, 2, ".entry k() { ret; }\n.global .b32 k;", "line 4" },
    { M, CJ_EPTX, 2, ".global .b32 k;\n.entry k() { ret; }", "is a variable" },
    { M, CJ_EPTX, 2, ".func k();\n.entry k() { ret; }", "as .func" },
    { M, CJ_EPTX, 2, ".func f();\n.func f(.param .b32 a) { ret; }", "0 results and 0 parameters" },
    { M, CJ_EPTX, 2, ".func f(.param .b32 a);\n.func f(.param .b64 a) { ret; }", "differs" },
    { M, CJ_EPTX, 2, ".func f(.param .b32 a);\n.func f(.reg .b32 a) { ret; }", "differs" },
    { M, CJ_EPTX, 1, ".extern .func f() { ret; }", ".extern and has a body" },
    { M, CJ_EPTX, 1, ".common .func f() { ret; }", ".common" },
    { M, CJ_EUNKNOWN, 1, ".func .attribute(.unified(1,2)) f() { ret; }", ".attribute" },
    { M, CJ_EPTX, 1, ".func f(.param .b32 _) { ret; }", "without a name" },
    { M, CJ_EPTX, 1, ".func .x f() { ret; }", "a function's name" },
    { M, CJ_EPTX, 1, ".func (.reg .b32 r f() { ret; }", "expected ')'" },
    { M, CJ_EPTX, 1, ".func (.reg .b32 r) f() .noreturn { ret; }", ".noreturn" },
    { M, CJ_EPTX, 1, ".entry k() .maxntid { ret; }", "expected a number" },
    { M, CJ_EPTX, 1, ".entry k() .maxntid 0 { ret; }", "with 0" },
    { M, CJ_EPTX, 1, ".entry k() .maxntid 1,2,3,4 { ret; }", "'{' behind" },
    { M, CJ_EPTX, 1, ".entry k() .maxntid x { ret; }", "'x' is not a number" },
    { M, CJ_EPTX, 1, ".entry k() .maxnreg 1.5 { ret; }", "is not an integer" },
    { M, CJ_EPTX, 1, ".entry k() .foo { ret; }", "or '{'" },
    { M, CJ_EPTX, 1, ".entry k() .pragma { ret; }", "text in quotes" },
    { M, CJ_ENOTSUP, 1, ".func f() .abi_preserve 4 { ret; }", ".abi_preserve needs PTX 9.0" },
    { K, CJ_EUNKNOWN, 1, "foo.bar r1;", "no instruction \"foo" },
    { K, CJ_EPTX, 1, ".foo", "not allowed inside a function" },
    { K, CJ_EPTX, 1, ".entry x() { ret; }", "not allowed inside a function" },
    { K, CJ_EPTX, 1, ".visible .shared .b32 x;", "not allowed inside a function" },
    { K, CJ_EPTX, 1, ";", "expected a statement" },
    { K, CJ_EPTX, 1, "5;", "expected a statement" },
    { K, CJ_EPTX, 1, "[d1];", "expected a statement" },
    { K, CJ_EPTX, 1, "@;", "a predicate behind '@'" },
    { K, CJ_EPTX, 1, "@p9 bra L;", "no predicate 'p9'" },
    { K, CJ_EPTX, 1, "@r1 bra L;", "is not a predicate" },
    { K, CJ_EPTX, 1, "@p1;", "an instruction behind" },
    { K, CJ_EUNKNOWN, 1, "@p1 L: ret;", "no instruction \"L\"" },
    { K, CJ_EPTX, 1, "@p1 .reg .b32 x;", "an instruction behind" },
    { K, CJ_EPTX, 1, "@!!p1 ret;", "a predicate behind" },
    { K, CJ_EPTX, 1, "@p1 @p2 ret;", "an instruction behind" },
    { K, CJ_EPTX, 2, "bra L;\nbra M;\nL:", "no label 'M'" },
    { K, CJ_EPTX, 1, "bra IN;\n{ IN: }", "no label 'IN'" },
    { K, CJ_EPTX, 1, "bra 5;", "bra" },
    { K, CJ_EPTX, 2, "L:\nL:", "declared twice" },
    { K, CJ_EPTX, 2, "L: bra L;\n.reg .b32 L;", "declared twice" },
    { K, CJ_EPTX, 2, ".reg .b32 L;\nL:", "declared twice" },
    { K, CJ_EPTX, 2, "bra X;\n.reg .b32 X;", "declared twice" },
    { K, CJ_EPTX, 1, ".branchtargets A, B;", "needs a label in front of it" },
    { K, CJ_EPTX, 1, "T: .branchtargets A, 5;", "expected a label" },
    { K, CJ_EPTX, 1, "T: .branchtargets A B;", "expected ';'" },
    { K, CJ_EPTX, 1, "T: .branchtargets NOWHERE;", "no label 'NOWHERE'" },
    { K, CJ_EPTX, 1, "T: .calltargets k2;", "no function 'k2'" },
    { K, CJ_EPTX, 1, "T: .callprototype (.param .b32 _) f (.param .b32 _);", "expected _" },
    { K, CJ_EPTX, 2, "T: .callprototype _ (.param .b32 _)", "expected ';'" },
    { K, CJ_EPTX, 2, ".reg", "a type such as" },
    { K, CJ_EPTX, 1, ".reg .b32;", "a register's name" },
    { K, CJ_EPTX, 2, ".reg .b32 x", "expected ';'" },
    { K, CJ_EPTX, 2, ".reg .b32 x<", "how many registers" },
    { K, CJ_EPTX, 1, ".reg .b32 x<-1>;", "how many registers" },
    { K, CJ_EPTX, 1, ".reg .b32 x<4;", "expected '>'" },
    { K, CJ_EPTX, 1, ".reg .b32 x<4294967296>;", "at most" },
    { K, CJ_EUNKNOWN, 1, ".reg .b32 x<100000000>;", "more registers" },
    { K, CJ_EPTX, 1, ".reg .b32 x[4];", "cannot be in registers" },
    { K, CJ_EPTX, 1, ".reg .attribute(.managed) .b32 x;", "only a type" },
    { K, CJ_EPTX, 1, ".reg .b33 x;", "is not a type" },
    { K, CJ_EPTX, 1, ".reg .b32 x, x;", "declared twice" },
    { K, CJ_EPTX, 1, ".reg .b32 r<9>;", "declared twice" },
    { K, CJ_EPTX, 1, ".reg .b32 r3;", "declared twice" },
    { K, CJ_EPTX, 1, ".reg .b32 n;", "declared twice" },
    { K, CJ_EPTX, 1, ".reg .b32 WARP_SZ;", "a register's name" },
    { K, CJ_EPTX, 1, ".reg .v2 .b32 v; mov.b32 v.z, 1;", "has no .z" },
    { K, CJ_EPTX, 1, ".reg .v2 .b32 v; mov.b32 v.xy, 1;", "has no .xy" },
    { K, CJ_EPTX, 1, ".shared .b32 s = 5;", "only .global and .const" },
    { K, CJ_EPTX, 1, ".local .b32 s[];", "has no size" },
    { K, CJ_EPTX, 1, ".loc 1 ret;", "'ret' is not a number" },
    { K, CJ_EPTX, 1, ".loc 1 2;", "expected a number" },
    { K, CJ_EPTX, 1, ".loc 1 2 3, inlined_at 1;", "expected a number" },
    { K, CJ_EPTX, 1, ".loc 1 2 3, 5", "function_name or inlined_at" },
    { K, CJ_EPTX, 2, "add.s32 r1, r2, r3", "',' or ';'" },
    { K, CJ_EPTX, 1, "add.s32 r1 r2, r3;", "',' or ';'" },
    { K, CJ_EPTX, 1, "add.s32 r1, , r3;", "expected a number" },
    { K, CJ_EPTX, 1, "add.s32 r1, r2,;", "expected a number" },
    { K, CJ_EPTX, 1, "add.s32 r1, r2;", "add.s32" },
    { K, CJ_EPTX, 1, "add.s32 r1, r2, r3, r4;", "add.s32" },
    { K, CJ_EPTX, 1, "add.s32;", "add.s32" },
    { K, CJ_EPTX, 1, "add.s32 r1, r2, d1;", "add.s32" },
    { K, CJ_EPTX, 1, "add.s32 r1, r2, f1;", "add.s32" },
    { K, CJ_EPTX, 1, "add.s32 r1, r2, p1;", "add.s32" },
    { K, CJ_EPTX, 1, "add.s32 5, r2, r3;", "add.s32" },
    { K, CJ_EPTX, 1, "add.s32 [d1], r2, r3;", "add.s32" },
    { K, CJ_EPTX, 1, "add.s32 r1, r2, [d1];", "add.s32" },
    { K, CJ_EPTX, 1, "add.s32 r1, r2, {r3};", "add.s32" },
    { K, CJ_EPTX, 1, "add.s32 r1, r2, n;", "add.s32" },
    { K, CJ_EPTX, 1, "add.s32 r1, r2, nowhere;", "'nowhere' is declared" },
    { K, CJ_EPTX, 1, "add.s32 r1, r2, r99;", "'r99' is declared" },
    { K, CJ_EUNKNOWN, 1, "add.s32 r1, r2, %r3;", "no register '%r3'" },
    { K, CJ_EUNKNOWN, 1, "mov.u32 r1, %tid.q;", "'%tid.q'" },
    { K, CJ_EUNKNOWN, 1, "mov.u32 r1, %foo;", "'%foo'" },
    { K, CJ_EUNKNOWN, 1, "add.s32 r1, r2, r3.b0;", "selector" },
    { K, CJ_EPTX, 1, "add.s32 r1, r2, _;", "add.s32" },
    { K, CJ_EPTX, 1, "add.f32 f1, f2, 5;", "add.f32" },
    { K, CJ_EPTX, 1, "add.f32 f1, f2, h1;", "add.f32" },
    { K, CJ_EPTX, 1, ".reg .u32 u; add.f32 f1, f2, u;", "add.f32" },
    { K, CJ_EPTX, 1, "add.f64 e1, e0, f1;", "add.f64" },
    { K, CJ_EPTX, 1, "mov.b32 r1, 1.5;", "mov.b32" },
    { K, CJ_EPTX, 1, "mov.b32 r1, 08;", "octal" },
    { K, CJ_EPTX, 1, "mov.b32 r1, 0x;", "without digits" },
    { K, CJ_EPTX, 1, "mov.b32 r1, 12ab;", "letter inside" },
    { K, CJ_EPTX, 1, "mov.b32 r1, 99999999999999999999;", "64 bits" },
    { K, CJ_EPTX, 1, "mov.f32 f1, 0f3f80;", "8 hexadecimal" },
    { K, CJ_EPTX, 1, "mov.f32 f1, 1e;", "without digits" },
    { K, CJ_EPTX, 1, "mov.b32 r1, \"abc\";", "expected a number" },
    { K, CJ_EPTX, 1, "mov.b32 r1, (2;", "expected ')'" },
    { K, CJ_EUNKNOWN, 1,
      "mov.b32 r1, ((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((1"
      "))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))));",
      "nested" },
    { K, CJ_EUNKNOWN, 1,
      "mov.b32 r1, - - - - - - - - - - - - - - - - - - - - - - - - - - - - - - - - - - - - - - - - - - - - - - - - - - "
      "- - - - - - - - - - - - - - - - - - - - 1;",
      "nested" },
    { K, CJ_EPTX, 1, "mov.b32 r1, $;", "only '$'" },
    { K, CJ_EPTX, 1, "mov.b32 r1, \\;", "is not allowed in PTX" },
    { K, CJ_EPTX, 1, "mov.b32 r1, 'a';", "is not allowed in PTX" },
    { K, CJ_EPTX, 1, "mov.b32 r1, \001;", "0x01" },
    { K, CJ_EPTX, 1, "mov.b32 r1, /* 5;", "does not end" },
    { K, CJ_EPTX, 1, "#define x 5", "preprocessor" },
    { K, CJ_EPTX, 2, "ld.global.b32 r1, [d1", "expected ']'" },
    { K, CJ_EPTX, 1, "ld.global.b32 r1, d1];", "',' or ';'" },
    { K, CJ_EPTX, 1, "ld.global.b32 r1, d1;", "ld.global.b32" },
    { K, CJ_EPTX, 1, "ld.global.b32 r1, [];", "expected a number" },
    { K, CJ_EPTX, 1, "ld.global.b32 r1, [d1+];", "expected a number" },
    { K, CJ_EPTX, 1, "ld.global.b32 r1, [d1+r2];", "'r2' is not a constant" },
    { K, CJ_EPTX, 1, "ld.global.b32 r1, [d1+1.5];", "is not an integer" },
    { K, CJ_EPTX, 1, "ld.global.b32 r1, [[d1]];", "expected a number" },
    { K, CJ_EPTX, 1, "ld.global.b32 r1, [nowhere];", "'nowhere' is declared" },
    { K, CJ_EPTX, 1, "ld.global.b32 r1, [f1];", "ld.global.b32" },
    { K, CJ_EPTX, 1, "ld.global.b32 r1, [p1];", "ld.global.b32" },
    { K, CJ_EPTX, 1, "ld.global.b32 r1, [k];", "not a register, a variable or a number" },
    { K, CJ_EPTX, 1, "ld.global.b32 f9, [d1];", "'f9' is declared" },
    { K, CJ_EPTX, 1, "ld.global.v4.f32 {f0, f1, f2}, [d1];", "ld.global.v4.f32" },
    { K, CJ_EPTX, 1, "ld.global.v2.f32 {f0, {f1}}, [d1];", "braces inside braces" },
    { K, CJ_EPTX, 1, "ld.global.v2.f32 {f0, [d1]}, [d1];", "inside another operand" },
    { K, CJ_EPTX, 1, "ld.global.v2.f32 {f0, f1, [d1];", "inside another operand" },
    { K, CJ_EPTX, 1, "ld.global.v2.f32 {f0, f1; [d1];", "expected '}'" },
    { K, CJ_EPTX, 1, "ld.global.v2.f32 {}, [d1];", "expected a number" },
    { K, CJ_EPTX, 1, "ld.global.v2.f32 {f0, h1}, [d1];", "ld.global.v2.f32" },
    { K, CJ_EPTX, 1, "ld.shared.b32 r1, n[2];", "is not an array" },
    { K, CJ_EPTX, 1, ".shared .b32 s[4]; ld.shared.b32 r1, s[2;", "expected ']'" },
    { K, CJ_EUNKNOWN, 1, "add.u32 r1, r2+4, 1;", "a register or function and an offset" },
    { K, CJ_EPTX, 1, ".shared .b32 s[4]; mov.b32 r1, s-4;", "expected ',' or ';'" },
    { K, CJ_EPTX, 1, ".shared .b32 s[4]; mov.b32 r1, s+r2;", "'r2' is not a constant" },
    { K, CJ_EPTX, 1, ".shared .b32 s[4]; mov.b32 r1, s[f1];", "'f1' is neither" },
    { K, CJ_EPTX, 1, ".shared .b32 s[4]; mov.b32 r1, s[nowhere];", "'nowhere' is neither" },
    { K, CJ_EPTX, 1, ".shared .b32 s[4]; mov.b32 r1, s[1.5];", "is not an integer" },
    { K, CJ_EPTX, 1, ".shared .b32 s[4]; mov.b32 r1, s[r1;", "expected ']'" },
    { K, CJ_EPTX, 1, ".shared .b32 s[4]; mov.b32 r1, s[1][2];", "expected ',' or ';'" },
    { K, CJ_EPTX, 1, ".shared .b32 s[4]; atom.shared.add.u32 r1, s[1], 1;", "of ld, ldu and st only" },
    { K, CJ_EPTX, 1, ".shared .b32 s[4]; ld.shared.b32 r1, s+4;", "wants an address" },
    { K, CJ_EPTX, 1, ".shared .b32 s[4]; add.u32 r1, s, 1;", "is a symbol" },
    { K, CJ_EUNKNOWN, 1, ".param .b32 s[4]; st.param.b32 s[r1], r2;", "with a register as index" },
    { K, CJ_EPTX, 1, "st.global.v2.b32 [d1], {f1, 1};", "elements of one vector" },
    { K, CJ_EPTX, 1, "setp.eq.s32 p1|5, r1, r2;", "a predicate behind '|'" },
    { K, CJ_EPTX, 1, "setp.eq.s32 p1|r1, r1, r2;", "setp.eq.s32" },
    { K, CJ_EPTX, 1, "setp.eq.s32 r1, r1, r2;", "setp.eq.s32" },
    { K, CJ_EPTX, 1, "setp.eq.and.s32 p1, r1, r2, !r1;", "only a predicate" },
    { K, CJ_EPTX, 1, "selp.b32 r1, r2, r3, r4;", "selp.b32" },
    { K, CJ_EPTX, 1, "mov.b32 r1, !p1;", "mov.b32" },
    { K, CJ_EPTX, 1, "call nowhere;", "'nowhere' is declared" },
    { K, CJ_EPTX, 2, "call k, (r1", "expected ')'" },
    { K, CJ_EPTX, 1, "call k, (r1, (r2));", "'r2' is not a number" },
    { K, CJ_EPTX, 1, "call (r1), k, (;", "expected" },
    { K, CJ_EPTX, 1, "bra L, M; L: M:", "bra" },
    { K, CJ_EUNKNOWN, 1, "frobnicate r1, r2;", "frobnicate" },
    { K, CJ_EUNKNOWN, 1, "add.s33 r1, r2, r3;", "add.s33" },
    { K, CJ_EUNKNOWN, 1, "add.sat r1, r2, r3;", "add.sat" },
    { K, CJ_EUNKNOWN, 1, "fma.f32 f1, f2, f3, f0;", "fma" },
    { K, CJ_EPTX, 1, "add..s32 r1, r2, r3;", "a dot without a word" },
    { K, CJ_EPTX, 1, "add. s32 r1, r2, r3;", "dot" },
    { K, CJ_EPTX, 1, "add.s32: r1, r2, r3;", "expected" },
    { K, CJ_EUNKNOWN, 1, "ADD.s32 r1, r2, r3;", "ADD" },
    { K, CJ_ENOTSUP, 1, ".reg .b16 b; fma.rn.oob.bf16 b, b, b, b;", "needs PTX 8.1" },
    { T, CJ_ENOTSUP, 4, ".version 8.0\n.target sm_80\n.entry k() { .reg .b16 b;\nadd.bf16 b, b, b; ret; }",
      "needs target sm_90" },
    { K, CJ_EPTX, 3, "add.s32 r1,\nr2,\n, r3;", "expected a number" },
    { K, CJ_EPTX, 1, "add.s32 r1,\nr2,\nf1;", "add.s32" },
    { K, CJ_EPTX, 3, "/* a\nb */\nadd.s32 r1, r2, f1;", "add.s32" },
    { K, CJ_EPTX, 2, "// ret }\nadd.s32 r1, r2, f1;", "add.s32" },
    { K, CJ_EPTX, 2, "}", "expected a directive" },
    { K, CJ_EPTX, -1, "{", "the text ends inside" },
};

static size_t put_together(size_t i, char *room, size_t size, int *before)
{
    int in = wrong_rows[i].in;
    *before = in == T ? 0 : in == M ? 3 : 6;
    return (size_t)snprintf(room, size, "%s%s%s%s", in == T ? "" : module_head, in == K ? kernel_head : "",
                            wrong_rows[i].text, in == K ? kernel_tail : "");
}

/* The column of what a message is about, where the reader knows it. */
static const struct { const char *line, *place; } column_rows[] = {
    { "add.u32 r1, r2, f1;", "k.ptx:1:1: add.u32: operand b is .f32" },
    { "\tadd.u32 r1, r2, f1;", "k.ptx:1:2: add.u32: operand b is .f32" },
    { "@p1 frobnicate r1;", "k.ptx:1:5: no instruction \"frobnicate\"" },
    { "add.u32 r1, nowhere, 1;", "k.ptx:1:13: no register, variable or function 'nowhere'" },
    { "mov.b32 r1, $;", "k.ptx:1:13: a name that is only '$'" },
    { "add.u32 r1, r2 r3;", "k.ptx:1:16: expected ',' or ';'" },
    { "add.u32 r1, r2, 1", "k.ptx:2:1: expected ',' or ';'" },
    { "mov.b32 r1, r2; .bogus x;", "k.ptx:1:17: " },
};

static void columns(void)
{
    char text[2048];
    for (size_t i = 0; i < sizeof column_rows / sizeof *column_rows; i++) {
        int n = snprintf(text, sizeof text,
                         ".version 8.0 .target sm_90 .address_size 64 .entry k() { .reg .b32 r<4>; .reg .f32 f<4>; "
                         ".reg .pred p<4>;\n%s\nret; }\n",
                         column_rows[i].line);
        cj_ptx *m = cj_parse(text, (size_t)n, "k.ptx");
        char want[120];
        unsigned line = 0;
        int end = 0;
        sscanf(column_rows[i].place, "k.ptx:%u%n", &line, &end);
        snprintf(want, sizeof want, "k.ptx:%u%s", line + 1, column_rows[i].place + end);
        tap_ok(!strncmp(cj_error_of(m)->message, want, strlen(want)), "%s", want);
        tap_diag("%s", cj_error_of(m)->message);
        cj_ptx_free(m);
    }
}

int main(void)
{
    char text[4096], place[40];
    int before;
    tap_plan(0);
    columns();
    for (size_t i = 0; i < sizeof wrong_rows / sizeof *wrong_rows; i++) {
        size_t n = put_together(i, text, sizeof text, &before);
        cj_ptx *m = cj_parse(text, n, "k.ptx");
        const cj_error *e = cj_error_of(m);
        snprintf(place, sizeof place, "k.ptx:%d:", before + wrong_rows[i].line);
        bool status = e->status == wrong_rows[i].status && cj_ptx_status(m) == wrong_rows[i].status;
        bool where = !strncmp(e->message, place, strlen(place)) && e->line == before + wrong_rows[i].line &&
                     !strcmp(e->file, "k.ptx");
        if (!tap_ok(status && where && strstr(e->message, wrong_rows[i].names), "row %zu: %s", i, wrong_rows[i].names))
            tap_diag("%s: %s; wants %s at %s", cj_status_name(e->status), e->message,
                     cj_status_name(wrong_rows[i].status), place);
        cj_ptx_free(m);
    }

    size_t n = (size_t)snprintf(text, sizeof text,
                                "%s%s@p1 bra L;\nL: {.reg .b32 x; }\nld.global.v2.f32 {f0, f1}, [d1+4];%s", module_head,
                                kernel_head, kernel_tail),
           accepted = 0;
    for (size_t k = sizeof module_head; k <= n; k++) {
        cj_ptx *m = cj_parse(text, k, NULL);
        accepted += cj_ptx_status(m) == CJ_OK;
        cj_ptx_free(m);
    }
    tap_is_int((int64_t)accepted, 2, "a kernel that is cut off is an error, wherever it is cut");

    cj_ptx *m = cj_parse(NULL, 5, "k.ptx");
    tap_is_int(cj_ptx_status(m), CJ_EHANDLE, "NULL is no text");
    tap_has_str(cj_error_of(m)->message, "NULL", "and the message says so");
    cj_ptx_free(m);
    m = cj_parse("add", 3, NULL);
    tap_has_str(cj_error_of(m)->message, "ptx:1:1: ", "a text without a name is called ptx");
    tap_is_str(cj_error_of(m)->call, "cj_parse", "the call that failed");
    cj_ptx_free(m);
    return tap_done();
}
