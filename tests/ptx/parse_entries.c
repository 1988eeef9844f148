/* What a launch must know of a module's kernels: the same list from the text's heads as from the module that the whole
 * text gives, parameters with their places, and which dynamic shared variable is used, by the kernel itself or by what
 * it can call. */
#include "../tap.h"

#include <cujit/cujit.h>
#include <stdio.h>
#include <string.h>

#include "ptx/entries.h"

#define HEAD ".version 8.0\n.target sm_80\n.address_size 64\n"
#define DYN ".extern .shared .align 16 .b8 dyn[];\n"
#define TAKES ".func takes(.reg .u32 x) { .reg .u32 %r; ld.shared.u32 %r, [dyn+4]; ret; }\n"
#define BODY "{ .reg .u32 %r<4>; .reg .u64 %rd<4>; .reg .pred %p; "

/* `uses`: what is known of kernel k; "" nothing.  `unread`: the whole text is not read by cj_parse, only its heads. */
static const struct row { const char *name, *text, *uses; bool unread;
} rows[] = {
    { "no dynamic shared variable", ".entry k() " BODY "ret; }", "", false },
    { "declared and not used", DYN ".entry k() " BODY "mov.u32 %r0, 1; ret; }", "", false },
    { "used by a store", DYN ".entry k() " BODY "st.shared.u32 [dyn], %r0; ret; }", "dyn", false },
    { "used by its address", DYN ".entry k() " BODY "mov.u32 %r0, dyn; ret; }", "dyn", false },
    { "used by a guarded instruction", DYN ".entry k() " BODY "@!%p ld.shared.u32 %r0, [dyn+16]; ret; }", "dyn",
      false },
    { "used behind a label and a comment",
      DYN ".entry k() " BODY "/* ; } */ L: // }\n ld.shared.u32 %r0, [dyn]; ret; }", "dyn", false },
    { "used in nested braces", DYN ".entry k() " BODY "{ .reg .u32 %q; { ld.shared.u32 %q, [dyn]; } } ret; }", "dyn",
      false },
    { "used by a vector load", DYN ".entry k() " BODY "ld.shared.v2.u32 {%r0, %r1}, [dyn]; ret; }", "dyn", false },
    { "a static shared variable", ".shared .u32 own[4];\n.entry k() " BODY "ld.shared.u32 %r0, [own]; ret; }", "",
      false },
    { "the second of two", DYN ".extern .shared .f32 other[];\n.entry k() " BODY "mov.u32 %r0, other; ret; }", "other",
      false },
    { "used by another kernel", DYN ".entry a() " BODY "mov.u32 %r0, dyn; ret; }\n.entry k() " BODY "ret; }", "",
      false },
    { "hidden by a parameter", DYN ".entry k(.param .u32 dyn) " BODY "ld.param.u32 %r0, [dyn]; ret; }", "", false },
    { "a function that nobody calls", DYN TAKES ".entry k() " BODY "ret; }", "", false },
    { "a function that is called", DYN TAKES ".entry k() " BODY "call takes, (%r0); ret; }", "dyn", false },
    { "a function behind another",
      DYN TAKES ".func next() { .reg .u32 %r; mov.u32 %r, 1; call.uni takes, (%r); ret; }\n.entry k() " BODY
                "call next; ret; }",
      "dyn", false },
    { "functions that call each other",
      DYN
      ".func b(); .func a() { call b; ret; }\n"
      ".func b() { .reg .u32 %r; call a; mov.u32 %r, dyn; ret; }\n.entry k() " BODY
      "call a; ret; }",
      "dyn", false },
    { "functions that call each other and use nothing",
      DYN TAKES ".func b(); .func a() { call b; ret; }\n.func b() { call a; ret; }\n.entry k() " BODY "call a; ret; }",
      "", false },
    { "a call through a register, and an address in an instruction",
      DYN TAKES ".entry k() " BODY
                "mov.u64 %rd0, takes; P: .callprototype _ (.reg .u32 x); call %rd0, (%r0), P; ret; }",
      "dyn", false },
    { "a call through a register, and an address in a table",
      DYN TAKES ".global .u64 table[1] = { takes };\n.entry k() " BODY
                "ld.global.u64 %rd0, [table]; P: .callprototype _ (.reg .u32 x); call %rd0, (%r0), P; ret; }",
      "dyn", false },
    { "a call through a register, and no address",
      DYN TAKES ".entry k() " BODY "P: .callprototype _ (.reg .u32 x); call %rd0, (%r0), P; ret; }", "", false },
    { "a call through a register with a list of targets",
      DYN TAKES ".entry k() " BODY "P: .calltargets takes; call %rd0, (%r0), P; ret; }", "dyn", false },
    { "an address and no call through a register",
      DYN TAKES ".global .u64 table[1] = { takes };\n.entry k() " BODY "ret; }", "", false },
    { "an instruction that is not in the table", DYN ".entry k() " BODY "new.instruction.u32 %r0, [dyn]; ret; }", "dyn",
      true },
    { "a name that a body declares again", DYN ".entry k() " BODY "{ .reg .u32 dyn; mov.u32 dyn, 1; } ret; }", "",
      false },
    { "a text that ends too early", DYN ".entry k() " BODY "mov.u32 %r0, dyn; ret; }\n.entry l() {", "", true },
    { "a module directive that is not kept", DYN ".entry k() " BODY "mov.u32 %r0, dyn; ret; }\n.alias x, y;\n", "",
      true },
    { "initial values in a body",
      DYN ".entry k() " BODY ".global .b8 v[4] = {1, 2}; .global .u32 w[2][2] = {{1, 2}, {3}}; "
           "mov.u32 %r0, dyn; ret; }",
      "dyn", false },
    { "initial values in a function above",
      DYN ".func f() { .global .b8 v[4] = {1, 2}; ret; }\n.entry k() " BODY "mov.u32 %r0, dyn; ret; }", "dyn", false },
    { "an old version", ".version 2.0\n.target sm_20\n.entry k() " BODY "ret; }", "",
      false },
    { ".loc lines in the body",
      ".file 1 \"x.c\"\n" DYN ".entry k() " BODY ".loc 1 7 3\n mov.u32 %r0, dyn;\n .loc 1 8 1\n ret; }", "dyn", false },
};

static const char *uses(const cji_entries *e)
{
    const cji_entry *k = cji_entries_find(e, "k");
    return !k ? "(no kernel)" : k->dynamic_shared ? k->dynamic_shared : "";
}

static void check_uses(const struct row *r)
{
    char text[1200];
    bool own = !strncmp(r->text, ".version", 8);
    snprintf(text, sizeof text, "%s%s", own ? "" : HEAD, r->text);
    cji_entries *heads = cji_entries_read(text, strlen(text));
    bool hides = strstr(r->name, "declares again") != NULL;
    tap_is_str(uses(heads), r->uses, "%s: by the heads", r->name);
    tap_is_int(heads->whole, !hides && strncmp(r->name, "a text", 6) && strncmp(r->name, "a module", 8),
               "%s: the text is known to its end", r->name);
    cj_ptx *m = cj_parse(text, strlen(text), "test");
    if (tap_is_int(cj_ptx_status(m) != CJ_OK, r->unread, "%s: %s", r->name, cj_error_of(m)->message) && !r->unread) {
        cji_entries *whole = cji_entries_of(m);
        tap_is_str(uses(whole), r->uses, "%s: by the module", r->name);
        cji_entries_release(whole);
    }
    cj_ptx_free(m);
    cji_entries_release(heads);
}

static void check_params(void)
{
    static const char text[] = HEAD
        ".visible .entry k(.param .u8 a, .param .u64 .ptr .global .align 16 b, .param .align 8 .b8 c[24], "
        ".param .f16 d,\n"
        ".param .texref e, .param .b32 g[1], .param .b32 h[2]) { ret; }\n"
        ".entry l() { ret; } .entry later(.param .u32 x);\n";
    static const cji_entry_param want[] = { { "a", 0, 1, CJ_U8, 0 },   { "b", 8, 8, CJ_U64, 1 },
                                            { "c", 16, 24, CJ_B8, 0 }, { "d", 40, 2, CJ_F16, 0 },
                                            { "e", 48, 8, CJ_B64, 0 }, { "g", 56, 4, CJ_B32, 0 },
                                            { "h", 60, 8, CJ_B8, 0 } };
    cj_ptx *m = cj_parse(text, strlen(text), "test");
    if (!tap_is_int(cj_ptx_status(m), CJ_OK, "the text is read")) tap_bail("%s", cj_error_of(m)->message);
    cji_entries *e[2] = { cji_entries_read(text, strlen(text)), cji_entries_of(m) };
    cj_ptx_free(m);
    for (int i = 0; i < 2; i++) {
        char names[40];
        const cji_entry *k = cji_entries_find(e[i], "k");
        cji_entries_names(e[i], names, sizeof names);
        tap_is_str(names, "k, l", "the kernels that are defined");
        tap_is_int(k->nparam, sizeof want / sizeof *want, "%s: all parameters", i ? "module" : "heads");
        for (uint32_t p = 0; p < k->nparam; p++) {
            const cji_entry_param *h = &k->param[p], *w = &want[p];
            tap_ok(!strcmp(h->name, w->name) && h->offset == w->offset && h->bytes == w->bytes && h->type == w->type &&
                       h->pointer == w->pointer,
                   "%s: %u bytes at %u, type %u, pointer %u", h->name, h->bytes, h->offset, h->type, h->pointer);
        }
        cji_entries_names(e[i], names, 10);
        tap_is_str(names, "k, ...", "names are cut where they do not fit");
        tap_ok(!cji_entries_find(e[i], "later"), "a kernel that is only declared is none");
        cji_entries_release(e[i]);
    }
    tap_ok(!cji_entries_find(NULL, "k"), "nothing is known without a list");
}

static void check_threads(void)
{
    static const struct { const char *bound; uint32_t threads; } cases[] = {
        { "", 0 },
        { ".maxntid 96", 96 },
        { ".maxntid 32, 4", 128 },
        { ".reqntid 8, 4, 2", 64 },
        { ".maxnreg 32", 0 },
        { ".maxntid 256 .minnctapersm 2", 256 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[400];
        snprintf(text, sizeof text, HEAD ".visible .entry k() %s { ret; }\n", cases[i].bound);
        cj_ptx *m = cj_parse(text, strlen(text), "test");
        cji_entries *e[2] = { cji_entries_read(text, strlen(text)), cji_entries_of(m) };
        for (int k = 0; k < 2; k++) {
            tap_is_int(cji_entries_find(e[k], "k")->threads, cases[i].threads, "threads of a block: \"%s\", %s",
                       cases[i].bound, k ? "module" : "heads");
            cji_entries_release(e[k]);
        }
        cj_ptx_free(m);
    }
}

int main(void)
{
    tap_plan(0);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) check_uses(&rows[i]);
    check_params();
    check_threads();
    cj_op_find("none");
    cj_error before = *cj_error_last();
    cji_entries_release(cji_entries_read("nonsense", 8));
    tap_is_str(cj_error_last()->message, before.message, "a text that cannot be read leaves no failure behind");
    return tap_done();
}
