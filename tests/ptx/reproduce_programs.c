/* cj_ptx_reproducer: the program compiles without a warning, and prints the text of the module that it was made of; its
 * module has the same hash. */
#include "../tap.h"
#include "../tap_folder.h"
#include "../tap_run.h"
#include "reproduce_cases.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST = 120, PATH_ROOM = 240 };
static const char *folder;
static char *texts[MOST];   /* what the programs are to print */
static uint8_t hashes[MOST][16];
static unsigned programs;

static char *at(char *room, const char *name)
{
    snprintf(room, PATH_ROOM, "%s/%s", folder, name);
    return room;
}

/* Writes the program of the module, which is program `programs` of all; its text, for free(). */
static char *written(cj_ptx *m, const char *name)
{
    char file[24], path[PATH_ROOM];
    const char *text = "";
    tap_is_int(cj_ptx_print(m, 0, &text, NULL), CJ_OK, "%s: the module prints", name);
    texts[programs] = strdup(text);
    tap_is_int(cj_ptx_hash(m, hashes[programs]), CJ_OK, "%s: it is hashed", name);
    snprintf(file, sizeof file, "%u.c", programs);
    const cj_status s = cj_ptx_reproducer(m, at(path, file));
    if (!tap_is_int(s, CJ_OK, "%s: a program is written", name)) tap_diag("%s", cj_error_last()->message);
    char *program = tap_slurp(path, NULL);
    programs++;
    return program ? program : strdup("");
}

static void built(void)
{
    for (unsigned i = 0; i < reproduce_cases_count; i++) {
        const reproduce_case *c = &reproduce_cases[i];
        cj_ptx *m = cj_ptx_create();
        c->build(m);
        if (!tap_is_int(cj_ptx_status(m), CJ_OK, "%s: is a module", c->name)) tap_diag("%s", cj_error_of(m)->message);
        char *program = written(m, c->name);
        tap_ok(!strstr(program, "cj_parse("), "%s: is made by calls", c->name);
        if (!tap_ok(strstr(program, c->has) != NULL, "%s: has %s", c->name, c->has)) tap_diag("%s", program);
        free(program);
        cj_ptx_free(m);
    }
}

/* What a module prints is read, and calls make it too.  The text does not say everything: where functions of its
 * construct stand, and what comments name. */
static void built_and_read(void)
{
    for (unsigned i = 0; i < reproduce_cases_count; i++) {
        char path[PATH_ROOM];
        cj_ptx *m = cj_parse(texts[i], strlen(texts[i]), NULL);
        tap_is_int(cj_ptx_reproducer(m, at(path, "read.c")), CJ_OK, "%s, read: a program", reproduce_cases[i].name);
        char *program = tap_slurp(path, NULL);
        const char *lacks = reproduce_cases[i].lacks;
        if (!tap_is_int(program && strstr(program, "cj_parse("), lacks != NULL, "%s, read: %s", reproduce_cases[i].name,
                        lacks ? lacks : "is made by calls"))
            tap_diag("%.2000s", program);
        free(program);
        cj_ptx_free(m);
    }
}

static void read_texts(void)
{
    for (unsigned i = 0; i < reproduce_texts_count; i++) {
        const reproduce_text *c = &reproduce_texts[i];
        cj_ptx *m = cj_parse(c->text, strlen(c->text), c->name);
        if (!tap_is_int(cj_ptx_status(m), CJ_OK, "%s: is read", c->name)) tap_diag("%s", cj_error_of(m)->message);
        char *program = written(m, c->name);
        tap_is_int(strstr(program, "cj_parse(") != NULL, c->why != NULL, "%s: %s", c->name,
                   c->why ? "its text is read" : "is made by calls");
        if (c->why && !tap_ok(strstr(program, c->why) != NULL, "%s: says why", c->name)) tap_diag("%.400s", program);
        free(program);
        cj_ptx_free(m);
    }
}

static void samples(void)
{
    static const char *const names[] = { "calls", "constant", "debug", "declared", "half", "histogram", "interpret",
                                         "lines", "loops", "math", "old", "print", "reduce", "saxpy", "sections",
                                         "switch", "syntax" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char name[64];
        size_t bytes = 0;
        snprintf(name, sizeof name, "tests/ptx/samples/%s.ptx", names[i]);
        char *text = tap_slurp(tap_source(name), &bytes);
        cj_ptx *m = cj_parse(text, bytes, names[i]);
        free(written(m, names[i]));
        cj_ptx_free(m);
        free(text);
    }
}

/* Device mathematics: inline, as functions of the module, with tables. */
static void mathematics(void)
{
    static const struct { const char *name; cj_type type; cj_math_form form; unsigned from, to; } rows[] = {
        { "exponentials", CJ_F32, CJ_MATH_INLINE, 0, 2 }, { "exponentials_called", CJ_F32, CJ_MATH_CALLED, 0, 2 },
        { "exponentials_f64", CJ_F64, CJ_MATH_AUTO, 0, 2 }, { "angles", CJ_F32, CJ_MATH_AUTO, 2, 4 },
        { "angles_inline", CJ_F64, CJ_MATH_INLINE, 2, 4 }, { "gammas", CJ_F32, CJ_MATH_AUTO, 4, 7 },
        { "gammas_called", CJ_F64, CJ_MATH_CALLED, 4, 7 },
    };
    static cj_val (*const verb[])(cj_fn *, cj_val) = { cj_math_exp, cj_math_log, cj_math_sin, cj_math_tan,
                                                       cj_math_tgamma, cj_math_lgamma, cj_math_erfinv };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        cj_ptx *m = cj_ptx_create();
        cj_fn *f = cj_ptx_kernel(m, rows[i].name);
        cj_math_set_form(f, rows[i].form);
        cj_val x = cj_param_ptr(f, "x", rows[i].type);
        for (unsigned k = rows[i].from; k < rows[i].to; k++) cj_set(f, x, k, verb[k](f, cj_get(f, x, k)));
        free(written(m, rows[i].name));
        cj_ptx_free(m);
    }
}

/* -- All of them in one C file ------------------------------------------------------------------------------------- */

static void put_all(void)
{
    char path[PATH_ROOM];
    FILE *out = fopen(at(path, "all.c"), "w");
    if (!out) tap_bail("%s cannot be written", path);
    fputs("#include <cujit/cujit.h>\n#include <stdio.h>\n"
          "static void hashed(cj_ptx *m)\n{\n    unsigned char hash[16];\n    cj_ptx_hash(m, hash);\n    putchar(0);\n"
          "    for (int i = 0; i < 16; i++) printf(\"%02x\", hash[i]);\n    cj_ptx_free(m);\n}\n"
          "#define cj_ptx_free(m) hashed(m)\n", out);
    for (unsigned i = 0; i < programs; i++)
        fprintf(out, "#define main program_%u\n#define ptx ptx_%u\n#include \"%u.c\"\n#undef main\n#undef ptx\n", i, i,
                i);
    fputs("int main(void)\n{\n    int bad = 0;\n", out);
    for (unsigned i = 0; i < programs; i++) fprintf(out, "    bad += program_%u(), putchar(0);\n", i);
    fputs("    return bad;\n}\n", out);
    fclose(out);
}

/* Why it cannot be compiled here; NULL: it can. */
static const char *unable(void)
{
    const char *flags[] = { getenv("CC"), getenv("CFLAGS"), getenv("LDFLAGS") };
    for (int i = 0; i < 3; i++)
        if (flags[i] && strstr(flags[i], "-fsanitize")) return "the library is built with a sanitizer";
    if (access(tap_build(".libs/libcujit.so"), R_OK)) return "no shared library was built";
    return system("set -- ${CC:-cc}; command -v \"$1\" >/dev/null") ? "no C compiler" : NULL;
}

static bool compiled(void)
{
    char command[2048];
    tap_result r;
    snprintf(command, sizeof command,
             "${CC:-cc} -std=c11 -O0 -Wall -Wextra -Werror -I'%s' '%s/all.c' -o '%s/all' -L'%s' -lcujit",
             tap_source("include"), folder, folder, tap_build(".libs"));
    const char *argv[] = { "/bin/sh", "-c", command, NULL };
    tap_run(&r, argv, NULL);
    const bool good = r.status == 0;
    if (!tap_ok(good, "all programs compile without a warning")) tap_diag("%.3000s", r.err);
    tap_result_free(&r);
    return good;
}

static const char *hexadecimal(const uint8_t hash[16])
{
    static char text[33];
    for (int i = 0; i < 16; i++) snprintf(text + 2 * i, 3, "%02x", hash[i]);
    return text;
}

static void run_all(void)
{
    char path[PATH_ROOM], where[1024];
    tap_result r;
    snprintf(where, sizeof where, "LD_LIBRARY_PATH=%s", tap_build(".libs"));
    const char *argv[] = { at(path, "all"), NULL }, *env[] = { where, NULL };
    tap_run(&r, argv, env);
    if (!tap_is_int(r.status, 0, "they run")) tap_diag("%.1000s", r.err);
    const char *p = r.out, *end = r.out + r.out_bytes;
    for (unsigned i = 0; i < programs; i++) {
        tap_is_str(p < end ? p : "", texts[i], "program %u prints the text of its module", i);
        p += p < end ? strlen(p) + 1 : 0;
        tap_is_str(p < end ? p : "", hexadecimal(hashes[i]), "program %u: its module has the same hash", i);
        p += p < end ? strlen(p) + 1 : 0;
    }
    tap_result_free(&r);
}

int main(void)
{
    tap_plan(0);
    tap_timeout(120);
    folder = tap_folder("reproduce");
    built();
    built_and_read();
    read_texts();
    samples();
    mathematics();
    const char *why = unable();
    if (why) tap_skip(1, "%s", why);
    else {
        put_all();
        if (compiled()) run_all();
    }
    for (unsigned i = 0; i < programs; i++) free(texts[i]);
    return tap_done();
}
