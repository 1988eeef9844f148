/* cujit check: reads PTX files and says what is wrong with them. */
#define CJ_NO_SOURCE_LINES   /* messages name lines of the text */
#include <cujit/cujit.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd.h"

const char cmd_check_help[] =
    "Usage: cujit check [--sm=90a] [--isa=9.0] FILE...\n"
    "\n"
    "Reads PTX and reports what is wrong with it as FILE:LINE: MESSAGE, or FILE:LINE:COLUMN: MESSAGE\n"
    "where the column is known; '-' is standard input.\n"
    "\n"
    "  --sm=90a      is it for a device of this compute capability?\n"
    "  --isa=9.0     is it for a driver whose newest PTX version this is?\n"
    "\n"
    "Exits with 0: accepted; 1: rejected; 2: something in it is not in the instruction table yet, so\n"
    "cujit cannot tell whether it is right.\n";

typedef struct check_options { const char *sm, *isa; } check_options;

/* ---- What a device takes ----------------------------------------------------------------------------------------- */

/* "sm_90a" into 90 and 'a' (0 for none).  False: no such thing. */
static bool split_target(const char *name, int *number, char *suffix)
{
    char behind = 0, *end;
    if (strncmp(name, "sm_", 3) != 0 || name[3] < '1' || name[3] > '9') return false;
    long n = strtol(name + 3, &end, 10);
    if (n > 999) return false;
    if (*end == 'a' || *end == 'f') behind = *end++;
    *number = (int)n;
    *suffix = behind;
    return !*end;
}

/* Does PTX for `target` run on `device`?  Base targets run on the same and later devices, f on the rest of the family,
 * a on that one only. */
static bool target_runs_on(const char *target, const char *device)
{
    int t, d;
    char ts, ds;
    if (!split_target(target, &t, &ts) || !split_target(device, &d, &ds)) return false;
    if (ts == 'a') return t == d;
    return t <= d && (ts != 'f' || t / 10 == d / 10);
}

/* ---- Checking ---------------------------------------------------------------------------------------------------- */

static int verdict(const cj_ptx *m)
{
    const cj_error *e = cj_error_of(m);
    fprintf(stderr, "%s\n", e->message);
    if (e->status == CJ_EUNKNOWN) return EXIT_UNKNOWN;
    return e->status == CJ_ENOMEM ? EXIT_USAGE : EXIT_REJECTED;
}

/* A version or target that the text does not have was asked for: `status` is what fixing it gave.  Names the
 * instruction that needs more, where it is one. */
static int reject(const cj_ptx *m, cj_status status, const char *name, const char *what, const char *fix)
{
    if (status != CJ_OK && cj_error_of(m)->line > 0) return verdict(m);
    fprintf(stderr, "%s: %s%s%s\n", name, what, status == CJ_OK ? "; nothing in it needs that: " : "",
            status == CJ_OK ? fix : "");
    return EXIT_REJECTED;
}

static int check_module(cj_ptx *m, const char *name, const check_options *o)
{
    char what[120], fix[60];
    if (cj_ptx_status(m) != CJ_OK) return verdict(m);
    int version = cj_ptx_version(m);
    const char *target = cj_ptx_target(m);
    if (o->isa && version > (o->isa[0] - '0') * 10 + (o->isa[2] - '0')) {
        snprintf(what, sizeof what, ".version %d.%d is newer than %s", version / 10, version % 10, o->isa);
        snprintf(fix, sizeof fix, "lower .version to %s", o->isa);
        return reject(m, cj_ptx_set_version(m, o->isa), name, what, fix);
    }
    if (o->sm && !target_runs_on(target, o->sm)) {
        snprintf(what, sizeof what, ".target %s does not run on %s", target, o->sm);
        snprintf(fix, sizeof fix, "write .target %s", o->sm);
        return reject(m, cj_ptx_set_target(m, o->sm), name, what, fix);
    }
    return cj_ptx_check(m) == CJ_OK ? EXIT_FINE : verdict(m);
}

static int check_file(const char *path, const check_options *o)
{
    size_t bytes = 0;
    const char *name = strcmp(path, "-") ? path : "standard input";
    char *text = cmd_read_file(path, &bytes);
    if (!text) {
        fprintf(stderr, "cujit check: %s: %s\n", name, strerror(errno));
        return EXIT_USAGE;
    }
    cj_ptx *m = cj_parse(text, bytes, name);
    int status = check_module(m, name, o);
    cj_ptx_free(m);
    free(text);
    return status;
}

/* The worse of two: a file that cannot be read, then rejected, then unknown. */
static int worse(int a, int b)
{
    static const int rank[] = { [EXIT_FINE] = 0, [EXIT_REJECTED] = 2, [EXIT_UNKNOWN] = 1, [EXIT_USAGE] = 3 };
    return rank[a] > rank[b] ? a : b;
}

/* --sm=90a, also as sm_90a: the .target's name into `room`. */
static bool take_sm(const char *value, char *room, size_t size, check_options *o)
{
    int number;
    char suffix;
    int n = snprintf(room, size, "%s%s", strncmp(value, "sm_", 3) ? "sm_" : "", value);
    o->sm = room;
    return n > 0 && (size_t)n < size && split_target(room, &number, &suffix);
}

static bool good_isa(const char *v)
{
    return v[0] >= '1' && v[0] <= '9' && v[1] == '.' && v[2] >= '0' && v[2] <= '9' && !v[3];
}

int cmd_check(int argc, char **argv)
{
    check_options o = { NULL, NULL };
    char sm[24];
    int status = EXIT_FINE, files = 0;
    bool options = true;
    for (int i = 1; i < argc; i++) {
        const char *a = argv[i];
        if (!options || *a != '-' || !a[1]) files++;
        else if (!strcmp(a, "--")) options = false;
        else if (!strncmp(a, "--sm=", 5)) {
            if (!take_sm(a + 5, sm, sizeof sm, &o)) return cmd_usage("check", "no device such as 90 or 90a:", a);
        } else if (!strncmp(a, "--isa=", 6)) {
            if (!good_isa(o.isa = a + 6)) return cmd_usage("check", "no PTX version such as 9.0:", a);
        } else {
            return cmd_usage("check", "no option", a);
        }
    }
    if (!files) return cmd_usage("check", "no file is named", "");
    options = true;
    for (int i = 1; i < argc; i++) {
        const char *a = argv[i];
        if (options && !strcmp(a, "--")) options = false;
        else if (!options || *a != '-' || !a[1]) status = worse(status, check_file(a, &o));
    }
    return status;
}
