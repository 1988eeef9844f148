/* Where instructions come from: .loc is a directive, not its letters, and .file names what a .loc uses. This program
 * has source lines of its own (cujit/lines.h), which are not part of what is printed. */
#include <cujit/cujit.h>
#include <cujit/parse.h>

#include <stdio.h>
#include <string.h>

#include "tests/tap.h"

#define HEAD ".version 8.0\n.target sm_80\n.address_size 64\n"
#define BODY(first) ".visible .entry k()\n{\n" first ".reg .b32 r;\nmov.b32 r, 1;\nret;\n}\n"
#define OWN "\t.loc\t1 8 0\n\tmov.b32 %r0, 1;\n\t.loc\t1 9 0\n\tret;\n"
#define LOC "\t.loc\t1 77 0\n\tmov.b32 %r0, 1;\n\tret;\n"

/* What CJ_PRINT_LINES prints of the files, and of the body. */
static const struct { const char *name, *text, *files, *body; } cases[] = {
    { "no .loc", HEAD BODY("\n"), ".file\t1 \"own.ptx\"\n", OWN },
    { "a local variable", HEAD BODY(".local .b8 d[8];\n"), ".file\t1 \"own.ptx\"\n", OWN },
    { "a comment", HEAD BODY("// .loc 1 1 1\n"), ".file\t1 \"own.ptx\"\n", OWN },
    { "a block comment with a .file too", HEAD BODY("/* .loc 1 1 1 .file 1 \"x\" */\n"),
      ".file\t1 \"own.ptx\"\n", OWN },
    { "a string", HEAD BODY(".pragma \".loc 1 1 1\";\n"), ".file\t1 \"own.ptx\"\n",
      "\t.pragma \".loc 1 1 1\";\n" OWN },
    { "a .loc", HEAD BODY(".loc 1 77 1\n") ".file 1 \"a.cu\"\n", ".file\t1 \"a.cu\"\n", LOC },
    { "a .loc and a tabulator", HEAD BODY(".loc\t1 77 1\n") ".file 1 \"a.cu\"\n", ".file\t1 \"a.cu\"\n", LOC },
    { "a .loc and a comment", HEAD BODY(".loc/**/1 77 1\n") ".file 1 \"a.cu\"\n", ".file\t1 \"a.cu\"\n", LOC },
    { "a .loc behind an instruction", HEAD ".visible .entry k()\n{\n.reg .b32 r;\nmov.b32 r, 1;\n.loc 1 77 1\nret;\n}\n"
      ".file 1 \"a.cu\"\n", ".file\t1 \"a.cu\"\n", "\tmov.b32 %r0, 1;\n\t.loc\t1 77 0\n\tret;\n" },
    { "a file in a comment", HEAD "/*\n.file 1 \"no.cu\"\n*/\n" BODY(".loc 1 77 1\n") "// /*\n.file 1 \"a.cu\"\n",
      ".file\t1 \"a.cu\"\n", LOC },
    { "two files, one of them used", HEAD ".file 1 \"a.cu\"\n.file 2 \"b.cu\"\n" BODY(".loc 1 77 1\n"),
      ".file\t1 \"a.cu\"\n", LOC },
    { "a file whose name is empty", HEAD ".file 1 \"a.cu\"\n.file 2 \"\"\n.visible .entry k()\n{\n.reg .b32 r;\n"
      ".loc 1 77 1\nmov.b32 r, 1;\n.loc 2 5 1\nret;\n}\n", ".file\t1 \"a.cu\"\n", LOC },
    { "a file's name with backslashes", HEAD ".file 1 \"d:\\new\\041\\\\x.cu\\\"\n" BODY(".loc 1 77 1\n"),
      ".file\t1 \"d:\\new\\041\\\\x.cu\\\"\n", LOC },
    { "numbers with gaps", HEAD ".file 3 \"a.cu\"\n.file 9 \"b.cu\"\n.file 5 \"c.cu\"\n.visible .entry k()\n{\n"
      ".reg .b32 r;\n.loc 5 77 1\nmov.b32 r, 1;\n.loc 3 5 1\nret;\n}\n",
      ".file\t1 \"a.cu\"\n.file\t2 \"c.cu\"\n", "\t.loc\t2 77 0\n\tmov.b32 %r0, 1;\n\t.loc\t1 5 0\n\tret;\n" },
    { "two numbers of one file", HEAD ".file 3 \"a.cu\"\n.file 9 \"a.cu\"\n.visible .entry k()\n{\n"
      ".reg .b32 r;\n.loc 9 77 1\nmov.b32 r, 1;\n.loc 3 5 1\nret;\n}\n",
      ".file\t1 \"a.cu\"\n", "\t.loc\t1 77 0\n\tmov.b32 %r0, 1;\n\t.loc\t1 5 0\n\tret;\n" },
    { "a file behind one that no instruction comes from", HEAD ".file 1 \"a.cu\"\n.file 2 \"b.cu\"\n"
      BODY(".loc 1 1 1\n.loc 2 77 1\n"), ".file\t1 \"b.cu\"\n", LOC },
};

/* The lines of a text that begin with `word`. */
static void lines_with(const char *text, const char *word, char *out, size_t size)
{
    size_t n = 0;
    *out = 0;
    for (const char *p = text; *p; p = strchr(p, '\n') + 1)
        if (!strncmp(p, word, strlen(word)))
            n += (size_t)snprintf(out + n, size - n, "%.*s\n", (int)strcspn(p, "\n"), p);
}

int main(void)
{
    tap_plan(0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *text, *again;
        char files[300];
        cj_ptx *m = cj_parse(cases[i].text, strlen(cases[i].text), "own.ptx");
        if (!tap_is_int(cj_ptx_print(m, CJ_PRINT_LINES, &text, NULL), CJ_OK, "%s: printed", cases[i].name))
            tap_diag("%s", cj_error_of(m)->message);
        lines_with(text, ".file", files, sizeof files);
        tap_is_str(files, cases[i].files, "%s: the files", cases[i].name);
        tap_has_str(text, cases[i].body, "%s: the body", cases[i].name);
        cj_ptx *second = cj_parse(text, strlen(text), "other.ptx");
        cj_ptx_print(second, CJ_PRINT_LINES, &again, NULL);
        tap_is_str(again, text, "%s: read and printed again", cases[i].name);
        cj_ptx_free(second);
        cj_ptx_free(m);
    }
    return tap_done();
}
