/* Texts that are long in one way each: n functions, n variables, a chain of n calls, and so on.  For the test that
 * loading takes no longer than it must, and for bench/load. */
#ifndef CUJIT_TESTS_LONG_TEXTS_H
#define CUJIT_TESTS_LONG_TEXTS_H

#include "base/mem.h"

#define LONG_HEAD ".version 8.1\n.target sm_80\n.address_size 64\n"
#define LONG_KERNEL ".visible .entry k(.param .u64 out)\n{\n.reg .pred %p;\n.reg .b32 %r<9>;\n.reg .b64 %d<9>;\n" \
    "mov.u32 %r1, %tid.x;\nsetp.eq.u32 %p, %r1, 0;\n"

static void long_functions(cji_text *t, unsigned n)
{
    for (unsigned i = 0; i < n; i++) cji_text_printf(t, ".visible .func f%u() { ret; }\n", i);
}

static void long_kernels(cji_text *t, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        cji_text_printf(t, ".visible .entry k%u(.param .b32 p) { .reg .b32 r; ld.param.b32 r, [p]; ret; }\n", i);
}

static void long_variables(cji_text *t, unsigned n)
{
    for (unsigned i = 0; i < n; i++) cji_text_printf(t, ".visible .global .b32 v%u = %u;\n", i, i);
}

static void long_shared(cji_text *t, unsigned n)
{
    for (unsigned i = 0; i < n; i++) cji_text_printf(t, ".shared .b8 s%u;\n", i);
    for (unsigned i = 0; i < n; i++)
        cji_text_printf(t, ".visible .entry k%u() { .reg .b64 %%d; mov.u64 %%d, s%u; ret; }\n", i, i);
}

/* Each function calls the one before it; the first one names a shared variable, so that every function reaches it. */
static void long_chain(cji_text *t, unsigned n)
{
    cji_text_puts(t, ".shared .b8 s;\n.func f0() { .reg .b64 %d; mov.u64 %d, s; ret; }\n");
    for (unsigned i = 1; i < n; i++) cji_text_printf(t, ".func f%u() { call f%u; ret; }\n", i, i - 1);
    cji_text_printf(t, ".visible .entry k() { call f%u; ret; }\n", n - 1);
}

/* The same with the functions declared in front, and each kernel a caller of its own. */
static void long_callers(cji_text *t, unsigned n)
{
    cji_text_puts(t, ".shared .b8 s;\n.func f() { .reg .b64 %d; mov.u64 %d, s; ret; }\n");
    for (unsigned i = 0; i < n; i++) cji_text_printf(t, ".visible .entry k%u() { call f; ret; }\n", i);
}

static void long_parameters(cji_text *t, unsigned n)
{
    cji_text_puts(t, ".visible .func f(");
    for (unsigned i = 0; i < n; i++) cji_text_printf(t, "%s.param .b32 p%u", i ? ",\n" : "", i);
    cji_text_puts(t, ") { ret; }\n");
}

static void long_kernel_parameters(cji_text *t, unsigned n)
{
    enum { EACH = 8000 };
    for (unsigned i = 0; i < n; i++) {
        if (i % EACH == 0) cji_text_printf(t, "%s.visible .entry k%u(", i ? ") { ret; }\n" : "", i / EACH);
        cji_text_printf(t, "%s.param .b32 p%u", i % EACH ? ",\n" : "", i);
    }
    cji_text_puts(t, ") { ret; }\n");
}

static void long_registers(cji_text *t, unsigned n)
{
    cji_text_puts(t, LONG_KERNEL);
    for (unsigned i = 0; i < n; i++) cji_text_printf(t, ".reg .b32 r%u;\nmov.u32 r%u, %u;\n", i, i, i & 255);
    cji_text_puts(t, "ret;\n}\n");
}

static void long_literals(cji_text *t, unsigned n)
{
    cji_text_puts(t, LONG_KERNEL);
    for (unsigned i = 0; i < 4 * n; i++) cji_text_printf(t, "add.u32 %%r2, %%r1, %u;\n", i);
    cji_text_puts(t, "ret;\n}\n");
}

static void long_labels(cji_text *t, unsigned n)
{
    cji_text_puts(t, LONG_KERNEL);
    for (unsigned i = 0; i < n; i++) cji_text_printf(t, "@%%p bra L%u;\nadd.u32 %%r1, %%r1, 1;\nL%u:\n", i, i);
    cji_text_puts(t, "ret;\n}\n");
}

/* n branches to the first of n labels, whose blocks lie one behind the other, and one to the last. */
static void long_meetings(cji_text *t, unsigned n)
{
    cji_text_puts(t, LONG_KERNEL);
    for (unsigned i = 0; i < n; i++) cji_text_printf(t, "@%%p bra L0;\nadd.u32 %%r1, %%r1, 1;\n");
    cji_text_printf(t, "@%%p bra L%u;\n", n - 1);
    for (unsigned i = 0; i < n; i++) cji_text_printf(t, "L%u:\nadd.u32 %%r1, %%r1, 1;\n", i);
    cji_text_puts(t, "ret;\n}\n");
}

static void long_nests(cji_text *t, unsigned n)
{
    cji_text_puts(t, LONG_KERNEL);
    for (unsigned i = 0; i < n; i++) cji_text_printf(t, "@%%p bra L%u;\n", i);
    for (unsigned i = n; i-- > 0;) cji_text_printf(t, "add.u32 %%r1, %%r1, 1;\nL%u:\n", i);
    cji_text_puts(t, "ret;\n}\n");
}

static void long_loops(cji_text *t, unsigned n)
{
    cji_text_puts(t, LONG_KERNEL);
    for (unsigned i = 0; i < n; i++) cji_text_printf(t, "L%u:\nadd.u32 %%r1, %%r1, 1;\n", i);
    for (unsigned i = n; i-- > 0;) cji_text_printf(t, "@%%p bra L%u;\n", i);
    cji_text_puts(t, "ret;\n}\n");
}

static void long_tables(cji_text *t, unsigned n)
{
    enum { EACH = 200 };
    cji_text_puts(t, LONG_KERNEL);
    for (unsigned i = 0; i < n; i++) {
        if (i % EACH == 0) cji_text_printf(t, "T%u: .branchtargets ", i / EACH);
        cji_text_printf(t, "L%u%s", i, i % EACH == EACH - 1 || i + 1 == n ? ";\n" : ", ");
        if (i % EACH == EACH - 1 || i + 1 == n) cji_text_printf(t, "@%%p brx.idx %%r1, T%u;\n", i / EACH);
    }
    for (unsigned i = 0; i < n; i++) cji_text_printf(t, "L%u:\nadd.u32 %%r1, %%r1, 1;\n", i);
    cji_text_puts(t, "ret;\n}\n");
}

static void long_prototypes(cji_text *t, unsigned n)
{
    cji_text_puts(t, ".visible .func f() { ret; }\n" LONG_KERNEL "mov.u64 %d1, f;\n");
    for (unsigned i = 0; i < n; i++) cji_text_printf(t, "P%u: .callprototype _ ();\ncall %%d1, P%u;\n", i, i);
    cji_text_puts(t, "ret;\n}\n");
}

static void long_addresses(cji_text *t, unsigned n)
{
    cji_text_printf(t, ".visible .func f() { ret; }\n.visible .global .u64 table[%u] = {", 4 * n);
    for (unsigned i = 0; i < 4 * n; i++) cji_text_puts(t, i ? ", f" : "f");
    cji_text_puts(t, "};\n");
}

static void long_values(cji_text *t, unsigned n)
{
    cji_text_printf(t, ".visible .global .u32 table[%u] = {", n);
    for (unsigned i = 0; i < n; i++) cji_text_printf(t, "%s%u", i ? ", " : "", i);
    cji_text_puts(t, "};\n");
}

static void long_files(cji_text *t, unsigned n)
{
    for (unsigned i = 0; i < n; i++) cji_text_printf(t, ".file %u \"file%u.c\"\n", i + 1, i);
    cji_text_puts(t, LONG_KERNEL);
    for (unsigned i = 0; i < n; i++) cji_text_printf(t, ".loc %u %u 1\nadd.u32 %%r1, %%r1, 1;\n", i + 1, i + 1);
    cji_text_puts(t, "ret;\n}\n");
}

static void long_scopes(cji_text *t, unsigned n)
{
    cji_text_puts(t, LONG_KERNEL);
    for (unsigned i = 0; i < n; i++) cji_text_puts(t, "{\n.reg .b32 x;\n.local .b32 y;\nmov.u32 x, 1;\n}\n");
    cji_text_puts(t, "ret;\n}\n");
}

static const struct long_text { const char *name; void (*make)(cji_text *t, unsigned n); } long_texts[] = {
    { "functions", long_functions }, { "kernels", long_kernels }, { "variables", long_variables },
    { "shared_variables", long_shared }, { "call_depth", long_chain }, { "callers", long_callers },
    { "parameters", long_parameters }, { "kernel_parameters", long_kernel_parameters },
    { "registers", long_registers }, { "literals", long_literals }, { "labels", long_labels },
    { "meetings", long_meetings }, { "nested_branches", long_nests }, { "nested_loops", long_loops },
    { "branch_tables", long_tables }, { "prototypes", long_prototypes }, { "addresses", long_addresses },
    { "values", long_values }, { "files", long_files }, { "scopes", long_scopes },
};
enum { LONG_TEXTS = sizeof long_texts / sizeof *long_texts };

#endif
