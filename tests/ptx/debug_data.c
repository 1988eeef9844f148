/* Debug data of a text: kept byte for byte and printed with .target's debug, until the module changes. */
#include <cujit/parse.h>

#include "../tap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char warning[256];

static void keep_warning(void *user, cj_log_level level, const char *line)
{
    (void)user;
    if (level == CJ_LOG_WARNING) strncpy(warning, line, sizeof warning - 1);
}

/* Each changes the module. */
typedef struct site { cj_ptx *m; cj_fn *f; } site;
static void new_kernel(site *s) { cj_ptx_kernel(s->m, "more"); }
static void new_variable(site *s) { cj_ptx_global(s->m, "more", CJ_U32, 1, NULL, 0); }
static void new_instruction(site *s) { cj_ins(s->f, "ret"); }
static void new_register(site *s) { cj_reg(s->f, CJ_U32); }
static void new_bound(site *s) { cj_fn_max_registers(s->f, 32); }
static void new_label(site *s) { cj_label(s->f); }
static const struct { const char *name; void (*change)(site *s); } changes[] = {
    { "cj_ptx_kernel", new_kernel }, { "cj_ptx_global", new_variable }, { "cj_ins", new_instruction },
    { "cj_reg", new_register }, { "cj_fn_max_registers", new_bound }, { "cj_label", new_label },
};

/* Each changes nothing of what the debug data says. */
static void print_it(site *s) { cj_ptx_print(s->m, CJ_PRINT_LINES, NULL, NULL); }
static void find_it(site *s) { cj_ptx_find(s->m, "nothing"); }
static void raise_it(site *s) { cj_ptx_set_version(s->m, "9.0"); }
static void place_it(site *s) { cj_line(s->f, "a.c", 4); }
static const struct { const char *name; void (*call)(site *s); } calls[] = {
    { "cj_ptx_print", print_it }, { "cj_ptx_find", find_it }, { "cj_ptx_set_version", raise_it },
    { "cj_line", place_it },
};

static cj_ptx *read_again(const char *text, size_t bytes, site *s)
{
    s->m = cj_parse(text, bytes, "debug.ptx");
    if (!tap_is_int(cj_ptx_status(s->m), CJ_OK, "it is read")) tap_diag("%s", cj_error_of(s->m)->message);
    s->f = cj_ptx_find(s->m, "k");
    return s->m;
}

static void prints_all(const char *text, size_t bytes)
{
    static const unsigned flags[] = { 0, CJ_PRINT_LINES };
    const char *first = NULL, *second = NULL;
    size_t n = 0;
    site s;
    for (size_t i = 0; i < 2; i++) {
        read_again(text, bytes, &s);
        tap_is_int(cj_ptx_print(s.m, flags[i], &first, &n), CJ_OK, "it is printed");
        tap_has_str(first, ".target sm_90, debug\n", "with debug");
        for (const char *at = strstr(text, ".section"); at; at = strstr(at + 1, ".section")) {
            size_t len = (size_t)(strstr(at, "\n\t}") + 3 - at);
            const char *there = memmem(first, n, at, len);
            tap_ok(there && there[len] == '\n', "with its section, byte for byte: %.24s", at);
        }
        tap_has_str(first, ".file\t1 \"a.cu\", 7, 70\n", "with its files");
        tap_has_str(first, "\t.loc 1 3 9, function_name $L__info+4, inlined_at 1 8 2\n", "with whole lines");
        tap_has_str(first, "\t.reg .b64\t%SP;\n", "registers have the names that the data has");
        tap_has_str(first, "[%SP+0]", "+0 stays: code for debuggers adds it");
        cj_ptx *clone = cj_ptx_clone(s.m), *again = cj_parse(first, n, "debug.ptx");
        cj_ptx_print(again, flags[i], &second, NULL);
        tap_is_str(second, first, "what is read again prints the same");
        cj_ptx_print(clone, flags[i], &second, NULL);
        tap_is_str(second, first, "so does a clone");
        tap_is_int(cj_ptx_has_debug(clone), 1, "which has debug data");
        cj_ptx_free(again);
        cj_ptx_free(clone);
        cj_ptx_free(s.m);
    }
}

#define NO_DATA ".section .debug_info {\n.b8 0\n}\n"

/* Registers of a text with debug data: the names that the text gives them, and what is printed of them. */
static const struct { const char *declared, *used, *printed, *line; } ranges[] = {
    { ".reg .b32 %r<3>;", "mov.b32 %r1, 7;", "\t.reg .b32\t%r<3>;\n", "\tmov.b32 %r1, 7;" },
    { ".reg .b32 %f<3>;", "mov.b32 %f2, 7;", "\t.reg .b32\t%f2;\n", "\tmov.b32 %f2, 7;" },
    { ".reg .b32 %r<3>; .reg .b32 %f<2>;", "mov.b32 %f1, %r2;", "\t.reg .b32\t%f1;\n", "\tmov.b32 %f1, %r2;" },
    { ".reg .f32 %f<2>; .reg .b32 %f<9>;", "mov.f32 %f1, 0f3F800000;", NULL, NULL },
    { ".reg .b32 %f<2>; { .reg .f32 %f<2>; mov.f32 %f1, 0f3F800000; }", "mov.b32 %f1, 7;",
      "\t.reg .f32\t%f_<2>;\n", "\tmov.f32 %f_1, 0f3F800000;" },
    { "{ .reg .f32 %f<2>; mov.f32 %f1, 0f3F800000; } .reg .b32 %f<2>;", "mov.b32 %f1, 7;",
      "\t.reg .b32\t%r<2>;\n", "\tmov.b32 %r1, 7;" },
    { ".reg .b32 %f<2>; { .reg .b32 %f<2>; mov.b32 %f1, 8; }", "mov.b32 %f1, 7;",
      "\t.reg .b32\t%r<2>;\n", "\tmov.b32 %r1, 8;" },
    { ".reg .b32 %r1; .reg .b32 %other<2>;", "mov.b32 %r1, %other1;",
      "\t.reg .b32\t%r1;\n", "\tmov.b32 %r1, %other1;" },
    { ".reg .b32 %r1; { .reg .b32 %r<4>; mov.b32 %r3, 8; }", "mov.b32 %r1, 7;",
      "\t.reg .b32\t%r3;\n", "\tmov.b32 %r3, 8;" },
    { ".reg .f32 %f_1; .reg .b32 %f<2>;", "mov.b32 %f1, 7;", "\t.reg .f32\t%f_<1>;\n", "\tmov.b32 %f1, 7;" },
    { ".reg .pred %rd7; .reg .b64 %rd<2>; { .reg .b64 %tmp; mov.b64 %tmp, 6; } { .reg .b64 %tmp; mov.b64 %tmp, 8; }",
      "mov.b64 %rd1, 7;", "\t.reg .pred\t%rd7;\n", "\tmov.b64 %rd1, 7;" },
    { ".reg .b32 plain<2>;", "mov.b32 plain1, 7;", "\t.reg .b32\tplain1;\n", "\tmov.b32 plain1, 7;" },
};

static void registers_keep_names(void)
{
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {
        char text[512];
        const char *first = NULL, *second = NULL;
        size_t n = (size_t)snprintf(text, sizeof text, ".version 9.0\n.target sm_100, debug\n.address_size 64\n"
                                    ".entry k()\n{\n%s\n%s\nret;\n}\n" NO_DATA, ranges[i].declared, ranges[i].used);
        site s = { .m = cj_parse(text, n, "names.ptx") };
        s.f = cj_ptx_find(s.m, "k");
        int status = cj_ptx_print(s.m, 0, &first, &n);
        if (!ranges[i].printed) {
            tap_is_int(status, CJ_EPTX, "%s: a name is declared twice", ranges[i].declared);
            cj_ptx_free(s.m);
            continue;
        }
        if (!tap_is_int(status, CJ_OK, "%s: it is printed", ranges[i].declared))
            tap_diag("%s", cj_error_of(s.m)->message);
        tap_has_str(first, ranges[i].printed, "%s: declared by its name", ranges[i].declared);
        if (ranges[i].line) tap_has_str(first, ranges[i].line, "%s: used by its name", ranges[i].declared);
        cj_ptx *clone = cj_ptx_clone(s.m), *again = cj_parse(first, n, "names.ptx");
        cj_ptx_print(clone, 0, &second, NULL);
        tap_is_str(second, first, "%s: so prints a clone", ranges[i].declared);
        tap_is_int(cj_ptx_print(again, 0, &second, NULL), CJ_OK, "%s: what is printed is read", ranges[i].declared);
        cj_ptx_free(clone);
        cj_ptx_free(again);
        cj_ptx_free(s.m);
    }
}

/* A register that is made later takes no name that the text gave. */
static void new_registers_have_other_names(void)
{
    static const char text[] = ".version 9.0\n.target sm_100, debug\n.address_size 64\n"
                               ".entry k()\n{\n.reg .b32 %f<2>;\nmov.b32 %f0, 7;\nret;\n}\n" NO_DATA;
    const char *printed = NULL;
    site s;
    read_again(text, sizeof text - 1, &s);
    cj_ins(s.f, "mov.f32", cj_reg(s.f, CJ_F32), 1.0f);
    tap_is_int(cj_ptx_print(s.m, 0, &printed, NULL), CJ_OK, "a register is made: the module is printed");
    tap_has_str(printed, "\t.reg .b32\t%f0;\n", "the text's register keeps its name");
    tap_has_str(printed, "\t.reg .f32\t%f_<1>;\n", "the new one has another");
    tap_has_str(printed, "%f_0, ", "which its use has");
    cj_ptx_free(s.m);
}

int main(void)
{
    size_t bytes = 0;
    const char *printed = NULL;
    site s;
    cj_set_log(keep_warning, NULL);
    tap_plan(0);
    char *text = tap_slurp(tap_source("tests/ptx/samples/sections.ptx"), &bytes);
    if (!text) tap_bail("there is no sample");
    prints_all(text, bytes);
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        *warning = 0;
        read_again(text, bytes, &s);
        changes[i].change(&s);
        tap_is_int(cj_ptx_has_debug(s.m), 0, "%s drops the debug data", changes[i].name);
        tap_has_str(warning, "debug data", "%s: and says so", changes[i].name);
        tap_is_int(cj_ptx_print(s.m, 0, &printed, NULL), CJ_OK, "%s: the module is printed", changes[i].name);
        tap_ok(!strstr(printed, "debug") && !strstr(printed, ".section") && !strstr(printed, ".loc "),
               "%s: without a trace of it", changes[i].name);
        cj_ptx_free(s.m);
    }
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        *warning = 0;
        read_again(text, bytes, &s);
        calls[i].call(&s);
        tap_is_int(cj_ptx_has_debug(s.m), 1, "%s keeps the debug data", calls[i].name);
        tap_is_str(warning, "", "%s warns of nothing", calls[i].name);
        cj_ptx_free(s.m);
    }
    registers_keep_names();
    new_registers_have_other_names();
    cj_ptx *built = cj_ptx_create();
    tap_is_int(cj_ptx_has_debug(built), 0, "a built module has none");
    cj_ptx_free(built);
    tap_is_int(cj_ptx_has_debug(NULL), 0, "nor has NULL");
    free(text);
    return tap_done();
}
