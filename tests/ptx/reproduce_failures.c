/* cj_ptx_reproducer where it fails: what it returns; the module stays as it is, and the older file is there. */
#include "../tap.h"
#include "../tap_folder.h"
#include "reproduce_cases.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *folder;
static char program[220];

static void put_old(void)
{
    FILE *out = fopen(program, "w");
    if (!out || fputs("old", out) < 0 || fclose(out)) tap_bail("%s cannot be written", program);
}

static size_t files(void)
{
    size_t n = 0;
    DIR *d = opendir(folder);
    for (struct dirent *e; d && (e = readdir(d)) != NULL;) n += e->d_name[0] != '.';
    if (d) closedir(d);
    return n;
}

static void holds(const char *what, const char *name)
{
    char *text = tap_slurp(program, NULL);
    tap_is_str(text ? text : "(none)", what, "%s: the older file is there", name);
    tap_is_uint(files(), 1, "%s: and no other one", name);
    free(text);
}

static void paths(void)
{
    char nowhere[240], inside[240];
    snprintf(nowhere, sizeof nowhere, "%s/nowhere/x.c", folder);
    snprintf(inside, sizeof inside, "%s/x.c", program);
    const struct { const char *name, *path, *message; } cases[] = {
        { "no path", NULL, "the path is NULL" },
        { "an empty path", "", "the path is empty" },
        { "a folder that is not there", nowhere, "cannot be written: No such file" },
        { "a folder", folder, "cannot be written: Is a directory" },
        { "a file as a folder", inside, "cannot be written: Not a directory" },
        { "a full device", "/dev/full", "cannot be written: No space left" },
    };
    cj_ptx *m = cj_ptx_create();
    cj_ptx_kernel(m, "k");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tap_is_int(cj_ptx_reproducer(m, cases[i].path), CJ_EINVAL, "%s", cases[i].name);
        tap_has_str(cj_error_last()->message, cases[i].message, "%s: the message", cases[i].name);
        tap_is_int(cj_ptx_status(m), CJ_OK, "%s: the module does not keep it", cases[i].name);
    }
    put_old();
    tap_is_int(cj_ptx_reproducer(m, program), CJ_OK, "afterwards it can be written");
    char *text = tap_slurp(program, NULL);
    tap_ok(text && strstr(text, "make_k(cj_ptx_kernel(m, \"k\"));"), "and the older file is replaced");
    free(text);
    cj_ptx_free(m);
}

static void modules(void)
{
    cj_ptx *open = cj_ptx_create(), *broken = cj_ptx_create();
    cj_fn *f = cj_ptx_kernel(open, "k");
    put_old();
    cj_if(f, cj_reg(f, CJ_PRED));
    tap_is_int(cj_ptx_reproducer(open, program), CJ_ESTATE, "an open block");
    tap_has_str(cj_error_of(open)->message, "cj_end", "an open block: the module keeps what is missing");
    holds("old", "an open block");
    cj_ins(cj_ptx_kernel(broken, "k"), "no.such");
    tap_is_int(cj_ptx_reproducer(broken, program), CJ_EUNKNOWN, "a module with a failure");
    holds("old", "a module with a failure");
    tap_is_int(cj_ptx_reproducer(NULL, program), CJ_EHANDLE, "no module");
    tap_is_int(cj_ptx_reproducer((cj_ptx *)(void *)f, program), CJ_EHANDLE, "a function instead of a module");
    holds("old", "no module");
    cj_ptx_free(open);
    cj_ptx_free(broken);
}

/* The file that is written stops at a limit in its middle, without the signal that ends a program. */
static void disk(void)
{
    struct rlimit before, few;
    cj_ptx *m = cj_ptx_create();
    cj_ptx_kernel(m, "k");
    put_old();
    getrlimit(RLIMIT_FSIZE, &before);
    few = before;
    few.rlim_cur = 100;
    setrlimit(RLIMIT_FSIZE, &few);
    const cj_status s = cj_ptx_reproducer(m, program);
    setrlimit(RLIMIT_FSIZE, &before);
    tap_is_int(s, CJ_EINVAL, "a disk that is full");
    tap_has_str(cj_error_last()->message, "cannot be written: File too large", "a disk that is full: the message");
    holds("old", "a disk that is full");
    chmod(program, 0640);
    tap_is_int(cj_ptx_reproducer(m, program), CJ_OK, "a disk with room");
    struct stat now;
    tap_ok(stat(program, &now) == 0 && (now.st_mode & 0777) == 0640, "the new file has the older one's permissions");
    cj_ptx_free(m);
}

/* -- Memory -------------------------------------------------------------------------------------------------------- */

static size_t allocations, fails_at, live;

static void *meagre(void *user, void *p, size_t old, size_t size)
{
    (void)user;
    if (!size) {
        live -= old;
        free(p);
        return NULL;
    }
    if (++allocations == fails_at) return NULL;
    void *q = realloc(p, size);
    if (q) live += size - (p ? old : 0);
    return q;
}

/* Each allocation of the call fails in turn: it fails too and leaves nothing, or the program is the same. */
static void memory_of(cj_ptx *m, const char *name)
{
    size_t bad = 0, failed = 0;
    const size_t step = tap_under_valgrind() ? 7 : 1;
    bool reached = true;
    put_old();
    tap_is_int(cj_ptx_reproducer(m, program), CJ_OK, "%s: there is memory", name);
    char *whole = tap_slurp(program, NULL);
    for (fails_at = 1; reached; fails_at += step) {
        put_old();
        const size_t before = live;
        allocations = 0;
        const cj_status s = cj_ptx_reproducer(m, program);
        reached = allocations >= fails_at;
        char *text = tap_slurp(program, NULL);
        const bool right = text && (s == CJ_OK ? !strcmp(text, whole) : s == CJ_ENOMEM && !strcmp(text, "old"));
        if (!right || live != before) tap_diag("allocation %zu of %s: %d, %zu bytes", fails_at, name, s, live - before);
        bad += !right || live != before;
        failed += s != CJ_OK;
        free(text);
    }
    fails_at = 0;
    tap_is_uint(bad, 0, "%s: without memory it fails, or the program is the same", name);
    tap_ok(failed * step > 10, "%s: it needs memory (%zu allocations that count)", name, failed);
    tap_is_int(cj_ptx_status(m), CJ_OK, "%s: the module is as it was", name);
    free(whole);
}

int main(void)
{
    cj_set_allocator(meagre, NULL);
    tap_plan(0);
    tap_timeout(60);
    folder = tap_folder("reproduce");
    snprintf(program, sizeof program, "%s/program.c", folder);
    put_old();
    paths();
    modules();
    disk();
    for (unsigned i = 0; i < reproduce_cases_count; i += 7) {
        cj_ptx *m = cj_ptx_create();
        reproduce_cases[i].build(m);
        memory_of(m, reproduce_cases[i].name);
        cj_ptx_free(m);
    }
    cj_ptx *m = cj_parse(reproduce_texts[1].text, strlen(reproduce_texts[1].text), NULL);
    memory_of(m, reproduce_texts[1].name);
    cj_ptx_free(m);
    unlink(program);
    tap_is_int(rmdir(folder), 0, "nothing else is left in the folder");
    return tap_done();
}
