/* cujit reproduce: a PTX file as a C program. */
#define CJ_NO_SOURCE_LINES   /* messages name lines of the text */
#include <cujit/cujit.h>

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd.h"

const char cmd_reproduce_help[] =
    "Usage: cujit reproduce [-o PROGRAM.c] FILE\n"
    "\n"
    "Reads PTX and writes a C program that makes the same module with the calls of cujit.h and prints\n"
    "its PTX; '-' is standard input. What no call makes is in texts alone: the program of such a file\n"
    "contains the PTX and reads it.\n"
    "\n"
    "  -o PROGRAM.c  writes the program to this file; without it, to standard output\n"
    "\n"
    "Exits with 0: it is written; 1: the PTX is rejected; 2: something in it is not in the instruction\n"
    "table.\n";

static int failed(const char *what)
{
    fprintf(stderr, "cujit reproduce: %s\n", what);
    return EXIT_USAGE;
}

static int reproduce(cj_ptx *m, const char *out)
{
    const cj_error *e = cj_error_of(m);
    if (cj_ptx_status(m) != CJ_OK) {
        fprintf(stderr, "%s\n", e->message);
        return e->status == CJ_EUNKNOWN ? EXIT_UNKNOWN : e->status == CJ_ENOMEM ? EXIT_USAGE : EXIT_REJECTED;
    }
    return cj_ptx_reproducer(m, out) == CJ_OK ? EXIT_FINE : failed(cj_error_last()->message);
}

/* Standard output may be a file, which the program would replace: it is written to another one, and copied. */
static int reproduce_to_output(cj_ptx *m)
{
    const char *folder = getenv("TMPDIR");
    char path[4096];
    snprintf(path, sizeof path, "%.4000s/cujit-reproduce-XXXXXX", folder && *folder ? folder : "/tmp");
    const int fd = mkstemp(path);
    size_t bytes = 0;
    if (fd < 0) return failed("no temporary file can be made; TMPDIR names a folder for it");
    close(fd);
    const int status = reproduce(m, path);
    char *text = status == EXIT_FINE ? cmd_read_file(path, &bytes) : NULL;
    unlink(path);
    if (status == EXIT_FINE && !text) return failed("the temporary file cannot be read");
    fwrite(text ? text : "", 1, bytes, stdout);
    free(text);
    return status;
}

int cmd_reproduce(int argc, char **argv)
{
    const char *out = NULL, *path = NULL;
    bool options = true;
    for (int i = 1; i < argc; i++) {
        const char *a = argv[i];
        if (options && !strcmp(a, "--")) options = false;
        else if (options && !strcmp(a, "-o")) {
            if (++i == argc) return cmd_usage("reproduce", "no file follows -o", "");
            out = argv[i];
        } else if (options && *a == '-' && a[1]) return cmd_usage("reproduce", "no option", a);
        else if (path) return cmd_usage("reproduce", "one file is read, not also", a);
        else path = a;
    }
    if (!path) return cmd_usage("reproduce", "no file is named", "");
    size_t bytes = 0;
    const char *name = strcmp(path, "-") ? path : "standard input";
    char *text = cmd_read_file(path, &bytes), why[400];
    if (!text) {
        snprintf(why, sizeof why, "%s: %s", name, strerror(errno));
        return failed(why);
    }
    cj_ptx *m = cj_parse(text, bytes, name);
    const int status = out ? reproduce(m, out) : reproduce_to_output(m);
    cj_ptx_free(m);
    free(text);
    return status;
}
